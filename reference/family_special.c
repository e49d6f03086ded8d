/* Families with NaN, infinities, and zeros whose sign shows. */
#include "reference/family.h"

#include <math.h>
#include <string.h>

enum { NONE = -1, KINDS = 5 };

/* --- Where they stand ------------------------------------------------------
 */

/* The rank of row or column v of `count` among those with a special element,
 * or NONE: the first, the last, both sides of tile edges (7 16 31 64 127 256)
 * and one inside. */
static int rank_of(int64_t v, int64_t count)
{
    int rank = 2;

    if (v == 0 || v == count - 1)
        return v == 0 ? 0 : 1;
    for (int64_t edge = 8; edge <= 256; edge *= 2, rank++)
        if (v == edge - (rank + 1) % 2)
            return rank;
    return v == count / 2 + 1 ? rank : NONE;
}

/* The position along k of the special element of a rank: the corners of the
 * operand, then spread. */
static int64_t place_of(int rank, int64_t k)
{
    return rank == 0 ? 0 : rank == 1 ? k - 1 : rank * (k - 1) / 9;
}

/* Where Inf meets zeros: of A with zeros of B, of B with zeros of A. */
static int64_t zeros_at(bool in_a, int64_t k)
{
    return in_a ? k / 3 : 2 * k / 3;
}

/* What stands at position l of a row of A (column of B) of this rank: NaN,
 * Inf, -Inf, both infinities, or Inf against zeros. 1: nothing special. */
static double special_at(const struct gp_family_args *args, int rank, int64_t l)
{
    int64_t k = args->gemm->k, at = place_of(rank, k);
    bool in_a = args->operand == GP_A;
    uint64_t turn = (uint64_t)args->batch + args->seed + (in_a ? 0 : 1);

    switch (((uint64_t)rank + turn) % KINDS) {
    case 0:
        return l == at ? (double)NAN : 1;
    case 1:
        return l == at ? (double)INFINITY : 1;
    case 2:
        return l == at ? -(double)INFINITY : 1;
    case 3:
        return l == at           ? (double)INFINITY
               : l == k - 1 - at ? -(double)INFINITY
                                 : 1;
    default:
        return l == zeros_at(in_a, k) ? (double)INFINITY : 1;
    }
}

static double special_c(const struct gp_family_args *args, uint64_t word,
                        int64_t i, int64_t j)
{
    static const double kinds[] = {(double)NAN, (double)INFINITY,
                                   -(double)INFINITY};
    bool corner = (i == 0 && j == args->gemm->n - 1) ||
                  (i == args->gemm->m - 1 && j == 0);

    return corner || word % 67 == 0 ? kinds[(word >> 32) % 3] : 1;
}

void gp_family_special_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    const struct gp_gemm *gemm = args->gemm;
    int64_t length = gp_family_length(args);
    uint64_t key = gp_family_key(args, j);
    bool in_a = args->operand == GP_A;

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; i < length; i++) {
        int64_t l = in_a ? j : i, v = in_a ? i : j;
        int rank =
            args->operand == GP_C ? NONE : rank_of(v, in_a ? gemm->m : gemm->n);
        double x = 1;
        if (args->operand == GP_C)
            x = special_c(args, gp_family_word(key, i), i, j);
        else if (rank != NONE)
            x = special_at(args, rank, l);
        if (x != 1)
            to[i] = x;
        else if (args->operand != GP_C && v % 2 &&
                 l == zeros_at(!in_a, gemm->k))
            to[i] = 0;
    }
}

/* --- payload: the NaN that is nearest to infinity --------------------------
 */

/* A signalling NaN of payload 1; gp_type_store keeps it. Its bits cut to a
 * narrower type are those of infinity. */
static double low_payload(void)
{
    uint64_t bits = UINT64_C(0x7ff0000000000001);
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

void gp_family_payload_column(const struct gp_family_args *args, int64_t j,
                              double *to)
{
    int64_t length = gp_family_length(args);

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; args->operand == GP_A && i < length; i++) {
        int rank = rank_of(i, args->gemm->m);
        if (rank != NONE && j == place_of(rank, args->gemm->k))
            to[i] = low_payload();
    }
}

/* --- c-nan: what D held before, where beta = 0 -----------------------------
 */

int gp_family_c_nan_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->beta == 0)
        return 0;
    return gp_err_set(err, GP_ERR_UNSUPPORTED,
                      "the family c-nan is about beta = 0");
}

void gp_family_c_nan_column(const struct gp_family_args *args, int64_t j,
                            double *to)
{
    static const double kinds[] = {(double)NAN, (double)INFINITY,
                                   -(double)INFINITY};
    uint64_t key = gp_family_key(args, j);
    int64_t length = gp_family_length(args);

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; args->operand == GP_C && i < length; i++)
        to[i] = kinds[(gp_family_word(key, i) >> 32) % 3];
}

/* --- alpha-zero: operands that must not be read ----------------------------
 */

int gp_family_alpha_zero_accept(const struct gp_gemm *gemm, struct gp_err *err)
{
    if (gemm->alpha == 0)
        return 0;
    return gp_err_set(err, GP_ERR_UNSUPPORTED,
                      "the family alpha-zero is about alpha = 0");
}

/* A and B are NaN, here and there infinite; C has zeros of both signs. */
void gp_family_alpha_zero_column(const struct gp_family_args *args, int64_t j,
                                 double *to)
{
    uint64_t key = gp_family_key(args, j);
    int64_t length = gp_family_length(args);

    gp_family_binade_column(args, j, to);
    for (int64_t i = 0; i < length; i++) {
        uint64_t word = gp_family_word(key, i) >> 32;
        if (args->operand != GP_C)
            to[i] = word % 8 ? (double)NAN : (double)INFINITY;
        else if (word % 8 == 0)
            to[i] = word % 16 ? 0.0 : -0.0;
    }
}

/* --- signed-zero: exact results that are zero ------------------------------
 */

/* B is positive. Even rows of A are -0, so that every product is -0. Odd rows
 * have up to eight terms in the first half of k and the negative of each at
 * the mirrored position, where B is the same: the sum is an exact zero. */
void gp_family_signed_zero_column(const struct gp_family_args *args, int64_t j,
                                  double *to)
{
    int64_t length = gp_family_length(args), k = args->gemm->k;
    int64_t every = k / 16 > 0 ? k / 16 : 1;

    for (int64_t i = 0; i < length; i++) {
        int64_t l = args->operand == GP_A ? j : i;
        int64_t first = l < k - 1 - l ? l : k - 1 - l;
        bool term = 2 * l != k - 1 && first % every == 0 && first / every < 8;
        if (args->operand == GP_C)
            to[i] = 0;
        else if (args->operand == GP_B)
            to[i] = (double)(1 + (first + j) % 3);
        else if (i % 2 == 0 || !term)
            to[i] = -0.0;
        else
            to[i] = (double)(1 + (first + i) % 3) * (l == first ? 1 : -1);
    }
}
