/* Families whose sums are exact in every order and mode. */
#include "reference/family.h"

#include <math.h>

#include "harness/base/hash.h"

/* --- exact: integers whose sums are exact in every order and mode -------- */

enum {
    EDGE = 64,       /* first and last positions of k that must be seen */
    SPARSE_LEAST = 8 /* nonzeros with which they are, rotating */
};

/* Integers below this are exact in every accumulator, partial and output: 2^24
 * in FP32 and in a tensor core (its fraction keeps 23 bits or more), 2^11 and
 * 2^8 where results or partials are FP16 or BF16. */
static int64_t exact_limit(const struct gp_gemm *gemm)
{
    int bits = gemm->out->precision;

    return INT64_C(1) << (bits > 53 ? 53 : bits);
}

/* Significand bits that every mode keeps of an operand: FP32 operands may be
 * rounded to BF16. */
static int exact_input_bits(const struct gp_gemm *gemm)
{
    return gemm->in->bytes == 4 ? 8 : gemm->in->precision;
}

/* |x| as an integer number of 2^-g: the smallest g, or -1 above 8. */
static int dyadic(double x)
{
    for (int g = 0; g <= 8; g++)
        if (ldexp(x, g) == nearbyint(ldexp(x, g)))
            return g;
    return -1;
}

int gp_family_exact_plan(const struct gp_gemm *gemm,
                         struct gp_family_exact *ret_plan, struct gp_err *err)
{
    int ga = dyadic(gemm->alpha), gb = dyadic(gemm->beta);
    int g = ga > gb ? ga : gb;
    double alpha = fabs(ldexp(gemm->alpha, g));
    double beta = fabs(ldexp(gemm->beta, g));
    double limit = (double)exact_limit(gemm) - 1;
    double most = ldexp(1, exact_input_bits(gemm));
    double sums, q;

    /* The results' unit is 2^-g, and C is one of -3..3 where it is read. */
    *ret_plan = (struct gp_family_exact){.c_max = beta != 0 ? 3 : 0};
    sums = limit - 3 * beta;
    if (alpha > 0)
        sums = floor(sums / alpha);
    if (ga < 0 || gb < 0 || sums < 1)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the family exact needs alpha and beta with few "
                          "binary digits: alpha = %g and beta = %g leave no "
                          "exact sums in %s",
                          gemm->alpha, gemm->beta, gemm->out->name);
    if (sums > limit)
        sums = limit;
    q = floor(sqrt(sums / (double)gemm->k));
    ret_plan->q = (int64_t)(q < most ? q : most);
    if (ret_plan->q >= 1)
        return 0;
    if (sums < SPARSE_LEAST)
        return gp_err_set(
            err, GP_ERR_UNSUPPORTED,
            "the family exact has room for %.0f terms of k = %lld "
            "in %s: too few to see the ends of k",
            sums, (long long)gemm->k, gemm->out->name);
    ret_plan->q = 1;
    ret_plan->budget = (int64_t)sums;
    ret_plan->sparse_a = gemm->m >= gemm->n;
    return 0;
}

int gp_family_exact_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    struct gp_family_exact plan;

    return gp_family_exact_plan(gemm, &plan, err);
}

/* What all vectors share of position l: which edge or stratum it is in. */
struct place {
    int64_t k, l, budget, edge, strata;
    int64_t from, length; /* of its stratum; 0 at an edge */
    uint64_t key;
};

static struct place place_of(int64_t budget, int64_t k, int64_t l,
                             uint64_t seed)
{
    int64_t edge = 3 * budget / 8 < EDGE ? 3 * budget / 8 : EDGE;
    int64_t strata = budget - 2 * edge, middle = k - 2 * EDGE, s;
    struct place place = {k, l, budget, edge, strata, 0, 0, 0};

    if (budget >= k || middle <= 0 || strata > middle || strata == 0 ||
        l < EDGE || l >= k - EDGE)
        return place;
    s = ((l - EDGE + 1) * strata - 1) / middle;
    place.from = s * middle / strata + EDGE;
    place.length = (s + 1) * middle / strata + EDGE - place.from;
    place.key = gp_hash_mix(seed + (uint64_t)s * 0x9e3779b97f4a7c15u);
    return place;
}

/* Is it one of the `budget` nonzeros of vector v? A quarter of them stand
 * among the first EDGE positions, a quarter among the last, rotating with v so
 * that all of them occur; the others are one in each of equally long strata
 * between. */
static bool exact_nonzero(const struct place *place, int64_t v)
{
    int64_t k = place->k, l = place->l, budget = place->budget;
    uint64_t word;

    if (budget >= k)
        return true;
    if (k <= 2 * EDGE || place->strata > k - 2 * EDGE) /* thin out */
        return (l + v) % ((k + budget - 1) / budget) == 0;
    if (l < EDGE || l >= k - EDGE) {
        int64_t at = l < EDGE ? l : l - (k - EDGE);
        return (at + EDGE - v * place->edge % EDGE) % EDGE < place->edge;
    }
    if (place->strata == 0)
        return false;
    word = gp_hash_mix(place->key + (uint64_t)v * 0xc2b2ae3d27d4eb4fu);
    return l - place->from ==
           (int64_t)((word >> 32) * (uint64_t)place->length >> 32);
}

/* An integer in -q..q from a word; never 0 when q is 1, so that every product
 * counts. */
static double integer_of(uint64_t word, int64_t q)
{
    uint64_t span = 2 * (uint64_t)q + 1;

    if (q == 1)
        return word >> 63 ? -1 : 1;
    if (q < INT64_C(1) << 31)
        return (double)((int64_t)((word >> 32) * span >> 32) - q);
    return (double)((int64_t)((word >> 11) % span) - q);
}

void gp_family_exact_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    struct gp_family_exact plan;
    struct gp_err ignored;
    struct place place = {0};
    uint64_t key = gp_family_key(args, j), sparse_key;
    int64_t length = gp_family_length(args);
    bool sparse;

    if (gp_family_exact_plan(gemm, &plan, &ignored) != 0)
        return;
    if (args->operand == GP_C) {
        for (int64_t i = 0; i < length; i++)
            to[i] =
                plan.c_max ? integer_of(gp_family_word(key, i), plan.c_max) : 0;
        return;
    }
    sparse = plan.budget && plan.sparse_a == (args->operand == GP_A);
    sparse_key = gp_hash_mix(args->seed ^ 0x2545f4914f6cdd1du);
    if (sparse && args->operand == GP_A)
        place = place_of(plan.budget, gemm->k, j, sparse_key);
    for (int64_t i = 0; i < length; i++) {
        to[i] = integer_of(gp_family_word(key, i), plan.q);
        if (sparse && args->operand == GP_B)
            place = place_of(plan.budget, gemm->k, i, sparse_key);
        if (sparse && !exact_nonzero(&place, args->operand == GP_A ? i : j))
            to[i] = 0;
    }
}

/* --- ones: a lost or doubled range of k is a lost or doubled count -------- */

/* All ones while k stays below the limit of the results. Beyond, vector v of
 * the longer side has one nonzero in every V-th chunk of 8, V as small as the
 * limit allows, shifted by v, with weights 1, 2, 3 of alternating sign: losing
 * or doubling chunks changes the results that see them. (Weights cannot all
 * be distinct: their magnitudes must add up to less than the limit.) */
static double ones_weight(const struct gp_gemm *gemm, int64_t v, int64_t l)
{
    int64_t limit = exact_limit(gemm) - 1, chunks = (gemm->k + 7) / 8;
    int64_t most = (limit - 6) / 2, every = (chunks + most - 1) / most;
    int64_t chunk = l / 8, nth = chunk / every, length = 8;

    if (gemm->k <= limit)
        return 1;
    if (gemm->k - chunk * 8 < length)
        length = gemm->k - chunk * 8;
    if (chunk % every != v % every || l % 8 != (v / every + nth) % length)
        return 0;
    return (double)(1 + nth % 3) * (nth % 2 ? -1 : 1);
}

void gp_family_ones_column(const struct gp_family_args *args, int64_t j,
                           double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args);
    bool in_a = gp_family_probe_in_a(gemm);

    for (int64_t i = 0; i < length; i++) {
        if (args->operand == GP_A)
            to[i] = in_a ? ones_weight(gemm, i, j) : 1;
        else
            to[i] = in_a ? 1 : ones_weight(gemm, j, i);
    }
}

/* --- index: a result says from where it was read ---------------------------
 */

void gp_family_index_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args);
    bool in_a = gp_family_probe_in_a(gemm);
    int in_bits = exact_input_bits(gemm), out_bits = gemm->out->precision;
    int bits = in_bits < out_bits ? in_bits : out_bits;
    uint64_t codes = (UINT64_C(1) << (bits < 24 ? bits : 24)) - 1;

    for (int64_t i = 0; i < length; i++) {
        int64_t l = args->operand == GP_A ? j : i;
        int64_t v = args->operand == GP_A ? i : j;
        if ((args->operand == GP_A) == in_a)
            to[i] =
                gp_family_probe_position(gemm, args->seed, args->batch, v) == l;
        else
            to[i] =
                1 + (double)(gp_family_word(gp_family_key(args, j), i) % codes);
    }
}
