#include "reference/dot2.h"

#include <math.h>
#include <string.h>

#include "harness/base/parallel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define FUSED_512 __attribute__((target("avx512f")))
#define FUSED_256 __attribute__((target("avx2,fma")))
#elif defined(__aarch64__)
#define FUSED_ALWAYS
#endif

/* A tile is ROWS of op(A) against COLS of op(B); AT_ONCE products are added to
 * an element while it is in registers. */
enum { ROWS = 64, COLS = 64, PANEL = 256, AT_ONCE = 4 };

/* The larger side of the product goes by rows, so that tiles are full. */
struct sides {
    const struct gp_dot2 *it;
    int64_t rows, cols, k;
    const double *a, *b;
    int64_t a_row, a_col, b_row, b_col, out_row, out_col; /* steps */
    size_t tiles;                                         /* by rows */
};

/* A panel of a tile: ROWS values for each of `count` positions in k, without
 * the positions where all of them are zero. */
struct panel {
    double values[PANEL * ROWS];
    int64_t position[PANEL], count;
};

/* The sums of a tile's column. */
struct sums {
    double high[ROWS], low[ROWS], mag[ROWS];
};

static void pack(const struct sides *s, int64_t row, int64_t rows, int64_t from,
                 int64_t to, struct panel *panel)
{
    panel->count = 0;
    for (int64_t l = from; l < to; l++) {
        double *values = panel->values + panel->count * ROWS;
        const double *column = s->a + row * s->a_row + l * s->a_col;
        bool any = false;
        for (int64_t i = 0; i < rows; i++) {
            values[i] = column[i * s->a_row];
            any = any || values[i] != 0;
        }
        for (int64_t i = rows; i < ROWS; i++)
            values[i] = 0;
        if (any)
            panel->position[panel->count++] = l;
    }
}

/* p + e = x y exactly. Without a fused multiply-add: Dekker's splitting. */
static inline __attribute__((always_inline)) double
product_rest(double x, double y, double p, bool fused)
{
    double d, x1, x2, g, y1, y2;

    if (fused)
        return __builtin_fma(x, y, -p);
    d = x * 134217729.0;
    x1 = d - (d - x);
    x2 = x - x1;
    g = y * 134217729.0;
    y1 = g - (g - y);
    y2 = y - y1;
    return x2 * y2 - (((p - x1 * y1) - x2 * y1) - x1 * y2);
}

/* sums += values y, AT_ONCE positions of k a turn. */
static inline __attribute__((always_inline)) void
add_products(const double *const *values, const double *y, int64_t count,
             struct sums *sums, bool fused)
{
    for (int64_t t = 0; t < count; t += AT_ONCE)
        for (int i = 0; i < ROWS; i++) {
            double high = sums->high[i], low = sums->low[i], mag = sums->mag[i];
            for (int u = 0; u < AT_ONCE; u++) {
                double x = values[t + u][i], p = x * y[t + u];
                double e = product_rest(x, y[t + u], p, fused);
                double s = high + p, z = s - high;
                low += ((high - (s - z)) + (p - z)) + e;
                high = s;
                mag += fabs(p);
            }
            sums->high[i] = high;
            sums->low[i] = low;
            sums->mag[i] = mag;
        }
}

#ifdef FUSED_512
FUSED_512 static void add_512(const double *const *values, const double *y,
                              int64_t count, struct sums *sums)
{
    add_products(values, y, count, sums, true);
}

FUSED_256 static void add_256(const double *const *values, const double *y,
                              int64_t count, struct sums *sums)
{
    add_products(values, y, count, sums, true);
}
#endif

static void add(const double *const *values, const double *y, int64_t count,
                struct sums *sums)
{
#ifdef FUSED_512
    if (__builtin_cpu_supports("avx512f")) {
        add_512(values, y, count, sums);
        return;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        add_256(values, y, count, sums);
        return;
    }
#endif
#ifdef FUSED_ALWAYS
    add_products(values, y, count, sums, true);
#else
    add_products(values, y, count, sums, false);
#endif
}

/* One column of a tile and one panel; zeros of the column are left out. */
static void tile_column(const struct sides *s, const struct panel *panel,
                        int64_t row, int64_t rows, int64_t col)
{
    const double *values[PANEL + AT_ONCE];
    double y[PANEL + AT_ONCE], rest;
    const double *column = s->b + col * s->b_col;
    struct sums sums = {0};
    int64_t count = 0;

    for (int64_t t = 0; t < panel->count; t++) {
        y[count] = column[panel->position[t] * s->b_row];
        values[count] = panel->values + t * ROWS;
        count += y[count] != 0;
    }
    for (int u = 0; u < AT_ONCE; u++) {
        y[count + u] = 0;
        values[count + u] = panel->values;
    }
    if (count > 0)
        add(values, y, count, &sums);
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = (row + i) * s->out_row + col * s->out_col;
        s->it->high[at] = gp_two_sum(s->it->high[at], sums.high[i], &rest);
        s->it->low[at] += sums.low[i] + rest;
        s->it->mag[at] += sums.mag[i];
    }
}

static void tile(void *ctx, size_t block)
{
    const struct sides *s = ctx;
    int64_t row = (int64_t)(block % s->tiles) * ROWS;
    int64_t col = (int64_t)(block / s->tiles) * COLS;
    int64_t rows = s->rows - row < ROWS ? s->rows - row : ROWS;
    int64_t end = s->cols - col < COLS ? s->cols : col + COLS;
    double up = 1 + ((double)s->k + 4) * 0x1p-52;
    struct panel panel;

    for (int64_t j = col; j < end; j++)
        for (int64_t i = row; i < row + rows; i++) {
            int64_t at = i * s->out_row + j * s->out_col;
            s->it->high[at] = s->it->low[at] = s->it->mag[at] = 0;
        }
    for (int64_t from = 0; from < s->k; from += PANEL) {
        int64_t to = s->k - from < PANEL ? s->k : from + PANEL;
        pack(s, row, rows, from, to, &panel);
        for (int64_t j = col; j < end; j++)
            tile_column(s, &panel, row, rows, j);
    }
    for (int64_t j = col; j < end; j++)
        for (int64_t i = row; i < row + rows; i++) {
            int64_t at = i * s->out_row + j * s->out_col;
            s->it->high[at] =
                gp_two_sum(s->it->high[at], s->it->low[at], &s->it->low[at]);
            s->it->mag[at] *= up;
        }
}

void gp_dot2(const struct gp_dot2 *it)
{
    struct sides s;
    size_t blocks;

    if (it->m >= it->n)
        s = (struct sides){.it = it,
                           .rows = it->m,
                           .cols = it->n,
                           .k = it->k,
                           .a = it->a,
                           .a_row = 1,
                           .a_col = it->m,
                           .b = it->b,
                           .b_row = 1,
                           .b_col = it->k,
                           .out_row = 1,
                           .out_col = it->m};
    else
        s = (struct sides){.it = it,
                           .rows = it->n,
                           .cols = it->m,
                           .k = it->k,
                           .a = it->b,
                           .a_row = it->k,
                           .a_col = 1,
                           .b = it->a,
                           .b_row = it->m,
                           .b_col = 1,
                           .out_row = it->m,
                           .out_col = 1};
    s.tiles = (size_t)((s.rows + ROWS - 1) / ROWS);
    blocks = s.tiles * (size_t)((s.cols + COLS - 1) / COLS);
    if (it->alone)
        gp_parallel(blocks, tile, &s);
    else
        for (size_t block = 0; block < blocks; block++)
            tile(&s, block);
}

/* docs/checks.md: 2 (min(k, PANEL) + panels + 1)^2 u^2. */
double gp_dot2_error(int64_t k)
{
    double panels = ceil((double)k / PANEL);
    double n = (k < PANEL ? (double)k : PANEL) + panels + 1;

    return 2 * n * n * 0x1p-106;
}
