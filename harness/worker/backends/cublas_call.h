/*
 * The words of a request as cuBLAS takes them (cublas_words.c), and the call
 * itself (cublas_call.c).
 */
#ifndef GP_WORKER_CUBLAS_CALL_H
#define GP_WORKER_CUBLAS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/worker/backends/cublas_load.h"
#include "reference/gemm.h"
#include "reference/request.h"

/* A loaded library with one handle. `version` is what cublasGetVersion says:
 * 130100 is 13.1.0. */
struct gp_cublas {
    struct gp_cublas_api api;
    cublasHandle_t handle;
    int version;
};

/* A request for two types, in numbers. */
struct gp_cublas_mode {
    bool ex; /* GemmEx or its batched form */
    cublasMath_t math;
    cublasComputeType_t compute; /* of ex only */
    cudaDataType in, out;
    cudaDataType scalar; /* what alpha and beta are */
};

/* One product of laid out matrices. */
struct gp_cublas_product {
    const struct gp_gemm *gemm;       /* all but k, alpha and beta */
    const struct gp_request *request; /* for the error sentence */
    struct gp_cublas_mode mode;
    const void *a, *b;
    void *d; /* C before, D after */
    int64_t k;
    double beta;
    cudaStream_t stream; /* the handle's */
    void *scalars;       /* device memory for alpha and beta, 16 bytes, if the
                            request wants them there */
};

/* Translate. A word that is not known, or that this version of the library
 * does not have, is UNSUPPORTED. Whether a combination works is for the
 * library to say. */
int gp_cublas_mode(const struct gp_cublas *cublas, const struct gp_gemm *gemm,
                   const struct gp_request *request,
                   struct gp_cublas_mode *ret_mode,
                   struct gp_err *err) GP_MUST_CHECK;

/* Put the math mode on the handle. */
int gp_cublas_set_math(const struct gp_cublas *cublas,
                       const struct gp_cublas_product *product,
                       struct gp_err *err) GP_MUST_CHECK;

/* Queue the product on the handle's stream. UNSUPPORTED where cuBLAS says so
 * or the sizes need functions that the library lacks, else BACKEND. */
int gp_cublas_multiply(const struct gp_cublas *cublas,
                       const struct gp_cublas_product *product,
                       struct gp_err *err) GP_MUST_CHECK;

/* Append what this version offers. */
void gp_cublas_offer(const struct gp_cublas *cublas, json_t *offers);

#endif
