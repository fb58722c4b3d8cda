/* Schedules: finds ticks that are due, and fires them. */
#include "jobs/schedule.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "base/timezone.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/add.h"
#include "jobs/add_options.h"
#include "jobs/job.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/* Schedules that a poll reads: a page. */
#define LIMIT 100
/* Schedules that may be firing before a poll. It bounds their memory. */
#define FIRING_MOST 500
/* Interval of polls, because a message about a changed schedule may be missed. */
#define LOOK_US (10 * US_PER_S)
/* Pauses when another server fires the tick, and after an error of the database. */
#define LOCKED_US (100 * US_PER_MS)
#define RETRY_US US_PER_S
/* Another server may commit SCHEDULE 20 seconds later than the schedule's first tick, and search_at may be a minute before
 * the tick. */
#define SCHEDULE_LATE_US (80 * US_PER_S)
/* A tick that is at most this late is not missed. */
#define GRACE_S 10

/* Schedules may stay due for long. So the polls read all due schedules in pages, and then begin again. */
struct schedule_pass {
    size_t pages;     /* that have arrived */
    int64_t began_at; /* time of the first poll */
    int64_t first;    /* the least search_at */
    /* The last schedule. The next page begins after it. */
    int64_t search_at;
    int64_t id;
};

static struct {
    struct task task;
    struct list firing; /* struct firing: read, and not finished */
    size_t firing_count;
    int64_t from;    /* no tick before it is due */
    bool all;        /* the next pass reads from the beginning */
    int64_t now;     /* time of the running poll */
    int64_t next_at; /* clock_db(): time of the next poll */
    struct schedule_pass pass;
} schedule_search = {
    .task = { .op = &op_due_schedules, .rows = 1 },
    .firing = { &schedule_search.firing, &schedule_search.firing },
    .all = true,
    .next_at = TIME_BEGINNING,
};

struct fired {
    int64_t tick;
    struct job_key key;
    struct job_times at;
};

/* A schedule as it was read, and the jobs that its ticks make. */
struct firing {
    struct task task;
    struct list node;             /* in schedule_search.firing */
    struct row_waiter row_waiter; /* while the queue has no row */
    struct queue *q;
    int64_t id;
    int64_t revision;
    int64_t due;       /* next_at as it was read */
    int64_t search_at; /* as it was read */
    int64_t next;
    int64_t last;  /* last tick that makes a job; TIME_NEVER: none */
    bool waits;    /* its jobs are delayed, or wait in their group */
    bool overlaps; /* its ticks look at the job before them */
    struct add_options opt;
    size_t ticks;
    size_t count; /* jobs that the queue did not refuse */
    struct fired jobs[];
};

/* ---- times ---- */

static void schedule_look_at(int64_t us) {
    if (us < schedule_search.next_at)
        schedule_search.next_at = us;
}

/* It does not end the pass, because frequent changes would keep the polls at their first page. */
void schedule_look(void) {
    schedule_search.all = true;
    schedule_search.next_at = clock_db();
}

int64_t schedule_next_turn(void) {
    return schedule_search.task.state != TASK_IDLE || schedule_search.firing_count >= FIRING_MOST
               ? INT64_MAX
               : schedule_search.next_at;
}

void schedule_turn(void) {
    if (schedule_next_turn() <= clock_db())
        batch_add(&schedule_search.task);
}

/* ---- ticks ---- */

static int64_t next_tick(const struct cron_expr *e, int64_t anchor_s, int64_t after_s) {
    int64_t next = cron_next(e, anchor_s, after_s, timezone_offset_at);

    return next == CRON_NEVER || next > TIME_NEVER / US_PER_S ? TIME_NEVER : next * US_PER_S;
}

int64_t schedule_first(const struct cron_expr *e, int64_t now) {
    int64_t first;

    timezone_enter(e->zone);
    first = next_tick(e, now / US_PER_S, now / US_PER_S);
    timezone_leave();
    return first;
}

size_t schedule_upcoming(const struct cron_expr *e, int64_t next, size_t count, int64_t *ticks) {
    size_t n = 0;

    timezone_enter(e->zone);
    for (int64_t tick = next; n < count && tick != TIME_NEVER;
         tick = next_tick(e, next / US_PER_S, tick / US_PER_S))
        ticks[n++] = tick;
    timezone_leave();
    return n;
}

/* The tick that makes the one job of all due ticks. TIME_NEVER: none does. */
static int64_t last_of(const struct cron_expr *e, enum schedule_missed missed, int64_t due_s, int64_t now) {
    int64_t since_s = now / US_PER_S - GRACE_S, tick;

    if (missed != MISSED_SKIP || since_s <= due_s)
        return due_s * US_PER_S;
    tick = next_tick(e, due_s, since_s);
    return tick <= now ? tick : TIME_NEVER;
}

static void plan_all(struct firing *f, const struct cron_expr *e, int64_t first, int64_t now) {
    int64_t tick = first;

    for (f->ticks = 0; tick <= now && f->ticks < SCHEDULE_CATCH_UP; f->ticks++) {
        f->last = f->jobs[f->ticks].tick = tick;
        tick = next_tick(e, first / US_PER_S, tick / US_PER_S);
    }
}

/* Plans the ticks from the time first on. */
static void plan(struct firing *f, const struct cron_expr *e, enum schedule_missed missed, int64_t first,
                 int64_t now) {
    f->last = TIME_NEVER;
    f->next = first > now ? first : next_tick(e, first / US_PER_S, now / US_PER_S);
    if (first > now)
        return;
    if (missed == MISSED_ALL && !f->overlaps) {
        plan_all(f, e, first, now);
    } else {
        f->last = f->jobs[0].tick = last_of(e, missed, first / US_PER_S, now);
        f->ticks = f->last != TIME_NEVER;
    }
}

/* A schedule that SQL made has no tick yet: its first tick is the next one after next_at. */
static void plan_row(struct firing *f, const struct cron_expr *e, enum schedule_missed missed,
                     bool has_tick) {
    int64_t due_s = f->due / US_PER_S;

    timezone_enter(e->zone);
    plan(f, e, missed, has_tick ? f->due : next_tick(e, due_s, due_s), schedule_search.now);
    timezone_leave();
}

/* ---- firing ---- */

/* Ticks whose job the queue refuses are skipped, as ADDJOB is refused. */
static void make_jobs(struct firing *f) {
    int64_t now = clock_db();

    while (f->count < f->ticks && addjob_refusal(f->q, &f->opt, 1) == NULL) {
        struct fired *j = &f->jobs[f->count++];

        j->key = addjob_key(f->q, &f->opt, job_new_id(now, node_self()->number));
        j->at = addjob_times(&f->opt, j->key.id, now);
        add_count_accepted(f->q, !f->waits);
    }
    if (f->count == 0)
        f->last = TIME_NEVER;
    f->task.rows = f->count > 0 ? (uint32_t)f->count : 1;
}

static void schedule_end(struct firing *f) {
    if (!f->waits)
        add_count_accepted(f->q, -(int64_t)f->count);
    f->q->users--;
    list_remove(&f->node);
    schedule_search.firing_count--;
    free(f);
}

/* The tick stays due. */
static void fire_later(struct firing *f) {
    schedule_look_at(clock_db() + RETRY_US);
    schedule_end(f);
}

/* Without the counters MAXLEN cannot be checked. */
static void schedule_enter(struct task *t) {
    struct firing *f = CONTAINER_OF(t, struct firing, task);

    if (f->opt.maxlen > 0 && queue_counters_are_incomplete()) {
        fire_later(f);
        return;
    }
    make_jobs(f);
    batch_add(t);
}

static void fire_fail(struct task *t, const struct op_error *err) {
    log_warning("schedule", "cannot fire: %s (SQLSTATE %s); trying again", err->message, err->sqlstate);
    fire_later(CONTAINER_OF(t, struct firing, task));
}

/* A row that other software wrote may have any number. */
static enum schedule_missed missed_of(int16_t number) {
    return number == MISSED_SKIP || number == MISSED_ALL ? (enum schedule_missed)number : MISSED_ONCE;
}

static void fire(const PGresult *rows, int row, const struct cron_expr *e) {
    enum schedule_missed missed = missed_of(row_int2(rows, row, COL_DUE_SCHEDULES_MISSED));
    size_t most = missed == MISSED_ALL ? SCHEDULE_CATCH_UP : 1;
    struct firing *f = xcalloc(1, sizeof *f + most * sizeof *f->jobs);

    f->task.op = &op_fire_schedules;
    row_waiter_init(&f->row_waiter, &f->task, schedule_enter, fire_fail);
    fair_node_init(&f->task.turn);
    f->id = row_int8(rows, row, COL_DUE_SCHEDULES_ID);
    f->revision = row_int8(rows, row, COL_DUE_SCHEDULES_REVISION);
    f->due = row_time(rows, row, COL_DUE_SCHEDULES_NEXT_AT);
    f->search_at = row_time(rows, row, COL_DUE_SCHEDULES_SEARCH_AT);
    f->opt.retry = row_int4(rows, row, COL_DUE_SCHEDULES_RETRY);
    f->opt.ttl = row_int4(rows, row, COL_DUE_SCHEDULES_TTL);
    f->opt.delay = row_int4(rows, row, COL_DUE_SCHEDULES_DELAY);
    f->opt.maxlen =
        row_null(rows, row, COL_DUE_SCHEDULES_MAXLEN) ? 0 : row_int8(rows, row, COL_DUE_SCHEDULES_MAXLEN);
    f->opt.priority = row_int2(rows, row, COL_DUE_SCHEDULES_PRIORITY);
    f->waits = f->opt.delay > 0 || !row_null(rows, row, COL_DUE_SCHEDULES_GROUP_KEY);
    f->overlaps = !row_null(rows, row, COL_DUE_SCHEDULES_OVERLAP);
    plan_row(f, e, missed, row_bool(rows, row, COL_DUE_SCHEDULES_HAS_TICK));
    f->q = queue_get(row_bytes(rows, row, COL_DUE_SCHEDULES_QUEUE));
    f->q->users++;
    list_push_back(&schedule_search.firing, &f->node);
    schedule_search.firing_count++;
    queue_prepare(f->q, &f->row_waiter);
}

/* A tick is due until its statement commits. Another session may hold that back for long: it makes the queue, or has locked
 * a table. */
static bool is_firing(const PGresult *rows, int row) {
    LIST_EACH(node, &schedule_search.firing) {
        const struct firing *f = LIST_ENTRY(node, struct firing, node);

        if (f->id == row_int8(rows, row, COL_DUE_SCHEDULES_ID) &&
            f->revision == row_int8(rows, row, COL_DUE_SCHEDULES_REVISION) &&
            f->due == row_time(rows, row, COL_DUE_SCHEDULES_NEXT_AT))
            return true;
    }
    return false;
}

/* Another server may have accepted an expression or a time zone that this server does not know. */
static void fire_if_readable(const PGresult *rows, int row) {
    struct slice text = row_bytes(rows, row, COL_DUE_SCHEDULES_CRON);
    struct cron_expr e;
    char error[400] = "there is no such time zone";

    if (cron_parse(text, &e, error, sizeof error) && timezone_exists(e.zone))
        fire(rows, row, &e);
    else
        log_warning("schedule", "this server cannot fire at '%.*s': %s", (int)text.len, text.ptr, error);
}

static void encode_job(struct params *p, const struct fired *j) {
    params_int8(p, 5, j->key.id);
    params_time(p, 6, j->at.ready_at);
    params_time(p, 7, j->at.expires_at);
    params_time_or_null(p, 8, j->at.wake_at);
    params_int4(p, 9, j->key.queue_id);
    params_time(p, 10, j->tick);
}

static void encode_no_job(struct params *p) {
    params_null(p, 5, PARAM_INT8);
    params_null(p, 6, PARAM_TIME);
    params_null(p, 7, PARAM_TIME);
    params_null(p, 8, PARAM_TIME);
    params_int4(p, 9, 0);
    params_null(p, 10, PARAM_TIME);
}

static void fire_begin(struct params *p) {
    params_set_time(p, 11, clock_db());
}

static void fire_encode(struct params *p, struct task *t) {
    const struct firing *f = CONTAINER_OF(t, struct firing, task);

    for (size_t i = 0; i < t->rows; i++) {
        params_int8(p, 0, f->id);
        params_int8(p, 1, f->revision);
        params_time(p, 2, f->due);
        params_time(p, 3, f->next);
        params_time_or_null(p, 4, f->last);
        params_time(p, 12, f->search_at);
        if (i < f->count)
            encode_job(p, &f->jobs[i]);
        else
            encode_no_job(p);
    }
}

static void schedule_committed(struct firing *f, const struct fired *j, struct slice group) {
    stats.schedules_fired++;
    job_entered(
        &(struct job_row){
            .q = f->q, .key = j->key, .delayed = f->opt.delay > 0, .wake_at = j->at.wake_at, .group = group },
        JOB_ADDED);
}

static void schedule_replaced(const PGresult *rows, int row) {
    job_left(&(struct job_row){ .key = row_full_key(rows, row, COL_FIRE_SCHEDULES_QUEUE_ID),
                                .queued_since = row_time(rows, row, COL_FIRE_SCHEDULES_QUEUED_SINCE),
                                .expires_at = row_time(rows, row, COL_FIRE_SCHEDULES_EXPIRES_AT),
                                .retry = row_int4(rows, row, COL_FIRE_SCHEDULES_RETRY),
                                .group = row_bytes_or_null(rows, row, COL_FIRE_SCHEDULES_GROUP_KEY),
                                .in_flow = !row_null(rows, row, COL_FIRE_SCHEDULES_IN_FLOW) },
             JOB_CANCELLED);
}

/* True if the row is that of the job. */
static bool is_row_of(const PGresult *rows, int row, const struct fired *j) {
    return row < PQntuples(rows) && row_bool(rows, row, COL_FIRE_SCHEDULES_IS_ADDED) &&
           row_int8(rows, row, COL_FIRE_SCHEDULES_ID) == j->key.id;
}

/* The added jobs come in order, and then the replaced jobs. If there are no rows, another server has fired the tick, or
 * fires it now. A lost connection of this server has the same effect: bootstrap.c then counts the jobs. */
static void fire_done(struct task **tasks, size_t count, const PGresult *rows) {
    int next = 0;

    for (size_t i = 0; i < count; i++) {
        struct firing *f = CONTAINER_OF(tasks[i], struct firing, task);
        bool mine = f->count == 0;

        for (size_t k = 0; k < f->count; k++) {
            if (is_row_of(rows, next, &f->jobs[k])) {
                mine = true;
                schedule_committed(f, &f->jobs[k],
                                   row_bytes_or_null(rows, next, COL_FIRE_SCHEDULES_GROUP_KEY));
                next++;
            }
        }
        schedule_look_at(mine ? f->next : clock_db() + LOCKED_US);
        schedule_end(f);
    }
    for (; next < PQntuples(rows); next++)
        schedule_replaced(rows, next);
}

/* A second try after a lost connection does nothing if the first was committed. */
OPERATION(fire_schedules, .begin = fire_begin, .encode = fire_encode, .done = fire_done, .fail = fire_fail);

/* ---- polls ---- */

/* After a failed poll, the pass has begun already. */
static void pass_begin(void) {
    int64_t now = schedule_search.now;

    schedule_search.pass = (struct schedule_pass){
        .began_at = now,
        .first = now,
        .search_at = schedule_search.all ? TIME_BEGINNING : schedule_search.from,
        .id = INT64_MIN,
    };
    schedule_search.all = false;
}

static void schedule_look_begin(struct params *p) {
    struct schedule_pass *pass = &schedule_search.pass;

    schedule_search.now = clock_db();
    schedule_search.next_at = schedule_search.now + LOOK_US;
    if (pass->began_at == 0)
        pass_begin();
    params_set_time(p, 0, pass->search_at);
    params_set_time(p, 1, schedule_search.now);
    params_set_int4(p, 2, LIMIT);
    params_set_int8(p, 3, pass->id);
}

/* The rows are in no order. */
static void pass_note(struct schedule_pass *pass, int64_t search_at, int64_t id) {
    pass->first = int64_least(pass->first, search_at);
    if (search_at < pass->search_at || (search_at == pass->search_at && id <= pass->id))
        return;
    pass->search_at = search_at;
    pass->id = id;
}

/* The next pass begins before all schedules that are left. */
static void pass_end(struct schedule_pass *pass) {
    schedule_search.from = int64_minus(pass->first, SCHEDULE_LATE_US);
    pass->began_at = 0;
}

/* A pass does not reach for schedules that became due after its begin. Else it might never end. */
static void schedule_look_done(struct task *t, const PGresult *rows) {
    struct schedule_pass *pass = &schedule_search.pass;
    int due = 0;

    (void)t;
    for (; due < PQntuples(rows) && !row_null(rows, due, COL_DUE_SCHEDULES_ID); due++) {
        pass_note(pass, row_time(rows, due, COL_DUE_SCHEDULES_SEARCH_AT),
                  row_int8(rows, due, COL_DUE_SCHEDULES_ID));
        if (!is_firing(rows, due))
            fire_if_readable(rows, due);
    }
    pass->pages++;
    if (due == LIMIT || pass->pages > 1)
        schedule_look_at(schedule_search.now + LOCKED_US);
    else if (PQntuples(rows) > 0 && !row_null(rows, 0, COL_DUE_SCHEDULES_NEXT_SEARCH))
        schedule_look_at(row_time(rows, 0, COL_DUE_SCHEDULES_NEXT_SEARCH));
    if (due < LIMIT || pass->search_at > pass->began_at)
        pass_end(pass);
}

static void schedule_look_fail(struct task *t, const struct op_error *err) {
    (void)t;
    log_warning("schedule", "cannot read the due schedules: %s (SQLSTATE %s); trying again", err->message,
                err->sqlstate);
    schedule_look_at(clock_db() + RETRY_US);
}

OPERATION(due_schedules, .alone = true, .begin = schedule_look_begin, .on_end = schedule_look_done,
          .fail = schedule_look_fail);
