/* GETJOB QSCAN PAUSE: commands on queues. */
#include "base/clock.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/one_queue.h"
#include "config/config.h"
#include "jobs/claim_ahead.h"
#include "jobs/take_in_txn.h"
#include "net/args.h"
#include "queue/observer.h"
#include "queue/pattern_index.h"
#include "queue/queue.h"
#include "queue/queue_iter.h"
#include "queue/queue_ready.h"
#include "queue/queue_rights.h"
#include "queue/queue_store.h"
#include "queue/settings.h"
#include "queue/waiters.h"

/* ---- GETJOB ---- */

#define WEIGHT_MAX 1000
/* Maximum bytes of an argument that an error quotes. */
#define WORD_SHOWN 64

struct get_options {
    bool nohang;
    bool with_counters;
    bool with_tokens;
    bool with_headers;
    bool strict;
    int weights; /* index of the first one; 0: none */
    int weight_count;
    int64_t timeout_ms;
    int64_t count;
};

static bool getjob_weight(struct slice word, int64_t *weight) {
    return parse_int_strict(word, weight) && *weight >= 1 && *weight <= WEIGHT_MAX;
}

/* The weights end at the next word that is no number. */
static bool getjob_take_weights(struct req *r, int *at, struct get_options *o) {
    int64_t weight;

    o->weights = *at + 1;
    for (o->weight_count = 0; o->weights + o->weight_count < r->argc; o->weight_count++) {
        int place = o->weights + o->weight_count;

        if (!parse_int_disque(r->argv[place], &weight))
            break;
        if (!getjob_weight(r->argv[place], &weight)) {
            usage_invalid(r, place, "ERR a weight must be a number from 1 to 1000");
            return false;
        }
    }
    *at = o->weights + o->weight_count;
    return true;
}

static bool getjob_take_other(struct req *r, int *at, void *out) {
    struct get_options *o = out;

    if (slice_is(r->argv[*at], "WEIGHTS"))
        return getjob_take_weights(r, at, o);
    if (!slice_is(r->argv[*at], "TIMEOUT")) {
        usage_error(r, SYNTAX_ERROR ": expected an option or FROM, got %s",
                    log_escape(r->argv[*at], WORD_SHOWN));
        return false;
    }
    if (*at + 1 >= r->argc) {
        usage_no_value(r, *at);
        return false;
    }
    if (!args_timeout_or_reply(r, *at + 1, &o->timeout_ms))
        return false;
    *at += 2;
    return true;
}

static const struct arg_option get_words[] = {
    { "NOHANG", ARG_FLAG, offsetof(struct get_options, nohang), 0, 0, NULL },
    { "WITHCOUNTERS", ARG_FLAG, offsetof(struct get_options, with_counters), 0, 0, NULL },
    { "WITHTOKENS", ARG_FLAG, offsetof(struct get_options, with_tokens), 0, 0, NULL },
    { "WITHHEADERS", ARG_FLAG, offsetof(struct get_options, with_headers), 0, 0, NULL },
    { "STRICT", ARG_FLAG, offsetof(struct get_options, strict), 0, 0, NULL },
    { "COUNT", ARG_INT, offsetof(struct get_options, count), 1, INT64_MAX,
      "ERR COUNT must be a number greater than zero" },
};

static const struct arg_spec get_spec = { get_words, LENGTH(get_words), "FROM", NULL, getjob_take_other };

static struct slice unescaped(struct req *r, struct slice name) {
    char *plain = req_alloc(r, name.len);

    return (struct slice){ plain, glob_unescape(name, plain) };
}

/* Sets source to the queue or pattern. Returns NULL, or an error. The dispatcher checks no rights on special names. So
 * for a user with rights on some queues they are all patterns, which match only those queues. */
static const char *find_source(struct req *r, struct slice name, struct taker_source *source) {
    struct user *user = queue_rights_are_all(r) ? NULL : r->user;
    bool special = glob_is_special(name);

    if (!special || (user == NULL && !glob_is_pattern(name))) {
        source->q = queue_get(special ? unescaped(r, name) : name);
        queue_show(source->q);
        return NULL;
    }
    if (name.len > PATTERN_MAX)
        return "LIMIT a pattern must be at most 1024 bytes long";
    source->pattern = pattern_use(name, user, r->right);
    if (source->pattern != NULL)
        return NULL;
    return user != NULL && user->patterns >= PATTERNS_EACH
               ? "LIMIT the clients of a user with limited rights use at most 128 patterns"
               : "LIMIT too many patterns are used by other clients";
}

/* NULL if an error was replied. */
static struct taker *make_get(struct req *r, int first_queue) {
    size_t count = (size_t)(r->argc - first_queue);
    struct taker_source *sources = req_alloc(r, count * sizeof *sources);
    const char *error = NULL;
    size_t found = 0;

    while (found < count && error == NULL) {
        error = find_source(r, r->argv[first_queue + (int)found], &sources[found]);
        found += error == NULL;
    }
    if (error == NULL)
        return taker_new(r, sources, count);
    for (size_t i = 0; i < found; i++)
        if (sources[i].pattern != NULL)
            pattern_leave(sources[i].pattern);
    req_error(r, "%s", error);
    return NULL;
}

static unsigned form_of(const struct get_options *o) {
    return (o->with_counters ? JOBS_WITH_COUNTERS : 0) | (o->with_tokens ? JOBS_WITH_TOKENS : 0) |
           (o->with_headers ? JOBS_WITH_HEADERS : 0);
}

/* False if the options exclude each other: the error has been replied. queues: the number of queues. */
static bool getjob_order_or_reply(struct req *r, const struct get_options *o, int queues) {
    if (o->weights == 0)
        return true;
    if (o->strict)
        usage_error(r, SYNTAX_ERROR ": STRICT and WEIGHTS exclude each other");
    else if (o->weight_count != queues)
        usage_error(r, SYNTAX_ERROR ": WEIGHTS takes a number for each queue after FROM");
    else if (req_in_txn(r))
        req_error(r, "ERR GETJOB in a transaction takes no WEIGHTS: it empties the queues in their order");
    else
        return true;
    return false;
}

static void getjob_set_order(struct taker *taker, const struct get_options *o) {
    int64_t weight;

    taker->order = o->strict ? TAKER_STRICT : o->weights > 0 ? TAKER_BY_WEIGHT : TAKER_IN_TURN;
    for (int i = 0; i < o->weight_count; i++)
        if (getjob_weight(taker->req->argv[o->weights + i], &weight))
            taker->waits[i].weight = (uint32_t)weight;
}

void cmd_getjob(struct req *r) {
    struct get_options o = { .count = 1 };
    int64_t timeout_ms;
    struct taker *taker;
    int from, queues;

    if (!args_parse_or_reply(r, 1, &get_spec, &o, &from))
        return;
    if (from + 1 >= r->argc) {
        usage_error(r, SYNTAX_ERROR ": FROM and the name of a queue are missing");
        return;
    }
    queues = r->argc - from - 1;
    if (!args_sources_or_reply(r, (size_t)queues) ||
        !args_queues_or_reply(r, &r->argv[from + 1], (size_t)queues) || !getjob_order_or_reply(r, &o, queues))
        return;
    if (req_in_txn(r)) {
        get_in_txn(r, from + 1, o.count, form_of(&o));
        return;
    }
    timeout_ms = limited_timeout(o.timeout_ms);
    taker = make_get(r, from + 1);
    if (taker == NULL)
        return;
    taker->nohang = o.nohang;
    taker->form = form_of(&o);
    taker->count = o.count;
    getjob_set_order(taker, &o);
    if (timeout_ms > 0)
        taker->deadline_us = clock_mono() + timeout_ms * US_PER_MS;
    if (!claim_ahead_give_new(taker))
        taker_begin(taker);
}

/* ---- QSCAN ---- */

struct queue_scan_options {
    const struct req *req;
    int64_t count;
    int64_t minlen;
    int64_t maxlen;
    int64_t importrate;
    struct slice order; /* a word of scan_orders; ptr is NULL: none */
    bool busyloop;
    bool has_cursor;
    int64_t cursor;
};

static const struct {
    const char *word;
    int64_t (*value)(const struct queue *q);
} scan_orders[] = { { "len", queue_len }, { "age", queue_oldest_us }, { "dead", queue_dead } };

#define SCAN_ERROR "ERR invalid cursor or option name"

static bool take_cursor(struct req *r, int *at, void *out) {
    struct queue_scan_options *o = out;

    if (!parse_int_disque(r->argv[*at], &o->cursor)) {
        usage_invalid(r, *at, SCAN_ERROR);
        return false;
    }
    if (o->has_cursor) {
        usage_unexpected(r, *at);
        return false;
    }
    o->has_cursor = true;
    (*at)++;
    return true;
}

static const struct arg_option qscan_words[] = {
    { "COUNT", ARG_INT, offsetof(struct queue_scan_options, count), INT64_MIN, INT64_MAX, NOT_AN_INTEGER },
    { "MINLEN", ARG_INT, offsetof(struct queue_scan_options, minlen), INT64_MIN, INT64_MAX, NOT_AN_INTEGER },
    { "MAXLEN", ARG_INT, offsetof(struct queue_scan_options, maxlen), INT64_MIN, INT64_MAX, NOT_AN_INTEGER },
    { "IMPORTRATE", ARG_INT, offsetof(struct queue_scan_options, importrate), INT64_MIN, INT64_MAX,
      NOT_AN_INTEGER },
    { "ORDER", ARG_BYTES, offsetof(struct queue_scan_options, order), 0, INT64_MAX, NULL },
    { "BUSYLOOP", ARG_FLAG, offsetof(struct queue_scan_options, busyloop), 0, 0, NULL },
};

static const struct arg_spec qscan_spec = { qscan_words, LENGTH(qscan_words), NULL, SCAN_ERROR, take_cursor };

static bool queue_is_wanted(const struct queue *q, const void *how) {
    const struct queue_scan_options *o = how;

    return q->shown && !q->hidden && (o->minlen < 0 || queue_len(q) >= o->minlen) &&
           (o->maxlen < 0 || queue_len(q) <= o->maxlen) && o->importrate <= 0 &&
           req_may_queue(o->req, ACL_READ, q->name);
}

static int64_t at_least_one(int64_t count) {
    return count > 0 ? count : 1;
}

#define SCAN_WHOLE_HEAD "*2\r\n$1\r\n0\r\n"

static void qscan_in_order(struct req *r, const struct queue_scan_options *o) {
    for (size_t i = 0; i < LENGTH(scan_orders); i++) {
        if (slice_is(o->order, scan_orders[i].word)) {
            queue_iter_largest(r, (size_t)at_least_one(o->count), scan_orders[i].value, queue_is_wanted, o,
                               SCAN_WHOLE_HEAD);
            return;
        }
    }
    req_error(r, "ERR the orders of QSCAN are len, age and dead");
}

/* Checks all queues in one command. o lives as long as the request. */
static void qscan_whole(struct req *r, const struct queue_scan_options *o) {
    if (o->order.ptr == NULL)
        queue_iter_all(r, queue_is_wanted, o, SCAN_WHOLE_HEAD);
    else if (o->cursor == 0)
        qscan_in_order(r, o);
    else
        req_error(r, "ERR QSCAN with ORDER replies all at once: its cursor must be 0");
}

static void qscan_page(struct req *r, const struct queue_scan_options *o) {
    int64_t count = at_least_one(o->count);
    struct queue_page page = { .slot = queue_iter_slot(o->cursor), .count = count };

    page.effort = count < INT64_MAX / SCAN_EFFORT ? count * SCAN_EFFORT : INT64_MAX;
    queue_iter_page(r, &page, queue_is_wanted, o);
}

void cmd_qscan(struct req *r) {
    struct queue_scan_options *o = req_alloc(r, sizeof *o);
    int end;

    *o = (struct queue_scan_options){ .req = r, .count = 100, .minlen = -1, .maxlen = -1 };
    if (!args_parse_or_reply(r, 1, &qscan_spec, o, &end))
        return;
    if (o->order.ptr != NULL || (o->busyloop && queue_iter_slot(o->cursor) == 0))
        qscan_whole(r, o);
    else
        qscan_page(r, o);
}

/* ---- PAUSE ---- */

struct pause {
    struct row_waiter row_waiter;
    struct queue *q;
    unsigned flags;
    bool counted; /* in q->work->pausing */
};

/* Computes the flags from left to right, beginning with none. False for an unknown word. */
static bool pause_flags(const struct req *r, unsigned *flags, bool *changes) {
    *flags = 0;
    *changes = false;
    for (int i = 2; i < r->argc; i++) {
        struct slice word = r->argv[i];
        bool sets = true;

        if (slice_is(word, "in"))
            *flags |= PAUSE_IN;
        else if (slice_is(word, "out"))
            *flags |= PAUSE_OUT;
        else if (slice_is(word, "all"))
            *flags |= PAUSE_IN | PAUSE_OUT;
        else if (slice_is(word, "none"))
            *flags = 0;
        else if (slice_is(word, "state") || slice_is(word, "bcast"))
            sets = false;
        else
            return false;
        *changes |= sets;
    }
    return true;
}

static void pause_end(struct pause *p) {
    p->q->users--;
    queue_work(p->q)->pausing -= p->counted;
}

static void pause_fail(struct task *t, const struct op_error *err) {
    struct pause *p = REQ_OF_TASK(t)->data;

    pause_end(p);
    queue_signal(p->q);
    req_db_error(REQ_OF_TASK(t), err);
}

static void start_pause(struct req *r, unsigned flags) {
    struct pause *p = req_alloc(r, sizeof *p);

    *p = (struct pause){ .q = queue_get(r->argv[1]), .flags = flags };
    p->q->users++;
    r->data = p;
    r->task.op = &op_pause_queues;
    r->task.rows = 1;
    row_waiter_init(&p->row_waiter, &r->task, NULL, pause_fail);
    queue_prepare(p->q, &p->row_waiter);
}

void cmd_pause(struct req *r) {
    const struct queue *q = queue_find(r->argv[1]);
    unsigned now = q == NULL ? 0 : q->pause;
    unsigned flags;
    bool changes;

    if (!pause_flags(r, &flags, &changes)) {
        usage_error(r, SYNTAX_ERROR ": the options are in, out, all, none, state and bcast");
        return;
    }
    if (!one_queue_or_reply(r))
        return;
    /* A peer may have changed the pause just now. */
    if (changes && (flags != now || node_has_peers())) {
        if (args_queue_or_reply(r, r->argv[1]))
            start_pause(r, flags);
        return;
    }
    reply_status(r, queue_pause_name(now));
    req_end(r);
}

/* Counts the pause when it is sent. Another transaction may be sent before the result of this one is known. */
static void pause_encode(struct params *p, struct task *t) {
    struct pause *pause = REQ_OF_TASK(t)->data;

    if (!pause->counted && (pause->flags & PAUSE_OUT)) {
        pause->counted = true;
        queue_work(pause->q)->pausing++;
    }
    params_int4(p, 0, pause->q->id);
    params_int2(p, 1, (int16_t)pause->flags);
}

static void pause_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct pause *p = r->data;

    (void)rows;
    pause_end(p);
    queue_set_pause(p->q, p->flags);
    queue_show(p->q);
    queue_touch(p->q);
    queue_signal(p->q);
    OBSERVE(row_changed, p->q->id);
    reply_status(r, queue_pause_name(p->flags));
    req_end(r);
}

/* Each request has its own statement, because a queue may be paused twice in a turn. The last request counts. */
OPERATION(pause_queues, .alone = true, .encode = pause_encode, .on_end = pause_done, .fail = pause_fail);
