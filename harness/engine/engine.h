/*
 * Runs a plan: problem by problem, every run through its worker, every result
 * judged and written to the journal before the next begins, relations at the
 * end of each problem. While workers are busy, the reference of the next
 * problem is made.
 */
#ifndef GP_ENGINE_ENGINE_H
#define GP_ENGINE_ENGINE_H

#include "harness/engine/dump.h"
#include "harness/engine/journal.h"
#include "harness/engine/known.h"

struct gp_engine {
    const struct gp_plan *plan;
    struct gp_pool *pool;
    struct gp_journal *journal;
    const struct gp_known *known; /* NULL: no fault is known */
    struct gp_dump *dump;         /* of failing runs; NULL: none */
    double max_flops; /* what CPU workers take on at most; 0: everything */
    /* Called after each run; may be NULL. */
    void (*progress)(void *ctx, const struct gp_result *result,
                     const struct gp_counts *counts);
    void *progress_ctx;
};

/* Run it all. Fails only when the journal cannot be written; what happened to
 * the runs is in the counts. `*ret_untested`: a selected backend and type
 * without one pass or fail. */
int gp_engine_run(struct gp_engine *engine, struct gp_counts *ret_counts,
                  bool *ret_untested, struct gp_err *err) GP_MUST_CHECK;

/* Is a run over what its CPU worker takes on? It is skipped. */
bool gp_engine_left_out(const struct gp_engine *engine,
                        const struct gp_run *run);

/* The reason of a skip: the worker's hello does not offer it. */
#define GP_NOT_OFFERED "not offered"

/* Bytes that the largest problem needs that is not left out, and which it
 * is. */
double gp_engine_bytes(const struct gp_engine *engine,
                       const struct gp_problem **ret_largest);

#endif
