/* Clients with TLS: their handshakes, within a share of each turn, and their output. */
#include "net/client_tls.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/stats.h"
#include "base/time_budget.h"
#include "config/config.h"
#include "net/connection.h"
#include "net/tls_server.h"

/* The share of handshakes in a turn. One handshake takes 0.1 to 2 ms, by the kind of its key. */
#define HANDSHAKES_US US_PER_MS
/* The most bytes of pieces of output that are sent in one record. */
#define GATHERED_BYTES ((size_t)16 * 1024)
/* The most bytes of one write, as for clients without TLS. */
#define TLS_WRITE_BYTES ((size_t)1024 * 1024)

static struct {
    struct event_base *base;
    void (*open)(struct client *c);
    struct list ready; /* clients whose handshake can continue, by in_ready */
} handshakes;

void client_tls_init(struct event_base *base, void (*open)(struct client *c)) {
    handshakes.base = base;
    handshakes.open = open;
    list_init(&handshakes.ready);
}

static void on_handshake_ready(evutil_socket_t fd, short what, void *arg) {
    struct client *c = arg;

    (void)fd;
    (void)what;
    if (c->state != CLIENT_DEAD && list_empty(&c->in_ready))
        list_push_back(&handshakes.ready, &c->in_ready);
}

void client_tls_begin(struct client *c) {
    c->tls = tls_server_accept(c->fd);
    event_assign(&c->read_event, handshakes.base, c->fd, EV_READ, on_handshake_ready, c);
    event_assign(&c->write_event, handshakes.base, c->fd, EV_WRITE, on_handshake_ready, c);
    event_add(&c->read_event, NULL);
}

/* A client without TLS understands only a reply without TLS. */
static void fail_handshake(struct client *c) {
    static const char advice[] = "-ERR this port is for TLS only, and the client does not use TLS\r\n";
    ssize_t ignored = tls_got_plain_text(c->tls) ? send(c->fd, advice, strlen(advice), MSG_NOSIGNAL) : 0;

    (void)ignored;
    stats.tls_failures++;
    client_kill(c, tls_error(c->tls));
}

/* The user that the certificate names needs no password. */
static void log_in_by_certificate(struct client *c) {
    char name[USER_NAME_MAX + 2];
    struct user *u;

    if (config.tls_auth_clients_user == TLS_USER_OFF || !tls_peer_name(c->tls, name, sizeof name))
        return;
    u = user_find(slice_str(name));
    if (u != NULL && u->grants.on)
        connection_log_in(c, u);
    else
        log_verbose(client_ident(c), "has a certificate for %s, which is no user that is on",
                    log_escape(slice_str(name), sizeof name));
}

static void continue_handshake(struct client *c) {
    enum tls_step step = tls_handshake(c->tls);

    client_count_buffers(c);
    if (step == TLS_WANTS_READ)
        event_add(&c->read_event, NULL);
    else if (step == TLS_WANTS_WRITE)
        event_add(&c->write_event, NULL);
    else if (step == TLS_FAILED)
        fail_handshake(c);
    else {
        log_in_by_certificate(c);
        handshakes.open(c);
    }
}

void client_tls_turn(void) {
    struct budget share;

    if (list_empty(&handshakes.ready))
        return;
    share = budget_of(HANDSHAKES_US);
    while (!list_empty(&handshakes.ready) && !budget_is_over(&share))
        continue_handshake(LIST_ENTRY(list_pop_front(&handshakes.ready), struct client, in_ready));
}

bool client_tls_pending(void) {
    return !list_empty(&handshakes.ready);
}

/* A fatal alert: access denied. */
void client_tls_refuse(int fd) {
    static const char alert[] = { 0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x31 };
    ssize_t ignored = send(fd, alert, sizeof alert, MSG_NOSIGNAL);

    (void)ignored;
}

/* Pieces of output are gathered, because each write makes a record. */
ssize_t client_tls_send(const struct client *c) {
    static char gathered[GATHERED_BYTES];
    size_t len = buf_len(&c->out) < TLS_WRITE_BYTES ? buf_len(&c->out) : TLS_WRITE_BYTES;

    if (c->ahead.len > 0)
        return tls_write(c->tls, gathered, output_copy(&c->ahead, gathered, sizeof gathered));
    return len == 0 ? 0 : tls_write(c->tls, buf_ptr(&c->out), len);
}

const char *client_io_error(const struct client *c) {
    return c->tls != NULL && errno == EPROTO ? tls_error(c->tls) : strerror(errno);
}
