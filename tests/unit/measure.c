/* Measuring outputs that were made by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check/measure.h"
#include "tests/unit/product.h"

enum { M = 4, N = 3, COUNT = M * N };

/* A reference of twelve results 1, 2, ... 12, each of magnitude 16. */
struct made {
    struct gp_reference reference;
    double ref[COUNT];
    float d[COUNT];
};

/* The type of the magnitudes is the reference's own business. */
static void set_magnitudes(struct gp_reference *reference, double value)
{
    reference->mag = calloc(COUNT, sizeof *reference->mag);
    for (int i = 0; i < COUNT; i++)
        reference->mag[i] += value;
}

static void setup_made(struct made *made)
{
    *made = (struct made){
        .reference = {.gemm = product_of("f32", "f32", "nn", M, N, 5)}};
    made->reference.ref = made->ref;
    set_magnitudes(&made->reference, 16);
    for (int i = 0; i < COUNT; i++) {
        made->ref[i] = i + 1;
        made->d[i] = (float)(i + 1);
    }
}

static void drop(struct made *made)
{
    free(made->reference.mag);
}

/* |error| <= 2^-10 G = 2^-6, and no more. */
static const struct gp_bound plain = {
    .rel_mag = 0x1p-10, .omega_acc = INFINITY, .omega_out = INFINITY};

static struct gp_accuracy measured(const struct made *made,
                                   const struct gp_bound *bound)
{
    struct gp_accuracy accuracy;

    gp_measure(&made->reference, bound, made->d, &accuracy);
    return accuracy;
}

Test(measure, what_is_right_has_no_error)
{
    struct made made;
    struct gp_accuracy accuracy;

    setup_made(&made);
    accuracy = measured(&made, &plain);
    cr_assert_eq(accuracy.count, COUNT);
    cr_assert_eq(accuracy.rounded, COUNT);
    cr_assert_eq(accuracy.outside, 0);
    cr_assert_eq(accuracy.ambiguous, 0);
    cr_assert_eq(accuracy.max_share, 0);
    cr_assert_eq(accuracy.omega, 0);
    cr_assert_eq(accuracy.max_ulp, 0);
    cr_assert_eq(accuracy.norm_error, 0);
    cr_assert_eq(accuracy.first_unrounded.index, -1);
    /* 1 + 4 + 9 + ... + 144 */
    cr_assert_float_eq(accuracy.norm_ref, sqrt(650), 1e-12);
    drop(&made);
}

Test(measure, one_place_off)
{
    struct made made;
    struct gp_accuracy accuracy;

    setup_made(&made);
    made.d[6] = nextafterf(7, 8); /* one ulp of 7: 2^-21 */
    accuracy = measured(&made, &plain);
    cr_assert_eq(accuracy.rounded, COUNT - 1);
    cr_assert_eq(accuracy.first_unrounded.index, 6);
    cr_assert_eq(accuracy.first_unrounded.got, (double)made.d[6]);
    cr_assert_eq(accuracy.first_unrounded.ref, 7);
    cr_assert_eq(accuracy.outside, 0);
    cr_assert_eq(accuracy.max_ulp, 1);
    cr_assert_float_eq(accuracy.mean_ulp, 1.0 / COUNT, 1e-15);
    cr_assert_eq(accuracy.worst.index, 6);
    cr_assert_eq(accuracy.omega, 0x1p-21 / 16);
    cr_assert_float_eq(accuracy.max_share, 0x1p-15, 1e-15);
    cr_assert_eq(accuracy.norm_error, 0x1p-21);
    drop(&made);
}

Test(measure, one_element_outside)
{
    struct made made;
    struct gp_accuracy accuracy;

    setup_made(&made);
    made.d[2] += 0x1p-7f; /* half of what is allowed */
    made.d[9] -= 0x1p-5f; /* twice */
    accuracy = measured(&made, &plain);
    cr_assert_eq(accuracy.outside, 1);
    cr_assert_eq(accuracy.worst.index, 9);
    cr_assert_eq(accuracy.worst.got, 10 - 0x1p-5);
    cr_assert_eq(accuracy.worst.ref, 10);
    cr_assert_float_eq(accuracy.worst.limit, 0x1p-6, 1e-12);
    cr_assert_float_eq(accuracy.max_share, 2, 1e-12);
    cr_assert_eq(accuracy.first_unrounded.index, 2);
    cr_assert_eq(accuracy.omega, 0x1p-9);
    drop(&made);
}

/* On the bound is inside; the next number is not. (The check itself may be
 * 2^-50 wide: numbers of FP32 are 2^-20 apart here.) */
Test(measure, on_the_bound_and_just_beyond)
{
    struct made made;

    setup_made(&made);
    made.d[11] = 12 + 0x1p-6f;
    cr_assert_eq(measured(&made, &plain).outside, 0);
    made.d[11] = nextafterf(made.d[11], 13);
    cr_assert_eq(measured(&made, &plain).outside, 1);
    made.d[11] = 12 - 0x1p-6f;
    cr_assert_eq(measured(&made, &plain).outside, 0);
    made.d[11] = nextafterf(made.d[11], 0);
    cr_assert_eq(measured(&made, &plain).outside, 1);
    drop(&made);
}

/* Each term of the bound, and the error of the reference, is allowed. */
Test(measure, all_terms_of_the_bound_count)
{
    struct gp_bound bound = plain;
    struct made made;

    setup_made(&made);
    made.d[7] = 8 + 0x1p-5f;
    bound.rel_mag = 0;
    bound.rel_ref = 0x1p-8; /* of 8: 2^-5 */
    cr_assert_eq(measured(&made, &bound).outside, 0);
    bound.rel_ref = 0x1p-9;
    cr_assert_eq(measured(&made, &bound).outside, 1);
    bound.absolute = 0x1p-6;
    cr_assert_eq(measured(&made, &bound).outside, 0);
    bound.absolute = 0;
    made.reference.error_rel = 0x1p-10; /* of 16: 2^-6 */
    cr_assert_eq(measured(&made, &bound).outside, 0);
    drop(&made);
}

Test(measure, nan_and_infinity_are_outside)
{
    static const float wrong[] = {NAN, INFINITY, -INFINITY};

    for (int w = 0; w < 3; w++) {
        struct made made;
        struct gp_accuracy accuracy;
        setup_made(&made);
        made.d[3] = 4 + 0x1p-7f;
        made.d[5] = wrong[w];
        made.d[8] = wrong[w];
        accuracy = measured(&made, &plain);
        cr_assert_eq(accuracy.outside, 2);
        cr_assert_eq(accuracy.ambiguous, 0);
        cr_assert_eq(accuracy.rounded, COUNT - 3);
        cr_assert_eq(accuracy.max_share, INFINITY);
        cr_assert_eq(accuracy.worst.index, 5);
        cr_assert_eq(accuracy.max_ulp, INFINITY);
        cr_assert_eq(accuracy.omega, INFINITY);
        cr_assert_eq(accuracy.first_unrounded.index, 3);
        cr_assert(isfinite(accuracy.norm_error));
        drop(&made);
    }
}

/* A NaN stays the worst, whatever finite errors come after it. */
Test(measure, what_follows_a_nan_is_still_judged)
{
    struct made made;
    struct gp_accuracy accuracy;

    setup_made(&made);
    made.d[0] = NAN;
    made.d[11] = 1000;
    accuracy = measured(&made, &plain);
    cr_assert_eq(accuracy.outside, 2);
    cr_assert_eq(accuracy.worst.index, 0);
    cr_assert_eq(accuracy.first_unrounded.index, 0);
    drop(&made);
}

/* Where an order of summation may overflow, what is not finite is not judged;
 * what is finite, is. */
Test(measure, range_ambiguous)
{
    struct gp_bound bound = plain;
    struct gp_accuracy accuracy;
    struct made made;

    setup_made(&made);
    made.d[4] = INFINITY;
    made.d[5] = NAN;
    made.d[6] = 1;
    bound.omega_acc = 16; /* G reaches it */
    accuracy = measured(&made, &bound);
    cr_assert_eq(accuracy.ambiguous, 2);
    cr_assert_eq(accuracy.outside, 1);
    cr_assert_eq(accuracy.worst.index, 6);
    cr_assert_eq(accuracy.rounded, COUNT - 3);
    bound.omega_acc = 16.001;
    cr_assert_eq(measured(&made, &bound).ambiguous, 0);
    cr_assert_eq(measured(&made, &bound).outside, 3);
    bound.omega_out = 16; /* the result itself may not fit its type */
    cr_assert_eq(measured(&made, &bound).ambiguous, 2);
    drop(&made);
}

/* The sign of zero is a policy, not an error. */
Test(measure, minus_zero_is_zero)
{
    struct made made;
    struct gp_accuracy accuracy;

    setup_made(&made);
    made.ref[1] = 0;
    made.d[1] = -0.0f;
    made.ref[2] = -0.0;
    made.d[2] = 0;
    accuracy = measured(&made, &plain);
    cr_assert_eq(accuracy.rounded, COUNT);
    cr_assert_eq(accuracy.max_share, 0);
    /* An error where the result is 0 counts in smallest subnormals. */
    made.d[1] = 0x1p-149f;
    accuracy = measured(&made, &plain);
    cr_assert_eq(accuracy.max_ulp, 1);
    cr_assert_eq(accuracy.rounded, COUNT - 1);
    drop(&made);
}

/* Where nothing may be off, anything that is off is infinitely far out. */
Test(measure, a_bound_of_zero)
{
    const struct gp_bound none = {.omega_acc = INFINITY, .omega_out = INFINITY};
    struct gp_accuracy accuracy;
    struct made made;

    setup_made(&made);
    cr_assert_eq(measured(&made, &none).outside, 0);
    made.d[0] = 2;
    accuracy = measured(&made, &none);
    cr_assert_eq(accuracy.outside, 1);
    cr_assert_eq(accuracy.max_share, INFINITY);
    cr_assert_eq(accuracy.worst.index, 0);
    drop(&made);
}

/* The rounded reference is that of the output's type: 1 + 2^-9 in BF16 is 1,
 * and an error counts in its own ulps (2^-7 at 1). */
Test(measure, results_of_16_bits)
{
    struct gp_accuracy accuracy;
    uint16_t d[COUNT];
    struct made made;

    setup_made(&made);
    made.reference.gemm = product_of("bf16", "bf16", "nn", M, N, 5);
    made.ref[0] = 1 + 0x1p-9;
    gp_type_store(made.reference.gemm.out, made.ref, d, COUNT);
    cr_assert_eq(d[0], 0x3f80);
    gp_measure(&made.reference, &plain, d, &accuracy);
    cr_assert_eq(accuracy.rounded, COUNT);
    cr_assert_eq(accuracy.max_ulp, 0.25);
    d[0]++;
    gp_measure(&made.reference, &plain, d, &accuracy);
    cr_assert_eq(accuracy.rounded, COUNT - 1);
    cr_assert_eq(accuracy.max_ulp, 0.75);
    drop(&made);
}

/* More elements than one chunk of the pass, the last one wrong. */
Test(measure, the_last_of_many)
{
    enum { MANY = 5003 };
    struct gp_reference reference = {
        .gemm = product_of("f64", "f64", "nn", MANY, 1, 5)};
    struct gp_accuracy accuracy;
    double *d = calloc(MANY, sizeof *d);

    reference.ref = calloc(MANY, sizeof *reference.ref);
    reference.mag = calloc(MANY, sizeof *reference.mag);
    for (int i = 0; i < MANY; i++) {
        reference.mag[i] = 1;
        d[i] = reference.ref[i] = (double)i / MANY;
    }
    gp_measure(&reference, &plain, d, &accuracy);
    cr_assert_eq(accuracy.rounded, MANY);
    d[MANY - 1] = -1;
    gp_measure(&reference, &plain, d, &accuracy);
    cr_assert_eq(accuracy.count, MANY);
    cr_assert_eq(accuracy.outside, 1);
    cr_assert_eq(accuracy.worst.index, MANY - 1);
    free(reference.ref);
    free(reference.mag);
    free(d);
}

/* FP64 results against pairs: 1 + 2^-54 and the like. A result whose tie the
 * reference cannot decide is not counted among those it decides. */
Test(measure, the_low_half_of_a_reference_counts)
{
    double ref[COUNT], low[COUNT], d[COUNT];
    struct gp_reference reference = {
        .gemm = product_of("f64", "f64", "nn", M, N, 5),
        .ref = ref,
        .low = low,
        .error_rel = 0x1p-90};
    struct gp_bound bound = plain;
    struct gp_accuracy accuracy;

    set_magnitudes(&reference, 1);
    for (int i = 0; i < COUNT; i++) {
        d[i] = ref[i] = 1;
        low[i] = 0x1p-54;
    }
    bound.rel_mag = 0x1p-53;
    gp_measure(&reference, &bound, d, &accuracy);
    cr_assert_eq(accuracy.max_ulp, 0.25);
    cr_assert_eq(accuracy.rounded, COUNT);
    cr_assert_eq(accuracy.sure, COUNT);
    cr_assert_eq(accuracy.outside, 0);
    d[3] += 0x1p-52; /* 3/4 of an ulp, 3/2 of the bound */
    low[5] = 0x1p-53 - 0x1p-100;
    gp_measure(&reference, &bound, d, &accuracy);
    cr_assert_eq(accuracy.max_ulp, 0.75);
    cr_assert_eq(accuracy.omega, 3 * 0x1p-54);
    cr_assert_eq(accuracy.rounded, COUNT - 1);
    cr_assert_eq(accuracy.first_unrounded.index, 3);
    cr_assert_eq(accuracy.sure, COUNT - 1);
    cr_assert_eq(accuracy.sure_rounded, COUNT - 2);
    cr_assert_eq(accuracy.outside, 1);
    cr_assert_eq(accuracy.worst.index, 3);
    reference.error_abs = 0x1p-54; /* and now it is on its limit */
    gp_measure(&reference, &bound, d, &accuracy);
    cr_assert_eq(accuracy.outside, 0);
    free(reference.mag);
}
