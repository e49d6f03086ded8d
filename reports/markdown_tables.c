/* The tables of report.md that have a row for each problem. */
#include "reports/markdown.h"

#include <inttypes.h>
#include <stdlib.h>

#include "reports/escape.h"
#include "reports/workspace.h"

enum { SHAPES_SHOWN = 600, WORKSPACES_SHOWN = 300 };

static void print_settings(struct gp_buf *buf, const struct gp_summary *summary,
                           const struct gp_workspaces *found)
{
    gp_buf_str(buf, "\n### Workspaces by type and mode\n\nProblems with other "
                    "bits than under "
                    "`unset`, of those compared.\n");
    if (found->rows_count)
        gp_buf_str(buf, "\n| type | mode | backend | setting |\n"
                        "| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < found->rows_count; i++) {
        const struct gp_workspace_row *row = &found->rows[i];
        struct gp_buf text = {0};

        gp_workspace_print(row, &text);
        gp_buf_str(buf, "|");
        gp_markdown_cell_text(buf, row->type);
        gp_markdown_cell_text(buf, row->mode);
        gp_markdown_cell_backend(buf, summary, row->backend);
        gp_markdown_cell_text(buf, gp_buf_text(&text));
        gp_buf_str(buf, "\n");
        gp_buf_free(&text);
    }
    if (found->without_unset)
        gp_buf_printf(buf,
                      "\nNot counted, as `unset` has no output: %" PRId64 ".\n",
                      found->without_unset);
}

/* Every problem against the modes of its type: bits / share. The groups of
 * one type begin at `first` and end before `last`. */
static void shape_rows(struct gp_buf *buf, const struct gp_summary *summary,
                       const struct gp_groups *groups, size_t first,
                       size_t last, json_t *modes, size_t *shown)
{
    size_t columns = json_object_size(modes), i = first;

    while (i < last) {
        const struct gp_group *row = &groups->items[i];
        size_t column = 0;

        if ((*shown)++ >= SHAPES_SHOWN) {
            while (i < last && gp_group_same(row, &groups->items[i], 3))
                i++;
            continue;
        }
        gp_buf_str(buf, "|");
        gp_markdown_cell_code(buf, row->key[1]);
        gp_markdown_cell_backend(buf, summary, row->key[2]);
        /* The modes of a row stand in the order of the columns. */
        for (; column < columns; column++) {
            const struct gp_group *cell = &groups->items[i];
            bool here =
                i < last && gp_group_same(row, cell, 3) &&
                gp_json_int_or(modes, cell->key[3], -1) == (int64_t)column;

            gp_buf_str(buf, " ");
            if (here && (cell->bits_cw.known || cell->max_share.known)) {
                gp_group_bits(cell, buf);
                gp_buf_str(buf, " / ");
                gp_group_share(cell, buf);
            }
            gp_buf_str(buf, " |");
            i += here;
        }
        gp_buf_str(buf, "\n");
    }
}

/* The modes that one type has, in the order of their ranks -> column. */
static json_t *shape_modes(const struct gp_groups *groups, size_t first,
                           size_t last)
{
    json_t *modes = gp_json_object();
    size_t ranks = 0;

    for (size_t i = first; i < last; i++)
        if (groups->items[i].rank[3] >= ranks)
            ranks = groups->items[i].rank[3] + 1;
    const char **names = NULL;
    size_t room = 0;
    for (size_t i = 0; i < ranks; i++)
        gp_grow((void **)&names, i, &room, sizeof *names);
    for (size_t i = first; i < last; i++)
        names[groups->items[i].rank[3]] = groups->items[i].key[3];
    for (size_t i = 0; i < ranks; i++)
        if (names[i])
            gp_json_set_int(modes, names[i], (int64_t)json_object_size(modes));
    free(names);
    return modes;
}

void gp_markdown_shapes(struct gp_buf *buf, const struct gp_summary *summary)
{
    static const char *const keys[] = {"type", "problem", "backend", "mode",
                                       NULL};
    struct gp_groups groups = {0};
    size_t last, shown = 0;

    gp_group_make(summary, keys, &groups);
    if (!groups.count)
        return;
    gp_markdown_fold_begin(
        buf, "Every problem, by mode: smallest bits / largest share "
             "of the bound");
    for (size_t first = 0; first < groups.count; first = last) {
        json_t *modes, *column;
        const char *mode;

        for (last = first; last < groups.count; last++)
            if (!gp_group_same(&groups.items[first], &groups.items[last], 1))
                break;
        modes = shape_modes(&groups, first, last);
        if (shown < SHAPES_SHOWN) {
            gp_buf_str(buf, first ? "\n| problem | backend |"
                                  : "| problem | backend |");
            json_object_foreach(modes, mode, column)
            {
                gp_markdown_cell_text(buf, mode);
            }
            gp_buf_str(buf, "\n| --- | --- |");
            json_object_foreach(modes, mode, column)
            {
                gp_buf_str(buf, " ---: |");
            }
            gp_buf_str(buf, "\n");
        }
        shape_rows(buf, summary, &groups, first, last, modes, &shown);
        json_decref(modes);
    }
    gp_markdown_left_out(buf, shown, SHAPES_SHOWN);
    gp_markdown_fold_end(buf);
    gp_group_free(&groups);
}

static const json_t *first_member(const struct gp_summary *summary,
                                  const json_t *relation)
{
    const json_t *members = json_object_get(relation, "members");
    const char *id = json_string_value(json_array_get(members, 0));

    return id ? gp_summary_run(summary, id) : NULL;
}

static void class_row(struct gp_buf *buf, const struct gp_summary *summary,
                      const json_t *relation)
{
    const json_t *run = first_member(summary, relation);
    struct gp_buf classes = {0};

    gp_workspace_classes(summary, relation, &classes);
    gp_buf_str(buf, "|");
    gp_markdown_cell_code(buf, gp_json_str_or(run, "problem", "?"));
    gp_markdown_cell_backend(buf, summary, gp_json_str_or(run, "backend", "?"));
    gp_markdown_cell_text(buf, gp_json_str_or(run, "entry", "?"));
    gp_markdown_cell_text(buf, gp_json_str_or(run, "mode", "?"));
    gp_markdown_cell_text(buf, gp_json_str_or(run, "schedule", "?"));
    gp_markdown_cell_text(buf, gp_buf_text(&classes));
    gp_buf_str(buf, "\n");
    gp_buf_free(&classes);
}

/* Which settings give equal bits; where they differ first. */
static void print_classes(struct gp_buf *buf, const struct gp_summary *summary)
{
    size_t shown = 0, i;
    json_t *relation;

    gp_markdown_fold_begin(
        buf, "Every problem, by workspace: settings with equal bits "
             "stand in one pair of braces");
    gp_buf_str(buf, "| problem | backend | entry | mode | schedule "
                    "| equal bits |\n"
                    "| --- | --- | --- | --- | --- | --- |\n");
    for (int differ = 1; differ >= 0; differ--) {
        json_array_foreach(summary->relations, i, relation)
        {
            const json_t *classes = json_object_get(relation, "classes");

            if (!gp_workspace_is(relation) ||
                (json_array_size(classes) > 1) != differ)
                continue;
            if (shown++ < WORKSPACES_SHOWN)
                class_row(buf, summary, relation);
        }
    }
    gp_markdown_left_out(buf, shown, WORKSPACES_SHOWN);
    gp_markdown_fold_end(buf);
}

void gp_markdown_workspaces(struct gp_buf *buf,
                            const struct gp_summary *summary)
{
    struct gp_workspaces found = {0};

    gp_workspace_find(summary, &found);
    if (found.rows_count || found.without_unset) {
        print_settings(buf, summary, &found);
        print_classes(buf, summary);
    }
    gp_workspace_free(&found);
}
