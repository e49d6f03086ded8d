/*
 * Products for tests: a struct gp_gemm from a few words, and a product by
 * definition, element by element.
 */
#ifndef GP_TESTS_PRODUCT_H
#define GP_TESTS_PRODUCT_H

#include "reference/family.h"
#include "reference/gemm.h"
#include "tests/unit/random.h"

/* Every leading dimension `pad` above the tight one. */
static inline void product_ld(struct gp_gemm *gemm, int64_t pad)
{
    gemm->lda = gp_gemm_tight_ld(gemm, GP_A) + pad;
    gemm->ldb = gp_gemm_tight_ld(gemm, GP_B) + pad;
    gemm->ldc = gp_gemm_tight_ld(gemm, GP_C) + pad;
}

/* D = A B, tight; `op` is "nn", "tn" ... */
static inline struct gp_gemm product_of(const char *in, const char *out,
                                        const char *op, int64_t m, int64_t n,
                                        int64_t k)
{
    struct gp_gemm gemm = {.m = m,
                           .n = n,
                           .k = k,
                           .batch = 1,
                           .trans_a = op[0] == 't',
                           .trans_b = op[1] == 't',
                           .alpha = 1,
                           .beta = 0,
                           .in = gp_type_find(in),
                           .out = gp_type_find(out)};

    product_ld(&gemm, 0);
    return gemm;
}

/* Element (i, l) of op(A), (l, j) of op(B) or (i, j) of C, read from a packed
 * matrix in its stored shape: the definition of reference/gemm.h, written
 * without its functions. */
static inline double product_element(const struct gp_gemm *gemm,
                                     enum gp_operand which, const void *packed,
                                     int64_t row, int64_t col, int64_t batch)
{
    bool trans = which == GP_A   ? gemm->trans_a
                 : which == GP_B ? gemm->trans_b
                                 : false;
    int64_t rows = which == GP_B ? gemm->k : gemm->m; /* of op(X) */
    int64_t cols = which == GP_A ? gemm->k : gemm->n;
    int64_t at = trans ? col + row * cols : row + col * rows;
    const struct gp_type *type = which == GP_C ? gemm->out : gemm->in;

    return gp_type_value(type,
                         gp_type_bits(type, packed, at + batch * rows * cols));
}

#endif
