/* The certificate of a reference: what is wrong is found every time, wherever
 * it is; what is right passes. */
#include <cblas.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/certificate.h"
#include "tests/unit/product.h"

enum { PLACES = 200 };

/* Operands, their product and the sums of magnitudes. */
struct made {
    struct gp_certificate it;
    double *a, *b, *c;
    float *sums;
};

static void multiply(struct made *made)
{
    int m = (int)made->it.m, n = (int)made->it.n, k = (int)made->it.k;
    float *a = calloc((size_t)(m * k), sizeof *a);
    float *b = calloc((size_t)(k * n), sizeof *b);

    for (int i = 0; i < m * k; i++)
        a[i] = (float)fabs(made->a[i]);
    for (int i = 0; i < k * n; i++)
        b[i] = (float)fabs(made->b[i]);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, made->a,
                m, made->b, k, 0, made->c, m);
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, m, b,
                k, 0, made->sums, m);
    free(a);
    free(b);
}

static struct made empty(int64_t m, int64_t n, int64_t k)
{
    struct made made = {.a = calloc((size_t)(m * k), 8),
                        .b = calloc((size_t)(k * n), 8),
                        .c = calloc((size_t)(m * n), 8),
                        .sums = calloc((size_t)(m * n), 4)};

    made.it = (struct gp_certificate){.m = m,
                                      .n = n,
                                      .k = k,
                                      .a = made.a,
                                      .b = made.b,
                                      .c = made.c,
                                      .sums = made.sums,
                                      .seed = 1};
    return made;
}

static void fill(const struct gp_gemm *gemm, const struct gp_family *family,
                 enum gp_operand operand, uint64_t seed, int64_t rows,
                 int64_t cols, double *to)
{
    const struct gp_family_args args = {gemm, seed, operand, 0};

    for (int64_t j = 0; j < cols; j++)
        family->column(&args, j, to + j * rows);
}

static struct made make(const char *type, const char *family, int64_t m,
                        int64_t n, int64_t k, uint64_t seed)
{
    struct gp_gemm gemm = product_of(type, type, "nn", m, n, k);
    const struct gp_family *row = gp_family_find(family);
    struct made made = empty(m, n, k);

    fill(&gemm, row, GP_A, seed, m, k, made.a);
    fill(&gemm, row, GP_B, seed, k, n, made.b);
    if (row->grid)
        row->grid(&gemm, &made.it.grid_a, &made.it.grid_b);
    made.it.seed = seed;
    multiply(&made);
    return made;
}

static void drop(struct made *made)
{
    free(made->a);
    free(made->b);
    free(made->c);
    free(made->sums);
}

typedef int certificate(const struct gp_certificate *, struct gp_err *);

static void passes(certificate *certify, const struct made *made)
{
    struct gp_err err = {0};

    if (certify(&made->it, &err) != 0)
        cr_assert_fail("refused: %s", err.text);
}

static void refuses(certificate *certify, const struct made *made,
                    int64_t place)
{
    struct gp_err err = {0};

    if (certify(&made->it, &err) == 0)
        cr_assert_fail("what is wrong at %d passes", (int)place);
    cr_assert_eq(err.kind, GP_ERR_BACKEND);
}

/* --- Exact -------------------------------------------------------------- */

/* One grid unit more or less, in one element. */
static void check_unit(const char *type, int64_t m, int64_t n, int64_t k)
{
    struct made made = make(type, "grid", m, n, k, 5);
    double unit = ldexp(1, -made.it.grid_a - made.it.grid_b);
    struct rng rng = {11};

    passes(gp_certificate_exact, &made);
    for (int i = 0; i < PLACES; i++) {
        int64_t at = rng_to(&rng, m * n - 1);
        double right = made.c[at];
        made.it.seed = rng_next(&rng);
        made.c[at] += i & 1 ? unit : -unit;
        refuses(gp_certificate_exact, &made, at);
        made.c[at] = right;
    }
    passes(gp_certificate_exact, &made);
    drop(&made);
}

Test(certificate, one_grid_unit_is_always_found)
{
    check_unit("f32", 60, 50, 70);
    check_unit("f64", 33, 90, 129);
    check_unit("bf16", 1, 64, 300);
    check_unit("f64", 64, 1, 300);
}

/* Beyond the first block of columns. */
Test(certificate, the_last_block_of_columns_is_looked_at)
{
    struct made made = make("f32", "grid", 3, 4100, 5, 1);

    passes(gp_certificate_exact, &made);
    made.c[3 * 4100 - 1] += ldexp(1, -made.it.grid_a - made.it.grid_b);
    refuses(gp_certificate_exact, &made, 3 * 4100 - 1);
    drop(&made);
}

/* Errors that cancel in a sum of the row, or over a column. */
Test(certificate, errors_that_cancel_are_found)
{
    struct made made = make("f32", "exact", 20, 30, 40, 3);
    double right;

    passes(gp_certificate_exact, &made);
    made.c[4] += 1;
    made.c[4 + 20 * 7] -= 1;
    refuses(gp_certificate_exact, &made, 4);
    made.c[4] -= 1;
    made.c[4 + 20 * 7] += 1;
    right = made.c[0];
    made.c[0] = made.c[1];
    made.c[1] = right;
    cr_assert_neq(made.c[0], made.c[1]);
    refuses(gp_certificate_exact, &made, 0);
    drop(&made);
}

/* Numbers of both signs as large as FP64 holds exactly, where the arithmetic
 * modulo 2^61 - 1 must be right: -1 is P - 1, not -1. */
Test(certificate, large_numbers_of_both_signs)
{
    struct rng rng = {5};

    for (int turn = 0; turn < 50; turn++) {
        struct made made = empty(7, 9, 2);
        for (int i = 0; i < 7 * 2; i++)
            made.a[i] = (double)rng_between(&rng, -(1 << 25), 1 << 25);
        for (int i = 0; i < 2 * 9; i++)
            made.b[i] = (double)rng_between(&rng, -(1 << 26), 1 << 26);
        for (int i = 0; i < 2; i++) { /* one row that is negative throughout */
            made.a[3 + 7 * i] = -0x1p25;
            made.b[i] = 0x1p26;
        }
        multiply(&made);
        made.it.seed = rng_next(&rng);
        passes(gp_certificate_exact, &made);
        made.c[3] = -made.c[3];
        refuses(gp_certificate_exact, &made, 3);
        drop(&made);
    }
}

/* More columns than are summed before the next reduction. */
Test(certificate, a_long_sum_of_large_numbers)
{
    struct made made = empty(3, 4, 9000);
    struct rng rng = {7};

    for (int i = 0; i < 3 * 9000; i++)
        made.a[i] = (double)rng_between(&rng, -1000, -1);
    for (int i = 0; i < 9000 * 4; i++)
        made.b[i] = (double)rng_between(&rng, -0x7fffffff, -0x40000000);
    multiply(&made);
    passes(gp_certificate_exact, &made);
    made.c[5] += 1;
    refuses(gp_certificate_exact, &made, 5);
    drop(&made);
}

Test(certificate, what_is_not_an_integer_is_refused)
{
    static const double wrong[] = {0.5,      1e-300, 0x1p53 + 2, -0x1p60,
                                   INFINITY, NAN,    -INFINITY};
    struct made made = make("f32", "exact", 8, 8, 8, 1);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double right = made.c[20];
        made.c[20] = wrong[i];
        refuses(gp_certificate_exact, &made, 20);
        made.c[20] = right;
    }
    passes(gp_certificate_exact, &made);
    drop(&made);
}

/* --- Rounded ------------------------------------------------------------- */

/* 2^-40 S in one element, of either sign; every element must show it, so S is
 * that of the largest in its row, as docs/checks.md says. */
static void check_rounded(int64_t m, int64_t n, int64_t k)
{
    struct made made = make("f64", "dense", m, n, k, 9);
    struct rng rng = {m};

    passes(gp_certificate_rounded, &made);
    for (int i = 0; i < PLACES; i++) {
        int64_t at = rng_to(&rng, m * n - 1);
        double right = made.c[at], off = 0x1p-40 * (double)made.sums[at];
        made.it.seed = rng_next(&rng);
        made.c[at] += i & 1 ? off : -off;
        refuses(gp_certificate_rounded, &made, at);
        made.c[at] = right;
    }
    drop(&made);
}

Test(certificate, a_small_error_of_a_rounded_product_is_always_found)
{
    check_rounded(200, 200, 200);
    check_rounded(300, 300, 300);
    check_rounded(7, 400, 600);
    check_rounded(600, 11, 123);
}

Test(certificate, a_result_that_is_not_a_number_is_found)
{
    struct made made = make("f64", "dense", 100, 90, 30, 9);

    made.c[4321] = NAN;
    refuses(gp_certificate_rounded, &made, 4321);
    made.c[4321] = INFINITY;
    refuses(gp_certificate_rounded, &made, 4321);
    drop(&made);
}

/* Blocks after the first; their places are rarely sampled. */
Test(certificate, the_last_block_of_a_rounded_product_is_looked_at)
{
    struct made made = make("f64", "dense", 3, 4200, 5, 1);

    passes(gp_certificate_rounded, &made);
    for (int64_t at = 3 * 4097; at < 3 * 4200; at += 7) {
        double right = made.c[at];
        made.c[at] += 0x1p-40 * (double)made.sums[at];
        if (made.sums[at] > 0.5f)
            refuses(gp_certificate_rounded, &made, at);
        made.c[at] = right;
    }
    drop(&made);
}

/* What OpenBLAS gives passes, on data without a mean and on positive data,
 * where the partial sums grow and their roundings with them. */
static void check_right(uint64_t seed, int64_t k, bool positive)
{
    struct made made = make("f64", "dense", 64, 48, k, seed);

    for (int64_t i = 0; positive && i < 64 * k; i++)
        made.a[i] = fabs(made.a[i]);
    for (int64_t i = 0; positive && i < 48 * k; i++)
        made.b[i] = fabs(made.b[i]);
    multiply(&made);
    passes(gp_certificate_rounded, &made);
    passes(gp_certificate_sums, &made);
    drop(&made);
}

Test(certificate, right_products_pass)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        check_right(seed, 100 + (int64_t)seed * 17, false);
        check_right(seed, 100 + (int64_t)seed * 17, true);
    }
}

/* --- Sums of magnitudes -------------------------------------------------- */

/* An element that was lost, or cannot be. */
Test(certificate, a_lost_sum_of_magnitudes_is_found)
{
    static const int64_t sizes[][3] = {
        {64, 48, 100}, {9, 300, 2000}, {200, 4, 30}, {5, 4300, 8}};

    for (int s = 0; s < 4; s++) {
        struct made made =
            make("f64", "dense", sizes[s][0], sizes[s][1], sizes[s][2], 3);
        struct rng rng = {13};
        passes(gp_certificate_sums, &made);
        for (int i = 0; i < PLACES; i++) {
            int64_t at = rng_to(&rng, sizes[s][0] * sizes[s][1] - 1);
            float right = made.sums[at];
            made.sums[at] = i % 3 == 0 ? 0 : i % 3 == 1 ? 2 * right : NAN;
            /* At k = 8 an element may be less than the slack of 1/4096. */
            if (i % 3 == 2 || right > (float)sizes[s][2] / 8)
                refuses(gp_certificate_sums, &made, at);
            made.sums[at] = right;
        }
        drop(&made);
    }
}

/* --- Compensated dot products --------------------------------------------- */

/* Terms that cancel to 2^-60 of the largest: FP64 alone loses all of it. */
Test(certificate, a_compensated_dot_product_keeps_what_cancels)
{
    static const double a[] = {0x1p60, 3, -0x1p60, 1 + 0x1p-52, -1};
    static const double b[] = {1, 0.5, 1, 1 + 0x1p-52, 1 + 0x1p-51};

    cr_assert_eq(gp_certificate_dot(a, 1, b, 1, 3), 1.5);
    /* (1 + u)^2 - (1 + 2u) = u^2 */
    cr_assert_eq(gp_certificate_dot(a + 3, 1, b + 3, 1, 2), 0x1p-104);
    cr_assert_eq(gp_certificate_dot(a, 2, b, 2, 2), 0);
}
