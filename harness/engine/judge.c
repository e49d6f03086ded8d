#include "harness/engine/judge.h"
#include "harness/engine/images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/parallel.h"
#include "reference/digest.h"

struct gp_judge_entry {
    struct gp_digest digest;
    struct gp_bound bound;
    struct gp_accuracy accuracy;
    struct gp_explanation *explanation; /* NULL: not asked for so far */
};

void gp_result_free(struct gp_result *result)
{
    free(result->explanation);
    free(result->variation);
    gp_reply_free(&result->reply);
}

void gp_judge_cache_free(struct gp_judge_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        free(cache->entries[i].explanation);
    free(cache->entries);
    gp_band_free(&cache->band);
    *cache = (struct gp_judge_cache){0};
}

static bool same_bound(const struct gp_bound *a, const struct gp_bound *b)
{
    return a->rel_ref == b->rel_ref && a->rel_mag == b->rel_mag &&
           a->absolute == b->absolute && a->omega_acc == b->omega_acc &&
           a->omega_out == b->omega_out;
}

void gp_judge_bound(const struct gp_run *run,
                    const struct gp_reference *reference,
                    int compute_capability, struct gp_bound *ret_bound)
{
    gp_bound_make(&reference->gemm, &run->row.arithmetic, &reference->data,
                  compute_capability, ret_bound);
}

/* Elements that are wrong, by the sharpest rule of the family. */
static int64_t wrong_of(const struct gp_family *family,
                        const struct gp_accuracy *accuracy)
{
    return family->exact
               ? accuracy->count - accuracy->rounded - accuracy->ambiguous
               : accuracy->outside;
}

size_t gp_judge_have(const struct gp_judge_cache *cache,
                     const struct gp_run *run, const struct gp_bound *bound,
                     struct gp_digest *ret_digests, size_t most)
{
    size_t count = 0;

    if (run->problem->family->probe || run->problem->family->base)
        return 0;
    for (size_t i = 0; i < cache->count && count < most; i++)
        if (same_bound(&cache->entries[i].bound, bound) &&
            (cache->entries[i].explanation ||
             wrong_of(run->problem->family, &cache->entries[i].accuracy) == 0))
            ret_digests[count++] = cache->entries[i].digest;
    return count;
}

static bool listed(const struct gp_digest *have, size_t count,
                   const struct gp_digest *digest)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&have[i], digest, sizeof *digest) == 0)
            return true;
    return false;
}

struct digesting {
    const struct gp_gemm *gemm;
    const unsigned char *output;
    struct gp_digest *parts; /* one a block */
};

enum { DIGEST_BLOCK = 1 << 16 };

static void digest_block(void *ctx, size_t block)
{
    const struct digesting *all = ctx;
    struct gp_digest *part = &all->parts[block];
    int64_t count = gp_gemm_count(all->gemm, GP_C);
    int64_t from = (int64_t)block * DIGEST_BLOCK, to = from + DIGEST_BLOCK;

    *part = (struct gp_digest){{0, 0}};
    to = to < count ? to : count;
    if (from < to)
        gp_digest_add(part, all->gemm->out,
                      all->output + (size_t)from * all->gemm->out->bytes, from,
                      to - from);
}

static struct gp_digest digest_again(const struct gp_gemm *gemm,
                                     const unsigned char *output)
{
    size_t blocks = (size_t)(gp_gemm_count(gemm, GP_C) / DIGEST_BLOCK + 1);
    struct digesting all = {gemm, output, calloc(blocks, sizeof *all.parts)};
    struct gp_digest sum = {{0, 0}};

    if (!all.parts)
        gp_arena_out_of_memory(blocks * sizeof *all.parts);
    gp_parallel(blocks, digest_block, &all);
    for (size_t block = 0; block < blocks; block++)
        for (int lane = 0; lane < 2; lane++)
            sum.lane[lane] += all.parts[block].lane[lane];
    free(all.parts);
    return sum;
}

int gp_judge_digests(const struct gp_result *result,
                     const unsigned char *outputs, size_t output_bytes,
                     const struct gp_digest *have, size_t have_count,
                     struct gp_err *err)
{
    const struct gp_gemm *gemm = &result->run->problem->gemm;

    for (size_t d = 0; d < result->reply.differences_count; d++)
        if (result->reply.differences[d].first >= gp_gemm_count(gemm, GP_C))
            return gp_err_set(err, GP_ERR_BACKEND,
                              "%s: output %zu differs in an element that it "
                              "does not have",
                              result->run->backend, d + 1);
    for (int64_t v = 0; v < result->reply.outputs; v++) {
        const struct gp_digest *told = &result->reply.digests[v];
        struct gp_digest made;
        if (result->reply.withheld >> v & 1) {
            if (listed(have, have_count, told))
                continue;
            return gp_err_set(err, GP_ERR_BACKEND,
                              "%s: output %lld was withheld and is not known",
                              result->run->backend, (long long)v);
        }
        made = digest_again(gemm, outputs + (size_t)v * output_bytes);
        if (memcmp(&made, told, sizeof made) != 0)
            return gp_err_set(err, GP_ERR_BACKEND,
                              "%s: output %lld does not have the digest that "
                              "the worker reports",
                              result->run->backend, (long long)v);
    }
    return 0;
}

/* The entry of an output, which is measured if it has none; valid until the
 * next is made. */
static struct gp_judge_entry *measured(struct gp_judge_cache *cache,
                                       const struct gp_digest *digest,
                                       const struct gp_bound *bound,
                                       const struct gp_reference *reference,
                                       const void *output)
{
    struct gp_judge_entry *entry;

    for (size_t i = 0; i < cache->count; i++) {
        entry = &cache->entries[i];
        if (memcmp(&entry->digest, digest, sizeof *digest) == 0 &&
            same_bound(&entry->bound, bound))
            return entry;
    }
    entry = gp_grow((void **)&cache->entries, cache->count, &cache->room,
                    sizeof *entry);
    *entry = (struct gp_judge_entry){.digest = *digest, .bound = *bound};
    gp_measure(reference, bound, output, &entry->accuracy);
    cache->count++;
    return entry;
}

/* The reply's own terms in the evidence's. */
struct translated {
    struct gp_accuracy accuracy[GP_OUTPUTS_MOST];
    int64_t *frequency, *first_repeat;
    int64_t differing[GP_OUTPUTS_MOST], differing_first[GP_OUTPUTS_MOST];
};

static void translate_order(const struct gp_reply *reply,
                            struct translated *translated)
{
    int64_t repeat = 0;
    size_t variants = reply->digests_count;

    translated->frequency = calloc(variants, sizeof(int64_t));
    translated->first_repeat = calloc(variants, sizeof(int64_t));
    if (!translated->frequency || !translated->first_repeat)
        gp_arena_out_of_memory(variants * sizeof(int64_t));
    for (size_t i = 0; i < reply->order_count; i++) {
        const struct gp_order *order = &reply->order[i];
        if (translated->frequency[order->variant] == 0)
            translated->first_repeat[order->variant] = repeat;
        translated->frequency[order->variant] += order->count;
        repeat += order->count;
    }
}

double gp_judge_false_alarm(const struct gp_plan *plan)
{
    double judged = 0;

    for (size_t i = 0; i < plan->runs_count; i++)
        judged +=
            gp_check_band.applies(plan->runs[i].problem->family) &&
            gp_gemm_count(&plan->runs[i].problem->gemm, GP_C) >= GP_BAND_LEAST;
    /* And the relation growth, of at least four runs each. Sums of so many
     * shares are rounded. */
    judged += floor(judged / GP_GROWTH_LEAST);
    return GP_FALSE_ALARM / fmax(judged, 1) * (1 - 0x1p-20);
}

bool gp_judge_required(const struct gp_run *run, const char *check)
{
    for (size_t i = 0; run->from && i < run->from->require_count; i++)
        if (strcmp(run->from->require[i], check) == 0)
            return true;
    return false;
}

static void add_finding(struct gp_result *result,
                        const struct gp_finding *finding)
{
    struct gp_finding *added = &result->findings[result->findings_count++];

    *added = *finding;
    if (added->verdict == GP_PASS && added->flags & GP_OBSERVED &&
        gp_judge_required(result->run, added->check))
        added->verdict = GP_FAIL;
}

void gp_judge_conclude(struct gp_result *result)
{
    result->verdict = GP_PASS;
    result->flags = 0;
    for (int i = 0; i < result->findings_count; i++) {
        const struct gp_finding *finding = &result->findings[i];
        if (finding->verdict == GP_FAIL)
            result->verdict = GP_FAIL;
        if (finding->verdict == GP_ERROR && result->verdict != GP_FAIL) {
            result->verdict = GP_ERROR;
            gp_err_set(&result->err, GP_ERR_BACKEND, "%s", finding->text);
        }
        if (finding->verdict == GP_PASS)
            result->flags |= finding->flags;
    }
}

static struct gp_evidence evidence_of(const struct gp_result *result,
                                      const struct gp_reference *reference,
                                      struct translated *translated)
{
    const struct gp_reply *reply = &result->reply;
    const struct gp_run *run = result->run;
    struct gp_evidence evidence = {
        .run = run,
        .reference = reference,
        .accuracy = translated->accuracy,
        .outputs = reply->outputs,
        .variants = (int64_t)reply->digests_count,
        .frequency = translated->frequency,
        .first_repeat = translated->first_repeat,
        .differing = translated->differing,
        .differing_first = translated->differing_first,
        .last_variant = reply->order[reply->order_count - 1].variant,
        .last_differing = reply->last.elements,
        .guard_bytes = reply->audit.guard_bytes,
        .guard_first = reply->audit.guard_first,
        .guard_where = reply->audit.guard_where,
        .input_elements = reply->audit.input_elements,
        .input_first = reply->audit.input_first,
        .input_where = reply->audit.input_where,
        .sentinels_left = reply->audit.sentinels_left,
        .sentinel_first = reply->audit.sentinel_first,
        .promise =
            gp_promise(run->backend, run->schedule->name, run->mode->name),
    };

    for (size_t v = 0; v < reply->differences_count && v < GP_OUTPUTS_MOST;
         v++) {
        translated->differing[v] = reply->differences[v].elements;
        translated->differing_first[v] = reply->differences[v].first;
        evidence.differences++;
    }
    return evidence;
}

/* A copy in memory of its own. */
static void *copy_of(const void *from, size_t bytes)
{
    void *copy = malloc(bytes);

    if (!copy)
        gp_arena_out_of_memory(bytes);
    return memcpy(copy, from, bytes);
}

/* The output with most wrong elements, where a check of values failed. */
static void explain_values(struct gp_result *result,
                           const struct gp_evidence *evidence,
                           const struct gp_bound *bound, size_t output_bytes,
                           struct gp_judge_cache *cache)
{
    const struct gp_family *family = result->run->problem->family;
    const struct gp_accuracy *all = evidence->accuracy;
    bool rounded = family->exact, failed = false;
    struct gp_judge_entry *entry;
    const unsigned char *output;
    int64_t worst = 0;

    for (int64_t v = 1; v < evidence->outputs; v++)
        if (wrong_of(family, &all[v]) > wrong_of(family, &all[worst]))
            worst = v;
    if (wrong_of(family, &all[worst]) == 0) {
        /* A probe that shows less than was asked is within its bound. */
        for (int i = 0; i < result->findings_count; i++)
            failed = failed ||
                     (result->findings[i].verdict == GP_FAIL &&
                      strcmp(result->findings[i].check, "fingerprint") == 0);
        if (!failed)
            return;
        rounded = true;
    }
    output =
        (const unsigned char *)evidence->output + (size_t)worst * output_bytes;
    entry = measured(cache, &result->reply.digests[worst], bound,
                     evidence->reference, output);
    if (!entry->explanation) {
        struct gp_explanation made;
        gp_explain(evidence->reference, bound, rounded, output, &made);
        entry->explanation = copy_of(&made, sizeof made);
    }
    if (entry->explanation->pattern.count == 0)
        return; /* all are what they must be: no element is to blame */
    result->explained = worst;
    result->explanation =
        copy_of(entry->explanation, sizeof *entry->explanation);
}

/* The first two distinct outputs, where both came back. */
static void explain_repeats(struct gp_result *result,
                            const unsigned char *outputs, size_t output_bytes)
{
    struct gp_variation made;

    if (result->reply.outputs < 2 || result->reply.withheld & 3)
        return;
    gp_vary(&result->run->problem->gemm, outputs, outputs + output_bytes,
            &made);
    result->variation = copy_of(&made, sizeof made);
}

void gp_judge(struct gp_result *result, const struct gp_reference *reference,
              const unsigned char *outputs, size_t output_bytes,
              const struct gp_judge_about *about, struct gp_judge_cache *cache)
{
    const struct gp_run *run = result->run;
    struct translated translated = {0};
    struct gp_evidence evidence;
    struct gp_bound bound;

    translate_order(&result->reply, &translated);
    gp_judge_bound(run, reference, about->compute_capability, &bound);
    for (int64_t v = 0; v < result->reply.outputs; v++)
        translated.accuracy[v] =
            measured(cache, &result->reply.digests[v], &bound, reference,
                     outputs + (size_t)v * output_bytes)
                ->accuracy;
    evidence = evidence_of(result, reference, &translated);
    evidence.output = outputs;
    evidence.band = &cache->band;
    evidence.compute_capability = about->compute_capability;
    evidence.delivered = about->delivered;
    evidence.false_alarm = about->false_alarm;
    result->judged = true;
    if (run->problem->family->base)
        result->image_finite =
            gp_images_digest(run->problem, outputs, &result->image);
    result->accuracy = translated.accuracy[0];
    for (const struct gp_check *const *check = gp_checks; *check; check++) {
        struct gp_finding finding = {.check = (*check)->name,
                                     .where = {-1, -1, -1, -1},
                                     .evidence = "proved"};
        if (!gp_check_judges(*check, run->problem))
            continue;
        (*check)->judge(&evidence, &finding);
        add_finding(result, &finding);
    }
    gp_judge_conclude(result);
    explain_values(result, &evidence, &bound, output_bytes, cache);
    explain_repeats(result, outputs, output_bytes);
    free(translated.frequency);
    free(translated.first_repeat);
}
