/* Adds jobs ahead: which new jobs are inserted with a lease and kept for the next GETJOBs, and which wait. */
#include "jobs/add_ahead.h"

#include "base/clock.h"
#include "base/stats.h"
#include "jobs/add_row.h"
#include "jobs/claim_ahead.h"
#include "net/client.h"

/* ---- suitable requests ---- */

/* A crash of the server would lose a job with RETRY 0. */
void add_ahead_count(struct add *a) {
    a->plain = add_is_alike(a) && a->end == END_NONE && a->opt.retry > 0 && !req_in_txn(a->req);
    if (a->plain)
        queue_work(a->q)->adds_ahead.plain += (int64_t)a->count;
}

void add_ahead_left(struct add *a) {
    add_ahead_unhold(a);
    if (a->plain)
        queue_work(a->q)->adds_ahead.plain -= (int64_t)a->count;
    a->plain = false;
}

/* A job is not added ahead if an earlier transaction may have inserted it, or if its client has given up. */
static bool may_be_added_ahead(const struct add *a) {
    return a->plain && !a->again && !a->given_up;
}

/* ---- waiting ---- */

/* A request with a short timeout does not wait, because the wait might use up the timeout. */
static bool is_in_a_hurry(const struct add *a) {
    return a->timeout_ms > 0 && a->timeout_ms < 10 * CLAIM_AHEAD_HOLD_US / US_PER_MS;
}

/* The commands of a client act in their order. So its later adds wait, too, whatever their queue is. */
static void note_wait(struct add *a, struct queue *q) {
    struct client *c = a->req->client;

    a->waits = true;
    stats.adds_held++;
    if (c == NULL)
        return;
    c->held_by = q;
    c->held_adds++;
}

static bool is_behind(const struct add *a) {
    return a->req->client != NULL && a->req->client->held_adds > 0;
}

bool add_ahead_hold(struct add *a, void (*turn)(struct task *t)) {
    struct queue *q = is_behind(a) ? a->req->client->held_by : a->q;

    if (a->waited)
        return false;
    if (is_behind(a))
        claim_ahead_hold_behind(q, &a->row_waiter);
    else if (!may_be_added_ahead(a) || is_in_a_hurry(a) || !claim_ahead_hold(q, a->count, &a->row_waiter))
        return false;
    a->row_waiter.ready = turn;
    note_wait(a, q);
    if (a->plain)
        queue_work(a->q)->adds_ahead.held += (int64_t)a->count;
    return true;
}

bool add_ahead_waits_behind(struct add *a, void (*turn)(struct task *t)) {
    if (!is_behind(a))
        return false;
    row_waiter_init(&a->row_waiter, &a->req->task, turn, NULL);
    claim_ahead_hold_behind(a->req->client->held_by, &a->row_waiter);
    note_wait(a, a->req->client->held_by);
    return true;
}

/* add_ahead_count() sets plain. It has not been called for a request that waits behind another one. */
void add_ahead_unhold(struct add *a) {
    if (!a->waits)
        return;
    if (a->plain)
        queue_work(a->q)->adds_ahead.held -= (int64_t)a->count;
    if (a->req->client != NULL)
        a->req->client->held_adds--;
    a->waits = false;
    a->waited = true;
}

/* ---- the insert ---- */

void add_ahead_decide(struct add *a) {
    if (!may_be_added_ahead(a) || !claim_ahead_admit(a->q, (int16_t)-a->opt.priority, a->count))
        return;
    a->ahead = true;
    queue_work(a->q)->adds_ahead.sent += (int64_t)a->count;
}

void add_ahead_completed(const struct add *a) {
    if (a->sent && a->ahead)
        queue_work(a->q)->adds_ahead.sent -= (int64_t)a->count;
}

void add_ahead_keep(const struct add *a) {
    for (size_t i = 0; i < a->count && a->ahead; i++) {
        struct job job = add_delivered_job(a, i);

        claim_ahead_keep(&job);
        stats.jobs_added_ahead++;
    }
}

void add_ahead_end(struct add *a) {
    if (a->ahead)
        claim_ahead_ended(a->q, a->count);
    a->ahead = false;
}
