/* Journals written by hand: what a report then says. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/journal.h"

static void reads(const char *lines, struct gp_summary *summary)
{
    struct gp_err err = {0};

    memset(summary, 0, sizeof *summary);
    cr_assert_eq(journal_read(lines, summary, &err), 0, "%s", err.text);
}

/* One sentence of a summary holds these words. */
static void says(const struct gp_summary *summary,
                 void (*sentence)(const struct gp_summary *, struct gp_buf *),
                 const char *words)
{
    struct gp_buf buf = {0};

    sentence(summary, &buf);
    cr_assert_not_null(strstr(gp_buf_text(&buf), words), "'%s' has no '%s'",
                       gp_buf_text(&buf), words);
    cr_assert_null(strchr(gp_buf_text(&buf), '\n'));
    gp_buf_free(&buf);
}

static const char whole[] =
    JOURNAL_HEAD("4") JOURNAL_WORKER("0", "naive", JOURNAL_CPU)
        JOURNAL_RUN("one", "naive", "f32", "0", JOURNAL_PASS)
            JOURNAL_RUN("two", "naive", "f32", "0", JOURNAL_FAIL) JOURNAL_RUN(
                "three", "naive", "f32", "0", JOURNAL_SKIP("not offered"))
                JOURNAL_RUN("four", "naive", "f32", "0", JOURNAL_ERROR)
                    JOURNAL_RELATION("\"observed\"", "pass") JOURNAL_END;

Test(summary, counts_of_a_whole_journal)
{
    struct gp_summary summary;

    reads(whole, &summary);
    cr_assert_eq(summary.counts.planned, 4);
    cr_assert_eq(summary.counts.run, 2);
    cr_assert_eq(summary.counts.pass, 1);
    cr_assert_eq(summary.counts.fail, 1);
    cr_assert_eq(summary.counts.skip, 1);
    cr_assert_eq(summary.counts.error, 1);
    cr_assert_eq(summary.counts.relations, 1);
    cr_assert_eq(summary.counts.relations_observed, 1);
    cr_assert_eq(summary.counts.relations_failed, 0);
    cr_assert_eq(summary.missing, 0);
    cr_assert_not(summary.stopped);
    cr_assert_not(summary.cut);
    cr_assert_eq(json_array_size(summary.untested), 0);
    cr_assert_eq(gp_json_int_or(summary.skip_reasons, "not offered", 0), 1);
    cr_assert_eq(gp_summary_exit(&summary), 1);
    says(&summary, gp_summary_counts,
         "planned 4, run 2, pass 1 (observed 0, known 0), fail 1, skip 1 (not "
         "offered 1), error 1");
    says(&summary, gp_summary_outcome, "Not green: 1 run failed");
    gp_summary_free(&summary);
}

Test(summary, records_are_found_by_their_ids)
{
    struct gp_summary summary;

    reads(whole, &summary);
    cr_assert_eq(gp_summary_verdict(gp_summary_run(&summary, "two")), GP_FAIL);
    cr_assert_eq(gp_summary_verdict(gp_summary_run(&summary, "four")),
                 GP_ERROR);
    cr_assert_null(gp_summary_run(&summary, "five"));
    gp_summary_free(&summary);
}

Test(summary, a_green_journal)
{
    struct gp_summary summary;

    reads(JOURNAL_HEAD("1") JOURNAL_WORKER("0", "naive", JOURNAL_CPU)
              JOURNAL_RUN("one", "naive", "f32", "0", JOURNAL_PASS) JOURNAL_END,
          &summary);
    cr_assert_eq(gp_summary_exit(&summary), 0);
    says(&summary, gp_summary_outcome, "Everything that was judged passed");
    gp_summary_free(&summary);
}

/* --- Not whole
 * ------------------------------------------------------------------ */

Test(summary, a_run_that_was_stopped)
{
    struct gp_summary summary;

    reads(JOURNAL_HEAD("4") JOURNAL_WORKER("0", "naive", JOURNAL_CPU)
              JOURNAL_RUN("one", "naive", "f32", "0", JOURNAL_PASS),
          &summary);
    cr_assert(summary.stopped);
    cr_assert_eq(summary.missing, 3);
    cr_assert_eq(gp_summary_exit(&summary), 3);
    says(&summary, gp_summary_counts, "STOPPED before its end");
    says(&summary, gp_summary_counts, "3 planned runs without a record");
    says(&summary, gp_summary_outcome, "Not green");
    gp_summary_free(&summary);
    /* Stopped after its last run is stopped, and not green. */
    reads(JOURNAL_HEAD("1")
              JOURNAL_RUN("one", "naive", "f32", "0", JOURNAL_PASS),
          &summary);
    cr_assert_eq(gp_summary_exit(&summary), 3);
    gp_summary_free(&summary);
}

Test(summary, a_last_line_that_is_cut)
{
    struct gp_summary summary;
    struct gp_buf notes = {0};
    char lines[sizeof whole];

    memcpy(lines, whole, sizeof whole);
    lines[strstr(lines, "\"four\"") - lines + 30] = '\0';
    reads(lines, &summary);
    cr_assert(summary.cut);
    cr_assert(summary.stopped);
    cr_assert_eq(json_array_size(summary.runs), 3);
    cr_assert_eq(summary.missing, 1);
    gp_summary_notes(&summary, "> ", &notes);
    cr_assert_not_null(strstr(gp_buf_text(&notes), "> The last line"));
    gp_buf_free(&notes);
    gp_summary_free(&summary);
}

/* Every cut of a journal gives a summary or a sentence, and never more runs
 * than it holds. */
Test(summary, every_cut)
{
    char lines[sizeof whole];

    for (size_t len = 0; len < sizeof whole - 1; len += 7) {
        struct gp_summary summary = {0};
        struct gp_err err = {0};
        memcpy(lines, whole, len);
        lines[len] = '\0';
        if (journal_read(lines, &summary, &err) != 0) {
            cr_assert(*err.text);
            cr_assert_null(strchr(lines, '\n'), "%zu: %s", len, err.text);
        } else {
            cr_assert_eq(summary.counts.planned, 4);
            cr_assert_neq(gp_summary_exit(&summary), 0);
            gp_summary_free(&summary);
        }
    }
}

static void refused(const char *lines, enum gp_err_kind kind, const char *words)
{
    struct gp_summary summary = {.missing = 99};
    struct gp_err err = {0};

    cr_assert_eq(journal_read(lines, &summary, &err), -1, "%s", words);
    cr_assert_eq(err.kind, kind, "%s", err.text);
    cr_assert_not_null(strstr(err.text, words), "'%s' has no '%s'", err.text,
                       words);
    cr_assert_eq(summary.missing, 99, "touched");
}

Test(summary, what_is_no_journal)
{
    struct gp_summary summary = {0};
    struct gp_err err = {0};

    refused("", GP_ERR_USAGE, "has no record");
    refused("\n", GP_ERR_USAGE, ":1: ");
    refused("good morning\n", GP_ERR_USAGE, ":1: ");
    refused("{}\n", GP_ERR_USAGE, "not a record");
    refused(JOURNAL_END, GP_ERR_USAGE, "the first record should be a head");
    refused("{\"record\":\"head\",\"format\":2}\n", GP_ERR_USAGE, "format 2");
    refused(JOURNAL_HEAD("1") "garbage\n" JOURNAL_END, GP_ERR_USAGE, ":2: ");
    refused(JOURNAL_HEAD("1") "{\"record\":\"run\",\"id\":\"a\"}\n",
            GP_ERR_USAGE, ":2: a run without");
    refused(JOURNAL_HEAD("1") "{\"record\":\"run\",\"verdict\":\"pass\"}\n",
            GP_ERR_USAGE, ":2: a run without");
    refused(JOURNAL_HEAD("1") "{\"record\":\"run\",\"id\":\"a\","
                              "\"verdict\":\"green\"}\n",
            GP_ERR_USAGE, ":2: a run without");
    cr_assert_eq(gp_summary_read("/nonexistent/results.jsonl", &summary, &err),
                 -1);
    cr_assert_eq(err.kind, GP_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.text, "/nonexistent/results.jsonl"));
}

/* --- More than once, less than judged
 * ---------------------------------------------- */

Test(summary, the_later_record_counts)
{
    struct gp_summary summary;

    reads(JOURNAL_HEAD("2") JOURNAL_RUN("one", "a", "f32", "0", JOURNAL_ERROR)
              JOURNAL_RUN("two", "a", "f32", "0", JOURNAL_PASS)
                  JOURNAL_END JOURNAL_RUN("one", "a", "f32", "0", JOURNAL_PASS)
                      JOURNAL_RELATION("", "fail") JOURNAL_RELATION("", "pass")
                          JOURNAL_END,
          &summary);
    cr_assert_eq(json_array_size(summary.runs), 2);
    cr_assert_str_eq(gp_json_str_or(json_array_get(summary.runs, 0), "id", ""),
                     "one");
    cr_assert_eq(summary.counts.pass, 2);
    cr_assert_eq(summary.counts.error, 0);
    cr_assert_eq(summary.counts.relations, 1);
    cr_assert_eq(summary.counts.relations_failed, 0);
    cr_assert_eq(gp_summary_exit(&summary), 0);
    gp_summary_free(&summary);
}

/* What follows an end was appended by a run that went on, and did not end. */
Test(summary, an_end_in_the_middle_is_no_end)
{
    struct gp_summary summary;

    reads(JOURNAL_HEAD("2") JOURNAL_RUN("one", "a", "f32", "0", JOURNAL_PASS)
              JOURNAL_END JOURNAL_RUN("two", "a", "f32", "0", JOURNAL_PASS),
          &summary);
    cr_assert(summary.stopped);
    cr_assert_eq(gp_summary_exit(&summary), 3);
    gp_summary_free(&summary);
}

/* A selected backend and type without one pass or fail is not green; a type
 * that a worker does not offer is not asked of it. */
Test(summary, untested_pairs)
{
    struct gp_summary summary;

    reads(JOURNAL_HEAD("4") JOURNAL_RUN("one", "a", "f32", "0", JOURNAL_PASS)
              JOURNAL_RUN("two", "a", "f64", "0", JOURNAL_SKIP("no overlap"))
                  JOURNAL_RUN("three", "b", "f32", "0",
                              JOURNAL_SKIP("over --max-flops"))
                      JOURNAL_RUN("four", "a", "bf16", "0",
                                  JOURNAL_SKIP("not offered")) JOURNAL_END,
          &summary);
    cr_assert_eq(json_array_size(summary.untested), 2);
    cr_assert_eq(gp_summary_exit(&summary), 3);
    says(&summary, gp_summary_outcome, "no run of a f64 was judged");
    says(&summary, gp_summary_outcome, "no run of b f32 was judged");
    gp_summary_free(&summary);
    reads(JOURNAL_HEAD("1") JOURNAL_RUN("one", "a", "f32", "0",
                                        JOURNAL_SKIP("x")) JOURNAL_END,
          &summary);
    cr_assert_eq(gp_summary_exit(&summary), 3);
    says(&summary, gp_summary_outcome, "Nothing was tested");
    gp_summary_free(&summary);
}

Test(summary, relations_count)
{
    struct gp_summary summary;

    reads(JOURNAL_HEAD("1") JOURNAL_RUN("one", "a", "f32", "0", JOURNAL_PASS)
              JOURNAL_RELATION("\"observed\"", "fail") JOURNAL_END,
          &summary);
    cr_assert_eq(gp_summary_exit(&summary), 1);
    says(&summary, gp_summary_outcome, "1 relation failed");
    gp_summary_free(&summary);
    reads(JOURNAL_HEAD("1") JOURNAL_RUN("one", "a", "f32", "0", JOURNAL_PASS)
              JOURNAL_RELATION("", "error") JOURNAL_END,
          &summary);
    cr_assert_eq(gp_summary_exit(&summary), 3);
    gp_summary_free(&summary);
}

/* --- What was measured
 * --------------------------------------------------------------- */

Test(summary, no_gpu_is_said_first)
{
    struct gp_buf buf = {0};
    struct gp_summary summary;

    reads(whole, &summary);
    gp_summary_measured(&summary, &buf);
    cr_assert_eq(strncmp(buf.text, "No GPU was measured", 19), 0, "%s",
                 buf.text);
    says(&summary, gp_summary_measured, "naive (libtest 9.1)");
    gp_buf_free(&buf);
    gp_summary_free(&summary);
}

Test(summary, a_gpu_with_its_library)
{
    struct gp_summary summary;

    reads(JOURNAL_HEAD("1") JOURNAL_WORKER("0", "cublas", JOURNAL_GPU)
              JOURNAL_RUN("one", "cublas", "f32", "0", JOURNAL_PASS)
                  JOURNAL_END,
          &summary);
    says(&summary, gp_summary_measured,
         "Measured on NVIDIA H200 (compute capability 9.0, 132 SMs, driver "
         "580.1) with libtest 9.1");
    gp_summary_free(&summary);
}

/* A GPU on which no run was judged was not measured. */
Test(summary, a_gpu_that_judged_nothing)
{
    struct gp_summary summary;

    reads(JOURNAL_HEAD("2") JOURNAL_WORKER("0", "cublas", JOURNAL_GPU)
              JOURNAL_WORKER("1", "naive", JOURNAL_CPU)
                  JOURNAL_RUN("one", "cublas", "f32", "0", JOURNAL_ERROR)
                      JOURNAL_RUN("two", "naive", "f32", "1", JOURNAL_PASS)
                          JOURNAL_END,
          &summary);
    says(&summary, gp_summary_measured, "No GPU was measured");
    gp_summary_free(&summary);
}

Test(summary, planted_faults_are_told)
{
    struct gp_summary summary;
    struct gp_buf notes = {0};
    char lines[sizeof whole + 100], *fault;

    strcpy(lines, whole);
    fault = strstr(lines, "\"fault\":\"\"") + strlen("\"fault\":\"");
    memmove(fault + 9, fault, strlen(fault) + 1);
    memcpy(fault, "variant:6", 9);
    reads(lines, &summary);
    cr_assert_eq(summary.faults, 1);
    gp_summary_notes(&summary, "", &notes);
    cr_assert_not_null(strstr(gp_buf_text(&notes), "1 run carried a planted "
                                                   "fault"));
    gp_buf_free(&notes);
    gp_summary_free(&summary);
}
