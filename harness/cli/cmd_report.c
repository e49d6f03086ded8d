#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/word.h"
#include "harness/cli/cli.h"
#include "reports/writer.h"

const char *gp_cli_journal(const char *place, struct gp_arena *arena)
{
    struct stat info;

    if (stat(place, &info) == 0 && S_ISDIR(info.st_mode))
        return gp_arena_printf(arena, "%s/results.jsonl", place);
    return place;
}

static int find_writer(const char *name, const struct gp_writer **ret_writer,
                       struct gp_err *err)
{
    const char *names[32];
    size_t count = 0;

    *ret_writer = gp_writer_find(name);
    if (*ret_writer)
        return 0;
    for (const struct gp_writer *writer = gp_writers; writer->name; writer++)
        names[count++] = writer->name;
    names[count] = NULL;
    return gp_err_set(err, GP_ERR_USAGE,
                      "no format '%.40s': did you mean '%s'?", name,
                      gp_word_nearest(name, names));
}

/* Print one format, or write all files beside the journal or into --out. */
static int report(const char *place, const char *format, const char *out,
                  struct gp_arena *arena, struct gp_err *err)
{
    struct gp_summary summary = {0};
    const struct gp_writer *only = NULL;
    int status = 0;

    if (format && out)
        return gp_err_set(err, GP_ERR_USAGE,
                          "--out writes every format: leave --format out");
    if (out && mkdir(out, 0777) != 0 && errno != EEXIST)
        return gp_err_set(err, GP_ERR_USAGE,
                          "%s: cannot be made (%s): choose another folder with "
                          "--out",
                          out, strerror(errno));
    if ((format && find_writer(format, &only, err) != 0) ||
        gp_summary_read(gp_cli_journal(place, arena), &summary, err) != 0)
        return -1;
    for (const struct gp_writer *writer = gp_writers; writer->name && !status;
         writer++) {
        struct gp_buf buf = {0};
        bool shown = only ? writer == only : !out && !writer->file;
        if (!shown && !(out && writer->file && !only))
            continue;
        writer->write(&summary, &buf);
        if (shown)
            fputs(gp_buf_text(&buf), stdout);
        else
            status = gp_buf_save(
                &buf, gp_arena_printf(arena, "%s/%s", out, writer->file), err);
        gp_buf_free(&buf);
    }
    gp_summary_free(&summary);
    return status;
}

int gp_cmd_report(const struct gp_cli *cli, int argc, char **argv)
{
    const char *format = NULL, *out = NULL;
    bool help = false;
    const struct gp_opt options[] = {
        {"--format", "FORMAT", GP_OPT_TEXT, &format,
         "text (the default), markdown, json, junit; on standard output"},
        {"--out", "DIR", GP_OPT_TEXT, &out,
         "write the files of all formats into this folder"},
        {"--help", NULL, GP_OPT_FLAG, &help, "this text"},
        {NULL, NULL, GP_OPT_FLAG, NULL, NULL},
    };
    struct gp_opt_list rest = {0};
    struct gp_arena arena = {0};
    struct gp_err err;
    int status = GP_GREEN;

    (void)cli;
    if (gp_opt_parse(options, argc, argv, &arena, &rest, &err) != 0)
        status = gp_cli_usage(&err);
    else if (help)
        status = gp_cli_help("report", options);
    else if (rest.count != 1) {
        gp_err_set(&err, GP_ERR_USAGE,
                   "report takes the folder of a run, or its results.jsonl");
        status = gp_cli_usage(&err);
    } else if (report(rest.words[0], format, out, &arena, &err) != 0)
        status = gp_cli_usage(&err);
    gp_opt_list_free(&rest);
    gp_arena_free(&arena);
    return status;
}
