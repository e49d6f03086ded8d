/*
 * Random numbers for tests: xorshift64* (Vigna 2016), which has nothing in
 * common with harness/base/hash.h. A test seeds it with a constant, so that
 * every run sees the same values.
 */
#ifndef GP_TESTS_RANDOM_H
#define GP_TESTS_RANDOM_H

#include <math.h>
#include <stdint.h>

struct rng {
    uint64_t state; /* not 0 */
};

static inline uint64_t rng_next(struct rng *rng)
{
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return rng->state * UINT64_C(2685821657736338717);
}

/* 0 to most. */
static inline int64_t rng_to(struct rng *rng, int64_t most)
{
    return (int64_t)((rng_next(rng) >> 8) % ((uint64_t)most + 1));
}

/* least to most. */
static inline int64_t rng_between(struct rng *rng, int64_t least, int64_t most)
{
    return least + rng_to(rng, most - least);
}

/* A double with 53 random bits and an exponent from `least` to `most`. */
static inline double rng_double(struct rng *rng, int least, int most)
{
    double x = 1 + (double)(rng_next(rng) >> 12) * 0x1p-52;

    x = ldexp(x, (int)rng_between(rng, least, most));
    return rng_next(rng) & 1 << 20 ? -x : x;
}

/* Uniform in [-1, 1). */
static inline double rng_uniform(struct rng *rng)
{
    return (double)((int64_t)rng_next(rng) >> 11) * 0x1p-52;
}

#endif
