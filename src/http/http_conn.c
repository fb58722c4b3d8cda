/* The connections of HTTP: their bound, their deadlines, and their end. */
#include "http/http_conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <event2/buffer.h>
#include <event2/listener.h>

#include "base/clock.h"
#include "base/timer.h"
#include "config/memory_budget.h"
#include "http/gateway.h"
#include "net/sockets.h"

#define SWEEP_US (US_PER_S / 2)
/* A client that reads its reply more slowly than this is disconnected. */
#define READING_US (60 * US_PER_S)

struct http_stream {
    struct bufferevent *bev;
    int64_t since_us; /* clock_mono() since when no request is in progress; 0: one is */
    size_t received;  /* bytes since the last reply: the request with its body, until it has its reply */
    size_t reply_len; /* of the last reply */
    bool is_cut;      /* it was disconnected because of its memory */
};

static struct {
    struct event_base *base;
    void (*on_close)(struct http_conn *c);
    struct evconnlistener *listeners[HTTP_LISTENERS_MAX];
    size_t listener_count;
    struct list open; /* struct http_conn: the connections that have sent a request */
    struct http_stream streams[HTTP_CLIENTS_MAX];
    size_t count;
    size_t counted; /* bytes of MEMORY_HTTP */
    struct timer sweep;
} conns = { .open = { &conns.open, &conns.open } };

static void sweep_later(void);

/* ---- the bound ---- */

/* Without room, further connections wait in the kernel. */
static void accept_if_room(void) {
    for (size_t i = 0; i < conns.listener_count; i++) {
        if (conns.count < HTTP_CLIENTS_MAX)
            evconnlistener_enable(conns.listeners[i]);
        else
            evconnlistener_disable(conns.listeners[i]);
    }
}

/* evhttp removes the callbacks of a stream when it frees the stream. */
static bool stream_has_ended(struct bufferevent *bev) {
    bufferevent_event_cb on_event;

    bufferevent_getcb(bev, NULL, NULL, &on_event, NULL);
    return on_event == NULL;
}

static void drop_ended_streams(void) {
    size_t kept = 0;

    for (size_t i = 0; i < conns.count; i++) {
        if (stream_has_ended(conns.streams[i].bev))
            bufferevent_decref(conns.streams[i].bev);
        else
            conns.streams[kept++] = conns.streams[i];
    }
    conns.count = kept;
    accept_if_room();
}

/* evhttp notices the end and frees the connection. */
static void disconnect_stream(const struct http_stream *s) {
    shutdown(bufferevent_getfd(s->bev), SHUT_RDWR);
}

static const struct http_stream *find_idlest(void) {
    const struct http_stream *oldest = NULL;

    for (size_t i = 0; i < conns.count; i++) {
        const struct http_stream *s = &conns.streams[i];

        if (s->since_us != 0 && (oldest == NULL || s->since_us < oldest->since_us))
            oldest = s;
    }
    return oldest;
}

/* The connection whose request has waited for its login for the longest time, or NULL. */
static const struct http_conn *find_longest_login(void) {
    const struct http_conn *oldest = NULL;

    LIST_EACH(node, &conns.open) {
        const struct http_conn *c = LIST_ENTRY(node, struct http_conn, in_open);

        if (c->run != NULL && !gateway_has_entered(c->run) &&
            (oldest == NULL || c->began_us < oldest->began_us))
            oldest = c;
    }
    return oldest;
}

static void disconnect_longest_waiting(void) {
    const struct http_stream *idle = find_idlest();
    const struct http_conn *login = find_longest_login();

    if (login != NULL && (idle == NULL || login->began_us < idle->since_us))
        shutdown(http_conn_fd(login), SHUT_RDWR);
    else if (idle != NULL)
        disconnect_stream(idle);
}

static struct http_stream *stream_of(const struct bufferevent *bev) {
    size_t i = 0;

    while (i < conns.count && conns.streams[i].bev != bev)
        i++;
    assert(i < conns.count);
    return &conns.streams[i];
}

/* evhttp moves the bytes elsewhere at once. */
static void on_received(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg) {
    (void)input;
    if (info->n_added > 0)
        stream_of(arg)->received += info->n_added;
}

/* Called by evhttp for each accepted connection. */
static struct bufferevent *new_stream(struct event_base *base, void *arg) {
    struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

    (void)arg;
    drop_ended_streams();
    bufferevent_incref(bev);
    evbuffer_add_cb(bufferevent_get_input(bev), on_received, bev);
    conns.streams[conns.count++] = (struct http_stream){ .bev = bev, .since_us = clock_mono() };
    if (conns.count == HTTP_CLIENTS_MAX)
        disconnect_longest_waiting();
    accept_if_room();
    sweep_later();
    return bev;
}

/* ---- memory ---- */

static bool is_writing(const struct http_stream *s) {
    return evbuffer_get_length(bufferevent_get_output(s->bev)) > 0;
}

/* The memory of a reply is free when its last byte is written. */
static size_t unread_of(const struct http_stream *s) {
    return is_writing(s) ? s->reply_len : 0;
}

static size_t received_of(const struct http_stream *s) {
    return s->received;
}

/* The stream with the most bytes, and the bytes of all. */
static struct http_stream *find_largest(size_t (*bytes_of)(const struct http_stream *s), size_t *total) {
    struct http_stream *largest = NULL;

    *total = 0;
    for (size_t i = 0; i < conns.count; i++) {
        struct http_stream *s = &conns.streams[i];

        if (s->is_cut)
            continue;
        *total += bytes_of(s);
        if (largest == NULL || bytes_of(s) > bytes_of(largest))
            largest = s;
    }
    return largest;
}

/* Disconnects the largest streams until the bytes of all are at most so many. Returns these bytes. */
static size_t bound_bytes(size_t (*bytes_of)(const struct http_stream *s), size_t most) {
    struct http_stream *largest;
    size_t total;

    while ((largest = find_largest(bytes_of, &total)) != NULL && total > most) {
        disconnect_stream(largest);
        largest->is_cut = true;
    }
    return total;
}

static void bound_memory(void) {
    size_t bytes = bound_bytes(received_of, HTTP_REQUESTS_MAX) + bound_bytes(unread_of, HTTP_UNREAD_MAX);

    memory_change(NULL, MEMORY_HTTP, conns.counted, bytes);
    conns.counted = bytes;
}

/* ---- deadlines ---- */

static bool is_too_slow(const struct http_stream *s) {
    return s->since_us != 0 &&
           clock_mono() - s->since_us > (is_writing(s) ? READING_US : HTTP_REQUEST_TIMEOUT_S * US_PER_S);
}

static void on_http_sweep(struct timer *t) {
    (void)t;
    drop_ended_streams();
    for (size_t i = 0; i < conns.count; i++) {
        if (is_too_slow(&conns.streams[i]))
            disconnect_stream(&conns.streams[i]);
    }
    sweep_later();
}

static void sweep_later(void) {
    if (conns.count > 0 && !timer_is_set(&conns.sweep))
        timer_set(&conns.sweep, clock_mono() + SWEEP_US, on_http_sweep);
}

/* ---- connections ---- */

static struct http_conn *http_conn_of(const struct evhttp_connection *evcon) {
    LIST_EACH(node, &conns.open) {
        struct http_conn *c = LIST_ENTRY(node, struct http_conn, in_open);

        if (c->evcon == evcon)
            return c;
    }
    return NULL;
}

int http_conn_fd(const struct http_conn *c) {
    return (int)bufferevent_getfd(evhttp_connection_get_bufferevent(c->evcon));
}

static struct evbuffer *http_output(struct evhttp_connection *evcon) {
    return bufferevent_get_output(evhttp_connection_get_bufferevent(evcon));
}

/* From the first byte of the reply on, the client may have received the jobs in it. */
static void on_http_written(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg) {
    struct http_conn *c = arg;

    (void)output;
    if (info->n_deleted > 0)
        undelivered_list_forget(&c->unsent);
}

static void on_http_close(struct evhttp_connection *evcon, void *arg) {
    struct http_conn *c = arg;

    conns.on_close(c);
    evbuffer_remove_cb(http_output(evcon), on_http_written, c);
    undelivered_list_return(&c->unsent);
    /* If evhttp cannot write a part of a reply, it takes the request off the connection and leaves it to its user. */
    if (c->req != NULL && evhttp_request_get_connection(c->req) == NULL)
        evhttp_request_free(c->req);
    event_free(c->readable);
    list_remove(&c->in_waiting);
    list_remove(&c->in_open);
    free(c);
}

/* evhttp does not read during a request, so it does not notice that the client disconnects. The next request may
 * arrive during this request. Then the connection is not watched any longer. */
static void on_http_readable(evutil_socket_t fd, short what, void *arg) {
    struct http_conn *c = arg;
    char byte;

    (void)what;
    if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
        evhttp_connection_free(c->evcon);
}

static struct http_conn *http_conn_add(struct evhttp_connection *evcon) {
    struct http_conn *c = xcalloc(1, sizeof *c);

    c->evcon = evcon;
    list_init(&c->in_waiting);
    c->readable = event_new(conns.base, http_conn_fd(c), EV_READ, on_http_readable, c);
    socket_names(http_conn_fd(c), false, c->peer, c->own, sizeof c->peer);
    list_push_back(&conns.open, &c->in_open);
    evbuffer_add_cb(http_output(evcon), on_http_written, c);
    evhttp_connection_set_closecb(evcon, on_http_close, c);
    return c;
}

static struct http_stream *stream_of_conn(const struct http_conn *c) {
    return stream_of(evhttp_connection_get_bufferevent(c->evcon));
}

struct http_conn *http_conn_begin(struct evhttp_request *req) {
    struct evhttp_connection *evcon = evhttp_request_get_connection(req);
    struct http_conn *c = http_conn_of(evcon);

    if (c == NULL)
        c = http_conn_add(evcon);
    c->req = req;
    c->began_us = clock_mono();
    c->has_session = false;
    stream_of_conn(c)->since_us = 0;
    return c;
}

struct evhttp_request *http_conn_end(struct http_conn *c, size_t reply_len) {
    struct evhttp_request *req = c->req;
    struct http_stream *s = stream_of_conn(c);

    c->req = NULL;
    event_del(c->readable);
    s->since_us = clock_mono();
    s->received = evbuffer_get_length(bufferevent_get_input(s->bev)); /* of the next requests */
    s->reply_len = reply_len;
    return req;
}

bool http_conns_are_idle(void) {
    drop_ended_streams();
    for (size_t i = 0; i < conns.count; i++) {
        if (conns.streams[i].since_us == 0 || is_writing(&conns.streams[i]))
            return false;
    }
    return true;
}

void http_conns_turn(void) {
    if (conns.count == HTTP_CLIENTS_MAX)
        drop_ended_streams();
    bound_memory();
}

static bool http_conn_runs(const struct http_conn *c) {
    return c->run != NULL && gateway_has_entered(c->run);
}

size_t http_conns_running(void) {
    size_t count = 0;

    LIST_EACH(node, &conns.open)
        count += http_conn_runs(LIST_ENTRY(node, struct http_conn, in_open));
    return count;
}

size_t http_conns_running_as(const struct user *u) {
    size_t count = 0;

    LIST_EACH(node, &conns.open) {
        const struct http_conn *c = LIST_ENTRY(node, struct http_conn, in_open);

        count += http_conn_runs(c) && c->events == NULL && gateway_user(c->run) == u;
    }
    return count;
}

size_t http_conns_of_peer(const struct http_conn *c) {
    size_t host = strlen(c->peer) - strlen(strrchr(c->peer, ':')) + 1;
    size_t count = 0;

    LIST_EACH(node, &conns.open)
        count += strncmp(LIST_ENTRY(node, struct http_conn, in_open)->peer, c->peer, host) == 0;
    return count;
}

/* ---- start and stop ---- */

void http_conns_init(struct event_base *base, struct evhttp *server, void (*on_close)(struct http_conn *c)) {
    conns.base = base;
    conns.on_close = on_close;
    evhttp_set_bevcb(server, new_stream, NULL);
}

void http_conns_watch(struct evconnlistener *listener) {
    conns.listeners[conns.listener_count++] = listener;
}

void http_conns_unwatch(void) {
    conns.listener_count = 0;
}

void http_conns_stop(void) {
    drop_ended_streams();
    timer_stop(&conns.sweep);
}
