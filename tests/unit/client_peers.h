#ifndef CLIENT_PEERS_H
#define CLIENT_PEERS_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "config/config.h"
#include "net/client.h"

/*
 * client.c between socket pairs and a few commands of its own:
 *
 *     ECHO x    replies x at once            LATER n   ends by later_end(n)
 *     BIG n     replies n bytes at once      ALONE x   as ECHO, after all earlier ones
 *     SILENT x  as ECHO, without a reply     WAIT n    as LATER, and is told to wait
 *     QUIT      +OK, and closes              DIE       kills its client in the middle
 *     DIEHELD   the same, and is held        SLOW x   as ECHO, and takes a millisecond
 */
#define LATERS 64

static struct {
    struct event_base *base;
    struct req *later[LATERS];
    int offered;            /* commands passed up; held ones count each time */
    int started;            /* without the held ones */
    int closed;             /* on_close() calls */
    int written;            /* on_written() calls */
    int placed;             /* on_placed() calls */
    uint64_t waits[LATERS]; /* IDs of clients */
} peers;

static inline void later_end(int n) {
    struct req *r = peers.later[n];
    char text[16];

    assert_non_null(r);
    peers.later[n] = NULL;
    peers.waits[n] = 0;
    snprintf(text, sizeof text, "%d", n);
    reply_status(r, text);
    req_end(r);
}

/* ---- commands ---- */

static inline int arg_number(const struct req *r) {
    int64_t n = 0;

    assert_true(r->argc > 1 && parse_int_strict(r->argv[1], &n));
    return (int)n;
}

static inline bool run_echo(struct client *c, struct req *r) {
    (void)c;
    reply_bulk(r, r->argv[1]);
    req_end(r);
    return true;
}

static inline bool run_alone(struct client *c, struct req *r) {
    return c->req_count == 1 && run_echo(c, r);
}

static inline bool run_silent(struct client *c, struct req *r) {
    r->silent = true;
    r->out = &r->own;
    return run_echo(c, r);
}

static inline bool run_big(struct client *c, struct req *r) {
    size_t len = (size_t)arg_number(r);
    char *bytes = malloc(len);

    (void)c;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)('a' + i % 26);
    reply_bulk(r, (struct slice){ bytes, len });
    free(bytes);
    req_end(r);
    return true;
}

static inline bool run_later(struct client *c, struct req *r) {
    (void)c;
    assert_null(peers.later[arg_number(r)]);
    peers.later[arg_number(r)] = r;
    return true;
}

static inline bool run_wait(struct client *c, struct req *r) {
    peers.waits[arg_number(r)] = c->id;
    return run_later(c, r);
}

static inline bool run_quit(struct client *c, struct req *r) {
    client_close_after_replies(c);
    req_ok(r);
    return true;
}

static inline bool run_die(struct client *c, struct req *r) {
    client_kill(c, "it asked for it");
    req_ok(r);
    return true;
}

static inline bool run_slow(struct client *c, struct req *r) {
    int64_t end = clock_mono_now() + US_PER_MS;

    while (clock_mono_now() < end)
        continue;
    return run_echo(c, r);
}

static inline bool run_die_held(struct client *c, struct req *r) {
    (void)r;
    client_kill(c, "it asked for it");
    return false;
}

static inline bool peers_on_command(struct client *c, struct req *r) {
    static const struct {
        const char *name;
        bool (*run)(struct client *c, struct req *r);
    } commands[] = {
        { "ECHO", run_echo },        { "ALONE", run_alone }, { "SILENT", run_silent }, { "BIG", run_big },
        { "LATER", run_later },      { "WAIT", run_wait },   { "QUIT", run_quit },     { "DIE", run_die },
        { "DIEHELD", run_die_held }, { "SLOW", run_slow },
    };

    peers.offered++;
    assert_ptr_equal(r->client, c);
    assert_int_equal(c->state, CLIENT_OPEN);
    for (size_t i = 0; i < LENGTH(commands); i++) {
        if (slice_is(r->argv[0], commands[i].name)) {
            bool taken = commands[i].run(c, r);

            peers.started += taken;
            return taken;
        }
    }
    req_error(r, "ERR unknown");
    return true;
}

static inline bool peers_is_waiting(const struct client *c) {
    for (size_t i = 0; i < LATERS; i++)
        if (peers.waits[i] == c->id)
            return true;
    return false;
}

static inline void peers_on_close(struct client *c) {
    assert_int_equal(c->state, CLIENT_DEAD);
    for (size_t i = 0; i < LATERS; i++)
        if (peers.waits[i] == c->id)
            peers.waits[i] = 0;
    peers.closed++;
}

static inline void peers_on_written(struct client *c) {
    (void)c;
    peers.written++;
}

static inline void peers_on_placed(struct client *c, const struct req *r) {
    (void)c;
    assert_true(r->has_jobs);
    peers.placed++;
}

/* ---- the turn ---- */

/* A client ends the round of events if the share of a turn is over. The other events come in the next round. */
static inline void one_turn(void) {
    clock_turn();
    do
        event_base_loop(peers.base, EVLOOP_NONBLOCK);
    while (event_base_got_break(peers.base));
    clients_resume();
    clients_flush();
    clients_reap();
}

/* As if a turn were never too short, however slow the machine is. */
static inline void turn(void) {
    do
        one_turn();
    while (clients_pending());
}

/* Until nothing happens any more. */
static inline void turns(void) {
    for (int i = 0; i < 4 || clients_pending(); i++) {
        assert_true(i < 1000);
        turn();
    }
}

/* ---- the other side ---- */

struct peer {
    int fd;
    uint64_t id;
    struct buf got;
    bool closed;
};

static inline struct client *client_of(const struct peer *p) {
    return client_by_id(p->id);
}

static inline void peer_open(struct peer *p) {
    static uint64_t ids;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    *p = (struct peer){ .fd = fds[0] };
    client_accept(fds[1], SOCKET_UNIX);
    while (p->id == 0 && ++ids < UINT32_MAX)
        p->id = client_by_id(ids) != NULL ? ids : 0;
}

/* As much as the socket takes; tells how much. */
static inline size_t peer_send_some(struct peer *p, struct slice bytes) {
    ssize_t sent = send(p->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

    assert_true(sent > 0 || errno == EAGAIN || errno == EPIPE);
    return sent > 0 ? (size_t)sent : 0;
}

static inline void peer_send(struct peer *p, const char *text) {
    struct slice rest = slice_str(text);

    assert_int_equal(peer_send_some(p, rest), rest.len);
    turns();
}

static inline void peer_send_no_more(struct peer *p) {
    assert_int_equal(shutdown(p->fd, SHUT_WR), 0);
    turns();
}

static inline void peer_read(struct peer *p) {
    ssize_t got = 1;

    while (got > 0 && !p->closed) {
        got = read(p->fd, buf_reserve(&p->got, 65536), 65536);
        if (got > 0)
            buf_added(&p->got, (size_t)got);
        else if (got == 0 || errno != EAGAIN)
            p->closed = true;
    }
}

static inline void peer_close(struct peer *p) {
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    buf_free(&p->got);
}

/* All that has come since the last look. */
static inline void assert_got_bytes(struct peer *p, const char *bytes, size_t len) {
    peer_read(p);
    assert_int_equal(buf_len(&p->got), len);
    if (len > 0)
        assert_memory_equal(buf_ptr(&p->got), bytes, len);
    buf_reset(&p->got, SIZE_MAX);
}

#define assert_got(p, text) assert_got_bytes(p, text, strlen(text))

static inline void assert_open(struct peer *p) {
    peer_read(p);
    assert_false(p->closed);
    assert_non_null(client_of(p));
}

static inline void assert_closed(struct peer *p) {
    peer_read(p);
    assert_true(p->closed);
    assert_null(client_of(p));
}

/* ---- life ---- */

static inline int peers_start(void **state) {
    static const struct client_hooks hooks = { .on_command = peers_on_command,
                                               .is_waiting = peers_is_waiting,
                                               .on_close = peers_on_close,
                                               .on_written = peers_on_written,
                                               .on_placed = peers_on_placed };

    (void)state;
    memset(&peers, 0, sizeof peers);
    config_defaults();
    log_set_level(LOG_WARNING_);
    clock_turn();
    peers.base = event_base_new();
    client_init(peers.base, &hooks);
    return 0;
}

/* Requests that have lost their client still end. */
static inline void end_all_laters(void) {
    for (int n = 0; n < LATERS; n++)
        if (peers.later[n] != NULL)
            later_end(n);
}

static inline int peers_stop(void **state) {
    (void)state;
    client_pause_until(0, false);
    client_shutdown();
    assert_int_equal(client_count(), 0);
    end_all_laters();
    event_base_free(peers.base);
    return 0;
}

/* The peer that all tests have. */
static struct peer p;

static inline int peer_start(void **state) {
    peers_start(state);
    peer_open(&p);
    return 0;
}

static inline int peer_stop(void **state) {
    peer_close(&p);
    return peers_stop(state);
}

#endif
