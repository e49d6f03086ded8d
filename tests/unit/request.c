/* Faults: read and written as they stand on the command line. */
#include <criterion/criterion.h>
#include <string.h>

#include "reference/request.h"

static struct gp_fault parsed(const char *text)
{
    struct gp_fault fault = {0};
    struct gp_buf buf = {0};
    struct gp_err err = {0};

    cr_assert_eq(gp_fault_parse(text, &fault, &err), 0, "%s", err.text);
    gp_fault_print(&fault, &buf);
    cr_assert_str_eq(gp_buf_text(&buf), text);
    gp_buf_free(&buf);
    return fault;
}

Test(request, faults_there_and_back)
{
    struct gp_fault fault = parsed("");

    cr_assert_eq(fault.kind, GP_FAULT_NONE);
    fault = parsed("bit:3:4094:63");
    cr_assert(fault.kind == GP_FAULT_BIT && fault.repeat == 3 &&
              fault.place == 4094 && fault.bit == 63);
    fault = parsed("variant:6");
    cr_assert(fault.kind == GP_FAULT_VARIANT && fault.repeat == 6);
    fault = parsed("input:9223372036854775807");
    cr_assert(fault.kind == GP_FAULT_INPUT && fault.place == INT64_MAX);
    fault = parsed("guard:0");
    cr_assert(fault.kind == GP_FAULT_GUARD && fault.place == 0);
}

Test(request, what_is_no_fault)
{
    static const char *const wrong[] = {
        "bit",        "bit:",
        "bit:1:2",    "bit:1:2:3:4",
        "bit:1:2:64", "bit:-1:2:3",
        "bit:1:2:x",  "bit:1:2:3 ",
        " bit:1:2:3", "bits:1:2:3",
        "variant",    "variant:",
        "variant:+1", "variant:1:2",
        "input:-1",   "input:1.5",
        "guard: 1",   "guard:9223372036854775808",
        "none",       "BIT:1:2:3",
        "bit:1::3",   "0"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gp_fault fault = {.repeat = 77};
        struct gp_err err = {0};
        cr_assert_eq(gp_fault_parse(wrong[i], &fault, &err), -1, "%s",
                     wrong[i]);
        cr_assert_eq(err.kind, GP_ERR_USAGE);
        cr_assert_not_null(strstr(err.text, "bit:REPEAT:ELEMENT:BIT"), "%s",
                           err.text);
        cr_assert_eq(fault.repeat, 77, "touched by %s", wrong[i]);
    }
}
