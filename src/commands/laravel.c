/* The scripts and keys of Laravel's queue, as commands about jobs. */
#include "commands/laravel.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/saturate.h"
#include "batch/operations.h"
#include "commands/cmd_job.h"
#include "commands/dispatch.h"
#include "commands/refused.h"
#include "jobs/add.h"
#include "jobs/bulk.h"
#include "jobs/claim_ahead.h"
#include "jobs/id_list.h"
#include "jobs/undelivered.h"
#include "net/client.h"
#include "net/usage.h"
#include "queue/queue.h"
#include "queue/queue_rights.h"
#include "queue/waiters.h"

#define PREFIX "queues:"
#define DELAYED ":delayed"
#define RESERVED ":reserved"
#define NOTIFY ":notify"
/* A job of Laravel has no end. */
#define FOR_EVER "2147483647"
/* Bytes of a number, or of an ID with its token. */
#define NUMBER_SIZE 24
#define MEMBER_SIZE (JOBID_LEN + NUMBER_SIZE)

/* ---- keys and times ---- */

/* True if key is the queue and the suffix. */
static bool is_key_of(struct slice key, struct slice queue, struct slice suffix) {
    return key.len == queue.len + suffix.len && memcmp(key.ptr, queue.ptr, queue.len) == 0 &&
           memcmp(key.ptr + queue.len, suffix.ptr, suffix.len) == 0;
}

/* The queue of a key with the suffix: queues:NAME, with or without Laravel's prefix of keys. False for any other key. */
static bool laravel_queue_of(struct slice key, struct slice suffix, struct slice *queue) {
    size_t word = strlen(PREFIX);
    const char *at = memmem(key.ptr, key.len, PREFIX, word);

    *queue = (struct slice){ key.ptr, key.len > suffix.len ? key.len - suffix.len : 0 };
    return at != NULL && at + word < key.ptr + queue->len && is_key_of(key, *queue, suffix);
}

static bool laravel_refuse(struct req *r) {
    reply_unsupported(r, "pgdisque knows this script only with the keys of a queue of Laravel, " PREFIX
                         "NAME, " PREFIX "NAME" DELAYED ", " PREFIX "NAME" RESERVED " and " PREFIX
                         "NAME" NOTIFY);
    return false;
}

/* The whole seconds from now to a Unix time, rounded up and at least `least`. The number is as a text in *text. */
static bool seconds_until_or_reply(struct req *r, struct slice time, int64_t least, struct slice *text) {
    char *number = req_alloc(r, NUMBER_SIZE);
    int64_t unix_s, seconds;

    if (!parse_int_strict(time, &unix_s) || unix_s < 0 || unix_s > INT64_MAX / US_PER_S / 2) {
        reply_error(r, "ERR value is not an integer or out of range");
        return false;
    }
    seconds = (unix_s * US_PER_S - clock_db() + US_PER_S - 1) / US_PER_S;
    seconds = seconds < least ? least : seconds > INT32_MAX ? INT32_MAX : seconds;
    snprintf(number, NUMBER_SIZE, "%lld", (long long)seconds);
    *text = slice_str(number);
    return true;
}

static void set_argv(struct req *r, const struct slice *words, int count) {
    r->argv = req_alloc(r, (size_t)count * sizeof *words);
    memcpy(r->argv, words, (size_t)count * sizeof *words);
    r->argc = count;
}

/* ---- later, release ---- */

bool laravel_later(struct req *r, const struct slice *keys, const struct slice *args) {
    struct slice queue, delay;

    if (!laravel_queue_of(keys[0], SLICE(DELAYED), &queue))
        return laravel_refuse(r);
    if (!seconds_until_or_reply(r, args[0], 0, &delay))
        return false;
    set_argv(r,
             (const struct slice[]){ SLICE("addjob"), queue, args[1], SLICE("0"), SLICE("DELAY"), delay,
                                     SLICE("TTL"), SLICE(FOR_EVER) },
             8);
    return true;
}

bool laravel_release(struct req *r, const struct slice *keys, const struct slice *args) {
    struct slice queue, delay;

    if (!laravel_queue_of(keys[0], SLICE(DELAYED), &queue) || !is_key_of(keys[1], queue, SLICE(RESERVED)))
        return laravel_refuse(r);
    if (!seconds_until_or_reply(r, args[1], 0, &delay))
        return false;
    set_argv(r, (const struct slice[]){ SLICE("nack"), SLICE("DELAY"), delay, args[0] }, 4);
    r->stale_is_none = true;
    return true;
}

/* ---- pop ---- */

struct laravel_pop {
    struct lease_change lease;
    struct row_waiter jobs_back; /* until the jobs ahead are back */
    int64_t lease_s;
    struct job_key key;
    int64_t token;
    bool taken;
    bool changes; /* the job needs another lease than it has got */
    bool last;    /* it is the last attempt */
    struct slice payload;
    char member[MEMBER_SIZE];
};

/* The body with the number of earlier deliveries added to its field `attempts`, as Laravel's script does. */
static struct slice payload_of(struct req *r, const struct job *job) {
    int64_t before = (int64_t)job->nacks + job->additional_deliveries, attempts = 0;
    char number[NUMBER_SIZE], *copy = req_alloc(r, job->body.len + NUMBER_SIZE);
    struct slice value;
    size_t head;

    if (json_field(job->body, "attempts", &value) != JSON_FOUND || !parse_int_strict(value, &attempts) ||
        attempts < 0 || attempts > INT32_MAX) {
        memcpy(copy, job->body.ptr, job->body.len);
        return (struct slice){ copy, job->body.len };
    }
    head = (size_t)(value.ptr - job->body.ptr);
    snprintf(number, sizeof number, "%lld", (long long)(attempts + before));
    memcpy(copy, job->body.ptr, head);
    memcpy(copy + head, number, strlen(number));
    memcpy(copy + head + strlen(number), value.ptr + value.len, job->body.len - head - value.len);
    return (struct slice){ copy, job->body.len - value.len + strlen(number) };
}

/* The reply comes after the change of the lease. */
static void pop_deliver(struct taker *taker, const struct job *jobs, size_t count) {
    struct laravel_pop *p = taker->own;
    size_t len = JOBID_LEN;

    jobs_lease(taker->client, jobs, count);
    p->taken = true;
    p->key = jobs[0].key;
    p->token = job_token(jobs[0].nacks, jobs[0].additional_deliveries);
    p->last = jobs[0].last;
    p->lease.until = jobs[0].ready_at;
    p->changes = jobs[0].retry != 0 && jobs[0].retry != p->lease_s;
    p->payload = payload_of(taker->req, &jobs[0]);
    job_format_id(p->member, jobs[0].key, jobs[0].expires_at, jobs[0].retry);
    snprintf(p->member + len, sizeof p->member - len, ":%lld", (long long)p->token);
}

static void reply_no_payload(struct taker *taker) {
    reply_array(taker->req, 2);
    reply_null_bulk(taker->req);
    reply_null_bulk(taker->req);
}

static void pop_reply(struct req *r, struct laravel_pop *p, bool is_there) {
    if (is_there && r->client != NULL) {
        delivery_note_unsent(r, (struct delivery){ .key = p->key, .until = p->lease.until });
        reply_array(r, 2);
        reply_bulk(r, p->payload);
        reply_bulk_str(r, p->member);
    } else if (is_there) {
        undelivered_release(p->key, p->lease.until, p->last, NULL, NULL);
    } else {
        reply_array(r, 2);
        reply_null_bulk(r);
        reply_null_bulk(r);
    }
    req_end(r);
}

static void lease_changed(struct req *r, bool is_there) {
    pop_reply(r, CONTAINER_OF(job_ids(r)->own, struct laravel_pop, lease), is_there);
}

static void laravel_pop_ended(struct taker *taker) {
    struct laravel_pop *p = taker->own;
    struct req *r = taker->req;

    if (!p->taken)
        req_end(r);
    else if (p->changes)
        lease_change(r, p->key, p->token, p->lease_s, &p->lease);
    else
        pop_reply(r, p, true);
}

static const struct taker_kind laravel_kind = {
    .leases = true,
    .goes_on = true,
    .deliver = pop_deliver,
    .reply_nothing = reply_no_payload,
    .ended = laravel_pop_ended,
};

bool laravel_take(struct req *r, const struct slice *keys, const struct slice *args) {
    struct laravel_pop *p = req_alloc(r, sizeof *p);
    struct slice seconds;

    if (!is_key_of(keys[1], keys[0], SLICE(RESERVED)) || !is_key_of(keys[2], keys[0], SLICE(NOTIFY)))
        return laravel_refuse(r);
    if (!seconds_until_or_reply(r, args[0], 1, &seconds) || !parse_int_strict(seconds, &p->lease_s))
        return false;
    set_argv(r, (const struct slice[]){ SLICE("getjob"), SLICE("NOHANG"), SLICE("FROM"), keys[0] }, 4);
    p->lease.done = lease_changed;
    r->data = p;
    return true;
}

static void laravel_pop_begin(struct req *r, struct queue *q) {
    struct laravel_pop *p = r->data;
    struct taker_source source = { .q = q };
    struct taker *taker = taker_new(r, &source, 1);

    taker->kind = &laravel_kind;
    taker->own = p;
    taker->nohang = true;
    taker->count = 1;
    taker_begin(taker);
}

static void on_jobs_back(struct task *t) {
    struct req *r = REQ_OF_TASK(t);

    if (r->client == NULL)
        req_end(r);
    else
        laravel_pop_begin(r, queue_get(r->argv[3]));
}

/* GETJOB with a name like mail*1 is a pattern, and patterns match only queues that the user may read. laravel_pop()
 * takes the name as that of a queue. Its taker cannot take jobs ahead, so the server puts them back first. */
void laravel_pop(struct req *r) {
    struct laravel_pop *p = r->data;
    struct queue *q;

    if (!queue_rights_allow_or_reply(r, ACL_READ, r->argv[3]))
        return;
    q = queue_get(r->argv[3]);
    row_waiter_init(&p->jobs_back, &r->task, on_jobs_back, NULL);
    if (claim_ahead_return(q, &p->jobs_back))
        laravel_pop_begin(r, q);
}

/* ---- sizes and sorted sets ---- */

void laravel_size(struct req *r) {
    const struct queue *q = queue_find(r->argv[1]);

    req_int(r, q == NULL ? 0 : int64_at_least_zero(q->counters.total));
}

struct clearing {
    struct list_pages pages;
    struct req *req;
};

static void clear_ended(struct list_pages *p, const struct op_error *error) {
    struct req *r = CONTAINER_OF(p, struct clearing, pages)->req;

    if (error != NULL)
        req_db_error(r, error);
    else
        req_int(r, p->jobs);
}

void laravel_clear(struct req *r) {
    struct queue *q = queue_find(r->argv[1]);
    struct clearing *c = req_alloc(r, sizeof *c);

    if (q == NULL || q->id == 0) {
        req_int(r, 0);
        return;
    }
    *c = (struct clearing){
        .pages = { .user = r->task.turn.user, .q = q, .op = &op_empty_queue, .ended = clear_ended },
        .req = r,
    };
    bulk_begin(&c->pages);
}

static const struct {
    void (*handler)(struct req *r);
    bool delayed;
    bool reserved;
} set_commands[] = { { cmd_zadd, true, false }, { cmd_zrem, false, true }, { cmd_zcard, true, true } };

bool laravel_has(const struct command *cmd, bool delayed) {
    for (size_t i = 0; i < LENGTH(set_commands); i++) {
        if (set_commands[i].handler == cmd->handler)
            return delayed ? set_commands[i].delayed : set_commands[i].reserved;
    }
    return false;
}

static void reply_one_member(struct req *r, const struct added *job) {
    (void)job;
    reply_int(r, 1);
}

/* ZADD of a delayed job. It has no end, as the elements of lists. */
static void add_delayed(struct req *r, struct slice queue) {
    struct add *a = req_alloc(r, sizeof *a);
    struct slice delay;

    a->req = r;
    a->opt = (struct add_options)ADD_OPTIONS_UNSAID;
    a->opt.ttl = LIST_TTL;
    if (r->argc != 4)
        usage_error(r, SYNTAX_ERROR ": pgdisque supports no options of ZADD");
    else if (!seconds_until_or_reply(r, r->argv[2], 0, &delay) || !parse_int_strict(delay, &a->opt.delay))
        req_end(r);
    else if (queue_rights_allow_or_reply(r, ACL_WRITE, queue)) {
        set_argv(r, (const struct slice[]){ r->argv[0], queue, r->argv[3] }, 3);
        a->bodies = &r->argv[2];
        a->count = 1;
        a->reply = reply_one_member;
        add_start(a);
    }
}

/* ZREM of reserved members, which are IDs with tokens. */
static void acknowledge(struct req *r) {
    r->argv++;
    r->argc--;
    r->stale_is_none = true;
    cmd_ackjob(r);
}

static void count_members_of(struct req *r, struct slice name, bool delayed) {
    const struct queue *q = queue_find(name);

    if (queue_rights_allow_or_reply(r, ACL_READ, name))
        req_int(r, q == NULL ? 0 : delayed ? queue_delayed(q) : queue_active(q));
}

bool laravel_runs(struct req *r) {
    struct slice queue;
    bool delayed = laravel_queue_of(r->argv[1], SLICE(DELAYED), &queue);

    if (!delayed && !laravel_queue_of(r->argv[1], SLICE(RESERVED), &queue))
        return false;
    if (r->cmd->handler == cmd_zadd)
        add_delayed(r, queue);
    else if (r->cmd->handler == cmd_zrem)
        acknowledge(r);
    else
        count_members_of(r, queue, delayed);
    return true;
}

/* ---- waiting ---- */

bool laravel_is_notify(struct slice key, struct slice *queue) {
    return laravel_queue_of(key, SLICE(NOTIFY), queue);
}

/* The reply has an element, although the list does not exist. */
static void notify_deliver(struct taker *taker, const struct job *jobs, size_t count) {
    (void)jobs;
    (void)count;
    reply_array(taker->req, 2);
    reply_bulk(taker->req, taker->req->argv[1]);
    reply_bulk_str(taker->req, "1");
}

static void notify_reply_nothing(struct taker *taker) {
    reply_null_array(taker->req);
}

static void notify_ended(struct taker *taker) {
    (void)taker;
}

static const struct taker_kind notify_kind = {
    .watches = true,
    .deliver = notify_deliver,
    .reply_nothing = notify_reply_nothing,
    .ended = notify_ended,
};

void laravel_wait(struct req *r, struct slice queue, int64_t deadline_us) {
    struct taker_source source = { .q = queue_get(queue) };
    struct taker *taker = taker_new(r, &source, 1);

    taker->kind = &notify_kind;
    taker->count = 1;
    taker->deadline_us = deadline_us;
    taker_begin(taker);
}
