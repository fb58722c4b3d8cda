#ifndef COMMAND_SPEC_H
#define COMMAND_SPEC_H

struct req;

/* The flags of a command in the table of commands: commands.def. */
enum command_flag {
    CMD_WRITE = 1 << 0,
    CMD_READONLY = 1 << 1,
    CMD_DENYOOM = 1 << 2,
    CMD_ADMIN = 1 << 3,
    CMD_LOADING = 1 << 4, /* runs also before the database is connected */
    CMD_FAST = 1 << 5,
    CMD_NOAUTH = 1 << 6, /* runs also before AUTH */
    CMD_BLOCKING = 1 << 7,
    CMD_NO_MULTI = 1 << 8,   /* refused between MULTI and EXEC */
    CMD_LISTENING = 1 << 10, /* runs also while a RESP2 client is subscribed */
    /* it has one statement, in the request's own task, which can be part of a client transaction */
    CMD_JOINS = 1 << 9,
    /* The access to the queues among its arguments, if it is not that of CMD_READONLY (read) or CMD_WRITE (both). */
    CMD_KEYS_READ = 1 << 11,  /* takes or shows jobs */
    CMD_KEYS_WRITE = 1 << 12, /* adds jobs */
    CMD_KEYS_MOVE = 1 << 13,  /* takes from the first queue and adds to the others */
    CMD_DANGEROUS = 1 << 14,  /* in the category @dangerous, as all CMD_ADMIN are */
    CMD_UNCOUNTED = 1 << 15,  /* needs no counters of queues: runs also while the jobs are counted */
};

/* The first argument that may be a body, an element, a message or other long bytes. All arguments before it
 * are names, IDs, numbers and words, of at most NAME_MAX_BYTES. Without this flag that holds for all
 * arguments. */
#define CMD_LONG_FROM(place) ((unsigned)(place) << CMD_LONG_SHIFT)
#define CMD_LONG_SHIFT 16

/*
 * Which requests of the same client may not have ended when this command starts. Pipelined commands must act as
 * if they ran one after the other. The commands of a turn share a transaction, with adds before
 * acknowledgements before claims. So a GETJOB may start beside ACKJOBs that are not sent yet. An ACKJOB waits for
 * ADDJOBs: joins_acks() in dispatch.c has the reason. In every other sequence the command waits until the earlier
 * requests have ended.
 */
enum command_order {
    ORDER_ALONE, /* starts after every earlier request has ended */
    ORDER_ADD,   /* may start beside adds; a large add starts alone */
    ORDER_ACK,   /* may start beside acknowledgements */
    ORDER_GET,   /* may start beside acknowledgements that are not sent yet */
    ORDER_READ,  /* may start beside requests of the same command, unless they are heavy: reads, DELJOB */
};

struct command {
    unsigned short id; /* its index in the table, and its right: acl/right.h */
    const char *name;  /* lower case */
    int arity;         /* as in Redis: -n means at least n; 0: any number */
    unsigned flags;    /* enum command_flag */
    enum command_order order;
    void (*handler)(struct req *r);
    const char *group;   /* "job", "queue", "key", "connection", "server", "cluster" ... */
    const char *args;    /* synopsis after the name */
    const char *summary; /* a sentence */
};

#endif
