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
#include "reference/pair.h"
#include "reference/special.h"

/* What lives only while a reference is made: op(A) and op(B) of one batch, in
 * double and as magnitudes. */
struct scratch {
    double *a, *b, *column;
    float *abs_a, *abs_b, *sums;
    int exponent;           /* of AB: 2^exponent was left out */
    unsigned char *classes; /* of results with NaN or infinite terms */
};

static void scratch_free(struct scratch *scratch)
{
    gp_matrix_free(scratch->a);
    gp_matrix_free(scratch->b);
    gp_matrix_free(scratch->column);
    gp_matrix_free(scratch->abs_a);
    gp_matrix_free(scratch->abs_b);
    gp_matrix_free(scratch->sums);
    gp_matrix_free(scratch->classes);
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
    double low = gemm->out->bytes == 8 ? 8 : 0;

    /* kept; scratch; and once more the operands and an output, shared */
    return 2 * operands + batch * c * (8 + 8 + low + (double)gemm->out->bytes) +
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

static void fill(const struct gp_reference *reference, enum gp_operand which,
                 int64_t batch, int64_t rows, int64_t cols, double *to)
{
    const struct gp_family_args args = {&reference->gemm, reference->seed,
                                        which, batch};

    for (int64_t j = 0; j < cols; j++)
        reference->family->column(&args, j, to + j * rows);
}

static double largest(double most, const double *of, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        most = fabs(of[i]) > most ? fabs(of[i]) : most;
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

/* FP64 operands with all their bits have products that FP64 rounds. */
static bool is_exact(const struct gp_reference *reference)
{
    return reference->family->sums_exact &&
           !(reference->family->probe && reference->gemm.in->bytes == 8);
}

/* Does AB come as a pair? */
static bool is_pair(const struct gp_reference *reference)
{
    return reference->low && !is_exact(reference);
}

/* |A||B| where sgemm made it: up to k u too small, and without what may have
 * underflowed. */
static double sum_of(const struct gp_gemm *gemm, float sum)
{
    double up = 1 / (1 - (double)gemm->k * 0x1p-24);

    return ((double)sum * up + (double)gemm->k * 0x1p-126) * (1 + 0x1p-50);
}

/* Take NaN and infinities out, and the family's powers of two unless the pair
 * does it. */
static int take_out(struct gp_reference *reference, struct scratch *scratch,
                    struct gp_err *err)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t a = gemm->m * gemm->k, b = gemm->k * gemm->n;
    struct gp_bound_data *data = &reference->data;
    int by_a, by_b;

    gp_matrix_free(scratch->classes);
    scratch->classes = NULL;
    if (reference->family->special &&
        gp_special_strip(gemm, scratch->a, scratch->b, &scratch->classes,
                         err) != 0)
        return -1;
    data->max_a = largest(data->max_a, scratch->a, a);
    data->max_b = largest(data->max_b, scratch->b, b);
    if (!reference->family->scale || is_pair(reference))
        return 0;
    reference->family->scale(gemm, &by_a, &by_b);
    scratch->exponent = by_a + by_b;
    for (int64_t i = 0; i < a; i++)
        scratch->a[i] = scalbn(scratch->a[i], -by_a);
    for (int64_t i = 0; i < b; i++)
        scratch->b[i] = scalbn(scratch->b[i], -by_b);
    return 0;
}

/* alpha AB + beta C in FP64. */
static double finish(const struct gp_gemm *gemm, int exponent, double ab,
                     double beta_c)
{
    ab *= gemm->alpha;
    if (exponent)
        ab = scalbn(ab, exponent);
    return gemm->beta != 0 ? ab + beta_c : ab;
}

/* alpha AB + beta C and its magnitude, by our own arithmetic. Where nothing is
 * summed, the sign of a zero is that of beta C. */
static void epilogue_column(struct gp_reference *reference,
                            const struct scratch *in, const double *c,
                            int64_t at)
{
    const struct gp_gemm *gemm = &reference->gemm;
    double *ref = reference->ref + at, *mag = reference->mag + at;
    double *low = reference->low ? reference->low + at : NULL;
    double alpha = gemm->alpha, beta = gemm->beta;
    bool nothing = gemm->k == 0 || alpha == 0;
    int64_t place = at % (gemm->m * gemm->n);
    const struct gp_pair_scalars scalars = {alpha, beta, in->exponent};

    for (int64_t i = 0; i < gemm->m; i++) {
        double s = is_pair(reference) ? mag[i]
                   : gemm->k == 0     ? 0
                                      : sum_of(gemm, in->sums[place + i]);
        double given = beta != 0 ? c[i] : 0,
               beta_c = beta != 0 ? beta * given : 0;
        if (low)
            ref[i] = gp_pair_finish(&scalars, ref[i], &low[i], given);
        else
            ref[i] = finish(gemm, in->exponent, ref[i], beta_c);
        if (nothing && ref[i] == 0)
            ref[i] = beta_c;
        mag[i] = (fabs(alpha) * s + fabs(beta_c)) * (1 + 0x1p-50);
        if (in->exponent)
            mag[i] = (scalbn(fabs(alpha) * s, in->exponent) + 0x1p-1074 +
                      fabs(beta_c)) *
                     (1 + 0x1p-50);
        if (reference->family->special &&
            gp_special_result(gemm, in->classes ? in->classes[place + i] : 0,
                              given, &ref[i])) {
            reference->special = true;
            mag[i] = 0;
            if (low)
                low[i] = 0;
        }
    }
}

static void epilogue(struct gp_reference *reference, const struct scratch *in,
                     int64_t batch)
{
    const struct gp_gemm *gemm = &reference->gemm;
    const struct gp_family_args args = {gemm, reference->seed, GP_C, batch};

    for (int64_t j = 0; j < gemm->n; j++) {
        int64_t at = (batch * gemm->n + j) * gemm->m;
        if (reference->c) {
            reference->family->column(&args, j, in->column);
            gp_type_store(gemm->out, in->column,
                          (unsigned char *)reference->c +
                              (size_t)at * gemm->out->bytes,
                          gemm->m);
        }
        epilogue_column(reference, in, in->column, at);
    }
}

/* A product that fails its certificate judges nothing. */
static int say_wrong(struct gp_err *err)
{
    if (err->kind != GP_ERR_BACKEND)
        return -1;
    return gp_err_prefix(err,
                         "the reference is wrong, so nothing is judged by it: "
                         "OpenBLAS's kernel %s with %d threads fails its "
                         "certificate (choose another kernel with "
                         "OPENBLAS_CORETYPE): ",
                         openblas_get_corename(), openblas_get_num_threads());
}

static struct gp_certificate
certificate_of(const struct gp_reference *reference,
               const struct scratch *scratch, int64_t batch)
{
    const struct gp_gemm *gemm = &reference->gemm;

    return (struct gp_certificate){
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
}

/* |A||B| by sgemm, certified. */
static int sum_magnitudes(const struct gp_reference *reference,
                          const struct scratch *scratch, int64_t batch,
                          struct gp_err *err)
{
    struct gp_certificate certificate =
        certificate_of(reference, scratch, batch);
    int64_t m = certificate.m, n = certificate.n, k = certificate.k;

    magnitudes(scratch->a, scratch->abs_a, m * k);
    magnitudes(scratch->b, scratch->abs_b, k * n);
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)m,
                (blasint)n, (blasint)k, 1, scratch->abs_a, (blasint)m,
                scratch->abs_b, (blasint)k, 0, scratch->sums, (blasint)m);
    return gp_certificate_sums(&certificate, err);
}

/* AB in FP64, and its magnitudes. */
static int multiply(const struct gp_reference *reference,
                    const struct scratch *scratch, int64_t batch,
                    struct gp_err *err)
{
    const struct gp_gemm *gemm = &reference->gemm;
    struct gp_certificate certificate =
        certificate_of(reference, scratch, batch);
    int64_t m = gemm->m, n = gemm->n, k = gemm->k;

    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)m,
                (blasint)n, (blasint)k, 1, scratch->a, (blasint)m, scratch->b,
                (blasint)k, 0, reference->ref + batch * m * n, (blasint)m);
    if (reference->family->grid)
        reference->family->grid(gemm, &certificate.grid_a, &certificate.grid_b);
    if (sum_magnitudes(reference, scratch, batch, err) != 0 ||
        (is_exact(reference) ? gp_certificate_exact(&certificate, err)
                             : gp_certificate_rounded(&certificate, err)) != 0)
        return say_wrong(err);
    return 0;
}

/* AB better than FP64, and its magnitudes. */
static int multiply_pair(struct gp_reference *reference,
                         struct scratch *scratch, int64_t batch,
                         struct gp_err *err)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t each = gemm->m * gemm->n, at = batch * each;
    struct gp_pair pair = {.m = gemm->m,
                           .n = gemm->n,
                           .k = gemm->k,
                           .a = scratch->a,
                           .b = scratch->b,
                           .high = reference->ref + at,
                           .low = reference->low + at,
                           .mag = reference->mag + at,
                           .seed = reference->seed + (uint64_t)batch,
                           .alone = openblas_get_num_threads() > 1};

    if (gp_pair_by_slices(&pair)) {
        if (sum_magnitudes(reference, scratch, batch, err) != 0)
            return say_wrong(err);
        for (int64_t i = 0; i < each; i++)
            pair.mag[i] = sum_of(gemm, scratch->sums[i]);
    }
    if (gp_pair_multiply(&pair, err) != 0)
        return say_wrong(err);
    scratch->exponent = pair.exponent;
    reference->error_rel = fmax(reference->error_rel, pair.error);
    return 0;
}

static int make_batch(struct gp_reference *reference, struct scratch *scratch,
                      int64_t batch, struct gp_err *err)
{
    const struct gp_gemm *gemm = &reference->gemm;
    int64_t m = gemm->m, n = gemm->n, k = gemm->k;
    size_t bytes = gemm->in->bytes;

    fill(reference, GP_A, batch, m, k, scratch->a);
    fill(reference, GP_B, batch, k, n, scratch->b);
    store_operand(gemm->in, scratch->a, m, k, gemm->trans_a,
                  (unsigned char *)reference->a +
                      (size_t)(batch * m * k) * bytes,
                  scratch->column);
    store_operand(gemm->in, scratch->b, k, n, gemm->trans_b,
                  (unsigned char *)reference->b +
                      (size_t)(batch * k * n) * bytes,
                  scratch->column);
    if (take_out(reference, scratch, err) != 0)
        return -1;
    if (m == 0 || n == 0)
        return 0;
    if (k > 0 &&
        (is_pair(reference) ? multiply_pair(reference, scratch, batch, err)
                            : multiply(reference, scratch, batch, err)) != 0)
        return -1;
    epilogue(reference, scratch, batch);
    return 0;
}

/* The error that travels with ref, for each part of it that is not exact. */
static void set_error(struct gp_reference *reference)
{
    const struct gp_gemm *gemm = &reference->gemm;
    bool scaled = gemm->alpha != 1 || gemm->beta != 0;

    if (reference->family->exact)
        return;
    if (reference->low) {
        reference->error_rel += scaled ? GP_PAIR_SCALARS_ERROR : 0;
        reference->error_abs = GP_PAIR_UNDERFLOW;
        return;
    }
    /* k products and k - 1 sums, then alpha, beta and one more sum: at most
     * (k + 4) u G to first order and beyond. Exact sums meet alpha and beta in
     * at most three roundings; none in the exact families. */
    reference->error_rel =
        ((is_exact(reference) ? 0 : (double)gemm->k) + 4) * 0x1p-53;
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
    if (gemm->k == 0) { /* nothing will be summed */
        memset(reference->ref, 0, results * 8);
        memset(reference->mag, 0, results * 8);
    }
    if (gemm->out->bytes == 8) {
        if (gp_matrix_alloc((void **)&reference->low, results * 8,
                            "the reference", err) != 0)
            return -1;
        memset(reference->low, 0, results * 8);
    }
    if (gemm->beta != 0 || reference->family->c_given)
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
    set_error(reference);
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
    gp_matrix_free(reference->low);
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
