/* Child processes that do not behave: scripts that play them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/proc.h"
#include "tests/unit/folder.h"

enum { LONG_MS = 60000, MOST = 1 << 20 };

static const char *const environment[] = {"GP_TEST=one two",
                                          "PATH=/usr/bin:/bin", NULL};

/* Start a script with these lines. */
static void start(struct folder *folder, struct gp_proc *proc,
                  const char *lines)
{
    struct gp_proc_start how = {.environment = environment,
                                .chatter = STDERR_FILENO};
    struct gp_err err = {0};
    char text[2000];

    folder_make(folder);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", lines);
    how.path = folder_write(folder, "child", text, 0755);
    cr_assert_eq(gp_proc_start(proc, &how, &err), 0, "%s", err.text);
}

static void send(struct gp_proc *proc, const char *line)
{
    struct gp_err err = {0};

    cr_assert_eq(gp_proc_send(proc, line, strlen(line), &err), 0, "%s",
                 err.text);
}

static void receives(struct gp_proc *proc, const char *expected)
{
    struct gp_buf line = {0};
    struct gp_err err = {0};

    cr_assert_eq(gp_proc_receive(proc, &line, LONG_MS, MOST, &err), 0, "%s",
                 err.text);
    cr_assert_str_eq(gp_buf_text(&line), expected);
    gp_buf_free(&line);
}

static void fails(struct gp_proc *proc, int64_t timeout_ms, size_t most,
                  enum gp_err_kind kind, const char *words)
{
    struct gp_buf line = {0};
    struct gp_err err = {0};

    cr_assert_eq(gp_proc_receive(proc, &line, timeout_ms, most, &err), -1,
                 "received %zu bytes", line.len);
    cr_assert_eq(err.kind, kind, "%s", err.text);
    cr_assert_not_null(strstr(err.text, words), "'%s' has no '%s'", err.text,
                       words);
    gp_buf_free(&line);
}

/* Is there no such process, or only what is left of one? A killed process may
 * take a moment to go. */
static bool gone(pid_t pid)
{
    const struct timespec moment = {0, 20000000};
    char path[40], state = '?';

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    for (int tries = 0; tries < 500; tries++) {
        FILE *file = fopen(path, "r");
        if (!file)
            return true;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'Z';
        fclose(file);
        if (state == 'Z' || state == 'X')
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

static void finish(struct folder *folder, struct gp_proc *proc)
{
    pid_t pid = proc->pid;

    gp_proc_stop(proc, 0);
    cr_assert_eq(proc->pid, 0);
    cr_assert(pid == 0 || gone(pid));
    folder_remove(folder);
}

Test(proc, lines_there_and_back)
{
    struct folder folder;
    struct gp_proc proc;

    start(&folder, &proc,
          "while read -r line; do echo \"<$line>\"; done; echo end");
    send(&proc, "one\ntwo\n\n");
    receives(&proc, "<one>");
    receives(&proc, "<two>");
    receives(&proc, "<>");
    send(&proc, "three\n");
    receives(&proc, "<three>");
    finish(&folder, &proc);
}

Test(proc, long_lines_and_lines_in_pieces)
{
    struct folder folder;
    struct gp_buf line = {0};
    struct gp_proc proc;
    struct gp_err err = {0};

    start(&folder, &proc,
          "head -c 500000 /dev/zero | tr '\\0' x; echo; printf ab; read go; "
          "printf 'cd\\nnext\\n'; read go");
    cr_assert_eq(gp_proc_receive(&proc, &line, LONG_MS, MOST, &err), 0);
    cr_assert_eq(line.len, 500000);
    cr_assert_eq(strspn(line.text, "x"), 500000);
    gp_buf_free(&line);
    send(&proc, "go\n");
    receives(&proc, "abcd");
    receives(&proc, "next");
    finish(&folder, &proc);
}

/* The environment is what was given, and nothing of this program's own. */
Test(proc, environment_is_built)
{
    struct folder folder;
    struct gp_proc proc;

    setenv("GP_INHERITED", "yes", 1);
    start(&folder, &proc, "echo \"$GP_TEST/${GP_INHERITED-none}\"; read go");
    receives(&proc, "one two/none");
    finish(&folder, &proc);
}

Test(proc, late)
{
    struct folder folder;
    struct gp_proc proc;

    start(&folder, &proc, "read a; read b; echo \"$a $b\"; read c");
    send(&proc, "one\n");
    fails(&proc, 50, MOST, GP_ERR_TIMEOUT, "did not answer within 0.1 s");
    /* Late is not dead: it may still be asked, or stopped. */
    send(&proc, "two\n");
    receives(&proc, "one two");
    finish(&folder, &proc);
}

Test(proc, half_a_line_is_no_answer)
{
    struct folder folder;
    struct gp_proc proc;

    start(&folder, &proc, "printf half; read go");
    fails(&proc, 100, MOST, GP_ERR_TIMEOUT, "did not answer");
    finish(&folder, &proc);
    start(&folder, &proc, "printf half");
    fails(&proc, LONG_MS, MOST, GP_ERR_CRASH, "status 0 without an answer");
    finish(&folder, &proc);
}

Test(proc, deaths)
{
    struct folder folder;
    struct gp_proc proc;
    struct gp_err err = {0};

    start(&folder, &proc, "exit 5");
    fails(&proc, LONG_MS, MOST, GP_ERR_CRASH, "ended with status 5");
    cr_assert_eq(proc.pid, 0);
    fails(&proc, LONG_MS, MOST, GP_ERR_CRASH, "is gone");
    cr_assert_eq(gp_proc_send(&proc, "x\n", 2, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_CRASH);
    finish(&folder, &proc);
    start(&folder, &proc, "kill -9 $$");
    fails(&proc, LONG_MS, MOST, GP_ERR_CRASH, "ended by signal 9");
    finish(&folder, &proc);
    start(&folder, &proc, "kill -SEGV $$");
    fails(&proc, LONG_MS, MOST, GP_ERR_CRASH, "ended by signal 11");
    finish(&folder, &proc);
}

/* What it said before its death is still heard. */
Test(proc, last_words)
{
    struct folder folder;
    struct gp_proc proc;

    start(&folder, &proc, "echo one; echo two; exit 3");
    receives(&proc, "one");
    receives(&proc, "two");
    fails(&proc, LONG_MS, MOST, GP_ERR_CRASH, "status 3");
    finish(&folder, &proc);
}

/* One that closes its output and lives on is dead to us, and killed. */
Test(proc, closed_output)
{
    struct folder folder;
    struct gp_proc proc;
    pid_t pid;

    start(&folder, &proc, "exec >&-; read go; sleep 600");
    pid = proc.pid;
    fails(&proc, LONG_MS, MOST, GP_ERR_CRASH, "the worker");
    cr_assert(gone(pid));
    finish(&folder, &proc);
}

Test(proc, lines_that_are_too_long)
{
    struct folder folder;
    struct gp_proc proc;

    /* Without an end ... */
    start(&folder, &proc, "head -c 300000 /dev/zero | tr '\\0' x; read go");
    fails(&proc, LONG_MS, 100000, GP_ERR_BACKEND, "longer than 100000 bytes");
    finish(&folder, &proc);
    /* ... and with one. */
    start(&folder, &proc, "echo 0123456789; read go");
    fails(&proc, LONG_MS, 9, GP_ERR_BACKEND, "longer than 9 bytes");
    finish(&folder, &proc);
    start(&folder, &proc, "echo 0123456789; read go");
    receives(&proc, "0123456789");
    finish(&folder, &proc);
}

Test(proc, programs_that_cannot_be_started)
{
    struct gp_proc_start how = {.environment = environment,
                                .chatter = STDERR_FILENO};
    struct gp_proc proc = {0};
    struct gp_err err = {0};
    struct folder folder;

    folder_make(&folder);
    how.path = folder_file(&folder, "nothing");
    cr_assert_eq(gp_proc_start(&proc, &how, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_BACKEND);
    cr_assert_not_null(strstr(err.text, how.path), "%s", err.text);
    how.path = folder_write(&folder, "text", "not a program\n", 0755);
    cr_assert_eq(gp_proc_start(&proc, &how, &err), 0);
    fails(&proc, LONG_MS, MOST, GP_ERR_CRASH, "status 127");
    finish(&folder, &proc);
}

/* Standard error goes where it is told, a descriptor is handed on. */
Test(proc, chatter_and_descriptors)
{
    struct gp_proc_start how = {.environment = environment};
    struct gp_err err = {0};
    struct folder folder;
    struct gp_proc proc;
    char text[200], log[20] = {0};
    int given;

    folder_make(&folder);
    how.chatter = open(folder_file(&folder, "log"), O_RDWR | O_CREAT, 0600);
    given =
        open(folder_file(&folder, "given"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    how.inherit = &given;
    how.inherit_count = 1;
    snprintf(text, sizeof text,
             "#!/bin/sh\necho chat >&2\ncat /proc/self/fd/%d\nread go\n",
             given);
    cr_assert_eq(write(given, "kept\n", 5), 5);
    lseek(given, 0, SEEK_SET);
    how.path = folder_write(&folder, "child", text, 0755);
    cr_assert_eq(gp_proc_start(&proc, &how, &err), 0);
    receives(&proc, "kept");
    cr_assert_eq(pread(how.chatter, log, sizeof log - 1, 0), 5);
    cr_assert_str_eq(log, "chat\n");
    close(how.chatter);
    close(given);
    finish(&folder, &proc);
}

/* --- Ends
 * ----------------------------------------------------------------------- */

Test(proc, a_polite_child_ends_by_itself)
{
    struct folder folder;
    struct gp_proc proc;

    start(&folder, &proc,
          "echo up; read go; echo over > \"${0%/*}/over\"; exit 0");
    receives(&proc, "up");
    gp_proc_stop(&proc, LONG_MS);
    cr_assert_eq(proc.pid, 0);
    cr_assert_eq(access(folder_file(&folder, "over"), F_OK), 0);
    gp_proc_stop(&proc, LONG_MS); /* nothing to stop */
    folder_remove(&folder);
}

/* A stubborn one is killed, with what it has started. */
Test(proc, a_stubborn_child_is_killed)
{
    struct folder folder;
    struct gp_buf line = {0};
    struct gp_proc proc;
    struct gp_err err;
    pid_t pid, grandchild;

    start(&folder, &proc,
          "trap '' TERM INT HUP\nsleep 600 &\necho $!\n"
          "while :; do sleep 600; done");
    cr_assert_eq(gp_proc_receive(&proc, &line, LONG_MS, MOST, &err), 0);
    grandchild = (pid_t)strtol(line.text, NULL, 10);
    pid = proc.pid;
    gp_buf_free(&line);
    gp_proc_stop(&proc, 50);
    cr_assert_eq(proc.pid, 0);
    cr_assert(gone(pid));
    cr_assert(gone(grandchild));
    folder_remove(&folder);
}

/* However this program dies, its children do not outlive it. */
Test(proc, children_die_with_their_parent)
{
    struct folder folder;
    int pids[2];
    pid_t parent, child = 0;

    cr_assert_eq(pipe(pids), 0);
    parent = fork();
    if (parent == 0) {
        struct gp_proc proc;
        start(&folder, &proc, "echo up; exec sleep 600");
        receives(&proc, "up");
        folder_remove(&folder);
        if (write(pids[1], &proc.pid, sizeof proc.pid) > 0)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    cr_assert_eq(read(pids[0], &child, sizeof child), sizeof child);
    cr_assert_eq(waitpid(parent, NULL, 0), parent);
    cr_assert_gt(child, 0);
    if (!gone(child)) {
        kill(child, SIGKILL);
        cr_assert_fail("it lived on");
    }
    close(pids[0]);
    close(pids[1]);
}
