/* The keys of a case: each axis takes one value or a list of values. */
#include "harness/engine/load.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { BATCH_MOST = 1048576, PAD_MOST = 1048576, SCHEDULE_NUMBER_MOST = 1024 };

/* One value or a list of them as an array in the arena; NULL on failure. */
static void *items_read(struct gp_load *load, const struct gp_load_key *key,
                        yaml_node_t *node, size_t *ret_count,
                        struct gp_err *err)
{
    bool list = node->type == YAML_SEQUENCE_NODE;
    size_t count = list ? gp_load_count(node) : 1;
    char *items;

    if (count == 0) {
        gp_load_fail(load, node, err,
                     "'%s' is an empty list: give a value or leave the key "
                     "out",
                     key->name);
        return NULL;
    }
    if (gp_load_add(load, node, count, err) < 0)
        return NULL;
    items = gp_arena_array(&load->suite->arena, count, key->item_bytes);
    for (size_t i = 0; i < count; i++)
        if (key->one(load, list ? gp_load_item(load, node, i) : node,
                     items + i * key->item_bytes, err) < 0)
            return NULL;
    *ret_count = count;
    return items;
}

static int read_axis(struct gp_load *load, const struct gp_load_key *key,
                     yaml_node_t *node, struct gp_err *err)
{
    char *into = (char *)load->into;
    size_t count;
    void *items = items_read(load, key, node, &count, err);

    if (!items)
        return -1;
    /* All pointers to structs and numbers look alike on Linux. */
    memcpy(into + key->items_at, &items, sizeof items);
    memcpy(into + key->count_at, &count, sizeof count);
    return 0;
}

/* --- Single values ------------------------------------------------------ */

/* The place of a word in a table of named things. */
static int row_read(const struct gp_load *load, const yaml_node_t *node,
                    const char *what, const void *table, size_t stride,
                    size_t *ret_row, struct gp_err *err)
{
    const char *word, *nearest;
    int row;

    if (gp_load_word(load, node, what, &word, err) < 0)
        return -1;
    row = gp_load_find(table, stride, word, &nearest);
    if (row < 0)
        return gp_load_fail(load, node, err, "no %s '%s': did you mean '%s'?",
                            what, word, nearest);
    *ret_row = (size_t)row;
    return 0;
}

/* Put the place of the node before an error of the model. */
static int model_fail(const struct gp_load *load, const yaml_node_t *node,
                      struct gp_err *err)
{
    struct gp_err told = *err;

    return gp_load_fail(load, node, err, "%s", told.text);
}

static int one_type(struct gp_load *load, yaml_node_t *node, void *to,
                    struct gp_err *err)
{
    const char *word;

    if (gp_load_word(load, node, "a type", &word, err) < 0)
        return -1;
    if (gp_type_pair_parse(word, to, err) < 0)
        return model_fail(load, node, err);
    return 0;
}

static int one_op(struct gp_load *load, yaml_node_t *node, void *to,
                  struct gp_err *err)
{
    const char *word;

    if (gp_load_word(load, node, "an op", &word, err) < 0)
        return -1;
    if (gp_op_parse(word, to, err) < 0)
        return model_fail(load, node, err);
    return 0;
}

static int one_pad(struct gp_load *load, yaml_node_t *node, void *to,
                   struct gp_err *err)
{
    const char *word, *digits;
    int64_t pad = 0;

    if (gp_load_word(load, node, "an ld", &word, err) < 0)
        return -1;
    digits = word + strlen("tight+");
    if (strncmp(word, "tight+", strlen("tight+")) == 0 && *digits != '0' &&
        *digits && !digits[strspn(digits, "0123456789")]) {
        errno = 0;
        pad = strtoll(digits, NULL, 10);
        if (errno)
            pad = INT64_MAX;
    }
    if ((pad == 0 && strcmp(word, "tight") != 0) || pad > PAD_MOST)
        return gp_load_fail(load, node, err,
                            "an ld is '%s': write tight, or tight+N with N "
                            "from 1 to %d",
                            word, PAD_MOST);
    *(int64_t *)to = pad;
    return 0;
}

static int one_batch(struct gp_load *load, yaml_node_t *node, void *to,
                     struct gp_err *err)
{
    return gp_load_whole(load, node, "a batch", 1, BATCH_MOST, to, err);
}

int gp_load_real(const struct gp_load *load, const yaml_node_t *node,
                 const char *what, double *ret_value, struct gp_err *err)
{
    const char *word;
    char *end;
    double value;

    if (gp_load_word(load, node, what, &word, err) < 0)
        return -1;
    errno = 0;
    value = strtod(word, &end);
    if (end == word || *end || !isfinite(value) || (errno && value == 0))
        return gp_load_fail(load, node, err,
                            "%s is '%s': write a finite number that a double "
                            "holds, as -0.5, 1e-3 or 0x1p-3",
                            what, word);
    *ret_value = value;
    return 0;
}

static int one_real(struct gp_load *load, yaml_node_t *node, void *to,
                    struct gp_err *err)
{
    return gp_load_real(load, node, "a factor", to, err);
}

static int one_family(struct gp_load *load, yaml_node_t *node, void *to,
                      struct gp_err *err)
{
    size_t row = 0;

    if (row_read(load, node, "family", gp_families, sizeof *gp_families, &row,
                 err) < 0)
        return -1;
    *(const struct gp_family **)to = &gp_families[row];
    return 0;
}

static int one_row_of_modes(struct gp_load *load, yaml_node_t *node, void *to,
                            struct gp_err *err)
{
    size_t row = 0;

    if (row_read(load, node, "mode", gp_modes, sizeof *gp_modes, &row, err) < 0)
        return -1;
    *(const struct gp_mode **)to = &gp_modes[row];
    return 0;
}

static int one_mode(struct gp_load *load, yaml_node_t *node, void *to,
                    struct gp_err *err)
{
    const char *word;

    if (gp_load_word(load, node, "a mode", &word, err) < 0)
        return -1;
    if (strchr(word, '+')) {
        if (gp_mode_parse(word, &load->suite->arena, to, err) < 0)
            return model_fail(load, node, err);
        return 0;
    }
    return one_row_of_modes(load, node, to, err);
}

static int one_entry(struct gp_load *load, yaml_node_t *node, void *to,
                     struct gp_err *err)
{
    size_t row = 0;

    if (row_read(load, node, "entry", gp_entries, sizeof *gp_entries, &row,
                 err) < 0)
        return -1;
    *(const char **)to = gp_entries[row];
    return 0;
}

static int one_workspace(struct gp_load *load, yaml_node_t *node, void *to,
                         struct gp_err *err)
{
    const char *word = "";

    if (gp_load_scalar(load, node, "a workspace", err) < 0)
        return -1;
    if (node->data.scalar.length > 0 &&
        gp_load_word(load, node, "a workspace", &word, err) < 0)
        return -1;
    if (*word == ':')
        return gp_load_fail(load, node, err,
                            "a workspace is written without the leading "
                            "colon: \"%s\"",
                            word + strspn(word, ":"));
    if (gp_workspace_check(word, err) < 0)
        return model_fail(load, node, err);
    *(const char **)to = gp_arena_copy(&load->suite->arena, word);
    return 0;
}

static int one_backend(struct gp_load *load, yaml_node_t *node, void *to,
                       struct gp_err *err)
{
    const char *word;
    size_t name, variant = 0;

    if (gp_load_word(load, node, "a backend", &word, err) < 0)
        return -1;
    name = strspn(word, GP_LOAD_NAME);
    if (word[name] == '=')
        variant = 1 + strspn(word + name + 1, GP_LOAD_NAME);
    if (name == 0 || word[name + variant] || variant == 1)
        return gp_load_fail(load, node, err,
                            "a backend is '%s': write its name in a to z, 0 "
                            "to 9 and -, or name=variant",
                            word);
    *(const char **)to = gp_arena_copy(&load->suite->arena, word);
    return 0;
}

static int one_layout(struct gp_load *load, yaml_node_t *node, void *to,
                      struct gp_err *err)
{
    static const char *const names[] = {"column", "row", NULL};
    size_t row = 0;

    if (row_read(load, node, "layout", names, sizeof *names, &row, err) < 0)
        return -1;
    *(bool *)to = row == 1;
    return 0;
}

static int one_scalars(struct gp_load *load, yaml_node_t *node, void *to,
                       struct gp_err *err)
{
    static const char *const names[] = {"host", "device", NULL};
    size_t row = 0;

    if (row_read(load, node, "place of alpha and beta", names, sizeof *names,
                 &row, err) < 0)
        return -1;
    *(bool *)to = row == 1;
    return 0;
}

static int one_env(struct gp_load *load, yaml_node_t *node, void *to,
                   struct gp_err *err)
{
    const char *word;

    if (gp_load_word(load, node, "a variable", &word, err) < 0)
        return -1;
    if (strcmp(word, "none") == 0)
        word = "";
    if (gp_env_check(word, err) < 0)
        return model_fail(load, node, err);
    *(const char **)to = gp_arena_copy(&load->suite->arena, word);
    return 0;
}

static int one_require(struct gp_load *load, yaml_node_t *node, void *to,
                       struct gp_err *err)
{
    const char *word;

    if (gp_load_name(load, node, "a required check", &word, err) < 0)
        return -1;
    *(const char **)to = gp_arena_copy(&load->suite->arena, word);
    return 0;
}

static int read_repeats(struct gp_load *load, const struct gp_load_key *key,
                        yaml_node_t *node, struct gp_err *err)
{
    (void)key;
    return gp_load_whole(load, node, "'repeats'", 1, GP_REPEATS_MOST,
                         &load->into->repeats, err);
}

static int read_name(struct gp_load *load, const struct gp_load_key *key,
                     yaml_node_t *node, struct gp_err *err)
{
    const struct gp_suite *suite = load->suite;
    const char *name;

    (void)key;
    if (gp_load_name(load, node, "the name of a case", &name, err) < 0)
        return -1;
    for (size_t i = 0; i < suite->cases_count; i++)
        if (strcmp(suite->cases[i].name, name) == 0)
            return gp_load_fail(load, node, err,
                                "the name '%s' is taken by the case at %s:%d: "
                                "choose another",
                                name, suite->cases[i].file,
                                suite->cases[i].line);
    load->into->name = gp_arena_copy(&load->suite->arena, name);
    return 0;
}

static int read_about(struct gp_load *load, const struct gp_load_key *key,
                      yaml_node_t *node, struct gp_err *err)
{
    const char *text;

    (void)key;
    return gp_load_about(load, node, &text, err);
}

/* A schedule and its number, before they part into two arrays. */
struct schedule {
    const struct gp_schedule *row;
    int64_t number;
};

static int one_schedule(struct gp_load *load, yaml_node_t *node, void *to,
                        struct gp_err *err)
{
    struct schedule *schedule = to;
    yaml_node_t *name = node, *number = NULL;
    size_t row = 0;

    if (node->type == YAML_MAPPING_NODE) {
        yaml_node_pair_t *pair = node->data.mapping.pairs.start;
        if (node->data.mapping.pairs.top - pair != 1)
            return gp_load_fail(load, node, err,
                                "a schedule is one word, or one word and its "
                                "number as {streams: 8}");
        name = yaml_document_get_node(load->document, pair->key);
        number = yaml_document_get_node(load->document, pair->value);
    }
    if (row_read(load, name, "schedule", gp_schedules, sizeof *gp_schedules,
                 &row, err) < 0)
        return -1;
    schedule->row = &gp_schedules[row];
    if (!schedule->row->counted && number)
        return gp_load_fail(load, number, err,
                            "the schedule '%s' takes no number: write %s",
                            schedule->row->name, schedule->row->name);
    if (schedule->row->counted && !number)
        return gp_load_fail(load, node, err,
                            "the schedule '%s' needs a number: write {%s: 8}",
                            schedule->row->name, schedule->row->name);
    return number ? gp_load_whole(load, number, "the number of a schedule", 1,
                                  SCHEDULE_NUMBER_MOST, &schedule->number, err)
                  : 0;
}

static int read_schedules(struct gp_load *load, const struct gp_load_key *key,
                          yaml_node_t *node, struct gp_err *err)
{
    struct gp_arena *arena = &load->suite->arena;
    struct gp_case *into = load->into;
    size_t count;
    struct schedule *items = items_read(load, key, node, &count, err);

    if (!items)
        return -1;
    into->schedules = gp_arena_array(arena, count, sizeof *into->schedules);
    into->schedule_numbers =
        gp_arena_array(arena, count, sizeof *into->schedule_numbers);
    for (size_t i = 0; i < count; i++) {
        into->schedules[i] = items[i].row;
        into->schedule_numbers[i] = items[i].number;
    }
    into->schedules_count = count;
    return 0;
}

#define AXIS(key, array, how, text)                                            \
    {                                                                          \
        .name = (key), .help = (text), .read = read_axis, .one = (how),        \
        .items_at = offsetof(struct gp_case, array),                           \
        .count_at = offsetof(struct gp_case, array##_count),                   \
        .item_bytes = sizeof *((struct gp_case *)NULL)->array,                 \
    }

const struct gp_load_key gp_load_case_keys[] = {
    {.name = "name",
     .help = "the case's name: [a-z0-9-]+, unique in the suite",
     .required = true,
     .read = read_name},
    {.name = "about", .help = "what the case shows", .read = read_about},
    {.name = "sizes",
     .help = "[m, n, k] or one number for all three; each a whole number, "
             "{from, to, times} or {from, to, plus}",
     .required = true,
     .read = gp_load_sizes},
    AXIS("types", types, one_type,
         "f32 f64 f16 bf16, or A and B:C and D as f16:f32"),
    AXIS("ops", ops, one_op, "nn nt tn tt"),
    AXIS("ld", pads, one_pad, "tight, or tight+N: elements of padding"),
    AXIS("layout", layouts, one_layout,
         "column, or row: row-major by swapped operands"),
    AXIS("batch", batches, one_batch, "products in one call, from 1"),
    AXIS("alpha", alphas, one_real, "the factor of op(A) op(B)"),
    AXIS("beta", betas, one_real, "the factor of C"),
    AXIS("families", families, one_family, "where the operands' data is from"),
    AXIS("modes", modes, one_mode, "the arithmetic asked for"),
    AXIS("entry", entries, one_entry, "the function: gemm, gemm-ex"),
    AXIS("workspaces", workspaces, one_workspace,
         "CUBLAS_WORKSPACE_CONFIG without its leading colon, or unset; "
         "raw=TEXT: the text as it stands, well formed or not"),
    AXIS("scalars", scalars, one_scalars,
         "where alpha and beta lie: host, or device memory"),
    AXIS("env", envs, one_env,
         "a variable set for the worker, NVIDIA_TF32_OVERRIDE=0; or none"),
    {.name = "schedules",
     .help = "how a run repeats; gemmproof list schedules",
     .read = read_schedules,
     .one = one_schedule,
     .item_bytes = sizeof(struct schedule)},
    {.name = "repeats",
     .help = "how often each run is repeated; one number",
     .read = read_repeats},
    AXIS("backends", backends, one_backend,
         "the workers that must run this, as cublas or faulty=variant"),
    {.name = "seeds",
     .help = "seeds of the data, 64-bit; each a whole number or {from, to}",
     .read = gp_load_seeds},
    AXIS("require", require, one_require,
         "checks and relations whose 'observed' is a failure here"),
    {.name = NULL},
};
