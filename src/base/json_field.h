#ifndef JSON_FIELD_H
#define JSON_FIELD_H

#include "base/util.h"

/*
 * Single fields of a JSON object, found without building it: only as much is understood as
 * that takes. Nested objects and arrays are passed over.
 */
enum json_found { JSON_FOUND, JSON_ABSENT, JSON_BROKEN };

/* The value of the outermost object's field, as it stands there: a string with its quotes. A name
 * that is written with escapes is not found. */
enum json_found json_field(struct slice object, const char *name, struct slice *value) MUST_CHECK;

/* What a string says; false when the value is none, or needs more than cutting off its quotes. */
bool json_plain_string(struct slice value, struct slice *text) MUST_CHECK;

#endif
