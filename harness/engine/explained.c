#include "harness/engine/explained.h"

#include <math.h>

static json_t *span(int64_t first, int64_t last)
{
    json_t *array = gp_json_array();

    gp_json_append(array, json_integer((json_int_t)first));
    gp_json_append(array, json_integer((json_int_t)last));
    return array;
}

static json_t *map_of(const struct gp_pattern *pattern)
{
    static const char *const axes[] = {"i", "j", "batch"};
    json_t *map = gp_json_object(), *box = gp_json_object();

    for (int axis = 0; axis < 3; axis++)
        gp_json_set(box, axes[axis],
                    span(pattern->first[axis], pattern->last[axis]));
    gp_json_set_int(map, "count", pattern->count);
    gp_json_set_int(map, "of", pattern->of);
    gp_json_set(map, "box", box);
    gp_json_set_real(map, "fill", pattern->fill);
    gp_json_set_int(map, "whole_rows", pattern->whole_rows);
    gp_json_set_int(map, "whole_columns", pattern->whole_columns);
    if (pattern->period[0])
        gp_json_set_int(map, "period_i", pattern->period[0]);
    if (pattern->period[1])
        gp_json_set_int(map, "period_j", pattern->period[1]);
    if (pattern->tile)
        gp_json_set_int(map, "tile", pattern->tile);
    gp_json_set_str(map, "text", pattern->words);
    return map;
}

static json_t *element_of(const struct gp_gemm *gemm,
                          const struct gp_element *element)
{
    json_t *object = gp_json_object();
    int64_t each = gemm->m * gemm->n;

    gp_json_set_int(object, "i", element->index % each % gemm->m);
    gp_json_set_int(object, "j", element->index % each / gemm->m);
    gp_json_set_int(object, "batch", element->index / each);
    gp_json_set_exact(object, "got", element->got);
    gp_json_set_exact(object, "ref", element->ref);
    gp_json_set_exact(object, "limit", element->limit);
    gp_json_set_real(object, "ulp",
                     fabs(element->got - element->ref) /
                         gp_type_ulp(gemm->out, element->ref));
    return object;
}

static json_t *range_of(const struct gp_k_range *range)
{
    json_t *object = gp_json_object();

    gp_json_set_int(object, "from", range->from);
    gp_json_set_int(object, "to", range->to);
    gp_json_set_str(object, "what", range->times < 0 ? "missing" : "twice");
    gp_json_set(object, "open", span(range->from_least, range->to_most));
    return object;
}

json_t *gp_explained_values(const struct gp_result *result)
{
    const struct gp_explanation *explanation = result->explanation;
    json_t *object = gp_json_object(), *worst = gp_json_array();

    gp_json_set_int(object, "output", result->explained);
    gp_json_set_str(object, "text", explanation->cause);
    gp_json_set_bool(object, "found", explanation->found);
    gp_json_set_int(object, "looked_at", explanation->looked_at);
    gp_json_set_int(object, "fits", explanation->fits);
    if (explanation->k.times)
        gp_json_set(object, "k", range_of(&explanation->k));
    gp_json_set_int(object, "not_finite", explanation->not_finite);
    gp_json_set(object, "map", map_of(&explanation->pattern));
    for (int i = 0; i < explanation->worst_count; i++)
        gp_json_append(worst, element_of(&result->run->problem->gemm,
                                         &explanation->worst[i]));
    gp_json_set(object, "worst", worst);
    return object;
}

json_t *gp_explained_repeats(const struct gp_variation *variation)
{
    json_t *object = gp_json_object();

    gp_json_set_str(object, "text", variation->words);
    gp_json_set_int(object, "numbers", variation->numbers);
    gp_json_set_int(object, "most_ulps",
                    variation->most_ulps > INT64_MAX
                        ? INT64_MAX
                        : (int64_t)variation->most_ulps);
    gp_json_set_int(object, "zeros", variation->zeros);
    gp_json_set_int(object, "payloads", variation->payloads);
    gp_json_set_int(object, "not_finite", variation->not_finite);
    gp_json_set(object, "map", map_of(&variation->pattern));
    return object;
}
