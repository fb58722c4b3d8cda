/* LPOP RPOP LMPOP BLPOP BRPOP BLMPOP RPOPLPUSH LMOVE BRPOPLPUSH BLMOVE: takes elements from the ends of lists. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "commands/cmd_pop.h"
#include "commands/dispatch.h"
#include "commands/laravel.h"
#include "config/config.h"
#include "jobs/add_options.h"
#include "jobs/bulk_in_txn.h"
#include "jobs/claim_ahead.h"
#include "jobs/list_life.h"
#include "jobs/take_in_txn.h"
#include "jobs/undelivered.h"
#include "net/args.h"
#include "queue/list_orientation.h"
#include "queue/queue.h"
#include "queue/queue_iter.h"
#include "queue/queue_ready.h"
#include "queue/queue_rights.h"
#include "queue/queue_store.h"
#include "queue/waiters.h"

#define NOT_POSITIVE "ERR value is out of range, must be positive"
#define MANY_KEYS "ERR numkeys should be greater than 0"
/* The longest timeout that Redis accepts, with a final zero. */
#define TIMEOUT_MAX (5 * 1024)

/* ---- replies ---- */

static void reply_value(struct req *r, const struct job *jobs, size_t count) {
    (void)count;
    reply_bulk(r, jobs[0].body);
}

static void reply_values(struct req *r, const struct job *jobs, size_t count) {
    reply_array(r, count);
    for (size_t i = 0; i < count; i++)
        reply_bulk(r, jobs[i].body);
}

static void reply_named_value(struct req *r, const struct job *jobs, size_t count) {
    (void)count;
    reply_array(r, 2);
    reply_bulk(r, jobs[0].q->name);
    reply_bulk(r, jobs[0].body);
}

static void reply_named_values(struct req *r, const struct job *jobs, size_t count) {
    reply_array(r, 2);
    reply_bulk(r, jobs[0].q->name);
    reply_values(r, jobs, count);
}

static void reply_no_values(struct req *r) {
    if (r->none_is_empty)
        reply_array(r, 0);
    else
        reply_null_array(r);
}

static const struct pop_form one = { reply_value, reply_null_bulk };
static const struct pop_form one_at_last = { reply_value, reply_null_array };
static const struct pop_form counted = { reply_values, reply_no_values };
static const struct pop_form named = { reply_named_value, reply_null_array };
static const struct pop_form named_many = { reply_named_values, reply_null_array };

static void deliver(struct taker *taker, const struct job *jobs, size_t count) {
    const struct list_take *t = taker->own;

    for (size_t i = 0; i < count && t->pop.to == NULL; i++)
        undelivered_note_unsent(taker->req, &jobs[i]);
    t->form->some(taker->req, jobs, count);
}

static void pop_reply_nothing(struct taker *taker) {
    ((const struct list_take *)taker->own)->form->none(taker->req);
}

static void pop_ended(struct taker *taker) {
    const struct list_take *t = taker->own;

    if (t->pop.to != NULL)
        t->pop.to->users--;
}

static const struct taker_kind pop_kind = { .deliver = deliver,
                                            .reply_nothing = pop_reply_nothing,
                                            .ended = pop_ended };

/* ---- start ---- */

static void pop_begin(struct list_take *t);

static void on_pop_known(struct task *t) {
    pop_begin(REQ_OF_TASK(t)->data);
}

static void on_pop_unknown(struct task *t, const struct op_error *err) {
    struct req *r = REQ_OF_TASK(t);

    if (r->client != NULL)
        r->client->list_take = NULL;
    req_db_error(r, err);
}

/* True if the list may have elements. With peers the result is always true, because their messages about new jobs
 * may be on the way. */
static bool may_have(struct queue *q) {
    return q != NULL && q->id != 0 && (queue_budget(q) > 0 || q->work->claims.rows > 0 || node_has_peers());
}

static struct queue *first_with(const struct list_take *t, bool (*is)(struct queue *q)) {
    for (size_t i = 0; i < t->key_count; i++) {
        struct queue *q = queue_find(t->keys[i]);

        if (is(q))
            return q;
    }
    return NULL;
}

/* A command that does not wait must know the consume end of the list before it takes elements. */
static bool needs_front(struct queue *q) {
    return may_have(q) && q->list.consume_end == END_NONE;
}

/* True if the target list has a row, and its consume end is known. False: pop_begin() runs again later. */
static bool has_target(struct list_take *t) {
    struct queue *to = queue_get(t->to);

    if (!list_open_or_wait(to, list_other_end(t->pop.to_end), &t->row_waiter))
        return false;
    t->pop.to = to;
    return true;
}

static void pop_start(struct list_take *t) {
    struct taker_source *sources = req_alloc(t->req, t->key_count * sizeof *sources);
    struct taker *taker;

    for (size_t i = 0; i < t->key_count; i++)
        sources[i].q = queue_get(t->keys[i]);
    if (t->pop.to != NULL)
        t->pop.to->users++;
    t->req->client->list_take = NULL;
    taker = taker_new(t->req, sources, t->key_count);
    taker->kind = &pop_kind;
    taker->own = t;
    taker->nohang = !t->blocks;
    taker->moves = t->pop.to != NULL;
    taker->count = t->count < config.batch_max ? t->count : config.batch_max;
    taker->deadline_us = t->deadline;
    taker_begin(taker);
}

/* Puts back the jobs ahead, because a pop does not find their leased rows. False: pop_begin() runs again later. */
static bool are_jobs_back(struct list_take *t) {
    for (size_t i = 0; i < t->key_count; i++) {
        struct queue *q = queue_find(t->keys[i]);

        if (q != NULL && !claim_ahead_return(q, &t->row_waiter))
            return false;
    }
    return true;
}

static void pop_begin(struct list_take *t) {
    struct queue *q;

    if (t->req->client != NULL && !req_in_txn(t->req))
        t->req->client->list_take = t->blocks ? t : NULL;
    if (t->req->client != NULL && !are_jobs_back(t))
        return;
    if (req_in_txn(t->req)) {
        /* In a client transaction a blocking move does not wait. Its empty reply is then that of LMOVE. */
        t->form = t->form == &one_at_last ? &one : t->form;
        pop_in_txn(t);
        return;
    }
    if (t->req->client == NULL || (!t->blocks && first_with(t, may_have) == NULL)) {
        t->form->none(t->req);
        req_end(t->req);
        return;
    }
    if (t->to.ptr != NULL && !has_target(t))
        return;
    q = t->blocks ? NULL : first_with(t, needs_front);
    if (q == NULL)
        pop_start(t);
    else
        list_orientation_wait(q, t->pop.from, &t->row_waiter);
}

bool list_take_unblock(struct client *c, bool error) {
    struct list_take *t = c->list_take;

    if (t == NULL)
        return false;
    c->list_take = NULL;
    list_remove(&t->row_waiter.node);
    if (error)
        reply_error(t->req, WAITERS_UNBLOCKED);
    else
        t->form->none(t->req);
    req_end(t->req);
    return true;
}

/* ---- arguments ---- */

static struct list_take *list_take_new(struct req *r, const struct pop_form *form, enum list_end from) {
    struct list_take *t = req_alloc(r, sizeof *t);

    *t = (struct list_take){
        .req = r, .form = form, .pop = { .from = from }, .keys = r->argv + 1, .key_count = 1, .count = 1
    };
    row_waiter_init(&t->row_waiter, &r->task, on_pop_known, on_pop_unknown);
    r->data = t;
    return t;
}

/* Parses seconds with a fraction; 0: no timeout. */
static bool pop_take_timeout(struct list_take *t, int at) {
    struct slice word = t->req->argv[at];
    char text[TIMEOUT_MAX], *end;
    long double seconds;

    t->blocks = true;
    if (word.len == 0 || word.len >= sizeof text || strchr(" \t\n\v\f\r", word.ptr[0]) != NULL) {
        usage_invalid(t->req, at, "ERR timeout is not a float or out of range");
        return false;
    }
    memcpy(text, word.ptr, word.len);
    text[word.len] = '\0';
    errno = 0;
    seconds = strtold(text, &end);
    if (end != text + word.len || errno == ERANGE || isnan(seconds))
        usage_invalid(t->req, at, "ERR timeout is not a float or out of range");
    else if (seconds < 0)
        usage_invalid(t->req, at, "ERR timeout is negative");
    else if (seconds * 1000 > (long double)(INT64_MAX / 2))
        usage_invalid(t->req, at, "ERR timeout is out of range");
    else {
        /* A timeout of some centuries or more counts as no timeout. */
        if (seconds > 0 && seconds < 1e10)
            t->deadline = clock_mono() + 1 + (int64_t)(seconds * (long double)US_PER_S);
        return true;
    }
    return false;
}

static bool take_end(struct req *r, int at, enum list_end *end) {
    struct slice word = r->argv[at];

    *end = slice_is(word, "LEFT") ? END_LEFT : slice_is(word, "RIGHT") ? END_RIGHT : END_NONE;
    if (*end != END_NONE)
        return true;
    usage_invalid(r, at, SYNTAX_ERROR ": expected LEFT or RIGHT");
    return false;
}

/* ---- LPOP, RPOP ---- */

static void reply_whether(struct req *r, bool is_there) {
    if (is_there)
        reply_array(r, 0);
    else
        reply_null_array(r);
    req_end(r);
}

static void on_pop_life(struct life *l, int64_t until) {
    reply_whether(l->req, until != LIFE_NONE);
}

/* LPOP key 0 replies whether the list exists. In a client transaction a statement finds out, because earlier
 * commands may have created the list. */
static void pop_none(struct req *r) {
    struct queue *q = queue_find(r->argv[1]);
    struct life *l;

    if (!req_in_txn(r) || !key_may_exist(r, q)) {
        reply_whether(r, queue_is_key(q));
        return;
    }
    l = req_alloc(r, sizeof *l);
    *l = (struct life){ .found = on_pop_life, .req = r };
    list_find_life(l, q);
}

static void wrong_count(struct req *r) {
    usage_reply_arity(r);
    req_end(r);
}

static void pop(struct req *r, enum list_end from) {
    struct list_take *t = list_take_new(r, r->argc > 2 ? &counted : &one, from);

    if (r->argc > 3)
        wrong_count(r);
    else if (r->argc == 3 && (!parse_int_strict(r->argv[2], &t->count) || t->count < 0))
        usage_invalid(r, 2, NOT_POSITIVE);
    else if (t->count > 0)
        pop_begin(t);
    else
        pop_none(r);
}

void cmd_lpop(struct req *r) {
    pop(r, END_LEFT);
}

void cmd_rpop(struct req *r) {
    pop(r, END_RIGHT);
}

/* A pop that waits for an element of a queue without a name would wait for ever. */
static bool sources_have_names_or_reply(struct list_take *t) {
    return !t->blocks || args_queues_or_reply(t->req, t->keys, t->key_count);
}

static void blocking_pop(struct req *r, enum list_end from) {
    struct list_take *t = list_take_new(r, &named, from);

    t->key_count = (size_t)r->argc - 2;
    if (args_sources_or_reply(r, t->key_count) && pop_take_timeout(t, r->argc - 1) &&
        sources_have_names_or_reply(t))
        pop_begin(t);
}

/* Laravel's workers wait by BLPOP of a list that has no elements here. A queue with that name and with jobs wins. */
static bool waits_for_laravel(struct req *r, struct slice *queue) {
    return r->argc == 3 && !req_in_txn(r) && laravel_is_notify(r->argv[1], queue) &&
           !queue_is_key(queue_find(r->argv[1]));
}

void cmd_blpop(struct req *r) {
    struct list_take *t;
    struct slice queue;

    if (!waits_for_laravel(r, &queue)) {
        blocking_pop(r, END_LEFT);
        return;
    }
    t = list_take_new(r, &named, END_LEFT);
    if (pop_take_timeout(t, 2) && queue_rights_allow_or_reply(r, ACL_READ, queue))
        laravel_wait(r, queue, t->deadline);
}

void cmd_brpop(struct req *r) {
    blocking_pop(r, END_RIGHT);
}

/* ---- LMPOP, BLMPOP ---- */

static const struct arg_option many_words[] = {
    { "COUNT", ARG_REDIS_INT, offsetof(struct list_take, count), 1, INT64_MAX,
      "ERR count should be greater than 0" },
};

static const struct arg_spec many_spec = { many_words, LENGTH(many_words), NULL, NULL, NULL };

/* Parses from argument at on: numkeys key ... LEFT|RIGHT [COUNT count]. */
static bool take_many(struct list_take *t, int at) {
    struct req *r = t->req;
    int64_t keys;
    int end;

    if (!parse_int_strict(r->argv[at], &keys) || keys < 1) {
        usage_invalid(r, at, MANY_KEYS);
        return false;
    }
    if (keys >= r->argc - at - 1) {
        usage_invalid(r, at, SYNTAX_ERROR ": there are fewer keys than numkeys");
        return false;
    }
    if (!args_sources_or_reply(r, (size_t)keys))
        return false;
    t->keys = r->argv + at + 1;
    t->key_count = (size_t)keys;
    at += (int)keys + 1;
    if (!take_end(r, at, &t->pop.from))
        return false;
    if (r->argc - at > 3) {
        usage_unexpected(r, at + 3);
        return false;
    }
    return args_parse_or_reply(r, at + 1, &many_spec, t, &end);
}

void cmd_lmpop(struct req *r) {
    struct list_take *t = list_take_new(r, &named_many, END_NONE);

    if (take_many(t, 1))
        pop_begin(t);
}

void cmd_blmpop(struct req *r) {
    struct list_take *t = list_take_new(r, &named_many, END_NONE);

    if (pop_take_timeout(t, 1) && take_many(t, 2) && sources_have_names_or_reply(t))
        pop_begin(t);
}

/* ---- RPOPLPUSH, LMOVE ---- */

static struct list_take *move_new(struct req *r, const struct pop_form *form, enum list_end from,
                                  enum list_end to_end) {
    struct list_take *t = list_take_new(r, form, from);

    t->pop.to_end = to_end;
    t->to = r->argv[2];
    return t;
}

/* True if the destination takes an element, as for LPUSH. A move that waits is not checked again when an element comes.
 * A move inside one list adds no element. */
static bool move_allowed_or_reply(struct list_take *t) {
    const struct queue *to = queue_find(t->to);
    const char *refusal = NULL;

    if (to != NULL)
        refusal = addjob_move_refusal(to, slice_equal(t->keys[0], t->to) ? 0 : 1);
    if (refusal != NULL)
        req_error(t->req, "%s", refusal);
    return refusal == NULL;
}

static void move_begin(struct list_take *t) {
    if (sources_have_names_or_reply(t) && args_queue_or_reply(t->req, t->to) && move_allowed_or_reply(t))
        pop_begin(t);
}

void cmd_rpoplpush(struct req *r) {
    move_begin(move_new(r, &one, END_RIGHT, END_LEFT));
}

void cmd_brpoplpush(struct req *r) {
    struct list_take *t = move_new(r, &one_at_last, END_RIGHT, END_LEFT);

    if (pop_take_timeout(t, 3))
        move_begin(t);
}

static bool take_ends(struct list_take *t) {
    return take_end(t->req, 3, &t->pop.from) && take_end(t->req, 4, &t->pop.to_end);
}

void cmd_lmove(struct req *r) {
    struct list_take *t = move_new(r, &one, END_NONE, END_NONE);

    if (take_ends(t))
        move_begin(t);
}

void cmd_blmove(struct req *r) {
    struct list_take *t = move_new(r, &one_at_last, END_NONE, END_NONE);

    if (take_ends(t) && pop_take_timeout(t, 5))
        move_begin(t);
}
