/* Options by a table. */
#include <criterion/criterion.h>
#include <string.h>

#include "harness/base/opt.h"

/* What the table below sets. */
struct set {
    bool flag;
    const char *text;
    int64_t number;
    struct gp_opt_list list, rest;
    struct gp_arena arena;
    struct gp_err err;
};

enum { WORDS = 12 };

/* Parse up to twelve words, NULL at the end. */
static int parse(struct set *set, const char *const *words)
{
    const struct gp_opt options[] = {
        {"--flag", NULL, GP_OPT_FLAG, &set->flag, "a flag"},
        {"--text", "TEXT", GP_OPT_TEXT, &set->text, "a text"},
        {"--number", "N", GP_OPT_WHOLE, &set->number, "a number"},
        {"--list", "WORD", GP_OPT_LIST, &set->list, "words"},
        {NULL, NULL, GP_OPT_FLAG, NULL, NULL},
    };
    char *argv[WORDS] = {0};
    int argc = 0;

    memset(set, 0, sizeof *set);
    for (; words[argc]; argc++)
        argv[argc] = (char *)words[argc];
    return gp_opt_parse(options, argc, argv, &set->arena, &set->rest,
                        &set->err);
}

static void done(struct set *set)
{
    gp_opt_list_free(&set->list);
    gp_opt_list_free(&set->rest);
    gp_arena_free(&set->arena);
}

Test(opt, all_kinds)
{
    static const char *const words[WORDS] = {
        "one", "--flag", "--text", "a b", "--number", "5", "two", NULL};
    struct set set;

    cr_assert_eq(parse(&set, words), 0, "%s", set.err.text);
    cr_assert(set.flag);
    cr_assert_str_eq(set.text, "a b");
    cr_assert_eq(set.number, 5);
    cr_assert_eq(set.list.count, 0);
    cr_assert_null(set.list.words);
    cr_assert_eq(set.rest.count, 2);
    cr_assert_str_eq(set.rest.words[0], "one");
    cr_assert_str_eq(set.rest.words[1], "two");
    cr_assert_null(set.rest.words[2]);
    done(&set);
}

Test(opt, lists_are_collected)
{
    static const char *const words[WORDS] = {
        "--list", "a,b", "--list=c", "--text=x=y", "--text", "z", NULL};
    struct set set;

    cr_assert_eq(parse(&set, words), 0, "%s", set.err.text);
    cr_assert_eq(set.list.count, 3);
    cr_assert_str_eq(set.list.words[0], "a");
    cr_assert_str_eq(set.list.words[1], "b");
    cr_assert_str_eq(set.list.words[2], "c");
    cr_assert_null(set.list.words[3]);
    cr_assert_str_eq(set.text, "z"); /* the last one counts */
    done(&set);
}

Test(opt, the_end_of_the_options)
{
    static const char *const words[WORDS] = {"-", "--", "--flag", "--", NULL};
    static const char *const equals[WORDS] = {"--text=", NULL};
    struct set set;

    cr_assert_eq(parse(&set, words), 0);
    cr_assert_not(set.flag);
    cr_assert_eq(set.rest.count, 3);
    cr_assert_str_eq(set.rest.words[0], "-");
    cr_assert_str_eq(set.rest.words[1], "--flag");
    cr_assert_str_eq(set.rest.words[2], "--");
    done(&set);
    cr_assert_eq(parse(&set, equals), 0);
    cr_assert_str_eq(set.text, "");
    done(&set);
}

static void refused(const char *first, const char *second, const char *says)
{
    const char *const words[WORDS] = {first, second, NULL};
    struct set set;

    cr_assert_eq(parse(&set, words), -1, "%s %s", first, second);
    cr_assert_eq(set.err.kind, GP_ERR_USAGE);
    cr_assert_not_null(strstr(set.err.text, says), "'%s' has no '%s'",
                       set.err.text, says);
    done(&set);
}

Test(opt, what_is_refused)
{
    static const char *const numbers[] = {
        "0",  "-1", "x",  "5x", "", "1.5", "1e3", "9223372036854775808",
        " 8", "8 ", "08", "+8"};

    refused("--flg", NULL, "did you mean --flag?");
    refused("--Number=5", NULL, "--number");
    refused("-f", NULL, "no option '-f'");
    refused("--flag=yes", NULL, "--flag takes no value");
    refused("--text", NULL, "--text needs a TEXT");
    refused("--list", NULL, "--list needs a WORD");
    refused("--list", "", "--list has an empty value");
    /* Nothing but commas is nothing as well, not "all". */
    refused("--list", ",", "--list has an empty value");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        refused("--number", numbers[i], "not a whole number from 1");
}

Test(opt, help_has_a_line_for_each)
{
    const struct gp_opt options[] = {
        {"--flag", NULL, GP_OPT_FLAG, NULL, "a flag"},
        {"--text", "TEXT", GP_OPT_TEXT, NULL, "a text"},
        {NULL, NULL, GP_OPT_FLAG, NULL, NULL},
    };
    struct gp_buf buf = {0};

    gp_opt_help(options, &buf);
    cr_assert_str_eq(gp_buf_text(&buf), "  --flag                   a flag\n"
                                        "  --text TEXT              a text\n");
    gp_buf_free(&buf);
}
