/* Another session flushes the commits (flush-apart). A reply comes only after that flush. */
#include "consult.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "standby.h"

/* The time in which no reply may come. */
#define SILENCE_MS 700
/* The time in which a test expects something. It tries again if that does not come. A stopped session is replaced after some
 * seconds. */
#define SOON_MS (is_slow() ? 1000 : 200)

static struct postgres primary;
static struct server guarded; /* each transaction is flushed apart */
static redisContext *c;
static struct wire one, two;
static pid_t stopped; /* the session that a test has stopped, or 0 */

static int group_start(void **state) {
    (void)state;
    primary_start(&primary);
    server_start(&guarded, postgres_conninfo(&primary, NULL),
                 (const char *[]){ "--flush-apart", "always", NULL });
    return 0;
}

static int group_stop(void **state) {
    int failed = server_stop(&guarded);

    (void)state;
    postgres_stop(&primary, true);
    return failed;
}

static long long jobs(void) {
    return postgres_number(guarded.database, "select count(*) from pgdisque.jobs where queue = 'q'");
}

static bool flushes_apart(void) {
    long long before = info_number(c, "flushes_apart");

    expect(c, ":1", "ACKJOB %s", add_job(c, "q", "x", ""));
    return info_number(c, "flushes_apart") > before;
}

/* A transaction is flushed apart when the session for that is connected. A test that failed may have left other options. */
static int begin(void **state) {
    (void)state;
    commits_wait_for_missing(guarded.database, false);
    c = client_open_on(&guarded);
    expect(c, "+OK", "CONFIG SET flush-apart always durability remote-flush");
    raw_open_on(&one, &guarded);
    raw_open_on(&two, &guarded);
    EVENTUALLY(flushes_apart());
    commits_wait_for_missing(guarded.database, true);
    return 0;
}

static void let_session_go(void) {
    if (stopped != 0)
        kill(stopped, SIGCONT);
    stopped = 0;
}

/* A test that failed may have left the session stopped. */
static int end(void **state) {
    (void)state;
    let_session_go();
    wire_close(&one);
    wire_close(&two);
    redisFree(c);
    return 0;
}

static void send_add(struct wire *w, const char *body) {
    wire_words(w, "ADDJOB", "q", body, "0", NULL);
}

static void expect_id(struct wire *w) {
    struct value *v = wire_reply(w, EVENTUALLY_MS);

    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
}

static void let_commits_go(void) {
    commits_wait_for_missing(guarded.database, false);
}

static void take_both(void) {
    expect_id(&one);
    expect_id(&two);
    expect(c, "\"one\"", "LPOP q");
    expect(c, "\"two\"", "LPOP q");
    expect(c, "nil", "LPOP q");
}

static long long of_session(const char *value, const char *name, const char *condition) {
    return postgres_number(
        guarded.database,
        text_of("select %s from pg_stat_activity where application_name like 'pgdisque %% %s' and %s", value,
                name, condition));
}

static void to_session(const char *function, const char *name) {
    EVENTUALLY(of_session(text_of("count(%s(pid))", function), name, "true") == 1);
}

static bool flush_waits(void) {
    return of_session("count(*)", "flush", "wait_event = 'SyncRep'") == 1;
}

static pid_t flush_session(void) {
    return (pid_t)of_session("coalesce(max(pid), 0)", "flush", "true");
}

/* Tests cond for SOON_MS. The caller tries again if it stays false. */
#define SOON(cond)                                    \
    ({                                                \
        int64_t end_ms_ = now_ms() + SOON_MS;         \
        bool ok_;                                     \
        while (!(ok_ = (cond)) && now_ms() < end_ms_) \
            pause_briefly();                          \
        ok_;                                          \
    })

/* While the first transaction waits, the second is executed. False if another transaction of the server came second. */
static bool both_are_executed(void) {
    bool executed;

    EVENTUALLY((stopped = flush_session()) != 0);
    kill(stopped, SIGSTOP);
    send_add(&one, "one");
    executed = SOON(jobs() == 1);
    send_add(&two, "two");
    executed = executed && SOON(jobs() == 2);
    HOLDS_FOR(SOON_MS, wire_pending(&one) == 0 && wire_pending(&two) == 0);
    let_session_go();
    take_both();
    return executed;
}

static void test_reply_waits_for_the_flush(void **state) {
    (void)state;
    let_commits_go();
    EVENTUALLY(both_are_executed());
}

/* A job is committed, and the flush session waits for the standby. False if the write session waits itself, because the
 * flush session has connected a moment before. */
static bool flush_of_one_waits(void) {
    commits_wait_for_missing(guarded.database, true);
    send_add(&one, "one");
    if (SOON(flush_waits()))
        return true;
    assert_int_equal(wire_pending(&one), 0);
    let_commits_go();
    expect_id(&one);
    expect(c, "\"one\"", "LPOP q");
    return false;
}

/* No reply comes until commits need no standby. */
static void expect_ids_at_last(void) {
    send_add(&two, "two");
    HOLDS_FOR(SILENCE_MS, wire_pending(&one) == 0 && wire_pending(&two) == 0);
    let_commits_go();
    take_both();
}

static void lose(const char *session) {
    EVENTUALLY(flush_of_one_waits());
    EVENTUALLY(jobs() == 1);
    to_session("pg_terminate_backend", session);
    expect_ids_at_last();
}

/* The wait of a session ends with the session. */
static void test_flush_is_lost(void **state) {
    (void)state;
    lose("flush");
}

static void test_transaction_is_lost(void **state) {
    (void)state;
    lose("write");
}

static void cancel_wait(void) {
    long long before = info_number(c, "standby_waits_cancelled");

    EVENTUALLY(flush_of_one_waits());
    to_session("pg_cancel_backend", "flush");
    EVENTUALLY(info_number(c, "standby_waits_cancelled") > before);
    expect_ids_at_last();
}

static void test_wait_is_cancelled(void **state) {
    (void)state;
    cancel_wait();
}

/* The session for flushes connects with another durability than that of the transactions. */
static void test_wait_is_cancelled_after_config_set(void **state) {
    pid_t before = flush_session();

    (void)state;
    let_commits_go();
    expect(c, "+OK", "CONFIG SET durability local");
    to_session("pg_terminate_backend", "flush");
    EVENTUALLY(flush_session() != 0 && flush_session() != before);
    EVENTUALLY(flushes_apart());
    expect(c, "+OK", "CONFIG SET durability remote-flush");
    cancel_wait();
}

/* ---- flush-apart auto and no ---- */

#define MANY 100

/* The client sends all commands in one write. The server may divide them between two transactions. */
static void send_many(void) {
    char text[MANY * 24] = "";
    size_t len = 0;

    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "ADDJOB many x 0\r\n");
    assert_true(wire_send(&one, text, len));
}

static void expect_many_ids(void) {
    for (int i = 0; i < MANY; i++)
        expect_id(&one);
}

/* False if the server measured a fence less than ten seconds before. */
static bool slow_fence_is_measured(void) {
    bool measures;

    commits_wait_for_missing(guarded.database, true);
    send_many();
    measures = SOON(flush_waits());
    HOLDS_FOR(SOON_MS, wire_pending(&one) == 0);
    let_commits_go();
    expect_many_ids();
    return measures;
}

/* A fence that waits for a missing standby takes long. So the server flushes the next large transaction apart, and no small
 * one. */
static void test_auto_follows_the_time_of_a_fence(void **state) {
    long long before;

    (void)state;
    let_commits_go();
    expect(c, "+OK", "CONFIG SET flush-apart auto");
    EVENTUALLY(slow_fence_is_measured());
    assert_false(flushes_apart());
    before = info_number(c, "flushes_apart");
    send_many();
    expect_many_ids();
    assert_true(info_number(c, "flushes_apart") > before);
}

/* Flushes of earlier transactions end before the reply to LPUSH. */
static void expect_no_flush_apart(void) {
    long long before;

    let_commits_go();
    expect(c, ":1", "LPUSH q x");
    before = info_number(c, "flushes_apart");
    expect(c, "\"x\"", "LPOP q");
    send_many();
    expect_many_ids();
    assert_int_equal(info_number(c, "flushes_apart"), before);
}

static void test_no_flushes_nothing_apart(void **state) {
    (void)state;
    expect(c, "+OK", "CONFIG SET flush-apart no");
    expect_no_flush_apart();
}

/* A commit with durability async waits for no flush. */
static void test_async_needs_no_flush(void **state) {
    (void)state;
    expect(c, "+OK", "CONFIG SET durability async");
    expect_no_flush_apart();
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_reply_waits_for_the_flush),
        TEST(test_flush_is_lost),
        TEST(test_transaction_is_lost),
        TEST(test_wait_is_cancelled),
        TEST(test_wait_is_cancelled_after_config_set),
        TEST(test_auto_follows_the_time_of_a_fence),
        TEST(test_no_flushes_nothing_apart),
        TEST(test_async_needs_no_flush),
    };

    return RUN_SUITE_WITH("flush_apart", tests, group_start, group_stop);
}
