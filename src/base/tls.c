/* TLS on a connected socket: a thin layer over OpenSSL. */
#include "base/tls.h"

#include <errno.h>
#include <malloc.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"

/* The first byte of a record of a handshake. */
#define HANDSHAKE_RECORD 0x16
/* The most bytes of input of one record. */
#define RECORD_BYTES ((size_t)16 * 1024)
/* A peer that sends so many bytes in records without data, such as new keys, is disconnected. */
#define EMPTY_BYTES ((size_t)64 * 1024)
/* The most bytes of a certificate chain. OpenSSL allows 100 kB. */
#define CHAIN_BYTES (32 * 1024)

struct tls {
    SSL *ssl;
    int fd;
    bool open;    /* the handshake is done */
    bool failed;  /* nothing more can be read or written */
    bool begun;   /* a byte was read */
    bool plain;   /* the first byte was not of TLS */
    bool ended;   /* the socket is at its end */
    bool drained; /* the last read of the socket found no bytes */
    bool more;
    size_t empty; /* bytes that were read since the last data */
    size_t memory;
    char error[160];
};

/* ---- memory ---- */

/* The memory of OpenSSL. An operation on a connection changes it by the memory of this connection. */
static size_t tls_heap;

static void *tls_malloc(size_t size, const char *file, int line) {
    void *p = xmalloc(size);

    (void)file;
    (void)line;
    tls_heap += malloc_usable_size(p);
    return p;
}

static void *tls_realloc(void *old, size_t size, const char *file, int line) {
    void *p;

    (void)file;
    (void)line;
    tls_heap -= malloc_usable_size(old);
    p = xrealloc(old, size);
    tls_heap += malloc_usable_size(p);
    return p;
}

static void tls_release(void *p, const char *file, int line) {
    (void)file;
    (void)line;
    tls_heap -= malloc_usable_size(p);
    free(p);
}

void tls_count_memory(void) {
    CRYPTO_set_mem_functions(tls_malloc, tls_realloc, tls_release);
}

size_t tls_memory(const struct tls *t) {
    return t->memory;
}

/* ---- the socket ---- */

/* Sets the retry flags of b after a read or write of the socket. */
static int tls_bio_result(BIO *b, ssize_t done, int retry) {
    BIO_clear_retry_flags(b);
    if (done < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_flags(b, retry | BIO_FLAGS_SHOULD_RETRY);
    return (int)done;
}

/* A client without TLS is recognised by its first byte, before OpenSSL replies an alert. */
static int tls_bio_read(BIO *b, char *to, int room) {
    struct tls *t = BIO_get_data(b);
    ssize_t got = recv(t->fd, to, (size_t)room, 0);

    if (got > 0 && !t->begun) {
        t->begun = true;
        t->plain = to[0] != HANDSHAKE_RECORD;
    }
    if (t->plain) {
        errno = EPROTO;
        got = -1;
    }
    t->empty += got > 0 && t->open ? (size_t)got : 0;
    t->ended = got == 0;
    t->drained = got < 0;
    return tls_bio_result(b, got, BIO_FLAGS_READ);
}

static int tls_bio_write(BIO *b, const char *from, int len) {
    const struct tls *t = BIO_get_data(b);

    return tls_bio_result(b, send(t->fd, from, (size_t)len, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

static long tls_bio_control(BIO *b, int command, long number, void *ptr) {
    const struct tls *t = BIO_get_data(b);

    (void)number;
    (void)ptr;
    return command == BIO_CTRL_FLUSH || (command == BIO_CTRL_EOF && t->ended);
}

static const BIO_METHOD *tls_bio_method(void) {
    static BIO_METHOD *method;

    if (method != NULL)
        return method;
    method =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "pgdisque socket");
    BIO_meth_set_read(method, tls_bio_read);
    BIO_meth_set_write(method, tls_bio_write);
    BIO_meth_set_ctrl(method, tls_bio_control);
    return method;
}

/* ---- contexts ---- */

void tls_prepare(SSL_CTX *ctx) {
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    /* A read must return after a record without data, so that a peer cannot keep the server in the read. */
    SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_max_cert_list(ctx, CHAIN_BYTES);
}

bool tls_set_protocols(SSL_CTX *ctx, const char *text) {
    static const struct {
        const char *name;
        int version;
    } known[] = { { "TLSv1.2", TLS1_2_VERSION }, { "TLSv1.3", TLS1_3_VERSION } };
    char *copy = xstrdup(*text == '\0' ? "TLSv1.2 TLSv1.3" : text), *rest = copy;
    int lowest = 0, highest = 0;
    bool good = true;

    for (const char *word; (word = strsep(&rest, " ")) != NULL;) {
        size_t i = 0;

        while (i < LENGTH(known) && strcasecmp(known[i].name, word) != 0)
            i++;
        good = good && (i < LENGTH(known) || *word == '\0');
        if (i == LENGTH(known))
            continue;
        lowest = lowest == 0 || known[i].version < lowest ? known[i].version : lowest;
        highest = known[i].version > highest ? known[i].version : highest;
    }
    free(copy);
    return good && lowest != 0 && SSL_CTX_set_min_proto_version(ctx, lowest) == 1 &&
           SSL_CTX_set_max_proto_version(ctx, highest) == 1;
}

/* The first error is the cause, and later ones are its effects. */
void tls_add_reason(char *text, size_t size) {
    size_t len = strlen(text);
    unsigned long code = ERR_peek_error();
    const char *reason =
        ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);

    if (code != 0)
        snprintf(text + len, size - len, ": %s", reason != NULL ? reason : "unknown error");
    ERR_clear_error();
}

/* ---- connections ---- */

struct tls *tls_new(SSL_CTX *ctx, int fd, bool server) {
    struct tls *t = xcalloc(1, sizeof *t);
    size_t before = tls_heap;
    BIO *bio;

    t->fd = fd;
    t->begun = !server;
    t->ssl = SSL_new(ctx);
    bio = BIO_new(tls_bio_method());
    if (t->ssl == NULL || bio == NULL)
        log_fatal("tls", "OpenSSL cannot make a connection");
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio);
    if (server)
        SSL_set_accept_state(t->ssl);
    else
        SSL_set_connect_state(t->ssl);
    t->memory = sizeof *t + tls_heap - before;
    return t;
}

void tls_free(struct tls *t) {
    if (t == NULL)
        return;
    if (t->open && !t->failed)
        SSL_shutdown(t->ssl);
    SSL_free(t->ssl);
    ERR_clear_error();
    free(t);
}

SSL *tls_ssl(const struct tls *t) {
    return t->ssl;
}

bool tls_is_open(const struct tls *t) {
    return t->open;
}

bool tls_got_plain_text(const struct tls *t) {
    return t->plain;
}

bool tls_has_more(const struct tls *t) {
    return t->more;
}

const char *tls_error(const struct tls *t) {
    return t->error;
}

static void tls_fail(struct tls *t, const char *why) {
    t->failed = true;
    snprintf(t->error, sizeof t->error, "%s", why);
}

/* Notes the reason of a failure of OpenSSL. system: errno after the call. */
static void tls_note_failure(struct tls *t, int system) {
    long verified = SSL_get_verify_result(t->ssl);

    if (t->plain)
        tls_fail(t, "TLS: the client does not use TLS");
    else if (ERR_peek_error() == 0)
        tls_fail(t, t->ended && !t->open ? "TLS: the peer closed during the handshake" : strerror(system));
    else {
        tls_fail(t, "TLS");
        tls_add_reason(t->error, sizeof t->error);
        if (verified != X509_V_OK && !t->open)
            snprintf(t->error, sizeof t->error, "TLS: certificate refused: %s",
                     X509_verify_cert_error_string(verified));
    }
}

enum tls_step tls_handshake(struct tls *t) {
    size_t before = tls_heap;
    enum tls_step step = TLS_DONE;
    int result, system, kind;

    ERR_clear_error();
    result = SSL_do_handshake(t->ssl);
    system = errno;
    kind = result == 1 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, result);
    if (kind == SSL_ERROR_WANT_READ) {
        step = TLS_WANTS_READ;
    } else if (kind == SSL_ERROR_WANT_WRITE) {
        step = TLS_WANTS_WRITE;
    } else if (kind != SSL_ERROR_NONE) {
        tls_note_failure(t, system);
        step = TLS_FAILED;
    } else {
        t->open = true;
        t->more = SSL_has_pending(t->ssl);
    }
    t->memory += tls_heap - before;
    return step;
}

bool tls_peer_name(const struct tls *t, char *out, size_t size) {
    X509 *cert = SSL_get0_peer_certificate(t->ssl);
    int len = cert == NULL
                  ? -1
                  : X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, out, (int)size);

    return len > 0 && (size_t)len < size - 1 && strlen(out) == (size_t)len;
}

/* After SSL_read() has failed: sets more, and returns 0 or -1 with errno. */
static ssize_t tls_read_nothing(struct tls *t, int system) {
    int kind = SSL_get_error(t->ssl, -1);

    t->more = false;
    if (kind == SSL_ERROR_ZERO_RETURN)
        return 0;
    errno = EAGAIN;
    if (kind == SSL_ERROR_WANT_READ && t->drained)
        return -1;
    if (kind == SSL_ERROR_WANT_READ && t->empty < EMPTY_BYTES) {
        t->more = true;
        return -1;
    }
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
        tls_fail(t, "TLS: too many records without data");
    else
        tls_note_failure(t, system);
    errno = EPROTO;
    return -1;
}

/* Reads more records while they are in memory, or while there is room for a whole one. The end or a failure after some
 * bytes is found again by the next read. */
ssize_t tls_read(struct tls *t, void *to, size_t room) {
    size_t before = tls_heap, total = 0, got;
    ssize_t result = -1;
    bool stopped = t->failed;

    errno = EPROTO;
    while (!stopped && total < room && (total == 0 || t->more || room > RECORD_BYTES)) {
        t->drained = false;
        ERR_clear_error();
        if (SSL_read_ex(t->ssl, (char *)to + total, room - total, &got) != 1) {
            result = tls_read_nothing(t, errno);
            stopped = true;
            break;
        }
        total += got;
        t->empty = 0;
        t->more = SSL_has_pending(t->ssl);
    }
    t->memory += tls_heap - before;
    if (total == 0)
        return result;
    if (stopped && (result == 0 || errno != EAGAIN))
        t->more = true;
    return (ssize_t)total;
}

ssize_t tls_write(struct tls *t, const void *from, size_t len) {
    size_t before = tls_heap, total = 0, sent;
    int kind = SSL_ERROR_NONE, system;

    while (total < len && kind == SSL_ERROR_NONE) {
        ERR_clear_error();
        if (SSL_write_ex(t->ssl, (const char *)from + total, len - total, &sent) == 1) {
            total += sent;
            continue;
        }
        system = errno;
        kind = SSL_get_error(t->ssl, -1);
        if (kind != SSL_ERROR_WANT_WRITE)
            tls_note_failure(t, system);
    }
    t->memory += tls_heap - before;
    if (total > 0 || kind == SSL_ERROR_NONE)
        return (ssize_t)total;
    errno = kind == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return -1;
}
