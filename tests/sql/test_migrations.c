/* Bringing a database's schema to this version: alone, twice, side by side, and refusing to. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "pg/migrate.h"

/* A migration under way. */
struct migration {
    PGconn *conn;
    struct migrate m;
    PGresult *last;
    enum migrate_status status;
};

static void answers(const char *conninfo, const char *want, const char *question) {
    char *got = postgres_query(conninfo, question);

    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
}

static const char *applied(const char *conninfo) {
    char *list = postgres_query(conninfo, "select string_agg(version || ' ' || name || ' ' || breaking, '; ' "
                                          "order by version) from pgdisque.migration");
    const char *kept = text_of("%s", list ? list : "");

    free(list);
    return kept;
}

/* The result of applied() for a database that is up to date. */
static const char *all_migrations(void) {
    const char *list = "";

    for (int i = 0; i < sql_migration_count; i++)
        list = text_of("%s%s%d %s %s", list, i ? "; " : "", sql_migrations[i].version, sql_migrations[i].name,
                       sql_migrations[i].breaking ? "true" : "false");
    return list;
}

/* Everything that the schema consists of, and when it was made. */
static const char *fingerprint(const char *conninfo) {
    char *print = postgres_query(
        conninfo,
        "select md5(string_agg(x, ',' order by x)) from ("
        "    select 'c' || c.oid || c.relname || c.relfilenode || c.xmin from pg_class as c "
        "    where c.relnamespace = 'pgdisque'::regnamespace "
        "    union all select 'm' || m::text || m.xmin from pgdisque.migration as m "
        "    union all select 's' || s::text || s.xmin from pgdisque.secret as s) as all_of_it (x)");
    const char *kept = text_of("%s", print);

    free(print);
    return kept;
}

static const char *migrate_over(const char *conninfo) {
    PGconn *conn = postgres_connect(conninfo);
    const char *refusal = migrate(conn);

    PQfinish(conn);
    return refusal;
}

/* ---- a single server ---- */

static void an_empty_database_gets_everything(void **state) {
    const char *conninfo = postgres_conninfo(&pg, NULL);

    (void)state;
    assert_null(migrate_over(conninfo));
    assert_true(sql_migration_count > 0);
    assert_string_equal(applied(conninfo), all_migrations());
    PQfinish(session_open(conninfo));
    answers(conninfo, "1", "select count(*) from pgdisque.secret where length(key) = 16");
}

static void a_second_run_changes_nothing(void **state) {
    const char *conninfo = postgres_conninfo(&pg, NULL);
    const char *before;

    (void)state;
    assert_null(migrate_over(conninfo));
    before = fingerprint(conninfo);
    assert_null(migrate_over(conninfo));
    assert_string_equal(fingerprint(conninfo), before);
    assert_string_equal(applied(conninfo), all_migrations());
}

static char *secret_of_new_database(void) {
    const char *conninfo = postgres_conninfo(&pg, NULL);

    assert_null(migrate_over(conninfo));
    return postgres_query(conninfo, "select key from pgdisque.secret");
}

static void two_databases_have_two_secrets(void **state) {
    char *first = secret_of_new_database(), *second = secret_of_new_database();

    (void)state;
    assert_string_not_equal(first, second);
    free(first);
    free(second);
}

/* The name of the database and its other contents have no effect. */
static void the_search_path_does_not_matter(void **state) {
    const char *conninfo = postgres_conninfo(&pg, NULL);
    char *name = postgres_query(conninfo, "select current_database()");

    (void)state;
    free(postgres_query(conninfo, text_of("create schema other; create table other.job (); "
                                          "create table other.queue (); create table public.migration (); "
                                          "alter database %s set search_path = other, public",
                                          name)));
    free(name);
    assert_null(migrate_over(conninfo));
    assert_string_equal(applied(conninfo), all_migrations());
    answers(conninfo, "2",
            "select count(*) from pg_class where relnamespace = 'other'::regnamespace and relkind = 'r'");
    PQfinish(session_open(conninfo));
}

/* Vacuum sleeps between the pages of every table that it visits: decision 8. */
static void no_vacuum_runs_without_sleep(void **state) {
    (void)state;
    answers(database_new(), "",
            "select string_agg(relname, ' ') from pg_class where relnamespace = 'pgdisque'::regnamespace "
            "and 'autovacuum_vacuum_cost_delay=0' = any (reloptions)");
}

/* ---- newer schemas ---- */

static void a_newer_breaking_schema_is_refused(void **state) {
    const char *conninfo = database_new(), *refusal, *want, *before;

    (void)state;
    free(postgres_query(conninfo, "insert into pgdisque.migration values (9998, 'later', false), "
                                  "(9999, 'breaks', true)"));
    before = fingerprint(conninfo);
    want = text_of("the schema in the database has version 9999 and this server understands up to %d: "
                   "use a newer pgdisque",
                   sql_migrations[sql_migration_count - 1].version);
    refusal = migrate_over(conninfo);
    assert_non_null(refusal);
    assert_string_equal(refusal, want);
    assert_string_equal(fingerprint(conninfo), before);
    /* A refused server does not keep others from migrating. */
    free(postgres_query(conninfo, "delete from pgdisque.migration where version = 9999"));
    assert_null(migrate_over(conninfo));
}

/* A table of Citus has an internal trigger of that name. Without Citus, the test makes both. */
static void tables_of_citus_are_refused(void **state) {
    const char *conninfo = database_new(), *refusal;

    (void)state;
    free(postgres_query(conninfo,
                        "do $$ begin if to_regproc('pg_catalog.citus_truncate_trigger') is null then "
                        "create function pg_catalog.citus_truncate_trigger() returns trigger "
                        "language plpgsql as 'begin return null; end'; end if; end $$;"
                        "create trigger distributed after truncate on pgdisque.job for each statement "
                        "execute function pg_catalog.citus_truncate_trigger();"
                        "set allow_system_table_mods = on;"
                        "update pg_trigger set tgisinternal = true where tgname = 'distributed'"));
    refusal = migrate_over(conninfo);
    assert_non_null(refusal);
    assert_non_null(
        strstr(refusal, "Citus manages 1 of the tables of schema pgdisque, and the server needs local"));
    free(postgres_query(conninfo, "update pg_trigger set tgisinternal = false where tgname = 'distributed';"
                                  "drop trigger distributed on pgdisque.job"));
    assert_null(migrate_over(conninfo));
}

/* The newer of two servers sets the functions, in either order of their connections. */
static void an_older_server_leaves_newer_functions(void **state) {
    const char *conninfo = database_new();
    const char *version = text_of("%d", sql_api_version);

    (void)state;
    answers(conninfo, version, "select version from pgdisque.api");
    free(postgres_query(conninfo, "update pgdisque.api set version = version + 1, digest = 'newer'; "
                                  "drop function pgdisque.wake(text[])"));
    assert_null(migrate_over(conninfo));
    answers(conninfo, "newer", "select digest from pgdisque.api");
    answers(conninfo, "0", "select count(*) from pg_proc where proname = 'wake'");
    free(postgres_query(conninfo, "update pgdisque.api set version = 0"));
    assert_null(migrate_over(conninfo));
    answers(conninfo, version, "select version from pgdisque.api");
    answers(conninfo, "1", "select count(*) from pg_proc where proname = 'wake'");
}

static void a_newer_schema_that_breaks_nothing_is_accepted(void **state) {
    const char *conninfo = database_new(), *before;

    (void)state;
    free(postgres_query(conninfo, "insert into pgdisque.migration values (9999, 'adds a column', false)"));
    before = fingerprint(conninfo);
    assert_null(migrate_over(conninfo));
    assert_string_equal(fingerprint(conninfo), before);
}

/* ---- rights ---- */

static void an_ordinary_role_can_do_it_all(void **state) {
    const char *conninfo = postgres_conninfo(&pg, NULL), *as_role;
    char *name = postgres_query(conninfo, "select current_database()");
    PGconn *conn;

    (void)state;
    free(postgres_query(conninfo, text_of("create role plain login nosuperuser nocreatedb nocreaterole; "
                                          "grant create on database %s to plain",
                                          name)));
    free(name);
    as_role = text_of("%s user=plain", conninfo);
    assert_null(migrate_over(as_role));
    assert_null(migrate_over(as_role));
    assert_string_equal(applied(conninfo), all_migrations());
    conn = session_open(as_role);
    assert_string_equal(sql(conn, "select current_user, usesuper from pg_user where usename = current_user"),
                        "plain f");
    assert_string_equal(CALL(conn, SQL_LOAD_NODES, NULL), "");
    assert_string_equal(CALL(conn, SQL_FLUSH_ALL, NULL), "");
    PQfinish(conn);
}

/* The schema may have been made beforehand, for a role that cannot. */
static void a_schema_made_beforehand_is_used(void **state) {
    const char *conninfo = postgres_conninfo(&pg, NULL);

    (void)state;
    free(postgres_query(conninfo, "create role guest login; create schema pgdisque authorization guest"));
    assert_null(migrate_over(text_of("%s user=guest", conninfo)));
    assert_string_equal(applied(conninfo), all_migrations());
}

/* ---- several servers at once ---- */

/* The owner of the connection waits longer for statements that may be slow. */
static void check_patience(const struct migrate *m) {
    bool is_slow = m->text == sql_api;

    for (int i = 0; i < sql_migration_count; i++)
        is_slow |= m->text == sql_migrations[i].text;
    assert_int_equal(m->may_be_slow, is_slow);
}

static void send_step(struct migration *g) {
    const struct migrate *m = &g->m;
    int sent = m->count > 0 ? PQsendQueryParams(g->conn, m->text, m->count, NULL, m->values, NULL, NULL, 0)
                            : PQsendQuery(g->conn, m->text);

    if (!sent)
        fail_msg("%s", PQerrorMessage(g->conn));
}

static void next_step(struct migration *g) {
    g->status = migrate_next(&g->m, g->last);
    PQclear(g->last);
    g->last = NULL;
    if (g->status != MIGRATE_SEND)
        return;
    check_patience(&g->m);
    send_step(g);
}

/* Waits for the whole reply of the migration. */
static void take_answer(struct migration *g) {
    PGresult *res;

    while ((res = PQgetResult(g->conn))) {
        if (PQresultStatus(res) == PGRES_FATAL_ERROR)
            fail_msg("%s", PQresultErrorMessage(res));
        PQclear(g->last);
        g->last = res;
    }
}

static void to_the_end(struct migration *g) {
    while (g->status == MIGRATE_SEND) {
        take_answer(g);
        next_step(g);
    }
    assert_int_equal(g->status, MIGRATE_DONE);
    PQfinish(g->conn);
}

static void side_by_side(const char *conninfo) {
    struct migration first = { .conn = postgres_connect(conninfo) };
    struct migration second = { .conn = postgres_connect(conninfo) };

    next_step(&first);
    take_answer(&first);
    next_step(&second);
    assert_true(waits_for_lock(second.conn));
    next_step(&first);
    to_the_end(&first);
    to_the_end(&second);
    assert_string_equal(applied(conninfo), all_migrations());
    answers(conninfo, "1", "select count(*) from pgdisque.secret");
}

static void two_servers_at_once_both_succeed(void **state) {
    (void)state;
    side_by_side(postgres_conninfo(&pg, NULL));
}

/* A transaction that sees the database as it was when it began would do it all again. */
static void also_where_transactions_are_serializable(void **state) {
    const char *conninfo = postgres_conninfo(&pg, NULL);
    char *name = postgres_query(conninfo, "select current_database()");

    (void)state;
    free(postgres_query(
        conninfo, text_of("alter database %s set default_transaction_isolation = 'serializable'", name)));
    free(name);
    side_by_side(conninfo);
}

/* A server that died half-way, with its connection, has done nothing. */
static void unfinished_migrations_are_undone(void **state) {
    const char *conninfo = postgres_conninfo(&pg, NULL);
    struct migration exhausted = { .conn = postgres_connect(conninfo) };

    (void)state;
    for (int step = 0; step < 3; step++) {
        next_step(&exhausted);
        take_answer(&exhausted);
    }
    PQclear(exhausted.last);
    PQfinish(exhausted.conn);
    EVENTUALLY(postgres_number(conninfo, "select count(*) from pg_locks where locktype = 'advisory'") == 0);
    answers(conninfo, "0", "select count(*) from pg_namespace where nspname = 'pgdisque'");
    assert_null(migrate_over(conninfo));
    assert_string_equal(applied(conninfo), all_migrations());
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_database_gets_everything),
        cmocka_unit_test(a_second_run_changes_nothing),
        cmocka_unit_test(two_databases_have_two_secrets),
        cmocka_unit_test(the_search_path_does_not_matter),
        cmocka_unit_test(no_vacuum_runs_without_sleep),
        cmocka_unit_test(a_newer_breaking_schema_is_refused),
        cmocka_unit_test(tables_of_citus_are_refused),
        cmocka_unit_test(an_older_server_leaves_newer_functions),
        cmocka_unit_test(a_newer_schema_that_breaks_nothing_is_accepted),
        cmocka_unit_test(an_ordinary_role_can_do_it_all),
        cmocka_unit_test(a_schema_made_beforehand_is_used),
        cmocka_unit_test(two_servers_at_once_both_succeed),
        cmocka_unit_test(also_where_transactions_are_serializable),
        cmocka_unit_test(unfinished_migrations_are_undone),
    };

    return run_sql_suite("migrations", tests, sizeof(tests) / sizeof(tests[0]));
}
