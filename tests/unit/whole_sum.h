/*
 * Sums of products of doubles without any rounding: a fixed-point number as
 * wide as the exponents of FP64 reach, by whole numbers alone (the long
 * accumulator of Kulisch). Slow, and independent of every floating-point trick
 * that it judges.
 */
#ifndef GP_TESTS_WHOLE_SUM_H
#define GP_TESTS_WHOLE_SUM_H

#include <math.h>
#include <stdint.h>

__extension__ typedef __int128 whole_sum_int;

/* Limbs of 32 bits, each with its own sign; limb i counts 2^(32 i - 2300). */
enum { WHOLE_SUM_LIMBS = 150, WHOLE_SUM_LOWEST = -2300 };

struct whole_sum {
    int64_t limbs[WHOLE_SUM_LIMBS];
    int adds;
};

/* Each limb between -2^31 and 2^31. */
static inline void whole_sum_carry(struct whole_sum *sum)
{
    for (int i = 0; i + 1 < WHOLE_SUM_LIMBS; i++) {
        int64_t carry = (sum->limbs[i] + (INT64_C(1) << 31)) >> 32;
        sum->limbs[i] -= carry * (INT64_C(1) << 32);
        sum->limbs[i + 1] += carry;
    }
    sum->adds = 0;
}

/* sum += value 2^exponent, |value| < 2^110. */
static inline void whole_sum_add(struct whole_sum *sum, whole_sum_int value,
                                 int exponent)
{
    int place = exponent - WHOLE_SUM_LOWEST, limb = place / 32;
    int sign = value < 0 ? -1 : 1;
    uint64_t carry = 0;

    for (value = value < 0 ? -value : value; value != 0 || carry; limb++) {
        uint64_t part = (uint64_t)(value & 0xffffffff) << place % 32;
        sum->limbs[limb] += sign * (int64_t)((part & 0xffffffff) + carry);
        carry = part >> 32;
        value >>= 32;
    }
    if (++sum->adds == 1 << 28)
        whole_sum_carry(sum);
}

/* x = significand 2^*exponent, a whole number. */
static inline int64_t whole_sum_split(double x, int *ret_exponent)
{
    double fraction = frexp(x, ret_exponent);

    *ret_exponent -= 53;
    return (int64_t)ldexp(fraction, 53);
}

/* sum += times a b, |times| < 8. */
static inline void whole_sum_product(struct whole_sum *sum, double a, double b,
                                     int times)
{
    int by_a, by_b;
    whole_sum_int x = whole_sum_split(a, &by_a), y = whole_sum_split(b, &by_b);

    if (x != 0 && y != 0)
        whole_sum_add(sum, x * y * times, by_a + by_b);
}

/* About its value, to a few units in the last place. */
static inline double whole_sum_about(struct whole_sum *sum)
{
    double value = 0;

    whole_sum_carry(sum);
    for (int i = 0; i < WHOLE_SUM_LIMBS; i++)
        value += ldexp((double)sum->limbs[i], 32 * i + WHOLE_SUM_LOWEST);
    return value;
}

/* Take the nearest double out of it and leave the rest. (A rest within 2^-48
 * of half a unit may go the other way.) */
static inline double whole_sum_take(struct whole_sum *sum)
{
    double near = whole_sum_about(sum), nearest;

    whole_sum_product(sum, near, 1, -1);
    nearest = near + whole_sum_about(sum);
    whole_sum_product(sum, near, 1, 1);
    whole_sum_product(sum, nearest, 1, -1);
    return nearest;
}

#endif
