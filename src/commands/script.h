#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include "commands/command.h"
#include "net/req.h"

/* Scripts that are known (scripts.def); pgdisque runs no Lua. */
bool script_exists(struct slice sha1);
/* The SHA1 of a text that is known. NULL: it has replied that it is not, and r has yet to be ended. */
const char *script_sha1_or_reply(struct req *r, struct slice text);

/* Is it EVAL or one of its like? */
bool script_is(const struct command *cmd);
/* The command that does what the script of r says, whose arguments are r's from then on. NULL: it has replied why
 * there is none, and r has yet to be ended. */
const struct command *script_command_or_reply(struct req *r);

#endif
