/* GETJOB with patterns: queues that other servers make, in turn, and many of them. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

#define MANY 2000

static void wait_for(int n, struct wire *w, const char *pattern) {
    raw_open_on(w, group_size[n]);
    wire_words(w, "GETJOB", "FROM", pattern, NULL);
    EVENTUALLY(wire_pending(w) > 0 || raw_waits(w, at[n]));
}

/* A client of another server makes the queue. No client of this server has used its name before. */
static void test_queues_made_elsewhere(void **state) {
    struct wire w;

    (void)state;
    for (int i = 0; i < 6; i++) {
        const char *queue = text_of("elsewhere:%d", i), *id;

        wait_for(B, &w, "elsewhere:*");
        id = add_job(at[i % SERVERS], queue, "x", "");
        raw_expect(&w, text_of("[[\"%s\" \"%s\" \"x\"]]", queue, id));
        wire_close(&w);
        expect(at[C], ":1", "ACKJOB %s", id);
        EVENTUALLY(all_have(queue, 0) && all_agree(queue));
    }
}

/* A job wakes one of the clients that wait by a pattern. The others get the next jobs. */
static void test_one_job_wakes_one(void **state) {
    struct wire w[SERVERS];
    int served = 0;

    (void)state;
    for (int i = 0; i < SERVERS; i++)
        wait_for(i, &w[i], "o?e:*");
    for (int n = 1; n <= SERVERS; n++) {
        add_job(at[B], text_of("one:%d", n), "x", "");
        EVENTUALLY((wire_pending(&w[A]) > 0) + (wire_pending(&w[B]) > 0) + (wire_pending(&w[C]) > 0) >
                   served);
        served++;
        HOLDS_FOR(50, (wire_pending(&w[A]) > 0) + (wire_pending(&w[B]) > 0) + (wire_pending(&w[C]) > 0) ==
                          served);
    }
    for (int i = 0; i < SERVERS; i++)
        wire_close(&w[i]);
}

static int count_of(const char *text, const char *part) {
    int count = 0;

    while ((text = strstr(text, part)) != NULL) {
        text += strlen(part);
        count++;
    }
    return count;
}

/* A deep queue among short ones: GETJOB serves all of them in turn, a job at a time. */
static void test_evenly_however_deep(void **state) {
    int got[3] = { 0 };

    (void)state;
    for (int i = 0; i < 300; i++)
        later(at[A], "ADDJOB even:deep x 0");
    for (int i = 0; i < 20; i++)
        later(at[A], "ADDJOB even:%d x 0", i % 2);
    for (int i = 0; i < 320; i++)
        next_reply(at[A]);
    for (int i = 0; i < 30; i++) {
        const char *job = ask(at[A], i % 2 ? "GETJOB NOHANG FROM even:*" : "GETJOB NOHANG FROM even:* gone");

        got[0] += count_of(job, "even:deep");
        got[1] += count_of(job, "even:0");
        got[2] += count_of(job, "even:1");
    }
    assert_int_equal(got[0], 10);
    assert_int_equal(got[1], 10);
    assert_int_equal(got[2], 10);
}

/* The same by names: the first of them does not keep all clients to itself. */
static void test_names_evenly(void **state) {
    int got = 0;

    (void)state;
    for (int i = 0; i < 60; i++)
        later(at[A], "ADDJOB named:%d x 0", i < 50 ? 0 : 1);
    for (int i = 0; i < 60; i++)
        next_reply(at[A]);
    for (int i = 0; i < 20; i++)
        got += count_of(ask(at[A], "GETJOB NOHANG FROM named:0 named:1"), "named:1");
    assert_int_equal(got, 10);
}

/* Every job of thousands of queues comes once, through patterns of which each queue fits several. */
static void test_many_queues(void **state) {
    static const char *const patterns[] = { "many:*", "*:*5", "m?ny:1*", "many:*[02468]" };
    int left = MANY;

    (void)state;
    for (int i = 0; i < MANY; i++)
        later(at[i % 2], "ADDJOB many:%d x 0", i);
    for (int i = 0; i < MANY; i++)
        next_reply(at[i % 2]);
    for (int round = 0; left > 0; round++) {
        const char *job;
        char *id;

        later(at[B], "GETJOB TIMEOUT 100 COUNT 50 FROM %s", patterns[round % 4]);
        job = next_reply(at[B]);
        for (; (job = strstr(job, "\"D-")) != NULL; job += ID_SIZE) {
            id = strndup(job + 1, ID_SIZE - 1);
            later(at[C], "ACKJOB %s", id);
            expect_next(at[C], ":1");
            free(id);
            left--;
        }
    }
    assert_int_equal(left, 0);
    assert_string_equal(ask(at[A], "GETJOB NOHANG FROM many:*"), "nil");
}

/* A client that disconnects while it waits leaves the pattern. The next client gets the job. */
static void test_a_disconnected_client_takes_no_job(void **state) {
    struct wire gone, w;
    long long before;

    (void)state;
    wait_for(A, &gone, "goes:*");
    wait_for(A, &w, "goes:*");
    before = info_number(at[A], "blocked_clients");
    wire_close(&gone);
    EVENTUALLY(info_number(at[A], "blocked_clients") == before - 1);
    add_job(at[C], "goes:1", "x", "");
    EVENTUALLY(wire_pending(&w) > 0);
    wire_close(&w);
}

/* Killed while a client waited and another had been given a job: that comes back, to a pattern. */
static void test_killed(void **state) {
    const char *id = add_job(at[B], "killed:1", "x", "RETRY 3");
    struct wire w;

    (void)state;
    assert_non_null(strstr(ask(at[B], "GETJOB FROM killed:*"), id));
    wait_for(B, &w, "killed:*");
    redisFree(at[B]);
    server_kill(group_size[B]);
    wire_close(&w);
    wait_for(A, &w, "k*");
    raw_expect(&w, text_of("[[\"killed:1\" \"%s\" \"x\"]]", id));
    wire_close(&w);
    expect(at[A], ":1", "ACKJOB %s", id);
    server_resume(group_size[B]);
    at[B] = client_open_on(group_size[B]);
    /* It has just begun to hear the others. */
    wait_for(B, &w, "killed:*");
    id = add_job(at[A], "killed:2", "x", "RETRY 100");
    raw_expect(&w, text_of("[[\"killed:2\" \"%s\" \"x\"]]", id));
    wire_close(&w);
    expect(at[A], ":1", "ACKJOB %s", id);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_queues_made_elsewhere),
        TEST(test_one_job_wakes_one),
        TEST(test_evenly_however_deep),
        TEST(test_names_evenly),
        TEST(test_many_queues),
        TEST(test_a_disconnected_client_takes_no_job),
        TEST(test_killed),
    };

    return RUN_SUITE("patterns", tests);
}
