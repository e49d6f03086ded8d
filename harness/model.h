/*
 * The nouns, as plain structs, and the tables of modes, schedules and
 * workspaces. Read this first; docs/cases.md has the words of a case file.
 *
 * A case is what an author wrote; expansion turns cases into problems and
 * runs (the plan); a run gets a result; relations compare results.
 */
#ifndef GP_MODEL_H
#define GP_MODEL_H

#include "harness/base/arena.h"
#include "harness/base/buf.h"
#include "harness/base/hash.h"
#include "reference/bound.h"
#include "reference/family.h"
#include "reference/gemm.h"
#include "reference/request.h"

/* --- Modes ------------------------------------------------------------- */

/* A mode: a row of the table, or one composed of words: MATH+COMPUTE, two
 * requests in conflict (through gemm-ex alone), and NAME+nrp, a mode with the
 * flag DISALLOW_REDUCED_PRECISION_REDUCTION. */
struct gp_mode {
    const char *name;
    const char *help;
    const struct gp_mode *base; /* of NAME+nrp: the row; else NULL */
    const char *math, *compute; /* of a conflict; else NULL */
    bool flag;                  /* of a composed mode */
};

/* How a mode is asked for one input type, and the arithmetic it promises. */
struct gp_mode_row {
    const char *mode;
    const char *in;
    const char *out;     /* NULL: any output that `in` allows */
    const char *math;    /* for the entry gemm; NULL: not through gemm */
    const char *compute; /* for the entry gemm-ex; NULL: not through it */
    bool flag;           /* DISALLOW_REDUCED_PRECISION_REDUCTION */
    struct gp_arithmetic arithmetic;
    const char *ex_math; /* math mode beside `compute`; NULL: default */
};

extern const struct gp_mode gp_modes[];         /* ended by a NULL name */
extern const struct gp_mode_row gp_mode_rows[]; /* ended by a NULL mode */

/* A mode by its name, composed ones in the arena. A usage error with the
 * nearest name if there is none. */
int gp_mode_parse(const char *text, struct gp_arena *arena,
                  const struct gp_mode **ret_mode,
                  struct gp_err *err) GP_MUST_CHECK;

/* How to ask for a mode with these types through this entry; false: not
 * applicable. A conflict promises the weaker of its two arithmetics. */
bool gp_mode_resolve(const struct gp_mode *mode, const struct gp_type *in,
                     const struct gp_type *out, const char *entry,
                     struct gp_mode_row *ret_row);

/* Do two requests decide it (a conflict), so that what is delivered is
 * observed and not promised? */
bool gp_mode_in_conflict(const struct gp_mode *mode);

/* The triple to send. */
void gp_mode_request(const struct gp_mode_row *row, const char *entry,
                     struct gp_request *ret_request);

/* The default entry for an input type: gemm for f32 and f64, else gemm-ex. */
const char *gp_entry_default(const struct gp_type *in,
                             const struct gp_type *out);
extern const char *const gp_entries[]; /* ended by NULL */

/* --- Workspaces, schedules --------------------------------------------- */

/* A workspace is the value of CUBLAS_WORKSPACE_CONFIG without its leading
 * colon, or "unset", or "raw=" and the value as it stands, well formed or not.
 * The default suite's list, ended by NULL. */
extern const char *const gp_workspaces[];

/* Is it well formed: SIZE:COUNT pairs joined by colons, or unset? A usage
 * error with the way out if not. */
int gp_workspace_check(const char *text, struct gp_err *err) GP_MUST_CHECK;

/* A variable of the factor env, NAME=VALUE; "" is none. Only variables that
 * are known to change the arithmetic can be set. */
int gp_env_check(const char *text, struct gp_err *err) GP_MUST_CHECK;

struct gp_schedule {
    const char *name;
    const char *help;
    bool counted; /* takes a number: streams(8) */
};
extern const struct gp_schedule gp_schedules[];

/* What is promised of repeats: the sentence of the library's documentation
 * that holds here, or NULL where nothing is promised. */
const char *gp_promise(const char *backend, const char *schedule,
                       const char *mode);

/* --- Cases -------------------------------------------------------------- */

struct gp_size {
    int64_t m, n, k;
};

struct gp_type_pair {
    const struct gp_type *in, *out;
};

struct gp_op {
    bool trans_a, trans_b;
};

/* Every axis is an array of `NAME_count` values with at least one. */
struct gp_case {
    const char *name;
    const char *file;
    int line;
    struct gp_size *sizes;
    size_t sizes_count;
    struct gp_type_pair *types;
    size_t types_count;
    struct gp_op *ops;
    size_t ops_count;
    int64_t *pads; /* elements added to every tight ld */
    size_t pads_count;
    bool *layouts; /* row-major */
    size_t layouts_count;
    int64_t *batches;
    size_t batches_count;
    double *alphas, *betas;
    size_t alphas_count, betas_count;
    const struct gp_family **families;
    size_t families_count;
    const struct gp_mode **modes;
    size_t modes_count;
    const char **entries; /* count 0: the default of the type */
    size_t entries_count;
    const char **workspaces;
    size_t workspaces_count;
    bool *scalars; /* alpha and beta in device memory */
    size_t scalars_count;
    const char **envs; /* NAME=VALUE, "" for none */
    size_t envs_count;
    const struct gp_schedule **schedules;
    int64_t *schedule_numbers; /* 0 where the schedule takes none */
    size_t schedules_count;
    const char **backends; /* count 0: what the command line says */
    size_t backends_count;
    uint64_t *seeds;
    size_t seeds_count;
    int64_t repeats;
    const char **require; /* checks and relations whose `observed` is a fail */
    size_t require_count;
};

struct gp_suite {
    struct gp_arena arena; /* owns everything below */
    const char *name;
    const char *about;
    struct gp_case *cases; /* gp_grow array, owned by the suite */
    size_t cases_count, cases_room;
};

enum { GP_REPEATS_DEFAULT = 10, GP_REPEATS_MOST = 1000000 };

/* A case with every axis at its default and no sizes; values belong to the
 * arena. */
void gp_case_defaults(struct gp_arena *arena, struct gp_case *ret_case);
void gp_suite_free(struct gp_suite *suite);

/* "f32" or "f16:f32" to a pair; NULL words are never accepted. */
int gp_type_pair_parse(const char *text, struct gp_type_pair *ret_pair,
                       struct gp_err *err) GP_MUST_CHECK;
/* "nn", "tn" ... */
int gp_op_parse(const char *text, struct gp_op *ret_op,
                struct gp_err *err) GP_MUST_CHECK;

/* Is it NAME or NAME=VARIANT in [a-z0-9-]? A usage error if not. */
int gp_backend_check(const char *text, struct gp_err *err) GP_MUST_CHECK;

/* Does a backend of this program multiply on the CPU? Does it read
 * CUBLAS_WORKSPACE_CONFIG and the variables of `env`? (Where it does not, only
 * their defaults are planned.) */
bool gp_backend_on_cpu(const char *backend);
bool gp_backend_reads_environment(const char *backend);

/* --- Plan --------------------------------------------------------------- */

struct gp_problem {
    struct gp_gemm gemm;
    const struct gp_family *family;
    uint64_t seed;
    const char *id;
};

struct gp_run {
    const struct gp_problem *problem;
    const struct gp_case *from; /* NULL for a run made from its id */
    const char *backend;        /* name, or name=variant */
    const char *entry;
    const struct gp_mode *mode;
    struct gp_mode_row row; /* as asked for, with what is promised */
    const char *workspace;
    bool device_scalars; /* alpha and beta in device memory */
    const char *env;     /* NAME=VALUE, "" for none */
    const struct gp_schedule *schedule;
    int64_t schedule_number;
    int64_t repeats;
    struct gp_fault fault;
    const char *id;
};

struct gp_plan {
    struct gp_arena arena;
    const char *suite; /* its name */
    struct gp_problem **problems;
    size_t problems_count, problems_room;
    struct gp_run *runs; /* those of one problem stand together */
    size_t runs_count, runs_room;
    int64_t not_applicable; /* (type, mode) pairs, families, entries without
                               a row */
};

void gp_plan_free(struct gp_plan *plan);

/* What its worker is asked for. */
void gp_run_request(const struct gp_run *run, struct gp_request *ret_request);

/* Where a variable of `env` decides the arithmetic, let the run's row promise
 * the weaker of the two. Called once, when a run is made. */
void gp_run_override(struct gp_run *run);

/* Was it decided by something else than the mode: a variable of `env` or a
 * conflict? What is delivered is then observed. */
bool gp_run_decided_elsewhere(const struct gp_run *run);

/* Ids: characters [a-z0-9.+=_/-] only; an axis at its default is absent. */
void gp_problem_id(const struct gp_problem *problem, struct gp_buf *buf);
void gp_run_id(const struct gp_run *run, struct gp_buf *buf);

/* A run from its id alone; everything belongs to the plan's arena. */
int gp_run_parse(const char *id, struct gp_plan *plan,
                 struct gp_err *err) GP_MUST_CHECK;

/* --- Results ------------------------------------------------------------ */

enum gp_verdict { GP_PASS, GP_FAIL, GP_SKIP, GP_ERROR };
enum { GP_OBSERVED = 1, GP_KNOWN = 2 }; /* flags beside a pass */

const char *gp_verdict_name(enum gp_verdict verdict);
enum gp_verdict gp_verdict_find(const char *name);

struct gp_where {
    int64_t i, j, batch; /* -1: not an element */
    int64_t repeat;      /* -1: not a repeat */
};

struct gp_finding {
    const char *check; /* the check's or relation's name */
    enum gp_verdict verdict;
    unsigned flags;
    double value, limit; /* what was seen against what was allowed */
    struct gp_where where;
    char delivered[24]; /* the arithmetic the bits show; "" if not looked at */
    char evidence[32];  /* "proved" or "statistical (p < ...)" */
    char clause[160];   /* of `fingerprint`: what this probe adds to the
                           sentence about all probes of the shape */
    double false_alarm; /* that p; 0 where it is proved */
    char law[24];       /* of `band`: what explains the errors best, as a sum */
    int64_t sums;       /* of so many chains, and the rms of (D - ref)/G it */
    double expected;    /* gives; "" if it did not judge */
    double one_sum;     /* what one chain gives; where sums may be added in
                           the output type, `expected` */
    double uncertain;   /* standard error of log (rms / expected) */
    char text[400];     /* one sentence */
};

enum { GP_JUDGES_MOST = 40 }; /* checks and relations together */

struct gp_counts {
    int64_t planned, run, pass, observed, known, fail, skip, error;
    int64_t relations, relations_observed, relations_failed;
    /* How many findings of each check and relation, in order of appearance;
     * ended by a NULL name. */
    struct {
        const char *by;
        int64_t count;
    } judgements[GP_JUDGES_MOST + 1];
    double alarms_expected; /* the sum of the findings' false_alarm */
};

/* Count one run's end; one relation's. */
void gp_counts_run(struct gp_counts *counts, enum gp_verdict verdict,
                   unsigned flags);
void gp_counts_relation(struct gp_counts *counts, enum gp_verdict verdict,
                        unsigned flags);
/* Count one finding of a check or relation, whose name outlives the counts. */
void gp_counts_judgement(struct gp_counts *counts, const char *by);

/* 1 if anything failed; else 3 if there is an error, a planned run without a
 * record, nothing that was judged, or `untested` is set (a selected backend
 * and type without one pass or fail); else 0. */
int gp_counts_exit(const struct gp_counts *counts, bool untested);

#endif
