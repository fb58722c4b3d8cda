/* Waiting requests: they block, are served in order of arrival, time out and end. */
#include "queue/waiters.h"
#include "queue/queue_ready.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"

#define MAX_TRIES 5

static struct {
    struct list fresh;
    struct list unsettled; /* requests whose patterns are not settled; pattern_is_settled() */
    uint64_t arrivals;
    size_t blocked;
} waiters;

static void on_settled(struct queue_pattern *pattern);
static void on_timeout(struct timer *t);

void waiters_init(void) {
    list_init(&waiters.fresh);
    list_init(&waiters.unsettled);
    patterns_on_settled(on_settled);
}

size_t waiters_blocked(void) {
    return waiters.blocked;
}

/* The memory of sources without a row, which exist because requests wait for them. Each request counts their
 * whole memory. */
static size_t rowless_bytes(const struct get_source *sources, size_t count) {
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        if (sources[i].q != NULL && sources[i].q->id == 0)
            bytes += queue_memory(sources[i].q);
    return bytes;
}

struct get *get_new(struct req *r, const struct get_source *sources, size_t count) {
    struct get *g = req_alloc(r, sizeof *g + count * sizeof(struct wait));

    g->req = r;
    g->client = r->client;
    g->client->get = g;
    g->arrival = ++waiters.arrivals;
    list_init(&g->in_fresh);
    g->wait_count = count;
    for (size_t i = 0; i < count; i++) {
        g->waits[i].from = sources[i];
        g->waits[i].get = g;
        if (sources[i].q != NULL)
            sources[i].q->users++;
        list_init(&g->waits[i].node);
    }
    req_hold(r, rowless_bytes(sources, count));
    r->data = g;
    return g;
}

static void arm_deadline(struct get *g) {
    if (g->deadline_us != 0 && !timer_is_set(&g->timeout))
        timer_set(&g->timeout, g->deadline_us, on_timeout);
}

void get_start(struct get *g) {
    g->state = GET_FRESH;
    arm_deadline(g);
    list_push_back(&waiters.fresh, &g->in_fresh);
}

struct get *get_next_fresh(void) {
    struct list *node = list_pop_front(&waiters.fresh);

    return node == NULL ? NULL : LIST_ENTRY(node, struct get, in_fresh);
}

void get_put_back(struct get *g) {
    list_push_front(&waiters.fresh, &g->in_fresh);
}

/* The first of its queues that accept() accepts, or NULL. */
static struct queue *get_find_queue(const struct get *g, bool (*accept)(struct queue *q)) {
    for (size_t i = 0; i < g->wait_count; i++) {
        struct get_source from = g->waits[i].from;
        struct queue *q = from.q == NULL   ? pattern_find(from.pattern, accept)
                          : accept(from.q) ? from.q
                                           : NULL;

        if (q != NULL)
            return q;
    }
    return NULL;
}

struct queue *get_find_before(const struct get *g, const struct queue *q, bool (*accept)(struct queue *q)) {
    for (size_t i = 0; i < g->wait_count && g->order == GET_STRICT; i++) {
        struct get_source from = g->waits[i].from;
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

bool get_has_budget(const struct get *g) {
    return get_find_queue(g, has_budget) != NULL;
}

/* ---- the lists of the sources ---- */

static struct get *get_of(struct list *node) {
    return LIST_ENTRY(node, struct wait, node)->get;
}

/* Inserts w by arrival. New requests go to the end. A request whose claim found nothing returns to its old
 * place, which is nearly always the front. */
static void waiters_insert(struct list *waiters_of, struct wait *w) {
    struct list *first = waiters_of->next;
    struct list *before = waiters_of;

    if (first != before && get_of(first)->arrival > w->get->arrival)
        before = first;
    while (before->prev != waiters_of && get_of(before->prev)->arrival > w->get->arrival)
        before = before->prev;
    list_insert_before(before, &w->node);
}

static void join_queue(struct wait *w, struct queue *q) {
    if (q->waiting.joined_by != w->get->arrival) {
        waiters_insert(&q->waiting.list, w);
        q->waiting.joined_by = w->get->arrival;
        q->waiting.count++;
    }
    if (queue_budget(q) > 0)
        queue_signal(q);
}

/* Signals all queues that may have jobs, because the first of them may serve other requests. */
static bool signal_only(struct queue *q) {
    if (queue_budget(q) > 0)
        queue_signal(q);
    return false;
}

static void join_pattern(struct wait *w, struct queue_pattern *pattern) {
    if (pattern->joined_by != w->get->arrival) {
        waiters_insert(&pattern->waiters, w);
        pattern->joined_by = w->get->arrival;
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

static void leave_all(struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++) {
        struct wait *w = &g->waits[i];

        if (list_empty(&w->node))
            continue;
        list_remove(&w->node);
        if (w->from.q == NULL) {
            leave_pattern(w->from.pattern);
            continue;
        }
        w->from.q->waiting.count--;
        w->from.q->waiting.joined_by = 0;
    }
    waiters.blocked--;
    if (g->client != NULL)
        g->client->blocked = false;
}

/* ---- ends ---- */

/* Ends the request. Its reply is complete. */
static void get_end(struct get *g) {
    const struct get_kind *kind = g->kind;
    struct req *r = g->req;

    if (g->state == GET_WAITING)
        leave_all(g);
    g->state = GET_DONE;
    list_remove(&g->in_fresh);
    timer_stop(&g->timeout);
    for (size_t i = 0; i < g->wait_count; i++) {
        if (g->waits[i].from.q != NULL)
            queue_unwait(g->waits[i].from.q);
        else
            pattern_leave(g->waits[i].from.pattern);
    }
    free(g->jobs);
    g->jobs = NULL;
    if (g->client != NULL)
        g->client->get = NULL;
    /* ended() may end the request, which frees g. */
    if (kind != NULL)
        kind->ended(g);
    if (kind == NULL || !kind->goes_on)
        req_end(r);
}

static void waiters_reply_nothing(struct get *g) {
    if (g->kind != NULL)
        g->kind->reply_nothing(g);
    else
        reply_null_array(g->req);
}

void get_end_empty(struct get *g) {
    waiters_reply_nothing(g);
    get_end(g);
}

static void get_end_error(struct get *g, const char *error) {
    reply_error(g->req, "%s", error);
    get_end(g);
}

static void reply_unblocked(struct get *g, bool error) {
    if (error)
        reply_error(g->req, WAITERS_UNBLOCKED);
    else
        waiters_reply_nothing(g);
}

static void end_unblocked(struct get *g, bool error) {
    reply_unblocked(g, error);
    get_end(g);
}

/* ---- waiting ---- */

static bool is_late(const struct get *g) {
    return g->deadline_us != 0 && g->deadline_us <= clock_mono();
}

void get_wait(struct get *g) {
    if (g->client == NULL || g->nohang || is_late(g)) {
        get_end_empty(g);
        return;
    }
    if (node_self()->leaving) {
        get_end_error(g, WAITERS_LEAVING);
        return;
    }
    g->state = GET_WAITING;
    g->has_waited = true;
    arm_deadline(g);
    g->client->blocked = true;
    waiters.blocked++;
    for (size_t i = 0; i < g->wait_count; i++) {
        struct wait *w = &g->waits[i];

        if (w->from.q != NULL)
            join_queue(w, w->from.q);
        else
            join_pattern(w, w->from.pattern);
    }
}

/* A claim for another request may bring more jobs than that request takes. */
static bool is_claimed(struct queue *q) {
    return q->claims.rows > 0;
}

/* A peer may have added jobs whose notification has not arrived. A request that waits gets it later, but
 * NOHANG does not wait, and STRICT takes no other job before. So their queues are scanned. Queues of patterns are not, because they can be too many. */
static void look_anyway(const struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++)
        if (g->waits[i].from.q != NULL && g->waits[i].from.q->id != 0)
            position_expect(&g->waits[i].from.q->scan);
}

static bool is_settled(const struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++)
        if (g->waits[i].from.q == NULL && !pattern_is_settled(g->waits[i].from.pattern))
            return false;
    return true;
}

/* A pattern that was settled before has waiters. */
static void on_settled(struct queue_pattern *pattern) {
    if (pattern->waiter_count > 0)
        (void)pattern_find(pattern, signal_only);
    LIST_EACH_SAFE(node, &waiters.unsettled) {
        struct get *g = LIST_ENTRY(node, struct get, in_fresh);

        if (!is_settled(g))
            continue;
        list_remove(&g->in_fresh);
        get_begin(g);
    }
}

void get_begin(struct get *g) {
    if (!is_settled(g)) {
        arm_deadline(g);
        list_push_back(&waiters.unsettled, &g->in_fresh);
        return;
    }
    if ((g->nohang || g->order == GET_STRICT) && node_has_peers())
        look_anyway(g);
    if (get_has_budget(g) || get_find_queue(g, is_claimed) != NULL)
        get_start(g);
    else
        get_wait(g);
}

static struct get *earlier(struct get *g, struct list *waiters_of) {
    struct get *first = list_empty(waiters_of) ? NULL : get_of(waiters_of->next);

    return g == NULL || (first != NULL && first->arrival < g->arrival) ? first : g;
}

/* The first waiter by name or by pattern. Patterns do not count if the row of the queue is being deleted. */
static struct get *waiters_first_waiting(struct queue *q) {
    struct get *g = earlier(NULL, &q->waiting.list);
    struct queue_pattern *pattern;
    uint32_t from = 0;

    while (!q->row.opening && (pattern = patterns_next_waiting(q, &from)) != NULL)
        g = earlier(g, &pattern->waiters);
    return g;
}

/* A client that disconnected in this turn still has its request in the list. If a client disconnects later,
 * the jobs that are claimed for it are put back. */
struct get *get_first_waiting(struct queue *q) {
    struct get *g;

    while ((g = waiters_first_waiting(q)) != NULL) {
        if (g->client->state != CLIENT_DEAD)
            return g;
        waiters_client_gone(g->client);
    }
    return NULL;
}

struct get *get_find_older(const struct get *g, struct queue *q) {
    struct get *older = queue_is_awaited(q) ? get_first_waiting(q) : NULL;

    if (older == NULL || older->kind != NULL || older->arrival >= g->arrival)
        return NULL;
    return get_find_before(older, q, has_budget) == NULL ? older : NULL;
}

struct get *get_find_taker(struct queue *q) {
    struct get *g;

    if (!queue_is_awaited(q) || q->adds.sent > 0 || q->claims.rows > 0 || queue_is_shut(q) ||
        q->limits.is_held_back || queue_budget(q) > 0)
        return NULL;
    g = get_first_waiting(q);
    return g != NULL && get_find_before(g, q, has_budget) == NULL ? g : NULL;
}

void get_claim(struct get *g) {
    if (g->state == GET_WAITING)
        leave_all(g);
    g->state = GET_CLAIMING;
}

size_t get_add_place(struct get *g) {
    if ((g->places & (g->places - 1)) == 0)
        g->jobs = xrealloc(g->jobs, (g->places == 0 ? 1 : 2 * g->places) * sizeof *g->jobs);
    g->jobs[g->places] = (struct job){ 0 };
    g->pending++;
    return g->places++;
}

/* ---- results ---- */

static void deliver_own(struct get *g, const struct job *jobs, size_t count) {
    g->kind->deliver(g, jobs, count);
    jobs_note_delivered(jobs, count);
}

void get_deliver(struct get *g, const struct job *jobs, size_t count) {
    if (g->kind != NULL)
        deliver_own(g, jobs, count);
    else
        jobs_deliver(g->req, g->client, jobs, count, g->form);
    get_end(g);
}

void get_refuse(struct get *g, const struct op_error *err) {
    char text[256];
    int len = snprintf(text, sizeof text, "DBERR the database refused the claim: %s (SQLSTATE %s)",
                       err->message, err->sqlstate);

    if (g->refusal == NULL)
        g->refusal = memcpy(req_alloc(g->req, sizeof text), text,
                            len < (int)sizeof text ? (size_t)len + 1 : sizeof text);
}

/* STRICT tries one queue after another. */
static unsigned tries_of(const struct get *g) {
    return MAX_TRIES + (g->order == GET_STRICT ? (unsigned)g->wait_count : 0);
}

/* A place is empty if a claim brought fewer rows than requested. */
void get_finish(struct get *g) {
    size_t count = 0;

    for (size_t i = 0; i < g->places; i++)
        if (g->jobs[i].q != NULL)
            g->jobs[count++] = g->jobs[i];
    g->places = 0;
    if (count > 0) {
        get_deliver(g, g->jobs, count);
        return;
    }
    free(g->jobs);
    g->jobs = NULL;
    if (g->refusal != NULL) {
        get_end_error(g, g->refusal);
        return;
    }
    if (g->unblocked) {
        end_unblocked(g, g->with_error);
        return;
    }
    /* The job of a redelivery key may have been deleted, and other jobs may be there. The number of tries is
     * bounded, because peers may take all of them. */
    if (!g->has_waited && g->client != NULL && ++g->tries < tries_of(g) && get_has_budget(g))
        get_start(g);
    else
        get_wait(g);
}

/* ---- disconnection, CLIENT UNBLOCK, timeouts ---- */

/* The request goes on without a client. The jobs that are being claimed for it are put back. */
static void abandon(struct get *g) {
    timer_stop(&g->timeout);
    g->client->get = NULL;
    g->client = NULL;
}

bool waiters_has(const struct client *c) {
    return c->list_take != NULL || (c->get != NULL && !c->get->nohang);
}

void waiters_client_gone(struct client *c) {
    struct get *g = c->get;

    if (g == NULL)
        return;
    if (g->state == GET_CLAIMING)
        abandon(g);
    else
        get_end(g);
}

bool waiters_unblock(struct client *c, bool error) {
    struct get *g = c->get;

    if (g == NULL || g->nohang || g->unblocked)
        return false;
    if (g->state != GET_CLAIMING) {
        end_unblocked(g, error);
        return true;
    }
    if (g->moves) {
        g->unblocked = true;
        g->with_error = error;
        return true;
    }
    /* The claim goes on without a client, and the jobs that it brings are put back. */
    reply_unblocked(g, error);
    abandon(g);
    client_detach(g->req);
    return true;
}

void waiters_end_all(const char *error) {
    LIST_EACH_SAFE(node, client_list(CLIENT_OPEN)) {
        struct get *g = LIST_ENTRY(node, struct client, in_state)->get;

        if (g == NULL || g->state != GET_WAITING)
            continue;
        if (error != NULL)
            get_end_error(g, error);
        else
            get_end_empty(g);
    }
}

/* A list pop that is claiming does not time out. Its claim removes the jobs, so other requests can no longer
 * get them. And a request that finds a job at once gets it, however short its timeout is. It ends soon. */
static bool is_being_served(const struct get *g) {
    return !GET_LEASES(g) && !g->kind->watches && g->state != GET_WAITING && batch_connected(CONN_WRITE);
}

static void on_timeout(struct timer *t) {
    struct get *g = CONTAINER_OF(t, struct get, timeout);

    if (is_being_served(g))
        return;
    if (g->state != GET_CLAIMING) {
        get_end_empty(g);
        return;
    }
    abandon(g);
    waiters_reply_nothing(g);
    client_detach(g->req);
}
