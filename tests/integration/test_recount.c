/* The leases are read and the jobs are counted beside the traffic: after a start, and after lost sessions. */
#include "fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <libpq-fe.h>

static redisContext *c;

static int recount_setup(void **state) {
    (void)state;
    c = client_open();
    return 0;
}

static int recount_teardown(void **state) {
    (void)state;
    redisFree(c);
    return 0;
}

/* A session with the name of the session for long reads stops, so the server cannot end it, and opens no other session.
 * After three seconds the server reads over another connection. */
static PGconn *blocker;

static void hold_count(void) {
    const char *id = ask(c, "CLUSTER MYID");

    blocker = postgres_connect(text_of("%s application_name='pgdisque %.8s long'", server.database, id + 1));
    assert_int_equal(kill(PQbackendPID(blocker), SIGSTOP), 0);
}

static void let_count(void) {
    assert_int_equal(kill(PQbackendPID(blocker), SIGCONT), 0);
    EVENTUALLY(strncmp(ask(c, "QLEN none"), ":", 1) == 0);
    PQfinish(blocker);
}

/* change: made by SQL between stop and start. */
static void restart_after(const char *change) {
    hold_count();
    redisFree(c);
    assert_int_equal(server_stop(&server), 0);
    database_run(change);
    server_resume_uncounted(&server);
    c = client_open();
    assert_int_equal(info_number(c, "counting"), 1);
}

static void restart_uncounted(void) {
    restart_after("select");
}

/* The session of changes; 0: there is none. */
static long long write_session(void) {
    return postgres_number(server.database, "select coalesce(max(pid), 0) from pg_stat_activity where "
                                            "application_name like 'pgdisque % write'");
}

/* All sessions of the server end, and it reconnects. The recount begins before the first change. */
static void lose_sessions(void) {
    long long before = write_session(), now;

    sessions_end("");
    EVENTUALLY((now = write_session()) != before && now != 0);
    expect(c, ":1", "ACKJOB %s", add_job(c, "fence", "x", ""));
}

/* The counters are those of the database. */
static void assert_counted(const char *queue) {
    assert_int_equal(number(c, "QLEN %s", queue),
                     jobs_where(queue, "j.ready_at <= now() and j.wake_at is distinct from j.ready_at"));
    assert_int_equal(atoll(queue_field(c, queue, "delayed")), jobs_where(queue, "j.wake_at = j.ready_at"));
    assert_int_equal(atoll(queue_field(c, queue, "active")),
                     jobs_where(queue, "j.ready_at > now() and j.owner is not null"));
}

/* ---- start ---- */

static void test_served_before_the_count(void **state) {
    const char *running, *added;
    struct wire qlen, push;

    (void)state;
    running = forever(add_job(c, "early", "a", "RETRY 1000"));
    add_job(c, "early", "b", "RETRY 1000");
    expect(c, ":1", "RPUSH list x");
    get_job(c, "early", "a");
    restart_uncounted();
    expect_start(c, "-LOADING", "ADDJOB early x 0 MAXLEN 10");
    expect(c, "+PONG", "PING");
    added = forever(add_job(c, "early", "c", "RETRY 1000"));
    expect(c, ":1", "ACKJOB %s", running);
    expect(c, ":1", "ACKJOB %s", get_job(c, "early", "b"));
    assert_string_equal(job_field(c, added, "state"), "queued");
    raw_open(&qlen);
    assert_true(wire_words(&qlen, "QLEN", "early", NULL));
    raw_open(&push);
    assert_true(wire_words(&push, "RPUSH", "list", "y", NULL));
    let_count();
    raw_expect(&qlen, ":1");
    raw_expect(&push, ":2");
    wire_close(&qlen);
    wire_close(&push);
    assert_counted("early");
    get_job(c, "early", "c");
    assert_true(queue_is_empty(c, "early"));
}

/* Without the connection for long reads. */
static void test_counted_by_another_connection(void **state) {
    (void)state;
    add_job(c, "few", "a", "RETRY 1000");
    restart_uncounted();
    EVENTUALLY(info_number(c, "counting") == 0);
    expect(c, ":1", "QLEN few");
    get_job(c, "few", "a");
    let_count();
    assert_counted("few");
}

/* Changes of every kind between the start and the count. */
static void test_changes_before_the_count(void **state) {
    const char *ids[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        ids[i] = forever(add_job(c, "busy", text_of("%d", i), "RETRY 1000"));
    add_job(c, "busy", "delayed", "DELAY 1000");
    get_job(c, "busy", "0");
    get_job(c, "busy", "1");
    restart_uncounted();
    expect(c, ":1", "NACK %s", ids[0]);
    get_job(c, "busy", "0");
    expect(c, ":2", "ACKJOB %s %s", ids[0], ids[1]);
    get_job(c, "busy", "2");
    get_job(c, "busy", "3");
    expect(c, ":1000", "WORKING %s", ids[3]);
    expect(c, ":1", "DEQUEUE %s", ids[4]);
    expect(c, ":1", "DELJOB %s", ids[5]);
    add_job(c, "busy", "late", "DELAY 1000");
    add_job(c, "busy", "short", "RETRY 1");
    let_count();
    assert_counted("busy");
    get_job(c, "busy", "6");
    get_job(c, "busy", "7");
    get_job(c, "busy", "short");
    EVENTUALLY(number(c, "QLEN busy") == 1);
    assert_counted("busy");
}

/* A lease of the last run ends after the start. */
static void test_leases_end_before_the_count(void **state) {
    (void)state;
    add_job(c, "leased", "a", "RETRY 2");
    add_job(c, "leased", "b", "RETRY 1000");
    get_job(c, "leased", "a");
    restart_uncounted();
    expect_start(c, "[[\"leased\"", "GETJOB TIMEOUT 20000 FROM leased");
    expect_start(c, "[[\"leased\"", "GETJOB TIMEOUT 20000 FROM leased");
    let_count();
    EVENTUALLY(number(c, "QLEN leased") == 1);
    assert_counted("leased");
}

/* A job that the last run has delivered counts for the limit, although its lease is not known yet. */
static void test_limit_of_the_server(void **state) {
    const char *id;

    (void)state;
    expect(c, "+OK", "QCONFIG limited SET server-max-active 1");
    id = forever(add_job(c, "limited", "a", "RETRY 1000"));
    add_job(c, "limited", "b", "RETRY 1000");
    get_job(c, "limited", "a");
    restart_uncounted();
    assert_true(queue_is_empty(c, "limited"));
    let_count();
    assert_true(queue_is_empty(c, "limited"));
    expect(c, ":1", "ACKJOB %s", id);
    get_job(c, "limited", "b");
}

/* The server does not know yet that its queue has a dead letter. */
static void test_dead_letter_before_the_count(void **state) {
    const char *id = forever(add_job(c, "revived", "x", "ATTEMPTS 1"));

    (void)state;
    get_job(c, "revived", "x");
    expect(c, ":1", "NACK %s", id);
    EVENTUALLY(number(c, "QLEN revived DEAD") == 1);
    restart_uncounted();
    expect(c, ":1", "ENQUEUE %s", id);
    get_job(c, "revived", "x");
    let_count();
    assert_counted("revived");
}

/* The count is held for three seconds. */
static void test_delay_ends_before_the_count(void **state) {
    (void)state;
    add_job(c, "due", "x", "DELAY 1");
    restart_uncounted();
    expect_start(c, "[[\"due\"", "GETJOB TIMEOUT 2500 FROM due");
    let_count();
    assert_counted("due");
}

/* The tick was due while the server was away. */
static void test_tick_before_the_count(void **state) {
    (void)state;
    expect(c, "+OK", "SCHEDULE yearly %s ticks x MAXLEN 5", "0 0 1 1 *");
    restart_after("update pgdisque.schedule set next_at = now() - interval '1 hour', has_tick = true");
    let_count();
    EVENTUALLY(number(c, "QLEN ticks") == 1);
    expect(c, ":1", "UNSCHEDULE yearly");
}

/* EXEC waits if one of its commands needs counters, or takes jobs. */
static void test_transactions_before_the_count(void **state) {
    struct wire counts, takes;

    (void)state;
    add_job(c, "txn", "a", "RETRY 1000");
    restart_uncounted();
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ADDJOB txn b 0 RETRY 1000");
    expect_start(c, "[+D-", "EXEC");
    raw_open(&counts);
    assert_true(wire_send_text(&counts, "MULTI\r\nQLEN txn\r\nEXEC\r\n"));
    raw_open(&takes);
    assert_true(wire_send_text(&takes, "MULTI\r\nGETJOB FROM txn\r\nEXEC\r\n"));
    raw_expect(&counts, "+OK");
    raw_expect(&counts, "+QUEUED");
    raw_expect(&takes, "+OK");
    raw_expect(&takes, "+QUEUED");
    let_count();
    raw_expect(&counts, "[:2]");
    wire_close(&counts);
    wire_close(&takes);
}

/* ---- lost sessions ---- */

static void test_served_beside_the_recount(void **state) {
    const char *id;

    (void)state;
    for (int i = 0; i < 5; i++)
        add_job(c, "again", text_of("%d", i), "RETRY 1000");
    id = forever(get_job(c, "again", "0"));
    hold_count();
    lose_sessions();
    expect(c, ":1", "ACKJOB %s", id);
    get_job(c, "again", "1");
    add_job(c, "again", "5", "RETRY 1000");
    let_count();
    assert_counted("again");
    for (int i = 2; i < 6; i++)
        get_job(c, "again", text_of("%d", i));
}

static void in_queue(const char *change, const char *queue, const char *condition) {
    database_run(text_of("%s where queue_id = (select id from pgdisque.queue where name = '%s') and %s",
                         change, queue, condition));
}

/* SQL makes the change that the database has after a lost acknowledgement. */
static void test_lease_without_a_row(void **state) {
    (void)state;
    add_job(c, "acked", "a", "RETRY 5");
    add_job(c, "acked", "b", "RETRY 1000");
    get_job(c, "acked", "a");
    in_queue("delete from pgdisque.job", "acked", "owner is not null");
    lose_sessions();
    EVENTUALLY(number(c, "QLEN acked") == 1 && strcmp(queue_field(c, "acked", "active"), "0") == 0);
    HOLDS_FOR(6000, number(c, "QLEN acked") == 1);
    assert_counted("acked");
}

/* It could still commit a lost transaction. */
static void test_earlier_session_for_large_requests(void **state) {
    const char *id = ask(c, "CLUSTER MYID");
    PGconn *old =
        postgres_connect(text_of("%s application_name='pgdisque %.8s large'", server.database, id + 1));
    const char *sessions =
        forever(text_of("select count(*) from pg_stat_activity where pid = %d", PQbackendPID(old)));

    (void)state;
    sessions_end("write");
    EVENTUALLY(postgres_number(server.database, sessions) == 0);
    PQfinish(old);
}

/* The same for a lost claim: no client has the job. */
static void test_lease_of_a_lost_claim(void **state) {
    (void)state;
    add_job(c, "claimed", "a", "RETRY 1000");
    add_job(c, "claimed", "b", "RETRY 1000");
    get_job(c, "claimed", "a");
    in_queue("update pgdisque.job set owner = (select number from pgdisque.node limit 1), "
             "deliveries = deliveries + 1, ready_at = now() + interval '1 hour'",
             "claimed", "owner is null");
    lose_sessions();
    expect_start(c, "[[\"claimed\"", "GETJOB TIMEOUT 60000 FROM claimed");
    assert_true(queue_is_empty(c, "claimed"));
    assert_counted("claimed");
}

/* A heartbeat whose answer was lost has moved the end of a lease. */
static void test_lease_that_differs(void **state) {
    const char *id;

    (void)state;
    id = forever(add_job(c, "differs", "a", "RETRY 1000"));
    get_job(c, "differs", "a");
    in_queue("update pgdisque.job set ready_at = now() + interval '2 seconds'", "differs",
             "owner is not null");
    lose_sessions();
    EVENTUALLY(number(c, "QLEN differs") == 1);
    assert_string_equal(get_job(c, "differs", "a"), id);
    assert_counted("differs");
}

/* A promoted standby may lack the deletion of a job that this server has passed. */
static void test_job_that_is_back(void **state) {
    const char *id;

    (void)state;
    id = forever(add_job(c, "back", "a", "RETRY 1000"));
    database_run("create table kept as select * from pgdisque.job where queue_id = (select id from "
                 "pgdisque.queue where name = 'back')");
    get_job(c, "back", "a");
    expect(c, ":1", "ACKJOB %s", id);
    add_job(c, "back", "b", "RETRY 1000");
    get_job(c, "back", "b");
    database_run("insert into pgdisque.job select * from kept; drop table kept");
    lose_sessions();
    EVENTUALLY(number(c, "QLEN back") == 1);
    assert_string_equal(get_job(c, "back", "a"), id);
    assert_counted("back");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, recount_setup, recount_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_served_before_the_count),
        TEST(test_counted_by_another_connection),
        TEST(test_changes_before_the_count),
        TEST(test_leases_end_before_the_count),
        TEST(test_limit_of_the_server),
        TEST(test_transactions_before_the_count),
        TEST(test_dead_letter_before_the_count),
        TEST(test_delay_ends_before_the_count),
        TEST(test_tick_before_the_count),
        TEST(test_served_beside_the_recount),
        TEST(test_lease_without_a_row),
        TEST(test_lease_of_a_lost_claim),
        TEST(test_earlier_session_for_large_requests),
        TEST(test_lease_that_differs),
        TEST(test_job_that_is_back),
    };

    return RUN_SUITE("recount", tests);
}
