/*
 * What each probe shows, one function for each kind, and what the run's mode
 * promises of it. docs/checks.md, "The
 * fingerprint", derives why each answer is fixed for any order of summation.
 */
#ifndef GP_CHECK_FINGERPRINT_H
#define GP_CHECK_FINGERPRINT_H

#include "harness/check/check.h"

/* Results are looked at `step` apart, so that about 65536 are; an even step
 * would always meet the same rows of a tile. */
int64_t gp_fingerprint_step(int64_t count);

/* Result `index`, packed. */
double gp_fingerprint_got(const struct gp_evidence *evidence, int64_t index);

/* May the results of this run of `two-term` or `split-finder` be anything but
 * the exact sum, rounded once? Two terms may be cut by tensor cores that hand
 * out their sums, and by fixed point; every other unit, and the conversion to
 * a narrower output, rounds to nearest. Partial sums may be held in a 16-bit
 * output where that is documented, or in an FP16 accumulator. */
bool gp_fingerprint_may_round(const struct gp_run *run);

/* Each fills verdict, value, limit, text and the clause of its probe. */
void gp_fingerprint_products(const struct gp_evidence *evidence,
                             struct gp_finding *finding);
void gp_fingerprint_two_term(const struct gp_evidence *evidence,
                             struct gp_finding *finding);
void gp_fingerprint_split(const struct gp_evidence *evidence,
                          struct gp_finding *finding);
void gp_fingerprint_zeros(const struct gp_evidence *evidence,
                          struct gp_finding *finding);
void gp_fingerprint_range(const struct gp_evidence *evidence,
                          struct gp_finding *finding);

#endif
