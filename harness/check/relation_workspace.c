/* Which values of CUBLAS_WORKSPACE_CONFIG give other bits. */
#include <stdio.h>
#include <string.h>

#include "harness/check/check.h"

static bool related(const struct gp_run *a, const struct gp_run *b)
{
    return strcmp(a->backend, b->backend) == 0 && a->entry == b->entry &&
           a->device_scalars == b->device_scalars && a->mode == b->mode &&
           a->schedule == b->schedule &&
           a->schedule_number == b->schedule_number &&
           a->repeats == b->repeats && strcmp(a->env, b->env) == 0 &&
           a->fault.kind == GP_FAULT_NONE && b->fault.kind == GP_FAULT_NONE &&
           strcmp(a->workspace, b->workspace) != 0;
}

/* Where no sum is rounded, every setting gives the same bits by
 * construction. */
static bool applies(const struct gp_family *family)
{
    return family->reorders;
}

static void judge(struct gp_member *members, size_t count,
                  struct gp_finding *finding)
{
    struct gp_buf text = {0};
    int64_t groups = gp_member_groups(members, count);

    finding->value = (double)groups;
    finding->limit = 1;
    for (int64_t group = 0; group < groups; group++) {
        gp_buf_str(&text, group ? " | " : "");
        for (size_t i = 0, listed = 0; i < count; i++)
            if (members[i].group == group)
                gp_buf_printf(&text, "%s%s", listed++ ? " = " : "",
                              members[i].run->workspace);
    }
    gp_finding_say(finding, GP_PASS, "%s: %.300s",
                   groups == 1 ? "all workspaces give the same bits"
                               : "the workspace changes the bits",
                   gp_buf_text(&text));
    gp_buf_free(&text);
    if (groups > 1)
        finding->flags |= GP_OBSERVED;
}

const struct gp_relation gp_relation_workspace = {
    .name = "workspace",
    .help = "which values of CUBLAS_WORKSPACE_CONFIG give other bits",
    .related = related,
    .applies = applies,
    .judge = judge,
};
