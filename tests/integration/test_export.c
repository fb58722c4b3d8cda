/* Export of jobs to lists of Redis: in order, each once also if the export is killed at any point. */
#include "moving.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#include "tooling.h"

static redisContext *r, *q;

static void add_jobs(const char *queue, int from, int to) {
    for (int i = from; i < to; i++)
        later(q, "ADDJOB %s %s 0", queue, text_of("task %d", i));
    for (int i = from; i < to; i++)
        next_reply(q);
}

static void list_is(const char *list, const char *pop, int count) {
    for (int i = 0; i < count; i++)
        expect(r, text_of("\"task %d\"", i), "%s %s", pop, list);
    expect(r, ":0", "EXISTS %s", list);
}

/* In a pipe the report is one JSON object. */
static void test_json(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    add_jobs("report", 0, 3);
    add_job(q, "report", "later", "DELAY 1000");
    EXPORT(0,
           "{\"dry_run\":true,\"queues\":[{\"name\":\"report\",\"count\":3}],"
           "\"stays\":[{\"name\":\"report\",\"count\":1,\"state\":\"delayed\"}]}\n",
           "--json", "--dry-run", "--queue", "report");
    EXPORT(1,
           "{\"dry_run\":false,\"queues\":[{\"name\":\"report\",\"count\":3}],"
           "\"stays\":[{\"name\":\"report\",\"count\":1,\"state\":\"delayed\"}],\"moved\":3}\n",
           "--json", "--queue", "report");
    assert_false(file_contains(moving_log(), "jobs moved"));
    list_is("report", "RPOP", 3);
    EXPORT(3, "{\"dry_run\":false,\"queues\":[],\"stays\":[],\"moved\":0}\n", "--json", "--queue", "none");
}

/* Only a queue with jobs gets a separate queue. */
static void test_unknown(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    add_jobs("known", 0, 2);
    EXPORT(3, "nothing was found under this name: knwon\n", "--queue", "knwon");
    EXPORT(3, "nothing was found under this name: knw*\n", "--dry-run", "--queue", "knw*");
    expect(q, "nil", "QSTAT pgdisque:export:knwon");
    EXPORT(3, "2\tknown\n2 jobs moved", "--queue", "known", "--queue", "k?own", "--queue", "other");
    assert_true(file_contains(moving_log(), "nothing was found under this name: other"));
    assert_false(file_contains(moving_log(), "this name: k"));
    expect(q, "nil", "QSTAT pgdisque:export:other");
    add_job(q, "sleeping", "x", "DELAY 1000");
    EXPORT(1, "1 jobs of sleeping stay", "--queue", "sleeping");
    expect(q, "nil", "QSTAT pgdisque:export:sleeping");
}

/* PGDISQUE_SERVER is the default of --from. */
static void test_server_of_the_environment(void **state) {
    const char *redis = forever(text_of("redis://127.0.0.1:%d", r->tcp.port));

    (void)state;
    setenv("PGDISQUE_SERVER", "127.0.0.1:1", 1);
    TOOLING(2, "127.0.0.1:1: ", "export", redis, "--queue", "x");
    TOOLING(2, "127.0.0.1:1: ", "import", redis, "x");
    EXPORT(3, "0 jobs moved", "--queue", "x");
    unsetenv("PGDISQUE_SERVER");
}

/* The export adds behind the existing elements, at the end of the list from which consumers do not take. */
static void test_order(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":1", "LPUSH old:jobs %s", "task 0");
    add_jobs("jobs", 1, 130);
    moving_fill(q, "listed", "RPUSH", 0, 30);
    EXPORT(0, "129\tjobs", "--dry-run", "--queue", "jobs");
    EXPORT(0, "129\tjobs\n129 jobs moved", "--batch", "50", "--key-prefix", "old:", "--queue", "jobs");
    EXPORT(0, "30\tlisted", "--pop", "left", "--batch", "7", "--queue", "lis*", "--queue", "listed");
    list_is("old:jobs", "RPOP", 130);
    list_is("listed", "LPOP", 30);
    expect(r, ":0", "DBSIZE");
    expect(q, ":0", "LLEN jobs");
}

static void test_bytes_and_priorities(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    freeReplyObject(redisCommand(q, "ADDJOB bytes %b 0", "a\0\r\n\xff", (size_t)5));
    freeReplyObject(redisCommand(q, "ADDJOB bytes %b 0 PRIORITY 9", "", (size_t)0));
    EXPORT(0, "2 jobs moved", "--queue", "bytes");
    expect(r, "\"\"", "RPOP bytes");
    expect(r, "\"a\\x00\\x0d\\x0a\\xff\"", "RPOP bytes");
}

static void test_remaining_jobs(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    add_jobs("stay", 0, 4);
    get_job(q, "stay", "task 0");
    add_job(q, "stay", "task 4", "DELAY 1000");
    add_job(q, "stay", "task 5", "GROUP a");
    add_job(q, "stay", "task 6", "GROUP a");
    EXPORT(0, "1 jobs of stay would stay: they are in their delay", "--dry-run", "--queue", "stay");
    assert_false(file_contains(moving_log(), "a pause"));
    EXPORT(0, "1 jobs of stay would stay: they are leased by consumers", "--dry-run", "--delayed", "--queue",
           "stay");
    assert_false(file_contains(moving_log(), "delay"));
    EXPORT(1,
           "5\tstay\n5 jobs moved\n1 jobs of stay stay: they are in their delay, see --delayed\n"
           "1 jobs of stay stay: they are leased by consumers",
           "--queue", "stay");
    EXPORT(1, "1\tstay\n1 jobs moved\n1 jobs of stay stay: they are leased by consumers", "--delayed",
           "--queue", "stay");
    expect(r, "\"task 4\"", "LPOP stay");
    expect(q, "+out", "PAUSE shut out");
    add_jobs("shut", 0, 3);
    EXPORT(1, "0 jobs moved\n3 jobs of shut stay: they are held back by a pause", "--queue", "shut");
    expect(q, "+none", "PAUSE shut none");
    EXPORT(0, "3 jobs moved", "--queue", "shut");
}

static void test_refusals(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, "+OK", "SET text a");
    add_jobs("text", 0, 3);
    EXPORT(2, "--queue is missing", "--pop", "left");
    EXPORT(2, "queues are named by --queue: text", "text");
    EXPORT(2, "no such option", "--nonsense", "text");
    EXPORT(2, "--pop must be right|left: up", "--pop", "up", "--queue", "text");
    EXPORT(2, "text: this is a key of another type", "--queue", "text");
    EXPORT(2, "127.0.0.1:1:", "--from", "127.0.0.1:1", "--queue", "text");
    EXPORT(0, "usage: ", "--help");
    expect(q, ":3", "LLEN pgdisque:export:text");
    expect(r, ":1", "DEL text");
    EXPORT(0, "3 jobs moved", "--queue", "te?t");
    list_is("text", "RPOP", 3);
    EXPORT(3, "0 jobs moved", "--queue", "text");
}

static void test_user(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(q, "+OK", "ACL SETUSER mover on >secret +@all ~moved:* ~pgdisque:export:moved:*");
    add_jobs("moved:a", 0, 3);
    add_jobs("fixed", 0, 1);
    setenv("PGDISQUE_PASSWORD", "secret", 1);
    EXPORT(0, "3 jobs moved", "--user", "mover", "--queue", "moved:a");
    EXPORT(2, "NOPERM", "--user", "mover", "--queue", "fixed");
    unsetenv("PGDISQUE_PASSWORD");
    list_is("moved:a", "RPOP", 3);
    expect(q, ":1", "QLEN fixed");
    expect(q, ":1", "DEL fixed");
    expect(q, ":1", "ACL DELUSER mover");
}

/* Notes tell that a job was pushed and not yet deleted, even if the list is empty. Notes of deleted jobs have no
 * effect. */
static void test_noted(void **state) {
    redisReply *jobs;

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    moving_fill(q, "pgdisque:export:half", "LPUSH", 0, 5);
    add_jobs("half", 5, 9);
    jobs = redisCommand(q, "QPEEK pgdisque:export:half 3");
    for (size_t i = 0; i < 3; i++)
        expect(r, ":1", "SADD pgdisque:export:half %s", jobs->element[i]->element[1]->str);
    EXPORT(0, "6\thalf\n6 jobs moved", "--batch", "2", "--queue", "h*f");
    for (int i = 3; i < 9; i++)
        expect(r, text_of("\"task %d\"", i), "RPOP half");
    expect(r, ":0", "DBSIZE");
    expect(r, ":1", "SADD pgdisque:export:half %s", jobs->element[0]->element[1]->str);
    EXPORT(3, "0 jobs moved", "--queue", "half");
    expect(r, ":0", "DBSIZE");
    freeReplyObject(jobs);
}

#define TASKS 2000

static int pop_all(const char *list, int *seen) {
    int taken = 0;

    for (const char *task; strncmp(task = ask(r, "RPOP %s", list), "\"task ", 6) == 0; taken++)
        seen[atoi(task + 6)]++;
    return taken;
}

/* The export tells noted jobs from others even if the lists have been emptied between two runs. */
static void test_kills(void **state) {
    static const char *const words[] = { "--batch", "61", "--queue", "k", NULL };
    static int seen[TASKS];
    int kills = 0, aside = 0, noted = 0, status = -1;

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    add_jobs("k", 0, TASKS);
    while (status != 0) {
        status = moving_kill("export", words, (unsigned)random_below(8000 + 400 * (uint64_t)kills));
        kills += status != 0;
        aside += number(q, "LLEN pgdisque:export:k") > 0;
        noted += number(r, "EXISTS pgdisque:export:k") > 0;
        pop_all("k", seen);
    }
    printf("# killed %d times, %d of them amid a batch, %d of these between push and deletion\n", kills,
           aside, noted);
    assert_true(aside > 0);
    moving_once(seen, TASKS);
    expect(r, ":0", "DBSIZE");
    expect(q, ":0", "QLEN pgdisque:export:k");
}

/* Reads the job of the client that waits by a pattern, if it has one, and lets the client wait again. */
static int take_awaited(struct wire *w, int *seen) {
    struct value *v;

    if (wire_pending(w) == 0)
        return 0;
    v = wire_reply(w, 5000);
    assert_non_null(v);
    assert_string_equal(v->items[0]->items[0]->text, "two");
    seen[atoi(v->items[0]->items[2]->text + 5)]++;
    expect(q, ":1", "ACKJOB %s", v->items[0]->items[1]->text);
    value_free(v);
    wire_words(w, "GETJOB", "FROM", "*two*", NULL);
    return 1;
}

/* PAUSE takes the name of the separate queue only because the export has made that queue. */
static void test_name_like_a_pattern(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    add_jobs("star*", 0, 3);
    EXPORT(0, "3\tstar*\n", "--queue", "star\\*");
    expect(r, ":3", "LLEN star*");
    expect(q, ":0", "QLEN star*");
}

/* Two at once, and producers and consumers on both sides, by a pattern as well. */
static void test_two_follow(void **state) {
    static const char *const words[] = { "--follow", "--batch", "20", "--queue", "two*", NULL };
    static int seen[TASKS];
    int taken = 0;
    pid_t pids[2];
    struct wire w;

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    for (int i = 0; i < 2; i++)
        pids[i] = moving_spawn("export", words);
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "*two*", NULL);
    for (int i = 0; i < TASKS; i += 50) {
        add_jobs("two", i, i + 50);
        taken += take_awaited(&w, seen) + pop_all("two", seen);
    }
    EVENTUALLY((taken += take_awaited(&w, seen) + pop_all("two", seen)) >= TASKS);
    wire_close(&w);
    moving_end_two(pids);
    pop_all("two", seen);
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
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_server_of_the_environment),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_bytes_and_priorities),
        cmocka_unit_test(test_remaining_jobs),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_noted),
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_name_like_a_pattern),
        cmocka_unit_test(test_two_follow),
    };

    return RUN_SUITE_WITH("export", tests, start, stop);
}
