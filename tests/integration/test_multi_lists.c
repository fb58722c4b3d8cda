/* List commands in MULTI and EXEC: no element is lost or doubled, while servers and clients die. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

static void exec(redisContext *c, const char *want, const char *const *commands) {
    int count = 0;

    later(c, "MULTI");
    for (; commands[count] != NULL; count++)
        later(c, commands[count]);
    later(c, "EXEC");
    expect_next(c, "+OK");
    while (count-- > 0)
        expect_next(c, "+QUEUED");
    expect_next(c, want);
}

#define EXEC(c, want, ...) exec(c, want, (const char *[]){ __VA_ARGS__, NULL })

/* ---- together with others ---- */

static void test_seen_at_all_servers(void **state) {
    (void)state;
    EXEC(at[A], "[:3 \"a\" \"c\" :1]", "RPUSH seen a b c", "LPOP seen", "RPOPLPUSH seen seen-too",
         "LLEN seen");
    EVENTUALLY(all_have("seen", 1) && all_have("seen-too", 1));
    EXEC(at[C], "[\"b\" [\"seen-too\" \"c\"] nil]", "RPOP seen", "BLPOP seen seen-too 0",
         "BLPOP seen seen-too 0");
    EVENTUALLY(all_have("seen", 0) && all_have("seen-too", 0));
    EVENTUALLY(all_agree("seen") && all_agree("seen-too"));
}

/* The first command does not find the order of the third. */
static void test_becomes_a_list(void **state) {
    (void)state;
    add_job(at[A], "becomes", "a", "");
    EXEC(at[A], "[[\"a\"] :3 [\"a\" \"b\" \"c\"]]", "LRANGE becomes 0 -1", "RPUSH becomes b c",
         "LRANGE becomes 0 -1");
}

static void test_waiters_elsewhere(void **state) {
    struct wire w;

    (void)state;
    raw_open_on(&w, group_size[B]);
    wire_words(&w, "BLPOP", "awaited", "0", NULL);
    EVENTUALLY(info_number(at[B], "blocked_clients") == 1);
    EXEC(at[A], "[:2 \"x\" :1]", "RPUSH awaited x y", "LPOP awaited", "LLEN awaited");
    raw_expect(&w, "[\"awaited\" \"y\"]");
    wire_close(&w);
    EVENTUALLY(all_have("awaited", 0) && all_agree("awaited"));
}

/* A client takes an element of one list, adds one to another, and disconnects before the reply of EXEC. */
static void leave_behind_exec(const char *from, const char *to) {
    struct wire w;

    raw_open(&w);
    wire_words(&w, "MULTI", NULL);
    wire_words(&w, "LPOP", from, NULL);
    wire_words(&w, "RPUSH", to, "y", NULL);
    raw_leave_during(&w, at[A], "EXEC");
}

/* The server puts back the elements that the client did not get, at their places. */
static void test_client_goes_behind_exec(void **state) {
    const char *id = add_job(at[A], "left", "x", "RETRY 3600 UNIQUE k ATTEMPTS 3 BACKOFF 5 DEADQUEUE over");

    (void)state;
    for (int i = 0; i < 10; i++)
        leave_behind_exec("left", "left-too");
    EVENTUALLY(jobs_in_database("left-too") == 10 && all_have("left", 1));
    assert_int_equal(postgres_number(server.database,
                                     "select count(*) from pgdisque.job where attempts = 3 and "
                                     "backoff = 5 and deadqueue = 'over' and unique_key = 'k'"),
                     1);
    assert_string_equal(add_job(at[A], "left", "x", "UNIQUE k"), id);
    EVENTUALLY(all_agree("left") && all_agree("left-too"));
}

/* No client got the job, so its key is taken until its first delivery. */
static void test_key_until_start_behind_exec(void **state) {
    const char *id = add_job(at[A], "begun", "x", "RETRY 3600 UNIQUE k UNTIL START");

    (void)state;
    leave_behind_exec("begun", "begun-too");
    EVENTUALLY(jobs_in_database("begun-too") == 1 && all_have("begun", 1));
    assert_string_equal(add_job(at[A], "begun", "y", "UNIQUE k UNTIL START"), id);
    get_job(at[A], "begun", "x");
    assert_string_not_equal(add_job(at[A], "begun", "z", "UNIQUE k UNTIL START"), id);
    EVENTUALLY(all_agree("begun"));
}

static void test_refused_by_the_database(void **state) {
    (void)state;
    expect(at[A], ":2", "RPUSH kept a b");
    free(postgres_query(server.database,
                        "alter table pgdisque.job add constraint no_bad check (body <> 'bad')"));
    later(at[A], "MULTI");
    later(at[A], "LPOP kept");
    later(at[A], "RPOPLPUSH kept refused");
    later(at[A], "RPUSH refused bad");
    later(at[A], "EXEC");
    for (int i = 0; i < 4; i++)
        next_reply(at[A]);
    assert_string_equal(text_of("%.36s", next_reply(at[A])), "-DBERR nothing of the transaction wa");
    expect(at[A], "[\"a\" \"b\"]", "LRANGE kept 0 -1");
    expect(at[A], ":0", "LLEN refused");
    free(postgres_query(server.database, "alter table pgdisque.job drop constraint no_bad"));
    EXEC(at[A], "[\"a\" \"b\" :2]", "LPOP kept", "RPOPLPUSH kept refused", "RPUSH refused good");
}

/* ---- with deaths ---- */

/* Clients at all servers move elements between lists, and push and remove others, each in transactions. In the end each
 * element exists exactly once, and no other element exists. */
#define LISTS 4
#define ELEMENTS 40
#define CLIENTS 6
#define ROUNDS 40

static char *elements(void) {
    return postgres_query(server.database, "select string_agg(convert_from(body, 'utf8'), ' ' order by body) "
                                           "from pgdisque.jobs where queue ~ '^(list|own|renamed)-'");
}

static void send_moves(redisContext *c, int round, int n) {
    int from = (round + n) % LISTS, to = (from + 1 + n % 3) % LISTS;

    later(c, "MULTI");
    later(c, "RPUSH list-%d passing-%d-%d", from, round, n);
    later(c, "LMOVE list-%d list-%d LEFT %s", from, to, n % 2 ? "LEFT" : "RIGHT");
    later(c, "RPOPLPUSH list-%d list-%d", to, from);
    later(c, "ADDJOB list-%d passing-too-%d-%d 0", to, round, n);
    for (int i = 0; i < LISTS; i++)
        later(c, "LREM list-%d 0 passing-%d-%d", i, round, n),
            later(c, "LREM list-%d 0 passing-too-%d-%d", i, round, n);
    later(c, "RPUSH own-%d passing passing-too", n);
    later(c, "RENAME own-%d renamed-%d", n, n);
    later(c, "EXPIRE renamed-%d 1000", n);
    later(c, "BLMOVE list-%d list-%d RIGHT LEFT 0", from, (to + 1) % LISTS);
    later(c, "DEL own-%d renamed-%d", n, n);
    later(c, "EXEC");
    /* All is sent before this is answered. */
    next_reply(c);
}

static void finish(redisContext *c) {
    const char *reply = "+";

    while (reply[0] == '+')
        reply = next_reply(c);
    if (reply[0] != '[' && strcmp(reply, "closed") != 0 && strncmp(reply, "-UNKNOWN", 8) != 0)
        fail_msg("EXEC: %s", reply);
    redisFree(c);
}

static void play_round(int round) {
    redisContext *c[CLIENTS];
    struct server *victim = group_size[round / 4 % SERVERS];

    for (int n = 0; n < CLIENTS; n++) {
        c[n] = client_open_on(group_size[n % SERVERS]);
        send_moves(c[n], round, n);
    }
    if (round % 4 == 1)
        server_kill(victim);
    if (round % 4 == 3)
        sessions_end("write");
    for (int n = 0; n < CLIENTS; n++)
        finish(c[n]);
    if (!server_running(victim))
        server_resume(victim);
}

static long long sum_of_lists(int server_at) {
    long long sum = 0;

    for (int i = 0; i < LISTS; i++)
        sum += number(at[server_at], "LLEN list-%d", i);
    return sum;
}

static bool lists_agree(void) {
    for (int i = 0; i < LISTS; i++)
        if (!all_agree(text_of("list-%d", i)))
            return false;
    return sum_of_lists(A) == ELEMENTS && sum_of_lists(B) == ELEMENTS && sum_of_lists(C) == ELEMENTS;
}

static void test_nothing_is_lost_or_doubled(void **state) {
    char *all, *now;

    (void)state;
    for (int i = 0; i < ELEMENTS; i++)
        ask(at[i % SERVERS], "RPUSH list-%d element-%02d", i % LISTS, i);
    all = elements();
    for (int round = 0; round < ROUNDS; round++) {
        play_round(round);
        now = elements();
        assert_string_equal(now, all);
        free(now);
    }
    free(all);
    (void)servers_teardown(state);
    (void)servers_setup(state);
    EVENTUALLY(lists_agree());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_seen_at_all_servers, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_becomes_a_list, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_waiters_elsewhere, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_client_goes_behind_exec, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_key_until_start_behind_exec, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_refused_by_the_database, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_lost_or_doubled, servers_setup, servers_teardown),
    };

    return RUN_SUITE("multi_lists", tests);
}
