/*
 * What a worker is made of: the vtable between worker.c, which speaks the
 * protocol and repeats, and a backend, which multiplies.
 *
 * Order of calls: open, hello, then for each prepare any number of executes;
 * close at the end. During an execute, worker.c calls for each repeat:
 * launch, digest, and for an output it has not seen keep and compare; at the
 * end compare once more and audit once. A backend never judges.
 *
 * Operands come packed (reference/gemm.h). The backend lays them out: the ld
 * and layout of the problem, GP_GUARD_BYTES of guard before and after each
 * matrix, and every byte that is not an element set to GP_POISON (as a
 * floating-point number of any type: a NaN). Before each launch D is C again,
 * or, where there is no C, every element is GP_POISON bytes: those still there
 * afterwards are the sentinels left.
 *
 * All functions return 0, or -1 with one sentence in err.
 */
#ifndef GP_WORKER_BACKEND_H
#define GP_WORKER_BACKEND_H

#include "harness/base/hash.h"
#include "harness/base/json.h"
#include "reference/gemm.h"
#include "reference/request.h"

enum { GP_POISON = 0xff, GP_GUARD_BYTES = 4096 };

/* One problem with one request, as prepare hands it over. The packed operands
 * are only valid during prepare. */
struct gp_job {
    struct gp_gemm gemm;
    struct gp_request request;
    int64_t operands_id;   /* the same number again: the same operand bytes, so
                              a backend may keep what it laid out before, if
                              `gemm` is equal too */
    const void *a, *b, *c; /* c is NULL when beta = 0, unless D is to hold
                              something before that must not be read */
};

/* Where the current output differs from the first. */
struct gp_difference {
    int64_t elements; /* how many elements differ in any bit */
    int64_t first;    /* packed index of the first, -1 if none */
};

/* What was touched that should not have been, over the whole execute. */
struct gp_audit {
    int64_t guard_bytes;    /* changed bytes of guards and padding, A B C */
    int64_t guard_first;    /* the first one: bytes from the start of its
                               guard, or of the laid out matrix when it is
                               padding; -1 if none */
    char guard_where[24];   /* "before D", "after D", "padding of D"; the same
                               for A and B; "" if none */
    int64_t input_elements; /* changed elements of A and B */
    int64_t input_first;    /* packed index of the first, -1 if none */
    char input_where[4];    /* "A" or "B" */
    int64_t sentinels_left; /* elements of D never written in the last launch
                               (0 where there is a C) */
    int64_t sentinel_first; /* packed index of the first, -1 if none */
};

struct gp_backend {
    const char *name;
    const char *help;

    /* Make the context. `variant` is what stood after '=' in the backend's
     * name ("" if nothing); `library` is a path to load, "" for the default.
     * Must not fail for want of a device: that is for hello to say. */
    int (*open)(void **ret_ctx, const char *variant, const char *library,
                struct gp_err *err);

    /* Fill the reply: "library" {name, version, path}, "device" {name, ...;
     * "compute_capability" as an integer 90, 0 for a CPU}, "offers" an array
     * of {entry, in, out, math: [...], compute: [...], flag: bool} (every
     * combination in a row is offered), "schedules" and "faults" arrays of
     * words. */
    int (*hello)(void *ctx, json_t *reply, struct gp_err *err);

    /* Take a problem: lay the operands out, keep a pristine copy. */
    int (*prepare)(void *ctx, const struct gp_job *job, struct gp_err *err);

    /* Restore D, multiply once, plant `fault` if this is its repeat (`last`
     * says that no further launch follows). ret_ns: the time of the product
     * alone. */
    int (*launch)(void *ctx, int64_t repeat, bool last,
                  const struct gp_fault *fault, double *ret_ns,
                  struct gp_err *err);

    /* The digest of the current D (base/hash.h), packed index order. */
    int (*digest)(void *ctx, struct gp_digest *ret_digest, struct gp_err *err);

    /* Copy the current D, packed, to host memory (NULL: do not). With `first`
     * also remember it for compare. */
    int (*keep)(void *ctx, bool first, void *to, struct gp_err *err);

    /* Compare the bits of the current D with the remembered first. */
    int (*compare)(void *ctx, struct gp_difference *ret_difference,
                   struct gp_err *err);

    /* Look at guards, inputs and sentinels. */
    int (*audit)(void *ctx, struct gp_audit *ret_audit, struct gp_err *err);

    void (*close)(void *ctx);
};

/* Each worker program links exactly one of these. */
extern const struct gp_backend gp_backend;

/* Add one row to the "offers" of a hello reply. `maths` and `computes` are
 * words separated by spaces. */
void gp_backend_offer(json_t *offers, const char *entry, const char *in,
                      const char *out, const char *maths, const char *computes,
                      bool flag);

#endif
