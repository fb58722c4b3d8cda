/* Jobs ahead: keeps leased jobs for the next requests of the clients that take the jobs of a queue. */
#include "jobs/claim_ahead.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "jobs/turns.h"
#include "jobs/undelivered.h"
#include "queue/follow_up.h"
#include "queue/lease.h"
#include "queue/queue_ready.h"

/* The server keeps jobs ahead only if the requests of one transaction take this number of jobs. For claims of a backlog, only
 * requests for one job count. */
#define TAKEN_LEAST 8
/* The most jobs ahead of one queue that claims of a backlog bring, and their most bytes. Jobs that are being claimed
 * count. */
#define CLAIMED_MOST 256
#define CLAIMED_BYTES_MOST (1024 * 1024)
/* The most jobs ahead of one queue before adds wait, and their most bytes. Jobs that are being added count. */
#define ADDED_MOST 4096
#define ADDED_BYTES_MOST (4 * 1024 * 1024)
/* Adds that do not wait may bring this many times the limit. The server accepted them before the limit was reached, or they
 * have waited for CLAIM_AHEAD_HOLD_US. */
#define ADDED_EXCESS 2
/* The most bytes of the jobs ahead of all queues. */
#define BYTES_MOST (16 * 1024 * 1024)
/* The most queues with jobs ahead. Each plan looks at all of them. */
#define QUEUES_MOST 256
/* The server plans this number of transactions after a rest before it adds jobs ahead. So a command that
 * arrived before a new job finds that job queued. */
#define PLANS_LEAST 2
/* When jobs ahead were put back, their queue rests: first for REST_US, and twice as long after each rest in which fewer
 * than GIVEN_LEAST times as many jobs were given. */
#define REST_US US_PER_S
#define REST_MOST_US (64 * US_PER_S)
#define GIVEN_LEAST 8

struct ahead_job {
    struct list node; /* in claim_ahead.jobs */
    int64_t since_us; /* clock_mono() */
    size_t bytes;
    struct job job; /* owns its body and its headers */
};

/* A queue from which requests take many jobs. */
struct claim_ahead {
    struct queue *q;
    struct list in_all;
    struct list jobs;      /* struct ahead_job, in the order of their keys */
    size_t count;          /* their number */
    size_t coming;         /* rows of claims and inserts that have not ended */
    size_t returning;      /* jobs that are being put back */
    struct list waiters;   /* struct row_waiter: commands that wait until both are 0 */
    struct list held;      /* struct row_waiter: adds that wait for room, and those behind them */
    struct timer hold;     /* set while `held` is not empty */
    size_t had_room;       /* adds that left `held` because there was room, since the timer was set */
    int64_t no_hold_until; /* clock_mono(); until then no add waits */
    int64_t no_hold_us;    /* the length of that time; 0: the last adds did not wait in vain */
    int16_t rank;          /* of the jobs that were added ahead last */
    size_t taken;          /* jobs for GETJOBs of this queue alone since the last transaction was planned */
    size_t taken_singly;   /* the part for GETJOBs of one job each */
    size_t flow;           /* taken, estimated from the transactions before: rises at once, falls slowly */
    size_t single_flow;    /* the estimate for taken_singly */
    unsigned plans;        /* transactions that were planned since the last rest */
    struct follow_up return_jobs; /* while returning is not 0: GETJOB NOHANG waits for it */
    struct list *inserted;        /* in jobs, where the last job was inserted; or the head */
    bool used;                    /* since the last look */
    int64_t rest_until;           /* clock_mono(); until then no jobs are ahead */
    int64_t rest_us;              /* the length of the last rest; 0: there was none */
    size_t given;                 /* jobs since the last rest */
    struct timer look;
};

static struct {
    struct list all;
    size_t queues; /* their number */
    size_t bytes;
    bool stopped;
} ahead = { .all = { &ahead.all, &ahead.all } };

/* ---- the jobs ---- */

static void ahead_remove(struct claim_ahead *a, struct ahead_job *h) {
    if (a->inserted == &h->node)
        a->inserted = h->node.prev;
    list_remove(&h->node);
    a->count--;
    ahead.bytes -= h->bytes;
    memory_change(NULL, MEMORY_UNSENT, h->bytes, 0);
}

static void ahead_free(struct ahead_job *h) {
    free((char *)h->job.body.ptr);
    free((char *)h->job.headers.ptr);
    free(h);
}

/* A command with the ID may have ended the lease. Then the server neither delivers the job nor puts it back. */
static bool is_leased_still(const struct ahead_job *h) {
    return lease_is_ahead(h->job.key, h->job.ready_at);
}

/* If the server stood still, the job may have expired, or its lease may be over or about to end. */
static bool ahead_is_fresh(const struct ahead_job *h) {
    return h->since_us + CLAIM_AHEAD_KEEP_US > clock_mono() && h->job.ready_at > clock_db() &&
           h->job.expires_at > clock_db();
}

static bool ahead_is_settled(const struct claim_ahead *a) {
    return a->coming == 0 && a->returning == 0;
}

static void run_if_settled(struct claim_ahead *a) {
    struct list waiting;

    if (!ahead_is_settled(a))
        return;
    list_init(&waiting);
    list_splice_back(&waiting, &a->waiters);
    row_waiters_run(&waiting, NULL);
}

static void on_returned(void *arg) {
    struct claim_ahead *a = arg;

    if (--a->returning == 0)
        follow_up_end(&a->return_jobs);
    run_if_settled(a);
}

static void put_back_job(struct claim_ahead *a, const struct job *job) {
    if (a->returning++ == 0)
        follow_up_begin(&a->return_jobs, a->q->id);
    undelivered_release(job->key, job->ready_at, job->last, on_returned, a);
}

static void ahead_put_back(struct claim_ahead *a, struct ahead_job *h) {
    ahead_remove(a, h);
    if (is_leased_still(h))
        put_back_job(a, &h->job);
    ahead_free(h);
}

/* A statement that is changing the job decides about its lease. Such a job stays until the statement has ended. */
static void ahead_put_back_all(struct claim_ahead *a) {
    LIST_EACH_SAFE(node, &a->jobs) {
        struct ahead_job *h = LIST_ENTRY(node, struct ahead_job, node);

        if (!is_leased_still(h) || !lease_is_held(h->job.key.id))
            ahead_put_back(a, h);
    }
}

static struct slice ahead_copy(struct slice bytes) {
    return bytes.ptr == NULL ? bytes : (struct slice){ xmemdup(bytes.ptr, bytes.len), bytes.len };
}

static bool is_after(const struct claim_ahead *a, const struct list *node, const struct ahead_job *h) {
    return node != &a->jobs &&
           job_key_before(h->job.key, LIST_ENTRY(node, const struct ahead_job, node)->job.key);
}

static bool is_before(const struct claim_ahead *a, const struct list *node, const struct ahead_job *h) {
    return node != &a->jobs && !is_after(a, node, h);
}

/* A claim may bring a job that is older than a job ahead. The jobs of a claim or insert arrive in the order of their keys, so
 * the search begins at the job before. */
static void insert_in_order(struct claim_ahead *a, struct ahead_job *h) {
    struct list *at = a->inserted != &a->jobs ? a->inserted : a->jobs.prev;

    while (is_after(a, at, h))
        at = at->prev;
    while (is_before(a, at->next, h))
        at = at->next;
    list_push_front(at, &h->node);
    a->inserted = &h->node;
    a->count++;
}

static void ahead_add(struct claim_ahead *a, const struct job *job) {
    struct ahead_job *h = xcalloc(1, sizeof *h);

    h->job = *job;
    h->job.rows = NULL;
    h->job.body = ahead_copy(job->body);
    h->job.headers = ahead_copy(job->headers);
    h->since_us = clock_mono();
    h->bytes = sizeof *h + job->body.len + job->headers.len;
    insert_in_order(a, h);
    ahead.bytes += h->bytes;
    memory_change(NULL, MEMORY_UNSENT, 0, h->bytes);
}

/* ---- the queues ---- */

static void claim_ahead_free(struct claim_ahead *a) {
    timer_stop(&a->look);
    timer_stop(&a->hold);
    list_remove(&a->in_all);
    ahead.queues--;
    a->q->ahead = NULL;
    a->q->users--;
    free(a);
}

static void claim_ahead_rest(struct claim_ahead *a, int64_t us) {
    a->flow = a->single_flow = 0;
    a->given = 0;
    a->rest_us = us;
    a->rest_until = clock_mono() + us;
}

/* While a command waits for the jobs ahead, no more are claimed or added, so that its wait ends. */
static bool claim_ahead_rests(const struct claim_ahead *a) {
    return a->rest_until > clock_mono() || !list_empty(&a->waiters);
}

static int64_t twice_as_long(int64_t rest_us) {
    return rest_us == 0 ? REST_US : int64_least(2 * rest_us, REST_MOST_US);
}

static int64_t next_rest_us(const struct claim_ahead *a, size_t returned) {
    return twice_as_long(a->given >= GIVEN_LEAST * returned ? 0 : a->rest_us);
}

/* Puts back the jobs ahead. Jobs that are being claimed or added are put back when they arrive. */
static void claim_ahead_end(struct claim_ahead *a) {
    size_t count = a->count;

    ahead_put_back_all(a);
    if (a->rest_until <= clock_mono())
        claim_ahead_rest(a, next_rest_us(a, count));
    else if (a->rest_until < clock_mono() + REST_US)
        a->rest_until = clock_mono() + REST_US;
}

/* INT64_MAX: there is no job. Claims bring jobs of other ranks, too, so it may be any job. */
static int64_t oldest_since_us(const struct claim_ahead *a) {
    int64_t oldest = INT64_MAX;

    LIST_EACH(node, &a->jobs) {
        const struct ahead_job *h = LIST_ENTRY(node, const struct ahead_job, node);

        oldest = h->since_us < oldest ? h->since_us : oldest;
    }
    return oldest;
}

/* Its rest does not matter if no queue has jobs ahead. */
static bool is_forgotten(const struct claim_ahead *a) {
    return !a->used && a->count == 0 && ahead_is_settled(a) && list_empty(&a->held) &&
           !(config.claim_ahead && claim_ahead_rests(a));
}

/* Puts back all jobs if no request took one of them in time. A queue that has not been used since the last look is
 * forgotten. */
static void on_look(struct timer *t) {
    struct claim_ahead *a = CONTAINER_OF(t, struct claim_ahead, look);
    int64_t since = oldest_since_us(a);

    if (since <= clock_mono() - CLAIM_AHEAD_KEEP_US) {
        claim_ahead_end(a);
        since = INT64_MAX;
    }
    if (is_forgotten(a)) {
        claim_ahead_free(a);
        return;
    }
    if (!a->used)
        a->flow = a->single_flow = 0;
    a->used = false;
    timer_set(t, int64_least(since, clock_mono()) + CLAIM_AHEAD_KEEP_US, on_look);
}

static struct claim_ahead *claim_ahead_new(struct queue *q) {
    struct claim_ahead *a = xcalloc(1, sizeof *a);

    a->q = q;
    q->ahead = a;
    q->users++;
    list_init(&a->jobs);
    a->inserted = &a->jobs;
    list_init(&a->waiters);
    list_init(&a->held);
    list_push_back(&ahead.all, &a->in_all);
    ahead.queues++;
    timer_set(&a->look, clock_mono() + CLAIM_AHEAD_KEEP_US, on_look);
    return a;
}

static bool claim_ahead_is_allowed(const struct queue *q) {
    return config.claim_ahead && !ahead.stopped && !q->limits->is_held_back && !queue_is_shut(q) &&
           !node_has_peers() && q->work->adds.of_started == 0;
}

/* ---- claims ---- */

void claim_ahead_note(struct queue *q, size_t jobs, size_t singly) {
    if (q->ahead == NULL && (jobs < TAKEN_LEAST || ahead.queues >= QUEUES_MOST || !claim_ahead_is_allowed(q)))
        return;
    if (q->ahead == NULL)
        (void)claim_ahead_new(q);
    q->ahead->taken_singly += singly;
    q->ahead->taken += jobs;
}

static size_t most_in(const struct queue *q, size_t bytes, size_t jobs) {
    size_t most = bytes / queue_job_bytes(q);

    return most < jobs ? most : jobs;
}

static bool may_have_more(const struct claim_ahead *a) {
    return claim_ahead_is_allowed(a->q) && !claim_ahead_rests(a) && ahead.bytes < BYTES_MOST;
}

/* While this transaction and the next one run, the requests take the jobs of two transactions. A claim brings twice as
 * many, so that not each transaction needs a claim. The backlog must be twice as large again, so that requests that take
 * no jobs ahead find jobs, too. */
static size_t rows_of_backlog(const struct claim_ahead *a) {
    size_t most = most_in(a->q, CLAIMED_BYTES_MOST, CLAIMED_MOST), low = 2 * a->single_flow,
           wanted = 4 * a->single_flow;
    size_t has = a->count + a->coming;
    int64_t backlog = queue_budget(a->q) - a->q->work->claims.planned;

    wanted = wanted < most ? wanted : most;
    if (a->single_flow < TAKEN_LEAST || has >= low || has >= wanted || !may_have_more(a))
        return 0;
    return backlog < 2 * (int64_t)wanted ? 0 : wanted - has;
}

/* The estimate rises at once and falls slowly. A transaction may be planned while the clients have no time to take jobs. */
static size_t smooth(size_t before, size_t now, size_t slowness) {
    return now > before ? now : ((slowness - 1) * before + now) / slowness;
}

/* While the queue is empty for a moment, its flow does not fall: on_look() ends it. */
static void note_plan(struct claim_ahead *a) {
    a->plans = claim_ahead_rests(a) ? 0 : a->plans + 1;
    if (a->taken == 0 && a->q->work->adds.accepted == 0 && queue_unclaimed(a->q) <= 0)
        return;
    a->used |= a->taken > 0;
    a->flow = smooth(a->flow, a->taken, 16);
    a->single_flow = smooth(a->single_flow, a->taken_singly, 2);
    a->taken = a->taken_singly = 0;
}

void claim_ahead_ended(struct queue *q, size_t rows) {
    q->ahead->coming -= rows;
    run_if_settled(q->ahead);
}

/* ---- new jobs ---- */

/* The jobs of four transactions. */
static size_t most_added(const struct claim_ahead *a) {
    size_t most = most_in(a->q, ADDED_BYTES_MOST, ADDED_MOST);

    return most < 4 * a->flow ? most : 4 * a->flow;
}

/* A claim ahead reads only rows after the scan position. It does not find a job that became ready before that position. So no
 * job is added ahead until requests have taken such jobs. */
static bool may_add(const struct claim_ahead *a) {
    return a->flow >= TAKEN_LEAST && a->plans >= PLANS_LEAST && a->q->scan.key_count == 0 && may_have_more(a);
}

/* A job is added ahead only if each other job of the queue is ahead or is being claimed. So one claim takes the remaining
 * jobs, if all of them fit in the transaction. Inserts that are under way end before that claim. */
static size_t rows_of_others(const struct claim_ahead *a) {
    const struct queue_work *w = a->q->work;
    int64_t rows = queue_unclaimed(a->q);
    int64_t budget = queue_budget(a->q) - w->claims.planned + w->adds.sent - w->adds_ahead.sent;
    int64_t left = (int64_t)(ADDED_EXCESS * most_added(a)) - (int64_t)(a->count + a->coming);
    int64_t most = int64_least(int64_least(budget, left), config.batch_max - w->claims.planned);

    return may_add(a) && rows > 0 && rows <= most ? (size_t)rows : 0;
}

/* The jobs that are added ahead have one rank, so that their order is that of their times. An add of another kind may be
 * older, and its insert may not be built yet. */
bool claim_ahead_admit(struct queue *q, int16_t rank, size_t count) {
    struct claim_ahead *a = q->ahead;
    size_t has;

    if (a == NULL || !may_add(a) || queue_unclaimed(q) > 0 ||
        q->work->adds.accepted > q->work->adds_ahead.plain)
        return false;
    has = a->count + a->coming;
    if (has + count > ADDED_EXCESS * most_added(a) || (has > 0 && rank != a->rank))
        return false;
    a->rank = rank;
    a->coming += count;
    return true;
}

/* own: the accepted jobs of the request that asks. Jobs that wait for room do not count. */
static bool has_room(const struct claim_ahead *a, size_t own) {
    const struct queue_work *w = a->q->work;
    int64_t has = (int64_t)(a->count + a->coming) - w->adds_ahead.sent;

    return has + w->adds.accepted - w->adds_ahead.held - (int64_t)own < (int64_t)most_added(a);
}

static bool adds_must_wait(const struct claim_ahead *a, size_t own) {
    return may_add(a) && queue_unclaimed(a->q) <= 0 && a->no_hold_until <= clock_mono() && !has_room(a, own);
}

static const struct row_waiter *first_held(const struct claim_ahead *a) {
    return list_empty(&a->held) ? NULL : LIST_ENTRY(a->held.next, const struct row_waiter, node);
}

static void run_first_held(struct claim_ahead *a) {
    struct list first;

    list_init(&first);
    list_push_back(&first, list_pop_front(&a->held));
    row_waiters_run(&first, NULL);
}

static void run_held(struct claim_ahead *a) {
    for (; !list_empty(&a->held) && !adds_must_wait(a, 0); a->had_room++)
        run_first_held(a);
}

static void on_hold_over(struct timer *t);

static void set_hold(struct claim_ahead *a) {
    a->had_room = 0;
    if (first_held(a) != NULL)
        timer_set(&a->hold, first_held(a)->since_us + CLAIM_AHEAD_HOLD_US, on_hold_over);
}

/* If most adds waited in vain, none waits for a time. The clients that add may be those that take jobs: while their adds
 * wait, they make no room. */
static void on_hold_over(struct timer *t) {
    struct claim_ahead *a = CONTAINER_OF(t, struct claim_ahead, hold);
    size_t in_vain = 0;

    for (; first_held(a) != NULL && first_held(a)->since_us + CLAIM_AHEAD_HOLD_US <= clock_mono(); in_vain++)
        run_first_held(a);
    if (in_vain > a->had_room) {
        a->no_hold_us = twice_as_long(a->no_hold_us);
        a->no_hold_until = clock_mono() + a->no_hold_us;
        run_held(a);
    } else if (in_vain < a->had_room) {
        a->no_hold_us = 0;
    }
    set_hold(a);
}

void claim_ahead_hold_behind(struct queue *q, struct row_waiter *w) {
    w->since_us = clock_mono();
    list_push_back(&q->ahead->held, &w->node);
}

bool claim_ahead_hold(struct queue *q, size_t count, struct row_waiter *w) {
    struct claim_ahead *a = q->ahead;
    bool is_first = a != NULL && list_empty(&a->held);

    if (a == NULL || count > ADDED_EXCESS * most_added(a) || (is_first && !adds_must_wait(a, count)))
        return false;
    claim_ahead_hold_behind(q, w);
    if (is_first)
        set_hold(a);
    return true;
}

void claim_ahead_plan(size_t (*plan)(struct queue *q, size_t rows)) {
    LIST_EACH_SAFE(node, &ahead.all) {
        struct claim_ahead *a = LIST_ENTRY(node, struct claim_ahead, in_all);
        size_t rows;

        note_plan(a);
        run_held(a);
        rows = rows_of_backlog(a);
        if (rows == 0)
            rows = rows_of_others(a);
        if (rows > 0)
            a->coming += plan(a->q, rows);
    }
}

/* ---- taking ---- */

/* A crash of the server would lose a job with RETRY 0, and would end the last attempt of another. */
static bool may_be_ahead(const struct job *job) {
    return job->retry != 0 && !job->last;
}

void claim_ahead_note_once(struct queue *q) {
    if (q->ahead != NULL)
        claim_ahead_rest(q->ahead, REST_MOST_US);
}

void claim_ahead_keep(const struct job *job) {
    struct claim_ahead *a = job->q->ahead;

    if (!may_be_ahead(job))
        claim_ahead_note_once(job->q);
    lease_add_ahead(job->key, job->ready_at);
    if (claim_ahead_rests(a) || ahead.stopped) {
        put_back_job(a, job);
        return;
    }
    ahead_add(a, job);
    queue_signal(job->q);
}

/* Moves the first jobs that may be given to `picked`. Removes those between them whose time is over. A job that a
 * statement is changing stays until the statement has ended. */
static size_t pick(struct claim_ahead *a, size_t most, struct list *picked) {
    size_t count = 0;

    list_init(picked);
    LIST_EACH_SAFE(node, &a->jobs) {
        struct ahead_job *h = LIST_ENTRY(node, struct ahead_job, node);

        if (count == most)
            break;
        if (is_leased_still(h) && lease_is_held(h->job.key.id))
            continue;
        if (!is_leased_still(h) || !ahead_is_fresh(h)) {
            ahead_put_back(a, h);
            continue;
        }
        ahead_remove(a, h);
        list_push_back(picked, &h->node);
        count++;
    }
    return count;
}

static void deliver_picked(struct taker *taker, struct list *picked, size_t count) {
    struct job *jobs = xmalloc(count * sizeof *jobs);
    size_t i = 0;

    LIST_EACH(node, picked)
        jobs[i++] = LIST_ENTRY(node, struct ahead_job, node)->job;
    taker_claim(taker);
    taker_deliver(taker, jobs, count);
    free(jobs);
    while (!list_empty(picked))
        ahead_free(LIST_ENTRY(list_pop_front(picked), struct ahead_job, node));
}

static size_t jobs_wanted(const struct taker *taker) {
    return taker->has_waited ? 1 : (size_t)int64_least(taker->count, config.batch_max);
}

/* Jobs that were claimed ahead of a backlog are for single requests. Another request gets more jobs by a claim. */
static bool should_claim(const struct claim_ahead *a, const struct taker *taker) {
    return a->single_flow > 0 && jobs_wanted(taker) > 1 && queue_unclaimed(a->q) > 0;
}

static bool give_from(struct taker *taker, const struct queue *q) {
    struct claim_ahead *a = q == NULL ? NULL : q->ahead;
    struct list picked;
    size_t count;

    if (a == NULL || a->count == 0 || !claim_ahead_is_allowed(q) || should_claim(a, taker))
        return false;
    count = pick(a, jobs_wanted(taker), &picked);
    if (count == 0)
        return false;
    if (taker->wait_count == 1) {
        a->taken_singly += jobs_wanted(taker) == 1;
        a->taken += count;
    }
    a->given += count;
    stats.jobs_claimed_ahead += count;
    deliver_picked(taker, &picked, count);
    return true;
}

/* Is it a GETJOB? Its client may have gone. */
static bool may_get_job(const struct taker *taker) {
    return taker->kind == NULL && taker->client != NULL;
}

bool claim_ahead_give(struct taker *taker) {
    return may_get_job(taker) && taker->wait_count == 1 && give_from(taker, taker->waits[0].from.q);
}

static bool may_give(struct queue *q) {
    return q->ahead != NULL && q->ahead->count > 0 && !queue_is_awaited(q);
}

bool claim_ahead_give_rest(struct taker *taker) {
    if (list_empty(&ahead.all) || !may_get_job(taker))
        return false;
    for (size_t i = 0; i < taker->wait_count; i++) {
        struct taker_source from = taker->waits[i].from;
        struct queue *q = from.q != NULL ? from.q : pattern_find(from.pattern, may_give);

        if (q == NULL || !may_give(q) || !give_from(taker, q))
            continue;
        if (from.q == NULL)
            pattern_served(from.pattern, q);
        return true;
    }
    return false;
}

bool claim_ahead_give_new(struct taker *taker) {
    struct queue *q = taker->waits[0].from.q;

    if (list_empty(&ahead.all))
        return false;
    if (q != NULL && q->ahead != NULL && !queue_is_awaited(q) && claim_ahead_give(taker))
        return true;
    return !taker_has_budget(taker) && claim_ahead_give_rest(taker);
}

/* ---- returning ---- */

/* If the queue has no jobs ahead, it does not rest. The next transaction then adds no jobs ahead. */
static void put_back_and_rest(struct queue *q) {
    if (q->ahead == NULL)
        return;
    if (q->ahead->count > 0 || q->ahead->coming > 0)
        claim_ahead_end(q->ahead);
    else
        q->ahead->plans = 0;
}

/* A request of several queues gets a job only if no queue that it names before has one. */
static bool give_waiting(struct taker *taker, struct queue *q) {
    if (!may_get_job(taker) || (taker->wait_count > 1 && (queue_unclaimed(q) > 0 ||
                                                          taker_find_before(taker, q, turn_is_open) != NULL)))
        return false;
    return give_from(taker, q);
}

void claim_ahead_serve(struct queue *q) {
    const struct taker *first;
    struct taker *taker;

    if (q->ahead == NULL)
        return;
    while (q->ahead->count > 0 && (taker = waiters_first_taking(q)) != NULL && give_waiting(taker, q))
        continue;
    first = q->ahead->count > 0 && queue_unclaimed(q) <= 0 ? waiters_first(q) : NULL;
    if (first != NULL && !may_get_job(first))
        put_back_and_rest(q);
}

bool claim_ahead_return(struct queue *q, struct row_waiter *w) {
    put_back_and_rest(q);
    if (q->ahead == NULL || ahead_is_settled(q->ahead))
        return true;
    list_push_back(&q->ahead->waiters, &w->node);
    return false;
}

/* The highest rank of the jobs ahead, and of those that are being added. */
static int16_t last_rank(const struct claim_ahead *a) {
    return list_empty(&a->jobs) ? a->rank
                                : LIST_ENTRY(a->jobs.prev, const struct ahead_job, node)->job.key.rank;
}

/* Lists give a job with a negative ID before all others of its rank. */
void claim_ahead_note_ready(struct queue *q, struct job_key key) {
    if (q->ahead == NULL || q->ahead->count + q->ahead->coming == 0)
        return;
    if (key.rank < last_rank(q->ahead) || key.id < 0)
        put_back_and_rest(q);
}

void claim_ahead_stop(void) {
    ahead.stopped = true;
    LIST_EACH_SAFE(node, &ahead.all) {
        struct claim_ahead *a = LIST_ENTRY(node, struct claim_ahead, in_all);

        ahead_put_back_all(a);
        run_held(a);
    }
}
