/*
 * Short names of what a journal speaks of, for people. Appended unescaped.
 */
#ifndef GP_REPORTS_LABEL_H
#define GP_REPORTS_LABEL_H

#include "reports/summary.h"

/* A run's problem without its type, family and seed: "1x4096x4096",
 * "tn.31x37x41.ld+1.b3"; the operation where it is not nn. */
void gp_label_shape(const json_t *run, struct gp_buf *buf);

/* The entry of a run, "" where it is the default of its type; borrowed. */
const char *gp_label_entry(const json_t *run);

/* The name of a backend, with "(simulated)" where its device is a simulation
 * and the name does not say so. */
void gp_label_backend(const struct gp_summary *summary, const char *backend,
                      struct gp_buf *buf);

/* "16:8", "unset with NVIDIA_TF32_OVERRIDE=1". */
void gp_label_setting(const char *workspace, const char *env,
                      struct gp_buf *buf);

/* "64 MiB", "1000 B": in the largest unit that divides it. */
void gp_label_bytes(int64_t bytes, struct gp_buf *buf);

/* "tf32 704, fp32 88": the keys of an object and their counts, the largest
 * first; equal ones as they stand. */
void gp_label_counts(const json_t *counts, struct gp_buf *buf);

/* The strings of an array, with ", " between; `most` of them, and how many
 * more there are. */
void gp_label_list(const json_t *words, size_t most, struct gp_buf *buf);

/* A mode, and the variable that was set for it if there was one. */
void gp_label_mode(const char *mode, const char *env, struct gp_buf *buf);

#endif
