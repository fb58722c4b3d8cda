/* Jobs ahead: which jobs are claimed or added ahead, which requests get them, and when the jobs are put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/stats.h"
#include "fake_jobs.h"
#include "jobs/claim_ahead.h"

/* In each test, REQUESTS clients take the first jobs, and the claim then brings AHEAD jobs more. */
#define JOBS 400
#define REQUESTS 10
#define AHEAD (4 * REQUESTS)

static void insert_jobs(int count) {
    for (int i = 0; i < count; i++)
        insert_job("q1", 0);
    fake_commit_all();
    queue_note_body(queue_named("q1"), 100);
}

/* GETJOB FROM queues, as the command starts it. */
static void ask(int number, const char *queues) {
    struct taker *g = new_get(number, queues);

    if (!claim_ahead_give_new(g))
        taker_begin(g);
}

/* The number of rows that the claims of the next transaction ask for; 0: there is no transaction. */
static int64_t flush_claims(void) {
    int64_t rows = 0;

    batch_flush();
    for (size_t i = 0; i < fake_count(fake_write_conn()); i++)
        if (fake_sent(fake_write_conn(), i)->stmt == SQL_CLAIM_SCAN)
            rows += fake_scalar(fake_sent(fake_write_conn(), i), 3);
    return rows;
}

/* How much later than now the leases of the claim begin. */
static int64_t lead_of_leases(void) {
    const struct fake_statement *s = fake_sent(fake_write_conn(), 0);

    assert_int_equal(s->stmt, SQL_CLAIM_SCAN);
    return fake_scalar(s, 6) - fake_scalar(s, 4);
}

static int leased_rows(void) {
    int count = 0;

    for (int i = 0; i < fake_job_count; i++)
        count += fake_jobs[i].leased;
    return count;
}

static void claim_jobs_ahead(void) {
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), REQUESTS + AHEAD);
    fake_commit_round();
    assert_replies("1:q1=0 2:q1=1 3:q1=2 4:q1=3 5:q1=4 6:q1=5 7:q1=6 8:q1=7 9:q1=8 10:q1=9");
    assert_int_equal(leased_rows(), REQUESTS + AHEAD);
}

static void turn(void) {
    usleep(1000);
    clock_turn();
    timers_run(clock_mono());
}

/* Until all jobs ahead are put back, and the queue needs no look any more. */
static void forget(void) {
    while (queue_named("q1")->ahead != NULL) {
        turn();
        fake_commit_all();
    }
}

static int forget_and_stop(void **state) {
    waiters_end_all(NULL);
    config.claim_ahead = false;
    forget();
    return fake_jobs_stop(state);
}

/* ---- giving ---- */

static void test_a_job_ahead_needs_no_transaction(void **state) {
    uint64_t given = stats.jobs_claimed_ahead;

    (void)state;
    claim_jobs_ahead();
    ask(1, "q1");
    ask(2, "q1");
    assert_replies("1:q1=10 2:q1=11");
    assert_int_equal(fake_count(fake_write_conn()), 0);
    assert_int_equal(stats.jobs_claimed_ahead, given + 2);
    assert_int_equal(queue_named("q1")->counters.jobs_out, REQUESTS + 2);
}

/* The last job ahead may be delivered so long after its claim, and has its whole lease then. */
static void test_leases_of_rows_begin_later(void **state) {
    (void)state;
    insert_jobs(JOBS);
    ask(1, "q1");
    assert_int_equal(flush_claims(), 1);
    assert_int_equal(lead_of_leases(), 0);
    fake_commit_round();
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    assert_true(flush_claims() > REQUESTS);
    assert_int_equal(lead_of_leases(), CLAIM_AHEAD_KEEP_US);
    fake_commit_round();
    getter_replies();
}

/* A job ahead is queued for all that clients see. */
static void test_the_length(void **state) {
    const struct queue *q = queue_named("q1");

    (void)state;
    claim_jobs_ahead();
    assert_int_equal(q->counters.len, JOBS - REQUESTS - AHEAD);
    assert_int_equal(queue_len(q), JOBS - REQUESTS);
    assert_int_equal(queue_jobs_queued(), JOBS - REQUESTS);
    assert_int_equal(queue_leased(q), REQUESTS);
    ask(1, "q1");
    assert_replies("1:q1=10");
    assert_int_equal(queue_len(q), JOBS - REQUESTS - 1);
    lease_remove(fake_jobs[11].key.id);
    assert_int_equal(queue_len(q), JOBS - REQUESTS - 2);
    while (leased_rows() > REQUESTS + 2) {
        turn();
        assert_int_equal(queue_len(q), JOBS - REQUESTS - 2);
        fake_commit_all();
    }
    assert_int_equal(queue_len(q), JOBS - REQUESTS - 2);
}

/* The next transaction replaces the jobs that are taken. */
static void test_jobs_ahead_are_replaced(void **state) {
    (void)state;
    claim_jobs_ahead();
    for (int i = 1; i <= 3 * REQUESTS; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), 3 * AHEAD - (AHEAD - 3 * REQUESTS));
    getter_replies();
    fake_commit_round();
    ask(1, "q1");
    assert_replies("1:q1=40");
}

static void test_a_waiting_request_gets_a_job_ahead_first(void **state) {
    (void)state;
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    batch_flush();
    taker_wait(new_get(11, "q1"));
    fake_commit_round();
    getter_replies();
    ask(12, "q1");
    assert_replies("");
    batch_flush();
    assert_replies("11:q1=10 12:q1=11");
}

/* Other requests take jobs by claims of their own. */
static void test_only_single_requests_of_one_queue(void **state) {
    (void)state;
    claim_jobs_ahead();
    ask(1, "q1 q2");
    ask_for(2, "q1", 2);
    assert_int_equal(flush_claims(), 3);
    assert_replies("");
    fake_commit_round();
    assert_replies("1:q1=50 2:q1=51,q1=52");
}

/* They get the last jobs of a queue, too. */
static void test_the_last_jobs(void **state) {
    (void)state;
    insert_jobs(REQUESTS + 2 * AHEAD);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    fake_commit_all();
    getter_replies();
    ask_for(11, "q1", AHEAD);
    fake_commit_all();
    getter_replies();
    assert_int_equal(queue_named("q1")->counters.len, 0);
    for (int i = 0; queue_len(queue_named("q1")) > 0; i++) {
        struct taker *g = new_get(12, i % 2 == 0 ? "q1" : "q2 q1");

        g->nohang = true;
        g->count = 3;
        if (!claim_ahead_give_new(g))
            taker_begin(g);
        fake_commit_all();
        assert_non_null(strstr(getter_replies(), "12:q1="));
    }
    assert_int_equal(leased_rows(), REQUESTS + 2 * AHEAD);
}

/* ---- limits ---- */

static void test_few_requests_claim_nothing(void **state) {
    (void)state;
    insert_jobs(JOBS);
    for (int i = 1; i < 8; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), 7);
    fake_commit_round();
    getter_replies();
    assert_null(queue_named("q1")->ahead);
}

/* A backlog of less than twice the jobs ahead is left to all servers. */
static void test_a_small_backlog_claims_nothing(void **state) {
    (void)state;
    insert_jobs(REQUESTS + 2 * AHEAD - 1);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), REQUESTS);
    fake_commit_round();
    getter_replies();
}

static void test_large_jobs(void **state) {
    (void)state;
    insert_jobs(JOBS);
    queue_note_body(queue_named("q1"), 100 * 1024);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), REQUESTS + 10);
    fake_commit_round();
    getter_replies();
}

static void test_switched_off(void **state) {
    (void)state;
    config.claim_ahead = false;
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), REQUESTS);
    fake_commit_round();
    getter_replies();
}

static void test_a_queue_with_limits_claims_nothing(void **state) {
    static const struct queue_limits held_back = { .is_held_back = true };

    (void)state;
    queue_named("q1")->limits = &held_back;
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), REQUESTS);
    fake_commit_round();
    getter_replies();
    queue_named("q1")->limits = &queue_unlimited;
}

/* ---- jobs that are not given ---- */

static void test_jobs_are_put_back(void **state) {
    struct queue *q = queue_named("q1");
    uint64_t released = stats.jobs_released;

    (void)state;
    claim_jobs_ahead();
    while (q->counters.len < JOBS - REQUESTS) {
        turn();
        fake_commit_all();
    }
    assert_int_equal(leased_rows(), REQUESTS);
    assert_int_equal(stats.jobs_released, released + AHEAD);
    /* For a time, no job is claimed ahead. */
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->rows, REQUESTS);
    assert_int_equal(fake_count(fake_write_conn()), 1);
    fake_commit_round();
    assert_replies("1:q1=10 2:q1=11 3:q1=12 4:q1=13 5:q1=14 6:q1=15 7:q1=16 8:q1=17 9:q1=18 10:q1=19");
}

static struct {
    struct task task;
    struct row_waiter waiter;
    bool is_ready;
} command;

static void on_command_ready(struct task *t) {
    assert_ptr_equal(t, &command.task);
    command.is_ready = true;
}

/* As a command about all queued jobs of the queue. False: it waits. */
static bool return_jobs(void) {
    command.is_ready = false;
    row_waiter_init(&command.waiter, &command.task, on_command_ready, NULL);
    return claim_ahead_return(queue_named("q1"), &command.waiter);
}

/* A command about the ID has ended the lease, or another delivery has a lease of its own. */
static void test_a_job_whose_lease_has_ended(void **state) {
    (void)state;
    claim_jobs_ahead();
    lease_remove(fake_jobs[10].key.id);
    lease_add(fake_jobs[11].key, clock_db() + US_PER_S);
    ask(1, "q1");
    assert_replies("1:q1=12");
    lease_remove(fake_jobs[13].key.id);
    forget();
    assert_true(fake_jobs[13].leased);
    assert_false(fake_jobs[14].leased);
}

/* A command about the ID is under way. */
static void test_a_job_that_is_changing(void **state) {
    (void)state;
    claim_jobs_ahead();
    lease_hold(fake_jobs[10].key.id);
    ask(1, "q1");
    assert_replies("1:q1=11");
    assert_false(return_jobs());
    fake_commit_all();
    assert_true(command.is_ready);
    assert_true(fake_jobs[10].leased);
    assert_false(fake_jobs[12].leased);
    lease_unhold(fake_jobs[10].key.id);
    forget();
    assert_false(fake_jobs[10].leased);
}

/* The server stood still for longer than it keeps jobs ahead. */
static void test_a_job_that_is_too_old(void **state) {
    (void)state;
    claim_jobs_ahead();
    usleep(CLAIM_AHEAD_KEEP_US + 1000);
    clock_turn();
    ask(1, "q1");
    assert_replies("");
    fake_commit_all();
    assert_replies("1:q1=50");
    assert_false(fake_jobs[10].leased);
}

/* CANCEL ends the lease of a job ahead, because no worker has the job. */
static void test_a_cancelled_job(void **state) {
    struct queue *q = queue_named("q1");
    int64_t total;

    (void)state;
    claim_jobs_ahead();
    total = q->counters.total;
    fake_jobs[10].cancelled = true;
    assert_true(lease_is_ahead(fake_jobs[10].key, fake_lease_end));
    undelivered_release(fake_jobs[10].key, fake_lease_end, true, NULL, NULL);
    ask(1, "q1");
    assert_replies("1:q1=11");
    fake_commit_all();
    assert_true(fake_jobs[10].gone);
    assert_int_equal(queue_len(q), JOBS - REQUESTS - 2);
    assert_int_equal(q->counters.total, total - 1);
}

/* The server stood still for longer than the lease. */
static void test_a_job_whose_lease_is_over(void **state) {
    (void)state;
    fake_lease_end = clock_db() + 20 * US_PER_MS;
    claim_jobs_ahead();
    usleep(30000);
    clock_turn();
    ask(1, "q1");
    assert_replies("");
    for (int i = 0; i < fake_job_count; i++)
        fake_jobs[i].leased = false;
    fake_commit_all();
    assert_replies("1:q1=50");
    lease_clear();
}

static void test_returned(void **state) {
    (void)state;
    claim_jobs_ahead();
    assert_false(return_jobs());
    fake_commit_all();
    assert_true(command.is_ready);
    assert_int_equal(leased_rows(), REQUESTS);
    assert_int_equal(queue_named("q1")->counters.len, JOBS - REQUESTS);
}

/* The command comes while the claim is under way. */
static void test_returned_when_they_arrive(void **state) {
    (void)state;
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    batch_flush();
    assert_false(return_jobs());
    assert_false(command.is_ready);
    fake_commit_all();
    assert_true(command.is_ready);
    getter_replies();
    assert_int_equal(leased_rows(), REQUESTS);
}

/* A job of a higher priority passes the jobs ahead. */
static void test_a_job_that_comes_first(void **state) {
    (void)state;
    claim_jobs_ahead();
    insert_job("q1", 0);
    fake_commit_all();
    assert_int_equal(leased_rows(), REQUESTS + AHEAD);
    insert_job("q1", -1);
    fake_commit_all();
    assert_int_equal(leased_rows(), REQUESTS);
    ask(1, "q1");
    ask(2, "q1");
    fake_commit_all();
    assert_replies("1:q1=401 2:q1=10");
}

static void claim_and_keep_nothing(void) {
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), REQUESTS + AHEAD);
    fake_commit_all();
    getter_replies();
    assert_int_equal(leased_rows(), REQUESTS);
}

/* A crash of the server would lose such a job. */
static void test_jobs_with_retry_0(void **state) {
    (void)state;
    fake_retry = 0;
    claim_and_keep_nothing();
}

/* A crash of the server would be the end of such a job. */
static void test_jobs_at_their_last_attempt(void **state) {
    (void)state;
    fake_last_attempt = true;
    claim_and_keep_nothing();
}

/* A peer does not know which jobs are ahead. */
static void test_peers(void **state) {
    struct node *peer = node_get(2);

    (void)state;
    peer->live = true;
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    assert_int_equal(flush_claims(), REQUESTS);
    fake_commit_round();
    getter_replies();
    peer->live = false;
}

static void test_paused(void **state) {
    (void)state;
    claim_jobs_ahead();
    queue_set_pause(queue_named("q1"), PAUSE_OUT);
    ask(1, "q1");
    assert_waiting("q1", "1");
    assert_int_equal(flush_claims(), 0);
    assert_replies("");
    forget();
    assert_waiting("q1", "1");
    assert_int_equal(leased_rows(), REQUESTS);
}

/* The claim has not committed: its jobs are ready, as before. */
static void test_a_lost_claim(void **state) {
    (void)state;
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    batch_flush();
    fake_lose(fake_write_conn());
    fake_write_conn()->state = DB_READY;
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=1 3:q1=2 4:q1=3 5:q1=4 6:q1=5 7:q1=6 8:q1=7 9:q1=8 10:q1=9");
    forget();
    assert_int_equal(leased_rows(), REQUESTS);
}

static void test_a_refused_claim(void **state) {
    (void)state;
    insert_jobs(JOBS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    batch_flush();
    fake_fail(fake_write_conn(), 0, "42501");
    while (batch_flush(), fake_write_conn()->state == DB_BUSY)
        fake_fail(fake_write_conn(), 0, "42501");
    assert_int_equal(leased_rows(), 0);
    assert_non_null(strstr(getter_replies(), "1:-DBERR"));
}

/* ---- new jobs ---- */

#define TAKEN 40
/* The estimate of the jobs that a transaction takes falls a little with each transaction that takes none. */
#define TAKEN_AFTERWARDS (TAKEN - 10)

/* A request takes all jobs that are added, TAKEN in each transaction. */
static void take_all(void) {
    for (int i = 0; i < 4; i++) {
        insert_jobs(TAKEN);
        ask_for(1, "q1", TAKEN);
        fake_commit_all();
        getter_replies();
    }
    assert_int_equal(queue_len(queue_named("q1")), 0);
}

static struct job new_job(const char *body) {
    struct queue *q = queue_named("q1");
    struct job_key key = { q->id, 0, job_new_id(clock_db(), node_self()->number) };

    assert_true(fake_job_count < FAKE_JOBS);
    fake_jobs[fake_job_count++] = (struct fake_job){ .key = key, .leased = true };
    return (struct job){ .q = q,
                         .key = key,
                         .ready_at = fake_lease_end,
                         .expires_at = INT64_MAX,
                         .retry = 1,
                         .body = slice_str(body) };
}

/* The insert of the job is committed. */
static void keep_new(const struct job *job) {
    job_entered(&(struct job_row){ .q = job->q, .key = job->key, .leased = true }, JOB_ADDED);
    claim_ahead_keep(job);
    claim_ahead_ended(job->q, 1);
}

static bool admit(size_t count) {
    return claim_ahead_admit(queue_named("q1"), 0, count);
}

static bool would_admit(int16_t rank) {
    bool is_admitted = claim_ahead_admit(queue_named("q1"), rank, 1);

    if (is_admitted)
        claim_ahead_ended(queue_named("q1"), 1);
    return is_admitted;
}

static struct job add_ahead(const char *body) {
    struct job job = new_job(body);

    assert_true(admit(1));
    keep_new(&job);
    return job;
}

static bool must_wait_for_room(void) {
    command.is_ready = false;
    row_waiter_init(&command.waiter, &command.task, on_command_ready, NULL);
    return claim_ahead_hold(queue_named("q1"), 0, &command.waiter);
}

static void test_a_new_job(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    take_all();
    (void)add_ahead("new");
    assert_int_equal(queue_len(q), 1);
    ask(1, "q1");
    assert_replies("1:q1=new");
    assert_int_equal(fake_count(fake_write_conn()), 0);
    assert_int_equal(queue_len(q), 0);
}

/* Fewer than eight jobs for each transaction are claimed. */
static void test_new_jobs_of_a_slow_queue(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        insert_jobs(7);
        ask_for(1, "q1", 7);
        fake_commit_all();
    }
    getter_replies();
    assert_false(would_admit(0));
}

/* A job that is ready, or that is being added without a lease, is delivered before a new one. A claim takes it, and then
 * new jobs are added ahead. */
static void test_other_jobs_come_first(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    take_all();
    queue_work(q)->adds.sent = 1;
    assert_false(would_admit(0));
    queue_work(q)->adds.sent = 0;
    insert_job("q1", 0);
    batch_flush();
    fake_commit_round();
    assert_false(would_admit(0));
    assert_int_equal(flush_claims(), 1);
    assert_true(would_admit(0));
    fake_commit_all();
    assert_int_equal(q->counters.ahead, 1);
    ask(1, "q1");
    getter_replies();
}

/* Claims of jobs ahead do not look for a job that became ready again before the scan position. */
static void test_a_redelivered_job_comes_first(void **state) {
    struct fake_job *again = &fake_jobs[0];

    (void)state;
    take_all();
    assert_true(again->leased);
    fake_end_lease(again);
    assert_false(would_admit(0));
    assert_false(must_wait_for_room());
    assert_int_equal(flush_claims(), 0);
    ask(1, "q1");
    fake_commit_all();
    assert_replies("1:q1=0");
    assert_true(would_admit(0));
}

/* An add of another kind may be older, and its insert may come later in the transaction. */
static void test_other_adds_come_first(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    take_all();
    queue_work(q)->adds.accepted = 2;
    queue_work(q)->adds_ahead.plain = 1;
    assert_false(would_admit(0));
    queue_work(q)->adds_ahead.plain = 2;
    assert_true(would_admit(0));
    queue_work(q)->adds.accepted = queue_work(q)->adds_ahead.plain = 0;
}

/* A request that does not wait expects the jobs that are being put back. */
static void test_a_request_during_a_return(void **state) {
    struct taker *g;

    (void)state;
    take_all();
    (void)add_ahead("new");
    assert_false(return_jobs());
    g = new_get(1, "q1");
    g->nohang = true;
    taker_begin(g);
    batch_flush();
    assert_replies("");
    fake_commit_all();
    assert_non_null(strstr(getter_replies(), "1:q1="));
}

/* The claim ends after the insert, but its job is older. */
static void test_an_older_job_arrives_later(void **state) {
    struct job newer, older;

    (void)state;
    take_all();
    older = new_job("older");
    newer = new_job("newer");
    assert_true(admit(2));
    keep_new(&newer);
    keep_new(&older);
    ask(1, "q1");
    ask(2, "q1");
    assert_replies("1:q1=older 2:q1=newer");
}

/* Jobs of another rank would be in another order than that of their times. */
static void test_new_jobs_have_one_rank(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    take_all();
    assert_true(claim_ahead_admit(q, 0, 1));
    assert_false(would_admit(1));
    assert_false(would_admit(-1));
    claim_ahead_ended(q, 1);
    assert_true(would_admit(1));
}

/* The jobs of four transactions, and as many again for adds that were accepted before. */
static void test_room_for_new_jobs(void **state) {
    size_t count = 0;

    (void)state;
    take_all();
    while (admit(1))
        count++;
    assert_in_range(count, 8 * TAKEN_AFTERWARDS, 8 * TAKEN);
    claim_ahead_ended(queue_named("q1"), count);
    assert_true(would_admit(0));
}

static void test_adds_wait_for_room(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    take_all();
    queue_work(q)->adds.accepted = 4 * TAKEN_AFTERWARDS - 1;
    assert_false(must_wait_for_room());
    queue_work(q)->adds.accepted = 4 * TAKEN;
    assert_true(must_wait_for_room());
    batch_flush();
    assert_false(command.is_ready);
    queue_work(q)->adds.accepted = 0;
    batch_flush();
    assert_true(command.is_ready);
}

static void test_adds_do_not_wait_for_long(void **state) {
    struct queue *q = queue_named("q1");
    int64_t since = clock_mono();

    (void)state;
    take_all();
    queue_work(q)->adds.accepted = 4 * TAKEN;
    assert_true(must_wait_for_room());
    while (!command.is_ready)
        turn();
    assert_true(clock_mono() >= since + CLAIM_AHEAD_HOLD_US);
    /* It has waited in vain. The clients that add may be those that take jobs, so no add waits for a time. */
    assert_false(must_wait_for_room());
    queue_work(q)->adds.accepted = 0;
}

/* Its own jobs do not count, and there will never be room for too many. */
static void test_a_large_add(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    take_all();
    queue_work(q)->adds.accepted = 4 * TAKEN + 10;
    assert_false(claim_ahead_hold(q, 4 * TAKEN + 10, &command.waiter));
    assert_false(claim_ahead_hold(q, 8 * TAKEN + 1, &command.waiter));
    assert_true(must_wait_for_room());
    queue_work(q)->adds.accepted = 0;
    batch_flush();
    assert_true(command.is_ready);
}

/* A claim ahead of a job with RETRY 0 could lose the job. */
static void test_a_job_that_is_delivered_at_most_once(void **state) {
    (void)state;
    take_all();
    assert_true(would_admit(0));
    claim_ahead_note_once(queue_named("q1"));
    insert_job("q1", 0);
    fake_commit_all();
    assert_int_equal(queue_named("q1")->counters.ahead, 0);
    ask(1, "q1");
    fake_commit_all();
    getter_replies();
}

/* A command about all queued jobs came before the jobs. */
static void test_new_jobs_after_a_return(void **state) {
    (void)state;
    take_all();
    assert_true(return_jobs());
    assert_false(would_admit(0));
}

/* The first waiter is no GETJOB, so the new jobs are put back for it. */
static void test_new_jobs_for_another_request(void **state) {
    static const struct taker_kind kind = { .leases = true };
    struct taker *other;
    struct job job;

    (void)state;
    take_all();
    other = new_get(1, "q1");
    other->kind = &kind;
    taker_wait(other);
    job = add_ahead("new");
    batch_flush();
    /* A statement that puts the job back holds its lease. */
    assert_true(lease_is_held(job.key.id));
    other->kind = NULL;
    fake_commit_all();
    getter_replies();
    assert_int_equal(queue_len(job.q), 0);
}

/* The last test: afterwards no job is claimed ahead. */
static void test_the_server_stops(void **state) {
    (void)state;
    claim_jobs_ahead();
    claim_ahead_stop();
    fake_commit_all();
    assert_int_equal(leased_rows(), REQUESTS);
    for (int i = 1; i <= REQUESTS; i++)
        ask(i, "q1");
    fake_commit_all();
    assert_int_equal(leased_rows(), 2 * REQUESTS);
    getter_replies();
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fake_jobs_start, forget_and_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_job_ahead_needs_no_transaction),
        TEST(test_leases_of_rows_begin_later),
        TEST(test_the_length),
        TEST(test_jobs_ahead_are_replaced),
        TEST(test_a_waiting_request_gets_a_job_ahead_first),
        TEST(test_only_single_requests_of_one_queue),
        TEST(test_the_last_jobs),
        TEST(test_few_requests_claim_nothing),
        TEST(test_a_small_backlog_claims_nothing),
        TEST(test_large_jobs),
        TEST(test_switched_off),
        TEST(test_a_queue_with_limits_claims_nothing),
        TEST(test_jobs_are_put_back),
        TEST(test_a_job_whose_lease_has_ended),
        TEST(test_a_job_that_is_changing),
        TEST(test_a_job_that_is_too_old),
        TEST(test_a_cancelled_job),
        TEST(test_a_job_whose_lease_is_over),
        TEST(test_returned),
        TEST(test_returned_when_they_arrive),
        TEST(test_a_job_that_comes_first),
        TEST(test_jobs_with_retry_0),
        TEST(test_jobs_at_their_last_attempt),
        TEST(test_peers),
        TEST(test_paused),
        TEST(test_a_lost_claim),
        TEST(test_a_refused_claim),
        TEST(test_a_new_job),
        TEST(test_new_jobs_of_a_slow_queue),
        TEST(test_other_jobs_come_first),
        TEST(test_a_redelivered_job_comes_first),
        TEST(test_other_adds_come_first),
        TEST(test_a_request_during_a_return),
        TEST(test_an_older_job_arrives_later),
        TEST(test_new_jobs_have_one_rank),
        TEST(test_room_for_new_jobs),
        TEST(test_adds_wait_for_room),
        TEST(test_adds_do_not_wait_for_long),
        TEST(test_a_large_add),
        TEST(test_a_job_that_is_delivered_at_most_once),
        TEST(test_new_jobs_after_a_return),
        TEST(test_new_jobs_for_another_request),
        TEST(test_the_server_stops),
    };

    return cmocka_run_group_tests_name("claim ahead", tests, fake_jobs_group_start, fake_batch_stop);
}
