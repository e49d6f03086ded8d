#include "harness/engine/pool.h"

#include <stdlib.h>
#include <string.h>

enum { FAILURES_MOST = 3, GRACE_MS = 5000 };

int gp_pool_open(struct gp_pool *pool, const struct gp_pool_options *options,
                 struct gp_err *err)
{
    *pool = (struct gp_pool){
        .options = *options, .operands = {.fd = -1}, .outputs = {.fd = -1}};
    if (gp_shm_create(&pool->operands, "gemmproof-operands", true, err) != 0 ||
        gp_shm_create(&pool->outputs, "gemmproof-outputs", false, err) != 0) {
        gp_pool_close(pool);
        return -1;
    }
    return 0;
}

static void say_bye(struct gp_worker *worker)
{
    static const char bye[] = "{\"op\":\"bye\"}\n";
    struct gp_err ignored;

    if (worker->proc.pid &&
        gp_proc_send(&worker->proc, bye, sizeof bye - 1, &ignored) == 0)
        gp_proc_stop(&worker->proc, GRACE_MS);
}

static void worker_down(struct gp_worker *worker)
{
    gp_proc_stop(&worker->proc, 0);
    json_decref(worker->hello);
    worker->hello = NULL;
    worker->sequence = 0;
}

void gp_pool_close(struct gp_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        say_bye(pool->workers[i]);
        worker_down(pool->workers[i]);
        json_decref(pool->workers[i]->environment);
        json_decref(pool->workers[i]->evidence);
    }
    free(pool->workers);
    gp_shm_free(&pool->operands);
    gp_shm_free(&pool->outputs);
    gp_arena_free(&pool->arena);
    memset(pool, 0, sizeof *pool);
    pool->operands.fd = pool->outputs.fd = -1;
}

static int say_which(const struct gp_worker *worker, struct gp_err *err)
{
    bool unset = strcmp(worker->workspace, "unset") == 0;

    return gp_err_prefix(err, "%s%s%s%s%s: ", worker->backend,
                         unset ? "" : " with workspace ",
                         unset ? "" : worker->workspace,
                         *worker->env ? " and " : "", worker->env);
}

/* What its hello must hold for the harness to go on. */
static int check_hello(const json_t *hello, struct gp_err *err)
{
    const json_t *part;
    const char *text;
    int64_t number;

    if (gp_json_get_int(hello, "protocol", &number, err) ||
        gp_json_get_object(hello, "library", &part, err) ||
        gp_json_get_str(part, "name", &text, err) ||
        gp_json_get_str(part, "version", &text, err) ||
        gp_json_get_object(hello, "device", &part, err) ||
        gp_json_get_str(part, "name", &text, err) ||
        gp_json_get_int(part, "compute_capability", &number, err) ||
        gp_json_get_array(hello, "offers", &part, err) ||
        gp_json_get_array(hello, "schedules", &part, err))
        return gp_err_prefix(err, "its hello cannot be used: ");
    number = gp_json_int_or(hello, "protocol", -1);
    if (number != GP_PROTOCOL)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "it speaks protocol %lld, not %d: install program "
                          "and workers of one version",
                          (long long)number, GP_PROTOCOL);
    return 0;
}

static int start_worker(struct gp_pool *pool, struct gp_worker *worker,
                        struct gp_err *err)
{
    const int inherit[] = {pool->operands.fd, pool->outputs.fd};
    size_t name = strcspn(worker->backend, "=");
    const char *variant = worker->backend + name;
    struct gp_proc_start start = {.inherit = inherit,
                                  .inherit_count = 2,
                                  .chatter = pool->options.chatter};
    json_t *hello = gp_json_object();
    int status;

    json_decref(worker->environment);
    worker->environment = gp_json_object();
    start.path =
        gp_arena_printf(&pool->arena, "%s/gemmproof-worker-%.*s",
                        pool->options.worker_dir, (int)name, worker->backend);
    start.environment = gp_pool_environment(&pool->arena, pool->options.as_is,
                                            worker->workspace, worker->env,
                                            worker->environment);
    gp_json_set_str(hello, "op", "hello");
    gp_json_set_int(hello, "protocol", GP_PROTOCOL);
    gp_json_set_int(hello, "operands", pool->operands.fd);
    gp_json_set_int(hello, "outputs", pool->outputs.fd);
    gp_json_set_str(hello, "variant", *variant ? variant + 1 : "");
    gp_json_set_str(hello, "library",
                    pool->options.library ? pool->options.library : "");
    worker->starts++;
    status = gp_proc_start(&worker->proc, &start, err);
    if (status == 0)
        status = gp_worker_ask(worker, hello, pool->options.start_ms,
                               &worker->hello, err);
    else
        say_which(worker, err);
    if (status == 0 && check_hello(worker->hello, err) != 0)
        status = say_which(worker, err);
    json_decref(hello);
    if (status != 0) {
        worker_down(worker);
        return status;
    }
    json_decref(worker->evidence);
    worker->evidence = json_incref(json_object_get(worker->hello, "workspace"));
    return 0;
}

static struct gp_worker *find_worker(struct gp_pool *pool, const char *backend,
                                     const char *workspace, const char *env)
{
    struct gp_worker *worker;

    for (size_t i = 0; i < pool->count; i++)
        if (strcmp(pool->workers[i]->backend, backend) == 0 &&
            strcmp(pool->workers[i]->workspace, workspace) == 0 &&
            strcmp(pool->workers[i]->env, env) == 0)
            return pool->workers[i];
    worker = gp_arena_alloc(&pool->arena, sizeof *worker);
    worker->backend = gp_arena_copy(&pool->arena, backend);
    worker->workspace = gp_arena_copy(&pool->arena, workspace);
    worker->env = gp_arena_copy(&pool->arena, env);
    worker->number = (int)pool->count;
    *(struct gp_worker **)gp_grow((void **)&pool->workers, pool->count,
                                  &pool->room, sizeof worker) = worker;
    pool->count++;
    return worker;
}

int gp_pool_get(struct gp_pool *pool, const char *backend,
                const char *workspace, const char *env,
                struct gp_worker **ret_worker, bool *ret_started,
                struct gp_err *err)
{
    struct gp_worker *worker = find_worker(pool, backend, workspace, env);

    *ret_worker = worker;
    *ret_started = false;
    if (worker->down.kind != GP_ERR_NONE) {
        *err = worker->down;
        return -1;
    }
    if (worker->hello)
        return 0;
    *ret_started = true;
    if (start_worker(pool, worker, err) == 0)
        return 0;
    /* One that never greeted will not do better the next time. */
    worker->down = *err;
    return -1;
}

/* It died, was late or does not speak the protocol. */
static int worker_lost(struct gp_worker *worker, struct gp_err *err)
{
    worker->failures++;
    worker_down(worker);
    say_which(worker, err);
    if (worker->failures >= FAILURES_MOST) {
        worker->down = *err;
        gp_err_prefix(&worker->down,
                      "given up after %d failures in a row: ", FAILURES_MOST);
    }
    return -1;
}

int gp_worker_send(struct gp_worker *worker, const json_t *request,
                   struct gp_err *err)
{
    json_t *numbered = json_copy((json_t *)request);
    struct gp_buf text = {0};
    int status;

    gp_json_set_int(numbered, "seq", ++worker->asked);
    gp_json_print(&text, numbered);
    gp_buf_str(&text, "\n");
    json_decref(numbered);
    if (gp_proc_spoke(&worker->proc))
        status = gp_err_set(err, GP_ERR_BACKEND,
                            "the worker spoke without being asked");
    else
        status = gp_proc_send(&worker->proc, text.text, text.len, err);
    gp_buf_free(&text);
    return status ? worker_lost(worker, err) : 0;
}

int gp_worker_receive(struct gp_worker *worker, int64_t timeout_ms,
                      json_t **ret_reply, struct gp_err *err)
{
    struct gp_buf line = {0};
    json_t *reply = NULL;
    int status =
        gp_proc_receive(&worker->proc, &line, timeout_ms, GP_LINE_MOST, err);

    if (status == 0) {
        reply = gp_json_parse(gp_buf_text(&line), line.len, err);
        if (!reply || !json_is_boolean(json_object_get(reply, "ok")))
            status = gp_err_set(err, GP_ERR_BACKEND,
                                "the worker's answer is not a reply of the "
                                "protocol");
        else if (gp_json_int_or(reply, "seq", worker->asked) != worker->asked)
            status = gp_err_set(err, GP_ERR_BACKEND,
                                "the worker answered another request");
    }
    gp_buf_free(&line);
    if (status != 0) {
        json_decref(reply);
        return worker_lost(worker, err);
    }
    if (!gp_json_bool_or(reply, "ok", false)) {
        gp_err_set(err, gp_err_kind_of(gp_json_str_or(reply, "kind", "")), "%s",
                   gp_json_str_or(reply, "text", "no reason given"));
        json_decref(reply);
        return say_which(worker, err);
    }
    *ret_reply = reply;
    return 0;
}

int gp_worker_ask(struct gp_worker *worker, const json_t *request,
                  int64_t timeout_ms, json_t **ret_reply, struct gp_err *err)
{
    if (gp_worker_send(worker, request, err) != 0)
        return -1;
    if (gp_worker_receive(worker, timeout_ms, ret_reply, err) != 0)
        return -1;
    /* Greeting and preparing is not yet doing. */
    if (strcmp(gp_json_str_or(request, "op", ""), "execute") == 0)
        worker->failures = 0;
    return 0;
}

int gp_worker_capability(const struct gp_worker *worker)
{
    return (int)gp_json_int_or(json_object_get(worker->hello, "device"),
                               "compute_capability", 0);
}

const char *gp_pool_evidence(const struct gp_pool *pool,
                             const struct gp_worker *worker,
                             const char **ret_reason)
{
    const struct gp_worker *unset = NULL;
    const json_t *mine = json_object_get(worker->evidence, "allocations");
    const json_t *theirs;

    *ret_reason = "";
    if (!worker->evidence)
        return NULL;
    for (size_t i = 0; i < pool->count; i++)
        if (strcmp(pool->workers[i]->backend, worker->backend) == 0 &&
            strcmp(pool->workers[i]->env, worker->env) == 0 &&
            strcmp(pool->workers[i]->workspace, "unset") == 0)
            unset = pool->workers[i];
    theirs = unset ? json_object_get(unset->evidence, "allocations") : NULL;
    if (!mine || !theirs) {
        *ret_reason = gp_json_str_or(worker->evidence, "unproved",
                                     "no worker ran with the workspace unset "
                                     "beside it");
        return "unproved";
    }
    return json_equal(mine, theirs) ? "same as unset" : "effective";
}
