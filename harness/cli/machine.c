/* What this machine is: its devices, and where the program stands. */
#define _GNU_SOURCE
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/cli.h"

bool gp_cli_nvidia_device(void)
{
    glob_t found = {0};
    bool here = glob("/dev/nvidia*", 0, NULL, &found) == 0;

    globfree(&found);
    if (!here && glob("/sys/bus/pci/devices/*/vendor", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !here; i++) {
            char text[16] = "";
            FILE *file = fopen(found.gl_pathv[i], "r");
            if (!file)
                continue;
            if (fgets(text, sizeof text, file))
                here = strncmp(text, "0x10de", 6) == 0;
            fclose(file);
        }
        globfree(&found);
    }
    return here;
}

const char *const *gp_cli_auto_backends(bool nvidia_device)
{
    static const char *const gpu[] = {"cublas", NULL};
    static const char *const cpu[] = {"openblas", "naive", NULL};
    const char *required = getenv("GEMMPROOF_REQUIRE_GPU");

    return nvidia_device ||
                   (required && *required && strcmp(required, "0") != 0)
               ? gpu
               : cpu;
}

const char *gp_cli_worker_folder(struct gp_arena *arena)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    if (len < 0)
        return ".";
    path[len] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return gp_arena_copy(arena, path);
}
