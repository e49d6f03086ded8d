/* The bound of every mode against the table of numerics.md 1.4, at k = 4096
 * in units of u = 2^-24. Three things are as the code has them and the table
 * has not: operands may be rounded toward zero (its lines "RZ"), partial sums
 * are s = min(k, 256), and a chain of fused multiply-adds is always allowed
 * beside the tensor core, so the larger of the two counts. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/plan.h"
#include "tests/unit/product.h"

static const double u = 0x1p-24;
static const struct gp_bound_data ones = {1, 1};

/* The arithmetic that a mode promises for these types. */
static struct gp_arithmetic arithmetic_of(const char *mode, const char *in,
                                          const char *out)
{
    struct gp_plan plan = {0};
    struct gp_arithmetic arithmetic;
    char id[200];

    snprintf(id, sizeof id, "%s%s%s.nn.8x8x8.dense.s1/cublas.gemm-ex/%s", in,
             strcmp(in, out) ? "x" : "", strcmp(in, out) ? out : "", mode);
    arithmetic = plan_run(&plan, id)->row.arithmetic;
    gp_plan_free(&plan);
    return arithmetic;
}

static struct gp_bound bound_of(const char *mode, const struct gp_gemm *gemm,
                                int capability)
{
    struct gp_arithmetic arithmetic =
        arithmetic_of(mode, gemm->in->name, gemm->out->name);
    struct gp_bound bound;

    gp_bound_make(gemm, &arithmetic, &ones, capability, &bound);
    return bound;
}

/* eps relative to G, of a result that is not rounded to a narrower type. */
static double eps(const char *mode, const char *in, int64_t k, int capability)
{
    const char *out = strcmp(in, "f64") == 0 ? "f64" : "f32";
    struct gp_gemm gemm = product_of(in, out, "nn", 8, 8, k);
    struct gp_bound bound = bound_of(mode, &gemm, capability);

    cr_assert_eq(bound.rel_ref, 0);
    return bound.rel_mag;
}

/* The figures of the table are rounded to whole u and leave out the terms of
 * second order: N eta is at most 2^-9 here, so 0.3 % covers both. */
static void near(double got, double expected, const char *what)
{
    cr_assert(fabs(got - expected) <= 0.003 * expected, "%s: %.1f, not %.1f",
              what, got, expected);
}

/* The columns theta/u of the table of units (1.3). */
Test(bound, theta_of_every_unit)
{
    const double twice = 2 * ((1 + 0x1p-23) * (1 + 16 * 0x1p-25) - 1);

    near(gp_bound_theta(4096, 23, 4) / u, 2.5 * 4096, "V100");
    near(gp_bound_theta(4096, 24, 4) / u, 1.5 * 4096, "T4, A100 TF32");
    near(gp_bound_theta(4096, 24, 8) / u, 1.25 * 4096, "A100");
    near(gp_bound_theta(4096, 25, 16) / u, 0.625 * 4096, "H100");
    near(gp_bound_theta(4096, 25, 8) / u, 0.75 * 4096, "H100 TF32");
    /* By definition: eta = (1+2^-23)(1+L 2^-F) - 1, N = ceil(k/L) = 2. */
    cr_assert_float_eq(gp_bound_theta(17, 25, 16), twice / (1 - twice),
                       0x1p-50);
    cr_assert(isinf(gp_bound_theta(INT64_C(1) << 40, 23, 4)));
}

Test(bound, splits)
{
    cr_assert_eq(gp_bound_splits(1), 1);
    cr_assert_eq(gp_bound_splits(255), 255);
    cr_assert_eq(gp_bound_splits(100000), 256);
    cr_assert_eq(gp_bound_splits_in_output(1), 1);
    cr_assert_eq(gp_bound_splits_in_output(8), 1);
    cr_assert_eq(gp_bound_splits_in_output(9), 2);
    cr_assert_eq(gp_bound_splits_in_output(100000), 256);
}

enum {
    CPU = 0,
    V100 = 70,
    T4 = 75,
    A100 = 80,
    H100 = 90,
    B200 = 100,
    UNKNOWN = 120
};

Test(bound, fp32_and_fp64_are_chains)
{
    static const int all[] = {CPU, V100, A100, H100, UNKNOWN};

    for (int i = 0; i < 5; i++) {
        cr_assert_eq(eps("pedantic", "f32", 4096, all[i]), 4351 * u);
        cr_assert_eq(eps("default", "f32", 4096, all[i]), 4351 * u);
        cr_assert_eq(eps("no-reduced-precision", "f32", 4096, all[i]),
                     4351 * u);
        cr_assert_eq(eps("default", "f64", 4096, all[i]), 4351 * 0x1p-53);
        cr_assert_eq(eps("fp64-emulated", "f64", 4096, all[i]),
                     (4 * 4096 + 1) * 0x1p-53);
    }
    /* k + s - 1 with s = k below 256. */
    cr_assert_eq(eps("pedantic", "f32", 100, CPU), 199 * u);
    cr_assert_eq(eps("pedantic", "f32", 1, H100), 1 * u);
}

/* d + acc (1 + d) of 1.4, with d of the lines RZ: 2^-9 - 2^-20 = 32752 u for
 * TF32 and FP16, 2^-6 - 2^-14 = 261120 u for BF16. */
static double with_inputs(double d, double accumulation)
{
    return d + accumulation * (1 + d * u);
}

Test(bound, rounded_fp32_inputs)
{
    near(eps("tf32", "f32", 4096, H100) / u, with_inputs(32752, 4351), "tf32");
    near(eps("tf32", "f32", 4096, A100) / u, with_inputs(32752, 6144 + 255),
         "tf32, A100");
    near(eps("tf32", "f32", 4096, UNKNOWN) / u, with_inputs(32752, 10240 + 255),
         "tf32, unknown");
    near(eps("fast-16bf", "f32", 4096, H100) / u, with_inputs(261120, 4351),
         "fast-16bf");
    near(eps("fast-16bf", "f32", 4096, A100) / u,
         with_inputs(261120, 5120 + 255), "fast-16bf, A100");
    near(eps("fast-16f", "f32", 4096, H100) / u, with_inputs(32752, 4351),
         "fast-16f");
    near(eps("fast-16f", "f32", 4096, A100) / u, with_inputs(32752, 6144 + 255),
         "fast-16f as TF32, A100");
    /* k = 1: only the inputs, one product, nothing to add. */
    near(eps("tf32", "f32", 1, CPU) / u, 32752 + 1, "tf32 of one product");
}

Test(bound, sixteen_bit_inputs)
{
    near(eps("default", "f16", 4096, H100) / u, 4351, "f16, H100");
    near(eps("default", "bf16", 4096, B200) / u, 4351, "bf16, B200");
    near(eps("default", "f16", 4096, A100) / u, 5120 + 255, "f16, A100");
    near(eps("default", "bf16", 4096, T4) / u, 6144 + 255, "bf16, T4");
    near(eps("default", "f16", 4096, V100) / u, 10240 + 255, "f16, V100");
    near(eps("default", "f16", 4096, UNKNOWN) / u, 10240 + 255, "unknown");
}

/* One chain over 9 k products: theta(9k)(1+2^-6) + 8u, the 23400 of the
 * table, and 255 partial sums. */
Test(bound, nine_products)
{
    near(eps("bf16x9", "f32", 4096, H100) / u,
         0.625 * 9 * 4096 * (1 + 0x1p-6) + 8 + 255, "bf16x9");
}

Test(bound, fp16_sums)
{
    struct gp_gemm gemm = product_of("f16", "f16", "nn", 8, 8, 64);
    struct gp_bound bound = bound_of("f16-accumulate", &gemm, H100);

    /* A chain of k + s - 1 roundings of 2^-11, or (k/L) 2^-11 on the tensor
     * core: the chain is more. The type is that of the sums, so nothing is
     * rounded after them. */
    cr_assert_float_eq(bound.rel_mag, 127 * 0x1p-11, 1e-12);
    cr_assert_eq(bound.rel_ref, 0);
}

/* The sharp form: u_o of the result itself, and (1+u_o) of the rest. */
Test(bound, one_final_rounding)
{
    static const struct {
        const char *type;
        double unit;
    } rows[] = {{"f16", 0x1p-11}, {"bf16", 0x1p-8}};

    for (int i = 0; i < 2; i++) {
        struct gp_gemm gemm =
            product_of(rows[i].type, rows[i].type, "nn", 8, 8, 4096);
        struct gp_bound bound = bound_of("no-reduced-precision", &gemm, H100);
        cr_assert_eq(bound.rel_ref, rows[i].unit);
        cr_assert_float_eq(bound.rel_mag / u, 4351 * (1 + rows[i].unit), 1e-6);
        bound = bound_of("pedantic", &gemm, CPU);
        cr_assert_eq(bound.rel_ref, rows[i].unit);
    }
}

/* Partial sums in the output type: (1+eps)(1+u_o)^s - 1, s = k/8 up to 256.
 * At k = 64 that is the line "s=8: 8 * 2^-11", plus eps, of the table. */
Test(bound, partial_sums_in_the_output)
{
    struct gp_gemm gemm = product_of("f16", "f16", "nn", 8, 8, 64);
    struct gp_bound bound = bound_of("default", &gemm, H100);
    double grow = 1;

    cr_assert_eq(bound.rel_ref, 0);
    near(bound.rel_mag, 8 * 0x1p-11 + 127 * u, "s = 8");
    gemm = product_of("bf16", "bf16", "nn", 8, 8, 4096);
    bound = bound_of("default", &gemm, H100);
    for (int s = 0; s < 256; s++)
        grow *= 1 + 0x1p-8;
    cr_assert_float_eq(bound.rel_mag, (1 + 4351 * u) * grow - 1, 1e-9);
}

/* alpha and beta: three roundings in the compute type, two of them on top of
 * the sum; the final one is that of the output. */
Test(bound, epilogue)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 100);
    struct gp_bound plain = bound_of("pedantic", &gemm, CPU), scaled;

    gemm.alpha = 1.5;
    scaled = bound_of("pedantic", &gemm, CPU);
    cr_assert_float_eq((1 + scaled.rel_mag) / (1 + plain.rel_mag),
                       (1 + u) * (1 + u), 0x1p-50);
    gemm.alpha = 1;
    gemm.beta = 1;
    scaled = bound_of("pedantic", &gemm, CPU);
    cr_assert_float_eq((1 + scaled.rel_mag) / (1 + plain.rel_mag),
                       (1 + u) * (1 + u), 0x1p-50);
}

/* Beside 1, units of 2^-53 are easily rounded away: none may be. */
Test(bound, fp64_keeps_every_unit)
{
    struct gp_gemm gemm = product_of("f64", "f64", "nn", 8, 8, 1);

    cr_assert_geq(bound_of("default", &gemm, CPU).rel_mag, 0x1p-53);
    gemm.alpha = 1.5;
    cr_assert_geq(bound_of("default", &gemm, CPU).rel_mag, 3 * 0x1p-53);
    gemm.k = 2;
    cr_assert_geq(bound_of("default", &gemm, CPU).rel_mag, 5 * 0x1p-53);
}

/* eta of 1.2: (k+s) 2^-126 with flush to zero, and half the smallest number
 * of the output; k + s = 200 at k = 100. Operands below 2^-126 may be read as
 * 0: 2^-126 of each, times the other one, k of them. */
Test(bound, underflow)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 100);

    cr_assert_float_eq(bound_of("pedantic", &gemm, CPU).absolute / 0x1p-126,
                       200 + 100 * 2 + 0x1p-24, 1e-9);
    gemm = product_of("f64", "f64", "nn", 8, 8, 100);
    cr_assert_geq(bound_of("default", &gemm, CPU).absolute, 200 * 0x1p-1074);
    gemm = product_of("f16", "f16", "nn", 8, 8, 100);
    cr_assert_float_eq(bound_of("pedantic", &gemm, CPU).absolute / 0x1p-25, 1,
                       1e-9);
    gemm = product_of("bf16", "bf16", "nn", 8, 8, 100);
    cr_assert_geq(bound_of("pedantic", &gemm, CPU).absolute,
                  (200 + 100 * 2) * 0x1p-126 + 0x1p-134);
    /* TF32 loses 2^-136 of every operand, FP16 2^-24: times the other one,
     * and k of them. */
    gemm = product_of("f32", "f32", "nn", 8, 8, 100);
    cr_assert_geq(bound_of("tf32", &gemm, H100).absolute,
                  100 * 2 * 0x1p-136 + 200 * 0x1p-126);
    cr_assert_geq(bound_of("fast-16f", &gemm, H100).absolute,
                  100 * 2 * 0x1p-24);
    cr_assert_leq(bound_of("fast-16f", &gemm, H100).absolute,
                  100 * 2 * 0x1p-23);
}

/* No sum can overflow while |alpha| S (1 + eps) stays below the largest
 * number of whatever holds it. */
Test(bound, ranges)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 100);
    struct gp_bound bound = bound_of("pedantic", &gemm, CPU);
    struct gp_bound_data data = {70000, 1};
    struct gp_arithmetic fast;

    near(bound.omega_acc, (double)FLT_MAX, "f32");
    near(bound.omega_out, (double)FLT_MAX, "f32");
    cr_assert_lt(bound.omega_acc, (double)FLT_MAX / (1 + 199 * u) * (1 + u));
    gemm.alpha = -4;
    near(bound_of("pedantic", &gemm, CPU).omega_acc, 4 * (double)FLT_MAX,
         "alpha");
    gemm = product_of("f16", "f16", "nn", 8, 8, 1);
    near(bound_of("pedantic", &gemm, H100).omega_acc, (double)FLT_MAX,
         "sums in FP32");
    /* The result itself may overflow in the last rounding; measuring sees to
     * that. */
    near(bound_of("pedantic", &gemm, H100).omega_out, (double)FLT_MAX,
         "an epilogue in FP32");
    near(bound_of("default", &gemm, H100).omega_out, 65504, "results in FP16");
    near(bound_of("default", &gemm, H100).omega_acc, 65504, "sums in FP16");
    /* FP32 operands that FP16 cannot hold: anything may happen. */
    gemm = product_of("f32", "f32", "nn", 8, 8, 1);
    fast = arithmetic_of("fast-16f", "f32", "f32");
    gp_bound_make(&gemm, &fast, &data, H100, &bound);
    cr_assert_eq(bound.omega_acc, 0);
}

static void check_monotone(const struct gp_mode_row *row, int capability)
{
    const char *out = row->out ? row->out : "f32";
    struct gp_gemm gemm = product_of(row->in, out, "nn", 8, 8, 1);
    struct gp_bound last = {0}, now;

    for (int64_t k = 1; k < 1 << 24; k += 1 + k / 3) {
        gemm.k = k;
        gp_bound_make(&gemm, &row->arithmetic, &ones, capability, &now);
        cr_assert(now.rel_mag >= last.rel_mag && now.rel_mag > 0 &&
                      now.absolute >= last.absolute &&
                      (k == 1 || now.omega_acc <= last.omega_acc),
                  "%s %s on %d: k = %d", row->mode, row->in, capability,
                  (int)k);
        last = now;
    }
}

Test(bound, grows_with_k)
{
    static const int all[] = {CPU, V100, T4, A100, 89, H100, B200, UNKNOWN};

    for (const struct gp_mode_row *row = gp_mode_rows; row->mode; row++)
        for (int i = 0; i < 8; i++)
            check_monotone(row, all[i]);
}

/* A CPU has no tensor core: 16-bit operands are summed by a chain. */
Test(bound, a_cpu_uses_the_chain)
{
    cr_assert_eq(eps("default", "f16", 4096, CPU), 4351 * u);
    cr_assert_eq(eps("default", "bf16", 4096, CPU), 4351 * u);
    cr_assert_float_eq(eps("tf32", "f32", 4096, CPU) / u,
                       with_inputs(32752, 4351), 1e-6);
    cr_assert_lt(eps("default", "bf16", 4096, CPU),
                 eps("default", "bf16", 4096, V100));
}
