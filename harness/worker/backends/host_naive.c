/* The plain product, in one file so that its arithmetic can be read at once. */
#include "harness/worker/backends/host.h"

#include <string.h>

#include "harness/base/shm.h"

/* The longer side of D runs inside, so that a compiler can make vectors of
 * it; each element is one chain over k all the same. X is op(A) with its rows
 * inside, or op(B) with its columns inside: `side` values for each l. */
enum { SQUARE = 8 }; /* columns turned at once, so that lines of cache serve */

struct sides {
    int64_t side, other, k;
    bool kept, loaded; /* the room stays with the host; x and y are there */
    double *x, *y;     /* side x k, other x k: value v of l at v + l*count */
    double *sums;      /* side */
    float *narrow;     /* side */
    double *line;      /* scratch of SQUARE stored columns */
};

/* Element (v, l) of one side from its laid out matrix: element (v, l) stands
 * at v + l*ld, or l + v*ld when `along` (l runs along a stored column). */
static void load_side(const struct gp_type *type, const unsigned char *from,
                      int64_t ld, bool along, int64_t count, int64_t k,
                      double *line, double *to)
{
    size_t bytes = type->bytes;

    for (int64_t l = 0; !along && l < k; l++)
        gp_type_load(type, from + (size_t)(l * ld) * bytes, to + l * count,
                     count);
    for (int64_t v = 0; along && v < count; v += SQUARE) {
        int64_t n = count - v < SQUARE ? count - v : SQUARE;
        for (int64_t i = 0; i < n; i++)
            gp_type_load(type, from + (size_t)((v + i) * ld) * bytes,
                         line + i * k, k);
        for (int64_t l = 0; l < k; l++)
            for (int64_t i = 0; i < n; i++)
                to[v + i + l * count] = line[i * k + l];
    }
}

/* One chain of multiply-adds an element, in order of l. */
static void chains(const struct sides *s, int64_t w, bool wide)
{
    if (wide) {
        memset(s->sums, 0, (size_t)s->side * sizeof *s->sums);
        for (int64_t l = 0; l < s->k; l++) {
            const double *x = s->x + l * s->side;
            double y = s->y[w + l * s->other];
            for (int64_t v = 0; v < s->side; v++)
                s->sums[v] += x[v] * y;
        }
        return;
    }
    memset(s->narrow, 0, (size_t)s->side * sizeof *s->narrow);
    for (int64_t l = 0; l < s->k; l++) {
        const double *x = s->x + l * s->side;
        float y = (float)s->y[w + l * s->other];
        for (int64_t v = 0; v < s->side; v++)
            s->narrow[v] += (float)x[v] * y;
    }
    for (int64_t v = 0; v < s->side; v++)
        s->sums[v] = (double)s->narrow[v];
}

static double scaled(const struct gp_gemm *gemm, double sum, double c,
                     bool wide)
{
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
    load_side(gemm->in, a, gemm->lda, gemm->trans_a, gemm->m, gemm->k, s->line,
              rows_inside ? s->x : s->y);
    load_side(gemm->in, b, gemm->ldb, !gemm->trans_b, gemm->n, gemm->k, s->line,
              rows_inside ? s->y : s->x);
}

static void multiply_batch(const struct gp_gemm *gemm, unsigned char *d,
                           const struct sides *s, bool rows_inside)
{
    const struct gp_type *out = gemm->out;
    bool wide = gemm->in->bytes == 8;

    for (int64_t w = 0; w < s->other; w++) {
        chains(s, w, wide);
        for (int64_t v = 0; v < s->side; v++) {
            int64_t at = rows_inside ? v + w * gemm->ldc : w + v * gemm->ldc;
            double c = 0, x;
            if (gemm->beta != 0)
                c = gp_type_value(out, gp_type_bits(out, d, at));
            x = scaled(gemm, s->sums[v], c, wide);
            gp_type_store(out, &x, d + (size_t)at * out->bytes, 1);
        }
    }
}

/* Room for the sides of one product; kept for the next launch of the same
 * prepared product where that is allowed. */
static int sides_make(struct gp_host *host, const struct gp_gemm *gemm,
                      bool rows_inside, struct sides *s, struct gp_err *err)
{
    bool whole =
        host->keeps_doubles && gemm->batch == 1 && gemm->k == host->job.gemm.k;
    void *space = whole ? host->doubles : NULL;

    *s = (struct sides){.side = rows_inside ? gemm->m : gemm->n,
                        .other = rows_inside ? gemm->n : gemm->m,
                        .k = gemm->k,
                        .kept = whole,
                        .loaded = space != NULL};
    if (!space && gp_matrix_alloc(&space,
                                  (size_t)((s->side + s->other) * s->k +
                                           2 * s->side + SQUARE * s->k) *
                                      sizeof(double),
                                  "the operands as doubles", err) != 0)
        return -1;
    if (whole)
        host->doubles = space;
    s->x = space;
    s->y = s->x + s->side * s->k;
    s->sums = s->y + s->other * s->k;
    s->narrow = (float *)(s->sums + s->side);
    s->line = s->sums + 2 * s->side;
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
        gp_matrix_free(s.x);
    return 0;
}
