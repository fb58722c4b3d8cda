/* Disconnects clients that go on without rights that they have lost. */
#include "commands/revoke.h"

#include "commands/rights.h"
#include "net/connection.h"
#include "net/pubsub.h"
#include "queue/pattern_index.h"

static bool may_hear_channel(const struct client *c, struct slice name) {
    return user_may_channel(c->user, COMMAND_subscribe, name, false);
}

static bool may_hear_pattern(const struct client *c, struct slice name) {
    return user_may_channel(c->user, COMMAND_psubscribe, name, true);
}

static bool may_go_on(const struct client *c, const struct req *r) {
    struct acl_call call;
    enum acl_denial why;
    int place;

    if (r->done || r->cmd == NULL || (r->cmd->flags & CMD_BLOCKING) == 0)
        return true;
    call = rights_call(r->cmd, r->argc, r->argv);
    return user_may_call(c->user, &call, &why, &place);
}

static bool may_wait(const struct client *c) {
    LIST_EACH(node, &c->reqs) {
        if (!may_go_on(c, LIST_ENTRY(node, const struct req, in_client)))
            return false;
    }
    return true;
}

static bool has_lost_rights(const struct client *c) {
    if (c->user->all)
        return false;
    return (c->monitor && !user_may_run(c->user, COMMAND_monitor)) ||
           !pubsub_all(c, PUBSUB_CHANNEL, may_hear_channel) ||
           !pubsub_all(c, PUBSUB_PATTERN, may_hear_pattern) || !may_wait(c);
}

static void revoke_disconnect(struct client *c, bool is_me) {
    connection_log_out(c);
    if (is_me)
        client_close_after_replies(c);
    else
        client_kill(c, "its user was removed or has lost a right");
}

static bool is_cut_off(const struct client *c, bool is_me) {
    return c->user->removed || (!c->user->grants.on && !is_me) || has_lost_rights(c);
}

void revoke_lost_rights(struct client *me) {
    static const enum client_state states[] = { CLIENT_CLOSING, CLIENT_OPEN };

    patterns_rights_changed();
    for (size_t i = 0; i < LENGTH(states); i++) {
        LIST_EACH_SAFE(node, client_list(states[i])) {
            struct client *c = LIST_ENTRY(node, struct client, in_state);

            if (is_cut_off(c, c == me))
                revoke_disconnect(c, c == me);
        }
    }
}
