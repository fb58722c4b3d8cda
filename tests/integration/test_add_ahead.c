/* Jobs added ahead: no job is lost, doubled, out of order, or hidden from other commands. */
#include "fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Jobs that the producer adds in one write. */
#define ROUND 50
#define ROUNDS 8
/* More than there is room for. */
#define MANY (20 * ROUND)
#define JOBS_MOST 6000
/* Seconds. A killed server leaves its jobs ahead to the ends of their leases. */
#define SHORT_RETRY 1
#define LONG_RETRY 300

static struct {
    struct wire producer;
    struct wire consumer;
    int added;
    int taken;                 /* deliveries, of which each has the next number */
    int deliveries[JOBS_MOST]; /* by the numbers that are the bodies */
    char *ids[JOBS_MOST];
} flow;

static void server_freeze(void) {
    int status;

    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(server.pid, &status, WUNTRACED), server.pid);
    assert_true(WIFSTOPPED(status));
}

static void server_thaw(void) {
    assert_int_equal(kill(server.pid, SIGCONT), 0);
}

static void clients_open(void) {
    raw_open(&flow.producer);
    raw_open(&flow.consumer);
}

static int start(void **state) {
    (void)state;
    flow.added = flow.taken = 0;
    memset(flow.deliveries, 0, sizeof flow.deliveries);
    clients_open();
    return 0;
}

static int stop(void **state) {
    redisContext *c;

    (void)state;
    server_thaw();
    c = client_open();
    expect(c, "+OK", "CONFIG SET claim-ahead yes");
    redisFree(c);
    wire_close(&flow.producer);
    wire_close(&flow.consumer);
    for (int i = 0; i < JOBS_MOST; i++) {
        free(flow.ids[i]);
        flow.ids[i] = NULL;
    }
    return 0;
}

/* ---- clients ---- */

static void send_adds(const char *queue, int count, int retry) {
    assert_true(flow.added + count <= JOBS_MOST);
    for (int i = 0; i < count; i++)
        assert_true(wire_send_text(&flow.producer,
                                   text_of("ADDJOB %s %d 0 RETRY %d\r\n", queue, flow.added + i, retry)));
}

static void read_ids(int count) {
    for (int i = 0; i < count; i++) {
        struct value *reply = wire_reply(&flow.producer, EVENTUALLY_MS);

        assert_non_null(reply);
        assert_int_equal(reply->type, '+');
        flow.ids[flow.added++] = strdup(reply->text);
        value_free(reply);
    }
}

static void note_delivery(const struct value *job) {
    int number = atoi(job->items[2]->text);

    assert_in_range(number, 0, flow.added - 1);
    assert_string_equal(job->items[1]->text, flow.ids[number]);
    flow.deliveries[number]++;
    flow.taken++;
}

static void acknowledge(const struct value *reply) {
    for (size_t i = 0; i < reply->count; i++)
        assert_true(wire_words(&flow.consumer, "ACKJOB", reply->items[i]->items[1]->text, NULL));
    for (size_t i = 0; i < reply->count; i++) {
        struct value *ended = wire_reply(&flow.consumer, EVENTUALLY_MS);

        assert_non_null(ended);
        value_free(ended);
    }
}

static void ask_for_jobs(const char *queue) {
    assert_true(wire_send_text(&flow.consumer, text_of("GETJOB NOHANG COUNT %d FROM %s\r\n", ROUND, queue)));
}

/* Reads the jobs of a GETJOB, and acknowledges them. Returns their number. */
static int read_jobs(void) {
    struct value *reply = wire_reply(&flow.consumer, EVENTUALLY_MS);
    int count = 0;

    assert_non_null(reply);
    for (size_t i = 0; !reply->null && i < reply->count; i++, count++)
        note_delivery(reply->items[i]);
    if (count > 0)
        acknowledge(reply);
    value_free(reply);
    return count;
}

/* The consumer takes what is there while the producer adds a round. The server reads both in one turn. */
static void add_and_take(const char *queue, int retry) {
    server_freeze();
    send_adds(queue, ROUND, retry);
    ask_for_jobs(queue);
    server_thaw();
    read_ids(ROUND);
    (void)read_jobs();
}

/* Takes all jobs that were added. */
static void take_all(const char *queue) {
    for (int tries = 0; flow.taken < flow.added && tries < JOBS_MOST; tries++) {
        ask_for_jobs(queue);
        (void)read_jobs();
    }
    assert_int_equal(flow.taken, flow.added);
}

static long long added_ahead(redisContext *c) {
    return info_number(c, "jobs_added_ahead");
}

/* True if the whole round was added ahead. After a rest of the queue, that takes some time. */
static bool is_added_ahead(redisContext *c, const char *queue, int retry) {
    long long before = added_ahead(c);

    add_and_take(queue, retry);
    if (added_ahead(c) >= before + ROUND)
        return true;
    pause_briefly();
    return false;
}

/* Afterwards the last round was added ahead. The jobs may have been put back since. */
static void flow_until_ahead(redisContext *c, const char *queue, int retry) {
    EVENTUALLY(is_added_ahead(c, queue, retry));
}

static bool drain(const char *queue) {
    ask_for_jobs(queue);
    (void)read_jobs();
    return jobs_where(queue, "true") == 0;
}

static void expect_each_once(void) {
    for (int i = 0; i < flow.added; i++)
        assert_int_equal(flow.deliveries[i], 1);
}

/* ---- tests ---- */

static void test_each_job_once(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        add_and_take("once", LONG_RETRY);
    flow_until_ahead(c, "once", LONG_RETRY);
    EVENTUALLY(drain("once"));
    expect_each_once();
    expect(c, ":0", "QLEN once");
    redisFree(c);
}

/* The IDs are in the order of the deliveries, although some jobs are claimed, and others are added ahead. */
static void test_order(void **state) {
    redisContext *c = client_open();
    int next = 0;

    (void)state;
    flow_until_ahead(c, "order", LONG_RETRY);
    for (int i = 0; i < ROUNDS; i++) {
        struct value *reply;

        send_adds("order", ROUND, LONG_RETRY);
        read_ids(ROUND);
        next = flow.taken;
        ask_for_jobs("order");
        reply = wire_reply(&flow.consumer, EVENTUALLY_MS);
        assert_non_null(reply);
        for (size_t k = 0; !reply->null && k < reply->count; k++) {
            assert_int_equal(atoi(reply->items[k]->items[2]->text), next + (int)k);
            note_delivery(reply->items[k]);
        }
        acknowledge(reply);
        value_free(reply);
    }
    EVENTUALLY(drain("order"));
    expect_each_once();
    redisFree(c);
}

/* A job ahead counts as queued, and returns to the queue if no client takes it. */
static void test_put_back(void **state) {
    redisContext *c = client_open();
    long long len;

    (void)state;
    flow_until_ahead(c, "back", LONG_RETRY);
    len = flow.added - flow.taken;
    expect(c, text_of(":%lld", len), "QLEN back");
    EVENTUALLY(jobs_where("back", "j.ready_at > now()") == 0);
    expect(c, text_of(":%lld", len), "QLEN back");
    EVENTUALLY(drain("back"));
    expect_each_once();
    redisFree(c);
}

/* With option no, each job is claimed. */
static void test_switched_off(void **state) {
    redisContext *c = client_open();
    long long before = added_ahead(c);

    (void)state;
    expect(c, "+OK", "CONFIG SET claim-ahead no");
    for (int i = 0; i < ROUNDS; i++)
        add_and_take("off", LONG_RETRY);
    EVENTUALLY(drain("off"));
    expect_each_once();
    assert_int_equal(added_ahead(c), before);
    redisFree(c);
}

/* A crash would lose a job ahead with RETRY 0. */
static void test_at_most_once(void **state) {
    redisContext *c = client_open();
    long long before = added_ahead(c);

    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        add_and_take("most", 0);
    EVENTUALLY(drain("most"));
    expect_each_once();
    assert_int_equal(added_ahead(c), before);
    redisFree(c);
}

/* The row of a job ahead has a lease, but other commands find the job. Each command follows the adds of the same
 * client. */
static void expect_after_adds(const char *queue, const char *command, const char *reply) {
    redisContext *c = client_open();

    flow_until_ahead(c, queue, LONG_RETRY);
    take_all(queue);
    server_freeze();
    send_adds(queue, ROUND, LONG_RETRY);
    assert_true(wire_send_text(&flow.producer, text_of("%s\r\n", command)));
    server_thaw();
    read_ids(ROUND);
    raw_expect(&flow.producer, reply);
    redisFree(c);
}

static void test_deleted(void **state) {
    (void)state;
    expect_after_adds("deleted", "DEL deleted", ":1");
    assert_int_equal(jobs_where("deleted", "true"), 0);
}

static void test_popped(void **state) {
    (void)state;
    expect_after_adds("popped", "LPOP popped 0", "[]");
    assert_true(wire_send_text(&flow.producer, text_of("LPOP popped %d\r\n", ROUND)));
    for (int i = flow.added - ROUND, n = 0; n == 0; n++) {
        struct value *reply = wire_reply(&flow.producer, EVENTUALLY_MS);

        assert_non_null(reply);
        assert_int_equal(reply->count, ROUND);
        for (int k = 0; k < ROUND; k++)
            assert_int_equal(atoi(reply->items[k]->text), i + k);
        value_free(reply);
    }
    assert_int_equal(jobs_where("popped", "true"), 0);
}

/* A client transaction takes the jobs, too. */
static void test_taken_by_exec(void **state) {
    struct value *reply;

    (void)state;
    expect_after_adds("exec", "MULTI", "+OK");
    assert_true(wire_send_text(&flow.producer, text_of("GETJOB COUNT %d FROM exec\r\nEXEC\r\n", ROUND)));
    raw_expect(&flow.producer, "+QUEUED");
    reply = wire_reply(&flow.producer, EVENTUALLY_MS);
    assert_non_null(reply);
    assert_int_equal(reply->items[0]->count, ROUND);
    value_free(reply);
}

/* GETJOB by a pattern takes jobs ahead, too. */
static void test_taken_by_pattern(void **state) {
    struct value *reply;

    (void)state;
    expect_after_adds("pattern-1", "PING", "+PONG");
    assert_true(wire_send_text(&flow.producer, "GETJOB NOHANG FROM pattern-*\r\n"));
    reply = wire_reply(&flow.producer, EVENTUALLY_MS);
    assert_non_null(reply);
    assert_false(reply->null);
    assert_int_equal(atoi(reply->items[0]->items[2]->text), flow.added - ROUND);
    value_free(reply);
}

/* The lease of a worker begins with the delivery, and its end makes the job ready. */
static void test_delivered_again(void **state) {
    redisContext *c = client_open();
    struct value *reply;

    (void)state;
    flow_until_ahead(c, "again", SHORT_RETRY);
    take_all("again");
    send_adds("again", ROUND, SHORT_RETRY);
    read_ids(ROUND);
    ask_for_jobs("again");
    reply = wire_reply(&flow.consumer, EVENTUALLY_MS);
    assert_non_null(reply);
    assert_false(reply->null);
    value_free(reply);
    EVENTUALLY(drain("again"));
    for (int i = 0; i < flow.added; i++)
        assert_true(flow.deliveries[i] >= 1);
    redisFree(c);
}

static bool are_some_held(redisContext *c, const char *queue) {
    long long held = info_number(c, "adds_held");

    flow_until_ahead(c, queue, LONG_RETRY);
    take_all(queue);
    server_freeze();
    send_adds(queue, MANY, LONG_RETRY);
    server_thaw();
    read_ids(MANY);
    take_all(queue);
    return info_number(c, "adds_held") > held;
}

/* The producer is faster than the consumer: its requests wait, then they are added as usual. */
static void test_more_than_there_is_room_for(void **state) {
    redisContext *c = client_open();

    (void)state;
    EVENTUALLY(flow.added + 2 * MANY < JOBS_MOST && are_some_held(c, "room"));
    EVENTUALLY(drain("room"));
    expect_each_once();
    redisFree(c);
}

/* The number of jobs that were added to the queue `first` before one was added to the queue `second`, by their events. */
static int added_before_second(struct wire *events) {
    int count = 0;

    for (;;) {
        struct value *message = wire_reply(events, EVENTUALLY_MS);
        bool added, second;

        assert_non_null(message);
        assert_int_equal(message->count, 3);
        added = strncmp(message->items[2]->text, "added ", 6) == 0;
        second = strcmp(message->items[1]->text, "__job__:second") == 0;
        value_free(message);
        if (second)
            return count;
        count += added;
    }
}

/* The commands of a client act in their order, also if the first ones wait, and the last one names another queue. */
static void test_adds_behind(void **state) {
    redisContext *c = client_open();
    struct wire events;
    struct value *reply;

    (void)state;
    raw_open(&events);
    expect(c, "+OK", "QCONFIG first SET events 1");
    expect(c, "+OK", "QCONFIG second SET events 1");
    flow_until_ahead(c, "first", LONG_RETRY);
    take_all("first");
    assert_true(wire_words(&events, "SUBSCRIBE", "__job__:first", "__job__:second", NULL));
    value_free(wire_reply(&events, EVENTUALLY_MS));
    value_free(wire_reply(&events, EVENTUALLY_MS));
    server_freeze();
    send_adds("first", MANY, LONG_RETRY);
    assert_true(wire_send_text(&flow.producer, "ADDJOB second last 0 RETRY 0\r\n"));
    server_thaw();
    read_ids(MANY);
    reply = wire_reply(&flow.producer, EVENTUALLY_MS);
    assert_non_null(reply);
    value_free(reply);
    assert_int_equal(added_before_second(&events), MANY);
    wire_close(&events);
    redisFree(c);
}

/* A server that stops in good order puts back its jobs ahead. */
static void test_stopped(void **state) {
    redisContext *c = client_open();

    (void)state;
    flow_until_ahead(c, "stopped", LONG_RETRY);
    redisFree(c);
    assert_int_equal(server_stop(&server), 0);
    assert_int_equal(jobs_where("stopped", "j.ready_at > now()"), 0);
    server_resume(&server);
    wire_close(&flow.producer);
    wire_close(&flow.consumer);
    clients_open();
    EVENTUALLY(drain("stopped"));
    expect_each_once();
}

/* The jobs ahead of a server that is killed are delivered after the ends of their leases. */
static void test_killed(void **state) {
    redisContext *c = client_open();

    (void)state;
    flow_until_ahead(c, "killed", SHORT_RETRY);
    redisFree(c);
    server_kill(&server);
    server_resume(&server);
    wire_close(&flow.producer);
    wire_close(&flow.consumer);
    clients_open();
    EVENTUALLY(drain("killed"));
    for (int i = 0; i < flow.added; i++)
        assert_true(flow.deliveries[i] >= 1);
}

/* The session that adds is lost while many jobs are on their way. */
static void test_a_lost_session(void **state) {
    redisContext *c = client_open();

    (void)state;
    flow_until_ahead(c, "lost", SHORT_RETRY);
    writers_stop();
    send_adds("lost", ROUND, SHORT_RETRY);
    expect(c, "+PONG", "PING");
    assert_true(sessions_end("write") > 0);
    writers_go_on();
    read_ids(ROUND);
    EVENTUALLY(drain("lost"));
    for (int i = 0; i < flow.added; i++)
        assert_true(flow.deliveries[i] >= 1);
    redisFree(c);
}

/* ---- main ---- */

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_job_once),
        TEST(test_order),
        TEST(test_put_back),
        TEST(test_switched_off),
        TEST(test_at_most_once),
        TEST(test_deleted),
        TEST(test_popped),
        TEST(test_taken_by_exec),
        TEST(test_taken_by_pattern),
        TEST(test_delivered_again),
        TEST(test_more_than_there_is_room_for),
        TEST(test_adds_behind),
        TEST(test_a_lost_session),
        TEST(test_stopped),
        TEST(test_killed),
    };

    return RUN_SUITE("add ahead", tests);
}
