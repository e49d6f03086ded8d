/*
 * The loaded host library on trial: its dgemm and sgemm against exact
 * arithmetic, bit for bit, for the kernel and the number of threads of this
 * process.
 *
 * Operands are whole numbers, so small that every sum of their products is
 * exact in any order; what must come out is then known without the library.
 * Rules for NaN, alpha = 0, beta = 0 and k = 0 are those of the reference BLAS
 * (netlib): alpha = 0 does not read A and B, beta = 0 does not read C.
 */
#ifndef GP_REFERENCE_TRIAL_H
#define GP_REFERENCE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/err.h"

/* What a product is asked for beside finite numbers. */
enum gp_trial_poison {
    GP_TRIAL_CLEAN,
    GP_TRIAL_NAN_IN_C, /* everywhere, with beta = 0 */
    GP_TRIAL_UNREAD,   /* NaN in A and infinity in B, with alpha = 0 */
    GP_TRIAL_NAN_IN_A  /* in one place: one row of NaN */
};

struct gp_trial_product {
    bool single; /* sgemm */
    bool trans_a, trans_b;
    int64_t m, n, k, pad; /* every ld is `pad` above the tight one */
    double alpha, beta;
    enum gp_trial_poison poison;
};

/* One wrong product: the smallest that was found. */
struct gp_trial_wrong {
    struct gp_trial_product product;
    int64_t i, j; /* i is m or above: in the padding of C */
    double got, expected;
};

/* The groups of products, in order. Only the first is what references are
 * made with. */
enum gp_trial_group {
    GP_TRIAL_PRODUCTS, /* alpha = 1, beta = 0, no op, tight */
    GP_TRIAL_LAYOUTS,  /* other ops, padding */
    GP_TRIAL_SCALARS,  /* other alpha and beta */
    GP_TRIAL_SPECIAL,  /* NaN and what must not be read */
    GP_TRIAL_EMPTY,    /* m, n or k = 0 */
    GP_TRIAL_GROUPS
};
extern const char *const gp_trial_group_names[GP_TRIAL_GROUPS];

struct gp_trial {
    char kernel[32];
    int threads;
    struct {
        int64_t checks, wrong;
        struct gp_trial_wrong smallest; /* if any is wrong */
    } groups[GP_TRIAL_GROUPS];
};

/* Name the kernel and the threads of this process. */
void gp_trial_name(struct gp_trial *trial);

/* Multiply everything there is on the list. It takes about a second. */
int gp_trial_run(struct gp_trial *trial, struct gp_err *err) GP_MUST_CHECK;

/* "dgemm nt 3x4x5, alpha 1.5, beta 0, ld + 3, NaN in C" */
void gp_trial_describe(const struct gp_trial_product *product, char text[120]);

#endif
