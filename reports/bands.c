#include "reports/bands.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "reports/index.h"

static const char *const names[] = {"backend", "type", "mode", "law"};
enum { NAMES = sizeof names / sizeof *names };

/* Let `key` of the row be the smaller (larger) of what it is and `value`. */
static void widen(json_t *row, const char *key, double value, bool larger)
{
    const json_t *old = json_object_get(row, key);

    if (!old || (larger ? json_number_value(old) < value
                        : json_number_value(old) > value))
        gp_json_set_real(row, key, value);
}

static void widen_int(json_t *row, const char *key, int64_t value, bool larger)
{
    const json_t *old = json_object_get(row, key);

    if (!old || (larger ? json_integer_value(old) < value
                        : json_integer_value(old) > value))
        gp_json_set_int(row, key, value);
}

static json_t *row_of(json_t *rows, json_t *places, const char *const *parts,
                      const char *k)
{
    const char *all[NAMES + 2] = {0};
    int64_t place;
    json_t *row;

    memcpy(all, parts, NAMES * sizeof *all);
    all[NAMES] = k;
    place = gp_index_add(places, all, (int64_t)json_array_size(rows));
    if (place >= 0)
        return json_array_get(rows, (size_t)place);
    row = gp_json_object();
    for (int i = 0; i < NAMES; i++)
        gp_json_set_str(row, names[i], parts[i]);
    gp_json_append(rows, row);
    return row;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* The finding of `band` in a run; NULL if it has none. */
static const json_t *finding_of(const json_t *run)
{
    const json_t *findings = json_object_get(run, "findings"), *finding;
    size_t i;

    json_array_foreach(findings, i, finding)
    {
        if (strcmp(gp_json_str_or(finding, "check", ""), "band") == 0)
            return finding;
    }
    return NULL;
}

static void count_run(json_t *rows, json_t *places, const json_t *run,
                      const json_t *finding)
{
    /* A finding may be of another number than the rms, the accuracy is not. */
    double rms = number(json_object_get(run, "accuracy"), "rms");
    double expected = number(finding, "expected");
    const char *parts[NAMES];
    struct gp_buf k = {0};
    json_t *row;

    for (int i = 0; i < NAMES - 1; i++)
        parts[i] = gp_json_str_or(run, names[i], "?");
    parts[NAMES - 1] = gp_json_str_or(finding, "law", "?");
    gp_buf_printf(&k, "%" PRId64, gp_json_int_or(run, "k", 0));
    row = row_of(rows, places, parts, gp_buf_text(&k));
    gp_buf_free(&k);
    gp_json_set_int(row, "k", gp_json_int_or(run, "k", 0));
    gp_index_count(row, "runs");
    if (gp_summary_verdict(finding) == GP_FAIL)
        gp_index_count(row, "failed");
    if (expected > 0) {
        widen(row, "least", rms / expected, false);
        widen(row, "most", rms / expected, true);
    }
    widen_int(row, "sums_least", gp_json_int_or(finding, "sums", 1), false);
    widen_int(row, "sums_most", gp_json_int_or(finding, "sums", 1), true);
}

static bool same_law(const json_t *a, const json_t *b)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(gp_json_str_or(a, names[i], ""),
                   gp_json_str_or(b, names[i], "")) != 0)
            return false;
    return true;
}

/* Laws in the order in which they appear, each by k. */
static json_t *sorted(json_t *rows)
{
    json_t *made = gp_json_array();
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        size_t at = json_array_size(made), same = at;

        while (same > 0 && !same_law(json_array_get(made, same - 1), row))
            same--;
        if (same > 0)
            for (at = same;
                 at > 0 && same_law(json_array_get(made, at - 1), row) &&
                 gp_json_int_or(json_array_get(made, at - 1), "k", 0) >
                     gp_json_int_or(row, "k", 0);)
                at--;
        if (json_array_insert_new(made, at, json_incref(row)) != 0)
            gp_arena_out_of_memory(sizeof *row);
    }
    json_decref(rows);
    return made;
}

json_t *gp_bands_find(const struct gp_summary *summary)
{
    json_t *rows = gp_json_array(), *places = gp_json_object();
    const json_t *run;
    size_t i;

    json_array_foreach(summary->runs, i, run)
    {
        const json_t *finding = finding_of(run);

        if (finding && json_object_get(finding, "law") &&
            !*gp_json_str_or(run, "fault", ""))
            count_run(rows, places, run, finding);
    }
    json_decref(places);
    return sorted(rows);
}

static void add_to_law(json_t *law, const json_t *row)
{
    const json_t *least = json_object_get(row, "least");

    widen_int(law, "k", gp_json_int_or(row, "k", 0), false);
    widen_int(law, "k_most", gp_json_int_or(row, "k", 0), true);
    gp_json_set_int(law, "runs",
                    gp_json_int_or(law, "runs", 0) +
                        gp_json_int_or(row, "runs", 0));
    gp_json_set_int(law, "failed",
                    gp_json_int_or(law, "failed", 0) +
                        gp_json_int_or(row, "failed", 0));
    if (least) {
        widen(law, "least", json_number_value(least), false);
        widen(law, "most", number(row, "most"), true);
    }
    widen_int(law, "sums_least", gp_json_int_or(row, "sums_least", 1), false);
    widen_int(law, "sums_most", gp_json_int_or(row, "sums_most", 1), true);
}

json_t *gp_bands_by_law(const json_t *rows)
{
    json_t *made = gp_json_array(), *law = NULL;
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (!law || !same_law(law, row)) {
            law = gp_json_object();
            for (int n = 0; n < NAMES; n++)
                gp_json_set_str(law, names[n],
                                gp_json_str_or(row, names[n], "?"));
            gp_json_append(made, law);
        }
        add_to_law(law, row);
    }
    return made;
}

static double sum_of_alarms(const json_t *record)
{
    const json_t *findings = json_object_get(record, "findings"), *finding;
    double sum = number(record, "false_alarm"); /* of a relation */
    size_t i;

    json_array_foreach(findings, i, finding)
    {
        sum += number(finding, "false_alarm");
    }
    return sum;
}

double gp_bands_false_alarm(const struct gp_summary *summary)
{
    const json_t *record;
    double sum = 0;
    size_t i;

    json_array_foreach(summary->runs, i, record)
    {
        sum += sum_of_alarms(record);
    }
    json_array_foreach(summary->relations, i, record)
    {
        sum += sum_of_alarms(record);
    }
    return fmin(sum, 1);
}

void gp_bands_sentence(const struct gp_summary *summary, struct gp_buf *buf)
{
    int64_t judged = 0, not_judged = 0;
    const json_t *run;
    size_t i;

    json_array_foreach(summary->runs, i, run)
    {
        const json_t *finding = finding_of(run);

        judged += finding && json_object_get(finding, "false_alarm");
        not_judged += finding && strcmp(gp_json_str_or(finding, "verdict", ""),
                                        "skip") == 0;
    }
    if (judged + not_judged == 0)
        return;
    if (judged)
        gp_buf_printf(buf,
                      "%" PRId64 " runs judged by statistics: the probability "
                      "that any of them is a false alarm is below %.1e",
                      judged, gp_bands_false_alarm(summary));
    else
        gp_buf_str(buf, "No run was judged by statistics");
    if (not_judged)
        gp_buf_printf(buf,
                      "; %" PRId64 "%s could not be judged so (too few "
                      "results, or nothing is rounded)",
                      not_judged, judged ? " more" : "");
}

void gp_bands_growth(const struct gp_summary *summary, struct gp_buf *buf)
{
    enum { SHOWN = 4 };
    struct gp_buf said = {0};
    int64_t judged = 0, fast = 0;
    const json_t *record;
    size_t i;

    json_array_foreach(summary->relations, i, record)
    {
        const json_t *members = json_object_get(record, "members");
        const char *id = json_string_value(json_array_get(members, 0));

        if (strcmp(gp_json_str_or(record, "relation", ""), "growth") != 0)
            continue;
        judged++;
        if (gp_summary_flags(record) & GP_OBSERVED ||
            gp_summary_verdict(record) != GP_PASS)
            if (fast++ < SHOWN)
                gp_buf_printf(&said, "; %s and its like: %s", id ? id : "?",
                              gp_json_str_or(record, "text", ""));
    }
    if (judged)
        gp_buf_printf(buf,
                      "growth with k: %" PRId64 " groups of sizes, %" PRId64
                      " grow too fast%s",
                      judged, fast, gp_buf_text(&said));
    gp_buf_free(&said);
}

void gp_bands_ratio(const json_t *row, struct gp_buf *buf)
{
    double least = number(row, "least"), most = number(row, "most");

    if (!json_object_get(row, "least"))
        gp_buf_str(buf, "exact");
    else if (most - least < 0.005)
        gp_buf_printf(buf, "%.2f", most);
    else
        gp_buf_printf(buf, "%.2f to %.3g", least, most);
}

void gp_bands_sums(const json_t *row, struct gp_buf *buf)
{
    int64_t least = gp_json_int_or(row, "sums_least", 1);
    int64_t most = gp_json_int_or(row, "sums_most", 1);

    gp_buf_printf(buf, "%" PRId64, least);
    if (most > least)
        gp_buf_printf(buf, " to %" PRId64, most);
}
