/* The seeds of a case: numbers, and ranges of them. */
#include "harness/engine/load.h"

#include <inttypes.h>
#include <yaml.h>

enum { SEEDS_MOST = 1000000 };

static int read_from(struct gp_load *load, const struct gp_load_key *key,
                     yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    return gp_load_uint(load, node, "'from'", 0, UINT64_MAX, &load->seeds->from,
                        err);
}

static int read_to(struct gp_load *load, const struct gp_load_key *key,
                   yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    return gp_load_uint(load, node, "'to'", load->seeds->from, UINT64_MAX,
                        &load->seeds->to, err);
}

static const struct gp_load_key range_keys[] = {
    {.name = "from", .help = "the first", .required = true, .read = read_from},
    {.name = "to", .help = "the last", .required = true, .read = read_to},
    {.name = NULL},
};

/* A number is the range that holds it alone. */
static int range_read(struct gp_load *load, yaml_node_t *node,
                      struct gp_load_seeds *ret_range, struct gp_err *err)
{
    struct gp_load_seeds range = {0, 0};
    int status;

    if (node->type == YAML_MAPPING_NODE) {
        load->seeds = &range;
        status = gp_load_map(load, node, range_keys, "a range of seeds", err);
        load->seeds = NULL;
    } else {
        status =
            gp_load_uint(load, node, "a seed", 0, UINT64_MAX, &range.from, err);
        range.to = range.from;
    }
    if (status == 0)
        *ret_range = range;
    return status;
}

int gp_load_seeds(struct gp_load *load, const struct gp_load_key *key,
                  yaml_node_t *node, struct gp_err *err)
{
    bool list = node->type == YAML_SEQUENCE_NODE;
    size_t items = list ? gp_load_count(node) : 1;
    struct gp_load_seeds range = {0, 0};
    uint64_t *seeds = NULL;
    size_t count = 0;

    if (items == 0)
        return gp_load_fail(load, node, err,
                            "'%s' is an empty list: give a value or leave the "
                            "key out",
                            key->name);
    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (size_t i = 0; i < items; i++) {
            if (range_read(load, list ? gp_load_item(load, node, i) : node,
                           &range, err) < 0)
                return -1;
            if (range.to - range.from >= SEEDS_MOST - count)
                return gp_load_fail(load, node, err,
                                    "the case has more than %d seeds: narrow "
                                    "its ranges",
                                    SEEDS_MOST);
            for (uint64_t n = 0; n <= range.to - range.from; n++, count++)
                if (seeds)
                    seeds[count] = range.from + n;
        }
        if (seeds)
            break;
        if (gp_load_add(load, node, count, err) < 0)
            return -1;
        seeds = gp_arena_array(&load->suite->arena, count, sizeof *seeds);
    }
    load->into->seeds = seeds;
    load->into->seeds_count = count;
    return 0;
}
