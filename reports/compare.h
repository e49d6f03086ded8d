/*
 * Two journals, or two settings of one, run by run: what an upgrade, another
 * device or another variable changed.
 *
 * Two runs are a pair when they agree in problem, backend, entry, mode,
 * workspace, env, schedule, repeats and fault; the keys that a selection
 * names are left out of that. gp_comparison_make first, gp_comparison_free at
 * the end; the summaries must live as long.
 */
#ifndef GP_REPORTS_COMPARE_H
#define GP_REPORTS_COMPARE_H

#include "reports/summary.h"

/* What became of a run. Flags, as several can be true. */
enum gp_change {
    GP_CHANGE_BITS = 1,    /* the sets of distinct outputs differ */
    GP_CHANGE_BETTER = 2,  /* bits changed, and the error is smaller */
    GP_CHANGE_WORSE = 4,   /* bits changed, and the error is larger */
    GP_CHANGE_VERDICT = 8, /* another verdict */
    GP_CHANGE_KERNEL = 16, /* both name their kernels, and differ */
    GP_CHANGE_ONLY_OLD = 32,
    GP_CHANGE_ONLY_NEW = 64,
    GP_CHANGE_UNKNOWN = 128,   /* one of the two has no output to compare */
    GP_CHANGE_UNMEASURED = 256 /* bits changed; the accuracy of one of the two
                                  is not in its journal */
};

/* A change of accuracy smaller than this is none: half a bit of the
 * norm-wise error, one bit of the worst component. */
#define GP_COMPARE_BITS_NW 0.5
#define GP_COMPARE_BITS_CW 1.0

struct gp_pair {
    const json_t *old_run, *new_run; /* borrowed; NULL: only in the other */
    unsigned changes;
};

/* Which runs of a journal: `value` of `key`; ended by a NULL key. */
struct gp_selection {
    const char *key, *value;
};

struct gp_comparison {
    const struct gp_summary *old_side, *new_side;
    const struct gp_selection *old_only, *new_only;
    struct gp_pair *pairs; /* in the order of the old journal; then the runs
                              that only one of the two has */
    size_t count, room;
    int64_t both, same, bits, better, worse, verdict, kernel, only_old,
        only_new, unknown;
};

/* The keys that can be selected, ended by NULL. */
extern const char *const gp_selection_keys[];

/* Compare. USAGE where a selection leaves two runs of one side that stand for
 * the same one, or none at all. */
int gp_comparison_make(const struct gp_summary *old_side,
                       const struct gp_selection *old_only,
                       const struct gp_summary *new_side,
                       const struct gp_selection *new_only,
                       struct gp_comparison *ret_comparison,
                       struct gp_err *err) GP_MUST_CHECK;
void gp_comparison_free(struct gp_comparison *comparison);

/* What the changes of a pair are called: "bits changed, accuracy worse". */
void gp_comparison_words(unsigned changes, struct gp_buf *buf);

/* The whole comparison. `most` pairs that changed are listed, 0: all. */
void gp_comparison_text(const struct gp_comparison *comparison, int64_t most,
                        struct gp_buf *buf);
void gp_comparison_markdown(const struct gp_comparison *comparison,
                            int64_t most, struct gp_buf *buf);
/* {format, old, new, counts, pairs: [{id, old, new, changes: [...]}]}: every
 * pair that is not the same in all. */
void gp_comparison_json(const struct gp_comparison *comparison, int64_t most,
                        struct gp_buf *buf);

#endif
