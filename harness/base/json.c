#include "harness/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"

static int json_wrong(const json_t *found, const char *key, const char *kind,
                      struct gp_err *err)
{
    return gp_err_set(err, GP_ERR_BACKEND, "the key '%s' %s %s", key,
                      found ? "is not" : "is missing: it should be", kind);
}

int gp_json_get_str(const json_t *object, const char *key,
                    const char **ret_text, struct gp_err *err)
{
    const json_t *found = json_object_get(object, key);

    if (!json_is_string(found))
        return json_wrong(found, key, "a string", err);
    *ret_text = json_string_value(found);
    return 0;
}

int gp_json_get_int(const json_t *object, const char *key, int64_t *ret_value,
                    struct gp_err *err)
{
    const json_t *found = json_object_get(object, key);

    if (!json_is_integer(found))
        return json_wrong(found, key, "a whole number", err);
    *ret_value = json_integer_value(found);
    return 0;
}

static int json_to_real(const json_t *found, double *ret_value)
{
    const char *text = json_string_value(found);
    char *end;
    double value;

    if (json_is_number(found)) {
        *ret_value = json_number_value(found);
        return 0;
    }
    if (!text || !*text)
        return -1;
    value = strtod(text, &end);
    if (*end)
        return -1;
    *ret_value = value;
    return 0;
}

int gp_json_get_real(const json_t *object, const char *key, double *ret_value,
                     struct gp_err *err)
{
    const json_t *found = json_object_get(object, key);

    if (json_to_real(found, ret_value) != 0)
        return json_wrong(found, key, "a number", err);
    return 0;
}

int gp_json_get_array(const json_t *object, const char *key,
                      const json_t **ret_array, struct gp_err *err)
{
    const json_t *found = json_object_get(object, key);

    if (!json_is_array(found))
        return json_wrong(found, key, "an array", err);
    *ret_array = found;
    return 0;
}

int gp_json_get_object(const json_t *object, const char *key,
                       const json_t **ret_object, struct gp_err *err)
{
    const json_t *found = json_object_get(object, key);

    if (!json_is_object(found))
        return json_wrong(found, key, "an object", err);
    *ret_object = found;
    return 0;
}

const char *gp_json_str_or(const json_t *object, const char *key,
                           const char *absent)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : absent;
}

int64_t gp_json_int_or(const json_t *object, const char *key, int64_t absent)
{
    const json_t *found = json_object_get(object, key);

    return json_is_integer(found) ? json_integer_value(found) : absent;
}

double gp_json_real_or(const json_t *object, const char *key, double absent)
{
    double value = absent;

    return json_to_real(json_object_get(object, key), &value) ? absent : value;
}

bool gp_json_bool_or(const json_t *object, const char *key, bool absent)
{
    const json_t *found = json_object_get(object, key);

    return json_is_boolean(found) ? json_is_true(found) : absent;
}

void gp_json_set(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        gp_arena_out_of_memory(0);
}

void gp_json_set_str(json_t *object, const char *key, const char *text)
{
    gp_json_set(object, key, gp_json_text(text));
}

void gp_json_set_int(json_t *object, const char *key, int64_t value)
{
    gp_json_set(object, key, json_integer(value));
}

void gp_json_set_bool(json_t *object, const char *key, bool value)
{
    gp_json_set(object, key, json_boolean(value));
}

json_t *gp_json_real(double value)
{
    if (isnan(value))
        return json_string("nan");
    if (isinf(value))
        return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

void gp_json_set_real(json_t *object, const char *key, double value)
{
    gp_json_set(object, key, gp_json_real(value));
}

void gp_json_set_exact(json_t *object, const char *key, double value)
{
    char name[64], hex[40];

    gp_json_set_real(object, key, value);
    snprintf(name, sizeof name, "%s_hex", key);
    snprintf(hex, sizeof hex, "%a", value);
    gp_json_set(object, name, json_string(hex));
}

void gp_json_append(json_t *array, json_t *value)
{
    if (!value || json_array_append_new(array, value) != 0)
        gp_arena_out_of_memory(0);
}

json_t *gp_json_object(void)
{
    json_t *made = json_object();

    if (!made)
        gp_arena_out_of_memory(0);
    return made;
}

json_t *gp_json_array(void)
{
    json_t *made = json_array();

    if (!made)
        gp_arena_out_of_memory(0);
    return made;
}

json_t *gp_json_text(const char *bytes)
{
    json_t *made = json_string(bytes);
    struct gp_buf clean = {0};

    if (made)
        return made;
    for (const char *at = bytes; *at; at++)
        gp_buf_add(&clean, (unsigned char)*at < 0x80 ? at : "?", 1);
    made = json_string(gp_buf_text(&clean));
    gp_buf_free(&clean);
    if (!made)
        gp_arena_out_of_memory(0);
    return made;
}

static int json_sink(const char *bytes, size_t count, void *data)
{
    gp_buf_add(data, bytes, count);
    return 0;
}

void gp_json_print(struct gp_buf *buf, const json_t *value)
{
    if (json_dump_callback(value, json_sink, buf,
                           JSON_COMPACT | JSON_ENCODE_ANY |
                               JSON_REAL_PRECISION(17)) != 0)
        gp_arena_out_of_memory(0);
}

json_t *gp_json_parse(const char *text, size_t len, struct gp_err *err)
{
    json_error_t where;
    json_t *made = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);

    if (!made)
        gp_err_set(err, GP_ERR_BACKEND, "not JSON at byte %d: %s",
                   where.position, where.text);
    return made;
}
