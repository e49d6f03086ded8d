#include "harness/check/explain_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/base/hash.h"

enum {
    SUMS_MOST = 1 << 24,  /* prefix sums kept at once */
    TRIES_MOST = 1 << 25, /* pairs looked at in all searches */
    TRIES_OF_ONE = 1 << 23
};

/* --- Sums -----------------------------------------------------------------
 */

int64_t gp_sums_position(const struct gp_sums *sums, int64_t point)
{
    int64_t at = point * sums->step;

    return at < sums->k ? at : sums->k;
}

/* A value to look up, and the point that has it. */
struct gp_search_entry {
    union {
        uint64_t form;
        double sum;
    };
    int64_t point;
};

static void *memory(size_t count, size_t bytes)
{
    void *data = malloc(count * bytes);

    if (!data)
        gp_arena_out_of_memory(count * bytes);
    return data;
}

/* A row or column, and the same read some positions of k earlier; the first
 * positions have nothing before them. */
static void load(const struct gp_scene *scene, enum gp_operand which,
                 int64_t line, int64_t batch, int64_t delay, double *to,
                 double *late)
{
    int64_t k = scene->reference->gemm.k;

    gp_scene_vector(scene, which, line, batch, to);
    for (int64_t l = 0; l < k; l++)
        late[l] = to[l < delay ? l : l - delay];
}

static void add_sums(const struct gp_scene *scene,
                     const struct gp_suspect *suspect, struct gp_delay delay,
                     double *room, struct gp_sums *sums)
{
    double sum = 0, alpha = scene->reference->gemm.alpha;
    double *prefix = memory((size_t)sums->points, sizeof *prefix);
    double *a = room, *late_a = a + sums->k, *b = late_a + sums->k,
           *late_b = b + sums->k;
    double less = delay.a || delay.b;

    load(scene, GP_A, suspect->i, suspect->batch, delay.a, a, late_a);
    load(scene, GP_B, suspect->j, suspect->batch, delay.b, b, late_b);
    for (int64_t l = 0; l < sums->k; l++) {
        if (l % sums->step == 0)
            prefix[l / sums->step] = alpha * sum;
        sum += late_a[l] * late_b[l] - less * (a[l] * b[l]);
    }
    prefix[sums->points - 1] = alpha * sum;
    sums->suspect[sums->count] = suspect;
    sums->prefix[sums->count++] = prefix;
}

void gp_sums_make(const struct gp_scene *scene, struct gp_delay delay,
                  size_t wrong, struct gp_sums *ret_sums)
{
    int64_t k = scene->reference->gemm.k;
    double *room = memory(4 * (size_t)k, sizeof *room);
    size_t most = k > 1 << 20 ? 8 : k > 1 << 18 ? 16 : GP_SEARCH_WRONG, right;
    struct gp_sums sums = {.k = k, .exact = scene->exact, .tries = TRIES_MOST};

    wrong = wrong < most ? wrong : most;
    right = wrong / 2;
    wrong = scene->count < wrong ? scene->count : wrong;
    right = scene->right_count < right ? scene->right_count : right;
    sums.wrong = wrong;
    sums.step = 1 + (int64_t)(wrong + right) * k / SUMS_MOST;
    sums.points = (k + sums.step - 1) / sums.step + 1;
    sums.entries = memory((size_t)sums.points, sizeof *sums.entries);
    sums.buckets = memory((size_t)sums.points + 1, sizeof *sums.buckets);
    for (size_t s = 0; s < wrong; s++)
        add_sums(scene, &scene->suspects[s * scene->count / wrong], delay, room,
                 &sums);
    for (size_t s = 0; s < right; s++)
        add_sums(scene, &scene->right[s * scene->right_count / right], delay,
                 room, &sums);
    free(room);
    *ret_sums = sums;
}

void gp_sums_free(struct gp_sums *sums)
{
    for (size_t s = 0; s < sums->count; s++)
        free(sums->prefix[s]);
    free(sums->entries);
    free(sums->buckets);
}

/* --- Search ---------------------------------------------------------------
 */

static int by_sum(const void *one, const void *two)
{
    const struct gp_search_entry *a = one, *b = two;

    if (a->sum != b->sum)
        return a->sum < b->sum ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

static double squares_of(const struct gp_search *search, int64_t from,
                         int64_t to)
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
static int roundness(const struct gp_sums *sums, int64_t from, int64_t to)
{
    int64_t edges[2] = {gp_sums_position(sums, from),
                        gp_sums_position(sums, to)};
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
static void note(struct gp_search *search, int64_t from, int64_t to,
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

/* One pair more. */
static bool may_try(struct gp_search *search)
{
    search->given_up = search->given_up || --search->tries < 0;
    return !search->given_up;
}

/* In units of 2^-8, which the exact families never go below. */
static uint64_t whole(double x)
{
    return (uint64_t)(int64_t)(x * 256);
}

static int64_t bucket_of(const struct gp_sums *sums, uint64_t form)
{
    return (int64_t)((gp_hash_mix(form) >> 32) * (uint64_t)sums->points >> 32);
}

/* The forms of all points, those of a bucket together and in the order of k. */
static void prepare_exact(struct gp_sums *sums)
{
    uint64_t *forms = memory((size_t)sums->points, sizeof *forms);
    int64_t *buckets = sums->buckets;

    memset(buckets, 0, ((size_t)sums->points + 1) * sizeof *buckets);
    for (int64_t x = 0; x < sums->points; x++) {
        forms[x] = 0;
        for (size_t s = 0; s < sums->among; s++)
            forms[x] += (gp_hash_mix(s + 1) | 1) *
                        whole(sums->prefix[sums->first + s][x]);
        buckets[bucket_of(sums, forms[x]) + 1]++;
    }
    for (int64_t b = 0; b < sums->points; b++)
        buckets[b + 1] += buckets[b];
    for (int64_t x = sums->points - 1; x >= 0; x--)
        sums->entries[--buckets[bucket_of(sums, forms[x]) + 1]] =
            (struct gp_search_entry){.form = forms[x], .point = x};
    free(forms);
}

/* After the placing above, bucket b begins at buckets[b + 1]. */
static void search_exact(struct gp_search *search)
{
    const struct gp_sums *sums = search->sums;
    const struct gp_search_entry *entries = sums->entries;
    uint64_t want = 0;

    for (size_t s = 0; s < search->count; s++)
        want +=
            (gp_hash_mix(s + 1) | 1) * whole(search->times * search->errors[s]);
    for (int64_t x = 0; x < sums->points; x++) {
        uint64_t form = entries[x].form + want;
        int64_t bucket = bucket_of(sums, form) + 1;
        int64_t at = sums->buckets[bucket];
        int64_t end =
            bucket < sums->points ? sums->buckets[bucket + 1] : sums->points;
        for (; at < end; at++) {
            if (entries[at].form != form ||
                entries[at].point <= entries[x].point)
                continue;
            if (!may_try(search))
                return;
            note(search, entries[x].point, entries[at].point, 0);
        }
    }
}

static void prepare_rounded(struct gp_sums *sums)
{
    for (int64_t x = 0; x < sums->points; x++)
        sums->entries[x] = (struct gp_search_entry){
            .sum = sums->prefix[sums->first][x], .point = x};
    qsort(sums->entries, (size_t)sums->points, sizeof *sums->entries, by_sum);
}

static void search_rounded(struct gp_search *search)
{
    const struct gp_sums *sums = search->sums;
    const struct gp_search_entry *entries = sums->entries;
    double limit = sums->suspect[search->first]->limit;

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
        for (; low < sums->points && entries[low].sum <= want + limit; low++) {
            double squares;
            if (!may_try(search))
                return;
            if (entries[low].point <= entries[x].point)
                continue;
            squares = squares_of(search, entries[x].point, entries[low].point);
            if (isfinite(squares))
                note(search, entries[x].point, entries[low].point, squares);
        }
    }
}

/* Does the best range leave little of the errors? */
static bool is_close(const struct gp_search *search)
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

/* Put the points in order for these elements, if they are not. */
static void prepare(struct gp_sums *sums, size_t first, size_t among)
{
    if (sums->first == first && sums->among == among)
        return;
    sums->first = first;
    sums->among = among;
    if (sums->exact)
        prepare_exact(sums);
    else
        prepare_rounded(sums);
}

/* `rotate` gives each element the error of another. */
static struct gp_search look_for(struct gp_sums *sums, size_t first,
                                 size_t count, int times, size_t rotate)
{
    double errors[GP_SEARCH_ELEMENTS];
    struct gp_search search = {
        .sums = sums,
        .first = first,
        .count = count,
        .errors = errors,
        .times = times,
        .best = INFINITY,
        .tries = sums->tries < TRIES_OF_ONE ? sums->tries : TRIES_OF_ONE};
    int64_t tries = search.tries;

    for (size_t s = 0; s < count; s++) {
        const struct gp_suspect *suspect =
            sums->suspect[first + (s + rotate) % count];
        errors[s] = suspect->got - suspect->ref;
    }
    prepare(sums, first, count);
    if (sums->exact)
        search_exact(&search);
    else
        search_rounded(&search);
    sums->tries -= tries - search.tries;
    if (search.given_up || (search.ranges && !is_close(&search)))
        search.ranges = 0;
    search.errors = NULL; /* they end here */
    return search;
}

static bool all_alike(const struct gp_sums *sums, size_t first, size_t count)
{
    double error = sums->suspect[first]->got - sums->suspect[first]->ref;

    for (size_t s = first + 1; s < first + count; s++)
        if (sums->suspect[s]->got - sums->suspect[s]->ref != error)
            return false;
    return true;
}

/* What the same errors find that are dealt out differently, they find by
 * chance. */
struct gp_search gp_search_ranges(struct gp_sums *sums, size_t first,
                                  size_t count, int times)
{
    struct gp_search found = look_for(sums, first, count, times, 0);

    if (!found.ranges || all_alike(sums, first, count))
        return found;
    for (size_t rotate = 1; rotate <= 2; rotate++)
        if (look_for(sums, first, count, times, rotate).ranges)
            found.ranges = 0;
    return found;
}
