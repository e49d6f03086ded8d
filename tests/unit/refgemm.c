/* The reference against a product by definition. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/refgemm.h"
#include "tests/unit/product.h"
#include "tests/unit/whole_sum.h"

__extension__ typedef __int128 whole;

static void make(struct gp_reference *reference, const struct gp_gemm *gemm,
                 const char *family)
{
    struct gp_err err = {0};

    cr_assert_eq(
        gp_reference_make(reference, gemm, gp_family_find(family), 7, &err), 0,
        "%s", err.text);
}

/* alpha AB + beta C of one element less what the reference says, from the
 * packed operands and without rounding; and G, to a few last places. The
 * factors are multiples of 1/4. */
static double error_of(const struct gp_reference *reference, int64_t i,
                       int64_t j, int64_t b, double *ret_magnitude)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t at = i + j * gemm->m + b * gemm->m * gemm->n;
    int alpha = (int)(4 * gemm->alpha), beta = (int)(4 * gemm->beta);
    struct whole_sum sum = {.adds = 0}, size = {.adds = 0};

    for (int64_t l = 0; l < gemm->k; l++) {
        double x = product_element(gemm, GP_A, reference->a, i, l, b) / 4;
        double y = product_element(gemm, GP_B, reference->b, l, j, b);
        whole_sum_product(&sum, x, y, alpha);
        whole_sum_product(&size, fabs(x), fabs(y), abs(alpha));
    }
    if (beta != 0) {
        double c = product_element(gemm, GP_C, reference->c, i, j, b) / 4;
        whole_sum_product(&sum, c, 1, beta);
        whole_sum_product(&size, fabs(c), 1, abs(beta));
    }
    whole_sum_product(&sum, reference->ref[at], 1, -1);
    if (reference->low)
        whole_sum_product(&sum, reference->low[at], 1, -1);
    *ret_magnitude = whole_sum_about(&size);
    return whole_sum_about(&sum);
}

static void check_element(const struct gp_reference *reference, int64_t i,
                          int64_t j, int64_t b)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t at = i + j * gemm->m + b * gemm->m * gemm->n;
    double size, error = fabs(error_of(reference, i, j, b, &size));
    double mag = reference->mag[at];
    /* sgemm's error twice (its own and the inflation for it), and rounding
     * up of a, b and the result. */
    double slack = (2 * (double)gemm->k + 16) * 0x1p-24;

    if (error > reference->error_rel * size * (1 + 0x1p-40))
        cr_assert_fail("(%d, %d) of %d: %a is %a off", (int)i, (int)j, (int)b,
                       reference->ref[at], error);
    if (mag < size * (1 - 0x1p-50) || mag > size * (1 + slack) + 0x1p-100)
        cr_assert_fail("(%d, %d) of %d: G is %a, the magnitude %a", (int)i,
                       (int)j, (int)b, mag, size);
}

static void check_all(const struct gp_gemm *gemm, const char *family)
{
    struct gp_reference reference = {0};
    double need = gp_reference_bytes(gemm);

    make(&reference, gemm, family);
    cr_assert((reference.c == NULL) == (gemm->beta == 0));
    for (int64_t b = 0; b < gemm->batch; b++)
        for (int64_t j = 0; j < gemm->n; j++)
            for (int64_t i = 0; i < gemm->m; i++)
                check_element(&reference, i, j, b);
    if (strcmp(family, "exact") == 0)
        cr_assert_eq(reference.error_rel, 0);
    else if (gemm->out->bytes == 8)
        cr_assert(reference.error_rel > 0 && reference.error_rel < 0x1p-80);
    else
        cr_assert_eq(reference.error_rel, ((double)gemm->k + 4) * 0x1p-53);
    cr_assert_geq(need, (double)gp_gemm_count(gemm, GP_C) * 12);
    gp_reference_free(&reference);
    cr_assert_null(reference.ref);
}

static const struct {
    const char *in, *out;
} pairs[] = {{"f32", "f32"}, {"f64", "f64"},   {"f16", "f16"},
             {"f16", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"}};
static const char *const ops[] = {"nn", "nt", "tn", "tt"};
static const double factors[][2] = {{1, 0},  {1, 1},    {1.5, -0.5},
                                    {-2, 0}, {0, 0.25}, {0, 0}};

Test(refgemm, every_op_type_and_factor)
{
    for (int p = 0; p < 6; p++)
        for (int o = 0; o < 4; o++)
            for (int f = 0; f < 6; f++) {
                struct gp_gemm gemm =
                    product_of(pairs[p].in, pairs[p].out, ops[o], 7 + o, 5, 33);
                gemm.alpha = factors[f][0];
                gemm.beta = factors[f][1];
                gemm.batch = 1 + f % 3;
                product_ld(&gemm, f); /* packed operands do not know it */
                gemm.row_major = o & 1;
                product_ld(&gemm, f);
                check_all(&gemm, "dense");
                check_all(&gemm, "exact");
            }
}

Test(refgemm, awkward_shapes)
{
    static const int64_t sizes[][3] = {{1, 1, 1},    {1, 1, 5000}, {17, 1, 300},
                                       {1, 19, 257}, {33, 31, 2},  {16, 48, 16},
                                       {5, 3, 65536}};

    for (int s = 0; s < 7; s++)
        for (int o = 0; o < 4; o++) {
            struct gp_gemm gemm =
                product_of(o & 1 ? "f64" : "f32", o & 1 ? "f64" : "f32", ops[o],
                           sizes[s][0], sizes[s][1], sizes[s][2]);
            check_all(&gemm, "dense");
        }
}

/* The operands are the family's values under every op, stored exactly. */
Test(refgemm, operands_are_the_familys)
{
    double column[64];

    for (int p = 0; p < 6; p++)
        for (int o = 0; o < 4; o++) {
            struct gp_reference reference = {0};
            struct gp_gemm gemm =
                product_of(pairs[p].in, pairs[p].out, ops[o], 19, 33, 17);
            gemm.batch = 2;
            gemm.beta = 1;
            make(&reference, &gemm, "dense");
            for (int operand = 0; operand < 3; operand++) {
                const void *packed[] = {reference.a, reference.b, reference.c};
                int64_t rows = operand == GP_B ? 17 : 19;
                int64_t cols = operand == GP_A ? 17 : 33;
                const struct gp_family_args args = {
                    &gemm, 7, (enum gp_operand)operand, 1};
                for (int64_t j = 0; j < cols; j++) {
                    gp_family_find("dense")->column(&args, j, column);
                    for (int64_t i = 0; i < rows; i++)
                        if (product_element(&gemm, (enum gp_operand)operand,
                                            packed[operand], i, j,
                                            1) != column[i])
                            cr_assert_fail("%s %s operand %d (%d, %d)",
                                           pairs[p].in, ops[o], operand, (int)i,
                                           (int)j);
                }
            }
            gp_reference_free(&reference);
        }
}

Test(refgemm, the_largest_of_each_operand_is_known)
{
    struct gp_gemm gemm = product_of("f32", "f32", "tn", 20, 30, 40);
    struct gp_reference reference = {0};
    double a = 0, b = 0;

    gemm.batch = 3;
    make(&reference, &gemm, "dense");
    for (int64_t at = 0; at < 20 * 40 * 3; at++)
        a = fmax(a, fabs((double)((float *)reference.a)[at]));
    for (int64_t at = 0; at < 30 * 40 * 3; at++)
        b = fmax(b, fabs((double)((float *)reference.b)[at]));
    cr_assert_eq(reference.data.max_a, a);
    cr_assert_eq(reference.data.max_b, b);
    gp_reference_free(&reference);
}

/* Whole numbers: the sum in 128 bits, times alpha and beta in eighths. */
Test(refgemm, exact_is_exact)
{
    for (int p = 0; p < 6; p++)
        for (int o = 0; o < 4; o++) {
            struct gp_reference reference = {0};
            struct gp_gemm gemm =
                product_of(pairs[p].in, pairs[p].out, ops[o], 9, 8, 700 + o);
            gemm.alpha = o & 1 ? 1.5 : 1;
            gemm.beta = o & 2 ? -0.125 : 0;
            gemm.batch = 2;
            make(&reference, &gemm, "exact");
            for (int64_t at = 0; at < 9 * 8 * 2; at++) {
                int64_t i = at % 9, j = at / 9 % 8, batch = at / 72;
                whole sum = 0, c = 0;
                for (int64_t l = 0; l < gemm.k; l++)
                    sum += (whole)product_element(&gemm, GP_A, reference.a, i,
                                                  l, batch) *
                           (whole)product_element(&gemm, GP_B, reference.b, l,
                                                  j, batch);
                if (gemm.beta != 0)
                    c = (whole)product_element(&gemm, GP_C, reference.c, i, j,
                                               batch);
                sum =
                    (whole)(8 * gemm.alpha) * sum + (whole)(8 * gemm.beta) * c;
                if (reference.ref[at] * 8 != (double)sum ||
                    gp_type_round(gemm.out, reference.ref[at]) !=
                        reference.ref[at])
                    cr_assert_fail("%s %s at %d: %a", pairs[p].in, ops[o],
                                   (int)at, reference.ref[at]);
            }
            gp_reference_free(&reference);
        }
}

/* FP64 results reach beyond the range of FP32. So must G, or the bound of
 * every element is infinite, or as large as the smallest float; else the
 * problem must be refused. */
static void check_far(double alpha)
{
    struct gp_gemm gemm = product_of("f64", "f64", "nn", 4, 4, 16);
    struct gp_reference reference = {0};
    struct gp_err err = {0};

    gemm.alpha = alpha;
    if (gp_reference_make(&reference, &gemm, gp_family_find("dense"), 7,
                          &err) != 0) {
        cr_assert_eq(err.kind, GP_ERR_UNSUPPORTED, "%s", err.text);
        gp_reference_free(&reference);
        return;
    }
    for (int64_t at = 0; at < 16; at++) {
        double mag = reference.mag[at], size = 0;
        for (int64_t l = 0; l < 16; l++)
            size +=
                fabs(product_element(&gemm, GP_A, reference.a, at % 4, l, 0) *
                     product_element(&gemm, GP_B, reference.b, l, at / 4, 0));
        size *= alpha;
        cr_assert(mag >= size && mag <= size * 1.001,
                  "alpha %a: G is %a, the magnitude %a", alpha, mag, size);
    }
    gp_reference_free(&reference);
}

Test(refgemm, magnitudes_far_above_the_range_of_f32)
{
    check_far(0x1p200);
}

Test(refgemm, magnitudes_far_below_the_range_of_f32)
{
    check_far(0x1p-200);
}

Test(refgemm, too_large_is_an_ordinary_error)
{
    struct gp_gemm gemm =
        product_of("f32", "f32", "nn", 1 << 20, 1 << 20, 1 << 20);
    struct gp_reference reference = {0};
    struct gp_err err = {0};

    cr_assert_eq(
        gp_reference_make(&reference, &gemm, gp_family_find("dense"), 1, &err),
        -1);
    cr_assert_eq(err.kind, GP_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.text, "GiB"), "%s", err.text);
    gp_reference_free(&reference);
    /* Operands, reference and magnitudes of 2^40 elements each. */
    cr_assert_geq(gp_reference_bytes(&gemm), 0x1p40 * (4 + 4 + 8 + 4));
    gemm = product_of("f32", "f32", "nn", 1, 1, (1 << 23) + 1);
    cr_assert_eq(
        gp_reference_make(&reference, &gemm, gp_family_find("dense"), 1, &err),
        -1);
    cr_assert_eq(err.kind, GP_ERR_UNSUPPORTED);
    gp_reference_free(&reference);
}

Test(refgemm, the_library_names_itself)
{
    struct gp_reference_library library = {0};

    gp_reference_set_threads(1);
    gp_reference_library(&library);
    cr_assert_eq(library.threads, 1);
    cr_assert_eq(strncmp(library.config, "OpenBLAS ", 9), 0);
    cr_assert(*library.kernel);
}
