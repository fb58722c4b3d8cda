/* A server that is linked without src/cluster/. The Makefile's ALONE has its objects. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static void test_jobs(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "jobs", "a", "RETRY 1000 PRIORITY 3");

    (void)state;
    expect(c, ":1", "QLEN jobs");
    get_job(c, "jobs", "a");
    expect(c, ":1", "NACK %s", id);
    get_job(c, "jobs", "a");
    expect(c, ":1", "ACKJOB %s", id);
    expect(c, ":0", "QLEN jobs");
    redisFree(c);
}

/* The calls of the observer, which this server does not have. */
static void test_changes(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "changes", "a", "DELAY 1000");

    (void)state;
    expect(c, ":1", "ENQUEUE %s", id);
    expect(c, ":1", "DEQUEUE %s", id);
    expect(c, ":1", "ENQUEUE %s", id);
    expect(c, "+OK", "QCONFIG changes SET max-active 1");
    get_job(c, "changes", "a");
    expect(c, ":1", "DELJOB %s", id);
    expect(c, "+out", "PAUSE changes out");
    expect(c, "+none", "PAUSE changes none");
    expect(c, "+OK", "SCHEDULE nightly @daily changes body");
    expect(c, ":0", "PUBLISH channel message");
    expect(c, "+OK", "DEBUG FLUSHALL");
    redisFree(c);
}

static void test_list(void **state) {
    redisContext *c = client_open();

    (void)state;
    expect(c, ":2", "RPUSH list a b");
    expect(c, "\"a\"", "LPOP list");
    expect(c, "+OK", "RENAME list moved");
    expect(c, "\"b\"", "LPOP moved");
    redisFree(c);
}

/* The bootstrap reads the jobs, and its own row. */
static void test_restart(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_job(c, "restart", "a", "");
    redisFree(c);
    assert_int_equal(server_stop(&server), 0);
    server_resume(&server);
    c = client_open();
    expect(c, ":1", "QLEN restart");
    get_job(c, "restart", "a");
    redisFree(c);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_restart),
    };
    char program[PATH_SIZE];

    (void)argc;
    path_join(program, "%.*s/../alone/pgdisque", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
    setenv("PGDISQUE", program, 1);
    return RUN_SUITE("core", tests);
}
