#include "harness/worker/backends/cublas_evidence.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<cupti.h>)
#define WITH_CUPTI 1
#include <cupti.h>
#else
#define WITH_CUPTI 0
#endif

#define VARIABLE "CUBLAS_WORKSPACE_CONFIG"

bool gp_cublas_workspace_well_formed(const char *value)
{
    const char *at = value;
    int numbers = 0;

    while (*at == ':' && isdigit((unsigned char)at[1])) {
        at++;
        while (isdigit((unsigned char)*at))
            at++;
        numbers++;
    }
    return !*at && numbers >= 2 && numbers % 2 == 0;
}

#if WITH_CUPTI

struct cupti {
    void *library;
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc,
                             void *);
    CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
    CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle,
                          CUpti_CallbackDomain, CUpti_CallbackId);
    CUptiResult (*result_text)(CUptiResult, const char **);
};

static const struct {
    const char *name;
    size_t place;
} symbols[] = {
    {"cuptiSubscribe", offsetof(struct cupti, subscribe)},
    {"cuptiUnsubscribe", offsetof(struct cupti, unsubscribe)},
    {"cuptiEnableCallback", offsetof(struct cupti, enable)},
    {"cuptiGetResultString", offsetof(struct cupti, result_text)},
};

/* Majors 11 have a minor in the name of the library: the link of the
 * toolkit, last here, finds those. */
static const char *const names[] = {"libcupti.so.13", "libcupti.so.12",
                                    "libcupti.so.11", "libcupti.so"};
enum { NAMES = sizeof names / sizeof names[0] };

/* The calls watched. Those of the second kind are unknown to a CUPTI that is
 * older than they are. */
static const struct {
    CUpti_CallbackId id;
    bool may_be_unknown;
} calls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, false},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged, false},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, false},
    {CUPTI_DRIVER_TRACE_CBID_cuMemCreate, true},
#if CUDA_VERSION >= 11020
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, true},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz, true},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, true},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz, true},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, true},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz, true},
#endif
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static void made(struct gp_cublas_evidence *evidence,
                 unsigned long long address, size_t bytes)
{
    if (evidence->count < GP_CUBLAS_ALLOCATIONS)
        evidence->made[evidence->count] =
            (struct gp_cublas_allocation){.address = address, .bytes = bytes};
    evidence->count++;
}

/* The latest of that address: one that was released can be given out again. */
static void released(struct gp_cublas_evidence *evidence,
                     unsigned long long address)
{
    int i = evidence->count < GP_CUBLAS_ALLOCATIONS ? evidence->count
                                                    : GP_CUBLAS_ALLOCATIONS;

    while (--i >= 0)
        if (evidence->made[i].address == address &&
            !evidence->made[i].released) {
            evidence->made[i].released = true;
            return;
        }
}

static void note_call(struct gp_cublas_evidence *evidence, CUpti_CallbackId id,
                      const void *params)
{
    const cuMemAlloc_v2_params *plain = params;
    const cuMemAllocManaged_params *managed = params;
    const cuMemCreate_params *created = params;
#if CUDA_VERSION >= 11020
    const cuMemAllocAsync_params *async = params;
    const cuMemAllocFromPoolAsync_params *pool = params;
#endif

    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
        made(evidence, *plain->dptr, plain->bytesize);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
        made(evidence, *managed->dptr, managed->bytesize);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
        made(evidence, *created->handle, created->size);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
        released(evidence, ((const cuMemFree_v2_params *)params)->dptr);
        break;
#if CUDA_VERSION >= 11020
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
        made(evidence, *async->dptr, async->bytesize);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
        made(evidence, *pool->dptr, pool->bytesize);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
        released(evidence, ((const cuMemFreeAsync_params *)params)->dptr);
        break;
#endif
    default:
        break;
    }
}

/* Called on the thread that makes the call, and a worker has one. */
static void CUPTIAPI callback(void *evidence, CUpti_CallbackDomain domain,
                              CUpti_CallbackId id, const void *data)
{
    const CUpti_CallbackData *call = data;

    if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
        call->callbackSite == CUPTI_API_EXIT &&
        *(const CUresult *)call->functionReturnValue == CUDA_SUCCESS)
        note_call(evidence, id, call->functionParams);
}

static void *load_from(const char *folder, const char *below)
{
    void *library = NULL;
    char path[PATH_MAX];
    int used;

    for (int i = 0; i < NAMES && !library; i++) {
        used = snprintf(path, sizeof path, "%s/%s/%s", folder, below, names[i]);
        if (used > 0 && (size_t)used < sizeof path)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* By the loader; beside cuBLAS, or where the Python packages of CUDA 12 have
 * it; in the toolkit. */
static void *load_any(const struct gp_cublas_api *api)
{
    const char *homes[] = {getenv("CUDA_HOME"), "/usr/local/cuda"};
    void *library = NULL;
    char beside[PATH_MAX];
    char *slash;

    for (int i = 0; i < NAMES && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    gp_cublas_path(api, beside, sizeof beside);
    slash = strrchr(beside, '/');
    if (slash) {
        *slash = '\0';
        if (!library)
            library = load_from(beside, ".");
        if (!library)
            library = load_from(beside, "../../cuda_cupti/lib");
    }
    for (int i = 0; i < 2 && !library; i++) {
        if (!homes[i] || !*homes[i])
            continue;
        library = load_from(homes[i], "extras/CUPTI/lib64");
        if (!library)
            library = load_from(homes[i], "lib64");
    }
    return library;
}

/* It stays loaded: once subscribed to, the driver calls into it. */
static bool load(struct cupti *cupti, const struct gp_cublas_api *api,
                 struct gp_cublas_evidence *evidence)
{
    void *found;

    cupti->library = load_any(api);
    if (!cupti->library) {
        snprintf(evidence->unproved, sizeof evidence->unproved,
                 "no libcupti: put the folder of libcupti.so.13 or .12 into "
                 "LD_LIBRARY_PATH");
        return false;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        found = dlsym(cupti->library, symbols[i].name);
        /* Made a function as in cublas_load.c. */
        memcpy((char *)cupti + symbols[i].place, &found, sizeof found);
        if (!found) {
            snprintf(evidence->unproved, sizeof evidence->unproved,
                     "the libcupti that was loaded has no %s", symbols[i].name);
            (void)dlclose(cupti->library);
            return false;
        }
    }
    return true;
}

static bool accepted(const struct cupti *cupti, CUptiResult result,
                     const char *who, struct gp_cublas_evidence *evidence)
{
    const char *text = NULL;

    if (result == CUPTI_SUCCESS)
        return true;
    if (cupti->result_text(result, &text) != CUPTI_SUCCESS || !text)
        text = "an error without a name";
    snprintf(evidence->unproved, sizeof evidence->unproved, "%s says %s (%d)",
             who, text, (int)result);
    return false;
}

/* A control: without it, callbacks that never come would look like a library
 * that takes nothing. */
static bool witness(struct gp_cublas_evidence *evidence)
{
    void *memory = NULL;
    bool seen = false;

    if (cudaMalloc(&memory, 512) == cudaSuccess &&
        cudaFree(memory) == cudaSuccess)
        for (int i = 0; i < evidence->count && i < GP_CUBLAS_ALLOCATIONS; i++)
            seen = seen || (evidence->made[i].address ==
                                (unsigned long long)(uintptr_t)memory &&
                            evidence->made[i].released);
    (void)cudaGetLastError();
    evidence->count = 0;
    if (!seen)
        snprintf(evidence->unproved, sizeof evidence->unproved,
                 "the callbacks of CUPTI did not show an allocation that this "
                 "worker made");
    return seen;
}

static bool watch(const struct cupti *cupti, CUpti_SubscriberHandle subscriber,
                  struct gp_cublas_evidence *evidence)
{
    CUptiResult result;

    for (int i = 0; i < CALLS; i++) {
        result = cupti->enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                               calls[i].id);
        if (calls[i].may_be_unknown && result == CUPTI_ERROR_INVALID_PARAMETER)
            continue;
        if (!accepted(cupti, result, "cuptiEnableCallback", evidence))
            return false;
    }
    return true;
}

/* All are told to stop, also those that were never on. */
static void unwatch(const struct cupti *cupti,
                    CUpti_SubscriberHandle subscriber)
{
    for (int i = 0; i < CALLS; i++)
        (void)cupti->enable(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                            calls[i].id);
    (void)cupti->unsubscribe(subscriber);
}

cublasStatus_t gp_cublas_evidence_create(struct gp_cublas_evidence *evidence,
                                         const struct gp_cublas_api *api,
                                         cublasHandle_t *ret_handle)
{
    struct cupti cupti = {0};
    CUpti_SubscriberHandle subscriber;
    cublasStatus_t status;

    *evidence = (struct gp_cublas_evidence){0};
    if (!load(&cupti, api, evidence) ||
        !accepted(&cupti, cupti.subscribe(&subscriber, callback, evidence),
                  "cuptiSubscribe", evidence))
        return api->create(ret_handle);
    evidence->recorded =
        watch(&cupti, subscriber, evidence) && witness(evidence);
    status = api->create(ret_handle);
    unwatch(&cupti, subscriber);
    if (evidence->count > GP_CUBLAS_ALLOCATIONS) {
        evidence->recorded = false;
        snprintf(evidence->unproved, sizeof evidence->unproved,
                 "cublasCreate made %d allocations, and %d can be recorded",
                 evidence->count, GP_CUBLAS_ALLOCATIONS);
    }
    return status;
}

#else

cublasStatus_t gp_cublas_evidence_create(struct gp_cublas_evidence *evidence,
                                         const struct gp_cublas_api *api,
                                         cublasHandle_t *ret_handle)
{
    *evidence = (struct gp_cublas_evidence){
        .unproved = "this worker was built without the headers of CUPTI"};
    return api->create(ret_handle);
}

#endif

static int larger_first(const void *left, const void *right)
{
    const struct gp_cublas_allocation *a = left, *b = right;

    return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : 0;
}

static json_t *sizes(const struct gp_cublas_allocation *sorted, int count,
                     bool released_ones)
{
    json_t *array = gp_json_array();

    for (int i = 0; i < count; i++)
        if (sorted[i].released == released_ones)
            gp_json_append(array, json_integer((json_int_t)sorted[i].bytes));
    return array;
}

json_t *gp_cublas_evidence_describe(const struct gp_cublas_evidence *evidence)
{
    struct gp_cublas_evidence sorted = *evidence;
    const char *value = getenv(VARIABLE);
    json_t *workspace = gp_json_object();
    json_t *released_ones;

    if (value) {
        gp_json_set(workspace, "variable", gp_json_text(value));
        gp_json_set_bool(workspace, "well_formed",
                         gp_cublas_workspace_well_formed(value));
    }
    if (!evidence->recorded) {
        gp_json_set(workspace, "unproved", gp_json_text(evidence->unproved));
        return workspace;
    }
    qsort(sorted.made, (size_t)sorted.count, sizeof sorted.made[0],
          larger_first);
    gp_json_set(workspace, "allocations",
                sizes(sorted.made, sorted.count, false));
    released_ones = sizes(sorted.made, sorted.count, true);
    if (json_array_size(released_ones) > 0)
        gp_json_set(workspace, "released", released_ones);
    else
        json_decref(released_ones);
    gp_json_set_str(workspace, "source", "CUPTI driver callbacks");
    return workspace;
}
