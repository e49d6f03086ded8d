/*
 * Runs for tests: made from their ids, as the command line makes them.
 */
#ifndef GP_TESTS_PLAN_H
#define GP_TESTS_PLAN_H

#include <criterion/criterion.h>

#include "harness/model.h"

/* The run of an id, good until the next one or the end of the plan. */
static inline const struct gp_run *plan_run(struct gp_plan *plan,
                                            const char *id)
{
    struct gp_err err = {0};

    cr_assert_eq(gp_run_parse(id, plan, &err), 0, "%s", err.text);
    return &plan->runs[plan->runs_count - 1];
}

#endif
