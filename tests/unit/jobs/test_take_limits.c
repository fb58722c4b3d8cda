/* Claims at their limits: very many queues, repeated failures, very many keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fake_jobs.h"
#include "queue/queue_ready.h"

/* More queues than statements in a transaction, with one job each. */
static void ask_for_200_queues(int number) {
    char names[2000] = "", queue[16];
    size_t len = 0;

    for (int i = 1; i <= 200; i++) {
        len += (size_t)snprintf(names + len, sizeof names - len, "%sq%d", i > 1 ? " " : "", i);
        snprintf(queue, sizeof queue, "q%d", i);
        insert_job(queue, 0);
    }
    fake_commit_all();
    ask_for(number, names, 200);
}

static void test_claims_of_one_get_in_one_txn(void **state) {
    (void)state;
    ask_for_200_queues(1);
    fake_commit_all();
    assert_int_equal(getters[1].ends, 1);
    assert_memory_equal(getter_replies(), "1:q1=0,q2=1,q3=2,", 17);
}

/* The same, and the client goes while they are under way. */
static void test_gone_while_claims_fly(void **state) {
    (void)state;
    ask_for_200_queues(1);
    batch_flush();
    getters[1].killed = true;
    waiters_client_gone(&getters[1].client);
    fake_commit_all();
    assert_int_equal(getters[1].ends, 1);
    for (int i = 0; i < fake_job_count; i++)
        assert_false(fake_jobs[i].leased);
}

/* The walk of a get that also claims by key is refused each time: it must end with an error. */
static void test_walk_is_refused_for_ever(void **state) {
    (void)state;
    insert_job("q1", 0);
    insert_job("q1", 0);
    fake_commit_all();
    ask_for(1, "q1", 1);
    fake_commit_all();
    fake_end_lease(&fake_jobs[0]);
    ask_for(2, "q1", 2);
    for (int txns = 0; getters[2].ends == 0; txns++) {
        assert_true(txns < 10);
        batch_flush();
        assert_int_equal(fake_write_conn()->state, DB_BUSY);
        if (fake_count(fake_write_conn()) == 2)
            fake_fail(fake_write_conn(), 1, "XX001");
        else
            fake_commit_round();
    }
}

/* The server searches for jobs from the beginning if more leases end during a claim than it remembers. None of these
 * jobs lies before the scan position. */
static void test_many_returned_while_a_walk_is_under_way(void **state) {
    struct queue *q = queue_named("q1");
    int64_t first = job_new_id(clock_db(), 1);

    (void)state;
    insert_job("q1", 0);
    fake_commit_all();
    queue_reset_scan(q);
    q->counters.len = 2;
    ask_for(1, "q1", 2);
    batch_flush();
    for (int64_t i = 0; i < 65536; i++)
        queue_job_returned(q, (struct job_key){ 1, 0, first - i });
    assert_int_equal(q->scan.key_count, 0);
    fake_commit_round();
    assert_true(queue_budget(q) > 0);
}

/* The first of two waiting clients goes while its claim by key is under way, and the transaction
 * fails for a passing reason: the second must get the job. */
static void test_keys_come_back_without_their_client(void **state) {
    (void)state;
    insert_job("q1", 0);
    fake_commit_all();
    ask_for(3, "q1", 1);
    fake_commit_all();
    ask_for(1, "q1", 1);
    ask_for(2, "q1", 1);
    fake_end_lease(&fake_jobs[0]);
    batch_flush();
    getters[1].killed = true;
    waiters_client_gone(&getters[1].client);
    fake_fail(fake_write_conn(), 0, "40001");
    fake_commit_all();
    assert_replies("3:q1=0 2:q1=0");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fake_jobs_start, fake_jobs_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_claims_of_one_get_in_one_txn),
        TEST(test_gone_while_claims_fly),
        TEST(test_walk_is_refused_for_ever),
        TEST(test_many_returned_while_a_walk_is_under_way),
        TEST(test_keys_come_back_without_their_client),
    };

    return cmocka_run_group_tests_name("claim limits", tests, fake_jobs_group_start, fake_batch_stop);
}
