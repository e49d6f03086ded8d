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

struct gp_accuracy {
    int64_t count;     /* elements */
    int64_t outside;   /* beyond their bound, NaN or infinite without need */
    int64_t ambiguous; /* not finite, where a sum may overflow: not judged */
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
};

/* Is one element wrong: not the reference rounded to the type if `rounded`,
 * else outside its bound; NaN or infinite without need in both. `*ret_limit`
 * is what it may be off. */
bool gp_measure_wrong(const struct gp_reference *reference,
                      const struct gp_bound *bound, bool rounded, int64_t index,
                      double got, double *ret_limit);

/* Measure a packed output. The numbers are the same for any number of
 * threads. */
void gp_measure(const struct gp_reference *reference,
                const struct gp_bound *bound, const void *output,
                struct gp_accuracy *ret_accuracy);

#endif
