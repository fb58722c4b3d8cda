#ifndef COMMAND_SPEC_H
#define COMMAND_SPEC_H

struct req;

/* A row of the table of commands: commands.def. */
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

#endif
