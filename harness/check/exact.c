/* Where every order of summation gives one result, only that one is right. */
#include "harness/check/check.h"

static bool applies(const struct gp_family *family)
{
    return family->exact;
}

static void judge(const struct gp_evidence *evidence,
                  struct gp_finding *finding)
{
    const struct gp_accuracy *accuracy = &evidence->accuracy[0];
    const struct gp_element *element;
    int64_t worst = 0, wrong;

    for (int64_t v = 1; v < evidence->outputs; v++)
        if (evidence->accuracy[v].rounded < evidence->accuracy[worst].rounded)
            worst = v;
    accuracy = &evidence->accuracy[worst];
    element = &accuracy->first_unrounded;
    wrong = accuracy->count - accuracy->rounded - accuracy->ambiguous;
    finding->value = (double)wrong;
    finding->limit = 0;
    finding->where.repeat = evidence->first_repeat[worst];
    if (wrong == 0) {
        gp_finding_say(finding, GP_PASS, "all %lld elements are exact",
                       (long long)accuracy->count);
        return;
    }
    gp_finding_place(finding, &evidence->run->problem->gemm, element->index);
    gp_finding_say(finding, GP_FAIL,
                   "%lld of %lld elements are not the only possible result: "
                   "D(%lld, %lld) = %.17g must be %.17g",
                   (long long)wrong, (long long)accuracy->count,
                   (long long)finding->where.i, (long long)finding->where.j,
                   element->got, element->ref);
}

const struct gp_check gp_check_exact = {
    .name = "exact",
    .help = "every element is the exact result, on data where no order of "
            "summation rounds",
    .applies = applies,
    .judge = judge,
};
