#define _GNU_SOURCE
#include "harness/base/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

enum { FIRST_BYTES = 1 << 16, PAGE_BYTES = 4096, SMALL_BYTES = 1 << 22 };

static size_t shm_round(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static int shm_failed(const char *what, size_t bytes, struct gp_err *err)
{
    return gp_err_set(err, GP_ERR_SYSTEM,
                      "%s: no %.3f GiB of memory for it (%s): choose a smaller "
                      "problem or a machine with more memory",
                      what, (double)bytes / 1073741824.0, strerror(errno));
}

int gp_shm_create(struct gp_shm *shm, const char *label,
                  bool read_only_for_others, struct gp_err *err)
{
    int seals = F_SEAL_SHRINK;

    *shm = (struct gp_shm){.fd = -1, .writable = true};
    shm->fd = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (shm->fd < 0 || ftruncate(shm->fd, FIRST_BYTES) != 0)
        return shm_failed(label, FIRST_BYTES, err);
    shm->data =
        mmap(NULL, FIRST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, shm->fd, 0);
    if (shm->data == MAP_FAILED) {
        shm->data = NULL;
        return shm_failed(label, FIRST_BYTES, err);
    }
    shm->bytes = FIRST_BYTES;
    if (read_only_for_others)
        seals |= F_SEAL_FUTURE_WRITE;
    if (fcntl(shm->fd, F_ADD_SEALS, seals | F_SEAL_SEAL) != 0)
        return gp_err_set(err, GP_ERR_SYSTEM,
                          "%s: cannot be sealed (%s): Linux 5.1 or newer is "
                          "needed",
                          label, strerror(errno));
    return 0;
}

int gp_shm_grow(struct gp_shm *shm, size_t bytes, struct gp_err *err)
{
    size_t want = shm_round(bytes);
    void *moved;

    if (want <= shm->bytes)
        return 0;
    if (ftruncate(shm->fd, (off_t)want) != 0)
        return shm_failed("shared matrices", want, err);
    moved = mremap(shm->data, shm->bytes, want, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED)
        return shm_failed("shared matrices", want, err);
    shm->data = moved;
    shm->bytes = want;
    return 0;
}

int gp_shm_attach(struct gp_shm *shm, int fd, bool writable, size_t bytes,
                  struct gp_err *err)
{
    struct stat info;
    void *data;

    if (shm->data && shm->bytes >= bytes)
        return 0;
    if (fstat(fd, &info) != 0 || (size_t)info.st_size < bytes)
        return gp_err_set(err, GP_ERR_SYSTEM,
                          "shared matrices: %zu bytes announced, descriptor %d "
                          "does not hold them",
                          bytes, fd);
    data =
        mmap(NULL, (size_t)info.st_size,
             writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return shm_failed("shared matrices", (size_t)info.st_size, err);
    if (shm->data)
        munmap(shm->data, shm->bytes);
    *shm = (struct gp_shm){fd, data, (size_t)info.st_size, writable};
    return 0;
}

void gp_shm_free(struct gp_shm *shm)
{
    if (shm->data)
        munmap(shm->data, shm->bytes);
    if (shm->fd >= 0)
        close(shm->fd);
    *shm = (struct gp_shm){.fd = -1};
}

int gp_matrix_alloc(void **ret_data, size_t bytes, const char *what,
                    struct gp_err *err)
{
    size_t want = shm_round(bytes ? bytes : 1);
    void *data;

    /* Asking takes longer than a small product does. */
    errno = ENOMEM;
    if (want < bytes ||
        (want > SMALL_BYTES && want > gp_memory_available_bytes()))
        return shm_failed(what, bytes, err);
    data = aligned_alloc(PAGE_BYTES, want);
    if (!data)
        return shm_failed(what, bytes, err);
    *ret_data = data;
    return 0;
}

void gp_matrix_free(void *data)
{
    free(data);
}

size_t gp_memory_available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long long kib = 0;
    char line[128];

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib ? (size_t)kib * 1024 : (size_t)1 << 40;
}
