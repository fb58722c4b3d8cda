/* Reads the running leases from the database, and compares them with those in memory. */
#include "jobs/lease_load.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/job_key.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/dead_letter.h"
#include "jobs/undelivered.h"
#include "queue/lease.h"

/* Leases of one find_leases. The next statement is sent when this one has ended. */
#define FIND_MOST 1000

/* A lease that differs. */
struct lease_candidate {
    struct job_key key;
    int64_t until; /* its end in the row, as known in memory; 0: it is not in memory */
    bool found;
};

static struct {
    struct task load;
    struct task find;
    struct lease_candidate *candidates;
    size_t count;
    size_t capacity;
    size_t next; /* candidates before this one were looked for */
    int64_t since_us;
    bool had_losses;
    bool released; /* jobs of lost claims were put back since the last find_leases */
    bool invalid;
    void (*on_end)(bool ok);
} lease_load = { .load = { .op = &op_load_leases, .rows = 1 }, .find = { .op = &op_find_leases } };

static void add_candidate(struct job_key key, int64_t until) {
    if (lease_load.count == lease_load.capacity) {
        lease_load.capacity = lease_load.capacity == 0 ? FIND_MOST : lease_load.capacity * 2;
        lease_load.candidates =
            xrealloc(lease_load.candidates, lease_load.capacity * sizeof *lease_load.candidates);
    }
    lease_load.candidates[lease_load.count++] = (struct lease_candidate){ .key = key, .until = until };
}

static void lease_load_end(bool ok) {
    free(lease_load.candidates);
    lease_load.candidates = NULL;
    lease_load.count = lease_load.capacity = lease_load.next = 0;
    lease_load.on_end(ok);
}

void lease_load_start(int64_t since_us, bool had_losses, void (*on_end)(bool ok)) {
    lease_load.since_us = since_us;
    lease_load.had_losses = had_losses;
    lease_load.released = lease_load.invalid = false;
    lease_load.on_end = on_end;
    batch_add(&lease_load.load);
}

void lease_load_invalidate(void) {
    lease_load.invalid = true;
}

/* ---- all leases ---- */

static void load_leases_begin(struct params *p) {
    lease_review_begin();
    params_set_time(p, 0, lease_load.since_us);
    params_set_time(p, 1, clock_db());
}

/* Live servers watch their own leases. */
static bool is_for_us(uint16_t owner) {
    const struct node *n = node_by_number(owner);

    if (owner == node_self()->number)
        return true;
    return owner == 0 ? node_is_leader() : n == NULL || !n->live;
}

/* A lease without an end looks the same whether the job was delivered or not, so at-most-once jobs are left alone. */
static void compare_lease(const PGresult *rows, int row) {
    struct job_key key = row_full_key(rows, row, COL_LOAD_LEASES_QUEUE_ID);
    int64_t until = row_time(rows, row, COL_LOAD_LEASES_READY_AT);
    bool last = row_bool(rows, row, COL_LOAD_LEASES_LAST);

    if (last && until <= clock_db())
        dead_letter_job(key, NULL, NULL);
    else if (until != TIME_NEVER && is_for_us((uint16_t)row_int2(rows, row, COL_LOAD_LEASES_OWNER)) &&
             !lease_review_see(key.id, until))
        add_candidate(key, 0);
}

static void find_next(void) {
    size_t left = lease_load.count - lease_load.next;

    lease_load.find.rows = (uint32_t)(left < FIND_MOST ? left : FIND_MOST);
    batch_add(&lease_load.find);
}

static void load_leases_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows) && !lease_load.invalid; i++)
        compare_lease(rows, i);
    if (!lease_load.invalid)
        lease_review_each_unseen(add_candidate);
    if (lease_load.count == 0)
        lease_load_end(true);
    else
        find_next();
}

/* ---- leases by key ---- */

static void find_leases_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
}

static void find_leases_encode(struct params *p, struct task *t) {
    for (size_t i = 0; i < t->rows; i++)
        params_key(p, 0, lease_load.candidates[lease_load.next + i].key);
}

/* This server does not know a lease of its own. A lost claim gave it, or it had ended by a clock that was set back since,
 * or an earlier run of this server gave it. */
static void load_own_lease(struct job_key key, int64_t until) {
    bool of_lost_claim = lease_load.had_losses && !lease_known(key.id);

    lease_add(key, until);
    if (!of_lost_claim)
        return;
    undelivered_release(key, until, false, NULL, NULL);
    lease_load.released = true;
}

/* The names of workers are in memory only while a server runs. */
static void load_holder(struct job_key key, const PGresult *rows, int row) {
    struct slice name = row_bytes_or_null(rows, row, COL_FIND_LEASES_WORKER);

    if (name.ptr != NULL)
        lease_set_holder(key.id, (struct lease_holder){ worker_label_of(name), 0 });
}

/* A lease that has ended here ends again, if the clock was set back since. */
static bool has_ended_here(struct job_key key, int64_t until) {
    return until <= clock_db() && lease_has_ended(key.id, until);
}

/* False: the job has no running lease, or another server watches it. */
static bool load_lease(struct job_key key, int64_t until, const PGresult *rows, int row) {
    uint16_t owner = (uint16_t)row_int2(rows, row, COL_FIND_LEASES_OWNER);
    bool last = row_bool(rows, row, COL_FIND_LEASES_LAST);

    if (last && until <= clock_db()) {
        dead_letter_job(key, NULL, NULL);
        return true;
    }
    if (until == TIME_NEVER)
        return true;
    if (!is_for_us(owner) || has_ended_here(key, until))
        return false;
    if (owner == node_self()->number)
        load_own_lease(key, until);
    else
        lease_add_foreign(key, until, owner);
    load_holder(key, rows, row);
    if (last)
        lease_set_last(key.id);
    return true;
}

static struct lease_candidate *candidate_of(const struct task *t, const PGresult *rows, int row) {
    size_t ordinal = (size_t)row_int4(rows, row, COL_FIND_LEASES_ORDINAL);

    return &lease_load.candidates[lease_load.next + ordinal - 1 - t->first_row];
}

/* A lease in memory with the same end stays as it is. */
static void find_leases_row(struct task *t, const PGresult *rows, int row) {
    struct lease_candidate *c = candidate_of(t, rows, row);
    int64_t until = row_time(rows, row, COL_FIND_LEASES_READY_AT);

    c->found =
        lease_load.invalid || lease_review_see(c->key.id, until) || load_lease(c->key, until, rows, row);
}

/* The row has no lease, or that of a live peer. A change that was lost, or not told, has ended that of the memory. */
static void drop_unfound(const struct lease_candidate *c) {
    if (!c->found && c->until != 0 && lease_has_end(c->key.id, c->until))
        (void)lease_remove(c->key.id);
}

/* The jobs of lost claims are ready when a further statement has ended, because its phase comes later. */
static void find_leases_end(struct task *t, const PGresult *rows) {
    (void)rows;
    for (size_t i = 0; i < t->rows && !lease_load.invalid; i++)
        drop_unfound(&lease_load.candidates[lease_load.next + i]);
    if (lease_load.invalid) {
        lease_load_end(false);
    } else if (lease_load.next + t->rows < lease_load.count) {
        lease_load.next += t->rows;
        find_next();
    } else if (lease_load.released) {
        lease_load.released = false;
        find_next();
    } else {
        lease_load_end(true);
    }
}

/* ---- failures ---- */

/* The connection has logged the error. */
static void lease_load_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    lease_load_end(false);
}

static bool load_leases_again(struct task *t, bool unknown) {
    (void)t;
    (void)unknown;
    lease_load_end(false);
    return false;
}

OPERATION(load_leases, .alone = true, .heavy = true, .begin = load_leases_begin, .on_end = load_leases_done,
          .fail = lease_load_fail, .again = load_leases_again);
OPERATION(find_leases, .begin = find_leases_begin, .encode = find_leases_encode, .on_row = find_leases_row,
          .on_end = find_leases_end, .fail = lease_load_fail);
