#include "harness/check/vary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bits as a whole number that grows with the value: neighbours are 1 apart. */
static int64_t ordered(const struct gp_type *type, uint64_t bits)
{
    uint64_t sign = UINT64_C(1) << (8 * type->bytes - 1);

    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

static void compare(const struct gp_type *type, uint64_t one, uint64_t two,
                    struct gp_variation *variation)
{
    double a = gp_type_value(type, one), b = gp_type_value(type, two);
    int64_t from, to;
    uint64_t ulps;

    if (isnan(a) && isnan(b)) {
        variation->payloads++;
        return;
    }
    if (!isfinite(a) || !isfinite(b)) {
        variation->not_finite++;
        return;
    }
    if (a == b) {
        variation->zeros++;
        return;
    }
    from = ordered(type, one);
    to = ordered(type, two);
    ulps = from < to ? (uint64_t)to - (uint64_t)from
                     : (uint64_t)from - (uint64_t)to;
    variation->numbers++;
    variation->close += ulps <= 64;
    if (ulps > variation->most_ulps)
        variation->most_ulps = ulps;
}

/* What the map and the sizes suggest (numerics: signatures). */
static const char *likely(const struct gp_variation *variation)
{
    const struct gp_pattern *map = &variation->pattern;

    if (variation->payloads == map->count)
        return ": the values are the same";
    if (variation->zeros == map->count)
        return ": the values are equal, the signs of zeros are not";
    if (variation->not_finite)
        return ": a race, or memory that was not written, is suspect";
    if (map->count == 1)
        return ": one lost or flipped write, or a race";
    if (map->tile)
        return ": whole tiles, as after a race";
    if (10 * variation->close >= 9 * map->count && 4 * map->count >= map->of)
        return ": the size of another order of summation (split-K, another "
               "algorithm, atomics)";
    return "";
}

static void say(struct gp_variation *variation)
{
    int64_t count = variation->pattern.count;
    char kinds[200] = "", apart[60] = "";

    if (variation->numbers < count)
        snprintf(kinds, sizeof kinds,
                 " (numbers %" PRId64 ", signs of zero %" PRId64
                 ", NaNs %" PRId64 ", finite or not %" PRId64 ")",
                 variation->numbers, variation->zeros, variation->payloads,
                 variation->not_finite);
    if (variation->numbers)
        snprintf(apart, sizeof apart, " by up to %" PRIu64 " ulp",
                 variation->most_ulps);
    snprintf(variation->words, sizeof variation->words,
             "%" PRId64 " of %" PRId64 " elements differ%s%s%s", count,
             variation->pattern.of, apart, kinds, likely(variation));
}

void gp_vary(const struct gp_gemm *gemm, const void *one, const void *two,
             struct gp_variation *ret_variation)
{
    const struct gp_type *out = gemm->out;
    int64_t count = gp_gemm_count(gemm, GP_C);
    const unsigned char *a = one, *b = two;
    struct gp_variation variation = {0};
    struct gp_map map;

    gp_map_open(&map, gemm);
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(a + (size_t)i * out->bytes, b + (size_t)i * out->bytes,
                   out->bytes) == 0)
            continue;
        gp_map_mark(&map, i);
        compare(out, gp_type_bits(out, a, i), gp_type_bits(out, b, i),
                &variation);
    }
    gp_map_read(&map, &variation.pattern);
    gp_map_close(&map);
    say(&variation);
    *ret_variation = variation;
}
