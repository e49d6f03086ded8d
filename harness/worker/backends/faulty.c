/*
 * The plain product with one named sin: the proof that the checks can fail.
 * `faulty=SIN`; tests/faults.tsv says which check must catch each. The last
 * rows are ways to die: they prove that a broken worker is an error, never a
 * numerical failure and never silence.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/worker/backends/host.h"

struct sin_row {
    const char *name;
    /* Alter the product before it is multiplied (NULL: nothing). */
    void (*before)(struct gp_host *host, struct gp_host_product *product);
    /* Alter what stands in memory afterwards (NULL: nothing). */
    void (*after)(struct gp_host *host, const struct gp_host_product *product);
};

static unsigned char *byte_of_d(const struct gp_host *host, int64_t index)
{
    const struct gp_gemm *gemm = &host->job.gemm;

    return host->matrix[GP_C].data +
           (size_t)gp_gemm_place(gemm, GP_C, index) * gemm->out->bytes;
}

static void drop_last_k(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.k -= product->gemm.k > 1;
}

/* Round the laid out operands to TF32; launch restores them from the packed
 * originals, so that the audit of inputs stays clean. */
static void round_inputs(struct gp_host *host, int precision)
{
    const struct gp_gemm *gemm = &host->job.gemm;

    for (enum gp_operand which = GP_A; which <= GP_B; which++)
        for (int64_t i = 0; i < gp_gemm_count(gemm, which); i++) {
            double x = gp_type_value(
                gemm->in,
                gp_type_bits(gemm->in, host->matrix[which].packed, i));
            x = gp_round_to(x, precision, gemm->in->emin);
            gp_type_store(gemm->in, &x,
                          host->matrix[which].data +
                              (size_t)gp_gemm_place(gemm, which, i) *
                                  gemm->in->bytes,
                          1);
        }
}

static void tf32_inputs(struct gp_host *host, struct gp_host_product *product)
{
    (void)product;
    round_inputs(host, 11);
}

static void restore_inputs(struct gp_host *host,
                           const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    size_t bytes = gemm->in->bytes;

    (void)product;
    for (enum gp_operand which = GP_A; which <= GP_B; which++)
        for (int64_t i = 0; i < gp_gemm_count(gemm, which); i++)
            memcpy(host->matrix[which].data +
                       (size_t)gp_gemm_place(gemm, which, i) * bytes,
                   (unsigned char *)host->matrix[which].packed +
                       (size_t)i * bytes,
                   bytes);
}

static void swap_op(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    if (product->gemm.m == product->gemm.k)
        product->gemm.trans_a = !product->gemm.trans_a;
}

static void ignore_ld(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.lda = gp_gemm_rows(&product->gemm, GP_A);
}

static void one_batch(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.batch = 1;
}

static void copy_batch(struct gp_host *host,
                       const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    size_t each = (size_t)gp_gemm_stride(gemm, GP_C) * gemm->out->bytes;

    (void)product;
    for (int64_t batch = 1; batch < gemm->batch; batch++)
        memcpy(host->matrix[GP_C].data + (size_t)batch * each,
               host->matrix[GP_C].data, each);
}

static void ignore_beta(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    product->gemm.beta = 0;
}

static void write_guard(struct gp_host *host,
                        const struct gp_host_product *product)
{
    struct gp_host_matrix *d = &host->matrix[GP_C];

    (void)product;
    d->data[d->bytes] = 0;
}

static void write_padding(struct gp_host *host,
                          const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;
    size_t tight = (size_t)gp_gemm_tight_ld(gemm, GP_C);

    (void)product;
    if (gemm->ldc > (int64_t)tight)
        host->matrix[GP_C].data[tight * gemm->out->bytes] = 0;
}

static void write_input(struct gp_host *host,
                        const struct gp_host_product *product)
{
    if (product->last)
        host->matrix[GP_B].data[0] ^= 1;
}

static void skip_last(struct gp_host *host,
                      const struct gp_host_product *product)
{
    const struct gp_gemm *gemm = &host->job.gemm;

    (void)product;
    memset(byte_of_d(host, gp_gemm_count(gemm, GP_C) - 1), GP_POISON,
           gemm->out->bytes);
}

static void flip_bit(struct gp_host *host,
                     const struct gp_host_product *product)
{
    if (product->repeat == 7)
        *byte_of_d(host, gp_gemm_count(&host->job.gemm, GP_C) / 2) ^= 1;
}

static void die_kill(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    (void)product;
    raise(SIGKILL);
}

static void die_crash(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    (void)product;
    abort();
}

static void die_hang(struct gp_host *host, struct gp_host_product *product)
{
    (void)host;
    (void)product;
    for (;;)
        pause();
}

static const struct sin_row sins[] = {
    {"drop-last-k", drop_last_k, NULL},
    {"tf32-inputs", tf32_inputs, restore_inputs},
    {"swap-op", swap_op, NULL},
    {"ignore-ld", ignore_ld, NULL},
    {"batch-zero", one_batch, copy_batch},
    {"ignore-beta", ignore_beta, NULL},
    {"write-guard", NULL, write_guard},
    {"write-padding", NULL, write_padding},
    {"write-input", NULL, write_input},
    {"skip-last", NULL, skip_last},
    {"flip-bit", NULL, flip_bit},
    {"none", NULL, NULL}, /* the plain product: must raise nothing */
    {"die-kill", die_kill, NULL},
    {"die-crash", die_crash, NULL},
    {"die-hang", die_hang, NULL},
    {"die-garbage", NULL, NULL}, /* answers hello with something else */
    {"die-hello", NULL, NULL},   /* exits instead of answering hello */
};

enum { SINS = sizeof sins / sizeof *sins };

static int faulty_multiply(struct gp_host *host,
                           const struct gp_host_product *product,
                           struct gp_err *err)
{
    struct gp_host_product altered = *product;
    const struct sin_row *row = &sins[host->variant];

    if (row->before)
        row->before(host, &altered);
    if (gp_host_naive(host, &altered, err) != 0)
        return -1;
    if (row->after)
        row->after(host, product);
    return 0;
}

static int faulty_open(void **ret_ctx, const char *variant, const char *library,
                       struct gp_err *err)
{
    struct gp_buf names = {0};

    (void)library;
    for (int i = 0; i < SINS; i++) {
        if (strcmp(sins[i].name, variant) == 0) {
            gp_buf_free(&names);
            return gp_host_open(ret_ctx, i, faulty_multiply, err);
        }
        gp_buf_printf(&names, "%s%s", i ? " " : "", sins[i].name);
    }
    gp_err_set(err, GP_ERR_USAGE,
               "the backend faulty has no sin '%.40s': write faulty=SIN with "
               "one of %s",
               variant, gp_buf_text(&names));
    gp_buf_free(&names);
    return -1;
}

static int faulty_hello(void *ctx, json_t *reply, struct gp_err *err)
{
    const struct gp_host *host = ctx;
    const char *name = sins[host->variant].name;
    json_t *offers = gp_json_array();

    (void)err;
    if (strcmp(name, "die-hello") == 0)
        exit(5);
    if (strcmp(name, "die-garbage") == 0) {
        json_object_clear(reply);
        gp_json_set_str(reply, "greeting", "good morning");
        return 0;
    }
    gp_host_hello(reply, "gemmproof faulty product", name, "");
    gp_backend_offer(offers, "gemm", "f32", "f32", "default pedantic", "",
                     true);
    gp_backend_offer(offers, "gemm", "f64", "f64", "default pedantic", "",
                     true);
    gp_json_set(reply, "offers", offers);
    return 0;
}

const struct gp_backend gp_backend = {
    .name = "faulty",
    .help = "a triple loop that commits one named sin",
    .open = faulty_open,
    .hello = faulty_hello,
    .prepare = gp_host_prepare,
    .launch = gp_host_launch,
    .digest = gp_host_digest,
    .keep = gp_host_keep,
    .compare = gp_host_compare,
    .audit = gp_host_audit,
    .close = gp_host_close,
};
