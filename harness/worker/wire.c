#include "harness/worker/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"

void gp_reply_free(struct gp_reply *reply)
{
    free(reply->digests);
    free(reply->order);
    free(reply->differences);
    memset(reply, 0, sizeof *reply);
}

void gp_wire_put_gemm(json_t *object, const struct gp_gemm *gemm)
{
    const char op[] = {gemm->trans_a ? 't' : 'n', gemm->trans_b ? 't' : 'n',
                       '\0'};
    char hex[40];

    gp_json_set_int(object, "m", gemm->m);
    gp_json_set_int(object, "n", gemm->n);
    gp_json_set_int(object, "k", gemm->k);
    gp_json_set_int(object, "batch", gemm->batch);
    gp_json_set_str(object, "op", op);
    gp_json_set_str(object, "layout", gemm->row_major ? "row" : "column");
    gp_json_set_str(object, "in", gemm->in->name);
    gp_json_set_str(object, "out", gemm->out->name);
    gp_json_set_int(object, "lda", gemm->lda);
    gp_json_set_int(object, "ldb", gemm->ldb);
    gp_json_set_int(object, "ldc", gemm->ldc);
    snprintf(hex, sizeof hex, "%a", gemm->alpha);
    gp_json_set_str(object, "alpha", hex);
    snprintf(hex, sizeof hex, "%a", gemm->beta);
    gp_json_set_str(object, "beta", hex);
}

static int get_type(const json_t *object, const char *key,
                    const struct gp_type **ret_type, struct gp_err *err)
{
    const char *name;

    if (gp_json_get_str(object, key, &name, err) != 0)
        return -1;
    *ret_type = gp_type_find(name);
    if (!*ret_type)
        return gp_err_set(err, GP_ERR_UNSUPPORTED, "no type '%.20s'", name);
    return 0;
}

int gp_wire_get_gemm(const json_t *object, struct gp_gemm *ret_gemm,
                     struct gp_err *err)
{
    struct gp_gemm gemm = {0};
    const char *op, *layout;

    if (gp_json_get_int(object, "m", &gemm.m, err) != 0 ||
        gp_json_get_int(object, "n", &gemm.n, err) != 0 ||
        gp_json_get_int(object, "k", &gemm.k, err) != 0 ||
        gp_json_get_int(object, "batch", &gemm.batch, err) != 0 ||
        gp_json_get_str(object, "op", &op, err) != 0 ||
        gp_json_get_str(object, "layout", &layout, err) != 0 ||
        get_type(object, "in", &gemm.in, err) != 0 ||
        get_type(object, "out", &gemm.out, err) != 0 ||
        gp_json_get_int(object, "lda", &gemm.lda, err) != 0 ||
        gp_json_get_int(object, "ldb", &gemm.ldb, err) != 0 ||
        gp_json_get_int(object, "ldc", &gemm.ldc, err) != 0 ||
        gp_json_get_real(object, "alpha", &gemm.alpha, err) != 0 ||
        gp_json_get_real(object, "beta", &gemm.beta, err) != 0)
        return -1;
    if (strlen(op) != 2 || strspn(op, "nt") != 2)
        return gp_err_set(err, GP_ERR_UNSUPPORTED, "no op '%.20s'", op);
    gemm.trans_a = op[0] == 't';
    gemm.trans_b = op[1] == 't';
    gemm.row_major = strcmp(layout, "row") == 0;
    if (!gemm.row_major && strcmp(layout, "column") != 0)
        return gp_err_set(err, GP_ERR_UNSUPPORTED, "no layout '%.20s'", layout);
    if (gp_gemm_check(&gemm, err) != 0)
        return -1;
    *ret_gemm = gemm;
    return 0;
}

void gp_wire_put_request(json_t *object, const struct gp_request *request)
{
    gp_json_set_str(object, "entry", request->entry);
    gp_json_set_str(object, "math", request->math);
    gp_json_set_str(object, "compute", request->compute);
    gp_json_set_bool(object, "flag", request->no_reduced_precision);
    gp_json_set_str(object, "scalars",
                    request->device_scalars ? "device" : "host");
}

int gp_wire_get_request(const json_t *object, struct gp_request *ret_request,
                        struct gp_err *err)
{
    const char *scalars = gp_json_str_or(object, "scalars", "host");
    const char *entry, *math, *compute;

    if (gp_json_get_str(object, "entry", &entry, err) != 0 ||
        gp_json_get_str(object, "math", &math, err) != 0 ||
        gp_json_get_str(object, "compute", &compute, err) != 0)
        return -1;
    if (strlen(entry) >= sizeof ret_request->entry ||
        strlen(math) >= sizeof ret_request->math ||
        strlen(compute) >= sizeof ret_request->compute)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "no such request: %.40s %.40s %.40s", entry, math,
                          compute);
    strcpy(ret_request->entry, entry);
    strcpy(ret_request->math, math);
    strcpy(ret_request->compute, compute);
    ret_request->no_reduced_precision = gp_json_bool_or(object, "flag", false);
    ret_request->device_scalars = strcmp(scalars, "device") == 0;
    if (!ret_request->device_scalars && strcmp(scalars, "host") != 0)
        return gp_err_set(err, GP_ERR_UNSUPPORTED, "alpha and beta in '%.20s'",
                          scalars);
    return 0;
}

void gp_wire_digest_text(const struct gp_digest *digest, char *ret_text)
{
    snprintf(ret_text, GP_DIGEST_TEXT, "%016llx%016llx",
             (unsigned long long)digest->lane[0],
             (unsigned long long)digest->lane[1]);
}

static int get_digest(const json_t *value, struct gp_digest *ret_digest)
{
    const char *text = json_string_value(value);
    unsigned long long lane[2];

    if (!text || strlen(text) != GP_DIGEST_TEXT - 1 ||
        strspn(text, "0123456789abcdef") != GP_DIGEST_TEXT - 1 ||
        sscanf(text, "%16llx%16llx", &lane[0], &lane[1]) != 2)
        return -1;
    ret_digest->lane[0] = lane[0];
    ret_digest->lane[1] = lane[1];
    return 0;
}

static json_t *put_difference(const struct gp_difference *difference)
{
    json_t *object = gp_json_object();

    gp_json_set_int(object, "elements", difference->elements);
    gp_json_set_int(object, "first", difference->first);
    return object;
}

static int get_difference(const json_t *object,
                          struct gp_difference *ret_difference,
                          struct gp_err *err)
{
    if (gp_json_get_int(object, "elements", &ret_difference->elements, err) ||
        gp_json_get_int(object, "first", &ret_difference->first, err))
        return -1;
    if (ret_difference->elements < 0)
        return gp_err_set(err, GP_ERR_BACKEND, "a negative count of elements");
    return 0;
}

static json_t *put_audit(const struct gp_audit *audit)
{
    json_t *object = gp_json_object();

    gp_json_set_int(object, "guard_bytes", audit->guard_bytes);
    gp_json_set_int(object, "guard_first", audit->guard_first);
    gp_json_set_str(object, "guard_where", audit->guard_where);
    gp_json_set_int(object, "input_elements", audit->input_elements);
    gp_json_set_int(object, "input_first", audit->input_first);
    gp_json_set_str(object, "input_where", audit->input_where);
    gp_json_set_int(object, "sentinels_left", audit->sentinels_left);
    gp_json_set_int(object, "sentinel_first", audit->sentinel_first);
    return object;
}

static int get_audit(const json_t *object, struct gp_audit *ret_audit,
                     struct gp_err *err)
{
    const char *guard, *input;

    if (gp_json_get_int(object, "guard_bytes", &ret_audit->guard_bytes, err) ||
        gp_json_get_int(object, "guard_first", &ret_audit->guard_first, err) ||
        gp_json_get_str(object, "guard_where", &guard, err) ||
        gp_json_get_int(object, "input_elements", &ret_audit->input_elements,
                        err) ||
        gp_json_get_int(object, "input_first", &ret_audit->input_first, err) ||
        gp_json_get_str(object, "input_where", &input, err) ||
        gp_json_get_int(object, "sentinels_left", &ret_audit->sentinels_left,
                        err) ||
        gp_json_get_int(object, "sentinel_first", &ret_audit->sentinel_first,
                        err))
        return -1;
    if (ret_audit->guard_bytes < 0 || ret_audit->input_elements < 0 ||
        ret_audit->sentinels_left < 0)
        return gp_err_set(err, GP_ERR_BACKEND, "a negative count in the audit");
    snprintf(ret_audit->guard_where, sizeof ret_audit->guard_where, "%s",
             guard);
    snprintf(ret_audit->input_where, sizeof ret_audit->input_where, "%.3s",
             input);
    return 0;
}

void gp_wire_put_reply(json_t *object, const struct gp_reply *reply)
{
    json_t *digests = gp_json_array(), *order = gp_json_array();
    json_t *differences = gp_json_array(), *time = gp_json_object();
    json_t *withheld = gp_json_array();
    char text[GP_DIGEST_TEXT];

    for (size_t i = 0; i < reply->digests_count; i++) {
        gp_wire_digest_text(&reply->digests[i], text);
        gp_json_append(digests, json_string(text));
    }
    for (size_t i = 0; i < reply->order_count; i++)
        gp_json_append(order, json_pack("[II]", reply->order[i].variant,
                                        reply->order[i].count));
    for (size_t i = 0; i < reply->differences_count; i++)
        gp_json_append(differences, put_difference(&reply->differences[i]));
    gp_json_set(object, "digests", digests);
    gp_json_set(object, "order", order);
    gp_json_set(object, "differences", differences);
    gp_json_set_int(object, "outputs", reply->outputs);
    for (int v = 0; v < GP_OUTPUTS_MOST; v++)
        if (reply->withheld >> v & 1)
            gp_json_append(withheld, json_integer(v));
    gp_json_set(object, "withheld", withheld);
    gp_json_set(object, "last", put_difference(&reply->last));
    gp_json_set(object, "audit", put_audit(&reply->audit));
    gp_json_set_real(time, "first_ns", reply->first_ns);
    gp_json_set_real(time, "min_ns", reply->min_ns);
    gp_json_set_real(time, "median_ns", reply->median_ns);
    gp_json_set_real(time, "max_ns", reply->max_ns);
    gp_json_set(object, "time", time);
}

static int get_order(const json_t *array, int64_t repeats,
                     struct gp_reply *reply, struct gp_err *err)
{
    int64_t counted = 0, seen = 0;

    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *pair = json_array_get(array, i);
        struct gp_order *order =
            gp_grow((void **)&reply->order, reply->order_count,
                    &reply->order_room, sizeof *order);
        const json_t *variant = json_array_get(pair, 0);
        const json_t *count = json_array_get(pair, 1);
        if (!json_is_integer(variant) || !json_is_integer(count))
            return gp_err_set(err, GP_ERR_BACKEND, "the order is not pairs");
        order->variant = json_integer_value(variant);
        order->count = json_integer_value(count);
        reply->order_count++;
        /* New variants appear in order: 0 first, then 1, ... */
        if (order->variant < 0 || order->variant > seen ||
            order->variant >= (int64_t)reply->digests_count ||
            order->count < 1 || order->count > repeats - counted)
            break;
        counted += order->count;
        seen += order->variant == seen;
    }
    if (counted != repeats || seen != (int64_t)reply->digests_count)
        return gp_err_set(err, GP_ERR_BACKEND,
                          "the order does not account for %lld repeats and "
                          "%zu digests",
                          (long long)repeats, reply->digests_count);
    return 0;
}

int gp_wire_get_digests(const json_t *array, struct gp_digest **ret_digests,
                        size_t *ret_count, size_t *ret_room, struct gp_err *err)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct gp_digest *digest =
            gp_grow((void **)ret_digests, *ret_count, ret_room, sizeof *digest);
        if (get_digest(json_array_get(array, i), digest) != 0)
            return gp_err_set(err, GP_ERR_BACKEND,
                              "a digest is not 32 hexadecimal digits");
        ++*ret_count;
    }
    return 0;
}

static int get_withheld(const json_t *array, struct gp_reply *reply,
                        struct gp_err *err)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *v = json_array_get(array, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) >= reply->outputs)
            return gp_err_set(err, GP_ERR_BACKEND,
                              "an output is withheld that is none");
        reply->withheld |= 1u << json_integer_value(v);
    }
    return 0;
}

static int get_differences(const json_t *array, struct gp_reply *reply,
                           struct gp_err *err)
{
    size_t kept = reply->digests_count < GP_OUTPUTS_MOST ? reply->digests_count
                                                         : GP_OUTPUTS_MOST;

    for (size_t i = 0; i < json_array_size(array); i++) {
        struct gp_difference *difference =
            gp_grow((void **)&reply->differences, reply->differences_count,
                    &reply->differences_room, sizeof *difference);
        if (get_difference(json_array_get(array, i), difference, err) != 0)
            return -1;
        reply->differences_count++;
    }
    if (reply->differences_count + 1 < kept)
        return gp_err_set(err, GP_ERR_BACKEND,
                          "%zu distinct outputs but %zu differences",
                          reply->digests_count, reply->differences_count);
    return 0;
}

/* A time that was measured is a number, and none before it began. */
static int get_times(const json_t *time, struct gp_reply *reply,
                     struct gp_err *err)
{
    const struct {
        const char *key;
        double *to;
    } times[] = {{"first_ns", &reply->first_ns},
                 {"min_ns", &reply->min_ns},
                 {"median_ns", &reply->median_ns},
                 {"max_ns", &reply->max_ns}};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const json_t *found = json_object_get(time, times[i].key);
        if (!json_is_number(found) || !(json_number_value(found) >= 0))
            return gp_err_set(err, GP_ERR_BACKEND,
                              "the key '%s' %s a number of nanoseconds from 0",
                              times[i].key,
                              found ? "is not" : "is missing: it should be");
        *times[i].to = json_number_value(found);
    }
    return 0;
}

int gp_wire_get_reply(const json_t *object, int64_t repeats,
                      struct gp_reply *ret_reply, struct gp_err *err)
{
    struct gp_reply reply = {0};
    const json_t *digests, *order, *differences, *last, *audit, *time;

    if (gp_json_get_array(object, "digests", &digests, err) ||
        gp_wire_get_digests(digests, &reply.digests, &reply.digests_count,
                            &reply.digests_room, err) ||
        gp_json_get_array(object, "order", &order, err) ||
        get_order(order, repeats, &reply, err) ||
        gp_json_get_array(object, "differences", &differences, err) ||
        get_differences(differences, &reply, err) ||
        gp_json_get_int(object, "outputs", &reply.outputs, err) ||
        gp_json_get_object(object, "last", &last, err) ||
        get_difference(last, &reply.last, err) ||
        gp_json_get_object(object, "audit", &audit, err) ||
        get_audit(audit, &reply.audit, err) ||
        gp_json_get_object(object, "time", &time, err) ||
        get_times(time, &reply, err)) {
        gp_reply_free(&reply);
        return -1;
    }
    if (reply.outputs < 1 ||
        reply.outputs != (int64_t)(reply.digests_count < GP_OUTPUTS_MOST
                                       ? reply.digests_count
                                       : GP_OUTPUTS_MOST)) {
        gp_err_set(err, GP_ERR_BACKEND, "%lld outputs of %zu variants",
                   (long long)reply.outputs, reply.digests_count);
        gp_reply_free(&reply);
        return -1;
    }
    if (get_withheld(json_object_get(object, "withheld"), &reply, err) != 0) {
        gp_reply_free(&reply);
        return -1;
    }
    *ret_reply = reply;
    return 0;
}

size_t gp_wire_output_bytes(const struct gp_gemm *gemm)
{
    size_t bytes = (size_t)gp_gemm_count(gemm, GP_C) * gemm->out->bytes;

    return (bytes + 4095) / 4096 * 4096;
}

static bool has_word(const json_t *array, const char *word)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (text && strcmp(text, word) == 0)
            return true;
    }
    return false;
}

bool gp_wire_offered(const json_t *offers, const struct gp_gemm *gemm,
                     const struct gp_request *request)
{
    for (size_t i = 0; i < json_array_size(offers); i++) {
        const json_t *row = json_array_get(offers, i);
        if (strcmp(gp_json_str_or(row, "entry", ""), request->entry) == 0 &&
            strcmp(gp_json_str_or(row, "in", ""), gemm->in->name) == 0 &&
            strcmp(gp_json_str_or(row, "out", ""), gemm->out->name) == 0 &&
            has_word(json_object_get(row, "math"), request->math) &&
            (!*request->compute ||
             has_word(json_object_get(row, "compute"), request->compute)) &&
            (!request->no_reduced_precision ||
             gp_json_bool_or(row, "flag", false)) &&
            (!request->device_scalars ||
             has_word(json_object_get(row, "scalars"), "device")))
            return true;
    }
    return false;
}
