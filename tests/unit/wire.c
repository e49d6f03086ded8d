/* The protocol's structs: what one side puts, the other gets; what does not
 * fit is refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/worker/wire.h"
#include "tests/unit/product.h"

/* Through text, as on the wire. */
static json_t *travelled(json_t *object)
{
    struct gp_buf buf = {0};
    struct gp_err err = {0};
    json_t *back;

    gp_json_print(&buf, object);
    json_decref(object);
    back = gp_json_parse(buf.text, buf.len, &err);
    cr_assert_not_null(back, "%s", err.text);
    gp_buf_free(&buf);
    return back;
}

/* --- Products and requests --------------------------------------------------
 */

Test(wire, products_travel)
{
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    struct rng rng = {41};

    for (int n = 0; n < 200; n++) {
        struct gp_gemm gemm =
            product_of(n & 1 ? "f16" : "f64", n & 1 ? "f32" : "f64", ops[n % 4],
                       rng_between(&rng, 1, 100), 3, 7);
        struct gp_gemm back = {0};
        struct gp_err err = {0};
        json_t *object = gp_json_object();
        gemm.row_major = n & 8;
        product_ld(&gemm, n % 5);
        gemm.batch = 1 + n % 3;
        gemm.alpha = rng_double(&rng, -1074, 1000);
        gemm.beta = n & 4 ? 0 : 0.1;
        gp_wire_put_gemm(object, &gemm);
        object = travelled(object);
        cr_assert_eq(gp_wire_get_gemm(object, &back, &err), 0, "%s", err.text);
        cr_assert(back.m == gemm.m && back.n == gemm.n && back.k == gemm.k &&
                  back.batch == gemm.batch && back.trans_a == gemm.trans_a &&
                  back.trans_b == gemm.trans_b &&
                  back.row_major == gemm.row_major && back.lda == gemm.lda &&
                  back.ldb == gemm.ldb && back.ldc == gemm.ldc &&
                  back.alpha == gemm.alpha && back.beta == gemm.beta &&
                  back.in == gemm.in && back.out == gemm.out);
        json_decref(object);
    }
}

static json_t *good_gemm(void)
{
    const struct gp_gemm gemm = product_of("f32", "f32", "nt", 3, 5, 7);
    json_t *object = gp_json_object();

    gp_wire_put_gemm(object, &gemm);
    return object;
}

static void gemm_refused(json_t *object)
{
    struct gp_gemm back = {.m = 99};
    struct gp_err err = {0};

    cr_assert_eq(gp_wire_get_gemm(object, &back, &err), -1);
    cr_assert(*err.text);
    cr_assert_eq(back.m, 99, "touched");
    json_decref(object);
}

Test(wire, products_that_do_not_fit)
{
    static const char *const keys[] = {"m",      "n",     "k",   "batch", "op",
                                       "layout", "in",    "out", "lda",   "ldb",
                                       "ldc",    "alpha", "beta"};
    static const struct {
        const char *key, *value;
    } words[] = {{"op", "nc"},     {"op", "n"},  {"layout", "rows"},
                 {"in", "f8"},     {"out", ""},  {"m", "3"},
                 {"alpha", "one"}, {"beta", ""}, {"alpha", "0x1p0 "}};
    static const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"m", -1}, {"k", -1}, {"batch", 0}, {"lda", 2}, {"n", INT64_C(1) << 40},
        {"op", 1}};
    json_t *object;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        object = good_gemm();
        json_object_del(object, keys[i]);
        gemm_refused(object);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        object = good_gemm();
        gp_json_set_str(object, words[i].key, words[i].value);
        gemm_refused(object);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        object = good_gemm();
        gp_json_set_int(object, numbers[i].key, numbers[i].value);
        gemm_refused(object);
    }
}

Test(wire, requests_travel)
{
    const struct gp_request request = {"gemm-ex", "default", "32f-fast-16bf",
                                       true, true};
    struct gp_request back = {0};
    struct gp_err err = {0};
    json_t *object = gp_json_object();

    gp_wire_put_request(object, &request);
    object = travelled(object);
    cr_assert_eq(gp_wire_get_request(object, &back, &err), 0);
    cr_assert_str_eq(back.entry, request.entry);
    cr_assert_str_eq(back.math, request.math);
    cr_assert_str_eq(back.compute, request.compute);
    cr_assert(back.no_reduced_precision);
    cr_assert(back.device_scalars);
    gp_json_set_str(object, "scalars", "nowhere");
    cr_assert_eq(gp_wire_get_request(object, &back, &err), -1);
    json_object_del(object, "scalars");
    cr_assert_eq(gp_wire_get_request(object, &back, &err), 0);
    cr_assert_not(back.device_scalars);
    gp_json_set_str(object, "compute", "a word that is much too long for it");
    cr_assert_eq(gp_wire_get_request(object, &back, &err), -1);
    gp_json_set_str(object, "compute", "32f");
    json_object_del(object, "math");
    cr_assert_eq(gp_wire_get_request(object, &back, &err), -1);
    json_decref(object);
}

/* --- Replies -----------------------------------------------------------------
 */

/* Three variants in ten repeats: 0 0 1 0 2 2 2 2 2 2. */
static json_t *good_reply(void)
{
    struct gp_digest digests[] = {
        {{1, UINT64_MAX}}, {{0x123456789abcdef0, 7}}, {{0, 0}}};
    struct gp_order order[] = {{0, 2}, {1, 1}, {0, 1}, {2, 6}};
    struct gp_difference differences[] = {{10, 3}, {1, 0}};
    const struct gp_reply reply = {.digests = digests,
                                   .digests_count = 3,
                                   .order = order,
                                   .order_count = 4,
                                   .differences = differences,
                                   .differences_count = 2,
                                   .outputs = 3,
                                   .last = {1, 0},
                                   .audit = {.guard_bytes = 5,
                                             .guard_first = 17,
                                             .guard_where = "padding of D",
                                             .input_elements = 2,
                                             .input_first = 9,
                                             .input_where = "B",
                                             .sentinels_left = 4,
                                             .sentinel_first = 11},
                                   .first_ns = 40,
                                   .min_ns = 10.5,
                                   .median_ns = 20,
                                   .max_ns = 1e12};
    json_t *object = gp_json_object();

    gp_wire_put_reply(object, &reply);
    return travelled(object);
}

Test(wire, replies_travel)
{
    struct gp_reply reply = {0};
    struct gp_err err = {0};
    json_t *object = good_reply();

    cr_assert_eq(gp_wire_get_reply(object, 10, &reply, &err), 0, "%s",
                 err.text);
    cr_assert_eq(reply.digests_count, 3);
    cr_assert(reply.digests[0].lane[0] == 1 &&
              reply.digests[0].lane[1] == UINT64_MAX &&
              reply.digests[1].lane[0] == 0x123456789abcdef0 &&
              reply.digests[1].lane[1] == 7 && reply.digests[2].lane[0] == 0);
    cr_assert_eq(reply.order_count, 4);
    cr_assert(reply.order[3].variant == 2 && reply.order[3].count == 6);
    cr_assert_eq(reply.differences_count, 2);
    cr_assert(reply.differences[0].elements == 10 &&
              reply.differences[0].first == 3);
    cr_assert_eq(reply.outputs, 3);
    cr_assert(reply.last.elements == 1 && reply.last.first == 0);
    cr_assert(reply.audit.guard_bytes == 5 && reply.audit.guard_first == 17 &&
              reply.audit.input_elements == 2 && reply.audit.input_first == 9 &&
              reply.audit.sentinels_left == 4 &&
              reply.audit.sentinel_first == 11);
    cr_assert_str_eq(reply.audit.guard_where, "padding of D");
    cr_assert_str_eq(reply.audit.input_where, "B");
    cr_assert(reply.first_ns == 40 && reply.min_ns == 10.5 &&
              reply.median_ns == 20 && reply.max_ns == 1e12);
    gp_reply_free(&reply);
    json_decref(object);
}

static void reply_refused(json_t *object, int64_t repeats, const char *what)
{
    struct gp_reply reply = {.outputs = 99};
    struct gp_err err = {0};

    cr_assert_eq(gp_wire_get_reply(object, repeats, &reply, &err), -1, "%s",
                 what);
    cr_assert(*err.text, "%s", what);
    cr_assert_eq(err.kind, GP_ERR_BACKEND, "%s", what);
    cr_assert_eq(reply.outputs, 99, "%s: touched", what);
    json_decref(object);
}

Test(wire, a_reply_accounts_for_every_repeat)
{
    reply_refused(good_reply(), 9, "too many repeats");
    reply_refused(good_reply(), 11, "too few repeats");
    reply_refused(good_reply(), 1, "one repeat");
}

/* Replace one key by a JSON text. */
static json_t *changed(const char *key, const char *text)
{
    json_t *object = good_reply();
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    cr_assert_not_null(value, "%s", text);
    gp_json_set(object, key, value);
    return object;
}

Test(wire, orders_that_do_not_fit)
{
    static const char *const orders[] = {
        "[]",
        "[[0,10]]",
        "[[0,5],[1,5]]",
        "[[1,4],[0,3],[2,3]]",
        "[[0,2],[2,4],[1,4]]",
        "[[0,2],[1,1],[2,6],[3,1]]",
        "[[0,2],[1,1],[2,-7],[0,14]]",
        "[[0,2],[1,0],[2,8]]",
        "[[0,2],[-1,1],[1,1],[2,6]]",
        "[[0,2],[1,1],[2]]",
        "[0,1,2]",
        "[[0,2.0],[1,1],[2,7]]",
        "[[\"0\",2],[1,1],[2,7]]",
        "{}",
        "null",
        "[[0,9223372036854775807],[1,1],[2,7]]"};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        reply_refused(changed("order", orders[i]), 10, orders[i]);
}

Test(wire, digests_that_are_none)
{
    static const char *const digests[] = {
        "[]",
        "[1,2,3]",
        "[\"0\",\"1\",\"2\"]",
        "[\"00000000000000000000000000000000\","
        "\"0000000000000000000000000000000g\","
        "\"00000000000000000000000000000001\"]",
        "[\"00000000000000000000000000000000\","
        "\"0000000000000000000000000000000A\","
        "\"00000000000000000000000000000001\"]",
        "[\"00000000000000000000000000000000\","
        "\"000000000000000000000000000000001\","
        "\"00000000000000000000000000000002\"]",
        "[\"00000000000000000000000000000000\",null,null]",
        "\"\""};

    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++)
        reply_refused(changed("digests", digests[i]), 10, digests[i]);
}

Test(wire, outputs_that_are_not_there)
{
    static const char *const outputs[] = {
        "0", "-1", "4", "9", "1.5", "\"3\"", "9223372036854775807"};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        reply_refused(changed("outputs", outputs[i]), 10, outputs[i]);
}

Test(wire, counts_that_are_negative)
{
    static const struct {
        const char *part, *key;
    } counts[] = {{"audit", "guard_bytes"},
                  {"audit", "input_elements"},
                  {"audit", "sentinels_left"},
                  {"last", "elements"}};
    json_t *object = good_reply();

    gp_json_set_int(json_array_get(json_object_get(object, "differences"), 0),
                    "elements", -10);
    reply_refused(object, 10, "differences");
    for (int i = 0; i < 4; i++) {
        object = good_reply();
        gp_json_set_int(json_object_get(object, counts[i].part), counts[i].key,
                        -1);
        reply_refused(object, 10, counts[i].key);
    }
}

Test(wire, times_that_are_none)
{
    static const char *const keys[] = {"first_ns", "min_ns", "median_ns",
                                       "max_ns"};

    for (int i = 0; i < 4; i++)
        for (int value = 0; value < 5; value++) {
            static const char *const texts[] = {"nan", "inf", "12", ""};
            json_t *object = good_reply();
            json_object_set_new(json_object_get(object, "time"), keys[i],
                                value < 4 ? json_string(texts[value])
                                          : json_real(-0.5));
            reply_refused(object, 10, keys[i]);
        }
}

Test(wire, keys_that_are_missing)
{
    static const char *const parts[][9] = {
        {"audit", "guard_bytes", "guard_first", "guard_where", "input_elements",
         "input_first", "input_where", "sentinels_left", "sentinel_first"},
        {"time", "first_ns", "min_ns", "median_ns", "max_ns"},
        {"last", "elements", "first"}};
    static const char *const keys[] = {
        "digests", "order", "differences", "outputs", "last", "audit", "time"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *object = good_reply();
        json_object_del(object, keys[i]);
        reply_refused(object, 10, keys[i]);
        reply_refused(changed(keys[i], "7.5"), 10, keys[i]);
    }
    for (int p = 0; p < 3; p++)
        for (int i = 1; i < 9 && parts[p][i]; i++) {
            json_t *object = good_reply();
            json_object_del(json_object_get(object, parts[p][0]), parts[p][i]);
            reply_refused(object, 10, parts[p][i]);
        }
    /* Every kept variant but the first has its difference. */
    reply_refused(changed("differences", "[{\"elements\":1,\"first\":0}]"), 10,
                  "differences");
}

/* --- Sizes and offers
 * ---------------------------------------------------------- */

Test(wire, outputs_lie_4096_bytes_apart)
{
    struct gp_gemm gemm = product_of("f32", "f32", "nn", 32, 32, 7);

    cr_assert_eq(gp_wire_output_bytes(&gemm), 4096);
    gemm.batch = 3;
    cr_assert_eq(gp_wire_output_bytes(&gemm), 3 * 4096);
    gemm = product_of("f16", "f16", "nn", 1, 1, 7);
    cr_assert_eq(gp_wire_output_bytes(&gemm), 4096);
    gemm = product_of("f64", "f64", "nn", 513, 1, 7);
    cr_assert_eq(gp_wire_output_bytes(&gemm), 8192);
    product_ld(&gemm, 1000); /* outputs travel packed */
    cr_assert_eq(gp_wire_output_bytes(&gemm), 8192);
}

Test(wire, digests_as_text)
{
    const struct gp_digest digest = {{0xab, 0x0123456789abcdef}};
    char text[GP_DIGEST_TEXT];

    gp_wire_digest_text(&digest, text);
    cr_assert_str_eq(text, "00000000000000ab0123456789abcdef");
}

static bool offered(const char *entry, const char *math, const char *compute,
                    bool flag, const char *in, const char *out)
{
    static const char offers[] =
        "[{\"entry\":\"gemm\",\"in\":\"f32\",\"out\":\"f32\","
        "\"math\":[\"default\",\"tf32\"],\"compute\":[],\"flag\":false},"
        "{\"entry\":\"gemm-ex\",\"in\":\"f16\",\"out\":\"f32\","
        "\"math\":[\"default\"],\"compute\":[\"32f\",\"16f\"],\"flag\":true},"
        "17, {\"entry\":3}]";
    const struct gp_gemm gemm = product_of(in, out, "nn", 8, 8, 8);
    struct gp_request request = {.no_reduced_precision = flag};
    json_t *array = json_loads(offers, 0, NULL);
    bool is;

    strcpy(request.entry, entry);
    strcpy(request.math, math);
    strcpy(request.compute, compute);
    is = gp_wire_offered(array, &gemm, &request);
    json_decref(array);
    return is;
}

Test(wire, offers)
{
    cr_assert(offered("gemm", "default", "", false, "f32", "f32"));
    cr_assert(offered("gemm", "tf32", "", false, "f32", "f32"));
    cr_assert(offered("gemm-ex", "default", "16f", true, "f16", "f32"));
    cr_assert(offered("gemm-ex", "default", "32f", false, "f16", "f32"));
    cr_assert_not(offered("gemm", "pedantic", "", false, "f32", "f32"));
    cr_assert_not(offered("gemm", "default", "", true, "f32", "f32"));
    cr_assert_not(offered("gemm", "default", "", false, "f64", "f64"));
    cr_assert_not(offered("gemm-ex", "default", "32f", false, "f32", "f32"));
    cr_assert_not(offered("gemm-ex", "default", "64f", false, "f16", "f32"));
    cr_assert_not(offered("gemm-ex", "tf32", "32f", false, "f16", "f32"));
    cr_assert_not(offered("gemm-ex", "default", "32f", false, "f16", "f16"));
}

/* Who does not say that factors may lie on the device is not asked. */
Test(wire, device_scalars_are_offered_by_name)
{
    static const char *const offers[] = {
        "[{\"entry\":\"gemm\",\"in\":\"f32\",\"out\":\"f32\","
        "\"math\":[\"default\"],\"compute\":[],\"flag\":false}]",
        "[{\"entry\":\"gemm\",\"in\":\"f32\",\"out\":\"f32\","
        "\"math\":[\"default\"],\"compute\":[],\"flag\":false,"
        "\"scalars\":[\"host\",\"device\"]}]"};
    const struct gp_gemm gemm = product_of("f32", "f32", "nn", 8, 8, 8);

    for (int o = 0; o < 2; o++)
        for (int device = 0; device < 2; device++) {
            const struct gp_request request = {"gemm", "default", "", false,
                                               device == 1};
            json_t *array = json_loads(offers[o], 0, NULL);
            cr_assert_eq(gp_wire_offered(array, &gemm, &request),
                         device == 0 || o == 1);
            json_decref(array);
        }
}
