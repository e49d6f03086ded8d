/* The family exact: sums that no order and no mode can round, and terms that
 * cannot get lost unseen. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/product.h"

__extension__ typedef __int128 whole;

static const struct gp_family *exact(void)
{
    return gp_family_find("exact");
}

/* op(A), op(B) and C of one batch as integers, column by column. */
struct operands {
    int64_t *a, *b, *c;
};

static int64_t *filled(const struct gp_gemm *gemm, enum gp_operand operand,
                       int64_t rows, int64_t cols)
{
    const struct gp_family_args args = {gemm, 3, operand, 0};
    int64_t *made = calloc((size_t)(rows * cols), sizeof *made);
    double *line = calloc((size_t)rows, sizeof *line);

    for (int64_t j = 0; j < cols; j++) {
        exact()->column(&args, j, line);
        for (int64_t i = 0; i < rows; i++) {
            made[i + j * rows] = (int64_t)line[i];
            if ((double)made[i + j * rows] != line[i])
                cr_assert_fail("not whole: %a", line[i]);
        }
    }
    free(line);
    return made;
}

static struct operands fill(const struct gp_gemm *gemm)
{
    return (struct operands){filled(gemm, GP_A, gemm->m, gemm->k),
                             filled(gemm, GP_B, gemm->k, gemm->n),
                             filled(gemm, GP_C, gemm->m, gemm->n)};
}

static void drop(struct operands *in)
{
    free(in->a);
    free(in->b);
    free(in->c);
}

/* Numerators over 2^8, the finest unit that alpha and beta may have here. */
static int64_t over_256(double factor)
{
    return (int64_t)(factor * 256);
}

/* The unit of the results: 2^-g with the smallest g that holds both. */
static int64_t unit(const struct gp_gemm *gemm)
{
    int64_t alpha = over_256(gemm->alpha), beta = over_256(gemm->beta);
    int64_t both = 256 | alpha | beta;

    return both & -both;
}

/* Every bit of max |alpha| |A||B| + |beta||C| lies below 2^p, p the
 * significand of the results: then so does every partial sum, in any order,
 * with alpha and beta applied whenever. */
static void check_sums(const struct gp_gemm *gemm, const struct operands *in)
{
    whole alpha = llabs(over_256(gemm->alpha)), limit;
    whole beta = llabs(over_256(gemm->beta)), worst = 0;

    for (int64_t i = 0; i < gemm->m; i++)
        for (int64_t j = 0; j < gemm->n; j++) {
            whole sum = 0, all;
            for (int64_t l = 0; l < gemm->k; l++)
                sum += (whole)llabs(in->a[i + l * gemm->m]) *
                       llabs(in->b[l + j * gemm->k]);
            /* Before alpha, partial sums are held in whole units. */
            all = alpha * sum + beta * llabs(in->c[i + j * gemm->m]);
            all = all > sum * unit(gemm) ? all : sum * unit(gemm);
            worst = all > worst ? all : worst;
        }
    limit = ((whole)1 << gemm->out->precision) * unit(gemm);
    cr_assert(
        worst < limit, "%s:%s %dx%dx%d, alpha %g, beta %g: %g is not below %g",
        gemm->in->name, gemm->out->name, (int)gemm->m, (int)gemm->n,
        (int)gemm->k, gemm->alpha, gemm->beta, (double)worst, (double)limit);
}

/* Operands survive every rounding that a mode may do: FP32 to BF16. */
static void check_entries(const struct gp_gemm *gemm, const struct operands *in)
{
    int bits = gemm->in->bytes == 4 ? 8 : gemm->in->precision;

    for (int64_t at = 0; at < gemm->m * gemm->k; at++)
        cr_assert(llabs(in->a[at]) <= INT64_C(1) << bits);
    for (int64_t at = 0; at < gemm->k * gemm->n; at++)
        cr_assert(llabs(in->b[at]) <= INT64_C(1) << bits);
}

static const struct {
    const char *in, *out;
} pairs[] = {{"f32", "f32"}, {"f64", "f64"},   {"f16", "f16"},
             {"f16", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"}};

static const double factors[][2] = {
    {1, 0},  {1, 1}, {1.5, -0.5}, {0.5, 2},         {-3, 0},     {0.25, -1},
    {10, 1}, {0, 1}, {0, 100},    {-0.00390625, 1}, {1.5, 0.125}};

static void check_product(struct gp_gemm gemm, double alpha, double beta)
{
    struct gp_err err;
    struct operands in;

    gemm.alpha = alpha;
    gemm.beta = beta;
    if (exact()->accept(&gemm, &err) != 0)
        return;
    in = fill(&gemm);
    check_sums(&gemm, &in);
    check_entries(&gemm, &in);
    drop(&in);
}

Test(family_exact, no_partial_sum_can_round)
{
    static const int64_t sizes[][3] = {
        {1, 1, 1},    {3, 2, 2},      {5, 4, 7},     {2, 3, 31},   {3, 3, 64},
        {2, 2, 100},  {4, 3, 127},    {3, 4, 128},   {2, 2, 129},  {2, 5, 255},
        {5, 2, 256},  {70, 2, 300},   {2, 70, 511},  {3, 3, 2047}, {3, 3, 2049},
        {2, 3, 4096}, {70, 70, 1000}, {1, 1, 65536}, {8, 8, 9000}};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
            for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
                check_product(product_of(pairs[p].in, pairs[p].out, "nn",
                                         sizes[s][0], sizes[s][1], sizes[s][2]),
                              factors[f][0], factors[f][1]);
}

/* Where q^2 k meets the limit, a square root that is rounded up would pass
 * it: q^2 k + the part of C stays below 2^p for every k. */
Test(family_exact, q_never_passes_the_limit)
{
    struct gp_family_exact plan;
    struct gp_err err;

    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        for (int64_t k = 1; k < 200000; k += k < 5000 ? 1 : 97) {
            struct gp_gemm gemm =
                product_of(pairs[p].in, pairs[p].out, "nn", 1, 1, k);
            whole limit = (whole)1 << gemm.out->precision;
            cr_assert_eq(gp_family_exact_plan(&gemm, &plan, &err), 0);
            if (!plan.budget && (whole)plan.q * plan.q * k >= limit)
                cr_assert_fail("%s, k = %d: q = %d", gemm.out->name, (int)k,
                               (int)plan.q);
            if (plan.budget && plan.budget >= limit)
                cr_assert_fail("%s, k = %d: budget %d", gemm.out->name, (int)k,
                               (int)plan.budget);
        }
}

/* A sparse operand is needed exactly when k products of ones pass the limit;
 * it is the one with more vectors, so that more positions are seen. */
Test(family_exact, sparse_only_when_it_must_be)
{
    struct gp_family_exact plan = {0};
    struct gp_gemm gemm = product_of("bf16", "bf16", "nn", 4, 9, 255);
    struct gp_err err;

    cr_assert_eq(gp_family_exact_plan(&gemm, &plan, &err), 0);
    cr_assert_eq(plan.q, 1);
    cr_assert_eq(plan.budget, 0);
    gemm = product_of("bf16", "bf16", "nn", 4, 9, 256);
    cr_assert_eq(gp_family_exact_plan(&gemm, &plan, &err), 0);
    cr_assert_eq(plan.budget, 255);
    cr_assert_not(plan.sparse_a);
    gemm = product_of("bf16", "bf16", "nn", 9, 4, 256);
    cr_assert_eq(gp_family_exact_plan(&gemm, &plan, &err), 0);
    cr_assert(plan.sparse_a);
    /* alpha 1.5 and beta -0.5 count in halves: (255 - 3 * 1) / 3. */
    gemm.alpha = 1.5;
    gemm.beta = -0.5;
    cr_assert_eq(gp_family_exact_plan(&gemm, &plan, &err), 0);
    cr_assert_eq(plan.budget, 84);
    cr_assert_eq(plan.c_max, 3);
    /* FP32: 256 is the largest integer that eight bits hold; 2^24 / 256^2. */
    gemm = product_of("f32", "f32", "nn", 9, 4, 255);
    cr_assert_eq(gp_family_exact_plan(&gemm, &plan, &err), 0);
    cr_assert_eq(plan.q, 256);
    gemm.k = 256;
    cr_assert_eq(gp_family_exact_plan(&gemm, &plan, &err), 0);
    cr_assert_eq(plan.q, 255);
}

/* Nonzeros of vector v of the sparse operand, marked over k. */
static int64_t mark(const struct gp_gemm *gemm, const struct operands *in,
                    bool sparse_a, int64_t v, char *seen)
{
    int64_t count = 0;

    for (int64_t l = 0; l < gemm->k; l++) {
        int64_t x = sparse_a ? in->a[v + l * gemm->m] : in->b[l + v * gemm->k];
        count += x != 0;
        seen[l] |= x != 0;
    }
    return count;
}

/* The budget is kept by every vector, and all of the first and last 64
 * positions of k are nonzero for some (i, j): the dense operand has no zero. */
static void check_sparse(struct gp_gemm gemm, double alpha, double beta)
{
    struct gp_family_exact plan = {0};
    struct gp_err err;
    struct operands in;
    int64_t vectors, edges = gemm.k < 64 ? gemm.k : 64;
    char *seen = calloc((size_t)gemm.k, 1);

    gemm.alpha = alpha;
    gemm.beta = beta;
    if (gp_family_exact_plan(&gemm, &plan, &err) == 0 && plan.budget) {
        in = fill(&gemm);
        vectors = plan.sparse_a ? gemm.m : gemm.n;
        for (int64_t v = 0; v < vectors; v++)
            cr_assert_leq(mark(&gemm, &in, plan.sparse_a, v, seen),
                          plan.budget);
        for (int64_t at = 0; at < gemm.m * gemm.k && !plan.sparse_a; at++)
            cr_assert_eq(llabs(in.a[at]), 1);
        for (int64_t at = 0; at < gemm.k * gemm.n && plan.sparse_a; at++)
            cr_assert_eq(llabs(in.b[at]), 1);
        for (int64_t l = 0; l < edges; l++)
            cr_assert(seen[l] && seen[gemm.k - 1 - l],
                      "%s %dx%dx%d, alpha %g: position %d of k, or %d from the "
                      "end, is 0 in every vector (budget %d)",
                      gemm.in->name, (int)gemm.m, (int)gemm.n, (int)gemm.k,
                      alpha, (int)l, (int)l + 1, (int)plan.budget);
        drop(&in);
    }
    free(seen);
}

Test(family_exact, the_ends_of_k_are_seen)
{
    static const int64_t sizes[][3] = {
        {64, 8, 256},  {8, 64, 300},    {64, 64, 512}, {128, 128, 4096},
        {64, 1, 2048}, {128, 3, 16384}, {8, 8, 65536}, {4, 4, 8192}};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t p = 2; p < sizeof pairs / sizeof *pairs; p++) {
            struct gp_gemm gemm =
                product_of(pairs[p].in, pairs[p].out, "nn", sizes[s][0],
                           sizes[s][1], sizes[s][2]);
            check_sparse(gemm, 1, 0);
            check_sparse(gemm, 0.5, 2);
            check_sparse(gemm, 1.5, -0.5);
        }
}

/* One output alone has to see all of them. */
Test(family_exact, the_ends_of_k_are_seen_by_a_single_output)
{
    check_sparse(product_of("f16", "f16", "nn", 1, 1, 4096), 1, 0);
    check_sparse(product_of("bf16", "bf16", "nn", 1, 1, 4096), 1, 0);
}

/* A budget of a few: either the ends are seen, or it is refused. */
Test(family_exact, the_ends_of_k_are_seen_with_a_small_budget)
{
    static const double alphas[] = {10, 25, 40, 60, 75, 100, 200};

    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        check_sparse(product_of("bf16", "bf16", "nn", 256, 4, 512), alphas[i],
                     0);
        check_sparse(product_of("bf16", "bf16", "nn", 256, 4, 100), alphas[i],
                     0);
    }
}

/* Integers of both signs up to q, all of them; different for A, B, C and for
 * each batch. */
Test(family_exact, all_integers_occur)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 60, 60, 10000);
    const struct gp_family_args first = {&gemm, 3, GP_B, 0};
    const struct gp_family_args second = {&gemm, 3, GP_B, 1};
    double *here = calloc(10000, sizeof *here);
    double *there = calloc(10000, sizeof *there);
    int seen[81] = {0}, same = 0;

    exact()->column(&first, 0, here); /* q = floor(sqrt((2^24-1)/10^4)) = 40 */
    exact()->column(&second, 0, there);
    for (int i = 0; i < 10000; i++) {
        cr_assert(fabs(here[i]) <= 40);
        seen[(int)here[i] + 40]++;
        same += here[i] == there[i];
    }
    for (int i = 0; i < 81; i++) /* 123 expected; 5 standard deviations */
        cr_assert(seen[i] > 68 && seen[i] < 179, "%d: %d", i - 40, seen[i]);
    cr_assert_lt(same, 179);
    free(here);
    free(there);
}

static void refused(const char *type, double alpha, double beta)
{
    struct gp_gemm gemm = product_of(type, type, "nn", 4, 4, 16);
    struct gp_err err = {0};

    gemm.alpha = alpha;
    gemm.beta = beta;
    cr_assert_eq(exact()->accept(&gemm, &err), -1, "%s %g %g", type, alpha,
                 beta);
    cr_assert_eq(err.kind, GP_ERR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "the family exact needs alpha and "
                                        "beta with few binary digits"),
                       "%s", err.text);
}

Test(family_exact, factors_that_leave_no_exact_sums_are_refused)
{
    refused("f32", 0.1, 0);
    refused("f32", 1, 1.0 / 3);
    refused("f32", 0x1p-9, 0); /* nine binary digits */
    refused("f32", 1, 0x1p-20);
    refused("f32", 1e30, 0);
    refused("f32", 1, -1e30);
    refused("bf16", 256, 0); /* one term is already 2^8 */
    refused("bf16", 1, 85);  /* 3 * 85 = 255 leaves nothing */
    refused("f16", 1, 0x1p-9);
}
