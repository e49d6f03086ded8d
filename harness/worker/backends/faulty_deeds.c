/* A right product, and then: results moved or overwritten, memory touched that
 * is not D's, another answer at another repeat, and ways to die. */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/worker/backends/faulty.h"

static int64_t count_of(const struct gp_host *host)
{
    return gp_gemm_count(&host->job.gemm, GP_C);
}

static uint64_t bits_of(const struct gp_host *host, int64_t index)
{
    return gp_type_bits(host->job.gemm.out, gp_faulty_d(host, index), 0);
}

/* --- Results in the wrong place, or not there ----------------------------- */

static void transposed_result(struct gp_host *host,
                              const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    int64_t m = gemm->m;

    (void)product;
    if (m != gemm->n)
        return;
    for (int64_t at = 0; at < count_of(host); at++) {
        int64_t i = at % m, j = at / m % m, other = at + (i - j) * (m - 1);
        uint64_t bits = bits_of(host, at);
        if (i <= j)
            continue;
        gp_faulty_put(host, at, bits_of(host, other));
        gp_faulty_put(host, other, bits);
    }
}

/* Row i has what row i + 1 should. */
static void row_shift(struct gp_host *host,
                      const struct gp_host_product *product)
{
    (void)product;
    for (int64_t at = 0; at < count_of(host); at++)
        if (at % host->job.gemm.m + 1 < host->job.gemm.m)
            gp_faulty_put(host, at, bits_of(host, at + 1));
}

/* The tile of rows 16 to 31 and columns 0 to 15 has the results of the one
 * above it. */
static void wrong_tile(struct gp_host *host,
                       const struct gp_host_product *product)
{
    int64_t m = host->job.gemm.m, n = host->job.gemm.n;

    (void)product;
    for (int64_t at = 0; at < m * n; at++)
        if (at % m >= 16 && at % m < 32 && at / m < 16)
            gp_faulty_put(host, at, bits_of(host, at - 16));
}

static void last_row_zero(struct gp_host *host,
                          const struct gp_host_product *product)
{
    int64_t m = host->job.gemm.m;

    (void)product;
    for (int64_t at = m - 1; at < count_of(host); at += m)
        gp_faulty_put(host, at, 0);
}

static void skip_last(struct gp_host *host,
                      const struct gp_host_product *product)
{
    (void)product;
    gp_faulty_put(host, count_of(host) - 1, UINT64_MAX);
}

static void skip_row(struct gp_host *host,
                     const struct gp_host_product *product)
{
    int64_t m = host->job.gemm.m;

    (void)product;
    for (int64_t at = m / 2; at < count_of(host); at += m)
        gp_faulty_put(host, at, UINT64_MAX);
}

/* The results of the first two products of a batch are each other's. */
static void batch_swapped(struct gp_host *host,
                          const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    int64_t each = gemm->m * gemm->n;

    (void)product;
    for (int64_t at = 0; at < each && gemm->batch > 1; at++) {
        uint64_t bits = bits_of(host, at);
        gp_faulty_put(host, at, bits_of(host, at + each));
        gp_faulty_put(host, at + each, bits);
    }
}

/* The last product of a batch is not done. */
static void skip_batch(struct gp_host *host,
                       const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;

    (void)product;
    for (int64_t at = count_of(host) - gemm->m * gemm->n; at < count_of(host);
         at++)
        gp_faulty_put(host, at, UINT64_MAX);
}

/* With beta, C stays in the first tile of 16 x 16. */
static void tile_keeps_c(struct gp_host *host,
                         const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;

    (void)product;
    for (int64_t at = 0; gemm->beta != 0 && at < gemm->m * gemm->n; at++)
        if (at % gemm->m < 16 && at / gemm->m < 16)
            gp_faulty_put(
                host, at,
                gp_type_bits(gemm->out, host->matrix[GP_C].packed, at));
}

/* D is written as if its columns stood side by side. */
static void ignore_ldc(struct gp_host *host,
                       const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    unsigned char *d = host->matrix[GP_C].data;

    (void)product;
    for (int64_t at = 0; at < gemm->m * gemm->n; at++)
        memmove(d + (size_t)at * gemm->out->bytes, gp_faulty_d(host, at),
                gemm->out->bytes);
}

/* --- One wrong element ---------------------------------------------------- */

static void one_ulp(struct gp_host *host, const struct gp_host_product *product)
{
    int64_t at = count_of(host) / 2;

    (void)product;
    gp_faulty_put(host, at, bits_of(host, at) + 1);
}

static void nan_leak(struct gp_host *host,
                     const struct gp_host_product *product)
{
    double nan_value = NAN;

    (void)product;
    gp_type_store(host->job.gemm.out, &nan_value,
                  gp_faulty_d(host, count_of(host) / 2), 1);
}

/* --- Special values ------------------------------------------------------- */

static double value_of(const struct gp_host *host, int64_t index)
{
    return gp_type_value(host->job.gemm.out, bits_of(host, index));
}

static void put_value(struct gp_host *host, int64_t index, double x)
{
    gp_type_store(host->job.gemm.out, &x, gp_faulty_d(host, index), 1);
}

/* As a maximum with 0 does it. */
static void swallow_nan(struct gp_host *host,
                        const struct gp_host_product *product)
{
    (void)product;
    for (int64_t at = 0; at < count_of(host); at++)
        if (isnan(value_of(host, at)))
            put_value(host, at, 0);
}

/* Where a row has a NaN, the next one has it too. */
static void nan_leak_row(struct gp_host *host,
                         const struct gp_host_product *product)
{
    int64_t m = host->job.gemm.m;

    (void)product;
    for (int64_t at = count_of(host) - 2; at >= 0; at--)
        if (at % m + 1 < m && isnan(value_of(host, at)))
            put_value(host, at + 1, NAN);
}

/* The largest number instead of infinity. */
static void saturate(struct gp_host *host,
                     const struct gp_host_product *product)
{
    double largest = gp_type_largest(host->job.gemm.out);

    (void)product;
    for (int64_t at = 0; at < count_of(host); at++)
        if (isinf(value_of(host, at)))
            put_value(host, at, copysign(largest, value_of(host, at)));
}

/* A NaN instead of infinity. */
static void inf_is_nan(struct gp_host *host,
                       const struct gp_host_product *product)
{
    (void)product;
    for (int64_t at = 0; at < count_of(host); at++)
        if (isinf(value_of(host, at)))
            put_value(host, at, NAN);
}

/* Results below the smallest normal number become 0. */
static void flush_results(struct gp_host *host,
                          const struct gp_host_product *product)
{
    double least = ldexp(1, host->job.gemm.out->emin);

    (void)product;
    for (int64_t at = 0; at < count_of(host); at++)
        if (fabs(value_of(host, at)) < least)
            put_value(host, at, 0);
}

/* --- Memory that is not D's ----------------------------------------------- */

static void write_before(struct gp_host *host,
                         const struct gp_host_product *product)
{
    (void)product;
    host->matrix[GP_C].base[GP_GUARD_BYTES - 1] = 0;
}

static void write_guard(struct gp_host *host,
                        const struct gp_host_product *product)
{
    struct gp_host_matrix *d = &host->matrix[GP_C];

    (void)product;
    d->data[d->bytes] = 0;
}

static void pad(struct gp_host *host, enum gp_operand which)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    int64_t tight = gp_gemm_tight_ld(gemm, which);

    if (gp_gemm_ld(gemm, which) > tight)
        host->matrix[which]
            .data[(size_t)tight * gp_gemm_type(gemm, which)->bytes] = 0;
}

static void write_padding(struct gp_host *host,
                          const struct gp_host_product *product)
{
    (void)product;
    pad(host, GP_C);
}

static void write_padding_a(struct gp_host *host,
                            const struct gp_host_product *product)
{
    (void)product;
    pad(host, GP_A);
}

static void write_input(struct gp_host *host,
                        const struct gp_host_product *product)
{
    if (product->last)
        host->matrix[GP_B].data[0] ^= 1;
}

/* The last element of A, where no repeat can show it in a result. */
static void write_input_a(struct gp_host *host,
                          const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    int64_t last = gp_gemm_count(gemm, GP_A) - 1;

    if (product->last)
        host->matrix[GP_A]
            .data[(size_t)gp_gemm_place(gemm, GP_A, last) * gemm->in->bytes] ^=
            1;
}

/* --- Another answer at another repeat ------------------------------------- */

static void flip(struct gp_host *host)
{
    *gp_faulty_d(host, count_of(host) / 2) ^= 1;
}

static void flip_bit(struct gp_host *host,
                     const struct gp_host_product *product)
{
    if (product->repeat == 7)
        flip(host);
}

static void first_repeat(struct gp_host *host,
                         const struct gp_host_product *product)
{
    if (product->repeat == 0)
        flip(host);
}

static void every_other_repeat(struct gp_host *host,
                               const struct gp_host_product *product)
{
    if (product->repeat % 2)
        flip(host);
}

static void last_repeat(struct gp_host *host,
                        const struct gp_host_product *product)
{
    if (product->last)
        flip(host);
}

/* A NaN each time, but of another payload: equal to those who print it. */
static void payload_nan(struct gp_host *host,
                        const struct gp_host_product *product)
{
    int64_t at = count_of(host) / 2;

    nan_leak(host, product);
    gp_faulty_put(host, at,
                  bits_of(host, at) + (uint64_t)(product->repeat % 3));
}

/* --- Ways to die ---------------------------------------------------------- */

static void die_kill(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    (void)product;
    raise(SIGKILL);
}

static void die_crash(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    (void)product;
    abort();
}

static void die_hang(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    (void)product;
    for (;;)
        pause();
}

const struct gp_faulty_sin gp_faulty_deeds[] = {
    {.name = "transposed-result", .after = transposed_result},
    {.name = "row-shift", .after = row_shift},
    {.name = "wrong-tile", .after = wrong_tile},
    {.name = "last-row-zero", .after = last_row_zero},
    {.name = "skip-last", .after = skip_last},
    {.name = "skip-row", .after = skip_row},
    {.name = "batch-swapped", .after = batch_swapped},
    {.name = "skip-batch", .after = skip_batch},
    {.name = "tile-keeps-c", .after = tile_keeps_c},
    {.name = "ignore-ldc", .after = ignore_ldc},
    {.name = "one-ulp", .after = one_ulp},
    {.name = "nan-leak", .after = nan_leak},
    {.name = "swallow-nan", .after = swallow_nan},
    {.name = "nan-leak-row", .after = nan_leak_row},
    {.name = "saturate", .after = saturate},
    {.name = "inf-is-nan", .after = inf_is_nan},
    {.name = "flush-results", .after = flush_results},
    {.name = "write-before", .after = write_before},
    {.name = "write-guard", .after = write_guard},
    {.name = "write-padding", .after = write_padding},
    {.name = "write-padding-a", .after = write_padding_a},
    {.name = "write-input", .after = write_input},
    {.name = "write-input-a", .after = write_input_a},
    {.name = "flip-bit", .after = flip_bit},
    {.name = "first-repeat", .after = first_repeat},
    {.name = "every-other-repeat", .after = every_other_repeat},
    {.name = "last-repeat", .after = last_repeat},
    {.name = "payload-nan", .after = payload_nan},
    {.name = "none"}, /* the plain product: must raise nothing */
    {.name = "die-kill", .before = die_kill},
    {.name = "die-crash", .before = die_crash},
    {.name = "die-hang", .before = die_hang},
    {.name = "die-garbage"}, /* answers hello with something else */
    {.name = "die-hello"},   /* exits instead of answering hello */
    {.name = NULL},
};
