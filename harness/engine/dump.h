/*
 * The matrices of failing runs as files that NumPy reads: --dump DIR.
 *
 * DIR/ID, with ~ for / in the id, holds A.npy, B.npy, C.npy (where beta is not
 * 0), D.npy (the output that is explained, else the first), D.V.npy (the
 * other distinct outputs that came back, by their number), reference.npy and
 * run.txt, which says what they are. Format 1.0, Fortran order, in the stored
 * shape (A is k x m where it is transposed), the batch as last axis where it
 * is not 1; <f2, <f4, <f8; BF16, which NumPy does not have, exactly as <f4.
 */
#ifndef GP_ENGINE_DUMP_H
#define GP_ENGINE_DUMP_H

#include "harness/engine/judge.h"

struct gp_dump {
    const char *folder;
    int64_t most;              /* runs that are written */
    int64_t written, left_out; /* so far; left out because of `most` */
    int64_t failed;            /* that could not be written */
    struct gp_err err;         /* the first of these */
};

/* Create the folder; a USAGE error if it cannot be, or is not empty. */
int gp_dump_open(struct gp_dump *dump, const char *folder, int64_t most,
                 struct gp_err *err) GP_MUST_CHECK;

/* Write one run whose outputs are all there, `output_bytes` apart. What goes
 * wrong is counted, and stops nothing. */
void gp_dump_run(struct gp_dump *dump, const struct gp_result *result,
                 const struct gp_reference *reference,
                 const unsigned char *outputs, size_t output_bytes);

#endif
