/* NACK ENQUEUE DEQUEUE WORKING: commands that change the state of jobs by ID. */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/node.h"
#include "batch/operations.h"
#include "commands/cmd_job.h"
#include "commands/dispatch.h"
#include "jobs/dead_jobs.h"
#include "jobs/dead_letter.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "net/args.h"
#include "net/worker.h"
#include "queue/job_events.h"
#include "queue/lease.h"
#include "queue/queue.h"

/* ---- shared ---- */

/* Adds r to the next statement of op. If no ID can name a job, replies 0. */
static void send_ids(struct req *r, struct op *op) {
    if (job_ids(r)->count > 0)
        job_ids_send(r, op);
    else
        req_int(r, 0);
}

static void start_ids(struct req *r, struct op *op) {
    if (job_ids_or_reply(r, 1, r->argc))
        send_ids(r, op);
}

static void job_set_now_and_node(struct params *p) {
    params_set_time(p, 3, clock_db());
    params_set_int2(p, 4, (int16_t)node_self()->number);
}

/* ---- NACK, ENQUEUE ---- */

static void requeue_begin(struct params *p) {
    params_set_time(p, 6, clock_db());
}

/* Parameters nack, delay, error of a row. */
static void encode_how(struct params *p, const struct req *r) {
    const struct job_ids *ids = job_ids(r);

    params_int4(p, 3, r->cmd->handler == cmd_nack);
    if (ids->seconds == NO_SECONDS)
        params_null(p, 4, PARAM_INT4);
    else
        params_int4(p, 4, (int32_t)ids->seconds);
    params_bytea_or_null(p, 5, ids->error);
}

static void requeue_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);

    job_ids_encode(p, t);
    job_ids_encode_tokens(p, 7, t);
    for (size_t i = 0; i < job_ids(r)->count; i++) {
        encode_how(p, r);
        params_jsonb_or_null(p, 8, job_ids(r)->note);
    }
    job_ids(r)->sent_us = clock_db();
}

/* All jobs of the request are in their queues, or are dead letters. */
static void requeue_end(struct req *r) {
    if (r->cmd->handler == cmd_enqueue)
        dead_revive_or_reply(r);
    else
        job_ids_end(r);
}

static void on_dead_lettered(void *arg) {
    struct req *r = arg;

    if (--job_ids(r)->exhausted == 0)
        requeue_end(r);
}

/* Columns from col on: was_until, wake_at, last. */
static void requeued(struct task *t, const PGresult *rows, int row, int col) {
    struct req *r = REQ_OF_TASK(t);
    struct job_key key = job_ids_key(t, rows, row);
    int64_t was_until = row_time(rows, row, col);
    struct slice id = job_ids_text(t, rows, row);

    if (r->cmd->handler == cmd_nack && id.ptr != NULL)
        event_of_id(queue_find_id(key.queue_id), EVENT_NACKED, id);
    job_ids(r)->hits++;
    if (r->cmd->handler == cmd_nack)
        job_failed(key);
    if (!row_bool(rows, row, col + 2)) {
        job_requeued(key, was_until, false, row_time_or(rows, row, col + 1, TIME_NEVER));
        return;
    }
    job_withdrawn(key, was_until, false);
    job_ids(r)->exhausted++;
    dead_letter_job(key, on_dead_lettered, r);
}

static void requeue_ended(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    (void)rows;
    job_ids_settle(r);
    if (job_ids(r)->exhausted == 0)
        requeue_end(r);
}

/* Columns: ordinal, was_until, wake_at, last. */
static void requeue_row(struct task *t, const PGresult *rows, int row) {
    if (!job_ids_note_stale(t, rows, row, COL_REQUEUE_JOBS_WAS_UNTIL))
        requeued(t, rows, row, COL_REQUEUE_JOBS_WAS_UNTIL);
}

/* A lease may have ended in the row before the first try, and be held here. Leases of peers are not known. ENQUEUE
 * also changes exhausted jobs, which have no lease. */
static void note_unleased(struct req *r) {
    struct job_ids *ids = job_ids(r);

    ids->unleased = req_alloc(r, ids->count * sizeof *ids->unleased);
    for (size_t i = 0; i < ids->count; i++)
        ids->unleased[i] =
            r->cmd->handler == cmd_nack && !node_has_peers() && !lease_runs_at(ids->keys[i].id, ids->sent_us);
}

/* requeue_jobs_again finds the changes of the first try by their time. The task uses that statement from now on. */
static bool requeue_again(struct task *t, bool unknown) {
    struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    if (!unknown)
        return true;
    if (t->op != &op_requeue_jobs_again)
        note_unleased(REQ_OF_TASK(t));
    t->op = &op_requeue_jobs_again;
    ids->lost_us = clock_db();
    return true;
}

OPERATION(requeue_jobs, .names_jobs = true, .begin = requeue_begin, .encode = requeue_encode,
          .on_row = requeue_row, .on_end = requeue_ended, .fail = job_ids_fail, .again = requeue_again,
          .answer_lost = job_ids_unknown);

static void requeue_again_begin(struct params *p) {
    params_set_time(p, 8, clock_db());
    params_set_int2(p, 9, (int16_t)node_self()->number);
}

static void requeue_again_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);

    job_ids_encode(p, t);
    job_ids_encode_tokens(p, 10, t);
    for (size_t i = 0; i < job_ids(r)->count; i++) {
        encode_how(p, r);
        params_time(p, 6, job_ids(r)->sent_us);
        params_time(p, 7, job_ids(r)->lost_us);
        params_int4(p, 11, job_ids(r)->unleased[i]);
        params_jsonb_or_null(p, 12, job_ids(r)->note);
    }
}

/* Jobs that were queued already have been counted when the server connected. Another server may have delivered jobs
 * that the first try had put back. A NACK that missed its job has changed nothing: the lease that was undone is of a
 * later claim. */
static void requeue_again_row(struct task *t, const PGresult *rows, int row) {
    struct req *r = REQ_OF_TASK(t);
    struct job_key key = job_ids_key(t, rows, row);
    struct queue *q = queue_find_id(key.queue_id);

    if (job_ids_note_stale(t, rows, row, COL_REQUEUE_JOBS_AGAIN_WAS_UNTIL))
        return;
    requeued(t, rows, row, COL_REQUEUE_JOBS_AGAIN_WAS_UNTIL);
    job_ids(r)->hits -= row_bool(rows, row, COL_REQUEUE_JOBS_AGAIN_MISSED);
    if (q != NULL && row_bool(rows, row, COL_REQUEUE_JOBS_AGAIN_WAS_QUEUED) &&
        row_null(rows, row, COL_REQUEUE_JOBS_AGAIN_WAKE_AT))
        queue_count_len(q, -1);
}

static void requeue_again_ended(struct task *t, const PGresult *rows) {
    job_ids(REQ_OF_TASK(t))->unsure = node_has_peers();
    requeue_ended(t, rows);
}

OPERATION(requeue_jobs_again, .names_jobs = true, .begin = requeue_again_begin,
          .encode = requeue_again_encode, .on_row = requeue_again_row, .on_end = requeue_again_ended,
          .fail = job_ids_fail, .again = requeue_again, .answer_lost = job_ids_unknown);

struct nack_options {
    int64_t delay;
    struct slice error;
};

static const struct arg_option nack_words[] = {
    { "DELAY", ARG_INT, offsetof(struct nack_options, delay), 0, INT32_MAX,
      "ERR DELAY must be a number of seconds from 0 to 2147483647" },
    { "ERROR", ARG_BYTES, offsetof(struct nack_options, error), 0, 8192,
      "ERR ERROR is longer than 8192 bytes" },
};

static const struct arg_spec nack_spec = { nack_words, LENGTH(nack_words), "", NULL, NULL };

/* Bytes of an error that the list of all errors keeps. */
#define NOTED_MAX 1024

/* Text for a JSON string: bytes that are not UTF-8, and zero bytes, become U+FFFD. */
static struct slice readable(struct req *r, struct slice text) {
    char *out = req_alloc(r, 3 * NOTED_MAX);
    size_t len = 0, step;

    for (size_t at = 0; at < text.len && len < NOTED_MAX; at += step) {
        size_t character = utf8_character_len(text, at);
        bool good = character > 0 && text.ptr[at] != '\0';

        step = good ? character : 1;
        memcpy(out + len, good ? text.ptr + at : "\xef\xbf\xbd", good ? character : 3);
        len += good ? character : 3;
    }
    return (struct slice){ out, len };
}

/* {"at": now in milliseconds, "percent": ..., name: text}, in the memory of r. percent -1, text.ptr NULL: not there. */
static struct slice note_json(struct req *r, int64_t percent, const char *name, struct slice text) {
    struct buf json = { 0 };

    buf_printf(&json, "{\"at\": %lld", (long long)(clock_db() / US_PER_MS));
    if (percent >= 0)
        buf_printf(&json, ", \"percent\": %lld", (long long)percent);
    if (text.ptr != NULL && !json_add_text(&json, slice_str(name), text))
        log_fatal("jobs", "a readable text is not UTF-8");
    json_end(&json);
    return req_take_text(r, &json);
}

void cmd_nack(struct req *r) {
    struct nack_options o = { .delay = NO_SECONDS };
    int from;

    if (!args_parse_or_reply(r, 1, &nack_spec, &o, &from))
        return;
    if (!job_ids_tokens_or_reply(r, from, r->argc))
        return;
    job_ids(r)->seconds = o.delay;
    job_ids(r)->error = o.error;
    if (o.error.ptr != NULL)
        job_ids(r)->note = note_json(r, -1, "error", readable(r, o.error));
    r->task.bytes += job_ids(r)->count * (o.error.len + job_ids(r)->note.len);
    send_ids(r, &op_requeue_jobs);
}

void cmd_enqueue(struct req *r) {
    start_ids(r, &op_requeue_jobs);
}

/* ---- DEQUEUE ---- */

static void dequeue_row(struct task *t, const PGresult *rows, int row) {
    struct job_key key = job_ids_key(t, rows, row);

    job_ids(REQ_OF_TASK(t))->hits++;
    job_withdrawn(key, row_time(rows, row, COL_DEQUEUE_JOBS_WAS_UNTIL), true);
    lease_add(key, row_time(rows, row, COL_DEQUEUE_JOBS_READY_AT));
}

OPERATION(dequeue_jobs, .names_jobs = true, .begin = job_set_now_and_node, .encode = job_ids_encode,
          .on_row = dequeue_row, .on_end = job_ids_reply_hits, .fail = job_ids_fail,
          .answer_lost = job_ids_leased);

void cmd_dequeue(struct req *r) {
    start_ids(r, &op_dequeue_jobs);
}

/* ---- WORKING ---- */

static void working_begin(struct params *p) {
    params_set_time(p, 5, clock_db());
    params_set_int2(p, 6, (int16_t)node_self()->number);
}

static void working_encode(struct params *p, struct task *t) {
    struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    job_ids_encode(p, t);
    params_time(p, 3, job_created_us(ids->keys[0].id));
    if (ids->seconds == NO_SECONDS)
        params_null(p, 4, PARAM_INT4);
    else
        params_int4(p, 4, (int32_t)ids->seconds);
    job_ids_encode_tokens(p, 7, t);
    if (REQ_OF_TASK(t)->client == NULL)
        params_null(p, 8, PARAM_BYTEA);
    else
        params_bytea(p, 8, slice_str(worker_name(worker_of(REQ_OF_TASK(t)->client))));
    params_jsonb_or_null(p, 9, ids->note);
    ids->sent_us = clock_db();
}

/* The lease in the row began when the statement was sent. The client's lease begins now. The job has the worker of its
 * last lease, or else that of the client, as in the row. */
static void lease_again(const struct req *r, struct job_key key, int64_t row_until, bool last,
                        struct lease_holder holder) {
    lease_add_row(key, clock_db() + row_until - job_ids(r)->sent_us, row_until);
    if (last)
        lease_set_last(key.id);
    if (holder.label == NULL && r->client != NULL)
        holder = (struct lease_holder){ worker_label_ref(worker_label(worker_of(r->client))), clock_db() };
    if (holder.label != NULL)
        lease_set_holder(key.id, holder);
}

static void tell_progress(const struct task *t, const PGresult *rows, int row) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));
    struct slice id = ids->note.ptr == NULL ? ids->note : job_ids_text(t, rows, row);

    if (id.ptr != NULL)
        event_of_progress(queue_find_id(job_ids_key(t, rows, row).queue_id), id, ids->percent, ids->text);
}

/* The error that a row tells; NULL: none. */
static const char *working_refusal(const PGresult *rows, int row) {
    if (row_bool(rows, row, COL_WORKING_JOBS_IS_CANCELLED))
        return "CANCELLED the job is cancelled: end it with NACK or ACKJOB";
    if (row_bool(rows, row, COL_WORKING_JOBS_TOO_LATE))
        return "TOOLATE Half of job TTL already elapsed, you are no longer allowed to postpone the next "
               "delivery.";
    if (row_bool(rows, row, COL_WORKING_JOBS_IS_FULL))
        return "MAXACTIVE the queue already runs as many jobs as its max-active allows: nothing was done";
    return NULL;
}

/* Columns: ordinal, lease, ready_at, too_late, was_queued, was_until, last, is_full, is_cancelled. */
static void worked(struct task *t, const PGresult *rows, int row) {
    struct req *r = REQ_OF_TASK(t);
    struct job_key key = job_ids_key(t, rows, row);
    int32_t lease = row_int4(rows, row, COL_WORKING_JOBS_LEASE);
    const char *refusal = working_refusal(rows, row);
    struct lease_change *own = job_ids(r)->own;
    struct lease_holder holder;

    job_ids(r)->hits++;
    if (refusal != NULL) {
        if (own == NULL)
            reply_error(r, "%s", refusal);
        return;
    }
    if (own == NULL)
        reply_int(r, lease);
    tell_progress(t, rows, row);
    if (lease == 0)
        return;
    if (own != NULL)
        own->until = row_time(rows, row, COL_WORKING_JOBS_READY_AT);
    holder = lease_take_holder(key.id);
    job_withdrawn(key, row_time(rows, row, COL_WORKING_JOBS_WAS_UNTIL),
                  row_bool(rows, row, COL_WORKING_JOBS_WAS_QUEUED));
    lease_again(r, key, row_time(rows, row, COL_WORKING_JOBS_READY_AT),
                row_bool(rows, row, COL_WORKING_JOBS_LAST), holder);
}

static void working_row(struct task *t, const PGresult *rows, int row) {
    if (!job_ids_note_stale(t, rows, row, COL_WORKING_JOBS_LEASE))
        worked(t, rows, row);
}

#define WORKING_GONE "NOJOB Job not known in the context of this node."

static void working_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    (void)rows;
    job_ids_unhold(r);
    if (job_ids(r)->own != NULL) {
        ((struct lease_change *)job_ids(r)->own)->done(r, job_ids(r)->hits > 0);
        return;
    }
    if (job_ids(r)->stale > 0)
        reply_error(r, TOKEN_ERROR);
    else if (job_ids(r)->hits == 0)
        reply_error(r, WORKING_GONE);
    req_end(r);
}

/* The ID is that of another database. As for a job that has ended, the others of a transaction are done. */
static void working_foreign(struct req *r) {
    reply_error(r, WORKING_GONE);
    if (r->exec != NULL)
        r->failed = false;
    req_end(r);
}

#define WORKING_OP(id)                                                                  \
    OPERATION(id, .names_jobs = true, .begin = working_begin, .encode = working_encode, \
              .on_row = working_row, .on_end = working_end, .fail = job_ids_fail,       \
              .answer_lost = job_ids_leased)

WORKING_OP(working_jobs);
WORKING_OP(working_limited);

/* Only a job of a queue with limits may need a slot. A queue that this server does not know may have limits. */
static struct op *working_op(struct job_key key) {
    const struct queue *q = queue_find_id(key.queue_id);

    return q == NULL || q->limits->limited ? &op_working_limited : &op_working_jobs;
}

static void working_send(struct req *r) {
    job_ids_send(r, working_op(job_ids(r)->keys[0]));
}

void lease_change(struct req *r, struct job_key key, int64_t token, int64_t seconds,
                  struct lease_change *own) {
    job_ids_set(r, key);
    job_ids(r)->tokens = req_alloc(r, sizeof *job_ids(r)->tokens);
    job_ids(r)->tokens[0] = token;
    job_ids(r)->seconds = seconds;
    job_ids(r)->own = own;
    working_send(r);
}

#define PROGRESS_TEXT_MAX 512

struct working_options {
    int64_t percent; /* -1: no PROGRESS */
    struct slice text;
};

static const struct arg_option working_words[] = {
    { "PROGRESS", ARG_INT, offsetof(struct working_options, percent), 0, 100,
      "ERR PROGRESS must be a whole number from 0 to 100" },
    { "TEXT", ARG_BYTES, offsetof(struct working_options, text), 0, PROGRESS_TEXT_MAX,
      "ERR TEXT must have at most 512 bytes" },
};

static const struct arg_spec working_spec = { working_words, LENGTH(working_words), NULL, NULL, NULL };

/* False if it has replied an error. */
static bool working_note_or_reply(struct req *r, const struct working_options *o) {
    if (o->percent < 0 && o->text.ptr == NULL)
        return true;
    if (o->percent < 0) {
        req_error(r, "ERR TEXT needs PROGRESS");
        return false;
    }
    job_ids(r)->percent = o->percent;
    job_ids(r)->text = o->text;
    job_ids(r)->note = note_json(r, o->percent, "text", o->text.ptr == NULL ? o->text : readable(r, o->text));
    r->task.bytes += job_ids(r)->note.len;
    return true;
}

void cmd_working(struct req *r) {
    struct working_options o = { .percent = -1 };
    int64_t seconds = NO_SECONDS;
    int words = r->argc > 2 && !args_is_option(&working_spec, r->argv[2]) ? 3 : 2, end;

    if (words == 3 && (!parse_int_disque(r->argv[2], &seconds) || seconds < 1 || seconds > INT32_MAX)) {
        usage_invalid(r, 2, "ERR WORKING takes a number of seconds from 1 to 2147483647");
        return;
    }
    if (!args_parse_or_reply(r, words, &working_spec, &o, &end) || !job_ids_tokens_or_reply(r, 1, 2) ||
        !working_note_or_reply(r, &o))
        return;
    job_ids(r)->seconds = seconds;
    if (job_ids(r)->count == 0) {
        working_foreign(r);
        return;
    }
    working_send(r);
}
