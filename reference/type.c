#include "reference/type.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

const struct gp_type gp_types[] = {
    {"f32", "IEEE binary32", 4, 24, -126, 127},
    {"f64", "IEEE binary64", 8, 53, -1022, 1023},
    {"f16", "IEEE binary16", 2, 11, -14, 15},
    {"bf16", "bfloat16", 2, 8, -126, 127},
    {NULL, NULL, 0, 0, 0, 0},
};

enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023 };

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

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

const struct gp_type *gp_type_find(const char *name)
{
    for (const struct gp_type *type = gp_types; type->name; type++)
        if (strcmp(type->name, name) == 0)
            return type;
    return NULL;
}

double gp_type_unit(const struct gp_type *type)
{
    return power_of_two(-type->precision);
}

double gp_type_largest(const struct gp_type *type)
{
    return (2 - power_of_two(1 - type->precision)) * power_of_two(type->emax);
}

double gp_type_smallest(const struct gp_type *type)
{
    return ldexp(1, type->emin - type->precision + 1);
}

double gp_type_ulp(const struct gp_type *type, double x)
{
    int e = type->emin;

    if (x != 0 && isfinite(x) && ilogb(x) > e)
        e = ilogb(x);
    return ldexp(1, e - type->precision + 1);
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

double gp_type_round(const struct gp_type *type, double x)
{
    double rounded = gp_round_to(x, type->precision, type->emin);

    if (fabs(rounded) > gp_type_largest(type))
        return copysign(INFINITY, x);
    return rounded;
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

/* FP16 to double without a branch, so that a compiler can make vectors of it:
 * the bits at their place in an FP32 number are 2^-112 of the value, gradual
 * underflow included; infinity and NaN take FP32's exponent. */
static double half_value(uint16_t word)
{
    uint32_t bits = (uint32_t)(word & 0x7fff) << 13, special;
    uint32_t sign = (uint32_t)(word & 0x8000) << 16;
    float x;

    special = (word & 0x7c00) == 0x7c00 ? 0x7f800000 | bits : 0;
    memcpy(&x, &bits, sizeof x);
    x *= 0x1p112f;
    memcpy(&bits, &x, sizeof bits);
    bits = (special ? special : bits) | sign;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

void gp_type_load(const struct gp_type *type, const void *from, double *to,
                  int64_t count)
{
    if (type->bytes == 8) {
        memcpy(to, from, (size_t)count * sizeof *to);
    } else if (type->bytes == 4) {
        const float *values = from;
        for (int64_t i = 0; i < count; i++)
            to[i] = (double)values[i];
    } else if (type->precision == 8) {
        const uint16_t *words = from;
        for (int64_t i = 0; i < count; i++) {
            uint32_t word = (uint32_t)words[i] << 16;
            float x;
            memcpy(&x, &word, sizeof x);
            to[i] = (double)x;
        }
    } else {
        const uint16_t *words = from;
        for (int64_t i = 0; i < count; i++)
            to[i] = half_value(words[i]);
    }
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

/* Signalling NaNs of payload 1 keep it: infinity's bits and the last one. */
static void store_payloads(const struct gp_type *type, const double *from,
                           void *to, int64_t count)
{
    double infinite = INFINITY;
    unsigned char bytes[8];

    gp_type_store(type, &infinite, bytes, 1);
    bytes[0] |= 1; /* little endian */
    for (int64_t i = 0; i < count; i++)
        if (bits_of(from[i]) == UINT64_C(0x7ff0000000000001))
            memcpy((unsigned char *)to + (size_t)i * type->bytes, bytes,
                   type->bytes);
}

void gp_type_store(const struct gp_type *type, const double *from, void *to,
                   int64_t count)
{
    bool nan = false;

    for (int64_t i = 0; i < count; i++)
        nan |= isnan(from[i]);
    if (type->bytes == 8) {
        double *values = to;
        for (int64_t i = 0; i < count; i++)
            values[i] = isnan(from[i]) ? (double)NAN : from[i];
    } else if (type->bytes == 4) {
        float *values = to;
        for (int64_t i = 0; i < count; i++)
            values[i] = isnan(from[i]) ? NAN : (float)from[i];
    } else {
        uint16_t *words = to;
        for (int64_t i = 0; i < count; i++)
            words[i] = narrow_bits(gp_type_round(type, from[i]), type);
    }
    if (nan)
        store_payloads(type, from, to, count);
}
