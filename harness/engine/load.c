/* One file: maps by their tables of keys, the top, includes, cases. The
 * document is made in load_yaml.c, the values of a case are read in
 * load_axis.c. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "harness/engine/load.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "harness/base/word.h"

enum {
    FILES_DEPTH_MOST = 32,
    CASES_MOST = 10000,
    KEYS_MOST = 64, /* in one table of words */
    WORD_MOST = 40
};

static const char CASE_FILE[] = "a case file";

/* --- Nodes -------------------------------------------------------------- */

const char *gp_load_kind(const yaml_node_t *node)
{
    return node->type == YAML_SEQUENCE_NODE  ? "a list"
           : node->type == YAML_MAPPING_NODE ? "a map"
                                             : "a single value";
}

int gp_load_find(const void *table, size_t stride, const char *word,
                 const char **ret_nearest)
{
    const char *names[KEYS_MOST + 1] = {0};
    int count = 0;

    for (;; count++) {
        memcpy(&names[count], (const char *)table + (size_t)count * stride,
               sizeof *names);
        if (!names[count])
            break;
        if (strcmp(names[count], word) == 0)
            return count;
        assert(count < KEYS_MOST);
    }
    *ret_nearest = gp_word_nearest(word, names);
    return -1;
}

/* The row of a key in the table; -1 and an error if it is not one. */
static int key_find(const struct gp_load *load, const yaml_node_t *node,
                    const struct gp_load_key *keys, const char *what,
                    struct gp_err *err)
{
    const char *word, *nearest;
    int row;

    if (node->type != YAML_SCALAR_NODE)
        return gp_load_fail(load, node, err, "a key of %s is a word, not %s",
                            what, gp_load_kind(node));
    word = (const char *)node->data.scalar.value;
    if (strcmp(word, "<<") == 0)
        return gp_load_fail(load, node, err,
                            "merge keys (<<) are not read: write the keys out, "
                            "or give a value an &anchor and repeat it by *");
    row = gp_load_find(keys, sizeof *keys, word, &nearest);
    if (row < 0 || strlen(word) != node->data.scalar.length)
        return gp_load_fail(load, node, err,
                            "no key '%s' in %s: did you mean '%s'?",
                            gp_load_show_node(node).text, what,
                            row < 0 ? nearest : keys[row].name);
    return row;
}

int gp_load_map(struct gp_load *load, yaml_node_t *node,
                const struct gp_load_key *keys, const char *what,
                struct gp_err *err)
{
    yaml_node_t *values[KEYS_MOST] = {0};
    size_t lines[KEYS_MOST] = {0};

    if (node->type != YAML_MAPPING_NODE)
        return gp_load_fail(load, node, err,
                            "%s is a map of keys and values, not %s", what,
                            gp_load_kind(node));
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(load->document, pair->key);
        int row = key_find(load, key, keys, what, err);
        if (row < 0)
            return -1;
        if (values[row])
            return gp_load_fail(load, key, err,
                                "the key '%s' stands twice in %s, in lines %zu "
                                "and %zu: keep one",
                                keys[row].name, what, lines[row],
                                key->start_mark.line + 1);
        values[row] = yaml_document_get_node(load->document, pair->value);
        lines[row] = key->start_mark.line + 1;
    }
    for (int row = 0; keys[row].name; row++)
        if (keys[row].required && !values[row])
            return gp_load_fail(load, node, err, "%s has no '%s' (%s): add it",
                                what, keys[row].name, keys[row].help);
    for (int row = 0; keys[row].name; row++)
        if (values[row] &&
            keys[row].read(load, &keys[row], values[row], err) < 0)
            return -1;
    return 0;
}

int gp_load_scalar(const struct gp_load *load, const yaml_node_t *node,
                   const char *what, struct gp_err *err)
{
    if (node->type != YAML_SCALAR_NODE)
        return gp_load_fail(load, node, err, "%s is a single value, not %s",
                            what, gp_load_kind(node));
    if (node->data.scalar.length == 0 &&
        node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return gp_load_fail(load, node, err, "%s has no value here", what);
    return 0;
}

int gp_load_word(const struct gp_load *load, const yaml_node_t *node,
                 const char *what, const char **ret_word, struct gp_err *err)
{
    const char *word;
    size_t len = 0;

    if (gp_load_scalar(load, node, what, err) < 0)
        return -1;
    word = (const char *)node->data.scalar.value;
    while (word[len] > ' ' && word[len] <= '~')
        len++;
    if (len == 0 || len > WORD_MOST || len != node->data.scalar.length)
        return gp_load_fail(load, node, err,
                            "%s is '%s': write one word of 1 to 40 printable "
                            "ASCII characters",
                            what, gp_load_show_node(node).text);
    *ret_word = word;
    return 0;
}

int gp_load_name(const struct gp_load *load, const yaml_node_t *node,
                 const char *what, const char **ret_word, struct gp_err *err)
{
    const char *word;

    if (gp_load_word(load, node, what, &word, err) < 0)
        return -1;
    if (word[strspn(word, GP_LOAD_NAME)])
        return gp_load_fail(load, node, err,
                            "%s is '%s': write it with the characters a to z, "
                            "0 to 9 and - only",
                            what, word);
    *ret_word = word;
    return 0;
}

/* --- The top ------------------------------------------------------------ */

static int read_suite(struct gp_load *load, const struct gp_load_key *key,
                      yaml_node_t *node, struct gp_err *err)
{
    const char *name = "";

    (void)key;
    if (gp_load_name(load, node, "the suite", &name, err) < 0)
        return -1;
    if (load->names_suite)
        load->suite->name = gp_arena_copy(&load->suite->arena, name);
    return 0;
}

static int read_about(struct gp_load *load, const struct gp_load_key *key,
                      yaml_node_t *node, struct gp_err *err)
{
    const char *text;

    (void)key;
    if (gp_load_about(load, node, &text, err) < 0)
        return -1;
    if (load->names_suite)
        load->suite->about = gp_arena_copy(&load->suite->arena, text);
    return 0;
}

static int file_read(struct gp_load *load, struct gp_err *err);

/* Where the included file is; its path is the caller's to free. */
static int include_resolve(const struct gp_load *load, const yaml_node_t *node,
                           char **ret_path, struct gp_err *err)
{
    const char *name = (const char *)node->data.scalar.value;
    size_t folder = (size_t)(strrchr(load->path, '/') - load->path) + 1;
    struct gp_buf full = {0};
    const char *why = NULL;
    char *path;
    int depth = 0;

    gp_buf_add(&full, load->path, folder);
    gp_buf_str(&full, name);
    path = realpath(full.text, NULL);
    gp_buf_free(&full);
    if (!path)
        return gp_load_fail(load, node, err, "cannot include '%s': %s",
                            gp_load_show_node(node).text, strerror(errno));
    if (strncmp(path, load->path, folder) != 0)
        why = "it leads out of the folder of this file";
    for (const struct gp_load *at = load; at; at = at->above, depth++)
        if (strcmp(at->path, path) == 0)
            why = "it is being read already, the includes form a circle";
    if (depth >= FILES_DEPTH_MOST)
        why = "includes nest deeper than 32 files";
    if (why) {
        free(path);
        return gp_load_fail(load, node, err, "cannot include '%s': %s",
                            gp_load_show_node(node).text, why);
    }
    *ret_path = path;
    return 0;
}

static bool has_dotdot(const char *path)
{
    for (; *path; path += strcspn(path, "/"), path += *path == '/')
        if (strcspn(path, "/") == 2 && strncmp(path, "..", 2) == 0)
            return true;
    return false;
}

static int include_one(struct gp_load *load, yaml_node_t *node,
                       struct gp_err *err)
{
    struct gp_load next = {.what = load->what,
                           .above = load,
                           .suite = load->suite,
                           .values = load->values};
    const char *name, *slash = strrchr(load->name, '/');
    struct gp_buf shown = {0};
    size_t len;
    char *path = NULL;
    int rc;

    if (node->type != YAML_SCALAR_NODE)
        return gp_load_fail(load, node, err,
                            "an include is the name of a file, not %s",
                            gp_load_kind(node));
    name = (const char *)node->data.scalar.value;
    len = node->data.scalar.length;
    if (!load->path)
        return gp_load_fail(load, node, err,
                            "only a file can include: this text has no "
                            "folder");
    if (len == 0 || strlen(name) != len || *name == '/' || has_dotdot(name))
        return gp_load_fail(load, node, err,
                            "cannot include '%s': write a file's name "
                            "relative to this folder, without '..'",
                            gp_load_show_node(node).text);
    if (include_resolve(load, node, &path, err) < 0)
        return -1;
    next.path = path;
    if (slash)
        gp_buf_add(&shown, load->name, (size_t)(slash + 1 - load->name));
    gp_buf_str(&shown, name);
    next.name = gp_load_show_path(&load->suite->arena, shown.text);
    gp_buf_free(&shown);
    rc = file_read(&next, err);
    free(path);
    return rc;
}

static int read_include(struct gp_load *load, const struct gp_load_key *key,
                        yaml_node_t *node, struct gp_err *err)
{
    yaml_node_item_t *item = node->data.sequence.items.start;

    (void)key;
    if (node->type != YAML_SEQUENCE_NODE)
        return gp_load_fail(load, node, err,
                            "'include' takes a list of file names, not %s",
                            gp_load_kind(node));
    if (item == node->data.sequence.items.top)
        return gp_load_fail(load, node, err,
                            "'include' is an empty list: leave it out");
    for (; item < node->data.sequence.items.top; item++)
        if (include_one(load, yaml_document_get_node(load->document, *item),
                        err) < 0)
            return -1;
    return 0;
}

static int read_cases(struct gp_load *load, const struct gp_load_key *key,
                      yaml_node_t *node, struct gp_err *err)
{
    struct gp_suite *suite = load->suite;
    yaml_node_item_t *item = node->data.sequence.items.start;

    (void)key;
    if (node->type != YAML_SEQUENCE_NODE)
        return gp_load_fail(load, node, err,
                            "'cases' takes a list of cases, not %s",
                            gp_load_kind(node));
    if (item == node->data.sequence.items.top)
        return gp_load_fail(load, node, err,
                            "'cases' is an empty list: write at least one "
                            "case, '- name: ...'");
    for (; item < node->data.sequence.items.top; item++) {
        yaml_node_t *at = yaml_document_get_node(load->document, *item);
        struct gp_case one;
        int rc;

        if (suite->cases_count == CASES_MOST)
            return gp_load_fail(load, at, err,
                                "more than %d cases: split the suite",
                                CASES_MOST);
        gp_case_defaults(&suite->arena, &one);
        one.file = load->name;
        one.line = (int)at->start_mark.line + 1;
        load->into = &one;
        rc = gp_load_map(load, at, gp_load_case_keys, "a case", err);
        load->into = NULL;
        if (rc < 0)
            return -1;
        *(struct gp_case *)gp_grow((void **)&suite->cases, suite->cases_count,
                                   &suite->cases_room, sizeof one) = one;
        suite->cases_count++;
    }
    return 0;
}

const struct gp_load_key gp_load_top_keys[] = {
    {"suite", "the suite's name: [a-z0-9-]+", true, read_suite, NULL, 0, 0, 0},
    {"about", "what the suite is for", false, read_about, NULL, 0, 0, 0},
    {"include", "a list of case files in this folder, read before the cases",
     false, read_include, NULL, 0, 0, 0},
    {"cases", "the list of cases", true, read_cases, NULL, 0, 0, 0},
    {NULL, NULL, false, NULL, NULL, 0, 0, 0},
};

/* --- Files -------------------------------------------------------------- */

static int text_read(struct gp_load *load, struct gp_err *err)
{
    yaml_document_t document;
    int rc;

    if (load->len > GP_LOAD_BYTES_MOST)
        return gp_err_set(err, GP_ERR_USAGE,
                          "%s: bigger than 4 MiB: split the case file",
                          load->name);
    if (gp_load_document(load, &document, err) < 0)
        return -1;
    load->names_suite = !load->suite->name;
    rc = gp_load_map(load, yaml_document_get_root_node(&document),
                     gp_load_top_keys, load->what, err);
    yaml_document_delete(&document);
    return rc;
}

int gp_load_bytes(const struct gp_load *load, struct gp_buf *buf,
                  struct gp_err *err)
{
    int fd = open(load->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *why = NULL;
    struct stat st;
    char chunk[16384];
    ssize_t got = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        why = strerror(errno);
    else if (S_ISDIR(st.st_mode))
        why = "it is a folder";
    else if (!S_ISREG(st.st_mode))
        why = "it is not a regular file";
    while (!why && buf->len <= GP_LOAD_BYTES_MOST) {
        got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            why = strerror(errno);
        if (got <= 0)
            break;
        gp_buf_add(buf, chunk, (size_t)got);
    }
    if (fd >= 0)
        close(fd);
    if (why)
        return gp_err_set(err, GP_ERR_USAGE, "%s: cannot be read (%s): name %s",
                          load->name, why, load->what);
    return 0;
}

static int file_read(struct gp_load *load, struct gp_err *err)
{
    struct gp_buf buf = {0};
    int rc = gp_load_bytes(load, &buf, err);

    load->text = gp_buf_text(&buf);
    load->len = buf.len;
    if (rc == 0)
        rc = text_read(load, err);
    gp_buf_free(&buf);
    return rc;
}

/* Run `read` on the first file; on failure the suite is as it was. */
static int suite_read(struct gp_load *load,
                      int (*read)(struct gp_load *load, struct gp_err *err),
                      struct gp_err *err)
{
    struct gp_suite *suite = load->suite;
    const char *name = suite->name, *about = suite->about;
    size_t cases = suite->cases_count, values = 0;
    int rc;

    load->values = &values;
    rc = read(load, err);
    if (rc < 0) {
        suite->name = name;
        suite->about = about;
        suite->cases_count = cases;
    }
    return rc;
}

int gp_load_file(const char *path, struct gp_suite *suite, struct gp_err *err)
{
    struct gp_load load = {.what = CASE_FILE, .suite = suite};
    char *resolved = realpath(path, NULL);
    int rc;

    load.name = gp_load_show_path(&suite->arena, path);
    if (!resolved)
        return gp_err_set(err, GP_ERR_USAGE,
                          "%s: cannot be read (%s): name a case file",
                          load.name, strerror(errno));
    load.path = resolved;
    rc = suite_read(&load, file_read, err);
    free(resolved);
    return rc;
}

int gp_load_text(const char *text, size_t len, const char *name,
                 struct gp_suite *suite, struct gp_err *err)
{
    struct gp_load load = {
        .what = CASE_FILE, .suite = suite, .text = text, .len = len};

    load.name = gp_load_show_path(&suite->arena, name);
    return suite_read(&load, text_read, err);
}
