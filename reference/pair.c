#include "reference/pair.h"

#include <math.h>

#include "reference/dot2.h"

/* The largest and the smallest exponent of what is not zero. */
struct span {
    int low, high;
};

static struct span span_of(const double *x, int64_t count)
{
    double most = 0, least = INFINITY;

    for (int64_t i = 0; i < count; i++) {
        double size = fabs(x[i]);
        most = size > most ? size : most;
        least = size > 0 && size < least ? size : least;
    }
    if (most == 0)
        return (struct span){0, 0};
    return (struct span){ilogb(least), ilogb(most)};
}

/* x *= 2^by, exact where the caller knows the span. */
static void scale(double *x, int64_t count, int by)
{
    if (by != 0)
        for (int64_t i = 0; i < count; i++)
            x[i] = scalbn(x[i], by);
}

/* A product below 2^-900 would lose its rounding error to underflow, one above
 * 2^900 could overflow in a sum of 2^23 or when it is split. */
static int keep_in_range(struct gp_pair *pair, struct gp_err *err)
{
    enum { MOST = 900 };
    struct span a = span_of(pair->a, pair->m * pair->k);
    struct span b = span_of(pair->b, pair->k * pair->n);
    int spread = a.high - a.low + b.high - b.low, to;

    if (a.low + b.low >= -MOST && a.high + b.high <= MOST / 2 &&
        a.high <= MOST && b.high <= MOST)
        return 0;
    if (spread > 2 * MOST - 2)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the exponents of A and B span %d powers of two "
                          "together: this reference can hold %d",
                          spread, 2 * MOST - 2);
    to = spread > MOST - 2 ? MOST / 2 : 0;
    scale(pair->a, pair->m * pair->k, to - a.high);
    scale(pair->b, pair->k * pair->n, to - b.high);
    pair->exponent = a.high + b.high - 2 * to;
    return 0;
}

int gp_pair_multiply(struct gp_pair *pair, struct gp_err *err)
{
    const struct gp_dot2 dot2 = {.m = pair->m,
                                 .n = pair->n,
                                 .k = pair->k,
                                 .a = pair->a,
                                 .b = pair->b,
                                 .high = pair->high,
                                 .low = pair->low,
                                 .mag = pair->mag,
                                 .alone = pair->alone};

    pair->exponent = 0;
    if (keep_in_range(pair, err) != 0)
        return -1;
    gp_dot2(&dot2);
    pair->error = gp_dot2_error(pair->k);
    return 0;
}

/* (high + low) 2^exponent, where high may become subnormal: what is cut off
 * goes to low, and a tie that low decides is decided. */
static double shift(double high, double *low, int exponent)
{
    double h = scalbn(high, exponent), rest;

    if (!isfinite(h)) {
        *low = 0;
        return h;
    }
    rest = high - scalbn(h, -exponent);
    if (rest != 0 && *low != 0 && (rest > 0) == (*low > 0) &&
        fabs(rest) == scalbn(0x1p-1074, -exponent - 1)) {
        h += copysign(0x1p-1074, rest);
        rest = high - scalbn(h, -exponent);
    }
    *low = scalbn(*low + rest, exponent);
    return h;
}

/* x y as a pair, for any x and y. */
static double product(double x, double y, double *ret_low)
{
    double p = x * y;
    int by_x, by_y;

    if (p == 0 || (fabs(p) >= 0x1p-900 && fabs(p) <= 0x1p900)) {
        *ret_low = fma(x, y, -p);
        return p;
    }
    x = frexp(x, &by_x);
    y = frexp(y, &by_y);
    p = x * y;
    *ret_low = fma(x, y, -p);
    return shift(p, ret_low, by_x + by_y);
}

double gp_pair_finish(const struct gp_pair_scalars *scalars, double high,
                      double *low, double c)
{
    double alpha = scalars->alpha, p = high, q, rest, more;
    int exponent = scalars->exponent, by = 0;

    if (alpha != 1 || exponent != 0) {
        if (exponent != 0 || !(fabs(alpha) >= 0x1p-60 && fabs(alpha) <= 0x1p60))
            alpha = frexp(alpha, &by);
        p = alpha * high;
        rest = fma(alpha, high, -p) + alpha * *low;
        p = gp_two_sum(p, rest, low);
        if (by + exponent != 0)
            p = shift(p, low, by + exponent);
    }
    if (scalars->beta == 0)
        return p;
    q = product(scalars->beta, c, &rest);
    p = gp_two_sum(p, q, &more);
    return gp_two_sum(p, more + (*low + rest), low);
}
