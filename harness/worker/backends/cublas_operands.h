/*
 * The matrices of one problem in device memory: what was handed over, packed
 * and untouched; the laid out A, B and D between their guards; and the first
 * output.
 *
 * Order of calls: take, then for each execute renew once, and for each launch
 * restore, the product, and what looks at D. Memory is kept from one problem
 * to the next and grows; after a failed take nothing may be called but take
 * and free. `{.stream = ...}` is empty. Except where a result is returned,
 * calls are queued on the stream. Memory that is not there is SYSTEM, any
 * other error BACKEND.
 */
#ifndef GP_WORKER_CUBLAS_OPERANDS_H
#define GP_WORKER_CUBLAS_OPERANDS_H

#include "harness/worker/backend.h"
#include "harness/worker/backends/cuda_kernels.h"

enum gp_cublas_slot {
    GP_CUBLAS_PACKED_A,
    GP_CUBLAS_PACKED_B,
    GP_CUBLAS_PACKED_C, /* unused without a C */
    GP_CUBLAS_LAID_A,
    GP_CUBLAS_LAID_B,
    GP_CUBLAS_LAID_D,
    GP_CUBLAS_FIRST,   /* packed */
    GP_CUBLAS_STAGING, /* packed, when a second output has to go back */
    GP_CUBLAS_TALLIES, /* results of kernels */
    GP_CUBLAS_SCALARS, /* alpha and beta */
    GP_CUBLAS_SLOTS
};

struct gp_cublas_buffer {
    void *data;
    size_t bytes;
};

struct gp_cublas_operands {
    cudaStream_t stream;
    struct gp_cublas_buffer buffers[GP_CUBLAS_SLOTS];
    struct gp_gemm gemm;
    struct gp_cuda_matrix laid[3]; /* by enum gp_operand; GP_C is D */
    int64_t operands_id;
    bool has_c;
    bool taken;     /* the above is that of a successful take */
    bool touched;   /* guards, padding or inputs may not be as laid out */
    bool has_first; /* since the last take */
};

/* Copy a job's operands to the device and lay them out, unless that is what
 * lies there already. */
int gp_cublas_operands_take(struct gp_cublas_operands *operands,
                            const struct gp_job *job,
                            struct gp_err *err) GP_MUST_CHECK;
void gp_cublas_operands_free(struct gp_cublas_operands *operands);

/* Lay out again if touched. */
int gp_cublas_operands_renew(struct gp_cublas_operands *operands,
                             struct gp_err *err) GP_MUST_CHECK;

/* Make the elements of D those of C again, or sentinels where there is none. */
int gp_cublas_operands_restore(struct gp_cublas_operands *operands,
                               struct gp_err *err) GP_MUST_CHECK;

/* Flip a bit of a packed element of laid out A, B or D; invert the byte at
 * `offset` of the guard after D. The place must exist. */
int gp_cublas_operands_flip(struct gp_cublas_operands *operands,
                            enum gp_operand which, int64_t index, int bit,
                            struct gp_err *err) GP_MUST_CHECK;
int gp_cublas_operands_flip_guard(struct gp_cublas_operands *operands,
                                  int64_t offset,
                                  struct gp_err *err) GP_MUST_CHECK;

/* These wait for the stream; as in harness/worker/backend.h. */
int gp_cublas_operands_digest(struct gp_cublas_operands *operands,
                              struct gp_digest *ret_digest,
                              struct gp_err *err) GP_MUST_CHECK;
int gp_cublas_operands_keep(struct gp_cublas_operands *operands, bool first,
                            void *to, struct gp_err *err) GP_MUST_CHECK;
int gp_cublas_operands_compare(struct gp_cublas_operands *operands,
                               struct gp_difference *ret_difference,
                               struct gp_err *err) GP_MUST_CHECK;
int gp_cublas_operands_audit(struct gp_cublas_operands *operands,
                             struct gp_audit *ret_audit,
                             struct gp_err *err) GP_MUST_CHECK;

#endif
