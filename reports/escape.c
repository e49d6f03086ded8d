#include "reports/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Length of the UTF-8 character at `at` (RFC 3629: shortest form, no
 * surrogates) and its code point; 0 if there is none. */
static size_t escape_decode(const char *at, uint32_t *ret_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)*at;
    size_t len = first < 0x80             ? 1
                 : (first & 0xe0) == 0xc0 ? 2
                 : (first & 0xf0) == 0xe0 ? 3
                 : (first & 0xf8) == 0xf0 ? 4
                                          : 0;
    uint32_t point = len == 1 ? first : len ? first & (0x7fu >> len) : 0;

    for (size_t i = 1; i < len; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | ((unsigned char)at[i] & 0x3f);
    }
    if (!len || point < least[len] || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *ret_point = point;
    return len;
}

/* Characters that move the cursor, end the line or turn the text around. */
static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
           (point >= 0x200b && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff ||
           point == 0xfffe || point == 0xffff;
}

/* Append one character as `special` wants it, else as plain text. */
static void escape_each(struct gp_buf *buf, const char *text,
                        bool (*special)(struct gp_buf *, uint32_t))
{
    while (*text) {
        uint32_t point = 0;
        size_t len = escape_decode(text, &point);

        if (!len)
            gp_buf_str(buf, replacement);
        else if (special && special(buf, point))
            ;
        else if (point == '\n' || point == '\t' || point == '\r')
            gp_buf_str(buf, " ");
        else if (is_control(point))
            gp_buf_str(buf, "?");
        else
            gp_buf_add(buf, text, len);
        text += len ? len : 1;
    }
}

/* A line that begins with "::" or "##[" is a command to a GitHub runner that
 * reads the log; a space takes the meaning away. */
static bool special_plain(struct gp_buf *buf, uint32_t point)
{
    const char *tail = buf->len ? buf->text + buf->len - 1 : "";
    char before = buf->len > 1 ? tail[-1] : ' ';

    if (point == ':' && *tail == ':' && strchr(" \n", before)) {
        gp_buf_str(buf, " :");
        return true;
    }
    if (point == '[' && *tail == '#' && before == '#') {
        gp_buf_str(buf, " [");
        return true;
    }
    return false;
}

void gp_escape_plain(struct gp_buf *buf, const char *text)
{
    escape_each(buf, text, special_plain);
}

static bool special_markdown(struct gp_buf *buf, uint32_t point)
{
    bool after_colon = buf->len && buf->text[buf->len - 1] == ':';

    switch (point) {
    case '&':
    case '<':
    case '>':
    case '@':
    case '|':
    case '`':
    case '$':
        gp_buf_printf(buf, "&#%u;", (unsigned)point);
        return true;
    case '\\':
    case '*':
    case '_':
    case '[':
    case ']':
    case '~':
    case '#':
        gp_buf_printf(buf, "\\%c", (char)point);
        return true;
    case '/':
        /* "://" would become a link by itself. */
        if (after_colon)
            gp_buf_str(buf, "&#47;");
        return after_colon;
    default:
        return false;
    }
}

void gp_escape_markdown(struct gp_buf *buf, const char *text)
{
    escape_each(buf, text, special_markdown);
}

void gp_escape_code(struct gp_buf *buf, const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789.+=_/-:, '()[]{}*\"";
    size_t len = strlen(text);

    if (len && strspn(text, safe) == len && text[0] != ' ' &&
        text[len - 1] != ' ') {
        gp_buf_printf(buf, "`%s`", text);
        return;
    }
    gp_buf_str(buf, "<code>");
    gp_escape_markdown(buf, text);
    gp_buf_str(buf, "</code>");
}

static bool special_xml(struct gp_buf *buf, uint32_t point)
{
    switch (point) {
    case '&':
    case '<':
    case '>':
    case '"':
    case '\'':
    case '\n':
    case '\t':
    case '\r':
        gp_buf_printf(buf, "&#%u;", (unsigned)point);
        return true;
    default:
        break;
    }
    /* More than Char of XML 1.0 forbids: no reader needs the others. */
    if (is_control(point))
        gp_buf_str(buf, replacement);
    return is_control(point);
}

void gp_escape_xml(struct gp_buf *buf, const char *text)
{
    escape_each(buf, text, special_xml);
}

static bool special_shell(struct gp_buf *buf, uint32_t point)
{
    if (point == '\'')
        gp_buf_str(buf, "'\\''");
    return point == '\'';
}

void gp_escape_shell(struct gp_buf *buf, const char *text)
{
    gp_buf_str(buf, "'");
    escape_each(buf, text, special_shell);
    gp_buf_str(buf, "'");
}
