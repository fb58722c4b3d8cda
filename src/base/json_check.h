#ifndef JSON_CHECK_H
#define JSON_CHECK_H

#include "base/util.h"

/* What a JSON text is. Objects and arrays have at most JSON_DEPTH levels. */
#define JSON_DEPTH 512

enum json_kind { JSON_NONE, JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER, JSON_WORD };

/* The kind of the value if text is exactly one, by RFC 8259; else JSON_NONE. Blanks around it are allowed. */
enum json_kind json_kind_of(struct slice text);

#endif
