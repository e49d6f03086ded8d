/*
 * What cases require must have been looked at: a required check or relation
 * that judged nothing is an error, not a pass by omission.
 */
#ifndef GP_ENGINE_REQUIRED_H
#define GP_ENGINE_REQUIRED_H

#include "harness/engine/journal.h"

struct gp_required {
    json_t *met; /* "CASE\nWORD" -> was anything judged by it? */
};

void gp_required_open(struct gp_required *required, const struct gp_plan *plan);
void gp_required_close(struct gp_required *required);

/* A run of this case was judged by that check or relation. */
void gp_required_judged(struct gp_required *required, const struct gp_run *run,
                        const char *word);

/* Write an error for each that judged nothing; *ret_count receives how many
 * there are. */
int gp_required_end(const struct gp_required *required,
                    struct gp_journal *journal, struct gp_counts *counts,
                    size_t *ret_count, struct gp_err *err) GP_MUST_CHECK;

#endif
