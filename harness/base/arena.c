#include "harness/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gp_arena_block {
    struct gp_arena_block *next;
    size_t used, room;
    _Alignas(max_align_t) unsigned char data[];
};

enum { BLOCK_BYTES = 64 * 1024, ALIGN = _Alignof(max_align_t) };

_Noreturn void gp_arena_out_of_memory(size_t bytes)
{
    fprintf(stderr, "gemmproof: out of memory: no %zu bytes left\n", bytes);
    abort();
}

void *gp_arena_alloc(struct gp_arena *arena, size_t bytes)
{
    struct gp_arena_block *block = arena->blocks;
    size_t want = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    void *at;

    if (want < bytes)
        gp_arena_out_of_memory(bytes);
    if (!block || block->room - block->used < want) {
        size_t room = want > BLOCK_BYTES ? want : BLOCK_BYTES;
        block = malloc(sizeof *block + room);
        if (!block)
            gp_arena_out_of_memory(room);
        block->next = arena->blocks;
        block->used = 0;
        block->room = room;
        arena->blocks = block;
    }
    at = block->data + block->used;
    block->used += want;
    return memset(at, 0, want);
}

void *gp_arena_array(struct gp_arena *arena, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes)
        gp_arena_out_of_memory(SIZE_MAX);
    return gp_arena_alloc(arena, count * bytes);
}

char *gp_arena_copy(struct gp_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;

    return memcpy(gp_arena_alloc(arena, bytes), text, bytes);
}

char *gp_arena_printf(struct gp_arena *arena, const char *fmt, ...)
{
    va_list ap, again;
    char *text;
    int len;

    va_start(ap, fmt);
    va_copy(again, ap);
    len = vsnprintf(NULL, 0, fmt, ap);
    text = gp_arena_alloc(arena, (size_t)(len < 0 ? 0 : len) + 1);
    if (len >= 0)
        vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return text;
}

void gp_arena_free(struct gp_arena *arena)
{
    while (arena->blocks) {
        struct gp_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

void *gp_grow(void **items, size_t count, size_t *room, size_t bytes)
{
    if (count == *room) {
        size_t more = *room ? 2 * *room : 16;
        void *grown = realloc(*items, more * bytes);
        if (!grown)
            gp_arena_out_of_memory(more * bytes);
        *items = grown;
        *room = more;
    }
    return memset((char *)*items + count * bytes, 0, bytes);
}
