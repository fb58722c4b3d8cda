/* Tokens over several servers: a late worker changes nothing, while servers die and connections are cut. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { A, B, C };

/* The client at n takes the job. The delivery has this token. */
static void expect_token(int n, const char *queue, const char *id, int token) {
    expect(at[n], text_of("[[\"%s\" \"%s\" \"x\" :%d]]", queue, id, token),
           "GETJOB WITHTOKENS TIMEOUT %d FROM %s", (int)patience(EVENTUALLY_MS), queue);
}

/* A worker at A has the job, then a worker at B. The commands of the first arrive at C. */
static void test_taken_over_elsewhere(void **state) {
    const char *id = add_job(at[A], "over", "x", "RETRY 3");

    (void)state;
    expect_token(A, "over", id, 1);
    expect_token(B, "over", id, 2);
    expect(at[C], ":1000", "WORKING %s:2 1000", id);
    for (int i = 0; i < SERVERS; i++) {
        expect_start(at[i], "-STALE ", "ACKJOB %s:1", id);
        expect_start(at[i], "-STALE ", "NACK %s:1", id);
        expect_start(at[i], "-STALE ", "WORKING %s:1 1000", id);
    }
    assert_string_equal(job_field(at[C], id, "state"), "active");
    assert_string_equal(job_field(at[C], id, "nacks"), "0");
    expect(at[C], ":1", "ACKJOB %s:2", id);
    EVENTUALLY(all_have("over", 0) && all_agree("over"));
    assert_int_equal(jobs_in_database("over"), 0);
}

/* A job that comes back in each of the possible ways gets a new token. */
static void test_each_delivery_has_another(void **state) {
    const char *id = add_job(at[A], "each", "x", "");
    int token = 1;

    (void)state;
    expect_token(A, "each", id, token);
    for (int round = 0; round < 2; round++) {
        expect(at[B], ":1", "NACK %s", id);
        expect_token(C, "each", id, ++token);
        expect(at[B], ":1", "ENQUEUE %s", id);
        expect_token(A, "each", id, ++token);
        free(
            postgres_query(server.database, "select sum(pgdisque.release_node(number)) from pgdisque.nodes"));
        expect_token(B, "each", id, ++token);
    }
    for (int old = 1; old < token; old++)
        expect_start(at[A], "-STALE ", "ACKJOB %s:%d", id, old);
    expect(at[A], ":1", "ACKJOB %s:%d", id, token);
}

/* The server that gave the job is killed; its word is in the row. */
static void test_survives_the_server(void **state) {
    const char *id = add_job(at[A], "killed", "x", "RETRY 2");
    const char *late = add_job(at[B], "killed2", "x", "RETRY 100");

    (void)state;
    expect_token(A, "killed", id, 1);
    expect_token(A, "killed2", late, 1);
    server_kill(group_size[A]);
    expect_token(B, "killed", id, 2);
    expect_start(at[C], "-STALE ", "ACKJOB %s:1", id);
    expect(at[C], ":1", "ACKJOB %s:2", id);
    expect(at[C], ":1", "ACKJOB %s:1", late);
}

#define JOBS 200

/* Takes the jobs in any order. */
static void take_all(int n, const char *queue, int token) {
    for (int i = 0; i < JOBS; i++) {
        const char *got =
            ask(at[n], "GETJOB WITHTOKENS TIMEOUT %d FROM %s", (int)patience(EVENTUALLY_MS), queue);

        if (strstr(got, text_of(" :%d]]", token)) == NULL)
            fail_msg("got %s, want token %d", got, token);
    }
}

/* Sends the words of both workers while connections are cut. */
static void acknowledge_all(char ids[JOBS][ID_SIZE]) {
    for (int i = 0; i < JOBS; i++) {
        later(at[A], "ACKJOB %s:1", ids[i]);
        later(at[B], "ACKJOB %s:2", ids[i]);
    }
    for (int i = 0; i < JOBS; i++) {
        const char *stale = next_reply(at[A]), *good;

        if (i % 40 == 0)
            sessions_end("write");
        good = next_reply(at[B]);
        if (strncmp(stale, "-STALE ", 7) != 0 && strcmp(stale, ":0") != 0)
            fail_msg("the first worker is told %s", stale);
        if (strcmp(good, ":1") != 0)
            fail_msg("the second worker is told %s", good);
    }
}

/* Late workers remove nothing. A repeated ACKJOB of the other workers reports their removals. */
static void test_lost_connections(void **state) {
    static char ids[JOBS][ID_SIZE];

    (void)state;
    for (int round = 0; round < 3; round++) {
        char queue[16];

        snprintf(queue, sizeof queue, "cuts%d", round);
        for (int i = 0; i < JOBS; i++)
            strcpy(ids[i], add_job(at[A], queue, "x", ""));
        take_all(A, queue, 1);
        for (int i = 0; i < JOBS; i++)
            expect(at[C], ":1", "NACK %s", ids[i]);
        take_all(B, queue, 2);
        acknowledge_all(ids);
        assert_int_equal(jobs_in_database(queue), 0);
        EVENTUALLY(all_have(queue, 0));
        /* All are connected again. */
        for (int i = 0; i < SERVERS; i++)
            expect(at[i], ":0", "ACKJOB %s:2", ids[0]);
    }
}

/* Both workers send NACK and WORKING while connections are cut. The first worker does not change the lease of the
 * second. The NACK of the second is executed once. */
static void test_lost_nacks(void **state) {
    static char ids[JOBS][ID_SIZE];

    (void)state;
    for (int i = 0; i < JOBS; i++)
        strcpy(ids[i], add_job(at[A], "nacks", "x", "RETRY 1000"));
    take_all(A, "nacks", 1);
    for (int i = 0; i < JOBS; i++)
        expect(at[C], ":1", "ENQUEUE %s", ids[i]);
    take_all(B, "nacks", 2);
    for (int i = 0; i < JOBS; i++) {
        later(at[A], "NACK %s:1", ids[i]);
        later(at[A], "WORKING %s:1", ids[i]);
        later(at[B], "WORKING %s:2", ids[i]);
        later(at[B], "NACK %s:2", ids[i]);
    }
    for (int i = 0; i < JOBS; i++) {
        const char *nacked;

        if (i % 40 == 0)
            sessions_end("write");
        nacked = next_reply(at[A]);
        if (strncmp(nacked, "-STALE ", 7) != 0 && strncmp(nacked, "-UNKNOWN ", 9) != 0)
            fail_msg("the first worker is told %s", nacked);
        assert_memory_equal(next_reply(at[A]), "-STALE ", 7);
        expect_next(at[B], ":1000");
        expect_next(at[B], ":1");
    }
    for (int i = 0; i < JOBS; i++) {
        assert_string_equal(job_field(at[C], ids[i], "nacks"), "1");
        assert_string_equal(job_field(at[C], ids[i], "additional-deliveries"), "1");
    }
    EVENTUALLY(all_have("nacks", JOBS) && all_agree("nacks"));
    expect(at[C], "+OK", "DEBUG FLUSHALL");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_taken_over_elsewhere), TEST(test_each_delivery_has_another),
        TEST(test_survives_the_server),  TEST(test_lost_connections),
        TEST(test_lost_nacks),
    };

    return RUN_SUITE("tokens", tests);
}
