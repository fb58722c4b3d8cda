/* rerank_jobs.sql while another session changes the same rows. */
#include "two_sessions.h"

#include <stdio.h>

/* The first session begins. */
static void given(const char *jobs) {
    jobs_put(a, jobs);
    assert_string_equal(sql(a, "begin"), "");
}

/* The ID of the job that a claim of node 2 takes. */
static int walked(PGconn *conn) {
    int rank = 0, id = 0;

    sscanf(CALL(conn, SQL_CLAIM_SCAN, "1", "-32768", "-9223372036854775808", "1", NOW, "2", NOW), "%d %d",
           &rank, &id);
    return id;
}

#define RERANK_OF_1 "{1}", "{-5}", "{1}", "{0}", NOW

/* A claim that took the moving job for the last one before the scan position would miss jobs. */
static void a_claim_passes_by_a_moving_job(void **state) {
    (void)state;
    given("1/-5/1 wake=13:00:00; 1/-4/2 wake=13:00:00; 1/0/3");
    assert_string_equal(CALL(a, SQL_RERANK_JOBS, RERANK_OF_1), "1 t t 13:00:00 60 13:00:00");
    assert_int_equal(walked(b), 2);
    assert_string_equal(sql(a, "commit"), "");
    assert_int_equal(walked(b), 1);
    assert_string_equal(jobs_now(a), "1/-4/2 ready=12:01:00 wake=13:00:00 deliveries=1 owner=2; "
                                     "1/0/1 ready=12:01:00 wake=13:00:00 deliveries=1 owner=2; 1/0/3");
}

static void taken_jobs_are_not_moved(void **state) {
    (void)state;
    given("1/-5/1 wake=13:00:00");
    assert_int_equal(walked(a), 1);
    SEND(b, SQL_RERANK_JOBS, RERANK_OF_1);
    assert_true(waits_for_lock(b));
    assert_string_equal(sql(a, "commit"), "");
    assert_string_equal(call_result(b), "");
    assert_string_equal(jobs_now(a), "1/-5/1 ready=12:01:00 wake=13:00:00 deliveries=1 owner=2");
}

static void two_that_move_a_job(void **state) {
    (void)state;
    given("1/-5/1 wake=13:00:00");
    assert_string_equal(CALL(a, SQL_RERANK_JOBS, RERANK_OF_1), "1 t t 13:00:00 60 13:00:00");
    SEND(b, SQL_RERANK_JOBS, "{1}", "{-5}", "{1}", "{-9}", NOW);
    assert_true(waits_for_lock(b));
    assert_string_equal(sql(a, "commit"), "");
    assert_string_equal(call_result(b), "");
    assert_string_equal(CALL(b, SQL_RERANK_JOBS, RERANK_OF_1), "1 f t 13:00:00 60 13:00:00");
    assert_string_equal(jobs_now(a), "1/0/1 wake=13:00:00");
}

#define SESSIONS(test) cmocka_unit_test_setup_teardown(test, open_sessions, close_sessions)

int main(void) {
    static const struct CMUnitTest tests[] = {
        SESSIONS(a_claim_passes_by_a_moving_job),
        SESSIONS(taken_jobs_are_not_moved),
        SESSIONS(two_that_move_a_job),
    };

    return run_sql_suite("rerank_sessions", tests, sizeof(tests) / sizeof(tests[0]));
}
