/* The families with one possible result by construction: one-hot, product,
 * ones, index and grid. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/product.h"

/* op(A) as m x k or op(B) as k x n of one batch, column by column. */
static double *filled(const struct gp_gemm *gemm, const char *family,
                      enum gp_operand operand, uint64_t seed, int64_t batch)
{
    const struct gp_family_args args = {gemm, seed, operand, batch};
    int64_t rows = operand == GP_A ? gemm->m : gemm->k;
    int64_t cols = operand == GP_A ? gemm->k : gemm->n;
    double *made = calloc((size_t)(rows * cols), sizeof *made);

    for (int64_t j = 0; j < cols; j++)
        gp_family_find(family)->column(&args, j, made + j * rows);
    return made;
}

/* Element l of vector v: of row v of op(A), or of column v of op(B). */
static double at(const struct gp_gemm *gemm, const double *from, bool in_a,
                 int64_t v, int64_t l)
{
    return in_a ? from[v + l * gemm->m] : from[l + v * gemm->k];
}

static const char *const types[] = {"f32", "f64", "f16", "bf16"};
static const int64_t sizes[][3] = {
    {40, 20, 64}, {20, 40, 64}, {1, 1, 1}, {33, 33, 7}, {5, 300, 1000}};

/* All bits of the type are there, the last one set, in +-[1, 2). */
static void check_full(const struct gp_type *type, double x)
{
    double units = ldexp(fabs(x), type->precision - 1);

    cr_assert(fabs(x) >= 1 && fabs(x) < 2, "%a", x);
    cr_assert_eq(units, floor(units));
    cr_assert_eq(fmod(units, 2), 1, "%a as %s has an even last bit", x,
                 type->name);
    cr_assert_eq(gp_type_round(type, x), x);
}

static void check_probe(const struct gp_gemm *gemm, const char *family)
{
    bool in_a = gemm->m >= gemm->n;
    int64_t longer = in_a ? gemm->m : gemm->n;
    int64_t shorter = in_a ? gemm->n : gemm->m;
    double *one = filled(gemm, family, in_a ? GP_A : GP_B, 3, 1);
    double *other = filled(gemm, family, in_a ? GP_B : GP_A, 3, 1);

    cr_assert_eq(gp_family_probe_in_a(gemm), in_a);
    for (int64_t v = 0; v < longer; v++) {
        int64_t found = 0;
        for (int64_t l = 0; l < gemm->k; l++) {
            double x = at(gemm, one, in_a, v, l);
            if (x == 0)
                continue;
            found++;
            check_full(gemm->in, x);
            cr_assert_eq(gp_family_probe_position(gemm, 3, 1, v), l);
        }
        cr_assert_eq(found, 1, "vector %d of %s has %d", (int)v, family,
                     (int)found);
    }
    for (int64_t v = 0; v < shorter; v++)
        for (int64_t l = 0; l < gemm->k; l++) {
            double x = at(gemm, other, !in_a, v, l);
            if (strcmp(family, "product") == 0)
                check_full(gemm->in, x);
            else
                cr_assert_eq(x, 1);
        }
    free(one);
    free(other);
}

Test(family_probe, one_nonzero_a_vector_with_all_its_bits)
{
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < 5; s++) {
            struct gp_gemm gemm =
                product_of(types[t], types[t], "nn", sizes[s][0], sizes[s][1],
                           sizes[s][2]);
            gemm.batch = 2;
            check_probe(&gemm, "one-hot");
            check_probe(&gemm, "product");
        }
}

/* Positions are spread over k, and are others in another batch or seed. */
Test(family_probe, positions_are_spread)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 4096, 8, 64);
    int64_t seen[64] = {0}, same_batch = 0, same_seed = 0;

    for (int64_t v = 0; v < 4096; v++) {
        int64_t l = gp_family_probe_position(&gemm, 1, 0, v);
        cr_assert(l >= 0 && l < 64);
        seen[l]++;
        same_batch += l == gp_family_probe_position(&gemm, 1, 1, v);
        same_seed += l == gp_family_probe_position(&gemm, 2, 0, v);
    }
    for (int l = 0; l < 64; l++)
        cr_assert(seen[l] > 24 && seen[l] < 128, "%d: %d", l, (int)seen[l]);
    cr_assert(same_batch < 200 && same_seed < 200);
}

/* Both signs, and no bit that is always set but the first and the last. */
Test(family_probe, all_bits_occur)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 200);
    double *b = filled(&gemm, "product", GP_B, 1, 0);
    uint32_t any = 0, all = UINT32_MAX;
    int negative = 0;

    for (int i = 0; i < 1600; i++) {
        uint32_t units = (uint32_t)ldexp(fabs(b[i]), 23);
        any |= units;
        all &= units;
        negative += b[i] < 0;
    }
    cr_assert_eq(any, 0xffffffu);
    cr_assert_eq(all, 0x800001u);
    cr_assert(negative > 600 && negative < 1000);
    free(b);
}

/* --- ones ---------------------------------------------------------------- */

Test(family_probe, ones_are_ones_while_the_sum_is_exact)
{
    static const struct {
        const char *in, *out;
        int64_t k;
    } cases[] = {{"f32", "f32", 5000},  {"f64", "f64", 5000},
                 {"f16", "f16", 2047},  {"f16", "f32", 5000},
                 {"bf16", "bf16", 255}, {"bf16", "f32", 5000}};

    for (int c = 0; c < 6; c++) {
        struct gp_gemm gemm =
            product_of(cases[c].in, cases[c].out, "nn", 3, 2, cases[c].k);
        double *a = filled(&gemm, "ones", GP_A, 1, 0);
        double *b = filled(&gemm, "ones", GP_B, 1, 0);
        for (int64_t i = 0; i < 3 * gemm.k; i++)
            cr_assert_eq(a[i], 1);
        for (int64_t i = 0; i < 2 * gemm.k; i++)
            cr_assert_eq(b[i], 1);
        free(a);
        free(b);
    }
}

/* Beyond: magnitudes add up to less than L, and each chunk of 8 positions is
 * seen by some vector. */
static void check_beyond(const char *in, const char *out, int64_t m, int64_t n,
                         int64_t k)
{
    struct gp_gemm gemm = product_of(in, out, "nn", m, n, k);
    bool in_a = m >= n;
    int64_t longer = in_a ? m : n, chunks = (k + 7) / 8;
    double *weights = filled(&gemm, "ones", in_a ? GP_A : GP_B, 1, 0);
    double *other = filled(&gemm, "ones", in_a ? GP_B : GP_A, 1, 0);
    double limit = ldexp(1, gemm.out->precision);
    char *seen = calloc((size_t)chunks, 1);

    for (int64_t v = 0; v < longer; v++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++) {
            double x = fabs(at(&gemm, weights, in_a, v, l));
            cr_assert(x == 0 || x == 1 || x == 2 || x == 3);
            sum += x;
            seen[l / 8] |= x != 0;
        }
        cr_assert(sum > 0 && sum < limit, "vector %d: %g of %g", (int)v, sum,
                  limit);
    }
    for (int64_t chunk = 0; chunk < chunks; chunk++)
        cr_assert(seen[chunk], "%s %dx%dx%d: nobody sees chunk %d", out, (int)m,
                  (int)n, (int)k, (int)chunk);
    for (int64_t i = 0; i < (in_a ? n : m) * k; i++)
        cr_assert_eq(other[i], 1);
    free(weights);
    free(other);
    free(seen);
}

Test(family_probe, ones_beyond_the_exact_sums)
{
    check_beyond("bf16", "bf16", 64, 16, 256);
    check_beyond("bf16", "bf16", 64, 16, 1023);
    check_beyond("bf16", "bf16", 16, 64, 4096);
    check_beyond("bf16", "bf16", 128, 8, 65541);
    check_beyond("f16", "f16", 64, 8, 2048);
    check_beyond("f16", "f16", 8, 128, 65536);
}

/* --- index ---------------------------------------------------------------- */

/* Codes are whole, in the type, in the output, and many. */
Test(family_probe, index_codes)
{
    static const struct {
        const char *in, *out;
        double below;
    } cases[] = {{"f32", "f32", 256},   {"f64", "f64", 0x1p24},
                 {"f16", "f16", 2048},  {"f16", "f32", 2048},
                 {"bf16", "bf16", 256}, {"bf16", "f32", 256}};

    for (int c = 0; c < 6; c++)
        for (int s = 0; s < 5; s++) {
            struct gp_gemm gemm =
                product_of(cases[c].in, cases[c].out, "nn", sizes[s][0],
                           sizes[s][1], sizes[s][2]);
            bool in_a = gemm.m >= gemm.n;
            int64_t longer = in_a ? gemm.m : gemm.n;
            int64_t codes = gemm.k * (in_a ? gemm.n : gemm.m);
            double *one = filled(&gemm, "index", in_a ? GP_A : GP_B, 1, 0);
            double *code = filled(&gemm, "index", in_a ? GP_B : GP_A, 1, 0);
            double least = INFINITY, most = 0;
            for (int64_t v = 0; v < longer; v++) {
                int64_t found = 0;
                for (int64_t l = 0; l < gemm.k; l++) {
                    double x = at(&gemm, one, in_a, v, l);
                    cr_assert(x == 0 || x == 1);
                    found += x == 1;
                }
                cr_assert_eq(found, 1);
            }
            for (int64_t i = 0; i < codes; i++) {
                cr_assert(code[i] >= 1 && code[i] < cases[c].below &&
                          code[i] == floor(code[i]));
                least = fmin(least, code[i]);
                most = fmax(most, code[i]);
            }
            if (codes > 1000)
                cr_assert(least < cases[c].below * 0.05 &&
                          most > cases[c].below * 0.95);
            free(one);
            free(code);
        }
}

/* --- grid ------------------------------------------------------------------
 */

static void check_grid(const struct gp_gemm *gemm)
{
    int grids[2], room = 53;

    gp_family_find("grid")->grid(gemm, &grids[0], &grids[1]);
    while ((INT64_C(1) << (53 - room)) < gemm->k)
        room--;
    cr_assert(grids[0] + grids[1] <= room, "%s k %d: %d + %d > %d",
              gemm->in->name, (int)gemm->k, grids[0], grids[1], room);
    for (int operand = 0; operand < 2; operand++) {
        double *x = filled(gemm, "grid", (enum gp_operand)operand, 5, 0);
        int64_t count = gemm->k * (operand ? gemm->n : gemm->m), narrow = 0;
        double unit = 0;
        for (int64_t i = 0; i < count; i++) {
            double units = ldexp(x[i], grids[operand]);
            cr_assert(fabs(x[i]) <= 1 && units == floor(units));
            cr_assert_eq(gp_type_round(gemm->in, x[i]), x[i]);
            narrow += (double)(float)x[i] == x[i];
            unit += fmod(units, 2) != 0;
        }
        /* Half of the values need the last place of their grid. */
        cr_assert(unit > 0.4 * (double)count && unit < 0.6 * (double)count,
                  "%s operand %d: %g of %d", gemm->in->name, operand, unit,
                  (int)count);
        if (gemm->in->bytes == 8 && operand == 0)
            cr_assert((double)narrow < 0.1 * (double)count,
                      "%d of %d are FP32 numbers", (int)narrow, (int)count);
        free(x);
    }
}

Test(family_probe, grid_sums_are_exact_and_use_all_of_it)
{
    static const int64_t ks[] = {40, 64, 65, 1000, 4096, 4097};

    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 6; i++) {
            struct gp_gemm gemm =
                product_of(types[t], types[t], "nn", 40, 50, ks[i]);
            check_grid(&gemm);
        }
}
