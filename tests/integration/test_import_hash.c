/* Import of RQ's, Bull's and BullMQ's tasks, which are hashes: each once, also if the import is killed. */
#include "moving.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"

static redisContext *r, *q;

static const char *body_of_first(const char *queue) {
    redisReply *jobs = redisCommand(q, "GETJOB NOHANG FROM %s", queue);
    const char *body;

    if (jobs == NULL || jobs->type != REDIS_REPLY_ARRAY)
        fail_msg("no job in %s", queue);
    body = forever(jobs->element[0]->element[2]->str);
    freeReplyObject(jobs);
    return body;
}

/* RQ itself skips a task whose hash is gone. */
static void test_rq(void **state) {
    long long now = atoll(ask(r, "TIME") + 2);

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":1", "SADD rq:queues rq:queue:w");
    for (const char *id = "abcde"; *id != '\0'; id++)
        ask(r, "HSET %s data %b description %s retries_left 1", text_of("rq:job:%c", *id), "x\x9c\xff\0",
            (size_t)4, "f('\xc3\xa4')");
    expect(r, ":3", "RPUSH rq:queue:w a gone b");
    expect(r, ":2", "ZADD rq:wip:w %lld c:run %lld d:run", now - 5, now + 1000);
    expect(r, ":1", "RPUSH rq:queue:w:intermediate e");
    expect(r, ":1", "HSET rq:job:odd description none");
    expect(r, ":4", "RPUSH rq:queue:w odd");
    IMPORT(1, "4\tw\n4 tasks moved\n1 tasks were not understood", "--kind", "rq", "--batch", "2");
    for (const char *id = "ceab"; *id != '\0'; id++)
        assert_string_equal(body_of_first("w"),
                            text_of("{\"id\":\"%c\",\"data\":\"eJz/AA==\",\"description\":\"f('\xc3\xa4')\","
                                    "\"retries_left\":\"1\"}",
                                    *id));
    expect(r, ":0", "EXISTS rq:job:a rq:job:b rq:job:c rq:job:e rq:queue:w rq:queue:w:intermediate");
    expect(r, ":2", "EXISTS rq:job:d rq:job:odd");
    expect(r, "[\"d:run\"]", "ZRANGE rq:wip:w 0 -1");
    expect(r, "[\"odd\"]", "LRANGE pgdisque:import:rq:rq:queue:w:refused 0 -1");
}

static void bull_put(const char *queue, const char *id, const char *more) {
    later(r, "HSET bull:%s:%s name n data %s opts {} timestamp 1 %s 1", queue, id,
          text_of("{\"n\":\"task %s\"}", id), more);
}

/* A lock keeps an active task. A parent, a child and a repeating task belong to Bull itself. */
static void test_bull(void **state) {
    static const char *const ids[] = { "1", "2", "3", "repeat:x:9" };

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    for (size_t i = 0; i < 4; i++)
        bull_put("b", ids[i], i == 2 ? "parentKey" : "more");
    for (size_t i = 0; i < 4; i++)
        next_reply(r);
    expect(r, "+OK", "SET bull:b:1:lock worker");
    expect(r, ":2", "LPUSH bull:b:active 1 2");
    expect(r, ":2", "LPUSH bull:b:wait 3 repeat:x:9");
    expect(r, ":3", "HSET bull:b:4 name n data {\"cut opts {}");
    expect(r, ":3", "LPUSH bull:b:wait 4");
    expect(r, ":1", "ZADD bull:b:priority 1 2");
    expect(r, ":1", "SADD bull:b:stalled 2");
    IMPORT(1, "1\tb\n1 tasks moved\n3 tasks were not understood", "--kind", "bull", "b");
    assert_string_equal(
        body_of_first("b"),
        "{\"id\":\"2\",\"name\":\"n\",\"data\":{\"n\":\"task 2\"},\"opts\":{},\"timestamp\":1}");
    expect(r, "[\"1\"]", "LRANGE bull:b:active 0 -1");
    expect(r, "[\"3\" \"repeat:x:9\" \"4\"]", "LRANGE pgdisque:import:bull:bull:b:wait:refused 0 -1");
    expect(r, ":0", "EXISTS bull:b:2 bull:b:wait bull:b:priority bull:b:stalled");
    expect(r, ":1", "DEL bull:b:1:lock");
    IMPORT(0, "1 tasks moved", "--kind", "bull", "b");
    expect(r, ":0", "EXISTS bull:b:1 bull:b:active");
}

static void test_refusals(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":1", "LPUSH app:w:wait 1");
    expect(r, "+OK", "SET app:w:1 text");
    IMPORT(2, "names are missing", "--kind", "bullmq");
    IMPORT(1, "0 tasks moved\n1 tasks were not understood", "--kind", "bullmq", "--key-prefix", "app", "w");
    expect(r, "[\"1\"]", "LRANGE pgdisque:import:bullmq:app:w:wait:refused 0 -1");
    expect(r, ":2", "DEL app:w:1 pgdisque:import:bullmq:app:w:wait:refused");
    expect(r, ":1", "SADD pgdisque:import:bullmq:app:w:wait x");
    expect(r, ":1", "LPUSH app:w:wait 1");
    IMPORT(2, "pgdisque:import:bullmq:app:w:wait: this is not a list", "--kind", "bullmq", "--key-prefix",
           "app", "w");
    expect(r, ":1", "DEL pgdisque:import:bullmq:app:w:wait");
    expect(r, ":4", "HSET app:w:1 name n data {} opts {\"attempts\":3} atm 1");
    IMPORT(0, "1 tasks moved", "--kind", "bullmq", "--key-prefix", "app", "w");
    assert_string_equal(
        job_field(q,
                  get_job(q, "w",
                          "{\"id\":\"1\",\"name\":\"n\",\"data\":{},\"opts\":{\"attempts\":3},"
                          "\"timestamp\":null}"),
                  "attempts"),
        "2");
}

/* The import makes no body from broken JSON. */
static void test_broken_json(void **state) {
    static const char *const broken[][3] = {
        { "{a:1}", "{}", "1" },    { "{}", "nonsense", "1" }, { "{}", "[]", "1" },
        { "{}", "{\"a\":}", "1" }, { "{}", "{}", "now" },     { "{}", "{}", "{}" },
        { "\xff", "{}", "1" },     { "", "{}", "1" },         { "{}", "{\"a\":1,}", "1" },
    };

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    for (int i = 0; i < (int)(sizeof broken / sizeof broken[0]); i++) {
        ask(r, "HSET bull:j:%d name n data %s opts %s timestamp %s", i, broken[i][0], broken[i][1],
            broken[i][2]);
        ask(r, "LPUSH bull:j:wait %d", i);
    }
    IMPORT(1, "9 tasks were not understood", "--kind", "bullmq", "j");
    expect(r, ":9", "LLEN pgdisque:import:bullmq:bull:j:wait:refused");
}

#define TASKS 2000

/* Half of them in a list, half in a set. */
static void fill(const char *queue, int from, int to) {
    for (int i = from; i < to; i++) {
        const char *id = text_of("%d", i);

        bull_put(queue, id, "more");
        i % 2 == 0 ? later(r, "LPUSH bull:%s:wait %s", queue, id)
                   : later(r, "ZADD bull:%s:delayed %d %s", queue, i, id);
    }
    for (int i = 2 * from; i < 2 * to; i++)
        next_reply(r);
}

static void test_kills(void **state) {
    static const char *const words[] = { "--kind", "bullmq", "--batch", "61", "k", NULL };
    static int seen[TASKS];
    int kills = 0, caught = 0, status = -1;

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    fill("k", 0, TASKS);
    while (status != 0) {
        status = moving_kill("import", words, (unsigned)random_below(8000 + 400 * (uint64_t)kills));
        kills += status != 0;
        caught += number(r, "EXISTS pgdisque:import:bullmq:bull:k:wait:id "
                            "pgdisque:import:bullmq:bull:k:delayed:id") > 0;
        moving_take_all(q, "k", seen, TASKS);
    }
    printf("# killed %d times, %d of them amid a batch\n", kills, caught);
    assert_true(caught > 0);
    moving_once(seen, TASKS);
    expect(r, ":0", "DBSIZE");
}

/* Two at once, and a producer. */
static void test_two_follow(void **state) {
    static const char *const words[] = { "--kind", "bull", "--follow", "--batch", "20", "two", NULL };
    static int seen[TASKS];
    int taken = 0;
    pid_t pids[2];

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    for (int i = 0; i < 2; i++)
        pids[i] = moving_spawn("import", words);
    for (int i = 0; i < TASKS; i += 50) {
        fill("two", i, i + 50);
        taken += moving_take_all(q, "two", seen, TASKS);
    }
    EVENTUALLY((taken += moving_take_all(q, "two", seen, TASKS)) >= TASKS);
    moving_end_two(pids);
    moving_take_all(q, "two", seen, TASKS);
    moving_once(seen, TASKS);
    expect(r, ":0", "DBSIZE");
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
        cmocka_unit_test(test_rq),          cmocka_unit_test(test_bull),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_broken_json), cmocka_unit_test(test_kills), cmocka_unit_test(test_two_follow),
    };

    return RUN_SUITE_WITH("import_hash", tests, start, stop);
}
