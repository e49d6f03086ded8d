#include "harness/engine/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reference/refgemm.h"

extern char **environ;

void gp_doctor_say(const struct gp_doctor *doctor, enum gp_doctor_state state,
                   const char *about, const char *fmt, ...)
{
    char text[1400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' '; /* one line, whatever a library says of itself */
    doctor->say(doctor->ctx, state, about, text);
}

/* --- What the worker of a GPU says ---------------------------------------- */

static const char not_known[] = "not known";

static const json_t *state_of(const json_t *device, const char *key)
{
    return json_object_get(json_object_get(device, "state"), key);
}

/* "1980 MHz", or that it is not known. */
static const char *number(const json_t *object, const char *key,
                          const char *unit, char text[48])
{
    int64_t value = gp_json_int_or(object, key, -1);

    if (value < 0)
        return not_known;
    snprintf(text, 48, "%lld%s", (long long)value, unit);
    return text;
}

static void tell_gpu(const struct gp_doctor *doctor, const json_t *device)
{
    int64_t capability = gp_json_int_or(device, "compute_capability", 0);
    const json_t *mig = json_object_get(device, "mig");
    char cores[48], degrees[48];

    gp_doctor_say(doctor, GP_DOCTOR_OK, "gpu",
                  "%s, compute capability %lld.%lld, %s, MIG %s, %s",
                  gp_json_str_or(device, "name", not_known),
                  (long long)capability / 10, (long long)capability % 10,
                  number(device, "multiprocessors", " multiprocessors", cores),
                  json_is_boolean(mig) ? json_is_true(mig) ? "on" : "off"
                                       : not_known,
                  number(json_object_get(device, "state"), "temperature_c",
                         " degrees C", degrees));
    gp_doctor_say(doctor, GP_DOCTOR_OK, "driver", "%s, which knows CUDA %s",
                  gp_json_str_or(device, "driver", not_known),
                  gp_json_str_or(device, "cuda_driver", not_known));
}

static void tell_compute_mode(const struct gp_doctor *doctor,
                              const json_t *device)
{
    const char *mode = gp_json_str_or(device, "compute_mode", not_known);

    if (strcmp(mode, "prohibited") == 0)
        gp_doctor_say(doctor, GP_DOCTOR_UNUSABLE, "compute mode",
                      "prohibited, so no program may use the GPU: "
                      "nvidia-smi -c DEFAULT");
    else if (strncmp(mode, "exclusive", 9) == 0)
        gp_doctor_say(doctor, GP_DOCTOR_OK, "compute mode",
                      "%s: one program at a time, so another job makes a "
                      "worker fail",
                      mode);
    else
        gp_doctor_say(doctor, GP_DOCTOR_OK, "compute mode", "%s", mode);
}

static void tell_ecc(const struct gp_doctor *doctor, const json_t *device)
{
    const json_t *enabled =
        json_object_get(json_object_get(device, "ecc"), "enabled");
    const json_t *counts = state_of(device, "ecc");
    int64_t now = gp_json_int_or(counts, "uncorrected_volatile", 0);
    char corrected[48], uncorrected[48], ever[48];

    if (json_is_false(enabled))
        gp_doctor_say(doctor, GP_DOCTOR_OK, "ecc",
                      "off: a flipped bit of memory is seen by nobody but "
                      "the checks (nvidia-smi -e 1)");
    else if (now > 0)
        gp_doctor_say(doctor, GP_DOCTOR_WRONG, "ecc",
                      "%lld uncorrected errors since the driver was loaded: "
                      "this memory has lost bits, so reset or replace the GPU "
                      "before believing a result",
                      (long long)now);
    else
        gp_doctor_say(doctor, GP_DOCTOR_OK, "ecc",
                      "%s; uncorrected errors: %s, in its life %s; corrected: "
                      "%s",
                      json_is_true(enabled) ? "on" : not_known,
                      number(counts, "uncorrected_volatile", "", uncorrected),
                      number(counts, "uncorrected_aggregate", "", ever),
                      number(counts, "corrected_volatile", "", corrected));
}

/* Reasons that slow a device down because something is wrong with it. */
static bool is_distress(const char *reason)
{
    return strcmp(reason, "hw-slowdown") == 0 ||
           strcmp(reason, "sw-thermal") == 0 ||
           strcmp(reason, "hw-thermal") == 0 ||
           strcmp(reason, "hw-power-brake") == 0;
}

static void tell_clocks(const struct gp_doctor *doctor, const json_t *device)
{
    const json_t *clocks = state_of(device, "clocks");
    const json_t *reasons = json_object_get(clocks, "throttle");
    char now[48], most[48], memory[48];
    struct gp_buf words = {0};
    bool distress = false;

    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const char *reason = json_string_value(json_array_get(reasons, i));
        if (!reason)
            continue;
        distress = distress || is_distress(reason);
        gp_buf_printf(&words, "%s%s", words.len ? ", " : "", reason);
    }
    gp_doctor_say(doctor, GP_DOCTOR_OK, "clocks", "SM %s of %s, memory %s",
                  number(clocks, "sm_mhz", " MHz", now),
                  number(clocks, "sm_max_mhz", " MHz", most),
                  number(clocks, "memory_mhz", " MHz", memory));
    if (distress)
        gp_doctor_say(doctor, GP_DOCTOR_WRONG, "throttling",
                      "%s: the device slows down to protect itself; look at "
                      "its cooling and power (nvidia-smi -q -d PERFORMANCE) "
                      "before believing a result",
                      gp_buf_text(&words));
    else
        gp_doctor_say(doctor, GP_DOCTOR_OK, "throttling", "%s",
                      !json_is_array(reasons) ? not_known
                      : words.len             ? gp_buf_text(&words)
                                              : "none");
    gp_buf_free(&words);
}

static void tell_library(const struct gp_doctor *doctor, const json_t *library)
{
    const json_t *loaded = json_object_get(library, "loaded");
    const char *lt = gp_json_str_or(library, "lt_path", "");

    gp_doctor_say(doctor, GP_DOCTOR_OK, "library", "%s %s: %s",
                  gp_json_str_or(library, "name", not_known),
                  gp_json_str_or(library, "version", not_known),
                  gp_json_str_or(library, "path", not_known));
    if (*lt)
        gp_doctor_say(doctor, GP_DOCTOR_OK, "library", "cuBLASLt %s: %s",
                      gp_json_str_or(library, "lt_version", not_known), lt);
    for (size_t i = 0; i < json_array_size(loaded); i++) {
        const json_t *row = json_array_get(loaded, i);
        const char *path = gp_json_str_or(row, "path", not_known);
        if (strcmp(path, gp_json_str_or(library, "path", "")) != 0 &&
            strcmp(path, lt) != 0)
            gp_doctor_say(doctor, GP_DOCTOR_OK, "loaded", "%s: %s",
                          gp_json_str_or(row, "name", not_known), path);
    }
}

static void tell_workspace(const struct gp_doctor *doctor,
                           const json_t *workspace)
{
    const json_t *allocations = json_object_get(workspace, "allocations");
    const char *unproved = gp_json_str_or(workspace, "unproved", "");
    struct gp_buf sizes = {0};

    for (size_t i = 0; i < json_array_size(allocations); i++)
        gp_buf_printf(
            &sizes, "%s%lld", i ? ", " : "",
            (long long)json_integer_value(json_array_get(allocations, i)));
    if (json_is_array(allocations))
        gp_doctor_say(doctor, GP_DOCTOR_OK, "workspace",
                      "CUBLAS_WORKSPACE_CONFIG unset: cublasCreate allocates "
                      "%s bytes, so what another value does can be proved",
                      sizes.len ? gp_buf_text(&sizes) : "no");
    else
        gp_doctor_say(doctor, GP_DOCTOR_OK, "workspace",
                      "%s; what a workspace value does stays unproved",
                      *unproved ? unproved : not_known);
    gp_buf_free(&sizes);
}

void gp_doctor_worker(const struct gp_doctor *doctor, struct gp_pool *pool,
                      const char *backend, bool required)
{
    struct gp_worker *worker;
    const json_t *device, *library;
    struct gp_err err;
    bool started;

    if (gp_pool_get(pool, backend, "unset", "", &worker, &started, &err) != 0) {
        gp_doctor_say(doctor, required ? GP_DOCTOR_UNUSABLE : GP_DOCTOR_OK,
                      "worker", "%s%s", err.text,
                      required ? "" : " (nothing here needs it)");
        return;
    }
    device = json_object_get(worker->hello, "device");
    library = json_object_get(worker->hello, "library");
    gp_doctor_say(doctor, GP_DOCTOR_OK, "worker", "%s greets: %s %s on %s",
                  backend, gp_json_str_or(library, "name", not_known),
                  gp_json_str_or(library, "version", not_known),
                  gp_json_str_or(device, "name", not_known));
    if (gp_worker_capability(worker) == 0 ||
        gp_json_bool_or(device, "simulated", false))
        return;
    tell_gpu(doctor, device);
    tell_compute_mode(doctor, device);
    tell_ecc(doctor, device);
    tell_clocks(doctor, device);
    tell_library(doctor, library);
    tell_workspace(doctor, json_object_get(worker->hello, "workspace"));
}

/* --- The reference ---------------------------------------------------------
 */

static bool certify(const struct gp_doctor *doctor, const char *type,
                    const char *family, int64_t m, int64_t n, int64_t k,
                    double *seconds)
{
    struct gp_gemm gemm = {.m = m,
                           .n = n,
                           .k = k,
                           .batch = 1,
                           .alpha = 1,
                           .lda = m,
                           .ldb = k,
                           .ldc = m,
                           .in = gp_type_find(type),
                           .out = gp_type_find(type)};
    struct gp_reference reference = {0};
    struct gp_err err;
    bool good = gp_reference_make(&reference, &gemm, gp_family_find(family), 1,
                                  &err) == 0;

    *seconds += reference.seconds;
    gp_reference_free(&reference);
    if (!good)
        gp_doctor_say(doctor, GP_DOCTOR_WRONG, "certificate",
                      "%s %s, %lldx%lldx%lld: %s", type, family, (long long)m,
                      (long long)n, (long long)k, err.text);
    return good;
}

void gp_doctor_reference(const struct gp_doctor *doctor)
{
    static const struct {
        const char *type, *family;
        int64_t m, n, k;
    } problems[] = {
        {"f32", "dense", 203, 197, 211},   {"f64", "exact", 193, 211, 223},
        {"f32", "exact", 199, 201, 205},   {"f64", "dense", 1009, 997, 1013},
        {"f32", "exact", 997, 1021, 1003}, {"f32", "grid", 1001, 1013, 991},
    };
    enum { PROBLEMS = sizeof problems / sizeof *problems };
    struct gp_reference_library library;
    double seconds = 0;
    int good = 0;

    gp_reference_library(&library);
    gp_doctor_say(doctor, GP_DOCTOR_OK, "reference",
                  "%s, kernel %s, %d threads", library.config, library.kernel,
                  library.threads);
    for (int i = 0; i < PROBLEMS; i++)
        good += certify(doctor, problems[i].type, problems[i].family,
                        problems[i].m, problems[i].n, problems[i].k, &seconds);
    if (good == PROBLEMS)
        gp_doctor_say(doctor, GP_DOCTOR_OK, "certificate",
                      "%d products of OpenBLAS hold, dense and exact, sizes "
                      "around 200 and 1000 (%.1f s)",
                      good, seconds);
}

/* --- The environment -------------------------------------------------------
 */

void gp_doctor_environment(const struct gp_doctor *doctor)
{
    int found = 0;

    for (char **at = environ; *at; at++) {
        const struct gp_pool_variable *row;
        char name[128];
        int len = (int)strcspn(*at, "=");
        if (len >= (int)sizeof name || !(*at)[len])
            continue;
        snprintf(name, sizeof name, "%.*s", len, *at);
        row = gp_pool_variable_find(name);
        if (!row)
            continue;
        found++;
        gp_doctor_say(doctor, GP_DOCTOR_OK, "environment", "%s=%.200s %s; %s",
                      name, *at + len + 1, row->help,
                      row->passes ? "workers see it, and the journal "
                                    "records it"
                                  : "workers do not see it unless --as-is "
                                    "is given");
    }
    if (!found)
        gp_doctor_say(doctor, GP_DOCTOR_OK, "environment",
                      "no variable is set that can change the arithmetic or "
                      "the library");
}
