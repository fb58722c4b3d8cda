/* Clients that take too much: memory, time, places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "client_peers.h"
#include "net/admission.h"
#include "net/connection.h"

static struct output_limit *limit(void) {
    return &config.output_limit[OUTPUT_NORMAL];
}

static void set_password(const char *password) {
    char err[128];

    assert_true(config_set(SLICE("requirepass"), slice_str(password), err, sizeof err));
}

/* ---- output ---- */

/* As if the socket had taken nothing for so long. */
static void stall(int64_t us) {
    assert_true(client_of(&p)->stalled_us != 0);
    client_of(&p)->stalled_us = clock_mono() - us;
    clients_cron();
    turns();
}

static void test_hard_limit(void **state) {
    uint64_t kills = stats.output_limit_kills;

    (void)state;
    *limit() = (struct output_limit){ .hard = 1000000 };
    peer_send(&p, "BIG 5000000\r\n");
    stall(9 * US_PER_S);
    assert_non_null(client_of(&p));
    stall(11 * US_PER_S);
    assert_null(client_of(&p));
    assert_int_equal(stats.output_limit_kills, kills + 1);
    assert_closed(&p);
}

/* The sum of many small replies counts as a large one. */
static void test_hard_limit_by_many(void **state) {
    (void)state;
    *limit() = (struct output_limit){ .hard = 1000000 };
    for (int i = 0; i < 40; i++)
        peer_send(&p, "BIG 60000\r\n");
    stall(11 * US_PER_S);
    assert_null(client_of(&p));
}

/* A client that reads gets all of a reply of any size. */
static void test_hard_limit_with_progress(void **state) {
    (void)state;
    *limit() = (struct output_limit){ .hard = 1000000, .soft = 500000, .soft_seconds = 60 };
    peer_send(&p, "BIG 5000000\r\n");
    for (int i = 0; i < 1000 && client_unwritten(client_of(&p)) > 0; i++) {
        if (i % 10 == 9 && client_of(&p)->over_soft_us != 0)
            client_of(&p)->over_soft_us -= 120 * US_PER_S;
        clients_cron();
        peer_read(&p);
        turns();
    }
    peer_read(&p);
    assert_int_equal(buf_len(&p.got), 10 + 5000000 + 2);
    assert_open(&p);
}

/* Messages come whether they are read or not: their size alone counts. */
static void test_hard_limit_of_messages(void **state) {
    static char message[700000];

    (void)state;
    config.output_limit[OUTPUT_NORMAL].hard = 1000000;
    client_of(&p)->monitor = true;
    for (int i = 0; i < 4 && client_of(&p) != NULL; i++) {
        client_push(client_of(&p), message, sizeof message);
        turns();
    }
    assert_null(client_of(&p));
}

static void test_soft_limit(void **state) {
    uint64_t kills = stats.output_limit_kills;
    int started;

    (void)state;
    *limit() = (struct output_limit){ .soft = 500000, .soft_seconds = 3600 };
    peer_send(&p, "BIG 2000000\r\nECHO a\r\nECHO b\r\n");
    started = peers.started;
    assert_int_equal(started, 1);
    clients_cron();
    turns();
    assert_int_equal(peers.started, 1);
    for (int i = 0; i < 1000 && peers.started < 3; i++) {
        turns();
        peer_read(&p);
    }
    turns();
    peer_read(&p);
    assert_int_equal(buf_len(&p.got), 10 + 2000000 + 2 + 14);
    assert_open(&p);
    assert_int_equal(stats.output_limit_kills, kills);
}

static void test_soft_limit_for_too_long(void **state) {
    (void)state;
    *limit() = (struct output_limit){ .soft = 500000, .soft_seconds = 60 };
    peer_send(&p, "BIG 2000000\r\n");
    clients_cron();
    turns();
    assert_non_null(client_of(&p));
    client_of(&p)->over_soft_us -= 61 * US_PER_S;
    stall(59 * US_PER_S);
    assert_non_null(client_of(&p));
    stall(61 * US_PER_S);
    assert_null(client_of(&p));
}

/* After a moment below the limit, the time begins again. */
static void test_soft_limit_begins_again(void **state) {
    (void)state;
    *limit() = (struct output_limit){ .soft = 500000, .soft_seconds = 60 };
    peer_send(&p, "BIG 2000000\r\n");
    client_of(&p)->over_soft_us -= 59 * US_PER_S;
    while (buf_len(&client_of(&p)->out) > 0) {
        peer_read(&p);
        turns();
    }
    peer_send(&p, "BIG 2000000\r\n");
    assert_true(clock_mono() - client_of(&p)->over_soft_us < 30 * US_PER_S);
    clients_cron();
    turns();
    assert_open(&p);
}

static void test_output_before_the_password(void **state) {
    (void)state;
    set_password("secret");
    peer_send(&p, "BIG 1000000\r\n");
    assert_null(client_of(&p));
    peer_close(&p);
    peer_open(&p);
    client_of(&p)->authenticated = true;
    peer_send(&p, "BIG 1000000\r\n");
    assert_non_null(client_of(&p));
}

/* ---- input ---- */

/* Sends until the client is closed; tells how much that took. */
static size_t send_until_closed(const char *first, size_t most) {
    static char bytes[65536];
    size_t sent = 0;

    memset(bytes, 'x', sizeof bytes);
    peer_send(&p, first);
    while (client_of(&p) != NULL && sent < most) {
        sent += peer_send_some(&p, (struct slice){ bytes, sizeof bytes });
        turn();
    }
    return sent;
}

static void test_query_buffer_limit(void **state) {
    (void)state;
    config.client_query_buffer_limit = 2000000;
    assert_in_range(send_until_closed("*2\r\n$4\r\nECHO\r\n$60000000\r\n", 5000000), 1800000, 2600000);
    assert_null(client_of(&p));
}

static void test_input_before_the_password(void **state) {
    (void)state;
    set_password("secret");
    peer_send(&p, "*1000\r\n");
    assert_got(&p, "-ERR Protocol error: invalid multibulk length\r\n");
    peer_close(&p);
    peer_open(&p);
    peer_send(&p, "*2\r\n$4\r\nECHO\r\n$20000\r\n");
    assert_got(&p, "-ERR Protocol error: invalid bulk length\r\n");
    assert_closed(&p);
    peer_close(&p);
    peer_open(&p);
    client_of(&p)->authenticated = true;
    peer_send(&p, "*2\r\n$4\r\nECHO\r\n$20000\r\n");
    assert_open(&p);
}

static void test_memory_before_the_password(void **state) {
    (void)state;
    set_password("secret");
    peer_send(&p, "*10\r\n$16384\r\nabcd");
    assert_in_range(client_of(&p)->in.cap, 1, 8192);
    assert_in_range(send_until_closed("", 1000000), 1, 200000);
    peer_close(&p);
    peer_open(&p);
    peer_send(&p, "BIG 16000\r\n");
    peer_send(&p, "BIG 16000\r\n");
    assert_in_range(client_of(&p)->in.cap + client_of(&p)->out.cap, 0, 65536);
}

/* Announced sizes cost no memory. Idle clients keep no buffers. */
static void test_memory(void **state) {
    (void)state;
    peer_send(&p, "*2\r\n$4\r\nECHO\r\n$60000000\r\nabcd");
    assert_in_range(client_of(&p)->in.cap, 1, 33 * 1024);
    peer_close(&p);
    turns();
    peer_open(&p);
    peer_send(&p, "ECHO a\r\n");
    assert_int_equal(client_of(&p)->in.cap, 0);
    peer_send(&p, "BIG 100000\r\n");
    peer_read(&p);
    turns();
    assert_in_range(client_of(&p)->out.cap, 0, 16 * 1024);
}

/* ---- places ---- */

static void test_maxclients(void **state) {
    uint64_t rejected = stats.connections_rejected;
    struct peer second, third;
    int fds[2];

    (void)state;
    config.maxclients = 2;
    peer_open(&second);
    assert_int_equal(client_count(), 2);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    client_accept(fds[1], SOCKET_UNIX);
    third = (struct peer){ .fd = fds[0], .id = UINT64_MAX };
    assert_got(&third, "-ERR max number of clients reached\r\n");
    assert_closed(&third);
    assert_int_equal(stats.connections_rejected, rejected + 1);
    assert_int_equal(client_count(), 2);
    peer_close(&third);
    peer_close(&second);
    turns();
    peer_open(&third);
    peer_send(&third, "ECHO a\r\n");
    assert_got(&third, "$1\r\na\r\n");
    peer_close(&third);
}

/* ---- without the password ---- */

static void test_strangers_give_way(void **state) {
    struct peer known, third, fourth, extra, later;

    (void)state;
    set_password("secret");
    config.maxclients = 3;
    peer_close(&p);
    turns();
    peer_open(&known);
    client_of(&known)->authenticated = true;
    peer_open(&p);
    peer_open(&third);
    assert_int_equal(client_count(), 3);
    peer_open(&fourth);
    turns();
    assert_closed(&p);
    assert_open(&known);
    assert_open(&third);
    assert_open(&fourth);
    client_of(&third)->authenticated = client_of(&fourth)->authenticated = true;
    peer_open(&extra);
    peer_open(&later);
    turns();
    assert_closed(&extra);
    assert_open(&later);
    assert_int_equal(client_count(), 4);
    peer_close(&known);
    peer_close(&third);
    peer_close(&fourth);
    peer_close(&extra);
    peer_close(&later);
}

/* Strangers wait for their share of the turn. Other clients do not wait for them. */
static void test_strangers_share_a_turn(void **state) {
    enum { STRANGERS = 40, AT_ONCE = 4 };
    struct peer strangers[STRANGERS];
    struct slice slow = SLICE("SLOW x\r\n"), echo = SLICE("ECHO a\r\n");

    (void)state;
    set_password("secret");
    for (int i = 0; i < STRANGERS; i++) {
        peer_open(&strangers[i]);
        peer_send_some(&strangers[i], slow);
    }
    peer_send_some(&p, echo);
    client_of(&p)->authenticated = true;
    one_turn();
    assert_got(&p, "$1\r\na\r\n");
    assert_in_range(peers.started, 1, 1 + AT_ONCE);
    turns();
    assert_int_equal(peers.started, 1 + STRANGERS);
    for (int i = 0; i < STRANGERS; i++) {
        assert_got(&strangers[i], "$1\r\nx\r\n");
        peer_close(&strangers[i]);
    }
}

/* A stranger that does not read its replies is not read. It gets all replies when it reads. */
static void test_stranger_that_does_not_read(void **state) {
    static const struct slice echo = SLICE("ECHO abcdefgh\r\n");
    static const size_t reply = 4 + 8 + 2;
    size_t sent = 0, some;
    struct peer stranger;

    (void)state;
    set_password("secret");
    peer_open(&stranger);
    do {
        some = peer_send_some(&stranger, echo);
        sent += some;
        turns();
    } while (some == echo.len);
    assert_true(client_of(&stranger)->paused);
    assert_in_range(client_of(&stranger)->share.total, 1, 40 * 1024);
    assert_in_range((size_t)peers.started, 1, sent / echo.len - 1);
    for (int i = 0; i < 10000 && buf_len(&stranger.got) < sent / echo.len * reply; i++) {
        peer_read(&stranger);
        turns();
    }
    assert_int_equal(buf_len(&stranger.got), sent / echo.len * reply);
    assert_false(client_of(&stranger)->paused);
    peer_close(&stranger);
}

/* Between its login and its next commands, a client changes to the other clients. */
static void test_login_of_a_stranger(void **state) {
    struct peer stranger;

    (void)state;
    set_password("secret");
    peer_open(&stranger);
    peer_send(&stranger, "ECHO a\r\n");
    assert_false(list_empty(&client_of(&stranger)->in_unproven));
    client_of(&stranger)->authenticated = true;
    peer_send(&stranger, "ECHO b\r\n");
    assert_true(list_empty(&client_of(&stranger)->in_unproven));
    peer_send(&stranger, "ECHO c\r\n");
    assert_got(&stranger, "$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n");
    peer_send_some(&stranger, SLICE("ECHO d\r\n"));
    peer_send_no_more(&stranger);
    assert_got(&stranger, "$1\r\nd\r\n");
    assert_closed(&stranger);
    peer_close(&stranger);
    peer_open(&stranger);
    peer_send_some(&stranger, SLICE("ECHO e\r\n"));
    peer_send_no_more(&stranger);
    assert_got(&stranger, "$1\r\ne\r\n");
    assert_closed(&stranger);
    peer_close(&stranger);
}

static void owe_for(int64_t seconds) {
    clients_cron();
    client_of(&p)->unauthenticated_us -= seconds * US_PER_S;
    clients_cron();
    turns();
}

static void test_no_password_in_time(void **state) {
    (void)state;
    clients_cron();
    assert_int_equal(client_of(&p)->unauthenticated_us, 0);
    set_password("secret");
    owe_for(9);
    assert_open(&p);
    client_of(&p)->authenticated = true;
    clients_cron();
    assert_int_equal(client_of(&p)->unauthenticated_us, 0);
    client_of(&p)->authenticated = false;
    owe_for(9);
    assert_open(&p);
    config.auth_timeout = 0;
    owe_for(100);
    assert_open(&p);
    config.auth_timeout = 10;
    owe_for(11);
    assert_closed(&p);
}

static int64_t mute(void) {
    client_mute(client_of(&p), SLICE("alice"));
    return client_of(&p)->mute_until_us - clock_mono();
}

/* The answer to a wrong password, and all that follows, comes later and later. */
static void test_mute(void **state) {
    int64_t first;

    (void)state;
    first = mute();
    assert_in_range(first, 1, US_PER_S);
    client_push(client_of(&p), "-wrong\r\n", 8);
    peer_send(&p, "ECHO a\r\n");
    assert_got(&p, "");
    assert_int_equal(peers.started, 0);
    clients_cron();
    turns();
    assert_got(&p, "");
    client_of(&p)->mute_until_us = clock_mono();
    clients_cron();
    turns();
    assert_got(&p, "-wrong\r\n$1\r\na\r\n");
    assert_in_range(mute(), first + 1, 2 * first);
    for (int i = 0; i < 1000; i++)
        assert_in_range(mute(), first + 1, 5 * US_PER_S);
    assert_in_range(mute(), 4 * US_PER_S, 5 * US_PER_S);
}

static bool accept_from_another_machine(void) {
    size_t before = client_count();
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    client_accept(fds[1], SOCKET_TCP);
    close(fds[0]);
    return client_count() > before;
}

static void test_maxclients_per_address(void **state) {
    struct peer second;

    (void)state;
    config.protected_mode = false;
    assert_true(accept_from_another_machine());
    config.maxclients_per_address = 2;
    assert_true(accept_from_another_machine());
    assert_false(accept_from_another_machine());
    peer_open(&second);
    assert_open(&second);
    peer_close(&second);
    turns();
    assert_true(accept_from_another_machine());
}

static struct user *new_user(struct slice name, const char *rule) {
    const struct slice rules[] = { SLICE("on"), SLICE("nopass"), slice_str(rule) };
    size_t bad;

    assert_int_equal(user_set(name, rules, LENGTH(rules), &bad), RULE_OK);
    return user_find(name);
}

static void log_in(const struct peer *peer, struct user *u) {
    assert_null(admission_refuse_login(client_of(peer), u));
    connection_log_in(client_of(peer), u);
}

/* Above maxclients, only an administrator may log in. The tenant keeps its place. */
static void test_places_for_administrators(void **state) {
    static const struct right rights[] = { { .name = "client|kill", .command = -1 } };
    struct peer extra[ADMISSION_EXTRA];
    uint64_t rejected = stats.connections_rejected;
    struct user *tenant, *admin;

    (void)state;
    rights_register(rights, LENGTH(rights));
    tenant = new_user(SLICE("tenant"), "-@all");
    admin = new_user(SLICE("admin"), "+client|kill");
    set_password("secret");
    config.maxclients = 1;
    log_in(&p, tenant);
    for (size_t i = 0; i < LENGTH(extra); i++) {
        peer_open(&extra[i]);
        assert_string_equal(admission_refuse_login(client_of(&extra[i]), tenant),
                            "ERR max number of clients reached");
        log_in(&extra[i], admin);
    }
    assert_int_equal(stats.connections_rejected, rejected + LENGTH(extra));
    log_in(&p, tenant);
    assert_false(accept_from_another_machine());
    for (size_t i = 0; i < LENGTH(extra); i++)
        peer_close(&extra[i]);
}

static void test_maxclients_per_user(void **state) {
    struct user *tenant = new_user(SLICE("tenant"), "-@all");
    struct peer second, third;

    (void)state;
    set_password("secret");
    config.maxclients_per_user = 2;
    peer_open(&second);
    peer_open(&third);
    log_in(&p, tenant);
    log_in(&second, tenant);
    log_in(&second, tenant);
    assert_string_equal(admission_refuse_login(client_of(&third), tenant),
                        "ERR max number of clients of one user reached");
    log_in(&third, default_user);
    peer_close(&second);
    turns();
    log_in(&third, tenant);
    peer_close(&third);
}

/* ---- time ---- */

static void age(int64_t seconds) {
    client_of(&p)->last_active_us = clock_mono() - seconds * US_PER_S;
    clients_cron();
    turns();
}

static void test_idle(void **state) {
    (void)state;
    age(1000000);
    assert_open(&p);
    config.timeout = 100;
    age(99);
    assert_open(&p);
    client_of(&p)->last_active_us = clock_mono() - 101 * US_PER_S;
    peer_send(&p, "ECHO a\r\n");
    clients_cron();
    turns();
    assert_open(&p);
    age(101);
    assert_closed(&p);
}

static void test_not_idle(void **state) {
    (void)state;
    config.timeout = 100;
    peer_send(&p, "LATER 1\r\n");
    age(101);
    assert_open(&p);
    later_end(1);
    turns();
    client_of(&p)->monitor = true;
    age(101);
    assert_open(&p);
    client_of(&p)->monitor = false;
    age(101);
    assert_null(client_of(&p));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, peer_start, peer_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_hard_limit),
        TEST(test_hard_limit_by_many),
        TEST(test_hard_limit_with_progress),
        TEST(test_hard_limit_of_messages),
        TEST(test_soft_limit),
        TEST(test_soft_limit_for_too_long),
        TEST(test_soft_limit_begins_again),
        TEST(test_output_before_the_password),
        TEST(test_query_buffer_limit),
        TEST(test_input_before_the_password),
        TEST(test_memory),
        TEST(test_maxclients),
        TEST(test_memory_before_the_password),
        TEST(test_strangers_give_way),
        TEST(test_strangers_share_a_turn),
        TEST(test_stranger_that_does_not_read),
        TEST(test_login_of_a_stranger),
        TEST(test_no_password_in_time),
        TEST(test_mute),
        TEST(test_maxclients_per_address),
        TEST(test_places_for_administrators),
        TEST(test_maxclients_per_user),
        TEST(test_idle),
        TEST(test_not_idle),
    };

    return cmocka_run_group_tests_name("client limits", tests, NULL, NULL);
}
