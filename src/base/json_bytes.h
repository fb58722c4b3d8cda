#ifndef JSON_BYTES_H
#define JSON_BYTES_H

#include <jansson.h>
#include "base/util.h"

/* Bytes as a JSON value: a string if they are valid UTF-8, else {"base64": string}. The caller owns the value. */
json_t *json_of_bytes(struct slice bytes);

#endif
