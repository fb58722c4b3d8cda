/* Failed and lost transactions: repeated tasks, their order, and the number of attempts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch_tasks.h"

/* ---- a bad row ---- */

static void test_bad_row_alone(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    assert_events("fail:a1(" BAD_DATA ")");
    assert_all_ended();
}

static void test_bad_row_of_two(void **state) {
    (void)state;
    add(&a[1]);
    add(&a[2]);
    a[1].refused = BAD_DATA;
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    assert_events("again:a2 again:a1");
    assert_false(batch_idle());
    trial_begins = 0;
    batch_flush();
    assert_txn(WRITE, "a1");
    fail_at(WRITE, 0, BAD_DATA);
    assert_commits("a2");
    assert_events("fail:a1(" BAD_DATA ") done:a2");
    assert_int_equal(trial_begins, 2);
    assert_int_equal(a[2].task.first_row, 0);
    assert_all_ended();
}

/* Tasks that begin in a transaction stay in their order. The first half of them begins in the first transaction. */
static int last_done[2], half;

static void check_order(struct trial *t) {
    int *last = &last_done[t->id > half];

    assert_true(t->id > *last);
    *last = t->id;
}

static void expect_order(int first_txn) {
    memset(last_done, 0, sizeof last_done);
    half = first_txn;
    trial_on_done = check_order;
}

/* Wherever it stands: it alone fails, and all others are done, in their order, after a few
 * transactions. */
static void check_bad_row_of(int count, int first_txn) {
    for (int bad = 1; bad <= count; bad += 7) {
        trial_start(NULL);
        expect_order(first_txn);
        a[bad].refused = BAD_DATA;
        add_many(a, 1, count);
        assert_in_range(end_all_txns(), 3, 16);
        for (int i = 1; i <= count; i++) {
            assert_int_equal(a[i].ends, 1);
            assert_int_equal(a[i].failed != NULL, i == bad);
        }
    }
}

static void test_bad_row_in_company(void **state) {
    (void)state;
    check_bad_row_of(15, 15);
    check_bad_row_of(64, 32);
}

static void test_many_bad_rows(void **state) {
    (void)state;
    expect_order(50);
    for (int i = 1; i <= 100; i++) {
        a[i].refused = i % 3 == 0 ? BAD_DATA : NULL;
        add(&a[i]);
    }
    assert_in_range(end_all_txns(), 3, 250);
    for (int i = 1; i <= 100; i++) {
        assert_int_equal(a[i].ends, 1);
        assert_int_equal(a[i].failed != NULL, i % 3 == 0);
    }
}

/* The operation whose statement failed gets transactions of its own. */
static void test_bad_row_next_to_other_statements(void **state) {
    (void)state;
    add(&a[1]);
    add(&b[1]);
    add(&c[1]);
    add(&c[2]);
    batch_flush();
    assert_txn(WRITE, "a1 b1 c1 c2");
    fail_at(WRITE, 2, BAD_DATA);
    assert_events("again:c2 fail:c1(" BAD_DATA ") again:a1");
    assert_commits("c2");
    assert_commits("a1 b1");
    assert_events("done:c2 done:a1 done:b1");
    assert_all_ended();
}

/* A client sends commands that fail as fast as it can. */
static void test_failing_ones_and_others_take_turns(void **state) {
    (void)state;
    for (int i = 1; i <= 300; i++) {
        c[i].refused = BAD_DATA;
        add(&c[i]);
    }
    for (int i = 1; i <= 100; i++) {
        add(&a[i]);
        for (int txns = 0; a[i].ends == 0; txns++) {
            assert_true(txns < 4);
            batch_flush();
            end_txn_of(fake_db.conns[WRITE]);
        }
        assert_null(a[i].failed);
    }
    assert_int_equal(c[300].ends, 0);
    end_all_txns();
}

/* The good tasks of an operation end, although others of their kind fail. */
static void test_good_ones_between_failing_ones(void **state) {
    (void)state;
    for (int i = 1; i <= 300; i++) {
        c[i].refused = i % 30 == 0 ? NULL : BAD_DATA;
        add(&c[i]);
    }
    for (int txns = 0; c[30].ends == 0; txns++) {
        assert_true(txns < 40);
        batch_flush();
        end_txn_of(fake_db.conns[WRITE]);
    }
    assert_null(c[30].failed);
    end_all_txns();
}

/* The search for failing tasks does not delay later tasks. These follow the transaction that was under way with the
 * failed one, and the first suspects. */
static void test_others_fly_between(void **state) {
    int txns = 0;

    (void)state;
    for (int i = 1; i <= 64; i++) {
        a[i].refused = BAD_DATA;
        add(&a[i]);
    }
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    add(&b[1]);
    while (b[1].ends == 0) {
        assert_true(++txns <= 3);
        batch_flush();
        end_txn_of(fake_db.conns[WRITE]);
    }
    assert_null(b[1].failed);
    end_all_txns();
    for (int i = 1; i <= 64; i++)
        assert_int_equal(a[i].ends, 1);
}

static void test_suspects_are_not_planned_for(void **state) {
    (void)state;
    for (int i = 1; i <= 2; i++)
        add(&a[i]);
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    trial_plans = 0;
    assert_commits("a1");
    assert_int_equal(trial_plans, 0);
    end_all_txns();
    assert_events("again:a2 again:a1 done:a1 done:a2");
}

static void test_bad_row_of_the_side_conn(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&s[i]);
    s[2].refused = BAD_DATA;
    assert_in_range(end_all_txns(), 3, 6);
    assert_string_equal(s[2].failed, BAD_DATA);
    assert_true(s[1].ends == 1 && s[1].failed == NULL);
    assert_true(s[3].ends == 1 && s[3].failed == NULL);
}

/* Once it has ended, a task that was suspect is like any other. */
static void test_used_again(void **state) {
    (void)state;
    add(&b[1]);
    add(&b[2]);
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    end_all_txns();
    for (int i = 0; i < 3; i++) {
        add(&b[1]);
        add(&b[2]);
        batch_flush();
        assert_txn(WRITE, "b1,2");
        lose(WRITE);
        assert_commits("b1,2");
    }
}

/* ---- failures that pass ---- */

static void test_transient_in_company(void **state) {
    static const char *const states[] = { "40001", "40P01", "57014" };

    (void)state;
    for (size_t i = 0; i < LENGTH(states); i++) {
        trial_start(NULL);
        add(&a[1]);
        add(&a[2]);
        add(&b[1]);
        batch_flush();
        fail_at(WRITE, 0, states[i]);
        assert_events("again:a2 again:a1");
        add(&a[3]);
        assert_commits("a1,2,3 b1");
        assert_events("done:a1,a2,a3 done:b1");
        assert_all_ended();
    }
}

static int fail_until_idle(const char *sqlstate) {
    int txns = 0;

    for (batch_flush(); fake_db.conns[WRITE]->state == DB_BUSY; batch_flush()) {
        assert_true(txns++ < 100);
        fail_at(WRITE, 0, sqlstate);
    }
    assert_true(batch_idle());
    return txns;
}

static void test_transient_for_ever(void **state) {
    (void)state;
    add(&a[1]);
    assert_in_range(fail_until_idle("40001"), 2, 20);
    assert_int_equal(a[1].ends, 1);
    assert_string_equal(a[1].failed, "40001");
    trial_events();
    trial_start(NULL);
    for (int i = 1; i <= 3; i++)
        add(&b[i]);
    assert_in_range(fail_until_idle("57014"), 3, 40);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(b[i].ends, 1);
        assert_string_equal(b[i].failed, "57014");
    }
}

/* The failures of others do not count. */
static void test_innocent_for_long(void **state) {
    (void)state;
    add(&b[1]);
    for (int i = 0; i < 40; i++) {
        add(&a[i]);
        batch_flush();
        fail_at(WRITE, 0, "40001");
        assert_int_equal(b[1].ends, 0);
    }
    end_all_txns();
    assert_int_equal(b[1].ends, 1);
    assert_null(b[1].failed);
}

/* ---- failure at the commit ---- */

/* No statement has failed: all are suspect. */
static void test_commit_fails(void **state) {
    (void)state;
    for (int i = 1; i <= 5; i++) {
        add(&a[i]);
        add(&b[i]);
    }
    add(&c[1]);
    a[4].refused = b[1].refused = BAD_COMMIT;
    assert_in_range(end_all_txns(), 5, 20);
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(a[i].ends, 1);
        assert_int_equal(b[i].ends, 1);
        assert_int_equal(a[i].failed != NULL, i == 4);
        assert_int_equal(b[i].failed != NULL, i == 1);
    }
    assert_true(c[1].ends == 1 && c[1].failed == NULL);
}

static void test_commit_of_one_fails(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    fail_commit(WRITE, BAD_COMMIT);
    assert_events("fail:a1(" BAD_COMMIT ")");
    assert_all_ended();
}

static void test_commit_of_single_rows_fails(void **state) {
    (void)state;
    add(&a[1]);
    add(&b[1]);
    b[1].refused = BAD_COMMIT;
    end_all_txns();
    assert_true(a[1].ends == 1 && a[1].failed == NULL);
    assert_true(b[1].ends == 1 && b[1].failed != NULL);
}

static void test_commit_fails_for_now(void **state) {
    (void)state;
    add(&a[1]);
    add(&a[2]);
    add(&b[1]);
    batch_flush();
    fail_commit(WRITE, "40001");
    assert_commits("a1,2 b1");
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
    fake_lose(fake_db.conns[WRITE]);
    assert_events("again:c2? again:c1? again:a3? again:a2? again:a1?");
    batch_flush();
    assert_txn(WRITE, "");
    assert_false(batch_idle());
    fake_db.conns[WRITE]->state = DB_READY;
    /* Unsent tasks need no careful repetition. */
    assert_commits("a4 r1,2,3 b1,2,3 c1 c2 c3");
    assert_events("done:a4 done:r1,r2,r3 done:b1,b2,b3 done:c1 done:c2 done:c3");
    assert_all_ended();
}

static void test_lost_twice(void **state) {
    (void)state;
    add(&a[1]);
    add(&a[2]);
    batch_flush();
    lose(WRITE);
    add(&a[3]);
    batch_flush();
    assert_txn(WRITE, "a3 r1,2");
    lose(WRITE);
    assert_commits("r3,1,2");
    assert_events("again:a2? again:a1? again:r2? again:r1? again:a3? done:r3,r1,r2");
    assert_all_ended();
}

/* No job is taken between a change that may have been committed and its repetition. */
static void test_takes_wait_for_lost(void **state) {
    int plans;

    (void)state;
    op_c.takes = true;
    add(&a[1]);
    add(&c[1]);
    batch_flush();
    assert_txn(WRITE, "a1 c1");
    lose(WRITE);
    plans = trial_plans;
    add(&b[1]);
    batch_flush();
    assert_txn(WRITE, "r1 b1");
    assert_int_equal(trial_plans, plans);
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "c1");
    commit(WRITE);
    assert_int_equal(c[1].ends, 1);
    assert_all_ended();
    op_c.takes = false;
}

/* Takes whose statement failed before wait, too. */
static void test_suspect_takes_wait_for_lost(void **state) {
    (void)state;
    op_b.takes = true;
    for (int i = 1; i <= 2; i++)
        add(&b[i]);
    batch_flush();
    for (int i = 1; i <= 2; i++)
        add(&a[i]);
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    assert_txn(WRITE, "a1,2");
    lose(WRITE);
    batch_flush();
    assert_txn(WRITE, "r1,2");
    end_all_txns();
    assert_all_ended();
    op_b.takes = false;
}

/* The connection for reads may be down for long. */
static void test_takes_do_not_wait_for_reads(void **state) {
    (void)state;
    op_c.takes = true;
    add(&s[1]);
    batch_flush();
    fake_lose(fake_db.conns[READ]);
    add(&c[1]);
    batch_flush();
    assert_txn(WRITE, "c1");
    commit(WRITE);
    fake_db.conns[READ]->state = DB_READY;
    batch_flush();
    commit(READ);
    assert_all_ended();
    op_c.takes = false;
}

static void test_lost_and_given_up(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&c[i]);
    c[2].gives_up = true;
    batch_flush();
    lose(WRITE);
    assert_events("again:c3? again:c2? again:c1?");
    assert_int_equal(c[2].ends, 1);
    assert_int_equal(c[2].task.state, TASK_IDLE);
    assert_commits("c1 c3");
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
    fail_at(WRITE, 0, BAD_DATA);
    assert_events("again:c1 again:a3 again:a2 again:a1");
    end_all_txns();
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(a[i].ends, 1);
        assert_null(a[i].failed);
    }
    assert_int_equal(c[1].ends, 1);
}

/* However often the connection dies, nothing fails because of that. */
static void test_lost_for_long(void **state) {
    (void)state;
    add(&b[1]);
    add(&b[2]);
    for (int i = 0; i < 300; i++) {
        batch_flush();
        assert_txn(WRITE, "b1,2");
        lose(WRITE);
    }
    assert_commits("b1,2");
    assert_events("done:b1,b2");
}

static void test_suspect_is_lost(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&b[i]);
    b[2].refused = BAD_DATA;
    batch_flush();
    end_txn_of(fake_db.conns[WRITE]);
    batch_flush();
    lose(WRITE);
    end_all_txns();
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(b[i].ends, 1);
        assert_int_equal(b[i].failed != NULL, i == 2);
    }
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
    assert_txn(WRITE, "");
    fake_db.conns[WRITE]->state = DB_READY;
    assert_commits("r1,2");
    assert_events("done:r1,r2");
}

static void test_cancel_of_a_failed_task(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add(&b[i]);
    batch_flush();
    fail_at(WRITE, 0, BAD_DATA);
    assert_true(batch_cancel(&b[2].task));
    assert_int_equal(b[2].task.state, TASK_IDLE);
    assert_commits("b1");
    batch_flush();
    assert_txn(WRITE, "b3");
    assert_false(batch_cancel(&b[3].task));
    lose(WRITE);
    assert_true(batch_cancel(&b[3].task));
    assert_all_ended();
    assert_events("done:b1");
}

/* ---- tasks that end the session ---- */

/* Until nothing is left: transactions with that task end the session, and others are committed. */
static int crash_with(enum sql_stmt stmt, const struct trial *poison) {
    int crashes = 0;

    for (batch_flush(); !batch_idle(); batch_flush()) {
        const struct db_conn *conn = fake_db.conns[WRITE];
        bool aboard = false;

        for (size_t i = 0; i < fake_count(conn); i++)
            for (size_t n = 0; n < fake_sent(conn, i)->rows; n++)
                aboard = aboard || (fake_sent(conn, i)->stmt == stmt &&
                                    fake_element(fake_sent(conn, i), 0, n) == poison->id);
        crashes += aboard;
        assert_true(crashes < 100);
        if (aboard)
            crash(WRITE);
        else
            commit(WRITE);
    }
    return crashes;
}

static void test_poison_alone(void **state) {
    (void)state;
    add(&b[1]);
    assert_in_range(crash_with(SQL_ACK_JOBS, &b[1]), 3, 5);
    assert_int_equal(b[1].ends, 1);
    assert_string_equal(b[1].failed, OP_LOST);
    assert_int_equal(b[1].task.group_size, 0);
    assert_all_ended();
}

/* Reads that ended their session are sent over the connection of reads. */
static void test_suspects_of_their_connection(void **state) {
    (void)state;
    add_many(s, 1, 2);
    for (int i = 0; i < 2; i++) {
        batch_flush();
        assert_txn(READ, "s1,2");
        crash(READ);
    }
    add(&a[1]);
    batch_flush();
    assert_txn(WRITE, "a1");
    assert_txn(READ, "s1");
    commit(WRITE);
    commit(READ);
    batch_flush();
    assert_txn(WRITE, "");
    assert_txn(READ, "s2");
    commit(READ);
    assert_all_ended();
}

/* Tasks of lost transactions go before all others. */
static void test_lost_go_first(void **state) {
    (void)state;
    add_many(b, 1, 4);
    for (int i = 0; i < 2; i++) {
        batch_flush();
        assert_txn(WRITE, "b1-4");
        crash(WRITE);
    }
    add(&a[1]);
    add(&c[1]);
    for (int i = 1; i <= 3; i += 2) {
        char expected[16];

        snprintf(expected, sizeof expected, "b%d,%d", i, i + 1);
        batch_flush();
        assert_txn(WRITE, expected);
        commit(WRITE);
    }
    assert_commits("a1 c1");
    assert_all_ended();
}

static void test_poison_among_many(void **state) {
    (void)state;
    add_many(b, 1, 100);
    add_many(c, 1, 3);
    assert_in_range(crash_with(SQL_ACK_JOBS, &b[50]), 5, 15);
    for (int i = 1; i <= 100; i++) {
        assert_int_equal(b[i].ends, 1);
        assert_int_equal(b[i].failed != NULL, i == 50);
    }
    for (int i = 1; i <= 3; i++)
        assert_true(c[i].ends == 1 && c[i].failed == NULL);
    assert_all_ended();
}

/* A transaction that the database had not begun does not make its tasks suspects. A single loss does not either. */
static void test_lost_beside_poison(void **state) {
    (void)state;
    add(&b[1]);
    batch_flush();
    add(&b[2]);
    batch_flush();
    crash(WRITE);
    assert_int_equal(b[1].task.lost, 1);
    assert_int_equal(b[2].task.lost, 0);
    assert_commits("b1,2");
    assert_int_equal(b[1].task.lost, 0);
    assert_all_ended();
}

/* ---- locks of other sessions ---- */

#define LOCK_TIMEOUT "55P03"

static void set_names_jobs(bool yes) {
    op_b.names_jobs = yes;
}

/* The statement that looks for locked jobs tells that these are. */
static void answer_locked(size_t rows, const int *ordinals) {
    PGresult *results[DB_MAX_STATEMENTS] = { fake_rows(1) };

    assert_int_equal(fake_sent(fake_db.conns[WRITE], 0)->stmt, SQL_FIND_LOCKED);
    assert_int_equal(fake_sent(fake_db.conns[WRITE], 0)->columns, 2);
    for (size_t i = 0; i < rows; i++)
        fake_set_int(results[0], (int)i, 0, 4, ordinals[i]);
    fake_commit(fake_db.conns[WRITE], results);
}

/* Tasks about free jobs continue, and so do other operations. The batch tries the locked job again later. */
static void test_locked_jobs_are_found(void **state) {
    static const int second[] = { 2 };

    (void)state;
    set_names_jobs(true);
    add_many(b, 1, 3);
    add(&a[1]);
    batch_flush();
    assert_txn(WRITE, "a1 b1,2,3");
    fail_at(WRITE, 1, LOCK_TIMEOUT);
    assert_events("again:a1");
    batch_flush();
    answer_locked(1, second);
    while (fake_db.conns[WRITE]->sent_txns > 0 || b[3].ends == 0) {
        batch_flush();
        commit(WRITE);
    }
    assert_true(a[1].ends == 1 && b[1].ends == 1 && b[3].ends == 1);
    assert_int_equal(b[2].ends, 0);
    add(&a[2]);
    add(&b[4]);
    batch_flush();
    assert_int_equal(op_b.contention.blocked, 1);
    assert_true(op_b.contention.on);
    assert_true(batch_cancel(&b[2].task) || b[2].task.state == TASK_SENT);
    set_names_jobs(false);
}

/* The batch tries ever fewer tasks of other operations. A task that fails alone goes behind the others. */
static void test_locked_rows_are_narrowed(void **state) {
    int txns = 0;

    (void)state;
    add_many(a, 1, 9);
    a[5].refused = LOCK_TIMEOUT;
    for (batch_flush(); fake_db.conns[WRITE]->sent_txns > 0; batch_flush()) {
        assert_true(txns++ < 30);
        if (find_refused(fake_db.conns[WRITE], LOCK_TIMEOUT) < fake_count(fake_db.conns[WRITE]))
            fail_at(WRITE, 0, LOCK_TIMEOUT);
        else
            commit(WRITE);
    }
    /* It has failed alone: the next try is after a pause. */
    assert_int_equal(a[5].ends, 0);
    assert_true(op_a.contention.on && op_a.contention.blocked >= 1);
    add(&b[1]);
    assert_commits("b1");
    batch_init(trial_ops, trial_planned);
}

/* It fails when its patience is over. */
static void test_patience(void **state) {
    (void)state;
    add(&a[1]);
    a[1].task.blocked_us = clock_mono() - (config.lock_patience + 1) * US_PER_S;
    batch_flush();
    fail_at(WRITE, 0, LOCK_TIMEOUT);
    assert_events("again:a1 fail:a1(" LOCK_TIMEOUT ")");
    assert_false(op_a.contention.on);
    assert_int_equal(a[1].task.blocked_us, 0);
    assert_all_ended();
}

/* ---- tasks that are too large ---- */

static void test_too_large(void **state) {
    (void)state;
    b[2].task.bytes = OP_MAX_BYTES;
    add_many(b, 1, 3);
    assert_int_equal(b[2].ends, 0);
    assert_commits("b1,3");
    assert_events("fail:b2(" OP_TOO_LARGE ") done:b1,b3");
    assert_all_ended();
    b[2].task.bytes = 10;
    b[2].task.rows = (uint32_t)(OP_MAX_BYTES / OP_ROW_BYTES) + 1;
    add(&b[2]);
    assert_true(batch_cancel(&b[2].task));
    assert_all_ended();
}

/* Large tasks that each fill a statement do not share a transaction. */
static void test_txns_are_bounded(void **state) {
    (void)state;
    for (int i = 1; i <= 2; i++)
        a[i].task.bytes = b[i].task.bytes = c[i].task.bytes = OP_MAX_BYTES / 2;
    add_many(a, 1, 2);
    add_many(b, 1, 2);
    add_many(c, 1, 2);
    for (int txns = 0; !batch_idle(); txns++) {
        assert_true(txns < 10);
        batch_flush();
        assert_int_equal(fake_count(fake_db.conns[WRITE]), 1);
        assert_int_equal(fake_sent(fake_db.conns[WRITE], 0)->rows, 1);
        commit(WRITE);
    }
    for (int i = 1; i <= 2; i++)
        assert_true(a[i].ends == 1 && b[i].ends == 1 && c[i].ends == 1);
}

#define TEST(fn) cmocka_unit_test_setup(fn, trial_start)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_bad_row_alone),
        TEST(test_bad_row_of_two),
        TEST(test_bad_row_in_company),
        TEST(test_many_bad_rows),
        TEST(test_bad_row_next_to_other_statements),
        TEST(test_failing_ones_and_others_take_turns),
        TEST(test_good_ones_between_failing_ones),
        TEST(test_others_fly_between),
        TEST(test_suspects_are_not_planned_for),
        TEST(test_bad_row_of_the_side_conn),
        TEST(test_used_again),
        TEST(test_transient_in_company),
        TEST(test_transient_for_ever),
        TEST(test_innocent_for_long),
        TEST(test_commit_fails),
        TEST(test_commit_of_one_fails),
        TEST(test_commit_of_single_rows_fails),
        TEST(test_commit_fails_for_now),
        TEST(test_lost),
        TEST(test_lost_twice),
        TEST(test_takes_wait_for_lost),
        TEST(test_suspect_takes_wait_for_lost),
        TEST(test_takes_do_not_wait_for_reads),
        TEST(test_lost_and_given_up),
        TEST(test_failed_and_given_up),
        TEST(test_lost_for_long),
        TEST(test_suspect_is_lost),
        TEST(test_sending_fails),
        TEST(test_cancel_of_a_failed_task),
        TEST(test_poison_alone),
        TEST(test_suspects_of_their_connection),
        TEST(test_lost_go_first),
        TEST(test_poison_among_many),
        TEST(test_lost_beside_poison),
        TEST(test_locked_jobs_are_found),
        TEST(test_locked_rows_are_narrowed),
        TEST(test_patience),
        TEST(test_too_large),
        TEST(test_txns_are_bounded),
    };

    return cmocka_run_group_tests_name("batch failures", tests, trial_group_start, trial_group_stop);
}
