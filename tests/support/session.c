/* Database sessions set up like the server's, for the SQL suites. */
#include "session.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pg/migrate.h"

#define OID_BYTEA 17
#define OID_TIMESTAMPTZ 1184

/* ---- the program ---- */

int run_sql_suite(const char *name, const struct CMUnitTest *tests, size_t count) {
    const char *filter = getenv("PGDISQUE_TEST_FILTER");
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (filter && *filter)
        cmocka_set_test_filter(filter);
    setenv("PGOPTIONS", "-c client_min_messages=warning", 1);
    postgres_start(&pg);
    failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    postgres_stop(&pg, true);
    return failed ? 1 : 0;
}

/* ---- the notation ---- */

/* test.put() and test.jobs(): jobs from their notation, and all jobs in it. */
static const char notation[] =
    "create schema test;"

    "create function test.at(t text) returns timestamptz language sql as $$"
    "  select case when t = 'infinity' then t::timestamptz else ('" DAY " ' || t)::timestamptz end $$;"

    "create procedure test.put(jobs text) language sql as $$"
    "  insert into pgdisque.job (queue_id, rank, id, ready_at, expires_at, wake_at, retry, delay,"
    "                            deliveries, nacks, additional_deliveries, replicate, owner, body,"
    "                            attempts, backoff, leased_at, deadqueue, error, unique_key, headers, "
    "progress, errors)"
    "  select split_part(key, '/', 1)::integer, split_part(key, '/', 2)::smallint, split_part(key, '/', "
    "3)::bigint,"
    "         test.at(coalesce(f ->> 'ready', '11:00:00')), test.at(coalesce(f ->> 'expires', '13:00:00')),"
    "         test.at(f ->> 'wake'), coalesce((f ->> 'retry')::integer, 60), coalesce((f ->> "
    "'delay')::integer, 0),"
    "         coalesce((f ->> 'deliveries')::integer, 0), coalesce((f ->> 'nacks')::integer, 0),"
    "         coalesce((f ->> 'additional_deliveries')::integer, 0), coalesce((f ->> 'replicate')::smallint, "
    "1),"
    "         (f ->> 'owner')::smallint, coalesce(f ->> 'body', 'x')::bytea,"
    "         (f ->> 'attempts')::integer, (f ->> 'backoff')::integer, test.at(f ->> 'leased'),"
    "         (f ->> 'deadqueue')::bytea, (f ->> 'error')::bytea, (f ->> 'key')::bytea,"
    "         (f ->> 'headers')::jsonb, (f ->> 'progress')::jsonb, (f ->> 'errors')::jsonb"
    "  from string_to_table(jobs, '; ') as line,"
    "       lateral split_part(line, ' ', 1) as key,"
    "       lateral (select coalesce(jsonb_object_agg(split_part(w, '=', 1), split_part(w, '=', 2)), '{}')"
    "                from string_to_table(line, ' ') as w where w like '%=%') as fields (f) $$;"

    "create function test.field(name text, value text, usual text) returns text language sql as $$"
    "  select case when value is distinct from usual"
    "              then name || '=' || regexp_replace(value, '^" DAY " (.*)[+]00$', '\\1') end $$;"

    "create function test.metadata(headers jsonb, progress jsonb, errors jsonb) returns text language sql as "
    "$$"
    "  select nullif(concat_ws(' ', 'headers=' || replace(headers::text, ' ', ''),"
    "      'progress=' || replace(progress::text, ' ', ''), case when not errors @> '[{\"error\": \"the "
    "lease ended\"}]' then 'errors=' || replace(errors::text, ' ', '') end), "
    "'') $$;"

    "create function test.jobs() returns text language sql as $$"
    "  select string_agg(concat_ws(' ', concat_ws('/', queue_id, rank, id),"
    "      test.field('ready', ready_at::text, '" DAY " 11:00:00+00'),"
    "      test.field('expires', expires_at::text, '" DAY " 13:00:00+00'),"
    "      test.field('wake', wake_at::text, null), test.field('retry', retry::text, '60'),"
    "      test.field('delay', delay::text, '0'), test.field('deliveries', deliveries::text, '0'),"
    "      test.field('nacks', nacks::text, '0'), test.field('additional_deliveries', "
    "additional_deliveries::text, '0'),"
    "      test.field('replicate', replicate::text, '1'), test.field('owner', owner::text, null),"
    "      test.field('body', encode(body, 'escape'), 'x'), test.field('attempts', attempts::text, null),"
    "      test.field('backoff', backoff::text, null), test.field('leased', leased_at::text, null),"
    "      test.field('deadqueue', encode(deadqueue, 'escape'), null),"
    "      test.field('error', encode(error, 'escape'), null), test.metadata(headers, progress, errors)),"
    "      '; ' order by queue_id, rank, id)"
    "  from pgdisque.job $$;"

    "create procedure test.die(jobs text) language sql as $$"
    "  call test.put(jobs);"
    "  with gone as (delete from pgdisque.job where attempts is not null returning *)"
    "  insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, "
    "additional_deliveries,"
    "                             attempts, backoff, rank, replicate, error, unique_key, body,"
    "                             headers, progress, errors)"
    "  select id, ready_at, expires_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries, "
    "attempts, backoff,"
    "         rank, replicate, error, unique_key, body, headers, progress, errors from gone $$;"

    "create function test.dead() returns text language sql as $$"
    "  select coalesce(string_agg(concat_ws(' ', concat_ws('/', queue_id, rank, id),"
    "      test.field('died', died_at::text, '" DAY " 11:00:00+00'),"
    "      test.field('expires', expires_at::text, '" DAY " 13:00:00+00'),"
    "      test.field('retry', retry::text, '60'), test.field('delay', delay::text, '0'),"
    "      test.field('deliveries', deliveries::text, '0'), test.field('nacks', nacks::text, '0'),"
    "      test.field('additional_deliveries', additional_deliveries::text, '0'), test.field('replicate', "
    "replicate::text, '1'),"
    "      test.field('body', encode(body, 'escape'), 'x'), test.field('attempts', attempts::text, null),"
    "      test.field('backoff', backoff::text, null),"
    "      test.field('error', encode(error, 'escape'), null),"
    "      test.field('key', encode(unique_key, 'escape'), null), test.metadata(headers, progress, errors)), "
    "'; ' order by queue_id, rank, id), '')"
    "  from pgdisque.dead_job $$;";

const char *with_day(const char *text) {
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    const char *kept;

    for (; *text; text++)
        if (*text == '@')
            fputs(DAY "T", f);
        else
            fputc(*text, f);
    fclose(f);
    kept = text_of("%s", out);
    free(out);
    return kept;
}

/* ---- results as text ---- */

static void print_bytes(FILE *f, const char *hex) {
    size_t len;
    unsigned char *bytes = PQunescapeBytea((const unsigned char *)hex, &len);

    fputc('"', f);
    for (size_t i = 0; i < len; i++)
        fprintf(f, isprint(bytes[i]) ? "%c" : "\\x%02x", bytes[i]);
    fputc('"', f);
    PQfreemem(bytes);
}

/* Prints the time of day without the date if the date is DAY. */
static void print_time(FILE *f, const char *value) {
    size_t day = strlen(DAY " "), zone = strlen("+00");

    if (strncmp(value, DAY " ", day) == 0)
        fprintf(f, "%.*s", (int)(strlen(value) - day - zone), value + day);
    else
        fputs(value, f);
}

static void print_value(FILE *f, const PGresult *res, int row, int col) {
    const char *value = PQgetvalue(res, row, col);

    if (PQgetisnull(res, row, col))
        fputc('-', f);
    else if (PQftype(res, col) == OID_BYTEA)
        print_bytes(f, value);
    else if (PQftype(res, col) == OID_TIMESTAMPTZ)
        print_time(f, value);
    else
        fputs(value, f);
}

static char *row_text(const PGresult *res, int row) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    for (int col = 0; col < PQnfields(res); col++) {
        fputs(col ? " " : "", f);
        print_value(f, res, row, col);
    }
    fclose(f);
    return text;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *rows_text(const PGresult *res, bool sorted) {
    int count = PQntuples(res);
    char **lines = calloc((size_t)count + 1, sizeof(*lines));
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    const char *kept;

    for (int i = 0; i < count; i++)
        lines[i] = row_text(res, i);
    if (sorted)
        qsort(lines, (size_t)count, sizeof(*lines), compare_texts);
    for (int i = 0; i < count; i++) {
        fprintf(f, "%s%s", i ? "; " : "", lines[i]);
        free(lines[i]);
    }
    fclose(f);
    kept = text_of("%s", text);
    free(text);
    free(lines);
    return kept;
}

/* Takes the result. An error is said aloud, because its code alone does not tell much. */
static const char *result_text(PGresult *res, bool sorted) {
    ExecStatusType status = PQresultStatus(res);
    const char *text;

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        text = rows_text(res, sorted);
    } else {
        fprintf(stderr, "# %s\n", PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY));
        text = text_of("error %s", PQresultErrorField(res, PG_DIAG_SQLSTATE));
    }
    PQclear(res);
    return text;
}

/* ---- sessions ---- */

static PGresult *run_step(PGconn *conn, const struct migrate *m) {
    PGresult *res = m->count > 0 ? PQexecParams(conn, m->text, m->count, NULL, m->values, NULL, NULL, 0)
                                 : PQexec(conn, m->text);
    ExecStatusType status = PQresultStatus(res);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        fail_msg("migration: %s", PQresultErrorMessage(res));
    return res;
}

const char *migrate(PGconn *conn) {
    struct migrate m = { 0 };
    PGresult *last = NULL;
    enum migrate_status status;

    while ((status = migrate_next(&m, last)) == MIGRATE_SEND) {
        PQclear(last);
        last = run_step(conn, &m);
    }
    PQclear(last);
    return status == MIGRATE_DONE ? NULL : text_of("%s", m.error);
}

const char *database_new(void) {
    const char *conninfo = postgres_migrated(&pg);
    PGconn *conn = postgres_connect(conninfo);

    /* With Citus the database is empty. */
    if (migrate(conn))
        die("the database was refused");
    assert_string_equal(sql(conn, "%s", notation), "");
    PQfinish(conn);
    return conninfo;
}

static void prepare(PGconn *conn, const struct sql_text *stmt) {
    PGresult *res = PQprepare(conn, stmt->name, stmt->text, 0, NULL);

    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        die("%s does not prepare: %s", stmt->name, PQresultErrorMessage(res));
    PQclear(res);
}

PGconn *session_open(const char *conninfo) {
    PGconn *conn = postgres_connect(conninfo);
    const char *set = sql(conn, "%s", sql_session);

    if (strncmp(set, "error", 5) == 0)
        die("the settings of a session: %s", set);
    /* Tests see that a statement waits, and for which lock. */
    (void)sql(conn, "set lock_timeout = 0");
    for (int i = 0; i < SQL_COUNT; i++)
        prepare(conn, &sql_texts[i]);
    return conn;
}

const char *sql(PGconn *conn, const char *fmt, ...) {
    char *text = NULL;
    va_list ap;
    PGresult *res;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        die("out of memory");
    va_end(ap);
    res = PQexec(conn, text);
    free(text);
    return result_text(res, false);
}

/* ---- tables ---- */

void tables_clear(PGconn *conn) {
    assert_string_equal(
        sql(conn,
            "truncate pgdisque.job, pgdisque.dead_job, pgdisque.library_value, pgdisque.queue, "
            "pgdisque.queue_counter, "
            "pgdisque.queue_setting, pgdisque.slot, pgdisque.bucket, pgdisque.job_group, pgdisque.node, "
            "pgdisque.schedule, pgdisque.commit_marker, "
            "pgdisque.unique_key, pgdisque.retained, pgdisque.queue_grant, pgdisque.flow_job, "
            "pgdisque.dependency, pgdisque.waiting_job, pgdisque.batch restart identity; alter sequence "
            "pgdisque.node_run "
            "restart"),
        "");
}

void jobs_put(PGconn *conn, const char *jobs) {
    assert_string_equal(sql(conn, "call test.put('%s')", jobs), "");
}

const char *jobs_now(PGconn *conn) {
    const char *jobs = sql(conn, "select test.jobs()");

    return strcmp(jobs, "-") == 0 ? "" : jobs;
}

/* ---- statements ---- */

static int parameters_of(enum sql_stmt stmt) {
    int most = 0, n;

    for (const char *at = sql_texts[stmt].text; (at = strchr(at, '$')) != NULL; at++)
        if (sscanf(at, "$%d", &n) == 1 && n > most)
            most = n;
    return most;
}

/* Parameters that a test does not name are null. */
static int expand(enum sql_stmt stmt, const char *const *params, const char *values[STATEMENT_PARAMS]) {
    int count = 0, needed = parameters_of(stmt);

    for (; params[count]; count++)
        values[count] = strcmp(params[count], "NULL") == 0 ? NULL : with_day(params[count]);
    for (; count < needed; count++)
        values[count] = NULL;
    return count;
}

static const char *execute(PGconn *conn, enum sql_stmt stmt, const char *const *params, bool sorted) {
    const char *values[STATEMENT_PARAMS];
    int count = expand(stmt, params, values);

    return result_text(PQexecPrepared(conn, sql_texts[stmt].name, count, values, NULL, NULL, 0), sorted);
}

const char *call(PGconn *conn, enum sql_stmt stmt, const char *const *params) {
    return execute(conn, stmt, params, false);
}

const char *call_sorted(PGconn *conn, enum sql_stmt stmt, const char *const *params) {
    return execute(conn, stmt, params, true);
}

void call_send(PGconn *conn, enum sql_stmt stmt, const char *const *params) {
    const char *values[STATEMENT_PARAMS];
    int count = expand(stmt, params, values);

    if (!PQsendQueryPrepared(conn, sql_texts[stmt].name, count, values, NULL, NULL, 0))
        fail_msg("%s: %s", sql_texts[stmt].name, PQerrorMessage(conn));
}

const char *call_result(PGconn *conn) {
    const char *text = NULL;
    PGresult *res;

    while ((res = PQgetResult(conn)))
        text = result_text(res, true);
    return text;
}

bool waits_for_lock(PGconn *conn) {
    const char *question =
        text_of("select coalesce(cardinality(pg_blocking_pids(%d)), 0)", PQbackendPID(conn));
    const char *any = postgres_conninfo(&pg, "postgres");

    return WAIT_UNTIL(postgres_number(any, question) > 0, EVENTUALLY_MS);
}
