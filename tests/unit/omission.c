/* What must not pass by omission: elements beyond the first block, outputs
 * that are not what their worker says, results that nothing was compared
 * with. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/judge.h"
#include "tests/unit/plan.h"

/* More elements than one block of measuring or digesting. */
#define ID "f32.nn.300x300x8.dense.s1/naive/default/r1"
enum { SIDE = 300, COUNT = SIDE * SIDE, LATE = 70000 };

struct bench {
    struct gp_plan plan;
    struct gp_run run;
    struct gp_reference reference;
    float *output;
    struct gp_judge_cache cache;
    struct gp_result result;
};

static void bench_make(struct bench *bench)
{
    struct gp_err err = {0};
    struct gp_reply *reply = &bench->result.reply;

    memset(bench, 0, sizeof *bench);
    bench->run = *plan_run(&bench->plan, ID);
    cr_assert_eq(gp_reference_make(&bench->reference, &bench->run.problem->gemm,
                                   bench->run.problem->family, 1, &err),
                 0);
    bench->output = malloc(COUNT * sizeof *bench->output);
    cr_assert_not_null(bench->output);
    for (int i = 0; i < COUNT; i++)
        bench->output[i] = (float)bench->reference.ref[i];
    bench->result.run = &bench->run;
    reply->digests = calloc(1, sizeof *reply->digests);
    reply->order = calloc(1, sizeof *reply->order);
    reply->digests_count = reply->order_count = 1;
    reply->order[0].count = 1;
    reply->outputs = 1;
    reply->last.first = reply->audit.guard_first = reply->audit.input_first =
        reply->audit.sentinel_first = -1;
}

static void digest(struct bench *bench)
{
    struct gp_digest sum = {{0, 0}};

    for (int i = 0; i < COUNT; i++) {
        uint64_t bits = gp_type_bits(gp_type_find("f32"), bench->output, i);
        sum.lane[0] += gp_hash_lane(0, (uint64_t)i, bits);
        sum.lane[1] += gp_hash_lane(1, (uint64_t)i, bits);
    }
    bench->result.reply.digests[0] = sum;
}

static void bench_free(struct bench *bench)
{
    gp_result_free(&bench->result);
    gp_judge_cache_free(&bench->cache);
    gp_reference_free(&bench->reference);
    gp_plan_free(&bench->plan);
    free(bench->output);
}

static enum gp_verdict judged(struct bench *bench)
{
    digest(bench);
    gp_judge(&bench->result, &bench->reference,
             (const unsigned char *)bench->output, COUNT * sizeof(float),
             &(struct gp_judge_about){.false_alarm = 1e-6}, &bench->cache);
    return bench->result.verdict;
}

Test(omission, an_element_of_a_later_block_counts)
{
    struct bench bench;

    bench_make(&bench);
    cr_assert_eq(judged(&bench), GP_PASS);
    bench_free(&bench);
    bench_make(&bench);
    bench.output[LATE] += 1;
    cr_assert_eq(judged(&bench), GP_FAIL);
    cr_assert_eq(bench.result.findings[0].where.i, LATE % SIDE);
    cr_assert_eq(bench.result.findings[0].where.j, LATE / SIDE);
    bench_free(&bench);
}

Test(omission, a_digest_is_that_of_the_bytes)
{
    struct bench bench;
    struct gp_err err = {0};
    const unsigned char *bytes;

    bench_make(&bench);
    bytes = (const unsigned char *)bench.output;
    digest(&bench);
    cr_assert_eq(
        gp_judge_digests(&bench.result, bytes, COUNT * 4, NULL, 0, &err), 0);
    bench.output[LATE] += 1;
    cr_assert_eq(
        gp_judge_digests(&bench.result, bytes, COUNT * 4, NULL, 0, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_BACKEND);
    bench_free(&bench);
}

Test(omission, only_what_was_asked_for_is_withheld)
{
    struct bench bench;
    struct gp_err err = {0};
    const unsigned char *bytes;
    struct gp_digest other = {{1, 2}};

    bench_make(&bench);
    bytes = (const unsigned char *)bench.output;
    digest(&bench);
    bench.result.reply.withheld = 1;
    cr_assert_eq(
        gp_judge_digests(&bench.result, bytes, COUNT * 4, &other, 1, &err), -1);
    cr_assert_eq(gp_judge_digests(&bench.result, bytes, COUNT * 4,
                                  bench.result.reply.digests, 1, &err),
                 0);
    bench_free(&bench);
}
