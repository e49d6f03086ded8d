/* A plain triple loop: slow, and simple enough to be believed. */
#include "harness/worker/backends/host.h"

static int naive_open(void **ret_ctx, const char *variant, const char *library,
                      struct gp_err *err)
{
    (void)library;
    if (*variant)
        return gp_err_set(err, GP_ERR_USAGE,
                          "the backend naive has no variant '%.40s'", variant);
    if (gp_host_open(ret_ctx, 0, gp_host_naive, err) != 0)
        return -1;
    ((struct gp_host *)*ret_ctx)->keeps_sides = true;
    return 0;
}

static int naive_hello(void *ctx, json_t *reply, struct gp_err *err)
{
    static const struct {
        const char *in, *out, *computes;
    } narrow[] = {
        {"f16", "f16", "32f 32f-pedantic"},
        {"f16", "f32", "32f 32f-pedantic"},
        {"bf16", "bf16", "32f 32f-pedantic"},
        {"bf16", "f32", "32f 32f-pedantic"},
        {"f32", "f32", "32f 32f-pedantic"},
        {"f64", "f64", "64f 64f-pedantic"},
    };
    json_t *offers = gp_json_array();

    (void)ctx;
    (void)err;
    gp_host_hello(reply, "gemmproof triple loop", "1", "");
    gp_backend_offer(offers, "gemm", "f32", "f32", "default pedantic", "",
                     true);
    gp_backend_offer(offers, "gemm", "f64", "f64", "default pedantic", "",
                     true);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        gp_backend_offer(offers, "gemm-ex", narrow[i].in, narrow[i].out,
                         "default", narrow[i].computes, true);
    gp_json_set(reply, "offers", offers);
    return 0;
}

const struct gp_backend gp_backend = {
    .name = "naive",
    .help = "a triple loop on the CPU",
    .open = naive_open,
    .hello = naive_hello,
    .prepare = gp_host_prepare,
    .launch = gp_host_launch,
    .digest = gp_host_digest,
    .keep = gp_host_keep,
    .compare = gp_host_compare,
    .audit = gp_host_audit,
    .close = gp_host_close,
};
