/*
 * Errors over the sizes of a case: what the check `band` measured is kept, and
 * judged by the relation `growth` when the plan is done.
 */
#ifndef GP_ENGINE_GROWTH_H
#define GP_ENGINE_GROWTH_H

#include "harness/engine/required.h"

struct gp_growing {
    struct gp_growing_group *groups; /* runs alike in all but size and seed */
    size_t count, room;
    json_t *places; /* their settings -> which group */
};

void gp_growing_open(struct gp_growing *growing);
void gp_growing_close(struct gp_growing *growing);

/* Keep a judged run, if `band` judged it. */
void gp_growing_keep(struct gp_growing *growing,
                     const struct gp_result *result);

/* Judge each group that has enough sizes, one record each. Fails only when the
 * journal cannot be written. */
int gp_growing_end(struct gp_growing *growing, struct gp_journal *journal,
                   struct gp_required *required, struct gp_counts *counts,
                   double false_alarm, struct gp_err *err) GP_MUST_CHECK;

#endif
