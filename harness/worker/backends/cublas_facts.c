#include "harness/worker/backends/cublas_facts.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/*
 * The header of NVML is not in every toolkit, and few functions are needed:
 * they are found by name. All return 0 for success, and take enumerations
 * (int here) by value and results by pointer.
 */
struct nvml {
    void *library;
    void *device;
};

/* nvmlReturn_t, nvmlClockType_t, nvmlMemoryErrorType_t,
 * nvmlEccCounterType_t (volatile, aggregate), nvmlTemperatureSensors_t */
enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7 };
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };
enum { CORRECTED = 0, UNCORRECTED = 1 };
enum { SINCE_LOADED = 0, SINCE_EVER = 1 };
enum { TEMPERATURE_GPU = 0 };

/* The bits nvmlClocksEventReason..., lowest first. */
static const char *const reasons[] = {
    "idle",        "application-clocks", "sw-power-cap",
    "hw-slowdown", "sync-boost",         "sw-thermal",
    "hw-thermal",  "hw-power-brake",     "display-clocks",
};
enum { REASONS = sizeof reasons / sizeof reasons[0] };

/* A function pointer from what dlsym gave, as in cublas_load.c. */
static bool find(const struct nvml *nvml, const char *name, void *ret_function)
{
    void *found = dlsym(nvml->library, name);

    memcpy(ret_function, &found, sizeof found);
    return found != NULL;
}

static bool ask(const struct nvml *nvml, const char *name, unsigned *ret_value)
{
    int (*get)(void *, unsigned *);

    return find(nvml, name, &get) && get(nvml->device, ret_value) == SUCCESS;
}

static bool ask_of(const struct nvml *nvml, const char *name, int which,
                   unsigned *ret_value)
{
    int (*get)(void *, int, unsigned *);

    return find(nvml, name, &get) &&
           get(nvml->device, which, ret_value) == SUCCESS;
}

static void set_of(json_t *object, const char *key, const struct nvml *nvml,
                   const char *name, int which)
{
    unsigned value;

    if (ask_of(nvml, name, which, &value))
        gp_json_set_int(object, key, value);
}

/* The older name is that of the drivers before 535. */
static bool ask_reasons(const struct nvml *nvml, unsigned long long *ret_bits)
{
    int (*get)(void *, unsigned long long *);

    return (find(nvml, "nvmlDeviceGetCurrentClocksEventReasons", &get) ||
            find(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", &get)) &&
           get(nvml->device, ret_bits) == SUCCESS;
}

static void set_throttle(json_t *clocks, const struct nvml *nvml)
{
    unsigned long long bits;
    json_t *words;
    char room[16];

    if (!ask_reasons(nvml, &bits))
        return;
    words = gp_json_array();
    for (int i = 0; i < 64; i++) {
        if (!(bits >> i & 1))
            continue;
        snprintf(room, sizeof room, "bit-%d", i);
        gp_json_append(words, gp_json_text(i < REASONS ? reasons[i] : room));
    }
    gp_json_set(clocks, "throttle", words);
}

static void set_clocks(json_t *state, const struct nvml *nvml)
{
    static const char now[] = "nvmlDeviceGetClockInfo";
    static const char max[] = "nvmlDeviceGetMaxClockInfo";
    json_t *clocks = gp_json_object();

    set_of(clocks, "sm_mhz", nvml, now, CLOCK_SM);
    set_of(clocks, "memory_mhz", nvml, now, CLOCK_MEMORY);
    set_of(clocks, "sm_max_mhz", nvml, max, CLOCK_SM);
    set_of(clocks, "memory_max_mhz", nvml, max, CLOCK_MEMORY);
    set_throttle(clocks, nvml);
    gp_json_set(state, "clocks", clocks);
}

static void set_ecc_counts(json_t *state, const struct nvml *nvml)
{
    static const struct {
        const char *key;
        int kind, since;
    } rows[] = {
        {"corrected_volatile", CORRECTED, SINCE_LOADED},
        {"uncorrected_volatile", UNCORRECTED, SINCE_LOADED},
        {"corrected_aggregate", CORRECTED, SINCE_EVER},
        {"uncorrected_aggregate", UNCORRECTED, SINCE_EVER},
    };
    int (*get)(void *, int, int, unsigned long long *);
    unsigned long long count;
    json_t *ecc;

    if (!find(nvml, "nvmlDeviceGetTotalEccErrors", &get))
        return;
    ecc = gp_json_object();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (get(nvml->device, rows[i].kind, rows[i].since, &count) == SUCCESS)
            gp_json_set_int(ecc, rows[i].key, (int64_t)count);
    if (json_object_size(ecc) > 0)
        gp_json_set(state, "ecc", ecc);
    else
        json_decref(ecc);
}

/* Asked with room for none it says how many there are. */
static void set_processes(json_t *state, const struct nvml *nvml)
{
    int (*get)(void *, unsigned *, void *);
    unsigned count = 0;
    int status;

    if (!find(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", &get) &&
        !find(nvml, "nvmlDeviceGetComputeRunningProcesses_v2", &get))
        return;
    status = get(nvml->device, &count, NULL);
    if (status == SUCCESS || status == INSUFFICIENT_SIZE)
        gp_json_set_int(state, "compute_processes", count);
}

static void set_device(json_t *device, const struct nvml *nvml)
{
    int (*get_mig)(void *, unsigned *, unsigned *);
    unsigned value, pending;
    json_t *state = gp_json_object();

    if (ask(nvml, "nvmlDeviceGetPersistenceMode", &value))
        gp_json_set_bool(device, "persistence", value != 0);
    if (find(nvml, "nvmlDeviceGetMigMode", &get_mig) &&
        get_mig(nvml->device, &value, &pending) == SUCCESS)
        gp_json_set_bool(device, "mig", value != 0);
    if (ask(nvml, "nvmlDeviceGetPowerManagementLimit", &value))
        gp_json_set_real(device, "power_limit_w", value / 1000.0);
    set_clocks(state, nvml);
    set_of(state, "temperature_c", nvml, "nvmlDeviceGetTemperature",
           TEMPERATURE_GPU);
    set_ecc_counts(state, nvml);
    set_processes(state, nvml);
    gp_json_set(device, "state", state);
}

/* CUDA writes the UUID of a part of a device, under MIG, with the same "GPU-";
 * NVML has it with "MIG-", and knows most of the whole device only. */
static bool find_device(struct nvml *nvml, const char *uuid)
{
    int (*by_uuid)(const char *, void **);
    int (*whole)(void *, void **);
    char mig[64];

    if (!find(nvml, "nvmlDeviceGetHandleByUUID", &by_uuid))
        return false;
    if (by_uuid(uuid, &nvml->device) == SUCCESS)
        return true;
    snprintf(mig, sizeof mig, "MIG%s", uuid + strcspn(uuid, "-"));
    return by_uuid(mig, &nvml->device) == SUCCESS &&
           find(nvml, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &whole) &&
           whole(nvml->device, &nvml->device) == SUCCESS;
}

/* The first word of the line that looks like 580.159.03. */
static void set_driver_of_proc(json_t *device)
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
        gp_json_set_str(device, "driver", word);
    (void)fclose(file);
}

static void set_driver(json_t *device, const struct nvml *nvml)
{
    int (*get)(char *, unsigned);
    char text[96];

    if (find(nvml, "nvmlSystemGetDriverVersion", &get) &&
        get(text, sizeof text) == SUCCESS)
        gp_json_set(device, "driver", gp_json_text(text));
}

static void ask_nvml(json_t *device, struct nvml *nvml, const char *uuid)
{
    int (*init)(void), (*shutdown)(void);
    char text[128];
    int status;

    if (!find(nvml, "nvmlInit_v2", &init) ||
        !find(nvml, "nvmlShutdown", &shutdown)) {
        gp_json_set_str(device, "nvml", "libnvidia-ml.so.1 has no nvmlInit_v2");
        return;
    }
    status = init();
    if (status != SUCCESS) {
        snprintf(text, sizeof text, "nvmlInit_v2 says nvmlReturn_t %d", status);
        gp_json_set_str(device, "nvml", text);
        return;
    }
    set_driver(device, nvml);
    if (find_device(nvml, uuid))
        set_device(device, nvml);
    else
        gp_json_set_str(device, "nvml", "NVML knows no device of this UUID");
    (void)shutdown();
}

void gp_cublas_facts(json_t *device, const char *uuid)
{
    struct nvml nvml = {0};
    const char *said;

    nvml.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml.library) {
        ask_nvml(device, &nvml, uuid);
        (void)dlclose(nvml.library);
    } else {
        said = dlerror();
        gp_json_set(device, "nvml",
                    gp_json_text(said ? said : "no libnvidia-ml.so.1"));
    }
    if (!json_object_get(device, "driver"))
        set_driver_of_proc(device);
}
