/*
 * NaN, infinities, zeros and subnormal numbers: is every result of the class
 * it must be, by IEEE 754 and the quick returns of the reference BLAS?
 * docs/checks.md, "special".
 */
#include <math.h>
#include <stdio.h>

#include "harness/check/check.h"

static bool applies(const struct gp_family *family)
{
    return family->special;
}

/* Nothing is summed: D is beta C, whatever the family. */
static bool nothing_to_sum(const struct gp_gemm *gemm)
{
    return gemm->k == 0 || gemm->alpha == 0;
}

/* With beta 0 or 1 the result is +0 or C, bit for bit; else beta C rounded
 * once, or twice where D is narrower than the factors. */
static bool one_result(const struct gp_gemm *gemm)
{
    return nothing_to_sum(gemm) &&
           (gemm->beta == 0 || gemm->beta == 1 || gemm->out->precision >= 24);
}

static int64_t faults_of(const struct gp_gemm *gemm,
                         const struct gp_classes *classes)
{
    int64_t faults = classes->wrong;

    if (one_result(gemm))
        faults += classes->inexact;
    else if (nothing_to_sum(gemm))
        faults += classes->sign_off;
    return faults;
}

/* A NaN's sign says nothing. */
static double unsigned_nan(double x)
{
    return isnan(x) ? (double)NAN : x;
}

static void say_fault(const struct gp_gemm *gemm,
                      const struct gp_accuracy *accuracy,
                      struct gp_finding *finding)
{
    const struct gp_classes *classes = &accuracy->classes;
    const struct gp_element *element =
        classes->wrong ? &classes->first_wrong : &classes->first_inexact;
    const char *why = !classes->wrong && nothing_to_sum(gemm)
                          ? " (nothing is summed, so D is beta C)"
                          : "";

    gp_finding_place(finding, gemm, element->index);
    gp_finding_say(
        finding, GP_FAIL,
        "%lld of %lld elements are not what they must be%s: "
        "D(%lld, %lld) is %g and must be %g; %lld NaN where "
        "infinity must be, %lld infinite where NaN must be, %lld "
        "other",
        (long long)finding->value, (long long)accuracy->count, why,
        (long long)finding->where.i, (long long)finding->where.j,
        unsigned_nan(element->got), unsigned_nan(element->ref),
        (long long)classes->infinite_nan, (long long)classes->nan_infinite,
        (long long)finding->value - (long long)classes->infinite_nan -
            (long long)classes->nan_infinite);
}

static void say_pass(const struct gp_accuracy *accuracy,
                     struct gp_finding *finding)
{
    const struct gp_classes *classes = &accuracy->classes;
    char zeros[80] = "", small[160] = "", range[100] = "";

    if (classes->zeros)
        snprintf(zeros, sizeof zeros, "; %lld of %lld zeros are -0",
                 (long long)classes->negative, (long long)classes->zeros);
    if (classes->subnormal && !classes->flushed)
        snprintf(small, sizeof small, "; subnormal results are kept");
    if (classes->flushed || classes->lost) {
        finding->flags |= GP_OBSERVED;
        snprintf(small, sizeof small,
                 "; %lld of %lld subnormal results are flushed to zero, and "
                 "%lld results of subnormal operands",
                 (long long)classes->flushed, (long long)classes->subnormal,
                 (long long)classes->lost);
    }
    if (accuracy->ambiguous) {
        finding->flags |= GP_OBSERVED;
        snprintf(range, sizeof range,
                 "; %lld are not finite where a sum may overflow",
                 (long long)accuracy->ambiguous);
    }
    gp_finding_say(finding, GP_PASS,
                   "all classes are right: %lld of %lld elements NaN or "
                   "infinite, as they must be%s%s%s",
                   (long long)classes->special, (long long)accuracy->count,
                   zeros, small, range);
}

static void judge(const struct gp_evidence *evidence,
                  struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->run->problem->gemm;
    const struct gp_accuracy *worst = &evidence->accuracy[0];

    for (int64_t v = 1; v < evidence->outputs; v++)
        if (faults_of(gemm, &evidence->accuracy[v].classes) >
            faults_of(gemm, &worst->classes))
            worst = &evidence->accuracy[v];
    finding->value = (double)faults_of(gemm, &worst->classes);
    finding->limit = 0;
    finding->where.repeat = evidence->first_repeat[worst - evidence->accuracy];
    if (finding->value > 0)
        say_fault(gemm, worst, finding);
    else
        say_pass(worst, finding);
}

const struct gp_check gp_check_special = {
    .name = "special",
    .help = "NaN, infinities, zeros and subnormal numbers where they must be; "
            "what must not be read is not read",
    .applies = applies,
    .also = nothing_to_sum,
    .judge = judge,
};
