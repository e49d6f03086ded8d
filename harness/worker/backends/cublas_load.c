#define _GNU_SOURCE /* dladdr */

#include "harness/worker/backends/cublas_load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/buf.h"

static const char *const names[] = {
    "libcublas.so.13",
    "libcublas.so.12",
    "libcublas.so.11",
};
enum { NAMES = sizeof names / sizeof names[0] };

static const struct {
    const char *name;
    size_t place;
    int required;
} symbols[] = {
    {"cublasCreate_v2", offsetof(struct gp_cublas_api, create), 1},
    {"cublasDestroy_v2", offsetof(struct gp_cublas_api, destroy), 1},
    {"cublasGetVersion_v2", offsetof(struct gp_cublas_api, get_version), 1},
    {"cublasSetStream_v2", offsetof(struct gp_cublas_api, set_stream), 1},
    {"cublasSetMathMode", offsetof(struct gp_cublas_api, set_math_mode), 1},
    {"cublasSetPointerMode_v2",
     offsetof(struct gp_cublas_api, set_pointer_mode), 1},
    {"cublasSgemm_v2", offsetof(struct gp_cublas_api, sgemm), 1},
    {"cublasDgemm_v2", offsetof(struct gp_cublas_api, dgemm), 1},
    {"cublasGemmEx", offsetof(struct gp_cublas_api, gemm_ex), 1},
    {"cublasSgemmStridedBatched", offsetof(struct gp_cublas_api, sgemm_batched),
     1},
    {"cublasDgemmStridedBatched", offsetof(struct gp_cublas_api, dgemm_batched),
     1},
    {"cublasGemmStridedBatchedEx",
     offsetof(struct gp_cublas_api, gemm_batched_ex), 1},
    {"cublasSgemm_v2_64", offsetof(struct gp_cublas_api, sgemm_64), 0},
    {"cublasDgemm_v2_64", offsetof(struct gp_cublas_api, dgemm_64), 0},
    {"cublasGemmEx_64", offsetof(struct gp_cublas_api, gemm_ex_64), 0},
    {"cublasSgemmStridedBatched_64",
     offsetof(struct gp_cublas_api, sgemm_batched_64), 0},
    {"cublasDgemmStridedBatched_64",
     offsetof(struct gp_cublas_api, dgemm_batched_64), 0},
    {"cublasGemmStridedBatchedEx_64",
     offsetof(struct gp_cublas_api, gemm_batched_ex_64), 0},
    {"cublasGetStatusName", offsetof(struct gp_cublas_api, status_name), 0},
    {"cublasGetStatusString", offsetof(struct gp_cublas_api, status_text), 0},
};

/* libcublas finds its libcublasLt by LD_LIBRARY_PATH before its own folder,
 * and could so get one of another version. One that is loaded already wins,
 * so load the one beside it first; where there is none the loader decides. */
static void *load_lt_beside(const char *path)
{
    static const char stem[] = "libcublas.so";
    const char *slash = strrchr(path, '/');
    char lt[PATH_MAX];
    int used;

    if (!slash || strncmp(slash + 1, stem, sizeof stem - 1) != 0)
        return NULL;
    used = snprintf(lt, sizeof lt, "%.*s/libcublasLt.so%s", (int)(slash - path),
                    path, slash + sizeof stem);
    if (used < 0 || (size_t)used >= sizeof lt)
        return NULL;
    return dlopen(lt, RTLD_NOW | RTLD_LOCAL);
}

static void *load_one(const char *path, struct gp_buf *why)
{
    void *lt = load_lt_beside(path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *said;

    if (!library) {
        said = dlerror();
        gp_buf_printf(why, "%s%s", why->len ? "; " : "",
                      said ? said : "no reason given");
    }
    /* libcublas holds what it uses. */
    if (lt)
        (void)dlclose(lt);
    return library;
}

static void *load_from(const char *folder, struct gp_buf *why)
{
    void *library = NULL;
    char path[PATH_MAX];
    int used;

    for (int i = 0; i < NAMES && !library; i++) {
        used = snprintf(path, sizeof path, "%s/lib64/%s", folder, names[i]);
        if (used > 0 && (size_t)used < sizeof path)
            library = load_one(path, why);
    }
    return library;
}

static void *load_any(struct gp_buf *why)
{
    const char *home = getenv("CUDA_HOME");
    void *library = NULL;

    for (int i = 0; i < NAMES && !library; i++)
        library = load_one(names[i], why);
    if (!library && home && *home)
        library = load_from(home, why);
    if (!library)
        library = load_from("/usr/local/cuda", why);
    return library;
}

static int load_symbols(struct gp_cublas_api *api, const char *library,
                        struct gp_err *err)
{
    void *found;

    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        found = dlsym(api->library, symbols[i].name);
        /* The way POSIX has to make a function of what dlsym returns without
         * a cast that ISO C does not know. */
        memcpy((char *)api + symbols[i].place, &found, sizeof found);
        if (!found && symbols[i].required)
            return gp_err_set(err, GP_ERR_BACKEND,
                              "'%s' has no %s: it is not a libcublas of the "
                              "majors 11 to 13",
                              *library ? library : "libcublas.so",
                              symbols[i].name);
    }
    return 0;
}

int gp_cublas_load(struct gp_cublas_api *api, const char *library,
                   struct gp_err *err)
{
    struct gp_cublas_api made = {0};
    struct gp_buf why = {0};
    int failed = 0;

    made.library = *library ? load_one(library, &why) : load_any(&why);
    if (!made.library && *library)
        failed =
            gp_err_set(err, GP_ERR_BACKEND, "cannot load cuBLAS from '%s': %s",
                       library, gp_buf_text(&why));
    else if (!made.library)
        failed = gp_err_set(err, GP_ERR_BACKEND,
                            "no cuBLAS: install the CUDA Toolkit, put the "
                            "folder of libcublas.so.13, .12 or .11 into "
                            "LD_LIBRARY_PATH, or name the file with "
                            "--cublas PATH (the loader says: %s)",
                            gp_buf_text(&why));
    else
        failed = load_symbols(&made, library, err);
    gp_buf_free(&why);
    if (failed) {
        gp_cublas_unload(&made);
        return -1;
    }
    *api = made;
    return 0;
}

void gp_cublas_unload(struct gp_cublas_api *api)
{
    if (api->library)
        (void)dlclose(api->library);
    *api = (struct gp_cublas_api){0};
}

const char *gp_cublas_status(const struct gp_cublas_api *api,
                             cublasStatus_t status, char room[32])
{
    const char *name = NULL;

    if (api->status_name)
        name = api->status_name(status);
    else if (api->status_text)
        name = api->status_text(status);
    if (name && *name)
        return name;
    snprintf(room, 32, "cublasStatus_t %d", (int)status);
    return room;
}

static void real_path(const char *path, char *ret_path, size_t room)
{
    char *resolved = realpath(path, NULL);

    snprintf(ret_path, room, "%s", resolved ? resolved : path);
    free(resolved);
}

void gp_cublas_path(const struct gp_cublas_api *api, char *ret_path,
                    size_t room)
{
    void *symbol = dlsym(api->library, "cublasCreate_v2");
    Dl_info info;

    *ret_path = '\0';
    if (symbol && dladdr(symbol, &info) && info.dli_fname)
        real_path(info.dli_fname, ret_path, room);
}

int gp_cublas_version(int said)
{
    return said < 100000 ? said / 1000 * 10000 + said % 1000 : said;
}

void gp_cublas_version_text(int version, char ret_text[32])
{
    snprintf(ret_text, 32, "%d.%d.%d", version / 10000, version % 10000 / 100,
             version % 100);
}

void gp_cublas_lt_path(char *ret_path, size_t room)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 128];
    char *path;

    *ret_path = '\0';
    if (!maps)
        return;
    while (!*ret_path && fgets(line, sizeof line, maps)) {
        path = strchr(line, '/');
        if (!path || !strstr(path, "/libcublasLt.so"))
            continue;
        path[strcspn(path, "\n")] = '\0';
        real_path(path, ret_path, room);
    }
    (void)fclose(maps);
}
