/* Run a plan: folder, journal, workers, progress, reports. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/cli/cli.h"
#include "harness/engine/prefetch.h"
#include "reports/writer.h"

struct progress {
    int64_t started_ms, said_ms;
    int64_t done;
    bool terminal;
};

static void say_progress(void *ctx, const struct gp_result *result,
                         const struct gp_counts *counts)
{
    struct progress *progress = ctx;
    int64_t now = gp_clock_ms();
    double spent = (double)(now - progress->started_ms) / 1000, left;
    bool last = ++progress->done == counts->planned;

    if (!last && now - progress->said_ms < (progress->terminal ? 200 : 10000))
        return;
    progress->said_ms = now;
    left = spent / (double)progress->done *
           (double)(counts->planned - progress->done);
    fprintf(stderr, "%s%lld of %lld runs, %lld fail, %lld error, %.0f s left%s",
            progress->terminal ? "\r\033[K" : "gemmproof: ",
            (long long)progress->done, (long long)counts->planned,
            (long long)counts->fail, (long long)counts->error, left,
            progress->terminal && !last ? "" : "\n");
    (void)result;
}

/* out/SUITE-TIME, with a number behind it if that is taken. */
static const char *default_folder(struct gp_session *session)
{
    char stamp[40];
    time_t now = time(NULL);
    struct tm utc;
    const char *folder;

    gmtime_r(&now, &utc);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
    folder = gp_arena_printf(&session->arena, "out/%.100s-%s",
                             session->plan.suite, stamp);
    for (int again = 2; access(folder, F_OK) == 0; again++)
        folder = gp_arena_printf(&session->arena, "out/%.100s-%s-%d",
                                 session->plan.suite, stamp, again);
    return folder;
}

static int write_reports(const char *folder, const char *journal, bool quiet,
                         struct gp_err *err)
{
    struct gp_summary summary = {0};
    int status;

    if (gp_summary_read(journal, &summary, err) != 0)
        return -1;
    status = 0;
    for (const struct gp_writer *writer = gp_writers; writer->name && !status;
         writer++) {
        struct gp_buf buf = {0}, path = {0};
        writer->write(&summary, &buf);
        gp_buf_printf(&path, "%s/%s", folder, writer->file ? writer->file : "");
        if (writer->file)
            status = gp_buf_save(&buf, gp_buf_text(&path), err);
        else if (!quiet)
            fputs(gp_buf_text(&buf), stdout);
        gp_buf_free(&buf);
        gp_buf_free(&path);
    }
    gp_summary_free(&summary);
    return status;
}

static int open_chatter(const char *folder)
{
    char path[1100];

    snprintf(path, sizeof path, "%.1000s/workers.log", folder);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static struct gp_pool_options pool_options(struct gp_session *session,
                                           int chatter)
{
    int64_t start = session->start_timeout ? session->start_timeout : 120;
    int64_t execute = session->execute_timeout ? session->execute_timeout : 60;

    return (struct gp_pool_options){
        .worker_dir = gp_cli_worker_folder(&session->arena),
        .library = session->cublas,
        .as_is = session->as_is,
        .chatter = chatter,
        .start_ms = start * 1000,
        .execute_ms = execute * 1000,
    };
}

/* Read the list of known faults: the one that was named or stands beside the
 * case file, else the one that was installed with the program. */
static int load_known(struct gp_session *session, struct gp_err *err)
{
    struct gp_known *known = &session->known;
    const struct gp_known_entry *first = NULL;
    const char *path = session->known_path;
    size_t unmatched;

    if (session->no_known)
        return 0;
    if (!path) {
        path = gp_arena_printf(&session->arena,
                               "%s/../share/gemmproof/cases/known.yaml",
                               gp_cli_worker_folder(&session->arena));
        if (access(path, F_OK) != 0)
            return 0;
    }
    if (gp_known_load(path, known, err) != 0)
        return -1;
    unmatched = gp_known_unmatched(known, &session->plan, &first);
    if (unmatched && session->known_named && !session->quiet)
        fprintf(stderr,
                "gemmproof: note: %zu of %zu known faults match no run of this "
                "plan, the first in %s:%d: %s\n",
                unmatched, known->count, known->path, first->line, first->runs);
    return 0;
}

/* The plan through the engine into an open journal. */
static int run_plan(struct gp_session *session, const struct gp_cli *cli,
                    struct gp_journal *journal, int chatter, int *ret_status,
                    struct gp_err *err)
{
    const struct gp_journal_head head = {
        .version = cli->version,
        .commit = cli->commit,
        .argc = cli->argc,
        .argv = cli->argv,
        .suite = &session->suite,
        .nvidia_device = session->nvidia_device,
        .known = session->known.path ? session->known.path : "",
    };
    struct progress progress = {.started_ms = gp_clock_ms(),
                                .terminal = isatty(STDERR_FILENO)};
    struct gp_pool_options options = pool_options(session, chatter);
    struct gp_counts counts = {0};
    struct gp_pool pool;
    struct gp_engine engine = {
        .plan = &session->plan,
        .pool = &pool,
        .journal = journal,
        .known = &session->known,
        .dump = session->dump ? &session->dumped : NULL,
        .max_flops = session->max_flops,
        .progress = session->quiet ? NULL : say_progress,
        .progress_ctx = &progress,
    };
    bool untested = false;
    int status;

    progress.said_ms = progress.started_ms;
    if (session->threads)
        gp_reference_set_threads((int)session->threads);
    else
        gp_prefetch_threads(session->plan.problems_count);
    if (gp_pool_open(&pool, &options, err) != 0)
        return -1;
    status = gp_journal_begin(journal, &head, &session->plan, err);
    if (status == 0)
        status = gp_engine_run(&engine, &counts, &untested, err);
    gp_pool_close(&pool);
    *ret_status = gp_counts_exit(&counts, untested);
    if (status == 0)
        status = gp_journal_end(
            journal, &counts, *ret_status,
            (double)(gp_clock_ms() - progress.started_ms) / 1000, err);
    return status;
}

enum { DUMP_MOST = 8 };

static int open_dump(struct gp_session *session, struct gp_err *err)
{
    int64_t most = session->dump_most ? session->dump_most : DUMP_MOST;

    return session->dump
               ? gp_dump_open(&session->dumped, session->dump, most, err)
               : 0;
}

/* What could not be written is told; the journal has the run all the same. */
static void say_dump(const struct gp_session *session)
{
    const struct gp_dump *dump = &session->dumped;

    if (!session->dump)
        return;
    if (dump->failed)
        fprintf(stderr,
                "gemmproof: %lld of %lld dumps could not be written, the "
                "first: %s\n",
                (long long)dump->failed, (long long)dump->written,
                dump->err.text);
    if (!session->quiet)
        fprintf(stderr,
                "gemmproof: the matrices of %lld of %lld failing runs "
                "are in %s%s\n",
                (long long)(dump->written - dump->failed),
                (long long)(dump->written + dump->left_out), dump->folder,
                dump->left_out ? " (--dump-most)" : "");
}

int gp_session_run(struct gp_session *session, const struct gp_cli *cli,
                   const char **ret_folder)
{
    const char *folder = session->out ? session->out : default_folder(session);
    struct gp_journal journal;
    struct gp_err err;
    int status = GP_UNTESTED, chatter, failed;

    if (load_known(session, &err) != 0 || open_dump(session, &err) != 0 ||
        gp_journal_create(&journal, folder, &err) != 0)
        return gp_cli_usage(&err);
    journal.redact = session->redact;
    if (ret_folder)
        *ret_folder = folder;
    /* What workers say may name the machine. */
    chatter = session->redact ? open("/dev/null", O_WRONLY | O_CLOEXEC)
                              : open_chatter(folder);
    failed = run_plan(session, cli, &journal,
                      chatter >= 0 ? chatter : STDERR_FILENO, &status, &err);
    gp_journal_close(&journal);
    say_dump(session);
    if (chatter >= 0)
        close(chatter);
    if (failed == 0 && !session->no_reports)
        failed = write_reports(folder, journal.path, session->quiet, &err);
    if (failed != 0) {
        gp_cli_usage(&err);
        return status == GP_FAILED ? GP_FAILED : GP_UNTESTED;
    }
    fflush(stdout); /* both may go to one file */
    if (!session->quiet)
        fprintf(stderr, "gemmproof: %s in %s\n",
                session->no_reports ? "the journal is"
                                    : "journal and reports are",
                folder);
    return status;
}
