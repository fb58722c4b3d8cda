/* MULTI, EXEC, DISCARD: runs queued commands as one transaction of the database. */
#include "commands/cmd_multi.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time_budget.h"
#include "batch/client_txn.h"
#include "commands/dispatch.h"
#include "commands/library_life.h"
#include "commands/multi.h"
#include "commands/rights.h"
#include "jobs/bootstrap.h"
#include "net/long_work.h"
#include "queue/delivery.h"

/* Commands from memory before the last change see only the changes before them. So they all run in the turn of the commit.
 * After this time the others run in later turns, and see all changes. */
#define IN_PLACE_US (10 * US_PER_MS)

enum exec_phase {
    EXEC_PREPARING, /* handlers run; their tasks join the client transaction */
    EXEC_SENT,      /* the client transaction was given to the batch */
    EXEC_ENDING,    /* committed: tasks end, and commands that are answered from memory run */
    EXEC_FAILED,    /* not committed: tasks end one by one */
};

struct exec {
    struct req *req;
    struct client *client; /* NULL after it has disconnected */
    struct client_txn client_txn;
    struct req **reqs; /* in the order of the commands */
    bool *joins;       /* for each command: its task joins the client transaction */
    size_t count;
    size_t next;                /* all commands before it have ended */
    struct long_work preparing; /* calls handlers */
    struct buf replies;         /* of the commands before it; counted in the memory of the request */
    struct long_work work;      /* ends commands */
    struct budget in_place;     /* of the turn of the commit */
    enum exec_phase phase;
    bool advancing;   /* work has not ended */
    bool in_turns;    /* in_place was over */
    bool started;     /* preparing: all handlers have been called */
    size_t called;    /* preparing: the handlers of the commands before it have been called */
    size_t live;      /* commands whose handlers were called and that have not ended */
    size_t joined;    /* commands of these whose tasks have joined the client transaction */
    struct buf error; /* replaces all replies; empty: none */
};

/* EXISTS and TYPE are answered from memory, except for a key of a library. The answer changes when a queue with the name of
 * that key gets or loses its row. */
static bool wants_to_join(const struct req *r) {
    bool of_library =
        (r->cmd->handler == cmd_exists || r->cmd->handler == cmd_type) && library_key_of(r) != NULL;

    return (r->cmd->flags & CMD_JOINS) != 0 || of_library;
}

/* ---- end ---- */

/* e is in the memory of its request. */
static void multi_end(struct exec *e) {
    struct req *r = e->req;

    if (e->client != NULL)
        e->client->exec = NULL;
    for (size_t i = 0; i < e->count; i++)
        req_free(e->reqs[i]);
    free(e->reqs);
    buf_free(&e->replies);
    buf_free(&e->error);
    req_end(r);
}

static void end_with_replies(struct exec *e) {
    if (e->client != NULL && reply_buf(e->req) == &e->client->out)
        deliveries_placed(e->client, e->req);
    req_hold(e->req, 0);
    reply_take(e->req, &e->replies);
    multi_end(e);
}

static void end_with_error(struct exec *e) {
    reply_error(e->req, "%.*s", (int)buf_len(&e->error), buf_ptr(&e->error));
    multi_end(e);
}

/* ---- execution in order ---- */

static bool has_run(const struct req *r) {
    return r->done || r->owner_on_end != NULL;
}

/* Runs a command that is answered from memory. Does nothing if the client has disconnected. */
static void run_command(struct exec *e, struct req *r) {
    if (client_has_gone(e->client)) {
        r->done = true;
        return;
    }
    e->live++;
    r->client = e->client;
    command_run(e->client, r);
}

/* The memory of the replies is that of the EXEC, so that clients_evict() can free it. */
static void take_reply(struct exec *e, struct req *r) {
    if (e->client != NULL)
        buf_append(&e->replies, buf_ptr(&r->own), buf_len(&r->own));
    buf_free(&r->own);
    req_settle(r);
}

/* Ends the commands in their order, as far as their replies are known. Runs commands without statements between them.
 * False: the time is over. */
static bool end_commands(struct exec *e) {
    struct budget piece = e->live > 0 && !e->in_turns ? e->in_place : budget_of(LONG_WORK_US);

    for (; e->next < e->count; e->next++) {
        struct req *r = e->reqs[e->next];
        bool runs_now = !e->joins[e->next] && !has_run(r);

        if (runs_now && budget_is_over(&piece)) {
            e->in_turns = true;
            return false;
        }
        if (runs_now)
            run_command(e, r);
        if (!r->done)
            break;
        take_reply(e, r);
    }
    return true;
}

static bool advance_step(struct long_work *w) {
    struct exec *e = CONTAINER_OF(w, struct exec, work);
    bool has_time = end_commands(e);

    req_hold(e->req, e->replies.cap);
    if (!has_time)
        return true;
    e->advancing = false;
    if (e->next == e->count)
        end_with_replies(e);
    return false;
}

/* Goes on until a command waits for the database, and ends e after the last command. Takes several turns if needed. */
static void multi_advance(struct exec *e) {
    if (e->advancing)
        return;
    e->advancing = true;
    long_work_begin(&e->work, e->client_txn.turn.user, advance_step);
}

/* ---- transaction ---- */

static void multi_committed(struct exec *e) {
    e->phase = EXEC_ENDING;
    e->in_place = budget_of(IN_PLACE_US);
    multi_advance(e);
}

static void multi_fail(struct exec *e) {
    e->phase = EXEC_FAILED;
}

static void refused(struct exec *e, const struct op_error *error) {
    const char *reply = db_error_reply(error);

    if (reply != NULL)
        buf_printf(&e->error, "%s", reply);
    else
        buf_printf(
            &e->error,
            "DBERR nothing of the transaction was done, because the database refused it: %s (SQLSTATE %s)",
            error->message, error->sqlstate);
    multi_fail(e);
}

static void unknown(struct exec *e) {
    buf_printf(&e->error, "UNKNOWN the connection to the database was lost: the transaction took effect as a "
                          "whole, or not at all");
    multi_fail(e);
}

static void on_client_txn_end(struct client_txn *ct, enum client_txn_end how, const struct op_error *error) {
    struct exec *e = CONTAINER_OF(ct, struct exec, client_txn);

    if (how == CLIENT_TXN_REFUSED) {
        refused(e, error);
    } else if (how == CLIENT_TXN_UNKNOWN) {
        unknown(e);
    } else {
        multi_committed(e);
    }
}

static bool is_replicated(const struct exec *e) {
    for (size_t i = 0; i < e->client_txn.count; i++)
        if (e->client_txn.tasks[i]->op->commit == COMMIT_REPLICATED)
            return true;
    return false;
}

static void collect_tasks(struct exec *e) {
    struct client_txn *ct = &e->client_txn;

    ct->tasks = req_alloc(e->req, e->count * sizeof *ct->tasks);
    for (size_t i = 0; i < e->count; i++)
        if (e->joins[i] && !e->reqs[i]->done)
            ct->tasks[ct->count++] = &e->reqs[i]->task;
    ct->commit = is_replicated(e) ? COMMIT_REPLICATED : COMMIT_ORDINARY;
}

static void check_size(struct exec *e) {
    if (buf_len(&e->error) > 0)
        return;
    if (client_txn_statements(&e->client_txn) > CLIENT_TXN_MAX_STATEMENTS)
        buf_printf(
            &e->error,
            "LIMIT the transaction has too many statements: 1000 are allowed. Commands of one kind that "
            "follow each other, ADDJOBs or ACKJOBs, are one");
    else if (e->client_txn.edges > CLIENT_TXN_MAX_EDGES)
        buf_printf(&e->error,
                   "LIMIT the jobs of the transaction wait for too many jobs: 100000 in all are allowed. "
                   "Let a job wait for the first group of jobs, and the second group for this job");
    else if (client_txn_rows(&e->client_txn) > CLIENT_TXN_MAX_ROWS)
        buf_printf(&e->error,
                   "LIMIT the commands of the transaction name too many jobs and queues: 200000 in all "
                   "are allowed");
    else if (client_txn_size(&e->client_txn) > OP_MAX_BYTES)
        buf_printf(&e->error, "LIMIT the transaction is too large: the database can take 768 MB");
}

/* Called when all handlers have been called, and all queues have rows in the database. */
static void prepared(struct exec *e) {
    static const struct op_error discarded = { "00000", "another command was refused" };

    collect_tasks(e);
    check_size(e);
    if (buf_len(&e->error) > 0) {
        multi_fail(e);
        if (e->live == 0)
            end_with_error(e);
        else
            client_txn_refuse(&e->client_txn, &discarded);
    } else if (e->client_txn.count > 0) {
        e->phase = EXEC_SENT;
        client_txn_send(&e->client_txn);
    } else {
        multi_committed(e);
    }
}

static void multi_settle(struct exec *e) {
    if (e->started && e->live == e->joined)
        prepared(e);
}

static void on_joined(struct client_txn *ct) {
    struct exec *e = CONTAINER_OF(ct, struct exec, client_txn);

    e->joined++;
    multi_settle(e);
}

/* The reply of a refused command is an error: "-CODE text" and a line end. */
static void note_refusal(struct exec *e, const struct req *r) {
    if (r->failed && buf_len(&e->error) == 0 && buf_len(&r->own) > 3)
        buf_printf(&e->error, "EXECABORT Transaction discarded because of: %.*s", (int)buf_len(&r->own) - 3,
                   buf_ptr(&r->own) + 1);
}

static void on_multi_end(struct req *r) {
    struct exec *e = r->exec->data;

    e->live--;
    r->task.client_txn = NULL;
    switch (e->phase) {
    case EXEC_PREPARING:
        note_refusal(e, r);
        multi_settle(e);
        break;
    case EXEC_SENT:
        break;
    case EXEC_ENDING:
        multi_advance(e);
        break;
    case EXEC_FAILED:
        if (e->live == 0)
            end_with_error(e);
        break;
    }
}

/* The rights may have changed since r was queued. */
static bool multi_allows(struct exec *e, struct req *r) {
    struct buf denial = { 0 };
    bool allowed;

    req_set_user(r, e->client->user);
    allowed = r->user->all || rights_allow(r, e->client, r->cmd, &denial);
    if (!allowed)
        buf_printf(&e->error,
                   "EXECABORT Transaction discarded because of: NOPERM ACLs rules changed between the moment "
                   "the transaction was accumulated and the EXEC call. This command is no longer allowed for "
                   "the following reason: %.*s",
                   (int)buf_len(&denial), buf_ptr(&denial));
    buf_free(&denial);
    return allowed;
}

/* Calls the handler of the next command, unless the command is answered from memory. */
static void multi_call(struct exec *e) {
    struct req *r = e->reqs[e->called];

    r->exec = e->req;
    r->on_end = on_multi_end;
    r->proto = e->req->proto;
    r->client = e->client;
    r->task.client_txn = &e->client_txn;
    e->joins[e->called] = multi_allows(e, r) && wants_to_join(r);
    if (!e->joins[e->called]) {
        r->task.client_txn = NULL;
        return;
    }
    e->live++;
    command_run(e->client, r);
}

/* After an error nothing will be done, so no further handler is called. */
static bool multi_prepare(struct long_work *w) {
    struct exec *e = CONTAINER_OF(w, struct exec, preparing);
    struct budget piece = budget_of(LONG_WORK_US);

    for (; e->called < e->count && buf_len(&e->error) == 0; e->called++) {
        if (budget_is_over(&piece))
            return true;
        if (client_has_gone(e->client))
            buf_printf(&e->error, "the client has gone");
        else
            multi_call(e);
    }
    e->started = true;
    multi_settle(e);
    return false;
}

static const struct task *exec_find(const struct client_txn *ct, int64_t number) {
    const struct exec *e = CONTAINER_OF(ct, struct exec, client_txn);

    return number >= 1 && (uint64_t)number <= e->called ? &e->reqs[number - 1]->task : NULL;
}

static bool exec_has_counters_or_reply(struct req *r, const struct multi *m) {
    if (!m->needs_counters || bootstrap_counters() != COUNTERS_LATE)
        return true;
    reply_error(r, "EXECABORT Transaction discarded because of: LOADING pgdisque is counting the jobs of its "
                   "queues, try later");
    return false;
}

static void multi_start(struct req *r, struct multi *m) {
    struct exec *e = req_alloc(r, sizeof *e);

    *e = (struct exec){ .req = r,
                        .client = r->client,
                        .reqs = m->reqs,
                        .count = m->count,
                        .client_txn = { .turn.user = r->task.turn.user,
                                        .find = exec_find,
                                        .on_joined = on_joined,
                                        .on_end = on_client_txn_end } };
    free(m);
    e->joins = req_alloc(r, e->count * sizeof *e->joins);
    resp_array(&e->replies, e->count);
    r->data = e;
    r->client->exec = e;
    long_work_begin(&e->preparing, e->client_txn.turn.user, multi_prepare);
}

void cmd_exec(struct req *r) {
    struct multi *m = r->client->multi;

    if (m == NULL) {
        req_error(r, "ERR EXEC without MULTI");
        return;
    }
    if (!m->spoiled && exec_has_counters_or_reply(r, m)) {
        r->client->multi = NULL;
        multi_start(r, m);
        return;
    }
    if (m->spoiled)
        reply_error(r, "EXECABORT Transaction discarded because of previous errors.");
    multi_discard(r->client);
    req_end(r);
}

void exec_client_gone(struct client *c) {
    struct exec *e = c->exec;

    if (e == NULL)
        return;
    e->client = NULL;
    buf_free(&e->replies);
    req_hold(e->req, 0);
    for (size_t i = 0; i < e->count; i++) {
        e->reqs[i]->client = NULL;
        req_leave(e->reqs[i]);
    }
}

/* ---- commands ---- */

void cmd_multi(struct req *r) {
    struct client *c = r->client;

    if (c->multi != NULL) {
        req_error(r, "ERR MULTI calls can not be nested");
        return;
    }
    multi_begin(c);
    req_ok(r);
}

void cmd_discard(struct req *r) {
    if (r->client->multi == NULL) {
        req_error(r, "ERR DISCARD without MULTI");
        return;
    }
    multi_discard(r->client);
    req_ok(r);
}

void cmd_watch(struct req *r) {
    req_error(
        r,
        "NOTSUPPORTED WATCH is not supported: a queue has no value to watch. ACKJOB in a transaction tells "
        "whether the job was still there, and ADDJOB UNIQUE adds a job only once");
}

void cmd_unwatch(struct req *r) {
    req_ok(r);
}
