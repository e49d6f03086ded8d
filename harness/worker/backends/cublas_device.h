/*
 * What the CUDA runtime says: its errors as sentences, and the device.
 */
#ifndef GP_WORKER_CUBLAS_DEVICE_H
#define GP_WORKER_CUBLAS_DEVICE_H

#include <cuda_runtime_api.h>

#include "harness/base/err.h"
#include "harness/base/json.h"

/* 0 for cudaSuccess, else a sentence that begins with `what`: "digesting D
 * failed: ...", BACKEND. It says so when the error stays with the process, so
 * that nothing can work before the worker is started again. */
int gp_cublas_cuda(cudaError_t status, const char *what,
                   struct gp_err *err) GP_MUST_CHECK;

/* Is there a device, and can it be used? */
int gp_cublas_device_check(struct gp_err *err) GP_MUST_CHECK;

/* Fill `device` with the current device: name, uuid, compute_capability,
 * multiprocessors, memory_bytes, ecc {enabled}, compute_mode, pci_bus_id, the
 * versions of CUDA that the driver (cuda_driver) and the runtime (runtime)
 * speak, and what cublas_facts.h knows. */
int gp_cublas_device_describe(json_t *device, struct gp_err *err) GP_MUST_CHECK;

#endif
