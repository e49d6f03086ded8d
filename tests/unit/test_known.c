/* Known faults: which runs an entry is about, and what it does to them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/known.h"

#define ID "f16.nn.8x1x64.exact.s1/cublas/default/r10"
#define GPU "NVIDIA H200"
#define VERSION "13.1.0"

static void load(const char *text, struct gp_known *known)
{
    struct gp_err err;

    if (gp_known_load_text(text, strlen(text), "known.yaml", known, &err) != 0)
        cr_assert_fail("%s", err.text);
}

/* A list of one entry about `exact`, with more keys. */
static void load_one(const char *runs, const char *verdict, const char *more,
                     struct gp_known *known)
{
    char text[600];

    snprintf(text, sizeof text,
             "known:\n  - runs: \"%s\"\n    check: exact\n    verdict: %s\n"
             "    worst: 12\n    reason: the last k is lost\n%s",
             runs, verdict, more);
    load(text, known);
}

static struct gp_run run_of(const char *id)
{
    return (struct gp_run){.id = id};
}

static void add(struct gp_result *result, const char *check,
                enum gp_verdict verdict, double value)
{
    struct gp_finding *finding = &result->findings[result->findings_count++];

    *finding =
        (struct gp_finding){.check = check, .verdict = verdict, .value = value};
    snprintf(finding->text, sizeof finding->text, "what %s saw", check);
}

/* A judged run with one finding of `exact`. */
static struct gp_result result_of(const struct gp_run *run,
                                  enum gp_verdict verdict, double value)
{
    struct gp_result result = {.run = run, .judged = true};

    add(&result, "exact", verdict, value);
    gp_judge_conclude(&result);
    return result;
}

static bool says(const struct gp_result *result, const char *words)
{
    return strstr(result->findings[0].text, words) != NULL;
}

/* Does the list excuse a failing run? */
static bool excuses(const struct gp_known *known, const char *id,
                    const char *gpu, const char *version)
{
    struct gp_run run = run_of(id);
    struct gp_result result = result_of(&run, GP_FAIL, 12);

    gp_known_apply(known, gpu, version, &result);
    return result.verdict == GP_PASS && result.flags == GP_KNOWN;
}

/* --- Which runs ----------------------------------------------------------- */

Test(known, version_ranges)
{
    static const struct {
        const char *version, *from, *to;
        bool in;
    } rows[] = {
        {"13.1.0", "13.1.0", "13.1.0", true},
        {"13.1", "13.1.0", "13.1.0", true},
        {"13.1.0", "13.1", "13.1", true},
        {"13.1.1", "13.1", "13.1", false},
        {"13.2.0", "13.1.0", "13.1.0", false},
        {"13.0.9", "13.1.0", NULL, false},
        {"13.10.0", "13.9.0", NULL, true},
        {"13.9.0", NULL, "13.10.0", true},
        {"9.9", NULL, "13", true},
        {"013.01", "13.1", "13.1", true},
        {"0.3.21.dev", "0.3.21", "0.3.21", true},
        {"13.1.0", NULL, NULL, true},
        {"", NULL, NULL, true},
        {"unknown", NULL, NULL, true},
        {"", "0", NULL, false},
        {"unknown", NULL, "99", false},
        {"99999999999999999999.1", NULL, "100000000", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_eq(
            gp_known_version_in(rows[i].version, rows[i].from, rows[i].to),
            rows[i].in, "%s in %s..%s", rows[i].version,
            rows[i].from ? rows[i].from : "", rows[i].to ? rows[i].to : "");
}

Test(known, matches_by_id_gpu_and_library)
{
    struct gp_known known = {0};

    load_one("f16.*8x1x*.exact.*/cublas/default*", "fail",
             "    gpu: \"NVIDIA H200*\"\n    library: 13.0.0..13.1.0\n",
             &known);
    cr_assert(excuses(&known, ID, GPU, VERSION));
    cr_assert(excuses(&known, ID, "NVIDIA H200 NVL", "13.0.2"));
    cr_assert_not(excuses(&known, ID, "NVIDIA H100", VERSION));
    cr_assert_not(excuses(&known, ID, "", VERSION));
    cr_assert_not(excuses(&known, ID, GPU, "13.1.1"));
    cr_assert_not(excuses(&known, ID, GPU, ""));
    cr_assert_not(excuses(&known, "b" ID, GPU, VERSION));
    cr_assert_not(excuses(&known, "f16.nn.8x2x64.exact.s1/cublas/default/r10",
                          GPU, VERSION));
    gp_known_free(&known);
    /* The whole id, not a part of it. */
    load_one("f16.nn.8x1x64", "fail", "", &known);
    cr_assert_not(excuses(&known, ID, GPU, VERSION));
    gp_known_free(&known);
    load_one("*", "fail", "    library: ..13\n", &known);
    cr_assert(excuses(&known, ID, "", "12.9.1"));
    cr_assert_not(excuses(&known, ID, "", VERSION));
    gp_known_free(&known);
}

Test(known, unmatched_entries_of_a_plan)
{
    struct gp_known known = {0};
    struct gp_run runs[] = {run_of(ID)};
    struct gp_plan plan = {.runs = runs, .runs_count = 1};
    const struct gp_known_entry *first = NULL;

    load("known:\n"
         "  - {runs: 'f16.*', check: exact, verdict: fail, worst: 1, "
         "reason: x}\n"
         "  - {runs: 'f32.*', check: exact, verdict: fail, worst: 1, "
         "reason: x}\n"
         "  - {runs: 'f64.*', check: exact, verdict: fail, worst: 1, "
         "reason: x}\n",
         &known);
    cr_assert_eq(gp_known_unmatched(&known, &plan, &first), 2);
    cr_assert_eq(first, &known.entries[1]);
    cr_assert_eq(first->line, 3);
    gp_known_free(&known);
}

/* --- What becomes of them ---------------------------------------------------
 */

Test(known, a_listed_fail_passes)
{
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);
    struct gp_result result = result_of(&run, GP_FAIL, 12);

    load_one("f16.*", "fail", "", &known);
    gp_known_apply(&known, GPU, VERSION, &result);
    cr_assert_eq(result.verdict, GP_PASS);
    cr_assert_eq(result.flags, GP_KNOWN);
    cr_assert_eq(result.findings[0].flags, GP_KNOWN);
    cr_assert_str_eq(result.findings[0].text,
                     "what exact saw [known: the last k is lost]");
    gp_known_free(&known);
}

Test(known, worse_than_listed_fails)
{
    static const double values[] = {13, INFINITY, NAN, -INFINITY};
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);

    for (int flaky = 0; flaky < 2; flaky++) {
        load_one("f16.*", flaky ? "flaky" : "fail", "", &known);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            struct gp_result result = result_of(&run, GP_FAIL, values[i]);
            gp_known_apply(&known, GPU, VERSION, &result);
            cr_assert_eq(result.verdict, GP_FAIL);
            cr_assert_eq(result.flags, 0);
            cr_assert(says(&result, "what exact saw [worse than listed ("));
            cr_assert(says(&result, "> 12): the last k is lost]"));
        }
        gp_known_free(&known);
    }
}

Test(known, a_fault_that_is_gone_fails)
{
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);
    struct gp_result result = result_of(&run, GP_PASS, 0);

    load_one("f16.*", "fail", "", &known);
    gp_known_apply(&known, GPU, VERSION, &result);
    cr_assert_eq(result.verdict, GP_FAIL);
    cr_assert_eq(result.flags, 0);
    cr_assert(says(&result, "listed as failing (the last k is lost) and does "
                            "not fail any more: take it off the list, line 2"));
    gp_known_free(&known);
}

Test(known, flaky_may_be_either)
{
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);
    struct gp_result good = result_of(&run, GP_PASS, 0);
    struct gp_result bad = result_of(&run, GP_FAIL, 3);

    load_one("f16.*", "flaky", "", &known);
    gp_known_apply(&known, GPU, VERSION, &good);
    cr_assert_eq(good.verdict, GP_PASS);
    cr_assert_eq(good.flags, 0);
    cr_assert_str_eq(good.findings[0].text, "what exact saw");
    gp_known_apply(&known, GPU, VERSION, &bad);
    cr_assert_eq(bad.verdict, GP_PASS);
    cr_assert_eq(bad.flags, GP_KNOWN);
    gp_known_free(&known);
}

Test(known, several_entries_allow_what_one_of_them_does)
{
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);
    struct gp_result bad = result_of(&run, GP_FAIL, 50);
    struct gp_result good = result_of(&run, GP_PASS, 0);

    load("known:\n"
         "  - {runs: '*', check: exact, verdict: flaky, worst: 1, reason: x}\n"
         "  - {runs: '*', check: exact, verdict: fail, worst: 60, reason: y}\n"
         "  - {runs: '*', check: exact, verdict: fail, worst: 2, reason: z}\n",
         &known);
    gp_known_apply(&known, GPU, VERSION, &bad);
    cr_assert_eq(bad.verdict, GP_PASS);
    cr_assert(says(&bad, "[known: y]"));
    gp_known_apply(&known, GPU, VERSION, &good);
    cr_assert_eq(good.verdict, GP_PASS);
    gp_known_free(&known);
}

Test(known, fewer_bits_are_worse)
{
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);

    load("known:\n  - {runs: '*', check: fingerprint, verdict: fail, worst: "
         "11, reason: x}\n",
         &known);
    for (int bits = 10; bits <= 12; bits++) {
        struct gp_result result = {.run = &run, .judged = true};
        add(&result, "fingerprint", GP_FAIL, bits);
        gp_judge_conclude(&result);
        gp_known_apply(&known, GPU, VERSION, &result);
        cr_assert_eq(result.verdict, bits < 11 ? GP_FAIL : GP_PASS);
        cr_assert_eq(says(&result, "worse than listed (10 < 11)"), bits < 11);
    }
    gp_known_free(&known);
}

Test(known, only_the_listed_check_is_excused)
{
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);
    struct gp_result result = {.run = &run, .judged = true};

    load_one("*", "fail", "", &known);
    add(&result, "exact", GP_FAIL, 12);
    add(&result, "bound", GP_FAIL, 2);
    gp_judge_conclude(&result);
    gp_known_apply(&known, GPU, VERSION, &result);
    cr_assert_eq(result.verdict, GP_FAIL);
    cr_assert_eq(result.findings[0].verdict, GP_PASS);
    cr_assert_eq(result.findings[1].verdict, GP_FAIL);
    cr_assert_str_eq(result.findings[1].text, "what bound saw");
    gp_known_free(&known);
}

Test(known, an_error_behind_a_known_fail_is_an_error)
{
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);
    struct gp_result result = {.run = &run, .judged = true};

    load_one("*", "fail", "", &known);
    add(&result, "exact", GP_FAIL, 12);
    add(&result, "repeat", GP_ERROR, 1);
    gp_judge_conclude(&result);
    cr_assert_eq(result.verdict, GP_FAIL);
    gp_known_apply(&known, GPU, VERSION, &result);
    cr_assert_eq(result.verdict, GP_ERROR);
    cr_assert_str_eq(result.err.text, "what repeat saw");
    gp_known_free(&known);
}

Test(known, planted_faults_errors_and_skips_are_left_alone)
{
    struct gp_known known = {0};
    struct gp_run run = run_of(ID), planted = run_of(ID);
    struct gp_result bad, good, error = {.run = &run, .verdict = GP_ERROR};
    struct gp_result skip = {.run = &run, .verdict = GP_SKIP};

    planted.fault.kind = GP_FAULT_BIT;
    bad = result_of(&planted, GP_FAIL, 1);
    good = result_of(&planted, GP_PASS, 0);
    load_one("*", "fail", "", &known);
    gp_known_apply(&known, GPU, VERSION, &bad);
    gp_known_apply(&known, GPU, VERSION, &good);
    gp_known_apply(&known, GPU, VERSION, &error);
    gp_known_apply(&known, GPU, VERSION, &skip);
    cr_assert_eq(bad.verdict, GP_FAIL);
    cr_assert_str_eq(bad.findings[0].text, "what exact saw");
    cr_assert_eq(good.verdict, GP_PASS);
    cr_assert_eq(error.verdict, GP_ERROR);
    cr_assert_eq(skip.verdict, GP_SKIP);
    gp_known_free(&known);
}

Test(known, no_list_and_an_empty_one_change_nothing)
{
    struct gp_known known = {0};

    cr_assert_not(excuses(NULL, ID, GPU, VERSION));
    load("known: []\n", &known);
    cr_assert_eq(known.count, 0);
    cr_assert_not(excuses(&known, ID, GPU, VERSION));
    gp_known_free(&known);
}

/* The reason always has its room; what the check said is cut. */
Test(known, long_sentences)
{
    static const enum gp_verdict verdicts[] = {GP_PASS, GP_FAIL};
    char reason[GP_KNOWN_REASON_MOST + 1], text[600];
    struct gp_known known = {0};
    struct gp_run run = run_of(ID);

    for (size_t i = 0; i < GP_KNOWN_REASON_MOST; i++)
        reason[i] = i % 2 ? '\xb5' : '\xc2';
    reason[GP_KNOWN_REASON_MOST] = '\0';
    snprintf(text, sizeof text,
             "known:\n  - {runs: '*', check: exact, verdict: fail, worst: 12, "
             "reason: %s}\n",
             reason);
    load(text, &known);
    for (size_t i = 0; i < 2; i++) {
        struct gp_result result = result_of(&run, verdicts[i], 12);
        struct gp_finding *finding = &result.findings[0];
        memset(finding->text, 'x', sizeof finding->text - 1);
        gp_known_apply(&known, GPU, VERSION, &result);
        cr_assert_lt(strnlen(finding->text, sizeof finding->text),
                     sizeof finding->text);
        cr_assert(strstr(finding->text, reason));
        cr_assert(strchr(finding->text, 'x'));
    }
    gp_known_free(&known);
}
