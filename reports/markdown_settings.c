/* The parts of report.md on workspaces and delivered arithmetic. */
#include "reports/markdown.h"

#include <inttypes.h>
#include <math.h>

#include "reports/decided.h"
#include "reports/delivered.h"
#include "reports/escape.h"
#include "reports/evidence.h"
#include "reports/label.h"
#include "reports/loss.h"

enum { SHAPES_SHOWN = 12, LOSSES_SHOWN = 40 };

/* One cell that a function prints. */
static void cell_printed(struct gp_buf *buf, const json_t *row,
                         void (*print)(const json_t *, struct gp_buf *))
{
    struct gp_buf text = {0};

    print(row, &text);
    gp_markdown_cell_text(buf, gp_buf_text(&text));
    gp_buf_free(&text);
}

static void cell_key(struct gp_buf *buf, const json_t *row, const char *key)
{
    gp_markdown_cell_text(buf, gp_json_str_or(row, key, ""));
}

static void cell_backend(struct gp_buf *buf, const struct gp_summary *summary,
                         const json_t *row)
{
    gp_markdown_cell_backend(buf, summary, gp_json_str_or(row, "backend", "?"));
}

/* --- Settings ------------------------------------------------------------ */

void gp_markdown_evidence(struct gp_buf *buf, const struct gp_summary *summary)
{
    json_t *rows = gp_evidence_find(summary);
    json_t *row;
    size_t i;

    if (json_array_size(rows))
        gp_buf_str(buf, "\n### Settings of the workspace\n\n"
                        "Other bits than under `unset` (each problem, type and "
                        "mode), memory that the library allocates as it "
                        "starts, and what that shows.\n\n"
                        "| backend | setting | env | other bits | memory | "
                        "evidence | |\n"
                        "| --- | --- | --- | --- | --- | --- | --- |\n");
    json_array_foreach(rows, i, row)
    {
        gp_buf_str(buf, "|");
        cell_backend(buf, summary, row);
        gp_markdown_cell_code(buf, gp_json_str_or(row, "workspace", "?"));
        cell_key(buf, row, "env");
        cell_printed(buf, row, gp_evidence_bits);
        cell_printed(buf, row, gp_evidence_memory);
        cell_printed(buf, row, gp_evidence_word);
        cell_printed(buf, row, gp_evidence_note);
        gp_buf_str(buf, "\n");
    }
    json_decref(rows);
}

/* --- Accuracy ------------------------------------------------------------- */

static void cell_bits(struct gp_buf *buf, double bits)
{
    gp_buf_str(buf, " ");
    if (isnan(bits))
        gp_buf_str(buf, "-");
    else
        gp_loss_bits(bits, buf);
    gp_buf_str(buf, " |");
}

static void loss_row(struct gp_buf *buf, const struct gp_summary *summary,
                     const struct gp_loss *loss)
{
    gp_buf_str(buf, "|");
    gp_markdown_cell_backend(buf, summary, loss->backend);
    cell_key(buf, loss->run, "type");
    cell_key(buf, loss->run, "mode");
    gp_markdown_cell_text(buf, gp_label_entry(loss->run));
    gp_markdown_cell_code(buf, gp_json_str_or(loss->run, "problem", "?"));
    cell_bits(buf, loss->unset);
    cell_bits(buf, loss->bits);
    gp_markdown_cell_text(buf, loss->settings);
    cell_bits(buf, loss->flagged ? loss->flagged_bits : NAN);
    gp_markdown_cell_count(buf, loss->alike);
    gp_buf_str(buf, "\n");
}

/* Half of the room is for either part, and what one leaves is the other's. */
void gp_markdown_losses(struct gp_buf *buf, const struct gp_summary *summary)
{
    struct gp_losses losses = {0};
    size_t rest, kept, room = LOSSES_SHOWN / 2;

    gp_loss_find(summary, &losses);
    rest = losses.count - losses.kept;
    kept = rest < room ? LOSSES_SHOWN - rest : room;
    kept = losses.kept < kept ? losses.kept : kept;
    rest = rest < LOSSES_SHOWN - kept ? rest : LOSSES_SHOWN - kept;
    if (losses.count) {
        gp_buf_printf(buf,
                      "\n### Accuracy against the workspace\n\nOf %" PRId64
                      " dense problems (each in every type and mode) %" PRId64
                      " lose half a bit or more, componentwise, under some "
                      "workspace.\n",
                      losses.compared, losses.lost);
        gp_markdown_fold_begin(
            buf, "The worst of each size; first what the flag against reduced "
                 "precision keeps");
        gp_buf_str(buf,
                   "| backend | type | mode | entry | problem | bits, unset | "
                   "bits | under | bits there with the flag | more of this "
                   "size |\n| --- | --- | --- | --- | --- | ---: | ---: | --- "
                   "| ---: | ---: |\n");
    }
    for (size_t i = 0; i < kept; i++)
        loss_row(buf, summary, &losses.items[i]);
    for (size_t i = 0; i < rest; i++)
        loss_row(buf, summary, &losses.items[losses.kept + i]);
    if (losses.count > kept + rest)
        gp_buf_printf(buf,
                      "\nand %zu more sizes: the runs in `report.json` have "
                      "all.\n",
                      losses.count - kept - rest);
    if (losses.count)
        gp_markdown_fold_end(buf);
    gp_loss_free(&losses);
}

/* --- Asked and delivered -------------------------------------------------- */

static void elsewhere_cell(struct gp_buf *buf, const json_t *row)
{
    json_t *elsewhere = json_object_get(row, "elsewhere");
    json_t *group;
    size_t i;

    gp_buf_str(buf, " ");
    json_array_foreach(elsewhere, i, group)
    {
        struct gp_buf text = {0};

        gp_delivered_print(group, SHAPES_SHOWN, &text);
        gp_buf_str(buf, i ? "<br>" : "");
        gp_escape_markdown(buf, gp_buf_text(&text));
        gp_buf_free(&text);
    }
    gp_buf_str(buf, " |\n");
}

static void delivered_row(struct gp_buf *buf, const struct gp_summary *summary,
                          const json_t *row)
{
    struct gp_buf counts = {0};

    gp_label_counts(json_object_get(row, "delivered"), &counts);
    gp_buf_str(buf, "|");
    cell_key(buf, row, "type");
    cell_key(buf, row, "mode");
    cell_key(buf, row, "entry");
    cell_backend(buf, summary, row);
    gp_markdown_cell_text(buf, gp_buf_text(&counts));
    elsewhere_cell(buf, row);
    gp_buf_free(&counts);
}

void gp_markdown_delivered(struct gp_buf *buf, const struct gp_summary *summary)
{
    json_t *rows = gp_delivered_find(summary);
    json_t *row;
    size_t i;

    if (json_array_size(rows))
        gp_buf_str(buf, "\n### Asked and delivered\n\nThe arithmetic that the "
                        "bits of the probe families show, and in how many "
                        "runs; then where it is something else than in most "
                        "runs of the mode.\n\n"
                        "| type | mode | entry | backend | delivered | "
                        "elsewhere |\n"
                        "| --- | --- | --- | --- | --- | --- |\n");
    json_array_foreach(rows, i, row)
    {
        delivered_row(buf, summary, row);
    }
    json_decref(rows);
}

void gp_markdown_decided(struct gp_buf *buf, const struct gp_summary *summary)
{
    json_t *rows = gp_decided_find(summary);
    json_t *row;
    size_t i;

    if (json_array_size(rows))
        gp_buf_str(buf, "\n### Decided elsewhere\n\nBy the environment, or by "
                        "one of two requests that conflict.\n\n"
                        "| type | asked | entry | env | backend | found |\n"
                        "| --- | --- | --- | --- | --- | --- |\n");
    json_array_foreach(rows, i, row)
    {
        gp_buf_str(buf, "|");
        cell_key(buf, row, "type");
        cell_key(buf, row, "mode");
        cell_key(buf, row, "entry");
        cell_key(buf, row, "env");
        cell_backend(buf, summary, row);
        cell_printed(buf, row, gp_decided_print);
        gp_buf_str(buf, "\n");
    }
    json_decref(rows);
}
