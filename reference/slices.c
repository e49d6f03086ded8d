#include "reference/slices.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/base/parallel.h"
#include "harness/base/shm.h"
#include "reference/certificate.h"
#include "reference/dot2.h"

/* k goes by panels, n by strips; a block is what one processor cuts or adds
 * at a time. */
enum { PANEL = 512, STRIP = 2048, ROWS = 64, COLS = 16 };

/* A panel of A against a strip of B, cut. With a = 2^row_scale (A1 + tiny (A2 +
 * A3)), tiny = 2^-(bits+1), |A1|, |A2| <= 2^bits whole, |A3| <= 1/2, and the
 * same of b:
 *     ab = 2^(row + col) (A1 B1 + tiny (A2 B1 + A1 B2)
 *          + tiny (A1 B3 + A3 B1 + tiny (A2 + A3)(B2 + B3)))
 * The first two products are whole numbers of at most 53 bits; the third is
 * rounded. */
struct cut {
    const struct gp_slices *it;
    int64_t from, panel; /* of k */
    int64_t col, strip;  /* of n */
    int bits;
    /* A2 A1 A3 tiny (A2 + A3), m x panel each, side by side; B1; B1 over B2;
     * B3 over B1 over B2 + B3. */
    double *a, *b1, *b2, *b3;
    double *p1, *p2, *p3; /* their products, m x strip */
    double *row_scale, *col_scale;
    double *row_sum, *col_sum; /* of |A1|; of |B1| and |B2 + B3| */
    float *sums;               /* at least what p3's magnitudes add up to */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* 2 bits + ceil(log2(2 panel)) <= 53. */
static int bits_of(int64_t k)
{
    int room = 52;

    for (int64_t n = 1; n < least(k, PANEL); n *= 2)
        room--;
    return room / 2;
}

double gp_slices_bytes(int64_t m, int64_t n, int64_t k)
{
    double rows = (double)m, panel = (double)least(k, PANEL);
    double strip = (double)least(n, STRIP);

    return 8 * (4 * rows * panel + 6 * panel * strip + 3 * rows * strip +
                2 * rows + 2 * strip) +
           4 * rows * strip;
}

static int make(struct cut *cut, struct gp_err *err)
{
    size_t rows = (size_t)cut->it->m;
    size_t panel = (size_t)least(cut->it->k, PANEL);
    size_t strip = (size_t)least(cut->it->n, STRIP);
    const struct {
        double **at;
        size_t count;
    } parts[] = {
        {&cut->a, 4 * rows * panel},   {&cut->b1, panel * strip},
        {&cut->b2, 2 * panel * strip}, {&cut->b3, 3 * panel * strip},
        {&cut->p1, rows * strip},      {&cut->p2, rows * strip},
        {&cut->p3, rows * strip},      {&cut->row_scale, rows},
        {&cut->row_sum, rows},         {&cut->col_scale, strip},
        {&cut->col_sum, strip},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (gp_matrix_alloc((void **)parts[i].at, parts[i].count * 8,
                            "the slices of the reference", err) != 0)
            return -1;
    return gp_matrix_alloc((void **)&cut->sums, rows * strip * 4,
                           "the slices of the reference", err);
}

static void drop(struct cut *cut)
{
    double *parts[] = {cut->a,         cut->b1,       cut->b2,
                       cut->b3,        cut->p1,       cut->p2,
                       cut->p3,        cut->row_sum,  cut->col_sum,
                       cut->row_scale, cut->col_scale};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        gp_matrix_free(parts[i]);
    gp_matrix_free(cut->sums);
}

static void each(const struct cut *cut, int64_t count, int64_t block,
                 void (*work)(void *ctx, size_t block))
{
    size_t blocks = (size_t)((count + block - 1) / block);

    if (cut->it->alone)
        gp_parallel(blocks, work, (void *)cut);
    else
        for (size_t i = 0; i < blocks; i++)
            work((void *)cut, i);
}

/* 2^e > most >= 2^(e-1), for what is between 2^-64 and 2^64; 1 for 0. */
static double above(double most)
{
    int e = 0;

    if (most == 0)
        return 1;
    (void)frexp(most, &e);
    return ldexp(1, e);
}

/* The whole number nearest to |x| < 2^50, ties to even. */
static double nearest(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

static void cut_rows(void *ctx, size_t block)
{
    const struct cut *cut = ctx;
    int64_t m = cut->it->m, each_slice = m * cut->panel;
    int64_t first = (int64_t)block * ROWS, rows = least(m - first, ROWS);
    const double *from = cut->it->a + cut->from * m + first;
    double most[ROWS] = {0}, sum[ROWS] = {0}, to_whole[ROWS];
    double lift = ldexp(2, cut->bits);

    for (int64_t l = 0; l < cut->panel; l++)
        for (int64_t i = 0; i < rows; i++)
            most[i] = fmax(most[i], fabs(from[i + l * m]));
    for (int64_t i = 0; i < rows; i++) {
        cut->row_scale[first + i] = ldexp(above(most[i]), -cut->bits);
        to_whole[i] = 1 / cut->row_scale[first + i];
    }
    for (int64_t l = 0; l < cut->panel; l++)
        for (int64_t i = 0; i < rows; i++) {
            double *to = cut->a + first + i + l * m;
            double x = from[i + l * m] * to_whole[i], a1 = nearest(x);
            double rest = (x - a1) * lift, a2 = nearest(rest);
            to[0] = a2;
            to[each_slice] = a1;
            to[2 * each_slice] = rest - a2;
            to[3 * each_slice] = x - a1;
            sum[i] += fabs(a1);
        }
    memcpy(cut->row_sum + first, sum, (size_t)rows * sizeof *sum);
}

static void cut_cols(void *ctx, size_t block)
{
    const struct cut *cut = ctx;
    int64_t k = cut->panel, end = ((int64_t)block + 1) * COLS;
    double lift = ldexp(2, cut->bits);

    for (int64_t j = (int64_t)block * COLS; j < least(end, cut->strip); j++) {
        const double *from = cut->it->b + (cut->col + j) * cut->it->k;
        double *b1 = cut->b1 + j * k, *b2 = cut->b2 + j * 2 * k;
        double *b3 = cut->b3 + j * 3 * k, most = 0, sum = 0, to_whole;
        from += cut->from;
        for (int64_t l = 0; l < k; l++)
            most = fmax(most, fabs(from[l]));
        cut->col_scale[j] = ldexp(above(most), -cut->bits);
        to_whole = 1 / cut->col_scale[j];
        for (int64_t l = 0; l < k; l++) {
            double x = from[l] * to_whole, first = nearest(x);
            double rest = (x - first) * lift, second = nearest(rest);
            b1[l] = b2[l] = b3[k + l] = first;
            b2[k + l] = second;
            b3[l] = rest - second;
            b3[2 * k + l] = rest;
            sum += fabs(first) + fabs(rest);
        }
        cut->col_sum[j] = sum;
    }
}

/* Magnitudes of p3: |A3|, |B3| and tiny |A2 + A3| are at most 1/2. */
static void sum_cols(void *ctx, size_t block)
{
    const struct cut *cut = ctx;
    int64_t m = cut->it->m, end = ((int64_t)block + 1) * COLS;

    for (int64_t j = (int64_t)block * COLS; j < least(end, cut->strip); j++)
        for (int64_t i = 0; i < m; i++)
            cut->sums[i + j * m] =
                (float)((cut->row_sum[i] + cut->col_sum[j]) * 0.50001);
}

static void add_cols(void *ctx, size_t block)
{
    const struct cut *cut = ctx;
    int64_t m = cut->it->m, end = ((int64_t)block + 1) * COLS;
    double tiny = ldexp(0.5, -cut->bits);

    for (int64_t j = (int64_t)block * COLS; j < least(end, cut->strip); j++) {
        double *high = cut->it->high + (cut->col + j) * m;
        double *low = cut->it->low + (cut->col + j) * m;
        const double *p1 = cut->p1 + j * m, *p2 = cut->p2 + j * m;
        const double *p3 = cut->p3 + j * m;
        for (int64_t i = 0; i < m; i++) {
            double scale = cut->row_scale[i] * cut->col_scale[j], r1, r2, r3;
            double s = gp_two_sum(high[i], p1[i] * scale, &r1);
            s = gp_two_sum(s, p2[i] * (scale * tiny), &r2);
            high[i] = gp_two_sum(s, p3[i] * (scale * tiny), &r3);
            low[i] += (r1 + r2) + r3;
        }
    }
}

/* The products of one strip, each with what became of it. */
struct products {
    const struct cut *cut;
    int status[3];
    struct gp_err err[3];
};

/* One product of the library, and its certificate. */
static void multiply(void *ctx, size_t which)
{
    struct products *products = ctx;
    const struct cut *cut = products->cut;
    const double *a1 = cut->a + cut->it->m * cut->panel;
    const double *a[] = {a1, cut->a, a1};
    const double *b[] = {cut->b1, cut->b2, cut->b3};
    double *to[] = {cut->p1, cut->p2, cut->p3};
    int64_t m = cut->it->m, n = cut->strip, k = cut->panel * ((int)which + 1);
    const struct gp_certificate certificate = {
        .m = m,
        .n = n,
        .k = k,
        .a = a[which],
        .b = b[which],
        .c = to[which],
        .sums = cut->sums,
        .seed = gp_hash_mix(cut->it->seed + (uint64_t)cut->from +
                            ((uint64_t)cut->col << 32) + which),
        .alone = cut->it->alone};

    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)m,
                (blasint)n, (blasint)k, 1, a[which], (blasint)m, b[which],
                (blasint)k, 0, to[which], (blasint)m);
    products->status[which] =
        which < 2 ? gp_certificate_exact(&certificate, &products->err[which])
                  : gp_certificate_rounded(&certificate, &products->err[which]);
}

/* Where the library uses one thread, the products are made side by side. */
static int multiply_strip(struct cut *cut, struct gp_err *err)
{
    struct products products = {.cut = cut};

    each(cut, cut->strip, COLS, cut_cols);
    each(cut, cut->strip, COLS, sum_cols);
    if (cut->it->alone)
        for (size_t which = 0; which < 3; which++)
            multiply(&products, which);
    else
        gp_parallel(3, multiply, &products);
    for (int which = 0; which < 3; which++)
        if (products.status[which] != 0) {
            *err = products.err[which];
            return -1;
        }
    each(cut, cut->strip, COLS, add_cols);
    return 0;
}

int gp_slices(const struct gp_slices *it, struct gp_err *err)
{
    struct cut cut = {.it = it, .bits = bits_of(it->k)};
    int status = make(&cut, err);

    memset(it->high, 0, (size_t)(it->m * it->n) * 8);
    memset(it->low, 0, (size_t)(it->m * it->n) * 8);
    for (cut.from = 0; !status && cut.from < it->k; cut.from += PANEL) {
        cut.panel = least(it->k - cut.from, PANEL);
        each(&cut, it->m, ROWS, cut_rows);
        for (cut.col = 0; !status && cut.col < it->n; cut.col += STRIP) {
            cut.strip = least(it->n - cut.col, STRIP);
            status = multiply_strip(&cut, err);
        }
    }
    for (int64_t at = 0; !status && at < it->m * it->n; at++)
        it->high[at] = gp_two_sum(it->high[at], it->low[at], &it->low[at]);
    drop(&cut);
    return status;
}

/* --- The error, from the largest and the sum of each row and column ---------
 */

struct norms {
    double *above, *sum; /* a power of two above the largest; of magnitudes */
};

static void norms_of(const double *x, int64_t rows, int64_t cols, bool by_row,
                     struct norms *norms)
{
    int64_t count = by_row ? rows : cols;

    memset(norms->above, 0, (size_t)count * 8);
    memset(norms->sum, 0, (size_t)count * 8);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) {
            int64_t at = by_row ? i : j;
            double size = fabs(x[i + j * rows]);
            norms->above[at] = fmax(norms->above[at], size);
            norms->sum[at] += size;
        }
    for (int64_t at = 0; at < count; at++)
        norms->above[at] = above(norms->above[at]);
}

/* docs/checks.md: the rounding of the third product, and of three sums a
 * panel. */
int gp_slices_error(const struct gp_slices *it, double *ret_error,
                    struct gp_err *err)
{
    int64_t m = it->m, n = it->n, panel = least(it->k, PANEL);
    int bits = bits_of(it->k);
    double third = (3 * (double)panel + 256) * ldexp(1, -53 - 2 * bits - 2);
    double sums = 3 * ceil((double)it->k / (double)panel), most = 0;
    double k = (double)it->k * (1 + ldexp(1, -bits)), *a, *b;
    struct norms rows, cols;
    void *space;

    if (gp_matrix_alloc(&space, (size_t)(m + n) * 16,
                        "the slices of the reference", err) != 0)
        return -1;
    a = space;
    b = a + 2 * m;
    rows = (struct norms){a, a + m};
    cols = (struct norms){b, b + n};
    norms_of(it->a, m, it->k, true, &rows);
    norms_of(it->b, it->k, n, false, &cols);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            double size = cols.above[j] * rows.sum[i] +
                          rows.above[i] * cols.sum[j] +
                          k * rows.above[i] * cols.above[j];
            double share = size / it->mag[i + j * m];
            most = share > most ? share : most;
        }
    gp_matrix_free(space);
    *ret_error = (third * most + 17 * sums * sums * 0x1p-106) * (1 + 0x1p-20);
    return 0;
}
