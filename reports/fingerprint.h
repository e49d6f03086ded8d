/*
 * What the probes of one shape under the same settings found, put together in
 * one sentence: "asked tf32, delivered fp32: 24 bits read, all products
 * correctly rounded, ...". Runs with a planted fault do not count.
 */
#ifndef GP_REPORTS_FINGERPRINT_H
#define GP_REPORTS_FINGERPRINT_H

#include "reports/summary.h"

/* A row for each backend, type, shape, mode, entry, workspace, env and
 * schedule that a probe was judged under, as a new array that the caller frees
 * by json_decref: an object with these keys (`entry` "" for the default of the
 * type), `delivered` (what product shows, else one-hot, "" if neither ran),
 * `sentence` and `found`, that without what was asked; `verdict` (fail if that
 * of any probe is), `clauses` {family: clause}, and where they were measured
 * `bits_in` (from one-hot), `bits_cw`, `bits_nw` (the least of the family
 * dense; "inf" where there is no error). */
json_t *gp_fingerprint_find(const struct gp_summary *summary);

/* The row of a run's shape and settings in what gp_fingerprint_find made,
 * NULL if none was judged there; borrowed. `delivered` of it is the arithmetic
 * of the run. */
const json_t *gp_fingerprint_of(const json_t *rows, const json_t *run);

/* Rows with the same backend, type, entry, env and `found` taken together, and
 * the modes for which it is true of the same shapes; as a new array: objects
 * with these keys, `verdict`, `rows` how many, `modes` and `shapes` [..] each
 * once, and `bits_in`, `bits_cw`, `bits_nw`, the least. Fails first, then by
 * backend, type, entry and env, the most frequent first. */
json_t *gp_fingerprint_group(const json_t *rows);

/* "23.8", "exact", "-" where it is not known. */
void gp_fingerprint_bits(const json_t *row, const char *key,
                         struct gp_buf *buf);

#endif
