/* The report on standard output: what happened, what is wrong, then tables. */
#include "reports/writer.h"

#include <inttypes.h>
#include <string.h>

#include "reports/escape.h"
#include "reports/explained.h"
#include "reports/group.h"
#include "reports/label.h"
#include "reports/table.h"
#include "reports/text.h"
#include "reports/trouble.h"

enum {
    FAILURES_SHOWN = 200,
    EXPLAINED_IN_FULL = 20, /* of them; the others in one sentence */
    WORST_SHOWN = 2,
    ERRORS_SHOWN = 50,
    MEMBERS = 8
};

void gp_text_wrapped(struct gp_buf *buf, int indent, int hang, const char *text)
{
    struct gp_buf plain = {0};
    const char *at;
    size_t used = 0;

    gp_escape_plain(&plain, text);
    at = gp_buf_text(&plain);
    while (*at) {
        size_t len = strcspn(at, " ");

        if (used && used + 1 + len > (size_t)(GP_TEXT_COLUMNS - indent)) {
            gp_buf_str(buf, "\n");
            indent += hang;
            hang = 0;
            used = 0;
        }
        gp_buf_printf(buf, "%*s", used ? 1 : indent, "");
        gp_buf_add(buf, at, len);
        used += len + (used ? 1 : 0);
        at += len;
        at += strspn(at, " ");
    }
    gp_buf_str(buf, "\n");
    gp_buf_free(&plain);
}

static void print_repro(struct gp_buf *buf, const char *id)
{
    gp_buf_str(buf, "    gemmproof run --only ");
    gp_escape_shell(buf, id);
    gp_buf_str(buf, "\n");
}

static void print_explanation(struct gp_buf *buf, const json_t *run, bool full)
{
    struct gp_buf lines = {0};
    char *line, *end;

    if (full)
        gp_explained_lines(run, WORST_SHOWN, &lines);
    else if (gp_explained_is(run))
        gp_explained_cause(run, &lines);
    for (line = lines.text; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        gp_text_wrapped(buf, 4, 2, line);
    }
    gp_buf_free(&lines);
}

static void print_failed_run(struct gp_buf *buf,
                             const struct gp_failure *failure, bool full)
{
    json_t *findings = gp_trouble_findings(failure->record);
    json_t *finding;
    size_t i;

    gp_buf_str(buf, "  ");
    gp_escape_plain(buf, failure->name);
    gp_buf_str(buf, "\n");
    json_array_foreach(findings, i, finding)
    {
        struct gp_buf text = {0};

        gp_trouble_print(finding, &text);
        gp_text_wrapped(buf, 4, 0, text.text);
        gp_buf_free(&text);
    }
    if (!json_array_size(findings))
        gp_buf_str(buf, "    no finding says why\n");
    print_explanation(buf, failure->record, full);
    print_repro(buf, failure->name);
    json_decref(findings);
}

static void print_failed_relation(struct gp_buf *buf,
                                  const struct gp_failure *failure)
{
    const json_t *members = json_object_get(failure->record, "members");
    size_t count = json_array_size(members);

    gp_buf_str(buf, "  relation ");
    gp_escape_plain(buf, failure->name);
    gp_buf_str(buf, "\n");
    gp_text_wrapped(buf, 4, 0,
                    gp_json_str_or(failure->record, "text", "no sentence"));
    for (size_t i = 0; i < count && i < MEMBERS; i++) {
        const char *id = json_string_value(json_array_get(members, i));
        print_repro(buf, id ? id : "?");
    }
    if (count > MEMBERS)
        gp_buf_printf(buf, "    and %zu more members\n", count - MEMBERS);
}

static void print_failures(struct gp_buf *buf,
                           const struct gp_troubles *troubles)
{
    size_t count = troubles->failures_count;

    if (count)
        gp_buf_printf(buf, "\nFailures (%zu), the worst first:\n", count);
    for (size_t i = 0; i < count && i < FAILURES_SHOWN; i++) {
        if (troubles->failures[i].relation)
            print_failed_relation(buf, &troubles->failures[i]);
        else
            print_failed_run(buf, &troubles->failures[i],
                             i < EXPLAINED_IN_FULL);
    }
    if (count > FAILURES_SHOWN)
        gp_buf_printf(buf, "  and %zu more: report.json has all\n",
                      count - FAILURES_SHOWN);
}

static void print_errors(struct gp_buf *buf, const struct gp_troubles *troubles)
{
    size_t count = troubles->errors_count;

    if (count)
        gp_buf_str(buf, "\nErrors:\n");
    for (size_t i = 0; i < count && i < ERRORS_SHOWN; i++) {
        const struct gp_error_group *group = &troubles->errors[i];
        bool run = strcmp(group->what, "run") == 0;
        struct gp_buf text = {0};

        gp_buf_printf(buf, "  %s%s", run ? "" : group->what, run ? "" : " ");
        gp_escape_plain(buf, group->name);
        if (group->count > 1)
            gp_buf_printf(buf, "  (and %" PRId64 " more with this error)",
                          group->count - 1);
        gp_buf_printf(&text, "%s: %s", group->kind, group->text);
        gp_buf_str(buf, "\n");
        gp_text_wrapped(buf, 4, 0, text.text);
        if (run)
            print_repro(buf, group->name);
        gp_buf_free(&text);
    }
    if (count > ERRORS_SHOWN)
        gp_buf_printf(buf, "  and %zu other errors: report.json has all\n",
                      count - ERRORS_SHOWN);
}

static void add_cell(struct gp_table *table, const struct gp_group *group,
                     void (*print)(const struct gp_group *, struct gp_buf *))
{
    struct gp_buf text = {0};

    print(group, &text);
    gp_table_add(table, text.text);
    gp_buf_free(&text);
}

static void print_groups(struct gp_buf *buf, const struct gp_summary *summary)
{
    static const char *const keys[] = {"type", "mode", "backend", "env", NULL};
    static const char *const heads[] = {
        "type", "mode", "backend", "runs",  "pass", "obs",    "fail",
        "skip", "err",  "bits",    "share", "ulp",  "repeats"};
    struct gp_table table = {.columns = sizeof heads / sizeof *heads,
                             .left = 3};
    struct gp_groups groups = {0};

    gp_group_make(summary, keys, &groups);
    for (size_t i = 0; i < table.columns; i++)
        gp_table_add(&table, heads[i]);
    for (size_t i = 0; i < groups.count; i++) {
        const struct gp_group *group = &groups.items[i];
        const struct gp_counts *counts = &group->counts;
        struct gp_buf backend = {0}, mode = {0};

        gp_label_backend(summary, group->key[2], &backend);
        gp_label_mode(group->key[1], group->key[3], &mode);
        gp_table_add(&table, group->key[0]);
        gp_table_add(&table, gp_buf_text(&mode));
        gp_table_add(&table, gp_buf_text(&backend));
        gp_buf_free(&backend);
        gp_buf_free(&mode);
        gp_table_count(&table, counts->run);
        gp_table_count(&table, counts->pass);
        gp_table_count(&table, counts->observed);
        gp_table_count(&table, counts->fail);
        gp_table_count(&table, counts->skip);
        gp_table_count(&table, counts->error);
        add_cell(&table, group, gp_group_bits);
        add_cell(&table, group, gp_group_share);
        add_cell(&table, group, gp_group_ulp);
        add_cell(&table, group, gp_group_repeats);
    }
    if (groups.count) {
        gp_buf_str(buf, "\nThe worst of each type and mode (bits: "
                        "right ones of the worst element; share: its error / "
                        "its bound):\n");
        gp_table_print(&table, 2, buf);
    }
    gp_table_free(&table);
    gp_group_free(&groups);
}

void gp_writer_text(const struct gp_summary *summary, struct gp_buf *buf)
{
    struct gp_troubles troubles = {0};

    gp_summary_measured(summary, buf);
    gp_buf_str(buf, "\n");
    gp_summary_counts(summary, buf);
    gp_buf_str(buf, "\n");
    gp_summary_outcome(summary, buf);
    gp_buf_str(buf, "\n");
    gp_summary_notes(summary, "", buf);
    gp_trouble_find(summary, &troubles);
    print_failures(buf, &troubles);
    print_errors(buf, &troubles);
    gp_trouble_free(&troubles);
    print_groups(buf, summary);
    gp_text_delivered(buf, summary);
    gp_text_bands(buf, summary);
    gp_text_decided(buf, summary);
    gp_text_fingerprint(buf, summary);
    gp_text_evidence(buf, summary);
    gp_text_workspaces(buf, summary);
    gp_text_losses(buf, summary);
}
