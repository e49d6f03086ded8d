/*
 * The flag DISALLOW_REDUCED_PRECISION_REDUCTION forbids sums in the output
 * type. Where the output is as wide as the accumulator there is nothing to
 * forbid, and the bits are expected to be those of the mode without it; no
 * document promises it.
 */
#include <stdio.h>
#include <string.h>

#include "harness/check/check.h"

/* The mode without the flag: no-reduced-precision is default with it. */
static const char *without_flag(const struct gp_mode *mode)
{
    if (mode->flag && mode->base)
        return mode->base->name;
    return strcmp(mode->name, "no-reduced-precision") == 0 ? "default"
                                                           : mode->name;
}

static bool related(const struct gp_run *a, const struct gp_run *b)
{
    const struct gp_gemm *gemm = &a->problem->gemm;

    return gemm->out->precision >= 24 && strcmp(a->backend, b->backend) == 0 &&
           a->entry == b->entry && a->device_scalars == b->device_scalars &&
           a->row.flag != b->row.flag &&
           strcmp(without_flag(a->mode), without_flag(b->mode)) == 0 &&
           strcmp(a->workspace, b->workspace) == 0 &&
           strcmp(a->env, b->env) == 0 && a->schedule == b->schedule &&
           a->schedule_number == b->schedule_number &&
           a->repeats == b->repeats && a->fault.kind == GP_FAULT_NONE &&
           b->fault.kind == GP_FAULT_NONE;
}

static bool applies(const struct gp_family *family)
{
    return family->reorders;
}

static void judge(struct gp_member *members, size_t count,
                  struct gp_finding *finding)
{
    int64_t groups = gp_member_groups(members, count);
    const struct gp_run *first = members[0].run;

    finding->value = (double)groups;
    finding->limit = 1;
    gp_finding_say(finding, GP_PASS,
                   groups == 1
                       ? "%s gives the same bits with and without the flag, as "
                         "expected where sums and results are equally wide"
                       : "%s gives other bits with the flag, although sums and "
                         "results are equally wide",
                   without_flag(first->mode));
    if (groups > 1)
        finding->flags |= GP_OBSERVED;
}

const struct gp_relation gp_relation_flag = {
    .name = "flag",
    .help = "no-reduced-precision gives the bits of the mode without it, where "
            "the output is as wide as the accumulator",
    .related = related,
    .applies = applies,
    .judge = judge,
};
