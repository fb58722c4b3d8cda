/* INFO: the table of sections, and the sections about clients, jobs and commands. */
#include "admin/info_process.h"

#include <string.h>
#include "base/clock.h"
#include "base/node.h"
#include "base/stats.h"
#include "batch/replication_state.h"
#include "commands/dispatch.h"
#include "config/config.h"
#include "jobs/bootstrap.h"
#include "jobs/waiting_count.h"
#include "jobs/waitjob.h"
#include "net/pubsub.h"
#include "queue/queue.h"
#include "queue/waiters.h"

static void largest(enum client_state state, int *requests, size_t *input, size_t *output) {
    LIST_EACH(node, client_list(state)) {
        const struct client *c = LIST_ENTRY(node, struct client, in_state);

        if (c->req_count > *requests)
            *requests = c->req_count;
        if (buf_len(&c->in) > *input)
            *input = buf_len(&c->in);
        if (client_unwritten(c) > *output)
            *output = client_unwritten(c);
    }
}

static void clients_section(struct buf *out) {
    int requests = 0;
    size_t input = 0, output = 0;

    largest(CLIENT_OPEN, &requests, &input, &output);
    largest(CLIENT_CLOSING, &requests, &input, &output);
    buf_printf(out, "connected_clients:%zu\r\n", client_count());
    buf_printf(out, "client_longest_output_list:%d\r\nclient_biggest_input_buf:%zu\r\n", requests, input);
    buf_printf(out, "client_recent_max_input_buffer:%zu\r\nclient_recent_max_output_buffer:%zu\r\n", input,
               output);
    buf_printf(out, "blocked_clients:%zu\r\nmaxclients:%d\r\n", waiters_blocked() + waitjob_count(),
               config.maxclients);
    buf_printf(out, "pubsub_clients:%zu\r\n", pubsub_clients());
    buf_append_str(out, "cluster_connections:0\r\ntracking_clients:0\r\n");
}

/* No line if this server has delivered no job for the first time in the last minute. */
static void latency_info(struct buf *out, const char *name, unsigned per_thousand) {
    int64_t us = quantiles_read(&stats_recent_waits, clock_mono(), per_thousand);

    if (us >= 0)
        buf_printf(out, "%s:%lld\r\n", name, (long long)(us / US_PER_MS));
}

static void jobs_section(struct buf *out) {
    buf_printf(out, "registered_jobs:%lld\r\ndead_jobs:%lld\r\n", (long long)queue_jobs_total(),
               (long long)queue_jobs_dead());
    buf_printf(out,
               "queued_jobs:%lld\r\ndelayed_jobs:%lld\r\nactive_jobs:%lld\r\nwaiting_jobs:%lld\r\n"
               "after_jobs:%lld\r\n",
               (long long)queue_jobs_queued(), (long long)queue_jobs_delayed(),
               (long long)queue_jobs_active(), (long long)queue_jobs_waiting(),
               (long long)waiting_count_all());
    latency_info(out, "latency_p50_ms", 500);
    latency_info(out, "latency_p99_ms", 990);
}

static void queues_section(struct buf *out) {
    buf_printf(out, "registered_queues:%zu\r\n", queue_shown());
}

/* There is no append-only file. These are the values of a file without problems. */
static void persistence_section(struct buf *out) {
    buf_printf(out, "loading:%d\r\ncounting:%d\r\n", bootstrap_is_under_way(), bootstrap_counts_jobs());
    buf_printf(out, "aof_enabled:%d\r\naof_state:%s\r\n", config.appendonly,
               config.appendonly ? "on" : "off");
    replication_info(out);
    buf_append_str(out, "aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
                        "aof_last_rewrite_time_sec:-1\r\naof_current_rewrite_time_sec:-1\r\n"
                        "aof_last_bgrewrite_status:ok\r\naof_last_write_status:ok\r\n"
                        "rdb_changes_since_last_save:0\r\nrdb_bgsave_in_progress:0\r\n"
                        "rdb_last_bgsave_status:ok\r\nrdb_last_bgsave_time_sec:-1\r\n"
                        "rdb_current_bgsave_time_sec:-1\r\nasync_loading:0\r\n");
    buf_printf(out, "rdb_last_save_time:%lld\r\n", (long long)(clock_unix() / US_PER_S));
}

static void stats_section(struct buf *out) {
    buf_printf(out, "total_connections_received:%llu\r\ntotal_commands_processed:%llu\r\n",
               (unsigned long long)stats.connections_received, (unsigned long long)stats.commands_processed);
    buf_printf(out, "instantaneous_ops_per_sec:%llu\r\n", (unsigned long long)stats_ops_per_sec());
    buf_printf(out, "total_net_input_bytes:%llu\r\ntotal_net_output_bytes:%llu\r\n",
               (unsigned long long)stats.net_input_bytes, (unsigned long long)stats.net_output_bytes);
    buf_printf(out, "instantaneous_input_kbps:%.2f\r\ninstantaneous_output_kbps:%.2f\r\n", stats_input_kbps(),
               stats_output_kbps());
    buf_printf(out,
               "rejected_connections:%llu\r\nexpired_keys:%llu\r\nevicted_keys:0\r\nlatest_fork_usec:0\r\n",
               (unsigned long long)stats.connections_rejected, (unsigned long long)stats.jobs_expired);
    buf_printf(out, "keyspace_hits:%llu\r\nkeyspace_misses:%llu\r\n",
               (unsigned long long)stats.jobs_delivered, (unsigned long long)stats.claims_empty);
    buf_printf(out, "total_error_replies:%llu\r\nacl_access_denied_auth:%llu\r\n",
               (unsigned long long)stats.errors_replied, (unsigned long long)stats.auth_failures);
    buf_printf(
        out, "acl_access_denied_cmd:%llu\r\nacl_access_denied_key:%llu\r\nacl_access_denied_channel:%llu\r\n",
        (unsigned long long)stats.denied_commands, (unsigned long long)stats.denied_queues,
        (unsigned long long)stats.denied_channels);
    buf_printf(out, "pubsub_channels:%zu\r\npubsub_patterns:%zu\r\n", pubsub_topics(PUBSUB_CHANNEL),
               pubsub_topics(PUBSUB_PATTERN));
    buf_append_str(out, "sync_full:0\r\nsync_partial_ok:0\r\nsync_partial_err:0\r\n"
                        "migrate_cached_sockets:0\r\n");
}

static void replication_section(struct buf *out) {
    buf_append_str(out, "role:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\n");
    buf_printf(out, "master_replid:%s\r\n", node_self()->id);
    buf_append_str(out, "master_repl_offset:0\r\nsecond_repl_offset:-1\r\nrepl_backlog_active:0\r\n"
                        "repl_backlog_size:0\r\nrepl_backlog_histlen:0\r\n");
}

static void cluster_section(struct buf *out) {
    buf_append_str(out, "cluster_enabled:0\r\n");
}

static void keyspace_section(struct buf *out) {
    buf_printf(out, "db0:keys=%zu,expires=0,avg_ttl=0\r\n", queue_keys());
}

static void commandstats_section(struct buf *out) {
    size_t count;
    const struct command *all = command_table(&count);

    for (size_t i = 0; i < count; i++) {
        const struct command_stats *s = command_stats(&all[i]);

        if (s->calls == 0 && s->rejected == 0)
            continue;
        buf_printf(out, "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f", all[i].name,
                   (unsigned long long)s->calls, (unsigned long long)s->usec,
                   s->calls == 0 ? 0.0 : (double)s->usec / (double)s->calls);
        buf_printf(out, ",rejected_calls=%llu,failed_calls=%llu\r\n", (unsigned long long)s->rejected,
                   (unsigned long long)s->failed);
    }
}

/* In the order of the reply. Keyspace is last because it is never empty: some clients cannot read a text that
 * ends with an empty section. */
static const struct section {
    const char *title;
    void (*write)(struct buf *out);
    bool by_default;
} sections[] = {
    { "Server", info_server, true },
    { "Clients", clients_section, true },
    { "Memory", info_memory, true },
    { "Jobs", jobs_section, true },
    { "Queues", queues_section, true },
    { "Persistence", persistence_section, true },
    { "Stats", stats_section, true },
    { "Replication", replication_section, true },
    { "CPU", info_cpu, true },
    { "Commandstats", commandstats_section, false },
    { "Errorstats", stats_errors_info, false },
    { "Cluster", cluster_section, true },
    { "Pgdisque", info_pgdisque, true },
    { "Keyspace", keyspace_section, true },
};

static bool asks_for(struct slice word, const struct section *s) {
    if (slice_is(word, "all") || slice_is(word, "everything"))
        return true;
    return slice_is(word, s->title) || (s->by_default && slice_is(word, "default"));
}

static bool info_is_wanted(const struct req *r, const struct section *s) {
    if (r->argc == 1)
        return s->by_default;
    for (int i = 1; i < r->argc; i++) {
        if (asks_for(r->argv[i], s))
            return true;
    }
    return false;
}

void cmd_info(struct req *r) {
    struct buf text = { 0 };

    for (size_t i = 0; i < LENGTH(sections); i++) {
        if (!info_is_wanted(r, &sections[i]))
            continue;
        buf_printf(&text, "%s# %s\r\n", buf_len(&text) == 0 ? "" : "\r\n", sections[i].title);
        sections[i].write(&text);
    }
    req_text(r, &text);
}
