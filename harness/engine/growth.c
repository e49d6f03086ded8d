#include "harness/engine/growth.h"

#include <stdlib.h>
#include <string.h>

struct gp_growing_group {
    struct gp_growth *points;
    struct gp_member *members;
    size_t count, points_room, members_room;
};

void gp_growing_open(struct gp_growing *growing)
{
    *growing = (struct gp_growing){.places = gp_json_object()};
}

void gp_growing_close(struct gp_growing *growing)
{
    for (size_t i = 0; i < growing->count; i++) {
        free(growing->groups[i].points);
        free(growing->groups[i].members);
    }
    free(growing->groups);
    json_decref(growing->places);
}

static void key_of(const struct gp_run *run, struct gp_buf *key)
{
    const struct gp_gemm *gemm = &run->problem->gemm;

    gp_buf_printf(key, "%s\n%s %s %s %s %s %s %lld\n", run->from->name,
                  run->backend, run->entry, run->mode->name, run->workspace,
                  run->env, run->schedule->name,
                  (long long)run->schedule_number);
    gp_buf_printf(key, "%s %s %s %d%d%d %lld %a %a", run->problem->family->name,
                  gemm->in->name, gemm->out->name, gemm->trans_a, gemm->trans_b,
                  gemm->row_major, (long long)gemm->batch, gemm->alpha,
                  gemm->beta);
}

static struct gp_growing_group *group_of(struct gp_growing *growing,
                                         const struct gp_run *run)
{
    struct gp_growing_group *group;
    struct gp_buf key = {0};
    int64_t place;

    key_of(run, &key);
    place = gp_json_int_or(growing->places, gp_buf_text(&key), -1);
    if (place < 0) {
        group = gp_grow((void **)&growing->groups, growing->count,
                        &growing->room, sizeof *group);
        *group = (struct gp_growing_group){0};
        gp_json_set_int(growing->places, gp_buf_text(&key),
                        (int64_t)growing->count++);
    } else {
        group = &growing->groups[place];
    }
    gp_buf_free(&key);
    return group;
}

void gp_growing_keep(struct gp_growing *growing, const struct gp_result *result)
{
    const struct gp_run *run = result->run;
    double rms = result->accuracy.deviation.rms;
    struct gp_growing_group *group;

    if (!run->from || run->fault.kind != GP_FAULT_NONE || !(rms > 0))
        return;
    for (int i = 0; i < result->findings_count; i++) {
        const struct gp_finding *finding = &result->findings[i];
        if (!*finding->law || !(finding->one_sum > 0))
            continue;
        group = group_of(growing, run);
        *(struct gp_growth *)gp_grow((void **)&group->points, group->count,
                                     &group->points_room,
                                     sizeof *group->points) =
            (struct gp_growth){run->problem->gemm.k, rms, finding->one_sum,
                               finding->uncertain};
        *(struct gp_member *)gp_grow((void **)&group->members, group->count,
                                     &group->members_room,
                                     sizeof *group->members) =
            (struct gp_member){.run = run, .group = -1};
        group->count++;
    }
}

int gp_growing_end(struct gp_growing *growing, struct gp_journal *journal,
                   struct gp_required *required, struct gp_counts *counts,
                   double false_alarm, struct gp_err *err)
{
    int status = 0;

    for (size_t i = 0; i < growing->count && status == 0; i++) {
        const struct gp_growing_group *group = &growing->groups[i];
        const struct gp_run *run = group->members[0].run;
        struct gp_finding finding = {.check = gp_relation_growth.name,
                                     .where = {-1, -1, -1, -1}};
        if (!gp_growth_judge(group->points, group->count, false_alarm,
                             &finding))
            continue;
        if (finding.flags & GP_OBSERVED &&
            gp_judge_required(run, finding.check))
            finding.verdict = GP_FAIL;
        gp_required_judged(required, run, finding.check);
        gp_counts_relation(counts, finding.verdict, finding.flags);
        gp_counts_judgement(counts, finding.check);
        counts->alarms_expected += finding.false_alarm;
        status = gp_journal_relation(journal, &finding, group->members,
                                     group->count, err);
    }
    return status;
}
