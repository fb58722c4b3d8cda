/* QLEN QSTAT: the numbers of a queue's jobs, and the description of a queue. */
#include <string.h>

#include "base/clock.h"
#include "base/quantiles.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/waiting_count.h"
#include "net/usage.h"
#include "queue/pattern_index.h"
#include "queue/queue.h"
#include "queue/queue_limits.h"
#include "queue/settings.h"

/* ---- QLEN ---- */

static const struct len_state {
    const char *word;
    int64_t (*count)(const struct queue *q); /* NULL: the database counts the jobs */
    bool in_all;
} len_states[] = {
    { "queued", queue_len, true },    { "delayed", queue_delayed, true },
    { "active", queue_active, true }, { "waiting", queue_waiting, true },
    { "dead", queue_dead, false },    { "done", NULL, false },
    { "after", NULL, false },         { "held", NULL, false },
};

#define LEN_STATES LENGTH(len_states)
#define LEN_DONE (LEN_STATES - 3)
#define LEN_AFTER (LEN_STATES - 2)
#define LEN_HELD (LEN_STATES - 1)

/* A QLEN or QSTAT that needs numbers of the database. */
struct queue_count {
    struct queue *q;
    bool named[LEN_STATES]; /* QLEN */
    int64_t waiting;        /* QLEN: the jobs of AFTER or HELD that the database has counted */
    int64_t running;        /* QSTAT: the jobs that use a slot; -1: the queue has no slots */
};

/* Adds the state, or those of ALL, to the named ones. False if there is no such state. */
static bool name_len_state(struct slice word, bool named[LEN_STATES]) {
    bool all = slice_is(word, "all"), found = all;

    for (size_t i = 0; i < LEN_STATES; i++) {
        bool is_it = all ? len_states[i].in_all : slice_is(word, len_states[i].word);

        named[i] |= is_it;
        found |= is_it;
    }
    return found;
}

static struct queue_count *count_in_database(struct req *r, struct queue *q, struct op *op) {
    struct queue_count *c = req_alloc(r, sizeof *c);

    *c = (struct queue_count){ .q = q, .running = -1 };
    q->users++;
    r->data = c;
    if (op != &op_running_jobs)
        task_reads(&r->task, TASK_READS_MANY);
    batch_add_row(&r->task, op);
    return c;
}

/* DONE, AFTER or HELD are named. */
static void len_in_database(struct req *r, struct queue *q, const bool named[LEN_STATES]) {
    bool waiting = named[LEN_AFTER] || named[LEN_HELD];
    struct queue_count *c = count_in_database(r, q, waiting ? &op_count_waiting : &op_count_kept);

    memcpy(c->named, named, sizeof c->named);
}

static int64_t len_in_memory(const struct queue *q, const bool named[LEN_STATES]) {
    int64_t sum = 0;

    for (size_t i = 0; i < LEN_STATES; i++)
        if (named[i] && len_states[i].count != NULL)
            sum += len_states[i].count(q);
    return sum;
}

/* Jobs may have moved between the states since the command came. So all numbers are those of now. */
static void len_reply(struct req *r, int64_t kept) {
    const struct queue_count *c = r->data;

    c->q->users--;
    req_int(r, len_in_memory(c->q, c->named) + c->waiting + kept);
}

/* A state that is named twice counts once. */
void cmd_qlen(struct req *r) {
    struct queue *q = queue_find(r->argv[1]);
    bool named[LEN_STATES] = { r->argc == 2 };

    for (int i = 2; i < r->argc; i++) {
        if (!name_len_state(r->argv[i], named)) {
            usage_invalid(r, i,
                          "ERR the states of QLEN are queued, delayed, active, waiting, dead, done, after, "
                          "held and all");
            return;
        }
    }
    if ((named[LEN_DONE] || named[LEN_AFTER] || named[LEN_HELD]) && q != NULL && q->id != 0)
        len_in_database(r, q, named);
    else
        req_int(r, q == NULL ? 0 : len_in_memory(q, named));
}

/* ---- QSTAT ---- */

static struct queue *find_shown(struct slice name) {
    struct queue *q = queue_find(name);

    return q != NULL && q->shown ? q : NULL;
}

static void reply_limits(struct req *r, const struct queue *q, int64_t running) {
    reply_pair_int(r, "max-active", setting_in_force(q, SETTING_MAX_ACTIVE));
    reply_pair_int(r, "rate", setting_in_force(q, SETTING_RATE));
    if (limits_are_per_group(q))
        reply_pair_int(r, "per-group", 1);
    if (running >= 0)
        reply_pair_int(r, "running", running);
}

/* Limits that QSTAT replies only if they are set. */
static const struct extra_limit {
    const char *name;
    enum setting setting;
    int64_t none; /* the value without a limit */
} extra_limits[] = {
    { "rate-period", SETTING_RATE_PERIOD, 1 },
    { "rate-burst", SETTING_RATE_BURST, 0 },
    { "server-max-active", SETTING_SERVER_MAX_ACTIVE, 0 },
    { "group-max-active", SETTING_GROUP_MAX_ACTIVE, 0 },
    { "group-rate", SETTING_GROUP_RATE, 0 },
    { "group-rate-period", SETTING_GROUP_RATE_PERIOD, 1 },
    { "group-rate-burst", SETTING_GROUP_RATE_BURST, 0 },
};

/* Replies them, or only counts them. */
static size_t reply_extra_limits(struct req *r, const struct queue *q, bool counts_only) {
    size_t count = 0;

    for (size_t i = 0; i < LENGTH(extra_limits); i++) {
        int64_t value = setting_in_force(q, extra_limits[i].setting);

        if (value == extra_limits[i].none)
            continue;
        count++;
        if (!counts_only)
            reply_pair_int(r, extra_limits[i].name, value);
    }
    return count;
}

/* A latency is null if this server has delivered no job of the queue for the first time in the last minute. */
static void reply_latency(struct req *r, const struct queue *q, const char *name, unsigned per_thousand) {
    int64_t us = q->recent_waits == NULL ? -1 : quantiles_read(q->recent_waits, clock_mono(), per_thousand);

    reply_bulk_str(r, name);
    if (us < 0)
        reply_null_bulk(r);
    else
        reply_int(r, us / US_PER_MS);
}

static void reply_states(struct req *r, const struct queue *q) {
    reply_pair_int(r, "delayed", queue_delayed(q));
    reply_pair_int(r, "active", queue_active(q));
    reply_pair_int(r, "waiting", queue_waiting(q));
    reply_pair_int(r, "after", waiting_count(q));
    reply_pair_int(r, "oldest-ms", queue_oldest_us(q) / US_PER_MS);
    reply_latency(r, q, "latency-p50-ms", 500);
    reply_latency(r, q, "latency-p99-ms", 990);
}

/* running, kept: -1 if the database has not counted these jobs. */
static void reply_stat(struct req *r, struct queue *q, int64_t running, int64_t kept) {
    bool has_limits = q->limits->limited || limits_are_per_group(q);
    int64_t retention = setting_in_force(q, SETTING_RETENTION);
    size_t limit_pairs =
        (has_limits ? 2 + limits_are_per_group(q) + (running >= 0) : 0) + reply_extra_limits(r, q, true);

    reply_array(r, 2 * (18 + limit_pairs + (retention > 0) + (kept >= 0)));
    reply_bulk_str(r, "name");
    reply_bulk(r, q->name);
    reply_pair_int(r, "len", queue_len(q));
    reply_pair_int(r, "age", (clock_db() - q->created_us) / US_PER_S);
    reply_pair_int(r, "idle", (clock_mono() - q->counters.used_us) / US_PER_S);
    reply_pair_int(r, "blocked", q->work->waiting.count + patterns_waiters(q));
    reply_bulk_str(r, "import-from");
    reply_array(r, 0);
    reply_pair_int(r, "import-rate", 0);
    reply_pair_int(r, "jobs-in", q->counters.jobs_in);
    reply_pair_int(r, "jobs-out", q->counters.jobs_out);
    reply_bulk_str(r, "pause");
    reply_bulk_str(r, queue_pause_name(q->pause));
    reply_pair_int(r, "dead", queue_dead(q));
    if (has_limits)
        reply_limits(r, q, running);
    if (retention > 0)
        reply_pair_int(r, "retention", retention);
    reply_states(r, q);
    if (kept >= 0)
        reply_pair_int(r, "kept", kept);
    (void)reply_extra_limits(r, q, false);
    req_end(r);
}

/* The database counts the running jobs of a limited queue, and the retained jobs. */
void cmd_qstat(struct req *r) {
    struct queue *q = find_shown(r->argv[1]);

    if (q == NULL) {
        reply_null_array(r);
        req_end(r);
    } else if (q->limits->limited) {
        count_in_database(r, q, &op_running_jobs);
    } else if (setting_in_force(q, SETTING_RETENTION) > 0) {
        count_in_database(r, q, &op_count_kept);
    } else {
        reply_stat(r, q, -1, -1);
    }
}

/* ---- numbers of the database ---- */

static void count_begin(struct params *p) {
    params_set_time(p, 1, clock_db());
}

static void queue_count_encode(struct params *p, struct task *t) {
    const struct queue_count *c = REQ_OF_TASK(t)->data;

    params_int4(p, 0, c->q->id);
}

static void count_kept(struct req *r) {
    task_reads(&r->task, TASK_READS_MANY);
    batch_add_row(&r->task, &op_count_kept);
}

static void waiting_encode(struct params *p, struct task *t) {
    const struct queue_count *c = REQ_OF_TASK(t)->data;

    queue_count_encode(p, t);
    params_int2(p, 2, !c->named[LEN_AFTER]);
}

static void running_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct queue_count *c = r->data;

    if (c->q->limits->limited)
        c->running = row_int8(rows, (int)t->first_row, COL_RUNNING_JOBS_RUNNING);
    if (setting_in_force(c->q, SETTING_RETENTION) > 0) {
        count_kept(r);
        return;
    }
    c->q->users--;
    reply_stat(r, c->q, c->running, -1);
}

static void kept_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    const struct queue_count *c = r->data;
    int64_t kept = row_int8(rows, (int)t->first_row, COL_COUNT_KEPT_KEPT);

    if (r->cmd->handler == cmd_qlen) {
        len_reply(r, kept);
        return;
    }
    c->q->users--;
    reply_stat(r, c->q, c->running, kept);
}

static void waiting_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct queue_count *c = r->data;

    c->waiting = row_int8(rows, (int)t->first_row,
                          c->named[LEN_AFTER] ? COL_COUNT_WAITING_WAITING : COL_COUNT_WAITING_HELD);
    if (c->named[LEN_DONE])
        count_kept(r);
    else
        len_reply(r, 0);
}

static void queue_count_fail(struct task *t, const struct op_error *err) {
    const struct queue_count *c = REQ_OF_TASK(t)->data;

    c->q->users--;
    req_db_error(REQ_OF_TASK(t), err);
}

OPERATION(running_jobs, .begin = count_begin, .encode = queue_count_encode, .on_end = running_end,
          .fail = queue_count_fail);

OPERATION(count_waiting, .alone = true, .begin = count_begin, .encode = waiting_encode, .on_end = waiting_end,
          .fail = queue_count_fail);

OPERATION(count_kept, .alone = true, .begin = count_begin, .encode = queue_count_encode, .on_end = kept_end,
          .fail = queue_count_fail);
