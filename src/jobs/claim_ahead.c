/* Claim ahead: keeps leased jobs for the next requests of clients that take single jobs of a backlog. */
#include "jobs/claim_ahead.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/stats.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "jobs/undelivered.h"
#include "queue/lease.h"

/* The fewest requests in one transaction that make it worthwhile. */
#define REQUESTS_LEAST 8
/* The most jobs ahead of one queue, with those that are being claimed. */
#define JOBS_MOST 256
/* The most bytes of the jobs ahead of one queue, and of all queues. */
#define QUEUE_BYTES_MOST (1024 * 1024)
#define BYTES_MOST (16 * 1024 * 1024)
/* After a job ahead was put back, its queue rests for this time. */
#define REST_US US_PER_S

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
    struct list jobs;   /* struct ahead_job, the oldest first */
    size_t count;       /* number of jobs */
    size_t coming;      /* rows of claims that have not ended */
    size_t taken;       /* jobs for single requests since the last transaction was planned */
    size_t demand;      /* the same for the transactions before: rises at once, falls slowly */
    bool used;          /* since the last look */
    int64_t rest_until; /* clock_mono() */
    struct timer look;
};

static struct {
    struct list all;
    size_t bytes;
    bool stopped;
} ahead = { .all = { &ahead.all, &ahead.all } };

/* ---- the jobs ---- */

static void ahead_free(struct claim_ahead *a, struct ahead_job *h) {
    list_remove(&h->node);
    a->count--;
    ahead.bytes -= h->bytes;
    memory_change(NULL, MEMORY_UNSENT, h->bytes, 0);
    free((char *)h->job.body.ptr);
    free((char *)h->job.headers.ptr);
    free(h);
}

static struct ahead_job *ahead_first(const struct claim_ahead *a) {
    return list_empty(&a->jobs) ? NULL : LIST_ENTRY(a->jobs.next, struct ahead_job, node);
}

/* A command with the ID may have ended the lease. Then the server neither delivers the job nor puts it back. */
static bool is_leased_still(const struct ahead_job *h) {
    return lease_is_of_row(h->job.key, h->job.ready_at);
}

static void ahead_put_back(struct claim_ahead *a, struct ahead_job *h) {
    if (is_leased_still(h))
        undelivered_return(&h->job, false);
    ahead_free(a, h);
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

static void claim_ahead_rest(struct claim_ahead *a) {
    a->demand = 0;
    a->rest_until = clock_mono() + REST_US;
}

/* Puts back the jobs that no request took in time. A queue that has not been used since the last look is forgotten. */
static void on_look(struct timer *t) {
    struct claim_ahead *a = CONTAINER_OF(t, struct claim_ahead, look);
    int64_t now = clock_mono();
    struct ahead_job *h;

    while ((h = ahead_first(a)) != NULL && h->since_us + CLAIM_AHEAD_KEEP_US <= now) {
        ahead_put_back(a, h);
        claim_ahead_rest(a);
    }
    if (!a->used && a->count == 0 && a->coming == 0 && a->rest_until <= now) {
        claim_ahead_free(a);
        return;
    }
    a->used = false;
    timer_set(t, (h != NULL ? h->since_us : now) + CLAIM_AHEAD_KEEP_US, on_look);
}

static struct claim_ahead *claim_ahead_new(struct queue *q) {
    struct claim_ahead *a = xcalloc(1, sizeof *a);

    a->q = q;
    q->ahead = a;
    q->users++;
    list_init(&a->jobs);
    list_push_back(&ahead.all, &a->in_all);
    timer_set(&a->look, clock_mono() + CLAIM_AHEAD_KEEP_US, on_look);
    return a;
}

static bool claim_ahead_is_allowed(const struct queue *q) {
    return config.claim_ahead && !ahead.stopped && !q->limits.is_held_back && !queue_is_shut(q);
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
 * many, so that not each transaction needs a claim. The backlog must be twice as large again, so that requests of other
 * servers find jobs, too. */
static size_t rows_ahead(const struct claim_ahead *a) {
    size_t most = ahead_most(a->q), low = 2 * a->demand, wanted = 4 * a->demand;
    size_t has = a->count + a->coming;
    int64_t backlog = queue_budget(a->q) - a->q->claims.planned;

    wanted = wanted < most ? wanted : most;
    if (a->demand < REQUESTS_LEAST || has >= low || has >= wanted || !claim_ahead_is_allowed(a->q) ||
        a->rest_until > clock_mono() || ahead.bytes >= BYTES_MOST)
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
}

/* ---- taking ---- */

void claim_ahead_keep(const struct job *job) {
    struct claim_ahead *a = job->q->ahead;

    if (job->retry == 0)
        claim_ahead_rest(a);
    if (job->retry == 0 || ahead.stopped) {
        undelivered_return(job, false);
        return;
    }
    lease_add(job->key, job->ready_at);
    if (job->last)
        lease_set_last(job->key.id);
    ahead_add(a, job);
    queue_signal(job->q);
}

/* If the server stood still, the lease may be over. Then it ends like any other, and another server may have the job. */
static bool may_be_given(const struct ahead_job *h) {
    return is_leased_still(h) && h->job.ready_at > clock_db();
}

/* GETJOB of one job of one queue. */
static bool takes_job_ahead(const struct get *g) {
    return g->kind == NULL && g->wait_count == 1 && g->client != NULL && (g->count == 1 || g->has_waited);
}

bool claim_ahead_give(struct get *g) {
    const struct queue *q = g->waits[0].from.q;
    struct claim_ahead *a = q == NULL ? NULL : q->ahead;
    struct ahead_job *h;

    if (a == NULL || a->count == 0 || !takes_job_ahead(g) || !claim_ahead_is_allowed(q))
        return false;
    while ((h = ahead_first(a)) != NULL && !may_be_given(h))
        ahead_free(a, h);
    if (h == NULL)
        return false;
    a->taken++;
    stats.jobs_claimed_ahead++;
    get_claim(g);
    get_deliver(g, &h->job, 1);
    ahead_free(a, h);
    return true;
}

bool claim_ahead_give_new(struct get *g) {
    struct queue *q = g->waits[0].from.q;

    return q != NULL && q->ahead != NULL && !queue_is_awaited(q) && claim_ahead_give(g);
}

void claim_ahead_stop(void) {
    ahead.stopped = true;
    LIST_EACH_SAFE(node, &ahead.all) {
        struct claim_ahead *a = LIST_ENTRY(node, struct claim_ahead, in_all);

        while (ahead_first(a) != NULL)
            ahead_put_back(a, ahead_first(a));
    }
}
