#include "reference/family.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/base/hash.h"

/* A word of 64 random bits for each place; the column's part is mixed once. */
uint64_t gp_family_key(const struct gp_family_args *args, int64_t j)
{
    uint64_t key = gp_hash_mix(args->seed + 0x9e3779b97f4a7c15u *
                                                (1 + (uint64_t)args->operand));

    key = gp_hash_mix(key ^
                      gp_hash_mix((uint64_t)args->batch + 0xd1b54a32d192ed03u));
    return gp_hash_mix(key + (uint64_t)j * 0xa0761d6478bd642fu);
}

uint64_t gp_family_word(uint64_t column, int64_t i)
{
    return gp_hash_mix(column + (uint64_t)i * 0xe7037ed1a0b428dbu);
}

int64_t gp_family_length(const struct gp_family_args *args)
{
    return args->operand == GP_B ? args->gemm->k : args->gemm->m;
}

/* --- dense: U[-1, 1) from 64 random bits, rounded once ------------------- */

int gp_family_accept_any(const struct gp_gemm *gemm, struct gp_err *err)
{
    (void)gemm;
    (void)err;
    return 0;
}

/* w * 2^-63 as a double whose last bit is sticky: rounding it to fewer than
 * 52 bits gives what rounding the exact value would (round to odd, Boldo and
 * Melquiond 2008). */
static double to_odd(int64_t w)
{
    uint64_t magnitude = w < 0 ? 0 - (uint64_t)w : (uint64_t)w;
    int drop = magnitude ? 11 - __builtin_clzll(magnitude) : 0;
    double x;

    if (drop > 0) {
        uint64_t lost = magnitude & ((UINT64_C(1) << drop) - 1);
        magnitude = magnitude >> drop << drop;
        if (lost)
            magnitude |= UINT64_C(1) << drop;
    }
    x = (double)magnitude * 0x1p-63;
    return w < 0 ? -x : x;
}

void gp_family_dense_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    const struct gp_type *type = gp_gemm_type(args->gemm, args->operand);
    uint64_t key = gp_family_key(args, j);
    int64_t length = gp_family_length(args);

    if (type->bytes == 8)
        for (int64_t i = 0; i < length; i++)
            to[i] = (double)(int64_t)gp_family_word(key, i) * 0x1p-63;
    else if (type->bytes == 4)
        for (int64_t i = 0; i < length; i++)
            to[i] = (double)(float)(int64_t)gp_family_word(key, i) * 0x1p-63;
    else
        for (int64_t i = 0; i < length; i++)
            to[i] = gp_round_to(to_odd((int64_t)gp_family_word(key, i)),
                                type->precision, type->emin);
}

int gp_family_accept_plain(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->k == 0)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "this family needs at least one term, and k = 0");
    if (gemm->alpha == 1 && gemm->beta == 0)
        return 0;
    return gp_err_set(err, GP_ERR_UNSUPPORTED,
                      "this family needs alpha = 1 and beta = 0");
}

/* --- grid: uniform in [-1, 1] on a grid that keeps FP64 sums exact -------- */

/* q_a + q_b + ceil(log2 k) <= 53. An FP64 operand A needs more than FP32's 24
 * bits, or a product that rounds it to FP32 would pass. */
void gp_family_grid(const struct gp_gemm *gemm, int *ret_a, int *ret_b)
{
    int bits = gemm->in->precision - 1, room = 53, wide = 30;

    for (int64_t k = 1; k < gemm->k; k *= 2)
        room--;
    *ret_a = bits < 23 ? bits : bits == 52 ? wide : 23;
    *ret_b = room - *ret_a < bits ? room - *ret_a : bits;
    if (*ret_b > 23)
        *ret_b = 23;
}

void gp_family_grid_column(const struct gp_family_args *args, int64_t j,
                           double *to)
{
    uint64_t key = gp_family_key(args, j);
    int64_t length = gp_family_length(args);
    int grids[3] = {0, 0, args->gemm->out->precision - 1};
    double scale;
    uint64_t half;

    gp_family_grid(args->gemm, &grids[GP_A], &grids[GP_B]);
    if (grids[GP_C] > 23)
        grids[GP_C] = 23;
    scale = ldexp(1, -grids[args->operand]);
    half = UINT64_C(1) << grids[args->operand];
    for (int64_t i = 0; i < length; i++)
        to[i] =
            ((double)(gp_family_word(key, i) % (2 * half + 1)) - (double)half) *
            scale;
}

const struct gp_family gp_families[] = {
    {.name = "dense",
     .help = "uniform in [-1, 1), 64 random bits rounded once to the type",
     .reorders = true,
     .random = true,
     .accept = gp_family_accept_any,
     .column = gp_family_dense_column},
    {.name = "grid",
     .help = "uniform in [-1, 1] on a grid where FP64 sums are exact",
     .sums_exact = true,
     .random = true,
     .accept = gp_family_accept_any,
     .column = gp_family_grid_column,
     .grid = gp_family_grid},
    {.name = "exact",
     .help = "small integers: every sum is exact in every order and mode",
     .exact = true,
     .sums_exact = true,
     .accept = gp_family_exact_accept,
     .column = gp_family_exact_column},
    {.name = "ones",
     .help = "all ones, or where k is too large a pattern of small integers: "
             "a lost range of k is a lost count",
     .exact = true,
     .sums_exact = true,
     .accept = gp_family_accept_plain,
     .column = gp_family_ones_column},
    {.name = "index",
     .help = "each result is a code of the place it was read from",
     .exact = true,
     .sums_exact = true,
     .accept = gp_family_accept_plain,
     .column = gp_family_index_column},
    {.name = "one-hot",
     .help = "each result is one operand with all its bits, times one (P1)",
     .sums_exact = true,
     .one_term = true,
     .probe = GP_PROBE_ONE_HOT,
     .accept = gp_family_probe_accept,
     .column = gp_family_one_hot_column,
     .grid = gp_family_probe_grid},
    {.name = "product",
     .help = "each result is one product of operands with all their bits (P2)",
     .sums_exact = true,
     .one_term = true,
     .probe = GP_PROBE_PRODUCT,
     .accept = gp_family_probe_accept,
     .column = gp_family_product_column,
     .grid = gp_family_probe_grid},
    {.name = "two-term",
     .help = "each result is a sum of two terms that must be rounded (P3)",
     .sums_exact = true,
     .probe = GP_PROBE_TWO_TERM,
     .accept = gp_family_tests_accept,
     .column = gp_family_two_term_column,
     .grid = gp_family_two_term_grid},
    {.name = "bit-scan",
     .help = "each result is one operand, cut after one of its bits (P4)",
     .sums_exact = true,
     .one_term = true,
     .probe = GP_PROBE_BIT_SCAN,
     .accept = gp_family_probe_accept,
     .column = gp_family_bit_scan_column,
     .grid = gp_family_bit_scan_grid},
    {.name = "tie",
     .help = "each result is one operand half way between two of fewer bits "
             "(P5)",
     .sums_exact = true,
     .one_term = true,
     .probe = GP_PROBE_TIE,
     .accept = gp_family_tie_accept,
     .column = gp_family_tie_column,
     .grid = gp_family_probe_grid},
    {.name = "split-finder",
     .help = "each result is big + 1 - big, which partial sums of few bits "
             "lose (P6)",
     .sums_exact = true,
     .probe = GP_PROBE_SPLIT_FINDER,
     .accept = gp_family_tests_accept,
     .column = gp_family_split_finder_column},
    {.name = "zeros",
     .help = "some rows and columns have no nonzero in common, so that their "
             "result is 0 (P7)",
     .probe = GP_PROBE_ZEROS,
     .accept = gp_family_zeros_accept,
     .column = gp_family_zeros_column},
    {.name = "range",
     .help = "positive, with exponents that cancel in every product (P8)",
     .probe = GP_PROBE_RANGE,
     .accept = gp_family_range_accept,
     .column = gp_family_range_column},
    {.name = "positive",
     .help = "uniform in [0, 1]: sums that grow (F3)",
     .random = true,
     .reorders = true,
     .accept = gp_family_accept_any,
     .column = gp_family_positive_column},
    {.name = "wide",
     .help = "exponents from -20 to 19 within one sum, all bits random (F9)",
     .random = true,
     .reorders = true,
     .open_range = true,
     .accept = gp_family_accept_any,
     .column = gp_family_wide_column},
    {.name = "cancel",
     .help = "all but the last bits of a sum cancel; the condition is known "
             "(F11)",
     .sums_exact = true,
     .accept = gp_family_accept_any,
     .column = gp_family_cancel_column,
     .grid = gp_family_grid},
    {.name = "grading",
     .help = "rows of A and columns of B of different size (F12, T6)",
     .reorders = true,
     .accept = gp_family_accept_any,
     .column = gp_family_grading_column},
    {.name = "subnormal",
     .help = "operands below the smallest normal number, results below and "
             "above it (F13)",
     .special = true,
     .accept = gp_family_accept_any,
     .column = gp_family_subnormal_column,
     .scale = gp_family_subnormal_scale},
    {.name = "overflow",
     .help = "operands and sums just below the largest number (F14)",
     .special = true,
     .open_range = true,
     .accept = gp_family_accept_any,
     .column = gp_family_overflow_column,
     .scale = gp_family_overflow_scale},
    {.name = "special",
     .help = "NaN and infinities at corners, tile edges and inside of A, B "
             "and C (F15)",
     .special = true,
     .accept = gp_family_accept_any,
     .column = gp_family_special_column},
    {.name = "payload",
     .help = "NaN of the lowest payload in A: its bits cut short are those of "
             "infinity (F16)",
     .special = true,
     .accept = gp_family_accept_any,
     .column = gp_family_payload_column},
    {.name = "c-nan",
     .help = "beta = 0, and D holds NaN and infinities before (F17)",
     .special = true,
     .c_given = true,
     .accept = gp_family_c_nan_accept,
     .column = gp_family_c_nan_column},
    {.name = "alpha-zero",
     .help = "alpha = 0, and A and B hold NaN and infinities (F18)",
     .special = true,
     .accept = gp_family_alpha_zero_accept,
     .column = gp_family_alpha_zero_column},
    {.name = "signed-zero",
     .help = "results that are exactly zero, from products of -0 and from "
             "terms that cancel (F19)",
     .exact = true,
     .sums_exact = true,
     .special = true,
     .accept = gp_family_accept_plain,
     .column = gp_family_signed_zero_column},
    {.name = "binade",
     .help = "sign and all significand bits random, magnitude in [1, 2)",
     .reorders = true,
     .accept = gp_family_accept_any,
     .column = gp_family_binade_column,
     .base = "binade"},
    {.name = "outer-scaled",
     .help = "binade, rows of A and columns of B times powers of two (F10)",
     .reorders = true,
     .accept = gp_family_accept_plain,
     .column = gp_family_outer_column,
     .base = "binade",
     .image = gp_family_outer_image,
     .image_exact = true},
    {.name = "inner-scaled",
     .help =
         "binade, positions of k times powers of two, up in A and down in B "
         "(F10)",
     .reorders = true,
     .accept = gp_family_accept_plain,
     .column = gp_family_inner_column,
     .base = "binade",
     .image_exact = true},
    {.name = "negated",
     .help = "binade with A negated (F21)",
     .reorders = true,
     .accept = gp_family_accept_plain,
     .column = gp_family_negated_column,
     .base = "binade",
     .image = gp_family_negated_image,
     .image_exact = true},
    {.name = "rows-permuted",
     .help = "binade with the rows of A permuted (F21)",
     .reorders = true,
     .accept = gp_family_accept_plain,
     .column = gp_family_rows_column,
     .base = "binade",
     .image = gp_family_rows_image},
    {.name = "k-permuted",
     .help = "binade with the positions of k permuted (F21)",
     .reorders = true,
     .accept = gp_family_accept_plain,
     .column = gp_family_terms_column,
     .base = "binade"},
    {.name = "swapped",
     .help = "binade with op(B) transposed as A and op(A) as B, m = n (F21)",
     .reorders = true,
     .accept = gp_family_swapped_accept,
     .column = gp_family_swapped_column,
     .base = "binade",
     .image = gp_family_swapped_image},
    {.name = NULL},
};

const struct gp_family *gp_family_find(const char *name)
{
    for (const struct gp_family *family = gp_families; family->name; family++)
        if (strcmp(family->name, name) == 0)
            return family;
    return NULL;
}
