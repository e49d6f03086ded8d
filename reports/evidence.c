#include "reports/evidence.h"

#include <inttypes.h>
#include <string.h>

#include "reports/index.h"
#include "reports/label.h"
#include "reports/workspace.h"

enum { ALLOCATIONS_SHOWN = 6 };

static void copy(json_t *row, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);

    if (value)
        gp_json_set(row, key, json_incref(value));
}

/* A row, made where there is none; rows of a backend in one array. */
static json_t *row_find(json_t *backends, json_t *places, const char *backend,
                        const char *workspace, const char *env)
{
    const char *const parts[] = {backend, workspace, env, NULL};
    json_t *rows = json_object_get(backends, backend);
    int64_t place;
    json_t *row;

    if (!rows) {
        rows = gp_json_array();
        gp_json_set(backends, backend, rows);
    }
    place = gp_index_add(places, parts, (int64_t)json_array_size(rows));
    if (place >= 0)
        return json_array_get(rows, (size_t)place);
    row = gp_json_object();
    gp_json_append(rows, row);
    gp_json_set_str(row, "backend", backend);
    gp_json_set_str(row, "workspace", workspace);
    gp_json_set_str(row, "env", env);
    gp_json_set_str(row, "evidence", "");
    return row;
}

static void add_records(const struct gp_summary *summary, json_t *backends,
                        json_t *places)
{
    json_t *record;
    size_t i;

    json_array_foreach(summary->evidence, i, record)
    {
        json_t *row =
            row_find(backends, places, gp_json_str_or(record, "backend", "?"),
                     gp_json_str_or(record, "workspace", "?"),
                     gp_json_str_or(record, "env", ""));
        const json_t *seen = json_object_get(record, "seen");

        copy(row, record, "evidence");
        copy(row, record, "reason");
        copy(row, seen, "variable");
        copy(row, seen, "well_formed");
        copy(row, seen, "allocations");
    }
}

static void add_relations(const struct gp_workspaces *found, json_t *backends,
                          json_t *places)
{
    for (size_t i = 0; i < found->rows_count; i++) {
        const struct gp_workspace_row *row = &found->rows[i];

        for (size_t j = 0; j < row->settings_count; j++)
            row_find(backends, places, row->backend, row->settings[j].name,
                     row->settings[j].env);
    }
}

json_t *gp_evidence_find(const struct gp_summary *summary)
{
    json_t *backends = gp_json_object(), *places = gp_json_object();
    json_t *made = gp_json_array();
    struct gp_workspaces found = {0};
    const char *backend;
    json_t *rows, *row;
    size_t i;

    gp_workspace_find(summary, &found);
    add_records(summary, backends, places);
    add_relations(&found, backends, places);
    json_object_foreach(backends, backend, rows)
    {
        json_array_foreach(rows, i, row)
        {
            int64_t others, problems;

            gp_workspace_total(
                &found, backend, gp_json_str_or(row, "workspace", ""),
                gp_json_str_or(row, "env", ""), &others, &problems);
            gp_json_set_int(row, "others", others);
            gp_json_set_int(row, "problems", problems);
            gp_json_append(made, json_incref(row));
        }
    }
    gp_workspace_free(&found);
    json_decref(places);
    json_decref(backends);
    return made;
}

static bool same_as_unset(const json_t *row)
{
    return strcmp(gp_json_str_or(row, "evidence", ""), "same as unset") == 0;
}

static bool is_unset(const json_t *row)
{
    return strcmp(gp_json_str_or(row, "workspace", ""), "unset") == 0;
}

void gp_evidence_word(const json_t *row, struct gp_buf *buf)
{
    const char *word = gp_json_str_or(row, "evidence", "");
    const char *reason = gp_json_str_or(row, "reason", "");

    if (!*word)
        word = "not looked at";
    /* That it is the same as itself says nothing. */
    gp_buf_str(buf, is_unset(row) && same_as_unset(row) ? "-" : word);
    if (*reason)
        gp_buf_printf(buf, ": %s", reason);
}

void gp_evidence_memory(const json_t *row, struct gp_buf *buf)
{
    const json_t *sizes = json_object_get(row, "allocations");
    size_t count = json_array_size(sizes);

    if (!sizes)
        gp_buf_str(buf, "-");
    else if (!count)
        gp_buf_str(buf, "none");
    for (size_t i = 0; i < count && i < ALLOCATIONS_SHOWN; i++) {
        gp_buf_str(buf, i ? " + " : "");
        gp_label_bytes(json_integer_value(json_array_get(sizes, i)), buf);
    }
    if (count > ALLOCATIONS_SHOWN)
        gp_buf_printf(buf, " + %zu more", count - ALLOCATIONS_SHOWN);
}

void gp_evidence_bits(const json_t *row, struct gp_buf *buf)
{
    int64_t problems = gp_json_int_or(row, "problems", 0);

    if (is_unset(row))
        gp_buf_str(buf, "-");
    else if (!problems)
        gp_buf_str(buf, "not compared");
    else
        gp_buf_printf(buf, "%" PRId64 " of %" PRId64,
                      gp_json_int_or(row, "others", 0), problems);
}

void gp_evidence_note(const json_t *row, struct gp_buf *buf)
{
    if (gp_json_bool_or(row, "well_formed", true))
        return;
    gp_buf_printf(buf, "%s: \"%s\" is not SIZE:COUNT pairs",
                  gp_json_str_or(row, "workspace", "?"),
                  gp_json_str_or(row, "variable", ""));
    if (same_as_unset(row) && gp_json_int_or(row, "others", 0) == 0)
        gp_buf_str(buf, ": cuBLAS ignores it, as far as its memory shows");
}
