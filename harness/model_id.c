/* Ids: a run in one line of [a-z0-9.+=_/-], and back. */
#include "harness/model.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/word.h"

/* A value: ':' is 'x'; what is not allowed, and 'x' and '_' themselves, is
 * '_' and two hexadecimal digits. */
static void id_value(struct gp_buf *buf, const char *text)
{
    for (; *text; text++) {
        if (*text == ':')
            gp_buf_str(buf, "x");
        else if (strchr("abcdefghijklmnopqrstuvwyz0123456789.+=-", *text))
            gp_buf_add(buf, text, 1);
        else
            gp_buf_printf(buf, "_%02x", (unsigned char)*text);
    }
}

static int id_value_back(const char *from, char *to, size_t room)
{
    size_t n = 0;

    for (; *from; from++) {
        char c = *from == 'x' ? ':' : *from;
        if (*from == '_') {
            char hex[3] = {0};
            if (!isxdigit((unsigned char)from[1]) ||
                !isxdigit((unsigned char)from[2]))
                return -1;
            memcpy(hex, from + 1, 2);
            c = (char)strtol(hex, NULL, 16);
            from += 2;
        }
        if (n + 1 >= room || c == '\0')
            return -1;
        to[n++] = c;
    }
    to[n] = '\0';
    return 0;
}

/* The shortest decimal that reads back as x. */
static void id_real(struct gp_buf *buf, const char *name, double x)
{
    char text[40];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    gp_buf_printf(buf, ".%s=%s", name, text);
}

static void id_ld(struct gp_buf *buf, const struct gp_gemm *gemm)
{
    int64_t pad = gemm->lda - gp_gemm_tight_ld(gemm, GP_A);

    if (gemm->ldb - gp_gemm_tight_ld(gemm, GP_B) != pad ||
        gemm->ldc - gp_gemm_tight_ld(gemm, GP_C) != pad)
        gp_buf_printf(buf, ".ld%" PRId64 "x%" PRId64 "x%" PRId64, gemm->lda,
                      gemm->ldb, gemm->ldc);
    else if (pad)
        gp_buf_printf(buf, ".ld+%" PRId64, pad);
}

void gp_problem_id(const struct gp_problem *problem, struct gp_buf *buf)
{
    const struct gp_gemm *gemm = &problem->gemm;

    gp_buf_str(buf, gemm->in->name);
    if (gemm->out != gemm->in)
        gp_buf_printf(buf, "x%s", gemm->out->name);
    gp_buf_printf(buf, ".%c%c.%" PRId64 "x%" PRId64 "x%" PRId64,
                  gemm->trans_a ? 't' : 'n', gemm->trans_b ? 't' : 'n', gemm->m,
                  gemm->n, gemm->k);
    id_ld(buf, gemm);
    if (gemm->row_major)
        gp_buf_str(buf, ".row");
    if (gemm->batch != 1)
        gp_buf_printf(buf, ".b%" PRId64, gemm->batch);
    if (gemm->alpha != 1)
        id_real(buf, "alpha", gemm->alpha);
    if (gemm->beta != 0)
        id_real(buf, "beta", gemm->beta);
    gp_buf_printf(buf, ".%s.s%" PRIu64, problem->family->name, problem->seed);
}

/* /env=name=value, the name in lower case. */
static void id_env(struct gp_buf *buf, const char *env)
{
    char text[128];
    size_t i = 0;

    for (; env[i] && env[i] != '=' && i + 1 < sizeof text; i++)
        text[i] = (char)tolower((unsigned char)env[i]);
    snprintf(text + i, sizeof text - i, "%s", env + i);
    gp_buf_str(buf, "/env=");
    id_value(buf, text);
}

void gp_run_id(const struct gp_run *run, struct gp_buf *buf)
{
    const struct gp_gemm *gemm = &run->problem->gemm;

    gp_problem_id(run->problem, buf);
    gp_buf_printf(buf, "/%s", run->backend);
    if (strcmp(run->entry, gp_entry_default(gemm->in, gemm->out)) != 0)
        gp_buf_printf(buf, ".%s", run->entry);
    gp_buf_printf(buf, "/%s", run->mode->name);
    if (strcmp(run->workspace, "unset") != 0) {
        gp_buf_str(buf, "/ws=");
        id_value(buf, run->workspace);
    }
    if (run->device_scalars)
        gp_buf_str(buf, "/scalars=device");
    if (*run->env)
        id_env(buf, run->env);
    if (run->schedule != &gp_schedules[0]) {
        gp_buf_printf(buf, "/%s", run->schedule->name);
        if (run->schedule->counted)
            gp_buf_printf(buf, "%" PRId64, run->schedule_number);
    }
    if (run->repeats != GP_REPEATS_DEFAULT)
        gp_buf_printf(buf, "/r%" PRId64, run->repeats);
    if (run->fault.kind != GP_FAULT_NONE) {
        struct gp_buf fault = {0};
        gp_fault_print(&run->fault, &fault);
        gp_buf_str(buf, "/fault=");
        id_value(buf, gp_buf_text(&fault));
        gp_buf_free(&fault);
    }
}

/* --- and back ----------------------------------------------------------- */

static int whole(const char *text, int64_t least, int64_t *ret_value)
{
    uint64_t value;

    if (gp_word_whole(text, (uint64_t)least, INT64_MAX, &value) != 0)
        return -1;
    *ret_value = (int64_t)value;
    return 0;
}

/* "8x8x65536" to three numbers. */
static int three(const char *text, int64_t *ret_values)
{
    char copy[80], *at = copy;

    if (strlen(text) >= sizeof copy)
        return -1;
    strcpy(copy, text);
    for (int i = 0; i < 3; i++) {
        char *x = i < 2 ? strchr(at, 'x') : NULL;
        if (i < 2 && !x)
            return -1;
        if (x)
            *x = '\0';
        if (whole(at, 0, &ret_values[i]) != 0)
            return -1;
        at = x ? x + 1 : at;
    }
    return 0;
}

/* The next field: fields end at a '.', but a '.' before a digit inside a
 * NAME=VALUE belongs to the value. NULL at the end. */
static char *next_field(char **rest)
{
    char *field = *rest, *at;

    if (!field || !*field)
        return NULL;
    for (at = field; *at; at++)
        if (*at == '.' && !(isdigit((unsigned char)at[1]) &&
                            memchr(field, '=', (size_t)(at - field))))
            break;
    *rest = *at ? at + 1 : at;
    *at = '\0';
    return field;
}

struct problem_words {
    int64_t pad, lds[3];
    bool has_lds;
};

/* A finite number, as the call takes it: in FP64 for FP64 operands, else in
 * FP32. */
static int factor(const struct gp_gemm *gemm, const char *text,
                  double *ret_value)
{
    const struct gp_type *scale =
        gp_type_find(gemm->in->bytes == 8 ? "f64" : "f32");
    const char *digits = text + (*text == '-');
    char *end;
    double value = gp_type_round(scale, strtod(text, &end));

    /* strtod would also take blanks, a plus, and zeros in front. */
    if (*end || !isdigit((unsigned char)*digits) ||
        (*digits == '0' && isdigit((unsigned char)digits[1])) ||
        !isfinite(value))
        return -1;
    *ret_value = value;
    return 0;
}

static int parse_field(const char *field, struct gp_problem *problem,
                       struct problem_words *words)
{
    struct gp_gemm *gemm = &problem->gemm;

    if (strncmp(field, "ld+", 3) == 0)
        return whole(field + 3, 1, &words->pad) || words->pad > INT64_C(1)
                                                                    << 40;
    if (strncmp(field, "ld", 2) == 0 && isdigit((unsigned char)field[2])) {
        words->has_lds = true;
        return three(field + 2, words->lds);
    }
    if (strcmp(field, "row") == 0) {
        gemm->row_major = true;
        return 0;
    }
    if (field[0] == 'b' && whole(field + 1, 1, &gemm->batch) == 0)
        return 0;
    if (field[0] == 's' && isdigit((unsigned char)field[1]))
        return gp_word_whole(field + 1, 0, UINT64_MAX, &problem->seed);
    if (strncmp(field, "alpha=", 6) == 0)
        return factor(gemm, field + 6, &gemm->alpha);
    if (strncmp(field, "beta=", 5) == 0)
        return factor(gemm, field + 5, &gemm->beta);
    problem->family = gp_family_find(field);
    return problem->family ? 0 : -1;
}

static void problem_lds(struct gp_gemm *gemm, const struct problem_words *words)
{
    int64_t *lds[] = {&gemm->lda, &gemm->ldb, &gemm->ldc};

    for (enum gp_operand which = GP_A; which <= GP_C; which++)
        *lds[which] = words->has_lds
                          ? words->lds[which]
                          : gp_gemm_tight_ld(gemm, which) + words->pad;
}

static int parse_problem(char *text, struct gp_problem *problem,
                         struct gp_err *err)
{
    struct gp_gemm *gemm = &problem->gemm;
    struct problem_words words = {0};
    struct gp_type_pair types;
    struct gp_op op;
    char type[16], *field = next_field(&text);
    int64_t sizes[3];

    *gemm = (struct gp_gemm){.batch = 1, .alpha = 1};
    if (!field || id_value_back(field, type, sizeof type) != 0)
        return gp_err_set(err, GP_ERR_USAGE, "no type in it");
    if (gp_type_pair_parse(type, &types, err) != 0)
        return -1;
    gemm->in = types.in;
    gemm->out = types.out;
    field = next_field(&text);
    if (!field)
        return gp_err_set(err, GP_ERR_USAGE, "no op in it");
    if (gp_op_parse(field, &op, err) != 0)
        return -1;
    gemm->trans_a = op.trans_a;
    gemm->trans_b = op.trans_b;
    field = next_field(&text);
    if (!field || three(field, sizes) != 0)
        return gp_err_set(err, GP_ERR_USAGE, "no sizes MxNxK");
    gemm->m = sizes[0];
    gemm->n = sizes[1];
    gemm->k = sizes[2];
    while ((field = next_field(&text)))
        if (parse_field(field, problem, &words) != 0)
            return gp_err_set(err, GP_ERR_USAGE, "'%.40s' is no part of it",
                              field);
    if (!problem->family)
        return gp_err_set(err, GP_ERR_USAGE, "it names no data family");
    problem_lds(gemm, &words);
    return gp_gemm_check(gemm, err);
}

static int parse_backend(const char *text, struct gp_run *run,
                         struct gp_arena *arena, struct gp_err *err)
{
    const struct gp_gemm *gemm = &run->problem->gemm;
    char *backend = gp_arena_copy(arena, text);
    char *dot = strchr(backend, '.');

    run->entry = gp_entry_default(gemm->in, gemm->out);
    if (dot) {
        *dot = '\0';
        run->entry = NULL;
        for (const char *const *entry = gp_entries; *entry; entry++)
            if (strcmp(*entry, dot + 1) == 0)
                run->entry = *entry;
        if (!run->entry)
            return gp_err_set(err, GP_ERR_USAGE, "no entry '%.40s'", dot + 1);
    }
    run->backend = backend;
    return gp_backend_check(backend, err);
}

static int parse_axis(const char *text, struct gp_run *run,
                      struct gp_arena *arena, struct gp_err *err)
{
    char value[128];

    if (strncmp(text, "ws=", 3) == 0 &&
        id_value_back(text + 3, value, sizeof value) == 0) {
        run->workspace = gp_arena_copy(arena, value);
        return gp_workspace_check(value, err);
    }
    if (strcmp(text, "scalars=device") == 0) {
        run->device_scalars = true;
        return 0;
    }
    if (strncmp(text, "env=", 4) == 0 &&
        id_value_back(text + 4, value, sizeof value) == 0) {
        for (char *at = value; *at && *at != '='; at++)
            *at = (char)toupper((unsigned char)*at);
        run->env = gp_arena_copy(arena, value);
        return gp_env_check(value, err);
    }
    if (strncmp(text, "fault=", 6) == 0 &&
        id_value_back(text + 6, value, sizeof value) == 0)
        return gp_fault_parse(value, &run->fault, err);
    if (text[0] == 'r' && whole(text + 1, 1, &run->repeats) == 0 &&
        run->repeats <= GP_REPEATS_MOST)
        return 0;
    for (const struct gp_schedule *row = gp_schedules; row->name; row++) {
        size_t len = strlen(row->name);
        if (strncmp(text, row->name, len) != 0 ||
            (row->counted ? whole(text + len, 1, &run->schedule_number) != 0
                          : text[len] != '\0'))
            continue;
        run->schedule = row;
        return 0;
    }
    return gp_err_set(err, GP_ERR_USAGE, "'%.40s' is no part of it", text);
}

static int parse_run(char *text, struct gp_problem *problem, struct gp_run *run,
                     struct gp_arena *arena, struct gp_err *err)
{
    char *rest = NULL, *part = strtok_r(text, "/", &rest);
    const struct gp_gemm *gemm = &problem->gemm;

    if (!part || parse_problem(part, problem, err) != 0)
        return part ? -1 : gp_err_set(err, GP_ERR_USAGE, "it is empty");
    part = strtok_r(NULL, "/", &rest);
    if (!part || parse_backend(part, run, arena, err) != 0)
        return part ? -1
                    : gp_err_set(err, GP_ERR_USAGE,
                                 "no backend in it: an id is PROBLEM/"
                                 "BACKEND/MODE");
    part = strtok_r(NULL, "/", &rest);
    if (!part)
        return gp_err_set(
            err, GP_ERR_USAGE,
            "no mode in it: an id is PROBLEM/BACKEND/MODE, such as "
            "f32.nn.64x64x64.dense.s1/naive/default");
    if (gp_mode_parse(part, arena, &run->mode, err) != 0)
        return -1;
    if (!gp_mode_resolve(run->mode, gemm->in, gemm->out, run->entry, &run->row))
        return gp_err_set(err, GP_ERR_USAGE,
                          "the mode %s does not exist for this type and entry",
                          run->mode->name);
    while ((part = strtok_r(NULL, "/", &rest)))
        if (parse_axis(part, run, arena, err) != 0)
            return -1;
    gp_run_override(run);
    return problem->family->accept(gemm, err);
}

int gp_run_parse(const char *id, struct gp_plan *plan, struct gp_err *err)
{
    struct gp_problem *problem =
        gp_arena_alloc(&plan->arena, sizeof(struct gp_problem));
    struct gp_run run = {.problem = problem,
                         .workspace = "unset",
                         .env = "",
                         .schedule = &gp_schedules[0],
                         .repeats = GP_REPEATS_DEFAULT};
    struct gp_buf buf = {0};

    problem->seed = 1;
    if (parse_run(gp_arena_copy(&plan->arena, id), problem, &run, &plan->arena,
                  err) != 0)
        return gp_err_prefix(err, "no run has the id '%.200s': ", id);
    gp_problem_id(problem, &buf);
    problem->id = gp_arena_copy(&plan->arena, gp_buf_text(&buf));
    buf.len = 0;
    gp_run_id(&run, &buf);
    run.id = gp_arena_copy(&plan->arena, gp_buf_text(&buf));
    gp_buf_free(&buf);
    *(struct gp_problem **)gp_grow((void **)&plan->problems,
                                   plan->problems_count, &plan->problems_room,
                                   sizeof problem) = problem;
    plan->problems_count++;
    *(struct gp_run *)gp_grow((void **)&plan->runs, plan->runs_count,
                              &plan->runs_room, sizeof run) = run;
    plan->runs_count++;
    return 0;
}
