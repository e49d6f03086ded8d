#include "harness/engine/trials.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "harness/base/proc.h"
#include "reference/trial.h"

/* Every name that OpenBLAS 0.3 gives a kernel it may choose from at run time
 * (driver/others/dynamic*.c). One that a library does not know, or that the
 * CPU cannot run, is answered with another. */
static const char *const names[] = {"Katmai",
                                    "Coppermine",
                                    "Northwood",
                                    "Prescott",
                                    "Banias",
                                    "Atom",
                                    "Core2",
                                    "Penryn",
                                    "Dunnington",
                                    "Nehalem",
                                    "Athlon",
                                    "Opteron",
                                    "Opteron_SSE3",
                                    "Barcelona",
                                    "Nano",
                                    "Sandybridge",
                                    "Bobcat",
                                    "Bulldozer",
                                    "Piledriver",
                                    "Steamroller",
                                    "Excavator",
                                    "Haswell",
                                    "Zen",
                                    "SkylakeX",
                                    "Cooperlake",
                                    "SapphireRapids",
                                    "armv8",
                                    "armv8sve",
                                    "cortexa53",
                                    "cortexa55",
                                    "cortexa57",
                                    "cortexa72",
                                    "cortexa73",
                                    "falkor",
                                    "thunderx",
                                    "thunderx2t99",
                                    "thunderx3t110",
                                    "tsv110",
                                    "emag8180",
                                    "neoversen1",
                                    "neoversev1",
                                    "neoversen2",
                                    "a64fx",
                                    "POWER6",
                                    "POWER8",
                                    "POWER9",
                                    "POWER10",
                                    "Z13",
                                    "Z14",
                                    "LA464",
                                    "LASX",
                                    "LSX",
                                    NULL};

/* --- In the child -----------------------------------------------------------
 */

static json_t *group_of(const struct gp_trial *trial, int which)
{
    const struct gp_trial_wrong *wrong = &trial->groups[which].smallest;
    json_t *group = gp_json_object();
    char text[120];

    gp_json_set_str(group, "name", gp_trial_group_names[which]);
    gp_json_set_int(group, "checks", trial->groups[which].checks);
    gp_json_set_int(group, "wrong", trial->groups[which].wrong);
    if (trial->groups[which].wrong == 0)
        return group;
    gp_trial_describe(&wrong->product, text);
    gp_json_set_str(group, "product", text);
    snprintf(text, sizeof text, "(%lld, %lld)", (long long)wrong->i,
             (long long)wrong->j);
    gp_json_set_str(group, "where", text);
    snprintf(text, sizeof text, "%a", wrong->got);
    gp_json_set_str(group, "got", text);
    snprintf(text, sizeof text, "%a", wrong->expected);
    gp_json_set_str(group, "expected", text);
    return group;
}

int gp_trials_child(void)
{
    const char *asked = getenv("OPENBLAS_CORETYPE");
    json_t *record = gp_json_object(), *groups;
    struct gp_trial trial = {.threads = 0};
    struct gp_buf line = {0};
    struct gp_err err;
    int status = 0;

    gp_trial_name(&trial);
    if (!asked || strcasecmp(asked, trial.kernel) == 0) {
        status = gp_trial_run(&trial, &err);
        groups = gp_json_array();
        for (int i = 0; status == 0 && i < GP_TRIAL_GROUPS; i++)
            gp_json_append(groups, group_of(&trial, i));
        gp_json_set(record, "groups", groups);
    }
    gp_json_set_str(record, "kernel", trial.kernel);
    gp_json_set_int(record, "threads", trial.threads);
    if (status == 0) {
        gp_json_print(&line, record);
        puts(gp_buf_text(&line));
        status = fflush(stdout);
    }
    gp_buf_free(&line);
    json_decref(record);
    return status;
}

/* --- Here --------------------------------------------------------------------
 */

/* Built, not inherited: which library is loaded, and what is asked of it. */
static const char *const *environment(struct gp_arena *arena, const char *asked,
                                      int threads)
{
    static const char *const kept[] = {"LD_LIBRARY_PATH", "LD_PRELOAD",
                                       "OPENBLAS_L2_SIZE"};
    const char **made = gp_arena_array(arena, 6, sizeof *made);
    size_t count = 0;

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (getenv(kept[i]))
            made[count++] =
                gp_arena_printf(arena, "%s=%s", kept[i], getenv(kept[i]));
    if (*asked)
        made[count++] = gp_arena_printf(arena, "OPENBLAS_CORETYPE=%s", asked);
    made[count++] = gp_arena_printf(arena, "OPENBLAS_NUM_THREADS=%d", threads);
    made[count] = NULL;
    return made;
}

static int ask(const struct gp_trials *trials, const char *asked, int threads,
               json_t **ret_record, struct gp_err *err)
{
    struct gp_arena arena = {0};
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const struct gp_proc_start start = {.path = trials->program,
                                        .argument = GP_TRIALS_WORD,
                                        .environment =
                                            environment(&arena, asked, threads),
                                        .chatter = nowhere};
    struct gp_proc proc = {0};
    struct gp_buf line = {0};
    int status = gp_proc_start(&proc, &start, err);

    if (status == 0) {
        status =
            gp_proc_receive(&proc, &line, trials->timeout_ms, 1 << 20, err);
        gp_proc_stop(&proc, 1000);
    }
    if (status == 0) {
        *ret_record = gp_json_parse(gp_buf_text(&line), line.len, err);
        status = *ret_record ? 0 : -1;
    }
    gp_buf_free(&line);
    gp_arena_free(&arena);
    if (nowhere >= 0)
        close(nowhere);
    return status;
}

/* The record of one trial, whatever became of it. */
static json_t *record_of(const struct gp_trials *trials, const char *asked,
                         int threads)
{
    json_t *record = NULL;
    struct gp_err err;

    if (ask(trials, asked, threads, &record, &err) != 0) {
        record = gp_json_object();
        gp_json_set_str(record, "kernel", asked);
        gp_json_set_int(record, "threads", threads);
        gp_json_set_str(record, "crash", err.text);
    }
    gp_json_set_str(record, "asked", asked);
    return record;
}

/* One kernel. A name that the library answers with another kernel is no
 * kernel of its own, and nothing is said of it. */
static void one_kernel(const struct gp_trials *trials,
                       const struct gp_doctor *doctor, const char *asked,
                       bool in_use)
{
    int threads = 1;

    while (threads > 0) {
        json_t *record = record_of(trials, asked, threads);
        bool crash = json_object_get(record, "crash") != NULL;
        bool told = crash || json_object_get(record, "groups");
        if (told)
            gp_trials_tell(doctor, record, in_use);
        else if (in_use)
            gp_doctor_say(doctor, GP_DOCTOR_UNUSABLE, "kernel",
                          "%s (in use): cannot be selected by this name, so "
                          "it was not tried",
                          asked);
        json_decref(record);
        if (!told || crash || threads >= trials->threads)
            return;
        threads = in_use && 2 * threads < trials->threads ? 2 * threads
                                                          : trials->threads;
    }
}

void gp_trials_run(const struct gp_trials *trials,
                   const struct gp_doctor *doctor)
{
    one_kernel(trials, doctor, trials->kernel, true);
    for (const char *const *name = names; *name; name++)
        if (strcasecmp(*name, trials->kernel) != 0)
            one_kernel(trials, doctor, *name, false);
}

static void tell_crash(const struct gp_doctor *doctor, const json_t *record,
                       const char *who, bool in_use)
{
    const char *crash = gp_json_str_or(record, "crash", "");

    if (!in_use && strstr(crash, "signal 4 "))
        gp_doctor_say(doctor, GP_DOCTOR_OK, "kernel",
                      "%s: this CPU does not have its instructions",
                      gp_json_str_or(record, "kernel", "?"));
    else
        gp_doctor_say(doctor, in_use ? GP_DOCTOR_WRONG : GP_DOCTOR_WARNING,
                      "kernel", "%s: %s", who, crash);
}

void gp_trials_tell(const struct gp_doctor *doctor, const json_t *record,
                    bool in_use)
{
    const json_t *groups = json_object_get(record, "groups");
    int64_t threads = gp_json_int_or(record, "threads", 0), checks = 0,
            wrong = 0;
    char who[64];

    snprintf(who, sizeof who, "%s%s, %lld thread%s",
             gp_json_str_or(record, "kernel", "?"), in_use ? " (in use)" : "",
             (long long)threads, threads == 1 ? "" : "s");
    if (json_object_get(record, "crash")) {
        tell_crash(doctor, record, who, in_use);
        return;
    }
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        checks += gp_json_int_or(group, "checks", 0);
        wrong += gp_json_int_or(group, "wrong", 0);
    }
    if (checks == 0)
        gp_doctor_say(doctor, GP_DOCTOR_UNUSABLE, "kernel",
                      "%s: it multiplied nothing", who);
    else if (wrong == 0)
        gp_doctor_say(doctor, GP_DOCTOR_OK, "kernel",
                      "%s: %lld products, all bits right", who,
                      (long long)checks);
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        const char *name = gp_json_str_or(group, "name", "?");
        bool relied = strcmp(name, gp_trial_group_names[0]) == 0;
        wrong = gp_json_int_or(group, "wrong", 0);
        if (wrong > 0)
            gp_doctor_say(
                doctor, in_use && relied ? GP_DOCTOR_WRONG : GP_DOCTOR_WARNING,
                "kernel",
                "%s: %s, %lld of %lld wrong; the smallest: %s, "
                "element %s is %s and should be %s",
                who, name, (long long)wrong,
                (long long)gp_json_int_or(group, "checks", 0),
                gp_json_str_or(group, "product", "?"),
                gp_json_str_or(group, "where", "?"),
                gp_json_str_or(group, "got", "?"),
                gp_json_str_or(group, "expected", "?"));
    }
}
