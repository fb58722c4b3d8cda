/* SADD SREM SMEMBERS SISMEMBER SCARD SSCAN: sets of client libraries, and the names of the queues as a set. */
#include <string.h>

#include "base/glob.h"
#include "base/time_budget.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/library_fields.h"
#include "commands/library_keys.h"
#include "commands/member_scan.h"
#include "net/args.h"
#include "net/long_work.h"
#include "queue/queue_iter.h"

/* ---- names of queues ---- */

/* The set "queues" has the queues "queue:NAME". The set "resque:queues" has the queues "resque:queue:NAME". */
static bool names_the_queues(const struct req *r) {
    return library_key_find(r->argv[1])->kind == KIND_QUEUE_NAMES;
}

/* The member that represents q in the set r->argv[1]. False if q is not in the set, or if the user may not read it. */
static bool member_of_queue(const struct req *r, const struct queue *q, struct slice *member) {
    static const struct slice word = { "queue:", 6 };
    size_t space = r->argv[1].len - strlen("queues");

    if (q == NULL || !q->shown || q->hidden || q->name.len <= space + word.len ||
        memcmp(q->name.ptr, r->argv[1].ptr, space) != 0 ||
        memcmp(q->name.ptr + space, word.ptr, word.len) != 0 || !req_may_queue(r, ACL_READ, q->name))
        return false;
    *member = (struct slice){ q->name.ptr + space + word.len, q->name.len - space - word.len };
    return true;
}

/* The set contains the queue that the member r->argv[2] represents. */
static bool is_queue_name(struct req *r, struct slice member) {
    struct slice set = r->argv[1], found;
    size_t space = set.len - strlen("queues"), len = space + strlen("queue:") + member.len;
    char *name = req_alloc(r, len + 1);

    memcpy(name, set.ptr, space);
    memcpy(name + space, "queue:", strlen("queue:"));
    memcpy(name + len - member.len, member.ptr, member.len);
    return member_of_queue(r, queue_find((struct slice){ name, len }), &found);
}

/* Counts or lists the names of the queues, in several turns if needed. */
struct queue_names {
    struct long_work work;
    struct req *req;
    uint32_t slot;
    size_t count;
    bool lists;
    struct buf found;
};

static void queue_names_end(struct queue_names *n) {
    if (n->lists) {
        reply_array(n->req, n->count);
        buf_append(reply_buf(n->req), buf_ptr(&n->found), buf_len(&n->found));
    } else {
        reply_int(n->req, (int64_t)n->count);
    }
    buf_free(&n->found);
    req_end(n->req);
}

static bool queue_names_step(struct long_work *w) {
    struct queue_names *n = CONTAINER_OF(w, struct queue_names, work);
    struct budget piece = budget_of(LONG_WORK_US);
    struct slice member;

    for (; n->slot < queue_slots() && !client_has_gone(n->req->client); n->slot++) {
        if (budget_is_over(&piece))
            return true;
        if (!member_of_queue(n->req, queue_at(n->slot), &member))
            continue;
        n->count++;
        if (n->lists)
            resp_bulk(&n->found, member);
    }
    queue_names_end(n);
    return false;
}

static void queue_names(struct req *r, bool lists) {
    struct queue_names *n = req_alloc(r, sizeof *n);

    n->req = r;
    n->lists = lists;
    long_work_begin(&n->work, r->task.turn.user, queue_names_step);
}

/* ---- changes ---- */

static void reply_new_members(struct library_values *v, const PGresult *rows) {
    reply_int(v->req, library_fields_new(v, rows));
}

static struct library_values *set_members(struct req *r,
                                          void (*reply)(struct library_values *, const PGresult *)) {
    struct library_values *v = library_fields(r, reply);

    for (int i = 2; i < r->argc; i++)
        library_fields_add(v, r->argv[1], r->argv[i], SLICE(""));
    return v;
}

/* A push makes the queue exist, so a name of a queue needs no SADD. */
void cmd_sadd(struct req *r) {
    if (!library_keys_or_end(r))
        return;
    if (names_the_queues(r))
        req_int(r, 0);
    else
        library_values_put(set_members(r, reply_new_members));
}

static void reply_removed_members(struct library_values *v, const PGresult *rows) {
    int64_t count = 0;

    for (int i = 0; i < PQntuples(rows); i++)
        count += row_bool(rows, i, COL_DROP_VALUES_LIVED);
    reply_int(v->req, count);
}

/* The server forgets an unused queue by itself. */
void cmd_srem(struct req *r) {
    int64_t count = 0;

    if (!library_keys_or_end(r))
        return;
    if (!names_the_queues(r)) {
        library_values_drop(set_members(r, reply_removed_members));
        return;
    }
    for (int i = 2; i < r->argc; i++)
        count += is_queue_name(r, r->argv[i]);
    req_int(r, count);
}

/* ---- reads ---- */

static void reply_member_count(struct library_values *v, const PGresult *rows) {
    reply_int(v->req, PQntuples(rows));
}

static void reply_set_members(struct library_values *v, const PGresult *rows) {
    reply_array(v->req, (size_t)PQntuples(rows));
    for (int i = 0; i < PQntuples(rows); i++)
        reply_bulk(v->req, row_bytes(rows, i, COL_READ_VALUES_FIELD));
}

static void read_set(struct req *r, struct slice member,
                     void (*reply)(struct library_values *v, const PGresult *rows)) {
    struct library_values *v = library_fields(r, reply);

    library_fields_ask(v, r->argv[1], member);
    library_values_read(v);
}

void cmd_smembers(struct req *r) {
    if (!library_keys_or_end(r))
        return;
    if (names_the_queues(r))
        queue_names(r, true);
    else
        read_set(r, (struct slice){ 0 }, reply_set_members);
}

void cmd_scard(struct req *r) {
    if (!library_keys_or_end(r))
        return;
    if (names_the_queues(r))
        queue_names(r, false);
    else
        read_set(r, (struct slice){ 0 }, reply_member_count);
}

void cmd_sismember(struct req *r) {
    if (!library_keys_or_end(r))
        return;
    if (names_the_queues(r))
        req_int(r, is_queue_name(r, r->argv[2]));
    else
        read_set(r, r->argv[2], reply_member_count);
}

/* ---- SSCAN ---- */

struct sscan {
    struct library_values values;
    const struct req *req;
    struct slice match; /* ptr NULL: all */
    int64_t count;
};

static const struct arg_option sscan_words[] = {
    { "MATCH", ARG_BYTES, offsetof(struct sscan, match), 0, PATTERN_MAX,
      "LIMIT a pattern must be at most 1024 bytes long" },
    { "COUNT", ARG_REDIS_INT, offsetof(struct sscan, count), 1, INT64_MAX, SYNTAX_ERROR },
};

static const struct arg_spec sscan_spec = { sscan_words, LENGTH(sscan_words), NULL, NULL, NULL };

/* All members in one step: a set has at most LIBRARY_FIELDS_MAX. */
static void reply_scanned(struct library_values *v, const PGresult *rows) {
    const struct sscan *s = CONTAINER_OF(v, struct sscan, values);
    struct member_scan *found = member_scan_new(v->req, s->match, 0, (size_t)PQntuples(rows));

    for (int i = 0; i < PQntuples(rows); i++)
        member_scan_add(found, row_bytes(rows, i, COL_READ_VALUES_FIELD), (struct slice){ 0 });
    member_scan_reply(found);
}

static bool queue_name_is_wanted(const struct queue *q, const void *how) {
    const struct sscan *s = how;
    struct slice member;

    return member_of_queue(s->req, q, &member) &&
           (s->match.ptr == NULL || glob_match(s->match, member, false));
}

static void sscan_queue_names(struct req *r, const struct sscan *s, int64_t cursor) {
    struct queue_page page = { .slot = queue_iter_slot(cursor),
                               .count = SCAN_QUEUES_MAX,
                               .effort = SCAN_QUEUES_MAX };

    page.skip = r->argv[1].len - strlen("queues") + strlen("queue:");
    queue_iter_page(r, &page, queue_name_is_wanted, s);
}

void cmd_sscan(struct req *r) {
    struct sscan *s = req_alloc(r, sizeof *s);
    int64_t cursor;

    if (!library_scan_or_end(r, &sscan_spec, s, &cursor))
        return;
    s->req = r;
    if (names_the_queues(r)) {
        sscan_queue_names(r, s, cursor);
        return;
    }
    s->values = *library_fields(r, reply_scanned);
    s->values.goes_on = true;
    library_fields_ask(&s->values, r->argv[1], (struct slice){ 0 });
    library_values_read(&s->values);
}
