/* junit.xml: what Jenkins, GitLab and the GitHub actions read: the junit-10
 * schema of the Jenkins xUnit plugin, and in a test case properties as pytest
 * writes them. A suite for each case. */
#include "reports/writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "reports/escape.h"
#include "reports/explained.h"
#include "reports/trouble.h"

enum { WORST_SHOWN = 8 };

static void attribute(struct gp_buf *buf, const char *name, const char *value)
{
    gp_buf_printf(buf, " %s=\"", name);
    gp_escape_xml(buf, value);
    gp_buf_str(buf, "\"");
}

static double run_seconds(const json_t *run)
{
    double median_ns =
        gp_json_real_or(json_object_get(run, "time"), "median_ns", 0);
    double seconds =
        median_ns * (double)gp_json_int_or(run, "repeats", 1) * 1e-9;

    return isfinite(seconds) && seconds > 0 ? seconds : 0;
}

struct tally {
    int64_t tests, failures, errors, skipped;
    double seconds;
};

static void tally_add(struct tally *tally, enum gp_verdict verdict)
{
    tally->tests++;
    tally->failures += verdict == GP_FAIL;
    tally->errors += verdict == GP_ERROR;
    tally->skipped += verdict == GP_SKIP;
}

static void suite_begin(struct gp_buf *buf, const char *name,
                        const struct tally *tally)
{
    gp_buf_str(buf, "  <testsuite");
    attribute(buf, "name", name);
    gp_buf_printf(buf,
                  " tests=\"%" PRId64 "\" failures=\"%" PRId64
                  "\" errors=\"%" PRId64 "\" skipped=\"%" PRId64
                  "\" time=\"%.6f\">\n",
                  tally->tests, tally->failures, tally->errors, tally->skipped,
                  tally->seconds);
}

static void case_begin(struct gp_buf *buf, const char *class_name,
                       const char *name, double seconds)
{
    gp_buf_str(buf, "    <testcase");
    attribute(buf, "classname", class_name);
    attribute(buf, "name", name);
    gp_buf_printf(buf, " time=\"%.6f\">\n", seconds);
}

static void case_end(struct gp_buf *buf)
{
    gp_buf_str(buf, "    </testcase>\n");
}

/* <failure>, <error> or <skipped>; a body of text where there is one. */
static void result(struct gp_buf *buf, const char *element, const char *type,
                   const char *message, const char *body)
{
    gp_buf_printf(buf, "      <%s", element);
    attribute(buf, "message", message);
    if (type)
        attribute(buf, "type", type);
    if (!body) {
        gp_buf_str(buf, "/>\n");
        return;
    }
    gp_buf_str(buf, ">");
    gp_escape_xml(buf, body);
    gp_buf_printf(buf, "</%s>\n", element);
}

static void property(struct gp_buf *buf, const char *name, const char *value)
{
    gp_buf_str(buf, "        <property");
    attribute(buf, "name", name);
    attribute(buf, "value", value);
    gp_buf_str(buf, "/>\n");
}

/* What the findings with this flag say; the record's own text if none. */
static void flag_property(struct gp_buf *buf, const json_t *record,
                          const char *name, unsigned flag)
{
    json_t *findings = json_object_get(record, "findings");
    struct gp_buf text = {0};
    json_t *finding;
    size_t i;

    json_array_foreach(findings, i, finding)
    {
        if (!(gp_summary_flags(finding) & flag))
            continue;
        gp_buf_printf(&text, "%s%s: %s", text.len ? "\n" : "",
                      gp_json_str_or(finding, "check", "?"),
                      gp_json_str_or(finding, "text", ""));
    }
    if (!text.len)
        gp_buf_str(&text, gp_json_str_or(record, "text", "yes"));
    property(buf, name, gp_buf_text(&text));
    gp_buf_free(&text);
}

static void properties(struct gp_buf *buf, const json_t *record)
{
    unsigned flags = gp_summary_flags(record);

    if (!flags)
        return;
    gp_buf_str(buf, "      <properties>\n");
    if (flags & GP_OBSERVED)
        flag_property(buf, record, "observed", GP_OBSERVED);
    if (flags & GP_KNOWN)
        flag_property(buf, record, "known", GP_KNOWN);
    gp_buf_str(buf, "      </properties>\n");
}

static void run_failure(struct gp_buf *buf, const json_t *run)
{
    json_t *findings = gp_trouble_findings(run);
    const json_t *worst = json_array_get(findings, 0);
    struct gp_buf body = {0};
    json_t *finding;
    size_t i;

    json_array_foreach(findings, i, finding)
    {
        gp_trouble_print(finding, &body);
        gp_buf_str(&body, "\n");
    }
    gp_explained_lines(run, WORST_SHOWN, &body);
    gp_buf_str(&body, "gemmproof run --only ");
    gp_escape_shell(&body, gp_json_str_or(run, "id", ""));
    result(buf, "failure", gp_json_str_or(worst, "check", "fail"),
           gp_json_str_or(worst, "text", "no finding says why"), body.text);
    gp_buf_free(&body);
    json_decref(findings);
}

static void run_case(struct gp_buf *buf, const json_t *run)
{
    enum gp_verdict verdict = gp_summary_verdict(run);
    const json_t *error = json_object_get(run, "error");

    case_begin(buf, gp_json_str_or(run, "backend", ""),
               gp_json_str_or(run, "id", ""), run_seconds(run));
    properties(buf, run);
    if (verdict == GP_FAIL)
        run_failure(buf, run);
    else if (verdict == GP_SKIP)
        result(buf, "skipped", NULL,
               gp_json_str_or(run, "reason", "no reason given"), NULL);
    else if (verdict == GP_ERROR)
        result(buf, "error", gp_json_str_or(error, "kind", "error"),
               gp_json_str_or(error, "text", "no reason given"), NULL);
    case_end(buf);
}

static void run_suite(struct gp_buf *buf, const char *name, json_t *runs)
{
    struct tally tally = {0};
    json_t *run;
    size_t i;

    json_array_foreach(runs, i, run)
    {
        tally_add(&tally, gp_summary_verdict(run));
        tally.seconds += run_seconds(run);
    }
    suite_begin(buf, *name ? name : "runs made from ids", &tally);
    json_array_foreach(runs, i, run)
    {
        run_case(buf, run);
    }
    gp_buf_str(buf, "  </testsuite>\n");
}

static void run_suites(struct gp_buf *buf, const struct gp_summary *summary)
{
    json_t *cases = gp_json_object();
    const char *name;
    json_t *run, *runs;
    size_t i;

    json_array_foreach(summary->runs, i, run)
    {
        name = gp_json_str_or(run, "case", "");
        if (!json_object_get(cases, name))
            gp_json_set(cases, name, gp_json_array());
        gp_json_append(json_object_get(cases, name), json_incref(run));
    }
    json_object_foreach(cases, name, runs)
    {
        run_suite(buf, name, runs);
    }
    json_decref(cases);
}

/* A relation's members are its name: the same relation holds of many. */
static void relation_case(struct gp_buf *buf, const json_t *relation)
{
    const char *kind = gp_json_str_or(relation, "relation", "");
    const char *text = gp_json_str_or(relation, "text", "no sentence");
    const json_t *members = json_object_get(relation, "members");
    enum gp_verdict verdict = gp_summary_verdict(relation);
    struct gp_buf name = {0};

    for (size_t i = 0; i < json_array_size(members); i++) {
        const char *id = json_string_value(json_array_get(members, i));
        gp_buf_printf(&name, "%s%s", i ? " " : "", id ? id : "?");
    }
    case_begin(buf, kind, gp_buf_text(&name), 0);
    properties(buf, relation);
    if (verdict == GP_FAIL)
        result(buf, "failure", kind, text, NULL);
    else if (verdict == GP_SKIP)
        result(buf, "skipped", NULL, text, NULL);
    else if (verdict == GP_ERROR)
        result(buf, "error", kind, text, NULL);
    case_end(buf);
    gp_buf_free(&name);
}

static void relation_suite(struct gp_buf *buf, const struct gp_summary *summary)
{
    struct tally tally = {0};
    json_t *relation;
    size_t i;

    if (!json_array_size(summary->relations))
        return;
    json_array_foreach(summary->relations, i, relation)
    {
        tally_add(&tally, gp_summary_verdict(relation));
    }
    suite_begin(buf, "relations", &tally);
    json_array_foreach(summary->relations, i, relation)
    {
        relation_case(buf, relation);
    }
    gp_buf_str(buf, "  </testsuite>\n");
}

static void plan_error(struct gp_buf *buf, const char *name, const char *text)
{
    case_begin(buf, "gemmproof", name, 0);
    result(buf, "error", "plan", text, NULL);
    case_end(buf);
}

static int64_t plan_errors(const struct gp_summary *summary)
{
    return (summary->missing > 0) + summary->stopped +
           (summary->counts.run == 0) +
           (int64_t)json_array_size(summary->untested);
}

/* What has no record of its own and is not green all the same: without it a
 * reader that looks at test cases alone would show a stopped run as green. */
static void plan_suite(struct gp_buf *buf, const struct gp_summary *summary)
{
    size_t pairs = json_array_size(summary->untested);
    struct tally tally = {.tests = plan_errors(summary)};
    struct gp_buf text = {0};

    tally.errors = tally.tests;
    if (!tally.tests)
        return;
    suite_begin(buf, "plan", &tally);
    if (summary->missing) {
        gp_buf_printf(&text,
                      "%" PRId64 " of %" PRId64 " planned runs have no "
                      "record",
                      summary->missing, summary->counts.planned);
        plan_error(buf, "planned runs without a record", text.text);
    }
    if (summary->stopped)
        plan_error(buf, "end of the run", "the run was stopped before its end");
    if (summary->counts.run == 0)
        plan_error(buf, "nothing was tested", "no run was judged");
    for (size_t i = 0; i < pairs; i++)
        plan_error(buf, json_string_value(json_array_get(summary->untested, i)),
                   "of this backend and type no run was judged");
    gp_buf_str(buf, "  </testsuite>\n");
    gp_buf_free(&text);
}

static void totals(struct gp_buf *buf, const struct gp_summary *summary)
{
    const struct gp_counts *counts = &summary->counts;
    int64_t extra = plan_errors(summary);
    double seconds = 0;
    json_t *record;
    size_t i;

    json_array_foreach(summary->runs, i, record)
    {
        seconds += run_seconds(record);
    }
    gp_buf_printf(
        buf,
        "<testsuites name=\"gemmproof\" tests=\"%" PRId64
        "\" failures=\"%" PRId64 "\" errors=\"%" PRId64 "\" time=\"%.6f\">\n",
        (int64_t)json_array_size(summary->runs) + counts->relations + extra,
        counts->fail + counts->relations_failed,
        counts->error + summary->relation_errors + extra, seconds);
}

/* The sentences of the other reports, as a suite without tests would be
 * dropped by some readers: a comment, where "--" must not stand. */
static void comment(struct gp_buf *buf, const struct gp_summary *summary)
{
    struct gp_buf text = {0}, safe = {0};

    gp_summary_measured(summary, &text);
    gp_buf_str(&text, " ");
    gp_summary_counts(summary, &text);
    gp_escape_xml(&safe, text.text);
    gp_buf_str(buf, "<!-- ");
    for (size_t i = 0; i < safe.len; i++) {
        bool dashes = safe.text[i] == '-' && i && safe.text[i - 1] == '-';
        gp_buf_add(buf, dashes ? "=" : &safe.text[i], 1);
    }
    gp_buf_str(buf, " -->\n");
    gp_buf_free(&text);
    gp_buf_free(&safe);
}

void gp_writer_junit(const struct gp_summary *summary, struct gp_buf *buf)
{
    gp_buf_str(buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    comment(buf, summary);
    totals(buf, summary);
    plan_suite(buf, summary);
    run_suites(buf, summary);
    relation_suite(buf, summary);
    gp_buf_str(buf, "</testsuites>\n");
}
