/* SGEMM and DGEMM of the OpenBLAS on this machine, alpha and beta included:
 * here it is what is tested, not what is trusted. */
#define _GNU_SOURCE
#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/worker/backends/host.h"

static int openblas_multiply(struct gp_host *host,
                             const struct gp_host_product *product,
                             struct gp_err *err)
{
    const struct gp_gemm *g = &product->gemm;
    enum CBLAS_TRANSPOSE ta = g->trans_a ? CblasTrans : CblasNoTrans;
    enum CBLAS_TRANSPOSE tb = g->trans_b ? CblasTrans : CblasNoTrans;
    blasint m = (blasint)g->m, n = (blasint)g->n, k = (blasint)g->k;
    blasint lda = (blasint)g->lda, ldb = (blasint)g->ldb;
    blasint ldc = (blasint)g->ldc;

    (void)host;
    if (g->lda > INT_MAX || g->ldb > INT_MAX || g->ldc > INT_MAX)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "a leading dimension above 2147483647");
    for (int64_t batch = 0; batch < g->batch; batch++) {
        int64_t sa = batch * gp_gemm_stride(g, GP_A);
        int64_t sb = batch * gp_gemm_stride(g, GP_B);
        int64_t sd = batch * gp_gemm_stride(g, GP_C);
        if (g->in->bytes == 8)
            cblas_dgemm(CblasColMajor, ta, tb, m, n, k, g->alpha,
                        (const double *)product->a + sa, lda,
                        (const double *)product->b + sb, ldb, g->beta,
                        (double *)product->d + sd, ldc);
        else
            cblas_sgemm(CblasColMajor, ta, tb, m, n, k, (float)g->alpha,
                        (const float *)product->a + sa, lda,
                        (const float *)product->b + sb, ldb, (float)g->beta,
                        (float *)product->d + sd, ldc);
    }
    return 0;
}

static int openblas_open(void **ret_ctx, const char *variant,
                         const char *library, struct gp_err *err)
{
    (void)library;
    if (*variant)
        return gp_err_set(err, GP_ERR_USAGE,
                          "the backend openblas has no variant '%.40s'",
                          variant);
    return gp_host_open(ret_ctx, 0, openblas_multiply, err);
}

static int openblas_hello(void *ctx, json_t *reply, struct gp_err *err)
{
    json_t *offers = gp_json_array();
    Dl_info info = {0};
    char version[160], *word, *rest = NULL, *path = NULL;

    (void)ctx;
    (void)err;
    if (dladdr((void *)(uintptr_t)&cblas_dgemm, &info) && info.dli_fname)
        path = realpath(info.dli_fname, NULL);
    /* "OpenBLAS 0.3.21 NO_LAPACKE ...": the second word is the version. */
    snprintf(version, sizeof version, "%s", openblas_get_config());
    word = strtok_r(version, " ", &rest);
    word = word ? strtok_r(NULL, " ", &rest) : NULL;
    gp_host_hello(reply, "OpenBLAS", word ? word : "unknown", path ? path : "");
    gp_json_set_str(json_object_get(reply, "library"), "config",
                    openblas_get_config());
    gp_json_set_str(json_object_get(reply, "library"), "kernel",
                    openblas_get_corename());
    gp_json_set_int(json_object_get(reply, "library"), "threads",
                    openblas_get_num_threads());
    free(path);
    gp_backend_offer(offers, "gemm", "f32", "f32", "default pedantic", "",
                     true);
    gp_backend_offer(offers, "gemm", "f64", "f64", "default pedantic", "",
                     true);
    gp_json_set(reply, "offers", offers);
    return 0;
}

const struct gp_backend gp_backend = {
    .name = "openblas",
    .help = "SGEMM and DGEMM of the OpenBLAS on this machine",
    .open = openblas_open,
    .hello = openblas_hello,
    .prepare = gp_host_prepare,
    .launch = gp_host_launch,
    .digest = gp_host_digest,
    .keep = gp_host_keep,
    .compare = gp_host_compare,
    .audit = gp_host_audit,
    .close = gp_host_close,
};
