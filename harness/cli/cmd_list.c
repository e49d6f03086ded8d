#include <stdio.h>
#include <string.h>

#include "harness/base/word.h"
#include "harness/cli/cli.h"
#include "harness/engine/load.h"
#include "reports/writer.h"

static void row(const char *name, const char *help)
{
    printf("  %-22s %s\n", name, help);
}

static void list_modes(void)
{
    for (const struct gp_mode *mode = gp_modes; mode->name; mode++)
        row(mode->name, mode->help);
}

static void list_checks(void)
{
    for (const struct gp_check *const *check = gp_checks; *check; check++)
        row((*check)->name, (*check)->help);
}

static void list_relations(void)
{
    for (const struct gp_relation *const *at = gp_relations; *at; at++)
        row((*at)->name, (*at)->help);
}

static void list_families(void)
{
    for (const struct gp_family *at = gp_families; at->name; at++)
        row(at->name, at->help);
}

static void list_types(void)
{
    for (const struct gp_type *type = gp_types; type->name; type++)
        row(type->name, type->help);
    row("f16:f32, bf16:f32", "16-bit operands, FP32 results");
}

static void list_schedules(void)
{
    for (const struct gp_schedule *at = gp_schedules; at->name; at++)
        row(at->name, at->help);
}

static void list_workspaces(void)
{
    for (const char *const *at = gp_workspaces; *at; at++)
        row(*at, strcmp(*at, "unset") == 0
                     ? "CUBLAS_WORKSPACE_CONFIG is not set"
                     : "the value of CUBLAS_WORKSPACE_CONFIG, with a colon in "
                       "front");
}

static void list_entries(void)
{
    for (const char *const *at = gp_entries; *at; at++)
        row(*at, strcmp(*at, "gemm") == 0 ? "Sgemm, Dgemm with a math mode"
                                          : "GemmEx with a compute type");
}

static void list_formats(void)
{
    for (const struct gp_writer *at = gp_writers; at->name; at++)
        row(at->name, at->help);
}

static void list_keys(void)
{
    for (const struct gp_load_key *at = gp_load_top_keys; at->name; at++)
        row(at->name, at->help);
    printf("of a case:\n");
    for (const struct gp_load_key *at = gp_load_case_keys; at->name; at++)
        row(at->name, at->help);
}

static void list_backends(void)
{
    row("cublas", "cuBLAS on an NVIDIA GPU");
    row("openblas", "SGEMM and DGEMM of the OpenBLAS on this machine");
    row("naive", "a triple loop on the CPU");
    row("simulated", "tensor cores and workspaces in software; =sm70, =sm80, "
                     "=sm90");
    row("faulty=SIN",
        "known bugs, to test the checks; tests/faults.tsv has them");
    row("NAME", "any program gemmproof-worker-NAME beside gemmproof "
                "(docs/protocol.md)");
}

static const struct {
    const char *name;
    void (*list)(void);
} topics[] = {
    {"backends", list_backends},   {"modes", list_modes},
    {"checks", list_checks},       {"relations", list_relations},
    {"families", list_families},   {"types", list_types},
    {"schedules", list_schedules}, {"workspaces", list_workspaces},
    {"entries", list_entries},     {"formats", list_formats},
    {"keys", list_keys},
};

enum { TOPICS = sizeof topics / sizeof *topics };

int gp_cmd_list(const struct gp_cli *cli, int argc, char **argv)
{
    const char *names[TOPICS + 1] = {0};
    struct gp_err err;
    bool found = false;

    (void)cli;
    if (argc == 1 && strcmp(argv[0], "--help") == 0)
        argc = 0;
    if (argc > 1) {
        gp_err_set(&err, GP_ERR_USAGE, "list takes one topic");
        return gp_cli_usage(&err);
    }
    for (size_t i = 0; i < TOPICS; i++) {
        names[i] = topics[i].name;
        if (argc && strcmp(argv[0], topics[i].name) != 0)
            continue;
        printf("%s\n", topics[i].name);
        topics[i].list();
        found = true;
    }
    if (found)
        return GP_GREEN;
    gp_err_set(&err, GP_ERR_USAGE,
               "nothing to list under '%.40s': did you "
               "mean '%s'?",
               argv[0], gp_word_nearest(argv[0], names));
    return gp_cli_usage(&err);
}
