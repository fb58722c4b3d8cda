/* Jobs and figures after the end of the server by SIGTERM and by SIGKILL. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libpq-fe.h>

/* The same tests run for both ends. */
static bool hard;

static redisContext *restart(redisContext *c) {
    redisFree(c);
    if (hard)
        server_kill(&server);
    else
        assert_int_equal(server_stop(&server), 0);
    server_resume(&server);
    return client_open();
}

static const char *name(const char *base) {
    return text_of("%s-%s", base, hard ? "kill" : "term");
}

static void check_jobs_survive(void) {
    redisContext *c = client_open();
    const char *q = forever(name("survive"));
    const char *delivered = forever(add_job(c, q, "delivered", "RETRY 100"));
    const char *queued = forever(add_job(c, q, "a\\b", "TTL 5000 RETRY 7"));

    get_job(c, q, "delivered");
    c = restart(c);
    assert_int_equal(number(c, "QLEN %s", q), 1);
    assert_string_equal(job_field(c, queued, "retry"), "7");
    assert_string_equal(job_field(c, delivered, "state"), "active");
    assert_string_equal(get_job(c, q, "a\\b"), queued);
    expect(c, ":2", "ACKJOB %s %s", queued, delivered);
    c = restart(c);
    assert_true(queue_is_empty(c, q));
    expect(c, ":0", "ACKJOB %s %s", queued, delivered);
    redisFree(c);
}

/* The server knows the workers of its jobs again, by their rows. */
static void check_workers_survive(void) {
    redisContext *c = client_open();
    const char *q = forever(name("workers")), *id = forever(add_job(c, q, "x", "RETRY 1000"));

    expect(c, "+OK", "CLIENT SETNAME %s", q);
    get_job(c, q, "x");
    assert_non_null(strstr(ask(c, "WORKERS JOBS %s", q), id));
    EVENTUALLY(strstr(ask(c, "WORKERS %s", q), text_of("\"worker\" \"%s\"", q)) != NULL);
    c = restart(c);
    assert_non_null(strstr(ask(c, "WORKERS JOBS %s", q), id));
    assert_string_equal(job_field(c, id, "worker"), q);
    expect(c, ":1", "ACKJOB %s", id);
    expect(c, "[]", "WORKERS JOBS %s", q);
    redisFree(c);
}

static void check_delays_survive(void) {
    redisContext *c = client_open();
    const char *q = forever(name("delays"));
    int64_t start = now_ms();
    long long ready;

    add_job(c, q, "soon", "DELAY 3");
    add_job(c, q, "later", "DELAY 1000");
    c = restart(c);
    ready = number(c, "QLEN %s", q);
    if (now_ms() - start < 2500)
        assert_int_equal(ready, 0);
    EVENTUALLY(number(c, "QLEN %s", q) == 1);
    assert_true(now_ms() - start >= 2800);
    get_job(c, q, "soon");
    redisFree(c);
}

/* The server that wakes the job counts it, once. */
static void check_delay_ends_between_servers(void) {
    redisContext *c = client_open();
    const char *q = forever(name("between"));

    add_job(c, q, "a", "DELAY 3");
    redisFree(c);
    if (hard)
        server_kill(&server);
    else
        assert_int_equal(server_stop(&server), 0);
    EVENTUALLY(postgres_number(server.database, "select count(*) from pgdisque.job where wake_at < now()"
                                                " and wake_at = ready_at") == 1);
    server_resume(&server);
    c = client_open();
    EVENTUALLY(number(c, "QLEN %s", q) >= 1);
    assert_int_equal(number(c, "QLEN %s", q), 1);
    get_job(c, q, "a");
    assert_int_equal(number(c, "QLEN %s", q), 0);
    redisFree(c);
}

static void check_leases_survive(void) {
    redisContext *c = client_open();
    const char *q = forever(name("leases"));
    const char *id = forever(add_job(c, q, "a", "RETRY 3"));
    int64_t delivered;

    delivered = now_ms();
    get_job(c, q, "a");
    c = restart(c);
    expect(c, text_of("[[\"%s\" \"%s\" \"a\" \"nacks\" :0 \"additional-deliveries\" :1]]", q, id),
           "GETJOB WITHCOUNTERS TIMEOUT 60000 FROM %s", q);
    assert_in_range(now_ms() - delivered, 2800, 3500 + patience(EVENTUALLY_MS));
    expect(c, ":1", "ACKJOB %s", id);
    redisFree(c);
}

static void check_expiry_goes_on(void) {
    redisContext *c = client_open();
    const char *q = forever(name("expiry"));

    add_job(c, q, "a", "TTL 2");
    c = restart(c);
    EVENTUALLY(number(c, "QLEN %s", q) == 0);
    redisFree(c);
}

static void check_pauses_survive(void) {
    redisContext *c = client_open();
    const char *in = forever(name("in")), *out = forever(name("out"));

    ask(c, "PAUSE %s in", in);
    add_job(c, out, "a", "");
    ask(c, "PAUSE %s out", out);
    c = restart(c);
    expect(c, "+in", "PAUSE %s state", in);
    expect(c, "+out", "PAUSE %s state", out);
    expect_start(c, "-PAUSED ", "ADDJOB %s x 0", in);
    assert_true(queue_is_empty(c, out));
    expect(c, "+none", "PAUSE %s none", out);
    get_job(c, out, "a");
    redisFree(c);
}

static void check_counters_survive(void) {
    const char *saved = "select coalesce(sum(jobs_in), 0) from pgdisque.queue_counter c"
                        " join pgdisque.queue q on q.id = c.queue_id where q.name = 'counters-kill'";
    redisContext *c = client_open();
    const char *q = forever(name("counters"));
    const char *id = forever(add_job(c, q, "a", ""));

    get_job(c, q, "a");
    expect(c, ":1", "NACK %s", id);
    get_job(c, q, "a");
    expect(c, ":1", "ENQUEUE %s", id);
    /* A kill may lose the last second of the queue's figures, never the job's. */
    if (hard)
        EVENTUALLY(postgres_number(server.database, saved) == 3);
    c = restart(c);
    assert_string_equal(job_field(c, id, "nacks"), "1");
    assert_string_equal(job_field(c, id, "additional-deliveries"), "1");
    assert_string_equal(queue_field(c, q, "len"), "1");
    assert_string_equal(queue_field(c, q, "jobs-in"), "3");
    assert_string_equal(queue_field(c, q, "jobs-out"), "2");
    redisFree(c);
}

static void check_at_most_once_survives(void) {
    redisContext *c = client_open();
    const char *q = forever(name("once"));
    const char *given = forever(add_job(c, q, "given", "RETRY 0"));
    const char *waiting = forever(add_job(c, q, "waiting", "RETRY 0"));

    get_job(c, q, "given");
    c = restart(c);
    assert_string_equal(get_job(c, q, "waiting"), waiting);
    assert_true(queue_is_empty(c, q));
    expect(c, ":0", "NACK %s", given);
    redisFree(c);
}

static void check_identity_survives(void) {
    redisContext *c = client_open();
    const char *id = forever(ask(c, "CLUSTER MYID"));

    c = restart(c);
    expect(c, id, "CLUSTER MYID");
    redisFree(c);
}

/* The commands of lists find their elements in the order of Redis, whatever the first one is after the restart. */
static const struct {
    const char *command, *reply, *left;
} list_commands[] = {
    { "LRANGE %s 0 -1", "[\"a\" \"b\" \"c\" \"b\"]", "[\"a\" \"b\" \"c\" \"b\"]" },
    { "LINDEX %s 0", "\"a\"", "[\"a\" \"b\" \"c\" \"b\"]" },
    { "LPOS %s c", ":2", "[\"a\" \"b\" \"c\" \"b\"]" },
    { "LPOS %s b RANK -1", ":3", "[\"a\" \"b\" \"c\" \"b\"]" },
    { "LSET %s 0 x", "+OK", "[\"x\" \"b\" \"c\" \"b\"]" },
    { "LREM %s 1 b", ":1", "[\"a\" \"c\" \"b\"]" },
    { "LTRIM %s 0 1", "+OK", "[\"a\" \"b\"]" },
    { "LTRIM %s -1 -1", "+OK", "[\"b\"]" },
    { "LPOP %s 2", "[\"a\" \"b\"]", "[\"c\" \"b\"]" },
    { "RPOP %s 2", "[\"b\" \"c\"]", "[\"a\" \"b\"]" },
    { "RPUSH %s d", ":5", "[\"a\" \"b\" \"c\" \"b\" \"d\"]" },
    { "LPUSH %s d", ":5", "[\"d\" \"a\" \"b\" \"c\" \"b\"]" },
};
#define LIST_COMMANDS (sizeof(list_commands) / sizeof(list_commands[0]))

static const char *key_of(const char *push, size_t i) {
    return text_of("%s-%zu", name(push), i);
}

static void check_lists_survive(void) {
    redisContext *c = client_open();

    for (size_t i = 0; i < LIST_COMMANDS; i++) {
        expect(c, ":4", "RPUSH %s a b c b", key_of("right", i));
        expect(c, ":4", "LPUSH %s b c b a", key_of("left", i));
        expect(c, ":5", "RPUSH %s a b c b x", key_of("popped", i));
        expect(c, "\"x\"", "RPOP %s", key_of("popped", i));
    }
    c = restart(c);
    for (size_t i = 0; i < LIST_COMMANDS; i++)
        for (size_t k = 0; k < 3; k++) {
            const char *key = forever(key_of((const char *[]){ "right", "left", "popped" }[k], i));

            assert_string_equal(ask(c, list_commands[i].command, key), list_commands[i].reply);
            expect(c, list_commands[i].left, "LRANGE %s 0 -1", key);
        }
    redisFree(c);
}

/* RENAME keeps the order of a list, also if the new list had its elements pushed at the other end. */
static void check_renamed_lists_survive(void) {
    redisContext *c = client_open();
    const char *from = forever(name("from")), *to = forever(name("to")), *next = forever(name("next"));

    expect(c, ":3", "RPUSH %s a b c", from);
    expect(c, ":1", "LPUSH %s x", to);
    c = restart(c);
    expect(c, "+OK", "RENAME %s %s", from, to);
    expect(c, "[\"a\" \"b\" \"c\"]", "LRANGE %s 0 -1", to);
    c = restart(c);
    expect(c, "+OK", "RENAME %s %s", to, next);
    expect(c, "[\"a\" \"b\" \"c\"]", "LRANGE %s 0 -1", next);
    expect(c, ":1", "RPUSH %s a", from);
    expect(c, "+OK", "RENAME %s %s", next, from);
    expect(c, "[\"a\" \"b\" \"c\"]", "LRANGE %s 0 -1", from);
    c = restart(c);
    expect(c, "[\"a\" \"b\"]", "LPOP %s 2", from);
    redisFree(c);
}

#define BOTH_ENDS(check)                          \
    static void test_term_##check(void **state) { \
        (void)state;                              \
        hard = false;                             \
        check();                                  \
    }                                             \
    static void test_kill_##check(void **state) { \
        (void)state;                              \
        hard = true;                              \
        check();                                  \
    }

BOTH_ENDS(check_jobs_survive)
BOTH_ENDS(check_workers_survive)
BOTH_ENDS(check_delays_survive)
BOTH_ENDS(check_delay_ends_between_servers)
BOTH_ENDS(check_leases_survive)
BOTH_ENDS(check_expiry_goes_on)
BOTH_ENDS(check_pauses_survive)
BOTH_ENDS(check_counters_survive)
BOTH_ENDS(check_at_most_once_survives)
BOTH_ENDS(check_identity_survives)
BOTH_ENDS(check_lists_survive)
BOTH_ENDS(check_renamed_lists_survive)

/* A kill while clients add jobs: each answered job exists afterwards. */
static void test_kill_under_load(void **state) {
    redisContext *c = client_open();
    char **ids = calloc(20000, sizeof(*ids));
    int answered = 0;

    (void)state;
    for (int i = 0; i < 20000; i++)
        later(c, "ADDJOB load %d 0", i);
    for (; answered < 20000; answered++) {
        const char *got;

        if (answered == 1000)
            kill(server.pid, SIGKILL);
        got = next_reply(c);
        if (got[0] != '+')
            break;
        ids[answered] = strdup(got + 1);
    }
    redisFree(c);
    server_kill(&server);
    server_resume(&server);
    c = client_open();
    assert_true(answered >= 1000);
    assert_true(number(c, "QLEN load") >= answered);
    for (int i = 0; i < answered; i++) {
        later(c, "ACKJOB %s", ids[i]);
        free(ids[i]);
    }
    for (int i = 0; i < answered; i++)
        expect_next(c, ":1");
    free(ids);
    redisFree(c);
}

/* SIGTERM under load: each executed command is answered. Each answered job exists once, and the counters agree with the
 * jobs. */
static void test_term_under_load(void **state) {
    redisContext *c = client_open();
    long long added = 0;

    (void)state;
    for (int i = 0; i < 5000; i++)
        later(c, "ADDJOB termload %d 0", i);
    for (; added < 5000; added++) {
        if (added == 500)
            kill(server.pid, SIGTERM);
        if (next_reply(c)[0] != '+')
            break;
    }
    redisFree(c);
    assert_int_equal(wait_exit(server.pid, 10000), 0);
    server.pid = 0;
    server_resume(&server);
    c = client_open();
    assert_true(number(c, "QLEN termload") >= added);
    assert_string_equal(queue_field(c, "termload", "jobs-in"), text_of("%lld", number(c, "QLEN termload")));
    redisFree(c);
}

/* However long loading takes, a lease given right after it has its full length. */
static void test_leases_after_a_slow_start(void **state) {
    PGconn *other = PQconnectdb(server.database);
    const char *waits = forever(text_of(
        "select count(*) from pg_stat_activity where %d = any(pg_blocking_pids(pid))", PQbackendPID(other)));
    const char *count = "select count(*) from pgdisque.node";
    long long nodes = postgres_number(server.database, count);
    struct server slow;
    redisContext *c;
    int64_t delivered;

    (void)state;
    /* The number that the new server is about to take. */
    PQclear(PQexec(other, "begin; insert into pgdisque.node (number, id)"
                          " select max(number) + 1, repeat('0', 40) from pgdisque.node"));
    server_spawn(&slow, server.database, NULL);
    EVENTUALLY(postgres_number(server.database, waits) == 1);
    /* It tries again and again, and does not get the lock. */
    HOLDS_FOR(600, postgres_number(server.database, count) == nodes);
    PQclear(PQexec(other, "rollback"));
    PQfinish(other);
    server_wait_ready(&slow);
    c = client_open_on(&slow);
    add_job(c, "slowstart", "a", "RETRY 2");
    delivered = now_ms();
    get_job(c, "slowstart", "a");
    EVENTUALLY(number(c, "QLEN slowstart") == 1);
    assert_in_range(now_ms() - delivered, 1950, patience(EVENTUALLY_MS));
    redisFree(c);
    assert_int_equal(server_stop(&slow), 0);
}

static void test_blocked_clients_at_the_end(void **state) {
    struct wire w;

    (void)state;
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "never", NULL);
    EVENTUALLY(blocked_clients() == 1);
    assert_int_equal(server_stop(&server), 0);
    /* An error or nothing, but then the end. */
    value_free(wire_reply(&w, 1000));
    assert_true(wire_wait_eof(&w, 5000));
    wire_close(&w);
    server_resume(&server);
}

static void test_two_servers_start_at_once(void **state) {
    const char *database = postgres_conninfo(&pg, NULL);
    struct server one, two;
    redisContext *a, *b;
    const char *id;

    (void)state;
    server_spawn(&one, database, NULL);
    server_spawn(&two, database, NULL);
    server_wait_ready(&one);
    server_wait_ready(&two);
    a = client_open_on(&one);
    b = client_open_on(&two);
    assert_string_not_equal(ask(a, "CLUSTER MYID"), ask(b, "CLUSTER MYID"));
    id = add_job(a, "q", "from one", "");
    assert_string_equal(get_job(a, "q", "from one"), id);
    id = add_job(b, "q", "from two", "");
    assert_string_equal(get_job(b, "q", "from two"), id);
    redisFree(a);
    redisFree(b);
    assert_int_equal(server_stop(&one), 0);
    assert_int_equal(server_stop(&two), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_term_check_jobs_survive),
        cmocka_unit_test(test_kill_check_jobs_survive),
        cmocka_unit_test(test_term_check_workers_survive),
        cmocka_unit_test(test_kill_check_workers_survive),
        cmocka_unit_test(test_term_check_delays_survive),
        cmocka_unit_test(test_kill_check_delays_survive),
        cmocka_unit_test(test_term_check_delay_ends_between_servers),
        cmocka_unit_test(test_kill_check_delay_ends_between_servers),
        cmocka_unit_test(test_term_check_leases_survive),
        cmocka_unit_test(test_kill_check_leases_survive),
        cmocka_unit_test(test_term_check_expiry_goes_on),
        cmocka_unit_test(test_kill_check_expiry_goes_on),
        cmocka_unit_test(test_term_check_pauses_survive),
        cmocka_unit_test(test_kill_check_pauses_survive),
        cmocka_unit_test(test_term_check_counters_survive),
        cmocka_unit_test(test_kill_check_counters_survive),
        cmocka_unit_test(test_term_check_at_most_once_survives),
        cmocka_unit_test(test_kill_check_at_most_once_survives),
        cmocka_unit_test(test_term_check_identity_survives),
        cmocka_unit_test(test_kill_check_identity_survives),
        cmocka_unit_test(test_term_check_lists_survive),
        cmocka_unit_test(test_kill_check_lists_survive),
        cmocka_unit_test(test_term_check_renamed_lists_survive),
        cmocka_unit_test(test_kill_check_renamed_lists_survive),
        cmocka_unit_test(test_kill_under_load),
        cmocka_unit_test(test_term_under_load),
        cmocka_unit_test(test_leases_after_a_slow_start),
        cmocka_unit_test(test_blocked_clients_at_the_end),
        cmocka_unit_test(test_two_servers_start_at_once),
    };

    return RUN_SUITE("restart", tests);
}
