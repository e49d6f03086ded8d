/* Results that are sums of two or three terms: how sums are rounded, and
 * where k is split. */
#include "harness/check/fingerprint.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gp_family_args args_of(const struct gp_evidence *evidence,
                                     int64_t batch)
{
    const struct gp_reference *reference = evidence->reference;
    struct gp_family_args args = {&reference->gemm, reference->seed, GP_A,
                                  batch};

    return args;
}

/* The test of packed result `index`, and its batch. */
static int64_t test_at(const struct gp_gemm *gemm,
                       const struct gp_family_tests *tests, int64_t index,
                       int64_t *ret_batch)
{
    *ret_batch = index / gemm->m / gemm->n;
    return gp_family_test_of(tests, index % gemm->m, index / gemm->m % gemm->n);
}

bool gp_fingerprint_may_round(const struct gp_run *run)
{
    const struct gp_arithmetic *promise = &run->row.arithmetic;
    const struct gp_type *out = run->problem->gemm.out;

    if (run->problem->family->probe == GP_PROBE_TWO_TERM)
        return promise->per_term > 0 ||
               (promise->tensor &&
                strcmp(promise->accumulator, out->name) == 0);
    return out->bytes == 2 &&
           (promise->in_output || strcmp(promise->accumulator, "f16") == 0);
}

/* --- two-term -------------------------------------------------------------
 */

/* Of the terms 1 and small, by the place of small: above 1 half a unit, below
 * 1 a quarter or half. */
enum { ABOVE, QUARTER, BELOW, PLACES };

struct sums {
    int64_t looked_at;
    int64_t near[PLACES], near_cut[PLACES]; /* the terms side by side */
    int64_t far, far_cut;                   /* ABOVE alone */
    int64_t exact_cut; /* cut after they were aligned without loss */
    int64_t other, first_cut, first_other;
};

static void look_at_sum(const struct gp_type *out, int64_t test, int64_t at,
                        double got, struct sums *sums)
{
    struct gp_family_two_term made = gp_family_two_term(test);
    int place = made.small > 0 ? ABOVE : made.small > -0.5 ? QUARTER : BELOW;
    double unit = ldexp(1, 1 - out->precision);
    double right = made.sign * (place == ABOVE ? 1 + unit : 1 - unit / 2);
    /* What a unit gives that aligns without loss and cuts the sum. */
    bool exact = place == BELOW && got == made.sign * (1 - unit);
    bool cut = got == made.sign || exact;

    sums->looked_at++;
    sums->exact_cut += exact;
    if (cut && sums->first_cut < 0)
        sums->first_cut = at;
    if (!cut && got != right) {
        sums->other++;
        sums->first_other = sums->first_other < 0 ? at : sums->first_other;
        return;
    }
    if (!made.far) {
        sums->near[place]++;
        sums->near_cut[place] += cut;
    } else if (place == ABOVE) {
        sums->far++;
        sums->far_cut += cut;
    }
}

static struct sums look_at_sums(const struct gp_evidence *evidence)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    int64_t count = gp_gemm_count(gemm, GP_C), batch;
    int64_t step = gp_fingerprint_step(count);
    struct sums sums = {.first_cut = -1, .first_other = -1};
    struct gp_family_tests tests;

    gp_family_tests_plan(gemm, &tests);
    for (int64_t at = 0; at < count; at += step)
        look_at_sum(gemm->out, test_at(gemm, &tests, at, &batch), at,
                    gp_fingerprint_got(evidence, at), &sums);
    return sums;
}

/* Two nearby terms are added by one unit. A unit that keeps F bits of what it
 * aligns loses half a unit below 1 if F < p, and a quarter if F < p + 1. */
static void print_cut(const struct gp_type *out, const struct sums *sums,
                      char *to, size_t size)
{
    int bits = sums->near_cut[BELOW]     ? out->precision - 1
               : sums->near_cut[QUARTER] ? out->precision
                                         : out->precision + 1;
    char split[80] = "";

    if (sums->far && sums->far_cut < sums->far && sums->near_cut[ABOVE])
        snprintf(split, sizeof split,
                 ", but to nearest between far places: k is split");
    if (sums->exact_cut)
        snprintf(to, size, "sums cut towards zero");
    else if (sums->near[QUARTER] && sums->near[BELOW])
        snprintf(to, size,
                 "sums cut as in a tensor core that keeps %s%d fraction "
                 "bits%s",
                 sums->near_cut[QUARTER] ? "" : "at least ", bits, split);
    else
        snprintf(to, size, "sums cut as in a tensor core%s", split);
}

void gp_fingerprint_two_term(const struct gp_evidence *evidence,
                             struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    const struct gp_arithmetic *promise = &evidence->run->row.arithmetic;
    struct sums sums = look_at_sums(evidence);
    bool right = sums.first_cut < 0 && !sums.other;
    bool may = gp_fingerprint_may_round(evidence->run);
    char words[160];

    if (right)
        snprintf(words, sizeof words, "one rounding at the end");
    else if (sums.other)
        snprintf(words, sizeof words,
                 "%lld of %lld sums neither rounded nor cut",
                 (long long)sums.other, (long long)sums.looked_at);
    else
        print_cut(gemm->out, &sums, words, sizeof words);
    snprintf(finding->clause, sizeof finding->clause, "%s", words);
    finding->value = (double)(sums.looked_at - sums.other);
    for (int place = 0; place < PLACES; place++)
        finding->value -= (double)sums.near_cut[place];
    finding->value -= (double)sums.far_cut;
    finding->limit = may ? 0 : (double)sums.looked_at;
    gp_finding_say(finding, right || may ? GP_PASS : GP_FAIL,
                   "sums of two terms: %s (%lld sums)", words,
                   (long long)sums.looked_at);
    if (right)
        return;
    if (may) {
        finding->flags |= promise->terms > 1 || sums.other ? GP_OBSERVED : 0;
        return;
    }
    gp_finding_place(finding, gemm,
                     sums.other ? sums.first_other : sums.first_cut);
    finding->where.repeat = 0;
    if (gp_run_decided_elsewhere(evidence->run)) {
        finding->verdict = GP_PASS;
        finding->flags |= GP_OBSERVED;
    }
}

/* --- split-finder ----------------------------------------------------------
 */

/* One test of one batch: what its results are, and where its terms stand. */
struct window {
    int64_t from, to; /* a part that begins in (from, to] was split off */
    int64_t kept, lost, at;
};

struct windows {
    struct gp_family_tests tests;
    struct window *items; /* of all batches taken together */
    int64_t looked_at, lost, first_lost;
};

/* The windows of other batches lie elsewhere; batch 0 serves for all, and the
 * others are looked at for lost ones alone. */
static void look_at_windows(const struct gp_evidence *evidence,
                            struct windows *windows)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    int64_t count = gp_gemm_count(gemm, GP_C), batch;
    int64_t step = gp_fingerprint_step(count);
    struct gp_family_args args = args_of(evidence, 0);

    for (int64_t t = 0; t < windows->tests.count; t++) {
        windows->items[t].at = -1;
        gp_family_split_range(&args, &windows->tests, t,
                              &windows->items[t].from, &windows->items[t].to);
    }
    for (int64_t at = 0; at < count; at += step) {
        int64_t test = test_at(gemm, &windows->tests, at, &batch);
        struct window *window = &windows->items[test];
        bool lost = gp_fingerprint_got(evidence, at) != (test % 2 ? -1.0 : 1.0);
        windows->looked_at++;
        windows->lost += lost;
        if (lost && windows->first_lost < 0)
            windows->first_lost = at;
        if (batch == 0) {
            window->kept += !lost;
            window->lost += lost;
        }
    }
}

/* A test that is not lost has no part beginning in (from + 1, to]. */
static void narrow(struct windows *windows)
{
    for (int64_t t = 0; t < windows->tests.count; t++) {
        struct window *here = &windows->items[t];
        if (!here->lost)
            continue;
        if (t > 0 && windows->items[t - 1].kept && !windows->items[t - 1].lost)
            here->from = windows->items[t - 1].to;
        if (t + 1 < windows->tests.count && windows->items[t + 1].kept &&
            !windows->items[t + 1].lost)
            here->to = windows->items[t + 1].from + 1;
    }
}

/* Do parts of `chunk` positions explain every window? Each part must begin in
 * a lost window, and each lost window must have a beginning. */
static bool explains(const struct windows *windows, int64_t k, int64_t chunk)
{
    for (int64_t t = 0; t < windows->tests.count; t++) {
        const struct window *window = &windows->items[t];
        int64_t last = window->to / chunk * chunk;
        if (window->lost && (last <= window->from || last == 0))
            return false;
        /* In a window that is kept, none but where the 1 stands beside. */
        if (!window->lost && window->kept && last > window->from + 1 &&
            last < k)
            return false;
    }
    return true;
}

/* The one chunk that explains what was seen, of those that a kernel's steps
 * divide: 64, or 8 if none of these does. 0: none, or more than one. */
static int64_t chunk_of(const struct windows *windows, int64_t k)
{
    for (int64_t grain = 64; grain >= 8; grain -= 56) {
        int64_t found = 0, count = 0;
        for (int64_t chunk = grain; chunk < k && count < 2; chunk += grain)
            if (explains(windows, k, chunk)) {
                found = chunk;
                count++;
            }
        if (count)
            return count == 1 ? found : 0;
    }
    return 0;
}

static void append(char *to, size_t size, const char *fmt, ...) GP_PRINTF(3, 4);

static void append(char *to, size_t size, const char *fmt, ...)
{
    size_t len = strlen(to);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(to + len, size - len, fmt, ap);
    va_end(ap);
}

enum { PLACES_SHOWN = 4 };

static void print_chunks(int64_t k, int64_t chunk, const char *split, char *to,
                         size_t size)
{
    int64_t parts = (k - 1) / chunk;

    append(to, size, "%s at ", split);
    for (int64_t part = 1; part <= parts && part <= PLACES_SHOWN; part++)
        append(to, size, "%s%lld", part > 1 ? ", " : "",
               (long long)(part * chunk));
    if (parts > PLACES_SHOWN)
        append(to, size, " and %lld more", (long long)(parts - PLACES_SHOWN));
}

static void print_windows(const struct windows *windows, const char *split,
                          char *to, size_t size)
{
    int64_t shown = 0, count = 0;

    append(to, size, "%s within ", split);
    for (int64_t t = 0; t < windows->tests.count; t++) {
        const struct window *window = &windows->items[t];
        if (!window->lost)
            continue;
        count++;
        if (shown == PLACES_SHOWN)
            continue;
        append(to, size, "%s%lld-%lld", shown++ ? ", " : "",
               (long long)window->from + 1, (long long)window->to);
    }
    if (count > shown)
        append(to, size, " and %lld more", (long long)(count - shown));
}

static void print_split(const struct gp_evidence *evidence,
                        struct windows *windows, char *to, size_t size)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    /* An FP16 accumulator rounds whether k is split or not. */
    bool narrow_sums =
        strcmp(evidence->run->row.arithmetic.accumulator, "f16") == 0;
    const char *split = narrow_sums ? ", rounded" : ", k split";
    int64_t all = 0, chunk;

    for (int64_t t = 0; t < windows->tests.count; t++)
        all += windows->items[t].lost > 0;
    if (gemm->out->bytes == 2)
        snprintf(to, size, "%s in %s", narrow_sums ? "sums" : "partials",
                 gemm->out->name);
    else
        snprintf(to, size, "partials in fewer than %d bits",
                 gemm->in->bytes == 8 ? 25 : 12);
    if (all == windows->tests.count && all > 1) {
        append(to, size, "%s in every one of %lld windows", split,
               (long long)all);
        return;
    }
    narrow(windows);
    chunk = chunk_of(windows, gemm->k);
    if (chunk)
        print_chunks(gemm->k, chunk, split, to, size);
    else
        print_windows(windows, split, to, size);
}

void gp_fingerprint_split(const struct gp_evidence *evidence,
                          struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    struct windows windows = {.first_lost = -1};
    bool may = gp_fingerprint_may_round(evidence->run);
    char words[160];

    gp_family_tests_plan(gemm, &windows.tests);
    windows.items = calloc((size_t)windows.tests.count, sizeof *windows.items);
    if (!windows.items)
        gp_arena_out_of_memory((size_t)windows.tests.count *
                               sizeof *windows.items);
    look_at_windows(evidence, &windows);
    snprintf(words, sizeof words, "no %ssplit seen",
             gemm->out->bytes == 2 ? "" : "narrow ");
    if (windows.lost)
        print_split(evidence, &windows, words, sizeof words);
    free(windows.items);
    finding->value = (double)(windows.looked_at - windows.lost);
    finding->limit = may ? 0 : (double)windows.looked_at;
    snprintf(finding->clause, sizeof finding->clause, "%s", words);
    gp_finding_say(finding, windows.lost && !may ? GP_FAIL : GP_PASS,
                   "%s: %lld of %lld sums big + 1 - big lose the 1, in %lld "
                   "windows of about %lld positions of k",
                   words, (long long)windows.lost, (long long)windows.looked_at,
                   (long long)windows.tests.count,
                   (long long)windows.tests.width);
    if (!windows.lost)
        return;
    if (may || gp_run_decided_elsewhere(evidence->run)) {
        finding->verdict = GP_PASS;
        finding->flags |= GP_OBSERVED;
        return;
    }
    gp_finding_place(finding, gemm, windows.first_lost);
    finding->where.repeat = 0;
}
