#include "reports/label.h"

#include <inttypes.h>
#include <string.h>

/* The last ".FAMILY." of a problem's id; its end if there is none. */
static size_t before_family(const char *id, const char *family)
{
    struct gp_buf word = {0};
    const char *at = id, *last = NULL;
    size_t len;

    gp_buf_printf(&word, ".%s.", family);
    while ((at = strstr(at, word.text)))
        last = at++;
    len = last ? (size_t)(last - id) : strlen(id);
    gp_buf_free(&word);
    return len;
}

void gp_label_shape(const json_t *run, struct gp_buf *buf)
{
    const char *id = gp_json_str_or(run, "problem", "?");
    size_t len = before_family(id, gp_json_str_or(run, "family", ""));
    size_t skip = strcspn(id, ".");

    skip = skip < len ? skip + 1 : 0;
    if (strncmp(id + skip, "nn.", 3) == 0 && skip + 3 < len)
        skip += 3;
    gp_buf_add(buf, id + skip, len - skip);
}

const char *gp_label_entry(const json_t *run)
{
    const char *entry = gp_json_str_or(run, "entry", "");
    struct gp_type_pair types;
    struct gp_err err;

    if (gp_type_pair_parse(gp_json_str_or(run, "type", ""), &types, &err) ==
            0 &&
        strcmp(gp_entry_default(types.in, types.out), entry) == 0)
        return "";
    return entry;
}

void gp_label_backend(const struct gp_summary *summary, const char *backend,
                      struct gp_buf *buf)
{
    gp_buf_str(buf, backend);
    if (json_object_get(summary->simulated, backend) &&
        strncmp(backend, "simulated", 9) != 0)
        gp_buf_str(buf, " (simulated)");
}

void gp_label_setting(const char *workspace, const char *env,
                      struct gp_buf *buf)
{
    gp_buf_str(buf, workspace);
    if (*env)
        gp_buf_printf(buf, " with %s", env);
}

void gp_label_bytes(int64_t bytes, struct gp_buf *buf)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;

    while (bytes && bytes % 1024 == 0 && unit < 3) {
        bytes /= 1024;
        unit++;
    }
    gp_buf_printf(buf, "%" PRId64 " %s", bytes, units[unit]);
}

void gp_label_counts(const json_t *counts, struct gp_buf *buf)
{
    json_t *rest = json_deep_copy(counts);
    size_t parts = 0;

    while (json_object_size(rest)) {
        const char *key, *most = NULL;
        json_int_t largest = 0;
        json_t *count;

        json_object_foreach(rest, key, count)
        {
            if (!most || json_integer_value(count) > largest) {
                most = key;
                largest = json_integer_value(count);
            }
        }
        gp_buf_printf(buf, "%s%s %" PRId64, parts++ ? ", " : "", most,
                      (int64_t)largest);
        json_object_del(rest, most);
    }
    json_decref(rest);
}

void gp_label_list(const json_t *words, size_t most, struct gp_buf *buf)
{
    size_t count = json_array_size(words);

    /* "and 1 more" is as long as the one. */
    if (count <= most + 1)
        most = count;
    for (size_t i = 0; i < most; i++) {
        const char *word = json_string_value(json_array_get(words, i));

        gp_buf_printf(buf, "%s%s", i ? ", " : "", word ? word : "?");
    }
    if (count > most)
        gp_buf_printf(buf, " and %zu more", count - most);
}

void gp_label_mode(const char *mode, const char *env, struct gp_buf *buf)
{
    gp_buf_str(buf, mode);
    if (*env)
        gp_buf_printf(buf, " %s", env);
}
