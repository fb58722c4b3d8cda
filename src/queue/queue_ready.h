#ifndef QUEUE_READY_H
#define QUEUE_READY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/job_key.h"

/*
 * The ready jobs of a queue: how many a claim may request, where it looks for them, and which queues have jobs for their
 * waiters.
 */
struct queue;

/* How many jobs a claim may get: redelivery keys, and an estimate of the jobs after the scan position. 0 if
 * the queue is paused out or full, or a RENAME moves its jobs. */
int64_t queue_budget(const struct queue *q);
/* May a request get a job now, by a claim or from the jobs ahead? */
bool queue_may_give(const struct queue *q);

/* The ready jobs and the jobs that are being added, without those that a sent or planned claim takes. Jobs ahead and jobs that
 * are added ahead do not count. INT64_MAX while the counters are suspect or incomplete. */
int64_t queue_unclaimed(const struct queue *q);
/* True if the counters show a ready job beside those that sent and planned claims take, or if they are suspect or
 * incomplete. */
bool queue_shows_job(const struct queue *q);
/* Counts a job that was committed as ready at key. It becomes a redelivery key only if it is not after the
 * scan position. If no job was ready after the scan position, that moves to just before key. */
void queue_job_ready(struct queue *q, struct job_key key);
/* Counts `count` jobs that were committed as ready. first: the smallest of their keys. The next scan finds
 * them. */
void queue_jobs_arrived(struct queue *q, struct job_key first, int64_t count);
/* Counts a job that became ready again, and adds its redelivery key. */
void queue_job_returned(struct queue *q, struct job_key key);
/* Ready jobs with these keys have another rank now. They were counted before. Sorts the keys. Calls no observer. */
void queue_jobs_moved(struct queue *q, struct job_key *from, size_t count, int16_t rank);
/* Like queue_job_ready() and queue_job_returned(), for jobs that a peer has counted. */
void queue_receive_ready(struct queue *q, struct job_key key);
void queue_receive_returned(struct queue *q, struct job_key key);
/* There may be ready jobs after this key: the scan position moves back to it. */
void queue_scan_from(struct queue *q, struct job_key key);
/* The next claim scans from the beginning, because nothing is known about the ready jobs. */
void queue_reset_scan(struct queue *q);
/* True if jobs are counted as queued, but claims know no place where to look for them. */
bool queue_misses_jobs(const struct queue *q);
/* The key after which a reader finds all ready jobs: the scan position, or just before the first redelivery
 * key. */
struct job_key queue_first_key(const struct queue *q);
/* There may be a job for a waiter: the next transaction tries to serve the queue's waiters. */
void queue_signal(struct queue *q);
/* True if a request waits for the queue by its name or by a pattern. */
bool queue_is_awaited(struct queue *q);
/* Removes and returns the next signalled queue, or NULL. */
struct queue *queue_next_signalled(void);

#endif
