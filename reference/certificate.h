/*
 * Is the host library's product right? Every reference is certified before it
 * judges anything, at a cost of O(mn + mk + kn).
 *
 * Both certificates are Freivalds' (1979): C x against A (B x) for random x,
 * in blocks of columns. On data whose sums are exact the comparison is exact,
 * modulo P = 2^61 - 1: a wrong element is missed with probability at most 1/P.
 * On other data x is +-1, so a single wrong element always shows, and the sums
 * are compensated (Ogita, Rump, Oishi 2005) so that only the product's own
 * rounding remains; docs/checks.md, "The certificate", derives the slack.
 */
#ifndef GP_REFERENCE_CERTIFICATE_H
#define GP_REFERENCE_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/err.h"

/* C = A B, all column-major and packed: A m x k, B k x n, C m x n. */
struct gp_certificate {
    int64_t m, n, k;
    const double *a, *b, *c;
    const float *sums; /* |A||B| from cblas_sgemm, m x n */
    uint64_t seed;
    int grid_a, grid_b; /* elements are multiples of 2^-grid */
    bool alone;         /* all processors may be used */
};

/* Certify an exact product. BACKEND with the row and column block that is
 * wrong. */
int gp_certificate_exact(const struct gp_certificate *certificate,
                         struct gp_err *err) GP_MUST_CHECK;

/* Certify a rounded product to within its rounding, and sample elements
 * against compensated dot products. */
int gp_certificate_rounded(const struct gp_certificate *certificate,
                           struct gp_err *err) GP_MUST_CHECK;

/* Certify the sums of magnitudes to within k 2^-24 of each row of a block. */
int gp_certificate_sums(const struct gp_certificate *certificate,
                        struct gp_err *err) GP_MUST_CHECK;

/* sum a[i*step_a] b[i*step_b], as if in twice the precision (Dot2). */
double gp_certificate_dot(const double *a, int64_t step_a, const double *b,
                          int64_t step_b, int64_t count);

#endif
