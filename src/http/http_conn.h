#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include "base/list.h"
#include "base/util.h"
#include "http/page_session.h"
#include "jobs/undelivered.h"

/*
 * The connections of HTTP: their bound, their deadlines, and their end.
 *
 * evhttp reports the end of a connection only after its first request. Therefore a table has a reference to the stream
 * of each connection. If HTTP_CLIENTS_MAX connections are open, the next one replaces the one that has waited for the
 * longest time: without a request, or for its login, because a wrong password is answered late.
 */
#define HTTP_CLIENTS_MAX 256
/* A connection is closed if it sends no whole request within this time. */
#define HTTP_REQUEST_TIMEOUT_S 30

struct event_stream;
struct gateway;

/* A connection that has sent a request. evhttp reads its next request after the reply to the last one. */
struct http_conn {
    struct list in_open;
    struct list in_waiting; /* the request waits for a turn with time for it */
    struct evhttp_connection *evcon;
    struct evhttp_request *req;     /* the request in progress; NULL: none */
    int64_t began_us;               /* clock_mono() when it arrived */
    struct gateway *run;            /* its commands; NULL: none */
    struct undelivered_list unsent; /* deliveries in the reply, until its first byte is written */
    struct event_stream *events;    /* the stream of events that is its reply; NULL: none */
    struct event *readable;         /* watches the socket during a request */
    bool is_single;                 /* the request is one command, and the reply is that to the command */
    /* Sends the commands of the request when it is logged in; NULL: they are sent. */
    void (*on_login)(struct http_conn *c);
    /* Replies to the request, from the replies to its commands. */
    void (*answer)(struct http_conn *c, struct slice replies);
    bool has_session; /* the request has the cookie of this session of the page */
    unsigned char session[PAGE_KEY_BYTES];
    unsigned char password[PASSWORD_HASH_BYTES]; /* the hash of the password of a login */
    char peer[64]; /* the addresses of the peer and of this server, as in struct client */
    char own[64];
};

/* on_close is called before a connection is freed. */
void http_conns_init(struct event_base *base, struct evhttp *server, void (*on_close)(struct http_conn *c));
/* Counts the connections of the listener. At most HTTP_LISTENERS_MAX. */
#define HTTP_LISTENERS_MAX 32
void http_conns_watch(struct evconnlistener *listener);
/* Forgets the listeners, which the caller then frees. */
void http_conns_unwatch(void);
/* Called after the server was freed, and all connections with it. */
void http_conns_stop(void);

/* The connection of a request that begins. */
struct http_conn *http_conn_begin(struct evhttp_request *req);
/* Takes the request off its connection, because it gets its reply now. reply_len: the bytes of the reply's body. */
struct evhttp_request *http_conn_end(struct http_conn *c, size_t reply_len);
int http_conn_fd(const struct http_conn *c);
/* True if no request is in progress and every reply is written. */
bool http_conns_are_idle(void);
/* Call it once in a turn: accepts connections again if some have ended, and counts the memory of all. It disconnects
 * those with the longest requests while the requests without a reply exceed HTTP_REQUESTS_MAX. It does the same with
 * unread replies and HTTP_UNREAD_MAX. */
#define HTTP_REQUESTS_MAX ((size_t)64 * 1024 * 1024)
#define HTTP_UNREAD_MAX ((size_t)64 * 1024 * 1024)
void http_conns_turn(void);
/* The number of connections whose commands are logged in, events included. */
size_t http_conns_running(void);
/* The number of connections among them that belong to the user, events not included. */
size_t http_conns_running_as(const struct user *u);
/* The number of connections that have sent a request and come from the machine of c. */
size_t http_conns_of_peer(const struct http_conn *c);

#endif
