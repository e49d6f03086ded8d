/*
 * FP64 products whose reference must be better than FP64: AB as an unevaluated
 * sum high + low, off by far less than the last bit of high is worth.
 * docs/checks.md, "The reference".
 */
#ifndef GP_REFERENCE_PAIR_H
#define GP_REFERENCE_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/err.h"

/* All column-major and packed: A m x k, B k x n, results m x n. */
struct gp_pair {
    int64_t m, n, k;
    double *a, *b;            /* may be scaled, by a power of two each */
    double *high, *low, *mag; /* mag: |A||B|, rounded up */
    uint64_t seed;            /* of what is sampled */
    bool alone;               /* all processors may be used */
    /* Results: AB is (high + low) 2^exponent to within error |A||B|, which is
     * mag 2^exponent. */
    int exponent;
    double error;
};

/* Is it one for dgemm, by slices (slices.h)? It is where the product is large
 * enough to gain by it, and the operands are between 2^-60 and 2^60. The caller
 * then fills in mag before gp_pair_multiply. */
bool gp_pair_by_slices(const struct gp_pair *pair);

/* Bytes of memory that multiplying needs beside operands and results. */
double gp_pair_bytes(int64_t m, int64_t n, int64_t k);

/* Multiply: by slices if that is to be and their error is small enough, by
 * Dot2 (dot2.h) if not. What slices give is compared with Dot2 in 64 elements.
 * BACKEND if a product of the library is wrong; UNSUPPORTED where the exponents
 * of the operands are too far apart for products and their rounding errors to
 * be doubles. */
int gp_pair_multiply(struct gp_pair *pair, struct gp_err *err) GP_MUST_CHECK;

/* What becomes of one product in the end: alpha and beta as they are. */
struct gp_pair_scalars {
    double alpha, beta;
    int exponent; /* of gp_pair */
};

/* alpha (high + low) 2^exponent + beta c; *low in and out. Rounding errors are
 * at most GP_PAIR_SCALARS_ERROR (|alpha AB| + |beta c|) + GP_PAIR_UNDERFLOW,
 * and nothing with alpha = 1, beta = 0, exponent 0. */
#define GP_PAIR_SCALARS_ERROR 0x1p-102
#define GP_PAIR_UNDERFLOW 0x1p-1071
double gp_pair_finish(const struct gp_pair_scalars *scalars, double high,
                      double *low, double c);

#endif
