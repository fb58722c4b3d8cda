#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include "buf.h"
#include "util.h"

/*
 * A client's connection, which comes back by itself when it breaks. Every command it sends and every
 * end goes into the history: what had no reply when the connection broke ended as unknown, and
 * another connection number is used from then on.
 */
#define CONN_DEPTH 64

struct conn;

struct conn_role {
    /* Connected, or a wait is over, or a reply was dealt with: may send. */
    void (*step)(struct conn *c);
    /* A reply that is no error. The history has it already. */
    void (*reply)(struct conn *c, char verb, const redisReply *reply);
    /* What was under way is unknown now. */
    void (*lost)(struct conn *c);
};

struct pending {
    uint64_t op;
    char verb;
    uint64_t token; /* of an ADDJOB */
};

struct conn {
    const struct conn_role *role;
    void *data;      /* the role's */
    unsigned serial; /* which of the role's connections it is */
    unsigned number; /* in the history; changes with every connection */
    int fd;          /* -1: not connected */
    bool connected;
    struct event *io;
    struct event *timer;
    int64_t not_before; /* says nothing until then */
    redisReader *reader;
    struct buf out;
    struct pending pending[CONN_DEPTH];
    unsigned first, count;
};

/* Connects to host:port, at once and after every break. */
void conn_init(struct event_base *base, const char *host, int port);
struct conn *conn_new(const struct conn_role *role, unsigned serial, void *data);
void conn_free(struct conn *c);
/* Closes it as a client does that dies; it comes back. */
void conn_kill(struct conn *c, const char *why);
/* Calls step() at that time (history_clock()). */
void conn_wake_at(struct conn *c, int64_t at);
bool conn_idle(const struct conn *c);

/* Begins a command in the history; the caller prints its details there, then conn_send()s it. */
void conn_begin(struct conn *c, char verb, uint64_t token);
void conn_send(struct conn *c, int argc, const struct slice *argv);

/* Commands that were sent, and those that ended with a good reply. */
extern uint64_t conn_sent, conn_good;

#endif
