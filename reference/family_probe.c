/* Probes: each result is one product, whatever the order of summation. Source:
 * the probes P1 and P2 of docs/checks.md. */
#include "reference/family.h"

#include <math.h>

#include "harness/base/hash.h"

bool gp_family_probe_in_a(const struct gp_gemm *gemm)
{
    return gemm->m >= gemm->n;
}

/* The part of a position that all vectors share. */
static uint64_t position_key(uint64_t seed, int64_t batch)
{
    return gp_hash_mix(gp_hash_mix(seed ^ 0x8ebc6af09c88c6e3u) +
                       (uint64_t)batch * 0x589965cc75374cc3u);
}

/* Below k, by multiplication instead of division. */
static int64_t position_of(uint64_t key, int64_t vector, int64_t k)
{
    uint64_t word = gp_hash_mix(key + (uint64_t)vector * 0x1d8e4e27c47d124fu);

    return (int64_t)((word >> 32) * (uint64_t)k >> 32);
}

int64_t gp_family_probe_position(const struct gp_gemm *gemm, uint64_t seed,
                                 int64_t batch, int64_t vector)
{
    return position_of(position_key(seed, batch), vector, gemm->k);
}

/* A random number in +-[1, 2) with all the bits of its type, the last one
 * set, so that no rounding of it to fewer bits is exact. */
static double full_bits(uint64_t word, int precision)
{
    uint64_t top = UINT64_C(1) << (precision - 1);
    double x = (double)(top | (word >> 8 & (top - 1)) | 1);

    return ldexp(word & 1 ? -x : x, 1 - precision);
}

/* One side has one nonzero a vector, with all its bits; the other side is
 * ones, or all bits everywhere. */
static void probe_column(const struct gp_family_args *args, int64_t j,
                         bool other_full, double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args);
    bool here = (args->operand == GP_A) == gp_family_probe_in_a(gemm);
    uint64_t key = gp_family_key(args, j);
    uint64_t positions = position_key(args->seed, args->batch);
    int precision = gemm->in->precision;

    for (int64_t i = 0; i < length; i++) {
        int64_t l = args->operand == GP_A ? j : i;
        int64_t v = args->operand == GP_A ? i : j;
        if (here && position_of(positions, v, gemm->k) != l)
            to[i] = 0;
        else if (here || other_full)
            to[i] = full_bits(gp_family_word(key, i), precision);
        else
            to[i] = 1;
    }
}

void gp_family_one_hot_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    probe_column(args, j, false, to);
}

void gp_family_product_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    probe_column(args, j, true, to);
}

void gp_family_probe_grid(const struct gp_gemm *gemm, int *ret_a, int *ret_b)
{
    *ret_a = *ret_b = gemm->in->precision - 1;
}
