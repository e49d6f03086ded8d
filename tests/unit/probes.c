/* The probes beyond one-hot and product: what stands in their operands, found
 * without their help, and so what each result must be. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/product.h"

static double *filled(const struct gp_gemm *gemm, const char *family,
                      enum gp_operand operand, int64_t batch)
{
    const struct gp_family_args args = {gemm, 3, operand, batch};
    int64_t rows = operand == GP_A ? gemm->m : gemm->k;
    int64_t cols = operand == GP_A ? gemm->k : gemm->n;
    double *made = calloc((size_t)(rows * cols), sizeof *made);

    for (int64_t j = 0; j < cols; j++)
        gp_family_find(family)->column(&args, j, made + j * rows);
    for (int64_t i = 0; i < rows * cols; i++)
        cr_assert_eq(gp_type_round(gemm->in, made[i]), made[i],
                     "%s: %a is no %s", family, made[i], gemm->in->name);
    return made;
}

static const struct {
    const char *in, *out;
} types[] = {{"f32", "f32"}, {"f64", "f64"},   {"f16", "f16"},
             {"f16", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"}};
static const int64_t sizes[][3] = {{16, 12, 1000}, {8, 8, 4096}, {1, 1, 7},
                                   {1, 40, 64},    {33, 17, 9},  {5, 3, 4}};

/* The nonzero products of one result, in the order of k. */
static int terms(const struct gp_gemm *gemm, const double *a, const double *b,
                 int64_t i, int64_t j, double *ret_terms, int64_t *ret_places)
{
    int count = 0;

    for (int64_t l = 0; l < gemm->k; l++) {
        double term = a[i + l * gemm->m] * b[l + j * gemm->k];
        if (term == 0)
            continue;
        cr_assert(count < 4);
        ret_places[count] = l;
        ret_terms[count++] = term;
    }
    return count;
}

static void each(const char *family,
                 void (*check)(const struct gp_gemm *, const double *,
                               const double *))
{
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct gp_gemm gemm =
                product_of(types[t].in, types[t].out, "nn", sizes[s][0],
                           sizes[s][1], sizes[s][2]);
            struct gp_err err = {0};
            double *a, *b;
            if (gp_family_find(family)->accept(&gemm, &err) != 0)
                continue;
            a = filled(&gemm, family, GP_A, 0);
            b = filled(&gemm, family, GP_B, 0);
            check(&gemm, a, b);
            free(a);
            free(b);
        }
}

/* +big, 1, -big or their negatives: 1 in every arithmetic that can add it to
 * big, and the windows cover k. */
static void check_split(const struct gp_gemm *gemm, const double *a,
                        const double *b)
{
    double big = gemm->in->bytes == 8 ? 0x1p24 : 0x1p11;
    unsigned char *covered = calloc((size_t)gemm->k, 1);

    for (int64_t j = 0; j < gemm->n; j++)
        for (int64_t i = 0; i < gemm->m; i++) {
            double t[4], sign;
            int64_t at[4];
            cr_assert_eq(terms(gemm, a, b, i, j, t, at), 3);
            sign = t[1];
            cr_assert(fabs(sign) == 1 && t[0] == sign * big &&
                      t[2] == -sign * big);
            cr_assert_eq(at[1], at[0] + 1);
            for (int64_t l = at[0] + 2; l <= at[2]; l++)
                covered[l] = 1;
        }
    for (int64_t l = 2; l < gemm->k; l++)
        cr_assert(covered[l], "%d of %d", (int)l, (int)gemm->k);
    free(covered);
}

Test(probes, split_finder)
{
    each("split-finder", check_split);
}

/* 1 + half a last place and more, or 1 - half of it: RN is one place away. */
static void check_two_term(const struct gp_gemm *gemm, const double *a,
                           const double *b)
{
    double last = ldexp(1, 1 - gemm->out->precision);
    int64_t above = 0;

    for (int64_t j = 0; j < gemm->n; j++)
        for (int64_t i = 0; i < gemm->m; i++) {
            double t[4], one, small;
            int64_t at[4];
            cr_assert_eq(terms(gemm, a, b, i, j, t, at), 2);
            one = fabs(t[0]) == 1 ? t[0] : t[1];
            small = (fabs(t[0]) == 1 ? t[1] : t[0]) / one;
            cr_assert_eq(fabs(one), 1);
            above += small > 0;
            if (small > 0)
                cr_assert(small > last / 2 && small < last * 0.6);
            else
                cr_assert((-small > last / 4 && -small < last * 0.3) ||
                          (-small > last / 2 && -small < last * 0.6));
            if (gemm->out->bytes < 8)
                cr_assert_eq(gp_type_round(gemm->out, one * (1 + small)),
                             one * (small > 0 ? 1 + last : 1 - last / 2));
        }
    cr_assert(above > 0);
}

Test(probes, two_term)
{
    each("two-term", check_two_term);
}

/* Far terms are far, near ones neighbours. */
Test(probes, two_term_near_and_far)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 16, 16, 4096);
    double *a = filled(&gemm, "two-term", GP_A, 0);
    double *b = filled(&gemm, "two-term", GP_B, 0);
    int64_t near = 0, far = 0;

    for (int64_t at = 0; at < 256; at++) {
        double t[4];
        int64_t places[4], distance;
        cr_assert_eq(terms(&gemm, a, b, at % 16, at / 16, t, places), 2);
        distance = places[1] - places[0];
        near += distance == 1;
        far += distance > 16;
    }
    cr_assert(near >= 120 && far >= 110, "%d, %d", (int)near, (int)far);
    free(a);
    free(b);
}

/* The place of the last nonzero bit of |x| in [1, 2). */
static int last_bit(double x)
{
    int bit = 0;

    for (x = fabs(x); x != floor(x); x *= 2)
        bit++;
    return bit;
}

static double only_term(const struct gp_gemm *gemm, const double *a,
                        const double *b, int64_t v)
{
    bool in_a = gemm->m >= gemm->n;
    double t[4];
    int64_t at[4];

    cr_assert_eq(terms(gemm, a, b, in_a ? v : 0, in_a ? 0 : v, t, at), 1);
    return t[0];
}

Test(probes, bit_scan_reaches_every_bit)
{
    for (size_t t = 0; t < 6; t++) {
        struct gp_gemm gemm =
            product_of(types[t].in, types[t].out, "nn", 120, 3, 50);
        double *a = filled(&gemm, "bit-scan", GP_A, 0);
        double *b = filled(&gemm, "bit-scan", GP_B, 0);
        int p = gemm.in->precision, seen[64] = {0}, scaled = 0, first = 0;
        for (int v = 0; v < 120; v++) {
            double x = only_term(&gemm, a, b, v);
            bool small = fabs(x) < 1;
            scaled += small;
            x = small ? ldexp(x, 16) : x;
            cr_assert(fabs(x) >= 1 && fabs(x) < 2);
            cr_assert_eq(last_bit(x), gp_family_scan_bit(&gemm, v));
            seen[last_bit(x)]++;
            first = v == 0 ? last_bit(x) : first;
        }
        for (int bit = 1; bit < p; bit++)
            cr_assert(seen[bit] >= 120 / (p - 1), "%s bit %d: %d", types[t].in,
                      bit, seen[bit]);
        cr_assert_eq(scaled > 0, gemm.in->bytes == 4);
        cr_assert_eq(first, p > 11 ? 11 : p > 8 ? 8 : 7);
        free(a);
        free(b);
    }
}

/* Each third: a tie over an even number, over an odd one, and just above. */
Test(probes, ties)
{
    for (size_t t = 0; t < 4; t++) {
        struct gp_gemm gemm =
            product_of(types[t].in, types[t].out, "nn", 6, 36, 50);
        double *a = filled(&gemm, "tie", GP_A, 0);
        double *b = filled(&gemm, "tie", GP_B, 0);
        for (int v = 0; v < 36; v++) {
            double x = fabs(only_term(&gemm, a, b, v));
            int widths = 0;
            for (int q = 8; q <= 24; q++) {
                double units = ldexp(x, q - 1), rest = units - floor(units);
                bool odd = fmod(floor(units), 2) != 0;
                bool above = rest > 0.5 && rest < 0.51 + ldexp(1, q - 11);
                if (q >= gemm.in->precision || (q != 8 && q != 11 && q != 24))
                    continue;
                widths += v % 3 == 2 ? above && !odd
                                     : rest == 0.5 && odd == (v % 3 == 1);
            }
            cr_assert_geq(widths, 1, "%s %d: %a", types[t].in, v, x);
        }
        free(a);
        free(b);
    }
}

static void check_zeros(const struct gp_gemm *gemm, const double *a,
                        const double *b)
{
    int64_t zeros = 0;

    for (int64_t j = 0; j < gemm->n; j++)
        for (int64_t i = 0; i < gemm->m; i++) {
            bool zero = gp_family_zero_at(3, 0, i, j);
            int64_t found = 0;
            for (int64_t l = 0; l < gemm->k; l++)
                found += a[i + l * gemm->m] * b[l + j * gemm->k] != 0;
            cr_assert_eq(zero, found == 0, "(%d, %d): %d", (int)i, (int)j,
                         (int)found);
            zeros += zero;
        }
    cr_assert(zeros > 0);
    /* No row is all zeros: there is something to mix. */
    for (int64_t i = 0; i < gemm->m; i++) {
        int64_t found = 0;
        for (int64_t l = 0; l < gemm->k; l++)
            found += a[i + l * gemm->m] != 0;
        cr_assert(found > 0);
    }
}

Test(probes, zeros)
{
    each("zeros", check_zeros);
}

static void check_range(const struct gp_gemm *gemm, const double *a,
                        const double *b)
{
    int span = gp_family_range_span(gemm), least = 99, most = -99;

    for (int64_t l = 0; l < gemm->k; l++)
        for (int64_t i = 0; i < gemm->m; i++) {
            double x = a[i + l * gemm->m], y = b[l];
            cr_assert(x > 0 && y > 0 && x * y >= 1 && x * y < 4);
            least = ilogb(x) < least ? ilogb(x) : least;
            most = ilogb(x) > most ? ilogb(x) : most;
        }
    cr_assert(least >= -span && most <= span);
    if (gemm->k >= 1000)
        cr_assert(least == -span && most == span);
}

Test(probes, range)
{
    each("range", check_range);
}

/* What a probe cannot be made for is refused in a sentence. */
Test(probes, refused)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 4, 4, 3);
    struct gp_err err = {0};

    cr_assert_neq(gp_family_find("split-finder")->accept(&gemm, &err), 0);
    cr_assert_not_null(strstr(err.text, "k of at least 4"));
    cr_assert_neq(gp_family_find("two-term")->accept(&gemm, &err), 0);
    gemm = product_of("bf16", "f32", "nn", 4, 4, 8);
    cr_assert_neq(gp_family_find("tie")->accept(&gemm, &err), 0);
    cr_assert_not_null(strstr(err.text, "bf16 is the narrowest"));
    gemm = product_of("f16", "f16", "nn", 4, 4, 8193);
    cr_assert_neq(gp_family_find("range")->accept(&gemm, &err), 0);
    gemm = product_of("f16", "f32", "nn", 4, 4, 8193);
    cr_assert_eq(gp_family_find("range")->accept(&gemm, &err), 0);
    gemm = product_of("f64", "f64", "nn", 4, 4, 1);
    cr_assert_neq(gp_family_find("zeros")->accept(&gemm, &err), 0);
    gemm = product_of("f32", "f32", "nn", 4, 4, 8);
    for (int side = 0; side < 2; side++) {
        gemm = product_of("f32", "f32", "nn", side, 1 - side, 8);
        for (const struct gp_family *row = gp_families; row->name; row++)
            if (row->probe)
                cr_assert_neq(row->accept(&gemm, &err), 0, "%s", row->name);
    }
    gemm = product_of("f32", "f32", "nn", 4, 4, 8);
    gemm.alpha = 2;
    for (const struct gp_family *row = gp_families; row->name; row++)
        if (row->probe)
            cr_assert_neq(row->accept(&gemm, &err), 0, "%s", row->name);
}
