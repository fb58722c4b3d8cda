/* The sorted sets of client libraries: adds, removes and reads their members, which are delayed and dead jobs. */
#include "jobs/sorted_set.h"

#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "jobs/job.h"
#include "queue/observer.h"

/* About the bytes of a row without the body. */
#define MEMBER_ROW_BYTES 160
/* The most members that one statement removes. In a client transaction there is only one. */
#define REMOVED_MOST 1000
#define REMOVED_MOST_IN_TXN 10000

static struct sorted_set *sorted_set_of(const struct task *t) {
    return REQ_OF_TASK(t)->data;
}

/* reads: as in task_reads(). */
static void sorted_set_send(struct sorted_set *s, struct op *op, int64_t reads) {
    struct req *r = s->req;

    r->data = s;
    r->task.op = op;
    r->task.rows = s->count > 0 ? (uint32_t)s->count : 1;
    r->task.bytes = 0;
    for (size_t i = 0; i < s->count; i++)
        r->task.bytes += s->bodies[i].len + MEMBER_ROW_BYTES;
    task_reads(&r->task, reads);
    batch_add(&r->task);
}

/* The row has a column queued_since at since_col, not read for a dead job, and then in_flow. */
static void member_left(struct job_key key, bool dead, const PGresult *rows, int row, int since_col) {
    if (dead)
        jobs_count_dead(key.queue_id, -1);
    else
        job_left(&(struct job_row){ .key = key,
                                    .queued_since = row_time(rows, row, since_col),
                                    .in_flow = !row_null(rows, row, since_col + 1) },
                 JOB_CLEARED);
}

/* ---- add ---- */

static void set_add_encode(struct params *p, struct task *t) {
    struct sorted_set *s = sorted_set_of(t);

    commit_marker_always(t);
    for (size_t i = 0; i < s->count; i++) {
        params_int8(p, 0, job_new_id(clock_db(), node_self()->number));
        params_time(p, 1, s->times[i]);
        params_bytea(p, 2, s->bodies[i]);
    }
    params_set_int4(p, 3, s->q->id);
    params_set_bytea(p, 4, s->name);
    params_set_int4(p, 5, (int32_t)s->opt.retry);
    params_set_int4(p, 6, (int32_t)s->opt.ttl);
    params_set_int2(p, 7, (int16_t)-s->opt.priority);
    params_set_bool(p, 8, s->adds);
    params_set_time(p, 9, clock_db());
}

static void member_added(const struct sorted_set *s, struct job_key key, int64_t at) {
    if (s->dead)
        jobs_count_dead(key.queue_id, 1);
    else
        job_entered(&(struct job_row){ .q = s->q,
                                       .key = key,
                                       .delayed = true,
                                       .wake_at = at,
                                       .expires_at = at + s->opt.ttl * US_PER_S,
                                       .retry = (int32_t)s->opt.retry },
                    JOB_ADDED);
}

/* Both statements have the columns of add_members. */
static void set_add_done(struct task *t, const PGresult *rows) {
    struct sorted_set *s = sorted_set_of(t);
    int64_t added = 0;

    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = row_full_key(rows, i, COL_ADD_MEMBERS_QUEUE_ID);

        if (row_bool(rows, i, COL_ADD_MEMBERS_ADDED)) {
            member_added(s, key, row_time(rows, i, COL_ADD_MEMBERS_READY_AT));
            added++;
        } else {
            member_left(key, s->dead, rows, i, COL_ADD_MEMBERS_QUEUED_SINCE);
            added--;
        }
    }
    s->q->users--;
    s->reply(s, rows, added);
    req_end(s->req);
}

static void set_add_fail(struct task *t, const struct op_error *err) {
    sorted_set_of(t)->q->users--;
    req_fail_task(t, err);
}

static void set_add_lost(struct task *t) {
    sorted_set_of(t)->q->users--;
    req_answer_lost(REQ_OF_TASK(t));
}

/* A member that was added may already be due, so a second try could add its job again. */
static bool set_add_again(struct task *t, bool unknown) {
    if (unknown)
        sorted_set_of(t)->q->users--;
    return req_again_if_undone(t, unknown);
}

OPERATION(add_members, .alone = true, .encode = set_add_encode, .on_end = set_add_done, .fail = set_add_fail,
          .again = set_add_again, .answer_lost = set_add_lost);
OPERATION(add_dead_members, .alone = true, .encode = set_add_encode, .on_end = set_add_done,
          .fail = set_add_fail, .again = set_add_again, .answer_lost = set_add_lost);

static void on_set_open(struct task *t) {
    struct sorted_set *s = sorted_set_of(t);

    sorted_set_send(s, s->dead ? &op_add_dead_members : &op_add_members,
                    TASK_CHANGED_ROW * (int64_t)s->count);
}

/* Members have no attempts, as elements have none. */
void sorted_set_add(struct sorted_set *s) {
    struct req *r = s->req;
    const char *refusal;

    s->opt = (struct add_options){ .replicate = 1, .ttl = LIST_TTL, .retry = -1, .maxlen = -1 };
    addjob_settle(&s->opt, s->q);
    refusal = s->dead ? NULL : addjob_refusal(s->q, &s->opt, 1);
    if (refusal != NULL) {
        req_error(r, "%s", refusal);
        return;
    }
    r->data = s;
    s->q->users++;
    row_waiter_init(&s->row_waiter, &r->task, on_set_open, set_add_fail);
    queue_prepare(s->q, &s->row_waiter);
}

/* ---- removal ---- */

/* Both statements begin with the columns of remove_members. */
static void members_left(struct sorted_set *s, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++)
        member_left(row_full_key(rows, i, COL_REMOVE_MEMBERS_QUEUE_ID),
                    row_bool(rows, i, COL_REMOVE_MEMBERS_DEAD), rows, i, COL_REMOVE_MEMBERS_QUEUED_SINCE);
    s->removed += PQntuples(rows);
}

static void members_remove_encode(struct params *p, struct task *t) {
    const struct sorted_set *s = sorted_set_of(t);

    params_set_bytea(p, 0, s->name);
    for (size_t i = 0; i < s->count; i++)
        params_bytea(p, 1, s->bodies[i]);
    params_set_time(p, 2, clock_db());
    commit_marker_always(t);
}

static void set_remove_done(struct task *t, const PGresult *rows) {
    struct sorted_set *s = sorted_set_of(t);

    members_left(s, rows);
    s->reply(s, rows, s->removed);
    req_end(s->req);
}

OPERATION(remove_members, .alone = true, .encode = members_remove_encode, .on_end = set_remove_done,
          .fail = req_fail_task, .again = req_again_if_undone, .answer_lost = req_answer_lost_task);

void sorted_set_remove(struct sorted_set *s) {
    sorted_set_send(s, &op_remove_members, TASK_CHANGED_ROW * (int64_t)s->count);
}

static int64_t range_limit(const struct set_range *g, int64_t most) {
    return g->limit < 0 ? most : int64_least(g->limit, most);
}

/* A range without a limit may be the whole set, and one that drops members reads it. */
static int64_t range_reads(const struct set_range *g, int64_t most) {
    return g->drop > 0 ? TASK_READS_MANY : g->offset / 4 + range_limit(g, most);
}

static void range_encode(struct params *p, const struct sorted_set *s, int64_t most) {
    params_set_bytea(p, 0, s->name);
    params_set_time(p, 1, s->range.from);
    params_set_time(p, 2, s->range.to);
    params_set_int8(p, 3, s->range.offset);
    params_set_int8(p, 4, range_limit(&s->range, most));
    params_set_int8(p, 5, s->range.drop);
    params_set_bool(p, 6, s->range.backwards);
    params_set_time(p, 7, clock_db());
}

static int64_t removed_most(const struct task *t) {
    return t->client_txn != NULL ? REMOVED_MOST_IN_TXN : REMOVED_MOST;
}

static void remove_range_encode(struct params *p, struct task *t) {
    const struct sorted_set *s = sorted_set_of(t);

    range_encode(p, s, removed_most(t));
    commit_marker_always(t);
}

/* A page that is not full is the last one. */
static void remove_range_done(struct task *t, const PGresult *rows) {
    struct sorted_set *s = sorted_set_of(t);
    int64_t n = PQntuples(rows);

    members_left(s, rows);
    if (n == REMOVED_MOST && s->range.drop == 0 && s->req->exec == NULL &&
        (s->range.limit < 0 || (s->range.limit -= n) > 0)) {
        sorted_set_remove_range(s);
        return;
    }
    s->reply(s, rows, s->removed);
    req_end(s->req);
}

OPERATION(remove_range, .alone = true, .encode = remove_range_encode, .on_end = remove_range_done,
          .fail = req_fail_task, .again = req_again_if_undone, .answer_lost = req_answer_lost_task);

void sorted_set_remove_range(struct sorted_set *s) {
    sorted_set_send(s, &op_remove_range,
                    TASK_CHANGED_ROW * range_reads(&s->range, removed_most(&s->req->task)));
}

/* ---- reads ---- */

static void read_encode(struct params *p, struct task *t) {
    const struct sorted_set *s = sorted_set_of(t);

    range_encode(p, s, SET_RANGE_MAX + 1);
    params_set_int8(p, 8, SET_RANGE_BYTES);
}

static bool range_is_too_large(const PGresult *rows) {
    int n = PQntuples(rows);

    return n > SET_RANGE_MAX || (n > 0 && row_null(rows, n - 1, COL_READ_MEMBERS_BODY));
}

static void set_read_done(struct task *t, const PGresult *rows) {
    struct sorted_set *s = sorted_set_of(t);
    struct req *r = s->req;
    bool goes_on = s->goes_on;

    if (range_is_too_large(rows)) {
        req_error(r, "LIMIT the range has more than %d members or %lld bytes: ask for a part of it",
                  SET_RANGE_MAX, (long long)SET_RANGE_BYTES);
        return;
    }
    /* reply() may end the request, which frees s. */
    s->reply(s, rows, 0);
    if (!goes_on)
        req_end(r);
}

OPERATION(read_members, .alone = true, .encode = read_encode, .on_end = set_read_done, .fail = req_fail_task,
          .answer_lost = req_answer_lost_task);

void sorted_set_read(struct sorted_set *s) {
    sorted_set_send(s, &op_read_members, range_reads(&s->range, SET_RANGE_MAX));
}

static void set_count_encode(struct params *p, struct task *t) {
    params_set_bytea(p, 0, sorted_set_of(t)->name);
    params_set_time(p, 1, clock_db());
}

static void set_count_done(struct task *t, const PGresult *rows) {
    struct sorted_set *s = sorted_set_of(t);

    s->reply(s, rows, row_int8(rows, 0, COL_COUNT_MEMBERS_MEMBERS));
    req_end(s->req);
}

OPERATION(count_members, .alone = true, .encode = set_count_encode, .on_end = set_count_done,
          .fail = req_fail_task, .answer_lost = req_answer_lost_task);

void sorted_set_count(struct sorted_set *s) {
    sorted_set_send(s, &op_count_members, TASK_READS_MANY);
}
