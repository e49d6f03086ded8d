/* From cases to the plan: every combination once, problem by problem. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/expand.h"
#include "harness/engine/load.h"

static const char *const cublas[] = {"cublas", NULL};

/* A suite from YAML, expanded. */
struct bench {
    struct gp_suite suite;
    struct gp_plan plan;
    struct gp_err err;
};

static int expand(struct bench *bench, const char *cases,
                  const struct gp_select *select)
{
    char text[4000];

    memset(bench, 0, sizeof *bench);
    snprintf(text, sizeof text, "suite: s\ncases:\n%s", cases);
    cr_assert_eq(
        gp_load_text(text, strlen(text), "t.yaml", &bench->suite, &bench->err),
        0, "%s", bench->err.text);
    return gp_expand(&bench->suite, select, cublas, &bench->plan, &bench->err);
}

static void done(struct bench *bench)
{
    gp_plan_free(&bench->plan);
    gp_suite_free(&bench->suite);
}

/* Expand without a selection; it must succeed. */
static void expands(struct bench *bench, const char *cases)
{
    const struct gp_select all = {0};

    cr_assert_eq(expand(bench, cases, &all), 0, "%s", bench->err.text);
}

/* Every id once; the runs of a problem stand together; a run's problem is in
 * the plan; every id parses to itself. */
static void check_plan(const struct gp_plan *plan)
{
    size_t changes = 0;

    for (size_t i = 0; i < plan->runs_count; i++) {
        struct gp_plan again = {0};
        struct gp_err err = {0};
        for (size_t j = 0; j < i; j++)
            cr_assert_str_neq(plan->runs[i].id, plan->runs[j].id);
        changes += i == 0 || plan->runs[i].problem != plan->runs[i - 1].problem;
        cr_assert_eq(gp_run_parse(plan->runs[i].id, &again, &err), 0, "%s",
                     err.text);
        cr_assert_str_eq(again.runs[0].id, plan->runs[i].id);
        cr_assert_str_eq(again.runs[0].problem->id, plan->runs[i].problem->id);
        gp_plan_free(&again);
    }
    cr_assert_eq(changes, plan->problems_count);
}

static const char many[] = "  - name: a\n"
                           "    sizes: [[4, 5, 6], [7, 8, 9]]\n"
                           "    types: [f32, bf16]\n"
                           "    ops: [nn, tt]\n"
                           "    ld: [tight, tight+3]\n"
                           "    batch: [1, 2]\n"
                           "    families: [dense, exact]\n"
                           "    modes: [default, pedantic]\n"
                           "    workspaces: [unset, \"16:8\"]\n"
                           "    seeds: [1, 2]\n";

Test(expand, every_combination_once)
{
    struct bench bench;

    expands(&bench, many);
    cr_assert_eq(bench.plan.problems_count, 2 * 2 * 2 * 2 * 2 * 2 * 2);
    cr_assert_eq(bench.plan.runs_count, 128 * 2 * 2);
    cr_assert_eq(bench.plan.not_applicable, 0);
    cr_assert_str_eq(bench.plan.suite, "s");
    check_plan(&bench.plan);
    cr_assert_str_eq(bench.plan.runs[0].id,
                     "f32.nn.4x5x6.dense.s1/cublas/default");
    cr_assert_str_eq(bench.plan.runs[1].id,
                     "f32.nn.4x5x6.dense.s1/cublas/default/ws=16x8");
    done(&bench);
}

/* Two cases that name the same problem and run: each is planned once, in the
 * case that named it first, and the second case's runs join the first's. */
Test(expand, what_two_cases_name_is_planned_once)
{
    struct bench bench;

    expands(&bench, "  - name: a\n    sizes: [[4, 5, 6], [7, 8, 9]]\n"
                    "    modes: default\n"
                    "  - name: b\n    sizes: [[7, 8, 9], [4, 5, 6]]\n"
                    "    modes: [pedantic, default]\n");
    cr_assert_eq(bench.plan.problems_count, 2);
    cr_assert_eq(bench.plan.runs_count, 4);
    check_plan(&bench.plan);
    cr_assert_str_eq(bench.plan.runs[0].from->name, "a");
    cr_assert_str_eq(bench.plan.runs[1].from->name, "b");
    cr_assert_str_eq(bench.plan.runs[1].id,
                     "f32.nn.4x5x6.dense.s1/cublas/pedantic");
    done(&bench);
}

Test(expand, values_named_twice_in_a_case)
{
    struct bench bench;

    expands(&bench, "  - name: a\n    sizes: [[4, 5, 6], [4, 5, 6]]\n"
                    "    types: [f32, f32]\n    seeds: [1, 1]\n"
                    "    backends: [naive, naive]\n");
    cr_assert_eq(bench.plan.problems_count, 1);
    cr_assert_eq(bench.plan.runs_count, 1);
    done(&bench);
}

/* What does not exist is counted and not planned: tf32 for FP64 and FP16, an
 * entry without a row, exact with a factor of many digits. */
Test(expand, not_applicable_is_counted)
{
    struct bench bench;

    expands(&bench, "  - name: a\n    sizes: 8\n    types: [f32, f64, f16]\n"
                    "    modes: [default, tf32]\n");
    cr_assert_eq(bench.plan.runs_count, 4);
    cr_assert_eq(bench.plan.not_applicable, 2);
    done(&bench);
    expands(&bench, "  - name: a\n    sizes: 8\n    types: [f32, f16]\n"
                    "    entry: [gemm, gemm-ex]\n");
    cr_assert_eq(bench.plan.runs_count, 3);
    cr_assert_eq(bench.plan.not_applicable, 1);
    check_plan(&bench.plan);
    done(&bench);
    expands(&bench, "  - name: a\n    sizes: 8\n    alpha: [0.1, 2]\n"
                    "    families: [dense, exact]\n");
    cr_assert_eq(bench.plan.runs_count, 3);
    cr_assert_eq(bench.plan.not_applicable, 1);
    done(&bench);
}

/* Factors are rounded as the call takes them: to FP32, for FP64 not. */
Test(expand, factors_are_rounded_as_the_call_takes_them)
{
    struct bench bench;

    expands(&bench, "  - name: a\n    sizes: 8\n    types: [f32, f64, bf16]\n"
                    "    alpha: 0.1\n    beta: 0.2\n");
    cr_assert_eq(bench.plan.runs_count, 3);
    cr_assert_eq(bench.plan.runs[0].problem->gemm.alpha, (double)0.1f);
    cr_assert_eq(bench.plan.runs[1].problem->gemm.alpha, 0.1);
    cr_assert_eq(bench.plan.runs[2].problem->gemm.beta, (double)0.2f);
    check_plan(&bench.plan);
    done(&bench);
}

/* --- Selection
 * ------------------------------------------------------------------ */

Test(expand, backends)
{
    static const char *const other[] = {"openblas", "faulty=none", NULL};
    const struct gp_select all = {0}, chosen = {.backends = other};
    static const char cases[] =
        "  - name: a\n    sizes: 8\n    backends: cublas\n"
        "  - name: b\n    sizes: 9\n";
    struct bench bench;

    /* The case's own, else the default; the command line outranks both. */
    cr_assert_eq(expand(&bench, cases, &all), 0);
    cr_assert_eq(bench.plan.runs_count, 2);
    cr_assert_str_eq(bench.plan.runs[0].backend, "cublas");
    cr_assert_str_eq(bench.plan.runs[1].backend, "cublas");
    done(&bench);
    cr_assert_eq(expand(&bench, cases, &chosen), 0);
    cr_assert_eq(bench.plan.runs_count, 4);
    cr_assert_str_eq(bench.plan.runs[0].backend, "openblas");
    cr_assert_str_eq(bench.plan.runs[1].backend, "faulty=none");
    check_plan(&bench.plan);
    done(&bench);
}

Test(expand, modes_workspaces_repeats_and_faults)
{
    static const char *const modes[] = {"pedantic", "tf32", NULL};
    static const char *const spaces[] = {"0:0", "4096:8", "unset", NULL};
    const struct gp_select select = {.modes = modes,
                                     .workspaces = spaces,
                                     .repeats = 3,
                                     .fault = {GP_FAULT_BIT, 1, 2, 3}};
    struct bench bench;

    /* Modes are of those in the cases, workspaces instead of them. */
    cr_assert_eq(expand(&bench,
                        "  - name: a\n    sizes: 8\n"
                        "    modes: [default, pedantic]\n"
                        "    workspaces: [\"16:8\"]\n    repeats: 7\n",
                        &select),
                 0);
    cr_assert_eq(bench.plan.runs_count, 3);
    cr_assert_str_eq(bench.plan.runs[0].id, "f32.nn.8x8x8.dense.s1/cublas/"
                                            "pedantic/ws=0x0/r3/"
                                            "fault=bitx1x2x3");
    cr_assert_str_eq(bench.plan.runs[2].workspace, "unset");
    cr_assert_eq(bench.plan.runs[2].repeats, 3);
    done(&bench);
}

Test(expand, ids_and_globs)
{
    static const char *const only[] = {
        "f32.nn.7x8x9.dense.s1/cublas/default",
        "bf16.tt.7x8x9.ld+3.b2.exact.s2/cublas/pedantic/ws=16x8", NULL};
    static const char *const match[] = {"bf16.*/ws=*", "*.4x5x6.dense.s1/*",
                                        NULL};
    const struct gp_select by_id = {.only = only}, by_glob = {.match = match};
    const struct gp_select both = {.only = only, .match = match};
    struct bench bench;

    cr_assert_eq(expand(&bench, many, &by_id), 0);
    cr_assert_eq(bench.plan.runs_count, 2);
    cr_assert_str_eq(bench.plan.runs[0].id, only[0]);
    cr_assert_str_eq(bench.plan.runs[1].id, only[1]);
    done(&bench);
    cr_assert_eq(expand(&bench, many, &by_glob), 0);
    /* bf16 with 16:8: 64 problems, 2 modes; f32 and bf16 of tight, unbatched
     * 4x5x6.dense.s1 (2 ops each) with 2 modes and 2 workspaces, of which
     * bf16 with 16:8 is in the first: 128 + 16 - 4. */
    cr_assert_eq(bench.plan.runs_count, 140);
    done(&bench);
    cr_assert_eq(expand(&bench, many, &both), 0);
    cr_assert_eq(bench.plan.runs_count, 1);
    cr_assert_str_eq(bench.plan.runs[0].id, only[1]);
    done(&bench);
}

/* A problem of which no run was selected is no problem of the plan: it takes
 * no memory and is not counted. */
Test(expand, problems_without_runs_are_left_out)
{
    static const char *const only[] = {"f32.nn.7x8x9.dense.s1/cublas/default",
                                       NULL};
    const struct gp_select select = {.only = only};
    struct bench bench;

    cr_assert_eq(expand(&bench, many, &select), 0);
    cr_assert_eq(bench.plan.problems_count, 1, "%zu problems of one run",
                 bench.plan.problems_count);
    done(&bench);
}

static void leaves_nothing(const struct gp_select *select, const char *words)
{
    struct bench bench;

    cr_assert_eq(expand(&bench, many, select), -1);
    cr_assert_eq(bench.err.kind, GP_ERR_USAGE);
    cr_assert_not_null(strstr(bench.err.text, words), "'%s' has no '%s'",
                       bench.err.text, words);
    done(&bench);
}

Test(expand, a_selection_that_leaves_nothing)
{
    static const char *const only[] = {"f32.nn.7x8x9.dense.s3/cublas/default",
                                       NULL};
    static const char *const match[] = {"f64*", NULL};
    static const char *const modes[] = {"tf32", NULL};
    const struct gp_select by_id = {.only = only}, by_glob = {.match = match};
    const struct gp_select by_mode = {.modes = modes};

    leaves_nothing(&by_id, only[0]);
    leaves_nothing(&by_glob, "f64*");
    leaves_nothing(&by_mode, "plans no run");
}

Test(expand, a_product_that_is_too_large)
{
    const struct gp_select all = {0};
    struct bench bench;

    cr_assert_eq(expand(&bench,
                        "  - name: big\n"
                        "    sizes: [[2147483647, 2147483647, 8]]\n",
                        &all),
                 -1);
    cr_assert_eq(bench.err.kind, GP_ERR_USAGE);
    cr_assert_not_null(strstr(bench.err.text, "t.yaml:3: case big: "), "%s",
                       bench.err.text);
    done(&bench);
}

/* --- Ids alone
 * -------------------------------------------------------------------- */

static void from_ids(struct gp_plan *plan, const struct gp_select *select)
{
    struct gp_err err = {0};

    memset(plan, 0, sizeof *plan);
    cr_assert_eq(gp_expand_ids(select, plan, &err), 0, "%s", err.text);
}

/* The id of a run is what is run: with its repeats and its fault. */
Test(expand, ids_say_what_is_run)
{
    static const char *const ids[] = {"f32.nn.8x8x8.dense.s1/cublas/default",
                                      NULL};
    const struct gp_select plain = {.only = ids};
    const struct gp_select repeats = {.only = ids, .repeats = 3};
    const struct gp_select fault = {
        .only = ids, .fault = {.kind = GP_FAULT_VARIANT, .repeat = 6}};
    struct gp_plan plan;

    from_ids(&plan, &plain);
    cr_assert_eq(plan.runs_count, 1);
    cr_assert_str_eq(plan.runs[0].id, ids[0]);
    gp_plan_free(&plan);
    from_ids(&plan, &repeats);
    cr_assert_eq(plan.runs[0].repeats, 3);
    cr_assert_str_eq(plan.runs[0].id,
                     "f32.nn.8x8x8.dense.s1/cublas/default/r3");
    gp_plan_free(&plan);
    from_ids(&plan, &fault);
    cr_assert_eq(plan.runs[0].fault.kind, GP_FAULT_VARIANT);
    cr_assert_str_eq(plan.runs[0].id,
                     "f32.nn.8x8x8.dense.s1/cublas/default/fault=variantx6");
    gp_plan_free(&plan);
}

/* Twice the same id is one run, and two runs of one problem share it, so that
 * they are related. */
Test(expand, ids_are_planned_as_cases_are)
{
    static const char *const ids[] = {
        "f32.nn.8x8x8.dense.s1/cublas/default",
        "f32.nn.9x9x9.dense.s1/cublas/default",
        "f32.nn.8x8x8.dense.s1/cublas/default",
        "f32.nn.8x8x8.dense.s1/cublas/default/ws=16x8", NULL};
    const struct gp_select select = {.only = ids};
    struct gp_plan plan;

    from_ids(&plan, &select);
    cr_assert_eq(plan.runs_count, 3, "%zu runs", plan.runs_count);
    cr_assert_eq(plan.problems_count, 2);
    check_plan(&plan);
    gp_plan_free(&plan);
}
