/* Jobs added ahead: no job is lost, doubled, out of order, or hidden from other commands. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* The jobs of a round. The server reads all of their commands in one turn. */
#define ROUND 50
#define ROUNDS 8
/* There is no room for so many jobs ahead. */
#define MANY (20 * ROUND)
/* A test adds rounds until the server adds one of them ahead. */
#define JOBS_MOST 500000
/* Seconds. A killed server leaves its jobs ahead to the ends of their leases. */
#define SHORT_RETRY 1
#define LONG_RETRY 300

static struct {
    struct wire producer;
    struct wire consumer;
    int added;
    int taken;
    bool disordered;           /* a delivery was not that of the next job */
    int deliveries[JOBS_MOST]; /* by the numbers that are the bodies */
    char *ids[JOBS_MOST];
} flow;

static void clients_open(void) {
    raw_open(&flow.producer);
    raw_open(&flow.consumer);
}

static int start(void **state) {
    (void)state;
    flow.added = flow.taken = 0;
    flow.disordered = false;
    clients_open();
    return 0;
}

static int stop(void **state) {
    redisContext *c;

    (void)state;
    server_thaw(&server);
    c = client_open();
    expect(c, "+OK", "CONFIG SET claim-ahead yes");
    redisFree(c);
    wire_close(&flow.producer);
    wire_close(&flow.consumer);
    for (int i = 0; i < flow.added; i++) {
        free(flow.ids[i]);
        flow.deliveries[i] = 0;
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
    flow.disordered |= number != flow.taken;
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
    server_freeze(&server);
    send_adds(queue, ROUND, retry);
    ask_for_jobs(queue);
    server_thaw(&server);
    read_ids(ROUND);
    (void)read_jobs();
}

/* True if all jobs that were added are taken. */
static bool takes_all(const char *queue) {
    if (flow.taken < flow.added) {
        ask_for_jobs(queue);
        (void)read_jobs();
    }
    return flow.taken == flow.added;
}

static long long added_ahead(redisContext *c) {
    return info_number(c, "jobs_added_ahead");
}

/* The consumer takes jobs. False if the server does not add all of the round ahead, for example because the queue rests. */
static bool flows(redisContext *c, const char *queue, int retry) {
    long long before = added_ahead(c);

    add_and_take(queue, retry);
    return added_ahead(c) >= before + ROUND;
}

/* Afterwards the last round was added ahead. The jobs may have been put back since. */
static void flow_until_ahead(redisContext *c, const char *queue, int retry) {
    EVENTUALLY(flows(c, queue, retry));
}

static void flow_and_take_all(redisContext *c, const char *queue, int retry) {
    flow_until_ahead(c, queue, retry);
    EVENTUALLY(takes_all(queue));
}

/* The queue has the jobs of one round, and all of them are ahead. The commands of `last` follow in the same turn. */
static bool adds_round_ahead(redisContext *c, const char *queue, int retry, const char *last) {
    long long before;

    flow_and_take_all(c, queue, retry);
    before = added_ahead(c);
    server_freeze(&server);
    send_adds(queue, ROUND, retry);
    assert_true(wire_send_text(&flow.producer, last));
    server_thaw(&server);
    read_ids(ROUND);
    return added_ahead(c) >= before + ROUND;
}

static void add_round_ahead(redisContext *c, const char *queue, int retry) {
    EVENTUALLY(adds_round_ahead(c, queue, retry, ""));
}

static struct value *ask_producer(const char *commands) {
    struct value *reply;

    assert_true(wire_send_text(&flow.producer, commands));
    reply = wire_reply(&flow.producer, EVENTUALLY_MS);
    assert_non_null(reply);
    return reply;
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

/* False if no job was added ahead, or if jobs were put back. While they are put back, later jobs may pass them. */
static bool rounds_are_in_order(redisContext *c) {
    long long before = added_ahead(c), released;

    flow_and_take_all(c, "order", LONG_RETRY);
    released = info_number(c, "jobs_released");
    flow.disordered = false;
    for (int i = 0; i < ROUNDS; i++)
        add_and_take("order", LONG_RETRY);
    EVENTUALLY(takes_all("order"));
    return added_ahead(c) > before + ROUND && info_number(c, "jobs_released") == released;
}

/* Some jobs are claimed, and others are added ahead. */
static void test_order(void **state) {
    redisContext *c = client_open();

    (void)state;
    EVENTUALLY(rounds_are_in_order(c));
    assert_false(flow.disordered);
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

/* DEL acts on all jobs that its client has added, also if it comes in the same turn. */
static void test_deleted_in_the_same_turn(void **state) {
    redisContext *c = client_open();

    (void)state;
    (void)adds_round_ahead(c, "now", LONG_RETRY, "DEL now\r\n");
    raw_expect(&flow.producer, ":1");
    assert_int_equal(jobs_where("now", "true"), 0);
    redisFree(c);
}

/* The row of a job ahead has a lease, but other commands find the job. */
static void test_deleted(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_round_ahead(c, "deleted", LONG_RETRY);
    expect(c, ":1", "DEL deleted");
    assert_int_equal(jobs_where("deleted", "true"), 0);
    redisFree(c);
}

static void test_popped(void **state) {
    redisContext *c = client_open();
    struct value *reply;

    (void)state;
    add_round_ahead(c, "popped", LONG_RETRY);
    reply = ask_producer(text_of("LPOP popped %d\r\n", ROUND));
    assert_int_equal(reply->count, ROUND);
    for (int i = 0; i < ROUND; i++)
        assert_int_equal(atoi(reply->items[i]->text), flow.added - ROUND + i);
    value_free(reply);
    assert_int_equal(jobs_where("popped", "true"), 0);
    redisFree(c);
}

static void test_taken_by_exec(void **state) {
    redisContext *c = client_open();
    struct value *reply;

    (void)state;
    add_round_ahead(c, "exec", LONG_RETRY);
    value_free(ask_producer("MULTI\r\n"));
    value_free(ask_producer(text_of("GETJOB COUNT %d FROM exec\r\n", ROUND)));
    reply = ask_producer("EXEC\r\n");
    assert_int_equal(reply->items[0]->count, ROUND);
    value_free(reply);
    redisFree(c);
}

static void test_taken_by_pattern(void **state) {
    redisContext *c = client_open();
    struct value *reply;

    (void)state;
    add_round_ahead(c, "pattern-1", LONG_RETRY);
    reply = ask_producer("GETJOB NOHANG FROM pattern-*\r\n");
    assert_false(reply->null);
    assert_int_equal(atoi(reply->items[0]->items[2]->text), flow.added - ROUND);
    value_free(reply);
    redisFree(c);
}

/* The end of the lease makes a job ready that a worker did not acknowledge. */
static void test_delivered_again(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_round_ahead(c, "again", SHORT_RETRY);
    value_free(ask_producer(text_of("GETJOB NOHANG COUNT %d FROM again\r\n", ROUND)));
    EVENTUALLY(drain("again"));
    for (int i = 0; i < flow.added; i++)
        assert_true(flow.deliveries[i] >= 1);
    redisFree(c);
}

/* The producer adds more jobs than there is room for. The commands of `last` follow in the same turn. False if no add waits. */
static bool adds_wait(redisContext *c, const char *queue, const char *last) {
    long long held = info_number(c, "adds_held");

    server_freeze(&server);
    send_adds(queue, MANY, LONG_RETRY);
    assert_true(wire_send_text(&flow.producer, last));
    server_thaw(&server);
    read_ids(MANY);
    return info_number(c, "adds_held") > held;
}

static bool adds_wait_and_jobs_are_taken(redisContext *c, const char *queue) {
    bool waits;

    flow_and_take_all(c, queue, LONG_RETRY);
    waits = adds_wait(c, queue, "");
    EVENTUALLY(takes_all(queue));
    return waits;
}

static void test_more_than_there_is_room_for(void **state) {
    redisContext *c = client_open();

    (void)state;
    EVENTUALLY(adds_wait_and_jobs_are_taken(c, "room"));
    EVENTUALLY(drain("room"));
    expect_each_once();
    redisFree(c);
}

/* DEL comes while adds of its client wait. */
static bool deletes_after_adds_that_wait(redisContext *c) {
    bool waits;

    flow_and_take_all(c, "waiting", LONG_RETRY);
    waits = adds_wait(c, "waiting", "DEL waiting\r\n");
    raw_expect(&flow.producer, ":1");
    assert_int_equal(jobs_where("waiting", "true"), 0);
    flow.taken = flow.added;
    return waits;
}

static void test_deleted_after_adds_that_wait(void **state) {
    redisContext *c = client_open();

    (void)state;
    EVENTUALLY(deletes_after_adds_that_wait(c));
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

/* The last command names another queue. False if no add waits. */
static bool add_behind_comes_last(redisContext *c) {
    struct wire events;
    bool waits;

    raw_open(&events);
    flow_and_take_all(c, "first", LONG_RETRY);
    assert_true(wire_words(&events, "SUBSCRIBE", "__job__:first", "__job__:second", NULL));
    value_free(wire_reply(&events, EVENTUALLY_MS));
    value_free(wire_reply(&events, EVENTUALLY_MS));
    waits = adds_wait(c, "first", "ADDJOB second last 0 RETRY 0\r\n");
    value_free(wire_reply(&flow.producer, EVENTUALLY_MS));
    assert_int_equal(added_before_second(&events), MANY);
    wire_close(&events);
    EVENTUALLY(takes_all("first"));
    return waits;
}

/* The commands of a client act in their order, also if the first ones wait. */
static void test_adds_behind(void **state) {
    redisContext *c = client_open();

    (void)state;
    expect(c, "+OK", "QCONFIG first SET events 1");
    expect(c, "+OK", "QCONFIG second SET events 1");
    EVENTUALLY(add_behind_comes_last(c));
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
    long long ended;
    bool arrived;

    (void)state;
    flow_and_take_all(c, "lost", SHORT_RETRY);
    writers_stop();
    send_adds("lost", ROUND, SHORT_RETRY);
    arrived = WAIT_UNTIL(raw_has_request(&flow.producer, c), EVENTUALLY_MS);
    ended = sessions_end("write");
    writers_go_on();
    assert_true(arrived && ended > 0);
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
        TEST(test_deleted_in_the_same_turn),
        TEST(test_deleted),
        TEST(test_popped),
        TEST(test_taken_by_exec),
        TEST(test_taken_by_pattern),
        TEST(test_delivered_again),
        TEST(test_more_than_there_is_room_for),
        TEST(test_deleted_after_adds_that_wait),
        TEST(test_adds_behind),
        TEST(test_a_lost_session),
        TEST(test_stopped),
        TEST(test_killed),
    };

    return RUN_SUITE("add ahead", tests);
}
