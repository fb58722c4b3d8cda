/* SHOW QPEEK JSCAN: commands that read jobs from the database. */
#include <stdio.h>

#include "base/clock.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/scan_cursors.h"
#include "config/config.h"
#include "jobs/id_list.h"
#include "jobs/job_filter.h"
#include "jobs/job_view.h"
#include "jobs/page.h"
#include "jobs/retained.h"
#include "net/args.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"
#include "queue/queue_rights.h"

/* ---- SHOW ---- */

/* SHOWs share a statement while their jobs fit into batch-max-bytes, as far as their queue knows its bodies. A larger
 * job has a statement of its own. */
static size_t show_bytes(struct job_key key) {
    const struct queue *q = queue_find_id(key.queue_id);
    size_t most = (size_t)config.batch_max_bytes, bytes = q == NULL ? most : queue_job_bytes(q);

    return bytes < most ? bytes : most;
}

void cmd_show(struct req *r) {
    if (!job_ids_or_reply(r, 1, r->argc))
        return;
    if (job_ids(r)->count == 0) {
        reply_null_bulk(r);
        req_end(r);
        return;
    }
    r->task.bytes = show_bytes(job_ids(r)->keys[0]);
    r->task.op = &op_show_jobs;
    batch_add(&r->task);
}

static void show_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
}

static void show_row(struct task *t, const PGresult *rows, int row) {
    struct job_view v = job_view_read(rows, row);
    struct queue *q = queue_find_id(v.key.queue_id);

    if (q != NULL)
        queue_note_body(q, v.body.len);
    job_ids(REQ_OF_TASK(t))->hits++;
    job_view_reply_all(REQ_OF_TASK(t), &v);
}

static void show_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    (void)rows;
    if (job_ids(r)->hits == 0)
        retained_show(r);
    else
        req_end(r);
}

OPERATION(show_jobs, .begin = show_begin, .encode = job_ids_encode, .on_row = show_row, .on_end = show_end,
          .fail = req_fail_task);

/* ---- QPEEK ---- */

void cmd_qpeek(struct req *r) {
    struct page *p = req_alloc(r, sizeof *p);
    struct queue *q;
    int64_t count; /* negative: from the end */

    if (!parse_int_disque(r->argv[2], &count)) {
        usage_invalid(r, 2, NOT_AN_INTEGER);
        return;
    }
    q = queue_find(r->argv[1]);
    if (q == NULL || q->id == 0 || count == 0) {
        reply_array(r, 0);
        req_end(r);
        return;
    }
    page_init(p, r, q, count == INT64_MIN ? INT64_MAX : count < 0 ? -count : count);
    p->backwards = count < 0;
    q->users++;
    r->data = p;
    page_plan(p, 0);
    batch_add_row(&r->task, count > 0 ? &op_peek_first : &op_peek_last);
}

static void peek_encode(struct params *p, struct task *t) {
    struct page *page = REQ_OF_TASK(t)->data;
    struct job_key first = queue_first_key(page->q);

    if (job_key_before(first, page->after))
        first = page->after;
    params_set_int4(p, 0, page->q->id);
    params_set_int2(p, 1, first.rank);
    params_set_int8(p, 2, first.id);
    params_set_int4(p, 3, (int32_t)page->rows);
    params_set_time(p, 4, clock_db());
    params_set_int2(p, 5, page->until.rank);
    params_set_int8(p, 6, page->until.id);
    params_set_int8(p, 7, page->bytes);
}

static void add_peeked(struct page *p, const PGresult *rows, int i) {
    struct job_view v = job_view_read(rows, i);

    queue_note_body(p->q, v.body.len);
    job_view_reply_short(p->req, &v);
}

static void peek_done(struct task *t, const PGresult *rows) {
    struct page *p = REQ_OF_TASK(t)->data;
    struct queue *q = p->q;

    if (page_take(p, rows, COL_PEEK_FIRST_RANK, add_peeked)) {
        page_plan(p, 0);
        batch_add(t);
    } else {
        q->users--;
    }
}

static void peek_fail(struct task *t, const struct op_error *err) {
    struct page *p = REQ_OF_TASK(t)->data;

    p->q->users--;
    page_free(p);
    req_fail_task(t, err);
}

#define PEEK_OP(id) \
    OPERATION(id, .alone = true, .encode = peek_encode, .on_end = peek_done, .fail = peek_fail)

PEEK_OP(peek_first);
PEEK_OP(peek_last);

/* ---- JSCAN ---- */

/* The most jobs that a command looks at, and those of one statement. In a client transaction both are the same. */
#define SCAN_MOST 10000
#define SCAN_PAGE 1000
/* The bytes that a job is expected to have if its queue is not known. */
#define SCAN_JOB_BYTES ((size_t)1024)

/* STATE takes these words. The last two are Disque's, and no job is in these states. */
static const char *const scan_states[] = {
#define X(id, name) [id] = name,
    JOB_VIEW_STATES(X)
#undef X
        [VIEW_STATES] = "acked",
    [VIEW_STATES + 1] = "wait-repl",
};

/* The stages of a scan: the jobs of queues, those that wait for other jobs, dead letters, retained jobs. */
enum scan_stage { STAGE_LIVING, STAGE_WAITING, STAGE_DEAD, STAGE_RETAINED, STAGE_END };

#define STATE_BIT(state) (1u << (state))

/* The states of the jobs of each stage, as bits. */
static const unsigned stage_states[] = {
    [STAGE_LIVING] = STATE_BIT(VIEW_ACTIVE) | STATE_BIT(VIEW_QUEUED) | STATE_BIT(VIEW_WAITING),
    [STAGE_WAITING] = STATE_BIT(VIEW_WAITING),
    [STAGE_DEAD] = STATE_BIT(VIEW_DEAD),
    [STAGE_RETAINED] = STATE_BIT(VIEW_DONE),
};

/* Where a page begins. */
struct scan_place {
    enum scan_stage stage;
    int32_t queue_id; /* 0: all */
    int64_t batch_id; /* BATCH: of a batch, or of a job of it; 0: none */
    bool newest;      /* ORDER newest */
    struct job_key after;
    int64_t died_us; /* with ORDER newest: the time at which the job `after` died */
};

struct job_scan {
    int64_t count;
    bool busyloop;
    struct slice queue;
    struct slice order;
    struct slice batch;
    bool has_cursor;
    int64_t cursor;
    unsigned states; /* bits of the selected states; 0: all of the first stage */
    bool whole;      /* REPLY all */
    struct job_filter filter;
    int64_t left;       /* the jobs that the command may still look at */
    int64_t bytes_left; /* and the bytes of its reply */
    int64_t rows;       /* limits of the statement that runs */
    int64_t bytes;
    struct scan_place at;
    struct buf found; /* replies of the jobs found so far */
    size_t found_count;
};

static int64_t cursor_new(const struct req *r, const struct job_scan *s) {
    return scan_cursor_new(r->user, &s->at, sizeof s->at);
}

static bool take_state(struct req *r, struct job_scan *s, int at) {
    for (unsigned i = 0; i < LENGTH(scan_states); i++) {
        if (slice_is(r->argv[at], scan_states[i])) {
            s->states |= STATE_BIT(i);
            return true;
        }
    }
    usage_invalid(
        r, at,
        "ERR Invalid job state name, try queued, active, waiting, dead or done; a delayed job is active");
    return false;
}

static bool read_take_reply(struct req *r, struct job_scan *s, int at) {
    s->whole = slice_is(r->argv[at], "all");
    if (s->whole || slice_is(r->argv[at], "id"))
        return true;
    usage_invalid(r, at, "ERR Invalid REPLY type, try ID or ALL");
    return false;
}

static bool take_scan_cursor(struct req *r, struct job_scan *s, int at) {
    if (!parse_int_disque(r->argv[at], &s->cursor)) {
        usage_invalid(r, at, "ERR invalid cursor or option name");
        return false;
    }
    if (s->has_cursor) {
        usage_unexpected(r, at);
        return false;
    }
    s->has_cursor = true;
    return true;
}

static bool take_other(struct req *r, int *at, void *out) {
    struct slice word = r->argv[*at];
    bool state = slice_is(word, "STATE");

    if ((state || slice_is(word, "REPLY")) && *at + 1 < r->argc) {
        *at += 2;
        return state ? take_state(r, out, *at - 1) : read_take_reply(r, out, *at - 1);
    }
    (*at)++;
    return take_scan_cursor(r, out, *at - 1);
}

static const struct arg_option jscan_words[] = {
    { "COUNT", ARG_INT, offsetof(struct job_scan, count), INT64_MIN, INT64_MAX, NOT_AN_INTEGER },
    { "BUSYLOOP", ARG_FLAG, offsetof(struct job_scan, busyloop), 0, 0, NULL },
    { "QUEUE", ARG_BYTES, offsetof(struct job_scan, queue), 0, INT64_MAX, NULL },
    { "ORDER", ARG_BYTES, offsetof(struct job_scan, order), 0, INT64_MAX, NULL },
    { "BATCH", ARG_BYTES, offsetof(struct job_scan, batch), 0, INT64_MAX, NULL },
    JOB_FILTER_WORDS(struct job_scan, filter),
};

static const struct arg_spec jscan_spec = { jscan_words, LENGTH(jscan_words), NULL,
                                            "ERR invalid cursor or option name", take_other };

/* Replies the jobs found. cursor: the end of the page, 0 if there are no more jobs. */
static void reply_scan(struct req *r, int64_t cursor) {
    struct job_scan *s = r->data;
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)cursor);
    reply_array(r, 2);
    reply_bulk_str(r, text);
    reply_array(r, s->found_count);
    buf_append(reply_buf(r), buf_ptr(&s->found), buf_len(&s->found));
    buf_free(&s->found);
    req_hold(r, 0);
    req_end(r);
}

static struct op *scan_op(const struct job_scan *s) {
    bool all = s->at.queue_id == 0;

    if (s->at.batch_id != 0)
        return &op_scan_batch;
    if (s->at.newest)
        return all ? &op_scan_dead_newest : &op_scan_queue_dead_newest;
    if (s->at.stage == STAGE_RETAINED)
        return &op_scan_retained;
    if (s->at.stage == STAGE_WAITING)
        return &op_scan_waiting;
    if (s->at.stage == STAGE_DEAD)
        return all ? &op_scan_dead : &op_scan_queue_dead;
    return all ? &op_scan_jobs : &op_scan_queue;
}

static bool has_jobs_in_groups(const struct job_scan *s) {
    const struct queue *q = queue_find_id(s->at.queue_id);

    return s->at.queue_id == 0 ? queue_jobs_waiting() > 0 : q != NULL && queue_waiting(q) > 0;
}

/* True if the request asks for jobs of that stage. Without jobs that wait in their groups, STATE waiting reads no
 * queue. */
static bool wants_stage(const struct job_scan *s, enum scan_stage stage) {
    if (s->at.batch_id != 0)
        return stage == STAGE_LIVING;
    if (stage == STAGE_LIVING && s->states == STATE_BIT(VIEW_WAITING))
        return has_jobs_in_groups(s);
    return s->states == 0 ? stage == STAGE_LIVING : (s->states & stage_states[stage]) != 0;
}

/* Begins a stage: before all of its jobs. */
static void begin_stage(struct job_scan *s, enum scan_stage stage) {
    int32_t queue_id = s->at.queue_id != 0 ? s->at.queue_id : INT32_MIN;

    s->at.stage = stage;
    s->at.after = (struct job_key){ queue_id, INT16_MIN, s->at.newest ? INT64_MAX : 0 };
    s->at.died_us = TIME_NEVER;
}

/* Advances to the first wanted stage, beginning with the current one. */
static void find_stage(struct job_scan *s) {
    while (s->at.stage != STAGE_END && !wants_stage(s, s->at.stage))
        begin_stage(s, s->at.stage + 1);
}

/* False if the request has ended: the user may not read the queue, or it has no jobs. */
static bool find_scanned_queue(struct req *r, struct job_scan *s) {
    const struct queue *q;

    if (!queue_rights_allow_or_reply(r, ACL_READ, s->queue))
        return false;
    q = queue_find(s->queue);
    if (q == NULL || q->id == 0) {
        reply_scan(r, 0);
        return false;
    }
    s->at.queue_id = q->id;
    return true;
}

static const char *order_refusal(struct job_scan *s) {
    if (s->batch.ptr != NULL && (s->queue.ptr != NULL || s->order.ptr != NULL))
        return "ERR JSCAN with BATCH takes neither QUEUE nor ORDER";
    if (s->order.ptr == NULL)
        return NULL;
    s->at.newest = slice_is(s->order, "newest");
    if (!s->at.newest)
        return "ERR the order of JSCAN is newest";
    if (s->states != STATE_BIT(VIEW_DEAD))
        return "ERR JSCAN with ORDER newest needs STATE dead, and no other state";
    return NULL;
}

/* Continues at the cursor. Returns the reason if that is impossible. */
static const char *cursor_refusal(const struct req *r, struct job_scan *s) {
    const struct scan_place *place = scan_cursor_find(r->user, s->cursor);

    if (place == NULL)
        return "ERR invalid cursor: it is unknown or too old, begin again with 0";
    if (place->queue_id != s->at.queue_id)
        return "ERR invalid cursor: it is for another queue, begin again with 0";
    if (place->batch_id != s->at.batch_id)
        return "ERR invalid cursor: it is for another batch, begin again with 0";
    if (place->newest != s->at.newest)
        return "ERR invalid cursor: it is for another order, begin again with 0";
    s->at = *place;
    return NULL;
}

static void scan_send(struct req *r) {
    struct job_scan *s = r->data;
    const struct queue *q = queue_find_id(s->at.queue_id);
    size_t each = !s->whole ? 0 : q != NULL ? queue_job_bytes(q) : SCAN_JOB_BYTES;
    bool in_txn = req_in_txn(r);

    s->rows = int64_least(s->left, in_txn ? SCAN_MOST : SCAN_PAGE);
    s->bytes = int64_least(s->bytes_left, page_bytes(in_txn));
    task_reads(&r->task, s->rows * (1 + (int64_t)(each / OP_ROW_BYTES)));
    batch_add_row(&r->task, scan_op(s));
}

/* False if the request has ended: the batch is wrong, or unknown. */
static bool find_scanned_batch(struct req *r, struct job_scan *s) {
    struct job_key key;
    enum jobid_check check = jobid_parse(s->batch, &key);

    if (check == JOBID_OK && queue_rights_cover_id(r, key.queue_id)) {
        s->at.batch_id = key.id;
        return true;
    }
    if (check == JOBID_BAD)
        job_id_refuse(r, s->batch);
    else
        reply_scan(r, 0);
    return false;
}

static void start_scan(struct req *r, struct job_scan *s) {
    const char *refusal = NULL;

    if (s->batch.ptr != NULL && !find_scanned_batch(r, s))
        return;
    if (s->queue.ptr != NULL && !find_scanned_queue(r, s))
        return;
    if (s->cursor == 0)
        begin_stage(s, STAGE_LIVING);
    else
        refusal = cursor_refusal(r, s);
    if (refusal != NULL) {
        req_error(r, "%s", refusal);
        return;
    }
    find_stage(s);
    if (s->at.stage == STAGE_END)
        reply_scan(r, 0);
    else
        scan_send(r);
}

/* BUSYLOOP reads all jobs. */
static void scan_bound(struct job_scan *s) {
    s->left = s->busyloop ? INT64_MAX : s->count < 1 ? 1 : int64_least(s->count, SCAN_MOST);
    s->bytes_left = s->busyloop ? INT64_MAX : config.batch_max_bytes;
}

void cmd_jscan(struct req *r) {
    struct job_scan *s = req_alloc(r, sizeof *s);
    const char *refusal;
    int end;

    s->count = 100;
    if (!args_parse_or_reply(r, 1, &jscan_spec, s, &end) || !job_filter_or_reply(r, &s->filter))
        return;
    r->data = s;
    scan_bound(s);
    refusal = order_refusal(s);
    if (refusal != NULL)
        req_error(r, "%s", refusal);
    else
        start_scan(r, s);
}

static void scan_encode(struct params *p, struct task *t) {
    struct job_scan *s = REQ_OF_TASK(t)->data;
    int col = 4;

    params_set_int4(p, 0, s->at.after.queue_id);
    params_set_int2(p, 1, s->at.after.rank);
    params_set_int8(p, 2, s->at.after.id);
    params_set_int4(p, 3, (int32_t)s->rows);
    if (s->at.stage != STAGE_DEAD)
        params_set_time(p, col++, clock_db());
    params_set_bool(p, col++, s->whole);
    if (s->at.stage == STAGE_WAITING || s->at.stage == STAGE_RETAINED)
        params_set_int4(p, col++, s->at.queue_id != 0 ? s->at.queue_id : INT32_MAX);
    params_set_int8(p, col++, s->bytes);
    params_set_jsonb_or_null(p, col++, s->filter.headers);
    params_set_bytea_or_null(p, col, s->filter.error);
}

static void scan_batch_encode(struct params *p, struct task *t) {
    const struct job_scan *s = REQ_OF_TASK(t)->data;

    params_set_int8(p, 0, s->at.batch_id);
    params_set_int8(p, 1, s->at.after.id);
    params_set_int4(p, 2, (int32_t)s->rows);
    params_set_time(p, 3, clock_db());
    params_set_bool(p, 4, s->whole);
    params_set_int8(p, 5, s->bytes);
    params_set_jsonb_or_null(p, 6, s->filter.headers);
    params_set_bytea_or_null(p, 7, s->filter.error);
}

static void scan_newest_encode(struct params *p, struct task *t) {
    struct job_scan *s = REQ_OF_TASK(t)->data;

    params_set_time(p, 0, s->at.died_us);
    params_set_int8(p, 1, s->at.after.id);
    params_set_int4(p, 2, (int32_t)s->rows);
    params_set_bool(p, 3, s->whole);
    params_set_int8(p, 4, s->bytes);
    params_set_jsonb_or_null(p, 5, s->filter.headers);
    params_set_bytea_or_null(p, 6, s->filter.error);
    if (s->at.queue_id != 0)
        params_set_int8(p, 7, s->at.queue_id);
}

/* Builds the reply of a job in the request's buffer, and moves it to s->found. */
static void read_add_found(struct req *r, struct job_scan *s, const struct job_view *v) {
    size_t before = buf_len(reply_buf(r));

    if (s->whole)
        job_view_reply_all(r, v);
    else
        job_view_reply_id(r, v);
    reply_move(r, before, &s->found);
    s->found_count++;
}

static bool scan_wants(const struct job_scan *s, const struct job_view *v) {
    return v->matches && (s->states == 0 || (s->states & STATE_BIT(job_view_state(v))) != 0);
}

/* True if the command reads another page. page_is_full: the stage may have more jobs. */
static bool scan_goes_on(const struct req *r, bool page_is_full) {
    const struct job_scan *s = r->data;

    if (s->at.stage == STAGE_END || req_is_orphan(r))
        return false;
    return s->busyloop || (page_is_full && s->left > 0 && s->bytes_left > 0);
}

static void scan_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct job_scan *s = r->data;
    int n = PQntuples(rows);
    bool is_full = !page_is_last(rows, s->rows, s->bytes);

    for (int i = 0; i < n; i++) {
        struct job_view v =
            s->at.stage == STAGE_RETAINED ? job_view_read_retained(rows, i) : job_view_read(rows, i);

        s->at.after = v.key;
        s->at.died_us = v.died_at;
        if (scan_wants(s, &v) && queue_rights_cover_id(r, v.key.queue_id))
            read_add_found(r, s, &v);
    }
    if (!is_full) {
        begin_stage(s, s->at.stage + 1);
        find_stage(s);
    }
    if (!s->busyloop) {
        s->left -= n;
        s->bytes_left -= n > 0 ? row_int8(rows, n - 1, COL_SCAN_JOBS_SIZE) : 0;
    }
    req_hold(r, s->found.cap);
    if (scan_goes_on(r, is_full))
        scan_send(r);
    else
        reply_scan(r, s->at.stage != STAGE_END ? cursor_new(r, s) : 0);
}

static void scan_fail(struct task *t, const struct op_error *err) {
    struct job_scan *s = REQ_OF_TASK(t)->data;

    buf_free(&s->found);
    req_hold(REQ_OF_TASK(t), 0);
    req_fail_task(t, err);
}

#define SCAN_OP(id, to_params) \
    OPERATION(id, .alone = true, .encode = to_params, .on_end = scan_done, .fail = scan_fail)

SCAN_OP(scan_jobs, scan_encode);
SCAN_OP(scan_queue, scan_encode);
SCAN_OP(scan_waiting, scan_encode);
SCAN_OP(scan_batch, scan_batch_encode);
SCAN_OP(scan_dead, scan_encode);
SCAN_OP(scan_queue_dead, scan_encode);
SCAN_OP(scan_retained, scan_encode);
SCAN_OP(scan_dead_newest, scan_newest_encode);
SCAN_OP(scan_queue_dead_newest, scan_newest_encode);
