/* PgBouncer before the database: in session mode all works, in other modes the server refuses, and says so. */
#include "consult.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <libpq-fe.h>

static const char refusal[] = "set pool_mode = session";

/* A PgBouncer before pg. */
struct pooler_process {
    pid_t pid;
    char dir[PATH_SIZE];
    char log[PATH_SIZE];
};

static const char *pooler_program(void) {
    return access("/usr/sbin/pgbouncer", X_OK) == 0 ? "/usr/sbin/pgbouncer" : "pgbouncer";
}

/* settings: further lines of its configuration. */
static void pooler_configure(const struct pooler_process *p, const char *mode, const char *settings) {
    char path[PATH_SIZE];
    FILE *f;

    path_join(path, "%s/pgbouncer.ini", p->dir);
    f = fopen(path, "w");
    if (!f)
        die("cannot write %s", path);
    fprintf(f,
            "[databases]\n* = host=%s user=postgres\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = 6432\n"
            "auth_type = any\nserver_login_retry = 1\npool_mode = %s\n%s\n",
            pg.dir, p->dir, mode, settings);
    fclose(f);
}

static const char *through(const struct pooler_process *p, const char *database) {
    return forever(text_of("host=%s port=6432 user=postgres %s", p->dir, strstr(database, "dbname=")));
}

static bool pooler_answers(const struct pooler_process *p) {
    return PQping(text_of("host=%s port=6432 user=postgres dbname=postgres", p->dir)) == PQPING_OK;
}

static void pooler_resume(struct pooler_process *p) {
    const char *argv[] = { pooler_program(), text_of("%s/pgbouncer.ini", p->dir), NULL };

    p->pid =
        spawn(&(struct spawn){ .argv = argv, .log = p->log, .death_signal = SIGKILL, .unprivileged = true });
    EVENTUALLY(pooler_answers(p));
}

static void pooler_start(struct pooler_process *p, const char *mode, const char *settings) {
    static int count;

    path_join(p->dir, "%s/pooler%d", scratch_dir(), count);
    path_join(p->log, "%s/pooler%d.log", scratch_dir(), count);
    count++;
    if (mkdir(p->dir, 0777) != 0 || chmod(p->dir, 0777) != 0)
        die("cannot make %s", p->dir);
    pooler_configure(p, mode, settings);
    pooler_resume(p);
}

static void pooler_kill(struct pooler_process *p) {
    kill(p->pid, SIGKILL);
    wait_exit(p->pid, 10000);
}

static struct pooler_process sessions;
static const char *direct; /* the database behind it, without it */

static int start_sessions(void **state) {
    (void)state;
    pooler_start(&sessions, "session", "");
    direct = postgres_conninfo(&pg, NULL);
    return 0;
}

static int stop_sessions(void **state) {
    (void)state;
    pooler_kill(&sessions);
    return 0;
}

/* ---- sessions of its own ---- */

static void work(redisContext *c, const char *queue) {
    const char *id = add_job(c, queue, "a", "RETRY 1");
    struct wire w;

    assert_string_equal(get_job(c, queue, "a"), id);
    EVENTUALLY(number(c, "QLEN %s", queue) == 1);
    assert_string_equal(get_job(c, queue, "a"), id);
    expect(c, ":1", "ACKJOB %s", id);
    if (!wire_try_open(&w, c->tcp.port))
        fail_msg("cannot connect");
    wire_words(&w, "GETJOB", "FROM", queue, NULL);
    EVENTUALLY(info_number(c, "blocked_clients") == 1);
    id = add_job(c, queue, "b", "DELAY 1 RETRY 5");
    raw_expect(&w, text_of("[[\"%s\" \"%s\" \"b\"]]", queue, id));
    expect(c, ":1", "ACKJOB %s", id);
    wire_close(&w);
}

static void test_sessions(void **state) {
    struct server s;
    redisContext *c;
    const char *id;

    (void)state;
    server_start(&s, through(&sessions, direct), NULL);
    c = client_open_on(&s);
    work(c, "through");
    assert_true(finds(c, "note pooler", "there is a pooler"));
    id = add_job(c, "kept", "a", "");
    redisFree(c);
    server_kill(&s);
    server_resume(&s);
    c = client_open_on(&s);
    assert_string_equal(get_job(c, "kept", "a"), id);
    work(c, "through");
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
}

/* Adds jobs during an outage: each ID in a reply belongs to an existing job. */
static void check_outage(struct server *s, void (*outage)(void)) {
    redisContext *c = client_open_on(s), *other = client_open_on(s);
    long long before = number(c, "QLEN outage"), connects = info_number(c, "db_connects");

    for (int i = 0; i < 50; i++)
        later(c, "ADDJOB outage %d 0", i);
    next_reply(c);
    outage();
    for (int i = 1; i < 50; i++)
        assert_memory_equal(next_reply(c), "+D-", 3);
    EVENTUALLY(info_number(other, "db_connects") >= connects + 2);
    EVENTUALLY(strcmp(server_ping(s), "+PONG") == 0);
    EVENTUALLY(number(other, "QLEN outage") == before + 50);
    redisFree(c);
    redisFree(other);
}

static void restart_postgres(void) {
    postgres_stop(&pg, true);
    postgres_resume(&pg);
}

static void restart_pooler(void) {
    pooler_kill(&sessions);
    pooler_resume(&sessions);
}

static void end_sessions(void) {
    free(postgres_query(direct,
                        "select pg_terminate_backend(pid) from pg_stat_activity"
                        " where application_name like 'pgdisque %' and datname = current_database()"));
}

static void test_outages(void **state) {
    struct server s;

    (void)state;
    server_start(&s, through(&sessions, direct), NULL);
    check_outage(&s, end_sessions);
    check_outage(&s, restart_pooler);
    check_outage(&s, restart_postgres);
    assert_int_equal(server_stop(&s), 0);
}

/* Another application uses the same name and role, in a session that the pooler lent to the server before. */
static void test_takeover_leaves_others_alone(void **state) {
    const char *conninfo = through(&sessions, direct);
    struct server s;
    PGconn *others[4];

    (void)state;
    server_start(&s, conninfo, NULL);
    server_kill(&s);
    for (int i = 0; i < 4; i++)
        free(postgres_query(conninfo, "select 1"));
    for (int i = 0; i < 4; i++) {
        others[i] = postgres_connect(conninfo);
        PQclear(PQexec(others[i], "begin; create temporary table mine (id integer)"));
    }
    server_resume(&s);
    for (int i = 0; i < 4; i++) {
        PGresult *res = PQexec(others[i], "insert into mine values (1); commit");

        assert_int_equal(PQresultStatus(res), PGRES_COMMAND_OK);
        PQclear(res);
        PQfinish(others[i]);
    }
    assert_int_equal(server_stop(&s), 0);
}

/* A server receives its own notifications. Without them it would reconnect. */
static void test_two_servers(void **state) {
    struct server s[2];
    redisContext *c[2];
    struct wire w;
    const char *id;

    (void)state;
    for (int i = 0; i < 2; i++) {
        server_start(&s[i], through(&sessions, direct), NULL);
        c[i] = client_open_on(&s[i]);
    }
    raw_open_on(&w, &s[1]);
    wire_words(&w, "GETJOB", "FROM", "there", NULL);
    EVENTUALLY(info_number(c[1], "blocked_clients") == 1);
    id = add_job(c[0], "there", "a", "");
    raw_expect(&w, text_of("[[\"there\" \"%s\" \"a\"]]", id));
    expect(c[1], ":1", "ACKJOB %s", id);
    HOLDS_FOR(6500,
              !file_contains(s[0].log, "[notifications]") && !file_contains(s[1].log, "[notifications]"));
    wire_close(&w);
    for (int i = 0; i < 2; i++) {
        redisFree(c[i]);
        assert_int_equal(server_stop(&s[i]), 0);
    }
}

/* ---- sessions that are not ---- */

static void check_refusal(const char *mode, const char *settings) {
    struct pooler_process p;
    struct server s;
    const char *database = postgres_conninfo(&pg, NULL), *out;

    pooler_start(&p, mode, settings);
    server_spawn(&s, through(&p, database), NULL);
    assert_true(server_refuses(&s, refusal));
    assert_int_equal(doctor_line_run(&out, "--table", "--database", through(&p, database), NULL), 2);
    if (!strstr(out, "error (pooler)") || !strstr(out, refusal))
        fail_msg("%s", out);
    assert_int_equal(
        postgres_number(database, "select count(*) from pg_namespace where nspname = 'pgdisque'"), 0);
    pooler_kill(&p);
}

static void test_other_modes_are_refused(void **state) {
    (void)state;
    check_refusal("transaction", "");
    check_refusal("statement", "");
    /* The server detects the mode also if other clients use the pooler, or if the pooler has a single session. */
    check_refusal("transaction", "default_pool_size = 1");
    check_refusal("transaction", "server_round_robin = 1\nmin_pool_size = 10");
    check_refusal("transaction", "server_reset_query_always = 1");
}

/* The pooler returns sessions as they were, with prepared statements. The server's check leaves two sessions. Two
 * servers leave two as well. */
static void test_sessions_must_be_clean(void **state) {
    struct pooler_process p;
    struct server s[3];
    const char *database = postgres_conninfo(&pg, NULL);

    (void)state;
    pooler_start(&p, "session", "server_reset_query =");
    for (int i = 0; i < 2; i++) {
        server_start(&s[i], through(&p, database), NULL);
        EVENTUALLY(file_contains(s[i].log, "[database writes] connected") &&
                   file_contains(s[i].log, "[database reads] connected") &&
                   file_contains(s[i].log, "[database long reads] connected"));
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(server_stop(&s[i]), 0);
    server_spawn(&s[2], s[0].database, NULL);
    EVENTUALLY(file_contains(s[2].log, "server_reset_query has to be DISCARD ALL"));
    assert_int_equal(server_stop(&s[2]), 0);
    pooler_kill(&p);
}

/* After the change the pooler lends sessions to others when their transaction ends. The server notices it there, or
 * with its next session. All confirmed jobs are there. */
static void test_a_mode_that_changes(void **state) {
    struct pooler_process p;
    struct server s;
    redisContext *c;
    int confirmed = 1;

    (void)state;
    direct = postgres_conninfo(&pg, NULL);
    pooler_start(&p, "session", "");
    server_start(&s, through(&p, direct), NULL);
    c = client_open_on(&s);
    add_job(c, "kept", "a", "");
    pooler_configure(&p, "transaction", "");
    kill(p.pid, SIGHUP);
    EVENTUALLY(file_contains(p.log, "re-reading config"));
    confirmed += ask(c, "ADDJOB kept b 0")[0] == '+';
    end_sessions();
    assert_true(server_refuses(&s, refusal));
    assert_in_range(postgres_number(direct, "select count(*) from pgdisque.job"), confirmed, 2);
    redisFree(c);
    pooler_kill(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sessions, start_sessions, stop_sessions),
        cmocka_unit_test_setup_teardown(test_outages, start_sessions, stop_sessions),
        cmocka_unit_test_setup_teardown(test_takeover_leaves_others_alone, start_sessions, stop_sessions),
        cmocka_unit_test_setup_teardown(test_two_servers, start_sessions, stop_sessions),
        cmocka_unit_test(test_other_modes_are_refused),
        cmocka_unit_test(test_sessions_must_be_clean),
        cmocka_unit_test(test_a_mode_that_changes),
    };

    return RUN_SUITE("pooler", tests);
}
