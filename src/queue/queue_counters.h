#ifndef QUEUE_COUNTERS_H
#define QUEUE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/job_key.h"
#include "base/list.h"

/*
 * The counters of a queue: the numbers of its jobs in each state, and of jobs in and out. Each server adds up its own
 * changes and those that its peers notify. A counter audit (cluster/counter_audit.h) compares the sums with the database.
 */
struct queue;

/* The counter share of one server: its committed changes since its start. A share is absolute: it replaces
 * all earlier shares of its server. */
struct queue_share {
    int64_t len;
    int64_t total;
    int64_t jobs_in;
    int64_t jobs_out;
    int64_t dead;
    int64_t delayed;
    int64_t waiting;
};

struct peer_share {
    uint16_t node;
    bool has_states; /* delayed and waiting are known; they come in another item than the rest */
    struct queue_share share;
};

/* The changes of this server since its start. */
struct queue_own {
    struct queue *q;
    struct queue_share share; /* the counter share of this server */
    bool has_states;          /* it has changed `delayed` or `waiting` */
    int64_t saved_in;         /* the part of share.jobs_in that was saved in the database */
    int64_t saved_out;        /* the same of share.jobs_out */
    uint64_t acked;           /* acknowledgements */
    uint64_t failed;          /* deliveries that ended by NACK or the end of the lease */
    uint64_t died;            /* jobs that it has made dead letters */
    struct list in_dirty;     /* in the list of queues whose counters differ from the database */
};

/* The record of all queues that this server has not changed. */
extern const struct queue_own queue_unchanged;

/* Counters over all servers, and the counter share of each server.
 * Written by queue_counters.c. */
struct queue_counters {
    int64_t len;         /* queued jobs, which could be delivered now (QLEN) */
    int64_t ahead;       /* jobs ahead (claim_ahead.h): they count as queued beside len */
    int64_t total;       /* jobs in any state, without dead letters */
    int64_t dead;        /* dead letters */
    int64_t delayed;     /* jobs that are queued after their delay */
    int64_t waiting;     /* jobs that wait for other jobs: the jobs before them in their groups */
    int64_t jobs_in;     /* how often a job entered the queue, since the object was made or as loaded */
    int64_t jobs_out;    /* the same for deliveries */
    int64_t used_us;     /* clock_mono() when a job was last queued or delivered */
    size_t largest_body; /* largest body, with overhead, since the queue was empty; 0: unknown */
    /* clock_db() when the oldest queued job became due, an estimate: queue_oldest_us() */
    int64_t oldest_due_us;
    const struct queue_own *own; /* queue_unchanged, or a record that lives as long as the queue */
    struct peer_share *peers;    /* the last known shares of peers */
    uint32_t peer_count;
    bool suspect;       /* suspect counters: a counter audit is needed */
    bool changed_apart; /* since the last audit, CONN_LARGE has added or moved jobs */
    uint64_t changes;   /* number of changes of the counters */
    uint64_t counted;   /* `changes` at the last counter audit; another value: an audit is due */
    int64_t changed_us; /* clock_mono() of the last change */
    int64_t counted_us; /* clock_mono() of the last counter audit */
};

/* For a new queue whose bytes are zero. */
void queue_counters_init(struct queue *q);
/* All jobs of the queue were deleted. */
void queue_counters_clear(struct queue *q);
/* The queue is freed next. */
void queue_counters_drop(struct queue *q);

/* ---- all queues ---- */

/* Jobs of all queues: in any state but dead, queued ones, dead letters, and those in other states. */
int64_t queue_jobs_total(void);
int64_t queue_jobs_queued(void);
int64_t queue_jobs_dead(void);
int64_t queue_jobs_delayed(void);
int64_t queue_jobs_waiting(void);
int64_t queue_jobs_active(void);
/* The number of queues with queued jobs, without QUEUE_HIDDEN. */
size_t queue_keys(void);

/* ---- changes of this server ---- */

/* A lease of the queue's jobs began (1) or ended (-1). own_change: the same for a lease that this server gave. False if
 * this server does not know the queue. */
bool queue_count_leases(int32_t id, int64_t change, int64_t own_change);
/* A job ahead of the queue began (1) or ended (-1). */
void queue_count_ahead(int32_t id, int64_t change);
/* Counts changes of this server. */
void queue_count_len(struct queue *q, int64_t change);
void queue_count_total(struct queue *q, int64_t change);
void queue_count_dead(struct queue *q, int64_t change);
void queue_count_delayed(struct queue *q, int64_t change);
void queue_count_waiting(struct queue *q, int64_t change);
/* Counts jobs that entered or left the state of `since`. False if that is neither TIME_DELAYED nor TIME_WAITING. */
bool queue_count_state(struct queue *q, int64_t since, int64_t change);
/* Removes the lease of a job whose row a statement of this server has changed. row_until: ready_at before
 * that. False if this server did not hold that lease. */
bool queue_end_lease(struct job_key key, int64_t row_until);
/* Counts a deleted job. queued_since: its ready_at, from which on it was queued, unless this server held its
 * lease. TIME_BEGINNING: the job was exhausted and not queued. TIME_DELAYED, TIME_WAITING: it was in that state. */
void queue_count_gone(struct job_key key, int64_t queued_since);
/* Called before jobs are counted that were changed over CONN_LARGE. Its transactions have no order with counter audits.
 * They were sent at sent_us or later (clock_mono()). They have no order with claims either: position_receive(). */
void queue_note_apart(struct queue *q, int64_t sent_us);

/* A command used the queue now. */
void queue_touch(struct queue *q);

/* Counts jobs that enter the queue, and deliveries. The change is saved in the database about once a second. */
void queue_count_in(struct queue *q, int64_t jobs);
void queue_count_out(struct queue *q, int64_t jobs);
/* Notes the first delivery of a job that became due at due_us (clock_db()). */
void queue_note_wait(struct queue *q, int64_t due_us);
/* The oldest queued job became due at due_us. Called after the queue was loaded. */
void queue_set_oldest(struct queue *q, int64_t due_us);
/* How long the oldest queued job has been due, in microseconds; 0: no job is queued. It is known from the last job
 * that a server delivered, because jobs are delivered in their order. So it is too small if jobs of a lower priority
 * wait. */
int64_t queue_oldest_us(const struct queue *q);
/* Counts an acknowledgement by this server, a failed delivery, and a job that died. */
void queue_count_acked(struct queue *q);
void queue_count_failed(struct queue *q);
void queue_count_died(struct queue *q);
/* Removes and returns the next queue whose counters are to be saved, or NULL. Sets the changes to save, which count as
 * saved from now on. */
struct queue *queue_next_dirty(int64_t *jobs_in, int64_t *jobs_out);

/* Notes the length of a body that was added or read. */
void queue_note_body(struct queue *q, size_t len);
/* The bytes that a job is expected to have, for the bounds of results. */
size_t queue_job_bytes(const struct queue *q);
/* The most jobs of q that one result may have, so that it is no larger than batch-max-bytes. */
int64_t queue_result_rows(const struct queue *q);
/* For task_reads(): what a statement reads that skips some queued jobs, and then takes `wanted` of them. Jobs in other
 * states are in between. with_bodies: it reads their bodies. */
int64_t queue_rows_read(const struct queue *q, int64_t skipped, int64_t wanted, bool with_bodies);

/* ---- changes of peers, loads and audits ---- */

/* Takes the counter share that node has notified. base: the counters may include it, or its changes,
 * already. Then they become suspect, and a first share of that node is not added. */
void queue_receive_share(struct queue *q, uint16_t node, struct queue_share share, bool base);
/* The same for the part of the share that has its delayed and waiting jobs. */
void queue_receive_states(struct queue *q, uint16_t node, int64_t delayed, int64_t waiting, bool base);
/* A peer delivered a job that became due at due_us: no older job is queued. */
void queue_receive_due(struct queue *q, int64_t due_us);
/* Forgets the counter share of node. The next one counts as the first. */
void queue_forget_share(struct queue *q, uint16_t node);
/* The same for all queues, when the node has restarted: its shares begin at zero. */
void queue_forget_shares(uint16_t node);
/* Makes the counters suspect: of one queue, or of all. */
void queue_suspect(struct queue *q);
void queue_suspect_all(void);
/* Sets the numbers of jobs as they were counted, and those of jobs in and out as they were loaded. */
void queue_set_counts(struct queue *q, int64_t len, int64_t total);
void queue_set_traffic(struct queue *q, int64_t jobs_in, int64_t jobs_out);
/* Adds `missing` to the counters: len, total, dead, delayed and waiting. */
void queue_correct(struct queue *q, const struct queue_share *missing);
/* While a recount runs (jobs/recount.h), the changes of peers make the counters suspect. The snapshot may include them. */
void queue_counters_note_others(bool on);
/* While on is true, the counters lack jobs: the jobs of the database are not counted yet. */
void queue_counters_set_incomplete(bool on);
bool queue_counters_are_incomplete(void);
/* Sets all counters to the result of a counter audit, of which jobs_in and jobs_out are those saved in the database.
 * The counters are no longer suspect. If jobs_in or jobs_out has changed, another audit is due. */
void queue_set_audited(struct queue *q, const struct queue_share *counted);

#endif
