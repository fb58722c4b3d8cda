/* Statements about predecessors, while another session adds jobs that wait for these. */
#include "flow_cases.h"
#include "two_sessions.h"

#define OUTCOMES                                                                                      \
    "select string_agg(concat_ws(':', id, outcome, encode(result, 'escape')), ' ' order by id) from " \
    "pgdisque.flow_job"
#define FLOW_RANKS "select string_agg(id || ':' || rank, ' ' order by id) from pgdisque.flow_job"

#define AFTER_1 ADD_2("2", "0", "2"), "{1}", "{1}", "{0}", "{1}", NOW, "false"

/* The first session adds job 2, which waits for job 1, and does not commit. */
static void add_successor(const char *verdict) {
    assert_string_equal(sql(a, "begin"), "");
    assert_string_equal(CALL(a, SQL_ADD_IN_FLOW, AFTER_1), verdict);
}

static void end_adding(void) {
    assert_true(waits_for_lock(b));
    assert_string_equal(sql(a, "commit"), "");
}

/* By its old rank the predecessor would seem to have ended. */
static void a_predecessor_gets_another_rank(void **state) {
    (void)state;
    jobs_put(a, "1/0/1");
    add_successor("1 2");
    SEND(b, SQL_RERANK_JOBS, "{1}", "{0}", "{1}", "{-5}", NOW);
    end_adding();
    assert_string_equal(call_result(b), "1 t t 13:00:00 60 13:00:00");
    assert_string_equal(sql(a, FLOW_RANKS), "1:-5 2:0");
    assert_string_equal(CALL(b, SQL_STUCK_FLOWS, NOW, "0", "10"), "2 f");
}

/* The end is a failure, and no success without an outcome. */
static void a_predecessor_dies(void **state) {
    (void)state;
    jobs_put(a, "1/0/1 deliveries=2 attempts=2 error=e");
    add_successor("1 2");
    SEND(b, SQL_DEAD_LETTER_JOBS, "{1}", "{0}", "{1}", NOW);
    end_adding();
    call_result(b);
    assert_string_equal(sql(a, OUTCOMES), "1:2:e 2");
}

/* A cancelled job, too, is no success. */
static void a_predecessor_is_cancelled(void **state) {
    static const enum sql_stmt statements[] = { SQL_CANCEL_JOBS, SQL_DELETE_JOBS };

    (void)state;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        tables_clear(a);
        jobs_put(a, "1/0/1");
        add_successor("1 2");
        SEND(b, statements[i], "{1}", "{0}", "{1}", NOW, i == 0 ? "3" : NULL);
        end_adding();
        call_result(b);
        assert_string_equal(sql(a, OUTCOMES), "1:3 2");
    }
}

static void a_predecessor_ends_with_a_result(void **state) {
    (void)state;
    jobs_put(a, "1/0/1 ready=12:00:30 deliveries=1 owner=3");
    add_successor("1 2");
    SEND(b, SQL_RETAIN_JOBS, "{1}", "{0}", "{1}", "{0}", "{NULL}", "{w}", "{found}", NOW, "3");
    end_adding();
    call_result(b);
    assert_string_equal(sql(a, OUTCOMES), "1:1:found 2");
}

#define FLOWS_AND_JOB                                                                                     \
    "select (select string_agg(concat_ws(':', id, queue_id, outcome, is_settled), ' ' order by id) from " \
    "pgdisque.flow_job) || ', ' || (select in_flow from pgdisque.job)"

/* The successor still waits for the revived job. */
static void a_dead_predecessor_is_revived(void **state) {
    (void)state;
    jobs_put(a, "");
    sql(a, "call test.die('1/0/1 attempts=2')");
    add_successor("1 2");
    assert_string_equal(CALL(b, SQL_REVIVE_QUEUE, "1", "-32768", "-9223372036854775808", "9", NOW), "0 1 -");
    SEND(b, SQL_REVIVE_JOBS, "{1}", "{0}", "{1}", NOW);
    end_adding();
    assert_string_equal(call_result(b), "1 13:00:00");
    assert_string_equal(sql(a, FLOWS_AND_JOB), "1:1:f 2:1:f, true");
    assert_string_equal(CALL(b, SQL_STUCK_HOLDS, "0", "10"), "1 f");
}

/* A change of a dead letter may have given it a row in flow_job, so the revived job gets one. */
static void an_edited_dead_letter_is_revived(void **state) {
    (void)state;
    jobs_put(a, "");
    sql(a, "call test.die('1/0/1 attempts=2')");
    sql(a, "begin");
    sql(a, "update pgdisque.dead_job set body = 'y'");
    SEND(b, SQL_REVIVE_JOBS, "{1}", "{0}", "{1}", NOW);
    end_adding();
    assert_string_equal(call_result(b), "1 13:00:00");
    assert_string_equal(sql(a, FLOWS_AND_JOB), "1:1:f, true");
}

/* The next try finds the job in its queue. */
static void a_predecessor_comes_back_from_the_dead(void **state) {
    (void)state;
    jobs_put(a, "");
    sql(a, "call test.die('1/0/1 attempts=2')");
    sql(a, "begin");
    assert_string_equal(CALL(a, SQL_REVIVE_JOBS, "{1}", "{0}", "{1}", NOW), "1 13:00:00");
    SEND(b, SQL_ADD_IN_FLOW, AFTER_1);
    end_adding();
    assert_string_equal(call_result(b), "1 3");
    assert_string_equal(CALL(b, SQL_ADD_IN_FLOW, AFTER_1), "1 2");
    assert_string_equal(sql(a, FLOWS_AND_JOB), "1:1:f 2:1:f, true");
}

/* ---- jobs that list commands took ---- */

#define PUT_BACK_1                                                                                        \
    "{1}", "{@11:00:00}", "{@13:00:00}", "{@13:00:00}", "{1}", "{60}", "{x}", "{0}", "{0}", "{0}", "{0}", \
        "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{0}", "{1}", "{}", "{0}", "{1}"
#define END_1 "{1}", NOW, "100", "{0}", "{0}"

/* The end of a job that is being put back is not counted. */
static void a_popped_job_comes_back(void **state) {
    (void)state;
    jobs_put(a, "");
    sql(a, FLOW_JOBS("(1, null, null)"));
    sql(a, "begin");
    assert_string_equal(CALL(a, SQL_PUT_BACK_JOBS, PUT_BACK_1), "1 0 1 -");
    assert_string_equal(CALL(b, SQL_END_IN_FLOWS, END_1), "");
    assert_string_equal(sql(a, "commit"), "");
    assert_string_equal(CALL(b, SQL_END_IN_FLOWS, END_1), "");
    assert_string_equal(sql(a, FLOWS_AND_JOB), "1:1:f, true");
}

/* A job whose end is being counted leaves its workflow. */
static void a_popped_job_comes_back_late(void **state) {
    (void)state;
    jobs_put(a, "");
    sql(a, FLOW_JOBS("(1, null, null)"));
    sql(a, "begin");
    assert_string_not_equal(CALL(a, SQL_END_IN_FLOWS, END_1), "");
    SEND(b, SQL_PUT_BACK_JOBS, PUT_BACK_1);
    end_adding();
    assert_string_equal(call_result(b), "1 0 1 -");
    assert_string_equal(sql(a, "select in_flow is null from pgdisque.job"), "t");
}

/* ---- jobs that were moved to another queue ---- */

#define AFTER_MOVED(id) ADD_2(id, "0", "0"), "{1}", "{2}", "{0}", "{1}", NOW, "false"

/* The second session finds the row that the first has taken over. */
static void a_moved_predecessor_is_taken_over_once(void **state) {
    (void)state;
    jobs_put(a, "2/0/1");
    sql(a, ENDED_IN_FORMER_QUEUE);
    sql(a, "begin");
    assert_string_equal(CALL(a, SQL_ADD_IN_FLOW, AFTER_MOVED("2")), "1 2");
    SEND(b, SQL_ADD_IN_FLOW, AFTER_MOVED("3"));
    end_adding();
    assert_string_equal(call_result(b), "1 3");
    assert_string_equal(CALL(b, SQL_ADD_IN_FLOW, AFTER_MOVED("3")), "1 2");
    assert_string_equal(sql(a, "select queue_id, turn, is_settled from pgdisque.flow_job where id = 1"),
                        "2 1 f");
}

#define SESSIONS(test) cmocka_unit_test_setup_teardown(test, open_sessions, close_sessions)

int main(void) {
    static const struct CMUnitTest tests[] = {
        SESSIONS(a_predecessor_gets_another_rank),
        SESSIONS(a_predecessor_dies),
        SESSIONS(a_predecessor_is_cancelled),
        SESSIONS(a_predecessor_ends_with_a_result),
        SESSIONS(a_dead_predecessor_is_revived),
        SESSIONS(an_edited_dead_letter_is_revived),
        SESSIONS(a_predecessor_comes_back_from_the_dead),
        SESSIONS(a_popped_job_comes_back),
        SESSIONS(a_popped_job_comes_back_late),
        SESSIONS(a_moved_predecessor_is_taken_over_once),
    };

    return run_sql_suite("flow_sessions", tests, sizeof(tests) / sizeof(tests[0]));
}
