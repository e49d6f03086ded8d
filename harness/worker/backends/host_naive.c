/* The plain product, in one file so that its arithmetic can be read at once. */
#include "harness/worker/backends/host.h"

#include <string.h>

#include "harness/base/shm.h"

/* Element (i, l) of op(X) as a double. */
static double element(const struct gp_type *type, const unsigned char *data,
                      int64_t ld, bool trans, int64_t i, int64_t j)
{
    int64_t at = trans ? j + i * ld : i + j * ld;

    return gp_type_value(type, gp_type_bits(type, data, at));
}

static void store(const struct gp_type *type, void *d, int64_t at, double x)
{
    gp_type_store(type, &x, (unsigned char *)d + (size_t)at * type->bytes, 1);
}

/* One row of op(A) is loaded once, columns of op(B) once for all rows. */
static double chain(const double *a, const double *b, int64_t k, bool wide)
{
    double sum = 0;
    float narrow = 0;

    if (wide) {
        for (int64_t l = 0; l < k; l++)
            sum += a[l] * b[l];
        return sum;
    }
    for (int64_t l = 0; l < k; l++)
        narrow += (float)a[l] * (float)b[l];
    return (double)narrow;
}

static double scaled(const struct gp_gemm *gemm, double sum, double c, bool wide)
{
    if (wide)
        return gemm->beta == 0 ? gemm->alpha * sum
                               : gemm->alpha * sum + gemm->beta * c;
    if (gemm->beta == 0)
        return (double)((float)gemm->alpha * (float)sum);
    return (double)((float)gemm->alpha * (float)sum +
                    (float)gemm->beta * (float)c);
}

static void multiply_batch(const struct gp_gemm *gemm, const unsigned char *a,
                           const unsigned char *b, unsigned char *d,
                           double *rows, double *column)
{
    bool wide = gemm->in->bytes == 8;
    int64_t k = gemm->k;

    for (int64_t i = 0; i < gemm->m; i++)
        for (int64_t l = 0; l < k; l++)
            rows[i * k + l] =
                element(gemm->in, a, gemm->lda, gemm->trans_a, i, l);
    for (int64_t j = 0; j < gemm->n; j++) {
        for (int64_t l = 0; l < k; l++)
            column[l] = element(gemm->in, b, gemm->ldb, gemm->trans_b, l, j);
        for (int64_t i = 0; i < gemm->m; i++) {
            int64_t at = i + j * gemm->ldc;
            double c = gemm->beta == 0
                           ? 0
                           : gp_type_value(gemm->out,
                                           gp_type_bits(gemm->out, d, at));
            double sum = chain(rows + i * k, column, k, wide);
            store(gemm->out, d, at, scaled(gemm, sum, c, wide));
        }
    }
}

int gp_host_naive(struct gp_host *host, const struct gp_host_product *product,
                  struct gp_err *err)
{
    const struct gp_gemm *gemm = &product->gemm;
    size_t in = gemm->in->bytes, out = gemm->out->bytes;
    void *rows = NULL, *column = NULL;

    (void)host;
    if (gp_matrix_alloc(&rows, (size_t)(gemm->m * gemm->k) * sizeof(double),
                        "op(A)", err) != 0 ||
        gp_matrix_alloc(&column, (size_t)gemm->k * sizeof(double),
                        "a column of op(B)", err) != 0) {
        gp_matrix_free(rows);
        return -1;
    }
    for (int64_t batch = 0; batch < gemm->batch; batch++)
        multiply_batch(
            gemm,
            (const unsigned char *)product->a +
                (size_t)(batch * gp_gemm_stride(gemm, GP_A)) * in,
            (const unsigned char *)product->b +
                (size_t)(batch * gp_gemm_stride(gemm, GP_B)) * in,
            (unsigned char *)product->d +
                (size_t)(batch * gp_gemm_stride(gemm, GP_C)) * out,
            rows, column);
    gp_matrix_free(rows);
    gp_matrix_free(column);
    return 0;
}
