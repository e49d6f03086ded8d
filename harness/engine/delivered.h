/*
 * The arithmetic that the probes showed, kept for the other problems of the
 * same shape and settings: the check `band` judges by it.
 */
#ifndef GP_ENGINE_DELIVERED_H
#define GP_ENGINE_DELIVERED_H

#include "harness/engine/judge.h"

struct gp_delivered {
    json_t *words; /* shape and settings -> word, "" where probes disagree */
};

void gp_delivered_open(struct gp_delivered *delivered);
void gp_delivered_close(struct gp_delivered *delivered);

/* Keep what the findings of a judged run show. Runs with a planted fault show
 * nothing. */
void gp_delivered_keep(struct gp_delivered *delivered,
                       const struct gp_result *result);

/* What the probes showed for a run's shape and settings; NULL if nothing, or
 * not all the same. */
const char *gp_delivered_find_word(const struct gp_delivered *delivered,
                                   const struct gp_run *run);

#endif
