/* WORKERS and RELEASE over several servers. */
#include "servers.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, C };

static bool lists(int n, const char *queue, const char *text) {
    return strstr(ask(at[n], "WORKERS %s", queue), text) != NULL;
}

/* Gives the client at n the name. */
static void call_oneself(int n, const char *name) {
    expect(at[n], "+OK", "CLIENT SETNAME %s", name);
}

static void test_listed_everywhere(void **state) {
    const char *ids[SERVERS], *nodes[SERVERS];

    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        nodes[i] = node_id(at[i]);
        call_oneself(i, text_of("worker%d", i));
        ids[i] = add_job(at[A], "listed", "x", "RETRY 1000");
        expect_job_at(i, "listed", ids[i]);
    }
    for (int i = 0; i < SERVERS; i++)
        for (int k = 0; k < SERVERS; k++)
            EVENTUALLY(
                lists(i, "listed",
                      text_of("\"node\" \"%s\" \"worker\" \"worker%d\" \"queue\" \"listed\" \"jobs\" :1",
                              nodes[k], k)));
    assert_int_equal(postgres_number(server.database, "select count(*) from pgdisque.workers as w "
                                                      "join pgdisque.nodes as n on n.number = w.node "
                                                      "where w.worker like 'worker_' and w.queue = 'listed'"),
                     SERVERS);
    expect(at[B], ":3", "ACKJOB %s %s %s", ids[0], ids[1], ids[2]);
    expect(at[C], "[]", "WORKERS listed");
}

/* The jobs of a worker come back at once from all servers, and go to clients that wait at any server. */
static void test_released_everywhere(void **state) {
    const char *ids[SERVERS];
    struct wire w;

    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        call_oneself(i, "many");
        ids[i] = add_job(at[i], "released", "x", "RETRY 1000");
        expect_job_at(i, "released", ids[i]);
    }
    EVENTUALLY(postgres_number(server.database, "select count(*) from pgdisque.job where worker = 'many'") ==
               SERVERS);
    expect(at[B], ":0", "RELEASE WORKER many NODE sql");
    expect(at[B], ":3", "RELEASE WORKER many");
    EVENTUALLY(all_have("released", SERVERS) && all_agree("released"));
    for (int i = 0; i < SERVERS; i++)
        expect_start(at[i], "[[", "GETJOB TIMEOUT 60000 FROM released");
    EVENTUALLY(all_have("released", 0));
    wait_at(C, &w, "released");
    expect(at[A], ":1", "RELEASE WORKER many NODE %s", node_id(at[A]));
    EVENTUALLY(wire_pending(&w) > 0);
    wire_close(&w);
    expect(at[A], ":3", "ACKJOB %s %s %s", ids[0], ids[1], ids[2]);
    EVENTUALLY(all_have("released", 0) && all_agree("released"));
}

/* A worker crashes, and so does its server a moment later. */
static void test_of_a_server_that_is_dead(void **state) {
    redisContext *crashed = client_open_on(group_size[A]);
    const char *id = add_job(at[B], "dead", "x", "RETRY 1000");
    const char *node = node_id(at[A]);

    (void)state;
    expect(crashed, "+OK", "CLIENT SETNAME crashed");
    expect_start(crashed, "[[", "GETJOB TIMEOUT 60000 FROM dead");
    redisFree(crashed);
    EVENTUALLY(
        postgres_number(server.database, "select count(*) from pgdisque.job where worker = 'crashed'") == 1);
    server_kill(group_size[A]);
    expect(at[B], ":1", "RELEASE WORKER crashed NODE %s", node);
    expect_job_at(C, "dead", id);
    expect(at[B], ":1", "ACKJOB %s", id);
}

/* Workers of SQL have names of their own. */
static void test_workers_of_sql(void **state) {
    const char *id = add_job(at[A], "sql", "x", "RETRY 1000");

    (void)state;
    EVENTUALLY(all_have("sql", 1));
    free(postgres_query(server.database, "select count(*) from pgdisque.get_jobs('sql', 1, 'by hand')"));
    EVENTUALLY(lists(B, "sql", "\"node\" \"sql\" \"worker\" \"by hand\" \"queue\" \"sql\" \"jobs\" :1"));
    expect(at[C], ":1", "RELEASE NODE sql");
    expect_job_at(B, "sql", id);
    call_oneself(C, "client");
    expect(at[A], ":1", "NACK %s", id);
    expect_job_at(C, "sql", id);
    EVENTUALLY(lists(B, "sql", "\"worker\" \"client\""));
    assert_int_equal(postgres_number(server.database, "select pgdisque.release_worker('client')"), 1);
    expect_job_at(A, "sql", id);
    expect(at[A], ":1", "ACKJOB %s", id);
    EVENTUALLY(all_have("sql", 0) && all_agree("sql"));
}

#define JOBS 6000

/* The reply has each worker once in each queue, in the order of the queues. */
static bool knows_all_workers(int n) {
    const char *reply = ask(at[n], "WORKERS"), *before, *thousands, *behind;

    before = strstr(reply, "\"worker\" \"modest\" \"queue\" \"before\" \"jobs\" :1 ");
    thousands = strstr(reply, text_of("\"worker\" \"greedy\" \"queue\" \"thousands\" \"jobs\" :%d ", JOBS));
    behind = strstr(reply, "\"worker\" \"modest\" \"queue\" \"behind\" \"jobs\" :1 ");
    return before != NULL && thousands > before && behind > thousands;
}

/* More jobs than one statement handles. Their queue is between two others in the order of the database. */
static void test_thousands(void **state) {
    (void)state;
    call_oneself(B, "modest");
    (void)add_job(at[A], "before", "x", "RETRY 1000");
    expect_start(at[B], "[[", "GETJOB FROM before");
    for (int i = 0; i < JOBS; i++)
        later(at[A], "ADDJOB thousands x 0 RETRY 1000");
    for (int i = 0; i < JOBS; i++)
        assert_true(*next_reply(at[A]) == '+');
    call_oneself(A, "greedy");
    for (int got = 0; got < JOBS; got += 500)
        expect_start(at[A], "[[", "GETJOB COUNT 500 FROM thousands");
    assert_true(queue_is_empty(at[A], "thousands"));
    EVENTUALLY(postgres_number(server.database,
                               "select count(*) from pgdisque.job where worker = 'greedy'") == JOBS);
    (void)add_job(at[A], "behind", "x", "RETRY 1000");
    expect_start(at[B], "[[", "GETJOB TIMEOUT 60000 FROM behind");
    EVENTUALLY(
        postgres_number(server.database, "select count(*) from pgdisque.job where worker = 'modest'") == 2);
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(knows_all_workers(i));
    expect(at[B], text_of(":%d", JOBS), "RELEASE WORKER greedy");
    EVENTUALLY(all_have("thousands", JOBS) && all_agree("thousands"));
    expect(at[A], "+OK", "DEBUG FLUSHALL");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_listed_everywhere), TEST(test_released_everywhere), TEST(test_of_a_server_that_is_dead),
        TEST(test_workers_of_sql),    TEST(test_thousands),
    };

    return RUN_SUITE("workers", tests);
}
