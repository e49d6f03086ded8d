#include "harness/worker/backends/simulated_mma.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/shm.h"

/* Wide instructions where the CPU has them. By feature, not by architecture:
 * a clone for arch=haswell is only chosen on a Haswell. Without FMA fmaf() and
 * fma() are calls, and right. */
#if defined(__x86_64__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define CLONES(with) __attribute__((target_clones("default", with, "avx512f")))
#endif
#endif
#ifndef CLONES
#define CLONES(with)
#endif

enum {
    LANES = 16,           /* sums computed side by side */
    NODE_MOST = 16,       /* products of the widest node */
    NO_EXPONENT = -10000, /* of a zero */
    EXPONENT_LEAST = -126 /* no node aligns below */
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
    int e = x != 0 ? ilogb(x) : NO_EXPONENT;

    return x != 0 && e < emin ? emin : e;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Toward zero, to a multiple of 2^e. */
static double truncated(double x, int e)
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

/* Vectors of one operand with their exponents: element l of vector v stands
 * at l * lanes + v. FP64 values are in `wide`, the others, which FP32 holds
 * exactly, in `narrow`. */
struct panel {
    int64_t lanes;
    void *data;
    double *wide;
    float *narrow;
    int32_t *exponents; /* NO_EXPONENT for zero; fused nodes only */
    int least, most;    /* exponents seen */
    bool finite;
};

/* In this range every product, aligned term and sum of a fused node is an
 * exact FP32, int32 or double; FLOOR is below the exponent of all of them, so
 * that it only keeps a node of zeros in the range. */
enum { PRODUCT_LEAST = -76, PRODUCT_MOST = 90, FLOOR = -101 };

static bool fits(const struct panel *x, const struct panel *y)
{
    return x->finite && y->finite && x->least + y->least >= PRODUCT_LEAST &&
           x->most + y->most <= PRODUCT_MOST;
}

static inline int32_t float_exponent(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (int32_t)(bits >> 23 & 255) - 127;
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
CLONES("avx2") static bool fused_chains(const struct fused *args, float *to)
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
            int32_t e = float_exponent(c[i]);
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

/* LANES chains of multiply-adds. */
CLONES("fma")
static void narrow_chains(const float *x, const float *y, int64_t k, float *to)
{
    float c[LANES] = {0};

    for (int64_t l = 0; l < k; l++)
        for (int i = 0; i < LANES; i++)
            c[i] = fmaf(x[l * LANES + i], y[l], c[i]);
    memcpy(to, c, sizeof c);
}

CLONES("fma")
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
static void chains(const struct gp_simulated_plan *plan, const struct panel *x,
                   const struct panel *y, int64_t from, int64_t to,
                   double *ret_sums)
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

/* Vectors of an operand in memory: rows of op(A) or columns of op(B). One of
 * the steps is 1. */
struct vectors {
    const struct gp_type *type;
    const unsigned char *data;
    int64_t count, k;
    int64_t step_v, step_l; /* elements from vector to vector, along k */
};

static int panel_make(struct panel *panel, int64_t lanes, int64_t k,
                      struct gp_err *err)
{
    size_t count = (size_t)(lanes * k);

    *panel = (struct panel){.lanes = lanes};
    if (gp_matrix_alloc(&panel->data, count * sizeof(double),
                        "a simulated operand", err) != 0)
        return -1;
    panel->wide = panel->data;
    panel->narrow = panel->data;
    panel->exponents = (int32_t *)(void *)(panel->narrow + count);
    return 0;
}

static void put(const struct gp_simulated_plan *plan, struct panel *panel,
                int64_t at, double x)
{
    int e = NO_EXPONENT;

    if (plan->accumulator->bytes == 8) {
        panel->wide[at] = x;
        return;
    }
    x = gp_simulated_operand(plan, x);
    panel->narrow[at] = (float)x;
    if (!plan->tensor)
        return;
    if (!isfinite(x)) {
        panel->finite = false;
    } else if (x != 0) {
        e = larger(float_exponent((float)x), plan->input_emin);
        panel->least = e < panel->least ? e : panel->least;
        panel->most = larger(panel->most, e);
    }
    panel->exponents[at] = e;
}

/* Fill with vectors from `first` on, and zeros past the last. */
static void panel_fill(const struct gp_simulated_plan *plan,
                       const struct vectors *from, int64_t first,
                       struct panel *panel)
{
    enum { RUN = 256 };
    double run[RUN];
    int64_t left = from->count - first;
    int64_t lanes = left < panel->lanes ? left : panel->lanes;
    bool along_k = from->step_l == 1;
    int64_t outer = along_k ? lanes : from->k;
    int64_t inner = along_k ? from->k : lanes;

    panel->finite = true;
    panel->least = -NO_EXPONENT;
    panel->most = NO_EXPONENT;
    for (int64_t l = 0; lanes < panel->lanes && l < from->k; l++)
        for (int64_t v = lanes; v < panel->lanes; v++)
            put(plan, panel, l * panel->lanes + v, 0);
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < inner; i++) {
            int64_t v = first + (along_k ? o : i), l = along_k ? i : o;
            int64_t place = v * from->step_v + l * from->step_l;
            if (i % RUN == 0)
                gp_type_load(from->type,
                             from->data + (size_t)place * from->type->bytes,
                             run, inner - i < RUN ? inner - i : RUN);
            put(plan, panel, l * panel->lanes + v - first, run[i % RUN]);
        }
    }
}

/* LANES whole sums, each from its partial sums in order. */
static void split_sums(const struct gp_simulated_plan *plan,
                       const struct panel *x, const struct panel *y, int64_t k,
                       double *ret_sums)
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

static void epilogue(const struct gp_simulated_plan *plan,
                     const struct gp_gemm *gemm, double sum, unsigned char *d)
{
    double alpha = gp_type_round(plan->scale, gemm->alpha);
    double beta = gp_type_round(plan->scale, gemm->beta), c = 0, x;

    if (beta != 0)
        gp_type_load(gemm->out, d, &c, 1);
    if (plan->scale->bytes == 8) {
        x = alpha != 0 ? alpha * sum : 0;
        x = beta != 0 ? fma(beta, c, x) : x;
    } else {
        float narrow = alpha != 0 ? (float)alpha * (float)sum : 0;
        if (beta != 0)
            narrow = fmaf((float)beta, (float)c, narrow);
        x = (double)narrow;
    }
    gp_type_store(gemm->out, &x, d, 1);
}

/* A panel for each vector. */
static int panels_make(const struct gp_simulated_plan *plan,
                       const struct vectors *from, struct panel **ret_panels,
                       struct gp_err *err)
{
    *ret_panels = calloc((size_t)from->count, sizeof **ret_panels);
    if (!*ret_panels)
        return gp_err_set(err, GP_ERR_SYSTEM, "no memory for %lld vectors",
                          (long long)from->count);
    for (int64_t v = 0; v < from->count; v++) {
        if (panel_make(&(*ret_panels)[v], 1, from->k, err) != 0)
            return -1;
        panel_fill(plan, from, v, &(*ret_panels)[v]);
    }
    return 0;
}

static void panels_free(struct panel *panels, int64_t count)
{
    for (int64_t v = 0; panels && v < count; v++)
        gp_matrix_free(panels[v].data);
    free(panels);
}

/* Sums along the longer side of D, `wide`, are computed side by side: a
 * product does not change when its operands are exchanged. */
static int multiply_vectors(const struct gp_simulated_plan *plan,
                            const struct gp_gemm *gemm,
                            const struct vectors *wide,
                            const struct vectors *other, unsigned char *d,
                            struct gp_err *err)
{
    int64_t step_wide = gemm->m >= gemm->n ? 1 : gemm->ldc;
    int64_t step_other = gemm->m >= gemm->n ? gemm->ldc : 1;
    bool read = gemm->alpha != 0;
    struct panel x = {0}, *ys = NULL;
    double sums[LANES] = {0};
    int status = 0;

    if (read && (panel_make(&x, LANES, gemm->k, err) != 0 ||
                 panels_make(plan, other, &ys, err) != 0))
        status = -1;
    for (int64_t i = 0; status == 0 && i < wide->count; i += LANES) {
        if (read)
            panel_fill(plan, wide, i, &x);
        for (int64_t j = 0; j < other->count; j++) {
            if (read)
                split_sums(plan, &x, &ys[j], gemm->k, sums);
            for (int64_t v = i; v < i + LANES && v < wide->count; v++) {
                int64_t place = v * step_wide + j * step_other;
                epilogue(plan, gemm, sums[v - i],
                         d + (size_t)place * gemm->out->bytes);
            }
        }
    }
    panels_free(ys, other->count);
    gp_matrix_free(x.data);
    return status;
}

int gp_simulated_multiply(const struct gp_simulated_plan *plan,
                          const struct gp_gemm *gemm, const void *a,
                          const void *b, void *d, struct gp_err *err)
{
    struct vectors rows = {.type = gemm->in,
                           .data = a,
                           .count = gemm->m,
                           .k = gemm->k,
                           .step_v = gemm->trans_a ? gemm->lda : 1,
                           .step_l = gemm->trans_a ? 1 : gemm->lda};
    struct vectors columns = rows;

    columns.data = b;
    columns.count = gemm->n;
    columns.step_v = gemm->trans_b ? 1 : gemm->ldb;
    columns.step_l = gemm->trans_b ? gemm->ldb : 1;
    if (gemm->m >= gemm->n)
        return multiply_vectors(plan, gemm, &rows, &columns, d, err);
    return multiply_vectors(plan, gemm, &columns, &rows, d, err);
}
