#ifndef TLS_H
#define TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/util.h"

/*
 * TLS on a connected socket: handshake, read, write, end. The caller owns the socket, waits for it, and closes it. The
 * functions work with non-blocking sockets, and with blocking sockets that have timeouts.
 *
 * OpenSSL keeps input that it has read ahead. tls_has_more() then is true, and no event of the socket announces this
 * input.
 */
struct tls;

enum tls_step {
    TLS_DONE,
    TLS_WANTS_READ,  /* continue when the socket is readable */
    TLS_WANTS_WRITE, /* continue when the socket is writable */
    TLS_FAILED,      /* tls_error() has the reason */
};

/* Counts the memory of OpenSSL for tls_memory(). Call it before any other use of OpenSSL. */
void tls_count_memory(void);
/* Settings of a context that this module relies on. */
void tls_prepare(SSL_CTX *ctx);
/* True if text consists of "TLSv1.2" and "TLSv1.3". Sets the versions of ctx. An empty text allows both. */
bool tls_set_protocols(SSL_CTX *ctx, const char *text) MUST_CHECK;
/* Appends the reason of OpenSSL's last error to text, such as ": no such file". Clears the errors. */
void tls_add_reason(char *text, size_t size);

/* ctx must stay valid only during the call. */
struct tls *tls_new(SSL_CTX *ctx, int fd, bool server);
/* Tells the peer the end of the stream, as far as this is possible at once. t may be NULL. */
void tls_free(struct tls *t);
/* OpenSSL's object, for names and certificates. */
SSL *tls_ssl(const struct tls *t);

/* Does the next part of the handshake. After TLS_DONE it is not called again. */
enum tls_step tls_handshake(struct tls *t);
/* True from the end of the handshake on. */
bool tls_is_open(const struct tls *t);
/* True if the handshake failed because the client's first byte is not of TLS. */
bool tls_got_plain_text(const struct tls *t);

/* The common name in the peer's certificate, which was checked. False if there is none, or it has a byte 0. */
bool tls_peer_name(const struct tls *t, char *out, size_t size) MUST_CHECK;

/* Like read(2) and send(2). errno is EAGAIN if the socket is not ready, or EPROTO, and tls_error() has the reason.
 * tls_read() may return EAGAIN while tls_has_more() is true: call it again in the next turn.
 * After EAGAIN of tls_write(), the next call must begin with the same bytes, and have at least as many. */
ssize_t tls_read(struct tls *t, void *to, size_t room);
ssize_t tls_write(struct tls *t, const void *from, size_t len);
bool tls_has_more(const struct tls *t);

/* The reason of the last failure of t, for logs. */
const char *tls_error(const struct tls *t);
/* The memory that OpenSSL uses for t, in bytes. */
size_t tls_memory(const struct tls *t);

#endif
