/*
 * Which arithmetic do the bits show? On the probe families each result has one
 * possible value for each way of reading the operands and of rounding sums,
 * whatever the order of summation. docs/checks.md, "The fingerprint".
 */
#include "harness/check/fingerprint.h"

#include <math.h>
#include <stdio.h>

enum { LOOK_AT = 65536 }; /* results looked at, spread evenly */

int64_t gp_fingerprint_step(int64_t count)
{
    int64_t step = (count + LOOK_AT - 1) / LOOK_AT;

    return step + (step > 1 && step % 2 == 0);
}

double gp_fingerprint_got(const struct gp_evidence *evidence, int64_t index)
{
    const struct gp_type *out = evidence->reference->gemm.out;

    return gp_type_value(out, gp_type_bits(out, evidence->output, index));
}

void gp_fingerprint_zeros(const struct gp_evidence *evidence,
                          struct gp_finding *finding)
{
    const struct gp_reference *reference = evidence->reference;
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t count = gp_gemm_count(gemm, GP_C), zeros = 0, lost = 0, first = -1;

    for (int64_t at = 0; at < count; at++) {
        int64_t i = at % gemm->m, j = at / gemm->m % gemm->n;
        if (!gp_family_zero_at(reference->seed, at / gemm->m / gemm->n, i, j))
            continue;
        zeros++;
        if (gp_fingerprint_got(evidence, at) == 0)
            continue;
        lost++;
        first = first < 0 ? at : first;
    }
    finding->value = (double)(zeros - lost);
    finding->limit = (double)zeros;
    if (!lost) {
        snprintf(finding->clause, sizeof finding->clause, "no Strassen");
        gp_finding_say(finding, GP_PASS,
                       "all %lld sums of zeros are 0, as in every algorithm "
                       "that adds only the products of an element",
                       (long long)zeros);
        return;
    }
    snprintf(finding->clause, sizeof finding->clause,
             "%lld of %lld zeros lost as by Strassen", (long long)lost,
             (long long)zeros);
    gp_finding_place(finding, gemm, first);
    finding->where.repeat = 0;
    gp_finding_say(finding, GP_FAIL,
                   "%lld of %lld sums of zeros are not 0: D(%lld, %lld) = "
                   "%.17g. An algorithm of Strassen's kind, or another that "
                   "mixes elements: no componentwise accuracy",
                   (long long)lost, (long long)zeros,
                   (long long)finding->where.i, (long long)finding->where.j,
                   gp_fingerprint_got(evidence, first));
}

/* All terms are positive, so that |D - ref| <= eps G is a relative error. */
void gp_fingerprint_range(const struct gp_evidence *evidence,
                          struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    const struct gp_accuracy *accuracy = &evidence->accuracy[0];
    double bits = accuracy->omega > 0
                      ? fmin(-log2(accuracy->omega), gemm->out->precision)
                      : gemm->out->precision;
    int span = gp_family_range_span(gemm);

    finding->value = bits;
    snprintf(finding->clause, sizeof finding->clause,
             "%.0f bits over exponents of +-%d", floor(bits), span);
    if (accuracy->outside) {
        gp_finding_place(finding, gemm, accuracy->worst.index);
        finding->where.repeat = 0;
    }
    gp_finding_say(finding, accuracy->outside ? GP_FAIL : GP_PASS,
                   "%.3g bits of each sum of positive terms with exponents of "
                   "+-%d in the operands%s",
                   bits, span,
                   accuracy->outside ? ": fewer than the mode promises, as "
                                       "where one scale serves a whole row"
                                     : "");
}

static void judge(const struct gp_evidence *evidence,
                  struct gp_finding *finding)
{
    switch (evidence->run->problem->family->probe) {
    case GP_NO_PROBE:
        break;
    case GP_PROBE_ONE_HOT:
    case GP_PROBE_PRODUCT:
    case GP_PROBE_BIT_SCAN:
    case GP_PROBE_TIE:
        gp_fingerprint_products(evidence, finding);
        break;
    case GP_PROBE_TWO_TERM:
        gp_fingerprint_two_term(evidence, finding);
        break;
    case GP_PROBE_SPLIT_FINDER:
        gp_fingerprint_split(evidence, finding);
        break;
    case GP_PROBE_ZEROS:
        gp_fingerprint_zeros(evidence, finding);
        break;
    case GP_PROBE_RANGE:
        gp_fingerprint_range(evidence, finding);
        break;
    }
}

static bool applies(const struct gp_family *family)
{
    return family->probe != GP_NO_PROBE;
}

const struct gp_check gp_check_fingerprint = {
    .name = "fingerprint",
    .help = "which arithmetic the bits show, against the one asked for",
    .applies = applies,
    .judge = judge,
};
