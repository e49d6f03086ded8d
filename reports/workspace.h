/*
 * The workspace relations, read the other way round: which settings give
 * other bits than `unset`, for how many problems.
 *
 * Strings are borrowed from the summary, which must live as long. `{0}` is
 * empty.
 */
#ifndef GP_REPORTS_WORKSPACE_H
#define GP_REPORTS_WORKSPACE_H

#include "reports/summary.h"

/* One workspace value against `unset` in the same environment, over the
 * problems of a row. */
struct gp_workspace_setting {
    const char *name, *env;
    int64_t problems; /* compared */
    int64_t others;   /* of them with bits that `unset` did not give */
};

struct gp_workspace_row {
    const char *type, *mode, *backend;
    struct gp_workspace_setting *settings; /* in order of appearance */
    size_t settings_count, settings_room;
};

struct gp_workspaces {
    struct gp_workspace_row *rows; /* in order of appearance */
    size_t rows_count, rows_room;
    int64_t without_unset; /* relations where `unset` has no output */
};

/* A problem counts once in a row and setting, and as other when any of its
 * relations there (entries, schedules) says so. Members without a record or
 * outside of every class were not compared. */
void gp_workspace_find(const struct gp_summary *summary,
                       struct gp_workspaces *ret_workspaces);
void gp_workspace_free(struct gp_workspaces *workspaces);

/* Add one setting up over all rows of a backend: how often other bits, of how
 * many comparisons; a problem counts in every type and mode. */
void gp_workspace_total(const struct gp_workspaces *workspaces,
                        const char *backend, const char *name, const char *env,
                        int64_t *ret_others, int64_t *ret_problems);

/* Is it a relation between workspaces? */
bool gp_workspace_is(const json_t *relation);

/* Append the settings of one row, each with its problems that differ, of how
 * many: "16:8 3/12, 4096:8 0/12". Unescaped. */
void gp_workspace_print(const struct gp_workspace_row *row, struct gp_buf *buf);

/* Append the classes of equal bits: "{unset 4096:8} {16:8}". Unescaped. */
void gp_workspace_classes(const struct gp_summary *summary,
                          const json_t *relation, struct gp_buf *buf);

#endif
