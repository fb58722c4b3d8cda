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

/* Whether the request searches the whole group. */
static bool is_whole(int64_t created_us) {
    struct db_conn *write = fake_db.conns[0];
    bool whole;

    clock_turn();
    group_joined((struct job_key){ .queue_id = 1, .id = job_new_id(created_us, 1) }, SLICE("g"));
    batch_flush();
    assert_int_equal(fake_sent(write, 0)->stmt, SQL_NEXT_IN_GROUPS);
    whole = fake_element(fake_sent(write, 0), 3, 0) == 1;
    for (; !batch_idle(); batch_flush())
        fake_commit_empty(write);
    return whole;
}

/* Such a job may lie before jobs that were released. */
static void test_job_whose_commit_took_long(void **state) {
    (void)state;
    clock_turn();
    assert_true(is_whole(clock_db() - 3 * US_PER_S));
    assert_false(is_whole(clock_db()));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_search_after_a_lost_connection, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_job_whose_commit_took_long, getters_setup, stop),
    };

    return cmocka_run_group_tests_name("groups", tests, group_start, NULL);
}
