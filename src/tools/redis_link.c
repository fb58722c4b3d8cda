/* Connections to a Redis for subcommands: addresses, login, pipelines. */
#include "tools/redis_link.h"

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

bool redis_address_parse(const char *text, int default_port, struct redis_address *out, char *err,
                         size_t size) {
    const char *at = strstr(text, "://"), *end, *login;

    *out = (struct redis_address){ .port = default_port };
    if (at != NULL && strncmp(text, "redis://", 8) != 0) {
        snprintf(err, size, "%.*s is not supported, only redis://; put a TLS proxy between for rediss",
                 (int)(at - text), text);
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
        snprintf(err, size, "the address must be redis://[[user:]password@]host[:port][/db]");
        return false;
    }
    return true;
}

void redis_address_free(struct redis_address *a) {
    free(a->host);
    free(a->user);
    free(a->password);
    *a = (struct redis_address){ 0 };
}

/* ---- pipelines ---- */

void redis_pipe_fail(struct redis_pipe *p, const char *what) {
    if (p->err[0] == '\0')
        snprintf(p->err, sizeof p->err, "%s", what);
}

void redis_pipe_put(struct redis_pipe *p, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    if (redisvAppendCommand(p->c, fmt, args) != REDIS_OK)
        redis_pipe_fail(p, p->c->errstr);
    va_end(args);
}

void redis_pipe_put_slices(struct redis_pipe *p, const struct slice *words, size_t count) {
    const char **ptrs = xcalloc(count, sizeof *ptrs);
    size_t *lens = xcalloc(count, sizeof *lens);

    for (size_t i = 0; i < count; i++) {
        ptrs[i] = words[i].ptr;
        lens[i] = words[i].len;
    }
    if (redisAppendCommandArgv(p->c, (int)count, ptrs, lens) != REDIS_OK)
        redis_pipe_fail(p, p->c->errstr);
    free(ptrs);
    free(lens);
}

/* Takes a reply of any shape; NULL if the connection was lost. */
static redisReply *take_any(struct redis_pipe *p) {
    void *reply = NULL;

    if (p->c->err == 0 && redisGetReply(p->c, &reply) == REDIS_OK)
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

/* ---- connecting ---- */

static void log_in(struct redis_pipe *p, const struct redis_address *a) {
    size_t asked = 0;

    if (a->user != NULL) {
        redis_pipe_put(p, "AUTH %s %s", a->user, a->password);
        asked++;
    } else if (a->password != NULL) {
        redis_pipe_put(p, "AUTH %s", a->password);
        asked++;
    }
    if (a->db != 0) {
        redis_pipe_put(p, "SELECT %d", a->db);
        asked++;
    }
    redis_pipe_put(p, "PING");
    redis_pipe_skip(p, asked + 1);
}

redisContext *redis_link_open(const struct redis_address *a, char *err, size_t size) {
    struct redis_pipe p = { redisConnectWithTimeout(a->host, a->port, (struct timeval){ CONNECT_S, 0 }), "" };

    if (p.c != NULL && p.c->err == 0)
        log_in(&p, a);
    else
        redis_pipe_fail(&p, p.c == NULL ? "out of memory" : p.c->errstr);
    if (p.err[0] == '\0')
        return p.c;
    snprintf(err, size, "%s:%d: %s", a->host, a->port, p.err);
    redisFree(p.c);
    return NULL;
}
