/* Cursors of JSCAN: each user has its own; old ones are forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/clock.h"
#include "commands/scan_cursors.h"

static struct user users[CURSOR_USERS_MAX + 3];

/* A user without places. */
static struct user *new_user(void) {
    static size_t count;

    users[count].refs = 1;
    clock_turn();
    return &users[count++];
}

static int64_t keep(struct user *u, int place) {
    return scan_cursor_new(u, &place, sizeof place);
}

static void expect_place(const struct user *u, int64_t cursor, int place) {
    const int *found = scan_cursor_find(u, cursor);

    assert_non_null(found);
    assert_int_equal(*found, place);
}

static void test_places_of_users(void **state) {
    struct user *a = new_user(), *b = new_user();
    int64_t of_a = keep(a, 1), of_b;

    (void)state;
    for (int i = 0; i < 2 * CURSORS_OF_USER; i++)
        of_b = keep(b, i);
    expect_place(a, of_a, 1);
    expect_place(b, of_b, 2 * CURSORS_OF_USER - 1);
    expect_place(b, of_b - CURSORS_OF_USER + 1, CURSORS_OF_USER);
    assert_null(scan_cursor_find(b, of_b - CURSORS_OF_USER));
    assert_null(scan_cursor_find(b, of_b + 1));
    assert_null(scan_cursor_find(a, of_b));
    assert_null(scan_cursor_find(a, 0));
    assert_null(scan_cursor_find(a, -1));
    assert_null(scan_cursor_find(NULL, of_a));
}

/* The first user uses its places again, so those of the second are forgotten. */
static void test_many_users(void **state) {
    struct user *first = new_user(), *second = new_user(), *last = NULL;
    int64_t of_first = keep(first, 1), of_second = keep(second, 2), of_last = 0;

    (void)state;
    assert_int_equal(second->refs, 2);
    while (second->refs == 2) {
        last = new_user();
        keep(first, 3);
        of_last = keep(last, 4);
    }
    assert_null(scan_cursor_find(second, of_second));
    expect_place(first, of_first, 1);
    expect_place(last, of_last, 4);
    assert_int_equal(first->refs, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_of_users),
        cmocka_unit_test(test_many_users),
    };

    return cmocka_run_group_tests_name("scan_cursors", tests, NULL, NULL);
}
