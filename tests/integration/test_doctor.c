/* DOCTOR: the test causes each problem, finds it in the report, and removes it. */
#include "consult.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT "left_behind"

static struct postgres examined;
static struct server doctor; /* on `examined`; it reports all findings at once */
static const char *conninfo;
static redisContext *c;

/* As in production, and a little small. */
static int group_start(void **state) {
    static const char *const options[] = { "--doctor-patience", "0", "--bind", "0.0.0.0", NULL };

    (void)state;
    postgres_make(&examined);
    postgres_set(&examined,
                 "fsync = on\nfull_page_writes = on\nwal_level = replica\nmax_wal_senders = 4\n"
                 "max_replication_slots = 4\nmax_prepared_transactions = 4\nmax_connections = 24\n");
    postgres_resume(&examined);
    conninfo = postgres_conninfo(&examined, NULL);
    server_start(&doctor, conninfo, options);
    return 0;
}

static int group_stop(void **state) {
    (void)state;
    if (server_stop(&doctor) != 0)
        return -1;
    postgres_stop(&examined, true);
    return 0;
}

static int connect_client(void **state) {
    (void)state;
    c = client_open_on(&doctor);
    return 0;
}

/* Each test leaves no finding behind. */
static int is_well(void **state) {
    bool well;

    (void)state;
    expect(c, "+OK", "DEBUG FLUSHALL");
    well = WAIT_UNTIL(complaints(c) == 0, EVENTUALLY_MS);
    if (!well)
        show_findings(c);
    redisFree(c);
    return well ? 0 : -1;
}

static void run_sql(const char *sql) {
    free(postgres_query(conninfo, sql));
}

/* ---- well ---- */

/* Without patience a statement of the server's own, under way at this moment, would be complained of. */
static void test_well(void **state) {
    redisReply *r;

    (void)state;
    expect(c, "+OK", "CONFIG SET doctor-patience 60");
    r = redisCommand(c, "DOCTOR");
    assert_non_null(r);
    expect(c, "+OK", "CONFIG SET doctor-patience 0");
    assert_int_equal(r->type, REDIS_REPLY_STRING);
    if (strstr(r->str, "All is well") == NULL || strstr(r->str, "this check failed") != NULL)
        fail_msg("not all is well: %s", r->str);
    freeReplyObject(r);
}

/* The alerts name only the queues with figures. */
static void test_queues_without_figures(void **state) {
    (void)state;
    freeReplyObject(redisCommand(c, "ADDJOB one x 0"));
    freeReplyObject(redisCommand(c, "ADDJOB two x 0"));
    assert_false(finds(c, "note metrics", ""));
    expect(c, "+OK", "CONFIG SET metrics-queues 1");
    assert_true(finds(c, "note metrics", "figures of 1 of the "));
    expect(c, "+OK", "CONFIG SET metrics-queues 0");
    assert_false(finds(c, "note metrics", ""));
    expect(c, "+OK", "CONFIG SET metrics-queues 100");
}

/* Protected mode refuses other machines only while the default user needs no password. */
static void test_users_without_a_password(void **state) {
    static const char text[] = "user \"default\" needs", other[] = "user \"open\" needs";

    (void)state;
    assert_false(finds(c, "warning users", ""));
    expect(c, "+OK", "CONFIG SET protected-mode no");
    assert_true(finds(c, "warning users", text));
    expect(c, "+OK", "CONFIG SET protected-mode yes");
    expect(c, "+OK", "ACL SETUSER open on nopass");
    assert_false(finds(c, "warning users", other));
    expect(c, "+OK", "AUTH default any");
    expect(c, "+OK", "ACL SETUSER default resetpass >secret");
    assert_true(finds(c, "warning users", other));
    assert_false(finds(c, "warning users", text));
    expect(c, "+OK", "ACL SETUSER default nopass");
    expect(c, ":1", "ACL DELUSER open");
}

static void test_jobs_under_way(void **state) {
    const char *first = add_job(c, "kept", "a", ""), *second = add_job(c, "once", "b", "RETRY 0");

    (void)state;
    EVENTUALLY(finds(c, "warning ready-jobs", "queue \"kept\" has waited"));
    expect(c, "+OK", "CONFIG SET doctor-patience 60");
    assert_int_equal(complaints(c), 0);
    expect(c, "+OK", "CONFIG SET doctor-patience 0");
    expect(c, "+out", "PAUSE kept out");
    EVENTUALLY(finds(c, "note ready-jobs", "the queue is paused"));
    get_job(c, "once", "b");
    EVENTUALLY(finds(c, "note running-jobs", "queue \"once\""));
    expect(c, "+none", "PAUSE kept none");
    get_job(c, "kept", "a");
    for (int i = 0; i < 10; i++) {
        expect(c, ":1", "NACK %s", first);
        get_job(c, "kept", "a");
    }
    EVENTUALLY(finds(c, "warning running-jobs", "delivered 11 times"));
    expect(c, ":1", "ACKJOB %s", first);
    expect(c, ":1", "ACKJOB %s", second);
}

/* ---- vacuum ---- */

static void test_open_transaction(void **state) {
    PGconn *other = postgres_connect(conninfo);

    (void)state;
    PQclear(PQexec(other, "set application_name = 'forgotten'; begin; select txid_current()"));
    EVENTUALLY(finds(c, "warning held-back", "application \"forgotten\", idle in transaction"));
    assert_true(finds(c, "warning held-back", text_of("pg_terminate_backend(%d)", PQbackendPID(other))));
    expect(c, "+OK", "CONFIG SET doctor-patience 3600");
    assert_int_equal(complaints(c), 0);
    expect(c, "+OK", "CONFIG SET doctor-patience 0");
    PQfinish(other);
}

static void test_prepared_transaction(void **state) {
    (void)state;
    run_sql("create table public.mine (id integer)");
    run_sql("begin; insert into public.mine values (1); prepare transaction 'it''s left'");
    EVENTUALLY(finds(c, "warning held-back", "rollback prepared 'it''s left'"));
    run_sql("rollback prepared 'it''s left'");
    run_sql("drop table public.mine");
}

static void test_inactive_slot(void **state) {
    (void)state;
    run_sql("select pg_create_physical_replication_slot('" SLOT "', true)");
    EVENTUALLY(finds(c, "warning slots", "\"" SLOT "\": it keeps"));
    assert_true(finds(c, "warning slots", "without a limit"));
    run_sql("alter system set max_slot_wal_keep_size = '1GB'");
    run_sql("select pg_reload_conf()");
    EVENTUALLY(!finds(c, "warning slots", "without a limit"));
    run_sql("alter system reset max_slot_wal_keep_size");
    run_sql("select pg_reload_conf()");
    run_sql("select pg_drop_replication_slot('" SLOT "')");
}

static void test_dead_rows(void **state) {
    (void)state;
    run_sql("alter table pgdisque.job set (autovacuum_enabled = off)");
    EVENTUALLY(finds(c, "error settings", "autovacuum is off for pgdisque.job"));
    run_sql("insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, body)"
            " select i, 'infinity', 'infinity', 999999, 1, '' from generate_series(1, 60000) as i");
    run_sql("delete from pgdisque.job where queue_id = 999999");
    EVENTUALLY(finds(c, "warning dead-rows", "pgdisque.job has 60000 dead rows"));
    run_sql("alter table pgdisque.job reset (autovacuum_enabled)");
    run_sql("vacuum pgdisque.job");
}

/* The catalogue says that the table is as old as it would be after as many transactions. */
static void test_wraparound(void **state) {
    char *was =
        postgres_query(conninfo, "select relfrozenxid from pg_class where oid = 'pgdisque.secret'::regclass");

    (void)state;
    run_sql("update pg_class set relfrozenxid = ((txid_current() + 4294967296 - 1500000000) % "
            "4294967296)::text::xid"
            " where oid = 'pgdisque.secret'::regclass");
    EVENTUALLY(finds(c, "error wraparound", "table pgdisque.secret: its oldest transaction is 15000"));
    assert_true(finds(c, "error wraparound", "vacuum (freeze, verbose) pgdisque.secret"));
    run_sql(text_of("update pg_class set relfrozenxid = '%s' where oid = 'pgdisque.secret'::regclass", was));
    free(was);
}

/* ---- indexes ---- */

static void test_indexes(void **state) {
    char *definition = postgres_query(conninfo, "select pg_get_indexdef('pgdisque.job_wake'::regclass)");

    (void)state;
    run_sql("drop index pgdisque.job_wake");
    assert_true(finds(c, "error indexes", "pgdisque.job_wake of pgdisque.job is missing"));
    run_sql(definition);
    free(definition);
    run_sql("create index mine on pgdisque.job (owner)");
    assert_true(finds(c, "warning indexes", "pgdisque.mine of pgdisque.job is not the server's"));
    run_sql("update pg_index set indisvalid = false where indexrelid = 'pgdisque.mine'::regclass");
    assert_true(finds(c, "warning indexes", "drop index pgdisque.mine"));
    run_sql("drop index pgdisque.mine");
    run_sql("update pg_index set indisvalid = false where indexrelid = 'pgdisque.job_wake'::regclass");
    assert_true(finds(c, "error indexes", "reindex index concurrently pgdisque.job_wake"));
    run_sql("reindex index pgdisque.job_wake");
}

/* ---- settings ---- */

static void check_setting(const char *name, const char *finding) {
    run_sql(text_of("alter system set %s = off", name));
    run_sql("select pg_reload_conf()");
    EVENTUALLY(finds(c, "error settings", finding));
    run_sql(text_of("alter system reset %s", name));
    run_sql("select pg_reload_conf()");
    EVENTUALLY(complaints(c) == 0);
}

static void test_settings(void **state) {
    (void)state;
    check_setting("fsync", "fsync is off");
    check_setting("full_page_writes", "full_page_writes is off");
    check_setting("autovacuum", "autovacuum is off:");
    check_setting("track_counts", "track_counts is off");
}

static void test_durability(void **state) {
    (void)state;
    run_sql("alter role postgres set synchronous_commit = off");
    EVENTUALLY(finds(c, "warning settings", "the server sets it to on for itself"));
    expect(c, "+OK", "CONFIG SET durability async");
    EVENTUALLY(complaints(c) == 0);
    expect(c, "+OK", "CONFIG SET durability remote-flush");
    run_sql("alter role postgres reset synchronous_commit");
}

static void test_absent_standbys(void **state) {
    (void)state;
    run_sql("alter system set synchronous_standby_names = 'FIRST 1 (\"absent\", other)'");
    run_sql("select pg_reload_conf()");
    EVENTUALLY(finds(c, "error standbys", "commits wait for 1 synchronous standbys, and 0 are connected"));
    expect(c, "+OK", "CONFIG SET durability local");
    EVENTUALLY(finds(c, "note settings", "does not wait for them"));
    expect(c, "+OK", "CONFIG SET durability remote-flush");
    run_sql("alter system reset synchronous_standby_names");
    run_sql("select pg_reload_conf()");
}

static long long checkpoints_asked_for(void) {
    if (postgres_number(conninfo, "select current_setting('server_version_num')") >= 170000)
        return postgres_number(conninfo, "select num_requested from pg_stat_checkpointer");
    return postgres_number(conninfo, "select checkpoints_req from pg_stat_bgwriter");
}

/* Restarts end with checkpoints as well. These need no advice. */
static void test_checkpoints(void **state) {
    (void)state;
    run_sql("alter system set max_wal_size = '32MB'");
    run_sql("select pg_reload_conf()");
    for (int i = 0; i < 14; i++)
        run_sql("checkpoint");
    EVENTUALLY(checkpoints_asked_for() >= 14);
    assert_false(finds(c, "warning checkpoints", ""));
    run_sql("create table heavy (text text)");
    run_sql("insert into heavy select repeat(md5(n::text), 50) from generate_series(1, 180000) as n");
    EVENTUALLY(finds(c, "warning checkpoints", "max_wal_size (32MB)"));
    run_sql("drop table heavy");
    run_sql("alter system reset max_wal_size");
    run_sql("select pg_reload_conf()");
    run_sql("select pg_stat_reset_shared(case when current_setting('server_version_num')::integer >= 170000"
            " then 'checkpointer' else 'bgwriter' end)");
}

static void test_connections(void **state) {
    PGconn *others[14];

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        others[i] = postgres_connect(conninfo);
    EVENTUALLY(finds(c, "warning connections", "of 21 connections are in use"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        PQfinish(others[i]);
}

/* ---- servers ---- */

static void test_dead_server(void **state) {
    struct server other;

    (void)state;
    server_start(&other, conninfo, NULL);
    assert_false(finds(c, "note servers", "has not left"));
    server_kill(&other);
    EVENTUALLY(finds(c, "note servers", text_of(":%d, number", other.port)));
    server_resume(&other);
    assert_int_equal(server_stop(&other), 0);
    EVENTUALLY(!finds(c, "note servers", "has not left"));
}

static void test_few_files(void **state) {
    struct server poor;
    redisContext *p;

    (void)state;
    server_spawn_limited(&poor, conninfo, NULL, 200);
    server_wait_ready(&poor);
    p = client_open_on(&poor);
    assert_true(finds(p, "warning files", "allows 136 clients; maxclients was 10000"));
    redisFree(p);
    assert_int_equal(server_stop(&poor), 0);
}

/* A role with few rights sees in the report which checks it cannot run, and the results of all others. */
static void test_few_rights(void **state) {
    static const char *const options[] = { "--doctor-patience", "0", NULL };
    const char *admin = postgres_conninfo(&examined, "postgres");
    PGconn *other;
    struct server poor;
    redisContext *p;

    (void)state;
    free(postgres_query(admin, "create role curious login"));
    free(postgres_query(admin, "create database curious owner curious"));
    server_start(&poor, forever(text_of("host=%s user=curious dbname=curious", examined.dir)), options);
    p = client_open_on(&poor);
    EVENTUALLY(complaints(p) == 0);
    assert_true(finds(p, "note rights", "role curious"));
    assert_false(finds(p, "note", "this check failed"));
    other = postgres_connect(postgres_conninfo(&examined, "curious"));
    PQclear(PQexec(other, "begin isolation level repeatable read; select txid_current()"));
    EVENTUALLY(finds(p, "warning held-back", text_of("process %d (user postgres", PQbackendPID(other))));
    assert_true(finds(p, "warning held-back", "since a time not visible"));
    PQfinish(other);
    free(postgres_query(postgres_conninfo(&examined, "curious"), "revoke all on pgdisque.job from curious"));
    EVENTUALLY(finds(p, "note ready-jobs", "this check failed: permission denied"));
    free(postgres_query(postgres_conninfo(&examined, "curious"), "grant all on pgdisque.job to curious"));
    redisFree(p);
    assert_int_equal(server_stop(&poor), 0);
}

/* ---- the command ---- */

/* Several clients share a report. A client that disconnects does not end it for the others. */
static void test_many_at_once(void **state) {
    struct wire gone;
    redisContext *other = client_open_on(&doctor);

    (void)state;
    for (int i = 0; i < 20; i++) {
        raw_open_on(&gone, &doctor);
        wire_words(&gone, "DOCTOR", NULL);
        later(c, "DOCTOR LINES");
        later(other, "DOCTOR");
        later(other, "PING");
        wire_reset(&gone);
        assert_memory_equal(next_reply(other), "\"", 1);
        expect_next(other, "+PONG");
        assert_memory_equal(next_reply(c), "\"", 1);
    }
    redisFree(other);
}

static void test_without_database(void **state) {
    (void)state;
    postgres_stop(&examined, true);
    EVENTUALLY(finds(c, "error connection", "cannot be reached"));
    postgres_resume(&examined);
    EVENTUALLY(strcmp(server_ping(&doctor), "+PONG") == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, connect_client, is_well)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_well),
        TEST(test_users_without_a_password),
        TEST(test_queues_without_figures),
        TEST(test_jobs_under_way),
        TEST(test_open_transaction),
        TEST(test_prepared_transaction),
        TEST(test_inactive_slot),
        TEST(test_dead_rows),
        TEST(test_wraparound),
        TEST(test_indexes),
        TEST(test_settings),
        TEST(test_durability),
        TEST(test_absent_standbys),
        TEST(test_checkpoints),
        TEST(test_connections),
        TEST(test_dead_server),
        TEST(test_few_files),
        TEST(test_few_rights),
        TEST(test_many_at_once),
        TEST(test_without_database),
    };

    return RUN_SUITE_WITH("doctor", tests, group_start, group_stop);
}
