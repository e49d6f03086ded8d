#include "harness/engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/delivered.h"
#include "harness/engine/growth.h"
#include "harness/engine/prefetch.h"
#include "harness/engine/images.h"
#include "harness/engine/relate.h"

enum { TOGETHER_BYTES = 1 << 22, HAVE_MOST = 64 }; /* operands: all at once */

/* What the engine holds while it runs. */
struct state {
    struct gp_engine *engine;
    struct gp_counts counts;
    struct gp_prefetch prefetch;
    struct gp_pending now; /* the current problem's */
    int64_t operands_id;
    size_t a_at, b_at, c_at;          /* of the current problem's operands */
    struct gp_judge_cache cache;      /* of the current problem */
    struct gp_result *results;        /* of the current problem's runs */
    struct gp_digest have[HAVE_MOST]; /* sent with the last execute */
    size_t have_count;
    struct gp_required required;
    struct gp_delivered delivered;
    struct gp_growing growing;
    double false_alarm; /* of one judgement */
    json_t *tested;     /* "backend type" -> true once judged */
    struct gp_images images;
};

static size_t page_round(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096;
}

/* Put the operands where every worker reads them. */
static int share_operands(struct state *state, struct gp_err *err)
{
    const struct gp_reference *reference = &state->now.reference;
    const struct gp_gemm *gemm = &reference->gemm;
    struct gp_pool *pool = state->engine->pool;
    size_t a = (size_t)gp_gemm_count(gemm, GP_A) * gemm->in->bytes;
    size_t b = (size_t)gp_gemm_count(gemm, GP_B) * gemm->in->bytes;
    size_t c =
        reference->c ? (size_t)gp_gemm_count(gemm, GP_C) * gemm->out->bytes : 0;

    state->operands_id++;
    state->a_at = 0;
    state->b_at = page_round(a);
    state->c_at = state->b_at + page_round(b);
    if (gp_shm_grow(&pool->operands, state->c_at + page_round(c), err) != 0 ||
        gp_shm_grow(&pool->outputs,
                    gp_wire_output_bytes(gemm) * GP_OUTPUTS_MOST, err) != 0)
        return -1;
    memcpy(pool->operands.data + state->a_at, reference->a, a);
    memcpy(pool->operands.data + state->b_at, reference->b, b);
    if (c)
        memcpy(pool->operands.data + state->c_at, reference->c, c);
    return 0;
}

/* --- One run ------------------------------------------------------------- */

static json_t *prepare_request(const struct state *state,
                               const struct gp_run *run)
{
    json_t *request = gp_json_object(), *problem = gp_json_object();
    json_t *wanted = gp_json_object();
    struct gp_request arithmetic;

    gp_run_request(run, &arithmetic);
    gp_wire_put_gemm(problem, &run->problem->gemm);
    gp_wire_put_request(wanted, &arithmetic);
    gp_json_set_str(request, "op", "prepare");
    gp_json_set(request, "problem", problem);
    gp_json_set(request, "request", wanted);
    gp_json_set_int(request, "operands_id", state->operands_id);
    gp_json_set_int(request, "a", (int64_t)state->a_at);
    gp_json_set_int(request, "b", (int64_t)state->b_at);
    gp_json_set_int(request, "c", (int64_t)state->c_at);
    gp_json_set_bool(request, "c_given", state->now.reference.c != NULL);
    return request;
}

static int ask_prepare(struct state *state, struct gp_worker *worker,
                       const struct gp_run *run, struct gp_err *err)
{
    json_t *request = prepare_request(state, run), *reply = NULL;
    int status = gp_worker_ask(
        worker, request, state->engine->pool->options.execute_ms, &reply, err);

    json_decref(request);
    json_decref(reply);
    return status;
}

/* The first run of a worker among these, NULL if it has none to prepare. */
static const struct gp_run *first_of(const struct gp_worker *worker,
                                     const struct gp_run *runs, size_t count)
{
    struct gp_request request;

    for (size_t i = 0; worker->hello && i < count; i++) {
        if (strcmp(runs[i].backend, worker->backend) != 0 ||
            strcmp(runs[i].workspace, worker->workspace) != 0 ||
            strcmp(runs[i].env, worker->env) != 0)
            continue;
        gp_run_request(&runs[i], &request);
        if (gp_wire_offered(json_object_get(worker->hello, "offers"),
                            &runs[i].problem->gemm, &request))
            return &runs[i];
    }
    return NULL;
}

/* Large operands are taken by all workers at once: copying them is most of the
 * time of a small product. What goes wrong is told when the run is made. */
static void prepare_together(struct state *state, const struct gp_run *runs,
                             size_t count)
{
    struct gp_pool *pool = state->engine->pool;
    bool *asked = calloc(pool->count + 1, sizeof *asked);
    struct gp_err ignored;
    json_t *request, *reply;

    for (size_t w = 0; asked && w < pool->count; w++) {
        const struct gp_run *run = first_of(pool->workers[w], runs, count);
        if (!run || gp_engine_left_out(state->engine, run))
            continue;
        request = prepare_request(state, run);
        asked[w] = gp_worker_send(pool->workers[w], request, &ignored) == 0;
        json_decref(request);
    }
    for (size_t w = 0; asked && w < pool->count; w++) {
        reply = NULL;
        if (asked[w] &&
            gp_worker_receive(pool->workers[w], pool->options.execute_ms,
                              &reply, &ignored) == 0)
            json_decref(reply);
    }
    free(asked);
}

/* Outputs that were measured already stay where they are. */
static void set_have(struct state *state, const struct gp_worker *worker,
                     const struct gp_run *run, json_t *request)
{
    struct gp_bound bound;
    char text[GP_DIGEST_TEXT];
    json_t *have = gp_json_array();

    gp_judge_bound(run, &state->now.reference, gp_worker_capability(worker),
                   &bound);
    /* A dump needs every output. */
    state->have_count =
        state->engine->dump
            ? 0
            : gp_judge_have(&state->cache, run, &bound, state->have, HAVE_MOST);
    for (size_t i = 0; i < state->have_count; i++) {
        gp_wire_digest_text(&state->have[i], text);
        gp_json_append(have, json_string(text));
    }
    gp_json_set(request, "have", have);
}

static int ask_execute(struct state *state, struct gp_worker *worker,
                       struct gp_result *result, struct gp_err *err)
{
    const struct gp_run *run = result->run;
    json_t *request = gp_json_object(), *reply = NULL;
    struct gp_buf fault = {0};
    /* 20 times a slow estimate: 2 GFLOP/s on a CPU, 1 TFLOP/s on a GPU. */
    double rate = gp_worker_capability(worker) ? 1e12 : 2e9;
    double estimate_ms =
        gp_gemm_flops(&run->problem->gemm) * (double)run->repeats / rate * 1e3;
    int status;

    gp_fault_print(&run->fault, &fault);
    gp_json_set_str(request, "op", "execute");
    gp_json_set_str(request, "schedule", run->schedule->name);
    gp_json_set_int(request, "number", run->schedule_number);
    gp_json_set_int(request, "repeats", run->repeats);
    gp_json_set_int(request, "room", GP_OUTPUTS_MOST);
    gp_json_set_str(request, "fault", gp_buf_text(&fault));
    gp_buf_free(&fault);
    set_have(state, worker, run, request);
    status = gp_worker_ask(worker, request,
                           state->engine->pool->options.execute_ms +
                               (int64_t)(20 * estimate_ms),
                           &reply, err);
    json_decref(request);
    if (status == 0) {
        result->sequence = worker->sequence++;
        status = gp_wire_get_reply(reply, run->repeats, &result->reply, err);
        if (status != 0)
            gp_err_prefix(err, "%s: the reply cannot be used: ", run->backend);
        json_decref(reply);
    }
    return status;
}

static int has_schedule(const struct gp_worker *worker, const char *name)
{
    const json_t *array = json_object_get(worker->hello, "schedules");

    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (text && strcmp(text, name) == 0)
            return 1;
    }
    return 0;
}

static void skip(struct gp_result *result, const char *reason)
{
    result->verdict = GP_SKIP;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

/* Judge what is in the outputs, and set aside what is known. */
static int judge(struct state *state, const struct gp_worker *worker,
                 struct gp_result *result)
{
    const struct gp_pool *pool = state->engine->pool;
    const json_t *device = json_object_get(worker->hello, "device");
    const json_t *library = json_object_get(worker->hello, "library");
    size_t bytes = gp_wire_output_bytes(&result->run->problem->gemm);
    const struct gp_judge_about about = {
        .compute_capability = gp_worker_capability(worker),
        .delivered = gp_delivered_find_word(&state->delivered, result->run),
        .false_alarm = state->false_alarm};

    if (gp_judge_digests(result, pool->outputs.data, bytes, state->have,
                         state->have_count, &result->err) != 0)
        return -1;
    gp_judge(result, &state->now.reference, pool->outputs.data, bytes, &about,
             &state->cache);
    gp_known_apply(state->engine->known, gp_json_str_or(device, "name", ""),
                   gp_json_str_or(library, "version", ""), result);
    if (state->engine->dump && result->verdict == GP_FAIL)
        gp_dump_run(state->engine->dump, result, &state->now.reference,
                    pool->outputs.data, bytes);
    return 0;
}

/* Through its worker, up to a result without a verdict on the journal. */
static int perform(struct state *state, struct gp_result *result,
                   struct gp_err *err)
{
    const struct gp_run *run = result->run;
    struct gp_pool *pool = state->engine->pool;
    struct gp_request request;
    struct gp_worker *worker;
    bool started = false;
    int status;

    if (gp_engine_left_out(state->engine, run)) {
        skip(result, "over --max-flops");
        return 0;
    }
    status = gp_pool_get(pool, run->backend, run->workspace, run->env, &worker,
                         &started, &result->err);
    result->worker = worker->number;
    if (started && gp_journal_worker(state->engine->journal, worker, err) != 0)
        return -1;
    if (status == 0) {
        gp_run_request(run, &request);
        if (!gp_wire_offered(json_object_get(worker->hello, "offers"),
                             &run->problem->gemm, &request) ||
            !has_schedule(worker, run->schedule->name)) {
            skip(result, GP_NOT_OFFERED);
            return 0;
        }
        status = state->now.status;
        if (status != 0)
            result->err = state->now.err;
    }
    if (status == 0)
        status = ask_prepare(state, worker, run, &result->err);
    if (status == 0)
        status = ask_execute(state, worker, result, &result->err);
    if (status == 0)
        status = judge(state, worker, result);
    if (status != 0)
        result->verdict = GP_ERROR;
    return 0;
}

/* A backend and type is tested once a run of it passed or failed; a worker
 * that does not offer the type at all is not asked to. */
static void mark_tested(struct state *state, const struct gp_result *result)
{
    const struct gp_gemm *gemm = &result->run->problem->gemm;
    bool tested = result->verdict == GP_PASS || result->verdict == GP_FAIL;
    char key[200];

    if (result->verdict == GP_SKIP &&
        strcmp(result->reason, GP_NOT_OFFERED) == 0)
        return;
    snprintf(key, sizeof key, "%.150s %s:%s", result->run->backend,
             gemm->in->name, gemm->out->name);
    if (tested || !json_object_get(state->tested, key))
        gp_json_set_bool(state->tested, key, tested);
}

static int one_run(struct state *state, struct gp_result *result,
                   struct gp_err *err)
{
    struct gp_engine *engine = state->engine;

    if (perform(state, result, err) != 0 ||
        gp_journal_run(engine->journal, result, err) != 0)
        return -1;
    gp_delivered_keep(&state->delivered, result);
    gp_growing_keep(&state->growing, result);
    for (int i = 0; i < result->findings_count; i++) {
        if (result->findings[i].verdict == GP_SKIP)
            continue; /* nothing was judged */
        gp_required_judged(&state->required, result->run,
                           result->findings[i].check);
        gp_counts_judgement(&state->counts, result->findings[i].check);
        state->counts.alarms_expected += result->findings[i].false_alarm;
    }
    gp_counts_run(&state->counts, result->verdict, result->flags);
    mark_tested(state, result);
    if (engine->progress)
        engine->progress(engine->progress_ctx, result, &state->counts);
    return 0;
}

/* --- The whole plan ------------------------------------------------------- */

static int one_problem(struct state *state, const struct gp_run *runs,
                       size_t count, struct gp_err *err)
{
    int status = 0;

    state->results = calloc(count, sizeof *state->results);
    if (!state->results)
        gp_arena_out_of_memory(count * sizeof *state->results);
    if (state->now.status == 0 && share_operands(state, &state->now.err) != 0)
        state->now.status = -1;
    if (state->now.status == 0 && state->c_at >= TOGETHER_BYTES)
        prepare_together(state, runs, count);
    for (size_t i = 0; i < count && status == 0; i++) {
        state->results[i] = (struct gp_result){.run = &runs[i], .worker = -1};
        status = one_run(state, &state->results[i], err);
    }
    if (status == 0)
        status = gp_relate(state->engine->journal, &state->required,
                           &state->counts, state->results, count, err);
    gp_images_add(&state->images, state->results, count);
    for (size_t i = 0; i < count; i++)
        gp_result_free(&state->results[i]);
    free(state->results);
    gp_judge_cache_free(&state->cache);
    gp_reference_free(&state->now.reference);
    return status;
}

static size_t runs_of_problem(const struct gp_plan *plan, size_t from)
{
    size_t to = from;

    while (to < plan->runs_count &&
           plan->runs[to].problem == plan->runs[from].problem)
        to++;
    return to - from;
}

/* Problems in the order of the runs, without those whose runs are all left
 * out. The caller frees the list. */
static const struct gp_problem **needed(const struct gp_engine *engine,
                                        size_t *ret_count)
{
    const struct gp_plan *plan = engine->plan;
    const struct gp_problem **problems =
        calloc(plan->runs_count + 1, sizeof *problems);

    if (!problems)
        gp_arena_out_of_memory(plan->runs_count * sizeof *problems);
    *ret_count = 0;
    for (size_t i = 0; i < plan->runs_count; i++) {
        const struct gp_problem *problem = plan->runs[i].problem;
        if (!gp_engine_left_out(engine, &plan->runs[i]) &&
            (*ret_count == 0 || problems[*ret_count - 1] != problem))
            problems[(*ret_count)++] = problem;
    }
    return problems;
}

bool gp_engine_left_out(const struct gp_engine *engine,
                        const struct gp_run *run)
{
    return engine->max_flops > 0 && gp_backend_on_cpu(run->backend) &&
           gp_gemm_flops(&run->problem->gemm) > engine->max_flops;
}

static bool untested(const json_t *tested)
{
    void *at = json_object_iter((json_t *)tested);

    for (; at; at = json_object_iter_next((json_t *)tested, at))
        if (json_is_false(json_object_iter_value(at)))
            return true;
    return false;
}

int gp_engine_run(struct gp_engine *engine, struct gp_counts *ret_counts,
                  bool *ret_untested, struct gp_err *err)
{
    const struct gp_plan *plan = engine->plan;
    struct state *state = calloc(1, sizeof *state);
    const struct gp_problem **problems;
    size_t problems_count, unmet = 0;
    int status = 0;

    if (!state)
        gp_arena_out_of_memory(sizeof *state);
    state->engine = engine;
    state->counts.planned = (int64_t)plan->runs_count;
    state->tested = gp_json_object();
    state->false_alarm = gp_judge_false_alarm(plan);
    gp_required_open(&state->required, plan);
    gp_delivered_open(&state->delivered);
    gp_growing_open(&state->growing);
    problems = needed(engine, &problems_count);
    gp_prefetch_open(&state->prefetch, problems, problems_count);
    for (size_t at = 0; at < plan->runs_count && status == 0;) {
        size_t count = runs_of_problem(plan, at), next = state->prefetch.taken;
        state->now = (struct gp_pending){.status = -1};
        if (next < problems_count && problems[next] == plan->runs[at].problem)
            gp_prefetch_take(&state->prefetch, &state->now);
        status = one_problem(state, &plan->runs[at], count, err);
        at += count;
    }
    gp_prefetch_close(&state->prefetch);
    free(problems);
    for (size_t i = 0; i < engine->pool->count && status == 0; i++)
        status = gp_journal_workspace(engine->journal, engine->pool,
                                      engine->pool->workers[i], err);
    if (status == 0)
        status =
            gp_growing_end(&state->growing, engine->journal, &state->required,
                           &state->counts, state->false_alarm, err);
    if (status == 0)
        status = gp_images_relate(&state->images, engine->journal,
                                  &state->required, &state->counts, err);
    if (status == 0)
        status = gp_required_end(&state->required, engine->journal,
                                 &state->counts, &unmet, err);
    gp_required_close(&state->required);
    gp_delivered_close(&state->delivered);
    gp_growing_close(&state->growing);
    *ret_counts = state->counts;
    *ret_untested = unmet > 0 || untested(state->tested);
    json_decref(state->tested);
    free(state);
    return status;
}

double gp_engine_bytes(const struct gp_engine *engine,
                       const struct gp_problem **ret_largest)
{
    const struct gp_plan *plan = engine->plan;
    double most = 0;

    for (size_t i = 0; i < plan->runs_count; i++) {
        const struct gp_problem *problem = plan->runs[i].problem;
        double bytes = gp_reference_bytes(&problem->gemm);
        if (bytes > most && !gp_engine_left_out(engine, &plan->runs[i])) {
            most = bytes;
            *ret_largest = problem;
        }
    }
    return most;
}
