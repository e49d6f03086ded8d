#include "harness/base/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/word.h"

static void list_add(struct gp_opt_list *list, const char *word)
{
    *(const char **)gp_grow((void **)&list->words, list->count, &list->room,
                            sizeof word) = word;
    list->count++;
    /* The end mark is not counted. */
    gp_grow((void **)&list->words, list->count, &list->room, sizeof word);
}

void gp_opt_list_free(struct gp_opt_list *list)
{
    free(list->words);
    *list = (struct gp_opt_list){0};
}

static int unknown(const struct gp_opt *options, const char *name,
                   struct gp_err *err)
{
    const char *names[64];
    size_t count = 0;

    for (; options[count].name && count < 63; count++)
        names[count] = options[count].name;
    names[count] = NULL;
    return gp_err_set(err, GP_ERR_USAGE,
                      "no option '%.60s': did you mean %s? --help lists them",
                      name, count ? gp_word_nearest(name, names) : "--help");
}

static int set_value(const struct gp_opt *option, const char *value,
                     struct gp_arena *arena, struct gp_err *err)
{
    char *end, *copy, *rest = NULL;
    uint64_t number;

    if (option->kind == GP_OPT_TEXT) {
        *(const char **)option->to = value;
        return 0;
    }
    if (option->kind == GP_OPT_LIST) {
        copy = gp_arena_copy(arena, value);
        if (!copy[strspn(copy, ",")])
            return gp_err_set(err, GP_ERR_USAGE, "%s has an empty value",
                              option->name);
        for (char *word = strtok_r(copy, ",", &rest); word;
             word = strtok_r(NULL, ",", &rest))
            list_add(option->to, word);
        return 0;
    }
    if (option->kind == GP_OPT_REAL) {
        double real = strtod(value, &end);
        if (*end || end == value || !(real > 0) || isinf(real))
            return gp_err_set(err, GP_ERR_USAGE,
                              "%s %.40s: not a number above 0", option->name,
                              value);
        *(double *)option->to = real;
        return 0;
    }
    if (gp_word_whole(value, 1, INT64_MAX, &number) != 0)
        return gp_err_set(err, GP_ERR_USAGE,
                          "%s %.40s: not a whole number from 1", option->name,
                          value);
    *(int64_t *)option->to = (int64_t)number;
    return 0;
}

static int parse_one(const struct gp_opt *options, int argc, char **argv,
                     int *at, struct gp_arena *arena, struct gp_err *err)
{
    const char *word = argv[*at];
    size_t len = strcspn(word, "=");
    const struct gp_opt *option = options;

    while (option->name && (strlen(option->name) != len ||
                            strncmp(option->name, word, len) != 0))
        option++;
    if (!option->name)
        return unknown(options, word, err);
    if (option->kind == GP_OPT_FLAG) {
        if (word[len])
            return gp_err_set(err, GP_ERR_USAGE, "%s takes no value",
                              option->name);
        *(bool *)option->to = true;
        return 0;
    }
    if (word[len])
        return set_value(option, word + len + 1, arena, err);
    if (*at + 1 >= argc)
        return gp_err_set(err, GP_ERR_USAGE, "%s needs a %s", option->name,
                          option->value);
    return set_value(option, argv[++*at], arena, err);
}

int gp_opt_parse(const struct gp_opt *options, int argc, char **argv,
                 struct gp_arena *arena, struct gp_opt_list *ret_rest,
                 struct gp_err *err)
{
    bool all_rest = false;

    for (int i = 0; i < argc; i++) {
        if (all_rest || argv[i][0] != '-' || argv[i][1] == '\0')
            list_add(ret_rest, argv[i]);
        else if (strcmp(argv[i], "--") == 0)
            all_rest = true;
        else if (parse_one(options, argc, argv, &i, arena, err) != 0)
            return -1;
    }
    return 0;
}

void gp_opt_help(const struct gp_opt *options, struct gp_buf *buf)
{
    for (; options->name; options++) {
        size_t from = buf->len;
        gp_buf_printf(buf, "  %s%s%s", options->name, options->value ? " " : "",
                      options->value ? options->value : "");
        while (buf->len - from < 26)
            gp_buf_str(buf, " ");
        gp_buf_printf(buf, " %s\n", options->help);
    }
}
