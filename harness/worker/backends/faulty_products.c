/* Wrong products: terms lost or counted twice, operands read from the wrong
 * place or with too few bits, factors applied wrongly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/worker/backends/faulty.h"

/* --- Ranges of k ---------------------------------------------------------- */

/* The product of one batch over `count` positions of k from `from`. */
static struct gp_host_product part_of(const struct gp_host_product *whole,
                                      int64_t batch, int64_t from,
                                      int64_t count)
{
    const struct gp_gemm *gemm = &whole->gemm;
    struct gp_host_product part = *whole;
    int64_t a = batch * gp_gemm_stride(gemm, GP_A);
    int64_t b = batch * gp_gemm_stride(gemm, GP_B);
    int64_t d = batch * gp_gemm_stride(gemm, GP_C);

    a += gemm->trans_a ? from : from * gemm->lda;
    b += gemm->trans_b ? from * gemm->ldb : from;
    part.gemm.batch = 1;
    part.gemm.k = count;
    part.a = (const unsigned char *)whole->a + (size_t)a * gemm->in->bytes;
    part.b = (const unsigned char *)whole->b + (size_t)b * gemm->in->bytes;
    part.d = (unsigned char *)whole->d + (size_t)d * gemm->out->bytes;
    return part;
}

/* The same of all batches, added to what stands in D if `more`. */
static int range(struct gp_host *host, const struct gp_host_product *product,
                 int64_t from, int64_t count, bool more, struct gp_err *err)
{
    for (int64_t batch = 0; batch < product->gemm.batch; batch++) {
        struct gp_host_product part = part_of(product, batch, from, count);
        if (more)
            part.gemm.beta = 1;
        if (gp_host_naive(host, &part, err) != 0)
            return -1;
    }
    return 0;
}

static int drop_last_k(struct gp_host *host,
                       const struct gp_host_product *product,
                       struct gp_err *err)
{
    int64_t k = product->gemm.k;

    return range(host, product, 0, k > 1 ? k - 1 : k, false, err);
}

static int drop_first_k(struct gp_host *host,
                        const struct gp_host_product *product,
                        struct gp_err *err)
{
    int64_t skip = product->gemm.k > 1;

    return range(host, product, skip, product->gemm.k - skip, false, err);
}

/* Seen in the field: where k = 8 modulo 64, the last 8 products are lost. */
static int drop_k_tail(struct gp_host *host,
                       const struct gp_host_product *product,
                       struct gp_err *err)
{
    int64_t k = product->gemm.k, lost = k > 8 && k % 64 == 8 ? 8 : 0;

    return range(host, product, 0, k - lost, false, err);
}

/* The loop over k does whole tiles of `number` only. */
static int drop_k_rest(struct gp_host *host,
                       const struct gp_host_product *product,
                       struct gp_err *err)
{
    int64_t k = product->gemm.k, tile = (int64_t)gp_faulty_number(host);

    return range(host, product, 0, k > tile ? k / tile * tile : k, false, err);
}

/* The loop over k does whole tiles of 8 and reads beyond the last position. */
static int read_beyond_k(struct gp_host *host,
                         const struct gp_host_product *product,
                         struct gp_err *err)
{
    return range(host, product, 0, (product->gemm.k + 7) / 8 * 8, false, err);
}

/* Two slices of a split k overlap. */
static int double_k_chunk(struct gp_host *host,
                          const struct gp_host_product *product,
                          struct gp_err *err)
{
    int64_t k = product->gemm.k, chunk = k < 32 ? k : 32;

    return range(host, product, 0, k, false, err) ||
                   range(host, product, k / 2 / chunk * chunk, chunk, true, err)
               ? -1
               : 0;
}

/* Partial sums over 8 positions, held in a narrower type. */
static int narrow_partials(struct gp_host *host,
                           const struct gp_host_product *product, int precision,
                           int emin, struct gp_err *err)
{
    const struct gp_type *out = product->gemm.out;
    int64_t k = product->gemm.k;

    for (int64_t from = 0; from < k; from += 8) {
        if (range(host, product, from, k - from < 8 ? k - from : 8, from > 0,
                  err) != 0)
            return -1;
        for (int64_t i = 0; i < gp_gemm_count(&host->job.gemm, GP_C); i++) {
            double x;
            gp_type_load(out, gp_faulty_d(host, i), &x, 1);
            x = gp_round_to(x, precision, emin);
            gp_type_store(out, &x, gp_faulty_d(host, i), 1);
        }
    }
    return 0;
}

static int f16_partials(struct gp_host *host,
                        const struct gp_host_product *product,
                        struct gp_err *err)
{
    return narrow_partials(host, product, 11, -14, err);
}

static int f32_partials(struct gp_host *host,
                        const struct gp_host_product *product,
                        struct gp_err *err)
{
    return narrow_partials(host, product, 24, -126, err);
}

/* --- Operands with too few bits ------------------------------------------- */

/* Round the laid out operands; restore_inputs brings them back from the packed
 * originals, so that the audit of inputs stays clean. */
static void round_inputs(struct gp_host *host, int precision)
{
    const struct gp_gemm *gemm = &host->job.gemm;

    for (enum gp_operand which = GP_A; which <= GP_B; which++)
        for (int64_t i = 0; i < gp_gemm_count(gemm, which); i++) {
            double x = gp_type_value(
                gemm->in,
                gp_type_bits(gemm->in, host->matrix[which].packed, i));
            x = gp_round_to(x, precision, -126);
            gp_type_store(gemm->in, &x,
                          host->matrix[which].data +
                              (size_t)gp_gemm_place(gemm, which, i) *
                                  gemm->in->bytes,
                          1);
        }
}

static void tf32_inputs(struct gp_host *host, struct gp_host_product *product)
{
    (void)product;
    round_inputs(host, 11);
}

static void bf16_inputs(struct gp_host *host, struct gp_host_product *product)
{
    (void)product;
    round_inputs(host, 8);
}

static void fp32_inputs(struct gp_host *host, struct gp_host_product *product)
{
    (void)product;
    round_inputs(host, 24);
}

static void restore_inputs(struct gp_host *host,
                           const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    size_t bytes = gemm->in->bytes;

    (void)product;
    for (enum gp_operand which = GP_A; which <= GP_B; which++)
        for (int64_t i = 0; i < gp_gemm_count(gemm, which); i++)
            memcpy(host->matrix[which].data +
                       (size_t)gp_gemm_place(gemm, which, i) * bytes,
                   (unsigned char *)host->matrix[which].packed +
                       (size_t)i * bytes,
                   bytes);
}

/* --- Operands from the wrong place ---------------------------------------- */

static void swap_op(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    if (product->gemm.m == product->gemm.k)
        product->gemm.trans_a = !product->gemm.trans_a;
}

static void ignore_ld(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.lda = gp_gemm_rows(&product->gemm, GP_A);
}

static void one_batch(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.batch = 1;
}

static void copy_batch(struct gp_host *host,
                       const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    size_t each = (size_t)gp_gemm_stride(gemm, GP_C) * gemm->out->bytes;

    (void)product;
    for (int64_t batch = 1; batch < gemm->batch; batch++)
        memcpy(host->matrix[GP_C].data + (size_t)batch * each,
               host->matrix[GP_C].data, each);
}

/* The stride of A is one element short. */
static int batch_stride_off(struct gp_host *host,
                            const struct gp_host_product *product,
                            struct gp_err *err)
{
    const struct gp_gemm *gemm = &product->gemm;

    for (int64_t batch = 0; batch < gemm->batch; batch++) {
        struct gp_host_product part = part_of(product, batch, 0, gemm->k);
        part.a =
            (const unsigned char *)part.a - (size_t)batch * gemm->in->bytes;
        if (gp_host_naive(host, &part, err) != 0)
            return -1;
    }
    return 0;
}

/* --- Factors -------------------------------------------------------------- */

static void ignore_beta(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.beta = 0;
}

static void beta_twice(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.beta *= product->gemm.beta;
}

static void alpha_ignored(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.alpha = 1;
}

static void alpha_twice(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.alpha *= product->gemm.alpha;
}

/* The factors are handed on in a narrower type: FP16, of FP64 in FP32. */
static void narrow_factors(struct gp_host *host,
                           struct gp_host_product *product)
{
    bool wide = product->gemm.in->bytes == 8;

    (void)host;
    product->gemm.alpha =
        gp_round_to(product->gemm.alpha, wide ? 24 : 11, -126);
    product->gemm.beta = gp_round_to(product->gemm.beta, wide ? 24 : 11, -126);
}

static void factors_swapped(struct gp_host *host,
                            struct gp_host_product *product)
{
    double alpha = product->gemm.alpha;

    (void)host;
    product->gemm.alpha = product->gemm.beta;
    product->gemm.beta = alpha;
}

/* With beta = 0, what stood in D must not be read. */
static void stale_c(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    if (product->gemm.beta == 0)
        product->gemm.beta = 1;
}

/* --- The output's last rounding ------------------------------------------- */

/* Toward zero instead of to nearest, for 16-bit results with beta = 0: the
 * product in FP32 first, then cut. */
static int truncate_output(struct gp_host *host,
                           const struct gp_host_product *product,
                           struct gp_err *err)
{
    const struct gp_gemm *gemm = &product->gemm;
    const struct gp_type *out = gemm->out;
    struct gp_host_product wide = *product;
    size_t count = (size_t)(gemm->m * gemm->n * gemm->batch);
    float *sums;

    if (out->bytes != 2 || gemm->beta != 0 || host->job.gemm.row_major)
        return gp_host_naive(host, product, err);
    sums = malloc(count * sizeof *sums);
    if (!sums)
        return gp_err_set(err, GP_ERR_SYSTEM, "no memory for the sums");
    wide.gemm.out = gp_type_find("f32");
    wide.gemm.ldc = gemm->m;
    wide.d = sums;
    if (gp_host_naive(host, &wide, err) != 0) {
        free(sums);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        double x = (double)sums[i];
        uint16_t bits;
        gp_type_store(out, &x, &bits, 1);
        bits -= fabs(gp_type_value(out, bits)) > fabs(x);
        gp_faulty_put(host, (int64_t)i, bits);
    }
    free(sums);
    return 0;
}

const struct gp_faulty_sin gp_faulty_products[] = {
    {.name = "drop-last-k", .multiply = drop_last_k},
    {.name = "drop-first-k", .multiply = drop_first_k},
    {.name = "drop-k-tail-8", .multiply = drop_k_tail},
    {.name = "drop-k-mod-8", .multiply = drop_k_rest, .number = 8},
    {.name = "drop-k-mod-32", .multiply = drop_k_rest, .number = 32},
    {.name = "drop-k-mod-64", .multiply = drop_k_rest, .number = 64},
    {.name = "read-beyond-k", .multiply = read_beyond_k},
    {.name = "double-k-chunk", .multiply = double_k_chunk},
    {.name = "f16-partials", .multiply = f16_partials},
    {.name = "f32-partials", .multiply = f32_partials},
    {.name = "tf32-inputs", .before = tf32_inputs, .after = restore_inputs},
    {.name = "bf16-inputs", .before = bf16_inputs, .after = restore_inputs},
    {.name = "fp32-inputs", .before = fp32_inputs, .after = restore_inputs},
    {.name = "swap-op", .before = swap_op},
    {.name = "ignore-ld", .before = ignore_ld},
    {.name = "batch-zero", .before = one_batch, .after = copy_batch},
    {.name = "batch-stride-off", .multiply = batch_stride_off},
    {.name = "ignore-beta", .before = ignore_beta},
    {.name = "beta-twice", .before = beta_twice},
    {.name = "alpha-ignored", .before = alpha_ignored},
    {.name = "alpha-twice", .before = alpha_twice},
    {.name = "narrow-factors", .before = narrow_factors},
    {.name = "factors-swapped", .before = factors_swapped},
    {.name = "stale-c", .before = stale_c},
    {.name = "truncate-output", .multiply = truncate_output},
    {.name = NULL},
};
