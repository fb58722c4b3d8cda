/* HEALTH over several servers: while the database is away or stands still, after lost connections and a death. */
#include "consult.h"
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

#define CROWD 100

static long long rows_of_health(void) {
    return postgres_number(server.database, "select count(*) from pgdisque.job as j "
                                            "join pgdisque.queue as q on q.id = j.queue_id "
                                            "where q.name = '__health__'");
}

static bool is_healthy(int n) {
    return ask(at[n], "HEALTH TIMEOUT 60000")[0] == ':';
}

static void expect_all_healthy(void) {
    for (int i = 0; i < SERVERS; i++)
        if (!is_healthy(i))
            fail_msg("server %d: %s", i, ask(at[i], "HEALTH TIMEOUT 60000"));
}

/* However many ask, nothing stays, and they need fewer jobs than they are. */
static void test_many_ask_at_once(void **state) {
    long long before = info_number(at[A], "jobs_added");
    struct wire clients[CROWD];

    (void)state;
    for (int i = 0; i < CROWD; i++)
        raw_open_on(&clients[i], group_size[A]);
    for (int i = 0; i < CROWD; i++)
        wire_words(&clients[i], "HEALTH", "TIMEOUT", "60000", NULL);
    for (int i = 0; i < CROWD; i++) {
        struct value *v = wire_reply(&clients[i], patience(20000));

        assert_non_null(v);
        assert_int_equal(v->type, ':');
        value_free(v);
        wire_close(&clients[i]);
    }
    assert_in_range(info_number(at[A], "jobs_added") - before, 1, CROWD);
    assert_int_equal(rows_of_health(), 0);
}

static void test_at_all_servers(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < SERVERS; i++)
            later(at[i], "HEALTH TIMEOUT 60000");
        for (int i = 0; i < SERVERS; i++)
            if (next_reply(at[i])[0] != ':')
                fail_msg("server %d", i);
    }
    EVENTUALLY(all_have("__health__", 0) && all_agree("__health__"));
    assert_int_equal(rows_of_health(), 0);
}

/* The client that has asked goes away; the others do not suffer. */
static void test_the_asking_client_is_gone(void **state) {
    PGconn *lock = postgres_connect(server.database);
    struct wire w, other;

    (void)state;
    PQclear(PQexec(lock, "begin; lock pgdisque.job"));
    raw_open_on(&w, group_size[A]);
    raw_open_on(&other, group_size[A]);
    wire_words(&w, "HEALTH", "TIMEOUT", "60000", NULL);
    wire_words(&other, "HEALTH", "TIMEOUT", "60000", NULL);
    wire_reset(&w);
    expect_start(at[A], "-NOREPL no job passed add, get and ack within 300 milliseconds",
                 "HEALTH TIMEOUT 300");
    assert_int_equal(wire_pending(&other), 0);
    PQclear(PQexec(lock, "commit"));
    PQfinish(lock);
    assert_true(wire_wait_bytes(&other, 4, patience(20000)));
    assert_int_equal(other.data[other.start], ':');
    wire_close(&other);
    expect_all_healthy();
    EVENTUALLY(rows_of_health() == 0);
}

/* A lost connection does not make HEALTH fail. HEALTH removes the jobs of lost answers. */
static void test_lost_connections(void **state) {
    (void)state;
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < SERVERS; i++)
            later(at[i], "HEALTH TIMEOUT 60000");
        sessions_end("");
        for (int i = 0; i < SERVERS; i++)
            if (next_reply(at[i])[0] != ':')
                fail_msg("server %d in round %d", i, round);
    }
    EVENTUALLY(rows_of_health() == 0);
    EVENTUALLY(all_have("__health__", 0) && all_agree("__health__"));
}

static void test_database_away(void **state) {
    const char *out;

    (void)state;
    expect_all_healthy();
    postgres_stop(&pg, true);
    EVENTUALLY(strncmp(ask(at[A], "HEALTH TIMEOUT 100"), "-NOREPL the database cannot be reached: ", 40) ==
               0);
    assert_int_equal(health_line_run(&out, "--port", text_of("%d", group_size[A]->port), NULL), 1);
    assert_non_null(
        strstr(out, text_of("pgdisque health: 127.0.0.1:%d: NOREPL the database cannot be reached",
                            group_size[A]->port)));
    assert_non_null(strstr(out, "; the server cannot reach its database; `pgdisque doctor` says more"));
    postgres_resume(&pg);
    expect_all_healthy();
    EVENTUALLY(rows_of_health() == 0);
}

/* The job of HEALTH expires soon, and cannot return before. */
static void test_server_dies(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++) {
        later(at[C], "HEALTH TIMEOUT 60000");
        redisBufferWrite(at[C], NULL);
        server_kill(group_size[C]);
        expect_start(at[A], ":", "HEALTH TIMEOUT 60000");
        expect_start(at[B], ":", "HEALTH TIMEOUT 60000");
        server_resume(group_size[C]);
        redisFree(at[C]);
        at[C] = client_open_on(group_size[C]);
        expect_start(at[C], ":", "HEALTH TIMEOUT 60000");
    }
    assert_int_equal(postgres_number(server.database,
                                     "select count(*) from pgdisque.job as j "
                                     "join pgdisque.queue as q on q.id = j.queue_id "
                                     "where q.name = '__health__' and (j.retry > 0 "
                                     "or j.expires_at > clock_timestamp() + interval '61 seconds')"),
                     0);
}

static void test_command_line(void **state) {
    char path[PATH_SIZE], port[16];
    const char *options[] = { "--unixsocket", path, NULL };
    const char *out;
    redisContext *c;
    struct server s;

    (void)state;
    path_join(path, "%s/health.sock", scratch_dir());
    server_start(&s, postgres_conninfo(&pg, NULL), options);
    snprintf(port, sizeof port, "%d", s.port);
    c = client_open_on(&s);
    expect(c, "+OK", "CONFIG SET requirepass secret");
    redisFree(c);
    EVENTUALLY(health_line_run(&out, "--port", port, "--requirepass", "secret", NULL) == 0);
    assert_int_equal(strncmp(out, "{\"healthy\":true,\"ms\":", 21), 0);
    assert_int_equal(health_line_run(&out, "--table", "--port", port, "--requirepass", "secret", NULL), 0);
    assert_int_equal(strncmp(out, "healthy: a job went through in ", 31), 0);
    assert_int_equal(health_line_run(&out, "--port", port, NULL), 1);
    assert_non_null(strstr(out,
                           "NOAUTH Authentication required; name the configuration file of the server, or "
                           "give the option requirepass"));
    assert_int_equal(health_line_run(&out, "--port", port, "--requirepass", "wrong", NULL), 1);
    assert_non_null(strstr(out, "requirepass is not the password of the server"));
    EVENTUALLY(health_line_run(&out, "--port", "0", "--unixsocket", path, "--requirepass", "secret", NULL) ==
               0);
    EVENTUALLY(health_line_run(&out, "--port", port, "--bind", "0.0.0.0", "--requirepass", "secret", NULL) ==
               0);
    assert_int_equal(health_line_run(&out, "--server", text_of("redis://:secret@127.0.0.1:%d", s.port), NULL),
                     0);
    setenv("PGDISQUE_SERVER", path, 1);
    setenv("PGDISQUE_PASSWORD", "secret", 1);
    assert_int_equal(health_line_run(&out, NULL), 0);
    assert_int_equal(health_line_run(&out, "--port", "1", NULL), 1);
    assert_non_null(strstr(out, "127.0.0.1:1: Connection refused"));
    setenv("PGDISQUE_PASSWORD", "wrong", 1);
    assert_int_equal(health_line_run(&out, NULL), 1);
    assert_non_null(strstr(out, "the user or the password is wrong"));
    unsetenv("PGDISQUE_SERVER");
    unsetenv("PGDISQUE_PASSWORD");
    assert_int_equal(health_line_run(&out, "--server", path, "--port", port, NULL), 1);
    assert_non_null(strstr(out, "--server excludes a conf-file and the options of the server"));
    assert_int_equal(health_line_run(&out, "--nonsense", "1", NULL), 1);
    assert_int_equal(server_stop(&s), 0);
    assert_int_equal(health_line_run(&out, "--port", port, NULL), 1);
    assert_non_null(
        strstr(out, text_of("pgdisque health: 127.0.0.1:%s: Connection refused; start the server", port)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_many_ask_at_once, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_at_all_servers, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_the_asking_client_is_gone, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_lost_connections, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_database_away, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_server_dies, servers_setup, servers_teardown),
        cmocka_unit_test(test_command_line),
    };

    return RUN_SUITE("health", tests);
}
