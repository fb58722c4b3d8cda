/* Who waits for which queue: block, serve in order of arrival, time out, forget. */
#include "waiters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "lease.h"
#include "node.h"
#include "stats.h"

static struct {
    struct list fresh;
    struct heap deadlines;
    uint64_t arrivals;
    size_t blocked;
} waiters;

void waiters_init(void) {
    list_init(&waiters.fresh);
}

size_t waiters_blocked(void) {
    return waiters.blocked;
}

struct get *get_new(struct req *r, struct queue *const *queues, size_t count) {
    struct get *g = req_alloc(r, sizeof *g + count * sizeof(struct wait));

    g->req = r;
    g->client = r->client;
    g->client->get = g;
    g->arrival = ++waiters.arrivals;
    list_init(&g->in_fresh);
    g->wait_count = count;
    for (size_t i = 0; i < count; i++) {
        g->waits[i].q = queues[i];
        g->waits[i].get = g;
        queues[i]->users++;
        list_init(&g->waits[i].node);
    }
    r->data = g;
    return g;
}

static void arm_deadline(struct get *g) {
    if (g->deadline.due != 0 && !heap_has(&g->deadline))
        heap_set(&waiters.deadlines, &g->deadline, g->deadline.due);
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

bool get_has_budget(const struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++)
        if (queue_budget(g->waits[i].q) > 0)
            return true;
    return false;
}

/* ---- waiting ---- */

/* Nearly always at the end; a get that claimed in vain goes back to its place,
 * which is nearly always the front. */
static void join(struct wait *w) {
    struct list *first = w->q->waiters.next;
    struct list *before = &w->q->waiters;

    if (first != before && LIST_ENTRY(first, struct wait, node)->get->arrival > w->get->arrival)
        before = first;
    while (before->prev != &w->q->waiters &&
           LIST_ENTRY(before->prev, struct wait, node)->get->arrival > w->get->arrival)
        before = before->prev;
    list_insert_before(before, &w->node);
    w->q->joined_by = w->get->arrival;
    w->q->waiter_count++;
}

static void leave_all(struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++) {
        if (list_empty(&g->waits[i].node))
            continue;
        list_remove(&g->waits[i].node);
        g->waits[i].q->waiter_count--;
        g->waits[i].q->joined_by = 0;
    }
    waiters.blocked--;
    if (g->client != NULL)
        g->client->blocked = false;
}

static bool is_late(const struct get *g) {
    return g->deadline.due != 0 && g->deadline.due <= clock_mono();
}

void get_wait(struct get *g) {
    if (g->client == NULL || g->nohang || is_late(g)) {
        get_end_empty(g);
        return;
    }
    g->state = GET_WAITING;
    g->has_waited = true;
    arm_deadline(g);
    g->client->blocked = true;
    waiters.blocked++;
    for (size_t i = 0; i < g->wait_count; i++) {
        if (g->waits[i].q->joined_by != g->arrival)
            join(&g->waits[i]);
        if (queue_budget(g->waits[i].q) > 0)
            queue_signal(g->waits[i].q);
    }
}

/* One who hung up in this turn is still in the list. Of one who does so later, what was
 * claimed for it is put back. */
struct get *get_first_waiting(struct queue *q) {
    while (!list_empty(&q->waiters)) {
        struct get *g = LIST_ENTRY(q->waiters.next, struct wait, node)->get;

        if (g->client->state != CLIENT_DEAD)
            return g;
        waiters_client_gone(g->client);
    }
    return NULL;
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
    list_remove(&g->in_fresh);
    heap_remove(&waiters.deadlines, &g->deadline);
    for (size_t i = 0; i < g->wait_count; i++)
        g->waits[i].q->users--;
    free(g->jobs);
    g->jobs = NULL;
    if (g->client != NULL)
        g->client->get = NULL;
    req_end(r);
}

void get_end_empty(struct get *g) {
    reply_null_array(g->req);
    get_end(g);
}

void get_end_error(struct get *g, const char *error) {
    reply_error(g->req, "%s", error);
    get_end(g);
}

void job_format_id(char out[JOBID_LEN], struct job_key key, int64_t expires_at, int32_t retry) {
    const struct node *n = node_by_number(job_id_node(key.id));
    int64_t ttl_s = (expires_at - job_created_us(key.id)) / US_PER_S;

    jobid_format(out, key, n != NULL ? n->id : "00000000", ttl_s, retry > 0);
}

static void reply_job(struct get *g, const struct job *job) {
    char id[JOBID_LEN];

    job_format_id(id, job->key, job->expires_at, job->retry);
    reply_array(g->req, g->with_counters ? 7 : 3);
    reply_bulk(g->req, job->q->name);
    reply_bulk(g->req, (struct slice){ id, sizeof id });
    reply_bulk(g->req, job->body);
    if (!g->with_counters)
        return;
    reply_bulk_str(g->req, "nacks");
    reply_int(g->req, job->nacks);
    reply_bulk_str(g->req, "additional-deliveries");
    reply_int(g->req, job->extras);
}

/* Until the reply is written, the job can be put back as if nothing had happened. */
static void remember_unsent(struct client *c, const struct job *job) {
    if (c->unsent_count == c->unsent_cap) {
        c->unsent_cap = c->unsent_cap == 0 ? 4 : c->unsent_cap * 2;
        c->unsent = xrealloc(c->unsent, c->unsent_cap * sizeof *c->unsent);
    }
    c->unsent[c->unsent_count++] =
        (struct delivery){ job->key, job->ready_at, c->bytes_out + buf_len(&c->out) };
}

/* The row's lease began when the statement was built; the client's begins now. */
static int64_t lease_end(const struct job *job) {
    return job->retry == 0 ? INT64_MAX : clock_db() + job->retry * US_PER_S;
}

void get_deliver(struct get *g, const struct job *jobs, size_t count) {
    for (size_t i = 0; i < count; i++)
        remember_unsent(g->client, &jobs[i]);
    reply_array(g->req, count);
    for (size_t i = 0; i < count; i++) {
        reply_job(g, &jobs[i]);
        lease_add(jobs[i].key, lease_end(&jobs[i]));
        queue_count_out(jobs[i].q, 1);
    }
    stats.jobs_delivered += count;
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

/* Places stay empty when a claim brought fewer rows than asked for. */
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
    /* A returned job may have been gone; others may still be there. */
    if (!g->has_waited && g->client != NULL && get_has_budget(g))
        get_start(g);
    else
        get_wait(g);
}

/* ---- what ends gets from outside ---- */

/* Nobody waits for what is being claimed; it will be put back. */
static void abandon(struct get *g) {
    heap_remove(&waiters.deadlines, &g->deadline);
    g->client->get = NULL;
    g->client = NULL;
}

bool waiters_has(const struct client *c) {
    return c->get != NULL && !c->get->nohang;
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

    if (g == NULL || g->state != GET_WAITING)
        return false;
    if (error)
        get_end_error(g, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
    else
        get_end_empty(g);
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

void waiters_expire(int64_t mono_us) {
    struct heap_item *first;

    while ((first = heap_first(&waiters.deadlines)) != NULL && first->due <= mono_us) {
        struct get *g = CONTAINER_OF(first, struct get, deadline);

        if (g->state != GET_CLAIMING) {
            get_end_empty(g);
            continue;
        }
        abandon(g);
        reply_null_array(g->req);
        client_detach(g->req);
    }
}

int64_t waiters_next_deadline(void) {
    struct heap_item *first = heap_first(&waiters.deadlines);

    return first == NULL ? INT64_MAX : first->due;
}
