#include "reference/special.h"

#include <math.h>
#include <string.h>

#include "harness/base/shm.h"

enum { IS_NAN = 1, IS_PLUS = 2, IS_MINUS = 4 };

static unsigned char class_of(double x)
{
    if (isnan(x))
        return IS_NAN;
    if (isinf(x))
        return x > 0 ? IS_PLUS : IS_MINUS;
    return 0;
}

/* The terms of position l: those whose A or B is not finite. */
static void add_terms(const struct gp_gemm *gemm, const double *a,
                      const double *b, int64_t l, unsigned char *classes)
{
    const double *column = a + l * gemm->m, *row = b + l;

    for (int64_t i = 0; i < gemm->m; i++)
        for (int64_t j = 0; !isfinite(column[i]) && j < gemm->n; j++)
            classes[i + j * gemm->m] |= class_of(column[i] * row[j * gemm->k]);
    for (int64_t j = 0; j < gemm->n; j++)
        for (int64_t i = 0; !isfinite(row[j * gemm->k]) && i < gemm->m; i++)
            classes[i + j * gemm->m] |= class_of(column[i] * row[j * gemm->k]);
}

static bool all_finite(const double *x, int64_t count)
{
    bool finite = true;

    for (int64_t i = 0; i < count; i++)
        finite &= isfinite(x[i]) != 0;
    return finite;
}

static void strip(double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = isfinite(x[i]) ? x[i] : 0;
}

int gp_special_strip(const struct gp_gemm *gemm, double *a, double *b,
                     unsigned char **ret_classes, struct gp_err *err)
{
    int64_t a_count = gemm->m * gemm->k, b_count = gemm->k * gemm->n;
    size_t results = (size_t)(gemm->m * gemm->n);
    void *classes = NULL;

    *ret_classes = NULL;
    if (all_finite(a, a_count) && all_finite(b, b_count))
        return 0;
    if (gemm->alpha != 0) {
        if (gp_matrix_alloc(&classes, results, "the classes of the results",
                            err) != 0)
            return -1;
        memset(classes, 0, results);
        for (int64_t l = 0; l < gemm->k; l++)
            add_terms(gemm, a, b, l, classes);
    }
    strip(a, a_count);
    strip(b, b_count);
    *ret_classes = classes;
    return 0;
}

bool gp_special_result(const struct gp_gemm *gemm, unsigned char class,
                       double c, double *ret_result)
{
    double sum = 0;

    if (class & IS_NAN)
        sum = (double)NAN;
    if (class & IS_PLUS)
        sum += gemm->alpha * (double)INFINITY;
    if (class & IS_MINUS)
        sum += gemm->alpha * -(double)INFINITY;
    if (gemm->beta != 0)
        sum += gemm->beta * c;
    /* A finite beta C that leaves the range of FP64 is no special one. */
    if (isfinite(sum) || (!class && isfinite(c)))
        return false;
    *ret_result = sum;
    return true;
}
