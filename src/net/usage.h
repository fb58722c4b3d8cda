#ifndef USAGE_H
#define USAGE_H

#include "net/request.h"

/*
 * Errors about the arguments of a command. An error begins with the text of Redis or Disque and names the
 * argument. It ends with the synopsis of the command from commands.def:
 *
 *     ERR value is not an integer or out of range: got "x" for count. Usage: QPEEK queue count
 *
 * For a family such as CLIENT, the synopsis is that of the member. Quoted arguments are escaped and cut to 64
 * bytes. Do not quote an argument that may be a secret.
 */

/* Replies the error and the synopsis, and ends r. */
void usage_error(struct req *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Replies "unexpected x", with the option that x resembles. Ends r. */
void usage_unexpected(struct req *r, int at);
/* Replies "ERR syntax error: COUNT needs a value" for the option at argv[at]. Ends r. */
void usage_no_value(struct req *r, int at);
/* Replies error, and "got x for count" for argv[at]. Ends r. */
void usage_invalid(struct req *r, int at, const char *error);
/* The same without ending r. */
void usage_reply_invalid(struct req *r, int at, const char *error);

/* Replies "ERR wrong number of arguments for 'lpop' command". The caller ends r. */
void usage_reply_arity(struct req *r);
/* The name in upper case; valid until the next call. */
const char *usage_name(const struct command *cmd);
/* CLIENT HELP and similar commands: replies a line for each member of the family. Ends r. */
void usage_help(struct req *r);
/* The member that argv[1] resembles; empty if there is none. */
struct slice usage_nearest_member(const struct req *r);

#define SYNTAX_ERROR "ERR syntax error"
#define NOT_AN_INTEGER "ERR value is not an integer or out of range"

#endif
