/*
 * Schedules: how a worker repeats a product. One row and one function each;
 * `execute` finds the row by its name.
 */
#ifndef GP_WORKER_SCHEDULE_H
#define GP_WORKER_SCHEDULE_H

#include "harness/worker/backend.h"
#include "harness/worker/wire.h"

struct gp_execution {
    const struct gp_backend *backend;
    void *ctx;
    int64_t repeats;
    struct gp_fault fault;
    unsigned char *outputs; /* room for `room` packed outputs */
    size_t output_bytes;    /* from one to the next */
    int64_t room;
    const struct gp_digest *have; /* outputs that need not come back */
    size_t have_count;
};

struct gp_worker_schedule {
    const char *name;
    int (*run)(const struct gp_execution *execution, struct gp_reply *reply,
               struct gp_err *err);
};

/* Ended by a row without a name. */
extern const struct gp_worker_schedule gp_worker_schedules[];

#endif
