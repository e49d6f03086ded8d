/*
 * A GPU's matrix product simulated on the CPU: operands rounded as the mode
 * says, tensor cores of three generations, split sums that depend on
 * CUBLAS_WORKSPACE_CONFIG. simulated_mma.h says what is simulated and after
 * whom; no number of it comes from a GPU.
 *
 * A product is computed once for each plan and problem; repeats copy it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/shm.h"
#include "harness/worker/backends/host.h"
#include "harness/worker/backends/simulated_mma.h"

/* One result, as it lies in D. */
struct result {
    struct gp_simulated_plan plan;
    void *d;
};

enum { RESULTS_MOST = 16 };

struct simulated {
    struct gp_host host; /* first: the host's functions know only this */
    const struct gp_simulated_unit *unit;
    int64_t workspace_bytes;
    /* What the results belong to. */
    int64_t operands_id;
    struct gp_gemm gemm;
    struct result results[RESULTS_MOST];
    int count;
};

static struct simulated *simulated_of(struct gp_host *host)
{
    return (struct simulated *)(void *)host;
}

static void forget(struct simulated *simulated)
{
    while (simulated->count > 0)
        gp_matrix_free(simulated->results[--simulated->count].d);
}

static bool same_plan(const struct gp_simulated_plan *a,
                      const struct gp_simulated_plan *b)
{
    return a->tensor == b->tensor && a->accumulator == b->accumulator &&
           a->partial == b->partial && a->scale == b->scale &&
           a->input_precision == b->input_precision &&
           a->input_emin == b->input_emin && a->input_f16 == b->input_f16 &&
           a->fraction_bits == b->fraction_bits && a->products == b->products &&
           a->splits == b->splits && a->chunk == b->chunk;
}

/* Is this the whole product that was prepared? A fault asks for parts of it,
 * whose results are not kept. */
static bool whole(const struct gp_host *host,
                  const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    bool swapped = gemm->row_major;

    return product->a == host->matrix[swapped ? GP_B : GP_A].data &&
           product->b == host->matrix[swapped ? GP_A : GP_B].data &&
           product->d == host->matrix[GP_C].data &&
           product->gemm.k == gemm->k && product->gemm.batch == gemm->batch &&
           product->gemm.alpha == gemm->alpha &&
           product->gemm.beta == gemm->beta;
}

/* Copy D column by column: what lies between is not the product's. */
static void copy_result(const struct gp_gemm *gemm, const void *from, void *to)
{
    size_t bytes = gemm->out->bytes;

    for (int64_t j = 0; j < gemm->n * gemm->batch; j++) {
        size_t at = (size_t)(j * gemm->ldc) * bytes;
        memcpy((unsigned char *)to + at, (const unsigned char *)from + at,
               (size_t)gemm->m * bytes);
    }
}

static const struct result *find_result(struct simulated *simulated,
                                        const struct gp_simulated_plan *plan)
{
    const struct gp_job *job = &simulated->host.job;

    if (simulated->operands_id != job->operands_id ||
        !gp_gemm_equal(&simulated->gemm, &job->gemm))
        forget(simulated);
    simulated->operands_id = job->operands_id;
    simulated->gemm = job->gemm;
    for (int i = 0; i < simulated->count; i++)
        if (same_plan(&simulated->results[i].plan, plan))
            return &simulated->results[i];
    return NULL;
}

/* Without memory for it, the next repeat computes again. */
static void keep_result(struct simulated *simulated,
                        const struct gp_simulated_plan *plan,
                        const struct gp_host_product *product)
{
    struct gp_err ignored;
    struct result *result = &simulated->results[simulated->count];

    if (simulated->count == RESULTS_MOST ||
        gp_matrix_alloc(&result->d, simulated->host.matrix[GP_C].bytes,
                        "a simulated result", &ignored) != 0)
        return;
    result->plan = *plan;
    copy_result(&product->gemm, product->d, result->d);
    simulated->count++;
}

static int simulated_multiply(struct gp_host *host,
                              const struct gp_host_product *product,
                              struct gp_err *err)
{
    struct simulated *simulated = simulated_of(host);
    const struct gp_gemm *gemm = &product->gemm;
    size_t in = gemm->in->bytes, out = gemm->out->bytes;
    const struct result *known = NULL;
    struct gp_simulated_plan plan;
    bool keep = whole(host, product);

    if (gp_simulated_plan(simulated->unit, gemm, &host->job.request,
                          simulated->workspace_bytes, &plan, err) != 0)
        return -1;
    if (keep)
        known = find_result(simulated, &plan);
    if (known) {
        copy_result(gemm, known->d, product->d);
        return 0;
    }
    for (int64_t batch = 0; batch < gemm->batch; batch++)
        if (gp_simulated_multiply(
                &plan, gemm,
                (const unsigned char *)product->a +
                    (size_t)(batch * gp_gemm_stride(gemm, GP_A)) * in,
                (const unsigned char *)product->b +
                    (size_t)(batch * gp_gemm_stride(gemm, GP_B)) * in,
                (unsigned char *)product->d +
                    (size_t)(batch * gp_gemm_stride(gemm, GP_C)) * out,
                err) != 0)
            return -1;
    if (keep)
        keep_result(simulated, &plan, product);
    return 0;
}

static int simulated_open(void **ret_ctx, const char *variant,
                          const char *library, struct gp_err *err)
{
    const struct gp_simulated_unit *unit = gp_simulated_find(variant);
    struct simulated *simulated;

    (void)library;
    if (!unit)
        return gp_err_set(err, GP_ERR_USAGE,
                          "the backend simulated has no variant '%.40s': it "
                          "has sm70, sm80 and sm90, as in simulated=sm80",
                          variant);
    simulated = calloc(1, sizeof *simulated);
    if (!simulated)
        return gp_err_set(err, GP_ERR_SYSTEM, "no memory for the worker");
    simulated->host.multiply = simulated_multiply;
    simulated->unit = unit;
    simulated->workspace_bytes = gp_simulated_workspace(
        getenv("CUBLAS_WORKSPACE_CONFIG"), unit->pool_bytes);
    *ret_ctx = &simulated->host;
    return 0;
}

/* What every device offers, and what came with sm_80. gp_simulated_plan
 * knows the same. */
static void put_offers(const struct gp_simulated_unit *unit, json_t *reply)
{
    static const char both[] = "default pedantic";
    static const char plain[] = "32f 32f-pedantic";
    bool ampere = unit->products_tf32 > 0;
    const char *maths = ampere ? "default pedantic tf32" : both;
    json_t *offers = gp_json_array();

    gp_backend_offer(offers, "gemm", "f32", "f32", maths, "", true);
    gp_backend_offer(offers, "gemm", "f64", "f64", both, "", true);
    gp_backend_offer(offers, "gemm-ex", "f32", "f32", maths,
                     ampere ? "32f 32f-pedantic 32f-fast-tf32 32f-fast-16bf "
                              "32f-fast-16f"
                            : "32f 32f-pedantic 32f-fast-16f",
                     true);
    gp_backend_offer(offers, "gemm-ex", "f64", "f64", both, "64f 64f-pedantic",
                     true);
    gp_backend_offer(offers, "gemm-ex", "f16", "f16", both,
                     "32f 32f-pedantic 16f", true);
    gp_backend_offer(offers, "gemm-ex", "f16", "f32", both, plain, true);
    if (ampere) {
        gp_backend_offer(offers, "gemm-ex", "bf16", "bf16", both, plain, true);
        gp_backend_offer(offers, "gemm-ex", "bf16", "f32", both, plain, true);
    }
    gp_json_set(reply, "offers", offers);
}

static int simulated_hello(void *ctx, json_t *reply, struct gp_err *err)
{
    const struct gp_simulated_unit *unit = simulated_of(ctx)->unit;
    json_t *device;
    char name[32];

    (void)err;
    gp_host_hello(reply, "gemmproof simulation", "1", "");
    device = json_object_get(reply, "device");
    snprintf(name, sizeof name, "simulated sm_%d", unit->compute_capability);
    gp_json_set_str(device, "name", name);
    gp_json_set_bool(device, "simulated", true);
    gp_json_set_int(device, "compute_capability", unit->compute_capability);
    gp_json_set_int(device, "multiprocessors", unit->multiprocessors);
    put_offers(unit, reply);
    return 0;
}

static void simulated_close(void *ctx)
{
    forget(simulated_of(ctx));
    gp_host_close(ctx);
}

const struct gp_backend gp_backend = {
    .name = "simulated",
    .help = "a simulation of a GPU's arithmetic on the CPU",
    .open = simulated_open,
    .hello = simulated_hello,
    .prepare = gp_host_prepare,
    .launch = gp_host_launch,
    .digest = gp_host_digest,
    .keep = gp_host_keep,
    .compare = gp_host_compare,
    .audit = gp_host_audit,
    .close = simulated_close,
};
