/* Lists and jobs in one queue, over several servers, while clients disconnect and servers end. */
#include "servers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* ---- both kinds of programs ---- */

static void test_old_producers_new_consumers(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        expect(at[A], text_of(":%d", i + 1), "LPUSH fromleft %d", i);
        expect(at[A], text_of(":%d", i + 1), "RPUSH fromright %d", i);
    }
    for (int i = 0; i < 20; i++) {
        get_job(at[A], "fromleft", text_of("%d", i));
        get_job(at[A], "fromright", text_of("%d", i));
    }
}

static void test_new_producers_old_consumers(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        add_job(at[A], "toleft", text_of("%d", i), "");
        add_job(at[A], "toright", text_of("%d", i), "");
    }
    for (int i = 0; i < 20; i++) {
        expect(at[A], text_of("[\"toleft\" \"%d\"]", i), "BLPOP toleft 1");
        expect(at[A], text_of("[\"toright\" \"%d\"]", i), "BRPOP toright 1");
    }
}

/* List commands do not see a job that GETJOB has delivered until the job returns to its place. */
static void test_a_job_that_returns(void **state) {
    const char *id;

    (void)state;
    expect(at[A], ":3", "RPUSH returns a b c");
    id = get_job(at[A], "returns", "a");
    expect(at[A], ":2", "LLEN returns");
    expect(at[A], ":1", "NACK %s", id);
    expect(at[A], "[\"a\" \"b\" \"c\"]", "LPOP returns 9");
    expect(at[A], ":0", "ACKJOB %s", id);
}

static void test_priorities_first(void **state) {
    (void)state;
    expect(at[A], ":2", "LPUSH urgent b c");
    add_job(at[A], "urgent", "a", "PRIORITY 5");
    expect(at[A], "[\"a\" \"b\" \"c\"]", "RPOP urgent 9");
}

static void test_elements_outlive_a_day(void **state) {
    (void)state;
    expect(at[A], ":2", "LPUSH old a b");
    add_job(at[A], "old", "job", "");
    free(postgres_query(server.database,
                        "update pgdisque.job set id = id - (100000000::bigint << 22), "
                        "expires_at = expires_at - interval '100000 seconds' where queue_id = "
                        "(select id from pgdisque.queue where name = 'old')"));
    server_kill(&server);
    server_resume(&server);
    redisFree(at[A]);
    at[A] = client_open();
    EVENTUALLY(jobs_in_database("old") == 2);
    expect(at[A], "[\"a\" \"b\"]", "RPOP old 9");
}

/* ---- disconnects ---- */

#define GOING 50

static void blocked_in(struct wire *w, const char *first, const char *second, const char *third) {
    raw_open(w);
    wire_words(w, first, second, third, "0", NULL);
    EVENTUALLY(raw_waits(w, at[A]));
}

/* Waits until the server has committed all work under way and its consequences. The first write shares a transaction
 * with claims or follows them. The second follows the writes that put jobs back. */
static void settle(void) {
    add_job(at[A], "settled", "claims", "");
    add_job(at[A], "settled", "what they put back", "");
}

/* The server puts an element back at its place if the client disconnects before it gets the element. */
static void test_clients_that_go(void **state) {
    struct wire w[GOING];

    (void)state;
    for (int i = 0; i < 200; i++)
        expect(at[A], text_of(":%d", i + 1), "RPUSH going %d", i);
    for (int i = 0; i < GOING; i++)
        raw_open(&w[i]);
    EVENTUALLY(info_number(at[A], "connected_clients") == 1 + GOING);
    for (int i = 0; i < GOING; i++) {
        wire_words(&w[i], "BLPOP", "going", "0", NULL);
        wire_reset(&w[i]);
    }
    EVENTUALLY(info_number(at[A], "connected_clients") == 1);
    settle();
    /* Each was served before it went, or not at all. */
    assert_int_equal(jobs_in_database("going"), number(at[A], "LLEN going"));
    assert_true(number(at[A], "LLEN going") >= 200 - GOING);
    for (long long last = -1, n; number(at[A], "LLEN going") > 0; last = n) {
        n = atoll(strchr(ask(at[A], "LPOP going"), '"') + 1);
        assert_true(n > last);
    }
}

/* The first push stores the list, so that its elements can be put back. */
static void test_handed_over_elements_are_not_stored(void **state) {
    struct wire w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        long long before = info_number(at[A], "handoffs");

        blocked_in(&w, "BRPOP", "never", "stored");
        expect(at[A], ":1", "LPUSH never x");
        raw_expect(&w, "[\"never\" \"x\"]");
        assert_int_equal(jobs_in_database("never"), 0);
        assert_int_equal(info_number(at[A], "handoffs") - before, i);
        wire_close(&w);
    }
}

/* The elements come back in their order: those of one push for one client, and those of three pushes for three. */
static void test_order_of_elements_that_were_handed_over(void **state) {
    long long before = info_number(at[A], "handoffs");
    struct wire w;

    (void)state;
    expect(at[A], ":1", "RPUSH back z");
    expect(at[A], "\"z\"", "LPOP back");
    raw_open(&w);
    raw_stop_reading(&w);
    wire_words(&w, "BLMPOP", "0", "1", "back", "LEFT", "COUNT", "3", NULL);
    for (int i = 0; i < 3; i++)
        wire_words(&w, "BLPOP", "back", "0", NULL);
    EVENTUALLY(raw_waits(&w, at[A]));
    expect(at[A], ":3", "RPUSH back a b c");
    for (int i = 0; i < 3; i++) {
        EVENTUALLY(raw_waits(&w, at[A]));
        expect(at[A], ":1", "RPUSH back %d", i);
    }
    assert_int_equal(info_number(at[A], "handoffs") - before, 6);
    wire_reset(&w);
    EVENTUALLY(number(at[A], "LLEN back") == 6);
    expect(at[A], "[\"a\" \"b\" \"c\" \"0\" \"1\" \"2\"]", "LRANGE back 0 -1");
}

/* The server reads the push and the end of the waiting client in one turn, in any order. */
static void test_first_element_for_a_client_that_has_gone(void **state) {
    struct wire w;

    (void)state;
    for (int i = 0; i < 10; i++) {
        const char *list = forever(text_of("gone%d", i));

        blocked_in(&w, "BLPOP", list, "none");
        assert_int_equal(kill(group_size[A]->pid, SIGSTOP), 0);
        wire_reset(&w);
        later(at[A], "RPUSH %s x", list);
        for (int done = 0; !done;)
            assert_int_equal(redisBufferWrite(at[A], &done), REDIS_OK);
        assert_int_equal(kill(group_size[A]->pid, SIGCONT), 0);
        expect_next(at[A], ":1");
        EVENTUALLY(number(at[A], "LLEN %s", list) == 1 && jobs_in_database(list) == 1);
    }
}

/* ---- the reliable queue, as users wrote it ---- */

/* A worker dies with an element. The process that watches the worker's list puts the element back. */
static void test_reliable_queue(void **state) {
    struct wire worker;

    (void)state;
    expect(at[A], ":3", "LPUSH tasks 1 2 3");
    blocked_in(&worker, "BRPOPLPUSH", "none", "tasks:work");
    wire_close(&worker);
    raw_open(&worker);
    wire_words(&worker, "BRPOPLPUSH", "tasks", "tasks:work", "0", NULL);
    raw_expect(&worker, "\"1\"");
    server_kill(&server);
    wire_close(&worker);
    server_resume(&server);
    redisFree(at[A]);
    at[A] = client_open();
    expect(at[A], ":2", "LLEN tasks");
    expect(at[A], "\"1\"", "RPOPLPUSH tasks:work tasks");
    expect(at[A], "nil", "RPOPLPUSH tasks:work tasks");
    expect(at[A], "[\"2\" \"3\" \"1\"]", "RPOP tasks 9");
}

/* ---- several servers ---- */

static void test_ends_are_the_same_everywhere(void **state) {
    (void)state;
    expect(at[A], ":3", "RPUSH ends a b c");
    EVENTUALLY(all_have("ends", 3));
    expect(at[B], "\"c\"", "RPOP ends");
    expect(at[C], "\"a\"", "LPOP ends");
    EVENTUALLY(all_have("ends", 1));
    expect(at[B], ":2", "LPUSH ends z");
    EVENTUALLY(all_have("ends", 2));
    expect(at[A], "[\"z\" \"b\"]", "LPOP ends 5");
    EVENTUALLY(all_have("ends", 0));
}

/* Servers with peers read the end for each command. That writes nothing. */
static void test_reading_sets_nothing(void **state) {
    const char *version = "select xmin::text::bigint from pgdisque.queue where name = 'unset'";
    long long before;

    (void)state;
    add_job(at[A], "unset", "a", "");
    EVENTUALLY(all_have("unset", 1));
    before = postgres_number(server.database, version);
    for (int i = 0; i < SERVERS; i++)
        expect(at[i], "[\"a\"]", "LRANGE unset 0 -1");
    assert_int_equal(postgres_number(server.database, version), before);
}

/* Two processes settle the element. The second sees the result of the first. */
static void test_ends_settled_at_once(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        const char *key = text_of("race%d", i);

        later(at[A], "LPUSH %s left", key);
        later(at[B], "RPUSH %s right", key);
        next_reply(at[A]);
        next_reply(at[B]);
        EVENTUALLY(all_have(key, 2));
        expect(at[C], "\"left\"", "LPOP %s", key);
        EVENTUALLY(all_have(key, 1));
        expect(at[A], "\"right\"", "LPOP %s", key);
    }
}

static void test_waiting_elsewhere(void **state) {
    struct wire w[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        raw_open_on(&w[i], group_size[i]);
        wire_words(&w[i], "BLPOP", "elsewhere", "0", NULL);
    }
    for (int i = 0; i < 3; i++)
        EVENTUALLY(raw_waits(&w[i], at[i]));
    for (int i = 0; i < 3; i++)
        expect_start(at[A], ":", "RPUSH elsewhere x");
    for (int i = 0; i < 3; i++) {
        raw_expect(&w[i], "[\"elsewhere\" \"x\"]");
        wire_close(&w[i]);
    }
    EVENTUALLY(all_have("elsewhere", 0));
}

static void test_all_is_taken_once(void **state) {
    int taken = 0;

    (void)state;
    for (int i = 0; i < 300; i++)
        later(at[i % 3], "%s once %d", i % 2 ? "LPUSH" : "RPUSH", i);
    for (int i = 0; i < 300; i++)
        next_reply(at[i % 3]);
    EVENTUALLY(all_have("once", 300));
    for (int i = 0; taken < 300; i++) {
        const char *reply = ask(at[i % 3], i % 2 ? "RPOP once" : "LPOP once");

        taken += strcmp(reply, "nil") != 0;
        assert_true(i < 2000);
    }
    assert_int_equal(jobs_in_database("once"), 0);
    EVENTUALLY(all_have("once", 0));
}

/* This holds for an element that comes in the same moment, while the server does not know it yet. */
static void test_nothing_is_undelivered_by_zero(void **state) {
    struct wire w;

    (void)state;
    raw_open_on(&w, group_size[A]);
    for (int i = 0; i < 200; i++) {
        const char *reply;

        wire_words(&w, "RPUSH", "zero", "x", NULL);
        reply = ask(at[A], "LPOP zero 0");
        if (strcmp(reply, "nil") != 0)
            assert_string_equal(reply, "[]");
        raw_expect(&w, ":1");
        expect(at[A], "\"x\"", "LPOP zero");
    }
    wire_close(&w);
}

static void test_moves_between_servers(void **state) {
    (void)state;
    expect(at[A], ":3", "RPUSH moves 1 2 3");
    EVENTUALLY(all_have("moves", 3));
    expect(at[B], "\"3\"", "RPOPLPUSH moves moved");
    expect(at[C], "\"1\"", "LMOVE moves moved LEFT RIGHT");
    EVENTUALLY(all_have("moved", 2));
    EVENTUALLY(all_have("moves", 1));
    expect(at[A], "[\"3\" \"1\"]", "LPOP moved 9");
}

/* ---- changed within ---- */

/* The clock of this server may be behind that of another. Then it sees the other server's elements a moment later. */
static bool is_cut_to_ten(void) {
    expect(at[A], "+OK", "LTRIM short 0 9");
    return jobs_in_database("short") == 10;
}

static void test_kept_short_by_all(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        later(at[i % 3], "LPUSH short %d", i);
        later(at[i % 3], "LTRIM short 0 9");
    }
    for (int i = 0; i < 300; i++) {
        assert_true(next_reply(at[i % 3])[0] == ':');
        assert_string_equal(next_reply(at[i % 3]), "+OK");
    }
    EVENTUALLY(is_cut_to_ten());
    EVENTUALLY(all_have("short", 10));
    EVENTUALLY(all_agree("short"));
    /* Elements that the other servers do not know do not disturb them: they find the next element. */
    expect(at[B], "+OK", "LTRIM short 0 0");
    EVENTUALLY(all_have("short", 1));
    expect_start(at[C], "\"", "RPOP short");
    expect(at[A], "nil", "RPOP short");
}

static void test_set_elsewhere(void **state) {
    int taken = 0;

    (void)state;
    for (int i = 0; i < 200; i++)
        later(at[A], "RPUSH set %d", i);
    for (int i = 0; i < 200; i++)
        next_reply(at[A]);
    EVENTUALLY(all_have("set", 200));
    for (int i = 0; i < 200; i++) {
        later(at[B], "LSET set %d new", i % 3);
        later(at[C], "LPOP set");
    }
    /* No server passes by a locked element while LSET runs. */
    for (int i = 0; i < 200; i++) {
        (void)next_reply(at[B]);
        taken += strcmp(next_reply(at[C]), "nil") != 0;
    }
    EVENTUALLY(taken == 200 || (taken += strcmp(ask(at[C], "LPOP set"), "nil") != 0) == 200);
    assert_int_equal(jobs_in_database("set"), 0);
    EVENTUALLY(all_have("set", 0));
}

/* ---- lengths ---- */

#define PUSHERS 4
#define PUSHES 50

/* Each length is replied once, and to each client its lengths in order. */
static void test_lengths_of_many(void **state) {
    redisContext *pushers[PUSHERS];
    bool seen[PUSHERS * PUSHES + 1] = { false };

    (void)state;
    expect(at[A], ":1", "LPUSH lengths x");
    expect(at[A], "\"x\"", "LPOP lengths");
    for (int i = 0; i < PUSHERS; i++) {
        pushers[i] = client_open();
        for (int n = 0; n < PUSHES; n++)
            later(pushers[i], "%s lengths %d", (n + i) % 2 ? "LPUSH" : "RPUSH", n);
    }
    for (int i = 0; i < PUSHERS; i++)
        redisBufferWrite(pushers[i], NULL);
    for (int i = 0; i < PUSHERS; i++) {
        for (int n = 0, last = 0; n < PUSHES; n++) {
            int len = atoi(next_reply(pushers[i]) + 1);

            assert_in_range(len, last + 1, PUSHERS * PUSHES);
            assert_false(seen[len]);
            seen[len] = true;
            last = len;
        }
        redisFree(pushers[i]);
    }
    expect(at[A], text_of(":%d", PUSHERS * PUSHES), "LLEN lengths");
}

/* ---- lost connections ---- */

static int flushes(void) {
    return file_count(group_size[A]->log, "all jobs were removed by a client");
}

/* A flush has its reply when no pause and no end of a list is left, also if another session has locked the queue. The
 * first push after it decides where jobs leave. The request of the
 * client that has gone runs, too, and may end last. */
static void test_flush_of_a_locked_queue(void **state) {
    redisContext *c = client_open_on(group_size[A]);
    int before = flushes();
    PGconn *locker = postgres_connect(server.database);
    struct wire w, gone;

    (void)state;
    raw_open_on(&w, group_size[A]);
    raw_open_on(&gone, group_size[A]);
    expect(c, ":1", "RPUSH flushed x");
    PQclear(PQexec(locker, "begin; select from pgdisque.queue where name = 'flushed' for update"));
    assert_true(wire_send_text(&gone, "DEBUG FLUSHALL\r\n"));
    EVENTUALLY(raw_has_request(&gone, c));
    wire_reset(&gone);
    assert_true(wire_send_text(&w, "DEBUG FLUSHALL\r\n"));
    EVENTUALLY(file_contains(group_size[A]->log, "canceling statement due to lock timeout"));
    HOLDS_FOR(300, wire_pending(&w) == 0);
    PQfinish(locker);
    raw_expect(&w, "+OK");
    EVENTUALLY(flushes() == before + 2);
    expect(c, ":2", "LPUSH flushed a b");
    assert_non_null(strstr(ask(c, "GETJOB FROM flushed"), "\"a\""));
    wire_close(&w);
    redisFree(c);
}

/* The reply of LPOS has a limit; a COUNT or a MAXLEN keeps it. */
static void test_many_equal_elements(void **state) {
    char elements[2 * 500 + 1];

    (void)state;
    for (int i = 0; i < 500; i++)
        memcpy(elements + 2 * i, " x", 3);
    for (int i = 0; i < 200; i++)
        later(at[A], text_of("RPUSH equal%s", elements));
    for (int i = 0; i < 200; i++)
        assert_true(next_reply(at[A])[0] == ':');
    assert_non_null(strstr(ask(at[A], "LPOS equal x COUNT 0"), "99999]"));
    expect(at[A], ":100001", "RPUSH equal x");
    expect_start(at[A], "-LIMIT more than 100000", "LPOS equal x COUNT 0");
    expect_start(at[A], "-LIMIT more than 100000", "LPOS equal x COUNT 100001");
    assert_non_null(strstr(ask(at[A], "LPOS equal x COUNT 100000"), "99999]"));
    expect(at[A], "[:0 :1 :2]", "LPOS equal x COUNT 0 MAXLEN 3");
    expect(at[A], "+OK", "DEBUG FLUSHALL");
}

/* The command removes the elements in its reply and no others, also if a connection breaks. */
static void test_drained_once(void **state) {
    int seen = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        expect_start(at[A], ":", "RPUSH drained %d", i);
    while (seen < 100) {
        expect_start(at[A], text_of("[\"%d\" \"%d\"", seen, seen + 1), "LRANGE drained 0 4");
        later(at[A], "LTRIM drained 5 -1");
        redisBufferWrite(at[A], NULL);
        sessions_end("");
        assert_string_equal(next_reply(at[A]), "+OK");
        seen += 5;
    }
    assert_int_equal(jobs_in_database("drained"), 0);
    EVENTUALLY(all_have("drained", 0));
}

static void test_after_lost_connections(void **state) {
    (void)state;
    for (int i = 0; i < 40; i++) {
        later(at[A], "%s lost %d", i % 2 ? "LPUSH" : "RPUSH", i);
        later(at[B], "%s lost %d", i % 2 ? "RPUSH" : "LPUSH", 100 + i);
        if (i % 10 == 0) {
            redisBufferWrite(at[A], NULL);
            redisBufferWrite(at[B], NULL);
            sessions_end("");
        }
    }
    for (int i = 0; i < 40; i++) {
        assert_true(next_reply(at[A])[0] == ':');
        assert_true(next_reply(at[B])[0] == ':');
    }
    assert_int_equal(jobs_in_database("lost"), 80);
    EVENTUALLY(all_have("lost", 80));
    expect(at[A], ":81", "LPUSH lost x");
    expect(at[A], ":82", "RPUSH lost x");
}

static void stop(int n) {
    assert_int_equal(server_stop(group_size[n]), 0);
    redisFree(at[n]);
    at[n] = NULL;
}

/* A server that has read a queue without peers does not know the list that a peer has made of it since then. */
static void test_made_by_a_server_that_left(void **state) {
    (void)state;
    stop(B);
    stop(C);
    EVENTUALLY(hello_count(at[A]) == 1);
    add_job(at[A], "left", "a", "");
    expect(at[A], "[\"a\"]", "LRANGE left 0 -1");
    server_resume(group_size[B]);
    at[B] = client_open_on(group_size[B]);
    EVENTUALLY(hello_count(at[A]) == 2);
    expect(at[B], ":3", "RPUSH left b c");
    EVENTUALLY(number(at[A], "LLEN left") == 3);
    stop(B);
    EVENTUALLY(hello_count(at[A]) == 1);
    expect(at[A], "[\"a\" \"b\" \"c\"]", "LRANGE left 0 -1");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_old_producers_new_consumers),
        TEST(test_new_producers_old_consumers),
        TEST(test_a_job_that_returns),
        TEST(test_priorities_first),
        TEST(test_elements_outlive_a_day),
        TEST(test_clients_that_go),
        TEST(test_handed_over_elements_are_not_stored),
        TEST(test_order_of_elements_that_were_handed_over),
        TEST(test_first_element_for_a_client_that_has_gone),
        TEST(test_reliable_queue),
        TEST(test_ends_are_the_same_everywhere),
        TEST(test_reading_sets_nothing),
        TEST(test_ends_settled_at_once),
        TEST(test_waiting_elsewhere),
        TEST(test_all_is_taken_once),
        TEST(test_nothing_is_undelivered_by_zero),
        TEST(test_moves_between_servers),
        TEST(test_kept_short_by_all),
        TEST(test_set_elsewhere),
        TEST(test_lengths_of_many),
        TEST(test_many_equal_elements),
        TEST(test_flush_of_a_locked_queue),
        TEST(test_drained_once),
        TEST(test_after_lost_connections),
        TEST(test_made_by_a_server_that_left),
    };

    return RUN_SUITE("lists", tests);
}
