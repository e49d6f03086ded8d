/*
 * The host library on trial (reference/trial.h), for every kernel it can
 * select and several numbers of threads: each in a process of its own, because
 * a library chooses once, and may crash.
 *
 * A record is a JSON object: `asked`, the value of OPENBLAS_CORETYPE, "" for
 * none; then `kernel`, `threads` and `groups`, each with `name`, `checks`,
 * `wrong` and, if any is wrong, of the smallest one `product`, `where` ("(i,
 * j)"), `got` and `expected`. Without groups: a name that the library answers
 * with another kernel. Instead of groups `crash`, a sentence.
 */
#ifndef GP_ENGINE_TRIALS_H
#define GP_ENGINE_TRIALS_H

#include "harness/base/json.h"
#include "harness/engine/doctor.h"

/* The word that makes the program one trial: it prints its record. */
#define GP_TRIALS_WORD "reference-trial"
int gp_trials_child(void);

/* The kernel in use is tried with 1, 2, 4 and so on threads up to `threads`,
 * every other with 1 and `threads`. */
struct gp_trials {
    const char *program; /* this one */
    const char *kernel;  /* in use */
    int threads;
    int64_t timeout_ms; /* of one */
};

/* Run them all and tell of each as it ends. */
void gp_trials_run(const struct gp_trials *trials,
                   const struct gp_doctor *doctor);

/* Tell of one record. What the reference is made with being wrong is
 * GP_DOCTOR_WRONG if `in_use`; all else that is wrong is GP_DOCTOR_WARNING.
 */
void gp_trials_tell(const struct gp_doctor *doctor, const json_t *record,
                    bool in_use);

#endif
