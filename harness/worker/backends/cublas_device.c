#include "harness/worker/backends/cublas_device.h"

#include <string.h>
#include <stdio.h>

#include "harness/worker/backends/cublas_facts.h"

int gp_cublas_cuda(cudaError_t status, const char *what, struct gp_err *err)
{
    const char *more = "";

    if (status == cudaSuccess)
        return 0;
    /* An ordinary error is gone once it was read. One that comes again has
     * taken the context with it. */
    (void)cudaGetLastError();
    if (cudaDeviceSynchronize() != cudaSuccess)
        more = "; the CUDA context of this worker is lost, it must be started "
               "again";
    return gp_err_set(err, GP_ERR_BACKEND, "%s failed: %s (%s)%s", what,
                      cudaGetErrorString(status), cudaGetErrorName(status),
                      more);
}

int gp_cublas_device_check(struct gp_err *err)
{
    int count = 0, driver = 0;
    cudaError_t status = cudaGetDeviceCount(&count);

    if (status != cudaSuccess) {
        /* The runtime calls a driver that is not there too old. */
        if (cudaDriverGetVersion(&driver) != cudaSuccess)
            driver = 0;
        return gp_err_set(
            err, GP_ERR_BACKEND,
            "no CUDA device: cudaGetDeviceCount says '%s' (%s)%s; look at "
            "nvidia-smi and CUDA_VISIBLE_DEVICES",
            cudaGetErrorString(status), cudaGetErrorName(status),
            driver == 0 ? ", and no NVIDIA driver answers" : "");
    }
    if (count == 0)
        return gp_err_set(err, GP_ERR_BACKEND,
                          "no CUDA device: cudaGetDeviceCount counts none; "
                          "look at nvidia-smi and CUDA_VISIBLE_DEVICES");
    /* Makes the context, so that a device in exclusive use says so here. */
    if (gp_cublas_cuda(cudaSetDevice(0), "choosing the CUDA device", err))
        return -1;
    return gp_cublas_cuda(cudaFree(NULL), "making a CUDA context", err);
}

/* CUDA writes 13.0 as 13000. */
static void set_version(json_t *device, const char *key, int version)
{
    char text[32];

    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    gp_json_set_str(device, key, text);
}

static void uuid_text(const char bytes[16], char ret_text[64])
{
    unsigned char b[16];

    memcpy(b, bytes, sizeof b);
    snprintf(ret_text, 64,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
}

static const char *mode_word(int mode)
{
    switch (mode) {
    case cudaComputeModeDefault:
        return "default";
    case cudaComputeModeExclusive:
        return "exclusive-thread";
    case cudaComputeModeProhibited:
        return "prohibited";
    case cudaComputeModeExclusiveProcess:
        return "exclusive-process";
    default:
        return "unknown";
    }
}

int gp_cublas_device_describe(json_t *device, struct gp_err *err)
{
    const char *what = "asking for the properties of the CUDA device";
    struct cudaDeviceProp properties;
    int id, ecc_on, mode, driver, runtime;
    char bus[32], uuid[64];
    json_t *ecc;

    if (gp_cublas_cuda(cudaGetDevice(&id), what, err) ||
        gp_cublas_cuda(cudaGetDeviceProperties(&properties, id), what, err) ||
        gp_cublas_cuda(
            cudaDeviceGetAttribute(&ecc_on, cudaDevAttrEccEnabled, id), what,
            err) ||
        gp_cublas_cuda(
            cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, id), what,
            err) ||
        gp_cublas_cuda(cudaDeviceGetPCIBusId(bus, (int)sizeof bus, id), what,
                       err) ||
        gp_cublas_cuda(cudaDriverGetVersion(&driver), what, err) ||
        gp_cublas_cuda(cudaRuntimeGetVersion(&runtime), what, err))
        return -1;
    gp_json_set_str(device, "name", properties.name);
    uuid_text(properties.uuid.bytes, uuid);
    gp_json_set_str(device, "uuid", uuid);
    gp_json_set_int(device, "compute_capability",
                    properties.major * 10 + properties.minor);
    gp_json_set_int(device, "multiprocessors", properties.multiProcessorCount);
    gp_json_set_int(device, "memory_bytes",
                    (json_int_t)properties.totalGlobalMem);
    ecc = gp_json_object();
    gp_json_set_bool(ecc, "enabled", ecc_on != 0);
    gp_json_set(device, "ecc", ecc);
    gp_json_set_str(device, "compute_mode", mode_word(mode));
    gp_json_set_str(device, "pci_bus_id", bus);
    set_version(device, "cuda_driver", driver);
    set_version(device, "runtime", runtime);
    gp_cublas_facts(device, uuid);
    return 0;
}
