/* Nothing beside the result was written, and all of the result was. */
#include "harness/check/check.h"

static void judge(const struct gp_evidence *evidence,
                  struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->run->problem->gemm;

    finding->value = (double)(evidence->guard_bytes + evidence->input_elements +
                              evidence->sentinels_left);
    finding->limit = 0;
    if (evidence->guard_bytes)
        gp_finding_say(finding, GP_FAIL,
                       "%lld bytes outside of the matrices were written, the "
                       "first %s at byte %lld",
                       (long long)evidence->guard_bytes, evidence->guard_where,
                       (long long)evidence->guard_first);
    else if (evidence->input_elements)
        gp_finding_say(finding, GP_FAIL,
                       "%lld input elements were changed, the first element "
                       "%lld of %s",
                       (long long)evidence->input_elements,
                       (long long)evidence->input_first, evidence->input_where);
    else if (evidence->sentinels_left) {
        gp_finding_place(finding, gemm, evidence->sentinel_first);
        gp_finding_say(finding, GP_FAIL,
                       "%lld elements were never written, the first D(%lld, "
                       "%lld)",
                       (long long)evidence->sentinels_left,
                       (long long)finding->where.i,
                       (long long)finding->where.j);
    } else if (gp_gemm_count(gemm, GP_C) == 0)
        gp_finding_say(finding, GP_PASS,
                       "D has no elements, and nothing was written");
    else
        gp_finding_say(finding, GP_PASS,
                       "guards, padding and inputs are untouched");
}

const struct gp_check gp_check_guard = {
    .name = "guard",
    .help = "guards, padding and inputs untouched, every element written",
    .applies = gp_check_always,
    .empty = true,
    .judge = judge,
};
