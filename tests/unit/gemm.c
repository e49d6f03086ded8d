/* Places, strides and limits of a product. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/product.h"

/* Rows and columns of op(X), of the notation in reference/gemm.h. */
static int64_t op_rows(const struct gp_gemm *gemm, enum gp_operand which)
{
    return which == GP_B ? gemm->k : gemm->m;
}

static int64_t op_cols(const struct gp_gemm *gemm, enum gp_operand which)
{
    return which == GP_A ? gemm->k : gemm->n;
}

static bool transposed(const struct gp_gemm *gemm, enum gp_operand which)
{
    return (which == GP_A && gemm->trans_a) || (which == GP_B && gemm->trans_b);
}

/* Walk op(X) by (i, j, batch): where it is packed and where it is laid out,
 * by the definition; all places distinct and inside. */
static void check_places(const struct gp_gemm *gemm, enum gp_operand which)
{
    bool trans = transposed(gemm, which);
    int64_t m = op_rows(gemm, which), n = op_cols(gemm, which);
    int64_t rows = trans ? n : m, cols = trans ? m : n;
    int64_t ld = gp_gemm_ld(gemm, which);
    int64_t stride = ld * (gemm->row_major ? rows : cols);
    char *taken = calloc((size_t)(stride * gemm->batch), 1);

    cr_assert_eq(gp_gemm_rows(gemm, which), rows);
    cr_assert_eq(gp_gemm_cols(gemm, which), cols);
    cr_assert_eq(gp_gemm_stride(gemm, which), stride);
    cr_assert_eq(gp_gemm_count(gemm, which), m * n * gemm->batch);
    for (int64_t b = 0; b < gemm->batch; b++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                int64_t r = trans ? j : i, c = trans ? i : j;
                int64_t packed = r + c * rows + b * rows * cols;
                int64_t place =
                    b * stride + (gemm->row_major ? c + r * ld : r + c * ld);
                if (gp_gemm_place(gemm, which, packed) != place ||
                    place >= stride * gemm->batch || taken[place]++)
                    cr_assert_fail("operand %d, (%d, %d) of %d: %d, not %d",
                                   (int)which, (int)i, (int)j, (int)b,
                                   (int)gp_gemm_place(gemm, which, packed),
                                   (int)place);
            }
    free(taken);
}

Test(gemm, places_in_every_layout)
{
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    static const int64_t pads[] = {0, 1, 8};

    for (int op = 0; op < 4; op++)
        for (int row = 0; row < 2; row++)
            for (int p = 0; p < 3; p++)
                for (int64_t batch = 1; batch < 4; batch += 2) {
                    struct gp_gemm gemm =
                        product_of("f32", "f32", ops[op], 3, 5, 7);
                    gemm.row_major = row;
                    gemm.batch = batch;
                    product_ld(&gemm, pads[p]);
                    for (enum gp_operand which = GP_A; which <= GP_C; which++)
                        check_places(&gemm, which);
                }
}

Test(gemm, each_operand_has_its_own_ld_and_type)
{
    struct gp_gemm gemm = product_of("f16", "f32", "nt", 3, 5, 7);

    gemm.lda = 30;
    gemm.ldb = 50;
    gemm.ldc = 70;
    cr_assert_eq(gp_gemm_ld(&gemm, GP_A), 30);
    cr_assert_eq(gp_gemm_ld(&gemm, GP_B), 50);
    cr_assert_eq(gp_gemm_ld(&gemm, GP_C), 70);
    cr_assert_eq(gp_gemm_stride(&gemm, GP_B), 50 * 7);
    cr_assert_eq(gp_gemm_type(&gemm, GP_A), gemm.in);
    cr_assert_eq(gp_gemm_type(&gemm, GP_B), gemm.in);
    cr_assert_eq(gp_gemm_type(&gemm, GP_C), gemm.out);
    for (enum gp_operand which = GP_A; which <= GP_C; which++)
        check_places(&gemm, which);
}

Test(gemm, tight_leading_dimensions)
{
    /* nt: A is 3 x 7, B is 5 x 7, D is 3 x 5. */
    struct gp_gemm gemm = product_of("f32", "f32", "nt", 3, 5, 7);

    cr_assert_eq(gp_gemm_tight_ld(&gemm, GP_A), 3);
    cr_assert_eq(gp_gemm_tight_ld(&gemm, GP_B), 5);
    cr_assert_eq(gp_gemm_tight_ld(&gemm, GP_C), 3);
    gemm.row_major = true;
    cr_assert_eq(gp_gemm_tight_ld(&gemm, GP_A), 7);
    cr_assert_eq(gp_gemm_tight_ld(&gemm, GP_B), 7);
    cr_assert_eq(gp_gemm_tight_ld(&gemm, GP_C), 5);
}

Test(gemm, flops_do_not_overflow)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 3, 5, 7);

    gemm.batch = 4;
    cr_assert_eq(gp_gemm_flops(&gemm), 2.0 * 3 * 5 * 7 * 4);
    gemm.m = gemm.n = gemm.k = INT32_MAX;
    cr_assert_float_eq(gp_gemm_flops(&gemm) / 0x1p96, 1, 1e-8);
}

/* Is it refused, with one usage sentence that holds `word`? */
static void refused(const struct gp_gemm *gemm, const char *word)
{
    struct gp_err err = {0};

    cr_assert_eq(gp_gemm_check(gemm, &err), -1, "%s", word);
    cr_assert_eq(err.kind, GP_ERR_USAGE);
    cr_assert_not_null(strstr(err.text, word), "'%s' has no '%s'", err.text,
                       word);
}

static void accepted(const struct gp_gemm *gemm)
{
    struct gp_err err = {0};

    cr_assert_eq(gp_gemm_check(gemm, &err), 0, "%s", err.text);
}

Test(gemm, sizes_at_their_limits)
{
    const struct gp_gemm good = product_of("f32", "f32", "nn", 3, 5, 7);
    struct gp_gemm gemm = good;
    int64_t *const sizes[] = {&gemm.m, &gemm.n, &gemm.k, &gemm.batch};
    static const char *const names[] = {"m = ", "n = ", "k = ", "batch = "};
    static const int64_t wrong[] = {0, -1, INT64_C(1) << 31, INT64_MAX,
                                    INT64_MIN};

    accepted(&gemm);
    for (int s = 0; s < 4; s++)
        for (int w = 0; w < 5; w++) {
            gemm = good;
            *sizes[s] = wrong[w];
            if (wrong[w] == 0 && s < 3) /* an empty product, or beta C */
                accepted(&gemm);
            else
                refused(&gemm, names[s]);
        }
    gemm = product_of("f32", "f32", "nn", 1, 1, INT32_MAX);
    accepted(&gemm);
    gemm = product_of("f32", "f32", "nn", INT32_MAX, 1, 1);
    accepted(&gemm);
    gemm = product_of("f32", "f32", "nn", 1, 1, 1);
    gemm.batch = INT32_MAX;
    accepted(&gemm);
}

Test(gemm, leading_dimensions_at_their_limits)
{
    const struct gp_gemm good = product_of("f32", "f32", "nt", 3, 5, 7);
    struct gp_gemm gemm = good;
    int64_t *const lds[] = {&gemm.lda, &gemm.ldb, &gemm.ldc};
    static const char *const names[] = {" of A ", " of B ", " of C "};

    for (int o = 0; o < 3; o++) {
        static const int64_t wrong[] = {0, -1, INT64_MIN, INT64_MAX};
        for (int w = 0; w < 4; w++) {
            gemm = good;
            *lds[o] = wrong[w];
            refused(&gemm, names[o]);
        }
        gemm = good;
        *lds[o] -= 1;
        refused(&gemm, names[o]);
        gemm = good;
        *lds[o] = INT64_C(1) << 40; /* times 7 or 5 columns: below 2^46 */
        accepted(&gemm);
        *lds[o] += 1;
        refused(&gemm, names[o]);
    }
}

Test(gemm, matrices_of_2_to_the_46_elements_and_no_more)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 1, 64, 1);

    gemm.ldc = INT64_C(1) << 40;
    accepted(&gemm);
    gemm.n = 65;
    refused(&gemm, "C has more than 2^46 elements");
    gemm = product_of("f32", "f32", "nn", 1, 1, 1);
    gemm.lda = INT64_C(1) << 40;
    gemm.batch = 64;
    accepted(&gemm);
    gemm.batch = 65;
    refused(&gemm, "A has more than 2^46 elements");
    /* Products that overflow 64 bits are too many as well. */
    gemm = product_of("f32", "f32", "nn", INT32_MAX, INT32_MAX, INT32_MAX);
    refused(&gemm, "A has more than 2^46 elements");
    gemm.batch = INT32_MAX;
    refused(&gemm, "A has more than 2^46 elements");
}
