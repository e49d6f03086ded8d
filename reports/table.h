/*
 * A table of plain text: cells are added from left to right, and printed with
 * each column as wide as its widest cell.
 *
 * The owner frees it with gp_table_free. `{.columns = n}` is empty. Cells are
 * made plain (reports/escape.h) as they are added.
 */
#ifndef GP_REPORTS_TABLE_H
#define GP_REPORTS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/buf.h"

struct gp_table {
    size_t columns;
    size_t left; /* the first so many columns are aligned to the left, with
                    the last one; the others to the right */
    struct gp_arena arena;
    const char **cells;
    size_t count, room;
};

void gp_table_add(struct gp_table *table, const char *text);
/* A count; 0 is "-", so that what happened stands out. */
void gp_table_count(struct gp_table *table, int64_t count);

/* Print every full row, each with `indent` spaces in front. */
void gp_table_print(const struct gp_table *table, int indent,
                    struct gp_buf *buf);
void gp_table_free(struct gp_table *table);

#endif
