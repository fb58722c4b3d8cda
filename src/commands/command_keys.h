#ifndef COMMAND_KEYS_H
#define COMMAND_KEYS_H

#include <stdbool.h>
#include "commands/command.h"

/*
 * Which arguments of a command name queues, for COMMAND INFO and GETKEYS: the values called queue, key,
 * source or destination in its synopsis that must be given.
 */
struct key_range {
    int first; /* as in Redis: 0 is none, or that they have no fixed place, */
    int last;  /* -1 the last argument, -2 the one before it */
    int step;
    bool movable; /* they stand behind a word, or how many they are stands before them */
};

struct key_range command_key_range(const struct command *cmd);
/* Their places in argv, to out, which has room for argc; how many. 0 when the arguments have none. */
int command_find_keys(const struct command *cmd, int argc, const struct slice *argv, int *out);

#endif
