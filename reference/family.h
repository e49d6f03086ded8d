/*
 * Data families: operands as a pure function of (seed, operand, i, j, batch).
 *
 * A family fills op(A), op(B) and C, that is the matrices as they enter the
 * product, so that a problem has the same numbers under every op and layout.
 * Values are doubles that the operand's type represents exactly.
 */
#ifndef GP_REFERENCE_FAMILY_H
#define GP_REFERENCE_FAMILY_H

#include "reference/gemm.h"

struct gp_family_args {
    const struct gp_gemm *gemm;
    uint64_t seed;
    enum gp_operand operand;
    int64_t batch;
};

struct gp_family {
    const char *name;
    const char *help;
    bool exact;      /* every order of summation gives the same bits in every
                        mode: judged by the check `exact` */
    bool sums_exact; /* FP64 sums of it are exact in any order, unless the
                        operands are FP64 themselves and one_term */
    bool reorders;   /* rounded sums: another order shows in the bits */
    bool one_term;   /* each result is one product: judged by `fingerprint` */
    bool random;     /* drawn so that errors of rounding behave like random
                        ones: judged by the check `band` */
    /* Can it be made for this problem? Unsupported with a sentence if not. */
    int (*accept)(const struct gp_gemm *gemm, struct gp_err *err);
    /* Column j of op(A) (m values), op(B) (k values) or C (m values). */
    void (*column)(const struct gp_family_args *args, int64_t j, double *to);
    /* Operands are multiples of 2^-a and 2^-b; NULL: of 1. */
    void (*grid)(const struct gp_gemm *gemm, int *ret_a, int *ret_b);
};

/* All families, ended by a row without a name; the first is the default. */
extern const struct gp_family gp_families[];

const struct gp_family *gp_family_find(const char *name);

/* The largest |value| in each operand that the family `exact` uses: a and b
 * at most q, and `budget` nonzeros a vector of the sparse operand, 0 when
 * both are dense. Source: numerics, family F4. */
struct gp_family_exact {
    int64_t q, budget;
    bool sparse_a; /* else B is the sparse one */
    int64_t c_max;
};
int gp_family_exact_plan(const struct gp_gemm *gemm,
                         struct gp_family_exact *ret_plan,
                         struct gp_err *err) GP_MUST_CHECK;

/* Where the one nonzero of a probe stands: the probes have it in each row of
 * op(A) if m >= n, else in each column of op(B). */
bool gp_family_probe_in_a(const struct gp_gemm *gemm);
int64_t gp_family_probe_position(const struct gp_gemm *gemm, uint64_t seed,
                                 int64_t batch, int64_t vector);

/* --- Between the family*.c only ------------------------------------------ */

uint64_t gp_family_key(const struct gp_family_args *args, int64_t j);
uint64_t gp_family_word(uint64_t key, int64_t i);
int64_t gp_family_length(const struct gp_family_args *args);

int gp_family_accept_any(const struct gp_gemm *gemm, struct gp_err *err);
int gp_family_accept_plain(const struct gp_gemm *gemm, struct gp_err *err);
int gp_family_exact_accept(const struct gp_gemm *gemm, struct gp_err *err);
void gp_family_exact_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_ones_column(const struct gp_family_args *args, int64_t j,
                           double *to);
void gp_family_index_column(const struct gp_family_args *args, int64_t j,
                            double *to);
void gp_family_one_hot_column(const struct gp_family_args *args, int64_t j,
                              double *to);
void gp_family_product_column(const struct gp_family_args *args, int64_t j,
                              double *to);
void gp_family_probe_grid(const struct gp_gemm *gemm, int *ret_a, int *ret_b);

#endif
