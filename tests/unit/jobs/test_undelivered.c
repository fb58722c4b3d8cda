/* Elements popped for a client that disconnects: they are put back as they were, or counted as sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/groups.h"
#include "jobs/take.h"
#include "jobs/undelivered.h"
#include "queue/queue_ready.h"
#include "queue/settings.h"

/* Columns of pop_first.sql, and of put_back_jobs.sql. */
enum {
    ROW_BODY = 7,
    ROW_ATTEMPTS = 9,
    ROW_BACKOFF,
    ROW_DEADQUEUE,
    ROW_ERROR,
    ROW_KEY,
    ROW_GROUP = 15,
    ROW_DELAY = 19,
    ROW_REPLICATE,
    ROW_OWN_END,
    ROW_START,
    ROW_IN_FLOW
};
enum {
    BACK_ID,
    BACK_BODY = 6,
    BACK_ATTEMPTS = 11,
    BACK_BACKOFF,
    BACK_DEADQUEUE,
    BACK_ERROR,
    BACK_KEY,
    BACK_UNTIL,
    BACK_GROUP,
    BACK_DELAY = 21,
    BACK_REPLICATE,
    BACK_OWN_END,
    BACK_START,
    BACK_IN_FLOW
};

static struct op *const ops[] = { &op_move_first,     &op_move_last,    &op_put_back_jobs,
                                  &op_next_in_groups, &op_find_commits, NULL };
static PGresult *result;

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, take_plan);
}

static int stop(void **state) {
    PQclear(result);
    result = NULL;
    return getters_teardown(state);
}

/* The oldest request of c replies the job. */
static void note_unsent(struct client *c, const struct job *job) {
    struct req r = { .client = c, .out = &c->out };

    undelivered_note_unsent(&r, job);
}

/* A client with a popped job of the group, or without a group. Its reply is not yet written. */
static struct client *client_with_group(bool has_rest, const char *group) {
    static const int sizes[] = { 2, 8, 8, 8, 4, 4, 4 };
    struct client *c = &getters[1].client;
    struct job job;

    PQclear(result);
    result = fake_rows(COL_POP_FIRST_IN_FLOW + 1);
    for (int col = 0; col < ROW_BODY; col++)
        fake_set_int(result, 0, col, sizes[col], col == 1 ? 77 : 0);
    fake_set_bytes(result, 0, ROW_BODY, slice_str("body"));
    fake_set_int(result, 0, ROW_BODY + 1, 4, 2);
    fake_set_int(result, 0, ROW_DELAY, 4, has_rest ? 8 : 0);
    fake_set_int(result, 0, ROW_REPLICATE, 2, has_rest ? 3 : 1);
    if (has_rest) {
        fake_set_int(result, 0, ROW_ATTEMPTS, 4, 5);
        fake_set_int(result, 0, ROW_BACKOFF, 4, 6);
        fake_set_bytes(result, 0, ROW_DEADQUEUE, slice_str("dead"));
        fake_set_bytes(result, 0, ROW_ERROR, slice_str("oops"));
        fake_set_bytes(result, 0, ROW_KEY, slice_str("key"));
        fake_set_int(result, 0, ROW_OWN_END, 8, 9);
        fake_set_int(result, 0, ROW_START, 1, true);
        fake_set_int(result, 0, ROW_IN_FLOW, 1, true);
    }
    if (group != NULL)
        fake_set_bytes(result, 0, ROW_GROUP, slice_str(group));
    job = take_read_removed(result, 0, queue_named("q1"));
    note_unsent(c, &job);
    return c;
}

static struct client *client_with(bool has_rest) {
    return client_with_group(has_rest, NULL);
}

static bool is_text(int col, const char *want) {
    struct slice bytes = fake_element_bytes(fake_sent(fake_write_conn(), 0), col, 0);

    return want == NULL ? bytes.ptr == NULL : bytes.ptr != NULL && slice_equal(bytes, slice_str(want));
}

static int64_t put_back_value(int col) {
    return fake_element(fake_sent(fake_write_conn(), 0), col, 0);
}

/* The statement that puts the job back is under way. */
static void assert_put_back(const char *key) {
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    assert_int_equal(put_back_value(BACK_ID), 77);
    assert_true(is_text(BACK_BODY, "body") && is_text(BACK_KEY, key) && is_text(BACK_UNTIL, NULL));
}

static void land(void) {
    PGresult *rows[DB_MAX_STATEMENTS] = { fake_rows(4) };

    fake_set_int(rows[0], 0, 0, 4, 1);
    fake_set_int(rows[0], 0, 1, 2, 0);
    fake_set_int(rows[0], 0, 2, 8, 77);
    fake_commit(fake_write_conn(), rows);
}

static void answer_is_committed(int64_t txn) {
    PGresult *rows[DB_MAX_STATEMENTS] = { fake_rows(1) };

    fake_set_int(rows[0], 0, 0, 8, txn);
    fake_commit(fake_write_conn(), rows);
}

static void test_put_back_as_it_was(void **state) {
    (void)state;
    undelivered_return_unsent(client_with(true));
    assert_put_back("key");
    assert_int_equal(put_back_value(BACK_ATTEMPTS), 5);
    assert_int_equal(put_back_value(BACK_BACKOFF), 6);
    assert_int_equal(put_back_value(BACK_DELAY), 8);
    assert_int_equal(put_back_value(BACK_REPLICATE), 3);
    assert_false(is_text(BACK_OWN_END, NULL));
    assert_true(put_back_value(BACK_START) && put_back_value(BACK_IN_FLOW));
    assert_true(is_text(BACK_DEADQUEUE, "dead") && is_text(BACK_ERROR, "oops"));
    land();
    assert_int_equal(queue_named("q1")->counters.len, 1);
    assert_int_equal(queue_named("q1")->counters.total, 1);
    assert_int_equal(queue_budget(queue_named("q1")), 1);
}

static void test_a_plain_one(void **state) {
    (void)state;
    undelivered_return_unsent(client_with(false));
    assert_put_back(NULL);
    for (int col = BACK_ATTEMPTS; col < BACK_KEY; col++)
        assert_true(is_text(col, NULL));
    assert_true(is_text(BACK_OWN_END, NULL));
    assert_int_equal(put_back_value(BACK_REPLICATE), 1);
    assert_false(put_back_value(BACK_START) || put_back_value(BACK_IN_FLOW));
    land();
}

/* Attempts of the queue are for jobs. An element that LPUSH handed over has none, with or without a row. */
static void test_without_a_row(void **state) {
    struct queue *q = queue_named("q1");
    struct job job = { .q = q, .key = { q->id, 0, 77 }, .retry = 300, .body = SLICE("body") };

    (void)state;
    settings_put(q, SETTING_ATTEMPTS, 3);
    settings_put(q, SETTING_BACKOFF, 10);
    settings_put_deadqueue(q, SLICE("dead"));
    note_unsent(&getters[1].client, &job);
    undelivered_return_unsent(&getters[1].client);
    assert_put_back(NULL);
    for (int col = BACK_ATTEMPTS; col < BACK_KEY; col++)
        assert_true(is_text(col, NULL));
    assert_true(is_text(BACK_OWN_END, NULL));
    assert_int_equal(put_back_value(BACK_REPLICATE), 1);
    assert_false(put_back_value(BACK_START) || put_back_value(BACK_IN_FLOW));
    land();
    settings_clear(q);
}

/* The reply waits for that of an earlier request, of which the client has got everything. */
static void test_behind_another_reply(void **state) {
    struct client *c = &getters[1].client;
    struct queue *q = queue_named("q1");
    struct job job = { .q = q, .key = { q->id, 0, 77 }, .retry = 300, .body = SLICE("body") };
    struct req r = { .client = c, .out = &r.own };

    (void)state;
    undelivered_note_unsent(&r, &job);
    c->bytes_out += 100;
    undelivered_written(c);
    assert_int_equal(c->unsent_count, 1);
    undelivered_return_unsent(c);
    assert_put_back(NULL);
    land();
}

/* Then its turn comes, and it is written. */
static void test_after_another_reply(void **state) {
    struct client *c = &getters[1].client;
    struct queue *q = queue_named("q1");
    struct job job = { .q = q, .key = { q->id, 0, 77 }, .retry = 300, .body = SLICE("body") };
    struct req r = { .client = c, .out = &r.own };

    (void)state;
    undelivered_note_unsent(&r, &job);
    c->bytes_out += 100;
    deliveries_placed(c, &r);
    assert_true(c->unsent[0].offset == c->bytes_out);
    undelivered_written(c);
    assert_int_equal(c->unsent_count, 0);
    assert_int_equal(c->share.kinds[MEMORY_UNSENT], 0);
    assert_true(batch_idle());
}

/* Two replies wait for others. The later one is placed first. */
static void test_placed_in_any_order(void **state) {
    struct client *c = &getters[1].client;
    struct queue *q = queue_named("q1");
    struct job job = { .q = q, .key = { q->id, 0, 77 }, .retry = 300, .body = SLICE("body") };
    struct req first = { .client = c, .out = &first.own }, second = { .client = c, .out = &second.own };

    (void)state;
    note_unsent(c, &job);
    undelivered_note_unsent(&first, &job);
    undelivered_note_unsent(&second, &job);
    undelivered_note_unsent(&first, &job);
    assert_true(first.has_jobs && second.has_jobs);
    deliveries_placed(c, &second);
    undelivered_written(c);
    assert_int_equal(c->unsent_count, 2);
    deliveries_placed(c, &first);
    undelivered_written(c);
    assert_int_equal(c->unsent_count, 0);
    assert_true(batch_idle());
}

/* The client has written the reply of this element to its gateway. */
static struct client *client_of_gateway(struct undelivered_list *unsent) {
    struct client *c = client_with(true);

    c->to_pass_on = unsent;
    c->bytes_out += 100;
    undelivered_written(c);
    assert_int_equal(c->unsent_count, 0);
    assert_int_equal(unsent->count, 1);
    assert_true(c->share.kinds[MEMORY_UNSENT] > 0);
    return c;
}

static void test_gateway_closes(void **state) {
    struct undelivered_list unsent = { 0 };
    struct client *c = client_of_gateway(&unsent);

    (void)state;
    undelivered_gateway_closed(c);
    assert_null(c->to_pass_on);
    assert_int_equal(c->share.kinds[MEMORY_UNSENT], 0);
    assert_put_back("key");
    land();
}

/* A part of the reply is written, but no gateway passes on a part. */
static void test_gateway_closes_within_a_reply(void **state) {
    struct undelivered_list unsent = { 0 };
    struct client *c = client_with(true);

    (void)state;
    c->to_pass_on = &unsent;
    c->bytes_out += 100;
    undelivered_gateway_closed(c);
    assert_int_equal(c->unsent_count, 0);
    assert_put_back("key");
    land();
}

/* The gateway may pass on the replies of a client that was freed. */
static void test_client_of_gateway_closes(void **state) {
    struct undelivered_list unsent = { 0 };
    struct client *c = client_of_gateway(&unsent);

    (void)state;
    undelivered_return_unsent(c);
    undelivered_forget(c);
    assert_int_equal(c->share.kinds[MEMORY_UNSENT], 0);
    c->to_pass_on = NULL;
    assert_true(batch_idle());
    undelivered_list_return(&unsent);
    assert_int_equal(unsent.count, 0);
    assert_put_back("key");
    land();
}

static void test_gateway_passes_on(void **state) {
    struct undelivered_list unsent = { 0 }, taken = { 0 };
    struct client *c = client_of_gateway(&unsent);

    (void)state;
    undelivered_list_take(&taken, &unsent, c);
    assert_int_equal(c->share.kinds[MEMORY_UNSENT], 0);
    undelivered_gateway_closed(c);
    undelivered_list_forget(&taken);
    assert_int_equal(memory_all.kinds[MEMORY_UNSENT], 0);
    assert_true(batch_idle());
}

static void test_another_job_has_its_key(void **state) {
    (void)state;
    undelivered_return_unsent(client_with(true));
    assert_put_back("key");
    fake_fail(fake_write_conn(), 0, "23505");
    assert_put_back(NULL);
    assert_int_equal(put_back_value(BACK_ATTEMPTS), 5);
    assert_false(put_back_value(BACK_START));
    land();
    assert_int_equal(queue_named("q1")->counters.len, 1);
}

static void test_refused_for_good(void **state) {
    (void)state;
    undelivered_return_unsent(client_with(true));
    assert_put_back("key");
    fake_fail(fake_write_conn(), 0, "23514");
    batch_flush();
    assert_true(batch_idle());
    assert_int_equal(queue_named("q1")->counters.len, 0);
}

/* A table that stays locked: after a number of tries the element is given up. */
static void test_locked_for_good(void **state) {
    int tries = 0;

    (void)state;
    config.lock_patience = 0;
    undelivered_return_unsent(client_with(false));
    while (!batch_idle()) {
        clock_turn();
        batch_flush();
        if (fake_count(fake_write_conn()) == 0)
            continue;
        assert_in_range(++tries, 1, 5);
        fake_fail(fake_write_conn(), 0, "55P03");
    }
    config.lock_patience = 60;
    assert_true(tries > 1);
    assert_int_equal(queue_named("q1")->counters.len, 0);
}

/* It is put back where it is not there yet: twice is once. */
static void test_a_lost_txn(void **state) {
    (void)state;
    undelivered_return_unsent(client_with(true));
    assert_put_back("key");
    fake_lose(fake_write_conn());
    fake_write_conn()->state = DB_READY;
    assert_put_back("key");
    fake_commit_empty(fake_write_conn());
    assert_int_equal(queue_named("q1")->counters.len, 0);
}

/* A peer may have delivered the job and deleted it since the commit. The server asks for the commit marker. */
static void test_a_lost_txn_beside_a_peer(void **state) {
    (void)state;
    node_update(&(struct node){ .number = 7, .id = "0123456789abcdef0123456789abcdef01234567" });
    undelivered_return_unsent(client_with(true));
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 2);
    assert_int_equal(fake_sent(fake_write_conn(), 1)->stmt, SQL_MARK_COMMIT);
    fake_lose(fake_write_conn());
    fake_write_conn()->state = DB_READY;
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_FIND_COMMITS);
    answer_is_committed(fake_element(fake_sent(fake_write_conn(), 0), 1, 0));
    batch_flush();
    assert_true(batch_idle());
    assert_int_equal(queue_named("q1")->counters.len, 0);
    node_forget(node_get(7));
}

/* Another job of the group may have been released in its place. The job waits, and the server checks its group. */
static void test_one_of_a_group(void **state) {
    PGresult *rows[DB_MAX_STATEMENTS] = { fake_rows(4) };

    (void)state;
    undelivered_return_unsent(client_with_group(true, "group"));
    assert_put_back("key");
    assert_true(is_text(BACK_GROUP, "group"));
    fake_set_int(rows[0], 0, 0, 4, 1);
    fake_set_int(rows[0], 0, 1, 2, 0);
    fake_set_int(rows[0], 0, 2, 8, 77);
    fake_set_bytes(rows[0], 0, 3, slice_str("group"));
    fake_commit(fake_write_conn(), rows);
    assert_int_equal(queue_named("q1")->counters.total, 1);
    assert_int_equal(queue_named("q1")->counters.len, 0);
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_NEXT_IN_GROUPS);
    for (; !batch_idle(); batch_flush())
        fake_commit_empty(fake_write_conn());
}

static void test_written_jobs_are_not_put_back(void **state) {
    struct client *c = client_with(true);

    (void)state;
    c->bytes_out += 10;
    undelivered_return_unsent(c);
    assert_true(batch_idle());
    c = client_with(true);
    undelivered_forget(c);
    undelivered_return_unsent(c);
    assert_true(batch_idle());
}

/* ---- moved ---- */

static void reply_body(struct taker *g, const struct job *jobs, size_t count) {
    assert_int_equal(count, 1);
    assert_true(slice_equal(jobs[0].body, slice_str("body")));
    reply_null_array(g->req);
}

static void reply_none(struct taker *g) {
    (void)g;
    fail();
}

static void ended(struct taker *g) {
    (void)g;
}

/* A row of move_first.sql, of a job of this group, or without a group. */
static PGresult *row_of_move(const char *group) {
    static const int sizes[] = { 4, 2, 8, 8, 8 };
    PGresult *rows = fake_rows(10);

    for (int col = 0; col < 4; col++)
        fake_set_int(rows, 0, col, sizes[col], col == 0);
    fake_set_bytes(rows, 0, 5, slice_str("body"));
    fake_set_int(rows, 0, 6, 8, 0);
    fake_set_int(rows, 0, 7, 4, 0);
    if (group != NULL)
        fake_set_bytes(rows, 0, 8, slice_str(group));
    fake_set_int(rows, 0, 9, 8, 0);
    return rows;
}

/* A job is moved from "q1" to "q2", which is committed. */
static void move_one(enum list_end from, const char *group) {
    static const struct taker_kind moving = { .deliver = reply_body,
                                              .reply_nothing = reply_none,
                                              .ended = ended };
    struct pop pop = { from, queue_named("q2"), END_LEFT };
    struct taker *g = new_get(2, "q1");
    PGresult *rows[DB_MAX_STATEMENTS] = { row_of_move(group) };

    queue_named("q1")->list.consume_end = pop.to->list.consume_end = END_LEFT;
    queue_job_ready(queue_named("q1"), (struct job_key){ 1, 0, 1 });
    g->kind = &moving;
    g->own = &pop;
    taker_begin(g);
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt,
                     from == END_LEFT ? SQL_MOVE_FIRST : SQL_MOVE_LAST);
    fake_commit(fake_write_conn(), rows);
    assert_int_equal(getters[2].ends, 1);
    getters[2].ends = 0;
    batch_flush();
}

static void test_a_move_lets_the_next_of_the_group_go(void **state) {
    (void)state;
    for (enum list_end from = END_LEFT; from <= END_RIGHT; from++) {
        move_one(from, "group");
        assert_int_equal(fake_count(fake_write_conn()), 1);
        assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_NEXT_IN_GROUPS);
        assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), 0, 0), 1);
        assert_true(is_text(1, "group"));
        for (; !batch_idle(); batch_flush())
            fake_commit_empty(fake_write_conn());
        move_one(from, NULL);
        assert_true(batch_idle());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_back_as_it_was, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_a_plain_one, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_without_a_row, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_behind_another_reply, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_after_another_reply, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_placed_in_any_order, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_gateway_closes, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_gateway_closes_within_a_reply, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_client_of_gateway_closes, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_gateway_passes_on, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_another_job_has_its_key, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_refused_for_good, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_locked_for_good, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_a_lost_txn, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_a_lost_txn_beside_a_peer, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_one_of_a_group, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_written_jobs_are_not_put_back, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_a_move_lets_the_next_of_the_group_go, getters_setup, stop),
    };

    return cmocka_run_group_tests_name("popped", tests, group_start, fake_batch_stop);
}
