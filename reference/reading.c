#include "reference/reading.h"

#include <math.h>

/* FP16 and TF32 keep as many bits, and differ in their exponents. */
const struct gp_reading gp_readings[GP_READINGS] = {
    {"", "operands as given", GP_AS_GIVEN, 0, 0},
    {"fp32", "operands rounded to 24 bits", GP_NEAREST_EVEN, 24, -126},
    {"fp32", "operands cut to 24 bits", GP_TOWARD_ZERO, 24, -126},
    {"tf32", "operands rounded to 11 bits, ties to even", GP_NEAREST_EVEN, 11,
     -126},
    {"tf32", "operands rounded to 11 bits, ties away", GP_NEAREST_AWAY, 11,
     -126},
    {"tf32", "operands cut to 11 bits", GP_TOWARD_ZERO, 11, -126},
    {"fp16", "operands rounded to FP16, ties to even", GP_NEAREST_EVEN, 11,
     -14},
    {"fp16", "operands cut to FP16", GP_TOWARD_ZERO, 11, -14},
    {"bf16", "operands rounded to 8 bits, ties to even", GP_NEAREST_EVEN, 8,
     -126},
    {"bf16", "operands rounded to 8 bits, ties away", GP_NEAREST_AWAY, 8, -126},
    {"bf16", "operands cut to 8 bits", GP_TOWARD_ZERO, 8, -126},
};

int gp_reading_narrows(const struct gp_reading *reading,
                       const struct gp_type *type)
{
    return reading->rounding != GP_AS_GIVEN &&
           reading->precision < type->precision;
}

double gp_reading_value(const struct gp_reading *reading, double x)
{
    double unit, units;
    int e;

    if (reading->rounding == GP_AS_GIVEN || x == 0)
        return x;
    frexp(x, &e); /* |x| in [2^(e-1), 2^e) */
    e = e - 1 > reading->emin ? e - 1 : reading->emin;
    unit = ldexp(1, e - reading->precision + 1);
    units = x / unit;
    return unit * (reading->rounding == GP_NEAREST_EVEN   ? rint(units)
                   : reading->rounding == GP_NEAREST_AWAY ? round(units)
                                                          : trunc(units));
}
