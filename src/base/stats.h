#ifndef STATS_H
#define STATS_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/histogram.h"
#include "base/quantiles.h"

/*
 * The counters of the server since its start or CONFIG RESETSTAT. INFO shows them in the section Pgdisque.
 */
#define STATS_COUNTERS(X)                                                         \
    X(jobs_added, "Jobs committed by ADDJOB.")                                    \
    X(jobs_delivered, "Jobs handed to clients.")                                  \
    X(jobs_acked, "Jobs removed by ACKJOB, FASTACK, DELJOB.")                     \
    X(jobs_kept, "Finished jobs that are retained.")                              \
    X(jobs_requeued, "Jobs that came back because their lease ended.")            \
    X(jobs_failed, "Deliveries that ended by NACK or by the end of their lease.") \
    X(jobs_expired, "Jobs removed because their TTL was over.")                   \
    X(jobs_dead, "Jobs that became dead letters.")                                \
    X(jobs_revived, "Dead jobs queued again by ENQUEUE and REVIVE.")              \
    X(jobs_released, "Jobs put back before a client received them.")              \
    X(schedules_fired, "Jobs that SCHEDULE has made.")                            \
    X(unique_taken, "ADDJOBs that replied the ID of a job with the same key.")    \
    X(unique_retries, "Tries of ADDJOBs whose key another session inserted.")     \
    X(handoffs, "Jobs inserted already leased to a waiting client.")              \
    X(claims, "Claim statements.")                                                \
    X(claimed_rows, "Jobs that claims returned.")                                 \
    X(claims_empty, "Claims that returned nothing.")                              \
    X(jobs_claimed_ahead, "Jobs that GETJOB took from the jobs ahead.")           \
    X(jobs_added_ahead, "Jobs added ahead of the next GETJOBs.")                  \
    X(adds_held, "ADDJOBs and pushes that waited for room among the jobs ahead.") \
    X(transactions, "Transactions sent.")                                         \
    X(transactions_failed, "Transactions that failed.")                           \
    X(flushes_apart, "Flushes of transactions by another session.")               \
    X(standby_waits_cancelled, "Commits whose wait for standbys was cancelled.")  \
    X(transactions_lost, "Transactions whose connection died.")                   \
    X(statements, "Statements sent.")                                             \
    X(rows, "Rows sent in statements.")                                           \
    X(suspect_transactions, "Transactions to find the task that fails others.")   \
    X(db_connects, "Connections made to the database.")                           \
    X(db_disconnects, "Connections to the database lost.")                        \
    X(notifications_sent, "Notifications sent to other servers.")                 \
    X(notifications_received, "Notifications received, our own included.")        \
    X(recounts, "Counter audits of queues.")                                      \
    X(connections_received, "Clients accepted.")                                  \
    X(connections_rejected, "Clients refused.")                                   \
    X(commands_processed, "Commands executed.")                                   \
    X(later_steps, "Steps of long commands that ran in a later turn.")            \
    X(net_input_bytes, "Bytes read from clients.")                                \
    X(net_output_bytes, "Bytes written to clients.")                              \
    X(protocol_errors, "Connections closed for broken framing.")                  \
    X(output_limit_kills, "Clients closed because they did not read.")            \
    X(evicted_clients, "Clients closed because memory was over maxmemory.")       \
    X(pubsub_dropped, "Messages of PUBLISH that were not sent to other servers.") \
    X(tls_failures, "TLS handshakes that failed.")                                \
    X(denied_commands, "Commands that a user may not run.")                       \
    X(denied_queues, "Commands with a queue that a user may not access.")         \
    X(denied_channels, "Commands with a channel that a user may not access.")     \
    X(auth_failures, "AUTH and HELLO with a wrong password.")                     \
    X(errors_replied, "Errors replied.")

/* Maxima over the same time. */
#define STATS_MAXIMA(X) X(batch_max_rows, "Largest number of rows in one statement.")

struct stats {
#define X(name, doc) uint64_t name;
    STATS_COUNTERS(X)
    STATS_MAXIMA(X)
#undef X
};

extern struct stats stats;
/* The wait of jobs from the time at which they are due to their first delivery. */
extern struct histogram stats_waits;
/* The same, of the last one to two minutes. */
extern struct quantiles stats_recent_waits;
/* The time from the send of a transaction to its commit. */
extern struct histogram stats_commits;

/* Appends a line "name:value\r\n" for each counter and maximum. */
void stats_info(struct buf *out);
void stats_reset(void);

/* Counts an error reply. text begins with the error's code. */
void stats_count_error(const char *text);
/* Appends a line "errorstat_CODE:count=n\r\n" for each code that was counted. */
void stats_errors_info(struct buf *out);

/* Rates over the last 1.6 seconds, like Redis' instantaneous_*. The caller runs stats_sample() ten times a second. */
void stats_sample(int64_t mono_us);
uint64_t stats_ops_per_sec(void);
double stats_input_kbps(void);
double stats_output_kbps(void);

#endif
