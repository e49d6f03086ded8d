/*
 * The sums over z = (D - ref) / G, from which the check `band` judges: block
 * by block of the packed output, merged in the order of the blocks, so that
 * they are the same for any number of threads.
 */
#ifndef GP_CHECK_DEVIATION_H
#define GP_CHECK_DEVIATION_H

#include "reference/refgemm.h"

enum { GP_CLUSTERS_MOST = 256, GP_CLUSTERS_LEAST = 64 };

/* Over the elements where D, ref and G are finite and G > 0. The bias is the
 * mean of sign(ref) z: below 0 toward zero. Errors of one row or column are
 * not independent, so its standard error comes from the means of groups of
 * whole rows or columns, whichever there are more of. */
struct gp_deviation {
    int64_t count;
    double rms, kurtosis, mean;
    double bias, bias_error;
    int clusters; /* 0: fewer than 64 rows and columns, or some elements were
                     left out */
};

struct gp_deviation_sums {
    int64_t count;
    double z, signed_z, z2, z4;
    double cluster[GP_CLUSTERS_MOST];
    int64_t cluster_count[GP_CLUSTERS_MOST];
};

/* Add `count` <= GP_DEVIATION_MOST elements from packed index `at` on. */
enum { GP_DEVIATION_MOST = 512 };
void gp_deviation_add(const struct gp_reference *reference, int64_t at,
                      const double *got, int64_t count,
                      struct gp_deviation_sums *sums);

/* Add the sums of a later block. */
void gp_deviation_merge(struct gp_deviation_sums *sums,
                        const struct gp_deviation_sums *more);

void gp_deviation_finish(const struct gp_reference *reference,
                         const struct gp_deviation_sums *sums,
                         struct gp_deviation *ret_deviation);

#endif
