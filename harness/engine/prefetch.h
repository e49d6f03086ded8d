/*
 * References made ahead: while workers are busy with one problem, those of
 * the next few are in the making, each in a thread of its own, as far as
 * memory allows.
 */
#ifndef GP_ENGINE_PREFETCH_H
#define GP_ENGINE_PREFETCH_H

#include <pthread.h>

#include "harness/model.h"
#include "reference/refgemm.h"

enum { GP_PREFETCH_MOST = 17 };

/* A reference, made or in the making. */
struct gp_pending {
    const struct gp_problem *problem;
    struct gp_reference reference;
    struct gp_err err;
    int status; /* -1: err says why there is no reference */
    pthread_t thread;
    bool threaded;
};

struct gp_prefetch {
    const struct gp_problem *const *problems; /* in the order of use */
    size_t count, begun, taken;
    size_t depth;        /* most in the making at once */
    double budget_bytes; /* for all that are in the making or made */
    struct gp_pending ring[GP_PREFETCH_MOST];
};

/* Share the processors among references: one thread of the host library each
 * where there are enough problems to keep all processors busy, else its own
 * number. Before gp_prefetch_open. */
void gp_prefetch_threads(size_t problems);

/* Start. `problems` is borrowed until close. */
void gp_prefetch_open(struct gp_prefetch *prefetch,
                      const struct gp_problem *const *problems, size_t count);

/* The next problem's reference, waited for; the caller owns it
 * (gp_reference_free). Where memory was short beside others, it is made again
 * alone. */
void gp_prefetch_take(struct gp_prefetch *prefetch,
                      struct gp_pending *ret_pending);

/* Wait for and free what was not taken. */
void gp_prefetch_close(struct gp_prefetch *prefetch);

#endif
