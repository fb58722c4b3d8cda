/* Claim ahead: many clients take single jobs of a backlog. No job is lost, doubled, or delivered after its deletion. */
#include "fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define CONSUMERS 24
#define JOBS 1000
/* Seconds. A killed server leaves its jobs ahead to the ends of their leases. */
#define SHORT_RETRY 1
#define LONG_RETRY 300

static struct {
    struct wire consumers[CONSUMERS];
    char *delivered[CONSUMERS]; /* the ID of the job that the consumer has not acknowledged, or NULL */
    const char *ids[JOBS];      /* by the numbers that are the bodies */
    int deliveries[JOBS];
} ahead;

static void consumers_open(void) {
    for (int i = 0; i < CONSUMERS; i++)
        raw_open(&ahead.consumers[i]);
}

static void consumers_close(void) {
    for (int i = 0; i < CONSUMERS; i++) {
        wire_close(&ahead.consumers[i]);
        free(ahead.delivered[i]);
        ahead.delivered[i] = NULL;
    }
}

static int close_all(void **state) {
    (void)state;
    consumers_close();
    return 0;
}

static void fill(redisContext *c, const char *queue, int retry) {
    for (int i = 0; i < JOBS; i++)
        later(c, "ADDJOB %s %d 0 RETRY %d", queue, i, retry);
    for (int i = 0; i < JOBS; i++) {
        const char *reply = next_reply(c);

        assert_int_equal(reply[0], '+');
        ahead.ids[i] = forever(reply + 1);
        ahead.deliveries[i] = 0;
    }
}

static void note_delivery(int consumer, const struct value *job) {
    int number = atoi(job->items[2]->text);

    assert_in_range(number, 0, JOBS - 1);
    assert_string_equal(job->items[1]->text, ahead.ids[number]);
    ahead.deliveries[number]++;
    ahead.delivered[consumer] = strdup(job->items[1]->text);
}

/* Each consumer sends GETJOB for one job and then reads its reply. Returns the number of deliveries. */
static int take_round(const char *queue) {
    int count = 0;

    for (int i = 0; i < CONSUMERS; i++)
        assert_true(wire_words(&ahead.consumers[i], "GETJOB", "NOHANG", "FROM", queue, NULL));
    for (int i = 0; i < CONSUMERS; i++) {
        struct value *reply = wire_reply(&ahead.consumers[i], EVENTUALLY_MS);

        assert_non_null(reply);
        assert_int_equal(reply->type, '*');
        if (!reply->null)
            note_delivery(i, reply->items[0]);
        count += !reply->null;
        value_free(reply);
    }
    return count;
}

/* A lease may have ended before, so that another consumer has acknowledged the job. */
static void acknowledge_round(void) {
    for (int i = 0; i < CONSUMERS; i++)
        if (ahead.delivered[i] != NULL)
            assert_true(wire_words(&ahead.consumers[i], "ACKJOB", ahead.delivered[i], NULL));
    for (int i = 0; i < CONSUMERS; i++) {
        struct value *reply =
            ahead.delivered[i] == NULL ? NULL : wire_reply(&ahead.consumers[i], EVENTUALLY_MS);

        assert_true(ahead.delivered[i] == NULL || (reply != NULL && reply->type == ':'));
        value_free(reply);
        free(ahead.delivered[i]);
        ahead.delivered[i] = NULL;
    }
}

/* Takes and acknowledges jobs until the database has none. The jobs ahead come back later, and are taken, too. */
static bool drain_round(const char *queue) {
    (void)take_round(queue);
    acknowledge_round();
    return postgres_number(server.database, "select count(*) from pgdisque.job") == 0;
}

static long long leased_jobs(void) {
    return postgres_number(server.database, "select count(*) from pgdisque.job where ready_at > now()");
}

/* ---- tests ---- */

static void test_each_job_once(void **state) {
    redisContext *c = client_open();
    long long before = info_number(c, "jobs_claimed_ahead");

    (void)state;
    fill(c, "once", LONG_RETRY);
    consumers_open();
    EVENTUALLY(drain_round("once"));
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(ahead.deliveries[i], 1);
    assert_true(info_number(c, "jobs_claimed_ahead") > before);
    expect(c, ":0", "QLEN once");
    redisFree(c);
}

static void test_switched_off(void **state) {
    redisContext *c = client_open();
    long long before = info_number(c, "jobs_claimed_ahead");

    (void)state;
    expect(c, "+OK", "CONFIG SET claim-ahead no");
    fill(c, "off", LONG_RETRY);
    consumers_open();
    EVENTUALLY(drain_round("off"));
    assert_int_equal(info_number(c, "jobs_claimed_ahead"), before);
    expect(c, "+OK", "CONFIG SET claim-ahead yes");
    redisFree(c);
}

/* A crash would lose a job ahead with RETRY 0, so there is none. */
static void test_at_most_once(void **state) {
    redisContext *c = client_open();
    long long before = info_number(c, "jobs_claimed_ahead");

    (void)state;
    fill(c, "most", 0);
    consumers_open();
    assert_int_equal(take_round("most"), CONSUMERS);
    acknowledge_round();
    EVENTUALLY(leased_jobs() == 0);
    EVENTUALLY(drain_round("most"));
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(ahead.deliveries[i], 1);
    assert_int_equal(info_number(c, "jobs_claimed_ahead"), before);
    redisFree(c);
}

/* The jobs that are ahead at the time of the deletion are not delivered afterwards. */
static void test_deleted_jobs(void **state) {
    redisContext *c = client_open();
    int left = 0;

    (void)state;
    fill(c, "deleted", LONG_RETRY);
    consumers_open();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take_round("deleted"), CONSUMERS);
        acknowledge_round();
    }
    for (int i = 0; i < JOBS; i++)
        if (ahead.deliveries[i] == 0)
            left++, later(c, "DELJOB %s", ahead.ids[i]);
    assert_int_equal(left, JOBS - 3 * CONSUMERS);
    for (int i = 0; i < left; i++)
        expect_next(c, ":1");
    assert_int_equal(take_round("deleted"), 0);
    assert_int_equal(postgres_number(server.database, "select count(*) from pgdisque.job"), 0);
    redisFree(c);
}

/* After the reply of PAUSE no job is delivered, not even a job ahead. */
static void test_paused(void **state) {
    redisContext *c = client_open();

    (void)state;
    fill(c, "paused", LONG_RETRY);
    consumers_open();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take_round("paused"), CONSUMERS);
        acknowledge_round();
    }
    expect(c, "+out", "PAUSE paused out");
    assert_int_equal(take_round("paused"), 0);
    EVENTUALLY(leased_jobs() == 0);
    expect(c, "+none", "PAUSE paused none");
    EVENTUALLY(drain_round("paused"));
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(ahead.deliveries[i], 1);
    redisFree(c);
}

/* A server that stops in good order puts back its jobs ahead. */
static void test_stopped(void **state) {
    redisContext *c = client_open();

    (void)state;
    fill(c, "stopped", LONG_RETRY);
    consumers_open();
    assert_int_equal(take_round("stopped"), CONSUMERS);
    acknowledge_round();
    assert_int_equal(take_round("stopped"), CONSUMERS);
    redisFree(c);
    assert_int_equal(server_stop(&server), 0);
    assert_int_equal(leased_jobs(), CONSUMERS);
    server_resume(&server);
    for (int i = 0; i < CONSUMERS; i++) {
        wire_close(&ahead.consumers[i]);
        raw_open(&ahead.consumers[i]);
    }
    acknowledge_round();
    EVENTUALLY(drain_round("stopped"));
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(ahead.deliveries[i], 1);
}

/* The jobs ahead of a server that is killed are delivered after the ends of their leases. */
static void test_killed(void **state) {
    redisContext *c = client_open();

    (void)state;
    fill(c, "killed", SHORT_RETRY);
    consumers_open();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take_round("killed"), CONSUMERS);
        acknowledge_round();
    }
    redisFree(c);
    consumers_close();
    server_kill(&server);
    server_resume(&server);
    consumers_open();
    EVENTUALLY(drain_round("killed"));
    for (int i = 0; i < JOBS; i++)
        assert_true(ahead.deliveries[i] >= 1);
}

/* ---- main ---- */

#define TEST(fn) cmocka_unit_test_teardown(fn, close_all)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_job_once), TEST(test_switched_off), TEST(test_at_most_once), TEST(test_deleted_jobs),
        TEST(test_paused),        TEST(test_stopped),      TEST(test_killed),
    };

    return RUN_SUITE("claim ahead", tests);
}
