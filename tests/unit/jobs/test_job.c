/* Each end of a job: the next job of its group is released, and servers whose clients wait for the end are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "cluster/outbox.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/bulk.h"
#include "jobs/dead_letter.h"
#include "jobs/expire.h"
#include "jobs/groups.h"
#include "jobs/undelivered.h"
#include "jobs/waitjob.h"
#include "queue/job_events.h"

static struct op *const ops[] = {
    &op_wake_expired,     &op_wake_due,       &op_wake_next, &op_expire_in_order,
    &op_dead_letter_jobs, &op_next_in_groups, NULL
};
static PGresult *result;

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

/* Clients of another server wait for ends. */
static int start(void **state) {
    char forgotten[4096];

    (void)state;
    getters_start();
    outbox_set_shared(true);
    waitjob_receive_awaits();
    (void)queue_named("q1");
    while (outbox_take(forgotten, sizeof forgotten) > 0)
        ;
    return 0;
}

static int stop(void **state) {
    (void)state;
    for (; !batch_idle(); batch_flush())
        fake_commit_empty(fake_write_conn());
    PQclear(result);
    result = NULL;
    outbox_set_shared(false);
    getters_stop();
    return 0;
}

static void assert_item(const char *item) {
    char text[4096];
    size_t len = outbox_take(text, sizeof text - 1);

    text[len] = '\0';
    if (strstr(text, item) == NULL)
        fail_msg("no %s in %s", item, text);
}

static void assert_told(void) {
    char item[64];

    snprintf(item, sizeof item, "y%d,0,7,", queue_named("q1")->id);
    assert_item(item);
}

/* The next transaction asks for the next job of "group" in q1. */
static void assert_group_goes_on(void) {
    const struct fake_statement *s;
    bool found = false;

    batch_flush();
    for (size_t i = 0; i < fake_count(fake_write_conn()); i++) {
        s = fake_sent(fake_write_conn(), i);
        found |= s->stmt == SQL_NEXT_IN_GROUPS && fake_element(s, 0, 0) == queue_named("q1")->id;
    }
    assert_true(found);
}

/* A row of wake_expired.sql. */
static PGresult *expired_row(void) {
    static const int sizes[] = { 4, 2, 8, 8, 8, 4 };
    const int64_t values[] = { queue_named("q1")->id, 0, 7, 0, 0, 60 };
    PGresult *rows = fake_rows(9);

    for (int col = 0; col < 6; col++)
        fake_set_int(rows, 0, col, sizes[col], values[col]);
    fake_set_bytes(rows, 0, 6, slice_str("group"));
    return rows;
}

static void test_expired(void **state) {
    (void)state;
    result = expired_row();
    op_wake_expired.on_end(NULL, result);
    assert_told();
    assert_group_goes_on();
}

static void test_expired_in_order(void **state) {
    (void)state;
    result = expired_row();
    op_expire_in_order.done(NULL, 0, result);
    assert_told();
    assert_group_goes_on();
}

/* A job of an SQL function is committed after a job that was added later. */
static void test_late_commit(void **state) {
    struct queue *q = queue_named("q1");
    int64_t early = job_id_at(clock_db() - 1800 * US_PER_S);

    (void)state;
    q->swept_id = job_id_at(clock_db());
    job_entered(&(struct job_row){ .key = { q->id, 0, job_id_at(clock_db()) } }, JOB_ADDED);
    assert_true(q->swept_id < early);
    jobs_left(q, 1);
}

/* Columns of dead_letter_jobs.sql. */
static void test_dead(void **state) {
    PGresult *rows[DB_MAX_STATEMENTS] = { fake_rows(11) };

    (void)state;
    dead_letter_job((struct job_key){ queue_named("q1")->id, 0, 7 }, NULL, NULL);
    batch_flush();
    fake_set_int(rows[0], 0, 0, 4, 1);
    fake_set_int(rows[0], 0, 4, 8, 0);
    fake_set_int(rows[0], 0, 5, 4, 60);
    fake_set_bytes(rows[0], 0, 6, slice_str("group"));
    fake_set_int(rows[0], 0, 7, 1, 0);
    fake_set_int(rows[0], 0, 9, 4, 3);
    fake_set_bytes(rows[0], 0, 10, slice_str("no trace\n"));
    fake_commit(fake_write_conn(), rows);
    assert_told();
    assert_group_goes_on();
}

static void test_undelivered(void **state) {
    const struct job job = { .q = queue_named("q1"),
                             .key = { queue_named("q1")->id, 0, 7 },
                             .group = slice_str("group") };

    (void)state;
    undelivered_count_gone(&job);
    assert_told();
    assert_group_goes_on();
}

/* Columns: queued_since, expires_at, retry, group_key. */
static void test_deleted(void **state) {
    (void)state;
    result = fake_rows(4);
    fake_set_int(result, 0, 0, 8, 0);
    fake_set_int(result, 0, 1, 8, 0);
    fake_set_int(result, 0, 2, 4, 60);
    fake_set_bytes(result, 0, 3, slice_str("group"));
    bulk_job_deleted((struct job_key){ queue_named("q1")->id, 0, 7 }, result, 0, 0);
    assert_told();
    assert_group_goes_on();
}

/* Row of put_back_jobs.sql. This server has forgotten the queue: peers count the job. */
static void test_put_back_into_unknown_queue(void **state) {
    char item[64];

    (void)state;
    result = fake_rows(4);
    fake_set_int(result, 0, 0, 4, 99);
    fake_set_int(result, 0, 1, 2, 0);
    fake_set_int(result, 0, 2, 8, 7);
    op_put_back_jobs.done(NULL, 0, result);
    snprintf(item, sizeof item, "%c99", OUTBOX_UNCOUNTED);
    assert_item(item);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_expired, start, stop),
        cmocka_unit_test_setup_teardown(test_expired_in_order, start, stop),
        cmocka_unit_test_setup_teardown(test_late_commit, start, stop),
        cmocka_unit_test_setup_teardown(test_dead, start, stop),
        cmocka_unit_test_setup_teardown(test_undelivered, start, stop),
        cmocka_unit_test_setup_teardown(test_deleted, start, stop),
        cmocka_unit_test_setup_teardown(test_put_back_into_unknown_queue, start, stop),
    };

    return cmocka_run_group_tests_name("job", tests, group_start, NULL);
}
