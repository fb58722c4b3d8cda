/* Scan positions against a model of the job table: random changes, sent claims, messages that come late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "queue/queue.h"
#include "queue/queue_ready.h"
#include "random.h"

#define JOBS 120
#define SLOTS 8
#define ROUNDS 4000
#define STEPS 150

enum model_state { GONE, READY, LEASED };

struct model_job {
    struct job_key key;
    enum model_state state;
    bool untold;    /* a peer made it ready, and its message has not arrived */
    bool was_added; /* for that message */
    int dead_visits;
};

/* The sent claim: first some redelivery keys, then a scan of the rest. */
static struct {
    bool sent;
    bool executed;
    bool scans;
    struct queue_scan scan;
    struct job_key after;
    size_t limit;
    struct job_key keys[SLOTS];
    size_t key_count;
    struct job_key rows[SLOTS];
    size_t row_count;
} sent_claim;

static struct queue *q;
static struct model_job jobs[JOBS];
static size_t job_count;
static int64_t last_id;
static int64_t own_last_id;
/* How often the position had a reason not to pass rows that it has seen. */
static int set_backs;

/* ---- the table ---- */

static bool model_equal(struct job_key a, struct job_key b) {
    return a.rank == b.rank && a.id == b.id;
}

/* A random job in that state, or NULL. */
static struct model_job *pick(enum model_state state) {
    size_t from = job_count == 0 ? 0 : random_below(job_count);

    for (size_t i = 0; i < job_count; i++) {
        struct model_job *j = &jobs[(from + i) % job_count];

        if (j->state == state && !j->untold)
            return j;
    }
    return NULL;
}

static struct model_job *new_job(void) {
    int64_t id = (last_id += 1 + (int64_t)random_below(3));
    int16_t rank = (int16_t)(random_below(4) == 0 ? -(int)random_below(3) : 0);

    if (job_count == JOBS)
        return NULL;
    jobs[job_count] = (struct model_job){ .key = { 7, rank, id }, .state = READY };
    return &jobs[job_count++];
}

/* The first ready job after a key. Counts the visits to rows that are not ready. A scan may visit the rows that are
 * younger than its snapshot_end again. */
static struct model_job *next_ready(struct job_key after, bool visits) {
    struct model_job *next = NULL;

    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].state == READY && job_key_before(after, jobs[i].key) &&
            (next == NULL || job_key_before(jobs[i].key, next->key)))
            next = &jobs[i];
    for (size_t i = 0; visits && i < job_count; i++)
        if (jobs[i].state != READY && jobs[i].key.id <= sent_claim.scan.snapshot_end &&
            job_key_before(after, jobs[i].key) && (next == NULL || job_key_before(jobs[i].key, next->key)))
            assert_true(jobs[i].dead_visits++ <= set_backs);
    return next;
}

/* ---- claims ---- */

static bool is_quiet(void) {
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].untold)
            return false;
    return !sent_claim.sent;
}

static void send_claim(void) {
    int64_t budget = queue_budget(q);
    size_t slots = 1 + random_below(SLOTS);

    if (sent_claim.sent || budget <= 0)
        return;
    sent_claim.key_count = sent_claim.row_count = 0;
    slots = (int64_t)slots < budget ? slots : (size_t)budget;
    while (sent_claim.key_count < slots &&
           position_take_key(&q->scan, &sent_claim.keys[sent_claim.key_count]))
        sent_claim.key_count++;
    sent_claim.limit = slots - sent_claim.key_count;
    sent_claim.scans = sent_claim.limit > 0;
    sent_claim.after = q->scan.position;
    if (sent_claim.scans) {
        position_begin(&q->scan, &sent_claim.scan);
        sent_claim.scan.snapshot_end =
            own_last_id + (int64_t)random_below((uint64_t)(last_id - own_last_id) + 1);
    }
    queue_work(q)->claims.rows = (int64_t)slots;
    sent_claim.sent = true;
    sent_claim.executed = false;
}

static void take(struct model_job *j) {
    j->state = LEASED;
    sent_claim.rows[sent_claim.row_count++] = j->key;
}

static void execute(void) {
    size_t scanned = 0;
    struct model_job *j;

    if (!sent_claim.sent || sent_claim.executed)
        return;
    for (size_t i = 0; i < sent_claim.key_count; i++)
        for (size_t k = 0; k < job_count; k++)
            if (jobs[k].state == READY && model_equal(jobs[k].key, sent_claim.keys[i]))
                take(&jobs[k]);
    sent_claim.key_count = 0;
    sent_claim.limit += sent_claim.row_count;
    for (; sent_claim.scans && sent_claim.row_count < sent_claim.limit; scanned++) {
        if ((j = next_ready(sent_claim.after, true)) == NULL)
            break;
        sent_claim.after = j->key;
        take(j);
    }
    sent_claim.limit -= sent_claim.row_count;
    sent_claim.executed = true;
    sent_claim.after = scanned > 0 ? sent_claim.after : (struct job_key){ 0 };
}

static void land(void) {
    bool has_last = sent_claim.after.id != 0;

    if (!sent_claim.sent)
        return;
    execute();
    has_last = sent_claim.after.id != 0;
    for (size_t i = 0; i < sent_claim.row_count; i++) {
        queue_count_len(q, -1);
        position_forget_key(&q->scan, sent_claim.rows[i]);
    }
    if (sent_claim.scans) {
        set_backs += sent_claim.scan.received.rank != INT16_MAX || sent_claim.scan.resets != q->scan.resets;
        position_advance(&q->scan, &sent_claim.scan, has_last ? &sent_claim.after : NULL,
                         sent_claim.limit > 0);
        position_end(&sent_claim.scan);
    }
    queue_work(q)->claims.rows = 0;
    sent_claim.sent = false;
}

/* The transaction is rolled back, or its result is unknown. */
static void lose(void) {
    bool unknown = random_below(2) == 0;

    if (!sent_claim.sent || sent_claim.executed)
        return;
    if (unknown && random_below(2) == 0)
        execute();
    for (size_t i = 0; i < sent_claim.row_count; i++)
        queue_count_len(q, -1);
    for (size_t i = 0; i < sent_claim.key_count; i++)
        position_add_key(&q->scan, sent_claim.keys[i]);
    set_backs++;
    if (unknown)
        queue_reset_scan(q);
    else if (sent_claim.scans)
        queue_scan_from(q, sent_claim.scan.start);
    if (sent_claim.scans)
        position_end(&sent_claim.scan);
    queue_work(q)->claims.rows = 0;
    sent_claim.sent = false;
}

/* ---- changes of this server ---- */

static void add_own(void) {
    struct model_job *j = new_job();

    if (j == NULL)
        return;
    own_last_id = last_id;
    if (sent_claim.executed)
        position_receive(&q->scan, j->key);
    if (random_below(8) != 0) {
        queue_job_ready(q, j->key);
        return;
    }
    set_backs++;
    queue_jobs_arrived(q, j->key, 1);
}

/* A lease or a delay ends, or the job is requeued or released. */
static void make_ready(void) {
    struct model_job *j = pick(LEASED);

    if (j == NULL)
        return;
    for (size_t i = 0; sent_claim.sent && i < sent_claim.row_count; i++)
        if (model_equal(j->key, sent_claim.rows[i]))
            return;
    j->state = READY;
    queue_job_returned(q, j->key);
}

static void delete_job(void) {
    struct model_job *j = pick(READY);

    if (j == NULL)
        return;
    j->state = GONE;
    queue_count_len(q, -1);
    if (random_below(2) == 0)
        position_remove_keys(&q->scan, &(struct job_key){ 7, j->key.rank, j->key.id }, 1);
}

static void change_priority(void) {
    struct model_job *j = sent_claim.sent ? NULL : pick(READY);
    struct job_key from;

    if (j == NULL)
        return;
    from = j->key;
    j->key.rank = (int16_t)-random_below(3);
    j->dead_visits = 0;
    queue_jobs_moved(q, &from, 1, j->key.rank);
}

static void clear(void) {
    if (sent_claim.sent || random_below(20) != 0)
        return;
    for (size_t i = 0; i < job_count; i++)
        jobs[i].state = GONE, jobs[i].untold = false;
    queue_clear();
}

/* A recount (jobs/recount.c), with the first ready job of its snapshot. */
static struct {
    bool runs;
    struct queue_scan scan;
    struct job_key before_first;
    bool found;
} recount;

static void begin_recount(void) {
    const struct model_job *first = next_ready((struct job_key){ .rank = INT16_MIN }, false);

    if (recount.runs || sent_claim.sent || !position_is_at_beginning(&q->scan))
        return;
    recount.runs = true;
    recount.found = first != NULL;
    if (first != NULL)
        recount.before_first = (struct job_key){ 7, first->key.rank, first->key.id - 1 };
    recount.scan.snapshot_end = own_last_id;
    position_begin(&q->scan, &recount.scan);
    position_note_apart(&q->scan, &recount.scan);
}

static void end_recount(void) {
    if (!recount.runs)
        return;
    recount.runs = false;
    if (recount.found)
        position_expect(&q->scan);
    position_advance(&q->scan, &recount.scan, &recount.before_first, !recount.found);
    position_end(&recount.scan);
}

/* Nothing is known about the jobs then. */
static void restart(void) {
    if (sent_claim.sent || random_below(5) != 0)
        return;
    end_recount();
    queue_drop(q);
    q = queue_get(SLICE("q"));
    queue_set_id(q, 7);
    for (size_t i = 0; i < job_count; i++) {
        jobs[i].untold = false;
        if (jobs[i].state == READY)
            queue_set_counts(q, q->counters.len + 1, 0);
    }
    set_backs++;
    queue_reset_scan(q);
}

/* ---- peers ---- */

static void peer_adds(void) {
    struct model_job *j = new_job();

    if (j == NULL)
        return;
    j->untold = j->was_added = true;
}

static void peer_returns(void) {
    struct model_job *j = pick(LEASED);

    for (size_t i = 0; j != NULL && sent_claim.sent && i < sent_claim.row_count; i++)
        if (model_equal(j->key, sent_claim.rows[i]))
            return;
    if (j == NULL)
        return;
    j->state = READY;
    j->untold = true;
    j->was_added = false;
}

/* Its counters arrive with the message. */
static void hear(struct model_job *j) {
    j->untold = false;
    queue_count_len(q, 1);
    if (j->was_added)
        queue_receive_ready(q, j->key);
    else
        queue_receive_returned(q, j->key);
}

static void receive_some(void) {
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].untold && random_below(2) == 0)
            hear(&jobs[i]);
}

/* ---- invariants ---- */

static bool is_covered(struct job_key key) {
    if (q->scan.may_have_more && job_key_before(q->scan.position, key))
        return true;
    for (size_t i = 0; i < q->scan.key_count; i++)
        if (model_equal(q->scan.keys[i], key))
            return true;
    for (size_t i = 0; sent_claim.sent && i < sent_claim.key_count; i++)
        if (model_equal(sent_claim.keys[i], key))
            return true;
    return false;
}

/* Every ready job that this server knows is found by a claim: by its key, or by a scan. */
static void check_coverage(void) {
    for (size_t i = 0; i < job_count; i++) {
        if (jobs[i].state != READY || jobs[i].untold)
            continue;
        assert_true(is_covered(jobs[i].key));
        assert_true(sent_claim.sent || queue_budget(q) > 0);
    }
    for (size_t i = 1; i < q->scan.key_count; i++)
        assert_false(job_key_before(q->scan.keys[i], q->scan.keys[(i - 1) / 2]));
}

/* If no message is late, a claim takes the first of the ready jobs. */
static void check_order(void) {
    struct job_key last = { .rank = INT16_MIN };

    if (!is_quiet())
        return;
    send_claim();
    execute();
    for (size_t i = 0; i < sent_claim.row_count && sent_claim.sent; i++)
        if (job_key_before(last, sent_claim.rows[i]))
            last = sent_claim.rows[i];
    for (size_t i = 0; i < job_count; i++)
        assert_false(sent_claim.sent && jobs[i].state == READY && job_key_before(jobs[i].key, last));
    land();
}

/* After all messages, claims find all ready jobs, and end. */
static void drain(void) {
    int claims = 0;

    land();
    end_recount();
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].untold)
            hear(&jobs[i]);
    while (queue_budget(q) > 0) {
        assert_true(claims++ <= 3 * JOBS);
        check_order();
        check_coverage();
    }
    assert_null(pick(READY));
    assert_int_equal(q->counters.len, 0);
}

static void (*const changes[])(void) = { add_own,    add_own,     add_own,       make_ready,
                                         make_ready, delete_job,  peer_adds,     peer_returns,
                                         restart,    clear,       receive_some,  change_priority,
                                         execute,    send_claim,  land,          land,
                                         lose,       check_order, begin_recount, end_recount };

static void test_ready_jobs_are_found(void **state) {
    (void)state;
    random_start(20261122);
    queue_init();
    for (int round = 0; round < ROUNDS; round++) {
        job_count = 0;
        set_backs = 0;
        q = queue_get(SLICE("q"));
        queue_set_id(q, 7);
        for (int step = 0; step < STEPS; step++) {
            changes[random_below(LENGTH(changes))]();
            check_coverage();
        }
        drain();
        queue_drop(q);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ready_jobs_are_found) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
