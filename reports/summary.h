/*
 * One journal (docs/journal.md), read: all that a report may know.
 *
 * gp_summary_read first; then any of the others, in any order;
 * gp_summary_free at the end. `{0}` is an empty summary. The counts are made
 * again from the records, so a report says the same of a journal that was
 * stopped, resumed or copied here from another machine.
 *
 * Where a run id stands twice, the later record counts and keeps the place of
 * the first; the same for a relation with the same members. Unknown keys and
 * records are ignored. A last line that is cut is dropped.
 */
#ifndef GP_REPORTS_SUMMARY_H
#define GP_REPORTS_SUMMARY_H

#include "harness/base/buf.h"
#include "harness/base/json.h"
#include "harness/model.h"

/* The records as the journal has them. Everything belongs to the summary. */
struct gp_summary {
    json_t *head;      /* the first record; later heads are ignored, so that
                          the whole plan counts */
    json_t *workers;   /* array, in the order of the journal */
    json_t *judged;    /* array beside `workers`, booleans: did this worker
                          carry out a run with the verdict pass or fail? */
    json_t *runs;      /* array; every id once */
    json_t *relations; /* array */
    json_t *evidence;  /* array of the workspace records; each setting of a
                          backend once, the later record counts */
    json_t *end;       /* NULL when stopped */

    json_t *places;       /* object: run id -> its index in `runs` */
    json_t *skip_reasons; /* object: reason -> how many, in order */
    json_t *untested;     /* array of "BACKEND TYPE" that was offered, and
                             without a pass or fail */
    json_t *simulated;    /* object: backends whose device is a simulation */

    struct gp_counts counts;
    int64_t missing;         /* planned runs without a record */
    int64_t faults;          /* runs with a planted fault */
    int64_t relation_errors; /* relations with the verdict error */
    bool stopped;            /* no end record */
    bool cut;                /* the last line was cut and is not counted */
};

/* Read the file. USAGE with FILE:LINE for a broken line, SYSTEM for a file
 * that cannot be read; `ret_summary` is untouched then. */
int gp_summary_read(const char *path, struct gp_summary *ret_summary,
                    struct gp_err *err) GP_MUST_CHECK;
void gp_summary_free(struct gp_summary *summary);

/* The record of a run id, NULL if there is none; borrowed. */
const json_t *gp_summary_run(const struct gp_summary *summary, const char *id);

/* Verdict and flags of a run, relation or finding. A record without one has
 * the verdict error. */
enum gp_verdict gp_summary_verdict(const json_t *record);
unsigned gp_summary_flags(const json_t *record);

/* gp_counts_exit of the counts; a run that was stopped, and a relation that
 * is an error, are not green either. */
int gp_summary_exit(const struct gp_summary *summary);

/* Sentences, appended in one line without a newline and free of control
 * characters, whatever the journal holds (reports/escape.h for the rest).
 *
 * measured: on which device, with which libraries, by their own word. A GPU
 * was measured only if a worker on one, and no simulation of one, carried out
 * a run that was judged.
 * counts: planned, run, pass ... in the order of struct gp_counts.
 * outcome: whether that is green, and if not, why. Never green when nothing
 * was judged. */
void gp_summary_measured(const struct gp_summary *summary, struct gp_buf *buf);
void gp_summary_counts(const struct gp_summary *summary, struct gp_buf *buf);
void gp_summary_outcome(const struct gp_summary *summary, struct gp_buf *buf);

/* What a reader must know beside the counts (a cut line, planted faults):
 * each with `before` in front and a newline; nothing if there is nothing. */
void gp_summary_notes(const struct gp_summary *summary, const char *before,
                      struct gp_buf *buf);

#endif
