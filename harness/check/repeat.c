/* Repeats of one run give the same bits. */
#include <stdio.h>

#include "harness/check/check.h"

/* The variant that most repeats gave. */
static int64_t majority(const struct gp_evidence *evidence)
{
    int64_t most = 0;

    for (int64_t v = 1; v < evidence->variants; v++)
        if (evidence->frequency[v] > evidence->frequency[most])
            most = v;
    return most;
}

static void say_different(const struct gp_evidence *evidence,
                          struct gp_finding *finding)
{
    const struct gp_run *run = evidence->run;
    int64_t usual = majority(evidence);
    int64_t odd = usual == 0 ? 1 : 0;
    /* Variant v of 1, 2, ... was compared with variant 0. */
    int64_t compared = usual == 0 ? odd : usual;
    int64_t others = run->repeats - evidence->frequency[usual];
    char place[120] = "", more[40] = "";

    if (others > 1)
        snprintf(more, sizeof more, " (and %lld more)", (long long)others - 1);

    finding->where.repeat = evidence->first_repeat[odd];
    if (compared <= evidence->differences) {
        gp_finding_place(finding, &run->problem->gemm,
                         evidence->differing_first[compared - 1]);
        snprintf(place, sizeof place,
                 " in %lld elements, the first D(%lld, %lld) of batch %lld",
                 (long long)evidence->differing[compared - 1],
                 (long long)finding->where.i, (long long)finding->where.j,
                 (long long)finding->where.batch);
    }
    gp_finding_say(finding, evidence->promise ? GP_FAIL : GP_PASS,
                   "%lld distinct outputs in %lld repeats: repeat %lld%s "
                   "differs%s%s%.160s",
                   (long long)evidence->variants, (long long)run->repeats,
                   (long long)finding->where.repeat, more, place,
                   evidence->promise ? "; the same bits are promised by "
                                     : "; nobody promises the same bits",
                   evidence->promise ? evidence->promise : "");
    if (!evidence->promise)
        finding->flags |= GP_OBSERVED;
}

/* Does a variant differ from the first in its digest alone? */
static bool same_bytes(const struct gp_evidence *evidence)
{
    for (int64_t v = 0; v < evidence->differences; v++)
        if (evidence->differing[v] == 0)
            return true;
    return false;
}

static void judge(const struct gp_evidence *evidence,
                  struct gp_finding *finding)
{
    finding->value = (double)evidence->variants;
    finding->limit = 1;
    if (evidence->last_variant == 0 ? evidence->last_differing != 0
                                    : evidence->last_differing == 0)
        gp_finding_say(finding, GP_ERROR,
                       "digests and bytes disagree: the last repeat is variant "
                       "%lld and differs from the first in %lld elements",
                       (long long)evidence->last_variant,
                       (long long)evidence->last_differing);
    else if (same_bytes(evidence))
        gp_finding_say(finding, GP_ERROR,
                       "digests and bytes disagree: an output with another "
                       "digest than the first has the same bytes");
    else if (evidence->variants > 1)
        say_different(evidence, finding);
    else if (evidence->run->repeats > 1)
        gp_finding_say(finding, GP_PASS, "%lld repeats gave the same bits",
                       (long long)evidence->run->repeats);
    else
        gp_finding_say(finding, GP_PASS, "one repeat: nothing was compared");
}

const struct gp_check gp_check_repeat = {
    .name = "repeat",
    .help = "repeats give bitwise identical results",
    .applies = gp_check_always,
    .judge = judge,
};
