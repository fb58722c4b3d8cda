/* Polls of the due schedules while ticks are fired, and while many schedules stay due. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch/operations.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/schedule.h"

#define EPOCH_US INT64_C(946684800000000) /* of times in parameters and results */

static struct op *const ops[] = { &op_open_queues, &op_due_schedules, &op_fire_schedules, NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static struct db_conn *reader(void) {
    return fake_db.conns[1];
}

/* Begins a poll, and returns its statement. */
static const struct fake_statement *polled(void) {
    schedule_look();
    schedule_turn();
    batch_flush();
    assert_int_equal(fake_count(reader()), 1);
    assert_int_equal(fake_sent(reader(), 0)->stmt, SQL_DUE_SCHEDULES);
    return fake_sent(reader(), 0);
}

static void assert_page_after(const struct fake_statement *st, int64_t search_at, int64_t id) {
    assert_true(fake_scalar(st, 0) + EPOCH_US == search_at);
    assert_true(fake_scalar(st, 3) == id);
}

static void assert_begins(const struct fake_statement *st) {
    assert_true(fake_scalar(st, 0) == INT64_MIN);
    assert_true(fake_scalar(st, 3) == INT64_MIN);
}

static PGresult *page(void) {
    return fake_rows(COL_DUE_SCHEDULES_OVERLAP + 1);
}

/* Appends a schedule of the queue q7 to the page. */
static void is_due(PGresult *page, int64_t id, int64_t revision, int64_t at) {
    int row = PQntuples(page);

    fake_set_int(page, row, COL_DUE_SCHEDULES_ID, 8, id);
    fake_set_int(page, row, COL_DUE_SCHEDULES_REVISION, 8, revision);
    fake_set_int(page, row, COL_DUE_SCHEDULES_NEXT_AT, 8, at - EPOCH_US);
    fake_set_int(page, row, COL_DUE_SCHEDULES_SEARCH_AT, 8, at - EPOCH_US);
    fake_set_bytes(page, row, COL_DUE_SCHEDULES_CRON, SLICE("@every 1h"));
    fake_set_bytes(page, row, COL_DUE_SCHEDULES_QUEUE, SLICE("q7"));
    fake_set_int(page, row, COL_DUE_SCHEDULES_MISSED, 2, MISSED_ONCE);
    fake_set_int(page, row, COL_DUE_SCHEDULES_RETRY, 4, 60);
    fake_set_int(page, row, COL_DUE_SCHEDULES_TTL, 4, 3600);
    fake_set_int(page, row, COL_DUE_SCHEDULES_DELAY, 4, 0);
    fake_set_int(page, row, COL_DUE_SCHEDULES_PRIORITY, 2, 0);
    fake_set_int(page, row, COL_DUE_SCHEDULES_HAS_TICK, 1, 1);
}

static void answer_poll(PGresult *page) {
    fake_commit(reader(), &page);
    batch_flush();
}

/* A poll finds this schedule. */
static void poll_finds(int64_t id, int64_t revision, int64_t at) {
    PGresult *rows = page();

    polled();
    is_due(rows, id, revision, at);
    answer_poll(rows);
}

/* The first schedule that is being fired. The database leaves its tick to another server. */
static int64_t fired(size_t count) {
    const struct fake_statement *st;
    int64_t id;

    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    st = fake_sent(fake_write_conn(), 0);
    assert_int_equal(st->stmt, SQL_FIRE_SCHEDULES);
    assert_int_equal(fake_elements(st, 0), count);
    id = fake_element(st, 0, 0);
    fake_commit_empty(fake_write_conn());
    return id;
}

static int begin(void **state) {
    (void)state;
    getters_start();
    queue_named("q7");
    return 0;
}

static int end(void **state) {
    (void)state;
    assert_true(batch_idle());
    getters_stop();
    return 0;
}

/* Another session may hold back a tick for long. */
static void test_polls_go_on_while_a_tick_is_fired(void **state) {
    PGresult *rows = page();
    int64_t at = clock_db();

    (void)state;
    poll_finds(1, 1, at);
    assert_int_equal(fake_count(fake_write_conn()), 1);
    polled();
    is_due(rows, 1, 1, at);
    is_due(rows, 2, 1, at);
    answer_poll(rows);
    assert_int_equal(fired(1), 1);
    assert_int_equal(fired(1), 2);
}

/* A changed schedule is fired, although a tick of its earlier version is being fired. */
static void test_a_changed_schedule_is_fired(void **state) {
    int64_t at = clock_db();

    (void)state;
    poll_finds(1, 1, at);
    poll_finds(1, 2, at);
    assert_int_equal(fired(1), 1);
    assert_int_equal(fired(1), 1);
}

/* ---- pages ---- */

#define LIMIT 100

/* Many schedules that stay due do not keep the later ones from being read. */
static void test_pages_of_due_schedules(void **state) {
    PGresult *rows = page();
    int64_t at = clock_db() - US_PER_S;

    (void)state;
    polled();
    for (int64_t id = LIMIT; id > 0; id--)
        is_due(rows, id, 1, at);
    answer_poll(rows);
    (void)fired(LIMIT);
    assert_page_after(polled(), at, LIMIT);
    rows = page();
    is_due(rows, LIMIT + 1, 1, at);
    answer_poll(rows);
    assert_true(schedule_next_turn() <= clock_db() + US_PER_S);
    assert_int_equal(fired(1), LIMIT + 1);
    assert_begins(polled());
    answer_poll(page());
}

/* Schedules that become due during a pass wait for the next one. */
static void test_a_pass_ends(void **state) {
    PGresult *rows = page();
    int64_t later = clock_db() + US_PER_S;

    (void)state;
    polled();
    for (int64_t id = 1; id <= LIMIT; id++)
        is_due(rows, id, 1, later);
    answer_poll(rows);
    (void)fired(LIMIT);
    assert_begins(polled());
    answer_poll(page());
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_polls_go_on_while_a_tick_is_fired),
        TEST(test_a_changed_schedule_is_fired),
        TEST(test_pages_of_due_schedules),
        TEST(test_a_pass_ends),
    };

    return cmocka_run_group_tests_name("polls of schedules", tests, group_start, fake_batch_stop);
}
