#ifndef DISPATCH_H
#define DISPATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "net/client.h"
#include "net/command_spec.h"
#include "net/request.h"

/*
 * The table of commands (commands.def). Lookup, arity, authentication, COMMAND, COMMAND DOCS and the counters
 * read it. A new command is a row of the table and a handler.
 */
struct command_stats {
    uint64_t calls;
    uint64_t usec;
    uint64_t rejected;
    uint64_t failed;
};

const struct command *command_lookup(struct slice name);
/* All commands in the order of commands.def. Sets count to their number. */
const struct command *command_table(size_t *count);
struct command_stats *command_stats(const struct command *cmd);
void command_stats_reset(void);

/* Call after the configuration has been read. */
void command_init(void);
/* The hook for client.h: checks and runs a request. False: the request may not start yet, see enum
 * command_order. Call again when another request of the client has ended. */
bool command_offer(struct client *c, struct req *r);
/* Calls the handler of r and counts the call. r->cmd must be set, and must be allowed to run. */
void command_run(struct client *c, struct req *r);
/* Tells whether r may start while other requests of c are in progress. r->cmd must be set. */
bool command_may_start(const struct client *c, const struct req *r);
/* Checks that every argument that cmd does not take as a long one has at most NAME_MAX_BYTES. If not, replies the
 * error and returns false. The caller ends r. */
bool command_names_fit_or_reply(struct req *r, const struct command *cmd) MUST_CHECK;
/* Tells whether the arity of cmd allows argc arguments, including the name. */
bool command_arity_fits(const struct command *cmd, int argc);
/* The same for an arity, which may be that of a subcommand. */
bool arity_fits(int arity, int argc);
/* True if c has logged in, or if clients need no login. */
bool command_authenticated(const struct client *c);
/* Tells whether argument i of r is a password, which must not be shown anywhere. r->cmd must be set. */
bool command_arg_is_secret(const struct req *r, int i);

/* The index of each row. */
enum command_id {
#define CMD(id, ...) COMMAND_##id,
#include "commands/commands.def"
#undef CMD
};

/* Each row has a handler. */
#define CMD(id, ...) void cmd_##id(struct req *r);
#include "commands/commands.def"
#undef CMD

#endif
