/* Pushes to lists: claims in their transaction, places of elements without a row, and CLIENT UNBLOCK. */
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
#include "commands/cmd_pop.h"
#include "commands/dispatch.h"
#include "config/config.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/list_read.h"
#include "jobs/list_take.h"
#include "jobs/take.h"
#include "noted_replies.h"
#include "queue/list_orientation.h"
#include "queue/queue_store.h"

/* A column of pop_first.sql. */
enum { POP_COUNT = 3 };

static struct op *const ops[] = { &op_add_jobs,    &op_pop_first,         &op_pop_last,
                                  &op_open_queues, &op_find_consume_ends, NULL };
static struct queue *q;

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, take_plan);
}

static int start(void **state) {
    (void)state;
    config_defaults();
    getters_start();
    node_self()->number = 3;
    q = queue_named("q1");
    q->list.consume_end = END_LEFT;
    return 0;
}

static int stop(void **state) {
    (void)state;
    waiters_end_all(NULL);
    assert_true(batch_idle());
    assert_int_equal(q->work->adds.accepted, 0);
    assert_int_equal(q->work->claims.rows, 0);
    getters_stop();
    buf_free(&noted_replies);
    return 0;
}

/* ---- the commands ---- */

/* Pushes so many elements. */
static void push(void (*handler)(struct req *r), int elements) {
    struct slice argv[16] = { SLICE("push"), SLICE("q1") };
    struct req *r;

    for (int i = 0; i < elements; i++)
        argv[2 + i] = SLICE("e");
    r = req_new(2 + elements, argv, NULL, noted_on_end);
    r->client = &getters[0].client;
    handler(r);
}

static void reply_nothing(struct taker *g) {
    reply_null_array(g->req);
}

static void ended(struct taker *g) {
    (void)g;
}

static const struct taker_kind kind = { .reply_nothing = reply_nothing, .ended = ended };
static const struct pop from_left = { .from = END_LEFT };

/* BLMPOP 0 1 q1 LEFT COUNT count. */
static void wait_for(int number, int64_t count) {
    struct taker *g = new_get(number, "q1");

    g->kind = &kind;
    g->own = (void *)&from_left;
    g->count = count;
    taker_wait(g);
}

static const struct fake_statement *sent(size_t i) {
    return fake_sent(fake_write_conn(), i);
}

/* ---- a claim in the transaction of a push ---- */

/* A claim that was full leaves behind that there may be more. */
static void test_claim_of_pushed_elements(void **state) {
    (void)state;
    q->scan.may_have_more = true;
    wait_for(1, 3);
    push(cmd_rpush, 6);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 2);
    assert_int_equal(sent(1)->stmt, SQL_POP_FIRST);
    assert_int_equal(fake_scalar(sent(1), POP_COUNT), 3);
    fake_commit_empty(fake_write_conn());
    assert_replied(":6");
}

static void test_claim_of_all_that_is_pushed(void **state) {
    (void)state;
    q->scan.may_have_more = true;
    wait_for(1, 100);
    push(cmd_rpush, 2);
    push(cmd_lpush, 2);
    batch_flush();
    assert_in_range(fake_scalar(sent(fake_count(fake_write_conn()) - 1), POP_COUNT), 4, 5);
    fake_commit_empty(fake_write_conn());
}

static void test_look_where_nothing_is_pushed(void **state) {
    (void)state;
    q->scan.may_have_more = true;
    wait_for(1, 100);
    batch_flush();
    assert_int_equal(fake_scalar(sent(0), POP_COUNT), 1);
    fake_commit_empty(fake_write_conn());
}

/* ---- elements without a row ---- */

static struct job handed[4];
static size_t handed_count;

static void note_handed(struct taker *g, const struct job *jobs, size_t count) {
    for (size_t i = 0; i < count; i++)
        handed[handed_count++] = jobs[i];
    reply_null_array(g->req);
}

/* Each client gets two elements from the left. Those of the second push lie behind those of the first, or before them. */
static void assert_places(bool behind) {
    assert_int_equal(handed_count, 4);
    assert_true(job_key_before(handed[0].key, handed[1].key));
    assert_true(job_key_before(handed[2].key, handed[3].key));
    assert_true(job_key_before(handed[behind ? 1 : 3].key, handed[behind ? 2 : 0].key));
    for (size_t i = 0; i < handed_count; i++)
        assert_true((handed[i].key.id > 0) == behind);
}

/* An element that is put back has the place that the push would have given it, also beside a later push. */
static void test_places_of_handed_elements(void **state) {
    static const struct taker_kind noting = { .deliver = note_handed,
                                              .reply_nothing = reply_nothing,
                                              .ended = ended };

    (void)state;
    for (int left = 0; left <= 1; left++) {
        handed_count = 0;
        for (int number = 1; number <= 2; number++) {
            wait_for(number, 2);
            getters[number].taker->kind = &noting;
        }
        push(left ? cmd_lpush : cmd_rpush, 2);
        push(left ? cmd_lpush : cmd_rpush, 2);
        assert_places(!left);
    }
}

/* The consume end decides the places, so the first push is stored. */
static void test_no_consume_end(void **state) {
    (void)state;
    q->list.consume_end = END_NONE;
    wait_for(1, 2);
    push(cmd_rpush, 2);
    batch_flush();
    assert_int_equal(sent(0)->stmt, SQL_FIND_CONSUME_ENDS);
    fake_commit_empty(fake_write_conn());
    batch_flush();
    assert_int_equal(sent(0)->stmt, SQL_ADD_JOBS_ALIKE);
    fake_commit_empty(fake_write_conn());
    batch_flush();
    fake_commit_empty(fake_write_conn());
}

/* ---- CLIENT UNBLOCK ---- */

static void begin_move(void) {
    struct slice argv[] = { SLICE("blmove"), SLICE("q1"),   SLICE("new"),
                            SLICE("LEFT"),   SLICE("LEFT"), SLICE("0") };
    struct req *r = req_new(6, argv, NULL, noted_on_end);

    r->client = &getters[1].client;
    cmd_blmove(r);
    assert_true(waiters_has(&getters[1].client));
}

static void open_queue(enum list_end front) {
    PGresult *res = fake_rows(5);

    fake_set_int(res, 0, 0, 4, 7);
    fake_set_bytes(res, 0, 1, SLICE("new"));
    fake_set_int(res, 0, 2, 2, 0);
    if (front != END_NONE)
        fake_set_int(res, 0, 4, 2, front);
    fake_commit(fake_write_conn(), &res);
}

static void test_unblock_before_the_row(void **state) {
    (void)state;
    begin_move();
    batch_flush();
    assert_int_equal(sent(0)->stmt, SQL_OPEN_QUEUES);
    assert_true(list_take_unblock(&getters[1].client, true));
    assert_replied("-UNBLOCKED");
    assert_false(list_take_unblock(&getters[1].client, true));
    open_queue(END_NONE);
    assert_null(getters[1].client.taker);
    assert_false(waiters_has(&getters[1].client));
}

static void test_unblock_before_the_front(void **state) {
    (void)state;
    begin_move();
    batch_flush();
    open_queue(END_NONE);
    batch_flush();
    assert_int_equal(sent(0)->stmt, SQL_FIND_CONSUME_ENDS);
    assert_true(list_take_unblock(&getters[1].client, false));
    assert_replied("*-1");
    fake_commit_empty(fake_write_conn());
    assert_null(getters[1].client.taker);
}

/* ---- a new list ---- */

/* The statement that inserts the row also sets the consume end. */
static void test_two_transactions(void **state) {
    struct slice argv[] = { SLICE("lpush"), SLICE("new"), SLICE("a") };

    (void)state;
    cmd_lpush(req_new(3, argv, NULL, noted_on_end));
    batch_flush();
    assert_int_equal(sent(0)->stmt, SQL_OPEN_QUEUES);
    assert_int_equal(fake_element(sent(0), 1, 0), END_RIGHT);
    open_queue(END_RIGHT);
    batch_flush();
    assert_int_equal(sent(0)->stmt, SQL_ADD_JOBS_ALIKE);
    fake_commit_empty(fake_write_conn());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_claim_of_pushed_elements, start, stop),
        cmocka_unit_test_setup_teardown(test_claim_of_all_that_is_pushed, start, stop),
        cmocka_unit_test_setup_teardown(test_look_where_nothing_is_pushed, start, stop),
        cmocka_unit_test_setup_teardown(test_places_of_handed_elements, start, stop),
        cmocka_unit_test_setup_teardown(test_no_consume_end, start, stop),
        cmocka_unit_test_setup_teardown(test_unblock_before_the_row, start, stop),
        cmocka_unit_test_setup_teardown(test_unblock_before_the_front, start, stop),
        cmocka_unit_test_setup_teardown(test_two_transactions, start, stop),
    };

    return cmocka_run_group_tests(tests, group_start, fake_batch_stop);
}
