/* Code of other roles never runs with our rights: hostile operators, schemas, triggers and owners. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "pg/migrate.h"

#define PIN "set local search_path = pg_catalog, pg_temp;"

static PGconn *owner, *mallory;

/* ---- a hostile role ---- */

/* mallory has the rights that every role has before Postgres 15. */
static void make_mallory(const char *conninfo) {
    owner = postgres_connect(conninfo);
    sql(owner, "do $$ begin create role mallory login; exception when duplicate_object then null; end $$");
    sql(owner, "grant create on schema public to public");
    mallory = postgres_connect(text_of("%s user=mallory", conninfo));
}

static void done(PGconn *conn, const char *statement) {
    const char *result = sql(conn, "%s", statement);

    if (strncmp(result, "error", 5) == 0)
        fail_msg("%s: %s", statement, result);
}

/* Functions and operators that fit our expressions better than those of pg_catalog. */
static void lay_traps(void) {
    static const char *const operators[][3] = {
        { "smallint, integer", "integer", "&" },
        { "bigint, interval", "interval", "*" },
        { "integer, interval", "interval", "*" },
        { "bigint, bigint", "bigint", "|" },
    };

    done(mallory, "create table public.loot (who text, what text); grant all on public.loot to public;"
                  "create function public.format(text, integer, integer) returns text language plpgsql as $$ "
                  "begin insert into public.loot values (current_user, 'format'); "
                  "return pg_catalog.format($1, $2, $3); end $$;"
                  "create function public.least(integer, bigint) returns integer language plpgsql as $$ "
                  "begin insert into public.loot values (current_user, 'least'); return $1; end $$");
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        const char *const *o = operators[i];
        const char *comma = strchr(o[0], ',');
        int left = (int)(comma - o[0]);

        done(mallory,
             text_of("create function public.trap%zu(%s) returns %s language plpgsql as $$ begin "
                     "insert into public.loot values (current_user, 'operator %s'); return null; end $$;"
                     "create operator public.%s (leftarg = %.*s, rightarg = %s, function = public.trap%zu)",
                     i, o[0], o[1], o[2], o[2], left, o[0], comma + 2, i));
    }
}

/* The text without the settings of search_path, as earlier versions ran it. */
static const char *unpinned(const char *text) {
    char *copy = strdup(text), *at;
    const char *kept;

    while ((at = strstr(copy, PIN)))
        memset(at, ' ', strlen(PIN));
    while ((at = strstr(copy, "set search_path = pg_catalog, pg_temp")))
        memset(at, ' ', strlen("set search_path = pg_catalog, pg_temp"));
    kept = text_of("%s", copy);
    free(copy);
    return kept;
}

/* ---- required properties ---- */

static void nothing_of_mallorys_ran(void) {
    assert_string_equal(sql(owner, "select who, what from public.loot"), "");
}

static void nothing_depends_on_others(void) {
    assert_string_equal(sql(owner, "%s", sql_migrate_foreign), "");
    assert_string_equal(sql(owner, "%s", sql_migrate_trust), "");
}

/* Runs all functions as an application, and as a superuser who reads the tables. */
static void everything_is_used(void) {
    static const char *const uses[] = {
        "select * from pgdisque.add_job('q', 'x', retry => 30, backoff => 2)",
        "select * from pgdisque.add_job('q', 'x', delay => 30, priority => 3, group_key => null)",
        "select * from pgdisque.get_jobs('q')",
        "select pgdisque.working(array(select id from pgdisque.jobs))",
        "select pgdisque.nack_jobs(array(select id from pgdisque.jobs))",
        "select * from pgdisque.jobs",
        "select * from pgdisque.dead",
        "select * from pgdisque.done",
        "select * from pgdisque.queues",
        "select * from pgdisque.nodes",
        "select * from pgdisque.workers",
        "select pgdisque.ack_jobs(array(select id from pgdisque.jobs))",
    };

    done(owner, "set search_path = public");
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        done(owner, uses[i]);
    done(owner, "reset search_path");
}

static void is_clean_after_migrating(void) {
    assert_null(migrate(owner));
    everything_is_used();
    nothing_of_mallorys_ran();
    nothing_depends_on_others();
}

static const char *refusal(void) {
    PGconn *conn = postgres_connect(postgres_conninfo(&pg, PQdb(owner)));
    const char *text = migrate(conn);

    PQfinish(conn);
    return text ? text : "";
}

static void is_refused(const char *finding) {
    const char *text = refusal();

    if (strstr(text, finding) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text, finding);
}

static int forget(void **state) {
    (void)state;
    PQfinish(mallory);
    PQfinish(owner);
    return 0;
}

/* ---- search_path ---- */

static void a_fresh_install_in_a_poisoned_database(void **state) {
    (void)state;
    make_mallory(postgres_conninfo(&pg, NULL));
    lay_traps();
    is_clean_after_migrating();
}

/* Views that were made with the operators of others are made again. */
static void captured_views_are_made_again(void **state) {
    const char *text;

    (void)state;
    make_mallory(postgres_conninfo(&pg, NULL));
    assert_null(migrate(owner));
    lay_traps();
    text = unpinned(sql_api);
    done(owner, text_of("begin; set local search_path = public; %s; commit", text));
    assert_string_not_equal(sql(owner, "%s", sql_migrate_foreign), "");
    done(owner, "truncate public.loot; delete from pgdisque.api");
    is_clean_after_migrating();
}

/* A default, which nothing makes again after its migration, is told of. */
static void remaining_captures_are_refused(void **state) {
    (void)state;
    make_mallory(postgres_conninfo(&pg, NULL));
    assert_null(migrate(owner));
    done(mallory, "create function public.two() returns integer language sql as $$ select 2 $$");
    done(owner, "alter table pgdisque.job alter column retry set default public.two()");
    is_refused("default value for column retry of table pgdisque.job uses function public.two()");
    done(owner, "alter table pgdisque.job alter column retry drop default");
    assert_string_equal(refusal(), "");
}

/* No function, internal ones included, finds names by the search_path of its caller. */
static void functions_are_pinned_or_bound(void **state) {
    (void)state;
    make_mallory(postgres_conninfo(&pg, NULL));
    assert_null(migrate(owner));
    assert_string_equal(sql(owner,
                            "select proname from pg_proc where pronamespace = 'pgdisque'::regnamespace "
                            "and prosqlbody is null "
                            "and not 'search_path=pg_catalog, pg_temp' = any (coalesce(proconfig, '{}'))"),
                        "");
}

/* ---- trust ---- */

static void a_schema_of_another_role_is_refused(void **state) {
    const char *conninfo = postgres_conninfo(&pg, NULL);
    PGconn *shop;

    (void)state;
    make_mallory(conninfo);
    done(owner, text_of("grant create on database %s to mallory", PQdb(owner)));
    done(mallory, "create schema pgdisque; create table pgdisque.migration (version integer primary key, "
                  "name text, breaking boolean, applied_at timestamptz); "
                  "create table public.loot (who text, what text); grant all on public.loot to public;"
                  "create function pgdisque.steal() returns trigger language plpgsql as $$ begin "
                  "insert into public.loot values (current_user, 'trigger'); return new; end $$;"
                  "create trigger steal before insert on pgdisque.migration for each row "
                  "execute function pgdisque.steal()");
    is_refused("schema pgdisque belongs to role mallory");
    nothing_of_mallorys_ran();
    /* A role that is no superuser, either. */
    done(owner, "do $$ begin create role shop login; exception when duplicate_object then null; end $$");
    shop = postgres_connect(text_of("%s user=shop", conninfo));
    assert_non_null(strstr(migrate(shop), "belongs to role mallory"));
    PQfinish(shop);
    nothing_of_mallorys_ran();
}

static void foreign_objects_are_refused(void **state) {
    static const struct {
        const char *cause, *finding, *cure;
    } cases[] = {
        { "grant create on schema pgdisque to mallory", "role mallory may create objects in schema pgdisque",
          "revoke create on schema pgdisque from mallory" },
        { "grant create on schema pgdisque to public", "role public may create objects in schema pgdisque",
          "revoke create on schema pgdisque from public" },
        { "create function pgdisque.other() returns void language sql as ''; "
          "alter function pgdisque.other() owner to mallory",
          "function other belongs to role mallory", "drop function pgdisque.other()" },
        { "create table pgdisque.more (); alter table pgdisque.more owner to mallory",
          "relation more belongs to role mallory", "drop table pgdisque.more" },
        { "create trigger watch before update on pgdisque.job for each row "
          "execute function suppress_redundant_updates_trigger()",
          "table pgdisque.job has trigger watch", "drop trigger watch on pgdisque.job" },
        { "create rule quiet as on delete to pgdisque.job do instead nothing", "pgdisque.job has rule quiet",
          "drop rule quiet on pgdisque.job" },
        { "create policy sight on pgdisque.queue", "table pgdisque.queue has policy sight",
          "drop policy sight on pgdisque.queue" },
    };

    (void)state;
    make_mallory(postgres_conninfo(&pg, NULL));
    assert_null(migrate(owner));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        done(owner, cases[i].cause);
        is_refused(cases[i].finding);
        is_refused("schema pgdisque is not trusted");
        done(owner, cases[i].cure);
        assert_string_equal(refusal(), "");
    }
}

/* ---- trusted roles ---- */

static const char *refusal_as(const char *role) {
    PGconn *conn = postgres_connect(text_of("%s user=%s", postgres_conninfo(&pg, PQdb(owner)), role));
    const char *text = migrate(conn);

    PQfinish(conn);
    return text ? text : "";
}

static void roles_of_the_owner_are_trusted(void **state) {
    (void)state;
    make_mallory(postgres_conninfo(&pg, NULL));
    done(owner, "do $$ begin create role keeper login; create role member login in role keeper; "
                "create role served login; exception when duplicate_object then null; end $$");
    done(owner, text_of("grant create on database %s to keeper", PQdb(owner)));
    assert_string_equal(refusal_as("keeper"), "");
    assert_string_equal(refusal_as("member"), "");
    /* A superuser is a member of all roles. This alone makes no role trusted. */
    is_refused("schema pgdisque belongs to role keeper");
    assert_non_null(strstr(refusal_as("served"), "schema pgdisque belongs to role keeper"));
    done(owner, "grant pgdisque_server to served");
    assert_string_equal(refusal_as("served"), "");
    done(owner, "revoke pgdisque_server from served");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_fresh_install_in_a_poisoned_database, forget),
        cmocka_unit_test_teardown(captured_views_are_made_again, forget),
        cmocka_unit_test_teardown(remaining_captures_are_refused, forget),
        cmocka_unit_test_teardown(functions_are_pinned_or_bound, forget),
        cmocka_unit_test_teardown(a_schema_of_another_role_is_refused, forget),
        cmocka_unit_test_teardown(foreign_objects_are_refused, forget),
        cmocka_unit_test_teardown(roles_of_the_owner_are_trusted, forget),
    };

    return run_sql_suite("trust", tests, sizeof(tests) / sizeof(tests[0]));
}
