/* A comparison as text, Markdown and JSON: the same numbers three times. */
#include "reports/compare.h"
#include "reports/escape.h"
#include "reports/table.h"

/* "the runs with workspace 4096:8 of: GPU was measured: ..." */
static void say_side(const struct gp_summary *side,
                     const struct gp_selection *only, struct gp_buf *buf)
{
    gp_summary_measured(side, buf);
    for (; only->key; only++)
        gp_buf_printf(buf, " (%s %s)", only->key, only->value);
    if (side->stopped)
        gp_buf_str(buf, " STOPPED before its end.");
}

static void say_counts(const struct gp_comparison *c, struct gp_buf *buf)
{
    gp_buf_printf(buf,
                  "compared %lld, the same %lld, bits changed %lld (accuracy "
                  "better %lld, worse %lld), verdict changed %lld, kernel "
                  "changed %lld, without an output to compare %lld; only old "
                  "%lld, only new %lld",
                  (long long)c->both, (long long)c->same, (long long)c->bits,
                  (long long)c->better, (long long)c->worse,
                  (long long)c->verdict, (long long)c->kernel,
                  (long long)c->unknown, (long long)c->only_old,
                  (long long)c->only_new);
}

static void say_bits(const json_t *run, struct gp_buf *buf)
{
    const json_t *accuracy = json_object_get(run, "accuracy");
    double bits = gp_json_real_or(accuracy, "bits_nw", -1);

    if (!accuracy)
        gp_buf_str(buf, "-");
    else if (bits < 0)
        gp_buf_str(buf, "exact");
    else
        gp_buf_printf(buf, "%.1f", bits);
}

/* "pass 23.9 > fail 11.0", or one where nothing stands against it. */
static void say_both(const struct gp_pair *pair, struct gp_buf *buf)
{
    const json_t *runs[] = {pair->old_run, pair->new_run};
    const char *between = "";

    for (int i = 0; i < 2; i++) {
        if (!runs[i])
            continue;
        gp_buf_printf(buf, "%s%s ", between,
                      gp_json_str_or(runs[i], "verdict", "error"));
        say_bits(runs[i], buf);
        between = " > ";
    }
}

static const char *id_of(const struct gp_pair *pair)
{
    return gp_json_str_or(pair->new_run ? pair->new_run : pair->old_run, "id",
                          "");
}

static int64_t listed(const struct gp_comparison *c, int64_t most)
{
    int64_t changed = (int64_t)c->count - c->same;

    return most > 0 && most < changed ? most : changed;
}

static void say_rest(const struct gp_comparison *c, int64_t most,
                     struct gp_buf *buf)
{
    int64_t left = (int64_t)c->count - c->same - listed(c, most);

    if (left > 0)
        gp_buf_printf(buf, "and %lld more: --all lists them\n",
                      (long long)left);
}

static void fill_table(const struct gp_comparison *c, int64_t most,
                       struct gp_table *table)
{
    int64_t left = listed(c, most);

    for (size_t i = 0; i < c->count && left > 0; i++) {
        struct gp_buf words = {0}, both = {0};
        if (c->pairs[i].changes == 0)
            continue;
        gp_comparison_words(c->pairs[i].changes, &words);
        say_both(&c->pairs[i], &both);
        gp_table_add(table, id_of(&c->pairs[i]));
        gp_table_add(table, gp_buf_text(&both));
        gp_table_add(table, gp_buf_text(&words));
        gp_buf_free(&words);
        gp_buf_free(&both);
        left--;
    }
}

void gp_comparison_text(const struct gp_comparison *comparison, int64_t most,
                        struct gp_buf *buf)
{
    struct gp_table table = {.columns = 3, .left = 2};

    gp_buf_str(buf, "old: ");
    say_side(comparison->old_side, comparison->old_only, buf);
    gp_buf_str(buf, "\nnew: ");
    say_side(comparison->new_side, comparison->new_only, buf);
    gp_buf_str(buf, "\n");
    say_counts(comparison, buf);
    gp_buf_str(buf, "\n");
    if (listed(comparison, most) > 0)
        gp_buf_str(buf, "\nWhat changed (verdict and norm-wise bits, old > "
                        "new):\n");
    fill_table(comparison, most, &table);
    gp_table_print(&table, 2, buf);
    gp_table_free(&table);
    say_rest(comparison, most, buf);
}

void gp_comparison_markdown(const struct gp_comparison *comparison,
                            int64_t most, struct gp_buf *buf)
{
    struct gp_buf side = {0};
    int64_t left = listed(comparison, most);

    say_side(comparison->old_side, comparison->old_only, &side);
    gp_buf_str(buf, "# Comparison\n\n- old: ");
    gp_escape_markdown(buf, gp_buf_text(&side));
    gp_buf_str(buf, "\n- new: ");
    side.len = 0;
    say_side(comparison->new_side, comparison->new_only, &side);
    gp_escape_markdown(buf, gp_buf_text(&side));
    gp_buf_free(&side);
    gp_buf_str(buf, "\n- ");
    say_counts(comparison, buf);
    gp_buf_str(buf, "\n");
    if (left > 0)
        gp_buf_str(buf, "\n| run | verdict, norm-wise bits | what changed |\n"
                        "| --- | --- | --- |\n");
    for (size_t i = 0; i < comparison->count && left > 0; i++) {
        const struct gp_pair *pair = &comparison->pairs[i];
        struct gp_buf both = {0};
        if (pair->changes == 0)
            continue;
        gp_buf_str(buf, "| ");
        gp_escape_code(buf, id_of(pair));
        gp_buf_str(buf, " | ");
        say_both(pair, &both);
        gp_escape_markdown(buf, gp_buf_text(&both));
        gp_buf_str(buf, " | ");
        gp_comparison_words(pair->changes, buf);
        gp_buf_str(buf, " |\n");
        gp_buf_free(&both);
        left--;
    }
    gp_buf_str(buf, "\n");
    say_rest(comparison, most, buf);
}

static json_t *side_object(const struct gp_summary *side,
                           const struct gp_selection *only)
{
    json_t *made = gp_json_object(), *selection = gp_json_object();
    struct gp_buf text = {0};

    gp_summary_measured(side, &text);
    gp_json_set(made, "measured", gp_json_text(gp_buf_text(&text)));
    gp_buf_free(&text);
    for (; only->key; only++)
        gp_json_set(selection, only->key, gp_json_text(only->value));
    gp_json_set(made, "selection", selection);
    gp_json_set(made, "started",
                json_incref(json_object_get(side->head, "started")));
    return made;
}

static json_t *pair_object(const struct gp_pair *pair)
{
    static const char *const keys[] = {"id", "verdict", "digests", "accuracy",
                                       "kernels"};
    const struct {
        const char *name;
        const json_t *run;
    } sides[] = {{"old", pair->old_run}, {"new", pair->new_run}};
    json_t *made = gp_json_object();
    struct gp_buf words = {0};

    gp_comparison_words(pair->changes, &words);
    gp_json_set_str(made, "changes", gp_buf_text(&words));
    gp_buf_free(&words);
    for (size_t s = 0; s < 2; s++) {
        json_t *part = gp_json_object();
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            json_t *value = json_object_get(sides[s].run, keys[i]);
            if (value)
                gp_json_set(part, keys[i], json_incref(value));
        }
        if (sides[s].run)
            gp_json_set(made, sides[s].name, part);
        else
            json_decref(part);
    }
    return made;
}

static json_t *counts_object(const struct gp_comparison *c)
{
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {{"compared", c->both},     {"same", c->same},
                {"bits", c->bits},         {"better", c->better},
                {"worse", c->worse},       {"verdict", c->verdict},
                {"kernel", c->kernel},     {"unknown", c->unknown},
                {"only_old", c->only_old}, {"only_new", c->only_new}};
    json_t *made = gp_json_object();

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        gp_json_set_int(made, rows[i].key, rows[i].value);
    return made;
}

void gp_comparison_json(const struct gp_comparison *comparison, int64_t most,
                        struct gp_buf *buf)
{
    json_t *made = gp_json_object(), *pairs = gp_json_array();

    (void)most; /* a program wants all */
    gp_json_set_int(made, "format", 1);
    gp_json_set(made, "old",
                side_object(comparison->old_side, comparison->old_only));
    gp_json_set(made, "new",
                side_object(comparison->new_side, comparison->new_only));
    gp_json_set(made, "counts", counts_object(comparison));
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->pairs[i].changes)
            gp_json_append(pairs, pair_object(&comparison->pairs[i]));
    gp_json_set(made, "pairs", pairs);
    gp_json_print(buf, made);
    gp_buf_str(buf, "\n");
    json_decref(made);
}
