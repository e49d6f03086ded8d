/* Results by class: NaN, infinities, zeros and subnormal numbers. */
#include <math.h>

#include "harness/check/measure.h"

bool gp_classes_matter(const struct gp_family *family,
                       const struct gp_gemm *gemm)
{
    return (family && family->special) || gemm->k == 0 || gemm->alpha == 0;
}

/* Equal class: both NaN, the same infinity, or both finite. */
static bool same_class(double got, double ref)
{
    if (isfinite(ref))
        return isfinite(got);
    return isnan(ref) ? isnan(got) != 0 : got == ref;
}

static void remember(struct gp_element *first, int64_t index, double got,
                     double ref)
{
    if (first->index < 0)
        *first = (struct gp_element){index, got, ref, 0};
}

static void wrong_class(struct gp_classes *classes, int64_t index, double got,
                        double ref)
{
    classes->wrong++;
    classes->infinite_nan += isinf(ref) && isnan(got);
    classes->nan_infinite += isnan(ref) && isinf(got);
    remember(&classes->first_wrong, index, got, ref);
}

/* Zeros and subnormal results; `rounded` is the exact result in the type. */
static void small_one(const struct gp_reference *reference, double got,
                      double ref, double rounded, struct gp_classes *classes)
{
    const struct gp_gemm *gemm = &reference->gemm;
    double normal = ldexp(1, gemm->out->emin);

    if (ref == 0 && got == 0) {
        classes->zeros++;
        classes->negative += signbit(got) != 0;
        classes->sign_off += !signbit(got) != !signbit(ref);
    }
    if (ref != 0 && fabs(ref) < normal) {
        classes->subnormal++;
        classes->flushed += got == 0 && rounded != 0;
    } else if (ref != 0) {
        classes->lost +=
            got == 0 && reference->data.max_a < ldexp(1, gemm->in->emin);
    }
}

void gp_classes_count(const struct gp_reference *reference,
                      const struct gp_bound *bound, const void *output,
                      struct gp_classes *ret_classes)
{
    const struct gp_type *out = reference->gemm.out;
    struct gp_classes classes = {.first_wrong = {.index = -1},
                                 .first_inexact = {.index = -1}};

    for (int64_t i = 0; i < gp_gemm_count(&reference->gemm, GP_C); i++) {
        double got = gp_type_value(out, gp_type_bits(out, output, i));
        double ref = reference->ref[i], rounded = gp_type_round(out, ref);
        bool known = isfinite(ref) || reference->special;
        classes.special += known && !isfinite(ref);
        if (!isfinite(got) && isfinite(ref) &&
            gp_measure_may_overflow(reference, bound, i, got,
                                    gp_measure_limit(reference, bound, i)))
            continue;
        if (known && !same_class(got, ref))
            wrong_class(&classes, i, got, ref);
        if (!isfinite(got) || !isfinite(ref))
            continue;
        small_one(reference, got, ref, rounded, &classes);
        if (got != rounded || !signbit(got) != !signbit(rounded)) {
            classes.inexact++;
            remember(&classes.first_inexact, i, got, ref);
        }
    }
    *ret_classes = classes;
}
