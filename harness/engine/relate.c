#include "harness/engine/relate.h"

#include <stdlib.h>

struct relating {
    struct gp_journal *journal;
    struct gp_required *required;
    struct gp_counts *counts;
    const struct gp_result *results;
    size_t count;
};

int gp_relate_members(struct gp_journal *journal, struct gp_required *required,
                      struct gp_counts *counts,
                      const struct gp_relation *relation,
                      struct gp_member *members, size_t count,
                      struct gp_err *err)
{
    struct gp_finding finding = {.check = relation->name,
                                 .where = {-1, -1, -1, -1},
                                 .evidence = "proved"};

    relation->judge(members, count, &finding);
    if (finding.flags & GP_OBSERVED &&
        gp_judge_required(members[0].run, relation->name))
        finding.verdict = GP_FAIL;
    gp_required_judged(required, members[0].run, relation->name);
    gp_counts_relation(counts, finding.verdict, finding.flags);
    gp_counts_judgement(counts, relation->name);
    return gp_journal_relation(journal, &finding, members, count, err);
}

static int relate(const struct relating *all,
                  const struct gp_relation *relation, struct gp_err *err)
{
    const struct gp_result *results = all->results;
    size_t count = all->count;
    struct gp_member *members = calloc(count, sizeof *members);
    bool *taken = calloc(count, sizeof *taken);
    int status = 0;

    if (!members || !taken)
        gp_arena_out_of_memory(count * sizeof *members);
    for (size_t i = 0; i < count && status == 0; i++) {
        size_t found = 0;
        if (!results[i].judged || taken[i])
            continue;
        for (size_t j = i; j < count; j++) {
            if (!results[j].judged ||
                (j > i && !relation->related(results[i].run, results[j].run)))
                continue;
            taken[j] = true;
            members[found++] = (struct gp_member){
                .run = results[j].run,
                .digests = results[j].reply.digests,
                .variants = (int64_t)results[j].reply.digests_count};
        }
        if (found > 1)
            status = gp_relate_members(all->journal, all->required, all->counts,
                                       relation, members, found, err);
    }
    free(members);
    free(taken);
    return status;
}

int gp_relate(struct gp_journal *journal, struct gp_required *required,
              struct gp_counts *counts, const struct gp_result *results,
              size_t count, struct gp_err *err)
{
    const struct relating all = {journal, required, counts, results, count};
    int status = 0;

    for (const struct gp_relation *const *relation = gp_relations;
         *relation && status == 0; relation++)
        if ((*relation)->related &&
            (*relation)->applies(results->run->problem->family))
            status = relate(&all, *relation, err);
    return status;
}
