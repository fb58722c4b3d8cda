/* Runs commands for HTTP requests, each as a client over a pair of sockets. */
#include "http/gateway.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "base/buf.h"
#include "http/reply_json.h"
#include "http/reply_scan.h"
#include "jobs/undelivered.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/connection.h"
#include "net/resp.h"

struct gateway {
    struct bufferevent *stream;
    struct buf replies; /* bytes that are not passed on */
    struct reply_scan scan;
    struct undelivered_list unsent; /* deliveries in replies that are not passed on */
    uint64_t client_id;             /* 0: there were too many clients */
    size_t awaited;                 /* replies that are still to come, that to HELLO included */
    bool entered;                   /* the reply to HELLO was read */
    void (*done)(void *arg, enum gateway_result result, struct slice replies);
    void *arg;
};

/* Call it after the buffer of the replies has changed. */
static void gateway_count_replies(const struct gateway *g) {
    struct client *c = client_by_id(g->client_id);

    if (c != NULL)
        client_count_replies(c, g->replies.cap);
}

/* libevent closes the socket later, and the client may write to it until then. */
static void return_jobs(struct gateway *g) {
    struct client *c = client_by_id(g->client_id);

    shutdown(bufferevent_getfd(g->stream), SHUT_RDWR);
    if (c != NULL)
        undelivered_gateway_closed(c);
    else
        undelivered_list_return(&g->unsent);
}

void gateway_close(struct gateway *g) {
    return_jobs(g);
    bufferevent_free(g->stream);
    buf_free(&g->replies);
    gateway_count_replies(g);
    free(g);
}

static struct slice received(const struct gateway *g) {
    return (struct slice){ buf_ptr(&g->replies), buf_len(&g->replies) };
}

/* Removes the reply to HELLO. Returns false if it is an error: the gateway has failed. */
static bool enter(struct gateway *g) {
    struct slice error;

    g->entered = true;
    if (reply_is_error(received(g), &error)) {
        g->done(g->arg, GATEWAY_REFUSED, received(g));
        return false;
    }
    buf_consume(&g->replies, g->scan.at);
    g->scan = (struct reply_scan){ 0 };
    return true;
}

/* Passes the replies on. They are removed and not counted any more, because done() may close the gateway. */
static void pass_on(struct gateway *g) {
    struct buf replies = g->replies;

    g->replies = (struct buf){ 0 };
    gateway_count_replies(g);
    g->scan = (struct reply_scan){ 0 };
    g->done(g->arg, GATEWAY_REPLIED, (struct slice){ buf_ptr(&replies), buf_len(&replies) });
    buf_free(&replies);
}

static void gateway_take_replies(struct gateway *g) {
    while (g->awaited > 0) {
        enum reply_scan_result result = reply_scan_next(&g->scan, received(g));

        if (result == REPLY_BROKEN || g->scan.values > GATEWAY_VALUES_MAX) {
            g->done(g->arg, result == REPLY_BROKEN ? GATEWAY_CLOSED : GATEWAY_TOO_LARGE, SLICE(""));
            return;
        }
        if (result != REPLY_COMPLETE)
            return;
        g->awaited--;
        if (!g->entered && !enter(g))
            return;
    }
    pass_on(g);
}

static void gateway_on_bytes(struct bufferevent *stream, void *arg) {
    struct gateway *g = arg;
    struct evbuffer *input = bufferevent_get_input(stream);
    size_t length = evbuffer_get_length(input);

    if (length == 0 || g->awaited == 0)
        return;
    if (buf_len(&g->replies) + length > GATEWAY_REPLY_MAX) {
        g->done(g->arg, GATEWAY_TOO_LARGE, SLICE(""));
        return;
    }
    evbuffer_remove(input, buf_reserve(&g->replies, length), length);
    buf_added(&g->replies, length);
    gateway_count_replies(g);
    gateway_take_replies(g);
}

static void gateway_on_event(struct bufferevent *stream, short what, void *arg) {
    struct gateway *g = arg;

    (void)stream;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        g->done(g->arg, GATEWAY_CLOSED, SLICE(""));
}

void gateway_send(struct gateway *g, const struct slice *words, size_t count) {
    struct buf command = { 0 };

    resp_array(&command, count);
    for (size_t i = 0; i < count; i++)
        resp_bulk(&command, words[i]);
    evbuffer_add(bufferevent_get_output(g->stream), buf_ptr(&command), buf_len(&command));
    buf_free(&command);
    g->awaited++;
}

struct gateway *gateway_open(struct event_base *base, const struct gateway_call *call) {
    const struct slice hello[] = { SLICE("HELLO"), SLICE("3"), SLICE("AUTH"), call->user, call->password };
    struct gateway *g;
    struct client *c;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    g = xcalloc(1, sizeof *g);
    g->done = call->done;
    g->arg = call->arg;
    g->stream = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    bufferevent_setcb(g->stream, gateway_on_bytes, NULL, gateway_on_event, g);
    gateway_send(g, hello, call->user.len == 0 ? 2 : LENGTH(hello));
    bufferevent_enable(g->stream, EV_READ | EV_WRITE);
    c = client_accept_for(ends[1], call->peer, call->own);
    g->client_id = c == NULL ? 0 : c->id;
    if (c != NULL)
        c->to_pass_on = &g->unsent;
    if (c != NULL && call->as != NULL)
        connection_log_in_or_close(c, call->as);
    return g;
}

void gateway_take_unsent(struct gateway *g, struct undelivered_list *to) {
    undelivered_list_take(to, &g->unsent, client_by_id(g->client_id));
}

bool gateway_has_entered(const struct gateway *g) {
    return g->entered;
}

struct user *gateway_user(const struct gateway *g) {
    const struct client *c = client_by_id(g->client_id);

    return c == NULL ? NULL : c->user;
}
