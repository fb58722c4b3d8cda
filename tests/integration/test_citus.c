/* A Citus cluster: each node has queues of its own, beside distributed tables. A distributed schema is refused. */
#include "tooling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "citus.h"

enum { COORDINATOR, WORKER, NODES };

static struct postgres coordinator, worker;
static struct postgres *const nodes[NODES] = { &coordinator, &worker };
static bool has_citus;
static const char *database[NODES]; /* of the cluster, at each node */
static struct server at_node[NODES];
static redisContext *client[NODES];

static long long count_at(int node, const char *sql) {
    return postgres_number(database[node], sql);
}

/* The servers make their schemas before the worker is added to the cluster. Both settings make Citus distribute new
 * schemas and tables. */
static int cluster_start(void **state) {
    const char *name;

    (void)state;
    has_citus = citus_is_installed(&pg);
    if (!has_citus) {
        printf("# Citus is not installed, so its tests are skipped\n");
        return 0;
    }
    for (int i = 0; i < NODES; i++)
        citus_start(nodes[i]);
    name = citus_database(nodes, NODES);
    for (int i = 0; i < NODES; i++) {
        database[i] = postgres_conninfo(nodes[i], name);
        free(postgres_query(database[i],
                            text_of("alter database %s set citus.enable_schema_based_sharding = on", name)));
        free(postgres_query(database[i],
                            text_of("alter database %s set citus.use_citus_managed_tables = on", name)));
        server_start(&at_node[i], database[i], NULL);
    }
    citus_add(&coordinator, name, &worker);
    free(postgres_query(database[COORDINATOR], "create table public.orders (id bigint primary key)"));
    free(postgres_query(database[COORDINATOR], "select create_distributed_table('public.orders', 'id')"));
    return 0;
}

static int cluster_stop(void **state) {
    int status = 0;

    (void)state;
    for (int i = 0; has_citus && i < NODES; i++) {
        status |= server_stop(&at_node[i]);
        postgres_stop(nodes[i], true);
    }
    return status;
}

static int clients_open(void **state) {
    (void)state;
    for (int i = 0; has_citus && i < NODES; i++)
        client[i] = client_open_on(&at_node[i]);
    return 0;
}

static int clients_close(void **state) {
    (void)state;
    for (int i = 0; has_citus && i < NODES; i++)
        redisFree(client[i]);
    return 0;
}

static void skip_without_citus(void) {
    if (!has_citus)
        skip();
}

/* ---- queues of a node ---- */

static void test_tables_are_local(void **state) {
    (void)state;
    skip_without_citus();
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(count_at(i, "select count(*) from pg_dist_partition"), 1);
        assert_int_equal(count_at(i, "select count(*) from pg_dist_schema"), 0);
    }
}

static void test_each_node_has_queues(void **state) {
    const char *id[NODES];

    (void)state;
    skip_without_citus();
    for (int i = 0; i < NODES; i++)
        id[i] = add_job(client[i], "own", text_of("%d", i), "");
    for (int i = 0; i < NODES; i++) {
        expect(client[i], ":1", "QLEN own");
        assert_string_equal(get_job(client[i], "own", text_of("%d", i)), id[i]);
        expect(client[i], ":1", "ACKJOB %s", id[i]);
    }
}

static void check_redelivery(redisContext *c) {
    const char *id = add_job(c, "again", "x", "RETRY 1");

    get_job(c, "again", "x");
    EVENTUALLY(number(c, "QLEN again") == 1);
    assert_string_equal(get_job(c, "again", "x"), id);
    expect(c, ":1", "NACK %s", id);
    get_job(c, "again", "x");
    expect(c, ":1", "ACKJOB %s", id);
}

static void check_dead_letter(redisContext *c) {
    const char *id = add_job(c, "poison", "x", "ATTEMPTS 1");

    get_job(c, "poison", "x");
    expect(c, ":1", "NACK %s", id);
    EVENTUALLY(strcmp(job_field(c, id, "state"), "dead") == 0);
    expect(c, ":1", "ENQUEUE %s", id);
    assert_string_equal(get_job(c, "poison", "x"), id);
}

static void check_schedule(redisContext *c) {
    assert_string_equal(ask(c, "SCHEDULE s %s ticks x", "@every 1s"), "+OK");
    EVENTUALLY(number(c, "QLEN ticks") >= 1);
    expect(c, ":1", "UNSCHEDULE s");
}

static void check_transaction(redisContext *c) {
    const char *id = add_job(c, "steps", "first", "");

    get_job(c, "steps", "first");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ACKJOB %s", id);
    expect(c, "+QUEUED", "ADDJOB steps second 0");
    expect_start(c, "[:1 +D-", "EXEC");
    expect(c, ":1", "QLEN steps");
    get_job(c, "steps", "second");
}

static void check_features(redisContext *c) {
    const char *kept = add_job(c, "kept", "x", "UNIQUE k GROUP g");

    assert_string_equal(ask(c, "ADDJOB kept y 0 UNIQUE k"), text_of("+%s", kept));
    expect(c, "+OK", "QCONFIG kept SET max-active 1");
    expect(c, "+OK", "QCONFIG kept SET retention 100");
    EVENTUALLY(number(c, "QLEN kept") == 1);
    get_job(c, "kept", "x");
    expect(c, ":1", "ACKJOB RESULT done %s", kept);
    EVENTUALLY(strcmp(job_field(c, kept, "state"), "done") == 0);
    expect(c, ":2", "RPUSH list a b");
    expect(c, "\"a\"", "LMOVE list other LEFT RIGHT");
}

static void test_commands(void **state) {
    (void)state;
    skip_without_citus();
    for (int i = 0; i < NODES; i++) {
        check_redelivery(client[i]);
        check_dead_letter(client[i]);
        check_schedule(client[i]);
        check_transaction(client[i]);
        check_features(client[i]);
    }
}

static void test_restart(void **state) {
    const char *id[NODES];

    (void)state;
    skip_without_citus();
    for (int i = 0; i < NODES; i++)
        id[i] = add_job(client[i], "restart", "x", "");
    clients_close(NULL);
    assert_int_equal(server_stop(&at_node[COORDINATOR]), 0);
    server_resume(&at_node[COORDINATOR]);
    server_kill(&at_node[WORKER]);
    postgres_stop(&worker, true);
    postgres_resume(&worker);
    server_resume(&at_node[WORKER]);
    clients_open(NULL);
    for (int i = 0; i < NODES; i++)
        assert_string_equal(get_job(client[i], "restart", "x"), id[i]);
}

/* A second server of the node takes over the lease of a killed one. */
static void test_second_server(void **state) {
    struct server second;
    const char *id;
    redisContext *c;

    (void)state;
    skip_without_citus();
    server_start(&second, database[WORKER], NULL);
    c = client_open_on(&second);
    id = add_job(c, "taken", "x", "RETRY 2");
    get_job(c, "taken", "x");
    redisFree(c);
    server_kill(&second);
    assert_non_null(strstr(ask(client[WORKER], "GETJOB TIMEOUT %d FROM taken", patience(EVENTUALLY_MS)), id));
    expect(client[WORKER], ":1", "ACKJOB %s", id);
}

/* ---- distributed tables beside the queues ---- */

/* Ten orders, in several shards, and a job, in one transaction. */
#define ORDER(end)                                                     \
    "begin; insert into public.orders select generate_series(1, 10); " \
    "select pgdisque.add_job('orders', 'new'); " end

static void test_transaction_with_distributed_table(void **state) {
    (void)state;
    skip_without_citus();
    for (int i = 0; i < NODES; i++) {
        free(postgres_query(database[i], ORDER("rollback")));
        assert_int_equal(count_at(i, "select count(*) from public.orders"), 0);
        expect(client[i], ":0", "QLEN orders");
        free(postgres_query(database[i], ORDER("commit")));
        assert_int_equal(count_at(i, "select count(*) from public.orders"), 10);
        get_job(client[i], "orders", "new");
        free(postgres_query(database[i], "delete from public.orders"));
    }
}

/* Commits of the coordinator wait for a standby with this name, or for none. */
static void wait_for_standby(const char *name) {
    free(postgres_query(database[COORDINATOR],
                        text_of("alter system set synchronous_standby_names = '%s'", name)));
    free(postgres_query(database[COORDINATOR], "select pg_reload_conf()"));
}

static int commits_release(void **state) {
    if (has_citus)
        wait_for_standby("");
    return clients_close(state);
}

/* A commit waits for the standby, or for an earlier commit with NOTIFY. */
static bool waits(PGconn *conn) {
    return count_at(COORDINATOR, text_of("select count(*) from pg_stat_activity where pid = %d"
                                         " and wait_event in ('SyncRep', 'object')",
                                         PQbackendPID(conn))) == 1;
}

/* Adds a job, whose commit waits. It adds another one if the checkpointer had not yet read the name of the standby. */
static bool is_held(PGconn *conn) {
    PGresult *res;

    PQconsumeInput(conn);
    while (!PQisBusy(conn) && (res = PQgetResult(conn)) != NULL)
        PQclear(res);
    return waits(conn) || (PQtransactionStatus(conn) == PQTRANS_IDLE &&
                           !PQsendQuery(conn, "select pgdisque.add_job('held', '')"));
}

static void run_on(PGconn *conn, const char *sql) {
    PGresult *res = PQexec(conn, sql);

    assert_string_equal(PQresultErrorMessage(res), "");
    PQclear(res);
}

/* Cancels a commit in its last step, where it waits for an earlier commit with NOTIFY. Returns the rows that are left. */
static long long rows_after_failed_commit(const char *statement) {
    PGconn *first = postgres_connect(database[COORDINATOR]),
           *second = postgres_connect(database[COORDINATOR]);
    PGcancel *cancel = PQgetCancel(second);
    PGresult *res;
    char error[256];

    wait_for_standby("none");
    EVENTUALLY(is_held(first));
    run_on(second, "begin");
    run_on(second, "insert into public.orders values (1)");
    run_on(second, statement);
    run_on(second, "select pgdisque.add_job('lost', 'new')");
    assert_true(PQsendQuery(second, "commit"));
    EVENTUALLY(waits(second));
    assert_true(PQcancel(cancel, error, sizeof error));
    res = PQgetResult(second);
    assert_int_equal(PQresultStatus(res), PGRES_FATAL_ERROR);
    PQclear(res);
    wait_for_standby("");
    PQfreeCancel(cancel);
    PQfinish(first);
    PQfinish(second);
    return count_at(COORDINATOR,
                    "with gone as (delete from public.orders returning 1) select count(*) from gone");
}

/* Citus commits rows of a single other node before the job. The statement of doc/scaling.md demands two-phase commit. */
static void test_two_phase_commit(void **state) {
    (void)state;
    skip_without_citus();
    assert_int_equal(rows_after_failed_commit("select 1"), 1);
    assert_int_equal(rows_after_failed_commit("insert into public.orders select 0 where false"), 0);
    expect(client[COORDINATOR], ":0", "QLEN lost");
}

/* ---- a distributed schema ---- */

#define QUIETLY "set client_min_messages = error; "

/* The advice of the refusal: back up, drop the schema, restore. */
static void check_way_back(const char *conninfo, struct server *s, const char *id) {
    char dir[PATH_SIZE];
    redisContext *c;

    path_join(dir, "%s/backup", scratch_dir());
    TOOLING(0, "tables are in", "backup", "--table", dir, "--database", conninfo, NULL);
    free(postgres_query(conninfo, QUIETLY "drop schema pgdisque cascade"));
    TOOLING(0, "equal the backup", "restore", "--table", dir, "--database", conninfo, NULL);
    server_resume(s);
    c = client_open_on(s);
    assert_string_equal(get_job(c, "kept", "x"), id);
    redisFree(c);
    assert_int_equal(server_stop(s), 0);
}

static void test_distributed_schema_is_refused(void **state) {
    const char *name, *conninfo, *id;
    struct server s;
    redisContext *c;

    (void)state;
    skip_without_citus();
    name = citus_database(nodes, NODES);
    citus_add(&coordinator, name, &worker);
    conninfo = postgres_conninfo(&coordinator, name);
    server_start(&s, conninfo, NULL);
    c = client_open_on(&s);
    id = add_job(c, "kept", "x", "");
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
    free(postgres_query(conninfo, QUIETLY "select citus_schema_distribute('pgdisque')"));
    for (int i = 0; i < NODES; i++) {
        struct server late;

        server_spawn(&late, postgres_conninfo(nodes[i], name), NULL);
        assert_true(server_refuses(&late, "Citus manages"));
    }
    check_way_back(conninfo, &s, id);
}

#define CLUSTER_TEST(f) cmocka_unit_test_setup_teardown(f, clients_open, clients_close)

int main(void) {
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(test_tables_are_local),
        CLUSTER_TEST(test_each_node_has_queues),
        CLUSTER_TEST(test_commands),
        CLUSTER_TEST(test_restart),
        CLUSTER_TEST(test_second_server),
        CLUSTER_TEST(test_transaction_with_distributed_table),
        cmocka_unit_test_setup_teardown(test_two_phase_commit, clients_open, commits_release),
        CLUSTER_TEST(test_distributed_schema_is_refused),
    };

    return RUN_SUITE_WITH("citus", tests, cluster_start, cluster_stop);
}
