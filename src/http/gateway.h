#ifndef GATEWAY_H
#define GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include "base/util.h"

/*
 * Runs commands for HTTP requests. Each run is a client of this server over a pair of sockets. All rules of clients
 * therefore hold for it: rights, limits, order, and a reply after the commit.
 */
struct gateway;

/* Maximum size of the replies of a run. */
#define GATEWAY_REPLY_MAX ((size_t)8 * 1024 * 1024)

enum gateway_result {
    GATEWAY_REPLIED,   /* reply is the reply to the command; it may be an error */
    GATEWAY_REFUSED,   /* reply is the error to the login */
    GATEWAY_CLOSED,    /* the connection ended before the reply: the command may have been executed */
    GATEWAY_TOO_LARGE, /* the reply exceeds GATEWAY_REPLY_MAX */
};

struct gateway_call {
    struct slice user; /* empty: no login; the run is a client that has given no password */
    struct slice password;
    const struct slice *words; /* the command, words[count] */
    size_t count;
    /* Called once, unless the run is cancelled. reply lives until it returns; NULL if there is none. */
    void (*done)(void *arg, enum gateway_result result, const struct redisReply *reply);
    void *arg;
};

/* The words are copied. NULL: the process has no file descriptor left. */
struct gateway *gateway_start(struct event_base *base, const struct gateway_call *call) MUST_CHECK;
/* Disconnects the client. A command that has begun is not undone. */
void gateway_cancel(struct gateway *g);

#endif
