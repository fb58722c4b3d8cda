/* Counters of very many queues are saved in parts, each of them once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch/operations.h"
#include "fake_db.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

#define QUEUES 12000
/* The most names of a turn. */
#define MOST 5000

static struct op *const ops[] = { &op_save_counters, NULL };
static char saved[QUEUES + 1];

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int start(void **state) {
    (void)state;
    clock_turn();
    queue_init();
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    QUEUE_EACH(q) {
        queue_drop(q);
    }
    return 0;
}

static void count_one_in_each(void) {
    for (int32_t id = 1; id <= QUEUES; id++) {
        char name[16];
        struct queue *q;

        snprintf(name, sizeof name, "q%d", id);
        q = queue_get(slice_str(name));
        queue_set_id(q, id);
        queue_count_in(q, 1);
    }
}

/* Commits all statements. Counts the statements that contain each queue. */
static size_t commit_all(void) {
    struct db_conn *side = fake_db.conns[1];
    size_t rows = 0;

    for (batch_flush(); fake_count(side) > 0; batch_flush()) {
        const struct fake_statement *st = fake_sent(side, 0);
        PGresult *res = fake_rows(1);

        for (size_t i = 0; i < fake_elements(st, 0); i++) {
            saved[fake_element(st, 0, i)]++;
            assert_int_equal(fake_element(st, 1, i), 1);
            rows++;
        }
        fake_commit(side, &res);
    }
    return rows;
}

static void test_saved_in_parts(void **state) {
    (void)state;
    count_one_in_each();
    assert_true(queue_save_counters());
    assert_int_equal(commit_all(), MOST);
    assert_true(queue_save_counters());
    assert_int_equal(commit_all(), MOST);
    assert_false(queue_save_counters());
    assert_int_equal(commit_all(), QUEUES - 2 * MOST);
    for (int32_t id = 1; id <= QUEUES; id++)
        assert_int_equal(saved[id], 1);
    assert_false(queue_save_counters());
    assert_int_equal(commit_all(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saved_in_parts, start, stop),
    };

    return cmocka_run_group_tests_name("queue_row", tests, group_start, NULL);
}
