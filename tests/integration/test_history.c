/* HISTORY and METRICS: the figures of queues and of the server agree with the commands that were sent. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* Deadline for two steps of a queue's history. */
#define TWO_STEPS_MS 60000

/* The sum of a series of a reply to HISTORY, a map in RESP2. `last`: only its last element; -1 if there is none. */
static long long series(const redisReply *reply, const char *name, bool last) {
    const redisReply *values = NULL;
    long long sum = 0;

    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, name) == 0)
            values = reply->element[i + 1];
    assert_non_null(values);
    if (last)
        return values->elements == 0 ? -1 : values->element[values->elements - 1]->integer;
    for (size_t i = 0; i < values->elements; i++)
        sum += values->element[i]->integer;
    return sum;
}

static bool sums_are(redisContext *c, const char *command, long long added, long long delivered,
                     long long acked) {
    redisReply *reply = redisCommand(c, command);
    bool same;

    assert_non_null(reply);
    same = series(reply, "added", false) == added && series(reply, "delivered", false) == delivered &&
           series(reply, "acknowledged", false) == acked;
    freeReplyObject(reply);
    return same;
}

static bool depths_are(redisContext *c, const char *command, long long len, long long active) {
    redisReply *reply = redisCommand(c, command);
    bool same;

    assert_non_null(reply);
    same = series(reply, "len", true) == len && series(reply, "active", true) == active;
    freeReplyObject(reply);
    return same;
}

static void test_figures(void **state) {
    redisContext *c = client_open();
    const char *ids[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        ids[i] = add_job(c, "figures", "x", "");
    get_job(c, "figures", "x");
    get_job(c, "figures", "x");
    expect(c, ":1", "ACKJOB %s", ids[0]);
    EVENTUALLY(depths_are(c, "HISTORY", 1, 1));
    EVENTUALLY(sums_are(c, "HISTORY", 3, 2, 1));
    assert_true(WAIT_UNTIL(sums_are(c, "HISTORY figures", 3, 2, 1), TWO_STEPS_MS));
    assert_true(WAIT_UNTIL(depths_are(c, "HISTORY figures", 1, 1), TWO_STEPS_MS));
    assert_true(depths_are(c, "HISTORY figures HOURS", -1, -1) ||
                sums_are(c, "HISTORY figures HOURS", 3, 2, 1));
    redisFree(c);
}

static bool sum_is(redisContext *c, const char *command, const char *name, long long sum) {
    redisReply *reply = redisCommand(c, command);
    bool same;

    assert_non_null(reply);
    same = series(reply, name, false) == sum;
    freeReplyObject(reply);
    return same;
}

/* Two NACKs and one end of a lease, of which one is the last attempt of its job. */
static void test_failures(void **state) {
    redisContext *c = client_open();
    const char *nacked = add_job(c, "fails", "nacked", "ATTEMPTS 2");

    (void)state;
    get_job(c, "fails", "nacked");
    expect(c, ":1", "NACK %s", nacked);
    get_job(c, "fails", "nacked");
    expect(c, ":1", "NACK %s", nacked);
    add_job(c, "fails", "left", "RETRY 1");
    get_job(c, "fails", "left");
    assert_true(WAIT_UNTIL(sum_is(c, "HISTORY fails", "failed", 3), TWO_STEPS_MS));
    assert_true(WAIT_UNTIL(sum_is(c, "HISTORY fails", "died", 1), TWO_STEPS_MS));
    EVENTUALLY(sum_is(c, "HISTORY", "failed", 3));
    EVENTUALLY(sum_is(c, "HISTORY", "died", 1));
    redisFree(c);
}

/* The sample with this name and labels; -1 if METRICS has none. */
static double metric(redisContext *c, const char *name) {
    redisReply *reply = redisCommand(c, "METRICS");
    const char *line;
    double value = -1;

    assert_non_null(reply);
    line = strstr(reply->str, text_of("\npgdisque_%s ", name));
    if (line != NULL)
        value = strtod(line + strlen("\npgdisque_ ") + strlen(name), NULL);
    freeReplyObject(reply);
    return value;
}

/* The delay of a job is no wait: without it the job would have waited for more than five seconds. */
static void test_waits(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_job(c, "waits", "shown", "");
    get_job(c, "waits", "shown");
    expect(c, "+OK", "CONFIG RESETSTAT");
    add_job(c, "waits", "x", "DELAY 6");
    assert_true(metric(c, "queue_delayed_jobs{queue=\"waits\"}") == 1);
    assert_true(strstr(ask(c, "GETJOB TIMEOUT 60000 FROM waits"), "\"x\"") != NULL);
    assert_true(metric(c, "job_wait_seconds_count") == 1);
    assert_true(metric(c, "job_wait_seconds_bucket{le=\"5.0\"}") == 1);
    assert_true(metric(c, "queue_active_jobs{queue=\"waits\"}") == 2);
    assert_true(metric(c, "queue_oldest_age_seconds{queue=\"waits\"}") == 0);
    assert_true(metric(c, "transaction_seconds_count") > 0);
    redisFree(c);
}

/* Queues beyond metrics-queues: their number, and the age of the oldest job of all queues that deliver jobs. */
static void test_queues_without_labels(void **state) {
    redisContext *c = client_open();

    (void)state;
    expect(c, "+OK", "DEBUG FLUSHALL");
    add_job(c, "unlabelled", "x", "");
    assert_true(metric(c, "unlabelled_queues") == 0);
    add_job(c, text_of("%0256d", 1), "x", "");
    assert_true(metric(c, "unlabelled_queues") == 1);
    assert_null(strstr(ask(c, "METRICS"), text_of("%0256d", 1)));
    expect(c, ":1", "DEL %0256d", 1);
    expect(c, "+OK", "CONFIG SET metrics-queues 0");
    assert_true(metric(c, "unlabelled_queues") >= 1);
    EVENTUALLY(metric(c, "oldest_age_seconds") >= 1);
    expect(c, "+out", "PAUSE unlabelled out");
    EVENTUALLY(metric(c, "oldest_age_seconds") == 0);
    expect(c, "+none", "PAUSE unlabelled none");
    EVENTUALLY(metric(c, "oldest_age_seconds") >= 1);
    get_job(c, "unlabelled", "x");
    EVENTUALLY(metric(c, "oldest_age_seconds") == 0);
    expect(c, "+OK", "CONFIG SET metrics-queues 100");
    redisFree(c);
}

/* A second delivery does not count, and the age is that of the oldest queued job. */
static void test_the_age_of_the_oldest_job(void **state) {
    redisContext *c = client_open();
    const char *first;

    (void)state;
    add_job(c, "ages", "first", "");
    EVENTUALLY(metric(c, "queue_oldest_age_seconds{queue=\"ages\"}") >= 1);
    first = get_job(c, "ages", "first");
    expect(c, "+OK", "CONFIG RESETSTAT");
    expect(c, ":1", "NACK %s", first);
    get_job(c, "ages", "first");
    assert_true(metric(c, "job_wait_seconds_count") == 0);
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_queues_without_labels),
        cmocka_unit_test(test_the_age_of_the_oldest_job),
    };

    return RUN_SUITE("history", tests);
}
