#include "reports/trouble.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far a finding lies beyond what is allowed; a NaN, and anything beyond a
 * limit of 0, is infinitely far. */
static double finding_excess(const json_t *finding)
{
    double value = fabs(gp_json_real_or(finding, "value", 0));
    double limit = fabs(gp_json_real_or(finding, "limit", 0));

    if (isnan(value) || isnan(limit) || (limit == 0 && value != 0))
        return INFINITY;
    return value == 0 ? 0 : isinf(limit) ? 0 : value / limit;
}

static bool finding_proved(const json_t *finding)
{
    return strncmp(gp_json_str_or(finding, "evidence", ""), "proved", 6) == 0;
}

struct ranked {
    json_t *finding;
    bool proved;
    double excess;
    size_t place;
};

static int worst_first(bool proved_a, double excess_a, size_t place_a,
                       bool proved_b, double excess_b, size_t place_b)
{
    if (proved_a != proved_b)
        return proved_a ? -1 : 1;
    if (excess_a != excess_b)
        return excess_a > excess_b ? -1 : 1;
    return place_a < place_b ? -1 : place_a > place_b;
}

static int ranked_compare(const void *one, const void *two)
{
    const struct ranked *a = one, *b = two;

    return worst_first(a->proved, a->excess, a->place, b->proved, b->excess,
                       b->place);
}

json_t *gp_trouble_findings(const json_t *run)
{
    const json_t *findings = json_object_get(run, "findings");
    struct ranked *ranked = NULL;
    size_t count = 0, room = 0;
    json_t *sorted = gp_json_array();

    for (size_t i = 0; i < json_array_size(findings); i++) {
        json_t *finding = json_array_get(findings, i);

        if (gp_summary_verdict(finding) != GP_FAIL)
            continue;
        gp_grow((void **)&ranked, count, &room, sizeof *ranked);
        ranked[count].finding = finding;
        ranked[count].proved = finding_proved(finding);
        ranked[count].excess = finding_excess(finding);
        ranked[count].place = i;
        count++;
    }
    if (count)
        qsort(ranked, count, sizeof *ranked, ranked_compare);
    for (size_t i = 0; i < count; i++)
        gp_json_append(sorted, json_incref(ranked[i].finding));
    free(ranked);
    return sorted;
}

static int failure_compare(const void *one, const void *two)
{
    const struct gp_failure *a = one, *b = two;

    if (a->proved == b->proved && a->excess == b->excess && a->k != b->k)
        return a->k < b->k ? -1 : 1;
    if (a->proved == b->proved && a->excess == b->excess && a->work != b->work)
        return a->work < b->work ? -1 : 1;
    return worst_first(a->proved, a->excess, a->place, b->proved, b->excess,
                       b->place);
}

static struct gp_failure *failure_add(struct gp_troubles *troubles,
                                      const json_t *record)
{
    struct gp_failure *added =
        gp_grow((void **)&troubles->failures, troubles->failures_count,
                &troubles->failures_room, sizeof *troubles->failures);

    added->record = record;
    added->place = troubles->failures_count++;
    return added;
}

/* Errors are told apart by kind and text; `seen` maps both to the index. */
static void error_add(struct gp_troubles *troubles, json_t *seen,
                      const json_t *error, const char *name, const char *what)
{
    const char *kind = gp_json_str_or(error, "kind", "error");
    const char *text = gp_json_str_or(error, "text", "no reason given");
    struct gp_buf key = {0};
    struct gp_error_group *group;
    int64_t place;
    bool fresh;

    /* A worker's failed start is told by the runs that it cost. */
    gp_buf_printf(&key, "%s %s", kind, text);
    place = gp_json_int_or(seen, key.text, -1);
    fresh = place < 0;
    if (fresh) {
        place = (int64_t)troubles->errors_count++;
        gp_json_set(seen, key.text, json_integer(place));
        group = gp_grow((void **)&troubles->errors, (size_t)place,
                        &troubles->errors_room, sizeof *group);
        group->kind = kind;
        group->text = text;
        group->name = name;
        group->what = what;
    }
    gp_buf_free(&key);
    group = &troubles->errors[place];
    group->count += fresh || strcmp(what, "worker") != 0;
}

static void find_in_run(struct gp_troubles *troubles, json_t *seen,
                        const json_t *run)
{
    enum gp_verdict verdict = gp_summary_verdict(run);
    const char *id = gp_json_str_or(run, "id", "");

    if (verdict == GP_ERROR)
        error_add(troubles, seen, json_object_get(run, "error"), id, "run");
    if (verdict == GP_FAIL) {
        struct gp_failure *failure = failure_add(troubles, run);
        json_t *findings = gp_trouble_findings(run);
        const json_t *worst = json_array_get(findings, 0);

        failure->name = id;
        failure->proved = finding_proved(worst);
        failure->excess = finding_excess(worst);
        if (strcmp(gp_json_str_or(worst, "check", ""), "exact") == 0) {
            failure->k = gp_json_real_or(run, "k", 0);
            failure->work = failure->k * gp_json_real_or(run, "m", 0) *
                            gp_json_real_or(run, "n", 0);
        }
        json_decref(findings);
    }
}

static void find_in_relation(struct gp_troubles *troubles, json_t *seen,
                             const json_t *relation)
{
    enum gp_verdict verdict = gp_summary_verdict(relation);
    const char *name = gp_json_str_or(relation, "relation", "");

    if (verdict == GP_ERROR)
        error_add(troubles, seen, relation, name, "relation");
    if (verdict == GP_FAIL) {
        struct gp_failure *failure = failure_add(troubles, relation);

        failure->name = name;
        failure->relation = true;
        failure->proved = true;
    }
}

void gp_trouble_find(const struct gp_summary *summary,
                     struct gp_troubles *ret_troubles)
{
    struct gp_troubles troubles = {0};
    json_t *seen = gp_json_object();
    json_t *record;
    size_t i;

    json_array_foreach(summary->runs, i, record)
    {
        find_in_run(&troubles, seen, record);
    }
    json_array_foreach(summary->relations, i, record)
    {
        find_in_relation(&troubles, seen, record);
    }
    json_array_foreach(summary->workers, i, record)
    {
        const json_t *error = json_object_get(record, "error");

        if (error)
            error_add(&troubles, seen, error,
                      gp_json_str_or(record, "backend", ""), "worker");
    }
    if (troubles.failures_count)
        qsort(troubles.failures, troubles.failures_count,
              sizeof *troubles.failures, failure_compare);
    json_decref(seen);
    *ret_troubles = troubles;
}

void gp_trouble_free(struct gp_troubles *troubles)
{
    free(troubles->failures);
    free(troubles->errors);
    memset(troubles, 0, sizeof *troubles);
}

static void print_where(const json_t *finding, struct gp_buf *buf)
{
    static const char *const keys[] = {"i", "j", "batch", "repeat"};
    const json_t *where = json_object_get(finding, "where");
    int parts = 0;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t at = gp_json_int_or(where, keys[i], -1);

        if (at >= 0)
            gp_buf_printf(buf, "%s%s %" PRId64, parts++ ? ", " : "; at ",
                          keys[i], at);
    }
}

void gp_trouble_print(const json_t *finding, struct gp_buf *buf)
{
    const char *evidence = gp_json_str_or(finding, "evidence", "");

    gp_buf_printf(buf, "%s: %s [%s", gp_json_str_or(finding, "check", "?"),
                  gp_json_str_or(finding, "text", "no sentence"),
                  *evidence ? evidence : "no evidence given");
    if (json_object_get(finding, "value"))
        gp_buf_printf(buf, "; value %.6g",
                      gp_json_real_or(finding, "value", 0));
    if (json_object_get(finding, "limit"))
        gp_buf_printf(buf, ", limit %.6g",
                      gp_json_real_or(finding, "limit", 0));
    print_where(finding, buf);
    gp_buf_str(buf, "]");
}
