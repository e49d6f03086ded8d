/* Conversions against tables of all numbers of a 16-bit type, and against
 * rounding by long double. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "reference/type.h"
#include "tests/unit/random.h"

/* A 16-bit format by its parameters, apart from the table in type.c. */
struct format {
    const char *name;
    int fraction, emin, top; /* top: the exponent field of infinity */
};

static const struct format formats[] = {
    {"f16", 10, -14, 31},
    {"bf16", 7, -126, 255},
};

/* The value of 15 bits without sign, by IEEE 754-2019, 3.4. */
static double value_of(const struct format *format, unsigned bits)
{
    int e = (int)(bits >> format->fraction);
    double f = ldexp(bits & ((1u << format->fraction) - 1), -format->fraction);

    if (e == format->top)
        return f > 0 ? NAN : INFINITY;
    return e ? ldexp(1 + f, format->emin + e - 1) : ldexp(f, format->emin);
}

/* All finite values of a format that are not negative, in order. */
static int table_of(const struct format *format, double *to)
{
    int count = format->top << format->fraction;

    for (int bits = 0; bits < count; bits++)
        to[bits] = value_of(format, (unsigned)bits);
    return count;
}

/* The bits nearest to x >= 0: by bisection, then by exact distances (both
 * neighbours have at most 11 bits, so long double holds the differences). */
static unsigned nearest(const double *table, int count, double x)
{
    int low = 0, high = count;
    long double beyond, below, above;

    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (table[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    beyond = 2 * (long double)table[count - 1] - table[count - 2];
    below = (long double)x - table[low];
    above = (low + 1 < count ? (long double)table[low + 1] : beyond) - x;
    if (below != above)
        return (unsigned)(below < above ? low : low + 1);
    return (unsigned)(low + (low & 1));
}

static uint16_t stored(const struct gp_type *type, double x)
{
    uint16_t bits = 0x1234;

    gp_type_store(type, &x, &bits, 1);
    return bits;
}

static void check_pattern(const struct format *format, unsigned bits)
{
    const struct gp_type *type = gp_type_find(format->name);
    double expected = value_of(format, bits & 0x7fff), loaded;
    double value = gp_type_value(type, bits);
    uint16_t word = (uint16_t)bits;

    expected = bits & 0x8000 ? -expected : expected;
    gp_type_load(type, &word, &loaded, 1);
    if (isnan(expected)) {
        cr_assert(isnan(value) && isnan(loaded), "%s %04x", type->name, bits);
        return;
    }
    if (memcmp(&value, &expected, sizeof value) != 0 ||
        memcmp(&loaded, &expected, sizeof loaded) != 0 ||
        stored(type, expected) != bits)
        cr_assert_fail("%s %04x: value %a, loaded %a, stored back as %04x",
                       type->name, bits, value, loaded, stored(type, expected));
}

Test(type, every_16_bit_pattern_round_trips)
{
    for (int f = 0; f < 2; f++)
        for (unsigned bits = 0; bits < 0x10000; bits++)
            check_pattern(&formats[f], bits);
}

Test(type, every_f16_and_bf16_is_its_own_rounding)
{
    for (int f = 0; f < 2; f++) {
        const struct gp_type *type = gp_type_find(formats[f].name);
        for (unsigned bits = 0; bits < 0x8000; bits++) {
            double x = value_of(&formats[f], bits);
            if (!isnan(x) && gp_type_round(type, -x) != -x)
                cr_assert_fail("%s %04x", type->name, bits);
        }
    }
}

/* Every pair of neighbours: the tie between them goes to the even one, and a
 * double just above or below it to the nearer, even where the rounding to
 * FP32 would meet the tie (double rounding). */
Test(type, ties_and_their_neighbours)
{
    static double table[0x8000];

    for (int f = 0; f < 2; f++) {
        const struct gp_type *type = gp_type_find(formats[f].name);
        int count = table_of(&formats[f], table);
        for (int i = 0; i < count; i++) {
            double next =
                i + 1 < count ? table[i + 1] : 2 * table[i] - table[i - 1];
            double tie = table[i] + (next - table[i]) / 2;
            unsigned even = (unsigned)(i + (i & 1));
            if (stored(type, tie) != even ||
                stored(type, -tie) != (even | 0x8000) ||
                stored(type, nextafter(tie, INFINITY)) != (unsigned)i + 1 ||
                stored(type, nextafter(tie, 0)) != (unsigned)i)
                cr_assert_fail("%s between %04x and the next", type->name,
                               (unsigned)i);
        }
    }
}

Test(type, random_doubles_go_to_the_nearest)
{
    static double table[0x8000];
    struct rng rng = {11};

    for (int f = 0; f < 2; f++) {
        const struct gp_type *type = gp_type_find(formats[f].name);
        int count = table_of(&formats[f], table);
        for (int i = 0; i < 300000; i++) {
            double x =
                fabs(rng_double(&rng, formats[f].emin - 20, f ? 129 : 17));
            unsigned expected = nearest(table, count, x);
            double value = value_of(&formats[f], expected);
            if (stored(type, x) != expected || gp_type_round(type, x) != value)
                cr_assert_fail("%s of %a: %04x and %a, not %04x", type->name, x,
                               stored(type, x), gp_type_round(type, x),
                               expected);
        }
    }
}

Test(type, chosen_doubles)
{
    const struct gp_type *f16 = gp_type_find("f16");
    const struct gp_type *bf16 = gp_type_find("bf16");

    /* Through FP32 these would meet a tie and go to the even neighbour. */
    cr_assert_eq(stored(f16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
    cr_assert_eq(stored(f16, 1 + 0x1p-11), 0x3c00);
    cr_assert_eq(stored(bf16, 1 + 0x1p-8 + 0x1p-50), 0x3f81);
    cr_assert_eq(stored(bf16, 1 + 0x1p-8), 0x3f80);
    /* Subnormals: half of the smallest is a tie with 0. */
    cr_assert_eq(stored(f16, 0x1p-25), 0);
    cr_assert_eq(stored(f16, 0x1p-25 + 0x1p-70), 1);
    cr_assert_eq(stored(f16, 3 * 0x1p-25), 2);
    cr_assert_eq(stored(f16, -0x1p-1074), 0x8000);
    cr_assert_eq(stored(bf16, 0x1p-134), 0);
    cr_assert_eq(stored(bf16, 0x1p-134 + 0x1p-180), 1);
    cr_assert_eq(stored(bf16, 0x1p-133), 1);
    /* The largest subnormal and a half rounds up into the normal numbers. */
    cr_assert_eq(stored(f16, 0x1p-14 - 0x1p-25), 0x0400);
    /* Overflow begins half a place above the largest number. */
    cr_assert_eq(stored(f16, 65519.99), 0x7bff);
    cr_assert_eq(stored(f16, 65520), 0x7c00);
    cr_assert_eq(stored(f16, -65520), 0xfc00);
    cr_assert_eq(stored(bf16, 0x1.fefffffffffffp127), 0x7f7f);
    cr_assert_eq(stored(bf16, 0x1.ffp127), 0x7f80);
    cr_assert_eq(stored(bf16, 1e300), 0x7f80);
    cr_assert_eq(stored(f16, -INFINITY), 0xfc00);
}

Test(type, nan_is_stored_quiet_and_empty)
{
    double nan = -NAN, x;
    float narrow;
    uint32_t word;
    uint64_t wide;

    cr_assert_eq(stored(gp_type_find("f16"), nan), 0x7e00);
    cr_assert_eq(stored(gp_type_find("bf16"), nan), 0x7fc0);
    gp_type_store(gp_type_find("f32"), &nan, &word, 1);
    cr_assert_eq(word, 0x7fc00000);
    gp_type_store(gp_type_find("f64"), &nan, &wide, 1);
    cr_assert_eq(wide, UINT64_C(0x7ff8000000000000));
    word = 0xff800001; /* signalling, with a payload of one */
    memcpy(&narrow, &word, sizeof narrow);
    gp_type_load(gp_type_find("f32"), &narrow, &x, 1);
    cr_assert(isnan(x));
    cr_assert(isnan(gp_type_value(gp_type_find("f32"), word)));
    cr_assert(isnan(gp_type_round(gp_type_find("f16"), NAN)));
}

/* RN by scaling to an integer and rintl, which rounds ties to even; a long
 * double has 64 bits, so every step is exact. */
static double rounded(double x, int precision, int emin)
{
    int e = ilogb(x) < emin ? emin : ilogb(x);
    long double scaled = ldexpl((long double)x, precision - 1 - e);

    return (double)ldexpl(rintl(scaled), e - precision + 1);
}

Test(type, round_to_any_precision)
{
    static const struct {
        int precision, emin;
    } rows[] = {{11, -126}, {8, -126}, {24, -126},  {11, -14},   {4, -6},
                {3, -14},   {2, -3},   {52, -1022}, {53, -1022}, {11, -1022}};
    struct rng rng = {12};

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int i = 0; i < 100000; i++) {
            int least = rows[r].emin - rows[r].precision - 2;
            double x = rng_double(&rng, i & 1 ? least : -1060,
                                  i & 1 ? least + 60 : 1000);
            double expected, got;
            if (i % 3 == 0) /* near and on ties: few bits beyond the last */
                x = rounded(x, rows[r].precision + 2, -1074);
            if (x == 0)
                continue;
            expected = rounded(x, rows[r].precision, rows[r].emin);
            got = gp_round_to(x, rows[r].precision, rows[r].emin);
            if (memcmp(&got, &expected, sizeof got) != 0)
                cr_assert_fail("%a to %d bits from 2^%d: %a, not %a", x,
                               rows[r].precision, rows[r].emin, got, expected);
        }
}

Test(type, round_to_has_no_upper_limit_and_keeps_what_is_not_finite)
{
    cr_assert_eq(gp_round_to(0x1.fffffp127, 11, -126), 0x1p128);
    cr_assert_eq(gp_round_to(-INFINITY, 11, -126), -INFINITY);
    cr_assert(isnan(gp_round_to(NAN, 8, -14)));
    cr_assert(signbit(gp_round_to(-0.0, 8, -14)));
    cr_assert(signbit(gp_round_to(-0x1p-1000, 8, -14)));
    cr_assert_eq(gp_type_round(gp_type_find("f32"), 0x1.ffffffp127), INFINITY);
    cr_assert_eq(gp_type_round(gp_type_find("f32"), -0x1.fffffefp127),
                 -(double)FLT_MAX);
}

/* The processor rounds to FP32 itself. */
Test(type, f32_as_the_processor_does)
{
    const struct gp_type *f32 = gp_type_find("f32");
    struct rng rng = {13};

    for (int i = 0; i < 300000; i++) {
        double x = rng_double(&rng, -155, 130), got = gp_type_round(f32, x);
        float expected = (float)x, word;
        gp_type_store(f32, &x, &word, 1);
        if (got != (double)expected || word != expected)
            cr_assert_fail("%a: %a and %a, not %a", x, got, (double)word,
                           (double)expected);
    }
}

Test(type, limits)
{
    const struct gp_type *f32 = gp_type_find("f32");
    const struct gp_type *f64 = gp_type_find("f64");
    const struct gp_type *f16 = gp_type_find("f16");
    const struct gp_type *bf16 = gp_type_find("bf16");

    cr_assert_eq(gp_type_unit(f32), (double)FLT_EPSILON / 2);
    cr_assert_eq(gp_type_unit(f64), DBL_EPSILON / 2);
    cr_assert_eq(gp_type_unit(f16), 1 / 2048.0);
    cr_assert_eq(gp_type_unit(bf16), 1 / 256.0);
    cr_assert_eq(gp_type_largest(f32), (double)FLT_MAX);
    cr_assert_eq(gp_type_largest(f64), DBL_MAX);
    cr_assert_eq(gp_type_largest(f16), 65504);
    cr_assert_eq(gp_type_largest(bf16), value_of(&formats[1], 0x7f7f));
    cr_assert_eq(gp_type_smallest(f32), (double)FLT_TRUE_MIN);
    cr_assert_eq(gp_type_smallest(f64), DBL_TRUE_MIN);
    cr_assert_eq(gp_type_smallest(f16), 0x1p-24);
    cr_assert_eq(gp_type_smallest(bf16), 0x1p-133);
    cr_assert_null(gp_type_find("fp32"));
    cr_assert_null(gp_type_find(""));
}

/* The spacing of a type is the distance to the next larger magnitude. */
Test(type, ulp_is_the_distance_to_the_next)
{
    struct rng rng = {14};

    for (int f = 0; f < 2; f++) {
        const struct gp_type *type = gp_type_find(formats[f].name);
        unsigned largest = (unsigned)(formats[f].top << formats[f].fraction);
        for (unsigned bits = 0; bits + 1 < largest; bits++) {
            double x = value_of(&formats[f], bits);
            double next = value_of(&formats[f], bits + 1);
            if (gp_type_ulp(type, -x) != next - x ||
                gp_type_ulp(type, (x + next) / 2) != next - x)
                cr_assert_fail("%s %04x: %a", type->name, bits,
                               gp_type_ulp(type, x));
        }
    }
    for (int i = 0; i < 100000; i++) {
        double x = fabs(rng_double(&rng, -1040, 1000));
        float narrow = (float)fabs(rng_double(&rng, -140, 120));
        cr_assert(gp_type_ulp(gp_type_find("f64"), x) ==
                      nextafter(x, INFINITY) - x &&
                  gp_type_ulp(gp_type_find("f32"), (double)narrow) ==
                      (double)nextafterf(narrow, INFINITY) - (double)narrow);
    }
    cr_assert_eq(gp_type_ulp(gp_type_find("f64"), 0), DBL_TRUE_MIN);
}

Test(type, bits_are_read_at_their_index)
{
    static const unsigned char bytes[] = {1, 2,  3,  4,  5,  6,  7,  0x88,
                                          9, 10, 11, 12, 13, 14, 15, 16};

    cr_assert_eq(gp_type_bits(gp_type_find("f16"), bytes, 3), 0x8807);
    cr_assert_eq(gp_type_bits(gp_type_find("bf16"), bytes, 0), 0x0201);
    cr_assert_eq(gp_type_bits(gp_type_find("f32"), bytes, 1), 0x88070605);
    cr_assert_eq(gp_type_bits(gp_type_find("f64"), bytes, 1),
                 UINT64_C(0x100f0e0d0c0b0a09));
}
