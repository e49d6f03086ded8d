#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/word.h"
#include "harness/cli/cli.h"
#include "harness/engine/trials.h"
#include "reports/escape.h"

#ifndef GP_VERSION
#define GP_VERSION "0.0.0"
#endif
#ifndef GP_COMMIT
#define GP_COMMIT "unknown"
#endif

const struct gp_command gp_commands[] = {
    {"run", "CASEFILE...", "run suites and judge every result", gp_cmd_run},
    {"gemm", "M N K [TYPE]", "the same for one product, without a case file",
     gp_cmd_gemm},
    {"plan", "CASEFILE...", "list the ids of the runs, run nothing",
     gp_cmd_plan},
    {"report", "FOLDER|JOURNAL", "make the reports of a journal again",
     gp_cmd_report},
    {"compare", "OLD NEW", "what changed between two runs, or two settings",
     gp_cmd_compare},
    {"list", "[TOPIC]", "modes, checks, families, types and other words",
     gp_cmd_list},
    {"selftest", "", "plant faults and see each of them caught",
     gp_cmd_selftest},
    {"doctor", "", "what here could make results wrong, and the way out",
     gp_cmd_doctor},
    {"repro", "ID", "how to repeat a run; --c: as a CUDA program",
     gp_cmd_repro},
    {NULL, NULL, NULL, NULL},
};

int gp_cli_usage(const struct gp_err *err)
{
    struct gp_buf plain = {0};

    gp_escape_plain(&plain, err->text);
    fprintf(stderr, "gemmproof: %s\n", gp_buf_text(&plain));
    gp_buf_free(&plain);
    return GP_USAGE;
}

int gp_cli_help(const char *name, const struct gp_opt *options)
{
    const struct gp_command *command = gp_commands;
    struct gp_buf buf = {0};

    while (strcmp(command->name, name) != 0)
        command++;
    gp_buf_printf(&buf, "usage: gemmproof %s %s\n%s\n\n", name,
                  command->arguments, command->help);
    gp_opt_help(options, &buf);
    fputs(gp_buf_text(&buf), stdout);
    gp_buf_free(&buf);
    return GP_GREEN;
}

static int help(void)
{
    printf("usage: gemmproof COMMAND [OPTIONS]\n\n"
           "Proves what a GEMM does on this machine: how accurate it is, "
           "whether the\nprecision asked for is the precision delivered, and "
           "whether its bits repeat.\n\n");
    for (const struct gp_command *row = gp_commands; row->name; row++)
        printf("  %-9s %-15s %s\n", row->name, row->arguments, row->help);
    printf("\ngemmproof COMMAND --help lists its options.\n"
           "Exit status: 0 green; 1 something failed; 2 nothing could start; "
           "3 an error, or\nsomething planned was not tested.\n");
    return GP_GREEN;
}

int main(int argc, char **argv)
{
    const struct gp_cli cli = {GP_VERSION, GP_COMMIT, argc, argv};
    const char *names[32];
    size_t count = 0;
    struct gp_err err;
    int status;

    if (argc < 2 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return argc < 2 ? (help(), GP_USAGE) : help();
    if (strcmp(argv[1], "--version") == 0) {
        printf("gemmproof %s (%s)\n", GP_VERSION, GP_COMMIT);
        return GP_GREEN;
    }
    if (strcmp(argv[1], GP_TRIALS_WORD) == 0)
        return gp_trials_child() == 0 ? GP_GREEN : GP_USAGE;
    for (const struct gp_command *row = gp_commands; row->name; row++) {
        names[count++] = row->name;
        if (strcmp(argv[1], row->name) != 0)
            continue;
        status = row->run(&cli, argc - 2, argv + 2);
        /* A report that could not be written out is not green. */
        if (fflush(stdout) != 0 || ferror(stdout)) {
            fprintf(stderr, "gemmproof: standard output: cannot be written\n");
            status = status == GP_GREEN ? GP_UNTESTED : status;
        }
        return status;
    }
    names[count] = NULL;
    gp_err_set(&err, GP_ERR_USAGE,
               "no command '%.40s': did you mean '%s'? gemmproof --help lists "
               "them",
               argv[1], gp_word_nearest(argv[1], names));
    return gp_cli_usage(&err);
}
