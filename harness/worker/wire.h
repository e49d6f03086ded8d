/*
 * The protocol in C: the structs that travel, to JSON and back.
 *
 * docs/protocol.md is its home. Both sides use these functions, so what one
 * writes the other reads. Everything read from a worker is checked here: a
 * reply that does not fit is an error, never a crash and never a default.
 */
#ifndef GP_WORKER_WIRE_H
#define GP_WORKER_WIRE_H

#include "harness/base/json.h"
#include "harness/worker/backend.h"

enum {
    GP_PROTOCOL = 1,
    GP_OUTPUTS_MOST = 8,     /* distinct outputs that come back */
    GP_VARIANTS_MOST = 4096, /* distinct digests that are told apart */
    GP_ORDER_MOST = 65536,   /* entries of the order of appearance */
    GP_LINE_MOST = 16 << 20  /* bytes of one request or reply */
};

/* `count` repeats in a row gave the variant with that number. */
struct gp_order {
    int64_t variant, count;
};

/* What execute answers. The arrays are owned: gp_reply_free. */
struct gp_reply {
    struct gp_digest *digests; /* in order of appearance; 0 is the first */
    size_t digests_count, digests_room;
    struct gp_order *order;
    size_t order_count, order_room;
    struct gp_difference *differences; /* of variant 1, 2, ... against 0 */
    size_t differences_count, differences_room;
    int64_t outputs;           /* how many came back, from variant 0 on */
    unsigned withheld;         /* bit v: variant v did not, being one of those
                                  that the request has already */
    struct gp_difference last; /* the last repeat's bytes against the first */
    struct gp_audit audit;
    double first_ns, min_ns, median_ns, max_ns; /* of the product alone */
};

void gp_reply_free(struct gp_reply *reply);

void gp_wire_put_gemm(json_t *object, const struct gp_gemm *gemm);
int gp_wire_get_gemm(const json_t *object, struct gp_gemm *ret_gemm,
                     struct gp_err *err) GP_MUST_CHECK;

void gp_wire_put_request(json_t *object, const struct gp_request *request);
int gp_wire_get_request(const json_t *object, struct gp_request *ret_request,
                        struct gp_err *err) GP_MUST_CHECK;

void gp_wire_put_reply(json_t *object, const struct gp_reply *reply);
/* `repeats` is what was asked for; a reply that does not account for each of
 * them is refused. */
int gp_wire_get_reply(const json_t *object, int64_t repeats,
                      struct gp_reply *ret_reply,
                      struct gp_err *err) GP_MUST_CHECK;

/* Bytes from one output to the next in the shared outputs: a packed D,
 * rounded up to 4096. */
size_t gp_wire_output_bytes(const struct gp_gemm *gemm);

/* Read an array of digests into a gp_grow array, which the caller frees. */
int gp_wire_get_digests(const json_t *array, struct gp_digest **ret_digests,
                        size_t *ret_count, size_t *ret_room,
                        struct gp_err *err) GP_MUST_CHECK;

enum { GP_DIGEST_TEXT = 33 };
void gp_wire_digest_text(const struct gp_digest *digest, char *ret_text);

/* Is (entry, in, out, math, compute, flag) in a hello's offers? */
bool gp_wire_offered(const json_t *offers, const struct gp_gemm *gemm,
                     const struct gp_request *request);

#endif
