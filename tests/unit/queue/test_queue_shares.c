/* Counters that several servers share: the own part, the parts of others, and doubts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "cluster/outbox.h"
#include "pg/params.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"

/* As queue_save_counters() takes the queue. */
static struct queue *next_dirty(void) {
    int64_t jobs_in, jobs_out;

    return queue_next_dirty(&jobs_in, &jobs_out);
}

static struct queue *q;

static int start(void **state) {
    (void)state;
    clock_turn();
    queue_init();
    q = queue_get(SLICE("q"));
    queue_set_id(q, 7);
    return 0;
}

static int stop(void **state) {
    (void)state;
    lease_clear();
    outbox_set_shared(false);
    queue_drop(q);
    return 0;
}

static struct job_key key_of(int16_t rank, int64_t id) {
    return (struct job_key){ 7, rank, id };
}

static bool same_key(struct job_key a, struct job_key b) {
    return a.queue_id == b.queue_id && a.rank == b.rank && a.id == b.id;
}

static void assert_counts(int64_t len, int64_t total, int64_t in, int64_t out) {
    assert_int_equal(q->counters.len, len);
    assert_int_equal(q->counters.total, total);
    assert_int_equal(q->counters.jobs_in, in);
    assert_int_equal(q->counters.jobs_out, out);
}

static void assert_own(int64_t len, int64_t total, int64_t in, int64_t out) {
    assert_int_equal(q->counters.own->share.len, len);
    assert_int_equal(q->counters.own->share.total, total);
    assert_int_equal(q->counters.own->share.jobs_in, in);
    assert_int_equal(q->counters.own->share.jobs_out, out);
}

/* ---- changes by this server ---- */

static void test_own_share(void **state) {
    uint64_t changes = q->counters.changes;

    (void)state;
    q->counters.len = 10;
    q->counters.total = 20;
    queue_count_len(q, 3);
    queue_count_total(q, -4);
    queue_count_in(q, 1);
    queue_count_out(q, 2);
    assert_counts(13, 16, 1, 2);
    assert_own(3, -4, 1, 2);
    assert_true(q->counters.changes >= changes + 4);
    assert_int_equal(q->counters.changed_us, clock_mono());
}

static void test_clear_keeps_the_own_share(void **state) {
    (void)state;
    queue_count_in(q, 1);
    queue_count_in(q, 1);
    queue_count_out(q, 1);
    queue_clear();
    assert_counts(0, 0, 0, 0);
    assert_int_equal(q->counters.own->share.jobs_in - q->counters.own->saved_in, 0);
    assert_int_equal(q->counters.own->share.jobs_out - q->counters.own->saved_out, 0);
    queue_count_in(q, 1);
    assert_int_equal(q->counters.own->share.jobs_in - q->counters.own->saved_in, 1);
}

/* ---- leases that statements end ---- */

static void test_the_lease_that_it_had(void **state) {
    (void)state;
    lease_add_row(key_of(0, 5), clock_db() + 10, clock_db() + 9);
    assert_true(queue_end_lease(key_of(0, 5), clock_db() + 9));
    assert_false(lease_known(5));
    assert_false(queue_end_lease(key_of(0, 5), clock_db() + 9));
    assert_counts(0, 0, 0, 0);
}

/* Changed by another server since, while ours was running. */
static void test_another_lease(void **state) {
    (void)state;
    lease_add(key_of(0, 5), clock_db() + 10);
    assert_false(queue_end_lease(key_of(0, 5), clock_db() + 99));
    assert_false(lease_known(5));
    assert_counts(0, 0, 0, 0);
}

/* The lease of this server was over. The server that took the job relied on this server to have counted the job as
 * queued. */
static void test_another_lease_after_ours(void **state) {
    (void)state;
    lease_add(key_of(0, 5), clock_db());
    assert_false(queue_end_lease(key_of(0, 5), clock_db() + 99));
    assert_false(lease_known(5));
    assert_counts(1, 0, 1, 0);
}

/* ---- jobs that go ---- */

static const char *told(void) {
    static char text[1000];

    outbox_take(text, sizeof text);
    return text;
}

static void go_with(bool leased, int64_t queued_since) {
    outbox_set_shared(false);
    outbox_set_shared(true);
    (void)told();
    if (leased)
        lease_add(key_of(0, 5), queued_since);
    queue_count_gone(key_of(0, 5), queued_since);
    assert_false(lease_known(5));
}

static void test_gone_from_the_queue(void **state) {
    (void)state;
    go_with(false, clock_db() - 1);
    assert_counts(-1, -1, 0, 0);
    assert_null(strchr(told(), OUTBOX_GONE));
}

/* Known here to be leased, and not yet seen to have ended: it was not counted. */
static void test_gone_from_here(void **state) {
    (void)state;
    go_with(true, clock_db() + US_PER_S);
    assert_counts(0, -1, 0, 0);
    go_with(true, clock_db() - 1);
    assert_counts(0, -2, 0, 0);
    assert_null(strchr(told(), OUTBOX_GONE));
}

static void test_gone_from_another_server(void **state) {
    (void)state;
    go_with(false, clock_db() + 1);
    assert_counts(0, -1, 0, 0);
    assert_memory_equal(told(), " x7,0,5,", 8);
}

/* An at-most-once job: no server watches its lease. */
static void test_gone_for_ever(void **state) {
    (void)state;
    go_with(false, INT64_MAX);
    assert_counts(0, -1, 0, 0);
    assert_null(strchr(told(), OUTBOX_GONE));
}

/* A queue that is not known here has no counters; the lease may be. */
static void test_gone_from_an_unknown_queue(void **state) {
    (void)state;
    queue_set_id(q, 8);
    go_with(true, clock_db() - 1);
    assert_counts(0, 0, 0, 0);
}

/* ---- figures of other servers ---- */

static void test_shares_add_up(void **state) {
    (void)state;
    queue_count_len(q, 1);
    queue_receive_share(q, 2, (struct queue_share){ 10, 20, 30, 40, 0, 0, 0 }, false);
    queue_receive_share(q, 3, (struct queue_share){ -5, -6, 7, 8, 0, 0, 0 }, false);
    assert_counts(6, 14, 37, 48);
    assert_true(q->shown);
    /* The newest figures replace all earlier ones. Repeated figures change nothing. */
    queue_receive_share(q, 2, (struct queue_share){ 11, 21, 32, 43, 0, 0, 0 }, false);
    queue_receive_share(q, 2, (struct queue_share){ 11, 21, 32, 43, 0, 0, 0 }, false);
    assert_counts(7, 15, 39, 51);
    assert_own(1, 0, 0, 0);
    assert_false(q->counters.suspect);
}

static void test_others_do_not_make_it_dirty(void **state) {
    (void)state;
    queue_receive_share(q, 2, (struct queue_share){ 1, 1, 1, 1, 0, 0, 0 }, false);
    assert_null(next_dirty());
    assert_int_equal(q->counters.own->share.jobs_in - q->counters.own->saved_in, 0);
}

/* The server cannot know if the loaded counters include the job. */
static void test_base(void **state) {
    (void)state;
    queue_receive_share(q, 2, (struct queue_share){ 10, 20, 30, 40, 0, 0, 0 }, true);
    assert_counts(0, 0, 0, 0);
    assert_true(q->counters.suspect);
    q->counters.suspect = false;
    queue_receive_share(q, 2, (struct queue_share){ 11, 20, 31, 40, 0, 0, 0 }, false);
    assert_counts(1, 0, 1, 0);
    assert_false(q->counters.suspect);
}

static void test_new_run(void **state) {
    (void)state;
    queue_receive_share(q, 2, (struct queue_share){ 10, 20, 30, 40, 0, 0, 0 }, false);
    queue_receive_share(q, 3, (struct queue_share){ 1, 2, 3, 4, 0, 0, 0 }, false);
    queue_forget_shares(2);
    queue_forget_shares(4);
    assert_counts(11, 22, 33, 44);
    queue_receive_share(q, 2, (struct queue_share){ 1, 1, 1, 1, 0, 0, 0 }, false);
    assert_counts(12, 23, 34, 45);
    queue_receive_share(q, 3, (struct queue_share){ 2, 2, 3, 4, 0, 0, 0 }, false);
    assert_counts(13, 23, 34, 45);
}

/* The states come in an item of their own, before or after the rest, and as a base or not. */
static void test_heard_states(void **state) {
    (void)state;
    queue_correct(q, &(struct queue_share){ .delayed = 10, .waiting = 20 });
    queue_receive_states(q, 2, 3, -1, false);
    queue_receive_share(q, 2, (struct queue_share){ 1, 1, 1, 1, 0, 0, 0 }, false);
    queue_receive_states(q, 2, 4, -2, false);
    queue_receive_states(q, 2, 4, -2, false);
    assert_int_equal(queue_delayed(q), 14);
    assert_int_equal(queue_waiting(q), 18);
    assert_false(q->counters.suspect);
    queue_receive_share(q, 3, (struct queue_share){ 1, 1, 1, 1, 0, 0, 0 }, true);
    queue_receive_states(q, 3, 100, 100, true);
    assert_int_equal(queue_delayed(q), 14);
    queue_receive_states(q, 3, 101, 100, false);
    assert_int_equal(queue_delayed(q), 15);
    assert_true(q->counters.suspect);
    queue_count_delayed(q, -1);
    assert_true(queue_count_state(q, TIME_WAITING, 2));
    assert_false(queue_count_state(q, 5, 2));
    assert_int_equal(q->counters.own->share.delayed, -1);
    assert_int_equal(q->counters.own->share.waiting, 2);
    assert_int_equal(queue_jobs_waiting(), 20);
}

static void test_many_others(void **state) {
    (void)state;
    for (int round = 1; round <= 3; round++)
        for (uint16_t node = 1; node <= 1023; node++)
            queue_receive_share(q, node, (struct queue_share){ round, node, round, 0, 0, 0, 0 }, false);
    assert_counts(3 * 1023, 1023 * 1024 / 2, 3 * 1023, 0);
}

static void test_heard_ready(void **state) {
    (void)state;
    queue_receive_ready(q, key_of(0, 101));
    assert_true(q->scan.may_have_more && same_key(q->scan.position, key_of(0, 100)));
    queue_receive_ready(q, key_of(-1, 50));
    assert_int_equal(q->scan.key_count, 1);
    assert_counts(0, 0, 0, 0);
    assert_int_equal(queue_budget(q), 2);
}

static void test_heard_returned(void **state) {
    (void)state;
    q->scan.position = key_of(0, 100);
    queue_receive_returned(q, key_of(0, 200));
    assert_int_equal(q->scan.key_count, 1);
    q->scan.may_have_more = true;
    /* The claim finds the first job, but not the other. */
    queue_receive_returned(q, key_of(0, 300));
    assert_int_equal(q->scan.key_count, 1);
    queue_receive_returned(q, key_of(0, 50));
    assert_int_equal(q->scan.key_count, 2);
    assert_counts(0, 0, 0, 0);
}

/* A server does not pass on the figures of others. */
static void test_no_echo(void **state) {
    bool urgent;

    (void)state;
    outbox_set_shared(true);
    queue_receive_ready(q, key_of(0, 101));
    queue_receive_returned(q, key_of(0, 5));
    queue_receive_share(q, 2, (struct queue_share){ 1, 1, 1, 1, 0, 0, 0 }, false);
    queue_set_counts(q, 5, 6);
    assert_false(outbox_has(&urgent));
    queue_job_ready(q, key_of(0, 102));
    assert_true(outbox_has(&urgent) && urgent);
}

/* ---- doubts ---- */

/* The count may be much too low. A claim therefore takes more jobs than the count. */
static void test_doubtful_budget(void **state) {
    int64_t budget;

    (void)state;
    q->scan.may_have_more = true;
    assert_int_equal(queue_budget(q), 1);
    q->counters.suspect = true;
    budget = queue_budget(q);
    assert_true(budget > 10);
    queue_work(q)->claims.rows = 5;
    assert_int_equal(queue_budget(q), budget - 5);
    queue_work(q)->claims.rows = (uint32_t)budget;
    assert_int_equal(queue_budget(q), 0);
    queue_work(q)->claims.rows = 0;
    q->counters.len = 100000;
    assert_int_equal(queue_budget(q), 100000);
    q->scan.may_have_more = false;
    assert_int_equal(queue_budget(q), 0);
}

static void test_doubt_all(void **state) {
    struct queue *other = queue_get(SLICE("other"));

    (void)state;
    assert_false(q->counters.suspect || other->counters.suspect);
    queue_suspect_all();
    assert_true(q->counters.suspect && other->counters.suspect);
    queue_drop(other);
}

/* No server gets the difference as its own change. */
static void test_set_counts(void **state) {
    uint64_t changes;

    (void)state;
    queue_count_len(q, 1);
    changes = q->counters.changes;
    queue_set_counts(q, 5, 6);
    assert_counts(5, 6, 0, 0);
    assert_own(1, 0, 0, 0);
    assert_true(q->counters.changes > changes);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_own_share),
        TEST(test_clear_keeps_the_own_share),
        TEST(test_the_lease_that_it_had),
        TEST(test_another_lease),
        TEST(test_another_lease_after_ours),
        TEST(test_gone_from_the_queue),
        TEST(test_gone_from_here),
        TEST(test_gone_from_another_server),
        TEST(test_gone_for_ever),
        TEST(test_gone_from_an_unknown_queue),
        TEST(test_shares_add_up),
        TEST(test_others_do_not_make_it_dirty),
        TEST(test_base),
        TEST(test_new_run),
        TEST(test_heard_states),
        TEST(test_many_others),
        TEST(test_heard_ready),
        TEST(test_heard_returned),
        TEST(test_no_echo),
        TEST(test_doubtful_budget),
        TEST(test_doubt_all),
        TEST(test_set_counts),
    };

    return cmocka_run_group_tests_name("shares of queues", tests, NULL, NULL);
}
