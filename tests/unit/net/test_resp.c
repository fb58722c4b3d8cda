/* RESP: commands in any pieces, every protocol error, limits, garbage, and replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "net/resp.h"

static const struct resp_limits full = { RESP_MAX_ARGS, 64 << 20 };
static const struct resp_limits unauthenticated = { RESP_UNAUTH_MAX_ARGS, RESP_UNAUTH_MAX_BULK };

/* ---- a connection that records the parsed commands ---- */

struct feed {
    struct resp_parser parser;
    struct buf in;
    const struct resp_limits *limits;
    struct buf said; /* "[3:GET][0:]\n" a command, "!text" an error */
    bool failed;
};

static void feed_free(struct feed *f) {
    resp_parser_free(&f->parser);
    buf_free(&f->in);
    buf_free(&f->said);
}

/* Appends a piece and moves all to memory of the exact size, so that stale
 * pointers and bytes too far are seen by the sanitizer. */
static void add_piece(struct buf *in, const char *bytes, size_t len) {
    size_t have = buf_len(in);
    struct buf moved = { 0 };

    if (have + len > 0) {
        moved.data = xmalloc(have + len);
        moved.cap = moved.end = have + len;
        if (have > 0)
            memcpy(moved.data, buf_ptr(in), have);
        memcpy(moved.data + have, bytes, len);
    }
    buf_free(in);
    *in = moved;
}

static void write_down(struct feed *f) {
    const struct resp_parser *p = &f->parser;

    assert_true(p->argc > 0);
    for (int i = 0; i < p->argc; i++) {
        assert_true(p->argv[i].ptr >= buf_ptr(&f->in));
        assert_true(p->argv[i].ptr + p->argv[i].len <= buf_ptr(&f->in) + p->consumed);
        buf_printf(&f->said, "[%zu:", p->argv[i].len);
        buf_append(&f->said, p->argv[i].ptr, p->argv[i].len);
        buf_append_str(&f->said, "]");
    }
    buf_append_str(&f->said, "\n");
}

static void read_commands(struct feed *f) {
    enum resp_status status;

    while ((status = resp_next(&f->parser, &f->in, f->limits)) == RESP_COMMAND) {
        write_down(f);
        assert_true(f->parser.consumed > 0 && f->parser.consumed <= buf_len(&f->in));
        buf_consume(&f->in, f->parser.consumed);
    }
    if (status == RESP_ERROR && !f->failed)
        buf_printf(&f->said, "!%s", f->parser.error);
    assert_true(!f->failed || status == RESP_ERROR);
    f->failed = status == RESP_ERROR;
}

static void feed_piece(struct feed *f, const char *bytes, size_t len) {
    add_piece(&f->in, bytes, len);
    read_commands(f);
}

static void assert_said(struct feed *f, struct slice expected, size_t split) {
    if (!slice_equal((struct slice){ buf_ptr(&f->said), buf_len(&f->said) }, expected))
        fail_msg("split at %zu, expected '%.*s', got '%.*s'", split, (int)expected.len, expected.ptr,
                 (int)buf_len(&f->said), buf_ptr(&f->said));
    feed_free(f);
}

#define BY_BYTE SIZE_MAX

/* Feeds the bytes in two pieces, or byte by byte, and compares the parsed commands. */
static void check_split(struct slice bytes, struct slice expected, const struct resp_limits *limits,
                        size_t split) {
    struct feed f = { .limits = limits };

    if (split == BY_BYTE) {
        for (size_t i = 0; i < bytes.len; i++)
            feed_piece(&f, bytes.ptr + i, 1);
    } else {
        feed_piece(&f, bytes.ptr, split);
        feed_piece(&f, bytes.ptr + split, bytes.len - split);
    }
    assert_said(&f, expected, split);
}

static void check_all_splits(struct slice bytes, struct slice expected, const struct resp_limits *limits) {
    for (size_t split = 0; split <= bytes.len; split++)
        check_split(bytes, expected, limits, split);
    check_split(bytes, expected, limits, BY_BYTE);
}

struct sample {
    struct slice bytes;
    struct slice said;
};

#define SAMPLE(bytes, said)             \
    {                                   \
        { bytes, sizeof(bytes) - 1 }, { \
            said, sizeof(said) - 1      \
        }                               \
    }

static void check_samples(const struct sample *samples, size_t count, const struct resp_limits *limits) {
    for (size_t i = 0; i < count; i++)
        check_all_splits(samples[i].bytes, samples[i].said, limits);
}

/* ---- Valid commands ---- */

static const struct sample valid[] = {
    SAMPLE("", ""),
    SAMPLE("*1\r\n$4\r\nPING\r\n", "[4:PING]\n"),
    SAMPLE("*2\r\n$4\r\nPING\r\n$0\r\n\r\n", "[4:PING][0:]\n"),
    SAMPLE("*3\r\n$1\r\na\r\n$2\r\n\r\n\r\n$3\r\n\0*$\r\n", "[1:a][2:\r\n][3:\0*$]\n"),
    SAMPLE("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nTIME\r\n", "[4:PING]\n[4:TIME]\n"),
    SAMPLE("*1\r\n$4\r\nPINGxx*1\r\n$4\r\nTIME\n\n", "[4:PING]\n[4:TIME]\n"),
    SAMPLE("*1\rx$4\ryPING\r\n", "[4:PING]\n"),
    SAMPLE("*0\r\n*-1\r\n*-10\r\n*1\r\n$4\r\nPING\r\n*0\r\n", "[4:PING]\n"),
    SAMPLE("*-9223372036854775808\r\nPING\r\n", "[4:PING]\n"),
    SAMPLE("*2\r\n$4\r\nPING\r\n$5\r\nhal", ""),
    SAMPLE("PING\r\n", "[4:PING]\n"),
    SAMPLE("PING\nTIME\nPING\n", "[4:PING]\n[4:TIME]\n[4:PING]\n"),
    SAMPLE("  PING \t a\tb  \r\n", "[4:PING][1:a][1:b]\n"),
    SAMPLE("PING a\rb\r\n", "[4:PING][1:a][1:b]\n"),
    SAMPLE("\r\n\n \t\r\nPING\r\n\r\n", "[4:PING]\n"),
    SAMPLE("PING\r\n*1\r\n$4\r\nTIME\r\nPING x\n", "[4:PING]\n[4:TIME]\n[4:PING][1:x]\n"),
    SAMPLE("a\0b c\0\r\n", "[3:a\0b][2:c\0]\n"),
    SAMPLE("ADDJOB q \"a b\" 0\r\n", "[6:ADDJOB][1:q][3:a b][1:0]\n"),
    SAMPLE("\"\\x41\\xfF\\n\\r\\t\\b\\a\\q\\\"\\\\\"\n", "[10:A\xff\n\r\t\b\aq\"\\]\n"),
    SAMPLE("\"\\x4g\\x\\x4\"\n", "[6:x4gxx4]\n"),
    SAMPLE("\"\\\0\"\n", "[1:\0]\n"),
    SAMPLE("'it\\'s \\n \"x\"'\n", "[11:it's \\n \"x\"]\n"),
    SAMPLE("a\"b c\" d'e f'\n", "[4:ab c][4:de f]\n"),
    SAMPLE("\"a\\\\\" \"b\"\t'c'\r\n", "[2:a\\][1:b][1:c]\n"),
    SAMPLE("PING \"\" ''\n", "[4:PING]\n"),
    SAMPLE("\"\" ''\nPING\n", "[4:PING]\n"),
    SAMPLE("$4\r\nPING\r\n", "[2:$4]\n[4:PING]\n"),
    SAMPLE("\xff\x80 x\n", "[2:\xff\x80][1:x]\n"),
    SAMPLE("PING *1\n", "[4:PING][2:*1]\n"),
    SAMPLE("\\x41 a\\ b\n", "[4:\\x41][2:a\\][1:b]\n"),
    SAMPLE("PING", ""),
};

static void test_valid(void **state) {
    (void)state;
    check_samples(valid, LENGTH(valid), &full);
}

/* ---- Broken framing ---- */

#define BAD_ARGS "!Protocol error: invalid multibulk length"
#define BAD_BULK "!Protocol error: invalid bulk length"
#define EXPECTED(c) "!Protocol error: expected '$', got '" c "'"
#define BAD_QUOTES "!Protocol error: unbalanced quotes in request"

static const struct sample broken[] = {
    SAMPLE("*1048577\r\n", BAD_ARGS),
    SAMPLE("*x\r\n", BAD_ARGS),
    SAMPLE("*\r\n", BAD_ARGS),
    SAMPLE("*+1\r\n", BAD_ARGS),
    SAMPLE("*01\r\n", BAD_ARGS),
    SAMPLE("* 1\r\n", BAD_ARGS),
    SAMPLE("*1 \r\n", BAD_ARGS),
    SAMPLE("*1\n\r\n", BAD_ARGS),
    SAMPLE("*1\0\r\n", BAD_ARGS),
    SAMPLE("*99999999999999999999\r\n", BAD_ARGS),
    SAMPLE("*-99999999999999999999\r\n", BAD_ARGS),
    SAMPLE("*18446744073709551617\r\n", BAD_ARGS),
    SAMPLE("*1\r\n$67108865\r\n", BAD_BULK),
    SAMPLE("*1\r\n$-1\r\n", BAD_BULK),
    SAMPLE("*1\r\n$\r\n", BAD_BULK),
    SAMPLE("*1\r\n$x\r\n", BAD_BULK),
    SAMPLE("*1\r\n$+4\r\nPING\r\n", BAD_BULK),
    SAMPLE("*1\r\n$04\r\nPING\r\n", BAD_BULK),
    SAMPLE("*1\r\n$4 \r\nPING\r\n", BAD_BULK),
    SAMPLE("*1\r\n$9223372036854775807\r\n", BAD_BULK),
    SAMPLE("*1\r\n$18446744073709551620\r\nPING\r\n", BAD_BULK),
    SAMPLE("*1\r\nPING\r\n", EXPECTED("P")),
    SAMPLE("*2\r\n$4\r\nPING\r\n:4\r\n", EXPECTED(":")),
    SAMPLE("*1\r\n*1\r\n", EXPECTED("*")),
    SAMPLE("*1\r\n\r\n", EXPECTED(" ")),
    SAMPLE("*1\r\n\n\r\n", EXPECTED(" ")),
    SAMPLE("*1\r\n\0\r\n", EXPECTED(" ")),
    SAMPLE("*2\r\n$3\r\nPING\r\n$1\r\n", EXPECTED(" ")),
    SAMPLE("PING\r\n*1\r\n$4\r\nTIME\r\n*x\r\nPING\r\n", "[4:PING]\n[4:TIME]\n" BAD_ARGS),
    SAMPLE("\"abc\r\n", BAD_QUOTES),
    SAMPLE("'abc\r\n", BAD_QUOTES),
    SAMPLE("\"abc\\\"\r\n", BAD_QUOTES),
    SAMPLE("\"abc\\\n", BAD_QUOTES),
    SAMPLE("'abc\\'\r\n", BAD_QUOTES),
    SAMPLE("\"a\"b\n", BAD_QUOTES),
    SAMPLE("'a'\"b\"\n", BAD_QUOTES),
    SAMPLE("\"a\"\0\n", BAD_QUOTES),
    SAMPLE("PING\nPING a\"b\nPING\n", "[4:PING]\n" BAD_QUOTES),
};

static void test_broken(void **state) {
    (void)state;
    check_samples(broken, LENGTH(broken), &full);
}

static const struct sample before_auth[] = {
    SAMPLE("*10\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$"
           "1\r\na\r\n"
           "$1\r\na\r\n",
           "[1:a][1:a][1:a][1:a][1:a][1:a][1:a][1:a][1:a][1:a]\n"),
    SAMPLE("*11\r\n", BAD_ARGS),
    SAMPLE("*1\r\n$16384\r\nabc", ""),
    SAMPLE("*1\r\n$16385\r\n", BAD_BULK),
    SAMPLE("a a a a a a a a a a\n", "[1:a][1:a][1:a][1:a][1:a][1:a][1:a][1:a][1:a][1:a]\n"),
    SAMPLE("a a a a a a a a a a a\n", "!Protocol error: too big inline request"),
};

static void test_before_auth(void **state) {
    (void)state;
    check_samples(before_auth, LENGTH(before_auth), &unauthenticated);
}

/* The limits are per call, because AUTH may precede the large command. */
static void test_limits_change(void **state) {
    static const char bytes[] = "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n*11\r\n$1\r\n";
    struct resp_parser p = { 0 };
    struct buf in = { 0 };

    (void)state;
    buf_append_str(&in, bytes);
    assert_int_equal(resp_next(&p, &in, &unauthenticated), RESP_COMMAND);
    assert_int_equal(p.argc, 2);
    buf_consume(&in, p.consumed);
    assert_int_equal(resp_next(&p, &in, &full), RESP_MORE);
    resp_parser_free(&p);
    buf_free(&in);
}

/* ---- Lines that are too long, or just not ---- */

/* before, then count times the fill byte, then after. */
static struct buf long_line(const char *before, size_t count, const char *after) {
    struct buf b = { 0 };

    buf_append_str(&b, before);
    memset(buf_reserve(&b, count), 'z', count);
    buf_added(&b, count);
    buf_append_str(&b, after);
    return b;
}

/* Feeds the line whole, byte by byte, and split around every special place. */
static void check_long(struct buf line, const char *said) {
    static const size_t splits[] = { 0, 1, 4, 5, 65535, 65536, 65537, 65538, 65539, 65540, 65541, 65542 };
    struct slice bytes = { buf_ptr(&line), buf_len(&line) };
    struct feed f = { .limits = &full };

    for (size_t i = 0; i < LENGTH(splits); i++) {
        if (splits[i] <= bytes.len)
            check_split(bytes, slice_str(said), &full, splits[i]);
    }
    for (size_t i = 0; i < bytes.len; i++) {
        buf_append(&f.in, bytes.ptr + i, 1);
        read_commands(&f);
    }
    assert_said(&f, slice_str(said), BY_BYTE);
    buf_free(&line);
}

#define TOO_BIG(what) "!Protocol error: too big " what

static void test_long_lines(void **state) {
    char *said = xmalloc(65536 + 32);
    int len = sprintf(said, "[65536:");

    (void)state;
    memset(said + len, 'z', 65536);
    strcpy(said + len + 65536, "]\n");
    check_long(long_line("", 65536, "\n"), said);
    check_long(long_line("", 65537, "\n"), TOO_BIG("inline request"));
    check_long(long_line("", 65536, "\r\n"), TOO_BIG("inline request"));
    check_long(long_line("", 65536, ""), "");
    check_long(long_line("", 65537, ""), TOO_BIG("inline request"));
    check_long(long_line("*", 65535, "\r\n"), BAD_ARGS);
    check_long(long_line("*", 65536, "\r\n"), TOO_BIG("mbulk count string"));
    check_long(long_line("*", 65536, ""), TOO_BIG("mbulk count string"));
    check_long(long_line("*1\r\n$", 65535, "\r\n"), BAD_BULK);
    check_long(long_line("*1\r\n$", 65536, "\r\n"), TOO_BIG("bulk count string"));
    check_long(long_line("*1\r\n", 65537, ""), TOO_BIG("bulk count string"));
    free(said);
}

/* ---- Cost ---- */

/* Bytes that were searched before are changed into ends of lines behind the parser's back. */
static void test_no_second_look(void **state) {
    static const struct {
        const char *seen;
        size_t from;
        const char *rest;
        int argc;
    } lines[] = { { "PING abc", 4, "d\n", 1 }, { "*100", 1, "0\r\n", 0 }, { "*1\r\n$100", 5, "0\r\n", 0 } };

    (void)state;
    for (size_t i = 0; i < LENGTH(lines); i++) {
        struct resp_parser p = { 0 };
        struct buf in = { 0 };
        size_t len = strlen(lines[i].seen);

        buf_append_str(&in, lines[i].seen);
        assert_int_equal(resp_next(&p, &in, &full), RESP_MORE);
        memset(buf_ptr(&in) + lines[i].from, lines[i].argc ? '\n' : '\r', len - lines[i].from);
        assert_int_equal(resp_next(&p, &in, &full), RESP_MORE);
        memcpy(buf_ptr(&in) + lines[i].from, lines[i].seen + lines[i].from, len - lines[i].from);
        buf_append_str(&in, lines[i].rest);
        assert_int_equal(resp_next(&p, &in, &full), lines[i].argc ? RESP_COMMAND : RESP_MORE);
        assert_false(p.failed);
        resp_parser_free(&p);
        buf_free(&in);
    }
}

/* A body of 64 MB in pieces of 16 KB, in memory that moves while it grows. */
static void test_large_body(void **state) {
    const size_t size = 64 << 20, piece = 16384;
    struct resp_parser p = { 0 };
    struct buf in = { 0 };
    char *bytes = xmalloc(piece);

    (void)state;
    memset(bytes, 'b', piece);
    buf_append_str(&in, "*2\r\n$4\r\nECHO\r\n$67108864\r\n");
    for (size_t sent = 0; sent < size; sent += piece) {
        assert_int_equal(resp_next(&p, &in, &full), RESP_MORE);
        assert_true(resp_wanted(&p, &in) > 0 && resp_wanted(&p, &in) <= size - sent + 2);
        buf_append(&in, bytes, piece);
    }
    assert_int_equal(resp_next(&p, &in, &full), RESP_MORE);
    assert_int_equal(resp_wanted(&p, &in), 2);
    buf_append_str(&in, "\r\n");
    assert_int_equal(resp_next(&p, &in, &full), RESP_COMMAND);
    assert_int_equal(p.argc, 2);
    assert_int_equal(p.argv[1].len, size);
    assert_int_equal(p.argv[1].ptr[size - 1], 'b');
    assert_int_equal(p.consumed, buf_len(&in));
    assert_int_equal(resp_wanted(&p, &in), 0);
    free(bytes);
    resp_parser_free(&p);
    buf_free(&in);
}

static size_t wanted_after(const char *bytes) {
    struct resp_parser p = { 0 };
    struct buf in = { 0 };
    size_t wanted;

    buf_append_str(&in, bytes);
    assert_int_equal(resp_next(&p, &in, &full), RESP_MORE);
    wanted = resp_wanted(&p, &in);
    resp_parser_free(&p);
    buf_free(&in);
    return wanted;
}

/* The hint is exact for small arguments. An announced size never takes memory. */
static void test_wanted(void **state) {
    (void)state;
    assert_int_equal(wanted_after(""), 0);
    assert_int_equal(wanted_after("PING"), 0);
    assert_int_equal(wanted_after("*2\r\n$10"), 0);
    assert_int_equal(wanted_after("*2\r\n$10\r\n"), 12);
    assert_int_equal(wanted_after("*2\r\n$10\r\nabc"), 9);
    assert_int_equal(wanted_after("*2\r\n$10\r\nabcdefghij\r"), 1);
    assert_int_equal(wanted_after("*2\r\n$10\r\nabcdefghij\r\n"), 0);
    assert_int_equal(wanted_after("*2\r\n$67108864\r\nabcd"), 4096);
}

/* A million announced arguments cost no memory. A million real arguments are parsed, and their memory is freed. */
static void test_many_arguments(void **state) {
    struct resp_parser p = { 0 };
    struct buf in = { 0 };

    (void)state;
    buf_append_str(&in, "*1048576\r\n$0\r\n\r\n");
    assert_int_equal(resp_next(&p, &in, &full), RESP_MORE);
    assert_true(p.argv_cap <= 1024);
    for (int i = 1; i < RESP_MAX_ARGS; i++)
        buf_append_str(&in, "$0\r\n\r\n");
    assert_int_equal(resp_next(&p, &in, &full), RESP_COMMAND);
    assert_int_equal(p.argc, RESP_MAX_ARGS);
    buf_consume(&in, p.consumed);
    buf_append_str(&in, "PING\r\n");
    assert_int_equal(resp_next(&p, &in, &full), RESP_COMMAND);
    assert_int_equal(p.argc, 1);
    assert_true(p.argv_cap <= 1024);
    resp_parser_free(&p);
    buf_free(&in);
}

/* Empty requests, without end, do not pile up. */
static void test_empty_requests_vanish(void **state) {
    struct resp_parser p = { 0 };
    struct buf in = { 0 };

    (void)state;
    for (int i = 0; i < 10000; i++) {
        buf_append_str(&in, "\r\n*0\r\n \n*-7\r\n");
        assert_int_equal(resp_next(&p, &in, &full), RESP_MORE);
        assert_int_equal(buf_len(&in), 0);
    }
    resp_parser_free(&p);
    buf_free(&in);
}

/* ---- Garbage ---- */

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Pieces of requests, so that garbage gets further than its first line. */
static size_t make_garbage(uint64_t *seed, char *out, size_t room) {
    static const char *const pieces[] = { "*",        "$",      "\r\n",        "\r",     "\n",
                                          "1",        "2",      "3",           "10",     "-1",
                                          "*1\r\n",   "*2\r\n", "$1\r\na\r\n", "$3\r\n", "PING",
                                          "PING\r\n", "\"",     "'",           "\\",     "\\x4",
                                          " ",        "\t",     "abc",         "*3\r\n", "0" };
    size_t len = 0, target = next_random(seed) % room;

    while (len < target) {
        if (next_random(seed) % 8 == 0) {
            out[len++] = (char)next_random(seed);
        } else {
            const char *piece = pieces[next_random(seed) % LENGTH(pieces)];

            for (; *piece != '\0' && len < target; piece++)
                out[len++] = *piece;
        }
    }
    return len;
}

/* Random pieces must be understood as the whole is. */
static void check_garbage(uint64_t *seed, const char *bytes, size_t len) {
    struct feed whole = { .limits = &unauthenticated }, pieces = { .limits = &unauthenticated };
    size_t sent = 0;

    feed_piece(&whole, bytes, len);
    while (sent < len) {
        size_t piece = 1 + next_random(seed) % 7;

        if (piece > len - sent)
            piece = len - sent;
        feed_piece(&pieces, bytes + sent, piece);
        sent += piece;
    }
    assert_said(&pieces, (struct slice){ buf_ptr(&whole.said), buf_len(&whole.said) }, BY_BYTE);
    feed_free(&whole);
}

static void test_garbage(void **state) {
    static const uint64_t seeds[] = { 1, 7711, 20261120, UINT64_C(0x9e3779b97f4a7c15) };
    char bytes[200];

    (void)state;
    for (size_t i = 0; i < LENGTH(seeds); i++) {
        uint64_t seed = seeds[i];

        print_message("seed %llu\n", (unsigned long long)seeds[i]);
        for (int round = 0; round < 2000; round++) {
            size_t len = make_garbage(&seed, bytes, sizeof(bytes));

            check_garbage(&seed, bytes, len);
        }
    }
}

/* ---- Replies ---- */

static void assert_bytes(struct buf *b, struct slice expected) {
    if (!slice_equal((struct slice){ buf_ptr(b), buf_len(b) }, expected))
        fail_msg("expected '%.*s', got '%.*s'", (int)expected.len, expected.ptr, (int)buf_len(b), buf_ptr(b));
    buf_free(b);
}

static void test_simple_replies(void **state) {
    struct buf b = { 0 };

    (void)state;
    resp_status(&b, "OK");
    resp_error(&b, "ERR unknown command 'a\r\nb'");
    resp_error(&b, "");
    resp_int(&b, 0);
    resp_int(&b, -17);
    resp_int(&b, INT64_MAX);
    resp_int(&b, INT64_MIN);
    assert_bytes(&b, SLICE("+OK\r\n-ERR unknown command 'a  b'\r\n-\r\n:0\r\n:-17\r\n"
                           ":9223372036854775807\r\n:-9223372036854775808\r\n"));
}

static void test_bulk_replies(void **state) {
    struct buf b = { 0 };

    (void)state;
    resp_bulk(&b, SLICE("a\0\r\n"));
    resp_bulk(&b, (struct slice){ NULL, 0 });
    resp_bulk_str(&b, "0123456789");
    assert_bytes(&b, SLICE("$4\r\na\0\r\n\r\n$0\r\n\r\n$10\r\n0123456789\r\n"));
}

static void append_all_aggregates(struct buf *b, int proto) {
    resp_null_bulk(b, proto);
    resp_null_array(b, proto);
    resp_array(b, 0);
    resp_array(b, 30);
    resp_map(b, 7, proto);
    resp_push(b, 3, proto);
}

static void test_aggregates(void **state) {
    struct buf b = { 0 };

    (void)state;
    append_all_aggregates(&b, 2);
    assert_bytes(&b, SLICE("$-1\r\n*-1\r\n*0\r\n*30\r\n*14\r\n*3\r\n"));
    append_all_aggregates(&b, 3);
    assert_bytes(&b, SLICE("_\r\n_\r\n*0\r\n*30\r\n%7\r\n>3\r\n"));
}

/* The client side parses the bytes that the server side writes, and the reverse. */
static void test_round_trip(void **state) {
    struct feed f = { .limits = &full };

    (void)state;
    resp_array(&f.in, 3);
    resp_bulk(&f.in, SLICE("ADDJOB"));
    resp_bulk(&f.in, SLICE("q\r\n\0"));
    resp_bulk(&f.in, SLICE(""));
    read_commands(&f);
    assert_said(&f, SLICE("[6:ADDJOB][4:q\r\n\0][0:]\n"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),          cmocka_unit_test(test_broken),
        cmocka_unit_test(test_before_auth),    cmocka_unit_test(test_limits_change),
        cmocka_unit_test(test_long_lines),     cmocka_unit_test(test_no_second_look),
        cmocka_unit_test(test_large_body),     cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_many_arguments), cmocka_unit_test(test_empty_requests_vanish),
        cmocka_unit_test(test_garbage),        cmocka_unit_test(test_simple_replies),
        cmocka_unit_test(test_bulk_replies),   cmocka_unit_test(test_aggregates),
        cmocka_unit_test(test_round_trip),
    };

    return cmocka_run_group_tests_name("resp", tests, NULL, NULL);
}
