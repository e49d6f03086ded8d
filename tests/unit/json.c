/* JSON: one sentence for everything that can be wrong. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "harness/base/json.h"

static json_t *parsed(const char *text)
{
    struct gp_err err = {0};
    json_t *made = gp_json_parse(text, strlen(text), &err);

    cr_assert_not_null(made, "%s", err.text);
    return made;
}

Test(json, getting)
{
    json_t *object = parsed("{\"s\":\"text\",\"i\":-7,\"r\":1.5,\"a\":[1],"
                            "\"o\":{\"x\":1},\"h\":\"0x1.8p-3\",\"n\":\"nan\","
                            "\"m\":\"-inf\",\"b\":true}");
    struct gp_err err = {0};
    const json_t *part;
    const char *text;
    int64_t number;
    double real;

    cr_assert(!gp_json_get_str(object, "s", &text, &err) &&
              strcmp(text, "text") == 0);
    cr_assert(!gp_json_get_int(object, "i", &number, &err) && number == -7);
    cr_assert(!gp_json_get_real(object, "r", &real, &err) && real == 1.5);
    cr_assert(!gp_json_get_real(object, "i", &real, &err) && real == -7);
    cr_assert(!gp_json_get_real(object, "h", &real, &err) && real == 0x1.8p-3);
    cr_assert(!gp_json_get_real(object, "n", &real, &err) && isnan(real));
    cr_assert(!gp_json_get_real(object, "m", &real, &err) && real == -INFINITY);
    cr_assert(!gp_json_get_array(object, "a", &part, &err) &&
              json_array_size(part) == 1);
    cr_assert(!gp_json_get_object(object, "o", &part, &err) &&
              json_object_size(part) == 1);
    cr_assert_str_eq(gp_json_str_or(object, "s", "?"), "text");
    cr_assert_eq(gp_json_int_or(object, "i", 3), -7);
    cr_assert_eq(gp_json_real_or(object, "h", 3), 0x1.8p-3);
    cr_assert(gp_json_bool_or(object, "b", false));
    json_decref(object);
}

static void wrong(int status, const struct gp_err *err, const char *key)
{
    cr_assert_eq(status, -1, "%s", key);
    cr_assert_eq(err->kind, GP_ERR_BACKEND);
    cr_assert_not_null(strstr(err->text, key), "%s", err->text);
}

Test(json, what_is_missing_or_of_another_type)
{
    json_t *object = parsed("{\"s\":1,\"i\":1.0,\"r\":\"1.5x\",\"e\":\"\","
                            "\"a\":{},\"o\":[],\"b\":1}");
    struct gp_err err = {0};
    const json_t *part = NULL;
    const char *text = "kept";
    int64_t number = 99;
    double real = 99;

    wrong(gp_json_get_str(object, "s", &text, &err), &err, "'s'");
    wrong(gp_json_get_str(object, "none", &text, &err), &err, "'none'");
    wrong(gp_json_get_int(object, "i", &number, &err), &err, "'i'");
    wrong(gp_json_get_int(object, "none", &number, &err), &err, "missing");
    wrong(gp_json_get_real(object, "r", &real, &err), &err, "'r'");
    wrong(gp_json_get_real(object, "e", &real, &err), &err, "'e'");
    wrong(gp_json_get_array(object, "a", &part, &err), &err, "'a'");
    wrong(gp_json_get_object(object, "o", &part, &err), &err, "'o'");
    cr_assert(strcmp(text, "kept") == 0 && number == 99 && real == 99 && !part);
    cr_assert_str_eq(gp_json_str_or(object, "s", "?"), "?");
    cr_assert_eq(gp_json_int_or(object, "i", 3), 3);
    cr_assert_eq(gp_json_real_or(object, "r", 3), 3);
    cr_assert(gp_json_bool_or(object, "b", true));
    cr_assert_not(gp_json_bool_or(NULL, "b", false));
    json_decref(object);
}

Test(json, numbers_travel_with_all_their_bits)
{
    static const double values[] = {
        0.1, -1.0 / 3, 1e-310, 0x1p1023, 5e-324, 123456789.123456789, 0, -0.0};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *object = gp_json_object(), *back;
        struct gp_buf buf = {0};
        struct gp_err err = {0};
        double real, hex;
        gp_json_set_exact(object, "x", values[i]);
        gp_json_print(&buf, object);
        back = gp_json_parse(buf.text, buf.len, &err);
        cr_assert_eq(gp_json_get_real(back, "x", &real, &err), 0);
        cr_assert_eq(gp_json_get_real(back, "x_hex", &hex, &err), 0);
        cr_assert(memcmp(&real, &values[i], sizeof real) == 0 &&
                      memcmp(&hex, &values[i], sizeof hex) == 0,
                  "%a: %s", values[i], buf.text);
        json_decref(object);
        json_decref(back);
        gp_buf_free(&buf);
    }
}

Test(json, printing)
{
    json_t *object = gp_json_object(), *array = gp_json_array();
    struct gp_buf buf = {0};

    gp_json_set_str(object, "z", "line\n\"quoted\"");
    gp_json_set_int(object, "a", INT64_MIN);
    gp_json_set_bool(object, "b", true);
    gp_json_set_real(object, "i", INFINITY);
    gp_json_set_real(object, "j", -INFINITY);
    gp_json_set_real(object, "n", NAN);
    gp_json_append(array, gp_json_real(0.5));
    gp_json_set(object, "l", array);
    gp_json_print(&buf, object);
    cr_assert_str_eq(buf.text,
                     "{\"z\":\"line\\n\\\"quoted\\\"\","
                     "\"a\":-9223372036854775808,\"b\":true,\"i\":\"inf\","
                     "\"j\":\"-inf\",\"n\":\"nan\",\"l\":[0.5]}");
    gp_buf_free(&buf);
    json_decref(object);
}

/* Bytes from anywhere become a text. */
Test(json, text_that_is_not_utf_8)
{
    json_t *text = gp_json_text("caf\xe9 \xff!");

    cr_assert_str_eq(json_string_value(text), "caf? ?!");
    json_decref(text);
    text = gp_json_text("caf\xc3\xa9");
    cr_assert_str_eq(json_string_value(text), "caf\xc3\xa9");
    json_decref(text);
}

Test(json, what_is_no_json)
{
    static const char *const wrong_texts[] = {"",
                                              "{",
                                              "{\"a\":1,}",
                                              "nonsense",
                                              "{\"a\":1}{\"b\":2}",
                                              "{\"a\":1,\"a\":2}",
                                              "{\"a\":\"\xff\"}",
                                              "{'a':1}"};

    for (size_t i = 0; i < sizeof wrong_texts / sizeof *wrong_texts; i++) {
        struct gp_err err = {0};
        cr_assert_null(
            gp_json_parse(wrong_texts[i], strlen(wrong_texts[i]), &err), "%s",
            wrong_texts[i]);
        cr_assert_eq(err.kind, GP_ERR_BACKEND);
        cr_assert_not_null(strstr(err.text, "not JSON"), "%s", err.text);
    }
}
