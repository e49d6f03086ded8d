#include "reference/gemm.h"

#include <inttypes.h>

static const char operand_name[] = "ABC";

int64_t gp_gemm_rows(const struct gp_gemm *gemm, enum gp_operand which)
{
    if (which == GP_A)
        return gemm->trans_a ? gemm->k : gemm->m;
    if (which == GP_B)
        return gemm->trans_b ? gemm->n : gemm->k;
    return gemm->m;
}

int64_t gp_gemm_cols(const struct gp_gemm *gemm, enum gp_operand which)
{
    if (which == GP_A)
        return gemm->trans_a ? gemm->m : gemm->k;
    if (which == GP_B)
        return gemm->trans_b ? gemm->k : gemm->n;
    return gemm->n;
}

const struct gp_type *gp_gemm_type(const struct gp_gemm *gemm,
                                   enum gp_operand which)
{
    return which == GP_C ? gemm->out : gemm->in;
}

int64_t gp_gemm_ld(const struct gp_gemm *gemm, enum gp_operand which)
{
    const int64_t lds[] = {gemm->lda, gemm->ldb, gemm->ldc};

    return lds[which];
}

int64_t gp_gemm_tight_ld(const struct gp_gemm *gemm, enum gp_operand which)
{
    int64_t tight =
        gemm->row_major ? gp_gemm_cols(gemm, which) : gp_gemm_rows(gemm, which);

    return tight > 0 ? tight : 1;
}

int64_t gp_gemm_stride(const struct gp_gemm *gemm, enum gp_operand which)
{
    int64_t lines =
        gemm->row_major ? gp_gemm_rows(gemm, which) : gp_gemm_cols(gemm, which);

    return gp_gemm_ld(gemm, which) * lines;
}

int64_t gp_gemm_count(const struct gp_gemm *gemm, enum gp_operand which)
{
    return gp_gemm_rows(gemm, which) * gp_gemm_cols(gemm, which) * gemm->batch;
}

int64_t gp_gemm_place(const struct gp_gemm *gemm, enum gp_operand which,
                      int64_t index)
{
    int64_t rows = gp_gemm_rows(gemm, which);
    int64_t each = rows * gp_gemm_cols(gemm, which);
    int64_t i = index % each % rows, j = index % each / rows;
    int64_t ld = gp_gemm_ld(gemm, which);

    return index / each * gp_gemm_stride(gemm, which) +
           (gemm->row_major ? j + i * ld : i + j * ld);
}

bool gp_gemm_equal(const struct gp_gemm *a, const struct gp_gemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch && a->trans_a == b->trans_a &&
           a->trans_b == b->trans_b && a->row_major == b->row_major &&
           a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
           a->alpha == b->alpha && a->beta == b->beta && a->in == b->in &&
           a->out == b->out;
}

double gp_gemm_flops(const struct gp_gemm *gemm)
{
    return 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k *
           (double)gemm->batch;
}

static int gemm_check_operand(const struct gp_gemm *gemm, enum gp_operand which,
                              struct gp_err *err)
{
    int64_t ld = gp_gemm_ld(gemm, which), each;
    int64_t tight = gp_gemm_tight_ld(gemm, which);
    int64_t lines =
        gemm->row_major ? gp_gemm_rows(gemm, which) : gp_gemm_cols(gemm, which);

    if (ld < tight || ld > INT64_C(1) << 40)
        return gp_err_set(err, GP_ERR_USAGE,
                          "the leading dimension %" PRId64 " of %c is not "
                          "between %" PRId64 " and 2^40",
                          ld, operand_name[which], tight);
    if (__builtin_mul_overflow(ld, lines, &each) ||
        __builtin_mul_overflow(each, gemm->batch, &each) ||
        each > INT64_C(1) << 46)
        return gp_err_set(err, GP_ERR_USAGE,
                          "%c has more than 2^46 elements: choose smaller "
                          "sizes",
                          operand_name[which]);
    return 0;
}

int gp_gemm_check(const struct gp_gemm *gemm, struct gp_err *err)
{
    const int64_t sizes[] = {gemm->m, gemm->n, gemm->k, gemm->batch};
    static const char *const names[] = {"m", "n", "k", "batch"};

    for (int i = 0; i < 4; i++)
        if (sizes[i] < (i == 3) || sizes[i] > INT32_MAX)
            return gp_err_set(err, GP_ERR_USAGE,
                              "%s = %" PRId64 " is not a size between %d and "
                              "2147483647",
                              names[i], sizes[i], i == 3);
    for (enum gp_operand which = GP_A; which <= GP_C; which++)
        if (gemm_check_operand(gemm, which, err) != 0)
            return -1;
    return 0;
}
