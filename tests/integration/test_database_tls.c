/* TLS to Postgres: both sides show certificates, and each wrong certificate or name is refused with its reason. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "certificates.h"
#include "tooling.h"

#define A_DAY 86400

static struct {
    struct postgres pg;
    const char *local; /* the database, by the unix socket */
    const char *port;
} remote;

/* Postgres and libpq refuse a key that other users can read. */
static void hide_key(const char *name) {
    const char *key = certificate_path(name, "key");
    gid_t gid;
    uid_t uid = unprivileged_uid(&gid);

    assert_int_equal(chmod(key, 0600), 0);
    if (uid != 0)
        assert_int_equal(chown(key, uid, gid), 0);
}

static void make_certificates(void) {
    certificate_authority("ca");
    certificate_authority("other");
    certificate_make("postgres", "ca", "localhost", A_DAY);
    certificate_make("queue", "ca", "queue", A_DAY);
    certificate_make("alice", "ca", "alice", A_DAY);
    certificate_make("stranger", "other", "queue", A_DAY);
    hide_key("postgres");
    hide_key("queue");
    hide_key("alice");
    hide_key("stranger");
}

static void require_certificates(void) {
    char path[PATH_SIZE], lines[4 * PATH_SIZE];
    FILE *f;

    path_join(path, "%s/pg_hba.conf", remote.pg.dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("local all all trust\nhostssl all all all cert clientcert=verify-full\n", f);
    fclose(f);
    snprintf(lines, sizeof lines,
             "listen_addresses = 'localhost'\n"
             "ssl = on\n"
             "ssl_cert_file = '%s'\n"
             "ssl_key_file = '%s'\n"
             "ssl_ca_file = '%s'\n",
             certificate_path("postgres", "crt"), certificate_path("postgres", "key"),
             certificate_path("ca", "crt"));
    postgres_set(&remote.pg, lines);
}

static int start(void **state) {
    (void)state;
    make_certificates();
    postgres_make(&remote.pg);
    require_certificates();
    postgres_resume(&remote.pg);
    remote.local = postgres_conninfo(&remote.pg, NULL);
    free(postgres_query(remote.local, "create role queue login"));
    free(postgres_query(remote.local, "do $$ begin execute format('alter database %I owner to queue', "
                                      "current_database()); end $$"));
    return 0;
}

static int stop(void **state) {
    (void)state;
    postgres_stop(&remote.pg, false);
    return 0;
}

/* The connection string for this host, authority and certificate of the client. It lives until the process ends. */
static const char *over_tls(const char *host, const char *authority, const char *certificate) {
    char text[1024];

    snprintf(text, sizeof text,
             "%s port=%s dbname=%s user=queue sslmode=verify-full sslrootcert=%s sslcert=%s "
             "sslkey=%s",
             host, remote.port, strstr(remote.local, "dbname=") + strlen("dbname="),
             certificate_path(authority, "crt"), certificate_path(certificate, "crt"),
             certificate_path(certificate, "key"));
    return forever(text);
}

static void test_both_sides_are_verified(void **state) {
    static const char sessions[] = "select count(*) from pg_stat_activity join pg_stat_ssl using (pid) "
                                   "where usename = 'queue' and ";
    struct server s;
    redisContext *c;

    (void)state;
    server_start(&s, over_tls("host=localhost", "ca", "queue"), NULL);
    c = client_open_on(&s);
    expect(c, ":1", "ACKJOB %s", (add_job(c, "q", "body", ""), get_job(c, "q", "body")));
    expect_start(c, ":", "HEALTH TIMEOUT 60000");
    assert_true(postgres_number(remote.local, text_of("%s ssl and client_dn = '/CN=queue'", sessions)) > 0);
    assert_int_equal(postgres_number(remote.local, text_of("%s not ssl", sessions)), 0);
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
}

/* ask() shows the end of a line as \x0d. */
static bool last_error_says(redisContext *c, const char *reason) {
    const char *error = strstr(ask(c, "INFO ALL"), "database_last_error:");
    const char *found = error == NULL ? NULL : strstr(error, reason);

    return found != NULL && found < strstr(error, "\\x0d");
}

/* A server with this connection string reports the reason, and serves no jobs. */
static void is_refused(const char *database, const char *reason) {
    struct server s;
    redisContext *c;

    server_spawn(&s, database, NULL);
    EVENTUALLY(strncmp(server_ping(&s), "-LOADING", 8) == 0);
    c = client_open_on(&s);
    if (!WAIT_UNTIL(last_error_says(c, reason), EVENTUALLY_MS))
        fail_msg("%s is not the error of: %s", reason, strstr(ask(c, "INFO ALL"), "database_last_error:"));
    assert_int_equal(info_number(c, "db_connects"), 0);
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
}

/* --check ends at once, because a later try fails, too. */
static void is_final(const char *database, const char *reason) {
    const char *port = forever(text_of("%d", server_free_port())), *out;

    assert_int_equal(
        tooling_run(&out, "--check", "--port", port, "--dir", scratch_dir(), "--database", database, NULL),
        1);
    tooling_says(out, "the database refuses the connection: ");
    tooling_says(out, reason);
}

static void test_wrong_authority(void **state) {
    (void)state;
    is_refused(over_tls("host=localhost", "other", "queue"), "certificate verify failed");
    is_final(over_tls("host=localhost", "other", "queue"), "certificate verify failed");
}

static void test_wrong_host(void **state) {
    (void)state;
    is_refused(over_tls("host=db.example hostaddr=127.0.0.1", "ca", "queue"), "does not match host name");
    is_final(over_tls("host=db.example hostaddr=127.0.0.1", "ca", "queue"), "does not match host name");
}

static void test_wrong_client_certificates(void **state) {
    (void)state;
    is_refused(over_tls("host=localhost", "ca", "stranger"), "unknown ca");
    is_final(over_tls("host=localhost", "ca", "stranger"), "unknown ca");
    is_refused(over_tls("host=localhost", "ca", "alice"), "certificate authentication failed for user");
}

static void test_no_tls(void **state) {
    (void)state;
    is_refused(text_of("%s sslmode=disable", over_tls("host=localhost", "ca", "queue")), "no encryption");
}

/* PGPORT is the port of each Postgres of this program, also of its socket. It is libpq's default, too. */
int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_sides_are_verified),
        cmocka_unit_test(test_wrong_authority),
        cmocka_unit_test(test_wrong_host),
        cmocka_unit_test(test_wrong_client_certificates),
        cmocka_unit_test(test_no_tls),
    };

    remote.port = forever(text_of("%d", server_free_port()));
    setenv("PGPORT", remote.port, 1);
    return RUN_SUITE_WITH("database_tls", tests, start, stop);
}
