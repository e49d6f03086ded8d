/* No element may be further from the reference than the mode can be off. */
#include <math.h>

#include "harness/check/check.h"

/* The output that uses most of its bound; how many elements of all outputs are
 * outside; the most that could not be judged in one. */
static const struct gp_accuracy *worst_of(const struct gp_evidence *evidence,
                                          int64_t *ret_which,
                                          int64_t *ret_outside,
                                          int64_t *ret_unjudged)
{
    const struct gp_accuracy *all = evidence->accuracy;

    *ret_which = *ret_outside = *ret_unjudged = 0;
    for (int64_t v = 0; v < evidence->outputs; v++) {
        if (all[v].max_share > all[*ret_which].max_share)
            *ret_which = v;
        if (all[v].ambiguous > *ret_unjudged)
            *ret_unjudged = all[v].ambiguous;
        *ret_outside += all[v].outside;
    }
    return &all[*ret_which];
}

static void judge(const struct gp_evidence *evidence,
                  struct gp_finding *finding)
{
    const struct gp_gemm *gemm = &evidence->run->problem->gemm;
    const char *mode = evidence->run->mode->name;
    int64_t worst, outside, unjudged;
    const struct gp_accuracy *accuracy =
        worst_of(evidence, &worst, &outside, &unjudged);
    const struct gp_element *element = &accuracy->worst;

    finding->value = accuracy->max_share;
    finding->limit = 1;
    gp_finding_place(finding, gemm, element->index);
    finding->where.repeat = evidence->first_repeat[worst];
    if (outside == 0 && accuracy->special == accuracy->count)
        gp_finding_say(finding, GP_PASS,
                       "all %lld elements must be NaN or infinite: that is "
                       "for the check special",
                       (long long)accuracy->count);
    else if (outside == 0 && unjudged + accuracy->special == accuracy->count &&
             !evidence->run->problem->family->open_range)
        gp_finding_say(finding, GP_ERROR,
                       "none of %lld elements can be judged: every sum may "
                       "overflow: nothing was judged",
                       (long long)accuracy->count);
    else if (outside == 0 && unjudged) {
        finding->flags |= GP_OBSERVED;
        gp_finding_say(finding, GP_PASS,
                       "%lld of %lld elements are not finite where a sum may "
                       "overflow and were not judged; the others are within "
                       "the bound of %s and use up to %.3g of it",
                       (long long)unjudged, (long long)accuracy->count, mode,
                       accuracy->max_share);
    } else if (outside == 0 && isinf(element->limit)) {
        finding->flags |= GP_OBSERVED;
        gp_finding_say(finding, GP_PASS,
                       "the bound of %s allows anything at k = %lld; all %lld "
                       "elements are finite",
                       mode, (long long)gemm->k, (long long)accuracy->count);
    } else if (outside == 0 && accuracy->max_share <= 1)
        gp_finding_say(finding, GP_PASS,
                       "all %lld elements are within the bound of %s; the "
                       "worst uses %.3g of it",
                       (long long)accuracy->count, mode, accuracy->max_share);
    else if (!isfinite(element->got))
        gp_finding_say(finding, GP_FAIL,
                       "D(%lld, %lld) is %g where the result is %.9g and "
                       "no sum can overflow; %lld of %lld elements are "
                       "wrong",
                       (long long)finding->where.i, (long long)finding->where.j,
                       element->got, element->ref, (long long)accuracy->outside,
                       (long long)accuracy->count);
    else
        gp_finding_say(finding, GP_FAIL,
                       "D(%lld, %lld) = %.17g is off by %.3g, %.3g times "
                       "what %s can be off (the result is %.17g); %lld of "
                       "%lld elements are outside",
                       (long long)finding->where.i, (long long)finding->where.j,
                       element->got, fabs(element->got - element->ref),
                       accuracy->max_share, mode, element->ref,
                       (long long)accuracy->outside,
                       (long long)accuracy->count);
}

const struct gp_check gp_check_bound = {
    .name = "bound",
    .help = "every element within the rigorous error bound of its mode",
    .applies = gp_check_always,
    .judge = judge,
};
