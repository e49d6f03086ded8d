#include "reports/fingerprint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/index.h"
#include "reports/label.h"

/* The order of the clauses. */
static const char *const families[] = {"one-hot",  "product",  "tie",
                                       "bit-scan", "two-term", "split-finder",
                                       "zeros",    "range",    NULL};

static const char *text_of(const json_t *object, const char *key)
{
    return gp_json_str_or(object, key, "");
}

static const json_t *finding_of(const json_t *run)
{
    json_t *findings = json_object_get(run, "findings");
    json_t *finding;
    size_t i;

    json_array_foreach(findings, i, finding)
    {
        if (strcmp(text_of(finding, "check"), "fingerprint") == 0)
            return finding;
    }
    return NULL;
}

/* --- Clauses --------------------------------------------------------------
 */

/* Significand bits of an operand: no more can be read of it. */
static double own_bits(const json_t *run)
{
    const char *type = text_of(run, "type");
    struct gp_buf in = {0};
    const struct gp_type *row;

    gp_buf_add(&in, type, strcspn(type, ":"));
    row = gp_type_find(gp_buf_text(&in));
    gp_buf_free(&in);
    return row ? row->precision : INFINITY;
}

/* Journals of before there were clauses: "asked M, delivered D: N bits read,
 * WORDS (K products)". */
static void clause_from_text(const json_t *run, const json_t *finding,
                             struct gp_buf *buf)
{
    const char *text = text_of(finding, "text");
    const char *words = strstr(text, "bits read, ");
    const char *end = words ? strrchr(words, '(') : NULL;
    static const char even[] = ", ties to even";
    size_t len, ties = strlen(even);

    if (strcmp(text_of(run, "family"), "one-hot") == 0) {
        gp_buf_printf(
            buf, "%.0f bits read",
            floor(fmin(gp_json_real_or(finding, "value", 0), own_bits(run))));
    } else if (end) {
        words += strlen("bits read, ");
        len = (size_t)(end - words);
        while (len && words[len - 1] == ' ')
            len--;
        /* The data of `product` have no ties. */
        if (len > ties && strncmp(words + len - ties, even, ties) == 0)
            gp_buf_printf(buf, "%.*s, to nearest", (int)(len - ties), words);
        else
            gp_buf_add(buf, words, len);
    }
}

static void add_clause(json_t *row, const json_t *run, const json_t *finding)
{
    json_t *clauses = json_object_get(row, "clauses");
    const char *family = text_of(run, "family");
    const char *before = text_of(clauses, family);
    struct gp_buf clause = {0};

    if (json_object_get(finding, "clause"))
        gp_buf_str(&clause, text_of(finding, "clause"));
    else if (strcmp(family, "one-hot") == 0 || strcmp(family, "product") == 0)
        clause_from_text(run, finding, &clause);
    /* Other seeds may show something else. */
    if (clause.len && !*before)
        gp_json_set_str(clauses, family, clause.text);
    else if (clause.len && !strstr(before, clause.text)) {
        struct gp_buf both = {0};
        gp_buf_printf(&both, "%s or %s", before, clause.text);
        gp_json_set_str(clauses, family, both.text);
        gp_buf_free(&both);
    }
    gp_buf_free(&clause);
}

/* --- Rows ------------------------------------------------------------------
 */

static void least(json_t *row, const char *key, double bits)
{
    double before = gp_json_real_or(row, key, INFINITY);

    if (!isnan(bits) && (bits < before || !json_object_get(row, key)))
        gp_json_set_real(row, key, bits);
}

/* The shape of a run and its settings. */
enum { PARTS = 9 };

static void parts_of(const json_t *run, const char *shape, const char **parts)
{
    parts[0] = text_of(run, "backend");
    parts[1] = text_of(run, "type");
    parts[2] = shape;
    parts[3] = text_of(run, "mode");
    parts[4] = gp_label_entry(run);
    parts[5] = text_of(run, "workspace");
    parts[6] = text_of(run, "env");
    parts[7] = text_of(run, "schedule");
    parts[8] = NULL;
}

static const char *const part_names[] = {"backend", "type",    "shape",
                                         "mode",    "entry",   "workspace",
                                         "env",     "schedule"};

static json_t *row_at(json_t *rows, json_t *places, const char *const *parts)
{
    int64_t place = gp_index_add(places, parts, (int64_t)json_array_size(rows));
    json_t *row;

    if (place >= 0)
        return json_array_get(rows, (size_t)place);
    row = gp_json_object();
    for (int i = 0; i < PARTS - 1; i++)
        gp_json_set_str(row, part_names[i], parts[i]);
    gp_json_set_str(row, "delivered", "");
    gp_json_set_str(row, "verdict", "");
    gp_json_set(row, "clauses", gp_json_object());
    gp_json_append(rows, row);
    return row;
}

/* What `product` shows outranks one-hot, which sees emulations as FP32. */
static void add_probe(json_t *row, const json_t *run, const json_t *finding)
{
    const char *delivered = text_of(finding, "delivered");
    bool product = strcmp(text_of(run, "family"), "product") == 0;

    if (*delivered && (product || !*text_of(row, "delivered")))
        gp_json_set_str(row, "delivered", delivered);
    if (gp_summary_verdict(finding) == GP_FAIL || !*text_of(row, "verdict"))
        gp_json_set_str(row, "verdict", text_of(finding, "verdict"));
    if (strcmp(text_of(run, "family"), "one-hot") == 0)
        least(row, "bits_in", gp_json_real_or(finding, "value", NAN));
    add_clause(row, run, finding);
}

static void add_dense(json_t *row, const json_t *run)
{
    const json_t *accuracy = json_object_get(run, "accuracy");

    if (!accuracy)
        return;
    least(row, "bits_cw", gp_json_real_or(accuracy, "bits_cw", INFINITY));
    least(row, "bits_nw", gp_json_real_or(accuracy, "bits_nw", INFINITY));
}

static void say(json_t *row)
{
    json_t *clauses = json_object_get(row, "clauses");
    const char *delivered = text_of(row, "delivered");
    struct gp_buf found = {0}, text = {0};
    int parts = 0;

    if (*delivered)
        gp_buf_printf(&found, "delivered %s", delivered);
    for (const char *const *family = families; *family; family++)
        if (*text_of(clauses, *family))
            gp_buf_printf(&found, "%s%s",
                          parts++      ? ", "
                          : *delivered ? ": "
                                       : "",
                          text_of(clauses, *family));
    gp_buf_printf(&text, "asked %s%s%s", text_of(row, "mode"),
                  *delivered ? ", "
                  : parts    ? ": "
                             : "",
                  gp_buf_text(&found));
    gp_json_set_str(row, "sentence", gp_buf_text(&text));
    gp_json_set_str(row, "found", gp_buf_text(&found));
    gp_buf_free(&text);
    gp_buf_free(&found);
}

static void add_run(json_t *rows, json_t *places, const json_t *run)
{
    enum gp_verdict verdict = gp_summary_verdict(run);
    const json_t *finding = finding_of(run);
    bool dense = strcmp(text_of(run, "family"), "dense") == 0;
    struct gp_buf shape = {0};
    const char *parts[PARTS];
    int64_t place;

    if ((!finding && !dense) || *text_of(run, "fault") ||
        (verdict != GP_PASS && verdict != GP_FAIL))
        return;
    gp_label_shape(run, &shape);
    parts_of(run, gp_buf_text(&shape), parts);
    place = gp_index_get(places, parts);
    if (finding)
        add_probe(row_at(rows, places, parts), run, finding);
    else if (place >= 0)
        add_dense(json_array_get(rows, (size_t)place), run);
    gp_buf_free(&shape);
}

json_t *gp_fingerprint_find(const struct gp_summary *summary)
{
    json_t *rows = gp_json_array(), *places = gp_json_object();
    json_t *record;
    size_t i;

    /* Probes make the rows; dense data add their numbers. */
    for (int dense = 0; dense < 2; dense++)
        json_array_foreach(summary->runs, i, record)
        {
            if ((finding_of(record) == NULL) == dense)
                add_run(rows, places, record);
        }
    json_array_foreach(rows, i, record)
    {
        say(record);
    }
    json_decref(places);
    return rows;
}

const json_t *gp_fingerprint_of(const json_t *rows, const json_t *run)
{
    struct gp_buf shape = {0};
    const char *parts[PARTS];
    json_t *row, *found = NULL;
    size_t i;

    gp_label_shape(run, &shape);
    parts_of(run, gp_buf_text(&shape), parts);
    json_array_foreach(rows, i, row)
    {
        bool same = true;
        for (int p = 0; p < PARTS - 1; p++)
            same = same && strcmp(text_of(row, part_names[p]), parts[p]) == 0;
        if (same && !found)
            found = row;
    }
    gp_buf_free(&shape);
    return found;
}

/* --- Groups ----------------------------------------------------------------
 */

static const char *const group_keys[] = {"backend", "type",  "entry",
                                         "env",     "found", "verdict"};
enum { GROUP_KEYS = sizeof group_keys / sizeof *group_keys };

/* The group of a row or of another group, told apart by one word more. */
static json_t *group_at(json_t *groups, json_t *places, const json_t *row,
                        const char *more)
{
    const char *parts[GROUP_KEYS + 2] = {0};
    int64_t place;
    json_t *group;

    for (int i = 0; i < GROUP_KEYS; i++)
        parts[i] = text_of(row, group_keys[i]);
    parts[GROUP_KEYS] = more;
    place = gp_index_add(places, parts, (int64_t)json_array_size(groups));
    if (place >= 0)
        return json_array_get(groups, (size_t)place);
    group = gp_json_object();
    for (int i = 0; i < GROUP_KEYS; i++)
        gp_json_set_str(group, group_keys[i], parts[i]);
    gp_json_set(group, "modes", gp_json_array());
    gp_json_set(group, "shapes", gp_json_array());
    gp_json_set_int(group, "rows", 0);
    gp_json_append(groups, group);
    return group;
}

/* Append a word unless it is there. */
static void add_once(json_t *words, const char *word)
{
    json_t *other;
    size_t i;

    json_array_foreach(words, i, other)
    {
        if (strcmp(json_string_value(other), word) == 0)
            return;
    }
    gp_json_append(words, json_string(word));
}

static void add_bits(json_t *group, const json_t *row)
{
    static const char *const keys[] = {"bits_in", "bits_cw", "bits_nw"};

    for (int i = 0; i < 3; i++)
        if (json_object_get(row, keys[i]))
            least(group, keys[i], gp_json_real_or(row, keys[i], NAN));
}

static void add_row(json_t *group, const json_t *row)
{
    gp_index_count(group, "rows");
    add_bits(group, row);
    add_once(json_object_get(group, "modes"), text_of(row, "mode"));
    add_once(json_object_get(group, "shapes"), text_of(row, "shape"));
}

/* Modes with the same shapes become one group. */
static json_t *merged(json_t *by_mode)
{
    json_t *groups = gp_json_array(), *places = gp_json_object(), *one;
    size_t i;

    json_array_foreach(by_mode, i, one)
    {
        json_t *shapes = json_object_get(one, "shapes"), *into;
        struct gp_buf text = {0};

        gp_json_print(&text, shapes);
        into = group_at(groups, places, one, gp_buf_text(&text));
        gp_json_set_int(into, "rows",
                        gp_json_int_or(into, "rows", 0) +
                            gp_json_int_or(one, "rows", 0));
        add_bits(into, one);
        gp_json_set(into, "shapes", json_incref(shapes));
        json_array_extend(json_object_get(into, "modes"),
                          json_object_get(one, "modes"));
        gp_buf_free(&text);
    }
    json_decref(places);
    json_decref(by_mode);
    return groups;
}

/* Types keep the order in which they come. */
static int64_t rank_of(json_t *ranks, const json_t *group)
{
    const char *const parts[] = {
        text_of(group, "backend"), text_of(group, "type"),
        text_of(group, "entry"), text_of(group, "env"), NULL};
    int64_t fresh = (int64_t)json_object_size(ranks);
    int64_t rank = gp_index_add(ranks, parts, fresh);

    return rank < 0 ? fresh : rank;
}

struct ranked {
    json_t *group;
    bool failed;
    int64_t rank, rows;
    size_t place;
};

static int ranked_compare(const void *one, const void *two)
{
    const struct ranked *a = one, *b = two;

    if (a->failed != b->failed)
        return a->failed ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rows != b->rows)
        return a->rows > b->rows ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static json_t *sorted(json_t *groups)
{
    struct ranked *ranked = NULL;
    json_t *ranks = gp_json_object(), *made = gp_json_array(), *group;
    size_t count = json_array_size(groups), room = 0, i;

    json_array_foreach(groups, i, group)
    {
        gp_grow((void **)&ranked, i, &room, sizeof *ranked);
        ranked[i] = (struct ranked){
            .group = group,
            .failed = strcmp(text_of(group, "verdict"), "fail") == 0,
            .rank = rank_of(ranks, group),
            .rows = gp_json_int_or(group, "rows", 0),
            .place = i};
    }
    if (count)
        qsort(ranked, count, sizeof *ranked, ranked_compare);
    for (i = 0; i < count; i++)
        gp_json_append(made, json_incref(ranked[i].group));
    free(ranked);
    json_decref(ranks);
    json_decref(groups);
    return made;
}

json_t *gp_fingerprint_group(const json_t *rows)
{
    json_t *groups = gp_json_array(), *places = gp_json_object();
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        add_row(group_at(groups, places, row, text_of(row, "mode")), row);
    }
    json_decref(places);
    return sorted(merged(groups));
}

void gp_fingerprint_bits(const json_t *row, const char *key, struct gp_buf *buf)
{
    double bits = gp_json_real_or(row, key, NAN);

    if (!json_object_get(row, key) || isnan(bits))
        gp_buf_str(buf, "-");
    else if (isinf(bits))
        gp_buf_str(buf, "exact");
    else
        gp_buf_printf(buf, "%.1f", bits);
}
