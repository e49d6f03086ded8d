/*
 * The backend cublas: GEMM of a libcublas that is loaded at run time, one
 * handle on one stream of its own.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/worker/backend.h"
#include "harness/worker/backends/cublas_call.h"
#include "harness/worker/backends/cublas_device.h"
#include "harness/worker/backends/cublas_evidence.h"
#include "harness/worker/backends/cublas_loaded.h"
#include "harness/worker/backends/cublas_operands.h"

struct context {
    struct gp_arena arena;
    const char *library;
    struct gp_cublas cublas; /* from hello on */
    struct gp_cublas_evidence evidence;
    bool has_handle;
    cudaEvent_t start, stop;
    struct gp_cublas_operands operands; /* owns the gemm; its stream is ours */
    struct gp_request request;
    struct gp_cublas_mode mode;
    bool prepared;
};

static int cublas_open(void **ret_ctx, const char *variant, const char *library,
                       struct gp_err *err)
{
    struct gp_arena arena = {0};
    struct context *ctx;

    if (*variant)
        return gp_err_set(err, GP_ERR_USAGE,
                          "the backend cublas has no variants, and '%s' was "
                          "asked for",
                          variant);
    ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        gp_arena_out_of_memory(sizeof *ctx);
    ctx->library = gp_arena_copy(&arena, library);
    ctx->arena = arena;
    *ret_ctx = ctx;
    return 0;
}

/* Before the CUDA context is torn down, in the reverse order of hello. */
static void drop_handle(struct context *ctx)
{
    if (ctx->cublas.handle)
        (void)ctx->cublas.api.destroy(ctx->cublas.handle);
    if (ctx->stop)
        (void)cudaEventDestroy(ctx->stop);
    if (ctx->start)
        (void)cudaEventDestroy(ctx->start);
    if (ctx->operands.stream)
        (void)cudaStreamDestroy(ctx->operands.stream);
    gp_cublas_unload(&ctx->cublas.api);
    ctx->cublas = (struct gp_cublas){0};
    ctx->start = ctx->stop = NULL;
    ctx->operands.stream = NULL;
    ctx->has_handle = false;
}

static int library_call(struct context *ctx, cublasStatus_t status,
                        const char *who, struct gp_err *err)
{
    char room[32];

    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    return gp_err_set(err, GP_ERR_BACKEND, "%s says %s", who,
                      gp_cublas_status(&ctx->cublas.api, status, room));
}

/* The handle is made here, once: that is when cuBLAS reads
 * CUBLAS_WORKSPACE_CONFIG. */
static int make_handle(struct context *ctx, struct gp_err *err)
{
    struct gp_cublas *cublas = &ctx->cublas;
    const struct gp_cublas_api *api = &cublas->api;

    if (gp_cublas_device_check(err) ||
        gp_cublas_load(&cublas->api, ctx->library, err) ||
        gp_cublas_cuda(cudaStreamCreateWithFlags(&ctx->operands.stream,
                                                 cudaStreamNonBlocking),
                       "making a stream", err) ||
        gp_cublas_cuda(cudaEventCreate(&ctx->start), "making an event", err) ||
        gp_cublas_cuda(cudaEventCreate(&ctx->stop), "making an event", err) ||
        library_call(
            ctx,
            gp_cublas_evidence_create(&ctx->evidence, api, &cublas->handle),
            "cublasCreate", err) ||
        library_call(ctx, api->get_version(cublas->handle, &cublas->version),
                     "cublasGetVersion", err) ||
        library_call(ctx, api->set_stream(cublas->handle, ctx->operands.stream),
                     "cublasSetStream", err) ||
        library_call(
            ctx,
            api->set_pointer_mode(cublas->handle, CUBLAS_POINTER_MODE_HOST),
            "cublasSetPointerMode", err))
        return -1;
    cublas->version = gp_cublas_version(cublas->version);
    if (cublas->version < 110000 || cublas->version >= 140000)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "cuBLAS %d is loaded, and this worker knows the "
                          "majors 11 to 13",
                          cublas->version / 10000);
    ctx->has_handle = true;
    return 0;
}

static json_t *describe_library(const struct context *ctx)
{
    json_t *library = gp_json_object();
    char text[PATH_MAX];

    gp_json_set_str(library, "name", "cuBLAS");
    gp_cublas_version_text(ctx->cublas.version, text);
    gp_json_set_str(library, "version", text);
    gp_cublas_path(&ctx->cublas.api, text, sizeof text);
    gp_json_set_str(library, "path", text);
    gp_cublas_loaded_lt(library);
    gp_json_set(library, "loaded", gp_cublas_loaded());
    return library;
}

static json_t *words(const char *const *list)
{
    json_t *array = gp_json_array();

    for (; *list; list++)
        gp_json_append(array, gp_json_text(*list));
    return array;
}

static int cublas_hello(void *context, json_t *reply, struct gp_err *err)
{
    static const char *const schedules[] = {"serial", NULL};
    static const char *const faults[] = {"bit", "variant", "input", "guard",
                                         NULL};
    struct context *ctx = context;
    json_t *device, *offers;

    if (!ctx->has_handle && make_handle(ctx, err) != 0) {
        drop_handle(ctx);
        return -1;
    }
    device = gp_json_object();
    if (gp_cublas_device_describe(device, err) != 0) {
        json_decref(device);
        return -1;
    }
    offers = gp_json_array();
    gp_cublas_offer(&ctx->cublas, offers);
    gp_json_set(reply, "library", describe_library(ctx));
    gp_json_set(reply, "device", device);
    gp_json_set(reply, "workspace",
                gp_cublas_evidence_describe(&ctx->evidence));
    gp_json_set(reply, "offers", offers);
    gp_json_set(reply, "schedules", words(schedules));
    gp_json_set(reply, "faults", words(faults));
    return 0;
}

/* The product of what is laid out, as asked for. */
static struct gp_cublas_product whole(const struct context *ctx)
{
    const struct gp_cublas_operands *operands = &ctx->operands;

    return (struct gp_cublas_product){
        .gemm = &operands->gemm,
        .request = &ctx->request,
        .mode = ctx->mode,
        .a = operands->laid[GP_A].data,
        .b = operands->laid[GP_B].data,
        .d = operands->laid[GP_C].data,
        .k = operands->gemm.k,
        .beta = operands->gemm.beta,
        .stream = operands->stream,
        .scalars = operands->buffers[GP_CUBLAS_SCALARS].data,
    };
}

static int cublas_prepare(void *context, const struct gp_job *job,
                          struct gp_err *err)
{
    struct context *ctx = context;
    struct gp_cublas_product product;

    ctx->prepared = false;
    if (!ctx->has_handle)
        return gp_err_set(err, GP_ERR_USAGE, "prepare before hello");
    if (gp_cublas_mode(&ctx->cublas, &job->gemm, &job->request, &ctx->mode,
                       err) ||
        gp_cublas_operands_take(&ctx->operands, job, err))
        return -1;
    ctx->request = job->request;
    product = whole(ctx);
    if (gp_cublas_set_math(&ctx->cublas, &product, err) != 0)
        return -1;
    ctx->prepared = true;
    return 0;
}

/* Can the fault be planted in this problem, whenever its turn comes? */
static int check_fault(const struct gp_gemm *gemm, const struct gp_fault *fault,
                       struct gp_err *err)
{
    int64_t places = 0;
    int bits = (int)gemm->out->bytes * 8;

    switch (fault->kind) {
    case GP_FAULT_NONE:
        return 0;
    case GP_FAULT_VARIANT:
        if (gemm->k >= 2)
            return 0;
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the fault 'variant' halves k, so k must be 2 or "
                          "more");
    case GP_FAULT_BIT:
        if (fault->bit < 0 || fault->bit >= bits)
            return gp_err_set(err, GP_ERR_USAGE,
                              "the fault 'bit' names bit %d, and %s has the "
                              "bits 0 to %d",
                              fault->bit, gemm->out->name, bits - 1);
        places = gp_gemm_count(gemm, GP_C);
        break;
    case GP_FAULT_INPUT:
        places = gp_gemm_count(gemm, GP_A);
        break;
    case GP_FAULT_GUARD:
        places = GP_GUARD_BYTES;
        break;
    }
    if (fault->place < 0 || fault->place >= places)
        return gp_err_set(err, GP_ERR_USAGE,
                          "the fault names place %" PRId64
                          ", and there are the places 0 to %" PRId64,
                          fault->place, places - 1);
    return 0;
}

/* An operand from its element `elements` on. */
static const void *advance(const struct gp_cuda_matrix *matrix,
                           int64_t elements)
{
    return (const unsigned char *)matrix->data +
           elements * matrix->element_bytes;
}

/* The fault variant: the first half of k, then the second added to it. A step
 * of k goes along a column of the stored matrix if A is transposed or B is
 * not, else along a row; and the one of the two that the layout keeps
 * together has its elements side by side. */
static int multiply_halves(const struct context *ctx, struct gp_err *err)
{
    const struct gp_gemm *gemm = &ctx->operands.gemm;
    const int64_t half = gemm->k / 2;
    struct gp_cublas_product product = whole(ctx);

    product.k = half;
    if (gp_cublas_multiply(&ctx->cublas, &product, err) != 0)
        return -1;
    product.a =
        advance(&ctx->operands.laid[GP_A],
                gemm->trans_a == gemm->row_major ? half * gemm->lda : half);
    product.b =
        advance(&ctx->operands.laid[GP_B],
                gemm->trans_b == gemm->row_major ? half : half * gemm->ldb);
    product.k = gemm->k - half;
    product.beta = 1;
    return gp_cublas_multiply(&ctx->cublas, &product, err);
}

static int multiply(struct context *ctx, bool halves, double *ret_ns,
                    struct gp_err *err)
{
    cudaStream_t stream = ctx->operands.stream;
    struct gp_cublas_product product = whole(ctx);
    float milliseconds;

    if (gp_cublas_cuda(cudaEventRecord(ctx->start, stream), "the product",
                       err) ||
        (halves ? multiply_halves(ctx, err)
                : gp_cublas_multiply(&ctx->cublas, &product, err)) ||
        gp_cublas_cuda(cudaEventRecord(ctx->stop, stream), "the product",
                       err) ||
        gp_cublas_cuda(cudaEventSynchronize(ctx->stop), "the product", err) ||
        gp_cublas_cuda(
            cudaEventElapsedTime(&milliseconds, ctx->start, ctx->stop),
            "timing the product", err))
        return -1;
    *ret_ns = (double)milliseconds * 1e6;
    return 0;
}

static int plant(struct context *ctx, const struct gp_fault *fault, bool now,
                 bool last, struct gp_err *err)
{
    struct gp_cublas_operands *operands = &ctx->operands;

    if (fault->kind == GP_FAULT_BIT && now)
        return gp_cublas_operands_flip(operands, GP_C, fault->place, fault->bit,
                                       err);
    if (fault->kind == GP_FAULT_INPUT && last)
        return gp_cublas_operands_flip(operands, GP_A, fault->place, 0, err);
    if (fault->kind == GP_FAULT_GUARD && last)
        return gp_cublas_operands_flip_guard(operands, fault->place, err);
    return 0;
}

static int cublas_launch(void *context, int64_t repeat, bool last,
                         const struct gp_fault *fault, double *ret_ns,
                         struct gp_err *err)
{
    static const struct gp_fault none;
    struct context *ctx = context;
    const struct gp_fault *asked = fault ? fault : &none;
    bool now = asked->repeat == repeat;
    double ns;

    if (!ctx->prepared)
        return gp_err_set(err, GP_ERR_USAGE, "launch before prepare");
    if (check_fault(&ctx->operands.gemm, asked, err) ||
        (repeat == 0 && gp_cublas_operands_renew(&ctx->operands, err)) ||
        gp_cublas_operands_restore(&ctx->operands, err))
        return -1;
    if (multiply(ctx, now && asked->kind == GP_FAULT_VARIANT, &ns, err) ||
        plant(ctx, asked, now, last, err)) {
        ctx->operands.touched = true;
        return -1;
    }
    *ret_ns = ns;
    return 0;
}

static int cublas_digest(void *context, struct gp_digest *ret_digest,
                         struct gp_err *err)
{
    struct context *ctx = context;

    return gp_cublas_operands_digest(&ctx->operands, ret_digest, err);
}

static int cublas_keep(void *context, bool first, void *to, struct gp_err *err)
{
    struct context *ctx = context;

    return gp_cublas_operands_keep(&ctx->operands, first, to, err);
}

static int cublas_compare(void *context, struct gp_difference *ret_difference,
                          struct gp_err *err)
{
    struct context *ctx = context;

    return gp_cublas_operands_compare(&ctx->operands, ret_difference, err);
}

static int cublas_audit(void *context, struct gp_audit *ret_audit,
                        struct gp_err *err)
{
    struct context *ctx = context;

    return gp_cublas_operands_audit(&ctx->operands, ret_audit, err);
}

static void cublas_close(void *context)
{
    struct context *ctx = context;

    gp_cublas_operands_free(&ctx->operands);
    drop_handle(ctx);
    gp_arena_free(&ctx->arena);
    free(ctx);
}

const struct gp_backend gp_backend = {
    .name = "cublas",
    .help = "cuBLAS 11 to 13, loaded when it starts",
    .open = cublas_open,
    .hello = cublas_hello,
    .prepare = cublas_prepare,
    .launch = cublas_launch,
    .digest = cublas_digest,
    .keep = cublas_keep,
    .compare = cublas_compare,
    .audit = cublas_audit,
    .close = cublas_close,
};
