/* Transactions of a single kind: their commits, and their turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/timer.h"
#include "batch/separate.h"
#include "batch_tasks.h"

static int durability_of_txn(size_t n) {
    const struct db_conn *conn = fake_db.conns[WRITE];

    assert_true(n < conn->sent_txns);
    return (int)conn->txns[fake_place(conn, n)].durability;
}

static void assert_commits_with(const char *expected, enum durability durability) {
    batch_flush();
    assert_txn(WRITE, expected);
    assert_int_equal(durability_of_txn(0), durability);
    commit(WRITE);
}

static void test_kinds_do_not_mix(void **state) {
    (void)state;
    add(&a[1]);
    add(&x[1]);
    add(&y[1]);
    add(&b[1]);
    add(&x[2]);
    batch_flush();
    assert_txn(WRITE, "x1,2");
    assert_int_equal(durability_of_txn(0), DURABILITY_ASYNC);
    commit(WRITE);
    assert_commits_with("y1", DURABILITY_REMOTE_FLUSH);
    assert_commits_with("a1 b1", DURABILITY_REMOTE_FLUSH);
    assert_all_ended();
}

static void check_durabilities(int set, int ordinary, int replicated) {
    config.durability = set;
    add(&a[1]);
    assert_commits_with("a1", (enum durability)ordinary);
    add(&x[1]);
    assert_commits_with("x1", DURABILITY_ASYNC);
    add(&y[1]);
    assert_commits_with("y1", (enum durability)replicated);
}

static void test_durability_of_each_kind(void **state) {
    (void)state;
    check_durabilities(DURABILITY_REMOTE_APPLY, DURABILITY_REMOTE_APPLY, DURABILITY_REMOTE_APPLY);
    check_durabilities(DURABILITY_REMOTE_FLUSH, DURABILITY_REMOTE_FLUSH, DURABILITY_REMOTE_FLUSH);
    check_durabilities(DURABILITY_REMOTE_WRITE, DURABILITY_REMOTE_WRITE, DURABILITY_REMOTE_WRITE);
    check_durabilities(DURABILITY_LOCAL, DURABILITY_LOCAL, DURABILITY_REMOTE_FLUSH);
    check_durabilities(DURABILITY_ASYNC, DURABILITY_ASYNC, DURABILITY_REMOTE_FLUSH);
}

/* Each kind has more tasks than fit into a transaction. */
static void test_every_kind_gets_a_turn(void **state) {
    (void)state;
    config.batch_max = 1;
    for (int i = 0; i < 6; i++) {
        add(&a[i]);
        add(&x[i]);
        add(&y[i]);
    }
    for (int i = 0; i < 6; i++) {
        char expected[16];

        snprintf(expected, sizeof expected, "x%d", i);
        assert_commits(expected);
        snprintf(expected, sizeof expected, "y%d", i);
        assert_commits(expected);
        snprintf(expected, sizeof expected, "a%d", i);
        assert_commits(expected);
    }
    assert_all_ended();
}

/* ---- slow statements ---- */

/* Commits the oldest transaction after the time of its only slow statement. */
static void commit_slow(size_t at, int64_t took_us) {
    memset(fake_db.took_us, 0, sizeof fake_db.took_us);
    fake_db.took_us[at] = took_us;
    pass_time(took_us);
    commit(WRITE);
}

/* The first slow transaction is not timed. The statement of c2 is found to be slow. */
static void slow_begin(void) {
    add(&a[1]);
    add(&c[1]);
    batch_flush();
    assert_txn(WRITE, "a1 c1");
    commit_slow(1, SLOW_US);
    add(&a[2]);
    add(&c[2]);
    batch_flush();
    assert_txn(WRITE, "a2 c2");
    commit_slow(1, SLOW_US);
}

/* Slow operations get at most half of the time. */
static void test_slow_ones_rest_while_others_wait(void **state) {
    (void)state;
    slow_begin();
    add(&c[3]);
    add(&c[4]);
    batch_flush();
    assert_txn(WRITE, "c3");
    assert_second_txn(WRITE, "");
    add(&a[3]);
    batch_flush();
    assert_second_txn(WRITE, "a3");
    commit_slow(0, 2 * SLOW_US);
    assert_commits("a3");
    add(&a[4]);
    assert_commits("a4");
    batch_flush();
    assert_txn(WRITE, "");
    assert_in_range(timers_next(), clock_mono() + 1, clock_mono() + 2 * SLOW_US);
    assert_in_range(op_c.slow_until_us, timers_next() + 2 * SLOW_US + SEPARATE_US, INT64_MAX);
    pass_time(2 * SLOW_US);
    assert_commits("c4");
    assert_all_ended();
}

/* The tasks that are queued already have separate transactions, too. */
static void test_queued_ones_are_separated(void **state) {
    (void)state;
    op_c.width = 1;
    add(&a[1]);
    add_many(c, 1, 3);
    batch_flush();
    assert_txn(WRITE, "a1 c1");
    commit_slow(1, SLOW_US);
    add(&a[2]);
    batch_flush();
    assert_txn(WRITE, "a2 c2");
    commit_slow(1, SLOW_US);
    batch_flush();
    assert_txn(WRITE, "c3");
    commit(WRITE);
    assert_all_ended();
}

static void test_slow_ones_go_on_without_others(void **state) {
    (void)state;
    slow_begin();
    for (int i = 3; i < 6; i++) {
        char expected[16];

        add(&c[i]);
        snprintf(expected, sizeof expected, "c%d", i);
        batch_flush();
        assert_txn(WRITE, expected);
        commit_slow(0, SLOW_US);
    }
    assert_all_ended();
}

/* An operation whose statement takes jobs, or a fast one beside a slow one, shares its transactions. */
static void test_fast_ones_are_not_separated(void **state) {
    (void)state;
    op_c.takes = true;
    slow_begin();
    op_c.takes = false;
    for (int i = 3; i < 6; i++) {
        add(&a[i]);
        add(&c[i]);
        batch_flush();
        assert_int_equal(fake_count(fake_db.conns[WRITE]), 2);
        commit_slow(0, SLOW_US);
    }
    assert_all_ended();
}

/* ---- heavy tasks ---- */

static struct fair_user users[3];

static int users_start(void **state) {
    for (size_t i = 0; i < LENGTH(users); i++)
        fair_user_free(&users[i]);
    return trial_start(state);
}

static void add_of(struct trial *t, int user, int64_t rows) {
    t->task.turn.user = &users[user];
    task_reads(&t->task, rows);
    add(t);
}

/* They have transactions of their own from the first one on, one after the other, and then rest. */
static void test_heavy_ones_are_alone(void **state) {
    (void)state;
    add_of(&c[1], 0, HEAVY_COST);
    add_of(&c[2], 0, HEAVY_COST);
    add_of(&e[1], 0, HEAVY_COST);
    add(&c[3]);
    add(&a[1]);
    batch_flush();
    assert_txn(WRITE, "c1");
    assert_second_txn(WRITE, "a1 c3");
    commit_slow(0, SLOW_US / 2);
    commit(WRITE);
    add(&a[2]);
    assert_commits("a2");
    batch_flush();
    assert_txn(WRITE, "");
    pass_time(SLOW_US / 2);
    assert_commits("c2");
    assert_commits("e1");
    assert_int_equal(op_c.slow_until_us, 0);
    assert_all_ended();
}

/* A heavy task must find the changes of a: they go in front of it. Those of b follow later. */
static void test_heavy_one_finds_changes(void **state) {
    (void)state;
    op_a.found_by_heavy = true;
    add(&a[1]);
    add(&b[1]);
    add_of(&c[1], 0, HEAVY_COST);
    batch_flush();
    assert_txn(WRITE, "a1 c1");
    assert_second_txn(WRITE, "b1");
    commit_slow(1, SLOW_US / 2);
    commit(WRITE);
    op_a.found_by_heavy = false;
    assert_all_ended();
}

static void test_users_of_heavy_ones_take_turns(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        add_of(&c[i], 0, 10 * HEAVY_COST);
    for (int i = 0; i < 3; i++)
        add_of(&e[i], 1, 5 * HEAVY_COST);
    assert_commits("c0");
    assert_commits("e0");
    assert_commits("e1");
    assert_commits("c1");
    assert_commits("e2");
    assert_commits("c2");
    assert_all_ended();
}

/* A heavy task whose connection is lost is in front of all others, and no longer heavy. */
static void test_heavy_one_is_lost(void **state) {
    (void)state;
    add_of(&c[1], 0, HEAVY_COST);
    add_of(&c[2], 0, HEAVY_COST);
    batch_flush();
    assert_txn(WRITE, "c1");
    lose(WRITE);
    assert_events("again:c1?");
    assert_commits("c1");
    assert_commits("c2");
    assert_all_ended();
}

static void test_heavy_one_is_cancelled(void **state) {
    (void)state;
    add_of(&c[1], 0, HEAVY_COST);
    add_of(&c[2], 0, HEAVY_COST);
    assert_true(batch_cancel(&c[1].task));
    assert_false(batch_idle());
    assert_commits("c2");
    assert_all_ended();
}

/* ---- light tasks ---- */

static void test_slow_start(void **state) {
    (void)state;
    op_c.width = 1;
    add(&c[0]);
    assert_commits("c0");
    add_many(c, 1, 2);
    assert_commits("c1 c2");
    add_many(c, 3, 6);
    assert_commits("c3 c4 c5 c6");
    add_many(c, 7, 14);
    batch_flush();
    assert_int_equal(fake_count(fake_db.conns[WRITE]), 8);
    commit(WRITE);
    assert_all_ended();
}

/* Both operations get their turns. */
static void test_light_ones_are_bounded_together(void **state) {
    (void)state;
    for (int i = 0; i < 9; i++) {
        add_of(&c[i], 0, HEAVY_COST - 1);
        add_of(&e[i], 0, HEAVY_COST - 1);
    }
    assert_commits("c0 c1 c2 c3 c4 c5 c6");
    assert_commits("e0 e1 e2 e3 e4 e5 e6");
    assert_commits("c7 c8 e7 e8");
    assert_all_ended();
}

/* A user with many tasks delays those of others by one task. */
static void test_users_take_turns(void **state) {
    (void)state;
    config.batch_max = 4;
    op_a.splittable = false;
    for (int i = 0; i < 5; i++)
        add_of(&a[i], 0, 0);
    add_of(&a[5], 1, 0);
    add_of(&a[6], 1, 0);
    add(&a[7]);
    add_of(&a[8], 2, 0);
    assert_commits("a0,5,7,8");
    assert_commits("a1,6,2,3");
    assert_commits("a4");
    op_a.splittable = true;
    assert_all_ended();
}

/* The search for the failing task uses transactions that commit in the same way as the failed one. */
static void test_suspects_keep_their_kind(void **state) {
    (void)state;
    add_many(x, 1, 2);
    batch_flush();
    add(&a[1]);
    fail_at(WRITE, 0, BAD_DATA);
    assert_commits_with("a1", DURABILITY_REMOTE_FLUSH);
    assert_commits_with("x1", DURABILITY_ASYNC);
    assert_commits_with("x2", DURABILITY_ASYNC);
    assert_all_ended();
}

static void test_sent_again_as_it_was(void **state) {
    (void)state;
    add(&x[1]);
    batch_flush();
    lose(WRITE);
    assert_commits_with("x1", DURABILITY_ASYNC);
    add(&y[1]);
    batch_flush();
    fail_at(WRITE, 0, "40001");
    assert_commits_with("y1", DURABILITY_REMOTE_FLUSH);
    assert_all_ended();
}

/* The large connection is opened for the first of its tasks; transactions of the write connection do not wait for it. */
static void test_large_conn(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    assert_int_equal(fake_db.conn_count, 2);
    commit(WRITE);
    add(&large_trials[1]);
    add(&a[2]);
    batch_flush();
    assert_int_equal(fake_db.conn_count, 3);
    assert_txn(LARGE, "l1");
    assert_txn(WRITE, "a2");
    commit(WRITE);
    add(&large_trials[2]);
    add(&a[3]);
    batch_flush();
    assert_txn(WRITE, "a3");
    assert_second_txn(LARGE, "l2");
    commit(WRITE);
    lose(LARGE);
    assert_events("done:a1 done:a2 done:a3 again:l2? again:l1?");
    batch_flush();
    assert_txn(LARGE, "l1,2");
    commit(LARGE);
    assert_events("done:l1,l2");
    assert_all_ended();
}

/* ---- divided tasks ---- */

static struct db_conn *large_conn(void) {
    return fake_db.conns[LARGE];
}

/* A turn after the socket has taken the last statement. */
static void next_part(void) {
    large_conn()->unflushed = 0;
    assert_true(batch_pending());
    batch_flush();
}

static void add_divided(struct trial *t, uint32_t rows) {
    t->task.rows = rows;
    add(t);
    batch_flush();
}

static void test_divided(void **state) {
    (void)state;
    add_divided(&d[1], 5);
    assert_txn(LARGE, "d1,1");
    assert_false(batch_pending());
    batch_flush();
    assert_txn(LARGE, "d1,1");
    next_part();
    assert_txn(LARGE, "d1,1 d1,1");
    add(&large_trials[2]);
    next_part();
    assert_txn(LARGE, "d1,1 d1,1 d1");
    assert_false(batch_pending());
    assert_events("");
    commit(LARGE);
    assert_events("done:d1");
    batch_flush();
    assert_txn(LARGE, "l2");
    commit(LARGE);
    assert_events("done:l2");
    assert_all_ended();
}

static void assert_large_commits_with(enum durability durability) {
    assert_int_equal(large_conn()->txns[fake_place(large_conn(), 0)].durability, durability);
    commit(LARGE);
}

/* The option may change while the connection is open. */
static void test_durability_of_large_tasks(void **state) {
    static const int all[] = { DURABILITY_REMOTE_FLUSH, DURABILITY_LOCAL };

    (void)state;
    for (size_t i = 0; i < LENGTH(all); i++) {
        config.durability = all[i];
        add_divided(&d[1], 1);
        assert_large_commits_with((enum durability)all[i]);
        add(&large_trials[1]);
        batch_flush();
        assert_large_commits_with((enum durability)all[i]);
    }
    assert_all_ended();
}

/* Another task is not sent behind an open transaction, and neither kind starves. */
static void test_divided_take_turns(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        add(&d[i]);
    add_divided(&d[3], 1);
    assert_txn(LARGE, "d0");
    add(&large_trials[1]);
    add(&large_trials[2]);
    batch_flush();
    assert_second_txn(LARGE, "l1,2");
    commit(LARGE);
    batch_flush();
    assert_txn(LARGE, "l1,2");
    assert_second_txn(LARGE, "");
    commit(LARGE);
    batch_flush();
    assert_txn(LARGE, "d1");
    (void)end_all_txns();
    assert_events("done:d0 done:l1,l2 done:d1 done:d2 done:d3");
    assert_all_ended();
}

/* Whichever statement fails, the task fails once. */
static void test_divided_fails(void **state) {
    char expected[32];

    (void)state;
    for (size_t at = 0; at <= 3; at++) {
        add_divided(&d[at], 5);
        next_part();
        next_part();
        fail_at(LARGE, at, BAD_DATA);
        snprintf(expected, sizeof expected, "fail:d%zu(" BAD_DATA ")", at);
        assert_events(expected);
        assert_all_ended();
    }
}

static void test_divided_is_lost(void **state) {
    (void)state;
    add_divided(&d[1], 5);
    next_part();
    lose(LARGE);
    assert_false(batch_pending());
    assert_events("again:d1?");
    batch_flush();
    assert_txn(LARGE, "d1,1");
    next_part();
    next_part();
    commit(LARGE);
    assert_events("done:d1");
    assert_all_ended();
}

/* ---- long reads ---- */

/* Their connection is opened for the first of them. Without it, they share the read connection. */
static void test_long_reads(void **state) {
    (void)state;
    assert_int_equal(fake_db.conn_count, 3);
    add_of(&reads[1], 0, HEAVY_COST);
    add_of(&reads[2], 0, HEAVY_COST);
    add(&s[1]);
    batch_flush();
    assert_int_equal(fake_db.conn_count, 4);
    assert_txn(LONG, "q1");
    assert_second_txn(LONG, "");
    assert_txn(READ, "s1");
    commit(READ);
    commit(LONG);
    batch_flush();
    assert_txn(LONG, "q2");
    lose(LONG);
    fake_db.conns[LONG]->state = DB_DOWN;
    add_of(&reads[3], 0, HEAVY_COST);
    add(&s[2]);
    batch_flush();
    assert_txn(READ, "s2");
    commit(READ);
    batch_flush();
    assert_txn(READ, "q2");
    commit(READ);
    batch_flush();
    assert_txn(READ, "q3");
    commit(READ);
    fake_db.conns[LONG]->state = DB_READY;
    assert_all_ended();
}

/* A long read that ends its session waits for the connection of such reads, until it is given up. */
static void test_a_long_read_ends_sessions(void **state) {
    int crashes = 0;

    (void)state;
    add_of(&reads[1], 0, HEAVY_COST);
    for (; reads[1].ends == 0; batch_flush()) {
        add(&a[crashes]);
        add(&s[crashes]);
        batch_flush();
        assert_txn(LONG, "q1");
        assert_true(trial_txn(READ, 0)[0] == 's' && trial_txn(WRITE, 0)[0] == 'a');
        commit(READ);
        commit(WRITE);
        crash(LONG);
        fake_db.conns[LONG]->state = DB_DOWN;
        crashes++;
        batch_flush();
        assert_txn(READ, "");
        assert_txn(WRITE, "");
        fake_db.conns[LONG]->state = DB_READY;
    }
    assert_in_range(crashes, 3, 5);
    assert_string_equal(reads[1].failed, OP_LOST);
    assert_int_equal(reads[1].ends, 1);
}

static void test_a_heavy_one_stays_heavy(void **state) {
    (void)state;
    add_of(&c[1], 0, HEAVY_COST);
    batch_flush();
    fail_at(WRITE, 0, "40001");
    add(&a[1]);
    assert_true(c[1].task.heavy);
    assert_commits("a1");
    assert_commits("c1");
    assert_all_ended();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_kinds_do_not_mix, trial_start),
        cmocka_unit_test_setup(test_durability_of_each_kind, trial_start),
        cmocka_unit_test_setup(test_every_kind_gets_a_turn, trial_start),
        cmocka_unit_test_setup(test_slow_ones_rest_while_others_wait, trial_start),
        cmocka_unit_test_setup(test_queued_ones_are_separated, trial_start),
        cmocka_unit_test_setup(test_slow_ones_go_on_without_others, trial_start),
        cmocka_unit_test_setup(test_fast_ones_are_not_separated, trial_start),
        cmocka_unit_test_setup(test_heavy_ones_are_alone, users_start),
        cmocka_unit_test_setup(test_heavy_one_finds_changes, users_start),
        cmocka_unit_test_setup(test_users_of_heavy_ones_take_turns, users_start),
        cmocka_unit_test_setup(test_heavy_one_is_lost, users_start),
        cmocka_unit_test_setup(test_heavy_one_is_cancelled, users_start),
        cmocka_unit_test_setup(test_slow_start, trial_start),
        cmocka_unit_test_setup(test_light_ones_are_bounded_together, users_start),
        cmocka_unit_test_setup(test_users_take_turns, users_start),
        cmocka_unit_test_setup(test_suspects_keep_their_kind, trial_start),
        cmocka_unit_test_setup(test_sent_again_as_it_was, trial_start),
        cmocka_unit_test_setup(test_large_conn, trial_start),
        cmocka_unit_test_setup(test_durability_of_large_tasks, trial_start),
        cmocka_unit_test_setup(test_divided, trial_start),
        cmocka_unit_test_setup(test_divided_take_turns, trial_start),
        cmocka_unit_test_setup(test_divided_fails, trial_start),
        cmocka_unit_test_setup(test_divided_is_lost, trial_start),
        cmocka_unit_test_setup(test_long_reads, users_start),
        cmocka_unit_test_setup(test_a_long_read_ends_sessions, users_start),
        cmocka_unit_test_setup(test_a_heavy_one_stays_heavy, users_start),
    };

    return cmocka_run_group_tests(tests, trial_group_start, trial_group_stop);
}
