/* Ten thousand clients, and too few open files. */
#include "fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CROWD 10000
/* The most files that the test and the server open beside the connections. */
#define MORE_FILES 200
#define MAX_CONNECTIONS 16

static const char ping[] = "*1\r\n$4\r\nPING\r\n";
static const char get[] = "*3\r\n$6\r\nGETJOB\r\n$4\r\nFROM\r\n$4\r\nherd\r\n";

/* ---- a crowd: plain sockets, looked at together ---- */

static struct pollfd crowd[CROWD];
static struct server big;
static redisContext *watcher;

static int connect_one(const struct server *s) {
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)s->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0 && errno != EINPROGRESS))
        fail_msg("cannot connect: %s", strerror(errno));
    return fd;
}

/* The server has accepted each thousand before the next one comes. Otherwise the queue of its socket overflows on a busy
 * machine, and the kernel resets connections. */
static void connect_many(const struct server *s, int count) {
    for (int i = 0; i < count; i++) {
        crowd[i] = (struct pollfd){ .fd = connect_one(s), .events = POLLOUT };
        if (s == &big && i % 1000 == 999)
            EVENTUALLY(info_number(watcher, "connected_clients") > i);
    }
}

/* Sends the text on the connections that are open, and waits for the replies. */
static bool send_to_many(int count, const char *text) {
    int left = 0;

    poll(crowd, (nfds_t)count, 0);
    for (int i = 0; i < count; i++) {
        if (crowd[i].revents & POLLOUT && send(crowd[i].fd, text, strlen(text), MSG_NOSIGNAL) > 0)
            crowd[i].events = POLLIN;
        left += crowd[i].events == POLLOUT;
    }
    return left == 0;
}

/* How many have something to read; it is read when it begins so. A connection that ended fails the test. */
static int many_answered(int count, const char *beginning) {
    int found = 0;

    poll(crowd, (nfds_t)count, 0);
    for (int i = 0; i < count; i++) {
        char text[256];
        ssize_t len;

        if (!(crowd[i].revents & (POLLIN | POLLHUP | POLLERR)))
            continue;
        len = recv(crowd[i].fd, text, sizeof text, 0);
        if (len < (ssize_t)strlen(beginning) || memcmp(text, beginning, strlen(beginning)) != 0)
            fail_msg("client %d of %d: %.*s", i, count, len > 0 ? (int)len : 0, text);
        found++;
    }
    return found;
}

static void ask_many(int count, const char *text, const char *beginning) {
    int answered = 0;

    for (int i = 0; i < count; i++)
        crowd[i].events = POLLOUT;
    EVENTUALLY(send_to_many(count, text));
    EVENTUALLY((answered += many_answered(count, beginning)) == count);
}

/* With a reset, which leaves no port behind. */
static void disconnect_some(int from, int to) {
    for (int i = from; i < to; i++) {
        if (crowd[i].fd <= 0)
            continue;
        setsockopt(crowd[i].fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
        close(crowd[i].fd);
        crowd[i].fd = -1;
    }
}

/* A test that failed may have left things as they were. */
static int clean_up(void **state) {
    (void)state;
    disconnect_some(0, CROWD);
    if (!pg.pid)
        postgres_resume(&pg);
    return 0;
}

/* ---- ten thousand ---- */

static int start_big(void **state) {
    const char *const options[] = { "--maxclients", "10100", NULL };
    struct rlimit limit;

    (void)state;
    big.pid = 0;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < CROWD + MORE_FILES)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    server_start(&big, postgres_conninfo(&pg, NULL), options);
    watcher = client_open_on(&big);
    return 0;
}

static int stop_big(void **state) {
    clean_up(state);
    if (big.pid == 0)
        return 0;
    redisFree(watcher);
    return server_stop(&big);
}

static void need_files(void) {
    if (big.pid != 0)
        return;
    print_message("# skipped: ten thousand clients need a limit of %d open files (ulimit -Hn)\n",
                  CROWD + MORE_FILES);
    skip();
}

static void block_many(void) {
    connect_many(&big, CROWD);
    EVENTUALLY(send_to_many(CROWD, get));
    EVENTUALLY(info_number(watcher, "blocked_clients") == CROWD);
}

static void test_one_job_for_many_clients(void **state) {
    long long claims, received;
    int woken = 0;

    (void)state;
    need_files();
    block_many();
    claims = info_number(watcher, "claims");
    received = info_number(watcher, "connections_received");
    add_job(watcher, "herd", "a", "");
    EVENTUALLY((woken += many_answered(CROWD, "*1\r\n*3\r\n$4\r\nherd\r\n")) > 0);
    HOLDS_FOR(300, (woken += many_answered(CROWD, "")) == 1);
    assert_in_range(info_number(watcher, "claims") - claims, 0, 1);
    assert_int_equal(info_number(watcher, "blocked_clients"), CROWD - 1);
    disconnect_some(0, CROWD);
    EVENTUALLY(info_number(watcher, "connected_clients") == 1);
    /* The server frees clients that have gone in several turns. */
    EVENTUALLY(info_number(watcher, "blocked_clients") == 0);
    assert_int_equal(info_number(watcher, "connections_received"), received);
}

static void test_many_clients_connect_again(void **state) {
    (void)state;
    need_files();
    block_many();
    redisFree(watcher);
    server_kill(&big);
    disconnect_some(0, CROWD);
    server_resume(&big);
    watcher = client_open_on(&big);
    connect_many(&big, CROWD);
    ask_many(CROWD, ping, "+PONG\r\n");
    ask_many(CROWD, "*4\r\n$6\r\nADDJOB\r\n$4\r\nback\r\n$1\r\nx\r\n$1\r\n0\r\n", "+D-");
    assert_int_equal(number(watcher, "QLEN back"), CROWD);
    assert_int_equal(info_number(watcher, "connections_rejected"), 0);
    disconnect_some(0, CROWD);
    EVENTUALLY(info_number(watcher, "connected_clients") == 1);
}

static long long sessions_of(const struct server *s) {
    return postgres_number(s->database,
                           "select count(*) from pg_stat_activity"
                           " where application_name like 'pgdisque %' and datname = current_database()");
}

static int lines_with(const char *path, const char *text) {
    char line[1024];
    FILE *f = fopen(path, "r");
    int count = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        count += strstr(line, text) != NULL;
    if (f != NULL)
        fclose(f);
    return count;
}

/* Each of a crowd has something to be done by a database that is away: that makes no crowd there. */
static void test_many_clients_share_the_database_connections(void **state) {
    long long most = 0;
    int64_t began;
    int answered = 0;

    (void)state;
    need_files();
    began = now_ms();
    postgres_stop(&pg, true);
    EVENTUALLY(info_number(watcher, "database_connected") == 0);
    connect_many(&big, CROWD);
    EVENTUALLY(send_to_many(CROWD, "*4\r\n$6\r\nADDJOB\r\n$4\r\naway\r\n$1\r\nx\r\n$1\r\n0\r\n"));
    /* A pause of 20 ms, doubled each time up to two seconds: about eight attempts a connection, then one in two
     * seconds. */
    HOLDS_FOR(1500, lines_with(big.log, "next try in") < 60 + (now_ms() - began) / 200);
    postgres_resume(&pg);
    EVENTUALLY((most = sessions_of(&big) > most ? sessions_of(&big) : most) <= MAX_CONNECTIONS &&
               (answered += many_answered(CROWD, "+D-")) == CROWD);
    assert_in_range(most, 1, MAX_CONNECTIONS);
    assert_int_equal(number(watcher, "QLEN away"), CROWD);
    disconnect_some(0, CROWD);
}

/* ---- too few files ---- */

static bool works(redisContext *c) {
    const char *id = add_job(c, "few", "a", "");

    return strcmp(get_job(c, "few", "a"), id) == 0 && strcmp(ask(c, "ACKJOB %s", id), ":1") == 0;
}

static void restart_postgres(redisContext *c) {
    long long connects = info_number(c, "db_connects");

    postgres_stop(&pg, true);
    postgres_resume(&pg);
    EVENTUALLY(info_number(c, "db_connects") >= connects + 2);
}

/* maxclients is the rest of the limit. A larger maxclients does not take the files reserved for the database. */
static void test_a_low_limit(void **state) {
    const char *database = postgres_conninfo(&pg, NULL);
    struct server s;
    redisContext *c;
    struct wire w;

    (void)state;
    server_spawn_limited(&s, database, NULL, 128);
    server_wait_ready(&s);
    c = client_open_on(&s);
    expect(c, "[\"maxclients\" \"64\"]", "CONFIG GET maxclients");
    expect(c, "+OK", "CONFIG SET maxclients 1000");
    expect(c, "[\"maxclients\" \"64\"]", "CONFIG GET maxclients");
    connect_many(&s, 63);
    ask_many(63, ping, "+PONG\r\n");
    raw_open_on(&w, &s);
    raw_expect(&w, "-ERR max number of clients reached");
    wire_close(&w);
    restart_postgres(c);
    assert_true(works(c));
    ask_many(63, ping, "+PONG\r\n");
    disconnect_some(0, 63);
    EVENTUALLY(strcmp(server_ping(&s), "+PONG") == 0);
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
}

static void test_a_limit_that_leaves_nothing(void **state) {
    struct server s;
    int status = -1;

    (void)state;
    server_spawn_limited(&s, postgres_conninfo(&pg, NULL), NULL, 40);
    EVENTUALLY(has_ended(s.pid, &status));
    assert_int_equal(status, 1);
    assert_true(file_contains(s.log, "pgdisque: the limit of 40 open files leaves none for clients"));
}

/* The limit falls below the number of open files: accept() and socket() fail. Connected clients are served, and new
 * ones wait. After some disconnects the database gets its files before the waiting clients. */
static void test_no_files_at_all(void **state) {
    struct rlimit before, none;
    /* prlimit() demands the same user. */
    const char *const options[] = { "--user", "root", NULL };
    struct server s;
    redisContext *c;

    (void)state;
    server_start(&s, postgres_conninfo(&pg, NULL), options);
    c = client_open_on(&s);
    connect_many(&s, 100);
    ask_many(100, ping, "+PONG\r\n");
    assert_int_equal(prlimit(s.pid, RLIMIT_NOFILE, NULL, &before), 0);
    none = (struct rlimit){ 60, before.rlim_max };
    assert_int_equal(prlimit(s.pid, RLIMIT_NOFILE, &none, NULL), 0);
    for (int i = 100; i < 250; i++)
        crowd[i] = (struct pollfd){ .fd = connect_one(&s), .events = POLLOUT };
    EVENTUALLY(file_contains(s.log, "cannot accept connections: Too many open files"));
    HOLDS_FOR(300, works(c) && many_answered(250, "") == 0);
    assert_int_equal(lines_with(s.log, "cannot accept"), 1);
    postgres_stop(&pg, true);
    EVENTUALLY(info_number(c, "database_connected") == 0);
    /* A client or the database may get the files of the lost connections. Now none of them can. */
    assert_int_equal(prlimit(s.pid, RLIMIT_NOFILE, &(struct rlimit){ 0, before.rlim_max }, NULL), 0);
    postgres_resume(&pg);
    HOLDS_FOR(300, info_number(c, "database_connected") == 0);
    disconnect_some(0, 100);
    assert_int_equal(prlimit(s.pid, RLIMIT_NOFILE, &none, NULL), 0);
    EVENTUALLY(info_number(c, "connections_rejected") > 50);
    EVENTUALLY(info_number(c, "database_connected") == 1);
    assert_true(works(c));
    disconnect_some(100, 250);
    EVENTUALLY(strcmp(server_ping(&s), "+PONG") == 0);
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_job_for_many_clients, start_big, stop_big),
        cmocka_unit_test_setup_teardown(test_many_clients_connect_again, start_big, stop_big),
        cmocka_unit_test_setup_teardown(test_many_clients_share_the_database_connections, start_big,
                                        stop_big),
        cmocka_unit_test_teardown(test_a_low_limit, clean_up),
        cmocka_unit_test_teardown(test_a_limit_that_leaves_nothing, clean_up),
        cmocka_unit_test_teardown(test_no_files_at_all, clean_up),
    };

    return RUN_SUITE("crowd", tests);
}
