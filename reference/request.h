/*
 * What is asked of a product: the arithmetic, and for the self test a fault.
 */
#ifndef GP_REFERENCE_REQUEST_H
#define GP_REFERENCE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/buf.h"
#include "harness/base/err.h"

/* The arithmetic asked for: a row's triple and how it is asked. Words, as on
 * the wire and in the reports:
 * entry: gemm, gemm-ex
 * math: default pedantic tf32 tensor-op bf16x9 fp64-emulated
 * compute: 16f 16f-pedantic 32f 32f-pedantic 32f-fast-16f 32f-fast-16bf
 *   32f-fast-tf32 32f-bf16x9 64f 64f-pedantic 64f-emulated; "" for gemm,
 *   which takes none */
struct gp_request {
    char entry[16];
    char math[24];
    char compute[24];
    bool no_reduced_precision;
    bool device_scalars; /* alpha and beta lie in device memory */
};

/* A fault to plant, for the proof that the harness can fail. */
enum gp_fault_kind {
    GP_FAULT_NONE,
    GP_FAULT_BIT,     /* flip bit `bit` of packed element `place` of D after
                         the product of repeat `repeat` */
    GP_FAULT_VARIANT, /* sum repeat `repeat` in another order: the first half
                         of k, then the second added to it */
    GP_FAULT_INPUT,   /* flip bit 0 of packed element `place` of A after the
                         last product */
    GP_FAULT_GUARD    /* flip the byte `place` bytes into the guard after D,
                         after the last product */
};

struct gp_fault {
    enum gp_fault_kind kind;
    int64_t repeat, place;
    int bit;
};

/* Read and write a fault as it stands on the command line:
 * bit:REPEAT:ELEMENT:BIT, variant:REPEAT, input:ELEMENT, guard:OFFSET; the
 * empty text is no fault. */
int gp_fault_parse(const char *text, struct gp_fault *ret_fault,
                   struct gp_err *err) GP_MUST_CHECK;
void gp_fault_print(const struct gp_fault *fault, struct gp_buf *buf);

#endif
