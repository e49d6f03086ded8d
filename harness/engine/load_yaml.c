/* From bytes to a checked YAML document: text, syntax, nesting. */
#include "harness/engine/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum {
    DEPTH_MOST = 32,
    ANCHORS_MOST = 1000, /* libyaml compares each with all before it */
    SHOWN_MOST = 40,
    PATH_SHOWN_MOST = 300
};

/* --- Text --------------------------------------------------------------- */

/* The code point at the start of valid or invalid UTF-8 and its bytes; 0 if
 * it is not UTF-8. */
static size_t utf8_at(const char *text, size_t len, unsigned long *ret_point)
{
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)*text;
    size_t bytes = first < 0x80   ? 1
                   : first < 0xc2 ? 0
                   : first < 0xe0 ? 2
                   : first < 0xf0 ? 3
                   : first < 0xf5 ? 4
                                  : 0;
    unsigned long point = bytes < 2 ? first : first & (0x7fu >> bytes);

    if (bytes == 0 || bytes > len)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (c & 0x3fu);
    }
    if (point < least[bytes] || point > 0x10ffff ||
        (point >= 0xd800 && point < 0xe000))
        return 0;
    *ret_point = point;
    return bytes;
}

static bool is_control(unsigned long point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

/* Characters that move the text around them: separators, directions. */
static bool is_unshown(unsigned long point)
{
    return is_control(point) || (point >= 0x200b && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
}

static void show_into(struct gp_buf *buf, const char *text, size_t len,
                      size_t most)
{
    for (size_t shown = 0; len; shown++) {
        unsigned long point;
        size_t bytes = utf8_at(text, len, &point);
        if (shown == most) {
            gp_buf_str(buf, "...");
            return;
        }
        if (bytes == 0 || is_unshown(point))
            gp_buf_str(buf, "?");
        else
            gp_buf_add(buf, text, bytes);
        bytes += bytes == 0;
        text += bytes;
        len -= bytes;
    }
}

const char *gp_load_show_path(struct gp_arena *arena, const char *path)
{
    struct gp_buf buf = {0};
    const char *shown;

    show_into(&buf, path, strlen(path), PATH_SHOWN_MOST);
    shown = gp_arena_copy(arena, gp_buf_text(&buf));
    gp_buf_free(&buf);
    return shown;
}

struct gp_load_shown gp_load_show(const char *text, size_t len)
{
    struct gp_load_shown shown = {{0}};
    struct gp_buf buf = {0};

    show_into(&buf, text, len, SHOWN_MOST);
    snprintf(shown.text, sizeof shown.text, "%s", gp_buf_text(&buf));
    gp_buf_free(&buf);
    return shown;
}

struct gp_load_shown gp_load_show_node(const yaml_node_t *node)
{
    return gp_load_show((const char *)node->data.scalar.value,
                        node->data.scalar.length);
}

static int fail_at(const struct gp_load *load, size_t line, size_t column,
                   struct gp_err *err, const char *sentence)
{
    return gp_err_set(err, GP_ERR_USAGE, "%s:%zu:%zu: %s", load->name, line + 1,
                      column + 1, sentence);
}

static int GP_PRINTF(4, 5)
    fail_mark(const struct gp_load *load, yaml_mark_t mark, struct gp_err *err,
              const char *fmt, ...)
{
    char sentence[sizeof err->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    return fail_at(load, mark.line, mark.column, err, sentence);
}

int gp_load_fail(const struct gp_load *load, const yaml_node_t *node,
                 struct gp_err *err, const char *fmt, ...)
{
    char sentence[sizeof err->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    return fail_at(load, node->start_mark.line, node->start_mark.column, err,
                   sentence);
}

/* Is it text? libyaml would say so too, without the line. */
static int check_text(const struct gp_load *load, struct gp_err *err)
{
    size_t line = 0, column = 0, bytes;
    char sentence[120];

    for (size_t at = 0; at < load->len; at += bytes) {
        unsigned long point = 0;
        bytes = utf8_at(load->text + at, load->len - at, &point);
        if (bytes == 0)
            return fail_at(load, line, column, err,
                           "this is not UTF-8: save the file as UTF-8 text");
        if (point == 0) {
            snprintf(sentence, sizeof sentence,
                     "a NUL byte stands here: %s is UTF-8 text", load->what);
            return fail_at(load, line, column, err, sentence);
        }
        if ((is_control(point) && point != '\t' && point != '\n' &&
             point != '\r' && point != 0x85) ||
            point == 0xfeff || point == 0xfffe || point == 0xffff) {
            snprintf(sentence, sizeof sentence,
                     "the control character U+%04lX stands here: take it out",
                     point);
            return fail_at(load, line, column, err, sentence);
        }
        column++;
        if (point == '\n' || (point == '\r' && (at + 1 == load->len ||
                                                load->text[at + 1] != '\n'))) {
            line++;
            column = 0;
        }
    }
    return 0;
}

/* --- YAML --------------------------------------------------------------- */

/* The text at a mark; marks count characters. */
static const char *text_at(const struct gp_load *load, yaml_mark_t mark)
{
    size_t at = 0;

    for (size_t i = 0; i < mark.index && at < load->len; i++) {
        unsigned long point;
        at += utf8_at(load->text + at, load->len - at, &point);
    }
    return load->text + at;
}

static int fail_yaml(const struct gp_load *load, const yaml_parser_t *parser,
                     struct gp_err *err)
{
    const char *at = text_at(load, parser->problem_mark);
    size_t left = load->len - (size_t)(at - load->text), colons = 0, n = 0;
    char sentence[300];

    if (parser->error == YAML_MEMORY_ERROR)
        gp_arena_out_of_memory(load->len);
    for (; n < left && n < 40 && strchr(":0123456789", at[n]); n++)
        colons += at[n] == ':';
    if (left && *at == ':' && colons > 1 && at[n - 1] != ':')
        snprintf(sentence, sizeof sentence,
                 "a workspace is written without the leading colon: \"%.*s\"",
                 (int)n - 1, at + 1);
    else if (left && *at == '\t')
        snprintf(sentence, sizeof sentence,
                 "not YAML: a tab stands here: indent with blanks");
    else if (parser->context)
        snprintf(sentence, sizeof sentence,
                 "not YAML: %s (%s that began at %zu:%zu)", parser->problem,
                 parser->context, parser->context_mark.line + 1,
                 parser->context_mark.column + 1);
    else
        snprintf(sentence, sizeof sentence, "not YAML: %s",
                 parser->problem ? parser->problem : "unreadable");
    return fail_mark(load, parser->problem_mark, err, "%s", sentence);
}

/* What is counted on the first pass. */
struct events {
    int depth, documents, anchors;
    bool tag;
};

static void events_count(struct events *count, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        count->documents++;
        break;
    case YAML_SEQUENCE_START_EVENT:
        count->depth++;
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        count->depth++;
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        count->depth--;
        break;
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    default:
        break;
    }
    count->anchors += anchor != NULL;
    count->tag = tag != NULL;
}

/* The first pass: well formed, one document, and nothing that would make the
 * second one slow (libyaml is quadratic in depth and in anchors). */
static int check_events(const struct gp_load *load, yaml_parser_t *parser,
                        struct gp_err *err)
{
    struct events count = {0};
    yaml_event_type_t type;

    do {
        yaml_event_t event;
        yaml_mark_t mark;
        if (!yaml_parser_parse(parser, &event))
            return fail_yaml(load, parser, err);
        type = event.type;
        mark = event.start_mark;
        events_count(&count, &event);
        yaml_event_delete(&event);
        if (count.documents > 1)
            return fail_mark(load, mark, err,
                             "a second document begins here: %s is one "
                             "document, without '---' inside",
                             load->what);
        if (count.depth > DEPTH_MOST)
            return fail_mark(load, mark, err,
                             "nested deeper than 32 levels: %s needs 6",
                             load->what);
        if (count.anchors > ANCHORS_MOST)
            return fail_mark(load, mark, err,
                             "more than 1000 anchors: split the file");
        if (count.tag)
            return fail_mark(load, mark, err,
                             "a tag (!) stands here: %s has none, leave it "
                             "out",
                             load->what);
    } while (type != YAML_STREAM_END_EVENT);
    if (count.documents == 0)
        return fail_at(load, 0, 0, err,
                       load->known
                           ? "the file is empty: write 'known: []' or a list "
                             "of known faults"
                           : "the file is empty: write 'suite: NAME' and "
                             "'cases:' with a list of cases");
    return 0;
}

static void parser_start(const struct gp_load *load, yaml_parser_t *ret_parser)
{
    if (!yaml_parser_initialize(ret_parser))
        gp_arena_out_of_memory(sizeof *ret_parser);
    yaml_parser_set_encoding(ret_parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(ret_parser, (const unsigned char *)load->text,
                                 load->len);
}

/* The second pass. */
static int document_make(const struct gp_load *load,
                         yaml_document_t *ret_document, struct gp_err *err)
{
    yaml_parser_t parser;
    int rc;

    parser_start(load, &parser);
    rc = check_events(load, &parser, err);
    yaml_parser_delete(&parser);
    if (rc < 0)
        return -1;
    parser_start(load, &parser);
    if (!yaml_parser_load(&parser, ret_document))
        rc = fail_yaml(load, &parser, err);
    yaml_parser_delete(&parser);
    return rc;
}

/* Aliases make the document a graph: find cycles and paths that are too
 * long. `heights` has a place for every node: 0 not seen, -1 being visited,
 * else levels from the node down. */
static int check_tree(const struct gp_load *load, int index, int depth,
                      int *heights, struct gp_err *err)
{
    yaml_node_t *node = yaml_document_get_node(load->document, index);
    int below = 0, children[2];

    if (heights[index] < 0)
        return gp_load_fail(load, node, err,
                            "this value holds an alias of itself");
    if (depth + heights[index] - (heights[index] > 0) > DEPTH_MOST)
        return gp_load_fail(load, node, err,
                            "nested deeper than 32 levels by aliases");
    if (heights[index] || node->type == YAML_SCALAR_NODE)
        return 0;
    heights[index] = -1;
    for (int i = 0;; i++) {
        int count = 1;
        if (node->type == YAML_SEQUENCE_NODE) {
            if (node->data.sequence.items.start + i ==
                node->data.sequence.items.top)
                break;
            children[0] = node->data.sequence.items.start[i];
        } else {
            yaml_node_pair_t *pair = node->data.mapping.pairs.start + i;
            if (pair == node->data.mapping.pairs.top)
                break;
            children[0] = pair->key;
            children[1] = pair->value;
            count = 2;
        }
        for (int c = 0; c < count; c++) {
            if (check_tree(load, children[c], depth + 1, heights, err) < 0)
                return -1;
            if (heights[children[c]] > below)
                below = heights[children[c]];
        }
    }
    heights[index] = below + 1;
    return 0;
}

int gp_load_document(struct gp_load *load, yaml_document_t *ret_document,
                     struct gp_err *err)
{
    int *heights, rc;
    size_t nodes;

    if (load->len >= 3 && memcmp(load->text, "\xef\xbb\xbf", 3) == 0) {
        load->text += 3;
        load->len -= 3;
    }
    if (check_text(load, err) < 0 || document_make(load, ret_document, err) < 0)
        return -1;
    load->document = ret_document;
    nodes = (size_t)(ret_document->nodes.top - ret_document->nodes.start);
    heights = calloc(nodes + 1, sizeof *heights);
    if (!heights)
        gp_arena_out_of_memory((nodes + 1) * sizeof *heights);
    rc = check_tree(load, 1, 1, heights, err);
    free(heights);
    if (rc < 0)
        yaml_document_delete(ret_document);
    return rc;
}

int gp_load_prose(const struct gp_load *load, const yaml_node_t *node,
                  const char *what, bool lines, const char **ret_text,
                  struct gp_err *err)
{
    const char *text;
    size_t len, bytes;

    if (gp_load_scalar(load, node, what, err) < 0)
        return -1;
    text = (const char *)node->data.scalar.value;
    len = node->data.scalar.length;
    for (size_t at = 0; at < len; at += bytes) {
        unsigned long point = 0;
        bytes = utf8_at(text + at, len - at, &point);
        if (bytes == 0 || (is_unshown(point) && !(lines && point == '\n')))
            return gp_load_fail(load, node, err,
                                "%s holds the control character U+%04lX: take "
                                "it out",
                                what, point);
    }
    *ret_text = text;
    return 0;
}

int gp_load_about(const struct gp_load *load, const yaml_node_t *node,
                  const char **ret_text, struct gp_err *err)
{
    return gp_load_prose(load, node, "'about'", true, ret_text, err);
}
