/* Adds jobs: makes their IDs, hands them off to waiting clients, and inserts them in a batch. */
#include "jobs/add.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/node.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/commit_marker.h"
#include "batch/contention.h"
#include "batch/operations.h"
#include "jobs/add_ahead.h"
#include "jobs/add_row.h"
#include "jobs/claim_ahead.h"
#include "jobs/flows.h"
#include "jobs/groups.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "jobs/row_places.h"
#include "jobs/take.h"
#include "jobs/undelivered.h"
#include "jobs/unique_keys.h"
#include "queue/job_events.h"
#include "queue/list_orientation.h"
#include "queue/queue_ready.h"
#include "queue/settings.h"
#include "queue/waiters.h"

/* About the bytes of a row without the body. */
#define ROW_BYTES 120
/* About the bytes of a divided task that are sent in one turn. */
#define PART_BYTES ((size_t)4 * 1024 * 1024)
#define FLOW_FOUND_US (30 * US_PER_S)
#define FLOW_TRIES 3

#define NOREPL_TIMEOUT "NOREPL Timeout reached before replicating to the requested number of nodes"

static struct add *add_of(const struct task *t) {
    return REQ_OF_TASK(t)->data;
}

static bool add_is_push(const struct add *a) {
    return a->end != END_NONE;
}

/* True if the job enters the queue later, because of DELAY, because of its group, or because it waits for other jobs. */
static bool add_is_delayed(const struct add *a) {
    return a->opt.delay > 0 || addjob_has_group(&a->opt) || addjob_in_flow(&a->opt);
}

static bool add_is_apart(const struct add *a) {
    return a->req->task.op == &op_add_large || a->req->task.op == &op_add_divided;
}

struct job_key add_job_key(const struct add *a, size_t i) {
    return addjob_key(a->q, &a->opt, a->ids[i]);
}

struct job_ref add_job_ref(const struct add *a, size_t i) {
    return (struct job_ref){ .key = { .rank = (int16_t)-a->opt.priority }, .id = &a->ids[i], .q = a->q };
}

static void add_make_ids(struct add *a) {
    a->made_us = clock_db();
    a->at_front = add_is_push(a) && a->end == a->q->list.consume_end;
    for (size_t i = 0; i < a->count; i++)
        a->ids[i] = (a->at_front ? -1 : 1) * job_new_id(a->made_us, node_self()->number);
}

/* ---- hand-off ---- */

/* A list command gets all elements. If it got only some, and the insert of the others failed, the push would be half
 * done. */
static bool add_suits(const struct add *a, const struct taker *taker) {
    if (taker->kind == NULL)
        return !add_is_push(a) && !a->several;
    if (taker->kind->leases || taker->kind->watches)
        return false;
    return add_is_push(a) && taker->count >= (int64_t)a->count &&
           ((const struct pop *)taker->own)->to == NULL;
}

/* The waiting client that gets the jobs. NULL for a unique job, because its insert may add nothing. Elements that were
 * accepted before and are not inserted yet go first. */
static struct taker *add_find_taker(const struct add *a) {
    struct taker *taker;

    if (add_is_delayed(a) || a->given_up || a->again || addjob_is_unique(&a->opt) || req_in_txn(a->req) ||
        add_is_apart(a) || (add_is_push(a) && a->q->work->adds.accepted > 0))
        return NULL;
    taker = waiters_find_taker(a->q);
    return taker != NULL && add_suits(a, taker) ? taker : NULL;
}

/* The element goes to the client without a row. If the client disconnects before the reply is sent, the element is
 * inserted as a job, at the place that the push would have given it. */
static struct job add_element(const struct add *a, size_t i) {
    return (struct job){
        .q = a->q,
        .key = add_job_key(a, i),
        .due_us = clock_db(),
        .expires_at = clock_db() + a->opt.ttl * US_PER_S,
        .retry = (int32_t)a->opt.retry,
        .body = a->bodies[i],
    };
}

/* As in Redis, all elements are in the list before the first one is popped. */
static void add_hand_elements(struct add *a, struct taker *taker) {
    enum list_end from = ((const struct pop *)taker->own)->from;
    struct job *jobs = req_alloc(a->req, a->count * sizeof *jobs);

    add_make_ids(a);
    for (size_t i = 0; i < a->count; i++)
        jobs[i] = add_element(a, from == a->end ? a->count - 1 - i : i);
    stats.jobs_added += a->count;
    stats.handoffs += a->count;
    queue_count_in(a->q, (int64_t)a->count);
    for (size_t i = 0; i < a->count && events_wanted(a->q); i++)
        event_of_job(a->q, EVENT_ADDED, jobs[i].key, jobs[i].expires_at, jobs[i].retry);
    taker_claim(taker);
    taker_deliver(taker, jobs, a->count);
    for (size_t i = 0; i < a->count; i++)
        events_of_taken(a->q, jobs[i].key, jobs[i].expires_at, jobs[i].retry);
    a->reply(a->req, &(struct added){ .len = (int64_t)a->count });
    req_end(a->req);
}

/* Decides once for each transaction which waiter gets the job. Called in the order of the commands. Waiters are
 * served in this order, and pushes reply lengths of the list in it. A lease begins when the transaction is built. */
static void add_decide(struct task *t) {
    struct add *a = add_of(t);
    struct taker *taker;

    if (a->to == NULL && !a->sent && !add_is_delayed(a)) {
        if ((taker = add_find_taker(a)) != NULL) {
            taker_claim(taker);
            taker->pending++;
            a->to = taker;
        } else {
            a->sent = true;
            add_ahead_decide(a);
            queue_work(a->q)->adds.sent += (int64_t)a->count;
            if (add_is_push(a) && !add_is_apart(a))
                a->place = queue_work(a->q)->adds.pushes_sent += (int64_t)a->count;
        }
    }
    if (add_is_leased(a))
        a->until = a->opt.retry == 0 ? TIME_NEVER : clock_db() + add_lease_us(a);
}

/* Returns the request that gets the job: a->to, or a request that has waited longer. */
static struct taker *add_receiver(struct add *a) {
    struct taker *older = taker_find_older(a->to, a->q);

    a->to->pending--;
    if (older == NULL)
        return a->to;
    taker_claim(older);
    taker_wait(a->to);
    return older;
}

static void add_hand_over(struct add *a) {
    struct taker *taker = add_receiver(a);
    struct job job = add_delivered_job(a, 0);

    stats.handoffs++;
    if (taker->client != NULL) {
        taker_deliver(taker, &job, 1);
        return;
    }
    undelivered_release(job.key, a->until, job.last, NULL, NULL);
    taker_wait(taker);
}

/* ---- parameters ---- */

/* In a client transaction the IDs are made here, in the order of the commands. Queues may get their rows in any
 * order. */
static struct add *add_begin(struct task *t) {
    struct add *a = add_of(t);

    if (req_in_txn(a->req))
        add_make_ids(a);
    add_decide(t);
    commit_marker(t);
    return a;
}

static void add_encode(struct params *p, struct task *t) {
    const struct add *a = add_begin(t);

    for (size_t i = 0; i < a->count; i++)
        add_write_row(p, a, i);
}

static size_t add_encode_from(struct params *p, struct task *t, size_t from) {
    const struct add *a = from == 0 ? add_begin(t) : add_of(t);
    size_t bytes = 0, i = from;

    for (; i < a->count && bytes < PART_BYTES; i++) {
        add_write_row(p, a, i);
        bytes += a->bodies[i].len + ROW_BYTES;
    }
    return i;
}

/* Leased jobs have a statement of their own, and a common end of the leases. The leases of jobs ahead end later, so these have
 * another one. */
static bool add_shape(const struct task *t, struct op_shape *shape) {
    const struct add *a = add_of(t);
    const struct add_options *o = &a->opt;

    shape->stmt = add_is_leased(a) ? SQL_ADD_JOBS_LEASED : SQL_ADD_JOBS_ALIKE;
    shape->a = (int64_t)a->q->id << 32 | o->retry;
    shape->b = -o->priority * (INT64_C(1) << 32) + o->replicate * 4 + a->ahead * 2 + (o->ttl == LIST_TTL);
    return add_is_alike(a);
}

static void add_alike_begin(struct params *p, struct task *first) {
    add_write_common(p, add_of(first));
}

static void add_alike_encode(struct params *p, struct task *t) {
    commit_marker(t);
    add_write_alike(p, add_of(t));
}

static void add_flow_encode(struct params *p, struct task *t) {
    struct add *a = add_begin(t);

    a->flow_first = params_elements(p, 0);
    params_set_bool(p, 23, req_in_txn(a->req));
    for (size_t i = 0; i < a->count; i++)
        add_write_flow_row(p, a, i);
}

static void add_flow_begin(struct params *p) {
    params_set_time(p, 22, clock_db());
}

static void add_if_any_begin(struct params *p) {
    params_set_time(p, 15, clock_db());
}

static void add_unique_begin(struct params *p) {
    params_set_time(p, 17, clock_db());
    params_set_int2(p, 22, (int16_t)node_self()->number);
}

/* In a client transaction the statement fails if another session is taking the key. A later try after the commit would
 * not be atomic. */
static void add_unique_encode(struct params *p, struct task *t) {
    struct add *a = add_begin(t);

    a->trace = commit_marker_further();
    params_set_bool(p, 19, t->client_txn != NULL);
    add_write_row(p, a, 0);
}

/* Two jobs with one key need two statements: the second statement finds the first job. */
static unsigned add_unique_hash(const struct task *t) {
    struct slice key = add_of(t)->opt.unique;

    return hash_bytes(key.ptr, key.len);
}

/* ---- ends ---- */

/* The statement has ended. */
static void add_completed(struct add *a) {
    add_ahead_completed(a);
    if (a->sent)
        queue_work(a->q)->adds.sent -= (int64_t)a->count;
    if (a->place > 0)
        queue_work(a->q)->adds.pushes_ended += (int64_t)a->count;
    a->sent = false;
    a->place = 0;
}

void add_count_accepted(struct queue *q, int64_t count) {
    queue_work(q)->adds.accepted += count;
}

/* The command has ended, except for its reply. */
static void add_left(struct add *a) {
    timer_stop(&a->timeout);
    add_ahead_left(a);
    if (a->settled)
        commit_marker_end(&a->tried);
    if (addjob_is_of_started(&a->opt))
        queue_work(a->q)->adds.of_started--;
    a->q->users--;
    if (!add_is_delayed(a))
        add_count_accepted(a->q, -(int64_t)a->count);
}

static void add_ended(struct add *a) {
    add_completed(a);
    add_left(a);
}

static void add_job_entered(const struct add *a, size_t i, bool delayed) {
    struct job_times at = add_job_times(a, i);

    job_entered(&(struct job_row){ .q = a->q,
                                   .key = add_job_key(a, i),
                                   .delayed = delayed,
                                   .leased = add_is_leased(a),
                                   .wake_at = at.wake_at,
                                   .expires_at = at.expires_at,
                                   .retry = (int32_t)a->opt.retry,
                                   .group = a->opt.group },
                JOB_ADDED);
}

static void add_committed(struct add *a) {
    if (add_is_apart(a)) {
        position_receive(&a->q->scan, add_job_key(a, a->at_front ? a->count - 1 : 0));
        queue_note_apart(a->q, a->req->started_us);
    }
    for (size_t i = 0; i < a->count; i++)
        add_job_entered(a, i, add_is_delayed(a));
    if (a->to != NULL)
        add_hand_over(a);
    add_ahead_keep(a);
}

static struct added add_result(const struct add *a) {
    return (struct added){
        .key = add_job_key(a, 0),
        .expires_at = add_job_times(a, 0).expires_at,
        .retry = (int32_t)a->opt.retry,
        .outcome = "added",
    };
}

static void add_reply(struct add *a, const struct added *result) {
    a->reply(a->req, result);
    req_end(a->req);
}

/* Deletes the jobs by requests of the server itself, whose replies are dropped. The jobs may wait for other jobs. */
static void add_remove_if_given_up(const struct add *a) {
    for (size_t i = 0; i < a->count && a->given_up; i++) {
        struct req *r = req_new(0, NULL, NULL, req_free);

        job_ids_set(r, add_job_key(a, i));
        r->task.op = &op_delete_jobs;
        batch_add(&r->task);
    }
}

/* added: the statement inserted the jobs. False after a lost first try, because bootstrap.c has counted its jobs.
 * The length of a list includes uncounted elements of earlier requests. It excludes counted elements of later
 * requests. */
static void add_finish(struct add *a, bool added) {
    int64_t uncounted = a->place > 0 ? a->place - (int64_t)a->count - a->q->work->adds.pushes_ended : 0;
    struct added result;

    add_ended(a);
    if (added)
        add_committed(a);
    add_ahead_end(a);
    result = add_result(a);
    add_remove_if_given_up(a);
    result.len = int64_at_least_zero(queue_len(a->q) + uncounted);
    add_reply(a, &result);
}

/* add_jobs_leased returns rows. */
static void add_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++)
        row_places_note(row_int8(rows, i, COL_ADD_JOBS_LEASED_ID),
                        row_place(rows, i, COL_ADD_JOBS_LEASED_PLACE));
    for (size_t i = 0; i < count; i++)
        add_finish(add_of(tasks[i]), true);
}

/* rows has the IDs of the jobs inserted now, in their order. A request has added all its jobs, or none. */
static void add_inserted_done(struct task **tasks, size_t count, const PGresult *rows) {
    int next = 0;

    for (size_t i = 0; i < count; i++) {
        struct add *a = add_of(tasks[i]);
        bool added = next < PQntuples(rows) && row_int8(rows, next, COL_ADD_MISSING_ID) == a->ids[0];

        next += added ? (int)a->count : 0;
        if (added || !a->if_any) {
            add_finish(a, added);
            continue;
        }
        add_ended(a);
        req_int(a->req, 0);
    }
}

static void add_end_unsure(struct add *a) {
    add_ended(a);
    add_remove_if_given_up(a);
    req_outcome_unknown(a->req);
}

static void add_missing_done(struct task **tasks, size_t count, const PGresult *rows) {
    bool unsure = PQntuples(rows) > 0 && row_bool(rows, 0, COL_ADD_MISSING_IS_UNSURE);

    if (!unsure)
        add_inserted_done(tasks, count, rows);
    for (size_t i = 0; unsure && i < count; i++)
        add_end_unsure(add_of(tasks[i]));
}

/* The waiter that was to get the job waits again, at its old position. */
static void add_withdraw(struct add *a) {
    struct taker *taker = a->to;

    add_completed(a);
    add_ahead_end(a);
    a->to = NULL;
    if (taker != NULL && --taker->pending == 0)
        taker_wait(taker);
}

static void add_unique_not_seen(struct add *a);

/* OP_KEY_TAKEN: another session took the unique key for a time while the statement ran, and its
 * job has gone (add_unique.sql). A client transaction ends with contention_error in place of it. */
static void add_fail(struct task *t, const struct op_error *err) {
    struct add *a = add_of(t);

    add_withdraw(a);
    if (addjob_is_unique(&a->opt) && strcmp(err->sqlstate, OP_KEY_TAKEN) == 0) {
        add_unique_not_seen(a);
        return;
    }
    add_left(a);
    req_db_error(a->req, err);
}

/* True if a repeated statement finds a job with AFTER or BATCH that a lost try has added. A peer may have deleted the row in
 * flow_job of a job that ended a minute ago: JOB_KEEP_US in flows.c. False: the request has ended. */
static bool add_flow_found_or_reply(struct add *a) {
    if (clock_db() - a->made_us < FLOW_FOUND_US)
        return true;
    add_end_unsure(a);
    return false;
}

/* The next try reads the trace of the committed try. */
static void add_settle(struct add *a) {
    if (a->settled)
        commit_marker_end(&a->tried);
    a->tried.txn = a->trace;
    commit_marker_keep(&a->tried);
    a->again = a->settled = true;
}

/* bootstrap.c has counted the jobs, and has given back a lease. The next statement finds the job that has a unique key:
 * this one or another. It finds none if another server has delivered the job and it was acknowledged. It adds the job if
 * the committed try did not.
 * A transaction whose predecessor or batch was unknown is committed, too, and has added nothing. In a client transaction
 * the statement fails in place of such a verdict. */
static void add_answer_lost(struct task *t) {
    struct add *a = add_of(t);

    queue_reset_scan(a->q);
    if (addjob_is_unique(&a->opt)) {
        add_completed(a);
        add_settle(a);
        batch_add(t);
    } else if (a->if_any) {
        add_ended(a);
        req_answer_lost(a->req);
    } else if (addjob_in_flow(&a->opt) && a->req->exec == NULL) {
        if (add_flow_found_or_reply(a))
            batch_add(t);
    } else {
        add_finish(a, false);
    }
}

/* ---- workflows and batches ---- */

/* Verdicts of add_in_flow.sql. */
enum flow_verdict {
    FLOW_ADDED = 1,
    FLOW_WAITS,
    FLOW_NO_PREDECESSOR,
    FLOW_NO_BATCH,
    FLOW_EXISTS, /* an earlier try was committed, and bootstrap.c has counted the job */
    FLOW_CANCELLED,
};

/* Another session may have ended the predecessor just now: the next statement sees the effect. A client transaction
 * fails as a whole, and client_txn.c repeats it. */
static bool add_flow_tries_again(struct add *a) {
    return !a->given_up && ++a->flow_tries < FLOW_TRIES;
}

/* All jobs of a request have the same verdict, because the statement judges them alike. */
static void add_flow_judged(struct add *a, enum flow_verdict verdict) {
    struct added result = add_result(a);

    if (verdict == FLOW_NO_PREDECESSOR || verdict == FLOW_NO_BATCH) {
        if (add_flow_tries_again(a)) {
            batch_add(&a->req->task);
            return;
        }
        add_left(a);
        req_error(a->req, "%s", verdict == FLOW_NO_BATCH ? NO_BATCH : NO_PREDECESSOR);
        return;
    }
    add_left(a);
    if (verdict == FLOW_WAITS)
        queue_show(a->q);
    for (size_t i = 0; i < a->count; i++) {
        if (verdict == FLOW_ADDED)
            add_job_entered(a, i, a->opt.delay > 0);
        if (verdict == FLOW_CANCELLED)
            flow_job_ended(a->ids[i]);
    }
    add_remove_if_given_up(a);
    add_reply(a, &result);
}

/* The request whose jobs include the one with this ordinal. */
static struct add *add_flow_find(struct task **tasks, size_t count, int32_t ordinal) {
    size_t low = 0, high = count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (add_of(tasks[middle])->flow_first < ordinal)
            low = middle;
        else
            high = middle;
    }
    return add_of(tasks[low]);
}

/* Columns: ordinal, verdict; in no order. */
static void add_flow_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct add *a = add_flow_find(tasks, count, row_int4(rows, i, COL_ADD_IN_FLOW_ORDINAL));

        a->flow_verdict = row_int4(rows, i, COL_ADD_IN_FLOW_VERDICT);
    }
    for (size_t i = 0; i < count; i++) {
        struct add *a = add_of(tasks[i]);

        add_completed(a);
        add_flow_judged(a, (enum flow_verdict)a->flow_verdict);
    }
}

/* ---- unique keys ---- */

/* Result: first the rows of taken keys by ordinal, then the rows of added jobs by id. */

static bool add_unique_has_row(const PGresult *rows, int row, int32_t ordinal) {
    return row < PQntuples(rows) && row_int4(rows, row, COL_ADD_UNIQUE_ORDINAL) == ordinal;
}

static int add_unique_first_added(const PGresult *rows) {
    int row = 0;

    while (row < PQntuples(rows) && row_int4(rows, row, COL_ADD_UNIQUE_ORDINAL) != 0)
        row++;
    return row;
}

static bool add_unique_is_added(const struct add *a, const PGresult *rows, int first) {
    int low = first, high = PQntuples(rows);

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (row_int8(rows, middle, COL_ADD_UNIQUE_ID) < a->ids[0])
            low = middle + 1;
        else
            high = middle;
    }
    return low < PQntuples(rows) && row_int8(rows, low, COL_ADD_UNIQUE_ID) == a->ids[0];
}

/* REPLACE changed the time from which on the job is queued, as NACK does. */
static void add_unique_moved(struct job_key key, const PGresult *rows, int row) {
    int64_t was_until = row_time(rows, row, COL_ADD_UNIQUE_WAS_UNTIL);

    job_requeued(key, was_until, was_until != TIME_DELAYED,
                 row_time_or(rows, row, COL_ADD_UNIQUE_DELAYED_UNTIL, TIME_NEVER));
}

static const char *add_unique_outcome(const struct add *a, struct job_key key, const PGresult *rows,
                                      int row) {
    if (key.id == a->ids[0])
        return "added";
    return row_bool(rows, row, COL_ADD_UNIQUE_IS_REPLACED) ? "replaced" : "existing";
}

/* After a lost transaction the key may be taken by the job itself. bootstrap.c has counted it then. Another job may have
 * the body of a settled REPLACE, or may be newer. */
static void add_unique_taken(struct add *a, const PGresult *rows, int row) {
    struct job_key key = row_key(a->q->id, rows, row, COL_ADD_UNIQUE_RANK);

    if (key.id != a->ids[0])
        stats.unique_taken++;
    else if (addjob_has_group(&a->opt))
        group_joined(key, a->opt.group);
    if (!row_null(rows, row, COL_ADD_UNIQUE_WAS_UNTIL))
        add_unique_moved(key, rows, row);
    add_left(a);
    if (a->settled && a->opt.replace && a->opt.with_outcome && key.id != a->ids[0] &&
        !row_bool(rows, row, COL_ADD_UNIQUE_IS_REPLACED)) {
        req_answer_lost(a->req);
        return;
    }
    add_reply(a, &(struct added){ .key = key,
                                  .expires_at = row_time(rows, row, COL_ADD_UNIQUE_EXPIRES_AT),
                                  .retry = row_int4(rows, row, COL_ADD_UNIQUE_RETRY),
                                  .outcome = add_unique_outcome(a, key, rows, row) });
}

/* Most transactions that take a key have ended by the second try. A transaction of an application may stay open. */
static void add_unique_try_again(struct add *a) {
    bool first = a->unseen_us == 0;

    stats.unique_retries++;
    if (lock_patience_is_over(&a->unseen_us))
        add_fail(&a->req->task, &contention_error);
    else if (first)
        batch_add(&a->req->task);
    else
        unique_keys_pause(a);
}

/* The job was not added, and nothing has its key: it has expired, or a committed try added it or found a job that has
 * gone since. */
static void add_unique_gone(struct add *a) {
    struct added result = add_result(a);

    add_left(a);
    if (a->settled && a->opt.with_outcome)
        req_answer_lost(a->req);
    else
        add_reply(a, &result);
}

/* Another session took the key while the statement ran: the next try finds the job of that session. */
static void add_unique_not_seen(struct add *a) {
    if (a->given_up)
        add_unique_gone(a);
    else
        add_unique_try_again(a);
}

/* An added job is kept even if the client has got an error: a repeated ADDJOB with its key replies its ID. */
static void add_unique_done(struct task **tasks, size_t count, const PGresult *rows) {
    int first = add_unique_first_added(rows);
    int held = 0;

    for (size_t i = 0; i < count; i++) {
        struct add *a = add_of(tasks[i]);

        add_completed(a);
        if (add_unique_has_row(rows, held, (int32_t)i + 1)) {
            if (row_null(rows, held, COL_ADD_UNIQUE_ID))
                add_unique_not_seen(a);
            else
                add_unique_taken(a, rows, held);
            held++;
        } else if (add_unique_is_added(a, rows, first)) {
            a->given_up = false;
            add_finish(a, true);
        } else {
            add_unique_gone(a);
        }
    }
}

/* ---- operations ---- */

/* REPLICATE wins over ASYNC. A unique job ignores ASYNC, because its ID may be replied to other clients that did not
 * ask for ASYNC. A group ignores ASYNC and the size of the request, because its jobs keep their order. Jobs with rare
 * properties ignore both. */
static struct op *add_op_of(const struct add *a) {
    bool replicated = a->opt.replicate > 1;

    if (a->if_any)
        return &op_push_if_any;
    if (addjob_is_unique(&a->opt))
        return replicated ? &op_add_unique_replicated : &op_add_unique;
    if (addjob_in_flow(&a->opt))
        return replicated ? &op_add_in_flow_replicated : &op_add_in_flow;
    if (a->again)
        return replicated ? &op_add_missing_replicated : &op_add_missing;
    if (addjob_is_rare(&a->opt))
        return replicated ? &op_add_rare_replicated : &op_add_rare;
    if (replicated)
        return &op_add_replicated;
    if (addjob_has_group(&a->opt))
        return &op_add_jobs;
    if (a->opt.async)
        return &op_add_async;
    if (a->req->large && !req_in_txn(a->req))
        return a->count > 1 ? &op_add_divided : &op_add_large;
    return &op_add_jobs;
}

/* After a lost transaction without a commit marker, inserts the jobs that are missing. */
static bool add_again(struct task *t, bool unknown) {
    struct add *a = add_of(t);

    add_withdraw(a);
    if (unknown && t->marked && addjob_in_flow(&a->opt) && !add_flow_found_or_reply(a))
        return false;
    a->again |= unknown;
    if (a->again)
        add_ahead_left(a);
    t->op = add_op_of(a);
    return true;
}

static const struct op_alike add_alike = {
    .shape = add_shape,
    .begin = add_alike_begin,
    .decide = add_decide,
    .encode = add_alike_encode,
    .done = add_done,
};

/* All these operations share the functions of a task. */
#define ADD_OP(id, ...)                                                       \
    OPERATION(id, .encode = add_encode, .fail = add_fail, .again = add_again, \
              .answer_lost = add_answer_lost, __VA_ARGS__)
#define ADD_SHARED(kind) .commit = kind, .shares = true
#define UNIQUE_OP(id, kind)                                                                        \
    OPERATION(id, .begin = add_unique_begin, .encode = add_unique_encode, .done = add_unique_done, \
              .fail = add_fail, .again = add_again, .answer_lost = add_answer_lost,                \
              .differs_by = add_unique_hash, ADD_SHARED(kind))

ADD_OP(add_jobs, .done = add_done, ADD_SHARED(COMMIT_ORDINARY), .alike = &add_alike, .splittable = true);
ADD_OP(add_async, .done = add_done, ADD_SHARED(COMMIT_ASYNC), .alike = &add_alike);
ADD_OP(add_replicated, .done = add_done, ADD_SHARED(COMMIT_REPLICATED), .alike = &add_alike);
ADD_OP(add_large, .done = add_done);
ADD_OP(add_divided, .done = add_done, .encode_from = add_encode_from);
ADD_OP(add_rare, .done = add_done, ADD_SHARED(COMMIT_ORDINARY));
ADD_OP(add_rare_replicated, .done = add_done, ADD_SHARED(COMMIT_REPLICATED));
ADD_OP(add_missing, .done = add_missing_done, ADD_SHARED(COMMIT_ORDINARY));
ADD_OP(add_missing_replicated, .done = add_missing_done, ADD_SHARED(COMMIT_REPLICATED));
UNIQUE_OP(add_unique, COMMIT_ORDINARY);
UNIQUE_OP(add_unique_replicated, COMMIT_REPLICATED);
#define FLOW_OP(id, kind)                                                                    \
    OPERATION(id, .begin = add_flow_begin, .encode = add_flow_encode, .done = add_flow_done, \
              .fail = add_fail, .again = add_again, .answer_lost = add_answer_lost, ADD_SHARED(kind))

FLOW_OP(add_in_flow, COMMIT_ORDINARY);
FLOW_OP(add_in_flow_replicated, COMMIT_REPLICATED);
ADD_OP(push_if_any, .begin = add_if_any_begin, .done = add_inserted_done, ADD_SHARED(COMMIT_ORDINARY));

/* ---- start ---- */

static void add_submit(struct add *a) {
    struct task *t = &a->req->task;

    if (t->client_txn != NULL) {
        t->client_txn->ahead |= a->at_front || a->opt.priority > 0;
        t->client_txn->edges += a->count * a->opt.flow.count;
    }
    task_reads(t, TASK_CHANGED_ROW * (int64_t)(a->count * a->opt.flow.count));
    batch_add(t);
}

static void on_submit_turn(struct task *t) {
    add_ahead_unhold(add_of(t));
    add_submit(add_of(t));
}

/* A request that waits for clients to take jobs keeps its place in the order of the IDs. */
static void add_enter(struct add *a) {
    add_make_ids(a);
    a->req->task.op = add_op_of(a);
    if (!add_ahead_hold(a, on_submit_turn))
        add_submit(a);
}

/* A push needs the consume end of the list. The row of a job ahead has a lease, but no client has the job. */
static bool add_open_or_wait(struct add *a) {
    if (add_is_push(a))
        return list_open_or_wait(a->q, list_other_end(a->end), &a->row_waiter);
    if (queue_is_open(a->q))
        return !addjob_is_of_started(&a->opt) || claim_ahead_return(a->q, &a->row_waiter);
    queue_wait_for_row(a->q, &a->row_waiter);
    return false;
}

static void on_add_open(struct task *t) {
    if (add_open_or_wait(add_of(t)))
        add_enter(add_of(t));
}

static void on_add_not_open(struct task *t, const struct op_error *err) {
    add_left(add_of(t));
    req_db_error(REQ_OF_TASK(t), err);
}

/* ms-timeout. If the insert has been sent, the job cannot be withdrawn. It is deleted after the commit, unless it is
 * unique. */
static void add_give_up(struct timer *t) {
    struct add *a = CONTAINER_OF(t, struct add, timeout);
    struct req *r = a->req;

    reply_error(r, "%s", db_disk_is_full() ? DISK_FULL : NOREPL_TIMEOUT);
    if (r->task.state == TASK_SENT || (r->task.state == TASK_QUEUED && a->again)) {
        a->given_up = true;
        client_detach(r);
        return;
    }
    batch_cancel(&r->task);
    list_remove(&a->row_waiter.node);
    add_left(a);
    req_end(r);
}

/* In a client transaction ms-timeout has no effect, because a job cannot be withdrawn from it. */
static void add_insert(struct add *a) {
    struct req *r = a->req;

    row_waiter_init(&a->row_waiter, &r->task, on_add_open, on_add_not_open);
    addjob_keep(r, &a->opt);
    if (addjob_is_rare(&a->opt))
        add_write_rare(a);
    r->task.rows = (uint32_t)(a->count * (1 + a->opt.flow.count));
    r->task.bytes =
        a->count * a->opt.flow.count * ROW_BYTES +
        a->count * (a->opt.unique.len + a->opt.deadqueue.len + a->opt.group.len + a->rare.len + ROW_BYTES);
    for (size_t i = 0; i < a->count; i++) {
        r->task.bytes += a->bodies[i].len;
        queue_note_body(a->q, a->bodies[i].len + a->rare.len);
    }
    if (a->timeout_ms > 0 && !req_in_txn(r))
        timer_set(&a->timeout, clock_mono() + int64_least(a->timeout_ms, INT32_MAX) * US_PER_MS, add_give_up);
    a->q->users++;
    if (addjob_is_of_started(&a->opt))
        queue_work(a->q)->adds.of_started++;
    if (!add_is_delayed(a))
        add_count_accepted(a->q, (int64_t)a->count);
    if (a->opt.retry == 0 || a->opt.attempts == 1)
        claim_ahead_note_once(a->q);
    if (add_op_of(a) == &op_add_jobs)
        add_ahead_count(a);
    if (add_open_or_wait(a))
        add_enter(a);
}

static void add_check(struct add *a) {
    struct slice name = a->req->argv[1];
    struct queue *q = queue_find(name);
    const char *refusal;
    struct taker *taker;

    /* Elements live without end unless the queue has a ttl. */
    if (add_is_push(a) && (q == NULL || setting_of(q, SETTING_TTL) < 0))
        a->opt.ttl = LIST_TTL;
    addjob_settle(&a->opt, q);
    refusal = addjob_conflict(&a->opt, name);
    if (refusal == NULL) {
        a->q = queue_use(q, name);
        refusal = addjob_refusal(a->q, &a->opt, a->several ? (int64_t)a->count : 1);
    }
    if (refusal != NULL) {
        req_error(a->req, "%s", refusal);
        return;
    }
    a->ids = a->count == 1 ? &a->id : req_alloc(a->req, a->count * sizeof *a->ids);
    /* An element can be put back only into a queue with a row. Its id depends on the consume end. */
    taker = add_is_push(a) && a->q->id != 0 && a->q->list.consume_end != END_NONE ? add_find_taker(a) : NULL;
    if (taker != NULL)
        add_hand_elements(a, taker);
    else
        add_insert(a);
}

static void on_start_turn(struct task *t) {
    add_ahead_unhold(add_of(t));
    add_check(add_of(t));
}

void add_start(struct add *a) {
    a->req->data = a;
    if (!add_ahead_waits_behind(a, on_start_turn))
        add_check(a);
}
