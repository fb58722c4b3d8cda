/* Clients with TLS: their handshakes and their output. */
#include "net/client_tls.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/stats.h"
#include "config/config.h"
#include "net/client_memory.h"
#include "net/connection.h"
#include "net/unproven.h"

/* The most bytes of pieces of output that are sent in one record. */
#define GATHERED_BYTES ((size_t)16 * 1024)
/* The most bytes of one write, as for clients without TLS. */
#define TLS_WRITE_BYTES ((size_t)1024 * 1024)

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
        connection_log_in_or_close(c, u);
    else
        log_verbose(client_ident(c), "has a certificate for %s, which is no user that is on",
                    log_escape(slice_str(name), sizeof name));
}

void client_tls_continue(struct client *c) {
    enum tls_step step = tls_handshake(c->tls);

    client_count_buffers(c);
    if (step == TLS_FAILED) {
        fail_handshake(c);
        return;
    }
    unproven_watch(c, step != TLS_WANTS_WRITE, step == TLS_WANTS_WRITE);
    if (step == TLS_DONE)
        log_in_by_certificate(c);
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
