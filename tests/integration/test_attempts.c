/* A job with ATTEMPTS dies once, after exactly as many deliveries, however the last lease ends and at which server. */
#include "servers.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, C };

static long long dead_at(int n, const char *queue) {
    return atoll(queue_field(at[n], queue, "dead"));
}

static bool all_count_dead(const char *queue, long long dead) {
    return dead_at(A, queue) == dead && dead_at(B, queue) == dead && dead_at(C, queue) == dead;
}

static long long rows_of(const char *table, const char *queue) {
    return postgres_number(server.database,
                           text_of("select count(*) from pgdisque.%s as j join pgdisque.queue as q "
                                   "on q.id = j.queue_id where q.name = '%s'",
                                   table, queue));
}

/* Takes the job at any of the servers, as soon as there is one. */
static bool taken_at(int n, const char *queue) {
    return strcmp(ask(at[n], "GETJOB NOHANG FROM %s", queue), "nil") != 0;
}

static void test_leases_that_end_at_all_servers(void **state) {
    const char *id = add_job(at[A], "leases", "x", "RETRY 1 ATTEMPTS 3");

    (void)state;
    for (int i = 0; i < 3; i++)
        EVENTUALLY(taken_at(i, "leases"));
    EVENTUALLY(all_count_dead("leases", 1));
    for (int i = 0; i < SERVERS; i++)
        assert_true(queue_is_empty(at[i], "leases"));
    EVENTUALLY(all_have("leases", 0) && all_agree("leases"));
    assert_int_equal(rows_of("dead", "leases"), 1);
    assert_int_equal(rows_of("job", "leases"), 0);
    assert_string_equal(job_field(at[B], id, "deliveries"), "3");
}

/* A client sends NACK to another server than the one that delivered the job. */
static void test_nacks_at_other_servers(void **state) {
    const char *id = add_job(at[A], "nacks", "x", "RETRY 600 ATTEMPTS 4");

    (void)state;
    for (int i = 0; i < 4; i++) {
        EVENTUALLY(taken_at(i % SERVERS, "nacks"));
        expect(at[(i + 1) % SERVERS], ":1", "NACK ERROR try-%d %s", i + 1, id);
    }
    EVENTUALLY(all_count_dead("nacks", 1));
    for (int i = 0; i < SERVERS; i++) {
        assert_true(queue_is_empty(at[i], "nacks"));
        assert_string_equal(job_field(at[i], id, "error"), "try-4");
    }
    expect(at[C], ":1", "ENQUEUE %s", id);
    EVENTUALLY(all_count_dead("nacks", 0) && all_have("nacks", 1));
    EVENTUALLY(taken_at(B, "nacks"));
    expect(at[A], ":1", "ACKJOB %s", id);
    EVENTUALLY(all_have("nacks", 0) && all_agree("nacks"));
}

static void test_an_unknown_dead_queue(void **state) {
    const char *id = add_job(at[A], "sender", "x", "RETRY 600 ATTEMPTS 1 DEADQUEUE grave");
    struct wire w;

    (void)state;
    wait_at(C, &w, "grave");
    EVENTUALLY(taken_at(A, "sender"));
    expect(at[B], ":1", "NACK ERROR bad %s", id);
    EVENTUALLY(wire_pending(&w) > 0);
    wire_close(&w);
    EVENTUALLY(rows_of("job", "grave") == 1 && rows_of("job", "sender") == 0);
    assert_int_equal(rows_of("dead", "sender"), 0);
    EVENTUALLY(all_count_dead("sender", 0) && all_have("sender", 0));
}

/* The leader moves the job to the dead letters, after the server that gave the last attempt has failed. */
static void test_the_last_attempt_of_a_dead_server(void **state) {
    (void)state;
    add_job(at[A], "orphans", "x", "RETRY 1 ATTEMPTS 1");
    add_job(at[A], "orphans", "y", "RETRY 7 ATTEMPTS 1");
    EVENTUALLY(taken_at(B, "orphans"));
    EVENTUALLY(taken_at(B, "orphans"));
    server_kill(group_size[B]);
    EVENTUALLY(rows_of("dead", "orphans") == 1);
    /* The second job runs until the end of its lease. */
    if (!WAIT_UNTIL(rows_of("dead", "orphans") == 2, 2 * EVENTUALLY_MS))
        fail_msg("the lease of a dead server was not inherited");
    EVENTUALLY(dead_at(A, "orphans") == 2 && dead_at(C, "orphans") == 2);
    assert_true(queue_is_empty(at[A], "orphans") && queue_is_empty(at[C], "orphans"));
    EVENTUALLY(number(at[A], "QLEN orphans") == 0 && number(at[C], "QLEN orphans") == 0);
}

/* A worker that never answers, servers that are killed: never more than so many deliveries. */
static void test_kills_between_attempts(void **state) {
    int deliveries = 0;

    (void)state;
    add_job(at[A], "killed", "x", "RETRY 1 ATTEMPTS 4");
    while (rows_of("dead", "killed") == 0) {
        assert_in_range(deliveries, 0, 4);
        if (!WAIT_UNTIL(taken_at(A, "killed") || rows_of("dead", "killed") == 1, EVENTUALLY_MS))
            fail_msg("neither delivered nor dead after %d deliveries", deliveries);
        if (rows_of("dead", "killed") == 1)
            break;
        deliveries++;
        server_kill(group_size[A]);
        servers_teardown(state);
        servers_setup(state);
    }
    assert_int_equal(deliveries, 4);
    EVENTUALLY(all_count_dead("killed", 1));
    assert_int_equal(rows_of("job", "killed"), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, servers_setup, servers_teardown)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_leases_that_end_at_all_servers), TEST(test_nacks_at_other_servers),
        TEST(test_an_unknown_dead_queue),          TEST(test_the_last_attempt_of_a_dead_server),
        TEST(test_kills_between_attempts),
    };

    return RUN_SUITE("attempts", tests);
}
