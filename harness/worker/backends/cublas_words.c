#include "harness/worker/backends/cublas_call.h"

#include <string.h>

#include "harness/base/buf.h"
#include "harness/worker/backend.h"

/* BF16x9 came with CUDA 12.9; fixed-point emulation with CUDA 13.0 Update 2,
 * which holds cuBLAS 13.1.0. */
enum { SINCE_BF16X9 = 120900, SINCE_FIXEDPOINT = 130100 };

/* Numbers, since the headers of older toolkits lack the newer names. */
struct word {
    const char *word;
    int number;
    int since;
};

static const struct word maths[] = {
    {"default", 0, 0},   /* CUBLAS_DEFAULT_MATH */
    {"tensor-op", 1, 0}, /* CUBLAS_TENSOR_OP_MATH */
    {"pedantic", 2, 0},  /* CUBLAS_PEDANTIC_MATH */
    {"tf32", 3, 0},      /* CUBLAS_TF32_TENSOR_OP_MATH */
    /* CUBLAS_FP32_EMULATED_BF16X9_MATH */
    {"bf16x9", 4, SINCE_BF16X9},
    /* CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH */
    {"fp64-emulated", 8, SINCE_FIXEDPOINT},
    {NULL, 0, 0},
};

/* CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, OR-ed onto a mode. */
enum { FLAG_NO_REDUCED_PRECISION = 16 };

/* CUBLAS_COMPUTE_... */
static const struct word computes[] = {
    {"16f", 64, 0},
    {"16f-pedantic", 65, 0},
    {"32f", 68, 0},
    {"32f-pedantic", 69, 0},
    {"32f-fast-16f", 74, 0},
    {"32f-fast-16bf", 75, 0},
    {"32f-fast-tf32", 77, 0},
    {"32f-bf16x9", 78, SINCE_BF16X9}, /* ..._32F_EMULATED_16BFX9 */
    {"64f", 70, 0},
    {"64f-pedantic", 71, 0},
    {"64f-emulated", 79, SINCE_FIXEDPOINT}, /* ..._64F_EMULATED_FIXEDPOINT */
    {NULL, 0, 0},
};

static const struct {
    const char *name;
    cudaDataType type;
} types[] = {
    {"f16", CUDA_R_16F},
    {"bf16", CUDA_R_16BF},
    {"f32", CUDA_R_32F},
    {"f64", CUDA_R_64F},
};

static int find_word(const struct word *words, const char *kind,
                     const char *word, int version, int *ret_number,
                     struct gp_err *err)
{
    while (words->word && strcmp(words->word, word) != 0)
        words++;
    if (!words->word)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the cublas worker knows no %s '%s'", kind, word);
    if (version < words->since)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the %s '%s' needs cuBLAS %d.%d.%d or later", kind,
                          word, words->since / 10000,
                          words->since % 10000 / 100, words->since % 100);
    *ret_number = words->number;
    return 0;
}

static int find_type(const struct gp_type *type, cudaDataType *ret_type,
                     struct gp_err *err)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, type->name) == 0) {
            *ret_type = types[i].type;
            return 0;
        }
    }
    return gp_err_set(err, GP_ERR_UNSUPPORTED,
                      "the cublas worker knows no type '%s'", type->name);
}

/* What alpha and beta are: the type of the compute type. */
static cudaDataType scalar_of(const struct gp_cublas_mode *mode,
                              const char *compute)
{
    if (!mode->ex)
        return mode->in;
    if (strncmp(compute, "16f", 3) == 0)
        return CUDA_R_16F;
    return strncmp(compute, "64f", 3) == 0 ? CUDA_R_64F : CUDA_R_32F;
}

int gp_cublas_mode(const struct gp_cublas *cublas, const struct gp_gemm *gemm,
                   const struct gp_request *request,
                   struct gp_cublas_mode *ret_mode, struct gp_err *err)
{
    struct gp_cublas_mode mode = {0};
    int math, compute = 0;

    mode.ex = strcmp(request->entry, "gemm-ex") == 0;
    if (!mode.ex && strcmp(request->entry, "gemm") != 0)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the cublas worker knows no entry '%s'",
                          request->entry);
    if (find_type(gemm->in, &mode.in, err) ||
        find_type(gemm->out, &mode.out, err) ||
        find_word(maths, "math mode", request->math, cublas->version, &math,
                  err))
        return -1;
    if (mode.ex) {
        if (find_word(computes, "compute type", request->compute,
                      cublas->version, &compute, err))
            return -1;
    } else if (*request->compute) {
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the entry gemm takes no compute type, and '%s' was "
                          "asked for",
                          request->compute);
    } else if (mode.in != mode.out ||
               (mode.in != CUDA_R_32F && mode.in != CUDA_R_64F)) {
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the entry gemm multiplies f32 and f64; %s:%s needs "
                          "gemm-ex",
                          gemm->in->name, gemm->out->name);
    }
    if (request->no_reduced_precision)
        math |= FLAG_NO_REDUCED_PRECISION;
    mode.math = (cublasMath_t)math;
    mode.compute = (cublasComputeType_t)compute;
    mode.scalar = scalar_of(&mode, request->compute);
    *ret_mode = mode;
    return 0;
}

/* The documentation's table of supported combinations (cublasGemmEx). The
 * math modes of gemm-ex that are not the default are there so that a math
 * mode and a compute type can be asked for that contradict each other. */
static const struct {
    const char *entry, *in, *out, *math, *compute;
    bool flag;
} offers_made[] = {
    {"gemm", "f32", "f32", "default pedantic tf32 bf16x9", "", true},
    {"gemm", "f64", "f64", "default pedantic fp64-emulated", "", true},
    {"gemm-ex", "f32", "f32", "default pedantic tf32",
     "32f 32f-pedantic 32f-fast-16f 32f-fast-16bf 32f-fast-tf32 32f-bf16x9",
     true},
    {"gemm-ex", "f64", "f64", "default pedantic",
     "64f 64f-pedantic 64f-emulated", true},
    {"gemm-ex", "f16", "f16", "default pedantic",
     "16f 16f-pedantic 32f 32f-pedantic", true},
    {"gemm-ex", "f16", "f32", "default pedantic", "32f 32f-pedantic", true},
    {"gemm-ex", "bf16", "bf16", "default pedantic", "32f 32f-pedantic", true},
    {"gemm-ex", "bf16", "f32", "default pedantic", "32f 32f-pedantic", true},
};

/* Those of the words that this version has. */
static void words_since(const struct word *words, const char *all, int version,
                        struct gp_buf *buf)
{
    for (size_t len; *all; all += len + (all[len] == ' ')) {
        const struct word *at = words;

        len = strcspn(all, " ");
        while (at->word &&
               (strlen(at->word) != len || strncmp(at->word, all, len) != 0))
            at++;
        if (!at->word || version < at->since)
            continue;
        if (buf->len)
            gp_buf_str(buf, " ");
        gp_buf_add(buf, all, len);
    }
}

void gp_cublas_offer(const struct gp_cublas *cublas, json_t *offers)
{
    for (size_t i = 0; i < sizeof offers_made / sizeof offers_made[0]; i++) {
        struct gp_buf math = {0}, compute = {0};

        words_since(maths, offers_made[i].math, cublas->version, &math);
        words_since(computes, offers_made[i].compute, cublas->version,
                    &compute);
        gp_backend_offer(offers, offers_made[i].entry, offers_made[i].in,
                         offers_made[i].out, gp_buf_text(&math),
                         gp_buf_text(&compute), offers_made[i].flag);
        gp_json_set(json_array_get(offers, json_array_size(offers) - 1),
                    "scalars", json_pack("[ss]", "host", "device"));
        gp_buf_free(&math);
        gp_buf_free(&compute);
    }
}
