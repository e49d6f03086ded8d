#include <stdio.h>
#include <string.h>

#include "harness/base/word.h"
#include "harness/cli/cli.h"
#include "reports/compare.h"

enum { SELECTIONS = 8, LISTED = 50 };

struct form {
    const char *name;
    void (*write)(const struct gp_comparison *comparison, int64_t most,
                  struct gp_buf *buf);
};

static const struct form forms[] = {{"text", gp_comparison_text},
                                    {"markdown", gp_comparison_markdown},
                                    {"json", gp_comparison_json},
                                    {NULL, NULL}};

struct asked {
    const char *format, *fail_on;
    struct gp_opt_list old_only, new_only;
    bool all;
};

static int known_word(const char *what, const char *word,
                      const char *const *words, struct gp_err *err)
{
    for (const char *const *row = words; *row; row++)
        if (strcmp(*row, word) == 0)
            return 0;
    return gp_err_set(err, GP_ERR_USAGE, "no %s '%.40s': did you mean '%s'?",
                      what, word, gp_word_nearest(word, words));
}

/* KEY=VALUE of the command line. */
static int select_runs(const struct gp_opt_list *asked, struct gp_arena *arena,
                       struct gp_selection *ret_only, struct gp_err *err)
{
    if (asked->count >= SELECTIONS)
        return gp_err_set(err, GP_ERR_USAGE, "more than %d selections",
                          SELECTIONS - 1);
    for (size_t i = 0; i < asked->count; i++) {
        const char *equals = strchr(asked->words[i], '=');
        const char *key;
        if (!equals)
            return gp_err_set(err, GP_ERR_USAGE,
                              "'%.60s' is not KEY=VALUE, as in "
                              "workspace=4096:8",
                              asked->words[i]);
        key = gp_arena_printf(arena, "%.*s", (int)(equals - asked->words[i]),
                              asked->words[i]);
        if (known_word("key", key, gp_selection_keys, err) != 0)
            return -1;
        ret_only[i] = (struct gp_selection){key, equals + 1};
    }
    return 0;
}

/* 1 where what must not happen happened, 3 where runs that should be compared
 * were not. */
static int status_of(const struct gp_comparison *c, const char *fail_on)
{
    bool stopped = c->old_side->stopped || c->new_side->stopped;
    int64_t bad = 0;

    if (!fail_on)
        return c->both > 0 ? GP_GREEN : GP_UNTESTED;
    if (strcmp(fail_on, "bits") == 0)
        bad = c->bits;
    else if (strcmp(fail_on, "accuracy") == 0)
        bad = c->worse;
    else
        bad = c->verdict;
    if (bad > 0)
        return GP_FAILED;
    return stopped || c->only_old > 0 || c->both == 0 || c->unknown > 0
               ? GP_UNTESTED
               : GP_GREEN;
}

static int compare_runs(const struct asked *asked,
                        const struct gp_opt_list *places,
                        struct gp_arena *arena, int *ret_status,
                        struct gp_err *err)
{
    static const char *const reasons[] = {"bits", "accuracy", "verdict", NULL};
    const char *names[] = {"text", "markdown", "json", NULL};
    struct gp_selection only[2][SELECTIONS] = {{{NULL, NULL}}};
    struct gp_summary sides[2] = {{0}};
    struct gp_comparison made = {0};
    struct gp_buf buf = {0};
    const struct form *form = forms;
    int status = -1;

    if (places->count != 2)
        return gp_err_set(err, GP_ERR_USAGE,
                          "compare takes two runs, the old one and the new "
                          "one: a folder or its results.jsonl each");
    if ((asked->fail_on &&
         known_word("reason to fail", asked->fail_on, reasons, err) != 0) ||
        known_word("format", asked->format, names, err) != 0 ||
        select_runs(&asked->old_only, arena, only[0], err) != 0 ||
        select_runs(&asked->new_only, arena, only[1], err) != 0)
        return -1;
    while (strcmp(form->name, asked->format) != 0)
        form++;
    if (gp_summary_read(gp_cli_journal(places->words[0], arena), &sides[0],
                        err) == 0 &&
        gp_summary_read(gp_cli_journal(places->words[1], arena), &sides[1],
                        err) == 0 &&
        gp_comparison_make(&sides[0], only[0], &sides[1], only[1], &made,
                           err) == 0) {
        form->write(&made, asked->all ? 0 : LISTED, &buf);
        fputs(gp_buf_text(&buf), stdout);
        *ret_status = status_of(&made, asked->fail_on);
        status = 0;
    }
    gp_buf_free(&buf);
    gp_comparison_free(&made);
    gp_summary_free(&sides[0]);
    gp_summary_free(&sides[1]);
    return status;
}

int gp_cmd_compare(const struct gp_cli *cli, int argc, char **argv)
{
    struct asked asked = {.format = "text"};
    bool help = false;
    const struct gp_opt options[] = {
        {"--old", "KEY=VALUE", GP_OPT_LIST, &asked.old_only,
         "only such runs of the old one; pairs need not agree in KEY: "
         "backend, entry, mode, workspace, env"},
        {"--new", "KEY=VALUE", GP_OPT_LIST, &asked.new_only,
         "the same for the new one"},
        {"--fail-on", "WHAT", GP_OPT_TEXT, &asked.fail_on,
         "exit 1 where bits, accuracy (for the worse) or verdict changed, 3 "
         "where a run of the old one has nothing to compare with"},
        {"--all", NULL, GP_OPT_FLAG, &asked.all, "list every change, not 50"},
        {"--format", "FORMAT", GP_OPT_TEXT, &asked.format,
         "text (the default), markdown, json"},
        {"--help", NULL, GP_OPT_FLAG, &help, "this text"},
        {NULL, NULL, GP_OPT_FLAG, NULL, NULL},
    };
    struct gp_opt_list rest = {0};
    struct gp_arena arena = {0};
    struct gp_err err;
    int status = GP_GREEN;

    (void)cli;
    if (gp_opt_parse(options, argc, argv, &arena, &rest, &err) != 0)
        status = gp_cli_usage(&err);
    else if (help)
        status = gp_cli_help("compare", options);
    else if (compare_runs(&asked, &rest, &arena, &status, &err) != 0)
        status = gp_cli_usage(&err);
    gp_opt_list_free(&asked.old_only);
    gp_opt_list_free(&asked.new_only);
    gp_opt_list_free(&rest);
    gp_arena_free(&arena);
    return status;
}
