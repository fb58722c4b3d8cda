/* Settings of queues: in force at all servers, kept over restarts, and never half done. */
#include "servers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

static const char *setting(redisContext *c, const char *queue, const char *name) {
    return ask(c, "QCONFIG %s GET %s", queue, name);
}

static bool all_say(const char *queue, const char *name, const char *value) {
    const char *want = text_of("[\"%s\" \"%s\"]", name, value);

    for (int i = 0; i < SERVERS; i++)
        if (strcmp(setting(at[i], queue, name), want) != 0)
            return false;
    return true;
}

static void test_in_force_everywhere(void **state) {
    const char *id;

    (void)state;
    expect(at[A], "+OK", "QCONFIG everywhere SET retry 7 ttl 1000 maxlen 1");
    EVENTUALLY(all_say("everywhere", "ttl", "1000") && all_say("everywhere", "retry", "7"));
    EVENTUALLY(all_say("everywhere", "maxlen", "1"));
    id = add_job(at[B], "everywhere", "x", "");
    assert_string_equal(job_field(at[C], id, "retry"), "7");
    EVENTUALLY(all_have("everywhere", 1));
    expect_start(at[C], "-MAXLEN ", "ADDJOB everywhere y 0");
    expect(at[C], "+OK", "QCONFIG everywhere RESET");
    EVENTUALLY(all_say("everywhere", "maxlen", "0") && all_say("everywhere", "retry", "300"));
    expect(at[A], ":1", "ACKJOB %s", id);
}

/* All servers agree with the database in the end, in any order of the changes. */
static void test_set_at_once(void **state) {
    const char *last;

    (void)state;
    for (int n = 1; n <= 60; n++)
        later(at[n % SERVERS], "QCONFIG race SET ttl %d", n);
    for (int n = 1; n <= 60; n++)
        expect_next(at[n % SERVERS], "+OK");
    last = text_of("%lld", postgres_number(server.database,
                                           "select convert_from(s.value, 'UTF8')::integer from "
                                           "pgdisque.queue_setting as s join pgdisque.queue as q on q.id = "
                                           "s.queue_id where q.name = 'race'"));
    EVENTUALLY(all_say("race", "ttl", last));
}

/* A server that was killed misses a change, and so does a server that was stopped. */
static void test_missed_by_some(void **state) {
    (void)state;
    expect(at[B], "+OK", "QCONFIG missed SET ttl 100 retry 9");
    EVENTUALLY(all_say("missed", "ttl", "100"));
    redisFree(at[B]);
    server_kill(group_size[B]);
    expect(at[A], "+OK", "QCONFIG missed SET ttl 200");
    expect(at[A], "+OK", "QCONFIG never-heard-of SET maxlen 3");
    server_resume(group_size[B]);
    at[B] = client_open_on(group_size[B]);
    EVENTUALLY(all_say("missed", "ttl", "200") && all_say("missed", "retry", "9"));
    EVENTUALLY(all_say("never-heard-of", "maxlen", "3"));
}

/* Nothing is kept that was not answered with OK, and all that was. */
static void test_killed_while_setting(void **state) {
    long long ttl;

    (void)state;
    for (int n = 1; n <= 5; n++)
        expect(at[C], "+OK", "QCONFIG killed SET ttl %d retry %d", 1000 + n, n);
    later(at[C], "QCONFIG killed SET ttl 2000 retry 8");
    (void)redisBufferWrite(at[C], NULL);
    server_kill(group_size[C]);
    redisFree(at[C]);
    server_resume(group_size[C]);
    at[C] = client_open_on(group_size[C]);
    ttl = strstr(setting(at[C], "killed", "ttl"), "2000") != NULL ? 2000 : 1005;
    EVENTUALLY(all_say("killed", "ttl", text_of("%lld", ttl)) &&
               all_say("killed", "retry", ttl == 2000 ? "8" : "5"));
}

static void test_flushed(void **state) {
    (void)state;
    expect(at[A], "+OK", "QCONFIG flushed SET ttl 100");
    EVENTUALLY(all_say("flushed", "ttl", "100"));
    expect(at[B], "+OK", "DEBUG FLUSHALL");
    EVENTUALLY(all_say("flushed", "ttl", "86400"));
    assert_int_equal(postgres_number(server.database, "select count(*) from pgdisque.queue_setting"), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_in_force_everywhere),  TEST(test_set_at_once), TEST(test_missed_by_some),
        TEST(test_killed_while_setting), TEST(test_flushed),
    };

    return RUN_SUITE("settings", tests);
}
