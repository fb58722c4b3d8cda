/* Connections: unix socket, password from the start, being listed, killed and paused. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory from which the server, which is not root, can remove its socket. */
static void make_socket_dir(char *dir) {
    gid_t gid;
    uid_t uid = unprivileged_uid(&gid);

    path_join(dir, "%s/sockets", scratch_dir());
    assert_int_equal(mkdir(dir, 0755), 0);
    if (uid)
        assert_int_equal(chown(dir, uid, gid), 0);
}

static void test_unix_socket(void **state) {
    char path[PATH_SIZE], dir[PATH_SIZE];
    const char *const options[] = { "--unixsocket", path, "--unixsocketperm", "700", NULL };
    struct server s;
    struct stat st;
    redisContext *c;

    (void)state;
    make_socket_dir(dir);
    path_join(path, "%s/clients.sock", dir);
    server_start(&s, postgres_conninfo(&pg, NULL), options);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    c = redisConnectUnix(path);
    assert_int_equal(c->err, 0);
    add_job(c, "q", "by file", "");
    get_job(c, "q", "by file");
    assert_non_null(strstr(ask(c, "CLIENT LIST"), "flags=U"));
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
    assert_int_not_equal(stat(path, &st), 0);
}

static void test_password_from_the_start(void **state) {
    const char *const options[] = { "--requirepass", "open sesame", NULL };
    struct server s;
    redisContext *c;

    (void)state;
    server_spawn(&s, postgres_conninfo(&pg, NULL), options);
    EVENTUALLY(strcmp(server_ping(&s), "-NOAUTH Authentication required.") == 0);
    c = client_open_on(&s);
    expect(c, "-WRONGPASS invalid username-password pair or user is disabled.", "AUTH sesame");
    /* The server takes clients before it has its database. */
    EVENTUALLY(strcmp(ask(c, "AUTH %s", "open sesame"), "+OK") == 0 && strcmp(ask(c, "PING"), "+PONG") == 0);
    add_job(c, "q", "x", "");
    redisFree(c);
    assert_false(file_contains(s.log, "open sesame"));
    assert_int_equal(server_stop(&s), 0);
}

/* The address of a connection as CLIENT LIST shows it. */
static const char *own_address(redisContext *c) {
    const char *at = strstr(ask(c, "CLIENT INFO"), "addr=");

    assert_non_null(at);
    return text_of("%.*s", (int)strcspn(at + 5, " "), at + 5);
}

static void test_kill_by_address(void **state) {
    redisContext *c = client_open();
    redisContext *victim = client_open();
    const char *address = own_address(victim);

    (void)state;
    expect(c, "+OK", "CLIENT KILL %s", address);
    assert_string_equal(ask(victim, "PING"), "closed");
    expect(c, "-ERR No such client", "CLIENT KILL %s", address);
    redisFree(victim);
    victim = client_open();
    expect(c, ":1", "CLIENT KILL ADDR %s", own_address(victim));
    assert_string_equal(ask(victim, "PING"), "closed");
    /* Oneself: the reply comes, then the end. */
    redisFree(victim);
    victim = client_open();
    expect(victim, "+OK", "CLIENT KILL %s", own_address(victim));
    assert_string_equal(ask(victim, "PING"), "closed");
    redisFree(victim);
    redisFree(c);
}

static void test_many_connections_are_listed(void **state) {
    redisContext *c = client_open();
    struct wire w[200];
    long long before = info_number(c, "connected_clients");

    (void)state;
    for (int i = 0; i < 200; i++)
        raw_open(&w[i]);
    EVENTUALLY(info_number(c, "connected_clients") == before + 200);
    for (int i = 0; i < 200; i++)
        wire_close(&w[i]);
    EVENTUALLY(info_number(c, "connected_clients") == before);
    redisFree(c);
}

/* CLIENT PAUSE holds commands back. The server loses none of them and executes none twice. */
static void test_pause_holds_commands(void **state) {
    redisContext *c = client_open();
    struct wire w;
    struct value *v;

    (void)state;
    raw_open(&w);
    expect(c, "+OK", "CLIENT PAUSE 3000");
    wire_words(&w, "ADDJOB", "held", "x", "0", NULL);
    HOLDS_FOR(200, wire_pending(&w) == 0);
    v = wire_reply(&w, 5000);
    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
    assert_int_equal(number(c, "QLEN held"), 1);
    wire_close(&w);
    redisFree(c);
}

/* The server closes a monitor that does not read. Other clients do not notice it. */
/* MONITOR shows at most 32 KB of a command: it takes some thousand to fill the buffers of the system. */
static void test_monitor_that_does_not_read(void **state) {
    enum { COMMANDS = 3000, KEYS = 32 };
    redisContext *c = client_open();
    const char *words[KEYS + 1] = { "EXISTS" };
    struct wire w;
    char key[1001];

    (void)state;
    memset(key, 'm', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    for (int i = 1; i <= KEYS; i++)
        words[i] = key;
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 2mb 0 0");
    raw_open(&w);
    wire_words(&w, "MONITOR", NULL);
    raw_expect(&w, "+OK");
    for (int i = 0; i < COMMANDS; i++)
        redisAppendCommandArgv(c, KEYS + 1, words, NULL);
    for (int i = 0; i < COMMANDS; i++)
        expect_next(c, ":0");
    EVENTUALLY(info_number(c, "connected_clients") == 1);
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 256mb 64mb 60");
    wire_close(&w);
    redisFree(c);
}

static void test_output_limit_for_a_waiting_client(void **state) {
    redisContext *c = client_open();
    struct wire w;
    char *text = calloc(1, 1000001);

    (void)state;
    memset(text, 'b', 1000000);
    add_job(c, "fat", text, "");
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 2mb 1mb 1");
    raw_open(&w);
    for (int i = 0; i < 30; i++)
        wire_words(&w, "QPEEK", "fat", "1", NULL);
    wire_words(&w, "GETJOB", "FROM", "fat2", NULL);
    EVENTUALLY(info_number(c, "connected_clients") == 1);
    add_job(c, "fat2", "x", "");
    get_job(c, "fat2", "x");
    expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 256mb 64mb 60");
    wire_close(&w);
    free(text);
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_password_from_the_start),
        cmocka_unit_test(test_kill_by_address),
        cmocka_unit_test(test_many_connections_are_listed),
        cmocka_unit_test(test_pause_holds_commands),
        cmocka_unit_test(test_monitor_that_does_not_read),
        cmocka_unit_test(test_output_limit_for_a_waiting_client),
    };

    return RUN_SUITE("connections", tests);
}
