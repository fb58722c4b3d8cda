/* Which table a finished job goes to, and when that is emptied. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES 7
#define SLOTS 4
#define SHORTEST 10 /* seconds: the most that the first class keeps */
#define MOST 2592000
/* 2030-01-01 12:00. */
#define NOON 1893499200LL

static PGconn *a, *b;

static int class_of(long long retention) {
    int class = 0;

    for (long long most = SHORTEST; retention > most; most *= 8)
        class ++;
    return class;
}

/* A table gets the jobs whose retention ends within so many seconds. */
static long long width_of(int class) {
    return (SHORTEST / 2) << 3 * class;
}

/* In tenths of a second, as are all times here. */
static const char *at(long long tenths) {
    return text_of("to_timestamp(%lld.%lld)", tenths / 10, tenths % 10);
}

/* Finishes a job then; the number of the table that it went to. */
static int finish(long long retention, long long tenths) {
    tables_clear(a);
    jobs_put(a, "1/0/1 expires=infinity");
    sql(a, "execute retain_jobs ('{1}', '{0}', '{1}', '{0}', '{%lld}', '{w}', '{null}', %s, 1)", retention,
        at(tenths));
    return atoi(sql(a, "select bucket from pgdisque.retained"));
}

static bool is_over(int bucket, long long tenths) {
    const char *over = sql(a, "execute expired_retained (%s)", at(tenths));

    return strstr(text_of("; %s;", over), text_of("; %d;", bucket)) != NULL;
}

/* Never as long as the job is to be kept, and then soon, for as long as it takes to fill another table. */
static void check_life(long long retention, long long tenths) {
    int bucket = finish(retention, tenths), class = class_of(retention);
    long long until = tenths + 10 * retention, width = 10 * width_of(class),
              end = (until / width + 1) * width;

    assert_int_equal(bucket, class * SLOTS + until / width % SLOTS);
    for (int i = 0; i <= 16; i++)
        if (is_over(bucket, tenths + (until - tenths) * i / 16))
            fail_msg("kept for %lld s from %s: %d of 16 later it is over", retention, at(tenths), i);
    for (long long t = until; t < end; t += (end - until) / 4 + 1)
        assert_false(is_over(bucket, t));
    assert_true(is_over(bucket, end));
    assert_true(is_over(bucket, end + width - 1));
    assert_false(is_over(bucket, end + width));
}

static void every_job_has_its_time(void **state) {
    long long most = SHORTEST;

    (void)state;
    for (int class = 0; class < CLASSES; class ++, most *= 8) {
        for (int i = 0; i < 9; i++) {
            long long tenths = 10 * NOON + i * width_of(class) * 10 * SLOTS / 8 + i - 4;

            check_life(most < MOST ? most : MOST, tenths);
            check_life(class == 0 ? 1 : most / 8 + 1, tenths);
        }
    }
}

/* A class keeps jobs for the time of two tables. The third table is filled, and the fourth is emptied in that time. */
static void the_longest_retention_fits(void **state) {
    (void)state;
    assert_int_equal(class_of(MOST), CLASSES - 1);
    assert_true(MOST <= 2 * width_of(CLASSES - 1));
}

/* ack_jobs() for applications goes by the same rule as the servers. */
static void sql_goes_by_the_same_rule(void **state) {
    (void)state;
    for (long long most = SHORTEST; most < 8 * MOST; most *= 8) {
        long long retention = most < MOST ? most : MOST;

        tables_clear(a);
        jobs_put(a, "1/0/1 expires=infinity");
        sql(a, "insert into pgdisque.queue_setting values (1, 'retention', '%lld')", retention);
        assert_string_equal(sql(a, "select pgdisque.ack_jobs(array[pgdisque.api_id(pgdisque.api_secret(), "
                                   "null, 1, 0::smallint, 1, "
                                   "now(), 1)])"),
                            "1");
        assert_string_equal(
            sql(a,
                "select bucket = %d + floor(extract(epoch from keep_until) / %lld)::bigint %% 4, "
                "extract(epoch from keep_until - finished_at)::bigint from pgdisque.retained",
                class_of(retention) * SLOTS, width_of(class_of(retention))),
            text_of("t %lld", retention));
    }
}

/* ---- emptying ---- */

static const char *full_tables(void) {
    return sql(a,
               "select string_agg(b::text, ' ' order by b) from generate_series(0, %d) as b "
               "where pg_relation_size(('pgdisque.retained_' || b)::regclass) > 0",
               CLASSES * SLOTS - 1);
}

static void fill_all(void) {
    tables_clear(a);
    sql(a,
        "insert into pgdisque.retained select 1, now(), now(), now(), 1, 60, 0, 1, 0, 0, 0, 1, b, 7, 'w', "
        "null, "
        "null, 'x' from generate_series(0, %d) as b",
        CLASSES * SLOTS - 1);
}

/* The statement empties the expired tables and no others. The test repeats if another table expires in between. */
static void only_expired_tables_are_emptied(void **state) {
    const char *over, *empty;

    (void)state;
    do {
        fill_all();
        over = sql(a, "execute expired_retained (clock_timestamp())");
        assert_string_not_equal(over, "");
        assert_string_equal(CALL(a, SQL_EMPTY_RETAINED, NULL), "");
        empty = sql(a,
                    "select string_agg(b::text, '; ' order by b) from generate_series(0, %d) as b "
                    "where pg_relation_size(('pgdisque.retained_' || b)::regclass) = 0",
                    CLASSES * SLOTS - 1);
    } while (strcmp(over, empty) != 0 && sql(a, "execute expired_retained (clock_timestamp())")[0] != '\0');
    assert_string_equal(over, empty);
    assert_string_equal(sql(a, "select count(*) from pgdisque.retained"),
                        text_of("%d", CLASSES * (SLOTS - 1)));
}

/* A reader waits only briefly behind the statement that empties a table. The statement gives up without an error. */
static void readers_are_left_alone(void **state) {
    const char *full;

    (void)state;
    fill_all();
    full = full_tables();
    sql(b, "begin");
    assert_string_equal(sql(b, "select count(*) from pgdisque.retained"), text_of("%d", CLASSES * SLOTS));
    sql(a, "begin");
    assert_string_equal(CALL(a, SQL_EMPTY_RETAINED, NULL), "");
    assert_string_equal(sql(a, "show lock_timeout"), "10ms");
    sql(a, "commit");
    assert_string_equal(sql(a, "show lock_timeout"), "0");
    assert_string_equal(full_tables(), full);
    sql(b, "commit");
    assert_string_equal(CALL(a, SQL_EMPTY_RETAINED, NULL), "");
    assert_string_not_equal(full_tables(), full);
}

/* Jobs finish while tables are being emptied in an open transaction. */
static void jobs_finish_without_waiting(void **state) {
    (void)state;
    fill_all();
    sql(a, "begin");
    assert_string_equal(CALL(a, SQL_EMPTY_RETAINED, NULL), "");
    for (long long most = SHORTEST; most < MOST; most *= 8) {
        jobs_put(b, text_of("1/0/%lld expires=infinity", most));
        sql(b, "set lock_timeout = '2s'");
        assert_string_equal(
            sql(b,
                "execute retain_jobs ('{1}', '{0}', '{%lld}', '{0}', '{%lld}', '{w}', '{null}', "
                "clock_timestamp(), 1)",
                most, most),
            "1 11:00:00 t - -");
        sql(b, "delete from pgdisque.job");
    }
    sql(a, "commit");
}

static int open_sessions(void **state) {
    const char *database;

    (void)state;
    if (a == NULL) {
        database = database_new();
        a = session_open(database);
        b = session_open(database);
    }
    return 0;
}

#define TEST(fn) cmocka_unit_test_setup(fn, open_sessions)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_job_has_its_time),    TEST(the_longest_retention_fits),
        TEST(sql_goes_by_the_same_rule), TEST(only_expired_tables_are_emptied),
        TEST(readers_are_left_alone),    TEST(jobs_finish_without_waiting),
    };
    int failed = run_sql_suite("finished jobs", tests, sizeof(tests) / sizeof(tests[0]));

    PQfinish(a);
    PQfinish(b);
    return failed;
}
