/*
 * The digest of a matrix (harness/base/hash.h), from its elements in memory.
 */
#ifndef GP_REFERENCE_DIGEST_H
#define GP_REFERENCE_DIGEST_H

#include "harness/base/hash.h"
#include "reference/type.h"

/* Add `count` adjacent elements at `from`, whose places in the packed result
 * are index, index + 1, ... */
void gp_digest_add(struct gp_digest *digest, const struct gp_type *type,
                   const void *from, int64_t index, int64_t count);

#endif
