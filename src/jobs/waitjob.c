/* WAITJOB: replies the final state of a job once it has ended. */
#include "jobs/waitjob.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/id_list.h"
#include "queue/observer.h"
#include "queue/waiters.h"

/* Peers are asked for messages about ended jobs, at most once per ASK_US. They send messages for ASKED_US. */
#define ASKED_US (10 * US_PER_S)
#define ASK_US US_PER_S
/* Pauses between queries if no message arrives. Each pause is twice as long as the one before. */
#define FIRST_PAUSE_US (100 * US_PER_MS)
#define LAST_PAUSE_US (3 * US_PER_S)

struct job_wait {
    struct list of_job; /* all requests that wait for the same job */
    struct timer due;   /* the next query, or the timeout */
    struct req *req;
    struct client *client; /* NULL after the reply, or after the client has disconnected */
    struct job_key key;
    bool list_read;     /* its statement is queued or sent */
    bool look_again;    /* a message arrived during the statement */
    bool seen;          /* the database had the job */
    enum job_exit told; /* the end that a message reported; 0: none */
    int64_t pause_us;
    int64_t deadline_us; /* clock_mono() */
};

/* A job that requests wait for. */
struct awaited {
    UT_hash_handle hh;
    int64_t id;
    struct list waits;
};

static struct {
    struct awaited *jobs;
    size_t count;   /* waiting clients */
    size_t blocked; /* clients of these whose job was found once */
    int64_t ask_us;
    int64_t asked_until_us;
} waits;

static const struct slice nothing = { NULL, 0 };

static struct job_wait *wait_of(const struct req *r) {
    return job_ids(r)->own;
}

static int64_t waitjob_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- requests by job ---- */

static struct awaited *waitjob_find(int64_t id) {
    struct awaited *a;

    HASH_FIND(hh, waits.jobs, &id, sizeof id, a);
    return a;
}

static void waitjob_forget(struct awaited *a) {
    HASH_DEL(waits.jobs, a);
    free(a);
}

static void waitjob_join(struct job_wait *w) {
    struct awaited *a = waitjob_find(w->key.id);

    if (a == NULL) {
        a = xcalloc(1, sizeof *a);
        a->id = w->key.id;
        list_init(&a->waits);
        HASH_ADD(hh, waits.jobs, id, sizeof a->id, a);
    }
    list_push_back(&a->waits, &w->of_job);
}

static void waitjob_leave(struct job_wait *w) {
    struct awaited *a = waitjob_find(w->key.id);

    list_remove(&w->of_job);
    if (a != NULL && list_empty(&a->waits))
        waitjob_forget(a);
    timer_stop(&w->due);
    w->client->wait = NULL;
    w->client->blocked = false;
    w->client = NULL;
    waits.count--;
    waits.blocked -= w->seen;
}

/* ---- replies ---- */

/* The reply is complete. A statement in progress ends later, without a reply. */
static void waitjob_end(struct job_wait *w) {
    waitjob_leave(w);
    if (w->list_read)
        client_detach(w->req);
    else
        req_end(w->req);
}

static void waitjob_end_with(struct job_wait *w, const char *state, struct slice result) {
    reply_array(w->req, 2);
    reply_bulk_str(w->req, state);
    if (result.ptr != NULL)
        reply_bulk(w->req, result);
    else
        reply_null_bulk(w->req);
    waitjob_end(w);
}

static void end_empty(struct job_wait *w) {
    reply_null_array(w->req);
    waitjob_end(w);
}

/* The job does not exist, and is not retained. */
static void end_gone(struct job_wait *w) {
    if (w->told == JOB_DONE || w->told == JOB_KEPT) {
        waitjob_end_with(w, "done", nothing);
    } else if (w->seen || w->told != 0) {
        waitjob_end_with(w, "gone", nothing);
    } else {
        reply_error(w->req, "NOJOB Job not known: it never existed, or it has ended and is not retained.");
        waitjob_end(w);
    }
}

/* ---- queries ---- */

static void ask_others(void) {
    if (clock_mono() < waits.ask_us)
        return;
    waits.ask_us = clock_mono() + ASK_US;
    queue_announced |= ANNOUNCE_AWAITS;
}

static void on_due(struct timer *t);

static void waitjob_look(struct job_wait *w) {
    w->list_read = true;
    w->look_again = false;
    timer_set(&w->due, w->deadline_us, on_due);
    ask_others();
    batch_add(&w->req->task);
}

static void rest(struct job_wait *w) {
    timer_set(&w->due, waitjob_least(clock_mono() + w->pause_us, w->deadline_us), on_due);
    w->pause_us = waitjob_least(2 * w->pause_us, LAST_PAUSE_US);
}

static void waitjob_still_there(struct job_wait *w) {
    waits.blocked += !w->seen;
    w->client->blocked = w->seen = true;
    if (w->look_again)
        waitjob_look(w);
    else
        rest(w);
}

static void look_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
}

/* Columns: ordinal, lives, finished_at, node, result, is_dead, error. */
static void waitjob_row(struct task *t, const PGresult *rows, int row) {
    struct job_wait *w = wait_of(REQ_OF_TASK(t));

    w->list_read = false;
    if (w->client == NULL) {
        req_end(w->req);
    } else if (!row_null(rows, row, COL_LOOK_JOBS_FINISHED_AT)) {
        waitjob_end_with(w, "done", row_bytes_or_null(rows, row, COL_LOOK_JOBS_RESULT));
    } else if (row_bool(rows, row, COL_LOOK_JOBS_IS_DEAD)) {
        waitjob_end_with(w, "dead", row_bytes_or_null(rows, row, COL_LOOK_JOBS_ERROR));
    } else if (!row_bool(rows, row, COL_LOOK_JOBS_LIVES)) {
        end_gone(w);
    } else {
        waitjob_still_there(w);
    }
}

static void waitjob_look_fail(struct task *t, const struct op_error *err) {
    struct job_wait *w = wait_of(REQ_OF_TASK(t));

    if (w->client != NULL)
        waitjob_leave(w);
    req_db_error(w->req, err);
}

OPERATION(look_jobs, .begin = look_begin, .encode = job_ids_encode, .on_row = waitjob_row,
          .fail = waitjob_look_fail);

/* ---- messages ---- */

bool waitjob_is_asked(void) {
    return waits.count > 0 || clock_mono() < waits.asked_until_us;
}

/* result: of a retained job. NULL if it is not known here. */
static void waitjob_tell(struct job_wait *w, enum job_exit how, const struct slice *result) {
    w->told = how;
    if (w->list_read)
        w->look_again = true;
    else if (how == JOB_DEAD || (how == JOB_KEPT && result == NULL))
        waitjob_look(w);
    else if (how == JOB_KEPT)
        waitjob_end_with(w, "done", *result);
    else
        end_gone(w);
}

static void tell_all(int64_t id, enum job_exit how, const struct slice *result) {
    struct awaited *a = waitjob_find(id);
    struct list told;
    struct list *node;

    if (a == NULL)
        return;
    list_init(&told);
    list_splice_back(&told, &a->waits);
    waitjob_forget(a);
    while ((node = list_pop_front(&told)) != NULL) {
        struct job_wait *w = LIST_ENTRY(node, struct job_wait, of_job);

        waitjob_join(w);
        waitjob_tell(w, how, result);
    }
}

void waitjob_ended(struct job_key key, enum job_exit how, struct slice result) {
    tell_all(key.id, how, &result);
    if (clock_mono() < waits.asked_until_us)
        OBSERVE(job_ended, key, how);
}

void waitjob_heard_end(struct job_key key, int64_t number) {
    if (number >= JOB_DONE && number < JOB_EXITS)
        tell_all(key.id, (enum job_exit)number, NULL);
}

void waitjob_heard_asking(void) {
    waits.asked_until_us = clock_mono() + ASKED_US;
}

/* ---- ends by other causes ---- */

bool waitjob_has(const struct client *c) {
    return c->wait != NULL;
}

void waitjob_client_gone(struct client *c) {
    struct job_wait *w = c->wait;

    if (w == NULL)
        return;
    waitjob_leave(w);
    if (!w->list_read)
        req_end(w->req);
}

bool waitjob_unblock(struct client *c, bool error) {
    struct job_wait *w = c->wait;

    if (w == NULL)
        return false;
    if (error) {
        reply_error(w->req, WAITERS_UNBLOCKED);
        waitjob_end(w);
    } else {
        end_empty(w);
    }
    return true;
}

static void for_all(void (*what)(struct job_wait *w)) {
    LIST_EACH_SAFE(node, client_list(CLIENT_OPEN)) {
        struct job_wait *w = LIST_ENTRY(node, struct client, in_state)->wait;

        if (w != NULL)
            what(w);
    }
}

void waitjob_end_all(void) {
    for_all(end_empty);
}

static void look_soon(struct job_wait *w) {
    if (w->list_read)
        w->look_again = true;
    else
        waitjob_look(w);
}

void waitjob_look_all(void) {
    for_all(look_soon);
}

size_t waitjob_count(void) {
    return waits.blocked;
}

static void on_due(struct timer *t) {
    struct job_wait *w = CONTAINER_OF(t, struct job_wait, due);

    if (w->deadline_us <= clock_mono())
        end_empty(w);
    else
        waitjob_look(w);
}

/* ---- start ---- */

void waitjob_start(struct req *r, int64_t timeout_ms) {
    struct job_wait *w = req_alloc(r, sizeof *w);

    *w = (struct job_wait){ .req = r, .client = r->client, .key = job_ids(r)->keys[0] };
    w->pause_us = FIRST_PAUSE_US;
    w->deadline_us = timeout_ms == 0 ? INT64_MAX : clock_mono() + timeout_ms * US_PER_MS;
    job_ids(r)->own = w;
    r->task.op = &op_look_jobs;
    r->client->wait = w;
    waits.count++;
    waitjob_join(w);
    waitjob_look(w);
}
