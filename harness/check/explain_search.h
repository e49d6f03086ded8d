/*
 * One range of k whose sums are the errors of many wrong elements at once:
 * which products are missing, added twice, or were read otherwise.
 *
 * With P_s(x) the sum of the first x products of element s and e_s its error,
 * a range [x, y) that is missing has P_s(y) = P_s(x) - e_s for every s; one
 * that is added twice P_s(y) = P_s(x) + e_s. Where nothing rounds, a random
 * linear form of the P_s modulo 2^64 finds y by look-up; else the sums of one
 * element are sorted and the others tell. The least squares win.
 */
#ifndef GP_CHECK_EXPLAIN_SEARCH_H
#define GP_CHECK_EXPLAIN_SEARCH_H

#include "harness/check/explain.h"

enum {
    GP_SEARCH_WRONG = 32,
    GP_SEARCH_RIGHT = 16, /* elements that are not wrong beside them */
    GP_SEARCH_ELEMENTS = GP_SEARCH_WRONG + GP_SEARCH_RIGHT
};

struct gp_search_entry;

/* The prefix sums of some elements at the multiples of `step`, and at k. */
struct gp_sums {
    const struct gp_suspect *suspect[GP_SEARCH_ELEMENTS];
    double *prefix[GP_SEARCH_ELEMENTS];
    size_t wrong, count; /* the wrong ones first */
    int64_t k, step, points;
    bool exact;
    /* Kept by the searches: points by value, for elements from `first` on. */
    struct gp_search_entry *entries;
    int64_t *buckets;
    size_t first, among;
    int64_t tries; /* that are left to all of them */
};

/* Where op(A), op(B) are read: so many positions of k earlier. With one of
 * them other than 0, the sums are of what that changes. */
struct gp_delay {
    int64_t a, b;
};

/* Of up to `wrong` elements that are wrong, and half as many that are not;
 * fewer where k is large. */
void gp_sums_make(const struct gp_scene *scene, struct gp_delay delay,
                  size_t wrong, struct gp_sums *ret_sums);
void gp_sums_free(struct gp_sums *sums);

/* k of a point. */
int64_t gp_sums_position(const struct gp_sums *sums, int64_t point);

/* What was found: ranges of points that fit, and the best of them. */
struct gp_search {
    const struct gp_sums *sums;
    size_t first, count;  /* of which elements */
    const double *errors; /* while searching */
    int times;            /* -1: missing, 1: added */
    int64_t tries;        /* pairs that it may look at yet */
    bool given_up;        /* there were more */
    int64_t ranges;       /* 0: nothing was found */
    int64_t from, to;     /* the best */
    double best;          /* its squares, in units of limits */
    int64_t from_least, from_most, to_least, to_most; /* of all that fit */
    int64_t shortest, longest;
};

/* Find the ranges that give the errors of `count` elements from `first` on;
 * none where the same errors, dealt out differently, find some as well. */
struct gp_search gp_search_ranges(struct gp_sums *sums, size_t first,
                                  size_t count, int times);

#endif
