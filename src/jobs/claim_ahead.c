/* Claim ahead: keeps leased jobs for the next requests of clients that take single jobs of a backlog. */
#include "jobs/claim_ahead.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/stats.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "jobs/undelivered.h"
#include "queue/lease.h"
#include "queue/queue_ready.h"

/* The fewest requests in one transaction that make it worthwhile. */
#define REQUESTS_LEAST 8
/* The most jobs ahead of one queue, with those that are being claimed. */
#define JOBS_MOST 256
/* The most bytes of the jobs ahead of one queue, and of all queues. */
#define QUEUE_BYTES_MOST (1024 * 1024)
#define BYTES_MOST (16 * 1024 * 1024)
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

/* A queue from which many requests take single jobs. */
struct claim_ahead {
    struct queue *q;
    struct list in_all;
    struct list jobs;    /* struct ahead_job, the oldest first */
    size_t count;        /* their number */
    size_t coming;       /* rows of claims that have not ended */
    size_t returning;    /* jobs that are being put back */
    struct list waiters; /* struct row_waiter: commands that wait until both are 0 */
    size_t taken;        /* jobs for single requests since the last transaction was planned */
    size_t demand;       /* the same for the transactions before: rises at once, falls slowly */
    bool used;           /* since the last look */
    int64_t rest_until;  /* clock_mono(); until then no jobs are ahead */
    int64_t rest_us;     /* the length of the last rest; 0: there was none */
    size_t given;        /* jobs since the last rest */
    struct timer look;
};

static struct {
    struct list all;
    size_t bytes;
    bool stopped;
} ahead = { .all = { &ahead.all, &ahead.all } };

/* ---- the jobs ---- */

static void ahead_remove(struct claim_ahead *a, struct ahead_job *h) {
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

static struct ahead_job *ahead_first(const struct claim_ahead *a) {
    return list_empty(&a->jobs) ? NULL : LIST_ENTRY(a->jobs.next, struct ahead_job, node);
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

    a->returning--;
    run_if_settled(a);
}

static void put_back_job(struct claim_ahead *a, const struct job *job) {
    a->returning++;
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

static void ahead_add(struct claim_ahead *a, const struct job *job) {
    struct ahead_job *h = xcalloc(1, sizeof *h);

    h->job = *job;
    h->job.rows = NULL;
    h->job.body = ahead_copy(job->body);
    h->job.headers = ahead_copy(job->headers);
    h->since_us = clock_mono();
    h->bytes = sizeof *h + job->body.len + job->headers.len;
    list_push_back(&a->jobs, &h->node);
    a->count++;
    ahead.bytes += h->bytes;
    memory_change(NULL, MEMORY_UNSENT, 0, h->bytes);
}

/* ---- the queues ---- */

static void claim_ahead_free(struct claim_ahead *a) {
    timer_stop(&a->look);
    list_remove(&a->in_all);
    a->q->ahead = NULL;
    a->q->users--;
    free(a);
}

static void claim_ahead_rest(struct claim_ahead *a, int64_t us) {
    a->demand = 0;
    a->given = 0;
    a->rest_us = us;
    a->rest_until = clock_mono() + us;
}

/* While a command waits for the jobs ahead, no more are claimed, so that its wait ends. */
static bool claim_ahead_rests(const struct claim_ahead *a) {
    return a->rest_until > clock_mono() || !list_empty(&a->waiters);
}

static int64_t next_rest_us(const struct claim_ahead *a, size_t returned) {
    if (a->rest_us == 0 || a->given >= GIVEN_LEAST * returned)
        return REST_US;
    return 2 * a->rest_us < REST_MOST_US ? 2 * a->rest_us : REST_MOST_US;
}

/* Puts back the jobs ahead. Jobs that are being claimed are put back when they arrive. */
static void claim_ahead_end(struct claim_ahead *a) {
    size_t count = a->count;

    ahead_put_back_all(a);
    if (!claim_ahead_rests(a))
        claim_ahead_rest(a, next_rest_us(a, count));
}

static int64_t next_look_us(const struct claim_ahead *a) {
    const struct ahead_job *h = ahead_first(a);

    if (h != NULL && h->since_us + CLAIM_AHEAD_KEEP_US > clock_mono())
        return h->since_us + CLAIM_AHEAD_KEEP_US;
    return clock_mono() + CLAIM_AHEAD_KEEP_US;
}

/* Its rest does not matter if no queue has jobs ahead. */
static bool is_forgotten(const struct claim_ahead *a) {
    return !a->used && a->count == 0 && ahead_is_settled(a) && !(config.claim_ahead && claim_ahead_rests(a));
}

/* Puts back all jobs if no request took the first one in time. A queue that has not been used since the last look is
 * forgotten. */
static void on_look(struct timer *t) {
    struct claim_ahead *a = CONTAINER_OF(t, struct claim_ahead, look);
    const struct ahead_job *h = ahead_first(a);

    if (h != NULL && !ahead_is_fresh(h))
        claim_ahead_end(a);
    if (is_forgotten(a)) {
        claim_ahead_free(a);
        return;
    }
    a->used = false;
    timer_set(t, next_look_us(a), on_look);
}

static struct claim_ahead *claim_ahead_new(struct queue *q) {
    struct claim_ahead *a = xcalloc(1, sizeof *a);

    a->q = q;
    q->ahead = a;
    q->users++;
    list_init(&a->jobs);
    list_init(&a->waiters);
    list_push_back(&ahead.all, &a->in_all);
    timer_set(&a->look, clock_mono() + CLAIM_AHEAD_KEEP_US, on_look);
    return a;
}

static bool claim_ahead_is_allowed(const struct queue *q) {
    return config.claim_ahead && !ahead.stopped && !q->limits->is_held_back && !queue_is_shut(q) &&
           !node_has_peers() && q->work->adds.of_started == 0;
}

/* ---- planning ---- */

void claim_ahead_note(struct queue *q, size_t requests) {
    if (q->ahead == NULL && (requests < REQUESTS_LEAST || !claim_ahead_is_allowed(q)))
        return;
    if (q->ahead == NULL)
        (void)claim_ahead_new(q);
    q->ahead->taken += requests;
}

static size_t ahead_most(const struct queue *q) {
    size_t most = QUEUE_BYTES_MOST / queue_job_bytes(q);

    return most < JOBS_MOST ? most : JOBS_MOST;
}

/* While this transaction and the next one run, the requests take the jobs of two transactions. A claim brings twice as
 * many, so that not each transaction needs a claim. The backlog must be twice as large again, so that requests that take
 * no jobs ahead find jobs, too. */
static size_t rows_ahead(const struct claim_ahead *a) {
    size_t most = ahead_most(a->q), low = 2 * a->demand, wanted = 4 * a->demand;
    size_t has = a->count + a->coming;
    int64_t backlog = queue_budget(a->q) - a->q->work->claims.planned;

    wanted = wanted < most ? wanted : most;
    if (a->demand < REQUESTS_LEAST || has >= low || has >= wanted || !claim_ahead_is_allowed(a->q) ||
        claim_ahead_rests(a) || ahead.bytes >= BYTES_MOST)
        return 0;
    return backlog < 2 * (int64_t)wanted ? 0 : wanted - has;
}

void claim_ahead_plan(size_t (*plan)(struct queue *q, size_t rows)) {
    LIST_EACH_SAFE(node, &ahead.all) {
        struct claim_ahead *a = LIST_ENTRY(node, struct claim_ahead, in_all);
        size_t rows;

        a->used |= a->taken > 0;
        a->demand = a->taken > a->demand ? a->taken : (a->demand + a->taken) / 2;
        a->taken = 0;
        rows = rows_ahead(a);
        if (rows > 0)
            a->coming += plan(a->q, rows);
    }
}

void claim_ahead_ended(struct queue *q, size_t rows) {
    q->ahead->coming -= rows;
    run_if_settled(q->ahead);
}

/* ---- taking ---- */

/* A crash of the server would lose a job with RETRY 0, and would end the last attempt of another. */
static bool may_be_ahead(const struct job *job) {
    return job->retry != 0 && !job->last;
}

void claim_ahead_keep(const struct job *job) {
    struct claim_ahead *a = job->q->ahead;

    if (!may_be_ahead(job))
        claim_ahead_rest(a, REST_MOST_US);
    if (claim_ahead_rests(a) || ahead.stopped) {
        put_back_job(a, job);
        return;
    }
    lease_add_ahead(job->key, job->ready_at);
    ahead_add(a, job);
    queue_signal(job->q);
}

/* The first job that may be given. Removes those before it whose time is over. A job that a statement is changing stays
 * until the statement has ended. */
static struct ahead_job *ahead_find(struct claim_ahead *a) {
    LIST_EACH_SAFE(node, &a->jobs) {
        struct ahead_job *h = LIST_ENTRY(node, struct ahead_job, node);

        if (is_leased_still(h) && lease_is_held(h->job.key.id))
            continue;
        if (is_leased_still(h) && ahead_is_fresh(h))
            return h;
        ahead_put_back(a, h);
    }
    return NULL;
}

static bool give_from(struct taker *taker, const struct queue *q) {
    struct claim_ahead *a = q == NULL ? NULL : q->ahead;
    struct ahead_job *h;

    if (a == NULL || a->count == 0 || !claim_ahead_is_allowed(q) || (h = ahead_find(a)) == NULL)
        return false;
    a->taken++;
    a->given++;
    stats.jobs_claimed_ahead++;
    ahead_remove(a, h);
    taker_claim(taker);
    taker_deliver(taker, &h->job, 1);
    ahead_free(h);
    return true;
}

/* Is it a GETJOB? Its client may have gone. */
static bool may_get_job(const struct taker *taker) {
    return taker->kind == NULL && taker->client != NULL;
}

bool claim_ahead_give(struct taker *taker) {
    return may_get_job(taker) && taker->wait_count == 1 && (taker->count == 1 || taker->has_waited) &&
           give_from(taker, taker->waits[0].from.q);
}

bool claim_ahead_give_rest(struct taker *taker) {
    if (list_empty(&ahead.all) || !may_get_job(taker))
        return false;
    for (size_t i = 0; i < taker->wait_count; i++) {
        struct queue *q = taker->waits[i].from.q;

        if (q != NULL && q->ahead != NULL && !queue_is_awaited(q) && give_from(taker, q))
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

static void put_back_and_rest(struct queue *q) {
    if (q->ahead != NULL && (q->ahead->count > 0 || q->ahead->coming > 0))
        claim_ahead_end(q->ahead);
}

bool claim_ahead_return(struct queue *q, struct row_waiter *w) {
    put_back_and_rest(q);
    if (q->ahead == NULL || ahead_is_settled(q->ahead))
        return true;
    list_push_back(&q->ahead->waiters, &w->node);
    return false;
}

/* Lists give a job with a negative ID before all others of its rank. */
void claim_ahead_note_ready(struct queue *q, struct job_key key) {
    const struct ahead_job *last;

    if (q->ahead == NULL || list_empty(&q->ahead->jobs))
        return;
    last = LIST_ENTRY(q->ahead->jobs.prev, const struct ahead_job, node);
    if (key.rank < last->job.key.rank || key.id < 0)
        put_back_and_rest(q);
}

void claim_ahead_stop(void) {
    ahead.stopped = true;
    LIST_EACH_SAFE(node, &ahead.all)
        ahead_put_back_all(LIST_ENTRY(node, struct claim_ahead, in_all));
}
