/*
 * What cublasCreate takes from the device: the evidence of what the library
 * made of CUBLAS_WORKSPACE_CONFIG, which it reads there and of which it says
 * nothing afterwards: there is a cublasSetWorkspace, and no way to ask.
 *
 * The calls to the driver that allocate device memory are seen through the
 * callbacks of CUPTI (its documentation, "CUPTI Callback API"), which need no
 * privileges. CUPTI is loaded at run time; its callbacks are on during
 * cublasCreate and off afterwards, so that no product runs under them. A small
 * allocation of our own goes first, as a control: what is not seen to see
 * proves nothing.
 * This describes and does not judge: a value was heard if the allocations are
 * other than those of a worker without the variable.
 */
#ifndef GP_WORKER_CUBLAS_EVIDENCE_H
#define GP_WORKER_CUBLAS_EVIDENCE_H

#include <stdbool.h>

#include "harness/base/json.h"
#include "harness/worker/backends/cublas_load.h"

enum { GP_CUBLAS_ALLOCATIONS = 256 };

/* `{0}` is nothing seen yet. */
struct gp_cublas_evidence {
    struct gp_cublas_allocation {
        unsigned long long address; /* or handle, of cuMemCreate */
        size_t bytes;
        bool released; /* again, before cublasCreate returned */
    } made[GP_CUBLAS_ALLOCATIONS];
    int count;     /* past the end of `made` if there were more */
    bool recorded; /* else `unproved` says why not */
    char unproved[512];
};

/* cublasCreate, watched if it can be: what it returns does not depend on
 * that. */
cublasStatus_t gp_cublas_evidence_create(struct gp_cublas_evidence *evidence,
                                         const struct gp_cublas_api *api,
                                         cublasHandle_t *ret_handle);

/* {variable, well_formed} if CUBLAS_WORKSPACE_CONFIG is set; then
 * {allocations [bytes, the largest first], source} and, if some were released
 * before cublasCreate returned, those as {released [bytes]}; or {unproved}, a
 * sentence. */
json_t *gp_cublas_evidence_describe(const struct gp_cublas_evidence *evidence);

/* Is this one or more of :SIZE:COUNT, both in decimal digits (cuBLAS Library,
 * 2.1.4 "Results Reproducibility")? cuBLAS ignores anything else silently. */
bool gp_cublas_workspace_well_formed(const char *value);

#endif
