#include "reference/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    enum gp_fault_kind kind;
    int numbers;
} faults[] = {
    {"bit", GP_FAULT_BIT, 3},
    {"variant", GP_FAULT_VARIANT, 1},
    {"input", GP_FAULT_INPUT, 1},
    {"guard", GP_FAULT_GUARD, 1},
};

static int fault_numbers(const char *at, int64_t *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        char *end;
        if (*at != ':' || at[1] < '0' || at[1] > '9' ||
            (at[1] == '0' && at[2] >= '0' && at[2] <= '9'))
            return -1;
        errno = 0;
        numbers[i] = strtoll(at + 1, &end, 10);
        if (errno)
            return -1;
        at = end;
    }
    return *at ? -1 : 0;
}

int gp_fault_parse(const char *text, struct gp_fault *ret_fault,
                   struct gp_err *err)
{
    struct gp_fault fault = {0};
    int64_t numbers[3] = {0};

    if (!*text) {
        *ret_fault = fault;
        return 0;
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        size_t len = strlen(faults[i].word);
        if (strncmp(text, faults[i].word, len) != 0 || text[len] != ':' ||
            fault_numbers(text + len, numbers, faults[i].numbers) != 0)
            continue;
        fault.kind = faults[i].kind;
        if (fault.kind == GP_FAULT_BIT || fault.kind == GP_FAULT_VARIANT)
            fault.repeat = numbers[0];
        if (fault.kind == GP_FAULT_BIT)
            fault.place = numbers[1];
        else
            fault.place = numbers[0];
        if (numbers[2] > 63)
            break;
        fault.bit = (int)numbers[2];
        *ret_fault = fault;
        return 0;
    }
    return gp_err_set(err, GP_ERR_USAGE,
                      "no fault '%.40s': a fault is bit:REPEAT:ELEMENT:BIT, "
                      "variant:REPEAT, input:ELEMENT or guard:OFFSET, in whole "
                      "numbers from 0",
                      text);
}

void gp_fault_print(const struct gp_fault *fault, struct gp_buf *buf)
{
    switch (fault->kind) {
    case GP_FAULT_NONE:
        break;
    case GP_FAULT_BIT:
        gp_buf_printf(buf, "bit:%lld:%lld:%d", (long long)fault->repeat,
                      (long long)fault->place, fault->bit);
        break;
    case GP_FAULT_VARIANT:
        gp_buf_printf(buf, "variant:%lld", (long long)fault->repeat);
        break;
    case GP_FAULT_INPUT:
        gp_buf_printf(buf, "input:%lld", (long long)fault->place);
        break;
    case GP_FAULT_GUARD:
        gp_buf_printf(buf, "guard:%lld", (long long)fault->place);
        break;
    }
}
