/* The histories of queues: which queues have one, their number, memory, samples; latencies, and leases by queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/quantiles.h"
#include "base/timer.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "queue/lease.h"
#include "queue/queue_history.h"
#include "queue/queue_latency.h"

static int64_t now = 1000 * US_PER_S;

void clock_turn(void) {
}

int64_t clock_mono(void) {
    return now;
}

int64_t clock_unix(void) {
    return now;
}

int64_t clock_db(void) {
    return now;
}

int64_t clock_mono_now(void) {
    return now;
}

int64_t clock_sync_db(int64_t db_us, int64_t asked_mono_us, int64_t answered_mono_us) {
    (void)db_us;
    (void)asked_mono_us;
    (void)answered_mono_us;
    return 0;
}

static int begin(void **state) {
    (void)state;
    config.metrics_queues = 100;
    memory_budget = SIZE_MAX;
    queue_init();
    queue_history_start();
    return 0;
}

static int forget_queues(void **state) {
    (void)state;
    QUEUE_EACH(q)
    queue_drop(q);
    assert_int_equal(memory_all.kinds[MEMORY_HISTORY], 0);
    config.metrics_queues = 100;
    memory_budget = SIZE_MAX;
    return 0;
}

static void pass(int seconds) {
    for (int i = 0; i < seconds; i++) {
        now += US_PER_S;
        timers_run(now);
    }
}

static struct queue *shown_queue(const char *name) {
    struct queue *q = queue_get(slice_str(name));

    queue_show(q);
    return q;
}

static int histories(void) {
    int count = 0;

    QUEUE_EACH(q)
    count += q->history != NULL;
    return count;
}

static void test_the_server(void **state) {
    const struct history *h = queue_history_of_server();
    size_t before = history_count(h, HISTORY_MINUTES);
    struct queue *q = shown_queue("a");

    (void)state;
    queue_count_len(q, 3);
    pass(2);
    assert_int_equal(history_count(h, HISTORY_MINUTES), before + 2);
    assert_int_equal(history_at(h, HISTORY_MINUTES, HISTORY_LEN, before + 1), 3);
    pass(400);
    assert_int_equal(history_count(h, HISTORY_MINUTES), 300);
    assert_in_range(history_count(h, HISTORY_HOURS), 6, 7);
}

/* Each queue is sampled once in ten seconds. */
static void test_a_new_queue_has_all_its_jobs(void **state) {
    struct queue *q = shown_queue("a");

    (void)state;
    queue_count_in(q, 5);
    queue_count_len(q, 5);
    pass(20);
    assert_int_equal(history_count(q->history, HISTORY_MINUTES), 1);
    assert_int_equal(history_at(q->history, HISTORY_MINUTES, HISTORY_ADDED, 0), 5);
    assert_int_equal(history_at(q->history, HISTORY_MINUTES, HISTORY_LEN, 0), 5);
    queue_count_out(q, 2);
    pass(10);
    assert_int_equal(history_at(q->history, HISTORY_MINUTES, HISTORY_ADDED, 1), 0);
    assert_int_equal(history_at(q->history, HISTORY_MINUTES, HISTORY_DELIVERED, 1), 2);
}

/* The process was stopped for some seconds, in which most queues should have been sampled. */
static void test_a_pause_skips_no_queue(void **state) {
    char name[16];

    (void)state;
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "q%d", i);
        shown_queue(name);
    }
    pass(10);
    assert_int_equal(histories(), 30);
    now += 25 * US_PER_S;
    timers_run(now);
    pass(10);
    QUEUE_EACH(q) {
        size_t count = history_count(q->history, HISTORY_MINUTES);

        assert_in_range(count, 3, 4);
        assert_int_equal(history_at(q->history, HISTORY_MINUTES, HISTORY_LEN, count - 1), 0);
    }
}

static void test_the_number_is_bounded(void **state) {
    char name[16];

    (void)state;
    config.metrics_queues = 7;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "q%d", i);
        shown_queue(name);
    }
    pass(20);
    assert_int_equal(histories(), 7);
    assert_int_equal(memory_all.kinds[MEMORY_HISTORY], 7 * queue_history_bytes());
    config.metrics_queues = 2;
    pass(10);
    assert_int_equal(histories(), 2);
    memory_budget = 64 * queue_history_bytes() + 63;
    pass(10);
    assert_int_equal(histories(), 1);
}

static void deliver(struct queue *q) {
    queue_note_wait(q, now - 5 * US_PER_MS);
}

/* A queue without a history has latencies, until it has delivered no job for two minutes. */
static void test_latencies_need_no_history(void **state) {
    struct queue *q = shown_queue("a");

    (void)state;
    config.metrics_queues = 0;
    pass(10);
    deliver(q);
    assert_null(q->history);
    assert_in_range(quantiles_read(q->recent_waits, now, 500), 4600, 5400);
    assert_int_equal(memory_all.kinds[MEMORY_HISTORY], queue_latency_bytes());
    pass(110);
    deliver(q);
    pass(110);
    queue_latency_free_idle();
    assert_non_null(q->recent_waits);
    pass(10);
    queue_latency_free_idle();
    assert_null(q->recent_waits);
    assert_int_equal(memory_all.kinds[MEMORY_HISTORY], 0);
    deliver(q);
    assert_non_null(q->recent_waits);
}

/* A queue beyond the bound has latencies when others are idle. */
static void test_latencies_are_bounded(void **state) {
    struct queue *a = shown_queue("a"), *b = shown_queue("b"), *c = shown_queue("c");

    (void)state;
    config.metrics_queues = 0;
    memory_budget = 64 * 2 * queue_latency_bytes();
    deliver(a);
    deliver(b);
    deliver(c);
    assert_non_null(b->recent_waits);
    assert_null(c->recent_waits);
    pass(100);
    deliver(a);
    pass(20);
    queue_latency_free_idle();
    assert_non_null(a->recent_waits);
    assert_null(b->recent_waits);
    deliver(c);
    assert_non_null(c->recent_waits);
}

static void test_hidden_and_long_names(void **state) {
    char name[257];

    (void)state;
    memset(name, 'n', 256);
    name[256] = '\0';
    shown_queue(name);
    shown_queue(QUEUE_HIDDEN);
    (void)queue_get(SLICE("not shown"));
    pass(10);
    assert_int_equal(histories(), 0);
    name[255] = '\0';
    shown_queue(name);
    pass(10);
    assert_int_equal(histories(), 1);
}

static void test_leases_count_for_their_queue(void **state) {
    struct queue *a = shown_queue("a"), *b = shown_queue("b");
    struct lease_end end;

    (void)state;
    queue_set_id(a, 1);
    queue_set_id(b, 2);
    lease_add((struct job_key){ 1, 0, 10 }, now + 10);
    lease_add((struct job_key){ 1, 0, 11 }, now + 11);
    lease_add((struct job_key){ 1, 0, 11 }, now + 12);
    lease_add((struct job_key){ 2, 0, 12 }, now + 13);
    lease_add((struct job_key){ 3, 0, 13 }, now + 14);
    assert_int_equal(queue_leased(a), 2);
    assert_int_equal(queue_leased(b), 1);
    assert_false(queue_is_unused(b));
    /* A queue that becomes known later does not count older leases. */
    queue_set_id(shown_queue("c"), 3);
    while (lease_take_ended(now + 12, &end))
        continue;
    assert_int_equal(queue_leased(a), 0);
    lease_clear();
    assert_int_equal(queue_leased(b), 0);
    assert_int_equal(queue_leased(queue_find_id(3)), 0);
    assert_true(queue_is_unused(b));
}

/* The cache of the last queue must not outlive the queue. */
static void test_the_id_of_a_freed_queue(void **state) {
    struct queue *q = shown_queue("a");

    (void)state;
    queue_set_id(q, 9);
    assert_ptr_equal(queue_find_id(9), q);
    queue_drop(q);
    assert_null(queue_find_id(9));
}

/* Queues that HISTORY asks for: a hundred beside those of metrics-queues. A queue gives way ten minutes after it was asked
 * for the last time, and becomes one of the oldest if these are fewer. */
static void test_queues_that_are_asked_for(void **state) {
    struct queue *q[103];
    char name[16];

    (void)state;
    config.metrics_queues = 1;
    for (int i = 0; i < 103; i++) {
        snprintf(name, sizeof name, "q%d", i);
        q[i] = shown_queue(name);
        pass(i == 0 ? 10 : 0);
    }
    assert_non_null(q[0]->history);
    for (int i = 0; i < 103; i++) {
        queue_history_ask(q[i]);
        pass(1);
    }
    assert_int_equal(histories(), 101);
    assert_null(q[102]->history);
    assert_int_equal(memory_all.kinds[MEMORY_HISTORY], 101 * queue_history_bytes());
    pass(480);
    queue_history_ask(q[1]);
    pass(60);
    queue_history_ask(q[102]);
    assert_non_null(q[102]->history);
    assert_non_null(q[1]->history);
    assert_null(q[2]->history);
    config.metrics_queues = 2;
    pass(10);
    queue_history_ask(q[2]);
    assert_int_equal(histories(), 102);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_server, forget_queues),
        cmocka_unit_test_teardown(test_a_new_queue_has_all_its_jobs, forget_queues),
        cmocka_unit_test_teardown(test_a_pause_skips_no_queue, forget_queues),
        cmocka_unit_test_teardown(test_the_number_is_bounded, forget_queues),
        cmocka_unit_test_teardown(test_queues_that_are_asked_for, forget_queues),
        cmocka_unit_test_teardown(test_latencies_need_no_history, forget_queues),
        cmocka_unit_test_teardown(test_latencies_are_bounded, forget_queues),
        cmocka_unit_test_teardown(test_hidden_and_long_names, forget_queues),
        cmocka_unit_test_teardown(test_leases_count_for_their_queue, forget_queues),
        cmocka_unit_test_teardown(test_the_id_of_a_freed_queue, forget_queues),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
