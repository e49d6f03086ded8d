#include "harness/engine/redact.h"

#include <ctype.h>
#include <string.h>

/* Values of these keys go whatever they are. */
static const char *const named[] = {
    "host", "uuid", "pci_bus_id", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
};

static bool is_named(const char *key)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(named[i], key) == 0)
            return true;
    return false;
}

/* Does an absolute path or a UUID begin at `at`? The length of it, or 0. */
static size_t private_part(const char *text, const char *at)
{
    bool at_start = at == text || strchr(" \t'\"=(:,;[", at[-1]);

    if (!at_start)
        return 0;
    if ((at[0] == '/' && (isalnum((unsigned char)at[1]) || at[1] == '.')) ||
        ((strncmp(at, "GPU-", 4) == 0 || strncmp(at, "MIG-", 4) == 0) &&
         isxdigit((unsigned char)at[4])))
        return strcspn(at, " \t'\"),;]:");
    return 0;
}

static json_t *redacted(const char *text)
{
    struct gp_buf out = {0};
    json_t *made;

    for (const char *at = text; *at;) {
        size_t len = private_part(text, at);
        gp_buf_add(&out, len ? "-" : at, 1);
        at += len ? len : 1;
    }
    made = gp_json_text(gp_buf_text(&out));
    gp_buf_free(&out);
    return made;
}

/* A path that is the whole of a string, blanks and all; its :LINE stays. */
static json_t *redacted_path(const char *text)
{
    const char *line = strrchr(text, ':');

    if (*text != '/')
        return redacted(text);
    if (line && line[1] && strspn(line + 1, "0123456789") == strlen(line + 1))
        return json_sprintf("-%s", line);
    return json_string("-");
}

/* The words of a command: those that are paths, and the values of options that
 * take one, go whole. */
static void redact_command(json_t *words)
{
    static const char *const options[] = {"--out", "--known", "--cublas", NULL};
    bool value = false;
    json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
    {
        const char *text = json_string_value(word);
        bool whole = value;
        value = false;
        for (const char *const *option = options; text && *option; option++) {
            size_t len = strlen(*option);
            value = value || strcmp(text, *option) == 0;
            whole =
                whole || (strncmp(text, *option, len) == 0 && text[len] == '=');
        }
        if (text && whole)
            json_array_set_new(words, i, json_string("-"));
        else if (text)
            json_array_set_new(words, i, redacted_path(text));
    }
}

/* Keys whose strings are paths. */
static bool holds_paths(const char *key)
{
    return strcmp(key, "source") == 0 || strcmp(key, "known") == 0 ||
           strcmp(key, "path") == 0 || strcmp(key, "lt_path") == 0;
}

static void redact_paths(json_t *array)
{
    json_t *value;
    size_t i;

    json_array_foreach(array, i, value)
    {
        if (json_is_string(value))
            json_array_set_new(array, i,
                               redacted_path(json_string_value(value)));
    }
}

void gp_redact(json_t *record)
{
    const char *key;
    json_t *value;
    void *next;
    size_t i;

    json_object_foreach_safe(record, next, key, value)
    {
        if (is_named(key) && json_is_string(value))
            gp_json_set(record, key, json_string("-"));
        else if (strcmp(key, "command") == 0)
            redact_command(value);
        else if (strcmp(key, "sources") == 0)
            redact_paths(value);
        else if (holds_paths(key) && json_is_string(value))
            gp_json_set(record, key, redacted_path(json_string_value(value)));
        else if (json_is_string(value))
            gp_json_set(record, key, redacted(json_string_value(value)));
        else
            gp_redact(value);
    }
    json_array_foreach(record, i, value)
    {
        if (json_is_string(value))
            json_array_set_new(record, i, redacted(json_string_value(value)));
        else
            gp_redact(value);
    }
}
