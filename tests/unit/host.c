/* What host backends share: layout, poison, guards, faults and audit, on the
 * plain product. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "harness/worker/backends/host.h"
#include "reference/refgemm.h"
#include "tests/unit/product.h"

static const struct gp_fault no_fault = {0};

/* A backend that holds a problem, and its operands. */
struct bench {
    struct gp_reference reference;
    struct gp_host *host;
    void *d; /* packed */
    size_t bytes;
};

static void
bench_make(struct bench *bench, const struct gp_gemm *gemm, const char *family,
           int (*multiply)(struct gp_host *, const struct gp_host_product *,
                           struct gp_err *))
{
    struct gp_job job = {.gemm = *gemm};
    struct gp_err err = {0};
    void *ctx;

    memset(bench, 0, sizeof *bench);
    cr_assert_eq(gp_reference_make(&bench->reference, gemm,
                                   gp_family_find(family), 3, &err),
                 0, "%s", err.text);
    job.a = bench->reference.a;
    job.b = bench->reference.b;
    job.c = bench->reference.c;
    cr_assert_eq(gp_host_open(&ctx, 0, multiply, &err), 0);
    cr_assert_eq(gp_host_prepare(ctx, &job, &err), 0, "%s", err.text);
    bench->host = ctx;
    bench->bytes = (size_t)gp_gemm_count(gemm, GP_C) * gemm->out->bytes;
    bench->d = calloc(1, bench->bytes);
}

static void bench_free(struct bench *bench)
{
    gp_host_close(bench->host);
    gp_reference_free(&bench->reference);
    free(bench->d);
}

static void launch(struct bench *bench, int64_t repeat, bool last,
                   const struct gp_fault *fault)
{
    struct gp_err err = {0};
    double ns = -1;

    cr_assert_eq(gp_host_launch(bench->host, repeat, last, fault, &ns, &err), 0,
                 "%s", err.text);
    cr_assert_geq(ns, 0);
    cr_assert_eq(gp_host_keep(bench->host, false, bench->d, &err), 0);
}

static struct gp_audit audited(struct bench *bench)
{
    struct gp_audit audit;
    struct gp_err err;

    cr_assert_eq(gp_host_audit(bench->host, &audit, &err), 0);
    return audit;
}

static struct gp_digest digested(struct bench *bench)
{
    struct gp_digest digest;
    struct gp_err err;

    cr_assert_eq(gp_host_digest(bench->host, &digest, &err), 0);
    return digest;
}

static bool same_digest(const struct gp_digest *a, const struct gp_digest *b)
{
    return a->lane[0] == b->lane[0] && a->lane[1] == b->lane[1];
}

static double got(const struct bench *bench, int64_t at)
{
    const struct gp_type *out = bench->reference.gemm.out;

    return gp_type_value(out, gp_type_bits(out, bench->d, at));
}

static void check_exact(struct bench *bench, const char *what)
{
    const struct gp_gemm *gemm = &bench->reference.gemm;

    for (int64_t at = 0; at < gp_gemm_count(gemm, GP_C); at++)
        if (got(bench, at) != bench->reference.ref[at])
            cr_assert_fail("%s %c%c %s at %d: %a, not %a", what,
                           gemm->trans_a ? 't' : 'n', gemm->trans_b ? 't' : 'n',
                           gemm->in->name, (int)at, got(bench, at),
                           bench->reference.ref[at]);
}

static void check_clean(struct bench *bench)
{
    struct gp_audit audit = audited(bench);

    cr_assert_eq(audit.guard_bytes, 0, "%s %d", audit.guard_where,
                 (int)audit.guard_first);
    cr_assert_eq(audit.input_elements, 0);
    cr_assert_eq(audit.sentinels_left, 0);
    cr_assert(audit.guard_first == -1 && audit.input_first == -1 &&
              audit.sentinel_first == -1);
}

/* --- Layouts -----------------------------------------------------------------
 */

static const char *const ops[] = {"nn", "nt", "tn", "tt"};
static const char *const pairs[][2] = {{"f32", "f32"},   {"f64", "f64"},
                                       {"f16", "f16"},   {"f16", "f32"},
                                       {"bf16", "bf16"}, {"bf16", "f32"}};

/* One of many products: every op, type, layout, pad, batch and beta. */
static struct gp_gemm numbered(int n)
{
    struct gp_gemm gemm =
        product_of(pairs[n % 6][0], pairs[n % 6][1], ops[n / 6 % 4], 7, 5, 11);

    gemm.row_major = n / 24 & 1;
    product_ld(&gemm, n / 48 % 2 * 3);
    gemm.ldb += n / 96 % 2;
    gemm.batch = 1 + n / 192 % 2 * 2;
    gemm.alpha = n & 1 ? 1.5 : 1;
    gemm.beta = n & 2 ? -0.5 : 0;
    return gemm;
}

enum { NUMBERED = 384 };

/* The product, and once more in two halves of k (the fault "variant"): on
 * exact data both are right to the last bit. */
Test(host, every_layout_gives_the_product)
{
    const struct gp_fault halves = {.kind = GP_FAULT_VARIANT, .repeat = 1};

    for (int n = 0; n < NUMBERED; n++) {
        struct gp_gemm gemm = numbered(n);
        struct bench bench;
        bench_make(&bench, &gemm, "exact", gp_host_naive);
        launch(&bench, 0, false, &halves);
        check_exact(&bench, "whole");
        launch(&bench, 1, true, &halves);
        check_exact(&bench, "in halves");
        check_clean(&bench);
        bench_free(&bench);
    }
}

/* The chain of each element is the same in every layout, so are its bits. */
Test(host, layouts_give_the_same_bits)
{
    for (int op = 0; op < 4; op++) {
        struct gp_gemm gemm = product_of("f32", "f32", ops[op], 13, 9, 300);
        struct gp_digest column, row;
        struct bench bench;
        gemm.batch = 2;
        gemm.beta = 0.3;
        bench_make(&bench, &gemm, "dense", gp_host_naive);
        launch(&bench, 0, true, &no_fault);
        column = digested(&bench);
        bench_free(&bench);
        gemm.row_major = true;
        product_ld(&gemm, 5);
        bench_make(&bench, &gemm, "dense", gp_host_naive);
        launch(&bench, 0, true, &no_fault);
        row = digested(&bench);
        check_clean(&bench);
        bench_free(&bench);
        cr_assert(same_digest(&column, &row), "%s", ops[op]);
    }
}

Test(host, the_digest_is_that_of_the_packed_result)
{
    for (int n = 0; n < NUMBERED; n += 7) {
        struct gp_gemm gemm = numbered(n);
        struct gp_digest expected = {{0, 0}}, digest;
        struct bench bench;
        bench_make(&bench, &gemm, "dense", gp_host_naive);
        launch(&bench, 0, true, &no_fault);
        for (int64_t at = 0; at < gp_gemm_count(&gemm, GP_C); at++)
            for (int lane = 0; lane < 2; lane++)
                expected.lane[lane] += gp_hash_lane(
                    lane, (uint64_t)at, gp_type_bits(gemm.out, bench.d, at));
        digest = digested(&bench);
        cr_assert(same_digest(&digest, &expected));
        bench_free(&bench);
    }
}

/* D is C again before each launch, and what was written does not stay. */
Test(host, launches_begin_anew)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 9, 10);
    struct gp_digest first, second;
    struct bench bench;

    gemm.beta = 1;
    bench_make(&bench, &gemm, "dense", gp_host_naive);
    launch(&bench, 0, false, &no_fault);
    first = digested(&bench);
    launch(&bench, 1, false, &no_fault);
    launch(&bench, 2, true, &no_fault);
    second = digested(&bench);
    cr_assert(same_digest(&first, &second));
    bench_free(&bench);
}

/* --- Poison, sentinels
 * ---------------------------------------------------------- */

static int do_nothing(struct gp_host *host,
                      const struct gp_host_product *product, struct gp_err *err)
{
    (void)host;
    (void)product;
    (void)err;
    return 0;
}

/* What is around and between elements, and D before it is written, is 0xff:
 * a NaN in every type. */
Test(host, everything_else_is_poison)
{
    for (int n = 0; n < NUMBERED; n += 5) {
        struct gp_gemm gemm = numbered(n);
        struct bench bench;
        gemm.beta = 0;
        bench_make(&bench, &gemm, "dense", do_nothing);
        launch(&bench, 0, true, &no_fault);
        for (enum gp_operand which = GP_A; which <= GP_C; which++) {
            const struct gp_host_matrix *matrix = &bench.host->matrix[which];
            size_t elements =
                which == GP_C ? 0 : (size_t)gp_gemm_count(&gemm, which);
            size_t all = matrix->bytes + 2 * GP_GUARD_BYTES, poisoned = 0;
            size_t size = gp_gemm_type(&gemm, which)->bytes;
            cr_assert_eq(matrix->data - matrix->base, GP_GUARD_BYTES);
            for (size_t at = 0; at < all; at++)
                poisoned += matrix->base[at] == GP_POISON;
            /* A byte of an element may happen to be 0xff as well. */
            cr_assert_geq(poisoned, all - elements * size);
            if (which == GP_C)
                cr_assert_eq(poisoned, all);
        }
        bench_free(&bench);
    }
}

Test(host, elements_that_were_never_written)
{
    for (int n = 0; n < NUMBERED; n += 5) {
        struct gp_gemm gemm = numbered(n);
        struct gp_audit audit;
        struct bench bench;
        gemm.beta = 0;
        bench_make(&bench, &gemm, "dense", do_nothing);
        launch(&bench, 0, true, &no_fault);
        audit = audited(&bench);
        cr_assert_eq(audit.sentinels_left, gp_gemm_count(&gemm, GP_C));
        cr_assert_eq(audit.sentinel_first, 0);
        cr_assert_eq(audit.guard_bytes, 0);
        bench_free(&bench);
        /* With beta D holds C, and C has no sentinels. */
        gemm.beta = 2;
        bench_make(&bench, &gemm, "dense", do_nothing);
        launch(&bench, 0, true, &no_fault);
        cr_assert_eq(audited(&bench).sentinels_left, 0);
        cr_assert_eq(memcmp(bench.d, bench.reference.c, bench.bytes), 0);
        bench_free(&bench);
    }
}

static int all_but_one(struct gp_host *host,
                       const struct gp_host_product *product,
                       struct gp_err *err)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    size_t bytes = gemm->out->bytes;

    if (gp_host_naive(host, product, err) != 0)
        return -1;
    memset(host->matrix[GP_C].data +
               (size_t)gp_gemm_place(gemm, GP_C, 23) * bytes,
           GP_POISON, bytes);
    return 0;
}

Test(host, one_element_that_was_never_written)
{
    for (int n = 0; n < NUMBERED; n += 5) {
        struct gp_gemm gemm = numbered(n);
        struct gp_audit audit;
        struct bench bench;
        gemm.beta = 0;
        bench_make(&bench, &gemm, "dense", all_but_one);
        launch(&bench, 0, true, &no_fault);
        audit = audited(&bench);
        cr_assert_eq(audit.sentinels_left, 1);
        cr_assert_eq(audit.sentinel_first, 23);
        bench_free(&bench);
    }
}

/* --- Comparison
 * ------------------------------------------------------------------ */

Test(host, compare_counts_elements_that_differ_in_any_bit)
{
    struct gp_gemm gemm =
        numbered(24 + 48 + 192); /* row-major, padded, batch */
    struct gp_difference difference;
    struct gp_err err;
    struct bench bench;

    bench_make(&bench, &gemm, "dense", gp_host_naive);
    launch(&bench, 0, false, &no_fault);
    cr_assert_eq(gp_host_keep(bench.host, true, NULL, &err), 0);
    cr_assert_eq(gp_host_compare(bench.host, &difference, &err), 0);
    cr_assert(difference.elements == 0 && difference.first == -1);
    for (int64_t at = 17; at < gp_gemm_count(&gemm, GP_C); at += 30)
        bench.host->matrix[GP_C]
            .data[(size_t)gp_gemm_place(&gemm, GP_C, at) * gemm.out->bytes] ^=
            1;
    cr_assert_eq(gp_host_compare(bench.host, &difference, &err), 0);
    cr_assert_eq(difference.elements, 3); /* 17, 47, 77 of 105 */
    cr_assert_eq(difference.first, 17);
    bench_free(&bench);
}
