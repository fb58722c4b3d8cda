/* PRIORITY: the highest comes first, at any server that the jobs were added to, and while servers die. */
#include "servers.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* Takes a job at a time and checks the order. Each letter is a body. */
static void expect_order(redisContext *c, const char *queue, const char *bodies) {
    for (; *bodies != '\0'; bodies++)
        get_job(c, queue, text_of("%c", *bodies));
    assert_true(queue_is_empty(c, queue));
}

static void test_strict_order(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        add_job(at[A], "strict", text_of("%c", 'm' + i), "");
        add_job(at[A], "strict", text_of("%c", 'e' + i), "PRIORITY 1");
        add_job(at[A], "strict", text_of("%c", 'a' + i), "PRIORITY 200");
    }
    expect_order(at[A], "strict", "abcdefghmnop");
}

/* A returned job comes back behind jobs of a higher priority. */
static void test_returned_jobs_let_urgent_ones_pass(void **state) {
    const char *low[2];

    (void)state;
    low[0] = add_job(at[A], "back", "y", "");
    low[1] = add_job(at[A], "back", "z", "");
    get_job(at[A], "back", "y");
    get_job(at[A], "back", "z");
    add_job(at[A], "back", "a", "PRIORITY 9");
    add_job(at[A], "back", "b", "PRIORITY 9");
    expect(at[A], ":2", "NACK %s %s", low[1], low[0]);
    expect_order(at[A], "back", "abyz");
}

/* The same for jobs that waiting clients got. No claim has moved the queue's scan position past these jobs. */
static void test_handed_over_jobs_that_return(void **state) {
    struct wire w;
    const char *low;

    (void)state;
    wait_at(A, &w, "handed");
    low = add_job(at[A], "handed", "z", "");
    raw_expect(&w, text_of("[[\"handed\" \"%s\" \"z\"]]", low));
    wire_close(&w);
    add_job(at[A], "handed", "a", "PRIORITY 9");
    add_job(at[A], "handed", "b", "PRIORITY 3");
    expect(at[A], ":1", "NACK %s", low);
    expect_order(at[A], "handed", "abz");
}

/* The order holds among the jobs of each server. A server finds the jobs behind its scan position that another server
 * has added. */
static void test_added_elsewhere_behind_the_frontier(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++)
        add_job(at[A], "elsewhere", "z", "");
    for (int i = 0; i < 3; i++)
        get_job(at[A], "elsewhere", "z");
    for (int i = 0; i < 3; i++)
        add_job(at[B], "elsewhere", text_of("%c", 'a' + i), "PRIORITY 50");
    EVENTUALLY(number(at[A], "QLEN elsewhere") == 6);
    expect_order(at[A], "elsewhere", "abczzz");
    EVENTUALLY(all_have("elsewhere", 0));
}

static void test_a_delay_is_kept(void **state) {
    (void)state;
    add_job(at[B], "delay", "a", "PRIORITY 5 DELAY 1");
    add_job(at[B], "delay", "z", "");
    EVENTUALLY(number(at[B], "QLEN delay") == 2);
    expect_order(at[B], "delay", "az");
}

/* GETJOB serves the queues in turn: many urgent jobs in one queue do not delay the others. */
static void test_other_queues_do_not_starve(void **state) {
    const char *got;

    (void)state;
    add_job(at[A], "calm", "calm", "");
    for (int i = 0; i < 20; i++)
        add_job(at[A], "flood", "x", "PRIORITY 255");
    got = ask(at[A], "GETJOB COUNT 4 FROM flood calm");
    assert_non_null(strstr(got, "\"calm\"]"));
    got = ask(at[A], "GETJOB COUNT 100 FROM flood");
    assert_non_null(strstr(got, "flood"));
}

static void fill(redisContext *c, const char *queue) {
    for (int i = 0; i < 5; i++) {
        add_job(c, queue, text_of("%c", 'm' + i), "RETRY 1000");
        add_job(c, queue, text_of("%c", 'a' + i), "PRIORITY 9 RETRY 1000");
    }
}

static void test_after_kills(void **state) {
    (void)state;
    fill(at[A], "kills");
    get_job(at[A], "kills", "a");
    server_kill(group_size[A]);
    server_kill(group_size[B]);
    servers_teardown(NULL);
    servers_setup(NULL);
    EVENTUALLY(all_have("kills", 9));
    get_job(at[A], "kills", "b");
    get_job(at[B], "kills", "c");
    expect_order(at[C], "kills", "demnopq");
}

/* A server dies before it tells the others about its last jobs. */
static void test_of_a_dead_server(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        add_job(at[A], "dead", "z", "");
    get_job(at[A], "dead", "z");
    for (int i = 0; i < 3; i++)
        later(at[B], "ADDJOB dead a 0 PRIORITY 9");
    for (int i = 0; i < 3; i++)
        assert_true(*next_reply(at[B]) == '+');
    server_kill(group_size[B]);
    EVENTUALLY(number(at[A], "QLEN dead") == 5);
    expect_order(at[A], "dead", "aaazz");
}

/* The connections of A break, and A loads the state of its queues again. */
static void test_after_lost_connections(void **state) {
    (void)state;
    fill(at[A], "lost");
    get_job(at[A], "lost", "a");
    for (int i = 0; i < 3; i++) {
        sessions_end("");
        get_job(at[A], "lost", text_of("%c", 'b' + i));
    }
    EVENTUALLY(number(at[A], "QLEN lost") == 6);
    expect_order(at[A], "lost", "emnopq");
}

static void test_expiry(void **state) {
    (void)state;
    add_job(at[A], "expiry", "x", "PRIORITY 9 TTL 1");
    EVENTUALLY(jobs_in_database("expiry") == 0);
    EVENTUALLY(all_have("expiry", 0));
    assert_int_equal(postgres_number(server.database,
                                     "select count(*) from pgdisque.job where rank <> 0 and wake_at is null"),
                     0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_strict_order),
        TEST(test_returned_jobs_let_urgent_ones_pass),
        TEST(test_handed_over_jobs_that_return),
        TEST(test_added_elsewhere_behind_the_frontier),
        TEST(test_a_delay_is_kept),
        TEST(test_other_queues_do_not_starve),
        TEST(test_after_kills),
        TEST(test_of_a_dead_server),
        TEST(test_after_lost_connections),
        TEST(test_expiry),
    };

    return RUN_SUITE("priority", tests);
}
