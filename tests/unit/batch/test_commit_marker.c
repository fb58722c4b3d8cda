/* Marks of transactions: the result of an ADDJOB whose answer was lost while there are other servers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "adders.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "config/config.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/add.h"

#define ME 3
#define OTHER 7
#define RUN 5
#define RUN_SHIFT 40

/* Columns of add_jobs.sql, add_unique.sql; of mark_txn.sql and its kin. */
enum { ADD_ID, ADD_UNIQUE_TRACE = 20, ADD_UNIQUE_TRIED = 21 };
enum { TXN_NODE, TXN_NUMBER, TXN_FROM };

static struct op *const ops[] = { &op_add_jobs,       &op_add_async,   &op_add_missing,
                                  &op_add_unique,     &op_delete_jobs, &op_find_commits,
                                  &op_forget_commits, &op_sql_changes, NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

/* It has a row; is it heard? */
static void register_other(bool live) {
    node_update(&(struct node){ .number = OTHER, .id = "0123456789abcdef0123456789abcdef01234567" });
    node_get(OTHER)->live = live;
}

static int start(void **state) {
    (void)state;
    config_defaults();
    getters_start();
    node_self()->number = ME;
    node_self()->run = RUN;
    register_other(true);
    return 0;
}

static struct db_conn *side(void) {
    return fake_db.conns[1];
}

static int stop(void **state) {
    (void)state;
    node_forget(node_get(OTHER));
    assert_true(batch_idle());
    assert_true(timers_next() == INT64_MAX);
    assert_int_equal(queue_named("q1")->work->adds.accepted, 0);
    assert_int_equal(queue_named("q1")->work->adds.sent, 0);
    getters_stop();
    return 0;
}

/* ---- transactions ---- */

/* The statements of the oldest transaction, in their order. */
static void assert_carries(enum sql_stmt first, enum sql_stmt second) {
    size_t count = second == SQL_COUNT ? 1 : 2;

    assert_int_equal(fake_count(fake_write_conn()), count);
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, first);
    if (count == 2)
        assert_int_equal(fake_sent(fake_write_conn(), 1)->stmt, second);
}

#define assert_marked(stmt) assert_carries(stmt, SQL_MARK_COMMIT)
#define assert_unmarked(stmt) assert_carries(stmt, SQL_COUNT)

/* The number in transaction n's mark, its last statement. */
static int64_t mark_of(size_t n) {
    const struct fake_statement *mark = fake_sent_by(
        fake_write_conn(), n, fake_write_conn()->txns[fake_place(fake_write_conn(), n)].sent - 1);

    assert_int_equal(mark->stmt, SQL_MARK_COMMIT);
    assert_int_equal(fake_scalar(mark, TXN_NODE), ME);
    return fake_scalar(mark, TXN_NUMBER);
}

static int64_t added_id(void) {
    return fake_element(fake_sent(fake_write_conn(), 0), ADD_ID, 0);
}

static int64_t added_tried(void) {
    return fake_element(fake_sent(fake_write_conn(), 0), ADD_UNIQUE_TRIED, 0);
}

static void commit(void) {
    fake_commit_empty(fake_write_conn());
}

static void lose(void) {
    fake_lose(fake_write_conn());
    fake_write_conn()->state = DB_READY;
    batch_flush();
}

static void assert_asked(int64_t txn) {
    assert_unmarked(SQL_FIND_COMMITS);
    assert_int_equal(fake_scalar(fake_sent(fake_write_conn(), 0), TXN_NODE), ME);
    assert_int_equal(fake_elements(fake_sent(fake_write_conn(), 0), TXN_NUMBER), 1);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), TXN_NUMBER, 0), txn);
}

/* The database says that this transaction, and no other, was committed. */
static void answer(int64_t committed) {
    PGresult *rows[] = { fake_rows(1) };

    if (committed != 0)
        fake_set_int(rows[0], 0, 0, 8, committed);
    fake_commit(fake_write_conn(), rows);
    batch_flush();
}

/* The second question is not answered either. */
static void do_not_answer(void) {
    fake_fail(fake_write_conn(), 0, "42501");
    batch_flush();
}

/* Ends all transactions under way. Their statements return no rows. */
static void end_all_markers(void) {
    int txns = 0;

    for (batch_flush(); fake_write_conn()->sent_txns > 0; batch_flush()) {
        assert_true(++txns < 10);
        commit();
    }
}

/* Loses the transaction of an ADDJOB, for which the server then asks. Returns its number. */
static int64_t lose_one(const char *words) {
    int64_t txn;

    add(words);
    batch_flush();
    txn = mark_of(0);
    lose();
    assert_replies("");
    return txn;
}

/* ---- marking ---- */

static void test_alone_leaves_no_mark(void **state) {
    (void)state;
    node_forget(node_get(OTHER));
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_unmarked(SQL_ADD_JOBS_ALIKE);
    commit();
    assert_replies("add:D");
}

static void test_mark_rides_along(void **state) {
    int64_t first;

    (void)state;
    add("ADDJOB q1 a 0");
    add("ADDJOB q1 b 0");
    batch_flush();
    assert_marked(SQL_ADD_JOBS_ALIKE);
    first = mark_of(0);
    assert_int_equal(first >> RUN_SHIFT, RUN);
    commit();
    add("ADDJOB q1 c 0");
    batch_flush();
    assert_marked(SQL_ADD_JOBS_ALIKE);
    assert_int_equal(mark_of(0), first + 1);
    commit();
    assert_replies("add:D add:D add:D");
}

/* A registered server may live although it is silent. */
static void test_also_while_the_other_is_silent(void **state) {
    (void)state;
    register_other(false);
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_marked(SQL_ADD_JOBS_ALIKE);
    commit();
    assert_replies("add:D");
}

static void test_one_mark_for_all_statements(void **state) {
    (void)state;
    add("ADDJOB q1 a 0");
    add("ADDJOB q1 b 0 RETRY 7");
    add("ADDJOB q1 c 0 UNIQUE k");
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 4);
    assert_int_equal(fake_sent(fake_write_conn(), 2)->stmt, SQL_ADD_UNIQUE);
    assert_int_equal(fake_sent(fake_write_conn(), 3)->stmt, SQL_MARK_COMMIT);
    fake_lose(fake_write_conn());
    fake_write_conn()->state = DB_READY;
    batch_flush();
    assert_int_equal(fake_elements(fake_sent(fake_write_conn(), 0), TXN_NUMBER), 1);
    answer(fake_element(fake_sent(fake_write_conn(), 0), TXN_NUMBER, 0));
    end_all_markers();
    assert_replies("add:D add:D add:D");
}

static void test_two_txns_have_two_marks(void **state) {
    int64_t first, second;

    (void)state;
    add("ADDJOB q1 a 0");
    batch_flush();
    add("ADDJOB q1 b 0");
    batch_flush();
    first = mark_of(0);
    second = mark_of(1);
    assert_int_equal(second, first + 1);
    lose();
    assert_unmarked(SQL_FIND_COMMITS);
    assert_int_equal(fake_elements(fake_sent(fake_write_conn(), 0), TXN_NUMBER), 2);
    answer(first);
    assert_replies("add:D");
    assert_marked(SQL_ADD_JOBS_ALIKE);
    assert_int_equal(fake_sent(fake_write_conn(), 0)->rows, 1);
    assert_int_equal(mark_of(0), second + 1);
    commit();
    assert_replies("add:D");
}

/* A failed transaction has no mark. The repeated one has a new mark. */
static void test_a_failed_txn_has_no_mark(void **state) {
    int64_t first;

    (void)state;
    add("ADDJOB q1 a 0");
    batch_flush();
    first = mark_of(0);
    fake_fail(fake_write_conn(), 0, "40001");
    batch_flush();
    assert_marked(SQL_ADD_JOBS_ALIKE);
    assert_int_equal(mark_of(0), first + 1);
    commit();
    assert_replies("add:D");
}

/* The marker fails each time. Each task is sent alone once, and then fails. */
static void test_a_failed_marker_ends_its_tasks(void **state) {
    (void)state;
    add("ADDJOB q1 a 0");
    add("ADDJOB q1 b 0");
    for (int i = 0; i < 3; i++) {
        batch_flush();
        assert_marked(i == 0 ? SQL_ADD_JOBS_ALIKE : SQL_ADD_JOBS);
        fake_fail(fake_write_conn(), 1, "42P01");
    }
    batch_flush();
    assert_replies("add:DBERR add:DBERR");
}

/* Tasks of a failed statement travel alone, and have marks as well. */
static void test_suspects_are_marked(void **state) {
    int64_t mark;

    (void)state;
    add("ADDJOB q1 a 0");
    add("ADDJOB q1 b 0");
    batch_flush();
    fake_fail(fake_write_conn(), 0, "22000");
    batch_flush();
    assert_marked(SQL_ADD_JOBS);
    assert_int_equal(fake_sent(fake_write_conn(), 0)->rows, 1);
    mark = mark_of(0);
    lose();
    assert_asked(mark);
    answer(0);
    end_all_markers();
    assert_replies("add:D add:D");
}

/* ---- lost ---- */

/* It is not inserted again, though another server may have given it out, and removed it. */
static void test_committed(void **state) {
    int64_t id, txn;

    (void)state;
    add("ADDJOB q1 a 0");
    batch_flush();
    id = added_id();
    txn = mark_of(0);
    lose();
    assert_asked(txn);
    answer(txn);
    assert_replies("add:D");
    assert_int_equal(adder_id(), id);
    assert_int_equal(fake_write_conn()->sent_txns, 0);
    /* bootstrap.c has counted it. */
    assert_int_equal(queue_named("q1")->counters.total, 0);
}

static void test_undone(void **state) {
    int64_t txn;

    (void)state;
    txn = lose_one("ADDJOB q1 a 0");
    assert_asked(txn);
    answer(0);
    assert_marked(SQL_ADD_JOBS_ALIKE);
    assert_int_equal(mark_of(0), txn + 1);
    assert_replies("");
    commit();
    assert_replies("add:D");
    assert_int_equal(queue_named("q1")->counters.total, 1);
}

static void test_unknown(void **state) {
    (void)state;
    lose_one("ADDJOB q1 a 0");
    do_not_answer();
    assert_marked(SQL_ADD_MISSING);
    commit();
    assert_replies("add:D");
}

static void test_the_question_is_lost_as_well(void **state) {
    int64_t txn;

    (void)state;
    txn = lose_one("ADDJOB q1 a 0");
    lose();
    assert_asked(txn);
    answer(txn);
    assert_replies("add:D");
}

/* The second try may be lost, too, and has a mark of its own. */
static void test_lost_again(void **state) {
    int64_t first, second;

    (void)state;
    first = lose_one("ADDJOB q1 a 0");
    answer(0);
    second = mark_of(0);
    lose();
    assert_asked(second);
    assert_true(second > first);
    answer(second);
    assert_replies("add:D");
}

/* Its answer would say nothing of them. */
static void test_lost_while_others_are_asked_for(void **state) {
    int64_t first, second;

    (void)state;
    first = lose_one("ADDJOB q1 a 0");
    add("ADDJOB q1 b 0");
    batch_flush();
    second = mark_of(1);
    lose();
    assert_int_equal(fake_elements(fake_sent(fake_write_conn(), 0), TXN_NUMBER), 2);
    answer(second);
    assert_replies("add:D");
    assert_marked(SQL_ADD_JOBS_ALIKE);
    assert_true(mark_of(0) > second && second > first);
    commit();
    assert_replies("add:D");
}

static void test_given_up_while_it_is_asked_for(void **state) {
    int64_t txn;

    (void)state;
    txn = lose_one("ADDJOB q1 a 100");
    timers_run(clock_mono() + 100 * US_PER_MS);
    assert_replies("0:-NOREPL");
    answer(txn);
    assert_unmarked(SQL_DELETE_JOBS);
    commit();
    assert_replies("");
}

/* ---- with a key ---- */

/* The key may be free, because the job has ended. The statement adds nothing, unless it finds the trace of the lost try. */
static void test_committed_unique(void **state) {
    int64_t id, txn, trace;

    (void)state;
    add("ADDJOB q1 a 0 UNIQUE k");
    batch_flush();
    assert_marked(SQL_ADD_UNIQUE);
    assert_int_equal(added_tried(), 0);
    id = added_id();
    trace = fake_element(fake_sent(fake_write_conn(), 0), ADD_UNIQUE_TRACE, 0);
    txn = mark_of(0);
    lose();
    assert_asked(txn);
    answer(txn);
    assert_marked(SQL_ADD_UNIQUE);
    assert_true(trace > txn && mark_of(0) > trace);
    assert_int_equal(added_tried(), trace);
    commit();
    assert_replies("add:D");
    assert_int_equal(adder_id(), id);
    assert_int_equal(fake_write_conn()->sent_txns, 0);
    assert_int_equal(queue_named("q1")->counters.total, 0);
}

static void test_committed_unique_has_been_taken(void **state) {
    PGresult *rows[2] = { fake_rows(8), NULL };
    int64_t txn, holder = job_new_id(clock_db(), OTHER);

    (void)state;
    txn = lose_one("ADDJOB q1 a 0 UNIQUE k");
    answer(txn);
    fake_set_int(rows[0], 0, 0, 4, 1);
    fake_set_int(rows[0], 0, 1, 2, 0);
    fake_set_int(rows[0], 0, 2, 8, holder);
    fake_set_int(rows[0], 0, 3, 8, clock_db());
    fake_set_int(rows[0], 0, 4, 4, 60);
    fake_set_int(rows[0], 0, 5, 1, 0);
    fake_commit(fake_write_conn(), rows);
    assert_replies("add:D");
    assert_int_equal(adder_id(), holder);
}

static void assert_added_again(void) {
    PGresult *rows[2] = { fake_rows(8), NULL };

    assert_marked(SQL_ADD_UNIQUE);
    assert_int_equal(added_tried(), 0);
    fake_set_int(rows[0], 0, 0, 4, 0);
    fake_set_int(rows[0], 0, 2, 8, added_id());
    fake_commit(fake_write_conn(), rows);
    assert_replies("add:D");
    assert_int_equal(queue_named("q1")->counters.total, 1);
}

static void test_undone_unique(void **state) {
    (void)state;
    lose_one("ADDJOB q1 a 0 UNIQUE k");
    answer(0);
    assert_added_again();
}

static void test_unknown_unique(void **state) {
    (void)state;
    lose_one("ADDJOB q1 a 0 UNIQUE k");
    do_not_answer();
    assert_added_again();
}

/* ---- forgetting ---- */

static int64_t forgotten_from;

/* Runs the cleanup of each second. Returns the first transaction whose answer is still needed. */
static int64_t forget(void) {
    int64_t first;

    commit_marker_forget();
    batch_flush();
    assert_int_equal(fake_count(side()), 1);
    assert_int_equal(fake_sent(side(), 0)->stmt, SQL_FORGET_COMMITS);
    assert_int_equal(fake_scalar(fake_sent(side(), 0), TXN_NODE), ME);
    first = fake_scalar(fake_sent(side(), 0), TXN_NUMBER);
    forgotten_from = fake_scalar(fake_sent(side(), 0), TXN_FROM);
    fake_commit_empty(side());
    return first;
}

static void commit_one(void) {
    add("ADDJOB q1 a 0");
    batch_flush();
    commit();
}

static int64_t forget_one(void) {
    commit_one();
    return forget();
}

static void forget_fails(void) {
    commit_one();
    commit_marker_forget();
    batch_flush();
    fake_fail(side(), 0, "42501");
}

static void test_answered_ones_are_forgotten(void **state) {
    int64_t txn;

    (void)state;
    add("ADDJOB q1 a 0");
    batch_flush();
    txn = mark_of(0);
    assert_true(forget() == txn);
    commit();
    assert_true(forget() == txn + 1);
    commit_marker_forget();
    assert_true(batch_idle());
    assert_replies("add:D");
}

/* The cleanup does not read deleted marks again. It repeats a failed statement. */
static void test_forgets_from_the_last_time_on(void **state) {
    int64_t first = forget_one();

    (void)state;
    forget_fails();
    assert_true(forget_one() == first + 2);
    assert_true(forgotten_from == first);
    assert_true(forget_one() == first + 3);
    assert_true(forgotten_from == first + 2);
    assert_replies("add:D add:D add:D add:D");
}

static void test_lost_ones_are_kept(void **state) {
    int64_t txn;

    (void)state;
    add("ADDJOB q1 a 0");
    batch_flush();
    commit();
    assert_replies("add:D");
    txn = lose_one("ADDJOB q1 b 0");
    assert_true(forget() == txn);
    answer(txn);
    assert_true(forget() == txn + 1);
    assert_replies("add:D");
}

/* A session has used the functions of sql/api. It counts as another server from then on, so this test is the last. */
static void test_sql_is_another(void **state) {
    PGresult *no[] = { fake_rows(1) }, *yes[] = { fake_rows(1) };

    (void)state;
    node_forget(node_get(OTHER));
    fake_set_int(no[0], 0, COL_SQL_CHANGES_WERE_MADE, 1, false);
    fake_set_int(yes[0], 0, COL_SQL_CHANGES_WERE_MADE, 1, true);
    commit_marker_look();
    batch_flush();
    fake_commit(side(), no);
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_unmarked(SQL_ADD_JOBS_ALIKE);
    commit();
    commit_marker_look();
    batch_flush();
    fake_commit(side(), yes);
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_marked(SQL_ADD_JOBS_ALIKE);
    commit();
    commit_marker_look();
    batch_flush();
    assert_true(batch_idle());
    assert_replies("add:D add:D");
    register_other(true);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_alone_leaves_no_mark),
        TEST(test_mark_rides_along),
        TEST(test_also_while_the_other_is_silent),
        TEST(test_one_mark_for_all_statements),
        TEST(test_two_txns_have_two_marks),
        TEST(test_a_failed_txn_has_no_mark),
        TEST(test_a_failed_marker_ends_its_tasks),
        TEST(test_suspects_are_marked),
        TEST(test_committed),
        TEST(test_undone),
        TEST(test_unknown),
        TEST(test_the_question_is_lost_as_well),
        TEST(test_lost_again),
        TEST(test_lost_while_others_are_asked_for),
        TEST(test_given_up_while_it_is_asked_for),
        TEST(test_committed_unique),
        TEST(test_committed_unique_has_been_taken),
        TEST(test_undone_unique),
        TEST(test_unknown_unique),
        TEST(test_answered_ones_are_forgotten),
        TEST(test_forgets_from_the_last_time_on),
        TEST(test_lost_ones_are_kept),
        TEST(test_sql_is_another),
    };

    return cmocka_run_group_tests_name("flight_mark", tests, group_start, fake_batch_stop);
}
