/* report.md: GitHub flavoured Markdown, short enough for a step summary
 * (1 MiB): what is many is cut, and says so. */
#include "reports/writer.h"

#include <inttypes.h>
#include <string.h>

#include "reports/escape.h"
#include "reports/explained.h"
#include "reports/group.h"
#include "reports/label.h"
#include "reports/markdown.h"
#include "reports/trouble.h"

enum {
    FAILURES_SHOWN = 100,
    FINDINGS_SHOWN = 4,
    EXPLAINED_SHOWN = 50,
    WORST_SHOWN = 8,
    MEMBERS_SHOWN = 4,
    ERRORS_SHOWN = 50,
    WORKERS_SHOWN = 40,
};

/* --- Small parts ------------------------------------------------------- */

static void print_sentence(struct gp_buf *buf, const struct gp_summary *summary,
                           void (*say)(const struct gp_summary *,
                                       struct gp_buf *))
{
    struct gp_buf text = {0};

    say(summary, &text);
    gp_escape_markdown(buf, gp_buf_text(&text));
    gp_buf_free(&text);
}

void gp_markdown_fold_begin(struct gp_buf *buf, const char *title)
{
    gp_buf_printf(buf, "\n<details><summary>%s</summary>\n\n", title);
}

void gp_markdown_fold_end(struct gp_buf *buf)
{
    gp_buf_str(buf, "\n</details>\n");
}

void gp_markdown_left_out(struct gp_buf *buf, size_t count, size_t shown)
{
    if (count > shown)
        gp_buf_printf(buf, "\nand %zu more: `report.json` has all.\n",
                      count - shown);
}

void gp_markdown_cell_text(struct gp_buf *buf, const char *text)
{
    gp_buf_str(buf, " ");
    gp_escape_markdown(buf, text);
    gp_buf_str(buf, " |");
}

void gp_markdown_cell_code(struct gp_buf *buf, const char *text)
{
    gp_buf_str(buf, " ");
    gp_escape_code(buf, text);
    gp_buf_str(buf, " |");
}

void gp_markdown_cell_backend(struct gp_buf *buf,
                              const struct gp_summary *summary,
                              const char *backend)
{
    struct gp_buf text = {0};

    gp_label_backend(summary, backend, &text);
    gp_markdown_cell_text(buf, gp_buf_text(&text));
    gp_buf_free(&text);
}

void gp_markdown_cell_count(struct gp_buf *buf, int64_t count)
{
    gp_buf_printf(buf, " %" PRId64 " |", count);
}

void gp_markdown_cell_group(struct gp_buf *buf, const struct gp_group *group,
                            void (*print)(const struct gp_group *,
                                          struct gp_buf *))
{
    gp_buf_str(buf, " ");
    print(group, buf);
    gp_buf_str(buf, " |");
}

/* --- What is wrong ----------------------------------------------------- */

static void finding_cell(struct gp_buf *buf, const json_t *record)
{
    json_t *findings = gp_trouble_findings(record);
    size_t count = json_array_size(findings);

    gp_buf_str(buf, " ");
    for (size_t i = 0; i < count && i < FINDINGS_SHOWN; i++) {
        struct gp_buf text = {0};

        gp_trouble_print(json_array_get(findings, i), &text);
        gp_buf_str(buf, i ? "<br>" : "");
        gp_escape_markdown(buf, text.text);
        gp_buf_free(&text);
    }
    if (count > FINDINGS_SHOWN)
        gp_buf_printf(buf, "<br>and %zu more", count - FINDINGS_SHOWN);
    if (!count)
        gp_escape_markdown(
            buf, gp_json_str_or(record, "text", "no finding says why"));
    if (gp_explained_is(record)) {
        struct gp_buf cause = {0};

        gp_explained_cause(record, &cause);
        gp_buf_str(buf, "<br>");
        gp_escape_markdown(buf, gp_buf_text(&cause));
        gp_buf_free(&cause);
    }
    gp_buf_str(buf, " |\n");
    json_decref(findings);
}

static void failure_row(struct gp_buf *buf, const struct gp_failure *failure)
{
    const json_t *members = json_object_get(failure->record, "members");
    size_t count = json_array_size(members);

    gp_buf_str(buf, "| ");
    if (!failure->relation)
        gp_escape_code(buf, failure->name);
    for (size_t i = 0; failure->relation && i < count && i < MEMBERS_SHOWN;
         i++) {
        const char *id = json_string_value(json_array_get(members, i));

        gp_buf_str(buf, i ? "<br>" : "");
        gp_escape_code(buf, id ? id : "?");
    }
    if (failure->relation && count > MEMBERS_SHOWN)
        gp_buf_printf(buf, "<br>and %zu more", count - MEMBERS_SHOWN);
    gp_buf_str(buf, " |");
    if (failure->relation) {
        gp_buf_str(buf, " relation ");
        gp_escape_markdown(buf, failure->name);
        gp_buf_str(buf, ":");
    }
    finding_cell(buf, failure->record);
}

static void print_failures(struct gp_buf *buf,
                           const struct gp_troubles *troubles)
{
    size_t count = troubles->failures_count;

    if (!count)
        return;
    gp_buf_printf(buf,
                  "\n### Failures (%zu), the worst first\n\nEach again with "
                  "`gemmproof run --only 'ID'`.\n\n"
                  "| run | what failed |\n| --- | --- |\n",
                  count);
    for (size_t i = 0; i < count && i < FAILURES_SHOWN; i++)
        failure_row(buf, &troubles->failures[i]);
    gp_markdown_left_out(buf, count, FAILURES_SHOWN);
}

/* Each explained failure, folded. */
static void print_explanations(struct gp_buf *buf,
                               const struct gp_troubles *troubles)
{
    size_t count = 0;

    for (size_t i = 0; i < troubles->failures_count; i++) {
        const struct gp_failure *failure = &troubles->failures[i];
        struct gp_buf lines = {0};
        const char *line;
        size_t length;

        if (!gp_explained_is(failure->record) || count++ >= EXPLAINED_SHOWN)
            continue;
        if (count == 1)
            gp_markdown_fold_begin(buf, "The failures explained");
        gp_explained_lines(failure->record, WORST_SHOWN, &lines);
        gp_escape_code(buf, failure->name);
        gp_buf_str(buf, "\n\n");
        for (line = gp_buf_text(&lines); *line; line += length + 1) {
            struct gp_buf one = {0};

            length = strcspn(line, "\n");
            gp_buf_add(&one, line, length);
            gp_buf_str(buf, "- ");
            gp_escape_markdown(buf, gp_buf_text(&one));
            gp_buf_str(buf, "\n");
            gp_buf_free(&one);
        }
        gp_buf_str(buf, "\n");
        gp_buf_free(&lines);
    }
    gp_markdown_left_out(buf, count, EXPLAINED_SHOWN);
    if (count)
        gp_markdown_fold_end(buf);
}

static void print_errors(struct gp_buf *buf, const struct gp_troubles *troubles)
{
    size_t count = troubles->errors_count;

    if (!count)
        return;
    gp_buf_str(buf, "\n### Errors\n\n| first of them | how many | error |\n"
                    "| --- | ---: | --- |\n");
    for (size_t i = 0; i < count && i < ERRORS_SHOWN; i++) {
        const struct gp_error_group *group = &troubles->errors[i];
        struct gp_buf text = {0};

        gp_buf_printf(buf, "| %s ", group->what);
        gp_escape_code(buf, group->name);
        gp_buf_str(buf, " |");
        gp_markdown_cell_count(buf, group->count);
        gp_buf_printf(&text, "%s: %s", group->kind, group->text);
        gp_markdown_cell_text(buf, text.text);
        gp_buf_str(buf, "\n");
        gp_buf_free(&text);
    }
    gp_markdown_left_out(buf, count, ERRORS_SHOWN);
}

static void print_skips(struct gp_buf *buf, const struct gp_summary *summary)
{
    const char *reason;
    json_t *count;
    size_t shown = 0;

    if (!json_object_size(summary->skip_reasons))
        return;
    gp_markdown_fold_begin(buf, "Skipped, by reason");
    gp_buf_str(buf, "| reason | runs |\n| --- | ---: |\n");
    json_object_foreach(summary->skip_reasons, reason, count)
    {
        if (shown++ >= ERRORS_SHOWN)
            continue;
        gp_buf_str(buf, "|");
        gp_markdown_cell_text(buf, reason);
        gp_markdown_cell_count(buf, json_integer_value(count));
        gp_buf_str(buf, "\n");
    }
    gp_markdown_left_out(buf, shown, ERRORS_SHOWN);
    gp_markdown_fold_end(buf);
}

/* --- Tables ------------------------------------------------------------ */

static void print_modes(struct gp_buf *buf, const struct gp_summary *summary)
{
    static const char *const keys[] = {"type", "mode", "backend", "env", NULL};
    struct gp_groups groups = {0};

    gp_group_make(summary, keys, &groups);
    if (groups.count)
        gp_buf_str(
            buf,
            "\n### By type and mode\n\nThe worst of all runs: bits "
            "(right ones of the worst element), share (its error / its bound), "
            "ulp.\n\n"
            "| type | mode | backend | runs | pass | observed | fail | skip "
            "| error | bits | share | ulp | repeats |\n"
            "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: "
            "| ---: | ---: | ---: | --- |\n");
    for (size_t i = 0; i < groups.count; i++) {
        const struct gp_group *group = &groups.items[i];
        const struct gp_counts *counts = &group->counts;
        struct gp_buf mode = {0};

        gp_label_mode(group->key[1], group->key[3], &mode);
        gp_buf_str(buf, "|");
        gp_markdown_cell_text(buf, group->key[0]);
        gp_markdown_cell_text(buf, gp_buf_text(&mode));
        gp_buf_free(&mode);
        gp_markdown_cell_backend(buf, summary, group->key[2]);
        gp_markdown_cell_count(buf, counts->run);
        gp_markdown_cell_count(buf, counts->pass);
        gp_markdown_cell_count(buf, counts->observed);
        gp_markdown_cell_count(buf, counts->fail);
        gp_markdown_cell_count(buf, counts->skip);
        gp_markdown_cell_count(buf, counts->error);
        gp_markdown_cell_group(buf, group, gp_group_bits);
        gp_markdown_cell_group(buf, group, gp_group_share);
        gp_markdown_cell_group(buf, group, gp_group_ulp);
        gp_markdown_cell_group(buf, group, gp_group_repeats);
        gp_buf_str(buf, "\n");
    }
    gp_group_free(&groups);
}

static void print_repeats(struct gp_buf *buf, const struct gp_summary *summary)
{
    static const char *const none[] = {NULL};
    struct gp_groups groups = {0};

    gp_group_make(summary, none, &groups);
    if (groups.count && groups.items[0].products) {
        const struct gp_group *all = &groups.items[0];

        gp_buf_printf(buf,
                      "\n%" PRId64 " product%s judged; of %" PRId64
                      " run%s that repeat%s, %" PRId64
                      " gave more than one output.\n",
                      all->products, all->products == 1 ? "" : "s",
                      all->repeated, all->repeated == 1 ? "" : "s",
                      all->repeated == 1 ? "s" : "", all->varied);
    }
    gp_group_free(&groups);
}

static void print_words(struct gp_buf *buf, json_t *words)
{
    json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
    {
        gp_buf_str(buf, i ? " " : "");
        if (json_is_string(word))
            gp_buf_str(buf, json_string_value(word));
        else
            gp_json_print(buf, word);
    }
}

static void print_object(struct gp_buf *buf, const char *name, json_t *value)
{
    struct gp_buf text = {0};

    if (!value || (json_is_object(value) && !json_object_size(value)))
        return;
    if (json_is_string(value))
        gp_buf_str(&text, json_string_value(value));
    else if (json_is_array(value))
        print_words(&text, value);
    else
        gp_json_print(&text, value);
    gp_buf_printf(buf, "- %s: ", name);
    gp_escape_code(buf, text.text ? text.text : "");
    gp_buf_str(buf, "\n");
    gp_buf_free(&text);
}

static void print_setup(struct gp_buf *buf, const struct gp_summary *summary)
{
    static const char *const of_head[] = {
        "gemmproof", "commit",    "suite",   "sources",
        "command",   "reference", "planned", "environment"};
    static const char *const of_worker[] = {"library", "device", "environment",
                                            "error"};
    json_t *worker;
    size_t i;

    gp_markdown_fold_begin(buf, "How it was measured");
    for (i = 0; i < sizeof of_head / sizeof *of_head; i++)
        print_object(buf, of_head[i],
                     json_object_get(summary->head, of_head[i]));
    json_array_foreach(summary->workers, i, worker)
    {
        if (i >= WORKERS_SHOWN)
            break;
        gp_buf_printf(buf, "\nworker %" PRId64 ", start %" PRId64 ": ",
                      gp_json_int_or(worker, "worker", 0),
                      gp_json_int_or(worker, "start", 1));
        gp_escape_code(buf, gp_json_str_or(worker, "backend", "?"));
        gp_buf_str(buf, ", workspace ");
        gp_escape_code(buf, gp_json_str_or(worker, "workspace", "?"));
        if (*gp_json_str_or(worker, "env", "")) {
            gp_buf_str(buf, " with ");
            gp_escape_code(buf, gp_json_str_or(worker, "env", ""));
        }
        gp_buf_str(buf, "\n\n");
        for (size_t j = 0; j < sizeof of_worker / sizeof *of_worker; j++)
            print_object(buf, of_worker[j],
                         json_object_get(worker, of_worker[j]));
    }
    gp_markdown_left_out(buf, json_array_size(summary->workers), WORKERS_SHOWN);
    gp_markdown_fold_end(buf);
}

void gp_writer_markdown(const struct gp_summary *summary, struct gp_buf *buf)
{
    struct gp_troubles troubles = {0};

    /* Two spaces at the end of a line break it. */
    print_sentence(buf, summary, gp_summary_measured);
    gp_buf_str(buf, "  \n");
    print_sentence(buf, summary, gp_summary_counts);
    gp_buf_str(buf, "\n\n**");
    print_sentence(buf, summary, gp_summary_outcome);
    gp_buf_str(buf, "**\n");
    gp_summary_notes(summary, "\n", buf);
    gp_trouble_find(summary, &troubles);
    print_failures(buf, &troubles);
    print_explanations(buf, &troubles);
    print_errors(buf, &troubles);
    gp_trouble_free(&troubles);
    print_modes(buf, summary);
    print_repeats(buf, summary);
    gp_markdown_delivered(buf, summary);
    gp_markdown_bands(buf, summary);
    gp_markdown_decided(buf, summary);
    gp_markdown_fingerprint(buf, summary);
    gp_markdown_evidence(buf, summary);
    gp_markdown_workspaces(buf, summary);
    gp_markdown_losses(buf, summary);
    print_skips(buf, summary);
    gp_markdown_shapes(buf, summary);
    print_setup(buf, summary);
}
