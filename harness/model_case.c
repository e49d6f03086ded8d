/* Cases: their defaults and their end. */
#include "harness/model.h"

#include <stdlib.h>
#include <string.h>

/* One value in the arena, as an axis of one. */
static void *axis_of_one(struct gp_arena *arena, const void *value,
                         size_t bytes)
{
    return memcpy(gp_arena_alloc(arena, bytes), value, bytes);
}

#define AXIS(field, value)                                                     \
    do {                                                                       \
        ret_case->field =                                                      \
            axis_of_one(arena, &(value), sizeof *ret_case->field);             \
        ret_case->field##_count = 1;                                           \
    } while (0)

void gp_case_defaults(struct gp_arena *arena, struct gp_case *ret_case)
{
    const struct gp_type_pair f32 = {gp_type_find("f32"), gp_type_find("f32")};
    const struct gp_op nn = {false, false};
    const struct gp_family *dense = &gp_families[0];
    const struct gp_mode *mode = &gp_modes[0];
    const struct gp_schedule *serial = &gp_schedules[0];
    const char *unset = gp_workspaces[0];
    const int64_t none = 0, one = 1;
    const char *no_env = "";
    const bool column = false, on_host = false;
    const double alpha = 1, beta = 0;
    const uint64_t seed = 1;

    *ret_case = (struct gp_case){.repeats = GP_REPEATS_DEFAULT};
    AXIS(types, f32);
    AXIS(ops, nn);
    AXIS(pads, none);
    AXIS(layouts, column);
    AXIS(batches, one);
    AXIS(alphas, alpha);
    AXIS(betas, beta);
    AXIS(families, dense);
    AXIS(modes, mode);
    AXIS(workspaces, unset);
    AXIS(scalars, on_host);
    AXIS(envs, no_env);
    AXIS(schedules, serial);
    AXIS(seeds, seed);
    ret_case->schedule_numbers = axis_of_one(arena, &none, sizeof none);
}

void gp_suite_free(struct gp_suite *suite)
{
    free(suite->cases);
    gp_arena_free(&suite->arena);
    memset(suite, 0, sizeof *suite);
}

void gp_plan_free(struct gp_plan *plan)
{
    free(plan->problems);
    free(plan->runs);
    gp_arena_free(&plan->arena);
    memset(plan, 0, sizeof *plan);
}
