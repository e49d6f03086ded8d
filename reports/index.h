/*
 * Numbers and words under names that are made of parts, in a JSON object:
 * which run, row or group belongs to these keys?
 *
 * `parts` ends in NULL. The lengths go into the name, so that no two lists of
 * parts make the same one.
 */
#ifndef GP_REPORTS_INDEX_H
#define GP_REPORTS_INDEX_H

#include "harness/base/json.h"

/* The number under this name; -1 the first time, when it becomes `number`. */
int64_t gp_index_add(json_t *index, const char *const *parts, int64_t number);

/* The number under this name, -1 if there is none. */
int64_t gp_index_get(const json_t *index, const char *const *parts);

/* Add one to the number that an object has under a plain key. */
void gp_index_count(json_t *object, const char *key);

#endif
