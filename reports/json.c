/* report.json: the counts, what was found in the records (evidence.h,
 * delivered.h and decided.h say which keys), and the records as the journal
 * has them. */
#include "reports/writer.h"

#include "reports/bands.h"
#include "reports/decided.h"
#include "reports/delivered.h"
#include "reports/evidence.h"
#include "reports/fingerprint.h"

static void key_begin(struct gp_buf *buf, const char *key)
{
    gp_buf_printf(buf, ",\n\"%s\":", key);
}

/* One record a line, so that two reports can be compared by lines. */
static void print_array(struct gp_buf *buf, const char *key, json_t *records)
{
    json_t *record;
    size_t i;

    key_begin(buf, key);
    gp_buf_str(buf, "[");
    json_array_foreach(records, i, record)
    {
        gp_buf_str(buf, i ? ",\n" : "\n");
        gp_json_print(buf, record);
    }
    gp_buf_str(buf, json_array_size(records) ? "\n]" : "]");
}

static void print_value(struct gp_buf *buf, const char *key, json_t *value)
{
    key_begin(buf, key);
    gp_json_print(buf, value);
    json_decref(value);
}

static void print_sentence(const struct gp_summary *summary, const char *key,
                           void (*say)(const struct gp_summary *,
                                       struct gp_buf *),
                           struct gp_buf *buf)
{
    struct gp_buf text = {0};

    say(summary, &text);
    print_value(buf, key, gp_json_text(gp_buf_text(&text)));
    gp_buf_free(&text);
}

static json_t *counts_object(const struct gp_summary *summary)
{
    const struct gp_counts *counts = &summary->counts;
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {
        {"planned", counts->planned},
        {"run", counts->run},
        {"pass", counts->pass},
        {"observed", counts->observed},
        {"known", counts->known},
        {"fail", counts->fail},
        {"skip", counts->skip},
        {"error", counts->error},
        {"missing", summary->missing},
        {"faults", summary->faults},
        {"relations", counts->relations},
        {"relations_observed", counts->relations_observed},
        {"relations_failed", counts->relations_failed},
        {"relations_errors", summary->relation_errors},
    };
    json_t *made = gp_json_object();

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        gp_json_set_int(made, rows[i].key, rows[i].value);
    gp_json_set(made, "skip_reasons", json_incref(summary->skip_reasons));
    return made;
}

static json_t *simulated_array(const struct gp_summary *summary)
{
    json_t *made = gp_json_array();
    const char *backend;
    json_t *yes;

    json_object_foreach(summary->simulated, backend, yes)
    {
        gp_json_append(made, json_string(backend));
    }
    return made;
}

static void print_found(struct gp_buf *buf, const char *key, json_t *records)
{
    print_array(buf, key, records);
    json_decref(records);
}

void gp_writer_json(const struct gp_summary *summary, struct gp_buf *buf)
{
    json_t *finished = json_object_get(summary->end, "finished");

    gp_buf_str(buf, "{\"format\":1");
    print_sentence(summary, "measured", gp_summary_measured, buf);
    print_value(buf, "counts", counts_object(summary));
    print_sentence(summary, "outcome", gp_summary_outcome, buf);
    print_value(buf, "stopped", json_boolean(summary->stopped));
    print_value(buf, "cut", json_boolean(summary->cut));
    print_value(buf, "untested", json_incref(summary->untested));
    print_value(buf, "simulated", simulated_array(summary));
    print_found(buf, "workspaces", gp_evidence_find(summary));
    print_found(buf, "delivered", gp_delivered_find(summary));
    print_found(buf, "decided", gp_decided_find(summary));
    print_found(buf, "fingerprints", gp_fingerprint_find(summary));
    print_found(buf, "bands", gp_bands_find(summary));
    print_value(buf, "false_alarm", json_real(gp_bands_false_alarm(summary)));
    print_value(buf, "head", json_incref(summary->head));
    print_array(buf, "workers", summary->workers);
    print_array(buf, "runs", summary->runs);
    print_array(buf, "relations", summary->relations);
    if (finished)
        print_value(buf, "finished", json_incref(finished));
    print_value(buf, "exit", json_integer(gp_summary_exit(summary)));
    gp_buf_str(buf, "}\n");
}
