#ifndef REPLY_JSON_H
#define REPLY_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"
#include "base/util.h"

/*
 * Replies as JSON. A text that is not UTF-8 is an object with one member: {"base64": "..."}.
 */

/* Takes the reply at the front of the complete replies, and appends it to out. A status becomes a text, and an error
 * becomes {"error": "..."}. A map becomes an object. If a key of the map is no text of UTF-8, the map becomes an array
 * of pairs. */
void reply_to_json(struct slice *replies, struct buf *out);
/* The same for an array of names and values in turns, as an object. */
void reply_pairs_to_json(struct slice *replies, struct buf *out);
/* True if the first reply is an error; text has its text. */
bool reply_is_error(struct slice replies, struct slice *text);
/* The text of the first reply, which is a text. */
struct slice reply_text(struct slice replies);

#endif
