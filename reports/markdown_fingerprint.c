/* The part of report.md on what the probes of a shape found together. */
#include "reports/markdown.h"

#include <inttypes.h>
#include <stdio.h>

#include "reports/fingerprint.h"
#include "reports/label.h"

enum { SENTENCES_SHOWN = 300, SHAPES_SHOWN = 8, ROWS_SHOWN = 600 };

static void bits_cells(struct gp_buf *buf, const json_t *row)
{
    static const char *const keys[] = {"bits_in", "bits_cw", "bits_nw"};

    for (int i = 0; i < 3; i++) {
        gp_buf_str(buf, " ");
        gp_fingerprint_bits(row, keys[i], buf);
        gp_buf_str(buf, " |");
    }
}

static void sentence_row(struct gp_buf *buf, const struct gp_summary *summary,
                         const json_t *group)
{
    const char *env = gp_json_str_or(group, "env", "");
    struct gp_buf shapes = {0}, modes = {0}, entry = {0};

    gp_label_list(json_object_get(group, "modes"), SHAPES_SHOWN, &modes);
    gp_label_list(json_object_get(group, "shapes"), SHAPES_SHOWN, &shapes);
    gp_buf_printf(&entry, "%s%s%s", gp_json_str_or(group, "entry", ""),
                  *env ? " " : "", env);
    gp_buf_str(buf, "|");
    gp_markdown_cell_text(buf, gp_json_str_or(group, "type", "?"));
    gp_markdown_cell_backend(buf, summary,
                             gp_json_str_or(group, "backend", ""));
    gp_markdown_cell_text(buf, gp_buf_text(&entry));
    gp_markdown_cell_text(buf, gp_json_str_or(group, "verdict", "?"));
    gp_markdown_cell_text(buf, gp_buf_text(&modes));
    gp_markdown_cell_text(buf, gp_json_str_or(group, "found", "?"));
    bits_cells(buf, group);
    gp_markdown_cell_count(buf, gp_json_int_or(group, "rows", 0));
    gp_markdown_cell_text(buf, gp_buf_text(&shapes));
    gp_buf_str(buf, "\n");
    gp_buf_free(&shapes);
    gp_buf_free(&modes);
    gp_buf_free(&entry);
}

static void setting_row(struct gp_buf *buf, const struct gp_summary *summary,
                        const json_t *row)
{
    static const char *const keys[] = {"type", "shape", "mode", "entry"};
    struct gp_buf setting = {0};

    gp_label_setting(gp_json_str_or(row, "workspace", "?"),
                     gp_json_str_or(row, "env", ""), &setting);
    gp_buf_str(buf, "|");
    gp_markdown_cell_backend(buf, summary, gp_json_str_or(row, "backend", ""));
    for (int i = 0; i < 4; i++)
        gp_markdown_cell_text(buf, gp_json_str_or(row, keys[i], "?"));
    gp_markdown_cell_text(buf, gp_buf_text(&setting));
    bits_cells(buf, row);
    gp_buf_str(buf, "\n");
    gp_buf_free(&setting);
}

static void print_settings(struct gp_buf *buf, const struct gp_summary *summary,
                           const json_t *rows)
{
    size_t shown = json_array_size(rows), i;
    json_t *row;

    gp_markdown_fold_begin(buf, "The three numbers of each shape, mode and "
                                "workspace");
    gp_buf_str(buf, "| backend | type | shape | mode | entry | setting | b_in "
                    "| b_cw | b_nw |\n| --- | --- | --- | --- | --- | --- | "
                    "---: | ---: | ---: |\n");
    json_array_foreach(rows, i, row)
    {
        if (i < ROWS_SHOWN)
            setting_row(buf, summary, row);
    }
    gp_markdown_left_out(buf, shown, ROWS_SHOWN);
    gp_markdown_fold_end(buf);
}

void gp_markdown_fingerprint(struct gp_buf *buf,
                             const struct gp_summary *summary)
{
    json_t *rows = gp_fingerprint_find(summary);
    json_t *groups = gp_fingerprint_group(rows);
    size_t count = json_array_size(groups), i;
    json_t *group;

    if (count) {
        gp_buf_str(buf, "\n### The fingerprint\n\nWhat all probes of a shape "
                        "show together. b_in: bits of an operand that were "
                        "read; b_cw, b_nw: right bits of dense products, of "
                        "the worst element and of all together.\n");
        gp_markdown_fold_begin(buf, "Every sentence, with the shapes that it "
                                    "is true of");
        gp_buf_str(
            buf, "| type | backend | entry | verdict | asked | found | b_in | "
                 "b_cw | b_nw | settings | shapes |\n| --- | --- | --- "
                 "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n");
    }
    json_array_foreach(groups, i, group)
    {
        if (i < SENTENCES_SHOWN)
            sentence_row(buf, summary, group);
    }
    if (count) {
        gp_markdown_left_out(buf, count, SENTENCES_SHOWN);
        gp_markdown_fold_end(buf);
        print_settings(buf, summary, rows);
    }
    json_decref(groups);
    json_decref(rows);
}
