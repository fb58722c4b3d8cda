/* METRICS: the figures of the server, its database, its commands and its queues as OpenMetrics text. */
#include <sys/resource.h>

#include "admin/info.h"
#include "base/clock.h"
#include "base/stats.h"
#include "base/turn.h"
#include "batch/batch.h"
#include "batch/dead_rows.h"
#include "commands/dispatch.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "jobs/bootstrap.h"
#include "jobs/waitjob.h"
#include "net/client.h"
#include "pg/db.h"
#include "queue/lease.h"
#include "queue/pattern_index.h"
#include "queue/queue.h"
#include "queue/waiters.h"
#include "version.h"

/*
 * All figures are in memory. Queues with labels are the first metrics-queues ones by age, so that their series go on.
 * The format is OpenMetrics 1.0: https://github.com/OpenObservability/OpenMetrics. A counter's sample ends in _total.
 */

/* The most places of the table of queues that one METRICS looks at. */
#define METRICS_SLOTS_MAX 100000

static void metric_head(struct buf *out, const char *name, const char *type, const char *help) {
    buf_printf(out, "# TYPE pgdisque_%s %s\n# HELP pgdisque_%s %s\n", name, type, name, help);
}

static void metric_gauge(struct buf *out, const char *name, const char *help, double value) {
    metric_head(out, name, "gauge", help);
    buf_printf(out, "pgdisque_%s %.15g\n", name, value);
}

static void metric_counter(struct buf *out, const char *name, const char *help, double value) {
    metric_head(out, name, "counter", help);
    buf_printf(out, "pgdisque_%s_total %.15g\n", name, value);
}

/* ---- server ---- */

static void metrics_process(struct buf *out) {
    struct rusage use = { 0 };

    getrusage(RUSAGE_SELF, &use);
    metric_head(out, "build", "info", "The version of the server.");
    buf_printf(out, "pgdisque_build_info{version=\"%s\"} 1\n", PGDISQUE_VERSION);
    metric_gauge(out, "uptime_seconds", "Time since the start of the server.",
                 (double)info_uptime_us() / US_PER_S);
    metric_gauge(out, "resident_memory_bytes", "Memory of the server's process.", (double)info_resident());
    metric_counter(out, "cpu_seconds", "Processor time of the server's process.",
                   (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
                       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / US_PER_S);
    metric_gauge(out, "longest_turn_seconds", "Processor time of the longest turn of the loop.",
                 (double)turn_longest()->cpu_us / US_PER_S);
}

static void metrics_clients(struct buf *out) {
    metric_gauge(out, "connected_clients", "Clients that are connected.", (double)client_count());
    metric_gauge(out, "blocked_clients", "Clients that wait for a job or for the end of a job.",
                 (double)(waiters_blocked() + waitjob_count()));
    metric_gauge(out, "max_clients", "Clients that may be connected.", config.maxclients);
}

static void metrics_database(struct buf *out) {
    metric_gauge(out, "database_connected", "1 if jobs can be changed.", batch_connected(CONN_WRITE));
    metric_gauge(out, "loading", "1 until the queues are loaded.", load_is_under_way());
    metric_gauge(out, "database_timeline", "The timeline of Postgres, which grows with each promotion.",
                 (double)db_timeline());
    metric_gauge(out, "database_dead_rows", "Dead rows that vacuum has not removed.",
                 (double)(dead_rows_of_jobs() + dead_rows_of_counters()));
}

static void metrics_stats(struct buf *out) {
#define X(name, doc) metric_counter(out, #name, doc, (double)stats.name);
    STATS_COUNTERS(X)
#undef X
}

/* ---- commands ---- */

static void metrics_of_commands(struct buf *out, const char *name, const char *help,
                                double (*value)(const struct command_stats *s)) {
    size_t count;
    const struct command *all = command_table(&count);

    metric_head(out, name, "counter", help);
    for (size_t i = 0; i < count; i++) {
        const struct command_stats *s = command_stats(&all[i]);

        if (s->calls > 0 || s->rejected > 0)
            buf_printf(out, "pgdisque_%s_total{command=\"%s\"} %.15g\n", name, all[i].name, value(s));
    }
}

static double command_calls(const struct command_stats *s) {
    return (double)s->calls;
}

static double command_seconds(const struct command_stats *s) {
    return (double)s->usec / US_PER_S;
}

static double command_errors(const struct command_stats *s) {
    return (double)(s->failed + s->rejected);
}

static void metrics_commands(struct buf *out) {
    metrics_of_commands(out, "command_calls", "Calls of a command.", command_calls);
    metrics_of_commands(out, "command_seconds", "Time from the start of a command to its reply.",
                        command_seconds);
    metrics_of_commands(out, "command_errors", "Calls of a command that replied an error.", command_errors);
}

/* ---- queues ---- */

/* A label has UTF-8 only. Other bytes become \xHH. */
static void metrics_label(struct buf *out, struct slice name) {
    for (size_t i = 0; i < name.len;) {
        size_t len = utf8_character_len(name, i);

        if (len == 0)
            buf_printf(out, "\\\\x%02x", (unsigned char)name.ptr[i]);
        else if (name.ptr[i] == '\n')
            buf_append_str(out, "\\n");
        else if (name.ptr[i] == '"' || name.ptr[i] == '\\')
            buf_printf(out, "\\%c", name.ptr[i]);
        else
            buf_append(out, name.ptr + i, len);
        i += len == 0 ? 1 : len;
    }
}

static double queue_metric_len(const struct queue *q) {
    return (double)queue_len(q);
}

static double queue_metric_jobs(const struct queue *q) {
    return q->counters.total > 0 ? (double)q->counters.total : 0;
}

static double queue_metric_dead(const struct queue *q) {
    return q->counters.dead > 0 ? (double)q->counters.dead : 0;
}

static double queue_metric_in(const struct queue *q) {
    return (double)q->counters.jobs_in;
}

static double queue_metric_out(const struct queue *q) {
    return (double)q->counters.jobs_out;
}

static double queue_metric_waiting(const struct queue *q) {
    return (double)q->waiting.count;
}

static double queue_metric_paused(const struct queue *q) {
    return q->pause & PAUSE_OUT ? 1 : 0;
}

static const struct {
    const char *name, *type, *suffix, *help;
    double (*value)(const struct queue *q);
} queue_metrics[] = {
    { "queue_length", "gauge", "", "Queued jobs, which can be delivered now.", queue_metric_len },
    { "queue_jobs", "gauge", "", "Jobs in any state, without dead ones.", queue_metric_jobs },
    { "queue_dead_jobs", "gauge", "", "Jobs that used all their attempts.", queue_metric_dead },
    { "queue_jobs_in", "counter", "_total", "How often a job has entered the queue.", queue_metric_in },
    { "queue_jobs_out", "counter", "_total", "How often a job was delivered.", queue_metric_out },
    { "queue_waiting_clients", "gauge", "", "Clients that wait for the queue by its name.",
      queue_metric_waiting },
    { "queue_paused_out", "gauge", "", "1 if the queue delivers no jobs.", queue_metric_paused },
};

static void metrics_of_queues(struct buf *out, struct queue *const *queues, size_t count) {
    for (size_t m = 0; m < LENGTH(queue_metrics); m++) {
        metric_head(out, queue_metrics[m].name, queue_metrics[m].type, queue_metrics[m].help);
        for (size_t i = 0; i < count; i++) {
            buf_printf(out, "pgdisque_%s%s{queue=\"", queue_metrics[m].name, queue_metrics[m].suffix);
            metrics_label(out, queues[i]->name);
            buf_printf(out, "\"} %.15g\n", queue_metrics[m].value(queues[i]));
        }
    }
}

/* Names of more than 255 bytes get no labels. */
static bool queue_has_labels(const struct queue *q) {
    return q != NULL && q->shown && !q->hidden && q->name.len < 256;
}

static void metrics_queues(struct buf *out) {
    size_t count = 0, most = (size_t)config.metrics_queues;
    struct queue **queues = xcalloc(most + 1, sizeof *queues);

    for (uint32_t slot = 0; slot < queue_slots() && slot < METRICS_SLOTS_MAX && count < most; slot++) {
        if (queue_has_labels(queue_at(slot)))
            queues[count++] = queue_at(slot);
    }
    metric_gauge(out, "queues", "Queues that clients see.", (double)queue_shown());
    metric_gauge(out, "jobs", "Jobs of all queues in any state, without dead ones.",
                 (double)queue_jobs_total());
    metric_gauge(out, "dead_jobs", "Dead jobs of all queues.", (double)queue_jobs_dead());
    metric_gauge(out, "leases", "Jobs that this server has delivered and that have not ended.",
                 (double)lease_count());
    metrics_of_queues(out, queues, count);
    free(queues);
}

void cmd_metrics(struct req *r) {
    struct buf text = { 0 };

    metrics_process(&text);
    metrics_clients(&text);
    metrics_database(&text);
    metrics_stats(&text);
    metrics_commands(&text);
    metrics_queues(&text);
    buf_append_str(&text, "# EOF\n");
    req_text(r, &text);
}
