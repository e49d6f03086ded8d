#include "harness/worker/backends/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/base/shm.h"
#include "reference/digest.h"

int gp_host_open(void **ret_ctx, int variant,
                 int (*multiply)(struct gp_host *,
                                 const struct gp_host_product *,
                                 struct gp_err *),
                 struct gp_err *err)
{
    struct gp_host *host = calloc(1, sizeof *host);

    if (!host)
        return gp_err_set(err, GP_ERR_SYSTEM, "no memory for the worker");
    host->multiply = multiply;
    host->variant = variant;
    *ret_ctx = host;
    return 0;
}

static void matrix_free(struct gp_host_matrix *matrix)
{
    gp_matrix_free(matrix->base);
    gp_matrix_free(matrix->pristine);
    *matrix = (struct gp_host_matrix){0};
}

void gp_host_close(void *ctx)
{
    struct gp_host *host = ctx;

    for (int i = 0; i < 3; i++)
        matrix_free(&host->matrix[i]);
    gp_matrix_free(host->first);
    gp_matrix_free(host->sides);
    free(host);
}

static size_t packed_bytes(const struct gp_gemm *gemm, enum gp_operand which)
{
    return (size_t)gp_gemm_count(gemm, which) *
           gp_gemm_type(gemm, which)->bytes;
}

/* Copy between the packed and the laid out form, column by column where the
 * layout has columns. */
static void copy_elements(const struct gp_gemm *gemm, enum gp_operand which,
                          unsigned char *laid_out, unsigned char *packed,
                          bool to_packed)
{
    size_t bytes = gp_gemm_type(gemm, which)->bytes;
    int64_t rows = gp_gemm_rows(gemm, which),
            count = gp_gemm_count(gemm, which);
    int64_t step = gemm->row_major ? 1 : rows;

    for (int64_t at = 0; at < count; at += step) {
        size_t place = (size_t)gp_gemm_place(gemm, which, at) * bytes;
        unsigned char *inner = packed + (size_t)at * bytes;
        if (to_packed)
            memcpy(inner, laid_out + place, (size_t)step * bytes);
        else
            memcpy(laid_out + place, inner, (size_t)step * bytes);
    }
}

/* Room for `bytes`: what is there if it is enough and not far too much. */
static int make_room(void **data, size_t *room, size_t bytes, const char *what,
                     struct gp_err *err)
{
    if (*data && *room >= bytes && *room / 4 <= bytes)
        return 0;
    gp_matrix_free(*data);
    *data = NULL;
    *room = bytes;
    return gp_matrix_alloc(data, bytes, what, err);
}

static int lay_out(struct gp_host *host, enum gp_operand which,
                   const void *packed, struct gp_err *err)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    struct gp_host_matrix *matrix = &host->matrix[which];
    size_t bytes = packed_bytes(gemm, which);

    matrix->packed = NULL;
    matrix->bytes = (size_t)(gp_gemm_stride(gemm, which) * gemm->batch) *
                    gp_gemm_type(gemm, which)->bytes;
    if (make_room((void **)&matrix->base, &matrix->base_room,
                  matrix->bytes + 2 * GP_GUARD_BYTES, "a laid out matrix",
                  err) != 0)
        return -1;
    matrix->data = matrix->base + GP_GUARD_BYTES;
    /* Where no padding is, the elements cover all between the guards. */
    if (!packed || which == GP_C || matrix->bytes != bytes)
        memset(matrix->data, GP_POISON, matrix->bytes);
    memset(matrix->base, GP_POISON, GP_GUARD_BYTES);
    memset(matrix->data + matrix->bytes, GP_POISON, GP_GUARD_BYTES);
    if (!packed)
        return 0;
    if (make_room(&matrix->pristine, &matrix->pristine_room, bytes,
                  "a packed matrix", err) != 0)
        return -1;
    matrix->packed = matrix->pristine;
    memcpy(matrix->packed, packed, bytes);
    if (which != GP_C)
        copy_elements(gemm, which, matrix->data, matrix->packed, false);
    return 0;
}

int gp_host_prepare(void *ctx, const struct gp_job *job, struct gp_err *err)
{
    struct gp_host *host = ctx;
    bool kept = host->clean && host->job.operands_id == job->operands_id &&
                gp_gemm_equal(&host->job.gemm, &job->gemm);

    host->job = *job;
    if (kept)
        return 0;
    host->clean = false;
    gp_matrix_free(host->first);
    gp_matrix_free(host->sides);
    host->first = host->sides = NULL;
    if (lay_out(host, GP_A, job->a, err) != 0 ||
        lay_out(host, GP_B, job->b, err) != 0 ||
        lay_out(host, GP_C, job->c, err) != 0 ||
        gp_matrix_alloc(&host->first, packed_bytes(&job->gemm, GP_C),
                        "the first output", err) != 0)
        return -1;
    host->clean = true;
    return 0;
}

/* Elements that stand together in both forms: a column, or one in a row-major
 * layout. */
static int64_t run_length(const struct gp_gemm *gemm, enum gp_operand which)
{
    return gemm->row_major ? 1 : gp_gemm_rows(gemm, which);
}

static void restore_d(struct gp_host *host)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    struct gp_host_matrix *d = &host->matrix[GP_C];
    size_t bytes = gemm->out->bytes;

    if (d->packed) {
        copy_elements(gemm, GP_C, d->data, d->packed, false);
        return;
    }
    for (int64_t at = 0; at < gp_gemm_count(gemm, GP_C);
         at += run_length(gemm, GP_C))
        memset(d->data + (size_t)gp_gemm_place(gemm, GP_C, at) * bytes,
               GP_POISON, (size_t)run_length(gemm, GP_C) * bytes);
}

/* The column-major call of the problem; see gp_host_product. */
static struct gp_host_product product_of(const struct gp_host *host)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    struct gp_host_product product = {.gemm = *gemm,
                                      .a = host->matrix[GP_A].data,
                                      .b = host->matrix[GP_B].data,
                                      .d = host->matrix[GP_C].data};

    if (gemm->row_major) {
        product.a = host->matrix[GP_B].data;
        product.b = host->matrix[GP_A].data;
        product.gemm.m = gemm->n;
        product.gemm.n = gemm->m;
        product.gemm.trans_a = gemm->trans_b;
        product.gemm.trans_b = gemm->trans_a;
        product.gemm.lda = gemm->ldb;
        product.gemm.ldb = gemm->lda;
        product.gemm.row_major = false;
    }
    return product;
}

/* Another order of summation: the first half of k, the second added to it. The
 * strides of a batch follow from the whole matrices, so a batch is done one
 * product at a time. */
static int multiply_in_halves(struct gp_host *host,
                              const struct gp_host_product *whole,
                              struct gp_err *err)
{
    const struct gp_gemm *gemm = &whole->gemm;
    int64_t half = gemm->k / 2;
    size_t in = gemm->in->bytes, out = gemm->out->bytes;

    if (half < 1)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the fault variant needs k of at least 2");
    for (int64_t batch = 0; batch < gemm->batch; batch++) {
        struct gp_host_product part = *whole;
        const unsigned char *a = whole->a, *b = whole->b;
        part.gemm.batch = 1;
        a += (size_t)(batch * gp_gemm_stride(gemm, GP_A)) * in;
        b += (size_t)(batch * gp_gemm_stride(gemm, GP_B)) * in;
        part.d = (unsigned char *)whole->d +
                 (size_t)(batch * gp_gemm_stride(gemm, GP_C)) * out;
        part.a = a;
        part.b = b;
        part.gemm.k = half;
        if (host->multiply(host, &part, err) != 0)
            return -1;
        part.a = a + (size_t)(gemm->trans_a ? half : half * gemm->lda) * in;
        part.b = b + (size_t)(gemm->trans_b ? half * gemm->ldb : half) * in;
        part.gemm.k = gemm->k - half;
        part.gemm.beta = 1;
        if (host->multiply(host, &part, err) != 0)
            return -1;
    }
    return 0;
}

static int plant(struct gp_host *host, int64_t repeat, bool last,
                 const struct gp_fault *fault, struct gp_err *err)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    struct gp_host_matrix *a = &host->matrix[GP_A], *d = &host->matrix[GP_C];
    size_t out = gemm->out->bytes;

    if (fault->kind == GP_FAULT_BIT && fault->repeat == repeat) {
        if (fault->place >= gp_gemm_count(gemm, GP_C) ||
            fault->bit >= (int)out * 8)
            return gp_err_set(err, GP_ERR_USAGE,
                              "the fault's element or bit is not in D");
        d->data[(size_t)gp_gemm_place(gemm, GP_C, fault->place) * out +
                (size_t)fault->bit / 8] ^= (unsigned char)(1 << fault->bit % 8);
    }
    if (fault->kind == GP_FAULT_INPUT && last) {
        if (fault->place >= gp_gemm_count(gemm, GP_A))
            return gp_err_set(err, GP_ERR_USAGE,
                              "the fault's element is not in A");
        a->data[(size_t)gp_gemm_place(gemm, GP_A, fault->place) *
                gemm->in->bytes] ^= 1;
    }
    if (fault->kind == GP_FAULT_GUARD && last) {
        if (fault->place >= GP_GUARD_BYTES)
            return gp_err_set(err, GP_ERR_USAGE,
                              "the guard after D has %d bytes", GP_GUARD_BYTES);
        d->data[d->bytes + (size_t)fault->place] ^= 1;
    }
    return 0;
}

int gp_host_launch(void *ctx, int64_t repeat, bool last,
                   const struct gp_fault *fault, double *ret_ns,
                   struct gp_err *err)
{
    struct gp_host *host = ctx;
    struct gp_host_product product = product_of(host);
    struct timespec from, to;
    int status;

    product.repeat = repeat;
    product.last = last;
    restore_d(host);
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (fault->kind == GP_FAULT_VARIANT && fault->repeat == repeat)
        status = multiply_in_halves(host, &product, err);
    else
        status = host->multiply(host, &product, err);
    clock_gettime(CLOCK_MONOTONIC, &to);
    *ret_ns = 1e9 * (double)(to.tv_sec - from.tv_sec) +
              (double)(to.tv_nsec - from.tv_nsec);
    return status ? status : plant(host, repeat, last, fault, err);
}

int gp_host_digest(void *ctx, struct gp_digest *ret_digest, struct gp_err *err)
{
    const struct gp_host *host = ctx;
    const struct gp_gemm *gemm = &host->job.gemm;
    const struct gp_host_matrix *d = &host->matrix[GP_C];
    int64_t step = run_length(gemm, GP_C);

    (void)err;
    *ret_digest = (struct gp_digest){{0, 0}};
    for (int64_t at = 0; at < gp_gemm_count(gemm, GP_C); at += step) {
        int64_t place = gp_gemm_place(gemm, GP_C, at);
        gp_digest_add(ret_digest, gemm->out,
                      d->data + (size_t)place * gemm->out->bytes, at, step);
    }
    return 0;
}

int gp_host_keep(void *ctx, bool first, void *to, struct gp_err *err)
{
    struct gp_host *host = ctx;
    const struct gp_gemm *gemm = &host->job.gemm;

    (void)err;
    if (first)
        copy_elements(gemm, GP_C, host->matrix[GP_C].data, host->first, true);
    if (to)
        copy_elements(gemm, GP_C, host->matrix[GP_C].data, to, true);
    return 0;
}

int gp_host_compare(void *ctx, struct gp_difference *ret_difference,
                    struct gp_err *err)
{
    const struct gp_host *host = ctx;
    const struct gp_gemm *gemm = &host->job.gemm;
    size_t bytes = gemm->out->bytes;
    int64_t step = run_length(gemm, GP_C);

    (void)err;
    *ret_difference = (struct gp_difference){0, -1};
    for (int64_t at = 0; at < gp_gemm_count(gemm, GP_C); at += step) {
        const unsigned char *now =
            host->matrix[GP_C].data +
            (size_t)gp_gemm_place(gemm, GP_C, at) * bytes;
        const unsigned char *first =
            (const unsigned char *)host->first + (size_t)at * bytes;
        if (memcmp(now, first, (size_t)step * bytes) == 0)
            continue;
        for (int64_t i = 0; i < step; i++)
            if (memcmp(now + (size_t)i * bytes, first + (size_t)i * bytes,
                       bytes) != 0 &&
                ret_difference->elements++ == 0)
                ret_difference->first = at + i;
    }
    return 0;
}

/* Count bytes that are not poison any more. */
static void audit_bytes(const unsigned char *from, size_t bytes,
                        const char *where, char name, struct gp_audit *audit)
{
    for (size_t i = 0; i < bytes; i++) {
        if (from[i] == GP_POISON)
            continue;
        if (audit->guard_bytes++ == 0) {
            audit->guard_first = (int64_t)i;
            snprintf(audit->guard_where, sizeof audit->guard_where, "%s %c",
                     where, name);
        }
    }
}

/* Elements of a line (a column, or a row of a row-major layout). */
static int64_t line_length(const struct gp_gemm *gemm, enum gp_operand which)
{
    return gemm->row_major ? gp_gemm_cols(gemm, which)
                           : gp_gemm_rows(gemm, which);
}

static void audit_matrix(const struct gp_host *host, enum gp_operand which,
                         struct gp_audit *audit)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    const struct gp_host_matrix *matrix = &host->matrix[which];
    int64_t lines =
        gemm->row_major ? gp_gemm_rows(gemm, which) : gp_gemm_cols(gemm, which);
    size_t ld = (size_t)gp_gemm_ld(gemm, which);
    size_t tight = (size_t)line_length(gemm, which);
    size_t bytes = gp_gemm_type(gemm, which)->bytes;
    char name = "ABD"[which];
    int64_t before = audit->guard_bytes;

    audit_bytes(matrix->base, GP_GUARD_BYTES, "before", name, audit);
    audit_bytes(matrix->data + matrix->bytes, GP_GUARD_BYTES, "after", name,
                audit);
    for (int64_t line = 0; line < lines * gemm->batch; line++) {
        size_t at = ((size_t)line * ld + tight) * bytes;
        audit_bytes(matrix->data + at, (ld - tight) * bytes, "padding of", name,
                    audit);
        if (before == 0 && audit->guard_bytes && before != audit->guard_bytes &&
            strncmp(audit->guard_where, "padding", 7) == 0)
            audit->guard_first += (int64_t)at; /* from the matrix's start */
        before = audit->guard_bytes;
    }
}

static void audit_inputs(const struct gp_host *host, enum gp_operand which,
                         struct gp_audit *audit)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    const struct gp_host_matrix *matrix = &host->matrix[which];
    const unsigned char *packed = matrix->packed;
    int64_t step = run_length(gemm, which), count = gp_gemm_count(gemm, which);
    size_t bytes = gemm->in->bytes;

    for (int64_t at = 0; at < count; at += step) {
        const unsigned char *now =
            matrix->data + (size_t)gp_gemm_place(gemm, which, at) * bytes;
        const unsigned char *was = packed + (size_t)at * bytes;
        if (memcmp(now, was, (size_t)step * bytes) == 0)
            continue;
        for (int64_t i = 0; i < step; i++) {
            if (memcmp(now + (size_t)i * bytes, was + (size_t)i * bytes,
                       bytes) == 0)
                continue;
            if (audit->input_elements++ == 0) {
                audit->input_first = at + i;
                snprintf(audit->input_where, sizeof audit->input_where, "%c",
                         "AB"[which]);
            }
        }
    }
}

/* Elements of D whose every byte is still poison: never written. */
static void audit_sentinels(const struct gp_host *host, struct gp_audit *audit)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    size_t bytes = gemm->out->bytes;
    int64_t step = run_length(gemm, GP_C);
    unsigned char poison[8];

    memset(poison, GP_POISON, sizeof poison);
    for (int64_t at = 0; at < gp_gemm_count(gemm, GP_C); at += step) {
        const unsigned char *d = host->matrix[GP_C].data +
                                 (size_t)gp_gemm_place(gemm, GP_C, at) * bytes;
        for (int64_t i = 0; i < step; i++)
            if (d[(size_t)i * bytes] == GP_POISON &&
                memcmp(d + (size_t)i * bytes, poison, bytes) == 0 &&
                audit->sentinels_left++ == 0)
                audit->sentinel_first = at + i;
    }
}

int gp_host_audit(void *ctx, struct gp_audit *ret_audit, struct gp_err *err)
{
    struct gp_host *host = ctx;
    (void)err;
    *ret_audit = (struct gp_audit){
        .guard_first = -1, .input_first = -1, .sentinel_first = -1};
    for (enum gp_operand which = GP_A; which <= GP_C; which++)
        audit_matrix(host, which, ret_audit);
    audit_inputs(host, GP_A, ret_audit);
    audit_inputs(host, GP_B, ret_audit);
    if (!host->matrix[GP_C].packed)
        audit_sentinels(host, ret_audit);
    /* What was touched is laid out again at the next prepare. */
    if (ret_audit->guard_bytes || ret_audit->input_elements)
        host->clean = false;
    return 0;
}

void gp_host_hello(json_t *reply, const char *library, const char *version,
                   const char *path)
{
    json_t *about = gp_json_object(), *device = gp_json_object();

    gp_json_set_str(about, "name", library);
    gp_json_set_str(about, "version", version);
    gp_json_set_str(about, "path", path);
    gp_json_set(reply, "library", about);
    gp_json_set_str(device, "name", "CPU");
    gp_json_set_int(device, "compute_capability", 0);
    gp_json_set(reply, "device", device);
    gp_json_set(reply, "schedules", json_pack("[s]", "serial"));
    gp_json_set(reply, "faults",
                json_pack("[ssss]", "bit", "variant", "input", "guard"));
}
