/*
 * A product in about four times the precision of a slice, by dgemm: the
 * error-free transformation of Ozaki, Ogita, Oishi and Rump (Numer. Algorithms
 * 59, 2012).
 *
 * Operands are cut into a first and a second slice, whole numbers of so few
 * bits that every sum of their products is exact in FP64 in any order, and a
 * rest. What whole numbers multiply is certified modulo 2^61 - 1, what the
 * rests multiply as a rounded product (certificate.h). docs/checks.md, "The
 * reference".
 */
#ifndef GP_REFERENCE_SLICES_H
#define GP_REFERENCE_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/err.h"

/* C = A B, all column-major and packed: A m x k, B k x n. Elements other than
 * 0 are between 2^-64 and 2^64. */
struct gp_slices {
    int64_t m, n, k;
    const double *a, *b;
    double *high, *low; /* m x n: high is high + low, rounded */
    const double *mag;  /* m x n: at least |A||B| */
    uint64_t seed;      /* of the certificates */
    bool alone;         /* all processors may be used */
};

/* Bytes of memory gp_slices needs beside the operands and the results. */
double gp_slices_bytes(int64_t m, int64_t n, int64_t k);

/* Before anything is multiplied: |high + low - AB| will be at most
 * *ret_error * mag in every element. */
int gp_slices_error(const struct gp_slices *product, double *ret_error,
                    struct gp_err *err) GP_MUST_CHECK;

/* Multiply. BACKEND if a product of the library fails its certificate. */
int gp_slices(const struct gp_slices *product,
              struct gp_err *err) GP_MUST_CHECK;

#endif
