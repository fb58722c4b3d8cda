/* Tables of tools: they fit a terminal of any width, and a long name does not widen each row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tools/records.h"

#define ID "D-464d85ff-qGLt1J/AetSg0mh14TfhqHCv-05a1"
#define LONG_NAME 60000

/* The last column has numbers. */
static const struct record_column figures[] = {
    { "queue", "QUEUE", RECORD_TEXT }, { "len", "LEN", RECORD_NUMBER },    { "oldest", "OLDEST", RECORD_MS },
    { "pause", "PAUSE", RECORD_TEXT }, { "idle", "IDLE", RECORD_SECONDS }, { "hidden", NULL, RECORD_NUMBER },
};
/* The last column has texts. */
static const struct record_column jobs[] = {
    { "id", "ID", RECORD_TEXT },           { "state", "STATE", RECORD_TEXT },
    { "created", "CREATED", RECORD_TEXT }, { "nacks", "NACKS", RECORD_NUMBER },
    { "body", "BODY", RECORD_TEXT },
};

static char *repeated(size_t len) {
    char *text = xcalloc(len + 1, 1);

    memset(text, 'x', len);
    return text;
}

static void add_figures(struct records *r, const char *name, double oldest_ms) {
    records_add_text(r, slice_str(name));
    records_add_number(r, 1234567);
    records_add_number(r, oldest_ms);
    records_add_text(r, SLICE("none"));
    records_add_number(r, 100000);
    records_add_number(r, 987654321);
}

static void add_job(struct records *r, const char *body) {
    records_add_text(r, SLICE(ID));
    records_add_text(r, SLICE("queued"));
    records_add_text(r, SLICE("2026-11-23T10:00:00Z"));
    records_add_number(r, 3);
    records_add_text(r, slice_str(body));
}

/* The caller frees the table. */
static char *table_of(const struct records *r, size_t columns) {
    struct buf out = { 0 };
    char *text;

    records_table(r, columns, SIZE_MAX, &out);
    text = slice_dup((struct slice){ buf_ptr(&out), buf_len(&out) });
    buf_free(&out);
    return text;
}

static size_t longest_line(const char *text) {
    size_t longest = 0;

    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1)
        longest = strcspn(at, "\n") > longest ? strcspn(at, "\n") : longest;
    return longest;
}

static void has(const struct records *r, size_t columns, const char *text, bool there) {
    char *table = table_of(r, columns);

    if ((strstr(table, text) != NULL) != there)
        fail_msg("\"%s\" with %zu columns: %s", text, columns, table);
    free(table);
}

/* ---- tests ---- */

static void test_any_width(void **state) {
    char *name = repeated(200);
    struct records a, b;

    (void)state;
    records_begin(&a, figures, LENGTH(figures));
    add_figures(&a, name, 12);
    add_figures(&a, "short", 86400000);
    records_begin(&b, jobs, LENGTH(jobs));
    add_job(&b, name);
    for (size_t columns = 10; columns < 300; columns++) {
        char *first = table_of(&a, columns), *second = table_of(&b, columns);

        if (longest_line(first) > columns || longest_line(second) > columns)
            fail_msg("%zu columns: %s%s", columns, first, second);
        free(first);
        free(second);
    }
    records_free(&a);
    records_free(&b);
    free(name);
}

/* Columns of figures are left out from the right. */
static void test_figures(void **state) {
    struct records r;

    (void)state;
    records_begin(&r, figures, LENGTH(figures));
    add_figures(&r, "mail", 850);
    has(&r, 80, "QUEUE      LEN  OLDEST  PAUSE   IDLE\nmail   1234567   850ms  none   1d 3h\n", true);
    has(&r, 80, "987654321", false);
    has(&r, 30, "IDLE", false);
    has(&r, 30, "QUEUE      LEN  OLDEST  PAUSE\n", true);
    has(&r, 15, "QUEUE      LEN\nmail   1234567\n", true);
    has(&r, 4, "QUEUE\nmail\n", true);
    records_free(&r);
}

/* The ID stays whole, and the body gets the rest. */
static void test_jobs(void **state) {
    char *body = repeated(200);
    struct records r;

    (void)state;
    records_begin(&r, jobs, LENGTH(jobs));
    add_job(&r, body);
    has(&r, 80, ID "  queued  xxxxxxxxxxxxxxxxxxxxxxxxxxx...\n", true);
    has(&r, 65, ID "  xxxxxxxxxxxxxxxxxxxx...\n", true);
    has(&r, 120, "CREATED               NACKS  BODY\n", true);
    has(&r, 0, body, true);
    records_free(&r);
    free(body);
}

/* A column without a title is only in JSON, wherever it is. */
static void test_columns_of_json(void **state) {
    static const struct record_column columns[] = {
        { "first", NULL, RECORD_TEXT },
        { "id", "ID", RECORD_TEXT },
        { "state", NULL, RECORD_TEXT },
        { "error", "ERROR", RECORD_TEXT },
    };
    struct buf json = { 0 };
    struct records r;

    (void)state;
    records_begin(&r, columns, LENGTH(columns));
    for (size_t i = 0; i < LENGTH(columns); i++)
        records_add_text(&r, slice_str(columns[i].name));
    has(&r, 0, "ID  ERROR\nid  error\n", true);
    has(&r, 40, "ID  ERROR\nid  error\n", true);
    records_json(&r, &json);
    buf_append(&json, "", 1);
    assert_string_equal(
        buf_ptr(&json),
        "[\n{\"first\":\"first\",\"id\":\"id\",\"state\":\"state\",\"error\":\"error\"}\n]\n");
    buf_free(&json);
    records_free(&r);
}

/* Outside a terminal a name does not fill each row with blanks. */
static void test_long_name_in_a_pipe(void **state) {
    char *name = repeated(LONG_NAME), *table;
    struct records r;

    (void)state;
    records_begin(&r, figures, LENGTH(figures));
    add_figures(&r, name, 0);
    add_figures(&r, "short", 0);
    table = table_of(&r, 0);
    assert_true(longest_line(table) < 120);
    assert_non_null(strstr(table, "xxx...  1234567"));
    free(table);
    records_free(&r);
    free(name);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_width),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_columns_of_json),
        cmocka_unit_test(test_long_name_in_a_pipe),
    };

    return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
