/* The schedule serial on a backend that gives outputs by a script. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "harness/worker/schedule.h"

/* Repeat r gives the output `outputs[r]`; a result is that one number. */
struct script {
    const int *outputs;
    int now, first;
    int launches, lasts, audits, kept;
    int fail_at; /* a launch that fails, -1: none */
};

static int script_launch(void *ctx, int64_t repeat, bool last,
                         const struct gp_fault *fault, double *ret_ns,
                         struct gp_err *err)
{
    struct script *script = ctx;

    (void)fault;
    cr_assert_eq(repeat, script->launches);
    if (repeat == script->fail_at)
        return gp_err_set(err, GP_ERR_BACKEND, "it said no");
    script->launches++;
    script->lasts += last;
    script->now = script->outputs[repeat];
    *ret_ns = 100 - (double)repeat;
    return 0;
}

static int script_digest(void *ctx, struct gp_digest *ret_digest,
                         struct gp_err *err)
{
    const struct script *script = ctx;

    (void)err;
    *ret_digest = (struct gp_digest){{(uint64_t)script->now, 5}};
    return 0;
}

static int script_keep(void *ctx, bool first, void *to, struct gp_err *err)
{
    struct script *script = ctx;

    (void)err;
    script->kept++;
    if (first)
        script->first = script->now;
    if (to)
        memcpy(to, &script->now, sizeof script->now);
    return 0;
}

static int script_compare(void *ctx, struct gp_difference *ret_difference,
                          struct gp_err *err)
{
    const struct script *script = ctx;

    (void)err;
    *ret_difference = (struct gp_difference){0, -1};
    if (script->now != script->first)
        *ret_difference = (struct gp_difference){script->now, 1};
    return 0;
}

static int script_audit(void *ctx, struct gp_audit *ret_audit,
                        struct gp_err *err)
{
    struct script *script = ctx;

    (void)err;
    script->audits++;
    *ret_audit = (struct gp_audit){.sentinels_left = 7};
    return 0;
}

static const struct gp_backend backend = {
    .name = "script",
    .launch = script_launch,
    .digest = script_digest,
    .keep = script_keep,
    .compare = script_compare,
    .audit = script_audit,
};

enum { EACH = 64, ROOM = 8 };
static unsigned char outputs[ROOM * EACH];

static int run(struct script *script, const int *numbers, int64_t repeats,
               int64_t room, struct gp_reply *reply, struct gp_err *err)
{
    struct gp_execution execution = {.backend = &backend,
                                     .ctx = script,
                                     .repeats = repeats,
                                     .outputs = outputs,
                                     .output_bytes = EACH,
                                     .room = room};

    *script = (struct script){.outputs = numbers, .fail_at = -1};
    cr_assert_str_eq(gp_worker_schedules[0].name, "serial");
    return gp_worker_schedules[0].run(&execution, reply, err);
}

static int kept(int64_t variant)
{
    int number;

    memcpy(&number, outputs + variant * EACH, sizeof number);
    return number;
}

Test(schedule, equal_outputs)
{
    static const int numbers[] = {4, 4, 4, 4, 4};
    struct gp_reply reply = {0};
    struct script script;
    struct gp_err err;

    cr_assert_eq(run(&script, numbers, 5, ROOM, &reply, &err), 0);
    cr_assert_eq(reply.digests_count, 1);
    cr_assert_eq(reply.order_count, 1);
    cr_assert(reply.order[0].variant == 0 && reply.order[0].count == 5);
    cr_assert_eq(reply.outputs, 1);
    cr_assert_eq(kept(0), 4);
    cr_assert(reply.last.elements == 0 && reply.last.first == -1);
    cr_assert(script.launches == 5 && script.lasts == 1 && script.audits == 1);
    cr_assert_eq(reply.audit.sentinels_left, 7);
    /* 100, 99, ... 96: the first, the least, the middle, the most. */
    cr_assert(reply.first_ns == 100 && reply.min_ns == 96 &&
              reply.median_ns == 98 && reply.max_ns == 100);
    gp_reply_free(&reply);
}

Test(schedule, each_variant_is_kept_once_and_compared)
{
    static const int numbers[] = {4, 4, 9, 4, 9, 9, 2};
    static const int64_t order[][2] = {{0, 2}, {1, 1}, {0, 1}, {1, 2}, {2, 1}};
    struct gp_reply reply = {0};
    struct script script;
    struct gp_err err;

    cr_assert_eq(run(&script, numbers, 7, ROOM, &reply, &err), 0);
    cr_assert_eq(reply.digests_count, 3);
    cr_assert_eq(reply.digests[1].lane[0], 9);
    cr_assert_eq(reply.order_count, 5);
    for (int i = 0; i < 5; i++)
        cr_assert(reply.order[i].variant == order[i][0] &&
                  reply.order[i].count == order[i][1]);
    cr_assert_eq(reply.outputs, 3);
    cr_assert_eq(script.kept, 3);
    cr_assert(kept(0) == 4 && kept(1) == 9 && kept(2) == 2);
    cr_assert_eq(reply.differences_count, 2);
    cr_assert_eq(reply.differences[0].elements, 9);
    cr_assert_eq(reply.differences[1].elements, 2);
    cr_assert_eq(reply.last.elements, 2); /* the last repeat, by its bytes */
    gp_reply_free(&reply);
}

/* More variants than room: all are counted, the first ones come back, and
 * nothing is written behind the room. */
Test(schedule, more_variants_than_room)
{
    int numbers[100];
    struct gp_reply reply = {0};
    struct script script;
    struct gp_err err;

    for (int i = 0; i < 100; i++)
        numbers[i] = i + 1;
    memset(outputs, 0, sizeof outputs);
    cr_assert_eq(run(&script, numbers, 100, 3, &reply, &err), 0);
    cr_assert_eq(reply.digests_count, 100);
    cr_assert_eq(reply.outputs, 3);
    cr_assert_eq(reply.differences_count, 2);
    cr_assert(kept(2) == 3 && kept(3) == 0);
    gp_reply_free(&reply);
}

Test(schedule, too_many_variants_are_an_error)
{
    enum { MANY = GP_VARIANTS_MOST + 1 };
    int *numbers = calloc(MANY, sizeof *numbers);
    struct gp_reply reply = {0};
    struct gp_err err = {0};
    struct script script;

    for (int i = 0; i < MANY; i++)
        numbers[i] = i;
    cr_assert_eq(run(&script, numbers, MANY - 1, ROOM, &reply, &err), 0);
    gp_reply_free(&reply);
    cr_assert_eq(run(&script, numbers, MANY, ROOM, &reply, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_UNSUPPORTED);
    cr_assert(*err.text);
    gp_reply_free(&reply);
    free(numbers);
}

Test(schedule, a_backend_that_says_no)
{
    static const int numbers[] = {4, 4, 4};
    struct gp_execution execution = {.backend = &backend,
                                     .repeats = 3,
                                     .outputs = outputs,
                                     .output_bytes = EACH,
                                     .room = ROOM};
    struct script script = {.outputs = numbers, .fail_at = 2};
    struct gp_reply reply = {0};
    struct gp_err err = {0};

    execution.ctx = &script;
    cr_assert_eq(gp_worker_schedules[0].run(&execution, &reply, &err), -1);
    cr_assert_str_eq(err.text, "it said no");
    cr_assert_eq(script.audits, 0);
    gp_reply_free(&reply);
}
