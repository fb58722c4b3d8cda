/* backup, restore and move: a restored database equals the backup, and a move under load loses no job that was answered. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "terminal.h"
#include "tooling.h"

/* Jobs that the client adds before the move begins. */
#define JOBS_BEFORE 300

static redisContext *c;

static int start(void **state) {
    (void)state;
    c = client_open();
    return 0;
}

static int stop(void **state) {
    (void)state;
    redisFree(c);
    return 0;
}

static const char *scratch(const char *name) {
    return forever(text_of("%s/%s", scratch_dir(), name));
}

/* A backup of the server of this program, which runs. */
static const char *back_up(const char *name) {
    const char *dir = scratch(name);

    TOOLING(0, text_of(" tables are in %s", dir), "backup", "--table", dir, "--database", server.database);
    return dir;
}

static redisContext *serve(struct server *s, const char *database) {
    server_start(s, database, NULL);
    return client_open_on(s);
}

/* ---- backup and restore ---- */

static void test_backup_and_restore(void **state) {
    const char *database = postgres_conninfo(&pg, NULL), *dir, *kept, *delayed;
    struct server s;
    redisContext *other;

    (void)state;
    kept = forever(add_job(c, "b-kept", "\x01 body", ""));
    delayed = forever(add_job(c, "b-kept", "later", "DELAY 1000"));
    expect(c, "+in", "PAUSE b-shut in");
    dir = back_up("backup");
    add_job(c, "b-kept", "after", "");
    TOOLING(0, "are restored, and equal the backup", "restore", "--table", dir, "--database", database);
    other = serve(&s, database);
    expect(other, ":1", "QLEN b-kept");
    assert_string_equal(get_job(other, "b-kept", "\x01 body"), kept);
    assert_string_equal(job_field(other, delayed, "state"), "active");
    expect(other, "+in", "PAUSE b-shut state");
    TOOLING(1, "of a server use this database; stop the servers first", "restore", dir, "--replace",
            "--database", database);
    redisFree(other);
    assert_int_equal(server_stop(&s), 0);
    TOOLING(1, "the database has queues already; --replace deletes them", "restore", dir, "--database",
            database);
    TOOLING(0, "equal the backup", "restore", "--table", dir, "--replace", "--database", database);
    assert_int_equal(postgres_number(database, "select count(*) from pgdisque.job"), 2);
    assert_int_equal(
        postgres_number(database, "select count(*) from pg_namespace where nspname ~ 'replaced'"), 0);
}

/* A checksum that differs: the database gets back its old schema. */
static void test_restore_of_another_content(void **state) {
    const char *database = postgres_conninfo(&pg, NULL), *dir = back_up("altered");
    struct server s;

    (void)state;
    redisFree(serve(&s, database));
    assert_int_equal(server_stop(&s), 0);
    free(postgres_query(database, "insert into pgdisque.queue (name) values ('mine')"));
    /* Checksum and rows of a table that is empty. */
    assert_int_equal(
        system(text_of(
            "sed -i '/\"bucket\"/,/}/s/\"checksum\": \"0\"/\"checksum\": \"1\"/' '%s/pgdisque.json'", dir)),
        0);
    TOOLING(1, "the restored rows differ from the backup: the table bucket", "restore", dir, "--replace",
            "--database", database);
    assert_int_equal(postgres_number(database, "select count(*) from pgdisque.queue where name = 'mine'"), 1);
    assert_int_equal(
        postgres_number(database, "select count(*) from pg_namespace where nspname ~ 'replaced'"), 0);
}

/* Starts a tool, which waits for a lock on a table. Its output goes to a file. */
static pid_t start_waiting(const char *database, const char *const *words) {
    const char *argv[10] = { server_program() };
    pid_t pid;

    for (size_t i = 0; words[i] != NULL; i++)
        argv[i + 1] = words[i];
    pid = spawn(&(struct spawn){ .argv = argv, .log = scratch("waiting.out") });
    EVENTUALLY(postgres_number(database,
                               "select count(*) from pg_stat_activity where wait_event = 'relation' "
                               "and datname = current_database()") == 1);
    return pid;
}

static PGconn *hold(const char *database, const char *lock) {
    PGconn *holder = postgres_connect(database);

    PQclear(PQexec(holder, "begin"));
    PQclear(PQexec(holder, lock));
    assert_int_equal(PQtransactionStatus(holder), PQTRANS_INTRANS);
    return holder;
}

/* The second backup must not remove the files of the first one. */
static void test_two_backups_to_a_directory(void **state) {
    const char *dir = scratch("shared");
    PGconn *holder = hold(server.database, "lock table pgdisque.bucket in access exclusive mode");
    pid_t first;

    (void)state;
    first = start_waiting(server.database,
                          (const char *const[]){ "backup", dir, "--database", server.database, NULL });
    TOOLING(1, "this exists already; name a new directory", "backup", dir, "--database", server.database);
    PQfinish(holder);
    assert_int_equal(wait_exit(first, 60000), 0);
    TOOLING(0, "equal the backup", "restore", "--table", dir, "--database", postgres_conninfo(&pg, NULL));
}

/* The restored schema can still be dropped, so a server waits. */
static void test_a_server_that_starts_during_a_restore(void **state) {
    const char *database = postgres_conninfo(&pg, NULL), *dir = back_up("early");
    struct server s;
    PGconn *holder;
    pid_t tool;

    (void)state;
    redisFree(serve(&s, database));
    assert_int_equal(server_stop(&s), 0);
    /* Stops the tool after the comparison, when it drops the old schema. */
    holder = hold(database, "lock table pgdisque.bucket in access share mode");
    tool = start_waiting(database,
                         (const char *const[]){ "restore", dir, "--replace", "--database", database, NULL });
    server_spawn(&s, database, NULL);
    /* The sessions of the server also wait for each other. */
    EVENTUALLY(
        postgres_number(
            database,
            "select count(*) from pg_stat_activity as s join pg_stat_activity as tool on tool.pid = any "
            "(pg_blocking_pids(s.pid)) where s.wait_event = 'advisory' and tool.wait_event = 'relation'") >
        0);
    PQfinish(holder);
    assert_int_equal(wait_exit(tool, 60000), 0);
    server_wait_ready(&s);
    assert_int_equal(server_stop(&s), 0);
}

static void test_refusals(void **state) {
    const char *dir = back_up("incomplete"), *database = postgres_conninfo(&pg, NULL);

    (void)state;
    TOOLING(1, "this exists already; name a new directory", "backup", dir, "--database", server.database);
    assert_int_equal(unlink(text_of("%s/pgdisque.json", dir)), 0);
    TOOLING(1, "this is no complete backup of pgdisque", "restore", dir, "--database", database);
    TOOLING(1, "this database has no tables of pgdisque", "backup", scratch("nothing"), "--database",
            database);
    assert_int_equal(access(scratch("nothing"), F_OK), -1);
    TOOLING(1, "cannot connect to the database", "backup", scratch("nothing"), "--database",
            "host=/nowhere dbname=x");
    TOOLING(1, "there is no embedded Postgres", "backup", scratch("nothing"), "--dir", scratch("nowhere"));
    TOOLING(1, "the directory for the backup is missing", "backup");
    TOOLING(1, "the option --to is missing", "move");
    TOOLING(1, "the option database is set", "move", "--to", database, "--dir", pg.dir, "--database",
            database);
}

/* Postgres reads its rules again after a while. */
static bool needs_password(void) {
    static int tries;
    const char *out, *dir = scratch(text_of("no-password-%d", tries++));

    return tooling_run(&out, "backup", dir, "--database", text_of("%s user=keeper", server.database), NULL) ==
           1;
}

/* The programs of Postgres get the password by a service file, not by their arguments. */
static void test_password(void **state) {
    const char *database = postgres_conninfo(&pg, NULL), *dir = scratch("secret");
    const char *path = text_of("%s/pg_hba.conf", pg.dir);
    char before[8192];
    FILE *f = fopen(path, "r+");
    size_t len;

    (void)state;
    assert_non_null(f);
    len = fread(before, 1, sizeof before, f);
    rewind(f);
    fputs("local all keeper scram-sha-256\n", f);
    fwrite(before, 1, len, f);
    fclose(f);
    free(postgres_query(server.database, "create role keeper superuser login password 'b a''c\\d'"));
    free(postgres_query(server.database, "select pg_reload_conf()"));
    EVENTUALLY(needs_password());
    TOOLING(0, text_of("{\"directory\":\"%s\"", dir), "backup", dir, "--database",
            text_of("%s user=keeper password='b a\\'c\\\\d'", server.database));
    TOOLING(0, "equal the backup", "restore", "--table", dir, "--database",
            text_of("%s user=keeper password='b a\\'c\\\\d'", database));
}

static void test_progress_on_a_terminal(void **state) {
    const char *dir = scratch("watched");
    struct terminal t;

    (void)state;
    terminal_start(&t, (const char *const[]){ "backup", dir, "--database", server.database, NULL });
    assert_int_equal(terminal_wait(&t), 0);
    terminal_expect(&t, 0, "tables read");
    terminal_expect(&t, 0, " tables are in ");
    terminal_close(&t);
}

/* ---- move ---- */

/* Adds jobs as fast as it can until the server ends, and writes the ID of each job that is answered. */
static pid_t start_load(const struct server *s, const char *ids) {
    pid_t pid = fork();
    redisReply *r;
    FILE *f;

    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    f = fopen(ids, "w");
    for (redisContext *own = redisConnect("127.0.0.1", s->port);
         (r = redisCommand(own, "ADDJOB m-load x 0")) != NULL && r->type == REDIS_REPLY_STATUS;
         freeReplyObject(r)) {
        fprintf(f, "%s\n", r->str);
        fflush(f);
    }
    _exit(0);
}

static int count_lines(const char *path) {
    char line[200];
    FILE *f = fopen(path, "r");
    int lines = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        lines++;
    if (f != NULL)
        fclose(f);
    return lines;
}

static void expect_jobs(redisContext *to, const char *ids) {
    char line[200];
    FILE *f = fopen(ids, "r");

    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(job_field(to, line, "state"), "queued") != 0)
            fail_msg("the job %s is lost", line);
    }
    fclose(f);
}

static void test_move_under_load(void **state) {
    const char *database = postgres_conninfo(&pg, NULL), *ids = scratch("ids"), *node, *done, *leased;
    struct server s;
    redisContext *other;
    pid_t load;

    (void)state;
    other = serve(&s, "");
    node = forever(ask(other, "CLUSTER MYID"));
    done = forever(add_job(other, "m-done", "x", ""));
    expect(other, ":1", "ACKJOB %s", get_job(other, "m-done", "x"));
    leased = forever(add_job(other, "m-leased", "x", "RETRY 1000"));
    get_job(other, "m-leased", "x");
    load = start_load(&s, ids);
    EVENTUALLY(count_lines(ids) >= JOBS_BEFORE);
    /* Refused before the server is ended. */
    TOOLING(1, "sessions of a server use this database", "move", "--to", server.database, "--dir", s.dir);
    assert_string_equal(server_ping(&s), "+PONG");
    TOOLING(0, "{\"database\":\"", "move", "--to", database, "--dir", s.dir);
    assert_int_equal(wait_exit(load, 60000), 0);
    redisFree(other);
    assert_int_equal(server_stop(&s), 0);
    /* No server delivers the old jobs. */
    TOOLING(1, "were moved to", "--dir", s.dir, "--port", text_of("%d", server_free_port()));
    s.database = database;
    server_resume(&s);
    other = client_open_on(&s);
    assert_string_equal(ask(other, "CLUSTER MYID"), node);
    expect_jobs(other, ids);
    assert_string_equal(job_field(other, done, "state"), "gone");
    assert_string_equal(job_field(other, leased, "state"), "active");
    expect(other, ":1", "ACKJOB %s", leased);
    redisFree(other);
    assert_int_equal(server_stop(&s), 0);
}

/* The tool makes the embedded Postgres that is missing. */
static void test_restore_into_a_private_postgres(void **state) {
    const char *dir = back_up("private"), *data = scratch("new-data");

    (void)state;
    TOOLING(0, "equal the backup", "restore", "--table", dir, "--dir", data);
    TOOLING(0, "\"tables\":", "backup", scratch("again"), "--dir", data);
    TOOLING(0, "configuration and database are fine", "--check", "--dir", data, "--port",
            text_of("%d", server_free_port()));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backup_and_restore),
        cmocka_unit_test(test_restore_of_another_content),
        cmocka_unit_test(test_two_backups_to_a_directory),
        cmocka_unit_test(test_a_server_that_starts_during_a_restore),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_password),
        cmocka_unit_test(test_progress_on_a_terminal),
        cmocka_unit_test(test_move_under_load),
        cmocka_unit_test(test_restore_into_a_private_postgres),
    };

    return RUN_SUITE_WITH("tools_backup", tests, start, stop);
}
