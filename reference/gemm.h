/*
 * One product; the notation, said once.
 *
 *     D = alpha op(A) op(B) + beta C,   batch times
 *
 * op(A) is m x k, op(B) k x n, C and D m x n. A and B have the type `in`, C
 * and D the type `out`. Storage is column-major: element (i, j) stands at
 * data[i + j*ld], batch b starts at data[b*stride]; with `row_major` it stands
 * at data[j + i*ld]. ld and stride count elements.
 *
 * Two forms of a matrix are used everywhere:
 *  - packed: column-major, ld = rows, stride = rows*cols, in the *stored*
 *    shape (A is k x m when trans_a). This travels between the programs.
 *  - laid out: with the ld, stride and layout of the problem, padding
 *    poisoned. Only a worker knows this form.
 */
#ifndef GP_REFERENCE_GEMM_H
#define GP_REFERENCE_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/err.h"
#include "reference/type.h"

struct gp_gemm {
    int64_t m, n, k, batch;
    bool trans_a, trans_b;
    bool row_major;
    int64_t lda, ldb, ldc; /* in the problem's layout; never 0 */
    double alpha, beta;
    const struct gp_type *in, *out;
};

enum gp_operand { GP_A, GP_B, GP_C };

/* Stored rows and columns of an operand (C stands for D too). */
int64_t gp_gemm_rows(const struct gp_gemm *gemm, enum gp_operand which);
int64_t gp_gemm_cols(const struct gp_gemm *gemm, enum gp_operand which);
const struct gp_type *gp_gemm_type(const struct gp_gemm *gemm,
                                   enum gp_operand which);
int64_t gp_gemm_ld(const struct gp_gemm *gemm, enum gp_operand which);

/* The smallest ld of an operand in the problem's layout, at least 1. */
int64_t gp_gemm_tight_ld(const struct gp_gemm *gemm, enum gp_operand which);

/* Elements from one batch to the next as laid out: ld times the number of
 * columns (rows in a row-major layout). */
int64_t gp_gemm_stride(const struct gp_gemm *gemm, enum gp_operand which);

/* Elements of all batches, packed. */
int64_t gp_gemm_count(const struct gp_gemm *gemm, enum gp_operand which);

/* Place of packed element `index` in the laid out matrix. */
int64_t gp_gemm_place(const struct gp_gemm *gemm, enum gp_operand which,
                      int64_t index);

/* Are they the same product, field by field? */
bool gp_gemm_equal(const struct gp_gemm *a, const struct gp_gemm *b);

/* 2 m n k batch. */
double gp_gemm_flops(const struct gp_gemm *gemm);

/* Is it a product this program can hold? Sizes 0 to 2^31-1, batch from 1, ld
 * not below the tight one, every matrix below 2^46 elements. */
int gp_gemm_check(const struct gp_gemm *gemm, struct gp_err *err) GP_MUST_CHECK;

#endif
