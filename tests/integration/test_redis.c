/* Behaviour over several commands on which Redis clients rely. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- SCAN ---- */

#define KEYS 300

struct met {
    int times[KEYS];
    int others;
};

/* Runs one step of a scan. Returns the next cursor. */
static long long scan_step(redisContext *c, long long cursor, struct met *met) {
    redisReply *reply = redisCommand(c, "SCAN %lld MATCH scanned:* COUNT 7", cursor);
    long long next;

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_true(reply->element[1]->elements <= 7);
    for (size_t i = 0; i < reply->element[1]->elements; i++) {
        int n = atoi(reply->element[1]->element[i]->str + strlen("scanned:"));

        if (n >= 0 && n < KEYS)
            met->times[n]++;
        else
            met->others++;
    }
    next = atoll(reply->element[0]->str);
    freeReplyObject(reply);
    return next;
}

/* Queues come and go during the scan. The scan returns each permanent queue once. */
static void test_scan_meets_all_once(void **state) {
    redisContext *c = client_open();
    static struct met met;
    long long cursor = 0;
    int steps = 0;

    (void)state;
    for (int i = 0; i < KEYS; i++)
        add_job(c, text_of("scanned:%d", i), "a", "");
    do {
        cursor = scan_step(c, cursor, &met);
        add_job(c, text_of("new:%d", steps++), "a", "");
    } while (cursor != 0);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(met.times[i], 1);
    assert_int_equal(met.others, 0);
    assert_true(steps > KEYS / 7);
    redisFree(c);
}

/* ---- clients that give up reading ---- */

/* The library's error is for its user: the connection is closed, and nothing is lost. */
static void test_read_timeout_while_waiting(void **state) {
    struct timeval limit = { .tv_usec = 200000 };
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < 5; i++) {
        redisContext *impatient = client_open();
        const char *id;

        redisSetTimeout(impatient, limit);
        assert_null(redisCommand(impatient, "GETJOB FROM impatient"));
        redisFree(impatient);
        EVENTUALLY(info_number(c, "blocked_clients") == 0);
        id = add_job(c, "impatient", text_of("%d", i), "");
        assert_string_equal(get_job(c, "impatient", text_of("%d", i)), id);
        assert_string_equal(job_field(c, id, "additional-deliveries"), "0");
    }
    redisFree(c);
}

/* With getjob-max-block it asks again and again, on the same connection. */
static void test_max_block_keeps_the_connection(void **state) {
    struct timeval limit = { .tv_sec = patience(2) };
    redisContext *c = client_open(), *impatient = client_open();

    (void)state;
    redisSetTimeout(impatient, limit);
    expect(c, "+OK", "CONFIG SET getjob-max-block 50");
    for (int i = 0; i < 5; i++) {
        expect(impatient, "nil", "GETJOB FROM capped");
        expect(impatient, "nil", "GETJOB TIMEOUT 100000 FROM capped capped:*");
    }
    later(impatient, "GETJOB FROM capped");
    add_job(c, "capped", "a", "");
    assert_non_null(strstr(ask(impatient, "GETJOB TIMEOUT 1 FROM other"), "\"capped\""));
    expect(c, "+OK", "CONFIG SET getjob-max-block 0");
    expect_next(impatient, "nil");
    redisFree(impatient);
    redisFree(c);
}

/* getjob-max-block does not change a shorter TIMEOUT or NOHANG. */
static void test_max_block_is_only_a_limit(void **state) {
    redisContext *c = client_open();
    int64_t start = now_ms();

    (void)state;
    expect(c, "+OK", "CONFIG SET getjob-max-block 100000");
    expect(c, "nil", "GETJOB TIMEOUT 50 FROM short");
    expect(c, "nil", "GETJOB NOHANG FROM short");
    assert_true(now_ms() - start < patience(50000));
    expect(c, "+OK", "CONFIG SET getjob-max-block 0");
    redisFree(c);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_meets_all_once),
        cmocka_unit_test(test_read_timeout_while_waiting),
        cmocka_unit_test(test_max_block_keeps_the_connection),
        cmocka_unit_test(test_max_block_is_only_a_limit),
    };

    return RUN_SUITE("redis", tests);
}
