/*
 * libcublas, loaded at run time, so that the worker starts on a machine
 * without it and so that two versions can be compared on one machine.
 *
 * Majors 11 to 13. Types are those of the header this was compiled with: the
 * functions below have had the same signatures since CUDA 11.0, and the
 * _64 forms since 12.0. `{0}` is nothing loaded.
 */
#ifndef GP_WORKER_CUBLAS_LOAD_H
#define GP_WORKER_CUBLAS_LOAD_H

#include <cublas_v2.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/err.h"

/* The six products, each with int and with int64_t sizes. */
struct gp_cublas_api {
    void *library; /* what dlopen gave */

    cublasStatus_t (*create)(cublasHandle_t *);
    cublasStatus_t (*destroy)(cublasHandle_t);
    cublasStatus_t (*get_version)(cublasHandle_t, int *);
    cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t);
    cublasStatus_t (*set_math_mode)(cublasHandle_t, cublasMath_t);
    cublasStatus_t (*set_pointer_mode)(cublasHandle_t, cublasPointerMode_t);

    cublasStatus_t (*sgemm)(cublasHandle_t, cublasOperation_t,
                            cublasOperation_t, int, int, int, const float *,
                            const float *, int, const float *, int,
                            const float *, float *, int);
    cublasStatus_t (*dgemm)(cublasHandle_t, cublasOperation_t,
                            cublasOperation_t, int, int, int, const double *,
                            const double *, int, const double *, int,
                            const double *, double *, int);
    cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t,
                              cublasOperation_t, int, int, int, const void *,
                              const void *, cudaDataType, int, const void *,
                              cudaDataType, int, const void *, void *,
                              cudaDataType, int, cublasComputeType_t,
                              cublasGemmAlgo_t);
    cublasStatus_t (*sgemm_batched)(cublasHandle_t, cublasOperation_t,
                                    cublasOperation_t, int, int, int,
                                    const float *, const float *, int,
                                    long long, const float *, int, long long,
                                    const float *, float *, int, long long,
                                    int);
    cublasStatus_t (*dgemm_batched)(cublasHandle_t, cublasOperation_t,
                                    cublasOperation_t, int, int, int,
                                    const double *, const double *, int,
                                    long long, const double *, int, long long,
                                    const double *, double *, int, long long,
                                    int);
    cublasStatus_t (*gemm_batched_ex)(
        cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
        const void *, const void *, cudaDataType, int, long long, const void *,
        cudaDataType, int, long long, const void *, void *, cudaDataType, int,
        long long, int, cublasComputeType_t, cublasGemmAlgo_t);

    /* NULL where the library has none. */
    cublasStatus_t (*sgemm_64)(cublasHandle_t, cublasOperation_t,
                               cublasOperation_t, int64_t, int64_t, int64_t,
                               const float *, const float *, int64_t,
                               const float *, int64_t, const float *, float *,
                               int64_t);
    cublasStatus_t (*dgemm_64)(cublasHandle_t, cublasOperation_t,
                               cublasOperation_t, int64_t, int64_t, int64_t,
                               const double *, const double *, int64_t,
                               const double *, int64_t, const double *,
                               double *, int64_t);
    cublasStatus_t (*gemm_ex_64)(cublasHandle_t, cublasOperation_t,
                                 cublasOperation_t, int64_t, int64_t, int64_t,
                                 const void *, const void *, cudaDataType,
                                 int64_t, const void *, cudaDataType, int64_t,
                                 const void *, void *, cudaDataType, int64_t,
                                 cublasComputeType_t, cublasGemmAlgo_t);
    cublasStatus_t (*sgemm_batched_64)(cublasHandle_t, cublasOperation_t,
                                       cublasOperation_t, int64_t, int64_t,
                                       int64_t, const float *, const float *,
                                       int64_t, long long, const float *,
                                       int64_t, long long, const float *,
                                       float *, int64_t, long long, int64_t);
    cublasStatus_t (*dgemm_batched_64)(cublasHandle_t, cublasOperation_t,
                                       cublasOperation_t, int64_t, int64_t,
                                       int64_t, const double *, const double *,
                                       int64_t, long long, const double *,
                                       int64_t, long long, const double *,
                                       double *, int64_t, long long, int64_t);
    cublasStatus_t (*gemm_batched_ex_64)(
        cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t,
        int64_t, const void *, const void *, cudaDataType, int64_t, long long,
        const void *, cudaDataType, int64_t, long long, const void *, void *,
        cudaDataType, int64_t, long long, int64_t, cublasComputeType_t,
        cublasGemmAlgo_t);
    const char *(*status_name)(cublasStatus_t);
    const char *(*status_text)(cublasStatus_t);
};

/* Load `library`, a path or a name for the loader; "" tries the names of the
 * majors 13, 12, 11 by the loader, then under $CUDA_HOME/lib64 and
 * /usr/local/cuda/lib64. Nothing stays loaded on failure (BACKEND). */
int gp_cublas_load(struct gp_cublas_api *api, const char *library,
                   struct gp_err *err) GP_MUST_CHECK;
void gp_cublas_unload(struct gp_cublas_api *api);

/* The name of a status, like CUBLAS_STATUS_NOT_SUPPORTED. `room` is used
 * where the library cannot say it. */
const char *gp_cublas_status(const struct gp_cublas_api *api,
                             cublasStatus_t status, char room[32]);

/* 110402 for 11.4.2, of what a library said: older ones of major 11 write that
 * as 11402. And as text. */
int gp_cublas_version(int said);
void gp_cublas_version_text(int version, char ret_text[32]);

/* Real paths of the loaded libcublas and of the libcublasLt it brought in;
 * "" if not known. */
void gp_cublas_path(const struct gp_cublas_api *api, char *ret_path,
                    size_t room);
void gp_cublas_lt_path(char *ret_path, size_t room);

#endif
