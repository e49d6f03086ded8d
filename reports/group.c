#include "reports/group.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void worst_add(struct gp_group_worst *worst, double value, bool least)
{
    if (worst->known && isnan(worst->value))
        return;
    if (!worst->known || isnan(value) ||
        (least ? value < worst->value : value > worst->value))
        worst->value = value;
    worst->known = true;
}

static void worst_key(struct gp_group_worst *worst, const json_t *accuracy,
                      const char *key)
{
    if (json_object_get(accuracy, key))
        worst_add(worst, gp_json_real_or(accuracy, key, NAN), false);
}

static void group_add(struct gp_group *group, const json_t *run)
{
    enum gp_verdict verdict = gp_summary_verdict(run);
    const json_t *accuracy = json_object_get(run, "accuracy");
    size_t outputs = json_array_size(json_object_get(run, "digests"));
    int64_t repeats = gp_json_int_or(run, "repeats", 1);

    gp_counts_run(&group->counts, verdict, gp_summary_flags(run));
    if (verdict != GP_PASS && verdict != GP_FAIL)
        return;
    group->products += repeats;
    if (repeats > 1 && outputs > 0) {
        group->repeated++;
        group->varied += outputs > 1;
    }
    if (!json_is_object(accuracy))
        return;
    worst_key(&group->max_share, accuracy, "max_share");
    worst_key(&group->max_ulp, accuracy, "max_ulp");
    /* Absent bits beside an omega: omega is 0. */
    if (json_object_get(accuracy, "bits_cw"))
        worst_add(&group->bits_cw, gp_json_real_or(accuracy, "bits_cw", NAN),
                  true);
    else if (gp_json_real_or(accuracy, "omega", NAN) == 0)
        worst_add(&group->bits_cw, INFINITY, true);
}

/* The rank of a value among those that its key had so far. */
static size_t rank_of(json_t *ranks, const char *value)
{
    int64_t rank = gp_json_int_or(ranks, value, -1);

    if (rank < 0) {
        rank = (int64_t)json_object_size(ranks);
        gp_json_set(ranks, value, json_integer(rank));
    }
    return (size_t)rank;
}

static int group_compare(const void *one, const void *two)
{
    const struct gp_group *a = one, *b = two;

    for (size_t i = 0; i < GP_GROUP_KEYS; i++)
        if (a->rank[i] != b->rank[i])
            return a->rank[i] < b->rank[i] ? -1 : 1;
    return 0;
}

static struct gp_group *group_find(struct gp_groups *groups, json_t *places,
                                   json_t *const *ranks, const json_t *run,
                                   const char *const *keys)
{
    struct gp_group made = {0};
    struct gp_buf name = {0};
    int64_t place;

    for (size_t i = 0; i < GP_GROUP_KEYS && keys[i]; i++) {
        made.key[i] = gp_json_str_or(run, keys[i], "");
        made.rank[i] = rank_of(ranks[i], made.key[i]);
        gp_buf_printf(&name, "%zu.", made.rank[i]);
    }
    place = gp_json_int_or(places, gp_buf_text(&name), -1);
    if (place < 0) {
        place = (int64_t)groups->count++;
        gp_json_set(places, gp_buf_text(&name), json_integer(place));
        gp_grow((void **)&groups->items, (size_t)place, &groups->room,
                sizeof *groups->items);
        groups->items[place] = made;
    }
    gp_buf_free(&name);
    return &groups->items[place];
}

void gp_group_make(const struct gp_summary *summary, const char *const *keys,
                   struct gp_groups *ret_groups)
{
    struct gp_groups groups = {0};
    json_t *places = gp_json_object();
    json_t *ranks[GP_GROUP_KEYS];
    json_t *run;
    size_t i;

    for (i = 0; i < GP_GROUP_KEYS; i++)
        ranks[i] = gp_json_object();
    json_array_foreach(summary->runs, i, run)
    {
        group_add(group_find(&groups, places, ranks, run, keys), run);
    }
    if (groups.count)
        qsort(groups.items, groups.count, sizeof *groups.items, group_compare);
    for (i = 0; i < GP_GROUP_KEYS; i++)
        json_decref(ranks[i]);
    json_decref(places);
    *ret_groups = groups;
}

void gp_group_free(struct gp_groups *groups)
{
    free(groups->items);
    memset(groups, 0, sizeof *groups);
}

bool gp_group_same(const struct gp_group *a, const struct gp_group *b,
                   size_t keys)
{
    return memcmp(a->rank, b->rank, keys * sizeof a->rank[0]) == 0;
}

void gp_group_bits(const struct gp_group *group, struct gp_buf *buf)
{
    double bits = group->bits_cw.value;

    if (!group->bits_cw.known)
        gp_buf_str(buf, "-");
    else if (isinf(bits) && bits > 0)
        gp_buf_str(buf, "exact");
    else if (isnan(bits))
        gp_buf_str(buf, "nan");
    else
        gp_buf_printf(buf, "%.1f", bits);
}

static void worst_print(const struct gp_group_worst *worst, struct gp_buf *buf)
{
    if (!worst->known)
        gp_buf_str(buf, "-");
    else if (isnan(worst->value))
        gp_buf_str(buf, "nan");
    else
        gp_buf_printf(buf, "%.3g", worst->value);
}

void gp_group_share(const struct gp_group *group, struct gp_buf *buf)
{
    worst_print(&group->max_share, buf);
}

void gp_group_ulp(const struct gp_group *group, struct gp_buf *buf)
{
    worst_print(&group->max_ulp, buf);
}

void gp_group_repeats(const struct gp_group *group, struct gp_buf *buf)
{
    if (!group->repeated)
        gp_buf_str(buf, "-");
    else if (!group->varied)
        gp_buf_str(buf, "identical");
    else
        gp_buf_printf(buf, "%" PRId64 " varied", group->varied);
}
