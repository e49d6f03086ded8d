/*
 * What a failing run's explanation says (docs/journal.md, `explanation` and
 * `variation`), as lines of plain text for every report.
 */
#ifndef GP_REPORTS_EXPLAINED_H
#define GP_REPORTS_EXPLAINED_H

#include "harness/base/buf.h"
#include "harness/base/json.h"

/* Is there one? */
bool gp_explained_is(const json_t *run);

/* The one sentence that says most, unescaped; nothing if there is none. */
void gp_explained_cause(const json_t *run, struct gp_buf *buf);

/* Cause, map, how repeats differ, and up to `worst` of the worst elements with
 * hexadecimal floats: one a line, each ended by a newline, unescaped. */
void gp_explained_lines(const json_t *run, size_t worst, struct gp_buf *buf);

#endif
