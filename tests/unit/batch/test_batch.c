/* Natural batching: which tasks travel in which statement of which transaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch_tasks.h"

/* ---- a transaction ---- */

static void test_nothing_to_send(void **state) {
    (void)state;
    batch_flush();
    assert_int_equal(fake_db.conns[WRITE]->state, DB_READY);
    assert_int_equal(fake_db.conns[READ]->state, DB_READY);
    assert_true(batch_idle());
}

static void test_one_statement_per_operation(void **state) {
    (void)state;
    add(&b[1]);
    add(&a[1]);
    add(&a[2]);
    add(&b[2]);
    add(&a[3]);
    assert_int_equal(a[1].task.state, TASK_QUEUED);
    batch_flush();
    assert_txn(WRITE, "a1,2,3 b1,2");
    assert_int_equal(trial_begins, 2);
    assert_int_equal(trial_encodes, 5);
    assert_int_equal(a[1].task.state, TASK_SENT);
    assert_events("");
    commit(WRITE);
    assert_events("done:a1,a2,a3 done:b1,b2");
    assert_true(batch_idle());
}

static void test_operations_in_their_order(void **state) {
    (void)state;
    add(&s[1]);
    add(&c[1]);
    add(&b[1]);
    add(&a[1]);
    batch_flush();
    assert_txn(WRITE, "a1 b1 c1");
    assert_txn(READ, "s1");
    commit(READ);
    assert_events("done:s1");
    commit(WRITE);
    assert_events("done:a1 done:b1 done:c1");
}

static void test_alone(void **state) {
    (void)state;
    add(&c[1]);
    add(&c[2]);
    add(&a[1]);
    add(&c[3]);
    batch_flush();
    assert_txn(WRITE, "a1 c1 c2 c3");
    assert_int_equal(trial_begins, 4);
    commit(WRITE);
    assert_events("done:a1 done:c1 done:c2 done:c3");
}

static void test_rows_of_a_task(void **state) {
    (void)state;
    a[1].task.rows = 3;
    a[3].task.rows = 2;
    add(&a[1]);
    add(&a[2]);
    add(&a[3]);
    batch_flush();
    assert_txn(WRITE, "a1,1,1,2,3,3");
    assert_int_equal(a[1].task.first_row, 0);
    assert_int_equal(a[2].task.first_row, 3);
    assert_int_equal(a[3].task.first_row, 4);
    commit(WRITE);
    assert_events("done:a1,a2,a3");
}

static PGresult *result_of(int64_t number) {
    PGresult *res = fake_rows(1);

    fake_set_int(res, 0, 0, 8, number);
    return res;
}

static int64_t seen_rows[3];

static void note_rows(struct task **tasks, size_t count, const PGresult *rows) {
    (void)count;
    seen_rows[trial_of(tasks[0])->id] = row_int8(rows, 0, 0);
}

/* Each statement gets its own result. */
static void test_results(void **state) {
    PGresult *rows[3] = { result_of(100), result_of(200), result_of(300) };
    struct op *ops[] = { &op_a, &op_b, &op_c };

    (void)state;
    for (int i = 0; i < 3; i++)
        ops[i]->done = note_rows;
    add(&a[0]);
    add(&b[1]);
    add(&c[2]);
    batch_flush();
    fake_commit(fake_db.conns[WRITE], rows);
    for (int i = 0; i < 3; i++) {
        ops[i]->done = trial_done;
        assert_int_equal(seen_rows[i], 100 * (i + 1));
    }
}

/* ---- gathering ---- */

static void test_gathers_while_txns_are_under_way(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    add(&a[2]);
    batch_flush();
    add(&b[1]);
    add(&a[3]);
    batch_flush();
    assert_txn(WRITE, "a1");
    assert_second_txn(WRITE, "a2");
    assert_int_equal(trial_plans, 2);
    assert_false(batch_idle());
    commit(WRITE);
    assert_txn(WRITE, "a2");
    assert_second_txn(WRITE, "");
    assert_int_equal(a[3].task.state, TASK_QUEUED);
    batch_flush();
    assert_second_txn(WRITE, "a3 b1");
    commit(WRITE);
    commit(WRITE);
    assert_events("done:a1 done:a2 done:a3 done:b1");
}

static void test_gathers_while_down(void **state) {
    (void)state;
    fake_db.conns[WRITE]->state = DB_DOWN;
    fake_db.conns[READ]->state = DB_PREPARING;
    add(&a[1]);
    add(&s[1]);
    batch_flush();
    assert_int_equal(trial_encodes, 0);
    assert_int_equal(trial_plans, 0);
    assert_false(batch_connected(CONN_WRITE));
    assert_false(batch_connected(CONN_READ));
    fake_db.conns[WRITE]->state = DB_READY;
    assert_true(batch_connected(CONN_WRITE));
    batch_flush();
    assert_txn(WRITE, "a1");
    assert_true(batch_connected(CONN_WRITE));
    assert_false(batch_connected(CONN_READ));
    commit(WRITE);
    assert_events("done:a1");
    assert_false(batch_idle());
    batch_cancel(&s[1].task);
}

/* The owner of an ended task may add another task, which waits for the next transaction. */
static void go_on(struct trial *t) {
    if (t == &a[1])
        add(&a[2]);
}

static void test_done_adds(void **state) {
    (void)state;
    trial_on_done = go_on;
    add(&a[1]);
    add(&b[1]);
    batch_flush();
    commit(WRITE);
    assert_events("done:a1 done:b1");
    assert_int_equal(a[2].task.state, TASK_QUEUED);
    batch_flush();
    assert_txn(WRITE, "a2");
    commit(WRITE);
    assert_events("done:a2");
}

/* ---- limits ---- */

static void test_most_rows(void **state) {
    (void)state;
    config.batch_max = 5;
    for (int i = 1; i <= 4; i++)
        a[i].task.rows = 2;
    for (int i = 1; i <= 6; i++)
        add(&a[i]);
    add(&b[1]);
    batch_flush();
    assert_txn(WRITE, "a1,1,2,2 b1");
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "a3,3,4,4,5");
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "a6");
    commit(WRITE);
    assert_events("done:a1,a2 done:b1 done:a3,a4,a5 done:a6");
}

static void test_more_rows_than_the_most(void **state) {
    (void)state;
    config.batch_max = 2;
    a[2].task.rows = 4;
    add(&a[1]);
    add(&a[2]);
    add(&a[3]);
    batch_flush();
    assert_txn(WRITE, "a1");
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "a2,2,2,2");
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "a3");
    commit(WRITE);
}

static void test_most_bytes(void **state) {
    (void)state;
    config.batch_max_bytes = 100;
    a[1].task.bytes = 60;
    a[2].task.bytes = 40;
    a[3].task.bytes = 1;
    a[4].task.bytes = 5000;
    a[5].task.bytes = 100;
    for (int i = 1; i <= 5; i++)
        add(&a[i]);
    batch_flush();
    assert_txn(WRITE, "a1,2");
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "a3");
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "a4");
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "a5");
    commit(WRITE);
}

static void test_most_statements(void **state) {
    (void)state;
    add_many(c, 0, 39);
    add(&b[1]);
    batch_flush();
    assert_int_equal(fake_count(fake_db.conns[WRITE]), 17);
    assert_int_equal(b[1].task.state, TASK_SENT);
    commit(WRITE);
    assert_int_equal(c[15].task.state, TASK_IDLE);
    batch_flush();
    assert_int_equal(fake_count(fake_db.conns[WRITE]), 16);
    assert_int_equal(c[31].task.state, TASK_SENT);
    assert_int_equal(c[32].task.state, TASK_QUEUED);
    commit(WRITE);
    batch_flush();
    assert_int_equal(fake_count(fake_db.conns[WRITE]), 8);
    commit(WRITE);
}

/* ---- plans ---- */

static void plan_a_task(void) {
    trial_plan = NULL;
    add(&a[7]);
    add(&c[7]);
}

static void test_planned_tasks_take_part(void **state) {
    (void)state;
    trial_plan = plan_a_task;
    add(&b[1]);
    batch_flush();
    assert_txn(WRITE, "a7 b1 c7");
    commit(WRITE);
}

static void test_plan_only_for_hot_txns(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    assert_int_equal(trial_plans, 1);
    add(&s[1]);
    batch_flush();
    assert_txn(READ, "s1");
    assert_int_equal(trial_plans, 1);
    commit(READ);
    batch_flush();
    assert_int_equal(trial_plans, 1);
    commit(WRITE);
    assert_int_equal(trial_plans, 1);
    batch_flush();
    assert_int_equal(trial_plans, 2);
}

/* ---- taking back ---- */

static void test_cancel(void **state) {
    (void)state;
    assert_false(batch_cancel(&a[1].task));
    add(&a[1]);
    add(&a[2]);
    add(&a[3]);
    assert_true(batch_cancel(&a[2].task));
    assert_int_equal(a[2].task.state, TASK_IDLE);
    assert_false(batch_cancel(&a[2].task));
    batch_flush();
    assert_txn(WRITE, "a1,3");
    assert_false(batch_cancel(&a[1].task));
    add(&a[2]);
    commit(WRITE);
    assert_false(batch_cancel(&a[1].task));
    batch_flush();
    assert_txn(WRITE, "a2");
    commit(WRITE);
    assert_events("done:a1,a3 done:a2");
}

#define TEST(fn) cmocka_unit_test_setup(fn, trial_start)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_to_send),
        TEST(test_one_statement_per_operation),
        TEST(test_operations_in_their_order),
        TEST(test_alone),
        TEST(test_rows_of_a_task),
        TEST(test_results),
        TEST(test_gathers_while_txns_are_under_way),
        TEST(test_gathers_while_down),
        TEST(test_done_adds),
        TEST(test_most_rows),
        TEST(test_more_rows_than_the_most),
        TEST(test_most_bytes),
        TEST(test_most_statements),
        TEST(test_planned_tasks_take_part),
        TEST(test_plan_only_for_hot_txns),
        TEST(test_cancel),
    };

    return cmocka_run_group_tests_name("batch", tests, trial_group_start, trial_group_stop);
}
