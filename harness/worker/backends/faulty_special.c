/* Wrong where numbers are no ordinary ones: NaN, infinities, zeros, subnormal
 * numbers, and products with nothing to sum. */
#include <math.h>
#include <string.h>

#include "harness/worker/backends/faulty.h"

static double value_of(const struct gp_host *host, int64_t index)
{
    double x;

    gp_type_load(host->job.gemm.out, gp_faulty_d(host, index), &x, 1);
    return x;
}

static void put(const struct gp_host *host, int64_t index, double x)
{
    gp_type_store(host->job.gemm.out, &x, gp_faulty_d(host, index), 1);
}

static int64_t count_of(const struct gp_host *host)
{
    return gp_gemm_count(&host->job.gemm, GP_C);
}

/* beta C is added though beta is 0. */
static void zero_times_c(struct gp_host *host,
                         const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    const void *before = host->matrix[GP_C].packed;

    for (int64_t i = 0; before && product->gemm.beta == 0 && i < count_of(host);
         i++)
        put(host, i,
            value_of(host, i) +
                0 * gp_type_value(gemm->out,
                                  gp_type_bits(gemm->out, before, i)));
}

/* alpha op(A) op(B) is added though alpha is 0. */
static void zero_times_ab(struct gp_host *host,
                          const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    double a = 0;

    if (product->gemm.alpha != 0 || gp_gemm_count(gemm, GP_A) == 0)
        return;
    gp_type_load(gemm->in, host->matrix[GP_A].data, &a, 1);
    for (int64_t i = 0; i < count_of(host); i++)
        put(host, i, value_of(host, i) + 0 * a);
}

/* NaN in A becomes infinite, or what it was. */
static void cut(struct gp_host *host, bool back)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    const unsigned char *packed = host->matrix[GP_A].packed;
    size_t bytes = gemm->in->bytes;
    double infinite = (double)INFINITY, x;

    for (int64_t i = 0; i < gp_gemm_count(gemm, GP_A); i++) {
        unsigned char *at = host->matrix[GP_A].data +
                            (size_t)gp_gemm_place(gemm, GP_A, i) * bytes;
        gp_type_load(gemm->in, packed + (size_t)i * bytes, &x, 1);
        if (isnan(x) && back)
            memcpy(at, packed + (size_t)i * bytes, bytes);
        else if (isnan(x))
            gp_type_store(gemm->in, &infinite, at, 1);
    }
}

/* A NaN whose bits are cut to BF16's is an infinity if its payload is low. */
static int cut_payload(struct gp_host *host,
                       const struct gp_host_product *product,
                       struct gp_err *err)
{
    int status;

    cut(host, false);
    status = gp_host_naive(host, product, err);
    cut(host, true);
    return status;
}

/* "Nothing to do" is not true of C. */
static int skip_empty_k(struct gp_host *host,
                        const struct gp_host_product *product,
                        struct gp_err *err)
{
    return product->gemm.k == 0 ? 0 : gp_host_naive(host, product, err);
}

/* A tile is written whatever the sizes. */
static void write_empty(struct gp_host *host,
                        const struct gp_host_product *product)
{
    (void)product;
    if (count_of(host) == 0)
        host->matrix[GP_C].data[0] = 0;
}

/* -0 where nothing is summed. */
static void negative_zero(struct gp_host *host,
                          const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &product->gemm;

    for (int64_t i = 0; i < count_of(host); i++)
        if ((gemm->alpha == 0 || gemm->k == 0) && value_of(host, i) == 0)
            put(host, i, -0.0);
}

/* Results rounded down: no longer the negative of those of -A. */
static void floor_results(struct gp_host *host,
                          const struct gp_host_product *product)
{
    (void)product;
    for (int64_t i = 0; i < count_of(host); i++) {
        double x = value_of(host, i);
        put(host, i, x - gp_type_ulp(host->job.gemm.out, x) * (x < 0));
    }
}

/* One scale for a whole matrix: small results lose bits. */
static void tensor_scale(struct gp_host *host,
                         const struct gp_host_product *product)
{
    double most = 0, unit;

    (void)product;
    for (int64_t i = 0; i < count_of(host); i++)
        most = fmax(most, fabs(value_of(host, i)));
    unit = gp_type_ulp(host->job.gemm.out, most);
    for (int64_t i = 0; i < count_of(host); i++)
        put(host, i, nearbyint(value_of(host, i) / unit) * unit);
}

const struct gp_faulty_sin gp_faulty_special[] = {
    {.name = "floor-results", .after = floor_results},
    {.name = "tensor-scale", .after = tensor_scale},
    {.name = "zero-times-c", .after = zero_times_c},
    {.name = "zero-times-ab", .after = zero_times_ab},
    {.name = "cut-payload", .multiply = cut_payload},
    {.name = "skip-empty-k", .multiply = skip_empty_k},
    {.name = "write-empty", .after = write_empty},
    {.name = "negative-zero", .after = negative_zero},
    {.name = NULL},
};
