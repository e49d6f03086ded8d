#include "harness/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/word.h"

const struct gp_mode gp_modes[] = {
    {.name = "default", .help = "what a call without any setting gets"},
    {.name = "pedantic",
     .help = "prescribed precision and standard arithmetic throughout"},
    {.name = "tf32", .help = "FP32 operands rounded to 11 significand bits"},
    {.name = "no-reduced-precision",
     .help =
         "default, and no partial sum in a type narrower than the accumulator"},
    {.name = "fast-16f", .help = "FP32 operands rounded to FP16 or TF32"},
    {.name = "fast-16bf", .help = "FP32 operands rounded to BF16"},
    {.name = "f16-accumulate", .help = "FP16 operands and FP16 sums"},
    {.name = "bf16x9", .help = "FP32 made of nine BF16 products"},
    {.name = "fp64-emulated", .help = "FP64 made of integer products"},
    {.name = NULL},
};

/* Words for the rows below; docs/checks.md says what each promises. */
#define FP32                                                                   \
    {                                                                          \
        .accumulator = "f32", .terms = 1                                       \
    }
#define FP64                                                                   \
    {                                                                          \
        .accumulator = "f64", .terms = 1                                       \
    }
#define MMA                                                                    \
    {                                                                          \
        .accumulator = "f32", .tensor = true, .terms = 1                       \
    }
#define MMA_OUT                                                                \
    {                                                                          \
        .accumulator = "f32", .tensor = true, .terms = 1, .in_output = true    \
    }
#define FROM(bits, least)                                                      \
    {                                                                          \
        .input_precision = (bits), .input_emin = (least),                      \
        .accumulator = "f32", .tensor = true, .terms = 1                       \
    }

const struct gp_mode_row gp_mode_rows[] = {
    {"default", "f32", "f32", "default", "32f", false, FP32, NULL},
    {"default", "f64", "f64", "default", "64f", false, FP64, NULL},
    {"default", "f16", "f16", NULL, "32f", false, MMA_OUT, NULL},
    {"default", "f16", "f32", NULL, "32f", false, MMA, NULL},
    {"default", "bf16", "bf16", NULL, "32f", false, MMA_OUT, NULL},
    {"default", "bf16", "f32", NULL, "32f", false, MMA, NULL},
    {"pedantic", "f32", "f32", "pedantic", "32f-pedantic", false, FP32, NULL},
    {"pedantic", "f64", "f64", "pedantic", "64f-pedantic", false, FP64, NULL},
    {"pedantic", "f16", NULL, NULL, "32f-pedantic", false, MMA, NULL},
    {"pedantic", "bf16", NULL, NULL, "32f-pedantic", false, MMA, NULL},
    {"tf32", "f32", "f32", "tf32", "32f-fast-tf32", false, FROM(11, -126),
     NULL},
    {"no-reduced-precision", "f32", "f32", "default", "32f", true, FP32, NULL},
    {"no-reduced-precision", "f64", "f64", "default", "64f", true, FP64, NULL},
    {"no-reduced-precision", "f16", NULL, NULL, "32f", true, MMA, NULL},
    {"no-reduced-precision", "bf16", NULL, NULL, "32f", true, MMA, NULL},
    {"fast-16f", "f32", "f32", NULL, "32f-fast-16f", false, FROM(11, -14),
     NULL},
    {"fast-16bf", "f32", "f32", NULL, "32f-fast-16bf", false, FROM(8, -126),
     NULL},
    {"f16-accumulate",
     "f16",
     "f16",
     NULL,
     "16f",
     false,
     {.accumulator = "f16", .tensor = true, .terms = 1, .in_output = true},
     NULL},
    {"bf16x9",
     "f32",
     "f32",
     "bf16x9",
     "32f-bf16x9",
     false,
     {.accumulator = "f32", .tensor = true, .terms = 9},
     NULL},
    {"fp64-emulated",
     "f64",
     "f64",
     "fp64-emulated",
     "64f-emulated",
     false,
     {.accumulator = "f64", .terms = 1, .per_term = 4},
     NULL},
    {NULL, NULL, NULL, NULL, NULL, false, {0}, NULL},
};

const char *const gp_entries[] = {"gemm", "gemm-ex", NULL};

const char *const gp_workspaces[] = {"unset", "16:8",        "4096:8",
                                     "0:0",   "4096:2:16:8", NULL};

const struct gp_schedule gp_schedules[] = {
    {"serial", "one after the other on one stream", false},
    {NULL, NULL, false},
};

/* Who promises what: backend, schedule, and the modes that are exempt. */
static const struct {
    const char *backend, *schedule, *exempt, *source;
} promises[] = {
    {"cublas", "serial", "fp64-emulated",
     "cuBLAS documentation 2.1.4 (one version, architecture, number of SMs "
     "and stream)"},
    {"naive", "serial", "", "the worker, which sums in one fixed order"},
    {"simulated", "serial", "", "the worker, which sums in one fixed order"},
    {"faulty", "serial", "", "the worker, which sums in one fixed order"},
};

const char *gp_entry_default(const struct gp_type *in,
                             const struct gp_type *out)
{
    return in == out && in->precision >= 24 ? "gemm" : "gemm-ex";
}

int gp_workspace_check(const char *text, struct gp_err *err)
{
    const char *at = text;
    int numbers = 0;

    if (strcmp(text, "unset") == 0)
        return 0;
    if (strncmp(text, "raw=", 4) == 0 && strlen(text) < 64) {
        for (at += 4; *at > ' ' && *at < 127;)
            at++;
        if (!*at)
            return 0;
    }
    at = text;
    if (*text == ':')
        return gp_err_set(err, GP_ERR_USAGE,
                          "the workspace '%.40s' has a leading colon: write it "
                          "without, as \"%.40s\"",
                          text, text + 1);
    for (;;) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 12)
            break;
        numbers++;
        at += digits;
        if (*at == '\0' && numbers % 2 == 0)
            return 0;
        if (*at++ != ':')
            break;
    }
    return gp_err_set(err, GP_ERR_USAGE,
                      "the workspace '%.40s' is not SIZE:COUNT pairs joined by "
                      "colons (\"16:8\", \"4096:2:16:8\") or unset",
                      text);
}

int gp_env_check(const char *text, struct gp_err *err)
{
    static const char *const names[] = {
        "NVIDIA_TF32_OVERRIDE",
        "CUBLAS_EMULATE_SINGLE_PRECISION",
        "CUBLAS_EMULATE_DOUBLE_PRECISION",
        "CUBLAS_EMULATION_STRATEGY",
        "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT",
        "CUBLASLT_HEURISTICS_CACHE_CAPACITY",
        "CUDA_LAUNCH_BLOCKING",
        NULL,
    };
    size_t len = strcspn(text, "=");
    char name[64];

    if (!*text)
        return 0;
    if (len < sizeof name && text[len] == '=' && strlen(text) < 100 &&
        strspn(text + len + 1, "abcdefghijklmnopqrstuvwyzx0123456789-.") ==
            strlen(text + len + 1)) {
        memcpy(name, text, len);
        name[len] = '\0';
        for (const char *const *at = names; *at; at++)
            if (strcmp(*at, name) == 0)
                return 0;
        return gp_err_set(err, GP_ERR_USAGE,
                          "the variable '%.60s' cannot be set here: did you "
                          "mean %s?",
                          name, gp_word_nearest(name, names));
    }
    return gp_err_set(err, GP_ERR_USAGE,
                      "'%.60s' is not NAME=VALUE with a value in [a-z0-9.-]",
                      text);
}

const char *gp_promise(const char *backend, const char *schedule,
                       const char *mode)
{
    size_t name = strcspn(backend, "=");

    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++)
        if (strlen(promises[i].backend) == name &&
            strncmp(promises[i].backend, backend, name) == 0 &&
            strcmp(promises[i].schedule, schedule) == 0 &&
            strcmp(promises[i].exempt, mode) != 0)
            return promises[i].source;
    return NULL;
}

int gp_type_pair_parse(const char *text, struct gp_type_pair *ret_pair,
                       struct gp_err *err)
{
    const char *colon = strchr(text, ':');
    char in[16];
    size_t len = colon ? (size_t)(colon - text) : strlen(text);

    if (len < sizeof in) {
        memcpy(in, text, len);
        in[len] = '\0';
        ret_pair->in = gp_type_find(in);
        ret_pair->out = colon ? gp_type_find(colon + 1) : ret_pair->in;
        if (ret_pair->in && ret_pair->out &&
            ret_pair->out->precision >= ret_pair->in->precision &&
            (ret_pair->in == ret_pair->out ||
             strcmp(ret_pair->out->name, "f32") == 0))
            return 0;
    }
    return gp_err_set(err, GP_ERR_USAGE,
                      "no type '%.20s': the types are f32, f64, f16, bf16, and "
                      "f16:f32, bf16:f32 for FP32 results of 16-bit operands",
                      text);
}

int gp_op_parse(const char *text, struct gp_op *ret_op, struct gp_err *err)
{
    if (strlen(text) != 2 || strspn(text, "nt") != 2)
        return gp_err_set(err, GP_ERR_USAGE,
                          "no op '%.20s': the ops are nn, nt, tn, tt", text);
    ret_op->trans_a = text[0] == 't';
    ret_op->trans_b = text[1] == 't';
    return 0;
}

int gp_backend_check(const char *text, struct gp_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t name = strspn(text, letters);

    if (name && name < 40 &&
        (!text[name] ||
         (text[name] == '=' &&
          strspn(text + name + 1, letters) == strlen(text + name + 1) &&
          strlen(text + name + 1) < 40)))
        return 0;
    return gp_err_set(err, GP_ERR_USAGE,
                      "no backend '%.40s': a backend is a name in [a-z0-9-], "
                      "such as cublas, openblas or faulty=drop-last-k",
                      text);
}

static bool backend_in(const char *const *names, const char *backend)
{
    size_t len = strcspn(backend, "=");

    for (; *names; names++)
        if (strlen(*names) == len && strncmp(*names, backend, len) == 0)
            return true;
    return false;
}

bool gp_backend_on_cpu(const char *backend)
{
    static const char *const names[] = {"naive", "openblas", "simulated",
                                        "faulty", NULL};

    return backend_in(names, backend);
}

bool gp_backend_reads_environment(const char *backend)
{
    static const char *const names[] = {"naive", "openblas", "faulty", NULL};

    return !backend_in(names, backend);
}

const char *gp_verdict_name(enum gp_verdict verdict)
{
    static const char *const names[] = {"pass", "fail", "skip", "error"};

    return names[verdict];
}

enum gp_verdict gp_verdict_find(const char *name)
{
    for (int i = GP_PASS; i < GP_ERROR; i++)
        if (strcmp(gp_verdict_name((enum gp_verdict)i), name) == 0)
            return (enum gp_verdict)i;
    return GP_ERROR;
}

void gp_counts_run(struct gp_counts *counts, enum gp_verdict verdict,
                   unsigned flags)
{
    int64_t *by_verdict[] = {&counts->pass, &counts->fail, &counts->skip,
                             &counts->error};

    ++*by_verdict[verdict];
    counts->run += verdict == GP_PASS || verdict == GP_FAIL;
    counts->observed += verdict == GP_PASS && flags & GP_OBSERVED;
    counts->known += verdict == GP_PASS && flags & GP_KNOWN;
}

void gp_counts_relation(struct gp_counts *counts, enum gp_verdict verdict,
                        unsigned flags)
{
    counts->relations++;
    counts->relations_observed += (flags & GP_OBSERVED) != 0;
    counts->relations_failed += verdict == GP_FAIL;
}

void gp_counts_judgement(struct gp_counts *counts, const char *by)
{
    for (int i = 0; i < GP_JUDGES_MOST; i++) {
        if (counts->judgements[i].by &&
            strcmp(counts->judgements[i].by, by) != 0)
            continue;
        counts->judgements[i].by = by;
        counts->judgements[i].count++;
        return;
    }
}

int gp_counts_exit(const struct gp_counts *counts, bool untested)
{
    int64_t recorded =
        counts->pass + counts->fail + counts->skip + counts->error;

    if (counts->fail || counts->relations_failed)
        return 1;
    if (counts->error || recorded < counts->planned || counts->run == 0 ||
        untested)
        return 3;
    return 0;
}
