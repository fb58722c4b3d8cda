/* The search for stuck groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/groups.h"
#include "jobs/take.h"

#define AWAY_US (600 * US_PER_MS)
/* A search whose duration included AWAY_US would be followed by a pause of 12 seconds. */
#define PAUSE_MOST_US (9 * US_PER_S)

static struct op *const ops[] = { &op_stuck_groups, &op_next_in_groups, NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, take_plan);
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    getters_stop();
    return 0;
}

static struct db_conn *groups_conn(void) {
    return fake_db.conns[1];
}

/* True if a search was sent. */
static bool search(void) {
    clock_turn();
    groups_look();
    batch_flush();
    return fake_count(groups_conn()) > 0;
}

static bool search_until(int64_t end_us) {
    while (clock_mono_now() < end_us && !search())
        usleep(1000);
    return fake_count(groups_conn()) > 0;
}

static void end_search(void) {
    clock_turn();
    fake_commit_empty(groups_conn());
}

/* A search that waits for the connection is followed by the next one as soon as others are. */
static void test_search_after_a_lost_connection(void **state) {
    int64_t end;

    (void)state;
    groups_conn()->state = DB_DOWN;
    assert_false(search());
    for (end = clock_mono_now() + AWAY_US; clock_mono_now() < end;)
        usleep(1000);
    groups_conn()->state = DB_READY;
    assert_true(search());
    end_search();
    assert_true(search_until(clock_mono_now() + PAUSE_MOST_US));
    end_search();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_search_after_a_lost_connection, getters_setup, stop),
    };

    return cmocka_run_group_tests_name("groups", tests, group_start, NULL);
}
