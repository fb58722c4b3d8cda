/* Deliveries: replies with jobs, their leases, and replies that are not written yet. */
#include "queue/delivery.h"

#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "net/json_reply.h"
#include "queue/job_events.h"
#include "queue/lease.h"

void job_format_id(char out[JOBID_LEN], struct job_key key, int64_t expires_at, int32_t retry) {
    const struct node *n = node_by_number(job_id_node(key.id));
    int64_t ttl_s = int64_minus(expires_at, job_created_us(key.id)) / US_PER_S;

    jobid_format(out, key, n != NULL && n->id[0] != '\0' ? n->id : "00000000", ttl_s, retry > 0);
}

static void reply_job(struct req *r, const struct job *job, unsigned form) {
    char id[JOBID_LEN];

    job_format_id(id, job->key, job->expires_at, job->retry);
    reply_array(r, 3 + ((form & JOBS_WITH_COUNTERS) ? 4 : 0) + ((form & JOBS_WITH_TOKENS) ? 1 : 0) +
                       ((form & JOBS_WITH_HEADERS) ? 2 : 0));
    reply_bulk(r, job->q->name);
    reply_bulk(r, (struct slice){ id, sizeof id });
    reply_bulk(r, job->body);
    if (form & JOBS_WITH_COUNTERS) {
        reply_pair_int(r, "nacks", job->nacks);
        reply_pair_int(r, "additional-deliveries", job->additional_deliveries);
    }
    if (form & JOBS_WITH_TOKENS)
        reply_int(r, job_token(job->nacks, job->additional_deliveries));
    if (form & JOBS_WITH_HEADERS) {
        reply_bulk_str(r, "headers");
        reply_json(r, job->headers.ptr != NULL ? job->headers : SLICE("{}"));
    }
}

static void delivery_place(struct delivery *d, const struct client *c) {
    d->holder = NULL;
    d->offset = c->bytes_out + client_unwritten(c);
}

/* Until the reply is written, the job can be put back as if it was not delivered. */
void delivery_note_unsent(struct req *r, struct delivery d) {
    struct req *whole = r->exec != NULL ? r->exec : r;
    struct client *c = r->client;

    if (c->unsent_count == c->unsent_cap) {
        c->unsent_cap = c->unsent_cap == 0 ? 4 : c->unsent_cap * 2;
        c->unsent = xrealloc(c->unsent, c->unsent_cap * sizeof *c->unsent);
    }
    delivery_place(&d, c);
    if (!whole->silent && (r->exec != NULL || r->out != &c->out)) {
        d.holder = whole;
        whole->has_jobs = true;
    }
    c->unsent[c->unsent_count++] = d;
}

/* A client that does not read may have many deliveries, most of them without a holder. */
void deliveries_placed(struct client *c, const struct req *r) {
    for (size_t i = c->unsent_placed; i < c->unsent_count; i++)
        if (c->unsent[i].holder == r)
            delivery_place(&c->unsent[i], c);
    while (c->unsent_placed < c->unsent_count && c->unsent[c->unsent_placed].holder == NULL)
        c->unsent_placed++;
}

/* The lease of the row began when the statement was built. The lease of the client begins now. */
static int64_t delivery_lease_end(const struct job *job) {
    return job->retry == 0 ? INT64_MAX : clock_db() + job->lease_us;
}

void jobs_note_delivered(const struct job *jobs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        queue_count_out(jobs[i].q, 1);
        if (jobs[i].due_us != 0)
            queue_note_wait(jobs[i].q, jobs[i].due_us);
    }
    stats.jobs_delivered += count;
}

void jobs_lease(struct client *c, const struct job *jobs, size_t count) {
    struct worker *worker = worker_of(c);

    for (size_t i = 0; i < count; i++) {
        lease_give(jobs[i].key, delivery_lease_end(&jobs[i]), jobs[i].ready_at, worker);
        if (jobs[i].last)
            lease_set_last(jobs[i].key.id);
    }
}

void jobs_deliver(struct req *r, struct client *c, const struct job *jobs, size_t count, unsigned form) {
    for (size_t i = 0; i < count; i++)
        delivery_note_unsent(r, (struct delivery){ .key = jobs[i].key, .until = jobs[i].ready_at });
    reply_array(r, count);
    for (size_t i = 0; i < count; i++)
        reply_job(r, &jobs[i], form);
    jobs_note_delivered(jobs, count);
    jobs_lease(c, jobs, count);
    /* Events come after the complete reply, because the same client may be subscribed to them. */
    for (size_t i = 0; i < count; i++)
        if (events_wanted(jobs[i].q))
            event_of_job(jobs[i].q, EVENT_DELIVERED, jobs[i].key, jobs[i].expires_at, jobs[i].retry);
}
