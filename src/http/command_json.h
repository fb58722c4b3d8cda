#ifndef COMMAND_JSON_H
#define COMMAND_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Commands as JSON: the bodies of POST /api/command. The text is scanned without building a tree, and the scan ends at
 * the first part that cannot be a command.
 */

/* The most words of a command, its name included. */
#define COMMAND_WORDS_MAX 1024
/* The most commands of a request. */
#define HTTP_COMMANDS_MAX 100

struct command_words {
    struct slice *words;
    size_t count;
};

struct command_list {
    struct command_words commands[HTTP_COMMANDS_MAX];
    size_t count;
    bool is_single; /* the text is one command; else it is an array of commands */
    char *decoded;  /* the words that are not as in the text */
};

/* Reads a command, or an array of commands. A command is an array of texts, integers and {"base64": "..."}. The words
 * point into text, and the caller frees the list. False: text is something else, and err has the reason, which is
 * ASCII. */
bool commands_from_json(struct slice text, struct command_list *list, char *err, size_t err_size) MUST_CHECK;
void command_list_free(struct command_list *list);

#endif
