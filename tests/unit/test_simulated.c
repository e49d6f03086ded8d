/* The simulated arithmetic: published probes of tensor cores by hand (Fasi,
 * Higham, Mikaitis, Pranesh 2021; Khattak and Mikaitis 2025), another program's
 * results, errors of the expected size, splits that the workspace decides. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/worker/backends/simulated_mma.h"
#include "tests/unit/product.h"

enum { PLENTY = 1 << 30, ROOM = 1 << 20, SIDE = 64 };

/* A device, types and a request. */
struct mode {
    const char *unit, *in, *out, *math, *compute;
};

static struct gp_simulated_plan plan_of(const struct mode *mode,
                                        const struct gp_gemm *gemm, bool flag,
                                        int64_t workspace_bytes)
{
    struct gp_request request = {.no_reduced_precision = flag};
    struct gp_simulated_plan plan = {0};
    struct gp_err err = {0};

    strcpy(request.entry, *mode->compute ? "gemm-ex" : "gemm");
    strcpy(request.math, mode->math);
    strcpy(request.compute, mode->compute);
    cr_assert(gp_simulated_plan(gp_simulated_find(mode->unit), gemm, &request,
                                workspace_bytes, &plan, &err) == 0,
              "%s", err.text);
    return plan;
}

/* Each test is a process of its own, so that these are its own. */
static double left[ROOM], right[ROOM], first[ROOM], second[ROOM];

/* Packed operands: uniform in [-1, 1); in [0, 1] with a spread of -1; with
 * exponents from -spread to spread; `specials`, one in a hundred if they are
 * not numbers. */
static void fill(struct rng *rng, const struct gp_gemm *gemm, int spread,
                 const double *specials)
{
    for (int64_t i = 0; i < (gemm->m + gemm->n) * gemm->k; i++) {
        int64_t at = i < gemm->m * gemm->k ? i : i - gemm->m * gemm->k;
        unsigned char *to = (void *)(at == i ? left : right);
        double x =
            spread > 0 ? rng_double(rng, -spread, spread) : rng_uniform(rng);
        x = spread < 0 ? fabs(x) : x;
        if (specials && rng_to(rng, isnan(specials[0]) ? 99 : 0) == 0)
            x = specials[rng_to(rng, 7)];
        gp_type_store(gemm->in, &x, to + (size_t)at * gemm->in->bytes, 1);
    }
}

/* left times right. */
static void multiply(const struct gp_simulated_plan *plan,
                     const struct gp_gemm *gemm, double *to)
{
    static double d[ROOM];
    struct gp_err err = {0};

    cr_assert(gp_simulated_multiply(plan, gemm, left, right, d, &err) == 0,
              "%s", err.text);
    gp_type_load(gemm->out, d, to, gemm->m * gemm->n);
}

static int64_t differing(int64_t count)
{
    int64_t different = 0;

    for (int64_t i = 0; i < count; i++)
        different +=
            first[i] != second[i] && !(isnan(first[i]) && isnan(second[i]));
    return different;
}

enum { F16_90, F16_80, F16_70, BF16_90, BF16_80, TF32_90, TF32_80, AS_BF16 };
enum { AS_F16 = AS_BF16 + 1, H90, FP32, FP64, F16_F16, BF16_BF16 };
static const struct mode modes[] = {
    [F16_90] = {"sm90", "f16", "f32", "default", "32f"},
    [F16_80] = {"sm80", "f16", "f32", "default", "32f"},
    [F16_70] = {"sm70", "f16", "f32", "default", "32f"},
    [BF16_90] = {"sm90", "bf16", "f32", "default", "32f"},
    [BF16_80] = {"sm80", "bf16", "f32", "default", "32f"},
    [TF32_90] = {"sm90", "f32", "f32", "tf32", ""},
    [TF32_80] = {"sm80", "f32", "f32", "tf32", ""},
    [AS_BF16] = {"sm90", "f32", "f32", "default", "32f-fast-16bf"},
    [AS_F16] = {"sm90", "f32", "f32", "default", "32f-fast-16f"},
    [H90] = {"sm90", "f16", "f16", "default", "16f"},
    [FP32] = {"sm90", "f32", "f32", "default", ""},
    [FP64] = {"sm90", "f64", "f64", "pedantic", ""},
    [F16_F16] = {"sm90", "f16", "f16", "default", "32f"},
    [BF16_BF16] = {"sm90", "bf16", "bf16", "default", "32f"},
};

/* Each element of D by gp_simulated_chain. */
static void multiply_one_by_one(const struct gp_simulated_plan *plan,
                                const struct gp_gemm *gemm, double *to)
{
    double row[128], column[128];

    for (int64_t at = 0; at < gemm->m * gemm->n; at++) {
        int64_t i = at % gemm->m, j = at / gemm->m;
        for (int64_t l = 0; l < gemm->k; l++) {
            row[l] = gp_simulated_operand(
                plan, product_element(gemm, GP_A, left, i, l, 0));
            column[l] = gp_simulated_operand(
                plan, product_element(gemm, GP_B, right, l, j, 0));
        }
        to[at] = gp_type_round(gemm->out,
                               gp_simulated_chain(plan, row, column, gemm->k));
    }
}

Test(simulated, many_sums_at_a_time_are_what_one_is)
{
    static const double specials[][8] = {
        {NAN, 0, -INFINITY, INFINITY, 0x1p-130, 0x1p-24, 65504, 0x1.8p120},
        {0, 0x1.08p-70, 0x1p-60, -0x1p-126, 0x1p-136, 0x1.8p-62, -0x1p-64, 0},
        {0x1.fecp-34, -0x1.8p-35, 0x1.3fcp-36, 0, 0x1.004p-36, -0x1.02p-33, 0},
        {0x1.1p-12, -0x1.8p-11, 0x1.8p-9, 0x1p-24, 0x1p-8, -0x1.5p-9, 0, -0.0},
        {0x1p-24, 1, 0x1.54p-14, -0x1.98p-14, 0x1.cp-15, 0x1.2p-13, 0, 0x1p-23},
        {1, -1, 0x1p60, -0x1.ffcp60, 65504, -65504, 0x1p15, -0x1p100},
        {300, -250, 20, -417, 400, -3, 1000, -1000}};
    static const int spreads[] = {0, 6, 60};
    static const char *const ops[] = {"nn", "tn", "nt"};
    static const int sizes[][3] = {{33, 3, 77}, {5, 17, 64}, {2, 19, 31}};
    struct rng rng = {.state = 11};

    for (size_t i = 0; i < 30 * sizeof modes / sizeof *modes; i++) {
        const struct mode *mode = &modes[i / 30];
        const int kind = i / 3 % 10, *size = sizes[i % 3];
        struct gp_gemm gemm = product_of(mode->in, mode->out, ops[i % 3],
                                         size[0], size[1], size[2]);
        struct gp_simulated_plan plan = plan_of(mode, &gemm, false, 0);
        fill(&rng, &gemm, kind < 3 ? spreads[kind] : 3,
             kind < 3 ? NULL : specials[kind - 3]);
        multiply(&plan, &gemm, first);
        multiply_one_by_one(&plan, &gemm, second);
        cr_assert_eq(differing(gemm.m * gemm.n), 0, "mode %zu, kind %d, %s",
                     i / 30, kind, ops[i % 3]);
    }
}

/* Fused nodes of F fraction bits and L products, and nothing around them. */
#define NODES(type, f, l)                                                      \
    {                                                                          \
        .tensor = true, .accumulator = gp_type_find(type), .input_emin = -14,  \
        .fraction_bits = (f), .products = (l)                                  \
    }

/* c + other + times p. */
static double node(const struct gp_simulated_plan *plan, double c, double p,
                   int times, double other)
{
    const double b[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    double a[16] = {other};

    for (int i = 1; i <= times; i++)
        a[i] = p;
    return gp_simulated_node(plan, a, b, times + 1, c);
}

Test(simulated, published_probes_of_one_node)
{
    const struct gp_simulated_plan v100 = NODES("f32", 23, 4);
    const struct gp_simulated_plan a100 = NODES("f32", 24, 8);
    const struct gp_simulated_plan h100 = NODES("f32", 25, 16);
    const struct gp_simulated_plan half = NODES("f16", 25, 16);
    const struct gp_simulated_plan *all[] = {&v100, &a100, &h100};

    /* A guard bit keeps 2^-24 of 1 - (1 - 2^-24). */
    cr_assert_eq(node(&v100, -(1 - 0x1p-24), 0, 0, 1), 0x1p-23);
    cr_assert_eq(node(&a100, -(1 - 0x1p-24), 0, 0, 1), 0x1p-24);
    cr_assert_eq(node(&h100, -(1 - 0x1p-24), 0, 0, 1), 0x1p-24);
    /* Each small term is aligned alone, and truncated. */
    cr_assert_eq(node(&v100, 1, 0x1p-24, 3, 0x1p-24), 1);
    cr_assert_eq(node(&a100, 1, 0x1p-25, 7, 0x1p-25), 1);
    cr_assert_eq(node(&a100, 1, 0x1p-24, 3, 0x1p-24), 1 + 0x1p-22);
    cr_assert_eq(node(&h100, 1, 0x1p-26, 15, 0x1p-26), 1);
    cr_assert_eq(node(&h100, 1, 0x1p-25, 15, 0x1p-25), 1 + 0x1p-21);
    /* A smaller accumulator keeps them, so that the sum is larger. */
    cr_assert_eq(node(&h100, 1 - 0x1p-24, 0x1p-26, 15, 0x1p-26), 1 + 0x1p-23);
    for (int i = 0; i < 3; i++) {
        /* Normalised once, at the end; then toward zero, on both sides. */
        cr_assert_eq(node(all[i], 1 - 0x1p-24, 0x1p-24, 3, 0x1p-24),
                     1 + 0x1p-23);
        cr_assert_eq(node(all[i], 1 + 0x1p-23, 0x1p-24, 1, 1), 2);
        cr_assert_eq(node(all[i], -1 - 0x1p-23, -0x1p-24, 1, -1), -2);
        /* Carries are kept. */
        cr_assert_eq(node(all[i], 1 + 0x1.8p-22, 1, 3, 1), 5);
        cr_assert_eq(node(all[i], 0, 0, 0, 0x1p-24), 0x1p-24);
        cr_assert(isnan(node(all[i], INFINITY, 1, 1, -INFINITY)));
        cr_assert_eq(node(all[i], 1, 1, 1, -INFINITY), -INFINITY);
        cr_assert_eq(node(all[i], 0, 1, 1, -1), 0);
    }
    /* An FP16 accumulator is rounded to nearest even. */
    cr_assert_eq(node(&half, 1, 0, 0, 0x1p-11), 1);
    cr_assert_eq(node(&half, 1 + 0x1p-10, 0, 0, 0x1p-11), 1 + 0x1p-9);
    cr_assert_eq(node(&half, 1, 0, 0, 0x1.8p-11), 1 + 0x1p-10);
    cr_assert_eq(node(&half, 65504, 0, 0, 15), 65504);
    cr_assert_eq(node(&half, 65504, 0, 0, 16), INFINITY);
}

Test(simulated, alignment_and_truncation_of_products)
{
    const struct gp_simulated_plan wide = NODES("f32", 25, 16);
    const struct gp_simulated_plan narrow = NODES("f32", 25, 8);
    double a[16] = {1.5}, b[16] = {1.5};
    const double small[] = {0x1p-24, 0x1p-20}, unit[] = {1, 0x1p-20};

    /* 1.5 * 1.5 counts as 2^0, so that 2^-25 is kept beside it. */
    for (int i = 1; i <= 8; i++) {
        a[i] = 0x1p-12;
        b[i] = 0x1p-13;
    }
    cr_assert_eq(gp_simulated_node(&wide, a, b, 9, 0), 2.25 + 0x1p-22);
    /* A subnormal operand counts as 2^-14: 2^-40 is lost beside 2^-24. */
    cr_assert_eq(gp_simulated_node(&wide, small, unit, 2, 0), 0x1p-24);
    /* Each node ends in a truncation. */
    memset(a, 0, sizeof a);
    a[0] = b[0] = 1;
    a[7] = a[15] = 0x1.8p-12;
    b[7] = b[15] = 0x1p-12;
    cr_assert_eq(gp_simulated_chain(&wide, a, b, 16), 1 + 0x1p-23);
    cr_assert_eq(gp_simulated_chain(&narrow, a, b, 16), 1);
}

Test(simulated, operands_round_to_nearest_even)
{
    const struct gp_gemm gemm = product_of("f32", "f32", "nn", 64, 64, 64);
    const struct gp_simulated_plan tf32 =
        plan_of(&modes[TF32_90], &gemm, false, 0);
    const struct gp_simulated_plan bf16 =
        plan_of(&modes[AS_BF16], &gemm, false, 0);
    const struct gp_simulated_plan f16 =
        plan_of(&modes[AS_F16], &gemm, false, 0);

    cr_assert_eq(gp_simulated_operand(&tf32, 1 + 0x1p-11), 1);
    cr_assert_eq(gp_simulated_operand(&tf32, 1 + 0x1p-11 + 0x1p-23),
                 1 + 0x1p-10);
    cr_assert_eq(gp_simulated_operand(&tf32, 1 + 3 * 0x1p-11), 1 + 0x1p-9);
    cr_assert_eq(gp_simulated_operand(&tf32, 0x1p-137), 0);
    cr_assert_eq(gp_simulated_operand(&tf32, 0x1.fffffep127), INFINITY);
    cr_assert_eq(gp_simulated_operand(&bf16, 1 + 0x1p-8), 1);
    cr_assert_eq(gp_simulated_operand(&bf16, -1 - 0x1.8p-8), -1 - 0x1p-7);
    cr_assert_eq(gp_simulated_operand(&f16, -65520), -INFINITY);
    cr_assert_eq(gp_simulated_operand(&f16, 0x1.8p-24), 0x1p-23);
}

/* A number of 24 bits and an exponent from -6 to 6, rounded to `precision`. */
static double datum(uint64_t place, int precision)
{
    uint64_t w = gp_hash_mix(place * 0x9e3779b97f4a7c15u + 1);
    double x = ldexp(1 + (double)(w >> 41) * 0x1p-23, (int)(w % 13) - 6);

    return gp_round_to(w >> 20 & 1 ? -x : x, precision, -126);
}

/* 1024 sums over 77 products, as a model written apart from this one gave
 * them: the digest of their FP32 bits. */
static const struct {
    const char *accumulator;
    int precision, fraction_bits, products;
    uint64_t digest;
} others[] = {
    {"f32", 11, 25, 16, 0x2ea0425fbd1dad28},
    {"f32", 11, 24, 8, 0xc945cdc40c394c48},
    {"f32", 11, 23, 4, 0x123924eca816e371},
    {"f32", 8, 25, 16, 0x8721e0d78ce5042d},
    {"f32", 8, 24, 8, 0xd96ec05411ab641a},
    {"f32", 11, 25, 8, 0x6eba110f79473213},
    {"f32", 11, 24, 4, 0x7604d7d55c4f453c},
    {"f16", 11, 25, 16, 0x6fb32391fe32f055},
    {"f16", 11, 24, 8, 0x4a9943ce95692572},
    {"f16", 11, 23, 4, 0x6a78d06c9c8e62af},
};

Test(simulated, another_program_computes_the_same_bits)
{
    enum { SUMS = 1024, TERMS = 77 };
    double a[TERMS], b[TERMS];

    for (size_t row = 0; row < sizeof others / sizeof *others; row++) {
        struct gp_simulated_plan plan =
            NODES(others[row].accumulator, others[row].fraction_bits,
                  others[row].products);
        uint64_t digest = 0;
        plan.input_emin = -126;
        for (uint64_t i = 0; i < SUMS; i++) {
            float narrow;
            for (uint64_t l = 0; l < TERMS; l++) {
                uint64_t place = 2 * (i * TERMS + l);
                a[l] = datum(place, others[row].precision);
                b[l] = datum(place + 1, others[row].precision);
            }
            narrow = (float)gp_simulated_chain(&plan, a, b, TERMS);
            digest += gp_hash_lane(
                0, i, gp_type_bits(gp_type_find("f32"), &narrow, 0));
        }
        cr_assert_eq(digest, others[row].digest, "row %zu", row);
    }
}

/* rms of (D - AB) / (2^-24 |A||B|). */
static double rms_error(const struct mode *mode, int64_t k, bool positive)
{
    static double rows[SIDE * 4096], columns[SIDE * 4096];
    struct gp_gemm gemm = product_of(mode->in, mode->out, "tn", SIDE, SIDE, k);
    struct gp_simulated_plan plan = plan_of(mode, &gemm, false, 0);
    struct rng rng = {.state = 5};
    double squares = 0;

    fill(&rng, &gemm, positive ? -1 : 0, NULL);
    gp_type_load(gemm.in, left, rows, SIDE * k);
    gp_type_load(gemm.in, right, columns, SIDE * k);
    multiply(&plan, &gemm, first);
    for (int64_t at = 0; at < SIDE * SIDE; at++) {
        const double *row = rows + at % SIDE * k;
        const double *column = columns + at / SIDE * k;
        double sum = 0, magnitude = 0;
        for (int64_t l = 0; l < k; l++) {
            sum += row[l] * column[l];
            magnitude += fabs(row[l] * column[l]);
        }
        squares += pow((first[at] - sum) / (0x1p-24 * magnitude), 2);
    }
    return sqrt(squares / (SIDE * SIDE));
}

Test(simulated, errors_are_as_large_as_expected)
{
    static const struct {
        int mode;
        double rms[4]; /* k = 256, 4096, then positive 256, 4096 */
    } rows[] = {
        {F16_90, {.47, 1.71, 18.8, 394}}, {F16_80, {.67, 2.33, 40.4, 758}},
        {BF16_90, {.26, 1.41, 5.3, 190}}, {TF32_90, {364, 91.3, 365, 467}},
        {TF32_80, {364, 91.3, 367, 848}}, {FP32, {.400, .401, 3.67, 14.2}},
    };

    for (size_t i = 0; i < 4 * sizeof rows / sizeof *rows; i++) {
        double expected = rows[i / 4].rms[i % 4];
        double rms =
            rms_error(&modes[rows[i / 4].mode], i % 2 ? 4096 : 256, i % 4 >= 2);
        cr_assert(fabs(rms / expected - 1) < 0.1, "mode %d.%zu: %g, not %g",
                  rows[i / 4].mode, i % 4, rms, expected);
    }
}

/* Share of SIDE x SIDE outputs that differ between two workspaces. */
static double share_changed(const struct mode *mode, bool flag, int64_t k,
                            int64_t bytes, int64_t other_bytes)
{
    struct gp_gemm gemm = product_of(mode->in, mode->out, "nn", SIDE, SIDE, k);
    struct gp_simulated_plan plan = plan_of(mode, &gemm, flag, bytes);
    struct gp_simulated_plan other = plan_of(mode, &gemm, flag, other_bytes);
    struct rng rng = {.state = 17};

    fill(&rng, &gemm, 0, NULL);
    multiply(&plan, &gemm, first);
    multiply(&other, &gemm, second);
    return (double)differing(SIDE * SIDE) / (SIDE * SIDE);
}

/* At k = 1023 the sum is split in four, at 255 it is not. */
Test(simulated, a_split_in_four_shows_in_the_outputs)
{
    static const int rows[] = {F16_F16, BF16_BF16, F16_90, BF16_90,
                               TF32_90, FP32,      FP64};

    for (int row = 0; row < 7; row++) {
        const struct mode *mode = &modes[rows[row]];
        double share = share_changed(mode, false, 1023, PLENTY, 0);
        cr_assert(share > (row < 2 ? .4 : .5), "row %d: %g", row, share);
        cr_assert(share_changed(mode, false, 255, PLENTY, 0) == 0);
    }
    /* With FP32 partial sums the narrow output hides nearly all of it. */
    cr_assert(share_changed(&modes[F16_F16], true, 1023, PLENTY, 0) < .05);
}

Test(simulated, the_workspace_is_read_as_cublas_reads_it)
{
    static const struct {
        const char *config;
        int64_t bytes; /* 7: as if it were not there */
    } rows[] = {
        {NULL, 7},           {"", 7},
        {":16:8", 16 << 10}, {":4096:2:16:8", 4 << 20},
        {":0:0", 0},         {"16:8", 7},
        {":4096:0", 0},      {":32768:2", 32 << 20},
        {"abc", 7},          {":-1:8", 7},
        {":16", 7},          {":16:8:", 7},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_eq(gp_simulated_workspace(rows[i].config, 7), rows[i].bytes,
                     "row %zu", i);
}

Test(simulated, the_workspace_decides_the_splits)
{
    static const struct {
        const char *unit;
        int64_t side, k, bytes, splits, chunk;
    } rows[] = {
        {"sm90", 64, 16384, 32 << 20, 32, 512},
        {"sm90", 64, 16384, 128 << 10, 8, 2048},
        {"sm90", 64, 16384, 16 << 10, 1, 16384},
        {"sm90", 256, 16384, 32 << 20, 32, 512},
        {"sm90", 256, 16384, 4 << 20, 16, 1024},
        {"sm70", 256, 16384, 32 << 20, 20, 832}, /* ceil(256 / 20) * 64 */
        {"sm70", 256, 16384, 4 << 20, 10, 1664},
        {"sm90", 2048, 8192, PLENTY, 1, 8192},
        {"sm90", 64, 1023, PLENTY, 4, 256},
        {"sm90", 1, 65536, PLENTY, 1, 65536},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gp_gemm gemm = product_of("f32", "f32", "nn", rows[i].side,
                                         rows[i].side, rows[i].k);
        struct mode mode = {rows[i].unit, "f32", "f32", "default", ""};
        struct gp_simulated_plan plan =
            plan_of(&mode, &gemm, false, rows[i].bytes);
        cr_assert_eq(plan.splits, rows[i].splits, "row %zu", i);
        cr_assert_eq(plan.chunk, rows[i].chunk, "row %zu", i);
    }
    cr_assert(share_changed(&modes[TF32_90], false, 16384, 32 << 20, 16 << 10) >
              .5);
    cr_assert(share_changed(&modes[TF32_90], false, 16384, 32 << 20, 4 << 20) ==
              0);
}

Test(simulated, which_of_two_requests_wins)
{
    const struct gp_gemm gemm = product_of("f32", "f32", "nn", 64, 64, 64);
    const struct gp_gemm thin = product_of("f32", "f32", "nn", 1, 64, 64);
    const struct gp_gemm half = product_of("f16", "f16", "nn", 64, 64, 4096);
    static const struct {
        struct mode mode;
        int precision;
    } rows[] = {
        {{"sm90", "f32", "f32", "pedantic", "32f-fast-tf32"}, 11},
        {{"sm90", "f32", "f32", "pedantic", "32f-fast-16bf"}, 8},
        {{"sm90", "f32", "f32", "tf32", "32f-fast-16bf"}, 8},
        {{"sm90", "f32", "f32", "tf32", "32f"}, 11},
        {{"sm90", "f32", "f32", "tf32", "32f-pedantic"}, 0},
        {{"sm90", "f32", "f32", "pedantic", "32f"}, 0},
    };
    const struct mode pedantic = {"sm90", "f16", "f16", "pedantic", "32f"};
    struct gp_request request = {"gemm", "tf32", "", false, false};
    struct gp_simulated_plan plan;
    struct gp_err err = {0};

    for (int row = 0; row < 6; row++) {
        plan = plan_of(&rows[row].mode, &gemm, false, 0);
        cr_assert_eq(plan.input_precision, rows[row].precision, "row %d", row);
        /* One row goes to the ordinary units, whatever was asked for. */
        plan = plan_of(&rows[row].mode, &thin, false, 0);
        cr_assert(!plan.tensor && plan.input_precision == 0);
    }
    cr_assert_eq(plan_of(&modes[F16_F16], &half, false, PLENTY).partial,
                 half.out);
    cr_assert_eq(plan_of(&modes[F16_F16], &half, true, PLENTY).partial,
                 gemm.out);
    cr_assert_eq(plan_of(&pedantic, &half, false, PLENTY).partial, gemm.out);
    cr_assert(gp_simulated_plan(gp_simulated_find("sm70"), &gemm, &request, 0,
                                &plan, &err) != 0);
    cr_assert_str_eq(gp_simulated_find("")->name, "sm90");
}

/* An element of D where A is filled with a, B with ones and C with c. */
static float scaled(double alpha, double beta, float a, float c)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 2, 2, 2);
    struct gp_simulated_plan plan = plan_of(&modes[TF32_90], &gemm, false, 0);
    float as[] = {a, a, a, a}, bs[] = {1, 1, 1, 1}, d[] = {c, c, c, c};
    struct gp_err err = {0};

    gemm.alpha = alpha;
    gemm.beta = beta;
    cr_assert(gp_simulated_multiply(&plan, &gemm, as, bs, d, &err) == 0);
    cr_assert(memcmp(&d[0], &d[3], sizeof *d) == 0);
    return d[0];
}

Test(simulated, alpha_and_beta_follow_the_blas)
{
    cr_assert_eq(scaled(1.5, -0.5, 1, 3), 1.5);
    cr_assert_eq(scaled(1, 0, 1, NAN), 2);
    cr_assert_eq(scaled(0, 2, NAN, 3), 6);
    cr_assert_eq(scaled(0, 0, NAN, NAN), 0);
    cr_assert(isnan(scaled(1, 1, 1, NAN)));
    /* alpha is rounded to FP32, and beta C is fused with the sum. */
    cr_assert_eq(scaled(1 + 0x1p-30, 0, 1, 0), 2);
    cr_assert_eq(scaled(-(1 + 0x1p-22) / 2, 1 + 0x1p-23, 1, 1 + 0x1p-23),
                 0x1p-46F);
}
