/* The program that shows one run of cuBLAS without this one. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/base/shm.h"
#include "harness/check/fingerprint.h"
#include "harness/check/measure.h"
#include "harness/cli/repro.h"
#include "harness/engine/pool.h"

static int check_run(const struct gp_run *run, struct gp_err *err)
{
    const struct gp_problem *problem = run->problem;
    struct gp_request request;

    gp_run_request(run, &request);
    if (gp_classes_matter(problem->family, &problem->gemm) ||
        gp_gemm_count(&problem->gemm, GP_C) == 0)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "repro --c writes no program about NaN, infinities, "
                          "zeros or products without a term or a result: "
                          "leave --c out for the command");
    if (request.device_scalars)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "repro --c writes calls with alpha and beta on the "
                          "host: leave --c out for the command");
    if (strcmp(run->backend, "cublas") != 0)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "%.60s is no call of cuBLAS, which is what repro --c "
                          "writes a program for: leave --c out for the command",
                          run->backend);
    if (run->schedule != &gp_schedules[0])
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "repro --c writes programs for the schedule %s only, "
                          "and this run is %s: leave --c out for the command",
                          gp_schedules[0].name, run->schedule->name);
    if (run->fault.kind != GP_FAULT_NONE)
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "this run plants a fault of our own, which is no "
                          "finding about cuBLAS: leave --c out for the "
                          "command");
    if (!gp_repro_math(request.math) ||
        (*request.compute && !gp_repro_compute(request.compute)))
        return gp_err_set(err, GP_ERR_UNSUPPORTED,
                          "repro --c knows no name in cublas_v2.h for %s %s: "
                          "leave --c out for the command",
                          request.math, request.compute);
    return 0;
}

/* Has every result one possible value? */
static bool is_exact(const struct gp_run *run)
{
    const struct gp_family *family = run->problem->family;

    return family->exact || ((family->probe == GP_PROBE_TWO_TERM ||
                              family->probe == GP_PROBE_SPLIT_FINDER) &&
                             !gp_fingerprint_may_round(run));
}

static void print_head(const struct gp_run *run, const char *version,
                       struct gp_buf *buf)
{
    bool exact = is_exact(run);
    bool probe = run->problem->family->one_term;

    gp_buf_printf(
        buf,
        "/*\n"
        " * One product of cuBLAS, repeated and compared with what it must "
        "be.\n"
        " * Written by gemmproof %s repro --c for the run\n"
        " *     %s\n"
        " * Compile: nvcc -o repro repro.cu -lcublas\n"
        " * Run:     ./repro          (./repro --all where it compares a "
        "sample)\n"
        " * Exit:    1 the finding shows; 0 nothing wrong shows; 2 no run was "
        "made\n"
        " *\n"
        " * It makes the operands from the seed, calls cuBLAS %" PRId64
        " times on the same\n"
        " * bytes, and then looks for\n"
        " *   repeat       any bit that differs between two repeats\n"
        " *   bound        an element further from the result than the "
        "arithmetic\n"
        " *                asked for can be off; the result is summed in long "
        "double\n"
        "%s%s"
        " *   guard        bytes written beside D, or to A or B\n"
        " * Matrices have 4096 bytes of guard on both sides; guards, padding "
        "and, when\n"
        " * beta = 0, D before the call are bytes of 0xff, which are NaN.\n"
        " * With -DREPRO_DUMP it needs no CUDA and prints digests of the "
        "operands.\n"
        " * Linux and a little-endian host are needed.\n"
        " */\n",
        version, run->id, run->repeats,
        exact ? " *   exact        an element that is not the only possible "
                "result, whatever\n"
                " *                the order of summation\n"
              : "",
        probe ? " *   fingerprint  operands read with fewer bits than was "
                "asked for: each result\n"
                " *                is one product\n"
              : "");
}

static void print_string(const char *text, struct gp_buf *buf)
{
    gp_buf_str(buf, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            gp_buf_str(buf, "\\");
        gp_buf_add(buf, text, 1);
    }
    gp_buf_str(buf, "\"");
}

/* What the run set, and before it what could change the arithmetic of cuBLAS
 * and is not wanted. */
static void print_environment(const struct gp_run *run, struct gp_buf *buf)
{
    struct gp_arena arena = {0};
    json_t *set = gp_json_object(), *value;
    const char *key;

    (void)gp_pool_environment(&arena, false, run->workspace, run->env, set);
    gp_buf_str(buf, "/* Taken out of the environment: whatever begins so. "
                    "Then set: name, value.\n * cuBLAS reads "
                    "CUBLAS_WORKSPACE_CONFIG in cublasCreate. */\n"
                    "static const char *const repro_unset[] = {\n");
    for (const struct gp_pool_variable *row = gp_pool_variables; row->name;
         row++) {
        int len = (int)strcspn(row->name, "*");
        if (!row->passes && (strncmp(row->name, "CU", 2) == 0 ||
                             strncmp(row->name, "NVIDIA", 6) == 0))
            gp_buf_printf(buf, "    \"%.*s\",\n", len, row->name);
    }
    gp_buf_str(buf, "    NULL};\nstatic const char *const repro_set[] = {\n");
    json_object_foreach(set, key, value)
    {
        gp_buf_str(buf, "    ");
        print_string(key, buf);
        gp_buf_str(buf, ", ");
        print_string(json_string_value(value), buf);
        gp_buf_str(buf, ",\n");
    }
    gp_buf_str(buf, "    NULL};\n\n");
    json_decref(set);
    gp_arena_free(&arena);
}

/* The largest magnitudes of A and B, as the harness's reference finds them. */
static int measure_data(const struct gp_problem *problem,
                        struct gp_bound_data *ret_data, struct gp_err *err)
{
    const struct gp_gemm *gemm = &problem->gemm;
    int64_t longest = gemm->m > gemm->k ? gemm->m : gemm->k;
    double most[2] = {0, 0};
    void *memory = NULL;

    if (gp_matrix_alloc(&memory, (size_t)longest * 8, "a column", err) != 0)
        return -1;
    for (enum gp_operand which = GP_A; which <= GP_B; which++) {
        int64_t columns = which == GP_A ? gemm->k : gemm->n;
        int64_t length = which == GP_A ? gemm->m : gemm->k;
        double *column = memory;
        for (int64_t at = 0; at < columns * gemm->batch; at++) {
            const struct gp_family_args args = {gemm, problem->seed, which,
                                                at / columns};
            problem->family->column(&args, at % columns, column);
            for (int64_t i = 0; i < length; i++)
                most[which] = fmax(most[which], fabs(column[i]));
        }
    }
    gp_matrix_free(memory);
    *ret_data = (struct gp_bound_data){most[GP_A], most[GP_B]};
    return 0;
}

static void print_real(double x, struct gp_buf *buf)
{
    if (isinf(x))
        gp_buf_str(buf, "HUGE_VAL");
    else
        gp_buf_printf(buf, "%.17g", x);
}

/* The bound's constants depend on the tensor cores of the device, which is
 * known when the program runs: one row for each kind, 0 for any other. */
static int print_bounds(const struct gp_run *run, const char *version,
                        struct gp_buf *buf, struct gp_err *err)
{
    static const int capabilities[] = {70, 72, 75,  80,  86, 87,
                                       89, 90, 100, 103, 0};
    enum { ROWS = sizeof capabilities / sizeof *capabilities, UNKNOWN = 1 };
    const struct gp_arithmetic *arithmetic = &run->row.arithmetic;
    struct gp_bound_data data;

    if (measure_data(run->problem, &data, err) != 0)
        return -1;
    gp_buf_printf(
        buf,
        "/* An element may be off by rel_ref |result| + rel_mag (|alpha| "
        "|A||B| +\n * |beta| |C|) + absolute, by what is promised:\n"
        " * k = %" PRId64 ", sums in %s, %s,\n * %s, max |a| = %.9g, max |b| "
        "= %.9g.\n * Computed by gp_bound_make of gemmproof %s "
        "(reference/bound.c;\n * derived in docs/checks.md); one row for "
        "each kind of tensor core, 0 for any\n * other. */\n"
        "struct repro_bound {\n    int compute_capability;\n"
        "    double rel_ref, rel_mag, absolute, omega_acc, omega_out;\n};\n"
        "static const struct repro_bound repro_bounds[] = {\n",
        run->problem->gemm.k, arithmetic->accumulator,
        arithmetic->input_precision ? "operands that may be rounded"
                                    : "operands as given",
        arithmetic->in_output ? "partial sums that may be in the type of D"
                              : "partial sums in that type",
        data.max_a, data.max_b, version);
    for (int i = 0; i < ROWS; i++) {
        int capability = capabilities[i];
        struct gp_bound bound;
        gp_bound_make(&run->problem->gemm, arithmetic, &data,
                      capability ? capability : UNKNOWN, &bound);
        const double values[] = {bound.rel_ref, bound.rel_mag, bound.absolute,
                                 bound.omega_acc, bound.omega_out};
        gp_buf_printf(buf, "    {%d", capability);
        for (int v = 0; v < 5; v++) {
            gp_buf_str(buf, v == 2 ? ",\n     " : ", ");
            print_real(values[v], buf);
        }
        gp_buf_str(buf, "},\n");
    }
    gp_buf_str(buf, "};\n\n");
    return 0;
}

static void print_type(const char *name, const struct gp_type *type,
                       struct gp_buf *buf)
{
    gp_buf_printf(buf,
                  "    %s.name = \"%s\";\n    %s.bytes = %zu;\n"
                  "    %s.precision = %d;\n    %s.emin = %d;\n"
                  "    %s.emax = %d;\n",
                  name, type->name, name, type->bytes, name, type->precision,
                  name, type->emin, name, type->emax);
}

static void print_gemm(const struct gp_run *run, struct gp_buf *buf)
{
    const struct gp_gemm *gemm = &run->problem->gemm;
    const struct {
        const char *name;
        int64_t value;
    } members[] = {
        {"m", gemm->m},
        {"n", gemm->n},
        {"k", gemm->k},
        {"batch", gemm->batch},
        {"trans_a", gemm->trans_a},
        {"trans_b", gemm->trans_b},
        {"row_major", gemm->row_major},
        {"lda", gemm->lda},
        {"ldb", gemm->ldb},
        {"ldc", gemm->ldc},
    };

    gp_buf_str(buf, "static struct gp_gemm repro_gemm(void)\n{\n"
                    "    static struct gp_type in, out;\n"
                    "    struct gp_gemm gemm;\n\n"
                    "    memset(&gemm, 0, sizeof gemm);\n");
    print_type("in", gemm->in, buf);
    print_type("out", gemm->out, buf);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        gp_buf_printf(buf, "    gemm.%s = %" PRId64 ";\n", members[i].name,
                      members[i].value);
    gp_buf_printf(buf,
                  "    gemm.alpha = %.17g;\n    gemm.beta = %.17g;\n"
                  "    gemm.in = &in;\n    gemm.out = &out;\n"
                  "    return gemm;\n}\n\n",
                  gemm->alpha, gemm->beta);
}

static void print_constants(const struct gp_run *run, const char *call,
                            struct gp_buf *buf)
{
    const struct gp_arithmetic *arithmetic = &run->row.arithmetic;
    struct gp_request request;

    gp_run_request(run, &request);
    gp_buf_printf(
        buf,
        "#define REPRO_ID \\\n    \"%s\"\n#define REPRO_SEED UINT64_C(%" PRIu64
        ")\n#define REPRO_REPEATS INT64_C(%" PRId64 ")\n"
        "#define REPRO_ASKED_BITS %d /* significand bits of the operands */\n"
        "#define REPRO_CALL \"%s\"\n#define REPRO_MATH \\\n"
        "    ((cublasMath_t)(%s%s))\n#define REPRO_MATH_WORDS \\\n    "
        "\"%s%s%s%s\"\n\n",
        run->id, run->problem->seed, run->repeats,
        arithmetic->input_precision ? arithmetic->input_precision
                                    : run->problem->gemm.in->precision,
        call, gp_repro_math(request.math),
        request.no_reduced_precision
            ? " | \\\n     CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION"
            : "",
        gp_repro_math(request.math),
        request.no_reduced_precision
            ? " | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION"
            : "",
        *request.compute ? ", " : "",
        *request.compute ? gp_repro_compute(request.compute) : "");
}

static const char includes[] =
    "#include <float.h>\n#include <math.h>\n#include <stdbool.h>\n"
    "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n\n"
    "#ifndef REPRO_DUMP\n#include <unistd.h>\n\n"
    "#include <cublas_v2.h>\n#include <cuda_runtime.h>\n#endif\n\n";

/* What the copied definitions expect around them. */
static const char around[] =
    "/* --- From gemmproof's own sources: how operands are made "
    "------------------ */\n\n"
    "#define GP_HASH_HD static inline\n"
    "struct gp_err {\n    int kind;\n};\n"
    "#define gp_err_set(err, ...) ((void)(err), -1)\n\n";

int gp_repro_cuda(const struct gp_run *run, const char *version,
                  struct gp_buf *buf, struct gp_err *err)
{
    const struct gp_family *family = run->problem->family;
    const struct gp_repro_choice choice = {family->name, is_exact(run),
                                           family->one_term};
    struct gp_buf definitions = {0}, own = {0}, call = {0};
    const char *name;
    int status = check_run(run, err);

    if (status == 0)
        status = gp_repro_text(&choice, &definitions, &own, err);
    if (status == 0) {
        gp_repro_call(run, &call, &name);
        print_head(run, version, buf);
        gp_buf_str(buf, includes);
        print_constants(run, name, buf);
        gp_buf_str(buf, "#ifndef REPRO_DUMP\n\n");
        print_environment(run, buf);
        status = print_bounds(run, version, buf, err);
        gp_buf_str(buf, gp_buf_text(&call));
        gp_buf_str(buf, "\n#endif\n\n");
        gp_buf_str(buf, around);
        gp_buf_str(buf, gp_buf_text(&definitions));
        gp_buf_str(buf, "/* --- The problem "
                        "--------------------------------------------------"
                        "-------- */\n\n");
        print_gemm(run, buf);
        gp_buf_str(buf, gp_buf_text(&own));
    }
    gp_buf_free(&definitions);
    gp_buf_free(&own);
    gp_buf_free(&call);
    return status;
}
