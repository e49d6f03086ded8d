/* Look at the machine before it is measured. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/cli.h"
#include "harness/engine/doctor.h"
#include "harness/engine/trials.h"
#include "reference/refgemm.h"

struct options {
    struct gp_opt_list backends;
    const char *cublas;
    int64_t threads, start_timeout;
    bool reference, help;
};

struct visit {
    struct gp_arena arena;
    struct gp_doctor doctor;
    bool colour;
    enum gp_doctor_state worst;
};

static void say(void *ctx, enum gp_doctor_state state, const char *about,
                const char *text)
{
    static const struct {
        const char *colour, *mark;
    } marks[] = {[GP_DOCTOR_OK] = {"\033[32m", "ok"},
                 [GP_DOCTOR_WARNING] = {"\033[33m", "--"},
                 [GP_DOCTOR_UNUSABLE] = {"\033[31m", "!!"},
                 [GP_DOCTOR_WRONG] = {"\033[31m", "!!"}};
    struct visit *visit = ctx;

    visit->worst = state > visit->worst ? state : visit->worst;
    printf("%s%s%s  %-12s %s\n", visit->colour ? marks[state].colour : "",
           marks[state].mark, visit->colour ? "\033[0m" : "", about, text);
    fflush(stdout);
}

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no && *no) && term &&
           strcmp(term, "dumb") != 0;
}

static bool listed(const char *const *words, const char *word)
{
    for (; words && *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

/* Every worker beside the program; those of `auto` are needed. */
static void visit_workers(struct visit *visit, struct gp_pool *pool,
                          const char *const *needed)
{
    static const char prefix[] = "gemmproof-worker-";
    glob_t found = {0};
    const char *pattern = gp_arena_printf(&visit->arena, "%s/%s*",
                                          pool->options.worker_dir, prefix);

    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *name =
                strrchr(found.gl_pathv[i], '/') + 1 + strlen(prefix);
            struct gp_err err;
            if (gp_backend_check(name, &err) != 0 || listed(needed, name) ||
                access(found.gl_pathv[i], X_OK) != 0)
                continue;
            /* That one greets only with a sin to commit. */
            if (strcmp(name, "faulty") == 0)
                name = "faulty=none";
            gp_doctor_worker(&visit->doctor, pool, name,
                             strcmp(name, "cublas") != 0);
        }
    globfree(&found);
    for (; *needed; needed++)
        gp_doctor_worker(&visit->doctor, pool, *needed, true);
}

static void visit_devices(struct visit *visit, bool nvidia,
                          const char *const *chosen)
{
    if (nvidia)
        gp_doctor_say(&visit->doctor, GP_DOCTOR_OK, "device",
                      "this machine shows an NVIDIA device: verify uses %s",
                      chosen[0]);
    else if (strcmp(chosen[0], "cublas") == 0)
        gp_doctor_say(&visit->doctor, GP_DOCTOR_UNUSABLE, "device",
                      "this machine shows no NVIDIA device, and "
                      "GEMMPROOF_REQUIRE_GPU asks for one: unset it to use "
                      "the CPU workers");
    else
        gp_doctor_say(&visit->doctor, GP_DOCTOR_OK, "device",
                      "this machine shows no NVIDIA device: verify uses the "
                      "CPU workers (%s, %s)",
                      chosen[0], chosen[1]);
}

/* The workers, as verify would start them. */
static int visit_workers_all(struct visit *visit, const struct options *options,
                             struct gp_err *err)
{
    bool nvidia = gp_cli_nvidia_device();
    const char *const *chosen = gp_cli_auto_backends(nvidia);
    int64_t start = options->start_timeout ? options->start_timeout : 120;
    const struct gp_pool_options wanted = {
        .worker_dir = gp_cli_worker_folder(&visit->arena),
        .library = options->cublas,
        .chatter = STDERR_FILENO,
        .start_ms = start * 1000,
        .execute_ms = start * 1000};
    struct gp_pool pool;

    if (gp_pool_open(&pool, &wanted, err) != 0)
        return -1;
    visit_devices(visit, nvidia, chosen);
    if (options->backends.count)
        for (size_t i = 0; i < options->backends.count; i++)
            gp_doctor_worker(&visit->doctor, &pool, options->backends.words[i],
                             true);
    else
        visit_workers(visit, &pool, chosen);
    gp_pool_close(&pool);
    return 0;
}

/* Every kernel of the reference's library, in processes of this program. */
static void visit_kernels(struct visit *visit)
{
    struct gp_reference_library library;
    struct gp_trials trials = {.program = "/proc/self/exe",
                               .timeout_ms = 120000};

    gp_reference_library(&library);
    trials.kernel = library.kernel;
    trials.threads = library.threads;
    gp_trials_run(&trials, &visit->doctor);
}

static int visit_all(struct visit *visit, const struct gp_cli *cli,
                     const struct options *options, struct gp_err *err)
{
    static const char *const ends[] = {
        [GP_DOCTOR_OK] = "all ok",
        [GP_DOCTOR_WARNING] = ("nothing that judges is wrong; see the lines "
                               "marked --"),
        [GP_DOCTOR_UNUSABLE] = "something that should be there cannot be used",
        [GP_DOCTOR_WRONG] = "results here cannot be trusted"};

    gp_doctor_say(&visit->doctor, GP_DOCTOR_OK, "program",
                  "gemmproof %s (%s) in %s", cli->version, cli->commit,
                  gp_cli_worker_folder(&visit->arena));
    if (!options->reference && visit_workers_all(visit, options, err) != 0)
        return -1;
    if (options->threads)
        gp_reference_set_threads((int)options->threads);
    gp_doctor_reference(&visit->doctor);
    if (options->reference)
        visit_kernels(visit);
    gp_doctor_environment(&visit->doctor);
    printf("doctor: %s\n", ends[visit->worst]);
    return 0;
}

static int check_backends(const struct gp_opt_list *backends,
                          struct gp_err *err)
{
    for (size_t i = 0; i < backends->count; i++)
        if (gp_backend_check(backends->words[i], err) != 0)
            return -1;
    return 0;
}

int gp_cmd_doctor(const struct gp_cli *cli, int argc, char **argv)
{
    struct options options = {0};
    const struct gp_opt rows[] = {
        {"--backend", "NAME", GP_OPT_LIST, &options.backends,
         "only these workers, which then must greet"},
        {"--cublas", "PATH", GP_OPT_TEXT, &options.cublas, "this libcublas"},
        {"--reference", NULL, GP_OPT_FLAG, &options.reference,
         "instead of workers: every kernel of OpenBLAS against exact "
         "arithmetic, in about a minute"},
        {"--threads", "N", GP_OPT_WHOLE, &options.threads,
         "threads of the reference's OpenBLAS"},
        {"--start-timeout", "S", GP_OPT_WHOLE, &options.start_timeout,
         "seconds a worker has to start (120)"},
        {"--help", NULL, GP_OPT_FLAG, &options.help, "this text"},
        {NULL, NULL, GP_OPT_FLAG, NULL, NULL},
    };
    static const int statuses[] = {[GP_DOCTOR_OK] = GP_GREEN,
                                   [GP_DOCTOR_WARNING] = GP_GREEN,
                                   [GP_DOCTOR_UNUSABLE] = GP_UNTESTED,
                                   [GP_DOCTOR_WRONG] = GP_FAILED};
    struct visit visit = {.colour = wants_colour()};
    struct gp_opt_list rest = {0};
    struct gp_err err;
    int status;

    visit.doctor = (struct gp_doctor){say, &visit};
    if (gp_opt_parse(rows, argc, argv, &visit.arena, &rest, &err) != 0) {
        status = gp_cli_usage(&err);
    } else if (options.help) {
        status = gp_cli_help("doctor", rows);
    } else if (rest.count) {
        gp_err_set(&err, GP_ERR_USAGE, "doctor takes no '%.40s'",
                   rest.words[0]);
        status = gp_cli_usage(&err);
    } else if (check_backends(&options.backends, &err) != 0 ||
               visit_all(&visit, cli, &options, &err) != 0) {
        status = gp_cli_usage(&err);
    } else {
        status = statuses[visit.worst];
    }
    gp_opt_list_free(&rest);
    gp_opt_list_free(&options.backends);
    gp_arena_free(&visit.arena);
    return status;
}
