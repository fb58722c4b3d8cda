/* Many clients' commands become few statements; and handoffs need no claim. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libpq-fe.h>

#define ADDERS 50

/* Logs in as a user whose name is its password, and makes that user. */
static void raw_log_in(redisContext *c, struct wire *w, const char *user) {
    expect(c, "+OK", "ACL SETUSER %s on >%s ~* +@all", user, user);
    raw_open(w);
    wire_words(w, "AUTH", user, user, NULL);
    raw_expect(w, "+OK");
}

/* While the first of them cannot commit, all others gather. */
static void test_adders_share_transactions(void **state) {
    static struct wire w[ADDERS];
    redisContext *c = client_open();
    PGconn *other = PQconnectdb(server.database);
    long long txns, commands, asked = 0;

    (void)state;
    add_job(c, "batch", "x", "");
    PQclear(PQexec(other, "begin; lock table pgdisque.job in exclusive mode"));
    commands = info_number(c, "commands_processed");
    for (int i = 0; i < ADDERS; i++) {
        raw_open(&w[i]);
        wire_words(&w[i], "ADDJOB", "batch", "x", "0", NULL);
    }
    /* Each question is a command too. */
    EVENTUALLY(info_number(c, "commands_processed") >= commands + ADDERS + ++asked);
    assert_int_equal(number(c, "QLEN batch"), 1);
    txns = info_number(c, "transactions");
    PQclear(PQexec(other, "commit"));
    for (int i = 0; i < ADDERS; i++) {
        struct value *id = wire_reply(&w[i], 5000 + patience(15000));

        assert_non_null(id);
        assert_int_equal(id->type, '+');
        value_free(id);
        wire_close(&w[i]);
    }
    /* A transaction under way, one with all other commands, some periodic ones, and the last attempts before the
     * commit. */
    assert_in_range(info_number(c, "transactions") - txns, 1, ADDERS / 2);
    assert_true(info_number(c, "batch_max_rows") >= ADDERS / 4);
    assert_int_equal(number(c, "QLEN batch"), ADDERS + 1);
    PQfinish(other);
    redisFree(c);
}

static void test_a_pipeline_is_a_batch(void **state) {
    redisContext *c = client_open();
    long long txns = info_number(c, "transactions");

    (void)state;
    for (int i = 0; i < 2000; i++)
        later(c, "ADDJOB pipebatch x 0");
    for (int i = 0; i < 2000; i++)
        assert_int_equal(next_reply(c)[0], '+');
    txns = info_number(c, "transactions") - txns;
    if (txns > 200)
        fail_msg("%lld transactions for 2000 pipelined jobs", txns);
    assert_int_equal(number(c, "QLEN pipebatch"), 2000);
    redisFree(c);
}

static void test_handoff_without_a_claim(void **state) {
    redisContext *c = client_open();
    struct wire w;
    long long handoffs, claims, claimed;

    (void)state;
    raw_open(&w);
    for (int i = 0; i < 20; i++) {
        const char *id;

        wire_words(&w, "GETJOB", "FROM", "handoff", NULL);
        EVENTUALLY(blocked_clients() == 1);
        handoffs = info_number(c, "handoffs");
        claims = info_number(c, "claims");
        claimed = info_number(c, "claimed_rows");
        id = add_job(c, "handoff", "x", "RETRY 100");
        raw_expect(&w, text_of("[[\"handoff\" \"%s\" \"x\"]]", id));
        assert_int_equal(info_number(c, "handoffs"), handoffs + 1);
        assert_int_equal(info_number(c, "claimed_rows"), claimed);
        assert_int_equal(info_number(c, "claims"), claims);
        expect(c, ":1", "ACKJOB %s", id);
    }
    wire_close(&w);
    redisFree(c);
}

/* A job that is handed to a waiting client has a lease as any other job. */
static void test_handed_over_job_comes_back(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *id;

    (void)state;
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "lease", NULL);
    EVENTUALLY(blocked_clients() == 1);
    id = add_job(c, "lease", "x", "RETRY 1");
    raw_expect(&w, text_of("[[\"lease\" \"%s\" \"x\"]]", id));
    wire_close(&w);
    expect(c, text_of("[[\"lease\" \"%s\" \"x\" \"nacks\" :0 \"additional-deliveries\" :1]]", id),
           "GETJOB WITHCOUNTERS TIMEOUT 60000 FROM lease");
    redisFree(c);
}

static void test_handed_over_at_most_once(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *id;

    (void)state;
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "leaseonce", NULL);
    EVENTUALLY(blocked_clients() == 1);
    id = add_job(c, "leaseonce", "x", "RETRY 0");
    raw_expect(&w, text_of("[[\"leaseonce\" \"%s\" \"x\"]]", id));
    assert_string_equal(job_field(c, id, "state"), "active");
    expect(c, ":0", "NACK %s", id);
    expect(c, ":1", "ACKJOB %s", id);
    wire_close(&w);
    redisFree(c);
}

/* An older job in the queue is delivered first, also if a client waits. */
static void test_no_handoff_past_older_jobs(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *old = add_job(c, "older", "old", "");

    (void)state;
    get_job(c, "older", "old");
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "older", NULL);
    EVENTUALLY(blocked_clients() == 1);
    expect(c, "+out", "PAUSE older out");
    add_job(c, "older", "new", "");
    expect(c, ":1", "NACK %s", old);
    expect(c, "+none", "PAUSE older none");
    raw_expect(&w, text_of("[[\"older\" \"%s\" \"old\"]]", old));
    get_job(c, "older", "new");
    wire_close(&w);
    redisFree(c);
}

/* Waiting clients ask the database nothing as long as nothing happens. */
static void test_waiting_costs_nothing(void **state) {
    static struct wire w[100];
    redisContext *c = client_open();
    long long claims;

    (void)state;
    for (int i = 0; i < 100; i++) {
        raw_open(&w[i]);
        wire_words(&w[i], "GETJOB", "FROM", "quiet", NULL);
    }
    EVENTUALLY(blocked_clients() == 100);
    claims = info_number(c, "claims");
    HOLDS_FOR(500, info_number(c, "claims") <= claims + 5);
    for (int i = 0; i < 100; i++)
        wire_close(&w[i]);
    EVENTUALLY(blocked_clients() == 0);
    redisFree(c);
}

static void test_claims_are_shared(void **state) {
    static struct wire w[ADDERS];
    redisContext *c = client_open();
    long long txns;

    (void)state;
    expect(c, "+out", "PAUSE shared out");
    for (int i = 0; i < ADDERS; i++)
        later(c, "ADDJOB shared x 0");
    for (int i = 0; i < ADDERS; i++)
        assert_int_equal(next_reply(c)[0], '+');
    for (int i = 0; i < ADDERS; i++) {
        raw_open(&w[i]);
        wire_words(&w[i], "GETJOB", "FROM", "shared", NULL);
    }
    EVENTUALLY(blocked_clients() == ADDERS);
    txns = info_number(c, "transactions");
    expect(c, "+none", "PAUSE shared none");
    for (int i = 0; i < ADDERS; i++) {
        assert_true(wire_wait_bytes(&w[i], 1, 10000));
        wire_close(&w[i]);
    }
    txns = info_number(c, "transactions") - txns;
    if (txns > ADDERS / 3)
        fail_msg("%lld transactions for %d deliveries", txns, ADDERS);
    redisFree(c);
}

/* ---- users, and reads of many rows ---- */

/* The first transaction after the lock has the job of the other user, although that came last. */
static void test_users_take_turns(void **state) {
    enum { JOBS = 5000 };
    static struct wire many, one;
    redisContext *c = client_open();
    PGconn *other = PQconnectdb(server.database);
    long adds;

    (void)state;
    /* A recount holds transactions back for a moment, so the next one has more tasks. */
    EVENTUALLY(info_number(c, "counting") == 0);
    add_job(c, "turns:many", "x", "");
    add_job(c, "turns:one", "x", "");
    raw_log_in(c, &many, "many");
    raw_log_in(c, &one, "one");
    PQclear(PQexec(other, "begin; lock table pgdisque.job in exclusive mode"));
    adds = command_figure(c, "addjob", "calls");
    for (int i = 0; i < JOBS; i++)
        assert_true(wire_words(&many, "ADDJOB", "turns:many", "x", "0", NULL));
    EVENTUALLY(command_figure(c, "addjob", "calls") == adds + JOBS);
    assert_true(wire_words(&one, "ADDJOB", "turns:one", "last", "0", NULL));
    EVENTUALLY(command_figure(c, "addjob", "calls") == adds + JOBS + 1);
    PQclear(PQexec(other, "commit"));
    assert_true(wire_wait_bytes(&one, 1, EVENTUALLY_MS));
    for (int i = 0; i < JOBS; i++)
        value_free(wire_reply(&many, EVENTUALLY_MS));
    /* Transactions that were sent before it came had at most some hundreds of the others. */
    assert_in_range(postgres_number(server.database,
                                    "select count(*) from pgdisque.job as j, pgdisque.job as l "
                                    "where l.body = 'last' and j.xmin::text::bigint < l.xmin::text::bigint"),
                    0, JOBS / 2);
    wire_close(&many);
    wire_close(&one);
    PQfinish(other);
    redisFree(c);
}

/* Each statement of such a read has a transaction of its own, from the first one on. */
static void test_long_reads_are_alone(void **state) {
    enum { READERS = 40, JOBS = 2000 };
    static struct wire w[READERS];
    redisContext *c = client_open();
    long long txns, statements;

    (void)state;
    free(postgres_query(server.database, text_of("select count(*) from pgdisque.add_jobs('read', "
                                                 "array_fill('x'::text, array[%d]))",
                                                 JOBS)));
    EVENTUALLY(number(c, "QLEN read") == JOBS);
    for (int i = 0; i < READERS; i++)
        raw_open(&w[i]);
    txns = info_number(c, "transactions");
    statements = info_number(c, "statements");
    for (int i = 0; i < READERS; i++)
        assert_true(wire_send_text(&w[i], "JSCAN 0 COUNT 1000 QUEUE read HEADER a b\r\n"
                                          "JSCAN 0 COUNT 1000 QUEUE read HEADER a b\r\n"));
    for (int i = 0; i < READERS; i++) {
        value_free(wire_reply(&w[i], EVENTUALLY_MS));
        value_free(wire_reply(&w[i], EVENTUALLY_MS));
        wire_close(&w[i]);
    }
    txns = info_number(c, "transactions") - txns;
    assert_in_range(info_number(c, "statements") - statements, txns, txns + READERS);
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adders_share_transactions), cmocka_unit_test(test_a_pipeline_is_a_batch),
        cmocka_unit_test(test_handoff_without_a_claim),   cmocka_unit_test(test_handed_over_job_comes_back),
        cmocka_unit_test(test_handed_over_at_most_once),  cmocka_unit_test(test_no_handoff_past_older_jobs),
        cmocka_unit_test(test_waiting_costs_nothing),     cmocka_unit_test(test_claims_are_shared),
        cmocka_unit_test(test_users_take_turns),          cmocka_unit_test(test_long_reads_are_alone),
    };

    return RUN_SUITE("batching", tests);
}
