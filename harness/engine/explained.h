/*
 * An explanation as the journal keeps it: docs/journal.md, `explanation` and
 * `variation` of a run.
 */
#ifndef GP_ENGINE_EXPLAINED_H
#define GP_ENGINE_EXPLAINED_H

#include "harness/base/json.h"
#include "harness/engine/judge.h"

/* New objects; the caller owns them. */
json_t *gp_explained_values(const struct gp_result *result);
json_t *gp_explained_repeats(const struct gp_variation *variation);

#endif
