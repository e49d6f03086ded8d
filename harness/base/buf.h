/*
 * A growing text buffer. `{0}` is empty; `text` is NULL or ends in a NUL.
 */
#ifndef GP_BASE_BUF_H
#define GP_BASE_BUF_H

#include <stddef.h>

#include "harness/base/err.h"

struct gp_buf {
    char *text;
    size_t len, room;
};

/* Append bytes, a string, a formatted string. */
void gp_buf_add(struct gp_buf *buf, const char *bytes, size_t count);
void gp_buf_str(struct gp_buf *buf, const char *text);
void gp_buf_printf(struct gp_buf *buf, const char *fmt, ...) GP_PRINTF(2, 3);

/* The text so far, "" when empty; valid until the next append. */
const char *gp_buf_text(const struct gp_buf *buf);

/* Write the whole buffer to a new file beside `path` and rename it there, so
 * that a reader never sees half a file. */
int gp_buf_save(const struct gp_buf *buf, const char *path,
                struct gp_err *err) GP_MUST_CHECK;

void gp_buf_free(struct gp_buf *buf);

#endif
