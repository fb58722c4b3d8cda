#ifndef RESP_H
#define RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/util.h"

/*
 * RESP: parses bytes to arguments, and writes values as bytes. No I/O and no policy.
 *
 * The parser reads a connection's input buffer and remembers its position. So it reads each byte once, however
 * small the pieces are. It allocates memory for bytes that were received, never for lengths that were
 * announced. Framing and its error texts: Disque's networking.c, disque-protocol 2.1-2.2.
 */
#define RESP_MAX_ARGS (1024 * 1024)
#define RESP_MAX_INLINE (64 * 1024)
/* Before AUTH, as Redis since CVE-2021-32675. */
#define RESP_UNAUTH_MAX_ARGS 10
#define RESP_UNAUTH_MAX_BULK 16384

enum resp_status {
    RESP_MORE,    /* no complete command yet */
    RESP_COMMAND, /* argv has a command */
    RESP_ERROR,   /* error has the text; no more input is parsed */
};

struct resp_limits {
    size_t max_args;
    size_t max_bulk;
};

struct resp_parser {
    /* The command after RESP_COMMAND: argc slices of the input buffer, valid until that is changed. argc is
     * at least 1. */
    int argc;
    struct slice *argv;
    size_t consumed; /* its bytes at the front of the buffer: buf_consume() them */
    char error[128]; /* without "-ERR " and CRLF */
    /* Private. */
    int64_t args_left; /* multibulk arguments still to come */
    int64_t bulk_len;  /* length of the argument that is being read; -1: header not read */
    size_t scanned;    /* offset from the buffer's front up to which all is parsed */
    size_t searched;   /* bytes after `scanned` without an end of line */
    size_t argv_cap;
    size_t *offsets; /* argv as offsets, because the buffer may move */
    bool failed;
};

/* Parses the next command at the front of in. After RESP_COMMAND the caller uses argv, calls buf_consume(in,
 * p->consumed), and calls this again. Empty requests (*0, an empty line) are consumed inside. The quotes of
 * an inline command are resolved in place, and nothing else in the buffer is changed. A parser of zero bytes
 * is valid and new. */
enum resp_status resp_next(struct resp_parser *p, struct buf *in,
                           const struct resp_limits *limits) MUST_CHECK;
/* How many more bytes the buffer should have room for until the end of the argument that is being read; 0:
 * unknown. This hint saves reads. It is at most 4 KB, or a quarter of the bytes that have arrived if that is
 * more. */
size_t resp_wanted(const struct resp_parser *p, const struct buf *in);
/* Bytes of memory of the parser itself. */
size_t resp_parser_memory(const struct resp_parser *p);
void resp_parser_free(struct resp_parser *p);

/* Writing values. proto is 2 or 3. */
void resp_status(struct buf *b, const char *text);
/* text starts with the error code, as in "ERR syntax error". CR and LF become blanks. */
void resp_error(struct buf *b, const char *text);
void resp_int(struct buf *b, int64_t value);
void resp_bulk(struct buf *b, struct slice value);
void resp_bulk_str(struct buf *b, const char *text);
void resp_null_bulk(struct buf *b, int proto);
void resp_null_array(struct buf *b, int proto);
void resp_array(struct buf *b, size_t count);
/* A map of pairs in RESP3, an array of 2 * pairs in RESP2. */
void resp_map(struct buf *b, size_t pairs, int proto);
/* Out of band data in RESP3, an array in RESP2. */
void resp_push(struct buf *b, size_t count, int proto);

#endif
