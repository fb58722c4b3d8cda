#ifndef QUEUE_LIMITS_H
#define QUEUE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include "queue/queue.h"

/*
 * Limited queues: QCONFIG max-active limits the jobs that run at once, and rate the deliveries per second, over
 * all servers. Concurrency slots and tokens are in the database, and the statement that claims decides
 * (claim_limited.sql). This module decides whether a claim is worth sending. A claim that found no slot makes
 * the queue full. It stays full until a slot becomes free, here or at a peer, or until a time is over.
 *
 * server-max-active is a limit of each server by itself. It needs no statement: the server counts its leases, and
 * queue_budget() is at most limits_server_room().
 */

/* True if the limits hold for each group by itself (QCONFIG per-group). Claims do not check these: see
 * groups.h. */
bool limits_are_per_group(const struct queue *q);
/* The time between two jobs of a group by its rate; 0: it has no rate. q may be NULL. */
int64_t limits_group_interval_us(const struct queue *q);
/* QCONFIG server-max-active: how many jobs of q this server may claim now, beside its claims that have not ended.
 * 0 while not all leases are known. */
int64_t limits_server_room(const struct queue *q);
/* For a new queue: it has no limits. */
void limits_init(struct queue *q);
/* Called when the settings of q have changed. */
void limits_set(struct queue *q);
/* How often limits_set() was called. */
uint64_t limits_changes(void);
/* A job of q no longer runs, because of this server: peers are notified. */
void limits_slot_freed(struct queue *q);
/* A concurrency slot may be free. Peers are not notified. */
void limits_receive_slot(struct queue *q);
/* A claim found no slot or token. slots_freed: q->limits->slots_freed when it was sent. wait_ms: until the next tokens;
 * 0: it found no slot. soon: another session was about to change that. */
void limits_claim_refused(struct queue *q, uint64_t slots_freed, int32_t wait_ms, bool soon);
/* The limits did not reduce a claim. */
void limits_claim_allowed(struct queue *q);
/* Removes the queue, which is about to be freed. */
void limits_drop(struct queue *q);

#endif
