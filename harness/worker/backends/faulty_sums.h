/*
 * Sins in how one element is summed: the driver gathers row i of op(A) and
 * column j of op(B) as doubles, a sin makes a sum of them, and the epilogue
 * is that of the plain product.
 */
#ifndef GP_WORKER_BACKENDS_FAULTY_SUMS_H
#define GP_WORKER_BACKENDS_FAULTY_SUMS_H

#include "harness/worker/backends/faulty.h"

/* One element of a column-major product. */
struct gp_faulty_element {
    const struct gp_gemm *gemm;
    const double *a, *b; /* k values each */
    int64_t i, j, batch, repeat;
    double number; /* the sin's own */
};

/* The sum over k as the accumulator holds it: an FP32 value for operands up
 * to FP32. */
typedef double gp_faulty_sum(const struct gp_faulty_element *e);

int gp_faulty_multiply(struct gp_host *host,
                       const struct gp_host_product *product,
                       gp_faulty_sum *sum, struct gp_err *err);

/* x toward zero to `precision` bits (exponents without end). */
double gp_faulty_cut(double x, int precision);

#endif
