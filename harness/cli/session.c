/* Options, case files, plan: what every command that plans has in common. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/word.h"
#include "harness/cli/cli.h"
#include "harness/engine/load.h"

void gp_session_options(struct gp_session *s, struct gp_opt *rows)
{
    const struct gp_opt all[] = {
        {"--backend", "NAME", GP_OPT_LIST, &s->backends,
         "workers to run on; auto: cublas where there is an NVIDIA device"},
        {"--mode", "MODE", GP_OPT_LIST, &s->modes,
         "only these modes (gemm: these modes, or all)"},
        {"--modes", "MODE", GP_OPT_LIST, &s->modes, "the same"},
        {"--workspace", "WS", GP_OPT_LIST, &s->workspaces,
         "these CUBLAS_WORKSPACE_CONFIG (16:8, unset; all: the usual list)"},
        {"--workspaces", "WS", GP_OPT_LIST, &s->workspaces, "the same"},
        {"--only", "ID", GP_OPT_LIST, &s->only,
         "only this run; needs no case file"},
        {"--match", "GLOB", GP_OPT_LIST, &s->match,
         "only runs whose id matches"},
        {"--repeats", "N", GP_OPT_WHOLE, &s->repeats,
         "repeats of every run instead of the case's"},
        {"--out", "DIR", GP_OPT_TEXT, &s->out,
         "where journal and reports go (out/SUITE-TIME)"},
        {"--inject", "FAULT", GP_OPT_TEXT, &s->inject,
         "plant a fault: bit:REPEAT:ELEMENT:BIT variant:REPEAT input:ELEMENT "
         "guard:OFFSET"},
        {"--cublas", "PATH", GP_OPT_TEXT, &s->cublas, "this libcublas"},
        {"--threads", "N", GP_OPT_WHOLE, &s->threads,
         "threads of the reference's OpenBLAS"},
        {"--start-timeout", "S", GP_OPT_WHOLE, &s->start_timeout,
         "seconds a worker has to start (120)"},
        {"--execute-timeout", "S", GP_OPT_WHOLE, &s->execute_timeout,
         "seconds beside 20 times the estimate (60)"},
        {"--as-is", NULL, GP_OPT_FLAG, &s->as_is,
         "keep the caller's environment in the workers"},
        {"--max-flops", "N", GP_OPT_REAL, &s->max_flops,
         "largest product that CPU workers take on; others are skipped"},
        {"--known", "FILE", GP_OPT_TEXT, &s->known_path,
         "the list of known faults (known.yaml beside the first case file)"},
        {"--no-known", NULL, GP_OPT_FLAG, &s->no_known,
         "no fault is known: each is a fail"},
        {"--redact", NULL, GP_OPT_FLAG, &s->redact,
         "leave hosts, paths and UUIDs out of the journal"},
        {"--no-reports", NULL, GP_OPT_FLAG, &s->no_reports,
         "the journal alone; gemmproof report makes reports of it"},
        {"--dump", "DIR", GP_OPT_TEXT, &s->dump,
         "write the matrices of failing runs there, as .npy"},
        {"--dump-most", "N", GP_OPT_WHOLE, &s->dump_most,
         "of so many runs at most (8)"},
        {"--quiet", NULL, GP_OPT_FLAG, &s->quiet, "no progress, no table"},
        {"--help", NULL, GP_OPT_FLAG, &s->help, "this text"},
        {NULL, NULL, GP_OPT_FLAG, NULL, NULL},
    };

    _Static_assert(sizeof all / sizeof *all <= GP_SESSION_OPTIONS,
                   "every row has its place");
    memcpy(rows, all, sizeof all);
}

static void choose_backends(struct gp_session *session)
{
    session->nvidia_device = gp_cli_nvidia_device();
    session->auto_backends = gp_cli_auto_backends(session->nvidia_device);
    if (session->backends.count == 1 &&
        strcmp(session->backends.words[0], "auto") == 0)
        gp_opt_list_free(&session->backends);
}

static int check_modes(struct gp_session *session, struct gp_err *err)
{
    const struct gp_opt_list *modes = &session->modes;
    const struct gp_mode *mode;

    for (size_t i = 0; i < modes->count; i++)
        if (strcmp(modes->words[i], "all") != 0 &&
            gp_mode_parse(modes->words[i], &session->arena, &mode, err) != 0)
            return -1;
    return 0;
}

/* "all" stands for a list of its own. */
static void expand_all(struct gp_opt_list *list, const char *const *all)
{
    if (list->count != 1 || strcmp(list->words[0], "all") != 0)
        return;
    list->count = 0;
    for (; all && *all; all++) {
        *(const char **)gp_grow((void **)&list->words, list->count, &list->room,
                                sizeof *all) = *all;
        list->count++;
    }
    gp_grow((void **)&list->words, list->count, &list->room, sizeof *all);
    if (!all)
        gp_opt_list_free(list);
}

enum { SECONDS_MOST = 1000000 };

int gp_session_parse(struct gp_session *session, int argc, char **argv,
                     struct gp_err *err)
{
    struct gp_opt options[GP_SESSION_OPTIONS];
    struct gp_fault fault;

    gp_session_options(session, options);
    if (gp_opt_parse(options, argc, argv, &session->arena, &session->rest,
                     err) != 0)
        return -1;
    if (session->help)
        return 0;
    if (check_modes(session, err) != 0)
        return -1;
    expand_all(&session->workspaces, gp_workspaces);
    for (size_t i = 0; i < session->workspaces.count; i++)
        if (gp_workspace_check(session->workspaces.words[i], err) != 0)
            return -1;
    for (size_t i = 0; i < session->backends.count; i++)
        if (gp_backend_check(session->backends.words[i], err) != 0)
            return -1;
    if (session->inject && gp_fault_parse(session->inject, &fault, err) != 0)
        return -1;
    session->known_named = session->known_path != NULL;
    if (session->dump_most && !session->dump)
        return gp_err_set(err, GP_ERR_USAGE,
                          "--dump-most says how many runs --dump writes: give "
                          "--dump DIR as well, or leave it out");
    if (session->known_path && session->no_known)
        return gp_err_set(err, GP_ERR_USAGE,
                          "--known and --no-known exclude each other: leave "
                          "one out");
    if (session->start_timeout > SECONDS_MOST ||
        session->execute_timeout > SECONDS_MOST)
        return gp_err_set(err, GP_ERR_USAGE,
                          "--start-timeout and --execute-timeout take 1 to %d "
                          "seconds",
                          SECONDS_MOST);
    if (session->repeats > GP_REPEATS_MOST)
        return gp_err_set(err, GP_ERR_USAGE, "--repeats takes 1 to %d",
                          GP_REPEATS_MOST);
    choose_backends(session);
    return 0;
}

/* The words of `require` must name a check or relation. */
static int check_requirements(const struct gp_suite *suite, struct gp_err *err)
{
    const char *names[64];
    size_t count = 0;

    for (const struct gp_check *const *check = gp_checks; *check; check++)
        names[count++] = (*check)->name;
    for (const struct gp_relation *const *relation = gp_relations; *relation;
         relation++)
        names[count++] = (*relation)->name;
    names[count] = NULL;
    for (size_t c = 0; c < suite->cases_count; c++)
        for (size_t r = 0; r < suite->cases[c].require_count; r++) {
            const char *word = suite->cases[c].require[r];
            const char *nearest = gp_word_nearest(word, names);
            if (strcmp(word, nearest) != 0)
                return gp_err_set(err, GP_ERR_USAGE,
                                  "%s:%d: case %s requires '%.40s', which is "
                                  "no check or relation: did you mean '%s'?",
                                  suite->cases[c].file, suite->cases[c].line,
                                  suite->cases[c].name, word, nearest);
        }
    return 0;
}

static int check_memory(const struct gp_session *session, struct gp_err *err)
{
    const struct gp_engine engine = {.plan = &session->plan,
                                     .max_flops = session->max_flops};
    const struct gp_problem *largest = NULL;
    double need = gp_engine_bytes(&engine, &largest);
    double have = (double)gp_memory_available_bytes();

    if (need <= have)
        return 0;
    return gp_err_set(err, GP_ERR_USAGE,
                      "%s needs %.1f GiB of memory with its reference, and "
                      "%.1f GiB are free: choose a smaller size",
                      largest->id, need / 0x1p30, have / 0x1p30);
}

int gp_session_expand(struct gp_session *session, struct gp_err *err)
{
    struct gp_select select = {
        .only = session->only.words,
        .match = session->match.words,
        .backends = session->backends.words,
        .modes = session->modes.words,
        .workspaces = session->workspaces.words,
        .repeats = session->repeats,
    };

    if (session->inject &&
        gp_fault_parse(session->inject, &select.fault, err) != 0)
        return -1;
    if (session->suite.cases_count == 0) {
        if (gp_expand_ids(&select, &session->plan, err) != 0)
            return -1;
    } else if (check_requirements(&session->suite, err) != 0 ||
               gp_expand(&session->suite, &select, session->auto_backends,
                         &session->plan, err) != 0) {
        return -1;
    }
    return check_memory(session, err);
}

/* A list of known faults beside the first case file is taken for it. */
static void find_known(struct gp_session *session)
{
    const char *file = session->rest.count ? session->rest.words[0] : "";
    const char *slash = strrchr(file, '/');
    const char *path;

    if (!*file || session->known_path || session->no_known)
        return;
    path = gp_arena_printf(&session->arena, "%.*sknown.yaml",
                           slash ? (int)(slash + 1 - file) : 0, file);
    if (access(path, F_OK) == 0)
        session->known_path = path;
}

int gp_session_plan(struct gp_session *session, struct gp_err *err)
{
    expand_all(&session->modes, NULL);
    if (session->rest.count == 0 && session->only.count == 0)
        return gp_err_set(err, GP_ERR_USAGE,
                          "no case file: name one, such as cases/smoke.yaml, "
                          "or an id with --only");
    for (size_t i = 0; i < session->rest.count; i++)
        if (gp_load_file(session->rest.words[i], &session->suite, err) != 0)
            return -1;
    find_known(session);
    return gp_session_expand(session, err);
}

void gp_session_free(struct gp_session *session)
{
    struct gp_opt_list *lists[] = {&session->rest,  &session->only,
                                   &session->match, &session->backends,
                                   &session->modes, &session->workspaces};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        gp_opt_list_free(lists[i]);
    gp_suite_free(&session->suite);
    gp_plan_free(&session->plan);
    gp_known_free(&session->known);
    gp_arena_free(&session->arena);
}

int gp_session_command(
    const struct gp_cli *cli, const char *name, int argc, char **argv,
    int (*plan)(struct gp_session *session, struct gp_err *err),
    int (*carry_out)(struct gp_session *session, const struct gp_cli *cli))
{
    struct gp_session session = {0};
    struct gp_opt options[GP_SESSION_OPTIONS];
    struct gp_err err;
    int status;

    if (gp_session_parse(&session, argc, argv, &err) != 0) {
        status = gp_cli_usage(&err);
    } else if (session.help) {
        gp_session_options(&session, options);
        status = gp_cli_help(name, options);
    } else if (plan(&session, &err) != 0) {
        status = gp_cli_usage(&err);
    } else {
        status = carry_out(&session, cli);
    }
    gp_session_free(&session);
    return status;
}
