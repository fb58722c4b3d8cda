/* Waiting requests: they block, are served in order of arrival, time out and end. */
#include "queue/waiters.h"
#include "queue/follow_up.h"
#include "queue/queue_ready.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"

#define WAITERS_MAX_TRIES 5
/* A request that does not wait is held for so long at most, for example without the database. */
#define HELD_MOST_US US_PER_S

static struct {
    struct fair_list fresh; /* users take turns, by the number of sources */
    struct list held; /* requests that do not wait, until follow-ups have ended; ordered by after_follow_up */
    struct list unsettled; /* requests whose patterns are not settled; pattern_is_settled() */
    uint64_t arrivals;
    size_t blocked;
    unsigned expected; /* enum waiters_expected */
} waiters;

static void on_settled(struct queue_pattern *pattern);
static void on_follow_ups_ended(void);
static void on_timeout(struct timer *t);

void waiters_init(void) {
    fair_list_init(&waiters.fresh);
    list_init(&waiters.held);
    waiters.expected = 0;
    list_init(&waiters.unsettled);
    patterns_on_settled(on_settled);
    follow_ups_on_ended(on_follow_ups_ended);
}

size_t waiters_blocked(void) {
    return waiters.blocked;
}

/* The memory of sources without a row, which exist because requests wait for them. Each request counts their
 * whole memory. */
static size_t rowless_bytes(const struct taker_source *sources, size_t count) {
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        if (sources[i].q != NULL && sources[i].q->id == 0)
            bytes += queue_memory(sources[i].q);
    return bytes;
}

struct taker *taker_new(struct req *r, const struct taker_source *sources, size_t count) {
    struct taker *taker = req_alloc(r, sizeof *taker + count * sizeof(struct wait));

    taker->req = r;
    taker->client = r->client;
    taker->client->taker = taker;
    taker->arrival = ++waiters.arrivals;
    fair_node_init(&taker->in_fresh);
    taker->in_fresh.user = r->task.turn.user;
    taker->wait_count = count;
    for (size_t i = 0; i < count; i++) {
        taker->waits[i].from = sources[i];
        taker->waits[i].taker = taker;
        if (sources[i].q != NULL)
            sources[i].q->users++;
        list_init(&taker->waits[i].node);
    }
    req_hold(r, rowless_bytes(sources, count));
    r->data = taker;
    return taker;
}

static void arm_deadline(struct taker *taker) {
    if (taker->deadline_us != 0 && !timer_is_set(&taker->timeout))
        timer_set(&taker->timeout, taker->deadline_us, on_timeout);
}

void taker_start(struct taker *taker) {
    taker->state = TAKER_FRESH;
    arm_deadline(taker);
    fair_add(&waiters.fresh, &taker->in_fresh, taker->wait_count);
}

struct taker *taker_next_fresh(void) {
    struct fair_node *n;

    if (fair_list_is_empty(&waiters.fresh))
        return NULL;
    n = fair_first(&waiters.fresh);
    fair_take(n);
    return CONTAINER_OF(n, struct taker, in_fresh);
}

void taker_put_back(struct taker *taker) {
    fair_put_back(&waiters.fresh, &taker->in_fresh);
}

/* The first of its queues that accept() accepts, or NULL. */
static struct queue *taker_find_queue(const struct taker *taker, bool (*accept)(struct queue *q)) {
    for (size_t i = 0; i < taker->wait_count; i++) {
        struct taker_source from = taker->waits[i].from;
        struct queue *q = from.q == NULL   ? pattern_find(from.pattern, accept)
                          : accept(from.q) ? from.q
                                           : NULL;

        if (q != NULL)
            return q;
    }
    return NULL;
}

struct queue *taker_find_before(const struct taker *taker, const struct queue *q,
                                bool (*accept)(struct queue *q)) {
    for (size_t i = 0; i < taker->wait_count && taker->order == TAKER_STRICT; i++) {
        struct taker_source from = taker->waits[i].from;
        struct queue *found = from.q;

        if (from.q == q || (from.q == NULL && pattern_has(from.pattern, q)))
            return NULL;
        if (from.q == NULL)
            found = pattern_find(from.pattern, accept);
        else if (!accept(from.q))
            found = NULL;
        if (found != NULL)
            return found;
    }
    return NULL;
}

static bool has_budget(struct queue *q) {
    return queue_budget(q) > 0;
}

bool taker_has_budget(const struct taker *taker) {
    return taker_find_queue(taker, has_budget) != NULL;
}

/* ---- the lists of the sources ---- */

static struct taker *taker_of(struct list *node) {
    return LIST_ENTRY(node, struct wait, node)->taker;
}

/* Inserts w by arrival. New requests go to the end. A request whose claim found nothing returns to its old
 * place, which is nearly always the front. */
static void waiters_insert(struct list *waiters_of, struct wait *w) {
    struct list *first = waiters_of->next;
    struct list *before = waiters_of;

    if (first != before && taker_of(first)->arrival > w->taker->arrival)
        before = first;
    while (before->prev != waiters_of && taker_of(before->prev)->arrival > w->taker->arrival)
        before = before->prev;
    list_insert_before(before, &w->node);
}

static void join_queue(struct wait *w, struct queue *q) {
    if (q->work->waiting.joined_by != w->taker->arrival) {
        waiters_insert(&queue_work(q)->waiting.list, w);
        queue_work(q)->waiting.joined_by = w->taker->arrival;
        queue_work(q)->waiting.count++;
    }
    if (queue_may_give(q))
        queue_signal(q);
}

/* Signals all queues that may have jobs, because the first of them may serve other requests. */
static bool signal_only(struct queue *q) {
    if (queue_may_give(q))
        queue_signal(q);
    return false;
}

static void join_pattern(struct wait *w, struct queue_pattern *pattern) {
    if (pattern->joined_by != w->taker->arrival) {
        waiters_insert(&pattern->waiters, w);
        pattern->joined_by = w->taker->arrival;
        if (pattern->waiter_count++ == 0)
            pattern_set_waiting(pattern, true);
    }
    (void)pattern_find(pattern, signal_only);
}

static void leave_pattern(struct queue_pattern *pattern) {
    pattern->joined_by = 0;
    if (--pattern->waiter_count == 0)
        pattern_set_waiting(pattern, false);
}

static void leave_all(struct taker *taker) {
    for (size_t i = 0; i < taker->wait_count; i++) {
        struct wait *w = &taker->waits[i];

        if (list_empty(&w->node))
            continue;
        list_remove(&w->node);
        if (w->from.q == NULL) {
            leave_pattern(w->from.pattern);
            continue;
        }
        queue_work(w->from.q)->waiting.count--;
        queue_work(w->from.q)->waiting.joined_by = 0;
    }
    waiters.blocked--;
    if (taker->client != NULL)
        taker->client->blocked = false;
}

/* ---- ends ---- */

/* Ends the request. Its reply is complete. */
static void taker_end(struct taker *taker) {
    const struct taker_kind *kind = taker->kind;
    struct req *r = taker->req;

    if (taker->state == TAKER_WAITING)
        leave_all(taker);
    taker->state = TAKER_DONE;
    fair_remove(&taker->in_fresh);
    list_remove(&taker->in_fresh.node);
    timer_stop(&taker->timeout);
    for (size_t i = 0; i < taker->wait_count; i++) {
        if (taker->waits[i].from.q != NULL)
            queue_unwait(taker->waits[i].from.q);
        else
            pattern_leave(taker->waits[i].from.pattern);
    }
    free(taker->jobs);
    taker->jobs = NULL;
    if (taker->client != NULL)
        taker->client->taker = NULL;
    /* ended() may end the request, which frees taker. */
    if (kind != NULL)
        kind->ended(taker);
    if (kind == NULL || !kind->goes_on)
        req_end(r);
}

static void waiters_reply_nothing(struct taker *taker) {
    if (taker->kind != NULL)
        taker->kind->reply_nothing(taker);
    else
        reply_null_array(taker->req);
}

void taker_end_empty(struct taker *taker) {
    waiters_reply_nothing(taker);
    taker_end(taker);
}

static void taker_end_error(struct taker *taker, const char *error) {
    reply_error(taker->req, "%s", error);
    taker_end(taker);
}

static void reply_unblocked(struct taker *taker, bool error) {
    if (error)
        reply_error(taker->req, WAITERS_UNBLOCKED);
    else
        waiters_reply_nothing(taker);
}

static void end_unblocked(struct taker *taker, bool error) {
    reply_unblocked(taker, error);
    taker_end(taker);
}

/* ---- requests that do not wait ---- */

static void taker_start_or_wait(struct taker *taker);

/* The number of the last follow-up that may bring it a job. */
static uint64_t taker_last_follow_up(const struct taker *taker) {
    uint64_t last = 0;

    for (size_t i = 0; i < taker->wait_count; i++) {
        const struct queue *q = taker->waits[i].from.q;
        uint64_t number = q != NULL && q->id == 0 ? 0 : follow_ups_last(q != NULL ? q->id : 0);

        if (number > last)
            last = number;
    }
    return last;
}

static void on_held_too_long(struct timer *t) {
    taker_end_empty(CONTAINER_OF(t, struct taker, timeout));
}

static bool taker_must_be_held(const struct taker *taker) {
    return taker->nohang && taker->client != NULL &&
           (waiters.expected != 0 || !follow_ups_have_ended(taker->after_follow_up));
}

static void taker_hold(struct taker *taker) {
    struct list *before = &waiters.held;

    while (before->prev != &waiters.held &&
           LIST_ENTRY(before->prev, struct taker, in_fresh.node)->after_follow_up > taker->after_follow_up)
        before = before->prev;
    list_insert_before(before, &taker->in_fresh.node);
    taker->state = TAKER_FRESH;
    if (taker->held_until_us == 0)
        taker->held_until_us = clock_mono() + HELD_MOST_US;
    timer_set(&taker->timeout, taker->held_until_us, on_held_too_long);
}

static void on_follow_ups_ended(void) {
    while (!list_empty(&waiters.held)) {
        struct taker *taker = LIST_ENTRY(waiters.held.next, struct taker, in_fresh.node);

        if (taker_must_be_held(taker))
            return;
        list_remove(&taker->in_fresh.node);
        timer_stop(&taker->timeout);
        taker_start_or_wait(taker);
    }
}

/* All requests that do not wait look for jobs. Requests that find no job are held again until the same time. */
static void held_look_again(void) {
    struct list looking = { &looking, &looking }, *node;

    while ((node = list_pop_front(&waiters.held)) != NULL)
        list_push_back(&looking, node);
    while ((node = list_pop_front(&looking)) != NULL) {
        struct taker *taker = LIST_ENTRY(node, struct taker, in_fresh.node);

        timer_stop(&taker->timeout);
        taker_start_or_wait(taker);
    }
}

static void signal_all(void) {
    QUEUE_EACH(q)
    if (queue_may_give(q))
        queue_signal(q);
}

void waiters_expect(enum waiters_expected what, bool on) {
    bool ends = !on && (waiters.expected & what) != 0;

    waiters.expected = on ? waiters.expected | what : waiters.expected & ~(unsigned)what;
    if (ends && what == WAITERS_SCANS)
        signal_all();
    if (ends)
        held_look_again();
}

/* Queues that were signalled are signalled again when the scans are not expected any more. */
bool waiters_hold_for_scans(void) {
    struct taker *taker;

    if ((waiters.expected & WAITERS_SCANS) == 0)
        return false;
    while (queue_next_signalled() != NULL)
        continue;
    while ((taker = taker_next_fresh()) != NULL)
        taker_wait(taker);
    return true;
}

/* ---- waiting ---- */

static bool is_late(const struct taker *taker) {
    return taker->deadline_us != 0 && taker->deadline_us <= clock_mono();
}

void taker_wait(struct taker *taker) {
    if (taker_must_be_held(taker)) {
        taker_hold(taker);
        return;
    }
    if (taker->client == NULL || taker->nohang || is_late(taker)) {
        taker_end_empty(taker);
        return;
    }
    if (node_self()->leaving) {
        taker_end_error(taker, WAITERS_LEAVING);
        return;
    }
    taker->state = TAKER_WAITING;
    taker->has_waited = true;
    arm_deadline(taker);
    taker->client->blocked = true;
    waiters.blocked++;
    for (size_t i = 0; i < taker->wait_count; i++) {
        struct wait *w = &taker->waits[i];

        if (w->from.q != NULL)
            join_queue(w, w->from.q);
        else
            join_pattern(w, w->from.pattern);
    }
}

/* A claim for another request may bring more jobs than that request takes. */
static bool is_claimed(struct queue *q) {
    return q->work->claims.rows > 0;
}

/* A peer may have added jobs whose notification has not arrived. A request that waits gets it later. NOHANG does not wait,
 * and STRICT takes no other job before, so their queues are scanned. Queues of patterns can be too many for that. */
static void look_anyway(const struct taker *taker) {
    for (size_t i = 0; i < taker->wait_count; i++)
        if (taker->waits[i].from.q != NULL && taker->waits[i].from.q->id != 0)
            position_expect(&taker->waits[i].from.q->scan);
}

static bool is_settled(const struct taker *taker) {
    for (size_t i = 0; i < taker->wait_count; i++)
        if (taker->waits[i].from.q == NULL && !pattern_is_settled(taker->waits[i].from.pattern))
            return false;
    return true;
}

/* A pattern that was settled before has waiters. */
static void on_settled(struct queue_pattern *pattern) {
    if (pattern->waiter_count > 0)
        (void)pattern_find(pattern, signal_only);
    LIST_EACH_SAFE(node, &waiters.unsettled) {
        struct taker *taker = LIST_ENTRY(node, struct taker, in_fresh.node);

        if (!is_settled(taker))
            continue;
        list_remove(node);
        taker_begin(taker);
    }
}

void taker_begin(struct taker *taker) {
    if (!is_settled(taker)) {
        arm_deadline(taker);
        list_push_back(&waiters.unsettled, &taker->in_fresh.node);
        return;
    }
    if ((taker->nohang || taker->order == TAKER_STRICT) && node_has_peers())
        look_anyway(taker);
    taker->after_follow_up = taker->nohang && TAKER_LEASES(taker) ? taker_last_follow_up(taker) : 0;
    taker_start_or_wait(taker);
}

static void taker_start_or_wait(struct taker *taker) {
    if (taker_has_budget(taker) || taker_find_queue(taker, is_claimed) != NULL)
        taker_start(taker);
    else
        taker_wait(taker);
}

static bool is_any(const struct taker *taker) {
    (void)taker;
    return true;
}

static bool takes_jobs(const struct taker *taker) {
    return !taker_is_watch(taker);
}

static struct taker *first_accepted(const struct list *waiters_of,
                                    bool (*accept)(const struct taker *taker)) {
    LIST_EACH(node, waiters_of)
        if (accept(taker_of(node)))
            return taker_of(node);
    return NULL;
}

static struct taker *earlier(struct taker *a, struct taker *b) {
    return a == NULL || (b != NULL && b->arrival < a->arrival) ? b : a;
}

/* The first waiter by name or by pattern. Patterns do not count if the row of the queue is being deleted. */
static struct taker *waiters_first_waiting(struct queue *q, bool (*accept)(const struct taker *taker)) {
    struct taker *taker = first_accepted(&q->work->waiting.list, accept);
    struct queue_pattern *pattern;
    uint32_t from = 0;

    while (!q->work->row.opening && (pattern = patterns_next_waiting(q, &from)) != NULL)
        taker = earlier(taker, first_accepted(&pattern->waiters, accept));
    return taker;
}

/* A client that disconnected in this turn still has its request in the list. If a client disconnects later,
 * the jobs that are claimed for it are put back. */
static struct taker *waiters_first_connected(struct queue *q, bool (*accept)(const struct taker *taker)) {
    struct taker *taker;

    while ((taker = waiters_first_waiting(q, accept)) != NULL) {
        if (taker->client->state != CLIENT_DEAD)
            return taker;
        waiters_client_gone(taker->client);
    }
    return NULL;
}

struct taker *waiters_first(struct queue *q) {
    return waiters_first_connected(q, is_any);
}

struct taker *waiters_first_taking(struct queue *q) {
    return waiters_first_connected(q, takes_jobs);
}

struct taker *taker_find_older(const struct taker *taker, struct queue *q) {
    struct taker *older = queue_is_awaited(q) ? waiters_first_taking(q) : NULL;

    if (older == NULL || older->kind != NULL || older->arrival >= taker->arrival)
        return NULL;
    return taker_find_before(older, q, has_budget) == NULL ? older : NULL;
}

struct taker *waiters_find_taker(struct queue *q) {
    struct taker *taker;

    if (!queue_is_awaited(q) || q->work->adds.sent > 0 || q->work->claims.rows > 0 || q->counters.ahead > 0 ||
        queue_is_shut(q) || q->limits->is_held_back || queue_budget(q) > 0)
        return NULL;
    taker = waiters_first(q);
    return taker != NULL && taker_find_before(taker, q, has_budget) == NULL ? taker : NULL;
}

void taker_claim(struct taker *taker) {
    if (taker->state == TAKER_WAITING)
        leave_all(taker);
    taker->state = TAKER_CLAIMING;
}

size_t taker_add_place(struct taker *taker) {
    if ((taker->places & (taker->places - 1)) == 0)
        taker->jobs =
            xrealloc(taker->jobs, (taker->places == 0 ? 1 : 2 * taker->places) * sizeof *taker->jobs);
    taker->jobs[taker->places] = (struct job){ 0 };
    taker->pending++;
    return taker->places++;
}

/* ---- results ---- */

static void deliver_own(struct taker *taker, const struct job *jobs, size_t count) {
    taker->kind->deliver(taker, jobs, count);
    jobs_note_delivered(jobs, count);
}

void taker_deliver(struct taker *taker, const struct job *jobs, size_t count) {
    if (taker->kind != NULL)
        deliver_own(taker, jobs, count);
    else
        jobs_deliver(taker->req, taker->client, jobs, count, taker->form);
    taker_end(taker);
}

void taker_refuse(struct taker *taker, const struct op_error *err) {
    char text[256];
    int len = snprintf(text, sizeof text, "DBERR the database refused the claim: %s (SQLSTATE %s)",
                       err->message, err->sqlstate);

    if (taker->refusal == NULL)
        taker->refusal = memcpy(req_alloc(taker->req, sizeof text), text,
                                len < (int)sizeof text ? (size_t)len + 1 : sizeof text);
}

/* STRICT tries one queue after another. */
static unsigned tries_of(const struct taker *taker) {
    return WAITERS_MAX_TRIES + (taker->order == TAKER_STRICT ? (unsigned)taker->wait_count : 0);
}

/* A place is empty if a claim brought fewer rows than requested. */
void taker_finish(struct taker *taker) {
    size_t count = 0;

    for (size_t i = 0; i < taker->places; i++)
        if (taker->jobs[i].q != NULL)
            taker->jobs[count++] = taker->jobs[i];
    taker->places = 0;
    if (count > 0) {
        taker_deliver(taker, taker->jobs, count);
        return;
    }
    free(taker->jobs);
    taker->jobs = NULL;
    if (taker->refusal != NULL) {
        taker_end_error(taker, taker->refusal);
        return;
    }
    if (taker->unblocked) {
        end_unblocked(taker, taker->with_error);
        return;
    }
    /* The job of a redelivery key may have been deleted, and other jobs may be there. The number of tries is
     * bounded, because peers may take all of them. */
    if (!taker->has_waited && taker->client != NULL && ++taker->tries < tries_of(taker) &&
        taker_has_budget(taker))
        taker_start(taker);
    else
        taker_wait(taker);
}

/* ---- disconnection, CLIENT UNBLOCK, timeouts ---- */

/* The request goes on without a client. The jobs that are being claimed for it are put back. */
static void abandon(struct taker *taker) {
    timer_stop(&taker->timeout);
    taker->client->taker = NULL;
    taker->client = NULL;
}

bool waiters_has(const struct client *c) {
    return c->list_take != NULL || (c->taker != NULL && !c->taker->nohang);
}

/* A pattern without a user matches the queues of all users. */
static bool may_take_from(const struct taker *taker, struct taker_source from) {
    const struct req *r = taker->req;

    if (from.q != NULL)
        return req_may_queue(r, ACL_READ, from.q->name);
    return from.pattern->user != NULL || user_may_all_queues(r->user, r->right);
}

bool waiters_may_go_on(const struct client *c) {
    const struct taker *taker = c->taker;

    for (size_t i = 0; taker != NULL && i < taker->wait_count; i++)
        if (!may_take_from(taker, taker->waits[i].from))
            return false;
    return true;
}

void waiters_client_gone(struct client *c) {
    struct taker *taker = c->taker;

    if (taker == NULL)
        return;
    if (taker->state == TAKER_CLAIMING)
        abandon(taker);
    else
        taker_end(taker);
}

bool waiters_unblock(struct client *c, bool error) {
    struct taker *taker = c->taker;

    if (taker == NULL || taker->nohang || taker->unblocked)
        return false;
    if (taker->state != TAKER_CLAIMING) {
        end_unblocked(taker, error);
        return true;
    }
    if (taker->moves) {
        taker->unblocked = true;
        taker->with_error = error;
        return true;
    }
    /* The claim goes on without a client, and the jobs that it brings are put back. */
    reply_unblocked(taker, error);
    abandon(taker);
    client_detach(taker->req);
    return true;
}

void waiters_end_all(const char *error) {
    LIST_EACH_SAFE(node, client_list(CLIENT_OPEN)) {
        struct taker *taker = LIST_ENTRY(node, struct client, in_state)->taker;

        if (taker == NULL || taker->state != TAKER_WAITING)
            continue;
        if (error != NULL)
            taker_end_error(taker, error);
        else
            taker_end_empty(taker);
    }
}

/* A list pop that is claiming does not time out. Its claim removes the jobs, so other requests can no longer
 * get them. A request that finds a job at once gets it, however short its timeout is. */
static bool is_being_served(const struct taker *taker) {
    return !TAKER_LEASES(taker) && !taker->kind->watches && taker->state != TAKER_WAITING &&
           batch_connected(CONN_WRITE);
}

static void on_timeout(struct timer *t) {
    struct taker *taker = CONTAINER_OF(t, struct taker, timeout);

    if (is_being_served(taker))
        return;
    if (taker->state != TAKER_CLAIMING) {
        taker_end_empty(taker);
        return;
    }
    abandon(taker);
    waiters_reply_nothing(taker);
    client_detach(taker->req);
}
