/* The sentence that joins what the probes of one shape found. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "reports/fingerprint.h"
#include "tests/unit/journal.h"

/* A run of f32.nn.SHAPE.FAMILY.s1 with one finding. */
static void add(struct gp_buf *buf, const char *shape, const char *family,
                const char *mode, const char *workspace, const char *finding,
                const char *more)
{
    gp_buf_printf(
        buf,
        "{\"record\":\"run\",\"id\":\"f32.nn.%s.%s.s1/cublas/%s/ws=%s\","
        "\"problem\":\"f32.nn.%s.%s.s1\",\"type\":\"f32\",\"family\":\"%s\","
        "\"backend\":\"cublas\",\"entry\":\"gemm\",\"mode\":\"%s\","
        "\"workspace\":\"%s\",\"env\":\"\",\"schedule\":\"serial\","
        "\"repeats\":1,\"fault\":\"\",\"verdict\":\"pass\",\"flags\":[],"
        "\"findings\":[%s]%s}\n",
        shape, family, mode, workspace, shape, family, family, mode, workspace,
        finding, more);
}

#define FINDING(verdict, value, delivered, clause)                             \
    "{\"check\":\"fingerprint\",\"verdict\":\"" verdict "\",\"flags\":[],"     \
    "\"value\":" value ",\"delivered\":\"" delivered "\",\"clause\":\"" clause \
    "\",\"text\":\"t\"}"

static json_t *found(const struct gp_buf *lines, struct gp_summary *summary)
{
    struct gp_err err = {0};

    cr_assert_eq(journal_read(lines->text, summary, &err), 0, "%s", err.text);
    return gp_fingerprint_find(summary);
}

static void check(const json_t *row, const char *key, const char *must)
{
    cr_assert_str_eq(gp_json_str_or(row, key, ""), must, "%s", key);
}

Test(fingerprint_report, one_sentence_a_shape_and_setting)
{
    struct gp_buf lines = {0}, bits = {0};
    struct gp_summary summary = {0};
    json_t *rows;
    const json_t *row;

    gp_buf_str(&lines, JOURNAL_HEAD("6"));
    /* In another order than that of the sentence. */
    add(&lines, "8x8x64", "split-finder", "tf32", "unset",
        FINDING("pass", "0", "", "no narrow split seen"), "");
    add(&lines, "8x8x64", "two-term", "tf32", "unset",
        FINDING("pass", "0", "", "one rounding at the end"), "");
    add(&lines, "8x8x64", "product", "tf32", "unset",
        FINDING("pass", "24", "fp32", "all products correctly rounded"), "");
    add(&lines, "8x8x64", "one-hot", "tf32", "unset",
        FINDING("pass", "24", "fp32", "24 bits read"), "");
    add(&lines, "8x8x64", "dense", "tf32", "unset", "",
        ",\"accuracy\":{\"bits_cw\":21.5,\"bits_nw\":22.25}");
    add(&lines, "8x8x64", "product", "tf32", "16:8",
        FINDING("fail", "9", "9 bits", "none"), "");
    rows = found(&lines, &summary);
    cr_assert_eq(json_array_size(rows), 2);
    row = json_array_get(rows, 0);
    check(row, "sentence",
          "asked tf32, delivered fp32: 24 bits read, all products correctly "
          "rounded, one rounding at the end, no narrow split seen");
    check(row, "verdict", "pass");
    gp_fingerprint_bits(row, "bits_in", &bits);
    gp_buf_str(&bits, " ");
    gp_fingerprint_bits(row, "bits_cw", &bits);
    gp_buf_str(&bits, " ");
    gp_fingerprint_bits(row, "bits_nw", &bits);
    cr_assert_str_eq(bits.text, "24.0 21.5 22.2");
    row = json_array_get(rows, 1);
    check(row, "workspace", "16:8");
    check(row, "sentence", "asked tf32, delivered 9 bits: none");
    check(row, "verdict", "fail");
    bits.len = 0;
    gp_fingerprint_bits(row, "bits_cw", &bits);
    cr_assert_str_eq(bits.text, "-");
    /* What was delivered to a run of the same shape and settings. */
    row = gp_fingerprint_of(
        rows, gp_summary_run(&summary,
                             "f32.nn.8x8x64.dense.s1/cublas/tf32/ws=unset"));
    check(row, "delivered", "fp32");
    json_decref(rows);
    gp_buf_free(&bits);
    gp_buf_free(&lines);
    gp_summary_free(&summary);
}

/* Journals written before there were clauses. */
Test(fingerprint_report, old_journals)
{
    struct gp_buf lines = {0};
    struct gp_summary summary = {0};
    json_t *rows;

    gp_buf_str(&lines, JOURNAL_HEAD("2"));
    add(&lines, "1x1x1", "one-hot", "tf32", "unset",
        "{\"check\":\"fingerprint\",\"verdict\":\"pass\",\"flags\":[],"
        "\"value\":11.2,\"delivered\":\"tf32\",\"text\":\"asked tf32, "
        "delivered tf32: 11.2 bits read, operands rounded to 11 bits, ties to "
        "even (9 products)\"}",
        "");
    add(&lines, "1x1x1", "product", "tf32", "unset",
        "{\"check\":\"fingerprint\",\"verdict\":\"pass\",\"flags\":[],"
        "\"value\":10.1,\"delivered\":\"tf32\",\"text\":\"asked tf32, "
        "delivered tf32: 10.1 bits read, operands rounded to 11 bits, ties to "
        "even (9 products)\"}",
        "");
    rows = found(&lines, &summary);
    check(json_array_get(rows, 0), "sentence",
          "asked tf32, delivered tf32: 11 bits read, operands rounded to 11 "
          "bits, to nearest");
    json_decref(rows);
    gp_buf_free(&lines);
    gp_summary_free(&summary);
}

/* Modes stand together only where they are true of the same shapes. */
Test(fingerprint_report, groups)
{
    static const char *const modes[] = {"default", "pedantic", "tf32"};
    struct gp_buf lines = {0};
    struct gp_summary summary = {0};
    json_t *rows, *groups;

    gp_buf_str(&lines, JOURNAL_HEAD("6"));
    for (int m = 0; m < 3; m++) {
        add(&lines, "8x8x64", "product", modes[m], "unset",
            m == 2 ? FINDING("pass", "10", "tf32", "to nearest")
                   : FINDING("pass", "24", "fp32", "right"),
            "");
        add(&lines, "1x8x64", "product", modes[m], "unset",
            FINDING("pass", "24", "fp32", "right"), "");
    }
    rows = found(&lines, &summary);
    groups = gp_fingerprint_group(rows);
    cr_assert_eq(json_array_size(groups), 3);
    for (int g = 0; g < 3; g++) {
        static const char *const must[] = {
            "[\"default\",\"pedantic\"] [\"8x8x64\",\"1x8x64\"] 4",
            "[\"tf32\"] [\"8x8x64\"] 1", "[\"tf32\"] [\"1x8x64\"] 1"};
        const json_t *group = json_array_get(groups, (size_t)g);
        struct gp_buf text = {0};
        gp_json_print(&text, json_object_get(group, "modes"));
        gp_buf_str(&text, " ");
        gp_json_print(&text, json_object_get(group, "shapes"));
        gp_buf_printf(&text, " %d", (int)gp_json_int_or(group, "rows", 0));
        cr_assert_str_eq(text.text, must[g]);
        gp_buf_free(&text);
    }
    json_decref(groups);
    json_decref(rows);
    gp_buf_free(&lines);
    gp_summary_free(&summary);
}
