/* What names a machine goes out of a record, and nothing else. */
#include <criterion/criterion.h>
#include <string.h>

#include "harness/engine/redact.h"

/* The record without what is private, printed. */
static void expect(const char *record, const char *wanted)
{
    struct gp_err err = {0};
    struct gp_buf out = {0};
    json_t *value = gp_json_parse(record, strlen(record), &err);

    cr_assert_not_null(value, "%s", err.text);
    gp_redact(value);
    gp_json_print(&out, value);
    cr_assert_str_eq(gp_buf_text(&out), wanted);
    gp_redact(value); /* nothing is left to take out */
    gp_buf_free(&out);
    gp_json_print(&out, value);
    cr_assert_str_eq(gp_buf_text(&out), wanted);
    gp_buf_free(&out);
    json_decref(value);
}

static void kept(const char *record)
{
    expect(record, record);
}

Test(redact, named_keys)
{
    expect("{\"host\":\"node7\",\"n\":1}", "{\"host\":\"-\",\"n\":1}");
    expect("{\"uuid\":\"abc\"}", "{\"uuid\":\"-\"}");
    expect("{\"pci_bus_id\":\"0000:1b:00.0\"}", "{\"pci_bus_id\":\"-\"}");
    expect("{\"LD_LIBRARY_PATH\":\"lib\",\"CUDA_VISIBLE_DEVICES\":\"3\"}",
           "{\"LD_LIBRARY_PATH\":\"-\",\"CUDA_VISIBLE_DEVICES\":\"-\"}");
}

Test(redact, paths_within_strings)
{
    expect("{\"a\":\"/usr/lib/x.so\"}", "{\"a\":\"-\"}");
    expect("{\"a\":\"cannot open /home/me/x.yaml: gone\"}",
           "{\"a\":\"cannot open -: gone\"}");
    expect("{\"a\":\"'/a/b' and (/c) and p=/d, [/e]\"}",
           "{\"a\":\"'-' and (-) and p=-, [-]\"}");
    expect("{\"a\":\"/a/b:/c/d\"}", "{\"a\":\"-:-\"}");
    expect("{\"a\":\"/.hidden/x\"}", "{\"a\":\"-\"}");
    expect("{\"a\":\"--out=/tmp/o\"}", "{\"a\":\"--out=-\"}");
}

Test(redact, uuids_within_strings)
{
    expect("{\"a\":\"GPU-1b2c3d4e-0000\"}", "{\"a\":\"-\"}");
    expect("{\"a\":\"device GPU-1b2c-3d, MIG-77/1\"}",
           "{\"a\":\"device -, -\"}");
}

Test(redact, all_levels)
{
    expect("{\"a\":{\"b\":{\"host\":\"h\",\"c\":\"/x/y\"}}}",
           "{\"a\":{\"b\":{\"host\":\"-\",\"c\":\"-\"}}}");
    expect("{\"a\":[\"/x/y\",1,\"ok\",[\"/z/w\"],{\"host\":\"h\"}]}",
           "{\"a\":[\"-\",1,\"ok\",[\"-\"],{\"host\":\"-\"}]}");
    expect("[{\"uuid\":\"u\"},\"GPU-1\"]", "[{\"uuid\":\"-\"},\"-\"]");
}

/* Ids have slashes, and so have words of measure. */
Test(redact, what_is_needed_stays)
{
    kept("{\"id\":\"f32.nn.8x8x65536.dense.s1/cublas.gemm-ex/tf32/ws=16x8\"}");
    kept(
        "{\"repro\":\"gemmproof repro f32.nn.8x8x8.exact.s1/cublas/default\"}");
    kept("{\"source\":\"cases/default.yaml:33\"}");
    kept("{\"text\":\"4 GB/s, 1 / 2, n/a, and/or\"}");
    kept("{\"name\":\"NVIDIA H200\",\"version\":\"13.1\"}");
    kept("{\"hostile\":\"x\",\"worker\":0,\"done\":true,\"none\":null}");
    kept("{\"text\":\"\"}");
    kept("{}");
}

/* A named key that is not a text goes through the same sieve. */
Test(redact, named_objects)
{
    expect("{\"host\":{\"name\":\"/x/y\"}}", "{\"host\":{\"name\":\"-\"}}");
}

Test(redact, paths_with_blanks_and_options)
{
    json_t *record = json_pack(
        "{s:[s,s,s,s,s,s], s:[s], s:s}", "command", "gemmproof", "run",
        "/tmp/Jo hn/s.yaml", "--out", "private place", "--known=my list",
        "sources", "/tmp/Jo hn/s.yaml", "source", "/tmp/Jo hn/s.yaml:12");
    const json_t *command = json_object_get(record, "command");

    gp_redact(record);
    cr_assert_str_eq(json_string_value(json_array_get(command, 1)), "run");
    for (size_t i = 2; i < 6; i++)
        if (i != 3)
            cr_assert_str_eq(json_string_value(json_array_get(command, i)),
                             "-");
    cr_assert_str_eq(json_string_value(
                         json_array_get(json_object_get(record, "sources"), 0)),
                     "-");
    cr_assert_str_eq(json_string_value(json_object_get(record, "source")),
                     "-:12");
    json_decref(record);
}
