/*
 * The main of every worker written in C: reads requests, calls the backend,
 * writes replies. It exits 0 after `bye` or at the end of its input; a fault
 * of the protocol itself ends it with 2.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/shm.h"
#include "harness/worker/backend.h"
#include "harness/worker/schedule.h"
#include "harness/worker/wire.h"

struct worker {
    FILE *replies;
    void *ctx;
    int operands_fd, outputs_fd;
    struct gp_shm operands, outputs;
    struct gp_gemm gemm;
    bool ready; /* a prepare succeeded */
    bool done;
};

void gp_backend_offer(json_t *offers, const char *entry, const char *in,
                      const char *out, const char *maths, const char *computes,
                      bool flag)
{
    json_t *row = gp_json_object();
    const struct {
        const char *key, *words;
    } lists[] = {{"math", maths}, {"compute", computes}};

    gp_json_set_str(row, "entry", entry);
    gp_json_set_str(row, "in", in);
    gp_json_set_str(row, "out", out);
    for (int i = 0; i < 2; i++) {
        json_t *array = gp_json_array();
        const char *at = lists[i].words;
        while (*at) {
            size_t len = strcspn(at, " ");
            gp_json_append(array, json_stringn(at, len));
            at += len + (at[len] == ' ');
        }
        gp_json_set(row, lists[i].key, array);
    }
    gp_json_set_bool(row, "flag", flag);
    gp_json_append(offers, row);
}

static int do_hello(struct worker *worker, const json_t *request, json_t *reply,
                    struct gp_err *err)
{
    const char *variant = gp_json_str_or(request, "variant", "");
    const char *library = gp_json_str_or(request, "library", "");
    int64_t protocol, operands, outputs;

    if (gp_json_get_int(request, "protocol", &protocol, err) ||
        gp_json_get_int(request, "operands", &operands, err) ||
        gp_json_get_int(request, "outputs", &outputs, err))
        return -1;
    if (protocol != GP_PROTOCOL)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "this worker speaks protocol %d, not %lld: install "
                          "program and workers of one version",
                          GP_PROTOCOL, (long long)protocol);
    worker->operands_fd = (int)operands;
    worker->outputs_fd = (int)outputs;
    if (!worker->ctx &&
        gp_backend.open(&worker->ctx, variant, library, err) != 0)
        return -1;
    gp_json_set_int(reply, "protocol", GP_PROTOCOL);
    gp_json_set_str(reply, "worker", gp_backend.name);
    return gp_backend.hello(worker->ctx, reply, err);
}

/* The address of one packed operand in the shared operands. */
static int operand_at(struct worker *worker, const json_t *request,
                      const char *key, enum gp_operand which,
                      const void **ret_at, struct gp_err *err)
{
    const struct gp_gemm *gemm = &worker->gemm;
    size_t bytes =
        (size_t)gp_gemm_count(gemm, which) * gp_gemm_type(gemm, which)->bytes;
    int64_t offset;

    if (gp_json_get_int(request, key, &offset, err) != 0)
        return -1;
    if (offset < 0 || offset > INT64_C(1) << 50)
        return gp_err_set(err, GP_ERR_USAGE, "operand %s at byte %lld", key,
                          (long long)offset);
    if (gp_shm_attach(&worker->operands, worker->operands_fd, false,
                      (size_t)offset + bytes, err) != 0)
        return -1;
    *ret_at = worker->operands.data + offset;
    return 0;
}

static int do_prepare(struct worker *worker, const json_t *request,
                      struct gp_err *err)
{
    struct gp_job job = {0};
    const json_t *part;

    worker->ready = false;
    if (!worker->ctx)
        return gp_err_set(err, GP_ERR_USAGE, "prepare before hello");
    if (gp_json_get_object(request, "problem", &part, err) ||
        gp_wire_get_gemm(part, &job.gemm, err) ||
        gp_json_get_object(request, "request", &part, err) ||
        gp_wire_get_request(part, &job.request, err) ||
        gp_json_get_int(request, "operands_id", &job.operands_id, err))
        return -1;
    worker->gemm = job.gemm;
    /* The last one first: growing may move the mapping. */
    if (operand_at(worker, request, "a", GP_A, &job.a, err) ||
        operand_at(worker, request, "b", GP_B, &job.b, err) ||
        ((job.gemm.beta != 0 || gp_json_bool_or(request, "c_given", false)) &&
         operand_at(worker, request, "c", GP_C, &job.c, err)) ||
        operand_at(worker, request, "a", GP_A, &job.a, err) ||
        operand_at(worker, request, "b", GP_B, &job.b, err) ||
        gp_backend.prepare(worker->ctx, &job, err) != 0)
        return -1;
    worker->ready = true;
    return 0;
}

static int do_execute(struct worker *worker, const json_t *request,
                      json_t *answer, struct gp_err *err)
{
    struct gp_execution execution = {.backend = &gp_backend,
                                     .ctx = worker->ctx};
    const struct gp_worker_schedule *row = gp_worker_schedules;
    struct gp_reply reply = {0};
    struct gp_digest *have = NULL;
    size_t room = 0;
    const char *schedule;
    int status;

    if (!worker->ready)
        return gp_err_set(err, GP_ERR_USAGE, "execute before prepare");
    if (gp_json_get_str(request, "schedule", &schedule, err) ||
        gp_json_get_int(request, "repeats", &execution.repeats, err) ||
        gp_json_get_int(request, "room", &execution.room, err) ||
        gp_fault_parse(gp_json_str_or(request, "fault", ""), &execution.fault,
                       err))
        return -1;
    while (row->name && strcmp(row->name, schedule) != 0)
        row++;
    if (!row->name)
        return gp_err_set(err, GP_ERR_UNSUPPORTED, "no schedule '%.20s'",
                          schedule);
    if (execution.repeats < 1 || execution.repeats > 1000000 ||
        execution.room < 1 || execution.room > GP_OUTPUTS_MOST)
        return gp_err_set(err, GP_ERR_USAGE, "%lld repeats, room for %lld",
                          (long long)execution.repeats,
                          (long long)execution.room);
    execution.output_bytes = gp_wire_output_bytes(&worker->gemm);
    if (gp_shm_attach(&worker->outputs, worker->outputs_fd, true,
                      execution.output_bytes * (size_t)execution.room, err))
        return -1;
    execution.outputs = worker->outputs.data;
    status = gp_wire_get_digests(json_object_get(request, "have"), &have,
                                 &execution.have_count, &room, err);
    execution.have = have;
    if (status == 0)
        status = row->run(&execution, &reply, err);
    if (status == 0)
        gp_wire_put_reply(answer, &reply);
    free(have);
    gp_reply_free(&reply);
    return status;
}

static int dispatch(struct worker *worker, const json_t *request,
                    json_t *answer, struct gp_err *err)
{
    const char *op;

    if (gp_json_get_str(request, "op", &op, err) != 0)
        return -1;
    if (strcmp(op, "hello") == 0)
        return do_hello(worker, request, answer, err);
    if (strcmp(op, "prepare") == 0)
        return do_prepare(worker, request, err);
    if (strcmp(op, "execute") == 0)
        return do_execute(worker, request, answer, err);
    if (strcmp(op, "finish") == 0) {
        worker->ready = false;
        return 0;
    }
    if (strcmp(op, "bye") == 0) {
        worker->done = true;
        return 0;
    }
    return gp_err_set(err, GP_ERR_UNSUPPORTED, "no request '%.20s'", op);
}

static int answer_line(struct worker *worker, const char *line, size_t len)
{
    struct gp_err err = {0};
    json_t *request = gp_json_parse(line, len, &err);
    json_t *answer = gp_json_object();
    struct gp_buf text = {0};
    int status = request ? dispatch(worker, request, answer, &err) : -1;

    if (status != 0) {
        json_object_clear(answer);
        gp_json_set_str(answer, "kind", gp_err_kind_name(err.kind));
        gp_json_set_str(answer, "text", err.text);
    }
    gp_json_set_bool(answer, "ok", status == 0);
    if (request && json_object_get(request, "seq"))
        gp_json_set(answer, "seq",
                    json_incref(json_object_get(request, "seq")));
    gp_json_print(&text, answer);
    gp_buf_str(&text, "\n");
    status = fwrite(text.text, 1, text.len, worker->replies) != text.len ||
             fflush(worker->replies) != 0;
    gp_buf_free(&text);
    json_decref(request);
    json_decref(answer);
    return status;
}

int main(int argc, char **argv)
{
    struct worker worker = {.operands = {.fd = -1}, .outputs = {.fd = -1}};
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    int status = 0, fd;

    if (argc > 1) {
        printf("%s: the gemmproof worker '%s' (%s); it speaks protocol %d on "
               "its standard input and output and is started by gemmproof\n",
               argv[0], gp_backend.name, gp_backend.help, GP_PROTOCOL);
        return strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    signal(SIGPIPE, SIG_IGN);
    /* Replies keep a private descriptor; what a library prints to standard
     * output goes to standard error. */
    fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
        !(worker.replies = fdopen(fd, "w"))) {
        fprintf(stderr, "gemmproof-worker: no output: %s\n", strerror(errno));
        return 2;
    }
    while (!worker.done && status == 0 &&
           (len = getline(&line, &room, stdin)) > 0)
        status = answer_line(&worker, line, (size_t)len);
    free(line);
    if (worker.ctx)
        gp_backend.close(worker.ctx);
    gp_shm_free(&worker.operands);
    gp_shm_free(&worker.outputs);
    fclose(worker.replies);
    return status ? 2 : 0;
}
