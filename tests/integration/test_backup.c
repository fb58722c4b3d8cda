/* A loaded queue after pg_dump and pg_restore, and after recovery to a moment in the past. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Postgres and server that come into being from a backup of the others. */
static struct postgres other_pg;
static struct server other;

static const char archiving[] = "wal_level = replica\n"
                                "max_wal_senders = 4\n"
                                "archive_mode = on\n";

static void run(const struct postgres *to, const char *const *argv) {
    run_command(&(struct spawn){ .argv = argv, .log = to->log });
}

static redisContext *serve(const char *conninfo) {
    server_start(&other, conninfo, NULL);
    return client_open_on(&other);
}

static void close_other(redisContext *c) {
    redisFree(c);
    assert_int_equal(server_stop(&other), 0);
    postgres_stop(&other_pg, true);
}

/* Servers save the figures of queues once a second. A dump contains the saved figures only. */
static void wait_for_counters(const char *conninfo, const char *queue, int jobs_in, int jobs_out) {
    const char *sql =
        text_of("select count(*) from pgdisque.queue_counter c join pgdisque.queue q on q.id = c.queue_id"
                " where q.name = '%s' and c.jobs_in = %d and c.jobs_out = %d",
                queue, jobs_in, jobs_out);

    EVENTUALLY(postgres_number(conninfo, sql) == 1);
}

/* ---- pg_dump and pg_restore ---- */

struct load {
    const char *ready, *delayed, *leased, *ending, *nacked, *given, *once, *shut;
    int64_t lease_begun;
};

static struct load load_queues(redisContext *c) {
    struct load l = { .leased = forever(add_job(c, "b-leased", "leased", "RETRY 1000")) };

    get_job(c, "b-leased", "leased");
    l.nacked = forever(add_job(c, "b-ready", "nacked", "RETRY 1000"));
    get_job(c, "b-ready", "nacked");
    expect(c, ":1", "NACK %s", l.nacked);
    l.ready = forever(add_job(c, "b-ready", "ready", "TTL 5000"));
    l.delayed = forever(add_job(c, "b-ready", "delayed", "DELAY 1000"));
    l.given = forever(add_job(c, "b-once", "given", "RETRY 0"));
    get_job(c, "b-once", "given");
    l.once = forever(add_job(c, "b-once", "once", "RETRY 0"));
    l.shut = forever(add_job(c, "b-shut", "shut", ""));
    expect(c, "+all", "PAUSE b-shut all");
    l.ending = forever(add_job(c, "b-ending", "ending", "RETRY 8"));
    l.lease_begun = now_ms();
    get_job(c, "b-ending", "ending");
    return l;
}

/* The database belongs to another role than the dumped one. */
static const char *database_of_another_role(void) {
    const char *made = postgres_conninfo(&other_pg, NULL),
               *name = strstr(made, "dbname=") + strlen("dbname=");

    free(postgres_query(made, text_of("create role mover login; alter database %s owner to mover", name)));
    return forever(text_of("host=%s user=mover dbname=%s", other_pg.dir, name));
}

static const char *dump_and_restore(const char *from) {
    char file[PATH_SIZE];
    const char *to = database_of_another_role();
    const char *dump[] = { postgres_program("pg_dump"), "-n", "pgdisque", "-Fc", "-f", file, from, NULL };
    const char *restore[] = { postgres_program("pg_restore"), "-1", "-O", "-x", "-d", to, file, NULL };

    path_join(file, "%s/dump", scratch_dir());
    run(&other_pg, dump);
    run(&other_pg, restore);
    return to;
}

static void check_restored(redisContext *c, const struct load *l) {
    EVENTUALLY(info_number(c, "registered_jobs") == 8);
    assert_int_equal(number(c, "QLEN b-ready"), 2);
    assert_string_equal(job_field(c, l->delayed, "state"), "active");
    assert_string_equal(job_field(c, l->leased, "state"), "active");
    assert_string_equal(queue_field(c, "b-ready", "jobs-in"), "3");
    assert_string_equal(queue_field(c, "b-ready", "jobs-out"), "1");
    expect(c,
           text_of("[[\"b-ready\" \"%s\" \"nacked\" \"nacks\" :1 \"additional-deliveries\" :0]]", l->nacked),
           "GETJOB NOHANG WITHCOUNTERS FROM b-ready");
    assert_string_equal(get_job(c, "b-ready", "ready"), l->ready);
    assert_true(queue_is_empty(c, "b-ready"));
    assert_true(queue_is_empty(c, "b-leased"));
}

static void check_at_most_once_restored(redisContext *c, const struct load *l) {
    assert_string_equal(get_job(c, "b-once", "once"), l->once);
    assert_true(queue_is_empty(c, "b-once"));
}

static void check_pause_restored(redisContext *c, const struct load *l) {
    expect(c, "+all", "PAUSE b-shut state");
    assert_true(queue_is_empty(c, "b-shut"));
    expect(c, "+none", "PAUSE b-shut none");
    assert_string_equal(get_job(c, "b-shut", "shut"), l->shut);
}

/* Another server delivered the job. This server waits for the end of that lease. */
static void check_lease_restored(redisContext *c, const struct load *l) {
    expect(c,
           text_of("[[\"b-ending\" \"%s\" \"ending\" \"nacks\" :0 \"additional-deliveries\" :1]]", l->ending),
           "GETJOB WITHCOUNTERS TIMEOUT 60000 FROM b-ending");
    assert_true(now_ms() - l->lease_begun >= 7800);
}

static void test_dump(void **state) {
    redisContext *c = client_open();
    struct load l = load_queues(c);
    redisContext *restored;

    (void)state;
    wait_for_counters(server.database, "b-ready", 3, 1);
    wait_for_counters(server.database, "b-ending", 1, 1);
    postgres_start(&other_pg);
    restored = serve(dump_and_restore(server.database));
    check_restored(restored, &l);
    check_at_most_once_restored(restored, &l);
    check_pause_restored(restored, &l);
    check_lease_restored(restored, &l);
    /* IDs from before are good for everything. */
    expect(restored, ":8", "ACKJOB %s %s %s %s %s %s %s %s", l.ready, l.delayed, l.leased, l.ending, l.nacked,
           l.given, l.once, l.shut);
    EVENTUALLY(info_number(restored, "registered_jobs") == 0);
    /* The dumped database is unchanged. */
    assert_string_equal(get_job(c, "b-once", "once"), l.once);
    close_other(restored);
    redisFree(c);
}

/* ---- recovery to a moment ---- */

static void make_archived(struct postgres *archived) {
    char dir[PATH_SIZE];
    const char *argv[] = { "mkdir", dir, NULL };

    postgres_make(archived);
    path_join(dir, "%s/archive", archived->dir);
    postgres_run(archived, argv);
    postgres_set(archived, archiving);
    postgres_set(archived, text_of("archive_command = 'cp \"%%p\" \"%s/%%f\"'\n", dir));
    postgres_resume(archived);
}

static void recover(const struct postgres *archived, const char *moment) {
    char path[PATH_SIZE];
    const char *argv[] = { "touch", path, NULL };

    path_join(path, "%s/recovery.signal", other_pg.dir);
    postgres_run(&other_pg, argv);
    postgres_set(&other_pg, text_of("archive_mode = off\nrestore_command = 'cp \"%s/archive/%%f\" \"%%p\"'\n"
                                    "recovery_target_time = '%s'\nrecovery_target_action = promote\n",
                                    archived->dir, moment));
    postgres_resume(&other_pg);
    EVENTUALLY(postgres_number(postgres_conninfo(&other_pg, "postgres"), "select pg_is_in_recovery()::int") ==
               0);
}

static void wait_for_archive(const char *conninfo) {
    char *segment = postgres_query(conninfo, "select pg_walfile_name(pg_current_wal_lsn())");
    const char *sql =
        text_of("select count(*) from pg_stat_archiver where last_archived_wal >= '%s'", segment);

    free(postgres_query(conninfo, "select pg_switch_wal()"));
    EVENTUALLY(postgres_number(conninfo, sql) == 1);
    free(segment);
}

struct past {
    const char *acked, *leased, *late, *once, *held, *due;
    const char *moment;
};

/* Some of it before the moment, some after. */
static struct past live(struct postgres *archived, struct server *s) {
    redisContext *c = client_open_on(s);
    struct past p = { .acked = forever(add_job(c, "m-acked", "acked", "RETRY 1000")) };
    char *moment;

    postgres_back_up(archived, &other_pg);
    p.leased = forever(add_job(c, "m-leased", "leased", "RETRY 1000"));
    get_job(c, "m-leased", "leased");
    p.once = forever(add_job(c, "m-once", "once", "RETRY 0"));
    p.held = forever(add_job(c, "m-held", "held", "RETRY 0 TTL 5000"));
    p.due = forever(add_job(c, "m-due", "due", "RETRY 0 DELAY 1"));
    moment = postgres_query(s->database, "select clock_timestamp()");
    p.moment = forever(moment);
    free(moment);
    get_job(c, "m-acked", "acked");
    expect(c, ":2", "ACKJOB %s %s", p.acked, p.leased);
    get_job(c, "m-once", "once");
    get_job(c, "m-held", "held");
    p.late = forever(add_job(c, "m-late", "late", ""));
    expect(c, text_of("[[\"m-due\" \"%s\" \"due\"]]", p.due), "GETJOB TIMEOUT 60000 FROM m-due");
    wait_for_archive(s->database);
    redisFree(c);
    return p;
}

static void hold_at_most_once(const char *conninfo) {
    const char *argv[] = { postgres_program("psql"),
                           "-Xq",
                           "-v",
                           "ON_ERROR_STOP=1",
                           "-d",
                           conninfo,
                           "-f",
                           "sql/by-hand/hold_at_most_once.sql",
                           NULL };

    run(&other_pg, argv);
}

/* The server does not deliver an at-most-once job again by itself. An ENQUEUE delivers it. */
static void check_held(redisContext *c, const struct past *p) {
    assert_true(queue_is_empty(c, "m-once"));
    assert_true(queue_is_empty(c, "m-held"));
    assert_true(queue_is_empty(c, "m-due"));
    assert_string_equal(job_field(c, p->held, "state"), "active");
    expect(c, ":1", "ENQUEUE %s", p->held);
    assert_string_equal(get_job(c, "m-held", "held"), p->held);
    assert_true(queue_is_empty(c, "m-held"));
    expect(c, ":3", "DELJOB %s %s %s", p->once, p->held, p->due);
}

static void test_recovery(void **state) {
    struct postgres archived;
    struct server original;
    struct past p;
    const char *conninfo, *database;
    redisContext *c;

    (void)state;
    make_archived(&archived);
    database = postgres_migrated(&archived);
    server_start(&original, database, NULL);
    p = live(&archived, &original);
    server_kill(&original);
    recover(&archived, p.moment);
    conninfo = postgres_conninfo(&other_pg, strstr(database, "dbname=") + strlen("dbname="));
    hold_at_most_once(conninfo);
    c = serve(conninfo);
    /* A job acknowledged since that moment is back. A job leased then is still leased. A job added later is gone. */
    assert_string_equal(get_job(c, "m-acked", "acked"), p.acked);
    assert_string_equal(job_field(c, p.late, "state"), "gone");
    assert_true(queue_is_empty(c, "m-leased"));
    assert_string_equal(job_field(c, p.leased, "state"), "active");
    check_held(c, &p);
    expect(c, ":2", "ACKJOB %s %s %s", p.acked, p.leased, p.late);
    EVENTUALLY(info_number(c, "registered_jobs") == 0);
    add_job(c, "m-late", "new", "");
    get_job(c, "m-late", "new");
    close_other(c);
    postgres_stop(&archived, true);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_dump), cmocka_unit_test(test_recovery) };

    return RUN_SUITE("backup", tests);
}
