/* RESP: parses bytes to arguments, and writes values as bytes. */
#include "net/resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/tokenizer.h"

/* The most arguments for which an idle client keeps memory. */
#define KEEP_ARGS 1024

/* The smallest step of resp_wanted() in bytes. */
#define WANTED_STEP (4 * 1024)

/* The first byte that a client with TLS sends. */
#define TLS_HANDSHAKE 0x16

/* ---- Reading ---- */

enum step {
    STEP_MORE, /* more bytes are needed */
    STEP_NEXT, /* a piece was read, continue */
    STEP_DONE, /* the command is complete */
    STEP_FAIL,
};

static enum step resp_fail(struct resp_parser *p, const char *what) {
    snprintf(p->error, sizeof(p->error), "Protocol error: %s", what);
    p->failed = true;
    return STEP_FAIL;
}

static void start_over(struct resp_parser *p) {
    if (p->argv_cap > KEEP_ARGS) {
        free(p->argv);
        free(p->offsets);
        p->argv = NULL;
        p->offsets = NULL;
        p->argv_cap = 0;
    }
    p->argc = 0;
    p->consumed = 0;
    p->args_left = 0;
    p->scanned = 0;
    p->searched = 0;
}

/* Adds an argument of len bytes at offset from the buffer's front. */
static void add_arg(struct resp_parser *p, size_t offset, size_t len) {
    if ((size_t)p->argc == p->argv_cap) {
        p->argv_cap = p->argv_cap == 0 ? 16 : p->argv_cap * 2;
        p->argv = xrealloc(p->argv, p->argv_cap * sizeof(*p->argv));
        p->offsets = xrealloc(p->offsets, p->argv_cap * sizeof(*p->offsets));
    }
    p->offsets[p->argc] = offset;
    p->argv[p->argc++].len = len;
}

static void drop_empty(struct resp_parser *p, struct buf *in, size_t len) {
    buf_consume(in, len);
    start_over(p);
}

/*
 * Finds the byte that ends the line at p->scanned, and returns the line's length. Each byte is searched once,
 * and no byte after the limit is searched. So the outcome does not depend on the pieces in which the line
 * arrives.
 */
static enum step find_line_end(struct resp_parser *p, const struct buf *in, char end, size_t *len,
                               const char *too_big) {
    size_t have = buf_len(in) - p->scanned;
    size_t window = have < RESP_MAX_INLINE + 1 ? have : RESP_MAX_INLINE + 1;
    const char *line = buf_ptr(in) + p->scanned;
    const char *found = memchr(line + p->searched, end, window - p->searched);

    if (found != NULL) {
        *len = (size_t)(found - line);
        p->searched = 0;
        return STEP_NEXT;
    }
    p->searched = window;
    return have > RESP_MAX_INLINE ? resp_fail(p, too_big) : STEP_MORE;
}

/*
 * Reads a line such as "*3" or "$17" up to its CR. It skips the next byte, which need not be an LF. digits: the
 * bytes after the first one.
 */
static enum step read_header(struct resp_parser *p, const struct buf *in, char *first, struct slice *digits,
                             const char *too_big) {
    size_t len = 0;
    enum step step = find_line_end(p, in, '\r', &len, too_big);
    const char *line = buf_ptr(in) + p->scanned;

    if (step != STEP_NEXT)
        return step;
    if (p->scanned + len + 2 > buf_len(in)) {
        p->searched = len;
        return STEP_MORE;
    }
    *first = line[0];
    *digits = len == 0 ? SLICE("") : (struct slice){ line + 1, len - 1 };
    p->scanned += len + 2;
    return STEP_NEXT;
}

static enum step read_args_header(struct resp_parser *p, struct buf *in, const struct resp_limits *limits) {
    struct slice digits = SLICE("");
    int64_t count;
    char first = 0;
    enum step step = read_header(p, in, &first, &digits, "too big mbulk count string");

    if (step != STEP_NEXT)
        return step;
    if (!parse_int_strict(digits, &count) || (count > 0 && (uint64_t)count > limits->max_args))
        return resp_fail(p, "invalid multibulk length");
    if (count <= 0) {
        drop_empty(p, in, p->scanned);
    } else {
        p->args_left = count;
        p->bulk_len = -1;
    }
    return STEP_NEXT;
}

/* The error shows the byte to the client, but not a byte that would break the reply. */
static enum step fail_expected_bulk(struct resp_parser *p, char got) {
    char what[] = "expected '$', got 'c'";
    bool breaks = got == '\r' || got == '\n' || got == '\0';

    what[sizeof(what) - 3] = breaks ? ' ' : got;
    return resp_fail(p, what);
}

static enum step read_bulk_header(struct resp_parser *p, const struct buf *in,
                                  const struct resp_limits *limits) {
    struct slice digits = SLICE("");
    int64_t len;
    char first = 0;
    enum step step = read_header(p, in, &first, &digits, "too big bulk count string");

    if (step != STEP_NEXT)
        return step;
    if (first != '$')
        return fail_expected_bulk(p, first);
    if (!parse_int_strict(digits, &len) || len < 0 || (uint64_t)len > limits->max_bulk)
        return resp_fail(p, "invalid bulk length");
    p->bulk_len = len;
    return STEP_NEXT;
}

/* The two bytes after a bulk are skipped unchecked, because clients may rely on that. */
static enum step read_bulk(struct resp_parser *p, const struct buf *in) {
    size_t len = (size_t)p->bulk_len;
    size_t have = buf_len(in) - p->scanned;

    if (have < 2 || have - 2 < len)
        return STEP_MORE;
    add_arg(p, p->scanned, len);
    p->scanned += len + 2;
    p->bulk_len = -1;
    return --p->args_left == 0 ? STEP_DONE : STEP_NEXT;
}

/* Empty words are dropped, as Redis does in inline commands. */
static enum step split_words(struct resp_parser *p, char *line, size_t end,
                             const struct resp_limits *limits) {
    size_t at = 0;
    struct slice word;
    enum word_result found;

    while ((found = tokenizer_next(line, end, &at, &word)) == WORD_FOUND) {
        if (word.len == 0)
            continue;
        if ((size_t)p->argc == limits->max_args)
            return resp_fail(p, "too big inline request");
        add_arg(p, (size_t)(word.ptr - line), word.len);
    }
    if (found == WORD_UNBALANCED)
        return resp_fail(p, "unbalanced quotes in request");
    return p->argc > 0 ? STEP_DONE : STEP_NEXT;
}

/* A client that begins with TLS would wait for a reply without ever sending a line. */
static enum step read_inline(struct resp_parser *p, struct buf *in, const struct resp_limits *limits) {
    size_t len = 0;
    enum step step = *buf_ptr(in) == TLS_HANDSHAKE
                         ? resp_fail(p, "TLS on a port without TLS")
                         : find_line_end(p, in, '\n', &len, "too big inline request");

    if (step != STEP_NEXT)
        return step;
    step = split_words(p, buf_ptr(in), len, limits);
    if (step == STEP_NEXT)
        drop_empty(p, in, len + 1);
    else
        p->scanned = len + 1;
    return step;
}

static enum step read_step(struct resp_parser *p, struct buf *in, const struct resp_limits *limits) {
    if (buf_len(in) == p->scanned)
        return STEP_MORE;
    if (p->args_left == 0)
        return *buf_ptr(in) == '*' ? read_args_header(p, in, limits) : read_inline(p, in, limits);
    return p->bulk_len < 0 ? read_bulk_header(p, in, limits) : read_bulk(p, in);
}

enum resp_status resp_next(struct resp_parser *p, struct buf *in, const struct resp_limits *limits) {
    enum step step = STEP_NEXT;

    if (p->failed)
        return RESP_ERROR;
    if (p->consumed > 0)
        start_over(p);
    while (step == STEP_NEXT)
        step = read_step(p, in, limits);
    if (step == STEP_FAIL)
        return RESP_ERROR;
    if (step == STEP_MORE)
        return RESP_MORE;
    p->consumed = p->scanned;
    for (int i = 0; i < p->argc; i++)
        p->argv[i].ptr = buf_ptr(in) + p->offsets[i];
    return RESP_COMMAND;
}

/*
 * The step grows with the bytes that have arrived. So a client that announces a large argument must send it
 * before the server allocates memory for it.
 */
size_t resp_wanted(const struct resp_parser *p, const struct buf *in) {
    size_t have, missing, step;

    if (p->failed || p->args_left == 0 || p->bulk_len < 0)
        return 0;
    have = buf_len(in) - p->scanned;
    if (have >= (size_t)p->bulk_len + 2)
        return 0;
    missing = (size_t)p->bulk_len + 2 - have;
    step = have / 4 > WANTED_STEP ? have / 4 : WANTED_STEP;
    return missing < step ? missing : step;
}

size_t resp_parser_memory(const struct resp_parser *p) {
    return p->argv_cap * (sizeof *p->argv + sizeof *p->offsets);
}

void resp_parser_free(struct resp_parser *p) {
    free(p->argv);
    free(p->offsets);
    *p = (struct resp_parser){ 0 };
}

/* ---- Writing ---- */

/* Room for a type byte, 20 digits, a sign, and CRLF. */
#define HEADER_MAX 24

/* A line such as "*3" or ":-17", built from its end. */
static void append_number(struct buf *b, char type, int64_t value) {
    char line[HEADER_MAX];
    char *at = line + sizeof(line);
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    *--at = '\n';
    *--at = '\r';
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        *--at = '-';
    *--at = type;
    buf_append(b, at, (size_t)(line + sizeof(line) - at));
}

void resp_status(struct buf *b, const char *text) {
    buf_append(b, "+", 1);
    buf_append_str(b, text);
    buf_append(b, "\r\n", 2);
}

void resp_error(struct buf *b, const char *text) {
    size_t len = strlen(text);
    char *out = buf_reserve(b, len + 3);

    *out++ = '-';
    for (size_t i = 0; i < len; i++)
        *out++ = text[i] == '\r' || text[i] == '\n' ? ' ' : text[i];
    memcpy(out, "\r\n", 2);
    buf_added(b, len + 3);
}

void resp_int(struct buf *b, int64_t value) {
    append_number(b, ':', value);
}

void resp_bulk(struct buf *b, struct slice value) {
    buf_reserve(b, value.len + HEADER_MAX + 2);
    append_number(b, '$', (int64_t)value.len);
    buf_append(b, value.ptr, value.len);
    buf_append(b, "\r\n", 2);
}

void resp_bulk_str(struct buf *b, const char *text) {
    resp_bulk(b, slice_str(text));
}

void resp_null_bulk(struct buf *b, int proto) {
    buf_append_str(b, proto == 3 ? "_\r\n" : "$-1\r\n");
}

void resp_null_array(struct buf *b, int proto) {
    buf_append_str(b, proto == 3 ? "_\r\n" : "*-1\r\n");
}

void resp_array(struct buf *b, size_t count) {
    append_number(b, '*', (int64_t)count);
}

void resp_map(struct buf *b, size_t pairs, int proto) {
    append_number(b, proto == 3 ? '%' : '*', (int64_t)(proto == 3 ? pairs : 2 * pairs));
}

void resp_push(struct buf *b, size_t count, int proto) {
    append_number(b, proto == 3 ? '>' : '*', (int64_t)count);
}
