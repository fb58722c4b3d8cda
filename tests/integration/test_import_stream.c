/* Import of tasks from streams that a group has not done: each once, also if the import is killed. */
#include "moving.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static redisContext *r, *q;

#define STREAM(status, says, ...) \
    IMPORT(status, says, "--kind", "stream", "--group", "workers", "--idle", "0", __VA_ARGS__)

static void stream_new(const char *stream) {
    expect(r, "+OK", "FLUSHALL");
    expect(r, "+OK", "XGROUP CREATE %s workers 0 MKSTREAM", stream);
}

static void add(const char *stream, int from, int to) {
    for (int i = from; i < to; i++)
        later(r, "XADD %s * body %s", stream, text_of("task %d", i));
    for (int i = from; i < to; i++)
        next_reply(r);
}

/* Pending and new tasks, the older first. Acknowledged tasks are done. */
static void test_order(void **state) {
    (void)state;
    stream_new("s");
    add("s", 0, 1);
    ask(r, "XREADGROUP GROUP workers done STREAMS s >");
    ask(r, "XTRIM s MAXLEN 0");
    add("s", 0, 120);
    ask(r, "XREADGROUP GROUP workers slow COUNT 40 STREAMS s >");
    IMPORT(0, "80\ts", "--kind", "stream", "--group", "workers", "--dry-run", "s");
    STREAM(0, "121\ts", "--dry-run", "s");
    expect(r, ":120", "XLEN s");
    STREAM(0, "120\tnew:s\n120 tasks moved", "--batch", "17", "--queue-prefix", "new:", "s");
    moving_in_order(q, "new:s", 120);
    expect(r, "[\"s\"]", "KEYS *");
    expect(r, ":0", "XLEN s");
    expect(r, "[:0 nil nil nil]", "XPENDING s workers");
}

/* The import leaves tasks that a consumer has had for a short time only. */
static void test_in_hands(void **state) {
    (void)state;
    stream_new("h");
    add("h", 0, 5);
    ask(r, "XREADGROUP GROUP workers slow COUNT 2 STREAMS h >");
    IMPORT(0, "3 tasks moved", "--kind", "stream", "--group", "workers", "h");
    expect(r, ":2", "XLEN h");
    STREAM(0, "2 tasks moved", "h");
    expect(r, ":0", "XLEN h");
}

static void test_counts(void **state) {
    (void)state;
    stream_new("c");
    for (int i = 0; i < 3; i++)
        ask(r, "XADD c 1-%d body %d", i + 1, i);
    ask(r, "XREADGROUP GROUP workers a COUNT 2 STREAMS c >");
    ask(r, "XCLAIM c workers a 0 1-1 RETRYCOUNT 3");
    STREAM(0, "3 tasks moved", "--attempts", "3", "c");
    for (int i = 0; i < 3; i++)
        assert_string_equal(job_field(q, get_job(q, "c", text_of("%d", i)), "attempts"), i == 0   ? "1"
                                                                                         : i == 1 ? "2"
                                                                                                  : "3");
}

static const char *body_of_first(const char *queue) {
    redisReply *jobs = redisCommand(q, "GETJOB NOHANG FROM %s", queue);
    const char *body;

    if (jobs == NULL || jobs->type != REDIS_REPLY_ARRAY)
        fail_msg("no job in %s", queue);
    body = forever(jobs->element[0]->element[2]->str);
    freeReplyObject(jobs);
    return body;
}

/* A field that exists twice and bytes that are no text cannot become JSON. */
static void test_bodies(void **state) {
    (void)state;
    stream_new("b");
    ask(r, "XADD b * to %s text %s n 1", "a\"\\b", "z\xc3\xa4\n");
    ask(r, "XADD b * a 1 a 2");
    ask(r, "XADD b * a %b b 2", "\xff", (size_t)1);
    ask(r, "XADD b * only %s", "\xff");
    STREAM(1,
           "2 tasks moved\n2 tasks were not understood\nThe refused tasks are in Redis, in "
           "pgdisque:import:stream:*",
           "b");
    assert_string_equal(body_of_first("b"), "{\"to\":\"a\\\"\\\\b\",\"text\":\"z\xc3\xa4\\n\",\"n\":\"1\"}");
    assert_string_equal(body_of_first("b"), "\xff");
    expect(r, ":2", "XLEN pgdisque:import:stream:b:refused");
    expect(r, ":0", "XLEN b");
    ask(r, "XADD b * to you text hello");
    ask(r, "XADD b * to me");
    STREAM(1, "1 tasks moved\n1 tasks were not", "--field", "text", "b");
    assert_string_equal(body_of_first("b"), "hello");
}

/* Another group gets every entry all the same. */
static void test_groups(void **state) {
    (void)state;
    stream_new("g");
    expect(r, "+OK", "XGROUP CREATE g others 0");
    add("g", 0, 9);
    STREAM(0, "9 tasks moved", "--batch", "2", "g");
    expect(r, ":9", "XLEN g");
    STREAM(3, "0 tasks moved", "g");
    moving_in_order(q, "g", 9);
}

static void test_refusals(void **state) {
    (void)state;
    stream_new("n");
    IMPORT(2, "--group is missing", "--kind", "stream", "n");
    IMPORT(2, "names are missing", "--kind", "stream", "--group", "workers");
    IMPORT(2, "NOGROUP", "--kind", "stream", "--group", "nobody", "n");
    IMPORT(2, "--idle must be a number from 0", "--idle", "-1", "n");
    expect(r, "+OK", "SET text a");
    STREAM(2, "WRONGTYPE", "text");
}

#define TASKS 3000

/* Consumers that claim tasks of others do not disturb the import. */
static void test_kills(void **state) {
    static const char *const words[] = { "--kind", "stream",  "--group", "workers", "--idle",
                                         "0",      "--batch", "61",      "k",       NULL };
    static int seen[TASKS];
    int kills = 0, caught = 0, status = -1;

    (void)state;
    stream_new("k");
    add("k", 0, TASKS);
    ask(r, "XREADGROUP GROUP workers dead COUNT %d STREAMS k >", TASKS / 3);
    while (status != 0) {
        status = moving_kill("import", words, (unsigned)random_below(8000 + 400 * (uint64_t)kills));
        kills += status != 0;
        caught += number(r, "EXISTS pgdisque:import:stream:k:id") > 0;
        moving_take_all(q, "k", seen, TASKS);
    }
    printf("# killed %d times, %d of them amid a batch\n", kills, caught);
    assert_true(caught > 0);
    moving_once(seen, TASKS);
    expect(r, "[\"k\"]", "KEYS *");
}

/* Two imports run at the same time, with producers and a consumer of the stream. */
static void test_two_follow(void **state) {
    static const char *const words[] = { "--kind",  "stream", "--group", "workers", "--follow",
                                         "--batch", "20",     "two",     NULL };
    static int seen[TASKS];
    int taken = 0;
    pid_t pids[2];

    (void)state;
    stream_new("two");
    for (int i = 0; i < 2; i++)
        pids[i] = moving_spawn("import", words);
    for (int i = 0; i < TASKS; i += 50) {
        redisReply *entries;

        add("two", i, i + 50);
        entries = redisCommand(r, "XREADGROUP GROUP workers old COUNT 5 STREAMS two >");
        for (size_t j = 0;
             entries->type == REDIS_REPLY_ARRAY && j < entries->element[0]->element[1]->elements; j++) {
            const redisReply *entry = entries->element[0]->element[1]->element[j];

            seen[atoi(entry->element[1]->element[1]->str + 5)]++;
            taken++;
            expect(r, ":1", "XACK two workers %s", entry->element[0]->str);
        }
        freeReplyObject(entries);
        taken += moving_take_all(q, "two", seen, TASKS);
    }
    EVENTUALLY((taken += moving_take_all(q, "two", seen, TASKS)) >= TASKS);
    moving_end_two(pids);
    moving_take_all(q, "two", seen, TASKS);
    moving_once(seen, TASKS);
}

static int start(void **state) {
    (void)state;
    random_start(20261121);
    return moving_open(&r, &q);
}

static int stop(void **state) {
    (void)state;
    return moving_close(r, q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),  cmocka_unit_test(test_in_hands),   cmocka_unit_test(test_counts),
        cmocka_unit_test(test_bodies), cmocka_unit_test(test_groups),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_kills),  cmocka_unit_test(test_two_follow),
    };

    return RUN_SUITE_WITH("import_stream", tests, start, stop);
}
