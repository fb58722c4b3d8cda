/* HELLO AUTH PING ECHO SELECT RESET QUIT: commands about the connection. */
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "base/stats.h"
#include "commands/cmd_monitor.h"
#include "commands/dispatch.h"
#include "commands/multi.h"
#include "commands/rights.h"
#include "config/config.h"
#include "net/admission.h"
#include "net/connection.h"
#include "net/pubsub.h"
#include "net/usage.h"

/* The format version in Disque's reply to HELLO. */
#define HELLO_FORMAT 1
/* Priorities of nodes: low is good, and clients avoid a node with 100. */
#define PRIORITY_GOOD "1"
#define PRIORITY_SUSPECTED "10"
#define PRIORITY_LEAVING "100"
/* A live server writes a heartbeat every second. */
#define SUSPECTED_US (2500 * US_PER_MS)

/* The most bytes of a user name in a log line. */
#define USER_SHOWN 64

#define WRONG_LOGIN "WRONGPASS invalid username-password pair or user is disabled."

static void note_wrong_password(const struct req *r, struct slice name) {
    static struct log_kind kind;
    struct client *c = r->client;

    stats.auth_failures++;
    log_sometimes(&kind, LOG_WARNING_, client_ident(c), "gave a wrong password for user %s",
                  log_escape(name, USER_SHOWN));
    rights_note_refusal(c, ACL_LOG_AUTH, c->multi != NULL ? ACL_LOG_MULTI : ACL_LOG_TOPLEVEL, r->argv[0],
                        name);
    client_mute(c, name);
}

/* The user, or NULL: an error has been replied, and the caller ends r. A former login stays. */
static struct user *login_or_reply(struct req *r, struct slice name, struct slice password) {
    struct user *u = user_login(name, password);
    const char *refusal = u == NULL ? NULL : admission_refuse_login(r->client, u);

    if (u != NULL && refusal == NULL)
        return u;
    if (u == NULL)
        note_wrong_password(r, name);
    else
        client_close_after_replies(r->client);
    reply_error(r, "%s", u == NULL ? WRONG_LOGIN : refusal);
    return NULL;
}

void cmd_auth(struct req *r) {
    bool named = r->argc == 3;
    struct slice name = named ? r->argv[1] : SLICE("default");
    struct user *u;

    if (r->argc > 3) {
        usage_error(r, SYNTAX_ERROR);
        return;
    }
    if (!named && default_user->grants.nopass) {
        req_error(r,
                  "ERR AUTH <password> called without any password configured for the default user. Are you "
                  "sure your configuration is correct?");
        return;
    }
    u = login_or_reply(r, name, r->argv[r->argc - 1]);
    if (u == NULL) {
        req_end(r);
        return;
    }
    connection_log_in(r->client, u);
    req_ok(r);
}

/* Disque's HELLO: replies this server's ID and all nodes. */

static const char *priority(const struct node *n) {
    if (n->leaving)
        return PRIORITY_LEAVING;
    return n != node_self() && clock_mono() - n->received_us > SUSPECTED_US ? PRIORITY_SUSPECTED
                                                                            : PRIORITY_GOOD;
}

static void connection_reply_node(struct req *r, const struct node *n) {
    struct node_address a = connection_node_address(r->client, n);

    reply_array(r, 4);
    reply_bulk_str(r, n->id);
    reply_bulk_str(r, a.host);
    reply_bulk_str(r, a.port);
    reply_bulk_str(r, priority(n));
}

static void hello_nodes(struct req *r) {
    size_t count;
    struct node *const *nodes = node_named(&count);

    if (!command_authenticated(r->client)) {
        req_error(r, "NOAUTH Authentication required.");
        return;
    }
    reply_array(r, 2 + count);
    reply_int(r, HELLO_FORMAT);
    reply_bulk_str(r, node_self()->id);
    for (size_t i = 0; i < count; i++)
        connection_reply_node(r, nodes[i]);
    req_end(r);
}

/* Redis' HELLO: selects the protocol, and authenticates if AUTH is given. */

struct handshake {
    int64_t proto;
    const struct slice *login; /* name and password, or NULL */
    struct user *user;         /* the user of that login */
    const struct slice *name;  /* NULL: none given */
};

/* Replies an error and returns false if the arguments are wrong. */
static bool parse_handshake_or_reply(struct req *r, struct handshake *h) {
    if (!parse_int_strict(r->argv[1], &h->proto)) {
        usage_invalid(r, 1, "ERR Protocol version is not an integer or out of range");
        return false;
    }
    if (h->proto != 2 && h->proto != 3) {
        req_error(r, "NOPROTO unsupported protocol version");
        return false;
    }
    for (int i = 2; i < r->argc; i++) {
        if (slice_is(r->argv[i], "auth") && i + 2 < r->argc) {
            h->login = &r->argv[i + 1];
            i += 2;
        } else if (slice_is(r->argv[i], "setname") && i + 1 < r->argc) {
            h->name = &r->argv[++i];
        } else {
            req_error(r, "ERR Syntax error in HELLO option '%.*s'", (int)r->argv[i].len, r->argv[i].ptr);
            return false;
        }
    }
    return true;
}

/* All checks come before all changes. */
static bool check_handshake_or_reply(struct req *r, struct handshake *h) {
    if (h->login != NULL) {
        h->user = login_or_reply(r, h->login[0], h->login[1]);
        if (h->user == NULL) {
            req_end(r);
            return false;
        }
    }
    if (h->login == NULL && !command_authenticated(r->client)) {
        req_error(r, "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
                     "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and "
                     "select the RESP protocol version at the same time");
        return false;
    }
    return h->name == NULL || connection_name_or_reply(r, "Client names", *h->name);
}

static void reply_handshake(struct req *r) {
    reply_map(r, 7);
    reply_bulk_str(r, "server");
    reply_bulk_str(r, "redis"); /* Some clients refuse every other name. */
    reply_bulk_str(r, "version");
    reply_bulk_str(r, REDIS_COMPAT_VERSION);
    reply_bulk_str(r, "proto");
    reply_int(r, r->proto);
    reply_bulk_str(r, "id");
    reply_int(r, (int64_t)r->client->id);
    reply_bulk_str(r, "mode");
    reply_bulk_str(r, "standalone");
    reply_bulk_str(r, "role");
    reply_bulk_str(r, "master");
    reply_bulk_str(r, "modules");
    reply_array(r, 0);
    req_end(r);
}

void cmd_hello(struct req *r) {
    struct client *c = r->client;
    struct handshake h = { 0 };

    if (r->argc == 1) {
        hello_nodes(r);
        return;
    }
    if (!parse_handshake_or_reply(r, &h) || !check_handshake_or_reply(r, &h))
        return;
    if (h.user != NULL)
        connection_log_in(c, h.user);
    if (h.name != NULL)
        connection_set_text(&c->name, *h.name);
    c->redis_handshake = true;
    c->proto = (int)h.proto;
    r->proto = c->proto;
    reply_handshake(r);
}

void cmd_ping(struct req *r) {
    if (r->argc > 2) {
        usage_reply_arity(r);
        req_end(r);
        return;
    }
    if (r->client->pubsub != NULL && r->proto == 2) {
        reply_array(r, 2);
        reply_bulk_str(r, "pong");
        reply_bulk(r, r->argc == 2 ? r->argv[1] : SLICE(""));
    } else if (r->argc == 2)
        reply_bulk(r, r->argv[1]);
    else
        reply_status(r, "PONG");
    req_end(r);
}

void cmd_echo(struct req *r) {
    reply_bulk(r, r->argv[1]);
    req_end(r);
}

void cmd_select(struct req *r) {
    int64_t index;

    if (!parse_int_strict(r->argv[1], &index))
        usage_invalid(r, 1, NOT_AN_INTEGER);
    else if (index < 0 || index >= config.databases)
        req_error(r, "ERR DB index is out of range: the option databases allows 0 to %d",
                  config.databases - 1);
    else
        req_ok(r);
}

void cmd_reset(struct req *r) {
    struct client *c = r->client;

    monitor_stop(c);
    multi_discard(c);
    pubsub_unsubscribe_all(c);
    connection_set_text(&c->name, SLICE(""));
    connection_log_out(c);
    c->redis_handshake = false;
    c->no_evict = false;
    c->no_touch = false;
    c->job_id_reply = JOB_ID_AS_SET;
    c->reply_mode = REPLY_ON;
    c->proto = 2;
    r->proto = 2;
    r->silent = false;
    reply_status(r, "RESET");
    req_end(r);
}

void cmd_quit(struct req *r) {
    client_close_after_replies(r->client);
    req_ok(r);
}
