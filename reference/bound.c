/* Every constant here is derived in docs/checks.md, "The rigorous bound". */
#include "reference/bound.h"

#include <math.h>
#include <string.h>

/* Fraction bits F kept when a tensor core aligns its summands, and products a
 * step L for 16-bit and for TF32 operands. Sources: Fasi, Higham, Mikaitis,
 * Pranesh 2021; Xie et al. 2025 (arXiv 2511.10909); Khattak, Mikaitis 2025
 * (arXiv 2512.07004). The last row is for what is not known: no measured unit
 * is worse. */
static const struct gp_bound_unit units[] = {
    {70, 72, 23, 4, 4},  {75, 75, 24, 4, 4},    {80, 89, 24, 8, 4},
    {90, 90, 25, 16, 8}, {100, 103, 25, 16, 8}, {0, 1 << 30, 23, 4, 4},
};

const struct gp_bound_unit *gp_bound_unit(int compute_capability)
{
    const struct gp_bound_unit *unit = units;

    while (compute_capability < unit->from || compute_capability > unit->to)
        unit++;
    return unit;
}

int64_t gp_bound_splits(int64_t k)
{
    return k < 256 ? k : 256;
}

int64_t gp_bound_splits_in_output(int64_t k)
{
    int64_t grains = (k + 7) / 8;

    return grains < 256 ? grains : 256;
}

static double theta_of(int64_t k, int fraction_bits, int products, double rho)
{
    double eta = (1 + rho) * (1 + ldexp(products, -fraction_bits)) - 1;
    double steps = ceil((double)k / products);

    return steps * eta < 1 ? steps * eta / (1 - steps * eta) : INFINITY;
}

double gp_bound_theta(int64_t k, int fraction_bits, int products_a_step)
{
    return theta_of(k, fraction_bits, products_a_step, 0x1p-23);
}

/* eps of the accumulation alone, relative to S on the operands as used. A
 * library may send any shape to the ordinary units, so a chain of fused
 * multiply-adds is always allowed for. */
static double accumulation(int64_t k, const struct gp_arithmetic *arithmetic,
                           const struct gp_type *accumulator,
                           const struct gp_type *in, int compute_capability)
{
    double u = gp_type_unit(accumulator), s = (double)gp_bound_splits(k);
    double chain = ((double)k + s - 1) * u, tensor;
    const struct gp_bound_unit *unit = gp_bound_unit(compute_capability);
    int products = in->bytes == 2 || arithmetic->terms > 1 ||
                           arithmetic->input_precision == 8 ||
                           arithmetic->input_emin == -14
                       ? unit->products_16
                       : unit->products_tf32;

    if (k == 0)
        return 0; /* nothing is summed */
    if (arithmetic->per_term > 0)
        chain = fmax(chain, (arithmetic->per_term * (double)k + 1) * 0x1p-53);
    if (!arithmetic->tensor || compute_capability == 0)
        return chain;
    if (arithmetic->input_emin == -14 && unit->products_tf32 < products)
        products = unit->products_tf32; /* FAST_16F may run as TF32 */
    tensor = theta_of(k * arithmetic->terms, unit->fraction_bits, products,
                      accumulator->precision < 24 ? u : 0x1p-23);
    if (arithmetic->terms > 1)
        tensor = tensor * (1 + 0x1p-6) + 8 * u;
    return fmax(chain, tensor + (s - 1) * u);
}

/* What underflow can add to one sum over k, in absolute terms. */
static double underflow(const struct gp_gemm *gemm,
                        const struct gp_arithmetic *arithmetic,
                        const struct gp_type *accumulator,
                        const struct gp_bound_data *data,
                        int compute_capability)
{
    double k = (double)gemm->k, s = (double)gp_bound_splits(gemm->k), eta;
    int emin =
        arithmetic->input_precision ? arithmetic->input_emin : gemm->in->emin;

    if (accumulator->precision == 24)
        eta = (k + s) * 0x1p-126; /* flush to zero is allowed for */
    else
        eta = (k + s) * gp_type_smallest(accumulator);
    /* FP32 and BF16 operands may be flushed; FP16 and FP64 ones never are. */
    if (emin == -126)
        eta += k * 0x1p-126 * (data->max_a + data->max_b + 0x1p-126);
    if (arithmetic->input_precision) {
        double quantum = ldexp(1, emin - arithmetic->input_precision + 1);
        eta += k * quantum * (data->max_a + data->max_b + quantum);
    }
    if (arithmetic->tensor && compute_capability &&
        (gemm->in->bytes == 2 || arithmetic->input_precision))
        eta +=
            ldexp(k, emin - gp_bound_unit(compute_capability)->fraction_bits) *
            (data->max_a + data->max_b + ldexp(1, emin));
    return eta;
}

/* Operands rounded to p bits, to nearest or toward zero (both are seen in the
 * field), change a product by at most this share. */
static double input_rounding(int p)
{
    return p ? ldexp(1, 2 - p) - ldexp(1, 2 - 2 * p) : 0;
}

/* Operands beyond this become infinite where they are rounded to nearest, as
 * those in the last half unit below FP32's largest do. */
static double largest_operand(const struct gp_gemm *gemm,
                              const struct gp_arithmetic *arithmetic)
{
    if (!arithmetic->input_precision)
        return gp_type_largest(gemm->in);
    if (arithmetic->input_emin == -14)
        return 65504;
    return ldexp(1, gemm->in->emax) *
           (2 - ldexp(1, 1 - arithmetic->input_precision));
}

void gp_bound_make(const struct gp_gemm *gemm,
                   const struct gp_arithmetic *arithmetic,
                   const struct gp_bound_data *data, int compute_capability,
                   struct gp_bound *ret_bound)
{
    const struct gp_type *accumulator = gp_type_find(arithmetic->accumulator);
    double u_c = gp_type_unit(accumulator), u_o = gp_type_unit(gemm->out);
    double d = input_rounding(arithmetic->input_precision);
    double acc = accumulation(gemm->k, arithmetic, accumulator, gemm->in,
                              compute_capability);
    double eps = d + acc * (1 + d), e_abs, omega;
    bool epilogue = gemm->alpha != 1 || gemm->beta != 0;
    /* (1 + eps) scale - 1, so written that units of 2^-53 are not lost. */
    double over = epilogue ? u_c * (2 + u_c) : 0, scale = 1 + over;
    double e_rel = epilogue ? eps + over * (1 + eps) : eps;
    double eta_out = gp_type_smallest(gemm->out) / 2;

    e_abs = fabs(gemm->alpha) * scale *
            underflow(gemm, arithmetic, accumulator, data, compute_capability);
    if (epilogue)
        e_abs += 2 * ldexp(1, accumulator->emin);
    *ret_bound = (struct gp_bound){.rel_mag = e_rel, .absolute = e_abs};
    omega = gp_type_largest(accumulator);
    if (arithmetic->in_output && u_o > u_c) {
        double s = (double)gp_bound_splits_in_output(gemm->k);
        /* An epilogue in the output type rounds once more, and below the
         * smallest normal number by half the smallest there is. */
        double grow = pow(1 + u_o, s + (epilogue ? 1 : 0));
        ret_bound->rel_mag = (1 + e_rel) * grow - 1;
        ret_bound->absolute =
            e_abs * grow + (s * 2 + (epilogue ? 1 : 0)) * eta_out;
        omega = gp_type_largest(gemm->out);
    } else if (u_o > u_c) {
        ret_bound->rel_ref = u_o;
        ret_bound->rel_mag = (1 + u_o) * e_rel;
        ret_bound->absolute = (1 + u_o) * e_abs + eta_out;
    } else {
        ret_bound->absolute = e_abs + eta_out;
    }
    if (fmax(data->max_a, data->max_b) > largest_operand(gemm, arithmetic))
        omega = 0;
    ret_bound->omega_acc =
        omega / (1 + eps) * (gemm->alpha != 0 ? fabs(gemm->alpha) : 1);
    /* Where sums stay in a wider accumulator, so does the epilogue. */
    ret_bound->omega_out =
        gp_type_largest(u_o > u_c && !arithmetic->in_output ? accumulator
                                                            : gemm->out) /
        (1 + e_rel) / (1 + u_o);
}
