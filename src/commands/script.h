#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include "commands/dispatch.h"
#include "net/request.h"

/* Known scripts (scripts.def). pgdisque runs no Lua. */
bool script_exists(struct slice sha1);
/* The SHA1 of a known script. NULL if the text is unknown: the error has been replied, and the caller ends r. */
const char *script_sha1_or_reply(struct req *r, struct slice text);

/* Tells whether cmd is EVAL, EVALSHA, or a read-only form of them. */
bool script_is(const struct command *cmd);
/* The command that does the work of the script of r. It replaces the arguments of r by those of that command.
 * NULL if there is none: the error, or null as the result of the script, has been replied. The caller ends r. */
const struct command *script_command_or_reply(struct req *r);
/* EVAL and EVALSHA: runs the command that does the work of the script. */
void script_run(struct req *r);

#endif
