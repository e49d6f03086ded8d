/* Faults planted by hand, and what is said of them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check/explain.h"
#include "harness/check/vary.h"
#include "tests/unit/product.h"

/* A reference, an output that is right so far, and what is said of it. */
struct plant {
    struct gp_reference reference;
    unsigned char *output;
    struct gp_explanation said;
};

static const struct gp_gemm *gemm_of(const struct plant *plant)
{
    return &plant->reference.gemm;
}

static void put(struct plant *plant, int64_t index, double value)
{
    const struct gp_type *out = gemm_of(plant)->out;

    gp_type_store(out, &value, plant->output + (size_t)index * out->bytes, 1);
}

static void plant_make(struct plant *plant, struct gp_gemm gemm,
                       const char *family)
{
    struct gp_err err = {0};

    memset(plant, 0, sizeof *plant);
    cr_assert_eq(gp_reference_make(&plant->reference, &gemm,
                                   gp_family_find(family), 1, &err),
                 0, "%s", err.text);
    plant->output =
        malloc((size_t)gp_gemm_count(&gemm, GP_C) * gemm.out->bytes);
    cr_assert(plant->output);
    for (int64_t i = 0; i < gp_gemm_count(&gemm, GP_C); i++)
        put(plant, i, plant->reference.ref[i]);
}

static void plant_free(struct plant *plant)
{
    free(plant->output);
    gp_reference_free(&plant->reference);
}

static double term(const struct plant *plant, int64_t i, int64_t j, int64_t l)
{
    const struct gp_gemm *gemm = gemm_of(plant);

    return product_element(gemm, GP_A, plant->reference.a, i, l, 0) *
           product_element(gemm, GP_B, plant->reference.b, l, j, 0);
}

/* Add the products from .. to, so many times, to one element. */
static void add_range(struct plant *plant, int64_t index, int64_t from,
                      int64_t to, int times)
{
    const struct gp_gemm *gemm = gemm_of(plant);
    double sum = plant->reference.ref[index];

    for (int64_t l = from; l <= to; l++)
        sum += times * gemm->alpha *
               term(plant, index % gemm->m, index / gemm->m, l);
    put(plant, index, sum);
}

static void add_everywhere(struct plant *plant, int64_t from, int64_t to,
                           int times)
{
    for (int64_t i = 0; i < gp_gemm_count(gemm_of(plant), GP_C); i++)
        add_range(plant, i, from, to, times);
}

static const char *explain(struct plant *plant)
{
    const struct gp_arithmetic chain = {
        .accumulator = gemm_of(plant)->out->bytes == 8 ? "f64" : "f32",
        .terms = 1};
    struct gp_bound bound;

    gp_bound_make(gemm_of(plant), &chain, &plant->reference.data, 0, &bound);
    gp_explain(&plant->reference, &bound, plant->reference.family->exact,
               plant->output, &plant->said);
    return plant->said.cause;
}

#define SAYS(text, part)                                                       \
    cr_assert(strstr((text), (part)), "'%s' does not say '%s'", (text), (part))

static void tail(const char *in, const char *out, const char *family)
{
    struct plant plant;

    plant_make(&plant, product_of(in, out, "nt", 24, 20, 1032), family);
    add_everywhere(&plant, 1024, 1031, -1);
    SAYS(explain(&plant), "the last 8 products, k = 1024 .. 1031, what is left "
                          "of k by blocks of 16 to 1024, are missing in all ");
    cr_assert_eq(plant.said.k.times, -1);
    cr_assert_eq(plant.said.k.from, 1024);
    cr_assert_eq(plant.said.k.to, 1031);
    cr_assert_eq(plant.said.fits, plant.said.looked_at);
    plant_free(&plant);
}

Test(explain, a_lost_tail)
{
    tail("f32", "f32", "exact");
    tail("bf16", "f32", "exact");
    tail("f16", "f32", "exact");
    tail("f32", "f32", "dense");
    tail("f64", "f64", "dense");
    tail("f64", "f64", "exact");
}

/* All products are 1: how many are lost shows, and not which. */
Test(explain, ones_do_not_say_where)
{
    struct plant plant;

    plant_make(&plant, product_of("f32", "f32", "nn", 8, 8, 1032), "ones");
    add_everywhere(&plant, 1024, 1031, -1);
    SAYS(explain(&plant), "8 products are missing in all 32 wrong elements "
                          "looked at (of 64); which, these data do not say");
    cr_assert_eq(plant.said.k.times, 0, "no range is claimed");
    plant_free(&plant);
}

Test(explain, a_chunk_added_twice)
{
    struct plant plant;

    plant_make(&plant, product_of("f16", "f32", "tn", 16, 16, 512), "exact");
    add_everywhere(&plant, 128, 191, 1);
    SAYS(explain(&plant), "64 products, k = 128 .. 191, piece 3 of 8 where k "
                          "is cut every 64, are added twice in all 32 ");
    plant_free(&plant);
    plant_make(&plant, product_of("f32", "f32", "nn", 16, 16, 512), "dense");
    add_everywhere(&plant, 100, 103, 1);
    SAYS(explain(&plant), "4 products, k = 100 .. 103, are added twice");
    plant_free(&plant);
}

/* Two tiles lose different ranges: no range is that of all. */
Test(explain, a_range_that_only_some_miss)
{
    struct plant plant;

    plant_make(&plant, product_of("f32", "f32", "nn", 32, 32, 256), "exact");
    for (int64_t j = 0; j < 32; j++)
        for (int64_t i = 0; i < 32; i++)
            if (j < 24)
                add_range(&plant, i + 32 * j, 64, 127, -1);
            else
                add_range(&plant, i + 32 * j, 0, 31, -1);
    SAYS(explain(&plant), "64 products, k = 64 .. 127, piece 2 of 4 where k is "
                          "cut every 64, are missing in 24 of 32 wrong ");
    plant_free(&plant);
}

/* In a batch, with factors: alpha is part of the error, C is not. */
Test(explain, a_lost_range_under_factors)
{
    struct gp_gemm gemm = product_of("f32", "f32", "tt", 16, 16, 256);
    struct plant plant;

    gemm.alpha = -1.5;
    gemm.beta = 0.5;
    plant_make(&plant, gemm, "exact");
    add_everywhere(&plant, 0, 15, -1);
    SAYS(explain(&plant), "the first 16 products, k = 0 .. 15, ");
    plant_free(&plant);
}

/* Errors at random are explained by nothing. */
static void random_errors(const char *family)
{
    struct rng rng = {7};
    struct plant plant;

    plant_make(&plant, product_of("f32", "f32", "nn", 48, 40, 512), family);
    for (int64_t i = 0; i < 48 * 40; i++)
        put(&plant, i,
            plant.reference.ref[i] + (double)rng_between(&rng, 1, 2000) *
                                         (rng_to(&rng, 1) ? 1 : -1));
    SAYS(explain(&plant), "no rule that was tried gives these values");
    cr_assert_not(plant.said.found);
    cr_assert_eq(plant.said.k.times, 0);
    plant_free(&plant);
}

Test(explain, nothing_where_nothing_fits)
{
    random_errors("exact");
    random_errors("dense");
}

static void factors(double x, double y, const char *family, const char *words)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 16, 12, 64);
    struct plant plant;

    gemm.alpha = 1.5;
    gemm.beta = -0.5;
    plant_make(&plant, gemm, family);
    for (int64_t i = 0; i < 16 * 12; i++) {
        double c =
            product_element(&gemm, GP_C, plant.reference.c, i % 16, i / 16, 0);
        double ab = (plant.reference.ref[i] + 0.5 * c) / 1.5;
        put(&plant, i, x * ab + y * c);
    }
    SAYS(explain(&plant), words);
    plant_free(&plant);
}

Test(explain, factors)
{
    for (int f = 0; f < 2; f++) {
        const char *family = f ? "exact" : "dense";
        factors(2.25, -0.5, family, "alpha is applied twice");
        factors(1, -0.5, family, "alpha is ignored");
        factors(1.5, 0.25, family, "beta is applied twice");
        factors(1.5, 0, family, "beta C is missing");
        factors(1.5, -1, family, "beta C is added twice");
        factors(0, 0, family, "the results are zero");
        factors(0, 1, family, "D holds C as it was");
        factors(-0.5, 1.5, family, "alpha and beta are exchanged");
    }
}

static void moved(int64_t di, int64_t dj, bool transposed, const char *family,
                  const char *words)
{
    struct plant plant;

    plant_make(&plant, product_of("f32", "f32", "nn", 48, 48, 32), family);
    for (int64_t at = 0; at < 48 * 48; at++) {
        int64_t i = transposed ? at / 48 : at % 48 + di;
        int64_t j = transposed ? at % 48 : at / 48 + dj;
        if (i < 48 && j < 48 && i >= 0 && j >= 0)
            put(&plant, at, plant.reference.ref[i + 48 * j]);
    }
    SAYS(explain(&plant), words);
    plant_free(&plant);
}

Test(explain, moved_results)
{
    for (int f = 0; f < 3; f++) {
        const char *family = f == 0 ? "dense" : f == 1 ? "exact" : "index";
        moved(0, 0, true, family, "element (i, j) holds the result of (j, i)");
        moved(1, 0, false, family,
              "row i holds the result of row i + 1 in all ");
        moved(0, -16, false, family,
              "column j holds the result of column j - ");
    }
}

Test(explain, operands_read_otherwise)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 24, 24, 24);
    struct plant plant;

    plant_make(&plant, gemm, "dense");
    for (int64_t at = 0; at < 24 * 24; at++) {
        double sum = 0;
        for (int64_t l = 0; l < 24; l++)
            sum +=
                product_element(&gemm, GP_A, plant.reference.a, l, at % 24, 0) *
                product_element(&gemm, GP_B, plant.reference.b, l, at / 24, 0);
        put(&plant, at, sum);
    }
    SAYS(explain(&plant), "op(A) is transposed in all 32 ");
    for (int64_t at = 0; at < 24 * 24; at++) {
        double sum = 0;
        for (int64_t l = 0; l < 24; l++)
            sum +=
                gp_round_to(product_element(&gemm, GP_A, plant.reference.a,
                                            at % 24, l, 0),
                            11, -126) *
                product_element(&gemm, GP_B, plant.reference.b, l, at / 24, 0);
        put(&plant, at, sum);
    }
    SAYS(explain(&plant), "A alone is rounded to TF32 in all 32 ");
    plant_free(&plant);
}

Test(explain, narrow_partial_sums)
{
    struct gp_gemm gemm = product_of("f16", "f32", "nn", 16, 16, 256);
    struct plant plant;

    plant_make(&plant, gemm, "dense");
    for (int64_t at = 0; at < 256; at++) {
        double sum = 0;
        for (int64_t from = 0; from < 256; from += 32) {
            double part = 0;
            for (int64_t l = from; l < from + 32; l++)
                part += term(&plant, at % 16, at / 16, l);
            sum += gp_round_to(part, 11, -14);
        }
        put(&plant, at, sum);
    }
    SAYS(explain(&plant), "partial sums are rounded to f16, after every 32 "
                          "products, and then added in all 16 ");
    plant_free(&plant);
}

Test(explain, the_map_of_every_32nd_column)
{
    struct plant plant;

    plant_make(&plant, product_of("f32", "f32", "nn", 40, 256, 16), "exact");
    for (int64_t j = 5; j < 256; j += 32)
        for (int64_t i = 0; i < 40; i++)
            put(&plant, i + 40 * j,
                plant.reference.ref[i + 40 * j] + 1 + (double)(i * j % 7));
    SAYS(explain(&plant), "no rule");
    SAYS(plant.said.cause, "the period suggests");
    cr_assert_str_eq(plant.said.pattern.words,
                     "all rows, every 32nd column, from column 5 on");
    cr_assert_eq(plant.said.pattern.period[1], 32);
    cr_assert_eq(plant.said.pattern.whole_columns, 8);
    plant_free(&plant);
}

Test(explain, the_map_of_tiles_and_edges)
{
    struct plant plant;

    plant_make(&plant, product_of("f32", "f32", "nn", 70, 64, 16), "dense");
    for (int64_t at = 0; at < 70 * 64; at++)
        if (at % 70 >= 64)
            put(&plant, at, 100 + (double)(at * at % 97));
    explain(&plant);
    cr_assert_str_eq(plant.said.pattern.words,
                     "rows 64 .. 69, all columns: the last, partial tile of "
                     "64");
    SAYS(plant.said.cause, "predicate of an edge tile");
    for (int64_t at = 0; at < 70 * 64; at++)
        put(&plant, at,
            plant.reference.ref[at] + ((at % 70 / 16 + at / 70 / 16) % 3 == 0
                                           ? 50 + (double)(at * at % 97)
                                           : 0));
    explain(&plant);
    SAYS(plant.said.pattern.words, "7 whole tiles of 16 x 16, ");
    cr_assert_eq(plant.said.pattern.tile, 16);
    plant_free(&plant);
}

Test(explain, the_worst_eight_in_order)
{
    struct plant plant;

    plant_make(&plant, product_of("f32", "f32", "nn", 8, 8, 16), "exact");
    for (int64_t at = 0; at < 20; at++)
        put(&plant, at,
            plant.reference.ref[at] + (double)(1 + at * 7 % 20) * 0x1p10);
    put(&plant, 13, NAN);
    explain(&plant);
    cr_assert_eq(plant.said.worst_count, 8);
    cr_assert_eq(plant.said.worst[0].index, 13, "NaN is the worst");
    cr_assert_eq(plant.said.pattern.count, 20);
    cr_assert_eq(plant.said.not_finite, 1);
    for (int w = 2; w < 8; w++) {
        const struct gp_element *a = &plant.said.worst[w - 1];
        const struct gp_element *b = &plant.said.worst[w];
        cr_assert_geq(fabs(a->got - a->ref) / a->limit,
                      fabs(b->got - b->ref) / b->limit);
    }
    plant_free(&plant);
}

Test(explain, poison_that_was_read)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 16);
    uint32_t untouched = UINT32_MAX;
    struct plant plant;

    plant_make(&plant, gemm, "dense");
    for (int64_t at = 0; at < 64; at++)
        put(&plant, at, NAN);
    SAYS(explain(&plant), "D before (which beta = 0 must not read)");
    cr_assert_not(strstr(plant.said.cause, "padding"), "there is none");
    for (size_t at = 0; at < 64; at++)
        memcpy(plant.output + 4 * at, &untouched, 4);
    SAYS(explain(&plant), "64 wrong elements are as D was before the product: "
                          "never written");
    plant_free(&plant);
}

Test(explain, batches)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 16);
    struct plant plant;

    gemm.batch = 4;
    plant_make(&plant, gemm, "dense");
    for (int64_t at = 64; at < 256; at++)
        put(&plant, at, plant.reference.ref[at % 64]);
    SAYS(explain(&plant),
         "every batch holds the results of batch 0 in all 192");
    cr_assert_str_eq(plant.said.pattern.words,
                     "all rows, all columns of batches 1 .. 3");
    plant_free(&plant);
}

Test(explain, how_repeats_differ)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 4, 4, 4);
    float one[16], two[16];
    uint32_t payload = 0x7fc00001;
    struct gp_variation said;

    for (int i = 0; i < 16; i++)
        one[i] = two[i] = (float)i - 8;
    one[8] = 0;
    two[8] = -0.0f;
    two[1] = nextafterf(one[1], 0);
    two[2] = nextafterf(nextafterf(one[2], -9), -9);
    one[3] = NAN;
    memcpy(&two[3], &payload, 4);
    two[4] = INFINITY;
    gp_vary(&gemm, one, two, &said);
    cr_assert_eq(said.numbers, 2);
    cr_assert_eq(said.most_ulps, 2);
    cr_assert_eq(said.zeros, 1);
    cr_assert_eq(said.payloads, 1);
    cr_assert_eq(said.not_finite, 1);
    cr_assert_eq(said.pattern.count, 5);
    SAYS(said.words, "5 of 16 elements differ by up to 2 ulp");
}
