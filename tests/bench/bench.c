/*
 * What the reference costs, as ratios to one dgemm of the same run: the
 * product with its certificate, and the sums of magnitudes with theirs; and
 * what measuring one output costs. Each time is the median of an odd number of
 * rounds.
 *   bench [N [ROUNDS]]
 */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/base/arena.h"
#include "harness/check/measure.h"
#include "reference/certificate.h"
#include "reference/family.h"

enum { MOST_ROUNDS = 99 };

struct bench {
    int64_t n;
    double *a, *b, *c;
    float *abs_a, *abs_b, *sums;
    struct gp_certificate certificate;
    struct gp_reference reference; /* of the output `made` */
    void *made;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void dgemm(struct bench *bench)
{
    blasint n = (blasint)bench->n;

    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, bench->a,
                n, bench->b, n, 0, bench->c, n);
}

static void magnitudes(struct bench *bench)
{
    blasint n = (blasint)bench->n;

    for (int64_t i = 0; i < bench->n * bench->n; i++) {
        bench->abs_a[i] = (float)fabs(bench->a[i]);
        bench->abs_b[i] = (float)fabs(bench->b[i]);
    }
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1,
                bench->abs_a, n, bench->abs_b, n, 0, bench->sums, n);
}

static void must(int status, const struct gp_err *err)
{
    if (status == 0)
        return;
    fprintf(stderr, "bench: %s\n", err->text);
    exit(1);
}

static void certify(struct bench *bench)
{
    struct gp_err err;

    must(gp_certificate_rounded(&bench->certificate, &err), &err);
}

static void certify_exact(struct bench *bench)
{
    struct gp_err err;

    must(gp_certificate_exact(&bench->certificate, &err), &err);
}

static void certify_sums(struct bench *bench)
{
    struct gp_err err;

    must(gp_certificate_sums(&bench->certificate, &err), &err);
}

/* An output in FP32 or FP16 that is the rounded reference, as far as that can
 * be: what is measured does not depend on the values. */
static void make_output(struct bench *bench, const char *type)
{
    struct gp_gemm *gemm = &bench->reference.gemm;
    int64_t count = bench->n * bench->n;

    *gemm = (struct gp_gemm){.m = bench->n,
                             .n = bench->n,
                             .k = bench->n,
                             .batch = 1,
                             .alpha = 1,
                             .in = gp_type_find(type),
                             .out = gp_type_find(type)};
    bench->reference.ref = bench->c;
    bench->reference.error_rel = (double)bench->n * 0x1p-53;
    for (int64_t i = 0; i < count; i++)
        bench->reference.mag[i] = bench->sums[i];
    gp_type_store(gemm->out, bench->c, bench->made, count);
}

static void measure(struct bench *bench)
{
    const struct gp_bound bound = {
        .rel_mag = 0x1p-8, .omega_acc = INFINITY, .omega_out = INFINITY};
    struct gp_accuracy accuracy;

    gp_measure(&bench->reference, &bound, bench->made, &accuracy);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(void (*work)(struct bench *), struct bench *bench,
                     int rounds)
{
    double times[MOST_ROUNDS];

    work(bench);
    for (int r = 0; r < rounds; r++) {
        double from = now();
        work(bench);
        times[r] = now() - from;
    }
    qsort(times, (size_t)rounds, sizeof *times, by_size);
    return times[rounds / 2];
}

static void fill(struct bench *bench, const char *name)
{
    const struct gp_family *family = gp_family_find(name);
    const struct gp_gemm gemm = {.m = bench->n,
                                 .n = bench->n,
                                 .k = bench->n,
                                 .batch = 1,
                                 .lda = bench->n,
                                 .ldb = bench->n,
                                 .ldc = bench->n,
                                 .alpha = 1,
                                 .in = gp_type_find("f32"),
                                 .out = gp_type_find("f32")};
    struct gp_family_args args = {&gemm, 1, GP_A, 0};

    for (int64_t j = 0; j < bench->n; j++) {
        args.operand = GP_A;
        family->column(&args, j, bench->a + j * bench->n);
        args.operand = GP_B;
        family->column(&args, j, bench->b + j * bench->n);
    }
    bench->certificate = (struct gp_certificate){.m = bench->n,
                                                 .n = bench->n,
                                                 .k = bench->n,
                                                 .a = bench->a,
                                                 .b = bench->b,
                                                 .c = bench->c,
                                                 .sums = bench->sums,
                                                 .seed = 1,
                                                 .alone = true};
    if (family->grid)
        family->grid(&gemm, &bench->certificate.grid_a,
                     &bench->certificate.grid_b);
}

static void *room(int64_t count, size_t bytes)
{
    void *made = calloc((size_t)count, bytes);

    if (!made)
        gp_arena_out_of_memory((size_t)count * bytes);
    return made;
}

int main(int argc, char **argv)
{
    struct bench bench = {.n = argc > 1 ? strtol(argv[1], NULL, 10) : 2048};
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 7;
    int64_t count = bench.n * bench.n;
    double product, sums, checked, exact, summed, wide, narrow;

    if (bench.n < 1 || bench.n > 32768 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: bench [N [ROUNDS]]\n");
        return 2;
    }
    bench.a = room(count, sizeof(double));
    bench.b = room(count, sizeof(double));
    bench.c = room(count, sizeof(double));
    bench.abs_a = room(count, sizeof(float));
    bench.abs_b = room(count, sizeof(float));
    bench.sums = room(count, sizeof(float));
    bench.made = room(count, sizeof(float));
    bench.reference.mag = room(count, sizeof(double));
    fill(&bench, "dense");
    product = median(dgemm, &bench, rounds);
    sums = median(magnitudes, &bench, rounds);
    checked = median(certify, &bench, rounds);
    summed = median(certify_sums, &bench, rounds);
    make_output(&bench, "f32");
    wide = median(measure, &bench, rounds);
    make_output(&bench, "f16");
    narrow = median(measure, &bench, rounds);
    fill(&bench, "grid");
    dgemm(&bench);
    exact = median(certify_exact, &bench, rounds);
    printf("%s, kernel %s, %d threads, %lld^3, medians of %d rounds\n",
           openblas_get_config(), openblas_get_corename(),
           openblas_get_num_threads(), (long long)bench.n, rounds);
    printf("one dgemm                       %8.4f s  1.000\n", product);
    printf("dgemm and certificate, dense    %8.4f s  %.3f\n", product + checked,
           (product + checked) / product);
    printf("dgemm and certificate, grid     %8.4f s  %.3f\n", product + exact,
           (product + exact) / product);
    printf("|A||B| and its certificate      %8.4f s  %.3f more\n",
           sums + summed, (sums + summed) / product);
    printf("measuring an FP32 output        %8.4f s  %.3f\n", wide,
           wide / product);
    printf("measuring an FP16 output        %8.4f s  %.3f\n", narrow,
           narrow / product);
    return 0;
}
