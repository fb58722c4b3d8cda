/* Sizes, names, numbers of clients, and input that no client should send. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define MB (1024 * 1024)

/* All byte values, in an order that no period of the transport repeats. */
static char *make_body(size_t len) {
    char *body = malloc(len + 1);
    unsigned x = 1;

    for (size_t i = 0; i < len; i++) {
        x = x * 1103515245 + 12345;
        body[i] = (char)(i < 256 ? i : x >> 16);
    }
    return body;
}

static void check_body(redisContext *c, size_t len) {
    char *body = make_body(len);
    redisReply *r = redisCommand(c, "ADDJOB sizes %b 0", body, len);
    redisReply *job;

    if (!r || r->type != REDIS_REPLY_STATUS)
        fail_msg("%zu bytes: %s", len, r ? r->str : c->errstr);
    freeReplyObject(r);
    r = redisCommand(c, "GETJOB NOHANG FROM sizes");
    if (!r || r->type != REDIS_REPLY_ARRAY)
        fail_msg("%zu bytes: nothing came back", len);
    job = r->element[0];
    assert_int_equal(job->element[2]->len, len);
    assert_memory_equal(job->element[2]->str, body, len);
    expect(c, ":1", "ACKJOB %s", job->element[1]->str);
    freeReplyObject(r);
    free(body);
}

static void test_bodies_of_all_sizes(void **state) {
    static const size_t sizes[] = { 0,     1,     2,     255,   256,   257,   1999,   2000,       4095,  8191,
                                    16383, 16384, 32768, 65535, 65536, 65537, 1 * MB, 1 * MB + 1, 5 * MB };
    redisContext *c = client_open();

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_body(c, sizes[i]);
    redisFree(c);
}

static void test_largest_body(void **state) {
    redisContext *c = client_open();

    (void)state;
    expect(c, "[\"proto-max-bulk-len\" \"67108864\"]", "CONFIG GET proto-max-bulk-len");
    check_body(c, 64 * MB);
    expect(c, "+PONG", "PING");
    redisFree(c);
}

/* A body that is handed over takes another path through the server than a claimed one. */
static void test_large_body_for_a_waiting_client(void **state) {
    redisContext *c = client_open();
    char *body = make_body(8 * MB);
    struct wire w;
    struct value *v;

    (void)state;
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "handover", NULL);
    EVENTUALLY(blocked_clients() == 1);
    freeReplyObject(redisCommand(c, "ADDJOB handover %b 0", body, (size_t)8 * MB));
    v = wire_reply(&w, 10000);
    assert_non_null(v);
    assert_int_equal(v->items[0]->items[2]->len, 8 * MB);
    assert_memory_equal(v->items[0]->items[2]->text, body, 8 * MB);
    value_free(v);
    wire_close(&w);
    free(body);
    redisFree(c);
}

static void test_one_byte_too_many(void **state) {
    redisContext *c = client_open();
    struct wire w;

    (void)state;
    expect(c, "+OK", "CONFIG SET proto-max-bulk-len 1mb");
    check_body(c, 1 * MB);
    raw_open(&w);
    wire_send_text(&w, text_of("*4\r\n$6\r\nADDJOB\r\n$1\r\nq\r\n$%d\r\n", MB + 1));
    raw_expect(&w, "-ERR Protocol error: invalid bulk length");
    assert_true(wire_wait_eof(&w, 5000));
    wire_close(&w);
    expect(c, "+OK", "CONFIG SET proto-max-bulk-len 64mb");
    expect(c, "+PONG", "PING");
    redisFree(c);
}

/* GETJOB takes a name with a * or a ? for a pattern. A \ in the pattern makes the next character literal. The caller
 * frees the result; *len is its length. */
static char *as_pattern(const char *name, size_t *len) {
    bool special = memchr(name, '*', *len) || memchr(name, '?', *len);
    char *out = malloc(2 * *len + 1);
    size_t n = 0;

    for (size_t i = 0; i < *len; i++) {
        if (special && strchr("*?\\", name[i]) && name[i] != '\0')
            out[n++] = '\\';
        out[n++] = name[i];
    }
    *len = n;
    return out;
}

static redisReply *get_from(redisContext *c, const char *name, size_t len) {
    char *pattern = as_pattern(name, &len);
    redisReply *r = redisCommand(c, "GETJOB NOHANG FROM %b", pattern, len);

    free(pattern);
    return r;
}

static void check_name(redisContext *c, const char *name, size_t len) {
    redisReply *r = redisCommand(c, "ADDJOB %b x 0", name, len);

    if (!r || r->type != REDIS_REPLY_STATUS)
        fail_msg("name of %zu bytes: %s", len, r ? r->str : c->errstr);
    freeReplyObject(r);
    r = redisCommand(c, "QLEN %b", name, len);
    assert_int_equal(r->integer, 1);
    freeReplyObject(r);
    r = get_from(c, name, len);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->element[0]->element[0]->len, len);
    assert_memory_equal(r->element[0]->element[0]->str, name, len);
    freeReplyObject(r);
}

static void test_queue_names(void **state) {
    static const char *const names[] = { " ",        "a b",     "'; drop table pgdisque.job; --",
                                         "\"",       "\\",      "%s%n",
                                         "{}",       "pg_temp", "\xf0\x9f\x98\x80",
                                         "\xff\xfe", "\n",      "*",
                                         "null",     "0" };
    redisContext *c = client_open();
    char byte;

    (void)state;
    expect(c, "-ERR the name of the queue is empty", "ADDJOB %b x 0", "", (size_t)0);
    check_name(c, "nul\0in the middle", 17);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        check_name(c, names[i], strlen(names[i]));
    for (int i = 0; i < 256; i++) {
        byte = (char)i;
        if (byte != ' ' && byte != '"' && byte != '\\' && byte != '\n' && byte != '*' && byte != '0')
            check_name(c, &byte, 1);
    }
    redisFree(c);
}

static void test_long_queue_names(void **state) {
    redisContext *c = client_open();
    char *name = malloc(64 * 1024);

    (void)state;
    /* GETJOB counts the backslashes of an escaped name as well. This name has none. */
    memset(name, 'n', 64 * 1024);
    check_name(c, name, 64 * 1024);
    check_name(c, name, 64 * 1024 - 1);
    name[64 * 1024 - 1] ^= 1;
    check_name(c, name, 64 * 1024);
    free(name);
    redisFree(c);
}

static void test_maxclients(void **state) {
    const char *const options[] = { "--maxclients", "10", NULL };
    struct server small;
    struct wire w[12];

    (void)state;
    server_start(&small, postgres_conninfo(&pg, NULL), options);
    for (int i = 0; i < 10; i++) {
        raw_open_on(&w[i], &small);
        wire_words(&w[i], "PING", NULL);
        raw_expect(&w[i], "+PONG");
    }
    for (int i = 10; i < 12; i++) {
        raw_open_on(&w[i], &small);
        raw_expect(&w[i], "-ERR max number of clients reached");
        assert_true(wire_wait_eof(&w[i], 5000));
        wire_close(&w[i]);
    }
    wire_close(&w[0]);
    EVENTUALLY(strcmp(server_ping(&small), "+PONG") == 0);
    for (int i = 1; i < 10; i++)
        wire_close(&w[i]);
    assert_int_equal(server_stop(&small), 0);
}

static void open_tenant(struct wire *w, const struct server *s, const char *expected) {
    raw_open_on(w, s);
    wire_words(w, "AUTH", "tenant", "secret", NULL);
    raw_expect(w, expected);
}

/* A tenant with all places leaves those for administrators. With maxclients-per-user it leaves more. */
static void test_maxclients_of_a_tenant(void **state) {
    const char *const options[] = { "--maxclients", "10", NULL };
    struct server small;
    struct wire w[10], more;
    redisContext *admin;

    (void)state;
    server_start(&small, postgres_conninfo(&pg, NULL), options);
    admin = client_open_on(&small);
    expect(admin, "+OK", "ACL SETUSER tenant on >secret +ping");
    expect(admin, "+OK", "CONFIG SET requirepass root");
    redisFree(admin);
    for (int i = 0; i < 10; i++)
        open_tenant(&w[i], &small, "+OK");
    open_tenant(&more, &small, "-ERR max number of clients reached");
    assert_true(wire_wait_eof(&more, EVENTUALLY_MS));
    wire_close(&more);
    admin = client_open_on(&small);
    expect(admin, "+OK", "AUTH root");
    wire_words(&w[0], "AUTH", "tenant", "secret", NULL);
    raw_expect(&w[0], "+OK");
    expect(admin, "+OK", "CONFIG SET maxclients-per-user 5");
    expect(admin, ":10", "CLIENT KILL USER tenant");
    for (int i = 0; i < 10; i++) {
        wire_close(&w[i]);
        open_tenant(&w[i], &small, i < 5 ? "+OK" : "-ERR max number of clients of one user reached");
    }
    for (int i = 0; i < 10; i++)
        wire_close(&w[i]);
    redisFree(admin);
    assert_int_equal(server_stop(&small), 0);
}

/* The server closes a client that never reads when more than the limit waits for it, in a single reply or in many. */
static void check_output_limit(const char *limit, int commands, const char *count) {
    redisContext *c = client_open();
    long long kills = info_number(c, "output_limit_kills");
    struct wire w;

    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", limit);
    raw_open(&w);
    for (int i = 0; i < commands; i++)
        wire_words(&w, "QPEEK", "outlimit", count, NULL);
    EVENTUALLY(info_number(c, "output_limit_kills") == kills + 1);
    wire_close(&w);
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 256mb 64mb 60");
    expect(c, "+PONG", "PING");
    redisFree(c);
}

static void test_output_buffer_limits(void **state) {
    redisContext *c = client_open();
    char *body = make_body(1 * MB);

    (void)state;
    for (int i = 0; i < 40; i++)
        freeReplyObject(redisCommand(c, "ADDJOB outlimit %b 0", body, (size_t)MB));
    check_output_limit("normal 0 4mb 1", 1, "40");
    check_output_limit("normal 256mb 4mb 1", 60, "1");
    assert_true(server_memory(&server) < 1000L * MB);
    free(body);
    redisFree(c);
}

static void test_timeout_closes_the_idle_but_not_the_waiting(void **state) {
    redisContext *c = client_open();
    struct wire idle, waiting;
    const char *id;

    (void)state;
    raw_open(&idle);
    raw_open(&waiting);
    wire_words(&waiting, "GETJOB", "FROM", "idle", NULL);
    EVENTUALLY(blocked_clients() == 1);
    expect(c, "+OK", "CONFIG SET timeout 3");
    assert_true(wire_wait_eof(&idle, 8000));
    redisFree(c);
    c = client_open();
    expect(c, "+OK", "CONFIG SET timeout 0");
    assert_int_equal(blocked_clients(), 1);
    id = add_job(c, "idle", "a", "");
    raw_expect(&waiting, text_of("[[\"idle\" \"%s\" \"a\"]]", id));
    wire_close(&idle);
    wire_close(&waiting);
    redisFree(c);
}

/* The announced size of an argument takes no memory until the bytes arrive. */
static void test_announced_sizes_take_no_memory(void **state) {
    struct wire w[100];
    long before = server_memory(&server);

    (void)state;
    for (int i = 0; i < 100; i++) {
        raw_open(&w[i]);
        if (i % 2)
            wire_send_text(&w[i], "*4\r\n$6\r\nADDJOB\r\n$67108864\r\nabc");
        else
            wire_send_text(&w[i], "*1048576\r\n$1\r\na");
    }
    EVENTUALLY(strcmp(server_ping(&server), "+PONG") == 0);
    /* The sanitizers' own memory does not count. */
    if (!is_slow())
        assert_true(server_memory(&server) - before < 200L * MB);
    for (int i = 0; i < 100; i++)
        wire_close(&w[i]);
}

/* Replies before the end, and a reset, do not matter. */
static bool is_gone(struct wire *w) {
    (void)wire_pending(w);
    return w->eof;
}

/* Clients without the password that announce much, or send a line without an end, are closed. Others go on. */
static void test_floods_before_the_password(void **state) {
    enum { FLOODS = 30 };
    static char line[64 * 1024];
    const char *const floods[] = { "*1048576\r\n", "*2\r\n$536870912\r\n", line };
    redisContext *c = client_open(), *late;
    struct wire w[FLOODS];

    (void)state;
    memset(line, 'x', sizeof line - 1);
    expect(c, "+OK", "CONFIG SET requirepass secret auth-timeout 0");
    for (int i = 0; i < FLOODS; i++) {
        wire_open(&w[i], "127.0.0.1", server.port);
        (void)wire_send_text(&w[i], floods[i % 3]);
    }
    late = client_open();
    expect(late, "-NOAUTH Authentication required.", "QLEN late");
    expect(late, "+OK", "AUTH secret");
    add_job(late, "late", "a", "");
    get_job(late, "late", "a");
    for (int i = 0; i < FLOODS; i++) {
        EVENTUALLY(is_gone(&w[i]));
        wire_close(&w[i]);
    }
    expect(late, "+OK", "CONFIG SET requirepass %b auth-timeout 10", "", (size_t)0);
    redisFree(late);
    redisFree(c);
}

/* Without memory the server ends with a line about it. After a restart all answered jobs are there. The sanitizers end
 * the server with their own words. */
static void test_out_of_memory(void **state) {
    struct rlimit none = { 1, 1 };
    /* prlimit() demands the same user. */
    const char *options[] = { "--user", "root", NULL };
    struct server s;
    redisContext *c;
    char *body = calloc(1, 32 * MB);
    int status = -1;

    (void)state;
    if (is_slow()) {
        free(body);
        skip();
    }
    server_start(&s, postgres_conninfo(&pg, NULL), options);
    c = client_open_on(&s);
    add_job(c, "q", "a", "");
    assert_int_equal(prlimit(s.pid, RLIMIT_AS, &none, NULL), 0);
    assert_null(redisCommand(c, "ADDJOB q %b 0", body, (size_t)32 * MB));
    EVENTUALLY(has_ended(s.pid, &status));
    assert_int_equal(status, 1);
    assert_true(file_contains(s.log, "[memory] out of memory while asking for "));
    redisFree(c);
    server_resume(&s);
    c = client_open_on(&s);
    assert_int_equal(number(c, "QLEN q"), 1);
    redisFree(c);
    free(body);
    assert_int_equal(server_stop(&s), 0);
}

static void test_most_arguments(void **state) {
    redisContext *c = client_open();
    const char *id = "D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1";
    struct wire w;
    char *bytes = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&bytes, &size);

    (void)state;
    fprintf(f, "*10001\r\n$6\r\nACKJOB\r\n");
    for (int i = 0; i < 10000; i++)
        fprintf(f, "$40\r\n%s\r\n", id);
    fclose(f);
    raw_open(&w);
    wire_send(&w, bytes, size);
    raw_expect(&w, ":0");
    free(bytes);
    wire_close(&w);
    redisFree(c);
}

static unsigned seed = 4711;

static unsigned rnd(unsigned n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* A piece of something that could become a request, or nearly. */
static size_t malformed(char *out) {
    static const char *const pieces[] = { "*1\r\n",
                                          "*2\r\n",
                                          "*3\r\n",
                                          "*-1\r\n",
                                          "*0\r\n",
                                          "*1048577\r\n",
                                          "*\r\n",
                                          "$4\r\nPING\r\n",
                                          "$0\r\n\r\n",
                                          "$-1\r\n",
                                          "$5\r\nADDJO",
                                          "$6\r\nADDJOB\r\n",
                                          "$6\r\nGETJOB\r\n",
                                          "$4\r\nFROM\r\n",
                                          "$1\r\nq\r\n",
                                          "$999999999999\r\n",
                                          "PING\r\n",
                                          "\"",
                                          "'",
                                          "\\x",
                                          "\r",
                                          "\n",
                                          " ",
                                          "\0",
                                          "\xff",
                                          "ADDJOB q a 0\r\n",
                                          "GETJOB NOHANG FROM q\r\n",
                                          "SHOW x\r\n",
                                          "ACKJOB ",
                                          "D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1",
                                          "QSCAN ",
                                          "COUNT ",
                                          "99999999999999999999 ",
                                          "-1 ",
                                          "JSCAN STATE ",
                                          "PAUSE q ",
                                          "HELLO ",
                                          "INFO ",
                                          "COMMAND DOCS\r\n",
                                          "CLIENT LIST\r\n",
                                          "CLUSTER NODES\r\n",
                                          "LATENCY GRAPH x\r\n",
                                          "SLOWLOG GET ",
                                          "CONFIG GET *\r\n",
                                          "WORKING ",
                                          "*4\r\n",
                                          "$1000\r\n",
                                          "_\r\n",
                                          ":1\r\n",
                                          "+OK\r\n",
                                          "%1\r\n",
                                          ">2\r\n" };
    size_t len = 0;
    unsigned count = 1 + rnd(8);

    for (unsigned i = 0; i < count; i++) {
        const char *piece = pieces[rnd(sizeof(pieces) / sizeof(pieces[0]))];
        size_t n = *piece ? strlen(piece) : 1;

        memcpy(out + len, piece, n);
        len += n;
    }
    if (rnd(3) == 0)
        out[rnd((unsigned)len)] = (char)rnd(256);
    return len;
}

static void test_malformed_input(void **state) {
    char bytes[1024];
    struct wire w;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        size_t len = malformed(bytes);
        size_t cut = rnd((unsigned)len + 1);

        raw_open(&w);
        wire_send(&w, bytes, cut);
        wire_send(&w, bytes + cut, len - cut);
        if (rnd(4) == 0)
            wire_reset(&w);
        else
            wire_close(&w);
        if (i % 500 == 0 && strcmp(server_ping(&server), "+PONG") != 0)
            fail_msg("no PONG after input %d, seed %u", i, seed);
    }
    assert_true(server_running(&server));
    assert_string_equal(server_ping(&server), "+PONG");
    EVENTUALLY(blocked_clients() == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_of_all_sizes),
        cmocka_unit_test(test_largest_body),
        cmocka_unit_test(test_large_body_for_a_waiting_client),
        cmocka_unit_test(test_one_byte_too_many),
        cmocka_unit_test(test_queue_names),
        cmocka_unit_test(test_long_queue_names),
        cmocka_unit_test(test_maxclients),
        cmocka_unit_test(test_maxclients_of_a_tenant),
        cmocka_unit_test(test_output_buffer_limits),
        cmocka_unit_test(test_timeout_closes_the_idle_but_not_the_waiting),
        cmocka_unit_test(test_announced_sizes_take_no_memory),
        cmocka_unit_test(test_floods_before_the_password),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_most_arguments),
        cmocka_unit_test(test_malformed_input),
    };

    return RUN_SUITE("limits", tests);
}
