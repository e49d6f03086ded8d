/* The environment of a worker is built, not inherited. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/pool.h"

extern char **environ;

/* Everything that is known to change the arithmetic, or which library runs. */
static const char *const scrubbed[] = {
    "CUBLAS*",
    "CUBLASLT*",
    "NVIDIA_TF32_OVERRIDE",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_MODULE_LOADING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_INJECTION64_PATH",
    "LD_PRELOAD",
    "OMP_*",
    "GOTO_NUM_THREADS",
    "OPENBLAS_*",
    NULL,
};

/* These pass, and are written down. */
static const char *const recorded[] = {
    "LD_LIBRARY_PATH",    "CUDA_VISIBLE_DEVICES", "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE", NULL,
};

static bool listed(const char *const *globs, const char *name)
{
    for (; *globs; globs++)
        if (fnmatch(*globs, name, 0) == 0)
            return true;
    return false;
}

json_t *gp_pool_recorded(void)
{
    json_t *object = gp_json_object();

    for (const char *const *name = recorded; *name; name++) {
        const char *value = getenv(*name);
        if (value)
            gp_json_set_str(object, *name, value);
    }
    return object;
}

const char *const *gp_pool_environment(struct gp_arena *arena, bool as_is,
                                       const char *workspace, json_t *set)
{
    size_t count = 0, kept = 0;
    const char **made;

    while (environ[count])
        count++;
    made = gp_arena_array(arena, count + 2, sizeof *made);
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(environ[i], "=");
        char *name = gp_arena_copy(arena, environ[i]);
        name[len] = '\0';
        if (!listed(scrubbed, name) || listed(recorded, name))
            made[kept++] = gp_arena_copy(arena, environ[i]);
        else if (as_is && strcmp(name, "CUBLAS_WORKSPACE_CONFIG") != 0) {
            made[kept++] = gp_arena_copy(arena, environ[i]);
            gp_json_set_str(set, name, environ[i] + len + 1);
        }
    }
    if (strcmp(workspace, "unset") != 0) {
        made[kept] = gp_arena_printf(arena, "CUBLAS_WORKSPACE_CONFIG=:%s",
                                     workspace);
        gp_json_set_str(set, "CUBLAS_WORKSPACE_CONFIG",
                        strchr(made[kept], '=') + 1);
        kept++;
    }
    made[kept] = NULL;
    return made;
}
