/* Each check on evidence made by hand: what must pass, what must fail, and
 * where it says that it is. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/check/check.h"
#include "tests/unit/plan.h"

enum { REPEATS = 10 };

/* A run of three batches of 3 x 2 results, and evidence of a flawless one. */
struct made {
    struct gp_plan plan;
    struct gp_accuracy accuracy[3];
    int64_t frequency[3], first[3], differing[2], differing_first[2];
    struct gp_evidence evidence;
};

static void setup_made(struct made *made, const char *backend)
{
    char id[100];

    memset(made, 0, sizeof *made);
    snprintf(id, sizeof id, "f32.nn.3x2x5.b3.dense.s1/%s/default", backend);
    for (int v = 0; v < 3; v++)
        made->accuracy[v] = (struct gp_accuracy){
            .count = 18,
            .rounded = 18,
            .max_share = 0.5,
            .worst = {.index = 4},
            .first_unrounded = {.index = -1},
        };
    made->frequency[0] = REPEATS;
    made->evidence = (struct gp_evidence){
        .run = plan_run(&made->plan, id),
        .accuracy = made->accuracy,
        .outputs = 1,
        .variants = 1,
        .frequency = made->frequency,
        .first_repeat = made->first,
        .differing = made->differing,
        .differing_first = made->differing_first,
        .guard_first = -1,
        .guard_where = "",
        .input_first = -1,
        .input_where = "",
        .sentinel_first = -1,
        .promise = "a promise",
    };
}

static struct gp_finding judged(const struct gp_check *check,
                                const struct made *made)
{
    struct gp_finding finding = {
        .check = check->name, .where = {-1, -1, -1, -1}, .evidence = "proved"};

    check->judge(&made->evidence, &finding);
    cr_assert(*finding.text, "%s has no sentence", check->name);
    return finding;
}

static void says(const struct gp_finding *finding, const char *words)
{
    cr_assert_not_null(strstr(finding->text, words), "'%s' has no '%s'",
                       finding->text, words);
}

Test(checks, every_check_and_relation_has_a_name_and_a_help)
{
    int checks = 0;

    for (const struct gp_check *const *at = gp_checks; *at; at++, checks++)
        cr_assert(*(*at)->name && *(*at)->help && (*at)->applies &&
                  (*at)->judge);
    cr_assert_geq(checks, 4);
    for (const struct gp_relation *const *at = gp_relations; *at; at++)
        cr_assert(*(*at)->name && *(*at)->help && (*at)->applies &&
                  !(*at)->related == !(*at)->judge);
}

Test(checks, a_flawless_run_raises_nothing)
{
    const struct gp_check *const all[] = {&gp_check_bound, &gp_check_exact,
                                          &gp_check_repeat, &gp_check_guard};
    struct made made;

    setup_made(&made, "naive");
    for (int i = 0; i < 4; i++) {
        struct gp_finding finding = judged(all[i], &made);
        cr_assert_eq(finding.verdict, GP_PASS, "%s: %s", all[i]->name,
                     finding.text);
        cr_assert_eq(finding.flags, 0);
    }
    gp_plan_free(&made.plan);
}

Test(checks, which_families_they_judge)
{
    const struct gp_family *dense = gp_family_find("dense");
    const struct gp_family *exact = gp_family_find("exact");

    cr_assert(gp_check_bound.applies(dense) && gp_check_bound.applies(exact));
    cr_assert(gp_check_repeat.applies(dense) && gp_check_repeat.applies(exact));
    cr_assert(gp_check_guard.applies(dense) && gp_check_guard.applies(exact));
    cr_assert(gp_check_exact.applies(exact));
    cr_assert_not(gp_check_exact.applies(dense));
    cr_assert(gp_relation_workspace.applies(dense));
    cr_assert_not(gp_relation_workspace.applies(exact));
}

/* --- bound -----------------------------------------------------------------
 */

Test(checks, bound_fails_for_one_element_outside)
{
    struct gp_finding finding;
    struct made made;

    setup_made(&made, "naive");
    made.accuracy[0].outside = 1;
    made.accuracy[0].max_share = 1.25;
    made.accuracy[0].worst = (struct gp_element){10, 3, 4, 0.8};
    finding = judged(&gp_check_bound, &made);
    cr_assert_eq(finding.verdict, GP_FAIL);
    cr_assert_eq(finding.value, 1.25);
    cr_assert_eq(finding.limit, 1);
    /* Packed element 10 of 3 x 2 x 3: batch 1, column 1, row 1. */
    cr_assert_eq(finding.where.i, 1);
    cr_assert_eq(finding.where.j, 1);
    cr_assert_eq(finding.where.batch, 1);
    cr_assert_eq(finding.where.repeat, 0);
    gp_plan_free(&made.plan);
}

Test(checks, bound_looks_at_every_variant)
{
    struct gp_finding finding;
    struct made made;

    setup_made(&made, "naive");
    made.evidence.outputs = made.evidence.variants = 3;
    made.first[1] = 4;
    made.first[2] = 8;
    made.accuracy[2].outside = 18;
    made.accuracy[2].max_share = INFINITY;
    finding = judged(&gp_check_bound, &made);
    cr_assert_eq(finding.verdict, GP_FAIL);
    cr_assert_eq(finding.where.repeat, 8);
    made.accuracy[2].outside = 0;
    made.accuracy[2].max_share = 0.1;
    cr_assert_eq(judged(&gp_check_bound, &made).verdict, GP_PASS);
    gp_plan_free(&made.plan);
}

/* --- exact -----------------------------------------------------------------
 */

Test(checks, exact_fails_for_one_wrong_bit)
{
    struct gp_finding finding;
    struct made made;

    setup_made(&made, "naive");
    made.accuracy[0].rounded = 17;
    made.accuracy[0].first_unrounded = (struct gp_element){17, 41, 42, 9};
    finding = judged(&gp_check_exact, &made);
    cr_assert_eq(finding.verdict, GP_FAIL);
    cr_assert_eq(finding.value, 1);
    cr_assert_eq(finding.limit, 0);
    cr_assert_eq(finding.where.i, 2);
    cr_assert_eq(finding.where.j, 1);
    cr_assert_eq(finding.where.batch, 2);
    says(&finding, "41");
    says(&finding, "42");
    gp_plan_free(&made.plan);
}

Test(checks, exact_looks_at_every_variant_and_spares_what_is_ambiguous)
{
    struct gp_finding finding;
    struct made made;

    setup_made(&made, "naive");
    made.evidence.outputs = made.evidence.variants = 2;
    made.first[1] = 3;
    made.accuracy[1].rounded = 0;
    made.accuracy[1].first_unrounded.index = 0;
    finding = judged(&gp_check_exact, &made);
    cr_assert_eq(finding.verdict, GP_FAIL);
    cr_assert_eq(finding.value, 18);
    cr_assert_eq(finding.where.repeat, 3);
    made.accuracy[1].ambiguous = 18;
    cr_assert_eq(judged(&gp_check_exact, &made).verdict, GP_PASS);
    gp_plan_free(&made.plan);
}

/* --- guard -----------------------------------------------------------------
 */

Test(checks, guard_fails_for_a_byte_an_input_or_a_gap)
{
    struct gp_finding finding;
    struct made made;

    setup_made(&made, "naive");
    made.evidence.guard_bytes = 2;
    made.evidence.guard_first = 4095;
    made.evidence.guard_where = "before A";
    finding = judged(&gp_check_guard, &made);
    cr_assert_eq(finding.verdict, GP_FAIL);
    cr_assert_eq(finding.value, 2);
    says(&finding, "before A at byte 4095");
    made.evidence.guard_bytes = 0;
    made.evidence.input_elements = 1;
    made.evidence.input_first = 7;
    made.evidence.input_where = "B";
    finding = judged(&gp_check_guard, &made);
    cr_assert_eq(finding.verdict, GP_FAIL);
    says(&finding, "element 7 of B");
    made.evidence.input_elements = 0;
    made.evidence.sentinels_left = 3;
    made.evidence.sentinel_first = 5;
    finding = judged(&gp_check_guard, &made);
    cr_assert_eq(finding.verdict, GP_FAIL);
    cr_assert_eq(finding.where.i, 2);
    cr_assert_eq(finding.where.j, 1);
    cr_assert_eq(finding.where.batch, 0);
    gp_plan_free(&made.plan);
}

/* --- Findings --------------------------------------------------------------
 */

Test(checks, a_place_outside_of_the_result_is_no_place)
{
    const struct gp_gemm gemm = {.m = 3, .n = 2, .batch = 3};
    struct gp_finding finding = {.where = {-1, -1, -1, -1}};

    gp_finding_place(&finding, &gemm, -1);
    cr_assert(finding.where.i == -1 && finding.where.j == -1 &&
              finding.where.batch == -1);
    gp_finding_place(&finding, &gemm, 0);
    cr_assert(finding.where.i == 0 && finding.where.j == 0 &&
              finding.where.batch == 0);
}

Test(checks, a_long_sentence_is_cut)
{
    struct gp_finding finding = {0};
    char longer[2 * sizeof finding.text];

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    gp_finding_say(&finding, GP_FAIL, "%s", longer);
    cr_assert_eq(strlen(finding.text), sizeof finding.text - 1);
    cr_assert_eq(finding.verdict, GP_FAIL);
}
