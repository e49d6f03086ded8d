#include "reports/workspace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/index.h"
#include "reports/label.h"

bool gp_workspace_is(const json_t *relation)
{
    return strcmp(gp_json_str_or(relation, "relation", ""), "workspace") == 0;
}

/* The run record of a member, NULL if there is none. */
static const json_t *member_run(const struct gp_summary *summary,
                                const json_t *relation, size_t place)
{
    const json_t *members = json_object_get(relation, "members");
    const char *id = json_string_value(json_array_get(members, place));

    return id ? gp_summary_run(summary, id) : NULL;
}

/* The class that a position is in, -1 if none. */
static int64_t class_of(const json_t *relation, size_t place)
{
    json_t *classes = json_object_get(relation, "classes");
    json_t *positions, *position;
    size_t i, j;

    json_array_foreach(classes, i, positions)
    {
        json_array_foreach(positions, j, position)
        {
            if (json_is_integer(position) &&
                json_integer_value(position) == (json_int_t)place)
                return (int64_t)i;
        }
    }
    return -1;
}

/* The index of the class that `unset` is in, -1 if none. */
static int64_t class_of_unset(const struct gp_summary *summary,
                              const json_t *relation)
{
    size_t count = json_array_size(json_object_get(relation, "members"));

    for (size_t i = 0; i < count; i++) {
        const json_t *run = member_run(summary, relation, i);
        int64_t class = class_of(relation, i);

        if (class >= 0 &&
            strcmp(gp_json_str_or(run, "workspace", ""), "unset") == 0)
            return class;
    }
    return -1;
}

/* What was seen: rows, settings and problems by name. */
struct seen {
    json_t *rows, *settings, *problems;
};

static struct gp_workspace_row *row_find(struct gp_workspaces *found,
                                         struct seen *seen, const json_t *run)
{
    const char *type = gp_json_str_or(run, "type", "");
    const char *mode = gp_json_str_or(run, "mode", "");
    const char *backend = gp_json_str_or(run, "backend", "");
    const char *const parts[] = {type, mode, backend, NULL};
    int64_t at = gp_index_add(seen->rows, parts, (int64_t)found->rows_count);
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

static struct gp_workspace_setting *setting_find(struct gp_workspace_row *row,
                                                 struct seen *seen,
                                                 const char *name,
                                                 const char *env)
{
    const char *const parts[] = {row->type, row->mode, row->backend,
                                 name,      env,       NULL};
    int64_t at =
        gp_index_add(seen->settings, parts, (int64_t)row->settings_count);
    struct gp_workspace_setting *setting;

    if (at >= 0)
        return &row->settings[at];
    setting = gp_grow((void **)&row->settings, row->settings_count,
                      &row->settings_room, sizeof *row->settings);
    row->settings_count++;
    setting->name = name;
    setting->env = env;
    return setting;
}

static void count_member(struct gp_workspaces *found, struct seen *seen,
                         const json_t *run, bool other)
{
    const char *name = gp_json_str_or(run, "workspace", "");
    const char *env = gp_json_str_or(run, "env", "");
    const char *problem = gp_json_str_or(run, "problem", "");
    struct gp_workspace_row *row;
    struct gp_workspace_setting *setting;

    if (!run || strcmp(name, "unset") == 0)
        return;
    row = row_find(found, seen, run);
    setting = setting_find(row, seen, name, env);
    const char *const parts[] = {row->type, row->mode, row->backend, name,
                                 env,       problem,   NULL};
    const char *const again[] = {row->type, row->mode, row->backend, name,
                                 env,       problem,   "other",      NULL};
    if (gp_index_add(seen->problems, parts, 1) < 0)
        setting->problems++;
    if (other && gp_index_add(seen->problems, again, 1) < 0)
        setting->others++;
}

/* In the order of the members, so that settings stand alike in every row. */
static void count_relation(const struct gp_summary *summary,
                           struct gp_workspaces *found, struct seen *seen,
                           const json_t *relation)
{
    size_t count = json_array_size(json_object_get(relation, "members"));
    int64_t unset = class_of_unset(summary, relation);

    if (unset < 0) {
        found->without_unset++;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t class = class_of(relation, i);

        if (class >= 0)
            count_member(found, seen, member_run(summary, relation, i),
                         class != unset);
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

void gp_workspace_total(const struct gp_workspaces *workspaces,
                        const char *backend, const char *name, const char *env,
                        int64_t *ret_others, int64_t *ret_problems)
{
    int64_t others = 0, problems = 0;

    for (size_t i = 0; i < workspaces->rows_count; i++) {
        const struct gp_workspace_row *row = &workspaces->rows[i];

        for (size_t j = 0; j < row->settings_count; j++) {
            const struct gp_workspace_setting *setting = &row->settings[j];

            if (strcmp(row->backend, backend) != 0 ||
                strcmp(setting->name, name) != 0 ||
                strcmp(setting->env, env) != 0)
                continue;
            others += setting->others;
            problems += setting->problems;
        }
    }
    *ret_others = others;
    *ret_problems = problems;
}

void gp_workspace_print(const struct gp_workspace_row *row, struct gp_buf *buf)
{
    for (size_t i = 0; i < row->settings_count; i++) {
        const struct gp_workspace_setting *setting = &row->settings[i];

        gp_buf_str(buf, i ? ", " : "");
        gp_label_setting(setting->name, setting->env, buf);
        gp_buf_printf(buf, " %" PRId64 "/%" PRId64, setting->others,
                      setting->problems);
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
            /* A negative position becomes one that no array has. */
            const json_t *run = member_run(
                summary, relation, (size_t)json_integer_value(position));

            gp_buf_printf(buf, "%s%s", j ? " " : "",
                          json_is_integer(position)
                              ? gp_json_str_or(run, "workspace", "?")
                              : "?");
        }
        gp_buf_str(buf, "}");
    }
}
