#ifndef JSON_FIELD_H
#define JSON_FIELD_H

#include "base/util.h"

/*
 * Finds single fields of a JSON object without building a tree. The text is checked only as far as the search needs it.
 * Nested objects and arrays are skipped.
 */
enum json_found { JSON_FOUND, JSON_ABSENT, JSON_BROKEN };

/* Sets *value to the bytes of the field's value in the outermost object; a string keeps its quotes. A field whose name
 * is written with escapes is not found. */
enum json_found json_field(struct slice object, const char *name, struct slice *value) MUST_CHECK;

/* Sets *text to the characters of a JSON string. False if value is not a string, or has escapes. */
bool json_plain_string(struct slice value, struct slice *text) MUST_CHECK;

#endif
