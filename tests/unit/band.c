/* The laws against figures of an independent emulation, and what the check
 * `band` sees that `bound` does not. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/judge.h"
#include "tests/unit/plan.h"

static const struct gp_law *law_named(const char *name, const char *in)
{
    const struct gp_law *law = gp_laws;

    while (law->name && (strcmp(law->name, name) || strcmp(law->in, in)))
        law++;
    cr_assert(law->name, "no law %s of %s", name, in);
    return law;
}

static double expected(const char *problem, const char *name, const char *in,
                       int capability, int64_t sums, double *ret_bias)
{
    struct gp_plan plan = {0};
    const struct gp_run *run = plan_run(&plan, problem);
    struct gp_reference reference = {0};
    struct gp_moments moments;
    struct gp_expected is;
    struct gp_err err = {0};

    cr_assert_eq(gp_reference_make(&reference, &run->problem->gemm,
                                   run->problem->family, 1, &err),
                 0);
    gp_law_follow(&reference, law_named(name, in), capability, &moments);
    gp_law_expect(law_named(name, in), &moments, sums, false, &is);
    if (ret_bias)
        *ret_bias = is.bias * 0x1p24;
    gp_reference_free(&reference);
    gp_plan_free(&plan);
    return is.rms * 0x1p24;
}

/* rms of the error over 2^-24 |A||B|, measured by programs
 * that share nothing with this one: an emulation of every step of 4096 to
 * 400000 outputs, and for 16-bit operands cuBLAS 13.1 on an H200. */
Test(band, laws_give_what_was_measured)
{
    static const struct {
        const char *in, *out, *law;
        int capability;
        int64_t k, sums;
        double rms;
        const char *family;
    } rows[] = {
        {"f32", "f32", "fp32", 0, 16, 1, 0.411, "dense"},
        {"f32", "f32", "fp32", 0, 256, 1, 0.400, "dense"},
        {"f32", "f32", "fp32", 0, 4096, 1, 0.401, "dense"},
        {"f32", "f32", "fp32", 0, 256, 8, 0.164, "dense"},
        {"f32", "f32", "fp32", 0, 4096, 8, 0.143, "dense"},
        {"f32", "f32", "tf32", 90, 16, 1, 1468, "dense"},
        {"f32", "f32", "tf32", 90, 4096, 1, 91.3, "dense"},
        {"f32", "f32", "tf32 cut", 90, 256, 1, 958, "dense"},
        {"f32", "f32", "tf32 cut", 90, 4096, 1, 243, "dense"},
        {"f32", "f32", "bf16", 90, 256, 1, 2916, "dense"},
        {"f16", "f32", "f16 tensor", 90, 256, 1, 0.47, "dense"},
        {"f16", "f32", "f16 tensor", 90, 4096, 1, 1.71, "dense"},
        {"f16", "f32", "f16 tensor", 80, 256, 1, 0.67, "dense"},
        {"f16", "f32", "f16 tensor", 80, 4096, 1, 2.33, "dense"},
        {"bf16", "f32", "bf16 tensor", 90, 256, 1, 0.26, "dense"},
        {"bf16", "f32", "bf16 tensor", 90, 4096, 1, 1.41, "dense"},
        {"bf16", "f32", "bf16", 0, 256, 1, 0.128, "dense"},
        {"bf16", "f32", "bf16", 0, 4096, 1, 0.181, "dense"},
        {"f16", "f16", "f16 tensor", 90, 4096, 1, 0.0091 * 8192, "dense"},
        {"f16", "f16", "f16 sums tensor", 90, 1024, 1, 827, "dense"},
        {"f32", "f32", "fp32", 0, 256, 1, 3.67, "positive"},
        {"f32", "f32", "fp32", 0, 4096, 1, 14.2, "positive"},
        {"f32", "f32", "tf32", 90, 4096, 1, 467, "positive"},
        {"f32", "f32", "tf32 cut", 90, 256, 1, 10950, "positive"},
        {"f32", "f32", "fp32", 0, 256, 1, 1.60, "wide"},
        {"f32", "f32", "fp32", 0, 4096, 1, 1.93, "wide"},
        {"f32", "f32", "tf32", 90, 4096, 1, 980, "wide"},
        {"f32", "f32", "fp32", 0, 4096, 1, 0.229, "cancel"},
    };
    char id[80];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool same = strcmp(rows[i].in, rows[i].out) == 0;
        snprintf(id, sizeof id, "%s%s%s.nn.64x64x%d.%s.s1/simulated/default",
                 rows[i].in, same ? "" : "x", same ? "" : rows[i].out,
                 (int)rows[i].k, rows[i].family);
        double rms = expected(id, rows[i].law, rows[i].in, rows[i].capability,
                              rows[i].sums, NULL);
        cr_expect(fabs(rms / rows[i].rms - 1) < 0.2, "%s k=%d: %g for %g",
                  rows[i].law, (int)rows[i].k, rms, rows[i].rms);
    }
}

/* Sums that are cut lean toward zero: -0.69 of the rms at k = 4096. */
Test(band, cut_sums_are_biased)
{
    double bias, rms = expected("f16xf32.nn.64x64x4096.dense.s1/simulated/"
                                "default",
                                "f16 tensor", "f16", 90, 1, &bias);

    cr_expect(fabs(bias / rms + 0.69) < 0.12, "%g", bias / rms);
    rms = expected("f32.nn.64x64x4096.dense.s1/simulated/default", "fp32",
                   "f32", 0, 1, &bias);
    cr_expect(fabs(bias) < 0.01 * rms, "%g", bias / rms);
}

/* --- A product by hand, judged ------------------------------------------- */

struct product {
    struct gp_plan plan;
    struct gp_run run;
    struct gp_reference reference;
    struct gp_result result;
    struct gp_judge_cache cache;
    float *d;
    int64_t count;
};

static float tf32(float x)
{
    return (float)gp_round_to(x, 11, -126);
}

/* D = A B in one FP32 chain on operands rounded to TF32, or as they are; the
 * last `lost` products of every sum are left out. */
static void multiply(struct product *product, bool round, int64_t lost)
{
    const struct gp_gemm *gemm = &product->run.problem->gemm;
    const float *a = product->reference.a, *b = product->reference.b;

    for (int64_t j = 0; j < gemm->n; j++)
        for (int64_t i = 0; i < gemm->m; i++) {
            float sum = 0;
            for (int64_t l = 0; l < gemm->k - lost; l++) {
                float x = a[i + l * gemm->m], y = b[l + j * gemm->k];
                sum = round ? sum + tf32(x) * tf32(y) : sum + x * y;
            }
            product->d[i + j * gemm->m] = sum;
        }
}

static void product_open(struct product *product, const char *id)
{
    struct gp_err err = {0};

    memset(product, 0, sizeof *product);
    product->run = *plan_run(&product->plan, id);
    cr_assert_eq(gp_reference_make(&product->reference,
                                   &product->run.problem->gemm,
                                   product->run.problem->family, 1, &err),
                 0);
    product->count = gp_gemm_count(&product->run.problem->gemm, GP_C);
    product->d = calloc((size_t)product->count, sizeof *product->d);
}

static void product_close(struct product *product)
{
    gp_result_free(&product->result);
    gp_judge_cache_free(&product->cache);
    gp_reference_free(&product->reference);
    gp_plan_free(&product->plan);
    free(product->d);
}

static void product_judge(struct product *product, const char *delivered)
{
    const struct gp_judge_about about = {
        .compute_capability = 90, .delivered = delivered, .false_alarm = 1e-9};
    struct gp_reply *reply = &product->result.reply;

    gp_result_free(&product->result);
    gp_judge_cache_free(&product->cache);
    product->result = (struct gp_result){.run = &product->run};
    reply->digests = calloc(1, sizeof *reply->digests);
    reply->order = calloc(1, sizeof *reply->order);
    reply->digests_count = reply->order_count = 1;
    reply->outputs = 1;
    reply->last.first = -1;
    reply->order[0] = (struct gp_order){0, 1};
    gp_judge(&product->result, &product->reference,
             (const unsigned char *)product->d,
             (size_t)product->count * sizeof(float), &about, &product->cache);
}

static const struct gp_finding *found(const struct product *product,
                                      const char *check)
{
    for (int i = 0; i < product->result.findings_count; i++)
        if (strcmp(product->result.findings[i].check, check) == 0)
            return &product->result.findings[i];
    cr_assert_fail("no finding of %s", check);
    return NULL;
}

static void dropped(const char *id, int64_t lost, double least)
{
    struct product product;

    product_open(&product, id);
    multiply(&product, true, 0);
    product_judge(&product, NULL);
    cr_expect_eq(found(&product, "band")->verdict, GP_PASS, "%s",
                 found(&product, "band")->text);
    cr_expect_str_eq(found(&product, "band")->law, "tf32");
    multiply(&product, true, lost);
    product_judge(&product, NULL);
    cr_expect_eq(found(&product, "bound")->verdict, GP_PASS);
    cr_expect_eq(found(&product, "band")->verdict, GP_FAIL);
    cr_expect_gt(found(&product, "band")->value,
                 least * found(&product, "band")->expected);
    cr_expect_str_eq(found(&product, "band")->evidence,
                     "statistical (p < 1.0e-09)");
    product_close(&product);
}

/* The rms is 52 and 89 times what is expected (the same emulation), and every
 * element is inside the worst-case bound. */
Test(band, sees_lost_products_that_the_bound_lets_pass)
{
    dropped("f32.nn.32x32x4096.dense.s1/simulated/tf32", 1, 40);
    dropped("f32.nn.32x32x16384.dense.s1/simulated/tf32", 8, 70);
}

Test(band, the_delivered_mode_is_what_counts)
{
    struct product product;
    const struct gp_finding *band;

    product_open(&product, "f32.nn.32x32x256.dense.s1/simulated/tf32");
    multiply(&product, false, 0); /* FP32 where TF32 was asked for */
    product_judge(&product, NULL);
    band = found(&product, "band");
    cr_expect_eq(band->verdict, GP_PASS);
    cr_expect(band->flags & GP_OBSERVED);
    cr_expect_str_eq(band->law, "fp32");
    product_judge(&product, "fp32");
    cr_expect_eq(found(&product, "band")->verdict, GP_PASS);
    multiply(&product, true, 0); /* the probes said FP32, and it is TF32 */
    product_judge(&product, "fp32");
    cr_expect_eq(found(&product, "band")->verdict, GP_FAIL);
    product_close(&product);
}

/* One wrong element in 1024, and a small step to one side in all of them. */
Test(band, sees_one_large_error_and_a_bias)
{
    struct product product;
    int64_t place = 77;

    product_open(&product, "f32.nn.64x64x64.dense.s1/simulated/pedantic");
    multiply(&product, false, 0);
    product_judge(&product, NULL);
    cr_expect_eq(found(&product, "band")->verdict, GP_PASS, "%s",
                 found(&product, "band")->text);
    product.d[place] += (float)(60 * found(&product, "band")->expected *
                                product.reference.mag[place]);
    product_judge(&product, NULL);
    cr_expect_eq(found(&product, "band")->verdict, GP_FAIL);
    cr_expect(strstr(found(&product, "band")->text, "largest error"), "%s",
              found(&product, "band")->text);
    multiply(&product, false, 0);
    for (int64_t at = 0; at < product.count; at++)
        product.d[at] -=
            (float)copysign(0.4 * 0x1p-24 * product.reference.mag[at],
                            product.reference.ref[at]);
    product_judge(&product, NULL);
    cr_expect_eq(found(&product, "band")->verdict, GP_FAIL);
    cr_expect(strstr(found(&product, "band")->text, "too small"), "%s",
              found(&product, "band")->text);
    product_close(&product);
}

Test(band, too_few_results_are_not_judged_and_say_so)
{
    struct product product;

    product_open(&product, "f32.nn.31x33x64.dense.s1/simulated/default");
    multiply(&product, false, 0);
    product_judge(&product, NULL);
    cr_expect_eq(found(&product, "band")->verdict, GP_SKIP);
    cr_expect_eq(found(&product, "band")->false_alarm, 0);
    cr_expect_eq(product.result.verdict, GP_PASS);
    product_close(&product);
}

/* 2 of 3 runs can be judged: 1e-6 is shared by them. */
Test(band, a_plan_shares_one_probability)
{
    struct gp_plan plan = {0};

    plan_run(&plan, "f32.nn.32x32x64.dense.s1/simulated/default");
    plan_run(&plan, "f32.nn.32x31x64.dense.s1/simulated/default");
    plan_run(&plan, "f32.nn.32x32x64.exact.s1/simulated/default");
    plan_run(&plan, "f16.nn.99x32x64.grid.s1/simulated/default");
    cr_expect_float_eq(gp_judge_false_alarm(&plan), 5e-7, 1e-11);
    gp_plan_free(&plan);
}

/* --- Growth with k -------------------------------------------------------- */

/* Errors go with k^(1/2) where the law says k^0: 1/2 is over 1/4. */
Test(band, growth_by_hand)
{
    struct gp_growth points[6];
    struct gp_finding finding = {0};

    for (int i = 0; i < 6; i++)
        points[i] =
            (struct gp_growth){64 << i, 1e-8 * sqrt(64 << i), 4e-8, 1e-3};
    cr_expect(gp_growth_judge(points, 6, 1e-9, &finding));
    cr_expect(finding.flags & GP_OBSERVED);
    cr_expect_float_eq(finding.value, 0.5, 1e-9);
    /* sum (i - 2.5)^2 = 17.5, in units of log 2 */
    cr_expect_float_eq(finding.limit,
                       0.25 + sqrt(2 * log(2e9)) * 1e-3 / (sqrt(17.5) * log(2)),
                       1e-9);
    for (int i = 0; i < 6; i++)
        points[i].expected = 3e-8 * sqrt(64 << i);
    finding = (struct gp_finding){0};
    cr_expect(gp_growth_judge(points, 6, 1e-9, &finding));
    cr_expect_eq(finding.flags, 0);
    for (int i = 0; i < 6; i++) /* three sizes, twice */
        points[i].k = 64 << i % 3;
    cr_expect(!gp_growth_judge(points, 6, 1e-9, &finding));
}

/* --- The sums over z ------------------------------------------------------ */

/* 128 columns of 8: column j has the error (j + 1) 2^-20 G, with the sign of
 * the result in odd rows and against it in even ones but for row 0. */
Test(band, deviations_by_hand)
{
    enum { M = 8, N = 128, COUNT = M * N };
    static double ref[COUNT], mag[COUNT], got[COUNT];
    struct gp_reference reference = {
        .gemm = {.m = M, .n = N, .batch = 1}, .ref = ref, .mag = mag};
    struct gp_deviation_sums sums = {0}, rest = {0};
    struct gp_deviation deviation;
    double z2 = 0, z4 = 0;

    for (int at = 0; at < COUNT; at++) {
        int row = at % M, column = at / M;
        double z = ldexp(column + 1, -20);
        ref[at] = at % 3 ? 4 : -4;
        mag[at] = 16;
        got[at] = ref[at] + (row % 2 || row == 0 ? 1 : -1) *
                                (ref[at] < 0 ? -1 : 1) * z * 16;
        z2 += z * z / COUNT;
        z4 += z * z * z * z / COUNT;
    }
    gp_deviation_add(&reference, 0, got, 300, &sums);
    gp_deviation_add(&reference, 300, got + 300, 501, &rest);
    gp_deviation_merge(&sums, &rest);
    gp_deviation_add(&reference, 801, got + 801, COUNT - 801, &sums);
    gp_deviation_finish(&reference, &sums, &deviation);
    cr_expect_eq(deviation.count, COUNT);
    cr_expect_eq(deviation.clusters, N);
    cr_expect_float_eq(deviation.rms, sqrt(z2), 1e-18);
    cr_expect_float_eq(deviation.kurtosis, z4 / (z2 * z2), 1e-9);
    /* Each column's mean is (5 - 3) / 8 of its z: 1 to 128 quarters, with the
     * variance (128^2 - 1) / 12 over 16. */
    cr_expect_float_eq(deviation.bias, 64.5 / 4 * 0x1p-20, 1e-18);
    cr_expect_float_eq(deviation.bias_error,
                       sqrt((128. * 128 - 1) / 12 / 127) / 4 * 0x1p-20, 1e-18);
    got[5] = NAN;
    sums = (struct gp_deviation_sums){0};
    for (int at = 0; at < COUNT; at += 512)
        gp_deviation_add(&reference, at, got + at, 512, &sums);
    gp_deviation_finish(&reference, &sums, &deviation);
    cr_expect_eq(deviation.count, COUNT - 1);
    cr_expect_eq(deviation.clusters, 0);
}
