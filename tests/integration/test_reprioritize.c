/* REPRIORITIZE over several servers: the order holds at all of them, and each job is there once. */
#include "servers.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* An ID in a reply, kept for longer than texts of the fixture are. */
static const char *id_in(const char *reply) {
    static char kept[16][41];
    static size_t next;
    char *id = kept[next++ % 16];

    assert_int_equal(strncmp(reply, "[\"D-", 4), 0);
    memcpy(id, reply + 2, 40);
    return id;
}

/* The new ID of a job. */
static const char *moved(redisContext *c, int priority, const char *id) {
    return id_in(ask(c, text_of("REPRIORITIZE %d %s", priority, id)));
}

static void expect_order(redisContext *c, const char *queue, const char *bodies) {
    for (; *bodies != '\0'; bodies++)
        get_job(c, queue, text_of("%c", *bodies));
    assert_true(queue_is_empty(c, queue));
}

/* Tells if the server knows that this is the first job. The server searches only the keys that it was told of. */
static bool is_first(redisContext *c, const char *queue, const char *id) {
    return strstr(ask(c, text_of("QPEEK %s 1", queue)), id) != NULL;
}

/* A and B have passed by where the jobs go to, and hear of it. */
static void test_elsewhere_before_the_frontier(void **state) {
    const char *ids[6], *first;

    (void)state;
    for (int i = 0; i < 6; i++)
        ids[i] = add_job(at[A], "up", text_of("%c", 'a' + i), "");
    EVENTUALLY(all_have("up", 6));
    get_job(at[B], "up", "a");
    get_job(at[A], "up", "b");
    moved(at[B], 3, ids[4]);
    first = moved(at[C], 9, ids[5]);
    EVENTUALLY(is_first(at[A], "up", first) && is_first(at[B], "up", first));
    get_job(at[A], "up", "f");
    expect_order(at[B], "up", "ecd");
    EVENTUALLY(all_have("up", 0));
}

/* The server that moves the job changes no counter. A client that waits at another server gets the next job. */
static void test_down_again(void **state) {
    const char *first, *id;

    (void)state;
    first = add_job(at[A], "down", "x", "PRIORITY 9");
    add_job(at[A], "down", "a", "PRIORITY 5");
    add_job(at[A], "down", "b", "");
    EVENTUALLY(all_have("down", 3));
    id = moved(at[B], 1, first);
    assert_true(all_have("down", 3));
    assert_string_equal(moved(at[C], 1, first), id);
    expect_order(at[B], "down", "axb");
    EVENTUALLY(all_have("down", 0));
    expect(at[A], ":0", "ACKJOB %s", first);
    expect(at[A], ":1", "ACKJOB %s", id);
}

/* A server dies before it tells the others about the jobs that it moved. */
static void test_of_a_dead_server(void **state) {
    const char *ids[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        ids[i] = add_job(at[A], "dead", text_of("%c", 'a' + i), "");
    get_job(at[A], "dead", "a");
    moved(at[B], 3, ids[3]);
    server_kill(group_size[B]);
    EVENTUALLY(number(at[A], "QLEN dead") == 3);
    for (int i = 0; i < 3; i++)
        assert_true(strncmp(ask(at[A], "GETJOB FROM dead"), "[[\"dead\"", 8) == 0);
    assert_true(queue_is_empty(at[A], "dead"));
}

/* Each job is delivered once, while clients at all servers take and move jobs. */
static void test_while_they_are_taken(void **state) {
    enum { JOBS = 300 };
    int taken = 0;

    (void)state;
    for (int i = 0; i < JOBS; i++) {
        const char *id = add_job(at[i % 3], "busy", text_of("%d", i), "RETRY 1000");

        later(at[B], text_of("REPRIORITIZE %d %s", i % 7, id));
        later(at[C], text_of("REPRIORITIZE %d %s", i % 5, id));
        later(at[A], "GETJOB NOHANG FROM busy");
        taken += strncmp(next_reply(at[A]), "[[", 2) == 0;
        next_reply(at[B]);
        next_reply(at[C]);
    }
    assert_int_equal(jobs_in_database("busy"), JOBS);
    for (; taken < JOBS; taken++)
        assert_true(strncmp(ask(at[taken % 3], "GETJOB TIMEOUT 60000 FROM busy"), "[[", 2) == 0);
    assert_true(queue_is_empty(at[A], "busy"));
    EVENTUALLY(all_have("busy", 0));
}

/* The sessions of the server that moves them break: its jobs are moved once, and its reply says where they are. */
static void test_after_lost_connections(void **state) {
    const char *ids[20], *first = NULL;

    (void)state;
    for (int i = 0; i < 20; i++)
        ids[i] = add_job(at[A], "lost", text_of("%c", 'a' + i), "");
    for (int i = 19; i >= 0; i--) {
        later(at[B], text_of("REPRIORITIZE %d %s", 20 - i, ids[i]));
        if (i % 5 == 1)
            sessions_end("");
        first = id_in(next_reply(at[B]));
    }
    EVENTUALLY(all_have("lost", 20));
    EVENTUALLY(is_first(at[A], "lost", first));
    expect_order(at[A], "lost", "abcdefghijklmnopqrst");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_elsewhere_before_the_frontier),
        TEST(test_down_again),
        TEST(test_of_a_dead_server),
        TEST(test_while_they_are_taken),
        TEST(test_after_lost_connections),
    };

    return RUN_SUITE("reprioritize", tests);
}
