/* EXISTS, TYPE, DEL, EXPIRE and TTL for the keys of client libraries. */
#include "commands/library_life.h"

#include "base/clock.h"
#include "batch/operations.h"
#include "commands/library_fields.h"
#include "jobs/bulk_in_txn.h"
#include "jobs/library_values.h"
#include "jobs/sorted_set.h"

const struct library_key *library_key_of(const struct req *r) {
    if (r->argc < 2 || key_may_exist(r, queue_find(r->argv[1])))
        return NULL;
    return library_key_find(r->argv[1]);
}

static bool kind_is_of_jobs(const struct library_key *k) {
    return k->kind == KIND_DELAYED_JOBS || k->kind == KIND_DEAD_JOBS;
}

static struct library_values *whole_value(struct req *r,
                                          void (*reply)(struct library_values *v, const PGresult *rows)) {
    struct library_values *v = library_fields(r, reply);

    library_fields_ask(v, r->argv[1], (struct slice){ 0 });
    return v;
}

static struct sorted_set *whole_set(struct req *r,
                                    void (*reply)(struct sorted_set *, const PGresult *, int64_t)) {
    struct sorted_set *s = req_alloc(r, sizeof *s);

    *s = (struct sorted_set){ .req = r, .name = r->argv[1], .range = SET_RANGE_ALL, .reply = reply };
    return s;
}

static void reply_any_row(struct library_values *v, const PGresult *rows) {
    reply_int(v->req, PQntuples(rows) > 0);
}

static void reply_any_member(struct sorted_set *s, const PGresult *rows, int64_t count) {
    (void)rows;
    reply_int(s->req, count > 0);
}

static void value_or_set(struct req *r, const struct library_key *k, void (*value)(struct library_values *v),
                         void (*set)(struct sorted_set *s)) {
    if (k->kind == KIND_QUEUE_NAMES)
        req_int(r, 0);
    else if (kind_is_of_jobs(k))
        set(whole_set(r, reply_any_member));
    else
        value(whole_value(r, reply_any_row));
}

void library_exists(struct req *r) {
    value_or_set(r, library_key_of(r), library_values_read, sorted_set_count);
}

void library_del(struct req *r, const struct library_key *k) {
    value_or_set(r, k, library_values_drop, sorted_set_remove_range);
}

static const char *type_of_kind(enum library_kind kind) {
    static const char *const names[] = {
        [KIND_STRING] = "string",   [KIND_HASH] = "hash",          [KIND_SET] = "set",
        [KIND_COUNTERS] = "string", [KIND_QUEUE_NAMES] = "set",    [KIND_DELAYED_JOBS] = "zset",
        [KIND_DEAD_JOBS] = "zset",  [KIND_QUEUE_DELAYED] = "zset", [KIND_QUEUE_RESERVED] = "zset",
    };

    return names[kind];
}

static void reply_type(struct req *r, bool exists) {
    reply_status(r, exists ? type_of_kind(library_key_find(r->argv[1])->kind) : "none");
}

static void reply_value_type(struct library_values *v, const PGresult *rows) {
    reply_type(v->req, PQntuples(rows) > 0);
}

static void reply_set_type(struct sorted_set *s, const PGresult *rows, int64_t count) {
    (void)rows;
    reply_type(s->req, count > 0);
}

void library_type(struct req *r, const struct library_key *k) {
    if (k->kind == KIND_QUEUE_NAMES) {
        reply_type(r, true);
        req_end(r);
    } else if (kind_is_of_jobs(k)) {
        sorted_set_count(whole_set(r, reply_set_type));
    } else {
        library_values_read(whole_value(r, reply_value_type));
    }
}

/* Sorted sets and queue names have no end. */
void library_expire(struct req *r, const struct library_key *k, int64_t at_us, bool only_endless) {
    struct library_values *v = whole_value(r, reply_any_row);

    v->expires_at = at_us;
    v->only_endless = only_endless;
    if (k->kind == KIND_QUEUE_NAMES || kind_is_of_jobs(k))
        req_int(r, 0);
    else
        library_values_date(v);
}

struct library_life {
    struct library_values values;
    int64_t unit;
    bool absolute;
};

static void reply_life(struct library_values *v, const PGresult *rows) {
    const struct library_life *l = CONTAINER_OF(v, struct library_life, values);
    int64_t at;

    if (PQntuples(rows) == 0) {
        reply_int(v->req, -2);
        return;
    }
    at = row_time(rows, 0, COL_READ_VALUES_EXPIRES_AT);
    if (at == TIME_NEVER)
        reply_int(v->req, -1);
    else
        reply_int(v->req, (at - (l->absolute ? 0 : clock_db()) + l->unit / 2) / l->unit);
}

void library_ttl(struct req *r, const struct library_key *k, int64_t unit, bool absolute) {
    struct library_life *l = req_alloc(r, sizeof *l);

    if (k->kind == KIND_QUEUE_NAMES || kind_is_of_jobs(k)) {
        req_int(r, -1);
        return;
    }
    l->values = *whole_value(r, reply_life);
    l->unit = unit;
    l->absolute = absolute;
    library_values_read(&l->values);
}
