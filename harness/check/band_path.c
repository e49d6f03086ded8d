/*
 * One sum over k, step by step: where bits are lost, how many, and to which
 * side. A quantity that is a multiple of 2^g and is rounded to a multiple of
 * 2^h errs by one of 2^(h-g) multiples of 2^g, all equally likely (the model
 * of independent errors; Henrici 1964, Higham and Mary 2019). Toward zero the
 * mean is (2^h - 2^g) / 2 against the sign, the variance (4^h - 4^g) / 12; to
 * nearest, ties to even, the mean is 0 and the variance (4^h + 2 4^g) / 12.
 * Where it is known to be an odd multiple of 2^g, only every other error is
 * possible: a mean of 2^h / 2 and a variance of (4^h - 4 4^g) / 12 for both,
 * but a tie, h = g + 1, errs to nearest by 4^h / 4 in the square.
 */
#include <math.h>
#include <string.h>

#include "harness/check/band_law.h"

enum { FINEST = -1022, COARSEST = 1023, FRACTION = 52, BIAS = 1023 };

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* floor(log2 |x|) of a normal number. */
static int exponent_of(double x)
{
    return (int)(bits_of(x) >> FRACTION & 0x7ff) - BIAS;
}

/* 2^e, 0 below the normal numbers. */
static double power_of_two(int e)
{
    uint64_t bits = e < FINEST ? 0 : (uint64_t)(e + BIAS) << FRACTION;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

int gp_law_grid(double x)
{
    uint64_t bits = bits_of(x) | UINT64_C(1) << FRACTION;

    return exponent_of(x) - FRACTION + __builtin_ctzll(bits);
}

struct sum {
    double value;
    int grid; /* it is a multiple of 2^grid */
};

static void round_nearest(struct gp_path *path, int to, int from, bool odd)
{
    double coarse = power_of_two(to), fine = power_of_two(from);

    if (odd && from == to - 1)
        path->variance += coarse * coarse / 4;
    else
        path->variance += (coarse * coarse + (odd ? -4 : 2) * fine * fine) / 12;
}

static void cut(struct gp_path *path, int to, int from, bool odd, double value)
{
    double coarse = power_of_two(to), fine = power_of_two(from);

    path->variance += (coarse * coarse - (odd ? 4 : 1) * fine * fine) / 12;
    path->drift -= copysign((coarse - (odd ? 0 : fine)) / 2, value);
}

/* One fused multiply-add. The grid of a product is known even where FP64
 * cannot hold all its bits. */
static void add_product(struct gp_path *path, struct sum *sum, double a,
                        double b, int precision)
{
    double product = a * b, value = sum->value + product;
    int grid = gp_law_grid(a) + gp_law_grid(b), ulp;
    bool odd;

    if (value == 0) {
        *sum = (struct sum){0, COARSEST};
        return;
    }
    odd = grid < sum->grid;
    grid = odd ? grid : sum->grid;
    ulp = exponent_of(value) - precision + 1;
    if (grid < ulp && sum->grid >= ulp &&
        fabs(product) < power_of_two(ulp - 1)) {
        path->drift -= product; /* too small to be seen */
        return;
    }
    if (grid < ulp)
        round_nearest(path, ulp, grid, odd);
    *sum = (struct sum){value, grid < ulp ? ulp : grid};
}

static void chain(const double *a, const double *b, int64_t k, int precision,
                  struct gp_path *path, struct sum *sum)
{
    for (int64_t l = 0; l < k; l++)
        if (a[l] * b[l] != 0)
            add_product(path, sum, a[l], b[l], precision);
}

/* The largest exponent among the summands of a step, that of a product being
 * the sum of its operands'. */
static int step_exponent(const struct sum *sum, const double *a,
                         const double *b, int64_t count)
{
    int most = sum->value != 0 ? exponent_of(sum->value) : FINEST;

    for (int64_t l = 0; l < count; l++) {
        int e = exponent_of(a[l]) + exponent_of(b[l]);
        most = a[l] * b[l] != 0 && e > most ? e : most;
    }
    return most;
}

/* A sum that is put together: of which 2^grid it is a multiple, and whether an
 * odd one. Terms that were rounded are odd or even, nobody knows. */
struct step {
    double value;
    int grid;
    enum { EVEN, ODD, EITHER } parity;
};

static void put(struct step *step, double value, int grid, bool rounded)
{
    if (grid < step->grid) {
        step->grid = grid;
        step->parity = rounded ? EITHER : ODD;
    } else if (grid == step->grid && step->parity != EITHER) {
        step->parity = rounded ? EITHER : step->parity == ODD ? EVEN : ODD;
    }
    step->value += value;
}

/* Everything cut to a multiple of 2^quantum. */
static struct step align(struct gp_path *path, const struct sum *sum,
                         const double *a, const double *b, int64_t count,
                         int quantum)
{
    struct step made = {0, COARSEST, EVEN};
    double least = power_of_two(quantum);

    if (sum->value != 0 && sum->grid < quantum)
        cut(path, quantum, sum->grid, false, sum->value);
    if (sum->value != 0)
        put(&made, sum->value, sum->grid < quantum ? quantum : sum->grid, true);
    for (int64_t l = 0; l < count; l++) {
        double product = a[l] * b[l];
        int grid = product != 0 ? gp_law_grid(product) : COARSEST;
        if (grid >= quantum) {
            if (product != 0)
                put(&made, product, grid, false);
        } else if (fabs(product) < least) {
            path->drift -= product;
        } else {
            cut(path, quantum, grid, true, product);
            put(&made, product, quantum, true);
        }
    }
    return made;
}

/* One step of a tensor core: everything cut to a multiple of 2^(E - F), added
 * exactly, then cut to FP32 or rounded to FP16. */
static void step(struct gp_path *path, struct sum *sum, const double *a,
                 const double *b, int64_t count, int fraction_bits,
                 int precision)
{
    struct step made = align(path, sum, a, b, count,
                             step_exponent(sum, a, b, count) - fraction_bits);
    int ulp, grid = made.grid + (made.parity == EVEN);
    bool odd = made.parity == ODD;

    if (made.value == 0) {
        *sum = (struct sum){0, COARSEST};
        return;
    }
    ulp = exponent_of(made.value) - precision + 1;
    if (grid < ulp && precision < 24)
        round_nearest(path, ulp, grid, odd);
    else if (grid < ulp)
        cut(path, ulp, grid, odd, made.value);
    *sum = (struct sum){made.value, grid < ulp ? ulp : grid};
}

void gp_law_path(const struct gp_law *law, int compute_capability,
                 const double *read_a, const double *read_b, int64_t k,
                 struct gp_path *ret_path)
{
    const struct gp_bound_unit *unit = gp_bound_unit(compute_capability);
    int64_t each =
        law->unit == GP_LAW_TENSOR_16 ? unit->products_16 : unit->products_tf32;
    struct gp_path path = {0};
    struct sum sum = {0, COARSEST};

    if (law->unit == GP_LAW_CHAIN)
        chain(read_a, read_b, k, law->accumulator, &path, &sum);
    else
        for (int64_t l = 0; l < k; l += each)
            step(&path, &sum, read_a + l, read_b + l,
                 k - l < each ? k - l : each, unit->fraction_bits,
                 law->accumulator);
    path.grid = sum.grid;
    *ret_path = path;
}

double gp_law_rounding(double value, int precision, int emin, int *grid)
{
    int e = exponent_of(value), ulp;
    struct gp_path path = {0};

    ulp = (e < emin ? emin : e) - precision + 1;
    if (value == 0 || *grid >= ulp)
        return 0;
    round_nearest(&path, ulp, *grid, false);
    *grid = ulp;
    return path.variance;
}

double gp_law_read(const struct gp_law *law, double x)
{
    int e;
    double f;

    if (law->input_precision == 0)
        return x;
    if (!law->cut)
        return gp_round_to(x, law->input_precision, law->input_emin);
    f = frexp(x, &e);
    return ldexp(trunc(ldexp(f, law->input_precision)),
                 e - law->input_precision);
}
