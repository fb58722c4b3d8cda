/* Rights on queues, on the ways to a queue that no argument names: patterns, events, options, schedules, transactions, workflows. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisContext *admin, *tenant;

static redisContext *as_tenant(void) {
    redisContext *c = client_open();

    expect(c, "+OK", "AUTH tenant secret");
    return c;
}

static void rules(const char *text) {
    assert_string_equal(ask(admin, text_of("ACL SETUSER tenant %s", text)), "+OK");
}

/* The tenant has the queues own:*. */
static int begin(void **state) {
    (void)state;
    admin = client_open();
    assert_string_equal(ask(admin, "ACL SETUSER tenant reset on >secret ~own:* &* +@all -@admin"), "+OK");
    tenant = as_tenant();
    return 0;
}

static int end(void **state) {
    (void)state;
    redisFree(tenant);
    redisFree(admin);
    return 0;
}

/* ---- patterns ---- */

static void wait_with(struct wire *w, const char *pattern) {
    raw_open(w);
    wire_words(w, "AUTH", "tenant", "secret", NULL);
    raw_expect(w, "+OK");
    wire_words(w, "GETJOB", "FROM", pattern, NULL);
    EVENTUALLY(raw_waits(w, admin));
}

/* GETJOB takes the first name as a pattern, the script of Laravel as a name. */
static void test_scripts_take_no_patterns(void **state) {
    static const char *const pop =
        "EVALSHA 230148430cb441a76f6486ae084405a674e00385 3 %s %s:reserved %s:notify 5000000000";
    const char *names[] = { "strange*1", "strange?1", "strange[1]" };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *id = add_job(admin, names[i], "x", "");

        expect_start(tenant, "-NOPERM", pop, names[i], names[i], names[i]);
        assert_string_equal(job_field(admin, id, "state"), "queued");
        expect(admin, ":1", "DELJOB %s", id);
    }
    rules("~own*");
    add_job(admin, "own*1", "x", "");
    expect_start(tenant, "[\"x\" ", pop, "own*1", "own*1", "own*1");
}

static void expect_job(struct wire *w, const char *queue, const char *id) {
    raw_expect(w, text_of("[[\"%s\" \"%s\" \"x\"]]", queue, id));
}

static void test_patterns_take_from_own_queues(void **state) {
    const char *other = add_job(admin, "strange:1", "x", ""), *id = add_job(admin, "own:1", "x", "");

    (void)state;
    assert_string_equal(get_job(tenant, "*", "x"), id);
    assert_true(queue_is_empty(tenant, "*"));
    assert_true(queue_is_empty(tenant, "strange:?"));
    expect_start(tenant, "-NOPERM", "GETJOB NOHANG FROM own:1 strange:1");
    assert_string_equal(get_job(admin, "strange:*", "x"), other);
}

/* A name in which a backslash precedes * is compared after the backslash is removed. */
static void test_escaped_names(void **state) {
    const char *id;

    (void)state;
    add_job(admin, "strange:*", "x", "");
    assert_true(queue_is_empty(tenant, "strange:\\*"));
    id = add_job(admin, "own:*", "x", "");
    add_job(admin, "own:2", "x", "");
    assert_string_equal(get_job(tenant, "own:\\*", "x"), id);
    assert_true(queue_is_empty(tenant, "own:\\*"));
    get_job(admin, "strange:\\*", "x");
    get_job(admin, "own:2", "x");
}

/* Queues that are made while the client waits. */
static void test_waiting_with_a_pattern(void **state) {
    const char *other, *id;
    struct wire w;

    (void)state;
    wait_with(&w, "*");
    other = add_job(admin, "strange:new", "x", "");
    id = add_job(admin, "own:new", "x", "");
    expect_job(&w, "own:new", id);
    wire_close(&w);
    assert_string_equal(get_job(admin, "strange:new", "x"), other);
}

/* A right that comes brings jobs that are there. A right that goes keeps the jobs of its queues. */
static void test_waiting_while_rights_change(void **state) {
    const char *id = add_job(admin, "more:1", "x", ""), *other;
    struct wire w;

    (void)state;
    wait_with(&w, "*");
    rules("~more:*");
    expect_job(&w, "more:1", id);
    wire_words(&w, "GETJOB", "FROM", "*", NULL);
    EVENTUALLY(raw_waits(&w, admin));
    rules("resetkeys ~own:*");
    other = add_job(admin, "more:2", "x", "");
    id = add_job(admin, "own:3", "x", "");
    expect_job(&w, "own:3", id);
    wire_close(&w);
    assert_string_equal(get_job(admin, "more:2", "x"), other);
}

/* ---- events ---- */

static void test_events_of_own_queues(void **state) {
    const char *id;
    struct wire w;

    (void)state;
    expect(admin, "+OK", "QCONFIG own:e SET events 1");
    expect(admin, "+OK", "QCONFIG strange:e SET events 1");
    raw_open(&w);
    wire_words(&w, "AUTH", "tenant", "secret", NULL);
    raw_expect(&w, "+OK");
    wire_words(&w, "PSUBSCRIBE", "*", NULL);
    raw_expect(&w, "[\"psubscribe\" \"*\" :1]");
    wire_words(&w, "SUBSCRIBE", "__job__:strange:e", NULL);
    raw_expect(&w, "[\"subscribe\" \"__job__:strange:e\" :2]");
    add_job(admin, "strange:e", "x", "");
    expect(admin, ":1", "PUBLISH news x");
    raw_expect(&w, "[\"pmessage\" \"*\" \"news\" \"x\"]");
    id = add_job(admin, "own:e", "x", "");
    raw_expect(&w, text_of("[\"pmessage\" \"*\" \"__job__:own:e\" \"added %s\"]", id));
    expect(tenant, "[]", "PUBSUB CHANNELS");
    expect(tenant, "[\"__job__:strange:e\" :0]", "PUBSUB NUMSUB __job__:strange:e");
    wire_close(&w);
    get_job(admin, "own:e", "x");
    get_job(admin, "strange:e", "x");
}

/* ---- schedules ---- */

static void test_schedules_of_other_queues(void **state) {
    (void)state;
    expect(admin, "+OK", "SCHEDULE theirs @hourly strange:s x");
    expect_start(tenant, "-NOPERM", "SCHEDULE theirs @hourly own:s x");
    expect(tenant, ":0", "UNSCHEDULE theirs");
    expect(tenant, "[]", "SCHEDULES");
    expect(tenant, "+OK", "SCHEDULE mine @hourly own:s x");
    expect(tenant, "+OK", "SCHEDULE mine @daily own:t x");
    expect_start(tenant, "[[\"name\" \"mine\" \"cron\" \"@daily\" \"queue\" \"own:t\"", "SCHEDULES");
    expect(tenant, ":1", "UNSCHEDULE mine");
    assert_non_null(strstr(ask(admin, "SCHEDULES"), "strange:s"));
    expect(admin, ":1", "UNSCHEDULE theirs");
}

/* ---- jobs of workers ---- */

static void test_release_keeps_jobs_of_other_queues(void **state) {
    const char *own = add_job(admin, "own:w", "x", "RETRY 9999"),
               *other = add_job(admin, "strange:w", "x", "RETRY 9999");

    (void)state;
    expect(admin, "+OK", "CLIENT SETNAME holder");
    get_job(admin, "own:w", "x");
    get_job(admin, "strange:w", "x");
    expect(tenant, ":1", "RELEASE WORKER holder");
    assert_string_equal(job_field(admin, own, "state"), "queued");
    assert_string_equal(job_field(admin, other, "state"), "active");
    expect(admin, ":2", "DELJOB %s %s", own, other);
}

/* ---- transactions, IDs of unique jobs ---- */

static void test_transactions(void **state) {
    (void)state;
    expect(tenant, "+OK", "MULTI");
    expect_start(tenant, "-NOPERM", "ADDJOB strange:q x 0");
    expect_start(tenant, "-EXECABORT", "EXEC");
    add_job(admin, "strange:*", "x", "");
    expect(tenant, "+OK", "MULTI");
    expect(tenant, "+QUEUED", "GETJOB NOHANG FROM strange:\\*");
    expect_start(tenant, "-EXECABORT", "EXEC");
    get_job(admin, "strange:\\*", "x");
}

/* One of several IDs belongs to another queue. */
static void test_lists_of_ids(void **state) {
    const char *own = add_job(admin, "own:i", "x", ""), *other = add_job(admin, "strange:i", "x", "");

    (void)state;
    expect(tenant, ":1", "ACKJOB %s %s", other, own);
    expect(tenant, "[nil]", "REPRIORITIZE 3 %s", other);
    expect(admin, ":1", "ACKJOB %s", other);
}

/* Many scans of one user do not end the scan of another, whose cursor is unknown to the first. */
static void test_scans_of_two_users(void **state) {
    char cursor[20];

    (void)state;
    for (int i = 0; i < 3; i++)
        add_job(admin, "own:scan", "x", "");
    assert_int_equal(sscanf(ask(admin, "JSCAN 0 COUNT 1 QUEUE own:scan"), "[\"%19[0-9]", cursor), 1);
    expect(tenant, "-ERR invalid cursor: it is unknown or too old, begin again with 0",
           "JSCAN %s COUNT 1 QUEUE own:scan", cursor);
    for (int i = 0; i < 5000; i++)
        later(tenant, "JSCAN 0 COUNT 1 QUEUE own:scan");
    for (int i = 0; i < 5000; i++)
        assert_memory_equal(next_reply(tenant), "[\"", 2);
    expect_start(admin, "[\"", "JSCAN %s COUNT 1 QUEUE own:scan", cursor);
    for (int i = 0; i < 3; i++)
        get_job(admin, "own:scan", "x");
}

/* The reply that the ID of a deleted job gets. */
static void expect_unknown(const char *call, const char *other, const char *deleted) {
    char unknown[300];

    snprintf(unknown, sizeof unknown, "%s", ask(tenant, text_of(call, deleted)));
    assert_memory_equal(unknown, "-", 1);
    assert_string_equal(ask(tenant, text_of(call, other)), unknown);
}

/* Workflows and batches name jobs in options. A job of another queue is as a job that does not exist. */
static void test_flows_with_jobs_of_other_queues(void **state) {
    const char *other = add_job(admin, "strange:f", "x", ""), *deleted = add_job(admin, "own:f", "x", "");
    char batch[60];

    (void)state;
    expect(admin, ":1", "DELJOB %s", deleted);
    assert_int_equal(sscanf(ask(admin, "BATCH NEW strange:f"), "\"%59[^\"]\"", batch), 1);
    expect_unknown("ADDJOB own:f x 0 AFTER %s", other, deleted);
    expect_unknown("ADDJOB own:f x 0 BATCH %s", batch, deleted);
    expect_unknown("BATCH NEW own:f BATCH %s", batch, deleted);
    expect(admin, ":1", "BATCH CLOSE %s", batch);
    expect(tenant, ":0", "QLEN own:f");
}

/* An inner batch of another queue stays open, with its jobs. */
static void test_cancel_of_a_batch_with_strange_batches(void **state) {
    char outer[60], inner[60];
    const char *other;

    (void)state;
    assert_int_equal(sscanf(ask(admin, "BATCH NEW own:b"), "\"%59[^\"]\"", outer), 1);
    assert_int_equal(sscanf(ask(admin, "BATCH NEW strange:b BATCH %s", outer), "\"%59[^\"]\"", inner), 1);
    other = add_job(admin, "strange:b", "x", text_of("BATCH %s", inner));
    add_job(admin, "own:b", "x", text_of("BATCH %s", outer));
    expect(tenant, ":1", "BATCH CANCEL %s", outer);
    assert_non_null(strstr(ask(admin, "BATCH SHOW %s", outer), "\"state\" \"closed\""));
    assert_non_null(strstr(ask(admin, "BATCH SHOW %s", inner), "\"state\" \"open\""));
    assert_string_equal(job_field(admin, other, "state"), "queued");
    expect(admin, ":1", "BATCH CANCEL %s", outer);
    assert_non_null(strstr(ask(admin, "BATCH SHOW %s", inner), "\"state\" \"c"));
}

/* A job of the tenant waits for a job of another queue, whose result is not shown. */
static void test_predecessors_in_other_queues(void **state) {
    const char *other = add_job(admin, "strange:p", "x", ""), *own = add_job(admin, "own:p", "x", "");
    const char *after = add_job(admin, "own:after", "x", text_of("AFTER %s %s", other, own));

    (void)state;
    expect(admin, ":2", "ACKJOB RESULT secret %s %s", other, own);
    expect(tenant, text_of("[[\"%s\" \"done\" \"secret\"]]", own), "PREDECESSORS %s", after);
    assert_non_null(strstr(ask(admin, text_of("PREDECESSORS %s", after)), other));
    get_job(tenant, "own:after", "x");
}

/* While the statement waits for a locked job, the user loses one queue and gets another. The reply is about the jobs
 * that the command named with the rights of its start. */
static void test_rights_change_during_reprioritize(void **state) {
    const char *own = add_job(admin, "own:r", "x", ""), *other = add_job(admin, "strange:r", "x", "");
    PGconn *holder = postgres_connect(server.database);
    char reply[200], moved[80];

    (void)state;
    PQclear(PQexec(holder, "begin"));
    PQclear(PQexec(holder, "select from pgdisque.job for update"));
    later(tenant, "REPRIORITIZE 5 %s %s %s %s", other, other, other, own);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(tenant, &done), REDIS_OK);
    EVENTUALLY(info_number(admin, "transactions_failed") > 0);
    expect(admin, "+OK", "ACL SETUSER tenant resetkeys ~strange:*");
    PQclear(PQexec(holder, "commit"));
    PQfinish(holder);
    snprintf(reply, sizeof reply, "%s", next_reply(tenant));
    assert_int_equal(sscanf(reply, "[nil nil nil \"%79[^\"]\"]", moved), 1);
    assert_string_equal(job_field(admin, moved, "priority"), "5");
    assert_string_equal(job_field(admin, other, "priority"), "0");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_patterns_take_from_own_queues),
        TEST(test_escaped_names),
        TEST(test_scripts_take_no_patterns),
        TEST(test_waiting_with_a_pattern),
        TEST(test_waiting_while_rights_change),
        TEST(test_events_of_own_queues),
        TEST(test_schedules_of_other_queues),
        TEST(test_release_keeps_jobs_of_other_queues),
        TEST(test_transactions),
        TEST(test_lists_of_ids),
        TEST(test_scans_of_two_users),
        TEST(test_flows_with_jobs_of_other_queues),
        TEST(test_cancel_of_a_batch_with_strange_batches),
        TEST(test_predecessors_in_other_queues),
        TEST(test_rights_change_during_reprioritize),
    };

    return RUN_SUITE("queue_rights", tests);
}
