/* Pipelines: replies in the order of the requests, and no client waits for a slow reader. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <libpq-fe.h>

static void test_mixed_pipeline_in_order(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < 100; i++) {
        later(c, "ECHO %d", i);
        later(c, "ADDJOB mixed %d 0", i);
        later(c, "QLEN mixed");
        later(c, "GETJOB NOHANG FROM mixed");
        later(c, "FOO");
        later(c, "GETJOB NOHANG FROM mixed");
    }
    for (int i = 0; i < 100; i++) {
        const char *id;

        expect_next(c, text_of("\"%d\"", i));
        id = next_reply(c);
        assert_int_equal(id[0], '+');
        expect_next(c, ":1");
        expect_next(c, text_of("[[\"mixed\" \"%s\" \"%d\"]]", id + 1, i));
        expect_next(c, "-ERR unknown command 'FOO'");
        expect_next(c, "nil");
    }
    redisFree(c);
}

static void test_add_then_get_gets_it(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < 300; i++) {
        later(c, "ADDJOB addget %d 0", i);
        later(c, "GETJOB NOHANG FROM addget");
    }
    for (int i = 0; i < 300; i++) {
        const char *id = next_reply(c);

        assert_int_equal(id[0], '+');
        expect_next(c, text_of("[[\"addget\" \"%s\" \"%d\"]]", id + 1, i));
    }
    redisFree(c);
}

/* A client acknowledges a job and has added further jobs before in the same pipeline. The server commits the further
 * jobs first, so that none of them is lost. */
static void test_adds_are_there_before_the_ack(void **state) {
    redisContext *c = client_open();
    PGconn *other = PQconnectdb(server.database);
    const char *id = add_job(c, "chain", "first", "");

    (void)state;
    PQclear(PQexec(other, "begin; select from pgdisque.job where body = 'first' for update"));
    for (int i = 0; i < 40; i++)
        later(c, "ADDJOB chain %d 0", i);
    later(c, "ACKJOB %s", id);
    for (int i = 0; i < 40; i++)
        assert_int_equal(next_reply(c)[0], '+');
    PQclear(PQexec(other, "commit"));
    expect_next(c, ":1");
    assert_int_equal(number(c, "QLEN chain"), 40);
    PQfinish(other);
    redisFree(c);
}

/* The acknowledged job must not be had by the GETJOB behind. */
static void test_ack_then_get_does_not_get_it(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < 100; i++) {
        const char *id = add_job(c, "ackget", "x", "");

        later(c, "ACKJOB %s", id);
        later(c, "GETJOB NOHANG FROM ackget");
        later(c, "SHOW %s", id);
        expect_next(c, ":1");
        expect_next(c, "nil");
        expect_next(c, "nil");
    }
    redisFree(c);
}

static void test_get_then_ack_then_nack(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "getack", "a", "");

    (void)state;
    later(c, "GETJOB FROM getack");
    later(c, "NACK %s", id);
    later(c, "GETJOB WITHCOUNTERS FROM getack");
    later(c, "ACKJOB %s", id);
    later(c, "NACK %s", id);
    later(c, "QLEN getack");
    expect_next(c, text_of("[[\"getack\" \"%s\" \"a\"]]", id));
    expect_next(c, ":1");
    expect_next(c, text_of("[[\"getack\" \"%s\" \"a\" \"nacks\" :1 \"additional-deliveries\" :0]]", id));
    expect_next(c, ":1");
    expect_next(c, ":0");
    expect_next(c, ":0");
    redisFree(c);
}

static void test_queue_commands_see_earlier_commands(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 1; i <= 50; i++) {
        later(c, "ADDJOB sees %d 0", i);
        later(c, "QLEN sees");
        later(c, "QPEEK sees -1");
        later(c, "JSCAN QUEUE sees COUNT 1000");
    }
    for (int i = 1; i <= 50; i++) {
        const char *id = text_of("%s", next_reply(c) + 1);

        expect_next(c, text_of(":%d", i));
        expect_next(c, text_of("[[\"sees\" \"%s\" \"%d\"]]", id, i));
        assert_non_null(strstr(next_reply(c), id));
    }
    redisFree(c);
}

static void test_pause_in_a_pipeline(void **state) {
    redisContext *c = client_open();

    (void)state;
    later(c, "ADDJOB plpause a 0");
    later(c, "PAUSE plpause in");
    later(c, "ADDJOB plpause b 0");
    later(c, "PAUSE plpause out");
    later(c, "ADDJOB plpause c 0");
    later(c, "GETJOB NOHANG FROM plpause");
    later(c, "PAUSE plpause none");
    later(c, "QLEN plpause");
    assert_int_equal(next_reply(c)[0], '+');
    expect_next(c, "+in");
    assert_string_equal(text_of("%.8s", next_reply(c)), "-PAUSED ");
    expect_next(c, "+out");
    assert_int_equal(next_reply(c)[0], '+');
    expect_next(c, "nil");
    expect_next(c, "+none");
    expect_next(c, ":2");
    redisFree(c);
}

static void test_byte_by_byte(void **state) {
    static const char text[] = "*4\r\n$6\r\nADDJOB\r\n$5\r\nbytes\r\n$3\r\na\rb\r\n$1\r\n0\r\n"
                               "*2\r\n$4\r\nQLEN\r\n$5\r\nbytes\r\nECHO \"x y\"\r\n";
    struct wire w;
    struct value *v;

    (void)state;
    raw_open(&w);
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        wire_send(&w, text + i, 1);
    v = wire_reply(&w, 5000);
    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
    raw_expect(&w, ":1");
    raw_expect(&w, "\"x y\"");
    wire_close(&w);
}

/* Cut in two at every place. */
static void test_cut_at_every_byte(void **state) {
    static const char text[] = "*2\r\n$4\r\nECHO\r\n$3\r\na\nb\r\nPING\r\n";
    struct wire w;

    (void)state;
    for (size_t i = 1; i < sizeof(text) - 1; i++) {
        raw_open(&w);
        wire_send(&w, text, i);
        /* The server answers the whole commands of the first part before the second part arrives. */
        if (i >= sizeof(text) - 1 - 6)
            assert_true(wire_wait_bytes(&w, 9, 5000));
        else
            assert_int_equal(wire_pending(&w), 0);
        wire_send(&w, text + i, sizeof(text) - 1 - i);
        raw_expect(&w, "\"a\\x0ab\"");
        raw_expect(&w, "+PONG");
        wire_close(&w);
    }
}

static void test_half_a_command_and_then_the_end(void **state) {
    redisContext *c = client_open();
    struct wire w;

    (void)state;
    raw_open(&w);
    wire_send_text(&w, "PING\r\n*4\r\n$6\r\nADDJOB\r\n$4\r\nhalf\r\n$1\r\na\r\n$1\r\n");
    raw_expect(&w, "+PONG");
    wire_close(&w);
    assert_int_equal(number(c, "QLEN half"), 0);
    redisFree(c);
}

/* The server executes and answers all commands that are complete when the client closes its side. */
static void test_end_of_sending_is_not_the_end(void **state) {
    redisContext *c = client_open();
    struct wire w;
    struct value *v;

    (void)state;
    raw_open(&w);
    wire_send_text(&w, "ADDJOB eof a 0\r\nPING\r\n");
    shutdown(w.fd, SHUT_WR);
    EVENTUALLY(number(c, "QLEN eof") == 1);
    v = wire_reply(&w, 5000);
    assert_true(!v || v->type == '+');
    value_free(v);
    wire_close(&w);
    redisFree(c);
}

/* A client that requests much and reads nothing does not slow the others. */
static void test_slow_reader_does_not_stall_others(void **state) {
    redisContext *c = client_open();
    struct wire slow;
    char *body = malloc(1000001);
    int64_t start;
    size_t got = 0;

    (void)state;
    memset(body, 'x', 1000000);
    body[1000000] = '\0';
    add_job(c, "large", body, "");
    raw_open(&slow);
    for (int i = 0; i < 30; i++)
        wire_words(&slow, "QPEEK", "large", "1", NULL);
    start = now_ms();
    for (int i = 0; i < 100; i++) {
        add_job(c, "brisk", "x", "");
        get_job(c, "brisk", "x");
    }
    assert_true(now_ms() - start < patience(5000));
    for (int i = 0; i < 30; i++) {
        struct value *v = wire_reply(&slow, 10000);

        assert_non_null(v);
        assert_int_equal(v->items[0]->items[2]->len, 1000000);
        got++;
        value_free(v);
    }
    assert_int_equal(got, 30);
    free(body);
    wire_close(&slow);
    redisFree(c);
}

/* A client that sends a large job slowly does not slow the others. */
static void test_slow_writer_does_not_stall_others(void **state) {
    redisContext *c = client_open();
    struct wire slow;

    (void)state;
    raw_open(&slow);
    wire_send_text(&slow, "*4\r\n$6\r\nADDJOB\r\n$4\r\nslow\r\n$1000\r\n");
    for (int i = 0; i < 1000; i++) {
        wire_send(&slow, "y", 1);
        if (i % 10 == 0)
            expect(c, "+PONG", "PING");
    }
    assert_int_equal(number(c, "QLEN slow"), 0);
    wire_send_text(&slow, "\r\n$1\r\n0\r\n");
    EVENTUALLY(number(c, "QLEN slow") == 1);
    wire_close(&slow);
    redisFree(c);
}

static void test_many_clients_with_pipelines(void **state) {
    struct wire w[20];

    (void)state;
    for (int i = 0; i < 20; i++) {
        raw_open(&w[i]);
        for (int j = 0; j < 200; j++) {
            wire_words(&w[i], "ADDJOB", text_of("crowd%d", i), text_of("%d", j), "0", NULL);
            wire_words(&w[i], "GETJOB", "NOHANG", "FROM", text_of("crowd%d", i), NULL);
        }
    }
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 200; j++) {
            struct value *add = wire_reply(&w[i], 20000);

            assert_non_null(add);
            assert_int_equal(add->type, '+');
            raw_expect(&w[i], text_of("[[\"crowd%d\" \"%s\" \"%d\"]]", i, add->text, j));
            value_free(add);
        }
        wire_close(&w[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed_pipeline_in_order),
        cmocka_unit_test(test_add_then_get_gets_it),
        cmocka_unit_test(test_adds_are_there_before_the_ack),
        cmocka_unit_test(test_ack_then_get_does_not_get_it),
        cmocka_unit_test(test_get_then_ack_then_nack),
        cmocka_unit_test(test_queue_commands_see_earlier_commands),
        cmocka_unit_test(test_pause_in_a_pipeline),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_half_a_command_and_then_the_end),
        cmocka_unit_test(test_end_of_sending_is_not_the_end),
        cmocka_unit_test(test_slow_reader_does_not_stall_others),
        cmocka_unit_test(test_slow_writer_does_not_stall_others),
        cmocka_unit_test(test_many_clients_with_pipelines),
    };

    return RUN_SUITE("pipeline", tests);
}
