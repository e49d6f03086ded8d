/*
 * What the driver says of a device beside what CUDA knows of it, through NVML
 * (NVML API Reference Guide), which is loaded at run time.
 */
#ifndef GP_WORKER_CUBLAS_FACTS_H
#define GP_WORKER_CUBLAS_FACTS_H

#include "harness/base/json.h"

/* Add to `device` what is known of the device with this UUID as CUDA writes it
 * ("GPU-" and so on); what NVML does not say is absent.
 *
 * driver "580.159.04"; persistence, mig: bool; power_limit_w;
 * state {clocks {sm_mhz, memory_mhz, sm_max_mhz, memory_max_mhz, throttle
 * [words]}, temperature_c, ecc {corrected_volatile, uncorrected_volatile,
 * corrected_aggregate, uncorrected_aggregate}, compute_processes (this one is
 * among them)}: all that changes from one moment to the next is in there.
 * nvml: a sentence, only where nothing could be asked. */
void gp_cublas_facts(json_t *device, const char *uuid);

#endif
