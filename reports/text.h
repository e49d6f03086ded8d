/*
 * The parts that the report on standard output is made of.
 */
#ifndef GP_REPORTS_TEXT_H
#define GP_REPORTS_TEXT_H

#include "reports/summary.h"

enum { GP_TEXT_COLUMNS = 98 };

/* Append a paragraph made plain, broken at spaces: the first line with
 * `indent` spaces in front, the others with `hang` more. */
void gp_text_wrapped(struct gp_buf *buf, int indent, int hang,
                     const char *text);

/* What each setting of the workspace does; problems with other bits by type
 * and mode; problems that lose accuracy. Nothing where the journal has
 * none. */
void gp_text_evidence(struct gp_buf *buf, const struct gp_summary *summary);
void gp_text_workspaces(struct gp_buf *buf, const struct gp_summary *summary);
void gp_text_losses(struct gp_buf *buf, const struct gp_summary *summary);

/* What the probes of a shape show together. */
void gp_text_fingerprint(struct gp_buf *buf, const struct gp_summary *summary);

/* Which arithmetic was delivered where; how large its errors are against what
 * is expected; and where something else than the
 * mode has a say. */
void gp_text_delivered(struct gp_buf *buf, const struct gp_summary *summary);
void gp_text_bands(struct gp_buf *buf, const struct gp_summary *summary);
void gp_text_decided(struct gp_buf *buf, const struct gp_summary *summary);

#endif
