/*
 * A folder of its own for a test, with files in it: scripts that play a
 * worker, journals written by hand.
 */
#ifndef GP_TESTS_FOLDER_H
#define GP_TESTS_FOLDER_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    char path[64];
    char file[400]; /* of the last folder_file */
};

static inline void folder_make(struct folder *folder)
{
    strcpy(folder->path, "/tmp/gemmproof-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder->path));
}

/* The path of a file in it, good until the next call. */
static inline const char *folder_file(struct folder *folder, const char *name)
{
    snprintf(folder->file, sizeof folder->file, "%s/%s", folder->path, name);
    return folder->file;
}

static inline const char *folder_write(struct folder *folder, const char *name,
                                       const char *text, mode_t mode)
{
    FILE *file = fopen(folder_file(folder, name), "w");

    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(folder->file, mode), 0);
    return folder->file;
}

/* Remove the folder and its files. */
static inline void folder_remove(struct folder *folder)
{
    DIR *dir = opendir(folder->path);

    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (*entry->d_name != '.')
            unlink(folder_file(folder, entry->d_name));
    if (dir)
        closedir(dir);
    rmdir(folder->path);
}

#endif
