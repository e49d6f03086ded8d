#include "harness/worker/backends/cublas_operands.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "harness/worker/backends/cublas_device.h"

static const char *const slot_names[GP_CUBLAS_SLOTS] = {
    [GP_CUBLAS_PACKED_A] = "A",
    [GP_CUBLAS_PACKED_B] = "B",
    [GP_CUBLAS_PACKED_C] = "C",
    [GP_CUBLAS_LAID_A] = "the laid out A",
    [GP_CUBLAS_LAID_B] = "the laid out B",
    [GP_CUBLAS_LAID_D] = "the laid out D",
    [GP_CUBLAS_FIRST] = "the first output",
    [GP_CUBLAS_STAGING] = "another output",
    [GP_CUBLAS_TALLIES] = "the counts",
    [GP_CUBLAS_SCALARS] = "alpha and beta",
};

/* Which tally counts what. The three of a matrix stand together, in the order
 * of enum gp_operand. */
enum {
    TALLY_BEFORE,
    TALLY_PADDING,
    TALLY_AFTER,
    TALLY_INPUTS = 3 * 3, /* A, then B */
    TALLY_SENTINELS = TALLY_INPUTS + 2,
    TALLIES
};

static void release(struct gp_cublas_buffer *buffer)
{
    /* After an error that stays, nothing can be freed, or be done about it. */
    if (buffer->data)
        (void)cudaFree(buffer->data);
    *buffer = (struct gp_cublas_buffer){0};
}

/* Make a buffer hold `bytes`; what was in it is lost if it has to grow. The
 * old one goes first, so that both need not fit. */
static int reserve(struct gp_cublas_operands *operands,
                   enum gp_cublas_slot slot, size_t bytes, struct gp_err *err)
{
    struct gp_cublas_buffer *buffer = &operands->buffers[slot];
    size_t room = 0, all = 0;
    cudaError_t status;
    void *data;

    if (bytes <= buffer->bytes)
        return 0;
    release(buffer);
    status = cudaMalloc(&data, bytes);
    if (status == cudaSuccess) {
        *buffer = (struct gp_cublas_buffer){data, bytes};
        return 0;
    }
    if (status != cudaErrorMemoryAllocation)
        return gp_cublas_cuda(status, "allocating device memory", err);
    (void)cudaGetLastError();
    if (cudaMemGetInfo(&room, &all) != cudaSuccess)
        (void)cudaGetLastError();
    return gp_err_set(err, GP_ERR_SYSTEM,
                      "no device memory for %s: %zu bytes asked for, %zu of "
                      "%zu bytes free",
                      slot_names[slot], bytes, room, all);
}

static size_t packed_bytes(const struct gp_gemm *gemm, enum gp_operand which)
{
    return (size_t)gp_gemm_count(gemm, which) *
           gp_gemm_type(gemm, which)->bytes;
}

/* Without the guards. */
static size_t laid_bytes(const struct gp_gemm *gemm, enum gp_operand which)
{
    return (size_t)(gp_gemm_stride(gemm, which) * gemm->batch) *
           gp_gemm_type(gemm, which)->bytes;
}

static int reserve_each(struct gp_cublas_operands *operands,
                        const struct gp_gemm *gemm, bool has_c,
                        struct gp_err *err)
{
    size_t bytes[GP_CUBLAS_SLOTS] = {0};

    for (int which = GP_A; which <= GP_C; which++) {
        bytes[GP_CUBLAS_PACKED_A + which] =
            packed_bytes(gemm, (enum gp_operand)which);
        bytes[GP_CUBLAS_LAID_A + which] =
            laid_bytes(gemm, (enum gp_operand)which) + 2 * GP_GUARD_BYTES;
    }
    if (!has_c)
        bytes[GP_CUBLAS_PACKED_C] = 0;
    bytes[GP_CUBLAS_FIRST] = packed_bytes(gemm, GP_C);
    bytes[GP_CUBLAS_TALLIES] = TALLIES * sizeof(struct gp_cuda_tally);
    bytes[GP_CUBLAS_SCALARS] = 2 * sizeof(double);
    for (int slot = 0; slot < GP_CUBLAS_SLOTS; slot++)
        if (reserve(operands, (enum gp_cublas_slot)slot, bytes[slot], err))
            return -1;
    return 0;
}

static void release_all(struct gp_cublas_operands *operands)
{
    for (int slot = 0; slot < GP_CUBLAS_SLOTS; slot++)
        release(&operands->buffers[slot]);
}

/* Memory kept for earlier problems may stand in the way: once without it. */
static int reserve_all(struct gp_cublas_operands *operands,
                       const struct gp_job *job, struct gp_err *err)
{
    struct gp_err once;

    if (reserve_each(operands, &job->gemm, job->c != NULL, &once) == 0)
        return 0;
    release_all(operands);
    if (reserve_each(operands, &job->gemm, job->c != NULL, err) == 0)
        return 0;
    release_all(operands);
    return -1;
}

static int wait_for(struct gp_cublas_operands *operands, const char *what,
                    struct gp_err *err)
{
    return gp_cublas_cuda(cudaStreamSynchronize(operands->stream), what, err);
}

static int upload(struct gp_cublas_operands *operands, const struct gp_job *job,
                  struct gp_err *err)
{
    const void *const from[] = {job->a, job->b, job->c};
    cudaError_t status = cudaSuccess;

    for (int which = GP_A; which <= GP_C && status == cudaSuccess; which++)
        if (from[which])
            status = cudaMemcpyAsync(
                operands->buffers[GP_CUBLAS_PACKED_A + which].data, from[which],
                packed_bytes(&job->gemm, (enum gp_operand)which),
                cudaMemcpyHostToDevice, operands->stream);
    return gp_cublas_cuda(status, "copying operands to the device", err);
}

/* Poison each matrix with its guards and put the elements of A and B there;
 * those of D come with every launch. */
static int lay_out(struct gp_cublas_operands *operands, struct gp_err *err)
{
    const struct gp_gemm *gemm = &operands->gemm;
    cudaError_t status = cudaSuccess;

    for (int which = GP_A; which <= GP_C && status == cudaSuccess; which++)
        status = cudaMemsetAsync(
            operands->buffers[GP_CUBLAS_LAID_A + which].data, GP_POISON,
            laid_bytes(gemm, (enum gp_operand)which) + 2 * GP_GUARD_BYTES,
            operands->stream);
    for (int which = GP_A; which <= GP_B && status == cudaSuccess; which++)
        status =
            gp_cuda_scatter(&operands->laid[which],
                            operands->buffers[GP_CUBLAS_PACKED_A + which].data,
                            operands->stream);
    if (gp_cublas_cuda(status, "laying out the operands", err) != 0)
        return -1;
    operands->touched = false;
    return 0;
}

static void describe(struct gp_cublas_operands *operands)
{
    const struct gp_gemm *gemm = &operands->gemm;

    for (int i = GP_A; i <= GP_C; i++) {
        enum gp_operand which = (enum gp_operand)i;
        unsigned char *base = operands->buffers[GP_CUBLAS_LAID_A + i].data;

        operands->laid[i] = (struct gp_cuda_matrix){
            .data = base + GP_GUARD_BYTES,
            .rows = gp_gemm_rows(gemm, which),
            .cols = gp_gemm_cols(gemm, which),
            .batch = gemm->batch,
            .ld = gp_gemm_ld(gemm, which),
            .element_bytes = (int)gp_gemm_type(gemm, which)->bytes,
            .row_major = gemm->row_major,
        };
    }
}

int gp_cublas_operands_take(struct gp_cublas_operands *operands,
                            const struct gp_job *job, struct gp_err *err)
{
    bool there = operands->taken && operands->operands_id == job->operands_id &&
                 gp_gemm_equal(&operands->gemm, &job->gemm);

    assert(job->gemm.beta == 0 || job->c != NULL);
    operands->has_first = false;
    if (there)
        return gp_cublas_operands_renew(operands, err);
    operands->taken = false;
    if (reserve_all(operands, job, err) != 0)
        return -1;
    operands->gemm = job->gemm;
    operands->has_c = job->c != NULL;
    describe(operands);
    if (upload(operands, job, err) || lay_out(operands, err) ||
        wait_for(operands, "laying out the operands", err))
        return -1;
    operands->operands_id = job->operands_id;
    operands->taken = true;
    return 0;
}

void gp_cublas_operands_free(struct gp_cublas_operands *operands)
{
    release_all(operands);
    operands->taken = false;
}

int gp_cublas_operands_renew(struct gp_cublas_operands *operands,
                             struct gp_err *err)
{
    return operands->touched ? lay_out(operands, err) : 0;
}

int gp_cublas_operands_restore(struct gp_cublas_operands *operands,
                               struct gp_err *err)
{
    const struct gp_cuda_matrix *d = &operands->laid[GP_C];
    cudaError_t status;

    if (!operands->has_c)
        status = gp_cuda_poison(d, operands->stream);
    else
        status = gp_cuda_scatter(d, operands->buffers[GP_CUBLAS_PACKED_C].data,
                                 operands->stream);
    return gp_cublas_cuda(status, "restoring D", err);
}

int gp_cublas_operands_flip(struct gp_cublas_operands *operands,
                            enum gp_operand which, int64_t index, int bit,
                            struct gp_err *err)
{
    const struct gp_cuda_matrix *laid = &operands->laid[which];
    unsigned char *element =
        (unsigned char *)laid->data +
        gp_gemm_place(&operands->gemm, which, index) * laid->element_bytes;

    if (which != GP_C)
        operands->touched = true;
    /* Host and device are little endian. */
    return gp_cublas_cuda(gp_cuda_flip(element + bit / 8,
                                       (unsigned char)(1u << bit % 8),
                                       operands->stream),
                          "planting a fault", err);
}

int gp_cublas_operands_flip_guard(struct gp_cublas_operands *operands,
                                  int64_t offset, struct gp_err *err)
{
    unsigned char *guard = (unsigned char *)operands->laid[GP_C].data +
                           laid_bytes(&operands->gemm, GP_C);

    operands->touched = true;
    return gp_cublas_cuda(gp_cuda_flip(guard + offset, 0xff, operands->stream),
                          "planting a fault", err);
}

/* Bring back the first `bytes` of the tallies. */
static int fetch(struct gp_cublas_operands *operands, void *to, size_t bytes,
                 const char *what, struct gp_err *err)
{
    if (gp_cublas_cuda(
            cudaMemcpyAsync(to, operands->buffers[GP_CUBLAS_TALLIES].data,
                            bytes, cudaMemcpyDeviceToHost, operands->stream),
            what, err) != 0)
        return -1;
    return wait_for(operands, what, err);
}

int gp_cublas_operands_digest(struct gp_cublas_operands *operands,
                              struct gp_digest *ret_digest, struct gp_err *err)
{
    void *lanes = operands->buffers[GP_CUBLAS_TALLIES].data;
    struct gp_digest digest;
    cudaError_t status =
        cudaMemsetAsync(lanes, 0, sizeof digest, operands->stream);

    if (status == cudaSuccess)
        status = gp_cuda_digest(&operands->laid[GP_C], lanes, operands->stream);
    if (gp_cublas_cuda(status, "digesting D", err) ||
        fetch(operands, &digest, sizeof digest, "digesting D", err))
        return -1;
    *ret_digest = digest;
    return 0;
}

int gp_cublas_operands_keep(struct gp_cublas_operands *operands, bool first,
                            void *to, struct gp_err *err)
{
    enum gp_cublas_slot slot = first ? GP_CUBLAS_FIRST : GP_CUBLAS_STAGING;
    size_t bytes = packed_bytes(&operands->gemm, GP_C);
    void *packed;
    cudaError_t status;

    if (!first && !to)
        return 0;
    if (reserve(operands, slot, bytes, err) != 0)
        return -1;
    packed = operands->buffers[slot].data;
    status = gp_cuda_gather(&operands->laid[GP_C], packed, operands->stream);
    if (status == cudaSuccess && to)
        status = cudaMemcpyAsync(to, packed, bytes, cudaMemcpyDeviceToHost,
                                 operands->stream);
    if (gp_cublas_cuda(status, "bringing D back", err) ||
        wait_for(operands, "bringing D back", err))
        return -1;
    operands->has_first = operands->has_first || first;
    return 0;
}

static cudaError_t clear(struct gp_cublas_operands *operands, int count)
{
    return cudaMemsetAsync(operands->buffers[GP_CUBLAS_TALLIES].data, 0,
                           (size_t)count * sizeof(struct gp_cuda_tally),
                           operands->stream);
}

static int64_t first_of(const struct gp_cuda_tally *tally)
{
    return tally->count ? (int64_t)~tally->not_first : -1;
}

int gp_cublas_operands_compare(struct gp_cublas_operands *operands,
                               struct gp_difference *ret_difference,
                               struct gp_err *err)
{
    struct gp_cuda_tally tally;
    cudaError_t status = clear(operands, 1);

    assert(operands->has_first);
    if (status == cudaSuccess)
        status = gp_cuda_count_differences(
            &operands->laid[GP_C], operands->buffers[GP_CUBLAS_FIRST].data,
            operands->buffers[GP_CUBLAS_TALLIES].data, operands->stream);
    if (gp_cublas_cuda(status, "comparing D", err) ||
        fetch(operands, &tally, sizeof tally, "comparing D", err))
        return -1;
    *ret_difference =
        (struct gp_difference){(int64_t)tally.count, first_of(&tally)};
    return 0;
}

/* Guards and padding of one matrix. */
static cudaError_t count_around(struct gp_cublas_operands *operands,
                                enum gp_operand which,
                                struct gp_cuda_tally *tallies)
{
    const struct gp_cuda_matrix *laid = &operands->laid[which];
    const unsigned char *data = laid->data;
    cudaError_t status =
        gp_cuda_count_bytes(data - GP_GUARD_BYTES, GP_GUARD_BYTES,
                            &tallies[TALLY_BEFORE], operands->stream);

    if (status == cudaSuccess)
        status = gp_cuda_count_padding(laid, &tallies[TALLY_PADDING],
                                       operands->stream);
    if (status == cudaSuccess)
        status = gp_cuda_count_bytes(data + laid_bytes(&operands->gemm, which),
                                     GP_GUARD_BYTES, &tallies[TALLY_AFTER],
                                     operands->stream);
    return status;
}

static int count_all(struct gp_cublas_operands *operands,
                     struct gp_cuda_tally tallies[TALLIES], struct gp_err *err)
{
    struct gp_cuda_tally *there = operands->buffers[GP_CUBLAS_TALLIES].data;
    cudaError_t status = clear(operands, TALLIES);

    for (int which = GP_A; which <= GP_C && status == cudaSuccess; which++)
        status =
            count_around(operands, (enum gp_operand)which, &there[3 * which]);
    for (int which = GP_A; which <= GP_B && status == cudaSuccess; which++)
        status = gp_cuda_count_differences(
            &operands->laid[which],
            operands->buffers[GP_CUBLAS_PACKED_A + which].data,
            &there[TALLY_INPUTS + which], operands->stream);
    if (status == cudaSuccess && !operands->has_c)
        status = gp_cuda_count_poisoned(
            &operands->laid[GP_C], &there[TALLY_SENTINELS], operands->stream);
    if (gp_cublas_cuda(status, "looking at guards and inputs", err) != 0)
        return -1;
    return fetch(operands, tallies, TALLIES * sizeof *tallies,
                 "looking at guards and inputs", err);
}

int gp_cublas_operands_audit(struct gp_cublas_operands *operands,
                             struct gp_audit *ret_audit, struct gp_err *err)
{
    /* D first: the matrix that a product writes is the likely one. */
    static const enum gp_operand order[] = {GP_C, GP_A, GP_B};
    static const char *const places[] = {"before", "padding of", "after"};
    static const char *const names[] = {"A", "B", "D"};
    struct gp_audit audit = {
        .guard_first = -1, .input_first = -1, .sentinel_first = -1};
    struct gp_cuda_tally tallies[TALLIES];

    if (count_all(operands, tallies, err) != 0)
        return -1;
    for (int i = 0; i < 9; i++) {
        const enum gp_operand which = order[i / 3];
        const struct gp_cuda_tally *tally = &tallies[3 * (int)which + i % 3];

        if (tally->count && !audit.guard_bytes) {
            audit.guard_first = first_of(tally);
            snprintf(audit.guard_where, sizeof audit.guard_where, "%s %s",
                     places[i % 3], names[which]);
        }
        audit.guard_bytes += (int64_t)tally->count;
    }
    for (int which = GP_A; which <= GP_B; which++) {
        const struct gp_cuda_tally *tally = &tallies[TALLY_INPUTS + which];

        if (tally->count && !audit.input_elements) {
            audit.input_first = first_of(tally);
            strcpy(audit.input_where, names[which]);
        }
        audit.input_elements += (int64_t)tally->count;
    }
    audit.sentinels_left = (int64_t)tallies[TALLY_SENTINELS].count;
    audit.sentinel_first = first_of(&tallies[TALLY_SENTINELS]);
    if (audit.guard_bytes || audit.input_elements)
        operands->touched = true;
    *ret_audit = audit;
    return 0;
}
