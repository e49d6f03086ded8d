#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/cli/cli.h"

/* Distinct shapes (op, m, n, k, ld, layout) of the plan. */
static size_t distinct_shapes(const struct gp_plan *plan)
{
    json_t *seen = gp_json_object();
    size_t count;

    for (size_t i = 0; i < plan->problems_count; i++) {
        const struct gp_gemm *gemm = &plan->problems[i]->gemm;
        char key[200];
        snprintf(key, sizeof key, "%d%d %lld %lld %lld %lld %lld %lld %d",
                 gemm->trans_a, gemm->trans_b, (long long)gemm->m,
                 (long long)gemm->n, (long long)gemm->k, (long long)gemm->lda,
                 (long long)gemm->ldb, (long long)gemm->ldc, gemm->row_major);
        gp_json_set_bool(seen, key, true);
    }
    count = json_object_size(seen);
    json_decref(seen);
    return count;
}

static void print_plan(const struct gp_session *session)
{
    const struct gp_plan *plan = &session->plan;
    const struct gp_engine engine = {.plan = plan,
                                     .max_flops = session->max_flops};
    size_t left_out = 0;
    double flops = 0;

    for (size_t i = 0; i < plan->runs_count; i++) {
        printf("%s\n", plan->runs[i].id);
        flops += gp_gemm_flops(&plan->runs[i].problem->gemm) *
                 (double)plan->runs[i].repeats;
    }
    for (size_t i = 0; i < plan->runs_count; i++)
        left_out += gp_engine_left_out(&engine, &plan->runs[i]);
    if (left_out)
        fprintf(stderr,
                "gemmproof: %zu runs are over --max-flops for their CPU "
                "workers and will be skipped\n",
                left_out);
    fprintf(stderr,
            "gemmproof: %zu runs of %zu problems, %zu distinct (op, m, n, k, "
            "ld, layout), %.3g floating-point operations; %lld combinations "
            "of type, mode, entry and family not applicable\n",
            plan->runs_count, plan->problems_count, distinct_shapes(plan),
            flops, (long long)plan->not_applicable);
}

static int carry_out(struct gp_session *session, const struct gp_cli *cli)
{
    (void)cli;
    print_plan(session);
    return GP_GREEN;
}

int gp_cmd_plan(const struct gp_cli *cli, int argc, char **argv)
{
    return gp_session_command(cli, "plan", argc, argv, gp_session_plan,
                              carry_out);
}
