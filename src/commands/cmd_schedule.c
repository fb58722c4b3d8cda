/* SCHEDULE, RUNSCHEDULE, UNSCHEDULE, SCHEDULES: commands about recurring jobs. */
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/cron_expr.h"
#include "base/timezone.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "commands/cmd_addjob.h"
#include "commands/dispatch.h"
#include "jobs/add.h"
#include "jobs/add_options.h"
#include "jobs/schedule.h"
#include "net/args.h"
#include "net/headers.h"
#include "net/json_reply.h"
#include "queue/observer.h"
#include "queue/queue_rights.h"

/* About the bytes of a row without the body. */
#define ROW_BYTES 300

struct schedule_options {
    struct add_options add;
    int missed;
    int overlap;
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

static const char *const overlap_names[] = {
#define X(id, name) name,
    SCHEDULE_OVERLAP(X)
#undef X
};

/* Options whose value is a word. */
static const struct word_option {
    const char *word;
    const char *const *names;
    int count;
    size_t offset;
    const char *error;
} word_options[] = {
    { "MISSED", missed_names, MISSED_COUNT, offsetof(struct schedule_options, missed),
      "ERR MISSED must be skip, once or all" },
    { "OVERLAP", overlap_names, OVERLAP_COUNT, offsetof(struct schedule_options, overlap),
      "ERR OVERLAP must be queue, skip or replace" },
};

/* ---- SCHEDULE ---- */

/* The options of ADDJOB that make sense for a job that is added without a client. */
static const char *const words[] = { "RETRY",   "TTL",       "DELAY",  "MAXLEN", "PRIORITY", "ATTEMPTS",
                                     "BACKOFF", "DEADQUEUE", "UNIQUE", "UNTIL",  "GROUP",    "HEADER" };

static bool schedule_is_taken(const struct arg_option *o) {
    for (size_t i = 0; i < LENGTH(words); i++)
        if (strcmp(o->word, words[i]) == 0)
            return true;
    return false;
}

static bool take_choice(struct req *r, const struct word_option *o, int *at, void *out) {
    if (*at + 1 >= r->argc) {
        usage_no_value(r, *at);
        return false;
    }
    for (int i = 0; i < o->count; i++) {
        if (slice_is(r->argv[*at + 1], o->names[i])) {
            *(int *)((char *)out + o->offset) = i;
            *at += 2;
            return true;
        }
    }
    usage_invalid(r, *at + 1, o->error);
    return false;
}

static bool take_word_option(struct req *r, int *at, void *out) {
    for (size_t i = 0; i < LENGTH(word_options); i++)
        if (slice_is(r->argv[*at], word_options[i].word))
            return take_choice(r, &word_options[i], at, out);
    usage_unexpected(r, *at);
    return false;
}

/* Takes the ranges and errors of these options from ADDJOB's table. */
static const struct arg_spec *spec(void) {
    static struct arg_option options[LENGTH(words)];
    static struct arg_spec spec = { options, 0, NULL, NULL, take_word_option };

    for (size_t i = 0; i < addjob_spec.count && spec.count < LENGTH(words); i++)
        if (schedule_is_taken(&addjob_spec.options[i]))
            options[spec.count++] = addjob_spec.options[i];
    return &spec;
}

/* True if the arguments after the first field of the expression look like its other fields. */
static bool cron_is_unquoted(const struct req *r) {
    static const char characters[] = "0123456789*?/,-";
    struct slice next = r->argv[3];

    for (size_t i = 0; i < next.len; i++)
        if (memchr(characters, next.ptr[i], sizeof characters - 1) == NULL)
            return false;
    return r->argc > 5 && next.len > 0;
}

static bool read_cron_or_reply(struct req *r, struct slice text, struct cron_expr *e) {
    char error[400];

    if (!cron_parse(text, e, error, sizeof error)) {
        req_error(r, "ERR bad cron: %s%s", error,
                  cron_is_unquoted(r) ? ". The expression is one argument: put it in quotes" : "");
        return false;
    }
    if (!timezone_exists(e->zone)) {
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

static bool schedule_name_or_reply(struct req *r) {
    if (r->argv[1].len == 0)
        req_error(r, "ERR the name of the schedule is empty");
    return r->argv[1].len > 0;
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

    if (!schedule_name_or_reply(r) || !read_cron_or_reply(r, r->argv[2], &cron) ||
        !args_parse_or_reply(r, 5, spec(), &opt, &end) ||
        !headers_or_reply(r, &opt.add.header_pairs, &opt.add.headers))
        return;
    if (!addjob_allow_or_reply(r, &opt.add, r->argv[3]) ||
        (opt.overlap == OVERLAP_REPLACE && !queue_rights_allow_or_reply(r, ACL_READ_WRITE, r->argv[3])))
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
    params_jsonb_or_null(p, 14, put->opt.add.headers);
    params_bytea_or_null(p, 15, put->opt.add.unique);
    params_bytea_or_null(p, 16, put->opt.add.group);
    params_int2(p, 17, (int16_t)put->opt.overlap);
    params_int2(p, 18, addjob_is_until_start(&put->opt.add));
}

static void put_done(struct task *t, const PGresult *rows) {
    (void)rows;
    schedule_look();
    queue_announced |= ANNOUNCE_SCHEDULES;
    req_ok(REQ_OF_TASK(t));
}

/* The name is the argument after the command in SCHEDULE and UNSCHEDULE, too. */
static void schedule_name_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);

    if (r->argc > 1)
        params_bytea(p, 0, r->argv[1]);
    else
        params_set_null(p, 0);
    params_set_time(p, 1, clock_db());
}

OPERATION(find_schedule, .alone = true, .encode = schedule_name_encode, .on_end = schedule_find_done,
          .fail = req_fail_task);

/* Each request has its own statement, because a name may come twice in a turn. The last request counts. */
OPERATION(put_schedule, .alone = true, .encode = put_encode, .on_end = put_done, .fail = req_fail_task);

/* ---- RUNSCHEDULE ---- */

/* The result ends before the job is added. */
static struct slice row_copy(struct req *r, struct slice bytes) {
    if (bytes.ptr == NULL)
        return bytes;
    return (struct slice){ memcpy(req_alloc(r, bytes.len + 1), bytes.ptr, bytes.len), bytes.len };
}

static struct slice row_field(struct req *r, const PGresult *rows, int row, int col) {
    return row_copy(r, row_bytes_or_null(rows, row, col));
}

static void read_options(struct req *r, struct add_options *o, const PGresult *rows, int row) {
    *o = (struct add_options)ADD_OPTIONS_UNSAID;
    o->retry = row_int4(rows, row, COL_LIST_SCHEDULES_RETRY);
    o->ttl = row_int4(rows, row, COL_LIST_SCHEDULES_TTL);
    o->delay = row_int4(rows, row, COL_LIST_SCHEDULES_DELAY);
    o->maxlen =
        row_null(rows, row, COL_LIST_SCHEDULES_MAXLEN) ? 0 : row_int8(rows, row, COL_LIST_SCHEDULES_MAXLEN);
    o->priority = row_int2(rows, row, COL_LIST_SCHEDULES_PRIORITY);
    o->attempts = row_int4_or(rows, row, COL_LIST_SCHEDULES_ATTEMPTS, 0);
    o->backoff = row_int4_or(rows, row, COL_LIST_SCHEDULES_BACKOFF, 0);
    o->deadqueue = row_field(r, rows, row, COL_LIST_SCHEDULES_DEADQUEUE);
    o->unique = row_field(r, rows, row, COL_LIST_SCHEDULES_UNIQUE_KEY);
    if (!row_null(rows, row, COL_LIST_SCHEDULES_UNIQUE_START))
        o->until = SLICE("START");
    o->group = row_field(r, rows, row, COL_LIST_SCHEDULES_GROUP_KEY);
    o->headers = row_copy(r, row_jsonb_or_null(rows, row, COL_LIST_SCHEDULES_RUN_HEADERS));
}

/* Adds the job as ADDJOB does, whose arguments are the queue and the body. */
static void schedule_run_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct add *a = req_alloc(r, sizeof *a);
    struct slice *argv = req_alloc(r, 3 * sizeof *argv);

    if (PQntuples(rows) == 0) {
        req_error(r, "NOSCHEDULE there is no schedule with that name");
        return;
    }
    argv[0] = r->argv[0];
    argv[1] = row_field(r, rows, 0, COL_LIST_SCHEDULES_QUEUE);
    argv[2] = row_field(r, rows, 0, COL_LIST_SCHEDULES_BODY);
    if (!queue_rights_allow_or_reply(r, ACL_WRITE, argv[1]))
        return;
    *a = (struct add){ .req = r, .bodies = &argv[2], .count = 1, .reply = addjob_reply };
    read_options(r, &a->opt, rows, 0);
    r->argv = argv;
    add_start(a);
}

OPERATION(read_schedule, .alone = true, .encode = schedule_name_encode, .on_end = schedule_run_done,
          .fail = req_fail_task);

void cmd_runschedule(struct req *r) {
    r->task.bytes = r->argv[1].len;
    batch_add_row(&r->task, &op_read_schedule);
}

/* ---- UNSCHEDULE ---- */

void cmd_unschedule(struct req *r) {
    schedule_change(r, &op_drop_schedule, r->argv[1].len);
}

/* A second try would not find the schedule that the first try has removed. */
static void schedule_drop_encode(struct params *p, struct task *t) {
    commit_marker_always(t);
    params_bytea(p, 0, REQ_OF_TASK(t)->argv[1]);
}

static void schedule_drop_done(struct task *t, const PGresult *rows) {
    req_int(REQ_OF_TASK(t), PQntuples(rows));
}

OPERATION(drop_schedule, .alone = true, .encode = schedule_drop_encode, .on_end = schedule_drop_done,
          .fail = req_fail_task, .again = req_again_if_undone, .answer_lost = req_answer_lost_task);

/* ---- SCHEDULES ---- */

struct schedules_options {
    int64_t next; /* number of ticks; 0: the first of them is in the reply anyway */
};

static const struct arg_option schedules_words[] = {
    { "NEXT", ARG_INT, offsetof(struct schedules_options, next), 1, SCHEDULE_NEXT_MAX,
      "ERR NEXT must be a number from 1 to 100" },
};

static const struct arg_spec schedules_spec = {
    schedules_words, LENGTH(schedules_words), NULL, NULL, NULL,
};

void cmd_schedules(struct req *r) {
    struct schedules_options *o = req_alloc(r, sizeof *o);
    int end;

    *o = (struct schedules_options){ 0 };
    if (r->argc > 2 && !args_parse_or_reply(r, 2, &schedules_spec, o, &end))
        return;
    r->data = o;
    task_reads(&r->task, r->argc > 1 ? 1 : TASK_READS_MANY);
    batch_add_row(&r->task, &op_list_schedules);
}

/* Replies the next ticks. A schedule that this server cannot read has none. */
static void reply_ticks(struct req *r, const PGresult *rows, int row) {
    const struct schedules_options *o = r->data;
    int64_t ticks[SCHEDULE_NEXT_MAX], next = row_time_or(rows, row, COL_LIST_SCHEDULES_NEXT_AT, TIME_NEVER);
    struct cron_expr e;
    char error[400];
    size_t n = 0;

    if (cron_parse(row_bytes(rows, row, COL_LIST_SCHEDULES_CRON), &e, error, sizeof error) &&
        timezone_exists(e.zone))
        n = schedule_upcoming(&e, next, (size_t)o->next, ticks);
    reply_bulk_str(r, "ticks");
    reply_array(r, n);
    for (size_t i = 0; i < n; i++)
        reply_int(r, ticks[i] / US_PER_S);
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

static void reply_bytes_or_null(struct req *r, const char *name, struct slice bytes) {
    reply_bulk_str(r, name);
    if (bytes.ptr == NULL)
        reply_null_bulk(r);
    else
        reply_bulk(r, bytes);
}

static const char *overlap_name(int16_t overlap) {
    return overlap >= 0 && (size_t)overlap < LENGTH(overlap_names) ? overlap_names[overlap] : "unknown";
}

static void reply_schedule_rare(struct req *r, const PGresult *rows, int row) {
    struct slice headers = row_jsonb_or_null(rows, row, COL_LIST_SCHEDULES_HEADERS);

    reply_bytes_or_null(r, "unique", row_bytes_or_null(rows, row, COL_LIST_SCHEDULES_UNIQUE_KEY));
    reply_bytes_or_null(r, "group", row_bytes_or_null(rows, row, COL_LIST_SCHEDULES_GROUP_KEY));
    reply_bulk_str(r, "overlap");
    reply_bulk_str(r, overlap_name(row_null(rows, row, COL_LIST_SCHEDULES_OVERLAP)
                                       ? OVERLAP_QUEUE
                                       : row_int2(rows, row, COL_LIST_SCHEDULES_OVERLAP)));
    reply_bulk_str(r, "headers");
    if (headers.ptr == NULL)
        reply_null_bulk(r);
    else
        reply_json(r, headers);
    reply_bulk_str(r, "until");
    reply_bulk_str(r, row_null(rows, row, COL_LIST_SCHEDULES_UNIQUE_START) ? "end" : "start");
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
    for (size_t i = 0; i < LENGTH(numbers); i++)
        reply_pair_int(r, numbers[i].name, row_int4_or(rows, row, numbers[i].col, 0));
    reply_pair_int(r, "priority", row_int2(rows, row, COL_LIST_SCHEDULES_PRIORITY));
    reply_bulk_str(r, "maxlen");
    reply_int(r, row_null(rows, row, COL_LIST_SCHEDULES_MAXLEN)
                     ? 0
                     : row_int8(rows, row, COL_LIST_SCHEDULES_MAXLEN));
    reply_bytes_or_null(r, "deadqueue", row_bytes_or_null(rows, row, COL_LIST_SCHEDULES_DEADQUEUE));
    reply_schedule_rare(r, rows, row);
}

static void reply_schedule(struct req *r, const PGresult *rows, int row) {
    static const char *const names[] = { "name", "cron", "queue" };
    struct slice queue = row_bytes(rows, row, COL_LIST_SCHEDULES_QUEUE);
    bool with_job = r->argc > 1 && req_may_queue(r, ACL_READ, queue);
    bool with_ticks = ((const struct schedules_options *)r->data)->next > 0;

    reply_array(r, (with_job ? 40 : 12) + (with_ticks ? 2 : 0));
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
    if (with_ticks)
        reply_ticks(r, rows, row);
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
