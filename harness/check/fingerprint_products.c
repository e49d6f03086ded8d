/* Results that are one product each: one-hot, product, bit-scan and tie. How
 * were the operands read, and how many bits of them? */
#include "harness/check/fingerprint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/reading.h"

struct tally {
    int64_t looked_at, matched[GP_READINGS];
    double worst;        /* largest |result - ab| / |ab| */
    int64_t first_wrong; /* first that is not the correctly rounded product */
    int lost, kept;      /* bit-scan: the first bit lost; the last that is
                            kept of those before it */
};

/* The two operands of packed result `index`, and the vector of the probe. */
static int64_t operands(const struct gp_reference *reference, int64_t index,
                        double *ret_a, double *ret_b)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t m = gemm->m, n = gemm->n, k = gemm->k, batch = index / (m * n);
    int64_t i = index % (m * n) % m, j = index % (m * n) / m;
    int64_t vector = gp_family_probe_in_a(gemm) ? i : j;
    int64_t l = gp_family_probe_position(gemm, reference->seed, batch, vector);
    int64_t a = batch * m * k + (gemm->trans_a ? l + i * k : i + l * m);
    int64_t b = batch * k * n + (gemm->trans_b ? j + l * n : l + j * k);

    *ret_a = gp_type_value(gemm->in, gp_type_bits(gemm->in, reference->a, a));
    *ret_b = gp_type_value(gemm->in, gp_type_bits(gemm->in, reference->b, b));
    return vector;
}

static void look(const struct gp_evidence *evidence, int64_t index,
                 struct tally *tally, bool *lost_bits, bool *kept_bits)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    double got = gp_fingerprint_got(evidence, index), a, b, off;
    int64_t vector = operands(evidence->reference, index, &a, &b);
    bool right = got == gp_type_round(gemm->out, a * b);

    tally->looked_at++;
    off = fabs(got - a * b) / fabs(a * b);
    if (!(off <= tally->worst))
        tally->worst = off;
    if (!right && tally->first_wrong < 0)
        tally->first_wrong = index;
    for (int r = 0; r < GP_READINGS; r++)
        if (r == 0)
            tally->matched[r] += right;
        else if (gp_reading_narrows(&gp_readings[r], gemm->in))
            tally->matched[r] +=
                got == gp_type_round(gemm->out,
                                     gp_reading_value(&gp_readings[r], a) *
                                         gp_reading_value(&gp_readings[r], b));
    if (gp_family_scan_scale(gemm, vector) == 1)
        (right ? kept_bits : lost_bits)[gp_family_scan_bit(gemm, vector)] =
            true;
}

static struct tally look_at_all(const struct gp_evidence *evidence)
{
    int64_t count = gp_gemm_count(&evidence->reference->gemm, GP_C);
    int64_t step = gp_fingerprint_step(count);
    struct tally tally = {.first_wrong = -1};
    bool lost[64] = {false}, kept[64] = {false};

    for (int64_t at = 0; at < count; at += step)
        look(evidence, at, &tally, lost, kept);
    while (tally.lost < 64 && !lost[tally.lost])
        tally.lost++;
    for (int bit = 0; bit < tally.lost; bit++)
        tally.kept = kept[bit] ? bit : tally.kept;
    return tally;
}

/* --- What it is called ---------------------------------------------------- */

/* The number of bits that were read, from the worst product. */
static double bits_read(const struct gp_gemm *gemm, const struct tally *tally)
{
    double most = gemm->out->precision;

    if (tally->worst == 0)
        return most;
    /* An error beyond the value itself leaves no bit. */
    return tally->worst < 1 ? fmin(-log2(tally->worst), most) : 0;
}

/* Sums of products of narrow parts, where no way of reading the operands
 * explains all products: the shares of right ones and the bits of the worst
 * that each is expected to have (docs/checks.md). */
static const struct emulation {
    const char *name;
    enum gp_probe probe;
    double right_least, right_most, bits_least, bits_most;
} emulations[] = {
    {"3xtf32", GP_PROBE_ONE_HOT, 0.35, 0.65, 22.5, 23.5},
    {"3xtf32", GP_PROBE_PRODUCT, 0.2, 0.5, 20.5, 22.5},
    {"bf16x3", GP_PROBE_ONE_HOT, 0, 0.1, 16.5, 18},
    {"bf16x3", GP_PROBE_PRODUCT, 0, 0.1, 14.5, 17},
    {"bf16x6", GP_PROBE_PRODUCT, 0.85, 0.99, 23, 24},
    {"bf16x9", GP_PROBE_PRODUCT, 0.99, 1, 23.5, 24},
    {"bf16x9", GP_PROBE_PRODUCT, 0.52, 0.75, 22.7, 23.7},
};

static const char *emulation_of(const struct gp_evidence *evidence,
                                const struct tally *tally)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    enum gp_probe probe = evidence->run->problem->family->probe;
    double right = (double)tally->matched[0] / (double)tally->looked_at;
    double bits = bits_read(gemm, tally);

    /* One wrong bit is no share. */
    if (gemm->in->bytes != 4 || tally->looked_at - tally->matched[0] < 3)
        return NULL;
    for (size_t e = 0; e < sizeof emulations / sizeof *emulations; e++) {
        const struct emulation *row = &emulations[e];
        if (row->probe == probe && right >= row->right_least &&
            right <= row->right_most && bits >= row->bits_least &&
            bits <= row->bits_most)
            return row->name;
    }
    return NULL;
}

/* The reading that gives every result, the widest of them; -1 if none does. */
static int reading_of(const struct tally *tally)
{
    for (int r = 0; r < GP_READINGS; r++)
        if (tally->matched[r] == tally->looked_at)
            return r;
    return -1;
}

/* "11 bits, ties away": as far as the data tell the readings apart. */
static void print_reading(const struct tally *tally, int reading, char *to,
                          size_t size)
{
    const struct gp_reading *row = &gp_readings[reading];
    bool even = false, away = false;

    for (int r = 1; r < GP_READINGS; r++) {
        bool all = tally->matched[r] == tally->looked_at &&
                   gp_readings[r].precision == row->precision;
        even = even || (all && gp_readings[r].rounding == GP_NEAREST_EVEN);
        away = away || (all && gp_readings[r].rounding == GP_NEAREST_AWAY);
    }
    if (even && away)
        snprintf(to, size, "operands rounded to %d bits, to nearest",
                 row->precision);
    else
        snprintf(to, size, "%s", row->words);
}

static const char *own_name(const struct gp_gemm *gemm)
{
    return gemm->in->bytes == 4   ? "fp32"
           : gemm->in->bytes == 8 ? "fp64"
                                  : gemm->in->name;
}

/* What one-hot and product show is the arithmetic delivered; the operands of
 * the others have too few bits to say more than how they were read. */
static void name_delivered(const struct gp_evidence *evidence,
                           const struct tally *tally, int reading,
                           struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    enum gp_probe probe = evidence->run->problem->family->probe;
    const char *emulation = NULL;

    if (probe != GP_PROBE_ONE_HOT && probe != GP_PROBE_PRODUCT)
        return;
    if (reading < 0)
        emulation = emulation_of(evidence, tally);
    if (emulation)
        snprintf(finding->delivered, sizeof finding->delivered, "%s",
                 emulation);
    else if (reading < 0)
        snprintf(finding->delivered, sizeof finding->delivered, "%.0f bits",
                 floor(bits_read(gemm, tally)));
    else
        snprintf(finding->delivered, sizeof finding->delivered, "%s",
                 reading == 0 ? own_name(gemm)
                              : gp_readings[reading].delivered);
}

static void print_scan(const struct gp_gemm *gemm, const struct tally *tally,
                       int reading, char *to, size_t size)
{
    if (reading == 0)
        snprintf(to, size, "all %d bits kept", gemm->in->precision);
    else if (tally->lost > gemm->in->precision)
        snprintf(to, size, "operands below 2^-14 lose bits as in FP16");
    else if (tally->kept == tally->lost - 1)
        snprintf(to, size, "%d bits kept%s", tally->lost,
                 reading > 0 && gp_readings[reading].emin == -14
                     ? ", as FP16 has them"
                     : "");
    else
        snprintf(to, size, "%d to %d bits kept", tally->kept + 1, tally->lost);
}

static void print_words(const struct gp_evidence *evidence,
                        const struct tally *tally, int reading, char *to,
                        size_t size)
{
    if (evidence->run->problem->family->probe == GP_PROBE_BIT_SCAN)
        print_scan(&evidence->reference->gemm, tally, reading, to, size);
    else if (reading == 0)
        snprintf(to, size, "all products correctly rounded");
    else if (reading > 0)
        print_reading(tally, reading, to, size);
    else
        snprintf(to, size,
                 "no way of rounding operands explains them, %.3g%% of the "
                 "products correctly rounded",
                 100 * (double)tally->matched[0] / (double)tally->looked_at);
}

/* The clause of the joined sentence. */
static void set_clause(const struct gp_evidence *evidence,
                       const struct tally *tally, int reading,
                       const char *words, struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    enum gp_probe probe = evidence->run->problem->family->probe;
    const struct gp_reading *row = reading > 0 ? &gp_readings[reading] : NULL;

    if (probe == GP_PROBE_ONE_HOT)
        snprintf(finding->clause, sizeof finding->clause, "%.0f bits read",
                 floor(fmin(bits_read(gemm, tally), gemm->in->precision)));
    else if (probe != GP_PROBE_TIE)
        snprintf(finding->clause, sizeof finding->clause, "%.140s", words);
    else if (row)
        snprintf(finding->clause, sizeof finding->clause, "%s",
                 row->rounding == GP_NEAREST_EVEN   ? "ties to even"
                 : row->rounding == GP_NEAREST_AWAY ? "ties away"
                                                    : "low bits cut");
}

/* --- The verdict ---------------------------------------------------------- */

/* Significand bits that the run's promise keeps of each operand. */
static int promised_bits(const struct gp_evidence *evidence)
{
    const struct gp_arithmetic *promise = &evidence->run->row.arithmetic;

    return promise->input_precision ? promise->input_precision
                                    : evidence->reference->gemm.in->precision;
}

/* Is what was read as much as was promised? An emulation must keep all its
 * bits but the two units that two operands may lose. */
static bool is_enough(const struct gp_evidence *evidence,
                      const struct tally *tally, int reading)
{
    const struct gp_arithmetic *promise = &evidence->run->row.arithmetic;
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    int own = gemm->in->precision;
    int asked = promised_bits(evidence);

    if (reading == 0)
        return true;
    if (reading > 0)
        return gp_readings[reading].precision >= asked &&
               (gp_readings[reading].emin <= promise->input_emin ||
                !promise->input_precision);
    if (promise->per_term > 0) /* of fixed point: (4 k + 1) 2^-53 */
        return bits_read(gemm, tally) >=
               asked - log2(promise->per_term * (double)gemm->k + 1);
    return (asked < own || promise->terms > 1) &&
           bits_read(gemm, tally) >= asked - 2;
}

void gp_fingerprint_products(const struct gp_evidence *evidence,
                             struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->reference->gemm;
    const struct gp_run *run = evidence->run;
    struct tally tally = look_at_all(evidence);
    int reading = reading_of(&tally), asked = promised_bits(evidence);
    double bits = bits_read(gemm, &tally);
    bool enough = is_enough(evidence, &tally, reading);
    char words[160], read[48] = "";

    name_delivered(evidence, &tally, reading, finding);
    print_words(evidence, &tally, reading, words, sizeof words);
    set_clause(evidence, &tally, reading, words, finding);
    finding->value = bits;
    /* Two operands with p bits each, to nearest or cut, lose 2 units. */
    finding->limit = asked == gemm->in->precision ? asked : asked - 2;
    if (*finding->delivered)
        snprintf(read, sizeof read, ", delivered %s", finding->delivered);
    gp_finding_say(finding, enough ? GP_PASS : GP_FAIL,
                   "asked %s%s: %.3g bits read, %s (%lld products)",
                   run->mode->name, read, bits, words,
                   (long long)tally.looked_at);
    if (!enough) {
        gp_finding_place(finding, gemm, tally.first_wrong);
        finding->where.repeat = 0;
    }
    if (enough && (gp_run_decided_elsewhere(run) ||
                   (reading == 0 && asked < gemm->in->precision)))
        finding->flags |= GP_OBSERVED;
}
