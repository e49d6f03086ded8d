#include "harness/worker/backends/simulated_panel.h"

#include <math.h>

#include "harness/base/clones.h"
#include "harness/base/shm.h"

enum { RUN = 256 }; /* values at a time */

int gp_panel_make(struct gp_panel *panel, int64_t lanes, int64_t k,
                  struct gp_err *err)
{
    size_t count = (size_t)(lanes * k);

    *panel = (struct gp_panel){.lanes = lanes};
    if (gp_matrix_alloc(&panel->data, count * sizeof(double),
                        "a simulated operand", err) != 0)
        return -1;
    panel->wide = panel->data;
    panel->narrow = panel->data;
    panel->exponents = (int32_t *)(void *)(panel->narrow + count);
    return 0;
}

/* FP32 numbers to nearest even on `drop` bits fewer, in place; returns false
 * where that is not all there is to it: an infinity or a NaN, a number below
 * 2^emin where the spacing does not shrink with FP32's, one beyond FP16. */
GP_CLONES("avx2")
static bool round_run(float *x, int64_t count, int drop, int emin, bool f16)
{
    uint32_t half = drop ? UINT32_C(1) << (drop - 1) : 0, odd;
    uint32_t keep = ~(drop ? (half << 1) - 1 : 0), others = 0;
    uint32_t least = emin > -126 ? (uint32_t)(emin + 127) << 23 : 0;
    uint32_t most = (f16 ? UINT32_C(142) : UINT32_C(254)) << 23 | 0x7fffff;

    for (int64_t i = 0; i < count; i++) {
        uint32_t bits, size;
        memcpy(&bits, &x[i], sizeof bits);
        size = bits & 0x7fffffff;
        others |=
            (uint32_t)(size != 0 && size < least) | (uint32_t)(size > most);
        odd = drop ? bits >> drop & 1 : 0;
        bits = (bits + (drop ? half - 1 + odd : 0)) & keep;
        others |= (uint32_t)((bits & 0x7fffffff) > most);
        memcpy(&x[i], &bits, sizeof bits);
    }
    return !others;
}

/* What the exponents of finite numbers are, and which. */
GP_CLONES("avx2")
static void exponents_of(const float *x, int64_t count, int emin, int32_t *to,
                         int32_t *least, int32_t *most)
{
    int32_t low = *least, high = *most;

    for (int64_t i = 0; i < count; i++) {
        int32_t e = gp_float_exponent(x[i]);
        e = e < emin ? emin : e;
        low = x[i] != 0 && e < low ? e : low;
        high = x[i] != 0 && e > high ? e : high;
        to[i] = x[i] != 0 ? e : GP_NO_EXPONENT;
    }
    *least = low;
    *most = high;
}

/* The same, one by one: also what is not finite. */
static void slow_run(const struct gp_simulated_plan *plan, const double *given,
                     int64_t count, float *x, int32_t *to,
                     struct gp_panel *panel)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] = (float)gp_simulated_operand(plan, given[i]);
        to[i] = GP_NO_EXPONENT;
        if (isfinite(x[i]))
            exponents_of(&x[i], 1, plan->input_emin, &to[i], &panel->least,
                         &panel->most);
        else
            panel->finite = false;
    }
}

/* Adjacent values as the units read them, and their exponents if the units
 * are tensor cores. */
static void read_run(const struct gp_simulated_plan *plan,
                     const struct gp_type *type, const void *from,
                     int64_t count, float *x, int32_t *exponents,
                     struct gp_panel *panel)
{
    int precision = plan->input_precision;
    int drop = precision > 0 && precision < 24 ? 24 - precision : 0;
    double given[RUN];

    gp_type_load(type, from, given, count);
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)given[i];
    if (!round_run(x, count, drop, drop ? plan->input_emin : -126,
                   plan->input_f16))
        slow_run(plan, given, count, x, exponents, panel);
    else if (plan->tensor)
        exponents_of(x, count, plan->input_emin, exponents, &panel->least,
                     &panel->most);
}

static void put_run(struct gp_panel *panel, const float *x,
                    const int32_t *exponents, bool tensor, int64_t count,
                    int64_t at, int64_t step)
{
    if (step == 1) {
        memcpy(panel->narrow + at, x, (size_t)count * sizeof *x);
        if (tensor)
            memcpy(panel->exponents + at, exponents,
                   (size_t)count * sizeof *exponents);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        panel->narrow[at + i * step] = x[i];
        if (tensor)
            panel->exponents[at + i * step] = exponents[i];
    }
}

static void put_zeros(struct gp_panel *panel, int64_t at, int64_t count,
                      bool wide)
{
    for (int64_t i = at; i < at + count; i++) {
        if (wide) {
            panel->wide[i] = 0;
            continue;
        }
        panel->narrow[i] = 0;
        panel->exponents[i] = GP_NO_EXPONENT;
    }
}

void gp_panel_fill(const struct gp_simulated_plan *plan,
                   const struct gp_vectors *from, int64_t first,
                   struct gp_panel *panel)
{
    int64_t left = from->count - first, lanes = panel->lanes, n;
    int64_t here = left < lanes ? left : lanes;
    bool along_k = from->step_l == 1, wide = plan->accumulator->bytes == 8;
    int64_t outer = along_k ? here : from->k;
    int64_t inner = along_k ? from->k : here;
    double doubles[RUN];
    float x[RUN];
    int32_t exponents[RUN];

    panel->finite = true;
    panel->least = -GP_NO_EXPONENT;
    panel->most = GP_NO_EXPONENT;
    for (int64_t l = 0; here < lanes && l < from->k; l++)
        put_zeros(panel, l * lanes + here, lanes - here, wide);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i += n) {
            int64_t v = along_k ? o : i, l = along_k ? i : o;
            int64_t step = along_k ? lanes : 1, at = l * lanes + v;
            const unsigned char *data =
                from->data +
                (size_t)((first + v) * from->step_v + l * from->step_l) *
                    from->type->bytes;
            n = inner - i < RUN ? inner - i : RUN;
            if (wide) {
                gp_type_load(from->type, data, doubles, n);
                for (int64_t t = 0; t < n; t++)
                    panel->wide[at + t * step] = doubles[t];
                continue;
            }
            read_run(plan, from->type, data, n, x, exponents, panel);
            put_run(panel, x, exponents, plan->tensor, n, at, step);
        }
}
