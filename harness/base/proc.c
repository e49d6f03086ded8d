#define _GNU_SOURCE
#include "harness/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int64_t gp_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In the child: only async-signal-safe calls. */
static _Noreturn void become(const struct gp_proc_start *start, int in, int out,
                             pid_t parent)
{
    char *argv[] = {(char *)start->path, (char *)start->argument, NULL};

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(start->chatter, STDERR_FILENO) < 0)
        _exit(126);
    for (int i = 0; i < start->inherit_count; i++)
        fcntl(start->inherit[i], F_SETFD, 0);
    execve(start->path, argv, (char **)start->environment);
    _exit(127);
}

int gp_proc_start(struct gp_proc *proc, const struct gp_proc_start *start,
                  struct gp_err *err)
{
    int in[2], out[2];
    pid_t parent = getpid();

    if (access(start->path, X_OK) != 0)
        return gp_err_set(err, GP_ERR_BACKEND,
                          "there is no worker %s (%s): build it, or choose "
                          "another backend",
                          start->path, strerror(errno));
    if (pipe2(in, O_CLOEXEC) != 0)
        return gp_err_set(err, GP_ERR_SYSTEM, "no pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return gp_err_set(err, GP_ERR_SYSTEM, "no pipe: %s", strerror(errno));
    }
    *proc = (struct gp_proc){.to = in[1], .from = out[0]};
    signal(SIGPIPE, SIG_IGN);
    /* vfork and not fork: a thread may be inside the host library, whose
     * fork handlers wait for it. The child only makes system calls. */
    proc->pid = vfork();
    if (proc->pid == 0)
        become(start, in[0], out[1], parent);
    close(in[0]);
    close(out[1]);
    if (proc->pid < 0) {
        proc->pid = 0;
        close(proc->to);
        close(proc->from);
        return gp_err_set(err, GP_ERR_SYSTEM, "no process for %s: %s",
                          start->path, strerror(errno));
    }
    return 0;
}

/* Why it ended, as the end of a sentence. It is reaped. */
static int ended(struct gp_proc *proc, struct gp_err *err)
{
    int status = 0;

    for (int tries = 0; tries < 200; tries++) {
        pid_t got = waitpid(proc->pid, &status, WNOHANG);
        if (got == proc->pid)
            break;
        if (got < 0 || tries == 199) {
            kill(-proc->pid, SIGKILL);
            waitpid(proc->pid, &status, 0);
            break;
        }
        usleep(10000);
    }
    proc->pid = 0;
    close(proc->to);
    close(proc->from);
    gp_buf_free(&proc->pending);
    if (WIFSIGNALED(status))
        return gp_err_set(err, GP_ERR_CRASH,
                          "the worker was ended by signal %d (%s)",
                          WTERMSIG(status), strsignal(WTERMSIG(status)));
    return gp_err_set(err, GP_ERR_CRASH,
                      "the worker ended with status %d without an answer",
                      WEXITSTATUS(status));
}

int gp_proc_send(struct gp_proc *proc, const char *text, size_t len,
                 struct gp_err *err)
{
    if (!proc->pid)
        return gp_err_set(err, GP_ERR_CRASH, "the worker is gone");
    while (len) {
        ssize_t wrote = write(proc->to, text, len);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return ended(proc, err);
        text += wrote;
        len -= (size_t)wrote;
    }
    return 0;
}

bool gp_proc_spoke(const struct gp_proc *proc)
{
    struct pollfd early = {.fd = proc->from, .events = POLLIN};

    return proc->pid && (proc->pending.len ||
                         (poll(&early, 1, 0) > 0 && early.revents & POLLIN));
}

/* Hand out the first pending line. */
static int take_line(struct gp_proc *proc, struct gp_buf *line)
{
    struct gp_buf *pending = &proc->pending;
    char *end = pending->len ? memchr(pending->text, '\n', pending->len) : NULL;
    size_t len;

    if (!end)
        return -1;
    len = (size_t)(end - pending->text);
    gp_buf_add(line, pending->text, len);
    memmove(pending->text, end + 1, pending->len - len - 1);
    pending->len -= len + 1;
    return 0;
}

int gp_proc_receive(struct gp_proc *proc, struct gp_buf *line,
                    int64_t timeout_ms, size_t most, struct gp_err *err)
{
    int64_t deadline = gp_clock_ms() + timeout_ms;
    char part[65536];

    line->len = 0;
    if (!proc->pid)
        return gp_err_set(err, GP_ERR_CRASH, "the worker is gone");
    while (take_line(proc, line) != 0) {
        int64_t left = deadline - gp_clock_ms();
        struct pollfd ready = {.fd = proc->from, .events = POLLIN};
        ssize_t got;
        if (proc->pending.len > most)
            return gp_err_set(err, GP_ERR_BACKEND,
                              "the worker's answer is longer than %zu bytes",
                              most);
        if (left <= 0)
            return gp_err_set(err, GP_ERR_TIMEOUT,
                              "the worker did not answer within %.1f s",
                              (double)timeout_ms / 1000);
        if (poll(&ready, 1, left > 60000 ? 60000 : (int)left) <= 0)
            continue;
        got = read(proc->from, part, sizeof part);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ended(proc, err);
        gp_buf_add(&proc->pending, part, (size_t)got);
    }
    if (line->len > most)
        return gp_err_set(err, GP_ERR_BACKEND,
                          "the worker's answer is longer than %zu bytes", most);
    return 0;
}

void gp_proc_stop(struct gp_proc *proc, int grace_ms)
{
    int64_t deadline = gp_clock_ms() + grace_ms;
    int status;

    if (!proc->pid)
        return;
    close(proc->to);
    while (gp_clock_ms() < deadline) {
        if (waitpid(proc->pid, &status, WNOHANG) != 0) {
            kill(-proc->pid, SIGKILL);
            proc->pid = 0;
            break;
        }
        usleep(2000);
    }
    if (proc->pid) {
        kill(-proc->pid, SIGKILL);
        kill(proc->pid, SIGKILL);
        waitpid(proc->pid, &status, 0);
    }
    close(proc->from);
    gp_buf_free(&proc->pending);
    *proc = (struct gp_proc){0};
}
