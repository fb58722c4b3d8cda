/* Commands that end the database's session, or are too large for it: they fail, and all others go on. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static void expect_next_start(redisContext *c, const char *want) {
    const char *got = next_reply(c);

    if (strncmp(got, want, strlen(want)) != 0)
        fail_msg("%s in place of %s", got, want);
}

/* The session that adds such a job, or puts it back, is ended, as if its backend had crashed. A server does not connect to
 * a schema with triggers, or with functions from elsewhere. */
static const char poison_check[] =
    "alter table pgdisque.job add constraint poison check ("
    " case when body = 'poison' or (body = 'poison later' and nacks > 0)"
    " then pg_terminate_backend(pg_backend_pid()) and pg_sleep(1)::text is not null else true end)";

static int set_poison(void **state) {
    (void)state;
    free(postgres_query(server.database, poison_check));
    return 0;
}

static int remove_poison(void **state) {
    (void)state;
    free(postgres_query(server.database, "alter table pgdisque.job drop constraint poison"));
    return 0;
}

static void test_poison_among_others(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < 40; i++)
        later(c, "ADDJOB among %s 0", i == 20 ? "poison" : "good");
    for (int i = 0; i < 40; i++) {
        const char *got = next_reply(c);

        if (strncmp(got, "-CRASHED ", 9) != 0 && i == 20)
            fail_msg("the job that ends the session: %s", got);
        if (got[0] != '+' && i != 20)
            fail_msg("request %d: %s", i, got);
    }
    assert_int_equal(number(c, "QLEN among"), 39);
    redisFree(c);
}

/* A client sends such a command alone, and other clients work at the same time. */
static void test_poison_alone(void **state) {
    redisContext *c = client_open(), *d = client_open();

    (void)state;
    later(c, "ADDJOB alone poison 0");
    later(d, "ADDJOB alone good 0");
    expect_next_start(c, "-CRASHED ");
    expect_next_start(d, "+D-");
    expect(c, ":1", "QLEN alone");
    redisFree(d);
    redisFree(c);
}

static void test_poison_of_all_kinds(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "kinds", "poison later", "");

    (void)state;
    expect_start(c, "-CRASHED ", "ADDJOB kinds poison 0 ASYNC");
    expect_start(c, "-CRASHED ", "ADDJOB kinds poison 0 UNIQUE key");
    expect_start(c, "-CRASHED ", "ADDJOB kinds poison 0 GROUP key");
    expect_start(c, "-CRASHED ", "RPUSH kinds a poison b");
    assert_string_equal(get_job(c, "kinds", "poison later"), id);
    expect_start(c, "-CRASHED ", "NACK %s", id);
    expect(c, ":1", "ACKJOB %s", id);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ADDJOB kinds good 0");
    expect(c, "+QUEUED", "ADDJOB kinds poison 0");
    expect_start(c, "-CRASHED ", "EXEC");
    expect(c, ":0", "QLEN kinds");
    redisFree(c);
}

/* A restart ends sessions as well, and no command fails because of that. */
static void test_restarts_are_no_poison(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < 8; i++) {
        later(c, "ADDJOB restarts %d 0", i);
        sessions_end("");
        expect_next_start(c, "+D-");
    }
    expect(c, ":8", "QLEN restarts");
    redisFree(c);
}

/* ---- too large ---- */

#define LARGE ((size_t)20 * 1024 * 1024)
#define IDS 50

/* Its statement would carry the result once for each job. */
static void test_result_for_many_jobs(void **state) {
    redisContext *c = client_open();
    const char *argv[3 + IDS] = { "ACKJOB", "RESULT", NULL };
    size_t lengths[3 + IDS] = { 6, 6, LARGE };
    char *result = calloc(1, LARGE);
    redisReply *r;

    (void)state;
    argv[2] = result;
    for (int i = 0; i < IDS; i++) {
        argv[3 + i] = add_job(c, "results", "job", "");
        lengths[3 + i] = strlen(argv[3 + i]);
    }
    r = redisCommandArgv(c, 3 + IDS, argv, lengths);
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_ERROR);
    assert_int_equal(strncmp(r->str, "LIMIT ", 6), 0);
    freeReplyObject(r);
    expect(c, text_of(":%d", IDS), "QLEN results");
    expect(c, ":1", "ACKJOB RESULT small %s", argv[3]);
    expect(c, ":0", "ACKJOB %s", argv[3]);
    free(result);
    redisFree(c);
}

/* Its statements are, together. */
static void test_large_transaction(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "large", "job", "");
    char *result = calloc(1, LARGE);

    (void)state;
    expect(c, "+OK", "MULTI");
    for (int i = 0; i < 4; i++)
        expect(c, "+QUEUED", "ACKJOB RESULT %b %s %s %s %s %s %s %s %s %s %s", result, LARGE, id, id, id, id,
               id, id, id, id, id, id);
    expect_start(c, "-LIMIT ", "EXEC");
    expect(c, ":1", "QLEN large");
    free(result);
    redisFree(c);
}

#define POISON(fn) cmocka_unit_test_setup_teardown(fn, set_poison, remove_poison)

int main(void) {
    const struct CMUnitTest tests[] = {
        POISON(test_poison_among_others),
        POISON(test_poison_alone),
        POISON(test_poison_of_all_kinds),
        cmocka_unit_test(test_restarts_are_no_poison),
        cmocka_unit_test(test_result_for_many_jobs),
        cmocka_unit_test(test_large_transaction),
    };

    return RUN_SUITE("poison", tests);
}
