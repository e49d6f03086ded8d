/*
 * JSON by jansson, with one sentence for everything that can be wrong.
 *
 * gp_json_get_* look up `key` in `object`; absent or of another type is an
 * error that names the key. The _or forms take a value for an absent key.
 * Strings are borrowed from the object.
 */
#ifndef GP_BASE_JSON_H
#define GP_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/buf.h"
#include "harness/base/err.h"

int gp_json_get_str(const json_t *object, const char *key,
                    const char **ret_text, struct gp_err *err) GP_MUST_CHECK;
int gp_json_get_int(const json_t *object, const char *key, int64_t *ret_value,
                    struct gp_err *err) GP_MUST_CHECK;
/* A real: a number, or a string holding a hexadecimal float, inf or nan. */
int gp_json_get_real(const json_t *object, const char *key, double *ret_value,
                     struct gp_err *err) GP_MUST_CHECK;
int gp_json_get_array(const json_t *object, const char *key,
                      const json_t **ret_array,
                      struct gp_err *err) GP_MUST_CHECK;
int gp_json_get_object(const json_t *object, const char *key,
                       const json_t **ret_object,
                       struct gp_err *err) GP_MUST_CHECK;

const char *gp_json_str_or(const json_t *object, const char *key,
                           const char *absent);
int64_t gp_json_int_or(const json_t *object, const char *key, int64_t absent);
double gp_json_real_or(const json_t *object, const char *key, double absent);
bool gp_json_bool_or(const json_t *object, const char *key, bool absent);

/* Setters; the object takes ownership. Running out of memory ends the
 * program, as in an arena. */
void gp_json_set(json_t *object, const char *key, json_t *value);
void gp_json_set_str(json_t *object, const char *key, const char *text);
void gp_json_set_int(json_t *object, const char *key, int64_t value);
void gp_json_set_bool(json_t *object, const char *key, bool value);
/* A finite double as a number with 17 digits, else "inf", "-inf" or "nan". */
void gp_json_set_real(json_t *object, const char *key, double value);
json_t *gp_json_real(double value);
/* As gp_json_set_real, and the same value in hexadecimal under KEY_hex. */
void gp_json_set_exact(json_t *object, const char *key, double value);
void gp_json_append(json_t *array, json_t *value);
json_t *gp_json_object(void);
json_t *gp_json_array(void);

/* A valid UTF-8 JSON string of bytes that may be anything: what is not UTF-8
 * becomes '?'. */
json_t *gp_json_text(const char *bytes);

/* Append the value in one line, keys in order of insertion. */
void gp_json_print(struct gp_buf *buf, const json_t *value);

/* Parse one text. NULL and a sentence on failure; the caller owns the
 * result. */
json_t *gp_json_parse(const char *text, size_t len, struct gp_err *err);

#endif
