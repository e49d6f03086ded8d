/*
 * A problem that is another one scaled, negated, permuted or transposed, run
 * the same way: does its result give back the other one's? The members'
 * digests are those of the results brought back to the base (engine/relate.c).
 */
#include <string.h>

#include "harness/check/check.h"

static bool related(const struct gp_run *a, const struct gp_run *b)
{
    (void)a;
    (void)b;
    return false; /* no two runs of one problem */
}

static bool applies(const struct gp_family *family)
{
    (void)family;
    return false;
}

/* Fixed point arithmetic has one scale for a row: it may change with the
 * scales of positions. */
static bool is_exact(const struct gp_run *run)
{
    return run->problem->family->image_exact &&
           (run->row.arithmetic.per_term == 0 ||
            strcmp(run->problem->family->name, "inner-scaled") != 0) &&
           !gp_run_decided_elsewhere(run);
}

static void judge(struct gp_member *members, size_t count,
                  struct gp_finding *finding)
{
    const struct gp_run *image = members[0].run;
    const char *name = image->problem->family->name;
    int64_t groups;

    if (count < 2 || members[0].variants != 1 || members[1].variants != 1) {
        members[0].group = 0;
        for (size_t i = 1; i < count; i++)
            members[i].group = (int64_t)i;
        finding->flags |= GP_OBSERVED;
        gp_finding_say(finding, GP_PASS, "%s is not compared: %s", name,
                       count < 2 ? "its base was not run or not judged"
                                 : "results overflow, or repeats differ");
        return;
    }
    groups = gp_member_groups(members, count);
    finding->value = (double)groups;
    finding->limit = 1;
    if (groups == 1) {
        gp_finding_say(finding, GP_PASS, "%s gives back the bits of its base",
                       name);
        return;
    }
    if (!is_exact(image))
        finding->flags |= GP_OBSERVED;
    gp_finding_say(finding, is_exact(image) ? GP_FAIL : GP_PASS,
                   "%s does not give back the bits of its base%s", name,
                   is_exact(image)
                       ? ": powers of two and signs are exact at every step, "
                         "so it must"
                       : ", which may be another order of summation");
}

const struct gp_relation gp_relation_image = {
    .name = "image",
    .help = "a problem scaled by powers of two, negated, permuted or "
            "transposed gives back the bits of its base",
    .related = related,
    .applies = applies,
    .judge = judge,
};
