/* Ends of delays and of times to live at three servers: each once, beside locks, changes and lost sessions. */
#include "servers.h"

#include <stdlib.h>
#include <libpq-fe.h>

enum { A, B, C };

/* More than a search finds at once. */
#define MANY 1500
#define FEW 300
#define KILLS 10

static PGconn *other;

static void run_sql(const char *sql) {
    PGresult *res = PQexec(other, sql);

    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(other));
    PQclear(res);
}

static int expire_setup(void **state) {
    other = postgres_connect(server.database);
    return servers_setup(state);
}

static int expire_teardown(void **state) {
    PQfinish(other);
    return servers_teardown(state);
}

static void add_many(int n, const char *queue, int count, const char *options) {
    const char *words = text_of("ADDJOB %s %%d 0 %s", queue, options);

    for (int i = 0; i < count; i++)
        later(at[n], words, i);
    for (int i = 0; i < count; i++)
        assert_string_equal(text_of("%.3s", next_reply(at[n])), "+D-");
}

static long long queued(const char *queue) {
    return number(at[A], "QLEN %s", queue);
}

/* Each job is queued once, for all servers, and stays so. */
static void expect_queued(const char *queue, int count) {
    EVENTUALLY(all_have(queue, count) && all_agree(queue));
    HOLDS_FOR(500, all_have(queue, count));
    for (int i = 0; i < count; i++)
        expect_start(at[i % SERVERS], text_of("[[\"%s\"", queue), "GETJOB TIMEOUT 60000 FROM %s", queue);
    EVENTUALLY(all_have(queue, 0));
    assert_true(queue_is_empty(at[A], queue));
}

/* ---- without disturbance ---- */

/* A search finds some of the jobs. */
static void test_delays_end(void **state) {
    static const char *const queues[] = { "first", "second", "third" };

    (void)state;
    for (int i = 0; i < 3; i++)
        add_many(A, queues[i], MANY, text_of("DELAY %d", i + 1));
    for (int i = 0; i < 3; i++)
        EVENTUALLY(all_have(queues[i], MANY) && all_agree(queues[i]));
}

static void test_times_to_live_end(void **state) {
    (void)state;
    add_job(at[A], "ttl", "stays", "TTL 3600");
    add_many(B, "ttl", MANY, "TTL 1");
    add_many(C, "ttl", FEW, "TTL 2 DELAY 1");
    EVENTUALLY(jobs_in_database("ttl") == 1);
    EVENTUALLY(all_have("ttl", 1) && all_agree("ttl"));
    get_job(at[A], "ttl", "stays");
}

/* Three servers search for the same rows. */
static void test_each_is_woken_once(void **state) {
    (void)state;
    add_many(A, "once", FEW, "DELAY 1");
    add_many(B, "once", FEW, "DELAY 1");
    add_many(C, "once", FEW, "DELAY 1");
    expect_queued("once", SERVERS * FEW);
}

/* ---- other sessions ---- */

/* Locks the only job of the queue, which is still delayed. */
static void lock_job(const char *queue) {
    PGresult *res;

    run_sql("begin");
    res = PQexec(other, text_of("select from pgdisque.job as j join pgdisque.queue as q on q.id = j.queue_id "
                                "where q.name = '%s' and j.wake_at = j.ready_at for update of j",
                                queue));
    if (PQntuples(res) != 1)
        fail_msg("%s: no delayed job: %s", queue, PQerrorMessage(other));
    PQclear(res);
}

/* The job is due, and the jobs that were added later are queued. */
static void pass_locked_job(const char *queue, const char *beside) {
    lock_job(queue);
    add_many(A, beside, FEW, "DELAY 5");
    EVENTUALLY(queued(beside) == FEW);
    HOLDS_FOR(500, queued(queue) == 0);
}

/* Changes the row that is locked. */
static void change_job(const char *queue, const char *change) {
    run_sql(text_of(
        "update pgdisque.job set %s where queue_id = (select id from pgdisque.queue where name = '%s')",
        change, queue));
}

static void test_locked_jobs_are_woken_later(void **state) {
    (void)state;
    add_job(at[A], "locked", "x", "DELAY 5");
    pass_locked_job("locked", "beside");
    add_many(A, "beside", FEW, "DELAY 1");
    EVENTUALLY(queued("beside") == 2 * FEW);
    run_sql("rollback");
    expect_queued("locked", 1);
}

static void test_longer_delay(void **state) {
    const char *id = add_job(at[A], "longer", "x", "DELAY 5");

    (void)state;
    pass_locked_job("longer", "beside_longer");
    change_job("longer", "ready_at = now() + interval '1 hour', wake_at = now() + interval '1 hour'");
    run_sql("commit");
    HOLDS_FOR(1000, queued("longer") == 0);
    expect(at[A], ":1", "ENQUEUE %s", id);
    expect_queued("longer", 1);
}

/* The delay of the job and its time to live have both ended. */
static void test_shorter_life(void **state) {
    const char *id = add_job(at[A], "shorter", "x", "DELAY 5");

    (void)state;
    pass_locked_job("shorter", "beside_shorter");
    change_job("shorter", "expires_at = now()");
    run_sql("commit");
    EVENTUALLY(jobs_in_database("shorter") == 0);
    assert_string_equal(job_field(at[B], id, "state"), "gone");
    EVENTUALLY(all_have("shorter", 0) && all_agree("shorter"));
}

static long long other_number(const char *sql) {
    PGresult *res = PQexec(other, sql);
    long long count;

    if (PQntuples(res) != 1)
        fail_msg("%s: %s", sql, PQerrorMessage(other));
    count = atoll(PQgetvalue(res, 0, 0));
    PQclear(res);
    return count;
}

/* The delays end while searches wait for the table. */
static void test_table_locked(void **state) {
    (void)state;
    add_many(A, "table", FEW, "DELAY 2");
    run_sql("begin");
    run_sql("lock table pgdisque.job in access exclusive mode");
    EVENTUALLY(
        other_number("select count(*) from pgdisque.job as j join pgdisque.queue as q on q.id = j.queue_id "
                     "where q.name = 'table' and j.ready_at > clock_timestamp()") == 0);
    EVENTUALLY(other_number("select count(*) from pg_locks where not granted and relation = "
                            "'pgdisque.job'::regclass") > 0);
    for (int i = 0; i < SERVERS; i++)
        expect(at[i], "+PONG", "PING");
    run_sql("rollback");
    expect_queued("table", FEW);
}

/* ---- pauses ---- */

static long long ends_at(const char *queue) {
    return postgres_number(server.database,
                           text_of("select extract(epoch from max(j.ready_at)) * 1000 from pgdisque.job as j "
                                   "join pgdisque.queue as q on q.id = j.queue_id where q.name = '%s'",
                                   queue));
}

/* A job of a queue that is paused in is delayed again, by its retry time. */
static void test_paused_in(void **state) {
    long long end;

    (void)state;
    add_job(at[A], "paused", "x", "DELAY 5 RETRY 1");
    end = ends_at("paused");
    expect(at[A], "+in", "PAUSE paused in");
    EVENTUALLY(ends_at("paused") > end);
    HOLDS_FOR(1500, queued("paused") == 0);
    expect(at[A], "+none", "PAUSE paused none");
    expect_queued("paused", 1);
}

/* ---- lost sessions ---- */

/* Terminates such sessions again and again while delays end. Then each job is queued once. */
static void end_sessions(const char *kind, const char *queue) {
    for (int i = 0; i < SERVERS; i++)
        add_many(i, queue, FEW, text_of("DELAY %d", 1 + i));
    for (int i = 0; i < KILLS; i++)
        EVENTUALLY(sessions_end(kind) > 0);
    EVENTUALLY(all_have(queue, SERVERS * FEW));
    HOLDS_FOR(500, all_have(queue, SERVERS * FEW));
}

static void test_lost_read_sessions(void **state) {
    (void)state;
    end_sessions("read", "lost");
}

static void test_lost_write_sessions(void **state) {
    (void)state;
    end_sessions("write", "lost2");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, expire_setup, expire_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_delays_end),         TEST(test_times_to_live_end),
        TEST(test_each_is_woken_once), TEST(test_locked_jobs_are_woken_later),
        TEST(test_longer_delay),       TEST(test_shorter_life),
        TEST(test_table_locked),       TEST(test_paused_in),
        TEST(test_lost_read_sessions), TEST(test_lost_write_sessions),
    };

    return RUN_SUITE("expire", tests);
}
