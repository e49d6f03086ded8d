/*
 * Which CUDA libraries this process has loaded: what is mapped
 * (proc(5), /proc/PID/maps), not what was asked for.
 */
#ifndef GP_WORKER_CUBLAS_LOADED_H
#define GP_WORKER_CUBLAS_LOADED_H

#include "harness/base/json.h"

/* An array of {name "libcublas", path}: each file once, in the order of
 * libcublas, libcublasLt, libcudart, libcuda, libnvrtc, libcupti. Empty where
 * the maps cannot be read. */
json_t *gp_cublas_loaded(void);

/* Set lt_path and lt_version ("13.1.0") of the libcublasLt that libcublas
 * brought in; what cannot be known is left out. */
void gp_cublas_loaded_lt(json_t *library);

#endif
