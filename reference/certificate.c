#include "reference/certificate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/base/parallel.h"
#include "harness/base/shm.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define WIDE
#endif

__extension__ typedef __int128 int128;

#define PRIME ((INT64_C(1) << 61) - 1)
enum { BLOCK = 4096, SAMPLES = 64, ROWS = 256 };

static uint64_t word(uint64_t seed, uint64_t what, int64_t i)
{
    return gp_hash_mix(gp_hash_mix(seed ^ what) +
                       (uint64_t)i * 0x9e3779b97f4a7c15u);
}

/* --- Exact: modulo 2^61 - 1 --------------------------------------------- */

static int64_t modulo(int128 x)
{
    int128 r = x % PRIME;

    return (int64_t)(r < 0 ? r + PRIME : r);
}

/* One product of a matrix, rows x cols, with residues; to[i] is row i's. */
struct times {
    const double *matrix;
    int64_t rows, cols;
    double scale; /* makes integers of the elements */
    const int128 *x;
    int128 *to;
};

/* The elements are below 2^53 and x below 2^61: 2^12 products fit 127 bits. */
static void rows_times(void *ctx, size_t block)
{
    const struct times *t = ctx;
    int64_t from = (int64_t)block * ROWS, to = from + ROWS;

    to = to < t->rows ? to : t->rows;
    for (int64_t i = from; i < to; i++)
        t->to[i] = 0;
    for (int64_t j = 0; j < t->cols; j++) {
        const double *column = t->matrix + j * t->rows;
        int64_t x = (int64_t)t->x[j];
        for (int64_t i = from; i < to; i++)
            t->to[i] += (int128)(int64_t)(column[i] * t->scale) * x;
        if (j % 4096 == 4095 || j + 1 == t->cols)
            for (int64_t i = from; i < to; i++)
                t->to[i] = modulo(t->to[i]);
    }
}

static void matrix_times(const double *matrix, int64_t rows, int64_t cols,
                         double scale, const int128 *x, int128 *to, bool alone)
{
    struct times times = {matrix, rows, cols, scale, x, to};
    size_t blocks = (size_t)((rows + ROWS - 1) / ROWS);

    if (alone)
        gp_parallel(blocks, rows_times, &times);
    else
        for (size_t block = 0; block < blocks; block++)
            rows_times(&times, block);
}

static int say_row(int64_t row, int64_t from, int64_t to, double off,
                   struct gp_err *err)
{
    return gp_err_set(err, GP_ERR_BACKEND,
                      "its product is wrong in row %lld, columns %lld to %lld"
                      "%s",
                      (long long)row, (long long)from, (long long)to - 1,
                      off >= 0 ? " (Freivalds' residual)"
                               : " (modulo 2^61 - 1)");
}

static int exact_block(const struct gp_certificate *it, int64_t from,
                       int64_t to, int128 *space, struct gp_err *err)
{
    int128 *x = space, *y = x + (to - from), *z = y + it->k, *w = z + it->m;

    for (int64_t j = from; j < to; j++)
        x[j - from] = (int64_t)(word(it->seed, 1, j) % (uint64_t)PRIME);
    matrix_times(it->b + from * it->k, it->k, to - from, ldexp(1, it->grid_b),
                 x, y, it->alone);
    matrix_times(it->a, it->m, it->k, ldexp(1, it->grid_a), y, z, it->alone);
    matrix_times(it->c + from * it->m, it->m, to - from,
                 ldexp(1, it->grid_a + it->grid_b), x, w, it->alone);
    for (int64_t i = 0; i < it->m; i++)
        if (z[i] != w[i])
            return say_row(i, from, to, -1, err);
    return 0;
}

/* Integers must be integers before they are compared as such. */
static int check_grid(const double *values, int64_t count, int grid,
                      const char *what, struct gp_err *err)
{
    double scale = ldexp(1, grid);

    for (int64_t i = 0; i < count; i++)
        if (!(fabs(values[i] * scale) <= 0x1p53) ||
            values[i] * scale != (double)(int64_t)(values[i] * scale))
            return gp_err_set(err, GP_ERR_BACKEND,
                              "element %lld of %s is %a, which no exact "
                              "product can be",
                              (long long)i, what, values[i]);
    return 0;
}

int gp_certificate_exact(const struct gp_certificate *it, struct gp_err *err)
{
    int64_t block = it->n < BLOCK ? it->n : BLOCK;
    void *space = NULL;
    int status;

    if (check_grid(it->c, it->m * it->n, it->grid_a + it->grid_b, "it", err) ||
        gp_matrix_alloc(&space,
                        (size_t)(block + it->k + 2 * it->m) * sizeof(int128),
                        "the certificate", err) != 0)
        return -1;
    status = 0;
    for (int64_t from = 0; from < it->n && status == 0; from += block) {
        int64_t to = from + block < it->n ? from + block : it->n;
        status = exact_block(it, from, to, space, err);
    }
    gp_matrix_free(space);
    return status;
}

/* --- Rounded: compensated sums ------------------------------------------- */

/* (high, low)[i] += v[i], element by element: TwoSum of Knuth. */
WIDE static void add_column(const double *v, double sign, int64_t count,
                            double *high, double *low)
{
    for (int64_t i = 0; i < count; i++) {
        double x = sign * v[i], h = high[i], s = h + x, z = s - h;
        low[i] += (h - (s - z)) + (x - z);
        high[i] = s;
    }
}

/* (high, low)[i] += v[i] (yh + yl): TwoProd by Dekker's splitting, so that it
 * is exact with or without a fused multiply-add. */
WIDE static void add_scaled(const double *v, double yh, double yl,
                            int64_t count, double *high, double *low)
{
    double t = yh * 134217729.0, y1 = t - (t - yh), y2 = yh - y1;

    for (int64_t i = 0; i < count; i++) {
        double x = v[i], p = x * yh, c = x * 134217729.0;
        double x1 = c - (c - x), x2 = x - x1;
        double e = x2 * y2 - (((p - x1 * y1) - x2 * y1) - x1 * y2);
        double h = high[i], s = h + p, z = s - h;
        low[i] += ((h - (s - z)) + (p - z)) + (e + x * yl);
        high[i] = s;
    }
}

double gp_certificate_dot(const double *a, int64_t step_a, const double *b,
                          int64_t step_b, int64_t count)
{
    double high = 0, low = 0;

    for (int64_t i = 0; i < count; i++)
        add_scaled(&a[i * step_a], b[i * step_b], 0, 1, &high, &low);
    return high + low;
}

/* What an element's error scales with, in units of 2^-53: S where the sum
 * wanders about zero, sqrt(k) |sum| where it grows (docs/checks.md). */
WIDE static void keep_largest(const float *sums, const double *c, double drift,
                              int64_t count, double *most)
{
    for (int64_t i = 0; i < count; i++) {
        double scale = (double)sums[i] + drift * fabs(c[i]);
        most[i] = scale > most[i] ? scale : most[i];
    }
}

/* One block: r = C x - A (B x) with x = +-1, row by row. */
static int rounded_block(const struct gp_certificate *it, int64_t from,
                         int64_t to, double *space, struct gp_err *err)
{
    double *yh = space, *yl = yh + it->k, *zh = yl + it->k, *zl = zh + it->m;
    double *most = zl + it->m, slack, drift = 0.25 * sqrt((double)it->k);

    memset(space, 0, (size_t)(2 * it->k + 3 * it->m) * sizeof *space);
    for (int64_t j = from; j < to; j++) {
        double sign = word(it->seed, 2, j) >> 63 ? -1 : 1;
        const float *sums = it->sums + j * it->m;
        add_column(it->b + j * it->k, sign, it->k, yh, yl);
        add_column(it->c + j * it->m, -sign, it->m, zh, zl);
        keep_largest(sums, it->c + j * it->m, drift, it->m, most);
    }
    for (int64_t l = 0; l < it->k; l++)
        add_scaled(it->a + l * it->m, yh[l], yl[l], it->m, zh, zl);
    /* Each element is off by at most about 0.4 of its scale, with random
     * signs: 8 standard deviations of twice that. */
    slack = 8 * sqrt((double)(to - from)) * 0x1p-53;
    for (int64_t i = 0; i < it->m; i++)
        if (!(fabs(zh[i] + zl[i]) <= slack * most[i]))
            return say_row(i, from, to, 1, err);
    return 0;
}

/* A few elements against compensated dot products, within the rigorous bound
 * (k + s) 2^-53 S of any order. */
static int samples(const struct gp_certificate *it, struct gp_err *err)
{
    int64_t count = it->m * it->n;

    for (int64_t s = 0; s < SAMPLES && s < count; s++) {
        int64_t at = s == 0 ? 0
                     : s == 1
                         ? count - 1
                         : (int64_t)(word(it->seed, 3, s) % (uint64_t)count);
        int64_t i = at % it->m, j = at / it->m;
        double dot =
            gp_certificate_dot(it->a + i, it->m, it->b + j * it->k, 1, it->k);
        double limit =
            ((double)it->k + 256) * 0x1p-53 * (double)it->sums[at] * 2;
        if (!(fabs(dot - it->c[at]) <= limit))
            return gp_err_set(err, GP_ERR_BACKEND,
                              "its product is wrong in element (%lld, %lld): "
                              "%.17g, and a compensated sum gives %.17g",
                              (long long)i, (long long)j, it->c[at], dot);
    }
    return 0;
}

int gp_certificate_rounded(const struct gp_certificate *it, struct gp_err *err)
{
    void *space = NULL;
    int status;

    if (gp_matrix_alloc(&space, (size_t)(2 * it->k + 3 * it->m) * 8,
                        "the certificate", err) != 0)
        return -1;
    status = samples(it, err);
    for (int64_t from = 0; from < it->n && status == 0; from += BLOCK) {
        int64_t to = from + BLOCK < it->n ? from + BLOCK : it->n;
        status = rounded_block(it, from, to, space, err);
    }
    gp_matrix_free(space);
    return status;
}

/* --- Sums of magnitudes --------------------------------------------------- */

WIDE static void add_magnitudes(const double *v, double y, int64_t count,
                                double *sums)
{
    for (int64_t i = 0; i < count; i++)
        sums[i] += fabs(v[i]) * y;
}

/* Columns a block, so that one element stands out of the slack of a row's
 * sum: 1 / block is at least twice k 2^-24. */
static int64_t sum_block(int64_t k)
{
    int64_t block = (INT64_C(1) << 23) / k;

    return block < 256 ? 256 : block > BLOCK ? BLOCK : block;
}

int gp_certificate_sums(const struct gp_certificate *it, struct gp_err *err)
{
    void *space = NULL;
    double *y, *z, *w, slack = ((double)it->k + 64) * 0x1p-24;
    int64_t block = sum_block(it->k);

    if (gp_matrix_alloc(&space, (size_t)(it->k + 2 * it->m) * 8,
                        "the certificate", err) != 0)
        return -1;
    y = space;
    z = y + it->k;
    w = z + it->m;
    for (int64_t from = 0; from < it->n; from += block) {
        int64_t to = from + block < it->n ? from + block : it->n;
        memset(space, 0, (size_t)(it->k + 2 * it->m) * 8);
        for (int64_t j = from; j < to; j++) {
            add_magnitudes(it->b + j * it->k, 1, it->k, y);
            for (int64_t i = 0; i < it->m; i++)
                w[i] += (double)it->sums[i + j * it->m];
        }
        for (int64_t l = 0; l < it->k; l++)
            add_magnitudes(it->a + l * it->m, y[l], it->m, z);
        for (int64_t i = 0; i < it->m; i++)
            if (!(fabs(z[i] - w[i]) <= slack * z[i] + 0x1p-100)) {
                gp_matrix_free(space);
                return gp_err_set(err, GP_ERR_BACKEND,
                                  "its sums of magnitudes (sgemm) are wrong in "
                                  "row %lld, columns %lld to %lld",
                                  (long long)i, (long long)from,
                                  (long long)to - 1);
            }
    }
    gp_matrix_free(space);
    return 0;
}
