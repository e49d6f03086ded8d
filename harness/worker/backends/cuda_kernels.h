/*
 * The device side of a worker: laying out, digesting and looking at matrices
 * on the GPU.
 *
 * A struct gp_cuda_matrix is a laid out matrix (reference/gemm.h); `index`
 * below is the packed column-major index i + j*rows + b*rows*cols. Elements
 * are bits: no kernel here does arithmetic on a number. Only elements are
 * written, never padding. Every pointer but `matrix` is device memory, every
 * call is queued on `stream`, and the status is that of the launch.
 */
#ifndef GP_WORKER_CUDA_KERNELS_H
#define GP_WORKER_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gp_cuda_matrix {
    void *data;         /* the first element */
    int64_t rows, cols; /* the stored shape; 0: no element */
    int64_t batch;      /* at least 1; one stands ld * lines after the other,
                           lines being cols (rows in a row-major layout) */
    int64_t ld;         /* elements */
    int element_bytes;  /* 2, 4 or 8 */
    bool row_major;
};

/* What a count found; the kernels add to it. Zero bytes are an empty one,
 * hence the complement. */
struct gp_cuda_tally {
    unsigned long long count;
    unsigned long long not_first; /* ~ of the smallest index or offset */
};

/* Write the elements from their packed form, to their packed form, and set
 * every byte of every element to GP_POISON. */
cudaError_t gp_cuda_scatter(const struct gp_cuda_matrix *matrix,
                            const void *packed, cudaStream_t stream);
cudaError_t gp_cuda_gather(const struct gp_cuda_matrix *matrix, void *packed,
                           cudaStream_t stream);
cudaError_t gp_cuda_poison(const struct gp_cuda_matrix *matrix,
                           cudaStream_t stream);

/* Add the matrix to the two lanes of its digest (base/hash.h), which start
 * at 0. */
cudaError_t gp_cuda_digest(const struct gp_cuda_matrix *matrix,
                           unsigned long long lanes[2], cudaStream_t stream);

/* Count elements that differ in any bit from their packed form; by index. */
cudaError_t gp_cuda_count_differences(const struct gp_cuda_matrix *matrix,
                                      const void *packed,
                                      struct gp_cuda_tally *tally,
                                      cudaStream_t stream);

/* Count elements of which every byte is GP_POISON; by index. */
cudaError_t gp_cuda_count_poisoned(const struct gp_cuda_matrix *matrix,
                                   struct gp_cuda_tally *tally,
                                   cudaStream_t stream);

/* Count bytes of padding that are not GP_POISON; by bytes from the first
 * element. */
cudaError_t gp_cuda_count_padding(const struct gp_cuda_matrix *matrix,
                                  struct gp_cuda_tally *tally,
                                  cudaStream_t stream);

/* Count bytes that are not GP_POISON among `count`; by offset. */
cudaError_t gp_cuda_count_bytes(const void *bytes, size_t count,
                                struct gp_cuda_tally *tally,
                                cudaStream_t stream);

/* Change the bits of one byte that are set in `mask`. */
cudaError_t gp_cuda_flip(void *byte, unsigned char mask, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
