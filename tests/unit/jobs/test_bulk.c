/* DEL, EXPIRE, RENAME: pages up to the former end of the list, claims, lost answers. wraps: position_remove_keys */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/bulk.h"
#include "jobs/bulk_in_txn.h"
#include "jobs/expire.h"
#include "jobs/list_life.h"
#include "noted_replies.h"
#include "queue/queue_ready.h"

/* Columns of empty_list.sql and date_list.sql; of date_list.sql, of rename_list.sql. */
enum { AFTER_RANK = 1, AFTER_ID, END_RANK, END_ID };
enum { EXPIRES_AT = 7, WAKE_AT, BEFORE };
enum { FROM, TO, SIGN };

#define PAGE 1000

static struct op *const ops[] = { &op_empty_list,  &op_end_in_flows, &op_date_list,
                                  &op_rename_list, &op_rename_large, &op_find_commits,
                                  &op_list_life,   &op_end_in_txn,   NULL };

static const struct command del = { .handler = cmd_del },
                            expire = { .handler = cmd_expire, .name = "expire" },
                            persist = { .handler = cmd_persist }, rename_cmd = { .handler = cmd_rename };

void __real_position_remove_keys(struct scan_position *s, struct job_key *keys, size_t count);
void __wrap_position_remove_keys(struct scan_position *s, struct job_key *keys, size_t count);

static size_t removed_keys; /* of all calls */

void __wrap_position_remove_keys(struct scan_position *s, struct job_key *keys, size_t count) {
    removed_keys += count;
    __real_position_remove_keys(s, keys, count);
}

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int start(void **state) {
    struct queue *q;

    (void)state;
    getters_start();
    node_self()->number = 3;
    q = queue_named("q1");
    q->list.consume_end = queue_named("q2")->list.consume_end = END_RIGHT;
    queue_count_total(q, 3000);
    queue_count_len(q, 3000);
    q->scan.may_have_more = true;
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    assert_true(list_empty(&queue_named("q1")->scan.sent));
    assert_int_equal(queue_named("q1")->users, 0);
    getters_stop();
    buf_free(&noted_replies);
    return 0;
}

static void command(const struct command *cmd, const char *a, const char *b) {
    struct slice argv[] = { SLICE("x"), slice_str(a), slice_str(b == NULL ? "" : b) };
    struct req *r = req_new(b == NULL ? 2 : 3, argv, NULL, noted_on_end);

    r->cmd = cmd;
    cmd->handler(r);
    batch_flush();
}

static const struct fake_statement *sent(size_t i) {
    return fake_sent(fake_write_conn(), i);
}

/* Commits a page of jobs from that ID on, in a queue whose last job is end. */
static void commit_page(int columns, int count, int64_t first, int64_t end) {
    PGresult *res = fake_rows(columns);

    for (int i = 0; i < count; i++) {
        fake_set_int(res, i, 0, 2, 0);
        fake_set_int(res, i, 1, 8, first + i);
        fake_set_int(res, i, 2, 2, 0);
        fake_set_int(res, i, 3, 8, end);
        if (columns > 4) {
            fake_set_int(res, i, 4, 8, 0);
            assert_int_equal(PQsetvalue(res, i, 7, NULL, -1), 1);
            assert_int_equal(PQsetvalue(res, i, 8, NULL, -1), 1);
        }
    }
    fake_commit(fake_write_conn(), (PGresult *[]){ res, NULL });
    batch_flush();
}

/* ---- DEL ---- */

static void test_pages_end_where_the_list_did(void **state) {
    const struct queue *q = queue_named("q1");

    (void)state;
    assert_true(job_new_id(clock_db(), 3) > 5000);
    command(&del, "q1", NULL);
    assert_int_equal(sent(0)->stmt, SQL_EMPTY_LIST);
    assert_int_equal(fake_scalar(sent(0), END_RANK), INT16_MAX);
    commit_page(9, PAGE, 1, 2900);
    assert_replied("");
    assert_int_equal(fake_scalar(sent(0), AFTER_RANK), 0);
    assert_int_equal(fake_scalar(sent(0), AFTER_ID), PAGE);
    assert_int_equal(fake_scalar(sent(0), END_ID), 2900);
    assert_int_equal(q->scan.position.id, PAGE);
    /* Others have been pushed; the end stays. */
    commit_page(9, PAGE, PAGE + 1, 5000);
    assert_int_equal(fake_scalar(sent(0), AFTER_ID), 2 * PAGE);
    assert_int_equal(fake_scalar(sent(0), END_ID), 2900);
    commit_page(9, 900, 2 * PAGE + 1, 5000);
    assert_replied(":1");
    assert_int_equal(queue_len(q), 100);
    assert_int_equal(q->scan.position.id, 2900);
    assert_true(q->scan.may_have_more);
}

static void test_all_is_gone(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    for (int64_t id = 3; id > 0; id--)
        position_add_key(&q->scan, (struct job_key){ q->id, 0, id });
    command(&del, "q1", NULL);
    commit_page(9, 2, 1, 3);
    assert_replied(":1");
    assert_false(q->scan.may_have_more);
    assert_int_equal(q->scan.key_count, 1);
    assert_int_equal(q->scan.keys[0].id, 3);
}

/* Jobs that wait for a deleted job do not wait for a search. */
static void test_a_deleted_job_of_a_workflow(void **state) {
    PGresult *res = fake_rows(9);

    (void)state;
    command(&del, "q1", NULL);
    fake_set_int(res, 0, 0, 2, 0);
    fake_set_int(res, 0, 1, 8, 7);
    fake_set_int(res, 0, 2, 2, 0);
    fake_set_int(res, 0, 3, 8, 7);
    fake_set_int(res, 0, 4, 8, 0);
    assert_int_equal(PQsetvalue(res, 0, 7, NULL, -1), 1);
    fake_set_int(res, 0, 8, 1, true);
    fake_commit(fake_write_conn(), (PGresult *[]){ res, NULL });
    batch_flush();
    assert_replied(":1");
    assert_int_equal(sent(0)->stmt, SQL_END_IN_FLOWS);
    assert_int_equal(fake_element(sent(0), 0, 0), 7);
    /* The end was counted. */
    res = fake_rows(10);
    fake_set_int(res, 0, COL_END_IN_FLOWS_KIND, 4, 3);
    fake_set_int(res, 0, COL_END_IN_FLOWS_ORDINAL, 4, 1);
    assert_int_equal(PQsetvalue(res, 0, COL_END_IN_FLOWS_EXIT, NULL, -1), 1);
    fake_commit(fake_write_conn(), &res);
}

/* In between the queue is told of a job before the page. Claims search there. */
static void test_a_return_in_between(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    command(&del, "q1", NULL);
    queue_scan_from(q, (struct job_key){ q->id, -5, 0 });
    commit_page(9, PAGE, 1, 5000);
    commit_page(9, 0, 0, 0);
    assert_replied(":1");
    assert_true(q->scan.may_have_more);
    assert_true(job_key_before(q->scan.position, (struct job_key){ q->id, -5, 1 }));
}

static void test_several_keys(void **state) {
    (void)state;
    command(&del, "q1", "q2");
    /* The page of the long list has a transaction of its own. */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fake_count(fake_write_conn()), 1);
        fake_commit_empty(fake_write_conn());
    }
    assert_replied(":0");
    command(&del, "q1", "q1");
    assert_int_equal(fake_count(fake_write_conn()), 1);
    fake_fail(fake_write_conn(), 0, "42P01");
    assert_replied("-DBERR");
    command(&del, "none", NULL);
    assert_replied(":0");
}

static void test_del_is_said_again(void **state) {
    (void)state;
    command(&del, "q1", NULL);
    fake_lose_and_repeat();
    assert_int_equal(sent(0)->stmt, SQL_EMPTY_LIST);
    fake_commit_empty(fake_write_conn());
    assert_replied(":1");
}

/* ---- EXPIRE ---- */

static void test_an_end(void **state) {
    (void)state;
    command(&expire, "q1", "100");
    assert_int_equal(sent(0)->stmt, SQL_DATE_LIST);
    assert_true(fake_scalar(sent(0), EXPIRES_AT) == fake_scalar(sent(0), WAKE_AT));
    commit_page(4, 5, 1, 5);
    assert_replied(":1");
    assert_true(expire_next_wake() <= clock_db() + 100 * US_PER_S);
    command(&expire, "q1", "0");
    assert_int_equal(sent(0)->stmt, SQL_EMPTY_LIST);
    fake_commit_empty(fake_write_conn());
    assert_replied(":0");
}

static void test_for_ever(void **state) {
    (void)state;
    command(&persist, "q1", NULL);
    assert_int_equal(sent(0)->stmt, SQL_DATE_LIST);
    assert_true(fake_scalar(sent(0), EXPIRES_AT) > fake_scalar(sent(0), BEFORE));
    commit_page(4, 0, 0, 0);
    assert_replied(":0");
}

/* ---- RENAME ---- */

/* A list of this length moves over the write connection. */
static struct queue *few_jobs(void) {
    struct queue *q = queue_named("q1");

    queue_count_total(q, -2500);
    queue_count_len(q, -2500);
    return q;
}

/* The row of the outcome. */
static void set_outcome(PGresult *res, int row, int outcome, int64_t first, int64_t moved, int64_t emptied) {
    for (int col = 0; col < COLUMNS_RENAME_LIST; col++)
        assert_int_equal(PQsetvalue(res, row, col, NULL, -1), 1);
    fake_set_int(res, row, COL_RENAME_LIST_OUTCOME, 4, outcome);
    if (outcome != 1)
        return;
    fake_set_int(res, row, COL_RENAME_LIST_RANK, 2, 0);
    fake_set_int(res, row, COL_RENAME_LIST_ID, 8, first);
    fake_set_int(res, row, COL_RENAME_LIST_MOVED, 8, moved);
    fake_set_int(res, row, COL_RENAME_LIST_EMPTIED, 8, emptied);
}

/* Two jobs of one queue and a job of the other have left them. */
static void commit_renamed(int32_t from, int32_t to, int64_t first) {
    PGresult *res = fake_rows(COLUMNS_RENAME_LIST);

    for (int i = 0; i < 3; i++) {
        for (int col = COL_RENAME_LIST_GROUP_KEY; col < COLUMNS_RENAME_LIST; col++)
            assert_int_equal(PQsetvalue(res, i, col, NULL, -1), 1);
        fake_set_int(res, i, COL_RENAME_LIST_QUEUE_ID, 4, i < 2 ? from : to);
        fake_set_int(res, i, COL_RENAME_LIST_RANK, 2, 0);
        fake_set_int(res, i, COL_RENAME_LIST_ID, 8, 5 - i);
        fake_set_int(res, i, COL_RENAME_LIST_READY_AT, 8, 0);
    }
    set_outcome(res, 3, 1, first, 2, 1);
    fake_commit(fake_write_conn(), (PGresult *[]){ res, NULL, NULL });
    batch_flush();
}

/* The moved job is older than the jobs that have passed in the other queue. */
static void test_claims_search_for_moved_jobs(void **state) {
    struct queue *from = few_jobs(), *to = queue_named("q2");

    (void)state;
    queue_count_len(to, 1);
    queue_count_total(to, 1);
    to->scan.position = (struct job_key){ to->id, 0, 900 };
    command(&rename_cmd, "q1", "q2");
    assert_int_equal(sent(0)->stmt, SQL_RENAME_LIST);
    assert_int_equal(sent(1)->stmt, SQL_MARK_COMMIT);
    commit_renamed(from->id, to->id, 4);
    assert_replied("+OK");
    assert_int_equal(queue_len(from), 498);
    assert_false(from->scan.may_have_more);
    assert_int_equal(queue_len(to), 2);
    assert_int_equal(to->counters.total, 2);
    assert_true(to->scan.may_have_more);
    assert_int_equal(to->scan.position.id, 3);
}

static void test_other_fronts_turn_it_round(void **state) {
    struct queue *from = few_jobs(), *to = queue_named("q2");

    (void)state;
    from->list.consume_end = END_LEFT;
    to->list.consume_end = END_RIGHT;
    to->scan.position = (struct job_key){ to->id, 0, 900 };
    command(&rename_cmd, "q1", "q2");
    assert_int_equal(fake_scalar(sent(0), SIGN), -1);
    commit_renamed(from->id, to->id, -5);
    assert_replied("+OK");
    assert_int_equal(to->scan.position.id, -6);
}

static void commit_apart(int outcome, int64_t moved, int64_t emptied) {
    PGresult *res = fake_rows(COLUMNS_RENAME_LIST);

    set_outcome(res, 0, outcome, 7, moved, emptied);
    fake_commit(fake_large_conn(), (PGresult *[]){ res, NULL });
    batch_flush();
}

/* The write connection stays free. No claim goes to the queues, and a push in the meantime is found. */
static void test_many_are_renamed_apart(void **state) {
    struct queue *from = queue_named("q1"), *to = queue_named("q2");

    (void)state;
    queue_count_len(to, 5);
    queue_count_total(to, 5);
    to->scan.position = (struct job_key){ to->id, 0, 900 };
    command(&rename_cmd, "q1", "q2");
    assert_int_equal(fake_count(fake_write_conn()), 0);
    assert_int_equal(fake_sent(fake_large_conn(), 0)->stmt, SQL_RENAME_LIST);
    assert_int_equal(queue_budget(from), 0);
    assert_int_equal(queue_budget(to), 0);
    queue_count_total(from, 1);
    queue_job_ready(from, (struct job_key){ from->id, 0, 100 });
    commit_apart(1, 3000, 5);
    assert_replied("+OK");
    assert_int_equal(queue_len(from), 1);
    assert_int_equal(from->counters.total, 1);
    assert_true(from->scan.may_have_more);
    assert_true(from->scan.position.id < 100);
    assert_true(queue_budget(from) > 0);
    assert_int_equal(queue_len(to), 3000);
    assert_int_equal(to->counters.total, 3000);
    assert_int_equal(to->scan.position.id, 6);
}

/* The counters knew of fewer jobs than the statement has found. */
static void test_more_than_counted_are_renamed_apart(void **state) {
    PGresult *res = fake_rows(COLUMNS_RENAME_LIST);
    struct queue *from = few_jobs();

    (void)state;
    command(&rename_cmd, "q1", "q2");
    set_outcome(res, 0, 2, 0, 0, 0);
    fake_commit(fake_write_conn(), (PGresult *[]){ res, NULL });
    batch_flush();
    assert_replied("");
    commit_apart(1, 1001, 0);
    assert_replied("+OK");
    assert_int_equal(from->work->moving, 0);
}

static void on_txn_joined(struct client_txn *ct) {
    client_txn_send(ct);
}

static void on_txn_end(struct client_txn *ct, enum client_txn_end end, const struct op_error *error) {
    (void)ct;
    (void)error;
    assert_int_equal(end, CLIENT_TXN_COMMITTED);
}

/* No job is renamed after the commit of the transaction. */
static void test_more_than_counted_in_a_transaction(void **state) {
    struct slice argv[] = { SLICE("rename"), SLICE("q1"), SLICE("q2") };
    struct req *r = req_new(3, argv, NULL, noted_on_end);
    struct task *tasks[] = { &r->task };
    struct client_txn ct = { .tasks = tasks, .count = 1, .on_joined = on_txn_joined, .on_end = on_txn_end };
    PGresult *res = fake_rows(COLUMNS_RENAME_LIST);

    (void)state;
    few_jobs()->list.consume_end = queue_named("q2")->list.consume_end = END_LEFT;
    r->cmd = &rename_cmd;
    r->exec = (struct req *)&ct; /* only its presence counts */
    r->task.client_txn = &ct;
    cmd_rename(r);
    batch_flush();
    set_outcome(res, 0, 2, 0, 0, 0);
    fake_commit(fake_write_conn(), (PGresult *[]){ res, NULL });
    assert_replied("-LIMIT");
}

/* Claims that were sent before have skipped the locked jobs. */
static void test_a_failed_rename_apart(void **state) {
    struct queue *from = queue_named("q1");

    (void)state;
    from->scan.position = (struct job_key){ from->id, 0, 900 };
    from->scan.may_have_more = false;
    command(&rename_cmd, "q1", "q2");
    fake_fail(fake_large_conn(), 0, "42P01");
    batch_flush();
    assert_replied("-DBERR");
    assert_int_equal(queue_len(from), 3000);
    assert_true(from->scan.may_have_more);
    assert_int_equal(from->scan.position.rank, INT16_MIN);
    assert_true(queue_budget(from) > 0);
}

/* Was the lost transaction committed? */
static void tell(bool committed) {
    PGresult *res = fake_rows(1);

    assert_int_equal(sent(0)->stmt, SQL_FIND_COMMITS);
    if (committed)
        fake_set_int(res, 0, 0, 8, fake_element(sent(0), 1, 0));
    fake_commit(fake_write_conn(), &res);
    batch_flush();
}

static void test_renamed_once(void **state) {
    (void)state;
    (void)few_jobs();
    command(&rename_cmd, "q1", "q2");
    fake_lose_and_repeat();
    tell(true);
    assert_replied("-UNKNOWN");
    command(&rename_cmd, "q1", "q2");
    fake_lose_and_repeat();
    tell(false);
    assert_int_equal(sent(0)->stmt, SQL_RENAME_LIST);
    fake_commit_empty(fake_write_conn());
    assert_replied("-ERR");
    command(&rename_cmd, "q1", "q2");
    fake_lose_and_repeat();
    fake_fail(fake_write_conn(), 0, "42P01");
    batch_flush();
    assert_replied("-UNKNOWN");
}

/* ---- in a transaction ---- */

#define MIXED_JOBS 30

/* Commits the deletion of jobs of the queues 1, 2 and 3, in no order. */
static void commit_mixed(void) {
    PGresult *res = fake_rows(8);

    for (int i = 0; i < MIXED_JOBS; i++) {
        fake_set_int(res, i, 0, 4, 1 + i % 3);
        fake_set_int(res, i, 1, 2, 0);
        fake_set_int(res, i, 2, 8, i + 1);
        fake_set_int(res, i, 3, 8, 0);
        assert_int_equal(PQsetvalue(res, i, 6, NULL, -1), 1);
        assert_int_equal(PQsetvalue(res, i, 7, NULL, -1), 1);
    }
    fake_commit(fake_write_conn(), &res);
}

/* All keys for each queue would be sorted for each queue. */
static void test_queues_get_their_own_keys(void **state) {
    struct queue *queues[4];
    struct key_in_txn k = { .queues = queues, .count = LENGTH(queues), .removes = true };

    (void)state;
    for (int i = 0; i < 4; i++) {
        char name[] = { 'q', (char)('4' - i), '\0' };

        queues[i] = queue_named(name);
        position_add_key(&queues[i]->scan, (struct job_key){ queues[i]->id, 0, queues[i]->id });
    }
    key_in_txn(req_new(0, NULL, NULL, noted_on_end), &k);
    batch_flush();
    removed_keys = 0;
    commit_mixed();
    assert_replied(":3");
    assert_int_equal(removed_keys, MIXED_JOBS);
    for (int i = 0; i < 4; i++)
        assert_int_equal(queues[i]->scan.key_count, queues[i]->id == 4);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_pages_end_where_the_list_did),
        TEST(test_all_is_gone),
        TEST(test_a_deleted_job_of_a_workflow),
        TEST(test_a_return_in_between),
        TEST(test_several_keys),
        TEST(test_del_is_said_again),
        TEST(test_an_end),
        TEST(test_for_ever),
        TEST(test_claims_search_for_moved_jobs),
        TEST(test_other_fronts_turn_it_round),
        TEST(test_many_are_renamed_apart),
        TEST(test_more_than_counted_are_renamed_apart),
        TEST(test_more_than_counted_in_a_transaction),
        TEST(test_a_failed_rename_apart),
        TEST(test_renamed_once),
        TEST(test_queues_get_their_own_keys),
    };

    return cmocka_run_group_tests_name("list pages", tests, group_start, fake_batch_stop);
}
