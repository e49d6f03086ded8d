/*
 * What the backends that multiply on the host share: laid out matrices with
 * guards and poison, digests, comparison and audit. A backend adds a function
 * that multiplies.
 */
#ifndef GP_WORKER_BACKENDS_HOST_H
#define GP_WORKER_BACKENDS_HOST_H

#include "harness/worker/backend.h"

/* One laid out matrix between its guards, and its packed original. */
struct gp_host_matrix {
    unsigned char *base;             /* guard, matrix, guard */
    unsigned char *data;             /* the matrix */
    size_t bytes;                    /* of the matrix as laid out */
    void *packed;                    /* pristine; NULL for D without a C */
    void *pristine;                  /* its room */
    size_t base_room, pristine_room; /* bytes */
};

struct gp_host;

/* D = alpha op(A) op(B) + beta D on laid out, column-major matrices (a
 * row-major problem comes with its operands swapped, as a direct wrapper
 * calls a column-major library). D holds C. */
struct gp_host_product {
    struct gp_gemm gemm; /* column-major; alpha and beta of this call */
    const void *a, *b;
    void *d;
    int64_t repeat;
    bool last;
};

struct gp_host {
    int (*multiply)(struct gp_host *host, const struct gp_host_product *product,
                    struct gp_err *err);
    int variant;                     /* the backend's own */
    struct gp_job job;               /* its operands are not valid any more */
    struct gp_host_matrix matrix[3]; /* A, B, D */
    void *first;                     /* packed: the first output */
    bool clean;                      /* laid out, and nothing touched since */
    bool keeps_sides; /* operands never change between launches, so that the
                           plain product may keep them as it needs them */
    void *sides;      /* what it keeps; NULL: nothing */
};

/* The vtable's functions over a struct gp_host. */
int gp_host_open(void **ret_ctx, int variant,
                 int (*multiply)(struct gp_host *,
                                 const struct gp_host_product *,
                                 struct gp_err *),
                 struct gp_err *err) GP_MUST_CHECK;
int gp_host_prepare(void *ctx, const struct gp_job *job, struct gp_err *err);
int gp_host_launch(void *ctx, int64_t repeat, bool last,
                   const struct gp_fault *fault, double *ret_ns,
                   struct gp_err *err);
int gp_host_digest(void *ctx, struct gp_digest *ret_digest, struct gp_err *err);
int gp_host_keep(void *ctx, bool first, void *to, struct gp_err *err);
int gp_host_compare(void *ctx, struct gp_difference *ret_difference,
                    struct gp_err *err);
int gp_host_audit(void *ctx, struct gp_audit *ret_audit, struct gp_err *err);
void gp_host_close(void *ctx);

/* The parts of a hello that every host backend has: device "CPU", schedules,
 * faults; library as given. */
void gp_host_hello(json_t *reply, const char *library, const char *version,
                   const char *path);

/* The plain product: one chain of multiply-adds an element, in FP32 for
 * operands up to FP32 and in FP64 for FP64, rounded once to the output. */
int gp_host_naive(struct gp_host *host, const struct gp_host_product *product,
                  struct gp_err *err);

#endif
