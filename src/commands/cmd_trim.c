/* LSET LTRIM: change or remove elements inside a list. */
#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/list_read.h"
#include "jobs/take.h"
#include "net/args.h"
#include "queue/list_orientation.h"
#include "queue/observer.h"
#include "queue/queue_iter.h"

static void trim_changed(struct task *t) {
    const struct list_read *l = REQ_OF_TASK(t)->data;

    l->q->users--;
    req_ok(l->req);
}

/* ---- LSET ---- */

#define NO_KEY "ERR no such key"

struct setting_one {
    struct list_read look;
    int64_t index;
};

static void set_one_reads(struct setting_one *s) {
    int64_t skipped = s->index < 0 ? -s->index : s->index;

    task_reads(&s->look.req->task, queue_rows_read(s->look.q, skipped, 1, false));
}

static void trim_set_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);
    struct setting_one *s = r->data;
    bool from_front = (s->index < 0 ? END_RIGHT : END_LEFT) == list_read_consume_end(s->look.q);

    list_read_encode_change(p, &s->look);
    params_set_time(p, 3, clock_db());
    params_set_int8(p, from_front ? 4 : 5, s->index < 0 ? -s->index - 1 : s->index);
    params_set_null(p, from_front ? 5 : 4);
    params_bytea(p, 6, r->argv[3]);
}

/* Columns: rank, id, is_set. A claim at the same time may have skipped the locked row, so all servers get its key
 * again. */
static void trim_set_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    const struct queue *q = ((const struct list_read *)r->data)->q;

    if (PQntuples(rows) > 0 && row_bool(rows, 0, COL_SET_ELEMENT_IS_SET)) {
        OBSERVE(returned, row_key(q->id, rows, 0, COL_SET_ELEMENT_RANK));
        trim_changed(t);
    } else if (PQntuples(rows) > 0 && r->exec == NULL) {
        /* Another session has taken the job. The next try finds the element that is there now. */
        set_one_reads(r->data);
        batch_add(t);
    } else {
        ((struct list_read *)r->data)->q->users--;
        req_error(r, queue_is_key(q) ? "ERR index out of range" : NO_KEY);
    }
}

OPERATION(set_element, .alone = true, .encode = trim_set_encode, .on_end = trim_set_done,
          .fail = list_read_fail, .again = list_read_again, .answer_lost = list_read_answer_lost);

/* Jobs that a peer pushed may not be counted yet. */
static bool may_have_elements(const struct queue *q) {
    return queue_is_key(q) || node_has_peers();
}

void cmd_lset(struct req *r) {
    struct setting_one *s = req_alloc(r, sizeof *s);

    bool there = list_read_init(&s->look, r, &op_set_element, &op_set_element);

    if (req_in_txn(s->look.req)) {
        /* The statement finds out whether the list exists. */
        s->look.q = queue_get(r->argv[1]);
    } else if (!there || !may_have_elements(s->look.q)) {
        req_error(r, NO_KEY);
        return;
    }
    if (!args_integer_or_reply(r, 2, &s->index))
        return;
    s->index = list_index(s->index);
    r->task.bytes = r->argv[3].len;
    set_one_reads(s);
    list_read_start(&s->look);
}

/* ---- LTRIM ---- */

struct trimming {
    struct list_read look;
    int64_t start;
    int64_t stop;
    struct queue_scan scan;
    struct list joined; /* struct trimming: requests with the same range that came before this one was sent */
    struct list node;
};

/* True if the range keeps a fixed number of elements. A second run then removes no more elements. */
static bool only_keeps(const struct trimming *t) {
    return t->start <= 0 && t->stop >= -1;
}

/* The numbers of the ends in trim_list.sql. */
static int16_t trim_number_of(const struct queue *q, enum list_end end) {
    return end == list_read_consume_end(q) ? 1 : 2;
}

/* The statement removes the elements between this end of the list and the index. */
static void encode_cut(struct params *p, const struct trimming *t, enum list_end cut, int64_t index) {
    params_int8(p, 4, index < 0 ? -index - 1 : index);
    params_int2(p, 5, trim_number_of(t->look.q, index < 0 ? END_RIGHT : END_LEFT));
    params_int2(p, 6, trim_number_of(t->look.q, cut));
}

static void trim_encode(struct params *p, struct task *task) {
    struct trimming *t = REQ_OF_TASK(task)->data;

    if (t->look.q->work->trim == t)
        queue_work(t->look.q)->trim = NULL;
    take_note_scan(t->look.q, &t->scan);
    if (only_keeps(t))
        list_read_encode(p, &t->look);
    else
        list_read_encode_change(p, &t->look);
    params_set_time(p, 3, clock_db());
    if (t->start != 0)
        encode_cut(p, t, END_LEFT, t->start);
    if (t->stop != -1)
        encode_cut(p, t, END_RIGHT, t->stop);
}

static void trim_leave(struct trimming *t) {
    position_end(&t->scan);
    if (t->look.q->work->trim == t)
        queue_work(t->look.q)->trim = NULL;
}

static void all_trimmed(struct task *task) {
    struct trimming *t = REQ_OF_TASK(task)->data;
    struct list *node;

    trim_leave(t);
    while ((node = list_pop_front(&t->joined)) != NULL)
        trim_changed(&LIST_ENTRY(node, struct trimming, node)->look.req->task);
    trim_changed(task);
}

/* Columns: those of list_read_count_gone(), is_first. No ready job is left before the kept elements. */
static void trim_done(struct task *task, const PGresult *rows) {
    const struct trimming *t = REQ_OF_TASK(task)->data;
    struct job_key last = { .rank = INT16_MIN, .id = INT64_MIN };

    list_read_count_gone(&t->look, rows);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = list_read_key(&t->look, rows, i);

        if (row_bool(rows, i, COL_TRIM_LIST_IS_FIRST) && job_key_before(last, key))
            last = key;
    }
    if (last.queue_id != 0)
        position_advance(&t->look.q->scan, &t->scan, &last, false);
    all_trimmed(task);
}

static void trim_fail(struct task *task, const struct op_error *err) {
    struct trimming *t = REQ_OF_TASK(task)->data;
    struct list *node;

    trim_leave(t);
    while ((node = list_pop_front(&t->joined)) != NULL)
        list_read_fail(&LIST_ENTRY(node, struct trimming, node)->look.req->task, err);
    list_read_fail(task, err);
}

/* Requests join only a trim that may run twice. */
static bool trim_again(struct task *task, bool unknown) {
    struct trimming *t = REQ_OF_TASK(task)->data;

    trim_leave(t);
    return only_keeps(t) || list_read_again(task, unknown);
}

OPERATION(trim_list, .alone = true, .encode = trim_encode, .on_end = trim_done, .fail = trim_fail,
          .again = trim_again, .answer_lost = all_trimmed);

/* The number of elements before (or, for a negative one, after) an index. */
static int64_t trim_distance(int64_t index) {
    return index < 0 ? -index - 1 : index;
}

static void trim_reads(const struct trimming *t) {
    int64_t len = queue_len(t->look.q), left = t->start < 0 ? len + t->start : t->start;
    int64_t right = t->stop < 0 ? -t->stop - 1 : len - 1 - t->stop;
    int64_t cut = int64_at_least_zero(left) + int64_at_least_zero(right);

    task_reads(&t->look.req->task,
               queue_rows_read(t->look.q, trim_distance(t->start) + trim_distance(t->stop),
                               TASK_CHANGED_ROW * (cut < len ? cut : len), false));
}

/* True if the range certainly covers the list. Changes in progress may count as later than this command. */
static bool has_nothing_to_cut(const struct trimming *t) {
    int64_t len = queue_len(t->look.q);

    if (t->start == 0 && t->stop == -1)
        return true;
    if (node_has_peers() || t->look.q->counters.suspect || t->look.req->exec != NULL)
        return false;
    return only_keeps(t) && (t->start == 0 || -t->start >= len) && (t->stop == -1 || t->stop + 1 >= len);
}

/* Many clients keep a list short, each after its own push. Equal requests share a trim. */
static bool trim_join(struct trimming *t) {
    struct trimming *first = t->look.q->work->trim;

    if (first == NULL || first->start != t->start || first->stop != t->stop || t->look.req->exec != NULL)
        return false;
    t->look.q->users++;
    list_push_back(&first->joined, &t->node);
    first->look.req->task.is_shared = true;
    return true;
}

void cmd_ltrim(struct req *r) {
    struct trimming *t = req_alloc(r, sizeof *t);
    bool there = list_read_init(&t->look, r, &op_trim_list, &op_trim_list);

    if (!args_integer_or_reply(r, 2, &t->start) || !args_integer_or_reply(r, 3, &t->stop))
        return;
    t->start = list_index(t->start);
    t->stop = list_index(t->stop);
    if (!there || has_nothing_to_cut(t)) {
        req_ok(r);
        return;
    }
    list_init(&t->scan.node);
    list_init(&t->joined);
    list_init(&t->node);
    if (trim_join(t))
        return;
    if (only_keeps(t) && r->exec == NULL)
        queue_work(t->look.q)->trim = t;
    trim_reads(t);
    list_read_start(&t->look);
}
