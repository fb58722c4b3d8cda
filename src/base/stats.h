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
#define STATS_COUNTERS(X)                                                        \
    X(jobs_added, "jobs committed by ADDJOB")                                    \
    X(jobs_delivered, "jobs handed to clients")                                  \
    X(jobs_acked, "jobs removed by ACKJOB, FASTACK, DELJOB")                     \
    X(jobs_kept, "finished jobs that are retained")                              \
    X(jobs_requeued, "jobs that came back because their lease ended")            \
    X(jobs_expired, "jobs removed because their TTL was over")                   \
    X(jobs_dead, "jobs that used all their attempts")                            \
    X(jobs_revived, "dead jobs queued again by ENQUEUE and REVIVE")              \
    X(jobs_released, "jobs put back before a client received them")              \
    X(schedules_fired, "jobs that SCHEDULE has made")                            \
    X(unique_taken, "ADDJOBs that replied the ID of a job with the same key")    \
    X(unique_retries, "tries of ADDJOBs whose key another session inserted")     \
    X(handoffs, "jobs inserted already leased to a waiting client")              \
    X(claims, "claim statements")                                                \
    X(claimed_rows, "jobs that claims returned")                                 \
    X(claims_empty, "claims that returned nothing")                              \
    X(jobs_claimed_ahead, "jobs that GETJOB took from those claimed ahead")      \
    X(transactions, "transactions sent")                                         \
    X(transactions_failed, "transactions that failed")                           \
    X(standby_waits_cancelled, "commits whose wait for standbys was cancelled")  \
    X(transactions_lost, "transactions whose connection died")                   \
    X(statements, "statements sent")                                             \
    X(rows, "rows sent in statements")                                           \
    X(batch_max_rows, "largest number of rows in one statement")                 \
    X(suspect_transactions, "transactions to find the task that fails others")   \
    X(db_connects, "connections made to the database")                           \
    X(db_disconnects, "connections to the database lost")                        \
    X(news_told, "notifications sent to other servers")                          \
    X(news_heard, "notifications received, our own included")                    \
    X(recounts, "counter audits of queues")                                      \
    X(connections_received, "clients accepted")                                  \
    X(connections_rejected, "clients refused by maxclients")                     \
    X(commands_processed, "commands executed")                                   \
    X(later_steps, "steps of long commands that ran in a later turn")            \
    X(net_input_bytes, "bytes read from clients")                                \
    X(net_output_bytes, "bytes written to clients")                              \
    X(protocol_errors, "connections closed for broken framing")                  \
    X(output_limit_kills, "clients closed because they did not read")            \
    X(evicted_clients, "clients closed because memory was over maxmemory")       \
    X(pubsub_dropped, "messages of PUBLISH that were not sent to other servers") \
    X(tls_failures, "TLS handshakes that failed")                                \
    X(denied_commands, "commands that a user may not run")                       \
    X(denied_queues, "commands with a queue that a user may not access")         \
    X(denied_channels, "commands with a channel that a user may not access")     \
    X(auth_failures, "AUTH and HELLO with a wrong password")                     \
    X(errors_replied, "errors replied")

struct stats {
#define X(name, doc) uint64_t name;
    STATS_COUNTERS(X)
#undef X
};

extern struct stats stats;
/* The wait of jobs from the time at which they are due to their first delivery. */
extern struct histogram stats_waits;
/* The same, of the last one to two minutes. */
extern struct quantiles stats_recent_waits;
/* The time from the send of a transaction to its commit. */
extern struct histogram stats_commits;

/* Appends a line "name:value\r\n" for each counter. */
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
