/*
 * Accuracy against the workspace: problems of the family dense that keep
 * fewer componentwise bits under some workspace than under `unset`.
 *
 * Made from a summary, which must live as long; strings and records are
 * borrowed from it. `{0}` is empty. Runs with an env or a planted fault do not
 * count.
 */
#ifndef GP_REPORTS_LOSS_H
#define GP_REPORTS_LOSS_H

#include "reports/summary.h"

/* The worst problem of one backend, type, mode, entry and size. Bits are
 * infinite where every output is the reference. */
struct gp_loss {
    const char *backend;
    const json_t *run;    /* under the workspace that loses most */
    const char *settings; /* all workspaces that lead to the same bits */
    double unset, bits;
    const char *flagged; /* the same mode with the flag against reduced
                            precision; NULL: no such mode, or not measured
                            under this workspace */
    double flagged_bits;
    bool kept;     /* half a bit or more is kept by the flag */
    int64_t alike; /* more problems of this size that lose */
    size_t place;
};

struct gp_losses {
    struct gp_arena arena;
    struct gp_loss *items; /* those that the flag keeps first, in each part
                              the largest loss first */
    size_t count, room;
    int64_t compared, lost; /* problems in each type, mode and entry */
    size_t kept;            /* so many items begin the array */
};

/* Half a bit is the least that counts. What loses as much with the flag as
 * without it is told once, without. */
void gp_loss_find(const struct gp_summary *summary,
                  struct gp_losses *ret_losses);
void gp_loss_free(struct gp_losses *losses);

/* "9.8", "exact". */
void gp_loss_bits(double bits, struct gp_buf *buf);

/* "bf16 default 127x255x1023: 11.0 bits under unset, 9.8 under 16:8; ...".
 * Unescaped. */
void gp_loss_print(const struct gp_loss *loss, struct gp_buf *buf);

#endif
