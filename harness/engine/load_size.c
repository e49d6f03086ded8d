/* Numbers, ranges and the sizes of a case. */
#include "harness/engine/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum {
    SIZE_MOST = 2147483647,
    SIZES_MOST = 1000000,
    VALUES_MOST = 4000000 /* of all axes of all cases: some 100 MB */
};

yaml_node_t *gp_load_item(const struct gp_load *load, const yaml_node_t *node,
                          size_t i)
{
    return yaml_document_get_node(load->document,
                                  node->data.sequence.items.start[i]);
}

size_t gp_load_count(const yaml_node_t *node)
{
    return (size_t)(node->data.sequence.items.top -
                    node->data.sequence.items.start);
}

int gp_load_add(struct gp_load *load, const yaml_node_t *node, size_t count,
                struct gp_err *err)
{
    *load->values += count;
    if (*load->values > VALUES_MOST)
        return gp_load_fail(load, node, err,
                            "the suite has more than %d values in its axes: "
                            "split it",
                            VALUES_MOST);
    return 0;
}

int gp_load_uint(const struct gp_load *load, const yaml_node_t *node,
                 const char *what, uint64_t least, uint64_t most,
                 uint64_t *ret_value, struct gp_err *err)
{
    const char *text;
    size_t len, digits;
    uint64_t value;

    if (gp_load_scalar(load, node, what, err) < 0)
        return -1;
    text = (const char *)node->data.scalar.value;
    len = node->data.scalar.length;
    digits = strspn(text, "0123456789");
    errno = 0;
    value = strtoull(text, NULL, 10);
    if (digits == 0 || digits != len || (len > 1 && *text == '0') || errno ||
        value < least || value > most)
        return gp_load_fail(load, node, err,
                            "%s is '%s': write a whole number from %" PRIu64
                            " to %" PRIu64 " in plain decimal digits",
                            what, gp_load_show_node(node).text, least, most);
    *ret_value = value;
    return 0;
}

int gp_load_whole(const struct gp_load *load, const yaml_node_t *node,
                  const char *what, int64_t least, int64_t most,
                  int64_t *ret_value, struct gp_err *err)
{
    uint64_t value = 0;

    if (gp_load_uint(load, node, what, (uint64_t)least, (uint64_t)most, &value,
                     err) < 0)
        return -1;
    *ret_value = (int64_t)value;
    return 0;
}

/* --- Ranges ------------------------------------------------------------- */

static int read_from(struct gp_load *load, const struct gp_load_key *key,
                     yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    return gp_load_whole(load, node, "'from'", 1, SIZE_MOST, &load->range->from,
                         err);
}

static int read_to(struct gp_load *load, const struct gp_load_key *key,
                   yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    return gp_load_whole(load, node, "'to'", load->range->from, SIZE_MOST,
                         &load->range->to, err);
}

static int read_times(struct gp_load *load, const struct gp_load_key *key,
                      yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    return gp_load_whole(load, node, "'times'", 2, SIZE_MOST,
                         &load->range->times, err);
}

static int read_plus(struct gp_load *load, const struct gp_load_key *key,
                     yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    return gp_load_whole(load, node, "'plus'", 1, SIZE_MOST, &load->range->plus,
                         err);
}

static const struct gp_load_key range_keys[] = {
    {.name = "from", .help = "the first", .required = true, .read = read_from},
    {.name = "to",
     .help = "none is greater; not below from",
     .required = true,
     .read = read_to},
    {.name = "times", .help = "each from the one before", .read = read_times},
    {.name = "plus", .help = "each from the one before", .read = read_plus},
    {.name = NULL},
};

/* A number is the range that holds it alone. */
static int range_read(struct gp_load *load, yaml_node_t *node, const char *what,
                      struct gp_load_range *ret_range, struct gp_err *err)
{
    struct gp_load_range range = {0};
    int rc;

    if (node->type == YAML_MAPPING_NODE) {
        load->range = &range;
        rc = gp_load_map(load, node, range_keys, "a range", err);
        load->range = NULL;
        if (rc < 0)
            return -1;
        if (!range.times == !range.plus)
            return gp_load_fail(load, node, err,
                                "a range takes one of 'times' and 'plus', as "
                                "{from: 64, to: 4096, times: 2}");
    } else {
        if (gp_load_whole(load, node, what, 0, SIZE_MOST, &range.from, err) < 0)
            return -1;
        range.to = range.from;
        range.plus = 1;
    }
    *ret_range = range;
    return 0;
}

static int64_t range_next(const struct gp_load_range *range, int64_t value)
{
    return range->plus ? value + range->plus : value * range->times;
}

static int64_t range_count(const struct gp_load_range *range)
{
    int64_t count = 0;

    if (range->plus)
        return (range->to - range->from) / range->plus + 1;
    for (int64_t v = range->from; v <= range->to; v = range_next(range, v))
        count++;
    return count;
}

/* --- Sizes -------------------------------------------------------------- */

static int too_many(const struct gp_load *load, const yaml_node_t *node,
                    struct gp_err *err)
{
    return gp_load_fail(load, node, err,
                        "the case has more than %d sizes: narrow its ranges",
                        SIZES_MOST);
}

/* Append the sizes of one item to `to`, or only count them if it is NULL.
 * `*count` goes on from item to item. */
static int size_one(struct gp_load *load, yaml_node_t *node, struct gp_size *to,
                    int64_t *count, struct gp_err *err)
{
    static const char *const names[] = {"the size m", "the size n",
                                        "the size k"};
    struct gp_load_range range[3];
    int64_t more = 1;
    bool square = node->type != YAML_SEQUENCE_NODE;

    if (!square && gp_load_count(node) != 3)
        return gp_load_fail(load, node, err,
                            "a size is [m, n, k], three numbers or ranges: "
                            "here are %zu",
                            gp_load_count(node));
    for (size_t i = 0; i < (square ? 1 : 3); i++) {
        if (range_read(load, square ? node : gp_load_item(load, node, i),
                       square ? "a size" : names[i], &range[i], err) < 0)
            return -1;
        if (range_count(&range[i]) > SIZES_MOST)
            return too_many(load, node, err);
        more *= range_count(&range[i]);
        if (*count + more > SIZES_MOST)
            return too_many(load, node, err);
    }
    if (!to) {
        *count += more;
        return 0;
    }
    for (int64_t m = range[0].from; m <= range[0].to;
         m = range_next(&range[0], m)) {
        if (square) {
            to[(*count)++] = (struct gp_size){m, m, m};
            continue;
        }
        for (int64_t n = range[1].from; n <= range[1].to;
             n = range_next(&range[1], n))
            for (int64_t k = range[2].from; k <= range[2].to;
                 k = range_next(&range[2], k))
                to[(*count)++] = (struct gp_size){m, n, k};
    }
    return 0;
}

/* [8, 8, 65536] could be one product or three squares: neither is guessed. */
static bool is_ambiguous(const struct gp_load *load, const yaml_node_t *node)
{
    if (node->type != YAML_SEQUENCE_NODE || gp_load_count(node) != 3)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (gp_load_item(load, node, i)->type == YAML_SEQUENCE_NODE)
            return false;
    return true;
}

int gp_load_sizes(struct gp_load *load, const struct gp_load_key *key,
                  yaml_node_t *node, struct gp_err *err)
{
    bool list = node->type == YAML_SEQUENCE_NODE;
    size_t items = list ? gp_load_count(node) : 1;
    struct gp_size *sizes = NULL;
    int64_t count = 0;

    if (items == 0)
        return gp_load_fail(load, node, err,
                            "'%s' is an empty list: write [m, n, k] in it",
                            key->name);
    if (is_ambiguous(load, node))
        return gp_load_fail(load, node, err,
                            "three sizes in a row are one product or three "
                            "squares: write [[m, n, k]] for the product, "
                            "[[m, m, m], ...] for the squares");
    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (size_t i = 0; i < items; i++)
            if (size_one(load, list ? gp_load_item(load, node, i) : node, sizes,
                         &count, err) < 0)
                return -1;
        if (sizes)
            break;
        if (gp_load_add(load, node, (size_t)count, err) < 0)
            return -1;
        sizes =
            gp_arena_array(&load->suite->arena, (size_t)count, sizeof *sizes);
    }
    load->into->sizes = sizes;
    load->into->sizes_count = (size_t)count;
    return 0;
}
