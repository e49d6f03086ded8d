#include "harness/check/measure.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 512 };

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

/* NaN or infinity where the result must be finite. */
static void not_finite(const struct gp_bound *bound, int64_t index, double got,
                       double ref, double mag, struct gp_accuracy *accuracy)
{
    if (mag >= bound->omega_acc || mag >= bound->omega_out) {
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

static void one_element(const struct gp_reference *reference,
                        const struct gp_bound *bound, int64_t index, double got,
                        struct gp_accuracy *accuracy, struct sums *sums)
{
    const struct gp_type *out = reference->gemm.out;
    double ref = reference->ref[index], mag = (double)reference->mag[index];
    double rounded, error, limit, ulps;

    if (!isfinite(got)) {
        not_finite(bound, index, got, ref, mag, accuracy);
        return;
    }
    error = fabs(got - ref);
    limit =
        (bound->rel_ref * fabs(ref) + bound->rel_mag * mag + bound->absolute) *
            (1 + 0x1p-50) +
        reference->error_rel * mag;
    rounded = out->bytes == 4 ? (double)(float)ref : gp_type_round(out, ref);
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
    ulps = error / ulp_of(out, ref);
    accuracy->max_ulp = ulps > accuracy->max_ulp ? ulps : accuracy->max_ulp;
    sums->ulps += ulps;
    sums->error2 += error * error;
    sums->ref2 += ref * ref;
}

void gp_measure(const struct gp_reference *reference,
                const struct gp_bound *bound, const void *output,
                struct gp_accuracy *ret_accuracy)
{
    const struct gp_gemm *gemm = &reference->gemm;
    struct gp_accuracy accuracy = {.worst = {.index = -1},
                                   .first_unrounded = {.index = -1}};
    struct sums all = {0};
    double got[CHUNK];

    accuracy.count = gp_gemm_count(gemm, GP_C);
    for (int64_t at = 0; at < accuracy.count; at += CHUNK) {
        int64_t n = accuracy.count - at < CHUNK ? accuracy.count - at : CHUNK;
        struct sums part = {0};
        gp_type_load(gemm->out,
                     (const unsigned char *)output +
                         (size_t)at * gemm->out->bytes,
                     got, n);
        for (int64_t i = 0; i < n; i++)
            one_element(reference, bound, at + i, got[i], &accuracy, &part);
        all.ulps += part.ulps;
        all.error2 += part.error2;
        all.ref2 += part.ref2;
    }
    accuracy.mean_ulp = all.ulps / (double)accuracy.count;
    accuracy.norm_error = sqrt(all.error2);
    accuracy.norm_ref = sqrt(all.ref2);
    *ret_accuracy = accuracy;
}
