/* The records of queues in use: they are made at the first use, and freed when nothing uses them. */
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
#include "queue/queue_work.h"

static struct list other; /* in a list of the queue, or the list that the queue is in */
static char something;

/* Each use that a record has: it begins with `on`, and ends without it. */
#define USES(X)                                                                  \
    X(rows, w->claims.rows = on)                                                 \
    X(last_rows, w->claims.last_rows = on)                                       \
    X(planned, w->claims.planned = on)                                           \
    X(kept, w->claims.kept = on)                                                 \
    X(latest, w->claims.latest[TAKE_KINDS - 1] = on ? (void *)&something : NULL) \
    X(reading, w->claims.reading = on ? (void *)&something : NULL)               \
    X(accepted, w->adds.accepted = on)                                           \
    X(sent, w->adds.sent = on)                                                   \
    X(pushes, *(on ? &w->adds.pushes_sent : &w->adds.pushes_ended) += 1)         \
    X(of_started, w->adds.of_started = on)                                       \
    X(waiting, use_list(&w->waiting.list, on))                                   \
    X(waiting_count, w->waiting.count = on)                                      \
    X(row_waiters, use_list(&w->row.waiters, on))                                \
    X(opening, w->row.opening = on)                                              \
    X(ends_waiters, use_list(&w->ends.waiters, on))                              \
    X(asking, w->ends.asking = on)                                               \
    X(in_changed, use_list(&w->outbox.in_changed, on))                           \
    X(outbox_ready, use_list(&w->outbox.in_ready, on))                           \
    X(in_room, use_list(&w->outbox.in_room, on))                                 \
    X(ready_count, w->outbox.ready_count = on)                                   \
    X(in_ready, use_list(&w->in_ready, on))                                      \
    X(in_paused, use_list(&w->in_paused, on))                                    \
    X(trim, w->trim = on ? (void *)&something : NULL)                            \
    X(pausing, w->pausing = on)                                                  \
    X(moving, w->moving = on)

static void use_list(struct list *l, bool on) {
    if (on)
        list_push_back(l, &other);
    else
        list_remove(&other);
}

#define X(name, statement)                             \
    static void use_##name(struct queue *q, bool on) { \
        struct queue_work *w = queue_work(q);          \
                                                       \
        statement;                                     \
    }
USES(X)
#undef X

static const struct {
    const char *name;
    void (*use)(struct queue *q, bool on);
} uses[] = {
#define X(name, statement) { #name, use_##name },
    USES(X)
#undef X
};

static int start(void **state) {
    (void)state;
    queue_init();
    list_init(&other);
    return 0;
}

static int stop(void **state) {
    (void)state;
    QUEUE_EACH(q) {
        queue_drop(q);
    }
    return 0;
}

static void test_idle(void **state) {
    const struct queue *q = queue_get(SLICE("q"));

    (void)state;
    assert_ptr_equal(q->work, &queue_idle);
    queue_works_tick();
    assert_int_equal(queue_budget(q), 0);
    assert_ptr_equal(q->work, &queue_idle);
}

static void test_each_use(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(uses); i++) {
        struct queue *q = queue_get(SLICE("q"));
        const struct queue_work *w;

        uses[i].use(q, true);
        w = q->work;
        assert_ptr_not_equal(w, &queue_idle);
        queue_works_tick();
        queue_works_tick();
        if (q->work != w)
            fail_msg("%s: the record is freed while it is in use", uses[i].name);
        uses[i].use(q, false);
        queue_works_tick();
        if (q->work != &queue_idle)
            fail_msg("%s: the record is not freed after its use", uses[i].name);
    }
}

/* Records in use do not keep the others from being freed, however many there are. */
static void test_many(void **state) {
    char name[16];

    (void)state;
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "q%d", i);
        use_rows(queue_get(slice_str(name)), i < 9990);
    }
    for (int i = 0; i < 50; i++)
        queue_works_tick();
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "q%d", i);
        assert_int_equal(queue_find(slice_str(name))->work != &queue_idle, i < 9990);
    }
}

/* A freed queue is in no list. */
static void test_dropped(void **state) {
    struct list signalled, paused;
    struct queue *q = queue_get(SLICE("q"));

    (void)state;
    list_init(&signalled);
    list_init(&paused);
    list_push_back(&signalled, &queue_work(q)->in_ready);
    list_push_back(&paused, &queue_work(q)->in_paused);
    list_push_back(&other, &queue_work(q)->outbox.in_changed);
    queue_drop(q);
    assert_true(list_empty(&signalled) && list_empty(&paused) && list_empty(&other));
    queue_works_tick();
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_idle),
        TEST(test_each_use),
        TEST(test_many),
        TEST(test_dropped),
    };

    return cmocka_run_group_tests_name("queue_work", tests, NULL, NULL);
}
