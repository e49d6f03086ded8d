#include "reports/table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"

void gp_table_add(struct gp_table *table, const char *text)
{
    struct gp_buf clean = {0};
    const char **cell;

    gp_escape_plain(&clean, text);
    cell = gp_grow((void **)&table->cells, table->count, &table->room,
                   sizeof *table->cells);
    *cell = gp_arena_copy(&table->arena, gp_buf_text(&clean));
    table->count++;
    gp_buf_free(&clean);
}

void gp_table_count(struct gp_table *table, int64_t count)
{
    char text[32] = "-";

    if (count)
        snprintf(text, sizeof text, "%" PRId64, count);
    gp_table_add(table, text);
}

/* Characters, not bytes: continuation bytes take no room. */
static size_t cell_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static size_t column_width(const struct gp_table *table, size_t column)
{
    size_t widest = 0;

    for (size_t i = column; i < table->count; i += table->columns) {
        size_t width = cell_width(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

void gp_table_print(const struct gp_table *table, int indent,
                    struct gp_buf *buf)
{
    size_t *widths = calloc(table->columns, sizeof *widths);

    if (!widths)
        gp_arena_out_of_memory(table->columns * sizeof *widths);
    for (size_t i = 0; i < table->columns; i++)
        widths[i] = column_width(table, i);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        bool last = column + 1 == table->columns;
        bool left = column < table->left || last;
        int pad = (int)(widths[column] - cell_width(table->cells[i]));

        gp_buf_printf(buf, "%*s", column ? 1 : indent, "");
        if (!left)
            gp_buf_printf(buf, "%*s", pad, "");
        gp_buf_str(buf, table->cells[i]);
        if (left && !last)
            gp_buf_printf(buf, "%*s", pad, "");
        if (last)
            gp_buf_str(buf, "\n");
    }
    free(widths);
}

void gp_table_free(struct gp_table *table)
{
    gp_arena_free(&table->arena);
    free(table->cells);
    table->cells = NULL;
    table->count = table->room = 0;
}
