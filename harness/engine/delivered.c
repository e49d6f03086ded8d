#include "harness/engine/delivered.h"

#include <string.h>

/* All that a library may choose by, but for the schedule and the values. */
static void key_of(const struct gp_run *run, struct gp_buf *key)
{
    const struct gp_gemm *gemm = &run->problem->gemm;

    gp_buf_printf(key, "%s %s %s %s %s %s %s", run->backend, gemm->in->name,
                  gemm->out->name, run->entry, run->mode->name, run->workspace,
                  run->env);
    gp_buf_printf(key, " %lld %lld %lld %lld", (long long)gemm->m,
                  (long long)gemm->n, (long long)gemm->k,
                  (long long)gemm->batch);
    gp_buf_printf(key, " %d%d%d %lld %lld %lld %a %a", gemm->trans_a,
                  gemm->trans_b, gemm->row_major, (long long)gemm->lda,
                  (long long)gemm->ldb, (long long)gemm->ldc, gemm->alpha,
                  gemm->beta);
}

void gp_delivered_open(struct gp_delivered *delivered)
{
    delivered->words = gp_json_object();
}

void gp_delivered_close(struct gp_delivered *delivered)
{
    json_decref(delivered->words);
}

void gp_delivered_keep(struct gp_delivered *delivered,
                       const struct gp_result *result)
{
    struct gp_buf key = {0};
    const char *known;

    if (result->run->fault.kind != GP_FAULT_NONE)
        return;
    key_of(result->run, &key);
    for (int i = 0; i < result->findings_count; i++) {
        const char *word = result->findings[i].delivered;
        if (!*word)
            continue;
        known = gp_json_str_or(delivered->words, gp_buf_text(&key), word);
        gp_json_set_str(delivered->words, gp_buf_text(&key),
                        strcmp(known, word) == 0 ? word : "");
    }
    gp_buf_free(&key);
}

const char *gp_delivered_find_word(const struct gp_delivered *delivered,
                                   const struct gp_run *run)
{
    struct gp_buf key = {0};
    const char *word;

    key_of(run, &key);
    word = gp_json_str_or(delivered->words, gp_buf_text(&key), "");
    gp_buf_free(&key);
    return *word ? word : NULL;
}
