/* Claim ahead: many clients take single jobs of a backlog. No job is lost, doubled, or delivered after its deletion. */
#include "fixture.h"

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

/* The server has accepted all of them, so that it can read all their requests in one turn. */
static void consumers_open(void) {
    for (int i = 0; i < CONSUMERS; i++) {
        raw_open(&ahead.consumers[i]);
        assert_true(wire_words(&ahead.consumers[i], "PING", NULL));
    }
    for (int i = 0; i < CONSUMERS; i++)
        raw_expect(&ahead.consumers[i], "+PONG");
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

/* options: of ADDJOB. NULL: none. Otherwise each job has the key of its number, too. */
static void fill_with(redisContext *c, const char *queue, int retry, const char *options) {
    for (int i = 0; i < JOBS; i++)
        if (options == NULL)
            later(c, "ADDJOB %s %d 0 RETRY %d", queue, i, retry);
        else
            later(c, text_of("ADDJOB %s %d 0 RETRY %d UNIQUE %d %s", queue, i, retry, i, options), NULL);
    for (int i = 0; i < JOBS; i++) {
        const char *reply = next_reply(c);

        assert_int_equal(reply[0], '+');
        ahead.ids[i] = forever(reply + 1);
        ahead.deliveries[i] = 0;
    }
}

static void fill(redisContext *c, const char *queue, int retry) {
    fill_with(c, queue, retry, NULL);
}

static void note_delivery(int consumer, const struct value *job) {
    int number = atoi(job->items[2]->text);

    assert_in_range(number, 0, JOBS - 1);
    assert_string_equal(job->items[1]->text, ahead.ids[number]);
    ahead.deliveries[number]++;
    ahead.delivered[consumer] = strdup(job->items[1]->text);
}

/* The server reads the commands in one turn, so it claims for all of them together. */
static void ask_for_jobs(const char *queue) {
    server_freeze(&server);
    for (int i = 0; i < CONSUMERS; i++)
        assert_true(wire_words(&ahead.consumers[i], "GETJOB", "NOHANG", "FROM", queue, NULL));
    server_thaw(&server);
}

static int read_deliveries(void) {
    int count = 0;

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

/* Each consumer sends GETJOB for one job and then reads its reply. Returns the number of deliveries. */
static int take_round(const char *queue) {
    ask_for_jobs(queue);
    return read_deliveries();
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
    return jobs_where(queue, "true") == 0;
}

static long long leased_jobs(const char *queue) {
    return jobs_where(queue, "j.ready_at > now()");
}

/* Afterwards the server has jobs ahead, and no claim is under way. */
static void take_three_rounds_with(redisContext *c, const char *queue, const char *options) {
    fill_with(c, queue, LONG_RETRY, options);
    consumers_open();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take_round(queue), CONSUMERS);
        acknowledge_round();
    }
    (void)add_job(c, "other", "-", "");
}

static void take_three_rounds(redisContext *c, const char *queue) {
    take_three_rounds_with(c, queue, NULL);
}

/* Sends the command for each of the first jobs that were not delivered, without reading the replies. Returns their
 * number. */
static int later_for_waiting(redisContext *c, const char *command, int most) {
    int count = 0;

    for (int i = 0; i < JOBS && count < most; i++)
        if (ahead.deliveries[i] == 0)
            count++, later(c, "%s %s", command, ahead.ids[i]);
    return count;
}

static void expect_ones(redisContext *c, int count) {
    for (int i = 0; i < count; i++)
        expect_next(c, ":1");
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

/* A job ahead counts as queued. */
static void test_length(void **state) {
    redisContext *c = client_open();

    (void)state;
    fill(c, "length", LONG_RETRY);
    consumers_open();
    for (int i = 1; i <= 8; i++) {
        assert_int_equal(take_round("length"), CONSUMERS);
        expect(c, text_of(":%d", JOBS - i * CONSUMERS), "QLEN length");
        acknowledge_round();
    }
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
    EVENTUALLY(leased_jobs("most") == 0);
    EVENTUALLY(drain_round("most"));
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(ahead.deliveries[i], 1);
    assert_int_equal(info_number(c, "jobs_claimed_ahead"), before);
    redisFree(c);
}

/* The jobs that are ahead at the time of the deletion are not delivered afterwards. */
static void test_deleted_jobs(void **state) {
    redisContext *c = client_open();

    (void)state;
    take_three_rounds(c, "deleted");
    expect_ones(c, later_for_waiting(c, "DELJOB", JOBS));
    expect(c, ":0", "QLEN deleted");
    assert_int_equal(take_round("deleted"), 0);
    assert_int_equal(jobs_where("deleted", "true"), 0);
    redisFree(c);
}

/* No worker has a job ahead, so CANCEL ends it. */
static void test_cancelled_jobs(void **state) {
    redisContext *c = client_open();

    (void)state;
    take_three_rounds(c, "cancelled");
    expect_ones(c, later_for_waiting(c, "CANCEL", JOBS));
    assert_int_equal(take_round("cancelled"), 0);
    EVENTUALLY(jobs_where("cancelled", "true") == 0);
    expect(c, ":0", "QLEN cancelled");
    redisFree(c);
}

/* No client has the jobs ahead, so they are not delivered yet. */
static void add_for_waiting(redisContext *c, const char *queue, const char *option, const char *outcome) {
    int count = 0;

    take_three_rounds_with(c, queue, strcmp(option, "REPLACE") == 0 ? "" : option);
    for (int i = 0; i < JOBS && count < CONSUMERS; i++)
        if (ahead.deliveries[i] == 0)
            count++, later(c, text_of("ADDJOB %s new 0 UNIQUE %d %s WITHOUTCOME", queue, i, option), NULL);
    for (int i = 0; i < count; i++)
        assert_non_null(strstr(next_reply(c), outcome));
}

static void test_replaced_jobs(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_for_waiting(c, "replaced", "REPLACE", "replaced");
    assert_int_equal(jobs_where("replaced", "j.body = 'new'"), CONSUMERS);
    redisFree(c);
}

static void test_keys_until_start(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_for_waiting(c, "until-start", "UNTIL START", "existing");
    assert_int_equal(jobs_where("until-start", "j.body = 'new'"), 0);
    redisFree(c);
}

/* A client that acknowledges jobs and asks for another one in the same write does not get one of them. */
static void test_acknowledged_jobs(void **state) {
    redisContext *c = client_open();
    int count;

    (void)state;
    take_three_rounds(c, "acknowledged");
    count = later_for_waiting(c, "ACKJOB", 400);
    later(c, "GETJOB NOHANG FROM acknowledged");
    expect_ones(c, count);
    expect_next(c, text_of("[[\"acknowledged\" \"%s\" \"%d\"]]", ahead.ids[3 * CONSUMERS + count],
                           3 * CONSUMERS + count));
    redisFree(c);
}

/* DEL removes the jobs ahead, because they are queued. */
static void test_deleted_queue(void **state) {
    redisContext *c = client_open();

    (void)state;
    take_three_rounds(c, "emptied");
    expect(c, ":1", "DEL emptied");
    expect(c, ":0", "QLEN emptied");
    assert_int_equal(take_round("emptied"), 0);
    assert_int_equal(jobs_where("emptied", "true"), 0);
    redisFree(c);
}

/* The command of a client. prelude: the replies to what the client has to send before; NULL: nothing. */
struct during {
    const char *queue, *prelude, *command, *reply;
};

static void send_during_a_claim(struct wire *w, const struct during *d, redisContext *other) {
    bool arrived;

    writers_stop();
    ask_for_jobs(d->queue);
    expect(other, "+PONG", "PING");
    wire_send_text(w, text_of("%s\r\n", d->command));
    arrived = WAIT_UNTIL(raw_has_request(w, other), EVENTUALLY_MS);
    writers_go_on();
    assert_true(arrived);
    raw_expect(w, d->reply);
}

/* The command comes while the first claim for consumers and of jobs ahead is under way. If another transaction of the
 * server was under way, the command may pass the claim. Then all is tried again. Only the jobs of the consumers are left. */
static void during_a_claim(const struct during *d, redisContext *c) {
    struct wire w;
    int deliveries = 0;

    raw_open(&w);
    for (int tries = 0; deliveries == 0 && tries < 10; tries++) {
        ask(c, "DEL %s renamed", d->queue);
        fill(c, d->queue, LONG_RETRY);
        consumers_open();
        if (d->prelude) {
            assert_true(wire_send_text(&w, text_of("%s\r\n", d->prelude)));
            raw_expect(&w, "+OK");
            raw_expect(&w, "+QUEUED");
        }
        send_during_a_claim(&w, d, c);
        deliveries = read_deliveries();
        if (jobs_where(d->queue, "true") != deliveries)
            fail_msg("%s", d->command);
        acknowledge_round();
        consumers_close();
    }
    assert_int_equal(deliveries, CONSUMERS);
    wire_close(&w);
}

static void test_commands_during_a_claim(void **state) {
    static const struct during commands[] = {
        { "delete-now", NULL, "DEL delete-now", ":1" },
        { "expire-now", NULL, "PEXPIRE expire-now 0", ":1" },
        { "trim-now", NULL, "LTRIM trim-now 1 0", "+OK" },
        { "exec-now", "MULTI\r\nDEL exec-now", "EXEC", "[:1]" },
        { "rename-now", NULL, "RENAME rename-now renamed", "+OK" },
    };
    redisContext *c = client_open();

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        during_a_claim(&commands[i], c);
    expect(c, text_of(":%d", JOBS - CONSUMERS), "LLEN renamed");
    redisFree(c);
}

/* A job of a higher priority passes the jobs ahead. */
static void test_priority(void **state) {
    redisContext *c = client_open();
    const char *id;

    (void)state;
    take_three_rounds(c, "priority");
    id = add_job(c, "priority", "first", "PRIORITY 9");
    expect(c, text_of("[[\"priority\" \"%s\" \"first\"]]", id), "GETJOB NOHANG FROM priority");
    redisFree(c);
}

/* After the reply of PAUSE no job is delivered, not even a job ahead. */
static void test_paused(void **state) {
    redisContext *c = client_open();

    (void)state;
    take_three_rounds(c, "paused");
    expect(c, "+out", "PAUSE paused out");
    assert_int_equal(take_round("paused"), 0);
    EVENTUALLY(leased_jobs("paused") == 0);
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
    assert_int_equal(leased_jobs("stopped"), CONSUMERS);
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
        TEST(test_each_job_once),
        TEST(test_length),
        TEST(test_switched_off),
        TEST(test_at_most_once),
        TEST(test_deleted_jobs),
        TEST(test_cancelled_jobs),
        TEST(test_replaced_jobs),
        TEST(test_keys_until_start),
        TEST(test_acknowledged_jobs),
        TEST(test_deleted_queue),
        TEST(test_commands_during_a_claim),
        TEST(test_priority),
        TEST(test_paused),
        TEST(test_stopped),
        TEST(test_killed),
    };

    return RUN_SUITE("claim ahead", tests);
}
