/* Clients that wait for queues: order of arrival, timeouts, disconnects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/stats.h"
#include "getters.h"
#include "queue/follow_up.h"
#include "queue/lease.h"
#include "queue/queue_ready.h"
#include "random.h"

static int stop(void **state) {
    (void)state;
    waiters_end_all(NULL);
    getters_stop();
    lease_clear();
    return 0;
}

static void wait_for(int number, const char *names) {
    taker_wait(new_get(number, names));
}

static struct taker *taker_of(int number) {
    assert_non_null(getters[number].taker);
    return getters[number].taker;
}

static void gone(int number) {
    getters[number].killed = true;
    waiters_client_gone(&getters[number].client);
}

static int first_of(const char *name) {
    struct taker *g = waiters_first(queue_named(name));

    return g == NULL ? 0 : getter_number(getter_of(g->client));
}

static struct job job_of(const char *queue, int64_t id, const char *body) {
    struct queue *q = queue_named(queue);

    return (struct job){ .q = q,
                         .key = { q->id, 0, id },
                         .ready_at = 1000 + id,
                         .expires_at = 2000,
                         .lease_us = 5 * US_PER_S,
                         .retry = 5,
                         .nacks = 2,
                         .additional_deliveries = 3,
                         .body = slice_str(body) };
}

/* ---- waiting ---- */

static void test_order_of_arrival(void **state) {
    (void)state;
    wait_for(3, "q1");
    wait_for(1, "q1");
    wait_for(2, "q1");
    assert_waiting("q1", "3 1 2");
    assert_int_equal(queue_named("q1")->work->waiting.count, 3);
    assert_int_equal(waiters_blocked(), 3);
    assert_true(getters[3].client.blocked);
    assert_ptr_equal(getters[3].client.taker, taker_of(3));
    assert_int_equal(first_of("q1"), 3);
    taker_claim(taker_of(3));
    assert_false(getters[3].client.blocked);
    assert_int_equal(first_of("q1"), 1);
    taker_end_empty(taker_of(3));
    assert_null(getters[3].client.taker);
    assert_replies("3:nil");
    assert_waiting("q1", "1 2");
}

static void test_several_queues(void **state) {
    (void)state;
    wait_for(1, "q1 q2");
    wait_for(2, "q2 q3");
    wait_for(3, "q3 q1");
    assert_waiting("q1", "1 3");
    assert_waiting("q2", "1 2");
    assert_waiting("q3", "2 3");
    taker_claim(taker_of(1));
    assert_waiting("q1", "3");
    assert_waiting("q2", "2");
    assert_waiting("q3", "2 3");
    assert_int_equal(queue_named("q1")->work->waiting.count, 1);
    assert_int_equal(waiters_blocked(), 2);
    taker_end_empty(taker_of(1));
    assert_int_equal(queue_named("q3")->users, 2);
    assert_int_equal(queue_named("q1")->users, 1);
}

static void test_one_queue_named_twice(void **state) {
    (void)state;
    wait_for(1, "q1 q1");
    wait_for(2, "q1");
    assert_int_equal(first_of("q1"), 1);
    taker_claim(taker_of(1));
    assert_waiting("q1", "2");
    taker_finish(taker_of(1));
    assert_int_equal(first_of("q1"), 1);
    taker_end_empty(taker_of(1));
    assert_waiting("q1", "2");
}

/* A get does not wait if the queue has a job already. */
static void test_signals_when_there_is_something(void **state) {
    struct queue *q = queue_named("q2");

    (void)state;
    wait_for(1, "q1 q3");
    assert_null(queue_next_signalled());
    queue_job_returned(q, (struct job_key){ 2, 0, 1 });
    assert_null(queue_next_signalled());
    wait_for(2, "q1 q2");
    assert_ptr_equal(queue_next_signalled(), q);
    assert_null(queue_next_signalled());
    queue_job_returned(queue_named("q3"), (struct job_key){ 3, 0, 1 });
    assert_ptr_equal(queue_next_signalled(), queue_named("q3"));
}

static void test_fresh_ones_in_order(void **state) {
    (void)state;
    for (int i = 1; i <= 4; i++)
        taker_start(new_get(i, "q1"));
    assert_waiting("q1", "");
    gone(2);
    assert_ptr_equal(taker_next_fresh(), taker_of(1));
    taker_wait(taker_of(1));
    taker_start(new_get(5, "q1"));
    assert_ptr_equal(taker_next_fresh(), taker_of(3));
    assert_ptr_equal(taker_next_fresh(), taker_of(4));
    assert_ptr_equal(taker_next_fresh(), taker_of(5));
    assert_null(taker_next_fresh());
    for (int i = 3; i <= 5; i++)
        taker_end_empty(taker_of(i));
    assert_replies("3:nil 4:nil 5:nil");
    assert_int_equal(getters[2].ends, 1);
}

static void start_for(struct fair_user *user, int number, const char *names) {
    getters_user = user;
    taker_start(new_get(number, names));
    getters_user = NULL;
}

/* The request of a user does not wait for all requests of another user. A request with two queues costs two. */
static void test_users_take_turns(void **state) {
    static const int order[] = { 1, 5, 6, 2, 3, 4 };
    struct fair_user many = { 0 }, few = { 0 };

    (void)state;
    for (int i = 1; i <= 4; i++)
        start_for(&many, i, "q1 q2");
    for (int i = 5; i <= 6; i++)
        start_for(&few, i, "q1");
    for (size_t i = 0; i < LENGTH(order); i++) {
        assert_ptr_equal(taker_next_fresh(), taker_of(order[i]));
        taker_end_empty(taker_of(order[i]));
    }
    assert_null(taker_next_fresh());
    fair_user_free(&many);
    fair_user_free(&few);
}

static void test_budget(void **state) {
    (void)state;
    wait_for(1, "q1 q2");
    assert_false(taker_has_budget(taker_of(1)));
    queue_job_returned(queue_named("q2"), (struct job_key){ 2, 0, 1 });
    assert_true(taker_has_budget(taker_of(1)));
    queue_set_pause(queue_named("q2"), PAUSE_OUT);
    assert_false(taker_has_budget(taker_of(1)));
}

/* ---- clients that may not wait ---- */

static void test_nohang(void **state) {
    struct taker *g = new_get(1, "q1");

    (void)state;
    g->nohang = true;
    assert_false(waiters_has(&getters[1].client));
    taker_wait(g);
    assert_replies("1:nil");
    assert_waiting("q1", "");
    assert_false(waiters_has(&getters[1].client));
    wait_for(2, "q1");
    assert_true(waiters_has(&getters[2].client));
}

static void test_late(void **state) {
    struct taker *g = new_get(1, "q1");

    (void)state;
    g->deadline_us = clock_mono();
    taker_wait(g);
    assert_replies("1:nil");
    assert_true(timers_next() == INT64_MAX);
}

static void wait_until(int number, const char *names, int64_t due) {
    struct taker *g = new_get(number, names);

    g->deadline_us = due;
    taker_wait(g);
}

static void test_timeouts(void **state) {
    int64_t now = clock_mono() + 3600 * US_PER_S;

    (void)state;
    wait_until(1, "q1", now + 30);
    wait_until(2, "q2 q1", now + 10);
    wait_for(3, "q1");
    wait_until(4, "q1", now + 20);
    assert_true(timers_next() == now + 10);
    timers_run(now + 9);
    assert_replies("");
    timers_run(now + 20);
    assert_replies("2:nil 4:nil");
    assert_waiting("q1", "1 3");
    assert_waiting("q2", "");
    assert_true(timers_next() == now + 30);
    timers_run(INT64_MAX - 1);
    assert_replies("1:nil");
    assert_waiting("q1", "3");
}

static void test_timeout_before_the_first_txn(void **state) {
    struct taker *g = new_get(1, "q1");

    (void)state;
    g->deadline_us = clock_mono() + 1000;
    taker_start(g);
    timers_run(clock_mono() + 1000);
    assert_replies("1:nil");
    assert_null(taker_next_fresh());
}

/* The client gets its reply at once. The jobs of the claim find no client. */
static void test_timeout_while_claiming(void **state) {
    struct taker *g;

    (void)state;
    wait_until(1, "q1", clock_mono() + 1000);
    g = taker_of(1);
    taker_claim(g);
    taker_add_place(g);
    timers_run(clock_mono() + 1000);
    assert_replies("1:nil");
    assert_null(getters[1].client.taker);
    assert_null(g->client);
    assert_int_equal(getters[1].ends, 0);
    assert_true(timers_next() == INT64_MAX);
    gone(1);
    g->pending = 0;
    taker_finish(g);
    assert_int_equal(getters[1].ends, 1);
    assert_replies("");
}

/* ---- in vain ---- */

static void in_vain(int number) {
    taker_add_place(taker_of(number));
    taker_of(number)->pending = 0;
    taker_finish(taker_of(number));
}

static void test_back_to_the_old_place(void **state) {
    (void)state;
    for (int i = 1; i <= 5; i++)
        wait_for(i, i % 2 == 0 ? "q1 q2" : "q1");
    taker_claim(taker_of(2));
    taker_claim(taker_of(1));
    taker_claim(taker_of(4));
    assert_waiting("q1", "3 5");
    in_vain(4);
    assert_waiting("q1", "3 4 5");
    assert_waiting("q2", "4");
    in_vain(2);
    assert_waiting("q1", "2 3 4 5");
    assert_waiting("q2", "2 4");
    in_vain(1);
    assert_waiting("q1", "1 2 3 4 5");
    assert_int_equal(queue_named("q1")->work->waiting.count, 5);
    assert_int_equal(waiters_blocked(), 5);
    assert_replies("");
}

/* The client came before the clients that began to wait during its claim. */
static void test_fresh_one_in_vain(void **state) {
    struct taker *g = new_get(1, "q1");

    (void)state;
    taker_start(g);
    wait_for(2, "q1");
    assert_ptr_equal(taker_next_fresh(), g);
    taker_claim(g);
    wait_for(3, "q1");
    in_vain(1);
    assert_waiting("q1", "1 2 3");
}

static void test_fresh_one_tries_again(void **state) {
    struct taker *g = new_get(1, "q1");

    (void)state;
    taker_start(g);
    taker_next_fresh();
    taker_claim(g);
    queue_job_returned(queue_named("q1"), (struct job_key){ 1, 0, 1 });
    in_vain(1);
    assert_waiting("q1", "");
    assert_ptr_equal(taker_next_fresh(), g);
    taker_wait(g);
    /* From now on other clients may go first, in turn. */
    taker_claim(g);
    in_vain(1);
    assert_null(taker_next_fresh());
    assert_waiting("q1", "1");
}

static void test_in_vain_and_late(void **state) {
    (void)state;
    wait_until(1, "q1", clock_mono() + 1);
    taker_claim(taker_of(1));
    while (clock_mono() < taker_of(1)->deadline_us)
        clock_turn();
    in_vain(1);
    assert_replies("1:nil");
}

/* ---- deliveries ---- */

static void test_places_in_order(void **state) {
    struct taker *g = new_get(1, "q1 q2");
    const char *const bodies[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

    (void)state;
    taker_claim(g);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(taker_add_place(g), i);
    assert_int_equal(g->pending, 100);
    for (size_t i = 0; i < 8; i++)
        g->jobs[(i * 5 + 3) % 8 * 12] = job_of(i % 2 == 0 ? "q1" : "q2", (int64_t)i + 1, bodies[i]);
    taker_finish(g);
    assert_replies("1:q2=b,q1=g,q2=d,q1=a,q2=f,q1=c,q2=h,q1=e");
}

static void test_delivery(void **state) {
    uint64_t delivered = stats.jobs_delivered;
    struct job jobs[] = { job_of("q1", 7, "one"), job_of("q2", 8, "two") };
    const struct client *c = &getters[1].client;
    struct taker *g = new_get(1, "q1 q2");

    (void)state;
    getters[1].client.bytes_out = 500;
    buf_append_str(&getters[1].client.out, "+PONG\r\n");
    g->form = JOBS_WITH_COUNTERS;
    taker_claim(g);
    taker_deliver(g, jobs, 2);
    assert_replies("1:q1=onenacks/2additional-deliveries/3,q2=twonacks/2additional-deliveries/3");
    assert_int_equal(stats.jobs_delivered, delivered + 2);
    assert_int_equal(queue_named("q1")->counters.jobs_out, 1);
    assert_true(lease_known(7) && lease_known(8));
    assert_int_equal(lease_next_end(), clock_db() + 5 * US_PER_S);
    assert_int_equal(c->unsent_count, 2);
    assert_int_equal(c->unsent[1].key.id, 8);
    assert_int_equal(c->unsent[1].until, 1008);
    assert_in_range(c->unsent[0].offset, 0, 507);
    buf_free(&getters[1].client.out);
}

static void test_delivery_to_a_waiting_client(void **state) {
    struct job job = job_of("q2", 7, "one");

    (void)state;
    wait_for(1, "q1 q2 q3");
    taker_claim(taker_of(1));
    taker_deliver(taker_of(1), &job, 1);
    assert_replies("1:q2=one");
    assert_waiting("q1", "");
    assert_int_equal(waiters_blocked(), 0);
}

/* ---- clients that go ---- */

static void test_gone_while_waiting(void **state) {
    (void)state;
    gone(9);
    wait_until(1, "q1 q2", clock_mono() + 1000000);
    wait_for(2, "q2");
    gone(1);
    assert_waiting("q1", "");
    assert_waiting("q2", "2");
    assert_int_equal(getters[1].ends, 1);
    assert_null(getters[1].client.taker);
    assert_int_equal(waiters_blocked(), 1);
    assert_true(timers_next() == INT64_MAX);
    gone(1);
    assert_int_equal(getters[1].ends, 1);
    assert_replies("");
}

static void test_gone_while_claiming(void **state) {
    struct taker *g;

    (void)state;
    wait_until(1, "q1", clock_mono() + 1000000);
    g = taker_of(1);
    taker_claim(g);
    taker_add_place(g);
    gone(1);
    assert_int_equal(getters[1].ends, 0);
    assert_null(g->client);
    assert_true(timers_next() == INT64_MAX);
    g->pending = 0;
    taker_finish(g);
    assert_int_equal(getters[1].ends, 1);
    assert_waiting("q1", "");
}

/* A client whose connection was closed in this turn gets no job. */
static void test_gone_is_noticed_before_a_claim(void **state) {
    (void)state;
    for (int i = 1; i <= 4; i++)
        wait_for(i, "q1 q2");
    getter_hangs_up(1);
    getter_hangs_up(2);
    getter_hangs_up(4);
    assert_int_equal(first_of("q1"), 3);
    assert_int_equal(getters[1].ends + getters[2].ends, 2);
    assert_waiting("q2", "3 4");
    getter_hangs_up(3);
    assert_int_equal(first_of("q2"), 0);
    assert_waiting("q1", "");
}

/* ---- ends from outside ---- */

/* The same during a claim, which continues without a client. */
static void test_unblock(void **state) {
    struct taker *g;

    (void)state;
    assert_false(waiters_unblock(&getters[1].client, false));
    wait_for(1, "q1");
    wait_for(2, "q1");
    wait_for(3, "q1");
    assert_true(waiters_unblock(&getters[1].client, false));
    assert_true(waiters_unblock(&getters[3].client, true));
    assert_false(waiters_unblock(&getters[1].client, true));
    g = taker_of(2);
    taker_claim(g);
    assert_true(waiters_unblock(&getters[2].client, true));
    assert_replies("1:nil 3:-UNBLOCKED 2:-UNBLOCKED");
    assert_null(g->client);
    taker_finish(g);
    assert_waiting("q1", "");
}

/* A moving element stays at its new place, so the client must get the reply. */
static void test_unblock_while_moving(void **state) {
    struct job job = job_of("q1", 7, "body");

    (void)state;
    wait_for(1, "q1");
    wait_for(2, "q1");
    for (int i = 1; i <= 2; i++) {
        taker_of(i)->moves = true;
        taker_claim(taker_of(i));
        (void)taker_add_place(taker_of(i));
        assert_true(waiters_unblock(&getters[i].client, true));
        assert_false(waiters_unblock(&getters[i].client, true));
        taker_of(i)->pending = 0;
    }
    assert_replies("");
    taker_of(1)->jobs[0] = job;
    taker_finish(taker_of(1));
    taker_finish(taker_of(2));
    assert_replies("1:q1=body 2:-UNBLOCKED");
}

static void test_end_all(void **state) {
    (void)state;
    wait_for(1, "q1");
    taker_start(new_get(2, "q1"));
    wait_for(3, "q2 q1");
    waiters_end_all(WAITERS_LEAVING);
    assert_replies("1:-LEAVING 3:-LEAVING");
    wait_for(1, "q1");
    waiters_end_all(NULL);
    assert_replies("1:nil");
    assert_ptr_equal(taker_next_fresh(), taker_of(2));
    taker_end_empty(taker_of(2));
}

/* ---- any order of events ---- */

#define QUEUES 4

static uint64_t arrival_of[GETTERS];
static uint64_t arrivals;

static void ask(int number) {
    char names[64] = "";
    size_t len = 0;

    for (int i = 1; i <= QUEUES; i++)
        if (i == number % QUEUES + 1 || random_below(2) == 0)
            len += (size_t)snprintf(names + len, sizeof names - len, "%sq%d", len > 0 ? " " : "", i);
    wait_for(number, names);
    arrival_of[number] = ++arrivals;
}

static void serve(int number) {
    struct job job = job_of("q1", number, "x");

    if (random_below(2) == 0)
        in_vain(number);
    else
        taker_deliver(taker_of(number), &job, 1);
}

static void change(int number) {
    struct taker *g = getters[number].taker;

    if (g == NULL && !getters[number].killed)
        ask(number);
    else if (g == NULL)
        getters[number].killed = false;
    else if (g->client == NULL)
        taker_finish(g);
    else if (random_below(6) == 0)
        gone(number);
    else if (g->state == TAKER_CLAIMING)
        serve(number);
    else if (random_below(4) == 0)
        waiters_unblock(&getters[number].client, false);
    else
        taker_claim(g);
}

/* Each list has exactly the waiting clients of its queue, in the order of arrival. */
static void check_lists(void) {
    size_t blocked = 0;

    for (int i = 1; i < GETTERS; i++)
        blocked += getters[i].taker != NULL && getters[i].taker->state == TAKER_WAITING;
    assert_int_equal(waiters_blocked(), blocked);
    QUEUE_EACH(q) {
        uint64_t last = 0;
        int64_t count = 0;

        LIST_EACH(node, &q->work->waiting.list) {
            struct taker *g = LIST_ENTRY(node, struct wait, node)->taker;
            int number = getter_number(getter_of(g->client));

            assert_int_equal(g->state, TAKER_WAITING);
            assert_true(arrival_of[number] > last);
            last = arrival_of[number];
            count++;
        }
        assert_int_equal(q->work->waiting.count, count);
    }
}

static void test_any_order(void **state) {
    (void)state;
    random_start(20261121);
    for (int step = 0; step < 20000; step++) {
        change(1 + (int)random_below(20));
        check_lists();
        buf_reset(&getter_log, SIZE_MAX);
    }
    for (int i = 1; i <= 20; i++)
        while (getters[i].taker != NULL)
            change(i);
}

/* ---- follow-ups ---- */

static void nohang_from(int number, const char *names) {
    struct taker *g = new_get(number, names);

    g->nohang = true;
    taker_begin(g);
}

static void test_nohang_waits_for_follow_ups(void **state) {
    struct follow_up first = { 0 }, second = { 0 }, other = { 0 };

    (void)state;
    follow_up_begin(&first, 1);
    follow_up_begin(&second, 1);
    follow_up_begin(&other, 2);
    nohang_from(1, "q1");
    nohang_from(2, "q3 q1");
    nohang_from(3, "q3");
    assert_replies("3:nil");
    follow_up_end(&first);
    queue_job_ready(queue_named("q1"), (struct job_key){ 1, 0, 5 });
    follow_up_end(&second);
    assert_replies("");
    assert_ptr_equal(taker_next_fresh(), taker_of(1));
    assert_ptr_equal(taker_next_fresh(), taker_of(2));
    taker_wait(taker_of(1));
    taker_wait(taker_of(2));
    assert_replies("1:nil 2:nil");
    follow_up_end(&other);
}

/* A follow-up for any queue, and another that it causes after the request began. */
static void test_nohang_waits_for_caused_follow_ups(void **state) {
    struct follow_up flow = { 0 }, caused = { 0 }, later = { 0 };

    (void)state;
    follow_up_begin(&flow, 0);
    nohang_from(1, "q1");
    follow_up_begin(&later, 1);
    follow_ups_set_cause(&flow);
    follow_up_begin(&caused, 0);
    follow_ups_set_cause(NULL);
    follow_up_end(&flow);
    follow_up_end(&flow);
    assert_replies("");
    follow_up_end(&caused);
    assert_replies("1:nil");
    nohang_from(1, "q1");
    gone(1);
    follow_up_end(&later);
    assert_replies("");
}

static void test_nohang_waits_for_expected_jobs(void **state) {
    (void)state;
    waiters_expect(WAITERS_LEASES, true);
    nohang_from(1, "q1");
    waiters_expect(WAITERS_SCANS, true);
    waiters_expect(WAITERS_LEASES, false);
    nohang_from(2, "q3");
    assert_replies("");
    queue_job_ready(queue_named("q1"), (struct job_key){ 1, 0, 5 });
    waiters_expect(WAITERS_SCANS, false);
    assert_replies("2:nil");
    assert_ptr_equal(taker_next_fresh(), taker_of(1));
    taker_wait(taker_of(1));
    assert_replies("1:nil");
}

/* A job of a queue that may be scanned now, before the leases are known. */
static void test_nohang_looks_after_each_part(void **state) {
    (void)state;
    waiters_expect(WAITERS_LEASES, true);
    waiters_expect(WAITERS_SCANS, true);
    nohang_from(1, "q1");
    nohang_from(2, "q3");
    queue_job_ready(queue_named("q1"), (struct job_key){ 1, 0, 5 });
    waiters_expect(WAITERS_SCANS, false);
    assert_ptr_equal(taker_next_fresh(), taker_of(1));
    taker_wait(taker_of(1));
    assert_replies("");
    waiters_expect(WAITERS_LEASES, false);
    assert_ptr_equal(taker_next_fresh(), taker_of(1));
    taker_wait(taker_of(1));
    assert_replies("2:nil 1:nil");
}

static void test_nohang_waits_for_a_short_time(void **state) {
    struct follow_up flow = { 0 };

    (void)state;
    follow_up_begin(&flow, 0);
    nohang_from(1, "q1");
    timers_run(clock_mono() + 2 * US_PER_S);
    assert_replies("1:nil");
    follow_up_end(&flow);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, getters_setup, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_order_of_arrival),
        TEST(test_several_queues),
        TEST(test_one_queue_named_twice),
        TEST(test_signals_when_there_is_something),
        TEST(test_fresh_ones_in_order),
        TEST(test_users_take_turns),
        TEST(test_budget),
        TEST(test_nohang),
        TEST(test_late),
        TEST(test_timeouts),
        TEST(test_timeout_before_the_first_txn),
        TEST(test_timeout_while_claiming),
        TEST(test_back_to_the_old_place),
        TEST(test_fresh_one_in_vain),
        TEST(test_fresh_one_tries_again),
        TEST(test_in_vain_and_late),
        TEST(test_places_in_order),
        TEST(test_delivery),
        TEST(test_delivery_to_a_waiting_client),
        TEST(test_gone_while_waiting),
        TEST(test_gone_while_claiming),
        TEST(test_gone_is_noticed_before_a_claim),
        TEST(test_unblock),
        TEST(test_unblock_while_moving),
        TEST(test_end_all),
        TEST(test_any_order),
        TEST(test_nohang_waits_for_follow_ups),
        TEST(test_nohang_waits_for_expected_jobs),
        TEST(test_nohang_looks_after_each_part),
        TEST(test_nohang_waits_for_caused_follow_ups),
        TEST(test_nohang_waits_for_a_short_time),
    };

    return cmocka_run_group_tests_name("waiters", tests, NULL, NULL);
}
