/* Messages between servers: cut into parts, sealed, put together, and some of them missed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/job_key.h"
#include "base/node.h"
#include "base/stats.h"
#include "cluster/pubsub_forward.h"
#include "net/pubsub.h"
#include "pg/notify_bus.h"

#define ME 1
#define OTHER 2
#define PARTS 256

/* ---- in place of the channel and of the subscribers ---- */

static bool up = true;
static struct buf heard;

static bool is_up(void) {
    return up;
}

size_t pubsub_deliver(struct slice channel, struct slice message) {
    bool is_long = message.len > 16;

    buf_printf(&heard, "%.*s=%.*s", (int)channel.len, channel.ptr, is_long ? 4 : (int)message.len,
               message.ptr);
    if (is_long)
        buf_printf(&heard, "(%zu)", message.len);
    buf_printf(&heard, " ");
    for (size_t i = 1; i < message.len; i++)
        assert_true(!is_long || message.ptr[i] == message.ptr[0]);
    return 1;
}

#define assert_heard(expected)                                                                       \
    do {                                                                                             \
        assert_int_equal(buf_len(&heard), strlen(expected));                                         \
        assert_memory_equal(buf_len(&heard) > 0 ? buf_ptr(&heard) : "", expected, strlen(expected)); \
        buf_reset(&heard, SIZE_MAX);                                                                 \
    } while (0)

/* ---- sender and receiver ---- */

static char parts[PARTS][NOTIFY_TEXT_MAX];
static uint64_t run = 100;

static void be(uint16_t number) {
    node_self()->number = number;
    node_self()->run = run;
}

static void tell(const char *channel, const char *message) {
    be(ME);
    pubsub_forward_tell(slice_str(channel), slice_str(message));
}

static void tell_long(const char *channel, char letter, size_t len) {
    char *bytes = xmalloc(len);

    be(ME);
    memset(bytes, letter, len);
    pubsub_forward_tell(slice_str(channel), (struct slice){ bytes, len });
    free(bytes);
}

static int take_all(void) {
    int count = 0;

    be(ME);
    for (; pubsub_forward_has(); count++) {
        assert_true(count < PARTS);
        pubsub_forward_take(parts[count], sizeof parts[count]);
        assert_true(strlen(parts[count]) < NOTIFY_TEXT_MAX);
    }
    return count;
}

static void hear(const char *text) {
    be(OTHER);
    assert_true(pubsub_forward_receive(text));
}

static void hear_all(int count) {
    for (int i = 0; i < count; i++)
        hear(parts[i]);
}

static int start(void **state) {
    (void)state;
    up = true;
    pubsub_forward_init(is_up);
    be(ME);
    node_get(OTHER)->live = true;
    jobid_set_secret((const unsigned char *)"0123456789abcdef");
    (void)take_all();
    run++;
    buf_reset(&heard, SIZE_MAX);
    return 0;
}

static int stop(void **state) {
    (void)state;
    buf_free(&heard);
    return 0;
}

/* ---- tests ---- */

static void test_small_ones_share_a_part(void **state) {
    (void)state;
    tell("a", "1");
    tell("b", "");
    tell("", "2");
    assert_int_equal(take_all(), 1);
    hear_all(1);
    assert_heard("a=1 b= =2 ");
    tell("a", "3");
    hear_all(take_all());
    assert_heard("a=3 ");
}

static void test_large_ones_take_several(void **state) {
    int count;

    (void)state;
    tell("a", "1");
    tell_long("long", 'x', PUBSUB_MESSAGE_MAX - 4);
    tell("b", "2");
    count = take_all();
    assert_in_range(count, 150, 200);
    hear_all(count - 1);
    assert_heard("a=1 ");
    hear(parts[count - 1]);
    assert_heard("long=xxxx(1048572) b=2 ");
}

/* Every length around the borders of parts. */
static void test_all_borders(void **state) {
    (void)state;
    for (size_t len = 5700; len < 6000; len += 3) {
        char expected[64];

        tell_long("a", 'x', len);
        tell("b", "1");
        tell_long("c", 'y', len);
        hear_all(take_all());
        snprintf(expected, sizeof expected, "a=xxxx(%zu) b=1 c=yyyy(%zu) ", len, len);
        assert_heard(expected);
    }
}

/* Any part may be lost. The messages without bytes in it arrive, whole and in order. */
static void test_a_part_is_missed(void **state) {
    int count;

    (void)state;
    for (int missed = 0; missed < 8; missed++) {
        run++;
        tell("a", "1");
        tell_long("b", 'x', 9000);
        tell("c", "2");
        tell_long("d", 'y', 20000);
        tell("e", "3");
        count = take_all();
        assert_int_equal(count, 5);
        for (int i = 0; i < count; i++)
            if (i != missed)
                hear(parts[i]);
        assert_heard(missed == 0   ? "c=2 d=yyyy(20000) e=3 "
                     : missed == 1 ? "a=1 e=3 "
                     : missed < 4  ? "a=1 b=xxxx(9000) c=2 e=3 "
                     : missed == 4 ? "a=1 b=xxxx(9000) c=2 "
                                   : "a=1 b=xxxx(9000) c=2 d=yyyy(20000) e=3 ");
        tell("f", "4");
        hear_all(take_all());
        assert_heard("f=4 ");
    }
}

static void test_not_twice_and_not_from_ourselves(void **state) {
    (void)state;
    tell("a", "1");
    hear_all(take_all());
    hear_all(1);
    assert_heard("a=1 ");
    tell("a", "2");
    (void)take_all();
    be(ME);
    assert_true(pubsub_forward_receive(parts[0]));
    assert_heard("");
}

/* A restarted server knows no part, and any listener can repeat one. */
static void test_old_parts(void **state) {
    (void)state;
    tell("a", "1");
    assert_int_equal(take_all(), 1);
    (void)clock_sync_db(clock_db() + 11 * US_PER_S, clock_mono(), clock_mono());
    hear(parts[0]);
    assert_heard("");
    tell("a", "2");
    hear_all(take_all());
    assert_heard("a=2 ");
}

static void test_begins_anew(void **state) {
    (void)state;
    tell_long("a", 'x', 9000);
    assert_int_equal(take_all(), 2);
    hear(parts[0]);
    run++;
    tell("b", "1");
    hear_all(take_all());
    assert_heard("b=1 ");
}

static void test_notifications_of_others(void **state) {
    char forged[NOTIFY_TEXT_MAX];

    (void)state;
    assert_false(pubsub_forward_receive("1 0123456789abcdef 2 1 1 0"));
    assert_true(pubsub_forward_receive("Q"));
    assert_true(pubsub_forward_receive("Qnothing of ours"));
    tell("a", "secret");
    (void)take_all();
    assert_null(strstr(parts[0], "secret"));
    for (size_t i = 1; i < strlen(parts[0]); i += 7) {
        strcpy(forged, parts[0]);
        forged[i] = forged[i] == 'A' ? 'B' : 'A';
        hear(forged);
    }
    jobid_set_secret((const unsigned char *)"fedcba9876543210");
    hear(parts[0]);
    assert_heard("");
}

static void test_no_server_to_tell(void **state) {
    uint64_t dropped = stats.pubsub_dropped;

    (void)state;
    node_get(OTHER)->live = false;
    tell("a", "1");
    assert_false(pubsub_forward_has());
    node_get(OTHER)->live = true;
    up = false;
    tell("a", "1");
    assert_false(pubsub_forward_has());
    assert_int_equal(stats.pubsub_dropped, dropped + 1);
}

static void test_too_much(void **state) {
    uint64_t dropped = stats.pubsub_dropped;

    (void)state;
    for (int i = 0; i < 20; i++)
        tell_long("a", 'x', 1000000);
    assert_int_equal(stats.pubsub_dropped, dropped + 4);
    be(ME);
    while (pubsub_forward_has())
        pubsub_forward_take(parts[0], sizeof parts[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_small_ones_share_a_part, start),
        cmocka_unit_test_setup(test_large_ones_take_several, start),
        cmocka_unit_test_setup(test_all_borders, start),
        cmocka_unit_test_setup(test_a_part_is_missed, start),
        cmocka_unit_test_setup(test_not_twice_and_not_from_ourselves, start),
        cmocka_unit_test_setup(test_old_parts, start),
        cmocka_unit_test_setup(test_begins_anew, start),
        cmocka_unit_test_setup(test_notifications_of_others, start),
        cmocka_unit_test_setup(test_no_server_to_tell, start),
        cmocka_unit_test_setup(test_too_much, start),
    };

    return cmocka_run_group_tests_name("relay", tests, NULL, stop);
}
