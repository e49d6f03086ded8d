/*
 * Why a failing output is wrong: where its wrong elements stand, and which
 * single fault gives their values. docs/checks.md, "Explaining a failure".
 *
 * A rule (products of a range of k missing, values moved, a factor applied
 * twice ...) is tried on wrong elements spread over the output; it explains
 * the failure where it gives their values, and only where chance would not.
 * Otherwise the explanation says that no rule was found, and what the map
 * alone suggests.
 */
#ifndef GP_CHECK_EXPLAIN_H
#define GP_CHECK_EXPLAIN_H

#include "harness/check/map.h"
#include "harness/check/measure.h"

enum { GP_WORST_MOST = 8 };

/* A range of k and what happened to it. */
struct gp_k_range {
    int64_t from, to;            /* first and last product */
    int times;                   /* -1: missing, 1: added twice, 0: no range */
    int64_t from_least, to_most; /* what the data leave open */
};

struct gp_explanation {
    struct gp_pattern pattern; /* of the wrong elements */
    int64_t not_finite;        /* of them */
    bool found;                /* a rule gives the values */
    int64_t looked_at, fits;   /* wrong elements tried, and explained by it */
    struct gp_k_range k;
    char cause[700]; /* one sentence */
    struct gp_element worst[GP_WORST_MOST];
    int worst_count;
};

/* Explain a packed output of which at least one element is wrong; `rounded`
 * as in gp_measure_wrong. */
void gp_explain(const struct gp_reference *reference,
                const struct gp_bound *bound, bool rounded, const void *output,
                struct gp_explanation *ret_explanation);

/* --- Between the explain*.c only ------------------------------------------ */

/* A wrong element. */
struct gp_suspect {
    int64_t index, i, j, batch;
    double got, ref, limit;
};

struct gp_scene {
    const struct gp_reference *reference;
    bool exact;                  /* the values of the family have no rounding */
    struct gp_suspect *suspects; /* finite ones, spread over the output */
    size_t count;
    const struct gp_suspect *right; /* elements that are not wrong */
    size_t right_count;
};

/* A rule that was tried. */
struct gp_rule {
    int64_t looked_at, fits;
    struct gp_k_range k;
    char words[320], aside[200]; /* the rule, and what is open about it */
};

/* Row `line` of op(A) or column `line` of op(B): k values. */
void gp_scene_vector(const struct gp_scene *scene, enum gp_operand which,
                     int64_t line, int64_t batch, double *to);

/* Is this the value that was found? Where sums round, to within the limit and
 * much closer than the reference. */
bool gp_scene_fits(const struct gp_scene *scene,
                   const struct gp_suspect *suspect, double value);

/* How many suspects have their values. Would as many by chance, when so many
 * rules are tried? How often a value fits the suspect beside its own tells. */
int64_t gp_scene_count(const struct gp_scene *scene, const double *values);
bool gp_scene_by_chance(const struct gp_scene *scene, const double *values,
                        int64_t fits, int rules);

/* Each fills the rule that fits most suspects; false if none does. */
bool gp_explain_range(const struct gp_scene *scene, struct gp_rule *ret_rule);
bool gp_explain_delay(const struct gp_scene *scene, struct gp_rule *ret_rule);
bool gp_explain_value(const struct gp_scene *scene, struct gp_rule *ret_rule);
bool gp_explain_operand(const struct gp_scene *scene, struct gp_rule *ret_rule);
bool gp_explain_partials(const struct gp_scene *scene,
                         struct gp_rule *ret_rule);

#endif
