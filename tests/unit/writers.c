/* Every form of a report: complete, the same each time, and harmless whatever
 * the journal holds. */
#include <criterion/criterion.h>
#include <string.h>

#include "reports/escape.h"
#include "reports/writer.h"
#include "tests/unit/journal.h"

static const char lines[] =
    JOURNAL_HEAD("5") JOURNAL_WORKER("0", "naive", JOURNAL_CPU)
        JOURNAL_RUN("one", "naive", "f32", "0", JOURNAL_PASS)
            JOURNAL_RUN("two", "naive", "f32", "0", JOURNAL_FAIL) JOURNAL_RUN(
                "three", "naive", "f32", "0", JOURNAL_SKIP("not offered"))
                JOURNAL_RUN("four", "naive", "f32", "0", JOURNAL_ERROR)
                    JOURNAL_RELATION("\"observed\"", "pass") JOURNAL_END;

static void written(const char *journal, const char *format, struct gp_buf *buf)
{
    const struct gp_writer *writer = gp_writer_find(format);
    struct gp_summary summary = {0};
    struct gp_err err = {0};

    cr_assert_not_null(writer, "%s", format);
    cr_assert_eq(journal_read(journal, &summary, &err), 0, "%s", err.text);
    writer->write(&summary, buf);
    gp_summary_free(&summary);
}

static void has(const struct gp_buf *buf, const char *words)
{
    cr_assert_not_null(strstr(gp_buf_text(buf), words), "no '%s' in:\n%s",
                       words, gp_buf_text(buf));
}

Test(writers, the_same_journal_gives_the_same_bytes)
{
    for (const struct gp_writer *at = gp_writers; at->name; at++) {
        struct gp_buf once = {0}, twice = {0};
        written(lines, at->name, &once);
        written(lines, at->name, &twice);
        cr_assert(once.len > 100 && once.len == twice.len, "%s", at->name);
        cr_assert_str_eq(once.text, twice.text, "%s", at->name);
        gp_buf_free(&once);
        gp_buf_free(&twice);
    }
    cr_assert_null(gp_writer_find("pdf"));
}

/* Every form begins with what was measured and has all counts, the failure
 * with its place, the error and the missing run. */
Test(writers, every_form_tells_everything)
{
    static const char *const forms[] = {"text", "markdown", "json", "junit"};

    for (int i = 0; i < 4; i++) {
        struct gp_buf buf = {0};
        const char *first;
        written(lines, forms[i], &buf);
        first = strstr(buf.text, "No GPU was measured");
        cr_assert(first && first - buf.text < 80, "%s", forms[i]);
        has(&buf, "two");
        has(&buf, "far off");
        has(&buf, "signal 9");
        has(&buf, "not offered");
        gp_buf_free(&buf);
    }
}

Test(writers, text_has_the_counts_and_the_way_to_repeat)
{
    struct gp_buf buf = {0};

    written(lines, "text", &buf);
    has(&buf, "planned 5, run 2, pass 1");
    has(&buf, "1 planned run without a record");
    has(&buf, "gemmproof run --only 'two'");
    has(&buf, "bound: far off");
    gp_buf_free(&buf);
}

Test(writers, json_is_json)
{
    struct gp_buf buf = {0};
    json_t *report;
    const json_t *counts;

    written(lines, "json", &buf);
    report = json_loads(buf.text, 0, NULL);
    cr_assert_not_null(report);
    counts = json_object_get(report, "counts");
    cr_assert_eq(gp_json_int_or(counts, "planned", -1), 5);
    cr_assert_eq(gp_json_int_or(counts, "pass", -1), 1);
    cr_assert_eq(gp_json_int_or(counts, "fail", -1), 1);
    cr_assert_eq(gp_json_int_or(counts, "skip", -1), 1);
    cr_assert_eq(gp_json_int_or(counts, "error", -1), 1);
    cr_assert_eq(gp_json_int_or(counts, "missing", -1), 1);
    cr_assert_eq(gp_json_int_or(counts, "relations_observed", -1), 1);
    cr_assert_eq(json_array_size(json_object_get(report, "runs")), 4);
    cr_assert_eq(gp_json_int_or(report, "exit", -1), 1);
    json_decref(report);
    gp_buf_free(&buf);
}

Test(writers, junit_has_the_four_verdicts)
{
    struct gp_buf buf = {0};

    written(lines, "junit", &buf);
    has(&buf, "<testsuites ");
    has(&buf, "tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\"");
    has(&buf, "<failure message=\"far off\"");
    has(&buf, "<skipped message=\"not offered\"");
    has(&buf, "<error message=\"the worker was ended by signal 9\"");
    has(&buf, "</testsuites>");
    gp_buf_free(&buf);
}

/* --- Hostile text
 * ------------------------------------------------------------------- */

static const char hostile[] =
    JOURNAL_HEAD("1") JOURNAL_WORKER("0", "naive\\u001b[31m<b>", JOURNAL_CPU)
        JOURNAL_RUN("one\\u001b]0;x\\u0007'; rm -rf ~ #<script>&|`x`",
                    "naive\\u001b[31m<b>", "f32", "0", JOURNAL_FAIL)
            JOURNAL_END;

Test(writers, nothing_comes_through)
{
    for (const struct gp_writer *at = gp_writers; at->name; at++) {
        struct gp_buf buf = {0};
        written(hostile, at->name, &buf);
        for (size_t i = 0; i < buf.len; i++)
            cr_assert((unsigned char)buf.text[i] >= ' ' || buf.text[i] == '\n',
                      "%s: control character %d", at->name, buf.text[i]);
        if (strcmp(at->name, "junit") == 0 || strcmp(at->name, "markdown") == 0)
            cr_assert(!strstr(buf.text, "<script>") &&
                          !strstr(buf.text, "31m<b>"),
                      "%s", at->name);
        if (strcmp(at->name, "text") == 0)
            has(&buf, "'\\''; rm -rf ~ #");
        gp_buf_free(&buf);
    }
}

static void escapes(void (*escape)(struct gp_buf *, const char *),
                    const char *text, const char *expected)
{
    struct gp_buf buf = {0};

    escape(&buf, text);
    cr_assert_str_eq(gp_buf_text(&buf), expected);
    gp_buf_free(&buf);
}

Test(writers, escapes)
{
    escapes(gp_escape_plain, "a\nb\tc\x1b[1m", "a b c?[1m");
    escapes(gp_escape_plain, "\xff", "\xef\xbf\xbd");
    escapes(gp_escape_plain, "\xe2\x80\xae", "?"); /* right to left */
    escapes(gp_escape_xml, "<a & \"b\">", "&#60;a &#38; &#34;b&#34;&#62;");
    escapes(gp_escape_shell, "it's", "'it'\\''s'");
}
