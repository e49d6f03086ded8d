/* Other algorithms than the one promised: operands split into several of fewer
 * bits, fixed point, Strassen. Each is some library's fast mode; it is a sin
 * where the mode promises more. */
#include <math.h>

#include "harness/base/shm.h"
#include "harness/worker/backends/faulty_sums.h"

/* --- Sums of products of pieces ------------------------------------------- */

enum { PIECES_MOST = 3 };

/* x as a sum of `count` pieces of `bits` bits, the largest first. */
static void split(double x, int bits, int count, double *pieces)
{
    for (int p = 0; p < count; p++) {
        pieces[p] = gp_round_to(x, bits, -126);
        x -= pieces[p];
    }
}

/* Products of pieces p of A and q of B with p + q < orders, small ones first;
 * each sum over k in an FP32 accumulator of its own. */
static double of_pieces(const struct gp_faulty_element *e, int bits, int count,
                        int orders)
{
    float sums[PIECES_MOST][PIECES_MOST] = {{0}}, all = 0;
    double a[PIECES_MOST], b[PIECES_MOST];

    for (int64_t l = 0; l < e->gemm->k; l++) {
        split(e->a[l], bits, count, a);
        split(e->b[l], bits, count, b);
        for (int p = 0; p < count; p++)
            for (int q = 0; q < count && p + q < orders; q++)
                sums[p][q] += (float)(a[p] * b[q]);
    }
    for (int order = orders - 1; order >= 0; order--)
        for (int p = 0; p < count && p <= order; p++)
            if (order - p < count)
                all += sums[p][order - p];
    return (double)all;
}

static double bf16x3(const struct gp_faulty_element *e)
{
    return of_pieces(e, 8, 2, 2);
}

static double bf16x6(const struct gp_faulty_element *e)
{
    return of_pieces(e, 8, 3, 3);
}

static double bf16x9(const struct gp_faulty_element *e)
{
    return of_pieces(e, 8, 3, 5);
}

static double tf32x3(const struct gp_faulty_element *e)
{
    return of_pieces(e, 11, 2, 2);
}

/* Nine products, one after the other into one accumulator that is cut at each
 * step. */
static double bf16x9_cut(const struct gp_faulty_element *e)
{
    double a[PIECES_MOST], b[PIECES_MOST], sum = 0;

    for (int64_t l = 0; l < e->gemm->k; l++) {
        split(e->a[l], 8, 3, a);
        split(e->b[l], 8, 3, b);
        for (int p = 2; p >= 0; p--)
            for (int q = 2; q >= 0; q--)
                sum = gp_faulty_cut(sum + a[p] * b[q], 24);
    }
    return sum;
}

/* --- Operands that lose bits in one place only ---------------------------- */

static double chain_of(const struct gp_faulty_element *e, int bits_a,
                       int bits_b)
{
    double wide = 0;
    float narrow = 0;

    for (int64_t l = 0; l < e->gemm->k; l++) {
        double a = gp_round_to(e->a[l], bits_a, -126);
        double b = gp_round_to(e->b[l], bits_b, -126);
        wide += a * b;
        narrow += (float)a * (float)b;
    }
    return e->gemm->in->bytes == 8 ? wide : (double)narrow;
}

/* Of A alone, to `number` bits. */
static double narrow_a(const struct gp_faulty_element *e)
{
    return chain_of(e, (int)e->number, 53);
}

/* The last rows, which no tile fills, take another kernel: TF32. */
static double narrow_edge(const struct gp_faulty_element *e)
{
    bool edge = e->i >= e->gemm->m / 8 * 8;

    return chain_of(e, edge ? 11 : 53, edge ? 11 : 53);
}

/* Cut to TF32 instead of rounded. */
static double cut_inputs(const struct gp_faulty_element *e)
{
    float sum = 0;

    for (int64_t l = 0; l < e->gemm->k; l++)
        sum += (float)gp_faulty_cut(e->a[l], 11) *
               (float)gp_faulty_cut(e->b[l], 11);
    return (double)sum;
}

/* --- Fixed point ---------------------------------------------------------- */

/* The unit of a vector in fixed point with `bits` bits, the sign counted:
 * 2^(E - bits + 1), E the exponent just above its largest magnitude. */
static double unit_of(const double *x, int64_t k, int bits)
{
    double most = 0;

    for (int64_t l = 0; l < k; l++)
        most = fmax(most, fabs(x[l]));
    return most > 0 && isfinite(most) ? ldexp(1, ilogb(most) + 2 - bits) : 0;
}

/* One scale for each row of A and each column of B (Ozaki): small elements
 * beside large ones lose their bits. */
static double fixed_point(const struct gp_faulty_element *e)
{
    int bits = (int)e->number;
    double ua = unit_of(e->a, e->gemm->k, bits), sum = 0;
    double ub = unit_of(e->b, e->gemm->k, bits);

    for (int64_t l = 0; l < e->gemm->k; l++) {
        double a = ua > 0 ? ua * nearbyint(e->a[l] / ua) : e->a[l];
        double b = ub > 0 ? ub * nearbyint(e->b[l] / ub) : e->b[l];
        sum += a * b;
    }
    return e->gemm->in->bytes == 8 ? sum : (double)(float)sum;
}

/* --- Strassen ------------------------------------------------------------- */

/* The halves are summed with rounding, so small elements meet large ones that
 * never stand in their row and column. One level; matrices are column-major
 * squares of h x h in doubles that hold what the type can. */
struct strassen {
    int64_t m, n, k; /* of a quarter */
    bool wide;
    double *x, *y; /* m x k and k x n */
};

static double held(const struct strassen *s, double x)
{
    return s->wide ? x : (double)(float)x;
}

/* Element (i, l) of quarter (p, q) of the whole matrix. */
static double quarter(const double *whole, int64_t rows, int64_t cols,
                      int64_t ld, int p, int q, int64_t i, int64_t l)
{
    return whole[i + p * rows + (l + q * cols) * ld];
}

/* One of the seven products: (sum of signed quarters of A) times (that of B),
 * added with signs to quarters of the result. Rows 0-3: 11, 12, 21, 22. */
struct seventh {
    signed char a[4], b[4], d[4];
};

static const struct seventh sevenths[7] = {
    {{1, 0, 0, 1}, {1, 0, 0, 1}, {1, 0, 0, 1}},
    {{0, 0, 1, 1}, {1, 0, 0, 0}, {0, 0, 1, -1}},
    {{1, 0, 0, 0}, {0, 1, 0, -1}, {0, 1, 0, 1}},
    {{0, 0, 0, 1}, {-1, 0, 1, 0}, {1, 0, 1, 0}},
    {{1, 1, 0, 0}, {0, 0, 0, 1}, {-1, 1, 0, 0}},
    {{-1, 0, 1, 0}, {1, 1, 0, 0}, {0, 0, 0, 1}},
    {{0, 1, 0, -1}, {0, 0, 1, 1}, {1, 0, 0, 0}},
};

static void combine(const struct strassen *s, const double *whole, int64_t rows,
                    int64_t cols, const signed char *signs, double *to)
{
    for (int64_t l = 0; l < cols; l++)
        for (int64_t i = 0; i < rows; i++) {
            double x = 0;
            for (int part = 0; part < 4; part++)
                if (signs[part])
                    x = held(s, x + signs[part] * quarter(whole, rows, cols,
                                                          2 * rows, part / 2,
                                                          part % 2, i, l));
            to[i + l * rows] = x;
        }
}

static void seventh_product(const struct strassen *s,
                            const struct seventh *seventh, double *d)
{
    for (int64_t j = 0; j < s->n; j++)
        for (int64_t i = 0; i < s->m; i++) {
            double sum = 0;
            for (int64_t l = 0; l < s->k; l++)
                sum = held(s, sum + s->x[i + l * s->m] * s->y[l + j * s->k]);
            for (int part = 0; part < 4; part++) {
                double *at =
                    &d[i + part / 2 * s->m + (j + part % 2 * s->n) * 2 * s->m];
                if (seventh->d[part])
                    *at = held(s, *at + seventh->d[part] * sum);
            }
        }
}

static void load(const struct gp_type *type, const void *from, int64_t ld,
                 bool across, int64_t rows, int64_t cols, double *to)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            to[i + j * rows] = gp_type_value(
                type,
                gp_type_bits(type, from, across ? j + i * ld : i + j * ld));
}

static int strassen(struct gp_host *host, const struct gp_host_product *product,
                    struct gp_err *err)
{
    const struct gp_gemm *gemm = &product->gemm;
    struct strassen s = {.m = gemm->m / 2,
                         .n = gemm->n / 2,
                         .k = gemm->k / 2,
                         .wide = gemm->in->bytes == 8};
    int64_t a = gemm->m * gemm->k, b = gemm->k * gemm->n;
    int64_t d = gemm->m * gemm->n;
    void *space = NULL;
    double *at;

    if (gemm->m % 2 || gemm->n % 2 || gemm->k % 2 || gemm->batch != 1 ||
        gemm->alpha != 1 || gemm->beta != 0)
        return gp_host_naive(host, product, err);
    if (gp_matrix_alloc(&space,
                        (size_t)(a + b + d + (a + b) / 4) * sizeof(double),
                        "the quarters", err) != 0)
        return -1;
    at = space;
    s.x = at + a + b + d;
    s.y = s.x + a / 4;
    load(gemm->in, product->a, gemm->lda, gemm->trans_a, gemm->m, gemm->k, at);
    load(gemm->in, product->b, gemm->ldb, gemm->trans_b, gemm->k, gemm->n,
         at + a);
    for (int64_t i = 0; i < d; i++)
        at[a + b + i] = 0;
    for (int p = 0; p < 7; p++) {
        combine(&s, at, s.m, s.k, sevenths[p].a, s.x);
        combine(&s, at + a, s.k, s.n, sevenths[p].b, s.y);
        seventh_product(&s, &sevenths[p], at + a + b);
    }
    for (int64_t j = 0; j < gemm->n; j++)
        gp_type_store(gemm->out, at + a + b + j * gemm->m,
                      (unsigned char *)product->d +
                          (size_t)(j * gemm->ldc) * gemm->out->bytes,
                      gemm->m);
    gp_matrix_free(space);
    return 0;
}

#define SIN(word, function, value)                                             \
    {                                                                          \
        .name = (word), .sum = (function), .number = (value)                   \
    }

const struct gp_faulty_sin gp_faulty_algorithms[] = {
    SIN("bf16x3", bf16x3, 0),
    SIN("bf16x6", bf16x6, 0),
    SIN("bf16x9", bf16x9, 0),
    SIN("bf16x9-cut", bf16x9_cut, 0),
    SIN("tf32x3", tf32x3, 0),
    SIN("tf32-a", narrow_a, 11),
    SIN("bf16-a", narrow_a, 8),
    SIN("fp32-a", narrow_a, 24),
    SIN("tf32-edge", narrow_edge, 0),
    SIN("tf32-cut", cut_inputs, 0),
    SIN("fixed-53", fixed_point, 53),
    SIN("fixed-40", fixed_point, 40),
    {.name = "strassen", .multiply = strassen},
    {.name = NULL},
};
