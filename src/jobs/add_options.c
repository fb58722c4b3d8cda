/* ADDJOB options: parsing table, defaults, validation. */
#include "jobs/add_options.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/node.h"
#include "base/saturate.h"
#include "batch/replication_state.h"
#include "net/headers.h"
#include "queue/queue_rights.h"
#include "queue/settings.h"

#define GROUP_MAX 512

#define NOREPL_NODES "NOREPL Not enough reachable nodes for the requested replication level"

#define UNTIL_ERROR "ERR UNTIL must be START or END"

static const struct arg_option addjob_words[] = {
    { "REPLICATE", ARG_INT, offsetof(struct add_options, replicate), 1, 65535,
      "ERR REPLICATE must be between 1 and 65535" },
    { "TTL", ARG_INT, offsetof(struct add_options, ttl), 1, INT64_MAX, "ERR TTL must be a number > 0" },
    { "RETRY", ARG_INT, offsetof(struct add_options, retry), 0, INT64_MAX,
      "ERR RETRY time must be a non negative number" },
    { "DELAY", ARG_INT, offsetof(struct add_options, delay), 0, INT64_MAX,
      "ERR DELAY time must be a non negative number" },
    { "MAXLEN", ARG_INT, offsetof(struct add_options, maxlen), 1, INT64_MAX,
      "ERR MAXLEN must be a positive number" },
    { "PRIORITY", ARG_INT, offsetof(struct add_options, priority), 0, 255,
      "ERR PRIORITY must be a whole number between 0 and 255" },
    { "UNIQUE", ARG_BYTES, offsetof(struct add_options, unique), 1, UNIQUE_MAX, UNIQUE_ERROR },
    { "UNTIL", ARG_BYTES, offsetof(struct add_options, until), 0, 16, UNTIL_ERROR },
    { "REPLACE", ARG_FLAG, offsetof(struct add_options, replace), 0, 0, NULL },
    { "WITHOUTCOME", ARG_FLAG, offsetof(struct add_options, with_outcome), 0, 0, NULL },
    { "FOR", ARG_INT, offsetof(struct add_options, unique_for), 1, INT64_MAX,
      "ERR FOR must be a number of seconds > 0" },
    { "ASYNC", ARG_FLAG, offsetof(struct add_options, async), 0, 0, NULL },
    { "ATTEMPTS", ARG_INT, offsetof(struct add_options, attempts), 1, INT32_MAX,
      "ERR ATTEMPTS must be a number from 1 to 2147483647" },
    { "BACKOFF", ARG_INT, offsetof(struct add_options, backoff), 0, 3600,
      "ERR BACKOFF must be a number of seconds from 0 to 3600" },
    { "DEADQUEUE", ARG_BYTES, offsetof(struct add_options, deadqueue), 0, NAME_MAX_BYTES,
      "LIMIT DEADQUEUE must be at most 65536 bytes long" },
    { "GROUP", ARG_BYTES, offsetof(struct add_options, group), 1, GROUP_MAX,
      "ERR GROUP key must have 1 to 512 bytes" },
    { "HEADER", ARG_PAIRS, offsetof(struct add_options, header_pairs), 0, HEADERS_MAX, HEADERS_TOO_MANY },
    { "AFTER", ARG_WORDS, offsetof(struct add_options, flow.after), 1, PREDECESSORS_MAX,
      "LIMIT AFTER must be given once, with 1 to 1000 job IDs" },
    { "ON", ARG_WORDS, offsetof(struct add_options, flow.on), 2, 2,
      "ERR ON must be given once, as ON FAIL cancel, ON FAIL continue or ON FAIL hold" },
    { "BATCH", ARG_BYTES, offsetof(struct add_options, flow.batch), 1, NAME_MAX_BYTES,
      "ERR BATCH must be the ID of a batch or of one of its jobs" },
};

const struct arg_spec addjob_spec = { addjob_words, LENGTH(addjob_words), NULL, NULL, NULL };

/* Replaces options that were not given by the settings of the queue. */
static void fill_in(struct add_options *o, const struct queue *q) {
    if (o->ttl < 0)
        o->ttl = setting_in_force(q, SETTING_TTL);
    if (o->retry < 0)
        o->retry = setting_of(q, SETTING_RETRY);
    if (o->retry < 0)
        o->retry = setting_default_retry(o->ttl);
    if (o->maxlen < 0)
        o->maxlen = setting_in_force(q, SETTING_MAXLEN);
}

/* A job with RETRY 0 is never delivered again, so the queue's attempts and back-off do not apply to it. */
static void fill_in_attempts(struct add_options *o, const struct queue *q) {
    bool comes_back = o->retry > 0;

    if (o->attempts < 0)
        o->attempts = comes_back ? setting_in_force(q, SETTING_ATTEMPTS) : 0;
    if (o->backoff < 0)
        o->backoff = comes_back ? setting_in_force(q, SETTING_BACKOFF) : 0;
    if (o->deadqueue.ptr == NULL && o->attempts > 0 && comes_back)
        o->deadqueue = setting_deadqueue(q);
}

/* Limits times to the range of the columns, 68 years. */
static void limit_seconds(struct add_options *o) {
    o->ttl = int64_least(o->ttl, INT32_MAX);
    o->delay = int64_least(o->delay, INT32_MAX);
    o->unique_for = int64_least(o->unique_for, INT32_MAX);
    o->retry = int64_least(o->retry, INT32_MAX);
}

static const char *unique_conflict(const struct add_options *o) {
    if (o->unique.ptr == NULL && o->unique_for > 0)
        return "ERR FOR needs UNIQUE: it says how long that key stays taken";
    if (o->until.ptr != NULL && !slice_is(o->until, "start") && !slice_is(o->until, "end"))
        return UNTIL_ERROR;
    if (o->unique.ptr == NULL && (o->until.ptr != NULL || o->replace))
        return "ERR UNTIL and REPLACE need UNIQUE";
    return NULL;
}

static const char *flow_conflict(const struct add_options *o) {
    if (o->flow.on.count > 0 && o->flow.after.count == 0)
        return "ERR ON FAIL needs AFTER: it says what happens when one of those jobs fails";
    if (addjob_in_flow(o) && o->unique.ptr != NULL)
        return "ERR UNIQUE excludes AFTER and BATCH: the job of another client may have the key";
    return NULL;
}

/* A job of a group waits for the jobs before it, so a delay cannot be kept. */
static const char *group_conflict(const struct add_options *o) {
    if (o->group.ptr == NULL)
        return NULL;
    if (o->delay > 0)
        return "ERR GROUP and DELAY exclude each other: a job of a group comes when those before it have "
               "gone";
    return NULL;
}

void addjob_settle(struct add_options *o, const struct queue *q) {
    fill_in(o, q);
    fill_in_attempts(o, q);
    limit_seconds(o);
}

void addjob_keep(struct req *r, struct add_options *o) {
    char *copy;

    if (o->deadqueue.ptr == NULL)
        return;
    copy = req_alloc(r, o->deadqueue.len + 1);
    memcpy(copy, o->deadqueue.ptr, o->deadqueue.len);
    o->deadqueue.ptr = copy;
}

bool addjob_allow_or_reply(struct req *r, const struct add_options *o, struct slice queue) {
    return (!o->replace || queue_rights_allow_or_reply(r, ACL_READ_WRITE, queue)) &&
           (o->deadqueue.len == 0 || queue_rights_allow_or_reply(r, ACL_WRITE, o->deadqueue));
}

/* The error for options that together have no effect, or NULL. */
static const char *attempts_conflict(const struct add_options *o, struct slice queue) {
    if (o->retry == 0 && addjob_has_attempts(o))
        return "ERR ATTEMPTS, BACKOFF and DEADQUEUE need a RETRY greater than 0: a job with RETRY 0 never "
               "comes back";
    if (o->deadqueue.ptr != NULL && o->attempts == 0)
        return "ERR DEADQUEUE needs ATTEMPTS: without a limit no job is ever dead";
    if (o->deadqueue.ptr != NULL && o->deadqueue.len == 0)
        return NAME_EMPTY;
    if (o->deadqueue.ptr != NULL && slice_equal(o->deadqueue, queue))
        return "ERR DEADQUEUE must be another queue than the job's own";
    return NULL;
}

static const char *replicate_refusal(const struct add_options *o) {
    static char text[256];

    snprintf(text, sizeof text,
             NOREPL_NODES ": REPLICATE %lld needs %lld synchronous standbys, and the database has %d",
             (long long)o->replicate, (long long)o->replicate - 1, replication_count());
    return text;
}

/* The order of these checks is Disque's (job.c, addjobCommand). */
const char *addjob_conflict(const struct add_options *o, struct slice queue) {
    const char *refusal;

    if (queue.len == 0)
        return NAME_EMPTY;
    if (o->replicate > 1 && o->retry == 0)
        return "ERR With RETRY set to 0 please explicitly set  REPLICATE to 1 (at-most-once delivery)";
    if (o->delay >= o->ttl)
        return "ERR The specified DELAY is greater than TTL. Job refused since would never be delivered";
    if (o->replicate > 1 && !replication_reach((int)o->replicate - 1))
        return replicate_refusal(o);
    if (node_self()->leaving)
        return NOREPL_NODES ", since I'm unable to hold a copy of the message for the following reason: "
                            "I'm leaving the cluster";
    refusal = unique_conflict(o);
    if (refusal == NULL)
        refusal = flow_conflict(o);
    if (refusal == NULL)
        refusal = group_conflict(o);
    return refusal != NULL ? refusal : attempts_conflict(o, queue);
}

const char *addjob_refusal(const struct queue *q, const struct add_options *o, int64_t count) {
    if (o->maxlen > 0 && queue_counters_are_incomplete())
        return "LOADING pgdisque is counting the jobs of its queues, so MAXLEN cannot be checked yet: try "
               "later";
    if (o->maxlen > 0 && queue_len(q) + q->work->adds.accepted > o->maxlen - count)
        return "MAXLEN Queue is already longer than the specified MAXLEN count";
    if (q->pause & PAUSE_IN)
        return "PAUSED Queue paused in input, try later";
    return NULL;
}

const char *addjob_move_refusal(const struct queue *q, int64_t growth) {
    struct add_options o = ADD_OPTIONS_UNSAID;

    if (growth > 0)
        o.maxlen = setting_in_force(q, SETTING_MAXLEN);
    return addjob_refusal(q, &o, growth);
}

void addjob_write_rare(struct buf *b, const struct add_options *o) {
    json_begin(b);
    if (o->headers.ptr != NULL && !json_add_value(b, SLICE("headers"), o->headers))
        log_fatal("addjob", "the headers of a job are not JSON");
    if (addjob_is_until_start(o) && !json_add_value(b, SLICE("until_start"), SLICE("true")))
        log_fatal("addjob", "a constant is not JSON");
    if (o->replace &&
        !json_add_value(b, SLICE("replace_delay"), o->has_delay ? SLICE("true") : SLICE("false")))
        log_fatal("addjob", "a constant is not JSON");
    json_end(b);
}

bool addjob_is_plain(const struct add_options *o) {
    return o->delay == 0 && (o->ttl == LIST_TTL || (o->ttl == JOB_DEFAULT_TTL && o->priority == 0));
}

struct job_key addjob_key(const struct queue *q, const struct add_options *o, int64_t id) {
    return (struct job_key){ q->id, (int16_t)-o->priority, id };
}

/* A negative number is not in the order of creation. */
struct job_times addjob_times(const struct add_options *o, int64_t id, int64_t now) {
    struct job_times at = {
        .ready_at = now + o->delay * US_PER_S,
        .expires_at = job_created_us(id) + o->ttl * US_PER_S,
        .wake_at = TIME_NEVER,
    };

    if (!addjob_is_plain(o) || (id < 0 && o->ttl != LIST_TTL))
        at.wake_at = o->delay > 0 ? at.ready_at : at.expires_at;
    return at;
}
