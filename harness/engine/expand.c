#include "harness/engine/expand.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"

struct expansion {
    const struct gp_select *select;
    const char *const *backends;
    struct gp_plan *plan;
    json_t *seen;     /* ids of runs */
    json_t *problems; /* id -> position in the plan */
    struct gp_err *err;
};

static bool in_list(const char *const *list, const char *word)
{
    for (; list && *list; list++)
        if (strcmp(*list, word) == 0)
            return true;
    return false;
}

static bool matches(const char *const *globs, const char *id)
{
    for (; globs && *globs; globs++)
        if (fnmatch(*globs, id, 0) == 0)
            return true;
    return false;
}

static bool selected(const struct gp_select *select, const char *id)
{
    if (select->only && !in_list(select->only, id))
        return false;
    return !select->match || matches(select->match, id);
}

static struct gp_problem *add_problem(struct expansion *expansion,
                                      const struct gp_problem *made)
{
    struct gp_plan *plan = expansion->plan;
    struct gp_buf id = {0};
    struct gp_problem *problem;
    const json_t *known;

    gp_problem_id(made, &id);
    known = json_object_get(expansion->problems, gp_buf_text(&id));
    if (known) {
        gp_buf_free(&id);
        return plan->problems[json_integer_value(known)];
    }
    problem = gp_arena_alloc(&plan->arena, sizeof *problem);
    *problem = *made;
    problem->id = gp_arena_copy(&plan->arena, gp_buf_text(&id));
    gp_json_set_int(expansion->problems, problem->id,
                    (int64_t)plan->problems_count);
    *(struct gp_problem **)gp_grow((void **)&plan->problems,
                                   plan->problems_count, &plan->problems_room,
                                   sizeof problem) = problem;
    plan->problems_count++;
    gp_buf_free(&id);
    return problem;
}

/* Add a run unless its id is in the plan. */
static void add_once(struct expansion *expansion, struct gp_run *run,
                     const char *id)
{
    struct gp_plan *plan = expansion->plan;

    if (json_object_get(expansion->seen, id))
        return;
    run->id = gp_arena_copy(&plan->arena, id);
    gp_json_set(expansion->seen, run->id, json_true());
    *(struct gp_run *)gp_grow((void **)&plan->runs, plan->runs_count,
                              &plan->runs_room, sizeof *run) = *run;
    plan->runs_count++;
}

static void add_run(struct expansion *expansion, struct gp_run *run)
{
    struct gp_buf id = {0};

    gp_run_id(run, &id);
    if (selected(expansion->select, gp_buf_text(&id)))
        add_once(expansion, run, gp_buf_text(&id));
    gp_buf_free(&id);
}

/* All workspaces and schedules of one problem, backend, entry and mode. */
static void add_settings(struct expansion *expansion,
                         const struct gp_case *from, struct gp_run run)
{
    const struct gp_select *select = expansion->select;
    const char *const *list = select->workspaces;
    size_t count = from->workspaces_count;
    bool reads = gp_backend_reads_environment(run.backend);

    if (list)
        for (count = 0; list[count];)
            count++;
    run.repeats = select->repeats ? select->repeats : from->repeats;
    run.fault = select->fault;
    for (size_t e = 0; e < from->envs_count; e++) {
        struct gp_run with = run;
        with.env = reads ? from->envs[e] : "";
        gp_run_override(&with);
        for (size_t w = 0; w < count; w++)
            for (size_t s = 0; s < from->schedules_count; s++) {
                with.workspace = !reads ? "unset"
                                 : list ? list[w]
                                        : from->workspaces[w];
                with.schedule = from->schedules[s];
                with.schedule_number = from->schedule_numbers[s];
                for (size_t d = 0; d < from->scalars_count; d++) {
                    with.device_scalars = from->scalars[d];
                    add_run(expansion, &with);
                }
            }
    }
}

static bool resolves(struct gp_run *run)
{
    const struct gp_gemm *gemm = &run->problem->gemm;

    return gp_mode_resolve(run->mode, gemm->in, gemm->out, run->entry,
                           &run->row);
}

static void add_modes(struct expansion *expansion, const struct gp_case *from,
                      struct gp_run run)
{
    const struct gp_gemm *gemm = &run.problem->gemm;
    const char *usual = gp_entry_default(gemm->in, gemm->out);
    const char **entries = from->entries_count ? from->entries : &usual;
    size_t entries_count = from->entries_count ? from->entries_count : 1;

    for (size_t e = 0; e < entries_count; e++)
        for (size_t m = 0; m < from->modes_count; m++) {
            run.entry = entries[e];
            run.mode = from->modes[m];
            if (expansion->select->modes &&
                !in_list(expansion->select->modes, run.mode->name))
                continue;
            if (!from->entries_count && !resolves(&run))
                run.entry = "gemm-ex"; /* what only it has */
            if (resolves(&run))
                add_settings(expansion, from, run);
            else
                expansion->plan->not_applicable++;
        }
}

static void add_backends(struct expansion *expansion,
                         const struct gp_case *from,
                         const struct gp_problem *made)
{
    const char *const *backends = expansion->select->backends;
    struct gp_problem *problem = add_problem(expansion, made);

    if (!backends)
        backends = from->backends_count ? NULL : expansion->backends;
    if (backends) {
        for (; *backends; backends++)
            add_modes(expansion, from,
                      (struct gp_run){.problem = problem,
                                      .from = from,
                                      .backend = *backends});
        return;
    }
    for (size_t b = 0; b < from->backends_count; b++)
        add_modes(expansion, from,
                  (struct gp_run){.problem = problem,
                                  .from = from,
                                  .backend = from->backends[b]});
}

/* All seeds of one product and family. */
static void add_seeds(struct expansion *expansion, const struct gp_case *from,
                      const struct gp_gemm *gemm,
                      const struct gp_family *family)
{
    const struct gp_family *base =
        family->base ? gp_family_find(family->base) : NULL;
    struct gp_err refused;

    if (family->accept(gemm, &refused) != 0) {
        expansion->plan->not_applicable++;
        return;
    }
    for (size_t s = 0; s < from->seeds_count; s++) {
        struct gp_problem made = {
            .gemm = *gemm, .family = family, .seed = from->seeds[s]};
        add_backends(expansion, from, &made);
        if (base && base != family) {
            made.family = base; /* what an image is compared with */
            add_backends(expansion, from, &made);
        }
    }
}

/* All families of one product: first the probes, which show what arithmetic
 * is delivered, and so by which law the others are judged. */
static int add_families(struct expansion *expansion, const struct gp_case *from,
                        const struct gp_gemm *gemm)
{
    if (gp_gemm_check(gemm, expansion->err) != 0)
        return gp_err_prefix(expansion->err, "%s:%d: case %s: ", from->file,
                             from->line, from->name);
    for (int probes = 1; probes >= 0; probes--)
        for (size_t f = 0; f < from->families_count; f++)
            if ((from->families[f]->probe != GP_NO_PROBE) == probes)
                add_seeds(expansion, from, gemm, from->families[f]);
    return 0;
}

/* All leading dimensions, batches and scalars of one shape, type, op and
 * layout. */
static int add_strides(struct expansion *expansion, const struct gp_case *from,
                       struct gp_gemm gemm)
{
    /* Scalars enter the product in FP32, or FP64 for FP64 operands. */
    const struct gp_type *scale =
        gp_type_find(gemm.in->bytes == 8 ? "f64" : "f32");

    for (size_t p = 0; p < from->pads_count; p++)
        for (size_t b = 0; b < from->batches_count; b++)
            for (size_t x = 0; x < from->alphas_count; x++)
                for (size_t y = 0; y < from->betas_count; y++) {
                    gemm.lda = gp_gemm_tight_ld(&gemm, GP_A) + from->pads[p];
                    gemm.ldb = gp_gemm_tight_ld(&gemm, GP_B) + from->pads[p];
                    gemm.ldc = gp_gemm_tight_ld(&gemm, GP_C) + from->pads[p];
                    gemm.batch = from->batches[b];
                    gemm.alpha = gp_type_round(scale, from->alphas[x]);
                    gemm.beta = gp_type_round(scale, from->betas[y]);
                    if (!isfinite(gemm.alpha) || !isfinite(gemm.beta))
                        return gp_err_set(
                            expansion->err, GP_ERR_USAGE,
                            "%s:%d: alpha or beta of the case %s is infinite "
                            "in the type that scales %s, %s: choose it below "
                            "%g",
                            from->file, from->line, from->name, gemm.in->name,
                            scale->name, gp_type_largest(scale));
                    if (add_families(expansion, from, &gemm) != 0)
                        return -1;
                }
    return 0;
}

static int add_case(struct expansion *expansion, const struct gp_case *from)
{
    for (size_t s = 0; s < from->sizes_count; s++)
        for (size_t t = 0; t < from->types_count; t++)
            for (size_t o = 0; o < from->ops_count; o++) {
                struct gp_gemm gemm = {
                    .m = from->sizes[s].m,
                    .n = from->sizes[s].n,
                    .k = from->sizes[s].k,
                    .batch = 1,
                    .trans_a = from->ops[o].trans_a,
                    .trans_b = from->ops[o].trans_b,
                    .in = from->types[t].in,
                    .out = from->types[t].out,
                };
                for (size_t l = 0; l < from->layouts_count; l++) {
                    gemm.row_major = from->layouts[l];
                    if (add_strides(expansion, from, gemm) != 0)
                        return -1;
                }
            }
    return 0;
}

/* Runs of one problem stand together, in the order of the problems. */
static void problem_major(struct gp_plan *plan, json_t *problems)
{
    size_t *next = calloc(plan->problems_count + 1, sizeof *next);
    struct gp_run *sorted = calloc(plan->runs_count + 1, sizeof *sorted);

    if (!next || !sorted)
        gp_arena_out_of_memory(plan->runs_count * sizeof *sorted);
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t r = 0; r < plan->runs_count; r++) {
            size_t at = (size_t)json_integer_value(
                json_object_get(problems, plan->runs[r].problem->id));
            if (pass == 0)
                next[at + 1]++;
            else
                sorted[next[at]++] = plan->runs[r];
            if (pass == 0 && r + 1 == plan->runs_count)
                for (size_t p = 0; p < plan->problems_count; p++)
                    next[p + 1] += next[p];
        }
    free(plan->runs);
    plan->runs = sorted;
    plan->runs_room = plan->runs_count + 1;
    free(next);
    /* A problem without a run is none. */
    plan->problems_count = 0;
    for (size_t r = 0; r < plan->runs_count; r++)
        if (r == 0 || sorted[r].problem != sorted[r - 1].problem)
            plan->problems[plan->problems_count++] =
                (struct gp_problem *)sorted[r].problem;
}

static int nothing_selected(const struct gp_suite *suite,
                            const struct gp_select *select, struct gp_err *err)
{
    if (select->only)
        return gp_err_set(err, GP_ERR_USAGE,
                          "no run of %s has the id '%.200s': `gemmproof plan` "
                          "lists them, and without a case file an id runs by "
                          "itself",
                          suite->name, select->only[0]);
    if (select->match)
        return gp_err_set(err, GP_ERR_USAGE,
                          "no run of %s matches '%.200s': `gemmproof plan` "
                          "lists the ids",
                          suite->name, select->match[0]);
    return gp_err_set(err, GP_ERR_USAGE,
                      "the suite %s plans no run for these modes and types",
                      suite->name);
}

int gp_expand(const struct gp_suite *suite, const struct gp_select *select,
              const char *const *backends, struct gp_plan *plan,
              struct gp_err *err)
{
    struct expansion expansion = {select,           backends,         plan,
                                  gp_json_object(), gp_json_object(), err};
    int status = 0;

    plan->suite = gp_arena_copy(&plan->arena, suite->name);
    for (size_t c = 0; c < suite->cases_count && status == 0; c++)
        status = add_case(&expansion, &suite->cases[c]);
    if (status == 0 && plan->runs_count == 0)
        status = nothing_selected(suite, select, err);
    if (status == 0)
        problem_major(plan, expansion.problems);
    json_decref(expansion.seen);
    json_decref(expansion.problems);
    return status;
}

/* What an id gave, as a case's run would be added. */
static void add_parsed(struct expansion *expansion)
{
    const struct gp_select *select = expansion->select;
    struct gp_plan *plan = expansion->plan;
    struct gp_run run = plan->runs[--plan->runs_count];
    struct gp_buf id = {0};

    plan->problems_count--;
    run.problem = add_problem(expansion, run.problem);
    if (select->repeats)
        run.repeats = select->repeats;
    if (select->fault.kind != GP_FAULT_NONE)
        run.fault = select->fault;
    gp_run_id(&run, &id);
    add_once(expansion, &run, gp_buf_text(&id));
    gp_buf_free(&id);
}

int gp_expand_ids(const struct gp_select *select, struct gp_plan *plan,
                  struct gp_err *err)
{
    struct expansion expansion = {
        select, NULL, plan, gp_json_object(), gp_json_object(), err};
    int status = 0;

    plan->suite = "ids";
    if (select->match || select->backends || select->modes ||
        select->workspaces)
        status = gp_err_set(err, GP_ERR_USAGE,
                            "an id without a case file says all of a run: "
                            "leave --match, --backend, --mode and --workspace "
                            "out, or change the id");
    for (const char *const *id = select->only; *id && status == 0; id++) {
        status = gp_run_parse(*id, plan, err);
        if (status == 0)
            add_parsed(&expansion);
    }
    if (status == 0)
        problem_major(plan, expansion.problems);
    json_decref(expansion.seen);
    json_decref(expansion.problems);
    return status;
}
