#include "harness/check/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"

enum { SUSPECTS_MOST = 512, CHUNK = 512 };

/* Elements of one kind, spread evenly over the output. */
struct spread {
    struct gp_suspect *items;
    size_t count;
    int64_t seen, every; /* every so manieth is kept */
};

/* --- What the rules share -------------------------------------------------
 */

void gp_scene_vector(const struct gp_scene *scene, enum gp_operand which,
                     int64_t line, int64_t batch, double *to)
{
    const struct gp_gemm *gemm = &scene->reference->gemm;
    const void *data =
        which == GP_A ? scene->reference->a : scene->reference->b;
    int64_t rows = gp_gemm_rows(gemm, which), cols = gp_gemm_cols(gemm, which);
    bool down = which == GP_A ? gemm->trans_a : !gemm->trans_b;
    int64_t from = batch * rows * cols + (down ? line * rows : line);

    for (int64_t l = 0; l < gemm->k; l++)
        to[l] =
            gp_type_value(gemm->in, gp_type_bits(gemm->in, data,
                                                 from + (down ? l : l * rows)));
}

bool gp_scene_fits(const struct gp_scene *scene,
                   const struct gp_suspect *suspect, double value)
{
    double rounded = gp_type_round(scene->reference->gemm.out, value);
    double off = fmin(fabs(suspect->got - value), fabs(suspect->got - rounded));

    if (scene->exact)
        return suspect->got == rounded;
    return off <= suspect->limit && 4 * off < fabs(suspect->got - suspect->ref);
}

int64_t gp_scene_count(const struct gp_scene *scene, const double *values)
{
    int64_t fits = 0;

    for (size_t s = 0; s < scene->count; s++)
        fits += gp_scene_fits(scene, &scene->suspects[s], values[s]);
    return fits;
}

bool gp_scene_by_chance(const struct gp_scene *scene, const double *values,
                        int64_t fits, int rules)
{
    double others = 0, odds;

    for (size_t s = 0; s < scene->count; s++)
        others += gp_scene_fits(scene, &scene->suspects[(s + 1) % scene->count],
                                values[s]);
    odds = (others + 1) / ((double)scene->count + 2);
    return log((double)rules) + (double)fits * log(odds) > log(1e-3);
}

/* --- One pass over the output ---------------------------------------------
 */

/* What the pass collects. */
struct pass {
    const struct gp_reference *reference;
    struct gp_explanation *explanation;
    struct gp_map map;
    struct spread wrong, right; /* of finite values */
    int64_t infinite, all_bits; /* of those that are not finite */
    /* Of the wrong ones that were kept. */
    size_t toward_zero, one_bit;
    double max_ulp;
};

static double share_of(const struct gp_element *element)
{
    double error = fabs(element->got - element->ref);

    if (!isfinite(element->got))
        return INFINITY;
    return element->limit > 0 ? error / element->limit : error;
}

/* Keep the worst, in order; of equal ones those that come first. */
static void keep_worst(struct gp_explanation *explanation,
                       const struct gp_element *element)
{
    int at = explanation->worst_count;

    while (at > 0 && share_of(&explanation->worst[at - 1]) < share_of(element))
        at--;
    if (at == GP_WORST_MOST)
        return;
    if (explanation->worst_count < GP_WORST_MOST)
        explanation->worst_count++;
    memmove(&explanation->worst[at + 1], &explanation->worst[at],
            (size_t)(explanation->worst_count - 1 - at) * sizeof *element);
    explanation->worst[at] = *element;
}

/* When the room is full, every other one goes. */
static void spread_add(struct spread *spread, const struct gp_gemm *gemm,
                       const struct gp_element *element)
{
    int64_t each = gemm->m * gemm->n, index = element->index;

    if (spread->seen++ % spread->every)
        return;
    if (spread->count == SUSPECTS_MOST) {
        for (size_t s = 0; s < SUSPECTS_MOST / 2; s++)
            spread->items[s] = spread->items[2 * s];
        spread->count = SUSPECTS_MOST / 2;
        spread->every *= 2;
        if ((spread->seen - 1) % spread->every)
            return;
    }
    spread->items[spread->count++] = (struct gp_suspect){
        .index = index,
        .i = index % each % gemm->m,
        .j = index % each / gemm->m,
        .batch = index / each,
        .got = element->got,
        .ref = element->ref,
        .limit = fmax(element->limit, 0x1p-1000),
    };
}

static void spread_open(struct spread *spread)
{
    size_t bytes = SUSPECTS_MOST * sizeof *spread->items;

    *spread = (struct spread){.items = malloc(bytes), .every = 1};
    if (!spread->items)
        gp_arena_out_of_memory(bytes);
}

static void take_wrong(struct pass *pass, const void *output,
                       const struct gp_element *element)
{
    const struct gp_type *out = pass->reference->gemm.out;

    gp_map_mark(&pass->map, element->index);
    keep_worst(pass->explanation, element);
    if (isfinite(element->got)) {
        spread_add(&pass->wrong, &pass->reference->gemm, element);
        return;
    }
    pass->explanation->not_finite++;
    pass->infinite += isinf(element->got) != 0;
    pass->all_bits += gp_type_bits(out, output, element->index) ==
                      UINT64_MAX >> (64 - 8 * out->bytes);
}

static uint64_t bits_of(const struct gp_type *type, double x)
{
    uint64_t bits = 0;

    gp_type_store(type, &x, &bits, 1);
    return gp_type_bits(type, &bits, 0);
}

static void study_errors(struct pass *pass)
{
    const struct gp_type *out = pass->reference->gemm.out;

    for (size_t s = 0; s < pass->wrong.count; s++) {
        const struct gp_suspect *at = &pass->wrong.items[s];
        uint64_t changed = bits_of(out, at->got) ^ bits_of(out, at->ref);
        pass->one_bit += __builtin_popcountll(changed) == 1;
        pass->toward_zero += fabs(at->got) < fabs(at->ref);
        pass->max_ulp = fmax(pass->max_ulp, fabs(at->got - at->ref) /
                                                gp_type_ulp(out, at->ref));
    }
}

static void look_at_all(struct pass *pass, const struct gp_bound *bound,
                        bool rounded, const void *output)
{
    const struct gp_type *out = pass->reference->gemm.out;
    int64_t count = gp_gemm_count(&pass->reference->gemm, GP_C);
    double got[CHUNK];

    for (int64_t at = 0; at < count; at += CHUNK) {
        int64_t n = count - at < CHUNK ? count - at : CHUNK;
        gp_type_load(out,
                     (const unsigned char *)output + (size_t)at * out->bytes,
                     got, n);
        for (int64_t i = 0; i < n; i++) {
            struct gp_element element = {.index = at + i,
                                         .got = got[i],
                                         .ref = pass->reference->ref[at + i]};
            if (gp_measure_wrong(pass->reference, bound, rounded, at + i,
                                 got[i], &element.limit))
                take_wrong(pass, output, &element);
            else if (isfinite(got[i]) && isfinite(element.ref))
                spread_add(&pass->right, &pass->reference->gemm, &element);
        }
    }
}

/* --- What is said ---------------------------------------------------------
 */

/* Nothing overflows, so that a NaN was read or made of infinities; where the
 * operands have their own, the results that they must reach are not wrong. */
static void say_not_finite(const struct pass *pass, char *to, size_t room)
{
    const struct gp_gemm *gemm = &pass->reference->gemm;
    long long count = pass->explanation->not_finite;
    const char *plural = count == 1 ? "" : "s",
               *are = count == 1 ? "is" : "are";
    bool padded = gemm->lda > gp_gemm_tight_ld(gemm, GP_A) ||
                  gemm->ldb > gp_gemm_tight_ld(gemm, GP_B);

    if (pass->all_bits == count && gemm->beta == 0)
        snprintf(to, room,
                 "%lld wrong element%s %s as D was before the product: never "
                 "written",
                 count, plural, are);
    else if (pass->infinite == count)
        snprintf(to, room,
                 "%lld wrong element%s %s infinite where no sum can overflow: "
                 "partial sums in a narrower type would",
                 count, plural, are);
    else
        snprintf(
            to, room,
            "%lld wrong element%s %s NaN%s: "
            "NaN stands in %s%s%sthe guards around the matrices, and one of "
            "these was read, or infinite partial sums met",
            count, plural, are,
            pass->reference->special
                ? " where the operands' own NaN and infinities give none"
                : " though all operands are finite",
            pass->reference->special ? "operands of other results, " : "",
            gemm->beta == 0 ? "D before (which beta = 0 must not read), " : "",
            padded ? "the padding of operands, " : "");
}

/* What the map and the size of the errors suggest where no rule was found. */
static const char *likely(const struct pass *pass)
{
    const struct gp_pattern *map = &pass->explanation->pattern;
    size_t kept = pass->wrong.count;

    if (kept && pass->one_bit == kept)
        return "each differs from the right result in one bit";
    if (kept >= 20 && 20 * pass->toward_zero >= 19 * kept)
        return "the errors point toward zero, as after truncation in a tensor "
               "core or of operands, or where products are missing";
    if (map->edge)
        return "the predicate of an edge tile is suspect";
    if (map->period[0] || map->period[1])
        return "the period suggests the layout of fragments or of shared "
               "memory";
    if (map->tile)
        return "a tile that was computed from the wrong data, or raced, would "
               "look so";
    if (map->count == map->of)
        return "";
    if (map->whole_rows &&
        map->whole_rows * map->of / pass->reference->gemm.m == map->count)
        return "rows of op(A) were read wrongly, or these results overwritten";
    if (map->whole_columns &&
        map->whole_columns * map->of / pass->reference->gemm.n == map->count)
        return "columns of op(B) were read wrongly, or these results "
               "overwritten";
    return "";
}

static void say_rule(const struct gp_rule *rule,
                     struct gp_explanation *explanation)
{
    char of[60] = "", share[80];

    if (rule->looked_at < explanation->pattern.count)
        snprintf(of, sizeof of, " looked at (of %lld)",
                 (long long)explanation->pattern.count);
    if (rule->fits == rule->looked_at)
        snprintf(share, sizeof share, "all %lld", (long long)rule->looked_at);
    else
        snprintf(share, sizeof share, "%lld of %lld", (long long)rule->fits,
                 (long long)rule->looked_at);
    explanation->found = true;
    explanation->looked_at = rule->looked_at;
    explanation->fits = rule->fits;
    explanation->k = rule->k;
    snprintf(explanation->cause, sizeof explanation->cause,
             "%s in %s wrong elements%s%s%s", rule->words, share, of,
             *rule->aside ? "; " : "", rule->aside);
}

static void say_none(const struct pass *pass,
                     struct gp_explanation *explanation)
{
    const char *suspicion = likely(pass);

    explanation->looked_at = (int64_t)pass->wrong.count;
    snprintf(explanation->cause, sizeof explanation->cause,
             "no rule that was tried gives these values (errors up to %.3g "
             "ulp)%s%s",
             pass->max_ulp, *suspicion ? "; " : "", suspicion);
}

/* Does one rule explain a larger share than another? */
static bool explains_more(const struct gp_rule *a, const struct gp_rule *b)
{
    return b->looked_at == 0 || (double)a->fits * (double)b->looked_at >
                                    (double)b->fits * (double)a->looked_at;
}

static void find_cause(const struct pass *pass, bool rounded,
                       struct gp_explanation *explanation)
{
    bool (*const rules[])(const struct gp_scene *, struct gp_rule *) = {
        gp_explain_value, gp_explain_range, gp_explain_operand,
        gp_explain_partials, gp_explain_delay};
    struct gp_scene scene = {.reference = pass->reference,
                             .exact = rounded && pass->reference->family->exact,
                             .suspects = pass->wrong.items,
                             .count = pass->wrong.count,
                             .right = pass->right.items,
                             .right_count = pass->right.count};
    struct gp_rule best = {0}, rule;

    if (2 * explanation->not_finite > explanation->pattern.count) {
        say_not_finite(pass, explanation->cause, sizeof explanation->cause);
        explanation->looked_at = explanation->pattern.count;
        explanation->fits = explanation->not_finite;
        explanation->found = true;
        return;
    }
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        if (best.looked_at && best.fits == best.looked_at)
            break;
        if (rules[r](&scene, &rule) && explains_more(&rule, &best))
            best = rule;
    }
    if (4 * best.fits >= best.looked_at && best.fits)
        say_rule(&best, explanation);
    else
        say_none(pass, explanation);
}

void gp_explain(const struct gp_reference *reference,
                const struct gp_bound *bound, bool rounded, const void *output,
                struct gp_explanation *ret_explanation)
{
    struct pass pass = {.reference = reference, .explanation = ret_explanation};

    *ret_explanation = (struct gp_explanation){0};
    spread_open(&pass.wrong);
    spread_open(&pass.right);
    gp_map_open(&pass.map, &reference->gemm);
    look_at_all(&pass, bound, rounded, output);
    gp_map_read(&pass.map, &ret_explanation->pattern);
    study_errors(&pass);
    if (ret_explanation->pattern.count)
        find_cause(&pass, rounded, ret_explanation);
    gp_map_close(&pass.map);
    free(pass.wrong.items);
    free(pass.right.items);
}
