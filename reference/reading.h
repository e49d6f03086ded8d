/*
 * Ways of reading an operand: how many significand bits are kept, from which
 * exponent up, and what becomes of the rest. One row for each conversion that
 * matrix units are known to make.
 *
 * On a product of two operands that are read in one way and summed with zeros
 * alone there is one possible result, whatever the order of summation: adding
 * zeros is exact. Used by the check `fingerprint`.
 */
#ifndef GP_REFERENCE_READING_H
#define GP_REFERENCE_READING_H

#include "reference/type.h"

enum gp_rounding {
    GP_AS_GIVEN,
    GP_NEAREST_EVEN, /* ties to even (IEEE 754) */
    GP_NEAREST_AWAY, /* ties away from zero (cvt.rna.tf32) */
    GP_TOWARD_ZERO   /* the low bits are dropped */
};

struct gp_reading {
    const char *delivered; /* the arithmetic's name; "": the type's own */
    const char *words;
    enum gp_rounding rounding;
    int precision; /* significand bits kept */
    int emin;      /* exponents of operands end here */
};

enum { GP_READINGS = 11 };

/* All ways; the first is "as given". The wider ones come first. */
extern const struct gp_reading gp_readings[GP_READINGS];

/* Could an operand of this type be read so, and be changed by it? */
int gp_reading_narrows(const struct gp_reading *reading,
                       const struct gp_type *type);

/* The operand as it is read. */
double gp_reading_value(const struct gp_reading *reading, double x);

#endif
