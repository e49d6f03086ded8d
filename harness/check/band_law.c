/* The table of laws, and what separate sums do to their moments. */
#include "harness/check/band_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"

/* For each way of reading operands, the ordinary units and, where there are
 * any, the tensor cores. TF32 is rounded to nearest by the library and cut by
 * the bare instruction: two laws, not a wider band. */
const struct gp_law gp_laws[] = {
    {"fp64", "fp64", "f64", 0, 0, false, false, 53, GP_LAW_CHAIN},
    {"fp32", "fp32", "f32", 0, 0, false, false, 24, GP_LAW_CHAIN},
    {"bf16x9", "fp32", "f32", 8, -126, false, true, 24, GP_LAW_TENSOR_16},
    {"tf32", "tf32", "f32", 11, -126, false, false, 24, GP_LAW_TENSOR_TF32},
    {"tf32 cut", "tf32", "f32", 11, -126, true, false, 24, GP_LAW_TENSOR_TF32},
    {"fp16", "tf32", "f32", 11, -14, false, false, 24, GP_LAW_TENSOR_16},
    {"bf16", "bf16", "f32", 8, -126, false, false, 24, GP_LAW_TENSOR_16},
    {"bf16 cut", "bf16", "f32", 8, -126, true, false, 24, GP_LAW_TENSOR_16},
    {"f16", "f16", "f16", 0, 0, false, false, 24, GP_LAW_CHAIN},
    {"f16 tensor", "f16", "f16", 0, 0, false, false, 24, GP_LAW_TENSOR_16},
    {"f16 sums", "f16", "f16", 0, 0, false, false, 11, GP_LAW_CHAIN},
    {"f16 sums tensor", "f16", "f16", 0, 0, false, false, 11, GP_LAW_TENSOR_16},
    {"bf16", "bf16", "bf16", 0, 0, false, false, 24, GP_LAW_CHAIN},
    {"bf16 tensor", "bf16", "bf16", 0, 0, false, false, 24, GP_LAW_TENSOR_16},
    {NULL, NULL, NULL, 0, 0, false, false, 0, GP_LAW_CHAIN},
};

/* (error / |x|)^2 of rounding x to nearest, in units of u^2: the mean of the
 * squared half spacing over 3 against the mean of x^2, both for significands
 * that are uniform in their logarithm. ((1/3) / (3 / (2 ln 2))) */
#define ROUNDING2 0.15403270679109896

bool gp_law_is_asked(const struct gp_law *law,
                     const struct gp_arithmetic *promise)
{
    if (promise->terms > 1)
        return law->whole;
    return !law->whole && law->input_precision == promise->input_precision;
}

bool gp_law_allows(const struct gp_law *law, const struct gp_gemm *gemm,
                   const struct gp_arithmetic *promise, int compute_capability)
{
    int promised = promise->input_precision;

    if (strcmp(law->in, gemm->in->name) != 0 ||
        (law->unit != GP_LAW_CHAIN &&
         (!promise->tensor || compute_capability == 0) &&
         law->input_precision == 0) ||
        law->accumulator < gp_type_find(promise->accumulator)->precision)
        return false;
    if (law->whole)
        return promise->terms > 1;
    /* FP16 has fewer exponents than TF32: only where it is asked for. */
    return law->input_precision == 0 ||
           (promised && law->input_precision >= promised &&
            (law->input_emin == -126 || promise->input_emin == -14));
}

struct gp_band_entry {
    const struct gp_law *law;
    int compute_capability;
    struct gp_moments moments;
};

const struct gp_moments *gp_band_moments(struct gp_band *band,
                                         const struct gp_reference *reference,
                                         const struct gp_law *law,
                                         int compute_capability)
{
    struct gp_band_entry *entry;

    for (size_t i = 0; i < band->count; i++)
        if (band->entries[i].law == law &&
            band->entries[i].compute_capability == compute_capability)
            return &band->entries[i].moments;
    entry = gp_grow((void **)&band->entries, band->count, &band->room,
                    sizeof *entry);
    entry->law = law;
    entry->compute_capability = compute_capability;
    gp_law_follow(reference, law, compute_capability, &entry->moments);
    band->count++;
    return &entry->moments;
}

void gp_band_free(struct gp_band *band)
{
    free(band->entries);
    *band = (struct gp_band){0};
}

/* Terms in exchangeable order: after a share x of them a partial sum has the
 * mean square x Q + x^2 (T^2 - Q). Its sum over a chain of k steps, against
 * the same for s chains of k/s. */
static double shrinks(const struct gp_moments *moments, double s)
{
    double q = moments->products2, rest = moments->total2 - q;
    double whole = q / 2 + rest / 3;

    return whole > 0 ? (q / (2 * s) + rest / (3 * s * s)) / whole : 1 / s;
}

/* Mean square of all that is rounded where s partial sums are rounded and
 * added one by one, against T^2. */
static double adding(const struct gp_moments *moments, double s)
{
    double q = moments->products2, rest = moments->total2 - q;
    /* The partial sums themselves; then the sums of the first 2 to s. */
    double first = q + rest / s;
    double then = q * ((s + 1) / 2 - 1 / s) +
                  rest * ((s + 1) * (2 * s + 1) / (6 * s) - 1 / (s * s));

    return (first + then) / moments->total2;
}

void gp_law_expect(const struct gp_law *law, const struct gp_moments *moments,
                   int64_t sums, bool in_output,
                   struct gp_expected *ret_expected)
{
    double s = (double)sums, u_c = ldexp(1, -law->accumulator);
    double chained = moments->variance * shrinks(moments, s);
    double gaussian = moments->input2 + 2 * moments->input_drift / s +
                      moments->drift2 / (s * s) + moments->factors2 +
                      moments->output2;

    if (moments->total2 > 0 && s > 1)
        gaussian += in_output ? moments->output2 * (adding(moments, s) - 1)
                              : ROUNDING2 * u_c * u_c * moments->total2 *
                                    (adding(moments, s) - 1);
    *ret_expected = (struct gp_expected){
        .rms = sqrt(fmax(chained + gaussian, 0)),
        .bias = moments->input_bias + moments->drift_bias / s,
        .gaussian = sqrt(fmax(gaussian, 0)),
        .chained = sqrt(fmax(chained, 0)),
    };
}
