/* Any schedule of tasks and failures: every task ends exactly once. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch_tasks.h"
#include "random.h"

static struct trial *any[TRIALS];

static void init_any(void) {
    uint64_t shapes = 1 + random_below(5);
    struct trial *const pools[] = { a, b, c, s, m, x, y };
    int used[7] = { 0 };

    for (int i = 0; i < TRIALS; i++) {
        uint64_t pool = random_below(7);
        struct trial *t = any[i] = &pools[pool][used[pool]++];

        t->refused = random_below(8) == 0 ? BAD_DATA : random_below(20) == 0 ? BAD_COMMIT : NULL;
        t->shape = (int)random_below(20) == 0 ? 0 : 1 + (int)random_below(shapes);
        t->gives_up = t->task.op != &op_b && random_below(6) == 0;
        t->task.rows = 1 + (uint32_t)random_below(3);
        t->task.bytes = random_below(60000);
    }
}

static void land_somehow(struct db_conn *conn) {
    uint64_t what = random_below(100);

    if (what < 10)
        fake_lose(conn);
    else if (what < 15 && find_refused(conn, BAD_DATA) == fake_count(conn))
        fake_fail(conn, random_below(fake_count(conn) + 1), random_below(2) == 0 ? "40001" : "57P01");
    else
        end_txn_of(conn);
}

static int pairs; /* times two transactions were under way on a connection */

static void step_conns(void) {
    for (size_t i = 0; i < fake_db.conn_count; i++) {
        struct db_conn *conn = fake_db.conns[i];

        pairs += conn->sent_txns == 2;
        if (conn->state == DB_BUSY && random_below(3) > 0)
            land_somehow(conn);
        else if (conn->state == DB_DOWN && random_below(2) == 0)
            conn->state = DB_READY;
    }
}

/* Only a refused task fails, or a task that had passing failures too often. */
static void check_all_ended_once(void) {
    for (int i = 0; i < TRIALS; i++) {
        const struct trial *t = any[i];

        assert_int_equal(t->ends, 1);
        assert_int_equal(t->task.state, TASK_IDLE);
        if (t->failed == NULL)
            assert_true(t->refused == NULL || t->gives_up);
        else if (t->refused == NULL || strcmp(t->failed, t->refused) != 0)
            assert_true(strcmp(t->failed, "40001") == 0 || strcmp(t->failed, "57P01") == 0);
    }
}

static void test_any_schedule(void **state) {
    random_start(20261120);
    for (int round = 0; round < 50; round++) {
        int next = 0, steps = 0;

        trial_start(state);
        config.batch_max = 1 + (int)random_below(30);
        config.batch_max_bytes = random_below(400000);
        init_any();
        while (next < TRIALS || !batch_idle()) {
            for (uint64_t n = random_below(random_below(10) == 0 ? 60 : 6); n > 0 && next < TRIALS; n--)
                add(any[next++]);
            batch_flush();
            step_conns();
            assert_true(++steps < 50 * TRIALS);
        }
        check_all_ended_once();
        for (size_t i = 0; trial_ops[i] != NULL; i++)
            assert_int_equal(trial_ops[i]->queued, 0);
    }
    assert_in_range(pairs, 1000, INT_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_any_schedule, trial_start),
    };

    return cmocka_run_group_tests_name("batch schedule", tests, trial_group_start, trial_group_stop);
}
