/* The arguments of AFTER and BATCH: job IDs, and earlier commands of a transaction. */
#include "commands/flow_args.h"

#include "base/log.h"
#include "batch/client_txn.h"
#include "commands/cmd_batch.h"
#include "commands/dispatch.h"
#include "jobs/add.h"
#include "jobs/id_list.h"
#include "queue/queue_rights.h"

/* Maximum bytes of a word that an error quotes. */
#define FLOW_WORD_SHOWN 64
#define TOO_MANY "LIMIT a job waits for at most 1000 other jobs"

static bool flow_args_is_number(struct slice text) {
    return text.len > 0 && text.ptr[0] == '#';
}

/* The earlier command #n of the transaction of r. */
static const struct req *flow_command_or_reply(struct req *r, struct slice text) {
    const struct client_txn *txn = r->task.client_txn;
    const struct task *found;
    int64_t number;

    if (!parse_int_strict((struct slice){ text.ptr + 1, text.len - 1 }, &number)) {
        job_id_refuse(r, text);
        return NULL;
    }
    found = txn == NULL ? NULL : txn->find(txn, number);
    if (found != NULL)
        return REQ_OF_TASK(found);
    if (txn == NULL)
        req_error(r, "ERR #%lld names a command of a transaction, and this command is in none",
                  (long long)number);
    else
        req_error(r, "ERR #%lld names no earlier command of the transaction", (long long)number);
    return NULL;
}

static bool flow_id_or_reply(struct req *r, struct slice text, struct job_ref *ref) {
    enum jobid_check check = jobid_parse(text, &ref->key);

    if (check == JOBID_BAD) {
        job_id_refuse(r, text);
        return false;
    }
    if (check == JOBID_UNKNOWN || !queue_rights_cover_id(r, ref->key.queue_id))
        ref->key.id = 0;
    return true;
}

bool flow_batch_or_reply(struct req *r, struct slice text, struct job_ref *batch) {
    const struct req *of;

    if (!flow_args_is_number(text))
        return flow_id_or_reply(r, text, batch);
    of = flow_command_or_reply(r, text);
    if (of == NULL)
        return false;
    if (batch_new_ref(of, batch))
        return true;
    req_error(r, "ERR %.*s names no BATCH NEW", (int)text.len, text.ptr);
    return false;
}

/* ---- AFTER ---- */

/* The jobs of an ADDJOB or ADDJOBS. NULL: it is another command, it was refused, or it has UNIQUE, so that it may find the
 * job of another command. */
static const struct add *flow_add_of(const struct req *of) {
    const struct add *a = of->cmd->handler == cmd_addjob || of->cmd->handler == cmd_addjobs ? of->data : NULL;

    return a != NULL && !of->failed && !addjob_is_unique(&a->opt) ? a : NULL;
}

/* How many jobs the argument names. 0: it has replied an error and ended r. */
static size_t flow_count_or_reply(struct req *r, struct slice text) {
    const struct req *of;
    struct job_ref ref;

    if (!flow_args_is_number(text))
        return 1;
    of = flow_command_or_reply(r, text);
    if (of == NULL)
        return 0;
    if (batch_new_ref(of, &ref))
        return 1;
    if (flow_add_of(of) != NULL)
        return flow_add_of(of)->count;
    req_error(r, "ERR %.*s names no command that adds jobs of its own", (int)text.len, text.ptr);
    return 0;
}

/* The jobs of an argument that flow_count_or_reply() has counted. */
static bool flow_refs_or_reply(struct req *r, struct slice text, struct job_ref *refs, size_t count) {
    const struct req *of;

    if (!flow_args_is_number(text))
        return flow_id_or_reply(r, text, refs);
    of = flow_command_or_reply(r, text);
    if (of == NULL)
        return false;
    if (batch_new_ref(of, refs))
        return true;
    for (size_t i = 0; i < count; i++)
        refs[i] = add_job_ref(flow_add_of(of), i);
    return true;
}

/* A queue that has no row yet is known by its name. */
static bool flow_is_readable(const struct req *r, const struct job_ref *ref) {
    return ref->id != NULL ? req_may_queue(r, ACL_READ, ref->q->name) : ref->key.id != 0;
}

static bool flow_after_or_reply(struct req *r, struct add_flow *f) {
    size_t count = 0, n;
    struct job_ref *refs;

    for (size_t i = 0; i < f->after.count; i++) {
        if ((n = flow_count_or_reply(r, f->after.words[i])) == 0)
            return false;
        count += n;
    }
    if (count > PREDECESSORS_MAX) {
        req_error(r, TOO_MANY);
        return false;
    }
    refs = req_alloc(r, count * sizeof *refs);
    for (size_t i = 0; i < f->after.count; i++, f->count += n) {
        n = flow_count_or_reply(r, f->after.words[i]);
        if (!flow_refs_or_reply(r, f->after.words[i], &refs[f->count], n))
            return false;
        if (!flow_is_readable(r, &refs[f->count])) {
            req_error(r, NO_PREDECESSOR);
            return false;
        }
    }
    f->predecessors = refs;
    return true;
}

/* ---- ON FAIL, BATCH ---- */

static bool flow_on_or_reply(struct req *r, struct add_flow *f) {
    static const char *const words[] = {
        [ON_FAIL_CANCEL] = "cancel", [ON_FAIL_CONTINUE] = "continue", [ON_FAIL_HOLD] = "hold"
    };

    if (f->on.count == 0)
        return true;
    for (size_t i = 0; i < LENGTH(words) && slice_is(f->on.words[0], "FAIL"); i++) {
        f->on_fail = (enum on_fail)i;
        if (slice_is(f->on.words[1], words[i]))
            return true;
    }
    usage_error(r, SYNTAX_ERROR ": ON FAIL must be cancel, continue or hold: got %s",
                log_escape(f->on.words[slice_is(f->on.words[0], "FAIL")], FLOW_WORD_SHOWN));
    return false;
}

bool flow_args_or_reply(struct req *r, struct add_options *o) {
    struct add_flow *f = &o->flow;

    if (!flow_on_or_reply(r, f) || !flow_after_or_reply(r, f))
        return false;
    if (f->batch.ptr == NULL)
        return true;
    if (!flow_batch_or_reply(r, f->batch, &f->of_batch))
        return false;
    if (flow_is_readable(r, &f->of_batch))
        return true;
    req_error(r, NO_BATCH);
    return false;
}
