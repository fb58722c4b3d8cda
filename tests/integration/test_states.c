/* The numbers of jobs in each state: all servers give those of the database, after every change of a state. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* The view and QSTAT have the same names, but for the queued jobs. */
static const char *of_database(const char *queue) {
    char *text = postgres_query(
        server.database,
        text_of("select format('len=%%s delayed=%%s active=%%s waiting=%%s dead=%%s', s.queued, s.delayed, "
                "s.active, s.waiting, s.dead) from pgdisque.queue_stats as s where s.queue = '%s'",
                queue));
    const char *copy = text_of("%s", text);

    free(text);
    return copy;
}

static const char *of_server(int n, const char *queue) {
    return text_of("len=%s delayed=%s active=%s waiting=%s dead=%s", queue_field(at[n], queue, "len"),
                   queue_field(at[n], queue, "delayed"), queue_field(at[n], queue, "active"),
                   queue_field(at[n], queue, "waiting"), queue_field(at[n], queue, "dead"));
}

static bool are_right(const char *queue, const char *want) {
    if (strcmp(of_database(queue), want) != 0)
        return false;
    for (int i = 0; i < SERVERS; i++)
        if (strcmp(of_server(i, queue), want) != 0)
            return false;
    return true;
}

#define ARE(queue, want) EVENTUALLY(are_right(queue, want))

/* The order of jobs of several servers is that of their clocks. */
static void take_one(int n, const char *queue) {
    assert_string_not_equal(ask(at[n], "GETJOB TIMEOUT %d FROM %s", (int)patience(EVENTUALLY_MS), queue),
                            "nil");
}

static void test_each_change_of_a_state(void **state) {
    const char *a, *b, *g, *h;

    (void)state;
    a = add_job(at[A], "st", "a", "DELAY 1000 RETRY 500");
    b = add_job(at[B], "st", "b", "RETRY 500 ATTEMPTS 1");
    g = add_job(at[A], "st", "g", "GROUP x RETRY 500");
    h = add_job(at[A], "st", "h", "GROUP x RETRY 500");
    ARE("st", "len=2 delayed=1 active=0 waiting=1 dead=0");
    take_one(B, "st");
    take_one(C, "st");
    ARE("st", "len=0 delayed=1 active=2 waiting=1 dead=0");
    expect(at[A], ":1", "NACK %s", b);
    expect(at[B], ":1", "NACK DELAY 900 %s", g);
    ARE("st", "len=0 delayed=2 active=0 waiting=1 dead=1");
    expect(at[C], ":500", "WORKING %s", g);
    expect(at[A], ":1", "ENQUEUE %s", a);
    ARE("st", "len=1 delayed=0 active=1 waiting=1 dead=1");
    expect(at[B], ":1", "ACKJOB %s", g);
    ARE("st", "len=2 delayed=0 active=0 waiting=0 dead=1");
    take_one(A, "st");
    take_one(A, "st");
    expect(at[C], ":3", "DELJOB %s %s %s", a, b, h);
    ARE("st", "len=0 delayed=0 active=0 waiting=0 dead=0");
}

static void test_changes_by_sql(void **state) {
    (void)state;
    add_job(at[A], "bysql", "x", "");
    database_run("select pgdisque.add_job('bysql', 'd', delay => 1000)");
    database_run("select pgdisque.add_job('bysql', 'g', group_key => 'g')");
    database_run("select pgdisque.add_job('bysql', 'h', group_key => 'g')");
    ARE("bysql", "len=2 delayed=1 active=0 waiting=1 dead=0");
    database_run("select * from pgdisque.get_jobs('bysql', 2)");
    ARE("bysql", "len=0 delayed=1 active=2 waiting=1 dead=0");
    database_run("select pgdisque.nack_jobs(array_agg(j.id), delay => 1000) from pgdisque.jobs as j "
                 "where j.queue = 'bysql' and j.state = 'active' and convert_from(j.body, 'UTF8') = 'x'");
    ARE("bysql", "len=0 delayed=2 active=1 waiting=1 dead=0");
    database_run("select pgdisque.working(array_agg(j.id)) from pgdisque.jobs as j "
                 "where j.queue = 'bysql' and j.state = 'delayed'");
    ARE("bysql", "len=0 delayed=0 active=3 waiting=1 dead=0");
    database_run("select pgdisque.ack_jobs(array_agg(j.id)) from pgdisque.jobs as j where j.queue = 'bysql'");
    ARE("bysql", "len=0 delayed=0 active=0 waiting=0 dead=0");
}

/* The end of a delay and of a lease, and the expiry of jobs in each state. */
static void test_changes_by_time(void **state) {
    (void)state;
    add_job(at[A], "time", "a", "DELAY 1 RETRY 1");
    ARE("time", "len=1 delayed=0 active=0 waiting=0 dead=0");
    (void)get_job(at[B], "time", "a");
    ARE("time", "len=1 delayed=0 active=0 waiting=0 dead=0");
    add_job(at[B], "time2", "b", "DELAY 4 TTL 5");
    add_job(at[C], "time2", "c", "GROUP g TTL 5 RETRY 0");
    add_job(at[A], "time2", "d", "GROUP g TTL 5 RETRY 0");
    (void)ask(at[C], "GETJOB FROM time2");
    EVENTUALLY(jobs_in_database("time2") == 0);
    EVENTUALLY(strcmp(of_server(A, "time2"), "len=0 delayed=0 active=0 waiting=0 dead=0") == 0);
    EVENTUALLY(strcmp(of_server(B, "time2"), "len=0 delayed=0 active=0 waiting=0 dead=0") == 0);
}

/* A server that starts reads the numbers, and a server that ends takes none away. */
static void test_a_server_restarts(void **state) {
    (void)state;
    add_job(at[B], "again", "a", "DELAY 1000");
    add_job(at[B], "again", "b", "");
    expect_job_at(B, "again", "b\"");
    add_job(at[B], "again", "g", "GROUP g");
    add_job(at[B], "again", "h", "GROUP g");
    ARE("again", "len=1 delayed=1 active=1 waiting=1 dead=0");
    server_kill(group_size[B]);
    servers_teardown(NULL);
    servers_setup(NULL);
    ARE("again", "len=1 delayed=1 active=1 waiting=1 dead=0");
}

/* The job waits for 200 ms at least, and is delivered by B, which alone has a latency. */
static void test_latency(void **state) {
    const char *id = add_job(at[A], "late", "x", "");
    long long ms;

    (void)state;
    expect(at[A], "nil", "GETJOB TIMEOUT 200 FROM late_other");
    expect_job_at(B, "late", id);
    ms = atoll(queue_field(at[B], "late", "latency-p50-ms"));
    assert_true(ms >= 180);
    assert_int_equal(atoll(queue_field(at[B], "late", "latency-p99-ms")), ms);
    assert_true(info_number(at[B], "latency_p99_ms") >= ms);
    assert_string_equal(queue_field(at[A], "late", "latency-p50-ms"), "nil");
    assert_int_equal(number(at[C], "QLEN late ACTIVE QUEUED"), 1);
}

static bool all_have_after(const char *queue, const char *want) {
    for (int i = 0; i < SERVERS; i++)
        if (strcmp(queue_field(at[i], queue, "after"), want) != 0)
            return false;
    return true;
}

/* The jobs fill several pages of a count, and a page has jobs of several queues. */
static void test_jobs_that_wait_for_predecessors(void **state) {
    static const char *const queues[] = { "after1", "after2", "after3" };

    (void)state;
    for (int i = 0; i < SERVERS; i++)
        add_job(at[i], queues[i], "x", "");
    database_run(
        "insert into pgdisque.waiting_job (id, queue_id, pending, expires_at, retry, delay, rank, replicate, "
        "body) select q.id * 100000 + n, q.id, 1, now() + interval '1 day', 60, 0, 0, 1, '' "
        "from pgdisque.queue as q, generate_series(1, 21000) as n where convert_from(q.name, 'UTF8') ~ "
        "'^after'");
    EVENTUALLY(all_have_after("after1", "21000"));
    EVENTUALLY(all_have_after("after2", "21000"));
    EVENTUALLY(all_have_after("after3", "21000"));
    EVENTUALLY(info_number(at[B], "after_jobs") == 63000);
    database_run(
        "delete from pgdisque.waiting_job where queue_id = (select id from pgdisque.queue where name = "
        "'after2')");
    EVENTUALLY(all_have_after("after2", "0"));
    EVENTUALLY(info_number(at[C], "after_jobs") == 42000);
    assert_true(all_have_after("after1", "21000") && all_have_after("after3", "21000"));
    database_run("delete from pgdisque.waiting_job");
    EVENTUALLY(all_have_after("after1", "0"));
    EVENTUALLY(info_number(at[A], "after_jobs") == 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_change_of_a_state),
        TEST(test_changes_by_sql),
        TEST(test_changes_by_time),
        TEST(test_a_server_restarts),
        TEST(test_latency),
        TEST(test_jobs_that_wait_for_predecessors),
    };

    return RUN_SUITE("states", tests);
}
