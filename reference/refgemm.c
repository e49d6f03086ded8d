#include "reference/refgemm.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/base/hash.h"
#include "harness/base/shm.h"
#include "reference/certificate.h"

/* What lives only while a reference is made: op(A) and op(B) of one batch, in
 * double and as magnitudes. */
struct scratch {
    double *a, *b, *column;
    float *abs_a, *abs_b, *sums;
};

static void scratch_free(struct scratch *scratch)
{
    gp_matrix_free(scratch->a);
    gp_matrix_free(scratch->b);
    gp_matrix_free(scratch->column);
    gp_matrix_free(scratch->abs_a);
    gp_matrix_free(scratch->abs_b);
    gp_matrix_free(scratch->sums);
}

static int64_t longest(const struct gp_gemm *gemm)
{
    int64_t most = gemm->m > gemm->k ? gemm->m : gemm->k;

    return most > gemm->n ? most : gemm->n;
}

static int scratch_make(struct scratch *scratch, const struct gp_gemm *gemm,
                        struct gp_err *err)
{
    const struct {
        void **at;
        double count;
        size_t bytes;
    } parts[] = {
        {(void **)&scratch->a, (double)gemm->m * (double)gemm->k, 8},
        {(void **)&scratch->b, (double)gemm->k * (double)gemm->n, 8},
        {(void **)&scratch->column, (double)longest(gemm), 8},
        {(void **)&scratch->abs_a, (double)gemm->m * (double)gemm->k, 4},
        {(void **)&scratch->abs_b, (double)gemm->k * (double)gemm->n, 4},
        {(void **)&scratch->sums, (double)gemm->m * (double)gemm->n, 4},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (gp_matrix_alloc(parts[i].at,
                            (size_t)parts[i].count * parts[i].bytes,
                            "the reference", err) != 0)
            return -1;
    return 0;
}

double gp_reference_bytes(const struct gp_gemm *gemm)
{
    double a = (double)gemm->m * (double)gemm->k;
    double b = (double)gemm->k * (double)gemm->n;
    double c = (double)gemm->m * (double)gemm->n;
    double batch = (double)gemm->batch, in = (double)gemm->in->bytes;
    double operands = batch * ((a + b) * in + c * (double)gemm->out->bytes);

    /* kept; scratch; and once more the operands and an output, shared */
    return 2 * operands + batch * c * (8 + 8 + (double)gemm->out->bytes) +
           (a + b) * 12 + c * 4;
}

/* Store op(X), `rows` x `cols` column-major doubles, packed in its type and
 * stored shape: transposed if `trans`, in squares that stay in cache. */
static void store_operand(const struct gp_type *type, const double *from,
                          int64_t rows, int64_t cols, bool trans, void *to,
                          double *line)
{
    enum { SQUARE = 16 };
    unsigned char *at = to;

    if (!trans) {
        gp_type_store(type, from, to, rows * cols);
        return;
    }
    for (int64_t i0 = 0; i0 < rows; i0 += SQUARE) {
        int64_t i1 = i0 + SQUARE < rows ? i0 + SQUARE : rows;
        for (int64_t i = i0; i < i1; i++) {
            for (int64_t j = 0; j < cols; j++)
                line[j] = from[i + j * rows];
            gp_type_store(type, line, at + (size_t)(i * cols) * type->bytes,
                          cols);
        }
    }
}

static double fill(const struct gp_reference *reference, enum gp_operand which,
                   int64_t batch, int64_t rows, int64_t cols, double *to)
{
    const struct gp_family_args args = {&reference->gemm, reference->seed,
                                        which, batch};
    double most = 0;

    for (int64_t j = 0; j < cols; j++)
        reference->family->column(&args, j, to + j * rows);
    for (int64_t i = 0; i < rows * cols; i++)
        most = fabs(to[i]) > most ? fabs(to[i]) : most;
    return most;
}

static float round_up(double x)
{
    float f = (float)x;

    return (double)f < x ? nextafterf(f, INFINITY) : f;
}

static void magnitudes(const double *from, float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = round_up(fabs(from[i]));
}

/* alpha AB + beta C and its magnitude, by our own arithmetic. The sums of
 * magnitudes are up to k u too small and may have lost what underflows. */
static void epilogue(struct gp_reference *reference, const struct scratch *in,
                     int64_t batch)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t each = gemm->m * gemm->n;
    double *ref = reference->ref + batch * each;
    double *mag = reference->mag + batch * each;
    double up = 1 / (1 - (double)gemm->k * 0x1p-24);
    double lost = (double)gemm->k * 0x1p-126, alpha = gemm->alpha;
    const struct gp_family_args args = {gemm, reference->seed, GP_C, batch};

    for (int64_t j = 0; j < gemm->n; j++) {
        if (gemm->beta != 0)
            reference->family->column(&args, j, in->column);
        for (int64_t i = 0; i < gemm->m; i++) {
            int64_t at = i + j * gemm->m;
            double s = ((double)in->sums[at] * up + lost) * (1 + 0x1p-50);
            double c = gemm->beta != 0 ? gemm->beta * in->column[i] : 0;
            ref[at] = gemm->beta != 0 ? alpha * ref[at] + c : alpha * ref[at];
            mag[at] = (fabs(alpha) * s + fabs(c)) * (1 + 0x1p-50);
        }
        if (gemm->beta != 0)
            gp_type_store(gemm->out, in->column,
                          (unsigned char *)reference->c +
                              (size_t)(batch * each + j * gemm->m) *
                                  gemm->out->bytes,
                          gemm->m);
    }
}

/* FP64 operands with all their bits have products that FP64 rounds. */
static bool is_exact(const struct gp_reference *reference)
{
    return reference->family->sums_exact &&
           !(reference->family->one_term && reference->gemm.in->bytes == 8);
}

/* A product that fails its certificate judges nothing. */
static int certify(const struct gp_reference *reference,
                   const struct scratch *scratch, int64_t batch,
                   struct gp_err *err)
{
    const struct gp_gemm *gemm = &reference->gemm;
    struct gp_certificate certificate = {
        .m = gemm->m,
        .n = gemm->n,
        .k = gemm->k,
        .a = scratch->a,
        .b = scratch->b,
        .c = reference->ref + batch * gemm->m * gemm->n,
        .sums = scratch->sums,
        .seed = gp_hash_mix(reference->seed + (uint64_t)batch),
        .alone = openblas_get_num_threads() > 1,
    };

    if (reference->family->grid)
        reference->family->grid(gemm, &certificate.grid_a, &certificate.grid_b);
    if (gp_certificate_sums(&certificate, err) == 0 &&
        (is_exact(reference) ? gp_certificate_exact(&certificate, err)
                             : gp_certificate_rounded(&certificate, err)) == 0)
        return 0;
    if (err->kind != GP_ERR_BACKEND)
        return -1;
    return gp_err_prefix(err,
                         "the reference is wrong, so nothing is judged by it: "
                         "OpenBLAS's kernel %s with %d threads fails its "
                         "certificate (choose another kernel with "
                         "OPENBLAS_CORETYPE): ",
                         openblas_get_corename(), openblas_get_num_threads());
}

static int make_batch(struct gp_reference *reference,
                      const struct scratch *scratch, int64_t batch,
                      struct gp_err *err)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t m = gemm->m, n = gemm->n, k = gemm->k;
    size_t bytes = gemm->in->bytes;
    struct gp_bound_data *data = &reference->data;

    data->max_a =
        fmax(data->max_a, fill(reference, GP_A, batch, m, k, scratch->a));
    data->max_b =
        fmax(data->max_b, fill(reference, GP_B, batch, k, n, scratch->b));
    store_operand(gemm->in, scratch->a, m, k, gemm->trans_a,
                  (unsigned char *)reference->a +
                      (size_t)(batch * m * k) * bytes,
                  scratch->column);
    store_operand(gemm->in, scratch->b, k, n, gemm->trans_b,
                  (unsigned char *)reference->b +
                      (size_t)(batch * k * n) * bytes,
                  scratch->column);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)m,
                (blasint)n, (blasint)k, 1, scratch->a, (blasint)m, scratch->b,
                (blasint)k, 0, reference->ref + batch * m * n, (blasint)m);
    magnitudes(scratch->a, scratch->abs_a, m * k);
    magnitudes(scratch->b, scratch->abs_b, k * n);
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)m,
                (blasint)n, (blasint)k, 1, scratch->abs_a, (blasint)m,
                scratch->abs_b, (blasint)k, 0, scratch->sums, (blasint)m);
    if (certify(reference, scratch, batch, err) != 0)
        return -1;
    epilogue(reference, scratch, batch);
    return 0;
}

static int allocate(struct gp_reference *reference, struct gp_err *err)
{
    const struct gp_gemm *gemm = &reference->gemm;
    double need = gp_reference_bytes(gemm);
    double have = (double)gp_memory_available_bytes();
    size_t results = (size_t)gp_gemm_count(gemm, GP_C);

    if (need > have)
        return gp_err_set(err, GP_ERR_SYSTEM,
                          "this problem needs %.1f GiB of memory and %.1f GiB "
                          "are free: choose a smaller one",
                          need / 0x1p30, have / 0x1p30);
    if (gp_matrix_alloc(&reference->a,
                        (size_t)gp_gemm_count(gemm, GP_A) * gemm->in->bytes,
                        "operand A", err) != 0 ||
        gp_matrix_alloc(&reference->b,
                        (size_t)gp_gemm_count(gemm, GP_B) * gemm->in->bytes,
                        "operand B", err) != 0 ||
        gp_matrix_alloc((void **)&reference->ref, results * 8, "the reference",
                        err) != 0 ||
        gp_matrix_alloc((void **)&reference->mag, results * 8, "the magnitudes",
                        err) != 0)
        return -1;
    if (gemm->beta != 0)
        return gp_matrix_alloc(&reference->c, results * gemm->out->bytes,
                               "operand C", err);
    return 0;
}

int gp_reference_make(struct gp_reference *reference,
                      const struct gp_gemm *gemm,
                      const struct gp_family *family, uint64_t seed,
                      struct gp_err *err)
{
    struct scratch scratch = {0};
    struct timespec from, to;
    int status;

    *reference =
        (struct gp_reference){.gemm = *gemm, .family = family, .seed = seed};
    if (gemm->k > 1 << 23)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "k = %lld: magnitudes are summed in FP32, which "
                          "bounds k by 8388608",
                          (long long)gemm->k);
    clock_gettime(CLOCK_MONOTONIC, &from);
    status = allocate(reference, err) || scratch_make(&scratch, gemm, err);
    for (int64_t batch = 0; !status && batch < gemm->batch; batch++)
        status = make_batch(reference, &scratch, batch, err);
    scratch_free(&scratch);
    /* k products and k - 1 sums, then alpha, beta and one more sum: at most
     * (k + 4) u G to first order and beyond. Exact sums meet alpha and beta in
     * at most three roundings; none in the exact families. */
    reference->error_rel =
        family->exact
            ? 0
            : ((is_exact(reference) ? 0 : (double)gemm->k) + 4) * 0x1p-53;
    clock_gettime(CLOCK_MONOTONIC, &to);
    reference->seconds = (double)(to.tv_sec - from.tv_sec) +
                         1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    return status ? -1 : 0;
}

void gp_reference_free(struct gp_reference *reference)
{
    gp_matrix_free(reference->a);
    gp_matrix_free(reference->b);
    gp_matrix_free(reference->c);
    gp_matrix_free(reference->ref);
    gp_matrix_free(reference->mag);
    memset(reference, 0, sizeof *reference);
}

void gp_reference_library(struct gp_reference_library *ret_library)
{
    snprintf(ret_library->config, sizeof ret_library->config, "%s",
             openblas_get_config());
    snprintf(ret_library->kernel, sizeof ret_library->kernel, "%s",
             openblas_get_corename());
    ret_library->threads = openblas_get_num_threads();
}

void gp_reference_set_threads(int threads)
{
    openblas_set_num_threads(threads);
}
