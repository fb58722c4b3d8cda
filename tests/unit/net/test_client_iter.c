/* Walks over all clients in parts, while clients connect, close and end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "client_peers.h"
#include "net/client_iter.h"

#define PEERS 6

static struct peer all[PEERS];

static int walk_start(void **state) {
    peers_start(state);
    for (size_t i = 0; i < PEERS; i++)
        peer_open(&all[i]);
    return 0;
}

static int walk_stop(void **state) {
    for (size_t i = 0; i < PEERS; i++)
        peer_close(&all[i]);
    return peers_stop(state);
}

static void assert_next(struct client_iter *w, size_t i) {
    const struct client *c = client_iter_next(w);

    assert_non_null(c);
    assert_int_equal(c->id, all[i].id);
}

static void test_all(void **state) {
    struct client_iter w = { 0 };

    (void)state;
    client_close_after_replies(client_of(&all[0]));
    client_iter_begin(&w);
    for (size_t i = 1; i < PEERS; i++)
        assert_next(&w, i);
    assert_next(&w, 0);
    assert_null(client_iter_next(&w));
    client_iter_begin(&w);
    assert_next(&w, 1);
    client_iter_begin(&w);
    assert_next(&w, 1);
    while (client_iter_next(&w) != NULL)
        continue;
}

/* The next client of the walk, the last one, and all that are left end. */
static void test_ends(void **state) {
    struct client_iter w = { 0 };

    (void)state;
    client_iter_begin(&w);
    assert_next(&w, 0);
    client_kill(client_of(&all[0]), "test");
    client_kill(client_of(&all[1]), "test");
    client_kill(client_of(&all[2]), "test");
    assert_next(&w, 3);
    client_kill(client_of(&all[5]), "test");
    client_kill(client_of(&all[4]), "test");
    turns();
    assert_null(client_iter_next(&w));
}

/* A client that closes is visited with the closing ones; a new client is visited, too. */
static void test_moves(void **state) {
    struct client_iter first = { 0 }, second = { 0 };
    struct peer late;

    (void)state;
    client_iter_begin(&first);
    client_iter_begin(&second);
    assert_next(&first, 0);
    peer_send(&all[1], "LATER 1\r\n");
    client_close_after_replies(client_of(&all[1]));
    peer_open(&late);
    for (size_t i = 2; i < PEERS; i++)
        assert_next(&first, i);
    assert_int_equal(client_iter_next(&first)->id, late.id);
    assert_next(&first, 1);
    client_kill(client_of(&all[1]), "test");
    assert_null(client_iter_next(&first));
    assert_next(&second, 0);
    assert_next(&second, 2);
    while (client_iter_next(&second) != NULL)
        continue;
    peer_close(&late);
}

/* Each client is checked once a second or more often: an idle one is disconnected. */
static void test_cron(void **state) {
    (void)state;
    config.timeout = 1;
    for (size_t i = 0; i < PEERS; i++)
        client_of(&all[i])->last_active_us = clock_mono() - 2 * US_PER_S;
    client_of(&all[3])->last_active_us = clock_mono() + 3600 * US_PER_S;
    clients_cron();
    turns();
    for (size_t i = 0; i < PEERS; i++)
        assert_int_equal(client_of(&all[i]) != NULL, i == 3);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, walk_start, walk_stop)

int main(void) {
    const struct CMUnitTest tests[] = { TEST(test_all), TEST(test_ends), TEST(test_moves), TEST(test_cron) };

    return cmocka_run_group_tests_name("client walk", tests, NULL, NULL);
}
