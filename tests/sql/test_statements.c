/* The result and the effect of each statement of sql/queries/, in a session without others. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attempts_cases.h"
#include "library_cases.h"
#include "metadata_cases.h"
#include "repair_cases.h"
#include "server_cases.h"
#include "statement_cases.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CASES                                                                              \
    (COUNT(cases) + COUNT(attempts_cases) + COUNT(library_cases) + COUNT(metadata_cases) + \
     COUNT(repair_cases) + COUNT(server_cases))

static PGconn *conn;

static const struct {
    const struct stmt_case *cases;
    size_t count;
} tables[] = {
    { cases, COUNT(cases) },
    { attempts_cases, COUNT(attempts_cases) },
    { library_cases, COUNT(library_cases) },
    { metadata_cases, COUNT(metadata_cases) },
    { repair_cases, COUNT(repair_cases) },
    { server_cases, COUNT(server_cases) },
};

static const struct stmt_case *case_at(size_t i) {
    size_t t = 0;

    for (; i >= tables[t].count; t++)
        i -= tables[t].count;
    return &tables[t].cases[i];
}

static void same_text(const char *got, const char *want, const char *what) {
    if (strcmp(got, want) != 0)
        fail_msg("%s\n     got: %s\n    want: %s", what, got, want);
}

static void prepare_case(const struct stmt_case *c) {
    tables_clear(conn);
    if (c->jobs)
        jobs_put(conn, c->jobs);
    if (c->setup)
        same_text(sql(conn, "%s", c->setup), "", "setup");
}

static void check_case(const struct stmt_case *c) {
    const char *rows;
    char *before;

    prepare_case(c);
    before = strdup(jobs_now(conn));
    rows = c->ordered ? call(conn, c->stmt, c->params) : call_sorted(conn, c->stmt, c->params);
    if (!c->rows || strcmp(c->rows, ANY) != 0)
        same_text(rows, c->rows ? c->rows : "", "result");
    if (!c->left || strcmp(c->left, ANY) != 0)
        same_text(jobs_now(conn), c->left ? c->left : before, "jobs afterwards");
    if (c->query)
        same_text(sql(conn, "%s", c->query), c->found, c->query);
    free(before);
}

static void run_case(void **state) {
    check_case(*state);
}

/* In queues without limits both statements of WORKING do the same. */
static void working_limited_passes_the_cases_of_working_jobs(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct stmt_case c = *case_at(i);

        if (c.stmt != SQL_WORKING_JOBS)
            continue;
        c.stmt = SQL_WORKING_LIMITED;
        check_case(&c);
    }
}

static void every_statement_has_a_case(void **state) {
    bool seen[SQL_COUNT] = { false };

    (void)state;
    for (size_t i = 0; i < CASES; i++)
        seen[case_at(i)->stmt] = true;
    for (int i = 0; i < SQL_COUNT; i++)
        if (!seen[i])
            fail_msg("sql/queries/%s.sql has no case", sql_texts[i].name);
}

/* The highest $n of a text, up to its end or to stop. */
static int highest_param(const char *text, const char *stop) {
    int highest = 0;

    for (const char *at = text; *at && at != stop; at++)
        if (*at == '$' && atoi(at + 1) > highest)
            highest = atoi(at + 1);
    return highest;
}

/* The C code relies on the header of a statement. */
static void every_header_names_all_parameters(void **state) {
    (void)state;
    for (int i = 0; i < SQL_COUNT; i++) {
        const char *text = sql_texts[i].text, *body = text;
        const char *like = strstr(text, "-- params: as ");

        while (strncmp(body, "--", 2) == 0)
            body = strchr(body, '\n') + 1;
        if (like && like < body)
            continue;
        if (body == text || highest_param(text, body) != highest_param(body, NULL))
            fail_msg("%s: the header names $1 to $%d, the statement has $1 to $%d", sql_texts[i].name,
                     highest_param(text, body), highest_param(body, NULL));
    }
}

/* The C code names columns by the enums that are made of the headers. */
static void every_header_names_all_columns(void **state) {
    (void)state;
    for (int i = 0; i < SQL_COUNT; i++) {
        PGresult *res = PQdescribePrepared(conn, sql_texts[i].name);
        char names[1024] = "";

        for (int column = 0; column < PQnfields(res); column++) {
            strcat(names, column > 0 ? "," : "");
            strcat(names, PQfname(res, column));
        }
        PQclear(res);
        same_text(names, sql_texts[i].columns, sql_texts[i].name);
    }
}

/* The clock statement does not return the time at which its transaction began. */
static void clock_goes_on(void **state) {
    char *first;

    (void)state;
    sql(conn, "begin");
    first = strdup(CALL(conn, SQL_CLOCK, NULL));
    assert_true(strlen(first) > strlen("2000-01-01 00:00"));
    assert_true(strcmp(CALL(conn, SQL_CLOCK, NULL), first) > 0);
    assert_string_equal(sql(conn, "select '%s' between now() and now() + interval '1 minute'", first), "t");
    sql(conn, "commit");
    free(first);
}

/* The server's sessions have their own settings, also if the database has others by default. */
static void settings_of_a_session_hold(void **state) {
    static const char *const wanted[][2] = {
        { "transaction_isolation", "read committed" },
        { "synchronous_commit", "on" },
        { "plan_cache_mode", "force_generic_plan" },
        { "search_path", "pg_catalog, pg_temp" },
        { "statement_timeout", "0" },
        { "bytea_output", "hex" },
        { "TimeZone", "UTC" },
        { "jit", "off" },
    };
    const char *conninfo = database_new();
    char *name = postgres_query(conninfo, "select current_database()");
    PGconn *own;

    (void)state;
    free(postgres_query(conninfo,
                        text_of("alter database %s set default_transaction_isolation = 'serializable';"
                                "alter database %s set timezone = 'Asia/Tokyo';"
                                "alter database %s set statement_timeout = '1s'",
                                name, name, name)));
    own = session_open(conninfo);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_string_equal(sql(own, "select current_setting('%s')", wanted[i][0]), wanted[i][1]);
    PQfinish(own);
    free(name);
}

static int open_database(void **state) {
    (void)state;
    if (!conn)
        conn = session_open(database_new());
    return 0;
}

int main(void) {
    static char names[CASES][160];
    static struct CMUnitTest tests[CASES + 6] = {
        [CASES] = cmocka_unit_test(every_statement_has_a_case),
        [CASES + 1] = cmocka_unit_test(every_header_names_all_parameters),
        [CASES + 2] = cmocka_unit_test_setup(clock_goes_on, open_database),
        [CASES + 3] = cmocka_unit_test(settings_of_a_session_hold),
        [CASES + 4] = cmocka_unit_test_setup(working_limited_passes_the_cases_of_working_jobs, open_database),
        [CASES + 5] = cmocka_unit_test_setup(every_header_names_all_columns, open_database),
    };
    int failed;

    for (size_t i = 0; i < CASES; i++) {
        snprintf(names[i], sizeof(names[i]), "%s: %s", sql_texts[case_at(i)->stmt].name, case_at(i)->what);
        tests[i] = (struct CMUnitTest){ names[i], run_case, open_database, NULL, (void *)case_at(i) };
    }
    failed = run_sql_suite("statements", tests, sizeof(tests) / sizeof(tests[0]));
    PQfinish(conn);
    return failed;
}
