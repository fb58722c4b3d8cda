/* Users: revoked rights of clients that wait, subscribe or monitor; files of users; secrets. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A connection that has logged in as a user with these rules. */
static redisContext *client_of_user(redisContext *admin, const char *name, const char *rules) {
    redisContext *c = client_open();
    char command[512];

    snprintf(command, sizeof command, "ACL SETUSER %s reset on >secret %s", name, rules);
    expect(admin, "+OK", command);
    expect(c, "+OK", "AUTH %s secret", name);
    return c;
}

static bool is_closed(redisContext *c) {
    return strcmp(next_reply(c), "closed") == 0;
}

/* Sends what later() has collected, and does not wait for the reply. */
static void send_later(redisContext *c) {
    int done = 0;

    while (!done)
        assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
}

/* True if CLIENT LIST has a line with both texts. */
static bool client_is_listed(redisContext *admin, const char *name, const char *text) {
    char *list = strdup(ask(admin, "CLIENT LIST"));
    bool found = false;

    for (char *line = strtok(list, "\n"); line != NULL; line = strtok(NULL, "\n"))
        found = found || (strstr(line, text_of("user=%s ", name)) != NULL && strstr(line, text) != NULL);
    free(list);
    return found;
}

/* Each change must disconnect a client that waits in the command. */
static void check_waiting(const char *command, const char *change) {
    redisContext *admin = client_open();
    redisContext *c = client_of_user(admin, "waiter", "+@all ~wait:*");

    later(c, command);
    send_later(c);
    EVENTUALLY(client_is_listed(admin, "waiter", "flags=b"));
    expect(admin, strstr(change, "DELUSER") != NULL ? ":1" : "+OK", change);
    EVENTUALLY(!client_is_listed(admin, "waiter", ""));
    assert_true(is_closed(c));
    redisFree(c);
    redisFree(admin);
}

/* Each ends the waits for the queues wait:*. */
static const char *const changes[] = {
    "ACL SETUSER waiter resetkeys",
    "ACL SETUSER waiter -getjob -blpop -brpoplpush -waitjob",
    "ACL SETUSER waiter off",
    "ACL DELUSER waiter",
};

static void test_waiting_clients_lose_their_rights(void **state) {
    static const char *const commands[] = { "GETJOB FROM wait:a", "BLPOP wait:b 0",
                                            "BRPOPLPUSH wait:a wait:b 0", "BLPOP wait:queues:l:notify 0" };

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        for (size_t k = 0; k < sizeof changes / sizeof *changes; k++)
            check_waiting(commands[i], changes[k]);
    }
    check_waiting("BLPOP wait:queues:l:notify 0", "ACL SETUSER waiter resetkeys ~wait:queues:l:notify");
}

static void test_waiting_for_a_job_needs_its_queue(void **state) {
    redisContext *admin = client_open();
    const char *id = add_job(admin, "wait:j", "x", ""), *other = add_job(admin, "wait:k", "x", "");

    (void)state;
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        check_waiting(text_of("WAITJOB %s", id), changes[k]);
        check_waiting(text_of("WAITJOB %s %s ANY", other, id), changes[k]);
    }
    check_waiting(text_of("WAITJOB %s %s", other, id), "ACL SETUSER waiter resetkeys ~wait:k");
    expect(admin, ":2", "DELJOB %s %s", id, other);
    redisFree(admin);
}

/* A change that leaves the right does not end the wait. */
static void check_keeper(const char *rights, const char *command, const char *change) {
    redisContext *admin = client_open();
    redisContext *c = client_of_user(admin, "keeper", rights);

    later(c, command);
    send_later(c);
    EVENTUALLY(client_is_listed(admin, "keeper", "flags=b"));
    expect(admin, "+OK", text_of("ACL SETUSER keeper %s >other", change));
    add_job(admin, "keep:a", "body", "");
    assert_non_null(strstr(next_reply(c), "body"));
    redisFree(c);
    redisFree(admin);
}

static void test_waiting_clients_keep_other_rights(void **state) {
    (void)state;
    check_keeper("+@all ~keep:*", "GETJOB FROM keep:a", "-@admin resetkeys ~keep:a resetchannels");
    check_keeper("+@all allkeys allchannels", "GETJOB FROM keep:*", "-@admin resetchannels");
}

/* The pattern of a user with all rights matches the queues of all users. The rights on an escaped name are not in the
 * arguments. */
static void check_former(const char *command) {
    redisContext *admin = client_open();
    redisContext *c = client_of_user(admin, "former", "+@all allkeys allchannels");

    later(c, command);
    send_later(c);
    EVENTUALLY(client_is_listed(admin, "former", "flags=b"));
    expect(admin, "+OK", "ACL SETUSER former resetkeys ~former:1*");
    EVENTUALLY(!client_is_listed(admin, "former", ""));
    assert_true(is_closed(c));
    redisFree(c);
    redisFree(admin);
}

static void test_waiting_with_all_rights(void **state) {
    (void)state;
    check_former("GETJOB FROM former:*");
    check_former("GETJOB FROM former:2\\*");
}

/* Sends the command with patterns of that many bytes, with the numbers from `from` on. */
static void send_patterns(struct wire *w, const char *command, int from, int count, size_t bytes) {
    char pattern[1025];

    assert_true(wire_send_text(w, command));
    for (int i = from; i < from + count; i++) {
        memset(pattern, 'x', sizeof pattern);
        pattern[snprintf(pattern, sizeof pattern, "m:*%04d", i)] = 'x';
        pattern[bytes] = '\0';
        assert_true(wire_send_text(w, " ") && wire_send_text(w, pattern));
    }
    assert_true(wire_send_text(w, "\r\n"));
}

static void wire_of_user(redisContext *admin, struct wire *w, const char *name) {
    expect(admin, "+OK", "ACL SETUSER %s reset on >secret +@all ~m:* allchannels", name);
    raw_open(w);
    assert_true(wire_words(w, "AUTH", name, "secret", NULL));
    raw_expect(w, "+OK");
}

/* The patterns of a user leave room for those of other users. */
static void test_patterns_of_users(void **state) {
    redisContext *admin = client_open();
    redisContext *other = client_of_user(admin, "modest", "+@all ~m:* allchannels");
    struct wire waits, more;

    (void)state;
    wire_of_user(admin, &waits, "greedy");
    wire_of_user(admin, &more, "greedy");
    send_patterns(&waits, "GETJOB FROM", 0, 128, 8);
    EVENTUALLY(client_is_listed(admin, "greedy", "flags=b"));
    assert_true(wire_send_text(&more, "GETJOB NOHANG FROM m:more*\r\n"));
    raw_expect(&more, "-LIMIT the clients of a user with limited rights use at most 128 patterns");
    expect(other, "nil", "GETJOB NOHANG FROM m:more*");
    for (int i = 0; i < 128; i += 32)
        send_patterns(&more, "PSUBSCRIBE", i, 32, 1024);
    for (int i = 0; i < 128; i++)
        value_free(wire_reply(&more, EVENTUALLY_MS));
    assert_true(wire_send_text(&more, "PSUBSCRIBE m:more*\r\n"));
    raw_expect(&more, "-LIMIT the patterns of a user with limited rights have at most 131072 bytes");
    expect(other, "[\"psubscribe\" \"m:more*\" :1]", "PSUBSCRIBE m:more*");
    wire_close(&waits);
    wire_close(&more);
    redisFree(other);
    redisFree(admin);
}

/* Ends when the patterns of a closed connection are forgotten. */
static void test_number_of_channel_patterns(void **state) {
    redisContext *admin = client_open();
    redisContext *c = client_of_user(admin, "numerous", "+@all allchannels");
    struct wire listeners[8];

    (void)state;
    for (int i = 0; i < 8; i++) {
        wire_of_user(admin, &listeners[i], "numerous");
        send_patterns(&listeners[i], "PSUBSCRIBE", 1024 * i, 1024, 8);
        for (int k = 0; k < 1024; k++)
            value_free(wire_reply(&listeners[i], EVENTUALLY_MS));
    }
    expect(c, "-LIMIT the clients of a user with limited rights listen to at most 8192 patterns",
           "PSUBSCRIBE m:more*");
    wire_close(&listeners[0]);
    EVENTUALLY(strncmp(ask(c, "PSUBSCRIBE m:more*"), "-LIMIT", 6) != 0);
    for (int i = 1; i < 8; i++)
        wire_close(&listeners[i]);
    redisFree(c);
    redisFree(admin);
}

/* More subscribers than one step checks, and a change during the check. */
static void test_many_subscribers(void **state) {
    redisContext *clients[400], *admin = client_open();

    (void)state;
    expect(admin, "+OK", "ACL SETUSER crowd on >secret +@all &crowd:*");
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
        clients[i] = client_open();
        expect(clients[i], "+OK", "AUTH crowd secret");
        expect(clients[i], "[\"subscribe\" \"crowd:1\" :1]", "SUBSCRIBE crowd:1");
    }
    later(admin, "ACL SETUSER crowd resetchannels &crowd:1");
    later(admin, "ACL SETUSER crowd resetchannels &crowd:2");
    later(admin, "PING");
    expect_next(admin, "+OK");
    expect_next(admin, "+OK");
    expect_next(admin, "+PONG");
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
        assert_true(is_closed(clients[i]));
        redisFree(clients[i]);
    }
    expect(admin, ":1", "ACL DELUSER crowd");
    redisFree(admin);
}

static void test_subscribers(void **state) {
    redisContext *admin = client_open();
    redisContext *c = client_of_user(admin, "hearer", "+@all &news:* &other");
    redisContext *p;

    (void)state;
    expect(c, "[\"subscribe\" \"news:1\" :1]", "SUBSCRIBE news:1");
    expect(admin, "+OK", "ACL SETUSER hearer resetchannels &news:*");
    expect(admin, ":1", "PUBLISH news:1 x");
    expect_next(c, "[\"message\" \"news:1\" \"x\"]");
    expect(admin, "+OK", "ACL SETUSER hearer resetchannels &other");
    assert_true(is_closed(c));
    redisFree(c);
    p = client_of_user(admin, "hearer", "+@all &news:*");
    expect(p, "[\"psubscribe\" \"news:*\" :1]", "PSUBSCRIBE news:*");
    expect(admin, "+OK", "ACL SETUSER hearer resetchannels &news:1*");
    assert_true(is_closed(p));
    redisFree(p);
    redisFree(admin);
}

/* The command waits until the client has read its replies, and has no subscription yet. */
static void test_subscriber_that_waits(void **state) {
    static char large[1024 * 1024];
    redisContext *admin = client_open();
    struct wire w;

    (void)state;
    memset(large, 'x', sizeof large - 1);
    wire_of_user(admin, &w, "unread");
    for (int i = 0; i < 16; i++)
        assert_true(wire_words(&w, "ECHO", large, NULL));
    assert_true(wire_words(&w, "PSUBSCRIBE", "news:*", NULL));
    EVENTUALLY(raw_has_request(&w, admin));
    expect(admin, ":0", "PUBSUB NUMPAT");
    expect(admin, "+OK", "ACL SETUSER unread resetchannels");
    EVENTUALLY(strstr(ask(admin, "CLIENT LIST"), "user=unread") == NULL);
    wire_close(&w);
    redisFree(admin);
}

static void test_monitors(void **state) {
    redisContext *admin = client_open();
    redisContext *c = client_of_user(admin, "watcher", "+@all allkeys allchannels");

    (void)state;
    expect(c, "+OK", "MONITOR");
    expect(admin, "+OK", "ACL SETUSER watcher -monitor");
    EVENTUALLY(is_closed(c));
    redisFree(c);
    redisFree(admin);
}

/* No password appears in MONITOR, SLOWLOG, CLIENT LIST or the log. */
static void test_secrets(void **state) {
    redisContext *admin = client_open();
    redisContext *watcher = client_open();
    redisContext *c = client_open();
    const char *line;

    (void)state;
    expect(admin, "+OK", "CONFIG SET slowlog-log-slower-than 0");
    expect(watcher, "+OK", "MONITOR");
    expect(admin, "+OK", "ACL SETUSER hidden on >hush-hush +@all ~* &*");
    expect(c, "+OK", "AUTH hidden hush-hush");
    expect_start(c, "[", "HELLO 2 AUTH hidden hush-hush");
    expect_start(c, "-WRONGPASS", "AUTH hidden hush-hushed");
    expect(c, "+OK", "AUTH hidden hush-hush");
    expect(c, "+PONG", "PING");
    assert_null(strstr(ask(admin, "SLOWLOG GET 100"), "hush"));
    assert_null(strstr(ask(admin, "CLIENT LIST"), "hush"));
    assert_null(strstr(ask(admin, "ACL LOG"), "hush"));
    do {
        line = next_reply(watcher);
        assert_null(strstr(line, "hush"));
    } while (strstr(line, "PING") == NULL);
    assert_false(file_contains(server.log, "hush"));
    expect(admin, "+OK", "CONFIG SET slowlog-log-slower-than 10000");
    expect(admin, ":1", "ACL DELUSER hidden");
    redisFree(c);
    redisFree(watcher);
    redisFree(admin);
}

/* ---- files ---- */

static void write_users(const char *path, const char *text) {
    FILE *out = fopen(path, "we");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void test_aclfile(void **state) {
    char path[PATH_SIZE];
    const char *const options[] = { "--aclfile", path, NULL };
    struct server s;
    redisContext *c, *ada;

    (void)state;
    /* A server that root starts becomes another user, and writes the file as that user. */
    path_join(path, "%s/acl", scratch_dir());
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(chmod(path, 0777), 0);
    path_join(path, "%s/acl/users.acl", scratch_dir());
    write_users(path, "user default on nopass +@all ~* &*\nuser ada on >secret +@all ~ada:*\n");
    server_start(&s, postgres_conninfo(&pg, NULL), options);
    c = client_open_on(&s);
    ada = client_open_on(&s);
    expect(ada, "+OK", "AUTH ada secret");
    expect_start(ada, "-NOPERM", "QLEN other");
    /* A wrong file changes nothing. */
    write_users(path, "user default on nopass +@all ~* &*\nuser ada on >secret +nonsense\n");
    expect_start(c, "-ERR", "ACL LOAD");
    expect(ada, ":0", "QLEN ada:1");
    write_users(path, "user default on nopass +@all ~* &*\nuser ada on >secret +@all ~other\n");
    expect(c, "+OK", "ACL LOAD");
    expect(ada, ":0", "QLEN other");
    expect_start(ada, "-NOPERM", "QLEN ada:1");
    expect(c, "+OK", "ACL SETUSER bob on >bob +ping");
    expect(c, "+OK", "ACL SAVE");
    assert_true(file_contains(path, "user bob on sanitize-payload #"));
    assert_false(file_contains(path, "secret"));
    /* The file without ada disconnects ada. */
    write_users(path, "user bob on >bob +ping\n");
    expect(c, "+OK", "ACL LOAD");
    assert_true(is_closed(ada));
    expect(c, "[\"bob\" \"default\"]", "ACL USERS");
    redisFree(ada);
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
}

/* A server with a wrong file does not start. */
static void test_wrong_aclfile(void **state) {
    char path[PATH_SIZE], log[PATH_SIZE];
    const char *const argv[] = {
        server_program(), "--check", "--dir", scratch_dir(), "--aclfile", path, NULL
    };

    (void)state;
    path_join(path, "%s/wrong.acl", scratch_dir());
    path_join(log, "%s/wrong.log", scratch_dir());
    write_users(path, "user bob nonsense\n");
    assert_int_equal(wait_exit(spawn(&(struct spawn){ .argv = argv, .log = log }), 120000), 1);
    assert_true(file_contains(log, "wrong.acl:1: Syntax error"));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_clients_lose_their_rights),
        cmocka_unit_test(test_waiting_for_a_job_needs_its_queue),
        cmocka_unit_test(test_waiting_clients_keep_other_rights),
        cmocka_unit_test(test_subscribers),
        cmocka_unit_test(test_subscriber_that_waits),
        cmocka_unit_test(test_many_subscribers),
        cmocka_unit_test(test_waiting_with_all_rights),
        cmocka_unit_test(test_patterns_of_users),
        cmocka_unit_test(test_number_of_channel_patterns),
        cmocka_unit_test(test_monitors),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_aclfile),
        cmocka_unit_test(test_wrong_aclfile),
    };

    return RUN_SUITE("users", tests);
}
