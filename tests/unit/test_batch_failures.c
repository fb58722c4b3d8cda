/* Failed and lost flights: who is sent again, how, in which order, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch_tasks.h"
#include "random.h"

#define HOT 0
#define SIDE TRIAL_SIDE
#define BAD_DATA "22P02"

static struct trial a[10], b[10], c[10], s[10];

static int start_with(size_t hot_lanes) {
    trial_start(hot_lanes);
    for (int i = 0; i < 10; i++) {
        trial_init(&a[i], &op_a, i);
        trial_init(&b[i], &op_b, i);
        trial_init(&c[i], &op_c, i);
        trial_init(&s[i], &op_s, i);
    }
    return 0;
}

static int start(void **state) {
    (void)state;
    return start_with(1);
}

static int start_two(void **state) {
    (void)state;
    return start_with(2);
}

static void add(struct trial *t) {
    batch_add(&t->task);
}

static void commit(size_t lane) {
    fake_commit_empty(fake_db.lanes[lane]);
}

static void fail_at(size_t lane, size_t at, const char *sqlstate) {
    fake_fail(fake_db.lanes[lane], at, sqlstate);
}

static void fail_commit(size_t lane, const char *sqlstate) {
    fake_fail(fake_db.lanes[lane], fake_db.lanes[lane]->sent, sqlstate);
}

static void lose(size_t lane) {
    fake_lose(fake_db.lanes[lane]);
    fake_db.lanes[lane]->state = DB_READY;
}

/* The next flight of the lane must be this, and is committed. */
static void assert_flies(const char *expected) {
    batch_flush();
    assert_flight(HOT, expected);
    commit(HOT);
}

static void assert_all_ended(void) {
    batch_flush();
    assert_flight(HOT, "");
    assert_true(batch_idle());
}

/* ---- a bad row ---- */

static void test_bad_row_alone(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    fail_at(HOT, 0, BAD_DATA);
    assert_events("fail:a1(" BAD_DATA ")");
    assert_all_ended();
}

/* Only those of the statement that failed go alone, and one by one. */
static void test_bad_row_in_company(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&a[i]);
    add(&b[1]);
    add(&b[2]);
    batch_flush();
    fail_at(HOT, 0, BAD_DATA);
    assert_events("again:a3 again:a2 again:a1");
    add(&a[4]);
    assert_false(batch_idle());
    trial_plans = 0;
    assert_flies("a1");
    batch_flush();
    assert_flight(HOT, "a2");
    fail_at(HOT, 0, BAD_DATA);
    assert_flies("a3");
    assert_int_equal(trial_plans, 0);
    assert_events("done:a1 fail:a2(" BAD_DATA ") done:a3");
    assert_flies("a4 b1,2");
    assert_events("done:a4 done:b1,b2");
    assert_all_ended();
}

static void test_bad_row_next_to_other_statements(void **state) {
    (void)state;
    add(&a[1]);
    add(&b[1]);
    add(&c[1]);
    add(&c[2]);
    batch_flush();
    assert_flight(HOT, "a1 b1 c1 c2");
    fail_at(HOT, 2, BAD_DATA);
    assert_events("again:c2 fail:c1(" BAD_DATA ") again:a1");
    assert_flies("a1 b1 c2");
    assert_events("done:a1 done:b1 done:c2");
    assert_all_ended();
}

static void test_bad_row_of_the_side_lane(void **state) {
    (void)state;
    add(&s[1]);
    add(&s[2]);
    batch_flush();
    fail_at(SIDE, 0, BAD_DATA);
    batch_flush();
    for (int flights = 0; !batch_idle(); flights++) {
        assert_true(flights < 4);
        for (size_t i = 0; i <= SIDE; i++)
            if (fake_db.lanes[i]->state == DB_FLYING) {
                assert_int_equal(fake_sent(fake_db.lanes[i], 0)->rows, 1);
                commit(i);
            }
        batch_flush();
    }
    assert_events("done:s1 done:s2");
}

/* Those that go alone are each the first of a statement. */
static void test_alone_from_the_beginning(void **state) {
    (void)state;
    add(&a[1]);
    add(&a[2]);
    batch_flush();
    fail_at(HOT, 0, BAD_DATA);
    trial_begins = 0;
    assert_flies("a1");
    assert_flies("a2");
    assert_int_equal(trial_begins, 2);
    assert_int_equal(a[2].task.first_row, 0);
}

/* ---- failures that pass ---- */

static void test_transient_in_company(void **state) {
    static const char *const states[] = { "40001", "40P01", "55P03", "57014" };

    (void)state;
    for (size_t i = 0; i < LENGTH(states); i++) {
        start(NULL);
        add(&a[1]);
        add(&a[2]);
        add(&b[1]);
        batch_flush();
        fail_at(HOT, 0, states[i]);
        assert_events("again:a2 again:a1");
        add(&a[3]);
        assert_flies("a1,2,3 b1");
        assert_events("done:a1,a2,a3 done:b1");
        assert_all_ended();
    }
}

static int fly_until_idle(const char *sqlstate) {
    int flights = 0;

    for (batch_flush(); fake_db.lanes[HOT]->state == DB_FLYING; batch_flush()) {
        assert_true(flights++ < 100);
        fail_at(HOT, 0, sqlstate);
    }
    assert_true(batch_idle());
    return flights;
}

static void test_transient_for_ever(void **state) {
    (void)state;
    add(&a[1]);
    assert_in_range(fly_until_idle("40001"), 2, 20);
    assert_int_equal(a[1].ends, 1);
    assert_string_equal(a[1].failed, "40001");
    trial_events();
    start(NULL);
    for (int i = 1; i <= 3; i++)
        add(&b[i]);
    assert_in_range(fly_until_idle("57014"), 3, 40);
    assert_events("fail:b1(57014) fail:b2(57014) fail:b3(57014)");
    for (int i = 1; i <= 3; i++)
        assert_int_equal(b[i].ends, 1);
}

/* The failures of others do not count. */
static void test_innocent_for_long(void **state) {
    (void)state;
    add(&b[1]);
    for (int i = 0; i < 40; i++) {
        trial_init(&a[i % 10], &op_a, i);
        add(&a[i % 10]);
        batch_flush();
        fail_at(HOT, 0, BAD_DATA);
        assert_int_equal(b[1].ends, 0);
    }
    trial_events();
    assert_flies("b1");
    assert_events("done:b1");
}

/* ---- failure at the commit ---- */

static void test_commit_fails(void **state) {
    (void)state;
    add(&a[1]);
    add(&a[2]);
    add(&b[1]);
    add(&c[1]);
    batch_flush();
    fail_commit(HOT, "23505");
    assert_events("again:c1 again:a2 again:a1");
    assert_flies("a1");
    batch_flush();
    assert_flight(HOT, "a2");
    fail_commit(HOT, "23505");
    assert_flies("b1");
    assert_flies("c1");
    assert_events("done:a1 fail:a2(23505) done:b1 done:c1");
    assert_all_ended();
}

static void test_commit_of_one_fails(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    fail_commit(HOT, "23505");
    assert_events("fail:a1(23505)");
    assert_all_ended();
}

static void test_commit_fails_for_now(void **state) {
    (void)state;
    add(&a[1]);
    add(&a[2]);
    add(&b[1]);
    batch_flush();
    fail_commit(HOT, "40001");
    assert_flies("a1,2 b1");
    assert_events("again:a2 again:a1 done:a1,a2 done:b1");
    assert_all_ended();
}

/* ---- lost connections ---- */

static void test_lost(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&a[i]);
    add(&b[1]);
    add(&b[2]);
    add(&c[1]);
    add(&c[2]);
    batch_flush();
    add(&a[4]);
    add(&b[3]);
    add(&c[3]);
    fake_lose(fake_db.lanes[HOT]);
    assert_events("again:c2? again:c1? again:a3? again:a2? again:a1?");
    batch_flush();
    assert_flight(HOT, "");
    assert_false(batch_idle());
    fake_db.lanes[HOT]->state = DB_READY;
    /* Those that were not sent need not be repeated carefully. */
    assert_flies("a4 r1,2,3 b1,2,3 c1 c2 c3");
    assert_events("done:a4 done:r1,r2,r3 done:b1,b2,b3 done:c1 done:c2 done:c3");
    assert_all_ended();
}

static void test_lost_twice(void **state) {
    (void)state;
    add(&a[1]);
    add(&a[2]);
    batch_flush();
    lose(HOT);
    add(&a[3]);
    batch_flush();
    assert_flight(HOT, "a3 r1,2");
    lose(HOT);
    assert_flies("r3,1,2");
    assert_events("again:a2? again:a1? again:r2? again:r1? again:a3? done:r3,r1,r2");
    assert_all_ended();
}

static void test_lost_and_given_up(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&c[i]);
    c[2].gives_up = true;
    batch_flush();
    lose(HOT);
    assert_events("again:c3? again:c2? again:c1?");
    assert_int_equal(c[2].ends, 1);
    assert_int_equal(c[2].task.state, TASK_IDLE);
    assert_flies("c1 c3");
    assert_events("done:c1 done:c3");
    assert_all_ended();
}

static void test_failed_and_given_up(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&a[i]);
    add(&c[1]);
    a[2].gives_up = c[1].gives_up = true;
    batch_flush();
    fail_at(HOT, 0, BAD_DATA);
    assert_events("again:c1 again:a3 again:a2 again:a1");
    assert_flies("a1");
    assert_flies("a3");
    assert_all_ended();
    assert_int_equal(a[2].ends, 1);
    assert_int_equal(c[1].ends, 1);
}

/* However often the connection dies, nothing fails because of that. */
static void test_lost_for_long(void **state) {
    (void)state;
    add(&b[1]);
    add(&b[2]);
    for (int i = 0; i < 300; i++) {
        batch_flush();
        assert_flight(HOT, "b1,2");
        lose(HOT);
    }
    assert_flies("b1,2");
    assert_events("done:b1,b2");
}

static void test_lost_on_the_way_alone(void **state) {
    (void)state;
    add(&b[1]);
    add(&b[2]);
    add(&b[3]);
    batch_flush();
    fail_at(HOT, 0, BAD_DATA);
    batch_flush();
    assert_flight(HOT, "b1");
    lose(HOT);
    assert_flies("b1");
    assert_flies("b2");
    assert_flies("b3");
    assert_events("done:b1 done:b2 done:b3");
    assert_all_ended();
}

static void test_sending_fails(void **state) {
    (void)state;
    add(&a[1]);
    add(&a[2]);
    fake_db.send_fails = true;
    batch_flush();
    assert_events("again:a2? again:a1?");
    assert_int_equal(a[1].task.state, TASK_QUEUED);
    fake_db.send_fails = false;
    batch_flush();
    assert_flight(HOT, "");
    fake_db.lanes[HOT]->state = DB_READY;
    assert_flies("r1,2");
    assert_events("done:r1,r2");
}

/* ---- several lanes, taking back ---- */

static void test_other_lane_takes_what_was_lost(void **state) {
    (void)state;
    add(&b[1]);
    add(&b[2]);
    batch_flush();
    add(&b[3]);
    batch_flush();
    assert_flight(0, "b1,2");
    assert_flight(1, "b3");
    fake_lose(fake_db.lanes[0]);
    commit(1);
    batch_flush();
    assert_flight(0, "");
    assert_flight(1, "b1,2");
    commit(1);
    assert_events("done:b3 done:b1,b2");
    assert_true(batch_idle());
}

static void test_cancel_of_what_failed(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&b[i]);
    batch_flush();
    fail_at(HOT, 0, BAD_DATA);
    assert_true(batch_cancel(&b[2].task));
    assert_int_equal(b[2].task.state, TASK_IDLE);
    assert_flies("b1");
    batch_flush();
    assert_flight(HOT, "b3");
    assert_false(batch_cancel(&b[3].task));
    lose(HOT);
    assert_true(batch_cancel(&b[3].task));
    assert_all_ended();
    assert_events("done:b1");
}

/* ---- any schedule ---- */

#define TASKS 400

static struct trial any[TASKS];
static bool one_lane;
static int last_done[256]; /* by operation */

/* On one lane an operation's tasks end in their order. But a repeated add has an operation
 * of its own, and what failed on the side lane goes alone on the hot one. */
static void check_order(struct trial *t) {
    int *last = &last_done[(unsigned char)t->name];

    if (one_lane && (t->name == 'b' || t->name == 'c'))
        assert_true(t->id > *last);
    *last = t->id;
}

static void init_any(void) {
    struct op *const ops[] = { &op_a, &op_b, &op_c, &op_s };

    for (int i = 0; i < TASKS; i++) {
        trial_init(&any[i], ops[random_below(4)], i + 1);
        any[i].refused = random_below(8) == 0 ? BAD_DATA : random_below(10) == 0 ? "23505" : NULL;
        any[i].gives_up = any[i].task.op != &op_b && random_below(6) == 0;
        any[i].task.rows = 1 + (uint32_t)random_below(3);
        any[i].task.bytes = random_below(60000);
    }
    memset(last_done, 0, sizeof last_done);
}

/* As a database would: what a refused row does comes before any other failure. */
static size_t find_refused(const struct db_lane *lane, const char *sqlstate) {
    for (size_t i = 0; i < lane->sent; i++) {
        const struct fake_statement *st = fake_sent(lane, i);

        for (size_t n = 0; n < st->rows; n++) {
            const struct trial *t = &any[fake_element(st, 0, n) - 1];

            if (t->refused != NULL && strcmp(t->refused, sqlstate) == 0)
                return i;
        }
    }
    return lane->sent;
}

static void land_somehow(struct db_lane *lane, bool calm) {
    uint64_t what = calm ? 99 : random_below(100);
    size_t bad = find_refused(lane, BAD_DATA);

    if (what < 10)
        fake_lose(lane);
    else if (bad < lane->sent)
        fake_fail(lane, bad, BAD_DATA);
    else if (what < 15)
        fake_fail(lane, random_below(lane->sent + 1), random_below(2) == 0 ? "40001" : "57P01");
    else if (find_refused(lane, "23505") < lane->sent)
        fake_fail(lane, lane->sent, "23505");
    else
        fake_commit_empty(lane);
}

static void step_lanes(bool calm) {
    for (size_t i = 0; i <= SIDE; i++) {
        struct db_lane *lane = fake_db.lanes[i];

        if (lane->state == DB_FLYING && (calm || random_below(3) > 0))
            land_somehow(lane, calm);
        else if (lane->state == DB_PREPARING || (lane->state == DB_DOWN && lane->backoff_us == 0))
            lane->state = DB_READY;
    }
}

static void fly_any(size_t hot_lanes) {
    int next = 0, calm = 0;

    for (size_t i = hot_lanes; i < TRIAL_HOT_LANES; i++)
        fake_db.lanes[i]->backoff_us = 1;
    while (next < TASKS || !batch_idle()) {
        for (uint64_t n = random_below(6); n > 0 && next < TASKS; n--)
            add(&any[next++]);
        batch_flush();
        step_lanes(next == TASKS);
        calm += next == TASKS;
        assert_true(calm < 10 * TASKS);
    }
    for (size_t i = hot_lanes; i < TRIAL_HOT_LANES; i++)
        fake_db.lanes[i]->backoff_us = 0;
}

/* Only what was refused fails, or who was the victim of passing failures too often. */
static void check_all_ended_once(void) {
    for (int i = 0; i < TASKS; i++) {
        const struct trial *t = &any[i];

        assert_int_equal(t->ends, 1);
        assert_int_equal(t->task.state, TASK_IDLE);
        if (t->failed == NULL)
            assert_true(t->refused == NULL || t->gives_up);
        else if (t->refused == NULL || strcmp(t->failed, t->refused) != 0)
            assert_true(strcmp(t->failed, "40001") == 0 || strcmp(t->failed, "57P01") == 0);
    }
}

static void fly_any_schedules(size_t hot_lanes) {
    for (int round = 0; round < 60; round++) {
        trial_start(hot_lanes);
        trial_on_done = check_order;
        config.batch_max = 1 + (int)random_below(30);
        config.batch_max_bytes = random_below(400000);
        one_lane = hot_lanes == 1;
        init_any();
        fly_any(hot_lanes);
        check_all_ended_once();
    }
}

static void test_any_schedule(void **state) {
    (void)state;
    random_start(20261120);
    fly_any_schedules(1);
}

static void test_any_schedule_on_three_lanes(void **state) {
    (void)state;
    random_start(77);
    fly_any_schedules(3);
}

#define TEST(fn) cmocka_unit_test_setup(fn, start)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_bad_row_alone),
        TEST(test_bad_row_in_company),
        TEST(test_bad_row_next_to_other_statements),
        TEST(test_bad_row_of_the_side_lane),
        TEST(test_alone_from_the_beginning),
        TEST(test_transient_in_company),
        TEST(test_transient_for_ever),
        TEST(test_innocent_for_long),
        TEST(test_commit_fails),
        TEST(test_commit_of_one_fails),
        TEST(test_commit_fails_for_now),
        TEST(test_lost),
        TEST(test_lost_twice),
        TEST(test_lost_and_given_up),
        TEST(test_failed_and_given_up),
        TEST(test_lost_for_long),
        TEST(test_lost_on_the_way_alone),
        TEST(test_sending_fails),
        cmocka_unit_test_setup(test_other_lane_takes_what_was_lost, start_two),
        TEST(test_cancel_of_what_failed),
        TEST(test_any_schedule),
        TEST(test_any_schedule_on_three_lanes),
    };

    return cmocka_run_group_tests_name("batch failures", tests, trial_group_start, trial_group_stop);
}
