/*
 * Rules that give a wrong element from operands read otherwise: from another
 * place, or with fewer bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/arena.h"
#include "harness/check/explain.h"

enum { SUSPECTS = 32, SUSPECTS_LEAST = 8, READS = 1 << 17, K_MOST = 1 << 18 };

enum rounding { NEAREST_EVEN, NEAREST_AWAY, TOWARD_ZERO };

/* How operands are read; zero is as they should be. */
struct reading {
    enum gp_operand which; /* GP_C: both, of a rounding */
    bool flipped;          /* op is not as asked */
    int64_t line;          /* another row of op(A), column of op(B) */
    bool first_batch;      /* always batch 0 */
    int64_t start;         /* elements from where the matrix begins */
    int64_t stride;        /* elements that the stride is off */
    int precision, emin;   /* bits kept; 0: all */
    enum rounding rounding;
    const char *words; /* of a rounding: what follows A, B or both */
};

static const struct reading readings[] = {
    {.which = GP_A, .flipped = true, .words = "op(A) is transposed"},
    {.which = GP_B, .flipped = true, .words = "op(B) is transposed"},
    {.which = GP_A, .line = 1, .words = "row i reads row i + 1 of op(A)"},
    {.which = GP_A, .line = -1, .words = "row i reads row i - 1 of op(A)"},
    {.which = GP_B, .line = 1, .words = "column j reads column j + 1 of op(B)"},
    {.which = GP_B,
     .line = -1,
     .words = "column j reads column j - 1 of op(B)"},
    {.which = GP_A,
     .first_batch = true,
     .words = "all batches read A of batch 0"},
    {.which = GP_B,
     .first_batch = true,
     .words = "all batches read B of batch 0"},
    {.which = GP_A,
     .stride = -1,
     .words = "the stride of A is one element short"},
    {.which = GP_A,
     .stride = 1,
     .words = "the stride of A is one element long"},
    {.which = GP_B,
     .stride = -1,
     .words = "the stride of B is one element short"},
    {.which = GP_B,
     .stride = 1,
     .words = "the stride of B is one element long"},
    {.which = GP_A,
     .start = 1,
     .words = "A is read from its second element on"},
    {.which = GP_B,
     .start = 1,
     .words = "B is read from its second element on"},
    {.precision = 11, .emin = -126, .words = "rounded to TF32"},
    {.precision = 11,
     .emin = -126,
     .rounding = NEAREST_AWAY,
     .words = "rounded to TF32, ties away"},
    {.precision = 11,
     .emin = -126,
     .rounding = TOWARD_ZERO,
     .words = "cut to TF32"},
    {.precision = 8, .emin = -126, .words = "rounded to BF16"},
    {.precision = 8,
     .emin = -126,
     .rounding = TOWARD_ZERO,
     .words = "cut to BF16"},
    {.precision = 11, .emin = -14, .words = "rounded to FP16"},
    {.precision = 24, .emin = -126, .words = "rounded to FP32"},
};

enum { READINGS = sizeof readings / sizeof *readings };

static double rounded(const struct reading *reading, double x)
{
    int p = reading->precision, e;
    double f;

    if (x == 0)
        return x;
    if (reading->rounding == NEAREST_EVEN)
        return gp_round_to(x, p, reading->emin);
    f = frexp(x, &e);
    f = ldexp(f, p);
    f = reading->rounding == NEAREST_AWAY ? trunc(f + copysign(0.5, f))
                                          : trunc(f);
    return ldexp(f, e - p);
}

/* What stands at a place of the laid out batch; NaN in padding and beyond. */
static double at_place(const struct gp_scene *scene, enum gp_operand which,
                       int64_t place)
{
    const struct gp_gemm *gemm = &scene->reference->gemm;
    const void *data =
        which == GP_A ? scene->reference->a : scene->reference->b;
    int64_t rows = gp_gemm_rows(gemm, which), cols = gp_gemm_cols(gemm, which);
    int64_t ld = gp_gemm_ld(gemm, which);
    int64_t stride = gp_gemm_stride(gemm, which);
    int64_t along = place % stride % ld, across = place % stride / ld;
    int64_t r = gemm->row_major ? across : along;
    int64_t c = gemm->row_major ? along : across;

    if (place < 0 || place >= stride * gemm->batch || r >= rows || c >= cols)
        return NAN;
    return gp_type_value(
        gemm->in,
        gp_type_bits(gemm->in, data, (place / stride * cols + c) * rows + r));
}

/* op(X) of one element, its row or column `line` at position l of k, by the
 * reading; `plain` is what stands there. */
static double operand(const struct gp_scene *scene, enum gp_operand which,
                      const struct reading *reading, int64_t line, int64_t l,
                      int64_t batch, double plain)
{
    const struct gp_gemm *gemm = &scene->reference->gemm;
    /* Stored as (row, column): op(A) is (line, l), op(B) is (l, line). */
    bool line_first =
        (which == GP_A) != (which == GP_A ? gemm->trans_a : gemm->trans_b);
    int64_t r, c, ld = gp_gemm_ld(gemm, which);
    int64_t b = reading->first_batch ? 0 : batch;

    if (reading->precision)
        return rounded(reading, plain);
    line += reading->line;
    line_first = line_first != reading->flipped;
    r = line_first ? line : l;
    c = line_first ? l : line;
    return at_place(scene, which,
                    b * gp_gemm_stride(gemm, which) +
                        (gemm->row_major ? c + r * ld : r + c * ld) +
                        reading->start + batch * reading->stride);
}

/* What both operands of one element are without any of this. */
struct plain {
    struct gp_suspect suspect;
    double *a, *b;
};

static double value_of(const struct gp_scene *scene,
                       const struct reading *reading, const struct plain *plain)
{
    const struct gp_gemm *gemm = &scene->reference->gemm;
    const struct gp_suspect *at = &plain->suspect;
    bool both = reading->which == GP_C;
    double sum = 0, c = 0;

    for (int64_t l = 0; l < gemm->k; l++) {
        double a = both || reading->which == GP_A
                       ? operand(scene, GP_A, reading, at->i, l, at->batch,
                                 plain->a[l])
                       : plain->a[l];
        double b = both || reading->which == GP_B
                       ? operand(scene, GP_B, reading, at->j, l, at->batch,
                                 plain->b[l])
                       : plain->b[l];
        sum += a * b;
    }
    if (scene->reference->c)
        c = gp_type_value(
            gemm->out, gp_type_bits(gemm->out, scene->reference->c, at->index));
    return gemm->alpha * sum + gemm->beta * c;
}

/* Does the reading change anything here? */
static bool is_possible(const struct gp_gemm *gemm,
                        const struct reading *reading)
{
    if (reading->precision)
        return reading->precision < gemm->in->precision;
    if (reading->first_batch || reading->stride)
        return gemm->batch > 1;
    return true;
}

/* Wrong elements that all readings are tried on. */
struct some {
    struct plain items[SUSPECTS];
    struct gp_suspect suspects[SUSPECTS];
    struct gp_scene scene;
    double *room;
};

static void choose(const struct gp_scene *scene, struct some *some)
{
    int64_t k = scene->reference->gemm.k;
    size_t count = scene->count < SUSPECTS ? scene->count : SUSPECTS;
    size_t most = (size_t)(READS / (k > 0 ? k : 1)), bytes;

    most = most < SUSPECTS_LEAST ? SUSPECTS_LEAST : most;
    count = count < most ? count : most;
    bytes = (2 * count * (size_t)k + 1) * sizeof(double);
    some->room = malloc(bytes);
    if (!some->room)
        gp_arena_out_of_memory(bytes);
    for (size_t s = 0; s < count; s++) {
        const struct gp_suspect *at =
            &scene->suspects[s * scene->count / count];
        double *a = some->room + 2 * (int64_t)s * k, *b = a + k;
        some->suspects[s] = *at;
        some->items[s] = (struct plain){*at, a, b};
        gp_scene_vector(scene, GP_A, at->i, at->batch, a);
        gp_scene_vector(scene, GP_B, at->j, at->batch, b);
    }
    some->scene = *scene;
    some->scene.suspects = some->suspects;
    some->scene.count = count;
}

/* A reading is one for all, so that nine tenths of the elements must fit; and
 * a neighbour of the right result, of which there are two, is met by many. */
static void try_reading(const struct some *some, const struct reading *reading,
                        const char *subject, struct gp_rule *best)
{
    int64_t count = (int64_t)some->scene.count, misses = 0;
    double values[SUSPECTS];

    if (!is_possible(&some->scene.reference->gemm, reading))
        return;
    for (int64_t s = 0; s < count; s++) {
        values[s] = value_of(&some->scene, reading, &some->items[s]);
        misses += !gp_scene_fits(&some->scene, &some->suspects[s], values[s]);
        if (10 * misses > count)
            return;
    }
    if (count - misses <= best->fits ||
        gp_scene_by_chance(&some->scene, values, count - misses, READINGS))
        return;
    *best = (struct gp_rule){.looked_at = count, .fits = count - misses};
    snprintf(best->words, sizeof best->words, "%s%s", subject, reading->words);
}

bool gp_explain_operand(const struct gp_scene *scene, struct gp_rule *ret_rule)
{
    static const char *const subjects[] = {"A alone is ", "B alone is ",
                                           "operands are "};
    struct gp_rule best = {0};
    struct some some;

    if (scene->reference->gemm.k > K_MOST)
        return false;
    choose(scene, &some);
    for (size_t r = 0; r < READINGS; r++) {
        struct reading reading = readings[r];
        if (!reading.precision)
            try_reading(&some, &reading, "", &best);
        /* Both first: one alone may change nothing. */
        for (int which = GP_C; reading.precision && which >= GP_A; which--) {
            reading.which = (enum gp_operand)which;
            try_reading(&some, &reading, subjects[which], &best);
        }
    }
    free(some.room);
    if (!best.fits)
        return false;
    *ret_rule = best;
    return true;
}
