/*
 * Asked and delivered: which arithmetic the check `fingerprint` found in the
 * bits, for every mode that nothing else decides (reports/decided.h has the
 * others). Runs with a planted fault do not count.
 */
#ifndef GP_REPORTS_DELIVERED_H
#define GP_REPORTS_DELIVERED_H

#include "reports/summary.h"

/* The arithmetic that the bits of a run show, NULL where nobody looked or a
 * fault was planted; borrowed. */
const char *gp_delivered_word(const json_t *run);

/* A row for each backend, type, mode and entry, as a new array that the caller
 * frees by json_decref: an object with `backend`, `type`, `mode`, `entry` (""
 * for the default of the type), `delivered` {word: runs} and `elsewhere`, the
 * shapes that deliver something else than most of the row: [{`delivered`,
 * `shapes` [..], `when` "" or "under 0:0" or "in 3 of 12 runs"}]. */
json_t *gp_delivered_find(const struct gp_summary *summary);

/* One of `elsewhere`: "fp32 for 1x1x1, 1x4096x4096 and 2 more"; at most so
 * many shapes. Unescaped. */
void gp_delivered_print(const json_t *elsewhere, size_t shapes,
                        struct gp_buf *buf);

/* "f32 tf32 through gemm-ex": type, mode and entry of a row; a conflict has
 * but one entry, which goes without saying. Unescaped. */
void gp_delivered_name(const json_t *row, struct gp_buf *buf);

#endif
