/*
 * One output against its reference: every number that checks and reports
 * need, in one pass. docs/checks.md, "What is measured".
 */
#ifndef GP_CHECK_MEASURE_H
#define GP_CHECK_MEASURE_H

#include "harness/check/deviation.h"
#include "reference/bound.h"
#include "reference/refgemm.h"

/* An element, and why it was remembered. */
struct gp_element {
    int64_t index; /* packed; -1: none */
    double got, ref, limit;
};

/* Elements by class, where the family or the product is about it. Counted
 * against the exact results; "off" is of those beyond the bound's range rule.
 */
struct gp_classes {
    int64_t special;      /* exact result NaN or infinite */
    int64_t wrong;        /* another class than the exact result's */
    int64_t infinite_nan; /* of these: NaN that must be infinite */
    int64_t nan_infinite; /* infinite that must be NaN */
    struct gp_element first_wrong;
    int64_t zeros;    /* finite, and zero where the exact result is */
    int64_t negative; /* of these -0 */
    int64_t sign_off; /* of these with another sign than beta C, or +0 */
    int64_t inexact;  /* not the exact result rounded, sign included */
    struct gp_element first_inexact;
    int64_t subnormal; /* exact results below the smallest normal number */
    int64_t flushed;   /* of these, zero although they round to none */
    int64_t lost;      /* zero where the exact result is a normal number and
                          all of A is subnormal */
};

struct gp_accuracy {
    int64_t count;     /* elements */
    int64_t outside;   /* beyond their bound, NaN or infinite without need */
    int64_t ambiguous; /* not finite, where a sum may overflow: not judged */
    int64_t special;   /* exact result NaN or infinite: not measured here */
    int64_t rounded;   /* equal to the reference rounded to the type */
    /* Elements whose rounded reference is the rounded exact result for sure,
     * and how many outputs equal it. */
    int64_t sure, sure_rounded;
    struct gp_element worst;           /* the largest share of its bound */
    struct gp_element first_unrounded; /* first that is not the rounded one */
    double max_share;                  /* worst |error| / limit */
    double omega;                      /* largest |error| / G */
    double max_ulp, mean_ulp;          /* |error| in ulps of the reference */
    double norm_error, norm_ref;       /* Frobenius */
    struct gp_deviation deviation;
    struct gp_classes classes; /* if gp_classes_count was asked for */
};

/* Is one element wrong: not the reference rounded to the type if `rounded`,
 * else outside its bound; NaN or infinite without need in both. `*ret_limit`
 * is what it may be off. */
bool gp_measure_wrong(const struct gp_reference *reference,
                      const struct gp_bound *bound, bool rounded, int64_t index,
                      double got, double *ret_limit);

/* May NaN or an infinity stand where the exact result is finite: can a sum of
 * this element overflow? `limit` is what its bound allows. */
bool gp_measure_may_overflow(const struct gp_reference *reference,
                             const struct gp_bound *bound, int64_t index,
                             double got, double limit);

/* What the bound allows one element. */
double gp_measure_limit(const struct gp_reference *reference,
                        const struct gp_bound *bound, int64_t index);

/* Is this a product whose classes count: of a family that is about them, or
 * one with nothing to sum (k = 0, alpha = 0)? The family may be NULL. */
bool gp_classes_matter(const struct gp_family *family,
                       const struct gp_gemm *gemm);
void gp_classes_count(const struct gp_reference *reference,
                      const struct gp_bound *bound, const void *output,
                      struct gp_classes *ret_classes);

/* Measure a packed output. The numbers are the same for any number of
 * threads. */
void gp_measure(const struct gp_reference *reference,
                const struct gp_bound *bound, const void *output,
                struct gp_accuracy *ret_accuracy);

#endif
