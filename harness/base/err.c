#include "harness/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    "none", "usage", "unsupported", "backend", "crash", "timeout", "system",
};

int gp_err_set(struct gp_err *err, enum gp_err_kind kind, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err->kind = kind;
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return -1;
}

int gp_err_prefix(struct gp_err *err, const char *fmt, ...)
{
    char old[sizeof err->text];
    va_list ap;
    int used;

    memcpy(old, err->text, sizeof old);
    va_start(ap, fmt);
    used = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (used >= 0 && (size_t)used < sizeof err->text)
        snprintf(err->text + used, sizeof err->text - (size_t)used, "%s", old);
    return -1;
}

const char *gp_err_kind_name(enum gp_err_kind kind)
{
    return kind_names[kind];
}

enum gp_err_kind gp_err_kind_of(const char *name)
{
    for (int i = 0; i <= GP_ERR_SYSTEM; i++)
        if (strcmp(kind_names[i], name) == 0)
            return (enum gp_err_kind)i;
    return GP_ERR_BACKEND;
}
