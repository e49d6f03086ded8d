#include "reports/index.h"

#include <string.h>

static void name_of(const char *const *parts, struct gp_buf *ret_name)
{
    for (; *parts; parts++)
        gp_buf_printf(ret_name, "%zu %s", strlen(*parts), *parts);
}

int64_t gp_index_add(json_t *index, const char *const *parts, int64_t number)
{
    struct gp_buf name = {0};
    int64_t found;

    name_of(parts, &name);
    found = gp_json_int_or(index, gp_buf_text(&name), -1);
    if (found < 0)
        gp_json_set_int(index, gp_buf_text(&name), number);
    gp_buf_free(&name);
    return found;
}

int64_t gp_index_get(const json_t *index, const char *const *parts)
{
    struct gp_buf name = {0};
    int64_t found;

    name_of(parts, &name);
    found = gp_json_int_or(index, gp_buf_text(&name), -1);
    gp_buf_free(&name);
    return found;
}

void gp_index_count(json_t *object, const char *key)
{
    gp_json_set_int(object, key, gp_json_int_or(object, key, 0) + 1);
}
