/* EXPIRE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL EXPIRETIME PEXPIRETIME PERSIST: times to live of queued jobs. */

#include "base/clock.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/library_life.h"
#include "jobs/add_options.h"
#include "jobs/bulk.h"
#include "jobs/bulk_in_txn.h"
#include "jobs/list_life.h"
#include "net/args.h"
#include "queue/queue_iter.h"

#define MS_PER_S 1000

static int64_t now_ms(void) {
    return clock_db() / US_PER_MS;
}

/* ---- TTL family ---- */

struct ttl_form {
    struct life life;
    bool absolute;
    int64_t unit; /* milliseconds */
};

static void reply_ttl(struct life *l, int64_t until) {
    const struct ttl_form *form = CONTAINER_OF(l, struct ttl_form, life);
    struct req *r = l->req;
    int64_t ms;

    if (until == LIFE_NONE || until == LIFE_FOR_EVER) {
        req_int(r, until == LIFE_NONE ? -2 : -1);
        return;
    }
    ms = int64_at_least_zero(until / US_PER_MS - (form->absolute ? 0 : now_ms()));
    req_int(r, (ms + form->unit / 2) / form->unit);
}

static void ttl(struct req *r, bool absolute, int64_t unit) {
    struct ttl_form *form = req_alloc(r, sizeof *form);
    const struct library_key *k = library_key_of(r);
    struct queue *q = queue_find(r->argv[1]);

    if (k != NULL) {
        library_ttl(r, k, unit * US_PER_MS, absolute);
        return;
    }
    *form = (struct ttl_form){ { .found = reply_ttl, .req = r }, absolute, unit };
    if (key_may_exist(r, q))
        list_find_life(&form->life, q);
    else
        req_int(r, -2);
}

void cmd_ttl(struct req *r) {
    ttl(r, false, MS_PER_S);
}

void cmd_pttl(struct req *r) {
    ttl(r, false, 1);
}

void cmd_expiretime(struct req *r) {
    ttl(r, true, MS_PER_S);
}

void cmd_pexpiretime(struct req *r) {
    ttl(r, true, 1);
}

/* ---- EXPIRE family ---- */

struct expiring {
    struct list_pages pages;
    struct key_in_txn in_txn; /* replaces pages in a client transaction */
    struct life life;
    struct req *req;
    struct queue *q;
    int64_t at_ms;
    bool removes;
    /* Used if removes is false. As in struct list_pages. */
    int64_t expires_at;
    int64_t wake_at;
    int64_t before;
    bool was_key; /* when the command began */
    /* Options. */
    bool nx;
    bool xx;
    bool gt;
    bool lt;
};

/* A second try does not find jobs that a lost first try removed. The reply then depends on was_key. */
static void on_expiring_ended(struct list_pages *p, const struct op_error *error) {
    const struct expiring *e = CONTAINER_OF(p, struct expiring, pages);

    if (error != NULL)
        req_db_error(e->req, error);
    else
        req_int(e->req, p->jobs > 0 || (p->lost && e->was_key));
}

static void set_end(struct expiring *e, int64_t expires_at, int64_t before) {
    bool for_ever = expires_at - clock_db() > KEY_FOR_EVER_US;

    e->expires_at = for_ever ? clock_db() + LIST_TTL * US_PER_S : expires_at;
    e->wake_at = for_ever ? TIME_NEVER : expires_at;
    e->before = before;
}

static void expire_begin(struct expiring *e) {
    e->was_key = queue_is_key(e->q);
    e->pages = (struct list_pages){ .user = e->req->task.turn.user,
                                    .q = e->q,
                                    .op = e->removes ? &op_empty_list : &op_date_list,
                                    .expires_at = e->expires_at,
                                    .wake_at = e->wake_at,
                                    .before = e->before,
                                    .ended = on_expiring_ended };
    bulk_begin(&e->pages);
}

/* Translates the options to a range of expiry times. at_ms is in milliseconds. */
static void begin_in_txn(struct expiring *e) {
    struct key_in_txn *k = &e->in_txn;

    *k = (struct key_in_txn){ .queues = &e->q,
                              .count = 1,
                              .removes = e->removes,
                              .expires_at = e->expires_at,
                              .wake_at = e->wake_at,
                              .before = e->before,
                              .least = TIME_BEGINNING,
                              .most = TIME_NEVER };
    if (e->nx)
        k->least = LIFE_FOR_EVER;
    if (e->lt)
        k->least = (e->at_ms + 1) * US_PER_MS;
    if (e->xx)
        k->most = clock_db() + KEY_FOR_EVER_US;
    if (e->gt)
        k->most = e->at_ms * US_PER_MS - 1;
    key_in_txn(e->req, k);
}

/* True if the options allow the change. until: the latest expiry of the queued jobs. */
static bool expire_is_wanted(const struct expiring *e, int64_t until) {
    bool for_ever = until == LIFE_FOR_EVER;

    return !((e->nx && !for_ever) || (e->xx && for_ever) ||
             (e->gt && (for_ever || e->at_ms <= until / US_PER_MS)) ||
             (e->lt && !for_ever && e->at_ms >= until / US_PER_MS));
}

static void on_expire_life(struct life *l, int64_t until) {
    struct expiring *e = CONTAINER_OF(l, struct expiring, life);

    if (until != LIFE_NONE && expire_is_wanted(e, until))
        expire_begin(e);
    else
        req_int(e->req, 0);
}

static const struct arg_option expire_words[] = {
    { "NX", ARG_FLAG, offsetof(struct expiring, nx), 0, 0, NULL },
    { "XX", ARG_FLAG, offsetof(struct expiring, xx), 0, 0, NULL },
    { "GT", ARG_FLAG, offsetof(struct expiring, gt), 0, 0, NULL },
    { "LT", ARG_FLAG, offsetof(struct expiring, lt), 0, 0, NULL },
};

static bool refuse_option(struct req *r, int *at, void *out) {
    (void)out;
    usage_error(r, "ERR Unsupported option %.*s", (int)r->argv[*at].len, r->argv[*at].ptr);
    return false;
}

static const struct arg_spec expire_spec = { expire_words, LENGTH(expire_words), NULL, NULL, refuse_option };

static bool options_or_reply(struct req *r, struct expiring *e) {
    int end;

    if (!args_parse_or_reply(r, 3, &expire_spec, e, &end))
        return false;
    if (e->nx && (e->xx || e->gt || e->lt))
        usage_error(r, "ERR NX and XX, GT or LT options at the same time are not compatible");
    else if (e->gt && e->lt)
        usage_error(r, "ERR GT and LT options at the same time are not compatible");
    else
        return true;
    return false;
}

static bool time_or_reply(struct req *r, struct expiring *e, int64_t base_ms, int64_t unit) {
    int64_t n;

    if (!parse_int_strict(r->argv[2], &n))
        usage_invalid(r, 2, NOT_AN_INTEGER);
    else if (n > INT64_MAX / unit || n < INT64_MIN / unit || n * unit > INT64_MAX - base_ms)
        usage_error(r, "ERR invalid expire time in '%s' command", r->cmd->name);
    else {
        e->at_ms = base_ms + n * unit;
        return true;
    }
    return false;
}

/* False if the queue does not exist: 0 has been replied. */
static bool queue_or_reply(struct req *r, struct expiring *e) {
    e->req = r;
    e->q = queue_find(r->argv[1]);
    if (key_may_exist(r, e->q))
        return true;
    req_int(r, 0);
    return false;
}

static void expire_start(struct expiring *e) {
    if (req_in_txn(e->req)) {
        begin_in_txn(e);
    } else if (e->nx || e->xx || e->gt || e->lt) {
        e->life = (struct life){ .found = on_expire_life, .req = e->req };
        list_find_life(&e->life, e->q);
    } else {
        expire_begin(e);
    }
}

/* Limits the time, because all earlier or later times have the same effect. */
static void limit_time(struct expiring *e) {
    int64_t most_ms = now_ms() + LIST_TTL * (int64_t)MS_PER_S;

    e->at_ms = e->at_ms < 0 ? 0 : e->at_ms > most_ms ? most_ms : e->at_ms;
}

static void expire_expire(struct req *r, int64_t base_ms, int64_t unit) {
    struct expiring *e = req_alloc(r, sizeof *e);
    const struct library_key *k = library_key_of(r);

    if (!options_or_reply(r, e) || !time_or_reply(r, e, base_ms, unit))
        return;
    limit_time(e);
    if (k != NULL) {
        library_expire(r, k, e->at_ms * US_PER_MS, e->nx);
        return;
    }
    if (!queue_or_reply(r, e))
        return;
    e->removes = e->at_ms <= now_ms();
    set_end(e, e->at_ms * US_PER_MS, TIME_NEVER);
    expire_start(e);
}

void cmd_expire(struct req *r) {
    expire_expire(r, now_ms(), MS_PER_S);
}

void cmd_pexpire(struct req *r) {
    expire_expire(r, now_ms(), 1);
}

void cmd_expireat(struct req *r) {
    expire_expire(r, 0, MS_PER_S);
}

void cmd_pexpireat(struct req *r) {
    expire_expire(r, 0, 1);
}

/* ---- PERSIST ---- */

void cmd_persist(struct req *r) {
    struct expiring *e = req_alloc(r, sizeof *e);

    if (!queue_or_reply(r, e))
        return;
    set_end(e, TIME_NEVER, clock_db() + KEY_FOR_EVER_US);
    expire_start(e);
}
