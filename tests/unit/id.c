/* Ids: there and back again, and what is no id. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/plan.h"
#include "tests/unit/product.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.+=_/-";

/* --- Random runs over all axes ---------------------------------------------
 */

static const char *const pairs[][2] = {{"f32", "f32"},   {"f64", "f64"},
                                       {"f16", "f16"},   {"f16", "f32"},
                                       {"bf16", "bf16"}, {"bf16", "f32"}};

static double random_factor(struct rng *rng)
{
    static const double some[] = {1,        0,    -1,    1.5,     -0.5,
                                  2,        0.25, 1e30,  -1e-30,  100,
                                  0x1p-126, 3e20, 12345, 1024.25, -0.125};
    int64_t at = rng_to(rng, 15);
    double x = at < 15 ? some[at] : rng_double(rng, -100, 100);

    return (double)(float)x; /* which FP32 and FP64 hold alike */
}

static int64_t random_size(struct rng *rng)
{
    return rng_to(rng, 3) ? rng_between(rng, 1, 70)
                          : rng_between(rng, 1, 1 << 20);
}

static struct gp_gemm random_gemm(struct rng *rng)
{
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    int64_t pair = rng_to(rng, 5);
    struct gp_gemm gemm =
        product_of(pairs[pair][0], pairs[pair][1], ops[rng_to(rng, 3)],
                   random_size(rng), random_size(rng), random_size(rng));

    gemm.row_major = rng_to(rng, 1);
    product_ld(&gemm, rng_to(rng, 2) ? 0 : rng_between(rng, 1, 1000));
    if (rng_to(rng, 3) == 0) {
        gemm.lda += rng_to(rng, 9);
        gemm.ldb += rng_to(rng, 9);
        gemm.ldc += rng_to(rng, 9);
    }
    gemm.batch = rng_to(rng, 1) ? 1 : rng_between(rng, 1, 50);
    gemm.alpha = random_factor(rng);
    gemm.beta = random_factor(rng);
    return gemm;
}

static struct gp_fault random_fault(struct rng *rng)
{
    struct gp_fault fault = {.kind = (enum gp_fault_kind)rng_to(rng, 4)};

    if (fault.kind == GP_FAULT_BIT || fault.kind == GP_FAULT_VARIANT)
        fault.repeat = rng_to(rng, 1000);
    if (fault.kind == GP_FAULT_BIT)
        fault.bit = (int)rng_to(rng, 63);
    if (fault.kind != GP_FAULT_NONE && fault.kind != GP_FAULT_VARIANT)
        fault.place = rng_to(rng, INT64_C(1) << 40);
    return fault;
}

/* The axes that a run has beside its problem and mode. */
static void random_axes(struct rng *rng, struct gp_run *run)
{
    static const char *const backends[] = {"cublas", "openblas",
                                           "faulty=drop-last-k", "a-b=c-2"};
    static const char *const workspaces[] = {"unset", "16:8", "4096:2:16:8",
                                             "0:0", "123456789012:1"};

    run->backend = backends[rng_to(rng, 3)];
    run->entry = gp_entries[rng_to(rng, 1)];
    run->workspace = workspaces[rng_to(rng, 4)];
    run->env = "";
    run->schedule = &gp_schedules[0];
    run->repeats = rng_to(rng, 1) ? GP_REPEATS_DEFAULT
                                  : rng_between(rng, 1, GP_REPEATS_MOST);
    run->fault = random_fault(rng);
}

static size_t count_modes(void)
{
    size_t count = 0;

    while (gp_modes[count].name)
        count++;
    return count;
}

static size_t count_families(void)
{
    size_t count = 0;

    while (gp_families[count].name)
        count++;
    return count;
}

/* A run that exists: its mode has a row, its family takes the problem. */
static void random_run(struct rng *rng, struct gp_problem *problem,
                       struct gp_run *run)
{
    struct gp_err err;

    do {
        *problem = (struct gp_problem){
            .gemm = random_gemm(rng),
            .family = &gp_families[rng_to(rng, (int64_t)count_families() - 1)],
            .seed = rng_to(rng, 2) ? (uint64_t)rng_to(rng, 9) : rng_next(rng)};
        *run = (struct gp_run){.problem = problem};
        random_axes(rng, run);
        run->mode = &gp_modes[rng_to(rng, (int64_t)count_modes() - 1)];
    } while (!gp_mode_resolve(run->mode, problem->gemm.in, problem->gemm.out,
                              run->entry, &run->row) ||
             problem->family->accept(&problem->gemm, &err) != 0 ||
             gp_gemm_check(&problem->gemm, &err) != 0);
}

static bool same_gemm(const struct gp_gemm *a, const struct gp_gemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch && a->trans_a == b->trans_a &&
           a->trans_b == b->trans_b && a->row_major == b->row_major &&
           a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
           a->alpha == b->alpha && a->beta == b->beta && a->in == b->in &&
           a->out == b->out;
}

static bool same_run(const struct gp_run *a, const struct gp_run *b)
{
    return same_gemm(&a->problem->gemm, &b->problem->gemm) &&
           a->problem->family == b->problem->family &&
           a->problem->seed == b->problem->seed &&
           strcmp(a->backend, b->backend) == 0 &&
           strcmp(a->entry, b->entry) == 0 && a->mode == b->mode &&
           strcmp(a->workspace, b->workspace) == 0 &&
           a->schedule == b->schedule && a->repeats == b->repeats &&
           a->fault.kind == b->fault.kind &&
           a->fault.repeat == b->fault.repeat && a->fault.bit == b->fault.bit &&
           (a->fault.kind == GP_FAULT_VARIANT ||
            a->fault.place == b->fault.place);
}

Test(id, print_parse_print_is_the_identity)
{
    struct rng rng = {31};
    struct gp_buf id = {0};

    for (int n = 0; n < 20000; n++) {
        struct gp_plan plan = {0};
        struct gp_problem problem;
        const struct gp_run *back;
        struct gp_run run;
        random_run(&rng, &problem, &run);
        id.len = 0;
        gp_run_id(&run, &id);
        cr_assert_eq(strspn(id.text, letters), id.len, "%s", id.text);
        back = plan_run(&plan, id.text);
        cr_assert_str_eq(back->id, id.text);
        cr_assert(same_run(&run, back), "%s", id.text);
        cr_assert_eq(
            strncmp(back->problem->id, id.text, strlen(back->problem->id)), 0);
        cr_assert_eq(id.text[strlen(back->problem->id)], '/');
        gp_plan_free(&plan);
    }
    gp_buf_free(&id);
}

/* Axes at their default are absent, so that new axes rename nothing. */
Test(id, of_some_runs)
{
    static const char *const ids[] = {
        "f32.nn.8x8x65536.dense.s1/cublas/tf32",
        "f32.nn.8x8x65536.dense.s1/cublas.gemm-ex/tf32/ws=16x8/r100",
        "f32.nn.8x8x0.beta=0.5.dense.s1/cublas/default/ws=16x8/scalars=device",
        "f16xf32.tn.1x2x3.ld+8.b4.alpha=1.5.beta=-0.5.exact.s7/naive/pedantic",
        "f64.nt.5x6x7.ld9x6x11.dense.s18446744073709551615/openblas/default",
        "bf16.tt.5x6x7.row.dense.s0/cublas/default/ws=4096x2x16x8/r1",
        "f32.nn.63x65x129.dense.s1/naive/default/fault=bitx3x0x0",
    };
    struct gp_plan plan = {0};

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        cr_assert_str_eq(plan_run(&plan, ids[i])->id, ids[i]);
    gp_plan_free(&plan);
}

/* Factors enter an FP32 product in FP32: so they do in its reference. */
Test(id, factors_are_those_of_the_compute_type)
{
    struct gp_plan plan = {0};
    const struct gp_run *run;

    run = plan_run(&plan, "f32.nn.8x8x8.alpha=0.1.dense.s1/naive/default");
    cr_assert_eq(run->problem->gemm.alpha, (double)0.1f);
    run = plan_run(&plan, "f16.nn.8x8x8.beta=0.1.dense.s1/naive/default");
    cr_assert_eq(run->problem->gemm.beta, (double)0.1f);
    run = plan_run(&plan, "f64.nn.8x8x8.alpha=0.1.dense.s1/naive/default");
    cr_assert_eq(run->problem->gemm.alpha, 0.1);
    gp_plan_free(&plan);
}

/* --- What is no id ----------------------------------------------------------
 */

static void refused(const char *id)
{
    struct gp_plan plan = {0};
    struct gp_err err = {0};

    cr_assert_eq(gp_run_parse(id, &plan, &err), -1, "accepted: %s", id);
    cr_assert(err.kind == GP_ERR_USAGE || err.kind == GP_ERR_UNSUPPORTED, "%s",
              id);
    cr_assert_not_null(strstr(err.text, "no run has the id"), "%s: %s", id,
                       err.text);
    cr_assert_eq(plan.runs_count, 0);
    cr_assert_eq(plan.problems_count, 0);
    gp_plan_free(&plan);
}

Test(id, cut_short)
{
    static const char whole[] =
        "f32.tn.8x8x16.ld+1.b2.alpha=2.dense.s1/naive/default";
    char part[sizeof whole];

    for (size_t len = 0; len < strlen(whole) - strlen("/default") + 1; len++) {
        memcpy(part, whole, len);
        part[len] = '\0';
        refused(part);
    }
}

Test(id, refused_problems)
{
    static const char *const problems[] = {
        "f33.nn.8x8x8.dense.s1",
        "F32.nn.8x8x8.dense.s1",
        "f32.nn.8x8x8.dense.s1.s",
        "f32xf16.nn.8x8x8.dense.s1",
        "f32.n.8x8x8.dense.s1",
        "f32.nc.8x8x8.dense.s1",
        "f32.nn.8x8.dense.s1",
        "f32.nn.8x8x8x8.dense.s1",
        "f32.nn.-1x8x8.dense.s1",
        "f32.nn.8x8x0.product.s1",
        "f32.nn.8x8x-8.dense.s1",
        "f32.nn.8x8x2147483648.dense.s1",
        "f32.nn.8x8x8.s1",
        "f32.nn.08x8x8.dense.s1",
        "f32.nn.8x8x08.dense.s1",
        "f32.nn. 8x8x8.dense.s1",
        "f32.nn.8x8x8 .dense.s1",
        "f32.nn.+8x8x8.dense.s1",
        " f32.nn.8x8x8.dense.s1",
        "f32.nn.8x8x8.ld+01.dense.s1",
        "f32.nn.8x8x8.ld8x8x08.dense.s1",
        "f32.nn.8x8x8.b02.dense.s1",
        "f32.nn.8x8x8.b 2.dense.s1",
        "f32.nn.8x8x8.dense.s01",
        "f32.nn.8x8x8.dense.s 1",
        "f32.nn.99999999999999999999x8x8.dense.s1",
        "f32.nn.2147483647x2147483647x1.dense.s1",
        "f32.nn.8x8x8.dens.s1",
        "f32.nn.8x8x8.dense.s",
        "f32.nn.8x8x8.dense.s-1",
        "f32.nn.8x8x8.dense.s1a",
        "f32.nn.8x8x8.dense.s18446744073709551616",
        "f32.nn.8x8x8.ld7x8x8.dense.s1",
        "f32.nn.8x8x8.ld8x8.dense.s1",
        "f32.nn.8x8x8.ld+0.dense.s1",
        "f32.nn.8x8x8.ld-1.dense.s1",
        "f32.nn.8x8x8.ld+1099511627776.dense.s1",
        "f32.nn.8x8x8.ld+9223372036854775807.dense.s1",
        "f32.nn.8x8x8.b0.dense.s1",
        "f32.nn.8x8x8.b3000000000.dense.s1",
        "f32.nn.8x8x8.alpha=.dense.s1",
        "f32.nn.8x8x8.alpha=x.dense.s1",
        "f32.nn.8x8x8.col.dense.s1",
        "f32.nn.8x8x8.alpha=0.1.exact.s1",
        " f32.nn.8x8x8.dense.s1",
        "f32.nn. 8x8x8.dense.s1",
    };
    char id[200];

    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        snprintf(id, sizeof id, "%s/naive/default", problems[i]);
        refused(id);
    }
}

/* Factors that are no numbers make results that nothing can judge. */
Test(id, refused_factors)
{
    static const char *const factors[] = {
        "nan", "inf", "-inf", "infinity", "1e999", "-1e999", "1e39",
        " 2",  "2 ",  "+2",   "02",       "-02",   "- 2",    ".5"};
    char id[200];

    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        snprintf(id, sizeof id, "f32.nn.8x8x8.alpha=%s.dense.s1/naive/default",
                 factors[i]);
        refused(id);
        snprintf(id, sizeof id, "f32.nn.8x8x8.beta=%s.dense.s1/naive/default",
                 factors[i]);
        refused(id);
    }
}

Test(id, refused_settings)
{
    static const char *const settings[] = {
        "",
        "/NAIVE/default",
        "/naive=/x/default/y",
        "/naive.gemmex/default",
        "/naive/tf33",
        "/naive/Default",
        "/naive/fp64-emulated", /* not for FP32 */
        "/naive/fast-16f",      /* not through gemm */
        "/naive/default/ws=16",
        "/naive/default/ws=",
        "/naive/default/ws=_3a16x8",
        "/naive/default/ws=_00",
        "/naive/default/ws=_4",
        "/naive/default/ws=_zz",
        "/naive/default/r0",
        "/naive/default/r1000001",
        "/naive/default/r-1",
        "/naive/default/r05",
        "/naive/default/r 5",
        "/naive/default/fault=bitx01x2x3",
        "/naive/default/fault=variantx06",
        "/naive/default/r5a",
        "/naive/default/serial2",
        "/naive/default/seriell",
        "/naive/default/fault=bitx1x2",
        "/naive/default/fault=bitx1x2x64",
        "/naive/default/fault=bitx-1x2x3",
        "/naive/default/fault=melt",
        "/naive/default/whatever",
    };
    char id[200];

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        snprintf(id, sizeof id, "f32.nn.8x8x8.dense.s1%s", settings[i]);
        refused(id);
    }
    refused("f64.nn.8x8x8.dense.s1/naive/tf32");
    refused("f16.nn.8x8x8.dense.s1/naive.gemm/default");
}

/* Any damage: refused with a sentence, or another run whose id is stable. */
Test(id, damaged_ids)
{
    static const char seed[] =
        "f16xf32.tn.8x9x16.ld+1.row.b2.alpha=2.5.beta=-1.dense.s1/naive/"
        "default/ws=16x8/r100/fault=bitx3x0x0";
    struct rng rng = {32};
    int accepted = 0;

    for (int n = 0; n < 30000; n++) {
        struct gp_plan plan = {0}, again = {0};
        struct gp_err err = {0};
        char id[sizeof seed];
        memcpy(id, seed, sizeof id);
        for (int64_t changes = rng_to(&rng, 2); changes >= 0; changes--)
            id[rng_to(&rng, sizeof seed - 2)] =
                rng_to(&rng, 4) ? letters[rng_to(&rng, sizeof letters - 2)]
                                : (char)rng_between(&rng, 1, 255);
        if (gp_run_parse(id, &plan, &err) != 0) {
            cr_assert(*err.text && plan.runs_count == 0, "%s", id);
        } else {
            const char *canonical = plan.runs[0].id;
            accepted++;
            cr_assert_eq(strspn(canonical, letters), strlen(canonical));
            cr_assert_str_eq(plan_run(&again, canonical)->id, canonical);
        }
        gp_plan_free(&plan);
        gp_plan_free(&again);
    }
    cr_assert_gt(accepted, 1000);
}
