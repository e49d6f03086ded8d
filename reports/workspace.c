#include "reports/workspace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool gp_workspace_is(const json_t *relation)
{
    return strcmp(gp_json_str_or(relation, "relation", ""), "workspace") == 0;
}

/* The run record at a position of a class, NULL if there is none. */
static const json_t *member_run(const struct gp_summary *summary,
                                const json_t *relation, const json_t *position)
{
    const json_t *members = json_object_get(relation, "members");
    json_int_t at = json_integer_value(position);
    const char *id;

    if (!json_is_integer(position) || at < 0)
        return NULL;
    id = json_string_value(json_array_get(members, (size_t)at));
    return id ? gp_summary_run(summary, id) : NULL;
}

/* The index of the class that `unset` is in, -1 if none. */
static int64_t class_of_unset(const struct gp_summary *summary,
                              const json_t *relation)
{
    json_t *classes = json_object_get(relation, "classes");
    json_t *positions, *position;
    size_t i, j;

    json_array_foreach(classes, i, positions)
    {
        json_array_foreach(positions, j, position)
        {
            const json_t *run = member_run(summary, relation, position);

            if (strcmp(gp_json_str_or(run, "workspace", ""), "unset") == 0)
                return (int64_t)i;
        }
    }
    return -1;
}

/* What was seen: rows, settings and problems by name. */
struct seen {
    json_t *rows, *settings, *problems;
};

/* The number under a name made of parts; -1 the first time, when it becomes
 * `number`. Lengths go first, so that no two lists of parts make one name. */
static int64_t seen_number(json_t *numbers, const char *const *parts,
                           int64_t number)
{
    struct gp_buf name = {0};
    int64_t found;

    for (; *parts; parts++)
        gp_buf_printf(&name, "%zu %s", strlen(*parts), *parts);
    found = gp_json_int_or(numbers, gp_buf_text(&name), -1);
    if (found < 0)
        gp_json_set(numbers, gp_buf_text(&name), json_integer(number));
    gp_buf_free(&name);
    return found;
}

static struct gp_workspace_row *row_find(struct gp_workspaces *found,
                                         struct seen *seen, const json_t *run)
{
    const char *type = gp_json_str_or(run, "type", "");
    const char *mode = gp_json_str_or(run, "mode", "");
    const char *backend = gp_json_str_or(run, "backend", "");
    const char *const parts[] = {type, mode, backend, NULL};
    int64_t at = seen_number(seen->rows, parts, (int64_t)found->rows_count);
    struct gp_workspace_row *row;

    if (at >= 0)
        return &found->rows[at];
    row = gp_grow((void **)&found->rows, found->rows_count, &found->rows_room,
                  sizeof *found->rows);
    found->rows_count++;
    row->type = type;
    row->mode = mode;
    row->backend = backend;
    return row;
}

static struct gp_workspace_setting *
setting_find(struct gp_workspace_row *row, struct seen *seen, const char *name)
{
    const char *const parts[] = {row->type, row->mode, row->backend, name,
                                 NULL};
    int64_t at =
        seen_number(seen->settings, parts, (int64_t)row->settings_count);
    struct gp_workspace_setting *setting;

    if (at >= 0)
        return &row->settings[at];
    setting = gp_grow((void **)&row->settings, row->settings_count,
                      &row->settings_room, sizeof *row->settings);
    row->settings_count++;
    setting->name = name;
    return setting;
}

static void count_member(struct gp_workspaces *found, struct seen *seen,
                         const json_t *run, bool other)
{
    const char *name = gp_json_str_or(run, "workspace", "");
    const char *problem = gp_json_str_or(run, "problem", "");
    struct gp_workspace_row *row;
    struct gp_workspace_setting *setting;

    if (!run || strcmp(name, "unset") == 0)
        return;
    row = row_find(found, seen, run);
    setting = setting_find(row, seen, name);
    const char *const parts[] = {row->type, row->mode, row->backend,
                                 name,      problem,   NULL};
    const char *const again[] = {row->type, row->mode, row->backend, name,
                                 problem,   "other",   NULL};
    if (seen_number(seen->problems, parts, 1) < 0)
        setting->problems++;
    if (other && seen_number(seen->problems, again, 1) < 0)
        setting->others++;
}

static void count_relation(const struct gp_summary *summary,
                           struct gp_workspaces *found, struct seen *seen,
                           const json_t *relation)
{
    json_t *classes = json_object_get(relation, "classes");
    int64_t unset = class_of_unset(summary, relation);
    json_t *positions, *position;
    size_t i, j;

    if (unset < 0) {
        found->without_unset++;
        return;
    }
    json_array_foreach(classes, i, positions)
    {
        json_array_foreach(positions, j, position)
        {
            count_member(found, seen, member_run(summary, relation, position),
                         (int64_t)i != unset);
        }
    }
}

void gp_workspace_find(const struct gp_summary *summary,
                       struct gp_workspaces *ret_workspaces)
{
    struct gp_workspaces found = {0};
    struct seen seen = {gp_json_object(), gp_json_object(), gp_json_object()};
    json_t *relation;
    size_t i;

    json_array_foreach(summary->relations, i, relation)
    {
        if (gp_workspace_is(relation))
            count_relation(summary, &found, &seen, relation);
    }
    json_decref(seen.rows);
    json_decref(seen.settings);
    json_decref(seen.problems);
    *ret_workspaces = found;
}

void gp_workspace_free(struct gp_workspaces *workspaces)
{
    for (size_t i = 0; i < workspaces->rows_count; i++)
        free(workspaces->rows[i].settings);
    free(workspaces->rows);
    memset(workspaces, 0, sizeof *workspaces);
}

void gp_workspace_print(const struct gp_workspace_row *row, struct gp_buf *buf)
{
    for (size_t i = 0; i < row->settings_count; i++) {
        const struct gp_workspace_setting *setting = &row->settings[i];

        gp_buf_printf(buf, "%s%s %" PRId64 "/%" PRId64, i ? ", " : "",
                      setting->name, setting->others, setting->problems);
    }
}

void gp_workspace_classes(const struct gp_summary *summary,
                          const json_t *relation, struct gp_buf *buf)
{
    json_t *classes = json_object_get(relation, "classes");
    json_t *positions, *position;
    size_t i, j;

    json_array_foreach(classes, i, positions)
    {
        gp_buf_str(buf, i ? " {" : "{");
        json_array_foreach(positions, j, position)
        {
            const json_t *run = member_run(summary, relation, position);

            gp_buf_printf(buf, "%s%s", j ? " " : "",
                          gp_json_str_or(run, "workspace", "?"));
        }
        gp_buf_str(buf, "}");
    }
}
