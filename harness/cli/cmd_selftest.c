/* Plant faults between product and comparison, and see each of them caught:
 * by the right check, at the right repeat, at the right element. A harness
 * that cannot fail here must not be believed elsewhere. */
#include <stdio.h>
#include <string.h>

#include "harness/cli/cli.h"
#include "reports/summary.h"

/* 63 x 65 and 31 x 33 outputs are odd counts, so that the last 16-byte vector
 * is partial in every type. */
#define SHAPE ".nn.63x65x129.dense.s1"
static const struct injection {
    const char *what;
    const char *problem;
    int64_t m, n; /* of the problem */
    const char *fault;
    const char *check;
    int64_t repeat, element; /* -1: not looked at */
    const char *says;        /* words of the finding, "" for none */
} injections[] = {
    {"a bit in the first element", "f32" SHAPE, 63, 65, "bitx3x0x0", "repeat",
     3, 0, ""},
    {"a bit in the last element", "f32" SHAPE, 63, 65, "bitx5x4094x0", "repeat",
     5, 4094, ""},
    {"a bit in the last partial 16-byte vector", "f32" SHAPE, 63, 65,
     "bitx2x4093x7", "repeat", 2, 4093, ""},
    {"a bit in the last repeat", "f32" SHAPE, 63, 65, "bitx9x1000x5", "repeat",
     9, 1000, ""},
    {"a bit in FP16 with an odd count", "f16" SHAPE, 63, 65, "bitx4x4094x0",
     "repeat", 4, 4094, ""},
    {"a bit in the last of three batches", "f32.nn.31x33x65.b3.dense.s1", 31,
     33, "bitx7x2546x0", "repeat", 7, 2546, "of batch 2"},
    {"one repeat summed in another order", "f32" SHAPE, 63, 65, "variantx6",
     "repeat", 6, -1, ""},
    {"a changed input", "f32" SHAPE, 63, 65, "inputx77", "guard", -1, -1,
     "element 77 of A"},
    {"a changed guard", "f32" SHAPE, 63, 65, "guardx5", "guard", -1, -1,
     "after D at byte 5"},
};

enum { INJECTIONS = sizeof injections / sizeof *injections };

/* Does the journal's record show the fault as it was planted? */
static bool caught(const json_t *record, const struct injection *injection)
{
    const json_t *findings = json_object_get(record, "findings");

    if (strcmp(gp_json_str_or(record, "verdict", ""), "fail") != 0)
        return false;
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        const json_t *where = json_object_get(finding, "where");
        int64_t element =
            gp_json_int_or(where, "i", -1) +
            injection->m * (gp_json_int_or(where, "j", -1) +
                            injection->n * gp_json_int_or(where, "batch", 0));
        if (strcmp(gp_json_str_or(finding, "check", ""), injection->check) !=
                0 ||
            strcmp(gp_json_str_or(finding, "verdict", ""), "fail") != 0)
            continue;
        return (injection->repeat < 0 ||
                gp_json_int_or(where, "repeat", -1) == injection->repeat) &&
               (injection->element < 0 || element == injection->element) &&
               strstr(gp_json_str_or(finding, "text", ""), injection->says);
    }
    return false;
}

static const char *finding_text(const json_t *record, const char *check)
{
    const json_t *findings = json_object_get(record, "findings");

    for (size_t i = 0; i < json_array_size(findings); i++)
        if (strcmp(gp_json_str_or(json_array_get(findings, i), "check", ""),
                   check) == 0)
            return gp_json_str_or(json_array_get(findings, i), "text", "");
    return gp_json_str_or(json_object_get(record, "error"), "text",
                          "no such finding");
}

/* A CPU worker need not offer every type; a GPU's must. */
static bool not_offered(const struct gp_run *run, const json_t *record)
{
    return gp_backend_on_cpu(run->backend) &&
           strcmp(gp_json_str_or(record, "verdict", ""), "skip") == 0 &&
           strcmp(gp_json_str_or(record, "reason", ""), GP_NOT_OFFERED) == 0;
}

static int tell(const char *folder, struct gp_session *session,
                struct gp_err *err)
{
    const struct gp_plan *plan = &session->plan;
    struct gp_summary summary = {0};
    int found = 0, planted = 0;

    if (gp_summary_read(
            gp_arena_printf(&session->arena, "%s/results.jsonl", folder),
            &summary, err) != 0)
        return -1;
    for (size_t r = 0; r < plan->runs_count; r++) {
        const struct injection *injection = &injections[r % INJECTIONS];
        const json_t *record = gp_summary_run(&summary, plan->runs[r].id);
        bool left_out = record && not_offered(&plan->runs[r], record);
        bool red = record && caught(record, injection);
        found += red;
        planted += !left_out;
        printf("%s: %s, on %s\n    %s\n",
               left_out ? "not offered"
               : red    ? "caught"
                        : "MISSED",
               injection->what, plan->runs[r].backend,
               left_out ? injection->problem
               : record ? finding_text(record, injection->check)
                        : "no record");
    }
    printf("selftest: %d of %d planted faults caught\n", found, planted);
    gp_summary_free(&summary);
    return found == planted && planted > 0 ? GP_GREEN : GP_UNTESTED;
}

/* One run for each injection and backend, from its id. Bits must repeat here
 * whether they are promised to or not. */
static int plan_injections(struct gp_session *session, struct gp_err *err)
{
    static const char *requirement[] = {"repeat"};
    static const struct gp_case strict = {
        .name = "selftest", .require = requirement, .require_count = 1};
    const char *const *backends = session->backends.count
                                      ? session->backends.words
                                      : session->auto_backends;

    if (session->rest.count || session->modes.count || session->only.count ||
        session->match.count || session->workspaces.count || session->inject)
        return gp_err_set(err, GP_ERR_USAGE,
                          "selftest plants its own faults: of what to run it "
                          "takes --backend alone");
    session->plan.suite = "selftest";
    for (; *backends; backends++)
        for (int i = 0; i < INJECTIONS; i++) {
            const char *id = gp_arena_printf(
                &session->arena, "%s/%s/default/fault=%s",
                injections[i].problem, *backends, injections[i].fault);
            if (gp_run_parse(id, &session->plan, err) != 0)
                return -1;
            session->plan.runs[session->plan.runs_count - 1].from = &strict;
        }
    return 0;
}

static int carry_out(struct gp_session *session, const struct gp_cli *cli)
{
    const char *folder = NULL;
    struct gp_err err;
    int status;

    session->quiet = true;
    status = gp_session_run(session, cli, &folder);
    if (status == GP_USAGE)
        return status;
    status = tell(folder, session, &err);
    return status < 0 ? gp_cli_usage(&err) : status;
}

int gp_cmd_selftest(const struct gp_cli *cli, int argc, char **argv)
{
    return gp_session_command(cli, "selftest", argc, argv, plan_injections,
                              carry_out);
}
