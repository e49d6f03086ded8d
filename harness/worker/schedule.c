#include "harness/worker/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"

/* The number of a digest among those seen, or a new one. -1: too many. */
static int64_t variant_of(struct gp_reply *reply,
                          const struct gp_digest *digest)
{
    struct gp_digest *added;

    for (size_t v = reply->digests_count; v-- > 0;)
        if (memcmp(&reply->digests[v], digest, sizeof *digest) == 0)
            return (int64_t)v;
    if (reply->digests_count == GP_VARIANTS_MOST)
        return -1;
    added = gp_grow((void **)&reply->digests, reply->digests_count,
                    &reply->digests_room, sizeof *added);
    *added = *digest;
    return (int64_t)reply->digests_count++;
}

static int count_variant(struct gp_reply *reply, int64_t variant,
                         struct gp_err *err)
{
    struct gp_order *order;

    if (reply->order_count &&
        reply->order[reply->order_count - 1].variant == variant) {
        reply->order[reply->order_count - 1].count++;
        return 0;
    }
    if (variant < 0 || reply->order_count == GP_ORDER_MOST)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "more than %d distinct outputs or %d changes between "
                          "them: ask for fewer repeats",
                          GP_VARIANTS_MOST, GP_ORDER_MOST);
    order = gp_grow((void **)&reply->order, reply->order_count,
                    &reply->order_room, sizeof *order);
    *order = (struct gp_order){variant, 1};
    reply->order_count++;
    return 0;
}

/* An output not seen before: bring it back and compare it with the first. */
static int new_variant(const struct gp_execution *execution,
                       struct gp_reply *reply, struct gp_err *err)
{
    const struct gp_backend *backend = execution->backend;
    struct gp_difference *difference;
    int64_t v = (int64_t)reply->digests_count - 1;
    void *to = NULL;

    if (v >= execution->room)
        return 0;
    for (size_t h = 0; h < execution->have_count; h++)
        if (memcmp(&execution->have[h], &reply->digests[v],
                   sizeof *execution->have) == 0)
            reply->withheld |= 1u << v;
    if (!(reply->withheld >> v & 1))
        to = execution->outputs + (size_t)v * execution->output_bytes;
    if (backend->keep(execution->ctx, v == 0, to, err) != 0)
        return -1;
    reply->outputs++;
    if (v == 0)
        return 0;
    difference = gp_grow((void **)&reply->differences, reply->differences_count,
                         &reply->differences_room, sizeof *difference);
    reply->differences_count++;
    return backend->compare(execution->ctx, difference, err);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void summarise_times(struct gp_reply *reply, double *times, int64_t n)
{
    reply->first_ns = times[0];
    qsort(times, (size_t)n, sizeof *times, by_size);
    reply->min_ns = times[0];
    reply->median_ns = times[n / 2];
    reply->max_ns = times[n - 1];
}

static int serial_repeat(const struct gp_execution *execution, int64_t repeat,
                         struct gp_reply *reply, double *ret_ns,
                         struct gp_err *err)
{
    const struct gp_backend *backend = execution->backend;
    bool last = repeat == execution->repeats - 1;
    size_t before = reply->digests_count;
    struct gp_digest digest;
    int64_t variant;

    if (backend->launch(execution->ctx, repeat, last, &execution->fault, ret_ns,
                        err) != 0 ||
        backend->digest(execution->ctx, &digest, err) != 0)
        return -1;
    variant = variant_of(reply, &digest);
    if (count_variant(reply, variant, err) != 0)
        return -1;
    if (reply->digests_count > before && new_variant(execution, reply, err))
        return -1;
    /* Equal digests are confirmed byte by byte once a run. */
    return last ? backend->compare(execution->ctx, &reply->last, err) : 0;
}

static int serial(const struct gp_execution *execution, struct gp_reply *reply,
                  struct gp_err *err)
{
    double *times = calloc((size_t)execution->repeats, sizeof *times);
    int status = 0;

    if (!times)
        gp_arena_out_of_memory((size_t)execution->repeats * sizeof *times);
    for (int64_t r = 0; r < execution->repeats && status == 0; r++)
        status = serial_repeat(execution, r, reply, &times[r], err);
    if (status == 0)
        status = execution->backend->audit(execution->ctx, &reply->audit, err);
    summarise_times(reply, times, execution->repeats);
    free(times);
    return status;
}

const struct gp_worker_schedule gp_worker_schedules[] = {
    {"serial", serial},
    {NULL, NULL},
};
