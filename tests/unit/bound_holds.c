/* The bound against products: it holds, and it is not much too wide. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check/measure.h"
#include "tests/unit/product.h"

/* FP32 sums; the same with partial sums in the output type. */
static const struct gp_arithmetic fp32 = {.accumulator = "f32", .terms = 1};
static const struct gp_arithmetic narrow_sums = {
    .accumulator = "f32", .terms = 1, .in_output = true};

/* What a chain of fused multiply-adds can do worst (numerics.md 1.3): 1 and
 * then terms that each are just more than half a place, so that each is
 * rounded up to a whole one. */
static double adversary(int64_t k, double *ret_s)
{
    const float term = 0x1p-24f * (1 + 0x1p-23f);
    float sum = 1;

    for (int64_t l = 1; l < k; l++)
        sum = fmaf(term, 1, sum);
    *ret_s = 1 + (double)(k - 1) * (double)term;
    return (double)sum;
}

static void check_adversary(int64_t k, double least)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 1, 1, k);
    const struct gp_bound_data data = {1, 1};
    struct gp_bound bound;
    double s, error = adversary(k, &s);

    error -= s;
    gp_bound_make(&gemm, &fp32, &data, 0, &bound);
    cr_assert_leq(error, bound.rel_mag * s + bound.absolute);
    cr_assert_geq(error, least * (double)k * 0x1p-24 * s, "%g", error / s);
    /* Nor is the bound wide: 256 partial sums more than that. */
    cr_assert_leq(bound.rel_mag, (error + 256 * 0x1p-24) * (1 + 0x1p-20));
}

Test(bound_holds, the_worst_chain_nearly_reaches_it)
{
    check_adversary(300, 0.9);
    check_adversary(4096, 0.9);
    check_adversary(65536, 65280.0 / 65536 - 1e-4); /* the figure of 1.3 */
}

/* --- Random problems ----------------------------------------------------- */

/* The products of one output, in FP32. */
struct terms {
    float *a, *b;
    int64_t k;
};

static float chain(const struct terms *terms, int64_t from, int64_t to)
{
    float sum = 0;

    for (int64_t l = from; l < to; l++)
        sum += terms->a[l] * terms->b[l];
    return sum;
}

static float fused(const struct terms *terms, int64_t from, int64_t to)
{
    float sum = 0;

    for (int64_t l = to; l-- > from;)
        sum = fmaf(terms->a[l], terms->b[l], sum);
    return sum;
}

static float pairwise(const struct terms *terms, int64_t from, int64_t to)
{
    if (to - from < 4)
        return chain(terms, from, to);
    return pairwise(terms, from, (from + to) / 2) +
           pairwise(terms, (from + to) / 2, to);
}

/* Split over k; the partial sums are held in `type` (FP32, or the output). */
static float split(const struct terms *terms, int64_t parts,
                   const struct gp_type *type)
{
    float sum = 0;

    for (int64_t p = 0; p < parts; p++) {
        float part =
            chain(terms, p * terms->k / parts, (p + 1) * terms->k / parts);
        sum += (float)gp_type_round(type, (double)part);
        sum = (float)gp_type_round(type, (double)sum);
    }
    return sum;
}

static float summed(const struct terms *terms, int how, bool in_output,
                    const struct gp_type *out)
{
    int64_t parts = in_output ? gp_bound_splits_in_output(terms->k)
                              : gp_bound_splits(terms->k);

    if (how == 0)
        return chain(terms, 0, terms->k);
    if (how == 1)
        return fused(terms, 0, terms->k);
    if (how == 2)
        return pairwise(terms, 0, terms->k);
    return split(terms, parts, in_output ? out : gp_type_find("f32"));
}

/* D of one problem in FP32: the largest share of its bound. */
static double check_problem(struct rng *rng, const struct gp_gemm *gemm,
                            const struct gp_arithmetic *arithmetic)
{
    struct gp_reference reference = {0};
    struct gp_accuracy accuracy;
    struct gp_bound bound;
    struct gp_err err;
    int64_t count = gp_gemm_count(gemm, GP_C);
    struct terms terms = {calloc((size_t)gemm->k, sizeof(float)),
                          calloc((size_t)gemm->k, sizeof(float)), gemm->k};
    unsigned char *d = calloc((size_t)count, gemm->out->bytes);

    cr_assert_eq(gp_reference_make(&reference, gemm, gp_family_find("dense"),
                                   rng_next(rng), &err),
                 0);
    for (int64_t at = 0; at < count; at++) {
        int64_t i = at % gemm->m, j = at / gemm->m;
        double c = gemm->beta != 0
                       ? product_element(gemm, GP_C, reference.c, i, j, 0)
                       : 0;
        double x;
        for (int64_t l = 0; l < gemm->k; l++) {
            terms.a[l] =
                (float)product_element(gemm, GP_A, reference.a, i, l, 0);
            terms.b[l] =
                (float)product_element(gemm, GP_B, reference.b, l, j, 0);
        }
        x = (double)((float)gemm->alpha * summed(&terms, (int)rng_to(rng, 3),
                                                 arithmetic->in_output,
                                                 gemm->out) +
                     (float)gemm->beta * (float)c);
        gp_type_store(gemm->out, &x, d + (size_t)at * gemm->out->bytes, 1);
    }
    gp_bound_make(gemm, arithmetic, &reference.data, 0, &bound);
    gp_measure(&reference, &bound, d, &accuracy);
    cr_assert_eq(accuracy.outside, 0, "%s:%s %dx%dx%d: %g of the bound",
                 gemm->in->name, gemm->out->name, (int)gemm->m, (int)gemm->n,
                 (int)gemm->k, accuracy.max_share);
    gp_reference_free(&reference);
    free(terms.a);
    free(terms.b);
    free(d);
    return accuracy.max_share;
}

Test(bound_holds, for_200_products_in_any_order)
{
    static const char *const pairs[][2] = {{"f32", "f32"},
                                           {"f16", "f32"},
                                           {"bf16", "f32"},
                                           {"f16", "f16"},
                                           {"bf16", "bf16"}};
    static const double factors[][2] = {{1, 0}, {1.5, -0.5}, {-2, 1}};
    struct rng rng = {21};
    double share, most = 0;

    for (int n = 0; n < 200; n++) {
        const double *factor = factors[rng_to(&rng, 2)];
        struct gp_gemm gemm = product_of(
            pairs[n % 5][0], pairs[n % 5][1], "nt", rng_between(&rng, 1, 12),
            rng_between(&rng, 1, 12), rng_between(&rng, 2, n % 4 ? 200 : 3000));
        gemm.alpha = factor[0];
        gemm.beta = factor[1];
        share = check_problem(&rng, &gemm,
                              n % 5 > 2 && n / 5 % 2 ? &narrow_sums : &fp32);
        most = share > most ? share : most;
    }
    cr_assert(most > 0.3 && most <= 1, "%g", most);
}

/* A wrong operand, sign or one lost term of a short sum is outside. */
Test(bound_holds, and_a_lost_term_is_outside)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 64);
    struct gp_reference reference = {0};
    struct gp_accuracy accuracy;
    struct gp_bound bound;
    struct gp_err err;
    float d[64];

    cr_assert_eq(
        gp_reference_make(&reference, &gemm, gp_family_find("dense"), 1, &err),
        0);
    for (int at = 0; at < 64; at++)
        d[at] =
            (float)(reference.ref[at] -
                    product_element(&gemm, GP_A, reference.a, at % 8, 63, 0) *
                        product_element(&gemm, GP_B, reference.b, 63, at / 8,
                                        0));
    gp_bound_make(&gemm, &fp32, &reference.data, 0, &bound);
    gp_measure(&reference, &bound, d, &accuracy);
    cr_assert_geq(accuracy.outside, 62);
    gp_reference_free(&reference);
}
