/* Modes: by name, composed, and how each is asked for. */
#include "harness/model.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/word.h"

/* The words of requests; reference/request.h says what they are. */
static const char *const maths[] = {"default", "pedantic",      "tf32",
                                    "bf16x9",  "fp64-emulated", NULL};
static const char *const computes[] = {
    "16f",          "16f-pedantic",  "32f",           "32f-pedantic",
    "32f-fast-16f", "32f-fast-16bf", "32f-fast-tf32", "32f-bf16x9",
    "64f",          "64f-pedantic",  "64f-emulated",  NULL};

static const struct gp_mode *find(const char *name)
{
    for (const struct gp_mode *mode = gp_modes; mode->name; mode++)
        if (strcmp(mode->name, name) == 0)
            return mode;
    return NULL;
}

static const char *word_in(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return *words;
    return NULL;
}

static int no_mode(const char *text, struct gp_err *err)
{
    const char *names[64];
    size_t count = 0;

    for (const struct gp_mode *mode = gp_modes; mode->name; mode++)
        names[count++] = mode->name;
    names[count] = NULL;
    return gp_err_set(err, GP_ERR_USAGE,
                      "no mode '%.40s': did you mean '%s'? A mode may also be "
                      "NAME+nrp or MATH+COMPUTE (pedantic+32f-fast-tf32)",
                      text, gp_word_nearest(text, names));
}

int gp_mode_parse(const char *text, struct gp_arena *arena,
                  const struct gp_mode **ret_mode, struct gp_err *err)
{
    char words[80], *plus;
    struct gp_mode made = {.help = "composed"};
    struct gp_mode *kept;
    size_t len = strlen(text);

    *ret_mode = find(text);
    if (*ret_mode)
        return 0;
    if (len >= sizeof words)
        return no_mode(text, err);
    strcpy(words, text);
    if (len > 4 && strcmp(words + len - 4, "+nrp") == 0) {
        made.flag = true;
        words[len - 4] = '\0';
    }
    made.base = find(words);
    plus = strchr(words, '+');
    if (!made.base && plus) {
        *plus = '\0';
        made.math = word_in(maths, words);
        made.compute = word_in(computes, plus + 1);
    }
    if (!made.base && (!made.math || !made.compute))
        return no_mode(text, err);
    if (made.base && (strcmp(made.base->name, "default") == 0 ||
                      strcmp(made.base->name, "no-reduced-precision") == 0))
        return gp_err_set(err, GP_ERR_USAGE,
                          "the mode '%.40s' is called no-reduced-precision",
                          text);
    kept = gp_arena_alloc(arena, sizeof *kept);
    *kept = made;
    kept->name = gp_arena_copy(arena, text);
    *ret_mode = kept;
    return 0;
}

/* The row of a name, or of a math or compute word when `name` is NULL. */
static const struct gp_mode_row *row_of(const char *name, const char *math,
                                        const char *compute,
                                        const struct gp_type *in,
                                        const struct gp_type *out)
{
    for (const struct gp_mode_row *row = gp_mode_rows; row->mode; row++) {
        if (strcmp(row->in, in->name) != 0 ||
            (row->out && strcmp(row->out, out->name) != 0))
            continue;
        if (name ? strcmp(row->mode, name) == 0
                 : (math && row->math && strcmp(row->math, math) == 0) ||
                       (compute && row->compute &&
                        strcmp(row->compute, compute) == 0))
            return row;
    }
    return NULL;
}

/* Significand bits that the arithmetic keeps of an operand. */
static int kept_bits(const struct gp_arithmetic *arithmetic)
{
    return arithmetic->input_precision ? arithmetic->input_precision : 53;
}

static bool resolve_conflict(const struct gp_mode *mode,
                             const struct gp_type *in,
                             const struct gp_type *out,
                             struct gp_mode_row *ret_row)
{
    const struct gp_mode_row *by_math = row_of(NULL, mode->math, NULL, in, out);
    const struct gp_mode_row *by_compute =
        row_of(NULL, NULL, mode->compute, in, out);

    if (!by_compute)
        return false;
    *ret_row = *by_compute;
    if (by_math &&
        kept_bits(&by_math->arithmetic) < kept_bits(&by_compute->arithmetic))
        ret_row->arithmetic = by_math->arithmetic;
    ret_row->math = NULL;
    ret_row->ex_math = mode->math;
    return true;
}

bool gp_mode_resolve(const struct gp_mode *mode, const struct gp_type *in,
                     const struct gp_type *out, const char *entry,
                     struct gp_mode_row *ret_row)
{
    bool ex = strcmp(entry, "gemm-ex") == 0;
    const struct gp_mode_row *row;

    if (mode->math) {
        if (!ex || !resolve_conflict(mode, in, out, ret_row))
            return false;
    } else {
        row = row_of(mode->base ? mode->base->name : mode->name, NULL, NULL, in,
                     out);
        if (!row || !(ex ? row->compute : row->math))
            return false;
        *ret_row = *row;
    }
    ret_row->mode = mode->name;
    if (mode->flag) {
        ret_row->flag = true;
        ret_row->arithmetic.in_output = false;
    }
    return true;
}

bool gp_mode_in_conflict(const struct gp_mode *mode)
{
    return mode->math != NULL;
}

void gp_mode_request(const struct gp_mode_row *row, const char *entry,
                     struct gp_request *ret_request)
{
    bool ex = strcmp(entry, "gemm-ex") == 0;
    const char *ex_math = row->ex_math ? row->ex_math : "default";

    *ret_request = (struct gp_request){.no_reduced_precision = row->flag};
    snprintf(ret_request->entry, sizeof ret_request->entry, "%s", entry);
    snprintf(ret_request->math, sizeof ret_request->math, "%s",
             ex ? ex_math : row->math);
    snprintf(ret_request->compute, sizeof ret_request->compute, "%s",
             ex ? row->compute : "");
}

void gp_run_request(const struct gp_run *run, struct gp_request *ret_request)
{
    gp_mode_request(&run->row, run->entry, ret_request);
    ret_request->device_scalars = run->device_scalars;
}

void gp_run_override(struct gp_run *run)
{
    const struct gp_gemm *gemm = &run->problem->gemm;
    const struct gp_mode_row *tf32 =
        row_of("tf32", NULL, NULL, gemm->in, gemm->out);

    if (strcmp(run->env, "NVIDIA_TF32_OVERRIDE=1") == 0 && tf32 &&
        kept_bits(&tf32->arithmetic) < kept_bits(&run->row.arithmetic))
        run->row.arithmetic = tf32->arithmetic;
}

bool gp_run_decided_elsewhere(const struct gp_run *run)
{
    return *run->env || gp_mode_in_conflict(run->mode);
}
