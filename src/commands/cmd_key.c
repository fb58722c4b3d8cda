/* EXISTS TYPE KEYS SCAN RANDOMKEY DBSIZE MEMORY OBJECT: Redis' commands about keys, which are queues. */
#include <sodium.h>
#include "base/clock.h"
#include "base/glob.h"
#include "base/time_budget.h"
#include "commands/dispatch.h"
#include "commands/library_life.h"
#include "commands/subcommand.h"
#include "net/args.h"
#include "net/long_work.h"
#include "queue/queue.h"
#include "queue/queue_iter.h"
#include "queue/queue_rights.h"

/* As in Redis, a list without elements does not exist: see queue_is_key(). */
static const struct queue *find_key(struct slice name) {
    const struct queue *q = queue_find(name);

    return queue_is_key(q) ? q : NULL;
}

void cmd_exists(struct req *r) {
    int64_t count = 0;

    if (!args_names_or_reply(r, 1, NAMES_IN_A_TURN))
        return;
    if (library_key_of(r) != NULL) {
        library_exists(r);
        return;
    }
    for (int i = 1; i < r->argc; i++)
        count += find_key(r->argv[i]) != NULL;
    req_int(r, count);
}

void cmd_touch(struct req *r) {
    cmd_exists(r);
}

void cmd_type(struct req *r) {
    const struct library_key *k = library_key_of(r);

    if (k != NULL) {
        library_type(r, k);
        return;
    }
    reply_status(r, find_key(r->argv[1]) == NULL ? "none" : "list");
    req_end(r);
}

/* Counts the keys of a user with rights on some queues. */
struct key_count {
    struct long_work work;
    struct req *req;
    uint32_t slot;
    int64_t count;
};

static bool count_keys(struct long_work *w) {
    struct key_count *k = CONTAINER_OF(w, struct key_count, work);
    struct budget piece = budget_of(LONG_WORK_US);

    for (; k->slot < queue_slots() && !client_has_gone(k->req->client); k->slot++) {
        const struct queue *q = queue_at(k->slot);

        if (budget_is_over(&piece))
            return true;
        k->count += queue_is_key(q) && req_may_queue(k->req, ACL_READ, q->name);
    }
    req_int(k->req, k->count);
    return false;
}

void cmd_dbsize(struct req *r) {
    struct key_count *k;

    if (queue_rights_are_all(r)) {
        req_int(r, (int64_t)queue_keys());
        return;
    }
    k = req_alloc(r, sizeof *k);
    k->req = r;
    long_work_begin(&k->work, r->task.turn.user, count_keys);
}

/* ---- KEYS, SCAN, RANDOMKEY ---- */

struct key_filter {
    const struct req *req;
    struct slice match; /* ptr NULL: all */
    struct slice type;
};

/* The pattern, which may take long, is compared only with names that the user may see. */
static bool key_is_wanted(const struct queue *q, const void *how) {
    const struct key_filter *f = how;

    return queue_is_key(q) && (f->type.ptr == NULL || slice_is(f->type, "list")) &&
           req_may_queue(f->req, ACL_READ, q->name) &&
           (f->match.ptr == NULL || glob_match(f->match, q->name, false));
}

void cmd_keys(struct req *r) {
    struct key_filter *filter = req_alloc(r, sizeof *filter);

    filter->req = r;
    filter->match = r->argv[1];
    if (args_patterns_or_reply(r, 1, 1))
        queue_iter_all(r, key_is_wanted, filter, "");
}

#define SCAN_COUNT_MAX (INT64_MAX / SCAN_EFFORT)

struct key_scan_options {
    struct key_filter filter;
    int64_t count;
};

static const struct arg_option keys_scan_words[] = {
    { "MATCH", ARG_BYTES, offsetof(struct key_scan_options, filter.match), 0, PATTERN_MAX,
      "LIMIT a pattern must be at most 1024 bytes long" },
    { "COUNT", ARG_REDIS_INT, offsetof(struct key_scan_options, count), INT64_MIN, INT64_MAX,
      NOT_AN_INTEGER },
    { "TYPE", ARG_BYTES, offsetof(struct key_scan_options, filter.type), 0, INT64_MAX, NULL },
};

static const struct arg_spec keys_scan_spec = { keys_scan_words, LENGTH(keys_scan_words), NULL, NULL, NULL };

void cmd_scan(struct req *r) {
    struct key_scan_options *o = req_alloc(r, sizeof *o);
    int64_t cursor;
    int end;

    *o = (struct key_scan_options){ .filter.req = r, .count = 10 };
    if (!parse_int_strict(r->argv[1], &cursor) || cursor < 0) {
        usage_invalid(r, 1, "ERR invalid cursor");
        return;
    }
    if (!args_parse_or_reply(r, 2, &keys_scan_spec, o, &end))
        return;
    if (o->count < 1) {
        usage_error(r, SYNTAX_ERROR ": COUNT must be greater than 0");
        return;
    }
    o->count = o->count < SCAN_COUNT_MAX ? o->count : SCAN_COUNT_MAX;
    queue_iter_page(r,
                    &(struct queue_page){ .slot = queue_iter_slot(cursor),
                                          .count = o->count,
                                          .effort = o->count * SCAN_EFFORT },
                    key_is_wanted, &o->filter);
}

/* Finds the first key after a random index. Takes several turns if few of many queues are keys. */
struct random_key {
    struct long_work work;
    struct req *req;
    uint32_t slot;
    uint32_t looked;
};

/* name NULL: there is no key. Returns false, as the end of the work. */
static bool reply_random_key(struct req *r, const struct slice *name) {
    if (name != NULL)
        reply_bulk(r, *name);
    else
        reply_null_bulk(r);
    req_end(r);
    return false;
}

static bool find_random_key(struct long_work *w) {
    struct random_key *k = CONTAINER_OF(w, struct random_key, work);
    const struct key_filter all = { .req = k->req };
    struct budget piece = budget_of(LONG_WORK_US);
    const struct queue *q;

    for (; k->looked < queue_slots() && queue_keys() > 0; k->looked++) {
        if (budget_is_spent(&piece))
            return true;
        q = queue_at(k->slot++ % queue_slots());
        if (q != NULL && key_is_wanted(q, &all))
            return reply_random_key(k->req, &q->name);
    }
    return reply_random_key(k->req, NULL);
}

void cmd_randomkey(struct req *r) {
    struct random_key *k = req_alloc(r, sizeof *k);

    *k = (struct random_key){ .req = r, .slot = randombytes_uniform(queue_slots() + 1) };
    long_work_begin(&k->work, r->task.turn.user, find_random_key);
}

/* ---- MEMORY, OBJECT ---- */

/* The memory that this server uses for the queue. The jobs are in Postgres. */
static void memory_usage(struct req *r) {
    const struct queue *q = find_key(r->argv[2]);
    int64_t samples;

    if (r->argc == 5 && !slice_is(r->argv[3], "samples"))
        usage_unexpected(r, 3);
    else if (r->argc == 5 && !parse_int_strict(r->argv[4], &samples))
        usage_invalid(r, 4, NOT_AN_INTEGER);
    else if (q != NULL)
        req_int(r, (int64_t)(sizeof *q + q->name.len + q->scan.key_cap * sizeof *q->scan.keys));
    else {
        reply_null_bulk(r);
        req_end(r);
    }
}

void cmd_memory(struct req *r) {
    static const struct subcommand members[] = {
        { "USAGE", 1, 1, memory_usage },
        { "USAGE", 3, 3, memory_usage },
    };

    subcommand_run(r, members, LENGTH(members));
}

/* NULL if there is no such key: null has been replied. */
static const struct queue *find_object_or_reply(struct req *r) {
    const struct queue *q = find_key(r->argv[2]);

    if (q == NULL) {
        reply_null_bulk(r);
        req_end(r);
    }
    return q;
}

static void object_encoding(struct req *r) {
    if (find_object_or_reply(r) == NULL)
        return;
    reply_bulk_str(r, "quicklist"); /* the encoding of Redis' longer lists */
    req_end(r);
}

static void object_refcount(struct req *r) {
    if (find_object_or_reply(r) != NULL)
        req_int(r, 1);
}

static void object_idletime(struct req *r) {
    const struct queue *q = find_object_or_reply(r);

    if (q != NULL)
        req_int(r, (clock_mono() - q->counters.used_us) / US_PER_S);
}

static void object_freq(struct req *r) {
    if (find_object_or_reply(r) != NULL)
        req_error(r, "ERR An LFU maxmemory policy is not selected, access frequency not tracked.");
}

void cmd_object(struct req *r) {
    static const struct subcommand members[] = {
        { "ENCODING", 1, 1, object_encoding },
        { "REFCOUNT", 1, 1, object_refcount },
        { "IDLETIME", 1, 1, object_idletime },
        { "FREQ", 1, 1, object_freq },
    };

    subcommand_run(r, members, LENGTH(members));
}
