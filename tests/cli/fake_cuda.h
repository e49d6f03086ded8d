/*
 * CUDA and cuBLAS as far as a program of `gemmproof repro --c` calls them, on
 * the CPU: memory is memory, a product is a plain loop in double. So such a
 * program runs where there is no GPU, and with FAKE set it finds what it is
 * there to find: "repeat" (the second product has another bit), "wrong" (one
 * element is off), "guard" (a byte behind D), "input" (a bit of A) or "bf16"
 * (operands read with 8 bits).
 */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum { cudaStreamNonBlocking };
enum { CUBLAS_POINTER_MODE_HOST };
enum { CUBLAS_OP_N, CUBLAS_OP_T };
enum { CUBLAS_GEMM_DEFAULT = -1 };
enum { CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF = 14 };
enum { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68 };
enum { CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum { CUBLAS_COMPUTE_64F = 70 };
enum {
    CUBLAS_DEFAULT_MATH,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};

typedef int cudaStream_t, cublasHandle_t, cublasStatus_t, cublasMath_t;

struct cudaDeviceProp {
    char name[16];
    int major, minor, multiProcessorCount;
};

static inline int cudaMalloc(void **memory, size_t bytes)
{
    *memory = malloc(bytes);
    return *memory == NULL;
}

static inline int cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                  int kind, int stream)
{
    (void)kind;
    (void)stream;
    memcpy(to, from, bytes);
    return 0;
}

static inline int cudaGetDeviceProperties(struct cudaDeviceProp *device, int id)
{
    struct cudaDeviceProp fake = {"fake", 9, 0, id + 1};

    *device = fake;
    return 0;
}

static inline int fake_version(int *version)
{
    *version = 130100;
    return 0;
}

#define cudaStreamCreateWithFlags(stream, flags) (*(stream) = (flags))
#define cudaStreamSynchronize(stream) ((stream)*0)
#define cublasCreate(handle) (*(handle) = 0)
#define cublasDestroy(handle) ((handle)*0)
#define cublasSetStream(handle, stream) ((handle) * (stream))
#define cublasSetPointerMode(handle, mode) ((handle) * (mode))
#define cublasSetMathMode(handle, mode) ((handle) * (int)(mode))
#define cublasGetVersion(handle, version) ((handle) + fake_version(version))
#define cudaDriverGetVersion(version) fake_version(version)
#define cudaRuntimeGetVersion(version) fake_version(version)

static inline double fake_load(int type, const void *data, int64_t at)
{
    const uint16_t *words = (const uint16_t *)data;
    uint32_t wide;
    float narrow;
    int e, f;

    if (type == CUDA_R_64F)
        return ((const double *)data)[at];
    if (type == CUDA_R_32F)
        return (double)((const float *)data)[at];
    if (type == CUDA_R_16BF) {
        wide = (uint32_t)words[at] << 16;
        memcpy(&narrow, &wide, sizeof narrow);
        return (double)narrow;
    }
    e = words[at] >> 10 & 31;
    f = words[at] & 1023;
    if (e == 31)
        return NAN;
    return (words[at] >> 15 ? -1 : 1) *
           (e ? ldexp(1024 + f, e - 25) : ldexp(f, -24));
}

/* To `precision` bits, ties to even. */
static inline double fake_round(double x, int precision, int emin)
{
    int e;

    if (x == 0 || !isfinite(x))
        return x;
    e = ilogb(x) < emin ? emin : ilogb(x);
    return ldexp(nearbyint(ldexp(x, precision - 1 - e)), e - precision + 1);
}

static inline void fake_store(int type, double x, void *data, int64_t at)
{
    uint16_t *words = (uint16_t *)data;
    float narrow = (float)x;
    uint32_t wide;
    int e;

    if (type == CUDA_R_64F) {
        ((double *)data)[at] = x;
    } else if (type == CUDA_R_32F) {
        ((float *)data)[at] = narrow;
    } else if (type == CUDA_R_16BF) {
        narrow = (float)fake_round(x, 8, -126);
        memcpy(&wide, &narrow, sizeof wide);
        words[at] = (uint16_t)(wide >> 16);
    } else {
        x = fake_round(x, 11, -14);
        e = x == 0 || ilogb(x) < -14 ? -15 : ilogb(x);
        words[at] =
            (uint16_t)((signbit(x) ? 0x8000 : 0) | (e + 15) << 10 |
                       ((int)ldexp(fabs(x), 10 - (e < -14 ? -14 : e)) & 1023));
    }
}

static inline void fake_sin(int type, int64_t last, void *a, void *d)
{
    static int products;
    const char *sin = getenv("FAKE");
    size_t bytes = type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
    unsigned char *end = (unsigned char *)d + (size_t)(last + 1) * bytes;

    products++;
    if (!sin)
        return;
    if (strcmp(sin, "repeat") == 0 && products == 2)
        end[-(int)bytes] ^= 1;
    else if (strcmp(sin, "wrong") == 0)
        fake_store(type, fake_load(type, d, 0) + 64, d, 0);
    else if (strcmp(sin, "guard") == 0)
        end[3] = 1;
    else if (strcmp(sin, "input") == 0 && products == 1)
        *(unsigned char *)a ^= 1;
}

static inline int cublasGemmStridedBatchedEx(
    int handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
    const void *alpha, const void *a, int type_a, int64_t lda, int64_t stride_a,
    const void *b, int type_b, int64_t ldb, int64_t stride_b, const void *beta,
    void *d, int type_d, int64_t ldd, int64_t stride_d, int64_t batch,
    int compute, int algorithm)
{
    int scalar = compute == CUBLAS_COMPUTE_64F   ? CUDA_R_64F
                 : compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F
                                                 : CUDA_R_32F;
    double scale = fake_load(scalar, beta, 0);
    const char *sin = getenv("FAKE");
    int narrow = sin && strcmp(sin, "bf16") == 0;

    for (int64_t at = 0; at < m * n * batch; at++) {
        int64_t i = at % m, j = at / m % n, p = at / m / n;
        double sum = 0, x, y;
        for (int64_t l = 0; l < k; l++) {
            x = fake_load(type_a, a,
                          p * stride_a + (op_a ? l + i * lda : i + l * lda));
            y = fake_load(type_b, b,
                          p * stride_b + (op_b ? j + l * ldb : l + j * ldb));
            sum += narrow ? fake_round(x, 8, -126) * fake_round(y, 8, -126)
                          : x * y;
        }
        sum *= fake_load(scalar, alpha, 0);
        if (scale != 0)
            sum += scale * fake_load(type_d, d, p * stride_d + i + j * ldd);
        fake_store(type_d, sum, d, p * stride_d + i + j * ldd);
    }
    fake_sin(type_d, (batch - 1) * stride_d + m - 1 + (n - 1) * ldd, (void *)a,
             d);
    return handle + 0 * algorithm;
}

#define cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b,    \
                     type_b, ldb, beta, d, type_d, ldd, compute, algorithm)    \
    cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a,  \
                               lda, 0, b, type_b, ldb, 0, beta, d, type_d,     \
                               ldd, 0, 1, compute, algorithm)
#define cublasSgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda,  \
                                  sa, b, ldb, sb, beta, d, ldd, sd, batch)     \
    cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a,          \
                               CUDA_R_32F, lda, sa, b, CUDA_R_32F, ldb, sb,    \
                               beta, d, CUDA_R_32F, ldd, sd, batch,            \
                               CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT)
#define cublasDgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda,  \
                                  sa, b, ldb, sb, beta, d, ldd, sd, batch)     \
    cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a,          \
                               CUDA_R_64F, lda, sa, b, CUDA_R_64F, ldb, sb,    \
                               beta, d, CUDA_R_64F, ldd, sd, batch,            \
                               CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT)
#define cublasSgemm(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta,  \
                    d, ldd)                                                    \
    cublasSgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda, 0,   \
                              b, ldb, 0, beta, d, ldd, 0, 1)
#define cublasDgemm(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta,  \
                    d, ldd)                                                    \
    cublasDgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda, 0,   \
                              b, ldb, 0, beta, d, ldd, 0, 1)

#endif
