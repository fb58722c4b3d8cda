/* `pgdisque doctor`: its output and its exit status. */
#include "consult.h"

#include <stdlib.h>
#include <string.h>

#include "version.h"

static void says(const char *out, const char *text) {
    if (strstr(out, text) == NULL)
        fail_msg("\"%s\" is not in: %s", text, out);
}

/* The suites' Postgres syncs nothing, which is an error; else it would be well. */
static void test_errors(void **state) {
    const char *out;

    (void)state;
    assert_int_equal(doctor_line_run(&out, "--table", "--database", server.database, NULL), 2);
    says(out, "error (settings): fsync is off");
    says(out, "    What to do: fsync = on");
    says(out, "2 errors, 0 warnings");
    assert_int_equal(doctor_line_run(&out, "--lines", "--database", server.database, NULL), 2);
    says(out, "error\tsettings\tfsync is off");
    assert_null(strstr(out, "warnings"));
    assert_int_equal(doctor_line_run(&out, "--database", server.database, NULL), 2);
    says(out, "[\n{\"severity\":\"error\",\"check\":\"settings\",\"finding\":\"fsync is off");
    says(out, "\"advice\":\"");
    assert_string_equal(out + strlen(out) - 4, "}\n]\n");
}

static void test_nothing_there(void **state) {
    const char *out;

    (void)state;
    assert_int_equal(doctor_line_run(&out, "--table", "--database", "host=/nowhere dbname=x", NULL), 2);
    says(out, "error (connection): the database cannot be reached");
    assert_int_equal(doctor_line_run(&out, "--dir", "nowhere", NULL), 2);
    says(out, "there is no embedded Postgres in nowhere");
    assert_int_equal(doctor_line_run(&out, "--nonsense", "1", NULL), 2);
    assert_int_equal(doctor_line_run(&out, "--table", "--database", postgres_conninfo(&pg, NULL), NULL), 2);
    says(out, "error (schema): this database has no tables of pgdisque");
}

static void test_other_actions(void **state) {
    const char *out;

    (void)state;
    assert_int_equal(doctor_line_run(&out, "--version", "--database", "host=/nowhere", NULL), 0);
    says(out, "pgdisque " PGDISQUE_VERSION);
    assert_null(strstr(out, "connection"));
    assert_int_equal(doctor_line_run(&out, "--check", "--database", "host=/nowhere", NULL), 2);
    says(out, "pgdisque doctor: this option checks the configuration of a server: --check");
    assert_null(strstr(out, "connection"));
}

/* The doctor examines the primary of several hosts. */
static void test_several_hosts(void **state) {
    const char *database = strchr(server.database, '=') + 1, *out;

    (void)state;
    assert_int_equal(
        doctor_line_run(&out, "--lines", "--database", text_of("host=/nowhere,%s", database), NULL), 2);
    says(out, "error\tsettings\tfsync is off");
    assert_null(strstr(out, "connection"));
}

static void test_dead_jobs(void **state) {
    const char *database = postgres_conninfo(&pg, NULL), *out;

    (void)state;
    free(postgres_query(database, "create schema pgdisque"));
    free(postgres_query(database, "create table pgdisque.dead_job (id bigint)"));
    doctor_line_run(&out, "--lines", "--database", database, NULL);
    assert_null(strstr(out, "dead-jobs"));
    free(postgres_query(database, "insert into pgdisque.dead_job select generate_series(1, 3)"));
    doctor_line_run(&out, "--lines", "--database", database, NULL);
    says(out, "note\tdead-jobs\t3 jobs are dead");
    free(postgres_query(database, "insert into pgdisque.dead_job select generate_series(1, 20000)"));
    doctor_line_run(&out, "--lines", "--database", database, NULL);
    says(out, "warning\tdead-jobs\tmore than 10000 jobs are dead");
}

/* Whether its server runs or not. How full the disk is, is not ours. */
static void test_private_postgres(void **state) {
    const char *out;
    struct server s;

    (void)state;
    server_start(&s, "", NULL);
    doctor_line_run(&out, "--table", "--dir", s.dir, NULL);
    says(out, "checks were made.");
    assert_null(strstr(out, "(connection)"));
    assert_int_equal(server_stop(&s), 0);
    doctor_line_run(&out, "--table", "--dir", s.dir, NULL);
    says(out, "checks were made.");
    assert_null(strstr(out, "(connection)"));
    server_resume(&s);
    assert_int_equal(server_stop(&s), 0);
}

/* A running server makes the checks, those of itself included. The options of the server win against the environment. */
static void test_of_a_server(void **state) {
    redisContext *c = client_open();
    char address[32];
    const char *out;

    (void)state;
    snprintf(address, sizeof address, "127.0.0.1:%d", server.port);
    expect(c, "+OK", "CONFIG SET metrics-queues 1");
    add_job(c, "one", "x", "");
    add_job(c, "two", "x", "");
    assert_int_equal(doctor_line_run(&out, "--lines", "--server", address, NULL), 2);
    says(out, "error\tsettings\tfsync is off");
    says(out, "note\tmetrics\t");
    setenv("PGDISQUE_SERVER", address, 1);
    assert_int_equal(doctor_line_run(&out, "--table", NULL), 2);
    says(out, "error (settings): fsync is off");
    says(out, "2 errors, 0 warnings");
    says(out, "note (metrics): ");
    assert_int_equal(doctor_line_run(&out, "--json", NULL), 2);
    says(out, "\"check\":\"metrics\"");
    assert_int_equal(doctor_line_run(&out, "--lines", "--database", "host=/nowhere dbname=x", NULL), 2);
    says(out, "error\tconnection\t");
    assert_null(strstr(out, "metrics"));
    unsetenv("PGDISQUE_SERVER");
    assert_int_equal(doctor_line_run(&out, "--server", address, "--dir", "x", NULL), 2);
    says(out, "pgdisque doctor: --server excludes a conf-file and the options of the server");
    assert_int_equal(doctor_line_run(&out, "--server", "127.0.0.1:1", NULL), 2);
    says(out, "Connection refused");
    expect(c, "+OK", "CONFIG SET metrics-queues 100");
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_other_actions), cmocka_unit_test(test_several_hosts),
        cmocka_unit_test(test_dead_jobs),     cmocka_unit_test(test_private_postgres),
        cmocka_unit_test(test_of_a_server),
    };

    return RUN_SUITE("doctor_line", tests);
}
