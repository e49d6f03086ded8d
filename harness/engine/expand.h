/*
 * From cases to the plan: the cross product of a case's axes, problem-major,
 * each problem once however many cases name it.
 */
#ifndef GP_ENGINE_EXPAND_H
#define GP_ENGINE_EXPAND_H

#include "harness/model.h"

/* What the command line selects. Lists are NULL-ended or NULL for all. */
struct gp_select {
    const char *const *only;       /* ids */
    const char *const *match;      /* globs of ids */
    const char *const *backends;   /* instead of the cases' */
    const char *const *modes;      /* of those in the cases */
    const char *const *workspaces; /* instead of the cases' */
    int64_t repeats;               /* 0: the cases' */
    struct gp_fault fault;
};

/* Append the suite's runs to the plan. `backends` (NULL-ended) is for cases
 * that name none. A usage error when a selection leaves nothing, naming what
 * was nearest. */
int gp_expand(const struct gp_suite *suite, const struct gp_select *select,
              const char *const *backends, struct gp_plan *plan,
              struct gp_err *err) GP_MUST_CHECK;

/* Append the runs of the ids in `only`, without a case file. */
int gp_expand_ids(const struct gp_select *select, struct gp_plan *plan,
                  struct gp_err *err) GP_MUST_CHECK;

#endif
