/* The life of a job: delays, expiry, retries, and the commands that move it. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_life_of_a_job(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "life", "body", "");

    (void)state;
    assert_int_equal(strlen(id), ID_SIZE - 1);
    assert_string_equal(job_field(c, id, "state"), "queued");
    assert_string_equal(get_job(c, "life", "body"), id);
    assert_string_equal(job_field(c, id, "state"), "active");
    assert_true(queue_is_empty(c, "life"));
    expect(c, ":1", "ACKJOB %s", id);
    assert_string_equal(job_field(c, id, "state"), "gone");
    expect(c, ":0", "ACKJOB %s", id);
    redisFree(c);
}

static void test_delayed_job_not_before_and_soon_after(void **state) {
    redisContext *c = client_open();
    int64_t start = now_ms();
    const char *id = add_job(c, "delay", "body", "DELAY 2");
    int64_t end;

    (void)state;
    assert_int_equal(number(c, "QLEN delay"), 0);
    expect(c, text_of("[[\"delay\" \"%s\" \"body\"]]", id), "GETJOB TIMEOUT 60000 FROM delay");
    end = now_ms();
    assert_in_range(end - start, 1800, 2000 + patience(EVENTUALLY_MS));
    redisFree(c);
}

static void test_delayed_jobs_become_due_in_their_order(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_job(c, "due", "two", "DELAY 4");
    add_job(c, "due", "one", "DELAY 1");
    expect_start(c, "[[\"due\"", "GETJOB TIMEOUT 60000 FROM due");
    EVENTUALLY(number(c, "QLEN due") == 1);
    get_job(c, "due", "two");
    redisFree(c);
}

static void test_expiry_without_a_reader(void **state) {
    redisContext *c = client_open();
    const char *stays = add_job(c, "ttl", "c", "TTL 100");
    const char *delayed = add_job(c, "ttl", "b", "TTL 2 DELAY 1");
    const char *id = add_job(c, "ttl", "a", "TTL 1");

    (void)state;
    EVENTUALLY(number(c, "QLEN ttl") == 1 && strcmp(job_field(c, id, "state"), "gone") == 0 &&
               strcmp(job_field(c, delayed, "state"), "gone") == 0);
    get_job(c, "ttl", "c");
    expect(c, ":1", "ACKJOB %s", stays);
    redisFree(c);
}

static void test_expired_jobs_are_deleted_from_the_database(void **state) {
    redisContext *c = client_open();
    char *sql = "select count(*) from pgdisque.job";
    long long before = postgres_number(server.database, sql);

    (void)state;
    for (int i = 0; i < 20; i++)
        add_job(c, "rows", "x", i % 2 ? "TTL 3" : "TTL 3 RETRY 0");
    get_job(c, "rows", "x");
    EVENTUALLY(postgres_number(server.database, sql) <= before);
    assert_int_equal(number(c, "QLEN rows"), 0);
    redisFree(c);
}

static void test_delivered_job_expires_before_its_retry(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "late", "a", "TTL 4 RETRY 100");

    (void)state;
    get_job(c, "late", "a");
    EVENTUALLY(strcmp(job_field(c, id, "state"), "gone") == 0);
    expect(c, ":0", "NACK %s", id);
    redisFree(c);
}

static void test_retry_after_a_worker_died(void **state) {
    redisContext *c = client_open();
    redisContext *worker = client_open();
    const char *id = add_job(c, "retry", "a", "RETRY 1");
    int64_t delivered;

    (void)state;
    delivered = now_ms();
    get_job(worker, "retry", "a");
    redisFree(worker);
    expect(c, text_of("[[\"retry\" \"%s\" \"a\" \"nacks\" :0 \"additional-deliveries\" :1]]", id),
           "GETJOB WITHCOUNTERS TIMEOUT 60000 FROM retry");
    assert_in_range(now_ms() - delivered, 800, 1500 + patience(EVENTUALLY_MS));
    expect(c, text_of("[[\"retry\" \"%s\" \"a\" \"nacks\" :0 \"additional-deliveries\" :2]]", id),
           "GETJOB WITHCOUNTERS TIMEOUT 60000 FROM retry");
    expect(c, ":1", "ACKJOB %s", id);
    redisFree(c);
}

static void test_redelivery_keeps_the_order_of_creation(void **state) {
    redisContext *c = client_open();
    redisReply *r;

    (void)state;
    for (int i = 0; i < 10; i++)
        add_job(c, "order", text_of("%d", i), "RETRY 1");
    expect_start(c, "[[", "GETJOB COUNT 6 FROM order");
    EVENTUALLY(number(c, "QLEN order") == 10);
    r = redisCommand(c, "GETJOB NOHANG COUNT 10 FROM order");
    assert_int_equal(r->elements, 10);
    for (int i = 0; i < 10; i++)
        assert_string_equal(r->element[i]->element[2]->str, text_of("%d", i));
    freeReplyObject(r);
    redisFree(c);
}

/* A job that waited long in its queue still gives its worker the whole time. */
static void test_retry_counts_from_the_delivery(void **state) {
    redisContext *c = client_open();
    int64_t delivered;

    (void)state;
    add_job(c, "clock", "a", "RETRY 1");
    HOLDS_FOR(1500, number(c, "QLEN clock") == 1);
    delivered = now_ms();
    get_job(c, "clock", "a");
    EVENTUALLY(number(c, "QLEN clock") == 1);
    assert_true(now_ms() - delivered >= 800);
    redisFree(c);
}

static void test_nack_and_enqueue_counters(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "count", "a", "");

    (void)state;
    for (int i = 0; i < 3; i++) {
        get_job(c, "count", "a");
        expect(c, ":1", "NACK %s", id);
    }
    for (int i = 0; i < 2; i++) {
        get_job(c, "count", "a");
        expect(c, ":1", "ENQUEUE %s", id);
    }
    assert_string_equal(job_field(c, id, "nacks"), "3");
    assert_string_equal(job_field(c, id, "additional-deliveries"), "2");
    expect(c, ":0", "NACK %s", id);
    expect(c, ":0", "ENQUEUE %s", id);
    redisFree(c);
}

static void test_dequeue_and_back(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "dequeue", "a", "RETRY 3");

    (void)state;
    expect(c, ":1", "DEQUEUE %s", id);
    assert_true(queue_is_empty(c, "dequeue"));
    assert_string_equal(job_field(c, id, "state"), "active");
    EVENTUALLY(number(c, "QLEN dequeue") == 1);
    assert_string_equal(job_field(c, id, "additional-deliveries"), "1");
    redisFree(c);
}

static void test_working_postpones_again_and_again(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "working", "a", "RETRY 3");
    int64_t start;

    (void)state;
    get_job(c, "working", "a");
    start = now_ms();
    while (now_ms() - start < 6000) {
        expect(c, ":3", "WORKING %s", id);
        HOLDS_FOR(300, number(c, "QLEN working") == 0);
    }
    assert_string_equal(job_field(c, id, "additional-deliveries"), "0");
    EVENTUALLY(number(c, "QLEN working") == 1);
    redisFree(c);
}

static void test_late_nack_does_not_revive(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "dead", "a", "");

    (void)state;
    get_job(c, "dead", "a");
    expect(c, ":1", "ACKJOB %s", id);
    expect(c, ":0", "NACK %s", id);
    expect(c, ":0", "ENQUEUE %s", id);
    expect_start(c, "-NOJOB ", "WORKING %s", id);
    assert_true(queue_is_empty(c, "dead"));
    redisFree(c);
}

static void test_at_most_once(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "once", "a", "RETRY 0 TTL 3");

    (void)state;
    get_job(c, "once", "a");
    assert_string_equal(job_field(c, id, "state"), "active");
    assert_string_equal(job_field(c, id, "next-requeue-within"), "nil");
    expect(c, ":0", "NACK %s", id);
    expect(c, ":0", "ENQUEUE %s", id);
    HOLDS_FOR(1200, number(c, "QLEN once") == 0);
    EVENTUALLY(strcmp(job_field(c, id, "state"), "gone") == 0);
    redisFree(c);
}

static void test_at_most_once_is_acknowledged(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "once2", "a", "RETRY 0");

    (void)state;
    get_job(c, "once2", "a");
    expect(c, ":1", "ACKJOB %s", id);
    expect(c, ":0", "ACKJOB %s", id);
    assert_string_equal(job_field(c, id, "state"), "gone");
    redisFree(c);
}

/* Many jobs over many queues, taken out in order, with nothing left behind. */
static void test_many_jobs_over_many_queues(void **state) {
    redisContext *c = client_open();
    long long before = info_number(c, "registered_jobs");

    (void)state;
    for (int i = 0; i < 2000; i++)
        later(c, "ADDJOB many%d %d 0", i % 20, i);
    for (int i = 0; i < 2000; i++)
        assert_string_equal(text_of("%.3s", next_reply(c)), "+D-");
    assert_int_equal(info_number(c, "registered_jobs"), before + 2000);
    for (int i = 0; i < 2000; i++) {
        const char *id = get_job(c, text_of("many%d", i % 20), text_of("%d", i));

        later(c, "ACKJOB %s", id);
        expect_next(c, ":1");
    }
    assert_int_equal(info_number(c, "registered_jobs"), before);
    redisFree(c);
}

static void test_maxlen_holds_within_a_batch(void **state) {
    redisContext *c = client_open();
    int added = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        later(c, "ADDJOB maxlen %d 0 MAXLEN 10", i);
    for (int i = 0; i < 100; i++) {
        const char *got = next_reply(c);

        if (got[0] == '+')
            added++;
        else
            assert_string_equal(text_of("%.8s", got), "-MAXLEN ");
    }
    assert_int_equal(added, 10);
    assert_int_equal(number(c, "QLEN maxlen"), 10);
    redisFree(c);
}

#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

/* A line about dead letters may be left out in the second after another, so the job dies again until there is one. */
static bool a_death_is_logged(redisContext *c, const char *id) {
    expect_start(c, "[[", "GETJOB FROM traced");
    expect(c, ":1", "NACK %s", id);
    if (!WAIT_UNTIL(strcmp(queue_field(c, "traced", "dead"), "1") == 0, EVENTUALLY_MS))
        fail_msg("it does not die");
    expect(c, ":1", "ENQUEUE %s", id);
    return file_contains(server.log,
                         text_of("\"subject\":\"job\",\"job\":\"%s\",\"traceparent\":\"" TRACE "\"", id));
}

static void test_the_log_has_the_trace_of_a_dead_letter(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "traced", "x", "RETRY 600 ATTEMPTS 1 HEADER traceparent " TRACE);

    (void)state;
    expect(c, "+OK", "CONFIG SET log-format json");
    EVENTUALLY(a_death_is_logged(c, id));
    assert_true(file_contains(server.log, "; it was delivered 1 time"));
    assert_false(file_contains(server.log, "; it was delivered 1 times"));
    expect(c, "+OK", "CONFIG SET log-format text");
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life_of_a_job),
        cmocka_unit_test(test_delayed_job_not_before_and_soon_after),
        cmocka_unit_test(test_delayed_jobs_become_due_in_their_order),
        cmocka_unit_test(test_expiry_without_a_reader),
        cmocka_unit_test(test_expired_jobs_are_deleted_from_the_database),
        cmocka_unit_test(test_delivered_job_expires_before_its_retry),
        cmocka_unit_test(test_retry_after_a_worker_died),
        cmocka_unit_test(test_redelivery_keeps_the_order_of_creation),
        cmocka_unit_test(test_retry_counts_from_the_delivery),
        cmocka_unit_test(test_nack_and_enqueue_counters),
        cmocka_unit_test(test_dequeue_and_back),
        cmocka_unit_test(test_working_postpones_again_and_again),
        cmocka_unit_test(test_late_nack_does_not_revive),
        cmocka_unit_test(test_at_most_once),
        cmocka_unit_test(test_at_most_once_is_acknowledged),
        cmocka_unit_test(test_many_jobs_over_many_queues),
        cmocka_unit_test(test_maxlen_holds_within_a_batch),
        cmocka_unit_test(test_the_log_has_the_trace_of_a_dead_letter),
    };

    return RUN_SUITE("jobs", tests);
}
