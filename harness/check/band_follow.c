/* The sample: a few rows against a few columns, followed under one law. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/base/parallel.h"
#include "harness/check/band_law.h"

/* At most SIDE^2 outputs, fewer where k is long. */
enum { SIDE = 16, SIDE_LEAST = 4, STEPS = 1 << 22 };

struct sampling {
    const struct gp_reference *reference;
    const struct gp_law *law;
    int compute_capability;
    int64_t rows, columns, batches;
    double *b, *read_b;      /* the columns, one after the other */
    struct gp_moments *each; /* of each output */
    double *square;          /* its expected square */
};

static double operand(const struct gp_reference *reference,
                      enum gp_operand which, int64_t batch, int64_t vector,
                      int64_t l)
{
    const struct gp_gemm *gemm = &reference->gemm;
    bool a = which == GP_A, along = a ? gemm->trans_a : !gemm->trans_b;
    int64_t vectors = a ? gemm->m : gemm->n;
    int64_t at = along ? l + vector * gemm->k : vector + l * vectors;

    return gp_type_value(gemm->in,
                         gp_type_bits(gemm->in, a ? reference->a : reference->b,
                                      at + batch * vectors * gemm->k));
}

static void gather(const struct sampling *sampling, enum gp_operand which,
                   int64_t batch, int64_t vector, double *given, double *read)
{
    for (int64_t l = 0; l < sampling->reference->gemm.k; l++) {
        given[l] = operand(sampling->reference, which, batch, vector, l);
        read[l] = gp_law_read(sampling->law, given[l]);
    }
}

/* Sums over k that do not depend on its order. */
struct plain {
    double total, products2, input;
};

static struct plain plain_sums(const struct sampling *sampling, const double *a,
                               const double *read_a, const double *b,
                               const double *read_b)
{
    struct plain plain = {0};

    for (int64_t l = 0; l < sampling->reference->gemm.k; l++) {
        double product = a[l] * b[l];
        plain.total += product;
        plain.products2 += product * product;
        plain.input += read_a[l] * read_b[l] - product;
    }
    if (sampling->law->whole)
        plain.input = 0;
    return plain;
}

/* Variances of applying alpha, beta and C, rounded as the accumulator is, and
 * of the final rounding to a narrower type. */
static void finish(const struct sampling *sampling, int64_t index, double total,
                   int grid, double *ret_factors2, double *ret_output2)
{
    const struct gp_reference *reference = sampling->reference;
    const struct gp_gemm *gemm = &reference->gemm;
    const struct gp_type *out = gemm->out;
    int p = sampling->law->accumulator, emin = p == 53 ? -1022 : -126;
    double value = gemm->alpha * total, addend = 0, factors2 = 0;
    int added;

    if (gemm->alpha != 1) {
        grid += gp_law_grid(gemm->alpha);
        factors2 += gp_law_rounding(value, p, emin, &grid);
    }
    if (gemm->beta != 0)
        addend =
            gemm->beta *
            gp_type_value(gemm->out, gp_type_bits(out, reference->c, index));
    if (addend != 0) {
        added = gp_law_grid(addend);
        factors2 += gp_law_rounding(addend, p, emin, &added);
        grid = added < grid ? added : grid;
        factors2 += gp_law_rounding(value + addend, p, emin, &grid);
    }
    *ret_factors2 = factors2;
    *ret_output2 =
        gp_law_rounding(value + addend, out->precision, out->emin, &grid);
}

/* All of it relative to G. */
static void one_output(const struct sampling *sampling, int64_t index,
                       const struct plain *plain, const struct gp_path *path,
                       struct gp_moments *to, double *ret_square)
{
    const struct gp_reference *reference = sampling->reference;
    const struct gp_gemm *gemm = &reference->gemm;
    double ref = reference->ref[index], mag = reference->mag[index];
    double scale = gemm->alpha / mag, sign = ref < 0 ? -1 : ref > 0;
    double input = plain->input * scale, drift = path->drift * scale;
    double total = plain->total * scale, factors2, output2;
    double ulp = gp_type_ulp(gemm->out, ref) / mag;

    finish(sampling, index, plain->total, path->grid, &factors2, &output2);
    /* What is rounded to nearest goes to both sides. */
    *to = (struct gp_moments){
        .input2 = input * input,
        .input_drift = sampling->law->cut ? input * drift : 0,
        .drift2 = drift * drift,
        .variance = path->variance * scale * scale,
        .products2 = plain->products2 * scale * scale,
        .total2 = total * total,
        .factors2 = factors2 / mag / mag,
        .output2 = output2 / mag / mag,
        .input_bias = sampling->law->cut ? sign * input : 0,
        .drift_bias = sign * drift,
    };
    /* The mean of |x| is sqrt(2/pi) of its rms where x is normal. */
    to->unrounded = 0.79788456080286541 *
                    sqrt(to->drift2 + to->variance + to->factors2) / ulp;
    *ret_square = (input + drift) * (input + drift) + to->variance +
                  to->factors2 + to->output2;
}

static void one_row(void *ctx, size_t block)
{
    const struct sampling *sampling = ctx;
    const struct gp_gemm *gemm = &sampling->reference->gemm;
    int64_t batch = (int64_t)block / sampling->rows, k = gemm->k;
    int64_t row = (int64_t)block % sampling->rows * gemm->m / sampling->rows;
    double *a = malloc((size_t)k * sizeof *a);
    double *read_a = malloc((size_t)k * sizeof *read_a);

    if (!a || !read_a)
        gp_arena_out_of_memory((size_t)k * sizeof *a);
    gather(sampling, GP_A, batch, row, a, read_a);
    for (int64_t c = 0; c < sampling->columns; c++) {
        int64_t at = (int64_t)block * sampling->columns + c;
        int64_t column = c * gemm->n / sampling->columns;
        size_t from = (size_t)((batch * sampling->columns + c) * k);
        struct plain plain = plain_sums(sampling, a, read_a, sampling->b + from,
                                        sampling->read_b + from);
        struct gp_path path;

        gp_law_path(sampling->law, sampling->compute_capability, read_a,
                    sampling->read_b + from, k, &path);
        one_output(sampling, (batch * gemm->n + column) * gemm->m + row, &plain,
                   &path, &sampling->each[at], &sampling->square[at]);
    }
    free(a);
    free(read_a);
}

static void choose(struct sampling *sampling)
{
    const struct gp_gemm *gemm = &sampling->reference->gemm;
    int64_t most = STEPS / gemm->k, area;

    most = most > SIDE * SIDE               ? SIDE * SIDE
           : most < SIDE_LEAST * SIDE_LEAST ? SIDE_LEAST * SIDE_LEAST
                                            : most;
    sampling->rows = (int64_t)sqrt((double)most);
    sampling->rows = sampling->rows < gemm->m ? sampling->rows : gemm->m;
    sampling->columns = most / sampling->rows;
    if (sampling->columns > gemm->n) {
        sampling->columns = gemm->n;
        sampling->rows = most / sampling->columns;
        sampling->rows = sampling->rows < gemm->m ? sampling->rows : gemm->m;
    }
    area = most / (sampling->rows * sampling->columns);
    sampling->batches = area < gemm->batch ? area : gemm->batch;
}

static void gather_columns(struct sampling *sampling)
{
    const struct gp_gemm *gemm = &sampling->reference->gemm;
    size_t room = (size_t)(sampling->batches * sampling->columns * gemm->k);

    sampling->b = malloc(room * sizeof(double));
    sampling->read_b = malloc(room * sizeof(double));
    if (!sampling->b || !sampling->read_b)
        gp_arena_out_of_memory(room * sizeof(double));
    for (int64_t batch = 0; batch < sampling->batches; batch++)
        for (int64_t c = 0; c < sampling->columns; c++) {
            size_t to = (size_t)((batch * sampling->columns + c) * gemm->k);
            gather(sampling, GP_B, batch, c * gemm->n / sampling->columns,
                   sampling->b + to, sampling->read_b + to);
        }
}

/* Standard error of the mean of `count` groups of `each` values, the values
 * of a group `apart` from each other. */
static double group_error(const double *value, int64_t count, int64_t each,
                          int64_t next, int64_t apart)
{
    double mean = 0, square = 0;

    for (int64_t pass = 0; pass < 2; pass++)
        for (int64_t g = 0; g < count; g++) {
            double sum = 0;
            for (int64_t i = 0; i < each; i++)
                sum += value[g * next + i * apart];
            sum /= (double)each;
            if (pass)
                square += (sum - mean) * (sum - mean);
            else
                mean += sum / (double)count;
        }
    return count > 1 ? sqrt(square / (double)(count * (count - 1))) : 0;
}

static void average(const struct sampling *sampling,
                    struct gp_moments *ret_moments)
{
    int64_t lines = sampling->rows * sampling->batches, c = sampling->columns;
    int64_t count = lines * c;
    struct gp_moments sum = {0};
    double mean = 0, by_row, by_column, alone;

    for (int64_t i = 0; i < count; i++) {
        const struct gp_moments *one = &sampling->each[i];
        double n = (double)count;
        sum.input2 += one->input2 / n;
        sum.input_drift += one->input_drift / n;
        sum.drift2 += one->drift2 / n;
        sum.variance += one->variance / n;
        sum.products2 += one->products2 / n;
        sum.total2 += one->total2 / n;
        sum.factors2 += one->factors2 / n;
        sum.output2 += one->output2 / n;
        sum.input_bias += one->input_bias / n;
        sum.drift_bias += one->drift_bias / n;
        sum.unrounded += one->unrounded / n;
        mean += sampling->square[i] / n;
    }
    by_row = group_error(sampling->square, lines, c, c, 1);
    by_column = group_error(sampling->square, c, lines, 1, c);
    alone = group_error(sampling->square, count, 1, 1, 1);
    sum.relative_error =
        mean > 0 ? fmax(alone, fmax(by_row, by_column)) / mean : 0;
    *ret_moments = sum;
}

void gp_law_follow(const struct gp_reference *reference,
                   const struct gp_law *law, int compute_capability,
                   struct gp_moments *ret_moments)
{
    struct sampling sampling = {.reference = reference,
                                .law = law,
                                .compute_capability = compute_capability};
    size_t lines, outputs;

    choose(&sampling);
    gather_columns(&sampling);
    lines = (size_t)(sampling.rows * sampling.batches);
    outputs = lines * (size_t)sampling.columns;
    sampling.each = calloc(outputs, sizeof *sampling.each);
    sampling.square = calloc(outputs, sizeof *sampling.square);
    if (!sampling.each || !sampling.square)
        gp_arena_out_of_memory(outputs * sizeof *sampling.each);
    gp_parallel(lines, one_row, &sampling);
    average(&sampling, ret_moments);
    free(sampling.b);
    free(sampling.read_b);
    free(sampling.each);
    free(sampling.square);
}
