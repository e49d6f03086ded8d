#include "harness/check/check.h"

#include <stdarg.h>
#include <stdio.h>

const struct gp_check *const gp_checks[] = {
    &gp_check_bound,   &gp_check_band,   &gp_check_exact, &gp_check_fingerprint,
    &gp_check_special, &gp_check_repeat, &gp_check_guard, NULL,
};

bool gp_check_judges(const struct gp_check *check,
                     const struct gp_problem *problem)
{
    if (gp_gemm_count(&problem->gemm, GP_C) == 0)
        return check->empty;
    if (check->sums && (problem->gemm.k == 0 || problem->gemm.alpha == 0))
        return false;
    return check->applies(problem->family) ||
           (check->also && check->also(&problem->gemm));
}

bool gp_check_always(const struct gp_family *family)
{
    (void)family;
    return true;
}

void gp_finding_place(struct gp_finding *finding, const struct gp_gemm *gemm,
                      int64_t index)
{
    int64_t each = gemm->m * gemm->n;

    if (index < 0)
        return;
    finding->where.i = index % each % gemm->m;
    finding->where.j = index % each / gemm->m;
    finding->where.batch = index / each;
}

void gp_finding_say(struct gp_finding *finding, enum gp_verdict verdict,
                    const char *fmt, ...)
{
    va_list ap;

    finding->verdict = verdict;
    va_start(ap, fmt);
    vsnprintf(finding->text, sizeof finding->text, fmt, ap);
    va_end(ap);
}
