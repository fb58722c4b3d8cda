/* Counts the jobs of all queues that wait for predecessors, in passes over their rows. */
#include "jobs/waiting_count.h"

#include "base/clock.h"
#include "base/job_key.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "queue/queue.h"

/* Rows of a page. */
#define WAITING_PAGE 20000
/* The next page waits for this many times the duration of the last one, and at most so long. */
#define WAITING_TIMES 20
#define WAITING_REST_MOST_US (2 * US_PER_S)
/* The next pass begins after this time. */
#define WAITING_PAUSE_US US_PER_S

static struct {
    struct task task;
    int64_t sent_us; /* clock_mono() */
    int64_t next_us;
    uint64_t passes;    /* passes that have ended */
    struct job_key pos; /* the last job of the pages before; queue_id 0: the next page is the first */
    int64_t queue_jobs; /* jobs of the queue of pos that the pages before had */
    int64_t pass_jobs;  /* jobs of the queues before that one */
    int64_t all;        /* jobs of the last pass */
} counts = { .task = { .op = &op_page_waiting, .rows = 1 } };

/* The running pass has counted the queues before that of pos. The others have the number of the last pass. */
int64_t waiting_count(const struct queue *q) {
    bool is_counted = q->after.pass == counts.passes + 1;
    bool is_last = q->after.pass == counts.passes && q->id >= counts.pos.queue_id;

    return is_counted || is_last ? q->after.jobs : 0;
}

int64_t waiting_count_all(void) {
    return counts.all;
}

void waiting_count_tick(void) {
    if (clock_mono() >= counts.next_us)
        batch_add_idle(&counts.task);
}

static void waiting_begin(struct params *p) {
    counts.sent_us = clock_mono();
    params_set_int4(p, 0, counts.pos.queue_id);
    params_set_int2(p, 1, counts.pos.rank);
    params_set_int8(p, 2, counts.pos.id);
    params_set_int4(p, 3, WAITING_PAGE);
    params_set_time(p, 4, clock_db());
}

/* No further page has jobs of the queue of pos. */
static void waiting_end_queue(void) {
    struct queue *q = queue_find_id(counts.pos.queue_id);

    if (q != NULL)
        q->after = (struct queue_after){ .jobs = counts.queue_jobs, .pass = counts.passes + 1 };
    if (q != NULL && counts.queue_jobs > 0)
        queue_show(q);
    counts.pass_jobs += counts.queue_jobs;
    counts.queue_jobs = 0;
}

static void waiting_row(const PGresult *rows, int row) {
    struct job_key key = row_full_key(rows, row, COL_PAGE_WAITING_QUEUE_ID);

    if (key.queue_id != counts.pos.queue_id)
        waiting_end_queue();
    counts.pos = key;
    counts.queue_jobs += row_int8(rows, row, COL_PAGE_WAITING_WAITING);
}

static void waiting_end_pass(void) {
    waiting_end_queue();
    counts.all = counts.pass_jobs;
    counts.pass_jobs = 0;
    counts.pos = (struct job_key){ .queue_id = 0 };
    counts.passes++;
}

/* The page after the last one is empty. */
static void waiting_page_end(struct task *t, const PGresult *rows) {
    int64_t pass_us = clock_mono() + WAITING_PAUSE_US;

    (void)t;
    counts.next_us = clock_rest_end(counts.sent_us, WAITING_TIMES, WAITING_REST_MOST_US);
    for (int i = 0; i < PQntuples(rows); i++)
        waiting_row(rows, i);
    if (PQntuples(rows) == 0) {
        waiting_end_pass();
        counts.next_us = counts.next_us > pass_us ? counts.next_us : pass_us;
    }
}

/* After a failure the next tick reads the page again. */
OPERATION(page_waiting, .alone = true, .begin = waiting_begin, .on_end = waiting_page_end);
