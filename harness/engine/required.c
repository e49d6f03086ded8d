#include "harness/engine/required.h"

#include <stdio.h>
#include <string.h>

static void key_of(const struct gp_case *from, const char *word, char key[200])
{
    snprintf(key, 200, "%.120s\n%.60s", from->name, word);
}

void gp_required_open(struct gp_required *required, const struct gp_plan *plan)
{
    char key[200];

    required->met = gp_json_object();
    for (size_t r = 0; r < plan->runs_count; r++) {
        const struct gp_case *from = plan->runs[r].from;
        for (size_t w = 0; from && w < from->require_count; w++) {
            key_of(from, from->require[w], key);
            gp_json_set_bool(required->met, key, false);
        }
    }
}

void gp_required_close(struct gp_required *required)
{
    json_decref(required->met);
}

void gp_required_judged(struct gp_required *required, const struct gp_run *run,
                        const char *word)
{
    char key[200];

    /* One repeat has nothing to be compared with. */
    if (!run->from || (strcmp(word, "repeat") == 0 && run->repeats < 2))
        return;
    key_of(run->from, word, key);
    if (json_object_get(required->met, key))
        gp_json_set_bool(required->met, key, true);
}

int gp_required_end(const struct gp_required *required,
                    struct gp_journal *journal, struct gp_counts *counts,
                    size_t *ret_count, struct gp_err *err)
{
    void *at = json_object_iter(required->met);

    *ret_count = 0;
    for (; at; at = json_object_iter_next(required->met, at)) {
        struct gp_finding finding = {.check = "require", .evidence = "proved"};
        const char *key = json_object_iter_key(at);
        size_t name = strcspn(key, "\n");
        if (json_is_true(json_object_iter_value(at)))
            continue;
        ++*ret_count;
        gp_finding_say(&finding, GP_ERROR,
                       "case %.*s requires %s, and nothing was judged by it",
                       (int)name, key, key + name + 1);
        gp_counts_relation(counts, GP_ERROR, 0);
        if (gp_journal_relation(journal, &finding, NULL, 0, err) != 0)
            return -1;
    }
    return 0;
}
