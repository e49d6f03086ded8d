/*
 * The arithmetic of a GPU's matrix product, on the CPU: a simulation.
 *
 * Fused node. A tensor core adds L exact products and its accumulator at
 * once: all terms are aligned to the largest exponent, truncated there to F
 * fraction bits, added exactly, and the sum is truncated to FP32 or rounded
 * to nearest FP16. The exponent of a product is the sum of its operands'
 * exponents; subnormal operands have the exponent of the smallest normal
 * number; zeros have none, and no node aligns below 2^-126. A sum beyond the
 * range is infinite; with an infinity or a NaN among the terms the node gives
 * what IEEE 754 addition gives. A sum over k is a chain of nodes, the last
 * one shorter. Sources: Fasi, Higham, Mikaitis, Pranesh 2021 (PeerJ Comput.
 * Sci. 7:e330); Xie, Wang, Yang, Yang 2025 (arXiv 2511.10909); Khattak and
 * Mikaitis 2025 (arXiv 2512.07004).
 *
 * Ordinary units. FP32, FP64 and every product with one row or one column
 * are one chain of fused multiply-adds, in the order of k, on the operands as
 * given: a library hands such a product to a matrix-vector kernel, whatever
 * mode was asked for.
 *
 * Split sums. With few tiles of output and a long k the sum is split into
 * contiguous chunks whose partial sums are added in order. How many there are
 * depends on the workspace. The rules are invented after what is known of
 * cuBLAS, not measured from it.
 *
 * Order of calls: gp_simulated_plan, then gp_simulated_multiply.
 */
#ifndef GP_WORKER_BACKENDS_SIMULATED_MMA_H
#define GP_WORKER_BACKENDS_SIMULATED_MMA_H

#include "reference/gemm.h"
#include "reference/request.h"

/* A device that is simulated. */
struct gp_simulated_unit {
    const char *name;       /* sm90 */
    int compute_capability; /* times ten */
    int multiprocessors;
    int fraction_bits;  /* F */
    int products_16;    /* L for 16-bit operands */
    int products_tf32;  /* L for TF32; 0: neither TF32 nor BF16 */
    int64_t pool_bytes; /* workspace when nothing is said */
};

/* All devices, ended by a row without a name; the first is the default. */
extern const struct gp_simulated_unit gp_simulated_units[];

/* The row of a name, NULL if there is none; "" is the default. */
const struct gp_simulated_unit *gp_simulated_find(const char *name);

/* The largest buffer that a value of CUBLAS_WORKSPACE_CONFIG asks for, in
 * bytes: SIZE KiB of pairs ":SIZE:COUNT" with a COUNT above 0. NULL and what
 * is not such a text give `otherwise`, as cuBLAS ignores it. */
int64_t gp_simulated_workspace(const char *config, int64_t otherwise);

/* How one product is computed. Two equal plans give equal bits. */
struct gp_simulated_plan {
    bool tensor; /* fused nodes; else one multiply-add a product */
    const struct gp_type *accumulator; /* f16, f32 or f64 */
    const struct gp_type *partial;     /* what partial sums are rounded to and
                                          added in */
    const struct gp_type *scale;       /* of alpha and beta */
    int input_precision; /* operands are rounded to nearest even, to so many
                            bits; 0: as given */
    int input_emin;      /* exponents of operands end here */
    bool input_f16;      /* operands beyond FP16 become infinite */
    int fraction_bits, products; /* F and L */
    int64_t splits;              /* chunks of k, none of them empty */
    int64_t chunk;               /* products in each but the last */
};

/* Decide how a device computes a product (column-major) under a request and
 * with `workspace_bytes` of scratch memory. Unsupported, with a sentence, if
 * it does not offer the request. */
int gp_simulated_plan(const struct gp_simulated_unit *unit,
                      const struct gp_gemm *gemm,
                      const struct gp_request *request, int64_t workspace_bytes,
                      struct gp_simulated_plan *ret_plan,
                      struct gp_err *err) GP_MUST_CHECK;

/* One operand as the plan's units see it. */
double gp_simulated_operand(const struct gp_simulated_plan *plan, double x);

/* One fused node: c + the sum of a[i] b[i], `count` <= 16 operands that
 * gp_simulated_operand gave. Written to be read; slow. */
double gp_simulated_node(const struct gp_simulated_plan *plan, const double *a,
                         const double *b, int count, double c);

/* The sum of a[i] b[i] over one chunk, node by node or one multiply-add after
 * the other: what gp_simulated_multiply must give, bit for bit. Slow. */
double gp_simulated_chain(const struct gp_simulated_plan *plan, const double *a,
                          const double *b, int64_t k);

/* D = alpha op(A) op(B) + beta D for one product of the batch, laid out
 * column-major. In the type of the scale (FP16 scales are applied in FP32)
 * it computes RN(alpha sum), then one fused beta C added, then rounds to the
 * output. alpha = 0 reads neither A nor B, beta = 0 does not read C. */
int gp_simulated_multiply(const struct gp_simulated_plan *plan,
                          const struct gp_gemm *gemm, const void *a,
                          const void *b, void *d,
                          struct gp_err *err) GP_MUST_CHECK;

#endif
