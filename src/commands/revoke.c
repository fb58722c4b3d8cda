/* Disconnects clients that go on without rights that they have lost. */
#include "commands/revoke.h"

#include "base/time_budget.h"
#include "commands/dispatch.h"
#include "commands/rights.h"
#include "jobs/waitjob.h"
#include "net/client_iter.h"
#include "net/connection.h"
#include "net/long_work.h"
#include "net/pubsub.h"
#include "queue/pattern_index.h"
#include "queue/waiters.h"

static bool may_receive_channel(const struct client *c, struct slice name) {
    return user_may_channel(c->user, COMMAND_subscribe, name, false);
}

static bool may_receive_pattern(const struct client *c, struct slice name) {
    return user_may_channel(c->user, COMMAND_psubscribe, name, true);
}

/* The request uses its rights also after it was started: it waits for jobs, or for the room to reply. */
static bool goes_on(const struct req *r) {
    return !r->done && r->cmd != NULL &&
           ((r->cmd->flags & CMD_BLOCKING) != 0 || r->cmd->handler == cmd_subscribe ||
            r->cmd->handler == cmd_psubscribe);
}

static bool may_run_on(const struct client *c, const struct req *r) {
    struct acl_call call;
    enum acl_denial why;
    int place;

    if (!goes_on(r))
        return true;
    call = rights_call(r->cmd, r->argc, r->argv);
    return user_may_call(c->user, &call, &why, &place);
}

static bool may_wait(const struct client *c) {
    LIST_EACH(node, &c->reqs) {
        if (!may_run_on(c, LIST_ENTRY(node, const struct req, in_client)))
            return false;
    }
    return waiters_may_go_on(c) && waitjob_may_go_on(c);
}

static bool has_lost_rights(const struct client *c) {
    if (c->user->all)
        return false;
    return (c->monitor && !user_may_run(c->user, COMMAND_monitor)) ||
           !pubsub_all(c, PUBSUB_CHANNEL, may_receive_channel) ||
           !pubsub_all(c, PUBSUB_PATTERN, may_receive_pattern) || !may_wait(c);
}

static void revoke_disconnect(struct client *c, bool is_me) {
    connection_log_out(c);
    if (is_me)
        client_close_after_replies(c);
    else
        client_kill(c, "its user was removed or has lost a right");
}

static void revoke_check(struct client *c, bool is_me) {
    if (c->user->removed || (!c->user->grants.on && !is_me) || has_lost_rights(c))
        revoke_disconnect(c, is_me);
}

/* ---- the check of all clients ---- */

static struct {
    struct long_work work;
    struct client_iter iter;
    uint64_t me; /* ID of the client that made the last change; 0: none */
    bool runs;
    bool again; /* users have changed since the iteration began */
} check;

/* True: there is another client to check. */
static bool check_next(void) {
    struct client *c = client_iter_next(&check.iter);

    if (c != NULL) {
        if (c->id != check.me)
            revoke_check(c, false);
        return true;
    }
    check.runs = check.again;
    check.again = false;
    if (check.runs)
        client_iter_begin(&check.iter);
    return check.runs;
}

static bool revoke_step(struct long_work *w) {
    struct budget share = budget_of(LONG_WORK_US);

    (void)w;
    while (!budget_is_spent(&share)) {
        if (!check_next())
            return false;
    }
    return true;
}

/* The client that made the change may take it back, also if it needed no login before. */
void revoke_lost_rights(struct client *me) {
    patterns_rights_changed();
    if (me != NULL)
        me->authenticated = true;
    check.me = me == NULL ? 0 : me->id;
    if (me != NULL)
        revoke_check(me, true);
    check.again = check.runs;
    if (check.runs)
        return;
    check.runs = true;
    client_iter_begin(&check.iter);
    long_work_begin(&check.work, NULL, revoke_step);
}
