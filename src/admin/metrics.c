/* METRICS: the figures of the server, its database, its commands and its queues as OpenMetrics text. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "admin/info_process.h"
#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "base/turn.h"
#include "batch/batch.h"
#include "batch/dead_rows.h"
#include "batch/replication_state.h"
#include "commands/dispatch.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "jobs/bootstrap.h"
#include "jobs/waiting_count.h"
#include "jobs/waitjob.h"
#include "net/client.h"
#include "net/usage.h"
#include "pg/db.h"
#include "pg/primary_select.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_history.h"
#include "queue/queue_survey.h"
#include "queue/waiters.h"
#include "version.h"

/*
 * All figures are in memory. Queues with labels are the first metrics-queues ones by age, so that their series go on.
 * The format is OpenMetrics 1.0: https://github.com/OpenObservability/OpenMetrics. A counter's sample ends in _total.
 * The text format 0.0.4 of Prometheus has the same samples. Only its lines TYPE and HELP differ, and its end.
 */
enum metric {
#define METRIC(id, name, type, help) METRIC_##id,
#include "admin/metrics.def"
#undef METRIC
    METRIC_COUNT
};

static const struct metric_row {
    const char *name, *type, *help;
} metrics[METRIC_COUNT] = {
#define METRIC(id, name, type, help) { "pgdisque_" name, type, help },
#include "admin/metrics.def"
#undef METRIC
};

/* The text that is being written is in the text format 0.0.4. */
static bool is_text_format;

/* The end of the name in samples. */
static const char *metric_suffix(const char *type) {
    if (strcmp(type, "info") == 0)
        return "_info";
    return strcmp(type, "counter") == 0 ? "_total" : "";
}

/* The text format names the samples, and has no type for information. */
static void metric_head(struct buf *out, const char *name, const char *type, const char *help) {
    const char *suffix = is_text_format ? metric_suffix(type) : "";

    if (is_text_format && strcmp(type, "info") == 0)
        type = "gauge";
    buf_printf(out, "# TYPE %s%s %s\n# HELP %s%s %s\n", name, suffix, type, name, suffix, help);
}

static const struct metric_row *metric_begin(struct buf *out, enum metric id) {
    const struct metric_row *m = &metrics[id];

    metric_head(out, m->name, m->type, m->help);
    return m;
}

/* A metric with one sample. */
static void metric_value(struct buf *out, enum metric id, double value) {
    const struct metric_row *m = metric_begin(out, id);

    buf_printf(out, "%s%s %.15g\n", m->name, metric_suffix(m->type), value);
}

/* A metric without a sample while its value is unknown. */
static void metric_known(struct buf *out, enum metric id, int value) {
    if (value == STANDBYS_UNKNOWN)
        (void)metric_begin(out, id);
    else
        metric_value(out, id, value);
}

static void metric_histogram(struct buf *out, enum metric id, const struct histogram *h) {
    histogram_samples(h, metric_begin(out, id)->name, SLICE(""), out);
}

/* ---- server ---- */

static void metrics_process(struct buf *out) {
    struct rusage use = { 0 };

    getrusage(RUSAGE_SELF, &use);
    buf_printf(out, "%s_info{version=\"%s\"} 1\n", metric_begin(out, METRIC_BUILD)->name, PGDISQUE_VERSION);
    metric_value(out, METRIC_UPTIME, (double)info_uptime_us() / US_PER_S);
    metric_value(out, METRIC_RESIDENT_MEMORY, (double)info_resident());
    metric_value(out, METRIC_COUNTED_MEMORY, (double)memory_all.total);
    metric_value(out, METRIC_MAX_MEMORY, memory_budget == SIZE_MAX ? 0 : (double)memory_budget);
    metric_value(out, METRIC_QUEUES_MEMORY, (double)queues_memory());
    metric_value(out, METRIC_MAX_QUEUES_MEMORY, (double)config.maxmemory_queues);
    metric_value(out, METRIC_CPU,
                 (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
                     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / US_PER_S);
    metric_value(out, METRIC_LONGEST_TURN, (double)turn_longest()->cpu_us / US_PER_S);
}

static void metrics_clients(struct buf *out) {
    size_t servers;

    (void)node_known(&servers);
    metric_value(out, METRIC_CONNECTED_CLIENTS, (double)client_count());
    metric_value(out, METRIC_BLOCKED_CLIENTS, (double)(waiters_blocked() + waitjob_count()));
    metric_value(out, METRIC_MAX_CLIENTS, config.maxclients);
    metric_value(out, METRIC_SERVERS, (double)servers);
    metric_value(out, METRIC_LEAVING, node_self()->leaving);
}

static void metrics_database(struct buf *out) {
    metric_value(out, METRIC_DATABASE_CONNECTED, batch_connected(CONN_WRITE));
    metric_value(out, METRIC_LOADING, bootstrap_is_under_way());
    metric_value(out, METRIC_DATABASE_TIMELINE, (double)primary_timeline());
    metric_known(out, METRIC_STANDBYS_REQUIRED, replication_required());
    metric_known(out, METRIC_STANDBYS_CONNECTED, replication_connected());
    metric_value(out, METRIC_DATABASE_DEAD_ROWS, (double)(dead_rows_of_jobs() + dead_rows_of_counters()));
    metric_histogram(out, METRIC_TRANSACTION_SECONDS, &stats_commits);
}

static void metrics_stats(struct buf *out) {
#define X(name, doc)                                     \
    metric_head(out, "pgdisque_" #name, "counter", doc); \
    buf_printf(out, "pgdisque_" #name "_total %.15g\n", (double)stats.name);
    STATS_COUNTERS(X)
#undef X
#define X(name, doc)                                   \
    metric_head(out, "pgdisque_" #name, "gauge", doc); \
    buf_printf(out, "pgdisque_" #name " %.15g\n", (double)stats.name);
    STATS_MAXIMA(X)
#undef X
}

/* ---- commands ---- */

static void metrics_of_commands(struct buf *out, enum metric id,
                                double (*value)(const struct command_stats *s)) {
    const struct metric_row *m = metric_begin(out, id);
    size_t count;
    const struct command *all = command_table(&count);

    for (size_t i = 0; i < count; i++) {
        const struct command_stats *s = command_stats(&all[i]);

        if (s->calls > 0 || s->rejected > 0)
            buf_printf(out, "%s%s{command=\"%s\"} %.15g\n", m->name, metric_suffix(m->type), all[i].name,
                       value(s));
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
    metrics_of_commands(out, METRIC_COMMAND_CALLS, command_calls);
    metrics_of_commands(out, METRIC_COMMAND_SECONDS, command_seconds);
    metrics_of_commands(out, METRIC_COMMAND_ERRORS, command_errors);
}

/* ---- queues ---- */

/* A label has UTF-8 only. Other bytes become \xHH, and so do control characters. */
static void metrics_label(struct buf *out, struct slice name) {
    buf_append_str(out, "queue=\"");
    for (size_t i = 0; i < name.len;) {
        size_t len = utf8_character_len(name, i);

        if (name.ptr[i] == '\n')
            buf_append_str(out, "\\n");
        else if (len == 0 || iscntrl((unsigned char)name.ptr[i]))
            buf_printf(out, "\\\\x%02x", (unsigned char)name.ptr[i]);
        else if (name.ptr[i] == '"' || name.ptr[i] == '\\')
            buf_printf(out, "\\%c", name.ptr[i]);
        else
            buf_append(out, name.ptr + i, len);
        i += len == 0 ? 1 : len;
    }
    buf_append_str(out, "\"");
}

static double queue_metric_len(const struct queue *q) {
    return (double)queue_len(q);
}

static double queue_metric_jobs(const struct queue *q) {
    return (double)int64_at_least_zero(q->counters.total);
}

static double queue_metric_active(const struct queue *q) {
    return (double)queue_leased(q);
}

static double queue_metric_delayed(const struct queue *q) {
    return (double)queue_delayed(q);
}

static double queue_metric_waits(const struct queue *q) {
    return (double)queue_waiting(q);
}

static double queue_metric_after(const struct queue *q) {
    return (double)waiting_count(q);
}

static double queue_metric_dead(const struct queue *q) {
    return (double)queue_dead(q);
}

static double queue_metric_oldest(const struct queue *q) {
    return (double)queue_oldest_us(q) / US_PER_S;
}

static double queue_metric_in(const struct queue *q) {
    return (double)q->counters.jobs_in;
}

static double queue_metric_out(const struct queue *q) {
    return (double)q->counters.jobs_out;
}

static double queue_metric_acknowledged(const struct queue *q) {
    return (double)q->counters.own->acked;
}

static double queue_metric_waiting(const struct queue *q) {
    return (double)q->work->waiting.count;
}

static double queue_metric_paused(const struct queue *q) {
    return q->pause & PAUSE_OUT ? 1 : 0;
}

static const struct {
    enum metric id;
    double (*value)(const struct queue *q);
} queue_metrics[] = {
    { METRIC_QUEUE_LENGTH, queue_metric_len },
    { METRIC_QUEUE_JOBS, queue_metric_jobs },
    { METRIC_QUEUE_ACTIVE, queue_metric_active },
    { METRIC_QUEUE_DELAYED, queue_metric_delayed },
    { METRIC_QUEUE_WAITS, queue_metric_waits },
    { METRIC_QUEUE_AFTER, queue_metric_after },
    { METRIC_QUEUE_DEAD, queue_metric_dead },
    { METRIC_QUEUE_OLDEST_AGE, queue_metric_oldest },
    { METRIC_QUEUE_IN, queue_metric_in },
    { METRIC_QUEUE_OUT, queue_metric_out },
    { METRIC_QUEUE_ACKNOWLEDGED, queue_metric_acknowledged },
    { METRIC_QUEUE_WAITING, queue_metric_waiting },
    { METRIC_QUEUE_PAUSED_OUT, queue_metric_paused },
};

/* A queue, and its label in the text of all labels. */
struct labelled {
    const struct queue *q;
    size_t begin, len;
};

static struct slice label_of(const struct buf *labels, const struct labelled *l) {
    return (struct slice){ buf_ptr(labels) + l->begin, l->len };
}

static void metrics_of_queues(struct buf *out, const struct labelled *all, size_t count,
                              const struct buf *labels) {
    for (size_t i = 0; i < LENGTH(queue_metrics); i++) {
        const struct metric_row *m = metric_begin(out, queue_metrics[i].id);

        for (size_t k = 0; k < count; k++) {
            struct slice label = label_of(labels, &all[k]);

            buf_printf(out, "%s%s{%.*s} %.15g\n", m->name, metric_suffix(m->type), (int)label.len, label.ptr,
                       queue_metrics[i].value(all[k].q));
        }
    }
}

static void metrics_of_waits(struct buf *out, const struct labelled *all, size_t count,
                             const struct buf *labels) {
    const struct metric_row *m = metric_begin(out, METRIC_QUEUE_WAIT_SECONDS);

    for (size_t i = 0; i < count; i++) {
        if (all[i].q->waits != NULL)
            histogram_samples(all[i].q->waits, m->name, label_of(labels, &all[i]), out);
    }
}

/* all has room for metrics-queues. Returns their number. */
static size_t find_labelled(struct labelled *all, struct buf *labels) {
    size_t count = 0;

    for (uint32_t slot = 0; slot < queue_slots() && slot < QUEUE_FIGURES_SLOTS_MAX; slot++) {
        const struct queue *q = queue_at(slot);

        if (count == (size_t)config.metrics_queues)
            break;
        if (!queue_has_figures(q))
            continue;
        all[count] = (struct labelled){ .q = q, .begin = buf_len(labels) };
        metrics_label(labels, q->name);
        all[count].len = buf_len(labels) - all[count].begin;
        count++;
    }
    return count;
}

static void metrics_queues(struct buf *out) {
    struct labelled *all = xcalloc((size_t)config.metrics_queues + 1, sizeof *all);
    struct buf labels = { 0 };
    size_t count = find_labelled(all, &labels);

    metric_value(out, METRIC_QUEUES, (double)queue_shown());
    metric_value(out, METRIC_UNLABELLED_QUEUES, count < queue_shown() ? (double)(queue_shown() - count) : 0);
    metric_value(out, METRIC_OLDEST_AGE, (double)queue_survey_oldest_us() / US_PER_S);
    metric_value(out, METRIC_KEYS, (double)queue_keys());
    metric_value(out, METRIC_JOBS, (double)queue_jobs_total());
    metric_value(out, METRIC_QUEUED_JOBS, (double)queue_jobs_queued());
    metric_value(out, METRIC_DELAYED_JOBS, (double)queue_jobs_delayed());
    metric_value(out, METRIC_ACTIVE_JOBS, (double)queue_jobs_active());
    metric_value(out, METRIC_WAITING_JOBS, (double)queue_jobs_waiting());
    metric_value(out, METRIC_AFTER_JOBS, (double)waiting_count_all());
    metric_value(out, METRIC_DEAD_JOBS, (double)queue_jobs_dead());
    metric_value(out, METRIC_LEASES, (double)lease_count());
    metric_histogram(out, METRIC_JOB_WAIT_SECONDS, &stats_waits);
    metrics_of_queues(out, all, count, &labels);
    metrics_of_waits(out, all, count, &labels);
    buf_free(&labels);
    free(all);
}

void cmd_metrics(struct req *r) {
    struct buf text = { 0 };

    is_text_format = r->argc == 2 && slice_is(r->argv[1], "text");
    if (r->argc > 2 || (r->argc == 2 && !is_text_format && !slice_is(r->argv[1], "openmetrics"))) {
        usage_unexpected(r, r->argc > 2 ? 2 : 1);
        return;
    }
    metrics_process(&text);
    metrics_clients(&text);
    metrics_database(&text);
    metrics_stats(&text);
    metrics_commands(&text);
    metrics_queues(&text);
    if (!is_text_format)
        buf_append_str(&text, "# EOF\n");
    req_text(r, &text);
}
