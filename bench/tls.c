/* TLS to the server, for --tls: handshake, read, write. */
#include "tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <signal.h>

/* OpenSSL writes to sockets without MSG_NOSIGNAL, so SIGPIPE is ignored. */
static SSL_CTX *secure_context(void) {
    static SSL_CTX *made;
    if (made)
        return made;
    made = SSL_CTX_new(TLS_client_method());
    if (!made)
        die("OpenSSL cannot make a context");
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(made, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_read_ahead(made, 1);
    signal(SIGPIPE, SIG_IGN);
    return made;
}

/* The result of a read or write that moved no bytes, with errno as recv(2) sets it. */
static ssize_t secure_nothing(const SSL *ssl, int system) {
    int kind = SSL_get_error(ssl, -1);
    if (kind == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
        errno = EAGAIN;
    else
        errno = kind == SSL_ERROR_SYSCALL && system != 0 ? system : EPROTO;
    return -1;
}

SSL *secure_open(int fd) {
    SSL *ssl = SSL_new(secure_context());
    if (!ssl || SSL_set_fd(ssl, fd) != 1)
        die("OpenSSL cannot make a connection");
    ERR_clear_error();
    if (SSL_connect(ssl) == 1)
        return ssl;
    SSL_free(ssl);
    errno = EPROTO;
    return NULL;
}

void secure_close(SSL *ssl) {
    if (ssl)
        SSL_shutdown(ssl);
    SSL_free(ssl);
    ERR_clear_error();
}

ssize_t secure_read(SSL *ssl, void *to, size_t room) {
    size_t got;
    ERR_clear_error();
    return SSL_read_ex(ssl, to, room, &got) == 1 ? (ssize_t)got : secure_nothing(ssl, errno);
}

ssize_t secure_write(SSL *ssl, const void *from, size_t len) {
    size_t sent;
    ERR_clear_error();
    return SSL_write_ex(ssl, from, len, &sent) == 1 ? (ssize_t)sent : secure_nothing(ssl, errno);
}

bool secure_has_more(const SSL *ssl) {
    return SSL_has_pending(ssl) == 1;
}
