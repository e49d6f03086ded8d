/*
 * Which products are missing, or added twice: one range of k whose sums are
 * the errors of many wrong elements at once.
 *
 * With P_s(x) the sum of the first x products of element s and e_s its error,
 * a range [x, y) that is missing has P_s(y) = P_s(x) - e_s for every s; one
 * that is added twice P_s(y) = P_s(x) + e_s. Where nothing rounds, a random
 * linear form of the P_s modulo 2^64 finds y by look-up; else the sums of one
 * element are sorted and the others tell. The least squares win.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/base/hash.h"
#include "harness/check/explain.h"

enum {
    SUSPECTS = 32,
    RIGHT = 16, /* elements that are not wrong beside them */
    ELEMENTS = SUSPECTS + RIGHT,
    SUSPECTS_LEAST = 3,
    SUMS_MOST = 1 << 24,  /* prefix sums kept at once */
    TRIES_MOST = 1 << 25, /* pairs looked at in one search */
    GROUP = 6             /* suspects that may share a fault others lack */
};

/* The prefix sums of some suspects at the multiples of `step`, and at k. */
struct sums {
    const struct gp_suspect *suspect[ELEMENTS];
    double *prefix[ELEMENTS];
    size_t wrong, count; /* the wrong ones first */
    int64_t k, step, points;
};

static int64_t position(const struct sums *sums, int64_t point)
{
    int64_t at = point * sums->step;

    return at < sums->k ? at : sums->k;
}

/* A value to look up, and the point that has it. */
struct entry {
    union {
        uint64_t form;
        double sum;
    };
    int64_t point;
};

static int by_form(const void *one, const void *two)
{
    const struct entry *a = one, *b = two;

    if (a->form != b->form)
        return a->form < b->form ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

static int by_sum(const void *one, const void *two)
{
    const struct entry *a = one, *b = two;

    if (a->sum != b->sum)
        return a->sum < b->sum ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

/* Ranges that fit, as points. */
struct search {
    const struct sums *sums;
    size_t first, count; /* which suspects */
    const double *errors;
    int times;
    int64_t tries, ranges;
    int64_t from, to; /* the best */
    double best;      /* its squares, in units of limits or of sums */
    int64_t from_least, from_most, to_least, to_most;
    int64_t shortest, longest;
};

static double squares_of(const struct search *search, int64_t from, int64_t to)
{
    double squares = 0;

    for (size_t s = 0; s < search->count; s++) {
        const double *prefix = search->sums->prefix[search->first + s];
        double limit = search->sums->suspect[search->first + s]->limit;
        double off =
            search->errors[s] - search->times * (prefix[to] - prefix[from]);
        if (!(fabs(off) <= limit))
            return INFINITY;
        squares += off / limit * (off / limit);
    }
    return squares;
}

/* How round the edges are: ends of k and multiples of powers of two. */
static int roundness(const struct sums *sums, int64_t from, int64_t to)
{
    int64_t edges[2] = {position(sums, from), position(sums, to)};
    int sum = 0;

    for (int e = 0; e < 2; e++) {
        int zeros = edges[e] ? __builtin_ctzll((uint64_t)edges[e]) : 8;
        sum += edges[e] == sums->k || zeros > 8 ? 8 : zeros;
    }
    return sum;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Take note of a range that fits: the best, and the hull of those that fit as
 * well as it to within the noise. */
static void note(struct search *search, int64_t from, int64_t to,
                 double squares)
{
    double noise = 4 * search->best + 1e-12;

    if (search->ranges && squares > noise)
        return;
    if (search->ranges == 0 || 4 * squares + 1e-12 < search->best) {
        search->ranges = 0;
        search->from_least = search->from_most = from;
        search->to_least = search->to_most = to;
        search->shortest = search->longest = to - from;
        search->best = squares;
    }
    if (search->ranges == 0 || squares < search->best - 1e-12 ||
        (squares <= search->best + 1e-12 &&
         roundness(search->sums, from, to) >
             roundness(search->sums, search->from, search->to))) {
        search->from = from;
        search->to = to;
        search->best = fmin(search->best, squares);
    }
    search->ranges++;
    search->shortest = least(search->shortest, to - from);
    search->longest = most(search->longest, to - from);
    search->from_least = least(search->from_least, from);
    search->from_most = most(search->from_most, from);
    search->to_least = least(search->to_least, to);
    search->to_most = most(search->to_most, to);
}

/* In units of 2^-8, which the exact families never go below. */
static uint64_t whole(double x)
{
    return (uint64_t)(int64_t)(x * 256);
}

static void search_exact(struct search *search, struct entry *entries)
{
    const struct sums *sums = search->sums;
    uint64_t want = 0;

    for (int64_t x = 0; x < sums->points; x++) {
        entries[x] = (struct entry){.form = 0, .point = x};
        for (size_t s = 0; s < search->count; s++)
            entries[x].form += (gp_hash_mix(s + 1) | 1) *
                               whole(sums->prefix[search->first + s][x]);
    }
    for (size_t s = 0; s < search->count; s++)
        want +=
            (gp_hash_mix(s + 1) | 1) * whole(search->times * search->errors[s]);
    qsort(entries, (size_t)sums->points, sizeof *entries, by_form);
    for (int64_t x = 0; x < sums->points; x++) {
        uint64_t form = entries[x].form + want;
        int64_t low = 0, high = sums->points;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (entries[middle].form < form)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < sums->points && entries[low].form == form &&
               search->tries < TRIES_MOST;
             low++, search->tries++)
            if (entries[low].point > entries[x].point)
                note(search, entries[x].point, entries[low].point, 0);
    }
}

static void search_rounded(struct search *search, struct entry *entries)
{
    const struct sums *sums = search->sums;
    const double *prefix = sums->prefix[search->first];
    double limit = sums->suspect[search->first]->limit;

    for (int64_t x = 0; x < sums->points; x++)
        entries[x] = (struct entry){.sum = prefix[x], .point = x};
    qsort(entries, (size_t)sums->points, sizeof *entries, by_sum);
    for (int64_t x = 0; x < sums->points; x++) {
        double want = entries[x].sum + search->times * search->errors[0];
        int64_t low = 0, high = sums->points;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (entries[middle].sum < want - limit)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < sums->points && entries[low].sum <= want + limit &&
               search->tries < TRIES_MOST;
             low++, search->tries++) {
            double squares;
            if (entries[low].point <= entries[x].point)
                continue;
            squares = squares_of(search, entries[x].point, entries[low].point);
            if (isfinite(squares))
                note(search, entries[x].point, entries[low].point, squares);
        }
    }
}

/* Does the best range leave little of the errors? */
static bool is_close(const struct search *search)
{
    double left = 0, all = 0;

    for (size_t s = 0; s < search->count; s++) {
        const double *prefix = search->sums->prefix[search->first + s];
        double off = search->errors[s] - search->times * (prefix[search->to] -
                                                          prefix[search->from]);
        left += off * off;
        all += search->errors[s] * search->errors[s];
    }
    return 16 * left <= all;
}

/* Search for errors of these suspects; `rotate` gives each the error of
 * another: what is found then is found by chance. */
static struct search look_for(const struct sums *sums, bool exact, size_t first,
                              size_t count, int times, size_t rotate,
                              struct entry *entries)
{
    double errors[ELEMENTS];
    struct search search = {.sums = sums,
                            .first = first,
                            .count = count,
                            .errors = errors,
                            .times = times,
                            .best = INFINITY};

    for (size_t s = 0; s < count; s++) {
        const struct gp_suspect *suspect =
            sums->suspect[first + (s + rotate) % count];
        errors[s] = suspect->got - suspect->ref;
    }
    if (exact)
        search_exact(&search, entries);
    else
        search_rounded(&search, entries);
    if (search.tries >= TRIES_MOST || (search.ranges && !is_close(&search)))
        search.ranges = 0;
    search.errors = NULL; /* they end here */
    return search;
}

static bool all_alike(const struct sums *sums, size_t first, size_t count)
{
    double error = sums->suspect[first]->got - sums->suspect[first]->ref;

    for (size_t s = first + 1; s < first + count; s++)
        if (sums->suspect[s]->got - sums->suspect[s]->ref != error)
            return false;
    return true;
}

/* The same errors dealt out differently must find nothing. */
static bool by_chance(const struct sums *sums, const struct search *found,
                      bool exact, struct entry *entries)
{
    if (all_alike(sums, found->first, found->count))
        return false;
    for (size_t rotate = 1; rotate <= 2; rotate++)
        if (look_for(sums, exact, found->first, found->count, found->times,
                     rotate, entries)
                .ranges)
            return true;
    return false;
}

/* Do the ranges that fit share no product, so that the data do not say where
 * it was? */
static bool is_anywhere(const struct search *search)
{
    return search->from_most >= search->to_least;
}

/* How many of all suspects the range explains. */
static int64_t count_fits(const struct gp_scene *scene, const struct sums *sums,
                          const struct search *found)
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

/* --- Words ----------------------------------------------------------------
 */

static void say_pieces(const struct gp_k_range *range, int64_t k, char *to,
                       size_t room)
{
    int64_t count = range->to - range->from + 1, modulus = 0;

    for (int64_t of = 16; of <= 1024; of *= 2)
        if (range->to == k - 1 && k % of == count && (of <= 64 || !modulus))
            modulus = of;
    if (modulus)
        snprintf(to, room, ", what is left of k by blocks of %lld",
                 (long long)modulus);
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

static void say(const struct sums *sums, const struct search *found,
                struct gp_rule *rule)
{
    const struct gp_k_range *range = &rule->k;
    long long count = range->to - range->from + 1;
    const char *end = range->to == sums->k - 1 ? "the last "
                      : range->from == 0       ? "the first "
                                               : "";
    char deed[40], where[60], pieces[80] = "", many[30] = "";

    snprintf(deed, sizeof deed, "%s %s", count == 1 ? "is" : "are",
             found->times < 0 ? "missing" : "added twice");
    say_range(range, where, sizeof where);
    if (count > 1 || !*end)
        snprintf(many, sizeof many, "%lld ", count);
    if (is_anywhere(found)) {
        rule->k.times = 0;
        if (found->shortest == found->longest)
            snprintf(rule->words, sizeof rule->words, "%lld product%s %s",
                     count, count == 1 ? "" : "s", deed);
        else
            snprintf(rule->words, sizeof rule->words,
                     "between %lld and %lld products %s",
                     (long long)found->shortest, (long long)found->longest,
                     deed);
        snprintf(rule->aside, sizeof rule->aside,
                 "which, these data do not say: %s would do, and %lld other "
                 "ranges",
                 where, (long long)found->ranges - 1);
        return;
    }
    say_pieces(range, sums->k, pieces, sizeof pieces);
    snprintf(rule->words, sizeof rule->words, "%s%sproduct%s, %s%s, %s", end,
             many, count == 1 ? "" : "s", where, pieces, deed);
    if (range->from_least < range->from || range->to_most > range->to)
        snprintf(rule->aside, sizeof rule->aside,
                 "these data would also allow edges out to k = %lld .. %lld",
                 (long long)range->from_least, (long long)range->to_most);
}

static void conclude(const struct gp_scene *scene, const struct sums *sums,
                     const struct search *found, struct gp_rule *rule)
{
    *rule = (struct gp_rule){
        .looked_at = (int64_t)sums->wrong,
        .fits = count_fits(scene, sums, found),
        .k = {.from = position(sums, found->from),
              .to = position(sums, found->to) - 1,
              .times = found->times,
              .from_least = position(sums, found->from_least),
              .to_most = position(sums, found->to_most) - 1},
    };
    say(sums, found, rule);
}

/* --- All of it ------------------------------------------------------------
 */

static void sums_free(struct sums *sums)
{
    for (size_t s = 0; s < sums->count; s++)
        free(sums->prefix[s]);
}

static void *memory(size_t count, size_t bytes)
{
    void *data = malloc(count * bytes);

    if (!data)
        gp_arena_out_of_memory(count * bytes);
    return data;
}

static void add_sums(const struct gp_scene *scene,
                     const struct gp_suspect *suspect, double *a, double *b,
                     struct sums *sums)
{
    double sum = 0, alpha = scene->reference->gemm.alpha;
    double *prefix = memory((size_t)sums->points, sizeof *prefix);

    gp_scene_vector(scene, GP_A, suspect->i, suspect->batch, a);
    gp_scene_vector(scene, GP_B, suspect->j, suspect->batch, b);
    for (int64_t l = 0; l < sums->k; l++) {
        if (l % sums->step == 0)
            prefix[l / sums->step] = alpha * sum;
        sum += a[l] * b[l];
    }
    prefix[sums->points - 1] = alpha * sum;
    sums->suspect[sums->count] = suspect;
    sums->prefix[sums->count++] = prefix;
}

static void sums_make(const struct gp_scene *scene, struct sums *sums)
{
    int64_t k = scene->reference->gemm.k;
    double *a = memory((size_t)k, sizeof *a), *b = memory((size_t)k, sizeof *b);
    size_t wrong = k > 1 << 18 ? SUSPECTS / 2 : SUSPECTS, right = wrong / 2;

    wrong = scene->count < wrong ? scene->count : wrong;
    right = scene->right_count < right ? scene->right_count : right;
    *sums = (struct sums){.k = k, .wrong = wrong};
    sums->step = 1 + (int64_t)(wrong + right) * k / SUMS_MOST;
    sums->points = (k + sums->step - 1) / sums->step + 1;
    for (size_t s = 0; s < wrong; s++)
        add_sums(scene, &scene->suspects[s * scene->count / wrong], a, b, sums);
    for (size_t s = 0; s < right; s++)
        add_sums(scene, &scene->right[s * scene->right_count / right], a, b,
                 sums);
    free(a);
    free(b);
}

/* Try one group of suspects; keep what explains most. */
static void try_group(const struct gp_scene *scene, const struct sums *sums,
                      size_t first, size_t count, struct entry *entries,
                      struct gp_rule *best)
{
    for (int times = -1; times <= 1; times += 2) {
        struct search found =
            look_for(sums, scene->exact, first, count, times, 0, entries);
        struct gp_rule rule;
        if (!found.ranges || by_chance(sums, &found, scene->exact, entries))
            continue;
        conclude(scene, sums, &found, &rule);
        if (rule.fits > best->fits)
            *best = rule;
    }
}

bool gp_explain_range(const struct gp_scene *scene, struct gp_rule *ret_rule)
{
    struct gp_rule best = {0};
    struct entry *entries;
    struct sums sums;

    if (scene->count < SUSPECTS_LEAST || scene->reference->gemm.alpha == 0)
        return false;
    sums_make(scene, &sums);
    entries = memory((size_t)sums.points, sizeof *entries);
    /* A fault of all elements leaves right those whose products are zero. */
    try_group(scene, &sums, 0, sums.count, entries, &best);
    if (!best.fits && sums.count > sums.wrong)
        try_group(scene, &sums, 0, sums.wrong, entries, &best);
    /* A fault of one tile among others: neighbours may share it. */
    for (size_t first = 0; !best.fits && first + GROUP <= sums.wrong;
         first += GROUP)
        try_group(scene, &sums, first, GROUP, entries, &best);
    free(entries);
    sums_free(&sums);
    if (best.fits < SUSPECTS_LEAST)
        return false;
    *ret_rule = best;
    return true;
}
