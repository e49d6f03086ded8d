/*
 * One product of cuBLAS, repeated and compared with what it must be.
 * Written by gemmproof 0.1.0 repro --c for the run
 *     bf16xf32.nn.128x128x26632.exact.s1/cublas/default/r3
 * Compile: nvcc -o repro repro.cu -lcublas
 * Run:     ./repro          (./repro --all where it compares a sample)
 * Exit:    1 the finding shows; 0 nothing wrong shows; 2 no run was made
 *
 * It makes the operands from the seed, calls cuBLAS 3 times on the same
 * bytes, and then looks for
 *   repeat       any bit that differs between two repeats
 *   bound        an element further from the result than the arithmetic
 *                asked for can be off; the result is summed in long double
 *   exact        an element that is not the only possible result: no order of
 *                summation rounds on these operands
 *   guard        bytes written beside D, or to A or B
 * Matrices have 4096 bytes of guard on both sides; guards, padding and, when
 * beta = 0, D before the call are bytes of 0xff, which are NaN.
 * With -DREPRO_DUMP it needs no CUDA and prints digests of the operands.
 * Linux and a little-endian host are needed.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef REPRO_DUMP
#include <unistd.h>

#include <cublas_v2.h>
#include <cuda_runtime.h>
#endif

#define REPRO_ID \
    "bf16xf32.nn.128x128x26632.exact.s1/cublas/default/r3"
#define REPRO_SEED UINT64_C(1)
#define REPRO_REPEATS INT64_C(3)
#define REPRO_ASKED_BITS 8 /* significand bits of the operands */
#define REPRO_CALL "cublasGemmEx"
#define REPRO_MATH \
    ((cublasMath_t)(CUBLAS_DEFAULT_MATH))
#define REPRO_MATH_WORDS \
    "CUBLAS_DEFAULT_MATH, CUBLAS_COMPUTE_32F"

#ifndef REPRO_DUMP

/* Taken out of the environment: whatever begins so. Then set: name, value.
 * cuBLAS reads CUBLAS_WORKSPACE_CONFIG in cublasCreate. */
static const char *const repro_unset[] = {
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT",
    "CUBLAS",
    "NVIDIA_TF32_OVERRIDE",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_MODULE_LOADING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_INJECTION64_PATH",
    NULL};
static const char *const repro_set[] = {
    NULL};

/* An element may be off by rel_ref |result| + rel_mag (|alpha| |A||B| +
 * |beta| |C|) + absolute, by what is promised:
 * k = 26632, sums in f32, operands as given,
 * partial sums in that type, max |a| = 25, max |b| = 25.
 * Computed by gp_bound_make of gemmproof 0.1.0 (reference/bound.c;
 * derived in docs/checks.md); one row for each kind of tensor core, 0 for any
 * other. */
struct repro_bound {
    int compute_capability;
    double rel_ref, rel_mag, absolute, omega_acc, omega_out;
};
static const struct repro_bound repro_bounds[] = {
    {70, 0, 0.0039994883745396387,
     3.1606878701883241e-34, 3.3892681279095168e+38, 3.389267925893406e+38},
    {72, 0, 0.0039994883745396387,
     3.1606878701883241e-34, 3.3892681279095168e+38, 3.389267925893406e+38},
    {75, 0, 0.0024019688282066196,
     3.1606785403431486e-34, 3.3946695758819588e+38, 3.3946693735438966e+38},
    {80, 0, 0.0020033830297771613,
     3.1606785403431486e-34, 3.3960199376733686e+38, 3.3960197352548184e+38},
    {86, 0, 0.0020033830297771613,
     3.1606785403431486e-34, 3.3960199376733686e+38, 3.3960197352548184e+38},
    {87, 0, 0.0020033830297771613,
     3.1606785403431486e-34, 3.3960199376733686e+38, 3.3960197352548184e+38},
    {89, 0, 0.0020033830297771613,
     3.1606785403431486e-34, 3.3960199376733686e+38, 3.3960197352548184e+38},
    {90, 0, 0.0016025900840759277,
     3.1606738754205609e-34, 3.3973788607112636e+38, 3.3973786582117154e+38},
    {100, 0, 0.0016025900840759277,
     3.1606738754205609e-34, 3.3973788607112636e+38, 3.3973786582117154e+38},
    {103, 0, 0.0016025900840759277,
     3.1606738754205609e-34, 3.3973788607112636e+38, 3.3973786582117154e+38},
    {0, 0, 0.0039994883745396387,
     3.1606878701883241e-34, 3.3892681279095168e+38, 3.389267925893406e+38},
};

/* d holds C when the call begins. */
static cublasStatus_t multiply(cublasHandle_t handle, const void *a,
                               const void *b, void *d)
{
    const float alpha = (float)1;
    const float beta = (float)0;

    return cublasGemmEx(
        handle, CUBLAS_OP_N, CUBLAS_OP_N, 128, 128, 26632,
        &alpha, a, CUDA_R_16BF, 128, b, CUDA_R_16BF, 26632,
        &beta, d, CUDA_R_32F, 128,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

#endif

/* --- From gemmproof's own sources: how operands are made ------------------ */

#define GP_HASH_HD static inline
struct gp_err {
    int kind;
};
#define gp_err_set(err, ...) ((void)(err), -1)

struct gp_type {
    const char *name; /* f32 */
    const char *help;
    size_t bytes;
    int precision; /* significand bits, the hidden one counted */
    int emin;      /* exponent of the smallest normal number */
    int emax;      /* exponent of the largest number */
};

struct gp_gemm {
    int64_t m, n, k, batch;
    bool trans_a, trans_b;
    bool row_major;
    int64_t lda, ldb, ldc; /* in the problem's layout; never 0 */
    double alpha, beta;
    const struct gp_type *in, *out;
};

enum gp_operand { GP_A, GP_B, GP_C };

struct gp_family_args {
    const struct gp_gemm *gemm;
    uint64_t seed;
    enum gp_operand operand;
    int64_t batch;
};

/* The largest |value| in each operand that the family `exact` uses: a and b
 * at most q, and `budget` nonzeros a vector of the sparse operand, 0 when
 * both are dense. Source: numerics, family F4. */
struct gp_family_exact {
    int64_t q, budget;
    bool sparse_a; /* else B is the sparse one */
    int64_t c_max;
};

/* What all vectors share of position l: which edge or stratum it is in. */
struct place {
    int64_t k, l, budget, edge, strata;
    int64_t from, length; /* of its stratum; 0 at an edge */
    uint64_t key;
};

/* A bijection of 64-bit words that passes for random. */
GP_HASH_HD uint64_t gp_hash_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A word of 64 random bits for each place; the column's part is mixed once. */
uint64_t gp_family_key(const struct gp_family_args *args, int64_t j)
{
    uint64_t key = gp_hash_mix(args->seed + 0x9e3779b97f4a7c15u *
                                                (1 + (uint64_t)args->operand));

    key = gp_hash_mix(key ^
                      gp_hash_mix((uint64_t)args->batch + 0xd1b54a32d192ed03u));
    return gp_hash_mix(key + (uint64_t)j * 0xa0761d6478bd642fu);
}

int64_t gp_family_length(const struct gp_family_args *args)
{
    return args->operand == GP_B ? args->gemm->k : args->gemm->m;
}

/* |x| as an integer number of 2^-g: the smallest g, or -1 above 8. */
static int dyadic(double x)
{
    for (int g = 0; g <= 8; g++)
        if (ldexp(x, g) == nearbyint(ldexp(x, g)))
            return g;
    return -1;
}

/* Integers below this are exact in every accumulator, partial and output: 2^24
 * in FP32 and in a tensor core (its fraction keeps 23 bits or more), 2^11 and
 * 2^8 where results or partials are FP16 or BF16. */
static int64_t exact_limit(const struct gp_gemm *gemm)
{
    int bits = gemm->out->precision;

    return INT64_C(1) << (bits > 53 ? 53 : bits);
}

/* Significand bits that every mode keeps of an operand: FP32 operands may be
 * rounded to BF16. */
static int exact_input_bits(const struct gp_gemm *gemm)
{
    return gemm->in->bytes == 4 ? 8 : gemm->in->precision;
}

enum {
    EDGE = 64,       /* first and last positions of k that must be seen */
    SPARSE_LEAST = 8 /* nonzeros with which they are, rotating */
};

int gp_family_exact_plan(const struct gp_gemm *gemm,
                         struct gp_family_exact *ret_plan, struct gp_err *err)
{
    int ga = dyadic(gemm->alpha), gb = dyadic(gemm->beta);
    int g = ga > gb ? ga : gb;
    double alpha = fabs(ldexp(gemm->alpha, g));
    double beta = fabs(ldexp(gemm->beta, g));
    double limit = (double)exact_limit(gemm) - 1;
    double most = ldexp(1, exact_input_bits(gemm));
    double sums, q;

    /* The results' unit is 2^-g, and C is one of -3..3 where it is read. */
    *ret_plan = (struct gp_family_exact){.c_max = beta != 0 ? 3 : 0};
    sums = limit - 3 * beta;
    if (alpha > 0)
        sums = floor(sums / alpha);
    if (ga < 0 || gb < 0 || sums < 1)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the family exact needs alpha and beta with few "
                          "binary digits: alpha = %g and beta = %g leave no "
                          "exact sums in %s",
                          gemm->alpha, gemm->beta, gemm->out->name);
    if (sums > limit)
        sums = limit;
    q = floor(sqrt(sums / (double)gemm->k));
    ret_plan->q = (int64_t)(q < most ? q : most);
    if (ret_plan->q >= 1)
        return 0;
    if (sums < SPARSE_LEAST)
        return gp_err_set(
            err, GP_ERR_UNSUPPORTED,
            "the family exact has room for %.0f terms of k = %lld "
            "in %s: too few to see the ends of k",
            sums, (long long)gemm->k, gemm->out->name);
    ret_plan->q = 1;
    ret_plan->budget = (int64_t)sums;
    ret_plan->sparse_a = gemm->m >= gemm->n;
    return 0;
}

/* An integer in -q..q from a word; never 0 when q is 1, so that every product
 * counts. */
static double integer_of(uint64_t word, int64_t q)
{
    uint64_t span = 2 * (uint64_t)q + 1;

    if (q == 1)
        return word >> 63 ? -1 : 1;
    if (q < INT64_C(1) << 31)
        return (double)((int64_t)((word >> 32) * span >> 32) - q);
    return (double)((int64_t)((word >> 11) % span) - q);
}

uint64_t gp_family_word(uint64_t column, int64_t i)
{
    return gp_hash_mix(column + (uint64_t)i * 0xe7037ed1a0b428dbu);
}

static struct place place_of(int64_t budget, int64_t k, int64_t l,
                             uint64_t seed)
{
    int64_t edge = 3 * budget / 8 < EDGE ? 3 * budget / 8 : EDGE;
    int64_t strata = budget - 2 * edge, middle = k - 2 * EDGE, s;
    struct place place = {k, l, budget, edge, strata, 0, 0, 0};

    if (budget >= k || middle <= 0 || strata > middle || strata == 0 ||
        l < EDGE || l >= k - EDGE)
        return place;
    s = ((l - EDGE + 1) * strata - 1) / middle;
    place.from = s * middle / strata + EDGE;
    place.length = (s + 1) * middle / strata + EDGE - place.from;
    place.key = gp_hash_mix(seed + (uint64_t)s * 0x9e3779b97f4a7c15u);
    return place;
}

/* Is it one of the `budget` nonzeros of vector v? A quarter of them stand
 * among the first EDGE positions, a quarter among the last, rotating with v so
 * that all of them occur; the others are one in each of equally long strata
 * between. */
static bool exact_nonzero(const struct place *place, int64_t v)
{
    int64_t k = place->k, l = place->l, budget = place->budget;
    uint64_t word;

    if (budget >= k)
        return true;
    if (k <= 2 * EDGE || place->strata > k - 2 * EDGE) /* thin out */
        return (l + v) % ((k + budget - 1) / budget) == 0;
    if (l < EDGE || l >= k - EDGE) {
        int64_t at = l < EDGE ? l : l - (k - EDGE);
        return (at + EDGE - v * place->edge % EDGE) % EDGE < place->edge;
    }
    if (place->strata == 0)
        return false;
    word = gp_hash_mix(place->key + (uint64_t)v * 0xc2b2ae3d27d4eb4fu);
    return l - place->from ==
           (int64_t)((word >> 32) * (uint64_t)place->length >> 32);
}

void gp_family_exact_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    struct gp_family_exact plan;
    struct gp_err ignored;
    struct place place = {0};
    uint64_t key = gp_family_key(args, j), sparse_key;
    int64_t length = gp_family_length(args);
    bool sparse;

    if (gp_family_exact_plan(gemm, &plan, &ignored) != 0)
        return;
    if (args->operand == GP_C) {
        for (int64_t i = 0; i < length; i++)
            to[i] =
                plan.c_max ? integer_of(gp_family_word(key, i), plan.c_max) : 0;
        return;
    }
    sparse = plan.budget && plan.sparse_a == (args->operand == GP_A);
    sparse_key = gp_hash_mix(args->seed ^ 0x2545f4914f6cdd1du);
    if (sparse && args->operand == GP_A)
        place = place_of(plan.budget, gemm->k, j, sparse_key);
    for (int64_t i = 0; i < length; i++) {
        to[i] = integer_of(gp_family_word(key, i), plan.q);
        if (sparse && args->operand == GP_B)
            place = place_of(plan.budget, gemm->k, i, sparse_key);
        if (sparse && !exact_nonzero(&place, args->operand == GP_A ? i : j))
            to[i] = 0;
    }
}

#define REPRO_COLUMN gp_family_exact_column

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023 };

static double of_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^e for a normal double. */
static double power_of_two(int e)
{
    return of_bits((uint64_t)(e + DOUBLE_BIAS) << DOUBLE_FRACTION);
}

/* The bits of a value that a 16-bit type holds exactly, or NaN, infinity. */
static uint16_t narrow_bits(double x, const struct gp_type *type)
{
    int fraction = type->precision - 1, bias = type->emax;
    uint64_t bits = bits_of(x), sign = bits >> 63 << 15;
    int e = (int)(bits >> DOUBLE_FRACTION & 0x7ff) - DOUBLE_BIAS;
    uint64_t top = (UINT64_C(1) << (15 - fraction)) - 1;

    if (isnan(x))
        return (uint16_t)(top << fraction | UINT64_C(1) << (fraction - 1));
    if (isinf(x))
        return (uint16_t)(sign | top << fraction);
    if (x == 0)
        return (uint16_t)sign;
    if (e < type->emin)
        return (uint16_t)(sign |
                          (uint64_t)(fabs(x) *
                                     power_of_two(fraction - type->emin)));
    return (uint16_t)(sign | (uint64_t)(e + bias) << fraction |
                      (bits >> (DOUBLE_FRACTION - fraction) &
                       ((UINT64_C(1) << fraction) - 1)));
}

double gp_round_to(double x, int precision, int emin)
{
    int drop = DOUBLE_FRACTION + 1 - precision;
    uint64_t bits = bits_of(x), half, odd;
    int e = (int)(bits >> DOUBLE_FRACTION & 0x7ff) - DOUBLE_BIAS;

    if (drop == 0 || e == 1024 || x == 0)
        return x;
    if (e < emin) {
        /* Below the smallest normal number the spacing is constant: adding
         * and subtracting a number whose last place has that spacing rounds
         * to nearest even. */
        double big = 1.5 * power_of_two(emin - precision + 1 + DOUBLE_FRACTION);
        return copysign(fabs(x) + big - big, x);
    }
    half = UINT64_C(1) << (drop - 1);
    odd = bits >> drop & 1;
    bits += half - 1 + odd;
    return of_bits(bits & ~((half << 1) - 1));
}

double gp_type_largest(const struct gp_type *type)
{
    return (2 - power_of_two(1 - type->precision)) * power_of_two(type->emax);
}

double gp_type_round(const struct gp_type *type, double x)
{
    double rounded = gp_round_to(x, type->precision, type->emin);

    if (fabs(rounded) > gp_type_largest(type))
        return copysign(INFINITY, x);
    return rounded;
}

const struct gp_type *gp_gemm_type(const struct gp_gemm *gemm,
                                   enum gp_operand which)
{
    return which == GP_C ? gemm->out : gemm->in;
}

int64_t gp_gemm_rows(const struct gp_gemm *gemm, enum gp_operand which)
{
    if (which == GP_A)
        return gemm->trans_a ? gemm->k : gemm->m;
    if (which == GP_B)
        return gemm->trans_b ? gemm->n : gemm->k;
    return gemm->m;
}

int64_t gp_gemm_cols(const struct gp_gemm *gemm, enum gp_operand which)
{
    if (which == GP_A)
        return gemm->trans_a ? gemm->m : gemm->k;
    if (which == GP_B)
        return gemm->trans_b ? gemm->k : gemm->n;
    return gemm->n;
}

int64_t gp_gemm_ld(const struct gp_gemm *gemm, enum gp_operand which)
{
    const int64_t lds[] = {gemm->lda, gemm->ldb, gemm->ldc};

    return lds[which];
}

int64_t gp_gemm_stride(const struct gp_gemm *gemm, enum gp_operand which)
{
    int64_t lines =
        gemm->row_major ? gp_gemm_rows(gemm, which) : gp_gemm_cols(gemm, which);

    return gp_gemm_ld(gemm, which) * lines;
}

int64_t gp_gemm_place(const struct gp_gemm *gemm, enum gp_operand which,
                      int64_t index)
{
    int64_t rows = gp_gemm_rows(gemm, which);
    int64_t each = rows * gp_gemm_cols(gemm, which);
    int64_t i = index % each % rows, j = index % each / rows;
    int64_t ld = gp_gemm_ld(gemm, which);

    return index / each * gp_gemm_stride(gemm, which) +
           (gemm->row_major ? j + i * ld : i + j * ld);
}

uint64_t gp_type_bits(const struct gp_type *type, const void *data,
                      int64_t index)
{
    const unsigned char *at =
        (const unsigned char *)data + (size_t)index * type->bytes;
    uint64_t bits = 0;

    memcpy(&bits, at, type->bytes); /* little endian, as every GPU host is */
    return bits;
}

int64_t gp_gemm_count(const struct gp_gemm *gemm, enum gp_operand which)
{
    return gp_gemm_rows(gemm, which) * gp_gemm_cols(gemm, which) * gemm->batch;
}

/* What one element adds to lane 0 or 1 of the digest. Two rounds, the first
 * on the key alone, so that neither bits nor index can cancel the other. */
GP_HASH_HD uint64_t gp_hash_lane(int lane, uint64_t index, uint64_t bits)
{
    uint64_t key = lane ? 0xd1b54a32d192ed03u : 0x9e3779b97f4a7c15u;

    return gp_hash_mix(bits ^ gp_hash_mix(index + key));
}

/* Bits of a 16-bit format with `fraction` stored bits to a double. */
static double narrow_value(uint64_t bits, int fraction, int bias)
{
    int e = (int)(bits >> fraction) & ((1 << (15 - fraction)) - 1);
    double f = (double)(bits & ((UINT64_C(1) << fraction) - 1));
    double x;

    if (e == (1 << (15 - fraction)) - 1)
        x = f != 0 ? NAN : INFINITY;
    else if (e == 0)
        x = f * power_of_two(1 - bias - fraction);
    else
        x = (f + power_of_two(fraction)) * power_of_two(e - bias - fraction);
    return bits & 0x8000 ? -x : x;
}

double gp_type_value(const struct gp_type *type, uint64_t bits)
{
    if (type->bytes == 8)
        return of_bits(bits);
    if (type->bytes == 4 || type->precision == 8) {
        uint32_t word =
            (uint32_t)(type->bytes == 4 ? bits : (bits & 0xffff) << 16);
        float x;
        memcpy(&x, &word, sizeof x);
        return (double)x;
    }
    return narrow_value(bits, type->precision - 1, type->emax);
}

/* --- The problem ---------------------------------------------------------- */

static struct gp_gemm repro_gemm(void)
{
    static struct gp_type in, out;
    struct gp_gemm gemm;

    memset(&gemm, 0, sizeof gemm);
    in.name = "bf16";
    in.bytes = 2;
    in.precision = 8;
    in.emin = -126;
    in.emax = 127;
    out.name = "f32";
    out.bytes = 4;
    out.precision = 24;
    out.emin = -126;
    out.emax = 127;
    gemm.m = 128;
    gemm.n = 128;
    gemm.k = 26632;
    gemm.batch = 1;
    gemm.trans_a = 0;
    gemm.trans_b = 0;
    gemm.row_major = 0;
    gemm.lda = 128;
    gemm.ldb = 26632;
    gemm.ldc = 128;
    gemm.alpha = 1;
    gemm.beta = 0;
    gemm.in = &in;
    gemm.out = &out;
    return gemm;
}

/* --- The operands, as the run had them -------------------------------------
 */

enum { GUARD = 4096, POISON = 0xff }; /* bytes before and after each matrix */

struct matrix {
    unsigned char *bytes, *element; /* of the guards too; 1 where data is */
    size_t total;
    double *op; /* A: row i of op(A) at op[i * k], B: column j of op(B) */
};

static void *allocate(size_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);

    if (!memory) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return memory;
}

static void store(const struct gp_type *type, double x, unsigned char *to)
{
    float narrow = (float)x;
    uint16_t bits;

    if (type->bytes == 8) {
        memcpy(to, &x, 8);
    } else if (type->bytes == 4) {
        memcpy(to, &narrow, 4);
    } else {
        bits = narrow_bits(gp_type_round(type, x), type);
        memcpy(to, &bits, 2);
    }
}

/* Column j of op(X) into its places of the stored, laid out matrix. */
static void place_column(const struct gp_gemm *gemm, enum gp_operand which,
                         int64_t batch, int64_t j, const double *column,
                         struct matrix *matrix)
{
    const struct gp_type *type = gp_gemm_type(gemm, which);
    bool trans = which == GP_A   ? gemm->trans_a
                 : which == GP_B ? gemm->trans_b
                                 : false;
    int64_t rows = gp_gemm_rows(gemm, which);
    int64_t each = rows * gp_gemm_cols(gemm, which);
    int64_t length = trans ? gp_gemm_cols(gemm, which) : rows;

    for (int64_t i = 0; i < length; i++) {
        int64_t packed = batch * each + (trans ? j + i * rows : i + j * rows);
        size_t at =
            GUARD + (size_t)gp_gemm_place(gemm, which, packed) * type->bytes;
        store(type, column[i], matrix->bytes + at);
        memset(matrix->element + at, 1, type->bytes);
        if (which == GP_A)
            matrix->op[(batch * gemm->m + i) * gemm->k + j] = column[i];
        else if (which == GP_B)
            matrix->op[(batch * gemm->n + j) * gemm->k + i] = column[i];
    }
}

/* Guards, padding and, when beta = 0, D itself are POISON. */
static struct matrix make(const struct gp_gemm *gemm, enum gp_operand which)
{
    const struct gp_type *type = gp_gemm_type(gemm, which);
    int64_t length = which == GP_B ? gemm->k : gemm->m;
    int64_t columns = which == GP_A ? gemm->k : gemm->n;
    double *column = (double *)allocate((size_t)length * sizeof *column);
    struct matrix matrix;

    matrix.total =
        2 * GUARD +
        (size_t)(gp_gemm_stride(gemm, which) * gemm->batch) * type->bytes;
    matrix.bytes = (unsigned char *)allocate(matrix.total);
    matrix.element = (unsigned char *)allocate(matrix.total);
    matrix.op = (double *)allocate(
        which == GP_C
            ? 0
            : (size_t)(length * columns * gemm->batch) * sizeof *matrix.op);
    memset(matrix.bytes, POISON, matrix.total);
    for (int64_t batch = 0; batch < gemm->batch; batch++) {
        for (int64_t j = 0; j < columns; j++) {
            struct gp_family_args args = {gemm, REPRO_SEED, which, batch};
            if (which != GP_C || gemm->beta != 0)
                REPRO_COLUMN(&args, j, column);
            place_column(gemm, which, batch, j, column, &matrix);
        }
    }
    if (which == GP_C && gemm->beta == 0)
        memset(matrix.bytes, POISON, matrix.total);
    free(column);
    return matrix;
}

static uint64_t bits_at(const struct gp_gemm *gemm, enum gp_operand which,
                        const unsigned char *bytes, int64_t packed)
{
    return gp_type_bits(gp_gemm_type(gemm, which), bytes + GUARD,
                        gp_gemm_place(gemm, which, packed));
}

/* 128 bits over the elements in packed column-major order, as in the
 * journals of gemmproof. */
static void print_digest(const char *name, const struct gp_gemm *gemm,
                         enum gp_operand which, const unsigned char *bytes)
{
    int64_t count = gp_gemm_count(gemm, which);
    uint64_t lanes[2] = {0, 0};

    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = bits_at(gemm, which, bytes, i);
        lanes[0] += gp_hash_lane(0, (uint64_t)i, bits);
        lanes[1] += gp_hash_lane(1, (uint64_t)i, bits);
    }
    printf("%s %016llx%016llx %lld\n", name, (unsigned long long)lanes[0],
           (unsigned long long)lanes[1], (long long)count);
}

#ifdef REPRO_DUMP

int main(void)
{
    struct gp_gemm gemm = repro_gemm();
    struct matrix a = make(&gemm, GP_A), b = make(&gemm, GP_B);
    struct matrix c = make(&gemm, GP_C);

    print_digest("A", &gemm, GP_A, a.bytes);
    print_digest("B", &gemm, GP_B, b.bytes);
    if (gemm.beta != 0)
        print_digest("C", &gemm, GP_C, c.bytes);
    return 0;
}

#endif

#ifndef REPRO_DUMP

/* --- What the results must be ----------------------------------------------
 */

struct tally {
    int64_t looked_at, outside, wrong, ambiguous;
    double worst; /* largest error as a share of its bound */
    int64_t worst_at;
    double worst_got, worst_ref;
};

/* The bound of this device's tensor cores; the last row is for those that
 * are not known. */
static const struct repro_bound *bound_of(int compute_capability)
{
    const struct repro_bound *bound = repro_bounds;

    while (bound->compute_capability &&
           bound->compute_capability != compute_capability)
        bound++;
    return bound;
}

/* alpha AB + beta C and its magnitude |alpha| |A||B| + |beta| |C| at one
 * element, in long double. */
static void reference_at(const struct gp_gemm *gemm, const struct matrix *a,
                         const struct matrix *b, const struct matrix *c,
                         int64_t index, double *ret_ref, double *ret_magnitude)
{
    int64_t i = index % gemm->m, j = index / gemm->m % gemm->n;
    int64_t batch = index / gemm->m / gemm->n;
    const double *row = a->op + (batch * gemm->m + i) * gemm->k;
    const double *column = b->op + (batch * gemm->n + j) * gemm->k;
    long double sum = 0, magnitude = 0, term;

    for (int64_t l = 0; l < gemm->k; l++) {
        term = (long double)row[l] * column[l];
        sum += term;
        magnitude += term < 0 ? -term : term;
    }
    sum *= gemm->alpha;
    magnitude *= fabs(gemm->alpha);
    if (gemm->beta != 0) {
        term = (long double)gemm->beta *
               gp_type_value(gemm->out, bits_at(gemm, GP_C, c->bytes, index));
        sum += term;
        magnitude += term < 0 ? -term : term;
    }
    *ret_ref = (double)sum;
    *ret_magnitude = (double)magnitude;
}

static void look_at(const struct gp_gemm *gemm, const struct repro_bound *bound,
                    int64_t index, double got, double ref, double magnitude,
                    struct tally *tally)
{
    /* The last term is the error of the reference itself. */
    double limit = (bound->rel_ref * fabs(ref) + bound->rel_mag * magnitude +
                    bound->absolute) *
                       (1 + 0x1p-50) +
                   ((double)gemm->k + 4) * (double)LDBL_EPSILON * magnitude +
                   fabs(ref) * 0x1p-53;
    double share = fabs(got - ref) / limit;

    tally->looked_at++;
    if (!isfinite(got) &&
        (magnitude >= bound->omega_acc || magnitude >= bound->omega_out)) {
        tally->ambiguous++; /* an order of summation may overflow */
        return;
    }
    if (!isfinite(got))
        share = HUGE_VAL;
    tally->outside += share > 1;
    if (tally->worst_at < 0 || share > tally->worst) {
        tally->worst = share;
        tally->worst_at = index;
        tally->worst_got = got;
        tally->worst_ref = ref;
    }
    ref = gp_type_round(gemm->out, ref);
    if (got == ref)
        return;
    if (++tally->wrong <= 8)
        printf("  exact: D(%lld, %lld) of batch %lld is %.17g and must be "
               "%.17g\n",
               (long long)(index % gemm->m),
               (long long)(index / gemm->m % gemm->n),
               (long long)(index / gemm->m / gemm->n), got, ref);
}

/* An odd step, so that the sample does not always meet the same rows of a
 * tile. */
static int64_t step_of(int64_t count, double cost, bool all)
{
    int64_t step = (int64_t)((double)count * cost / 0x1p28) + 1;

    return all || step == 1 ? 1 : step | 1;
}

static int judge(const struct gp_gemm *gemm, const struct matrix *a,
                 const struct matrix *b, const struct matrix *c,
                 const unsigned char *output, int capability, bool all)
{
    const struct repro_bound *bound = bound_of(capability);
    int64_t count = gp_gemm_count(gemm, GP_C);
    int64_t step = step_of(count, (double)gemm->k, all);
    struct tally tally;
    double ref, magnitude;

    memset(&tally, 0, sizeof tally);
    tally.worst_at = -1;
    for (int64_t at = 0; at < count; at += step) {
        double got = gp_type_value(gemm->out, bits_at(gemm, GP_C, output, at));
        reference_at(gemm, a, b, c, at, &ref, &magnitude);
        look_at(gemm, bound, at, got, ref, magnitude, &tally);
    }
    printf("%lld of %lld elements compared%s\n", (long long)tally.looked_at,
           (long long)count,
           step > 1 ? " (--all compares every one of them)" : "");
    if (tally.worst_at >= 0)
        printf("bound: %lld outside; the worst is D(%lld, %lld) of batch %lld "
               "= %.17g, must be %.17g: %.3g of what it can be off\n",
               (long long)tally.outside, (long long)(tally.worst_at % gemm->m),
               (long long)(tally.worst_at / gemm->m % gemm->n),
               (long long)(tally.worst_at / gemm->m / gemm->n), tally.worst_got,
               tally.worst_ref, tally.worst);
    if (tally.ambiguous)
        printf("range: %lld elements may overflow in some order of summation\n",
               (long long)tally.ambiguous);
    printf("exact: %lld elements are not the only possible result\n",
           (long long)tally.wrong);
    return tally.outside > 0 || tally.wrong > 0;
}


/* --- The run ---------------------------------------------------------------
 */

static void must(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "%s returns %d\n", what, status);
    exit(2);
}

static void *upload(const struct matrix *matrix, cudaStream_t stream)
{
    void *memory = NULL;

    must(cudaMalloc(&memory, matrix->total), "cudaMalloc");
    must(cudaMemcpyAsync(memory, matrix->bytes, matrix->total,
                         cudaMemcpyHostToDevice, stream),
         "cudaMemcpyAsync");
    return memory;
}

static void download(void *to, const void *from, size_t bytes,
                     cudaStream_t stream)
{
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream),
         "cudaMemcpyAsync");
    must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

/* The library reads some variables when it is loaded and others when a handle
 * is made, so the program sets them and starts itself again. */
static void set_environment(char **argv)
{
    if (getenv("REPRO_STARTED"))
        return;
    for (const char *const *name = repro_unset; *name; name++) {
        size_t length = strlen(*name);
        for (char **at = environ; *at;) {
            char variable[256];
            size_t end = strcspn(*at, "=");
            snprintf(variable, sizeof variable, "%.*s", (int)end, *at);
            if (strncmp(*at, *name, length) == 0 && end < sizeof variable &&
                unsetenv(variable) == 0)
                at = environ;
            else
                at++;
        }
    }
    for (const char *const *pair = repro_set; *pair; pair += 2)
        must(setenv(pair[0], pair[1], 1), "setenv");
    must(setenv("REPRO_STARTED", "1", 1), "setenv");
    execv("/proc/self/exe", argv);
    perror("the program cannot start itself again");
    exit(2);
}

static int describe(cublasHandle_t handle)
{
    struct cudaDeviceProp device;
    int version = 0, driver = 0, runtime = 0;

    must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    must(cublasGetVersion(handle, &version), "cublasGetVersion");
    must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    printf("%s\n", REPRO_ID);
    printf("GPU: %s, compute capability %d.%d, %d multiprocessors\n",
           device.name, device.major, device.minor, device.multiProcessorCount);
    printf("cuBLAS %d; CUDA of the driver %d, of the runtime %d\n", version,
           driver, runtime);
    printf("call: %s, %s\n", REPRO_CALL, REPRO_MATH_WORDS);
    for (const char *const *pair = repro_set; *pair; pair += 2)
        printf("environment: %s=%s\n", pair[0], pair[1]);
    return device.major * 10 + device.minor;
}

/* Bytes of the guards and of the padding that are not POISON any more. */
static int64_t touched(const struct matrix *matrix, const unsigned char *bytes)
{
    int64_t count = 0;

    for (size_t i = 0; i < matrix->total; i++)
        count += !matrix->element[i] && bytes[i] != POISON;
    return count;
}

static int64_t changed(const struct matrix *matrix, const void *device,
                       cudaStream_t stream)
{
    unsigned char *now = (unsigned char *)allocate(matrix->total);
    int64_t count = 0;

    download(now, device, matrix->total, stream);
    for (size_t i = 0; i < matrix->total; i++)
        count += now[i] != matrix->bytes[i];
    free(now);
    return count;
}

/* Element of the first difference, for the first few repeats that differ. */
static void say_difference(const struct gp_gemm *gemm, int64_t repeat,
                           const unsigned char *first,
                           const unsigned char *other)
{
    int64_t count = gp_gemm_count(gemm, GP_C), at = 0, different = 0, where = 0;

    for (at = count - 1; at >= 0; at--) {
        if (bits_at(gemm, GP_C, first, at) == bits_at(gemm, GP_C, other, at))
            continue;
        different++;
        where = at;
    }
    printf("  repeat %lld differs from the first in %lld elements: D(%lld, "
           "%lld) of batch %lld is %.17g, was %.17g\n",
           (long long)repeat, (long long)different,
           (long long)(where % gemm->m), (long long)(where / gemm->m % gemm->n),
           (long long)(where / gemm->m / gemm->n),
           gp_type_value(gemm->out, bits_at(gemm, GP_C, other, where)),
           gp_type_value(gemm->out, bits_at(gemm, GP_C, first, where)));
}

/* Multiply REPRO_REPEATS times; `first` receives the first output, `last` the
 * last. Returns how many repeats have other bits than the first. */
static int64_t repeat(const struct gp_gemm *gemm, cublasHandle_t handle,
                      cudaStream_t stream, void *const device[3],
                      const struct matrix *c, unsigned char *first,
                      unsigned char *last)
{
    size_t data = c->total - 2 * GUARD;
    int64_t others = 0;

    for (int64_t r = 0; r < REPRO_REPEATS; r++) {
        unsigned char *d = (unsigned char *)device[GP_C] + GUARD;
        must(cudaMemcpyAsync(d, c->bytes + GUARD, data, cudaMemcpyHostToDevice,
                             stream),
             "cudaMemcpyAsync");
        must(multiply(handle, (unsigned char *)device[GP_A] + GUARD,
                      (unsigned char *)device[GP_B] + GUARD, d),
             "the product");
        download(last, device[GP_C], c->total, stream);
        if (r == 0)
            memcpy(first, last, c->total);
        else if (memcmp(first + GUARD, last + GUARD, data) != 0 &&
                 ++others <= 8)
            say_difference(gemm, r, first, last);
    }
    return others;
}

int main(int argc, char **argv)
{
    struct gp_gemm gemm = repro_gemm();
    bool all = argc > 1 && strcmp(argv[1], "--all") == 0;
    cublasHandle_t handle;
    cudaStream_t stream;
    int capability, finding;
    int64_t others, guards, inputs;
    struct matrix a, b, c;
    unsigned char *first, *last;
    void *device[3];

    set_environment(argv);
    a = make(&gemm, GP_A);
    b = make(&gemm, GP_B);
    c = make(&gemm, GP_C);
    first = (unsigned char *)allocate(c.total);
    last = (unsigned char *)allocate(c.total);
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
         "cudaStreamCreateWithFlags");
    must(cublasCreate(&handle), "cublasCreate");
    must(cublasSetStream(handle, stream), "cublasSetStream");
    must(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST),
         "cublasSetPointerMode");
    must(cublasSetMathMode(handle, REPRO_MATH), "cublasSetMathMode");
    capability = describe(handle);
    device[GP_A] = upload(&a, stream);
    device[GP_B] = upload(&b, stream);
    device[GP_C] = upload(&c, stream);
    others = repeat(&gemm, handle, stream, device, &c, first, last);
    print_digest("bits of the first:", &gemm, GP_C, first);
    printf("repeat: %lld of %lld have other bits than the first\n",
           (long long)others, (long long)REPRO_REPEATS);
    finding = judge(&gemm, &a, &b, &c, first, capability, all);
    guards = touched(&c, last);
    inputs =
        changed(&a, device[GP_A], stream) + changed(&b, device[GP_B], stream);
    printf("guard: %lld bytes beside D changed, %lld bytes of A and B\n",
           (long long)guards, (long long)inputs);
    finding |= others > 0 || guards > 0 || inputs > 0;
    printf("%s\n", finding ? "The finding shows." : "Nothing wrong shows.");
    must(cublasDestroy(handle), "cublasDestroy");
    return finding;
}

#endif
