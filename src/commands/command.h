#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include "net/client.h"
#include "net/command_spec.h"
#include "net/req.h"

/*
 * The one table of commands (commands.def): lookup, arity, authentication,
 * COMMAND, COMMAND DOCS, and per-command counters all read it. A new command
 * is one row there and one handler.
 */
struct command_stats {
    uint64_t calls;
    uint64_t usec;
    uint64_t rejected;
    uint64_t failed;
};

const struct command *command_lookup(struct slice name);
/* The table in its order; count commands. */
const struct command *command_table(size_t *count);
struct command_stats *command_stats(const struct command *cmd);
void command_stats_reset(void);

/* After the configuration was read. */
void command_init(void);
/* The hook for client.h: checks and runs one request. False: not yet, see
 * enum command_order; offer it again when a request of the client has ended. */
bool command_exec(struct client *c, struct req *r);
/* Calls the handler of r, whose cmd is known and may run, and counts it. */
void command_run(struct client *c, struct req *r);
/* May r, whose cmd is known, start beside what is under way for c? */
bool command_may_start(const struct client *c, const struct req *r);
/* Have the arguments that cmd does not take as long ones at most NAME_MAX_BYTES? False when it has replied the
 * error; the request goes on. */
bool command_names_fit_or_reply(struct req *r, const struct command *cmd) MUST_CHECK;
/* Does arity allow argc arguments, the name included? */
bool command_arity_fits(const struct command *cmd, int argc);
/* Has c given the password, or is none asked for? */
bool command_authenticated(const struct client *c);
/* Is argument i of r a password, not to be shown anywhere? r->cmd is known. */
bool command_arg_is_secret(const struct req *r, int i);

/* Handlers, one per row. */
#define CMD(id, ...) void cmd_##id(struct req *r);
#include "commands/commands.def"
#undef CMD

#endif
