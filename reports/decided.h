/*
 * Decided elsewhere: what was delivered where a variable of `env` or a
 * conflict of two requests (MATH+COMPUTE) has a say in it.
 */
#ifndef GP_REPORTS_DECIDED_H
#define GP_REPORTS_DECIDED_H

#include "reports/summary.h"

/* Has a run an env, or a mode that is a conflict? */
bool gp_decided_elsewhere(const json_t *run);

/* A row for each backend, type, mode, entry and env, as a new array that the
 * caller frees by json_decref: an object with `backend`, `type`, `mode`,
 * `entry` ("" for the default of the type), `env`, `delivered` {word: runs};
 * with an env `without` {word: runs}, the same requests without it; for a
 * conflict `decided` {sentence: runs}, which of the two requests alone leads
 * to this: by what it delivered at the same problem, where that was measured,
 * else by what it asks for. */
json_t *gp_decided_find(const struct gp_summary *summary);

/* "delivered tf32 (6 of 6): the compute type decided". Unescaped. */
void gp_decided_print(const json_t *row, struct gp_buf *buf);

#endif
