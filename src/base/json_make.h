#ifndef JSON_MAKE_H
#define JSON_MAKE_H

#include "base/buf.h"

/*
 * A JSON object, field by field: json_begin(), the fields, json_end(). What is not UTF-8 is no JSON string:
 * then false, and the object is spoilt.
 */
void json_begin(struct buf *b);
bool json_add_text(struct buf *b, struct slice name, struct slice text) MUST_CHECK;
/* What is JSON already; false when it is not. */
bool json_add_value(struct buf *b, struct slice name, struct slice value) MUST_CHECK;
void json_end(struct buf *b);

#endif
