#include "harness/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MOST = 16 };

struct share {
    size_t blocks;
    atomic_size_t next;
    void (*work)(void *ctx, size_t block);
    void *ctx;
};

static void *take_blocks(void *arg)
{
    struct share *share = arg;
    size_t block;

    while ((block = atomic_fetch_add(&share->next, 1)) < share->blocks)
        share->work(share->ctx, block);
    return NULL;
}

void gp_parallel(size_t blocks, void (*work)(void *ctx, size_t block),
                 void *ctx)
{
    struct share share = {.blocks = blocks, .work = work, .ctx = ctx};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[THREADS_MOST];
    size_t count = 0, most = processors > 0 ? (size_t)processors : 1;

    if (most > THREADS_MOST)
        most = THREADS_MOST;
    if (most > blocks)
        most = blocks;
    while (count + 1 < most &&
           pthread_create(&threads[count], NULL, take_blocks, &share) == 0)
        count++;
    take_blocks(&share);
    while (count > 0)
        pthread_join(threads[--count], NULL);
}
