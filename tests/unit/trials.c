/* What is told of a trial of the host library: recorded ones, not this
 * machine's. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "harness/engine/trials.h"
#include "reference/trial.h"

struct told {
    struct gp_buf lines;
    enum gp_doctor_state worst;
};

static void say(void *ctx, enum gp_doctor_state state, const char *about,
                const char *text)
{
    struct told *told = ctx;

    gp_buf_printf(&told->lines, "%d %s: %s\n", (int)state, about, text);
    told->worst = state > told->worst ? state : told->worst;
}

static void tells(const char *record, bool in_use, const char *lines)
{
    struct told told = {.worst = GP_DOCTOR_OK};
    const struct gp_doctor doctor = {say, &told};
    struct gp_err err = {0};
    json_t *json = gp_json_parse(record, strlen(record), &err);

    cr_assert_not_null(json, "%s", err.text);
    gp_trials_tell(&doctor, json, in_use);
    cr_assert_str_eq(gp_buf_text(&told.lines), lines);
    gp_buf_free(&told.lines);
    json_decref(json);
}

/* OpenBLAS 0.3.21 on a Xeon, SkylakeX; and one that multiplies wrongly. */
#define SPECIAL                                                                \
    "{\"name\":\"special values\",\"checks\":400,\"wrong\":141,"               \
    "\"product\":\"dgemm nn 1x1x1, alpha 0, beta 0, NaN in A and infinity "    \
    "in B\",\"where\":\"(0, 0)\",\"got\":\"nan\",\"expected\":\"0x0p+0\"}"
#define PRODUCTS                                                               \
    "{\"name\":\"products\",\"checks\":13862,\"wrong\":7,\"product\":\"sgemm " \
    "nn 16x1x33, alpha 1, beta 0\",\"where\":\"(15, 0)\",\"got\":\"0x1p+4\","  \
    "\"expected\":\"0x1p+5\"}"
#define RIGHT "{\"name\":\"products\",\"checks\":13862,\"wrong\":0}"
#define RECORD(groups)                                                         \
    "{\"kernel\":\"SkylakeX\",\"threads\":2,\"groups\":[" groups "]}"

Test(trials, a_recorded_table)
{
    tells(RECORD(RIGHT ",{\"name\":\"empty\",\"checks\":240,\"wrong\":0}"),
          false,
          "0 kernel: SkylakeX, 2 threads: 14102 products, all bits right\n");
    tells(RECORD(RIGHT "," SPECIAL), true,
          "1 kernel: SkylakeX (in use), 2 threads: special values, 141 of 400 "
          "wrong; the smallest: dgemm nn 1x1x1, alpha 0, beta 0, NaN in A and "
          "infinity in B, element (0, 0) is nan and should be 0x0p+0\n");
    tells(RECORD(PRODUCTS "," SPECIAL), false,
          "1 kernel: SkylakeX, 2 threads: products, 7 of 13862 wrong; the "
          "smallest: sgemm nn 16x1x33, alpha 1, beta 0, element (15, 0) is "
          "0x1p+4 and should be 0x1p+5\n"
          "1 kernel: SkylakeX, 2 threads: special values, 141 of 400 wrong; "
          "the smallest: dgemm nn 1x1x1, alpha 0, beta 0, NaN in A and "
          "infinity in B, element (0, 0) is nan and should be 0x0p+0\n");
    tells(RECORD(PRODUCTS), true,
          "3 kernel: SkylakeX (in use), 2 threads: products, 7 of 13862 wrong; "
          "the smallest: sgemm nn 16x1x33, alpha 1, beta 0, element (15, 0) is "
          "0x1p+4 and should be 0x1p+5\n");
}

Test(trials, a_trial_that_ended_early)
{
    static const char ill[] =
        "{\"kernel\":\"Zen\",\"threads\":1,\"crash\":\"the worker was ended by "
        "signal 4 (Illegal instruction)\"}";
    static const char late[] = "{\"kernel\":\"Zen\",\"threads\":1,\"crash\":"
                               "\"the worker did not answer within 120.0 s\"}";

    tells(ill, false,
          "0 kernel: Zen: this CPU does not have its instructions\n");
    tells(ill, true,
          "3 kernel: Zen (in use), 1 thread: the worker was ended by signal 4 "
          "(Illegal instruction)\n");
    tells(late, false,
          "1 kernel: Zen, 1 thread: the worker did not answer within 120.0 "
          "s\n");
    tells(late, true,
          "3 kernel: Zen (in use), 1 thread: the worker did not answer within "
          "120.0 s\n");
}

/* Nothing tried is nothing right. */
Test(trials, no_products_are_not_right)
{
    tells(RECORD(""), true,
          "2 kernel: SkylakeX (in use), 2 threads: it multiplied nothing\n");
}

Test(trials, a_product_in_words)
{
    struct gp_trial_product product = {.single = true,
                                       .trans_b = true,
                                       .m = 3,
                                       .n = 4,
                                       .k = 5,
                                       .pad = 3,
                                       .alpha = 1.5,
                                       .beta = 0.5,
                                       .poison = GP_TRIAL_NAN_IN_A};
    char text[120];

    gp_trial_describe(&product, text);
    cr_assert_str_eq(text, "sgemm nt 3x4x5, alpha 1.5, beta 0.5, ld + 3, one "
                           "NaN in A");
    product = (struct gp_trial_product){.m = 1, .n = 2, .alpha = 1};
    gp_trial_describe(&product, text);
    cr_assert_str_eq(text, "dgemm nn 1x2x0, alpha 1, beta 0");
}
