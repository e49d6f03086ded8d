/*
 * The parts that report.md is made of. Text from outside goes through
 * gp_markdown_cell_* or reports/escape.h; titles are ours.
 */
#ifndef GP_REPORTS_MARKDOWN_H
#define GP_REPORTS_MARKDOWN_H

#include "reports/group.h"

/* Append one cell and the bar that ends it; the bar that begins a row is the
 * caller's. */
void gp_markdown_cell_text(struct gp_buf *buf, const char *text);
void gp_markdown_cell_code(struct gp_buf *buf, const char *text);
void gp_markdown_cell_backend(struct gp_buf *buf,
                              const struct gp_summary *summary,
                              const char *backend);
void gp_markdown_cell_count(struct gp_buf *buf, int64_t count);
void gp_markdown_cell_group(struct gp_buf *buf, const struct gp_group *group,
                            void (*print)(const struct gp_group *,
                                          struct gp_buf *));

/* Open and close a part that the reader unfolds. */
void gp_markdown_fold_begin(struct gp_buf *buf, const char *title);
void gp_markdown_fold_end(struct gp_buf *buf);

/* Say how many of `count` rows are not shown; nothing if all are. */
void gp_markdown_left_out(struct gp_buf *buf, size_t count, size_t shown);

/* Bits and share of the bound, problem by mode; which workspaces give other
 * bits, by mode and by problem. Nothing where the journal has none. */
void gp_markdown_shapes(struct gp_buf *buf, const struct gp_summary *summary);
void gp_markdown_workspaces(struct gp_buf *buf,
                            const struct gp_summary *summary);

/* What the probes of a shape show together. */
void gp_markdown_fingerprint(struct gp_buf *buf,
                             const struct gp_summary *summary);

/* What each setting of the workspace does; problems that lose accuracy under
 * one. Which arithmetic was delivered; and where something else than the mode
 * has a say. Nothing where the journal has none. */
void gp_markdown_evidence(struct gp_buf *buf, const struct gp_summary *summary);
void gp_markdown_losses(struct gp_buf *buf, const struct gp_summary *summary);
void gp_markdown_delivered(struct gp_buf *buf,
                           const struct gp_summary *summary);
void gp_markdown_bands(struct gp_buf *buf, const struct gp_summary *summary);
void gp_markdown_decided(struct gp_buf *buf, const struct gp_summary *summary);

#endif
