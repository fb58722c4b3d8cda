/* The roles of the embedded Postgres: the limits of the server's role, the superuser, and old directories. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

#define START_MS 30000
#define SUPERUSER "pgdisque_superuser"

static struct server embedded;
static char base[PATH_SIZE];

static const char *conninfo_of(const char *role) {
    static char text[2 * PATH_SIZE];

    snprintf(text, sizeof(text), "host=%s/postgres port=5432 dbname=postgres user=%s", base, role);
    return text;
}

/* All tests but one use the same directory, because initdb takes long. */
static void start_new(void) {
    const char *options[] = { "--dir", base, NULL };

    path_join(base, "%s/new", scratch_dir());
    server_start(&embedded, "", options);
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");

    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        fail_msg("%s: %s", path, strerror(errno));
}

/* The SQLSTATE with which a statement fails; "00000" if it does not fail. */
static const char *state_of(PGconn *conn, const char *sql) {
    PGresult *r = PQexec(conn, sql);
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *kept = forever(state ? state : "00000");

    PQclear(r);
    return kept;
}

/* Connects as the role from a process of Postgres' own user: 0 if it is let in. */
static int connect_as_its_user(const char *role) {
    pid_t pid = fork();

    if (pid == 0) {
        gid_t gid = 0;
        uid_t uid = unprivileged_uid(&gid);
        PGconn *conn;

        if (uid && (setgid(gid) != 0 || setuid(uid) != 0))
            _exit(100);
        conn = PQconnectdb(conninfo_of(role));
        if (PQstatus(conn) != CONNECTION_OK)
            fprintf(stderr, "# %s", PQerrorMessage(conn));
        _exit(PQstatus(conn) == CONNECTION_OK ? 0 : 1);
    }
    return wait_exit(pid, START_MS);
}

static void assert_plain(PGconn *conn) {
    static const char *const refused[] = {
        "copy (select 1) to program 'true'",
        "copy (select 1) to '/tmp/pgdisque-power'",
        "select pg_read_file('PG_VERSION')",
        "alter system set work_mem = '1MB'",
        "create role another",
        "create database another",
        ("set role " SUPERUSER),
        "alter role pgdisque superuser",
        "create function f() returns int language c as 'x', 'y'",
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (strcmp(state_of(conn, refused[i]), "42501") != 0)
            fail_msg("%s: %s", refused[i], state_of(conn, refused[i]));
}

static void the_server_has_a_plain_role(void **state) {
    PGconn *conn;

    (void)state;
    start_new();
    conn = postgres_connect(conninfo_of("pgdisque"));
    assert_plain(conn);
    PQfinish(conn);
    assert_int_equal(
        postgres_number(conninfo_of("pgdisque"),
                        "select count(*) from pg_stat_activity where application_name like 'pgdisque %' "
                        "and usename <> 'pgdisque'"),
        0);
    assert_int_equal(postgres_number(conninfo_of("pgdisque"),
                                     "select count(*) from pg_class as c, pg_roles as r "
                                     "where c.relnamespace = 'pgdisque'::regnamespace and r.oid = c.relowner "
                                     "and r.rolname <> 'pgdisque'"),
                     0);
    assert_int_equal(server_stop(&embedded), 0);
}

/* The roles of doc/sql.md, with their rights. */
static void assert_roles_for_applications(void) {
    assert_int_equal(
        postgres_number(
            conninfo_of("pgdisque"),
            "select count(*) from (values "
            "('producer', 'new_batch(text, text, text, text, text, integer)'), "
            "('consumer', 'get_jobs(text, integer, text)'), "
            "('tenant', 'get_jobs(text, integer, text)'), "
            "('reader', 'job(text)'), "
            "('server', 'lease_ended(jsonb, timestamptz, integer)')) as r (name, function) "
            "where has_function_privilege('pgdisque_' || name, 'pgdisque.' || function, 'execute')"),
        5);
}

static void applications_have_roles(void **state) {
    (void)state;
    start_new();
    assert_roles_for_applications();
    assert_int_equal(server_stop(&embedded), 0);
}

/* DOCTOR sees all that it looks at: it says so if it does not. */
static void the_doctor_sees_enough(void **state) {
    redisContext *c;

    (void)state;
    start_new();
    c = client_open_on(&embedded);
    assert_null(strstr(ask(c, "DOCTOR LINES"), "pg_monitor"));
    assert_null(strstr(ask(c, "DOCTOR LINES"), "permission denied"));
    redisFree(c);
    assert_int_equal(server_stop(&embedded), 0);
}

static void only_root_is_the_superuser(void **state) {
    (void)state;
    start_new();
    assert_int_equal(connect_as_its_user("pgdisque"), 0);
    assert_int_equal(connect_as_its_user(SUPERUSER), 1);
    if (geteuid() == 0)
        assert_int_equal(
            postgres_number(conninfo_of(SUPERUSER), "select 1 where current_setting('is_superuser') = 'on'"),
            1);
    assert_int_equal(server_stop(&embedded), 0);
}

/* Makes a data directory as earlier servers made it, in which their role is the superuser, and starts its Postgres. */
static pid_t start_old_postgres(void) {
    char dir[PATH_SIZE], log[PATH_SIZE];
    const char *init[] = { postgres_program("initdb"),
                           "-D",
                           dir,
                           "--username=pgdisque",
                           "--auth-local=trust",
                           "--encoding=UTF8",
                           "--locale=C",
                           "--no-sync",
                           NULL };
    const char *run[] = {
        postgres_program("postgres"), "-D", dir, "-k", dir, "-c", "listen_addresses=", NULL
    };
    gid_t gid = 0;
    uid_t uid = unprivileged_uid(&gid);
    pid_t pid;

    path_join(dir, "%s/postgres", base);
    path_join(log, "%s/old.log", scratch_dir());
    assert_int_equal(mkdir(base, 0711), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    if (uid)
        assert_int_equal(chown(dir, uid, gid), 0);
    run_command(&(struct spawn){ .argv = init, .log = log, .unprivileged = true });
    pid = spawn(&(struct spawn){ .argv = run, .log = log, .death_signal = SIGQUIT, .unprivileged = true });
    EVENTUALLY(PQping(conninfo_of("pgdisque")) == PQPING_OK);
    return pid;
}

static void an_old_directory_is_changed_over(void **state) {
    const char *options[] = { "--dir", base, NULL };
    redisContext *c;
    PGconn *conn;
    pid_t pid;

    (void)state;
    path_join(base, "%s/old", scratch_dir());
    pid = start_old_postgres();
    server_start(&embedded, forever(conninfo_of("pgdisque")), options);
    c = client_open_on(&embedded);
    add_job(c, "kept", "body", "");
    redisFree(c);
    assert_int_equal(
        postgres_number(conninfo_of("pgdisque"), "select 1 where current_setting('is_superuser') = 'on'"), 1);
    assert_int_equal(server_stop(&embedded), 0);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid, START_MS), 0);

    server_start(&embedded, "", options);
    c = client_open_on(&embedded);
    get_job(c, "kept", "body");
    add_job(c, "new", "body", "");
    get_job(c, "new", "body");
    redisFree(c);
    conn = postgres_connect(conninfo_of("pgdisque"));
    assert_plain(conn);
    /* Nothing of the schema is left to the superuser. */
    assert_string_equal(state_of(conn, "alter table pgdisque.job set (fillfactor = 100)"), "00000");
    assert_string_equal(state_of(conn, "drop schema pgdisque cascade"), "00000");
    PQfinish(conn);
    assert_int_equal(connect_as_its_user(SUPERUSER), 1);
    server_kill(&embedded);
}

static int count_lines(const char *path, const char *text) {
    char line[1000];
    FILE *f = fopen(path, "r");
    int count = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        count += strstr(line, text) != NULL;
    fclose(f);
    return count;
}

/* As after a crash between the roles and the file that records them. */
static void the_change_can_be_repeated(void **state) {
    const char *options[] = { "--dir", base, NULL };
    char done[PATH_SIZE], hba[PATH_SIZE];

    (void)state;
    start_new();
    path_join(done, "%s/postgres/pgdisque.roles", base);
    path_join(hba, "%s/postgres/pg_hba.conf", base);
    assert_int_equal(server_stop(&embedded), 0);
    assert_int_equal(unlink(done), 0);
    server_start(&embedded, "", options);
    assert_int_equal(access(done, F_OK), 0);
    assert_int_equal(count_lines(hba, SUPERUSER), 4);
    assert_int_equal(server_stop(&embedded), 0);
}

/* The directory of a version that did not know tenants. */
static void an_earlier_version_made_fewer_roles(void **state) {
    const char *options[] = { "--dir", base, NULL };
    char done[PATH_SIZE];

    (void)state;
    if (geteuid() != 0)
        skip();
    start_new();
    /* Each connection brings the schema up to date. */
    EVENTUALLY(file_contains(embedded.log, "[database long reads] connected"));
    free(postgres_query(conninfo_of(SUPERUSER), "drop owned by pgdisque_tenant; drop role pgdisque_tenant"));
    free(postgres_query(conninfo_of(SUPERUSER), "update pgdisque.api set digest = ''"));
    assert_int_equal(server_stop(&embedded), 0);
    path_join(done, "%s/postgres/pgdisque.roles", base);
    write_text(done, "1\n");
    server_start(&embedded, "", options);
    assert_roles_for_applications();
    assert_int_equal(server_stop(&embedded), 0);
}

/* A script that fails must not leave a server that runs with the old rights. */
static void a_failed_change_refuses_the_start(void **state) {
    const char *argv[] = { server_program(), "--dir", base, "--port", "0", "--unixsocket", NULL, NULL };
    char done[PATH_SIZE], conf[PATH_SIZE], log[PATH_SIZE], path[PATH_SIZE];

    (void)state;
    start_new();
    assert_int_equal(server_stop(&embedded), 0);
    path_join(done, "%s/postgres/pgdisque.roles", base);
    path_join(conf, "%s/postgres/postgresql.user.conf", base);
    path_join(log, "%s/refused.log", scratch_dir());
    path_join(path, "%s/s", scratch_dir());
    argv[6] = path;
    assert_int_equal(unlink(done), 0);
    write_text(conf, "no_such_setting = 1\n");
    assert_int_equal(wait_exit(spawn(&(struct spawn){ .argv = argv, .log = log }), START_MS), 1);
    assert_true(file_contains(log, "cannot make the roles of Postgres"));
    assert_int_equal(access(done, F_OK), -1);
}

static int clean_up(void **state) {
    (void)state;
    server_kill(&embedded);
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, clean_up)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_server_has_a_plain_role), TEST(the_doctor_sees_enough),
        TEST(applications_have_roles),     TEST(an_earlier_version_made_fewer_roles),
        TEST(only_root_is_the_superuser),  TEST(an_old_directory_is_changed_over),
        TEST(the_change_can_be_repeated),  TEST(a_failed_change_refuses_the_start),
    };

    cmocka_set_test_filter(getenv("PGDISQUE_TEST_FILTER"));
    return cmocka_run_group_tests_name("embedded_role", tests, NULL, NULL);
}
