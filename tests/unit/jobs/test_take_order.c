/* Claims and priorities: an urgent job goes first, and a claim does not pass by jobs of other servers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fake_jobs.h"
#include "queue/queue_ready.h"

static void insert_ended(const char *queue, int16_t rank) {
    insert_job(queue, rank);
    fake_commit_all();
}

/* Another server has committed the job, and has not yet told the others. */
static struct fake_job *insert_elsewhere(const char *queue, int16_t rank) {
    struct fake_job *j = &fake_jobs[fake_job_count++];

    *j = (struct fake_job){ .key = { queue_named(queue)->id, rank, job_new_id(clock_db(), 2) } };
    return j;
}

/* The returned job is behind the urgent job, although the server knows its key. */
static void test_returned_behind_an_urgent_job(void **state) {
    (void)state;
    insert_ended("q1", 0);
    ask_for(1, "q1", 1);
    fake_commit_all();
    queue_reset_scan(queue_named("q1"));
    insert_ended("q1", -9);
    fake_end_lease(&fake_jobs[0]);
    ask_for(2, "q1", 1);
    fake_commit_all();
    ask_for(3, "q1", 1);
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=1 3:q1=0");
    assert_int_equal(queue_named("q1")->scan.key_count, 0);
    assert_int_equal(queue_named("q1")->counters.len, 0);
}

/* With no walk to come there is nothing before it. */
static void test_returned_behind_the_frontier_and_alone(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    insert_ended("q1", 0);
    ask_for(1, "q1", 1);
    fake_commit_all();
    q->scan.position = (struct job_key){ .rank = -9 };
    q->scan.may_have_more = false;
    fake_end_lease(&fake_jobs[0]);
    ask_for(2, "q1", 1);
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=0");
}

/* The walk's snapshot is older than the other server's commit, but we hear of that before it lands. */
static void hear_during_a_walk(int count, int16_t rank, void (*hear)(struct queue *q, struct job_key key)) {
    struct queue *q = queue_named("q1");
    PGresult *rows[DB_MAX_STATEMENTS];
    struct fake_job *other;

    queue_reset_scan(q);
    insert_ended("q1", 0);
    ask_for(1, "q1", count);
    q->counters.len = count;
    batch_flush();
    fake_run(fake_write_conn(), 0, rows);
    other = insert_elsewhere("q1", rank);
    job_new_id(clock_db(), 1);
    q->counters.len++;
    hear(q, other->key);
    fake_commit(fake_write_conn(), rows);
    assert_true(job_key_before(q->scan.position, other->key) && q->scan.may_have_more);
    q->counters.len = 1;
    ask_for(2, "q1", 1);
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=1");
    /* No later claim begins there again. */
    assert_false(job_key_before(q->scan.position, other->key));
}

static void test_urgent_and_heard_during_a_walk(void **state) {
    (void)state;
    hear_during_a_walk(1, -9, queue_receive_ready);
}

static void test_heard_during_a_short_walk(void **state) {
    (void)state;
    hear_during_a_walk(2, -9, queue_receive_ready);
}

/* It is younger than all that the walk claims to have seen. */
static void test_new_and_heard_during_a_short_walk(void **state) {
    (void)state;
    hear_during_a_walk(2, 0, queue_receive_ready);
}

static void test_returned_and_heard_during_a_short_walk(void **state) {
    (void)state;
    hear_during_a_walk(2, 0, queue_receive_returned);
}

/* The walk goes over the write connection, and the job comes over the other. */
static void commit_elsewhere(struct queue *q, struct job_key key) {
    q->counters.len--;
    position_receive(&q->scan, key);
    queue_note_apart(q, clock_mono());
    queue_job_ready(q, key);
}

static void test_added_over_another_conn_during_a_walk(void **state) {
    (void)state;
    hear_during_a_walk(1, -9, commit_elsewhere);
}

static void test_added_over_another_conn_during_a_short_walk(void **state) {
    (void)state;
    hear_during_a_walk(2, -9, commit_elsewhere);
}

/* Getter 1 claims from q1 in vain while a job comes into q2. Getter 2 is chosen for that job then, and gives way. */
static void test_a_claim_in_vain_keeps_the_order(void **state) {
    struct queue *q2 = queue_named("q2");
    PGresult *rows[DB_MAX_STATEMENTS];

    (void)state;
    ask_for(1, "q1 q2", 1);
    ask_for(2, "q1 q2", 1);
    queue_reset_scan(queue_named("q1"));
    batch_flush();
    fake_run(fake_write_conn(), 0, rows);
    queue_receive_ready(q2, insert_elsewhere("q2", 0)->key);
    q2->counters.len++;
    /* A second transaction is sent only if it has other tasks, too. */
    insert_job("q3", 0);
    batch_flush();
    fake_commit(fake_write_conn(), rows);
    fake_commit_all();
    assert_replies("1:q2=0");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fake_jobs_start, fake_jobs_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_returned_behind_an_urgent_job),
        TEST(test_returned_behind_the_frontier_and_alone),
        TEST(test_added_over_another_conn_during_a_walk),
        TEST(test_added_over_another_conn_during_a_short_walk),
        TEST(test_urgent_and_heard_during_a_walk),
        TEST(test_heard_during_a_short_walk),
        TEST(test_new_and_heard_during_a_short_walk),
        TEST(test_returned_and_heard_during_a_short_walk),
        TEST(test_a_claim_in_vain_keeps_the_order),
    };

    return cmocka_run_group_tests_name("claim_order", tests, fake_jobs_group_start, fake_batch_stop);
}
