/*
 * Number types: how many bits, which range, and the two conversions.
 *
 * Rounding is to nearest, ties to even, straight from double to the type
 * (never through a third type), with gradual underflow and overflow to
 * infinity. Bits are IEEE 754-2019 binary formats and bfloat16.
 */
#ifndef GP_REFERENCE_TYPE_H
#define GP_REFERENCE_TYPE_H

#include <stddef.h>
#include <stdint.h>

struct gp_type {
    const char *name; /* f32 */
    const char *help;
    size_t bytes;
    int precision; /* significand bits, the hidden one counted */
    int emin;      /* exponent of the smallest normal number */
    int emax;      /* exponent of the largest number */
};

/* All types, ended by a row without a name. */
extern const struct gp_type gp_types[];

/* The row of a name, NULL if there is none. */
const struct gp_type *gp_type_find(const char *name);

/* u = 2^-p, the unit roundoff of rounding to nearest. */
double gp_type_unit(const struct gp_type *type);

/* Largest finite value; smallest positive (subnormal) value. */
double gp_type_largest(const struct gp_type *type);
double gp_type_smallest(const struct gp_type *type);

/* Spacing of the type's numbers at x: 2^(max(floor(log2|x|), emin) - p + 1);
 * the smallest subnormal at 0. */
double gp_type_ulp(const struct gp_type *type, double x);

/* RN(x) as a double, to `precision` bits with exponents from emin up, without
 * an upper limit. TF32 is precision 11, emin -126. */
double gp_round_to(double x, int precision, int emin);

/* RN(x) as a double; beyond the largest finite value, infinity. */
double gp_type_round(const struct gp_type *type, double x);

/* Raw bits of element `index`, zero extended, and the value of raw bits. */
uint64_t gp_type_bits(const struct gp_type *type, const void *data,
                      int64_t index);
double gp_type_value(const struct gp_type *type, uint64_t bits);

/* Convert `count` elements. Storing rounds to nearest even; a NaN is stored
 * as the quiet NaN with an empty payload, but the signalling double of payload
 * 1 (bits 0x7ff0000000000001) as the type's own signalling NaN of payload 1. */
void gp_type_load(const struct gp_type *type, const void *from, double *to,
                  int64_t count);
void gp_type_store(const struct gp_type *type, const double *from, void *to,
                   int64_t count);

#endif
