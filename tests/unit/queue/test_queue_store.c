/* Rows of queues: counters of very many queues are saved in parts, each of them once; unused rows are deleted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch/operations.h"
#include "fake_db.h"
#include "queue/queue.h"
#include "queue/queue_store.h"
#include "queue/settings.h"

#define QUEUES 12000
/* The most names of a turn. */
#define MOST 5000

static struct op *const ops[] = { &op_open_queues, &op_save_counters, &op_drop_queues, NULL };
static char saved[QUEUES + 1];

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int start(void **state) {
    (void)state;
    clock_turn();
    queue_init();
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    QUEUE_EACH(q) {
        queue_drop(q);
    }
    return 0;
}

static void count_one_in_each(void) {
    for (int32_t id = 1; id <= QUEUES; id++) {
        char name[16];
        struct queue *q;

        snprintf(name, sizeof name, "q%d", id);
        q = queue_get(slice_str(name));
        queue_set_id(q, id);
        queue_count_in(q, 1);
    }
}

/* Commits all statements. Counts the statements that contain each queue. */
static size_t commit_all(void) {
    struct db_conn *side = fake_db.conns[1];
    size_t rows = 0;

    for (batch_flush(); fake_count(side) > 0; batch_flush()) {
        const struct fake_statement *st = fake_sent(side, 0);
        PGresult *res = fake_rows(1);

        for (size_t i = 0; i < fake_elements(st, 0); i++) {
            saved[fake_element(st, 0, i)]++;
            assert_int_equal(fake_element(st, 1, i), 1);
            rows++;
        }
        fake_commit(side, &res);
    }
    return rows;
}

static void test_saved_in_parts(void **state) {
    (void)state;
    count_one_in_each();
    assert_true(queue_save_counters());
    assert_int_equal(commit_all(), MOST);
    assert_true(queue_save_counters());
    assert_int_equal(commit_all(), MOST);
    assert_false(queue_save_counters());
    assert_int_equal(commit_all(), QUEUES - 2 * MOST);
    for (int32_t id = 1; id <= QUEUES; id++)
        assert_int_equal(saved[id], 1);
    assert_false(queue_save_counters());
    assert_int_equal(commit_all(), 0);
}

/* ---- deletion ---- */

static struct task waiting_task;
static unsigned ready, failed;

static void on_ready(struct task *t) {
    assert_ptr_equal(t, &waiting_task);
    ready++;
}

static void on_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    failed++;
}

/* A request that comes while the row may be deleted. */
static void wait_for_row(struct queue *q) {
    static struct row_waiter waiter;

    ready = failed = 0;
    row_waiter_init(&waiter, &waiting_task, on_ready, on_fail);
    assert_false(queue_is_open(q));
    queue_prepare(q, &waiter);
    assert_int_equal(ready, 0);
}

/* A queue without jobs, whose deletion was sent. */
static struct queue *begin_deletion(void) {
    struct queue *q = queue_get(SLICE("unused"));

    queue_set_id(q, 7);
    queue_forget(q);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), 0, 0), 7);
    return q;
}

static void commit_deletion(bool deleted) {
    PGresult *res = fake_rows(1);

    if (deleted)
        fake_set_int(res, 0, COL_DROP_QUEUES_ID, 4, 7);
    fake_commit(fake_write_conn(), &res);
}

static void test_unused_row_is_deleted(void **state) {
    (void)state;
    begin_deletion();
    commit_deletion(true);
    assert_null(queue_find(SLICE("unused")));
    assert_null(queue_find_id(7));
}

/* A queue without a row is freed at once. */
static void test_queue_without_row(void **state) {
    (void)state;
    queue_forget(queue_get(SLICE("rowless")));
    assert_null(queue_find(SLICE("rowless")));
    batch_flush();
    assert_true(batch_idle());
}

/* Another server has added jobs, so the row stays, and the request goes on. */
static void test_row_that_is_used_stays(void **state) {
    struct queue *q = begin_deletion();

    (void)state;
    wait_for_row(q);
    commit_deletion(false);
    assert_int_equal(ready, 1);
    assert_true(queue_is_open(q) && queue_find_id(7) == q);
}

/* The row is deleted while a request needs it, and inserted again. */
static void test_row_is_inserted_again(void **state) {
    struct queue *q = begin_deletion();
    PGresult *res;

    (void)state;
    wait_for_row(q);
    commit_deletion(true);
    assert_int_equal(ready, 0);
    batch_flush();
    res = fake_rows(COL_OPEN_QUEUES_CREATED_AT + 1);
    fake_set_int(res, 0, COL_OPEN_QUEUES_ID, 4, 8);
    fake_set_bytes(res, 0, COL_OPEN_QUEUES_NAME, SLICE("unused"));
    fake_set_int(res, 0, COL_OPEN_QUEUES_PAUSE, 2, 0);
    fake_commit(fake_write_conn(), &res);
    assert_int_equal(ready, 1);
    assert_int_equal(q->id, 8);
}

static void test_deletion_fails(void **state) {
    struct queue *q = begin_deletion();

    (void)state;
    wait_for_row(q);
    fake_fail(fake_write_conn(), 0, "42501");
    assert_int_equal(ready, 1);
    assert_true(queue_is_open(q));
}

static void test_insertion_fails(void **state) {
    struct queue *q = queue_get(SLICE("new"));

    (void)state;
    wait_for_row(q);
    batch_flush();
    fake_fail(fake_write_conn(), 0, "42501");
    assert_int_equal(failed, 1);
    assert_false(queue_is_open(q));
}

/* Answers the statement as while an SQL transaction inserts the row. */
static void leave_unopened(void) {
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_OPEN_QUEUES);
    fake_commit_empty(fake_write_conn());
}

static void test_row_of_an_open_transaction(void **state) {
    struct queue *q = queue_get(SLICE("new"));

    (void)state;
    wait_for_row(q);
    leave_unopened();
    queue_open_again();
    leave_unopened();
    assert_int_equal(failed, 0);
    config.lock_patience = 0;
    queue_open_again();
    assert_int_equal(failed, 1);
    assert_int_equal(ready, 0);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 0);
    config_defaults();
}

/* A queue that has its row stays open. HEALTH needs the hidden queue. */
static void test_no_row_above_the_limit(void **state) {
    struct queue *q = queue_get(SLICE("new"));
    size_t before;

    (void)state;
    queue_set_id(queue_get(SLICE("old")), 7);
    before = queues_memory();
    config.maxmemory_queues = before;
    assert_false(queues_are_full());
    config.maxmemory_queues = before - 1;
    wait_for_row(q);
    assert_int_equal(failed, 0);
    timers_run(clock_mono());
    assert_int_equal(failed, 1);
    assert_true(queue_is_open(queue_find(SLICE("old"))));
    wait_for_row(queue_get(SLICE(QUEUE_HIDDEN)));
    leave_unopened();
    config.maxmemory_queues = 0;
    assert_false(queues_are_full());
    queue_open_again();
    batch_flush();
    fake_fail(fake_write_conn(), 0, "42501");
    settings_put_deadqueue(q, SLICE("dead"));
    settings_put_deadqueue(q, SLICE("dead letters"));
    queue_drop(q);
    assert_true(queues_memory() > 0 && queues_memory() < before + sizeof *q);
    config_defaults();
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_saved_in_parts),         TEST(test_unused_row_is_deleted),
        TEST(test_queue_without_row),      TEST(test_row_that_is_used_stays),
        TEST(test_row_is_inserted_again),  TEST(test_deletion_fails),
        TEST(test_insertion_fails),        TEST(test_row_of_an_open_transaction),
        TEST(test_no_row_above_the_limit),
    };

    return cmocka_run_group_tests_name("queue_row", tests, group_start, NULL);
}
