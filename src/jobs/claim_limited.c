/* Claims of queues with limits: redelivered jobs and the next ready jobs, as many as the limits allow. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/claim_impl.h"
#include "queue/queue_limits.h"

static void claim_limited_take_keys(struct claim *c) {
    struct queue *q = c->q;
    size_t most = q->scan.key_count < c->slot_count ? q->scan.key_count : c->slot_count;
    struct job_key key;

    if (most == 0)
        return;
    c->keys = xmalloc(most * sizeof *c->keys);
    while (c->key_count < most && position_take_key(&q->scan, &key))
        c->keys[c->key_count++] = key;
}

void claim_limited(struct claim *c) {
    claim_limited_take_keys(c);
    c->q->claims.rows += (int64_t)c->slot_count;
    c->task.op = &op_claim_limited;
    c->task.rows = 1;
    batch_add(&c->task);
}

static void claim_limited_limited_encode(struct params *p, struct task *t) {
    struct claim *c = CONTAINER_OF(t, struct claim, task);

    claim_begin_walk(p, c);
    /* An array must have an element, and no job has the id 0. */
    params_int4(p, 6, c->q->id);
    params_int2(p, 7, 0);
    params_int8(p, 8, 0);
    for (size_t i = 0; i < c->key_count; i++) {
        params_int4(p, 6, c->q->id);
        params_int2(p, 7, c->keys[i].rank);
        params_int8(p, 8, c->keys[i].id);
    }
}

/* ---- results ---- */

static bool is_among(const struct claim *c, struct job_key key) {
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].key.id == key.id)
            return true;
    return false;
}

/* When the limits left no room, the statement did not look for all keys. Puts back the keys that it did not return. */
static void return_keys(struct claim *c) {
    for (size_t i = 0; i < c->key_count; i++)
        if (!is_among(c, c->keys[i]))
            position_add_key(&c->q->scan, c->keys[i]);
}

/* Result of the scan. */
struct brought {
    struct job last;
    int32_t count;
};

static struct brought claim_limited_read_rows(struct claim *c, const PGresult *rows) {
    struct brought b = { .count = 0 };
    int n = PQntuples(rows);

    c->rows = xmalloc((size_t)n * sizeof *c->rows);
    for (int i = 0; i < n && !row_null(rows, i, COL_CLAIM_LIMITED_RANK); i++) {
        const struct job *job = &c->rows[i];

        claim_read_row(c, rows, i, 0);
        if (!row_bool(rows, i, COL_CLAIM_LIMITED_IS_WALKED))
            continue;
        if (b.count++ == 0 || job_key_before(b.last.key, job->key))
            b.last = *job;
    }
    return b;
}

static void note_full(struct claim *c, const PGresult *rows) {
    int32_t wait_ms = row_int4_or(rows, 0, COL_CLAIM_LIMITED_WAIT_MS, 0);

    limits_no_room(c->q, c->rooms, wait_ms, row_bool(rows, 0, COL_CLAIM_LIMITED_SOON));
}

static void claim_limited_limited_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct claim *c = CONTAINER_OF(tasks[0], struct claim, task);
    struct queue *q = c->q;
    struct brought walked = claim_limited_read_rows(c, rows);
    bool to_the_end = row_int4(rows, 0, COL_CLAIM_LIMITED_ROOM) > walked.count;

    (void)count;
    q->claims.rows -= (int64_t)c->slot_count;
    if (!to_the_end)
        return_keys(c);
    if (!to_the_end && c->row_count < c->slot_count)
        note_full(c, rows);
    else
        limits_not_full(q);
    claim_deal(c);
    claim_advance(c, walked.count > 0 ? &walked.last : NULL, to_the_end);
    if (queue_budget(q) > 0)
        queue_signal(q);
    claim_free(c);
}

struct op op_claim_limited = {
    .name = "claim_limited",
    .takes = true,
    .stmt = SQL_CLAIM_LIMITED,
    .conn = CONN_WRITE,
    .alone = true,
    .most = 100,
    .encode = claim_limited_limited_encode,
    .done = claim_limited_limited_done,
    .fail = claim_fail,
    .again = claim_again,
};
