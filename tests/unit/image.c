/* Images of a problem: operands and exact results follow from the base's. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "harness/check/check.h"
#include "harness/engine/images.h"
#include "reference/refgemm.h"
#include "tests/unit/product.h"

static const char *const names[] = {"outer-scaled",  "inner-scaled", "negated",
                                    "rows-permuted", "k-permuted",   "swapped"};

static void make(struct gp_reference *reference, const struct gp_gemm *gemm,
                 const char *family)
{
    struct gp_err err = {0};

    cr_assert_eq(
        gp_reference_make(reference, gemm, gp_family_find(family), 5, &err), 0,
        "%s", err.text);
}

/* By long double sums of the operands as stored: each result is the base's,
 * moved. */
static long double element(const struct gp_reference *reference, int64_t i,
                           int64_t j, int64_t b)
{
    const struct gp_gemm *gemm = &reference->gemm;
    long double sum = 0;

    for (int64_t l = 0; l < gemm->k; l++)
        sum += (long double)product_element(gemm, GP_A, reference->a, i, l, b) *
               product_element(gemm, GP_B, reference->b, l, j, b);
    return sum;
}

Test(image, results_are_the_bases)
{
    static const char *const types[] = {"f32", "f64", "f16", "bf16"};
    int64_t moved = 0;

    for (int t = 0; t < 4; t++)
        for (int f = 0; f < 6; f++) {
            struct gp_gemm gemm =
                product_of(types[t], types[t], t & 1 ? "tn" : "nt", 12, 12, 17);
            struct gp_reference base = {0}, image = {0};
            gemm.batch = 2;
            make(&base, &gemm, "binade");
            make(&image, &gemm, names[f]);
            for (int64_t at = 0; at < 12 * 12 * 2; at++) {
                struct gp_image to = {.i = at % 12, .j = at / 12 % 12};
                long double is = element(&image, to.i, to.j, at / 144), was;
                if (image.family->image)
                    image.family->image(&gemm, 5, &to);
                was = ldexpl(element(&base, to.i, to.j, at / 144), to.exponent);
                was = to.negative ? -was : was;
                moved += to.exponent != 0 || to.i != at % 12 || to.negative;
                /* Another order of summation, in 64 bits. */
                if (fabsl(is - was) > 0x1p-55L * image.mag[at])
                    cr_assert_fail("%s %s at %d: %La, not %La", types[t],
                                   names[f], (int)at, is, was);
            }
            gp_reference_free(&base);
            gp_reference_free(&image);
        }
    cr_assert_gt(moved, 2000);
}

/* The digest brought back is the base's, and any other element changes it. */
Test(image, digests_are_brought_back)
{
    struct gp_problem base = {.gemm = product_of("f32", "f32", "nn", 9, 9, 4),
                              .family = gp_family_find("binade"),
                              .seed = 5};
    float d[81], of_image[81];
    struct gp_digest must, is;

    for (int at = 0; at < 81; at++)
        d[at] = (float)(at - 40) / 3;
    cr_assert(gp_images_digest(&base, d, &must));
    for (int f = 0; f < 6; f++) {
        struct gp_problem image = base;
        image.family = gp_family_find(names[f]);
        for (int at = 0; at < 81; at++) {
            struct gp_image to = {.i = at % 9, .j = at / 9};
            if (image.family->image)
                image.family->image(&image.gemm, 5, &to);
            of_image[at] =
                (float)ldexp((double)d[to.i + 9 * to.j], to.exponent);
            if (to.negative)
                of_image[at] = -of_image[at];
        }
        cr_assert(gp_images_digest(&image, of_image, &is));
        cr_assert_arr_eq(&is, &must, sizeof is, "%s", names[f]);
        of_image[17] *= 1 + 0x1p-20F;
        cr_assert(gp_images_digest(&image, of_image, &is));
        cr_assert_neq(memcmp(&is, &must, sizeof is), 0);
        of_image[17] = INFINITY;
        cr_assert_not(gp_images_digest(&image, of_image, &is));
    }
}

static struct gp_finding judged(const char *family, const char *mode,
                                uint64_t other, int64_t variants, size_t count)
{
    struct gp_mode_row row = {.mode = mode};
    struct gp_mode of = {.name = mode};
    struct gp_problem problem = {.family = gp_family_find(family)};
    struct gp_run run = {
        .problem = &problem, .mode = &of, .row = row, .env = ""};
    const struct gp_digest one = {{1, 2}}, two = {{1, other}};
    struct gp_member members[] = {
        {.run = &run, .digests = &one, .variants = 1},
        {.run = &run, .digests = &two, .variants = variants}};
    struct gp_finding finding = {.check = "image"};

    if (strcmp(mode, "fp64-emulated") == 0)
        run.row.arithmetic.per_term = 4;
    gp_relation_image.judge(members, count, &finding);
    return finding;
}

Test(image, verdicts)
{
    struct gp_finding finding = judged("negated", "default", 2, 1, 2);

    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_eq(finding.flags, 0);
    cr_assert_eq(judged("negated", "default", 3, 1, 2).verdict, GP_FAIL);
    cr_assert_eq(judged("outer-scaled", "tf32", 3, 1, 2).verdict, GP_FAIL);
    cr_assert_eq(judged("inner-scaled", "tf32", 3, 1, 2).verdict, GP_FAIL);
    finding = judged("inner-scaled", "fp64-emulated", 3, 1, 2);
    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_eq(finding.flags, GP_OBSERVED);
    finding = judged("k-permuted", "default", 3, 1, 2);
    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_eq(finding.flags, GP_OBSERVED);
    /* Nothing was compared: that is said. */
    finding = judged("negated", "default", 2, 0, 2);
    cr_assert_eq(finding.flags, GP_OBSERVED);
    cr_assert_not_null(strstr(finding.text, "not compared"));
    finding = judged("negated", "default", 2, 1, 1);
    cr_assert_eq(finding.flags, GP_OBSERVED);
}
