/* SCHEDULE, UNSCHEDULE, SCHEDULES: commands about recurring jobs. */
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/cron_expr.h"
#include "base/timezone.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/add_options.h"
#include "jobs/schedule.h"
#include "net/args.h"
#include "queue/observer.h"
#include "queue/queue_rights.h"

/* About the bytes of a row without the body. */
#define ROW_BYTES 300

struct schedule_options {
    struct add_options add;
    enum schedule_missed missed;
};

struct put {
    struct schedule_options opt;
    int64_t next_at;
};

static const char *const missed_names[] = {
#define X(id, name) name,
    SCHEDULE_MISSED(X)
#undef X
};

/* ---- SCHEDULE ---- */

/* The options of ADDJOB that make sense for a job that is added without a client. */
static const char *const words[] = { "RETRY",    "TTL",      "DELAY",   "MAXLEN",
                                     "PRIORITY", "ATTEMPTS", "BACKOFF", "DEADQUEUE" };

static bool schedule_is_taken(const struct arg_option *o) {
    for (size_t i = 0; i < LENGTH(words); i++)
        if (strcmp(o->word, words[i]) == 0)
            return true;
    return false;
}

static bool take_missed(struct req *r, int *at, void *out) {
    struct schedule_options *o = out;

    if (!slice_is(r->argv[*at], "MISSED")) {
        usage_unexpected(r, *at);
        return false;
    }
    if (*at + 1 >= r->argc) {
        usage_no_value(r, *at);
        return false;
    }
    for (int i = 0; i < MISSED_COUNT; i++) {
        if (slice_is(r->argv[*at + 1], missed_names[i])) {
            o->missed = (enum schedule_missed)i;
            *at += 2;
            return true;
        }
    }
    usage_invalid(r, *at + 1, "ERR MISSED must be skip, once or all");
    return false;
}

/* Takes the ranges and errors of these options from ADDJOB's table. */
static const struct arg_spec *spec(void) {
    static struct arg_option options[LENGTH(words)];
    static struct arg_spec spec = { options, 0, NULL, NULL, take_missed };

    for (size_t i = 0; i < addjob_spec.count && spec.count < LENGTH(words); i++)
        if (schedule_is_taken(&addjob_spec.options[i]))
            options[spec.count++] = addjob_spec.options[i];
    return &spec;
}

static bool read_cron_or_reply(struct req *r, struct slice text, struct cron_expr *e) {
    char error[400];

    if (!cron_parse(text, e, error, sizeof error)) {
        req_error(r, "ERR bad cron: %s", error);
        return false;
    }
    if (!zone_exists(e->zone)) {
        req_error(r, "ERR bad cron: this system knows no time zone '%s'", e->zone);
        return false;
    }
    return true;
}

/* A user with rights on some queues changes only schedules whose queues the user may write to. So the schedule is read
 * first. */
static void schedule_change(struct req *r, struct op *op, size_t bytes) {
    r->task.bytes = bytes;
    batch_add_row(&r->task, queue_rights_are_all(r) ? op : &op_find_schedule);
}

void cmd_schedule(struct req *r) {
    struct schedule_options opt = {
        .add = ADD_OPTIONS_UNSAID,
        .missed = MISSED_ONCE,
    };
    struct put *put;
    struct cron_expr cron;
    const char *conflict;
    int end;

    if (!args_parse_or_reply(r, 5, spec(), &opt, &end) || !read_cron_or_reply(r, r->argv[2], &cron))
        return;
    if (!addjob_allow_or_reply(r, &opt.add))
        return;
    addjob_settle(&opt.add, queue_find(r->argv[3]));
    conflict = addjob_conflict(&opt.add, r->argv[3]);
    if (conflict != NULL) {
        req_error(r, "%s", conflict);
        return;
    }
    put = req_alloc(r, sizeof *put);
    *put = (struct put){ opt, schedule_first(&cron, clock_db()) };
    addjob_keep(r, &put->opt.add);
    r->data = put;
    schedule_change(r, &op_put_schedule, r->argv[4].len + ROW_BYTES);
}

/* The queue of the schedule that r names. ptr NULL: there is no such schedule. */
static struct slice queue_of_named(const struct req *r, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++)
        if (slice_equal(row_bytes(rows, i, COL_LIST_SCHEDULES_NAME), r->argv[1]))
            return row_bytes(rows, i, COL_LIST_SCHEDULES_QUEUE);
    return (struct slice){ NULL, 0 };
}

/* For UNSCHEDULE, a schedule of a queue that the user may not write to does not exist. */
static void schedule_find_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct slice queue = queue_of_named(r, rows);
    bool puts = r->data != NULL;

    if (!puts && queue.ptr != NULL && !req_may_queue(r, ACL_WRITE, queue)) {
        req_int(r, 0);
    } else if (queue.ptr == NULL || queue_rights_allow_or_reply(r, ACL_WRITE, queue)) {
        r->task.op = puts ? &op_put_schedule : &op_drop_schedule;
        batch_add(&r->task);
    }
}

static void put_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);
    const struct put *put = r->data;

    for (int i = 0; i < 4; i++)
        params_bytea(p, i, r->argv[i + 1]);
    params_int2(p, 4, (int16_t)put->opt.missed);
    params_int4(p, 5, (int32_t)put->opt.add.retry);
    params_int4(p, 6, (int32_t)put->opt.add.ttl);
    params_int4(p, 7, (int32_t)put->opt.add.delay);
    params_int8(p, 8, put->opt.add.maxlen);
    params_int2(p, 9, (int16_t)put->opt.add.priority);
    params_time(p, 10, put->next_at);
    params_int4(p, 11, (int32_t)put->opt.add.attempts);
    params_int4(p, 12, (int32_t)put->opt.add.backoff);
    params_bytea(p, 13, put->opt.add.deadqueue);
}

static void put_done(struct task *t, const PGresult *rows) {
    (void)rows;
    schedule_look();
    queue_announced |= ANNOUNCE_SCHEDULES;
    req_ok(REQ_OF_TASK(t));
}

/* The name stands after the command in SCHEDULE and UNSCHEDULE, too. */
static void schedule_name_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);

    if (r->argc > 1)
        params_bytea(p, 0, r->argv[1]);
    else
        params_set_null(p, 0);
}

OPERATION(find_schedule, .alone = true, .encode = schedule_name_encode, .on_end = schedule_find_done,
          .fail = req_fail_task);

/* Each request has its own statement, because a name may come twice in a turn. The last request counts. */
OPERATION(put_schedule, .alone = true, .encode = put_encode, .on_end = put_done, .fail = req_fail_task);

/* ---- UNSCHEDULE ---- */

void cmd_unschedule(struct req *r) {
    schedule_change(r, &op_drop_schedule, r->argv[1].len);
}

static void schedule_drop_encode(struct params *p, struct task *t) {
    params_bytea(p, 0, REQ_OF_TASK(t)->argv[1]);
}

static void schedule_drop_done(struct task *t, const PGresult *rows) {
    req_int(REQ_OF_TASK(t), PQntuples(rows));
}

OPERATION(drop_schedule, .alone = true, .encode = schedule_drop_encode, .on_end = schedule_drop_done,
          .fail = req_fail_task);

/* ---- SCHEDULES ---- */

void cmd_schedules(struct req *r) {
    if (r->argc > 2) {
        usage_unexpected(r, 2);
        return;
    }
    batch_add_row(&r->task, &op_list_schedules);
}

static void reply_seconds(struct req *r, const char *name, const PGresult *rows, int row, int col) {
    reply_bulk_str(r, name);
    if (row_null(rows, row, col) || row_time(rows, row, col) == TIME_NEVER)
        reply_null_bulk(r);
    else
        reply_int(r, row_time(rows, row, col) / US_PER_S);
}

/* A row that another program wrote may have any number. */
static const char *missed_name(int16_t missed) {
    return missed >= 0 && (size_t)missed < LENGTH(missed_names) ? missed_names[missed] : "unknown";
}

/* Replies the job that each tick adds, and its options. */
static void reply_schedule_job(struct req *r, const PGresult *rows, int row) {
    static const struct {
        const char *name;
        int col;
    } numbers[] = {
        { "retry", COL_LIST_SCHEDULES_RETRY },     { "ttl", COL_LIST_SCHEDULES_TTL },
        { "delay", COL_LIST_SCHEDULES_DELAY },     { "attempts", COL_LIST_SCHEDULES_ATTEMPTS },
        { "backoff", COL_LIST_SCHEDULES_BACKOFF },
    };

    reply_bulk_str(r, "job");
    reply_bulk(r, row_bytes(rows, row, COL_LIST_SCHEDULES_BODY));
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        reply_bulk_str(r, numbers[i].name);
        reply_int(r, row_int4_or(rows, row, numbers[i].col, 0));
    }
    reply_bulk_str(r, "priority");
    reply_int(r, row_int2(rows, row, COL_LIST_SCHEDULES_PRIORITY));
    reply_bulk_str(r, "maxlen");
    reply_int(r, row_null(rows, row, COL_LIST_SCHEDULES_MAXLEN)
                     ? 0
                     : row_int8(rows, row, COL_LIST_SCHEDULES_MAXLEN));
    reply_bulk_str(r, "deadqueue");
    if (row_null(rows, row, COL_LIST_SCHEDULES_DEADQUEUE))
        reply_null_bulk(r);
    else
        reply_bulk(r, row_bytes(rows, row, COL_LIST_SCHEDULES_DEADQUEUE));
}

static void reply_schedule(struct req *r, const PGresult *rows, int row) {
    static const char *const names[] = { "name", "cron", "queue" };
    struct slice queue = row_bytes(rows, row, COL_LIST_SCHEDULES_QUEUE);
    bool with_job = r->argc > 1 && req_may_queue(r, ACL_READ, queue);

    reply_array(r, with_job ? 30 : 12);
    for (int i = 0; i < 3; i++) {
        reply_bulk_str(r, names[i]);
        reply_bulk(r, row_bytes(rows, row, COL_LIST_SCHEDULES_NAME + i));
    }
    reply_bulk_str(r, "missed");
    reply_bulk_str(r, missed_name(row_int2(rows, row, COL_LIST_SCHEDULES_MISSED)));
    reply_seconds(r, "next", rows, row, COL_LIST_SCHEDULES_NEXT_AT);
    reply_seconds(r, "last", rows, row, COL_LIST_SCHEDULES_LAST_AT);
    if (with_job)
        reply_schedule_job(r, rows, row);
}

static bool schedule_is_shown(const struct req *r, const PGresult *rows, int row) {
    struct slice queue = row_bytes(rows, row, COL_LIST_SCHEDULES_QUEUE);

    return req_may_queue(r, ACL_READ, queue) || req_may_queue(r, ACL_WRITE, queue);
}

static void schedule_list_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    size_t shown = 0;

    for (int i = 0; i < PQntuples(rows); i++)
        shown += schedule_is_shown(r, rows, i);
    reply_array(r, shown);
    for (int i = 0; i < PQntuples(rows); i++)
        if (schedule_is_shown(r, rows, i))
            reply_schedule(r, rows, i);
    req_end(r);
}

OPERATION(list_schedules, .alone = true, .encode = schedule_name_encode, .on_end = schedule_list_done,
          .fail = req_fail_task);
