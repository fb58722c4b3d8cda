/* Connections to a Redis for subcommands: addresses, login, pipelines. */
#include "tools/redis_link.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/redis_reply.h"

#define CONNECT_S 10
/* The largest accepted size. Sums of a few such sizes cannot overflow. */
#define SIZE_MOST ((int64_t)1 << 48)

/* ---- addresses ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the percent signs in a part of a URL. The caller frees the result. */
static char *redis_link_unescape(const char *from, const char *end) {
    char *text = slice_dup((struct slice){ from, (size_t)(end - from) }), *to = text;

    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
            *to++ = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return text;
}

static bool number_between(const char *text, size_t len, int64_t max, int *out) {
    int64_t number;

    if (!parse_int_strict((struct slice){ text, len }, &number) || number < 0 || number > max)
        return false;
    *out = (int)number;
    return true;
}

static void read_login(const char *from, const char *end, struct redis_address *out) {
    const char *colon = memchr(from, ':', (size_t)(end - from));

    if (colon == NULL)
        out->password = redis_link_unescape(from, end);
    else {
        if (colon > from)
            out->user = redis_link_unescape(from, colon);
        out->password = redis_link_unescape(colon + 1, end);
    }
}

/* Reads host or [host], with or without a port. */
static bool read_host(const char *from, const char *end, struct redis_address *out) {
    const char *port = end;

    for (const char *at = from; at < end; at++) {
        if (*at == ':')
            port = at;
        else if (*at == ']')
            port = end;
    }
    if (port < end && !number_between(port + 1, (size_t)(end - port - 1), 65535, &out->port))
        return false;
    if (port - from > 2 && *from == '[' && port[-1] == ']')
        out->host = redis_link_unescape(from + 1, port - 1);
    else
        out->host = redis_link_unescape(from, port);
    return *out->host != '\0';
}

/* Reads unix://[[user:]password@]/path, or /path. */
static bool read_socket(const char *text, struct redis_address *out, char *err, size_t size) {
    const char *at = *text == '/' ? text : text + strlen("unix://"), *path = strchr(at, '/');

    if (path > at && path[-1] == '@')
        read_login(at, path - 1, out);
    else if (path != at)
        path = NULL;
    if (path == NULL) {
        snprintf(err, size, "the address of a socket must be unix://[[user:]password@]/path");
        return false;
    }
    out->path = redis_link_unescape(path, path + strlen(path));
    out->host = xstrdup(out->path);
    return true;
}

bool redis_address_parse(const char *text, int default_port, struct redis_address *out, char *err,
                         size_t size) {
    const char *at = strstr(text, "://"), *end, *login;

    *out = (struct redis_address){ .port = default_port, .tls = strncmp(text, "rediss://", 9) == 0 };
    if (*text == '/' || strncmp(text, "unix://", 7) == 0)
        return read_socket(text, out, err, size);
    if (at != NULL && strncmp(text, "redis://", 8) != 0 && !out->tls) {
        snprintf(err, size, "%.*s is not supported, only redis://, rediss:// and unix://", (int)(at - text),
                 text);
        return false;
    }
    at = at == NULL ? text : at + 3;
    end = at + strcspn(at, "/");
    login = memrchr(at, '@', (size_t)(end - at));
    if (login != NULL) {
        read_login(at, login, out);
        at = login + 1;
    }
    if (!read_host(at, end, out) ||
        (end[0] != '\0' && end[1] != '\0' && !number_between(end + 1, strlen(end + 1), 1 << 20, &out->db))) {
        snprintf(err, size, "the address must be redis[s]://[[user:]password@]host[:port][/db]");
        return false;
    }
    return true;
}

void redis_address_free(struct redis_address *a) {
    free(a->host);
    free(a->path);
    free(a->user);
    free(a->password);
    *a = (struct redis_address){ 0 };
}

/* ---- pipelines ---- */

void redis_pipe_fail(struct redis_pipe *p, const char *what) {
    if (p->err[0] == '\0')
        snprintf(p->err, sizeof p->err, "%s", what);
}

/* Takes over a command that hiredis has formatted. */
static void put_formatted(struct redis_pipe *p, char *command, int len) {
    if (len < 0) {
        redis_pipe_fail(p, "a command cannot be formatted");
        return;
    }
    if (p->tls != NULL)
        buf_append(&p->out, command, (size_t)len);
    else if (redisAppendFormattedCommand(p->c, command, (size_t)len) != REDIS_OK)
        redis_pipe_fail(p, p->c->errstr);
    redisFreeCommand(command);
}

void redis_pipe_put(struct redis_pipe *p, const char *fmt, ...) {
    char *command = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = redisvFormatCommand(&command, fmt, args);
    va_end(args);
    put_formatted(p, command, len);
}

void redis_pipe_put_slices(struct redis_pipe *p, const struct slice *words, size_t count) {
    const char **ptrs = xcalloc(count, sizeof *ptrs);
    size_t *lens = xcalloc(count, sizeof *lens);
    char *command = NULL;
    int len;

    for (size_t i = 0; i < count; i++) {
        ptrs[i] = words[i].ptr;
        lens[i] = words[i].len;
    }
    len = redisFormatCommandArgv(&command, (int)count, ptrs, lens);
    put_formatted(p, command, len);
    free(ptrs);
    free(lens);
}

/* The socket blocks, so that only a timeout leaves bytes unwritten. */
static bool write_tls(struct redis_pipe *p) {
    while (buf_len(&p->out) > 0) {
        ssize_t sent = tls_write(p->tls, buf_ptr(&p->out), buf_len(&p->out));

        if (sent <= 0) {
            redis_pipe_fail(p, errno == EAGAIN ? "timed out" : tls_error(p->tls));
            return false;
        }
        buf_consume(&p->out, (size_t)sent);
    }
    return true;
}

/* Reads some bytes of replies. False after the end or an error. */
static bool read_tls(struct redis_pipe *p) {
    char bytes[16 * 1024];
    ssize_t got;

    do
        got = tls_read(p->tls, bytes, sizeof bytes);
    while (got < 0 && errno == EAGAIN && tls_has_more(p->tls));
    if (got > 0)
        return redisReaderFeed(p->c->reader, bytes, (size_t)got) == REDIS_OK;
    redis_pipe_fail(p, got == 0          ? "Server closed the connection"
                       : errno == EAGAIN ? "timed out"
                                         : tls_error(p->tls));
    return false;
}

void redis_pipe_flush(struct redis_pipe *p) {
    int done = 0;

    if (p->tls != NULL)
        (void)write_tls(p);
    else
        while (!done && redisBufferWrite(p->c, &done) == REDIS_OK)
            ;
}

static bool take_tls(struct redis_pipe *p, void **reply) {
    bool good = write_tls(p);

    while (good && *reply == NULL)
        good = redisGetReplyFromReader(p->c, reply) == REDIS_OK && (*reply != NULL || read_tls(p));
    return good;
}

/* Takes a reply of any shape; NULL if the connection was lost. */
static redisReply *take_any(struct redis_pipe *p) {
    void *reply = NULL;

    if (p->c->err == 0 && (p->tls != NULL ? take_tls(p, &reply) : redisGetReply(p->c, &reply) == REDIS_OK))
        return reply;
    redis_pipe_fail(p, p->c->errstr);
    return NULL;
}

redisReply *redis_pipe_take_or_error(struct redis_pipe *p, const char *command, const char *shape) {
    redisReply *r = take_any(p);
    char text[80];

    if (r == NULL || r->type == REDIS_REPLY_ERROR || redis_reply_fits(r, shape))
        return r;
    snprintf(text, sizeof text, "unexpected reply to %s", command);
    redis_pipe_fail(p, text);
    freeReplyObject(r);
    return NULL;
}

redisReply *redis_pipe_take(struct redis_pipe *p, const char *command, const char *shape) {
    redisReply *r = redis_pipe_take_or_error(p, command, shape);

    if (r == NULL || r->type != REDIS_REPLY_ERROR)
        return r;
    redis_pipe_fail(p, r->str);
    freeReplyObject(r);
    return NULL;
}

int64_t redis_pipe_take_size(struct redis_pipe *p, const char *command) {
    redisReply *r = redis_pipe_take(p, command, "i");
    int64_t size = r == NULL ? -1 : r->integer;

    if (r != NULL)
        freeReplyObject(r);
    if (size >= 0 && size <= SIZE_MOST)
        return size;
    redis_pipe_fail(p, "a size is negative or too large");
    return -1;
}

void redis_pipe_skip(struct redis_pipe *p, size_t count) {
    for (size_t i = 0; i < count; i++) {
        redisReply *r = take_any(p);

        if (r == NULL)
            return;
        if (r->type == REDIS_REPLY_ERROR)
            redis_pipe_fail(p, r->str);
        freeReplyObject(r);
    }
}

/* ---- without waiting ---- */

void redis_pipe_unblock(struct redis_pipe *p) {
    int flags = fcntl(p->c->fd, F_GETFL);

    if (flags >= 0)
        (void)fcntl(p->c->fd, F_SETFL, flags | O_NONBLOCK);
    (void)redisEnableKeepAlive(p->c);
    p->c->err = 0; /* a unix socket refuses the keep-alive */
    p->c->flags &= ~REDIS_BLOCK;
}

static bool has_output(const struct redis_pipe *p) {
    return p->tls != NULL ? buf_len(&p->out) > 0 : sdslen(p->c->obuf) > 0;
}

short redis_pipe_events(const struct redis_pipe *p) {
    return (short)(POLLIN | (has_output(p) ? POLLOUT : 0));
}

/* Writes without waiting. False after a loss. */
static bool step_out(struct redis_pipe *p) {
    int done = 0;

    if (p->tls == NULL)
        return redisBufferWrite(p->c, &done) == REDIS_OK;
    while (buf_len(&p->out) > 0) {
        ssize_t sent = tls_write(p->tls, buf_ptr(&p->out), buf_len(&p->out));

        if (sent <= 0)
            return sent < 0 && errno == EAGAIN;
        buf_consume(&p->out, (size_t)sent);
    }
    return true;
}

/* Reads without waiting. False after a loss. */
static bool step_in(struct redis_pipe *p) {
    char bytes[16 * 1024];
    ssize_t got;

    if (p->tls == NULL)
        return redisBufferRead(p->c) == REDIS_OK;
    do {
        got = tls_read(p->tls, bytes, sizeof bytes);
        if (got > 0 && redisReaderFeed(p->c->reader, bytes, (size_t)got) != REDIS_OK)
            return false;
    } while (got > 0 || (got < 0 && errno == EAGAIN && tls_has_more(p->tls)));
    return got < 0 && errno == EAGAIN;
}

bool redis_pipe_step(struct redis_pipe *p) {
    if (p->err[0] == '\0' && (!step_out(p) || !step_in(p)))
        redis_pipe_fail(p, p->c->err != 0 ? p->c->errstr : "the server closed the connection");
    return p->err[0] == '\0';
}

redisReply *redis_pipe_next(struct redis_pipe *p) {
    void *reply = NULL;

    if (p->err[0] == '\0' && redisGetReplyFromReader(p->c, &reply) != REDIS_OK)
        redis_pipe_fail(p, p->c->errstr);
    return reply;
}

/* ---- connecting ---- */

/* A reply to PING proves that the server answers. A user without the right to use PING gets an error reply, too. */
static void take_pong(struct redis_pipe *p) {
    redisReply *r = redis_pipe_take_or_error(p, "PING", "s");

    if (r != NULL && r->type == REDIS_REPLY_ERROR && strncmp(r->str, "NOPERM", 6) != 0)
        redis_pipe_fail(p, r->str);
    if (r != NULL)
        freeReplyObject(r);
}

static void log_in(struct redis_pipe *p, const struct redis_address *a) {
    size_t asked = 0;

    if (a->user != NULL) {
        redis_pipe_put(p, "AUTH %s %s", a->user, a->password != NULL ? a->password : "");
        asked++;
    } else if (a->password != NULL) {
        redis_pipe_put(p, "AUTH %s", a->password);
        asked++;
    }
    if (a->db != 0) {
        redis_pipe_put(p, "SELECT %d", a->db);
        asked++;
    }
    /* The reply to AUTH proves the same as that to PING, and a refused PING would fill ACL LOG. */
    if (a->password == NULL && a->user == NULL)
        redis_pipe_put(p, "PING");
    redis_pipe_skip(p, asked);
    if (p->err[0] == '\0' && a->password == NULL && a->user == NULL)
        take_pong(p);
}

/* An address is compared with the addresses of the certificate, and a name with its names. */
static bool expect_host(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1 ||
           (SSL_set_tlsext_host_name(ssl, host) == 1 && X509_VERIFY_PARAM_set1_host(param, host, 0) == 1);
}

/* A context for one connection. NULL with a sentence in p->err. */
static SSL_CTX *client_context(struct redis_pipe *p, const struct redis_tls *how) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    char why[300] = "";

    tls_prepare(ctx);
    if (!tls_set_protocols(ctx, ""))
        snprintf(why, sizeof why, "cannot use TLS 1.2");
    else if (how->ca_file == NULL && how->ca_dir == NULL)
        SSL_CTX_set_default_verify_paths(ctx);
    else if (SSL_CTX_load_verify_locations(ctx, how->ca_file, how->ca_dir) != 1)
        snprintf(why, sizeof why, "cannot load the certificates of --cacert or --cacertdir");
    if (why[0] == '\0' && how->cert != NULL && SSL_CTX_use_certificate_chain_file(ctx, how->cert) != 1)
        snprintf(why, sizeof why, "cannot load %.200s", how->cert);
    if (why[0] == '\0' && how->key != NULL &&
        SSL_CTX_use_PrivateKey_file(ctx, how->key, SSL_FILETYPE_PEM) != 1)
        snprintf(why, sizeof why, "cannot use %.200s", how->key);
    SSL_CTX_set_verify(ctx, how->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (why[0] == '\0')
        return ctx;
    tls_add_reason(why, sizeof why);
    redis_pipe_fail(p, why);
    SSL_CTX_free(ctx);
    return NULL;
}

bool redis_pipe_begin_tls(struct redis_pipe *p, const char *host, const struct redis_tls *how) {
    SSL_CTX *ctx = client_context(p, how);
    enum tls_step step;

    if (ctx == NULL)
        return false;
    p->tls = tls_new(ctx, p->c->fd, false);
    SSL_CTX_free(ctx);
    if (!how->insecure && !expect_host(tls_ssl(p->tls), host)) {
        redis_pipe_fail(p, "the host has no valid name for TLS");
        return false;
    }
    redisSetTimeout(p->c, (struct timeval){ CONNECT_S, 0 });
    step = tls_handshake(p->tls);
    redisSetTimeout(p->c, (struct timeval){ 0, 0 });
    if (step != TLS_DONE)
        redis_pipe_fail(p, step == TLS_FAILED ? tls_error(p->tls) : "the TLS handshake timed out");
    return p->err[0] == '\0';
}

bool redis_pipe_open(struct redis_pipe *p, const struct redis_address *a, const struct redis_tls *how,
                     char *err, size_t size) {
    const struct timeval patience = { CONNECT_S, 0 };

    *p = (struct redis_pipe){ .c = a->path != NULL ? redisConnectUnixWithTimeout(a->path, patience)
                                                   : redisConnectWithTimeout(a->host, a->port, patience) };
    if (p->c == NULL || p->c->err != 0)
        redis_pipe_fail(p, p->c == NULL ? "out of memory" : p->c->errstr);
    else if (!a->tls || redis_pipe_begin_tls(p, a->host, how))
        log_in(p, a);
    if (p->err[0] == '\0')
        return true;
    if (a->path != NULL)
        snprintf(err, size, "%s: %s", a->path, p->err);
    else
        snprintf(err, size, "%s:%d: %s", a->host, a->port, p->err);
    redis_pipe_close(p);
    return false;
}

void redis_pipe_close(struct redis_pipe *p) {
    tls_free(p->tls);
    buf_free(&p->out);
    redisFree(p->c);
    *p = (struct redis_pipe){ .c = NULL };
}
