/*
 * Matrix-sized memory, private or shared with a worker.
 *
 * A shared region is a memfd: it has no name, so nothing is left after any
 * death and the size of /dev/shm does not matter. It can grow but never
 * shrink, so that a worker cannot pull pages from under the harness. Failure
 * is an ordinary error that says how much was asked for.
 */
#ifndef GP_BASE_SHM_H
#define GP_BASE_SHM_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/err.h"

/* One mapping of one memfd. `{.fd = -1}` is empty. */
struct gp_shm {
    int fd;
    unsigned char *data;
    size_t bytes; /* mapped, a multiple of the page size */
    bool writable;
};

/* Create a region. With `read_only_for_others` no new writable mapping of it
 * can be made, by any process; the one made here stays writable. */
int gp_shm_create(struct gp_shm *shm, const char *label,
                  bool read_only_for_others, struct gp_err *err) GP_MUST_CHECK;

/* Grow to at least `bytes`, keeping the contents; `data` may move. */
int gp_shm_grow(struct gp_shm *shm, size_t bytes,
                struct gp_err *err) GP_MUST_CHECK;

/* In a worker: map the inherited descriptor, or map it again after the
 * harness grew it, so that at least `bytes` are there. */
int gp_shm_attach(struct gp_shm *shm, int fd, bool writable, size_t bytes,
                  struct gp_err *err) GP_MUST_CHECK;

/* Unmap and close. */
void gp_shm_free(struct gp_shm *shm);

/* Private matrix memory, 4096-byte aligned; `what` names it in the error. */
int gp_matrix_alloc(void **ret_data, size_t bytes, const char *what,
                    struct gp_err *err) GP_MUST_CHECK;
void gp_matrix_free(void *data);

/* Bytes of memory that a new allocation can count on (MemAvailable). */
size_t gp_memory_available_bytes(void);

#endif
