#define _GNU_SOURCE
#include "harness/engine/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/engine/explained.h"
#include "harness/engine/redact.h"

/* mkdir -p */
static int make_folders(const char *folder)
{
    char path[1024];

    errno = ENOENT;
    if (!*folder)
        return -1;
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path)
        return -1;
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return -1;
        *at = '/';
    }
    return mkdir(path, 0777) != 0 && errno != EEXIST ? -1 : 0;
}

int gp_journal_create(struct gp_journal *journal, const char *folder,
                      struct gp_err *err)
{
    *journal = (struct gp_journal){.fd = -1};
    snprintf(journal->path, sizeof journal->path, "%.1000s/results.jsonl",
             folder);
    if (make_folders(folder) == 0)
        journal->fd =
            open(journal->path,
                 O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (journal->fd >= 0)
        return 0;
    if (errno == EEXIST && access(journal->path, F_OK) == 0)
        return gp_err_set(err, GP_ERR_USAGE,
                          "%s: there is a journal already: choose another "
                          "folder with --out, or remove this one",
                          journal->path);
    return gp_err_set(err, GP_ERR_USAGE,
                      "%s: cannot be written (%s): choose another folder with "
                      "--out",
                      journal->path, strerror(errno));
}

void gp_journal_close(struct gp_journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    journal->fd = -1;
}

/* Append one record and let go of it. */
static int append(struct gp_journal *journal, json_t *record,
                  struct gp_err *err)
{
    struct gp_buf line = {0};
    size_t at = 0;
    int status = 0;

    if (journal->redact) {
        json_t *copy = json_deep_copy(record);
        json_decref(record);
        record = copy;
        gp_redact(record);
    }
    gp_json_print(&line, record);
    gp_buf_str(&line, "\n");
    json_decref(record);
    while (at < line.len) {
        ssize_t wrote = write(journal->fd, line.text + at, line.len - at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            status = gp_err_set(err, GP_ERR_SYSTEM,
                                "%s: cannot be written (%s): free some space",
                                journal->path, strerror(errno));
            break;
        }
        at += (size_t)wrote;
    }
    gp_buf_free(&line);
    return status;
}

static json_t *record_of(const char *kind)
{
    json_t *record = gp_json_object();

    gp_json_set_str(record, "record", kind);
    return record;
}

static void set_time_now(json_t *object)
{
    char text[40];
    time_t now = time(NULL);
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    gp_json_set_str(object, "time", text);
}

static json_t *started_now(void)
{
    json_t *started = gp_json_object();
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    set_time_now(started);
    gp_json_set_str(started, "host", host);
    gp_json_set_int(started, "pid", getpid());
    return started;
}

static json_t *reference_now(void)
{
    struct gp_reference_library library;
    json_t *reference = gp_json_object();

    gp_reference_library(&library);
    gp_json_set_str(reference, "library", library.config);
    gp_json_set_str(reference, "kernel", library.kernel);
    gp_json_set_int(reference, "threads", library.threads);
    return reference;
}

static json_t *sources_of(const struct gp_suite *suite)
{
    json_t *sources = gp_json_array();
    const char *last = "";

    for (size_t i = 0; suite && i < suite->cases_count; i++) {
        const char *file = suite->cases[i].file;
        if (file && strcmp(file, last) != 0)
            gp_json_append(sources, gp_json_text(file));
        last = file ? file : last;
    }
    return sources;
}

int gp_journal_begin(struct gp_journal *journal,
                     const struct gp_journal_head *head,
                     const struct gp_plan *plan, struct gp_err *err)
{
    json_t *record = record_of("head"), *command = gp_json_array();
    json_t *planned = gp_json_object();

    gp_json_set_int(record, "format", 1);
    gp_json_set_str(record, "gemmproof", head->version);
    gp_json_set_str(record, "commit", head->commit);
    gp_json_set_str(record, "suite", plan->suite);
    gp_json_set(record, "sources", sources_of(head->suite));
    for (int i = 0; i < head->argc; i++)
        gp_json_append(command, gp_json_text(head->argv[i]));
    gp_json_set(record, "command", command);
    gp_json_set(record, "started", started_now());
    gp_json_set(record, "reference", reference_now());
    gp_json_set_bool(record, "nvidia_device", head->nvidia_device);
    gp_json_set(record, "known", gp_json_text(head->known));
    gp_json_set(record, "environment", gp_pool_recorded());
    gp_json_set_int(planned, "problems", (int64_t)plan->problems_count);
    gp_json_set_int(planned, "runs", (int64_t)plan->runs_count);
    gp_json_set_int(planned, "not_applicable", plan->not_applicable);
    gp_json_set(record, "planned", planned);
    return append(journal, record, err);
}

static json_t *error_of(const struct gp_err *problem)
{
    json_t *error = gp_json_object();

    gp_json_set_str(error, "kind", gp_err_kind_name(problem->kind));
    gp_json_set_str(error, "text", problem->text);
    return error;
}

int gp_journal_worker(struct gp_journal *journal,
                      const struct gp_worker *worker, struct gp_err *err)
{
    json_t *record = record_of("worker");

    gp_json_set_int(record, "worker", worker->number);
    gp_json_set_int(record, "start", worker->starts);
    gp_json_set_str(record, "backend", worker->backend);
    gp_json_set_str(record, "workspace", worker->workspace);
    gp_json_set_str(record, "env", worker->env);
    gp_json_set(record, "environment", json_incref(worker->environment));
    if (worker->hello) {
        json_t *library = json_object_get(worker->hello, "library");
        json_t *device = json_object_get(worker->hello, "device");
        gp_json_set(record, "library", json_incref(library));
        gp_json_set(record, "device", json_incref(device));
    } else {
        gp_json_set(record, "error", error_of(&worker->down));
    }
    return append(journal, record, err);
}

static void set_flags(json_t *record, unsigned flags)
{
    json_t *array = gp_json_array();

    if (flags & GP_OBSERVED)
        gp_json_append(array, json_string("observed"));
    if (flags & GP_KNOWN)
        gp_json_append(array, json_string("known"));
    gp_json_set(record, "flags", array);
}

static void set_problem(json_t *record, const struct gp_problem *problem)
{
    const struct gp_gemm *gemm = &problem->gemm;
    char type[40],
        op[3] = {gemm->trans_a ? 't' : 'n', gemm->trans_b ? 't' : 'n', '\0'};

    snprintf(type, sizeof type, "%s%s%s", gemm->in->name,
             gemm->in == gemm->out ? "" : ":",
             gemm->in == gemm->out ? "" : gemm->out->name);
    gp_json_set_str(record, "problem", problem->id);
    gp_json_set_str(record, "type", type);
    gp_json_set_str(record, "op", op);
    gp_json_set_int(record, "m", gemm->m);
    gp_json_set_int(record, "n", gemm->n);
    gp_json_set_int(record, "k", gemm->k);
    gp_json_set_int(record, "batch", gemm->batch);
    gp_json_set(record, "ld",
                json_pack("[III]", gemm->lda, gemm->ldb, gemm->ldc));
    gp_json_set_real(record, "alpha", gemm->alpha);
    gp_json_set_real(record, "beta", gemm->beta);
    gp_json_set_str(record, "family", problem->family->name);
    gp_json_set(record, "seed", json_integer((json_int_t)problem->seed));
}

static void set_settings(json_t *record, const struct gp_run *run)
{
    struct gp_request request;
    struct gp_buf text = {0};

    gp_run_request(run, &request);
    gp_json_set_str(record, "backend", run->backend);
    gp_json_set_str(record, "entry", run->entry);
    gp_json_set_str(record, "mode", run->mode->name);
    gp_json_set_str(record, "math", request.math);
    gp_json_set_str(record, "compute", request.compute);
    gp_json_set_bool(record, "flag", request.no_reduced_precision);
    gp_json_set_str(record, "workspace", run->workspace);
    if (request.device_scalars)
        gp_json_set_str(record, "scalars", "device");
    gp_json_set_str(record, "env", run->env);
    gp_buf_str(&text, run->schedule->name);
    if (run->schedule->counted)
        gp_buf_printf(&text, "(%lld)", (long long)run->schedule_number);
    gp_json_set_str(record, "schedule", gp_buf_text(&text));
    text.len = 0;
    gp_json_set_int(record, "repeats", run->repeats);
    gp_fault_print(&run->fault, &text);
    gp_json_set_str(record, "fault",
                    run->fault.kind == GP_FAULT_NONE ? "" : gp_buf_text(&text));
    gp_buf_free(&text);
}

static json_t *where_of(const struct gp_where *where)
{
    json_t *object = gp_json_object();

    if (where->i >= 0) {
        gp_json_set_int(object, "i", where->i);
        gp_json_set_int(object, "j", where->j);
        gp_json_set_int(object, "batch", where->batch);
    }
    if (where->repeat >= 0)
        gp_json_set_int(object, "repeat", where->repeat);
    return object;
}

static json_t *findings_of(const struct gp_result *result)
{
    json_t *array = gp_json_array();

    for (int i = 0; i < result->findings_count; i++) {
        const struct gp_finding *finding = &result->findings[i];
        json_t *object = gp_json_object();
        gp_json_set_str(object, "check", finding->check);
        gp_json_set_str(object, "verdict", gp_verdict_name(finding->verdict));
        set_flags(object, finding->flags);
        gp_json_set_exact(object, "value", finding->value);
        gp_json_set_real(object, "limit", finding->limit);
        gp_json_set(object, "where", where_of(&finding->where));
        if (*finding->delivered)
            gp_json_set_str(object, "delivered", finding->delivered);
        if (*finding->clause)
            gp_json_set_str(object, "clause", finding->clause);
        if (*finding->law) {
            gp_json_set_str(object, "law", finding->law);
            gp_json_set_int(object, "sums", finding->sums);
            gp_json_set_real(object, "expected", finding->expected);
        }
        gp_json_set_str(object, "evidence", finding->evidence);
        if (finding->false_alarm > 0)
            gp_json_set_real(object, "false_alarm", finding->false_alarm);
        gp_json_set_str(object, "text", finding->text);
        gp_json_append(array, object);
    }
    return array;
}

static void set_deviation(json_t *object, const struct gp_accuracy *accuracy)
{
    const struct gp_deviation *deviation = &accuracy->deviation;

    if (deviation->count == 0)
        return;
    gp_json_set_exact(object, "rms", deviation->rms);
    gp_json_set_real(object, "mean", deviation->mean);
    gp_json_set_real(object, "kurtosis", deviation->kurtosis);
    gp_json_set_exact(object, "bias", deviation->bias);
    if (deviation->clusters)
        gp_json_set_real(object, "bias_error", deviation->bias_error);
    if (accuracy->sure)
        gp_json_set_real(object, "rounded",
                         (double)accuracy->sure_rounded /
                             (double)accuracy->sure);
}

static json_t *accuracy_of(const struct gp_accuracy *accuracy)
{
    json_t *object = gp_json_object();
    double relative = accuracy->norm_error / accuracy->norm_ref;

    gp_json_set_exact(object, "max_ulp", accuracy->max_ulp);
    gp_json_set_real(object, "mean_ulp", accuracy->mean_ulp);
    gp_json_set_exact(object, "max_share", accuracy->max_share);
    gp_json_set_exact(object, "omega", accuracy->omega);
    if (accuracy->omega > 0)
        gp_json_set_real(object, "bits_cw", -log2(accuracy->omega));
    if (relative > 0)
        gp_json_set_real(object, "bits_nw", -log2(relative));
    gp_json_set_real(object, "exact",
                     (double)accuracy->rounded / (double)accuracy->count);
    gp_json_set_int(object, "range_ambiguous", accuracy->ambiguous);
    set_deviation(object, accuracy);
    return object;
}

static void set_reply(json_t *record, const struct gp_reply *reply)
{
    json_t *wire = gp_json_object();
    static const char *const keys[] = {"digests", "order", "time"};

    gp_wire_put_reply(wire, reply);
    for (int i = 0; i < 3; i++)
        gp_json_set(record, keys[i],
                    json_incref(json_object_get(wire, keys[i])));
    json_decref(wire);
}

int gp_journal_run(struct gp_journal *journal, const struct gp_result *result,
                   struct gp_err *err)
{
    const struct gp_run *run = result->run;
    json_t *record = record_of("run");
    char source[600] = "";

    gp_json_set_str(record, "id", run->id);
    gp_json_set_str(record, "case", run->from ? run->from->name : "");
    if (run->from && run->from->file)
        snprintf(source, sizeof source, "%.500s:%d", run->from->file,
                 run->from->line);
    gp_json_set_str(record, "source", source);
    set_problem(record, run->problem);
    set_settings(record, run);
    gp_json_set_str(record, "verdict", gp_verdict_name(result->verdict));
    set_flags(record, result->flags);
    if (result->verdict == GP_SKIP)
        gp_json_set_str(record, "reason", result->reason);
    if (result->verdict == GP_ERROR)
        gp_json_set(record, "error", error_of(&result->err));
    if (result->judged) {
        gp_json_set(record, "findings", findings_of(result));
        if (result->explanation)
            gp_json_set(record, "explanation", gp_explained_values(result));
        if (result->variation)
            gp_json_set(record, "variation",
                        gp_explained_repeats(result->variation));
        set_reply(record, &result->reply);
        gp_json_set(record, "accuracy", accuracy_of(&result->accuracy));
    }
    gp_json_set_int(record, "worker", result->worker);
    gp_json_set_int(record, "sequence", result->sequence);
    return append(journal, record, err);
}

int gp_journal_relation(struct gp_journal *journal,
                        const struct gp_finding *finding,
                        const struct gp_member *members, size_t count,
                        struct gp_err *err)
{
    json_t *record = record_of("relation"), *ids = gp_json_array();
    json_t *classes = gp_json_array();

    gp_json_set_str(record, "relation", finding->check);
    gp_json_set_str(record, "verdict", gp_verdict_name(finding->verdict));
    set_flags(record, finding->flags);
    for (size_t i = 0; i < count; i++) {
        gp_json_append(ids, gp_json_text(members[i].run->id));
        if (members[i].group < 0)
            continue;
        if (members[i].group == (int64_t)json_array_size(classes))
            gp_json_append(classes, gp_json_array());
        gp_json_append(json_array_get(classes, (size_t)members[i].group),
                       json_integer((json_int_t)i));
    }
    gp_json_set(record, "members", ids);
    gp_json_set(record, "classes", classes);
    if (finding->false_alarm > 0) {
        gp_json_set_real(record, "value", finding->value);
        gp_json_set_real(record, "limit", finding->limit);
        gp_json_set_str(record, "evidence", finding->evidence);
        gp_json_set_real(record, "false_alarm", finding->false_alarm);
    }
    gp_json_set_str(record, "text", finding->text);
    return append(journal, record, err);
}

int gp_journal_workspace(struct gp_journal *journal, const struct gp_pool *pool,
                         const struct gp_worker *worker, struct gp_err *err)
{
    const char *reason, *verdict = gp_pool_evidence(pool, worker, &reason);
    json_t *record;

    if (!verdict)
        return 0;
    record = record_of("workspace");
    gp_json_set_int(record, "worker", worker->number);
    gp_json_set_str(record, "backend", worker->backend);
    gp_json_set_str(record, "workspace", worker->workspace);
    gp_json_set_str(record, "env", worker->env);
    gp_json_set_str(record, "evidence", verdict);
    if (*reason)
        gp_json_set_str(record, "reason", reason);
    gp_json_set(record, "seen", json_incref(worker->evidence));
    return append(journal, record, err);
}

int gp_journal_end(struct gp_journal *journal, const struct gp_counts *counts,
                   int exit_status, double seconds, struct gp_err *err)
{
    json_t *record = record_of("end"), *object = gp_json_object();
    json_t *finished = gp_json_object(), *judgements = gp_json_object();

    gp_json_set_int(object, "planned", counts->planned);
    gp_json_set_int(object, "run", counts->run);
    gp_json_set_int(object, "pass", counts->pass);
    gp_json_set_int(object, "observed", counts->observed);
    gp_json_set_int(object, "known", counts->known);
    gp_json_set_int(object, "fail", counts->fail);
    gp_json_set_int(object, "skip", counts->skip);
    gp_json_set_int(object, "error", counts->error);
    gp_json_set_int(object, "relations", counts->relations);
    gp_json_set_int(object, "relations_observed", counts->relations_observed);
    gp_json_set_int(object, "relations_failed", counts->relations_failed);
    gp_json_set(record, "counts", object);
    for (int i = 0; counts->judgements[i].by; i++)
        gp_json_set_int(judgements, counts->judgements[i].by,
                        counts->judgements[i].count);
    gp_json_set(record, "judgements", judgements);
    gp_json_set_real(record, "alarms_expected", counts->alarms_expected);
    gp_json_set_int(record, "exit", exit_status);
    set_time_now(finished);
    gp_json_set_real(finished, "seconds", seconds);
    gp_json_set(record, "finished", finished);
    return append(journal, record, err);
}
