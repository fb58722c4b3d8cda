#ifndef REPLY_JSON_H
#define REPLY_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Commands and replies as JSON. A text that is not UTF-8 is an object with one member: {"base64": "..."}.
 */

/* The most words of a command, its name included. */
#define COMMAND_WORDS_MAX 1024
/* The most commands of a request. */
#define COMMANDS_MAX 100

/* Takes the reply at the front of the complete replies. A status becomes a text, and an error becomes
 * {"error": "..."}. A map becomes an object. If a key of the map is no text of UTF-8, the map becomes an array of
 * pairs. The caller owns the result. */
json_t *reply_to_json(struct slice *replies);
/* True if the first reply is an error; text has its text. */
bool reply_is_error(struct slice replies, struct slice *text);
/* The text of the first reply, which is a text. */
struct slice reply_text(struct slice replies);

struct command_words {
    struct slice *words;
    size_t count;
};

struct command_list {
    struct command_words commands[COMMANDS_MAX];
    size_t count;
    bool is_single; /* the text is one command; else it is an array of commands */
};

/* Reads a command, or an array of commands. A command is an array of texts, integers and {"base64": "..."}. The caller
 * frees the list. False: text is something else, and err has the reason, which is valid UTF-8. */
bool commands_from_json(struct slice text, struct command_list *list, char *err, size_t err_size) MUST_CHECK;
void command_list_free(struct command_list *list);

#endif
