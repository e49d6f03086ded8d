/*
 * The program that `gemmproof repro --c` writes: constants of one run, then
 * the parts of our own sources that it needs, then what is the same for every
 * run.
 *
 * The sources that make operands are carried in the binary as they were
 * compiled (repro_text.c), and the definitions that are needed are copied out
 * of them, so that the program's data cannot differ from the harness's. What
 * is copied must be C and C++ at once; the tests compile it as both.
 */
#ifndef GP_CLI_REPRO_H
#define GP_CLI_REPRO_H

#include <stdbool.h>

#include "harness/base/buf.h"
#include "harness/model.h"

/* What of the program depends on the family. */
struct gp_repro_choice {
    const char *family;
    bool exact, one_term;
};

/* Append the definitions that the program needs, each after those it uses;
 * and the program's own functions, which come behind them. */
int gp_repro_text(const struct gp_repro_choice *choice,
                  struct gp_buf *definitions, struct gp_buf *own,
                  struct gp_err *err) GP_MUST_CHECK;

/* Append the whole program. UNSUPPORTED with a sentence for a run that is not
 * one of cuBLAS, or has a schedule or a fault that the program cannot have. */
int gp_repro_cuda(const struct gp_run *run, const char *version,
                  struct gp_buf *buf, struct gp_err *err) GP_MUST_CHECK;

/* Append the function that makes the one call of cuBLAS, spelt out, and
 * receive its name. */
void gp_repro_call(const struct gp_run *run, struct gp_buf *buf,
                   const char **ret_name);

/* The words of CUDA's headers for the words of a request. */
const char *gp_repro_math(const char *math);
const char *gp_repro_compute(const char *compute);

#endif
