/*
 * The forms a report can take. One row each; a new form is one file and one
 * row in writers.c.
 *
 * A writer appends its whole report to the buffer and cannot fail. It reads
 * nothing but the summary, so the same journal always gives the same bytes.
 */
#ifndef GP_REPORTS_WRITER_H
#define GP_REPORTS_WRITER_H

#include "reports/summary.h"

struct gp_writer {
    const char *name;
    const char *file; /* in the folder of the run; NULL: standard output */
    const char *help;
    void (*write)(const struct gp_summary *summary, struct gp_buf *buf);
};

extern const struct gp_writer gp_writers[]; /* ended by a NULL name */

/* The row of a name, NULL if there is none. */
const struct gp_writer *gp_writer_find(const char *name);

/* The functions of the rows. */
void gp_writer_text(const struct gp_summary *summary, struct gp_buf *buf);
void gp_writer_markdown(const struct gp_summary *summary, struct gp_buf *buf);
void gp_writer_json(const struct gp_summary *summary, struct gp_buf *buf);
void gp_writer_junit(const struct gp_summary *summary, struct gp_buf *buf);

#endif
