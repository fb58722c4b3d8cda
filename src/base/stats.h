#ifndef STATS_H
#define STATS_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/*
 * What the server counts since its start, in one list: the counters, their
 * INFO text (section Pgdisque), and CONFIG RESETSTAT read it.
 */
#define STATS_COUNTERS(X)                                                       \
    X(jobs_added, "jobs committed by ADDJOB")                                   \
    X(jobs_delivered, "jobs handed to clients")                                 \
    X(jobs_acked, "jobs removed by ACKJOB, FASTACK, DELJOB")                    \
    X(jobs_kept, "finished jobs that are kept for a while")                     \
    X(jobs_requeued, "jobs that came back because their lease ended")           \
    X(jobs_expired, "jobs removed because their TTL was over")                  \
    X(jobs_dead, "jobs that died after their last attempt")                     \
    X(jobs_revived, "dead jobs queued again by ENQUEUE and REVIVE")             \
    X(jobs_released, "jobs put back because their client had gone")             \
    X(schedules_fired, "jobs that SCHEDULE has made")                           \
    X(unique_taken, "ADDJOBs that got the ID of a job with the same key")       \
    X(unique_retries, "tries of ADDJOBs whose key another session was taking")  \
    X(handoffs, "jobs inserted already leased to a waiting client")             \
    X(claims, "claim statements")                                               \
    X(claimed_rows, "jobs that claims returned")                                \
    X(claims_empty, "claims that returned nothing")                             \
    X(flights, "transactions sent")                                             \
    X(flights_failed, "transactions that failed")                               \
    X(standby_waits_cancelled, "commits whose wait for standbys was cancelled") \
    X(flights_lost, "transactions whose connection died")                       \
    X(statements, "statements sent")                                            \
    X(rows, "rows sent in statements")                                          \
    X(batch_max_rows, "largest number of rows in one statement")                \
    X(suspect_flights, "transactions to find the task that fails others")       \
    X(db_connects, "connections made to the database")                          \
    X(db_disconnects, "connections to the database lost")                       \
    X(news_told, "notifications sent to other servers")                         \
    X(news_heard, "notifications received, our own included")                   \
    X(recounts, "queues counted anew in the database")                          \
    X(connections_received, "clients accepted")                                 \
    X(connections_rejected, "clients refused by maxclients")                    \
    X(commands_processed, "commands executed")                                  \
    X(later_steps, "steps of long commands that a later turn has done")         \
    X(net_input_bytes, "bytes read from clients")                               \
    X(net_output_bytes, "bytes written to clients")                             \
    X(protocol_errors, "connections closed for broken framing")                 \
    X(output_limit_kills, "clients closed because they did not read")           \
    X(evicted_clients, "clients closed because memory was over maxmemory")      \
    X(pubsub_dropped, "messages of PUBLISH that other servers were not told")   \
    X(auth_failures, "wrong passwords")                                         \
    X(errors_replied, "errors replied")

struct stats {
#define X(name, doc) uint64_t name;
    STATS_COUNTERS(X)
#undef X
};

extern struct stats stats;

/* Lines "name:value\r\n" for every counter. */
void stats_info(struct buf *out);
void stats_reset(void);

/* An error was replied; text begins with its code. */
void stats_count_error(const char *text);
/* Lines "errorstat_CODE:count=n\r\n" for each code so far. */
void stats_errors_info(struct buf *out);

/* Rates over the last 1.6 seconds, sampled by stats_sample() ten times a
 * second, as Redis' instantaneous_*. */
void stats_sample(int64_t mono_us);
uint64_t stats_ops_per_sec(void);
double stats_input_kbps(void);
double stats_output_kbps(void);

#endif
