#ifndef BENCH_TLS_H
#define BENCH_TLS_H

#include <openssl/ssl.h>
#include <sys/types.h>

#include "common.h"

/* The client's side of TLS on the sockets of the load generator. Certificates are not checked. */

/* Does the handshake on a blocking socket. NULL with errno if it fails. The caller owns the socket. */
SSL *secure_open(int fd) MUST_CHECK;
void secure_close(SSL *ssl);

/* Like recv(2) and send(2) on a non-blocking socket. */
ssize_t secure_read(SSL *ssl, void *to, size_t room) MUST_CHECK;
ssize_t secure_write(SSL *ssl, const void *from, size_t len) MUST_CHECK;
/* True if OpenSSL keeps input that no event of the socket announces. The input can be a part of a record. */
bool secure_has_more(const SSL *ssl);

#endif
