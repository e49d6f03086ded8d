/*
 * Errors: a kind and one finished sentence.
 *
 * A function that can fail returns 0 or -1 and takes a struct gp_err as its
 * last argument. The sentence names the place (file:line where there is one),
 * the thing and the way out; nobody below the command line prints it.
 */
#ifndef GP_BASE_ERR_H
#define GP_BASE_ERR_H

#define GP_MUST_CHECK __attribute__((warn_unused_result))
#define GP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

enum gp_err_kind {
    GP_ERR_NONE = 0,
    GP_ERR_USAGE,       /* the caller's words, a case file, an id */
    GP_ERR_UNSUPPORTED, /* asked for something that is not offered */
    GP_ERR_BACKEND,     /* a library or device said no */
    GP_ERR_CRASH,       /* a worker died */
    GP_ERR_TIMEOUT,     /* a worker was late */
    GP_ERR_SYSTEM       /* files, memory, processes */
};

struct gp_err {
    enum gp_err_kind kind;
    char text[1024];
};

/* Record an error. Always returns -1, so that `return gp_err_set(...)` works.
 * A longer sentence is cut at the size of the buffer. */
int gp_err_set(struct gp_err *err, enum gp_err_kind kind, const char *fmt, ...)
    GP_PRINTF(3, 4);

/* Put words in front of a recorded sentence ("cases/x.yaml:3:5: " say);
 * keeps the kind and returns -1. */
int gp_err_prefix(struct gp_err *err, const char *fmt, ...) GP_PRINTF(2, 3);

/* The name of a kind as it stands on the wire and in the journal. */
const char *gp_err_kind_name(enum gp_err_kind kind);

/* The kind of a name; GP_ERR_BACKEND for a name that is not known. */
enum gp_err_kind gp_err_kind_of(const char *name);

#endif
