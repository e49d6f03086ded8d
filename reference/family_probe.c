/* Probes without tests of their own places: each result is one product (P1, P2,
 * P4, P5), a sum of zeros (P7) or of positive terms (P8). docs/checks.md. */
#include "reference/family.h"

#include <math.h>

#include "harness/base/hash.h"

bool gp_family_probe_in_a(const struct gp_gemm *gemm)
{
    return gemm->m >= gemm->n;
}

int gp_family_probe_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->m == 0 || gemm->n == 0)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "a probe needs a result: m and n of at least 1");
    return gp_family_accept_plain(gemm, err);
}

/* The part of a position that all vectors share. */
static uint64_t position_key(uint64_t seed, int64_t batch)
{
    return gp_hash_mix(gp_hash_mix(seed ^ 0x8ebc6af09c88c6e3u) +
                       (uint64_t)batch * 0x589965cc75374cc3u);
}

/* Below k, by multiplication instead of division. */
static int64_t position_of(uint64_t key, int64_t vector, int64_t k)
{
    uint64_t word = gp_hash_mix(key + (uint64_t)vector * 0x1d8e4e27c47d124fu);

    return (int64_t)((word >> 32) * (uint64_t)k >> 32);
}

int64_t gp_family_probe_position(const struct gp_gemm *gemm, uint64_t seed,
                                 int64_t batch, int64_t vector)
{
    return position_of(position_key(seed, batch), vector, gemm->k);
}

/* A random number in +-[1, 2) with all the bits of its type, the last one
 * set, so that no rounding of it to fewer bits is exact. */
static double full_bits(uint64_t word, int precision)
{
    uint64_t top = UINT64_C(1) << (precision - 1);
    double x = (double)(top | (word >> 8 & (top - 1)) | 1);

    return ldexp(word & 1 ? -x : x, 1 - precision);
}

/* One side has one nonzero a vector, with all its bits; the other side is
 * ones, or all bits everywhere. */
static void probe_column(const struct gp_family_args *args, int64_t j,
                         bool other_full, double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args);
    bool here = (args->operand == GP_A) == gp_family_probe_in_a(gemm);
    uint64_t key = gp_family_key(args, j);
    uint64_t positions = position_key(args->seed, args->batch);
    int precision = gemm->in->precision;

    for (int64_t i = 0; i < length; i++) {
        int64_t l = args->operand == GP_A ? j : i;
        int64_t v = args->operand == GP_A ? i : j;
        if (here && position_of(positions, v, gemm->k) != l)
            to[i] = 0;
        else if (here || other_full)
            to[i] = full_bits(gp_family_word(key, i), precision);
        else
            to[i] = 1;
    }
}

void gp_family_one_hot_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    probe_column(args, j, false, to);
}

void gp_family_product_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    probe_column(args, j, true, to);
}

void gp_family_probe_grid(const struct gp_gemm *gemm, int *ret_a, int *ret_b)
{
    *ret_a = *ret_b = gemm->in->precision - 1;
}

/* --- bit-scan and tie: one operand times one ------------------------------
 */

/* The first bits that the types of matrix units lose, and the last they
 * keep, come first: few vectors see them too. */
int gp_family_scan_bit(const struct gp_gemm *gemm, int64_t vector)
{
    static const int telling[] = {11, 24, 8, 23, 10, 7, 12, 17, 9, 16};
    enum { TELLING = sizeof telling / sizeof *telling };
    int precision = gemm->in->precision, left = (int)(vector % (precision - 1));

    for (int t = 0; t < TELLING; t++)
        if (telling[t] < precision && left-- == 0)
            return telling[t];
    for (int bit = 1; bit < precision; bit++) {
        bool before = false;
        for (int t = 0; t < TELLING; t++)
            before = before || telling[t] == bit;
        if (!before && left-- == 0)
            return bit;
    }
    return precision - 1;
}

double gp_family_scan_scale(const struct gp_gemm *gemm, int64_t vector)
{
    int64_t round = vector / (gemm->in->precision - 1);

    /* FP16 has no room below 2^-14 for what an FP32 operand may have. */
    return gemm->in->bytes == 4 && round % 2 ? 0x1p-16 : 1;
}

/* A random number in +-[1, 2) whose last nonzero bit is 2^-bit. The bits
 * before are random: a single bit would survive a sum of narrow parts. */
static double cut_after(uint64_t word, int bit)
{
    uint64_t top = UINT64_C(1) << bit;
    double x = (double)(top | (word >> 8 & (top - 1)) | 1);

    return ldexp(word & 1 ? -x : x, -bit);
}

static double scan_value(const struct gp_gemm *gemm, int64_t vector,
                         uint64_t word)
{
    return cut_after(word, gp_family_scan_bit(gemm, vector)) *
           gp_family_scan_scale(gemm, vector);
}

void gp_family_bit_scan_grid(const struct gp_gemm *gemm, int *ret_a, int *ret_b)
{
    int bits = gemm->in->precision - 1 + (gemm->in->bytes == 4 ? 16 : 0);

    *ret_a = gp_family_probe_in_a(gemm) ? bits : 0;
    *ret_b = gp_family_probe_in_a(gemm) ? 0 : bits;
}

/* Half way between two numbers of q bits, the lower of them even or odd; or
 * one last bit above it: q is 24, 11 or 8, where that is narrower. */
static double tie_value(const struct gp_gemm *gemm, int64_t vector,
                        uint64_t word)
{
    static const int widths[] = {24, 11, 8};
    int precision = gemm->in->precision, count = 0, q = 8;
    int which = (int)(vector % 3);
    double x;

    for (int w = 0; w < 3; w++)
        count += widths[w] < precision;
    q = widths[3 - count + (int)(vector / 3 % count)];
    /* q bits, the last of them even, then the half. */
    x = (double)((UINT64_C(1) << (q - 1)) |
                 (word >> 8 & ((UINT64_C(1) << (q - 1)) - 2)));
    x = ldexp(x + (which == 1 ? 1.5 : 0.5), 1 - q);
    if (which == 2)
        x += ldexp(1, 1 - precision);
    return word & 1 ? -x : x;
}

/* One nonzero a vector, as with one-hot, against ones. */
static void single_column(const struct gp_family_args *args, int64_t j,
                          enum gp_probe probe, double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args);
    bool here = (args->operand == GP_A) == gp_family_probe_in_a(gemm);
    uint64_t key = gp_family_key(args, j);
    uint64_t positions = position_key(args->seed, args->batch);

    for (int64_t i = 0; i < length; i++) {
        int64_t l = args->operand == GP_A ? j : i;
        int64_t v = args->operand == GP_A ? i : j;
        if (!here)
            to[i] = 1;
        else if (position_of(positions, v, gemm->k) != l)
            to[i] = 0;
        else
            to[i] = probe == GP_PROBE_TIE
                        ? tie_value(gemm, v, gp_family_word(key, i))
                        : scan_value(gemm, v, gp_family_word(key, i));
    }
}

void gp_family_bit_scan_column(const struct gp_family_args *args, int64_t j,
                               double *to)
{
    single_column(args, j, GP_PROBE_BIT_SCAN, to);
}

void gp_family_tie_column(const struct gp_family_args *args, int64_t j,
                          double *to)
{
    single_column(args, j, GP_PROBE_TIE, to);
}

int gp_family_tie_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->in->precision <= 8)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the family tie needs operands that a narrower type "
                          "could round: %s is the narrowest there is",
                          gemm->in->name);
    return gp_family_probe_accept(gemm, err);
}

/* --- zeros and range -------------------------------------------------------
 */

/* A random bit for a row, a column or a position of k. */
static bool coin(uint64_t seed, int64_t batch, uint64_t kind, int64_t at)
{
    uint64_t key = gp_hash_mix(seed ^ 0x3c6ef372fe94f82bu ^ kind);

    key = gp_hash_mix(key + (uint64_t)batch * 0x9fb21c651e98df25u);
    return gp_hash_mix(key + (uint64_t)at * 0xa3b195354a39b70du) >> 63;
}

/* Row or column 0 always, of the others a half: a row of zeros beside none
 * would be no mixture. */
static bool is_sparse(uint64_t seed, int64_t batch, enum gp_operand operand,
                      int64_t vector)
{
    return vector == 0 || coin(seed, batch, 1 + (uint64_t)operand, vector);
}

bool gp_family_zero_at(uint64_t seed, int64_t batch, int64_t i, int64_t j)
{
    return is_sparse(seed, batch, GP_A, i) && is_sparse(seed, batch, GP_B, j);
}

/* Sparse rows of A are 0 where sparse columns of B are not, by position of
 * k; everything else has all its bits (Demmel et al. 2024). */
void gp_family_zeros_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    bool in_a = args->operand == GP_A;
    int64_t length = gp_family_length(args);
    uint64_t key = gp_family_key(args, j);
    int precision = args->gemm->in->precision;

    for (int64_t i = 0; i < length; i++) {
        int64_t l = in_a ? j : i, vector = in_a ? i : j;
        bool other = l == 0 || (l > 1 && coin(args->seed, args->batch, 0, l));
        to[i] = full_bits(gp_family_word(key, i), precision);
        if (other == in_a &&
            is_sparse(args->seed, args->batch, args->operand, vector))
            to[i] = 0;
    }
}

int gp_family_zeros_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->k < 2)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the family zeros needs k of at least 2");
    return gp_family_probe_accept(gemm, err);
}

/* Within FP16, to which a mode may convert. */
int gp_family_range_span(const struct gp_gemm *gemm)
{
    return gemm->in->bytes == 8 ? 30 : gemm->in->precision == 11 ? 6 : 12;
}

/* Sums of k terms below 4 must stay within the output, however they are
 * rounded: FP16 ends at 65504. */
int gp_family_range_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->out->emax < 24 && gemm->k > 8192)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the family range needs k of at most 8192 with %s "
                          "results",
                          gemm->out->name);
    return gp_family_probe_accept(gemm, err);
}

void gp_family_range_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    int64_t length = gp_family_length(args);
    uint64_t key = gp_family_key(args, j);
    uint64_t exponents = position_key(args->seed, args->batch);
    int span = gp_family_range_span(args->gemm);

    for (int64_t i = 0; i < length; i++) {
        int64_t l = args->operand == GP_A ? j : i;
        int e = (int)position_of(exponents, l, 2 * span + 1) - span;
        to[i] = ldexp(
            fabs(full_bits(gp_family_word(key, i), args->gemm->in->precision)),
            args->operand == GP_A ? e : -e);
    }
}
