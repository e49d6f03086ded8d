/*
 * Are the errors as large as this arithmetic makes them, no larger, and to no
 * side? A worst-case bound lets real faults pass where k is deep; the typical
 * error is far below it, and known. docs/checks.md, "band", derives the
 * thresholds.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/check/check.h"

/* The table of constants. */
static const double FACTOR = 1.5;       /* of the expected rms */
static const double CUT_FACTOR = 0.7;   /* a cut mode is not below this */
static const double CLUSTERING = 2.5;   /* rows share operands */
static const double CHAIN_KURTOSIS = 7; /* a mixture over paths; others 3.6 */
static const double OTHER_KURTOSIS = 3.6;
static const double CHAIN_TAIL = 1.11; /* P(|z| > t rms) <= exp(-1.11 t) */
static const double BIAS_FLOOR = 0.05; /* of the rms: nothing rounds better */
static const double CRR_FLOOR = 0.05;
enum { LAWS_MOST = 8, TESTS = 4 };

/* A law that may explain the errors, with the most that it allows. */
struct candidate {
    const struct gp_law *law;
    const struct gp_moments *moments;
    bool asked, takes; /* takes: its band holds the measured rms */
    double least, limit, max, bias_low, bias_high;
};

struct bench {
    const struct gp_evidence *evidence;
    const struct gp_gemm *gemm;
    double p;          /* of one test */
    double reference2; /* mean square of the reference's own error, over G^2 */
    bool in_output;
    struct candidate candidates[LAWS_MOST];
    int count;
};

static struct gp_expected expect(const struct bench *bench,
                                 const struct candidate *candidate,
                                 int64_t sums)
{
    struct gp_expected expected;

    gp_law_expect(candidate->law, candidate->moments, sums, bench->in_output,
                  &expected);
    expected.chained =
        sqrt(expected.chained * expected.chained + bench->reference2);
    expected.rms = sqrt(expected.rms * expected.rms + bench->reference2);
    return expected;
}

static int64_t sums_most(const struct bench *bench)
{
    return bench->in_output ? gp_bound_splits_in_output(bench->gemm->k)
                            : gp_bound_splits(bench->gemm->k);
}

/* The relative variance of the measured mean square over the expected. */
static double mean_square_error2(const struct bench *bench, double kurtosis,
                                 const struct gp_moments *moments)
{
    double n = (double)gp_gemm_count(bench->gemm, GP_C);

    return CLUSTERING * CLUSTERING * (kurtosis - 1) / n +
           moments->relative_error * moments->relative_error;
}

/* Chi-square with 2 / error^2 degrees of freedom, upper tail (Laurent and
 * Massart 2000), but never less than the slack for what the law neglects. */
static double factor(const struct bench *bench, double kurtosis,
                     const struct gp_moments *moments)
{
    double x = -log(bench->p);
    double error2 = mean_square_error2(bench, kurtosis, moments);

    return fmax(FACTOR, sqrt(1 + sqrt(2 * x * error2) + x * error2));
}

static void set_limits(const struct bench *bench, struct candidate *candidate)
{
    const struct gp_moments *moments = candidate->moments;
    double n = (double)gp_gemm_count(bench->gemm, GP_C), most = 0;
    double gaussian = sqrt(2 * log(4 * n / bench->p));
    double chained = log(2 * n / bench->p) / CHAIN_TAIL;

    for (int64_t s = 1; s <= sums_most(bench); s *= 2) {
        struct gp_expected is = expect(bench, candidate, s);
        bool chain = is.chained > is.gaussian;
        double by =
            factor(bench, chain ? CHAIN_KURTOSIS : OTHER_KURTOSIS, moments);
        most = fmax(most, is.rms);
        candidate->limit = fmax(candidate->limit, by * is.rms);
        candidate->max = fmax(candidate->max, by * (gaussian * is.gaussian +
                                                    chained * is.chained));
        candidate->bias_low = fmin(candidate->bias_low, by * is.bias);
        candidate->bias_high = fmax(candidate->bias_high, by * is.bias);
    }
    if (candidate->law->cut)
        candidate->least = CUT_FACTOR * sqrt(moments->input2);
}

/* Errors of an FP64 reference are as large as those it judges. A chain of k
 * products would err by `variance`, and is allowed (k + 4) 2^-53; this one is
 * allowed `error_rel`. */
static double reference_error2(const struct gp_reference *reference,
                               const struct gp_moments *moments)
{
    double share =
        reference->error_rel / (((double)reference->gemm.k + 4) * 0x1p-53);

    return reference->gemm.in->bytes == 8 ? moments->variance * share * share
                                          : 0;
}

static void add_candidates(struct bench *bench, const char *delivered)
{
    const struct gp_evidence *evidence = bench->evidence;
    const struct gp_arithmetic *promise = &evidence->run->row.arithmetic;

    for (const struct gp_law *law = gp_laws; law->name; law++) {
        struct candidate *next = &bench->candidates[bench->count];
        if (bench->count == LAWS_MOST ||
            !gp_law_allows(law, bench->gemm, promise,
                           evidence->compute_capability) ||
            (delivered && strcmp(law->delivered, delivered) != 0))
            continue;
        *next = (struct candidate){.law = law};
        next->asked = gp_law_is_asked(law, promise);
        next->moments = gp_band_moments(evidence->band, evidence->reference,
                                        law, evidence->compute_capability);
        bench->count++;
    }
}

static void set_up(const struct gp_evidence *evidence, struct bench *bench)
{
    const struct gp_arithmetic *promise = &evidence->run->row.arithmetic;
    const struct gp_gemm *gemm = &evidence->reference->gemm;

    *bench = (struct bench){
        .evidence = evidence,
        .gemm = gemm,
        .p = evidence->false_alarm / (TESTS * (double)evidence->outputs),
        .in_output = promise->in_output &&
                     gemm->out->precision <
                         gp_type_find(promise->accumulator)->precision,
    };
    add_candidates(bench, evidence->delivered);
    if (bench->count == 0) /* something that has no law */
        add_candidates(bench, NULL);
    if (bench->count)
        bench->reference2 =
            reference_error2(evidence->reference, bench->candidates[0].moments);
    for (int c = 0; c < bench->count; c++)
        set_limits(bench, &bench->candidates[c]);
}

/* --- One output ----------------------------------------------------------- */

struct nearest {
    const struct candidate *candidate;
    int64_t sums;
    double expected, one_sum;
};

/* How far a measured rms is from an expected one; both may be 0. */
static double distance(double rms, double expected)
{
    return fabs(log((rms + 1e-40) / (expected + 1e-40)));
}

/* The law and number of sums whose rms is nearest to what was measured, among
 * those asked for alone or all; the fewest sums that are as near as 5 %. */
static struct nearest nearest_of(const struct bench *bench, double rms,
                                 bool asked)
{
    struct nearest found = {NULL, 1, 0, 0};
    double off = INFINITY;

    for (int c = 0; c < bench->count; c++) {
        const struct candidate *candidate = &bench->candidates[c];
        if (asked && !candidate->asked)
            continue;
        for (int64_t s = 1; s <= sums_most(bench); s *= 2) {
            double expected = expect(bench, candidate, s).rms;
            double here = distance(rms, expected);
            if (!found.candidate || here < off - 0.05) {
                found = (struct nearest){candidate, s, expected, expected};
                off = here;
            }
        }
    }
    /* In the accumulator more sums err less, and one is the most. */
    if (found.candidate && !bench->in_output)
        found.one_sum = expect(bench, found.candidate, 1).rms;
    return found;
}

static void name(const struct bench *bench, struct gp_finding *finding,
                 struct nearest nearest)
{
    finding->sums = nearest.sums;
    finding->expected = nearest.expected;
    finding->one_sum = nearest.one_sum;
    /* Half the relative error of the mean square. */
    finding->uncertain = sqrt(mean_square_error2(bench, CHAIN_KURTOSIS,
                                                 nearest.candidate->moments)) /
                         2;
    snprintf(finding->law, sizeof finding->law, "%s",
             nearest.candidate->law->name);
}

static bool rms_fails(struct bench *bench, const struct gp_accuracy *accuracy,
                      struct gp_finding *finding)
{
    double rms = accuracy->deviation.rms;
    const struct candidate *first = bench->candidates;
    double one;
    bool taken = false;

    /* What explains nothing is held against what was asked for. */
    for (int c = bench->count - 1; c >= 0; c--)
        if (bench->candidates[c].asked)
            first = &bench->candidates[c];
    for (int c = 0; c < bench->count; c++) {
        struct candidate *candidate = &bench->candidates[c];
        candidate->takes = rms >= candidate->least && rms <= candidate->limit;
        taken = taken || candidate->takes;
        finding->limit = fmax(finding->limit, candidate->limit);
    }
    if (taken)
        return false;
    one = expect(bench, first, 1).rms;
    name(bench, finding, (struct nearest){first, 1, one, one});
    gp_finding_say(finding, GP_FAIL,
                   "the rms error is %.3g of |A||B|, %.3g times what %s gives "
                   "at k = %lld",
                   rms, rms / finding->expected, finding->law,
                   (long long)bench->gemm->k);
    return true;
}

static bool max_fails(const struct bench *bench,
                      const struct gp_accuracy *accuracy,
                      struct gp_finding *finding)
{
    double most = 0;

    for (int c = 0; c < bench->count; c++)
        if (bench->candidates[c].takes)
            most = fmax(most, bench->candidates[c].max);
    if (accuracy->omega <= most)
        return false;
    finding->value = accuracy->omega;
    finding->limit = most;
    gp_finding_say(finding, GP_FAIL,
                   "the largest error is %.3g of |A||B|, %.3g times the rms, "
                   "which is as expected of %s: that is no error of rounding",
                   accuracy->omega, accuracy->omega / accuracy->deviation.rms,
                   finding->law);
    return true;
}

/* A normal quantile for the tail p/2, and Student's from it (Abramowitz and
 * Stegun 26.7.5). */
static double student(double p, int freedom)
{
    double z = sqrt(2 * log(2 / p)), f = freedom, z2 = z * z;

    return z * (1 + (z2 + 1) / (4 * f) +
                (5 * z2 * z2 + 16 * z2 + 3) / (96 * f * f));
}

static bool bias_fails(const struct bench *bench,
                       const struct gp_accuracy *accuracy,
                       struct gp_finding *finding)
{
    const struct gp_deviation *deviation = &accuracy->deviation;
    double low = 0, high = 0, slack;

    if (deviation->clusters == 0)
        return false;
    for (int c = 0; c < bench->count; c++)
        if (bench->candidates[c].takes) {
            low = fmin(low, bench->candidates[c].bias_low);
            high = fmax(high, bench->candidates[c].bias_high);
        }
    slack = student(bench->p, deviation->clusters - 1) * deviation->bias_error +
            BIAS_FLOOR * deviation->rms;
    if (deviation->bias >= low - slack && deviation->bias <= high + slack)
        return false;
    finding->value = deviation->bias;
    finding->limit = deviation->bias < low ? low - slack : high + slack;
    gp_finding_say(finding, GP_FAIL,
                   "results are %s by %.3g of |A||B| on the average (%.3g "
                   "standard errors), and %s has no such bias",
                   deviation->bias < 0 ? "too small" : "too large",
                   fabs(deviation->bias),
                   fabs(deviation->bias) / deviation->bias_error, finding->law);
    return true;
}

/* Where there is one final rounding, few results are not the rounded exact
 * one. */
static bool crr_fails(const struct bench *bench,
                      const struct gp_accuracy *accuracy,
                      struct gp_finding *finding)
{
    double n = (double)accuracy->sure, off = 0, rate, least;

    if (bench->in_output || accuracy->sure < GP_BAND_LEAST ||
        bench->gemm->out->precision >=
            gp_type_find(bench->evidence->run->row.arithmetic.accumulator)
                ->precision)
        return false;
    for (int c = 0; c < bench->count; c++)
        if (bench->candidates[c].takes)
            off = fmax(off, bench->candidates[c].moments->unrounded);
    rate = (double)accuracy->sure_rounded / n;
    least = 1 - 2 * off - CRR_FLOOR - sqrt(log(1 / bench->p) / (2 * n));
    if (least < 0.5 || rate >= least)
        return false;
    finding->value = rate;
    finding->limit = least;
    gp_finding_say(finding, GP_FAIL,
                   "%.3g %% of the results are correctly rounded where one "
                   "final rounding gives at least %.3g %%",
                   100 * rate, 100 * least);
    return true;
}

static void say_as_expected(const struct bench *bench,
                            const struct gp_accuracy *accuracy,
                            struct gp_finding *finding)
{
    struct nearest asked = nearest_of(bench, accuracy->deviation.rms, true);
    double rms = accuracy->deviation.rms;
    const char *words = "as expected of";
    /* Less error than an FP64 reference has itself shows nothing. */
    bool seen = bench->reference2 < asked.expected * asked.expected / 8;

    if (seen && asked.candidate && rms < asked.expected / 2) {
        finding->flags |= GP_OBSERVED;
        words = rms < finding->expected / 2
                    ? "wider sums than any expected: less than half of"
                    : "the mode asked for was not engaged: as expected of";
    }
    gp_finding_say(finding, GP_PASS,
                   "the rms error is %.3g of |A||B|, %s %s in %lld sum%s "
                   "(%.3g)",
                   rms, words, finding->law, (long long)finding->sums,
                   finding->sums == 1 ? "" : "s", finding->expected);
}

/* --- All outputs ---------------------------------------------------------- */

/* FP16 sums take alpha and beta in FP16: one that is no FP16 number adds an
 * error of its own, the same in every result. */
static bool rounds_scalars(const struct gp_run *run)
{
    const struct gp_type *scale = gp_type_find(run->row.arithmetic.accumulator);
    const struct gp_gemm *gemm = &run->problem->gemm;

    return gp_type_round(scale, gemm->alpha) != gemm->alpha ||
           gp_type_round(scale, gemm->beta) != gemm->beta;
}

/* Why nothing can be said; NULL if something can. */
static const char *cannot(const struct bench *bench)
{
    const struct gp_evidence *evidence = bench->evidence;

    for (int64_t v = 0; v < evidence->outputs; v++)
        if (evidence->accuracy[v].deviation.count < GP_BAND_LEAST)
            return "fewer than 1024 finite results: too few for statistics";
    if (rounds_scalars(evidence->run))
        return "alpha or beta is rounded on its way into FP16 sums";
    for (int c = 0; c < bench->count; c++)
        if (bench->candidates[c].limit > 0)
            return NULL;
    return bench->count ? "nothing is rounded" : "no law for this arithmetic";
}

static void judge(const struct gp_evidence *evidence,
                  struct gp_finding *finding)
{
    struct bench bench;
    const char *reason;

    if (evidence->accuracy[0].count >= GP_BAND_LEAST)
        set_up(evidence, &bench);
    else
        bench = (struct bench){.evidence = evidence};
    reason = cannot(&bench);
    if (reason) {
        gp_finding_say(finding, GP_SKIP, "not judged: %s", reason);
        return;
    }
    finding->false_alarm = evidence->false_alarm;
    snprintf(finding->evidence, sizeof finding->evidence,
             "statistical (p < %.1e)", evidence->false_alarm);
    for (int64_t v = evidence->outputs - 1; v >= 0; v--) {
        const struct gp_accuracy *accuracy = &evidence->accuracy[v];
        name(&bench, finding,
             nearest_of(&bench, accuracy->deviation.rms, false));
        finding->value = accuracy->deviation.rms;
        finding->limit = 0;
        finding->where.repeat = evidence->first_repeat[v];
        if (rms_fails(&bench, accuracy, finding) ||
            max_fails(&bench, accuracy, finding) ||
            bias_fails(&bench, accuracy, finding) ||
            crr_fails(&bench, accuracy, finding))
            return;
    }
    say_as_expected(&bench, &evidence->accuracy[0], finding);
}

static bool applies(const struct gp_family *family)
{
    return family->random;
}

const struct gp_check gp_check_band = {
    .name = "band",
    .help = "the errors are as large as the arithmetic delivered makes them, "
            "and to no side",
    .applies = applies,
    .sums = true,
    .judge = judge,
};
