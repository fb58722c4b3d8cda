/* Unique keys: pauses the requests whose key another session is taking, and deletes the keys whose time is over. */
#include "jobs/unique_keys.h"

#include "base/clock.h"
#include "batch/batch.h"
#include "batch/contention.h"
#include "batch/operations.h"
#include "jobs/prune.h"

/* Keys deleted by one statement. */
#define PRUNE_LIMIT 10000

/* Requests whose key another session is taking, ordered by resume_us. */
static struct list unique_paused = { &unique_paused, &unique_paused };

static void unique_keys_resume(struct timer *t) {
    for (;;) {
        struct add *a = LIST_ENTRY(unique_paused.next, struct add, row_waiter.node);

        if (list_empty(&unique_paused))
            return;
        if (a->resume_us > clock_mono()) {
            timer_set(t, a->resume_us, unique_keys_resume);
            return;
        }
        list_remove(&a->row_waiter.node);
        batch_add(&a->req->task);
    }
}

void unique_keys_pause(struct add *a) {
    static struct timer resume;

    a->resume_us = clock_mono() + CONTENTION_PAUSE_US;
    list_push_back(&unique_paused, &a->row_waiter.node);
    if (!timer_is_set(&resume))
        timer_set(&resume, a->resume_us, unique_keys_resume);
}

static struct prune key_pages = { .task = { .op = &op_prune_keys, .rows = 1 } };
static int64_t key_page_from = TIME_BEGINNING;

void unique_keys_prune(void) {
    prune_start(&key_pages);
}

static void unique_keys_begin(struct params *p) {
    prune_sent(&key_pages);
    params_set_time(p, 0, clock_db());
    params_set_int4(p, 1, PRUNE_LIMIT);
    params_set_time(p, 2, key_page_from);
}

/* The next page does not pass over the dead rows of this one. */
static void unique_keys_done(struct task *t, const PGresult *rows) {
    bool is_full = PQntuples(rows) > 0;

    (void)t;
    key_page_from = is_full ? row_time(rows, 0, COL_PRUNE_KEYS_UNTIL) : TIME_BEGINNING;
    prune_ended(&key_pages, is_full);
}

OPERATION(prune_keys, .alone = true, .begin = unique_keys_begin, .on_end = unique_keys_done);
