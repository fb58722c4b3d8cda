/* Runs the examples of doc/sql.md and compares their results with the document. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT "doc/sql.md"
#define GIVES "-- gives: "

static PGconn *conn;
static char statement[16384];
static char *result;
static size_t compared;

static void run(void) {
    free(result);
    result = strdup(sql(conn, "%s", statement));
    if (strncmp(result, "error", 5) == 0)
        fail_msg("%s%s", statement, result);
    statement[0] = '\0';
}

static void compare(const char *want) {
    if (!result || strcmp(result, want) != 0)
        fail_msg("it gives %s, not %s", result ? result : "nothing", want);
    compared++;
}

/* A line of an example. */
static void take(char *line) {
    size_t len = strlen(line);

    if (strncmp(line, GIVES, strlen(GIVES)) == 0) {
        compare(line + strlen(GIVES));
        return;
    }
    if (strncmp(line, "--", 2) == 0)
        return;
    strcat(strcat(statement, line), "\n");
    if (len > 0 && line[len - 1] == ';')
        run();
}

static void examples_have_the_documented_results(void **state) {
    FILE *f = fopen(DOCUMENT, "r");
    char *line = NULL;
    size_t size = 0;

    (void)state;
    assert_non_null(f);
    while (getline(&line, &size, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "    ", 4) == 0)
            take(line + 4);
        else
            assert_string_equal(statement, "");
    }
    free(line);
    free(result);
    fclose(f);
    assert_true(compared > 10);
}

static void every_function_and_view_is_described(void **state) {
    FILE *f = fopen(DOCUMENT, "r");
    static char document[1 << 16];
    char *names, *rest;

    (void)state;
    assert_non_null(f);
    assert_in_range(fread(document, 1, sizeof document - 1, f), 1, sizeof document - 2);
    fclose(f);
    names = strdup(
        sql(conn, "select proname from pg_proc where pronamespace = 'pgdisque'::regnamespace and proname !~ "
                  "'^api_' union select relname from pg_class where relnamespace = "
                  "'pgdisque'::regnamespace and relkind = 'v'"));
    rest = names;
    for (const char *name; (name = strsep(&rest, "; "));)
        if (*name && !strstr(document, text_of("`%s(", name)) && !strstr(document, text_of("`%s`", name)))
            fail_msg("%s does not describe %s", DOCUMENT, name);
    free(names);
}

static int open_session(void **state) {
    (void)state;
    conn = postgres_connect(database_new());
    return 0;
}

static int close_session(void **state) {
    (void)state;
    PQfinish(conn);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(examples_have_the_documented_results, open_session, close_session),
        cmocka_unit_test_setup_teardown(every_function_and_view_is_described, open_session, close_session),
    };

    return run_sql_suite("sql_doc", tests, sizeof(tests) / sizeof(tests[0]));
}
