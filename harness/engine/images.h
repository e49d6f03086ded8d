/*
 * Results of problems that are images of one another (families with a base):
 * brought back to the base, digested and compared once all runs are made.
 */
#ifndef GP_ENGINE_IMAGES_H
#define GP_ENGINE_IMAGES_H

#include "harness/engine/required.h"

struct gp_images {
    struct gp_judged_image *items; /* gp_grow array */
    size_t count, room;
};

/* The digest of an output brought back to the base: values as doubles, zeros
 * without a sign. False: something is not finite. */
bool gp_images_digest(const struct gp_problem *problem, const void *output,
                      struct gp_digest *ret_digest);

/* Remember the judged results that have an image. */
void gp_images_add(struct gp_images *images, const struct gp_result *results,
                   size_t count);

/* Judge the relation of each image with its base, run with the same settings;
 * frees what was remembered. Fails only when the journal cannot be written. */
int gp_images_relate(struct gp_images *images, struct gp_journal *journal,
                     struct gp_required *required, struct gp_counts *counts,
                     struct gp_err *err) GP_MUST_CHECK;

#endif
