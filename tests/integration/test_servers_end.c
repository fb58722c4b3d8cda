/* Several servers on one database. Some of them end, start late, stop for a while, or lose their notifications. */
#include "servers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { A, B, C };

static void part_from(int n) {
    redisFree(at[n]);
    at[n] = NULL;
}

static void kill_one(int n) {
    part_from(n);
    server_kill(group_size[n]);
}

static void stop_one(int n) {
    part_from(n);
    assert_int_equal(server_stop(group_size[n]), 0);
}

static void bring_back(int n) {
    server_resume(group_size[n]);
    at[n] = client_open_on(group_size[n]);
}

/* As all see it, and as the database has it, when no lease is running. */
static void expect_truth(const char *queue) {
    bool same = WAIT_UNTIL(all_have(queue, jobs_in_database(queue)) && all_agree(queue), EVENTUALLY_MS);

    for (int i = 0; !same && i < SERVERS; i++)
        print_message("# server %d: %s\n", i, ask(at[i], "QSTAT %s", queue));
    assert_true(same);
}

/* Ends the listening sessions of the server, or of all servers if it is NULL. */
static void cut_channels(redisContext *of) {
    const char *mine = of == NULL ? "%" : text_of("%%%.8s%%", node_id(of));
    const char *cut = text_of("select count(pg_terminate_backend(pid)) from pg_stat_activity where "
                              "application_name like '%s' and application_name like '%%channel'",
                              mine);

    EVENTUALLY(postgres_number(server.database, "select count(*) from pg_stat_activity where "
                                                "application_name like 'pgdisque %channel'") >= SERVERS);
    assert_int_equal(postgres_number(server.database, cut), of == NULL ? SERVERS : 1);
}

/* ---- the end of a server ---- */

/* The other servers wait for the end of the dead server's leases. Then they return the jobs. */
static void test_killed(void **state) {
    const char *id = add_job(at[A], "killed", "x", "RETRY 7"), *node = node_id(at[B]);
    int64_t delivered;
    struct wire w;

    (void)state;
    delivered = now_ms();
    expect_job_at(B, "killed", id);
    kill_one(B);
    wait_at(A, &w, "killed");
    EVENTUALLY(hello_count(at[A]) == SERVERS - 1 && hello_count(at[C]) == SERVERS - 1);
    assert_string_equal(hello_priority(at[A], node), "none");
    assert_non_null(strstr(node_line(at[A], node), " fail 0 0 disconnected"));
    assert_non_null(strstr(ask(at[C], "CLUSTER INFO"), "cluster_known_nodes:3"));
    assert_non_null(strstr(ask(at[C], "CLUSTER INFO"), "cluster_reachable_nodes:1"));
    raw_expect(&w, text_of("[[\"killed\" \"%s\" \"x\"]]", id));
    assert_in_range(now_ms() - delivered, 6800, 7000 + patience(EVENTUALLY_MS));
    wire_close(&w);
    expect(at[C], ":1", "ACKJOB %s", id);
    expect(at[A], "+OK", "CLUSTER FORGET %s", node);
    assert_string_equal(node_line(at[A], node), "");
    EVENTUALLY(node_line(at[C], node)[0] == '\0');
    bring_back(B);
    EVENTUALLY(hello_count(at[A]) == SERVERS && hello_count(at[C]) == SERVERS);
    expect_truth("killed");
}

/* The client at n gets both jobs, in any order, because the clocks of two servers end their leases. */
static void expect_both_at(int n, const char *queue, const char *one, const char *other) {
    const char *got[2];

    for (int i = 0; i < 2; i++)
        got[i] = ask(at[n], "GETJOB TIMEOUT %d FROM %s", (int)patience(2 * EVENTUALLY_MS), queue);
    if (!(strstr(got[0], one) && strstr(got[1], other)) && !(strstr(got[0], other) && strstr(got[1], one)))
        fail_msg("server %d, %s: got %s and %s, want %s and %s", n, queue, got[0], got[1], one, other);
}

/* The server that inherits the leases dies as well. */
static void test_killed_with_its_inheriting_server(void **state) {
    const char *first = add_job(at[C], "heirs", "first", "RETRY 7");
    const char *second = add_job(at[C], "heirs", "second", "RETRY 7");

    (void)state;
    expect_job_at(A, "heirs", first);
    expect_job_at(B, "heirs", second);
    kill_one(A);
    kill_one(B);
    expect_both_at(C, "heirs", first, second);
    expect(at[C], ":2", "ACKJOB %s %s", first, second);
    bring_back(A);
    bring_back(B);
    expect_truth("heirs");
}

/* The others hear it from the server, and do not take it for dead. */
static void test_signs_off(void **state) {
    const char *id = add_job(at[A], "signsoff", "x", "RETRY 3"), *node = node_id(at[B]);
    int64_t delivered;

    (void)state;
    delivered = now_ms();
    expect_job_at(B, "signsoff", id);
    stop_one(B);
    EVENTUALLY(hello_count(at[A]) == SERVERS - 1 && hello_count(at[C]) == SERVERS - 1);
    /* A server that is taken for dead would still be listed. */
    assert_string_equal(node_line(at[A], node), "");
    assert_non_null(strstr(ask(at[C], "CLUSTER INFO"), "cluster_known_nodes:2"));
    expect_job_at(C, "signsoff", id);
    assert_in_range(now_ms() - delivered, 2800, 3000 + patience(EVENTUALLY_MS));
    expect(at[A], ":1", "ACKJOB %s", id);
    bring_back(B);
    EVENTUALLY(hello_count(at[A]) == SERVERS);
    expect_truth("signsoff");
}

/* Only the dead server was told that some jobs are ready. For others its clients waited. */
static void test_jobs_of_one_that_was_killed(void **state) {
    struct wire w;

    (void)state;
    wait_at(B, &w, "orphans");
    for (int i = 0; i < 20; i++)
        later(at[B], "ADDJOB orphans %d 0 RETRY 1", i);
    for (int i = 0; i < 20; i++)
        assert_int_equal(next_reply(at[B])[0], '+');
    kill_one(B);
    wire_close(&w);
    for (int i = 0; i < 20; i++)
        expect_start(at[C], "[[\"orphans\" ", "GETJOB TIMEOUT %d FROM orphans", (int)patience(EVENTUALLY_MS));
    bring_back(B);
    expect_truth("orphans");
}

/* The server that takes over must find the jobs, in queues that it knew and in others. */
static void check_untold(bool comes_back) {
    const char *known = comes_back ? "known1" : "known2", *new = comes_back ? "new1" : "new2";
    const char *first = add_job(at[C], known, "x", ""), *second, *third;
    struct wire w, w2;

    expect_job_at(C, known, first);
    wait_at(C, &w, known);
    wait_at(C, &w2, new);
    cut_channels(at[B]);
    second = add_job(at[B], known, "x", "");
    third = add_job(at[B], new, "x", "");
    kill_one(B);
    if (comes_back)
        bring_back(B);
    raw_expect(&w, text_of("[[\"%s\" \"%s\" \"x\"]]", known, second));
    raw_expect(&w2, text_of("[[\"%s\" \"%s\" \"x\"]]", new, third));
    wire_close(&w);
    wire_close(&w2);
    expect(at[A], ":3", "ACKJOB %s %s %s", first, second, third);
    if (!comes_back)
        bring_back(B);
    /* The last second of the counters of jobs ever in and out may be lost with it. */
    EVENTUALLY(all_have(known, 0) && all_have(new, 0));
}

static void test_killed_before_it_could_tell(void **state) {
    (void)state;
    check_untold(false);
}

static void test_killed_before_it_could_tell_and_back(void **state) {
    (void)state;
    check_untold(true);
}

/* The restarted server has the leases from before its end. Its counters start from zero. */
static void test_restarted_at_once(void **state) {
    const char *leased = add_job(at[B], "againleased", "x", "RETRY 2");

    (void)state;
    for (int i = 0; i < 10; i++)
        add_job(at[i % SERVERS], "again", "x", "");
    expect_job_at(B, "againleased", leased);
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            kill_one(B);
        else
            stop_one(B);
        bring_back(B);
        add_job(at[B], "again", "y", "");
    }
    assert_int_equal(jobs_in_database("again"), 13);
    expect_truth("again");
    expect_job_at(A, "againleased", leased);
    expect(at[B], ":1", "ACKJOB %s", leased);
    expect_truth("againleased");
}

/* ---- a server that stops for a while ---- */

#define STOPPED 12

/* While B was away, the leader A watched the leases of B. B watches them again after its start. A command at A ends them
 * at both. */
static void test_leases_are_ended_after_its_return(void **state) {
    const char *cancelled = add_job(at[B], "return", "x", "RETRY 5"), *done;

    (void)state;
    expect_job_at(B, "return", cancelled);
    done = add_job(at[B], "return", "y", "RETRY 5");
    expect_job_at(B, "return", done);
    stop_one(B);
    EVENTUALLY(hello_count(at[A]) == SERVERS - 1);
    bring_back(B);
    EVENTUALLY(hello_count(at[A]) == SERVERS && hello_count(at[C]) == SERVERS);
    expect(at[A], ":1", "CANCEL %s", cancelled);
    expect(at[A], ":1", "ACKJOB %s", done);
    EVENTUALLY(jobs_in_database("return") == 0);
    expect_truth("return");
}

static void test_stopped_for_a_while(void **state) {
    const char *ids[STOPPED], *delayed, *ending;
    int64_t stopped;

    (void)state;
    ending = add_job(at[B], "ending", "x", "RETRY 2");
    expect_job_at(B, "ending", ending);
    for (int i = 0; i < STOPPED; i++) {
        ids[i] = add_job(at[i % SERVERS], "stopped", "x", "RETRY 60");
        expect_job_at(B, "stopped", ids[i]);
    }
    delayed = add_job(at[B], "stopped", "delayed", "DELAY 2 RETRY 60");
    stopped = now_ms();
    kill(group_size[B]->pid, SIGSTOP);
    expect(at[A], ":1", "NACK %s", ids[0]);
    expect(at[A], ":1", "ACKJOB %s", ids[1]);
    expect_job_at(C, "stopped", ids[0]);
    expect_job_at(A, "stopped", delayed);
    expect_job_at(C, "ending", ending);
    expect(at[A], ":1", "ACKJOB %s", ending);
    EVENTUALLY(now_ms() - stopped >= 7000);
    EVENTUALLY(hello_count(at[A]) == SERVERS - 1);
    kill(group_size[B]->pid, SIGCONT);
    EVENTUALLY(hello_count(at[A]) == SERVERS && hello_count(at[B]) == SERVERS);
    HOLDS_FOR(1500, queue_is_empty(at[A], "stopped") && queue_is_empty(at[B], "stopped") &&
                        queue_is_empty(at[B], "ending"));
    EVENTUALLY(all_have("stopped", 0) && all_have("ending", 0));
    EVENTUALLY(all_agree("stopped") && all_agree("ending"));
    for (int i = 2; i < STOPPED; i++)
        expect(at[i % SERVERS], ":1", "ACKJOB %s", ids[i]);
    expect(at[B], ":2", "ACKJOB %s %s", ids[0], delayed);
}

/* ---- a server that starts under load ---- */

static void check(redisContext *c, char want) {
    if (next_reply(c)[0] != want)
        _exit(1);
}

/* Runs in a process of its own, because a failed assertion would continue with the next test. One job of ten stays. */
static _Noreturn void load(void) {
    redisContext *a = client_open_on(group_size[A]), *c = client_open_on(group_size[C]);

    for (int i = 0; i < 400; i++) {
        for (int k = 0; k < 10; k++)
            later(k % 2 ? a : c, "ADDJOB load %d 0 RETRY 1", i);
        for (int k = 0; k < 10; k++)
            check(k % 2 ? a : c, '+');
        for (int k = 0; k < 9; k++) {
            const char *job = ask(k % 3 ? a : c, "GETJOB TIMEOUT 60000 FROM load");
            const char *id = strstr(job, "D-");

            if (id == NULL)
                _exit(2);
            later(k % 2 ? a : c, "ACKJOB %s", text_of("%.40s", id));
            check(k % 2 ? a : c, ':');
        }
    }
    _exit(0);
}

static void test_joins_under_load(void **state) {
    pid_t loader;

    (void)state;
    kill_one(B);
    loader = fork();
    if (loader == 0)
        load();
    EVENTUALLY(number(at[A], "QLEN load") > 0);
    for (int i = 0; i < 3; i++) {
        bring_back(B);
        EVENTUALLY(hello_count(at[B]) == SERVERS);
        if (i < 2)
            stop_one(B);
    }
    assert_int_equal(wait_exit(loader, (int)patience(60000)), 0);
    expect_truth("load");
    assert_true(number(at[B], "QLEN load") >= 400);
}

/* ---- the channel ---- */

static void test_channels_are_cut(void **state) {
    const char *leased = add_job(at[B], "cut", "leased", "RETRY 60");
    struct wire w;

    (void)state;
    expect_job_at(B, "cut", leased);
    for (int i = 0; i < 3; i++) {
        const char *id;

        wait_at(B, &w, "cut");
        cut_channels(i == 0 ? at[A] : i == 1 ? at[B] : NULL);
        id = add_job(at[A], "cut", "x", "");
        raw_expect(&w, text_of("[[\"cut\" \"%s\" \"x\"]]", id));
        wire_close(&w);
        expect(at[C], ":1", "ACKJOB %s", id);
        EVENTUALLY(hello_count(at[B]) == SERVERS);
        EVENTUALLY(postgres_number(server.database, "select count(*) from pg_stat_activity where "
                                                    "application_name like '%channel'") == SERVERS);
    }
    EVENTUALLY(all_have("cut", 0) && all_agree("cut"));
    cut_channels(at[B]);
    expect(at[A], ":1", "NACK %s", leased);
    EVENTUALLY(all_have("cut", 1) && all_agree("cut"));
    expect_job_at(C, "cut", leased);
    expect(at[A], ":1", "ACKJOB %s", leased);
    expect_truth("cut");
}

/* Settings that were changed while it could not hear. */
static void test_paused_while_it_could_not_hear(void **state) {
    (void)state;
    add_job(at[A], "unheard", "x", "");
    EVENTUALLY(all_have("unheard", 1));
    cut_channels(at[B]);
    expect(at[A], "+out", "PAUSE unheard out");
    EVENTUALLY(strcmp(ask(at[B], "PAUSE unheard state"), "+out") == 0);
    expect(at[A], "+none", "PAUSE unheard none");
    EVENTUALLY(strcmp(ask(at[B], "PAUSE unheard state"), "+none") == 0);
}

/* A queue that it has never heard of. */
static void test_new_queue_while_it_could_not_hear(void **state) {
    struct wire w;

    (void)state;
    wait_at(B, &w, "newqueue");
    cut_channels(at[B]);
    raw_expect(&w, text_of("[[\"newqueue\" \"%s\" \"x\"]]", add_job(at[A], "newqueue", "x", "")));
    wire_close(&w);
}

/* Any role of the database may notify. Servers ignore notifications without a valid seal. */
static void test_anybody_may_notify(void **state) {
    static const char *const texts[] = { "", "x", "1 0 1 1 1 0 f", "1 0123456789abcdef 2 1 1 0 b f z",
                                         "1 0 99999999999 1 1 0 q1,1,1,1,1" };

    (void)state;
    add_job(at[A], "forged", "x", "");
    EVENTUALLY(all_have("forged", 1));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(postgres_query(server.database, text_of("select pg_notify('pgdisque', '%s')::text", texts[i])));
    expect(at[A], "+none", "PAUSE forged none");
    EVENTUALLY(all_have("forged", 1));
    assert_int_equal(hello_count(at[A]), SERVERS);
}

/* ---- the database ---- */

static void test_the_database_restarts(void **state) {
    const char *leased = add_job(at[B], "dbrestart", "leased", "RETRY 3"), *id;
    struct wire w;

    (void)state;
    expect_job_at(B, "dbrestart", leased);
    wait_at(C, &w, "dbrestart2");
    postgres_stop(&pg, true);
    postgres_resume(&pg);
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(server_ping(group_size[i]), "+PONG") == 0);
    id = add_job(at[A], "dbrestart2", "x", "");
    raw_expect(&w, text_of("[[\"dbrestart2\" \"%s\" \"x\"]]", id));
    wire_close(&w);
    expect(at[B], ":1", "ACKJOB %s", id);
    expect_job_at(A, "dbrestart", leased);
    expect(at[C], ":1", "ACKJOB %s", leased);
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(hello_count(at[i]) == SERVERS);
    expect_truth("dbrestart");
    expect_truth("dbrestart2");
}

/* A number that is free again is another server's. */
/* When there are not many left. */
static void test_numbers_are_reused(void **state) {
    const char *node = node_id(at[B]), *id;
    long long number_of_b = info_number(at[B], "node_number");
    struct server other;
    redisContext *c;

    (void)state;
    stop_one(B);
    free(postgres_query(
        server.database,
        text_of("update pgdisque.node set left_at = left_at - interval '2 hours' where id = '%s'", node)));
    free(postgres_query(
        server.database,
        "insert into pgdisque.node (number, id, seen_at, left_at) "
        "select n, lpad(to_hex(n), 40, '0'), now() - interval '2 hours', now() - interval '2 hours' "
        "from generate_series(20, 920) as n"));
    server_start(&other, server.database, NULL);
    c = client_open_on(&other);
    assert_int_equal(info_number(c, "node_number"), number_of_b);
    bring_back(B);
    assert_int_not_equal(info_number(at[B], "node_number"), number_of_b);
    assert_string_equal(node_id(at[B]), node);
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(hello_count(at[i]) == SERVERS + 1);
    id = add_job(c, "reused", "x", "");
    expect_job_at(B, "reused", id);
    expect(at[A], ":1", "ACKJOB %s", id);
    expect_truth("reused");
    redisFree(c);
    assert_int_equal(server_stop(&other), 0);
    EVENTUALLY(hello_count(at[A]) == SERVERS);
}

/* Goes last. */
static void test_all_end_well(void **state) {
    (void)state;
    servers_teardown(NULL);
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(server_stop(group_size[i]), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_killed),
        TEST(test_killed_with_its_inheriting_server),
        TEST(test_signs_off),
        TEST(test_jobs_of_one_that_was_killed),
        TEST(test_killed_before_it_could_tell),
        TEST(test_killed_before_it_could_tell_and_back),
        TEST(test_restarted_at_once),
        TEST(test_leases_are_ended_after_its_return),
        TEST(test_stopped_for_a_while),
        TEST(test_joins_under_load),
        TEST(test_channels_are_cut),
        TEST(test_paused_while_it_could_not_hear),
        TEST(test_new_queue_while_it_could_not_hear),
        TEST(test_anybody_may_notify),
        TEST(test_the_database_restarts),
        TEST(test_numbers_are_reused),
        TEST(test_all_end_well),
    };

    return RUN_SUITE("servers that end", tests);
}
