/* Results that are NaN, infinite, zero or subnormal, against IEEE arithmetic
 * done term by term. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check/check.h"
#include "reference/refgemm.h"
#include "tests/unit/product.h"

static const struct {
    const char *in, *out;
} pairs[] = {{"f32", "f32"}, {"f64", "f64"},   {"f16", "f16"},
             {"f16", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"}};
static const char *const ops[] = {"nn", "nt", "tn", "tt"};

static void make(struct gp_reference *reference, const struct gp_gemm *gemm,
                 const char *family, uint64_t seed)
{
    struct gp_err err = {0};

    cr_assert_eq(
        gp_reference_make(reference, gemm, gp_family_find(family), seed, &err),
        0, "%s", err.text);
}

/* The processor's own NaN and infinities, in one order of summation. The range
 * of a long double is beyond that of every sum here. */
static long double by_definition(const struct gp_reference *reference,
                                 int64_t i, int64_t j, int64_t b)
{
    const struct gp_gemm *gemm = &reference->gemm;
    long double sum = 0, c = 0;

    if (gemm->alpha != 0)
        for (int64_t l = 0; l < gemm->k; l++)
            sum += (long double)product_element(gemm, GP_A, reference->a, i, l,
                                                b) *
                   product_element(gemm, GP_B, reference->b, l, j, b);
    if (gemm->beta != 0)
        c = gemm->beta *
            (long double)product_element(gemm, GP_C, reference->c, i, j, b);
    return (gemm->alpha != 0 ? gemm->alpha * sum : 0) + c;
}

/* How many results are NaN or infinite. */
static int check_all(const struct gp_gemm *gemm, const char *family,
                     uint64_t seed)
{
    struct gp_reference reference = {0};
    int special = 0;

    make(&reference, gemm, family, seed);
    for (int64_t at = 0; at < gp_gemm_count(gemm, GP_C); at++) {
        int64_t each = gemm->m * gemm->n;
        double ref = reference.ref[at];
        long double must = by_definition(&reference, at % each % gemm->m,
                                         at % each / gemm->m, at / each);
        long double error = fabsl(must - ref);
        if (isnan(must) || isinf(must)) {
            special++;
            if (isnan(must) ? !isnan(ref) : ref != (double)must)
                cr_assert_fail("%s at %d: %g, not %Lg", family, (int)at, ref,
                               must);
        } else if (!(error <=
                     (gemm->k + 8) * 0x1p-53 * reference.mag[at] + 0x1p-1074))
            cr_assert_fail("%s at %d: %a, not %La", family, (int)at, ref, must);
        cr_assert(!(reference.mag[at] < 0));
    }
    cr_assert_eq(reference.special, special > 0);
    gp_reference_free(&reference);
    return special;
}

Test(special, results_are_those_of_ieee_arithmetic)
{
    static const char *const families[] = {"special", "payload",   "wide",
                                           "cancel",  "subnormal", "positive",
                                           "grading", "binade"};
    static const double factors[][2] = {{1, 0}, {-2, 0.5}, {1.5, -1}, {0, 1}};
    int found[8] = {0};

    for (int p = 0; p < 6; p++)
        for (int f = 0; f < 8; f++)
            for (int x = 0; x < 4; x++) {
                struct gp_gemm gemm =
                    product_of(pairs[p].in, pairs[p].out, ops[(p + x) % 4],
                               33 + x, 9 + 9 * p, x == 2 ? 1 : 40);
                gemm.alpha = factors[x][0];
                gemm.beta = factors[x][1];
                gemm.batch = 1 + x % 2;
                found[f] +=
                    check_all(&gemm, families[f], (uint64_t)(7 + x + p));
            }
    cr_assert_gt(found[0], 3000);
    cr_assert_gt(found[1], 1000);
    for (int f = 2; f < 8; f++)
        cr_assert_eq(found[f], 0);
}

/* Every kind occurs, and ordinary results between them. */
Test(special, all_kinds_occur)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 64, 64, 64);
    int kinds[4] = {0};

    gemm.beta = 1;
    for (int seed = 1; seed <= 2; seed++) {
        struct gp_reference reference = {0};
        make(&reference, &gemm, "special", (uint64_t)seed);
        for (int at = 0; at < 64 * 64; at++) {
            double x = reference.ref[at];
            kinds[isnan(x) ? 0 : isinf(x) ? (x > 0 ? 1 : 2) : 3]++;
        }
        gp_reference_free(&reference);
        for (int kind = 0; kind < 4; kind++)
            cr_assert_gt(kinds[kind], 100 * seed, "%d", kind);
    }
}

Test(special, quick_returns)
{
    for (int p = 0; p < 6; p++)
        for (int x = 0; x < 6; x++) {
            struct gp_reference reference = {0};
            struct gp_gemm gemm =
                product_of(pairs[p].in, pairs[p].out, "nn", 16, 9, 12);
            const double betas[] = {0, 1, -0.5};
            gemm.beta = betas[x % 3];
            gemm.alpha = x < 3 ? 0 : 1;
            if (x >= 3)
                gemm.k = 0;
            make(&reference, &gemm, x < 3 ? "alpha-zero" : "dense", 3);
            for (int64_t at = 0; at < 16 * 9; at++) {
                double c =
                    gemm.beta == 0
                        ? 0
                        : gemm.beta * product_element(&gemm, GP_C, reference.c,
                                                      at % 16, at / 16, 0);
                cr_assert_eq(reference.ref[at], c);
                cr_assert_eq(!signbit(reference.ref[at]), !signbit(c));
            }
            cr_assert(!reference.special);
            gp_reference_free(&reference);
        }
}

Test(special, payload_is_the_lowest)
{
    static const uint64_t bits[] = {
        0x7f800001, 0x7ff0000000000001, 0x7c01, 0x7c01, 0x7f81, 0x7f81};

    for (int p = 0; p < 6; p++) {
        struct gp_reference reference = {0};
        struct gp_gemm gemm =
            product_of(pairs[p].in, pairs[p].out, ops[p % 4], 16, 16, 16);
        make(&reference, &gemm, "payload", 1);
        /* Row 0, position 0: the first element of A either way. */
        cr_assert_eq(gp_type_bits(gemm.in, reference.a, 0), bits[p]);
        gp_reference_free(&reference);
    }
}

Test(special, c_is_given_though_it_must_not_be_read)
{
    struct gp_reference reference = {0};
    struct gp_gemm gemm = product_of("f16", "f16", "nn", 16, 9, 12);

    make(&reference, &gemm, "c-nan", 1);
    cr_assert_not_null(reference.c);
    for (int64_t at = 0; at < 16 * 9; at++) {
        cr_assert(!isfinite(
            product_element(&gemm, GP_C, reference.c, at % 16, at / 16, 0)));
        cr_assert(isfinite(reference.ref[at]));
    }
    gp_reference_free(&reference);
}

/* All that is there adds up to less than what bfloat16 counts exactly. */
Test(special, zeros_are_exact)
{
    struct gp_reference reference = {0};
    struct gp_gemm gemm = product_of("bf16", "bf16", "nn", 16, 9, 3000);

    make(&reference, &gemm, "signed-zero", 1);
    for (int64_t at = 0; at < 16 * 9; at++) {
        cr_assert_eq(reference.ref[at], 0);
        cr_assert_lt(reference.mag[at], 256);
        cr_assert(at % 2 == 0 || reference.mag[at] >= 16);
    }
    gp_reference_free(&reference);
}

/* The sum's condition 2 S / |ref| is that of a loss of all but the last
 * bits. */
Test(special, cancellation)
{
    for (int p = 0; p < 6; p++) {
        struct gp_reference reference = {0};
        struct gp_gemm gemm =
            product_of(pairs[p].in, pairs[p].out, "nn", 8, 8, 101);
        int bits = gemm.in->precision - 2 < 22 ? gemm.in->precision - 2 : 22;
        make(&reference, &gemm, "cancel", 1);
        for (int64_t at = 0; at < 64; at++)
            cr_assert_geq(2 * reference.mag[at] / fabs(reference.ref[at]),
                          ldexp(1, bits - 2), "%s", pairs[p].in);
        gp_reference_free(&reference);
    }
}

/* --- The check ------------------------------------------------------------ */

/* The verdict on the exact results with one element replaced. */
static struct gp_finding verdict(const struct gp_gemm *gemm, const char *family,
                                 int64_t at, double instead)
{
    struct gp_reference reference = {0};
    struct gp_mode mode = {.name = "pedantic"};
    struct gp_problem problem = {.gemm = *gemm,
                                 .family = gp_family_find(family)};
    struct gp_run run = {.problem = &problem, .mode = &mode};
    const struct gp_bound bound = {0x1p-20, 0x1p-10, 0x1p-120, 0x1p127,
                                   0x1p127};
    struct gp_finding finding = {.where = {-1, -1, -1, -1}};
    struct gp_accuracy accuracy;
    int64_t first = 0;
    struct gp_evidence evidence = {.run = &run,
                                   .reference = &reference,
                                   .accuracy = &accuracy,
                                   .outputs = 1,
                                   .first_repeat = &first};
    size_t bytes = gemm->out->bytes;
    unsigned char *output = calloc((size_t)gp_gemm_count(gemm, GP_C), bytes);

    make(&reference, gemm, family, 1);
    gp_type_store(gemm->out, reference.ref, output, gp_gemm_count(gemm, GP_C));
    if (at >= 0)
        gp_type_store(gemm->out, &instead, output + (size_t)at * bytes, 1);
    gp_measure(&reference, &bound, output, &accuracy);
    cr_assert(gp_check_judges(&gp_check_special, &problem));
    gp_check_special.judge(&evidence, &finding);
    gp_reference_free(&reference);
    free(output);
    return finding;
}

/* Element `at` of the special results must be `must`; anything else fails. */
static void only(const struct gp_gemm *gemm, const char *family, int64_t at,
                 double other)
{
    struct gp_finding finding = verdict(gemm, family, at, other);

    cr_assert_eq(finding.verdict, GP_FAIL, "%s", finding.text);
    cr_assert_eq(finding.value, 1);
    cr_assert_eq(finding.where.i, at % gemm->m);
    cr_assert_eq(finding.where.j, at / gemm->m);
    finding = verdict(gemm, family, -1, 0);
    cr_assert_eq(finding.verdict, GP_PASS, "%s", finding.text);
    cr_assert_eq(finding.flags, 0, "%s", finding.text);
}

Test(special, a_class_that_is_wrong_fails)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 32, 32, 32);
    struct gp_reference reference = {0};
    int64_t at[4] = {-1, -1, -1, -1};

    make(&reference, &gemm, "special", 1);
    for (int64_t i = 0; i < 32 * 32; i++) {
        double x = reference.ref[i];
        at[isnan(x) ? 0 : isinf(x) ? (x > 0 ? 1 : 2) : 3] = i;
    }
    gp_reference_free(&reference);
    only(&gemm, "special", at[0], 1);
    only(&gemm, "special", at[0], (double)INFINITY);
    only(&gemm, "special", at[1], (double)NAN);
    only(&gemm, "special", at[1], 3e38);
    only(&gemm, "special", at[1], -(double)INFINITY);
    only(&gemm, "special", at[2], (double)INFINITY);
    only(&gemm, "special", at[3], (double)NAN);
    only(&gemm, "special", at[3], (double)INFINITY);
}

Test(special, where_nothing_is_summed_bits_count)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 16, 8, 4);

    gemm.alpha = 0;
    only(&gemm, "alpha-zero", 5, -0.0);
    only(&gemm, "alpha-zero", 5, 0x1p-149);
    gemm.beta = 1;
    only(&gemm, "alpha-zero", 5, 0x1.000002p0);
    gemm.alpha = 1;
    gemm.k = 0;
    gemm.beta = -0.5;
    only(&gemm, "dense", 5, 0x1p-60);
}

/* The sign of a zero sum and subnormal results are told, not judged. */
Test(special, policies_are_told)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 4);
    struct gp_finding finding = verdict(&gemm, "signed-zero", 3, -0.0);

    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_not_null(strstr(finding.text, "of 64 zeros are -0"), "%s",
                       finding.text);
    finding = verdict(&gemm, "subnormal", -1, 0);
    cr_assert_not_null(strstr(finding.text, "subnormal results are kept"));
    finding = verdict(&gemm, "subnormal", 8, 0); /* column 1: a subnormal */
    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_eq(finding.flags, GP_OBSERVED);
    cr_assert_not_null(strstr(finding.text, "; 1 of "), "%s", finding.text);
}

Test(special, errors_of_sums_need_sums)
{
    struct gp_problem problem = {.gemm =
                                     product_of("f32", "f32", "nn", 64, 64, 4),
                                 .family = gp_family_find("dense")};

    cr_assert(gp_check_judges(&gp_check_band, &problem));
    problem.gemm.alpha = 0;
    cr_assert_not(gp_check_judges(&gp_check_band, &problem));
    problem.gemm.alpha = 1;
    problem.gemm.k = 0;
    cr_assert_not(gp_check_judges(&gp_check_band, &problem));
    cr_assert(gp_check_judges(&gp_check_special, &problem));
    cr_assert(gp_check_judges(&gp_check_bound, &problem));
}

Test(special, no_result_is_left_to_the_guards)
{
    struct gp_problem problem = {.gemm =
                                     product_of("f32", "f32", "nn", 0, 8, 4),
                                 .family = gp_family_find("special")};

    for (const struct gp_check *const *check = gp_checks; *check; check++)
        cr_assert_eq(gp_check_judges(*check, &problem),
                     *check == &gp_check_guard);
}
