/*
 * An arena for small things: allocated one by one, freed together.
 *
 * `{0}` is an empty arena. Running out of memory for small things ends the
 * program with a sentence: nothing sensible can be done. Matrices do not
 * belong here (see base/shm.h): their failure is an ordinary error.
 */
#ifndef GP_BASE_ARENA_H
#define GP_BASE_ARENA_H

#include <stddef.h>

#include "harness/base/err.h"

struct gp_arena_block;

struct gp_arena {
    struct gp_arena_block *blocks;
};

/* Zeroed memory of that many bytes, aligned for any type, owned by the
 * arena. */
void *gp_arena_alloc(struct gp_arena *arena, size_t bytes);

/* An array of `count` zeroed elements of `bytes` each. */
void *gp_arena_array(struct gp_arena *arena, size_t count, size_t bytes);

/* A copy of a string, and a formatted string. */
char *gp_arena_copy(struct gp_arena *arena, const char *text);
char *gp_arena_printf(struct gp_arena *arena, const char *fmt, ...)
    GP_PRINTF(2, 3);

/* Free everything; the arena is empty again. */
void gp_arena_free(struct gp_arena *arena);

/* Make room for one more element in a heap array that grows by doubling:
 * `*items` holds `count` elements of `bytes` each, `*room` of them fit. The
 * new element is zeroed; its address is returned. The owner frees *items. */
void *gp_grow(void **items, size_t count, size_t *room, size_t bytes);

/* End the program: small memory is gone. */
_Noreturn void gp_arena_out_of_memory(size_t bytes);

#endif
