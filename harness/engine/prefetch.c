#include "harness/engine/prefetch.h"

#include <unistd.h>

#include "harness/base/shm.h"

static void *make(void *ctx)
{
    struct gp_pending *pending = ctx;
    const struct gp_problem *problem = pending->problem;

    pending->status =
        gp_reference_make(&pending->reference, &problem->gemm, problem->family,
                          problem->seed, &pending->err);
    return NULL;
}

static void begin(struct gp_pending *pending, const struct gp_problem *problem)
{
    *pending = (struct gp_pending){.problem = problem};
    pending->threaded =
        pthread_create(&pending->thread, NULL, make, pending) == 0;
}

/* Begin as many as depth and memory allow, and always the next one. */
static void begin_more(struct gp_prefetch *prefetch)
{
    double bytes = 0;

    for (size_t i = prefetch->taken; i < prefetch->begun; i++)
        bytes += gp_reference_bytes(&prefetch->problems[i]->gemm);
    while (prefetch->begun < prefetch->count &&
           prefetch->begun - prefetch->taken < prefetch->depth) {
        const struct gp_problem *problem = prefetch->problems[prefetch->begun];
        bytes += gp_reference_bytes(&problem->gemm);
        if (bytes > prefetch->budget_bytes && prefetch->begun > prefetch->taken)
            return;
        begin(&prefetch->ring[prefetch->begun % GP_PREFETCH_MOST], problem);
        prefetch->begun++;
    }
}

static size_t processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 ? (size_t)count : 1;
}

void gp_prefetch_threads(size_t problems)
{
    if (processors() > 4 && problems >= 2 * processors())
        gp_reference_set_threads(1);
}

void gp_prefetch_open(struct gp_prefetch *prefetch,
                      const struct gp_problem *const *problems, size_t count)
{
    struct gp_reference_library library;

    gp_reference_library(&library);
    *prefetch = (struct gp_prefetch){.problems = problems, .count = count};
    prefetch->depth =
        processors() / (library.threads > 0 ? (size_t)library.threads : 1);
    if (prefetch->depth < 1)
        prefetch->depth = 1;
    if (prefetch->depth > GP_PREFETCH_MOST - 1)
        prefetch->depth = GP_PREFETCH_MOST - 1;
    prefetch->budget_bytes = (double)gp_memory_available_bytes() / 3;
    begin_more(prefetch);
}

void gp_prefetch_take(struct gp_prefetch *prefetch,
                      struct gp_pending *ret_pending)
{
    struct gp_pending *pending =
        &prefetch->ring[prefetch->taken % GP_PREFETCH_MOST];

    if (pending->threaded)
        pthread_join(pending->thread, NULL);
    if (!pending->threaded ||
        (pending->status != 0 && pending->err.kind == GP_ERR_SYSTEM)) {
        gp_reference_free(&pending->reference);
        make(pending);
    }
    *ret_pending = *pending;
    ret_pending->threaded = false;
    prefetch->taken++;
    begin_more(prefetch);
}

void gp_prefetch_close(struct gp_prefetch *prefetch)
{
    for (; prefetch->taken < prefetch->begun; prefetch->taken++) {
        struct gp_pending *pending =
            &prefetch->ring[prefetch->taken % GP_PREFETCH_MOST];
        if (pending->threaded)
            pthread_join(pending->thread, NULL);
        gp_reference_free(&pending->reference);
    }
}
