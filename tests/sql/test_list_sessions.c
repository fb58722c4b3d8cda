/* The statements of list commands while another session changes the same rows. */
#include "two_sessions.h"

#include <string.h>

static int begin_with_a_list(void **state) {
    open_sessions(state);
    /* A statement that waits where it must not is to fail, not to hang. */
    assert_string_equal(sql(b, "set lock_timeout = %d", (int)patience(EVENTUALLY_MS)), "");
    jobs_put(a, "1/0/1; 1/0/2; 1/0/3; 1/0/4; 1/0/5");
    assert_string_equal(sql(a, "begin"), "");
    return 0;
}

static void others_are_passed_over(void **state) {
    (void)state;
    CALL(a, SQL_POP_FIRST, "1", "-1", "0", "1", NOW);
    CALL(a, SQL_POP_LAST, "1", "-1", "0", "1", NOW);
    assert_string_equal(CALL(b, SQL_POP_FIRST, "1", "-1", "0", "1", NOW),
                        "0 2 11:00:00 13:00:00 60 0 0 \"x\" 0 - - - - - - - - - - 0 1 - - -");
    assert_string_equal(CALL(b, SQL_MOVE_LAST, "1", "-1", "0", "1", NOW, "{2}", "{9}"),
                        "1 0 4 11:00:00 - \"x\" 13:00:00 60 - 13:00:00");
    assert_string_equal(CALL(b, SQL_MOVE_FIRST, "1", "-1", "0", "5", NOW, "{2}", "{8}"),
                        "1 0 3 11:00:00 - \"x\" 13:00:00 60 - 13:00:00");
    assert_string_equal(CALL(b, SQL_POP_LAST, "1", "-1", "0", "9", NOW), "");
    assert_string_equal(sql(a, "commit"), "");
    assert_string_equal(jobs_now(a), "2/0/8 ready=12:00:00; 2/0/9 ready=12:00:00");
}

/* A popped element is there again after a rollback. */
static void a_pop_that_failed_takes_nothing(void **state) {
    (void)state;
    CALL(a, SQL_POP_FIRST, "1", "-1", "0", "5", NOW);
    assert_string_equal(sql(a, "rollback"), "");
    assert_string_equal(CALL(b, SQL_POP_LAST, "1", "-1", "0", "1", NOW),
                        "0 5 11:00:00 13:00:00 60 0 0 \"x\" 0 - - - - - - - - - - 0 1 - - -");
}

/* claim_scan, which has taken its snapshot and waits for the lock 7 before it looks for jobs. */
static void prepare_late_walk(void) {
    static const char limit[] = "limit $4::integer";
    const char *text = sql_texts[SQL_CLAIM_SCAN].text;
    const char *at = strstr(text, limit);

    assert_non_null(at);
    assert_string_equal(sql(b,
                            "prepare late_walk as %.*slimit (select $4::integer + "
                            "length(pg_advisory_xact_lock(7)::text))%s",
                            (int)(at - text), text, at + strlen(limit)),
                        "");
}

static void begin_walk(void) {
    prepare_late_walk();
    assert_string_equal(sql(a, "select pg_advisory_xact_lock(7)"), "");
    assert_int_equal(PQsendQuery(b, "execute late_walk(1, '-1', 0, 1, timestamptz '" DAY
                                    " 12:00', '2', timestamptz '" DAY " 12:00')"),
                     1);
    assert_true(waits_for_lock(b));
}

/* A claim that followed the job to its new place would return no job, or set a wrong scan position. */
static void walk_brings_the_next(const char *next) {
    assert_string_equal(sql(a, "commit"), "");
    assert_string_equal(call_result(b), next);
}

static void a_claim_does_not_follow_a_move_to_the_end(void **state) {
    (void)state;
    begin_walk();
    assert_string_equal(CALL(a, SQL_MOVE_FIRST, "1", "-1", "0", "1", NOW, "{1}", "{9}"),
                        "1 0 1 11:00:00 - \"x\" 13:00:00 60 - 13:00:00");
    walk_brings_the_next("0 2 12:01:00 13:00:00 60 0 0 \"x\" - - (0,7)");
}

static void a_claim_does_not_follow_a_move_to_the_front(void **state) {
    (void)state;
    assert_string_equal(sql(a, "delete from pgdisque.job where id between 1 and 3"), "");
    assert_string_equal(sql(a, "commit; begin"), "");
    begin_walk();
    assert_string_equal(CALL(a, SQL_MOVE_LAST, "1", "-1", "0", "2", NOW, "{1,1}", "{-9,9}"),
                        "1 0 5 11:00:00 13:00:00 \"x\" 13:00:00 60 - 13:00:00; "
                        "2 0 4 11:00:00 - \"x\" 13:00:00 60 - 13:00:00");
    walk_brings_the_next("");
    assert_string_equal(jobs_now(a), "1/0/-9 ready=12:00:00 wake=13:00:00; 1/0/9 ready=12:00:00");
}

/* LTRIM removes no further element in place of a locked one, because it has not read the further one. */
static void others_are_not_made_up_for(void **state) {
    (void)state;
    CALL(a, SQL_POP_FIRST, "1", "-1", "0", "1", NOW);
    assert_string_equal(CALL(b, SQL_TRIM_LIST, "1", "-1", "0", NOW, "{2}", "{1}", "{1}"),
                        "0 2 11:00:00 13:00:00 60 - - t");
    assert_string_equal(sql(a, "rollback"), "");
    assert_string_equal(jobs_now(a), "1/0/1; 1/0/3; 1/0/4; 1/0/5");
}

static void an_element_that_is_taken_is_not_set(void **state) {
    (void)state;
    CALL(a, SQL_CLAIM_SCAN, "1", "-1", "0", "1", NOW, "3", NOW);
    SEND(b, SQL_SET_ELEMENT, "1", "-1", "0", NOW, "0", "NULL", "{new}");
    assert_true(waits_for_lock(b));
    assert_string_equal(sql(a, "commit"), "");
    assert_string_equal(call_result(b), "0 1 f");
    assert_string_equal(CALL(b, SQL_SET_ELEMENT, "1", "-1", "0", NOW, "0", "NULL", "{new}"), "0 2 t");
}

static void a_claim_does_not_follow_a_set_element(void **state) {
    (void)state;
    begin_walk();
    assert_string_equal(CALL(a, SQL_SET_ELEMENT, "1", "-1", "0", NOW, "0", "NULL", "{new}"), "0 1 t");
    walk_brings_the_next("0 2 12:01:00 13:00:00 60 0 0 \"x\" - - (0,7)");
}

#define ALL_OF_1 "1", "-32768", "0", "32767", "9", "9", NOW

/* The statement passes over rows that other sessions have locked, at the old and at the new place. */
static void keys_pass_over_others(void **state) {
    (void)state;
    CALL(a, SQL_POP_FIRST, "1", "-1", "0", "2", NOW);
    assert_string_equal(CALL(b, SQL_DATE_LIST, ALL_OF_1, "@12:30:00", "NULL", "infinity"),
                        "0 3 0 5; 0 4 0 5; 0 5 0 5");
    assert_string_equal(CALL(b, SQL_RENAME_LIST, "2", "1", "1", "9", "f", NOW, "9"),
                        "- - - - - - - - - 0 0 0");
    assert_string_equal(sql(b, "insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, body) "
                               "select 9, ready_at, expires_at, 2, 1, 'y' from pgdisque.job where id = 4"),
                        "");
    assert_string_equal(CALL(b, SQL_RENAME_LIST, "1", "2", "1", "2", "f", NOW, "9"),
                        "- - - - - - - - - 2 0 0");
    assert_string_equal(CALL(b, SQL_EMPTY_LIST, ALL_OF_1),
                        "0 3 0 5 11:00:00 12:30:00 60 - -; 0 4 0 5 11:00:00 12:30:00 60 - -; "
                        "0 5 0 5 11:00:00 12:30:00 60 - -");
    assert_string_equal(CALL(b, SQL_RENAME_LIST, "1", "2", "1", "9", "f", NOW, "9"),
                        "- - - - - - - - - 0 0 0");
    assert_string_equal(sql(a, "rollback"), "");
    assert_string_equal(jobs_now(a), "1/0/1; 1/0/2; 2/0/9 expires=12:30:00 retry=1 body=y");
}

static void a_claim_does_not_follow_a_renamed_job(void **state) {
    (void)state;
    begin_walk();
    CALL(a, SQL_RENAME_LIST, "1", "2", "1", "9", "f", NOW, "9");
    walk_brings_the_next("");
    assert_string_equal(jobs_now(a), "2/0/1 ready=12:00:00; 2/0/2 ready=12:00:00; 2/0/3 ready=12:00:00; "
                                     "2/0/4 ready=12:00:00; 2/0/5 ready=12:00:00");
}

/* Both sessions ask at the same time. The second sees the result of the first. */
static void a_front_is_settled_once(void **state) {
    (void)state;
    assert_string_equal(sql(b, "insert into pgdisque.queue (name) values ('q')"), "");
    assert_string_equal(CALL(a, SQL_FIND_CONSUME_ENDS, "{1}", "{1}"), "1 1");
    SEND(b, SQL_FIND_CONSUME_ENDS, "{1}", "{2}");
    assert_true(waits_for_lock(b));
    assert_string_equal(sql(a, "commit"), "");
    assert_string_equal(call_result(b), "1 1");
}

/* Two servers restore their queues after a promotion. */
static void a_front_is_restored_once(void **state) {
    (void)state;
    assert_string_equal(sql(b, "insert into pgdisque.queue (name) values ('q')"), "");
    assert_string_equal(CALL(a, SQL_RESTORE_QUEUES, "{1}", "{q}", "{0}", "{1}"), "0 0 -");
    SEND(b, SQL_RESTORE_QUEUES, "{1}", "{q}", "{0}", "{2}");
    assert_true(waits_for_lock(b));
    assert_string_equal(sql(a, "commit"), "");
    assert_string_equal(call_result(b), "0 0 -");
    assert_string_equal(CALL(b, SQL_READ_CONSUME_ENDS, "{1}"), "1 1");
}

#define SESSIONS(test) cmocka_unit_test_setup_teardown(test, begin_with_a_list, close_sessions)

int main(void) {
    static const struct CMUnitTest tests[] = {
        SESSIONS(others_are_passed_over),
        SESSIONS(a_pop_that_failed_takes_nothing),
        SESSIONS(a_claim_does_not_follow_a_move_to_the_end),
        SESSIONS(a_claim_does_not_follow_a_move_to_the_front),
        SESSIONS(others_are_not_made_up_for),
        SESSIONS(an_element_that_is_taken_is_not_set),
        SESSIONS(a_claim_does_not_follow_a_set_element),
        SESSIONS(keys_pass_over_others),
        SESSIONS(a_claim_does_not_follow_a_renamed_job),
        SESSIONS(a_front_is_settled_once),
        SESSIONS(a_front_is_restored_once),
    };

    return run_sql_suite("list_sessions", tests, sizeof(tests) / sizeof(tests[0]));
}
