/* Patterns of queue names: syntax, matches, turns, and forgotten patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/glob.h"
#include "config/config.h"
#include "net/long_work.h"
#include "queue/pattern_index.h"
#include "queue/queue_ready.h"
#include "random.h"

/* ---- a clock that stands, in place of clock.c ---- */

static int64_t now = US_PER_S;

void clock_turn(void) {
}

int64_t clock_mono(void) {
    return now;
}

int64_t clock_unix(void) {
    return now;
}

int64_t clock_db(void) {
    return now;
}

int64_t clock_mono_now(void) {
    return now;
}

int64_t clock_sync_db(int64_t db_us, int64_t asked_mono_us, int64_t answered_mono_us) {
    (void)db_us;
    (void)asked_mono_us;
    (void)answered_mono_us;
    return 0;
}

static int start(void **state) {
    (void)state;
    queue_init();
    return 0;
}

static void forget_globs(void) {
    now += 61 * US_PER_S;
    patterns_forget_unused();
    assert_int_equal(patterns_count(), 0);
}

static int stop(void **state) {
    (void)state;
    QUEUE_EACH(q)
    queue_drop(q);
    forget_globs();
    return 0;
}

static struct queue *ready_queue(const char *name) {
    struct queue *q = queue_get(slice_str(name));

    q->scan.may_have_more = true;
    queue_signal(q);
    return q;
}

static void empty(struct queue *q) {
    q->scan.may_have_more = false;
}

static bool has_budget(struct queue *q) {
    return queue_budget(q) > 0;
}

static bool nothing(struct queue *q) {
    (void)q;
    return false;
}

static const char *next(struct queue_pattern *g) {
    struct queue *q = pattern_find(g, has_budget);

    if (q == NULL)
        return "none";
    pattern_served(g, q);
    return q->name.ptr;
}

#define assert_next(g, name) assert_memory_equal(next(g), name, strlen(name))

static struct queue_pattern *pattern_of_all(struct slice text) {
    return pattern_use(text, NULL, 0);
}

/* ---- names ---- */

static void test_syntax_of_patterns(void **state) {
    (void)state;
    assert_true(glob_is_pattern(SLICE("*")));
    assert_true(glob_is_pattern(SLICE("a?")));
    assert_true(glob_is_pattern(SLICE("a\\\\*")));
    assert_true(glob_is_pattern(SLICE("\\**")));
    assert_false(glob_is_pattern(SLICE("a\\*\\?")));
    assert_false(glob_is_pattern(SLICE("a[b]")));
    assert_false(glob_is_pattern(SLICE("")));
    assert_false(glob_is_pattern(SLICE("a\\")));
    assert_true(glob_is_special(SLICE("a\\*")));
    assert_false(glob_is_special(SLICE("a\\b[c]")));
}

static void assert_unescapes(const char *name, const char *want) {
    char out[32];
    size_t len = glob_unescape(slice_str(name), out);

    assert_int_equal(len, strlen(want));
    assert_memory_equal(out, want, len);
}

static void test_unescape(void **state) {
    (void)state;
    assert_unescapes("a\\*b\\?", "a*b?");
    assert_unescapes("c:\\\\dir\\*", "c:\\dir*");
    assert_unescapes("\\*\\", "*\\");
}

/* ---- turns ---- */

static void test_in_turn_however_deep(void **state) {
    struct queue_pattern *g;

    (void)state;
    ready_queue("t:a")->counters.len = 1000;
    ready_queue("other");
    g = pattern_of_all(SLICE("t:*"));
    ready_queue("t:b");
    ready_queue("t:c");
    for (int i = 0; i < 3; i++) {
        assert_next(g, "t:a");
        assert_next(g, "t:b");
        assert_next(g, "t:c");
    }
    empty(queue_find(SLICE("t:b")));
    assert_next(g, "t:a");
    assert_next(g, "t:c");
    ready_queue("t:b");
    assert_next(g, "t:a");
    assert_next(g, "t:b");
    pattern_leave(g);
}

/* A pattern tests an empty queue again when the queue gets a job. */
static void test_queues_that_go_empty(void **state) {
    struct queue_pattern *g = pattern_of_all(SLICE("?"));
    struct queue *q = ready_queue("a");

    (void)state;
    empty(q);
    assert_next(g, "none");
    q->scan.may_have_more = true;
    assert_next(g, "none");
    queue_signal(q);
    assert_next(g, "a");
    empty(q);
    queue_work(q)->claims.rows = 1;
    assert_null(pattern_find(g, nothing));
    queue_work(q)->claims.rows = 0;
    q->scan.may_have_more = true;
    assert_next(g, "a");
    q->scan.may_have_more = false;
    pattern_leave(g);
}

static void test_queues_come_and_go(void **state) {
    struct queue_pattern *g = pattern_of_all(SLICE("q*"));
    uint32_t slot;
    struct queue *q = ready_queue("q1");

    (void)state;
    slot = q->slot;
    assert_next(g, "q1");
    queue_drop(q);
    assert_next(g, "none");
    q = ready_queue("x");
    assert_int_equal(q->slot, slot);
    assert_next(g, "none");
    assert_false(patterns_wait_for(q));
    pattern_leave(g);
}

/* Any set of patterns and queues, against comparing all with all. */
static void test_many(void **state) {
    struct queue_pattern *patterns[200];
    char text[32];

    (void)state;
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, i % 3 == 0 ? "%d*" : i % 3 == 1 ? "*%d" : "?%d*", i);
        patterns[i] = pattern_of_all(slice_str(text));
        for (int k = 0; k < 10; k++) {
            snprintf(text, sizeof text, "%u", (unsigned)random_below(3000));
            ready_queue(text);
        }
    }
    for (int i = 0; i < 200; i++) {
        size_t want = 0, got = 0;
        const struct queue *first = pattern_find(patterns[i], has_budget), *q = first;

        QUEUE_EACH(other)
        want += glob_match(patterns[i]->text, other->name, false);
        for (; q != NULL && (got == 0 || q != first); q = pattern_find(patterns[i], has_budget)) {
            assert_true(glob_match(patterns[i]->text, q->name, false));
            pattern_served(patterns[i], q);
            got++;
        }
        assert_int_equal(got, want);
        pattern_leave(patterns[i]);
    }
}

/* ---- waiting clients ---- */

static void test_waiting_clients(void **state) {
    struct queue_pattern *a = pattern_of_all(SLICE("q*")), *b = pattern_of_all(SLICE("*1"));
    struct queue *q1 = ready_queue("q1"), *q2 = ready_queue("q2");
    uint32_t from = 0;

    (void)state;
    assert_false(patterns_wait_for(q1));
    pattern_set_waiting(b, true);
    assert_true(patterns_wait_for(q1) && !patterns_wait_for(q2));
    pattern_set_waiting(a, true);
    a->waiter_count = 3;
    b->waiter_count = 4;
    assert_int_equal(patterns_waiters(q1), 7);
    assert_int_equal(patterns_waiters(q2), 3);
    assert_ptr_equal(patterns_next_waiting(q1, &from), a);
    assert_ptr_equal(patterns_next_waiting(q1, &from), b);
    assert_null(patterns_next_waiting(q1, &from));
    pattern_set_waiting(a, false);
    pattern_set_waiting(b, false);
    assert_false(patterns_wait_for(q1));
    pattern_leave(a);
    pattern_leave(b);
}

/* ---- patterns come and go ---- */

static void test_clients_share_a_pattern(void **state) {
    struct queue_pattern *g = pattern_of_all(SLICE("*"));

    (void)state;
    assert_ptr_equal(pattern_of_all(SLICE("*")), g);
    pattern_leave(g);
    now += 61 * US_PER_S;
    patterns_forget_unused();
    assert_int_equal(patterns_count(), 1);
    pattern_leave(g);
    patterns_forget_unused();
    assert_int_equal(patterns_count(), 1);
    assert_ptr_equal(pattern_of_all(SLICE("*")), g);
    pattern_leave(g);
    forget_globs();
}

static void test_there_is_a_limit(void **state) {
    static struct queue_pattern *all[PATTERNS_MAX];
    char text[32];

    (void)state;
    ready_queue("0");
    for (int i = 0; i < PATTERNS_MAX; i++) {
        snprintf(text, sizeof text, "%d*", i);
        all[i] = pattern_of_all(slice_str(text));
        assert_non_null(all[i]);
    }
    assert_null(pattern_of_all(SLICE("one more*")));
    assert_ptr_equal(pattern_of_all(SLICE("7*")), all[7]);
    pattern_leave(all[7]);
    pattern_leave(all[5]);
    all[5] = pattern_of_all(SLICE("?"));
    assert_next(all[5], "0");
    assert_int_equal(patterns_count(), PATTERNS_MAX);
    for (int i = 0; i < PATTERNS_MAX; i++)
        pattern_leave(all[i]);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

/* ---- very many queues ---- */

#define MANY_QUEUES 20000

static int times_settled;

static void count_settled(struct queue_pattern *g) {
    (void)g;
    times_settled++;
}

static void make_queues(bool with_jobs) {
    char name[32];

    for (int i = 0; i < MANY_QUEUES; i++) {
        snprintf(name, sizeof name, "many-%d", i);
        if (with_jobs)
            ready_queue(name);
        else
            (void)queue_get(slice_str(name));
    }
}

/* Nothing is compared, and no bits are kept, for queues that never had a job. */
static void test_queues_without_jobs_cost_nothing(void **state) {
    struct queue_pattern *g = pattern_of_all(SLICE("many-*"));

    (void)state;
    make_queues(false);
    assert_int_equal(g->words, 0);
    QUEUE_EACH(q)
    assert_null(q->matches.patterns);
    ready_queue("many-7");
    assert_next(g, "many-7");
    assert_non_null(queue_find(SLICE("many-7"))->matches.patterns);
    pattern_leave(g);
}

static void test_settled_in_steps(void **state) {
    struct queue_pattern *first, *second;

    (void)state;
    patterns_on_settled(count_settled);
    times_settled = 0;
    make_queues(true);
    first = pattern_of_all(SLICE("many-1999?"));
    second = pattern_of_all(SLICE("*-19998"));
    assert_false(pattern_is_settled(first));
    assert_int_equal(times_settled, 0);
    while (!pattern_is_settled(first))
        long_works_turn();
    while (!pattern_is_settled(second))
        long_works_turn();
    assert_int_equal(times_settled, 2);
    assert_false(long_works_pending());
    assert_next(first, "many-19990");
    assert_next(first, "many-19991");
    assert_next(second, "many-19998");
    pattern_leave(first);
    pattern_leave(second);
    patterns_on_settled(NULL);
}

/* ---- users ---- */

static struct user *user_with(const char *name, const char *rule) {
    const struct slice rules[] = { SLICE("on"), SLICE("resetkeys"), SLICE("+@all"), slice_str(rule) };
    size_t bad;

    assert_int_equal(user_set(slice_str(name), rules, 4, &bad), RULE_OK);
    return user_find(slice_str(name));
}

static struct queue_pattern *use_by(struct user *u, const char *text) {
    return pattern_use(slice_str(text), u, 0);
}

static void settle_all(void) {
    while (long_works_pending())
        long_works_turn();
}

/* The number with zeros before it, as a name or the end of a pattern. */
static const char *padded(const char *before, int width, int number) {
    static char text[66000];

    snprintf(text, sizeof text, "%s%0*d", before, width, number);
    return text;
}

#define LONG_PATTERNS 100
#define LAST_PATTERN (LONG_PATTERNS - 1)

/* A name of 64 KB takes milliseconds for each pattern. Shorter names do not wait for it. */
static void test_long_names_in_steps(void **state) {
    struct queue_pattern *of[LONG_PATTERNS];
    struct queue *longest, *shorter, *dropped;

    (void)state;
    for (int i = 0; i < LONG_PATTERNS; i++)
        of[i] = pattern_of_all(slice_str(padded("*", 900, i)));
    pattern_set_waiting(of[LAST_PATTERN], true);
    longest = ready_queue(padded("", 65000, LAST_PATTERN));
    dropped = ready_queue(padded("", 64000, LAST_PATTERN));
    shorter = ready_queue(padded("", 1000, LAST_PATTERN));
    assert_int_equal(longest->matched, NAME_IN_STEPS);
    assert_int_equal(dropped->matched, NAME_IN_STEPS);
    assert_null(queue_next_signalled());
    while (shorter->matched != NAME_MATCHED) {
        assert_int_equal(longest->matched, NAME_IN_STEPS);
        long_works_turn();
    }
    assert_ptr_equal(queue_next_signalled(), shorter);
    assert_int_equal(ready_queue("x")->matched, NAME_MATCHED);
    queue_drop(dropped);
    settle_all();
    assert_ptr_equal(queue_next_signalled(), longest);
    assert_null(queue_next_signalled());
    assert_true(pattern_has(of[LAST_PATTERN], longest) && !pattern_has(of[0], longest));
    pattern_set_waiting(of[LAST_PATTERN], false);
    for (int i = 0; i < LONG_PATTERNS; i++)
        pattern_leave(of[i]);
}

/* A pattern that is in use counts, an unused one gives way to another of the same user. */
static void test_a_user_has_a_bound(void **state) {
    struct user *u = user_with("bound", "~*"), *other = user_with("other", "~*");
    struct queue_pattern *all[PATTERNS_EACH], *idle = use_by(other, "idle*");
    char text[32];

    (void)state;
    pattern_leave(idle);
    for (int i = 0; i < PATTERNS_EACH; i++) {
        snprintf(text, sizeof text, "%d*", i);
        all[i] = use_by(u, text);
        assert_non_null(all[i]);
    }
    assert_null(use_by(u, "one more*"));
    assert_ptr_equal(use_by(u, "7*"), all[7]);
    pattern_leave(all[7]);
    idle = use_by(other, "idle*");
    assert_non_null(idle);
    pattern_leave(all[5]);
    all[5] = use_by(u, "one more*");
    assert_non_null(all[5]);
    assert_int_equal(u->patterns, PATTERNS_EACH);
    for (int i = 0; i < PATTERNS_EACH; i++)
        pattern_leave(all[i]);
    pattern_leave(idle);
    settle_all();
    forget_globs();
    assert_int_equal(u->patterns, 0);
}

static char settled_texts[256];

static void note_settled(struct queue_pattern *g) {
    strncat(settled_texts, g->text.ptr, g->text.len);
}

/* The pattern of a user does not wait for all patterns of another one. */
static void test_users_take_turns(void **state) {
    struct user *many = user_with("many", "~*"), *one = user_with("one", "~*");
    struct queue_pattern *all[6];

    (void)state;
    make_queues(true);
    patterns_on_settled(note_settled);
    settled_texts[0] = '\0';
    for (int i = 0; i < 4; i++)
        all[i] = use_by(many, (const char *[]){ "a*", "b*", "c*", "d*" }[i]);
    all[4] = use_by(one, "e*");
    all[5] = pattern_of_all(SLICE("f*"));
    settle_all();
    assert_string_equal(settled_texts, "a*e*f*b*c*d*");
    for (int i = 0; i < 6; i++)
        pattern_leave(all[i]);
    patterns_on_settled(NULL);
}

/* No queue matches before the pattern is compared with the new rights. Other users go on. */
static void test_rights_change(void **state) {
    struct user *u = user_with("changes", "~many-1*"), *other = user_with("stays", "~*");
    struct queue_pattern *g, *of_other;
    struct queue *q;
    uint32_t from = 0;

    (void)state;
    make_queues(true);
    g = use_by(u, "many-*7");
    of_other = use_by(other, "many-*7");
    settle_all();
    pattern_set_waiting(g, true);
    assert_next(g, "many-17");
    assert_next(of_other, "many-7");
    q = queue_find(SLICE("many-17"));
    (void)user_with("changes", "~many-2*");
    (void)user_with("stays", "~*");
    patterns_rights_changed();
    assert_true(pattern_is_settled(of_other) && !pattern_is_settled(g));
    assert_next(of_other, "many-17");
    assert_next(g, "none");
    assert_false(pattern_has(g, q));
    assert_null(patterns_next_waiting(q, &from));
    settle_all();
    assert_false(pattern_has(g, q));
    assert_next(g, "many-27");
    pattern_set_waiting(g, false);
    assert_true(user_remove(SLICE("changes")));
    patterns_rights_changed();
    settle_all();
    assert_next(g, "none");
    pattern_leave(g);
    pattern_leave(of_other);
}

/* The client disconnects before the match is known. */
static void test_forgotten_before_it_is_settled(void **state) {
    struct queue_pattern *g;

    (void)state;
    make_queues(true);
    g = pattern_of_all(SLICE("many-1*"));
    assert_false(pattern_is_settled(g));
    pattern_leave(g);
    forget_globs();
    long_works_turn();
    assert_false(long_works_pending());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_syntax_of_patterns),
        TEST(test_unescape),
        TEST(test_in_turn_however_deep),
        TEST(test_queues_that_go_empty),
        TEST(test_queues_come_and_go),
        TEST(test_many),
        TEST(test_waiting_clients),
        TEST(test_clients_share_a_pattern),
        TEST(test_there_is_a_limit),
        TEST(test_queues_without_jobs_cost_nothing),
        TEST(test_settled_in_steps),
        TEST(test_long_names_in_steps),
        TEST(test_forgotten_before_it_is_settled),
        TEST(test_a_user_has_a_bound),
        TEST(test_users_take_turns),
        TEST(test_rights_change),
    };

    random_start(4711);
    config_defaults();
    users_init();
    return cmocka_run_group_tests_name("globs", tests, NULL, NULL);
}
