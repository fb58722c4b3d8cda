#ifndef JSON_REPLY_H
#define JSON_REPLY_H

#include "net/request.h"

/* Replies a JSON value, such as the headers of a job: an object as a map, an array as an array, a string as bytes, an
 * integer as an integer, any other value as the bytes of its text. A value that is nested deeper than 4 levels, and text
 * that is no JSON, is replied as its bytes. */
void reply_json(struct req *r, struct slice json);

#endif
