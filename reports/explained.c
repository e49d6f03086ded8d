#include "reports/explained.h"

#include <inttypes.h>

bool gp_explained_is(const json_t *run)
{
    return json_object_get(run, "explanation") ||
           json_object_get(run, "variation");
}

static const char *text_of(const json_t *object)
{
    return gp_json_str_or(object, "text", "");
}

void gp_explained_cause(const json_t *run, struct gp_buf *buf)
{
    const char *cause = text_of(json_object_get(run, "explanation"));

    gp_buf_str(buf,
               *cause ? cause : text_of(json_object_get(run, "variation")));
}

static void print_map(const char *what, const json_t *object,
                      struct gp_buf *buf)
{
    const json_t *map = json_object_get(object, "map");

    if (map)
        gp_buf_printf(buf, "%s: %" PRId64 " of %" PRId64 " elements, %s\n",
                      what, gp_json_int_or(map, "count", 0),
                      gp_json_int_or(map, "of", 0), text_of(map));
}

/* A value and its hexadecimal form. */
static void print_value(const json_t *element, const char *key,
                        struct gp_buf *buf)
{
    char hex_key[32];
    const char *hex;

    snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    hex = gp_json_str_or(element, hex_key, "");
    gp_buf_printf(buf, "%.17g", gp_json_real_or(element, key, 0));
    if (*hex)
        gp_buf_printf(buf, " (%s)", hex);
}

static void print_worst(const json_t *element, struct gp_buf *buf)
{
    gp_buf_printf(buf, "worst: D(%" PRId64 ", %" PRId64 ")",
                  gp_json_int_or(element, "i", 0),
                  gp_json_int_or(element, "j", 0));
    if (gp_json_int_or(element, "batch", 0))
        gp_buf_printf(buf, " of batch %" PRId64,
                      gp_json_int_or(element, "batch", 0));
    gp_buf_str(buf, " = ");
    print_value(element, "got", buf);
    gp_buf_str(buf, ", the reference ");
    print_value(element, "ref", buf);
    gp_buf_printf(buf, ", may be off %.6g (%s); %.6g ulp\n",
                  gp_json_real_or(element, "limit", 0),
                  gp_json_str_or(element, "limit_hex", "?"),
                  gp_json_real_or(element, "ulp", 0));
}

void gp_explained_lines(const json_t *run, size_t worst, struct gp_buf *buf)
{
    const json_t *explanation = json_object_get(run, "explanation");
    const json_t *variation = json_object_get(run, "variation");
    const json_t *elements = json_object_get(explanation, "worst");

    if (explanation) {
        gp_buf_printf(buf, "cause: %s\n", text_of(explanation));
        print_map("wrong", explanation, buf);
        for (size_t i = 0; i < json_array_size(elements) && i < worst; i++)
            print_worst(json_array_get(elements, i), buf);
    }
    if (variation) {
        gp_buf_printf(buf, "repeats: %s\n", text_of(variation));
        print_map("differing", variation, buf);
    }
}
