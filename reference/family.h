/*
 * Data families: operands as a pure function of (seed, operand, i, j, batch).
 *
 * A family fills op(A), op(B) and C, that is the matrices as they enter the
 * product, so that a problem has the same numbers under every op and layout.
 * Values are doubles that the operand's type represents exactly.
 */
#ifndef GP_REFERENCE_FAMILY_H
#define GP_REFERENCE_FAMILY_H

#include "reference/gemm.h"

struct gp_family_args {
    const struct gp_gemm *gemm;
    uint64_t seed;
    enum gp_operand operand;
    int64_t batch;
};

/* Probes of the check `fingerprint`, P1 to P8 of docs/checks.md. */
enum gp_probe {
    GP_NO_PROBE,
    GP_PROBE_ONE_HOT,      /* P1: one operand with all its bits, times one */
    GP_PROBE_PRODUCT,      /* P2: one product of operands with all bits */
    GP_PROBE_TWO_TERM,     /* P3: two terms, whose sum must be rounded */
    GP_PROBE_BIT_SCAN,     /* P4: one operand, cut after each of its bits */
    GP_PROBE_TIE,          /* P5: one operand half way between two narrower */
    GP_PROBE_SPLIT_FINDER, /* P6: big + 1 - big, from place to place of k */
    GP_PROBE_ZEROS,        /* P7: rows and columns without a common nonzero */
    GP_PROBE_RANGE         /* P8: wide exponents that cancel in the products */
};

/* Element (i, j) of an image's D is (-1)^negative 2^exponent times element
 * (i, j) of its base's, once the function below has replaced them. */
struct gp_image {
    int64_t i, j;
    int exponent;
    bool negative;
};

struct gp_family {
    const char *name;
    const char *help;
    bool exact;      /* every order of summation gives the same bits in every
                        mode: judged by the check `exact` */
    bool sums_exact; /* FP64 sums of it are exact in any order, unless the
                        operands are FP64 themselves and it is a probe */
    bool reorders;   /* rounded sums: another order shows in the bits */
    bool one_term;   /* each result is one product of two nonzeros */
    enum gp_probe probe; /* judged by `fingerprint` */
    bool random;         /* drawn so that errors of rounding behave like random
                            ones: judged by the check `band` */
    bool special;        /* classes of results count: judged by `special` */
    bool open_range;     /* may leave the range of a mode, all of it */
    bool c_given;        /* C is there although beta = 0: D starts as C */
    /* Can it be made for this problem? Unsupported with a sentence if not. */
    int (*accept)(const struct gp_gemm *gemm, struct gp_err *err);
    /* Column j of op(A) (m values), op(B) (k values) or C (m values). */
    void (*column)(const struct gp_family_args *args, int64_t j, double *to);
    /* Operands are multiples of 2^-a and 2^-b; NULL: of 1. */
    void (*grid)(const struct gp_gemm *gemm, int *ret_a, int *ret_b);
    /* Magnitudes are about 2^a and 2^b: the reference multiplies without
     * these factors, so that FP64 and its magnitudes hold it. NULL: 1. */
    void (*scale)(const struct gp_gemm *gemm, int *ret_a, int *ret_b);
    /* The family whose results follow from this one's at the same shape; its
     * own name for that family itself. NULL: none. */
    const char *base;
    void (*image)(const struct gp_gemm *gemm, uint64_t seed,
                  struct gp_image *image); /* NULL: the same element */
    bool image_exact; /* each step of any sum is the base's, scaled: the bits
                         must be */
};

/* All families, ended by a row without a name; the first is the default. */
extern const struct gp_family gp_families[];

const struct gp_family *gp_family_find(const char *name);

/* The largest |value| in each operand that the family `exact` uses: a and b
 * at most q, and `budget` nonzeros a vector of the sparse operand, 0 when
 * both are dense. Source: numerics, family F4. */
struct gp_family_exact {
    int64_t q, budget;
    bool sparse_a; /* else B is the sparse one */
    int64_t c_max;
};
int gp_family_exact_plan(const struct gp_gemm *gemm,
                         struct gp_family_exact *ret_plan,
                         struct gp_err *err) GP_MUST_CHECK;

/* Where the one nonzero of a probe stands: the probes have it in each row of
 * op(A) if m >= n, else in each column of op(B). */
bool gp_family_probe_in_a(const struct gp_gemm *gemm);
int64_t gp_family_probe_position(const struct gp_gemm *gemm, uint64_t seed,
                                 int64_t batch, int64_t vector);

/* The significand bit after which the operand of vector v of `bit-scan` is
 * cut: 1 .. p-1 once each, the telling ones first; and what the operand is
 * scaled by, 1 in the first round of p-1 vectors, then now and then 2^-16. */
int gp_family_scan_bit(const struct gp_gemm *gemm, int64_t vector);
double gp_family_scan_scale(const struct gp_gemm *gemm, int64_t vector);

/* The tests of `two-term` and `split-finder`. k is divided into `count`
 * segments of `width` positions, the last one longer; result (i, j) is test
 * i mod rows + rows (j mod cols), which has its nonzeros to itself: A has them
 * in these rows and B in these columns alone. */
struct gp_family_tests {
    int64_t rows, cols, count, width;
};
void gp_family_tests_plan(const struct gp_gemm *gemm,
                          struct gp_family_tests *ret_tests);
int64_t gp_family_test_of(const struct gp_family_tests *tests, int64_t i,
                          int64_t j);

/* Where the terms of a test of `split-finder` stand: +big and 1 at `from` and
 * from + 1, -big at `to`, which reaches over the first two of the next test.
 * Every position of k after the second lies in (from + 1, to] of some test. */
void gp_family_split_range(const struct gp_family_args *args,
                           const struct gp_family_tests *tests, int64_t test,
                           int64_t *ret_from, int64_t *ret_to);

/* A test of `two-term`: 1 and a smaller term, both times `sign`. */
struct gp_family_two_term {
    double sign;
    double small; /* of the sum's last place: 1/2, -1/4 or -1/2, and a bit
                     more, in units of 2^(1-p), p of the output */
    bool far;     /* the two stand in different segments */
};
struct gp_family_two_term gp_family_two_term(int64_t test);

/* Is result (i, j) of `zeros` a sum of zeros? */
bool gp_family_zero_at(uint64_t seed, int64_t batch, int64_t i, int64_t j);

/* Exponents of `range` lie in -E .. E. */
int gp_family_range_span(const struct gp_gemm *gemm);

/* --- Between the family*.c only ------------------------------------------ */

uint64_t gp_family_key(const struct gp_family_args *args, int64_t j);
uint64_t gp_family_word(uint64_t key, int64_t i);
int64_t gp_family_length(const struct gp_family_args *args);

int gp_family_accept_any(const struct gp_gemm *gemm, struct gp_err *err);
int gp_family_accept_plain(const struct gp_gemm *gemm, struct gp_err *err);
int gp_family_exact_accept(const struct gp_gemm *gemm, struct gp_err *err);
void gp_family_exact_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_ones_column(const struct gp_family_args *args, int64_t j,
                           double *to);
void gp_family_index_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_one_hot_column(const struct gp_family_args *args, int64_t j,
                              double *to);
void gp_family_product_column(const struct gp_family_args *args, int64_t j,
                              double *to);
void gp_family_bit_scan_column(const struct gp_family_args *args, int64_t j,
                               double *to);
void gp_family_tie_column(const struct gp_family_args *args, int64_t j,
                          double *to);
void gp_family_two_term_column(const struct gp_family_args *args, int64_t j,
                               double *to);
void gp_family_split_finder_column(const struct gp_family_args *args, int64_t j,
                                   double *to);
void gp_family_zeros_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_range_column(const struct gp_family_args *args, int64_t j,
                            double *to);
int gp_family_probe_accept(const struct gp_gemm *gemm, struct gp_err *err);
int gp_family_tie_accept(const struct gp_gemm *gemm, struct gp_err *err);
int gp_family_tests_accept(const struct gp_gemm *gemm, struct gp_err *err);
int gp_family_zeros_accept(const struct gp_gemm *gemm, struct gp_err *err);
int gp_family_range_accept(const struct gp_gemm *gemm, struct gp_err *err);
void gp_family_dense_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_grid(const struct gp_gemm *gemm, int *ret_a, int *ret_b);
void gp_family_grid_column(const struct gp_family_args *args, int64_t j,
                           double *to);
/* One element of op(A), op(B) or C of the family binade. */
double gp_family_binade_element(const struct gp_family_args *args, int64_t i,
                                int64_t j);
void gp_family_outer_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_outer_image(const struct gp_gemm *gemm, uint64_t seed,
                           struct gp_image *image);
void gp_family_inner_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_negated_column(const struct gp_family_args *args, int64_t j,
                              double *to);
void gp_family_negated_image(const struct gp_gemm *gemm, uint64_t seed,
                             struct gp_image *image);
void gp_family_rows_column(const struct gp_family_args *args, int64_t j,
                           double *to);
void gp_family_rows_image(const struct gp_gemm *gemm, uint64_t seed,
                          struct gp_image *image);
void gp_family_terms_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_swapped_column(const struct gp_family_args *args, int64_t j,
                              double *to);
void gp_family_swapped_image(const struct gp_gemm *gemm, uint64_t seed,
                             struct gp_image *image);
int gp_family_swapped_accept(const struct gp_gemm *gemm, struct gp_err *err);
void gp_family_binade_column(const struct gp_family_args *args, int64_t j,
                             double *to);
void gp_family_positive_column(const struct gp_family_args *args, int64_t j,
                               double *to);
void gp_family_wide_column(const struct gp_family_args *args, int64_t j,
                           double *to);
void gp_family_cancel_column(const struct gp_family_args *args, int64_t j,
                             double *to);
void gp_family_grading_column(const struct gp_family_args *args, int64_t j,
                              double *to);
void gp_family_subnormal_column(const struct gp_family_args *args, int64_t j,
                                double *to);
void gp_family_subnormal_scale(const struct gp_gemm *gemm, int *ret_a,
                               int *ret_b);
void gp_family_overflow_column(const struct gp_family_args *args, int64_t j,
                               double *to);
void gp_family_overflow_scale(const struct gp_gemm *gemm, int *ret_a,
                              int *ret_b);
void gp_family_special_column(const struct gp_family_args *args, int64_t j,
                              double *to);
void gp_family_payload_column(const struct gp_family_args *args, int64_t j,
                              double *to);
int gp_family_c_nan_accept(const struct gp_gemm *gemm, struct gp_err *err);
void gp_family_c_nan_column(const struct gp_family_args *args, int64_t j,
                            double *to);
int gp_family_alpha_zero_accept(const struct gp_gemm *gemm, struct gp_err *err);
void gp_family_alpha_zero_column(const struct gp_family_args *args, int64_t j,
                                 double *to);
void gp_family_signed_zero_column(const struct gp_family_args *args, int64_t j,
                                  double *to);
void gp_family_probe_grid(const struct gp_gemm *gemm, int *ret_a, int *ret_b);
void gp_family_bit_scan_grid(const struct gp_gemm *gemm, int *ret_a,
                             int *ret_b);
void gp_family_two_term_grid(const struct gp_gemm *gemm, int *ret_a,
                             int *ret_b);

#endif
