/* Keys of client libraries at three servers: values, sorted sets of jobs, killed servers, lost sessions, a crash. */
#include "servers.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

enum { A, B, C };

#define MEMBER "{\"queue\":\"%s\",\"jid\":\"%d\"}"

static const char *member(const char *queue, int i) {
    return text_of(MEMBER, queue, i);
}

/* The reply to ZADD of a member that is due in some seconds. */
static const char *add_member(redisContext *c, const char *set, const char *queue, int i, int seconds) {
    later(c, "ZADD %s %d %s", set, (int)time(NULL) + seconds, member(queue, i));
    return next_reply(c);
}

/* ---- values ---- */

static void test_increments_add_up(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++)
        for (int n = 0; n < SERVERS; n++)
            later(at[n], "INCRBY stat:sum 1");
    for (int i = 0; i < 100; i++)
        for (int n = 0; n < SERVERS; n++)
            assert_true(*next_reply(at[n]) == ':');
    for (int n = 0; n < SERVERS; n++)
        expect(at[n], "\"300\"", "GET stat:sum");
}

/* INCRBY of a value that is no number, many times in one write, and then ADDJOB. */
enum { INCREMENTS = 2000 };

static void send_increments(struct wire *w) {
    static const char increment[] = "INCRBY stat:word 1\r\n";
    enum { LEN = sizeof increment - 1 };
    static char text[INCREMENTS * LEN];

    for (int i = 0; i < INCREMENTS; i++)
        memcpy(text + (size_t)i * LEN, increment, LEN);
    raw_open_on(w, group_size[A]);
    assert_true(wire_send(w, text, sizeof text));
    assert_true(wire_send_text(w, "ADDJOB incremented x 0\r\n"));
}

/* The jobs of another client are added before the last INCRBY has ended. */
static void test_refused_increments_beside_adds(void **state) {
    enum { CLIENTS = 4, ADDS = 20 };
    struct wire w[CLIENTS];

    (void)state;
    expect(at[A], "+OK", "SET stat:word abc");
    for (int i = 0; i < CLIENTS; i++)
        send_increments(&w[i]);
    for (int i = 0; i < ADDS; i++)
        add_job(at[A], "beside", "x", "");
    expect(at[A], ":0", "QLEN incremented");
    for (int i = 0; i < CLIENTS; i++) {
        for (int k = 0; k < INCREMENTS; k++)
            raw_expect(&w[i], "-ERR value is not an integer or out of range");
        value_free(wire_reply(&w[i], EVENTUALLY_MS));
        wire_close(&w[i]);
    }
    expect(at[A], ":4", "QLEN incremented");
}

/* Each LREM reads the whole list. The jobs of another client are added between them, not one job for each LREM. */
static void test_slow_removals_beside_adds(void **state) {
    enum { CLIENTS = 3, REMOVALS = 12, ADDS = 50 };
    struct wire w[CLIENTS];

    (void)state;
    free(postgres_query(server.database,
                        "select count(*) from pgdisque.add_jobs('long', array_fill('x'::text, "
                        "array[100000]))"));
    EVENTUALLY(number(at[A], "QLEN long") == 100000);
    for (int i = 0; i < CLIENTS; i++) {
        raw_open_on(&w[i], group_size[A]);
        for (int k = 0; k < REMOVALS; k++)
            assert_true(wire_send_text(&w[i], "LREM long 1 none\r\n"));
        assert_true(wire_send_text(&w[i], "ADDJOB removed x 0\r\n"));
    }
    for (int i = 0; i < ADDS; i++)
        add_job(at[A], "beside", "x", "");
    expect(at[A], ":0", "QLEN removed");
    for (int i = 0; i < CLIENTS; i++) {
        for (int k = 0; k < REMOVALS; k++)
            raw_expect(&w[i], ":0");
        value_free(wire_reply(&w[i], EVENTUALLY_MS));
        wire_close(&w[i]);
    }
    expect(at[A], ":3", "QLEN removed");
}

static void test_values_are_shared(void **state) {
    (void)state;
    expect(at[A], ":1", "SADD processes p");
    expect(at[B], ":1", "SISMEMBER processes p");
    expect(at[B], "+OK", "SET process_cleanup 1 NX EX 60");
    expect(at[C], "nil", "SET process_cleanup 1 NX EX 60");
    expect(at[C], ":1", "SREM processes p");
    expect(at[A], ":0", "SCARD processes");
}

/* ---- sorted sets ---- */

static void test_members_are_shared(void **state) {
    (void)state;
    assert_string_equal(add_member(at[A], "schedule", "queue-of-all", 1, 1000), ":1");
    expect(at[B], ":1", "ZCARD schedule");
    expect(at[B], ":0", "ZADD schedule 4000000000 %s", member("queue-of-all", 1));
    expect(at[C], ":1", "ZREMRANGEBYSCORE schedule 4000000000 4000000000");
    expect(at[A], ":0", "ZCARD schedule");
    EVENTUALLY(jobs_in_database("queue:queue-of-all") == 0);
}

/* Outside of MULTI, so many members are removed in two statements. */
#define REMOVED 1000

/* A range that is removed in a transaction does not contain the members that a later command of it adds. */
static void test_removed_range_in_transaction(void **state) {
    (void)state;
    for (int i = 0; i < REMOVED; i++)
        later(at[A], "ZADD schedule 4000000000 %s", member("removed", i));
    for (int i = 0; i < REMOVED; i++)
        assert_string_equal(next_reply(at[A]), ":1");
    expect(at[A], "+OK", "MULTI");
    expect(at[A], "+QUEUED", "ZREMRANGEBYSCORE schedule 4000000000 4000000000");
    expect(at[A], "+QUEUED", "ZADD schedule 4000000000 %s", member("removed", REMOVED));
    expect(at[A], "[:1000 :1]", "EXEC");
    expect(at[A], ":1", "ZREMRANGEBYSCORE schedule 4000000000 4000000000");
}

/* Takes a member at server n, and notes the number at its end. False if none is queued. */
static bool take_member(int n, const char *queue, int *taken) {
    const char *text;

    later(at[n], "RPOP queue:%s", queue);
    text = next_reply(at[n]);
    if (strcmp(text, "nil") == 0)
        return false;
    taken[atoi(strrchr(text, ':') + strlen(":\\x22"))]++;
    return true;
}

#define MEMBERS 40

/* All members become due and are taken once each, at servers B and C. */
static void expect_each_once(const char *queue, int *taken) {
    int count = 0;

    EVENTUALLY((count += take_member(B, queue, taken) + take_member(C, queue, taken)) == MEMBERS);
    assert_false(take_member(B, queue, taken) || take_member(C, queue, taken));
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(taken[i], 1);
    assert_int_equal(jobs_in_database(text_of("queue:%s", queue)), 0);
}

static void test_members_survive_a_killed_server(void **state) {
    int taken[MEMBERS] = { 0 };

    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        assert_string_equal(add_member(at[A], "retry", "killed", i, 1 + i % 2), ":1");
    server_kill(group_size[A]);
    expect_each_once("killed", taken);
}

/* A reply tells the truth: a member that was replied is there, and no member is there twice. */
static void test_members_and_lost_sessions(void **state) {
    int answered = 0;

    (void)state;
    for (int i = 0; i < MEMBERS; i++) {
        later(at[i % SERVERS], "ZADD schedule 4000000000 %s", member("cut", i));
        if (i % 8 == 0)
            sessions_end("");
        answered += strcmp(next_reply(at[i % SERVERS]), ":1") == 0;
    }
    EVENTUALLY(*ask(at[C], "ZCARD schedule") == ':');
    assert_true(atoi(ask(at[C], "ZCARD schedule") + 1) >= answered);
    assert_int_equal(postgres_number(server.database,
                                     "select count(*) - count(distinct body) from pgdisque.job "
                                     "where sorted_set = 'schedule'"),
                     0);
    expect(at[B], ":1", "DEL schedule");
    EVENTUALLY(jobs_in_database("queue:cut") == 0);
}

static void test_members_survive_a_crash_of_postgres(void **state) {
    int taken[MEMBERS] = { 0 };

    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        assert_string_equal(add_member(at[A], "schedule", "crashed", i, 1), ":1");
    postgres_stop(&pg, true);
    postgres_resume(&pg);
    for (int n = 0; n < SERVERS; n++)
        EVENTUALLY(*ask(at[n], "ZCARD schedule") == ':');
    expect_each_once("crashed", taken);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_increments_add_up),
        TEST(test_refused_increments_beside_adds),
        TEST(test_slow_removals_beside_adds),
        TEST(test_values_are_shared),
        TEST(test_members_are_shared),
        TEST(test_removed_range_in_transaction),
        TEST(test_members_and_lost_sessions),
        TEST(test_members_survive_a_killed_server),
        TEST(test_members_survive_a_crash_of_postgres),
    };

    return RUN_SUITE("library-keys", tests);
}
