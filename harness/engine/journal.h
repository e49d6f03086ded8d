/*
 * The journal of a run: OUT/results.jsonl, one JSON object a line, each
 * written in full before the next run begins. docs/journal.md has the format.
 */
#ifndef GP_ENGINE_JOURNAL_H
#define GP_ENGINE_JOURNAL_H

#include "harness/engine/judge.h"
#include "harness/engine/pool.h"

struct gp_journal {
    int fd;
    char path[1024];
    bool redact; /* take out what names the machine (engine/redact.h) */
};

/* What the first line says beside what the machine says itself. */
struct gp_journal_head {
    const char *version, *commit;
    int argc;
    char *const *argv;
    const struct gp_suite *suite; /* NULL for ids alone */
    bool nvidia_device;
    const char *known; /* the list of known faults, "" for none */
};

/* Create the folder and the file. A USAGE error if it holds a journal
 * already or cannot be written; nothing is overwritten. */
int gp_journal_create(struct gp_journal *journal, const char *folder,
                      struct gp_err *err) GP_MUST_CHECK;
void gp_journal_close(struct gp_journal *journal);

int gp_journal_begin(struct gp_journal *journal,
                     const struct gp_journal_head *head,
                     const struct gp_plan *plan,
                     struct gp_err *err) GP_MUST_CHECK;
int gp_journal_worker(struct gp_journal *journal,
                      const struct gp_worker *worker,
                      struct gp_err *err) GP_MUST_CHECK;
int gp_journal_run(struct gp_journal *journal, const struct gp_result *result,
                   struct gp_err *err) GP_MUST_CHECK;
int gp_journal_relation(struct gp_journal *journal,
                        const struct gp_finding *finding,
                        const struct gp_member *members, size_t count,
                        struct gp_err *err) GP_MUST_CHECK;
/* What was seen of a worker's workspace. Nothing for one that says nothing. */
int gp_journal_workspace(struct gp_journal *journal, const struct gp_pool *pool,
                         const struct gp_worker *worker,
                         struct gp_err *err) GP_MUST_CHECK;
int gp_journal_end(struct gp_journal *journal, const struct gp_counts *counts,
                   int exit_status, double seconds,
                   struct gp_err *err) GP_MUST_CHECK;

#endif
