#define _GNU_SOURCE /* RTLD_NOLOAD */

#include "harness/worker/backends/cublas_loaded.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness/worker/backends/cublas_load.h"

static const char *const names[] = {"libcublas", "libcublasLt", "libcudart",
                                    "libcuda",   "libnvrtc",    "libcupti"};
enum { NAMES = sizeof names / sizeof names[0] };

static bool is_library(const char *path, const char *name)
{
    const char *base = strrchr(path, '/') + 1;
    size_t len = strlen(name);

    return strncmp(base, name, len) == 0 && strncmp(base + len, ".so", 3) == 0;
}

static bool is_listed(const json_t *list, const char *path)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(gp_json_str_or(json_array_get(list, i), "path", ""), path) ==
            0)
            return true;
    return false;
}

static void list_one(json_t *list, FILE *maps, const char *name)
{
    char line[PATH_MAX + 128];
    char *path;
    json_t *row;

    rewind(maps);
    while (fgets(line, sizeof line, maps)) {
        path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        if (!is_library(path, name) || is_listed(list, path))
            continue;
        row = gp_json_object();
        gp_json_set_str(row, "name", name);
        gp_json_set(row, "path", gp_json_text(path));
        gp_json_append(list, row);
    }
}

json_t *gp_cublas_loaded(void)
{
    json_t *list = gp_json_array();
    FILE *maps = fopen("/proc/self/maps", "r");

    if (!maps)
        return list;
    for (int i = 0; i < NAMES; i++)
        list_one(list, maps, names[i]);
    (void)fclose(maps);
    return list;
}

static void set_lt_version(json_t *library, const char *path)
{
    void *lt = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *found = lt ? dlsym(lt, "cublasLtGetVersion") : NULL;
    size_t (*get_version)(void);
    char text[32];

    if (found) {
        /* Made a function as in cublas_load.c. */
        memcpy(&get_version, &found, sizeof found);
        gp_cublas_version_text(gp_cublas_version((int)get_version()), text);
        gp_json_set_str(library, "lt_version", text);
    }
    if (lt)
        (void)dlclose(lt);
}

void gp_cublas_loaded_lt(json_t *library)
{
    char path[PATH_MAX];

    gp_cublas_lt_path(path, sizeof path);
    if (!*path)
        return;
    gp_json_set_str(library, "lt_path", path);
    set_lt_version(library, path);
}
