/* The tables of the model, its words, and what the counts mean. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/plan.h"

/* --- Words -----------------------------------------------------------------
 */

static void refused(int status, const struct gp_err *err, const char *text)
{
    cr_assert_eq(status, -1, "'%s' is accepted", text);
    cr_assert_eq(err->kind, GP_ERR_USAGE, "'%s'", text);
    cr_assert(*err->text, "'%s'", text);
}

Test(model, workspaces)
{
    static const char *const good[] = {
        "unset",       "16:8",        "4096:8",        "0:0",
        "4096:2:16:8", "1:1:1:1:1:1", "999999999999:1"};
    static const char *const wrong[] = {"",
                                        "16",
                                        "16:",
                                        ":",
                                        "16:8:",
                                        "16:8:4",
                                        "16::8",
                                        "a:b",
                                        "16:8 ",
                                        " 16:8",
                                        "-1:8",
                                        "1.5:8",
                                        "Unset",
                                        "16:8,",
                                        "16 : 8",
                                        "+16:8",
                                        "1234567890123:8",
                                        "unset:8",
                                        "16x8",
                                        "16:8\n"};
    struct gp_err err = {0};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert_eq(gp_workspace_check(good[i], &err), 0, "%s", good[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(gp_workspace_check(wrong[i], &err), &err, wrong[i]);
    for (const char *const *at = gp_workspaces; *at; at++)
        cr_assert_eq(gp_workspace_check(*at, &err), 0, "%s", *at);
}

Test(model, a_workspace_with_its_colon_gets_the_way_out)
{
    struct gp_err err = {0};

    refused(gp_workspace_check(":4096:8", &err), &err, ":4096:8");
    cr_assert_not_null(strstr(err.text, "\"4096:8\""), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "leading colon"), "%s", err.text);
}

Test(model, backends)
{
    static const char *const good[] = {
        "cublas", "openblas", "faulty=flip-bit", "my-own-2", "a", "x=1"};
    static const char *const wrong[] = {
        "",
        "CUBLAS",
        "cublas ",
        "a/b",
        "../x",
        "a.b",
        "=x",
        "a=b=c",
        "a_b",
        "a=B",
        "a\n",
        "0123456789012345678901234567890123456789",
        "a=0123456789012345678901234567890123456789"};
    struct gp_err err = {0};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert_eq(gp_backend_check(good[i], &err), 0, "%s", good[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(gp_backend_check(wrong[i], &err), &err, wrong[i]);
}

Test(model, types_and_ops)
{
    static const char *const wrong[] = {
        "",        "f8",   "F32",  "f32:f16",     "f32:f64", "f16:bf16",
        "f64:f32", "f16:", ":f32", "f16:f32:f32", "f16:f64", "bf16:f16"};
    struct gp_type_pair pair;
    struct gp_err err = {0};
    struct gp_op op;

    cr_assert_eq(gp_type_pair_parse("f64", &pair, &err), 0);
    cr_assert(pair.in == gp_type_find("f64") && pair.out == pair.in);
    cr_assert_eq(gp_type_pair_parse("bf16:f32", &pair, &err), 0);
    cr_assert(pair.in == gp_type_find("bf16") &&
              pair.out == gp_type_find("f32"));
    cr_assert_eq(gp_type_pair_parse("f16:f16", &pair, &err), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(gp_type_pair_parse(wrong[i], &pair, &err), &err, wrong[i]);
    cr_assert_eq(gp_op_parse("tn", &op, &err), 0);
    cr_assert(op.trans_a && !op.trans_b);
    cr_assert_eq(gp_op_parse("nt", &op, &err), 0);
    cr_assert(!op.trans_a && op.trans_b);
    refused(gp_op_parse("NN", &op, &err), &err, "NN");
    refused(gp_op_parse("nnn", &op, &err), &err, "nnn");
    refused(gp_op_parse("n", &op, &err), &err, "n");
    refused(gp_op_parse("nc", &op, &err), &err, "nc");
    refused(gp_op_parse("", &op, &err), &err, "");
}

/* --- Modes -----------------------------------------------------------------
 */

static void asks(const char *id, const char *entry, const char *math,
                 const char *compute, bool flag)
{
    struct gp_plan plan = {0};
    const struct gp_run *run = plan_run(&plan, id);
    struct gp_request request;

    gp_mode_request(&run->row, run->entry, &request);
    cr_assert_str_eq(request.entry, entry, "%s", id);
    cr_assert_str_eq(request.math, math, "%s", id);
    cr_assert_str_eq(request.compute, compute, "%s", id);
    cr_assert_eq(request.no_reduced_precision, flag, "%s", id);
    gp_plan_free(&plan);
}

/* Through a math mode for gemm, through a compute type for gemm-ex; gemm is
 * the default for FP32 and FP64, gemm-ex for the others. */
Test(model, what_each_mode_asks_for)
{
    asks("f32.nn.8x8x8.dense.s1/cublas/default", "gemm", "default", "", false);
    asks("f32.nn.8x8x8.dense.s1/cublas/pedantic", "gemm", "pedantic", "",
         false);
    asks("f32.nn.8x8x8.dense.s1/cublas/tf32", "gemm", "tf32", "", false);
    asks("f32.nn.8x8x8.dense.s1/cublas/no-reduced-precision", "gemm", "default",
         "", true);
    asks("f64.nn.8x8x8.dense.s1/cublas/pedantic", "gemm", "pedantic", "",
         false);
    asks("f32.nn.8x8x8.dense.s1/cublas.gemm-ex/default", "gemm-ex", "default",
         "32f", false);
    asks("f32.nn.8x8x8.dense.s1/cublas.gemm-ex/pedantic", "gemm-ex", "default",
         "32f-pedantic", false);
    asks("f32.nn.8x8x8.dense.s1/cublas.gemm-ex/tf32", "gemm-ex", "default",
         "32f-fast-tf32", false);
    asks("f32.nn.8x8x8.dense.s1/cublas.gemm-ex/fast-16bf", "gemm-ex", "default",
         "32f-fast-16bf", false);
    asks("f64.nn.8x8x8.dense.s1/cublas.gemm-ex/default", "gemm-ex", "default",
         "64f", false);
    asks("bf16.nn.8x8x8.dense.s1/cublas/default", "gemm-ex", "default", "32f",
         false);
    asks("f16xf32.nn.8x8x8.dense.s1/cublas/no-reduced-precision", "gemm-ex",
         "default", "32f", true);
    asks("f16.nn.8x8x8.dense.s1/cublas/pedantic", "gemm-ex", "default",
         "32f-pedantic", false);
    asks("f16.nn.8x8x8.dense.s1/cublas/f16-accumulate", "gemm-ex", "default",
         "16f", false);
}

static bool in(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

/* The words of every row are those of reference/request.h; each row belongs
 * to a mode, and each mode has a row. */
Test(model, rows_of_modes)
{
    static const char *const maths[] = {
        "default", "pedantic",      "tf32", "tensor-op",
        "bf16x9",  "fp64-emulated", NULL};
    static const char *const computes[] = {
        "16f",          "16f-pedantic",  "32f",           "32f-pedantic",
        "32f-fast-16f", "32f-fast-16bf", "32f-fast-tf32", "32f-bf16x9",
        "64f",          "64f-pedantic",  "64f-emulated",  NULL};

    for (const struct gp_mode_row *row = gp_mode_rows; row->mode; row++) {
        bool known = false;
        for (const struct gp_mode *mode = gp_modes; mode->name; mode++)
            known |= strcmp(mode->name, row->mode) == 0;
        cr_assert(known, "%s", row->mode);
        cr_assert(row->math || row->compute, "%s %s", row->mode, row->in);
        cr_assert(!row->math || in(maths, row->math), "%s", row->math);
        cr_assert(!row->compute || in(computes, row->compute), "%s",
                  row->compute);
        cr_assert_not_null(gp_type_find(row->in));
        cr_assert(!row->out || gp_type_find(row->out));
        cr_assert_not_null(gp_type_find(row->arithmetic.accumulator));
        cr_assert_geq(row->arithmetic.terms, 1);
    }
    for (const struct gp_mode *mode = gp_modes; mode->name; mode++) {
        bool has_row = false;
        for (const struct gp_mode_row *row = gp_mode_rows; row->mode; row++)
            has_row |= strcmp(mode->name, row->mode) == 0;
        cr_assert(has_row && *mode->help, "%s", mode->name);
    }
}

/* What the library documents holds for one stream and native arithmetic. */
Test(model, promises)
{
    cr_assert_not_null(gp_promise("cublas", "serial", "default"));
    cr_assert_not_null(gp_promise("cublas", "serial", "tf32"));
    cr_assert_null(gp_promise("cublas", "serial", "fp64-emulated"));
    cr_assert_null(gp_promise("cublas", "streams", "default"));
    cr_assert_not_null(gp_promise("naive", "serial", "default"));
    cr_assert_not_null(gp_promise("faulty=flip-bit", "serial", "default"));
    cr_assert_null(gp_promise("openblas", "serial", "default"));
    cr_assert_null(gp_promise("cublaslt", "serial", "default"));
    cr_assert_null(gp_promise("cubla", "serial", "default"));
}

/* --- Verdicts and counts ---------------------------------------------------
 */

Test(model, verdicts_have_four_names)
{
    static const char *const names[] = {"pass", "fail", "skip", "error"};

    for (int i = 0; i < 4; i++) {
        cr_assert_str_eq(gp_verdict_name((enum gp_verdict)i), names[i]);
        cr_assert_eq(gp_verdict_find(names[i]), (enum gp_verdict)i);
    }
    cr_assert_eq(gp_verdict_find("green"), GP_ERROR);
    cr_assert_eq(gp_verdict_find(""), GP_ERROR);
}

Test(model, counting)
{
    struct gp_counts counts = {0};

    gp_counts_run(&counts, GP_PASS, 0);
    gp_counts_run(&counts, GP_PASS, GP_OBSERVED);
    gp_counts_run(&counts, GP_PASS, GP_OBSERVED | GP_KNOWN);
    gp_counts_run(&counts, GP_FAIL, 0);
    gp_counts_run(&counts, GP_SKIP, 0);
    gp_counts_run(&counts, GP_SKIP, 0);
    gp_counts_run(&counts, GP_ERROR, 0);
    gp_counts_relation(&counts, GP_PASS, 0);
    gp_counts_relation(&counts, GP_PASS, GP_OBSERVED);
    gp_counts_relation(&counts, GP_FAIL, GP_OBSERVED);
    cr_assert_eq(counts.pass, 3);
    cr_assert_eq(counts.fail, 1);
    cr_assert_eq(counts.skip, 2);
    cr_assert_eq(counts.error, 1);
    cr_assert_eq(counts.run, 4); /* what was judged: pass and fail */
    cr_assert_eq(counts.observed, 2);
    cr_assert_eq(counts.known, 1);
    cr_assert_eq(counts.relations, 3);
    cr_assert_eq(counts.relations_observed, 2);
    cr_assert_eq(counts.relations_failed, 1);
}

/* Exit statuses, architecture.md 7: 1 if anything failed; else 3 if there is
 * an error, a planned run without a record, a selected (backend, type)
 * without one pass or fail, or nothing judged at all; else 0. */
Test(model, exit_statuses)
{
    static const struct {
        int planned, pass, fail, skip, error, relations_failed;
        bool untested;
        int status;
    } rows[] = {
        {2, 2, 0, 0, 0, 0, false, 0}, {2, 1, 0, 1, 0, 0, false, 0},
        {2, 1, 1, 0, 0, 0, false, 1}, {2, 0, 2, 0, 0, 0, false, 1},
        {2, 2, 0, 0, 0, 1, false, 1}, {2, 1, 0, 0, 1, 0, false, 3},
        {2, 0, 1, 0, 1, 0, false, 1}, {2, 0, 0, 0, 2, 1, true, 1},
        {2, 0, 0, 0, 2, 0, true, 3},  {2, 0, 0, 2, 0, 0, true, 3},
        {2, 0, 0, 2, 0, 0, false, 3}, {2, 1, 0, 0, 0, 0, false, 3},
        {2, 0, 1, 0, 0, 0, false, 1}, {2, 2, 0, 0, 0, 0, true, 3},
        {0, 0, 0, 0, 0, 0, false, 3},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gp_counts counts = {.planned = rows[i].planned,
                                   .run = rows[i].pass + rows[i].fail,
                                   .pass = rows[i].pass,
                                   .fail = rows[i].fail,
                                   .skip = rows[i].skip,
                                   .error = rows[i].error,
                                   .relations = rows[i].relations_failed,
                                   .relations_failed =
                                       rows[i].relations_failed};
        cr_assert_eq(gp_counts_exit(&counts, rows[i].untested), rows[i].status,
                     "row %zu", i);
    }
}

/* --- Cases -----------------------------------------------------------------
 */

Test(model, a_case_by_default)
{
    struct gp_suite suite = {0};
    struct gp_case one;

    gp_case_defaults(&suite.arena, &one);
    cr_assert_eq(one.sizes_count, 0);
    cr_assert(one.types_count == 1 && one.types[0].in == gp_type_find("f32") &&
              one.types[0].out == one.types[0].in);
    cr_assert(one.ops_count == 1 && !one.ops[0].trans_a && !one.ops[0].trans_b);
    cr_assert(one.pads_count == 1 && one.pads[0] == 0);
    cr_assert(one.batches_count == 1 && one.batches[0] == 1);
    cr_assert(one.alphas_count == 1 && one.alphas[0] == 1);
    cr_assert(one.betas_count == 1 && one.betas[0] == 0);
    cr_assert(one.families_count == 1 &&
              one.families[0] == gp_family_find("dense"));
    cr_assert_eq(one.modes_count, 1);
    cr_assert_str_eq(one.modes[0]->name, "default");
    cr_assert_eq(one.entries_count, 0);
    cr_assert_str_eq(one.workspaces[0], "unset");
    cr_assert_str_eq(one.schedules[0]->name, "serial");
    cr_assert_eq(one.backends_count, 0);
    cr_assert(one.seeds_count == 1 && one.seeds[0] == 1);
    cr_assert_eq(one.repeats, 10);
    gp_suite_free(&suite);
}
