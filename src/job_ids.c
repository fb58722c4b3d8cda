/* Commands over job IDs: from IDs to keys, rows, and back to requests. */
#include "job_ids.h"

#include "lease.h"

/* Most commands carry one ID, and all of them few. */
#define ID_BYTES 48

bool job_ids_or_reply(struct req *r, int from) {
    size_t max = (size_t)(r->argc - from);
    struct job_ids *ids = req_alloc(r, sizeof *ids + max * sizeof *ids->keys);

    for (int i = from; i < r->argc; i++) {
        switch (jobid_parse(r->argv[i], &ids->keys[ids->count])) {
        case JOBID_OK:
            ids->count++;
            break;
        case JOBID_UNKNOWN:
            break;
        case JOBID_BAD:
            req_error(r, "BADID Invalid Job ID format.");
            return false;
        }
    }
    r->data = ids;
    r->task.rows = (uint32_t)ids->count;
    r->task.bytes = ids->count * ID_BYTES;
    return true;
}

void job_ids_set(struct req *r, struct job_key key) {
    struct job_ids *ids = req_alloc(r, sizeof *ids + sizeof *ids->keys);

    ids->count = 1;
    ids->keys[0] = key;
    r->data = ids;
    r->task.rows = 1;
    r->task.bytes = ID_BYTES;
}

void job_ids_hold(const struct req *r) {
    for (size_t i = 0; i < job_ids(r)->count; i++)
        lease_hold(job_ids(r)->keys[i].id);
}

void job_ids_unhold(const struct req *r) {
    for (size_t i = 0; i < job_ids(r)->count; i++)
        lease_unhold(job_ids(r)->keys[i].id);
}

void job_ids_encode(struct params *p, struct task *t) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    for (size_t i = 0; i < ids->count; i++) {
        params_int4(p, 0, ids->keys[i].queue_id);
        params_int2(p, 1, ids->keys[i].rank);
        params_int8(p, 2, ids->keys[i].id);
    }
}

struct req *job_ids_find(struct task **tasks, size_t count, int32_t ordinal, struct job_key *key) {
    size_t row = (size_t)ordinal - 1;
    size_t low = 0, high = count;

    /* The last task that begins at or before the row. */
    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (tasks[middle]->first_row <= row)
            low = middle;
        else
            high = middle;
    }
    *key = job_ids(REQ_OF_TASK(tasks[low]))->keys[row - tasks[low]->first_row];
    return REQ_OF_TASK(tasks[low]);
}

bool job_ids_again(struct task *t, bool unknown) {
    job_ids(REQ_OF_TASK(t))->unknown |= unknown;
    return true;
}

/* Jobs that we had leased and that the second try did not find: the first one has removed
 * them. Counters are right again when load.c has read them. */
static void count_first_try(const struct req *r) {
    for (size_t i = 0; i < job_ids(r)->count; i++)
        if (lease_remove(job_ids(r)->keys[i].id))
            job_ids(r)->hits++;
}

void job_ids_reply_hits(struct task **tasks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct req *r = REQ_OF_TASK(tasks[i]);

        if (job_ids(r)->unknown)
            count_first_try(r);
        job_ids_unhold(r);
        req_int(r, job_ids(r)->hits);
    }
}

void job_ids_fail(struct task *t, const struct op_error *err) {
    struct req *r = REQ_OF_TASK(t);

    job_ids_unhold(r);
    req_db_error(r, err);
}
