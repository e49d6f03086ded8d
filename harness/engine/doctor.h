/*
 * What on this machine could make results wrong, without a case: facts of the
 * workers, of the reference and of the environment, each one line that says
 * whether it is as it should be and, if not, the way out.
 */
#ifndef GP_ENGINE_DOCTOR_H
#define GP_ENGINE_DOCTOR_H

#include "harness/engine/pool.h"

/* How bad a fact is; the worst decides the exit status. */
enum gp_doctor_state {
    GP_DOCTOR_OK,
    GP_DOCTOR_WARNING,  /* wrong, and nothing here relies on it */
    GP_DOCTOR_UNUSABLE, /* a worker that should be there cannot be used */
    GP_DOCTOR_WRONG     /* results cannot be trusted */
};

/* Receives the facts, in order. */
struct gp_doctor {
    void (*say)(void *ctx, enum gp_doctor_state state, const char *about,
                const char *text);
    void *ctx;
};

/* One fact: `about` in a word or two, then a sentence. */
void gp_doctor_say(const struct gp_doctor *doctor, enum gp_doctor_state state,
                   const char *about, const char *fmt, ...) GP_PRINTF(4, 5);

/* Start a worker and ask it; with all that a GPU's worker says of its device,
 * libraries and workspace. A worker that is not `required` may fail to
 * start. */
void gp_doctor_worker(const struct gp_doctor *doctor, struct gp_pool *pool,
                      const char *backend, bool required);

/* The OpenBLAS of the reference, and references that certify themselves. */
void gp_doctor_reference(const struct gp_doctor *doctor);

/* The caller's variables that can change the arithmetic or the library. */
void gp_doctor_environment(const struct gp_doctor *doctor);

#endif
