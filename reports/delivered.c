#include "reports/delivered.h"

#include <inttypes.h>
#include <string.h>

#include "reports/decided.h"
#include "reports/index.h"
#include "reports/label.h"

enum { SETTINGS_NAMED = 4 };

const char *gp_delivered_word(const json_t *run)
{
    json_t *findings = json_object_get(run, "findings");
    json_t *finding;
    size_t i;

    if (*gp_json_str_or(run, "fault", ""))
        return NULL;
    json_array_foreach(findings, i, finding)
    {
        const char *word = gp_json_str_or(finding, "delivered", "");

        if (*word)
            return word;
    }
    return NULL;
}

static json_t *object_in(json_t *object, const char *key)
{
    json_t *found = json_object_get(object, key);

    if (!found) {
        found = gp_json_object();
        gp_json_set(object, key, found);
    }
    return found;
}

/* A row keeps shape -> workspace -> word -> runs until all is counted. */
static void count_run(json_t *rows, json_t *places, const json_t *run,
                      const char *word)
{
    static const char *const keys[] = {"backend", "type", "mode"};
    const char *parts[5] = {0};
    struct gp_buf shape = {0};
    json_t *row, *cell;
    int64_t place;

    for (size_t i = 0; i < 3; i++)
        parts[i] = gp_json_str_or(run, keys[i], "");
    parts[3] = gp_label_entry(run);
    place = gp_index_add(places, parts, (int64_t)json_array_size(rows));
    if (place < 0) {
        row = gp_json_object();
        for (size_t i = 0; i < 3; i++)
            gp_json_set_str(row, keys[i], parts[i]);
        gp_json_set_str(row, "entry", parts[3]);
        gp_json_append(rows, row);
    } else {
        row = json_array_get(rows, (size_t)place);
    }
    gp_label_shape(run, &shape);
    gp_index_count(object_in(row, "delivered"), word);
    cell = object_in(object_in(row, "shapes"), gp_buf_text(&shape));
    cell = object_in(cell, gp_json_str_or(run, "workspace", ""));
    gp_index_count(cell, word);
    gp_buf_free(&shape);
}

static const char *most_frequent(const json_t *words)
{
    const char *word, *most = NULL;
    int64_t largest = 0;
    json_t *count;

    json_object_foreach((json_t *)words, word, count)
    {
        if (json_integer_value(count) > largest) {
            largest = json_integer_value(count);
            most = word;
        }
    }
    return most;
}

static int64_t sum_of(json_t *counts)
{
    const char *word;
    json_t *count;
    int64_t sum = 0;

    json_object_foreach(counts, word, count)
    {
        sum += json_integer_value(count);
    }
    return sum;
}

/* When does a shape deliver this word? Append "" for always, the workspaces
 * that decide it, or else how often. False: never. */
static bool print_when(json_t *workspaces, const char *word, struct gp_buf *buf)
{
    int64_t with = 0, runs = 0, mixed = 0;
    json_t *names = gp_json_array();
    const char *name;
    json_t *counts;

    json_object_foreach(workspaces, name, counts)
    {
        int64_t here = gp_json_int_or(counts, word, 0);
        int64_t all = sum_of(counts);

        with += here;
        runs += all;
        mixed += here > 0 && here < all;
        if (here)
            gp_json_append(names, json_string(name));
    }
    if (mixed)
        gp_buf_printf(buf, "in %" PRId64 " of %" PRId64 " runs", with, runs);
    else if (with && with < runs) {
        gp_buf_str(buf, "under ");
        gp_label_list(names, SETTINGS_NAMED, buf);
    }
    json_decref(names);
    return with > 0;
}

static void add_elsewhere(json_t *elsewhere, json_t *places, const char *word,
                          const char *when, const char *shape)
{
    const char *const parts[] = {word, when, NULL};
    int64_t place =
        gp_index_add(places, parts, (int64_t)json_array_size(elsewhere));
    json_t *group;

    if (place < 0) {
        group = gp_json_object();
        gp_json_set_str(group, "delivered", word);
        gp_json_set(group, "shapes", gp_json_array());
        gp_json_set_str(group, "when", when);
        gp_json_append(elsewhere, group);
    } else {
        group = json_array_get(elsewhere, (size_t)place);
    }
    gp_json_append(json_object_get(group, "shapes"), json_string(shape));
}

/* What always holds of a shape comes before what depends on something. */
static json_t *always_first(json_t *elsewhere)
{
    json_t *sorted = gp_json_array();
    json_t *group;
    size_t i;

    for (int depends = 0; depends < 2; depends++)
        json_array_foreach(elsewhere, i, group)
        {
            if ((*gp_json_str_or(group, "when", "") != '\0') == depends)
                gp_json_append(sorted, json_incref(group));
        }
    json_decref(elsewhere);
    return sorted;
}

static void finish_row(json_t *row)
{
    json_t *words = json_object_get(row, "delivered");
    const char *most = most_frequent(words), *word, *shape;
    json_t *elsewhere = gp_json_array(), *places = gp_json_object();
    json_t *count, *workspaces;

    json_object_foreach(words, word, count)
    {
        if (strcmp(word, most) == 0)
            continue;
        json_object_foreach(json_object_get(row, "shapes"), shape, workspaces)
        {
            struct gp_buf when = {0};

            if (print_when(workspaces, word, &when))
                add_elsewhere(elsewhere, places, word, gp_buf_text(&when),
                              shape);
            gp_buf_free(&when);
        }
    }
    gp_json_set(row, "elsewhere", always_first(elsewhere));
    json_object_del(row, "shapes");
    json_decref(places);
}

json_t *gp_delivered_find(const struct gp_summary *summary)
{
    json_t *rows = gp_json_array(), *places = gp_json_object();
    json_t *record;
    size_t i;

    json_array_foreach(summary->runs, i, record)
    {
        const char *word = gp_delivered_word(record);

        if (word && !gp_decided_elsewhere(record))
            count_run(rows, places, record, word);
    }
    json_array_foreach(rows, i, record)
    {
        finish_row(record);
    }
    json_decref(places);
    return rows;
}

void gp_delivered_print(const json_t *elsewhere, size_t shapes,
                        struct gp_buf *buf)
{
    const char *when = gp_json_str_or(elsewhere, "when", "");

    gp_buf_printf(buf, "%s for ", gp_json_str_or(elsewhere, "delivered", "?"));
    gp_label_list(json_object_get(elsewhere, "shapes"), shapes, buf);
    if (*when)
        gp_buf_printf(buf, " %s", when);
}

void gp_delivered_name(const json_t *row, struct gp_buf *buf)
{
    const char *entry = gp_json_str_or(row, "entry", "");

    gp_buf_printf(buf, "%s %s", gp_json_str_or(row, "type", "?"),
                  gp_json_str_or(row, "mode", "?"));
    if (*entry && !json_object_get(row, "decided"))
        gp_buf_printf(buf, " through %s", entry);
}
