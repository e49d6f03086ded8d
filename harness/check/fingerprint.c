/*
 * Which arithmetic do the bits show? On the probe families each result is one
 * product of known operands, so that it has one possible value for each way of
 * reading them, whatever the order of summation: adding zeros is exact. A way
 * that gives every result is the arithmetic delivered; docs/checks.md,
 * "The fingerprint".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/check/check.h"

enum { LOOK_AT = 65536 }; /* results looked at, spread evenly */

/* Ways of reading an FP32 operand. */
enum rounding { AS_GIVEN, NEAREST_EVEN, NEAREST_AWAY, TOWARD_ZERO };

static const struct reading {
    const char *delivered;
    const char *words;
    enum rounding rounding;
    int precision, emin;
} readings[] = {
    {"", "", AS_GIVEN, 0, 0}, /* named after the type */
    {"tf32", "operands rounded to 11 bits, ties to even", NEAREST_EVEN, 11,
     -126},
    {"tf32", "operands rounded to 11 bits, ties away", NEAREST_AWAY, 11, -126},
    {"tf32", "operands cut to 11 bits", TOWARD_ZERO, 11, -126},
    {"bf16", "operands rounded to 8 bits, ties to even", NEAREST_EVEN, 8, -126},
    {"bf16", "operands cut to 8 bits", TOWARD_ZERO, 8, -126},
};

enum { READINGS = sizeof readings / sizeof *readings };

static double toward_zero(double x, int precision)
{
    int e;
    double f = frexp(x, &e);

    return ldexp(trunc(ldexp(f, precision)), e - precision);
}

static double read_as(double x, const struct reading *reading)
{
    int e;

    switch (reading->rounding) {
    case AS_GIVEN:
        break;
    case NEAREST_EVEN:
        return gp_round_to(x, reading->precision, reading->emin);
    case NEAREST_AWAY:
        frexp(x, &e);
        return toward_zero(
            x + copysign(ldexp(1, e - reading->precision - 1), x),
            reading->precision);
    case TOWARD_ZERO:
        return toward_zero(x, reading->precision);
    }
    return x;
}

struct tally {
    int64_t looked_at, matched[READINGS];
    double worst;        /* largest |result - ab| / |ab| */
    int64_t first_wrong; /* first that is not the correctly rounded product */
    double got, must;
};

/* The two operands of packed result `index`. */
static void operands(const struct gp_reference *reference, int64_t index,
                     double *ret_a, double *ret_b)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t m = gemm->m, n = gemm->n, k = gemm->k, batch = index / (m * n);
    int64_t i = index % (m * n) % m, j = index % (m * n) / m;
    int64_t l = gp_family_probe_position(gemm, reference->seed, batch,
                                         gp_family_probe_in_a(gemm) ? i : j);
    int64_t a = batch * m * k + (gemm->trans_a ? l + i * k : i + l * m);
    int64_t b = batch * k * n + (gemm->trans_b ? j + l * n : l + j * k);

    *ret_a = gp_type_value(gemm->in, gp_type_bits(gemm->in, reference->a, a));
    *ret_b = gp_type_value(gemm->in, gp_type_bits(gemm->in, reference->b, b));
}

static void look(const struct gp_evidence *evidence, int64_t index,
                 struct tally *tally)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    double got = gp_type_value(
        gemm->out, gp_type_bits(gemm->out, evidence->output, index));
    double a, b, off;

    operands(evidence->reference, index, &a, &b);
    tally->looked_at++;
    off = fabs(got - a * b) / fabs(a * b);
    if (!(off <= tally->worst))
        tally->worst = off;
    for (int r = 0; r < READINGS; r++) {
        double must = gp_type_round(gemm->out, read_as(a, &readings[r]) *
                                                   read_as(b, &readings[r]));
        tally->matched[r] += got == must;
        if (r == 0 && got != must && tally->first_wrong < 0) {
            tally->first_wrong = index;
            tally->got = got;
            tally->must = must;
        }
        if (gemm->in->bytes != 4)
            break; /* the other readings are of FP32 operands */
    }
}

static struct tally look_at_all(const struct gp_evidence *evidence)
{
    int64_t count = gp_gemm_count(&evidence->reference->gemm, GP_C);
    int64_t step = (count + LOOK_AT - 1) / LOOK_AT;
    struct tally tally = {.first_wrong = -1};

    /* An even step would always meet the same rows of a tile. */
    for (int64_t at = 0; at < count; at += step + (step > 1 && step % 2 == 0))
        look(evidence, at, &tally);
    return tally;
}

/* The number of bits that were read, from the worst product. */
static double bits_read(const struct gp_gemm *gemm, const struct tally *tally)
{
    double most = gemm->out->precision;

    if (!(tally->worst > 0))
        return most;
    return fmin(-log2(tally->worst), most);
}

static void name_delivered(const struct gp_evidence *evidence,
                           const struct tally *tally, int reading,
                           struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;

    if (reading < 0)
        snprintf(finding->delivered, sizeof finding->delivered, "%.0f bits",
                 floor(bits_read(gemm, tally)));
    else
        snprintf(finding->delivered, sizeof finding->delivered, "%s",
                 reading == 0 ? gemm->in->bytes == 4   ? "fp32"
                                : gemm->in->bytes == 8 ? "fp64"
                                                       : gemm->in->name
                              : readings[reading].delivered);
}

/* Significand bits that the run's promise keeps of each operand. */
static int promised_bits(const struct gp_evidence *evidence)
{
    const struct gp_arithmetic *promise = &evidence->run->row.arithmetic;

    return promise->input_precision ? promise->input_precision
                                    : evidence->reference->gemm.in->precision;
}

static void judge(const struct gp_evidence *evidence,
                  struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    const struct gp_run *run = evidence->run;
    struct tally tally = look_at_all(evidence);
    bool elsewhere = gp_run_decided_elsewhere(run), enough;
    int reading = 0, asked = promised_bits(evidence);
    double bits = bits_read(gemm, &tally);

    while (reading < READINGS && tally.matched[reading] < tally.looked_at)
        reading++;
    if (reading == READINGS)
        reading = -1;
    name_delivered(evidence, &tally, reading, finding);
    finding->value = bits;
    /* Two operands with p bits each, to nearest or cut, lose 2 units. */
    finding->limit = asked == gemm->in->precision ? asked : asked - 2;
    enough =
        reading == 0 || (reading > 0 && readings[reading].precision >= asked) ||
        (reading < 0 && asked < gemm->in->precision && bits >= finding->limit);
    gp_finding_say(finding, enough ? GP_PASS : GP_FAIL,
                   "asked %s, delivered %s: %.3g bits read, %s (%lld products)",
                   run->mode->name, finding->delivered, bits,
                   reading == 0  ? "all products correctly rounded"
                   : reading > 0 ? readings[reading].words
                                 : "no way of rounding operands explains them",
                   (long long)tally.looked_at);
    if (!enough) {
        gp_finding_place(finding, gemm, tally.first_wrong);
        finding->where.repeat = 0;
    }
    if (enough && (elsewhere || (reading == 0 && asked < gemm->in->precision)))
        finding->flags |= GP_OBSERVED;
}

static bool applies(const struct gp_family *family)
{
    return family->one_term;
}

const struct gp_check gp_check_fingerprint = {
    .name = "fingerprint",
    .help = "which arithmetic the bits show, against the one asked for",
    .applies = applies,
    .judge = judge,
};
