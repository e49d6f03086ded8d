/* The list of known faults: cases/known.yaml. */
#include "harness/engine/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "harness/engine/load.h"

enum {
    FAULTS_MOST = 1000,
    RUNS_MOST = 400, /* characters of a glob of ids */
    GPU_MOST = 100
};

/* What ids are made of, and globs. */
#define ID_GLOB "abcdefghijklmnopqrstuvwxyz0123456789.+=_/-*?[]!^"

static const char FAULT[] = "a known fault";

/* --- Versions ------------------------------------------------------------ */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next number of a version and what follows its dot; 0 at the end. */
static unsigned long next_number(const char **at)
{
    unsigned long number = 0;

    for (; is_digit(**at); (*at)++)
        if (number < 1000000000)
            number = number * 10 + (unsigned long)(**at - '0');
    *at += **at == '.' && is_digit((*at)[1]);
    return number;
}

static int compare_versions(const char *a, const char *b)
{
    while (is_digit(*a) || is_digit(*b)) {
        unsigned long na = next_number(&a), nb = next_number(&b);
        if (na != nb)
            return na < nb ? -1 : 1;
    }
    return 0;
}

bool gp_known_version_in(const char *version, const char *from, const char *to)
{
    if (!from && !to)
        return true;
    return is_digit(*version) &&
           (!from || compare_versions(from, version) <= 0) &&
           (!to || compare_versions(version, to) <= 0);
}

/* --- Values -------------------------------------------------------------- */

/* A line of 1 to `most` printable ASCII characters. */
static int read_line(const struct gp_load *load, const yaml_node_t *node,
                     const char *what, size_t most, const char **ret_line,
                     struct gp_err *err)
{
    const char *text;
    size_t len = 0;

    if (gp_load_scalar(load, node, what, err) < 0)
        return -1;
    text = (const char *)node->data.scalar.value;
    while (text[len] >= ' ' && text[len] <= '~')
        len++;
    if (len == 0 || len > most || len != node->data.scalar.length)
        return gp_load_fail(load, node, err,
                            "%s is '%s': write 1 to %zu printable ASCII "
                            "characters",
                            what, gp_load_show_node(node).text, most);
    *ret_line = gp_arena_copy(&load->known->arena, text);
    return 0;
}

static int read_runs(struct gp_load *load, const struct gp_load_key *key,
                     yaml_node_t *node, struct gp_err *err)
{
    const char *text = "";
    size_t good;

    (void)key;
    if (read_line(load, node, "'runs'", RUNS_MOST, &text, err) < 0)
        return -1;
    good = strspn(text, ID_GLOB);
    if (text[good])
        return gp_load_fail(load, node, err,
                            "'%c' stands in no id, so that 'runs' matches "
                            "none: `gemmproof plan` lists them (a colon is "
                            "an x there)",
                            text[good]);
    load->entry->runs = text;
    return 0;
}

/* A word of a list that is ended by NULL, and its place. */
static int read_choice(struct gp_load *load, const yaml_node_t *node,
                       const char *what, const char *const *words,
                       int *ret_place, struct gp_err *err)
{
    const char *word, *nearest = "";

    if (gp_load_word(load, node, what, &word, err) < 0)
        return -1;
    *ret_place = gp_load_find(words, sizeof *words, word, &nearest);
    if (*ret_place < 0)
        return gp_load_fail(load, node, err, "no %s '%s': did you mean '%s'?",
                            what, word, nearest);
    return 0;
}

static int read_check(struct gp_load *load, const struct gp_load_key *key,
                      yaml_node_t *node, struct gp_err *err)
{
    int place;

    (void)key;
    if (read_choice(load, node, "check", load->checks, &place, err) < 0)
        return -1;
    load->entry->check = load->checks[place];
    return 0;
}

static int read_verdict(struct gp_load *load, const struct gp_load_key *key,
                        yaml_node_t *node, struct gp_err *err)
{
    static const char *const words[] = {"fail", "flaky", NULL};
    int place;

    (void)key;
    if (read_choice(load, node, "verdict", words, &place, err) < 0)
        return -1;
    load->entry->flaky = place == 1;
    return 0;
}

static int read_worst(struct gp_load *load, const struct gp_load_key *key,
                      yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    if (gp_load_real(load, node, "'worst'", &load->entry->worst, err) < 0)
        return -1;
    if (load->entry->worst < 0)
        return gp_load_fail(load, node, err,
                            "'worst' is '%s': no check's value is below 0",
                            gp_load_show_node(node).text);
    return 0;
}

static int read_gpu(struct gp_load *load, const struct gp_load_key *key,
                    yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    return read_line(load, node, "'gpu'", GPU_MOST, &load->entry->gpu, err);
}

static bool is_version(const char *text)
{
    static const char digits[] = "0123456789";
    size_t len = strspn(text, digits);

    while (len && text[len] == '.') {
        text += len + 1;
        len = strspn(text, digits);
    }
    return len && !text[len];
}

static int read_library(struct gp_load *load, const struct gp_load_key *key,
                        yaml_node_t *node, struct gp_err *err)
{
    struct gp_known_entry *entry = load->entry;
    const char *word, *dots;
    char *from, *to;

    (void)key;
    if (gp_load_word(load, node, "'library'", &word, err) < 0)
        return -1;
    dots = strstr(word, "..");
    from = gp_arena_printf(&load->known->arena, "%.*s",
                           dots ? (int)(dots - word) : 0, word);
    to = gp_arena_copy(&load->known->arena, dots ? dots + 2 : "");
    if ((!*from && !*to) || (*from && !is_version(from)) ||
        (*to && !is_version(to)))
        return gp_load_fail(load, node, err,
                            "'library' is '%s': write a range of versions, "
                            "13.0.0..13.1.0, 13.0.0.. or ..13.1.0; leave it "
                            "out for any",
                            word);
    entry->library_from = *from ? from : NULL;
    entry->library_to = *to ? to : NULL;
    if (*from && *to && !gp_known_version_in(from, NULL, to))
        return gp_load_fail(load, node, err,
                            "'library' is '%s', which is empty: write the "
                            "older version first",
                            word);
    return 0;
}

static int read_reason(struct gp_load *load, const struct gp_load_key *key,
                       yaml_node_t *node, struct gp_err *err)
{
    const char *text;

    (void)key;
    if (gp_load_prose(load, node, "'reason'", false, &text, err) < 0)
        return -1;
    if (!text[strspn(text, " ")] ||
        node->data.scalar.length > GP_KNOWN_REASON_MOST)
        return gp_load_fail(load, node, err,
                            "'reason' is one sentence of 1 to %d bytes",
                            GP_KNOWN_REASON_MOST);
    load->entry->reason = gp_arena_copy(&load->known->arena, text);
    return 0;
}

/* --- The list ------------------------------------------------------------ */

static const struct gp_load_key fault_keys[] = {
    {.name = "runs",
     .help = "a glob of the ids of runs",
     .required = true,
     .read = read_runs},
    {.name = "check",
     .help = "the check that fails",
     .required = true,
     .read = read_check},
    {.name = "verdict",
     .help = "fail, or flaky: may fail or pass",
     .required = true,
     .read = read_verdict},
    {.name = "worst",
     .help = "the check's value may be as bad as this",
     .required = true,
     .read = read_worst},
    {.name = "gpu", .help = "a glob of the device's name", .read = read_gpu},
    {.name = "library",
     .help = "a range of the library's versions, 13.0.0..13.1.0",
     .read = read_library},
    {.name = "reason",
     .help = "one sentence: what is wrong, who knows",
     .required = true,
     .read = read_reason},
    {.name = NULL},
};

static int read_known(struct gp_load *load, const struct gp_load_key *key,
                      yaml_node_t *node, struct gp_err *err)
{
    struct gp_known *known = load->known;

    (void)key;
    if (node->type != YAML_SEQUENCE_NODE)
        return gp_load_fail(load, node, err,
                            "'known' takes a list of known faults, or [], not "
                            "%s",
                            gp_load_kind(node));
    for (size_t i = 0; i < gp_load_count(node); i++) {
        yaml_node_t *at = gp_load_item(load, node, i);
        struct gp_known_entry one = {.line = (int)at->start_mark.line + 1};

        if (known->count == FAULTS_MOST)
            return gp_load_fail(load, at, err,
                                "more than %d known faults: join some by a "
                                "wider glob",
                                FAULTS_MOST);
        load->entry = &one;
        if (gp_load_map(load, at, fault_keys, FAULT, err) < 0)
            return -1;
        *(struct gp_known_entry *)gp_grow((void **)&known->entries,
                                          known->count, &known->room,
                                          sizeof one) = one;
        known->count++;
    }
    return 0;
}

static const struct gp_load_key top_keys[] = {
    {.name = "known",
     .help = "the list of known faults, [] for none",
     .required = true,
     .read = read_known},
    {.name = NULL},
};

/* --- Files --------------------------------------------------------------- */

/* Read load->text; *ret_known is the caller's only on success. */
static int list_read(struct gp_load *load, struct gp_known *ret_known,
                     struct gp_err *err)
{
    yaml_document_t document;
    int rc;

    if (load->len > GP_LOAD_BYTES_MOST)
        rc = gp_err_set(err, GP_ERR_USAGE, "%s: bigger than 4 MiB", load->name);
    else
        rc = gp_load_document(load, &document, err);
    if (rc == 0) {
        rc = gp_load_map(load, yaml_document_get_root_node(&document), top_keys,
                         load->what, err);
        yaml_document_delete(&document);
    }
    if (rc == 0)
        *ret_known = *load->known;
    return rc;
}

int gp_load_known_text(const char *text, size_t len, const char *name,
                       const char *const *checks, struct gp_known *ret_known,
                       struct gp_err *err)
{
    struct gp_known known = {0};
    struct gp_load load = {.what = "a list of known faults",
                           .known = &known,
                           .checks = checks,
                           .text = text,
                           .len = len};
    int rc;

    load.name = known.path = gp_load_show_path(&known.arena, name);
    rc = list_read(&load, ret_known, err);
    if (rc < 0) {
        free(known.entries);
        gp_arena_free(&known.arena);
    }
    return rc;
}

int gp_load_known(const char *path, const char *const *checks,
                  struct gp_known *ret_known, struct gp_err *err)
{
    struct gp_arena arena = {0};
    struct gp_load load = {.what = "a list of known faults", .path = path};
    struct gp_buf buf = {0};
    int rc;

    load.name = gp_load_show_path(&arena, path);
    rc = gp_load_bytes(&load, &buf, err);
    if (rc == 0)
        rc = gp_load_known_text(gp_buf_text(&buf), buf.len, path, checks,
                                ret_known, err);
    gp_buf_free(&buf);
    gp_arena_free(&arena);
    return rc;
}
