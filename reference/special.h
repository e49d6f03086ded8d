/*
 * NaN and infinity in a reference.
 *
 * The host library never meets them: they are replaced by 0 before it
 * multiplies, and what they make of each result is worked out from where they
 * stand. A result is NaN if a term is (a NaN operand, infinity times zero) or
 * if infinities of both signs meet; infinite if a term is; else finite. These
 * are the rules of IEEE 754 for every order of summation, with the quick
 * returns of the reference BLAS: alpha = 0 reads neither A nor B, beta = 0
 * does not read C (Demmel et al. 2022, arXiv 2207.09281).
 */
#ifndef GP_REFERENCE_SPECIAL_H
#define GP_REFERENCE_SPECIAL_H

#include "reference/gemm.h"

/* Replace what is not finite in op(A), m x k, and op(B), k x n, by 0, and set
 * ret_classes (m x n bytes, owned: gp_matrix_free): what the terms of each
 * result are. NULL where all terms are finite, or alpha = 0. */
int gp_special_strip(const struct gp_gemm *gemm, double *a, double *b,
                     unsigned char **ret_classes,
                     struct gp_err *err) GP_MUST_CHECK;

/* The exact result of one element where a term or C is not finite: NaN or an
 * infinity. `class` is that of its terms, `c` is read if beta is not 0. False:
 * it is finite. */
bool gp_special_result(const struct gp_gemm *gemm, unsigned char class,
                       double c, double *ret_result);

#endif
