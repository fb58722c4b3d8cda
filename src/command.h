/* layer 4 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include "client.h"
#include "req.h"

/*
 * The one table of commands (commands.def): lookup, arity, authentication,
 * COMMAND, COMMAND DOCS, and per-command counters all read it. A new command
 * is one row there and one handler.
 */
enum command_flag {
    CMD_WRITE = 1 << 0,
    CMD_READONLY = 1 << 1,
    CMD_DENYOOM = 1 << 2,
    CMD_ADMIN = 1 << 3,
    CMD_LOADING = 1 << 4, /* also while the database is not there yet */
    CMD_FAST = 1 << 5,
    CMD_NOAUTH = 1 << 6, /* also before AUTH */
    CMD_BLOCKING = 1 << 7,
    CMD_NO_MULTI = 1 << 8,   /* refused between MULTI and EXEC */
    CMD_LISTENING = 1 << 10, /* also while a RESP2 client listens to channels */
    CMD_JOINS = 1 << 9,      /* its statement, of the request's own task, can be part of a transaction */
};

/* From this argument on, arguments may be bodies, elements, messages or other long bytes. Arguments before it,
 * or all without it, are names, IDs, numbers and words, and have at most NAME_MAX_BYTES. */
#define CMD_LONG_FROM(place) ((unsigned)(place) << CMD_LONG_SHIFT)
#define CMD_LONG_SHIFT 16

/*
 * What may be under way for the same client when this command starts. A client's
 * pipelined commands must act as if they ran one after the other. Commands of
 * one turn travel in one transaction, adds before acks before claims; so an ACKJOB
 * may join an ADDJOB that has not been sent, a GETJOB such ACKJOBs, and every other
 * sequence waits until the earlier requests have ended.
 */
enum command_order {
    ORDER_ALONE, /* waits until every earlier request has ended */
    ORDER_ADD,   /* joins adds */
    ORDER_ACK,   /* joins acks */
    ORDER_GET,   /* joins acks that are not sent yet */
    ORDER_READ,  /* joins reads of the same command */
};

struct command {
    const char *name; /* lower case */
    int arity;        /* as Redis: -n means at least n; 0: any count */
    unsigned flags;   /* enum command_flag */
    enum command_order order;
    void (*handler)(struct req *r);
    const char *group;   /* "job", "queue", "key", "connection", "server", "cluster" ... */
    const char *args;    /* synopsis after the name */
    const char *summary; /* one sentence */
};

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
/* Until then, commands without CMD_LOADING are answered with -LOADING. */
void command_set_loading(bool loading);
bool command_is_loading(void);

/* Handlers, one per row. */
#define CMD(id, ...) void cmd_##id(struct req *r);
#include "commands.def"
#undef CMD

#endif
