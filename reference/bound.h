/*
 * The rigorous bound of one element's error, from what the arithmetic
 * promises. docs/checks.md derives every constant.
 *
 *     |D - ref| <= rel_ref |ref| + rel_mag G + absolute
 *
 * with ref = alpha AB + beta C exactly, and the magnitude
 * G = |alpha| |A||B| + |beta| |C|, all taken on the given operands.
 */
#ifndef GP_REFERENCE_BOUND_H
#define GP_REFERENCE_BOUND_H

#include <stdbool.h>

#include "reference/gemm.h"

/* What a mode promises of the arithmetic. Words and numbers as documented by
 * the library that is asked. */
struct gp_arithmetic {
    int input_precision;     /* FP32 operands may be rounded to this many
                                significand bits: 11 TF32 and FP16, 8 BF16;
                                0: used as given */
    int input_emin;          /* with exponents from here up: -14 FP16, -126 */
    const char *accumulator; /* f16 f32 f64 */
    bool tensor;             /* tensor cores may be used */
    int terms;       /* products an operand product is made of: 1; 9 BF16x9 */
    bool in_output;  /* partial sums may be held in the output type */
    double per_term; /* 0; fixed-point FP64: relative to k S, in units of
                        2^-53 */
};

/* Where it runs: compute capability times ten (90), 0 for a CPU. */
struct gp_bound {
    double rel_ref, rel_mag, absolute;
    double omega_acc; /* an order of summation can overflow only if G reaches
                         this */
    double omega_out; /* largest finite output */
};

/* Largest |a|, |b|: for the terms of underflow. */
struct gp_bound_data {
    double max_a, max_b;
};

void gp_bound_make(const struct gp_gemm *gemm,
                   const struct gp_arithmetic *arithmetic,
                   const struct gp_bound_data *data, int compute_capability,
                   struct gp_bound *ret_bound);

/* s, the largest number of separately accumulated partial sums over k that
 * the bound allows for, and with partials in the output type. */
int64_t gp_bound_splits(int64_t k);
int64_t gp_bound_splits_in_output(int64_t k);

/* A tensor core: fraction bits F that it keeps where it aligns its summands,
 * and products a step L of 16-bit and of FP32 operands. */
struct gp_bound_unit {
    int from, to; /* compute capability times ten */
    int fraction_bits, products_16, products_tf32;
};
const struct gp_bound_unit *gp_bound_unit(int compute_capability);

/* theta(k) of a tensor core: its relative error over k products, F fraction
 * bits kept in alignment and L products a step (docs/checks.md). */
double gp_bound_theta(int64_t k, int fraction_bits, int products_a_step);

#endif
