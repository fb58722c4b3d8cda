/* Queues in memory: names and slots, the returned set, the scan position, budgets, signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "queue/queue.h"
#include "queue/queue_ready.h"
#include "random.h"

/* As queue_save_counters() takes the queue. */
static struct queue *next_dirty(void) {
    int64_t jobs_in, jobs_out;

    return queue_next_dirty(&jobs_in, &jobs_out);
}

static struct list waiter; /* only its presence counts */

static int start(void **state) {
    (void)state;
    queue_init();
    list_init(&waiter);
    return 0;
}

static int drop_all(void **state) {
    (void)state;
    QUEUE_EACH(q) {
        queue_drop(q);
    }
    assert_int_equal(queue_count(), 0);
    assert_int_equal(queue_shown(), 0);
    return 0;
}

static struct queue *open_queue(const char *name, int32_t id) {
    struct queue *q = queue_get(slice_str(name));

    queue_set_id(q, id);
    return q;
}

static struct job_key key_of(int16_t rank, int64_t id) {
    return (struct job_key){ 7, rank, id };
}

static bool same_key(struct job_key a, struct job_key b) {
    return a.queue_id == b.queue_id && a.rank == b.rank && a.id == b.id;
}

/* ---- names, ids, slots ---- */

static void test_names(void **state) {
    char name[] = "a\0b";
    struct queue *q = queue_get((struct slice){ name, 3 });

    (void)state;
    name[0] = '#';
    assert_ptr_equal(queue_find(SLICE("a\0b")), q);
    assert_ptr_equal(queue_get(SLICE("a\0b")), q);
    assert_null(queue_find(SLICE("a")));
    assert_null(queue_find(SLICE("a\0c")));
    assert_null(queue_find(SLICE("A\0b")));
    assert_null(queue_find(SLICE("")));
    assert_int_equal(queue_count(), 1);
    assert_int_equal(queue_get(SLICE(""))->name.len, 0);
    assert_int_equal(queue_count(), 2);
    assert_int_equal(q->name.len, 3);
    assert_memory_equal(q->name.ptr, "a\0b", 3);
}

static void test_long_names(void **state) {
    size_t len = 200000;
    char *name = malloc(len);
    struct queue *q;

    (void)state;
    memset(name, 'n', len);
    q = queue_get((struct slice){ name, len });
    assert_ptr_equal(queue_find((struct slice){ name, len }), q);
    assert_null(queue_find((struct slice){ name, len - 1 }));
    name[len - 1] = 'm';
    assert_null(queue_find((struct slice){ name, len }));
    free(name);
}

static void test_ids(void **state) {
    struct queue *a = queue_get(SLICE("a")), *b = queue_get(SLICE("b"));

    (void)state;
    assert_int_equal(a->id, 0);
    assert_null(queue_find_id(0));
    queue_set_id(a, 5);
    queue_set_id(b, INT32_MAX);
    assert_ptr_equal(queue_find_id(5), a);
    assert_ptr_equal(queue_find_id(INT32_MAX), b);
    queue_set_id(a, 6);
    assert_null(queue_find_id(5));
    assert_ptr_equal(queue_find_id(6), a);
    queue_set_id(a, 0);
    assert_null(queue_find_id(6));
    assert_null(queue_find_id(0));
    queue_drop(b);
    assert_null(queue_find_id(INT32_MAX));
}

static struct queue *numbered(int i) {
    char name[16];

    snprintf(name, sizeof name, "q%d", i);
    return queue_get(slice_str(name));
}

static void test_slots_are_reused(void **state) {
    struct queue *q[200];
    uint32_t slots;

    (void)state;
    for (int i = 0; i < 200; i++)
        q[i] = numbered(i);
    slots = queue_slots();
    for (int i = 0; i < 200; i++)
        assert_ptr_equal(queue_at(q[i]->slot), q[i]);
    for (int i = 0; i < 200; i += 3) {
        uint32_t slot = q[i]->slot;

        queue_drop(q[i]);
        assert_null(queue_at(slot));
    }
    assert_int_equal(queue_count(), 133);
    for (int i = 0; i < 67; i++)
        assert_ptr_equal(queue_at(numbered(1000 + i)->slot), numbered(1000 + i));
    assert_int_equal(queue_slots(), slots);
    assert_int_equal(queue_count(), 200);
}

/* A free place is taken before later places. */
static void test_lowest_slot_first(void **state) {
    struct queue *q[10];
    uint32_t second, sixth;

    (void)state;
    for (int i = 0; i < 10; i++)
        q[i] = numbered(i);
    second = q[2]->slot;
    sixth = q[6]->slot;
    queue_drop(q[6]);
    queue_drop(q[2]);
    assert_int_equal(numbered(20)->slot, second);
    assert_int_equal(numbered(21)->slot, sixth);
}

static void test_each(void **state) {
    struct queue *last = NULL;
    int seen = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        queue_set_counts(numbered(i), 0, i);
    queue_drop(numbered(50));
    assert_int_equal(queue_jobs_total(), 4900);
    QUEUE_EACH(q) {
        assert_true(last == NULL || q->slot > last->slot);
        last = q;
        seen++;
    }
    assert_int_equal(seen, 99);
    QUEUE_EACH(q) {
        if (q->counters.total % 2 == 0)
            queue_drop(q);
    }
    assert_int_equal(queue_count(), 50);
    assert_int_equal(queue_jobs_total(), 2500);
}

/* ---- the returned set ---- */

static struct job_key random_key(void) {
    return key_of((int16_t)random_below(5) - 3, (int64_t)random_below(60));
}

static void test_job_returned(void **state) {
    struct queue *q = open_queue("q", 7);
    struct job_key key;

    (void)state;
    queue_job_returned(q, key_of(0, 2));
    queue_job_returned(q, key_of(-1, 9));
    assert_int_equal(q->counters.len, 2);
    assert_int_equal(queue_budget(q), 2);
    assert_false(q->scan.may_have_more);
    assert_true(position_take_key(&q->scan, &key) && same_key(key, key_of(-1, 9)));
    assert_int_equal(q->counters.len, 2);
    position_add_key(&q->scan, key);
    assert_int_equal(q->counters.len, 2);
    assert_int_equal(queue_budget(q), 2);
}

/* Returns jobs until there are so many that they are found by walking. */
static int64_t overflow(struct queue *q) {
    int64_t count = 0;

    do {
        queue_job_returned(q, key_of(0, 1000000 - count++));
        assert_true(count < 1000000);
    } while (q->scan.key_count > 0);
    assert_true(count > 10000);
    assert_int_equal(q->counters.len, count);
    return count;
}

static void test_too_many_returned(void **state) {
    struct queue *q = open_queue("q", 7);
    struct job_key least, key;
    int64_t count;

    (void)state;
    q->scan.position = key_of(0, 5000000);
    count = overflow(q);
    least = key_of(0, 1000000 - count + 1);
    assert_true(job_key_before(q->scan.position, least));
    assert_true(q->scan.may_have_more);
    assert_int_equal(queue_budget(q), count);
    assert_false(position_take_key(&q->scan, &key));
    assert_true(job_key_before(queue_first_key(q), least));
    /* The server does not search by key for a job that the claim will find. */
    queue_job_ready(q, key_of(0, 999999));
    assert_int_equal(q->scan.key_count, 0);
}

static void test_too_many_returned_behind_the_frontier(void **state) {
    struct queue *q = open_queue("q", 7);

    (void)state;
    q->scan.position = key_of(-3, 5);
    overflow(q);
    assert_true(same_key(q->scan.position, key_of(-3, 5)));
    assert_true(q->scan.may_have_more);
}

/* ---- the scan position ---- */

static void test_budget(void **state) {
    struct queue *q = open_queue("q", 7);

    (void)state;
    for (int i = 1; i <= 10; i++)
        queue_job_ready(q, key_of(0, i));
    for (int i = 1; i <= 3; i++)
        queue_job_returned(q, key_of(-1, i));
    assert_int_equal(queue_budget(q), 13);
    queue_work(q)->claims.rows = 4;
    assert_int_equal(queue_budget(q), 9);
    queue_work(q)->claims.rows = 10;
    assert_int_equal(queue_budget(q), 3);
    queue_set_pause(q, PAUSE_IN);
    assert_int_equal(queue_budget(q), 3);
    queue_set_pause(q, PAUSE_OUT);
    assert_int_equal(queue_budget(q), 0);
    queue_set_pause(q, PAUSE_IN | PAUSE_OUT);
    assert_int_equal(queue_budget(q), 0);
    queue_set_pause(q, 0);
    queue_work(q)->claims.rows = 0;
    q->scan.may_have_more = false;
    assert_int_equal(queue_budget(q), 3);
}

/* A row is worth a claim, but not two claims at a time. */
static void test_budget_of_a_wrong_count(void **state) {
    struct queue *q = open_queue("q", 7);

    (void)state;
    q->scan.may_have_more = true;
    assert_int_equal(queue_budget(q), 1);
    queue_work(q)->claims.rows = 1;
    assert_int_equal(queue_budget(q), 0);
    queue_work(q)->claims.rows = 0;
    q->counters.len = -5;
    assert_int_equal(queue_budget(q), 1);
    position_add_key(&q->scan, key_of(0, 1));
    assert_int_equal(queue_budget(q), 2);
}

static void test_rewind(void **state) {
    struct queue *q = open_queue("q", 7);

    (void)state;
    q->scan.position = key_of(0, 100);
    queue_job_returned(q, key_of(0, 50));
    list_push_back(&queue_work(q)->waiting.list, &waiter);
    queue_reset_scan(q);
    assert_true(job_key_before(q->scan.position, key_of(INT16_MIN, 1)));
    assert_int_equal(q->scan.key_count, 0);
    assert_int_equal(q->counters.len, 1);
    assert_int_equal(queue_budget(q), 1);
    assert_ptr_equal(queue_next_signalled(), q);
}

static void test_walk_from(void **state) {
    struct queue *q = open_queue("q", 7);

    (void)state;
    q->scan.position = key_of(0, 100);
    position_add_key(&q->scan, key_of(0, 3));
    list_push_back(&queue_work(q)->waiting.list, &waiter);
    queue_scan_from(q, key_of(0, 200));
    assert_true(same_key(q->scan.position, key_of(0, 100)));
    assert_true(q->scan.may_have_more);
    queue_scan_from(q, key_of(-1, 500));
    assert_true(same_key(q->scan.position, key_of(-1, 500)));
    assert_int_equal(q->scan.key_count, 1);
    assert_ptr_equal(queue_next_signalled(), q);
}

static void test_misses_jobs(void **state) {
    struct queue *q = open_queue("q", 7);

    (void)state;
    assert_false(queue_misses_jobs(q));
    queue_count_len(q, 1);
    assert_true(queue_misses_jobs(q));
    queue_work(q)->claims.rows = 1;
    assert_false(queue_misses_jobs(q));
    queue_work(q)->claims.rows = 0;
    position_add_key(&q->scan, key_of(0, 1));
    assert_false(queue_misses_jobs(q));
}

static void test_first_key(void **state) {
    struct queue *q = open_queue("q", 7);

    (void)state;
    q->scan.position = (struct job_key){ 0, 0, 100 };
    assert_true(same_key(queue_first_key(q), key_of(0, 100)));
    position_add_key(&q->scan, key_of(0, 101));
    assert_true(same_key(queue_first_key(q), key_of(0, 100)));
    position_add_key(&q->scan, key_of(0, 100));
    assert_true(same_key(queue_first_key(q), key_of(0, 99)));
    position_add_key(&q->scan, key_of(-2, 500));
    assert_true(same_key(queue_first_key(q), key_of(-2, 499)));
}

/* Nothing that is known to be ready may lie at or before the first key. */
static void test_first_key_of_any(void **state) {
    struct queue *q = open_queue("q", 7);

    (void)state;
    random_start(99);
    for (int step = 0; step < 5000; step++) {
        struct job_key key = random_key(), first;

        if (random_below(3) == 0)
            q->scan.position = key;
        else if (random_below(2) == 0)
            queue_job_ready(q, key);
        else
            position_take_key(&q->scan, &key);
        first = queue_first_key(q);
        assert_int_equal(first.queue_id, 7);
        assert_false(job_key_before(q->scan.position, first));
        for (size_t i = 0; i < q->scan.key_count; i++)
            assert_true(job_key_before(first, q->scan.keys[i]));
    }
}

/* ---- signals ---- */

static void test_signals(void **state) {
    struct queue *a = open_queue("a", 1), *b = open_queue("b", 2);
    struct list other;

    (void)state;
    queue_signal(a);
    assert_null(queue_next_signalled());
    list_push_back(&queue_work(a)->waiting.list, &waiter);
    list_push_back(&queue_work(b)->waiting.list, &other);
    queue_job_ready(b, key_of(0, 1));
    queue_job_returned(a, key_of(0, 1));
    queue_job_ready(b, key_of(0, 2));
    queue_signal(a);
    assert_ptr_equal(queue_next_signalled(), b);
    assert_ptr_equal(queue_next_signalled(), a);
    assert_null(queue_next_signalled());
    queue_signal(b);
    assert_ptr_equal(queue_next_signalled(), b);
}

static void test_signalled_queue_is_dropped(void **state) {
    struct queue *q = open_queue("q", 1);

    (void)state;
    list_push_back(&queue_work(q)->waiting.list, &waiter);
    queue_signal(q);
    queue_count_in(q, 1);
    queue_drop(q);
    assert_null(queue_next_signalled());
    assert_null(next_dirty());
}

static int paused_in(void) {
    int count = 0;

    LIST_EACH(node, queue_paused_in())
        count += (LIST_ENTRY(node, struct queue_work, in_paused)->q->pause & PAUSE_IN) != 0 ? 1 : 1000;
    return count;
}

static void test_paused_in(void **state) {
    struct queue *a = open_queue("a", 1), *b = open_queue("b", 2);

    (void)state;
    assert_int_equal(paused_in(), 0);
    queue_set_pause(a, PAUSE_IN | PAUSE_OUT);
    queue_set_pause(b, PAUSE_OUT);
    assert_int_equal(paused_in(), 1);
    queue_set_pause(b, PAUSE_IN);
    queue_set_pause(b, PAUSE_IN);
    queue_set_pause(a, PAUSE_IN);
    assert_int_equal(paused_in(), 2);
    queue_set_pause(a, PAUSE_OUT);
    assert_int_equal(a->pause, PAUSE_OUT);
    assert_int_equal(paused_in(), 1);
    queue_drop(b);
    assert_int_equal(paused_in(), 0);
}

/* ---- queues without a row ---- */

#define MANY 200000

static struct queue *name_queue(int number) {
    char name[32];

    snprintf(name, sizeof name, "named-%d", number);
    return queue_get(slice_str(name));
}

static void forget_all(void) {
    while (!queues_forget_rowless())
        ;
}

static bool is_named(int number) {
    char name[32];

    snprintf(name, sizeof name, "named-%d", number);
    return queue_find(slice_str(name)) != NULL;
}

/* The server forgets the oldest unused names. For each new name it looks at one old name. */
static void test_names_are_forgotten(void **state) {
    struct queue *used = name_queue(0), *open = open_queue("open", 1), *paused = name_queue(1);

    (void)state;
    used->users++;
    queue_set_pause(paused, PAUSE_OUT);
    for (int i = 2; i < MANY; i++) {
        (void)name_queue(i);
        if (i % 1000 == 0)
            forget_all();
    }
    forget_all();
    assert_in_range(queue_count(), 1000, MANY / 10);
    assert_true(is_named(0));
    assert_true(is_named(1));
    assert_false(is_named(2));
    assert_true(is_named(MANY - 1));
    assert_ptr_equal(queue_find(SLICE("open")), open);
    used->users--;
}

/* While all names are in use, a turn looks at a part of them only. The server forgets them when they are not used any
 * more. */
static void test_used_names_are_forgotten_later(void **state) {
    static struct queue *all[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        all[i] = name_queue(i);
        all[i]->users++;
        forget_all();
    }
    assert_int_equal(queue_count(), MANY);
    for (int i = 0; i < MANY; i++)
        all[i]->users--;
    forget_all();
    assert_int_equal(queue_count(), MANY);
    queues_tick();
    forget_all();
    assert_in_range(queue_count(), MANY - 20000, MANY - 5000);
    for (int i = 0; i < 30; i++) {
        queues_tick();
        forget_all();
    }
    assert_in_range(queue_count(), 1000, MANY / 10);
}

/* The names that clients waited for are forgotten in the next turns, a part in each. */
static void test_awaited_names_are_forgotten_at_once(void **state) {
    static struct queue *all[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        all[i] = name_queue(i);
        all[i]->users++;
        forget_all();
    }
    for (int i = 0; i < MANY; i += 2)
        queue_unwait(all[i]);
    assert_false(queues_forget_rowless());
    assert_in_range(queue_count(), MANY / 2 + 1000, MANY - 1000);
    forget_all();
    assert_int_equal(queue_count(), MANY / 2);
    for (int i = 1; i < MANY; i += 2)
        queue_unwait(all[i]);
    forget_all();
    assert_in_range(queue_count(), 1000, MANY / 10);
}

/* With a row they are not counted among them, and without it they are again. */
static void test_rows_are_kept(void **state) {
    static struct queue *all[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        all[i] = name_queue(i);
        queue_set_id(all[i], i + 1);
        forget_all();
    }
    assert_int_equal(queue_count(), MANY);
    for (int i = 0; i < MANY; i++)
        queue_set_id(all[i], 0);
    for (int i = 0; i < 30; i++) {
        queues_tick();
        forget_all();
    }
    assert_in_range(queue_count(), 1000, MANY / 10);
}

static void test_shown_are_counted(void **state) {
    struct queue *a = queue_get(SLICE("a")), *b = queue_get(SLICE("b")), *h = queue_get(SLICE(QUEUE_HIDDEN));

    (void)state;
    queue_show(a);
    queue_show(a);
    queue_show(h);
    queue_count_in(b, 1);
    assert_int_equal(queue_shown(), 2);
    queue_clear();
    assert_int_equal(queue_shown(), 0);
    queue_show(b);
    assert_int_equal(queue_shown(), 1);
    queue_drop(b);
    assert_int_equal(queue_shown(), 0);
}

/* ---- counters ---- */

static void test_counters(void **state) {
    struct queue *a = open_queue("a", 1), *b = open_queue("b", 2);

    (void)state;
    assert_null(next_dirty());
    assert_false(b->shown);
    queue_count_out(b, 3);
    assert_false(b->shown);
    queue_count_total(b, 1); /* a delayed job */
    assert_true(b->shown);
    queue_count_in(a, 1);
    queue_count_in(b, 1);
    queue_count_out(b, 2);
    assert_int_equal(b->counters.jobs_in, 1);
    assert_int_equal(b->counters.jobs_out, 5);
    assert_ptr_equal(next_dirty(), b);
    assert_ptr_equal(next_dirty(), a);
    assert_null(next_dirty());
    queue_count_out(a, 1);
    assert_ptr_equal(next_dirty(), a);
}

/* Without a row there is nowhere to save to. */
static void test_counters_without_a_row(void **state) {
    struct queue *q = queue_get(SLICE("q"));

    (void)state;
    queue_count_in(q, 1);
    assert_null(next_dirty());
    queue_set_id(q, 3);
    queue_count_in(q, 1);
    assert_ptr_equal(next_dirty(), q);
    assert_int_equal(q->counters.jobs_in, 2);
}

static void test_clear(void **state) {
    struct queue *a = open_queue("a", 1), *b = open_queue("b", 2);

    (void)state;
    list_push_back(&queue_work(b)->waiting.list, &waiter);
    queue_job_ready(a, key_of(0, 5));
    queue_job_returned(a, key_of(0, 2));
    queue_count_in(a, 1);
    queue_count_in(b, 1);
    queue_count_total(a, 2);
    queue_set_pause(a, PAUSE_OUT);
    assert_int_equal(queue_keys(), 1);
    queue_clear();
    assert_int_equal(queue_keys(), 0);
    assert_int_equal(queue_count(), 2);
    assert_ptr_equal(queue_find_id(1), a);
    assert_int_equal(queue_jobs_total(), 0);
    assert_int_equal(a->counters.len + a->counters.jobs_in + a->pause, 0);
    assert_int_equal(queue_budget(a), 0);
    assert_false(a->shown);
    assert_true(b->shown);
    assert_null(next_dirty());
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, drop_all)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_long_names),
        TEST(test_ids),
        TEST(test_slots_are_reused),
        TEST(test_lowest_slot_first),
        TEST(test_each),
        TEST(test_job_returned),
        TEST(test_too_many_returned),
        TEST(test_too_many_returned_behind_the_frontier),
        TEST(test_budget),
        TEST(test_budget_of_a_wrong_count),
        TEST(test_rewind),
        TEST(test_walk_from),
        TEST(test_misses_jobs),
        TEST(test_first_key),
        TEST(test_first_key_of_any),
        TEST(test_signals),
        TEST(test_signalled_queue_is_dropped),
        TEST(test_paused_in),
        TEST(test_names_are_forgotten),
        TEST(test_used_names_are_forgotten_later),
        TEST(test_awaited_names_are_forgotten_at_once),
        TEST(test_rows_are_kept),
        TEST(test_shown_are_counted),
        TEST(test_counters),
        TEST(test_counters_without_a_row),
        TEST(test_clear),
    };

    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
