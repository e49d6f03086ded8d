/*
 * Take out of a record what names a machine: hosts, paths, UUIDs, bus
 * addresses. "-" stands in their place, so that the keys stay.
 */
#ifndef GP_ENGINE_REDACT_H
#define GP_ENGINE_REDACT_H

#include "harness/base/json.h"

/* Change the record in place, all levels of it. */
void gp_redact(json_t *record);

#endif
