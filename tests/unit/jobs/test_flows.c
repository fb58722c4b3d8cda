/* The searches for jobs whose ends were not counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "batch/batch.h"
#include "batch/operations.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/flows.h"

static struct op *const ops[] = { &op_stuck_flows, &op_stuck_holds, &op_stuck_batches, &op_close_old_batches,
                                  NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static void pass_time(int64_t us) {
    int64_t end = clock_mono_now() + us;

    while (clock_mono_now() < end)
        continue;
    clock_turn();
}

static void commit_all(void) {
    while (!batch_idle()) {
        for (size_t i = 0; i < fake_db.conn_count; i++)
            if (fake_count(fake_db.conns[i]) > 0)
                fake_commit_empty(fake_db.conns[i]);
        batch_flush();
    }
}

/* A server that was stopped for half a second searches again soon, and not after twenty times that time. */
static void test_a_stop_is_no_work(void **state) {
    const int64_t stop_us = US_PER_S / 2;
    int64_t ended;

    (void)state;
    flows_look();
    batch_flush();
    pass_time(stop_us);
    commit_all();
    ended = clock_mono();
    while (op_stuck_flows.queued == 0) {
        assert_true(clock_mono() - ended < 10 * stop_us);
        pass_time(US_PER_S / 100);
        flows_look();
    }
    commit_all();
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_a_stop_is_no_work, getters_setup,
                                                                        getters_teardown) };

    return cmocka_run_group_tests_name("flows", tests, group_start, fake_batch_stop);
}
