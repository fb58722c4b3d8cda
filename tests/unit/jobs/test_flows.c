/* Follow-ups of jobs that ended, and the searches for jobs whose ends were not counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/flows.h"
#include "jobs/take.h"
#include "queue/follow_up.h"

static struct op *const ops[] = { &op_end_in_flows,
                                  &op_end_in_flows_more,
                                  &op_stuck_flows,
                                  &op_stuck_holds,
                                  &op_stuck_batches,
                                  &op_close_old_batches,
                                  NULL };

#define PAGES_MOST 1000

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

/* A row of end_in_flows.sql whose other columns are null. */
static void set_row(PGresult *res, int row, int kind) {
    for (int col = 0; col < COLUMNS_END_IN_FLOWS; col++)
        assert_int_equal(PQsetvalue(res, row, col, NULL, -1), 1);
    fake_set_int(res, row, COL_END_IN_FLOWS_KIND, 4, kind);
}

/* The ends of `count` jobs were counted. They have ended the job `next`, unless it is 0. */
static void commit_ends(int count, int64_t next) {
    PGresult *res = fake_rows(COLUMNS_END_IN_FLOWS);

    assert_int_equal(fake_elements(fake_sent(fake_write_conn(), 0), 0), count);
    for (int i = 0; i < count; i++) {
        set_row(res, i, 3);
        fake_set_int(res, i, COL_END_IN_FLOWS_ORDINAL, 4, i + 1);
    }
    if (next != 0) {
        set_row(res, count, 2);
        fake_set_int(res, count, COL_END_IN_FLOWS_ID, 8, next);
    }
    fake_commit(fake_write_conn(), &res);
}

/* The follow-up of job 11 comes from that of job 1, and is queued behind that of job 2. The job that it ends belongs to
 * the follow-ups of job 1, too. */
static void test_follow_ups_of_several_jobs(void **state) {
    uint64_t first;

    (void)state;
    clock_turn();
    flow_job_ended(1);
    first = follow_ups_last(0);
    batch_flush();
    flow_job_ended(2);
    commit_ends(1, 11);
    batch_flush();
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), 0, 0), 2);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), 0, 1), 11);
    commit_ends(2, 12);
    assert_false(follow_ups_have_ended(first));
    batch_flush();
    commit_ends(1, 0);
    assert_true(follow_ups_have_ended(first));
    assert_int_equal(follow_ups_last(0), 0);
}

/* A page of the successors of a job. last: its last successor; 0: the page is empty, and successors are left. */
static void commit_page(int64_t last) {
    PGresult *res = fake_rows(COLUMNS_END_IN_FLOWS);

    set_row(res, 0, 4);
    fake_set_int(res, 0, COL_END_IN_FLOWS_ORDINAL, 4, 1);
    if (last != 0) {
        fake_set_int(res, 0, COL_END_IN_FLOWS_LAST_HOLDS, 1, 0);
        fake_set_int(res, 0, COL_END_IN_FLOWS_LAST_ID, 8, last);
    }
    fake_commit(fake_write_conn(), &res);
}

/* The number of pages that follow the end of a job. A page is empty if `empty_every` divides its number. */
static int pages_of(int64_t id, int empty_every) {
    int pages = 0;

    flow_job_ended(id);
    while (pages < PAGES_MOST && (!batch_idle() || timers_next() != INT64_MAX)) {
        timers_run(clock_mono() + US_PER_S);
        batch_flush();
        pages++;
        commit_page(pages % empty_every == 0 ? 0 : pages);
    }
    return pages;
}

/* Another session has locked the only successor for long. Each try finds the successor, and then an empty page. */
static void test_a_locked_successor_bounds_the_tries(void **state) {
    int pages;

    (void)state;
    clock_turn();
    pages = pages_of(1, 2);
    assert_true(pages > 2 && pages < PAGES_MOST);
}

/* As above, after many pages with successors that are free. */
static void test_pages_do_not_count_as_tries(void **state) {
    int pages;

    (void)state;
    clock_turn();
    pages = pages_of(1, PAGES_MOST / 10);
    assert_true(pages > 2 * PAGES_MOST / 10 && pages < PAGES_MOST);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_follow_ups_of_several_jobs, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_a_locked_successor_bounds_the_tries, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_pages_do_not_count_as_tries, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_a_stop_is_no_work, getters_setup, stop),
    };

    return cmocka_run_group_tests_name("flows", tests, group_start, fake_batch_stop);
}
