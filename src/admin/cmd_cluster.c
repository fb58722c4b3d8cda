/* CLUSTER: the servers of the database. They find each other in the database, so MEET has no effect. */
#include <arpa/inet.h>
#include "base/node.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "cluster/node_row.h"
#include "commands/dispatch.h"
#include "commands/subcommand.h"
#include "jobs/flush_all.h"
#include "net/connection.h"
#include "net/usage.h"
#include "queue/waiters.h"

/* As in Disque, the known nodes include this server, and the reachable nodes do not. */
static void cluster_info(struct req *r) {
    struct buf text = { 0 };
    size_t count, reachable;

    (void)node_known(&count);
    (void)node_all(&reachable);
    buf_printf(
        &text,
        "cluster_state:ok\r\ncluster_known_nodes:%zu\r\ncluster_reachable_nodes:%zu\r\ncluster_size:%zu\r\n"
        "cluster_stats_messages_sent:%llu\r\ncluster_stats_messages_received:%llu\r\n",
        count, reachable - 1, count, (unsigned long long)stats.notifications_sent,
        (unsigned long long)stats.notifications_received);
    req_text(r, &text);
}

static const char *node_flags(const struct node *n) {
    if (n == node_self())
        return n->leaving ? "myself,leaving" : "myself";
    if (!n->live)
        return "fail";
    return n->leaving ? "leaving" : "noflags";
}

static void cluster_nodes(struct req *r) {
    size_t count;
    struct node *const *nodes = node_known(&count);
    struct buf text = { 0 };

    for (size_t i = 0; i < count; i++) {
        struct node_address a = connection_node_address(r->client, nodes[i]);

        buf_printf(&text, "%s %s:%s %s 0 0 %s\n", nodes[i]->id, a.host, a.port, node_flags(nodes[i]),
                   i == 0 || nodes[i]->live ? "connected" : "disconnected");
    }
    req_text(r, &text);
}

static void cluster_myid(struct req *r) {
    reply_bulk_str(r, node_self()->id);
    req_end(r);
}

static void cluster_is_leaving(struct req *r) {
    reply_status(r, node_self()->leaving ? "yes" : "no");
    req_end(r);
}

static void cluster_set_leaving(struct req *r) {
    bool leaving = slice_is(r->argv[2], "yes");

    if (!leaving && !slice_is(r->argv[2], "no")) {
        usage_invalid(r, 2, "ERR Wrong argument for CLUSTER LEAVING. Use 'yes' or 'no'");
        return;
    }
    node_self()->leaving = leaving;
    node_row_beat();
    if (leaving)
        waiters_end_all(WAITERS_LEAVING);
    req_ok(r);
}

static bool cluster_is_address(struct slice text) {
    unsigned char binary[sizeof(struct in6_addr)];
    char copy[INET6_ADDRSTRLEN] = "";

    if (text.len >= sizeof copy)
        return false;
    for (size_t i = 0; i < text.len; i++)
        copy[i] = text.ptr[i];
    return inet_pton(AF_INET, copy, binary) == 1 || inet_pton(AF_INET6, copy, binary) == 1;
}

static void cluster_meet(struct req *r) {
    struct slice host = r->argv[2], port = r->argv[3];
    int64_t number;

    if (!parse_int_disque(port, &number))
        req_error(r, "ERR Invalid TCP port specified: %.*s", (int)port.len, port.ptr);
    else if (number <= 0 || number > UINT16_MAX || !cluster_is_address(host))
        req_error(r, "ERR Invalid node address specified: %.*s:%.*s", (int)host.len, host.ptr, (int)port.len,
                  port.ptr);
    else
        req_ok(r);
}

static struct node *node_by_id(struct slice id) {
    size_t count;
    struct node *const *nodes = node_known(&count);

    for (size_t i = 0; i < count; i++) {
        if (slice_is(id, nodes[i]->id))
            return nodes[i];
    }
    return NULL;
}

static void forget_row(struct req *r, struct node *n) {
    r->data = n;
    batch_add_row(&r->task, &op_forget_node);
}

/* For a live server the reply is OK without effect, because all servers see its row in the database. */
static void cluster_forget(struct req *r) {
    struct slice id = r->argv[2];
    struct node *n = node_by_id(id);

    if (id.len != NODE_ID_LEN)
        req_error(r, "ERR Invalid node identifier");
    else if (n == NULL)
        req_error(r, "ERR Unknown node %.*s", (int)id.len, id.ptr);
    else if (n == node_self())
        req_error(r, "ERR I tried hard but I can't forget myself...");
    else if (n->live)
        req_ok(r);
    else
        forget_row(r, n);
}

/* RESET HARD keeps the node ID, too. The IDs of jobs contain it, and clients may still have such IDs. */
static void cluster_reset(struct req *r) {
    if (r->argc == 3 && !slice_is(r->argv[2], "soft") && !slice_is(r->argv[2], "hard"))
        usage_unexpected(r, 2);
    else if (!connection_may_debug(r->client))
        req_error(r, "ERR CLUSTER RESET removes all jobs and is not allowed. The option enable-debug-command "
                     "allows it, and is read only at start.");
    else
        flush_all_start(r);
}

static void cluster_saveconfig(struct req *r) {
    req_ok(r);
}

/* Redis clients do not get these, because some switch to cluster mode on any reply to them. */
static bool run_for_disque(struct req *r) {
    static const struct subcommand members[] = {
        { "INFO", 0, 0, cluster_info },
        { "NODES", 0, 0, cluster_nodes },
    };

    return subcommand_find(r, members, LENGTH(members));
}

static bool run_for_all(struct req *r) {
    static const struct subcommand members[] = {
        { "MYID", 0, 0, cluster_myid },
        { "LEAVING", 0, 0, cluster_is_leaving },
        { "LEAVING", 1, 1, cluster_set_leaving },
        { "MEET", 2, 2, cluster_meet },
        { "FORGET", 1, 1, cluster_forget },
        { "RESET", 0, 1, cluster_reset },
        { "SAVECONFIG", 0, 0, cluster_saveconfig },
    };

    return subcommand_find(r, members, LENGTH(members));
}

void cmd_cluster(struct req *r) {
    bool redis = r->client->redis_handshake;

    if (run_for_all(r) || (!redis && run_for_disque(r)))
        return;
    if (redis)
        req_error(r, "ERR This instance has cluster support disabled");
    else
        usage_error(r, "ERR Wrong CLUSTER subcommand or number of arguments");
}
