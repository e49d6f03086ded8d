/* The part of the text report on what the probes of a shape found together. */
#include "reports/text.h"

#include <inttypes.h>
#include <string.h>

#include "reports/fingerprint.h"
#include "reports/label.h"

enum {
    SHAPES_SHOWN = 6,
    MODES_SHOWN = 6,
    SENTENCES_SHOWN = 5,
    SENTENCES_MOST = 60
};

static bool same_part(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"backend", "type", "entry", "env"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(gp_json_str_or(a, keys[i], ""),
                   gp_json_str_or(b, keys[i], "")) != 0)
            return false;
    return true;
}

static void print_bits(const json_t *group, struct gp_buf *buf)
{
    static const struct {
        const char *key, *name;
    } numbers[] = {
        {"bits_in", "b_in"}, {"bits_cw", "b_cw"}, {"bits_nw", "b_nw"}};

    for (int i = 0; i < 3; i++) {
        gp_buf_printf(buf, "%s%s ", i ? ", " : " [", numbers[i].name);
        gp_fingerprint_bits(group, numbers[i].key, buf);
    }
    gp_buf_str(buf, "]");
}

static void print_sentence(struct gp_buf *buf, const struct gp_summary *summary,
                           const json_t *group)
{
    const char *entry = gp_json_str_or(group, "entry", "");
    const char *env = gp_json_str_or(group, "env", "");
    struct gp_buf text = {0};

    if (strcmp(gp_json_str_or(group, "verdict", ""), "fail") == 0)
        gp_buf_str(&text, "FAIL ");
    gp_label_backend(summary, gp_json_str_or(group, "backend", ""), &text);
    gp_buf_printf(&text, " %s", gp_json_str_or(group, "type", ""));
    if (*entry)
        gp_buf_printf(&text, " through %s", entry);
    if (*env)
        gp_buf_printf(&text, " with %s", env);
    gp_buf_str(&text, " asked ");
    gp_label_list(json_object_get(group, "modes"), MODES_SHOWN, &text);
    gp_buf_printf(&text, "; %s", gp_json_str_or(group, "found", ""));
    print_bits(group, &text);
    gp_buf_str(&text, " for ");
    gp_label_list(json_object_get(group, "shapes"), SHAPES_SHOWN, &text);
    gp_text_wrapped(buf, 2, 4, text.text);
    gp_buf_free(&text);
}

void gp_text_fingerprint(struct gp_buf *buf, const struct gp_summary *summary)
{
    json_t *rows = gp_fingerprint_find(summary);
    json_t *groups = gp_fingerprint_group(rows);
    const json_t *first = NULL;
    size_t of_part = 0, shown = 0, i;
    json_t *group;

    if (json_array_size(groups))
        gp_buf_str(buf,
                   "\nThe fingerprint: what all probes of a shape show "
                   "together, the most frequent of each type (b_in:\nbits of "
                   "an operand that were read; b_cw, b_nw: right bits of "
                   "dense products, of the worst element\nand of all "
                   "together; the least of these shapes):\n");
    json_array_foreach(groups, i, group)
    {
        bool failed = strcmp(gp_json_str_or(group, "verdict", ""), "fail") == 0;

        of_part = first && same_part(first, group) ? of_part + 1 : 1;
        first = group;
        if (shown == SENTENCES_MOST || (of_part > SENTENCES_SHOWN && !failed))
            continue;
        shown++;
        print_sentence(buf, summary, group);
    }
    if (shown < json_array_size(groups))
        gp_buf_printf(buf, "  and %zu more: report.json has all\n",
                      json_array_size(groups) - shown);
    json_decref(groups);
    json_decref(rows);
}
