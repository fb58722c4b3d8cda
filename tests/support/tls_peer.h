#ifndef TLS_PEER_H
#define TLS_PEER_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

/* A client with TLS that uses OpenSSL without the code under test. Its socket blocks, with a generous timeout. */
struct tls_peer {
    int fd;
    SSL *ssl; /* NULL: the connection was refused */
    char text[256];
};

/* A context that trusts the authority, with the certificate of certificates.h, or NULL. */
SSL_CTX *tls_peer_context(const char *authority, const char *certificate);
/* Connects to 127.0.0.1 and does the handshake. False if the handshake fails. */
bool tls_peer_open(struct tls_peer *p, int port, SSL_CTX *ctx);
void tls_peer_close(struct tls_peer *p);

/* True if all bytes were sent. */
bool tls_peer_send(struct tls_peer *p, const void *bytes, size_t len);
/* True if so many bytes came. */
bool tls_peer_read(struct tls_peer *p, char *to, size_t len);
/* The next line without its CRLF, at most 255 bytes; "closed" after close_notify, "lost" after another end. */
const char *tls_peer_line(struct tls_peer *p);
/* Sends text and CRLF, and returns the next line. */
const char *tls_peer_ask(struct tls_peer *p, const char *text);

/* A TCP connection to 127.0.0.1 with a generous timeout. */
int tls_peer_connect(int port);

#endif
