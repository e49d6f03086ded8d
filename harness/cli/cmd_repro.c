/* A run by its id, to be repeated elsewhere. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/cli/cli.h"
#include "harness/cli/repro.h"
#include "reference/refgemm.h"

struct options {
    const char *program, *cublas;
    bool digests, help;
};

/* The packed operands that workers receive, as the program of --c prints its
 * own with -DREPRO_DUMP. */
static void print_digest(const char *name, const struct gp_gemm *gemm,
                         enum gp_operand which, const void *data)
{
    const struct gp_type *type = gp_gemm_type(gemm, which);
    int64_t count = gp_gemm_count(gemm, which);
    uint64_t lanes[2] = {0, 0};

    for (int64_t i = 0; i < count; i++)
        for (int lane = 0; lane < 2; lane++)
            lanes[lane] +=
                gp_hash_lane(lane, (uint64_t)i, gp_type_bits(type, data, i));
    printf("%s %016" PRIx64 "%016" PRIx64 " %" PRId64 "\n", name, lanes[0],
           lanes[1], count);
}

static int print_digests(const struct gp_problem *problem, struct gp_err *err)
{
    struct gp_reference reference = {0};
    int status = gp_reference_make(&reference, &problem->gemm, problem->family,
                                   problem->seed, err);

    if (status == 0) {
        print_digest("A", &problem->gemm, GP_A, reference.a);
        print_digest("B", &problem->gemm, GP_B, reference.b);
        if (reference.c)
            print_digest("C", &problem->gemm, GP_C, reference.c);
    }
    gp_reference_free(&reference);
    return status;
}

static int write_program(const struct gp_run *run, const char *version,
                         const char *path, struct gp_err *err)
{
    struct gp_buf buf = {0};
    int status = gp_repro_cuda(run, version, &buf, err);

    if (status == 0 && strcmp(path, "-") == 0)
        fputs(gp_buf_text(&buf), stdout);
    else if (status == 0)
        status = gp_buf_save(&buf, path, err);
    gp_buf_free(&buf);
    return status;
}

/* A word for a shell. */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", stdout);
        putchar(*text);
    }
    putchar('\'');
}

static void print_command(const struct gp_run *run, const char *cublas)
{
    fputs("gemmproof run --only ", stdout);
    print_quoted(run->id);
    if (cublas) {
        fputs(" --cublas ", stdout);
        print_quoted(cublas);
    }
    putchar('\n');
}

static int repro(const struct gp_cli *cli, const struct options *options,
                 const char *id, struct gp_err *err)
{
    struct gp_plan plan = {0};
    int status = gp_run_parse(id, &plan, err);

    if (status == 0 && options->program)
        status =
            write_program(&plan.runs[0], cli->version, options->program, err);
    else if (status == 0 && options->digests)
        status = print_digests(plan.runs[0].problem, err);
    else if (status == 0)
        print_command(&plan.runs[0], options->cublas);
    gp_plan_free(&plan);
    return status;
}

int gp_cmd_repro(const struct gp_cli *cli, int argc, char **argv)
{
    struct options options = {0};
    const struct gp_opt rows[] = {
        {"--c", "FILE", GP_OPT_TEXT, &options.program,
         "write one self-contained CUDA program instead (-: standard output); "
         "nvcc -o repro FILE -lcublas"},
        {"--operands-digest", NULL, GP_OPT_FLAG, &options.digests,
         "print digests of the packed operands instead"},
        {"--cublas", "PATH", GP_OPT_TEXT, &options.cublas,
         "the libcublas that the command names"},
        {"--help", NULL, GP_OPT_FLAG, &options.help, "this text"},
        {NULL, NULL, GP_OPT_FLAG, NULL, NULL},
    };
    struct gp_opt_list rest = {0};
    struct gp_arena arena = {0};
    struct gp_err err;
    int status = GP_GREEN;

    if (gp_opt_parse(rows, argc, argv, &arena, &rest, &err) != 0) {
        status = gp_cli_usage(&err);
    } else if (options.help) {
        status = gp_cli_help("repro", rows);
    } else if (rest.count != 1) {
        gp_err_set(&err, GP_ERR_USAGE,
                   "repro takes one id, such as those of `gemmproof plan`");
        status = gp_cli_usage(&err);
    } else if (repro(cli, &options, rest.words[0], &err) != 0) {
        status = gp_cli_usage(&err);
    }
    gp_opt_list_free(&rest);
    gp_arena_free(&arena);
    return status;
}
