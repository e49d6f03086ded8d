/* The fingerprint of three simulated devices: what it reads off their bits is
 * what the simulation was planned to do. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check/check.h"
#include "harness/worker/backends/simulated_mma.h"
#include "tests/unit/plan.h"

enum { PLENTY = 1 << 30 };

static const char *const units[] = {"sm70", "sm80", "sm90"};

/* Judge the run `asked` on the bits that the device gives for `done`, another
 * mode of the same problem or the same. */
static struct gp_finding judged(const char *unit, const char *problem,
                                const char *done, const char *asked,
                                struct gp_simulated_plan *ret_plan)
{
    struct gp_finding finding = {.where = {-1, -1, -1, -1}};
    struct gp_reference reference = {0};
    struct gp_plan plan = {0};
    struct gp_request request;
    struct gp_accuracy accuracy;
    struct gp_bound bound;
    struct gp_err err = {0};
    char id[200];
    const struct gp_run *run;
    void *output;

    snprintf(id, sizeof id, "%s.s1/cublas%s", problem, done);
    run = plan_run(&plan, id);
    gp_mode_request(&run->row, run->entry, &request);
    cr_assert_eq(gp_simulated_plan(gp_simulated_find(unit), &run->problem->gemm,
                                   &request, PLENTY, ret_plan, &err),
                 0, "%s", err.text);
    snprintf(id, sizeof id, "%s.s1/cublas%s", problem, asked);
    run = plan_run(&plan, id);
    cr_assert_eq(gp_reference_make(&reference, &run->problem->gemm,
                                   run->problem->family, 1, &err),
                 0, "%s", err.text);
    output = calloc((size_t)gp_gemm_count(&reference.gemm, GP_C), 8);
    cr_assert_eq(gp_simulated_multiply(ret_plan, &reference.gemm, reference.a,
                                       reference.b, output, &err),
                 0, "%s", err.text);
    gp_bound_make(&reference.gemm, &run->row.arithmetic, &reference.data, 90,
                  &bound);
    gp_measure(&reference, &bound, output, &accuracy);
    const struct gp_evidence evidence = {.run = run,
                                         .reference = &reference,
                                         .accuracy = &accuracy,
                                         .outputs = 1,
                                         .output = output};
    gp_check_fingerprint.judge(&evidence, &finding);
    free(output);
    gp_reference_free(&reference);
    gp_plan_free(&plan);
    return finding;
}

static void expect(const char *unit, const char *problem, const char *done,
                   const char *asked, enum gp_verdict verdict, bool observed,
                   const char *clause)
{
    struct gp_simulated_plan plan;
    struct gp_finding finding = judged(unit, problem, done, asked, &plan);

    if (finding.verdict != verdict || strcmp(finding.clause, clause) != 0 ||
        ((finding.flags & GP_OBSERVED) != 0) != observed)
        cr_assert_fail("%s %s %s as %s: %s%s: '%s' and not '%s': %s", unit,
                       problem, done, asked, gp_verdict_name(finding.verdict),
                       finding.flags & GP_OBSERVED ? " observed" : "",
                       finding.clause, clause, finding.text);
    cr_assert_eq(finding.where.i >= 0, verdict == GP_FAIL);
}

/* The multiples of the plan's chunk, as the finding should tell them. */
static void print_places(const char *type, const struct gp_gemm *gemm,
                         const struct gp_simulated_plan *plan, char *to,
                         size_t size)
{
    int at = snprintf(to, size, "partials in %s, k split at ", type);
    int64_t places = plan->splits - 1;

    for (int64_t p = 1; p <= places && p <= 4; p++)
        at += snprintf(to + at, size - (size_t)at, "%s%lld", p > 1 ? ", " : "",
                       (long long)(p * plan->chunk));
    if (places > 4)
        snprintf(to + at, size - (size_t)at, " and %lld more",
                 (long long)(places - 4));
    cr_assert(plan->chunk * plan->splits >= gemm->k);
}

static void check_split(const char *unit, const char *type, const char *op,
                        int64_t m, int64_t n, int64_t k)
{
    struct gp_gemm gemm = {.k = k};
    struct gp_simulated_plan plan;
    struct gp_finding finding;
    char problem[80], places[160];

    snprintf(problem, sizeof problem, "%s.%s.%lldx%lldx%lld.split-finder", type,
             op, (long long)m, (long long)n, (long long)k);
    finding = judged(unit, problem, "/default", "/default", &plan);
    cr_assert(plan.splits > 1);
    print_places(type, &gemm, &plan, places, sizeof places);
    cr_assert_str_eq(finding.clause, places, "%s %s", unit, problem);
    cr_assert(finding.verdict == GP_PASS && finding.flags & GP_OBSERVED);
    /* The same bits, where partial sums in the output type are forbidden. */
    expect(unit, problem, "/default", "/no-reduced-precision", GP_FAIL, false,
           places);
    expect(unit, problem, "/default", "/pedantic", GP_FAIL, false, places);
    expect(unit, problem, "/no-reduced-precision", "/no-reduced-precision",
           GP_PASS, false, "no split seen");
    expect(unit, problem, "/pedantic", "/pedantic", GP_PASS, false,
           "no split seen");
}

/* Every boundary is found, from windows of 4 to 128 positions. */
Test(fingerprint_simulated, splits)
{
    for (int u = 0; u < 3; u++) {
        check_split(units[u], "f16", "nn", 64, 64, 4096);
        check_split(units[u], "f16", "nn", 8, 8, 8192);
        check_split(units[u], "f16", "nn", 16, 128, 2048);
        check_split(units[u], "f16", "nn", 33, 17, 5000);
    }
    check_split("sm80", "bf16", "nn", 64, 64, 4096);
    check_split("sm90", "bf16", "nn", 8, 16, 8192);
}

/* 16-bit operands with FP32 results: nowhere is a partial sum narrow. */
Test(fingerprint_simulated, no_split_in_wide_outputs)
{
    expect("sm90", "f16xf32.nn.64x64x4096.split-finder", "/default", "/default",
           GP_PASS, false, "no narrow split seen");
    expect("sm90", "f32.nn.64x64x4096.split-finder", "/tf32", "/tf32", GP_PASS,
           false, "no narrow split seen");
    expect("sm90", "f64.nn.16x16x512.split-finder", "/default", "/default",
           GP_PASS, false, "no narrow split seen");
}

static void check_cut(const char *unit, const char *type, const char *mode,
                      const char *bits)
{
    char problem[80], clause[160];

    /* One chunk: k is too short to be split. */
    snprintf(problem, sizeof problem, "%s.nn.64x64x256.two-term", type);
    snprintf(clause, sizeof clause,
             "sums cut as in a tensor core that keeps %s fraction bits", bits);
    expect(unit, problem, mode, mode, GP_PASS, false, clause);
    /* Split: FP32 partial sums are added to nearest. */
    snprintf(problem, sizeof problem, "%s.nn.64x64x4096.two-term", type);
    snprintf(clause, sizeof clause,
             "sums cut as in a tensor core that keeps %s fraction bits, but "
             "to nearest between far places: k is split",
             bits);
    expect(unit, problem, mode, mode, GP_PASS, false, clause);
}

/* F of each generation (Khattak and Mikaitis 2025). */
Test(fingerprint_simulated, fraction_bits)
{
    check_cut("sm70", "f16xf32", "/default", "23");
    check_cut("sm80", "f16xf32", "/default", "24");
    check_cut("sm90", "f16xf32", "/default", "at least 25");
    check_cut("sm80", "bf16xf32", "/pedantic", "24");
    check_cut("sm80", "f32", "/tf32", "24");
    check_cut("sm90", "f32", "/tf32", "at least 25");
    check_cut("sm90", "f32", ".gemm-ex/fast-16bf", "at least 25");
}

/* Ordinary units round, and must where a mode promises them. */
Test(fingerprint_simulated, one_rounding)
{
    static const char *const types[] = {"f32", "f64", "f16", "bf16"};
    static const char *const modes[] = {"/default", "/pedantic",
                                        "/no-reduced-precision"};

    for (int t = 0; t < 4; t++)
        for (int m = 0; m < 3; m++) {
            char problem[80];
            snprintf(problem, sizeof problem, "%s.nn.32x32x1024.two-term",
                     types[t]);
            expect("sm90", problem, modes[m], modes[m], GP_PASS, false,
                   "one rounding at the end");
        }
    for (int m = 0; m < 3; m++)
        expect("sm80", "f32.nn.32x32x128.two-term", "/tf32", modes[m], GP_FAIL,
               false,
               "sums cut as in a tensor core that keeps 24 fraction "
               "bits");
}

/* How operands are read. */
Test(fingerprint_simulated, operands)
{
    for (int u = 1; u < 3; u++) {
        expect(units[u], "f32.nn.64x16x64.bit-scan", "/tf32", "/tf32", GP_PASS,
               false, "11 bits kept");
        expect(units[u], "f32.nn.64x16x64.bit-scan", ".gemm-ex/fast-16f",
               ".gemm-ex/fast-16f", GP_PASS, false,
               "11 bits kept, as FP16 has them");
        /* FP16 has less range than TF32. */
        expect(units[u], "f32.nn.64x16x64.bit-scan", ".gemm-ex/fast-16f",
               "/tf32", GP_FAIL, false, "11 bits kept, as FP16 has them");
        expect(units[u], "f32.nn.8x8x64.bit-scan", ".gemm-ex/fast-16bf",
               ".gemm-ex/fast-16bf", GP_PASS, false, "8 bits kept");
        expect(units[u], "f32.nn.8x8x64.bit-scan", "/tf32", "/pedantic",
               GP_FAIL, false, "11 bits kept");
        expect(units[u], "f32.nn.16x64x64.tie", "/tf32", "/tf32", GP_PASS,
               false, "ties to even");
        /* A matrix times a vector is not handed to tensor cores. */
        expect(units[u], "f32.nn.1x64x64.product", "/tf32", "/tf32", GP_PASS,
               true, "all products correctly rounded");
    }
    expect("sm90", "f64.nn.60x8x64.bit-scan", "/default", "/default", GP_PASS,
           false, "all 53 bits kept");
    expect("sm90", "f32.nn.32x32x32.zeros", "/tf32", "/tf32", GP_PASS, false,
           "no Strassen");
}

/* An FP16 accumulator rounds at each step of 16 products. */
Test(fingerprint_simulated, sums_in_fp16)
{
    expect("sm90", "f16.nn.64x64x192.split-finder", "/f16-accumulate",
           "/f16-accumulate", GP_PASS, true,
           "sums in f16, rounded at 16, 32, 48, 64 and 7 more");
}
