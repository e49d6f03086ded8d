#include "harness/worker/backends/simulated_mma.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clones.h"
#include "harness/base/parallel.h"
#include "harness/base/shm.h"
#include "harness/worker/backends/simulated_panel.h"

enum {
    LANES = GP_PANEL_LANES, /* sums computed side by side */
    NODE_MOST = 16,         /* products of the widest node */
    EXPONENT_LEAST = -126   /* no node aligns below */
};

/* --- The arithmetic, to be read ------------------------------------------ */

double gp_simulated_operand(const struct gp_simulated_plan *plan, double x)
{
    if (plan->input_precision == 0)
        return x;
    x = gp_round_to(x, plan->input_precision, plan->input_emin);
    if (plan->input_f16 && fabs(x) > 65504)
        return copysign(INFINITY, x);
    return fabs(x) >= 0x1p128 ? copysign(INFINITY, x) : x;
}

/* The exponent of a number whose smallest normal exponent is emin. */
static int exponent_of(double x, int emin)
{
    int e = x != 0 ? ilogb(x) : GP_NO_EXPONENT;

    return x != 0 && e < emin ? emin : e;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static double truncated(double x, int e) /* to a multiple of 2^e */
{
    return ldexp(trunc(ldexp(x, -e)), e);
}

static double node_result(const struct gp_simulated_plan *plan, double sum)
{
    int e = exponent_of(sum, EXPONENT_LEAST);

    if (plan->accumulator->bytes == 2)
        return gp_type_round(plan->accumulator, sum);
    sum = sum != 0 ? truncated(sum, e - 23) : 0;
    return fabs(sum) >= 0x1p128 ? copysign(INFINITY, sum) : sum;
}

double gp_simulated_node(const struct gp_simulated_plan *plan, const double *a,
                         const double *b, int count, double c)
{
    int top = exponent_of(c, plan->accumulator->emin), quantum;
    double special = c, sum;

    for (int i = 0; i < count; i++) {
        special += a[i] * b[i];
        if (isfinite(a[i]) && isfinite(b[i]))
            top = larger(top, exponent_of(a[i], plan->input_emin) +
                                  exponent_of(b[i], plan->input_emin));
    }
    if (!isfinite(special))
        return isnan(special) ? (double)NAN : special;
    quantum = larger(top, EXPONENT_LEAST) - plan->fraction_bits;
    sum = truncated(c, quantum);
    for (int i = 0; i < count; i++)
        sum += truncated(a[i] * b[i], quantum); /* exact: below 2^53 quanta */
    return node_result(plan, sum == 0 ? 0 : sum);
}

double gp_simulated_chain(const struct gp_simulated_plan *plan, const double *a,
                          const double *b, int64_t k)
{
    int64_t step = plan->tensor ? plan->products : 1;
    double sum = 0;

    for (int64_t l = 0; l < k; l += step) {
        if (plan->tensor)
            sum = gp_simulated_node(plan, a + l, b + l,
                                    (int)(k - l < step ? k - l : step), sum);
        else if (plan->accumulator->bytes == 8)
            sum = fma(a[l], b[l], sum);
        else
            sum = (double)fmaf((float)a[l], (float)b[l], (float)sum);
    }
    return sum;
}

/* --- The same, many sums at a time --------------------------------------- */

/* In this range every product, aligned term and sum of a fused node is an
 * exact FP32, int32 or double; FLOOR is below the exponent of all of them, so
 * that it only keeps a node of zeros in the range. */
enum { PRODUCT_LEAST = -76, PRODUCT_MOST = 90, FLOOR = -101 };

static bool fits(const struct gp_panel *x, const struct gp_panel *y)
{
    return x->finite && y->finite && x->least + y->least >= PRODUCT_LEAST &&
           x->most + y->most <= PRODUCT_MOST;
}

static inline float float_power(int32_t e)
{
    uint32_t bits = (uint32_t)(e + 127) << 23;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A sum of fewer than 2^33 quanta to 24 bits, toward zero. */
static inline float to_fp32(double quanta, float quantum)
{
    uint64_t bits;

    memcpy(&bits, &quanta, sizeof bits);
    bits &= ~((UINT64_C(1) << 29) - 1);
    memcpy(&quanta, &bits, sizeof bits);
    return (float)quanta * quantum;
}

/* The same to nearest FP16: adding and subtracting 1.5 times 2^52 units of
 * the last place of a number rounds it there, ties to even. */
static inline float to_fp16(double quanta, float quantum)
{
    double x = quanta * (double)quantum, big;
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7ff) << 52;
    memcpy(&big, &bits, sizeof bits);
    big = 1.5 * 0x1p42 * (big > 0x1p-14 ? big : 0x1p-14);
    return (float)(x + big - big);
}

struct fused {
    const float *x, *y;
    const int32_t *ex, *ey;
    int64_t k;
    int fraction_bits, products;
    bool half; /* FP16 accumulator */
};

/* LANES chains of fused nodes. Terms are int32: 16 products of operands below
 * 2 - 2^-10 and F = 25 add up to less than 2^31. Returns whether no sum
 * overflowed. */
GP_CLONES("avx2") static bool fused_chains(const struct fused *args, float *to)
{
    float c[LANES] = {0}, scale[LANES];
    int32_t top[LANES], products[LANES], over[LANES] = {0}, overs = 0;
    int32_t fraction = args->fraction_bits;

    for (int64_t l = 0; l < args->k; l += args->products) {
        int64_t left = args->k - l;
        int64_t count = left < args->products ? left : args->products;
        const float *x = args->x + l * LANES, *y = args->y + l;
        const int32_t *ex = args->ex + l * LANES, *ey = args->ey + l;
        for (int i = 0; i < LANES; i++) {
            int32_t e = gp_float_exponent(c[i]);
            int32_t least = args->half && c[i] != 0 ? -14 : FLOOR;
            top[i] = e > least ? e : least;
            products[i] = 0;
        }
        for (int64_t t = 0; t < count; t++)
            for (int i = 0; i < LANES; i++) {
                int32_t e = ex[t * LANES + i] + ey[t];
                top[i] = e > top[i] ? e : top[i];
            }
        for (int i = 0; i < LANES; i++)
            scale[i] = float_power(fraction - top[i]);
        for (int64_t t = 0; t < count; t++)
            for (int i = 0; i < LANES; i++)
                products[i] += (int32_t)(x[t * LANES + i] * y[t] * scale[i]);
        for (int i = 0; i < LANES; i++) {
            double quanta =
                (double)products[i] + (double)(int32_t)(c[i] * scale[i]);
            float quantum = float_power(top[i] - fraction);
            float narrow = to_fp16(quanta, quantum);
            c[i] = args->half ? narrow : to_fp32(quanta, quantum);
            over[i] |= args->half && fabsf(c[i]) > 65504;
        }
    }
    for (int i = 0; i < LANES; i++) {
        to[i] = c[i];
        overs |= over[i];
    }
    return !overs;
}

/* LANES chains of multiply-adds. Without FMA fmaf() and fma() are calls, and
 * right. */
GP_CLONES("fma")
static void narrow_chains(const float *x, const float *y, int64_t k, float *to)
{
    float c[LANES] = {0};

    for (int64_t l = 0; l < k; l++)
        for (int i = 0; i < LANES; i++)
            c[i] = fmaf(x[l * LANES + i], y[l], c[i]);
    memcpy(to, c, sizeof c);
}

GP_CLONES("fma")
static void wide_chains(const double *x, const double *y, int64_t k, double *to)
{
    double c[LANES] = {0};

    for (int64_t l = 0; l < k; l++)
        for (int i = 0; i < LANES; i++)
            c[i] = fma(x[l * LANES + i], y[l], c[i]);
    memcpy(to, c, sizeof c);
}

/* One chain of fused nodes out of the panels: the readable way. */
static double plain_chain(const struct gp_simulated_plan *plan, const float *x,
                          const float *y, int64_t k)
{
    double a[NODE_MOST], b[NODE_MOST], sum = 0;

    for (int64_t l = 0; l < k; l += plan->products) {
        int count = 0;
        for (; count < plan->products && l + count < k; count++) {
            a[count] = (double)x[(l + count) * LANES];
            b[count] = (double)y[l + count];
        }
        sum = gp_simulated_node(plan, a, b, count, sum);
    }
    return sum;
}

/* Chunk [from, to) of LANES sums: x holds LANES vectors, y one. */
static void chains(const struct gp_simulated_plan *plan,
                   const struct gp_panel *x, const struct gp_panel *y,
                   int64_t from, int64_t to, double *ret_sums)
{
    const float *xs = x->narrow + from * LANES, *ys = y->narrow + from;
    float sums[LANES];
    int64_t k = to - from;

    if (plan->accumulator->bytes == 8) {
        wide_chains(x->wide + from * LANES, y->wide + from, k, ret_sums);
        return;
    }
    if (!plan->tensor)
        narrow_chains(xs, ys, k, sums);
    else if (!fits(x, y) ||
             !fused_chains(&(struct fused){xs, ys, x->exponents + from * LANES,
                                           y->exponents + from, k,
                                           plan->fraction_bits, plan->products,
                                           plan->accumulator->bytes == 2},
                           sums)) {
        for (int i = 0; i < LANES; i++)
            ret_sums[i] = plain_chain(plan, xs + i, ys, k);
        return;
    }
    for (int i = 0; i < LANES; i++)
        ret_sums[i] = (double)sums[i];
}

/* --- One product --------------------------------------------------------- */

/* LANES whole sums, each from its partial sums in order. */
static void split_sums(const struct gp_simulated_plan *plan,
                       const struct gp_panel *x, const struct gp_panel *y,
                       int64_t k, double *ret_sums)
{
    double partial[LANES];

    for (int64_t from = 0; from < k; from += plan->chunk) {
        int64_t to = k - from < plan->chunk ? k : from + plan->chunk;
        chains(plan, x, y, from, to, from ? partial : ret_sums);
        if (plan->splits == 1)
            return;
        for (int i = 0; i < LANES; i++) {
            double next = from ? partial[i] : ret_sums[i];
            next = gp_type_round(plan->partial, next);
            ret_sums[i] =
                from ? gp_type_round(plan->partial, ret_sums[i] + next) : next;
        }
    }
}

/* What the last steps take, rounded to the type of the scale once. */
struct epilogue {
    const struct gp_simulated_plan *plan;
    const struct gp_gemm *gemm;
    double alpha, beta;
};

static double scaled(const struct epilogue *e, double sum, double c)
{
    double x;

    if (e->alpha == 0 || e->gemm->k == 0) /* a quick return */
        return e->plan->scale->bytes == 8 ? e->beta * c
                                          : (double)(float)(e->beta * c);
    if (e->plan->scale->bytes == 8) {
        x = e->alpha * sum;
        return e->beta != 0 ? fma(e->beta, c, x) : x;
    }
    x = (double)((float)e->alpha * (float)sum);
    return e->beta != 0 ? (double)fmaf((float)e->beta, (float)c, (float)x) : x;
}

/* `count` sums go to D, `step` elements apart. */
static void store_sums(const struct epilogue *e, double *sums, int64_t count,
                       unsigned char *d, int64_t step)
{
    const struct gp_type *out = e->gemm->out;
    size_t apart = (size_t)step * out->bytes;

    for (int64_t i = 0; i < count; i++) {
        double c = 0;
        if (e->beta != 0)
            gp_type_load(out, d + (size_t)i * apart, &c, 1);
        sums[i] = scaled(e, sums[i], c);
    }
    if (step == 1) {
        gp_type_store(out, sums, d, count);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        gp_type_store(out, &sums[i], d + (size_t)i * apart, 1);
}

/* A panel for each vector. */
static int panels_make(const struct gp_simulated_plan *plan,
                       const struct gp_vectors *from,
                       struct gp_panel **ret_panels, struct gp_err *err)
{
    *ret_panels = calloc((size_t)from->count, sizeof **ret_panels);
    if (!*ret_panels)
        return gp_err_set(err, GP_ERR_SYSTEM, "no memory for %lld vectors",
                          (long long)from->count);
    for (int64_t v = 0; v < from->count; v++) {
        if (gp_panel_make(&(*ret_panels)[v], 1, from->k, err) != 0)
            return -1;
        gp_panel_fill(plan, from, v, &(*ret_panels)[v]);
    }
    return 0;
}

static void panels_free(struct gp_panel *panels, int64_t count)
{
    for (int64_t v = 0; panels && v < count; v++)
        gp_matrix_free(panels[v].data);
    free(panels);
}

/* Sums along the longer side of D, `wide`, are computed side by side: a
 * product does not change when its operands are exchanged. Blocks of that
 * side go to the processors, each block with a panel of its own. */
struct product {
    const struct gp_simulated_plan *plan;
    const struct gp_gemm *gemm;
    const struct gp_vectors *wide, *other;
    const struct gp_panel *ys; /* one for each of `other`; NULL: alpha = 0 */
    struct epilogue epilogue;
    unsigned char *d;
    int64_t step_wide, step_other; /* elements of D */
    int64_t share;                 /* vectors of `wide` in a block */
    struct gp_panel *xs;           /* one a block */
};

static void multiply_block(void *ctx, size_t block)
{
    const struct product *p = ctx;
    int64_t from = (int64_t)block * p->share, to = from + p->share;
    struct gp_panel *x = p->ys ? &p->xs[block] : NULL;
    double sums[LANES];

    to = to < p->wide->count ? to : p->wide->count;
    for (int64_t v = from; v < to; v += LANES) {
        int64_t count = to - v < LANES ? to - v : LANES;
        if (x)
            gp_panel_fill(p->plan, p->wide, v, x);
        for (int64_t j = 0; j < p->other->count; j++) {
            int64_t place = v * p->step_wide + j * p->step_other;
            memset(sums, 0, sizeof sums);
            if (x)
                split_sums(p->plan, x, &p->ys[j], p->gemm->k, sums);
            store_sums(&p->epilogue, sums, count,
                       p->d + (size_t)place * p->gemm->out->bytes,
                       p->step_wide);
        }
    }
}

enum {
    BLOCKS = 8,     /* at most; a panel each */
    ALONE = 1 << 18 /* below so many products one processor does it all */
};

static int multiply_vectors(struct product *p, struct gp_err *err)
{
    struct gp_panel xs[BLOCKS] = {{0}}, *ys = NULL;
    const struct gp_gemm *gemm = p->gemm;
    int64_t count = p->wide->count, vectors = (count + LANES - 1) / LANES;
    int64_t blocks = gemm->m * gemm->n * gemm->k < ALONE ? 1 : BLOCKS;
    int status = 0;

    if (count == 0)
        return 0;
    p->share = (vectors + blocks - 1) / blocks * LANES;
    blocks = (count + p->share - 1) / p->share;
    p->xs = xs;
    if (gemm->alpha != 0 && gemm->k != 0)
        status = panels_make(p->plan, p->other, &ys, err);
    for (int64_t i = 0; ys && i < blocks && status == 0; i++)
        status = gp_panel_make(&xs[i], LANES, gemm->k, err);
    p->ys = ys;
    if (status == 0)
        gp_parallel((size_t)blocks, multiply_block, p);
    panels_free(ys, p->other->count);
    for (int64_t i = 0; i < blocks; i++)
        gp_matrix_free(xs[i].data);
    return status;
}

int gp_simulated_multiply(const struct gp_simulated_plan *plan,
                          const struct gp_gemm *gemm, const void *a,
                          const void *b, void *d, struct gp_err *err)
{
    struct gp_vectors rows = {.type = gemm->in,
                              .data = a,
                              .count = gemm->m,
                              .k = gemm->k,
                              .step_v = gemm->trans_a ? gemm->lda : 1,
                              .step_l = gemm->trans_a ? 1 : gemm->lda};
    struct gp_vectors columns = rows;
    bool tall = gemm->m >= gemm->n;
    struct product product = {
        .plan = plan,
        .gemm = gemm,
        .wide = tall ? &rows : &columns,
        .other = tall ? &columns : &rows,
        .epilogue = {plan, gemm, gp_type_round(plan->scale, gemm->alpha),
                     gp_type_round(plan->scale, gemm->beta)},
        .d = d,
        .step_wide = tall ? 1 : gemm->ldc,
        .step_other = tall ? gemm->ldc : 1};

    columns.data = b;
    columns.count = gemm->n;
    columns.step_v = gemm->trans_b ? 1 : gemm->ldb;
    columns.step_l = gemm->trans_b ? gemm->ldb : 1;
    return multiply_vectors(&product, err);
}
