/* Statements while another session changes the same rows. */
#include "flow_cases.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "-32768", "-9223372036854775808"
#define LAST "32767", "9223372036854775807"
#define NODE_1 "1111111111111111111111111111111111111111"
#define NODE_2 "2222222222222222222222222222222222222222"
/* add_jobs with a single job of queue 1, the same as test.put() makes. */
#define ADD(id)                                                                                      \
    id, "{@11:00:00}", "{@13:00:00}", "{NULL}", "{1}", "{60}", "{0}", "{0}", "{1}", "{NULL}", "{x}", \
        "{NULL}", "{NULL}", "{NULL}", "{NULL}"

/* add_unique likewise. */
#define ADD_KEY(id, key, until) ADD(id), key, until, NOW
#define ADDED(id) "0 0 " id " 13:00:00 60 f - -"

#define NACK_OF_1 "{1}", "{0}", "{1}", "{1}", "{NULL}", "{NULL}", NOW, "{}"

static PGconn *a, *b;

static void begin(PGconn *conn) {
    assert_string_equal(sql(conn, "begin"), "");
}

static void commit(PGconn *conn) {
    assert_string_equal(sql(conn, "commit"), "");
}

static void given(const char *jobs) {
    tables_clear(a);
    jobs_put(a, jobs);
}

static void expect_jobs(const char *jobs) {
    assert_string_equal(jobs_now(a), jobs);
}

/* Keeps the IDs only. test_statements checks the other columns. */
static const char *ids(const char *rows, int column) {
    char out[256] = "";
    char *copy = strdup(rows), *save = NULL;

    for (char *row = strtok_r(copy, ";", &save); row; row = strtok_r(NULL, ";", &save)) {
        char *inner = NULL, *word = strtok_r(row, " ", &inner);

        for (int i = 0; i < column && word; i++)
            word = strtok_r(NULL, " ", &inner);
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", out[0] ? " " : "", word ? word : "?");
    }
    free(copy);
    return text_of("%s", out);
}

static const char *walk(PGconn *conn, const char *limit, const char *node) {
    const char *params[] = { "1", FIRST, limit, NOW, node, NOW, NULL };

    return ids(call_sorted(conn, SQL_CLAIM_SCAN, params), 1);
}

static const char *claim(PGconn *conn, const char *keys, const char *node) {
    const char *params[] = { "{1,1,1,1}", "{0,0,0,0}", keys, NOW, node, NULL };

    return ids(call_sorted(conn, SQL_CLAIM_KEYS, params), 2);
}

/* ---- skipping ---- */

static void walks_take_different_jobs_in_order(void **state) {
    (void)state;
    given("1/0/1; 1/0/2; 1/0/3; 1/0/4; 1/0/5");
    begin(a);
    begin(b);
    assert_string_equal(walk(a, "2", "1"), "1 2");
    assert_string_equal(walk(b, "2", "2"), "3 4");
    assert_string_equal(walk(a, "2", "1"), "5");
    assert_string_equal(walk(b, "2", "2"), "");
    commit(a);
    commit(b);
    expect_jobs("1/0/1 ready=12:01:00 deliveries=1 owner=1; 1/0/2 ready=12:01:00 deliveries=1 owner=1; "
                "1/0/3 ready=12:01:00 deliveries=1 owner=2; 1/0/4 ready=12:01:00 deliveries=1 owner=2; "
                "1/0/5 ready=12:01:00 deliveries=1 owner=1");
}

static void a_walk_that_failed_leaves_its_jobs_to_others(void **state) {
    (void)state;
    given("1/0/1; 1/0/2");
    begin(a);
    assert_string_equal(walk(a, "2", "1"), "1 2");
    sql(a, "rollback");
    assert_string_equal(walk(b, "1", "2"), "1");
    expect_jobs("1/0/1 ready=12:01:00 deliveries=1 owner=2; 1/0/2");
}

static void claims_by_key_skip_claimed_jobs(void **state) {
    (void)state;
    given("1/0/1; 1/0/2; 1/0/3; 1/0/4");
    begin(a);
    assert_string_equal(claim(a, "{1,3,3,3}", "1"), "1 3");
    assert_string_equal(claim(b, "{4,3,2,1}", "2"), "2 4");
    commit(a);
    assert_string_equal(claim(b, "{4,3,2,1}", "2"), "");
    expect_jobs("1/0/1 ready=12:01:00 deliveries=1 owner=1; 1/0/2 ready=12:01:00 deliveries=1 owner=2; "
                "1/0/3 ready=12:01:00 deliveries=1 owner=1; 1/0/4 ready=12:01:00 deliveries=1 owner=2");
}

static void a_claim_skips_a_job_under_acknowledgement(void **state) {
    (void)state;
    given("1/0/1; 1/0/2");
    begin(a);
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 11:00:00 - -");
    assert_string_equal(walk(b, "2", "2"), "2");
    commit(a);
    expect_jobs("1/0/2 ready=12:01:00 deliveries=1 owner=2");
}

#define THREE_JOBS "{1,1,1}", "{0,0,0}", "{1,2,3}"

static void the_due_are_woken_once(void **state) {
    (void)state;
    given("1/0/1 wake=11:00:00; 1/0/2 wake=11:00:01; 1/0/3 wake=11:00:02");
    begin(a);
    assert_string_equal(CALL(a, SQL_WAKE_DUE, "{1,1}", "{0,0}", "{1,2}", NOW, "{}"),
                        "1 0 1 11:00:00 13:00:00; 1 0 2 11:00:00 13:00:00");
    assert_string_equal(ids(CALL(b, SQL_WAKE_NEXT, "-infinity", NOW, "9", NOW), 2), "1 2 3");
    assert_string_equal(CALL(b, SQL_WAKE_DUE, THREE_JOBS, NOW, "{}"), "1 0 3 11:00:00 13:00:00");
    commit(a);
    assert_string_equal(CALL(b, SQL_WAKE_DUE, THREE_JOBS, NOW, "{}"), "");
    assert_string_equal(CALL(b, SQL_WAKE_NEXT, "-infinity", NOW, "9", NOW), "");
    expect_jobs("1/0/1 wake=13:00:00; 1/0/2 wake=13:00:00; 1/0/3 wake=13:00:00");
}

static void the_expired_are_removed_once(void **state) {
    (void)state;
    given("1/0/1; 1/0/2; 1/0/3 expires=11:00:00 wake=11:00:00; 1/0/4 expires=11:00:00 wake=11:00:00");
    begin(a);
    assert_string_equal(ids(CALL(a, SQL_EXPIRE_IN_ORDER, "{1}", "{0}", "{0}", "{9}", "1", "@13:00"), 2), "1");
    assert_string_equal(CALL(b, SQL_EXPIRE_IN_ORDER, "{1}", "{0}", "{0}", "{9}", "9", "@13:00"),
                        "1 0 2 11:00:00 13:00:00 60 - f -; 1 0 1 - - - - - -");
    assert_string_equal(CALL(a, SQL_WAKE_EXPIRED, "{1}", "{0}", "{3}", NOW),
                        "1 0 3 290000-01-01 00:00:00+00 11:00:00 60 - f -");
    assert_string_equal(CALL(b, SQL_WAKE_EXPIRED, "{1,1}", "{0,0}", "{3,4}", NOW),
                        "1 0 4 290000-01-01 00:00:00+00 11:00:00 60 - f -");
    commit(a);
    expect_jobs("");
}

/* ---- waiting ---- */

/* a's claim is not committed yet; the job is removed all the same. */
static void an_ack_waits_for_a_claim(void **state) {
    (void)state;
    given("1/0/1; 1/0/2");
    begin(a);
    assert_string_equal(walk(a, "1", "1"), "1");
    SEND(b, SQL_ACK_JOBS, "{1,1}", "{0,0}", "{1,2}", NOW);
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "1 12:01:00 - -; 2 11:00:00 - -");
    expect_jobs("");
}

static void two_acks_count_once(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 owner=1");
    begin(a);
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 12:00:30 - -");
    SEND(b, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW);
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("");
}

static void an_ack_that_failed_leaves_the_job_to_the_other(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 owner=1");
    begin(a);
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 12:00:30 - -");
    SEND(b, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW);
    assert_true(waits_for_lock(b));
    sql(a, "rollback");
    assert_string_equal(call_result(b), "1 12:00:30 - -");
    expect_jobs("");
}

static void a_nack_after_an_ack_does_nothing(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 owner=1");
    begin(a);
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 12:00:30 - -");
    SEND(b, SQL_REQUEUE_JOBS, NACK_OF_1);
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("");
}

/* Both say that the job failed: it comes back once. */
static void two_nacks_count_once(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 owner=1");
    begin(a);
    assert_string_equal(CALL(a, SQL_REQUEUE_JOBS, NACK_OF_1), "1 12:00:30 - f");
    SEND(b, SQL_REQUEUE_JOBS, NACK_OF_1);
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("1/0/1 ready=12:00:00 nacks=1");
}

/* The session of the first try may still be at it. */
static void a_second_attempt_sees_the_first(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 deliveries=1 owner=1");
    begin(a);
    assert_string_equal(CALL(a, SQL_REQUEUE_JOBS, NACK_OF_1), "1 12:00:30 - f");
    assert_string_equal(walk(a, "1", "1"), "1");
    SEND(b, SQL_REQUEUE_JOBS_AGAIN, "{1}", "{0}", "{1}", "{1}", "{NULL}", "{NULL}", "{" NOW "}",
         "{@12:00:10}", "@12:00:20", "1", "{}", "{}");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "1 f 12:01:00 - f f");
    expect_jobs("1/0/1 ready=12:00:00 deliveries=1 nacks=1");
}

static void a_dequeue_leaves_claimed_jobs(void **state) {
    (void)state;
    given("1/0/1");
    begin(a);
    assert_string_equal(walk(a, "1", "1"), "1");
    SEND(b, SQL_DEQUEUE_JOBS, "{1}", "{0}", "{1}", NOW, "2");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("1/0/1 ready=12:01:00 deliveries=1 owner=1");
}

/* The statement changes the row as the other session left it, and returns this change. */
static void working_extends_a_job_that_just_changed(void **state) {
    (void)state;
    given("1/0/1; 1/0/2");
    begin(a);
    assert_string_equal(walk(a, "1", "1"), "1");
    SEND(b, SQL_WORKING_JOBS, "{1,1}", "{0,0}", "{1,2}", "{@11:59:00,@11:59:00}", "{NULL,NULL}", "@12:00:20",
         "2", "{}", "{}");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "1 60 12:01:20 f f 12:01:00 f f f; 2 60 12:01:20 f t 11:00:00 f f f");
    expect_jobs("1/0/1 ready=12:01:20 deliveries=1 owner=2; 1/0/2 ready=12:01:20 owner=2");
}

static void working_after_an_ack_finds_nothing(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 owner=1");
    begin(a);
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 12:00:30 - -");
    SEND(b, SQL_WORKING_JOBS, "{1}", "{0}", "{1}", "{@11:59:00}", "{NULL}", NOW, "2", "{}", "{}");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("");
}

static void a_release_does_not_undo_another_nodes_claim(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 deliveries=1 owner=2");
    begin(a);
    assert_string_equal(CALL(a, SQL_REQUEUE_JOBS, NACK_OF_1), "1 12:00:30 - f");
    assert_string_equal(walk(a, "1", "1"), "1");
    SEND(b, SQL_RELEASE_JOBS, "{1}", "{0}", "{1}", NOW, "2", "{@12:00:30}");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("1/0/1 ready=12:01:00 deliveries=2 nacks=1 owner=1");
}

static void locked_jobs_are_found(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 owner=1; 1/0/2; 1/0/3; 1/0/4");
    begin(a);
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 12:00:30 - -");
    assert_string_equal(walk(a, "1", "1"), "2");
    assert_string_equal(CALL(b, SQL_FIND_LOCKED, "{1,1,1,1,1}", "{0,0,0,0,0}", "{3,2,1,9,2}"), "2; 3; 5");
    begin(b);
    assert_string_equal(CALL(b, SQL_FIND_LOCKED, "{1}", "{0}", "{4}"), "");
    assert_string_equal(CALL(a, SQL_FIND_LOCKED, "{1,1}", "{0,0}", "{4,3}"), "1");
    commit(b);
    commit(a);
    assert_string_equal(CALL(b, SQL_FIND_LOCKED, "{1,1,1}", "{0,0,0}", "{1,2,3}"), "");
}

static void readers_do_not_wait(void **state) {
    (void)state;
    given("1/0/1 ready=12:00:30 owner=1; 1/0/2");
    begin(a);
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 12:00:30 - -");
    assert_string_equal(walk(a, "1", "1"), "2");
    assert_string_equal(ids(CALL(b, SQL_SHOW_JOBS, "{1,1}", "{0,0}", "{1,2}", NOW), 3), "1 2");
    assert_string_equal(ids(CALL(b, SQL_PEEK_FIRST, "1", FIRST, "9", NOW, LAST, "1000000"), 3), "2");
    assert_string_equal(ids(CALL(b, SQL_SCAN_QUEUE, "1", FIRST, "9", NOW, "t", "1000000"), 3), "1 2");
    assert_string_equal(CALL(b, SQL_LOAD_COUNTS, NOW), "1 2 1 0 0 1 0 2 0");
    assert_string_equal(CALL(b, SQL_COUNT_QUEUES, "{1}", NOW), "1 2 1 0 0 0 0 0");
    assert_string_equal(CALL(b, SQL_ADOPT_LEASES, NOW, "{2}"), "1 0 1 12:00:30 1 f");
    commit(a);
    assert_string_equal(CALL(b, SQL_LOAD_COUNTS, NOW), "1 1 0 0 0 2 - - 0");
    assert_string_equal(CALL(b, SQL_COUNT_QUEUES, "{1}", NOW), "1 1 0 0 0 0 0 0");
}

/* ---- dying ---- */

#define DYING "1/0/1 deliveries=2 attempts=2 owner=1"

/* The server that watches the lease and a server that finds the job both end it. It dies once. */
static void a_job_dies_once(void **state) {
    (void)state;
    given(DYING);
    begin(a);
    assert_string_equal(CALL(a, SQL_DEAD_LETTER_JOBS, "{1}", "{0}", "{1}", NOW),
                        "1 - - - 13:00:00 60 - f - 2 -");
    SEND(b, SQL_DEAD_LETTER_JOBS, "{1}", "{0}", "{1}", NOW);
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("");
    assert_string_equal(sql(a, "select test.dead()"), "1/0/1 died=12:00:00 deliveries=2 attempts=2");
}

/* The worker has sent WORKING to another server. */
static void working_keeps_a_job_alive(void **state) {
    (void)state;
    given(DYING);
    begin(a);
    assert_string_equal(
        CALL(a, SQL_WORKING_JOBS, "{1}", "{0}", "{1}", "{@11:59:00}", "{NULL}", NOW, "2", "{}", "{}"),
        "1 60 12:01:00 f f 11:00:00 t f f");
    SEND(b, SQL_DEAD_LETTER_JOBS, "{1}", "{0}", "{1}", NOW);
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("1/0/1 ready=12:01:00 deliveries=2 owner=2 attempts=2");
}

static void a_job_is_revived_or_deleted_once(void **state) {
    (void)state;
    given("");
    sql(a, "call test.die('1/0/1 attempts=2; 1/0/2 attempts=2')");
    begin(a);
    assert_string_equal(CALL(a, SQL_REVIVE_JOBS, "{1}", "{0}", "{1}", NOW), "1 13:00:00");
    assert_string_equal(CALL(b, SQL_REVIVE_QUEUE, "1", FIRST, "9", NOW), "0 2 -; 0 2 13:00:00");
    SEND(b, SQL_DELETE_DEAD, "{1}", "{0}", "{1}", "{0}");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("1/0/1 ready=12:00:00 wake=13:00:00 additional_deliveries=1 attempts=2; "
                "1/0/2 ready=12:00:00 wake=13:00:00 additional_deliveries=1 attempts=2");
}

static void two_that_close_a_circle_do_not(void **state) {
    (void)state;
    given("");
    sql(a, "insert into pgdisque.queue (name) values ('a'), ('b'); begin");
    assert_string_equal(CALL(a, SQL_SET_SETTINGS, "{1}", "{deadqueue}", "{b}"), "t f");
    SEND(b, SQL_SET_SETTINGS, "{2}", "{deadqueue}", "{a}");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "f f");
    assert_string_equal(CALL(b, SQL_SET_SETTINGS, "{2}", "{deadqueue}", "{a}"), "f t");
}

/* ---- adding ---- */

static void adding_a_committed_job_again_adds_nothing(void **state) {
    (void)state;
    given("2/0/9");
    assert_string_equal(CALL(a, SQL_ADD_JOBS, ADD("{1}")), "");
    assert_string_equal(CALL(b, SQL_ADD_MISSING, ADD("{1}")), "");
    expect_jobs("1/0/1; 2/0/9");
}

/* The old connection is dead to the server, but Postgres is still at its last statement. */
static void adding_again_waits_for_the_first_try(void **state) {
    (void)state;
    given("2/0/9");
    begin(a);
    assert_string_equal(CALL(a, SQL_ADD_JOBS, ADD("{1}")), "");
    SEND(b, SQL_ADD_MISSING, ADD("{1}"));
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    expect_jobs("1/0/1; 2/0/9");
}

static void adding_a_failed_job_again_adds_it(void **state) {
    (void)state;
    given("2/0/9");
    begin(a);
    assert_string_equal(CALL(a, SQL_ADD_JOBS, ADD("{1}")), "");
    SEND(b, SQL_ADD_MISSING, ADD("{1}"));
    assert_true(waits_for_lock(b));
    sql(a, "rollback");
    assert_string_equal(call_result(b), "1 f");
    expect_jobs("1/0/1; 2/0/9");
}

/* ---- keys ---- */

/* a has added a job with a key, which b wants as well. */
static void begin_with_one_key(const char *until) {
    given("");
    begin(a);
    assert_string_equal(CALL(a, SQL_ADD_UNIQUE, ADD_KEY("{1}", "{k}", until)), ADDED("1"));
    SEND(b, SQL_ADD_UNIQUE, ADD_KEY("{2}", "{k}", until));
    assert_true(waits_for_lock(b));
}

/* The second session has no owner of the key in its snapshot. It sees the owner when it asks again. */
static void a_key_is_taken_once(void **state) {
    (void)state;
    begin_with_one_key("{NULL}");
    commit(a);
    assert_string_equal(call_result(b), "1 - - - - f - -");
    assert_string_equal(CALL(b, SQL_ADD_UNIQUE, ADD_KEY("{2}", "{k}", "{NULL}")), "1 0 1 13:00:00 60 f - -");
    expect_jobs("1/0/1");
}

static void a_key_of_an_add_that_failed_is_free(void **state) {
    (void)state;
    begin_with_one_key("{NULL}");
    sql(a, "rollback");
    assert_string_equal(call_result(b), ADDED("2"));
    expect_jobs("1/0/2");
}

static void a_freed_key_is_free(void **state) {
    (void)state;
    begin_with_one_key("{NULL}");
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 11:00:00 - -");
    commit(a);
    assert_string_equal(call_result(b), ADDED("2"));
    expect_jobs("1/0/2");
}

/* The job has come and gone while b waited, but its time has not. */
static void a_time_that_began_behind_the_statement_fails_it(void **state) {
    (void)state;
    begin_with_one_key("{@12:30:00}");
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 11:00:00 - -");
    commit(a);
    assert_string_equal(call_result(b), "error 23502");
    assert_string_equal(CALL(b, SQL_ADD_UNIQUE, ADD_KEY("{2}", "{k}", "{@12:30:00}")),
                        "1 0 1 13:00:00 60 f - -");
    expect_jobs("");
}

/* ---- workflows ---- */

/* The time to live of the waiting job 3 ends while another session cancels it. */
static void an_end_skips_a_job_under_cancellation(void **state) {
    (void)state;
    given("");
    sql(a, "%s",
        FLOW_JOBS("(1, null, null), (3, null, null)") "; " WAITING(
            "(3, 1, false, timestamptz '2030-01-01 12:00:30')"));
    begin(a);
    assert_string_equal(CALL(a, SQL_CANCEL_JOBS, "{1}", "{0}", "{3}", NOW, "9"), "1 - - - - - - t -");
    assert_string_equal(CALL(b, SQL_END_IN_FLOWS, "{1,3}", "@12:01:00", "100", "{0,0}", "{0,0}"),
                        "3 1 0 1 13:00:00 60 - - 1 - - - f");
    commit(a);
    assert_string_equal(CALL(b, SQL_END_IN_FLOWS, "{3}", "@12:01:00", "100", "{0}", "{0}"),
                        "3 1 0 3 13:00:00 60 - - 1 3 - - f");
}

/* ---- queues and servers ---- */

static void one_name_is_one_queue(void **state) {
    const char *first, *second;

    (void)state;
    tables_clear(a);
    begin(a);
    first = CALL(a, SQL_OPEN_QUEUES, "{q}", "{null}");
    SEND(b, SQL_OPEN_QUEUES, "{q}", "{null}");
    assert_true(waits_for_lock(b));
    commit(a);
    second = call_result(b);
    assert_string_not_equal(first, "");
    assert_string_equal(first, second);
    assert_string_equal(sql(a, "select count(*) from pgdisque.queue"), "1");
}

static void counters_of_two_servers_add_up(void **state) {
    (void)state;
    tables_clear(a);
    begin(a);
    assert_string_equal(CALL(a, SQL_SAVE_COUNTERS, "{1}", "{10}", "{3}"), "");
    SEND(b, SQL_SAVE_COUNTERS, "{1}", "{5}", "{4}");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    assert_string_equal(sql(a, "select * from pgdisque.queue_counter"), "1 15 7");
}

static void a_queue_with_new_jobs_is_not_dropped(void **state) {
    (void)state;
    tables_clear(a);
    sql(a, "insert into pgdisque.queue (name) values ('q')");
    assert_string_equal(CALL(a, SQL_ADD_JOBS, ADD("{1}")), "");
    assert_string_equal(CALL(b, SQL_DROP_QUEUES, "{1}", NODE_1), "");
    assert_string_equal(CALL(a, SQL_ACK_JOBS, "{1}", "{0}", "{1}", NOW), "1 11:00:00 - -");
    assert_string_equal(CALL(b, SQL_DROP_QUEUES, "{1}", NODE_1), "1");
}

/* The server that was second asks again after the error. */
static void two_servers_get_two_numbers(void **state) {
    (void)state;
    tables_clear(a);
    begin(a);
    assert_string_equal(CALL(a, SQL_REGISTER_NODE, NODE_1, "one", "1", "0"), "1 1");
    SEND(b, SQL_REGISTER_NODE, NODE_2, "two", "2", "0");
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "error 23505");
    assert_string_equal(CALL(b, SQL_REGISTER_NODE, NODE_2, "two", "2", "0"), "2 2");
    sql(a, "update pgdisque.node set seen_at = '" DAY " 10:00+00'");
    assert_string_equal(CALL(a, SQL_LOAD_NODES, NULL),
                        "1 " NODE_1 " one 1 f f 10:00:00; 2 " NODE_2 " two 2 f f 10:00:00");
}

/* As it registers, it has not left any more. */
static void a_server_that_returns_is_not_pruned(void **state) {
    (void)state;
    tables_clear(a);
    sql(a, "insert into pgdisque.node (number, id, seen_at, left_at) "
           "select n, lpad(to_hex(n), 40, '0'), '" DAY "', '" DAY "' from generate_series(2, 902) as n");
    begin(a);
    sql(a, "update pgdisque.node set left_at = null where number = 2");
    SEND(b, SQL_PRUNE_NODES, NOW, NODE_1);
    assert_true(waits_for_lock(b));
    commit(a);
    assert_string_equal(call_result(b), "");
    assert_string_equal(sql(a, "select number from pgdisque.node"), "2");
}

/* ---- jobs that recur ---- */

static const char *fire(PGconn *conn, const char *id) {
    const char *params[] = { "{1}",    "{1}",         "{@12:00:00}", "{@13:00:00}", "{@12:00:00}",
                             id,       "{@11:00:00}", "{@13:00:00}", "{NULL}",      "{1}",
                             "{NULL}", NOW,           "{@12:00:00}", NULL };

    return call(conn, SQL_FIRE_SCHEDULES, params);
}

/* With overlap. */
static const char *fire_two(PGconn *conn) {
    const char *params[] = { "{1,2}",
                             "{1,1}",
                             "{@12:00:00,@12:00:00}",
                             "{@13:00:00,@13:00:00}",
                             "{@12:00:00,@12:00:00}",
                             "{11,12}",
                             "{@11:00:00,@11:00:00}",
                             "{@13:00:00,@13:00:00}",
                             "{NULL,NULL}",
                             "{1,1}",
                             "{@12:00:00,@12:00:00}",
                             NOW,
                             "{@12:00:00,@12:00:00}",
                             NULL };

    return call(conn, SQL_FIRE_SCHEDULES, params);
}

/* A session does not wait for the session that fires, and does not fire the same tick again. */
static void a_tick_is_fired_once(void **state) {
    (void)state;
    given("");
    assert_string_equal(
        sql(a, "insert into pgdisque.schedule (name, next_at, cron, queue, body, missed, retry, ttl, "
               "delay, priority) values ('a', '2030-01-01 12:00+00', '', 'q', 'x', 1, 60, 60, 0, 0)"),
        "");
    begin(a);
    assert_string_equal(ids(fire(a, "{1}"), 2), "1");
    assert_string_equal(fire(b, "{2}"), "");
    sql(a, "rollback");
    assert_string_equal(ids(fire(b, "{3}"), 2), "3");
    assert_string_equal(fire(a, "{4}"), "");
    expect_jobs("1/0/3 headers={\"tick\":null}");
}

/* A session has locked the job that a tick replaces. The tick stays due, and the job stays the only one. */
static void a_tick_waits_for_the_job_that_it_replaces(void **state) {
    (void)state;
    given("1/0/1; 1/0/2 key=k");
    assert_string_equal(
        sql(a, "insert into pgdisque.schedule (name, next_at, cron, queue, body, missed, retry, ttl, "
               "delay, priority, overlap, last_queue_id, last_id, unique_key) select n::text::bytea, "
               "'2030-01-01 12:00+00', '', 'q', 'x', 1, 60, 60, 0, 0, 2, 1, n, case n when 2 then 'k' "
               "end::bytea "
               "from generate_series(1, 2) as n"),
        "");
    begin(a);
    sql(a, "select from pgdisque.job where id = 2 for update");
    assert_string_equal(ids(fire_two(b), 2), "11 1");
    commit(a);
    assert_string_equal(ids(fire_two(b), 2), "12 2");
    assert_string_equal(sql(a, "select id from pgdisque.job order by id"), "11; 12");
}

/* ---- main ---- */

static PGconn *open_one(const char *database) {
    PGconn *conn = session_open(database);

    /* A statement that waits where it must not is to fail, not to hang. */
    assert_string_equal(sql(conn, "set lock_timeout = %d", (int)patience(EVENTUALLY_MS)), "");
    return conn;
}

/* Each test has new sessions, because a failed test may leave a transaction open. */
static int open_sessions(void **state) {
    static const char *database;

    (void)state;
    if (!database)
        database = database_new();
    a = open_one(database);
    b = open_one(database);
    return 0;
}

static int close_sessions(void **state) {
    (void)state;
    PQfinish(a);
    PQfinish(b);
    return 0;
}

#define SESSIONS(test) cmocka_unit_test_setup_teardown(test, open_sessions, close_sessions)

int main(void) {
    static const struct CMUnitTest tests[] = {
        SESSIONS(walks_take_different_jobs_in_order),
        SESSIONS(a_walk_that_failed_leaves_its_jobs_to_others),
        SESSIONS(claims_by_key_skip_claimed_jobs),
        SESSIONS(a_claim_skips_a_job_under_acknowledgement),
        SESSIONS(the_due_are_woken_once),
        SESSIONS(the_expired_are_removed_once),
        SESSIONS(an_ack_waits_for_a_claim),
        SESSIONS(two_acks_count_once),
        SESSIONS(an_ack_that_failed_leaves_the_job_to_the_other),
        SESSIONS(a_nack_after_an_ack_does_nothing),
        SESSIONS(two_nacks_count_once),
        SESSIONS(a_second_attempt_sees_the_first),
        SESSIONS(a_dequeue_leaves_claimed_jobs),
        SESSIONS(working_extends_a_job_that_just_changed),
        SESSIONS(working_after_an_ack_finds_nothing),
        SESSIONS(a_release_does_not_undo_another_nodes_claim),
        SESSIONS(locked_jobs_are_found),
        SESSIONS(readers_do_not_wait),
        SESSIONS(a_job_dies_once),
        SESSIONS(working_keeps_a_job_alive),
        SESSIONS(a_job_is_revived_or_deleted_once),
        SESSIONS(two_that_close_a_circle_do_not),
        SESSIONS(adding_a_committed_job_again_adds_nothing),
        SESSIONS(adding_again_waits_for_the_first_try),
        SESSIONS(adding_a_failed_job_again_adds_it),
        SESSIONS(a_key_is_taken_once),
        SESSIONS(a_key_of_an_add_that_failed_is_free),
        SESSIONS(a_freed_key_is_free),
        SESSIONS(a_time_that_began_behind_the_statement_fails_it),
        SESSIONS(an_end_skips_a_job_under_cancellation),
        SESSIONS(one_name_is_one_queue),
        SESSIONS(counters_of_two_servers_add_up),
        SESSIONS(a_queue_with_new_jobs_is_not_dropped),
        SESSIONS(two_servers_get_two_numbers),
        SESSIONS(a_server_that_returns_is_not_pruned),
        SESSIONS(a_tick_is_fired_once),
        SESSIONS(a_tick_waits_for_the_job_that_it_replaces),
    };

    return run_sql_suite("sessions", tests, sizeof(tests) / sizeof(tests[0]));
}
