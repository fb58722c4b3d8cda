/* Lists whose entries are in turn by user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/fair_list.h"
#include "random.h"

/* An entry has the name of its user and its number: "a1". The user s is the server. */
struct entry {
    struct fair_node node;
    char user;
    int number;
};

static struct fair_list list;
static struct fair_user users[2];
static struct entry entries[200];
static int made;

static int start(void **state) {
    (void)state;
    fair_list_init(&list);
    fair_user_free(&users[0]);
    fair_user_free(&users[1]);
    made = 0;
    return 0;
}

static struct fair_node *entry(char user, int number) {
    struct entry *e = &entries[made++];

    *e = (struct entry){ .user = user, .number = number };
    fair_node_init(&e->node);
    e->node.user = user == 's' ? NULL : &users[user - 'a'];
    return &e->node;
}

static struct fair_node *add(char user, int number) {
    struct fair_node *n = entry(user, number);

    fair_add(&list, n, 1);
    return n;
}

static const char *order(void) {
    static char text[1024];
    size_t len = 0;

    text[0] = '\0';
    LIST_EACH(node, &list.nodes) {
        const struct entry *e =
            CONTAINER_OF(LIST_ENTRY(node, struct fair_node, node), const struct entry, node);

        len +=
            (size_t)snprintf(text + len, sizeof text - len, "%s%c%d", len > 0 ? " " : "", e->user, e->number);
    }
    return text;
}

static void take(int count) {
    for (; count > 0; count--)
        fair_take(fair_first(&list));
}

static void test_one_user(void **state) {
    (void)state;
    add('a', 1);
    add('a', 2);
    add('a', 3);
    assert_string_equal(order(), "a1 a2 a3");
    take(3);
    assert_true(fair_list_is_empty(&list));
}

static void test_users_take_turns(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        add('a', i);
    add('b', 1);
    add('s', 1);
    add('b', 2);
    assert_string_equal(order(), "a1 b1 s1 a2 b2 a3");
    take(4);
    add('s', 2);
    assert_string_equal(order(), "b2 s2 a3");
    take(3);
}

/* A user that has had no entries for a time has gained no claim. */
static void test_a_late_user_begins_now(void **state) {
    (void)state;
    for (int i = 1; i <= 20; i++)
        add('a', i);
    take(16);
    for (int i = 1; i <= 3; i++)
        add('b', i);
    assert_string_equal(order(), "b1 a17 b2 a18 b3 a19 a20");
    take(7);
}

static void test_costs(void **state) {
    (void)state;
    fair_add(&list, entry('a', 1), 3);
    fair_add(&list, entry('a', 2), 3);
    for (int i = 1; i <= 5; i++)
        add('b', i);
    assert_string_equal(order(), "a1 b1 b2 b3 a2 b4 b5");
    take(7);
}

static void test_put_back_and_add_last(void **state) {
    struct fair_node *first = add('a', 1);

    (void)state;
    add('a', 2);
    add('b', 1);
    fair_take(first);
    fair_put_back(&list, first);
    assert_string_equal(order(), "a1 b1 a2");
    fair_take(first);
    fair_add_last(&list, first, 1);
    add('b', 2);
    assert_string_equal(order(), "b1 a2 b2 a1");
    add('a', 3);
    assert_string_equal(order(), "b1 a2 b2 a1 a3");
    take(5);
}

/* The next entry of the user stays behind the others. */
static void test_the_last_is_removed(void **state) {
    struct fair_node *last;

    (void)state;
    add('a', 1);
    add('b', 1);
    add('a', 2);
    last = add('a', 3);
    fair_remove(last);
    fair_remove(last);
    add('a', 4);
    add('b', 2);
    assert_string_equal(order(), "a1 b1 a2 b2 a4");
    take(5);
}

/* Whatever happens, the entries of a user keep their order, and the starts rise. */
static void test_any_changes(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        start(NULL);
        for (int i = 0; i < 200; i++) {
            fair_add(&list, entry("abs"[random_below(3)], i), 1 + random_below(5));
            if (random_below(3) == 0)
                fair_remove(&entries[random_below((uint64_t)made)].node);
            if (random_below(3) == 0 && !fair_list_is_empty(&list))
                take(1);
        }
        LIST_EACH(node, &list.nodes) {
            const struct fair_node *n = LIST_ENTRY(node, const struct fair_node, node);

            LIST_EACH(other, &list.nodes) {
                const struct fair_node *o = LIST_ENTRY(other, const struct fair_node, node);

                if (o == n)
                    break;
                assert_true(o->start <= n->start);
                assert_true(o->user != n->user || o < n);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_user, start),
        cmocka_unit_test_setup(test_users_take_turns, start),
        cmocka_unit_test_setup(test_a_late_user_begins_now, start),
        cmocka_unit_test_setup(test_costs, start),
        cmocka_unit_test_setup(test_put_back_and_add_last, start),
        cmocka_unit_test_setup(test_the_last_is_removed, start),
        cmocka_unit_test_setup(test_any_changes, start),
    };

    random_start(4712);
    return cmocka_run_group_tests_name("fair lists", tests, NULL, NULL);
}
