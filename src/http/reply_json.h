#ifndef REPLY_JSON_H
#define REPLY_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Replies as JSON. A text that is not UTF-8 is an object with one member: {"base64": "..."}.
 */

/* Takes the reply at the front of the complete replies. A status becomes a text, and an error becomes
 * {"error": "..."}. A map becomes an object. If a key of the map is no text of UTF-8, the map becomes an array of
 * pairs. The caller owns the result. */
json_t *reply_to_json(struct slice *replies);
/* True if the first reply is an error; text has its text. */
bool reply_is_error(struct slice replies, struct slice *text);
/* The text of the first reply, which is a text. */
struct slice reply_text(struct slice replies);

#endif
