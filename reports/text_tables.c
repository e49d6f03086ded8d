/* The parts of the text report on workspaces and delivered arithmetic. */
#include "reports/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reports/decided.h"
#include "reports/delivered.h"
#include "reports/evidence.h"
#include "reports/label.h"
#include "reports/loss.h"
#include "reports/table.h"
#include "reports/workspace.h"

enum {
    SHAPES_SHOWN = 8,
    ELSEWHERE_SHOWN = 3,
    KEPT_SHOWN = 5,
    LOSSES_SHOWN = 8,
    COUNT_WIDTH = 8, /* of "100/1000" */
};

/* Add one cell that a function prints, and empty the buffer. */
static void add_buf(struct gp_table *table, struct gp_buf *text)
{
    gp_table_add(table, gp_buf_text(text));
    gp_buf_free(text);
}

static void add_backend(struct gp_table *table,
                        const struct gp_summary *summary, const char *backend)
{
    struct gp_buf text = {0};

    gp_label_backend(summary, backend, &text);
    add_buf(table, &text);
}

/* Must a line say of which backend it speaks? */
static bool backend_matters(const struct gp_summary *summary)
{
    const char *first = NULL;
    json_t *worker;
    size_t i;

    json_array_foreach(summary->workers, i, worker)
    {
        const char *name = gp_json_str_or(worker, "backend", "");

        if (first && strcmp(first, name) != 0)
            return true;
        first = name;
    }
    return json_object_size(summary->simulated) > 0;
}

static void name_backend(const struct gp_summary *summary, const char *backend,
                         struct gp_buf *buf)
{
    if (!backend_matters(summary))
        return;
    gp_label_backend(summary, backend, buf);
    gp_buf_str(buf, " ");
}

/* --- Settings ------------------------------------------------------------ */

static void evidence_row(struct gp_table *table,
                         const struct gp_summary *summary, const json_t *row)
{
    struct gp_buf text = {0};

    gp_label_setting(gp_json_str_or(row, "workspace", "?"),
                     gp_json_str_or(row, "env", ""), &text);
    add_buf(table, &text);
    add_backend(table, summary, gp_json_str_or(row, "backend", "?"));
    gp_evidence_bits(row, &text);
    add_buf(table, &text);
    gp_evidence_memory(row, &text);
    add_buf(table, &text);
    gp_evidence_word(row, &text);
    add_buf(table, &text);
}

void gp_text_evidence(struct gp_buf *buf, const struct gp_summary *summary)
{
    struct gp_table table = {.columns = 5, .left = 5};
    json_t *rows = gp_evidence_find(summary);
    json_t *row;
    size_t i;

    if (json_array_size(rows)) {
        gp_buf_str(buf, "\nSettings of the workspace: other bits than under "
                        "unset (each problem, type and mode),\n"
                        "memory that the library allocates as it starts, and "
                        "what that shows:\n");
        gp_table_add(&table, "setting");
        gp_table_add(&table, "backend");
        gp_table_add(&table, "other bits");
        gp_table_add(&table, "memory");
        gp_table_add(&table, "evidence");
    }
    json_array_foreach(rows, i, row)
    {
        evidence_row(&table, summary, row);
    }
    gp_table_print(&table, 2, buf);
    json_array_foreach(rows, i, row)
    {
        struct gp_buf note = {0};

        gp_evidence_note(row, &note);
        if (note.len)
            gp_text_wrapped(buf, 2, 2, note.text);
        gp_buf_free(&note);
    }
    gp_table_free(&table);
    json_decref(rows);
}

/* --- Problems with other bits -------------------------------------------- */

/* Every setting that a row has, once: label -> true. */
static json_t *setting_names(const struct gp_workspaces *found)
{
    json_t *names = gp_json_object();

    for (size_t i = 0; i < found->rows_count; i++) {
        const struct gp_workspace_row *row = &found->rows[i];

        for (size_t j = 0; j < row->settings_count; j++) {
            struct gp_buf name = {0};

            gp_label_setting(row->settings[j].name, row->settings[j].env,
                             &name);
            gp_json_set_bool(names, gp_buf_text(&name), true);
            gp_buf_free(&name);
        }
    }
    return names;
}

static const struct gp_workspace_setting *
setting_named(const struct gp_workspace_row *row, const char *label)
{
    const struct gp_workspace_setting *found = NULL;

    for (size_t i = 0; i < row->settings_count && !found; i++) {
        struct gp_buf name = {0};

        gp_label_setting(row->settings[i].name, row->settings[i].env, &name);
        if (strcmp(gp_buf_text(&name), label) == 0)
            found = &row->settings[i];
        gp_buf_free(&name);
    }
    return found;
}

/* Add one row, unless it has none of these settings. */
static void setting_row(struct gp_table *table,
                        const struct gp_summary *summary,
                        const struct gp_workspace_row *row,
                        const char *const *names, size_t count)
{
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any = any || setting_named(row, names[i]);
    if (!any)
        return;
    gp_table_add(table, row->type);
    gp_table_add(table, row->mode);
    add_backend(table, summary, row->backend);
    for (size_t i = 0; i < count; i++) {
        const struct gp_workspace_setting *setting =
            setting_named(row, names[i]);
        char cell[64] = "-";

        if (setting)
            snprintf(cell, sizeof cell, "%" PRId64 "/%" PRId64, setting->others,
                     setting->problems);
        gp_table_add(table, cell);
    }
}

/* One table of these settings. */
static void print_settings(struct gp_buf *buf, const struct gp_summary *summary,
                           const struct gp_workspaces *found,
                           const char *const *names, size_t count)
{
    struct gp_table table = {.columns = 3 + count, .left = 3};

    gp_table_add(&table, "type");
    gp_table_add(&table, "mode");
    gp_table_add(&table, "backend");
    for (size_t i = 0; i < count; i++)
        gp_table_add(&table, names[i]);
    for (size_t i = 0; i < found->rows_count; i++)
        setting_row(&table, summary, &found->rows[i], names, count);
    gp_table_print(&table, 2, buf);
    gp_table_free(&table);
}

/* As many settings in one table as a line has room for. */
static void print_all_settings(struct gp_buf *buf,
                               const struct gp_summary *summary,
                               const struct gp_workspaces *found)
{
    enum { MOST = 16, BEFORE = 42 };
    json_t *names = setting_names(found);
    const char *row[MOST], *name;
    size_t count = 0, used = BEFORE;
    json_t *yes;

    json_object_foreach(names, name, yes)
    {
        size_t len = strlen(name);
        size_t width = 1 + (len > COUNT_WIDTH ? len : COUNT_WIDTH);

        if (count == MOST || (count && used + width > GP_TEXT_COLUMNS)) {
            print_settings(buf, summary, found, row, count);
            gp_buf_str(buf, "\n");
            count = 0;
            used = BEFORE;
        }
        row[count++] = name;
        used += width;
    }
    if (count)
        print_settings(buf, summary, found, row, count);
    json_decref(names);
}

void gp_text_workspaces(struct gp_buf *buf, const struct gp_summary *summary)
{
    struct gp_workspaces found = {0};

    gp_workspace_find(summary, &found);
    if (found.rows_count || found.without_unset)
        gp_buf_str(buf, "\nWorkspaces: problems with other bits than under "
                        "unset, of those compared:\n");
    print_all_settings(buf, summary, &found);
    if (found.without_unset)
        gp_buf_printf(buf,
                      "  %" PRId64 " relation%s not counted: no output under "
                      "unset\n",
                      found.without_unset, found.without_unset == 1 ? "" : "s");
    gp_workspace_free(&found);
}

/* --- Accuracy ------------------------------------------------------------- */

static void print_loss(struct gp_buf *buf, const struct gp_summary *summary,
                       const struct gp_loss *loss)
{
    struct gp_buf text = {0};

    name_backend(summary, loss->backend, &text);
    gp_loss_print(loss, &text);
    gp_text_wrapped(buf, 2, 4, text.text);
    gp_buf_free(&text);
}

void gp_text_losses(struct gp_buf *buf, const struct gp_summary *summary)
{
    struct gp_losses losses = {0};
    size_t rest, kept;

    gp_loss_find(summary, &losses);
    rest = losses.count - losses.kept;
    kept = rest < LOSSES_SHOWN - KEPT_SHOWN ? LOSSES_SHOWN - rest : KEPT_SHOWN;
    kept = losses.kept < kept ? losses.kept : kept;
    rest = rest < LOSSES_SHOWN - kept ? rest : LOSSES_SHOWN - kept;
    if (losses.count)
        gp_buf_printf(buf,
                      "\nAccuracy: of %" PRId64 " problems (each in every type "
                      "and mode) %" PRId64 " lose half a bit or more\n"
                      "(componentwise) under some workspace. Those that the "
                      "flag against reduced precision keeps\n"
                      "come first; the worst of each size:\n",
                      losses.compared, losses.lost);
    for (size_t i = 0; i < kept; i++)
        print_loss(buf, summary, &losses.items[i]);
    if (losses.kept > kept)
        gp_buf_printf(buf, "  and %zu more sizes that it keeps\n",
                      losses.kept - kept);
    for (size_t i = 0; i < rest; i++)
        print_loss(buf, summary, &losses.items[losses.kept + i]);
    if (losses.count - losses.kept > rest)
        gp_buf_printf(buf, "  and %zu more sizes that it does not keep\n",
                      losses.count - losses.kept - rest);
    gp_loss_free(&losses);
}

/* --- Asked and delivered -------------------------------------------------- */

/* Do two rows differ in the mode alone, and was all that was delivered in
 * every run the same? */
static bool alike(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"type", "entry", "backend", "delivered",
                                       "elsewhere"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_equal(json_object_get(a, keys[i]),
                        json_object_get(b, keys[i])))
            return false;
    return json_array_size(json_object_get(a, "elsewhere")) == 0;
}

/* Append the modes of all rows that are like this one, which are then
 * `told`. */
static void print_modes(json_t *rows, size_t first, json_t *told,
                        struct gp_buf *buf)
{
    enum { WIDTH = 40 };
    const json_t *row = json_array_get(rows, first);

    for (size_t i = first; i < json_array_size(rows); i++) {
        const json_t *other = json_array_get(rows, i);
        const char *mode = gp_json_str_or(other, "mode", "?");

        if (i != first &&
            (!alike(row, other) || json_is_true(json_array_get(told, i)) ||
             buf->len + 2 + strlen(mode) > WIDTH))
            continue;
        gp_buf_printf(buf, "%s%s", i == first ? "" : ", ", mode);
        json_array_set_new(told, i, json_true());
    }
}

static void print_delivered(struct gp_buf *buf,
                            const struct gp_summary *summary, json_t *rows)
{
    static const char *const heads[] = {"type", "mode", "entry", "backend",
                                        "delivered"};
    struct gp_table table = {.columns = 5, .left = 5};
    json_t *told = gp_json_array();
    size_t count = json_array_size(rows);

    for (size_t i = 0; i < table.columns; i++)
        gp_table_add(&table, heads[i]);
    for (size_t i = 0; i < count; i++)
        gp_json_append(told, json_false());
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        const char *entry = gp_json_str_or(row, "entry", "");
        struct gp_buf text = {0};

        if (json_is_true(json_array_get(told, i)))
            continue;
        gp_table_add(&table, gp_json_str_or(row, "type", ""));
        print_modes(rows, i, told, &text);
        add_buf(&table, &text);
        gp_table_add(&table, *entry ? entry : "-");
        add_backend(&table, summary, gp_json_str_or(row, "backend", ""));
        gp_label_counts(json_object_get(row, "delivered"), &text);
        add_buf(&table, &text);
    }
    gp_table_print(&table, 2, buf);
    gp_table_free(&table);
    json_decref(told);
}

static void print_elsewhere(struct gp_buf *buf,
                            const struct gp_summary *summary, const json_t *row)
{
    const json_t *elsewhere = json_object_get(row, "elsewhere");
    size_t count = json_array_size(elsewhere);
    size_t shown = count <= ELSEWHERE_SHOWN + 1 ? count : ELSEWHERE_SHOWN;

    for (size_t i = 0; i < shown; i++) {
        struct gp_buf text = {0};

        name_backend(summary, gp_json_str_or(row, "backend", ""), &text);
        gp_delivered_name(row, &text);
        gp_buf_str(&text, ": ");
        gp_delivered_print(json_array_get(elsewhere, i), SHAPES_SHOWN, &text);
        gp_text_wrapped(buf, 2, 2, text.text);
        gp_buf_free(&text);
    }
    if (count > shown)
        gp_buf_printf(buf, "    and %zu more such lines\n", count - shown);
}

void gp_text_delivered(struct gp_buf *buf, const struct gp_summary *summary)
{
    json_t *rows = gp_delivered_find(summary);
    size_t elsewhere = 0, i;
    json_t *row;

    if (json_array_size(rows)) {
        gp_buf_str(buf, "\nAsked and delivered: the arithmetic that the bits "
                        "of the probe families show, and in how\nmany runs of "
                        "each mode:\n");
        print_delivered(buf, summary, rows);
    }
    json_array_foreach(rows, i, row)
    {
        elsewhere += json_array_size(json_object_get(row, "elsewhere"));
    }
    if (elsewhere)
        gp_buf_str(buf, "\nSomething else than in most runs of the mode was "
                        "delivered:\n");
    json_array_foreach(rows, i, row)
    {
        print_elsewhere(buf, summary, row);
    }
    json_decref(rows);
}

void gp_text_decided(struct gp_buf *buf, const struct gp_summary *summary)
{
    json_t *rows = gp_decided_find(summary);
    json_t *row;
    size_t i;

    if (json_array_size(rows))
        gp_buf_str(buf, "\nDecided elsewhere: by the environment, or by one of "
                        "two requests that conflict:\n");
    json_array_foreach(rows, i, row)
    {
        const char *env = gp_json_str_or(row, "env", "");
        struct gp_buf text = {0};

        name_backend(summary, gp_json_str_or(row, "backend", ""), &text);
        gp_buf_str(&text, "asked ");
        gp_delivered_name(row, &text);
        if (*env)
            gp_buf_printf(&text, " with %s", env);
        gp_buf_str(&text, ": ");
        gp_decided_print(row, &text);
        gp_text_wrapped(buf, 2, 2, text.text);
        gp_buf_free(&text);
    }
    json_decref(rows);
}
