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

#if defined(__x86_64__) && defined(__GNUC__)
#define FUSED __attribute__((target("avx2,fma")))
#endif

__extension__ typedef __int128 int128;

#define PRIME ((INT64_C(1) << 61) - 1)
enum { BLOCK = 4096, SAMPLES = 64, ROWS = 256, AT_ONCE = 4 };

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

static int64_t integer(const struct times *t, double element)
{
    return (int64_t)(element * t->scale);
}

/* The elements are below 2^53 and x below 2^61: 2^12 products fit 127 bits. */
static void rows_times(void *ctx, size_t block)
{
    const struct times *t = ctx;
    int64_t from = (int64_t)block * ROWS, to = from + ROWS;

    to = to < t->rows ? to : t->rows;
    for (int64_t i = from; i < to; i++)
        t->to[i] = 0;
    for (int64_t j = 0; j < t->cols; j += AT_ONCE) {
        const double *column = t->matrix + j * t->rows;
        int64_t n = t->cols - j < AT_ONCE ? t->cols - j : AT_ONCE;
        int64_t x[AT_ONCE] = {0};
        for (int64_t c = 0; c < n; c++)
            x[c] = (int64_t)t->x[j + c];
        if (n == AT_ONCE)
            for (int64_t i = from; i < to; i++)
                t->to[i] += (int128)integer(t, column[i]) * x[0] +
                            (int128)integer(t, column[i + t->rows]) * x[1] +
                            (int128)integer(t, column[i + 2 * t->rows]) * x[2] +
                            (int128)integer(t, column[i + 3 * t->rows]) * x[3];
        else
            for (int64_t c = 0; c < n; c++)
                for (int64_t i = from; i < to; i++)
                    t->to[i] +=
                        (int128)integer(t, column[i + c * t->rows]) * x[c];
        if (j % 4096 == 4096 - AT_ONCE || j + AT_ONCE >= t->cols)
            for (int64_t i = from; i < to; i++)
                t->to[i] = modulo(t->to[i]);
    }
}

/* All blocks of rows, by all processors if they may be used. */
static void all_rows(int64_t rows, bool alone,
                     void (*work)(void *ctx, size_t block), void *ctx)
{
    size_t blocks = (size_t)((rows + ROWS - 1) / ROWS);

    if (alone)
        gp_parallel(blocks, work, ctx);
    else
        for (size_t block = 0; block < blocks; block++)
            work(ctx, block);
}

static void matrix_times(const double *matrix, int64_t rows, int64_t cols,
                         double scale, const int128 *x, int128 *to, bool alone)
{
    struct times times = {matrix, rows, cols, scale, x, to};

    all_rows(rows, alone, rows_times, &times);
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
struct gridded {
    const double *values;
    int64_t count, *first; /* one a block: the first that is none, or -1 */
    double scale;
};

enum { GRID_BLOCK = 1 << 16 };

static void check_block(void *ctx, size_t block)
{
    const struct gridded *grid = ctx;
    int64_t from = (int64_t)block * GRID_BLOCK, to = from + GRID_BLOCK;

    grid->first[block] = -1;
    for (int64_t i = from; i < to && i < grid->count; i++) {
        double x = grid->values[i] * grid->scale;
        if (!(fabs(x) <= 0x1p53) || x != (double)(int64_t)x) {
            grid->first[block] = i;
            return;
        }
    }
}

static int check_grid(const struct gp_certificate *it, struct gp_err *err)
{
    struct gridded grid = {.values = it->c,
                           .count = it->m * it->n,
                           .scale = ldexp(1, it->grid_a + it->grid_b)};
    size_t blocks = (size_t)(grid.count / GRID_BLOCK + 1);
    int64_t first = -1;

    grid.first = calloc(blocks, sizeof *grid.first);
    if (!grid.first)
        return gp_err_set(err, GP_ERR_SYSTEM, "no memory for the certificate");
    if (it->alone)
        gp_parallel(blocks, check_block, &grid);
    else
        for (size_t block = 0; block < blocks; block++)
            check_block(&grid, block);
    for (size_t block = 0; block < blocks && first < 0; block++)
        first = grid.first[block];
    free(grid.first);
    if (first < 0)
        return 0;
    return gp_err_set(err, GP_ERR_BACKEND,
                      "element %lld of it is %a, which no exact product can "
                      "be",
                      (long long)first, it->c[first]);
}

int gp_certificate_exact(const struct gp_certificate *it, struct gp_err *err)
{
    int64_t block = it->n < BLOCK ? it->n : BLOCK;
    void *space = NULL;
    int status;

    if (check_grid(it, err) ||
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
WIDE static void add_scaled_split(const double *v, double yh, double yl,
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

#ifdef FUSED
/* The same with a fused multiply-add, whose remainder is exact. */
FUSED static void add_scaled_fused(const double *v, double yh, double yl,
                                   int64_t count, double *high, double *low)
{
    for (int64_t i = 0; i < count; i++) {
        double x = v[i], p = x * yh, e = __builtin_fma(x, yh, -p);
        double h = high[i], s = h + p, z = s - h;
        low[i] += ((h - (s - z)) + (p - z)) + (e + x * yl);
        high[i] = s;
    }
}
#endif

static void add_scaled(const double *v, double yh, double yl, int64_t count,
                       double *high, double *low)
{
#ifdef FUSED
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
        add_scaled_fused(v, yh, yl, count, high, low);
        return;
    }
#endif
    add_scaled_split(v, yh, yl, count, high, low);
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

/* One block of columns: r = C x - A (B x) with x = +-1, row by row. */
struct residual {
    const struct gp_certificate *it;
    int64_t from, to;
    double *yh, *yl; /* B x, k each */
    double *zh, *zl; /* r, m each */
    double *most;    /* largest scale of a row */
};

/* The part of a block of rows: first and how many. */
static int64_t part_of(size_t block, int64_t rows, int64_t *ret_first)
{
    *ret_first = (int64_t)block * ROWS;
    return rows - *ret_first < ROWS ? rows - *ret_first : ROWS;
}

static double sign_of(const struct residual *r, int64_t j)
{
    return word(r->it->seed, 2, j) >> 63 ? -1 : 1;
}

static void rows_of_b(void *ctx, size_t block)
{
    const struct residual *r = ctx;
    int64_t k = r->it->k, first, count = part_of(block, k, &first);

    for (int64_t j = r->from; j < r->to; j++)
        add_column(r->it->b + j * k + first, sign_of(r, j), count,
                   r->yh + first, r->yl + first);
}

static void rows_of_r(void *ctx, size_t block)
{
    const struct residual *r = ctx;
    const struct gp_certificate *it = r->it;
    double drift = 0.25 * sqrt((double)it->k);
    int64_t m = it->m, first, count = part_of(block, m, &first);

    for (int64_t j = r->from; j < r->to; j++) {
        const double *c = it->c + j * m + first;
        add_column(c, -sign_of(r, j), count, r->zh + first, r->zl + first);
        keep_largest(it->sums + j * m + first, c, drift, count,
                     r->most + first);
    }
    for (int64_t l = 0; l < it->k; l++)
        add_scaled(it->a + l * m + first, r->yh[l], r->yl[l], count,
                   r->zh + first, r->zl + first);
}

static int rounded_block(const struct gp_certificate *it, int64_t from,
                         int64_t to, double *space, struct gp_err *err)
{
    struct residual r = {.it = it, .from = from, .to = to, .yh = space};
    /* Each element is off by at most about 0.4 of its scale, with random
     * signs: 8 standard deviations of twice that. */
    double slack = 8 * sqrt((double)(to - from)) * 0x1p-53;

    r.yl = r.yh + it->k;
    r.zh = r.yl + it->k;
    r.zl = r.zh + it->m;
    r.most = r.zl + it->m;
    memset(space, 0, (size_t)(2 * it->k + 3 * it->m) * sizeof *space);
    all_rows(it->k, it->alone, rows_of_b, &r);
    all_rows(it->m, it->alone, rows_of_r, &r);
    for (int64_t i = 0; i < it->m; i++)
        if (!(fabs(r.zh[i] + r.zl[i]) <= slack * r.most[i]))
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
