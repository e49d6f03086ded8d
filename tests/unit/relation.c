/* The relation workspace: equal bits in one group, and who is compared. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "harness/check/check.h"
#include "tests/unit/plan.h"

static const char *const settings[] = {"", "/ws=16x8", "/ws=4096x8", "/ws=0x0"};

static const struct gp_run *run_of(struct gp_plan *plan, const char *ws)
{
    char id[100];

    snprintf(id, sizeof id, "f32.nn.4x5x6.dense.s1/cublas/tf32%s", ws);
    return plan_run(plan, id);
}

/* Groups by the digests of four settings, each a text of one letter for each
 * variant. */
static struct gp_finding grouped(const char *const *digests, int64_t *groups,
                                 size_t count)
{
    struct gp_finding finding = {0};
    struct gp_digest all[4][4] = {0};
    struct gp_member members[4] = {0};
    struct gp_plan plan[4] = {0};

    for (size_t i = 0; i < count; i++) {
        members[i].run = run_of(&plan[i], settings[i]);
        members[i].digests = all[i];
        members[i].variants = (int64_t)strlen(digests[i]);
        for (size_t v = 0; digests[i][v]; v++)
            all[i][v].lane[1] = (uint64_t)digests[i][v];
    }
    gp_relation_workspace.judge(members, count, &finding);
    for (size_t i = 0; i < count; i++)
        groups[i] = members[i].group;
    for (size_t i = 0; i < count; i++)
        gp_plan_free(&plan[i]);
    return finding;
}

Test(relation, equal_bits_stand_together)
{
    int64_t groups[4];
    const char *const same[] = {"a", "a", "a", "a"};
    const char *const two[] = {"a", "b", "a", "b"};
    const char *const three[] = {"a", "b", "c", "b"};
    struct gp_finding finding = grouped(same, groups, 4);

    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_eq(finding.flags, 0);
    cr_assert_eq(finding.value, 1);
    cr_assert(!groups[0] && !groups[1] && !groups[2] && !groups[3]);
    finding = grouped(two, groups, 4);
    cr_assert_eq(finding.verdict, GP_PASS);
    cr_assert_eq(finding.flags, GP_OBSERVED);
    cr_assert_eq(finding.value, 2);
    cr_assert(groups[0] == 0 && groups[1] == 1 && groups[2] == 0 &&
              groups[3] == 1);
    cr_assert_not_null(strstr(finding.text, "unset = 4096:8 | 16:8 = 0:0"),
                       "%s", finding.text);
    finding = grouped(three, groups, 4);
    cr_assert_eq(finding.value, 3);
    cr_assert(groups[2] == 2 && groups[3] == 1);
}

/* All variants count, and their order: a run that varied is not like one that
 * did not. */
Test(relation, variants_are_part_of_the_bits)
{
    int64_t groups[4];
    const char *const more[] = {"a", "ab", "ab", "ba"};
    const char *const less[] = {"ab", "a", "ba", "b"};

    cr_assert_eq(grouped(less, groups, 4).value, 4);
    cr_assert_eq(grouped(more, groups, 4).value, 3);
    cr_assert(groups[0] == 0 && groups[1] == 1 && groups[2] == 1 &&
              groups[3] == 2);
}

static bool related(const char *one, const char *two)
{
    struct gp_plan a = {0}, b = {0};
    bool is =
        gp_relation_workspace.related(plan_run(&a, one), plan_run(&b, two));

    gp_plan_free(&a);
    gp_plan_free(&b);
    return is;
}

/* Only the workspace may differ. */
Test(relation, who_is_compared)
{
    static const char unset[] = "f32.nn.4x5x6.dense.s1/cublas/tf32";
    static const char *const others[] = {
        "f32.nn.4x5x6.dense.s1/cublas/tf32", /* the same workspace */
        "f32.nn.4x5x6.dense.s1/openblas/tf32/ws=16x8",
        "f32.nn.4x5x6.dense.s1/cublas/default/ws=16x8",
        "f32.nn.4x5x6.dense.s1/cublas/tf32/ws=16x8/scalars=device",
        "f32.nn.4x5x6.dense.s1/cublas.gemm-ex/tf32/ws=16x8",
        "f32.nn.4x5x6.dense.s1/cublas/tf32/ws=16x8/r3",
        "f32.nn.4x5x6.dense.s1/cublas/tf32/ws=16x8/fault=variantx3",
    };

    cr_assert(related(unset, "f32.nn.4x5x6.dense.s1/cublas/tf32/ws=16x8"));
    cr_assert(related("f32.nn.4x5x6.dense.s1/cublas/tf32/ws=4096x8",
                      "f32.nn.4x5x6.dense.s1/cublas/tf32/ws=16x8"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_not(related(unset, others[i]), "%s", others[i]);
}
