#include "reports/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "reports/escape.h"
#include "reports/index.h"

/* The engine's reason for what a backend does not offer. */
static const char not_offered[] = "not offered";

/* What is needed only while reading. */
struct reader {
    const char *path;
    int64_t line;
    struct gp_summary made;
    json_t *workers_now;     /* worker number -> index of its last record */
    json_t *relation_places; /* relation and members -> index */
    json_t *evidence_places; /* backend, workspace and env -> index */
    int64_t *worker_of;      /* beside runs: index of the worker, or -1 */
    size_t worker_of_room;
};

static int reader_broken(const struct reader *reader, const char *why,
                         struct gp_err *err)
{
    struct gp_buf clean = {0};

    gp_escape_plain(&clean, why);
    gp_err_set(err, GP_ERR_USAGE,
               "%s:%" PRId64 ": %s: the journal is damaged here; remove this "
               "line (its run then counts as missing) or run again",
               reader->path, reader->line, gp_buf_text(&clean));
    gp_buf_free(&clean);
    return -1;
}

/* Is there a verdict, and one of the four? */
static bool verdict_known(const json_t *record)
{
    const char *name = gp_json_str_or(record, "verdict", "");

    return strcmp(gp_verdict_name(gp_verdict_find(name)), name) == 0;
}

static void replace(json_t *records, int64_t place, json_t *record)
{
    if (json_array_set(records, (size_t)place, record) != 0)
        gp_arena_out_of_memory(0);
}

static int read_head(struct reader *reader, json_t *record, struct gp_err *err)
{
    int64_t format = gp_json_int_or(record, "format", -1);

    if (format != 1)
        return gp_err_set(err, GP_ERR_USAGE,
                          "%s:%" PRId64 ": the journal has the format %" PRId64
                          " and this gemmproof reads 1: use the gemmproof "
                          "that wrote it",
                          reader->path, reader->line, format);
    if (reader->made.head)
        return reader_broken(reader, "a second head: two runs in one file",
                             err);
    reader->made.head = json_incref(record);
    return 0;
}

static int read_worker(struct reader *reader, json_t *record,
                       struct gp_err *err)
{
    char number[32];

    (void)err;
    snprintf(number, sizeof number, "%" PRId64,
             gp_json_int_or(record, "worker", -1));
    gp_json_set(
        reader->workers_now, number,
        json_integer((json_int_t)json_array_size(reader->made.workers)));
    gp_json_append(reader->made.workers, json_incref(record));
    gp_json_append(reader->made.judged, json_false());
    if (gp_json_bool_or(json_object_get(record, "device"), "simulated", false))
        gp_json_set_bool(reader->made.simulated,
                         gp_json_str_or(record, "backend", "?"), true);
    return 0;
}

static int read_run(struct reader *reader, json_t *record, struct gp_err *err)
{
    struct gp_summary *made = &reader->made;
    const char *id = gp_json_str_or(record, "id", NULL);
    size_t count = json_array_size(made->runs);
    int64_t place;
    char number[32];

    if (!id || !verdict_known(record))
        return reader_broken(reader, "a run without an id or a verdict", err);
    place = gp_json_int_or(made->places, id, -1);
    if (place < 0) {
        place = (int64_t)count;
        gp_grow((void **)&reader->worker_of, count, &reader->worker_of_room,
                sizeof *reader->worker_of);
        gp_json_set(made->places, id, json_integer(place));
        gp_json_append(made->runs, json_incref(record));
    } else {
        replace(made->runs, place, record);
    }
    snprintf(number, sizeof number, "%" PRId64,
             gp_json_int_or(record, "worker", -1));
    reader->worker_of[place] = gp_json_int_or(reader->workers_now, number, -1);
    return 0;
}

static int read_relation(struct reader *reader, json_t *record,
                         struct gp_err *err)
{
    const json_t *members = json_object_get(record, "members");
    const char *name = gp_json_str_or(record, "relation", NULL);
    struct gp_buf key = {0};
    int64_t place;

    if (!name || !verdict_known(record))
        return reader_broken(reader, "a relation without a name or a verdict",
                             err);
    gp_buf_str(&key, name);
    for (size_t i = 0; i < json_array_size(members); i++) {
        const char *id = json_string_value(json_array_get(members, i));
        gp_buf_printf(&key, "\n%s", id ? id : "");
    }
    if (json_array_size(members) == 0) /* what a case requires */
        gp_buf_printf(&key, "\n%s", gp_json_str_or(record, "text", ""));
    place = gp_json_int_or(reader->relation_places, key.text, -1);
    if (place < 0) {
        place = (int64_t)json_array_size(reader->made.relations);
        gp_json_set(reader->relation_places, key.text, json_integer(place));
        gp_json_append(reader->made.relations, json_incref(record));
    } else {
        replace(reader->made.relations, place, record);
    }
    gp_buf_free(&key);
    return 0;
}

static int read_evidence(struct reader *reader, json_t *record,
                         struct gp_err *err)
{
    json_t *evidence = reader->made.evidence;
    const char *const parts[] = {gp_json_str_or(record, "backend", ""),
                                 gp_json_str_or(record, "workspace", ""),
                                 gp_json_str_or(record, "env", ""), NULL};
    int64_t place = gp_index_add(reader->evidence_places, parts,
                                 (int64_t)json_array_size(evidence));

    (void)err;
    if (place < 0)
        gp_json_append(evidence, json_incref(record));
    else
        replace(evidence, place, record);
    return 0;
}

static int read_end(struct reader *reader, json_t *record, struct gp_err *err)
{
    (void)err;
    reader->made.end = json_incref(record);
    return 0;
}

static int read_record(struct reader *reader, json_t *record,
                       struct gp_err *err)
{
    static const struct {
        const char *name;
        int (*read)(struct reader *, json_t *, struct gp_err *);
    } kinds[] = {
        {"head", read_head}, {"worker", read_worker},
        {"run", read_run},   {"relation", read_relation},
        {"end", read_end},   {"workspace", read_evidence},
    };
    const char *name = gp_json_str_or(record, "record", NULL);

    if (!name)
        return reader_broken(reader, "not a record", err);
    if (!reader->made.head && strcmp(name, "head") != 0)
        return reader_broken(reader, "the first record should be a head", err);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        /* What follows an end was appended by a run that went on. */
        json_decref(reader->made.end);
        reader->made.end = NULL;
        return kinds[i].read(reader, record, err);
    }
    return 0;
}

static int read_line(struct reader *reader, const char *text, size_t len,
                     struct gp_err *err)
{
    bool whole = len > 0 && text[len - 1] == '\n';
    struct gp_err why = {0};
    json_t *record;
    int ret;

    reader->line++;
    record = gp_json_parse(text, len, &why);
    if (!record && !whole) {
        reader->made.cut = true;
        return 0;
    }
    if (!record)
        return reader_broken(reader, why.text, err);
    ret = read_record(reader, record, err);
    json_decref(record);
    return ret;
}

static int read_file(struct reader *reader, struct gp_err *err)
{
    FILE *file = fopen(reader->path, "r");
    char *text = NULL;
    size_t room = 0;
    ssize_t len;
    int ret = 0;

    errno = file ? 0 : errno;
    while (file && ret == 0 && (len = getline(&text, &room, file)) >= 0)
        ret = read_line(reader, text, (size_t)len, err);
    if (ret == 0 && (!file || ferror(file)))
        ret = gp_err_set(err, GP_ERR_SYSTEM,
                         "%s: cannot be read (%s): give the results.jsonl of "
                         "a run",
                         reader->path, strerror(errno));
    if (file)
        fclose(file);
    free(text);
    if (ret == 0 && !reader->made.head)
        ret = gp_err_set(err, GP_ERR_USAGE,
                         "%s: has no record: the run was stopped before it "
                         "began; run again",
                         reader->path);
    return ret;
}

/* Which backends and types have runs, and no pass or fail among them? What is
 * not offered cannot be tested and says nothing. */
static void note_pair(json_t *pairs, const json_t *run, bool judged)
{
    struct gp_buf key = {0};

    if (gp_summary_verdict(run) == GP_SKIP &&
        strcmp(gp_json_str_or(run, "reason", ""), not_offered) == 0)
        return;
    gp_buf_printf(&key, "%s %s", gp_json_str_or(run, "backend", "?"),
                  gp_json_str_or(run, "type", "?"));
    if (judged || !json_object_get(pairs, key.text))
        gp_json_set_bool(pairs, key.text, judged);
    gp_buf_free(&key);
}

static void count_runs(struct reader *reader)
{
    struct gp_summary *made = &reader->made;
    json_t *pairs = gp_json_object();
    json_t *run, *judged;
    const char *key;
    size_t i;

    json_array_foreach(made->runs, i, run)
    {
        enum gp_verdict verdict = gp_summary_verdict(run);
        bool was_judged = verdict == GP_PASS || verdict == GP_FAIL;

        gp_counts_run(&made->counts, verdict, gp_summary_flags(run));
        made->faults += gp_json_str_or(run, "fault", "")[0] != '\0';
        if (verdict == GP_SKIP)
            gp_index_count(made->skip_reasons,
                           gp_json_str_or(run, "reason", "no reason given"));
        if (was_judged && reader->worker_of[i] >= 0)
            json_array_set_new(made->judged, (size_t)reader->worker_of[i],
                               json_true());
        note_pair(pairs, run, was_judged);
    }
    json_object_foreach(pairs, key, judged)
    {
        if (!json_is_true(judged))
            gp_json_append(made->untested, json_string(key));
    }
    json_decref(pairs);
}

static void count_all(struct reader *reader)
{
    struct gp_summary *made = &reader->made;
    const json_t *planned = json_object_get(made->head, "planned");
    int64_t records = (int64_t)json_array_size(made->runs);
    json_t *relation;
    size_t i;

    made->counts.planned = gp_json_int_or(planned, "runs", 0);
    made->missing = made->counts.planned - records;
    if (made->missing < 0)
        made->missing = 0;
    made->stopped = !made->end;
    count_runs(reader);
    json_array_foreach(made->relations, i, relation)
    {
        enum gp_verdict verdict = gp_summary_verdict(relation);

        gp_counts_relation(&made->counts, verdict, gp_summary_flags(relation));
        made->relation_errors += verdict == GP_ERROR;
    }
}

int gp_summary_read(const char *path, struct gp_summary *ret_summary,
                    struct gp_err *err)
{
    struct reader reader = {.path = path};
    int ret;

    reader.workers_now = gp_json_object();
    reader.relation_places = gp_json_object();
    reader.evidence_places = gp_json_object();
    reader.made.workers = gp_json_array();
    reader.made.judged = gp_json_array();
    reader.made.runs = gp_json_array();
    reader.made.relations = gp_json_array();
    reader.made.evidence = gp_json_array();
    reader.made.places = gp_json_object();
    reader.made.skip_reasons = gp_json_object();
    reader.made.untested = gp_json_array();
    reader.made.simulated = gp_json_object();
    ret = read_file(&reader, err);
    if (ret == 0) {
        count_all(&reader);
        *ret_summary = reader.made;
    } else {
        gp_summary_free(&reader.made);
    }
    json_decref(reader.workers_now);
    json_decref(reader.relation_places);
    json_decref(reader.evidence_places);
    free(reader.worker_of);
    return ret;
}

void gp_summary_free(struct gp_summary *summary)
{
    json_decref(summary->head);
    json_decref(summary->workers);
    json_decref(summary->judged);
    json_decref(summary->runs);
    json_decref(summary->relations);
    json_decref(summary->evidence);
    json_decref(summary->end);
    json_decref(summary->places);
    json_decref(summary->skip_reasons);
    json_decref(summary->untested);
    json_decref(summary->simulated);
    memset(summary, 0, sizeof *summary);
}

const json_t *gp_summary_run(const struct gp_summary *summary, const char *id)
{
    int64_t place = gp_json_int_or(summary->places, id, -1);

    return place < 0 ? NULL : json_array_get(summary->runs, (size_t)place);
}

enum gp_verdict gp_summary_verdict(const json_t *record)
{
    return gp_verdict_find(gp_json_str_or(record, "verdict", ""));
}

unsigned gp_summary_flags(const json_t *record)
{
    const json_t *words = json_object_get(record, "flags");
    unsigned flags = 0;

    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));

        if (word && strcmp(word, "observed") == 0)
            flags |= GP_OBSERVED;
        if (word && strcmp(word, "known") == 0)
            flags |= GP_KNOWN;
    }
    return flags;
}

int gp_summary_exit(const struct gp_summary *summary)
{
    return gp_counts_exit(&summary->counts,
                          json_array_size(summary->untested) > 0 ||
                              summary->stopped || summary->relation_errors);
}
