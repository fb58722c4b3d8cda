/* Schedules at three servers on one database: each tick makes one job, while servers die. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* ---- looking ---- */

/* A field of the only schedule there is, in the database. */
static long long schedule_field(const char *expression) {
    return postgres_number(server.database, text_of("select %s from pgdisque.schedule", expression));
}

static long long jobs_of(const char *queue) {
    return jobs_in_database(queue);
}

/* The number of ticks that each server has fired since its start. */
static long long fired_by(int n) {
    return info_number(at[n], "schedules_fired");
}

static void end_schedule(void) {
    EVENTUALLY(strcmp(ask(at[A], "UNSCHEDULE s"), ":1") == 0);
    expect(at[A], "[]", "SCHEDULES");
}

/* The time of the first tick. Ticks that were fired before this query have moved the next one. */
static long long begin(const char *queue, const char *options) {
    const char *words = text_of("SCHEDULE s %%s %%s x %s", options);

    assert_string_equal(ask(at[A], words, "@every 1s", queue), "+OK");
    return schedule_field(
        text_of("extract(epoch from next_at)::bigint - (select count(*) from pgdisque.job as j "
                "join pgdisque.queue as q on q.id = j.queue_id where q.name = '%s')",
                queue));
}

/* Counts jobs and ticks in one query: from the first tick to the last fired one. */
static void one_job_each(const char *queue, long long first) {
    const char *query =
        text_of("select (select count(*) from pgdisque.job as j join pgdisque.queue as q "
                "        on q.id = j.queue_id where q.name = '%s') "
                "     - (extract(epoch from last_at)::bigint - %lld + 1) from pgdisque.schedule",
                queue, first);

    assert_int_equal(postgres_number(server.database, query), 0);
}

/* ---- tests ---- */

/* Clients wait where the schedule is not known by word of mouth. */
static void test_fired_once_for_all(void **state) {
    long long first, before = fired_by(A) + fired_by(B) + fired_by(C);
    struct wire w;

    (void)state;
    wait_at(C, &w, "waited");
    first = begin("waited", "MISSED all");
    EVENTUALLY(wire_pending(&w) > 0);
    EVENTUALLY(jobs_of("waited") >= 5);
    one_job_each("waited", first);
    end_schedule();
    EVENTUALLY(fired_by(A) + fired_by(B) + fired_by(C) - before == jobs_of("waited"));
    EVENTUALLY(all_agree("waited"));
    wire_close(&w);
}

/* The test kills the server that fires, again and again, at once after a tick. */
static void test_the_firing_server_is_killed(void **state) {
    long long first = begin("killed", "MISSED all");

    (void)state;
    for (int i = 0; i < 2 * SERVERS; i++) {
        int n = i % SERVERS;
        long long before = jobs_of("killed");

        server_kill(group_size[n]);
        redisFree(at[n]);
        EVENTUALLY(jobs_of("killed") > before);
        server_resume(group_size[n]);
        at[n] = client_open_on(group_size[n]);
    }
    one_job_each("killed", first);
    end_schedule();
    EVENTUALLY(all_have("killed", jobs_of("killed")));
}

/* Connections break while ticks are fired, before and after their commits. */
static void test_connections_break(void **state) {
    long long first = begin("broken", "MISSED all");

    (void)state;
    for (int i = 0; i < 20; i++) {
        sessions_end("");
        HOLDS_FOR(150, true);
    }
    EVENTUALLY(jobs_of("broken") >= 5);
    one_job_each("broken", first);
    end_schedule();
    EVENTUALLY(all_have("broken", jobs_of("broken")));
}

static void kill_all(void) {
    for (int i = 0; i < SERVERS; i++)
        server_kill(group_size[i]);
}

/* Moves the schedule into the past, as if no server had run for some seconds. */
static long long after_absence(const char *queue, const char *options, const char *cron, int seconds) {
    assert_string_equal(ask(at[A], text_of("SCHEDULE s %%s %s x %s", queue, options), cron), "+OK");
    kill_all();
    free(postgres_query(
        server.database,
        text_of("update pgdisque.schedule set next_at = date_trunc('second', now()) - interval '%d s'",
                seconds)));
    server_resume(group_size[A]);
    EVENTUALLY(schedule_field("(next_at > now())::integer") == 1);
    return jobs_of(queue);
}

static void test_missed_ticks(void **state) {
    long long all;

    (void)state;
    assert_int_equal(after_absence("once", "", "@every 1h", 7210), 1);
    servers_teardown(NULL);
    servers_setup(NULL);
    end_schedule();
    assert_int_equal(after_absence("skip", "MISSED skip", "@every 1h", 7000), 0);
    servers_teardown(NULL);
    servers_setup(NULL);
    end_schedule();
    all = after_absence("all", "MISSED all", "@every 1h", 36100);
    assert_int_equal(all, 11);
    servers_teardown(NULL);
    servers_setup(NULL);
    end_schedule();
    assert_int_equal(after_absence("most", "MISSED all", "@every 1m", 90000), 1000);
    servers_teardown(NULL);
    servers_setup(NULL);
    end_schedule();
}

/* Programs say the same at each of their starts. */
static void test_said_again(void **state) {
    long long next;

    (void)state;
    assert_string_equal(ask(at[A], "SCHEDULE s %s again x", "@every 1h"), "+OK");
    next = schedule_field("extract(epoch from next_at)::bigint");
    free(postgres_query(server.database,
                        "update pgdisque.schedule set next_at = next_at - interval '10 min'"));
    assert_string_equal(ask(at[B], "SCHEDULE s %s again y", "@every 1h"), "+OK");
    assert_int_equal(schedule_field("extract(epoch from next_at)::bigint"), next - 600);
    assert_string_equal(ask(at[B], "SCHEDULE s %s again y", "@every 61m"), "+OK");
    assert_true(schedule_field("extract(epoch from next_at)::bigint") > next);
    end_schedule();
}

/* SQL makes the row, and a server computes the first tick. */
static void test_made_by_sql(void **state) {
    struct wire w;

    (void)state;
    wait_at(C, &w, "by SQL");
    free(postgres_query(server.database,
                        "select pgdisque.schedule('s', '@every 1s', 'by SQL', 'x', missed => 'all')"));
    EVENTUALLY(wire_pending(&w) > 0);
    EVENTUALLY(schedule_field("has_tick::integer") == 1);
    EVENTUALLY(jobs_of("by SQL") >= 3);
    end_schedule();
    wire_close(&w);
}

/* The row of a schedule that SQL made while no server ran. Its ticks count from the time of the row on. */
static void test_made_by_sql_without_a_server(void **state) {
    (void)state;
    kill_all();
    free(postgres_query(server.database,
                        "select pgdisque.schedule('s', '@every 1h', 'absent', 'x', missed => 'all');"
                        "update pgdisque.schedule set next_at = next_at - interval '7210 s'"));
    server_resume(group_size[A]);
    EVENTUALLY(schedule_field("has_tick::integer") == 1);
    assert_int_equal(jobs_of("absent"), 2);
    assert_int_equal(schedule_field("(next_at > now() and next_at <= now() + interval '1h')::integer"), 1);
    servers_teardown(NULL);
    servers_setup(NULL);
    end_schedule();
    free(postgres_query(server.database, "select pgdisque.schedule('s', '@yearly', 'absent', 'x')"));
    EVENTUALLY(schedule_field("has_tick::integer") == 1);
    assert_int_equal(jobs_of("absent"), 2);
    end_schedule();
}

/* More schedules are due than one statement returns. */
static void test_many_at_once(void **state) {
    (void)state;
    for (int i = 0; i < 250; i++)
        later(at[A], "SCHEDULE many%d %s many x", i, "0 0 1 1 *");
    for (int i = 0; i < 250; i++)
        expect_next(at[A], "+OK");
    free(postgres_query(server.database, "update pgdisque.schedule set next_at = now()"));
    EVENTUALLY(strcmp(ask(at[B], "SCHEDULE s %s q x", "0 0 1 1 *"), "+OK") == 0);
    EVENTUALLY(jobs_of("many") == 250);
    EVENTUALLY(all_have("many", 250));
    for (int i = 0; i < 250; i++)
        expect(at[C], ":1", "UNSCHEDULE many%d", i);
    end_schedule();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_fired_once_for_all), TEST(test_the_firing_server_is_killed),
        TEST(test_connections_break),  TEST(test_missed_ticks),
        TEST(test_said_again),         TEST(test_many_at_once),
        TEST(test_made_by_sql),        TEST(test_made_by_sql_without_a_server),
    };

    return RUN_SUITE("schedules", tests);
}
