/* REVIVE DELDEAD EDITDEAD: commands about dead jobs. */
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/add_options.h"
#include "jobs/dead_queue.h"
#include "jobs/id_list.h"
#include "net/args.h"
#include "queue/queue.h"
#include "queue/queue_rights.h"

#define AGE_ERROR "ERR OLDER and NEWER must be a number of seconds from 0 to 2147483647"

/* The options that select jobs. */
#define FILTER_WORDS(type)                                                           \
    { "COUNT", ARG_INT,   offsetof(type, filter.count),                              \
      1,       INT64_MAX, "ERR COUNT must be a number greater than zero" },          \
        { "OLDER", ARG_INT, offsetof(type, filter.older), 0, INT32_MAX, AGE_ERROR }, \
        { "NEWER", ARG_INT, offsetof(type, filter.newer), 0, INT32_MAX, AGE_ERROR }, \
        JOB_FILTER_WORDS(type, filter.match)

/* ---- REVIVE ---- */

struct revive_options {
    struct dead_filter filter;
    int64_t rate;
    struct slice to;
};

static const struct arg_option revive_words[] = {
    FILTER_WORDS(struct revive_options),
    { "RATE", ARG_INT, offsetof(struct revive_options, rate), 1, 1000000,
      "ERR RATE must be a number of jobs per second from 1 to 1000000" },
    { "TO", ARG_BYTES, offsetof(struct revive_options, to), 1, NAME_MAX_BYTES,
      "LIMIT the name of a queue must have 1 to 65536 bytes" },
};

static const struct arg_spec revive_spec = {
    revive_words, LENGTH(revive_words), NULL, NULL, NULL,
};

/* The queue that the jobs come to. False if it has replied an error. */
static bool take_target_or_reply(struct req *r, struct slice name, struct queue **to) {
    const struct add_options plain = ADD_OPTIONS_UNSAID;
    const char *refusal;

    if (name.ptr == NULL)
        return true;
    if (slice_equal(name, r->argv[1])) {
        req_error(r, "ERR TO must be another queue");
        return false;
    }
    if (!queue_rights_allow_or_reply(r, ACL_WRITE, name))
        return false;
    *to = queue_get(name);
    refusal = addjob_refusal(*to, &plain, 1);
    if (refusal != NULL)
        req_error(r, "%s", refusal);
    return refusal == NULL;
}

void cmd_revive(struct req *r) {
    struct revive_options options = { .filter = DEAD_FILTER_ALL };
    struct dead_revive how = { 0 };
    struct queue *q;
    int end;

    if (!args_parse_or_reply(r, 2, &revive_spec, &options, &end) ||
        !job_filter_or_reply(r, &options.filter.match))
        return;
    if (!take_target_or_reply(r, options.to, &how.to))
        return;
    how.filter = options.filter;
    how.rate = options.rate;
    q = queue_find(r->argv[1]);
    if (q == NULL || q->id == 0)
        req_int(r, 0);
    else
        dead_revive_queue(r, q, &how);
}

/* ---- DELDEAD ---- */

struct deldead_options {
    struct dead_filter filter;
};

static const struct arg_option deldead_words[] = { FILTER_WORDS(struct deldead_options) };

static const struct arg_spec deldead_spec = {
    deldead_words, LENGTH(deldead_words), NULL, NULL, NULL,
};

void cmd_deldead(struct req *r) {
    struct deldead_options options = { .filter = DEAD_FILTER_ALL };
    struct queue *q;
    int end;

    if (!args_parse_or_reply(r, 2, &deldead_spec, &options, &end) ||
        !job_filter_or_reply(r, &options.filter.match))
        return;
    q = queue_find(r->argv[1]);
    if (q == NULL || q->id == 0)
        req_int(r, 0);
    else
        dead_delete_queue(r, q, &options.filter);
}

/* ---- EDITDEAD ---- */

/* A negative number, or ptr NULL: not given. */
struct edit {
    struct slice body;
    int64_t retry;
    int64_t attempts;
    int64_t backoff;
};

static const struct arg_option edit_words[] = {
    { "BODY", ARG_BYTES, offsetof(struct edit, body), 0, INT64_MAX, NULL },
    { "RETRY", ARG_INT, offsetof(struct edit, retry), 1, INT32_MAX,
      "ERR RETRY must be a number of seconds from 1 to 2147483647" },
    { "ATTEMPTS", ARG_INT, offsetof(struct edit, attempts), 0, INT32_MAX,
      "ERR ATTEMPTS must be a number from 0 (no limit) to 2147483647" },
    { "BACKOFF", ARG_INT, offsetof(struct edit, backoff), 0, 3600,
      "ERR BACKOFF must be a number of seconds from 0 to 3600" },
};

static const struct arg_spec edit_spec = {
    edit_words, LENGTH(edit_words), NULL, NULL, NULL,
};

/* The edited job may be delivered again, so its change is as an addition to its queue. */
static bool edit_allow_or_reply(struct req *r) {
    return queue_rights_are_all(r) ||
           queue_rights_allow_or_reply(r, ACL_READ_WRITE, queue_find_id(job_ids(r)->keys[0].queue_id)->name);
}

void cmd_editdead(struct req *r) {
    struct edit given = { .retry = -1, .attempts = -1, .backoff = -1 }, *e;
    int end;

    if (!args_parse_or_reply(r, 2, &edit_spec, &given, &end) || !job_ids_or_reply(r, 1, 2))
        return;
    if (job_ids(r)->count == 0) {
        req_int(r, 0);
        return;
    }
    if (!edit_allow_or_reply(r))
        return;
    e = req_alloc(r, sizeof *e);
    *e = given;
    job_ids(r)->own = e;
    r->task.bytes = e->body.len;
    batch_add_row(&r->task, &op_edit_dead);
}

static void edit_encode(struct params *p, struct task *t) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));
    const struct edit *e = ids->own;

    params_set_int4(p, 0, ids->keys[0].queue_id);
    params_set_int2(p, 1, ids->keys[0].rank);
    params_set_int8(p, 2, ids->keys[0].id);
    params_set_bytea_or_null(p, 3, e->body);
    params_set_int4_or_null(p, 4, e->retry);
    params_set_int4_or_null(p, 5, e->attempts);
    params_set_int4_or_null(p, 6, e->backoff);
}

static void edit_done(struct task *t, const PGresult *rows) {
    req_int(REQ_OF_TASK(t), PQntuples(rows));
}

OPERATION(edit_dead, .alone = true, .encode = edit_encode, .on_end = edit_done, .fail = req_fail_task);
