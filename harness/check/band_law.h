/*
 * What the errors of one product are expected to be, under the ways in which
 * it may be computed. docs/checks.md, "band", derives all of it.
 *
 * A law is a way to read operands and to sum products. Its moments come from
 * the problem's own numbers: for a few outputs every sum over k is followed
 * step by step, and each step adds the error that rounding there has on the
 * average, and its variance. Laws are followed as one chain; what many
 * separate sums do to the moments is known in closed form.
 */
#ifndef GP_CHECK_BAND_LAW_H
#define GP_CHECK_BAND_LAW_H

#include "reference/refgemm.h"

enum gp_law_unit { GP_LAW_CHAIN, GP_LAW_TENSOR_16, GP_LAW_TENSOR_TF32 };

struct gp_law {
    const char *name;
    const char *delivered; /* the word of the check `fingerprint`, which takes
                              FP16 for TF32 */
    const char *in;        /* type of the operands */
    int input_precision;   /* read with so many bits, 0: as given */
    int input_emin;
    bool cut;        /* read toward zero, not to nearest */
    bool whole;      /* the bits beyond are kept in other products (BF16x9) */
    int accumulator; /* its precision */
    enum gp_law_unit unit;
};

extern const struct gp_law gp_laws[]; /* ended by a NULL name */

/* May a product that promises this arithmetic be computed by this law, on a
 * device of this compute capability? Laws that are more precise than what is
 * promised are among them. */
bool gp_law_allows(const struct gp_law *law, const struct gp_gemm *gemm,
                   const struct gp_arithmetic *promise, int compute_capability);

/* Does it read operands as exactly as the promise asks for, and no more? */
bool gp_law_is_asked(const struct gp_law *law,
                     const struct gp_arithmetic *promise);

/* Means over the outputs that were followed, all relative to G^2 (bias: to
 * G). D = alpha T + beta C, T the sum of k products. */
struct gp_moments {
    double input2;      /* (error of reading the operands)^2 */
    double input_drift; /* its product with the drift */
    double drift2;      /* (expected error of summing)^2 */
    double variance;    /* of the error of summing around that */
    double products2;   /* sum of squared products */
    double total2;      /* T^2 */
    double factors2;    /* variance of applying alpha, beta and C */
    double output2;     /* variance of one final rounding to the output type */
    double input_bias, drift_bias; /* sign(ref) times either */
    double unrounded; /* mean |error| before the final rounding, in ulps of the
                         output */
    double relative_error; /* standard error of the expected mean square */
};

/* The laws' moments of one problem, made when they are asked for. `{0}` is
 * empty; the reference must not change in between. */
struct gp_band {
    struct gp_band_entry *entries;
    size_t count, room;
};
const struct gp_moments *gp_band_moments(struct gp_band *band,
                                         const struct gp_reference *reference,
                                         const struct gp_law *law,
                                         int compute_capability);
void gp_band_free(struct gp_band *band);

/* What is expected of `sums` separate sums over k; their partial sums are
 * added in the output type if `in_output`. */
struct gp_expected {
    double rms;               /* of z */
    double bias;              /* mean of sign(ref) z */
    double gaussian, chained; /* rms of the parts whose tails are Gaussian, and
                                 exponential */
};
void gp_law_expect(const struct gp_law *law, const struct gp_moments *moments,
                   int64_t sums, bool in_output,
                   struct gp_expected *ret_expected);

/* --- Between the band_*.c only -------------------------------------------- */

/* Follow the problem's sample under a law. */
void gp_law_follow(const struct gp_reference *reference,
                   const struct gp_law *law, int compute_capability,
                   struct gp_moments *ret_moments);

/* One sum over k as it goes: what its steps add up to. Exponents and bits of
 * the operands are those of `read_a`, `read_b`, which the law made. */
struct gp_path {
    double drift, variance;
    int grid; /* the sum is a multiple of 2^grid */
};
void gp_law_path(const struct gp_law *law, int compute_capability,
                 const double *read_a, const double *read_b, int64_t k,
                 struct gp_path *ret_path);

/* The variance of rounding a multiple of 2^*grid to nearest, with so many bits
 * and exponents from emin up; *grid receives that of the result. */
double gp_law_rounding(double value, int precision, int emin, int *grid);

/* The largest g with x a multiple of 2^g; x is not 0. */
int gp_law_grid(double x);

/* An operand as the law reads it. */
double gp_law_read(const struct gp_law *law, double x);

#endif
