/* Starting: in the background, by systemd, with --check, and as a user without a name. */
#include "fixture.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "version.h"

#define NAMELESS_UID "54321"
#define WORDS_MAX 24

static char output[8192];

/* ---- running the program ---- */

/* A path in this program's directory. */
static const char *path_of(const char *name) {
    char path[PATH_SIZE];

    path_join(path, "%s/%s", scratch_dir(), name);
    return forever(path);
}

static void read_output(const char *path) {
    FILE *f = fopen(path, "r");
    size_t len;

    assert_non_null(f);
    len = fread(output, 1, sizeof(output) - 1, f);
    output[len] = '\0';
    fclose(f);
}

/* Runs a command that ends by itself; its words go to output. */
static int run(const char *const *argv) {
    const char *path = path_of("output");
    int status;

    unlink(path);
    status = wait_exit(spawn(&(struct spawn){ .argv = argv, .log = path }), 120000);
    read_output(path);
    return status;
}

/* The server's program with these options, before the words of `more`. */
#define RUN(...) run((const char *const[]){ server_program(), __VA_ARGS__, NULL })
#define CHECK(...) RUN("--check", "--port", free_port(), __VA_ARGS__)

static const char *free_port(void) {
    return forever(text_of("%d", server_free_port()));
}

static void says(const char *text) {
    if (!strstr(output, text))
        fail_msg("\"%s\" is not in: %s", text, output);
}

/* ---- --check ---- */

static void test_check_refuses(void **state) {
    const char *here = scratch_dir();
    static const char *const wrong[][3] = {
        { "--bind", "localhost,0.0.0.0", "cannot listen on localhost,0.0.0.0" },
        { "--bind", "203.0.113.7", "cannot listen on 203.0.113.7" },
        { "--unixsocket", "/nope/x", "cannot listen on /nope/x" },
        { "--logfile", "/nope/x", "cannot write the log file /nope/x" },
        { "--logfile", "/", "cannot write the log file /: Is a directory" },
        { "--pidfile", "/nope/x", "cannot write the pid file /nope/x" },
        { "--dir", "/nope/x", "cannot use the directory /nope/x" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(CHECK("--dir", here, "--database", server.database, wrong[i][0], wrong[i][1]), 1);
        says(wrong[i][2]);
    }
}

/* It disturbs the server that has the same options, and leaves no row of a server. */
static void test_check_beside_a_server(void **state) {
    const char *nodes = "select count(*) from pgdisque.node";
    const char *socket = path_of("socket"), *pid = path_of("pid"), *log = path_of("log");
    const char *options[] = { "--unixsocket", socket, "--pidfile", pid, "--logfile", log, NULL };
    struct server s;
    long long before;
    redisContext *c;

    (void)state;
    server_start(&s, postgres_conninfo(&pg, NULL), options);
    c = client_open_on(&s);
    add_job(c, "q", "a", "");
    before = postgres_number(s.database, nodes);
    assert_int_equal(RUN("--check", "--port", text_of("%d", s.port), "--bind", "127.0.0.1", "--dir", s.dir,
                         "--database", s.database, "--unixsocket", socket, "--pidfile", pid, "--logfile",
                         log),
                     0);
    says("configuration and database are fine");
    says("queues: 1, jobs: 1");
    assert_int_equal(postgres_number(s.database, nodes), before);
    assert_int_equal(access(socket, F_OK), 0);
    assert_int_equal(access(pid, F_OK), 0);
    assert_int_equal(info_number(c, "transactions_lost"), 0);
    get_job(c, "q", "a");
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
}

/* The socket stays with the server that has it, also when the other server ends. A file that a killed server has left is no
 * obstacle. */
static void test_two_servers_with_one_socket(void **state) {
    const char *socket = path_of("shared");
    const char *options[] = { "--unixsocket", socket, NULL };
    struct server first, second;
    redisContext *c;

    (void)state;
    server_start(&first, postgres_conninfo(&pg, NULL), options);
    assert_int_equal(RUN("--port", text_of("%d", server_free_port()), "--bind", "127.0.0.1", "--dir",
                         scratch_dir(), "--database", first.database, "--unixsocket", socket),
                     1);
    says("another server uses it");
    c = redisConnectUnix(socket);
    expect(c, "+PONG", "PING");
    redisFree(c);
    server_kill(&first);
    assert_int_equal(access(socket, F_OK), 0);
    server_start(&second, first.database, options);
    c = redisConnectUnix(socket);
    expect(c, "+PONG", "PING");
    redisFree(c);
    assert_int_equal(server_stop(&second), 0);
}

/* The embedded Postgres of a server that runs is visited, and stays. */
static void test_check_beside_a_private_postgres(void **state) {
    struct server s;

    (void)state;
    server_start(&s, "", NULL);
    assert_int_equal(RUN("--check", "--port", text_of("%d", s.port), "--bind", "127.0.0.1", "--dir", s.dir),
                     0);
    says("configuration and database are fine");
    assert_string_equal(server_ping(&s), "+PONG");
    assert_int_equal(server_stop(&s), 0);
}

/* The database is away. The check serves no clients that it could wait for. */
static void test_check_is_stopped(void **state) {
    const char *log = path_of("check");
    const char *const argv[] = { server_program(),
                                 "--check",
                                 "--port",
                                 free_port(),
                                 "--dir",
                                 scratch_dir(),
                                 "--database",
                                 "host=127.0.0.1 port=1 dbname=x",
                                 NULL };
    pid_t pid = spawn(&(struct spawn){ .argv = argv, .log = log });

    (void)state;
    EVENTUALLY(access(log, R_OK) == 0 && (read_output(log), strstr(output, "cannot connect") != NULL));
    kill(pid, SIGTERM);
    assert_int_equal(wait_exit(pid, 10000), 1);
}

/* The first lines count. */
static void ask_for_passwords(const struct postgres *p, const char *role) {
    const char *path = text_of("%s/pg_hba.conf", p->dir);
    char rest[16384];
    FILE *f = fopen(path, "r+");
    size_t len;

    assert_non_null(f);
    len = fread(rest, 1, sizeof(rest), f);
    rewind(f);
    fprintf(f, "local all %s scram-sha-256\n", role);
    fwrite(rest, 1, len, f);
    fclose(f);
}

/* Once, and not again and again. */
static void test_check_names_the_refused_role(void **state) {
    const char *database = postgres_conninfo(&pg, NULL);
    const char *host = forever(text_of("%.*s", (int)strcspn(database, " "), database));

    (void)state;
    free(postgres_query(database, "create role guarded login password 'right'"));
    ask_for_passwords(&pg, "guarded");
    free(postgres_query(database, "select pg_reload_conf()::text"));
    EVENTUALLY(CHECK("--database", text_of("%s user=guarded password=wrong dbname=postgres", host)) == 1 &&
               strstr(output, "password authentication failed"));
    says("pgdisque: the database refuses the connection");
    assert_null(strstr(output, "next try"));
    assert_null(strstr(output, "LOCATION"));
    assert_int_equal(CHECK("--database", text_of("%s user=postgres dbname=nothing", host)), 1);
    says("database \"nothing\" does not exist");
    assert_null(strstr(output, "next try"));
}

static void test_unknown_word(void **state) {
    (void)state;
    assert_int_equal(RUN("serve"), 1);
    says("serve is neither a configuration file nor a tool; to serve, name a file");
    assert_int_equal(RUN("pek"), 1);
    says("pek is neither a configuration file nor a tool, did you mean peek?");
    assert_int_equal(RUN("que"), 1);
    says("did you mean queues?");
    assert_int_equal(RUN("--help"), 0);
    says("  import  ");
    says("  export  ");
}

/* A server does not run here: these actions do not look for it. */
static void test_actions_of_health(void **state) {
    (void)state;
    assert_int_equal(RUN("health", "--version", "--port", free_port()), 0);
    says("pgdisque " PGDISQUE_VERSION);
    assert_int_equal(RUN("health", "--check", "--port", free_port()), 1);
    says("pgdisque health: this option checks the configuration of a server: --check");
}

/* ---- daemonize ---- */

static pid_t daemon_pid(void) {
    FILE *f = fopen(path_of("daemon.pid"), "r");
    int pid = 0;

    if (!f || fscanf(f, "%d", &pid) != 1)
        pid = 0;
    if (f)
        fclose(f);
    return pid;
}

/* No child of ours. */
static int end_daemon(void **state) {
    pid_t pid = daemon_pid();

    (void)state;
    if (pid > 0 && kill(pid, SIGTERM) == 0)
        EVENTUALLY(kill(pid, 0) != 0 && errno == ESRCH);
    return 0;
}

static int start_daemon(const char *port, const char *log) {
    return RUN("--port", port, "--bind", "127.0.0.1", "--dir", path_of("daemon"), "--database",
               server.database, "--daemonize", "yes", "--pidfile", path_of("daemon.pid"), "--logfile", log);
}

static void test_daemon_is_ready(void **state) {
    const char *port = free_port();
    struct server s = { .port = atoi(port) };

    (void)state;
    assert_int_equal(start_daemon(port, path_of("daemon.log")), 0);
    assert_string_equal(output, "");
    assert_string_equal(server_ping(&s), "+PONG");
    assert_true(file_contains(path_of("daemon.log"), "ready on 127.0.0.1"));
}

/* The shell reads until no process has its pipe. */
static int start_daemon_in_shell(const char *port) {
    const char *const argv[] = { "/bin/sh",
                                 "-c",
                                 "words=$(\"$@\" 2>&1); status=$?; echo \"$words\"; exit $status",
                                 "sh",
                                 server_program(),
                                 "--port",
                                 port,
                                 "--bind",
                                 "127.0.0.1",
                                 "--dir",
                                 path_of("daemon"),
                                 "--database",
                                 server.database,
                                 "--daemonize",
                                 "yes",
                                 "--pidfile",
                                 path_of("daemon.pid"),
                                 NULL };

    return run(argv);
}

static void test_daemon_without_logfile(void **state) {
    const char *port = free_port();
    struct server s = { .port = atoi(port) };

    (void)state;
    assert_int_equal(start_daemon_in_shell(port), 0);
    says("the log ends after the start");
    assert_string_equal(server_ping(&s), "+PONG");
    assert_int_equal(start_daemon_in_shell(forever(text_of("%d", server.port))), 1);
    says("Address already in use");
}

static void test_daemon_that_cannot_start(void **state) {
    const char *port = forever(text_of("%d", server.port));

    (void)state;
    assert_int_equal(start_daemon(port, path_of("busy.log")), 1);
    says(text_of("cannot listen on 127.0.0.1 port %s: Address already in use", port));
    assert_true(file_contains(path_of("busy.log"), "Address already in use"));
    assert_int_equal(start_daemon(port, "/nope/x"), 1);
    says("cannot open the log file /nope/x");
}

/* ---- systemd ---- */

static int notify_socket(const char *path) {
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

static bool was_told(int fd, const char *state) {
    char text[512];
    ssize_t len = recv(fd, text, sizeof(text) - 1, 0);

    text[len > 0 ? len : 0] = '\0';
    return strncmp(text, state, strlen(state)) == 0;
}

static void test_systemd_is_told(void **state) {
    const char *path = path_of("notify");
    int fd = notify_socket(path);
    struct server s;

    (void)state;
    setenv("NOTIFY_SOCKET", path, 1);
    server_spawn(&s, postgres_conninfo(&pg, NULL), NULL);
    unsetenv("NOTIFY_SOCKET");
    EVENTUALLY(was_told(fd, "READY=1\nSTATUS=ready"));
    assert_string_equal(server_ping(&s), "+PONG");
    assert_int_equal(server_stop(&s), 0);
    EVENTUALLY(was_told(fd, "STOPPING=1"));
    close(fd);
}

/* The watchdog gets reports before its time has passed, and a reload has a begin and an end. */
static void test_systemd_gets_reports(void **state) {
    const char *path = path_of("watchdog");
    int fd = notify_socket(path);
    struct server s;

    (void)state;
    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", "400000", 1);
    server_spawn(&s, postgres_conninfo(&pg, NULL), NULL);
    unsetenv("WATCHDOG_USEC");
    unsetenv("NOTIFY_SOCKET");
    EVENTUALLY(was_told(fd, "READY=1"));
    for (int i = 0; i < 3; i++)
        EVENTUALLY(was_told(fd, "WATCHDOG=1\nSTATUS=ready; clients: "));
    assert_int_equal(kill(s.pid, SIGHUP), 0);
    EVENTUALLY(was_told(fd, "RELOADING=1\nMONOTONIC_USEC="));
    EVENTUALLY(was_told(fd, "READY=1"));
    EVENTUALLY(was_told(fd, "WATCHDOG=1\nSTATUS=ready"));
    assert_int_equal(server_stop(&s), 0);
    close(fd);
}

/* A journal that is known by the file's numbers gets levels. */
static void test_journal_gets_levels(void **state) {
    const char *path = path_of("journal");
    const char *argv[] = { server_program(), "--port",     free_port(),          "--bind",
                           "203.0.113.7",    "--dir",      path_of("journal.d"), "--maxclients",
                           "1000000",        "--database", server.database,      NULL };
    FILE *f = fopen(path, "w");
    struct stat st;

    (void)state;
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    fclose(f);
    setenv("JOURNAL_STREAM",
           text_of("%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino), 1);
    assert_int_equal(wait_exit(spawn(&(struct spawn){ .argv = argv, .log = path, .files = 2000 }), 60000), 1);
    unsetenv("JOURNAL_STREAM");
    read_output(path);
    assert_string_equal(text_of("%.4s", output), "<4>[");
}

/* ---- a user without a name ---- */

static bool has_nss_wrapper(void) {
    const char *argv[] = { "sh", "-c", "LD_PRELOAD=libnss_wrapper.so sh -c : 2>&1 | grep -q .", NULL };

    return run(argv) != 0;
}

/* It works with nss_wrapper. Without nss_wrapper the message has advice. */
static void test_user_without_a_name(void **state) {
    const char *dir = path_of("nameless");
    const char *argv[] = { "setpriv",
                           "--reuid=" NAMELESS_UID,
                           "--regid=" NAMELESS_UID,
                           "--clear-groups",
                           "--",
                           server_program(),
                           "--check",
                           "--dir",
                           dir,
                           NULL };

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chown(dir, atoi(NAMELESS_UID), atoi(NAMELESS_UID)), 0);
    if (has_nss_wrapper()) {
        if (run(argv) != 0)
            fail_msg("%s", output);
        says("configuration and database are fine");
    } else {
        assert_int_equal(run(argv), 1);
        says("initdb needs a name for user ID " NAMELESS_UID);
        says("libnss-wrapper");
    }
}

/* ---- another user ---- */

#define OTHER_USER "daemon"

static uid_t owner_of(const char *dir, const char *name) {
    struct stat st;

    assert_int_equal(stat(text_of("%s/%s", dir, name), &st), 0);
    return st.st_uid;
}

/* A directory of the other user. */
static const char *dir_of_other(const char *name, mode_t mode) {
    const struct passwd *other = getpwnam(OTHER_USER);
    const char *dir = path_of(name);

    assert_int_equal(mkdir(dir, mode), 0);
    assert_int_equal(chown(dir, other->pw_uid, other->pw_gid), 0);
    return dir;
}

#define CHECK_AS_OTHER(dir)                                                                               \
    run((const char *const[]){ "setpriv", "--reuid=" OTHER_USER, "--regid=" OTHER_USER, "--clear-groups", \
                               "--", server_program(), "--check", "--port", free_port(), "--dir", dir,    \
                               NULL })

/* A check by root leaves the directory to the user that the server becomes. */
static void test_check_of_root_leaves_the_files(void **state) {
    uid_t other = getpwnam(OTHER_USER)->pw_uid;
    const char *dir;

    (void)state;
    if (geteuid() != 0)
        skip();
    dir = dir_of_other("given", 0700);
    assert_int_equal(CHECK("--dir", dir, "--user", OTHER_USER), 0);
    assert_int_equal(owner_of(dir, "pgdisque.lock"), other);
    assert_int_equal(owner_of(dir, "postgres.log"), other);
    assert_int_equal(CHECK_AS_OTHER(dir), 0);
    assert_int_equal(chown(text_of("%s/pgdisque.lock", dir), 0, 0), 0);
    assert_int_equal(CHECK_AS_OTHER(dir), 1);
    says("pgdisque.lock: Permission denied; give the file to user " OTHER_USER);
    assert_int_equal(link(text_of("%s/pgdisque.lock", dir), text_of("%s/second", dir)), 0);
    assert_int_equal(CHECK("--dir", dir, "--user", OTHER_USER), 0);
    says("it has several names");
    assert_int_equal(owner_of(dir, "pgdisque.lock"), 0);
}

static void test_unreadable_directory(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(CHECK_AS_OTHER(dir_of_other("unreadable", 0300)), 1);
    says("cannot use directory ");
    says("unreadable: Permission denied");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_refuses),
        cmocka_unit_test(test_check_beside_a_server),
        cmocka_unit_test(test_two_servers_with_one_socket),
        cmocka_unit_test(test_check_beside_a_private_postgres),
        cmocka_unit_test(test_check_is_stopped),
        cmocka_unit_test(test_check_names_the_refused_role),
        cmocka_unit_test(test_unknown_word),
        cmocka_unit_test(test_actions_of_health),
        cmocka_unit_test_teardown(test_daemon_is_ready, end_daemon),
        cmocka_unit_test_teardown(test_daemon_without_logfile, end_daemon),
        cmocka_unit_test_teardown(test_daemon_that_cannot_start, end_daemon),
        cmocka_unit_test(test_systemd_is_told),
        cmocka_unit_test(test_systemd_gets_reports),
        cmocka_unit_test(test_journal_gets_levels),
        cmocka_unit_test(test_user_without_a_name),
        cmocka_unit_test(test_check_of_root_leaves_the_files),
        cmocka_unit_test(test_unreadable_directory),
    };

    return RUN_SUITE("start", tests);
}
