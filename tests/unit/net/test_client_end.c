/* Clients that disconnect, at any moment and for any reason, and refused commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "client_peers.h"

static void open_again(void) {
    end_all_laters();
    peer_close(&p);
    turns();
    peer_open(&p);
}

/* ---- QUIT ---- */

static void test_quit(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nECHO a\r\nQUIT\r\nECHO b\r\n");
    assert_int_equal(client_of(&p)->state, CLIENT_CLOSING);
    assert_int_equal(peers.started, 3);
    assert_got(&p, "");
    later_end(1);
    turns();
    assert_got(&p, "+1\r\n$1\r\na\r\n+OK\r\n");
    assert_closed(&p);
    assert_int_equal(peers.closed, 1);
}

static void test_quit_alone(void **state) {
    (void)state;
    peer_send(&p, "QUIT\r\n");
    assert_got(&p, "+OK\r\n");
    assert_closed(&p);
    assert_int_equal(client_count(), 0);
}

static void test_close_after_replies_drops_the_held(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nALONE a\r\nECHO b\r\n");
    client_close_after_replies(client_of(&p));
    client_close_after_replies(client_of(&p));
    turns();
    later_end(1);
    turns();
    assert_got(&p, "+1\r\n");
    assert_closed(&p);
    assert_int_equal(peers.started, 1);
}

static void test_protocol_error(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\n*1\r\nECHO\r\nECHO b\r\n");
    assert_got(&p, "");
    assert_open(&p);
    later_end(1);
    turns();
    assert_got(&p, "+1\r\n-ERR Protocol error: expected '$', got 'E'\r\n");
    assert_closed(&p);
    assert_int_equal(peers.started, 1);
    assert_true(stats.protocol_errors > 0);
}

/* ---- the end of input ---- */

static void test_no_more_input(void **state) {
    (void)state;
    peer_send_some(&p, SLICE("ECHO a\r\nLATER 1\r\nALONE b\r\nECHO c\r\nECHO half"));
    peer_send_no_more(&p);
    assert_got(&p, "$1\r\na\r\n");
    assert_open(&p);
    later_end(1);
    turns();
    assert_got(&p, "+1\r\n$1\r\nb\r\n$1\r\nc\r\n");
    assert_closed(&p);
}

static void test_no_more_input_before_the_reply(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\n");
    peer_send_no_more(&p);
    assert_open(&p);
    later_end(1);
    turns();
    assert_got(&p, "+1\r\n");
    assert_closed(&p);
}

static void test_no_input_at_all(void **state) {
    (void)state;
    peer_send_no_more(&p);
    assert_closed(&p);
    assert_int_equal(peers.closed, 1);
}

static void test_no_more_input_while_paused(void **state) {
    (void)state;
    client_pause_until(clock_mono() + 3600 * US_PER_S, false);
    peer_send_some(&p, SLICE("ECHO a\r\n"));
    peer_send_no_more(&p);
    assert_open(&p);
    client_pause_until(0, false);
    turns();
    assert_got(&p, "$1\r\na\r\n");
    assert_closed(&p);
}

/* A client that waits for a job and closes its side is gone. The server gives it no job. */
static void test_no_more_input_while_waiting(void **state) {
    (void)state;
    peer_send(&p, "WAIT 1\r\n");
    peer_send_no_more(&p);
    assert_closed(&p);
    end_all_laters();
    open_again();
    peer_send(&p, "LATER 1\r\nALONE x\r\nWAIT 2\r\n");
    peer_send_no_more(&p);
    assert_open(&p);
    later_end(1);
    turns();
    assert_closed(&p);
}

/* More than is read at once, and then the end: all of it is done. */
static void test_no_more_input_after_much(void **state) {
    struct buf stream = { 0 };
    size_t sent = 0;
    int echoes = 0;

    (void)state;
    buf_append_str(&stream, "LATER 1\r\nALONE x\r\n");
    while (buf_len(&stream) < 150000) {
        buf_append_str(&stream, "ECHO y\r\n");
        echoes++;
    }
    for (int i = 0; sent < buf_len(&stream); i++) {
        assert_true(i < 1000);
        sent += peer_send_some(&p, (struct slice){ buf_ptr(&stream) + sent, buf_len(&stream) - sent });
        turn();
    }
    peer_send_no_more(&p);
    assert_open(&p);
    later_end(1);
    for (int i = 0; i < 100; i++) {
        turns();
        peer_read(&p);
    }
    assert_int_equal(buf_len(&p.got), 4 + 7 + 7 * (size_t)echoes);
    assert_closed(&p);
    buf_free(&stream);
}

/* ---- the peer has gone ---- */

static void test_gone(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nLATER 2\r\n");
    peer_close(&p);
    turns();
    later_end(2);
    later_end(1);
    turns();
    assert_null(client_of(&p));
    assert_int_equal(peers.closed, 1);
}

static void test_gone_before_the_reply(void **state) {
    (void)state;
    peer_send_some(&p, SLICE("ECHO a\r\nLATER 1\r\nECHO b\r\n"));
    peer_close(&p);
    turns();
    assert_null(client_of(&p));
    assert_int_equal(peers.closed, 1);
    later_end(1);
}

/* ---- killed ---- */

static void test_killed_by_its_command(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nECHO a\r\nDIE\r\nECHO b\r\n");
    assert_got(&p, "");
    assert_closed(&p);
    assert_int_equal(peers.started, 3);
    assert_null(peers.later[1]->client);
    later_end(1);
    assert_int_equal(peers.closed, 1);
}

static void test_killed_and_held(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nDIEHELD\r\nECHO b\r\n");
    assert_closed(&p);
    assert_int_equal(peers.offered, 2);
    open_again();
    peer_send(&p, "DIEHELD\r\n");
    assert_closed(&p);
}

static void test_killed_when_resumed(void **state) {
    (void)state;
    config.client_pipeline_max = 1;
    peer_send(&p, "LATER 1\r\nDIE\r\nECHO a\r\n");
    later_end(1);
    turns();
    assert_closed(&p);
    assert_int_equal(peers.started, 2);
}

static void test_killed_from_outside(void **state) {
    (void)state;
    peer_send(&p, "LATER 1\r\nALONE a\r\n");
    client_kill(client_of(&p), "test");
    client_kill(client_of(&p), "test");
    assert_int_equal(client_count(), 0);
    assert_int_equal(client_of(&p)->state, CLIENT_DEAD);
    client_touch(client_of(&p));
    client_close_after_replies(client_of(&p));
    later_end(1);
    turns();
    assert_closed(&p);
    assert_int_equal(peers.closed, 1);
}

/* With something to write, and something to take up. */
static void test_killed_and_reaped_at_once(void **state) {
    (void)state;
    config.client_pipeline_max = 1;
    peer_send_some(&p, SLICE("LATER 1\r\nECHO a\r\n"));
    clock_turn();
    event_base_loop(peers.base, EVLOOP_NONBLOCK);
    later_end(1);
    client_kill(client_of(&p), "test");
    clients_reap();
    assert_false(clients_pending());
    open_again();
    peer_send(&p, "ECHO b\r\n");
    assert_got(&p, "$1\r\nb\r\n");
}

static void test_shutdown(void **state) {
    struct peer others[5];

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        char text[32];

        peer_open(&others[i]);
        snprintf(text, sizeof text, "LATER %d\r\nQUIT\r\n", (int)i);
        peer_send(&others[i], text);
    }
    client_shutdown();
    assert_int_equal(client_count(), 0);
    assert_int_equal(peers.closed, 6);
    for (size_t i = 0; i < 5; i++) {
        assert_closed(&others[i]);
        peer_close(&others[i]);
    }
}

/* ---- at every byte ---- */

static const char stream[] = "*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\nLATER 1\r\n*2\r\n$5\r\nALONE\r\n$1\r\nb\r\n"
                             "SILENT c\r\nLATER 2\r\nWAIT 3\r\nBIG 70000\r\nLATER 4\r\nQUIT\r\n";

static void detach_one(int n) {
    if (peers.later[n] != NULL && peers.later[n]->client != NULL) {
        reply_status(peers.later[n], "detached");
        client_detach(peers.later[n]);
    }
}

/* The variant selects the earlier events, and the way of closing. */
static void close_at(size_t cut, int variant) {
    peers.closed = 0;
    peer_send_some(&p, (struct slice){ stream, cut });
    if (variant & 1)
        turns();
    if ((variant & 2) && peers.later[1] != NULL)
        later_end(1);
    if (variant & 4)
        turns();
    if (variant & 8)
        detach_one(2);
    if (variant & 16) {
        peer_close(&p);
    } else {
        peer_send_no_more(&p);
        end_all_laters();
        turns();
        end_all_laters();
        turns();
        peer_close(&p);
    }
    turns();
    end_all_laters();
    turns();
    end_all_laters();
    turns();
    assert_null(client_of(&p));
    assert_int_equal(peers.closed, 1);
    assert_int_equal(client_count(), 0);
}

static void test_closed_at_every_byte(void **state) {
    (void)state;
    for (size_t cut = 1; cut < sizeof stream; cut++) {
        for (int variant = 0; variant < 32; variant++) {
            close_at(cut, variant);
            peer_open(&p);
        }
    }
}

static void test_killed_at_every_byte(void **state) {
    (void)state;
    for (size_t cut = 1; cut < sizeof stream; cut++) {
        peers.closed = 0;
        peer_send_some(&p, (struct slice){ stream, cut });
        turns();
        if (cut % 2 == 0)
            end_all_laters();
        if (client_of(&p) != NULL)
            client_kill(client_of(&p), "test");
        end_all_laters();
        turns();
        assert_closed(&p);
        assert_int_equal(peers.closed, 1);
        open_again();
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, peer_start, peer_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_quit),
        TEST(test_quit_alone),
        TEST(test_close_after_replies_drops_the_held),
        TEST(test_protocol_error),
        TEST(test_no_more_input),
        TEST(test_no_more_input_before_the_reply),
        TEST(test_no_input_at_all),
        TEST(test_no_more_input_while_paused),
        TEST(test_no_more_input_while_waiting),
        TEST(test_no_more_input_after_much),
        TEST(test_gone),
        TEST(test_gone_before_the_reply),
        TEST(test_killed_by_its_command),
        TEST(test_killed_and_held),
        TEST(test_killed_when_resumed),
        TEST(test_killed_from_outside),
        TEST(test_killed_and_reaped_at_once),
        TEST(test_shutdown),
        TEST(test_closed_at_every_byte),
        TEST(test_killed_at_every_byte),
    };

    return cmocka_run_group_tests_name("client end", tests, NULL, NULL);
}
