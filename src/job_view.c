/* A job as SHOW, QPEEK and JSCAN show it. */
#include "job_view.h"

#include "clock.h"
#include "node.h"
#include "queue.h"
#include "waiters.h"

/* Disque wakes half a second ahead of a requeue (job.c, updateJobAwakeTime). */
#define AWAKE_AHEAD_MS 500
#define SHOW_FIELDS 15

struct job_view job_view_read(const PGresult *rows, int row, int col) {
    return (struct job_view){
        .key = { row_int4(rows, row, col), row_int2(rows, row, col + 1), row_int8(rows, row, col + 2) },
        .ready_at = row_time(rows, row, col + 3),
        .expires_at = row_time(rows, row, col + 4),
        .delayed = row_bool(rows, row, col + 5),
        .owned = !row_null(rows, row, col + 6),
        .retry = row_int4(rows, row, col + 7),
        .delay = row_int4(rows, row, col + 8),
        .nacks = row_int4(rows, row, col + 9),
        .extras = row_int4(rows, row, col + 10),
        .replicate = row_int2(rows, row, col + 11),
        .body = row_bytes(rows, row, col + 12),
    };
}

bool job_view_is_queued(const struct job_view *v) {
    return v->ready_at <= clock_db();
}

static struct slice queue_name(const struct job_view *v) {
    const struct queue *q = queue_find_id(v->key.queue_id);

    return q != NULL ? q->name : (struct slice){ "", 0 };
}

void job_view_reply_id(struct req *r, const struct job_view *v) {
    char id[JOBID_LEN + 1];

    job_format_id(id, v->key, v->expires_at, v->retry);
    id[JOBID_LEN] = '\0';
    reply_status(r, id);
}

static void reply_id_bulk(struct req *r, const struct job_view *v) {
    char id[JOBID_LEN];

    job_format_id(id, v->key, v->expires_at, v->retry);
    reply_bulk(r, (struct slice){ id, sizeof id });
}

void job_view_reply_short(struct req *r, const struct job_view *v) {
    reply_array(r, 3);
    reply_bulk(r, queue_name(v));
    reply_id_bulk(r, v);
    reply_bulk(r, v->body);
}

static int64_t at_least_zero(int64_t value) {
    return value > 0 ? value : 0;
}

/* Milliseconds until it is queued again, as it stands or if it were delivered
 * now; -1: never. */
static int64_t requeue_within(const struct job_view *v) {
    if (v->ready_at == TIME_NEVER)
        return -1;
    if (!job_view_is_queued(v))
        return at_least_zero(v->ready_at - clock_db()) / US_PER_MS;
    return v->retry == 0 ? -1 : v->retry * INT64_C(1000);
}

static int64_t awake_within(const struct job_view *v, int64_t requeue_ms) {
    int64_t latest = at_least_zero(v->expires_at - clock_db()) / US_PER_MS + 1000;
    int64_t awake = requeue_ms;

    if (requeue_ms < 0)
        return latest;
    if (requeue_ms > AWAKE_AHEAD_MS && !v->delayed)
        awake -= AWAKE_AHEAD_MS;
    return awake < latest ? awake : latest;
}

static void pair_int(struct req *r, const char *name, int64_t value) {
    reply_bulk_str(r, name);
    reply_int(r, value);
}

static void reply_nodes(struct req *r, const struct job_view *v) {
    const struct node *n = node_by_number(job_id_node(v->key.id));

    reply_bulk_str(r, "nodes-delivered");
    reply_array(r, 1);
    reply_bulk_str(r, n != NULL ? n->id : "");
    reply_bulk_str(r, "nodes-confirmed");
    reply_array(r, 0);
}

static void reply_times(struct req *r, const struct job_view *v) {
    int64_t requeue_ms = requeue_within(v);

    reply_bulk_str(r, "next-requeue-within");
    if (requeue_ms < 0)
        reply_null_bulk(r);
    else
        reply_int(r, requeue_ms);
    pair_int(r, "next-awake-within", awake_within(v, requeue_ms));
}

void job_view_reply_all(struct req *r, const struct job_view *v) {
    bool queued = job_view_is_queued(v);
    int64_t created_ms = job_created_us(v->key.id) / US_PER_MS;

    reply_array(r, 2 * SHOW_FIELDS);
    reply_bulk_str(r, "id");
    reply_id_bulk(r, v);
    reply_bulk_str(r, "queue");
    reply_bulk(r, queue_name(v));
    reply_bulk_str(r, "state");
    reply_bulk_str(r, queued ? "queued" : "active");
    pair_int(r, "repl", v->replicate);
    pair_int(r, "ttl", at_least_zero(v->expires_at - clock_db() + US_PER_S - 1) / US_PER_S);
    pair_int(r, "ctime", created_ms * 1000000 + job_id_counter(v->key.id));
    pair_int(r, "delay", v->delay);
    pair_int(r, "retry", v->retry);
    pair_int(r, "nacks", v->nacks);
    /* The end of a lease is not written down before the next delivery. */
    pair_int(r, "additional-deliveries", v->extras + (queued && v->owned));
    reply_nodes(r, v);
    reply_times(r, v);
    reply_bulk_str(r, "body");
    reply_bulk(r, v->body);
}
