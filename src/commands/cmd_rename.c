/* RENAME RENAMENX: moves all queued jobs of a queue to another queue at once. */
#include <stdlib.h>

#include "base/clock.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/add_options.h"
#include "jobs/bulk.h"
#include "jobs/claim_ahead.h"
#include "jobs/expire.h"
#include "jobs/job.h"
#include "jobs/list_life.h"
#include "jobs/take.h"
#include "net/args.h"
#include "queue/job_events.h"
#include "queue/list_orientation.h"
#include "queue/queue_iter.h"
#include "queue/queue_ready.h"

/* All jobs move in one transaction. More jobs than this move over CONN_LARGE, so that other transactions need not wait
 * until they have moved: about 10 us a job. */
#define RENAME_APART_FROM 1000
/* In a client transaction, which delays all other transactions for about a second. */
#define RENAME_IN_TXN_MOST 100000
#define RENAME_ANY (INT64_MAX - 1)
/* Jobs of each queue that the result names. Of larger queues it names only jobs with a group, in a flow, or with an
 * ended lease, and at most as many. Their ends concern others. Searches find the rest. */
#define RENAME_ROWS_MOST 100000

enum rename_step {
    STEP_TARGET,
    STEP_SOURCE,
    STEP_CONSUME_END,
    STEP_TARGET_CONSUME_END,
    STEP_JOBS_AHEAD,
    STEP_TARGET_JOBS_AHEAD,
    STEP_MOVE,
};

struct renaming {
    struct req *req;
    struct queue *from;
    struct queue *to;
    bool only_new; /* RENAMENX */
    enum rename_step step;
    bool asked;   /* the consume end was requested in this step */
    bool apart;   /* over CONN_LARGE: until its end this server sends no claims to the queues */
    int64_t sign; /* -1: the target has the other consume end, so the order of the jobs is reversed */
    struct row_waiter row_waiter;
    struct queue_scan scan; /* of from */
    /* Set while the result is read. */
    int64_t named_moved; /* moved jobs that it names */
    int64_t named_emptied;
};

static void no_such_key(struct req *r) {
    req_error(r, "ERR no such key");
}

/* Claims would scan the locked rows of all jobs. */
static void hold_claims(struct renaming *n) {
    queue_work(n->from)->moving++;
    queue_work(n->to)->moving++;
    n->apart = true;
}

static void release_claims(struct renaming *n) {
    if (!n->apart)
        return;
    n->apart = false;
    queue_work(n->from)->moving--;
    queue_work(n->to)->moving--;
    queue_signal(n->from);
    queue_signal(n->to);
}

static void rename_left(struct renaming *n) {
    position_end(&n->scan);
    release_claims(n);
    n->from->users--;
    n->to->users--;
}

static void reply(struct renaming *n) {
    rename_left(n);
    if (n->only_new)
        req_int(n->req, 1);
    else
        req_ok(n->req);
}

/* ---- preparation ---- */

/* A queue that no list command has used keeps the order in which GETJOB takes its jobs. */
static bool has_other_consume_end(const struct renaming *n) {
    return n->from->list.consume_end != END_NONE && n->to->list.consume_end != END_NONE &&
           n->from->list.consume_end != n->to->list.consume_end;
}

static int64_t rename_len(const struct renaming *n) {
    return queue_len(n->from) + queue_len(n->to);
}

static void too_many(struct renaming *n) {
    rename_left(n);
    req_error(n->req, "LIMIT no more than %d jobs of both lists together can be renamed in a transaction",
              RENAME_IN_TXN_MOST);
}

static void move_apart(struct renaming *n) {
    hold_claims(n);
    batch_add_row(&n->req->task, &op_rename_large);
}

/* The target loses its own jobs, so it grows by the difference. */
static const char *rename_refusal(const struct renaming *n) {
    if (queue_is_shut(n->from))
        return "PAUSED Queue paused, try later";
    return addjob_move_refusal(n->to, queue_len(n->from) - queue_len(n->to));
}

static void move(struct renaming *n) {
    struct req *r = n->req;
    const char *refusal = rename_refusal(n);

    if (refusal != NULL) {
        rename_left(n);
        req_error(r, "%s", refusal);
        return;
    }
    n->sign = has_other_consume_end(n) ? -1 : 1;
    if (!req_in_txn(r) && rename_len(n) > RENAME_APART_FROM) {
        move_apart(n);
        return;
    }
    if (req_in_txn(r)) {
        /* Checked here, because a refusal by the statement would not stop the other commands. */
        if (rename_len(n) > RENAME_IN_TXN_MOST) {
            too_many(n);
            return;
        }
        r->task.client_txn->ahead = true;
    }
    task_reads(&r->task, TASK_CHANGED_ROW * rename_len(n));
    batch_add_row(&r->task, &op_rename_list);
}

static bool waits_for_row(struct renaming *n, struct queue *q) {
    if (queue_is_open(q))
        return false;
    queue_wait_for_row(q, &n->row_waiter);
    return true;
}

/* The consume end of the target matters only if it is already set. An earlier request for it may be in progress. */
static bool waits_for_consume_end(struct renaming *n, struct queue *q, enum list_end wish) {
    bool may_stay = wish == END_NONE && !q->work->ends.asking && (n->asked || list_orientation_is_known(q));

    if (q->list.consume_end != END_NONE || may_stay)
        return false;
    n->asked = true;
    list_orientation_wait(q, wish, &n->row_waiter);
    return true;
}

/* The target is first: later commands of the client transaction must see that it will have a row. Outside of client
 * transactions RENAME creates no row for the source. */
static bool waits(struct renaming *n) {
    switch (n->step) {
    case STEP_TARGET:
        return waits_for_row(n, n->to);
    case STEP_SOURCE:
        return req_in_txn(n->req) && waits_for_row(n, n->from);
    case STEP_CONSUME_END:
        return waits_for_consume_end(n, n->from, END_NONE);
    case STEP_TARGET_CONSUME_END:
        return waits_for_consume_end(n, n->to, n->from->list.consume_end);
    case STEP_JOBS_AHEAD:
        return !claim_ahead_return(n->from, &n->row_waiter);
    case STEP_TARGET_JOBS_AHEAD:
        return !claim_ahead_return(n->to, &n->row_waiter);
    default:
        return false;
    }
}

static void rename_go_on(struct renaming *n) {
    for (; n->step < STEP_MOVE; n->step++, n->asked = false)
        if (waits(n))
            return;
    move(n);
}

static void on_rename_known(struct task *t) {
    rename_go_on(REQ_OF_TASK(t)->data);
}

static void rename_fail(struct task *t, const struct op_error *err) {
    struct renaming *n = REQ_OF_TASK(t)->data;

    rename_left(n);
    req_db_error(n->req, err);
}

static void rename_fail_large(struct task *t, const struct op_error *err) {
    struct renaming *n = REQ_OF_TASK(t)->data;

    queue_reset_scan(n->from);
    queue_reset_scan(n->to);
    rename_fail(t, err);
}

static void rename_start(struct req *r, struct queue *from) {
    struct renaming *n = req_alloc(r, sizeof *n);

    *n = (struct renaming){
        .req = r, .from = from, .to = queue_get(r->argv[2]), .only_new = r->cmd->handler == cmd_renamenx
    };
    row_waiter_init(&n->row_waiter, &r->task, on_rename_known, rename_fail);
    list_init(&n->scan.node);
    r->data = n;
    n->from->users++;
    n->to->users++;
    rename_go_on(n);
}

static void reply_same(struct req *r, bool is_there) {
    if (!is_there)
        no_such_key(r);
    else if (r->cmd->handler == cmd_renamenx)
        req_int(r, 0);
    else
        req_ok(r);
}

static void on_rename_life(struct life *l, int64_t until) {
    reply_same(l->req, until != LIFE_NONE);
}

/* Renames a queue to its own name. Nothing changes. */
static void rename_same(struct req *r, struct queue *q) {
    struct life *l = req_alloc(r, sizeof *l);

    *l = (struct life){ .found = on_rename_life, .req = r };
    if (req_in_txn(r))
        list_find_life(l, q);
    else
        reply_same(r, queue_is_key(q));
}

/* In a client transaction the statement finds out whether the source exists. */
void cmd_rename(struct req *r) {
    struct queue *from = queue_find(r->argv[1]);

    if (!req_in_txn(r) && (from == NULL || from->id == 0)) {
        no_such_key(r);
        return;
    }
    if (!args_queues_or_reply(r, &r->argv[1], 2))
        return;
    from = queue_get(r->argv[1]);
    if (slice_equal(r->argv[1], r->argv[2]))
        rename_same(r, from);
    else
        rename_start(r, from);
}

void cmd_renamenx(struct req *r) {
    cmd_rename(r);
}

/* ---- statement ---- */

static void encode_up_to(struct params *p, struct task *t, int64_t most) {
    struct renaming *n = REQ_OF_TASK(t)->data;

    commit_marker_always(t);
    params_set_int4(p, 0, n->from->id);
    params_set_int4(p, 1, n->to->id);
    params_set_int8(p, 2, n->sign);
    params_set_int8(p, 3, most);
    params_set_bool(p, 4, n->only_new);
    params_set_time(p, 5, clock_db());
    params_set_int4(p, 6, RENAME_ROWS_MOST);
}

static void rename_encode(struct params *p, struct task *t) {
    struct renaming *n = REQ_OF_TASK(t)->data;

    take_note_scan(n->from, &n->scan);
    encode_up_to(p, t, req_in_txn(n->req) ? RENAME_IN_TXN_MOST : RENAME_APART_FROM);
}

static void rename_encode_large(struct params *p, struct task *t) {
    struct renaming *n = REQ_OF_TASK(t)->data;

    take_note_scan(n->from, &n->scan);
    position_note_apart(&n->from->scan, &n->scan);
    encode_up_to(p, t, RENAME_ANY);
}

/* ---- result ---- */

/* The numbers of rename_list.sql. */
enum outcome { RENAME_NO_SOURCE, RENAME_DONE, RENAME_TOO_MANY, RENAME_TARGET_IS_THERE };

struct outcome_row {
    enum outcome outcome;
    struct job_key first; /* no moved job has a lower rank, or a lower id */
    int64_t moved;
    int64_t emptied;
};

static void read_moved(struct renaming *n, struct job_key key, const PGresult *rows, int row) {
    int64_t expires_at = row_time(rows, row, COL_RENAME_LIST_EXPIRES_AT);
    int32_t retry = row_int4(rows, row, COL_RENAME_LIST_RETRY);

    job_left(&(struct job_row){ .key = key,
                                .queued_since = row_time(rows, row, COL_RENAME_LIST_READY_AT),
                                .expires_at = expires_at,
                                .retry = retry,
                                .group = row_bytes_or_null(rows, row, COL_RENAME_LIST_GROUP_KEY),
                                .in_flow = !row_null(rows, row, COL_RENAME_LIST_IN_FLOW) },
             JOB_TAKEN);
    if (events_wanted(n->to))
        event_of_job(n->to, EVENT_ADDED, (struct job_key){ n->to->id, key.rank, key.id * n->sign },
                     expires_at, retry);
    n->named_moved++;
}

static void rename_read_job(struct renaming *n, struct job_key key, const PGresult *rows, int row) {
    if (key.queue_id == n->from->id) {
        read_moved(n, key, rows, row);
    } else {
        bulk_job_deleted(key, rows, row, COL_RENAME_LIST_READY_AT);
        n->named_emptied++;
    }
}

static struct outcome_row read_outcome(const struct renaming *n, const PGresult *rows, int row) {
    struct outcome_row o = { .outcome = (enum outcome)row_int4(rows, row, COL_RENAME_LIST_OUTCOME) };

    if (o.outcome != RENAME_DONE)
        return o;
    o.first = (struct job_key){ n->to->id, row_int2(rows, row, COL_RENAME_LIST_RANK),
                                row_int8(rows, row, COL_RENAME_LIST_ID) };
    o.moved = row_int8(rows, row, COL_RENAME_LIST_MOVED);
    o.emptied = row_int8(rows, row, COL_RENAME_LIST_EMPTIED);
    if (!row_null(rows, row, COL_RENAME_LIST_WAKE_AT))
        expire_wake_at(row_time(rows, row, COL_RENAME_LIST_WAKE_AT));
    return o;
}

/* The number of a job is unique, so its key can be removed from both queues. Without a row of an outcome the source had
 * no jobs. */
static struct outcome_row rename_read_rows(struct renaming *n, const PGresult *rows) {
    struct job_key *keys = xmalloc((size_t)PQntuples(rows) * sizeof *keys);
    struct outcome_row o = { .outcome = RENAME_NO_SOURCE };
    size_t count = 0;

    n->named_moved = n->named_emptied = 0;
    for (int i = 0; i < PQntuples(rows); i++) {
        if (!row_null(rows, i, COL_RENAME_LIST_OUTCOME)) {
            o = read_outcome(n, rows, i);
            continue;
        }
        keys[count] = row_full_key(rows, i, COL_RENAME_LIST_QUEUE_ID);
        rename_read_job(n, keys[count++], rows, i);
    }
    position_remove_keys(&n->from->scan, keys, count);
    position_remove_keys(&n->to->scan, keys, count);
    free(keys);
    return o;
}

static void rename_refuse(struct renaming *n, enum outcome outcome) {
    if (outcome == RENAME_TOO_MANY && n->req->exec != NULL) {
        too_many(n);
        return;
    }
    rename_left(n);
    if (outcome == RENAME_TARGET_IS_THERE)
        req_int(n->req, 0);
    else
        no_such_key(n->req);
}

static void rename_count(struct renaming *n, const struct outcome_row *o) {
    jobs_left(n->from, o->moved - n->named_moved);
    jobs_left(n->to, o->emptied - n->named_emptied);
    position_advance(&n->from->scan, &n->scan, NULL, true);
    jobs_arrived(n->to, o->first, o->moved);
    reply(n);
}

static void rename_done(struct task *t, const PGresult *rows) {
    struct renaming *n = REQ_OF_TASK(t)->data;
    struct outcome_row o = rename_read_rows(n, rows);

    if (o.outcome == RENAME_DONE) {
        rename_count(n, &o);
    } else if (o.outcome == RENAME_TOO_MANY && n->req->exec == NULL) {
        /* The counters knew fewer jobs. */
        position_end(&n->scan);
        move_apart(n);
    } else {
        rename_refuse(n, o.outcome);
    }
}

static void rename_done_large(struct task *t, const PGresult *rows) {
    struct renaming *n = REQ_OF_TASK(t)->data;
    struct outcome_row o = rename_read_rows(n, rows);

    if (o.outcome != RENAME_DONE) {
        queue_reset_scan(n->from);
        rename_refuse(n, o.outcome);
        return;
    }
    queue_note_apart(n->from, n->req->started_us);
    queue_note_apart(n->to, n->req->started_us);
    rename_count(n, &o);
}

/* ---- lost result ---- */

/* The statement must not run twice. The second run would remove the jobs that the first run moved. */
static bool rename_again(struct task *t, bool unknown) {
    struct renaming *n = REQ_OF_TASK(t)->data;

    position_end(&n->scan);
    if (!unknown)
        return true;
    rename_left(n);
    req_maybe_done(n->req);
    return false;
}

/* bootstrap.c has counted the moved jobs. The source may have been missing, or the target of RENAMENX there. */
static void rename_answer_lost(struct task *t) {
    struct renaming *n = REQ_OF_TASK(t)->data;

    rename_left(n);
    req_answer_lost(n->req);
}

OPERATION(rename_list, .alone = true, .encode = rename_encode, .on_end = rename_done, .fail = rename_fail,
          .again = rename_again, .answer_lost = rename_answer_lost);
/* Claims that were sent before it may have skipped the locked rows. */
OPERATION(rename_large, .alone = true, .encode = rename_encode_large, .on_end = rename_done_large,
          .fail = rename_fail_large, .again = rename_again, .answer_lost = rename_answer_lost);
