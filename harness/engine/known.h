/*
 * Known faults: failures of a library that are proved, listed in a file
 * (cases/known.yaml) and no news any more. docs/cases.md, "known.yaml", has
 * the format; load_known.c reads it.
 *
 * A run that fails as it is listed is run all the same and passes with the
 * flag `known`. One that is worse than listed fails; so does one that does not
 * fail any more, unless it is listed as flaky. Only checks of runs can be
 * listed, no relations, errors or planted faults.
 */
#ifndef GP_ENGINE_KNOWN_H
#define GP_ENGINE_KNOWN_H

#include "harness/engine/judge.h"

enum { GP_KNOWN_REASON_MOST = 200 }; /* bytes */

struct gp_known_entry {
    const char *runs;  /* a glob of ids */
    const char *check; /* its name */
    bool flaky;        /* may fail or pass */
    double worst;      /* the value may be as bad as this */
    const char *gpu;   /* a glob of the device's name; NULL: any */
    const char *library_from, *library_to; /* inclusive; NULL: no limit */
    const char *reason;
    int line;
};

struct gp_known {
    struct gp_arena arena; /* owns the texts below */
    const char *path;      /* as it is shown */
    struct gp_known_entry *entries;
    size_t count, room;
};

/* Read a list; on failure *ret_known is untouched. USAGE with
 * file:line:column. The text is borrowed, `name` stands for its path. */
int gp_known_load(const char *path, struct gp_known *ret_known,
                  struct gp_err *err) GP_MUST_CHECK;
int gp_known_load_text(const char *text, size_t len, const char *name,
                       struct gp_known *ret_known,
                       struct gp_err *err) GP_MUST_CHECK;
void gp_known_free(struct gp_known *known);

/* Is the version in the range? By the numbers between the dots, a missing one
 * being 0; a version that does not begin with a number is in no range but the
 * one without limits. */
bool gp_known_version_in(const char *version, const char *from, const char *to);

/* Apply the list to a judged run: to its findings, verdict and flags. `gpu` is
 * the name of the device, `library_version` its library's; "" if the worker
 * does not say. A NULL list is empty. */
void gp_known_apply(const struct gp_known *known, const char *gpu,
                    const char *library_version, struct gp_result *result);

/* How many entries have a glob that no run of the plan matches, and the first
 * of them. */
size_t gp_known_unmatched(const struct gp_known *known,
                          const struct gp_plan *plan,
                          const struct gp_known_entry **ret_first);

#endif
