#include "harness/engine/known.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/load.h"

/* --- Lists --------------------------------------------------------------- */

/* The names of all checks, ended by NULL. */
static const char *const *check_names(void)
{
    static const char *names[64];
    size_t count = 0;

    for (; gp_checks[count] && count < sizeof names / sizeof *names - 1;
         count++)
        names[count] = gp_checks[count]->name;
    return names;
}

int gp_known_load(const char *path, struct gp_known *ret_known,
                  struct gp_err *err)
{
    return gp_load_known(path, check_names(), ret_known, err);
}

int gp_known_load_text(const char *text, size_t len, const char *name,
                       struct gp_known *ret_known, struct gp_err *err)
{
    return gp_load_known_text(text, len, name, check_names(), ret_known, err);
}

void gp_known_free(struct gp_known *known)
{
    free(known->entries);
    gp_arena_free(&known->arena);
    *known = (struct gp_known){0};
}

/* --- One run ------------------------------------------------------------- */

/* Bits that were read, and no errors that were counted: less is worse. */
static bool falls(const char *check)
{
    return strcmp(check, gp_check_fingerprint.name) == 0;
}

static bool worse(const char *check, double value, double listed)
{
    if (!isfinite(value))
        return true;
    return falls(check) ? value < listed : value > listed;
}

struct match {
    const struct gp_known_entry *entry; /* that allows most; NULL: none */
    bool flaky;
};

/* What all entries of a check that match the run allow together. */
static struct match match_all(const struct gp_known *known, const char *check,
                              const char *id, const char *gpu,
                              const char *version)
{
    struct match match = {0};

    for (size_t i = 0; i < known->count; i++) {
        const struct gp_known_entry *entry = &known->entries[i];
        if (strcmp(entry->check, check) != 0 ||
            fnmatch(entry->runs, id, 0) != 0 ||
            (entry->gpu && fnmatch(entry->gpu, gpu, 0) != 0) ||
            !gp_known_version_in(version, entry->library_from,
                                 entry->library_to))
            continue;
        match.flaky |= entry->flaky;
        if (!match.entry || worse(check, entry->worst, match.entry->worst))
            match.entry = entry;
    }
    return match;
}

/* Where to cut a sentence so that it has at most `most` bytes and no broken
 * character. */
static size_t cut_at(const char *text, size_t most)
{
    size_t len = strlen(text);

    if (len <= most)
        return len;
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

/* Join two sentences; where there is no room for both, the one that is not
 * `kept` is cut. */
static void join(struct gp_finding *finding, const char *head, const char *tail,
                 const char *kept)
{
    const size_t room = sizeof finding->text - 1;
    size_t head_most = kept == head ? room : room - strlen(tail);
    size_t head_len = cut_at(head, head_most);
    size_t tail_len = cut_at(tail, room - head_len);
    char text[sizeof finding->text];

    snprintf(text, sizeof text, "%.*s%.*s", (int)head_len, head, (int)tail_len,
             tail);
    memcpy(finding->text, text, sizeof text);
}

static void apply_to_fail(const struct gp_known_entry *entry,
                          struct gp_finding *finding)
{
    char tail[GP_KNOWN_REASON_MOST + 100];

    if (worse(finding->check, finding->value, entry->worst)) {
        snprintf(tail, sizeof tail, " [worse than listed (%.9g %c %.9g): %.*s]",
                 finding->value, falls(finding->check) ? '<' : '>',
                 entry->worst, GP_KNOWN_REASON_MOST, entry->reason);
    } else {
        snprintf(tail, sizeof tail, " [known: %.*s]", GP_KNOWN_REASON_MOST,
                 entry->reason);
        finding->verdict = GP_PASS;
        finding->flags |= GP_KNOWN;
    }
    join(finding, finding->text, tail, tail);
}

static void apply_to_pass(const struct match *match, struct gp_finding *finding)
{
    char head[GP_KNOWN_REASON_MOST + 120];

    if (match->flaky)
        return;
    snprintf(head, sizeof head,
             "listed as failing (%.*s) and does not fail any more: take it off "
             "the list, line %d; ",
             GP_KNOWN_REASON_MOST, match->entry->reason, match->entry->line);
    finding->verdict = GP_FAIL;
    join(finding, head, finding->text, head);
}

void gp_known_apply(const struct gp_known *known, const char *gpu,
                    const char *library_version, struct gp_result *result)
{
    const struct gp_run *run = result->run;

    if (!known || !result->judged || run->fault.kind != GP_FAULT_NONE ||
        (result->verdict != GP_PASS && result->verdict != GP_FAIL))
        return;
    for (int i = 0; i < result->findings_count; i++) {
        struct gp_finding *finding = &result->findings[i];
        struct match match =
            match_all(known, finding->check, run->id, gpu, library_version);
        if (match.entry && finding->verdict == GP_FAIL)
            apply_to_fail(match.entry, finding);
        else if (match.entry && finding->verdict == GP_PASS)
            apply_to_pass(&match, finding);
    }
    gp_judge_conclude(result);
}

/* --- The plan ------------------------------------------------------------ */

size_t gp_known_unmatched(const struct gp_known *known,
                          const struct gp_plan *plan,
                          const struct gp_known_entry **ret_first)
{
    size_t unmatched = 0;

    for (size_t e = 0; e < known->count; e++) {
        const struct gp_known_entry *entry = &known->entries[e];
        size_t r = 0;
        while (r < plan->runs_count &&
               fnmatch(entry->runs, plan->runs[r].id, 0) != 0)
            r++;
        if (r == plan->runs_count && unmatched++ == 0)
            *ret_first = entry;
    }
    return unmatched;
}
