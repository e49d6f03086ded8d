/*
 * Text from outside, made harmless for where it goes.
 *
 * Names, versions, ids and sentences in a journal come from libraries,
 * workers and case files: they may hold terminal escapes, markup or shell
 * words. Each function appends `text` to `buf`; what is not UTF-8 becomes
 * U+FFFD.
 */
#ifndef GP_REPORTS_ESCAPE_H
#define GP_REPORTS_ESCAPE_H

#include "harness/base/buf.h"

/* One line for a terminal: a newline or tab becomes a space, every other
 * control character and every override of text direction a '?'. What would
 * be a command to a CI runner that reads the line is broken by a space. */
void gp_escape_plain(struct gp_buf *buf, const char *text);

/* As plain, and as it stands in GitHub flavoured Markdown, table cells
 * included: no markup, HTML, link or mention comes through. */
void gp_escape_markdown(struct gp_buf *buf, const char *text);

/* Markdown code: in backticks where the text allows it, else <code>. */
void gp_escape_code(struct gp_buf *buf, const char *text);

/* XML 1.0 text or attribute value. What XML forbids becomes U+FFFD; newlines
 * and tabs stay, as character references. */
void gp_escape_xml(struct gp_buf *buf, const char *text);

/* One word for a POSIX shell, in single quotes; control characters as in
 * plain. */
void gp_escape_shell(struct gp_buf *buf, const char *text);

#endif
