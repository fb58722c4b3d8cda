/* Clients: commands in, replies out in the order of the commands, with any order of their ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "client_peers.h"
#include "random.h"

static struct peer other;

static int start(void **state) {
    peer_start(state);
    peer_open(&other);
    return 0;
}

static int stop(void **state) {
    peer_close(&other);
    return peer_stop(state);
}

/* ---- commands ---- */

static void test_commands(void **state) {
    static const char sent[] = "ECHO one\r\n*2\r\n$4\r\nECHO\r\n$3\r\nt\r\n\r\nBAD\r\n\r\nECHO 'thr ee'\r\n";
    static const char expected[] = "$3\r\none\r\n$3\r\nt\r\n\r\n-ERR unknown\r\n$6\r\nthr ee\r\n";

    (void)state;
    peer_send(&p, sent);
    assert_got(&p, expected);
    assert_int_equal(client_of(&p)->req_count, 0);
    assert_int_equal(client_of(&p)->bytes_in, sizeof sent - 1);
    assert_int_equal(client_of(&p)->bytes_out, sizeof expected - 1);
    assert_true(peers.written > 0);
    assert_open(&p);
}

static void test_clients(void **state) {
    (void)state;
    assert_int_equal(client_count(), 2);
    assert_true(other.id > p.id);
    assert_ptr_equal(LIST_ENTRY(client_list(CLIENT_OPEN)->next, struct client, in_state), client_of(&p));
    assert_null(client_by_id(other.id + 1));
    assert_non_null(strstr(client_ident(client_of(&p)), "client "));
    peer_send(&p, "LATER 1\r\n");
    peer_send(&other, "ECHO a\r\n");
    assert_got(&other, "$1\r\na\r\n");
    assert_got(&p, "");
    later_end(1);
    turn();
    assert_got(&p, "+1\r\n");
}

/* ---- order ---- */

static void test_replies_in_order(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nLATER 2\r\nLATER 3\r\nLATER 4\r\nECHO x\r\n");
    assert_int_equal(peers.started, 5);
    assert_int_equal(client_of(&p)->req_count, 5);
    later_end(3);
    turn();
    assert_got(&p, "");
    later_end(1);
    turn();
    assert_got(&p, "+1\r\n");
    later_end(4);
    turn();
    assert_got(&p, "");
    later_end(2);
    turn();
    assert_got(&p, "+2\r\n+3\r\n+4\r\n$1\r\nx\r\n");
    assert_int_equal(client_of(&p)->req_count, 0);
}

/* Each call looks at many jobs if the client does not read. So a reply without jobs makes no call. */
static void test_placed_with_jobs_only(void **state) {
    struct client *c = client_of(&p);

    (void)state;
    c->unsent_count = 1;
    peer_send(&p, "ECHO x\r\nLATER 1\r\nLATER 2\r\nLATER 3\r\n");
    peers.later[2]->has_jobs = true;
    for (int i = 3; i >= 1; i--)
        later_end(i);
    turn();
    assert_got(&p, "$1\r\nx\r\n+1\r\n+2\r\n+3\r\n");
    assert_int_equal(peers.placed, 1);
    c->unsent_count = 0;
}

/* Any order of ends, with commands that end at once and without replies between them. */
static void test_any_order_of_ends(void **state) {
    (void)state;
    random_start(1234567);
    for (int round = 0; round < 200; round++) {
        int order[20] = { 0 };

        for (int i = 0; i < 20; i++) {
            int k = (int)random_below((uint64_t)i + 1);

            order[i] = order[k];
            order[k] = i;
        }
        for (int i = 0; i < 20; i++) {
            char text[64];

            snprintf(text, sizeof text, "LATER %d\r\nSILENT no\r\nECHO %d\r\n", i, i % 10);
            peer_send_some(&p, slice_str(text));
        }
        turn();
        for (int i = 0; i < 20; i++) {
            later_end(order[i]);
            if (random_below(3) == 0)
                turn();
        }
        turns();
        peer_read(&p);
        for (int i = 0; i < 20; i++) {
            char text[64];
            int len = snprintf(text, sizeof text, "+%d\r\n$1\r\n%d\r\n", i, i % 10);

            assert_true(buf_len(&p.got) >= (size_t)len);
            assert_memory_equal(buf_ptr(&p.got), text, (size_t)len);
            buf_consume(&p.got, (size_t)len);
        }
        assert_int_equal(buf_len(&p.got), 0);
    }
}

static void test_silent(void **state) {
    (void)state;
    peer_send(&p, "SILENT a\r\nLATER 1\r\nSILENT b\r\nECHO c\r\n");
    assert_got(&p, "");
    later_end(1);
    turn();
    assert_got(&p, "+1\r\n$1\r\nc\r\n");
}

static void test_push(void **state) {
    (void)state;
    client_push(client_of(&p), "+pushed\r\n", 9);
    turn();
    assert_got(&p, "+pushed\r\n");
    peer_send(&p, "LATER 1\r\nECHO a\r\n");
    client_push(client_of(&p), "+again\r\n", 8);
    turn();
    assert_got(&p, "+again\r\n");
    later_end(1);
    client_push(client_of(&p), "+last\r\n", 7);
    turn();
    assert_got(&p, "+1\r\n$1\r\na\r\n+last\r\n");
}

/* ---- a turn is shared ---- */

#define LARGE_CLIENTS 64
#define LARGE_COMMAND 12000
#define SLOW_COMMANDS 100
#define SLOW_REPLY "$1\r\nx\r\n"

static void send_slow(struct peer *to) {
    for (int i = 0; i < SLOW_COMMANDS; i++)
        assert_int_equal(peer_send_some(to, SLICE("SLOW x\r\n")), 8);
}

/* All commands of the first client take much longer than a turn. */
static void test_pipeline_lets_others_go_on(void **state) {
    (void)state;
    send_slow(&p);
    peer_send_some(&other, SLICE("ECHO a\r\n"));
    while (buf_len(&other.got) == 0) {
        one_turn();
        peer_read(&other);
    }
    assert_in_range(peers.started, 2, SLOW_COMMANDS / 2);
    assert_true(clients_pending());
    assert_got(&other, "$1\r\na\r\n");
    turns();
    assert_int_equal(peers.started, SLOW_COMMANDS + 1);
    peer_read(&p);
    assert_int_equal(buf_len(&p.got), SLOW_COMMANDS * strlen(SLOW_REPLY));
}

static void test_clients_take_turns(void **state) {
    (void)state;
    send_slow(&p);
    send_slow(&other);
    while (peers.started < SLOW_COMMANDS)
        one_turn();
    peer_read(&p);
    peer_read(&other);
    assert_in_range(buf_len(&p.got), 1, SLOW_COMMANDS * strlen(SLOW_REPLY) - 1);
    assert_in_range(buf_len(&other.got), 1, SLOW_COMMANDS * strlen(SLOW_REPLY) - 1);
}

/* Many clients send large commands before another client sends a small one. */
static void test_small_commands_overtake_large_ones(void **state) {
    static struct peer many[LARGE_CLIENTS];
    static char large[LARGE_COMMAND];

    (void)state;
    memset(large, 'x', sizeof large);
    memcpy(large, "SLOW ", 5);
    memcpy(large + sizeof large - 2, "\r\n", 2);
    for (size_t i = 0; i < LARGE_CLIENTS; i++) {
        peer_open(&many[i]);
        assert_int_equal(peer_send_some(&many[i], (struct slice){ large, sizeof large }), sizeof large);
    }
    peer_send_some(&other, SLICE("ECHO a\r\n"));
    while (buf_len(&other.got) == 0) {
        one_turn();
        peer_read(&other);
    }
    assert_in_range(peers.started, 1, LARGE_CLIENTS / 2);
    turns();
    assert_int_equal(peers.started, LARGE_CLIENTS + 1);
    for (size_t i = 0; i < LARGE_CLIENTS; i++)
        peer_close(&many[i]);
    turns();
}

/* ---- commands that are held ---- */

static void test_held(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nLATER 2\r\nALONE x\r\nECHO y\r\nALONE z\r\n");
    assert_int_equal(peers.offered, 3);
    assert_int_equal(peers.started, 2);
    assert_non_null(client_of(&p)->held);
    assert_int_equal(client_of(&p)->req_count, 2);
    later_end(2);
    turns();
    assert_int_equal(peers.started, 2);
    assert_got(&p, "");
    later_end(1);
    assert_true(clients_pending());
    turns();
    assert_got(&p, "+1\r\n+2\r\n$1\r\nx\r\n$1\r\ny\r\n$1\r\nz\r\n");
    assert_null(client_of(&p)->held);
    assert_int_equal(client_of(&p)->req_count, 0);
    assert_false(clients_pending());
}

/* More than is read of a client that is held: it is read on when it goes on. */
static void test_held_with_much_input(void **state) {
    const int count = 20000;
    struct buf stream = { 0 }, expected = { 0 };
    size_t sent = 0;

    (void)state;
    buf_append_str(&stream, "LATER 1\r\nALONE x\r\n");
    buf_append_str(&expected, "+1\r\n$1\r\nx\r\n");
    for (int i = 0; i < count; i++) {
        buf_append_str(&stream, "*2\r\n$4\r\nECHO\r\n$2\r\nab\r\n");
        buf_append_str(&expected, "$2\r\nab\r\n");
    }
    for (int i = 0; i < 50; i++) {
        sent += peer_send_some(&p, (struct slice){ buf_ptr(&stream) + sent, buf_len(&stream) - sent });
        turn();
    }
    assert_true(sent < buf_len(&stream));
    assert_true(client_of(&p)->paused);
    assert_in_range(buf_len(&client_of(&p)->in), 64 * 1024, 256 * 1024);
    later_end(1);
    for (int i = 0; i < 1000 && buf_len(&p.got) < buf_len(&expected); i++) {
        if (sent < buf_len(&stream))
            sent += peer_send_some(&p, (struct slice){ buf_ptr(&stream) + sent, buf_len(&stream) - sent });
        turn();
        peer_read(&p);
    }
    assert_got_bytes(&p, buf_ptr(&expected), buf_len(&expected));
    assert_false(client_of(&p)->paused);
    buf_free(&stream);
    buf_free(&expected);
}

static void test_pipeline_max(void **state) {
    (void)state;
    config.client_pipeline_max = 3;
    peer_send(&p, "LATER 1\r\nLATER 2\r\nLATER 3\r\nLATER 4\r\nLATER 5\r\n");
    assert_int_equal(peers.started, 3);
    later_end(3);
    turns();
    assert_int_equal(peers.started, 3);
    later_end(1);
    turns();
    assert_int_equal(peers.started, 4);
    later_end(2);
    turns();
    assert_int_equal(peers.started, 5);
    later_end(5);
    later_end(4);
    turns();
    assert_got(&p, "+1\r\n+2\r\n+3\r\n+4\r\n+5\r\n");
}

static void test_pause(void **state) {
    (void)state;
    client_pause_until(clock_mono() + 3600 * US_PER_S, false);
    peer_send(&p, "ECHO a\r\n");
    clients_cron();
    turns();
    assert_int_equal(peers.offered, 0);
    client_pause_until(clock_mono(), false);
    clients_cron();
    turns();
    assert_got(&p, "$1\r\na\r\n");
    peer_send(&p, "LATER 1\r\nALONE b\r\n");
    client_pause_until(clock_mono() + 3600 * US_PER_S, false);
    later_end(1);
    turns();
    assert_got(&p, "+1\r\n");
    client_pause_until(0, false);
    turns();
    assert_got(&p, "$1\r\nb\r\n");
}

/* ---- requests that go on without their client ---- */

static struct req *detach(int n, const char *reply) {
    struct req *r = peers.later[n];

    reply_status(r, reply);
    client_detach(r);
    assert_null(r->client);
    return r;
}

static void test_detached(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nLATER 2\r\nECHO a\r\n");
    detach(2, "two");
    turn();
    assert_got(&p, "");
    detach(1, "one");
    turn();
    assert_got(&p, "+one\r\n+two\r\n$1\r\na\r\n");
    assert_int_equal(client_of(&p)->req_count, 0);
    later_end(1);
    later_end(2);
    turns();
    assert_got(&p, "");
    peer_send(&p, "ECHO b\r\n");
    assert_got(&p, "$1\r\nb\r\n");
}

static void test_detached_lets_a_held_one_go_on(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nALONE a\r\n");
    detach(1, "one");
    turns();
    assert_got(&p, "+one\r\n$1\r\na\r\n");
}

static void test_detached_from_a_client_that_goes(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nLATER 2\r\nLATER 3\r\n");
    detach(2, "two");
    peer_close(&p);
    client_kill(client_of(&p), "test");
    turns();
    assert_int_equal(peers.closed, 1);
    client_detach(peers.later[1]);
    end_all_laters();
}

static void test_silent_and_detached(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nLATER 2\r\n");
    peers.later[2]->silent = true;
    detach(2, "two");
    later_end(1);
    turns();
    assert_got(&p, "+1\r\n");
}

/* ---- large commands ---- */

static void send_all(struct peer *to, struct buf *stream) {
    for (int i = 0; buf_len(stream) > 0; i++) {
        size_t sent = peer_send_some(to, (struct slice){ buf_ptr(stream), buf_len(stream) });

        assert_true(i < 10000);
        buf_consume(stream, sent);
        turn();
    }
    turns();
}

static void test_large_argument(void **state) {
    const size_t len = 300000;
    struct buf stream = { 0 };
    char *body = malloc(len);

    (void)state;
    for (size_t i = 0; i < len; i++)
        body[i] = (char)(i * 7);
    for (int round = 0; round < 3; round++) {
        buf_printf(&stream, "*2\r\n$4\r\nECHO\r\n$%zu\r\n", len);
        buf_append(&stream, body, len);
        buf_append_str(&stream, round < 2 ? "\r\n" : "\r\nECHO a\r\n");
        send_all(&p, &stream);
        for (int i = 0; i < 100; i++) {
            turn();
            peer_read(&p);
        }
        assert_memory_equal(buf_ptr(&p.got), "$300000\r\n", 9);
        assert_memory_equal(buf_ptr(&p.got) + 9, body, len);
        buf_consume(&p.got, 9 + len);
        assert_got(&p, round < 2 ? "\r\n" : "\r\n$1\r\na\r\n");
    }
    buf_free(&stream);
    free(body);
}

/* The bytes in the buffer behind a large command are the next command. */
static void test_large_argument_and_another(void **state) {
    const size_t len = 100000;
    struct buf bytes = { 0 }, expected = { 0 };

    (void)state;
    buf_printf(&bytes, "*2\r\n$4\r\nECHO\r\n$%zu\r\n", len);
    buf_printf(&expected, "$%zu\r\n", len);
    for (size_t i = 0; i < len; i++) {
        buf_append(&bytes, &"xyz"[i % 3], 1);
        buf_append(&expected, &"xyz"[i % 3], 1);
    }
    buf_append_str(&expected, "\r\n$1\r\na\r\n");
    send_all(&p, &bytes);
    peer_send(&p, "\r\nECHO a\r\n");
    turns();
    assert_got_bytes(&p, buf_ptr(&expected), buf_len(&expected));
    buf_free(&bytes);
    buf_free(&expected);
}

static void test_large_reply(void **state) {
    const size_t len = 3000000;
    size_t got = 0;

    (void)state;
    peer_send(&p, "BIG 3000000\r\nLATER 1\r\n");
    later_end(1);
    for (int i = 0; i < 100000 && got < len + 17; i++) {
        char piece[5000];
        ssize_t n = read(p.fd, piece, sizeof piece);

        for (ssize_t k = 0; k < n; k++, got++)
            if (got >= 10 && got < len + 10)
                assert_int_equal(piece[k], 'a' + (got - 10) % 26);
        turn();
    }
    assert_int_equal(got, 10 + len + 2 + 4);
    assert_open(&p);
    assert_int_equal(client_of(&p)->bytes_out, got);
    assert_int_equal(buf_len(&client_of(&p)->out), 0);
}

/* ---- pieces ---- */

static const char stream[] =
    "*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\nLATER 1\r\nSILENT x\r\n*2\r\n$5\r\nALONE\r\n$1\r\nb\r\n"
    "ECHO c\r\nLATER 2\r\nWAIT 3\r\nECHO d\r\n";
static const char replies[] = "$3\r\na\r\n\r\n+1\r\n$1\r\nb\r\n$1\r\nc\r\n+2\r\n+3\r\n$1\r\nd\r\n";

static void end_laters_one_by_one(void) {
    for (int i = 0; i < 3; i++) {
        end_all_laters();
        turns();
    }
}

static void test_any_two_pieces(void **state) {
    (void)state;
    for (size_t cut = 1; cut < sizeof stream - 1; cut++) {
        assert_int_equal(peer_send_some(&p, (struct slice){ stream, cut }), cut);
        turn();
        if (cut % 2 == 0)
            end_all_laters();
        peer_send(&p, stream + cut);
        end_laters_one_by_one();
        assert_got(&p, replies);
    }
}

static void test_single_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof stream - 1; i++) {
        peer_send_some(&p, (struct slice){ stream + i, 1 });
        turn();
    }
    end_laters_one_by_one();
    assert_got(&p, replies);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_commands),
        TEST(test_clients),
        TEST(test_replies_in_order),
        TEST(test_placed_with_jobs_only),
        TEST(test_any_order_of_ends),
        TEST(test_silent),
        TEST(test_push),
        TEST(test_pipeline_lets_others_go_on),
        TEST(test_clients_take_turns),
        TEST(test_small_commands_overtake_large_ones),
        TEST(test_held),
        TEST(test_held_with_much_input),
        TEST(test_pipeline_max),
        TEST(test_pause),
        TEST(test_detached),
        TEST(test_detached_lets_a_held_one_go_on),
        TEST(test_detached_from_a_client_that_goes),
        TEST(test_silent_and_detached),
        TEST(test_large_argument),
        TEST(test_large_argument_and_another),
        TEST(test_large_reply),
        TEST(test_any_two_pieces),
        TEST(test_single_bytes),
    };

    return cmocka_run_group_tests_name("client", tests, NULL, NULL);
}
