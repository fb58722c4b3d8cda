/* The embedded Postgres, driven in this process: start, crash, restart, stop. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>
#include <libpq-fe.h>

#include "config/config.h"
#include "pg/embedded/postmaster.h"
#include "process.h"
#include "wait.h"

#define START_MS 30000

static struct event_base *base;
static char err[1024];
static char long_dir[4096];

/* Driving the module. */

static void set_option(char **option, const char *value) {
    free(*option);
    *option = strdup(value);
}

/* A directory for a single test, which does not exist yet. */
static const char *use_dir(const char *name) {
    static char dir[PATH_SIZE];

    path_join(dir, "%s/%s", scratch_dir(), name);
    set_option(&config.dir, dir);
    return dir;
}

static void start(void) {
    *err = '\0';
    if (!postmaster_start(base, err, sizeof(err)))
        fail_msg("%s", err);
}

static void refuse(const char *reason) {
    *err = '\0';
    assert_false(postmaster_start(base, err, sizeof(err)));
    if (!strstr(err, reason))
        fail_msg("\"%s\" does not contain \"%s\"", err, reason);
    assert_false(postmaster_is_running());
}

static PGconn *try_connect(void) {
    PGconn *conn;

    event_base_loop(base, EVLOOP_NONBLOCK);
    conn = PQconnectdb(postmaster_conninfo());
    if (PQstatus(conn) == CONNECTION_OK)
        return conn;
    snprintf(err, sizeof(err), "%s", PQerrorMessage(conn));
    PQfinish(conn);
    return NULL;
}

/* Runs the loop until Postgres takes a connection. */
static PGconn *connect_within(int ms) {
    PGconn *conn = NULL;

    if (!WAIT_UNTIL((conn = try_connect()) != NULL, ms)) {
        char log[PATH_SIZE * 2];

        snprintf(log, sizeof(log), "%s/postgres.log", config.dir);
        show_tail(log, "postgres");
        fail_msg("no connection: %s", err);
    }
    return conn;
}

/* The first value of a statement's result, valid until the next call. */
static const char *ask(PGconn *conn, const char *sql) {
    static char value[4096];
    PGresult *result = PQexec(conn, sql);

    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    snprintf(value, sizeof(value), "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return value;
}

static void ask_once(const char *sql, const char *expected) {
    PGconn *conn = connect_within(START_MS);

    assert_string_equal(ask(conn, sql), expected);
    PQfinish(conn);
}

/* How many processes work in config.dir's data directory: all of a Postgres do.
 * Seen with its user's eyes, because root may not look there in a container. */
static int count_processes(void) {
    char path[4200], cwd[4200], data[8192];
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    struct stat st;
    int count = 0;

    snprintf(path, sizeof(path), "%s/postgres", config.dir);
    assert_non_null(realpath(path, data));
    assert_int_equal(stat(path, &st), 0);
    setfsgid(st.st_gid);
    setfsuid(st.st_uid);
    while ((entry = readdir(proc))) {
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%s/cwd", entry->d_name);
        n = readlink(path, cwd, sizeof(cwd) - 1);
        cwd[n > 0 ? n : 0] = '\0';
        count += strcmp(cwd, data) == 0;
    }
    setfsuid(geteuid());
    setfsgid(getegid());
    closedir(proc);
    return count;
}

/* The start of a file that the kernel keeps about a process. */
static void read_process(pid_t pid, const char *name, char *out, size_t size) {
    char path[PATH_SIZE];
    FILE *f;
    size_t n;

    path_join(path, "/proc/%d/%s", (int)pid, name);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(out, 1, size - 1, f);
    out[n] = '\0';
    fclose(f);
}

static void write_file(const char *name, const char *text) {
    char path[4200];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", config.dir, name);
    f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        fail_msg("%s: %s", path, strerror(errno));
}

static bool exists(const char *name) {
    char path[4200];

    snprintf(path, sizeof(path), "%s/%s", config.dir, name);
    return access(path, F_OK) == 0;
}

/*
 * Starts the module in a process of its own, as a server would, and ends that
 * process by kill -9 as soon as its Postgres takes connections.
 */
static void start_and_kill_server(void) {
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        base = event_base_new();
        if (postmaster_start(base, err, sizeof(err)) && WAIT_UNTIL(try_connect() != NULL, START_MS) &&
            write(ready[1], "!", 1) == 1)
            event_base_dispatch(base);
        fprintf(stderr, "# %s\n", err);
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    kill(pid, SIGKILL);
    assert_int_equal(wait_exit(pid, START_MS), 128 + SIGKILL);
}

/* The tests. */

static void first_start_makes_a_database(void **state) {
    PGconn *conn;

    (void)state;
    use_dir("first");
    start();
    assert_true(postmaster_is_running());
    conn = connect_within(START_MS);
    assert_string_equal(ask(conn, "select current_user"), "pgdisque");
    assert_string_equal(ask(conn, "show is_superuser"), "off");
    assert_string_equal(ask(conn, "show server_encoding"), "UTF8");
    assert_string_equal(ask(conn, "select datcollate from pg_database where datname = current_database()"),
                        "C");
    assert_string_equal(ask(conn, "show data_checksums"), "on");
    assert_string_equal(ask(conn, "show listen_addresses"), "");
    assert_string_equal(ask(conn, "show wal_compression"), "lz4");
    assert_string_equal(ask(conn, "show synchronous_commit"), "on");
    assert_string_equal(ask(conn, "select pg_backend_pid() <> 0 and pg_postmaster_start_time() <= now()"),
                        "t");
    PQfinish(conn);
    postmaster_stop();
}

static void only_its_owner_reaches_it(void **state) {
    char path[PATH_SIZE];
    const char *dir = use_dir("owner");
    struct stat data, process, socket;

    (void)state;
    start();
    PQfinish(connect_within(START_MS));
    path_join(path, "%s/postgres", dir);
    assert_int_equal(stat(path, &data), 0);
    path_join(path, "%s/postgres/.s.PGSQL.5432", dir);
    assert_int_equal(stat(path, &socket), 0);
    path_join(path, "/proc/%d", (int)postmaster_pid());
    assert_int_equal(stat(path, &process), 0);
    assert_int_equal(data.st_mode & 0777, 0700);
    assert_int_equal(socket.st_mode & 0777, 0700);
    assert_int_equal(process.st_uid, data.st_uid);
    assert_int_not_equal(process.st_uid, 0);
    postmaster_stop();
}

static void a_killed_postmaster_comes_back(void **state) {
    pid_t first;
    PGconn *conn;

    (void)state;
    use_dir("comeback");
    start();
    conn = connect_within(START_MS);
    ask(conn, "create table kept as select generate_series(1, 10000) as n");
    first = postmaster_pid();
    assert_int_equal(kill(first, SIGKILL), 0);
    assert_true(WAIT_UNTIL((event_base_loop(base, EVLOOP_NONBLOCK), postmaster_pid() != first), START_MS));
    ask_once("select count(*) from kept", "10000");
    assert_int_not_equal(postmaster_pid(), first);
    PQfinish(conn);
    postmaster_stop();
}

static void stop_leaves_no_process(void **state) {
    PGconn *conn;

    (void)state;
    use_dir("stop");
    start();
    conn = connect_within(START_MS);
    assert_true(count_processes() > 1);
    postmaster_stop();
    assert_int_equal(postmaster_pid(), 0);
    assert_false(postmaster_is_running());
    assert_int_equal(count_processes(), 0);
    assert_false(exists("postgres/postmaster.pid"));
    PQfinish(conn);
    postmaster_stop();
}

static void second_start_has_the_data(void **state) {
    (void)state;
    use_dir("second");
    start();
    ask_once("create table kept as select 1 as n", "");
    postmaster_stop();
    start();
    ask_once("select n from kept", "1");
    postmaster_stop();
}

static void a_directory_in_use_is_refused(void **state) {
    char expected[64];
    pid_t pid;

    (void)state;
    use_dir("locked");
    start();
    PQfinish(connect_within(START_MS));
    snprintf(expected, sizeof(expected), "is in use by process %d; choose another with --dir", (int)getpid());
    pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_embedded", "--start-in", config.dir, expected, NULL);
        _exit(127);
    }
    assert_int_equal(wait_exit(pid, START_MS), 0);
    ask_once("select 1", "1");
    postmaster_stop();
}

/* Any process that can open a file can lock it. */
static void the_lock_is_for_its_owner_only(void **state) {
    char path[PATH_SIZE];
    struct stat st;

    (void)state;
    use_dir("lock-mode");
    path_join(path, "%s/pgdisque.lock", config.dir);
    assert_int_equal(mkdir(config.dir, 0711), 0);
    close(open(path, O_CREAT | O_RDWR, 0644));
    assert_int_equal(chmod(path, 0644), 0);
    start();
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    postmaster_stop();
}

/* The process that a_directory_in_use_is_refused starts. The end of the process releases the lock. */
static int start_in(char *dir, const char *expected) {
    set_option(&config.dir, dir);
    base = event_base_new();
    if (postmaster_start(base, err, sizeof(err)))
        return 2;
    return strstr(err, expected) ? 0 : 3;
}

static void postgres_ends_when_the_server_is_killed(void **state) {
    (void)state;
    use_dir("orphan");
    start_and_kill_server();
    assert_true(WAIT_UNTIL(count_processes() == 0, 5000));
}

static void the_next_server_takes_over(void **state) {
    (void)state;
    use_dir("takeover");
    for (int i = 0; i < 3; i++) {
        start_and_kill_server();
        start();
        PQfinish(connect_within(START_MS));
        postmaster_stop();
    }
}

/* A user has started Postgres in the directory. That Postgres has no death signal. */
static void a_foreign_postmaster_is_ended(void **state) {
    char dir[PATH_SIZE], program[PATH_SIZE], log[PATH_SIZE];
    const char *argv[] = { program, "-D", dir, NULL };
    pid_t pid;

    (void)state;
    path_join(log, "%s/foreign.log", scratch_dir());
    path_join(dir, "%s/postgres", use_dir("foreign"));
    start();
    PQfinish(connect_within(START_MS));
    read_process(postmaster_pid(), "cmdline", program, sizeof(program));
    postmaster_stop();
    pid = spawn(&(struct spawn){ .argv = argv, .log = log, .unprivileged = true });
    assert_true(WAIT_UNTIL(exists("postgres/.s.PGSQL.5432"), START_MS));
    start();
    ask_once("select 1", "1");
    assert_int_equal(wait_exit(pid, START_MS), 0);
    postmaster_stop();
}

/* As after a crash in a container, where process ids repeat. */
static void a_stale_process_id_does_not_matter(void **state) {
    const char *argv[] = { "sleep", "1000", NULL };
    pid_t pid;
    char text[300];

    (void)state;
    use_dir("stale");
    start_and_kill_server();
    assert_true(WAIT_UNTIL(count_processes() == 0, 5000));
    pid = spawn(&(struct spawn){ .argv = argv, .unprivileged = true });
    snprintf(text, sizeof(text), "%d\n%s/postgres\n1700000000\n5432\n.\n\n", (int)pid, config.dir);
    write_file("postgres/postmaster.pid", text);
    write_file("postgres/.s.PGSQL.5432.lock", text);
    start();
    PQfinish(connect_within(3000));
    postmaster_stop();
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(wait_exit(pid, START_MS), 128 + SIGKILL);
}

/* The name of the socket would not fit in an address. */
static void a_long_directory_name_works(void **state) {
    size_t len;

    (void)state;
    len = (size_t)snprintf(long_dir, sizeof(long_dir), "%s/", scratch_dir());
    for (int i = 0; i < 3; i++) {
        memset(long_dir + len, 'a' + i, 90);
        long_dir[len += 90] = '\0';
        mkdir(long_dir, 0755);
        long_dir[len++] = '/';
    }
    snprintf(long_dir + len, sizeof(long_dir) - len, "it's here");
    set_option(&config.dir, long_dir);
    start();
    ask_once("select 1", "1");
    assert_true(kill(postmaster_pid(), SIGKILL) == 0);
    ask_once("select 2", "2");
    postmaster_stop();
    assert_int_equal(count_processes(), 0);
}

static void odd_characters_in_the_name_work(void **state) {
    static const char *const names[] = { "it's \\ here", "a,b", "gr\xc3\xbc\xc3\x9f" };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        use_dir(names[i]);
        start();
        ask_once("select 1", "1");
        postmaster_stop();
    }
}

static void a_closed_parent_directory_works(void **state) {
    char parent[PATH_SIZE], dir[PATH_SIZE], status[8192];

    (void)state;
    if (geteuid() != 0)
        skip();
    path_join(parent, "%s/closed", scratch_dir());
    path_join(dir, "%s/data", parent);
    assert_int_equal(mkdir(parent, 0700), 0);
    set_option(&config.dir, dir);
    start();
    ask_once("create table kept as select 1 as n", "");
    read_process(postmaster_pid(), "status", status, sizeof(status));
    assert_non_null(strstr(status, "CapPrm:\t0000000000000000"));
    assert_int_equal(kill(postmaster_pid(), SIGKILL), 0);
    ask_once("select n from kept", "1");
    ask_once("select count(*) > 0 from pg_settings", "t");
    postmaster_stop();
    start_and_kill_server();
    assert_true(WAIT_UNTIL(count_processes() == 0, 5000));
}

static void half_an_initdb_is_done_again(void **state) {
    char path[PATH_SIZE];
    const char *dir = use_dir("half");

    (void)state;
    assert_int_equal(mkdir(dir, 0711), 0);
    path_join(path, "%s/postgres.tmp", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    path_join(path, "%s/postgres.tmp/base", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("postgres.tmp/PG_VERSION", "15\n");
    write_file("postgres.tmp/base/1", "half");
    path_join(path, "%s/postgres.tmp/link", dir);
    assert_int_equal(symlink("/etc", path), 0);
    start();
    ask_once("select 1", "1");
    assert_false(exists("postgres.tmp"));
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    postmaster_stop();
}

static void other_data_is_refused(void **state) {
    char path[PATH_SIZE];
    const char *dir = use_dir("other");

    (void)state;
    assert_int_equal(mkdir(dir, 0711), 0);
    path_join(path, "%s/postgres", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("postgres/diary", "dear diary");
    refuse("holds files, but no Postgres data");
    assert_true(exists("postgres/diary"));
    write_file("postgres/PG_VERSION", "9.6\n");
    refuse("was made by Postgres 9");
}

static void missing_programs_are_named(void **state) {
    (void)state;
    use_dir("programs");
    set_option(&config.postgres_bin, "/usr/bin");
    refuse("postgres-bin /usr/bin does not hold the programs initdb and postgres");
    set_option(&config.postgres_bin, "");
    if (geteuid() != 0)
        return;
    set_option(&config.user, "no-such-user");
    refuse("no unprivileged user no-such-user");
    set_option(&config.user, "");
}

static void another_user_takes_the_data_over(void **state) {
    char path[PATH_SIZE];
    struct stat process;

    (void)state;
    if (geteuid() != 0)
        skip();
    use_dir("users");
    start();
    ask_once("create table kept as select 1 as n", "");
    postmaster_stop();
    set_option(&config.user, "nobody");
    start();
    ask_once("select n from kept", "1");
    path_join(path, "/proc/%d", (int)postmaster_pid());
    assert_int_equal(stat(path, &process), 0);
    assert_int_equal(process.st_uid, getpwnam("nobody")->pw_uid);
    postmaster_stop();
    set_option(&config.user, "");
}

static bool pid_changed(pid_t *last, int *changes) {
    event_base_loop(base, EVLOOP_NONBLOCK);
    if (postmaster_pid() && postmaster_pid() != *last) {
        *last = postmaster_pid();
        ++*changes;
    }
    return *changes >= 3;
}

static void the_users_settings_win_and_may_be_wrong(void **state) {
    pid_t last = 0;
    int starts = 0;

    (void)state;
    use_dir("settings");
    start();
    ask_once("show max_locks_per_transaction", "256");
    postmaster_stop();
    assert_true(exists("postgres/postgresql.user.conf"));
    write_file("postgres/postgresql.user.conf", "no_such_setting = 1\n");
    start();
    assert_true(WAIT_UNTIL(pid_changed(&last, &starts), START_MS));
    write_file("postgres/postgresql.user.conf", "max_connections = 41\n");
    ask_once("show max_connections", "41");
    postmaster_stop();
}

static int set_up(void **state) {
    (void)state;
    base = event_base_new();
    return base ? 0 : -1;
}

/* A test that failed half-way must not leave its Postgres to the next. */
static int tear_down(void **state) {
    (void)state;
    postmaster_stop();
    event_base_free(base);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* The server begins a new log after 17 MB, and keeps the old log for a while. */
static void the_log_is_rotated(void **state) {
    const char *dir = use_dir("rotated");
    char log[PATH_SIZE], old[PATH_SIZE];
    struct stat st;

    (void)state;
    path_join(log, "%s/postgres.log", dir);
    path_join(old, "%s/postgres.log.1", dir);
    start();
    postmaster_stop();
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(truncate(log, 17 * 1024 * 1024), 0);
    start();
    PQfinish(connect_within(START_MS));
    postmaster_stop();
    assert_int_equal(stat(old, &st), 0);
    assert_int_equal(st.st_size, 17 * 1024 * 1024);
    assert_int_equal(stat(log, &st), 0);
    assert_true(st.st_size > 0 && st.st_size < 1024 * 1024);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(first_start_makes_a_database),
        TEST(only_its_owner_reaches_it),
        TEST(a_killed_postmaster_comes_back),
        TEST(stop_leaves_no_process),
        TEST(second_start_has_the_data),
        TEST(a_directory_in_use_is_refused),
        TEST(the_lock_is_for_its_owner_only),
        TEST(postgres_ends_when_the_server_is_killed),
        TEST(the_next_server_takes_over),
        TEST(a_foreign_postmaster_is_ended),
        TEST(a_stale_process_id_does_not_matter),
        TEST(a_long_directory_name_works),
        TEST(odd_characters_in_the_name_work),
        TEST(a_closed_parent_directory_works),
        TEST(half_an_initdb_is_done_again),
        TEST(other_data_is_refused),
        TEST(missing_programs_are_named),
        TEST(another_user_takes_the_data_over),
        TEST(the_users_settings_win_and_may_be_wrong),
        TEST(the_log_is_rotated),
    };

    config_defaults();
    cmocka_set_test_filter(getenv("PGDISQUE_TEST_FILTER"));
    if (argc == 4 && strcmp(argv[1], "--start-in") == 0)
        return start_in(argv[2], argv[3]);
    return cmocka_run_group_tests_name("embedded", tests, NULL, NULL);
}
