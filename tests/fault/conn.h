#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include "base/buf.h"
#include "base/util.h"

/* A client's connection. If it breaks, the client connects again: to the next server, if there are several, and a while
 * later to its own. The history has every command and its end. A command without a reply ends as unknown. The new
 * connection has a new number. */
#define CONN_DEPTH 64
#define CONN_SERVERS_MOST 8

struct conn;

struct conn_role {
    /* Connected, or a wait is over, or a reply was dealt with: may send. */
    void (*step)(struct conn *c);
    /* A reply that is no error. The history has it already. */
    void (*reply)(struct conn *c, char verb, const redisReply *reply);
    /* The results of all commands under way are unknown now. */
    void (*lost)(struct conn *c);
};

struct pending {
    uint64_t op;
    char verb;
    uint64_t token; /* of an ADDJOB */
    bool is_quiet;
    uint64_t second; /* the other command of an EXEC; 0: no EXEC */
    int64_t begun;
};

struct conn {
    const struct conn_role *role;
    void *data;      /* the role's */
    unsigned serial; /* which of the role's connections it is */
    unsigned number; /* in the history; changes with every connection */
    unsigned home;   /* its own server */
    unsigned server; /* where it is, or is about to go */
    int64_t home_at; /* when away: it goes home from then on, when nothing is under way */
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

/* Connections go to these ports of the host, each a server; at once and after every break. */
void conn_init(struct event_base *base, const char *host, const int *ports, unsigned count);
struct conn *conn_new(const struct conn_role *role, unsigned serial, void *data);
void conn_free(struct conn *c);
/* Closes it as a client does that dies; it comes back. */
void conn_kill(struct conn *c, const char *why);
/* Leaves a server that has not answered for very long, if there is another server. */
void conn_lose_patience(struct conn *c);
/* Goes home now, if it is away and nothing is under way. */
void conn_go_home(struct conn *c);
/* Calls step() at that time (history_clock()). */
void conn_wake_at(struct conn *c, int64_t at);
bool conn_idle(const struct conn *c);

/* Begins a command in the history; the caller prints its details there, then conn_send()s it. */
void conn_begin(struct conn *c, char verb, uint64_t token);
void conn_send(struct conn *c, int argc, const struct slice *argv);

/* Sends a command without an entry in the history, because its reply has no meaning of its own: MULTI, and queued
 * commands. */
void conn_send_quietly(struct conn *c, int argc, const struct slice *argv);
/* Begins the second command of a transaction, whose details follow. Call it between conn_begin() with its details and
 * conn_send(), which sends EXEC. The role gets the reply of the first command. */
void conn_begin_second(struct conn *c, char verb);

/* The number of sent commands, and of those with a good reply. */
extern uint64_t conn_sent, conn_good;

/* How many servers there are. */
extern unsigned conn_servers;

#endif
