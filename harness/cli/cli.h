/*
 * The command line: a table of subcommands. Only this layer prints errors and
 * decides exit statuses; main() is the only place that exits.
 */
#ifndef GP_CLI_CLI_H
#define GP_CLI_CLI_H

#include "harness/base/opt.h"
#include "harness/engine/engine.h"
#include "harness/engine/expand.h"

/* Exit statuses: 0 is green; 1 something failed; 2 nothing could start; 3 an
 * error, or something planned was not tested. */
enum { GP_GREEN = 0, GP_FAILED = 1, GP_USAGE = 2, GP_UNTESTED = 3 };

/* What main hands to a subcommand. */
struct gp_cli {
    const char *version, *commit;
    int argc; /* the whole command line, for the journal */
    char **argv;
};

struct gp_command {
    const char *name;
    const char *arguments;
    const char *help;
    /* argv without the program's and the command's name. */
    int (*run)(const struct gp_cli *cli, int argc, char **argv);
};

extern const struct gp_command gp_commands[]; /* ended by a NULL name */

int gp_cmd_run(const struct gp_cli *cli, int argc, char **argv);
int gp_cmd_gemm(const struct gp_cli *cli, int argc, char **argv);
int gp_cmd_plan(const struct gp_cli *cli, int argc, char **argv);
int gp_cmd_list(const struct gp_cli *cli, int argc, char **argv);
int gp_cmd_report(const struct gp_cli *cli, int argc, char **argv);
int gp_cmd_selftest(const struct gp_cli *cli, int argc, char **argv);
int gp_cmd_doctor(const struct gp_cli *cli, int argc, char **argv);
int gp_cmd_repro(const struct gp_cli *cli, int argc, char **argv);
int gp_cmd_compare(const struct gp_cli *cli, int argc, char **argv);

/* The journal of a run that was named by it or by its folder. */
const char *gp_cli_journal(const char *place, struct gp_arena *arena);

/* Print "gemmproof: sentence" and return GP_USAGE. */
int gp_cli_usage(const struct gp_err *err);

/* Print the help of one command and return GP_GREEN. */
int gp_cli_help(const char *name, const struct gp_opt *options);

/* Any NVIDIA device, working or not: a GPU machine with a broken driver must
 * not be taken for a machine without a GPU. */
bool gp_cli_nvidia_device(void);

/* The backends that `auto` stands for, ended by NULL, with or without such a
 * device; GEMMPROOF_REQUIRE_GPU counts as one. */
const char *const *gp_cli_auto_backends(bool nvidia_device);

/* Where the workers are: beside the program. */
const char *gp_cli_worker_folder(struct gp_arena *arena);

/* --- What run, gemm, plan and selftest share ------------------------------ */

struct gp_session {
    struct gp_arena arena;
    struct gp_suite suite;
    struct gp_plan plan;
    struct gp_opt_list rest; /* case files, or the words of gemm */
    struct gp_opt_list only, match, backends, modes, workspaces;
    int64_t repeats, start_timeout, execute_timeout, threads;
    const char *out, *inject, *cublas;
    const char *dump; /* folder for the matrices of failing runs; NULL: none */
    int64_t dump_most;
    struct gp_dump dumped;  /* opened by gp_session_run */
    const char *known_path; /* the list of known faults; NULL: the default */
    struct gp_known known;  /* read by gp_session_run */
    bool no_known, known_named;
    double max_flops;
    bool as_is, quiet, no_reports, redact, help;
    const char *const *auto_backends; /* chosen for "auto" */
    bool nvidia_device;
};

/* The option table over a session; `rows` has room for GP_SESSION_OPTIONS. */
enum { GP_SESSION_OPTIONS = 32 };
void gp_session_options(struct gp_session *session, struct gp_opt *rows);

/* A command that plans: parse its words, print its help if that was asked, else
 * make the plan and carry it out; returns the exit status. */
int gp_session_command(
    const struct gp_cli *cli, const char *name, int argc, char **argv,
    int (*plan)(struct gp_session *session, struct gp_err *err),
    int (*carry_out)(struct gp_session *session, const struct gp_cli *cli));

/* Parse the words; USAGE for what is wrong with them. */
int gp_session_parse(struct gp_session *session, int argc, char **argv,
                     struct gp_err *err) GP_MUST_CHECK;

/* From case files (or ids alone) to the plan. */
int gp_session_plan(struct gp_session *session,
                    struct gp_err *err) GP_MUST_CHECK;
/* From the suite made elsewhere to the plan. */
int gp_session_expand(struct gp_session *session,
                      struct gp_err *err) GP_MUST_CHECK;

/* Run the plan, write journal and reports, print the text report unless
 * quiet; returns the exit status. `ret_folder`, if not NULL, receives where
 * the journal is, in the session's arena. */
int gp_session_run(struct gp_session *session, const struct gp_cli *cli,
                   const char **ret_folder);

void gp_session_free(struct gp_session *session);

#endif
