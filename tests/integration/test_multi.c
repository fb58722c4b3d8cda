/* MULTI and EXEC: all or nothing, with several servers, and when the server or the database dies in between. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* Takes the next job of the queue, and sends an EXEC that acknowledges it and adds another job. Returns the reply. */
static const char *hand_on(redisContext *c, const char *id, const char *queue, const char *body) {
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ACKJOB %s", id);
    expect(c, "+QUEUED", "ADDJOB %s %s 0", queue, body);
    return ask(c, "EXEC");
}

static void run_sql(const char *sql) {
    PGconn *conn = postgres_connect(server.database);
    PGresult *res = PQexec(conn, sql);

    assert_true(PQresultStatus(res) == PGRES_COMMAND_OK || PQresultStatus(res) == PGRES_TUPLES_OK);
    PQclear(res);
    PQfinish(conn);
}

/* ---- together with others ---- */

static void test_seen_at_all_servers(void **state) {
    const char *id = add_job(at[A], "first", "x", "");

    (void)state;
    expect_job_at(B, "first", id);
    assert_string_equal(text_of("%.5s", hand_on(at[C], id, "second", "y")), "[:1 +");
    EVENTUALLY(all_have("second", 1) && all_have("first", 0));
    assert_int_equal(jobs_in_database("first"), 0);
    expect(at[A], ":0", "ACKJOB %s", id);
    EVENTUALLY(all_agree("first") && all_agree("second"));
}

static void test_waiters_elsewhere(void **state) {
    struct wire w;
    struct value *v;

    (void)state;
    wait_at(B, &w, "waited");
    expect(at[A], "+OK", "MULTI");
    expect(at[A], "+QUEUED", "ADDJOB waited x 0");
    expect(at[A], "+QUEUED", "ADDJOB waited y 0");
    expect(at[A], "+QUEUED", "GETJOB FROM waited");
    assert_non_null(strstr(ask(at[A], "EXEC"), "\"x\"]]]"));
    v = wire_reply(&w, EVENTUALLY_MS);
    assert_non_null(v);
    value_free(v);
    wire_close(&w);
    EVENTUALLY(all_have("waited", 0) && all_agree("waited"));
}

/* The server puts back the jobs that the client did not get. */
static void test_client_goes_behind_exec(void **state) {
    struct wire w;

    (void)state;
    add_job(at[A], "left", "x", "RETRY 3600");
    raw_open(&w);
    wire_words(&w, "MULTI", NULL);
    wire_words(&w, "GETJOB", "FROM", "left", NULL);
    wire_words(&w, "ADDJOB", "left-too", "y", "0", NULL);
    raw_leave_during(&w, at[A], "EXEC");
    EVENTUALLY(jobs_in_database("left-too") == 1 && all_have("left", 1));
    EVENTUALLY(all_agree("left") && all_agree("left-too"));
}

/* Many clients pass jobs on. Their EXECs share transactions of the database, which refuses one EXEC of eight. */
#define CLIENTS 40

static void test_many_at_once(void **state) {
    redisContext *c[CLIENTS];
    int done = 0;

    (void)state;
    for (int i = 0; i < CLIENTS; i++) {
        const char *id = add_job(at[A], "from", "x", "");

        c[i] = client_open_on(group_size[i % SERVERS]);
        later(c[i], "MULTI");
        later(c[i], "ACKJOB %s", id);
        later(c[i], "ADDJOB to y 0");
        later(c[i], "ADDJOB to z 0 UNIQUE key-%d", i % 8);
        later(c[i], "EXEC");
    }
    for (int i = 0; i < CLIENTS; i++) {
        for (int n = 0; n < 4; n++)
            next_reply(c[i]);
        done += strncmp(next_reply(c[i]), "[:1 +D-", 7) == 0;
        redisFree(c[i]);
    }
    assert_int_equal(done, CLIENTS);
    EVENTUALLY(all_have("from", 0) && all_have("to", CLIENTS + 8));
    assert_int_equal(jobs_in_database("to"), CLIENTS + 8);
}

/* Each command sees the jobs of those before it, also with their keys. */
static void test_a_key_twice(void **state) {
    const char *reply, *second;

    (void)state;
    expect(at[A], "+OK", "MULTI");
    expect(at[A], "+QUEUED", "ADDJOB twice x 0 UNIQUE k WITHOUTCOME");
    expect(at[A], "+QUEUED", "ADDJOB twice y 0 UNIQUE k REPLACE WITHOUTCOME");
    expect(at[A], "+QUEUED", "GETJOB FROM twice");
    reply = ask(at[A], "EXEC");
    second = strstr(reply, "\"replaced\"");
    assert_true(strstr(reply, "\"added\"") != NULL && second != NULL);
    assert_non_null(strstr(second, "\"y\""));
    assert_int_equal(jobs_in_database("twice"), 1);
}

/* ---- refused by the database ---- */

static void test_refused_by_the_database(void **state) {
    const char *id = add_job(at[A], "kept", "x", "");

    (void)state;
    run_sql("alter table pgdisque.job add constraint no_bad check (body <> 'bad')");
    get_job(at[A], "kept", "x");
    assert_string_equal(text_of("%.36s", hand_on(at[A], id, "refused", "bad")),
                        "-DBERR nothing of the transaction wa");
    expect(at[A], ":0", "QLEN refused");
    expect(at[A], ":1", "ACKJOB %s", id);
    /* A refused EXEC does not harm the others of its transaction. */
    for (int i = 0; i < 20; i++) {
        later(at[A], "MULTI");
        later(at[A], "ADDJOB refused %s 0", i % 5 == 0 ? "bad" : "good");
        later(at[A], "EXEC");
    }
    for (int i = 0; i < 20; i++) {
        expect_next(at[A], "+OK");
        expect_next(at[A], "+QUEUED");
        assert_int_equal(next_reply(at[A])[0], i % 5 == 0 ? '-' : '[');
    }
    expect(at[A], ":16", "QLEN refused");
    run_sql("alter table pgdisque.job drop constraint no_bad");
}

/* ---- the connection is lost ---- */

/* The sessions that change jobs; that of the server that is asked to commit waits at that moment. */
#define WRITER "application_name like 'pgdisque %% write'"

static long long terminate(const char *condition) {
    return postgres_number(
        server.database,
        text_of("select count(pg_terminate_backend(pid)) from pg_stat_activity where " WRITER " and %s",
                condition));
}

static void send_exec(struct wire *w, const char *id, const char *queue) {
    raw_open(w);
    wire_words(w, "MULTI", NULL);
    raw_expect(w, "+OK");
    wire_words(w, "ACKJOB", id, NULL);
    raw_expect(w, "+QUEUED");
    wire_words(w, "ADDJOB", queue, "y", "0", NULL);
    raw_expect(w, "+QUEUED");
    wire_words(w, "EXEC", NULL);
}

static const char *exec_reply(struct wire *w) {
    struct value *v = wire_reply(w, EVENTUALLY_MS);
    static char text[256];
    char *all;

    assert_non_null(v);
    all = value_text(v);
    snprintf(text, sizeof text, "%s", all);
    free(all);
    value_free(v);
    wire_close(w);
    return text;
}

/* Nothing of it was committed: it is done again. */
static void test_lost_before_the_commit(void **state) {
    const char *id = add_job(at[A], "held", "x", "");
    PGconn *blocker = postgres_connect(server.database);
    struct wire w;

    (void)state;
    get_job(at[A], "held", "x");
    PQclear(PQexec(blocker, "begin; select 1 from pgdisque.job where body = 'x' for update"));
    send_exec(&w, id, "lost-before");
    EVENTUALLY(terminate("wait_event_type = 'Lock'") == 1);
    HOLDS_FOR(300, wire_pending(&w) == 0);
    PQfinish(blocker);
    assert_string_equal(text_of("%.5s", exec_reply(&w)), "[:1 +");
    EVENTUALLY(all_have("lost-before", 1) && all_have("held", 0));
    assert_int_equal(jobs_in_database("lost-before"), 1);
    assert_int_equal(jobs_in_database("held"), 0);
}

/* After a reconnection the server loads the queues again. EXEC often runs within the millisecond of that load. */
static void test_sees_its_jobs_after_a_reconnection(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        terminate("pid is not null");
        expect(at[A], "+OK", "MULTI");
        expect(at[A], "+QUEUED", "ADDJOB reload x 0");
        expect(at[A], "+QUEUED", "LPOP reload");
        assert_non_null(strstr(ask(at[A], "EXEC"), "\"x\""));
    }
    assert_int_equal(jobs_in_database("reload"), 0);
}

/* ---- too long ---- */

/* Each LPOS reads all elements. Without the bound EXEC takes more than ten times as long as the bound. */
static void test_long_ones_are_cancelled(void **state) {
    (void)state;
    expect(at[A], "+OK", "CONFIG SET transaction-timeout 1");
    run_sql("select count(*) from pgdisque.add_jobs('long', array_fill('x'::text, array[100000]))");
    /* A server that does not know the list yet replies without the database. */
    EVENTUALLY(all_have("long", 100000));
    expect(at[A], "+OK", "MULTI");
    expect(at[A], "+QUEUED", "ADDJOB beside x 0");
    for (int i = 0; i < 900; i++)
        expect(at[A], "+QUEUED", "LPOS long none");
    expect(at[A],
           "-LIMIT the transaction kept the database busy for longer than transaction-timeout: nothing was "
           "done. "
           "Divide it into smaller transactions",
           "EXEC");
    assert_int_equal(jobs_in_database("beside"), 0);
    expect(at[A], ":0", "QLEN beside");
    assert_string_equal(text_of("%.5s", hand_on(at[A], add_job(at[A], "beside", "x", ""), "beside", "y")),
                        "[:1 +");
}

/* ---- the server is killed ---- */

/* A chain of jobs: each step acknowledges a job and adds the next, at any of the servers. At each time exactly one job
 * exists, however the steps end. */
#define STEPS 120

static const char *next_job(redisContext *c) {
    const char *job = ask(c, "GETJOB NOHANG FROM chain");
    static char id[ID_SIZE];

    return sscanf(job, "[[\"chain\" \"%40[^\"]", id) == 1 ? id : NULL;
}

static void step(int n) {
    redisContext *c = client_open_on(group_size[n % SERVERS]);
    const char *id = next_job(c);

    if (id != NULL) {
        later(c, "MULTI");
        later(c, "ACKJOB %s", id);
        later(c, "ADDJOB chain step-%d 0 RETRY 1", n);
        later(c, "EXEC");
        for (int i = 0; i < 3; i++)
            next_reply(c);
        if (n % 10 == 5)
            server_kill(group_size[n % SERVERS]);
        next_reply(c);
    }
    redisFree(c);
    if (!server_running(group_size[n % SERVERS]))
        server_resume(group_size[n % SERVERS]);
    if (n % 10 == 8)
        terminate("true");
}

static void test_chain_never_breaks(void **state) {
    (void)state;
    add_job(at[A], "chain", "begin", "RETRY 1");
    for (int n = 0; n < STEPS; n++) {
        step(n);
        assert_int_equal(jobs_in_database("chain"), 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_seen_at_all_servers, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_waiters_elsewhere, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_client_goes_behind_exec, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_many_at_once, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_a_key_twice, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_refused_by_the_database, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_lost_before_the_commit, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_sees_its_jobs_after_a_reconnection, servers_setup,
                                        servers_teardown),
        cmocka_unit_test_setup_teardown(test_long_ones_are_cancelled, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_chain_never_breaks, servers_setup, servers_teardown),
    };

    return RUN_SUITE("multi", tests);
}
