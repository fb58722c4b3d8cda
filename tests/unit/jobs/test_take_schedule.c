/* Random schedules of adds, gets, ends of leases, and failures: no job is lost, and none delivered twice. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/stats.h"
#include "fake_jobs.h"
#include "queue/queue_ready.h"
#include "random.h"

#define QUEUES 3
#define CLIENTS 12

/* The database has executed the oldest transactions under way, so many. Their results are at their places in the ring.
 */
static PGresult *answers[DB_MAX_TXNS][DB_MAX_STATEMENTS];
static size_t ran;
static int two_under_way;

static const char *random_queue(void) {
    static const char *const names[QUEUES] = { "q1", "q2", "q3" };

    return names[random_below(QUEUES)];
}

static void ask(int number) {
    static const char *const names[] = { "q1", "q2 q3", "q3 q1 q2", "q3", "q1 q3" };
    struct taker *g = new_get(number, names[random_below(LENGTH(names))]);

    g->count = 1 + (int64_t)random_below(6);
    g->nohang = random_below(4) == 0;
    if (taker_has_budget(g))
        taker_start(g);
    else
        taker_wait(g);
}

static void change_client(int number) {
    struct getter *g = &getters[number];

    if (g->taker == NULL) {
        getter_returns(number);
        ask(number);
    } else if (random_below(3) == 0 && g->taker->client != NULL) {
        g->killed = true;
        waiters_client_gone(&g->client);
        undelivered_return_unsent(&g->client);
    } else if (random_below(20) == 0) {
        getter_hangs_up(number);
    }
    g->client.unsent_count = 0;
}

static struct fake_job *random_job(void) {
    return fake_job_count == 0 ? NULL : &fake_jobs[random_below((uint64_t)fake_job_count)];
}

/* Ends a lease that is over and not held, as maintenance.c does. */
static void end_some_lease(void) {
    const struct fake_job *j = random_job();
    struct lease_end end;

    if (j != NULL && lease_known(j->key.id))
        lease_add(j->key, 1);
    while (lease_take_ended(1, &end)) {
        fake_job_at(end.key.queue_id, end.key.rank, end.key.id)->leased = false;
        queue_job_returned(queue_find_id(end.key.queue_id), end.key);
    }
}

/* Removes a job, as an ACKJOB in a transaction of its own. The server's memory of the job may stay. */
static void remove_some_job(void) {
    struct fake_job *j = random_job();

    if (j == NULL || fake_write_conn()->state == DB_BUSY)
        return;
    if (!lease_remove(j->key.id))
        queue_find_id(j->key.queue_id)->counters.len--;
    *j = fake_jobs[--fake_job_count];
}

/* Loads the state, as bootstrap.c does after a lost connection: puts back the jobs that no client has, drops leases
 * that are not in the table, and counts all jobs. */
static void load(void) {
    int64_t ready[QUEUES + 1] = { 0 };

    for (int i = 0; i < fake_job_count; i++) {
        struct fake_job *j = &fake_jobs[i];

        j->leased = j->leased && lease_known(j->key.id);
        ready[j->key.queue_id] += !j->leased;
        if (!j->leased)
            lease_remove(j->key.id);
    }
    QUEUE_EACH(q) {
        q->counters.len = ready[q->id];
        queue_reset_scan(q);
    }
}

static void run_next(void) {
    fake_run(fake_write_conn(), ran, answers[fake_place(fake_write_conn(), ran)]);
    ran++;
}

static void forget_answers(struct db_conn *conn) {
    while (ran > 0) {
        size_t place = fake_place(conn, --ran);

        for (size_t i = 0; i < conn->txns[place].sent; i++)
            PQclear(answers[place][i]);
    }
}

static void land(void) {
    struct db_conn *conn = fake_write_conn();

    if (random_below(20) > 0) {
        ran--;
        fake_commit(conn, answers[conn->oldest]);
        return;
    }
    forget_answers(conn);
    fake_lose(conn);
    load();
    conn->state = DB_READY;
}

/* Before the database has run it, a transaction can fail, or be lost without effect. */
static void take_a_step(void) {
    struct db_conn *conn = fake_write_conn();

    if (db_has_room(conn) && (conn->sent_txns == 0 || random_below(3) == 0))
        batch_flush();
    else if (ran > 0 && (ran == conn->sent_txns || random_below(2) == 0))
        land();
    else if (ran == 0 && random_below(12) == 0)
        fake_fail(conn, random_below(fake_count(conn)), random_below(2) == 0 ? "40001" : "XX001");
    else
        run_next();
    if (fake_write_conn()->sent_txns == 2)
        two_under_way++;
}

static void happen(void) {
    uint64_t what = random_below(100);

    if (what < 15 && fake_job_count < 40)
        insert_job(random_queue(), (int16_t) - (int64_t)random_below(2));
    else if (what < 25)
        remove_some_job();
    else if (what < 50)
        change_client(1 + (int)random_below(CLIENTS));
    else if (what < 65)
        end_some_lease();
    else
        take_a_step();
    buf_reset(&getter_log, SIZE_MAX);
}

static void finish_txns(void) {
    for (; fake_write_conn()->sent_txns > 0; ran--) {
        if (ran == 0)
            run_next();
        fake_commit(fake_write_conn(), answers[fake_write_conn()->oldest]);
    }
    fake_commit_all();
}

static int64_t count_ready(const struct queue *q) {
    int64_t ready = 0;

    for (int i = 0; i < fake_job_count; i++)
        ready += fake_jobs[i].key.queue_id == q->id && !fake_jobs[i].leased;
    return ready;
}

/* When nothing is under way, the books agree with the table. */
static void check_books(void) {
    QUEUE_EACH(q) {
        assert_int_equal(q->counters.len, count_ready(q));
        assert_int_equal(q->work->claims.rows, 0);
        for (size_t i = 0; i < TAKE_KINDS; i++)
            assert_null(q->work->claims.latest[i]);
    }
    for (int i = 0; i < fake_job_count; i++)
        assert_int_equal(fake_jobs[i].leased, lease_known(fake_jobs[i].key.id));
}

/* No client waits for a queue that has a job. */
static void check_rest(void) {
    check_books();
    QUEUE_EACH(q) {
        assert_true(list_empty(&q->work->waiting.list) || count_ready(q) == 0);
    }
}

static void drain(void) {
    for (int number = 1; number <= CLIENTS; number++) {
        if (getters[number].taker != NULL)
            continue;
        getter_returns(number);
        taker_start(new_get(number, "q1 q2 q3"));
        getters[number].taker->count = FAKE_JOBS;
        fake_commit_all();
    }
}

static void test_any_schedule(void **state) {
    (void)state;
    random_start(20261122);
    for (int round = 0; round < 40; round++) {
        for (int step = 0; step < 700; step++) {
            happen();
            if (batch_idle())
                check_books();
        }
        finish_txns();
        check_rest();
        drain();
        check_rest();
        waiters_end_all(NULL);
        buf_reset(&getter_log, SIZE_MAX);
    }
    assert_in_range(two_under_way, 100, INT_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_schedule, fake_jobs_start, fake_jobs_stop),
    };

    return cmocka_run_group_tests_name("claim schedule", tests, fake_jobs_group_start, fake_batch_stop);
}
