/* The plain product, in one file so that its arithmetic can be read at once. */
#include "harness/worker/backends/host.h"

#include <string.h>

#include "harness/base/clones.h"
#include "harness/base/parallel.h"
#include "harness/base/shm.h"

/* The longer side of D runs inside, so that a compiler can make vectors of
 * it; each element is one chain over k all the same. X is op(A) with its rows
 * inside, or op(B) with its columns inside: `side` values for each l. */
enum {
    SQUARE = 8,      /* columns turned at once, so that lines of cache serve */
    TOGETHER = 4,    /* vectors of the other side that read X once */
    SHARE = 64,      /* elements of the side that one processor takes at once */
    ALONE = 1 << 20, /* below so many products one processor does it all */
};

/* Operands in the type of the sums: FP64, or FP32, which holds the narrower
 * types exactly. */
struct sides {
    int64_t side, other, k;
    bool wide;         /* FP64 */
    bool kept, loaded; /* the room stays with the host; x and y are there */
    void *x, *y;       /* side x k, other x k: value v of l at v + l*count */
    double *line;      /* scratch of SQUARE stored columns */
};

static void put_line(const struct sides *s, const double *from, void *to,
                     int64_t at, int64_t count)
{
    if (s->wide) {
        memcpy((double *)to + at, from, (size_t)count * sizeof *from);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        ((float *)to)[at + i] = (float)from[i];
}

/* Element (v, l) of one side from its laid out matrix: element (v, l) stands
 * at v + l*ld, or l + v*ld when `along` (l runs along a stored column). */
static void load_side(const struct gp_type *type, const unsigned char *from,
                      int64_t ld, bool along, int64_t count,
                      const struct sides *s, void *to)
{
    int64_t k = s->k, n, room = SQUARE * k;
    size_t bytes = type->bytes;
    double turned[SQUARE];

    for (int64_t l = 0; !along && l < k; l++)
        for (int64_t v = 0; v < count; v += n) {
            n = count - v < room ? count - v : room;
            gp_type_load(type, from + (size_t)(v + l * ld) * bytes, s->line, n);
            put_line(s, s->line, to, v + l * count, n);
        }
    for (int64_t v = 0; along && v < count; v += SQUARE) {
        n = count - v < SQUARE ? count - v : SQUARE;
        for (int64_t i = 0; i < n; i++)
            gp_type_load(type, from + (size_t)((v + i) * ld) * bytes,
                         s->line + i * k, k);
        for (int64_t l = 0; l < k; l++) {
            for (int64_t i = 0; i < n; i++)
                turned[i] = s->line[i * k + l];
            put_line(s, turned, to, v + l * count, n);
        }
    }
}

/* One chain of multiply-adds an element, in order of l: `count` vectors of
 * `n` sums each, one after the other. */
GP_CLONES("avx2")
static void plain_wide(const double *x, int64_t side, const double *y,
                       int64_t other, int64_t k, int64_t n, int64_t count,
                       double *sums)
{
    for (int64_t l = 0; l < k; l++)
        for (int64_t w = 0; w < count; w++)
            for (int64_t v = 0; v < n; v++)
                sums[w * SHARE + v] += x[v + l * side] * y[w + l * other];
}

GP_CLONES("avx2")
static void plain_narrow(const float *x, int64_t side, const float *y,
                         int64_t other, int64_t k, int64_t n, int64_t count,
                         float *sums)
{
    for (int64_t l = 0; l < k; l++)
        for (int64_t w = 0; w < count; w++)
            for (int64_t v = 0; v < n; v++)
                sums[w * SHARE + v] += x[v + l * side] * y[w + l * other];
}

/* Sums (v .. v + n, w .. w + count). */
static void chains(const struct sides *s, int64_t v, int64_t n, int64_t w,
                   int64_t count, double *sums)
{
    float narrow[SHARE * TOGETHER] = {0};

    memset(sums, 0, SHARE * TOGETHER * sizeof *sums);
    if (s->wide) {
        plain_wide((const double *)s->x + v, s->side, (const double *)s->y + w,
                   s->other, s->k, n, count, sums);
        return;
    }
    plain_narrow((const float *)s->x + v, s->side, (const float *)s->y + w,
                 s->other, s->k, n, count, narrow);
    for (int64_t i = 0; i < SHARE * TOGETHER; i++)
        sums[i] = (double)narrow[i];
}

static double scaled(const struct gp_gemm *gemm, double sum, double c,
                     bool wide)
{
    if (gemm->k == 0 || gemm->alpha == 0) /* a quick return; c is 0 unread */
        return wide ? gemm->beta * c : (double)((float)gemm->beta * (float)c);
    if (wide)
        return gemm->beta == 0 ? gemm->alpha * sum
                               : gemm->alpha * sum + gemm->beta * c;
    if (gemm->beta == 0)
        return (double)((float)gemm->alpha * (float)sum);
    return (double)((float)gemm->alpha * (float)sum +
                    (float)gemm->beta * (float)c);
}

static void load_sides(const struct gp_gemm *gemm, const unsigned char *a,
                       const unsigned char *b, const struct sides *s,
                       bool rows_inside)
{
    load_side(gemm->in, a, gemm->lda, gemm->trans_a, gemm->m, s,
              rows_inside ? s->x : s->y);
    load_side(gemm->in, b, gemm->ldb, !gemm->trans_b, gemm->n, s,
              rows_inside ? s->y : s->x);
}

struct product {
    const struct gp_gemm *gemm;
    const struct sides *sides;
    unsigned char *d;
    bool rows_inside;
    int64_t share; /* elements of the side in a block */
};

/* SHARE elements of the side against all of the other. */
static void multiply_part(const struct product *product, int64_t v, int64_t n)
{
    const struct gp_gemm *gemm = product->gemm;
    const struct gp_type *out = gemm->out;
    const struct sides *s = product->sides;
    double sums[SHARE * TOGETHER];

    for (int64_t w = 0; w < s->other; w += TOGETHER) {
        int64_t count = s->other - w < TOGETHER ? s->other - w : TOGETHER;
        chains(s, v, n, w, count, sums);
        for (int64_t i = 0; i < count * n; i++) {
            int64_t row = v + i % n, column = w + i / n;
            int64_t at = product->rows_inside ? row + column * gemm->ldc
                                              : column + row * gemm->ldc;
            double c = 0, x;
            if (gemm->beta != 0)
                c = gp_type_value(out, gp_type_bits(out, product->d, at));
            x = scaled(gemm, sums[i / n * SHARE + i % n], c, s->wide);
            gp_type_store(out, &x, product->d + (size_t)at * out->bytes, 1);
        }
    }
}

static void multiply_block(void *ctx, size_t block)
{
    const struct product *product = ctx;
    int64_t from = (int64_t)block * product->share;
    int64_t to = from + product->share;

    to = to < product->sides->side ? to : product->sides->side;
    for (int64_t v = from; v < to; v += SHARE)
        multiply_part(product, v, to - v < SHARE ? to - v : SHARE);
}

static void multiply_batch(const struct gp_gemm *gemm, unsigned char *d,
                           const struct sides *s, bool rows_inside)
{
    struct product product = {gemm, s, d, rows_inside, SHARE};

    if (s->side * s->other * s->k < ALONE)
        product.share = s->side;
    gp_parallel((size_t)((s->side + product.share - 1) / product.share),
                multiply_block, &product);
}

/* Room for the sides of one product; kept for the next launch of the same
 * prepared product where that is allowed. */
static int sides_make(struct gp_host *host, const struct gp_gemm *gemm,
                      bool rows_inside, struct sides *s, struct gp_err *err)
{
    bool whole =
        host->keeps_sides && gemm->batch == 1 && gemm->k == host->job.gemm.k;
    void *space = whole ? host->sides : NULL;
    size_t bytes = gemm->in->bytes == 8 ? sizeof(double) : sizeof(float);
    size_t line;

    *s = (struct sides){.side = rows_inside ? gemm->m : gemm->n,
                        .other = rows_inside ? gemm->n : gemm->m,
                        .k = gemm->k,
                        .wide = gemm->in->bytes == 8,
                        .kept = whole,
                        .loaded = space != NULL};
    line = (size_t)(SQUARE * s->k) * sizeof(double);
    if (!space &&
        gp_matrix_alloc(&space,
                        line + (size_t)((s->side + s->other) * s->k) * bytes,
                        "the operands in the type of the sums", err) != 0)
        return -1;
    if (whole)
        host->sides = space;
    s->line = space;
    s->x = (unsigned char *)space + line;
    s->y = (unsigned char *)s->x + (size_t)(s->side * s->k) * bytes;
    return 0;
}

int gp_host_naive(struct gp_host *host, const struct gp_host_product *product,
                  struct gp_err *err)
{
    const struct gp_gemm *gemm = &product->gemm;
    bool rows_inside = gemm->m >= gemm->n;
    size_t in = gemm->in->bytes, out = gemm->out->bytes;
    struct sides s;

    if (sides_make(host, gemm, rows_inside, &s, err) != 0)
        return -1;
    for (int64_t batch = 0; batch < gemm->batch; batch++) {
        if (!s.loaded)
            load_sides(gemm,
                       (const unsigned char *)product->a +
                           (size_t)(batch * gp_gemm_stride(gemm, GP_A)) * in,
                       (const unsigned char *)product->b +
                           (size_t)(batch * gp_gemm_stride(gemm, GP_B)) * in,
                       &s, rows_inside);
        multiply_batch(gemm,
                       (unsigned char *)product->d +
                           (size_t)(batch * gp_gemm_stride(gemm, GP_C)) * out,
                       &s, rows_inside);
    }
    if (!s.kept)
        gp_matrix_free(s.line);
    return 0;
}
