/* Two transactions under way on a connection: the time of the second, its tasks, and their ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch_tasks.h"

/* Sends the task as a transaction of its own. Returns the number of transactions under way. */
static size_t send_one(struct trial *t) {
    add(t);
    batch_flush();
    return fake_db.conns[WRITE]->sent_txns;
}

static size_t hot_txns(void) {
    batch_flush();
    return fake_db.conns[WRITE]->sent_txns;
}

/* ---- reading ---- */

static void test_land_in_order(void **state) {
    (void)state;
    assert_int_equal(send_one(&a[1]), 1);
    assert_int_equal(send_one(&b[1]), 2);
    assert_txn(WRITE, "a1");
    assert_second_txn(WRITE, "b1");
    assert_int_equal(send_one(&a[2]), 2);
    assert_int_equal(a[2].task.state, TASK_QUEUED);
    commit(WRITE);
    assert_events("done:a1");
    assert_int_equal(b[1].task.state, TASK_SENT);
    assert_int_equal(hot_txns(), 2);
    assert_txn(WRITE, "b1");
    assert_second_txn(WRITE, "a2");
    commit(WRITE);
    assert_events("done:b1");
    assert_false(batch_idle());
    commit(WRITE);
    assert_events("done:a2");
    assert_all_ended();
}

/* More than go around the ring once, with two under way all the time. */
static void test_one_after_the_other(void **state) {
    char expected[32];

    (void)state;
    send_one(&a[0]);
    for (int i = 1; i < 20; i++) {
        assert_int_equal(send_one(&a[i]), 2);
        commit(WRITE);
        snprintf(expected, sizeof expected, "done:a%d", i - 1);
        assert_events(expected);
    }
    commit(WRITE);
    assert_events("done:a19");
    assert_all_ended();
}

static PGresult *result_of(int64_t number) {
    PGresult *res = fake_rows(1);

    fake_set_int(res, 0, 0, 8, number);
    return res;
}

static int64_t seen_rows[3];

static void note_rows(struct task **tasks, size_t count, const PGresult *rows) {
    for (size_t i = 0; i < count; i++)
        seen_rows[trial_of(tasks[i])->id] = row_int8(rows, 0, 0);
}

/* The result of the second transaction is for its own tasks. */
static void test_results(void **state) {
    PGresult *first[] = { result_of(100) }, *second[] = { result_of(200) };

    (void)state;
    op_a.done = note_rows;
    send_one(&a[1]);
    send_one(&a[2]);
    fake_commit(fake_db.conns[WRITE], first);
    assert_int_equal(seen_rows[1], 100);
    assert_int_equal(seen_rows[2], 0);
    fake_commit(fake_db.conns[WRITE], second);
    assert_int_equal(seen_rows[2], 200);
    op_a.done = trial_done;
}

/* ---- failures ---- */

static void send_two_and_two(void) {
    add(&a[1]);
    add(&a[2]);
    batch_flush();
    add(&a[3]);
    add(&b[1]);
    assert_int_equal(hot_txns(), 2);
}

static void test_first_fails(void **state) {
    (void)state;
    send_two_and_two();
    fail_at(WRITE, 0, "40001");
    assert_events("again:a2 again:a1");
    assert_txn(WRITE, "a3 b1");
    add(&a[4]);
    assert_int_equal(hot_txns(), 2);
    assert_second_txn(WRITE, "a1,2,4");
    commit(WRITE);
    assert_events("done:a3 done:b1");
    commit(WRITE);
    assert_events("done:a1,a2,a4");
    assert_all_ended();
}

static void test_second_fails(void **state) {
    (void)state;
    send_two_and_two();
    commit(WRITE);
    fail_at(WRITE, 1, BAD_DATA);
    assert_events("done:a1,a2 fail:b1(" BAD_DATA ") again:a3");
    assert_commits("a3");
    assert_all_ended();
}

static void test_both_fail(void **state) {
    (void)state;
    add_many(a, 1, 4);
    batch_flush();
    add_many(b, 1, 4);
    assert_int_equal(hot_txns(), 2);
    a[3].refused = b[2].refused = BAD_DATA;
    assert_in_range(end_all_txns(), 4, 14);
    for (int i = 1; i <= 4; i++) {
        assert_int_equal(a[i].ends, 1);
        assert_int_equal(b[i].ends, 1);
        assert_int_equal(a[i].failed != NULL, i == 3);
        assert_int_equal(b[i].failed != NULL, i == 2);
    }
    assert_all_ended();
}

/* Every task again, and once, in the order in which they came. */
static void test_both_lost(void **state) {
    (void)state;
    send_two_and_two();
    add(&b[2]);
    add(&c[1]);
    fake_lose(fake_db.conns[WRITE]);
    assert_events("again:a3? again:a2? again:a1?");
    assert_false(batch_idle());
    assert_int_equal(hot_txns(), 0);
    fake_db.conns[WRITE]->state = DB_READY;
    assert_commits("r1,2,3 b1,2 c1");
    assert_events("done:r1,r2,r3 done:b1,b2 done:c1");
    assert_all_ended();
}

static void test_both_lost_again_and_again(void **state) {
    (void)state;
    add_many(b, 1, 40);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(hot_txns(), 2);
        assert_txn(WRITE, "b1-20");
        assert_second_txn(WRITE, "b21-40");
        lose(WRITE);
    }
    assert_int_equal(hot_txns(), 2);
    commit(WRITE);
    lose(WRITE);
    assert_int_equal(hot_txns(), 2);
    assert_txn(WRITE, "b21-30");
    assert_second_txn(WRITE, "b31-40");
    commit(WRITE);
    commit(WRITE);
    for (int i = 1; i <= 40; i++)
        assert_int_equal(b[i].ends, 1);
    assert_all_ended();
}

/* The second cannot be sent, because the connection has gone; so the first is lost too. */
static void test_sending_the_second_fails(void **state) {
    (void)state;
    send_one(&b[1]);
    fake_db.send_fails = true;
    assert_int_equal(send_one(&b[2]), 0);
    fake_db.send_fails = false;
    assert_int_equal(b[1].task.state, TASK_QUEUED);
    fake_db.conns[WRITE]->state = DB_READY;
    assert_commits("b1,2");
    assert_events("done:b1,b2");
    assert_all_ended();
}

static void test_conns_are_lost_apart(void **state) {
    (void)state;
    send_one(&b[1]);
    send_one(&b[2]);
    add(&s[1]);
    batch_flush();
    lose(READ);
    assert_txn(WRITE, "b1");
    commit(WRITE);
    commit(WRITE);
    assert_events("done:b1 done:b2");
    batch_flush();
    assert_txn(READ, "s1");
    commit(READ);
    assert_events("done:s1");
}

/* ---- suspects ---- */

/* They fly alone, and the others beside them. */
static void test_suspects_beside_others(void **state) {
    (void)state;
    add_many(a, 1, 4);
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    add_many(b, 1, 3);
    assert_int_equal(hot_txns(), 2);
    assert_txn(WRITE, "a1,2");
    assert_second_txn(WRITE, "b1,2,3");
    commit(WRITE);
    /* As many wait as fly, so the next goes: it is the suspects' turn. */
    add_many(b, 4, 6);
    assert_int_equal(hot_txns(), 2);
    assert_second_txn(WRITE, "a3,4");
    commit(WRITE);
    assert_int_equal(hot_txns(), 2);
    assert_second_txn(WRITE, "b4,5,6");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

/* They wait while there is nothing to fly beside. */
static void test_suspects_wait_alone(void **state) {
    (void)state;
    add_many(a, 1, 4);
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    assert_int_equal(hot_txns(), 1);
    assert_txn(WRITE, "a1,2");
    commit(WRITE);
    assert_commits("a3,4");
    assert_all_ended();
}

/* Suspects do not count as waiting tasks. */
static void test_suspect_is_taken_back(void **state) {
    (void)state;
    add_many(a, 1, 2);
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    assert_true(batch_cancel(&a[1].task));
    assert_commits("a2");
    add_many(a, 3, 17);
    assert_int_equal(hot_txns(), 1);
    assert_txn(WRITE, "a3-17");
    commit(WRITE);
    assert_all_ended();
}

/* A task that is no suspect any more shares transactions again. */
static void test_given_up_suspect_comes_back(void **state) {
    (void)state;
    add_many(a, 1, 2);
    a[1].gives_up = a[2].gives_up = true;
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    assert_events("again:a2 again:a1");
    add_many(a, 1, 2);
    assert_commits("a1,2");
    assert_all_ended();
}

/* ---- how tasks are shared out ---- */

static void test_few_are_not_split(void **state) {
    (void)state;
    add_many(a, 1, 15);
    assert_int_equal(hot_txns(), 1);
    assert_txn(WRITE, "a1-15");
    commit(WRITE);
    assert_all_ended();
}

static void test_many_are_split_evenly(void **state) {
    (void)state;
    add_many(a, 1, 16);
    assert_int_equal(hot_txns(), 2);
    assert_txn(WRITE, "a1-8");
    assert_second_txn(WRITE, "a9-16");
    commit(WRITE);
    commit(WRITE);
    add_many(b, 1, 17);
    assert_int_equal(hot_txns(), 2);
    assert_txn(WRITE, "b1-8");
    assert_second_txn(WRITE, "b9-17");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

/* An operation that does not spread goes at once, however many share the connection with it. */
static void test_some_do_not_spread(void **state) {
    (void)state;
    op_b.splittable = false;
    add_many(a, 1, 20);
    add_many(b, 1, 20);
    assert_int_equal(hot_txns(), 2);
    op_b.splittable = true;
    assert_txn(WRITE, "a1-10 b1-20");
    assert_second_txn(WRITE, "a11-20");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

static void test_cancelled_tasks_do_not_count(void **state) {
    (void)state;
    add_many(a, 1, 20);
    for (int i = 6; i <= 15; i++)
        assert_true(batch_cancel(&a[i].task));
    assert_int_equal(hot_txns(), 1);
    assert_txn(WRITE, "a1-5,16-20");
    commit(WRITE);
    assert_all_ended();
}

/* The second transaction leaves some tasks for later if it would otherwise become larger than the rest. */
static void test_second_leaves_some_behind(void **state) {
    (void)state;
    add_many(a, 1, 2);
    batch_flush();
    add_many(a, 3, 22);
    assert_int_equal(hot_txns(), 2);
    assert_second_txn(WRITE, "a3-13");
    commit(WRITE);
    assert_int_equal(hot_txns(), 1);
    add_many(a, 23, 24);
    assert_int_equal(hot_txns(), 2);
    assert_second_txn(WRITE, "a14-24");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

static void test_small_one_waits(void **state) {
    (void)state;
    add_many(a, 1, 10);
    batch_flush();
    add_many(b, 1, 9);
    assert_int_equal(hot_txns(), 1);
    assert_int_equal(trial_plans, 1);
    add(&b[10]);
    assert_int_equal(hot_txns(), 2);
    assert_second_txn(WRITE, "b1-10");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

/* However small, it goes when nothing is under way any more. */
static void test_small_one_goes_at_last(void **state) {
    (void)state;
    add_many(a, 1, 20);
    assert_int_equal(hot_txns(), 2);
    add(&b[1]);
    commit(WRITE);
    assert_int_equal(hot_txns(), 1);
    assert_int_equal(b[1].task.state, TASK_QUEUED);
    commit(WRITE);
    assert_commits("b1");
    assert_all_ended();
}

/* Each operation's tasks are split, not the operations; statements of their own are not. */
static void test_each_operation_has_its_share(void **state) {
    (void)state;
    add_many(a, 1, 20);
    add_many(b, 1, 10);
    add_many(c, 1, 2);
    assert_int_equal(hot_txns(), 2);
    assert_txn(WRITE, "a1-10 b1-5 c1 c2");
    assert_second_txn(WRITE, "a11-20 b6-10");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

static void test_a_locked_job_among_many(void **state) {
    (void)state;
    add_many(a, 1, 100);
    add(&b[1]);
    assert_commits("a1-50 b1");
    assert_int_equal(hot_txns(), 2);
    assert_txn(WRITE, "a51-75");
    assert_second_txn(WRITE, "a76-100");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

/* More and more tasks of other operations come. The single task is not passed by. */
static void test_every_kind_gets_a_turn(void **state) {
    int next = 40, txns = 0;

    (void)state;
    add_many(a, 0, 39);
    batch_flush();
    add(&b[1]);
    while (b[1].ends == 0) {
        assert_true(++txns <= 3);
        commit(WRITE);
        for (int i = 0; i < 30; i++)
            add(&a[next++]);
        batch_flush();
    }
    end_all_txns();
    for (int i = 0; i < next; i++)
        assert_int_equal(a[i].ends, 1);
    assert_all_ended();
}

static void test_conns_are_split_apart(void **state) {
    (void)state;
    add_many(s, 1, 20);
    add_many(a, 1, 12);
    batch_flush();
    assert_txn(WRITE, "a1-12");
    assert_second_txn(WRITE, "");
    assert_txn(READ, "s1-10");
    assert_second_txn(READ, "s11-20");
    commit(READ);
    commit(WRITE);
    commit(READ);
    assert_all_ended();
}

static void plan_some(void) {
    trial_plan = NULL;
    add_many(c, 1, 3);
    add_many(b, 1, 3);
}

/* Tasks that are planned in between are shared out with the others. */
static void test_planned_are_shared_out(void **state) {
    (void)state;
    trial_plan = plan_some;
    add_many(a, 1, 20);
    assert_commits("a1-10 b1,2 c1 c2 c3");
    assert_commits("a11-20 b3");
    assert_all_ended();
}

/* ---- the flush ---- */

/* The rows of all statements count. Only commits of changes are flushed. */
static void test_rows_of_a_flush(void **state) {
    (void)state;
    add_many(a, 1, 4);
    add_many(b, 1, 5);
    batch_flush();
    assert_int_equal(fake_db.asked_rows, 9);
    commit(WRITE);
    add_many(b, 6, 8);
    batch_flush();
    assert_int_equal(fake_db.asked_rows, 3);
    commit(WRITE);
    add_many(s, 1, 6);
    batch_flush();
    assert_int_equal(fake_db.asked_rows, 3);
    commit(READ);
    assert_all_ended();
}

/* ---- the end ---- */

/* The server stops while a transaction is under way. The sanitizer checks that its tasks do not leak. */
static void test_stopped_under_way(void **state) {
    struct trial *last = xcalloc(1, sizeof *last);

    (void)state;
    trial_init(last, &op_s, 1);
    batch_add(&last->task);
    batch_flush();
    assert_int_equal(fake_db.conns[READ]->state, DB_BUSY);
}

#define TEST(fn) cmocka_unit_test_setup(fn, trial_start)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_land_in_order),
        TEST(test_one_after_the_other),
        TEST(test_results),
        TEST(test_first_fails),
        TEST(test_second_fails),
        TEST(test_both_fail),
        TEST(test_both_lost),
        TEST(test_both_lost_again_and_again),
        TEST(test_sending_the_second_fails),
        TEST(test_conns_are_lost_apart),
        TEST(test_suspects_beside_others),
        TEST(test_suspects_wait_alone),
        TEST(test_suspect_is_taken_back),
        TEST(test_given_up_suspect_comes_back),
        TEST(test_few_are_not_split),
        TEST(test_many_are_split_evenly),
        TEST(test_some_do_not_spread),
        TEST(test_cancelled_tasks_do_not_count),
        TEST(test_second_leaves_some_behind),
        TEST(test_small_one_waits),
        TEST(test_small_one_goes_at_last),
        TEST(test_each_operation_has_its_share),
        TEST(test_a_locked_job_among_many),
        TEST(test_every_kind_gets_a_turn),
        TEST(test_conns_are_split_apart),
        TEST(test_planned_are_shared_out),
        TEST(test_rows_of_a_flush),
        TEST(test_stopped_under_way),
    };

    return cmocka_run_group_tests_name("batch flights", tests, trial_group_start, trial_group_stop);
}
