/* LTRIM, LSET, LREM: sent statements, shared statements, and lost answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "batch/task_queue.h"
#include "commands/dispatch.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/list_read.h"
#include "noted_replies.h"
#include "queue/list_orientation.h"

/* Columns of trim_list.sql. */
enum { AFTER_RANK = 1, AFTER_ID, PLACE = 4, COUNTED_FROM, CUT };
enum { FRONT = 1, BACK = 2 };

static struct op *const ops[] = { &op_remove_first,
                                  &op_remove_last,
                                  &op_set_element,
                                  &op_trim_list,
                                  &op_find_commits,
                                  &op_read_consume_ends,
                                  NULL };

static const struct command ltrim = { .handler = cmd_ltrim }, lset = { .handler = cmd_lset },
                            lrem = { .handler = cmd_lrem };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

/* Twenty jobs, pushed from the left. */
static int start(void **state) {
    struct queue *q;

    (void)state;
    getters_start();
    op_trim_list.width = 16; /* as after several fast transactions */
    node_self()->number = 3;
    q = queue_named("q1");
    q->list.consume_end = END_RIGHT;
    queue_count_total(q, 20);
    queue_count_len(q, 20);
    q->scan.may_have_more = true;
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    assert_null(queue_named("q1")->work->trim);
    getters_stop();
    buf_free(&noted_replies);
    return 0;
}

static void command(const struct command *cmd, const char *a, const char *b) {
    struct slice argv[] = { SLICE("x"), SLICE("q1"), slice_str(a), slice_str(b) };
    struct req *r = req_new(4, argv, NULL, noted_on_end);

    r->cmd = cmd;
    cmd->handler(r);
}

static const struct fake_statement *sent(size_t i) {
    return fake_sent(fake_write_conn(), i);
}

static void commit(void) {
    fake_commit_empty(fake_write_conn());
    batch_flush();
}

/* Was the lost transaction committed? */
static void tell(bool committed) {
    PGresult *res = fake_rows(1);
    int64_t txn;

    assert_int_equal(sent(0)->stmt, SQL_FIND_COMMITS);
    txn = fake_element(sent(0), 1, 0);
    assert_true(txn > 0);
    if (committed)
        fake_set_int(res, 0, 0, 8, txn);
    fake_commit(fake_write_conn(), &res);
    batch_flush();
}

/* ---- the consume end ---- */

/* end: that of the row; END_NONE: null. */
static void tell_end(enum list_end end) {
    PGresult *res = fake_rows(COLUMNS_READ_CONSUME_ENDS);

    assert_int_equal(sent(0)->stmt, SQL_READ_CONSUME_ENDS);
    fake_set_int(res, 0, COL_READ_CONSUME_ENDS_ID, 4, queue_named("q1")->id);
    if (end == END_NONE)
        assert_int_equal(PQsetvalue(res, 0, COL_READ_CONSUME_ENDS_CONSUME_END, NULL, -1), 1);
    else
        fake_set_int(res, 0, COL_READ_CONSUME_ENDS_CONSUME_END, 2, end);
    fake_commit(fake_write_conn(), (PGresult *[]){ res, NULL });
    batch_flush();
}

static void remove_x(void) {
    command(&lrem, "1", "x");
    batch_flush();
}

static void assert_removes_with(enum sql_stmt stmt) {
    assert_int_equal(sent(0)->stmt, stmt);
    commit();
    assert_replied(":0");
}

/* A server without peers reads once that a queue has no end. With peers it reads that for each command. */
static void test_the_end_is_read(void **state) {
    struct queue *q = queue_named("q1");
    struct node *peer = node_get(5);

    (void)state;
    list_orientation_set(q, END_NONE);
    remove_x();
    tell_end(END_NONE);
    assert_removes_with(SQL_REMOVE_LAST);
    remove_x();
    assert_removes_with(SQL_REMOVE_LAST);
    peer->live = true;
    list_orientation_peer_appeared();
    for (int i = 0; i < 2; i++) {
        remove_x();
        tell_end(END_NONE);
        assert_removes_with(SQL_REMOVE_LAST);
    }
    /* The peer has set the end. */
    peer->live = false;
    remove_x();
    tell_end(END_LEFT);
    assert_removes_with(SQL_REMOVE_FIRST);
    remove_x();
    assert_removes_with(SQL_REMOVE_FIRST);
}

/* ---- sent statements ---- */

static void test_places_from_both_ends(void **state) {
    (void)state;
    command(&ltrim, "2", "-4");
    batch_flush();
    assert_int_equal(sent(0)->stmt, SQL_TRIM_LIST);
    assert_int_equal(fake_elements(sent(0), PLACE), 2);
    assert_int_equal(fake_element(sent(0), PLACE, 0), 2);
    assert_int_equal(fake_element(sent(0), COUNTED_FROM, 0), BACK);
    assert_int_equal(fake_element(sent(0), CUT, 0), BACK);
    assert_int_equal(fake_element(sent(0), PLACE, 1), 3);
    assert_int_equal(fake_element(sent(0), COUNTED_FROM, 1), FRONT);
    assert_int_equal(fake_element(sent(0), CUT, 1), FRONT);
    commit();
    assert_replied("+OK");
}

static void test_short_lists_are_not_trimmed(void **state) {
    (void)state;
    command(&ltrim, "0", "19");
    command(&ltrim, "-20", "-1");
    command(&ltrim, "0", "-1");
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 0);
    assert_replied("+OK +OK +OK");
    command(&ltrim, "0", "18");
    batch_flush();
    assert_int_equal(sent(0)->stmt, SQL_TRIM_LIST);
    commit();
    assert_replied("+OK");
}

static void test_commands_share_a_statement(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        command(&ltrim, "0", "9");
    /* The server would end the request of an evicted client in this way. */
    assert_false(batch_withdraw(task_queue_first(&op_trim_list)));
    command(&ltrim, "0", "8");
    command(&ltrim, "1", "-1");
    command(&ltrim, "1", "-1");
    batch_flush();
    /* The two commands remove two elements. Their transaction has a mark. */
    assert_int_equal(fake_count(fake_write_conn()), 5);
    assert_int_equal(sent(4)->stmt, SQL_MARK_COMMIT);
    /* A statement that was sent already may have seen fewer elements. */
    command(&ltrim, "0", "8");
    commit();
    assert_replied("+OK +OK +OK +OK +OK +OK");
    assert_int_equal(fake_count(fake_write_conn()), 1);
    commit();
    assert_replied("+OK");
}

static void test_all_joined_clients_get_the_error(void **state) {
    (void)state;
    command(&ltrim, "0", "9");
    command(&ltrim, "0", "9");
    batch_flush();
    fake_fail(fake_write_conn(), 0, "42P01");
    batch_flush();
    assert_replied("-DBERR -DBERR");
}

/* The next search begins behind the removed elements. */
static void test_the_frontier_moves(void **state) {
    struct queue *q = queue_named("q1");
    PGresult *res = fake_rows(8);
    static const int64_t ids[] = { 101, 103, 102, 900 };

    (void)state;
    assert_true(job_new_id(clock_db(), 3) > 900);
    command(&ltrim, "0", "15");
    batch_flush();
    for (int i = 0; i < 4; i++) {
        fake_set_int(res, i, 0, 2, 0);
        fake_set_int(res, i, 1, 8, ids[i]);
        fake_set_int(res, i, 2, 8, 0);
        fake_set_int(res, i, 7, 1, ids[i] != 900);
        assert_int_equal(PQsetvalue(res, i, 5, NULL, -1), 1);
        assert_int_equal(PQsetvalue(res, i, 6, NULL, -1), 1);
    }
    fake_commit(fake_write_conn(), &res);
    assert_replied("+OK");
    assert_int_equal(queue_len(q), 16);
    assert_int_equal(q->counters.total, 16);
    assert_int_equal(q->scan.position.id, 103);
    command(&ltrim, "0", "9");
    batch_flush();
    assert_int_equal(fake_scalar(sent(0), AFTER_RANK), 0);
    assert_int_equal(fake_scalar(sent(0), AFTER_ID), 103);
    commit();
    assert_replied("+OK");
}

static void test_a_taken_element_is_set_again(void **state) {
    PGresult *res = fake_rows(3);

    (void)state;
    command(&lset, "1", "new");
    batch_flush();
    fake_set_int(res, 0, 0, 2, 0);
    fake_set_int(res, 0, 1, 8, 7);
    fake_set_int(res, 0, 2, 1, false);
    fake_commit(fake_write_conn(), (PGresult *[]){ res, NULL });
    batch_flush();
    assert_replied("");
    assert_int_equal(sent(0)->stmt, SQL_SET_ELEMENT);
    commit();
    assert_replied("-ERR");
}

/* ---- lost answers ---- */

static void test_so_many_stay_is_said_again(void **state) {
    (void)state;
    command(&ltrim, "0", "9");
    command(&ltrim, "0", "9");
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    fake_lose_and_repeat();
    assert_int_equal(sent(0)->stmt, SQL_TRIM_LIST);
    commit();
    assert_replied("+OK +OK");
}

static void test_so_many_go_is_not(void **state) {
    (void)state;
    command(&ltrim, "5", "-1");
    batch_flush();
    fake_lose_and_repeat();
    tell(true);
    assert_replied("+OK");
    command(&ltrim, "5", "-1");
    batch_flush();
    fake_lose_and_repeat();
    tell(false);
    assert_replied("");
    assert_int_equal(sent(0)->stmt, SQL_TRIM_LIST);
    commit();
    assert_replied("+OK");
}

static void test_removed_with_an_unknown_count(void **state) {
    (void)state;
    command(&lrem, "1", "x");
    batch_flush();
    fake_lose_and_repeat();
    tell(true);
    assert_replied("-UNKNOWN");
    command(&lrem, "1", "x");
    batch_flush();
    fake_lose_and_repeat();
    tell(false);
    commit();
    assert_replied(":0");
}

static void test_set_once(void **state) {
    (void)state;
    command(&lset, "0", "x");
    batch_flush();
    fake_lose_and_repeat();
    tell(true);
    assert_replied("-UNKNOWN");
}

/* The database does not say. */
static void test_unknown_result(void **state) {
    (void)state;
    command(&ltrim, "1", "-1");
    batch_flush();
    fake_lose_and_repeat();
    assert_int_equal(sent(0)->stmt, SQL_FIND_COMMITS);
    fake_fail(fake_write_conn(), 0, "42P01");
    batch_flush();
    assert_replied("-UNKNOWN");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_end_is_read),
        TEST(test_places_from_both_ends),
        TEST(test_short_lists_are_not_trimmed),
        TEST(test_commands_share_a_statement),
        TEST(test_all_joined_clients_get_the_error),
        TEST(test_the_frontier_moves),
        TEST(test_a_taken_element_is_set_again),
        TEST(test_so_many_stay_is_said_again),
        TEST(test_so_many_go_is_not),
        TEST(test_removed_with_an_unknown_count),
        TEST(test_set_once),
        TEST(test_unknown_result),
    };

    return cmocka_run_group_tests_name("trim", tests, group_start, fake_batch_stop);
}
