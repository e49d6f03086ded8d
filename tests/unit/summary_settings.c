/* What a report says of settings, delivered arithmetic and accuracy. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "reports/decided.h"
#include "reports/delivered.h"
#include "reports/evidence.h"
#include "reports/label.h"
#include "reports/loss.h"
#include "reports/trouble.h"
#include "reports/writer.h"
#include "tests/unit/folder.h"

#define HEAD "{\"record\":\"head\",\"format\":1,\"planned\":{\"runs\":1}}\n"

/* --- Journals ------------------------------------------------------------ */

static void read_text(const char *text, struct gp_summary *summary)
{
    struct folder folder;
    struct gp_err err;
    int status;

    folder_make(&folder);
    folder_write(&folder, "results.jsonl", text, 0644);
    status = gp_summary_read(folder.file, summary, &err);
    folder_remove(&folder);
    if (status != 0)
        cr_assert_fail("%s", err.text);
}

/* One run. `shape` is "MxNxK" or more, `more` keys with a comma in front. */
struct line {
    const char *type, *shape, *family, *backend, *entry, *mode, *workspace;
    const char *env, *verdict, *more;
};

static const char * or (const char *text, const char *absent)
{
    return text ? text : absent;
}

static void add_run(struct gp_buf *text, struct line line)
{
    const char *type = or (line.type, "f32"),
               *family = or (line.family, "dense");
    const char *backend = or (line.backend, "cublas");
    const char *entry = or (line.entry, "gemm"),
               *mode = or (line.mode, "default");
    const char *workspace = or (line.workspace, "unset");
    const char *env = or (line.env, ""), *shape = or (line.shape, "8x8x8");
    int m, n, k;

    cr_assert_eq(sscanf(shape, "%dx%dx%d", &m, &n, &k), 3);
    gp_buf_printf(text,
                  "{\"record\":\"run\",\"id\":\"%s.%s.%s/%s.%s/%s/%s/%s\","
                  "\"problem\":\"%s.nn.%s.%s.s1\",\"type\":\"%s\",\"m\":%d,"
                  "\"n\":%d,\"k\":%d,\"family\":\"%s\",\"backend\":\"%s\","
                  "\"entry\":\"%s\",\"mode\":\"%s\",\"workspace\":\"%s\","
                  "\"env\":\"%s\",\"verdict\":\"%s\",\"worker\":0%s}\n",
                  type, shape, family, backend, entry, mode, workspace, env,
                  type, shape, family, type, m, n, k, family, backend, entry,
                  mode, workspace, env, or (line.verdict, "pass"),
                  or (line.more, ""));
}

/* A run of the probe family `product` where a word was delivered. */
static void add_probe(struct gp_buf *text, struct line line,
                      const char *delivered, const char *math,
                      const char *compute)
{
    char more[300];

    snprintf(more, sizeof more,
             ",\"math\":\"%s\",\"compute\":\"%s\",\"findings\":[{\"check\":"
             "\"fingerprint\",\"verdict\":\"pass\",\"delivered\":\"%s\"}]",
             math, compute, delivered);
    line.family = "product";
    line.more = more;
    add_run(text, line);
}

static void add_bits(struct gp_buf *text, struct line line, double bits)
{
    char more[100];

    snprintf(more, sizeof more, ",\"flag\":%s,\"accuracy\":{\"bits_cw\":%g}",
             line.mode && strcmp(line.mode, "no-reduced-precision") == 0
                 ? "true"
                 : "false",
             bits);
    line.more = more;
    add_run(text, line);
}

static void begin(struct gp_buf *text)
{
    gp_buf_str(text, HEAD);
}

static void end(struct gp_buf *text, struct gp_summary *summary)
{
    gp_buf_str(text, "{\"record\":\"end\"}\n");
    read_text(text->text, summary);
    gp_buf_free(text);
}

static void expect(struct gp_buf *buf, const char *expected)
{
    cr_assert_str_eq(gp_buf_text(buf), expected);
    gp_buf_free(buf);
}

static void expect_in(const struct gp_buf *buf, const char *words)
{
    if (!strstr(gp_buf_text(buf), words))
        cr_assert_fail("no '%s' in:\n%s", words, gp_buf_text(buf));
}

/* --- Untested, simulated -------------------------------------------------- */

Test(settings, what_is_not_offered_is_not_untested)
{
    struct gp_summary summary = {0};
    struct gp_buf text = {0};

    begin(&text);
    add_run(&text, (struct line){.type = "f64",
                                 .verdict = "skip",
                                 .more = ",\"reason\":\"not offered\""});
    add_run(&text, (struct line){.type = "bf16",
                                 .verdict = "skip",
                                 .more = ",\"reason\":\"over --max-flops\""});
    add_run(&text, (struct line){.type = "f32"});
    end(&text, &summary);
    cr_assert_eq(json_array_size(summary.untested), 1);
    cr_assert_str_eq(json_string_value(json_array_get(summary.untested, 0)),
                     "cublas bf16");
    gp_summary_free(&summary);
}

static void simulated(const char *backend, struct gp_summary *summary)
{
    struct gp_buf text = {0};

    begin(&text);
    gp_buf_printf(&text,
                  "{\"record\":\"worker\",\"worker\":0,\"backend\":\"%s\","
                  "\"workspace\":\"unset\",\"library\":{\"name\":\"S\"},"
                  "\"device\":{\"name\":\"NVIDIA H200\",\"compute_capability\":"
                  "90,\"simulated\":true}}\n",
                  backend);
    add_run(&text, (struct line){.backend = backend});
    end(&text, summary);
}

Test(settings, a_simulation_is_no_gpu_that_was_measured)
{
    struct gp_summary summary = {0};
    struct gp_buf text = {0};

    simulated("simulated", &summary);
    gp_summary_measured(&summary, &text);
    expect(&text, "No GPU was measured: simulated (simulation of sm_90).");
    gp_label_backend(&summary, "simulated", &text);
    expect(&text, "simulated");
    gp_summary_free(&summary);
}

Test(settings, rows_of_a_simulation_say_so)
{
    struct gp_summary summary = {0};
    struct gp_buf text = {0};

    simulated("mine", &summary);
    gp_writer_text(&summary, &text);
    expect_in(&text, "No GPU was measured: mine (simulation of sm_90).");
    expect_in(&text, " mine (simulated) ");
    gp_buf_free(&text);
    gp_writer_markdown(&summary, &text);
    expect_in(&text, "| mine (simulated) |");
    gp_buf_free(&text);
    gp_summary_free(&summary);
}

/* --- Workspaces ----------------------------------------------------------- */

static void add_evidence(struct gp_buf *text, int worker, const char *workspace,
                         const char *evidence, const char *more)
{
    gp_buf_printf(text,
                  "{\"record\":\"workspace\",\"worker\":%d,\"backend\":"
                  "\"cublas\",\"workspace\":\"%s\",\"env\":\"\",\"evidence\":"
                  "\"%s\"%s}\n",
                  worker, workspace, evidence, more);
}

static void workspaces(struct gp_summary *summary)
{
    struct gp_buf text = {0};

    begin(&text);
    for (int i = 0; i < 3; i++)
        add_run(&text, (struct line){.workspace = i == 0   ? "unset"
                                                  : i == 1 ? "16:8"
                                                           : "raw=abc"});
    gp_buf_str(&text, "{\"record\":\"relation\",\"relation\":\"workspace\","
                      "\"verdict\":\"pass\",\"members\":["
                      "\"f32.8x8x8.dense/cublas.gemm/default/unset/\","
                      "\"f32.8x8x8.dense/cublas.gemm/default/16:8/\","
                      "\"f32.8x8x8.dense/cublas.gemm/default/raw=abc/\"],"
                      "\"classes\":[[0,2],[1]]}\n");
    add_evidence(&text, 0, "unset", "same as unset",
                 ",\"seen\":{\"allocations\":[67108864,131072,1000]}");
    add_evidence(&text, 1, "16:8", "unproved", ",\"reason\":\"no CUPTI\"");
    add_evidence(&text, 1, "16:8", "effective",
                 ",\"seen\":{\"variable\":\":16:8\",\"well_formed\":true,"
                 "\"allocations\":[1024]}");
    add_evidence(&text, 2, "raw=abc", "same as unset",
                 ",\"seen\":{\"variable\":\"abc\",\"well_formed\":false,"
                 "\"allocations\":[67108864,131072,1000]}");
    add_evidence(&text, 3, "0:0", "unproved", ",\"reason\":\"no CUPTI\"");
    end(&text, summary);
}

Test(settings, evidence_says_what_was_seen_and_no_more)
{
    static const struct {
        const char *word, *memory, *bits, *note;
    } rows[] = {
        {"-", "64 MiB + 128 KiB + 1000 B", "-", ""},
        {"effective", "1 KiB", "1 of 1", ""},
        {"same as unset", "64 MiB + 128 KiB + 1000 B", "0 of 1",
         "raw=abc: \"abc\" is not SIZE:COUNT pairs: cuBLAS ignores it, as far "
         "as its memory shows"},
        {"unproved: no CUPTI", "-", "not compared", ""},
    };
    struct gp_summary summary = {0};
    json_t *found;

    workspaces(&summary);
    found = gp_evidence_find(&summary);
    cr_assert_eq(json_array_size(found), sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *row = json_array_get(found, i);
        struct gp_buf text = {0};

        gp_evidence_word(row, &text);
        expect(&text, rows[i].word);
        gp_evidence_memory(row, &text);
        expect(&text, rows[i].memory);
        gp_evidence_bits(row, &text);
        expect(&text, rows[i].bits);
        gp_evidence_note(row, &text);
        expect(&text, rows[i].note);
    }
    json_decref(found);
    gp_summary_free(&summary);
}

Test(settings, a_malformed_value_that_changes_bits_is_not_called_ignored)
{
    struct gp_buf note = {0};
    json_t *row = gp_json_object();

    gp_json_set_str(row, "workspace", "raw=abc");
    gp_json_set_str(row, "variable", "abc");
    gp_json_set_bool(row, "well_formed", false);
    gp_json_set_str(row, "evidence", "same as unset");
    gp_json_set_int(row, "others", 1);
    gp_evidence_note(row, &note);
    expect(&note, "raw=abc: \"abc\" is not SIZE:COUNT pairs");
    json_decref(row);
}

/* --- Asked and delivered ---------------------------------------------------
 */

Test(settings, delivered_names_shapes_and_workspaces_that_differ)
{
    static const char *const shapes[] = {"64x64x64", "128x8x8", "1x1x1",
                                         "8x8x65536"};
    static const char *const settings[] = {"unset", "0:0"};
    struct gp_summary summary = {0};
    struct gp_buf text = {0};
    json_t *rows, *elsewhere;

    begin(&text);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++)
            add_probe(&text,
                      (struct line){.mode = "tf32",
                                    .shape = shapes[i],
                                    .workspace = settings[j]},
                      i == 2 || (i == 3 && j == 1) ? "fp32" : "tf32", "tf32",
                      "");
    add_probe(&text, (struct line){.mode = "tf32", .env = "A=1"}, "fp32",
              "tf32", "");
    end(&text, &summary);
    rows = gp_delivered_find(&summary);
    cr_assert_eq(json_array_size(rows), 1);
    gp_label_counts(json_object_get(json_array_get(rows, 0), "delivered"),
                    &text);
    expect(&text, "tf32 5, fp32 3");
    elsewhere = json_object_get(json_array_get(rows, 0), "elsewhere");
    cr_assert_eq(json_array_size(elsewhere), 2);
    gp_delivered_print(json_array_get(elsewhere, 0), 4, &text);
    expect(&text, "fp32 for 1x1x1");
    gp_delivered_print(json_array_get(elsewhere, 1), 4, &text);
    expect(&text, "fp32 for 8x8x65536 under 0:0");
    json_decref(rows);
    gp_summary_free(&summary);
}

static void expect_decided(const json_t *rows, size_t place,
                           const char *expected)
{
    struct gp_buf text = {0};

    gp_decided_print(json_array_get(rows, place), &text);
    expect(&text, expected);
}

Test(settings, decided_says_which_request_won)
{
    static const struct {
        const char *mode, *delivered, *math, *compute, *expected;
    } of[] = {
        {"pedantic+32f-fast-tf32", "tf32", "pedantic", "32f-fast-tf32",
         "delivered tf32 (1 of 1): the compute type decided"},
        {"pedantic+32f-fast-16bf", "tf32", "pedantic", "32f-fast-16bf",
         "delivered tf32 (1 of 1): the compute type decided"},
        {"tf32+32f", "tf32", "tf32", "32f",
         "delivered tf32 (1 of 1): the math mode decided"},
        {"tf32+32f-pedantic", "fp32", "tf32", "32f-pedantic",
         "delivered fp32 (1 of 1): the compute type decided"},
        {"pedantic+32f", "fp32", "pedantic", "32f",
         "delivered fp32 (1 of 1): both alone lead to this"},
        {"pedantic+32f-pedantic", "tf32", "pedantic", "32f-pedantic",
         "delivered tf32 (1 of 1): neither alone leads to this"},
        {"pedantic+new", "fp32", "pedantic", "new",
         "delivered fp32 (1 of 1): nothing says which decided"},
    };
    struct gp_summary summary = {0};
    struct gp_buf text = {0};
    json_t *rows;

    begin(&text);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        add_probe(&text, (struct line){.entry = "gemm-ex", .mode = of[i].mode},
                  of[i].delivered, of[i].math, of[i].compute);
    end(&text, &summary);
    rows = gp_decided_find(&summary);
    cr_assert_eq(json_array_size(rows), sizeof of / sizeof *of);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        expect_decided(rows, i, of[i].expected);
    json_decref(rows);
    rows = gp_delivered_find(&summary);
    cr_assert_eq(json_array_size(rows), 0);
    json_decref(rows);
    gp_summary_free(&summary);
}

/* At a shape where TF32 alone gives FP32, FP32 does not show who won. */
Test(settings, decided_believes_what_was_measured)
{
    struct gp_summary summary = {0};
    struct gp_buf text = {0};
    json_t *rows;

    begin(&text);
    add_probe(&text, (struct line){.entry = "gemm-ex", .mode = "tf32"}, "fp32",
              "default", "32f-fast-tf32");
    add_probe(
        &text,
        (struct line){.entry = "gemm-ex", .mode = "pedantic+32f-fast-tf32"},
        "fp32", "pedantic", "32f-fast-tf32");
    end(&text, &summary);
    rows = gp_decided_find(&summary);
    cr_assert_eq(json_array_size(rows), 1);
    expect_decided(rows, 0, "delivered fp32 (1 of 1): both alone lead to this");
    json_decref(rows);
    gp_summary_free(&summary);
}

Test(settings, decided_compares_with_the_run_without_the_variable)
{
    struct gp_summary summary = {0};
    struct gp_buf text = {0};
    json_t *rows;

    begin(&text);
    add_probe(&text, (struct line){0}, "fp32", "default", "");
    add_probe(&text, (struct line){.env = "NVIDIA_TF32_OVERRIDE=0"}, "fp32",
              "default", "");
    add_probe(&text, (struct line){.env = "NVIDIA_TF32_OVERRIDE=1"}, "tf32",
              "default", "");
    end(&text, &summary);
    rows = gp_decided_find(&summary);
    cr_assert_eq(json_array_size(rows), 2);
    expect_decided(rows, 0, "delivered fp32 (1 of 1), as without it");
    expect_decided(rows, 1,
                   "delivered tf32 (1 of 1); without it fp32 (1 of 1)");
    json_decref(rows);
    gp_summary_free(&summary);
}

/* --- Accuracy, failures ----------------------------------------------------
 */

static void add_setting(struct gp_buf *text, const char *shape,
                        const char *mode, double unset, double other)
{
    struct line line = {
        .type = "bf16", .entry = "gemm-ex", .shape = shape, .mode = mode};

    add_bits(text, line, unset);
    line.workspace = "16:8";
    add_bits(text, line, other);
}

Test(settings, losses_begin_with_what_the_flag_keeps)
{
    struct gp_summary summary = {0};
    struct gp_losses losses = {0};
    struct gp_buf text = {0};

    begin(&text);
    add_setting(&text, "64x64x512", "default", 25, 20);
    add_setting(&text, "64x64x512", "no-reduced-precision", 25, 20);
    add_setting(&text, "127x255x1023", "default", 11.04, 9.8);
    add_setting(&text, "127x255x1023", "no-reduced-precision", 11.04, 11.04);
    add_setting(&text, "127x255x1023.ld+1", "default", 11.04, 10.3);
    add_setting(&text, "127x255x1023.ld+1", "no-reduced-precision", 11, 11);
    add_setting(&text, "8x8x8", "default", 11, 10.51);
    end(&text, &summary);
    gp_loss_find(&summary, &losses);
    cr_assert_eq(losses.compared, 7);
    cr_assert_eq(losses.lost, 4);
    cr_assert_eq(losses.count, 2);
    cr_assert_eq(losses.kept, 1);
    gp_loss_print(&losses.items[0], &text);
    expect(&text, "bf16 default 127x255x1023: 11.0 bits under unset, 9.8 under "
                  "16:8; 11.0 there with no-reduced-precision (and 1 more of "
                  "this size)");
    gp_loss_print(&losses.items[1], &text);
    expect(&text, "bf16 default 64x64x512: 25.0 bits under unset, 20.0 under "
                  "16:8; 20.0 there with no-reduced-precision");
    gp_loss_free(&losses);
    gp_summary_free(&summary);
}

Test(settings, the_smallest_exact_failure_comes_first)
{
    static const char more[] =
        ",\"findings\":[{\"check\":\"exact\",\"verdict\":\"fail\",\"value\":9,"
        "\"limit\":0,\"evidence\":\"proved\"}]";
    static const char *const shapes[] = {"8x8x300", "64x8x200", "8x8x200"};
    static const char *const sorted[] = {"8x8x200", "64x8x200", "8x8x300"};
    struct gp_summary summary = {0};
    struct gp_troubles troubles = {0};
    struct gp_buf text = {0};

    begin(&text);
    for (int i = 0; i < 3; i++)
        add_run(&text, (struct line){.shape = shapes[i],
                                     .family = "exact",
                                     .verdict = "fail",
                                     .more = more});
    end(&text, &summary);
    gp_trouble_find(&summary, &troubles);
    cr_assert_eq(troubles.failures_count, 3);
    for (int i = 0; i < 3; i++) {
        gp_label_shape(troubles.failures[i].record, &text);
        expect(&text, sorted[i]);
    }
    gp_trouble_free(&troubles);
    gp_summary_free(&summary);
}

Test(settings, a_shape_is_the_problem_without_type_family_and_seed)
{
    struct gp_buf text = {0};
    json_t *run = gp_json_object();

    gp_json_set_str(run, "problem", "f32.tn.2x3x4.alpha=0.5.dense.s1");
    gp_json_set_str(run, "family", "dense");
    gp_label_shape(run, &text);
    expect(&text, "tn.2x3x4.alpha=0.5");
    gp_json_set_str(run, "problem", "");
    gp_label_shape(run, &text);
    expect(&text, "");
    json_decref(run);
}
