#ifndef COMMAND_KEYS_H
#define COMMAND_KEYS_H

#include <stdbool.h>
#include "commands/dispatch.h"

/*
 * The positions of queue names in the arguments of a command, for COMMAND INFO and GETKEYS. They are the
 * mandatory values that its synopsis calls queue, key, source or destination.
 */
struct key_range {
    int first;    /* as in Redis: 0 if there are no keys, or if their positions vary */
    int last;     /* -1: the last argument, -2: the argument before it */
    int step;     /* the distance from one key to the next */
    bool movable; /* the keys follow a keyword, or a count of keys precedes them */
};

struct key_range command_key_range(const struct command *cmd);
/* The index of the key behind the argument `at` in a call with argc arguments; 0: there is none. Begin with 0. The keys
 * of a movable range vary, so there is none. */
int key_range_next(const struct key_range *range, int argc, int at);
/* Writes the positions of the keys in argv to out, which has room for argc. Returns their number, 0 if there
 * are no keys. */
int command_find_keys(const struct command *cmd, int argc, const struct slice *argv, int *out);
/* The use of the key with this index among the keys of a call, for GETKEYSANDFLAGS: Redis' flags, with NULL at the
 * end. */
const char *const *command_key_flags(const struct command *cmd, size_t index);

#endif
