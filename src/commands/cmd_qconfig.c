/* QCONFIG: shows and changes the settings of a queue. */
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/one_queue.h"
#include "net/args.h"
#include "net/usage.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/queue_rights.h"
#include "queue/queue_store.h"
#include "queue/settings.h"

/* Index of the first argument after QCONFIG, the queue, and the word. */
#define FIRST 3

struct qconfig {
    struct req *req;
    struct row_waiter row_waiter; /* waits until the queue has a row */
    struct queue *q;
    bool is_set[SETTING_COUNT];
    int64_t values[SETTING_COUNT];
    char texts[SETTING_COUNT][SETTING_TEXT_LEN];
    bool sets_deadqueue;
    struct slice deadqueue;
};

static bool is_deadqueue(const struct req *r, int at) {
    return slice_is(r->argv[at], SETTING_DEADQUEUE);
}

static bool find_or_reply(struct req *r, int at, enum setting *which) {
    if (setting_find(r->argv[at], which) && *which < SETTING_SHOWN)
        return true;
    usage_invalid(r, at, "ERR Unknown setting. Try QCONFIG queue GET");
    return false;
}

/* ---- GET ---- */

static void reply_setting(struct req *r, const struct queue *q, enum setting which) {
    char text[SETTING_TEXT_LEN];

    setting_show(q, which, text);
    reply_bulk_str(r, setting_name(which));
    reply_bulk_str(r, text);
}

static void reply_deadqueue(struct req *r, const struct queue *q) {
    reply_bulk_str(r, SETTING_DEADQUEUE);
    reply_bulk(r, setting_deadqueue(q));
}

static void get_all(struct req *r, const struct queue *q) {
    reply_map(r, SETTING_SHOWN + 1);
    for (int i = 0; i < SETTING_SHOWN; i++)
        reply_setting(r, q, (enum setting)i);
    reply_deadqueue(r, q);
    req_end(r);
}

static void get(struct req *r) {
    const struct queue *q = queue_find(r->argv[1]);
    enum setting which;

    if (r->argc <= FIRST) {
        get_all(r, q);
        return;
    }
    for (int i = FIRST; i < r->argc; i++)
        if (!is_deadqueue(r, i) && !find_or_reply(r, i, &which))
            return;
    reply_map(r, (size_t)(r->argc - FIRST));
    for (int i = FIRST; i < r->argc; i++) {
        if (setting_find(r->argv[i], &which))
            reply_setting(r, q, which);
        else
            reply_deadqueue(r, q);
    }
    req_end(r);
}

/* ---- SET, RESET ---- */

static void qconfig_fail(struct task *t, const struct op_error *err) {
    struct qconfig *c = REQ_OF_TASK(t)->data;

    c->q->users--;
    req_db_error(c->req, err);
}

static struct qconfig *qconfig_new(struct req *r) {
    struct qconfig *c = req_alloc(r, sizeof *c);

    c->req = r;
    row_waiter_init(&c->row_waiter, &r->task, NULL, qconfig_fail);
    r->data = c;
    return c;
}

static void qconfig_start(struct qconfig *c, struct op *op, uint32_t rows) {
    if (!args_queue_or_reply(c->req, c->req->argv[1]))
        return;
    c->q = queue_get(c->req->argv[1]);
    c->q->users++;
    c->req->task.op = op;
    c->req->task.rows = rows;
    queue_prepare(c->q, &c->row_waiter);
}

static void qconfig_put(struct qconfig *c, enum setting which, int64_t value) {
    c->is_set[which] = true;
    c->values[which] = value;
    setting_format(which, value, c->texts[which]);
}

/* Parses a pair of a name and a value. If a name is repeated, its last value counts. */
static bool take_or_reply(struct qconfig *c, int at) {
    struct req *r = c->req;
    enum setting which, period;
    const char *error;
    int64_t value, period_s;

    if (is_deadqueue(r, at)) {
        if (r->argv[at + 1].len > 0 && !queue_rights_allow_or_reply(r, ACL_WRITE, r->argv[at + 1]))
            return false;
        c->sets_deadqueue = true;
        c->deadqueue = r->argv[at + 1];
        return true;
    }
    if (!find_or_reply(r, at, &which))
        return false;
    error = setting_parse(which, r->argv[at + 1], &value, &period_s);
    if (error != NULL) {
        usage_invalid(r, at + 1, error);
        return false;
    }
    qconfig_put(c, which, value);
    if (setting_period(which, &period))
        qconfig_put(c, period, period_s);
    return true;
}

static void qconfig_set(struct req *r) {
    struct qconfig *c = qconfig_new(r);
    uint32_t rows = 0;

    if (r->argc <= FIRST || (r->argc - FIRST) % 2 != 0) {
        usage_error(r, SYNTAX_ERROR ": SET takes pairs of a name and a value");
        return;
    }
    for (int i = FIRST; i < r->argc; i += 2)
        if (!take_or_reply(c, i))
            return;
    if (!one_queue_or_reply(r))
        return;
    if (c->deadqueue.len > 0 && queues_are_full()) {
        req_db_error(r, &queues_full_error);
        return;
    }
    for (int i = 0; i < SETTING_COUNT; i++)
        rows += c->is_set[i];
    qconfig_start(c, &op_set_settings, rows + c->sets_deadqueue);
}

static void reset(struct req *r) {
    const struct queue *q = queue_find(r->argv[1]);

    if (r->argc > FIRST)
        usage_unexpected(r, FIRST);
    else if (q == NULL && !node_has_peers()) /* a peer may have created the queue just now */
        req_ok(r);
    else
        qconfig_start(qconfig_new(r), &op_reset_settings, 1);
}

static const struct {
    const char *word;
    void (*handler)(struct req *r);
} words[] = { { "GET", get }, { "SET", qconfig_set }, { "RESET", reset } };

void cmd_qconfig(struct req *r) {
    if (r->argc == 2) {
        get(r);
        return;
    }
    for (size_t i = 0; i < LENGTH(words); i++) {
        if (slice_is(r->argv[2], words[i].word)) {
            words[i].handler(r);
            return;
        }
    }
    usage_error(r, "ERR QCONFIG takes GET, SET or RESET after the queue");
}

/* ---- statements ---- */

static void qconfig_set_encode(struct params *p, struct task *t) {
    const struct qconfig *c = REQ_OF_TASK(t)->data;

    for (int i = 0; i < SETTING_COUNT; i++) {
        if (!c->is_set[i])
            continue;
        params_int4(p, 0, c->q->id);
        params_bytea(p, 1, slice_str(setting_name((enum setting)i)));
        params_bytea(p, 2, slice_str(c->texts[i]));
    }
    if (c->sets_deadqueue) {
        params_int4(p, 0, c->q->id);
        params_bytea(p, 1, SLICE(SETTING_DEADQUEUE));
        params_bytea(p, 2, c->deadqueue);
    }
}

static void reset_encode(struct params *p, struct task *t) {
    const struct qconfig *c = REQ_OF_TASK(t)->data;

    params_int4(p, 0, c->q->id);
}

static void qconfig_end(struct qconfig *c) {
    c->q->users--;
    queue_touch(c->q);
    OBSERVE(row_changed, c->q->id);
    req_ok(c->req);
}

/* Columns: stored, cyclic. If both are false, a peer has just set a dead queue, and the statement is sent again. */
static void qconfig_set_done(struct task *t, const PGresult *rows) {
    struct qconfig *c = REQ_OF_TASK(t)->data;

    if (row_bool(rows, 0, COL_SET_SETTINGS_CYCLIC)) {
        c->q->users--;
        req_error(c->req, "ERR deadqueue leads back to this queue: dead letters must not move in a circle");
        return;
    }
    if (!row_bool(rows, 0, COL_SET_SETTINGS_STORED)) {
        batch_add(t);
        return;
    }
    if (c->sets_deadqueue)
        settings_put_deadqueue(c->q, c->deadqueue);
    for (int i = 0; i < SETTING_COUNT; i++)
        if (c->is_set[i])
            settings_put(c->q, (enum setting)i, c->values[i]);
    qconfig_end(c);
}

static void reset_done(struct task *t, const PGresult *rows) {
    struct qconfig *c = REQ_OF_TASK(t)->data;

    (void)rows;
    settings_clear(c->q);
    qconfig_end(c);
}

/* Each request has its own statement, because a queue may be set twice in a turn. The last request counts. */
#define SETTINGS_OP(id, encoder, handler) \
    OPERATION(id, .alone = true, .encode = encoder, .on_end = handler, .fail = qconfig_fail)

SETTINGS_OP(set_settings, qconfig_set_encode, qconfig_set_done);
SETTINGS_OP(reset_settings, reset_encode, reset_done);
