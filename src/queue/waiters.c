/* Waiting requests: they block, are served in order of arrival, time out and end. */
#include "queue/waiters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "queue/job_events.h"
#include "queue/lease.h"

#define MAX_TRIES 5

static struct {
    struct list fresh;
    struct list unsettled; /* requests whose patterns are not settled; glob_is_settled() */
    uint64_t arrivals;
    size_t blocked;
} waiters;

static void on_settled(struct glob *glob);
static void on_timeout(struct timer *t);

void waiters_init(void) {
    list_init(&waiters.fresh);
    list_init(&waiters.unsettled);
    globs_on_settled(on_settled);
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

struct queue *get_find_queue(const struct get *g, bool (*accept)(struct queue *q)) {
    for (size_t i = 0; i < g->wait_count; i++) {
        struct get_source from = g->waits[i].from;
        struct queue *q = from.q == NULL ? pattern_find(from.glob, accept) : accept(from.q) ? from.q : NULL;

        if (q != NULL)
            return q;
    }
    return NULL;
}

static bool has_budget(struct queue *q) {
    return queue_budget(q) > 0;
}

bool get_has_budget(const struct get *g) {
    return get_find_queue(g, has_budget) != NULL;
}

/* ---- waiting ---- */

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

static void join_glob(struct wait *w, struct glob *glob) {
    if (glob->joined_by != w->get->arrival) {
        waiters_insert(&glob->waiters, w);
        glob->joined_by = w->get->arrival;
        if (glob->waiter_count++ == 0)
            pattern_set_waiting(glob, true);
    }
    (void)pattern_find(glob, signal_only);
}

static void leave_glob(struct glob *glob) {
    glob->joined_by = 0;
    if (--glob->waiter_count == 0)
        pattern_set_waiting(glob, false);
}

static void leave_all(struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++) {
        struct wait *w = &g->waits[i];

        if (list_empty(&w->node))
            continue;
        list_remove(&w->node);
        if (w->from.q == NULL) {
            leave_glob(w->from.glob);
            continue;
        }
        w->from.q->waiting.count--;
        w->from.q->waiting.joined_by = 0;
    }
    waiters.blocked--;
    if (g->client != NULL)
        g->client->blocked = false;
}

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
            join_glob(w, w->from.glob);
    }
}

/* A claim for another request may bring more jobs than that request takes. */
static bool is_claimed(struct queue *q) {
    return q->claims.rows > 0;
}

/* A peer may have added jobs whose notification has not arrived. A request that waits gets it later, but
 * NOHANG does not wait. So its queues are scanned. Queues of patterns are not, because they can be too many. */
static void look_anyway(const struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++)
        if (g->waits[i].from.q != NULL && g->waits[i].from.q->id != 0)
            position_expect(&g->waits[i].from.q->scan);
}

static bool is_settled(const struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++)
        if (g->waits[i].from.q == NULL && !glob_is_settled(g->waits[i].from.glob))
            return false;
    return true;
}

/* A pattern that was settled before has waiters. */
static void on_settled(struct glob *glob) {
    if (glob->waiter_count > 0)
        (void)pattern_find(glob, signal_only);
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
    if (g->nohang && node_has_peers())
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
    struct glob *glob;
    uint32_t from = 0;

    while (!q->row.opening && (glob = patterns_next_waiting(q, &from)) != NULL)
        g = earlier(g, &glob->waiters);
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

    return older != NULL && older->kind == NULL && older->arrival < g->arrival ? older : NULL;
}

struct get *get_find_taker(struct queue *q) {
    if (!queue_is_awaited(q) || q->adds.sent > 0 || q->claims.rows > 0 || queue_is_shut(q) ||
        q->limits.limited || queue_budget(q) > 0)
        return NULL;
    return get_first_waiting(q);
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

/* ---- ends ---- */

void get_end(struct get *g) {
    struct req *r = g->req;

    if (g->state == GET_WAITING)
        leave_all(g);
    g->state = GET_DONE;
    if (g->kind != NULL)
        g->kind->ended(g);
    list_remove(&g->in_fresh);
    timer_stop(&g->timeout);
    for (size_t i = 0; i < g->wait_count; i++) {
        if (g->waits[i].from.q != NULL)
            queue_unwait(g->waits[i].from.q);
        else
            pattern_leave(g->waits[i].from.glob);
    }
    free(g->jobs);
    g->jobs = NULL;
    if (g->client != NULL)
        g->client->get = NULL;
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

void get_end_error(struct get *g, const char *error) {
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

void job_format_id(char out[JOBID_LEN], struct job_key key, int64_t expires_at, int32_t retry) {
    const struct node *n = node_by_number(job_id_node(key.id));
    int64_t ttl_s = int64_minus(expires_at, job_created_us(key.id)) / US_PER_S;

    jobid_format(out, key, n != NULL && n->id[0] != '\0' ? n->id : "00000000", ttl_s, retry > 0);
}

static void reply_job(struct req *r, const struct job *job, unsigned form) {
    char id[JOBID_LEN];

    job_format_id(id, job->key, job->expires_at, job->retry);
    reply_array(r, 3 + ((form & JOBS_WITH_COUNTERS) ? 4 : 0) + ((form & JOBS_WITH_TOKENS) ? 1 : 0));
    reply_bulk(r, job->q->name);
    reply_bulk(r, (struct slice){ id, sizeof id });
    reply_bulk(r, job->body);
    if (form & JOBS_WITH_COUNTERS) {
        reply_bulk_str(r, "nacks");
        reply_int(r, job->nacks);
        reply_bulk_str(r, "additional-deliveries");
        reply_int(r, job->additional_deliveries);
    }
    if (form & JOBS_WITH_TOKENS)
        reply_int(r, job_token(job->nacks, job->additional_deliveries));
}

/* Until the reply is written, the job can be put back as if it was not delivered. */
void get_note_unsent(struct client *c, struct delivery d) {
    if (c->unsent_count == c->unsent_cap) {
        c->unsent_cap = c->unsent_cap == 0 ? 4 : c->unsent_cap * 2;
        c->unsent = xrealloc(c->unsent, c->unsent_cap * sizeof *c->unsent);
    }
    d.offset = c->bytes_out + client_unwritten(c);
    c->unsent[c->unsent_count++] = d;
}

/* The lease of the row began when the statement was built. The lease of the client begins now. */
static int64_t waiters_lease_end(const struct job *job) {
    return job->retry == 0 ? INT64_MAX : clock_db() + job->lease_us;
}

static void note_delivery(const struct job *job) {
    queue_count_out(job->q, 1);
    if (job->due_us != 0)
        queue_note_wait(job->q, job->due_us);
}

void jobs_deliver(struct req *r, struct client *c, const struct job *jobs, size_t count, unsigned form) {
    struct worker *worker = worker_of(c);

    for (size_t i = 0; i < count; i++)
        get_note_unsent(c, (struct delivery){ .key = jobs[i].key, .until = jobs[i].ready_at });
    reply_array(r, count);
    for (size_t i = 0; i < count; i++) {
        reply_job(r, &jobs[i], form);
        lease_give(jobs[i].key, waiters_lease_end(&jobs[i]), jobs[i].ready_at, worker);
        if (jobs[i].last)
            lease_set_last(jobs[i].key.id);
        note_delivery(&jobs[i]);
    }
    stats.jobs_delivered += count;
    /* Events come after the complete reply, because the same client may be subscribed to them. */
    for (size_t i = 0; i < count; i++)
        if (events_wanted(jobs[i].q))
            event_of_job(jobs[i].q, EVENT_DELIVERED, jobs[i].key, jobs[i].expires_at, jobs[i].retry);
}

static void deliver_own(struct get *g, const struct job *jobs, size_t count) {
    g->kind->deliver(g, jobs, count);
    for (size_t i = 0; i < count; i++)
        note_delivery(&jobs[i]);
    stats.jobs_delivered += count;
}

void get_deliver(struct get *g, const struct job *jobs, size_t count) {
    if (g->kind != NULL)
        deliver_own(g, jobs, count);
    else
        jobs_deliver(g->req, g->client, jobs, count,
                     (g->with_counters ? JOBS_WITH_COUNTERS : 0) | (g->with_tokens ? JOBS_WITH_TOKENS : 0));
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
    if (!g->has_waited && g->client != NULL && ++g->tries < MAX_TRIES && get_has_budget(g))
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
    return g->kind != NULL && g->state != GET_WAITING && batch_connected(CONN_WRITE);
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
