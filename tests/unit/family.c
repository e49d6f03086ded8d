/* The family dense: uniform, single rounded, a pure function of its place. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/product.h"

static const struct gp_family *dense(void)
{
    return gp_family_find("dense");
}

static void column(const struct gp_gemm *gemm, uint64_t seed,
                   enum gp_operand operand, int64_t batch, int64_t j,
                   double *to)
{
    const struct gp_family_args args = {gemm, seed, operand, batch};

    dense()->column(&args, j, to);
}

Test(family, the_first_is_dense_and_only_exact_is_exact)
{
    cr_assert_str_eq(gp_families[0].name, "dense");
    cr_assert_not(dense()->exact);
    cr_assert(gp_family_find("exact")->exact);
    cr_assert_null(gp_family_find("dens"));
    cr_assert_null(gp_family_find(""));
}

/* The bigger product holds the smaller one, under every op, layout and
 * factor: nothing but (seed, operand, i, j, batch) counts. */
Test(family, dense_depends_on_the_place_alone)
{
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    struct gp_gemm big = product_of("f32", "f32", "nn", 40, 30, 50);
    double all[50], part[50];

    for (int op = 0; op < 4; op++) {
        struct gp_gemm small = product_of("f32", "f32", ops[op], 7, 9, 11);
        small.row_major = op & 1;
        small.alpha = op;
        small.beta = 3;
        product_ld(&small, op);
        small.batch = 4;
        for (enum gp_operand which = GP_A; which <= GP_C; which++) {
            int64_t rows = which == GP_B ? 11 : 7;
            int64_t cols = which == GP_A ? 11 : 9;
            /* Backwards: no column may need the one before it. */
            for (int64_t j = cols - 1; j >= 0; j--) {
                column(&big, 5, which, 2, j, all);
                column(&small, 5, which, 2, j, part);
                cr_assert_arr_eq(part, all, (size_t)rows * sizeof *all);
            }
        }
    }
}

static double same_share(const double *a, const double *b, int count)
{
    int same = 0;

    for (int i = 0; i < count; i++)
        same += a[i] == b[i];
    return (double)same / count;
}

Test(family, dense_differs_by_seed_operand_column_and_batch)
{
    enum { N = 1000 };
    struct gp_gemm gemm = product_of("f32", "f32", "nn", N, N, N);
    double here[N], there[N];

    column(&gemm, 1, GP_A, 0, 3, here);
    column(&gemm, 2, GP_A, 0, 3, there);
    cr_assert_lt(same_share(here, there, N), 0.01);
    column(&gemm, UINT64_MAX, GP_A, 0, 3, there);
    cr_assert_lt(same_share(here, there, N), 0.01);
    column(&gemm, 1, GP_B, 0, 3, there);
    cr_assert_lt(same_share(here, there, N), 0.01);
    column(&gemm, 1, GP_C, 0, 3, there);
    cr_assert_lt(same_share(here, there, N), 0.01);
    column(&gemm, 1, GP_A, 1, 3, there);
    cr_assert_lt(same_share(here, there, N), 0.01);
    column(&gemm, 1, GP_A, 0, 4, there);
    cr_assert_lt(same_share(here, there, N), 0.01);
    /* Moved by one is not the same either. */
    cr_assert_lt(same_share(here, here + 1, N - 1), 0.01);
}

/* U[-1, 1): mean 0, variance 1/3, fourth moment 1/5, neighbours independent.
 * Over N = 10^6 values the standard deviations of the means are sqrt(1/3),
 * sqrt(4/45), sqrt(16/225), 1/3 over sqrt(N); five of them are allowed. The
 * seed is fixed, so this passes or fails always. */
static void check_moments(const char *type)
{
    enum { SIDE = 1000 };
    struct gp_gemm gemm = product_of(type, type, "nn", SIDE, SIDE, SIDE);
    double now[SIDE], before[SIDE] = {0}, sums[6] = {0};
    const double n = SIDE * SIDE, limit = 5 / sqrt(n);
    double odd = 0;

    for (int64_t j = 0; j < SIDE; j++) {
        column(&gemm, 9, GP_A, 0, j, now);
        for (int i = 0; i < SIDE; i++) {
            double x = now[i], x2 = x * x;
            cr_assert(!(fabs(x) > 1), "%s: %a", type, x);
            sums[0] += x;
            sums[1] += x2 - 1.0 / 3;
            sums[2] += x2 * x2 - 1.0 / 5;
            sums[3] += i ? x * now[i - 1] : 0;
            sums[4] += x * before[i];
            odd += fmod(fabs(x) / gp_type_ulp(gemm.in, x), 2) == 1;
        }
        memcpy(before, now, sizeof now);
    }
    cr_assert_lt(fabs(sums[0] / n), limit * sqrt(1.0 / 3), "%s", type);
    cr_assert_lt(fabs(sums[1] / n), limit * sqrt(4.0 / 45), "%s", type);
    cr_assert_lt(fabs(sums[2] / n), limit * sqrt(16.0 / 225), "%s", type);
    cr_assert_lt(fabs(sums[3] / n), limit / 3, "%s: along i", type);
    cr_assert_lt(fabs(sums[4] / n), limit / 3, "%s: along j", type);
    /* The whole significand is used: its last bit is a coin. (FP64 keeps 53 of
     * 64 bits, which leaves the last bit of |x| < 2^-10 of a share.) */
    cr_assert_lt(fabs(odd / n - 0.5), limit, "%s: last bit", type);
}

Test(family, dense_is_uniform)
{
    check_moments("f32");
    check_moments("f64");
    check_moments("f16");
    check_moments("bf16");
}

/* --- The words -------------------------------------------------------------
 * An id names its data for ever, so how a place becomes 64 bits is fixed. The
 * same once more, from its description: keys by the mixer of splitmix64. */
static uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t word_of(uint64_t seed, int operand, uint64_t batch, uint64_t j,
                       uint64_t i)
{
    uint64_t key =
        mixed(seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(operand + 1));

    key = mixed(key ^ mixed(batch + UINT64_C(0xd1b54a32d192ed03)));
    key = mixed(key + j * UINT64_C(0xa0761d6478bd642f));
    return (int64_t)mixed(key + i * UINT64_C(0xe7037ed1a0b428db));
}

__extension__ typedef unsigned __int128 wide;

/* w 2^-63 rounded once to the type, ties to even, by whole numbers. */
static double rounded_once(int64_t w, const struct gp_type *type)
{
    wide magnitude = w < 0 ? -(wide)w : (wide)w, kept, lost, half;
    int top = 127, e, shift;
    double x;

    if (w == 0)
        return 0;
    while (!(magnitude >> top & 1))
        top--;
    e = top - 63 < type->emin ? type->emin : top - 63;
    shift = e - type->precision + 1 + 63; /* bits below the last place */
    if (shift <= 0)
        return (double)w * 0x1p-63;
    kept = magnitude >> shift;
    lost = magnitude - (kept << shift);
    half = (wide)1 << (shift - 1);
    kept += lost > half || (lost == half && (kept & 1));
    x = ldexp((double)(uint64_t)kept, shift - 63);
    return w < 0 ? -x : x;
}

Test(family, dense_is_its_64_bits_rounded_once)
{
    static const char *const types[] = {"f32", "f64", "f16", "bf16"};
    enum { ROWS = 500, COLS = 100 };
    double values[ROWS];

    for (int t = 0; t < 4; t++) {
        struct gp_gemm gemm =
            product_of(types[t], types[t], "nn", ROWS, COLS, ROWS);
        for (int operand = 0; operand < 3; operand++)
            for (int64_t j = 0; j < COLS; j++) {
                uint64_t seed = (uint64_t)j * 77, batch = (uint64_t)j % 3;
                column(&gemm, seed, (enum gp_operand)operand, (int64_t)batch, j,
                       values);
                for (int i = 0; i < ROWS; i++) {
                    double expected = rounded_once(
                        word_of(seed, operand, batch, (uint64_t)j, (uint64_t)i),
                        gemm.in);
                    if (values[i] != expected)
                        cr_assert_fail("%s, operand %d, (%d, %d): %a, not %a",
                                       types[t], operand, i, (int)j, values[i],
                                       expected);
                }
            }
    }
}

/* C has the type of the results, A and B that of the operands. */
Test(family, dense_takes_the_type_of_its_operand)
{
    struct gp_gemm gemm = product_of("bf16", "f32", "nn", 200, 200, 200);
    double values[200];
    int finer = 0;

    column(&gemm, 1, GP_A, 0, 0, values);
    for (int i = 0; i < 200; i++)
        cr_assert_eq(values[i], gp_type_round(gemm.in, values[i]));
    column(&gemm, 1, GP_C, 0, 0, values);
    for (int i = 0; i < 200; i++)
        finer += values[i] != gp_type_round(gemm.in, values[i]);
    cr_assert_gt(finer, 150);
}
