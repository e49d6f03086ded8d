/* The pool against fake workers: started once, greeted, replaced after a
 * death, given up after three. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/pool.h"
#include "tests/unit/folder.h"

enum { LONG_MS = 60000 };

/* A hello that is good, with this protocol and this instead of "schedules". */
#define HELLO(protocol, schedules)                                             \
    "echo '{\"ok\":true,\"protocol\":" protocol ",\"worker\":\"fake\","        \
    "\"library\":{\"name\":\"fake\",\"version\":\"1\",\"path\":\"\"},"         \
    "\"device\":{\"name\":\"toaster\",\"compute_capability\":90},"             \
    "\"offers\":[]," schedules ",\"faults\":[]}'\n"
#define GOOD HELLO("1", "\"schedules\":[\"serial\"]")

struct bench {
    struct folder folder;
    struct gp_pool pool;
    struct gp_worker *worker; /* of the last get */
    bool started;
    struct gp_err err;
};

/* A pool over a folder where gemmproof-worker-fake is this script. */
static void bench_make(struct bench *bench, const char *lines)
{
    struct gp_pool_options options = {
        .chatter = STDERR_FILENO, .start_ms = LONG_MS, .execute_ms = LONG_MS};
    char text[2000];

    memset(bench, 0, sizeof *bench);
    folder_make(&bench->folder);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", lines);
    folder_write(&bench->folder, "gemmproof-worker-fake", text, 0755);
    options.worker_dir = bench->folder.path;
    cr_assert_eq(gp_pool_open(&bench->pool, &options, &bench->err), 0, "%s",
                 bench->err.text);
}

static void bench_free(struct bench *bench)
{
    gp_pool_close(&bench->pool);
    folder_remove(&bench->folder);
}

static int get(struct bench *bench, const char *workspace)
{
    bench->err = (struct gp_err){0};
    return gp_pool_get(&bench->pool, "fake", workspace, "", &bench->worker,
                       &bench->started, &bench->err);
}

static int ask(struct bench *bench, int64_t timeout_ms, int64_t *ret_n)
{
    json_t *request = json_pack("{s:s}", "op", "execute"), *reply = NULL;
    int status;

    bench->err = (struct gp_err){0};
    status =
        gp_worker_ask(bench->worker, request, timeout_ms, &reply, &bench->err);
    if (status == 0 && ret_n)
        *ret_n = gp_json_int_or(reply, "n", -1);
    json_decref(request);
    json_decref(reply);
    return status;
}

static void says(const struct bench *bench, enum gp_err_kind kind,
                 const char *words)
{
    cr_assert_eq(bench->err.kind, kind, "%s", bench->err.text);
    cr_assert_not_null(strstr(bench->err.text, words), "'%s' has no '%s'",
                       bench->err.text, words);
}

Test(pool, one_process_for_each_setting_started_once)
{
    struct gp_worker *unset;
    struct bench bench;
    int64_t n = 0;

    bench_make(&bench,
               "read hello\n" GOOD "n=0; while read line; do n=$((n + 1));\n"
               "echo '{\"ok\":true,\"n\":'$n'}'; done");
    cr_assert_eq(get(&bench, "unset"), 0, "%s", bench.err.text);
    cr_assert(bench.started);
    unset = bench.worker;
    cr_assert_eq(gp_worker_capability(unset), 90);
    cr_assert_eq(ask(&bench, LONG_MS, &n), 0);
    cr_assert_eq(n, 1);
    cr_assert_eq(get(&bench, "unset"), 0);
    cr_assert_not(bench.started);
    cr_assert_eq(bench.worker, unset);
    cr_assert_eq(ask(&bench, LONG_MS, &n), 0);
    cr_assert_eq(n, 2);
    cr_assert_eq(get(&bench, "16:8"), 0);
    cr_assert(bench.started);
    cr_assert_neq(bench.worker, unset);
    cr_assert_eq(bench.worker->number, 1);
    cr_assert_eq(ask(&bench, LONG_MS, &n), 0);
    cr_assert_eq(n, 1);
    cr_assert_eq(unset->starts, 1);
    bench_free(&bench);
}

/* One that never greets will not do better the next time. */
static void never_up(const char *lines, enum gp_err_kind kind,
                     const char *words)
{
    struct bench bench;
    char first[sizeof bench.err.text];

    bench_make(&bench, lines);
    cr_assert_eq(get(&bench, "unset"), -1, "%s", lines);
    says(&bench, kind, words);
    says(&bench, kind, "fake: ");
    cr_assert(bench.started && bench.worker && bench.worker->starts == 1);
    strcpy(first, bench.err.text);
    cr_assert_eq(get(&bench, "unset"), -1);
    cr_assert_not(bench.started);
    cr_assert_eq(bench.worker->starts, 1);
    cr_assert_str_eq(bench.err.text, first);
    bench_free(&bench);
}

Test(pool, a_worker_that_does_not_greet)
{
    never_up("read hello; exit 7", GP_ERR_CRASH, "status 7");
    never_up("read hello; kill -9 $$", GP_ERR_CRASH, "signal 9");
    never_up("read hello; echo good morning; read x", GP_ERR_BACKEND,
             "not a reply of the protocol");
    never_up("read hello; echo '[true]'; read x", GP_ERR_BACKEND,
             "not a reply of the protocol");
    never_up("read hello; echo '{\"greeting\":\"hi\"}'; read x", GP_ERR_BACKEND,
             "not a reply of the protocol");
    never_up("read hello; echo '{\"ok\":\"yes\"}'; read x", GP_ERR_BACKEND,
             "not a reply of the protocol");
    never_up("read hello; echo '{\"ok\":true}'; read x", GP_ERR_BACKEND,
             "its hello cannot be used");
    never_up("read hello\n" HELLO("1", "\"schedules\":7") "read x",
             GP_ERR_BACKEND, "schedules");
    never_up("read hello; echo '{\"ok\":false,\"kind\":\"unsupported\","
             "\"text\":\"no device here\"}'; read x",
             GP_ERR_UNSUPPORTED, "no device here");
    never_up("read hello; echo '{\"ok\":false}'; read x", GP_ERR_BACKEND,
             "no reason given");
}

/* The version is that of the protocol: another one is refused. */
Test(pool, a_worker_of_another_protocol)
{
    never_up("read hello\n" HELLO("2", "\"schedules\":[]") "read x",
             GP_ERR_UNSUPPORTED, "protocol");
}

Test(pool, a_worker_that_is_not_there)
{
    struct bench bench;

    bench_make(&bench, "");
    unlink(folder_file(&bench.folder, "gemmproof-worker-fake"));
    cr_assert_eq(get(&bench, "unset"), -1);
    says(&bench, GP_ERR_BACKEND, "there is no worker");
    says(&bench, GP_ERR_BACKEND, "gemmproof-worker-fake");
    bench_free(&bench);
}

/* It dies at every question; it is started again twice, then given up. The
 * sentence names backend and workspace. */
Test(pool, three_deaths_in_a_row)
{
    struct bench bench;

    bench_make(&bench, "read hello\n" GOOD "read line; kill -9 $$");
    for (int death = 1; death <= 3; death++) {
        cr_assert_eq(get(&bench, "16:8"), 0, "%s", bench.err.text);
        cr_assert(bench.started);
        cr_assert_eq(bench.worker->starts, death);
        cr_assert_eq(ask(&bench, LONG_MS, NULL), -1);
        says(&bench, GP_ERR_CRASH, "fake with ");
        says(&bench, GP_ERR_CRASH, "16:8: ");
        says(&bench, GP_ERR_CRASH, "signal 9");
    }
    cr_assert_eq(get(&bench, "16:8"), -1);
    cr_assert_not(bench.started);
    says(&bench, GP_ERR_CRASH, "given up after 3 failures in a row");
    cr_assert_eq(bench.worker->starts, 3);
    bench_free(&bench);
}

/* An answer in between forgives the deaths before. */
Test(pool, deaths_that_are_not_in_a_row)
{
    struct bench bench;

    bench_make(&bench,
               "read hello\n" GOOD "read line; echo '{\"ok\":true,\"n\":1}'\n"
               "read line; exit 9");
    for (int death = 1; death <= 5; death++) {
        cr_assert_eq(get(&bench, "unset"), 0, "%s", bench.err.text);
        cr_assert_eq(bench.worker->starts, death);
        cr_assert_eq(ask(&bench, LONG_MS, NULL), 0);
        cr_assert_eq(ask(&bench, LONG_MS, NULL), -1);
        says(&bench, GP_ERR_CRASH, "status 9");
    }
    bench_free(&bench);
}

/* An error that it reports itself leaves it up; what it holds is kept. */
Test(pool, a_worker_that_says_no)
{
    struct bench bench;

    bench_make(&bench,
               "read hello\n" GOOD "while read line; do echo '{\"ok\":false,"
               "\"kind\":\"system\",\"text\":\"no memory\"}'; done");
    cr_assert_eq(get(&bench, "unset"), 0);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(ask(&bench, LONG_MS, NULL), -1);
        says(&bench, GP_ERR_SYSTEM, "fake: no memory");
        cr_assert_eq(get(&bench, "unset"), 0);
        cr_assert_not(bench.started);
    }
    bench_free(&bench);
}

Test(pool, late_and_garbled_answers)
{
    struct bench bench;

    bench_make(&bench, "read hello\n" GOOD "read line; read never");
    cr_assert_eq(get(&bench, "unset"), 0);
    cr_assert_eq(ask(&bench, 50, NULL), -1);
    says(&bench, GP_ERR_TIMEOUT, "did not answer");
    cr_assert_null(bench.worker->hello);
    cr_assert_eq(bench.worker->proc.pid, 0);
    bench_free(&bench);

    bench_make(&bench, "read hello\n" GOOD
                       "while read line; do echo '{\"ok\":tru'; done");
    cr_assert_eq(get(&bench, "unset"), 0);
    cr_assert_eq(ask(&bench, LONG_MS, NULL), -1);
    says(&bench, GP_ERR_BACKEND, "not a reply of the protocol");
    cr_assert_null(bench.worker->hello);
    cr_assert_eq(get(&bench, "unset"), 0);
    cr_assert(bench.started);
    bench_free(&bench);
}

/* The hello tells it the protocol, the descriptors, variant and library. */
Test(pool, what_a_worker_is_told)
{
    struct gp_worker *worker;
    struct bench bench;
    bool started;
    char line[400] = "";
    json_t *told;
    FILE *file;

    bench_make(&bench,
               "read -r hello; echo \"$hello\" > \"${0%/*}/told\"\n" GOOD
               "read line");
    cr_assert_eq(gp_pool_get(&bench.pool, "fake=some-variant", "unset", "",
                             &worker, &started, &bench.err),
                 0, "%s", bench.err.text);
    file = fopen(folder_file(&bench.folder, "told"), "r");
    cr_assert(file && fgets(line, sizeof line, file));
    fclose(file);
    told = json_loads(line, 0, NULL);
    cr_assert_str_eq(gp_json_str_or(told, "op", ""), "hello");
    cr_assert_eq(gp_json_int_or(told, "protocol", -1), GP_PROTOCOL);
    cr_assert_eq(gp_json_int_or(told, "operands", -1), bench.pool.operands.fd);
    cr_assert_eq(gp_json_int_or(told, "outputs", -1), bench.pool.outputs.fd);
    cr_assert_str_eq(gp_json_str_or(told, "variant", ""), "some-variant");
    cr_assert_str_eq(gp_json_str_or(told, "library", "?"), "");
    json_decref(told);
    bench_free(&bench);
}

/* --- Environment
 * --------------------------------------------------------------- */

static const char *value_of(const char *const *list, const char *name)
{
    size_t len = strlen(name);

    for (; *list; list++)
        if (strncmp(*list, name, len) == 0 && (*list)[len] == '=')
            return *list + len + 1;
    return NULL;
}

static const char *const taken_out[] = {"CUBLAS_WORKSPACE_CONFIG",
                                        "CUBLAS_LOGINFO_DBG",
                                        "CUBLASLT_LOG_LEVEL",
                                        "NVIDIA_TF32_OVERRIDE",
                                        "CUDA_LAUNCH_BLOCKING",
                                        "CUDA_FORCE_PTX_JIT",
                                        "CUDA_DISABLE_PTX_JIT",
                                        "CUDA_MODULE_LOADING",
                                        "CUDA_DEVICE_MAX_CONNECTIONS",
                                        "CUDA_INJECTION64_PATH",
                                        "LD_PRELOAD",
                                        "OMP_NUM_THREADS",
                                        "GOTO_NUM_THREADS",
                                        "OPENBLAS_NUM_THREADS",
                                        "OPENBLAS_VERBOSE"};
static const char *const passed[] = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
                                     "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
                                     "GP_SOMETHING_ELSE"};

enum {
    TAKEN_OUT = sizeof taken_out / sizeof *taken_out,
    PASSED = sizeof passed / sizeof *passed
};

static void set_all(void)
{
    for (int i = 0; i < TAKEN_OUT; i++)
        setenv(taken_out[i], "evil", 1);
    for (int i = 0; i < PASSED; i++)
        setenv(passed[i], "good", 1);
}

Test(pool, environment_of_a_worker)
{
    struct gp_arena arena = {0};
    json_t *set = gp_json_object(), *recorded;
    const char *const *list;

    set_all();
    list = gp_pool_environment(&arena, false, "unset", "", set);
    for (int i = 0; i < TAKEN_OUT; i++)
        cr_assert_null(value_of(list, taken_out[i]), "%s", taken_out[i]);
    for (int i = 0; i < PASSED; i++)
        cr_assert_str_eq(value_of(list, passed[i]), "good");
    cr_assert_eq(json_object_size(set), 0);
    list = gp_pool_environment(&arena, false, "4096:8", "", set);
    cr_assert_str_eq(value_of(list, "CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
    cr_assert_str_eq(gp_json_str_or(set, "CUBLAS_WORKSPACE_CONFIG", ""),
                     ":4096:8");
    recorded = gp_pool_recorded();
    for (int i = 0; i < PASSED - 1; i++)
        cr_assert_str_eq(gp_json_str_or(recorded, passed[i], ""), "good");
    cr_assert_null(json_object_get(recorded, "GP_SOMETHING_ELSE"));
    json_decref(recorded);
    json_decref(set);
    gp_arena_free(&arena);
}

/* --as-is keeps the caller's, writes it down, and the workspace of the run
 * stands all the same. */
Test(pool, environment_as_it_is)
{
    struct gp_arena arena = {0};
    json_t *set = gp_json_object();
    const char *const *list;

    set_all();
    list = gp_pool_environment(&arena, true, "unset", "", set);
    cr_assert_str_eq(value_of(list, "NVIDIA_TF32_OVERRIDE"), "evil");
    cr_assert_str_eq(gp_json_str_or(set, "NVIDIA_TF32_OVERRIDE", ""), "evil");
    cr_assert_null(value_of(list, "CUBLAS_WORKSPACE_CONFIG"));
    list = gp_pool_environment(&arena, true, "16:8", "", set);
    cr_assert_str_eq(value_of(list, "CUBLAS_WORKSPACE_CONFIG"), ":16:8");
    json_decref(set);
    gp_arena_free(&arena);
}
