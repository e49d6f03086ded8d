#include "harness/worker/backends/cublas_call.h"

#include <inttypes.h>
#include <limits.h>

#include "harness/worker/backends/cublas_device.h"

/* "cublasSgemm says CUBLAS_STATUS_... to f32:f32 nn 8x8x8, math 'default'" */
static int refused(const struct gp_cublas *cublas,
                   const struct gp_cublas_product *product, const char *who,
                   cublasStatus_t status, struct gp_err *err)
{
    const struct gp_gemm *gemm = product->gemm;
    const struct gp_request *request = product->request;
    char room[32];

    return gp_err_set(
        err,
        status == CUBLAS_STATUS_NOT_SUPPORTED ? GP_ERR_UNSUPPORTED
                                              : GP_ERR_BACKEND,
        "%s says %s to entry %s, %s:%s, %c%c, %" PRId64 "x%" PRId64 "x%" PRId64
        ", batch %" PRId64 ", math '%s'%s%s%s%s",
        who, gp_cublas_status(&cublas->api, status, room), request->entry,
        gemm->in->name, gemm->out->name, gemm->trans_a ? 't' : 'n',
        gemm->trans_b ? 't' : 'n', gemm->m, gemm->n, product->k, gemm->batch,
        request->math,
        request->no_reduced_precision ? " without reduced precision" : "",
        *request->compute ? ", compute '" : "", request->compute,
        *request->compute ? "'" : "");
}

int gp_cublas_set_math(const struct gp_cublas *cublas,
                       const struct gp_cublas_product *product,
                       struct gp_err *err)
{
    cublasStatus_t status =
        cublas->api.set_math_mode(cublas->handle, product->mode.math);

    if (status != CUBLAS_STATUS_SUCCESS)
        return refused(cublas, product, "cublasSetMathMode", status, err);
    return 0;
}

/* The arguments in the order of cuBLAS, which is column-major. */
struct arguments {
    cublasOperation_t op_a, op_b;
    int64_t m, n, k, batch;
    const void *a, *b;
    void *d;
    int64_t lda, ldb, ldd;
    long long stride_a, stride_b, stride_d;
    const void *alpha, *beta;
    bool wide; /* a size does not fit an int */
};

/* Alpha or beta in the type that the call takes. */
union scalar {
    double f64;
    float f32;
    uint16_t f16;
};

static void set_scalar(cudaDataType type, double value, union scalar *scalar)
{
    if (type == CUDA_R_64F)
        scalar->f64 = value;
    else if (type == CUDA_R_16F)
        gp_type_store(gp_type_find("f16"), &value, &scalar->f16, 1);
    else
        scalar->f32 = (float)value;
}

/* Row-major D = op(A) op(B) is column-major D' = op(B)' op(A)', and a
 * row-major matrix read as column-major is its transpose: operands and sizes
 * change places, each operand keeps its own letter and ld. */
static struct arguments arguments_of(const struct gp_cublas_product *product)
{
    const struct gp_gemm *gemm = product->gemm;
    struct arguments args = {
        .op_a = gemm->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N,
        .op_b = gemm->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
        .m = gemm->m,
        .n = gemm->n,
        .k = product->k,
        .batch = gemm->batch,
        .a = product->a,
        .b = product->b,
        .d = product->d,
        .lda = gemm->lda,
        .ldb = gemm->ldb,
        .ldd = gemm->ldc,
        .stride_a = (long long)gp_gemm_stride(gemm, GP_A),
        .stride_b = (long long)gp_gemm_stride(gemm, GP_B),
        .stride_d = (long long)gp_gemm_stride(gemm, GP_C),
    };
    const struct arguments col = args;

    if (gemm->row_major) {
        args.op_a = col.op_b;
        args.op_b = col.op_a;
        args.m = col.n;
        args.n = col.m;
        args.a = col.b;
        args.b = col.a;
        args.lda = col.ldb;
        args.ldb = col.lda;
        args.stride_a = col.stride_b;
        args.stride_b = col.stride_a;
    }
    args.wide = args.m > INT_MAX || args.n > INT_MAX || args.k > INT_MAX ||
                args.batch > INT_MAX || args.lda > INT_MAX ||
                args.ldb > INT_MAX || args.ldd > INT_MAX;
    return args;
}

static cublasStatus_t call_s(const struct gp_cublas *cublas,
                             const struct arguments *x)
{
    const struct gp_cublas_api *api = &cublas->api;

    if (x->wide && x->batch == 1)
        return api->sgemm_64(cublas->handle, x->op_a, x->op_b, x->m, x->n, x->k,
                             x->alpha, x->a, x->lda, x->b, x->ldb, x->beta,
                             x->d, x->ldd);
    if (x->wide)
        return api->sgemm_batched_64(
            cublas->handle, x->op_a, x->op_b, x->m, x->n, x->k, x->alpha, x->a,
            x->lda, x->stride_a, x->b, x->ldb, x->stride_b, x->beta, x->d,
            x->ldd, x->stride_d, x->batch);
    if (x->batch == 1)
        return api->sgemm(cublas->handle, x->op_a, x->op_b, (int)x->m,
                          (int)x->n, (int)x->k, x->alpha, x->a, (int)x->lda,
                          x->b, (int)x->ldb, x->beta, x->d, (int)x->ldd);
    return api->sgemm_batched(
        cublas->handle, x->op_a, x->op_b, (int)x->m, (int)x->n, (int)x->k,
        x->alpha, x->a, (int)x->lda, x->stride_a, x->b, (int)x->ldb,
        x->stride_b, x->beta, x->d, (int)x->ldd, x->stride_d, (int)x->batch);
}

static cublasStatus_t call_d(const struct gp_cublas *cublas,
                             const struct arguments *x)
{
    const struct gp_cublas_api *api = &cublas->api;

    if (x->wide && x->batch == 1)
        return api->dgemm_64(cublas->handle, x->op_a, x->op_b, x->m, x->n, x->k,
                             x->alpha, x->a, x->lda, x->b, x->ldb, x->beta,
                             x->d, x->ldd);
    if (x->wide)
        return api->dgemm_batched_64(
            cublas->handle, x->op_a, x->op_b, x->m, x->n, x->k, x->alpha, x->a,
            x->lda, x->stride_a, x->b, x->ldb, x->stride_b, x->beta, x->d,
            x->ldd, x->stride_d, x->batch);
    if (x->batch == 1)
        return api->dgemm(cublas->handle, x->op_a, x->op_b, (int)x->m,
                          (int)x->n, (int)x->k, x->alpha, x->a, (int)x->lda,
                          x->b, (int)x->ldb, x->beta, x->d, (int)x->ldd);
    return api->dgemm_batched(
        cublas->handle, x->op_a, x->op_b, (int)x->m, (int)x->n, (int)x->k,
        x->alpha, x->a, (int)x->lda, x->stride_a, x->b, (int)x->ldb,
        x->stride_b, x->beta, x->d, (int)x->ldd, x->stride_d, (int)x->batch);
}

static cublasStatus_t call_ex(const struct gp_cublas *cublas,
                              const struct gp_cublas_mode *mode,
                              const struct arguments *x)
{
    const struct gp_cublas_api *api = &cublas->api;

    if (x->wide && x->batch == 1)
        return api->gemm_ex_64(cublas->handle, x->op_a, x->op_b, x->m, x->n,
                               x->k, x->alpha, x->a, mode->in, x->lda, x->b,
                               mode->in, x->ldb, x->beta, x->d, mode->out,
                               x->ldd, mode->compute, CUBLAS_GEMM_DEFAULT);
    if (x->wide)
        return api->gemm_batched_ex_64(
            cublas->handle, x->op_a, x->op_b, x->m, x->n, x->k, x->alpha, x->a,
            mode->in, x->lda, x->stride_a, x->b, mode->in, x->ldb, x->stride_b,
            x->beta, x->d, mode->out, x->ldd, x->stride_d, x->batch,
            mode->compute, CUBLAS_GEMM_DEFAULT);
    if (x->batch == 1)
        return api->gemm_ex(cublas->handle, x->op_a, x->op_b, (int)x->m,
                            (int)x->n, (int)x->k, x->alpha, x->a, mode->in,
                            (int)x->lda, x->b, mode->in, (int)x->ldb, x->beta,
                            x->d, mode->out, (int)x->ldd, mode->compute,
                            CUBLAS_GEMM_DEFAULT);
    return api->gemm_batched_ex(
        cublas->handle, x->op_a, x->op_b, (int)x->m, (int)x->n, (int)x->k,
        x->alpha, x->a, mode->in, (int)x->lda, x->stride_a, x->b, mode->in,
        (int)x->ldb, x->stride_b, x->beta, x->d, mode->out, (int)x->ldd,
        x->stride_d, (int)x->batch, mode->compute, CUBLAS_GEMM_DEFAULT);
}

/* For the error sentence. */
static const char *name_of(const struct gp_cublas_mode *mode, bool batched)
{
    if (mode->ex)
        return batched ? "cublasGemmStridedBatchedEx" : "cublasGemmEx";
    if (mode->in == CUDA_R_64F)
        return batched ? "cublasDgemmStridedBatched" : "cublasDgemm";
    return batched ? "cublasSgemmStridedBatched" : "cublasSgemm";
}

/* The 64-bit forms came together, in 12.0. */
static bool has_wide(const struct gp_cublas_api *api)
{
    return api->sgemm_64 && api->dgemm_64 && api->gemm_ex_64 &&
           api->sgemm_batched_64 && api->dgemm_batched_64 &&
           api->gemm_batched_ex_64;
}

/* Alpha and beta to device memory, in the stream's order. */
static int move_scalars(const struct gp_cublas_product *product,
                        const union scalar *alpha, const union scalar *beta,
                        struct arguments *args, struct gp_err *err)
{
    const union scalar both[] = {*alpha, *beta};
    union scalar *there = product->scalars;

    args->alpha = &there[0];
    args->beta = &there[1];
    return gp_cublas_cuda(cudaMemcpyAsync(there, both, sizeof both,
                                          cudaMemcpyHostToDevice,
                                          product->stream),
                          "copying alpha and beta", err);
}

static cublasStatus_t call(const struct gp_cublas *cublas,
                           const struct gp_cublas_mode *mode,
                           const struct arguments *args)
{
    if (mode->ex)
        return call_ex(cublas, mode, args);
    return mode->in == CUDA_R_64F ? call_d(cublas, args) : call_s(cublas, args);
}

int gp_cublas_multiply(const struct gp_cublas *cublas,
                       const struct gp_cublas_product *product,
                       struct gp_err *err)
{
    const struct gp_cublas_mode *mode = &product->mode;
    struct arguments args = arguments_of(product);
    union scalar alpha, beta;
    cublasStatus_t status;
    const char *who = name_of(mode, args.batch > 1);

    if (args.wide && !has_wide(&cublas->api))
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "a size, ld or batch above %d needs %s_64, which "
                          "came with cuBLAS 12.0 and is not in this one",
                          INT_MAX, who);
    set_scalar(mode->scalar, product->gemm->alpha, &alpha);
    set_scalar(mode->scalar, product->beta, &beta);
    args.alpha = &alpha;
    args.beta = &beta;
    if (product->request->device_scalars &&
        move_scalars(product, &alpha, &beta, &args, err) != 0)
        return -1;
    status = cublas->api.set_pointer_mode(cublas->handle,
                                          product->request->device_scalars
                                              ? CUBLAS_POINTER_MODE_DEVICE
                                              : CUBLAS_POINTER_MODE_HOST);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = call(cublas, mode, &args);
    if (status != CUBLAS_STATUS_SUCCESS)
        return refused(cublas, product, who, status, err);
    return 0;
}
