/* Clients that wait in GETJOB: their order, the time of delivery, and disconnects. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libpq-fe.h>

#define CROWD 100

static void open_waiter(struct wire *w, const char *queue, long long blocked) {
    raw_open(w);
    wire_words(w, "GETJOB", "FROM", queue, NULL);
    EVENTUALLY(blocked_clients() == blocked);
}

static void test_first_come_first_served(void **state) {
    static struct wire clients[CROWD];
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < CROWD; i++)
        open_waiter(&clients[i], "fifo", i + 1);
    for (int i = 0; i < CROWD; i++) {
        const char *id = add_job(c, "fifo", text_of("%d", i), "");

        raw_expect(&clients[i], text_of("[[\"fifo\" \"%s\" \"%d\"]]", id, i));
    }
    for (int i = 0; i < CROWD; i++)
        wire_close(&clients[i]);
    redisFree(c);
}

/* A pipeline of jobs: each waiting client gets exactly one job, in order. */
static void test_a_burst_for_many_clients(void **state) {
    static struct wire clients[CROWD];
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < CROWD; i++)
        open_waiter(&clients[i], "burst", i + 1);
    for (int i = 0; i < CROWD + 10; i++)
        later(c, "ADDJOB burst %d 0", i);
    for (int i = 0; i < CROWD + 10; i++)
        assert_int_equal(next_reply(c)[0], '+');
    for (int i = 0; i < CROWD; i++) {
        struct value *v = wire_reply(&clients[i], 10000);

        assert_non_null(v);
        assert_int_equal(v->count, 1);
        assert_string_equal(v->items[0]->items[2]->text, text_of("%d", i));
        value_free(v);
        assert_int_equal(wire_pending(&clients[i]), 0);
        wire_close(&clients[i]);
    }
    assert_int_equal(number(c, "QLEN burst"), 10);
    redisFree(c);
}

static void test_one_job_wakes_one(void **state) {
    struct wire clients[10];
    redisContext *c = client_open();
    long long delivered;
    int answered = 0;

    (void)state;
    for (int i = 0; i < 10; i++)
        open_waiter(&clients[i], "wake", i + 1);
    delivered = info_number(c, "jobs_delivered");
    add_job(c, "wake", "a", "");
    EVENTUALLY(blocked_clients() == 9);
    assert_int_equal(info_number(c, "jobs_delivered"), delivered + 1);
    EVENTUALLY(wire_pending(&clients[0]) > 0);
    for (int i = 0; i < 10; i++) {
        answered += wire_pending(&clients[i]) > 0;
        wire_close(&clients[i]);
    }
    assert_int_equal(answered, 1);
    EVENTUALLY(blocked_clients() == 0);
    redisFree(c);
}

static void test_waiting_on_several_queues(void **state) {
    redisContext *c = client_open();
    struct wire w;

    (void)state;
    raw_open(&w);
    wire_words(&w, "GETJOB", "COUNT", "3", "FROM", "several1", "several2", "several3", NULL);
    EVENTUALLY(blocked_clients() == 1);
    assert_string_equal(queue_field(c, "several2", "blocked"), "1");
    later(c, "ADDJOB several2 b 0");
    later(c, "ADDJOB several1 a 0");
    assert_int_equal(next_reply(c)[0], '+');
    assert_int_equal(next_reply(c)[0], '+');
    EVENTUALLY(wire_pending(&w) > 0);
    EVENTUALLY(blocked_clients() == 0);
    assert_int_equal(number(c, "QLEN several1") + number(c, "QLEN several2"), 1);
    assert_string_equal(queue_field(c, "several3", "blocked"), "0");
    wire_close(&w);
    redisFree(c);
}

/* Jobs of one write go to several new queues. The clients that wait for all of these queues get them in order. */
static void test_order_over_new_queues(void **state) {
    redisContext *c = client_open();
    const char *queues[] = { "new1", "new2", "new1" };
    struct wire waits[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        raw_open(&waits[i]);
        wire_words(&waits[i], "GETJOB", "FROM", "new1", "new2", NULL);
        EVENTUALLY(blocked_clients() == i + 1);
    }
    for (int i = 0; i < 3; i++)
        later(c, "ADDJOB %s %d 0", queues[i], i);
    for (int i = 0; i < 3; i++) {
        const char *id = next_reply(c) + 1;

        raw_expect(&waits[i], text_of("[[\"%s\" \"%s\" \"%d\"]]", queues[i], id, i));
        wire_close(&waits[i]);
    }
    redisFree(c);
}

static void test_timeouts(void **state) {
    redisContext *c = client_open();
    int64_t start = now_ms();

    (void)state;
    expect(c, "nil", "GETJOB TIMEOUT 200 FROM timeouts");
    assert_in_range(now_ms() - start, 195, 200 + patience(EVENTUALLY_MS));
    start = now_ms();
    expect(c, "nil", "GETJOB TIMEOUT 1 FROM timeouts");
    assert_true(now_ms() - start < patience(EVENTUALLY_MS));
    add_job(c, "timeouts", "a", "");
    get_job(c, "timeouts", "a");
    redisFree(c);
}

static void test_a_timed_out_client_is_not_served(void **state) {
    redisContext *c = client_open();
    struct wire w;

    (void)state;
    raw_open(&w);
    wire_words(&w, "GETJOB", "TIMEOUT", "100", "FROM", "gone", NULL);
    raw_expect(&w, "*-1");
    add_job(c, "gone", "a", "");
    assert_int_equal(wire_pending(&w), 0);
    get_job(c, "gone", "a");
    wire_close(&w);
    redisFree(c);
}

static void test_many_timeouts_at_once(void **state) {
    struct wire clients[50];

    (void)state;
    for (int i = 0; i < 50; i++) {
        raw_open(&clients[i]);
        wire_words(&clients[i], "GETJOB", "TIMEOUT", i % 2 ? "300" : "150", "FROM", "timers", NULL);
    }
    for (int i = 0; i < 50; i++) {
        raw_expect(&clients[i], "*-1");
        wire_close(&clients[i]);
    }
    EVENTUALLY(blocked_clients() == 0);
}

static void test_client_that_goes_while_waiting(void **state) {
    redisContext *c = client_open();
    struct wire gone, reset, stays;

    (void)state;
    open_waiter(&gone, "goes", 1);
    open_waiter(&reset, "goes", 2);
    open_waiter(&stays, "goes", 3);
    wire_close(&gone);
    wire_reset(&reset);
    EVENTUALLY(blocked_clients() == 1);
    add_job(c, "goes", "a", "");
    EVENTUALLY(wire_pending(&stays) > 0);
    wire_close(&stays);
    redisFree(c);
}

/* The job arrives in the moment when the waiting client disconnects. The next client must get the job at once, and not
 * after its retry time. */
/* The job comes back at once, or after its retry time in the rare case that it had
 * already been written to the client that goes. */
static void test_client_that_goes_as_its_job_arrives(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct wire w;
        const char *id;

        open_waiter(&w, "moment", 1);
        later(c, "ADDJOB moment %d 0 RETRY 2", i);
        if (i % 2) {
            wire_reset(&w);
            id = next_reply(c) + 1;
        } else {
            int done = 0;

            while (!done)
                assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
            wire_reset(&w);
            id = next_reply(c) + 1;
        }
        EVENTUALLY(blocked_clients() == 0);
        expect(c, text_of("[[\"moment\" \"%s\" \"%d\"]]", id, i), "GETJOB TIMEOUT 60000 FROM moment");
        expect(c, ":1", "ACKJOB %s", id);
    }
    redisFree(c);
}

/* A lock keeps the insert from its end while the client that was to get the job goes. */
static void test_client_that_goes_while_its_job_is_inserted(void **state) {
    redisContext *c = client_open(), *adder = client_open();
    PGconn *other = PQconnectdb(server.database);
    long long released = info_number(c, "jobs_released"), handoffs = info_number(c, "handoffs");
    struct wire w;
    const char *id;

    (void)state;
    open_waiter(&w, "inserted", 1);
    PQclear(PQexec(other, "begin; lock table pgdisque.job in exclusive mode"));
    later(adder, "ADDJOB inserted x 0 RETRY 100");
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(adder, &done), REDIS_OK);
    EVENTUALLY(blocked_clients() == 0);
    wire_reset(&w);
    EVENTUALLY(info_number(c, "connected_clients") == 2);
    PQclear(PQexec(other, "commit"));
    id = next_reply(adder) + 1;
    expect(c, text_of("[[\"inserted\" \"%s\" \"x\"]]", id), "GETJOB TIMEOUT 60000 FROM inserted");
    /* The insert is tried again while the lock is there, and the last try may know that the client has gone. */
    handoffs = info_number(c, "handoffs") - handoffs;
    assert_in_range(handoffs, 0, 1);
    assert_int_equal(info_number(c, "jobs_released"), released + handoffs);
    expect(c, ":1", "ACKJOB %s", id);
    PQfinish(other);
    redisFree(adder);
    redisFree(c);
}

/* A job that a client adds after a PAUSE is not handed to a waiting client, although the PAUSE is not yet committed. */
static void test_nothing_is_handed_over_behind_a_pause(void **state) {
    redisContext *c = client_open();
    PGconn *other = PQconnectdb(server.database);
    struct wire waiter, pauser, adder;
    long long commands, asked = 0;

    (void)state;
    expect(c, ":1", "ACKJOB %s", add_job(c, "behind", "x", ""));
    open_waiter(&waiter, "behind", 1);
    raw_open(&pauser);
    raw_open(&adder);
    PQclear(PQexec(other, "begin; select from pgdisque.queue where name = 'behind' for update"));
    commands = info_number(c, "commands_processed");
    wire_words(&pauser, "PAUSE", "behind", "out", NULL);
    EVENTUALLY(info_number(c, "commands_processed") >= commands + 1 + ++asked);
    wire_words(&adder, "ADDJOB", "behind", "y", "0", NULL);
    EVENTUALLY(info_number(c, "commands_processed") >= commands + 2 + ++asked);
    PQclear(PQexec(other, "commit"));
    raw_expect(&pauser, "+out");
    EVENTUALLY(number(c, "QLEN behind") == 1);
    assert_int_equal(blocked_clients(), 1);
    assert_int_equal(wire_pending(&waiter), 0);
    expect(c, "+none", "PAUSE behind none");
    EVENTUALLY(number(c, "QLEN behind") == 0);
    wire_close(&waiter);
    wire_close(&pauser);
    wire_close(&adder);
    PQfinish(other);
    redisFree(c);
}

/* Twenty waiting clients get twenty jobs and disconnect in the same moment. */
static void stampede(redisContext *c, const char *queue) {
    struct wire clients[20];
    int done = 0;

    for (int i = 0; i < 20; i++) {
        raw_open(&clients[i]);
        wire_words(&clients[i], "GETJOB", "FROM", queue, NULL);
    }
    EVENTUALLY(blocked_clients() == 20);
    for (int i = 0; i < 20; i++)
        later(c, "ADDJOB %s x 0 RETRY 1", queue);
    while (!done)
        assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
    for (int i = 0; i < 20; i++)
        wire_reset(&clients[i]);
    for (int i = 0; i < 20; i++)
        assert_int_equal(next_reply(c)[0], '+');
}

/* All jobs are accounted for in the end, at the latest after their retry time. */
static void test_disconnects_as_jobs_arrive(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int round = 0; round < 10; round++) {
        const char *queue = forever(text_of("stampede%d", round));

        stampede(c, queue);
        for (int found = 0; found < 20; found++) {
            redisReply *r = redisCommand(c, "GETJOB TIMEOUT 60000 FROM %s", queue);

            if (r->type != REDIS_REPLY_ARRAY)
                fail_msg("round %d: only %d of 20 jobs came back", round, found);
            expect(c, ":1", "ACKJOB %s", r->element[0]->element[1]->str);
            freeReplyObject(r);
        }
    }
    redisFree(c);
}

static void test_commands_behind_a_waiting_getjob(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *id;

    (void)state;
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "behind", NULL);
    wire_words(&w, "PING", NULL);
    wire_words(&w, "GETJOB", "FROM", "behind", NULL);
    wire_words(&w, "ADDJOB", "behind2", "x", "0", NULL);
    wire_words(&w, "QLEN", "behind2", NULL);
    EVENTUALLY(blocked_clients() == 1);
    assert_int_equal(wire_pending(&w), 0);
    id = add_job(c, "behind", "1", "");
    raw_expect(&w, text_of("[[\"behind\" \"%s\" \"1\"]]", id));
    raw_expect(&w, "+PONG");
    EVENTUALLY(blocked_clients() == 1);
    assert_int_equal(number(c, "QLEN behind2"), 0);
    id = add_job(c, "behind", "2", "");
    raw_expect(&w, text_of("[[\"behind\" \"%s\" \"2\"]]", id));
    value_free(wire_reply(&w, 5000));
    raw_expect(&w, ":1");
    wire_close(&w);
    redisFree(c);
}

static void test_pause_out_and_back_wakes(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *id;

    (void)state;
    expect(c, "+out", "PAUSE paused out");
    id = add_job(c, "paused", "a", "");
    open_waiter(&w, "paused", 1);
    HOLDS_FOR(200, wire_pending(&w) == 0);
    expect(c, "+none", "PAUSE paused none");
    raw_expect(&w, text_of("[[\"paused\" \"%s\" \"a\"]]", id));
    wire_close(&w);
    redisFree(c);
}

static void test_pause_in_and_requeue_wakes(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *id = add_job(c, "pausein", "a", "RETRY 1");

    (void)state;
    expect(c, "+in", "PAUSE pausein in");
    get_job(c, "pausein", "a");
    open_waiter(&w, "pausein", 1);
    HOLDS_FOR(1500, wire_pending(&w) == 0);
    expect(c, "+none", "PAUSE pausein none");
    raw_expect(&w, text_of("[[\"pausein\" \"%s\" \"a\"]]", id));
    wire_close(&w);
    redisFree(c);
}

static void test_due_and_nacked_jobs_wake(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *id;

    (void)state;
    open_waiter(&w, "due", 1);
    id = add_job(c, "due", "a", "DELAY 1");
    raw_expect(&w, text_of("[[\"due\" \"%s\" \"a\"]]", id));
    wire_words(&w, "GETJOB", "FROM", "due", NULL);
    EVENTUALLY(blocked_clients() == 1);
    expect(c, ":1", "NACK %s", id);
    raw_expect(&w, text_of("[[\"due\" \"%s\" \"a\"]]", id));
    wire_close(&w);
    redisFree(c);
}

/* Consumers and producers run at the same time. Each job is delivered exactly once. */
static void test_every_job_once(void **state) {
    struct wire workers[20];
    redisContext *c = client_open();
    char seen[1000] = { 0 };
    int got = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        raw_open(&workers[i]);
        wire_words(&workers[i], "GETJOB", "FROM", "exact", NULL);
    }
    for (int i = 0; i < 1000; i++)
        later(c, "ADDJOB exact %d 0", i);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(next_reply(c)[0], '+');
    for (int64_t end = now_ms() + patience(60000); got < 1000 && now_ms() < end;)
        for (int i = 0; i < 20; i++) {
            struct value *v = wire_pending(&workers[i]) ? wire_reply(&workers[i], 5000) : NULL;

            if (!v)
                continue;
            seen[atoi(v->items[0]->items[2]->text)]++;
            got++;
            wire_words(&workers[i], "ACKJOB", v->items[0]->items[1]->text, NULL);
            value_free(v);
            raw_expect(&workers[i], ":1");
            wire_words(&workers[i], "GETJOB", "FROM", "exact", NULL);
        }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(seen[i], 1);
    for (int i = 0; i < 20; i++)
        wire_close(&workers[i]);
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_come_first_served),
        cmocka_unit_test(test_a_burst_for_many_clients),
        cmocka_unit_test(test_one_job_wakes_one),
        cmocka_unit_test(test_waiting_on_several_queues),
        cmocka_unit_test(test_order_over_new_queues),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_a_timed_out_client_is_not_served),
        cmocka_unit_test(test_many_timeouts_at_once),
        cmocka_unit_test(test_client_that_goes_while_waiting),
        cmocka_unit_test(test_client_that_goes_as_its_job_arrives),
        cmocka_unit_test(test_client_that_goes_while_its_job_is_inserted),
        cmocka_unit_test(test_nothing_is_handed_over_behind_a_pause),
        cmocka_unit_test(test_disconnects_as_jobs_arrive),
        cmocka_unit_test(test_commands_behind_a_waiting_getjob),
        cmocka_unit_test(test_pause_out_and_back_wakes),
        cmocka_unit_test(test_pause_in_and_requeue_wakes),
        cmocka_unit_test(test_due_and_nacked_jobs_wake),
        cmocka_unit_test(test_every_job_once),
    };

    return RUN_SUITE("blocking", tests);
}
