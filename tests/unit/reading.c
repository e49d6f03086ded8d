/* Ways of reading an operand, against conversions made by its bits. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "reference/reading.h"
#include "tests/unit/random.h"

static const struct gp_reading *find(const char *name,
                                     enum gp_rounding rounding)
{
    for (int r = 0; r < GP_READINGS; r++)
        if (strcmp(gp_readings[r].delivered, name) == 0 &&
            gp_readings[r].rounding == rounding)
            return &gp_readings[r];
    cr_assert_fail("no reading %s", name);
    return NULL;
}

/* The FP32 number without its last `drop` bits. */
static double by_bits(double x, int drop, enum gp_rounding rounding)
{
    float f = (float)x;
    uint32_t bits, half = UINT32_C(1) << (drop - 1);

    memcpy(&bits, &f, sizeof bits);
    if (rounding == GP_NEAREST_EVEN)
        bits += half - 1 + (bits >> drop & 1);
    if (rounding == GP_NEAREST_AWAY)
        bits += half;
    bits = bits >> drop << drop;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* The probe P5 of the design: its three values under each rounding. */
Test(reading, the_three_ties)
{
    static const double given[3] = {1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-23,
                                    1 + 3 * 0x1p-11};
    static const struct {
        enum gp_rounding rounding;
        double must[3];
    } rows[] = {
        {GP_NEAREST_EVEN, {1, 1 + 0x1p-10, 1 + 0x1p-9}},
        {GP_NEAREST_AWAY, {1 + 0x1p-10, 1 + 0x1p-10, 1 + 0x1p-9}},
        {GP_TOWARD_ZERO, {1, 1, 1 + 0x1p-10}},
    };

    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) {
            const struct gp_reading *tf32 = find("tf32", rows[r].rounding);
            cr_assert_eq(gp_reading_value(tf32, given[i]), rows[r].must[i]);
            cr_assert_eq(gp_reading_value(tf32, -given[i]), -rows[r].must[i]);
            cr_assert_eq(gp_reading_value(&gp_readings[0], given[i]), given[i]);
        }
}

Test(reading, random_numbers_by_their_bits)
{
    struct rng rng = {5};

    for (int n = 0; n < 20000; n++) {
        double x = (double)(float)rng_double(&rng, -30, 30);
        for (enum gp_rounding way = GP_NEAREST_EVEN; way <= GP_TOWARD_ZERO;
             way++) {
            cr_assert_eq(gp_reading_value(find("tf32", way), x),
                         by_bits(x, 13, way));
            cr_assert_eq(gp_reading_value(find("bf16", way), x),
                         by_bits(x, 16, way));
        }
        cr_assert_eq(gp_reading_value(find("fp16", GP_NEAREST_EVEN), x),
                     gp_round_to(x, 11, -14));
        cr_assert_eq(
            gp_reading_value(find("fp32", GP_NEAREST_EVEN), x * (1 + 0x1p-30)),
            gp_round_to(x * (1 + 0x1p-30), 24, -126));
    }
    cr_assert_eq(gp_reading_value(find("fp16", GP_TOWARD_ZERO), 0x1.8p-24),
                 0x1p-24);
}

Test(reading, narrows)
{
    const char *const types[] = {"f32", "f64", "f16", "bf16"};
    const int readings[] = {8, 10, 3, 0};

    for (int t = 0; t < 4; t++) {
        int count = 0;
        for (int r = 0; r < GP_READINGS; r++)
            count +=
                gp_reading_narrows(&gp_readings[r], gp_type_find(types[t]));
        cr_assert_eq(count, readings[t], "%s: %d", types[t], count);
    }
}
