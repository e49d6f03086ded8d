/*
 * Measured against expected: what the check `band` found of the rms errors, by
 * the arithmetic that explains them and by k. Runs with a planted fault do not
 * count.
 */
#ifndef GP_REPORTS_BANDS_H
#define GP_REPORTS_BANDS_H

#include "reports/summary.h"

/* A row for each backend, type, mode, law and k, those of one law together and
 * by k, as a new array that the caller frees by json_decref: an object with
 * `backend`, `type`, `mode`, `law`, `k`, `runs`, `failed`, `least` and `most`
 * measured over expected rms (absent where nothing is rounded), and
 * `sums_least`, `sums_most`: as so many separate sums over k. */
json_t *gp_bands_find(const struct gp_summary *summary);

/* One row for each law, its k from `k` to `k_most`. As gp_bands_find. */
json_t *gp_bands_by_law(const json_t *rows);

/* How many judgements are statistical, how many could not be made, and the
 * probability that any is a false alarm; nothing where there are none. Ends
 * without a newline. */
void gp_bands_sentence(const struct gp_summary *summary, struct gp_buf *buf);

/* Over how many groups of sizes the relation `growth` looked, and what it says
 * of the first that grow too fast; nothing where it judged none. */
void gp_bands_growth(const struct gp_summary *summary, struct gp_buf *buf);

/* The number in the sentence: the sum over all findings, at most 1. */
double gp_bands_false_alarm(const struct gp_summary *summary);

/* "0.93 to 1.08", "exact": a row's measured over expected. */
void gp_bands_ratio(const json_t *row, struct gp_buf *buf);
/* "1", "1 to 64". */
void gp_bands_sums(const json_t *row, struct gp_buf *buf);

#endif
