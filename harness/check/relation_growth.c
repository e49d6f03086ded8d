/*
 * Do the errors of one case grow with k as they must? Each size may be inside
 * its band while all of them together are not. docs/checks.md, "The relation
 * growth".
 */
#include <math.h>
#include <stdio.h>

#include "harness/check/check.h"

/* Slopes that differ by less say nothing, however exact the points are. */
static const double LEAST = 0.25;

/* The least squares fit of y on log k. */
struct fit {
    double slope, error;
};

static double height(const struct gp_growth *point, bool expected)
{
    return log(expected ? point->expected : point->rms);
}

static struct fit fit_of(const struct gp_growth *points, size_t count,
                         bool expected)
{
    double n = (double)count, x = 0, y = 0, xx = 0, xy = 0, error2 = 0;
    struct fit fit;

    for (size_t i = 0; i < count; i++) {
        x += log((double)points[i].k) / n;
        y += height(&points[i], expected) / n;
    }
    for (size_t i = 0; i < count; i++) {
        double off = log((double)points[i].k) - x;
        xx += off * off;
        xy += off * (height(&points[i], expected) - y);
        error2 += off * off * points[i].error * points[i].error;
    }
    fit.slope = xy / xx;
    fit.error = sqrt(error2) / xx;
    return fit;
}

static size_t different_sizes(const struct gp_growth *points, size_t count)
{
    size_t different = 0;

    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || points[j].k == points[i].k;
        different += !seen;
    }
    return different;
}

bool gp_growth_judge(const struct gp_growth *points, size_t count,
                     double false_alarm, struct gp_finding *finding)
{
    struct fit seen, law;
    double slack;

    if (different_sizes(points, count) < GP_GROWTH_LEAST)
        return false;
    seen = fit_of(points, count, false);
    law = fit_of(points, count, true);
    slack = LEAST + sqrt(2 * log(2 / false_alarm)) * seen.error;
    finding->value = seen.slope;
    finding->limit = law.slope + slack;
    finding->false_alarm = false_alarm;
    snprintf(finding->evidence, sizeof finding->evidence,
             "statistical (p < %.1e)", false_alarm);
    if (seen.slope > finding->limit)
        finding->flags |= GP_OBSERVED;
    gp_finding_say(finding, GP_PASS,
                   "the rms error goes with k to the power of %.2f over %zu "
                   "sizes, and that of one sum with %.2f: %s",
                   seen.slope, different_sizes(points, count), law.slope,
                   seen.slope > finding->limit ? "it grows too fast"
                   : seen.slope < law.slope - slack
                       ? "longer sums are split into more"
                       : "as expected");
    return true;
}

static bool applies(const struct gp_family *family)
{
    return family->random;
}

const struct gp_relation gp_relation_growth = {
    .name = "growth",
    .help = "over the sizes of a case the errors grow with k as their "
            "arithmetic makes them",
    .applies = applies,
};
