#include "reports/decided.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/delivered.h"
#include "reports/index.h"
#include "reports/label.h"

/* The two words of a conflict, "MATH+COMPUTE" with or without "+nrp". */
static bool in_conflict(const json_t *run)
{
    const char *mode = gp_json_str_or(run, "mode", "");
    const char *plus = strchr(mode, '+');

    return plus && strcmp(plus, "+nrp") != 0;
}

bool gp_decided_elsewhere(const json_t *run)
{
    return *gp_json_str_or(run, "env", "") || in_conflict(run);
}

/* --- Significand bits of an operand ------------------------------------- */

/* Of a word that the fingerprint gives; 0 if it is not known. */
static int bits_of_word(const char *word)
{
    static const struct {
        const char *word;
        int bits;
    } words[] = {{"fp64", 53}, {"fp32", 24}, {"tf32", 11},
                 {"f16", 11},  {"bf16", 8},  {NULL, 0}};
    int found = 0;

    while (words[found].word && strcmp(words[found].word, word) != 0)
        found++;
    return words[found].word ? words[found].bits
                             : (int)strtol(word, NULL, 10); /* "9 bits" */
}

/* Of a request: a math mode or a compute type, as the modes' table has it; 0
 * if it is not known. */
static int bits_of_request(const struct gp_type_pair *types, const char *math,
                           const char *compute)
{
    for (const struct gp_mode_row *row = gp_mode_rows; row->mode; row++) {
        const char *mine = math ? row->math : row->compute;
        int bits = row->arithmetic.input_precision;

        if (strcmp(row->in, types->in->name) == 0 && !row->flag && mine &&
            strcmp(mine, math ? math : compute) == 0)
            return bits && bits < types->in->precision ? bits
                                                       : types->in->precision;
    }
    return 0;
}

/* --- Runs where one request stands alone -------------------------------- */

/* Words that were delivered, by what was asked: index -> place in `words`. */
struct alone {
    json_t *index, *words;
};

static void alone_add(struct alone *alone, const char *const *parts,
                      const char *word)
{
    if (gp_index_add(alone->index, parts,
                     (int64_t)json_array_size(alone->words)) < 0)
        gp_json_append(alone->words, json_string(word));
}

static const char *alone_get(const struct alone *alone,
                             const char *const *parts)
{
    int64_t place = gp_index_get(alone->index, parts);

    return place < 0
               ? NULL
               : json_string_value(json_array_get(alone->words, (size_t)place));
}

/* The keys that tell runs apart; what is asked comes before. */
struct keys {
    const char *backend, *problem, *workspace, *schedule;
    const char *entry, *mode, *math, *compute;
};

static struct keys keys_of(const json_t *run)
{
    return (struct keys){.backend = gp_json_str_or(run, "backend", ""),
                         .problem = gp_json_str_or(run, "problem", ""),
                         .workspace = gp_json_str_or(run, "workspace", ""),
                         .schedule = gp_json_str_or(run, "schedule", ""),
                         .entry = gp_json_str_or(run, "entry", ""),
                         .mode = gp_json_str_or(run, "mode", ""),
                         .math = gp_json_str_or(run, "math", ""),
                         .compute = gp_json_str_or(run, "compute", "")};
}

static const char *alone_request(const struct alone *alone,
                                 const struct keys *keys, const char *kind,
                                 const char *word)
{
    const char *const parts[] = {
        kind, word, keys->backend, keys->problem, keys->workspace, NULL};

    return alone_get(alone, parts);
}

/* One run that nothing else decides: under its mode, and under its math mode
 * or its compute type where that alone was set. */
static void note_alone(struct alone *alone, const json_t *run, const char *word)
{
    struct keys keys = keys_of(run);
    bool ex = strcmp(keys.entry, "gemm-ex") == 0;
    const char *const mode[] = {"mode",        keys.mode,    keys.entry,
                                keys.backend,  keys.problem, keys.workspace,
                                keys.schedule, NULL};
    const char *const request[] = {ex ? "compute" : "math",
                                   ex ? keys.compute : keys.math,
                                   keys.backend,
                                   keys.problem,
                                   keys.workspace,
                                   NULL};

    alone_add(alone, mode, word);
    if (!gp_json_bool_or(run, "flag", false) &&
        (!ex || strcmp(keys.math, "default") == 0))
        alone_add(alone, request, word);
}

/* --- Rows ---------------------------------------------------------------- */

static const char *who_decided(const struct alone *alone, const json_t *run,
                               const char *word)
{
    struct keys keys = keys_of(run);
    const char *by_math = alone_request(alone, &keys, "math", keys.math);
    const char *by_compute =
        alone_request(alone, &keys, "compute", keys.compute);
    int got = bits_of_word(word), math, compute, full;
    struct gp_type_pair types;
    struct gp_err err;

    if (gp_type_pair_parse(gp_json_str_or(run, "type", ""), &types, &err) != 0)
        return "nothing says which decided";
    full = types.in->precision;
    math = by_math ? bits_of_word(by_math)
                   : bits_of_request(&types, keys.math, NULL);
    compute = by_compute ? bits_of_word(by_compute)
                         : bits_of_request(&types, NULL, keys.compute);
    if (!got || !math || !compute)
        return "nothing says which decided";
    /* Whether operands were reduced at all: a request for BF16 may be served
     * by TF32. */
    if ((math < full) == (compute < full))
        return (got < full) == (math < full) ? "both alone lead to this"
                                             : "neither alone leads to this";
    return (got < full) == (compute < full) ? "the compute type decided"
                                            : "the math mode decided";
}

static json_t *row_find(json_t *rows, json_t *places, const json_t *run)
{
    static const char *const keys[] = {"backend", "type", "mode", "env"};
    const char *parts[6] = {0};
    int64_t place;
    json_t *row;

    for (size_t i = 0; i < 4; i++)
        parts[i] = gp_json_str_or(run, keys[i], "");
    parts[4] = gp_label_entry(run);
    place = gp_index_add(places, parts, (int64_t)json_array_size(rows));
    if (place >= 0)
        return json_array_get(rows, (size_t)place);
    row = gp_json_object();
    for (size_t i = 0; i < 4; i++)
        gp_json_set_str(row, keys[i], parts[i]);
    gp_json_set_str(row, "entry", parts[4]);
    gp_json_set(row, "delivered", gp_json_object());
    if (*parts[3])
        gp_json_set(row, "without", gp_json_object());
    if (in_conflict(run))
        gp_json_set(row, "decided", gp_json_object());
    gp_json_append(rows, row);
    return row;
}

static void count_run(const struct alone *alone, json_t *row, const json_t *run,
                      const char *word)
{
    struct keys keys = keys_of(run);
    const char *const parts[] = {"mode",        keys.mode,    keys.entry,
                                 keys.backend,  keys.problem, keys.workspace,
                                 keys.schedule, NULL};
    const char *without = alone_get(alone, parts);

    gp_index_count(json_object_get(row, "delivered"), word);
    if (json_object_get(row, "without") && without)
        gp_index_count(json_object_get(row, "without"), without);
    if (json_object_get(row, "decided"))
        gp_index_count(json_object_get(row, "decided"),
                       who_decided(alone, run, word));
}

json_t *gp_decided_find(const struct gp_summary *summary)
{
    struct alone alone = {gp_json_object(), gp_json_array()};
    json_t *rows = gp_json_array(), *places = gp_json_object();
    const char *word;
    json_t *run;
    size_t i;

    json_array_foreach(summary->runs, i, run)
    {
        if (!*gp_json_str_or(run, "env", "") && (word = gp_delivered_word(run)))
            note_alone(&alone, run, word);
    }
    json_array_foreach(summary->runs, i, run)
    {
        if (gp_decided_elsewhere(run) && (word = gp_delivered_word(run)))
            count_run(&alone, row_find(rows, places, run), run, word);
    }
    json_decref(alone.index);
    json_decref(alone.words);
    json_decref(places);
    return rows;
}

static int64_t total(json_t *counts)
{
    const char *key;
    json_t *count;
    int64_t sum = 0;

    json_object_foreach(counts, key, count)
    {
        sum += json_integer_value(count);
    }
    return sum;
}

/* "tf32 (4 of 6), fp32 (2 of 6)". */
static void print_counts(json_t *counts, struct gp_buf *buf)
{
    int64_t all = total(counts);
    const char *key;
    json_t *count;
    int parts = 0;

    json_object_foreach(counts, key, count)
    {
        gp_buf_printf(buf, "%s%s (%" PRId64 " of %" PRId64 ")",
                      parts++ ? ", " : "", key,
                      (int64_t)json_integer_value(count), all);
    }
}

void gp_decided_print(const json_t *row, struct gp_buf *buf)
{
    json_t *delivered = json_object_get(row, "delivered");
    json_t *without = json_object_get(row, "without");
    json_t *decided = json_object_get(row, "decided");

    gp_buf_str(buf, "delivered ");
    print_counts(delivered, buf);
    if (total(without) > 0 && json_equal(without, delivered)) {
        gp_buf_str(buf, ", as without it");
    } else if (total(without) > 0) {
        gp_buf_str(buf, "; without it ");
        print_counts(without, buf);
    }
    if (json_object_size(decided) == 1)
        gp_buf_printf(buf, ": %s",
                      json_object_iter_key(json_object_iter(decided)));
    else if (decided) {
        gp_buf_str(buf, ": ");
        print_counts(decided, buf);
    }
}
