/*
 * Operands as the units of a simulated device read them: rounded, with their
 * exponents, vectors side by side.
 *
 * Order of calls: gp_panel_make, then gp_panel_fill any number of times;
 * gp_matrix_free(panel.data) at the end.
 */
#ifndef GP_WORKER_BACKENDS_SIMULATED_PANEL_H
#define GP_WORKER_BACKENDS_SIMULATED_PANEL_H

#include <string.h>

#include "harness/worker/backends/simulated_mma.h"

enum {
    GP_PANEL_LANES = 16,    /* vectors side by side, or one */
    GP_NO_EXPONENT = -10000 /* of a zero */
};

/* Element l of vector v stands at l * lanes + v. FP64 values are in `wide`,
 * the others, which FP32 holds exactly, in `narrow`. */
struct gp_panel {
    int64_t lanes;
    void *data;
    double *wide;
    float *narrow;
    int32_t *exponents;  /* GP_NO_EXPONENT for zero; fused nodes only */
    int32_t least, most; /* exponents seen */
    bool finite;
};

/* Vectors of an operand in memory: rows of op(A) or columns of op(B). One of
 * the steps is 1. */
struct gp_vectors {
    const struct gp_type *type;
    const unsigned char *data;
    int64_t count, k;
    int64_t step_v, step_l; /* elements from vector to vector, along k */
};

/* Room for `lanes` vectors of length k. */
int gp_panel_make(struct gp_panel *panel, int64_t lanes, int64_t k,
                  struct gp_err *err) GP_MUST_CHECK;

/* Fill with vectors from `first` on, and zeros past the last. */
void gp_panel_fill(const struct gp_simulated_plan *plan,
                   const struct gp_vectors *from, int64_t first,
                   struct gp_panel *panel);

/* floor(log2 |x|) of a normal number; -127 below. */
static inline int32_t gp_float_exponent(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (int32_t)(bits >> 23 & 255) - 127;
}

#endif
