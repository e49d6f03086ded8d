/*
 * A loop over blocks, shared among the processors.
 */
#ifndef GP_BASE_PARALLEL_H
#define GP_BASE_PARALLEL_H

#include <stddef.h>

/* Call work(ctx, block) once for each block below `blocks`, from as many
 * threads as there are processors; returns when all are done. Blocks must not
 * depend on each other; what they produce is the same for any number of
 * threads if it is stored by block. One block, or one processor: no thread is
 * made. */
void gp_parallel(size_t blocks, void (*work)(void *ctx, size_t block),
                 void *ctx);

#endif
