/* The memory budget: the server counts the memory that clients cause, and bounds the sum over all clients. */
#include "fixture.h"
#include "http_requests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libpq-fe.h>

#define MB (1024 * 1024)
#define BUDGET (24 * MB)

static struct server small;
static redisContext *control;
static char *megabyte;

static int start_small(void **state) {
    static const char *const others[] = { "--maxmemory", "24mb", "--proto-max-bulk-len", "1mb", NULL };

    (void)state;
    server_start(&small, postgres_conninfo(&pg, NULL), http_options(others));
    control = client_open_on(&small);
    megabyte = malloc(MB + 1);
    memset(megabyte, 'm', MB);
    megabyte[MB] = '\0';
    return 0;
}

static int stop_small(void **state) {
    (void)state;
    redisFree(control);
    free(megabyte);
    return server_stop(&small);
}

static long long held(void) {
    static const char *const kinds[] = { "mem_clients", "mem_input",         "mem_output", "mem_requests",
                                         "mem_multi",   "mem_subscriptions", "mem_unsent", "mem_database" };
    long long sum = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        sum += info_number(control, kinds[i]);
    return sum;
}

/* The figure in the client's line of CLIENT LIST, or -1. */
static long long listed(long long id, const char *name) {
    char word[64];
    const char *text = ask(control, "CLIENT LIST ID %lld", id), *at;

    snprintf(word, sizeof word, " %s=", name);
    at = strstr(text, word);
    return at == NULL ? -1 : atoll(at + strlen(word));
}

static long long id_of(struct wire *w) {
    struct value *v;
    long long id;

    wire_words(w, "CLIENT", "ID", NULL);
    v = wire_reply(w, 5000);
    assert_non_null(v);
    id = v->number;
    value_free(v);
    return id;
}

/* Replies that came before its end do not matter. */
static bool is_closed(struct wire *w) {
    (void)wire_pending(w);
    return w->eof;
}

/* ---- the counted memory ---- */

static void test_client_list_shows_memory(void **state) {
    struct wire w;
    long long id;

    (void)state;
    raw_open_on(&w, &small);
    id = id_of(&w);
    assert_in_range(listed(id, "tot-mem"), 500, 20000);
    wire_words(&w, "MULTI", NULL);
    raw_expect(&w, "+OK");
    wire_words(&w, "ADDJOB", "shown", megabyte, "0", NULL);
    raw_expect(&w, "+QUEUED");
    assert_in_range(listed(id, "multi-mem"), MB, 2 * MB);
    assert_in_range(listed(id, "tot-mem"), MB, 2 * MB);
    wire_words(&w, "DISCARD", NULL);
    raw_expect(&w, "+OK");
    EVENTUALLY(listed(id, "multi-mem") == 0);
    wire_send_text(&w, "*2\r\n$4\r\nECHO\r\n$1000000\r\n");
    wire_send(&w, megabyte, 900000);
    EVENTUALLY(listed(id, "tot-mem") > 900000);
    wire_close(&w);
    EVENTUALLY(held() < MB);
}

static void test_subscriptions_are_counted(void **state) {
    long long before = info_number(control, "mem_subscriptions");
    struct wire w;

    (void)state;
    raw_open_on(&w, &small);
    for (int i = 0; i < 100; i++) {
        wire_words(&w, "SUBSCRIBE", text_of("channel%d", i), NULL);
        value_free(wire_reply(&w, 5000));
    }
    assert_true(info_number(control, "mem_subscriptions") - before > 100 * 50);
    wire_close(&w);
    EVENTUALLY(info_number(control, "mem_subscriptions") == before);
}

/* A body that has not come needs no room. */
static void test_few_bytes_take_little(void **state) {
    struct wire w[200];

    (void)state;
    for (int i = 0; i < 200; i++) {
        raw_open_on(&w[i], &small);
        wire_send_text(&w[i], "*4\r\n$6\r\nADDJOB\r\n$1\r\nq\r\n$1000000\r\nabcd");
    }
    EVENTUALLY(info_number(control, "connected_clients") == 201);
    EVENTUALLY(held() < 201 * 4096);
    for (int i = 0; i < 200; i++)
        wire_close(&w[i]);
}

/* ---- evicting ---- */

static void test_the_largest_is_evicted(void **state) {
    long long before = info_number(control, "evicted_clients");
    struct wire modest, greedy;

    (void)state;
    raw_open_on(&modest, &small);
    raw_open_on(&greedy, &small);
    wire_words(&modest, "MULTI", NULL);
    raw_expect(&modest, "+OK");
    wire_words(&modest, "ADDJOB", "modest", "x", "0", NULL);
    raw_expect(&modest, "+QUEUED");
    wire_words(&greedy, "MULTI", NULL);
    for (int i = 0; i < 60; i++)
        if (!wire_words(&greedy, "ADDJOB", "greedy", megabyte, "0", NULL))
            break;
    EVENTUALLY(info_number(control, "evicted_clients") == before + 1);
    EVENTUALLY(is_closed(&greedy));
    wire_words(&modest, "EXEC", NULL);
    value_free(wire_reply(&modest, 5000));
    assert_int_equal(number(control, "QLEN modest"), 1);
    assert_int_equal(number(control, "QLEN greedy"), 0);
    assert_true(file_contains(small.log, "more than maxmemory allows"));
    wire_close(&modest);
    wire_close(&greedy);
    EVENTUALLY(held() < MB);
}

/* Sends as much as the server takes: the text over and over, as bytes. */
static size_t send_what_goes(const struct wire *w, const char *text, size_t at, size_t most) {
    size_t len = strlen(text);

    while (at < most) {
        ssize_t sent = send(w->fd, text + at % len, len - at % len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent <= 0)
            break;
        at += (size_t)sent;
    }
    return at;
}

static char *command_text(const char *queue, size_t body) {
    char *text = malloc(body + 200);
    int len = sprintf(text, "*4\r\n$6\r\nADDJOB\r\n$%zu\r\n%s\r\n$%zu\r\n", strlen(queue), queue, body);

    memset(text + len, 'b', body);
    strcpy(text + len + body, "\r\n$1\r\n0\r\n");
    return text;
}

/* No statement can run, so the server keeps the commands and stops reading at its limit. In the end it answers all of
 * them. */
static void test_a_locked_table_fills_no_memory(void **state) {
    enum { JOBS = 100, BODY = 500000 };
    long long evicted = info_number(control, "evicted_clients");
    PGconn *other = PQconnectdb(small.database);
    char *text = command_text("locked", BODY);
    size_t all = JOBS * strlen(text), sent = 0;
    struct wire w;

    (void)state;
    assert_int_equal(PQstatus(other), CONNECTION_OK);
    raw_open_on(&w, &small);
    wire_words(&w, "ADDJOB", "locked", "first", "0", NULL);
    value_free(wire_reply(&w, 5000));
    PQclear(PQexec(other, "begin; lock table pgdisque.job in access exclusive mode"));
    HOLDS_FOR(1500, (sent = send_what_goes(&w, text, sent, all)) <= all && held() < BUDGET);
    assert_true(sent < all);
    assert_int_equal(info_number(control, "evicted_clients"), evicted);
    PQfinish(other);
    assert_true(WAIT_UNTIL((sent = send_what_goes(&w, text, sent, all)) == all, 60000));
    for (int i = 0; i < JOBS; i++) {
        struct value *v = wire_reply(&w, 20000);

        assert_non_null(v);
        assert_int_equal(v->type, '+');
        value_free(v);
    }
    assert_int_equal(number(control, "QLEN locked"), JOBS + 1);
    wire_close(&w);
    free(text);
}

static void test_exempted_clients_go_last(void **state) {
    struct wire safe, other;
    long long before = info_number(control, "evicted_clients");

    (void)state;
    raw_open_on(&safe, &small);
    raw_open_on(&other, &small);
    wire_words(&safe, "CLIENT", "NO-EVICT", "on", NULL);
    raw_expect(&safe, "+OK");
    wire_words(&safe, "MULTI", NULL);
    raw_expect(&safe, "+OK");
    for (int i = 0; i < 14; i++) {
        wire_words(&safe, "ADDJOB", "safe", megabyte, "0", NULL);
        raw_expect(&safe, "+QUEUED");
    }
    wire_words(&other, "MULTI", NULL);
    raw_expect(&other, "+OK");
    for (int i = 0; i < 11; i++)
        if (!wire_words(&other, "ADDJOB", "other", megabyte, "0", NULL))
            break;
    EVENTUALLY(info_number(control, "evicted_clients") == before + 1);
    EVENTUALLY(is_closed(&other));
    wire_words(&safe, "DISCARD", NULL);
    raw_expect(&safe, "+OK");
    wire_close(&safe);
    wire_close(&other);
}

/* Sends commands of which the last one waits. So the reply to the first is kept. */
static void collect_by_http(struct wire *w) {
    static const char *const body = "[[\"LRANGE\",\"kept\",0,-1],[\"BLPOP\",\"none\",0]]";

    wire_open(w, "127.0.0.1", http_port);
    wire_send_text(w, text_of("POST /api/command HTTP/1.1\r\nHost: localhost\r\n" JSON_TYPE
                              "Content-Length: %zu\r\n\r\n%s",
                              strlen(body), body));
}

/* The client waits in BLPOP, and all bytes of its first reply were read. */
static bool waits_with_a_read_reply(void) {
    const char *text = ask(control, "CLIENT LIST"), *end = strstr(text, " cmd=blpop"), *unread = NULL;

    for (const char *at = text; end != NULL && (at = strstr(at, " obl=")) != NULL && at < end; at++)
        unread = at;
    return unread != NULL && atoll(unread + strlen(" obl=")) == 0;
}

static bool any_has_a_reply(struct wire *w, int count) {
    for (int i = 0; i < count; i++)
        if (wire_pending(&w[i]) > 0)
            return true;
    return false;
}

static void test_replies_of_http_are_counted(void **state) {
    enum { REQUESTS = 8, ELEMENTS = 5 };
    long long evicted = info_number(control, "evicted_clients"), before = held();
    struct wire w[REQUESTS];

    (void)state;
    for (int i = 0; i < ELEMENTS; i++)
        expect(control, text_of(":%d", i + 1), "RPUSH kept %s", megabyte);
    collect_by_http(&w[0]);
    EVENTUALLY(waits_with_a_read_reply());
    assert_true(info_number(control, "mem_output") > (ELEMENTS - 1) * MB);
    wire_reset(&w[0]);
    EVENTUALLY(held() < before + MB);
    assert_int_equal(info_number(control, "evicted_clients"), evicted);
    for (int i = 0; i < REQUESTS; i++)
        collect_by_http(&w[i]);
    EVENTUALLY(info_number(control, "evicted_clients") > evicted);
    EVENTUALLY(any_has_a_reply(w, REQUESTS));
    EVENTUALLY(held() < BUDGET);
    for (int i = 0; i < REQUESTS; i++)
        wire_reset(&w[i]);
    EVENTUALLY(info_number(control, "connected_clients") == 1);
    EVENTUALLY(held() < before + MB);
    expect(control, ":1", "DEL kept");
}

/* ---- replies ---- */

static void add_large(int count) {
    for (int i = 0; i < count; i++)
        expect_start(control, "+D-", "ADDJOB large %s 0 RETRY 3600", megabyte);
}

/* The reply has as many jobs as fit into one result. The other jobs stay queued, without a lease. */
static void test_many_large_jobs_come_in_parts(void **state) {
    int got = 0;

    (void)state;
    expect(control, "+OK", "CONFIG SET batch-max-bytes 4mb");
    add_large(12);
    while (got < 12) {
        redisReply *r = redisCommand(control, "GETJOB NOHANG COUNT 20 FROM large");

        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        assert_in_range(r->elements, 1, 4);
        got += (int)r->elements;
        freeReplyObject(r);
        assert_int_equal(number(control, "QLEN large"), 12 - got);
    }
    expect(control, "+OK", "CONFIG SET batch-max-bytes 16mb");
}

static void test_many_large_elements_come_in_parts(void **state) {
    int got = 0;

    (void)state;
    expect(control, "+OK", "CONFIG SET batch-max-bytes 4mb");
    for (int i = 0; i < 12; i++)
        expect(control, text_of(":%d", i + 1), "RPUSH elements %s", megabyte);
    while (got < 12) {
        redisReply *r = redisCommand(control, "LPOP elements 20");

        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        assert_in_range(r->elements, 1, 4);
        got += (int)r->elements;
        freeReplyObject(r);
    }
    expect(control, "+OK", "CONFIG SET batch-max-bytes 16mb");
}

/* Its output is over the limits as long as it reads. A job that is given out at most once comes all the same. */
static void test_a_reply_over_the_limits_is_read(void **state) {
    struct wire w;
    struct value *v;

    (void)state;
    expect(control, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 100kb 50kb 60");
    expect_start(control, "+D-", "ADDJOB once %s 0 RETRY 0", megabyte);
    raw_open_on(&w, &small);
    wire_words(&w, "GETJOB", "FROM", "once", NULL);
    v = wire_reply(&w, 20000);
    assert_non_null(v);
    assert_int_equal(v->items[0]->items[2]->len, MB);
    value_free(v);
    wire_close(&w);
    expect(control, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 256mb 64mb 60");
}

/* ---- pages ---- */

#define LONG_LIST 400
#define LONG_BODY 50000

/* Element i begins with its number. All together are larger than the budget allows at once. */
static void push_long_list(const char *list) {
    char *body = malloc(LONG_BODY + 1);

    memset(body, 'e', LONG_BODY);
    body[LONG_BODY] = '\0';
    for (int i = 0; i < LONG_LIST; i++) {
        sprintf(body, "%06d", i);
        body[6] = 'e';
        expect(control, text_of(":%d", i + 1), "RPUSH %s %s", list, body);
    }
    free(body);
}

static int number_of(const redisReply *body) {
    assert_int_equal(body->type, REDIS_REPLY_STRING);
    assert_int_equal(body->len, LONG_BODY);
    return atoi(body->str);
}

static void expect_range(const char *command, int first, int last, int step) {
    redisReply *r = redisCommand(control, command);
    int count = (last - first) / step + 1;

    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, count);
    for (int i = 0; i < count; i++) {
        const redisReply *e = r->element[i];

        assert_int_equal(number_of(e->type == REDIS_REPLY_ARRAY ? e->element[2] : e), first + i * step);
    }
    freeReplyObject(r);
}

static void test_long_reads_come_in_pages(void **state) {
    (void)state;
    expect(control, "+OK", "CONFIG SET maxmemory 256mb batch-max-bytes 1mb");
    push_long_list("long");
    expect_range("LRANGE long 0 -1", 0, LONG_LIST - 1, 1);
    expect_range("LRANGE long 3 -5", 3, LONG_LIST - 5, 1);
    expect_range("LRANGE long -300 -101", LONG_LIST - 300, LONG_LIST - 101, 1);
    expect_range("LRANGE long -9999 -2", 0, LONG_LIST - 2, 1);
    expect_range("LRANGE long -1000 1000", 0, LONG_LIST - 1, 1);
    expect_range("LRANGE long 100 299", 100, 299, 1);
    expect_range("QPEEK long 1000", 0, LONG_LIST - 1, 1);
    expect_range("QPEEK long -1000", LONG_LIST - 1, 0, -1);
    expect_range("LRANGE long 7 8", 7, 8, 1);
}

/* The other way round, when the list has its front at the other end. */
static void test_long_reads_of_a_stack(void **state) {
    char *body = calloc(1, LONG_BODY + 1);

    (void)state;
    memset(body, 'e', LONG_BODY);
    for (int i = LONG_LIST - 1; i >= 0; i--) {
        sprintf(body, "%06d", i);
        body[6] = 'e';
        expect(control, text_of(":%d", LONG_LIST - i), "LPUSH stack %s", body);
    }
    free(body);
    expect_range("LRANGE stack 0 -1", 0, LONG_LIST - 1, 1);
    expect_range("LRANGE stack 5 -7", 5, LONG_LIST - 7, 1);
    expect_range("LRANGE stack -300 -101", LONG_LIST - 300, LONG_LIST - 101, 1);
    number(control, "DEL stack");
}

static void test_in_a_transaction_a_page_is_all(void **state) {
    redisReply *r;

    (void)state;
    expect(control, "+OK", "MULTI");
    expect(control, "+QUEUED", "LRANGE long 0 -1");
    expect(control, "+QUEUED", "QPEEK long 1000");
    expect(control, "+QUEUED", "LLEN long");
    r = redisCommand(control, "EXEC");
    assert_int_equal(r->elements, 3);
    assert_int_equal(strncmp(r->element[0]->str, "LIMIT ", 6), 0);
    assert_int_equal(strncmp(r->element[1]->str, "LIMIT ", 6), 0);
    assert_int_equal(r->element[2]->integer, LONG_LIST);
    freeReplyObject(r);
}

/* The first page of JSCAN BUSYLOOP takes no more of a transaction than the pages of other commands. */
static void test_in_a_transaction_a_scan_has_pages(void **state) {
    redisReply *r;

    (void)state;
    expect(control, "+OK", "CONFIG SET maxmemory 36mb batch-max-bytes 64kb");
    expect(control, "+OK", "MULTI");
    expect(control, "+QUEUED", "JSCAN BUSYLOOP QUEUE long REPLY all");
    r = redisCommand(control, "EXEC");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->element[0]->elements, 2);
    assert_int_equal(r->element[0]->element[1]->elements, LONG_LIST);
    freeReplyObject(r);
    expect(control, "+OK", "CONFIG SET maxmemory 256mb batch-max-bytes 1mb");
}

/* Queues the command 64 times in a transaction, whose results would take 64 MB. */
static void expect_too_large(const char *command) {
    expect(control, "+OK", "MULTI");
    for (int i = 0; i < 64; i++)
        expect(control, "+QUEUED", command);
    expect(control,
           "-LIMIT the results of the transaction take more than a quarter of maxmemory: nothing was done",
           "EXEC");
}

static void test_results_of_a_transaction_are_bounded(void **state) {
    long long evicted = info_number(control, "evicted_clients");
    redisContext *other = client_open_on(&small);

    (void)state;
    expect(control, "+OK", "CONFIG SET maxmemory 24mb batch-max-bytes 1mb");
    expect(control, ":1", "RPUSH turns %s", megabyte);
    expect(other, "+OK", "MULTI");
    for (int i = 0; i < 100; i++)
        expect(other, "+QUEUED", "ADDJOB other %s 0", text_of("%.1000s", megabyte));
    expect_too_large("LINDEX turns 0");
    expect_too_large("LMOVE turns turns LEFT RIGHT");
    expect(control, ":1", "LLEN turns");
    expect(control, "+OK", "MULTI");
    expect(control, "+QUEUED", "DEL turns");
    expect(control, "[:1]", "EXEC");
    assert_int_equal(info_number(control, "evicted_clients"), evicted);
    expect(other, "+OK", "DISCARD");
    expect(control, "+OK", "CONFIG SET batch-max-bytes 16mb");
    redisFree(other);
}

static void test_a_scan_stops_at_its_bytes(void **state) {
    char cursor[32] = "0";
    int found = 0, steps = 0;

    (void)state;
    do {
        redisReply *r = redisCommand(control, "JSCAN %s COUNT 10000 QUEUE long REPLY ALL", cursor);

        assert_int_equal(r->type, REDIS_REPLY_ARRAY);
        assert_in_range(r->element[1]->elements, 1, 1024 * 1024 / LONG_BODY + 1);
        found += (int)r->element[1]->elements;
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        freeReplyObject(r);
        steps++;
    } while (strcmp(cursor, "0") != 0);
    assert_int_equal(found, LONG_LIST);
    assert_true(steps >= LONG_LIST * (LONG_BODY / 1000) / 1100);
}

/* Elements that are taken during the read may be absent. No element comes twice, and all are in order. */
static void test_a_long_read_while_elements_go(void **state) {
    struct wire w;
    struct value *v;
    int last = -1;

    (void)state;
    raw_open_on(&w, &small);
    wire_words(&w, "LRANGE", "long", "0", "-1", NULL);
    for (int i = 0; i < 50; i++) {
        redisReply *r = redisCommand(control, "LPOP long");

        assert_int_equal(number_of(r), i);
        freeReplyObject(r);
    }
    v = wire_reply(&w, 20000);
    assert_non_null(v);
    assert_in_range(v->count, LONG_LIST - 50, LONG_LIST);
    for (size_t i = 0; i < (size_t)v->count; i++) {
        int n = atoi(v->items[i]->text);

        assert_true(n > last);
        last = n;
    }
    assert_int_equal(last, LONG_LIST - 1);
    value_free(v);
    wire_close(&w);
}

/* The collected elements count as the client's memory. */
static void test_a_reader_over_the_budget_is_evicted(void **state) {
    long long before = info_number(control, "evicted_clients");
    struct wire w;

    (void)state;
    expect(control, "+OK", "CONFIG SET maxmemory 12mb");
    raw_open_on(&w, &small);
    wire_words(&w, "LRANGE", "long", "0", "-1", NULL);
    EVENTUALLY(info_number(control, "evicted_clients") == before + 1);
    EVENTUALLY(is_closed(&w));
    wire_close(&w);
    number(control, "DEL long");
    EVENTUALLY(held() < MB);
    expect(control, "+OK", "CONFIG SET maxmemory 24mb batch-max-bytes 16mb");
}

/* ---- sharing ---- */

static void test_listeners_share_a_message(void **state) {
    enum { LISTENERS = 20, MESSAGES = 10 };
    struct wire w[LISTENERS];
    char *message = calloc(1, 500001);

    (void)state;
    memset(message, 'p', 500000);
    for (int i = 0; i < LISTENERS; i++) {
        raw_open_on(&w[i], &small);
        wire_words(&w[i], "SUBSCRIBE", "shared", NULL);
        value_free(wire_reply(&w[i], 5000));
    }
    for (int i = 0; i < MESSAGES; i++)
        expect(control, text_of(":%d", LISTENERS), "PUBLISH shared %s", message);
    assert_true(info_number(control, "mem_output") < (MESSAGES + 2) * 500000);
    assert_int_equal(info_number(control, "connected_clients"), LISTENERS + 1);
    for (int i = 0; i < LISTENERS; i++) {
        for (int n = 0; n < MESSAGES; n++) {
            struct value *v = wire_reply(&w[i], 10000);

            assert_non_null(v);
            assert_int_equal(v->items[2]->len, 500000);
            assert_memory_equal(v->items[2]->text, message, 500000);
            value_free(v);
        }
        wire_close(&w[i]);
    }
    EVENTUALLY(held() < MB);
    free(message);
}

/* Replies that come between messages keep their places. */
static void test_messages_and_replies_in_order(void **state) {
    struct wire w;
    char *message = calloc(1, 300001);

    (void)state;
    memset(message, 'p', 300000);
    raw_open_on(&w, &small);
    wire_words(&w, "SUBSCRIBE", "order", NULL);
    value_free(wire_reply(&w, 5000));
    for (int i = 0; i < 5; i++) {
        expect(control, ":1", "PUBLISH order %s", message);
        expect(control, ":1", "PUBLISH order %d", i);
        wire_words(&w, "PING", text_of("%d", i), NULL);
        EVENTUALLY(info_number(control, "connected_clients") == 2);
    }
    for (int i = 0; i < 5; i++) {
        struct value *v = wire_reply(&w, 5000);

        assert_non_null(v);
        assert_int_equal(v->items[2]->len, 300000);
        value_free(v);
        raw_expect(&w, text_of("[\"message\" \"order\" \"%d\"]", i));
        raw_expect(&w, text_of("[\"pong\" \"%d\"]", i));
    }
    wire_close(&w);
    free(message);
}

#define FULL "-OOM no new queue can be made"

/* Names of 64 KB would fill the memory of the server for ever. Queues that exist go on. */
static void test_names_of_queues_are_bounded(void **state) {
    long long before = info_number(control, "mem_queues");
    const char *name = text_of("%060000d", 1);

    (void)state;
    add_job(control, "exists", "x", "");
    expect(control, "+OK", "CONFIG SET maxmemory-queues %lld", before + 100000);
    add_job(control, name, "x", "");
    assert_true(info_number(control, "mem_queues") - before > 60000);
    expect_start(control, FULL, "ADDJOB %060000d x 0", 2);
    expect_start(control, FULL, "RPUSH new x");
    expect_start(control, FULL, "LMOVE exists new LEFT LEFT");
    expect_start(control, FULL, "RENAME exists new");
    expect_start(control, FULL, "PAUSE new in");
    expect_start(control, FULL, "QCONFIG exists SET deadqueue new");
    expect(control, "+OK", "QCONFIG exists SET retry 60");
    expect(control, "+OK", "MULTI");
    expect(control, "+QUEUED", "ADDJOB new x 0");
    expect_start(control, "-EXECABORT Transaction discarded because of: OOM", "EXEC");
    expect(control, ":0", "LLEN new");
    add_job(control, "exists", "x", "");
    expect(control, ":2", "LLEN exists");
    expect(control, "+OK", "CONFIG SET maxmemory-queues 0");
    add_job(control, "new", "x", "");
    expect(control, "+OK", "CONFIG SET maxmemory-queues 512mb");
}

/* A job stays where it is until its dead-letter queue can be made. */
static void test_dead_letters_wait_for_their_queue(void **state) {
    const char *id;

    (void)state;
    add_job(control, "failing", "x", "ATTEMPTS 1 DEADQUEUE letters");
    expect(control, "+OK", "CONFIG SET maxmemory-queues 1");
    id = get_job(control, "failing", "x");
    expect(control, ":1", "NACK %s", id);
    /* The first try shares a transaction with a later write, or precedes it. */
    for (int i = 0; i < 3; i++)
        add_job(control, "failing", "y", "");
    assert_string_equal(job_field(control, id, "queue"), "failing");
    expect(control, ":0", "LLEN letters");
    expect(control, "+OK", "CONFIG SET maxmemory-queues 512mb");
    EVENTUALLY(number(control, "LLEN letters") == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_list_shows_memory),
        cmocka_unit_test(test_subscriptions_are_counted),
        cmocka_unit_test(test_few_bytes_take_little),
        cmocka_unit_test(test_the_largest_is_evicted),
        cmocka_unit_test(test_a_locked_table_fills_no_memory),
        cmocka_unit_test(test_exempted_clients_go_last),
        cmocka_unit_test(test_replies_of_http_are_counted),
        cmocka_unit_test(test_many_large_jobs_come_in_parts),
        cmocka_unit_test(test_many_large_elements_come_in_parts),
        cmocka_unit_test(test_a_reply_over_the_limits_is_read),
        cmocka_unit_test(test_long_reads_come_in_pages),
        cmocka_unit_test(test_long_reads_of_a_stack),
        cmocka_unit_test(test_in_a_transaction_a_page_is_all),
        cmocka_unit_test(test_in_a_transaction_a_scan_has_pages),
        cmocka_unit_test(test_a_scan_stops_at_its_bytes),
        cmocka_unit_test(test_a_long_read_while_elements_go),
        cmocka_unit_test(test_a_reader_over_the_budget_is_evicted),
        cmocka_unit_test(test_results_of_a_transaction_are_bounded),
        cmocka_unit_test(test_names_of_queues_are_bounded),
        cmocka_unit_test(test_dead_letters_wait_for_their_queue),
        cmocka_unit_test(test_listeners_share_a_message),
        cmocka_unit_test(test_messages_and_replies_in_order),
    };

    return RUN_SUITE_WITH("memory", tests, start_small, stop_small);
}
