#include "reference/pair.h"

#include <math.h>

#include "harness/base/hash.h"
#include "harness/base/shm.h"
#include "reference/dot2.h"
#include "reference/slices.h"

/* Slices may be this far off, in units of |A||B|: 2^-53 / k for k = 2^22. */
#define SLICES_MOST 0x1p-75

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

/* Below this Dot2, which takes about 10 times what a good dgemm takes, is as
 * fast as slices and their certificates, which take 7. */
static bool is_large(int64_t m, int64_t n, int64_t k)
{
    return m >= 128 && n >= 128 && k >= 128 &&
           (double)m * (double)n * (double)k >= 0x1p26;
}

bool gp_pair_by_slices(const struct gp_pair *pair)
{
    struct span a, b;

    if (!is_large(pair->m, pair->n, pair->k))
        return false;
    a = span_of(pair->a, pair->m * pair->k);
    b = span_of(pair->b, pair->k * pair->n);
    return a.low >= -60 && b.low >= -60 && a.high < 60 && b.high < 60;
}

double gp_pair_bytes(int64_t m, int64_t n, int64_t k)
{
    return is_large(m, n, k) ? gp_slices_bytes(m, n, k) : 0;
}

static void by_dot2(struct gp_pair *pair)
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

    gp_dot2(&dot2);
    pair->error = gp_dot2_error(pair->k);
}

/* Rows and columns that are looked at: the first, the last, some between. */
enum { SAMPLES = 8 };

static int64_t sample(const struct gp_pair *pair, int which, int64_t count,
                      uint64_t what)
{
    if (which < 2)
        return which == 0 ? 0 : count - 1;
    return (int64_t)(gp_hash_mix(pair->seed + what + (uint64_t)which) %
                     (uint64_t)count);
}

static int compare(const struct gp_pair *pair, const struct gp_dot2 *dot2,
                   struct gp_err *err)
{
    double error = pair->error + gp_dot2_error(pair->k);

    for (int s = 0; s < SAMPLES * SAMPLES; s++) {
        int64_t i = sample(pair, s % SAMPLES, pair->m, 1);
        int64_t j = sample(pair, s / SAMPLES, pair->n, 2), at = i + j * pair->m;
        double off =
            (pair->high[at] - dot2->high[s]) + (pair->low[at] - dot2->low[s]);
        /* dot2's own sum of magnitudes is a little too large */
        double mag = dot2->mag[s] * (1 - 0x1p-50 * (double)(pair->k + 8));
        if (!(fabs(off) <= error * pair->mag[at]))
            return gp_err_set(err, GP_ERR_BACKEND,
                              "its product by slices is wrong in element "
                              "(%lld, %lld): %a + %a, and compensated sums "
                              "give %a + %a",
                              (long long)i, (long long)j, pair->high[at],
                              pair->low[at], dot2->high[s], dot2->low[s]);
        if (!(mag <= pair->mag[at]))
            return gp_err_set(err, GP_ERR_BACKEND,
                              "its sum of magnitudes is wrong in element "
                              "(%lld, %lld): %a, and it is at least %a",
                              (long long)i, (long long)j, pair->mag[at], mag);
    }
    return 0;
}

/* The same elements by Dot2, which shares nothing with slices. */
static int audit(const struct gp_pair *pair, struct gp_err *err)
{
    double results[3][SAMPLES * SAMPLES];
    void *space = NULL;
    struct gp_dot2 dot2 = {.m = SAMPLES,
                           .n = SAMPLES,
                           .k = pair->k,
                           .high = results[0],
                           .low = results[1],
                           .mag = results[2]};
    double *a, *b;

    if (gp_matrix_alloc(&space, (size_t)(2 * SAMPLES * pair->k) * 8,
                        "the samples of the reference", err) != 0)
        return -1;
    a = space;
    b = a + SAMPLES * pair->k;
    for (int s = 0; s < SAMPLES; s++) {
        int64_t i = sample(pair, s, pair->m, 1),
                j = sample(pair, s, pair->n, 2);
        for (int64_t l = 0; l < pair->k; l++) {
            a[s + l * SAMPLES] = pair->a[i + l * pair->m];
            b[l + s * pair->k] = pair->b[l + j * pair->k];
        }
    }
    dot2.a = a;
    dot2.b = b;
    gp_dot2(&dot2);
    gp_matrix_free(space);
    return compare(pair, &dot2, err);
}

int gp_pair_multiply(struct gp_pair *pair, struct gp_err *err)
{
    const struct gp_slices slices = {.m = pair->m,
                                     .n = pair->n,
                                     .k = pair->k,
                                     .a = pair->a,
                                     .b = pair->b,
                                     .high = pair->high,
                                     .low = pair->low,
                                     .mag = pair->mag,
                                     .seed = pair->seed,
                                     .alone = pair->alone};

    pair->exponent = 0;
    pair->error = INFINITY;
    if (gp_pair_by_slices(pair) &&
        gp_slices_error(&slices, &pair->error, err) != 0)
        return -1;
    if (pair->error <= SLICES_MOST) {
        if (gp_slices(&slices, err) != 0)
            return -1;
        return audit(pair, err);
    }
    if (keep_in_range(pair, err) != 0)
        return -1;
    by_dot2(pair);
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
