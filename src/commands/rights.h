#ifndef RIGHTS_H
#define RIGHTS_H

#include <stdbool.h>
#include "acl/acl_log.h"
#include "acl/user.h"
#include "commands/dispatch.h"
#include "net/request.h"

/* The rights of the table of commands and of subcommands.def, and the check of a request. */

/* A row of subcommands.def. */
struct right_sub {
    const char *command;
    const char *name; /* as "client|list" */
    int arity;
    unsigned flags;
};

/* Registers the rights of all commands. The right of a command is its ID. */
void rights_init(void);
/* The subcommand that has the right. NULL: a command has it. */
const struct right_sub *rights_sub(unsigned right);
/* The right that a call needs: of the subcommand if it has a right of its own, else of the command. */
unsigned rights_needed(const struct command *cmd, int argc, const struct slice *argv);
/* Describes a call for user_may_call(). It is valid until the next call of this function, and points to argv. */
struct acl_call rights_call(const struct command *cmd, int argc, const struct slice *argv);
/* Sets the right of r. If the user of c may not run cmd with the arguments of r, appends the reason to denial, adds it
 * to ACL LOG, and returns false. */
bool rights_allow(struct req *r, const struct client *c, const struct command *cmd,
                  struct buf *denial) MUST_CHECK;
/* The same, and replies NOPERM. */
bool rights_allow_or_reply(struct req *r, const struct command *cmd) MUST_CHECK;
/* Appends the text of a refusal. arg is the refused argument; NULL: the text does not name it. */
void rights_describe_denial(const struct user *u, const struct acl_call *call, enum acl_denial why,
                            const struct slice *arg, struct buf *out);

/* Adds a refusal to ACL LOG. */
void rights_note_refusal(const struct client *c, enum acl_log_reason reason, enum acl_log_context context,
                         struct slice object, struct slice user);

#endif
