/* --- What the results must be ----------------------------------------------
 */

struct tally {
    int64_t looked_at, outside, wrong, ambiguous;
    double worst; /* largest error as a share of its bound */
    int64_t worst_at;
    double worst_got, worst_ref;
};

/* The bound of this device's tensor cores; the last row is for those that
 * are not known. */
static const struct repro_bound *bound_of(int compute_capability)
{
    const struct repro_bound *bound = repro_bounds;

    while (bound->compute_capability &&
           bound->compute_capability != compute_capability)
        bound++;
    return bound;
}

/* alpha AB + beta C and its magnitude |alpha| |A||B| + |beta| |C| at one
 * element, in long double. */
static void reference_at(const struct gp_gemm *gemm, const struct matrix *a,
                         const struct matrix *b, const struct matrix *c,
                         int64_t index, double *ret_ref, double *ret_magnitude)
{
    int64_t i = index % gemm->m, j = index / gemm->m % gemm->n;
    int64_t batch = index / gemm->m / gemm->n;
    const double *row = a->op + (batch * gemm->m + i) * gemm->k;
    const double *column = b->op + (batch * gemm->n + j) * gemm->k;
    long double sum = 0, magnitude = 0, term;

    for (int64_t l = 0; l < gemm->k; l++) {
        term = (long double)row[l] * column[l];
        sum += term;
        magnitude += term < 0 ? -term : term;
    }
    sum *= gemm->alpha;
    magnitude *= fabs(gemm->alpha);
    if (gemm->beta != 0) {
        term = (long double)gemm->beta *
               gp_type_value(gemm->out, bits_at(gemm, GP_C, c->bytes, index));
        sum += term;
        magnitude += term < 0 ? -term : term;
    }
    *ret_ref = (double)sum;
    *ret_magnitude = (double)magnitude;
}

static void look_at(const struct gp_gemm *gemm, const struct repro_bound *bound,
                    int64_t index, double got, double ref, double magnitude,
                    struct tally *tally)
{
    /* The last term is the error of the reference itself. */
    double limit = (bound->rel_ref * fabs(ref) + bound->rel_mag * magnitude +
                    bound->absolute) *
                       (1 + 0x1p-50) +
                   ((double)gemm->k + 4) * (double)LDBL_EPSILON * magnitude +
                   fabs(ref) * 0x1p-53;
    double share = fabs(got - ref) / limit;

    tally->looked_at++;
    if (!isfinite(got) &&
        (magnitude >= bound->omega_acc || magnitude >= bound->omega_out)) {
        tally->ambiguous++; /* an order of summation may overflow */
        return;
    }
    if (!isfinite(got))
        share = HUGE_VAL;
    tally->outside += share > 1;
    if (tally->worst_at < 0 || share > tally->worst) {
        tally->worst = share;
        tally->worst_at = index;
        tally->worst_got = got;
        tally->worst_ref = ref;
    }
#if REPRO_EXACT
    ref = gp_type_round(gemm->out, ref);
    if (got == ref)
        return;
    if (++tally->wrong <= 8)
        printf("  exact: D(%lld, %lld) of batch %lld is %.17g and must be "
               "%.17g\n",
               (long long)(index % gemm->m),
               (long long)(index / gemm->m % gemm->n),
               (long long)(index / gemm->m / gemm->n), got, ref);
#endif
}

/* An odd step, so that the sample does not always meet the same rows of a
 * tile. */
static int64_t step_of(int64_t count, double cost, bool all)
{
    int64_t step = (int64_t)((double)count * cost / 0x1p28) + 1;

    return all || step == 1 ? 1 : step | 1;
}

static int judge(const struct gp_gemm *gemm, const struct matrix *a,
                 const struct matrix *b, const struct matrix *c,
                 const unsigned char *output, int capability, bool all)
{
    const struct repro_bound *bound = bound_of(capability);
    int64_t count = gp_gemm_count(gemm, GP_C);
    int64_t step = step_of(count, (double)gemm->k, all);
    struct tally tally;
    double ref, magnitude;

    memset(&tally, 0, sizeof tally);
    tally.worst_at = -1;
    for (int64_t at = 0; at < count; at += step) {
        double got = gp_type_value(gemm->out, bits_at(gemm, GP_C, output, at));
        reference_at(gemm, a, b, c, at, &ref, &magnitude);
        look_at(gemm, bound, at, got, ref, magnitude, &tally);
    }
    printf("%lld of %lld elements compared%s\n", (long long)tally.looked_at,
           (long long)count,
           step > 1 ? " (--all compares every one of them)" : "");
    if (tally.worst_at >= 0)
        printf("bound: %lld outside; the worst is D(%lld, %lld) of batch %lld "
               "= %.17g, must be %.17g: %.3g of what it can be off\n",
               (long long)tally.outside, (long long)(tally.worst_at % gemm->m),
               (long long)(tally.worst_at / gemm->m % gemm->n),
               (long long)(tally.worst_at / gemm->m / gemm->n), tally.worst_got,
               tally.worst_ref, tally.worst);
    if (tally.ambiguous)
        printf("range: %lld elements may overflow in some order of summation\n",
               (long long)tally.ambiguous);
#if REPRO_EXACT
    printf("exact: %lld elements are not the only possible result\n",
           (long long)tally.wrong);
#endif
    return tally.outside > 0 || tally.wrong > 0;
}

#if REPRO_ONE_TERM
/* Each result is one product, so its bits show how the operands were read. */
static int fingerprint(const struct gp_gemm *gemm, const struct matrix *a,
                       const struct matrix *b, const unsigned char *output)
{
    int64_t count = gp_gemm_count(gemm, GP_C), looked_at = 0;
    int64_t step = step_of(count, 4096, false), matched[GP_READINGS] = {0};
    int way = 0;
    double worst = 0, bits = gemm->out->precision;
    bool enough;

    for (int64_t at = 0; at < count; at += step, looked_at++) {
        int64_t i = at % gemm->m, j = at / gemm->m % gemm->n;
        int64_t batch = at / gemm->m / gemm->n;
        int64_t l = gp_family_probe_position(
            gemm, REPRO_SEED, batch, gp_family_probe_in_a(gemm) ? i : j);
        double x = a->op[(batch * gemm->m + i) * gemm->k + l];
        double y = b->op[(batch * gemm->n + j) * gemm->k + l];
        double got = gp_type_value(gemm->out, bits_at(gemm, GP_C, output, at));
        if (!(fabs(got - x * y) / fabs(x * y) <= worst))
            worst = fabs(got - x * y) / fabs(x * y);
        for (int r = 0; r < GP_READINGS; r++)
            if (r == 0 || gp_reading_narrows(&gp_readings[r], gemm->in))
                matched[r] +=
                    got ==
                    gp_type_round(gemm->out,
                                  gp_reading_value(&gp_readings[r], x) *
                                      gp_reading_value(&gp_readings[r], y));
    }
    while (way < GP_READINGS && matched[way] < looked_at)
        way++;
    if (worst > 0)
        bits = fmin(bits, -log2(worst));
    enough = way == 0 ||
             (way < GP_READINGS ? gp_readings[way].precision >= REPRO_ASKED_BITS
                                : REPRO_ASKED_BITS < gemm->in->precision &&
                                      bits >= REPRO_ASKED_BITS - 2);
    printf("fingerprint: asked for %d significand bits of each operand; %.3g "
           "bits were read: %s\n",
           REPRO_ASKED_BITS, bits,
           way == 0            ? "all products are correctly rounded"
           : way < GP_READINGS ? gp_readings[way].words
                               : "no way of rounding operands explains them");
    return !enough;
}
#endif
