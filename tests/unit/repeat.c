/* The check repeat: which repeat is the odd one, and what that means. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "harness/check/check.h"
#include "tests/unit/plan.h"

/* Ten repeats of a 4 x 5 result as a worker reports them. */
struct made {
    struct gp_plan plan;
    struct gp_accuracy accuracy[8];
    int64_t frequency[8], first[8], differing[8], differing_first[8];
    struct gp_evidence evidence;
};

/* From the variant of each repeat, a digit each: "0010000000". Variant v
 * differs from variant 0 in 10 v elements, from element v on. */
static void setup_made(struct made *made, const char *order)
{
    const int64_t repeats = (int64_t)strlen(order);
    char id[100];

    memset(made, 0, sizeof *made);
    snprintf(id, sizeof id, "f32.nn.4x5x6.dense.s1/naive/default/r%d",
             (int)repeats);
    made->evidence = (struct gp_evidence){
        .run = plan_run(&made->plan, id),
        .accuracy = made->accuracy,
        .frequency = made->frequency,
        .first_repeat = made->first,
        .differing = made->differing,
        .differing_first = made->differing_first,
        .guard_where = "",
        .input_where = "",
        .promise = "the library's documentation",
    };
    for (int64_t r = 0; r < repeats; r++) {
        int64_t v = order[r] - '0';
        if (made->frequency[v]++ == 0)
            made->first[v] = r;
        if (v + 1 > made->evidence.variants)
            made->evidence.variants = v + 1;
        made->evidence.last_variant = v;
        made->evidence.last_differing = 10 * v;
    }
    made->evidence.outputs = made->evidence.variants;
    made->evidence.differences = made->evidence.variants - 1;
    for (int64_t v = 1; v < made->evidence.variants; v++) {
        made->differing[v - 1] = 10 * v;
        made->differing_first[v - 1] = v;
    }
}

static struct gp_finding judged(const struct made *made)
{
    struct gp_finding finding = {.where = {-1, -1, -1, -1}};

    gp_check_repeat.judge(&made->evidence, &finding);
    return finding;
}

/* A failure that blames `repeat`, and says in how many elements it differs
 * and where first. */
static void blames(const char *order, int64_t repeat, const char *elements,
                   int64_t i, int64_t j)
{
    struct gp_finding finding;
    struct made made;
    char words[40];

    setup_made(&made, order);
    finding = judged(&made);
    snprintf(words, sizeof words, "repeat %d ", (int)repeat);
    cr_assert_eq(finding.verdict, GP_FAIL, "%s", order);
    cr_assert_eq(finding.value, (double)made.evidence.variants);
    cr_assert_eq(finding.limit, 1);
    cr_assert_eq(finding.where.repeat, repeat, "%s: %s", order, finding.text);
    cr_assert_not_null(strstr(finding.text, words), "%s", finding.text);
    cr_assert_not_null(strstr(finding.text, elements), "%s: %s", order,
                       finding.text);
    cr_assert(finding.where.i == i && finding.where.j == j, "%s: %s", order,
              finding.text);
    gp_plan_free(&made.plan);
}

Test(repeat, one_repeat_in_the_minority_is_named)
{
    blames("0001000000", 3, " in 10 elements", 1, 0);
    blames("0000000001", 9, " in 10 elements", 1, 0);
    /* The first is the odd one: the others agree among themselves. */
    blames("0111111111", 0, " in 10 elements", 1, 0);
    blames("01", 1, " in 10 elements", 1, 0);
}

Test(repeat, several_variants)
{
    blames("0120000000", 1, " in 10 elements", 1, 0);
    blames("0001110200", 3, " in 10 elements", 1, 0);
    /* Variant 2 is the usual one, so the first repeat is blamed, and what is
     * known is how the usual one differs from it: 20 elements, from D(2, 0). */
    blames("0122222222", 0, " in 20 elements", 2, 0);
    blames("0123456700", 1, " in 10 elements", 1, 0);
}

Test(repeat, how_many_others_differ)
{
    struct made made;

    setup_made(&made, "0001010200");
    cr_assert_not_null(strstr(judged(&made).text, "3 distinct outputs in 10 "
                                                  "repeats"));
    cr_assert_not_null(strstr(judged(&made).text, "(and 2 more)"), "%s",
                       judged(&made).text);
    gp_plan_free(&made.plan);
}

Test(repeat, equal_repeats_pass)
{
    struct gp_finding finding;
    struct made made;

    setup_made(&made, "0000000000");
    finding = judged(&made);
    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_eq(finding.flags, 0);
    cr_assert_not_null(strstr(finding.text, "10 repeats"));
    gp_plan_free(&made.plan);
    setup_made(&made, "0");
    finding = judged(&made);
    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_not_null(strstr(finding.text, "nothing was compared"));
    gp_plan_free(&made.plan);
}

/* Where nothing is promised, a difference is observed, not failed. */
Test(repeat, without_a_promise_it_is_observed)
{
    struct gp_finding finding;
    struct made made;

    setup_made(&made, "0001000000");
    made.evidence.promise = NULL;
    finding = judged(&made);
    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_eq(finding.flags, GP_OBSERVED);
    cr_assert_eq(finding.where.repeat, 3);
    gp_plan_free(&made.plan);
    setup_made(&made, "0001000000");
    finding = judged(&made);
    cr_assert_eq(finding.flags, 0);
    cr_assert_not_null(strstr(finding.text, "the library's documentation"));
    gp_plan_free(&made.plan);
}

/* Digests and bytes that contradict each other prove the harness wrong, not
 * the library: an error. */
Test(repeat, digests_and_bytes_must_agree)
{
    struct made made;

    setup_made(&made, "0000000000"); /* equal digests, other bytes */
    made.evidence.last_differing = 1;
    cr_assert_eq(judged(&made).verdict, GP_ERROR);
    gp_plan_free(&made.plan);
    setup_made(&made, "0000000001"); /* other digests, equal bytes */
    made.evidence.last_differing = 0;
    cr_assert_eq(judged(&made).verdict, GP_ERROR);
    gp_plan_free(&made.plan);
    setup_made(&made, "0001000000"); /* the same in the middle */
    made.differing[0] = 0;
    made.differing_first[0] = -1;
    cr_assert_eq(judged(&made).verdict, GP_ERROR, "%s", judged(&made).text);
    gp_plan_free(&made.plan);
}
