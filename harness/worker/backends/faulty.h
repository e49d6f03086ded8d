/*
 * The sins of the worker `faulty`: each a realistic bug of a GEMM, one row and
 * one small function. tests/faults.tsv says which check must catch each.
 */
#ifndef GP_WORKER_BACKENDS_FAULTY_H
#define GP_WORKER_BACKENDS_FAULTY_H

#include "harness/worker/backends/host.h"

struct gp_faulty_element; /* faulty_sums.h */

struct gp_faulty_sin {
    const char *name;
    /* Alter the product before it is multiplied (NULL: nothing). */
    void (*before)(struct gp_host *host, struct gp_host_product *product);
    /* Multiply (NULL: the plain product). */
    int (*multiply)(struct gp_host *host, const struct gp_host_product *product,
                    struct gp_err *err);
    /* Sum one element wrongly (NULL: as `multiply` does). */
    double (*sum)(const struct gp_faulty_element *element);
    /* Alter what stands in memory afterwards (NULL: nothing). */
    void (*after)(struct gp_host *host, const struct gp_host_product *product);
    double number; /* what one function makes several sins of */
};

/* A wrong product; wrong sums; other algorithms; a right product, and wrong
 * things done beside it or at another repeat. Each is ended by a row without a
 * name. */
extern const struct gp_faulty_sin gp_faulty_products[];
extern const struct gp_faulty_sin gp_faulty_sums[];
extern const struct gp_faulty_sin gp_faulty_algorithms[];
extern const struct gp_faulty_sin gp_faulty_special[];
extern const struct gp_faulty_sin gp_faulty_deeds[];

/* The number of the host's sin. */
double gp_faulty_number(const struct gp_host *host);

/* Element `index` of D, packed, where it stands in memory; and raw bits put
 * there. */
unsigned char *gp_faulty_d(const struct gp_host *host, int64_t index);
void gp_faulty_put(const struct gp_host *host, int64_t index, uint64_t bits);

#endif
