/* Rules on one range of k: products that are missing, added twice, or made of
 * operands of an earlier range. */
#include <stdio.h>

#include "harness/check/explain_search.h"

enum {
    SUSPECTS_LEAST = 3,
    GROUP = 6, /* suspects that may share a fault others lack */
    DELAYS_K_MOST = 1 << 16,
    POINTS_MOST = 1 << 20 /* of k in all groups */
};

/* How many of all suspects the range explains. */
static int64_t count_fits(const struct gp_scene *scene,
                          const struct gp_sums *sums,
                          const struct gp_search *found)
{
    int64_t fits = 0;

    for (size_t s = 0; s < sums->wrong; s++)
        fits +=
            gp_scene_fits(scene, sums->suspect[s],
                          sums->suspect[s]->ref +
                              found->times * (sums->prefix[s][found->to] -
                                              sums->prefix[s][found->from]));
    return fits;
}

/* Do the ranges that fit share no product, so that the data do not say where
 * it was? */
static bool is_anywhere(const struct gp_search *search)
{
    return search->from_most >= search->to_least;
}

/* --- Words ----------------------------------------------------------------
 */

static void say_pieces(const struct gp_k_range *range, int64_t k, char *to,
                       size_t room)
{
    int64_t count = range->to - range->from + 1, least = 0, most = 0;

    for (int64_t of = 8; of <= 1024; of *= 2)
        if (range->to == k - 1 && k % of == count) {
            least = least ? least : of;
            most = of;
        }
    if (most && least < most)
        snprintf(to, room, ", what is left of k by blocks of %lld to %lld",
                 (long long)least, (long long)most);
    else if (most)
        snprintf(to, room, ", what is left of k by blocks of %lld",
                 (long long)most);
    else if (count >= 8 && range->from % count == 0 && count < k)
        snprintf(to, room, ", piece %lld of %lld where k is cut every %lld",
                 (long long)(range->from / count + 1),
                 (long long)((k + count - 1) / count), (long long)count);
}

static void say_range(const struct gp_k_range *range, char *to, size_t room)
{
    if (range->from == range->to)
        snprintf(to, room, "k = %lld", (long long)range->from);
    else
        snprintf(to, room, "k = %lld .. %lld", (long long)range->from,
                 (long long)range->to);
}

/* The data leave open which range it was. */
static void say_anywhere(const struct gp_search *found, const char *deed,
                         struct gp_rule *rule)
{
    char where[60];

    say_range(&rule->k, where, sizeof where);
    if (found->shortest == found->longest)
        snprintf(rule->words, sizeof rule->words, "%lld product%s %s",
                 (long long)found->longest, found->longest == 1 ? "" : "s",
                 deed);
    else
        snprintf(rule->words, sizeof rule->words,
                 "between %lld and %lld products %s",
                 (long long)found->shortest, (long long)found->longest, deed);
    snprintf(rule->aside, sizeof rule->aside,
             "which, these data do not say: %s would do, and %lld other ranges",
             where, (long long)found->ranges - 1);
    rule->k.times = 0;
}

static void say(const struct gp_sums *sums, const struct gp_search *found,
                struct gp_rule *rule)
{
    const struct gp_k_range *range = &rule->k;
    long long count = range->to - range->from + 1;
    const char *end = range->to == sums->k - 1 ? "the last "
                      : range->from == 0       ? "the first "
                                               : "";
    char deed[40], where[60], pieces[120] = "", many[30] = "";

    snprintf(deed, sizeof deed, "%s %s", count == 1 ? "is" : "are",
             found->times < 0 ? "missing" : "added twice");
    say_range(range, where, sizeof where);
    if (is_anywhere(found)) {
        say_anywhere(found, deed, rule);
    } else if (found->shortest < found->longest) {
        struct gp_k_range core = {
            .from = gp_sums_position(sums, found->from_most),
            .to = gp_sums_position(sums, found->to_least) - 1};
        char least[60];
        say_range(&core, least, sizeof least);
        snprintf(rule->words, sizeof rule->words, "products of %s %s", where,
                 found->times < 0 ? "are missing" : "are added twice");
        snprintf(rule->aside, sizeof rule->aside,
                 "these data fix that to %s at least, k = %lld .. %lld at most",
                 least, (long long)range->from_least,
                 (long long)range->to_most);
    } else {
        say_pieces(range, sums->k, pieces, sizeof pieces);
        if (count > 1 || !*end)
            snprintf(many, sizeof many, "%lld ", count);
        snprintf(rule->words, sizeof rule->words, "%s%sproduct%s, %s%s, %s",
                 end, many, count == 1 ? "" : "s", where, pieces, deed);
        if (sums->step > 1)
            snprintf(rule->aside, sizeof rule->aside,
                     "only multiples of %lld were tried as edges",
                     (long long)sums->step);
    }
}

static void say_delay(const struct gp_search *found, struct gp_delay delay,
                      struct gp_rule *rule)
{
    int64_t by = delay.a ? delay.a : delay.b;
    char where[60];

    say_range(&rule->k, where, sizeof where);
    snprintf(rule->words, sizeof rule->words,
             "the products of %s are made of %s from %lld positions before",
             where,
             delay.a && delay.b ? "A and B"
             : delay.a          ? "A"
                                : "B",
             (long long)by);
    if (found->shortest < found->longest)
        snprintf(rule->aside, sizeof rule->aside,
                 "these data would also allow k = %lld .. %lld",
                 (long long)rule->k.from_least, (long long)rule->k.to_most);
    rule->k.times = 0;
}

static void conclude(const struct gp_scene *scene, const struct gp_sums *sums,
                     const struct gp_search *found, struct gp_rule *rule)
{
    *rule = (struct gp_rule){
        .looked_at = (int64_t)sums->wrong,
        .fits = count_fits(scene, sums, found),
        .k = {.from = gp_sums_position(sums, found->from),
              .to = gp_sums_position(sums, found->to) - 1,
              .times = found->times,
              .from_least = gp_sums_position(sums, found->from_least),
              .to_most = gp_sums_position(sums, found->to_most) - 1},
    };
    say(sums, found, rule);
}

/* Try one group of suspects; keep what explains most. */
static void try_group(const struct gp_scene *scene, struct gp_sums *sums,
                      size_t first, size_t count, struct gp_rule *best)
{
    for (int times = -1; times <= 1; times += 2) {
        struct gp_search found = gp_search_ranges(sums, first, count, times);
        struct gp_rule rule;
        if (!found.ranges)
            continue;
        conclude(scene, sums, &found, &rule);
        if (rule.fits > best->fits)
            *best = rule;
    }
}

static bool is_found(const struct gp_rule *best, struct gp_rule *ret_rule)
{
    if (best->fits < SUSPECTS_LEAST)
        return false;
    *ret_rule = *best;
    return true;
}

bool gp_explain_range(const struct gp_scene *scene, struct gp_rule *ret_rule)
{
    struct gp_rule best = {0};
    struct gp_sums sums;

    if (scene->count < SUSPECTS_LEAST || scene->reference->gemm.alpha == 0)
        return false;
    gp_sums_make(scene, (struct gp_delay){0, 0}, GP_SEARCH_WRONG, &sums);
    /* A fault of all elements leaves right those whose products are zero. */
    try_group(scene, &sums, 0, sums.count, &best);
    if (!best.fits && sums.count > sums.wrong)
        try_group(scene, &sums, 0, sums.wrong, &best);
    /* A fault of one tile among others: neighbours may share it. */
    for (size_t first = 0;
         !best.fits && first + GROUP <= sums.wrong &&
         (int64_t)(first / GROUP + 1) * sums.points <= POINTS_MOST;
         first += GROUP)
        try_group(scene, &sums, first, GROUP, &best);
    gp_sums_free(&sums);
    return is_found(&best, ret_rule);
}

bool gp_explain_delay(const struct gp_scene *scene, struct gp_rule *ret_rule)
{
    struct gp_rule best = {0};

    if (scene->count < SUSPECTS_LEAST || scene->reference->gemm.alpha == 0 ||
        scene->reference->gemm.k > DELAYS_K_MOST)
        return false;
    for (int64_t by = 8; by <= 128 && by < scene->reference->gemm.k; by *= 2)
        for (int which = 1; which <= 3; which++) {
            struct gp_delay delay = {which & 1 ? by : 0, which & 2 ? by : 0};
            struct gp_search found;
            struct gp_sums sums;
            struct gp_rule rule;
            gp_sums_make(scene, delay, GP_SEARCH_WRONG / 2, &sums);
            found = gp_search_ranges(&sums, 0, sums.wrong, 1);
            if (found.ranges) {
                conclude(scene, &sums, &found, &rule);
                say_delay(&found, delay, &rule);
                if (rule.fits > best.fits)
                    best = rule;
            }
            gp_sums_free(&sums);
        }
    return is_found(&best, ret_rule);
}
