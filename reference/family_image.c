/* Families whose results follow from those of the family `binade`: scaled,
 * negated, permuted or transposed. All operands and results stay far from both
 * ends of the range, so that powers of two are exact. */
#include "reference/family.h"

#include <math.h>

#include "harness/base/hash.h"

/* Exponents given away: FP16 has few of them. */
static int span_of(const struct gp_gemm *gemm)
{
    return gemm->in->emin == -14 || gemm->out->emin == -14 ? 2 : 10;
}

static uint64_t draw(uint64_t seed, uint64_t what, int64_t v)
{
    return gp_hash_mix(gp_hash_mix(seed ^ what * 0x9e3779b97f4a7c15u) +
                       (uint64_t)v * 0xc2b2ae3d27d4eb4fu);
}

/* The exponent of row v of A (what = 1), column v of B (2), from 0 down; of
 * position v of k (3), about 0. */
static int exponent_of(const struct gp_gemm *gemm, uint64_t seed, uint64_t what,
                       int64_t v)
{
    int span = span_of(gemm);
    int e = (int)(draw(seed, what, v) % (uint64_t)(span + 1));

    return what == 3 ? 2 * e - span : -e;
}

/* v -> step v + shift modulo n, with a step that is prime to n. */
static int64_t permuted(uint64_t seed, uint64_t what, int64_t v, int64_t n)
{
    int64_t step = (int64_t)(draw(seed, what, 0) >> 33) % n, shift;

    for (;; step++) {
        int64_t a = step, b = n;
        while (b) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            break;
    }
    shift = (int64_t)(draw(seed, what, 1) >> 33) % n;
    return (int64_t)(((uint64_t)v * (uint64_t)(step % n) + (uint64_t)shift) %
                     (uint64_t)n);
}

void gp_family_outer_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    int64_t length = gp_family_length(args);
    bool in_a = args->operand == GP_A;

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; args->operand != GP_C && i < length; i++)
        to[i] = ldexp(to[i], exponent_of(args->gemm, args->seed, in_a ? 1 : 2,
                                         in_a ? i : j));
}

void gp_family_outer_image(const struct gp_gemm *gemm, uint64_t seed,
                           struct gp_image *image)
{
    image->exponent = exponent_of(gemm, seed, 1, image->i) +
                      exponent_of(gemm, seed, 2, image->j);
}

void gp_family_inner_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    int64_t length = gp_family_length(args);

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; args->operand != GP_C && i < length; i++) {
        int64_t l = args->operand == GP_A ? j : i;
        int e = exponent_of(args->gemm, args->seed, 3, l);
        to[i] = ldexp(to[i], args->operand == GP_A ? e : -e);
    }
}

void gp_family_negated_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    int64_t length = gp_family_length(args);

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; args->operand == GP_A && i < length; i++)
        to[i] = -to[i];
}

void gp_family_negated_image(const struct gp_gemm *gemm, uint64_t seed,
                             struct gp_image *image)
{
    (void)gemm;
    (void)seed;
    image->negative = true;
}

/* Row i of A is row p(i) of the base. */
void gp_family_rows_column(const struct gp_family_args *args, int64_t j,
                           double *to)
{
    int64_t length = gp_family_length(args);

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; args->operand == GP_A && i < length; i++)
        to[i] = gp_family_binade_element(
            args, permuted(args->seed, 4, i, args->gemm->m), j);
}

void gp_family_rows_image(const struct gp_gemm *gemm, uint64_t seed,
                          struct gp_image *image)
{
    image->i = permuted(seed, 4, image->i, gemm->m);
}

/* Position l of both operands is position p(l) of the base. */
void gp_family_terms_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    int64_t length = gp_family_length(args), k = args->gemm->k;

    if (args->operand == GP_A)
        j = permuted(args->seed, 5, j, k);
    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; args->operand == GP_B && i < length; i++)
        to[i] =
            gp_family_binade_element(args, permuted(args->seed, 5, i, k), j);
}

/* A is the base's B transposed, B its A. */
void gp_family_swapped_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    int64_t length = gp_family_length(args);
    struct gp_family_args other = *args;

    gp_family_binade_column(args, j, to);
    other.operand = args->operand == GP_A ? GP_B : GP_A;
    for (int64_t i = 0; args->operand != GP_C && i < length; i++)
        to[i] = gp_family_binade_element(&other, j, i);
}

void gp_family_swapped_image(const struct gp_gemm *gemm, uint64_t seed,
                             struct gp_image *image)
{
    int64_t i = image->i;

    (void)gemm;
    (void)seed;
    image->i = image->j;
    image->j = i;
}

int gp_family_swapped_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->m != gemm->n)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "the family swapped needs m = n");
    return gp_family_accept_plain(gemm, err);
}
