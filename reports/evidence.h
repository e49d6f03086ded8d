/*
 * What each value of CUBLAS_WORKSPACE_CONFIG was seen to do: to the memory
 * that the library allocates, and to bits.
 *
 * A row for each backend, workspace and env that has a workspace record or was
 * compared with `unset`: an object with `backend`, `workspace`, `env`,
 * `evidence` ("effective", "same as unset", "unproved", "" where nobody
 * looked), `reason`, and where known `variable`, `well_formed` and
 * `allocations`; `others` of `problems` compared have other bits than under
 * `unset`, each problem counted in every type and mode. Nothing here is more
 * than was seen.
 */
#ifndef GP_REPORTS_EVIDENCE_H
#define GP_REPORTS_EVIDENCE_H

#include "reports/summary.h"

/* All rows, as a new array; those of a backend stand together. The caller
 * frees it by json_decref. */
json_t *gp_evidence_find(const struct gp_summary *summary);

/* The cells of a row, unescaped: "unproved: reason", "64 MiB + 1 KiB",
 * "3 of 12". */
void gp_evidence_word(const json_t *row, struct gp_buf *buf);
void gp_evidence_memory(const json_t *row, struct gp_buf *buf);
void gp_evidence_bits(const json_t *row, struct gp_buf *buf);

/* A sentence on a value that is malformed, appended unescaped; nothing for
 * any other. */
void gp_evidence_note(const json_t *row, struct gp_buf *buf);

#endif
