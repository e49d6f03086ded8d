#include "harness/worker/backends/cublas_device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

/* The first word of the line that looks like 580.159.03. */
static void set_kernel_driver(json_t *device)
{
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    char line[512], *rest, *word;

    if (!file)
        return;
    word =
        fgets(line, sizeof line, file) ? strtok_r(line, " \t\n", &rest) : NULL;
    while (word && !(isdigit((unsigned char)word[0]) && strchr(word, '.')))
        word = strtok_r(NULL, " \t\n", &rest);
    if (word)
        gp_json_set_str(device, "kernel_driver", word);
    (void)fclose(file);
}

static void set_uuid(json_t *device, const char bytes[16])
{
    char text[8 + 32 + 4], *at = text;

    at += sprintf(at, "GPU-");
    for (int i = 0; i < 16; i++)
        at += sprintf(at, "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                      (unsigned)(unsigned char)bytes[i]);
    gp_json_set_str(device, "uuid", text);
}

int gp_cublas_device_describe(json_t *device, struct gp_err *err)
{
    const char *what = "asking for the properties of the CUDA device";
    struct cudaDeviceProp properties;
    int id, ecc, driver, runtime;
    char bus[32];

    if (gp_cublas_cuda(cudaGetDevice(&id), what, err) ||
        gp_cublas_cuda(cudaGetDeviceProperties(&properties, id), what, err) ||
        gp_cublas_cuda(cudaDeviceGetAttribute(&ecc, cudaDevAttrEccEnabled, id),
                       what, err) ||
        gp_cublas_cuda(cudaDeviceGetPCIBusId(bus, (int)sizeof bus, id), what,
                       err) ||
        gp_cublas_cuda(cudaDriverGetVersion(&driver), what, err) ||
        gp_cublas_cuda(cudaRuntimeGetVersion(&runtime), what, err))
        return -1;
    gp_json_set_str(device, "name", properties.name);
    set_uuid(device, properties.uuid.bytes);
    gp_json_set_int(device, "compute_capability",
                    properties.major * 10 + properties.minor);
    gp_json_set_int(device, "multiprocessors", properties.multiProcessorCount);
    gp_json_set_int(device, "memory_bytes",
                    (json_int_t)properties.totalGlobalMem);
    gp_json_set_bool(device, "ecc", ecc != 0);
    gp_json_set_str(device, "pci_bus_id", bus);
    set_version(device, "driver", driver);
    set_version(device, "runtime", runtime);
    set_kernel_driver(device);
    return 0;
}
