#include "reports/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"

const char *const gp_selection_keys[] = {"backend",   "entry", "mode",
                                         "workspace", "env",   NULL};

static const char *const identity[] = {
    "problem",   "backend", "entry",    "mode",    "math",  "compute", "flag",
    "workspace", "env",     "schedule", "repeats", "fault", "scalars", NULL};

static bool named(const struct gp_selection *only, const char *key)
{
    /* A mode is a name for the three. */
    if (strcmp(key, "math") == 0 || strcmp(key, "compute") == 0 ||
        strcmp(key, "flag") == 0)
        key = "mode";
    for (; only->key; only++)
        if (strcmp(only->key, key) == 0)
            return true;
    return false;
}

static bool selected(const json_t *run, const struct gp_selection *only)
{
    for (; only->key; only++)
        if (strcmp(gp_json_str_or(run, only->key, ""), only->value) != 0)
            return false;
    return true;
}

/* All keys that two runs must agree in, in one text. */
static void identify(const struct gp_comparison *comparison, const json_t *run,
                     struct gp_buf *buf)
{
    buf->len = 0;
    for (const char *const *key = identity; *key; key++) {
        json_t *value = json_object_get(run, *key);
        if (named(comparison->old_only, *key) ||
            named(comparison->new_only, *key))
            continue;
        if (json_is_string(value))
            gp_buf_str(buf, json_string_value(value));
        else if (json_is_integer(value))
            gp_buf_printf(buf, "%lld", (long long)json_integer_value(value));
        else
            gp_buf_str(buf, json_is_true(value) ? "1" : "");
        gp_buf_str(buf, "\n");
    }
}

/* Distinct outputs: how many, and are they the other's? A run with several
 * has them in the order of their appearance, which may vary. */
static bool same_outputs(const json_t *a, const json_t *b)
{
    size_t count = json_array_size(a), found = 0;

    if (count != json_array_size(b))
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            found +=
                (size_t)json_equal(json_array_get(a, i), json_array_get(b, j));
    return found == count;
}

/* bits_cw or bits_nw; absent where there was no error at all. */
static double accuracy(const json_t *run, const char *key)
{
    return gp_json_real_or(json_object_get(run, "accuracy"), key, INFINITY);
}

/* Worse in either is worse, whatever the other says. */
static unsigned accuracies(const json_t *old_run, const json_t *new_run)
{
    const struct {
        const char *key;
        double least;
    } rows[] = {{"bits_nw", GP_COMPARE_BITS_NW},
                {"bits_cw", GP_COMPARE_BITS_CW}};
    bool better = false, worse = false;

    if (!json_object_get(old_run, "accuracy") ||
        !json_object_get(new_run, "accuracy"))
        return GP_CHANGE_UNMEASURED;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double before = accuracy(old_run, rows[i].key);
        double after = accuracy(new_run, rows[i].key);
        better |= after > before && !(after - before < rows[i].least);
        worse |= after < before && !(before - after < rows[i].least);
    }
    return worse ? GP_CHANGE_WORSE : better ? GP_CHANGE_BETTER : 0;
}

static unsigned changes_of(const json_t *old_run, const json_t *new_run)
{
    json_t *before = json_object_get(old_run, "digests");
    json_t *after = json_object_get(new_run, "digests");
    json_t *kernels = json_object_get(old_run, "kernels");
    json_t *others = json_object_get(new_run, "kernels");
    unsigned changes = 0;

    if (gp_summary_verdict(old_run) != gp_summary_verdict(new_run))
        changes |= GP_CHANGE_VERDICT;
    if (kernels && others && !json_equal(kernels, others))
        changes |= GP_CHANGE_KERNEL;
    if (json_array_size(before) == 0 || json_array_size(after) == 0)
        return changes | GP_CHANGE_UNKNOWN;
    if (!same_outputs(before, after))
        changes |= GP_CHANGE_BITS | accuracies(old_run, new_run);
    return changes;
}

static void count(struct gp_comparison *comparison, unsigned changes)
{
    const struct {
        unsigned flag;
        int64_t *to;
    } rows[] = {{GP_CHANGE_BITS, &comparison->bits},
                {GP_CHANGE_BETTER, &comparison->better},
                {GP_CHANGE_WORSE, &comparison->worse},
                {GP_CHANGE_VERDICT, &comparison->verdict},
                {GP_CHANGE_KERNEL, &comparison->kernel},
                {GP_CHANGE_ONLY_OLD, &comparison->only_old},
                {GP_CHANGE_ONLY_NEW, &comparison->only_new},
                {GP_CHANGE_UNKNOWN, &comparison->unknown}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i].to += changes & rows[i].flag ? 1 : 0;
    comparison->both +=
        changes & (GP_CHANGE_ONLY_OLD | GP_CHANGE_ONLY_NEW) ? 0 : 1;
    comparison->same += changes == 0 ? 1 : 0;
}

static void add(struct gp_comparison *comparison, const json_t *old_run,
                const json_t *new_run)
{
    struct gp_pair *pair =
        gp_grow((void **)&comparison->pairs, comparison->count,
                &comparison->room, sizeof *pair);

    *pair = (struct gp_pair){old_run, new_run,
                             !new_run   ? GP_CHANGE_ONLY_OLD
                             : !old_run ? GP_CHANGE_ONLY_NEW
                                        : changes_of(old_run, new_run)};
    comparison->count++;
    count(comparison, pair->changes);
}

static const json_t *run_at(const struct gp_summary *side, const json_t *place)
{
    return json_array_get(side->runs, (size_t)json_integer_value(place));
}

/* The selected runs of one side by their identity, as indices. */
static int gather(const struct gp_comparison *comparison,
                  const struct gp_summary *side,
                  const struct gp_selection *only, const char *name,
                  json_t *ret_places, struct gp_err *err)
{
    struct gp_buf key = {0};
    int status = 0;
    json_t *run;
    size_t i;

    json_array_foreach(side->runs, i, run)
    {
        json_t *before;
        if (!selected(run, only))
            continue;
        identify(comparison, run, &key);
        before = json_object_get(ret_places, gp_buf_text(&key));
        if (before) {
            status = gp_err_set(
                err, GP_ERR_USAGE,
                "%s and %s stand for the same run: choose one of them with "
                "--%s KEY=VALUE",
                gp_json_str_or(run_at(side, before), "id", ""),
                gp_json_str_or(run, "id", ""), name);
            break;
        }
        gp_json_set_int(ret_places, gp_buf_text(&key), (int64_t)i);
    }
    gp_buf_free(&key);
    if (status == 0 && json_object_size(ret_places) == 0)
        return gp_err_set(err, GP_ERR_USAGE,
                          "no run of the %s journal is left by what was "
                          "selected",
                          name);
    return status;
}

static void pair_up(struct gp_comparison *comparison, json_t *old_places,
                    json_t *new_places)
{
    const char *key;
    json_t *place;

    json_object_foreach(old_places, key, place)
    {
        json_t *other = json_object_get(new_places, key);
        if (other)
            add(comparison, run_at(comparison->old_side, place),
                run_at(comparison->new_side, other));
    }
    json_object_foreach(old_places, key, place)
    {
        if (!json_object_get(new_places, key))
            add(comparison, run_at(comparison->old_side, place), NULL);
    }
    json_object_foreach(new_places, key, place)
    {
        if (!json_object_get(old_places, key))
            add(comparison, NULL, run_at(comparison->new_side, place));
    }
}

int gp_comparison_make(const struct gp_summary *old_side,
                       const struct gp_selection *old_only,
                       const struct gp_summary *new_side,
                       const struct gp_selection *new_only,
                       struct gp_comparison *ret_comparison, struct gp_err *err)
{
    struct gp_comparison made = {.old_side = old_side,
                                 .new_side = new_side,
                                 .old_only = old_only,
                                 .new_only = new_only};
    json_t *old_places = gp_json_object(), *new_places = gp_json_object();
    int status = gather(&made, old_side, old_only, "old", old_places, err);

    if (status == 0)
        status = gather(&made, new_side, new_only, "new", new_places, err);
    if (status == 0) {
        pair_up(&made, old_places, new_places);
        *ret_comparison = made;
    }
    json_decref(old_places);
    json_decref(new_places);
    return status;
}

void gp_comparison_free(struct gp_comparison *comparison)
{
    free(comparison->pairs);
    *comparison = (struct gp_comparison){0};
}

void gp_comparison_words(unsigned changes, struct gp_buf *buf)
{
    const struct {
        unsigned flag;
        const char *words;
    } rows[] = {{GP_CHANGE_ONLY_OLD, "only in the old one"},
                {GP_CHANGE_ONLY_NEW, "only in the new one"},
                {GP_CHANGE_UNKNOWN, "no output to compare"},
                {GP_CHANGE_VERDICT, "verdict changed"},
                {GP_CHANGE_BITS, "bits changed"},
                {GP_CHANGE_WORSE, "accuracy worse"},
                {GP_CHANGE_BETTER, "accuracy better"},
                {GP_CHANGE_UNMEASURED, "accuracy not measured"},
                {GP_CHANGE_KERNEL, "kernel changed"}};
    const char *comma = "";

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!(changes & rows[i].flag))
            continue;
        gp_buf_printf(buf, "%s%s", comma, rows[i].words);
        comma = ", ";
    }
    if (changes == 0)
        gp_buf_str(buf, "the same");
    else if (changes & GP_CHANGE_BITS &&
             !(changes &
               (GP_CHANGE_WORSE | GP_CHANGE_BETTER | GP_CHANGE_UNMEASURED)))
        gp_buf_str(buf, ", accuracy the same");
}
