/* The tables of measured against expected errors: text by law, markdown by k
 * as well. */
#include <inttypes.h>

#include "reports/bands.h"
#include "reports/escape.h"
#include "reports/label.h"
#include "reports/markdown.h"
#include "reports/table.h"
#include "reports/text.h"

enum { ROWS_SHOWN = 600 };

static void add_printed(struct gp_table *table, const json_t *row,
                        void (*print)(const json_t *, struct gp_buf *))
{
    struct gp_buf text = {0};

    print(row, &text);
    gp_table_add(table, gp_buf_text(&text));
    gp_buf_free(&text);
}

static void print_k(const json_t *row, struct gp_buf *buf)
{
    int64_t k = gp_json_int_or(row, "k", 0);
    int64_t most = gp_json_int_or(row, "k_most", k);

    gp_buf_printf(buf, "%" PRId64, k);
    if (most > k)
        gp_buf_printf(buf, " to %" PRId64, most);
}

void gp_text_bands(struct gp_buf *buf, const struct gp_summary *summary)
{
    static const char *const heads[] = {"type", "mode", "backend", "law",
                                        "k",    "runs", "sums",    "measured"};
    struct gp_table table = {.columns = sizeof heads / sizeof *heads,
                             .left = 5};
    json_t *rows = gp_bands_find(summary), *laws = gp_bands_by_law(rows), *row;
    struct gp_buf text = {0};
    size_t i;

    gp_bands_sentence(summary, &text);
    if (text.len) {
        gp_buf_str(buf, "\nErrors measured over expected (rms; which "
                        "arithmetic explains them, in how many sums):\n");
        gp_text_wrapped(buf, 2, 0, text.text);
    }
    gp_buf_free(&text);
    gp_bands_growth(summary, &text);
    if (text.len)
        gp_text_wrapped(buf, 2, 0, text.text);
    gp_buf_free(&text);
    for (i = 0; i < table.columns && json_array_size(laws); i++)
        gp_table_add(&table, heads[i]);
    json_array_foreach(laws, i, row)
    {
        gp_table_add(&table, gp_json_str_or(row, "type", "?"));
        gp_table_add(&table, gp_json_str_or(row, "mode", "?"));
        gp_label_backend(summary, gp_json_str_or(row, "backend", "?"), &text);
        gp_table_add(&table, gp_buf_text(&text));
        gp_buf_free(&text);
        gp_table_add(&table, gp_json_str_or(row, "law", "?"));
        add_printed(&table, row, print_k);
        gp_table_count(&table, gp_json_int_or(row, "runs", 0));
        add_printed(&table, row, gp_bands_sums);
        add_printed(&table, row, gp_bands_ratio);
    }
    gp_table_print(&table, 2, buf);
    gp_table_free(&table);
    json_decref(laws);
    json_decref(rows);
}

static void cell_printed(struct gp_buf *buf, const json_t *row,
                         void (*print)(const json_t *, struct gp_buf *))
{
    struct gp_buf text = {0};

    print(row, &text);
    gp_markdown_cell_text(buf, gp_buf_text(&text));
    gp_buf_free(&text);
}

static void print_rows(struct gp_buf *buf, const struct gp_summary *summary,
                       const json_t *rows)
{
    const json_t *row;
    size_t i;

    gp_buf_str(buf, "| type | mode | backend | law | k | runs | sums | "
                    "measured |\n"
                    "| --- | --- | --- | --- | ---: | ---: | ---: | ---: |\n");
    json_array_foreach(rows, i, row)
    {
        if (i >= ROWS_SHOWN)
            break;
        gp_buf_str(buf, "|");
        gp_markdown_cell_text(buf, gp_json_str_or(row, "type", "?"));
        gp_markdown_cell_text(buf, gp_json_str_or(row, "mode", "?"));
        gp_markdown_cell_backend(buf, summary,
                                 gp_json_str_or(row, "backend", "?"));
        gp_markdown_cell_text(buf, gp_json_str_or(row, "law", "?"));
        cell_printed(buf, row, print_k);
        gp_markdown_cell_count(buf, gp_json_int_or(row, "runs", 0));
        cell_printed(buf, row, gp_bands_sums);
        cell_printed(buf, row, gp_bands_ratio);
        gp_buf_str(buf, "\n");
    }
    gp_markdown_left_out(buf, json_array_size(rows), ROWS_SHOWN);
}

void gp_markdown_bands(struct gp_buf *buf, const struct gp_summary *summary)
{
    json_t *rows = gp_bands_find(summary), *laws = gp_bands_by_law(rows);
    struct gp_buf text = {0};

    gp_bands_sentence(summary, &text);
    if (text.len)
        gp_buf_printf(buf,
                      "\n### Errors measured over expected\n\nThe rms error, "
                      "and which arithmetic explains it, in how many sums. "
                      "%s.\n",
                      text.text);
    gp_buf_free(&text);
    gp_bands_growth(summary, &text);
    if (text.len) {
        gp_buf_str(buf, "\n");
        gp_escape_markdown(buf, text.text);
        gp_buf_str(buf, ".\n");
    }
    gp_buf_free(&text);
    if (json_array_size(laws)) {
        gp_buf_str(buf, "\n");
        print_rows(buf, summary, laws);
        gp_markdown_fold_begin(buf, "Errors measured over expected, by k");
        print_rows(buf, summary, rows);
        gp_markdown_fold_end(buf);
    }
    json_decref(laws);
    json_decref(rows);
}
