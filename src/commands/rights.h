#ifndef RIGHTS_H
#define RIGHTS_H

#include <stdbool.h>
#include "acl/user.h"
#include "commands/dispatch.h"
#include "net/request.h"

/* The rights of the table of commands and of subcommands.def, and the check of a request. */

/* Registers the rights of all commands. */
void rights_init(void);
/* The right that a call needs: of the subcommand if it has a right of its own, else of the command. */
unsigned rights_needed(const struct command *cmd, int argc, const struct slice *argv);
/* Describes a call for user_may_call(). It lives as long as r, and points to argv. */
struct acl_call rights_call(struct req *r, const struct command *cmd, int argc, const struct slice *argv);
/* Sets the right of r. If its user may not run cmd with its arguments, replies NOPERM and returns false. */
bool rights_allow_or_reply(struct req *r, const struct command *cmd) MUST_CHECK;
/* Appends the text of a refusal. arg is the refused argument; NULL: the text does not name it. */
void rights_describe_denial(const struct user *u, const struct acl_call *call, enum acl_denial why,
                            const struct slice *arg, struct buf *out);

#endif
