#ifndef GATEWAY_H
#define GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>
#include "acl/user.h"
#include "base/util.h"
#include "jobs/undelivered.h"

/*
 * Runs commands for HTTP requests. A gateway is a client of this server over a pair of sockets. All rules of clients
 * therefore hold for it: rights, limits, order, and a reply after the commit. Its replies are of RESP3.
 */
struct gateway;

/* Maximum size of the replies that have not been passed on, and of their values: they become JSON in one turn. */
#define GATEWAY_REPLY_MAX ((size_t)8 * 1024 * 1024)
#define GATEWAY_VALUES_MAX 400000

enum gateway_result {
    GATEWAY_REPLIED,   /* replies has the replies to all commands, errors included */
    GATEWAY_REFUSED,   /* replies is the error to the login */
    GATEWAY_CLOSED,    /* the connection ended before the replies: the commands may have been executed */
    GATEWAY_TOO_LARGE, /* the replies exceed GATEWAY_REPLY_MAX or GATEWAY_VALUES_MAX */
};

struct gateway_call {
    struct slice user; /* empty: no login; the client has given no password */
    struct slice password;
    struct user *as;  /* a user who is logged in already; NULL: none */
    const char *peer; /* the addresses of the client: those of its HTTP connection, as in struct client */
    const char *own;
    /* Called when all commands that were sent have their replies, or when the gateway has failed. It may close the
     * gateway; it must if result is not GATEWAY_REPLIED. replies lives until it returns. */
    void (*done)(void *arg, enum gateway_result result, struct slice replies);
    void *arg;
};

/* Connects the client and logs it in. NULL: the process has no file descriptor left. */
struct gateway *gateway_open(struct event_base *base, const struct gateway_call *call) MUST_CHECK;
/* True if the login has its reply. */
bool gateway_has_entered(const struct gateway *g);
/* The user of the client; NULL if the client was disconnected. */
struct user *gateway_user(const struct gateway *g);
/* Sends a command. The words are copied. */
void gateway_send(struct gateway *g, const struct slice *words, size_t count);
/* Moves the deliveries in the replies to an empty list. Call it in done(), before it replies to the request. */
void gateway_take_unsent(struct gateway *g, struct undelivered_list *to);
/* Disconnects the client. A command that has begun is not undone, but jobs in replies that were not taken are put back. */
void gateway_close(struct gateway *g);

#endif
