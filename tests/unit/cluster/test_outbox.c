/* The outbox: notes for the other servers, and their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cluster/outbox.h"
#include "pg/notify_bus.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"

static char told[NOTIFY_TEXT_MAX];
static struct list waiter; /* only its presence counts */

static int start(void **state) {
    (void)state;
    queue_init();
    list_init(&waiter);
    outbox_set_shared(true);
    return 0;
}

/* The server drops its notes when the last of the others ends. */
static int stop(void **state) {
    bool urgent;

    (void)state;
    outbox_set_shared(true);
    outbox_set_shared(false);
    assert_false(outbox_has(&urgent));
    QUEUE_EACH(q) {
        queue_drop(q);
    }
    return 0;
}

static struct queue *open_queue(int32_t id) {
    char name[16];
    struct queue *q;

    snprintf(name, sizeof name, "q%d", id);
    q = queue_get(slice_str(name));
    queue_set_id(q, id);
    return q;
}

static struct job_key key_of(int32_t queue_id, int16_t rank, int64_t id) {
    return (struct job_key){ queue_id, rank, id };
}

static const char *take(size_t size) {
    size_t len = outbox_take(told, size);

    assert_int_equal(strlen(told), len);
    assert_true(len < size);
    return told;
}

#define assert_told(text) assert_string_equal(take(sizeof told), text)

static void assert_has(bool anything, bool urgently) {
    bool urgent;

    assert_int_equal(outbox_has(&urgent), anything);
    assert_int_equal(urgent, urgently);
}

/* ---- collecting ---- */

static void test_alone(void **state) {
    struct queue *q = open_queue(7);

    (void)state;
    outbox_set_shared(false);
    queue_count_in(q, 1);
    queue_job_ready(q, key_of(7, 0, 5));
    queue_job_returned(q, key_of(7, 0, 4));
    OBSERVE(lease_ended, key_of(7, 0, 3), 9, true);
    OBSERVE(row_changed, 7);
    assert_has(false, false);
    assert_told("");
}

/* The first other server is told the counters of the time before. */
static void test_first_other_server(void **state) {
    struct queue *a = open_queue(7);

    (void)state;
    open_queue(8);
    outbox_set_shared(false);
    queue_count_in(a, 1);
    queue_count_len(a, 3);
    queue_count_total(a, 4);
    queue_count_out(a, 2);
    outbox_set_shared(true);
    assert_has(true, false);
    a->counters.oldest_due_us = 5;
    assert_told(" q7,3,4,1,2,0 j7,0,0,5");
    assert_has(false, false);
}

static void test_shares_are_told_once(void **state) {
    struct queue *a = open_queue(7), *b = open_queue(8);

    (void)state;
    queue_count_total(b, 1);
    queue_count_total(a, 1);
    queue_count_total(a, -1);
    queue_count_total(a, -1);
    assert_has(true, false);
    assert_told(" q8,0,1,0,0,0 q7,0,-1,0,0,0");
    assert_told("");
    queue_count_total(b, 1);
    assert_told(" q8,0,2,0,0,0");
}

/* A queue without a row has no number, so its note is not sent. */
static void test_without_a_row(void **state) {
    struct queue *q = queue_get(SLICE("new"));

    (void)state;
    queue_count_total(q, 1);
    assert_has(false, false);
    queue_set_id(q, 9);
    queue_count_total(q, 1);
    assert_told(" q9,0,2,0,0,0");
}

static void test_jobs(void **state) {
    (void)state;
    OBSERVE(returned, key_of(7, -3, 5));
    OBSERVE(lease_ended, key_of(8, 0, 6), 1000, true);
    OBSERVE(row_changed, 9);
    OBSERVE(lease_ended, key_of(7, 1, INT64_MAX), INT64_MAX, false);
    assert_has(true, true);
    assert_told(" k7,-3,5 x8,0,6,1000 p9 l7,1,9223372036854775807,9223372036854775807");
    assert_has(false, false);
}

/* The first key, and how many there are. */
static void test_ready(void **state) {
    struct queue *q = open_queue(7);

    (void)state;
    queue_job_ready(q, key_of(7, 0, 50));
    queue_job_ready(q, key_of(7, 0, 40));
    queue_job_ready(q, key_of(7, 0, 60));
    queue_job_ready(q, key_of(7, 0, 55));
    assert_has(true, true);
    assert_told(" a7,0,40,4 q7,4,0,0,0,0");
    assert_has(false, false);
    queue_job_ready(q, key_of(7, 0, 70));
    assert_told(" a7,0,70,1 q7,5,0,0,0,0");
}

/* While a client waits here, or a claim is under way, the job is about to be taken. */
static void test_ready_and_wanted_here(void **state) {
    struct queue *q = open_queue(7);

    (void)state;
    list_push_back(&queue_work(q)->waiting.list, &waiter);
    queue_job_ready(q, key_of(7, 0, 50));
    assert_has(true, false);
    assert_told(" q7,1,0,0,0,0");
    list_remove(&waiter);
    queue_work(q)->claims.rows = 1;
    assert_has(false, false);
    queue_work(q)->claims.rows = 0;
    assert_has(true, true);
    assert_told(" a7,0,50,1");
}

static void test_ready_and_taken(void **state) {
    struct queue *q = open_queue(7);

    (void)state;
    queue_job_ready(q, key_of(7, 0, 50));
    take(sizeof told);
    queue_job_ready(q, key_of(7, 0, 51));
    q->scan.may_have_more = false;
    assert_has(true, false);
    assert_told(" q7,2,0,0,0,0");
    /* The count of taken jobs is not added to the next note. */
    queue_job_ready(q, key_of(7, 0, 52));
    assert_told(" a7,0,52,1 q7,3,0,0,0,0");
}

static void test_said_once_and_first(void **state) {
    struct queue *q = open_queue(7);

    (void)state;
    queue_count_total(q, 1);
    OBSERVE(row_changed, 7);
    outbox_note(OUTBOX_JOIN);
    outbox_note(OUTBOX_REQUEST);
    outbox_note(OUTBOX_JOIN);
    assert_has(true, true);
    assert_told(" h w p7 q7,0,1,0,0,0");
    assert_has(false, false);
    outbox_note(OUTBOX_JOIN);
    assert_told(" h");
}

/* A server that has just started greets the servers that it does not know. */
static void test_said_while_alone(void **state) {
    (void)state;
    outbox_set_shared(false);
    outbox_note(OUTBOX_JOIN);
    assert_has(true, true);
    outbox_set_shared(true);
    assert_told(" h");
}

static void test_all_of_them_are_said(void **state) {
    (void)state;
    for (char c = 'a'; c <= 'z'; c++)
        outbox_note((enum outbox_item)c);
    assert_int_equal(strlen(take(sizeof told)), 52);
}

static void test_dropped_without_other_servers(void **state) {
    struct queue *q = open_queue(7);

    (void)state;
    queue_job_ready(q, key_of(7, 0, 50));
    OBSERVE(row_changed, 7);
    outbox_note(OUTBOX_SUSPECT);
    outbox_send_all();
    outbox_set_shared(false);
    assert_has(false, false);
    assert_int_equal(q->work->outbox.ready_count, 0);
    assert_told("");
    outbox_set_shared(true);
    assert_told(" q7,1,0,0,0,0");
}

static void test_dropped(void **state) {
    struct queue *q = open_queue(7);

    (void)state;
    queue_job_ready(q, key_of(7, 0, 50));
    queue_drop(q);
    assert_has(false, false);
    assert_told("");
}

/* ---- telling all ---- */

static void test_tell_all(void **state) {
    struct queue *a = open_queue(7);

    (void)state;
    open_queue(8);
    queue_count_total(a, 2);
    take(sizeof told);
    outbox_send_all();
    assert_has(true, false);
    assert_told(" q7,0,2,0,0,0 e");
    assert_has(false, false);
}

static void test_there_is_nothing_to_tell(void **state) {
    (void)state;
    outbox_send_all();
    assert_has(true, false);
    assert_told(" e");
    assert_has(false, false);
}

/* ---- limits ---- */

#define QUEUES 1000

/* Each queue once, however many messages that takes, and that this was all at the very end. */
static void test_more_queues_than_fit(void **state) {
    bool seen[QUEUES + 1] = { false };
    int messages = 0, count = 0;
    bool all = false;

    (void)state;
    for (int32_t i = 1; i <= QUEUES; i++)
        queue_count_total(open_queue(i), i);
    outbox_send_all();
    while (!all) {
        char *save = NULL, *word;

        take(1000);
        assert_true(messages++ < QUEUES);
        for (word = strtok_r(told, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
            int id, total;

            assert_false(all);
            all = strcmp(word, "e") == 0;
            if (all)
                continue;
            assert_int_equal(sscanf(word, "q%d,0,%d,0,0", &id, &total), 2);
            assert_true(id == total && !seen[id]);
            seen[id] = true;
            count++;
        }
    }
    assert_int_equal(count, QUEUES);
    assert_true(messages > 10);
    assert_has(false, false);
}

static void test_more_jobs_than_fit(void **state) {
    int64_t next = 0;

    (void)state;
    for (int64_t id = 0; id < 1000; id++)
        OBSERVE(returned, key_of(7, 0, id));
    queue_count_total(open_queue(7), 1);
    while (next < 1000) {
        char *save = NULL, *word;

        assert_has(true, true);
        take(1000);
        for (word = strtok_r(told, " ", &save); word != NULL && word[0] == 'k';
             word = strtok_r(NULL, " ", &save))
            assert_int_equal(atoi(strrchr(word, ',') + 1), next++);
    }
    take(sizeof told);
    assert_has(false, false);
}

/* The others do better to look for themselves. */
static void test_far_too_many_jobs(void **state) {
    int64_t told_jobs = 0;
    bool urgent;

    (void)state;
    for (int64_t id = 0; id < 100000; id++)
        OBSERVE(lease_ended, key_of(7, 0, id), 1, true);
    assert_memory_equal(take(sizeof told), " z x", 4);
    while (outbox_has(&urgent)) {
        for (const char *at = told; (at = strchr(at, 'x')) != NULL; at++)
            told_jobs++;
        take(sizeof told);
        assert_null(strchr(told, 'z'));
    }
    assert_in_range(told_jobs, 1, 10000);
}

static void test_the_longest_numbers(void **state) {
    (void)state;
    for (int32_t i = 0; i < 300; i++) {
        struct queue *q = open_queue(i == 0 ? INT32_MIN : INT32_MAX - i);
        struct queue_own *own = xmalloc(sizeof *own); /* freed with the queue */

        q->scan.position.rank = INT16_MIN;
        *own = (struct queue_own){ .q = q, .has_states = true };
        own->share = (struct queue_share){ INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
                                           INT64_MIN, INT64_MIN, INT64_MIN };
        list_init(&own->in_dirty);
        q->counters.own = own;
        q->counters.oldest_due_us = INT64_MIN;
        OBSERVE(counted, q);
        queue_receive_ready(q, key_of(q->id, INT16_MIN, INT64_MAX));
        queue_work(q)->outbox.ready_count = INT64_MAX - 1;
        OBSERVE(ready, q, key_of(q->id, INT16_MIN, INT64_MIN + 1), 1);
    }
    for (size_t size = 150; size < sizeof told; size += 13)
        take(size);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_alone),
        TEST(test_first_other_server),
        TEST(test_shares_are_told_once),
        TEST(test_without_a_row),
        TEST(test_jobs),
        TEST(test_ready),
        TEST(test_ready_and_wanted_here),
        TEST(test_ready_and_taken),
        TEST(test_said_once_and_first),
        TEST(test_said_while_alone),
        TEST(test_all_of_them_are_said),
        TEST(test_dropped_without_other_servers),
        TEST(test_dropped),
        TEST(test_tell_all),
        TEST(test_there_is_nothing_to_tell),
        TEST(test_more_queues_than_fit),
        TEST(test_more_jobs_than_fit),
        TEST(test_far_too_many_jobs),
        TEST(test_the_longest_numbers),
    };

    return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
