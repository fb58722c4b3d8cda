/* Commands with job IDs: parses IDs, encodes their keys, and finds the request of a row. */
#include "jobs/id_list.h"

#include "base/clock.h"
#include "base/log.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "jobs/row_places.h"
#include "net/usage.h"
#include "queue/job_events.h"
#include "queue/lease.h"
#include "queue/queue_rights.h"

/* Bytes that an ID counts for in task.bytes. Most commands have one ID, and none has many. */
#define ID_BYTES 48
/* The most bytes of an argument in an error. */
#define ID_SHOWN 64

static void set_token(struct req *r, struct job_ids *ids, size_t max, int64_t token) {
    if (ids->tokens == NULL)
        ids->tokens = req_alloc(r, max * sizeof *ids->tokens);
    ids->tokens[ids->count] = token;
}

static enum jobid_check parse(struct slice text, bool tokens, struct job_key *key, int64_t *token) {
    return tokens ? jobid_parse_token(text, key, token) : jobid_parse(text, key);
}

void job_id_refuse(struct req *r, struct slice text) {
    usage_error(r, "BADID Invalid Job ID format: got %s", log_escape(text, ID_SHOWN));
}

static bool parse_or_reply(struct req *r, int from, int to, bool tokens) {
    size_t max = (size_t)(to > from ? to - from : 0);
    struct job_ids *ids = req_alloc(r, sizeof *ids + max * sizeof *ids->keys);
    int64_t token = 0;

    ids->seconds = NO_SECONDS;
    ids->args = req_alloc(r, max * sizeof *ids->args);
    for (int i = from; i < to; i++) {
        switch (parse(r->argv[i], tokens, &ids->keys[ids->count], &token)) {
        case JOBID_OK:
            if (!queue_rights_cover_id(r, ids->keys[ids->count].queue_id))
                break; /* as an unknown job */
            if (token != 0)
                set_token(r, ids, max, token);
            ids->args[ids->count++] = i;
            break;
        case JOBID_UNKNOWN:
            break;
        case JOBID_BAD:
            job_id_refuse(r, r->argv[i]);
            return false;
        }
    }
    r->data = ids;
    r->task.rows = (uint32_t)ids->count;
    r->task.bytes = ids->count * ID_BYTES;
    return true;
}

bool job_ids_or_reply(struct req *r, int from, int to) {
    return parse_or_reply(r, from, to, false);
}

bool job_ids_tokens_or_reply(struct req *r, int from, int to) {
    return parse_or_reply(r, from, to, true);
}

struct job_ids *job_ids_make(struct req *r, size_t most) {
    struct job_ids *ids = req_alloc(r, sizeof *ids + most * sizeof *ids->keys);

    ids->seconds = NO_SECONDS;
    r->data = ids;
    return ids;
}

void job_ids_append(struct req *r, struct job_key key) {
    job_ids(r)->keys[job_ids(r)->count++] = key;
    r->task.rows++;
    r->task.bytes += ID_BYTES;
}

void job_ids_set(struct req *r, struct job_key key) {
    (void)job_ids_make(r, 1);
    job_ids_append(r, key);
}

void job_ids_hold(const struct req *r) {
    for (size_t i = 0; i < job_ids(r)->count; i++)
        lease_hold(job_ids(r)->keys[i].id);
}

void job_ids_unhold(const struct req *r) {
    for (size_t i = 0; i < job_ids(r)->count; i++)
        lease_unhold(job_ids(r)->keys[i].id);
}

void job_ids_send(struct req *r, struct op *op) {
    job_ids_hold(r);
    for (size_t i = 0; i < job_ids(r)->count; i++)
        row_places_forget(job_ids(r)->keys[i].id);
    r->task.op = op;
    batch_add(&r->task);
}

void job_ids_encode(struct params *p, struct task *t) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    for (size_t i = 0; i < ids->count; i++)
        params_key(p, 0, ids->keys[i]);
}

void job_ids_encode_marked(struct params *p, struct task *t) {
    job_ids_encode(p, t);
    commit_marker_always(t);
}

void job_ids_encode_tokens(struct params *p, int col, struct task *t) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    for (size_t i = 0; i < ids->count; i++)
        params_int8(p, col, ids->tokens == NULL ? 0 : ids->tokens[i]);
}

bool job_ids_note_stale(struct task *t, const PGresult *rows, int row, int col) {
    struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    if (!row_null(rows, row, col))
        return false;
    ids->tokens[task_row(t, rows, row)] = TOKEN_STALE;
    ids->stale++;
    return true;
}

bool job_ids_again(struct task *t, bool unknown) {
    job_ids(REQ_OF_TASK(t))->unknown |= unknown;
    return true;
}

bool job_ids_again_unsure(struct task *t, bool unknown) {
    job_ids(REQ_OF_TASK(t))->unsure |= unknown;
    return true;
}

bool job_ids_is_stale(const struct job_ids *ids, size_t at) {
    return ids->tokens != NULL && ids->tokens[at] == TOKEN_STALE;
}

/* Jobs with a lease here that the second try did not find were removed by the first try. bootstrap.c corrects the
 * counters. */
static void count_first_try(struct job_ids *ids) {
    for (size_t i = 0; i < ids->count; i++)
        if (!job_ids_is_stale(ids, i) && lease_remove(ids->keys[i].id))
            ids->hits++;
}

void job_ids_settle(struct req *r) {
    if (job_ids(r)->unknown)
        count_first_try(job_ids(r));
    job_ids_unhold(r);
}

/* -STALE means that the command did nothing, so it is replied only without hits. */
void job_ids_end(struct req *r) {
    const struct job_ids *ids = job_ids(r);

    if (ids->unsure && ids->hits < (int64_t)ids->count)
        req_error(
            r,
            "UNKNOWN the connection to the database was lost, and not all of these jobs are as this command "
            "leaves them: the command may have taken effect, and other clients may have changed the jobs "
            "since");
    else if (ids->hits > 0 || ids->stale == 0 || r->stale_is_none)
        req_int(r, ids->hits);
    else
        req_error(r, TOKEN_ERROR);
}

void job_ids_reply_hits(struct task *t, const PGresult *rows) {
    (void)rows;
    job_ids_settle(REQ_OF_TASK(t));
    job_ids_end(REQ_OF_TASK(t));
}

bool job_id_names(struct slice text, struct job_key key) {
    struct job_key found;

    return jobid_parse(text, &found) == JOBID_OK && found.id == key.id && found.queue_id == key.queue_id &&
           found.rank == key.rank;
}

struct slice job_ids_text(const struct task *t, const PGresult *rows, int row) {
    const struct req *r = REQ_OF_TASK(t);
    size_t at = task_row(t, rows, row);

    if (job_ids(r)->args == NULL || !events_wanted(queue_find_id(job_ids(r)->keys[at].queue_id)))
        return (struct slice){ NULL, 0 };
    return (struct slice){ r->argv[job_ids(r)->args[at]].ptr, JOBID_LEN };
}

void job_ids_removed(struct task *t) {
    job_ids(REQ_OF_TASK(t))->unknown = true;
    job_ids_reply_hits(t, NULL);
}

void job_ids_unknown(struct task *t) {
    struct req *r = REQ_OF_TASK(t);

    job_ids_unhold(r);
    req_answer_lost(r);
}

/* lease_load.c replaces these leases by those of the rows. */
#define UNREAD_LEASE_US (60 * US_PER_S)

void job_ids_leased(struct task *t) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    for (size_t i = 0; i < ids->count; i++)
        if (!lease_known(ids->keys[i].id))
            lease_add(ids->keys[i], clock_db() + UNREAD_LEASE_US);
    job_ids_unknown(t);
}

void job_ids_fail(struct task *t, const struct op_error *err) {
    struct req *r = REQ_OF_TASK(t);

    job_ids_unhold(r);
    req_db_error(r, err);
}
