/* Shared and private matrix memory. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/shm.h"

Test(shm, grows_and_keeps_what_is_in_it)
{
    struct gp_shm shm;
    struct gp_err err;

    cr_assert_eq(gp_shm_create(&shm, "test", true, &err), 0);
    cr_assert_gt(shm.bytes, 0);
    memset(shm.data, 0x5a, shm.bytes);
    cr_assert_eq(gp_shm_grow(&shm, 10000000, &err), 0);
    cr_assert(shm.bytes >= 10000000 && shm.bytes % 4096 == 0);
    cr_assert(shm.data[0] == 0x5a && shm.data[4095] == 0x5a);
    cr_assert_eq(shm.data[shm.bytes - 1], 0);
    shm.data[shm.bytes - 1] = 1;
    cr_assert_eq(gp_shm_grow(&shm, 5, &err), 0); /* never shrinks */
    cr_assert_geq(shm.bytes, 10000000);
    gp_shm_free(&shm);
    cr_assert_eq(shm.fd, -1);
    gp_shm_free(&shm);
}

/* Another mapping sees the same bytes, also after growth, and of a region that
 * is read only for others none can be writable; nobody can shrink it. */
Test(shm, others_read_and_cannot_write)
{
    struct gp_shm shm, other = {.fd = -1}, writable = {.fd = -1};
    struct gp_err err = {0};

    cr_assert_eq(gp_shm_create(&shm, "test", true, &err), 0);
    cr_assert_eq(gp_shm_attach(&other, dup(shm.fd), false, 100, &err), 0);
    shm.data[7] = 9;
    cr_assert_eq(other.data[7], 9);
    cr_assert_eq(gp_shm_attach(&other, other.fd, false, 1 << 20, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_SYSTEM);
    cr_assert_eq(gp_shm_grow(&shm, 1 << 20, &err), 0);
    cr_assert_eq(gp_shm_attach(&other, other.fd, false, 1 << 20, &err), 0);
    shm.data[(1 << 20) - 1] = 3;
    cr_assert_eq(other.data[(1 << 20) - 1], 3);
    cr_assert_eq(gp_shm_attach(&writable, shm.fd, true, 100, &err), -1);
    cr_assert_eq(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, shm.fd, 0),
                 MAP_FAILED);
    cr_assert_eq(ftruncate(shm.fd, 4096), -1);
    gp_shm_free(&other);
    gp_shm_free(&shm);
}

Test(shm, outputs_are_written_by_others)
{
    struct gp_shm shm, other = {.fd = -1};
    struct gp_err err;

    cr_assert_eq(gp_shm_create(&shm, "test", false, &err), 0);
    cr_assert_eq(gp_shm_attach(&other, dup(shm.fd), true, 100, &err), 0);
    other.data[11] = 42;
    cr_assert_eq(shm.data[11], 42);
    cr_assert_eq(ftruncate(shm.fd, 4096), -1);
    gp_shm_free(&other);
    gp_shm_free(&shm);
}

Test(shm, private_matrices)
{
    struct gp_err err = {0};
    void *data = NULL;

    cr_assert_eq(gp_matrix_alloc(&data, 1, "a", &err), 0);
    cr_assert_eq((uintptr_t)data % 4096, 0);
    gp_matrix_free(data);
    data = NULL;
    cr_assert_eq(gp_matrix_alloc(&data, 0, "a", &err), 0);
    gp_matrix_free(data);
    data = NULL;
    /* More than there is: an ordinary error that says how much and of what. */
    cr_assert_eq(gp_matrix_alloc(&data, SIZE_MAX, "operand A", &err), -1);
    cr_assert_eq(gp_matrix_alloc(&data, (size_t)1 << 50, "operand A", &err),
                 -1);
    cr_assert_eq(err.kind, GP_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.text, "operand A"), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "1048576.000 GiB"), "%s", err.text);
    cr_assert_null(data);
    cr_assert_gt(gp_memory_available_bytes(), 1 << 20);
}
