#include "harness/check/deviation.h"

#include <math.h>

#include "harness/base/clones.h"

/* Sums are kept in lanes, so that the order of addition is the same however
 * wide the machine is. */
enum { LANES = 8 };

static double sum_lanes(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* z and sign(ref) z of each element, 0 where it is left out; `count` is a
 * multiple of LANES. */
GP_CLONES("avx2")
static void deviations(const double *restrict got, const double *restrict ref,
                       const double *restrict low, const double *restrict mag,
                       int64_t count, double *restrict z,
                       double *restrict signed_z, double *restrict used)
{
    for (int64_t i = 0; i < count; i++) {
        double error = got[i] - ref[i] - low[i], scale = mag[i];
        /* x - x is 0 for finite x alone. */
        double one = (error - error == 0) & (scale - scale == 0) & (scale > 0);
        double value = error / scale;
        value = one != 0 ? value : 0;
        z[i] = value;
        signed_z[i] = ref[i] < 0 ? -value : ref[i] > 0 ? value : 0;
        used[i] = one;
    }
}

GP_CLONES("avx2")
static void powers(const double *restrict z, const double *restrict signed_z,
                   const double *restrict used, int64_t count,
                   double lanes[5][LANES])
{
    for (int64_t i = 0; i < count; i += LANES)
        for (int l = 0; l < LANES; l++) {
            double square = z[i + l] * z[i + l];
            lanes[0][l] += z[i + l];
            lanes[1][l] += signed_z[i + l];
            lanes[2][l] += square;
            lanes[3][l] += square * square;
            lanes[4][l] += used[i + l];
        }
}

static double sum_of(const double *values, int64_t count)
{
    double lane[LANES] = {0};
    int64_t i = 0;

    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += values[i + l];
    for (; i < count; i++)
        lane[i % LANES] += values[i];
    return sum_lanes(lane);
}

/* How rows or columns are grouped. */
struct grouping {
    bool columns;
    int64_t longer, clusters; /* 0 clusters: too few */
};

static struct grouping grouping_of(const struct gp_gemm *gemm)
{
    struct grouping made = {.columns = gemm->n * gemm->batch >= gemm->m};

    made.longer = made.columns ? gemm->n * gemm->batch : gemm->m;
    made.clusters = made.longer < GP_CLUSTERS_LEAST  ? 0
                    : made.longer > GP_CLUSTERS_MOST ? GP_CLUSTERS_MOST
                                                     : made.longer;
    return made;
}

/* Runs of elements that are in one column and one cluster. */
static void add_clusters(const struct gp_gemm *gemm, int64_t at,
                         const double *signed_z, int64_t count,
                         struct gp_deviation_sums *sums)
{
    const struct grouping grouping = grouping_of(gemm);
    int64_t done = 0;

    while (grouping.clusters && done < count) {
        int64_t column = (at + done) / gemm->m, row = (at + done) % gemm->m;
        int64_t place = grouping.columns ? column : row;
        int64_t cluster = place * grouping.clusters / grouping.longer;
        int64_t end = gemm->m; /* of the run, as a row */
        if (!grouping.columns)
            end = ((cluster + 1) * grouping.longer + grouping.clusters - 1) /
                  grouping.clusters;
        end = end - row < count - done ? end - row : count - done;
        sums->cluster[cluster] += sum_of(signed_z + done, end);
        sums->cluster_count[cluster] += end;
        done += end;
    }
}

void gp_deviation_add(const struct gp_reference *reference, int64_t at,
                      const double *got, int64_t count,
                      struct gp_deviation_sums *sums)
{
    static const double none[GP_DEVIATION_MOST];
    double z[GP_DEVIATION_MOST], signed_z[GP_DEVIATION_MOST];
    double used[GP_DEVIATION_MOST], lanes[5][LANES] = {{0}};
    int64_t padded = (count + LANES - 1) / LANES * LANES;

    deviations(got, reference->ref + at,
               reference->low ? reference->low + at : none, reference->mag + at,
               count, z, signed_z, used);
    for (int64_t i = count; i < padded; i++)
        z[i] = signed_z[i] = used[i] = 0;
    powers(z, signed_z, used, padded, lanes);
    sums->z += sum_lanes(lanes[0]);
    sums->signed_z += sum_lanes(lanes[1]);
    sums->z2 += sum_lanes(lanes[2]);
    sums->z4 += sum_lanes(lanes[3]);
    sums->count += (int64_t)sum_lanes(lanes[4]);
    add_clusters(&reference->gemm, at, signed_z, count, sums);
}

void gp_deviation_merge(struct gp_deviation_sums *sums,
                        const struct gp_deviation_sums *more)
{
    sums->count += more->count;
    sums->z += more->z;
    sums->signed_z += more->signed_z;
    sums->z2 += more->z2;
    sums->z4 += more->z4;
    for (int c = 0; c < GP_CLUSTERS_MOST; c++) {
        sums->cluster[c] += more->cluster[c];
        sums->cluster_count[c] += more->cluster_count[c];
    }
}

/* The standard error of the mean of the clusters' means. */
static double cluster_error(const struct gp_deviation_sums *sums, int clusters)
{
    double mean = 0, square = 0;

    for (int c = 0; c < clusters; c++)
        mean += sums->cluster[c] / (double)sums->cluster_count[c] / clusters;
    for (int c = 0; c < clusters; c++) {
        double off = sums->cluster[c] / (double)sums->cluster_count[c] - mean;
        square += off * off;
    }
    return sqrt(square / clusters / (clusters - 1));
}

void gp_deviation_finish(const struct gp_reference *reference,
                         const struct gp_deviation_sums *sums,
                         struct gp_deviation *ret_deviation)
{
    const struct gp_gemm *gemm = &reference->gemm;
    double count = (double)sums->count;
    struct gp_deviation made = {.count = sums->count};

    if (sums->count) {
        made.rms = sqrt(sums->z2 / count);
        made.mean = sums->z / count;
        made.bias = sums->signed_z / count;
    }
    if (sums->z2 > 0)
        made.kurtosis = sums->z4 / sums->z2 * count / sums->z2;
    if (sums->count == gp_gemm_count(gemm, GP_C))
        made.clusters = (int)grouping_of(gemm).clusters;
    if (made.clusters)
        made.bias_error = cluster_error(sums, made.clusters);
    *ret_deviation = made;
}
