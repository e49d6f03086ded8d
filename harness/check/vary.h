/*
 * How two outputs of one product differ: which pairs of elements, by how much,
 * and where. docs/checks.md, "Explaining a failure".
 */
#ifndef GP_CHECK_VARY_H
#define GP_CHECK_VARY_H

#include "harness/check/map.h"

/* Pairs that differ in their bits, each counted once. */
struct gp_variation {
    int64_t numbers;    /* both numbers of other values */
    int64_t zeros;      /* +0 and -0 */
    int64_t payloads;   /* both NaN */
    int64_t not_finite; /* else, where one of them is not finite */
    int64_t close;      /* of the numbers: up to 64 representable steps */
    uint64_t most_ulps; /* of the numbers: representable steps apart */
    struct gp_pattern pattern; /* where they stand */
    char words[400];           /* one sentence */
};

/* Compare two packed outputs bit by bit. */
void gp_vary(const struct gp_gemm *gemm, const void *one, const void *two,
             struct gp_variation *ret_variation);

#endif
