/* The one call of cuBLAS, written as a vendor's engineer would write it. */
#include "harness/cli/repro.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

struct pair {
    const char *word, *name;
};

static const struct pair maths[] = {
    {"default", "CUBLAS_DEFAULT_MATH"},
    {"tensor-op", "CUBLAS_TENSOR_OP_MATH"},
    {"pedantic", "CUBLAS_PEDANTIC_MATH"},
    {"tf32", "CUBLAS_TF32_TENSOR_OP_MATH"},
    {"bf16x9", "CUBLAS_FP32_EMULATED_BF16X9_MATH"},
    {"fp64-emulated", "CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH"},
    {NULL, NULL},
};

static const struct pair computes[] = {
    {"16f", "CUBLAS_COMPUTE_16F"},
    {"16f-pedantic", "CUBLAS_COMPUTE_16F_PEDANTIC"},
    {"32f", "CUBLAS_COMPUTE_32F"},
    {"32f-pedantic", "CUBLAS_COMPUTE_32F_PEDANTIC"},
    {"32f-fast-16f", "CUBLAS_COMPUTE_32F_FAST_16F"},
    {"32f-fast-16bf", "CUBLAS_COMPUTE_32F_FAST_16BF"},
    {"32f-fast-tf32", "CUBLAS_COMPUTE_32F_FAST_TF32"},
    {"32f-bf16x9", "CUBLAS_COMPUTE_32F_EMULATED_16BFX9"},
    {"64f", "CUBLAS_COMPUTE_64F"},
    {"64f-pedantic", "CUBLAS_COMPUTE_64F_PEDANTIC"},
    {"64f-emulated", "CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT"},
    {NULL, NULL},
};

static const struct pair types[] = {
    {"f16", "CUDA_R_16F"}, {"bf16", "CUDA_R_16BF"},
    {"f32", "CUDA_R_32F"}, {"f64", "CUDA_R_64F"},
    {NULL, NULL},
};

static const char *name_of(const struct pair *pairs, const char *word)
{
    while (pairs->word && strcmp(pairs->word, word) != 0)
        pairs++;
    return pairs->name;
}

const char *gp_repro_math(const char *math)
{
    return name_of(maths, math);
}

const char *gp_repro_compute(const char *compute)
{
    return name_of(computes, compute);
}

/* By entry, type of the scalars, batches and width of the sizes. */
static const char *function_of(const struct gp_gemm *gemm, bool ex, bool wide)
{
    static const char *const names[3][2][2] = {
        {{"cublasSgemm", "cublasSgemm_64"},
         {"cublasSgemmStridedBatched", "cublasSgemmStridedBatched_64"}},
        {{"cublasDgemm", "cublasDgemm_64"},
         {"cublasDgemmStridedBatched", "cublasDgemmStridedBatched_64"}},
        {{"cublasGemmEx", "cublasGemmEx_64"},
         {"cublasGemmStridedBatchedEx", "cublasGemmStridedBatchedEx_64"}},
    };

    return names[ex ? 2 : gemm->in->bytes == 8][gemm->batch > 1][wide];
}

static void print_scalar(const char *name, const char *type, double value,
                         struct gp_buf *buf)
{
    uint16_t half;

    if (strcmp(type, "uint16_t") == 0) {
        gp_type_store(gp_type_find("f16"), &value, &half, 1);
        gp_buf_printf(buf,
                      "    const uint16_t %s = 0x%04x; /* %.17g in FP16 */\n",
                      name, half, value);
    } else {
        gp_buf_printf(buf, "    const %s %s = (%s)%.17g;\n", type, name, type,
                      value);
    }
}

/* ", (const float *)a, lda, stride" as the entry wants them. */
static void print_operand(const struct gp_gemm *gemm, enum gp_operand which,
                          bool ex, struct gp_buf *buf)
{
    static const char letters[] = "abd";
    const struct gp_type *type = gp_gemm_type(gemm, which);

    if (ex)
        gp_buf_printf(buf, ", %c, %s, %" PRId64, letters[which],
                      name_of(types, type->name), gp_gemm_ld(gemm, which));
    else
        gp_buf_printf(buf, ", (%s%s *)%c, %" PRId64,
                      which == GP_C ? "" : "const ",
                      type->bytes == 8 ? "double" : "float", letters[which],
                      gp_gemm_ld(gemm, which));
    if (gemm->batch > 1)
        gp_buf_printf(buf, ", %" PRId64, gp_gemm_stride(gemm, which));
}

static bool is_wide(const struct gp_gemm *gemm)
{
    const int64_t sizes[] = {gemm->m,   gemm->n,   gemm->k,    gemm->lda,
                             gemm->ldb, gemm->ldc, gemm->batch};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] > INT_MAX)
            return true;
    return false;
}

/* Row-major D = op(A) op(B) is column-major D' = op(B)' op(A)', and a
 * row-major matrix read as column-major is its transpose. */
static void print_call(const struct gp_gemm *gemm,
                       const struct gp_request *request, const char *name,
                       struct gp_buf *buf)
{
    bool ex = *request->compute, row = gemm->row_major;
    bool first = row ? gemm->trans_b : gemm->trans_a;
    bool second = row ? gemm->trans_a : gemm->trans_b;

    gp_buf_printf(buf,
                  "    return %s(\n        handle, CUBLAS_OP_%c, CUBLAS_OP_%c, "
                  "%" PRId64 ", %" PRId64 ", %" PRId64 ",\n        &alpha",
                  name, first ? 'T' : 'N', second ? 'T' : 'N',
                  row ? gemm->n : gemm->m, row ? gemm->m : gemm->n, gemm->k);
    print_operand(gemm, row ? GP_B : GP_A, ex, buf);
    print_operand(gemm, row ? GP_A : GP_B, ex, buf);
    gp_buf_str(buf, ",\n        &beta");
    print_operand(gemm, GP_C, ex, buf);
    if (gemm->batch > 1)
        gp_buf_printf(buf, ", %" PRId64, gemm->batch);
    if (ex)
        gp_buf_printf(buf, ",\n        %s, CUBLAS_GEMM_DEFAULT",
                      gp_repro_compute(request->compute));
    gp_buf_str(buf, ");\n");
}

void gp_repro_call(const struct gp_run *run, struct gp_buf *buf,
                   const char **ret_name)
{
    const struct gp_gemm *gemm = &run->problem->gemm;
    struct gp_request request;
    const char *scalar;

    gp_run_request(run, &request);
    *ret_name = function_of(gemm, *request.compute != '\0', is_wide(gemm));
    scalar = gemm->in->bytes == 8                      ? "double"
             : strncmp(request.compute, "16f", 3) == 0 ? "uint16_t"
                                                       : "float";
    gp_buf_str(buf, "/* d holds C when the call begins.");
    if (gemm->row_major)
        gp_buf_str(buf, " The matrices are row-major: read as\n * "
                        "column-major they are transposed, so operands and "
                        "sizes change places.");
    gp_buf_str(buf, " */\nstatic cublasStatus_t multiply(cublasHandle_t "
                    "handle, const void *a,\n                               "
                    "const void *b, void *d)\n{\n");
    print_scalar("alpha", scalar, gemm->alpha, buf);
    print_scalar("beta", scalar, gemm->beta, buf);
    gp_buf_str(buf, "\n");
    print_call(gemm, &request, *ret_name, buf);
    gp_buf_str(buf, "}\n");
}
