/* What is simulated, and how a product is planned on it. */
#include "harness/worker/backends/simulated_mma.h"

#include <stdlib.h>
#include <string.h>

enum {
    GRAIN = 64, /* k is split at multiples of this */
    TILE = 128, /* a tile of D is TILE x TILE */
    CHUNK_LEAST = 256,
    SPLITS_MOST = 32
};

/* F and L: Khattak and Mikaitis 2025, Xie et al. 2025. Multiprocessors: V100,
 * A100, H100 and H200. Pools: the documented sizes. */
const struct gp_simulated_unit gp_simulated_units[] = {
    {"sm90", 90, 132, 25, 16, 8, INT64_C(32) << 20},
    {"sm80", 80, 108, 24, 8, 4, INT64_C(4) << 20},
    {"sm70", 70, 80, 23, 4, 0, INT64_C(4) << 20},
    {NULL, 0, 0, 0, 0, 0, 0},
};

const struct gp_simulated_unit *gp_simulated_find(const char *name)
{
    const struct gp_simulated_unit *unit = gp_simulated_units;

    while (*name && unit->name && strcmp(unit->name, name) != 0)
        unit++;
    return unit->name ? unit : NULL;
}

/* ":NUMBER" from *at; -1 if it is not there. */
static int64_t colon_number(const char **at)
{
    const char *digits = *at + 1;
    size_t length = **at == ':' ? strspn(digits, "0123456789") : 0;

    if (length == 0 || length > 12)
        return -1;
    *at = digits + length;
    return strtoll(digits, NULL, 10);
}

int64_t gp_simulated_workspace(const char *config, int64_t otherwise)
{
    const char *at = config;
    int64_t most = 0;

    if (!config || !*config)
        return otherwise;
    while (*at) {
        int64_t size = colon_number(&at);
        int64_t count = size < 0 ? -1 : colon_number(&at);
        if (count < 0)
            return otherwise;
        if (count > 0 && size * 1024 > most)
            most = size * 1024;
    }
    return most;
}

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

/* What the operands of an FP32 product are rounded to. Where the requests
 * contradict each other the compute type decides, as the more specific of the
 * two: a fast type wins over pedantic math, a pedantic type over TF32 math;
 * the plain type 32f leaves the choice to the math mode. */
static void plan_f32(const struct gp_simulated_unit *unit,
                     const struct gp_request *request,
                     struct gp_simulated_plan *plan)
{
    const char *compute = request->compute;
    bool plain = !*compute || is(compute, "32f");

    if (is(compute, "32f-fast-tf32") || (plain && is(request->math, "tf32")))
        *plan = (struct gp_simulated_plan){.input_precision = 11,
                                           .input_emin = -126,
                                           .products = unit->products_tf32};
    else if (is(compute, "32f-fast-16bf"))
        *plan = (struct gp_simulated_plan){.input_precision = 8,
                                           .input_emin = -126,
                                           .products = unit->products_16};
    else if (is(compute, "32f-fast-16f"))
        *plan = (struct gp_simulated_plan){.input_precision = 11,
                                           .input_emin = -14,
                                           .input_f16 = true,
                                           .products = unit->products_16};
}

/* Fused nodes and operands, before shapes are looked at. */
static void plan_units(const struct gp_simulated_unit *unit,
                       const struct gp_gemm *gemm,
                       const struct gp_request *request,
                       struct gp_simulated_plan *plan)
{
    *plan = (struct gp_simulated_plan){0};
    if (gemm->in->bytes == 2)
        *plan = (struct gp_simulated_plan){.input_emin = gemm->in->emin,
                                           .products = unit->products_16};
    else if (gemm->in->bytes == 4)
        plan_f32(unit, request, plan);
    plan->tensor = plan->products > 0;
    if (plan->tensor && (gemm->m == 1 || gemm->n == 1))
        *plan = (struct gp_simulated_plan){0};
    plan->fraction_bits = plan->tensor ? unit->fraction_bits : 0;
}

/* As many partial sums as fill the device, while they fit the workspace. */
static void plan_splits(const struct gp_simulated_unit *unit,
                        const struct gp_gemm *gemm, int64_t workspace_bytes,
                        struct gp_simulated_plan *plan)
{
    int64_t grains = (gemm->k + GRAIN - 1) / GRAIN;
    int64_t most = (gemm->k + CHUNK_LEAST - 1) / CHUNK_LEAST;
    int64_t tiles = gemm->batch * ((gemm->m + TILE - 1) / TILE) *
                    ((gemm->n + TILE - 1) / TILE);
    double one = (double)gemm->m * (double)gemm->n * (double)gemm->batch *
                 (double)plan->partial->bytes;
    int64_t splits = tiles ? unit->multiprocessors / tiles : 1;

    if (splits > most)
        splits = most;
    if (splits > SPLITS_MOST)
        splits = SPLITS_MOST;
    while (splits > 1 && (double)splits * one > (double)workspace_bytes)
        splits /= 2;
    if (splits < 1 || gemm->m == 1 || gemm->n == 1)
        splits = 1;
    plan->chunk = grains ? (grains + splits - 1) / splits * GRAIN : GRAIN;
    plan->splits = (gemm->k + plan->chunk - 1) / plan->chunk;
}

static bool one_of(const char *word, const char *words)
{
    size_t length = strlen(word);

    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t next = strcspn(at, " ");
        if (next == length && strncmp(at, word, length) == 0)
            return true;
        at += next;
    }
    return false;
}

static bool offered(const struct gp_simulated_unit *unit,
                    const struct gp_gemm *gemm,
                    const struct gp_request *request)
{
    bool ex = is(request->entry, "gemm-ex");

    if (!unit->products_tf32 &&
        (is(gemm->in->name, "bf16") || is(request->math, "tf32") ||
         one_of(request->compute, "32f-fast-tf32 32f-fast-16bf")))
        return false;
    if (!one_of(request->math, gemm->in->bytes == 4 ? "default pedantic tf32"
                                                    : "default pedantic"))
        return false;
    if (!ex)
        return is(request->entry, "gemm") && !*request->compute &&
               gemm->in == gemm->out && gemm->in->bytes >= 4;
    if (gemm->in->bytes == 8)
        return one_of(request->compute, "64f 64f-pedantic");
    if (gemm->in->bytes == 4)
        return one_of(request->compute, "32f 32f-pedantic 32f-fast-tf32 "
                                        "32f-fast-16bf 32f-fast-16f");
    return one_of(request->compute, "32f 32f-pedantic") ||
           (is(request->compute, "16f") && is(gemm->out->name, "f16"));
}

int gp_simulated_plan(const struct gp_simulated_unit *unit,
                      const struct gp_gemm *gemm,
                      const struct gp_request *request, int64_t workspace_bytes,
                      struct gp_simulated_plan *ret_plan, struct gp_err *err)
{
    struct gp_simulated_plan plan;
    bool half = is(request->compute, "16f");
    bool pedantic =
        is(request->math, "pedantic") || is(request->compute, "32f-pedantic");

    if (!offered(unit, gemm, request))
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the simulation of %s does not offer %s of %s to %s "
                          "with math '%s' and compute type '%s'",
                          unit->name, request->entry, gemm->in->name,
                          gemm->out->name, request->math, request->compute);
    plan_units(unit, gemm, request, &plan);
    plan.scale = gp_type_find(half                   ? "f16"
                              : gemm->in->bytes == 8 ? "f64"
                                                     : "f32");
    plan.accumulator = half && !plan.tensor ? gp_type_find("f32") : plan.scale;
    /* cuBLAS may keep partial sums in a narrower output type unless that is
     * forbidden. */
    plan.partial = plan.accumulator;
    if (gemm->out->bytes < plan.partial->bytes &&
        !request->no_reduced_precision && !pedantic)
        plan.partial = gemm->out;
    plan_splits(unit, gemm, workspace_bytes, &plan);
    if (plan.splits == 1)
        plan.partial = plan.accumulator;
    *ret_plan = plan;
    return 0;
}
