/* Faults and what was touched: each is seen where it is, and only there. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "harness/worker/backends/host.h"
#include "reference/refgemm.h"
#include "tests/unit/product.h"

/* A backend that holds a dense problem and has multiplied it once. */
struct bench {
    struct gp_reference reference;
    struct gp_host *host;
};

static void launch(struct bench *bench, int64_t repeat, bool last,
                   const struct gp_fault *fault)
{
    struct gp_err err = {0};
    double ns;

    cr_assert_eq(gp_host_launch(bench->host, repeat, last, fault, &ns, &err), 0,
                 "%s", err.text);
}

static void bench_make(struct bench *bench, const struct gp_gemm *gemm)
{
    const struct gp_fault none = {0};
    struct gp_job job = {.gemm = *gemm};
    struct gp_err err = {0};
    void *ctx;

    memset(bench, 0, sizeof *bench);
    cr_assert_eq(gp_reference_make(&bench->reference, gemm,
                                   gp_family_find("dense"), 3, &err),
                 0);
    job.a = bench->reference.a;
    job.b = bench->reference.b;
    job.c = bench->reference.c;
    cr_assert_eq(gp_host_open(&ctx, 0, gp_host_naive, &err), 0);
    cr_assert_eq(gp_host_prepare(ctx, &job, &err), 0);
    bench->host = ctx;
    launch(bench, 0, false, &none);
    cr_assert_eq(gp_host_keep(ctx, true, NULL, &err), 0);
}

static void bench_free(struct bench *bench)
{
    gp_host_close(bench->host);
    gp_reference_free(&bench->reference);
}

static struct gp_audit audited(struct bench *bench)
{
    struct gp_audit audit;
    struct gp_err err;

    cr_assert_eq(gp_host_audit(bench->host, &audit, &err), 0);
    return audit;
}

static struct gp_difference compared(struct bench *bench)
{
    struct gp_difference difference;
    struct gp_err err;

    cr_assert_eq(gp_host_compare(bench->host, &difference, &err), 0);
    return difference;
}

/* tn with padding everywhere, both layouts. */
static struct gp_gemm padded(bool row_major)
{
    struct gp_gemm gemm = product_of("f32", "f32", "tn", 7, 5, 11);

    gemm.row_major = row_major;
    product_ld(&gemm, 3);
    gemm.batch = 2;
    return gemm;
}

/* --- Planted
 * ------------------------------------------------------------------ */

Test(host_faults, a_bit_in_one_element_of_one_repeat)
{
    static const int64_t places[] = {0, 34, 35, 69};

    for (int row = 0; row < 2; row++)
        for (int p = 0; p < 4; p++)
            for (int bit = 0; bit < 32; bit += 31) {
                const struct gp_fault fault = {GP_FAULT_BIT, 4, places[p], bit};
                struct gp_gemm gemm = padded(row);
                struct bench bench;
                uint64_t before, after;
                size_t at = (size_t)gp_gemm_place(&gemm, GP_C, places[p]);
                bench_make(&bench, &gemm);
                before = gp_type_bits(gemm.out, bench.host->matrix[GP_C].data,
                                      (int64_t)at);
                launch(&bench, 3, false, &fault);
                cr_assert_eq(compared(&bench).elements, 0);
                launch(&bench, 4, false, &fault);
                after = gp_type_bits(gemm.out, bench.host->matrix[GP_C].data,
                                     (int64_t)at);
                cr_assert_eq(before ^ after, UINT64_C(1) << bit);
                cr_assert_eq(compared(&bench).elements, 1);
                cr_assert_eq(compared(&bench).first, places[p]);
                launch(&bench, 5, true, &fault);
                cr_assert_eq(compared(&bench).elements, 0);
                cr_assert_eq(audited(&bench).guard_bytes, 0);
                bench_free(&bench);
            }
}

/* Another order of summation: other bits, and still the product. */
Test(host_faults, a_variant_has_other_bits)
{
    const struct gp_fault fault = {.kind = GP_FAULT_VARIANT, .repeat = 2};
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 16, 16, 129);
    struct bench bench;
    float *d = malloc(256 * sizeof *d);
    struct gp_err err;

    bench_make(&bench, &gemm);
    launch(&bench, 1, false, &fault);
    cr_assert_eq(compared(&bench).elements, 0);
    launch(&bench, 2, false, &fault);
    cr_assert_gt(compared(&bench).elements, 100);
    cr_assert_eq(gp_host_keep(bench.host, false, d, &err), 0);
    for (int at = 0; at < 256; at++)
        cr_assert_float_eq(d[at], bench.reference.ref[at], 1e-4);
    launch(&bench, 3, true, &fault);
    cr_assert_eq(compared(&bench).elements, 0);
    free(d);
    bench_free(&bench);
}

Test(host_faults, an_input_and_a_guard_after_the_last_product)
{
    const struct gp_fault input = {.kind = GP_FAULT_INPUT, .place = 76};
    const struct gp_fault guard = {.kind = GP_FAULT_GUARD, .place = 4095};
    struct gp_gemm gemm = padded(true);
    struct gp_audit audit;
    struct bench bench;

    bench_make(&bench, &gemm);
    launch(&bench, 1, false, &input);
    cr_assert_eq(audited(&bench).input_elements, 0);
    launch(&bench, 2, true, &input);
    cr_assert_eq(compared(&bench).elements, 0);
    audit = audited(&bench);
    cr_assert_eq(audit.input_elements, 1);
    cr_assert_eq(audit.input_first, 76);
    cr_assert_str_eq(audit.input_where, "A");
    cr_assert_eq(audit.guard_bytes, 0);
    bench_free(&bench);

    bench_make(&bench, &gemm);
    launch(&bench, 1, false, &guard);
    cr_assert_eq(audited(&bench).guard_bytes, 0);
    launch(&bench, 2, true, &guard);
    audit = audited(&bench);
    cr_assert_eq(audit.guard_bytes, 1);
    cr_assert_eq(audit.guard_first, 4095);
    cr_assert_str_eq(audit.guard_where, "after D");
    cr_assert_eq(audit.input_elements, 0);
    bench_free(&bench);
}

static void refused(struct bench *bench, struct gp_fault fault)
{
    struct gp_err err = {0};
    double ns;

    cr_assert_eq(gp_host_launch(bench->host, 0, true, &fault, &ns, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_USAGE);
    cr_assert(*err.text);
}

Test(host_faults, what_is_not_there_cannot_be_planted)
{
    struct gp_gemm gemm = padded(false);
    const struct gp_fault halves = {.kind = GP_FAULT_VARIANT, .repeat = 0};
    struct gp_err err = {0};
    struct bench bench;
    double ns;

    bench_make(&bench, &gemm);
    refused(&bench, (struct gp_fault){GP_FAULT_BIT, 0, 70, 0});
    refused(&bench, (struct gp_fault){GP_FAULT_BIT, 0, 0, 32});
    refused(&bench, (struct gp_fault){GP_FAULT_INPUT, 0, 154, 0});
    refused(&bench, (struct gp_fault){GP_FAULT_GUARD, 0, 4096, 0});
    bench_free(&bench);
    gemm = product_of("f32", "f32", "nn", 3, 3, 1);
    bench_make(&bench, &gemm);
    cr_assert_eq(gp_host_launch(bench.host, 0, true, &halves, &ns, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_UNSUPPORTED);
    bench_free(&bench);
}

/* --- Touched
 * ------------------------------------------------------------------ */

/* Change one byte, see it named; put it back, see nothing. */
static void check_byte(struct bench *bench, unsigned char *byte,
                       const char *where, int64_t first)
{
    struct gp_audit audit;

    cr_assert_eq(*byte, GP_POISON);
    *byte = 0;
    audit = audited(bench);
    cr_assert_eq(audit.guard_bytes, 1, "%s", where);
    cr_assert_str_eq(audit.guard_where, where);
    cr_assert_eq(audit.guard_first, first, "%s: %d, not %d", where,
                 (int)audit.guard_first, (int)first);
    *byte = GP_POISON;
    cr_assert_eq(audited(bench).guard_bytes, 0);
}

Test(host_faults, every_guard_is_watched)
{
    static const char names[] = "ABD";

    for (int row = 0; row < 2; row++) {
        struct gp_gemm gemm = padded(row);
        struct bench bench;
        bench_make(&bench, &gemm);
        for (int which = 0; which < 3; which++) {
            struct gp_host_matrix *matrix = &bench.host->matrix[which];
            unsigned char *after = matrix->data + matrix->bytes;
            char where[24];
            snprintf(where, sizeof where, "before %c", names[which]);
            check_byte(&bench, matrix->base, where, 0);
            check_byte(&bench, matrix->data - 1, where, 4095);
            snprintf(where, sizeof where, "after %c", names[which]);
            check_byte(&bench, after, where, 0);
            check_byte(&bench, after + 4095, where, 4095);
        }
        bench_free(&bench);
    }
}

/* Every byte of padding: the place counts from the start of the matrix. */
Test(host_faults, all_padding_is_watched)
{
    static const char names[] = "ABD";

    for (int row = 0; row < 2; row++) {
        struct gp_gemm gemm = padded(row);
        struct bench bench;
        bench_make(&bench, &gemm);
        for (int which = 0; which < 3; which++) {
            struct gp_host_matrix *matrix = &bench.host->matrix[which];
            char *element = calloc(matrix->bytes, 1), where[24];
            int64_t padding = 0;
            snprintf(where, sizeof where, "padding of %c", names[which]);
            for (int64_t i = 0; i < gp_gemm_count(&gemm, which); i++)
                memset(element + 4 * gp_gemm_place(&gemm, which, i), 1, 4);
            for (size_t at = 0; at < matrix->bytes; at++)
                if (!element[at] && (at % 5 == 0 || !padding++))
                    check_byte(&bench, matrix->data + at, where, (int64_t)at);
            cr_assert_gt(padding, 0);
            free(element);
        }
        bench_free(&bench);
    }
}

Test(host_faults, many_bytes_are_counted_and_the_first_is_named)
{
    struct gp_gemm gemm = padded(false);
    struct gp_audit audit;
    struct bench bench;

    bench_make(&bench, &gemm);
    /* Three bytes of padding of B, one before it, two after D. */
    bench.host->matrix[GP_B].data[4 * 11] = 0;
    bench.host->matrix[GP_B].data[4 * 11 + 1] = 0;
    bench.host->matrix[GP_B].data[4 * 14 + 4 * 11] = 0;
    bench.host->matrix[GP_C].data[bench.host->matrix[GP_C].bytes + 9] = 0;
    bench.host->matrix[GP_C].data[bench.host->matrix[GP_C].bytes + 8] = 0;
    audit = audited(&bench);
    cr_assert_eq(audit.guard_bytes, 5);
    cr_assert_str_eq(audit.guard_where, "padding of B");
    cr_assert_eq(audit.guard_first, 44);
    bench.host->matrix[GP_B].base[77] = 0;
    audit = audited(&bench);
    cr_assert_eq(audit.guard_bytes, 6);
    cr_assert_str_eq(audit.guard_where, "before B");
    cr_assert_eq(audit.guard_first, 77);
    bench_free(&bench);
}

Test(host_faults, every_input_is_watched)
{
    for (int row = 0; row < 2; row++) {
        struct gp_gemm gemm = padded(row);
        struct bench bench;
        bench_make(&bench, &gemm);
        for (int which = 0; which < 2; which++)
            for (int64_t i = 0; i < gp_gemm_count(&gemm, which); i += 3) {
                unsigned char *byte =
                    bench.host->matrix[which].data +
                    4 * gp_gemm_place(&gemm, (enum gp_operand)which, i) + 3;
                struct gp_audit audit;
                *byte ^= 0x80;
                audit = audited(&bench);
                cr_assert_eq(audit.input_elements, 1);
                cr_assert_eq(audit.input_first, i);
                cr_assert_eq(audit.input_where[0], "AB"[which]);
                *byte ^= 0x80;
            }
        cr_assert_eq(audited(&bench).input_elements, 0);
        bench_free(&bench);
    }
}
