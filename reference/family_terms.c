/* Probes whose results are sums of two or three terms at places of their own:
 * two-term (P3) and split-finder (P6). docs/checks.md. */
#include "reference/family.h"

#include <math.h>

#include "harness/base/hash.h"

/* Segments are at least so wide that three terms and a random offset fit. */
enum { SEGMENT_LEAST = 4 };

/* As many tests as there are results, while k has room for them. */
void gp_family_tests_plan(const struct gp_gemm *gemm,
                          struct gp_family_tests *ret_tests)
{
    int64_t most = gemm->k / SEGMENT_LEAST;
    int64_t rows = gemm->m < most ? gemm->m : most, cols = most / rows;

    cols = gemm->n < cols ? gemm->n : cols;
    ret_tests->rows = rows;
    ret_tests->cols = cols;
    ret_tests->count = rows * cols;
    ret_tests->width = gemm->k / (rows * cols);
}

int64_t gp_family_test_of(const struct gp_family_tests *tests, int64_t i,
                          int64_t j)
{
    return i % tests->rows + tests->rows * (j % tests->cols);
}

int gp_family_tests_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->k < SEGMENT_LEAST)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "this family needs k of at least %d", SEGMENT_LEAST);
    return gp_family_probe_accept(gemm, err);
}

/* Where the terms of a segment begin: somewhere in it, three places before
 * its end; the first at 0. */
static int64_t base_of(const struct gp_family_args *args,
                       const struct gp_family_tests *tests, int64_t segment)
{
    uint64_t key = gp_hash_mix(gp_hash_mix(args->seed ^ 0x94d049bb133111ebu) +
                               (uint64_t)args->batch * 0xbf58476d1ce4e5b9u);
    uint64_t room = (uint64_t)(tests->width - SEGMENT_LEAST + 1);
    uint64_t word = gp_hash_mix(key + (uint64_t)segment * 0x2545f4914f6cdd1du);

    return segment * tests->width +
           (segment ? (int64_t)((word >> 32) * room >> 32) : 0);
}

/* --- two-term -------------------------------------------------------------
 */

struct gp_family_two_term gp_family_two_term(int64_t test)
{
    static const double smalls[3] = {0.5, -0.25, -0.5};
    struct gp_family_two_term made;

    made.sign = test / 6 % 2 ? -1 : 1;
    made.small = smalls[test % 3];
    made.far = test / 3 % 2 == 1;
    return made;
}

/* The second term stands beside the first, or where the segment that mirrors
 * it has room. */
static int64_t two_term_owner(const struct gp_family_args *args,
                              const struct gp_family_tests *tests, int64_t l,
                              int *ret_term)
{
    int64_t segment = l / tests->width, off;

    if (segment >= tests->count)
        segment = tests->count - 1;
    off = l - base_of(args, tests, segment);
    *ret_term = off != 0;
    if (off == 0)
        return segment;
    if (off == 1 && !gp_family_two_term(segment).far)
        return segment;
    if (off == 2 && gp_family_two_term(tests->count - 1 - segment).far)
        return tests->count - 1 - segment;
    return -1;
}

/* The smaller term is a product, so that every type has its factors: FP16 has
 * no 2^-24 (1 + 2^-6). */
static double two_term_factor(const struct gp_gemm *gemm, int64_t test,
                              int term, bool in_a)
{
    struct gp_family_two_term made = gp_family_two_term(test);
    int half = gemm->out->precision / 2, rest = gemm->out->precision - half;

    if (term == 0)
        return in_a ? made.sign : 1;
    if (in_a)
        return ldexp(made.small < 0 ? -made.sign : made.sign, -half);
    return ldexp(2 * fabs(made.small) * (1 + 0x1p-6), -rest);
}

void gp_family_two_term_grid(const struct gp_gemm *gemm, int *ret_a, int *ret_b)
{
    int half = gemm->out->precision / 2;

    *ret_a = half;
    *ret_b = gemm->out->precision - half + 7;
}

/* --- split-finder ----------------------------------------------------------
 */

void gp_family_split_range(const struct gp_family_args *args,
                           const struct gp_family_tests *tests, int64_t test,
                           int64_t *ret_from, int64_t *ret_to)
{
    *ret_from = base_of(args, tests, test);
    *ret_to = test + 1 < tests->count ? base_of(args, tests, test + 1) + 2
                                      : args->gemm->k - 1;
}

static int64_t split_owner(const struct gp_family_args *args,
                           const struct gp_family_tests *tests, int64_t l,
                           int *ret_term)
{
    int64_t segment = l / tests->width, off;

    if (segment >= tests->count)
        segment = tests->count - 1;
    off = l - base_of(args, tests, segment);
    *ret_term = (int)off;
    if (off == 0 || off == 1)
        return segment;
    *ret_term = 2;
    if (off == 2 && segment > 0)
        return segment - 1;
    return l == args->gemm->k - 1 ? segment : -1;
}

/* 2^11 + 1 needs 12 bits: FP16 and BF16 have no such number, all else has.
 * FP64 operands: 2^24 + 1, which FP32 has not. */
static double split_factor(const struct gp_gemm *gemm, int64_t test, int term,
                           bool in_a)
{
    double sign = test % 2 ? -1 : 1;
    int half = gemm->in->bytes == 8 ? 12 : 6;
    int rest = gemm->in->bytes == 8 ? 12 : 5;

    if (term == 1)
        return in_a ? sign : 1;
    if (!in_a)
        return ldexp(1, rest);
    return ldexp(term == 0 ? sign : -sign, half);
}

/* --- Columns of both --------------------------------------------------------
 */

/* The test that a position of k belongs to, -1 for none, and which of its
 * terms stands there. */
static int64_t owner_of(const struct gp_family_args *args,
                        const struct gp_family_tests *tests,
                        enum gp_probe probe, int64_t l, int *ret_term)
{
    return probe == GP_PROBE_TWO_TERM ? two_term_owner(args, tests, l, ret_term)
                                      : split_owner(args, tests, l, ret_term);
}

static void terms_column(const struct gp_family_args *args, int64_t j,
                         enum gp_probe probe, double *to)
{
    bool in_a = args->operand == GP_A;
    int64_t length = gp_family_length(args), test = -1;
    struct gp_family_tests tests;
    int term = 0;

    gp_family_tests_plan(args->gemm, &tests);
    if (in_a)
        test = owner_of(args, &tests, probe, j, &term);
    for (int64_t i = 0; i < length; i++) {
        if (!in_a)
            test = owner_of(args, &tests, probe, i, &term);
        to[i] = 0;
        if (test >= 0 && (in_a ? i % tests.rows == test % tests.rows
                               : j % tests.cols == test / tests.rows))
            to[i] = probe == GP_PROBE_TWO_TERM
                        ? two_term_factor(args->gemm, test, term, in_a)
                        : split_factor(args->gemm, test, term, in_a);
    }
}

void gp_family_two_term_column(const struct gp_family_args *args, int64_t j,
                               double *to)
{
    terms_column(args, j, GP_PROBE_TWO_TERM, to);
}

void gp_family_split_finder_column(const struct gp_family_args *args, int64_t j,
                                   double *to)
{
    terms_column(args, j, GP_PROBE_SPLIT_FINDER, to);
}
