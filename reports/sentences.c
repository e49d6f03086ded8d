/* The sentences every report begins with. */
#include "reports/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"

enum { REASONS_SHOWN = 6, PAIRS_SHOWN = 6 };

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* ", " before every part but the first. */
static void part_begin(struct gp_buf *buf, int *parts, const char *between)
{
    if ((*parts)++)
        gp_buf_str(buf, between);
}

/* --- measured ---------------------------------------------------------- */

static int64_t capability(const json_t *worker)
{
    return gp_json_int_or(json_object_get(worker, "device"),
                          "compute_capability", 0);
}

static bool is_simulated(const json_t *worker)
{
    return gp_json_bool_or(json_object_get(worker, "device"), "simulated",
                           false);
}

static void device_phrase(const json_t *worker, struct gp_buf *buf)
{
    const json_t *device = json_object_get(worker, "device");
    int64_t processors = gp_json_int_or(device, "multiprocessors", 0);
    const char *driver = gp_json_str_or(device, "driver", "");
    int64_t level = capability(worker);

    gp_escape_plain(buf, gp_json_str_or(device, "name", "a GPU without name"));
    gp_buf_printf(buf, " (compute capability %" PRId64 ".%" PRId64, level / 10,
                  level % 10);
    if (processors)
        gp_buf_printf(buf, ", %" PRId64 " SM%s", processors,
                      plural(processors));
    if (*driver) {
        gp_buf_str(buf, ", driver ");
        gp_escape_plain(buf, driver);
    }
    gp_buf_str(buf, ")");
}

static void library_phrase(const json_t *worker, struct gp_buf *buf)
{
    const json_t *library = json_object_get(worker, "library");
    const char *version = gp_json_str_or(library, "version", "");

    gp_escape_plain(buf,
                    gp_json_str_or(library, "name", "a library without name"));
    if (*version) {
        gp_buf_str(buf, " ");
        gp_escape_plain(buf, version);
    }
}

/* "openblas (OpenBLAS 0.3.21, SkylakeX)"; with a GPU, "... on DEVICE"; for a
 * simulation, "simulated (simulation of sm_90)". */
static void worker_phrase(const json_t *worker, struct gp_buf *buf)
{
    const json_t *library = json_object_get(worker, "library");
    const char *kernel = gp_json_str_or(library, "kernel", "");

    gp_escape_plain(buf, gp_json_str_or(worker, "backend", "?"));
    if (is_simulated(worker)) {
        gp_buf_printf(buf, " (simulation of sm_%" PRId64 ")",
                      capability(worker));
        return;
    }
    gp_buf_str(buf, " (");
    library_phrase(worker, buf);
    if (*kernel) {
        gp_buf_str(buf, ", ");
        gp_escape_plain(buf, kernel);
    }
    gp_buf_str(buf, ")");
    if (capability(worker) > 0) {
        gp_buf_str(buf, " on ");
        device_phrase(worker, buf);
    }
}

static bool worker_started(const json_t *worker)
{
    return !json_object_get(worker, "error");
}

/* What is said once, however many workers say it. */
struct measured {
    json_t *devices;  /* device -> object of its libraries; judged ones */
    json_t *others;   /* phrase -> was a run judged? */
    json_t *backends; /* name -> was one ever started? */
};

static void measured_add(struct measured *measured, const json_t *worker,
                         bool judged)
{
    const char *name = gp_json_str_or(worker, "backend", "?");
    bool started = worker_started(worker);
    struct gp_buf key = {0}, library = {0};

    gp_json_set_bool(measured->backends, name,
                     started ||
                         gp_json_bool_or(measured->backends, name, false));
    if (!started)
        return;
    if (judged && capability(worker) > 0 && !is_simulated(worker)) {
        json_t *libraries;

        device_phrase(worker, &key);
        library_phrase(worker, &library);
        libraries = json_object_get(measured->devices, key.text);
        if (!libraries) {
            libraries = gp_json_object();
            gp_json_set(measured->devices, key.text, libraries);
        }
        gp_json_set_bool(libraries, library.text, true);
    } else {
        worker_phrase(worker, &key);
        gp_json_set_bool(
            measured->others, key.text,
            judged || gp_json_bool_or(measured->others, key.text, false));
    }
    gp_buf_free(&key);
    gp_buf_free(&library);
}

static void reference_phrase(const struct gp_summary *summary,
                             struct gp_buf *buf)
{
    const json_t *reference = json_object_get(summary->head, "reference");
    const char *library = gp_json_str_or(reference, "library", "");
    const char *kernel = gp_json_str_or(reference, "kernel", "");
    int64_t threads = gp_json_int_or(reference, "threads", 0);
    size_t len = strcspn(library, " ");
    struct gp_buf words = {0};
    int parts = 0;

    if (!*library)
        return;
    /* Name and version; the rest is how it was built. */
    if (library[len])
        len += 1 + strcspn(library + len + 1, " ");
    gp_buf_add(&words, library, len);
    gp_buf_str(buf, "; reference ");
    gp_escape_plain(buf, words.text);
    gp_buf_free(&words);
    if (!*kernel && !threads)
        return;
    gp_buf_str(buf, " (");
    if (*kernel) {
        part_begin(buf, &parts, ", ");
        gp_escape_plain(buf, kernel);
    }
    if (threads) {
        part_begin(buf, &parts, ", ");
        gp_buf_printf(buf, "%" PRId64 " thread%s", threads, plural(threads));
    }
    gp_buf_str(buf, ")");
}

/* The devices that were measured, each with its libraries. */
static void devices_phrase(const struct measured *measured, struct gp_buf *buf)
{
    const char *device, *name;
    json_t *libraries, *yes;
    int devices = 0;

    json_object_foreach(measured->devices, device, libraries)
    {
        int parts = 0;

        gp_buf_str(buf, devices++ ? "; on " : "Measured on ");
        gp_buf_str(buf, device);
        gp_buf_str(buf, " with ");
        json_object_foreach(libraries, name, yes)
        {
            part_begin(buf, &parts, ", ");
            gp_buf_str(buf, name);
        }
    }
}

/* Everything else that was started, or should have been. */
static void others_phrase(const struct measured *measured, const char *between,
                          struct gp_buf *buf)
{
    const char *name;
    json_t *yes;
    int parts = *between == ';';

    json_object_foreach(measured->others, name, yes)
    {
        part_begin(buf, &parts, between);
        gp_buf_str(buf, *between == ';' ? "also " : "");
        gp_buf_str(buf, name);
        if (!json_is_true(yes))
            gp_buf_str(buf, ", where no run was judged");
    }
    json_object_foreach(measured->backends, name, yes)
    {
        if (json_is_true(yes))
            continue;
        part_begin(buf, &parts, between);
        gp_escape_plain(buf, name);
        gp_buf_str(buf, ", which could not be started");
    }
    if (!parts)
        gp_buf_str(buf, "no worker was started");
}

void gp_summary_measured(const struct gp_summary *summary, struct gp_buf *buf)
{
    struct measured measured = {gp_json_object(), gp_json_object(),
                                gp_json_object()};
    json_t *worker;
    size_t i;

    json_array_foreach(summary->workers, i, worker)
    {
        measured_add(&measured, worker,
                     json_is_true(json_array_get(summary->judged, i)));
    }
    if (json_object_size(measured.devices)) {
        devices_phrase(&measured, buf);
        others_phrase(&measured, "; ", buf);
        reference_phrase(summary, buf);
    } else {
        gp_buf_str(buf, "No GPU was measured");
        if (gp_json_bool_or(summary->head, "nvidia_device", false))
            gp_buf_str(buf, " although this machine has an NVIDIA device");
        gp_buf_str(buf, ": ");
        others_phrase(&measured, ", ", buf);
    }
    gp_buf_str(buf, ".");
    json_decref(measured.devices);
    json_decref(measured.others);
    json_decref(measured.backends);
}

/* --- counts ------------------------------------------------------------ */

struct reason {
    const char *text;
    int64_t count;
    size_t place;
};

static int reason_compare(const void *one, const void *two)
{
    const struct reason *a = one, *b = two;

    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return a->place < b->place ? -1 : 1;
}

/* " (not offered 2, no overlap 1)", the most frequent first. */
static void reasons_phrase(const struct gp_summary *summary, struct gp_buf *buf)
{
    size_t count = json_object_size(summary->skip_reasons), room = 0, i = 0;
    struct reason *reasons = NULL;
    int64_t rest = 0;
    const char *text;
    json_t *number;

    json_object_foreach(summary->skip_reasons, text, number)
    {
        gp_grow((void **)&reasons, i, &room, sizeof *reasons);
        reasons[i].text = text;
        reasons[i].count = json_integer_value(number);
        reasons[i].place = i;
        i++;
    }
    if (count)
        qsort(reasons, count, sizeof *reasons, reason_compare);
    for (i = 0; i < count; i++) {
        if (i >= REASONS_SHOWN) {
            rest += reasons[i].count;
            continue;
        }
        gp_buf_str(buf, i ? ", " : " (");
        gp_escape_plain(buf, reasons[i].text);
        gp_buf_printf(buf, " %" PRId64, reasons[i].count);
    }
    if (rest)
        gp_buf_printf(buf, ", other reasons %" PRId64, rest);
    if (count)
        gp_buf_str(buf, ")");
    free(reasons);
}

void gp_summary_counts(const struct gp_summary *summary, struct gp_buf *buf)
{
    const struct gp_counts *counts = &summary->counts;

    gp_buf_printf(buf,
                  "planned %" PRId64 ", run %" PRId64 ", pass %" PRId64
                  " (observed %" PRId64 ", known %" PRId64 "), fail %" PRId64
                  ", skip %" PRId64,
                  counts->planned, counts->run, counts->pass, counts->observed,
                  counts->known, counts->fail, counts->skip);
    reasons_phrase(summary, buf);
    gp_buf_printf(buf,
                  ", error %" PRId64 "; relations %" PRId64
                  " (observed %" PRId64 ", fail %" PRId64,
                  counts->error, counts->relations, counts->relations_observed,
                  counts->relations_failed);
    if (summary->relation_errors)
        gp_buf_printf(buf, ", error %" PRId64, summary->relation_errors);
    gp_buf_str(buf, ")");
    if (summary->stopped)
        gp_buf_str(buf, "; STOPPED before its end");
    if (summary->missing)
        gp_buf_printf(buf, "; %" PRId64 " planned run%s without a record",
                      summary->missing, plural(summary->missing));
}

/* --- outcome ----------------------------------------------------------- */

static void outcome_green(const struct gp_summary *summary, struct gp_buf *buf)
{
    const struct gp_counts *counts = &summary->counts;

    gp_buf_printf(buf, "Everything that was judged passed: %" PRId64 " run%s",
                  counts->pass, plural(counts->pass));
    if (counts->relations)
        gp_buf_printf(buf, " and %" PRId64 " relation%s", counts->relations,
                      plural(counts->relations));
    if (counts->skip)
        gp_buf_printf(buf, "; %" PRId64 " more %s skipped", counts->skip,
                      counts->skip == 1 ? "was" : "were");
    if (counts->observed)
        gp_buf_printf(buf,
                      "; in %" PRId64 " run%s something was observed that "
                      "nothing promises or forbids",
                      counts->observed, plural(counts->observed));
    if (counts->known)
        gp_buf_printf(buf, "; %" PRId64 " of them fail%s as listed and known",
                      counts->known, counts->known == 1 ? "s" : "");
    gp_buf_str(buf, ".");
}

static void outcome_untested(const struct gp_summary *summary,
                             struct gp_buf *buf, int *parts)
{
    size_t count = json_array_size(summary->untested);

    for (size_t i = 0; i < count && i < PAIRS_SHOWN; i++) {
        part_begin(buf, parts, ", ");
        gp_buf_str(buf, "no run of ");
        gp_escape_plain(
            buf, json_string_value(json_array_get(summary->untested, i)));
        gp_buf_str(buf, " was judged");
    }
    if (count > PAIRS_SHOWN)
        gp_buf_printf(buf, ", nor of %zu more pairs of backend and type",
                      count - PAIRS_SHOWN);
}

static void outcome_red(const struct gp_summary *summary, struct gp_buf *buf)
{
    const struct gp_counts *counts = &summary->counts;
    const struct {
        int64_t count;
        const char *one, *many;
    } rows[] = {
        {counts->fail, "run failed", "runs failed"},
        {counts->relations_failed, "relation failed", "relations failed"},
        {counts->error, "run ended in an error", "runs ended in errors"},
        {summary->relation_errors, "relation ended in an error",
         "relations ended in errors"},
        {summary->missing, "planned run has no record",
         "planned runs have no record"},
    };
    int parts = 0;

    if (counts->run == 0)
        gp_buf_str(buf, "Nothing was tested: no run was judged");
    else
        gp_buf_str(buf, "Not green: ");
    parts += counts->run == 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].count)
            continue;
        part_begin(buf, &parts, ", ");
        gp_buf_printf(buf, "%" PRId64 " %s", rows[i].count,
                      rows[i].count == 1 ? rows[i].one : rows[i].many);
    }
    if (summary->stopped) {
        part_begin(buf, &parts, ", ");
        gp_buf_str(buf, "the run was stopped before its end");
    }
    if (counts->run)
        outcome_untested(summary, buf, &parts);
    gp_buf_str(buf, ".");
}

void gp_summary_outcome(const struct gp_summary *summary, struct gp_buf *buf)
{
    if (gp_summary_exit(summary) == 0)
        outcome_green(summary, buf);
    else
        outcome_red(summary, buf);
}

void gp_summary_notes(const struct gp_summary *summary, const char *before,
                      struct gp_buf *buf)
{
    if (summary->cut)
        gp_buf_printf(buf,
                      "%sThe last line of the journal was cut; it is not "
                      "counted.\n",
                      before);
    if (summary->faults)
        gp_buf_printf(buf,
                      "%s%" PRId64 " run%s carried a planted fault: there, a "
                      "fail is what should happen.\n",
                      before, summary->faults, plural(summary->faults));
}
