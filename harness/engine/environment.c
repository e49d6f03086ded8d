/* The environment of a worker is built, not inherited. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/pool.h"

extern char **environ;

/* Everything that is known to change the arithmetic, or which library runs.
 * The first row that fits a name decides. */
const struct gp_pool_variable gp_pool_variables[] = {
    {"CUBLAS_WORKSPACE_CONFIG",
     "sizes cuBLAS's workspace, which chooses algorithms and with them bits",
     false},
    {"CUBLASLT*", "steers cuBLASLt: its log, its workspace, its heuristics",
     false},
    {"CUBLAS*", "steers cuBLAS: its log, or emulated arithmetic", false},
    {"NVIDIA_TF32_OVERRIDE", "turns TF32 off (0) or on (1) over every setting",
     false},
    {"CUDA_LAUNCH_BLOCKING", "makes every launch wait: nothing overlaps",
     false},
    {"CUDA_FORCE_PTX_JIT", "compiles kernels anew: other code may run", false},
    {"CUDA_DISABLE_PTX_JIT", "keeps kernels from being compiled", false},
    {"CUDA_MODULE_LOADING", "changes when kernels are loaded", false},
    {"CUDA_DEVICE_MAX_CONNECTIONS", "changes how streams share the device",
     false},
    {"CUDA_INJECTION64_PATH", "loads a library into every CUDA program", false},
    {"LD_PRELOAD", "puts another library's functions before all others", false},
    {"LD_LIBRARY_PATH", "chooses which cuBLAS and OpenBLAS are loaded", true},
    {"CUDA_VISIBLE_DEVICES", "chooses the device", true},
    {"OPENBLAS_CORETYPE", "chooses OpenBLAS's kernels", true},
    {"OPENBLAS_L2_SIZE", "changes OpenBLAS's blocking, and with it bits", true},
    {"OMP_*", "changes the number of threads", false},
    {"GOTO_NUM_THREADS", "changes OpenBLAS's number of threads", false},
    {"OPENBLAS_*", "steers OpenBLAS", false},
    {NULL, NULL, false},
};

const struct gp_pool_variable *gp_pool_variable_find(const char *name)
{
    for (const struct gp_pool_variable *row = gp_pool_variables; row->name;
         row++)
        if (fnmatch(row->name, name, 0) == 0)
            return row;
    return NULL;
}

json_t *gp_pool_recorded(void)
{
    json_t *object = gp_json_object();

    for (const struct gp_pool_variable *row = gp_pool_variables; row->name;
         row++) {
        const char *value = row->passes ? getenv(row->name) : NULL;
        if (value)
            gp_json_set_str(object, row->name, value);
    }
    return object;
}

const char *const *gp_pool_environment(struct gp_arena *arena, bool as_is,
                                       const char *workspace, const char *env,
                                       json_t *set)
{
    size_t count = 0, kept = 0;
    const char **made;

    while (environ[count])
        count++;
    made = gp_arena_array(arena, count + 3, sizeof *made);
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(environ[i], "=");
        char *name = gp_arena_copy(arena, environ[i]);
        const struct gp_pool_variable *row;
        name[len] = '\0';
        row = gp_pool_variable_find(name);
        if (strncmp(name, env, len) == 0 && env[len] == '=')
            continue; /* the run's own value stands */
        if (!row || row->passes)
            made[kept++] = gp_arena_copy(arena, environ[i]);
        else if (as_is && strcmp(name, "CUBLAS_WORKSPACE_CONFIG") != 0) {
            made[kept++] = gp_arena_copy(arena, environ[i]);
            gp_json_set_str(set, name, environ[i] + len + 1);
        }
    }
    if (strcmp(workspace, "unset") != 0) {
        bool raw = strncmp(workspace, "raw=", 4) == 0;
        made[kept] = gp_arena_printf(arena, "CUBLAS_WORKSPACE_CONFIG=%s%s",
                                     raw ? "" : ":", workspace + (raw ? 4 : 0));
        gp_json_set_str(set, "CUBLAS_WORKSPACE_CONFIG",
                        strchr(made[kept], '=') + 1);
        kept++;
    }
    if (*env) {
        size_t len = strcspn(env, "=");
        char *name = gp_arena_copy(arena, env);
        name[len] = '\0';
        gp_json_set_str(set, name, env + len + 1);
        made[kept++] = gp_arena_copy(arena, env);
    }
    made[kept] = NULL;
    return made;
}
