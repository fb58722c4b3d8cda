/* Commands over job IDs: whose jobs a statement did something with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fake_db.h"
#include "job_ids.h"

#define MOST 8

static struct task *tasks[MOST];
static size_t count;

static void command(size_t ids_count, const int64_t *keys) {
    struct req *r = req_new(0, NULL, NULL, req_free);
    struct job_ids *ids = req_alloc(r, sizeof *ids + ids_count * sizeof *ids->keys);

    ids->count = ids_count;
    for (size_t i = 0; i < ids_count; i++)
        ids->keys[i] = (struct job_key){ 1, 0, keys[i] };
    r->data = ids;
    assert_true(count < MOST);
    tasks[count++] = &r->task;
}

#define COMMAND(...) command(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ })

/* The statement returns these; text: the hits of each command. */
static void count_hits(size_t rows, const int64_t *ids, const char *expected) {
    PGresult *res = fake_rows(2);
    char text[64] = "";
    size_t len = 0;

    for (size_t i = 0; i < rows; i++) {
        fake_set_int(res, (int)i, 0, 8, ids[i]);
        fake_set_int(res, (int)i, 1, 8, 0);
    }
    job_ids_count_hits(tasks, count, res);
    PQclear(res);
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", i > 0 ? " " : "",
                                (int)job_ids(REQ_OF_TASK(tasks[i]))->hits);
    assert_string_equal(text, expected);
}

#define HITS(expected, ...) \
    count_hits(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ }, expected)

static int stop(void **state) {
    (void)state;
    while (count > 0)
        req_end(REQ_OF_TASK(tasks[--count]));
    return 0;
}

static void test_all_hit(void **state) {
    (void)state;
    COMMAND(5);
    COMMAND(9, 2, 7);
    COMMAND(INT64_MAX);
    HITS("1 3 1", 7, 9, INT64_MAX, 5, 2);
}

static void test_none_hit(void **state) {
    (void)state;
    COMMAND(5);
    COMMAND(9, 2);
    count_hits(0, NULL, "0 0");
}

static void test_some_are_missing(void **state) {
    (void)state;
    COMMAND(9, 2, 7);
    COMMAND(5);
    COMMAND(1, 10);
    HITS("2 0 1", 10, 9, 2);
}

static void test_each_alone_is_missing(void **state) {
    for (int64_t missing = 1; missing <= 4; missing++) {
        int64_t there[3];
        char expected[8];
        size_t rows = 0;

        COMMAND(4, 1);
        COMMAND(3, 2);
        for (int64_t id = 4; id > 0; id--)
            if (id != missing)
                there[rows++] = id;
        snprintf(expected, sizeof expected, "%d %d", missing == 1 || missing == 4 ? 1 : 2,
                 missing == 2 || missing == 3 ? 1 : 2);
        count_hits(rows, there, expected);
        stop(state);
    }
}

/* A job can be removed once: it counts once. */
static void test_twice_in_one_command(void **state) {
    (void)state;
    COMMAND(5, 5);
    COMMAND(6);
    HITS("1 1", 6, 5);
}

/* The command that came first has it. */
static void test_in_two_commands(void **state) {
    (void)state;
    COMMAND(6);
    COMMAND(7, 5);
    COMMAND(5, 8);
    COMMAND(5, 5);
    HITS("1 2 1 0", 5, 6, 7, 8);
}

static void test_in_two_commands_and_not_there(void **state) {
    (void)state;
    COMMAND(5);
    COMMAND(5, 6);
    HITS("0 1", 6);
}

#define TEST(fn) cmocka_unit_test_teardown(fn, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_all_hit),
        TEST(test_none_hit),
        TEST(test_some_are_missing),
        TEST(test_each_alone_is_missing),
        TEST(test_twice_in_one_command),
        TEST(test_in_two_commands),
        TEST(test_in_two_commands_and_not_there),
    };

    return cmocka_run_group_tests_name("job IDs", tests, NULL, NULL);
}
