/* Jobs that applications add and take by SQL, beside clients of three servers. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* ---- short ways ---- */

static PGconn *app_open(void) {
    return postgres_connect(server.database);
}

/* The first value of the result; valid for a whole test. */
static const char *app(PGconn *conn, const char *statement) {
    static char values[64][128];
    static size_t next;
    PGresult *res = PQexec(conn, statement);
    char *value = values[next++ % 64];

    if (PQresultStatus(res) != PGRES_TUPLES_OK && PQresultStatus(res) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", statement, PQresultErrorMessage(res));
    snprintf(value, sizeof *values, "%s", PQntuples(res) > 0 ? PQgetvalue(res, 0, 0) : "");
    PQclear(res);
    return value;
}

/* Runs a statement in a session of its own. */
static const char *once(const char *statement) {
    PGconn *conn = app_open();
    const char *value = app(conn, statement);

    PQfinish(conn);
    return value;
}

static void expect_job(struct wire *w, const char *queue, const char *id, const char *body) {
    raw_expect(w, text_of("[[\"%s\" \"%s\" \"%s\"]]", queue, id, body));
}

static bool counts_are(const char *queue, const char *len, const char *in, const char *out) {
    for (int i = 0; i < SERVERS; i++)
        if (strcmp(queue_field(at[i], queue, "len"), len) != 0 ||
            strcmp(queue_field(at[i], queue, "jobs-in"), in) != 0 ||
            strcmp(queue_field(at[i], queue, "jobs-out"), out) != 0)
            return false;
    return true;
}

/* ---- adding ---- */

/* A client waits at any of the servers. The queue is known there, known at another server, or new. */
static void test_a_waiting_client_gets_it(void **state) {
    struct wire w;

    (void)state;
    for (int i = 0; i < 6; i++) {
        wait_at(i % SERVERS, &w, "waits");
        expect_job(&w, "waits", once("select pgdisque.add_job('waits', 'from SQL')"), "from SQL");
        wire_close(&w);
    }
    EVENTUALLY(counts_are("waits", "0", "6", "6"));
}

static void test_with_the_callers_transaction(void **state) {
    PGconn *conn = app_open();
    struct wire w;
    const char *id;

    (void)state;
    expect(at[A], "nil", "GETJOB NOHANG FROM with");
    app(conn, "create table if not exists business (n integer)");
    wait_at(A, &w, "with");
    app(conn, "begin");
    app(conn, "insert into business values (1)");
    app(conn, "select pgdisque.add_job('with', 'vanishes')");
    app(conn, "rollback");
    app(conn, "begin");
    app(conn, "insert into business values (2)");
    id = app(conn, "select pgdisque.add_job('with', 'stays')");
    app(conn, "commit");
    expect_job(&w, "with", id, "stays");
    wire_close(&w);
    assert_string_equal(app(conn, "select string_agg(n::text, ' ') from business"), "2");
    PQfinish(conn);
}

/* A transaction that makes a queue stays open. Commands about other queues and about this queue do not hang. */
static void test_a_new_queue_in_a_long_transaction(void **state) {
    PGconn *conn = app_open();
    const char *id;

    (void)state;
    app(conn, "begin");
    id = app(conn, "select pgdisque.add_job('long', 'first')");
    later(at[A], "ADDJOB long second 0");
    redisBufferWrite(at[A], NULL);
    for (int i = 0; i < 3; i++)
        expect(at[B], ":1", "ACKJOB %s", add_job(at[B], "others", "x", ""));
    expect_start(at[C], "-NOREPL", "ADDJOB long third 50");
    app(conn, "commit");
    assert_string_equal(next_reply(at[A])[0] == '+' ? "added" : "?", "added");
    EVENTUALLY(all_have("long", 2));
    assert_string_equal(get_job(at[C], "long", "first"), id);
    PQfinish(conn);
}

/* The scan position has moved past the job, or has not. */
static void test_committed_late(void **state) {
    PGconn *conn = app_open();
    struct wire w;
    const char *id;

    (void)state;
    add_job(at[A], "late", "1", "");
    app(conn, "begin");
    id = app(conn, "select pgdisque.add_job('late', '2')");
    add_job(at[B], "late", "3", "");
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(number(at[i], "QLEN late") == 2);
    get_job(at[A], "late", "1");
    get_job(at[A], "late", "3");
    assert_true(queue_is_empty(at[B], "late"));
    wait_at(C, &w, "late");
    app(conn, "commit");
    expect_job(&w, "late", id, "2");
    wire_close(&w);
    PQfinish(conn);
}

/* Due before it was committed, and after. */
static void test_delays_and_ttls(void **state) {
    PGconn *conn = app_open();
    const char *soon, *late;

    (void)state;
    soon = app(conn, "select pgdisque.add_job('delays', 'soon', delay => 1), "
                     "pgdisque.add_job('brief', 'x', ttl => 1)");
    app(conn, "begin");
    late = app(conn, "select pgdisque.add_job('delays', 'late', delay => 1)");
    EVENTUALLY(all_have("delays", 1));
    /* The length may be known a moment before the outbox that a job is ready. */
    expect_job_at(B, "delays", soon);
    EVENTUALLY(jobs_in_database("brief") == 0);
    app(conn, "commit");
    EVENTUALLY(all_have("delays", 1));
    expect_job_at(C, "delays", late);
    EVENTUALLY(all_have("delays", 0));
    PQfinish(conn);
}

static bool all_have_dead(const char *queue, const char *dead) {
    for (int i = 0; i < 3; i++)
        if (strcmp(queue_field(at[i], queue, "dead"), dead) != 0)
            return false;
    return true;
}

/* SQL takes the jobs and puts them back. The inheriting server moves them to the dead letters. Servers are told of each
 * end. */
static void test_attempts(void **state) {
    const char *id = once("select pgdisque.add_job('tries', 'x', retry => 60, attempts => 2, backoff => 4)");

    (void)state;
    assert_string_equal(once("select id from pgdisque.get_jobs('tries')"), id);
    once(text_of("select pgdisque.nack_jobs(array['%s'], error => 'first')", id));
    assert_string_equal(once("select state from pgdisque.jobs where queue = 'tries'"), "delayed");
    EVENTUALLY(all_have("tries", 1));
    assert_string_equal(once("select id from pgdisque.get_jobs('tries')"), id);
    once(text_of("select pgdisque.nack_jobs(array['%s'], error => 'last')", id));
    EVENTUALLY(strcmp(once("select error from pgdisque.dead where queue = 'tries' and deliveries = 2"),
                      "last") == 0);
    EVENTUALLY(all_have_dead("tries", "1") && all_have("tries", 0));
    assert_string_equal(once(text_of("select pgdisque.ack_jobs(array['%s'])", id)), "1");
    EVENTUALLY(all_have_dead("tries", "0"));
    /* This job is neither put back nor acknowledged. */
    once("select pgdisque.add_job('tries', 'y', retry => 1, attempts => 1, deadqueue => 'graves')");
    once("select count(*) from pgdisque.get_jobs('tries')");
    EVENTUALLY(all_have("graves", 1) && all_have("tries", 0) && all_agree("tries"));
}

/* The caller dies before it calls wake(). The queue is new, or it is known and empty. */
/* A new queue is found within seconds, and jobs in one that was known as empty within a minute or two. */
static void test_jobs_without_a_wake_are_found(void **state) {
    struct wire w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *id = once("select pgdisque.add_jobs('forgotten', array['x'], wake => false)");
        struct value *v;
        char *text;

        wait_at(B, &w, "forgotten");
        v = wire_reply(&w, patience(i == 0 ? EVENTUALLY_MS : 150000));
        assert_non_null(v);
        text = value_text(v);
        assert_string_equal(text, text_of("[[\"forgotten\" \"%s\" \"x\"]]", id));
        free(text);
        value_free(v);
        wire_close(&w);
        expect(at[A], ":1", text_of("ACKJOB %s", id));
        EVENTUALLY(all_have("forgotten", 0));
    }
}

static void test_without_a_wake(void **state) {
    struct wire w;
    const char *id;

    (void)state;
    wait_at(A, &w, "unwoken");
    id = once("select pgdisque.add_job('unwoken', 'x', wake => false)");
    once("select pgdisque.wake(array['unwoken'])");
    expect_job(&w, "unwoken", id, "x");
    EVENTUALLY(all_have("unwoken", 0) && all_agree("unwoken"));
    wire_close(&w);
}

/* Rows that were written by hand, with numbers that no command makes, end no server. */
static void test_garbage_rows_abort_nothing(void **state) {
    (void)state;
    once("select pgdisque.add_job('garbage', 'good')");
    EVENTUALLY(strstr(ask(at[A], "GETJOB NOHANG FROM garbage"), "good") != NULL);
    once("insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, rank, body) select n << 22, "
         "now(), "
         "now() + interval '1 hour', q.id, 60, r, 'bad' from pgdisque.queue as q, "
         "unnest(array[1, 5, -256, -32768, 32767]) with ordinality as x (r, n) where q.name = 'garbage'");
    once("select pgdisque.wake(array['garbage'])");
    EVENTUALLY(strstr(ask(at[A], "GETJOB NOHANG COUNT 9 FROM garbage"), "bad") != NULL);
    expect(at[A], "+PONG", "PING");
    once("insert into pgdisque.schedule (next_at, retry, ttl, delay, priority, missed, cron, name, queue, "
         "body) "
         "values (now() - interval '1 day', 1, 60, 0, 900, 77, '* * * * *', 'bad', 'garbage', 'x')");
    EVENTUALLY(strstr(ask(at[B], "SCHEDULES"), "unknown") != NULL);
    expect(at[A], "+PONG", "PING");
    once("select pgdisque.unschedule('bad')");
    expect(at[B], "+PONG", "PING");
    once("delete from pgdisque.job where body in ('bad', 'x', 'good')");
}

/* Changes of queues by SQL are in force at all servers. */
static void test_servers_hear_of_queues(void **state) {
    struct wire w;
    const char *id;

    (void)state;
    once("select pgdisque.pause('ruled', 'in')");
    EVENTUALLY(strncmp(ask(at[B], "ADDJOB ruled x 0"), "-PAUSED", 7) == 0);
    once("select pgdisque.pause('ruled', 'none')");
    EVENTUALLY(ask(at[B], "ADDJOB ruled x 0")[0] != '-');
    once("select pgdisque.qconfig('ruled', 'retry', '77')");
    EVENTUALLY(strstr(ask(at[C], "QCONFIG ruled GET retry"), "\"77\"") != NULL);
    once("select pgdisque.qconfig_reset('ruled')");
    EVENTUALLY(strstr(ask(at[C], "QCONFIG ruled GET retry"), "\"77\"") == NULL);
    once("select pgdisque.ack_jobs(array(select id from pgdisque.jobs where queue = 'ruled'))");
    id = once("select pgdisque.add_job('ruled', 'one', unique_key => 'k')");
    assert_non_null(strstr(ask(at[A], "ADDJOB ruled two 0 UNIQUE k"), id));
    once("insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, "
         "additional_deliveries, "
         "attempts, rank, replicate, body) select 1 << 22, now(), now() + interval '1 hour', id, 60, 0, 3, "
         "0, 2, 3, "
         "-9, 1, 'dead' from pgdisque.queue where name = 'ruled'");
    once("select pgdisque.revive('ruled')");
    raw_open_on(&w, group_size[A]);
    wire_words(&w, "GETJOB", "COUNT", "1", "FROM", "ruled", NULL);
    EVENTUALLY(wire_pending(&w) > 0);
    wire_close(&w);
    once("select new_id from pgdisque.reprioritize(array(select id from pgdisque.jobs where body = 'one'), "
         "3)");
    EVENTUALLY(strstr(ask(at[A], "GETJOB NOHANG FROM ruled"), "\"one\"") != NULL);
}

/* ---- taking ---- */

/* All servers count the same, at any server that a command is sent to. */
static void test_everybody_counts_the_same(void **state) {
    const char *ids[4];

    (void)state;
    for (int i = 0; i < 3; i++)
        ids[i] = add_job(at[i], "count", "x", "RETRY 60");
    ids[3] = once("select pgdisque.add_job('count', 'x', retry => 60)");
    EVENTUALLY(counts_are("count", "4", "4", "0"));
    once("select count(*) from pgdisque.get_jobs('count', 3)");
    EVENTUALLY(counts_are("count", "1", "4", "3"));
    expect(at[B], ":1", "NACK %s", ids[0]);
    EVENTUALLY(counts_are("count", "2", "5", "3"));
    once(text_of("select pgdisque.nack_jobs(array['%s', '%s'])", ids[1], ids[3]));
    EVENTUALLY(counts_are("count", "3", "6", "3"));
    once(text_of("select pgdisque.working(array['%s', '%s'])", ids[0], ids[2]));
    EVENTUALLY(counts_are("count", "2", "6", "3"));
    once(text_of("select pgdisque.ack_jobs(array['%s', '%s'])", ids[0], ids[1]));
    EVENTUALLY(counts_are("count", "1", "6", "3"));
    assert_int_equal(jobs_in_database("count"), 2);
    expect(at[C], ":2", "ACKJOB %s %s", ids[2], ids[3]);
    EVENTUALLY(counts_are("count", "0", "6", "3") && all_agree("count"));
}

/* Servers estimate the database's clock. The job may be due for them some milliseconds earlier than for SQL. */
static bool sql_takes(const char *queue, const char *id) {
    return strcmp(once(text_of("select id from pgdisque.get_jobs('%s')", queue)), id) == 0;
}

/* A server ends a lease that SQL began, and SQL ends a lease of a server. */
static void test_leases_change_hands(void **state) {
    const char *id = add_job(at[B], "hands", "x", "RETRY 3");

    (void)state;
    get_job(at[B], "hands", "x");
    assert_string_equal(once(text_of("select pgdisque.working(array['%s'])", id)), "1");
    EVENTUALLY(all_have("hands", 1));
    EVENTUALLY(sql_takes("hands", id));
    EVENTUALLY(counts_are("hands", "1", "3", "2"));
    assert_string_equal(get_job(at[C], "hands", "x"), id);
    EVENTUALLY(all_have("hands", 1) && all_agree("hands"));
    assert_string_equal(once(text_of("select pgdisque.ack_jobs(array['%s'])", id)), "1");
    expect(at[A], ":0", "ACKJOB %s", id);
    EVENTUALLY(all_have("hands", 0) && all_agree("hands"));
}

/* Any server may watch the lease. It dies, and another one watches the lease. */
static void test_a_lease_outlives_servers(void **state) {
    const char *id;

    (void)state;
    id = once("select pgdisque.add_job('outlives', 'x', retry => 3)");
    assert_string_equal(once("select id from pgdisque.get_jobs('outlives')"), id);
    EVENTUALLY(counts_are("outlives", "0", "1", "1"));
    server_kill(group_size[A]);
    EVENTUALLY(number(at[C], "QLEN outlives") == 1);
    assert_string_equal(get_job(at[C], "outlives", "x"), id);
    server_resume(group_size[A]);
}

/* ---- exactly once ---- */

static const char take_and_work[] =
    "with job as (select * from pgdisque.get_jobs('exactly')), "
    "work as (insert into done (body) select convert_from(body, 'UTF8') from job) "
    "select pgdisque.ack_jobs(array(select id from job))";

/* The work and its acknowledgement share a transaction. The test kills sessions in the middle of it. */
static void test_exactly_once(void **state) {
    PGconn *conn = app_open();

    (void)state;
    app(conn, "create table if not exists done (body text)");
    app(conn, "select count(*) from pgdisque.add_jobs('exactly', array['1', '2', '3', '4', '5'])");
    for (int i = 0; i < 3; i++) {
        PGconn *victim = app_open();

        app(victim, "begin");
        assert_string_equal(app(victim, take_and_work), "1");
        if (i < 2)
            assert_string_equal(app(conn, text_of("select pg_terminate_backend(%d)", PQbackendPID(victim))),
                                "t");
        else
            app(victim, "rollback");
        PQfinish(victim);
    }
    EVENTUALLY(atoi(app(conn, take_and_work)) == 0 && atoi(app(conn, "select count(*) from done")) == 5);
    assert_string_equal(app(conn, "select string_agg(body, ' ' order by body) from done"), "1 2 3 4 5");
    assert_int_equal(jobs_in_database("exactly"), 0);
    EVENTUALLY(counts_are("exactly", "0", "5", "5"));
    PQfinish(conn);
}

/* Clients get the jobs that SQL took in a transaction that was rolled back. */
static void test_rolled_back_to_clients(void **state) {
    PGconn *conn = app_open();
    struct wire w;
    const char *id;

    (void)state;
    id = once("select pgdisque.add_job('back', 'x')");
    EVENTUALLY(all_have("back", 1));
    app(conn, "begin");
    app(conn, "select id from pgdisque.get_jobs('back')");
    wait_at(B, &w, "back");
    app(conn, "rollback");
    once("select pgdisque.wake(array['back'])");
    expect_job(&w, "back", id, "x");
    wire_close(&w);
    PQfinish(conn);
}

/* ---- workers ---- */

static void test_workers_and_their_jobs(void **state) {
    const char *id = add_job(at[B], "who", "x", "RETRY 60"), *other;

    (void)state;
    get_job(at[B], "who", "x");
    other = once("select pgdisque.add_job('who', 'y')");
    once("select id from pgdisque.get_jobs('who', 1, 'me')");
    assert_string_equal(once(text_of("select n.id || ' ' || w.jobs from pgdisque.workers as w "
                                     "join pgdisque.nodes as n on n.number = w.node where queue = 'who'")),
                        text_of("%s 1", node_id(at[B])));
    assert_string_equal(once("select worker from pgdisque.workers where queue = 'who' and node = 0"), "me");
    assert_in_range(atoi(once(text_of("select pgdisque.release_node(n.number) from pgdisque.nodes as n "
                                      "where n.id = '%s'",
                                      node_id(at[B])))),
                    1, 100);
    expect_job_at(C, "who", id);
    assert_string_equal(once("select pgdisque.release_worker('me')"), "1");
    expect_job_at(A, "who", other);
    EVENTUALLY(all_have("who", 0) && all_agree("who"));
}

/* ---- a server with the least rights ---- */

static void test_a_server_that_is_no_owner(void **state) {
    struct server guest = { 0 };
    redisContext *c;

    (void)state;
    once("do $$ begin create role guest login in role pgdisque_server; exception when duplicate_object then "
         "null; "
         "end $$");
    server_start(&guest, text_of("%s user=guest", server.database), NULL);
    c = client_open_on(&guest);
    expect(c, ":1", "ACKJOB %s", add_job(c, "guest", "x", ""));
    expect(c, "+in", "PAUSE guest in");
    expect(c, "+none", "PAUSE guest none");
    once("select pgdisque.add_job('guest2', 'x')");
    EVENTUALLY(number(c, "QLEN guest2") == 1);
    get_job(c, "guest2", "x");
    redisFree(c);
    assert_int_equal(server_stop(&guest), 0);
}

/* The servers release the next job of a group after the commit that added it, or that acknowledged the job before it.
 */
static void test_groups(void **state) {
    PGconn *conn = app_open();
    struct wire w;
    const char *first, *second;

    (void)state;
    wait_at(B, &w, "groups");
    first = once("select pgdisque.add_job('groups', '1', retry => 60, group_key => 'g')");
    expect_job(&w, "groups", first, "1");
    wire_close(&w);
    second = once("select pgdisque.add_job('groups', '2', retry => 60, group_key => 'g')");
    add_job(at[A], "groups", "3", "RETRY 60 GROUP g");
    wait_at(C, &w, "groups");
    app(conn, "begin");
    assert_string_equal(app(conn, text_of("select pgdisque.ack_jobs(array['%s'])", first)), "1");
    assert_true(queue_is_empty(at[A], "groups"));
    app(conn, "commit");
    expect_job(&w, "groups", second, "2");
    wire_close(&w);
    expect(at[A], ":1", "ACKJOB %s", second);
    EVENTUALLY(strcmp(once("select count(*) from pgdisque.ack_jobs(array(select id from "
                           "pgdisque.get_jobs('groups'))) as n where n > 0"),
                      "1") == 0);
    EVENTUALLY(all_have("groups", 0));
    PQfinish(conn);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_waiting_client_gets_it),
        TEST(test_with_the_callers_transaction),
        TEST(test_a_new_queue_in_a_long_transaction),
        TEST(test_committed_late),
        TEST(test_delays_and_ttls),
        TEST(test_attempts),
        TEST(test_jobs_without_a_wake_are_found),
        TEST(test_without_a_wake),
        TEST(test_servers_hear_of_queues),
        TEST(test_garbage_rows_abort_nothing),
        TEST(test_everybody_counts_the_same),
        TEST(test_leases_change_hands),
        TEST(test_a_lease_outlives_servers),
        TEST(test_exactly_once),
        TEST(test_rolled_back_to_clients),
        TEST(test_workers_and_their_jobs),
        TEST(test_groups),
        TEST(test_a_server_that_is_no_owner),
    };

    return RUN_SUITE("sql", tests);
}
