/* WAITJOB: replies the final states of jobs once they have ended. */
#include "jobs/waitjob.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/id_list.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/queue_rights.h"
#include "queue/waiters.h"

/* Peers are asked for messages about ended jobs, at most once per ASK_US. They send messages for ASKED_US. */
#define ASKED_US (10 * US_PER_S)
#define ASK_US US_PER_S
/* Pauses between queries if no message arrives. Each pause is twice as long as the one before. */
#define FIRST_PAUSE_US (100 * US_PER_MS)
#define LAST_PAUSE_US (3 * US_PER_S)
/* A longer result is read by a statement for each client, so that it is not copied for all of them at once. */
#define RESULT_AT_ONCE 4096
#define RESULTS_TOO_LONG "LIMIT the results take more than 16 MB: name fewer jobs"

enum wait_state { WAIT_OPEN, WAIT_DONE, WAIT_DEAD, WAIT_CANCELLED, WAIT_GONE, WAIT_UNKNOWN };

static const char *const end_names[] = { NULL, "done", "dead", "cancelled", "gone", "unknown" };

/* A job of a request. */
struct waited {
    struct list of_job; /* all that wait for the same job */
    struct job_wait *wait;
    struct job_key key;
    enum wait_state state;
    bool seen;          /* the database had the job */
    enum job_exit told; /* the end that a message reported; 0: none */
};

struct job_wait {
    struct timer due; /* the next query, or the timeout */
    struct req *req;
    struct client *client; /* NULL after the wait, or after the client has disconnected */
    enum wait_form form;
    bool is_reading; /* its statement is queued or sent */
    bool look_again; /* a message arrived during the statement */
    bool seen;       /* the database had a job that has not ended */
    bool reads_all;  /* the wait is over, and its statement reads the results of all jobs */
    int64_t pause_us;
    int64_t deadline_us; /* clock_mono() */
    size_t named;        /* IDs in the command; those without a job are not in jobs[] */
    size_t open;         /* jobs that have not ended */
    size_t count;
    struct waited jobs[];
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

static void waitjob_join(struct waited *j) {
    struct awaited *a = waitjob_find(j->key.id);

    if (a == NULL) {
        a = xcalloc(1, sizeof *a);
        a->id = j->key.id;
        list_init(&a->waits);
        HASH_ADD(hh, waits.jobs, id, sizeof a->id, a);
    }
    list_push_back(&a->waits, &j->of_job);
}

static void waitjob_part(struct waited *j) {
    struct awaited *a = waitjob_find(j->key.id);

    list_remove(&j->of_job);
    if (a != NULL && list_empty(&a->waits))
        waitjob_forget(a);
}

static void waitjob_leave(struct job_wait *w) {
    for (size_t i = 0; i < w->count; i++)
        waitjob_part(&w->jobs[i]);
    timer_stop(&w->due);
    w->client->wait = NULL;
    w->client->blocked = false;
    w->client = NULL;
    waits.count--;
    waits.blocked -= w->seen;
}

/* ---- rights ---- */

/* The user could read the queue when the wait began. A queue that is gone has no rights. */
static bool waited_is_permitted(const struct waited *j) {
    return queue_find_id(j->key.queue_id) == NULL || queue_rights_cover_id(j->wait->req, j->key.queue_id);
}

bool waitjob_may_go_on(const struct client *c) {
    const struct job_wait *w = c->wait;

    for (size_t i = 0; w != NULL && i < w->count; i++) {
        if (!waited_is_permitted(&w->jobs[i]))
            return false;
    }
    return true;
}

/* ---- replies ---- */

/* The reply is complete. A statement in progress ends later, without a reply. */
static void waitjob_end(struct job_wait *w) {
    waitjob_leave(w);
    if (w->is_reading)
        client_detach(w->req);
    else
        req_end(w->req);
}

static void end_empty(struct job_wait *w) {
    reply_null_array(w->req);
    waitjob_end(w);
}

static void reply_result(struct req *r, struct slice result) {
    if (result.ptr != NULL)
        reply_bulk(r, result);
    else
        reply_null_bulk(r);
}

static void waitjob_end_one(struct job_wait *w, struct slice result) {
    if (w->jobs[0].state == WAIT_UNKNOWN || !waited_is_permitted(&w->jobs[0])) {
        reply_error(w->req, WAITJOB_UNKNOWN);
    } else {
        reply_array(w->req, 2);
        reply_bulk_str(w->req, end_names[w->jobs[0].state]);
        reply_result(w->req, result);
    }
    waitjob_end(w);
}

static void reply_state(struct req *r, struct slice id, enum wait_state state, struct slice result) {
    reply_array(r, 3);
    reply_bulk(r, id);
    if (state == WAIT_OPEN)
        reply_null_bulk(r);
    else
        reply_bulk_str(r, end_names[state]);
    reply_result(r, result);
}

/* ---- states ---- */

/* The job does not exist, and is not retained. */
static enum wait_state gone_state(const struct waited *j) {
    if (j->told == JOB_DONE || j->told == JOB_KEPT)
        return WAIT_DONE;
    if (j->told == JOB_CANCELLED)
        return WAIT_CANCELLED;
    return j->seen || j->told != 0 ? WAIT_GONE : WAIT_UNKNOWN;
}

static enum wait_state row_state(const struct waited *j, const PGresult *rows, int row) {
    if (!row_null(rows, row, COL_LOOK_JOBS_FINISHED_AT))
        return WAIT_DONE;
    if (row_bool(rows, row, COL_LOOK_JOBS_IS_DEAD))
        return WAIT_DEAD;
    return row_bool(rows, row, COL_LOOK_JOBS_LIVES) ? WAIT_OPEN : gone_state(j);
}

static struct slice row_result(const PGresult *rows, int row) {
    return row_bytes_or_null(
        rows, row, row_bool(rows, row, COL_LOOK_JOBS_IS_DEAD) ? COL_LOOK_JOBS_ERROR : COL_LOOK_JOBS_RESULT);
}

static void waited_ended(struct waited *j, enum wait_state state) {
    j->state = state;
    j->wait->open--;
}

/* An unknown job counts as ended. */
static bool wait_is_over(const struct job_wait *w) {
    return w->form == WAIT_FOR_ANY ? w->open < w->named : w->open == 0;
}

/* ---- queries ---- */

static void ask_others(void) {
    if (clock_mono() < waits.ask_us)
        return;
    waits.ask_us = clock_mono() + ASK_US;
    queue_announced |= ANNOUNCE_AWAITS;
}

static void on_due(struct timer *t);

static void waitjob_send(struct job_wait *w, size_t jobs) {
    w->is_reading = true;
    w->req->task.rows = (uint32_t)jobs;
    batch_add(&w->req->task);
}

static void waitjob_look(struct job_wait *w) {
    w->look_again = false;
    timer_set(&w->due, w->deadline_us, on_due);
    ask_others();
    waitjob_send(w, w->open);
}

static void rest(struct job_wait *w) {
    timer_set(&w->due, int64_least(clock_mono() + w->pause_us, w->deadline_us), on_due);
    w->pause_us = int64_least(2 * w->pause_us, LAST_PAUSE_US);
}

static void waitjob_still_there(struct job_wait *w) {
    waits.blocked += !w->seen;
    w->client->blocked = w->seen = true;
    if (w->look_again)
        waitjob_look(w);
    else
        rest(w);
}

static void read_all(struct job_wait *w) {
    waitjob_leave(w);
    w->reads_all = true;
    waitjob_send(w, w->count);
}

static void look_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
}

/* The states change only when the statement has ended, so that its rows are those of the open jobs. */
static void look_encode(struct params *p, struct task *t) {
    const struct job_wait *w = wait_of(REQ_OF_TASK(t));

    for (size_t i = 0; i < w->count; i++)
        if (w->reads_all || w->jobs[i].state == WAIT_OPEN)
            params_key(p, 0, w->jobs[i].key);
}

static void note_rows(struct job_wait *w, const PGresult *rows, int row) {
    for (size_t i = 0; i < w->count; i++) {
        struct waited *j = &w->jobs[i];
        enum wait_state state;

        if (j->state != WAIT_OPEN)
            continue;
        state = row_state(j, rows, row++);
        if (state == WAIT_OPEN)
            j->seen = true;
        else
            waited_ended(j, state);
    }
}

/* rows has a row for each job of w, from first on. */
static void end_with_states(struct job_wait *w, const PGresult *rows, int first) {
    struct req *r = w->req;
    size_t at = 0;

    reply_array(r, w->named);
    for (int i = 1; i <= (int)w->named; i++) {
        enum wait_state state = WAIT_UNKNOWN;
        struct slice result = nothing;

        if (at < w->count && job_id_names(r->argv[i], w->jobs[at].key)) {
            int row = first + (int)at;

            if (waited_is_permitted(&w->jobs[at])) {
                state =
                    w->jobs[at].state == WAIT_OPEN ? row_state(&w->jobs[at], rows, row) : w->jobs[at].state;
                result = row_result(rows, row);
            }
            at++;
        }
        reply_state(r, r->argv[i], state, result);
    }
    req_end(r);
}

static void waitjob_looked(struct job_wait *w, const PGresult *rows, int first) {
    bool has_all = w->open == w->count;

    note_rows(w, rows, first);
    if (!wait_is_over(w)) {
        waitjob_still_there(w);
    } else if (w->form == WAIT_FOR_ONE) {
        waitjob_end_one(w, row_result(rows, first));
    } else if (has_all) {
        waitjob_leave(w);
        end_with_states(w, rows, first);
    } else {
        read_all(w);
    }
}

static bool misses_results(const struct task *t, const PGresult *rows) {
    for (size_t i = 0; i < t->rows; i++)
        if (row_bool(rows, (int)(t->first_row + i), COL_LOOK_JOBS_IS_LEFT_OUT))
            return true;
    return false;
}

/* The results of other requests took the room, or those of this request alone are too long. */
static void look_for_results(struct job_wait *w) {
    if (w->req->task.first_row == 0) {
        if (w->client != NULL)
            waitjob_leave(w);
        req_error(w->req, RESULTS_TOO_LONG);
    } else if (w->reads_all) {
        waitjob_send(w, w->count);
    } else {
        waitjob_look(w);
    }
}

/* The result has a row for each key, in their order. */
static void look_done(struct task *t, const PGresult *rows) {
    struct job_wait *w = wait_of(REQ_OF_TASK(t));

    w->is_reading = false;
    if ((w->reads_all || w->client != NULL) && misses_results(t, rows))
        look_for_results(w);
    else if (w->reads_all)
        end_with_states(w, rows, (int)t->first_row);
    else if (w->client == NULL)
        req_end(w->req);
    else
        waitjob_looked(w, rows, (int)t->first_row);
}

static void waitjob_look_fail(struct task *t, const struct op_error *err) {
    struct job_wait *w = wait_of(REQ_OF_TASK(t));

    if (w->client != NULL)
        waitjob_leave(w);
    req_db_error(w->req, err);
}

OPERATION(look_jobs, .begin = look_begin, .encode = look_encode, .on_end = look_done,
          .fail = waitjob_look_fail);

/* ---- messages ---- */

bool waitjob_is_asked(void) {
    return waits.count > 0 || clock_mono() < waits.asked_until_us;
}

/* result: of a retained job. NULL if it is not known here. */
static void tell_one(struct job_wait *w, enum job_exit how, const struct slice *result) {
    if (how == JOB_DEAD || (how == JOB_KEPT && (result == NULL || result->len > RESULT_AT_ONCE))) {
        waitjob_look(w);
        return;
    }
    waited_ended(&w->jobs[0], gone_state(&w->jobs[0]));
    waitjob_end_one(w, how == JOB_KEPT ? *result : nothing);
}

static void tell_of_many(struct waited *j, enum job_exit how) {
    if (j->state != WAIT_OPEN)
        return;
    waited_ended(j, how == JOB_DEAD ? WAIT_DEAD : gone_state(j));
    if (wait_is_over(j->wait))
        read_all(j->wait);
}

static void waitjob_tell(struct waited *j, enum job_exit how, const struct slice *result) {
    struct job_wait *w = j->wait;

    j->told = how;
    if (w->is_reading)
        w->look_again = true;
    else if (w->form == WAIT_FOR_ONE)
        tell_one(w, how, result);
    else
        tell_of_many(j, how);
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
        struct waited *j = LIST_ENTRY(node, struct waited, of_job);

        waitjob_join(j);
        waitjob_tell(j, how, result);
    }
}

void waitjob_ended(struct job_key key, enum job_exit how, struct slice result) {
    tell_all(key.id, how, &result);
    if (clock_mono() < waits.asked_until_us)
        OBSERVE(job_ended, key, how);
}

void waitjob_receive_end(struct job_key key, int64_t number) {
    if (number >= JOB_DONE && number < JOB_EXITS)
        tell_all(key.id, (enum job_exit)number, NULL);
}

void waitjob_receive_awaits(void) {
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
    if (!w->is_reading)
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
    if (w->is_reading)
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

static struct job_wait *waitjob_new(struct req *r, enum wait_form form, int64_t timeout_ms) {
    const struct job_ids *ids = job_ids(r);
    struct job_wait *w = req_alloc(r, sizeof *w + ids->count * sizeof *w->jobs);

    w->req = r;
    w->client = r->client;
    w->form = form;
    w->pause_us = FIRST_PAUSE_US;
    w->deadline_us = timeout_ms == 0 ? INT64_MAX : clock_mono() + timeout_ms * US_PER_MS;
    w->open = w->count = ids->count;
    for (size_t i = 0; i < w->count; i++)
        w->jobs[i] = (struct waited){ .wait = w, .key = ids->keys[i] };
    return w;
}

void waitjob_start(struct req *r, enum wait_form form, size_t named, int64_t timeout_ms) {
    struct job_wait *w = waitjob_new(r, form, timeout_ms);

    w->named = named;
    if (w->count == 0) {
        end_with_states(w, NULL, 0);
        return;
    }
    job_ids(r)->own = w;
    r->task.op = &op_look_jobs;
    r->client->wait = w;
    waits.count++;
    for (size_t i = 0; i < w->count; i++)
        waitjob_join(&w->jobs[i]);
    waitjob_look(w);
}
