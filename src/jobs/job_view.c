/* A job as SHOW, QPEEK and JSCAN show it. */
#include "jobs/job_view.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "jobs/add_options.h"
#include "net/json_reply.h"
#include "queue/delivery.h"
#include "queue/lease.h"
#include "queue/queue.h"

/* Disque wakes a job half a second before its requeue (job.c, updateJobAwakeTime). */
#define AWAKE_AHEAD_MS 500
#define SHOW_FIELDS 16
#define ATTEMPTS_FIELDS 5
#define RETAINED_FIELDS 6

static const char *const job_state_names[] = {
#define X(id, name) [id] = name,
    JOB_VIEW_STATES(X)
#undef X
};

/* sql/parts/is_cancelled.sql has the mark of a cancelled job. */
static void read_attempts(struct job_view *v, const PGresult *rows, int row) {
    int32_t attempts = row_int4_or(rows, row, COL_SCAN_JOBS_ATTEMPTS, 0);

    v->cancelled = attempts <= 0 && !row_null(rows, row, COL_SCAN_JOBS_ATTEMPTS);
    v->attempts = abs(attempts);
    v->has_attempts = v->attempts > 0;
    for (int col = COL_SCAN_JOBS_ATTEMPTS + 1; col <= COL_SCAN_JOBS_DIED_AT; col++)
        v->has_attempts |= !row_null(rows, row, col);
    if (!v->has_attempts)
        return;
    v->deliveries = row_int4(rows, row, COL_SCAN_JOBS_DELIVERIES);
    v->backoff = row_int4_or(rows, row, COL_SCAN_JOBS_BACKOFF, 0);
    v->deadqueue = row_bytes_or_null(rows, row, COL_SCAN_JOBS_DEADQUEUE);
    v->error = row_bytes_or_null(rows, row, COL_SCAN_JOBS_ERROR);
    v->died_at = row_time_or(rows, row, COL_SCAN_JOBS_DIED_AT, 0);
}

struct job_view job_view_read(const PGresult *rows, int row) {
    struct job_view v = {
        .key = row_full_key(rows, row, COL_SCAN_JOBS_QUEUE_ID),
        .ready_at = row_time(rows, row, COL_SCAN_JOBS_READY_AT),
        .expires_at = row_time(rows, row, COL_SCAN_JOBS_EXPIRES_AT),
        .delayed = row_bool(rows, row, COL_SCAN_JOBS_DELAYED),
        .owned = !row_null(rows, row, COL_SCAN_JOBS_OWNER),
        .retry = row_int4(rows, row, COL_SCAN_JOBS_RETRY),
        .delay = row_int4(rows, row, COL_SCAN_JOBS_DELAY),
        .nacks = row_int4(rows, row, COL_SCAN_JOBS_NACKS),
        .additional_deliveries = row_int4(rows, row, COL_SCAN_JOBS_ADDITIONAL_DELIVERIES),
        .replicate = row_int2(rows, row, COL_SCAN_JOBS_REPLICATE),
        .body = row_bytes(rows, row, COL_SCAN_JOBS_BODY),
    };

    if (PQnfields(rows) > COL_SCAN_JOBS_DELIVERIES) {
        read_attempts(&v, rows, row);
        v.unique_key = row_bytes_or_null(rows, row, COL_SCAN_JOBS_UNIQUE_KEY);
        v.group_key = row_bytes_or_null(rows, row, COL_SCAN_JOBS_GROUP_KEY);
        v.headers = row_jsonb_or_null(rows, row, COL_SCAN_JOBS_HEADERS);
        v.progress = row_jsonb_or_null(rows, row, COL_SCAN_JOBS_PROGRESS);
        v.errors = row_jsonb_or_null(rows, row, COL_SCAN_JOBS_ERRORS);
    }
    if (PQnfields(rows) > COL_SCAN_JOBS_MATCHES)
        v.matches = row_bool(rows, row, COL_SCAN_JOBS_MATCHES);
    if (PQnfields(rows) > COL_SHOW_JOBS_PENDING && !row_null(rows, row, COL_SHOW_JOBS_PENDING)) {
        v.waits = true;
        v.pending = row_int4(rows, row, COL_SHOW_JOBS_PENDING);
    }
    if (PQnfields(rows) > COL_SHOW_JOBS_WORKER)
        v.worker = row_bytes_or_null(rows, row, COL_SHOW_JOBS_WORKER);
    if (PQnfields(rows) > COL_SHOW_JOBS_BATCH_RETRY && !row_null(rows, row, COL_SHOW_JOBS_BATCH_ID)) {
        v.batch = row_full_key(rows, row, COL_SHOW_JOBS_BATCH_QUEUE_ID);
        v.batch_retry = row_int4(rows, row, COL_SHOW_JOBS_BATCH_RETRY);
    }
    return v;
}

struct job_view job_view_read_retained(const PGresult *rows, int row) {
    return (struct job_view){
        .key = row_full_key(rows, row, COL_SCAN_RETAINED_QUEUE_ID),
        .matches =
            PQnfields(rows) > COL_SCAN_RETAINED_MATCHES && row_bool(rows, row, COL_SCAN_RETAINED_MATCHES),
        .retained = true,
        .ready_at = TIME_NEVER,
        .finished_at = row_time(rows, row, COL_SCAN_RETAINED_FINISHED_AT),
        .keep_until = row_time(rows, row, COL_SCAN_RETAINED_KEEP_UNTIL),
        .expires_at = row_time(rows, row, COL_SCAN_RETAINED_EXPIRES_AT),
        .retry = row_int4(rows, row, COL_SCAN_RETAINED_RETRY),
        .delay = row_int4(rows, row, COL_SCAN_RETAINED_DELAY),
        .deliveries = row_int4(rows, row, COL_SCAN_RETAINED_DELIVERIES),
        .nacks = row_int4(rows, row, COL_SCAN_RETAINED_NACKS),
        .additional_deliveries = row_int4(rows, row, COL_SCAN_RETAINED_ADDITIONAL_DELIVERIES),
        .replicate = row_int2(rows, row, COL_SCAN_RETAINED_REPLICATE),
        .worker = row_bytes(rows, row, COL_SCAN_RETAINED_WORKER),
        .error = row_bytes_or_null(rows, row, COL_SCAN_RETAINED_ERROR),
        .result = row_bytes_or_null(rows, row, COL_SCAN_RETAINED_RESULT),
        .body = row_bytes_or_null(rows, row, COL_SCAN_RETAINED_BODY),
        .headers = row_jsonb_or_null(rows, row, COL_SCAN_RETAINED_HEADERS),
        .progress = row_jsonb_or_null(rows, row, COL_SCAN_RETAINED_PROGRESS),
        .errors = row_jsonb_or_null(rows, row, COL_SCAN_RETAINED_ERRORS),
    };
}

/* The job is queued, and was not delivered since. Its ready_at may still be in the future, if the clock of another
 * server is ahead. */
static bool is_free(const struct job_view *v) {
    return !v->owned && !v->delayed && v->ready_at != TIME_NEVER;
}

static bool waits_in_group(const struct job_view *v) {
    return !v->owned && !v->delayed && v->ready_at == TIME_NEVER && v->group_key.ptr != NULL;
}

enum job_view_state job_view_state(const struct job_view *v) {
    if (v->died_at != 0)
        return VIEW_DEAD;
    if (v->retained)
        return VIEW_DONE;
    if (v->waits || waits_in_group(v))
        return VIEW_WAITING;
    return v->ready_at <= clock_db() || is_free(v) ? VIEW_QUEUED : VIEW_ACTIVE;
}

static bool is_queued(const struct job_view *v) {
    return job_view_state(v) == VIEW_QUEUED;
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

/* Milliseconds until the job is queued again. For a queued job: until then if it were delivered now. -1: never. */
static int64_t requeue_within(const struct job_view *v) {
    if (v->ready_at == TIME_NEVER)
        return -1;
    if (!is_queued(v))
        return int64_at_least_zero(v->ready_at - clock_db()) / US_PER_MS;
    return v->retry == 0 ? -1 : v->retry * INT64_C(1000);
}

static int64_t awake_within(const struct job_view *v, int64_t requeue_ms) {
    int64_t latest = int64_at_least_zero(v->expires_at - clock_db()) / US_PER_MS + 1000;
    int64_t awake = requeue_ms;

    if (requeue_ms < 0)
        return latest;
    if (requeue_ms > AWAKE_AHEAD_MS && !v->delayed)
        awake -= AWAKE_AHEAD_MS;
    return awake < latest ? awake : latest;
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
    reply_bulk_str(r, "next-awake-within");
    if (v->retained)
        reply_null_bulk(r);
    else
        reply_int(r, awake_within(v, requeue_ms));
}

static void pair_bytes(struct req *r, const char *name, struct slice value) {
    reply_bulk_str(r, name);
    if (value.ptr == NULL)
        reply_null_bulk(r);
    else
        reply_bulk(r, value);
}

/* Fields that Disque does not have. A job that does not use them has Disque's reply. */
static void reply_attempts(struct req *r, const struct job_view *v) {
    if (!v->has_attempts)
        return;
    reply_pair_int(r, "deliveries", v->deliveries);
    reply_pair_int(r, "attempts", v->attempts);
    reply_pair_int(r, "backoff", v->backoff);
    pair_bytes(r, "deadqueue", v->deadqueue);
    pair_bytes(r, "error", v->error);
    if (v->died_at != 0)
        reply_pair_int(r, "died-at", v->died_at / US_PER_S);
}

void job_view_reply_batch(struct req *r, struct job_key key, int32_t retry) {
    char id[JOBID_LEN];

    job_format_id(id, key, job_created_us(key.id) + LIST_TTL * US_PER_S, retry);
    reply_bulk(r, (struct slice){ id, sizeof id });
}

static void reply_keys(struct req *r, const struct job_view *v) {
    if (v->unique_key.ptr != NULL)
        pair_bytes(r, "unique", v->unique_key);
    if (v->group_key.ptr != NULL)
        pair_bytes(r, "group", v->group_key);
    if (v->waits)
        reply_pair_int(r, "pending", v->pending);
    if (v->cancelled)
        reply_pair_int(r, "cancelled", 1);
    if (v->batch.id != 0) {
        reply_bulk_str(r, "batch");
        job_view_reply_batch(r, v->batch, v->batch_retry);
    }
}

/* The worker of an active job; ptr NULL: unknown, or the job has none. The row has the name after a second or two. */
static struct slice running_worker(const struct job_view *v) {
    const char *name;

    if (!v->owned || job_view_state(v) != VIEW_ACTIVE)
        return (struct slice){ NULL, 0 };
    if (v->worker.ptr != NULL)
        return v->worker;
    name = lease_worker(v->key.id);
    return name == NULL ? (struct slice){ NULL, 0 } : slice_str(name);
}

static void pair_json(struct req *r, const char *name, struct slice json) {
    if (json.ptr == NULL)
        return;
    reply_bulk_str(r, name);
    reply_json(r, json);
}

static void reply_retained(struct req *r, const struct job_view *v) {
    reply_pair_int(r, "deliveries", v->deliveries);
    reply_pair_int(r, "finished-at", v->finished_at / US_PER_MS);
    reply_pair_int(r, "kept-for", int64_at_least_zero(v->keep_until - clock_db() + US_PER_S - 1) / US_PER_S);
    pair_bytes(r, "worker", v->worker);
    pair_bytes(r, "error", v->error);
    pair_bytes(r, "result", v->result);
}

static size_t field_count(const struct job_view *v) {
    size_t count =
        SHOW_FIELDS + (v->headers.ptr != NULL) + (v->progress.ptr != NULL) + (v->errors.ptr != NULL);

    if (v->retained)
        return count + RETAINED_FIELDS;
    return count + (v->has_attempts ? ATTEMPTS_FIELDS + (v->died_at != 0) : 0) + (v->unique_key.ptr != NULL) +
           (v->group_key.ptr != NULL) + v->waits + v->cancelled + (v->batch.id != 0) +
           (running_worker(v).ptr != NULL);
}

/* Disque's fields come first, in Disque's order, because some of its clients read them by position. */
void job_view_reply_all(struct req *r, const struct job_view *v) {
    bool queued = is_queued(v);
    int64_t created_ms = job_created_us(v->key.id) / US_PER_MS;

    reply_array(r, 2 * field_count(v));
    reply_bulk_str(r, "id");
    reply_id_bulk(r, v);
    reply_bulk_str(r, "queue");
    reply_bulk(r, queue_name(v));
    reply_bulk_str(r, "state");
    reply_bulk_str(r, job_state_names[job_view_state(v)]);
    reply_pair_int(r, "repl", v->replicate);
    reply_pair_int(r, "ttl", int64_at_least_zero(v->expires_at - clock_db() + US_PER_S - 1) / US_PER_S);
    reply_pair_int(r, "ctime", created_ms * 1000000 + job_id_counter(v->key.id));
    reply_pair_int(r, "delay", v->delay);
    reply_pair_int(r, "retry", v->retry);
    reply_pair_int(r, "nacks", v->nacks);
    /* The row notes an ended lease only at the next delivery, so this adds it. */
    reply_pair_int(r, "additional-deliveries", v->additional_deliveries + (queued && v->owned));
    reply_nodes(r, v);
    reply_times(r, v);
    reply_bulk_str(r, "body");
    reply_bulk(r, v->body);
    reply_pair_int(r, "priority", -v->key.rank);
    reply_attempts(r, v);
    reply_keys(r, v);
    if (running_worker(v).ptr != NULL)
        pair_bytes(r, "worker", running_worker(v));
    if (v->retained)
        reply_retained(r, v);
    pair_json(r, "headers", v->headers);
    pair_json(r, "progress", v->progress);
    pair_json(r, "errors", v->errors);
}
