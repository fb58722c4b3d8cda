#ifndef REPLY_JSON_H
#define REPLY_JSON_H

#include <jansson.h>
#include <hiredis/hiredis.h>
#include "base/util.h"

/*
 * Commands and replies as JSON. A text that is not UTF-8 is an object with one member: {"base64": "..."}.
 */

/* The most words of a command, its name included. */
#define COMMAND_WORDS_MAX 1024

/* A status becomes a text, and an error becomes {"error": "..."}. The caller owns the result. */
json_t *reply_to_json(const redisReply *reply);

/* Reads a command: an array of texts, integers and {"base64": "..."}. Returns the words, *count of them, and the
 * caller frees each word and the array. NULL: text is something else, and err has the reason. */
struct slice *command_from_json(struct slice text, size_t *count, char *err, size_t err_size);
void command_words_free(struct slice *words, size_t count);

#endif
