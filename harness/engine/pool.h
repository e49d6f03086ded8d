/*
 * The worker processes of a run: one for each backend and environment,
 * started once and kept, started again after a death.
 *
 * All of them share two regions: operands, which only this program can write,
 * and outputs. A worker that cannot be started stays down, and every run that
 * needs it gets its sentence.
 */
#ifndef GP_ENGINE_POOL_H
#define GP_ENGINE_POOL_H

#include "harness/base/proc.h"
#include "harness/base/shm.h"
#include "harness/model.h"
#include "harness/worker/wire.h"

struct gp_pool_options {
    const char *worker_dir; /* where gemmproof-worker-NAME are */
    const char *library;    /* cuBLAS to load, NULL: the default */
    bool as_is;             /* keep the caller's environment */
    int chatter;            /* where workers' standard error goes */
    int64_t start_ms, execute_ms;
};

struct gp_worker {
    const char *backend, *workspace, *env;
    int number;           /* from 0 in order of first use */
    int starts, failures; /* failures in a row */
    int64_t asked;    /* requests sent; a reply that carries a number must carry
                         this one */
    int64_t sequence; /* executes since it started */
    struct gp_proc proc;
    json_t *hello;       /* its answer; NULL while down */
    json_t *environment; /* what was set for it */
    json_t *evidence;    /* hello's "workspace": what its library allocated
                            when its context was made; NULL: not told */
    struct gp_err down;  /* why it cannot be started */
};

struct gp_pool {
    struct gp_pool_options options;
    struct gp_arena arena;
    struct gp_shm operands, outputs;
    struct gp_worker **workers;
    size_t count, room;
};

int gp_pool_open(struct gp_pool *pool, const struct gp_pool_options *options,
                 struct gp_err *err) GP_MUST_CHECK;
void gp_pool_close(struct gp_pool *pool);

/* The worker for a backend, workspace and variable, running and greeted.
 * `*ret_started` says that it was started by this call (its hello is new). On
 * failure *ret_worker is set all the same. */
int gp_pool_get(struct gp_pool *pool, const char *backend,
                const char *workspace, const char *env,
                struct gp_worker **ret_worker, bool *ret_started,
                struct gp_err *err) GP_MUST_CHECK;

/* Ask and wait. The reply is owned by the caller. A worker that died, was
 * late or answered garbage is stopped; the next gp_pool_get starts it
 * again. */
int gp_worker_ask(struct gp_worker *worker, const json_t *request,
                  int64_t timeout_ms, json_t **ret_reply,
                  struct gp_err *err) GP_MUST_CHECK;

/* The two halves of gp_worker_ask, so that several workers can be busy at
 * once. Each send is followed by one receive. */
int gp_worker_send(struct gp_worker *worker, const json_t *request,
                   struct gp_err *err) GP_MUST_CHECK;
int gp_worker_receive(struct gp_worker *worker, int64_t timeout_ms,
                      json_t **ret_reply, struct gp_err *err) GP_MUST_CHECK;

/* compute capability times ten, 0 for a CPU. */
int gp_worker_capability(const struct gp_worker *worker);

/* Is a worker's workspace seen to be in effect? "effective": its library
 * allocated other memory than that of the worker with the same backend and
 * variable and the workspace unset; "same as unset"; "unproved" with a reason.
 * NULL for a worker that says nothing of it. */
const char *gp_pool_evidence(const struct gp_pool *pool,
                             const struct gp_worker *worker,
                             const char **ret_reason);

/* The environment of a child, NAME=VALUE: the caller's without everything
 * that can change the arithmetic, and the workspace and variable. `set`
 * receives what was set, for the journal. Owned by the arena. */
const char *const *gp_pool_environment(struct gp_arena *arena, bool as_is,
                                       const char *workspace, const char *env,
                                       json_t *set);

/* A variable that can change the arithmetic or the library that is used. */
struct gp_pool_variable {
    const char *name; /* a glob where it is taken out */
    const char *help; /* what it does */
    bool passes;      /* workers see it and the journal records it; else it is
                         taken out of their environment */
};
extern const struct gp_pool_variable gp_pool_variables[]; /* NULL name last */
/* The row of a variable's name, NULL if it is none of them. */
const struct gp_pool_variable *gp_pool_variable_find(const char *name);

/* The recorded variables of the caller's environment. */
json_t *gp_pool_recorded(void);

#endif
