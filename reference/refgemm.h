/*
 * The reference of one problem: operands, exact result, magnitudes.
 *
 * AB comes from cblas_dgemm with alpha = 1, beta = 0; alpha, beta and C are
 * applied by our own code (OpenBLAS is not trusted with them). FP64 results
 * need a reference better than FP64: theirs is the unevaluated sum ref + low
 * (pair.h). G is an upper bound of |alpha| |A||B| + |beta| |C|, from
 * cblas_sgemm on magnitudes rounded up, inflated by its own worst error, or
 * made with the pair. The error of the reference itself, at most
 * error_rel * G + error_abs in each element, travels with it: it is 0 where
 * the family makes every sum exact.
 */
#ifndef GP_REFERENCE_REFGEMM_H
#define GP_REFERENCE_REFGEMM_H

#include "reference/bound.h"
#include "reference/family.h"

struct gp_reference {
    struct gp_gemm gemm;
    const struct gp_family *family;
    uint64_t seed;
    /* Packed operands in their type, stored shape. c is NULL if beta = 0,
     * unless the family gives one all the same. */
    void *a, *b, *c;
    /* m n batch values each, packed column-major. */
    double *ref;
    double *low;  /* ref + low is meant, ref that sum rounded; NULL: ref */
    double *mag;  /* G, rounded up */
    bool special; /* NaN and infinities in ref are the exact results */
    double error_rel, error_abs;
    struct gp_bound_data data;
    double seconds; /* what making it took */
};

/* Bytes of memory gp_reference_make needs at its peak. */
double gp_reference_bytes(const struct gp_gemm *gemm);

/* Make it. `{0}` before; gp_reference_free after, also on failure. */
int gp_reference_make(struct gp_reference *reference,
                      const struct gp_gemm *gemm,
                      const struct gp_family *family, uint64_t seed,
                      struct gp_err *err) GP_MUST_CHECK;
void gp_reference_free(struct gp_reference *reference);

/* What multiplies: OpenBLAS's own words about itself. */
struct gp_reference_library {
    char config[160]; /* OpenBLAS 0.3.21 ... */
    char kernel[32];  /* SkylakeX */
    int threads;
};
void gp_reference_library(struct gp_reference_library *ret_library);
void gp_reference_set_threads(int threads);

#endif
