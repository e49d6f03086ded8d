/*
 * The relations of one problem: which of its runs belong together, what is
 * judged of them, one record each.
 */
#ifndef GP_ENGINE_RELATE_H
#define GP_ENGINE_RELATE_H

#include "harness/engine/required.h"

/* Judge all relations among the runs of one problem. Fails only when the
 * journal cannot be written. */
int gp_relate(struct gp_journal *journal, struct gp_required *required,
              struct gp_counts *counts, const struct gp_result *results,
              size_t count, struct gp_err *err) GP_MUST_CHECK;

/* Judge one relation of these members and record it. */
int gp_relate_members(struct gp_journal *journal, struct gp_required *required,
                      struct gp_counts *counts,
                      const struct gp_relation *relation,
                      struct gp_member *members, size_t count,
                      struct gp_err *err) GP_MUST_CHECK;

#endif
