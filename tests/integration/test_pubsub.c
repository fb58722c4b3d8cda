/* PUBLISH and SUBSCRIBE over three servers; and clients that do not read. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

enum { A, B, C };

static struct wire listeners[SERVERS];

/* Subscribes one client at each server. Clients do not get older messages. */
static void listen_everywhere(const char *channel) {
    for (int i = 0; i < SERVERS; i++) {
        raw_open_on(&listeners[i], group_size[i]);
        wire_words(&listeners[i], "SUBSCRIBE", channel, NULL);
        raw_expect(&listeners[i], text_of("[\"subscribe\" \"%s\" :1]", channel));
    }
}

static void stop_listening(void) {
    for (int i = 0; i < SERVERS; i++)
        wire_close(&listeners[i]);
}

static void expect_everywhere(const char *channel, const char *message) {
    for (int i = 0; i < SERVERS; i++)
        raw_expect(&listeners[i], text_of("[\"message\" \"%s\" \"%s\"]", channel, message));
}

static void test_heard_at_all_servers(void **state) {
    (void)state;
    listen_everywhere("news");
    for (int i = 0; i < SERVERS; i++) {
        expect(at[i], ":1", "PUBLISH news from-%d", i);
        expect_everywhere("news", text_of("from-%d", i));
    }
    expect(at[A], ":0", "PUBLISH other x");
    stop_listening();
}

static void test_in_their_order(void **state) {
    (void)state;
    listen_everywhere("many");
    for (int i = 0; i < 2000; i++)
        later(at[B], "PUBLISH many %d", i);
    for (int i = 0; i < 2000; i++)
        expect_next(at[B], ":1");
    for (int i = 0; i < 2000; i++)
        expect_everywhere("many", text_of("%d", i));
    stop_listening();
}

static void expect_long(struct wire *w, const char *bytes, size_t len) {
    struct value *v = wire_reply(w, EVENTUALLY_MS);

    assert_non_null(v);
    assert_int_equal(v->count, 3);
    assert_int_equal(v->items[2]->len, len);
    assert_memory_equal(v->items[2]->text, bytes, len);
    value_free(v);
}

static void test_large_ones(void **state) {
    size_t len = 1024 * 1024 - strlen("large");
    char *bytes = malloc(len);

    (void)state;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    listen_everywhere("large");
    freeReplyObject(redisCommand(at[C], "PUBLISH large %b", bytes, len));
    expect(at[C], ":1", "PUBLISH large small");
    for (int i = 0; i < SERVERS; i++)
        expect_long(&listeners[i], bytes, len);
    expect_everywhere("large", "small");
    /* Jobs do not wait for it. */
    freeReplyObject(redisCommand(at[C], "PUBLISH large %b", bytes, len));
    expect_job_at(A, "beside", add_job(at[C], "beside", "x", ""));
    stop_listening();
    free(bytes);
}

/* Any role that can connect receives the notification, but cannot decrypt the message. */
static void test_other_roles_cannot_decrypt(void **state) {
    PGconn *conn = postgres_connect(server.database);
    PGnotify *n = NULL;

    (void)state;
    PQclear(PQexec(conn, "listen pgdisque"));
    listen_everywhere("private");
    expect(at[A], ":1", "PUBLISH private top-secret");
    expect_everywhere("private", "top-secret");
    for (int parts = 0; parts == 0;) {
        assert_true(PQconsumeInput(conn));
        while ((n = PQnotifies(conn)) != NULL) {
            parts += n->extra[0] == 'Q';
            assert_null(strstr(n->extra, "secret"));
            assert_null(strstr(n->extra, "private"));
            PQfreemem(n);
        }
    }
    PQfinish(conn);
    stop_listening();
}

/* Whichever server does it. */
static void test_job_events(void **state) {
    const char *id;

    (void)state;
    expect(at[A], "+OK", "QCONFIG watched SET events 1");
    EVENTUALLY(strcmp(ask(at[C], "QCONFIG watched GET events"), "[\"events\" \"1\"]") == 0);
    listen_everywhere("__job__:watched");
    id = add_job(at[A], "watched", "x", "");
    expect_everywhere("__job__:watched", text_of("added %s", id));
    get_job(at[A], "watched", "x");
    expect_everywhere("__job__:watched", text_of("delivered %s", id));
    expect(at[C], ":1", "ACKJOB %s", id);
    expect_everywhere("__job__:watched", text_of("acked %s", id));
    stop_listening();
}

static void test_a_server_dies(void **state) {
    (void)state;
    listen_everywhere("dying");
    server_kill(group_size[B]);
    expect(at[A], ":1", "PUBLISH dying x");
    raw_expect(&listeners[A], "[\"message\" \"dying\" \"x\"]");
    raw_expect(&listeners[C], "[\"message\" \"dying\" \"x\"]");
    stop_listening();
    server_resume(group_size[B]);
    (void)servers_teardown(state);
    (void)servers_setup(state);
    listen_everywhere("dying");
    expect(at[B], ":1", "PUBLISH dying y");
    expect_everywhere("dying", "y");
    stop_listening();
}

static void test_a_client_that_does_not_read_is_closed(void **state) {
    struct wire slow, other;
    char *bytes = malloc(500000);
    long long before = info_number(at[A], "output_limit_kills");

    (void)state;
    memset(bytes, 'x', 500000);
    expect(at[A], "+OK", "CONFIG SET client-output-buffer-limit %s", "pubsub 4000000 0 0");
    raw_open_on(&slow, group_size[A]);
    wire_words(&slow, "SUBSCRIBE", "flood", NULL);
    raw_expect(&slow, "[\"subscribe\" \"flood\" :1]");
    raw_open_on(&other, group_size[A]);
    wire_words(&other, "SUBSCRIBE", "flood", NULL);
    raw_expect(&other, "[\"subscribe\" \"flood\" :1]");
    for (int i = 0; i < 40; i++) {
        freeReplyObject(redisCommand(at[A], "PUBLISH flood %b", bytes, (size_t)500000));
        expect_long(&other, bytes, 500000);
    }
    EVENTUALLY(info_number(at[A], "output_limit_kills") == before + 1);
    expect(at[A], ":1", "PUBLISH flood x");
    expect(at[A], "+OK", "CONFIG SET client-output-buffer-limit %s", "pubsub 32mb 8mb 60");
    wire_close(&slow);
    wire_close(&other);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_heard_at_all_servers, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_in_their_order, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_large_ones, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_other_roles_cannot_decrypt, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_job_events, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_a_server_dies, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_a_client_that_does_not_read_is_closed, servers_setup,
                                        servers_teardown),
    };

    return RUN_SUITE("pubsub", tests);
}
