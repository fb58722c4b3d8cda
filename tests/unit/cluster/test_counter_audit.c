/* The audit of doubtful counters: its queues, its times, and the use of its result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/node.h"
#include "batch/operations.h"
#include "cluster/counter_audit.h"
#include "fake_db.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"

/* As queue_save_counters() takes the queue. */
static struct queue *next_dirty(void) {
    int64_t jobs_in, jobs_out;

    return queue_next_dirty(&jobs_in, &jobs_out);
}

static struct op *const ops[] = { &op_count_queues, NULL };

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
    counter_audit_tick();
    return 0;
}

static struct db_conn *side(void) {
    return fake_db.conns[1];
}

/* As if it had been left alone for so long. */
static void be_quiet(struct queue *q, int64_t us) {
    q->counters.changed_us = clock_mono() - us;
}

static struct queue *open_doubtful(int32_t id) {
    char name[16];
    struct queue *q;

    snprintf(name, sizeof name, "q%d", id);
    q = queue_get(slice_str(name));
    queue_set_id(q, id);
    q->counters.suspect = true;
    be_quiet(q, US_PER_S);
    return q;
}

/* A second later. */
static size_t ask(void) {
    counter_audit_tick();
    batch_flush();
    return fake_count(side());
}

struct row {
    int32_t id;
    int64_t total, len, in, out, dead, delayed, waiting;
};

static void answer(const struct row *rows, int count) {
    PGresult *res = fake_rows(8);

    for (int i = 0; i < count; i++) {
        fake_set_int(res, i, 0, 4, rows[i].id);
        fake_set_int(res, i, 1, 8, rows[i].total);
        fake_set_int(res, i, 2, 8, rows[i].len);
        fake_set_int(res, i, 3, 8, rows[i].in);
        fake_set_int(res, i, 4, 8, rows[i].out);
        fake_set_int(res, i, 5, 8, rows[i].dead);
        fake_set_int(res, i, 6, 8, rows[i].delayed);
        fake_set_int(res, i, 7, 8, rows[i].waiting);
    }
    fake_commit(side(), &res);
}

static void assert_asked_for(const int32_t *ids, size_t count) {
    const struct fake_statement *st = fake_sent(side(), 0);

    assert_int_equal(st->stmt, SQL_COUNT_QUEUES);
    assert_int_equal(fake_elements(st, 0), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(fake_element(st, 0, i), ids[i]);
}

/* Counts and commits over the large connection come in any order. */
static void test_jobs_of_another_conn(void **state) {
    struct queue *before = open_doubtful(1), *after = open_doubtful(2);

    (void)state;
    before->counters.suspect = after->counters.suspect = false;
    queue_note_apart(before, clock_mono());
    assert_false(before->counters.suspect);
    queue_set_counts(before, 1, 1);
    assert_true(before->counters.suspect);
    before->counters.suspect = false;
    queue_set_counts(before, 1, 1);
    assert_false(before->counters.suspect);
    queue_set_counts(after, 1, 1);
    assert_false(after->counters.suspect);
    queue_note_apart(after, clock_mono());
    assert_true(after->counters.suspect);
}

/* The end of a delay does not wait for the count of a long queue. */
static void test_a_long_queue_has_another_connection(void **state) {
    struct queue *q = open_doubtful(1);
    PGresult *res = fake_rows(8);

    (void)state;
    q->counters.total = 1000000;
    assert_int_equal(ask(), 0);
    assert_int_equal(fake_db.conns[2]->kind, CONN_LONG);
    assert_int_equal(fake_count(fake_db.conns[2]), 1);
    fake_commit(fake_db.conns[2], &res);
    assert_int_equal(counter_audit_is_pending(), true);
}

static void test_counts_doubtful_and_quiet_queues(void **state) {
    struct queue *a = open_doubtful(1), *sure = open_doubtful(2), *busy = open_doubtful(3);

    (void)state;
    sure->counters.suspect = false;
    be_quiet(busy, US_PER_S - 1);
    a->counters.len = 7;
    assert_int_equal(ask(), 1);
    assert_asked_for((const int32_t[]){ 1 }, 1);
    answer((const struct row[]){ { 1, 5, 3, 20, 10, 4, 0, 0 } }, 1);
    assert_int_equal(a->counters.len, 7);
    assert_int_equal(ask(), 0);
    assert_int_equal(a->counters.len, 3);
    assert_int_equal(a->counters.total, 5);
    assert_int_equal(a->counters.dead, 4);
    assert_int_equal(a->counters.jobs_in, 20);
    assert_int_equal(a->counters.jobs_out, 10);
    assert_false(a->counters.suspect);
    assert_true(a->shown);
    assert_true(busy->counters.suspect);
}

/* A queue with jobs of which nothing is known is looked at from its beginning. */
static void test_unknown_jobs(void **state) {
    struct queue *q = open_doubtful(1);

    (void)state;
    q->scan.position = (struct job_key){ 1, 0, 100 };
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 1, 5, 3, 0, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
    assert_true(q->scan.may_have_more);
    assert_int_equal(queue_budget(q), 3);
    assert_int_equal(q->scan.resets, 1);
}

static void test_an_empty_queue_is_not_walked(void **state) {
    struct queue *q = open_doubtful(1);

    (void)state;
    q->counters.len = 5;
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 1, 0, 0, 0, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
    assert_int_equal(q->counters.len, 0);
    assert_false(q->scan.may_have_more);
}

/* A change that is under way during the audit makes its result useless. */
static void change_after(void (*change)(struct queue *q), bool before_the_answer) {
    struct queue *q = open_doubtful(1);

    assert_int_equal(ask(), 1);
    if (before_the_answer)
        change(q);
    answer((const struct row[]){ { 1, 50, 30, 0, 0, 0, 0, 0 } }, 1);
    if (!before_the_answer)
        change(q);
    assert_int_equal(ask(), 0);
    assert_int_not_equal(q->counters.len, 30);
    assert_true(q->counters.suspect);
    be_quiet(q, US_PER_S);
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 1, 51, 31, 0, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
    assert_int_equal(q->counters.len, 31);
    queue_drop(q);
}

static void by_us(struct queue *q) {
    queue_count_len(q, 1);
}

static void by_another(struct queue *q) {
    queue_receive_share(q, 2, (struct queue_share){ .len = 1, .total = 1, .jobs_in = 1 }, false);
}

static void test_not_quiet_after_all(void **state) {
    (void)state;
    change_after(by_us, true);
    change_after(by_us, false);
    change_after(by_another, true);
    change_after(by_another, false);
}

/* The database does not have the changes that this server has not yet saved. */
static void test_counters_of_jobs_ever(void **state) {
    struct queue *q = open_doubtful(1);

    (void)state;
    queue_count_in(q, 1);
    queue_count_in(q, 1);
    assert_ptr_equal(next_dirty(), q);
    ((struct queue_own *)q->counters.own)->saved_in = 1;
    q->counters.jobs_out = 40;
    be_quiet(q, US_PER_S);
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 1, 0, 0, 100, 30, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
    assert_int_equal(q->counters.jobs_in, 101);
    assert_int_equal(q->counters.jobs_out, 30);
}

/* A slow peer saves its counters after the first audit. */
static void test_suspect_counters_are_audited_twice(void **state) {
    struct queue *q = open_doubtful(1);
    struct node *peer = node_get(9);

    (void)state;
    peer->live = true;
    q->counters.jobs_in = 127;
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 1, 0, 0, 127, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
    assert_false(q->counters.suspect);
    q->counters.counted_us -= 11 * US_PER_S;
    be_quiet(q, US_PER_S);
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 1, 0, 0, 128, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
    assert_int_equal(q->counters.jobs_in, 128);
    q->counters.counted_us -= 11 * US_PER_S;
    be_quiet(q, US_PER_S);
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 1, 0, 0, 128, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
    q->counters.counted_us -= 11 * US_PER_S;
    be_quiet(q, US_PER_S);
    assert_int_equal(ask(), 0);
    node_forget(peer);
}

static void test_dropped_in_between(void **state) {
    struct queue *q = open_doubtful(1);

    (void)state;
    assert_int_equal(ask(), 1);
    queue_drop(q);
    answer((const struct row[]){ { 1, 5, 3, 0, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
}

/* The server does not use missing rows, or rows of other queues. */
static void test_wrong_rows(void **state) {
    struct queue *a = open_doubtful(1), *b = open_doubtful(2);

    (void)state;
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 2, 5, 3, 0, 0, 0, 0, 0 } }, 1);
    be_quiet(a, 0);
    be_quiet(b, 0);
    assert_int_equal(ask(), 0);
    assert_int_equal(a->counters.len + b->counters.len, 0);
    assert_true(a->counters.suspect && b->counters.suspect);
}

static void test_failed(void **state) {
    struct queue *q = open_doubtful(1);

    (void)state;
    assert_int_equal(ask(), 1);
    fake_fail(side(), 0, "XX000");
    assert_int_equal(ask(), 1);
    answer((const struct row[]){ { 1, 5, 3, 0, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
    assert_int_equal(q->counters.len, 3);
}

/* One statement at a time, and none for a queue without a row. */
static void test_one_at_a_time(void **state) {
    struct queue *q = queue_get(SLICE("new"));

    (void)state;
    q->counters.suspect = true;
    be_quiet(q, US_PER_S);
    assert_int_equal(ask(), 0);
    open_doubtful(1);
    assert_int_equal(ask(), 1);
    counter_audit_tick();
    batch_flush();
    assert_int_equal(side()->sent_txns, 1);
    answer((const struct row[]){ { 1, 0, 0, 0, 0, 0, 0, 0 } }, 1);
    assert_int_equal(ask(), 0);
}

#define MANY 1250

static void test_all_get_their_turn(void **state) {
    struct row rows[MANY];
    size_t counted = 0;

    (void)state;
    for (int32_t i = 1; i <= MANY; i++)
        open_doubtful(i);
    while (ask() == 1) {
        size_t count = fake_elements(fake_sent(side(), 0), 0);

        assert_in_range(count, 1, 500);
        for (size_t i = 0; i < count; i++) {
            int32_t id = (int32_t)fake_element(fake_sent(side(), 0), 0, i);

            rows[i] = (struct row){ id, id, id, 0, 0, 0, 0, 0 };
        }
        answer(rows, (int)count);
        assert_true((counted += count) <= MANY);
    }
    assert_int_equal(counted, MANY);
    QUEUE_EACH(q) {
        assert_int_equal(q->counters.len, q->id);
        assert_false(q->counters.suspect);
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_counts_doubtful_and_quiet_queues),
        TEST(test_a_long_queue_has_another_connection),
        TEST(test_jobs_of_another_conn),
        TEST(test_unknown_jobs),
        TEST(test_an_empty_queue_is_not_walked),
        TEST(test_not_quiet_after_all),
        TEST(test_counters_of_jobs_ever),
        TEST(test_suspect_counters_are_audited_twice),
        TEST(test_dropped_in_between),
        TEST(test_wrong_rows),
        TEST(test_failed),
        TEST(test_one_at_a_time),
        TEST(test_all_get_their_turn),
    };

    return cmocka_run_group_tests_name("counter audit", tests, group_start, fake_batch_stop);
}
