/*
 * Rules that give a wrong element from the reference: a factor applied
 * wrongly, another element's result, another rounding.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/arena.h"
#include "harness/check/explain.h"

enum {
    FITS_LEAST = 3,
    NEIGHBOURS_LEAST = 6, /* of a rounding, which meets many by chance */
    PARTIALS = 16
};

static const struct gp_gemm *gemm_of(const struct gp_scene *scene)
{
    return &scene->reference->gemm;
}

static double c_of(const struct gp_scene *scene, int64_t index)
{
    const struct gp_type *out = gemm_of(scene)->out;
    const void *c = scene->reference->c;

    return c ? gp_type_value(out, gp_type_bits(out, c, index)) : 0;
}

/* A rule with its value for a suspect; NaN where it has none. */
struct trial {
    double (*value)(const struct gp_scene *scene, const struct trial *trial,
                    const struct gp_suspect *suspect);
    double x, y;     /* factors of AB and of C */
    int64_t i, j, b; /* offsets of the source */
    bool transposed, first_batch, exchanged, tight;
    int precision, emin; /* of partial sums */
    int64_t chunk;
    bool one_by_one; /* partial sums rounded by themselves, then added */
};

static double *values_of(const struct gp_scene *scene,
                         const struct trial *trial)
{
    double *values = malloc(scene->count * sizeof *values);

    if (!values)
        gp_arena_out_of_memory(scene->count * sizeof *values);
    for (size_t s = 0; s < scene->count; s++)
        values[s] = trial->value(scene, trial, &scene->suspects[s]);
    return values;
}

static bool keep(const struct gp_scene *scene, int64_t fits, const char *words,
                 struct gp_rule *best)
{
    if (fits < FITS_LEAST || fits <= best->fits)
        return false;
    *best = (struct gp_rule){.looked_at = (int64_t)scene->count, .fits = fits};
    snprintf(best->words, sizeof best->words, "%s", words);
    return true;
}

/* --- Factors --------------------------------------------------------------
 */

static double factored(const struct gp_scene *scene, const struct trial *trial,
                       const struct gp_suspect *suspect)
{
    const struct gp_gemm *gemm = gemm_of(scene);
    double c = c_of(scene, suspect->index);
    double ab =
        gemm->alpha != 0 ? (suspect->ref - gemm->beta * c) / gemm->alpha : 0;

    return trial->x * ab + trial->y * c;
}

/* The sum is rounded to the output's type before the factors are applied. */
static double rounded_early(const struct gp_scene *scene,
                            const struct trial *trial,
                            const struct gp_suspect *suspect)
{
    const struct gp_gemm *gemm = gemm_of(scene);
    struct trial sum = *trial;

    sum.x = 1;
    sum.y = 0;
    return gemm->alpha *
               gp_type_round(gemm->out, factored(scene, &sum, suspect)) +
           gemm->beta * c_of(scene, suspect->index);
}

static void try_early(const struct gp_scene *scene, struct gp_rule *best)
{
    struct trial trial = {.value = rounded_early};
    double *values = values_of(scene, &trial);
    int64_t fits = gp_scene_count(scene, values);

    if (gemm_of(scene)->beta != 0 && fits >= NEIGHBOURS_LEAST &&
        10 * fits >= 9 * (int64_t)scene->count)
        keep(
            scene, fits,
            "A B is rounded to the type of D before alpha and beta are applied",
            best);
    free(values);
}

static bool all_zero(const struct gp_scene *scene)
{
    for (size_t s = 0; s < scene->count; s++)
        if (scene->suspects[s].got != 0)
            return false;
    return true;
}

static void try_factors(const struct gp_scene *scene, struct gp_rule *best)
{
    double alpha = gemm_of(scene)->alpha, beta = gemm_of(scene)->beta;
    const struct {
        double x, y;
        const char *words;
    } rows[] = {
        {0, 0, "the results are zero"},
        {0, beta, "alpha A B is missing: the results are beta C"},
        {alpha, 0, "beta C is missing"},
        {1, beta, "alpha is ignored"},
        {alpha, 1, "beta is ignored: C is added as it is"},
        {alpha * alpha, beta, "alpha is applied twice"},
        {alpha, beta * beta, "beta is applied twice"},
        {alpha * alpha, beta * beta, "alpha and beta are applied twice"},
        {alpha, alpha * beta, "alpha is applied to beta C as well"},
        {alpha, 2 * beta, "beta C is added twice"},
        {2 * alpha, beta, "alpha A B is added twice"},
        {alpha, -beta, "beta C has the wrong sign"},
        {-alpha, beta, "alpha A B has the wrong sign"},
        {0, 1, "D holds C as it was"},
        {beta, alpha, "alpha and beta are exchanged"},
        {gp_round_to(alpha, 24, -126), gp_round_to(beta, 24, -126),
         "alpha and beta are rounded to FP32"},
        {gp_round_to(alpha, 11, -126), gp_round_to(beta, 11, -126),
         "alpha and beta are rounded to 11 bits"},
        {-alpha, -beta, "the results have the wrong sign"},
    };

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double *values;
        struct trial trial = {
            .value = factored, .x = rows[r].x, .y = rows[r].y};
        if (trial.x == alpha && (trial.y == beta || !scene->reference->c))
            continue;
        /* Small is not zero, whatever the bound allows. */
        if (trial.x == 0 && trial.y == 0 && !all_zero(scene))
            continue;
        values = values_of(scene, &trial);
        keep(scene, gp_scene_count(scene, values), rows[r].words, best);
        free(values);
    }
}

/* --- The results of other places ------------------------------------------
 */

static double moved(const struct gp_scene *scene, const struct trial *trial,
                    const struct gp_suspect *suspect)
{
    const struct gp_gemm *gemm = gemm_of(scene);
    int64_t i = suspect->i + trial->i, j = suspect->j + trial->j;
    int64_t b = trial->first_batch ? 0 : suspect->batch + trial->b;

    if (trial->exchanged)
        b = suspect->batch ^ 1;
    if (trial->tight) { /* where the laid out element stands, packed */
        int64_t place = suspect->i + suspect->j * gemm->ldc;
        i = place % gemm->m;
        j = place / gemm->m;
    }
    if (trial->transposed) {
        i = suspect->j;
        j = suspect->i;
    }
    if (i < 0 || i >= gemm->m || j < 0 || j >= gemm->n || b < 0 ||
        b >= gemm->batch)
        return NAN;
    return scene->reference->ref[(b * gemm->n + j) * gemm->m + i];
}

static void say_offset(const char *name, const char *letter, int64_t offset,
                       char *to, size_t room)
{
    snprintf(to, room, "%s %s holds the result of %s %s %c %lld", name, letter,
             name, letter, offset < 0 ? '-' : '+',
             (long long)(offset < 0 ? -offset : offset));
}

static void try_move(const struct gp_scene *scene, const struct trial *trial,
                     const char *words, struct gp_rule *best)
{
    enum { RULES = 100 };
    double *values = values_of(scene, trial);
    int64_t fits = gp_scene_count(scene, values);

    if (fits > best->fits && !gp_scene_by_chance(scene, values, fits, RULES))
        keep(scene, fits, words, best);
    free(values);
}

static void try_moves(const struct gp_scene *scene, struct gp_rule *best)
{
    struct trial trial = {.value = moved, .transposed = true};
    char words[120];

    try_move(scene, &trial, "element (i, j) holds the result of (j, i)", best);
    trial = (struct trial){.value = moved, .first_batch = true};
    try_move(scene, &trial, "every batch holds the results of batch 0", best);
    trial = (struct trial){.value = moved, .exchanged = true};
    try_move(scene, &trial, "batches are exchanged in pairs", best);
    trial = (struct trial){.value = moved, .tight = true};
    if (!gemm_of(scene)->row_major && gemm_of(scene)->ldc > gemm_of(scene)->m)
        try_move(scene, &trial,
                 "D was written as if its columns stood side by side: ldc was "
                 "not used",
                 best);
    for (int64_t far = 1; far <= 256; far = far < 8 ? far + 1 : 2 * far)
        for (int64_t offset = -far; offset <= far; offset += 2 * far) {
            trial = (struct trial){.value = moved, .i = offset};
            say_offset("row", "i", offset, words, sizeof words);
            try_move(scene, &trial, words, best);
            trial = (struct trial){.value = moved, .j = offset};
            say_offset("column", "j", offset, words, sizeof words);
            try_move(scene, &trial, words, best);
            if (far > 2)
                continue;
            trial = (struct trial){.value = moved, .b = offset};
            say_offset("batch", "b", offset, words, sizeof words);
            try_move(scene, &trial, words, best);
        }
}

/* --- Roundings ------------------------------------------------------------
 */

static double toward_zero(const struct gp_type *type, double x)
{
    double rounded = gp_type_round(type, x);

    return fabs(rounded) > fabs(x) ? rounded - copysign(gp_type_ulp(type, x), x)
                                   : rounded;
}

/* Half of all neighbours of a right result are these, so that only many of
 * them prove it. */
static void try_cut(const struct gp_scene *scene, struct gp_rule *best)
{
    int64_t fits = 0;

    for (size_t s = 0; s < scene->count; s++)
        fits += scene->suspects[s].got ==
                toward_zero(gemm_of(scene)->out, scene->suspects[s].ref);
    if (fits >= 20 && fits == (int64_t)scene->count)
        keep(scene, fits, "the results are rounded toward zero, not to nearest",
             best);
}

/* The sum of k products, `chunk` at a time, with partial sums of fewer bits.
 */
static double narrow(const struct gp_scene *scene, const struct trial *trial,
                     const double *a, const double *b)
{
    int64_t k = gemm_of(scene)->k;
    double sum = 0;

    for (int64_t from = 0; from < k; from += trial->chunk) {
        int64_t to = from + trial->chunk < k ? from + trial->chunk : k;
        double part = 0;
        for (int64_t l = from; l < to; l++)
            part += a[l] * b[l];
        sum = trial->one_by_one
                  ? sum + gp_round_to(part, trial->precision, trial->emin)
                  : gp_round_to(sum + part, trial->precision, trial->emin);
    }
    return sum;
}

static void try_narrow(const struct gp_scene *some, const double *a,
                       const double *b, const struct trial *trial,
                       const char *type, struct gp_rule *best)
{
    int64_t k = gemm_of(some)->k, fits = 0;
    char words[200];

    for (size_t s = 0; s < some->count; s++)
        fits += gp_scene_fits(
            some, &some->suspects[s],
            narrow(some, trial, a + (int64_t)s * k, b + (int64_t)s * k));
    if (fits < NEIGHBOURS_LEAST || 10 * fits < 9 * (int64_t)some->count)
        return;
    if (trial->chunk == 1)
        snprintf(words, sizeof words, "%s is rounded to %s",
                 trial->one_by_one ? "every product"
                                   : "the sum after each step",
                 type);
    else
        snprintf(words, sizeof words,
                 "partial sums are rounded to %s, after every %lld products%s",
                 type, (long long)trial->chunk,
                 trial->one_by_one ? ", and then added" : "");
    keep(some, fits, words, best);
}

bool gp_explain_partials(const struct gp_scene *scene, struct gp_rule *ret_rule)
{
    static const struct {
        const char *type;
        int precision, emin;
    } types[] = {{"f16", 11, -14}, {"bf16", 8, -126}, {"f32", 24, -126}};
    const struct gp_gemm *gemm = gemm_of(scene);
    struct gp_scene some = *scene;
    struct gp_rule best = {0};
    double *a, *b;

    if (gemm->alpha != 1 || gemm->beta != 0 || gemm->k > 1 << 16 ||
        scene->reference->family->exact || scene->reference->family->one_term)
        return false;
    some.count = scene->count < PARTIALS ? scene->count : PARTIALS;
    a = malloc(2 * some.count * (size_t)gemm->k * sizeof *a);
    if (!a)
        gp_arena_out_of_memory(2 * some.count * (size_t)gemm->k * sizeof *a);
    b = a + (int64_t)some.count * gemm->k;
    for (size_t s = 0; s < some.count; s++) {
        const struct gp_suspect *at = &some.suspects[s];
        gp_scene_vector(&some, GP_A, at->i, at->batch,
                        a + (int64_t)s * gemm->k);
        gp_scene_vector(&some, GP_B, at->j, at->batch,
                        b + (int64_t)s * gemm->k);
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int64_t chunk = 1; chunk < gemm->k && chunk <= 4096; chunk *= 2)
            for (int each = 0; each < 2; each++) {
                const struct trial trial = {.precision = types[t].precision,
                                            .emin = types[t].emin,
                                            .chunk = chunk,
                                            .one_by_one = each};
                if (types[t].precision < 24 || gemm->in->bytes == 8)
                    try_narrow(&some, a, b, &trial, types[t].type, &best);
            }
    free(a);
    if (!best.fits)
        return false;
    *ret_rule = best;
    return true;
}

bool gp_explain_value(const struct gp_scene *scene, struct gp_rule *ret_rule)
{
    struct gp_rule best = {0};

    if (scene->count == 0)
        return false;
    try_factors(scene, &best);
    if (best.fits < (int64_t)scene->count)
        try_moves(scene, &best);
    if (best.fits < (int64_t)scene->count)
        try_cut(scene, &best);
    if (best.fits < (int64_t)scene->count)
        try_early(scene, &best);
    if (!best.fits)
        return false;
    *ret_rule = best;
    return true;
}
