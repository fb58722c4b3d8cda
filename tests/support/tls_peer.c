/* A client with TLS. */
#include "tls_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "certificates.h"
#include "process.h"

#define PEER_SECONDS 120

SSL_CTX *tls_peer_context(const char *authority, const char *certificate) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    if (SSL_CTX_load_verify_file(ctx, certificate_path(authority, "crt")) != 1)
        die("cannot load the authority %s", authority);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (certificate != NULL &&
        (SSL_CTX_use_certificate_file(ctx, certificate_path(certificate, "crt"), SSL_FILETYPE_PEM) != 1 ||
         SSL_CTX_use_PrivateKey_file(ctx, certificate_path(certificate, "key"), SSL_FILETYPE_PEM) != 1))
        die("cannot load the certificate %s", certificate);
    return ctx;
}

int tls_peer_connect(int port) {
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct timeval limit = { .tv_sec = PEER_SECONDS };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
        die("cannot connect to port %d: %s", port, strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

bool tls_peer_open(struct tls_peer *p, int port, SSL_CTX *ctx) {
    *p = (struct tls_peer){ .fd = tls_peer_connect(port), .ssl = SSL_new(ctx) };
    SSL_set_fd(p->ssl, p->fd);
    if (SSL_connect(p->ssl) == 1)
        return true;
    tls_peer_close(p);
    return false;
}

void tls_peer_close(struct tls_peer *p) {
    if (p->ssl == NULL)
        return;
    SSL_free(p->ssl);
    close(p->fd);
    p->ssl = NULL;
}

bool tls_peer_send(struct tls_peer *p, const void *bytes, size_t len) {
    return p->ssl != NULL && SSL_write(p->ssl, bytes, (int)len) == (int)len;
}

bool tls_peer_read(struct tls_peer *p, char *to, size_t len) {
    int got;

    for (size_t have = 0; have < len; have += (size_t)got) {
        got = p->ssl == NULL ? -1 : SSL_read(p->ssl, to + have, (int)(len - have));
        if (got <= 0)
            return false;
    }
    return true;
}

const char *tls_peer_line(struct tls_peer *p) {
    size_t len = 0;

    while (len < sizeof p->text - 1) {
        if (p->ssl == NULL || SSL_read(p->ssl, p->text + len, 1) != 1)
            return p->ssl != NULL && SSL_get_shutdown(p->ssl) & SSL_RECEIVED_SHUTDOWN ? "closed" : "lost";
        if (p->text[len] == '\n')
            break;
        len += p->text[len] != '\r';
    }
    p->text[len] = '\0';
    return p->text;
}

const char *tls_peer_ask(struct tls_peer *p, const char *text) {
    return tls_peer_send(p, text, strlen(text)) && tls_peer_send(p, "\r\n", 2) ? tls_peer_line(p) : "lost";
}
