/*
 * The plain product with one named sin: the proof that the checks can fail.
 * `faulty=SIN`; tests/faults.tsv says which check must catch each. Some sins
 * are ways to die: they prove that a broken worker is an error, never a
 * numerical failure and never silence.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/base/word.h"
#include "harness/worker/backends/faulty_sums.h"

unsigned char *gp_faulty_d(const struct gp_host *host, int64_t index)
{
    const struct gp_gemm *gemm = &host->job.gemm;

    return host->matrix[GP_C].data +
           (size_t)gp_gemm_place(gemm, GP_C, index) * gemm->out->bytes;
}

void gp_faulty_put(const struct gp_host *host, int64_t index, uint64_t bits)
{
    unsigned char *to = gp_faulty_d(host, index);

    for (size_t i = 0; i < host->job.gemm.out->bytes; i++)
        to[i] = (unsigned char)(bits >> 8 * i);
}

/* The sin of a number that counts through all tables; NULL beyond them. */
static const struct gp_faulty_sin *sin_of(int number)
{
    static const struct gp_faulty_sin *const tables[] = {
        gp_faulty_products, gp_faulty_sums, gp_faulty_algorithms,
        gp_faulty_special, gp_faulty_deeds};

    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct gp_faulty_sin *row = tables[t]; row->name; row++)
            if (number-- == 0)
                return row;
    return NULL;
}

double gp_faulty_number(const struct gp_host *host)
{
    return sin_of(host->variant)->number;
}

static int faulty_multiply(struct gp_host *host,
                           const struct gp_host_product *product,
                           struct gp_err *err)
{
    struct gp_host_product altered = *product;
    const struct gp_faulty_sin *row = sin_of(host->variant);
    int status;

    if (row->before)
        row->before(host, &altered);
    if (row->sum)
        status = gp_faulty_multiply(host, &altered, row->sum, err);
    else if (row->multiply)
        status = row->multiply(host, &altered, err);
    else
        status = gp_host_naive(host, &altered, err);
    if (status == 0 && row->after)
        row->after(host, product);
    return status;
}

static int faulty_open(void **ret_ctx, const char *variant, const char *library,
                       struct gp_err *err)
{
    enum { SINS_MOST = 200 };
    const char *names[SINS_MOST + 1] = {NULL};
    const struct gp_faulty_sin *row;

    (void)library;
    for (int i = 0; (row = sin_of(i)) != NULL; i++) {
        if (strcmp(row->name, variant) == 0)
            return gp_host_open(ret_ctx, i, faulty_multiply, err);
        if (i < SINS_MOST)
            names[i] = row->name;
    }
    return gp_err_set(err, GP_ERR_USAGE,
                      "the backend faulty has no sin '%.40s': did you mean "
                      "faulty=%s? tests/faults.tsv has all of them",
                      variant, gp_word_nearest(variant, names));
}

/* Also modes that promise less than the plain product delivers: what is a sin
 * under one mode is right under another. */
static void offer(json_t *offers)
{
    static const char *const narrow[][2] = {
        {"f16", "f16"}, {"f16", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"}};

    gp_backend_offer(offers, "gemm", "f32", "f32",
                     "default pedantic tf32 bf16x9", "", true);
    gp_backend_offer(offers, "gemm", "f64", "f64",
                     "default pedantic fp64-emulated", "", true);
    gp_backend_offer(offers, "gemm-ex", "f32", "f32", "default",
                     "32f-fast-16bf", true);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        gp_backend_offer(
            offers, "gemm-ex", narrow[i][0], narrow[i][1], "default",
            i == 0 ? "32f 32f-pedantic 16f" : "32f 32f-pedantic", true);
}

static int faulty_hello(void *ctx, json_t *reply, struct gp_err *err)
{
    const struct gp_host *host = ctx;
    const char *name = sin_of(host->variant)->name;
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
    offer(offers);
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
