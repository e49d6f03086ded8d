/*
 * A product in twice the working precision: every result is the unevaluated
 * sum of two doubles.
 *
 * Dot2 of Ogita, Rump and Oishi (SIAM J. Sci. Comput. 26, 2005), in panels of
 * k: products and sums leave their rounding errors behind (TwoProd, TwoSum),
 * which are summed beside them. No library is asked, and no exponent of an
 * operand matters while products and their errors neither overflow nor
 * underflow, which the caller sees to. docs/checks.md, "The reference".
 */
#ifndef GP_REFERENCE_DOT2_H
#define GP_REFERENCE_DOT2_H

#include <stdbool.h>
#include <stdint.h>

/* C = A B, all column-major and packed: A m x k, B k x n. */
struct gp_dot2 {
    int64_t m, n, k;
    const double *a, *b;
    double *high, *low; /* m x n: high is high + low, rounded */
    double *mag;        /* m x n: at least |A||B|, and at most
                           1 + 2^-50 k of it */
    bool alone;         /* all processors may be used */
};

void gp_dot2(const struct gp_dot2 *product);

/* |high + low - AB| is at most this times |A||B|. */
double gp_dot2_error(int64_t k);

/* s + r = a + b exactly, s = a + b rounded (Knuth). */
static inline double gp_two_sum(double a, double b, double *ret_rest)
{
    double s = a + b, z = s - a;

    *ret_rest = (a - (s - z)) + (b - z);
    return s;
}

#endif
