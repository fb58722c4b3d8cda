/* Transactions of clients: tasks that travel together, in their order, and end together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/node.h"
#include "batch/client_txn.h"
#include "batch/commit_marker.h"
#include "batch/contention.h"
#include "batch/lost_txn.h"
#include "batch/operations.h"
#include "batch/separate.h"
#include "batch/txn.h"
#include "batch_tasks.h"

/* ---- client transactions of trial tasks ---- */

struct load {
    struct client_txn client_txn;
    struct task *tasks[16];
    int number;
    size_t joined;
};

static struct load loads[4];

static struct load *load_of(struct client_txn *of) {
    return CONTAINER_OF(of, struct load, client_txn);
}

static void on_joined(struct client_txn *of) {
    load_of(of)->joined++;
}

static void on_end(struct client_txn *of, enum client_txn_end end, const struct op_error *error) {
    static const char *const names[] = { "committed", "lost", "refused", "unknown" };

    assert_int_equal(error != NULL, end == CLIENT_TXN_REFUSED || end == CLIENT_TXN_UNKNOWN);
    buf_printf(&trial_log, " %d:%s", load_of(of)->number, names[end]);
}

static struct client_txn *load(int number, struct trial *const *trials, size_t count) {
    struct load *l = &loads[number];

    *l = (struct load){ .number = number,
                        .client_txn = { .tasks = l->tasks, .on_joined = on_joined, .on_end = on_end } };
    for (size_t i = 0; i < count; i++) {
        l->tasks[i] = &trials[i]->task;
        trials[i]->task.client_txn = &l->client_txn;
        batch_add(&trials[i]->task);
    }
    assert_int_equal(l->joined, count);
    l->client_txn.count = count;
    return &l->client_txn;
}

#define LOAD(number, ...)                           \
    load(number, (struct trial *[]){ __VA_ARGS__ }, \
         sizeof((struct trial *[]){ __VA_ARGS__ }) / sizeof(void *))

/* ---- the batch, with marks and questions ---- */

static struct op *with_marks[16];

static void trial_answer_lost(struct task *t) {
    assert_int_equal(t->state, TASK_IDLE);
    buf_printf(&trial_log, " guess:%s%d", t->op->name, trial_of(t)->id);
}

static int start(void **state) {
    size_t count = 0;

    (void)trial_start(state);
    for (; trial_ops[count] != NULL; count++)
        with_marks[count] = trial_ops[count];
    with_marks[count++] = &op_find_commits;
    with_marks[count] = NULL;
    op_a.shares = true;
    op_a.answer_lost = trial_answer_lost;
    batch_init(with_marks, trial_planned);
    return 0;
}

/* The sent statements, a letter each: a b c, M for the mark, F for the question. */
static const char *sent(size_t n) {
    static char text[256];
    const struct db_conn *conn = fake_db.conns[WRITE];
    size_t len = 0, count = n < conn->sent_txns ? conn->txns[fake_place(conn, n)].sent : 0;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const struct fake_statement *st = fake_sent_by(conn, n, i);
        bool own = st->stmt == SQL_MARK_COMMIT || st->stmt == SQL_FIND_COMMITS;

        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i > 0 ? " " : "",
                                st->stmt == SQL_MARK_COMMIT    ? "M"
                                : st->stmt == SQL_FIND_COMMITS ? "F"
                                                               : trial_ops[trial_op_of(st->stmt)]->name);
        if (!own)
            len += trial_rows(text + len, sizeof text - len, st);
    }
    return text;
}

static int64_t txn_sent(size_t statement) {
    return fake_scalar(fake_sent(fake_db.conns[WRITE], statement), 1);
}

/* Answers the question under way: txn was committed. 0: no transaction was. */
static void answer(int64_t txn) {
    PGresult *rows[DB_MAX_STATEMENTS] = { fake_rows(1) };

    assert_string_equal(sent(0), "F");
    if (txn != 0)
        fake_set_int(rows[0], 0, 0, 8, txn);
    fake_commit(fake_db.conns[WRITE], rows);
}

/* ---- transactions that end the session ---- */

/* The transaction was lost because the database ended the session; it was not committed. */
static void crash_undone(void) {
    crash(WRITE);
    batch_flush();
    answer(0);
    batch_flush();
}

static void test_poison_alone(void **state) {
    int crashes = 0;

    (void)state;
    client_txn_send(LOAD(0, &b[1], &c[1]));
    batch_flush();
    for (; !batch_idle(); crashes++) {
        assert_true(crashes < 10);
        crash_undone();
    }
    assert_in_range(crashes, 3, 5);
    assert_events("again:c1 again:c1 again:c1 0:refused fail:b1(" OP_LOST ") fail:c1(" OP_LOST ")");
}

/* Client transactions that share a transaction are sent alone after two losses. */
static void test_poison_among_others(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &b[1]));
    client_txn_send(LOAD(1, &b[2]));
    batch_flush();
    assert_string_equal(sent(0), "b1 b2 M");
    crash_undone();
    assert_string_equal(sent(0), "b1 b2 M");
    crash_undone();
    assert_string_equal(sent(0), "b1 M");
    commit(WRITE);
    batch_flush();
    for (int i = 0; i < LOST_ALONE_MOST; i++) {
        assert_string_equal(sent(0), "b2 M");
        crash_undone();
    }
    assert_events("0:committed done:b1 1:refused fail:b2(" OP_LOST ")");
    assert_true(batch_idle());
}

static void test_size(void **state) {
    struct client_txn *client_txn = LOAD(0, &a[1], &b[1]);

    (void)state;
    a[1].task.bytes = 1000;
    assert_int_equal(client_txn_size(client_txn), 1010 + 2 * OP_ROW_BYTES);
}

/* ---- sending ---- */

static void test_in_the_order_of_the_tasks(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &b[1], &a[1], &a[2], &c[1], &b[2], &b[3], &a[3]));
    assert_false(batch_idle());
    batch_flush();
    assert_string_equal(sent(0), "b1 a1,2 c1 b2 b3 a3 M");
    assert_int_equal(a[2].task.first_row, 1);
    commit(WRITE);
    assert_events("0:committed done:b1 done:a1,a2 done:c1 done:b2 done:b3 done:a3");
    assert_null(a[1].task.client_txn);
    assert_true(batch_idle());
}

static void test_statements_are_counted(void **state) {
    struct client_txn *client_txn = LOAD(0, &a[1], &a[2], &b[1], &b[2], &a[3]);

    (void)state;
    assert_int_equal(client_txn_statements(client_txn), 4);
    config.batch_max = 1;
    assert_int_equal(client_txn_statements(client_txn), 5);
    client_txn_refuse(client_txn, &(struct op_error){ BAD_DATA, "no" });
    assert_events("fail:a1(22P02) fail:a2(22P02) fail:b1(22P02) fail:b2(22P02) fail:a3(22P02)");
}

static unsigned last_digit(const struct task *t) {
    return (unsigned)CONTAINER_OF(t, const struct trial, task)->id % 10;
}

static void test_different_tasks_share_a_statement(void **state) {
    struct client_txn *client_txn = LOAD(0, &a[1], &a[2], &a[11], &a[12], &a[22]);

    (void)state;
    op_a.differs_by = last_digit;
    assert_int_equal(client_txn_statements(client_txn), 3);
    client_txn_send(client_txn);
    batch_flush();
    assert_string_equal(sent(0), "a1,2 a11,12 a22 M");
    commit(WRITE);
    (void)trial_events();
    op_a.differs_by = NULL;
}

static void test_in_txns_of_their_own(void **state) {
    (void)state;
    add(&a[9]);
    client_txn_send(LOAD(0, &a[1], &b[1]));
    client_txn_send(LOAD(1, &b[2], &a[2]));
    batch_flush();
    assert_string_equal(sent(0), "a1 b1 b2 a2 M");
    assert_string_equal(sent(1), "a9");
    commit(WRITE);
    assert_events("0:committed done:a1 done:b1 1:committed done:b2 done:a2");
    commit(WRITE);
}

static void test_replicated_ones_go_apart(void **state) {
    struct client_txn *replicated = LOAD(1, &a[2]);

    (void)state;
    client_txn_send(LOAD(0, &a[1]));
    replicated->commit = COMMIT_REPLICATED;
    client_txn_send(replicated);
    batch_flush();
    assert_string_equal(sent(0), "a1 M");
    commit(WRITE);
    batch_flush();
    assert_string_equal(sent(0), "a2 M");
    assert_int_equal(fake_db.conns[WRITE]->txns[fake_place(fake_db.conns[WRITE], 0)].durability,
                     txn_durability(COMMIT_REPLICATED));
    commit(WRITE);
    assert_true(batch_idle());
    (void)trial_events();
}

/* ---- failing ---- */

static void test_all_or_nothing(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &a[1], &b[1], &c[1]));
    batch_flush();
    fail_at(WRITE, 1, BAD_DATA);
    assert_events("0:refused fail:a1(22P02) fail:b1(22P02) fail:c1(22P02)");
    assert_true(batch_idle());
}

static void test_failures_stay_with_their_client(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &a[1]));
    client_txn_send(LOAD(1, &b[1], &a[2]));
    client_txn_send(LOAD(2, &a[3]));
    batch_flush();
    assert_string_equal(sent(0), "a1 b1 a2 a3 M");
    fail_at(WRITE, 1, BAD_DATA);
    (void)trial_events();
    batch_flush();
    assert_string_equal(sent(0), "a1 M");
    assert_string_equal(sent(1), "b1 a2 M");
    commit(WRITE);
    assert_events("0:committed done:a1");
    fail_at(WRITE, 0, BAD_DATA);
    assert_events("1:refused fail:b1(22P02) fail:a2(22P02)");
    batch_flush();
    assert_string_equal(sent(0), "a3 M");
    commit(WRITE);
    assert_events("2:committed done:a3");
}

static void test_passing_failures_are_repeated(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &a[1], &b[1]));
    for (int i = 0; i < 4; i++) {
        batch_flush();
        assert_string_equal(sent(0), "a1 b1 M");
        fail_at(WRITE, 1, "40P01");
        assert_events("again:a1");
    }
    batch_flush();
    fail_at(WRITE, 1, "40P01");
    assert_events("0:refused fail:a1(40P01) fail:b1(40P01)");
}

/* Another session takes the key: a second try follows at once, and each further try after a pause, for lock-patience. */
static void test_a_taken_key_is_awaited(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &a[1], &b[1]));
    batch_flush();
    fail_at(WRITE, 0, OP_KEY_TAKEN);
    batch_flush();
    assert_string_equal(sent(0), "a1 b1 M");
    for (int i = 0; i < 6; i++) {
        fail_at(WRITE, 0, OP_KEY_TAKEN);
        batch_flush();
        assert_string_equal(sent(0), "");
        pass_time(CONTENTION_PAUSE_US);
        batch_flush();
        assert_string_equal(sent(0), "a1 b1 M");
    }
    (void)trial_events();
    loads[0].client_txn.blocked_us -= config.lock_patience * US_PER_S;
    fail_at(WRITE, 0, OP_KEY_TAKEN);
    assert_events("0:refused fail:a1(55P03) fail:b1(55P03)");
    assert_true(batch_idle());
}

/* ---- bounds ---- */

static void test_bounds(void **state) {
    const struct db_conn *conn = fake_db.conns[WRITE];

    (void)state;
    config.transaction_timeout = 7;
    client_txn_send(LOAD(0, &a[1]));
    batch_flush();
    assert_int_equal(conn->txns[fake_place(conn, 0)].bounds.busy_us, 7 * US_PER_S);
    assert_true(conn->txns[fake_place(conn, 0)].bounds.result_bytes > 0);
    commit(WRITE);
    (void)trial_events();
}

/* A client that shares the transaction is not at fault. */
static void test_too_long(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &b[1]));
    client_txn_send(LOAD(1, &b[2]));
    batch_flush();
    assert_string_equal(sent(0), "b1 b2 M");
    fail_at(WRITE, 1, DB_TOO_LONG);
    batch_flush();
    assert_string_equal(sent(0), "b1 M");
    fail_at(WRITE, 0, DB_TOO_LONG);
    assert_events("0:refused fail:b1(" DB_TOO_LONG ")");
    batch_flush();
    assert_string_equal(sent(0), "b2 M");
    commit(WRITE);
    assert_events("1:committed done:b2");
}

static void send_of(struct fair_user *user, struct client_txn *of) {
    of->turn.user = user;
    client_txn_send(of);
}

/* A user with several client transactions delays that of another user by one. */
static void test_users_take_turns(void **state) {
    struct fair_user many = { 0 }, one = { 0 };

    (void)state;
    config.batch_max = 2;
    for (int i = 0; i < 3; i++)
        send_of(&many, LOAD(i, &b[i]));
    send_of(&one, LOAD(3, &b[3]));
    batch_flush();
    assert_string_equal(sent(0), "b0 b3 M");
    commit(WRITE);
    batch_flush();
    assert_string_equal(sent(0), "b1 b2 M");
    commit(WRITE);
    assert_events("0:committed done:b0 3:committed done:b3 1:committed done:b1 2:committed done:b2");
    fair_user_free(&many);
    fair_user_free(&one);
}

/* A client transaction that reads much delays no other in its transaction. */
static void test_heavy_ones_are_alone(void **state) {
    static const char *const expected[] = { "b1 M", "b2 M", "b3 M" };

    (void)state;
    task_reads(&b[2].task, COST_MOST);
    client_txn_send(LOAD(0, &b[1]));
    client_txn_send(LOAD(1, &b[2]));
    client_txn_send(LOAD(2, &b[3]));
    for (int i = 0; i < 3; i++) {
        batch_flush();
        assert_string_equal(sent(0), expected[i]);
        commit(WRITE);
    }
}

/* If other tasks had to wait for a long transaction, they get the database for as long. */
static void test_long_ones_give_way(void **state) {
    const struct txn took_an_hour = { .db = fake_db.conns[WRITE], .sent_us = clock_mono() - 3600 * US_PER_S };

    (void)state;
    client_txns_note_time(&took_an_hour);
    client_txn_send(LOAD(0, &b[0]));
    batch_flush();
    assert_string_equal(sent(0), "b0 M");
    commit(WRITE);
    add(&a[0]);
    client_txns_note_time(&took_an_hour);
    client_txn_send(LOAD(0, &b[1]));
    for (int i = 1; i <= 3; i++) {
        batch_flush();
        assert_int_equal(fake_db.conns[WRITE]->sent_txns, 1);
        assert_int_equal(sent(0)[0], 'a');
        commit(WRITE);
        add(&a[i]);
    }
    (void)trial_events();
}

/* ---- lost connections ---- */

static void test_lost_and_not_committed(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &a[1], &b[1]));
    batch_flush();
    lose(WRITE);
    assert_false(batch_idle());
    batch_flush();
    answer(0);
    assert_events("again:a1");
    batch_flush();
    assert_string_equal(sent(0), "a1 b1 M");
    commit(WRITE);
    assert_events("0:committed done:a1 done:b1");
}

static void test_lost_and_committed(void **state) {
    int64_t txn;

    (void)state;
    client_txn_send(LOAD(0, &a[1], &b[1]));
    client_txn_send(LOAD(1, &a[2]));
    batch_flush();
    txn = txn_sent(3);
    lose(WRITE);
    batch_flush();
    answer(txn);
    assert_events("1:lost guess:a2 0:lost guess:a1 fail:b1(08007)");
    assert_true(batch_idle());
}

static void test_lost_with_an_unknown_result(void **state) {
    (void)state;
    client_txn_send(LOAD(0, &a[1], &b[1]));
    batch_flush();
    lose(WRITE);
    batch_flush();
    assert_string_equal(sent(0), "F");
    fail_at(WRITE, 0, "42501");
    assert_events("0:unknown fail:a1(08007) fail:b1(08007)");
}

static void test_lost_again(void **state) {
    int64_t first;

    (void)state;
    client_txn_send(LOAD(0, &a[1]));
    batch_flush();
    first = txn_sent(1);
    lose(WRITE);
    batch_flush();
    answer(0);
    batch_flush();
    assert_true(txn_sent(1) > first);
    lose(WRITE);
    batch_flush();
    lose(WRITE);
    batch_flush();
    answer(0);
    batch_flush();
    assert_string_equal(sent(0), "a1 M");
    commit(WRITE);
    assert_events("again:a1 again:a1 0:committed done:a1");
}

/* ---- ordinary tasks with a commit marker ---- */

static void send_marked(int from, int to) {
    for (int i = from; i <= to; i++) {
        a[i].marks = true;
        add(&a[i]);
    }
    batch_flush();
}

static void test_marked_and_committed(void **state) {
    int64_t txn;

    (void)state;
    send_marked(1, 2);
    assert_string_equal(sent(0), "a1,2 M");
    txn = txn_sent(1);
    lose(WRITE);
    assert_events("again:a2 again:a1");
    batch_flush();
    answer(txn);
    assert_events("guess:a1 guess:a2");
    assert_true(batch_idle());
}

static void test_marked_and_not_committed(void **state) {
    (void)state;
    send_marked(1, 2);
    lose(WRITE);
    add(&a[3]);
    batch_flush();
    assert_string_equal(sent(0), "a3 F");
    fake_commit_empty(fake_db.conns[WRITE]);
    batch_flush();
    assert_string_equal(sent(0), "a1,2 M");
    commit(WRITE);
    assert_events("again:a2 again:a1 done:a3 done:a1,a2");
}

static void test_an_unreadable_marker(void **state) {
    (void)state;
    send_marked(1, 2);
    lose(WRITE);
    batch_flush();
    fail_at(WRITE, 0, "42501");
    batch_flush();
    assert_string_equal(sent(0), "r1,2 M");
    commit(WRITE);
    assert_events("again:a2 again:a1 again:a2? again:a1? done:r1,r2");
}

/* Tasks without a marker are sent again at once. */
static void test_marked_beside_others(void **state) {
    int64_t txn;

    (void)state;
    add(&b[1]);
    send_marked(1, 1);
    txn = txn_sent(2);
    lose(WRITE);
    batch_flush();
    assert_string_equal(sent(0), "b1 F");
    fake_commit(fake_db.conns[WRITE], (PGresult *[]){ NULL, fake_rows(1) });
    batch_flush();
    assert_string_equal(sent(0), "a1 M");
    assert_true(txn_sent(1) > txn);
    commit(WRITE);
    assert_events("again:a1 done:b1 done:a1");
}

static void test_takes_wait_for_the_marker(void **state) {
    (void)state;
    op_c.takes = true;
    send_marked(1, 1);
    lose(WRITE);
    add(&c[1]);
    batch_flush();
    assert_string_equal(sent(0), "F");
    batch_flush();
    assert_int_equal(fake_db.conns[WRITE]->sent_txns, 1);
    answer(0);
    batch_flush();
    assert_string_equal(sent(0), "a1 c1 M");
    commit(WRITE);
    op_c.takes = false;
}

static void test_marked_poison(void **state) {
    int crashes = 0;

    (void)state;
    send_marked(1, 2);
    for (; !batch_idle(); batch_flush()) {
        assert_true(crashes < 20);
        if (strcmp(sent(0), "F") == 0) {
            answer(0);
        } else {
            crash(WRITE);
            crashes++;
        }
    }
    assert_in_range(crashes, 2 * LOST_ALONE_MOST, 2 * LOST_ALONE_MOST + 2);
    assert_true(a[1].ends == 1 && a[2].ends == 1);
    assert_string_equal(a[1].failed, OP_LOST);
    assert_string_equal(a[2].failed, OP_LOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_poison_alone, start),
        cmocka_unit_test_setup(test_poison_among_others, start),
        cmocka_unit_test_setup(test_size, start),
        cmocka_unit_test_setup(test_in_the_order_of_the_tasks, start),
        cmocka_unit_test_setup(test_statements_are_counted, start),
        cmocka_unit_test_setup(test_different_tasks_share_a_statement, start),
        cmocka_unit_test_setup(test_in_txns_of_their_own, start),
        cmocka_unit_test_setup(test_replicated_ones_go_apart, start),
        cmocka_unit_test_setup(test_all_or_nothing, start),
        cmocka_unit_test_setup(test_failures_stay_with_their_client, start),
        cmocka_unit_test_setup(test_passing_failures_are_repeated, start),
        cmocka_unit_test_setup(test_a_taken_key_is_awaited, start),
        cmocka_unit_test_setup(test_bounds, start),
        cmocka_unit_test_setup(test_too_long, start),
        cmocka_unit_test_setup(test_users_take_turns, start),
        cmocka_unit_test_setup(test_heavy_ones_are_alone, start),
        cmocka_unit_test_setup(test_long_ones_give_way, start),
        cmocka_unit_test_setup(test_lost_and_not_committed, start),
        cmocka_unit_test_setup(test_lost_and_committed, start),
        cmocka_unit_test_setup(test_lost_with_an_unknown_result, start),
        cmocka_unit_test_setup(test_lost_again, start),
        cmocka_unit_test_setup(test_marked_and_committed, start),
        cmocka_unit_test_setup(test_marked_and_not_committed, start),
        cmocka_unit_test_setup(test_an_unreadable_marker, start),
        cmocka_unit_test_setup(test_marked_beside_others, start),
        cmocka_unit_test_setup(test_takes_wait_for_the_marker, start),
        cmocka_unit_test_setup(test_marked_poison, start),
    };

    return cmocka_run_group_tests_name("bundle", tests, trial_group_start, trial_group_stop);
}
