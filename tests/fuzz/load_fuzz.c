/*
 * A libFuzzer target for the loader of case files. A text that loads must have
 * a name, cases, and values in every axis; one that does not must have a
 * sentence in one line without control characters.
 *
 *     clang -std=c11 -g -O1 -I. -D_POSIX_C_SOURCE=200809L \
 *         -fsanitize=fuzzer,address,undefined tests/fuzz/load_fuzz.c \
 *         harness/engine/load*.c harness/model*.c reference/type.c \
 *         reference/family.c reference/gemm.c reference/request.c \
 *         harness/base/arena.c harness/base/buf.c harness/base/err.c \
 *         -lyaml -lm -o build/load_fuzz
 *     build/load_fuzz -max_len=4096 CORPUS cases
 */
#include "harness/engine/load.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_error(const struct gp_err *err)
{
    must(err->kind == GP_ERR_USAGE);
    must(strncmp(err->text, "fuzz.yaml:", strlen("fuzz.yaml:")) == 0);
    for (const char *at = err->text; *at; at++)
        must((unsigned char)*at >= ' ' && *at != 0x7f);
}

static void check_case(const struct gp_case *one)
{
    must(one->name && *one->name && one->line > 0);
    must(one->sizes_count && one->sizes_count <= 1000000);
    for (size_t i = 0; i < one->sizes_count; i++)
        must(one->sizes[i].m >= 1 && one->sizes[i].n >= 1 &&
             one->sizes[i].k >= 1 && one->sizes[i].m <= INT32_MAX &&
             one->sizes[i].n <= INT32_MAX && one->sizes[i].k <= INT32_MAX);
    must(one->types_count && one->types[0].in && one->types[0].out);
    must(one->ops_count && one->pads_count && one->batches_count);
    must(one->alphas_count && one->betas_count && one->seeds_count);
    must(one->families_count && one->families[0]->name);
    must(one->modes_count && one->modes[0]->name);
    must(one->workspaces_count && one->workspaces[0]);
    must(one->schedules_count && one->schedules[0]->name);
    for (size_t i = 0; i < one->schedules_count; i++)
        must(one->schedules[i]->counted == (one->schedule_numbers[i] > 0));
    must(one->repeats >= 1 && one->repeats <= GP_REPEATS_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_suite suite = {0};
    struct gp_err err = {0};

    if (gp_load_text((const char *)data, size, "fuzz.yaml", &suite, &err) < 0) {
        check_error(&err);
        must(suite.cases_count == 0 && !suite.name);
    } else {
        must(suite.name && suite.cases_count);
        for (size_t i = 0; i < suite.cases_count; i++)
            check_case(&suite.cases[i]);
    }
    gp_suite_free(&suite);
    return 0;
}
