#include "reports/loss.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/index.h"
#include "reports/label.h"

static const double least = 0.5;

/* One problem in one mode, under every workspace. */
struct group {
    json_t *runs; /* borrowed records, the first of each workspace */
    const json_t *unset, *worst;
    const json_t *flagged; /* the worst one's, with the flag */
    bool lost;
};

struct finder {
    struct gp_losses *losses;
    struct group *groups;
    size_t count, room;
    json_t *places; /* keys -> index of the group */
    json_t *sizes;  /* keys and sizes -> index of the loss */
};

static const char *text_of(const json_t *run, const char *key)
{
    return gp_json_str_or(run, key, "");
}

/* -log2 of the largest |error|/G; NaN where it is not known. */
static double bits_of(const json_t *run)
{
    const json_t *accuracy = json_object_get(run, "accuracy");

    if (json_object_get(accuracy, "bits_cw"))
        return gp_json_real_or(accuracy, "bits_cw", NAN);
    return gp_json_real_or(accuracy, "omega", NAN) == 0 ? INFINITY : NAN;
}

static double lost_bits(double before, double after)
{
    return before == after ? 0 : before - after;
}

/* The mode with the flag against reduced precision in `buf`; false: this one
 * has it already. */
static bool flagged_mode(const json_t *run, struct gp_buf *buf)
{
    const char *mode = text_of(run, "mode");

    if (gp_json_bool_or(run, "flag", false))
        return false;
    if (strcmp(mode, "default") == 0)
        gp_buf_str(buf, "no-reduced-precision");
    else
        gp_buf_printf(buf, "%s+nrp", mode);
    return true;
}

static int64_t group_at(json_t *places, const json_t *run, const char *mode,
                        int64_t fresh)
{
    const char *const parts[] = {text_of(run, "backend"),
                                 text_of(run, "problem"),
                                 text_of(run, "entry"),
                                 text_of(run, "schedule"),
                                 mode,
                                 NULL};

    return fresh < 0 ? gp_index_get(places, parts)
                     : gp_index_add(places, parts, fresh);
}

static json_t *group_run(const struct group *group, const char *workspace)
{
    json_t *run;
    size_t i;

    json_array_foreach(group->runs, i, run)
    {
        if (strcmp(text_of(run, "workspace"), workspace) == 0)
            return run;
    }
    return NULL;
}

static void add_run(struct finder *finder, json_t *run)
{
    enum gp_verdict verdict = gp_summary_verdict(run);
    struct group *group;
    int64_t place;

    if ((verdict != GP_PASS && verdict != GP_FAIL) ||
        strcmp(text_of(run, "family"), "dense") != 0 || *text_of(run, "env") ||
        *text_of(run, "fault") || isnan(bits_of(run)))
        return;
    place = group_at(finder->places, run, text_of(run, "mode"),
                     (int64_t)finder->count);
    if (place < 0) {
        place = (int64_t)finder->count++;
        group = gp_grow((void **)&finder->groups, (size_t)place, &finder->room,
                        sizeof *group);
        group->runs = gp_json_array();
    }
    group = &finder->groups[place];
    if (!group_run(group, text_of(run, "workspace")))
        gp_json_append(group->runs, json_incref(run));
}

/* Look at one group when all runs are in. */
static void compare(struct finder *finder, struct group *group)
{
    struct gp_buf mode = {0};
    json_t *run;
    size_t i;

    group->unset = group_run(group, "unset");
    json_array_foreach(group->runs, i, run)
    {
        if (run != group->unset &&
            (!group->worst || bits_of(run) < bits_of(group->worst)))
            group->worst = run;
    }
    if (!group->unset || !group->worst)
        return;
    finder->losses->compared++;
    group->lost =
        lost_bits(bits_of(group->unset), bits_of(group->worst)) >= least;
    finder->losses->lost += group->lost;
    if (group->lost && flagged_mode(group->worst, &mode)) {
        int64_t place = group_at(finder->places, group->worst, mode.text, -1);

        if (place >= 0)
            group->flagged = group_run(&finder->groups[place],
                                       text_of(group->worst, "workspace"));
    }
    gp_buf_free(&mode);
}

static const char *settings_of(struct finder *finder, const struct group *group)
{
    json_t *names = gp_json_array();
    struct gp_buf text = {0};
    const char *made;
    json_t *run;
    size_t i;

    json_array_foreach(group->runs, i, run)
    {
        if (run != group->unset && bits_of(run) == bits_of(group->worst))
            gp_json_append(names, json_string(text_of(run, "workspace")));
    }
    gp_label_list(names, 3, &text);
    made = gp_arena_copy(&finder->losses->arena, gp_buf_text(&text));
    gp_buf_free(&text);
    json_decref(names);
    return made;
}

static struct gp_loss loss_of(struct finder *finder, const struct group *group)
{
    struct gp_loss made = {.backend = text_of(group->worst, "backend"),
                           .run = group->worst,
                           .settings = settings_of(finder, group),
                           .unset = bits_of(group->unset),
                           .bits = bits_of(group->worst),
                           .flagged_bits = NAN};

    if (group->flagged) {
        made.flagged = text_of(group->flagged, "mode");
        made.flagged_bits = bits_of(group->flagged);
        made.kept = lost_bits(made.flagged_bits, made.bits) >= least;
    }
    return made;
}

/* Has a group without the flag told of this loss? */
static bool is_told(const json_t *told, const json_t *run)
{
    return json_object_get(told, text_of(run, "id")) != NULL;
}

static void add_loss(struct finder *finder, const struct group *group)
{
    struct gp_losses *losses = finder->losses;
    const json_t *run = group->worst;
    struct gp_loss made = loss_of(finder, group);
    struct gp_buf size = {0};
    struct gp_loss *old;
    int64_t place;

    gp_buf_printf(&size, "%" PRId64 "x%" PRId64 "x%" PRId64,
                  gp_json_int_or(run, "m", 0), gp_json_int_or(run, "n", 0),
                  gp_json_int_or(run, "k", 0));
    const char *const parts[] = {made.backend,
                                 text_of(run, "type"),
                                 text_of(run, "mode"),
                                 text_of(run, "entry"),
                                 gp_buf_text(&size),
                                 made.kept ? "kept" : "",
                                 NULL};
    place = gp_index_add(finder->sizes, parts, (int64_t)losses->count);
    gp_buf_free(&size);
    if (place < 0) {
        old = gp_grow((void **)&losses->items, losses->count, &losses->room,
                      sizeof *losses->items);
        made.place = losses->count++;
        *old = made;
        return;
    }
    old = &losses->items[place];
    made.alike = old->alike + 1;
    made.place = old->place;
    old->alike++;
    if (lost_bits(made.unset, made.bits) > lost_bits(old->unset, old->bits))
        *old = made;
}

static int loss_compare(const void *one, const void *two)
{
    const struct gp_loss *a = one, *b = two;
    double lost_a = lost_bits(a->unset, a->bits);
    double lost_b = lost_bits(b->unset, b->bits);

    if (a->kept != b->kept)
        return a->kept ? -1 : 1;
    if (lost_a != lost_b)
        return lost_a > lost_b ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static void sort(struct gp_losses *losses)
{
    if (losses->count)
        qsort(losses->items, losses->count, sizeof *losses->items,
              loss_compare);
    while (losses->kept < losses->count && losses->items[losses->kept].kept)
        losses->kept++;
}

void gp_loss_find(const struct gp_summary *summary,
                  struct gp_losses *ret_losses)
{
    struct gp_losses losses = {0};
    struct finder finder = {.losses = &losses,
                            .places = gp_json_object(),
                            .sizes = gp_json_object()};
    json_t *told = gp_json_object();
    json_t *run;
    size_t i;

    json_array_foreach(summary->runs, i, run)
    {
        add_run(&finder, run);
    }
    for (i = 0; i < finder.count; i++)
        compare(&finder, &finder.groups[i]);
    for (i = 0; i < finder.count; i++) {
        const struct group *group = &finder.groups[i];

        if (group->lost && group->flagged &&
            bits_of(group->flagged) == bits_of(group->worst))
            gp_json_set_bool(told, text_of(group->flagged, "id"), true);
    }
    for (i = 0; i < finder.count; i++)
        if (finder.groups[i].lost && !is_told(told, finder.groups[i].worst))
            add_loss(&finder, &finder.groups[i]);
    sort(&losses);
    for (i = 0; i < finder.count; i++)
        json_decref(finder.groups[i].runs);
    free(finder.groups);
    json_decref(finder.places);
    json_decref(finder.sizes);
    json_decref(told);
    *ret_losses = losses;
}

void gp_loss_free(struct gp_losses *losses)
{
    gp_arena_free(&losses->arena);
    free(losses->items);
    memset(losses, 0, sizeof *losses);
}

void gp_loss_bits(double bits, struct gp_buf *buf)
{
    if (isinf(bits))
        gp_buf_str(buf, bits > 0 ? "exact" : "none");
    else
        gp_buf_printf(buf, "%.1f", bits);
}

void gp_loss_print(const struct gp_loss *loss, struct gp_buf *buf)
{
    const char *entry = gp_label_entry(loss->run);

    gp_buf_printf(buf, "%s %s", text_of(loss->run, "type"),
                  text_of(loss->run, "mode"));
    if (*entry)
        gp_buf_printf(buf, " through %s", entry);
    gp_buf_str(buf, " ");
    gp_label_shape(loss->run, buf);
    gp_buf_str(buf, ": ");
    gp_loss_bits(loss->unset, buf);
    gp_buf_str(buf, " bits under unset, ");
    gp_loss_bits(loss->bits, buf);
    gp_buf_printf(buf, " under %s", loss->settings);
    if (loss->flagged) {
        gp_buf_str(buf, "; ");
        gp_loss_bits(loss->flagged_bits, buf);
        gp_buf_printf(buf, " there with %s", loss->flagged);
    }
    if (loss->alike)
        gp_buf_printf(buf, " (and %" PRId64 " more of this size)", loss->alike);
}
