/* From a worker's reply to a verdict. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/judge.h"
#include "tests/unit/plan.h"

enum { M = 4, N = 5, COUNT = M * N, EACH = 4096 };

/* A run of a 4 x 5 result, its reference, and outputs: number 0 is right,
 * number 1 has its last element 1000 off, number 2 is right in other bits. */
struct bench {
    struct gp_plan plan;
    struct gp_case from;
    const char *require[2];
    struct gp_reference reference;
    unsigned char outputs[3 * EACH];
    struct gp_judge_cache cache;
    struct gp_result result;
    struct gp_run run;
};

static const struct gp_judge_about nowhere = {.false_alarm = 1e-6};

static void put(struct bench *bench, int output, int at, float value)
{
    memcpy(bench->outputs + output * EACH + 4 * at, &value, sizeof value);
}

static void bench_make(struct bench *bench, const char *id)
{
    struct gp_err err = {0};

    memset(bench, 0, sizeof *bench);
    bench->run = *plan_run(&bench->plan, id);
    cr_assert_eq(gp_reference_make(&bench->reference, &bench->run.problem->gemm,
                                   bench->run.problem->family, 1, &err),
                 0);
    for (int output = 0; output < 3; output++)
        for (int at = 0; at < COUNT; at++)
            put(bench, output, at, (float)bench->reference.ref[at]);
    put(bench, 1, COUNT - 1, 1000);
    put(bench, 2, 3, nextafterf((float)bench->reference.ref[3], 9));
}

static void bench_free(struct bench *bench)
{
    gp_result_free(&bench->result);
    gp_judge_cache_free(&bench->cache);
    gp_reference_free(&bench->reference);
    gp_plan_free(&bench->plan);
}

static struct gp_digest digest_of(const unsigned char *output)
{
    struct gp_digest digest = {{0, 0}};

    for (int at = 0; at < COUNT; at++) {
        uint32_t bits;
        memcpy(&bits, output + 4 * at, sizeof bits);
        for (int lane = 0; lane < 2; lane++)
            digest.lane[lane] += gp_hash_lane(lane, (uint64_t)at, bits);
    }
    return digest;
}

/* Judge a reply whose repeats gave the first output nine times, and once, in
 * repeat 4, the output of that number (0: ten times the first). */
static void judge(struct bench *bench, int odd)
{
    struct gp_reply *reply = &bench->result.reply;
    size_t variants = odd ? 2 : 1;

    gp_result_free(&bench->result);
    bench->result = (struct gp_result){.run = &bench->run};
    reply->digests = calloc(2, sizeof *reply->digests);
    reply->order = calloc(3, sizeof *reply->order);
    reply->differences = calloc(1, sizeof *reply->differences);
    reply->digests[0] = digest_of(bench->outputs);
    reply->digests_count = variants;
    reply->outputs = (int64_t)variants;
    reply->last.first = -1;
    reply->order[0] = (struct gp_order){0, 10};
    reply->order_count = 1;
    if (odd) {
        /* Outputs come back one after the other. */
        memcpy(bench->outputs + EACH, bench->outputs + odd * EACH, EACH);
        reply->digests[1] = digest_of(bench->outputs + EACH);
        reply->order[0].count = 4;
        reply->order[1] = (struct gp_order){1, 1};
        reply->order[2] = (struct gp_order){0, 5};
        reply->order_count = 3;
        reply->differences[0] = (struct gp_difference){1, odd == 1 ? 19 : 3};
        reply->differences_count = 1;
    }
    gp_judge(&bench->result, &bench->reference, bench->outputs, EACH, &nowhere,
             &bench->cache);
    cr_assert(bench->result.judged);
}

static const struct gp_finding *finding(const struct bench *bench,
                                        const char *check)
{
    for (int i = 0; i < bench->result.findings_count; i++)
        if (strcmp(bench->result.findings[i].check, check) == 0)
            return &bench->result.findings[i];
    return NULL;
}

Test(judge, a_flawless_run_passes)
{
    struct bench bench;

    bench_make(&bench, "f32.nn.4x5x8.dense.s1/naive/default");
    judge(&bench, 0);
    cr_assert_eq(bench.result.verdict, GP_PASS);
    cr_assert_eq(bench.result.flags, 0);
    cr_assert_eq(bench.result.accuracy.rounded, COUNT);
    cr_assert(finding(&bench, "bound") && finding(&bench, "repeat") &&
              finding(&bench, "guard"));
    cr_assert_null(finding(&bench, "exact"));
    bench_free(&bench);
    bench_make(&bench, "f32.nn.4x5x8.exact.s1/naive/default");
    judge(&bench, 0);
    cr_assert_eq(bench.result.verdict, GP_PASS);
    cr_assert_not_null(finding(&bench, "exact"));
    bench_free(&bench);
}

/* The worst finding is the verdict, and says in which repeat. */
Test(judge, one_wrong_repeat_fails)
{
    struct bench bench;

    bench_make(&bench, "f32.nn.4x5x8.dense.s1/naive/default");
    judge(&bench, 1);
    cr_assert_eq(bench.result.verdict, GP_FAIL);
    cr_assert_eq(finding(&bench, "bound")->verdict, GP_FAIL);
    cr_assert_eq(finding(&bench, "bound")->where.repeat, 4);
    cr_assert_eq(finding(&bench, "bound")->where.i, 3);
    cr_assert_eq(finding(&bench, "bound")->where.j, 4);
    cr_assert_eq(finding(&bench, "repeat")->verdict, GP_FAIL);
    cr_assert_eq(finding(&bench, "guard")->verdict, GP_PASS);
    /* The accuracy that is reported is that of the first output. */
    cr_assert_eq(bench.result.accuracy.rounded, COUNT);
    bench_free(&bench);
}

/* Nothing promises that OpenBLAS repeats: observed, unless the case asks. */
Test(judge, what_is_observed_and_what_is_required)
{
    struct bench bench;

    bench_make(&bench, "f32.nn.4x5x8.dense.s1/openblas/default");
    judge(&bench, 2);
    cr_assert_eq(bench.result.verdict, GP_PASS);
    cr_assert_eq(bench.result.flags, GP_OBSERVED);
    bench.require[0] = "workspace";
    bench.from = (struct gp_case){.require = bench.require, .require_count = 1};
    bench.run.from = &bench.from;
    judge(&bench, 2);
    cr_assert_eq(bench.result.verdict, GP_PASS);
    bench.require[1] = "repeat";
    bench.from.require_count = 2;
    judge(&bench, 2);
    cr_assert_eq(bench.result.verdict, GP_FAIL);
    cr_assert_eq(finding(&bench, "repeat")->verdict, GP_FAIL);
    cr_assert(gp_judge_required(&bench.run, "repeat"));
    cr_assert_not(gp_judge_required(&bench.run, "bound"));
    bench_free(&bench);
}

/* A contradiction of the harness with itself is an error with its sentence,
 * and does not hide a failure. */
Test(judge, errors)
{
    struct bench bench;

    bench_make(&bench, "f32.nn.4x5x8.dense.s1/naive/default");
    judge(&bench, 0);
    bench.result.findings_count = 0;
    bench.result.reply.last.elements = 3;
    gp_judge(&bench.result, &bench.reference, bench.outputs, EACH, &nowhere,
             &bench.cache);
    cr_assert_eq(bench.result.verdict, GP_ERROR);
    cr_assert_not_null(strstr(bench.result.err.text, "disagree"), "%s",
                       bench.result.err.text);
    bench.result.findings_count = 0;
    bench.result.reply.audit.guard_bytes = 1;
    gp_judge(&bench.result, &bench.reference, bench.outputs, EACH, &nowhere,
             &bench.cache);
    cr_assert_eq(bench.result.verdict, GP_FAIL);
    bench_free(&bench);
}

/* An output is measured once a problem: equal digests share the figures. */
Test(judge, equal_digests_are_measured_once)
{
    struct bench bench;
    double share;

    bench_make(&bench, "f32.nn.4x5x8.dense.s1/naive/default");
    judge(&bench, 1);
    share = finding(&bench, "bound")->value;
    cr_assert_eq(bench.cache.count, 2);
    judge(&bench, 1);
    cr_assert_eq(bench.cache.count, 2);
    cr_assert_eq(finding(&bench, "bound")->value, share);
    bench_free(&bench);
}
