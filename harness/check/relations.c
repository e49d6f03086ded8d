#include "harness/check/check.h"

#include <string.h>

const struct gp_relation *const gp_relations[] = {
    &gp_relation_workspace,
    &gp_relation_flag,
    &gp_relation_image,
    &gp_relation_growth,
    NULL,
};

static bool same_bits(const struct gp_member *a, const struct gp_member *b)
{
    return a->variants == b->variants &&
           memcmp(a->digests, b->digests,
                  (size_t)a->variants * sizeof *a->digests) == 0;
}

int64_t gp_member_groups(struct gp_member *members, size_t count)
{
    int64_t groups = 0;

    for (size_t i = 0; i < count; i++) {
        members[i].group = -1;
        for (size_t j = 0; j < i && members[i].group < 0; j++)
            if (same_bits(&members[i], &members[j]))
                members[i].group = members[j].group;
        if (members[i].group < 0)
            members[i].group = groups++;
    }
    return groups;
}
