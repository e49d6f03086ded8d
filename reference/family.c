#include "reference/family.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/base/hash.h"

/* A word of 64 random bits for each place; the column's part is mixed once. */
static uint64_t column_key(const struct gp_family_args *args, int64_t j)
{
    uint64_t key = gp_hash_mix(args->seed + 0x9e3779b97f4a7c15u *
                                                (1 + (uint64_t)args->operand));

    key = gp_hash_mix(key ^ gp_hash_mix((uint64_t)args->batch +
                                        0xd1b54a32d192ed03u));
    return gp_hash_mix(key + (uint64_t)j * 0xa0761d6478bd642fu);
}

static uint64_t place_word(uint64_t column, int64_t i)
{
    return gp_hash_mix(column + (uint64_t)i * 0xe7037ed1a0b428dbu);
}

static int64_t column_length(const struct gp_family_args *args)
{
    return args->operand == GP_B ? args->gemm->k : args->gemm->m;
}

/* --- dense: U[-1, 1) from 64 random bits, rounded once ------------------- */

static int dense_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    (void)gemm;
    (void)err;
    return 0;
}

/* w * 2^-63 as a double whose last bit is sticky: rounding it to fewer than
 * 52 bits gives what rounding the exact value would (round to odd, Boldo and
 * Melquiond 2008). */
static double to_odd(int64_t w)
{
    uint64_t magnitude = w < 0 ? 0 - (uint64_t)w : (uint64_t)w;
    int drop = magnitude ? 11 - __builtin_clzll(magnitude) : 0;
    double x;

    if (drop > 0) {
        uint64_t lost = magnitude & ((UINT64_C(1) << drop) - 1);
        magnitude = magnitude >> drop << drop;
        if (lost)
            magnitude |= UINT64_C(1) << drop;
    }
    x = (double)magnitude * 0x1p-63;
    return w < 0 ? -x : x;
}

static void dense_column(const struct gp_family_args *args, int64_t j,
                         double *to)
{
    const struct gp_type *type = gp_gemm_type(args->gemm, args->operand);
    uint64_t key = column_key(args, j);
    int64_t length = column_length(args);

    if (type->bytes == 8)
        for (int64_t i = 0; i < length; i++)
            to[i] = (double)(int64_t)place_word(key, i) * 0x1p-63;
    else if (type->bytes == 4)
        for (int64_t i = 0; i < length; i++)
            to[i] = (double)(float)(int64_t)place_word(key, i) * 0x1p-63;
    else
        for (int64_t i = 0; i < length; i++)
            to[i] = gp_round_to(to_odd((int64_t)place_word(key, i)),
                                type->precision, type->emin);
}

/* --- exact: integers whose sums are exact in every order and mode -------- */

enum { EDGE = 64 }; /* first and last positions of k that must be seen */

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
    sums = alpha > 0 ? floor((limit - 3 * beta) / alpha) : limit;
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
    ret_plan->q = 1;
    ret_plan->budget = (int64_t)sums;
    ret_plan->sparse_a = gemm->m >= gemm->n;
    return 0;
}

static int exact_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    struct gp_family_exact plan;

    return gp_family_exact_plan(gemm, &plan, err);
}

/* Is position l of vector v one of its `budget` nonzeros? A quarter of them
 * stand among the first EDGE positions, a quarter among the last, rotating
 * with v so that all of them occur; the others are one in each of equally
 * long strata between. */
static bool exact_nonzero(int64_t budget, int64_t k, int64_t v, int64_t l,
                          uint64_t key)
{
    int64_t edge = budget / 4 < EDGE ? budget / 4 : EDGE;
    int64_t strata = budget - 2 * edge, middle = k - 2 * EDGE, s, from, to;
    uint64_t word;

    if (budget >= k)
        return true;
    if (middle <= 0 || strata > middle) /* k below 2 EDGE + budget: thin out */
        return (l + v) % ((k + budget - 1) / budget) == 0;
    if (l < EDGE || l >= k - EDGE) {
        int64_t at = l < EDGE ? l : l - (k - EDGE);
        return (at + EDGE - v * edge % EDGE) % EDGE < edge;
    }
    if (strata == 0)
        return false;
    l -= EDGE;
    s = (int64_t)((double)l * (double)strata / (double)middle);
    while (s > 0 && s * middle / strata > l)
        s--;
    while (s + 1 < strata && (s + 1) * middle / strata <= l)
        s++;
    from = s * middle / strata;
    to = (s + 1) * middle / strata;
    word = gp_hash_mix(key + (uint64_t)s * 0x9e3779b97f4a7c15u +
                       (uint64_t)v * 0xc2b2ae3d27d4eb4fu);
    return l == from + (int64_t)(word % (uint64_t)(to - from));
}

/* An integer in -q..q from a word; never 0 when q is 1, so that every product
 * counts. */
static double integer_of(uint64_t word, int64_t q)
{
    uint64_t span = 2 * (uint64_t)q + 1;

    if (q == 1)
        return word >> 63 ? -1 : 1;
    return (double)((int64_t)((word >> 11) % span) - q);
}

static void exact_column(const struct gp_family_args *args, int64_t j,
                         double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    struct gp_family_exact plan;
    struct gp_err ignored;
    uint64_t key = column_key(args, j), sparse_key;
    int64_t length = column_length(args);
    bool sparse;

    if (gp_family_exact_plan(gemm, &plan, &ignored) != 0)
        return;
    if (args->operand == GP_C) {
        for (int64_t i = 0; i < length; i++)
            to[i] = plan.c_max ? integer_of(place_word(key, i), plan.c_max) : 0;
        return;
    }
    sparse = plan.budget && plan.sparse_a == (args->operand == GP_A);
    sparse_key = gp_hash_mix(args->seed ^ 0x2545f4914f6cdd1du);
    for (int64_t i = 0; i < length; i++) {
        int64_t vector = args->operand == GP_A ? i : j;
        int64_t l = args->operand == GP_A ? j : i;
        to[i] = integer_of(place_word(key, i), plan.q);
        if (sparse &&
            !exact_nonzero(plan.budget, gemm->k, vector, l, sparse_key))
            to[i] = 0;
    }
}

const struct gp_family gp_families[] = {
    {"dense", "uniform in [-1, 1), 64 random bits rounded once to the type",
     false, dense_accept, dense_column},
    {"exact", "small integers: every sum is exact in every order and mode",
     true, exact_accept, exact_column},
    {NULL, NULL, false, NULL, NULL},
};

const struct gp_family *gp_family_find(const char *name)
{
    for (const struct gp_family *family = gp_families; family->name; family++)
        if (strcmp(family->name, name) == 0)
            return family;
    return NULL;
}
