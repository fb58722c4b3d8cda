#ifndef JSON_CHECK_H
#define JSON_CHECK_H

#include "base/util.h"

/* Checks that a text is valid JSON. Objects and arrays may be nested to JSON_DEPTH levels. */
#define JSON_DEPTH 512

enum json_kind { JSON_NONE, JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER, JSON_WORD };

/* The kind of the value if text is exactly one JSON value by RFC 8259, with or without blanks around it. JSON_NONE for
 * any other text. JSON_WORD is true, false or null. */
enum json_kind json_kind_of(struct slice text);

#endif
