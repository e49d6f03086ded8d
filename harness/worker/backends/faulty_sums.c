/* Wrong sums of single elements: terms lost or read elsewhere, products and
 * partial sums that are narrower or rounded otherwise than promised. */
#include "harness/worker/backends/faulty_sums.h"

#include <math.h>

#include "harness/base/shm.h"

/* --- The driver ----------------------------------------------------------- */

/* Row `at` of op(A) or column `at` of op(B): value l is at `first + l*step`. */
static void gather(const struct gp_type *type, const void *from, int64_t first,
                   int64_t step, int64_t k, double *to)
{
    for (int64_t l = 0; l < k; l++)
        to[l] = gp_type_value(type, gp_type_bits(type, from, first + l * step));
}

static void gather_all(const struct gp_gemm *gemm, const void *a, const void *b,
                       double *rows, double *columns)
{
    for (int64_t i = 0; i < gemm->m; i++)
        gather(gemm->in, a, gemm->trans_a ? i * gemm->lda : i,
               gemm->trans_a ? 1 : gemm->lda, gemm->k, rows + i * gemm->k);
    for (int64_t j = 0; j < gemm->n; j++)
        gather(gemm->in, b, gemm->trans_b ? j : j * gemm->ldb,
               gemm->trans_b ? gemm->ldb : 1, gemm->k, columns + j * gemm->k);
}

static double epilogue(const struct gp_gemm *gemm, double sum, double c)
{
    if (gemm->in->bytes == 8)
        return gemm->beta == 0 ? gemm->alpha * sum
                               : gemm->alpha * sum + gemm->beta * c;
    if (gemm->beta == 0)
        return (double)((float)gemm->alpha * (float)sum);
    return (double)((float)gemm->alpha * (float)sum +
                    (float)gemm->beta * (float)c);
}

static void multiply_one(struct gp_faulty_element *e, const double *rows,
                         const double *columns, unsigned char *d,
                         gp_faulty_sum *sum)
{
    const struct gp_gemm *gemm = e->gemm;
    const struct gp_type *out = gemm->out;

    for (e->j = 0; e->j < gemm->n; e->j++)
        for (e->i = 0; e->i < gemm->m; e->i++) {
            int64_t at = e->i + e->j * gemm->ldc;
            double c = 0, x;
            e->a = rows + e->i * gemm->k;
            e->b = columns + e->j * gemm->k;
            if (gemm->beta != 0)
                c = gp_type_value(out, gp_type_bits(out, d, at));
            x = epilogue(gemm, sum(e), c);
            gp_type_store(out, &x, d + (size_t)at * out->bytes, 1);
        }
}

int gp_faulty_multiply(struct gp_host *host,
                       const struct gp_host_product *product,
                       gp_faulty_sum *sum, struct gp_err *err)
{
    const struct gp_gemm *gemm = &product->gemm;
    struct gp_faulty_element e = {.gemm = gemm,
                                  .repeat = product->repeat,
                                  .number = gp_faulty_number(host)};
    size_t in = gemm->in->bytes, out = gemm->out->bytes;
    void *space = NULL;
    double *columns;

    if (gp_matrix_alloc(
            &space, (size_t)((gemm->m + gemm->n) * gemm->k) * sizeof(double),
            "the operands as doubles", err) != 0)
        return -1;
    columns = (double *)space + gemm->m * gemm->k;
    for (e.batch = 0; e.batch < gemm->batch; e.batch++) {
        gather_all(gemm,
                   (const unsigned char *)product->a +
                       (size_t)(e.batch * gp_gemm_stride(gemm, GP_A)) * in,
                   (const unsigned char *)product->b +
                       (size_t)(e.batch * gp_gemm_stride(gemm, GP_B)) * in,
                   space, columns);
        multiply_one(&e, space, columns,
                     (unsigned char *)product->d +
                         (size_t)(e.batch * gp_gemm_stride(gemm, GP_C)) * out,
                     sum);
    }
    gp_matrix_free(space);
    return 0;
}

double gp_faulty_cut(double x, int precision)
{
    int exponent;
    double fraction = frexp(x, &exponent);

    if (!isfinite(x))
        return x;
    return ldexp(trunc(ldexp(fraction, precision)), exponent - precision);
}

/* One chain of multiply-adds from `from` up to `to`, as the plain product has
 * it. */
static double chain(const struct gp_faulty_element *e, int64_t from, int64_t to)
{
    double wide = 0;
    float narrow = 0;

    if (e->gemm->in->bytes == 8) {
        for (int64_t l = from; l < to; l++)
            wide += e->a[l] * e->b[l];
        return wide;
    }
    for (int64_t l = from; l < to; l++)
        narrow += (float)e->a[l] * (float)e->b[l];
    return (double)narrow;
}

static double add(const struct gp_faulty_element *e, double x, double y)
{
    return e->gemm->in->bytes == 8 ? x + y : (double)((float)x + (float)y);
}

/* --- Terms ---------------------------------------------------------------- */

/* Of all k products one is lost, in the middle. */
static double drop_one(const struct gp_faulty_element *e)
{
    int64_t k = e->gemm->k;

    return add(e, chain(e, 0, k / 2), chain(e, k / 2 + 1, k));
}

/* The pipeline's last copy of A came too late: the 32 positions from the
 * middle on meet the values of the 32 before. */
static double stale_chunk(const struct gp_faulty_element *e)
{
    int64_t k = e->gemm->k, half = k / 2, end = half + 32 < k ? half + 32 : k;
    struct gp_faulty_element stale = *e;

    if (half < 32)
        return chain(e, 0, k);
    stale.a = e->a - 32;
    return add(e, add(e, chain(e, 0, half), chain(&stale, half, end)),
               chain(e, end, k));
}

/* The last accumulator of a tile is not cleared between the tiles: from the
 * second repeat on it begins with what the first product left. */
static double not_cleared(const struct gp_faulty_element *e)
{
    double sum = chain(e, 0, e->gemm->k);

    return e->repeat > 0 ? add(e, sum, e->a[0] * e->b[0]) : sum;
}

/* Sums meet in the order in which they are done, another one each time. */
static double any_order(const struct gp_faulty_element *e)
{
    int64_t k = e->gemm->k, at = 1 + e->repeat * 7 % (k > 1 ? k - 1 : 1);

    return add(e, chain(e, at < k ? at : k, k), chain(e, 0, at < k ? at : k));
}

/* At one repeat the last column is summed before its first 8 products are
 * there. */
static double race(const struct gp_faulty_element *e)
{
    int64_t k = e->gemm->k;
    bool early = e->repeat == 5 && e->j == e->gemm->n - 1 && k > 8;

    return chain(e, early ? 8 : 0, k);
}

/* Zeros are skipped, and with them 0 times NaN and 0 times infinity. */
static double skip_zeros(const struct gp_faulty_element *e)
{
    double wide = 0;
    float narrow = 0;

    for (int64_t l = 0; l < e->gemm->k; l++)
        if (e->a[l] != 0 && e->b[l] != 0) {
            wide += e->a[l] * e->b[l];
            narrow += (float)e->a[l] * (float)e->b[l];
        }
    return e->gemm->in->bytes == 8 ? wide : (double)narrow;
}

/* Operands below the smallest normal number are read as 0. */
static double flush_operands(const struct gp_faulty_element *e)
{
    double least = ldexp(1, e->gemm->in->emin), wide = 0;
    float narrow = 0;

    for (int64_t l = 0; l < e->gemm->k; l++)
        if (!(fabs(e->a[l]) < least) && !(fabs(e->b[l]) < least)) {
            wide += e->a[l] * e->b[l];
            narrow += (float)e->a[l] * (float)e->b[l];
        }
    return e->gemm->in->bytes == 8 ? wide : (double)narrow;
}

/* --- Partial sums --------------------------------------------------------- */

/* k in `number` chunks, each summed in FP32 and handed on in FP16 (of BF16
 * results: in BF16); the halves meet in FP32. */
static double narrow_splits(const struct gp_faulty_element *e)
{
    const struct gp_type *type =
        gp_type_find(e->gemm->in->precision == 8 ? "bf16" : "f16");
    int64_t k = e->gemm->k, splits = (int64_t)e->number;
    int64_t chunk = (k + splits - 1) / splits;
    double sum = 0;

    for (int64_t from = 0; from < k; from += chunk)
        sum =
            add(e, sum,
                gp_type_round(
                    type, chain(e, from, from + chunk < k ? from + chunk : k)));
    return sum;
}

/* The accumulator itself is narrow: every step is rounded to FP16 (of BF16
 * operands: to BF16). */
static double narrow_accumulator(const struct gp_faulty_element *e)
{
    const struct gp_type *type =
        gp_type_find(e->gemm->in->precision == 8 ? "bf16" : "f16");
    double sum = 0;

    for (int64_t l = 0; l < e->gemm->k; l++)
        sum = gp_type_round(type, sum + e->a[l] * e->b[l]);
    return sum;
}

/* Products rounded, sums cut: a tensor core's addition where the mode promises
 * rounding to nearest. */
static double cut_sums(const struct gp_faulty_element *e)
{
    int precision = e->gemm->in->bytes == 8 ? 53 : 24;
    double sum = 0;

    for (int64_t l = 0; l < e->gemm->k; l++)
        sum =
            precision == 53
                ? sum + e->a[l] * e->b[l]
                : gp_faulty_cut(sum + (double)((float)e->a[l] * (float)e->b[l]),
                                precision);
    return sum;
}

static double cut_products(const struct gp_faulty_element *e)
{
    float sum = 0;

    for (int64_t l = 0; l < e->gemm->k; l++)
        sum += (float)gp_faulty_cut(e->a[l] * e->b[l], 24);
    return (double)sum;
}

/* --- The last rounding ---------------------------------------------------- */

/* Twice: first to two bits more than the output has. */
static double round_twice(const struct gp_faulty_element *e)
{
    return gp_round_to(chain(e, 0, e->gemm->k), e->gemm->out->precision + 2,
                       -1000);
}

/* The sum is rounded to the output type before the factors are applied. */
static double round_early(const struct gp_faulty_element *e)
{
    return gp_type_round(e->gemm->out, chain(e, 0, e->gemm->k));
}

#define SIN(word, function, value)                                             \
    {                                                                          \
        .name = (word), .sum = (function), .number = (value)                   \
    }

const struct gp_faulty_sin gp_faulty_sums[] = {
    SIN("drop-one-k", drop_one, 0),
    SIN("stale-k-chunk", stale_chunk, 0),
    SIN("not-cleared", not_cleared, 0),
    SIN("any-order", any_order, 0),
    SIN("race", race, 0),
    SIN("skip-zeros", skip_zeros, 0),
    SIN("flush-operands", flush_operands, 0),
    SIN("f16-split-2", narrow_splits, 2),
    SIN("f16-split-4", narrow_splits, 4),
    SIN("f16-split-8", narrow_splits, 8),
    SIN("f16-accumulator", narrow_accumulator, 0),
    SIN("cut-sums", cut_sums, 0),
    SIN("cut-products", cut_products, 0),
    SIN("round-twice", round_twice, 0),
    SIN("round-early", round_early, 0),
    {.name = NULL},
};
