/* Families about magnitudes: signs that do not cancel, or cancel almost all,
 * wide and graded exponents, and both ends of the range. */
#include "reference/family.h"

#include <math.h>

#include "harness/base/hash.h"

/* Position of k that element i of column j has; and its row or column of D. */
static int64_t position(const struct gp_family_args *args, int64_t i, int64_t j)
{
    return args->operand == GP_A ? j : i;
}

static int64_t vector(const struct gp_family_args *args, int64_t i, int64_t j)
{
    return args->operand == GP_A ? i : j;
}

/* The smallest c with k <= 2^c. */
static int log2_above(int64_t k)
{
    int c = 0;

    while (c < 62 && INT64_C(1) << c < k)
        c++;
    return c;
}

/* --- binade: all significand bits, one exponent ---------------------------
 */

/* +-[1, 2), every significand bit random. */
static double full_significand(uint64_t word, int precision)
{
    uint64_t top = UINT64_C(1) << (precision - 1);
    double x = (double)(top | (word >> 8 & (top - 1)));

    return ldexp(word & 1 ? -x : x, 1 - precision);
}

double gp_family_binade_element(const struct gp_family_args *args, int64_t i,
                                int64_t j)
{
    const struct gp_type *type = gp_gemm_type(args->gemm, args->operand);

    return full_significand(gp_family_word(gp_family_key(args, j), i),
                            type->precision);
}

void gp_family_binade_column(const struct gp_family_args *args, int64_t j,
                             double *to)
{
    const struct gp_type *type = gp_gemm_type(args->gemm, args->operand);
    uint64_t key = gp_family_key(args, j);
    int64_t length = gp_family_length(args);

    for (int64_t i = 0; i < length; i++)
        to[i] = full_significand(gp_family_word(key, i), type->precision);
}

/* --- positive: sums that grow --------------------------------------------- */

void gp_family_positive_column(const struct gp_family_args *args, int64_t j,
                               double *to)
{
    int64_t length = gp_family_length(args);

    gp_family_dense_column(args, j, to);
    for (int64_t i = 0; i < length; i++)
        to[i] = fabs(to[i]);
}

/* --- wide: exponents far apart within one sum ------------------------------
 */

/* Exponents from `least` up, `count` of them. Where operands or results are
 * FP16, so few and so small that k products of the largest stay in its
 * range. */
static void wide_exponents(const struct gp_gemm *gemm, int *ret_least,
                           int *ret_count)
{
    int top = 19;

    *ret_count = 40;
    if (gemm->in->emin == -14) {
        top = 5;
        *ret_count = 12;
    }
    if (gemm->out->emin == -14 && 2 * (top + 1) + log2_above(gemm->k) > 14)
        top = (14 - log2_above(gemm->k)) / 2 - 1;
    *ret_least = top + 1 - *ret_count;
    if (gemm->in->emin == -14 && *ret_least < -14)
        *ret_least = -14;
}

void gp_family_wide_column(const struct gp_family_args *args, int64_t j,
                           double *to)
{
    const struct gp_type *type = gp_gemm_type(args->gemm, args->operand);
    uint64_t key = gp_family_key(args, j);
    int64_t length = gp_family_length(args);
    int least, count;

    wide_exponents(args->gemm, &least, &count);
    for (int64_t i = 0; i < length; i++) {
        uint64_t word = gp_family_word(key, i);
        int e = least + (int)((word >> 32) % (uint64_t)count);
        to[i] = ldexp(full_significand(gp_hash_mix(word), type->precision), e);
    }
}

/* --- cancel: what remains of a sum is its last bits ------------------------
 */

/* Position l of the second half holds the first half's mirror image: the same
 * B, and the negative of A moved by -1, 0 or 1 units of the grid. So the
 * result is the sum of b times that unit, exactly, and S twice the sum of the
 * first half's magnitudes. The middle of an odd k is zero. */
void gp_family_cancel_column(const struct gp_family_args *args, int64_t j,
                             double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args), k = gemm->k;
    int grids[3];
    uint64_t span, key;

    if (args->operand == GP_C) {
        gp_family_grid_column(args, j, to);
        return;
    }
    gp_family_grid(gemm, &grids[GP_A], &grids[GP_B]);
    span = (UINT64_C(1) << grids[args->operand]) - 1;
    for (int64_t i = 0; i < length; i++) {
        int64_t l = position(args, i, j);
        int64_t first = l < k - 1 - l ? l : k - 1 - l;
        uint64_t word;
        double x;
        key = gp_family_key(args, args->operand == GP_A ? first : j);
        word = gp_family_word(key, args->operand == GP_A ? i : first);
        x = (double)(int64_t)((word >> 8) % (2 * span + 1)) - (double)span;
        if (2 * l == k - 1 && args->operand == GP_A)
            x = 0;
        else if (l != first && args->operand == GP_A)
            x = -(x + (double)(int64_t)((word & 255) % 3) - 1);
        to[i] = ldexp(x, -grids[args->operand]);
    }
}

/* --- grading: rows of A and columns of B of different size -----------------
 */

/* Each row of A and each column of B has a power of two of its own, down to
 * 2^-20 (2^-6 in FP16); one of each is as large as it can be. An algorithm
 * whose error is relative to the largest element of a matrix fails in the
 * small ones (after Demmel's grading of BLAS implementations). */
void gp_family_grading_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args);
    int64_t middle = (args->operand == GP_A ? gemm->m : gemm->n) / 2;
    uint64_t span = gemm->in->emin == -14 || gemm->out->emin == -14 ? 7 : 21;

    gp_family_binade_column(args, j, to);
    if (args->operand == GP_C)
        return;
    for (int64_t i = 0; i < length; i++) {
        int64_t v = vector(args, i, j);
        uint64_t word =
            gp_hash_mix(args->seed + (uint64_t)v * 2 + (args->operand == GP_A));
        to[i] = v == middle ? to[i] : ldexp(to[i], -(int)(word % span));
    }
}

/* --- subnormal: below the smallest normal number ---------------------------
 */

/* Powers of two that operands are multiplied by: all of A is subnormal, in the
 * upper half of that range. Even columns of B bring the products back to
 * normal numbers, odd ones leave them where they are. */
static int subnormal_lift(const struct gp_gemm *gemm)
{
    return gemm->in->emin == -14 ? 10 : 60;
}

void gp_family_subnormal_scale(const struct gp_gemm *gemm, int *ret_a,
                               int *ret_b)
{
    *ret_a = gemm->in->emin;
    *ret_b = 0;
}

void gp_family_subnormal_column(const struct gp_family_args *args, int64_t j,
                                double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args);
    int p = gemm->in->precision;

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; i < length; i++) {
        if (args->operand == GP_A) /* one bit less than a normal number */
            to[i] = ldexp(trunc(ldexp(to[i], p - 2)), gemm->in->emin + 1 - p);
        else if (args->operand == GP_B && j % 2 == 0)
            to[i] = ldexp(to[i], subnormal_lift(gemm));
    }
}

/* --- overflow: just below the largest number -------------------------------
 */

void gp_family_overflow_scale(const struct gp_gemm *gemm, int *ret_a,
                              int *ret_b)
{
    *ret_a = gemm->in->emax;
    *ret_b = -log2_above(gemm->k);
}

/* B is 2^-c, k <= 2^c, times 1, 3/4 or 1/2, in every fourth column times 4.
 * Rows of A: the largest number once; sums of one sign that end at most 2^-10
 * (2^-6 of a BF16) below the largest number; large terms of both signs, whose
 * sum may overflow on the way in the fourth columns; large numbers with all
 * their bits. */
void gp_family_overflow_column(const struct gp_family_args *args, int64_t j,
                               double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    static const double weights[] = {1, 0.75, 0.5, 4};
    double omega = gp_type_largest(gemm->in);
    double below = ldexp(1, gemm->in->emax) *
                   (2 - (gemm->in->precision < 11 ? 0x1p-5 : 0x1p-9));
    int64_t length = gp_family_length(args);

    if (args->operand != GP_A) {
        double weight = weights[j % 4];
        for (int64_t i = 0; i < length; i++)
            to[i] =
                args->operand == GP_C ? 1 : ldexp(weight, -log2_above(gemm->k));
        return;
    }
    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; i < length; i++) {
        int64_t at = gp_family_probe_position(gemm, args->seed, args->batch, i);
        if (i % 4 == 0)
            to[i] = j == at ? omega : 0;
        else if (i % 4 == 1)
            to[i] = below;
        else if (i % 4 == 2)
            to[i] = j % 2 ? -below : below;
        else
            to[i] = ldexp(to[i], gemm->in->emax - 2);
    }
}
