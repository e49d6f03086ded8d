/*
 * Options of a command by a table: parsing, help, and later completion read
 * the same rows.
 */
#ifndef GP_BASE_OPT_H
#define GP_BASE_OPT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/buf.h"

enum gp_opt_kind {
    GP_OPT_FLAG,  /* bool: --as-is */
    GP_OPT_TEXT,  /* const char *: --out DIR; the last one counts */
    GP_OPT_WHOLE, /* int64_t from 1: --repeats N */
    GP_OPT_REAL,  /* double above 0: --max-flops 2e8 */
    GP_OPT_LIST   /* struct gp_opt_list: --mode M, again, or M,N */
};

/* Words of a repeatable option, ended by NULL; NULL if it was not given. */
struct gp_opt_list {
    const char **words;
    size_t count, room;
};

struct gp_opt {
    const char *name;  /* "--mode" */
    const char *value; /* "MODE" for the help; NULL for a flag */
    enum gp_opt_kind kind;
    void *to;
    const char *help;
};

/* Parse argv[0..argc). What is not an option is collected in `ret_rest`.
 * "--" ends the options, --name=value is --name value. USAGE with the nearest
 * option's name for what is not known. Strings are borrowed from argv or
 * belong to the arena; free the lists with gp_opt_list_free. */
int gp_opt_parse(const struct gp_opt *options, int argc, char **argv,
                 struct gp_arena *arena, struct gp_opt_list *ret_rest,
                 struct gp_err *err) GP_MUST_CHECK;

void gp_opt_list_free(struct gp_opt_list *list);

/* The help of a table, one option a line. */
void gp_opt_help(const struct gp_opt *options, struct gp_buf *buf);

#endif
