/*
 * Runs added up by the values of some of their keys.
 *
 * Groups stand sorted: by the first key, then the next; the values of a key
 * in the order in which the journal first names them. Strings are borrowed
 * from the summary, which must live as long. `{0}` is empty.
 */
#ifndef GP_REPORTS_GROUP_H
#define GP_REPORTS_GROUP_H

#include "reports/summary.h"

enum { GP_GROUP_KEYS = 4 };

/* The worst of some numbers; NaN is worse than any. */
struct gp_group_worst {
    bool known;
    double value;
};

struct gp_group {
    const char *key[GP_GROUP_KEYS];
    size_t rank[GP_GROUP_KEYS];
    struct gp_counts counts;
    struct gp_group_worst bits_cw;   /* smallest; infinite: no error at all */
    struct gp_group_worst max_share; /* largest; of the bound, 1 is on it */
    struct gp_group_worst max_ulp;   /* largest */
    int64_t repeated;                /* judged runs with at least two repeats */
    int64_t varied;   /* those of them with more than one output */
    int64_t products; /* repeats of all judged runs */
};

struct gp_groups {
    struct gp_group *items;
    size_t count, room;
};

/* Group all runs by `keys`: names of string members of a run record, at most
 * GP_GROUP_KEYS, ended by NULL. */
void gp_group_make(const struct gp_summary *summary, const char *const *keys,
                   struct gp_groups *ret_groups);
void gp_group_free(struct gp_groups *groups);

/* Do these groups agree in the first `keys` keys? */
bool gp_group_same(const struct gp_group *a, const struct gp_group *b,
                   size_t keys);

/* One cell of a table: "23.1", "exact", "-" where nothing is known. */
void gp_group_bits(const struct gp_group *group, struct gp_buf *buf);
void gp_group_share(const struct gp_group *group, struct gp_buf *buf);
void gp_group_ulp(const struct gp_group *group, struct gp_buf *buf);
/* "identical", "3 varied", "-" where nothing was repeated. */
void gp_group_repeats(const struct gp_group *group, struct gp_buf *buf);

#endif
