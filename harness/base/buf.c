#include "harness/base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/arena.h"

static void buf_reserve(struct gp_buf *buf, size_t more)
{
    size_t want = buf->len + more + 1;
    size_t room = buf->room ? buf->room : 256;
    char *grown;

    if (want <= buf->room)
        return;
    while (room < want)
        room *= 2;
    grown = realloc(buf->text, room);
    if (!grown)
        gp_arena_out_of_memory(room);
    buf->text = grown;
    buf->room = room;
}

void gp_buf_add(struct gp_buf *buf, const char *bytes, size_t count)
{
    buf_reserve(buf, count);
    if (count)
        memcpy(buf->text + buf->len, bytes, count);
    buf->len += count;
    buf->text[buf->len] = '\0';
}

void gp_buf_str(struct gp_buf *buf, const char *text)
{
    gp_buf_add(buf, text, strlen(text));
}

void gp_buf_printf(struct gp_buf *buf, const char *fmt, ...)
{
    va_list ap, again;
    int len;

    va_start(ap, fmt);
    va_copy(again, ap);
    len = vsnprintf(NULL, 0, fmt, ap);
    if (len >= 0) {
        buf_reserve(buf, (size_t)len);
        vsnprintf(buf->text + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
    va_end(ap);
}

const char *gp_buf_text(const struct gp_buf *buf)
{
    return buf->text ? buf->text : "";
}

int gp_buf_save(const struct gp_buf *buf, const char *path, struct gp_err *err)
{
    struct gp_buf part = {0};
    FILE *file;
    int bad;

    gp_buf_printf(&part, "%s.part", path);
    file = fopen(part.text, "wx");
    if (!file && errno == EEXIST && unlink(part.text) == 0)
        file = fopen(part.text, "wx");
    bad = !file;
    if (file) {
        bad |= fwrite(gp_buf_text(buf), 1, buf->len, file) != buf->len;
        bad |= fclose(file) != 0;
        bad |= !bad && rename(part.text, path) != 0;
    }
    if (bad)
        gp_err_set(err, GP_ERR_SYSTEM,
                   "%s: cannot be written (%s): free space or choose another "
                   "place",
                   path, strerror(errno));
    gp_buf_free(&part);
    return bad ? -1 : 0;
}

void gp_buf_free(struct gp_buf *buf)
{
    free(buf->text);
    memset(buf, 0, sizeof *buf);
}
