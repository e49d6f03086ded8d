/* Which arithmetic the bits show: outputs made by each way of reading the
 * operands, against each thing that can be asked for. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check/check.h"
#include "tests/unit/plan.h"

enum { M = 24, N = 16, COUNT = M * N };

/* Ways of reading an FP32 operand, by its bits and not as the check does. */
enum way { FP32, TF32_EVEN, TF32_AWAY, TF32_CUT, BF16_EVEN, BF16_CUT, WAYS };

static double read_by(double x, enum way way)
{
    int drop = way == FP32 ? 0 : way <= TF32_CUT ? 13 : 16;
    float f = (float)x;
    uint32_t bits, half = drop ? UINT32_C(1) << (drop - 1) : 0;

    memcpy(&bits, &f, sizeof bits);
    if (way == TF32_EVEN || way == BF16_EVEN)
        bits += half - 1 + (bits >> drop & 1);
    if (way == TF32_AWAY)
        bits += half;
    bits = bits >> drop << drop;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

struct made {
    struct gp_plan plan;
    const struct gp_run *run;
    struct gp_reference reference;
    float output[COUNT];
};

/* The one product of result (i, j), found without the family's help: the only
 * one that is not 0. */
static void operands(const struct made *made, int at, double *ret_a,
                     double *ret_b)
{
    const struct gp_gemm *gemm = &made->reference.gemm;
    const float *a = made->reference.a, *b = made->reference.b;
    int i = at % M, j = at / M, found = 0;

    for (int64_t l = 0; l < gemm->k; l++) {
        float x = a[gemm->trans_a ? l + i * gemm->k : i + l * M];
        float y = b[gemm->trans_b ? j + l * N : l + j * gemm->k];
        if (x == 0 || y == 0)
            continue;
        found++;
        *ret_a = (double)x;
        *ret_b = (double)y;
    }
    cr_assert_eq(found, 1);
}

static void make_plan(struct made *made, const char *op, const char *family,
                      const char *rest)
{
    struct gp_err err = {0};
    char id[160];

    memset(made, 0, sizeof *made);
    snprintf(id, sizeof id, "f32.%s.%dx%dx40.%s.s1/cublas%s", op, M, N, family,
             rest);
    made->run = plan_run(&made->plan, id);
    cr_assert_eq(gp_reference_make(&made->reference, &made->run->problem->gemm,
                                   made->run->problem->family, 1, &err),
                 0, "%s", err.text);
}

static void make(struct made *made, const char *op, const char *family,
                 const char *rest, enum way way)
{
    double a = 0, b = 0;

    make_plan(made, op, family, rest);
    for (int at = 0; at < COUNT; at++) {
        operands(made, at, &a, &b);
        made->output[at] = (float)(read_by(a, way) * read_by(b, way));
    }
}

/* The sum of all products in FP64, which is exact here, then rounded or cut to
 * FP32. */
static void make_terms(struct made *made, const char *family, const char *rest,
                       bool cut)
{
    make_plan(made, "nn", family, rest);
    for (int at = 0; at < COUNT; at++) {
        const float *a = made->reference.a, *b = made->reference.b;
        double sum = 0;
        for (int64_t l = 0; l < made->reference.gemm.k; l++)
            sum += (double)a[at % M + l * M] * (double)b[l + at / M * 40];
        made->output[at] = (float)sum;
        if (cut && fabs((double)made->output[at]) > fabs(sum))
            made->output[at] = nextafterf(made->output[at], 0);
    }
}

static struct gp_finding judged(const struct made *made)
{
    struct gp_finding finding = {.where = {-1, -1, -1, -1}};
    const struct gp_evidence evidence = {.run = made->run,
                                         .reference = &made->reference,
                                         .output = made->output};

    gp_check_fingerprint.judge(&evidence, &finding);
    return finding;
}

static void drop(struct made *made)
{
    gp_reference_free(&made->reference);
    gp_plan_free(&made->plan);
}

static void expect(const char *op, const char *family, const char *rest,
                   enum way way, enum gp_verdict verdict, bool observed,
                   const char *delivered)
{
    struct made made;
    struct gp_finding finding;

    make(&made, op, family, rest, way);
    finding = judged(&made);
    if (finding.verdict != verdict ||
        observed != ((finding.flags & GP_OBSERVED) != 0) ||
        strcmp(finding.delivered, delivered) != 0)
        cr_assert_fail("%s %s way %d: %s, flags %u, delivered '%s': %s", rest,
                       family, way, gp_verdict_name(finding.verdict),
                       finding.flags, finding.delivered, finding.text);
    if (verdict == GP_FAIL)
        cr_assert_eq(finding.where.batch, 0);
    else
        cr_assert_eq(finding.where.i, -1);
    drop(&made);
}

static const char *const names[WAYS] = {"fp32", "tf32", "tf32",
                                        "tf32", "bf16", "bf16"};

/* FP32 asked for: nothing less will do, and nothing is observed. */
Test(fingerprint, fp32_asked)
{
    static const char *const asked[] = {
        "/default", "/pedantic", "/no-reduced-precision", ".gemm-ex/default",
        ".gemm-ex/pedantic"};
    static const char *const families[] = {"product", "one-hot"};

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        for (int f = 0; f < 2; f++)
            for (int way = FP32; way < WAYS; way++)
                expect("nn", families[f], asked[i], (enum way)way,
                       way == FP32 ? GP_PASS : GP_FAIL, false, names[way]);
}

/* TF32 asked for: its three roundings pass, more is observed, BF16 is less. */
Test(fingerprint, tf32_asked)
{
    for (int way = FP32; way < WAYS; way++)
        expect("nn", "product", "/tf32", (enum way)way,
               way >= BF16_EVEN ? GP_FAIL : GP_PASS, way == FP32, names[way]);
}

/* BF16 asked for: everything is enough. */
Test(fingerprint, bf16_asked)
{
    for (int way = FP32; way < WAYS; way++)
        expect("nn", "product", ".gemm-ex/fast-16bf", (enum way)way, GP_PASS,
               way == FP32, names[way]);
}

/* Where two requests conflict, what is delivered is observed, and judged by
 * the weaker of them. */
Test(fingerprint, a_conflict_is_observed)
{
    for (int way = FP32; way < WAYS; way++)
        expect("nn", "product", ".gemm-ex/pedantic+32f-fast-tf32",
               (enum way)way, way >= BF16_EVEN ? GP_FAIL : GP_PASS,
               way < BF16_EVEN, names[way]);
}

Test(fingerprint, a_variable_that_decides_is_observed)
{
    struct made made;
    struct gp_plan plan = {0};
    struct gp_err err = {0};
    struct gp_buf id = {0};
    struct gp_run run;

    cr_assert_eq(
        gp_run_parse("f32.nn.8x8x8.product.s1/cublas/default", &plan, &err), 0);
    /* The id that such a run has, from itself. */
    run = plan.runs[0];
    run.env = "NVIDIA_TF32_OVERRIDE=1";
    gp_run_id(&run, &id);
    make(&made, "nn", "product", strstr(gp_buf_text(&id), "/cublas") + 7,
         TF32_EVEN);
    cr_assert_str_eq(made.run->env, "NVIDIA_TF32_OVERRIDE=1");
    cr_assert_eq(judged(&made).verdict, GP_PASS);
    cr_assert(judged(&made).flags & GP_OBSERVED);
    drop(&made);
    make(&made, "nn", "product", strstr(gp_buf_text(&id), "/cublas") + 7,
         BF16_EVEN);
    cr_assert_eq(judged(&made).verdict, GP_FAIL);
    drop(&made);
    gp_buf_free(&id);
    gp_plan_free(&plan);
}

/* Operands are found under every op. */
Test(fingerprint, every_op)
{
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};

    for (int o = 0; o < 4; o++) {
        expect(ops[o], "product", "/default", FP32, GP_PASS, false, "fp32");
        expect(ops[o], "product", "/tf32", TF32_AWAY, GP_PASS, false, "tf32");
    }
}

/* One wrong product of 384, wherever it is: a fail that says where. */
Test(fingerprint, one_wrong_product)
{
    struct made made;

    make(&made, "nn", "product", "/default", FP32);
    for (int at = 0; at < COUNT; at++) {
        float right = made.output[at];
        struct gp_finding finding;
        made.output[at] = nextafterf(right, 9);
        finding = judged(&made);
        cr_assert_eq(finding.verdict, GP_FAIL);
        cr_assert(finding.where.i == at % M && finding.where.j == at / M &&
                      finding.where.batch == 0 && finding.where.repeat == 0,
                  "%d is said to be at (%d, %d)", at, (int)finding.where.i,
                  (int)finding.where.j);
        cr_assert_not_null(strstr(finding.delivered, "bits"));
        made.output[at] = right;
    }
    made.output[7] = NAN;
    cr_assert_eq(judged(&made).verdict, GP_FAIL);
    drop(&made);
}

/* The bits that were read are counted. */
Test(fingerprint, bits_read)
{
    struct made made;
    double bits;

    make(&made, "nn", "product", "/default", FP32);
    cr_assert(judged(&made).value >= 24 && judged(&made).limit == 24);
    drop(&made);
    make(&made, "nn", "product", "/tf32", TF32_EVEN);
    bits = judged(&made).value;
    cr_assert(bits > 9.5 && bits < 12 && judged(&made).limit == 9, "%g", bits);
    drop(&made);
    make(&made, "nn", "product", "/tf32", BF16_EVEN);
    bits = judged(&made).value;
    cr_assert(bits > 6.5 && bits < 9, "%g", bits);
    drop(&made);
}

static void expect_clause(const char *family, const char *rest, enum way way,
                          enum gp_verdict verdict, const char *clause)
{
    struct made made;
    struct gp_finding finding;

    make(&made, "tn", family, rest, way);
    finding = judged(&made);
    if (finding.verdict != verdict || strcmp(finding.clause, clause) != 0)
        cr_assert_fail("%s %s way %d: %s '%s', not '%s': %s", rest, family, way,
                       gp_verdict_name(finding.verdict), finding.clause, clause,
                       finding.text);
    cr_assert_str_eq(finding.delivered, "");
    drop(&made);
}

/* Ties tell the roundings apart that random operands do not. */
Test(fingerprint, how_operands_are_rounded)
{
    static const char *const clauses[WAYS] = {"",
                                              "ties to even",
                                              "ties away",
                                              "low bits cut",
                                              "ties to even",
                                              "low bits cut"};

    for (int way = FP32; way < WAYS; way++) {
        expect_clause("tie", "/tf32", (enum way)way,
                      way >= BF16_EVEN ? GP_FAIL : GP_PASS, clauses[way]);
        expect_clause("tie", "/pedantic", (enum way)way,
                      way == FP32 ? GP_PASS : GP_FAIL, clauses[way]);
    }
}

/* The first bit lost is the number of bits kept. */
Test(fingerprint, how_many_bits_are_kept)
{
    static const char *const clauses[WAYS] = {
        "all 24 bits kept", "11 bits kept", "11 bits kept",
        "11 bits kept",     "8 bits kept",  "8 bits kept"};

    for (int way = FP32; way < WAYS; way++)
        expect_clause("bit-scan", "/tf32", (enum way)way,
                      way >= BF16_EVEN ? GP_FAIL : GP_PASS, clauses[way]);
}

/* x as a sum of numbers of so many bits, the largest first. */
static void split(double x, int bits, int count, double *ret_parts)
{
    for (int p = 0; p < count; p++) {
        ret_parts[p] = gp_round_to(x, bits, -126);
        x -= ret_parts[p];
    }
}

/* ab by products of parts p, q with p + q < orders, the small ones first,
 * added in FP32. */
static float by_parts(double a, double b, int bits, int count, int orders)
{
    double x[3], y[3];
    float sum = 0;

    split(a, bits, count, x);
    split(b, bits, count, y);
    for (int order = orders - 1; order >= 0; order--)
        for (int p = 0; p < count; p++)
            if (order - p >= 0 && order - p < count)
                sum += (float)(x[p] * y[order - p]);
    return sum;
}

/* Emulations are named by how often and how far they are wrong. */
Test(fingerprint, emulations)
{
    static const struct {
        const char *family, *name;
        int bits, count, orders;
    } rows[] = {
        {"product", "3xtf32", 11, 2, 2}, {"one-hot", "3xtf32", 11, 2, 2},
        {"product", "bf16x3", 8, 2, 2},  {"one-hot", "bf16x3", 8, 2, 2},
        {"product", "bf16x6", 8, 3, 3},
    };
    struct made made;
    struct gp_finding finding;
    double a = 0, b = 0;

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        make(&made, "nn", rows[r].family, "/pedantic", FP32);
        for (int at = 0; at < COUNT; at++) {
            operands(&made, at, &a, &b);
            made.output[at] =
                by_parts(a, b, rows[r].bits, rows[r].count, rows[r].orders);
        }
        finding = judged(&made);
        cr_assert_str_eq(finding.delivered, rows[r].name, "%s: %s",
                         rows[r].family, finding.text);
        cr_assert_eq(finding.verdict, GP_FAIL);
        drop(&made);
    }
}

/* A mode that is an emulation may be wrong in the last bits, and no more. */
Test(fingerprint, an_emulation_asked_for)
{
    struct made made;
    double a = 0, b = 0;

    for (int orders = 5; orders >= 2; orders--) {
        make(&made, "nn", "product", "/bf16x9", FP32);
        for (int at = 0; at < COUNT; at++) {
            operands(&made, at, &a, &b);
            made.output[at] = by_parts(a, b, 8, 3, orders);
        }
        cr_assert_eq(judged(&made).verdict, orders >= 3 ? GP_PASS : GP_FAIL,
                     "%d: %s", orders, judged(&made).text);
        drop(&made);
    }
}

/* Two terms, added by units of three kinds. */
Test(fingerprint, how_sums_are_rounded)
{
    static const char *const clauses[] = {"one rounding at the end",
                                          "sums cut towards zero"};
    struct made made;
    struct gp_finding finding;

    for (int cut = 0; cut < 2; cut++) {
        make_terms(&made, "two-term", "/pedantic", cut);
        finding = judged(&made);
        cr_assert_str_eq(finding.clause, clauses[cut], "%s", finding.text);
        cr_assert_eq(finding.verdict, cut ? GP_FAIL : GP_PASS);
        drop(&made);
        make_terms(&made, "two-term", "/tf32", cut);
        cr_assert_eq(judged(&made).verdict, GP_PASS);
        /* One that is neither is no proof in TF32, and one in FP32. */
        made.output[5] *= 1 + 0x1p-20f;
        finding = judged(&made);
        cr_assert(finding.verdict == GP_PASS && finding.flags & GP_OBSERVED);
        cr_assert_not_null(strstr(finding.clause, "1 of 384"));
        drop(&made);
        make_terms(&made, "two-term", "/pedantic", 0);
        made.output[5] *= 1 + 0x1p-20f;
        finding = judged(&made);
        cr_assert(finding.verdict == GP_FAIL && finding.where.i == 5);
        drop(&made);
    }
}

Test(fingerprint, judges_the_probes_alone)
{
    static const char *const probes[] = {"one-hot",  "product", "two-term",
                                         "bit-scan", "tie",     "split-finder",
                                         "zeros",    "range"};
    size_t found = 0;

    for (const struct gp_family *row = gp_families; row->name; row++) {
        bool probe = false;
        for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
            probe = probe || strcmp(row->name, probes[i]) == 0;
        cr_assert_eq(gp_check_fingerprint.applies(row), probe);
        found += probe;
    }
    cr_assert_eq(found, sizeof probes / sizeof *probes);
}
