#ifndef JSON_MAKE_H
#define JSON_MAKE_H

#include "base/buf.h"

/*
 * Writes a JSON object: json_begin(), one call for each field, json_end(). A function returns false if a name or text
 * is not valid UTF-8. The bytes in b are then incomplete and must not be used.
 */
void json_begin(struct buf *b);
bool json_add_text(struct buf *b, struct slice name, struct slice text) MUST_CHECK;
/* Adds a value that is JSON already. False if it is not valid JSON. */
bool json_add_value(struct buf *b, struct slice name, struct slice value) MUST_CHECK;
void json_end(struct buf *b);

#endif
