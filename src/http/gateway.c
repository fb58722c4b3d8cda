/* Runs commands for HTTP requests, each as a client over a pair of sockets. */
#include "http/gateway.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "net/client.h"

struct gateway {
    struct bufferevent *stream;
    struct redisReader *reader;
    size_t received;
    bool entered; /* the reply to HELLO was read */
    void (*done)(void *arg, enum gateway_result result, const struct redisReply *reply);
    void *arg;
};

static void gateway_free(struct gateway *g) {
    bufferevent_free(g->stream);
    redisReaderFree(g->reader);
    free(g);
}

static void gateway_end(struct gateway *g, enum gateway_result result, const struct redisReply *reply) {
    g->done(g->arg, result, reply);
    gateway_free(g);
}

/* Returns false if g is freed. */
static bool gateway_take_reply(struct gateway *g, struct redisReply *reply) {
    bool refused = !g->entered && reply->type == REDIS_REPLY_ERROR;
    bool last = g->entered || refused;

    g->entered = true;
    if (last)
        gateway_end(g, refused ? GATEWAY_REFUSED : GATEWAY_REPLIED, reply);
    freeReplyObject(reply);
    return !last;
}

static void gateway_on_bytes(struct bufferevent *stream, void *arg) {
    struct gateway *g = arg;
    struct evbuffer *input = bufferevent_get_input(stream);
    size_t length = evbuffer_get_length(input);
    void *reply = NULL;

    g->received += length;
    if (g->received > GATEWAY_REPLY_MAX) {
        gateway_end(g, GATEWAY_TOO_LARGE, NULL);
        return;
    }
    redisReaderFeed(g->reader, (const char *)evbuffer_pullup(input, -1), length);
    evbuffer_drain(input, length);
    do {
        if (redisReaderGetReply(g->reader, &reply) != REDIS_OK) {
            gateway_end(g, GATEWAY_CLOSED, NULL);
            return;
        }
    } while (reply != NULL && gateway_take_reply(g, reply));
}

static void gateway_on_event(struct bufferevent *stream, short what, void *arg) {
    (void)stream;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        gateway_end(arg, GATEWAY_CLOSED, NULL);
}

static void send_command(struct evbuffer *out, const struct slice *words, size_t count) {
    evbuffer_add_printf(out, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        evbuffer_add_printf(out, "$%zu\r\n", words[i].len);
        evbuffer_add(out, words[i].ptr, words[i].len);
        evbuffer_add(out, "\r\n", 2);
    }
}

static void send_call(struct evbuffer *out, const struct gateway_call *call) {
    const struct slice hello[] = { SLICE("HELLO"), SLICE("2"), SLICE("AUTH"), call->user, call->password };

    send_command(out, hello, call->user.len == 0 ? 2 : LENGTH(hello));
    send_command(out, call->words, call->count);
}

struct gateway *gateway_start(struct event_base *base, const struct gateway_call *call) {
    struct gateway *g;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    g = xcalloc(1, sizeof *g);
    g->done = call->done;
    g->arg = call->arg;
    g->reader = redisReaderCreate();
    g->stream = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    bufferevent_setcb(g->stream, gateway_on_bytes, NULL, gateway_on_event, g);
    send_call(bufferevent_get_output(g->stream), call);
    bufferevent_enable(g->stream, EV_READ | EV_WRITE);
    client_accept(ends[1], SOCKET_UNIX);
    return g;
}

void gateway_cancel(struct gateway *g) {
    gateway_free(g);
}
