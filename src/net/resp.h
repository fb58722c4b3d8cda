#ifndef RESP_H
#define RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/util.h"

/*
 * RESP: bytes to arguments, values to bytes. No I/O and no policy.
 *
 * The parser reads a connection's input buffer and remembers how far it got,
 * so that no byte is looked at twice however small the pieces arrive in. It
 * allocates by what was received, never by what was announced.
 * Framing and its error texts: Disque's networking.c, disque-protocol 2.1-2.2.
 */
#define RESP_MAX_ARGS (1024 * 1024)
#define RESP_MAX_INLINE (64 * 1024)
/* Before AUTH, as Redis since CVE-2021-32675. */
#define RESP_UNAUTH_MAX_ARGS 10
#define RESP_UNAUTH_MAX_BULK 16384

enum resp_status {
    RESP_MORE,    /* no whole command yet */
    RESP_COMMAND, /* argv holds one */
    RESP_ERROR,   /* error holds the text; sticky: nothing more is parsed */
};

struct resp_limits {
    size_t max_args;
    size_t max_bulk;
};

struct resp_parser {
    /* The command, while resp_next() says RESP_COMMAND: argc slices into the
     * input buffer, valid until it is changed. argc is never 0 then. */
    int argc;
    struct slice *argv;
    size_t consumed; /* bytes of the buffer's front it took: buf_consume() them */
    char error[128]; /* without "-ERR " and CRLF */
    /* Private. */
    int64_t args_left; /* multibulk arguments still to come */
    int64_t bulk_len;  /* length of the one being read; -1: header not read */
    size_t scanned;    /* offset from the buffer's front that is dealt with */
    size_t searched;   /* bytes behind scanned that hold no end of line */
    size_t argv_cap;
    size_t *offsets; /* argv as offsets, because the buffer may move */
    bool failed;
};

/* Looks for the next command at the front of in. After RESP_COMMAND the caller
 * uses argv, calls buf_consume(in, p->consumed), and calls again. Empty
 * requests (*0, an empty line) are consumed inside, and the quotes of an inline
 * command are resolved in place; otherwise in stays as it is. All zero is a
 * valid new parser. */
enum resp_status resp_next(struct resp_parser *p, struct buf *in,
                           const struct resp_limits *limits) MUST_CHECK;
/* How many more bytes the buffer should have room for, on the way to the end of
 * the argument now being read (0: not known): a hint that saves reads. It is
 * never more than a step, or what the argument already has. */
size_t resp_wanted(const struct resp_parser *p, const struct buf *in);
/* Bytes of the parser's own. */
size_t resp_parser_memory(const struct resp_parser *p);
void resp_parser_free(struct resp_parser *p);

/* Values to bytes. proto is 2 or 3 and matters where it is taken. */
void resp_status(struct buf *b, const char *text);
/* text starts with the code, "ERR syntax error"; CR and LF become blanks. */
void resp_error(struct buf *b, const char *text);
void resp_int(struct buf *b, int64_t value);
void resp_bulk(struct buf *b, struct slice value);
void resp_bulk_str(struct buf *b, const char *text);
void resp_null_bulk(struct buf *b, int proto);
void resp_null_array(struct buf *b, int proto);
void resp_array(struct buf *b, size_t count);
/* A map of pairs in RESP3, an array of 2 * pairs in RESP2. */
void resp_map(struct buf *b, size_t pairs, int proto);
/* A set in RESP3, an array in RESP2. */
void resp_set(struct buf *b, size_t count, int proto);
/* Out of band data in RESP3, an array in RESP2. */
void resp_push(struct buf *b, size_t count, int proto);

#endif
