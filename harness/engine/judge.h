/*
 * From a worker's reply to a result: measures distinct outputs (each once a
 * problem), runs the checks, and takes the worst as the verdict.
 */
#ifndef GP_ENGINE_JUDGE_H
#define GP_ENGINE_JUDGE_H

#include "harness/check/check.h"
#include "harness/check/explain.h"
#include "harness/check/vary.h"
#include "harness/worker/wire.h"

enum { GP_FINDINGS_MOST = 16 };

struct gp_result {
    const struct gp_run *run;
    enum gp_verdict verdict;
    unsigned flags;
    char reason[200];  /* of a skip */
    struct gp_err err; /* of an error */
    struct gp_finding findings[GP_FINDINGS_MOST];
    int findings_count;
    struct gp_accuracy accuracy; /* of the first output */
    bool judged;                 /* accuracy and reply are there */
    struct gp_digest image;      /* of the first output, where the family has a
                                    base: brought back to it */
    bool image_finite;
    int64_t explained; /* the output that the explanation is of */
    struct gp_explanation *explanation; /* of wrong elements; NULL: none */
    struct gp_variation *variation;     /* of repeats that differ; NULL: none */
    struct gp_reply reply;
    int worker; /* -1: none was started */
    int64_t sequence;
};

void gp_result_free(struct gp_result *result);

/* Outputs of one problem that were measured already, by digest and bound; and
 * what is expected of its errors. */
struct gp_judge_cache {
    struct gp_judge_entry *entries;
    size_t count, room;
    struct gp_band band;
};
void gp_judge_cache_free(struct gp_judge_cache *cache);

/* The bound of a run; the digests of outputs already measured against it, so
 * that they need not come back (none for a run whose check reads the output
 * itself, nor outputs that are wrong and have no explanation yet). */
void gp_judge_bound(const struct gp_run *run,
                    const struct gp_reference *reference,
                    int compute_capability, struct gp_bound *ret_bound);
size_t gp_judge_have(const struct gp_judge_cache *cache,
                     const struct gp_run *run, const struct gp_bound *bound,
                     struct gp_digest *ret_digests, size_t most);

/* Do the outputs that came back have the digests the worker reports? Each is
 * digested again here; what did not come back must be one of those in `have`,
 * sent with the request. BACKEND if not. */
int gp_judge_digests(const struct gp_result *result,
                     const unsigned char *outputs, size_t output_bytes,
                     const struct gp_digest *have, size_t have_count,
                     struct gp_err *err) GP_MUST_CHECK;

/* What is known of a run beside its reply. */
struct gp_judge_about {
    int compute_capability; /* of its device */
    const char *delivered;  /* the arithmetic that the probes showed under the
                               same settings; NULL: not known */
    double false_alarm;     /* probability that one judgement may be wrong */
};

/* Judge a run whose reply is in `result`. `outputs` holds the outputs that
 * came back, `output_bytes` apart. */
void gp_judge(struct gp_result *result, const struct gp_reference *reference,
              const unsigned char *outputs, size_t output_bytes,
              const struct gp_judge_about *about, struct gp_judge_cache *cache);

/* How many judgements of a plan may be a false alarm, and how probable each
 * may be so that none is, but for the probability GP_FALSE_ALARM. */
#define GP_FALSE_ALARM 1e-6
double gp_judge_false_alarm(const struct gp_plan *plan);

/* Verdict, flags and error of a judged run from its findings: the worst of
 * them. */
void gp_judge_conclude(struct gp_result *result);

/* Is a flagged finding of this check turned into a fail by the case? */
bool gp_judge_required(const struct gp_run *run, const char *check);

#endif
