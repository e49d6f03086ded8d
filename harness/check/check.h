/*
 * Checks judge one run; relations judge runs that differ in one axis.
 *
 * A check is a row and one file. It reads the evidence and writes one
 * finding: pass or fail, what was seen against what is allowed, where, and a
 * sentence. It never prints and never touches the evidence.
 */
#ifndef GP_CHECK_CHECK_H
#define GP_CHECK_CHECK_H

#include "harness/check/band_law.h"
#include "harness/check/measure.h"
#include "harness/model.h"

/* The audit and the variants as the worker reported them; mirrors the wire's
 * reply, which this layer does not know. */
struct gp_evidence {
    const struct gp_run *run;
    const struct gp_reference *reference;
    /* Accuracy of variant 0 .. outputs-1. */
    const struct gp_accuracy *accuracy;
    int64_t outputs;
    const void *output;          /* packed: variant 0 */
    int64_t variants;            /* distinct outputs by digest */
    const int64_t *frequency;    /* how many repeats gave each variant */
    const int64_t *first_repeat; /* where each appeared */
    /* Elements of variant v (from 1) that differ from variant 0, and the
     * first of them, packed; `differences` of them are known. */
    const int64_t *differing, *differing_first;
    int64_t differences;
    int64_t last_variant, last_differing; /* byte comparison of the last */
    int64_t guard_bytes, guard_first;
    const char *guard_where;
    int64_t input_elements, input_first;
    const char *input_where;
    int64_t sentinels_left, sentinel_first;
    const char *promise; /* NULL: nothing is promised of repeats */
    /* For `band`: the laws of this problem, the device, the arithmetic that
     * the probes showed under these settings (NULL: not known), and how
     * probable a false alarm of this one judgement may be. */
    struct gp_band *band;
    int compute_capability;
    const char *delivered;
    double false_alarm;
};

struct gp_check {
    const char *name;
    const char *help;
    /* Does it judge runs of this family? */
    bool (*applies)(const struct gp_family *family);
    /* Which products does it judge besides, whatever the family? NULL: none. */
    bool (*also)(const struct gp_gemm *gemm);
    /* Does it judge products without a result (m = 0, n = 0)? Only those with
     * a sum (k and alpha not 0)? */
    bool empty, sums;
    void (*judge)(const struct gp_evidence *evidence,
                  struct gp_finding *finding);
};

extern const struct gp_check gp_check_bound, gp_check_exact, gp_check_repeat,
    gp_check_guard, gp_check_fingerprint, gp_check_band, gp_check_special;

/* Fewer outputs than this are not judged by `band`. */
enum { GP_BAND_LEAST = 1024 };

/* Does a check judge this problem? */
bool gp_check_judges(const struct gp_check *check,
                     const struct gp_problem *problem);

/* All checks in the order in which they report, ended by NULL. */
extern const struct gp_check *const gp_checks[];

/* An applies() that is always true. */
bool gp_check_always(const struct gp_family *family);

/* Fill a finding: the place of a packed element, and the sentence. */
void gp_finding_place(struct gp_finding *finding, const struct gp_gemm *gemm,
                      int64_t index);
void gp_finding_say(struct gp_finding *finding, enum gp_verdict verdict,
                    const char *fmt, ...) GP_PRINTF(3, 4);

/* --- Relations ----------------------------------------------------------- */

/* One member of a relation: a run and the bits it gave. */
struct gp_member {
    const struct gp_run *run;
    const struct gp_digest *digests;
    int64_t variants;
    int64_t group; /* set by the relation: equal bits, equal number; -1: its
                      bits are not compared */
};

struct gp_relation {
    const char *name;
    const char *help;
    /* Do two runs of one problem differ in this relation's axis alone? NULL:
     * it is no relation within a problem, and has no judge() either. */
    bool (*related)(const struct gp_run *a, const struct gp_run *b);
    bool (*applies)(const struct gp_family *family);
    /* Judge at least two members; sets their groups. */
    void (*judge)(struct gp_member *members, size_t count,
                  struct gp_finding *finding);
};

/* Number the members so that equal bits have equal numbers, from 0 in order
 * of appearance; returns how many there are. */
int64_t gp_member_groups(struct gp_member *members, size_t count);

extern const struct gp_relation gp_relation_workspace, gp_relation_flag,
    gp_relation_image, gp_relation_growth;
extern const struct gp_relation *const gp_relations[]; /* ended by NULL */

/* --- The relation growth -------------------------------------------------- */

/* One run: its rms error, that of one sum under the law that explains it, and
 * the standard error of the logarithm of their ratio. */
struct gp_growth {
    int64_t k;
    double rms, expected, error;
};

enum { GP_GROWTH_LEAST = 4 }; /* sizes of k */

/* Judge the runs of one case that differ in their sizes and seeds alone.
 * False, and nothing said, where there are too few sizes. */
bool gp_growth_judge(const struct gp_growth *points, size_t count,
                     double false_alarm, struct gp_finding *finding);

#endif
