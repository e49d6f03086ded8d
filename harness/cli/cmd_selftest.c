/* Plant faults between product and comparison, and see each of them caught:
 * by the right check, at the right repeat, at the right element. A harness
 * that cannot fail here must not be believed elsewhere. */
#include <stdio.h>
#include <string.h>

#include "harness/cli/cli.h"
#include "reports/summary.h"

/* 63 x 65 outputs: 4095, so that the last 16-byte vector is partial in every
 * type. */
static const struct injection {
    const char *what;
    const char *type;
    const char *fault;
    const char *check;
    int64_t repeat, element; /* -1: not looked at */
    const char *says;        /* words of the finding, "" for none */
} injections[] = {
    {"a bit in the first element", "f32", "bitx3x0x0", "repeat", 3, 0, ""},
    {"a bit in the last element", "f32", "bitx5x4094x0", "repeat", 5, 4094, ""},
    {"a bit in the last partial 16-byte vector", "f32", "bitx2x4093x7",
     "repeat", 2, 4093, ""},
    {"a bit in the last repeat", "f32", "bitx9x1000x5", "repeat", 9, 1000, ""},
    {"a bit in FP16 with an odd count", "f16", "bitx4x4094x0", "repeat", 4,
     4094, ""},
    {"one repeat summed in another order", "f32", "variantx6", "repeat", 6, -1,
     ""},
    {"a changed input", "f32", "inputx77", "guard", -1, -1, "element 77 of A"},
    {"a changed guard", "f32", "guardx5", "guard", -1, -1,
     "after D at byte 5"},
};

enum { INJECTIONS = sizeof injections / sizeof *injections, ROWS = 63 };

/* Does the journal's record show the fault as it was planted? */
static bool caught(const json_t *record, const struct injection *injection)
{
    const json_t *findings = json_object_get(record, "findings");

    if (strcmp(gp_json_str_or(record, "verdict", ""), "fail") != 0)
        return false;
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        const json_t *where = json_object_get(finding, "where");
        int64_t element = gp_json_int_or(where, "i", -1) +
                          ROWS * gp_json_int_or(where, "j", -1);
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

static int tell(const char *folder, struct gp_session *session,
                struct gp_err *err)
{
    struct gp_summary summary = {0};
    int found = 0;

    if (gp_summary_read(
            gp_arena_printf(&session->arena, "%s/results.jsonl", folder),
            &summary, err) != 0)
        return -1;
    for (int i = 0; i < INJECTIONS; i++) {
        const json_t *record =
            gp_summary_run(&summary, session->plan.runs[i].id);
        bool red = record && caught(record, &injections[i]);
        found += red;
        printf("%s: %s\n    %s\n", red ? "caught" : "MISSED",
               injections[i].what,
               record ? finding_text(record, injections[i].check)
                      : "no record");
    }
    printf("selftest: %d of %d planted faults caught\n", found, INJECTIONS);
    gp_summary_free(&summary);
    return found == INJECTIONS ? GP_GREEN : GP_UNTESTED;
}

/* One run for each injection, from its id. */
static int plan_injections(struct gp_session *session, struct gp_err *err)
{
    const char *backend = session->backends.count ? session->backends.words[0]
                                                  : session->auto_backends[0];

    /* Only `naive` has FP16 among the CPU workers. */
    if (!session->backends.count && strcmp(backend, "openblas") == 0)
        backend = "naive";
    session->plan.suite = "selftest";
    for (int i = 0; i < INJECTIONS; i++)
        if (gp_run_parse(gp_arena_printf(&session->arena,
                                         "%s.nn.63x65x129.dense.s1/%s/default/"
                                         "fault=%s",
                                         injections[i].type, backend,
                                         injections[i].fault),
                         &session->plan, err) != 0)
            return -1;
    return 0;
}

int gp_cmd_selftest(const struct gp_cli *cli, int argc, char **argv)
{
    struct gp_session session = {0};
    struct gp_opt options[GP_SESSION_OPTIONS];
    const char *folder = NULL;
    struct gp_err err;
    int status;

    if (gp_session_parse(&session, argc, argv, &err) != 0) {
        status = gp_cli_usage(&err);
    } else if (session.help) {
        gp_session_options(&session, options);
        status = gp_cli_help("selftest", options);
    } else if (plan_injections(&session, &err) != 0) {
        status = gp_cli_usage(&err);
    } else {
        session.quiet = true;
        status = gp_session_run(&session, cli, &folder);
        if (status != GP_USAGE) {
            status = tell(folder, &session, &err);
            if (status < 0)
                status = gp_cli_usage(&err);
        }
    }
    gp_session_free(&session);
    return status;
}
