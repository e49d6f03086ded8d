/*
 * A child process that answers lines: started with an environment of its own,
 * asked on its standard input, read with a deadline, never left behind (it is
 * killed when this program dies, however it dies).
 */
#ifndef GP_BASE_PROC_H
#define GP_BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/buf.h"

struct gp_proc {
    pid_t pid; /* 0: none */
    int to, from;
    struct gp_buf pending; /* read and not yet handed out */
};

struct gp_proc_start {
    const char *path;
    const char *argument;           /* one word for it; NULL: none */
    const char *const *environment; /* NAME=VALUE, ended by NULL */
    const int *inherit;             /* descriptors that stay open in it */
    int inherit_count;
    int chatter; /* where its standard error goes */
};

int gp_proc_start(struct gp_proc *proc, const struct gp_proc_start *start,
                  struct gp_err *err) GP_MUST_CHECK;

/* Send one line (the newline is in `text`). A CRASH if it is gone. */
int gp_proc_send(struct gp_proc *proc, const char *text, size_t len,
                 struct gp_err *err) GP_MUST_CHECK;

/* Has it said anything that nobody has read? */
bool gp_proc_spoke(const struct gp_proc *proc);

/* Read one line, without its newline, into `line` (emptied first), within
 * `timeout_ms`. TIMEOUT if it is late, CRASH if it ended, BACKEND if the line
 * is longer than `most`. */
int gp_proc_receive(struct gp_proc *proc, struct gp_buf *line,
                    int64_t timeout_ms, size_t most,
                    struct gp_err *err) GP_MUST_CHECK;

/* End it: close its input, wait up to `grace_ms`, then kill its process
 * group. */
void gp_proc_stop(struct gp_proc *proc, int grace_ms);

/* Milliseconds of a clock that never goes back. */
int64_t gp_clock_ms(void);

#endif
