/* Definitions copied out of our own sources, with what they need. */
#include "harness/cli/repro.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The file as it is now, as a text in this program. */
#define CARRY(symbol, path)                                                    \
    __asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"" path              \
            "\"\n.byte 0\n.popsection\n");                                     \
    extern const char symbol[]

CARRY(gp_carried_hash, "harness/base/hash.h");
CARRY(gp_carried_type_h, "reference/type.h");
CARRY(gp_carried_type, "reference/type.c");
CARRY(gp_carried_gemm_h, "reference/gemm.h");
CARRY(gp_carried_gemm, "reference/gemm.c");
CARRY(gp_carried_family_h, "reference/family.h");
CARRY(gp_carried_family, "reference/family.c");
CARRY(gp_carried_exact, "reference/family_exact.c");
CARRY(gp_carried_probe, "reference/family_probe.c");
CARRY(gp_carried_terms, "reference/family_terms.c");
CARRY(gp_carried_reading_h, "reference/reading.h");
CARRY(gp_carried_reading, "reference/reading.c");
CARRY(gp_carried_magnitude, "reference/family_magnitude.c");
CARRY(gp_carried_image, "reference/family_image.c");
CARRY(gp_carried_data, "harness/cli/repro_data.cu");
CARRY(gp_carried_judge, "harness/cli/repro_judge.cu");
CARRY(gp_carried_run, "harness/cli/repro_run.cu");

static const char *const sources[] = {
    gp_carried_hash,      gp_carried_type_h,    gp_carried_type,
    gp_carried_gemm_h,    gp_carried_gemm,      gp_carried_family_h,
    gp_carried_family,    gp_carried_exact,     gp_carried_probe,
    gp_carried_terms,     gp_carried_magnitude, gp_carried_image,
    gp_carried_reading_h, gp_carried_reading};

enum { SOURCES = sizeof sources / sizeof *sources, OWN = SOURCES };
enum { NAMES_MOST = 16 };

struct word {
    const char *at;
    size_t len;
};

/* A definition at the top level of a source: a function, a struct, an enum
 * with its words, a table. */
struct chunk {
    const char *text; /* with the comment before it */
    const char *from; /* without */
    const char *end;
    int source;
    bool function, written;
    struct word names[NAMES_MOST];
    int names_count;
};

struct chunks {
    struct chunk *items;
    size_t count, room;
};

/* What can be met in C text: a word, a sign; blanks, comments and literals are
 * passed over. */
static const char *next_token(const char *at, const char *end,
                              struct word *ret_word)
{
    while (at < end) {
        const char *stop = at + 1;
        if (strncmp(at, "/*", 2) == 0) {
            stop = strstr(at + 2, "*/");
            at = stop ? stop + 2 : end;
        } else if (*at == '"' || *at == '\'') {
            while (stop < end && *stop != *at)
                stop += *stop == '\\' ? 2 : 1;
            at = stop + 1;
        } else if (isspace((unsigned char)*at)) {
            at++;
        } else {
            if (isalnum((unsigned char)*at) || *at == '_')
                while (stop < end &&
                       (isalnum((unsigned char)*stop) || *stop == '_'))
                    stop++;
            *ret_word = (struct word){at, (size_t)(stop - at)};
            return stop;
        }
    }
    return NULL;
}

static bool is(const struct word *word, const char *text)
{
    return strlen(text) == word->len && memcmp(word->at, text, word->len) == 0;
}

static bool same(const struct word *a, const struct word *b)
{
    return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

static void add_name(struct chunk *chunk, const struct word *name)
{
    bool starts = isalpha((unsigned char)*name->at) || *name->at == '_';

    if (starts && chunk->names_count < NAMES_MOST)
        chunk->names[chunk->names_count++] = *name;
}

/* Where a definition ends, and the names it defines. Its end stays NULL for a
 * declaration alone. */
static const char *read_chunk(struct chunk *chunk, const char *end)
{
    struct word before[2] = {{"", 0}, {"", 0}}, token;
    const char *at = chunk->from;
    int depth = 0;
    bool body = false, enumeration = false;

    while ((at = next_token(at, end, &token))) {
        bool outside = depth == 0;
        if (is(&token, "{")) {
            if (outside && is(&before[0], ")") && !body)
                chunk->function = true;
            if (outside && (is(&before[1], "struct") || is(&before[1], "enum")))
                add_name(chunk, &before[0]);
            enumeration =
                outside && (is(&before[0], "enum") || is(&before[1], "enum"));
            body = true;
            depth++;
        } else if (is(&token, "}")) {
            depth--;
            if (depth == 0 && chunk->function)
                break;
        } else if (outside && is(&token, ";")) {
            break;
        } else if (outside && !body && is(&token, "(") && !chunk->names_count) {
            add_name(chunk, &before[0]);
        } else if (outside && (is(&token, "[") || is(&token, "="))) {
            add_name(chunk, &before[0]);
        } else if (enumeration && depth == 1 &&
                   (is(&before[0], "{") || is(&before[0], ","))) {
            add_name(chunk, &token);
        }
        before[1] = before[0];
        before[0] = token;
    }
    at = at ? at : end;
    chunk->end = body ? at : NULL;
    return at;
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');

    return end ? end + 1 : at + strlen(at);
}

static void read_source(int source, const char *text, struct chunks *chunks)
{
    const char *end = text + strlen(text);
    const char *comment = NULL, *at = text;

    while (*at) {
        struct chunk chunk = {.text = comment ? comment : at,
                              .from = at,
                              .source = source,
                              .written = source == OWN};
        if (strncmp(at, "/*", 2) == 0) {
            const char *stop = strstr(at, "*/");
            comment = at;
            at = next_line(stop ? stop : at);
        } else if (isalpha((unsigned char)*at)) {
            at = next_line(read_chunk(&chunk, end));
            if (chunk.end)
                *(struct chunk *)gp_grow((void **)&chunks->items, chunks->count,
                                         &chunks->room, sizeof chunk) = chunk;
            chunks->count += chunk.end != NULL;
            comment = NULL;
        } else {
            comment = NULL;
            at = next_line(at);
        }
    }
}

/* The definition of a name as it is used: functions are called, structs and
 * enums named as such. What stands in the same source comes first. */
static struct chunk *find_chunk(struct chunks *chunks, int source,
                                const struct word *name, bool called)
{
    struct chunk *found = NULL;

    for (size_t i = 0; i < chunks->count; i++) {
        struct chunk *chunk = &chunks->items[i];
        for (int n = 0; n < chunk->names_count; n++)
            if (same(&chunk->names[n], name) && chunk->function == called &&
                (!found || chunk->source == source))
                found = chunk;
    }
    return found;
}

static void write_needed(struct chunks *chunks, int source, const char *from,
                         const char *end, struct gp_buf *buf);

static void write_chunk(struct chunks *chunks, struct chunk *chunk,
                        struct gp_buf *buf)
{
    if (!chunk || chunk->written)
        return;
    chunk->written = true;
    write_needed(chunks, chunk->source, chunk->from, chunk->end, buf);
    gp_buf_add(buf, chunk->text, (size_t)(chunk->end - chunk->text));
    gp_buf_str(buf, "\n\n");
}

/* Every definition that a text uses, before it. */
static void write_needed(struct chunks *chunks, int source, const char *from,
                         const char *end, struct gp_buf *buf)
{
    struct word before = {"", 0}, token, after;
    const char *at = from;

    while ((at = next_token(at, end, &token))) {
        bool called = next_token(at, end, &after) && is(&after, "(");
        bool member =
            is(&before, ".") || (is(&before, ">") && before.at[-1] == '-');
        if (!member && (isalpha((unsigned char)*token.at) || *token.at == '_'))
            write_chunk(chunks, find_chunk(chunks, source, &token, called),
                        buf);
        before = token;
    }
}

/* The program's own functions, without the lines between #if REPRO_X and
 * #endif where X is not so. */
static void add_part(const char *text, const struct gp_repro_choice *choice,
                     struct gp_buf *buf)
{
    bool inside = false, shown = true;

    for (const char *next; *text; text = next) {
        next = next_line(text);
        if (strncmp(text, "#if REPRO_", 10) == 0) {
            inside = true;
            shown = strncmp(text + 10, "EXACT", 5) == 0 ? choice->exact
                                                        : choice->one_term;
        } else if (inside && strncmp(text, "#endif", 6) == 0) {
            inside = false;
            shown = true;
        } else if (shown) {
            gp_buf_add(buf, text, (size_t)(next - text));
        }
    }
}

/* The function that makes a family's columns, from its row. */
static bool find_column(const char *family, struct word *ret_column)
{
    struct gp_buf key = {0};
    const char *end = gp_carried_family + strlen(gp_carried_family), *at, *row;

    gp_buf_printf(&key, ".name = \"%s\",", family);
    row = strstr(gp_carried_family, gp_buf_text(&key));
    at = row ? strstr(row, ".column =") : NULL;
    gp_buf_free(&key);
    return at && next_token(at + strlen(".column ="), end, ret_column) != NULL;
}

static void add_parts(const struct gp_repro_choice *choice, struct gp_buf *buf)
{
    add_part(gp_carried_data, choice, buf);
    gp_buf_str(buf, "\n#ifndef REPRO_DUMP\n\n");
    add_part(gp_carried_judge, choice, buf);
    gp_buf_str(buf, "\n");
    add_part(gp_carried_run, choice, buf);
    gp_buf_str(buf, "\n#endif\n");
}

int gp_repro_text(const struct gp_repro_choice *choice,
                  struct gp_buf *definitions, struct gp_buf *own,
                  struct gp_err *err)
{
    struct chunks chunks = {0};
    struct word column;
    struct chunk *made;

    for (int i = 0; i < SOURCES; i++)
        read_source(i, sources[i], &chunks);
    made = find_column(choice->family, &column)
               ? find_chunk(&chunks, -1, &column, true)
               : NULL;
    if (!made) {
        free(chunks.items);
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "repro --c cannot make the data of the family %s: "
                          "leave --c out for the command",
                          choice->family);
    }
    write_chunk(&chunks, made, definitions);
    gp_buf_printf(definitions, "#define REPRO_COLUMN %.*s\n\n", (int)column.len,
                  column.at);
    add_parts(choice, own);
    /* Its own names are known, and written already. */
    read_source(OWN, own->text, &chunks);
    write_needed(&chunks, OWN, own->text, own->text + own->len, definitions);
    free(chunks.items);
    return 0;
}
