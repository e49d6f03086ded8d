/*
 * What went wrong, sorted: the failures with the worst first, and the errors
 * with equal ones told once.
 *
 * Made from a summary, which must live as long; strings and records are
 * borrowed from it. `{0}` is empty.
 */
#ifndef GP_REPORTS_TROUBLE_H
#define GP_REPORTS_TROUBLE_H

#include "reports/summary.h"

/* A run or a relation that failed. Proved before statistical; then by how far
 * the value lies beyond its limit; failures of the check `exact`, which all
 * lie infinitely far, by k and then by m n k, so that the smallest case stands
 * first; then as in the journal. */
struct gp_failure {
    const json_t *record;
    const char *name; /* run id, or name of the relation */
    bool relation;
    bool proved;
    double excess;  /* value / limit of the worst finding */
    double k, work; /* of the check exact; else 0 */
    size_t place;
};

/* Runs and relations that ended in the same error; workers that could not be
 * started only where no run says the same. */
struct gp_error_group {
    const char *kind, *text;
    const char *name; /* the first: run id, or what `what` says */
    const char *what; /* "run", "relation" or "worker" */
    int64_t count;
};

struct gp_troubles {
    struct gp_failure *failures;
    size_t failures_count, failures_room;
    struct gp_error_group *errors;
    size_t errors_count, errors_room;
};

void gp_trouble_find(const struct gp_summary *summary,
                     struct gp_troubles *ret_troubles);
void gp_trouble_free(struct gp_troubles *troubles);

/* The failing findings of a run, worst first, as a new array that the caller
 * frees by json_decref. */
json_t *gp_trouble_findings(const json_t *run);

/* "check: text [evidence; value 3, limit 1; at i 4, j 2]", unescaped. */
void gp_trouble_print(const json_t *finding, struct gp_buf *buf);

#endif
