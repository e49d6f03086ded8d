#include "harness/check/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/base/parallel.h"

enum { CHUNK = GP_DEVIATION_MOST, BLOCK = 128 * CHUNK };

struct sums {
    double ulps, error2, ref2;
};

/* 2^e as a double for e in the range of normal doubles. */
static double power_of_two(int e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* gp_type_ulp without a call of the library per element. */
static double ulp_of(const struct gp_type *type, double x)
{
    uint64_t bits;
    int e;

    memcpy(&bits, &x, sizeof bits);
    e = (int)(bits >> 52 & 0x7ff) - 1023;
    e = e < type->emin ? type->emin : e;
    e -= type->precision - 1;
    return e < -1022 ? gp_type_smallest(type) : power_of_two(e);
}

static void remember(struct gp_element *element, int64_t index, double got,
                     double ref, double limit)
{
    *element = (struct gp_element){index, got, ref, limit};
}

/* May a sum or the last rounding have overflowed? */
bool gp_measure_may_overflow(const struct gp_reference *reference,
                             const struct gp_bound *bound, int64_t index,
                             double got, double limit)
{
    const struct gp_gemm *gemm = &reference->gemm;
    double ref = reference->ref[index], mag = reference->mag[index];
    double c = gemm->beta != 0 && reference->c
                   ? gp_type_value(gemm->out,
                                   gp_type_bits(gemm->out, reference->c, index))
                   : 0;
    /* C is no part of the sums; only the last rounding meets the result. */
    double sums = mag - fabs(gemm->beta * c) * (1 - 0x1p-40);

    return sums >= bound->omega_acc || mag >= bound->omega_out ||
           (isinf(got) &&
            (got < 0 ? -ref : ref) + limit >= gp_type_largest(gemm->out));
}

/* NaN or infinity where the result must be finite. */
static void not_finite(const struct gp_reference *reference,
                       const struct gp_bound *bound, int64_t index, double got,
                       double limit, struct gp_accuracy *accuracy)
{
    double ref = reference->ref[index];

    if (gp_measure_may_overflow(reference, bound, index, got, limit)) {
        accuracy->ambiguous++;
        return;
    }
    accuracy->outside++;
    if (accuracy->first_unrounded.index < 0)
        remember(&accuracy->first_unrounded, index, got, ref, 0);
    if (!isinf(accuracy->max_share)) {
        accuracy->max_share = INFINITY;
        remember(&accuracy->worst, index, got, ref, 0);
    }
    accuracy->omega = accuracy->max_ulp = INFINITY;
}

double gp_measure_limit(const struct gp_reference *reference,
                        const struct gp_bound *bound, int64_t index)
{
    double mag = reference->mag[index];

    return (bound->rel_ref * fabs(reference->ref[index]) +
            bound->rel_mag * mag + bound->absolute) *
               (1 + 0x1p-50) +
           reference->error_rel * mag + reference->error_abs;
}

bool gp_measure_wrong(const struct gp_reference *reference,
                      const struct gp_bound *bound, bool rounded, int64_t index,
                      double got, double *ret_limit)
{
    double ref = reference->ref[index];
    double low = reference->low ? reference->low[index] : 0;
    const struct gp_type *out = reference->gemm.out;

    *ret_limit = gp_measure_limit(reference, bound, index);
    if (!isfinite(ref) || !isfinite(reference->mag[index]))
        return false;
    if (!isfinite(got))
        return !gp_measure_may_overflow(reference, bound, index, got,
                                        *ret_limit);
    if (rounded && out->bytes == 4)
        return got != (double)(float)ref;
    return rounded ? got != gp_type_round(out, ref)
                   : fabs(got - ref - low) > *ret_limit;
}

static void one_element(const struct gp_reference *reference,
                        const struct gp_bound *bound, int64_t index, double got,
                        struct gp_accuracy *accuracy, struct sums *sums)
{
    const struct gp_type *out = reference->gemm.out;
    double ref = reference->ref[index], mag = reference->mag[index];
    double low = reference->low ? reference->low[index] : 0;
    double rounded, error, limit, ulps, ulp;
    bool sure;

    limit = gp_measure_limit(reference, bound, index);
    /* A limit without end is no reason: the bound of a mode may allow
     * anything. */
    if (!isfinite(ref) || !isfinite(mag)) { /* nothing to compare with */
        if (reference->special && !isfinite(ref))
            accuracy->special++;
        else
            accuracy->ambiguous++;
        return;
    }
    if (!isfinite(got)) {
        not_finite(reference, bound, index, got, limit, accuracy);
        return;
    }
    error = fabs(got - ref - low);
    ulp = ulp_of(out, ref);
    rounded = out->bytes == 4 ? (double)(float)ref : gp_type_round(out, ref);
    /* The exact result is on the same side of the tie. */
    sure = fabs(fabs(ref - rounded + low) - ulp / 2) >
           reference->error_rel * mag + reference->error_abs;
    accuracy->sure += sure;
    accuracy->sure_rounded += sure & (got == rounded);
    if (got == rounded)
        accuracy->rounded++;
    else if (accuracy->first_unrounded.index < 0)
        remember(&accuracy->first_unrounded, index, got, ref, limit);
    if (error > limit)
        accuracy->outside++;
    if (error > accuracy->max_share * limit || accuracy->worst.index < 0) {
        accuracy->max_share = limit > 0   ? error / limit
                              : error > 0 ? INFINITY
                                          : 0;
        remember(&accuracy->worst, index, got, ref, limit);
    }
    if (error > accuracy->omega * mag)
        accuracy->omega = mag > 0 ? error / mag : INFINITY;
    ulps = error / ulp;
    accuracy->max_ulp = ulps > accuracy->max_ulp ? ulps : accuracy->max_ulp;
    sums->ulps += ulps;
    sums->error2 += error * error;
    sums->ref2 += ref * ref;
}

/* A block of elements: measured by itself, so that the numbers are the same
 * for any number of threads. */
struct part {
    struct gp_accuracy accuracy;
    struct sums sums;
    struct gp_deviation_sums deviation;
};

struct whole {
    const struct gp_reference *reference;
    const struct gp_bound *bound;
    const unsigned char *output;
    int64_t count;
    struct part *parts;
};

static void measure_block(void *ctx, size_t block)
{
    const struct whole *whole = ctx;
    const struct gp_type *out = whole->reference->gemm.out;
    struct part *part = &whole->parts[block];
    int64_t at = (int64_t)block * BLOCK, end = at + BLOCK;
    double got[CHUNK];

    *part = (struct part){
        .accuracy = {.worst = {.index = -1}, .first_unrounded = {.index = -1}}};
    end = end < whole->count ? end : whole->count;
    for (; at < end; at += CHUNK) {
        int64_t n = end - at < CHUNK ? end - at : CHUNK;
        gp_type_load(out, whole->output + (size_t)at * out->bytes, got, n);
        for (int64_t i = 0; i < n; i++)
            one_element(whole->reference, whole->bound, at + i, got[i],
                        &part->accuracy, &part->sums);
        gp_deviation_add(whole->reference, at, got, n, &part->deviation);
    }
}

/* Add the next part; parts come in the order of their elements. */
static void merge(struct gp_accuracy *all, struct sums *sums,
                  const struct part *part)
{
    const struct gp_accuracy *more = &part->accuracy;

    all->outside += more->outside;
    all->ambiguous += more->ambiguous;
    all->special += more->special;
    all->rounded += more->rounded;
    all->sure += more->sure;
    all->sure_rounded += more->sure_rounded;
    if (all->worst.index < 0 || more->max_share > all->max_share) {
        all->worst = more->worst;
        all->max_share = more->max_share;
    }
    if (all->first_unrounded.index < 0)
        all->first_unrounded = more->first_unrounded;
    all->omega = fmax(all->omega, more->omega);
    all->max_ulp = fmax(all->max_ulp, more->max_ulp);
    sums->ulps += part->sums.ulps;
    sums->error2 += part->sums.error2;
    sums->ref2 += part->sums.ref2;
}

void gp_measure(const struct gp_reference *reference,
                const struct gp_bound *bound, const void *output,
                struct gp_accuracy *ret_accuracy)
{
    struct gp_accuracy all = {.worst = {.index = -1},
                              .first_unrounded = {.index = -1}};
    struct whole whole = {reference, bound, output,
                          gp_gemm_count(&reference->gemm, GP_C), NULL};
    size_t blocks = (size_t)((whole.count + BLOCK - 1) / BLOCK);
    struct sums sums = {0};
    struct gp_deviation_sums deviation = {0};

    whole.parts = calloc(blocks + 1, sizeof *whole.parts);
    if (!whole.parts)
        gp_arena_out_of_memory(blocks * sizeof *whole.parts);
    gp_parallel(blocks, measure_block, &whole);
    for (size_t block = 0; block < blocks; block++) {
        merge(&all, &sums, &whole.parts[block]);
        gp_deviation_merge(&deviation, &whole.parts[block].deviation);
    }
    gp_deviation_finish(reference, &deviation, &all.deviation);
    free(whole.parts);
    all.count = whole.count;
    all.mean_ulp = all.count ? sums.ulps / (double)all.count : 0;
    all.norm_error = sqrt(sums.error2);
    all.norm_ref = sqrt(sums.ref2);
    if (gp_classes_matter(reference->family, &reference->gemm))
        gp_classes_count(reference, bound, output, &all.classes);
    *ret_accuracy = all;
}
