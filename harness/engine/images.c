#include "harness/engine/images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/engine/relate.h"

struct gp_judged_image {
    const struct gp_run *run;
    struct gp_digest digest;
    bool comparable; /* one finite output */
};

bool gp_images_digest(const struct gp_problem *problem, const void *output,
                      struct gp_digest *ret_digest)
{
    const struct gp_gemm *gemm = &problem->gemm;
    int64_t each = gemm->m * gemm->n;
    bool finite = true;

    *ret_digest = (struct gp_digest){{0, 0}};
    for (int64_t at = 0; at < gp_gemm_count(gemm, GP_C); at++) {
        struct gp_image image = {.i = at % each % gemm->m,
                                 .j = at % each / gemm->m};
        double x =
            gp_type_value(gemm->out, gp_type_bits(gemm->out, output, at));
        uint64_t bits, place;
        if (problem->family->image)
            problem->family->image(gemm, problem->seed, &image);
        finite = finite && isfinite(x);
        x = scalbn(image.negative ? -x : x, -image.exponent);
        x = x == 0 ? 0 : x;
        memcpy(&bits, &x, sizeof bits);
        place = (uint64_t)(at / each * each + image.i + image.j * gemm->m);
        ret_digest->lane[0] += gp_hash_lane(0, place, bits);
        ret_digest->lane[1] += gp_hash_lane(1, place, bits);
    }
    return finite;
}

void gp_images_add(struct gp_images *images, const struct gp_result *results,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct gp_result *result = &results[i];
        if (!result->judged || !result->run->problem->family->base)
            continue;
        *(struct gp_judged_image *)gp_grow((void **)&images->items,
                                           images->count, &images->room,
                                           sizeof *images->items) =
            (struct gp_judged_image){.run = result->run,
                                     .digest = result->image,
                                     .comparable =
                                         result->image_finite &&
                                         result->reply.digests_count == 1};
        images->count++;
    }
}

/* The id that the base has, run the same way. */
static void base_id(const struct gp_run *run, struct gp_buf *id)
{
    struct gp_problem problem = *run->problem;
    struct gp_run base = *run;

    problem.family = gp_family_find(problem.family->base);
    base.problem = &problem;
    gp_run_id(&base, id);
}

static struct gp_member member_of(const struct gp_judged_image *image)
{
    return (struct gp_member){.run = image->run,
                              .digests = &image->digest,
                              .variants = image->comparable ? 1 : 0};
}

int gp_images_relate(struct gp_images *images, struct gp_journal *journal,
                     struct gp_required *required, struct gp_counts *counts,
                     struct gp_err *err)
{
    json_t *places = gp_json_object();
    int status = 0;

    for (size_t i = 0; i < images->count; i++)
        gp_json_set_int(places, images->items[i].run->id, (int64_t)i);
    for (size_t i = 0; i < images->count && status == 0; i++) {
        struct gp_member members[2] = {member_of(&images->items[i])};
        const struct gp_run *run = images->items[i].run;
        struct gp_buf id = {0};
        const json_t *place;
        if (strcmp(run->problem->family->base, run->problem->family->name) == 0)
            continue;
        base_id(run, &id);
        place = json_object_get(places, gp_buf_text(&id));
        gp_buf_free(&id);
        if (place)
            members[1] = member_of(&images->items[json_integer_value(place)]);
        status =
            gp_relate_members(journal, required, counts, &gp_relation_image,
                              members, place ? 2 : 1, err);
    }
    json_decref(places);
    free(images->items);
    *images = (struct gp_images){0};
    return status;
}
