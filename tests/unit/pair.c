/* References better than FP64, against sums without any rounding. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check/measure.h"
#include "reference/dot2.h"
#include "reference/pair.h"
#include "tests/unit/product.h"
#include "tests/unit/whole_sum.h"

/* --- gp_pair_multiply ------------------------------------------------------
 */

struct made {
    struct gp_pair it;
    double *a, *b; /* as given: the pair may scale its own */
};

static double *doubles(int64_t count)
{
    return calloc((size_t)count, sizeof(double));
}

static struct made make(int64_t m, int64_t n, int64_t k)
{
    return (struct made){.it = {.m = m,
                                .n = n,
                                .k = k,
                                .a = doubles(m * k),
                                .b = doubles(k * n),
                                .high = doubles(m * n),
                                .low = doubles(m * n),
                                .mag = doubles(m * n),
                                .alone = true},
                         .a = doubles(m * k),
                         .b = doubles(k * n)};
}

static void drop(struct made *made)
{
    free(made->it.a);
    free(made->it.b);
    free(made->it.high);
    free(made->it.low);
    free(made->it.mag);
    free(made->a);
    free(made->b);
}

/* One element of what was multiplied: its error and its magnitude are what
 * the pair says. */
static void check_element(const struct made *made, int64_t i, int64_t j)
{
    int64_t m = made->it.m, k = made->it.k, at = i + j * m;
    double high = ldexp(made->it.high[at], made->it.exponent);
    double low = ldexp(made->it.low[at], made->it.exponent);
    double mag = ldexp(made->it.mag[at], made->it.exponent), off, size;
    struct whole_sum sum = {.adds = 0}, sizes = {.adds = 0};

    for (int64_t l = 0; l < k; l++) {
        double a = made->a[i + l * m], b = made->b[l + j * k];
        whole_sum_product(&sum, a, b, 1);
        whole_sum_product(&sizes, fabs(a), fabs(b), 1);
    }
    whole_sum_product(&sum, high, 1, -1);
    whole_sum_product(&sum, low, 1, -1);
    off = fabs(whole_sum_about(&sum));
    size = whole_sum_about(&sizes);
    if (off > made->it.error * size * (1 + 0x1p-40))
        cr_assert_fail("(%d, %d) of k = %d: %a + %a is %a of %a off", (int)i,
                       (int)j, (int)k, high, low, off, size);
    if (mag < size * (1 - 0x1p-50) || mag > size * (1 + (double)k * 0x1p-20))
        cr_assert_fail("(%d, %d): |A||B| is %a, not %a", (int)i, (int)j, size,
                       mag);
    if (high + low != high)
        cr_assert_fail("(%d, %d): %a + %a", (int)i, (int)j, high, low);
}

/* |A||B| as a caller gives it. */
static void sum_magnitudes(struct made *made)
{
    int64_t m = made->it.m, k = made->it.k;

    for (int64_t j = 0; j < made->it.n; j++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t i = 0; i < m; i++)
                made->it.mag[i + j * m] += fabs(made->a[i + l * m]) *
                                           fabs(made->b[l + j * k]) *
                                           (1 + 0x1p-30);
}

static void multiply(struct made *made)
{
    struct gp_err err = {0};

    memcpy(made->it.a, made->a, (size_t)(made->it.m * made->it.k) * 8);
    memcpy(made->it.b, made->b, (size_t)(made->it.k * made->it.n) * 8);
    if (gp_pair_by_slices(&made->it))
        sum_magnitudes(made);
    cr_assert_eq(gp_pair_multiply(&made->it, &err), 0, "%s", err.text);
}

/* Every element, or about `most` of them. */
static void check(struct made *made, int64_t most)
{
    int64_t count = made->it.m * made->it.n, step = count / most + 1;

    multiply(made);
    for (int64_t at = 0; at < count; at += step)
        check_element(made, at % made->it.m, at / made->it.m);
    check_element(made, made->it.m - 1, made->it.n - 1);
    /* far below the last bit of a sum that lost sqrt(k) by cancellation */
    cr_assert_lt(made->it.error, 0x1p-53 / (8 * (double)made->it.k));
    drop(made);
}

/* Operands with 53 bits and exponents from `least` to `most`. */
static struct made random_made(int64_t m, int64_t n, int64_t k, int least,
                               int most, uint64_t seed)
{
    struct made made = make(m, n, k);
    struct rng rng = {seed};

    for (int64_t i = 0; i < m * k; i++)
        made.a[i] = rng_double(&rng, least, most);
    for (int64_t i = 0; i < k * n; i++)
        made.b[i] = rng_double(&rng, least, most);
    return made;
}

static const int64_t shapes[][3] = {
    {1, 1, 1},    {64, 64, 256}, {65, 3, 257},   {3, 130, 511},
    {67, 66, 33}, {1, 40, 1000}, {40, 1, 10000}, {5, 4, 70000}};

Test(pair, every_shape)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct made made =
            random_made(shapes[i][0], shapes[i][1], shapes[i][2], -1, 0, i + 1);
        check(&made, 300);
    }
}

Test(pair, wide_exponents)
{
    for (int most = 20; most <= 220; most += 50) {
        struct made made = random_made(33, 35, 300, -most, most, 3);
        check(&made, 300);
    }
}

/* All of the range of FP64: products beyond it, subnormal operands. */
Test(pair, operands_at_the_ends_of_the_range)
{
    static const struct {
        int a_least, a_most, b_least, b_most;
    } ranges[] = {{-1074, -1060, 0, 3}, {-1074, -1000, 900, 1023},
                  {1000, 1023, -2, 0},  {0, 1000, -700, 0},
                  {900, 1000, 20, 23},  {-900, -890, -100, -90}};

    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        struct made made = make(9, 8, 40);
        struct rng rng = {r + 1};
        for (int64_t i = 0; i < 9 * 40; i++)
            made.a[i] = rng_double(&rng, ranges[r].a_least, ranges[r].a_most);
        for (int64_t i = 0; i < 8 * 40; i++)
            made.b[i] = rng_double(&rng, ranges[r].b_least, ranges[r].b_most);
        check(&made, 100);
    }
}

Test(pair, exponents_that_no_double_holds_are_refused)
{
    struct made made = random_made(4, 4, 9, -1020, 1020, 1);
    struct gp_err err = {0};

    memcpy(made.it.a, made.a, 4 * 9 * 8);
    memcpy(made.it.b, made.b, 4 * 9 * 8);
    cr_assert_eq(gp_pair_multiply(&made.it, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_UNSUPPORTED);
    drop(&made);
}

/* The second half of a row takes the first back but for its last bits. */
static struct made cancelling(int64_t m, int64_t n, int64_t k, double left,
                              uint64_t seed)
{
    struct made made = random_made(m, n, k, -4, 0, seed);
    struct rng rng = {seed};

    for (int64_t l = 0; l < k / 2; l++) {
        for (int64_t i = 0; i < m; i++)
            made.a[i + (l + k / 2) * m] =
                -made.a[i + l * m] * (1 + left * rng_uniform(&rng));
        for (int64_t j = 0; j < n; j++)
            made.b[l + k / 2 + j * k] = made.b[l + j * k];
    }
    return made;
}

Test(pair, what_cancels)
{
    struct made made = cancelling(70, 20, 512, 0x1p-45, 5);

    check(&made, 300);
    made = cancelling(3, 70, 4096, 0x1p-50, 6);
    check(&made, 200);
}

/* By slices: more than one panel and strip, and what is left over of each. */
Test(pair, slices)
{
    static const int64_t large[][3] = {
        {300, 280, 1100}, {129, 2100, 260}, {260, 200, 2049}};

    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct made made =
            random_made(large[i][0], large[i][1], large[i][2], -9, 0, i + 1);
        double error;
        made.it.alone = i % 2 == 0;
        multiply(&made);
        cr_assert(gp_pair_by_slices(&made.it));
        error = made.it.error;
        cr_assert(error != gp_dot2_error(large[i][2]));
        cr_assert(error > 0x1p-90 && error < 0x1p-75, "%a", error);
        memset(made.it.mag, 0, (size_t)(made.it.m * made.it.n) * 8);
        check(&made, 300);
    }
}

/* The same bits, whether the library has threads or we make them. */
Test(pair, slices_by_any_threads)
{
    struct made one = random_made(256, 512, 700, -3, 0, 1);
    struct made two = random_made(256, 512, 700, -3, 0, 1);
    size_t bytes = 256 * 512 * 8;

    one.it.alone = false;
    multiply(&one);
    multiply(&two);
    cr_assert_eq(one.it.error, two.it.error);
    cr_assert_eq(memcmp(one.it.high, two.it.high, bytes), 0);
    drop(&one);
    drop(&two);
}

/* Where slices are not enough the error is still far below FP64's. */
Test(pair, slices_leave_wide_exponents_to_compensated_sums)
{
    struct made made = random_made(260, 261, 1024, -50, 50, 1);

    multiply(&made);
    cr_assert(gp_pair_by_slices(&made.it));
    cr_assert_eq(made.it.error, gp_dot2_error(1024));
    check(&made, 200);
    made = random_made(260, 261, 1024, -70, 50, 1);
    multiply(&made);
    cr_assert_not(gp_pair_by_slices(&made.it));
    check(&made, 200);
}

/* Slices are compared with compensated sums: here the magnitudes, which are
 * given, are too small. */
Test(pair, what_slices_give_is_looked_at)
{
    struct made made = random_made(300, 280, 900, -3, 0, 1);
    struct gp_err err = {0};

    memcpy(made.it.a, made.a, 300 * 900 * 8);
    memcpy(made.it.b, made.b, 280 * 900 * 8);
    sum_magnitudes(&made);
    for (int64_t at = 0; at < 300 * 280; at++)
        made.it.mag[at] *= 0.999;
    cr_assert_eq(gp_pair_multiply(&made.it, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_BACKEND);
    cr_assert_not_null(strstr(err.text, "element (0, 0)"), "%s", err.text);
    drop(&made);
}

Test(pair, zeros_are_zeros)
{
    struct made made = random_made(66, 5, 300, -1, 0, 9);

    for (int64_t l = 0; l < 300; l++)
        for (int64_t i = 0; i < 66; i++)
            if ((l + i) % 7 || i < 3)
                made.a[i + l * 66] = 0;
    memset(made.b, 0, 300 * 8);
    multiply(&made);
    for (int64_t i = 0; i < 66; i++)
        cr_assert_eq(made.it.mag[i], 0);
    check(&made, 300);
}

/* --- What a correctly rounded result scores --------------------------------
 */

/* A reference from a pair, and the correctly rounded result. */
static void check_rounded(struct made *made)
{
    int64_t m = made->it.m, n = made->it.n, k = made->it.k;
    struct gp_reference reference = {
        .gemm = product_of("f64", "f64", "nn", m, n, k)};
    struct gp_bound bound = {.omega_acc = INFINITY, .omega_out = INFINITY};
    double *d = doubles(m * n);
    struct gp_accuracy accuracy;

    multiply(made);
    for (int64_t at = 0; at < m * n; at++) {
        struct whole_sum sum = {.adds = 0};
        for (int64_t l = 0; l < k; l++)
            whole_sum_product(&sum, made->a[at % m + l * m],
                              made->b[l + at / m * k], 1);
        d[at] = whole_sum_take(&sum);
    }
    reference.ref = made->it.high;
    reference.low = made->it.low;
    reference.mag = made->it.mag;
    reference.error_rel = made->it.error;
    bound.rel_ref = 0x1p-53;
    gp_measure(&reference, &bound, d, &accuracy);
    cr_assert_eq(accuracy.outside, 0);
    cr_assert_eq(accuracy.rounded, m * n, "%d of %d", (int)accuracy.rounded,
                 (int)(m * n));
    cr_assert_leq(accuracy.max_ulp, 0.5);
    cr_assert_gt(accuracy.max_ulp, 0.45);
    /* The next number is an ulp further off, and seen. */
    d[m * n - 1] = nextafter(d[m * n - 1], INFINITY);
    gp_measure(&reference, &bound, d, &accuracy);
    cr_assert_eq(accuracy.outside, 1);
    cr_assert_eq(accuracy.rounded, m * n - 1);
    cr_assert(accuracy.max_ulp > 0.5 && accuracy.max_ulp <= 1.5);
    free(d);
    drop(made);
}

Test(pair, a_correctly_rounded_result_scores_half_an_ulp)
{
    struct made made = random_made(64, 64, 64, -3, 0, 1);

    check_rounded(&made);
    made = random_made(30, 40, 256, -3, 0, 2);
    check_rounded(&made);
    made = random_made(20, 16, 1024, -3, 0, 3);
    check_rounded(&made);
    made = cancelling(24, 32, 256, 0x1p-20, 4);
    check_rounded(&made);
}

/* --- gp_pair_finish --------------------------------------------------------
 */

/* alpha (high + low) 2^exponent + beta c for factors of a few bits. */
static void check_finish(const struct gp_pair_scalars *scalars, double high,
                         double low, double c)
{
    int64_t alpha = (int64_t)(scalars->alpha * 4);
    int64_t beta = (int64_t)(scalars->beta * 4);
    double rest = low, got = gp_pair_finish(scalars, high, &rest, c), size;
    struct whole_sum sum = {.adds = 0};
    whole_sum_int whole;
    int by;

    whole = alpha * (whole_sum_int)whole_sum_split(high, &by);
    whole_sum_add(&sum, whole, by - 2 + scalars->exponent);
    whole = alpha * (whole_sum_int)whole_sum_split(low, &by);
    whole_sum_add(&sum, whole, by - 2 + scalars->exponent);
    whole = beta * (whole_sum_int)whole_sum_split(c, &by);
    whole_sum_add(&sum, whole, by - 2);
    size = fabs(scalars->alpha * ldexp(high, scalars->exponent)) +
           fabs(scalars->beta * c);
    cr_assert_eq(got + rest, got, "%a + %a", got, rest);
    whole_sum_product(&sum, got, 1, -1);
    whole_sum_product(&sum, rest, 1, -1);
    if (fabs(whole_sum_about(&sum)) >
        GP_PAIR_SCALARS_ERROR * size + GP_PAIR_UNDERFLOW)
        cr_assert_fail("%g (%a + %a) 2^%d + %g %a: %a + %a is %a off",
                       scalars->alpha, high, low, scalars->exponent,
                       scalars->beta, c, got, rest, whole_sum_about(&sum));
}

Test(pair, alpha_and_beta_lose_nothing)
{
    static const double factors[] = {1, 0, -1, 0.5, 1.5, -0.75, 2};
    static const int exponents[] = {0, 40, -700, -1050, -1100, 500};
    struct rng rng = {17};

    for (int turn = 0; turn < 4000; turn++) {
        const struct gp_pair_scalars scalars = {factors[rng_to(&rng, 6)],
                                                factors[rng_to(&rng, 6)],
                                                exponents[rng_to(&rng, 5)]};
        double high = rng_double(&rng, -3, 3);
        double low = rng_double(&rng, -60, -57);
        double c = rng_double(&rng, turn % 2 ? -1074 : -4, turn % 2 ? -950 : 4);
        check_finish(&scalars, high, low, turn % 9 ? c : 0);
    }
}

/* What an emulation of FP64 by integers gives another sign: operands below the
 * normal numbers, 2^-1074 - 7 2^-1083 (numbers of the Lean models by P. Jiang,
 * pauljiang03/TC-EFT, for Schwarz et al. 2511.13778). */
Test(pair, subnormal_operands_keep_their_sign)
{
    struct made made = make(1, 1, 8);
    struct gp_pair_scalars scalars = {.alpha = 1};
    double got;

    made.a[0] = 0x1p-1074;
    made.b[0] = 1;
    for (int l = 1; l < 8; l++) {
        made.a[l] = 0x1p-1023;
        made.b[l] = -0x1p-60;
    }
    multiply(&made);
    check_element(&made, 0, 0);
    scalars.exponent = made.it.exponent;
    got = gp_pair_finish(&scalars, made.it.high[0], made.it.low, 0);
    cr_assert_eq(got, 0x1p-1074, "%a", got);
    drop(&made);
}

/* A subnormal result that low decides: 2.5 units and a little more are 3, a
 * little less are 2. */
Test(pair, a_tie_of_a_subnormal_result_is_decided)
{
    static const struct {
        double high, low, expected;
    } rows[] = {{2.5, 0x1p-60, 3},   {2.5, -0x1p-60, 2}, {2.5, 0, 2},
                {3.5, -0x1p-60, 3},  {3.5, 0x1p-60, 4},  {-2.5, -0x1p-60, -3},
                {-3.5, 0x1p-60, -3}, {2.25, 0x1p-60, 2}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gp_pair_scalars scalars = {1, 0, -1074};
        double low = rows[i].low;
        double got = gp_pair_finish(&scalars, rows[i].high, &low, 0);
        cr_assert_eq(got, rows[i].expected * 0x1p-1074, "%g + %g: %a",
                     rows[i].high, rows[i].low, got);
    }
}
